"""The ledger as one page of HTML, for officers who have nothing else of this library.

The page needs no server and no network, and runs no script. It is made from entries that were
checked beforehand. Names and purposes that people wrote are escaped, as in a report's page. It
shows dates and no times: how long a fit took is nobody's business here.

Held by tests/ledger/test_page.py and tests/ledger/test_page_browser.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpforest.accounting.figures import (
    figure_cap,
    figure_charged,
    figure_down,
    figure_up,
    figures_beside,
)
from dpforest.accounting.rationals import parse_amount
from dpforest.ledger.amounts import fraction_of
from dpforest.ledger.bodies import CheckpointBody, ImportBody, Kind, PolicyBody
from dpforest.ledger.entries import Entry
from dpforest.ledger.entry_summaries import behind_words, checkpoint_summary, policy_summary
from dpforest.ledger.guarantee_marks import NOT_GUARANTEED, count_marks, mark_of, marks_words
from dpforest.ledger.state import DataSetState
from dpforest.ledger.words import several
from dpforest.report.page import environment

_SIGNS = {"rho": "ρ", "epsilon": "ε"}
#: Words for what an import is, and for what a certified list counts as.
_FOR_EVER, _WHOLE = "counts for ever", "the whole cap"
#: Width of the bar, in the units of the template's picture.
_WIDTH = 998


def ledger_html(ledger: str, chains: Sequence[tuple[DataSetState, Sequence[Entry]]]) -> str:
    """The whole page.

    Parameters
    ----------
    ledger : str
        Identity of the ledger.
    chains : sequence of (DataSetState, sequence of Entry)
        Each data set's state, and all of its entries, which were checked.
    """
    entries = [entry for _, chain in chains for entry in chain]
    template = environment("dpforest.ledger").get_template("ledger.html")
    text: str = template.render(
        data_sets=[_data_set(state, chain) for state, chain in chains],
        checked=_checked(entries),
        ledger={"identity": ledger, "entries": str(len(entries))},
    )
    return text


def _checked(entries: Sequence[Entry]) -> str:
    signed = sum(bool(entry.signature) for entry in entries)
    return (
        "When this page was written, every entry was checked: its place in the chain, its hash, "
        f"and its signature where it has one. Of {len(entries)} entries {signed or 'none'} "
        f"{'is' if signed < 2 else 'are'} signed."
    )


def _data_set(state: DataSetState, entries: Sequence[Entry]) -> dict[str, Any]:
    """Everything that the page says of one data set."""
    share = Fraction(state.total, state.cap) if state.cap else Fraction(1)
    return {
        "name": state.name,
        "currency": _SIGNS[state.facts.currency],
        "status": _status(state),
        "tone": "void" if state.frozen or state.total > state.cap else "holds",
        "sentence": _sentence(state),
        "spent_share": f"{figure_up(100 * share)} %",
        "spent_width": f"{float(min(share, Fraction(1))) * _WIDTH:.1f}",
        "budget": _budget(state, entries),
        "blocks": [_block(state, name) for name in state.blocks],
        "releases": _releases(entries),
        "requests": _requests(state, entries),
        "people": _people(state, entries),
        "changes": _changes(entries),
        "rules": _rules(state),
        "head": _head(entries[-1]),
    }


# -- the data set in short ------------------------------------------------------------------------


def _status(state: DataSetState) -> str:
    if state.frozen:
        return f"Frozen: nothing may be spent. {state.why_frozen}"
    if state.total > state.cap:
        return "Overspent: more was spent than the cap allows, some of it elsewhere"
    return "Spent: nothing remains" if state.total == state.cap else "Open"


def _sentence(state: DataSetState) -> str:
    if state.alone:
        return _sentence_alone(state)
    spent_of = f"{_total(state)} of {_cap(state)} is spent"
    if state.total > state.cap:
        return f"{spent_of}, and nothing remains. The guarantee below no longer covers everything."
    return f"{spent_of}, and {_left(state)} remains."


def _sentence_alone(state: DataSetState) -> str:
    """Words for a cap that one certified list used up, whatever the list's own rho is."""
    certified = (
        f"{_cap(state)}, is spent, and nothing remains: one list of releases that was fixed "
        "beforehand stands by its certificate, and its own ρ may be larger."
    )
    if state.total > state.cap:
        return f"More than the whole cap, {certified} The guarantee below no longer covers all."
    return f"The whole cap, {certified}"


