"""Differences between two privacy reports, in words and as data."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any, Literal

from pydantic import ConfigDict

from dpforest.accounting.figures import figure_up
from dpforest.accounting.ledger import LossRecord
from dpforest.accounting.rationals import parse_amount
from dpforest.exceptions import printable
from dpforest.own_names import OwnNames
from dpforest.report.header import LABELS
from dpforest.report.record import LedgerPlace, ReportRecord

Section = Literal[
    "guarantee",
    "budget",
    "header",
    "utility",
    "domain",
    "plan",
    "estimator",
    "notices",
    "model",
    "versions",
]
#: Texts longer than this are named, not quoted.
_QUOTED = 80
_ABSENT = "-"


class ReportChange(OwnNames):
    """One thing that differs.

    Attributes
    ----------
    section : str
    what : str
        Which figure or fact.
    before, after : str
        In the first and in the second report; a dash where it is absent.
    text : str
        The change in words.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    section: Section
    what: str
    before: str
    after: str
    text: str


class ReportDiff(OwnNames):
    """Differences from one privacy report to another.

    Attributes
    ----------
    changes : tuple of ReportChange
        By section; empty where the reports say the same.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    changes: tuple[ReportChange, ...]

    @property
    def same(self) -> bool:
        """True if nothing differs."""
        return not self.changes

    def of(self, section: Section) -> tuple[ReportChange, ...]:
        """The changes of one section."""
        return tuple(change for change in self.changes if change.section == section)

    def __str__(self) -> str:
        if self.same:
            return "The reports say the same."
        # Names may be of whoever wrote a report's file.
        return "\n".join(f"{c.section}: {printable(c.text)}" for c in self.changes)


def diff_reports(first: ReportRecord, second: ReportRecord) -> ReportDiff:
    """Compare two reports.

    Parameters
    ----------
    first, second : PrivacyReport
        Nothing is verified here; see :func:`dpforest.verify_report`.

    Returns
    -------
    ReportDiff
        Differences in guarantee, budget, header, utility, domain, plan, estimator and parameters,
        notices, model and versions. Figures are compared exactly and shown rounded up. Nothing
        is the same because two files name the same digest.
    """
    changes: list[ReportChange] = []
    for section, facts in _SECTIONS.items():
        changes += _compared(section, facts(first), facts(second))
    if not changes and _content(first) != _content(second):
        text = "the reports differ in details that no section names (see their JSON)"
        changes = [_change("model", "digest", first.digest, second.digest, text)]
    return ReportDiff(changes=tuple(changes))


def _content(report: ReportRecord) -> Any:
    return json.loads(report.model_dump_json())


def differing_leaves(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Yield the dotted paths at which two pieces of JSON-ready data differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            inside = f"{path}.{key}" if path else str(key)
            if key not in one or key not in other:
                yield inside
            else:
                yield from differing_leaves(one[key], other[key], inside)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from differing_leaves(a, b, f"{path}[{place}]")
    elif type(one) is not type(other) or one != other:
        yield path


def _compared(section: Section, one: dict[str, str], other: dict[str, str]) -> list[ReportChange]:
    changes = []
    for what in dict.fromkeys([*one, *other]):
        before, after = one.get(what), other.get(what)
        if before != after:
            one_text, other_text = (_ABSENT if t is None else t for t in (before, after))
            words = _words(what, before, after)
            changes.append(_change(section, what, one_text, other_text, words))
    return changes


def _change(section: Section, what: str, before: str, after: str, text: str) -> ReportChange:
    return ReportChange(section=section, what=what, before=before, after=after, text=text)


def _words(what: str, before: str | None, after: str | None) -> str:
    if after is None:
        before = before or ""
        return f"{what} is gone" + (f" (it was {_shown(before)})" if len(before) <= _QUOTED else "")
    if before is None:
        return f"{what} is new" + (f": {_shown(after)}" if len(after) <= _QUOTED else "")
    if len(before) > _QUOTED or len(after) > _QUOTED:
        return f"{what} changed"
    try:
        one, other = parse_amount(before), parse_amount(after)
    except ValueError:
        return f"{what} changed from {before!r} to {after!r}"
    verb = "rose" if other > one else "fell"
    return f"{what} {verb} from {_shown(before)} to {_shown(after)}"


def _shown(text: str) -> str:
    try:
        return figure_up(parse_amount(text))
    except ValueError:
        return repr(text)


def _guarantee(report: ReportRecord) -> dict[str, str]:
    guarantee = report.guarantee
    facts = {"status": guarantee.status, "unit": guarantee.unit}
    for bound in guarantee.bounds:
        figures = bound.model_dump(mode="json", exclude={"relation"})
        for name, value in figures.items():
            facts[f"{name}{_of_what(report)} ({bound.relation.value})"] = _number_text(value)
    facts |= {f"reason {i + 1}": reason for i, reason in enumerate(guarantee.reasons)}
    return facts


def _of_what(report: ReportRecord) -> str:
    """Say beside each figure of a void guarantee that nothing holds by it."""
    return " of the paid part alone, no guarantee" if report.guarantee.status == "void" else ""


def _number_text(value: Any) -> str:
    if isinstance(value, float):
        return "inf" if math.isinf(value) else str(Fraction(repr(value)))
    return _ABSENT if value is None else str(value)


def _numbered(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Texts by name, of which none hides another that has the same name."""
    times: Counter[str] = Counter()
    facts = {}
    for name, text in pairs:
        times[name] += 1
        facts[name if times[name] == 1 else f"{name} (no. {times[name]})"] = text
    return facts