def _budget(state: DataSetState, entries: Sequence[Entry]) -> dict[str, str]:
    facts = state.facts
    rows = {
        "guarantee": _guarantee(state, entries),
        "cap": _cap(state) + ("" if state.cap == facts.cap else ", lowered"),
        "spent": _WHOLE if state.alone else _total(state),
        "remains": _left(state),
    }
    if state.blocks:
        rows["charged to the whole table"] = _up(state, state.spent)
    return rows


def _guarantee(state: DataSetState, entries: Sequence[Entry]) -> str:
    facts = state.facts
    if state.total > state.cap:
        return "passed by what was spent elsewhere"
    epsilon, delta = parse_amount(facts.epsilon), parse_amount(facts.delta)
    at = f" at δ = {figure_up(delta)}" if delta else ""
    lacking = count_marks(state, entries)
    fits = several(sum(lacking.values()), "fit")
    but = f", but for {fits} without a guarantee of its own ({marks_words(lacking)})"
    but = but if lacking else ""
    return f"ε = {figure_up(epsilon)}{at}, for all releases together, whoever makes them{but}"


def _rules(state: DataSetState) -> dict[str, str]:
    facts = state.facts
    return {
        "two tables are neighbours if they differ by": facts.relation,
        "privacy unit": facts.unit,
        "records of a unit that one fit reads, at most": str(facts.max_records_per_unit),
        "blocks of a unit, at most": str(state.most_blocks) if state.blocks else "no blocks",
        "owners": ", ".join(state.owners),
        "approvals that a reserve needs": str(state.approvals or "none"),
        "fingerprint of the domain": facts.domain,
    }


def _head(entry: Entry) -> dict[str, str]:
    return {
        "last entry": f"number {entry.number}, {entry.kind.value}, {_date(entry)}, {entry.actor}",
        "hash (SHA-256)": entry.hash,
        "signed with key": entry.key if entry.signature else "not signed",
    }


def _block(state: DataSetState, name: str) -> dict[str, str]:
    block = state.blocks[name]
    spent, cap = _figures(state.spent + block.spent, block.cap)
    return {
        "name": name,
        "cap": cap,
        "spent": spent,
        "remains": figure_down(fraction_of(state.room([name]))),
    }


def _people(state: DataSetState, entries: Sequence[Entry]) -> list[dict[str, str]]:
    names = dict.fromkeys((*state.owners, *state.quotas, *state.used))
    people = [
        {
            "name": name,
            "role": "owner" if name in state.owners else "analyst",
            "spent": _used(state, name),
            "quota": figure_cap(fraction_of(state.quotas[name])) if name in state.quotas else "–",
        }
        for name in names
    ]
    # No analyst's: so that the column adds up.
    others = sum(entry.body.units for entry in entries if isinstance(entry.body, ImportBody))
    if others:
        spent = figure_charged(fraction_of(others))
        words = "imported, charged again or written off"
        people.append({"name": words, "role": "–", "spent": spent, "quota": "–"})
    return people


def _used(state: DataSetState, name: str) -> str:
    used = state.used.get(name, 0)
    # A certified list is charged the cap, which is not its own rho.
    return _WHOLE if used and state.alone else figure_charged(fraction_of(used))


# -- what happened --------------------------------------------------------------------------------


@dataclass(slots=True)
class _Line:
    """A reserve or an import, and what became of it.

    ``marks`` holds the marks of its fits that lack a guarantee of their own.
    """

    entry: Entry
    purpose: str
    units: int
    blocks: tuple[str, ...]
    parts: int = 0
    alone: bool = False
    approved_by: list[str] = field(default_factory=list)
    started: int = 0
    outcomes: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    voided_by: str = ""

    @property
    def state(self) -> str:
        """Words for what became of it."""
        if not self.parts:
            why = f" ({NOT_GUARANTEED[self.marks[0]]})" if self.marks else ""
            return _FOR_EVER + why
        if self.voided_by:
            return f"given back by {self.voided_by}; nothing was released"
        of = f" of {self.parts}" if self.parts > 1 else ""
        if not self.started:
            return "reserved"
        done, failed = self.outcomes.count("done"), self.outcomes.count("failed")
        begun = self.started - done - failed
        counts = {"done": done, "failed": failed, "started": begun}
        ends = ", ".join(f"{n}{of} {word}" if of else word for word, n in counts.items() if n)
        marks = [*self.marks, *["unknown"] * begun]
        which = {words: marks.count(name) for name, words in NOT_GUARANTEED.items()}
        without = "; ".join(f"{words}: {n}{of}" if of else words for words, n in which.items() if n)
        return f"{ends} ({without})" if without else ends

    @property
    def amount(self) -> str:
        """Figure of what it counts as."""
        if self.voided_by:
            return "given back"
        return _WHOLE if self.alone else figure_charged(fraction_of(self.units))

    def shown(self) -> dict[str, str]:
        """Cells of its row."""
        return {
            "number": str(self.entry.number),
            "date": _date(self.entry),
            "who": self.entry.actor,
            "purpose": self.purpose or "not said",
            "blocks": ", ".join(self.blocks) or "the whole table",
            "amount": self.amount,
            "state": self.state,
            "approved_by": ", ".join(self.approved_by) or "–",
        }


def _releases(entries: Iterable[Entry]) -> list[dict[str, str]]:
    """Rows of all reserves and imports, in order."""
    lines: dict[str, _Line] = {}
    approvals: dict[str, list[str]] = {}
    for entry in entries:
        _follow(lines, approvals, entry)
    return [line.shown() for line in lines.values()]


def _follow(lines: dict[str, _Line], approvals: dict[str, list[str]], entry: Entry) -> None:
    """Take one more entry into account."""
    body: Any = entry.body
    if entry.kind is Kind.RESERVE:
        by = approvals.get(body.request, [])
        charge = body.charge
        parts = len(charge.parts)
        lines[entry.id] = _Line(
            entry, charge.purpose, charge.units, charge.blocks, parts, charge.alone, [*by]
        )
    elif entry.kind is Kind.IMPORT:
        what = _import_kind(body) + body.source
        lines[entry.id] = _Line(entry, what, body.units, body.blocks, marks=_marks(body))
    elif entry.kind is Kind.START:
        lines[body.reserve].started += 1
    elif entry.kind is Kind.SETTLE:
        lines[body.reserve].outcomes.append(body.outcome)
        lines[body.reserve].marks += _marks(body)
    elif entry.kind is Kind.VOID:
        lines[body.reserve].voided_by = entry.actor
    elif entry.kind is Kind.APPROVE:
        approvals.setdefault(body.request, []).append(entry.actor)
    elif entry.kind is Kind.REVOKE and entry.actor in approvals.get(body.request, []):
        approvals[body.request].remove(entry.actor)


def _marks(body: Any) -> list[str]:
    return [mark] if (mark := mark_of(body)) else []


def _import_kind(body: ImportBody) -> str:
    """Words for where an import comes from, since whoever wrote it made no fit."""
    if body.write_off:
        return "written off: "
    return "charged again for a lost fit: " if body.reserve else "imported: "


def _changes(entries: Iterable[Entry]) -> list[dict[str, str]]:
    """Rows of all changes of the rules, and of what stopped the data set or let it go on."""
    return [
        {
            "number": str(entry.number),
            "date": _date(entry),
            "who": entry.actor,
            "what": policy_summary(body)
            if isinstance(body, PolicyBody)
            else checkpoint_summary(body),
            "why": body.reason or "not said",
        }
        for entry in entries
        if isinstance(body := entry.body, (PolicyBody, CheckpointBody))
    ]


def _requests(state: DataSetState, entries: Iterable[Entry]) -> list[dict[str, str]]:
    return [
        {
            "number": str(entry.number),
            "id": entry.id,
            "date": _date(entry),
            "who": entry.actor,
            "purpose": entry.body.charge.purpose or "not said",  # type: ignore[union-attr]
            "amount": figure_charged(fraction_of(entry.body.charge.units)),  # type: ignore[union-attr]
            "approvals": _approvals(state, entry.id),
        }
        for entry in entries
        if entry.kind is Kind.REQUEST and entry.id in state.requests
    ]


def _approvals(state: DataSetState, request: str) -> str:
    names = state.requests[request].approvals
    needed = f"{len(names)} of {state.approvals}"
    return f"{needed}: {', '.join(names)}" if names else needed


# -- words ----------------------------------------------------------------------------------------


def _up(state: DataSetState, units: int) -> str:
    return f"{_SIGNS[state.facts.currency]} = {figure_charged(fraction_of(units))}"


def _total(state: DataSetState) -> str:
    return f"{_SIGNS[state.facts.currency]} = {_figures(state.total, state.cap)[0]}"


def _cap(state: DataSetState) -> str:
    return f"{_SIGNS[state.facts.currency]} = {_figures(state.total, state.cap)[1]}"


def _figures(spent: int, cap: int) -> tuple[str, str]:
    return figures_beside(fraction_of(spent), fraction_of(cap))


def _left(state: DataSetState) -> str:
    """Amount that remains, never more than there is."""
    return f"{_SIGNS[state.facts.currency]} = {figure_down(fraction_of(state.remaining))}"


def _date(entry: Entry) -> str:
    return entry.time[:10] + behind_words(entry)