def _budget(report: ReportRecord) -> dict[str, str]:
    root = report.composition
    facts = {**_amounts("in all", root.composed), "requests": str(len(root.ledger))}
    for row in report.spending:
        if row.composed is None:
            at_none = row.group == "level" and row.name == "None"
            name = "no level" if at_none else f"{row.group} {row.name}"
            facts[f"requests of {name}"] = str(row.requests)
            facts |= _amounts(f"of {name}, added up", row.loss)
    facts |= _parts(report)
    facts["charged to"] = report.basis.charged_to
    facts |= _place(report.basis.ledger)
    facts |= {f"external charge {i + 1}": _text(e) for i, e in enumerate(report.external)}
    return facts


def _place(place: LedgerPlace | None) -> dict[str, str]:
    if place is None:
        return {}
    written = place.model_dump(mode="json")
    return {f"in the ledger, {name.replace('_', ' ')}": _text(v) for name, v in written.items()}


def _parts(report: ReportRecord) -> dict[str, str]:
    """Stages and trees; trees that cost the same as one line."""
    facts: dict[str, str] = {}
    for group in ("stage", "tree"):
        rows = [(row.name, row.composed) for row in report.spending if row.group == group]
        costs = [composed for _, composed in rows if composed is not None]
        if len(costs) > 1 and all(cost == costs[0] for cost in costs):
            facts |= _amounts(f"of each of {len(costs)} {group}s", costs[0])
        else:
            for (name, _), cost in zip(rows, costs, strict=True):
                facts |= _amounts(f"of {group} {name}", cost)
    return facts


def _amounts(name: str, record: LossRecord) -> dict[str, str]:
    amounts = {c: getattr(record, c) for c in ("epsilon", "rho", "delta")}
    return {f"{c} {name}": text for c, text in amounts.items() if c != "delta" or text != "0"}


def _domain(report: ReportRecord) -> dict[str, str]:
    domain = report.domain
    facts = _numbered((f"feature {e['name']!r}", _text(e)) for e in domain["features"])
    facts["order of features"] = _text([e["name"] for e in domain["features"]])
    rest = {key: value for key, value in domain.items() if key != "features"}
    return facts | {key: _text(value) for key, value in rest.items()}


def _estimator(report: ReportRecord) -> dict[str, str]:
    named = {f"parameter {k}": v for k, v in report.parameters.items()}
    return {"estimator": report.estimator, **named, "randomness": report.randomness}


def _notices(report: ReportRecord) -> dict[str, str]:
    return {f"{n.severity} {n.text!r}": n.text for n in report.notices} | {
        f"not covered {text!r}": text for text in report.not_covered
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


_SECTIONS: dict[Section, Callable[[ReportRecord], dict[str, str]]] = {
    "guarantee": _guarantee,
    "budget": _budget,
    "header": lambda report: {LABELS[k]: text for k, text in report.header.stated.items()},
    "utility": lambda report: _numbered(
        (f"{f.name}, {f.origin_words}", f.shown) for f in report.utility
    ),
    "domain": _domain,
    "plan": lambda report: dict(report.plan),
    "estimator": _estimator,
    "notices": _notices,
    "model": lambda report: {"fingerprint of the model": report.model_fingerprint},
    "versions": lambda report: dict(report.versions),
}
