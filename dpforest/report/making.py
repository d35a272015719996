"""Making the privacy report of a finished fit: tables, notices and digests from public facts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Literal

from dpforest.accounting.figures import figure_up
from dpforest.accounting.fits import OWN_BUDGET
from dpforest.accounting.ledger import LedgerEntry, LossRecord, ScopeRecord
from dpforest.accounting.rationals import TooManyDigitsError
from dpforest.accounting.verify import added_losses
from dpforest.domain.domain import Domain
from dpforest.exceptions import ReportError
from dpforest.report.digests import digest_of
from dpforest.report.guarantee import MOST_EPSILON, Guarantee
from dpforest.report.header import ReportHeader
from dpforest.report.known_fits import counted_fits
from dpforest.report.places import UNSETTLED, promise
from dpforest.report.record import (
    VERSION,
    ClaimBasis,
    LedgerPlace,
    Notice,
    RunFacts,
    SpendingRow,
    Version,
    fits_known,
)
from dpforest.report.report import PrivacyReport
from dpforest.report.utility import UtilityFigure, utility_cautions

#: What epsilon does not speak about; the same for every run.
NOT_COVERED = (
    "Scores computed on the training records (cross-validation, tuning, early stopping) and "
    "choices made after seeing them.",
    "The time that fit took and the memory that it used.",
    "Errors raised with invalid='raise': they are for the curator's desk.",
    "Whatever else is published about the same people: budgets of all releases add up.",
    "What the model teaches about a person because it is true of people like them.",
    "What another reader made of values by looking at other records before they were handed in as "
    "a frame or an array (types guessed from a whole column, 007 as 7, a quote over several "
    "lines), unless columns were read as text.",
    "Tables of 2**31 records or more: counts are exact only below that.",
)


_RAISED = (
    "fitted with invalid='raise': the absence of an error tells that no record broke a rule of the "
    "domain, and no epsilon covers that; refit with invalid='drop' before anything is released"
)


_PROMISED = (
    "whoever fitted the model promised that no privacy unit owns more than {k} records; nothing "
    "here checks it, because records carry no owner; a privacy unit with m records is protected at "
    "m/{k} times epsilon (with delta 0), at (m/{k}) squared times rho"
)


_CEILING = (
    "charged to {place}, which grants no more than ({epsilon}, {delta}) in all, a limit that was "
    "fixed beforehand: everything charged to it, this fit included, is together ({epsilon}, "
    "{delta})-differentially private when one record is added or removed, as long as each fit's "
    "own conditions hold{units}"
)


#: An accountant does not know for whom its other fits were priced.
_CEILING_UNITS = (
    "; for {unit} that holds only if every fit charged to it was priced for such a privacy unit"
)
#: Number of records beside which a delta is large, where none is declared.
_FEW_ROWS = 100

_LARGE_DELTA = (
    "delta = {delta} is not below {than}: such a delta would allow publishing a whole record by "
    "chance; choose delta well below one over the number of records"
)

_LARGE_EPSILON = (
    "epsilon = {epsilon} promises little: the release may change anybody's odds about a record by "
    "a factor of up to e to the power of epsilon; see docs/choosing_epsilon.md"
)


#: Categories and classes may well be right as a table holds them; an extreme is a record's value.
#: Said of every entry that began so, whatever became of its bounds: which of them are still the
#: draft's is a fact about a record, and a notice that told them apart would publish it.
_BEGAN = (
    "The bounds of {names} began as a draft of the records. If one of them is still the table's "
    "extreme, no budget has paid for it: compare them with the draft."
)


_AROUND = "around this fit, and not part of its guarantee: {}"


#: Every scope may be within bounds and a row of a table, which is a sum of its own, may not.
_TOO_LONG = "a row of its tables would add up to an amount of more digits than books hold"

#: How the scope of a tree is called.
_TREE = re.compile(r"tree \d+")


def make_report(
    facts: RunFacts,
    domain: Domain,
    guarantee: Guarantee,
    composition: ScopeRecord,
    model_fingerprint: str,
    header: ReportHeader | None = None,
    utility: tuple[UtilityFigure, ...] = (),
    version: Version = VERSION,
) -> PrivacyReport:
    """Put a finished fit into words and tables; marks of bounds are always left out.

    ``header`` and ``utility`` are what people say beside it, as they typed it in.
    """
    domain = domain.without_marks()
    report = PrivacyReport(
        version=version,
        header=header or ReportHeader(),
        utility=utility,
        sentence=guarantee.sentence,
        other_fits=fits_known(facts),
        guarantee=guarantee,
        estimator=facts.estimator,
        parameters=facts.parameters,
        domain=domain.model_dump(mode="json"),
        domain_fingerprint=domain.fingerprint(),
        plan=facts.plan,
        spending=tuple(spending_rows(composition)),
        composition=composition,
        randomness=facts.randomness,
        external=tuple(entry.model_dump(mode="json") for entry in facts.external),
        notices=(*_notices(facts, domain, guarantee), *_of_utility(utility)),
        not_covered=NOT_COVERED,
        versions=dict(facts.versions),
        basis=ClaimBasis(**{name: getattr(facts, name) for name in ClaimBasis.model_fields}),
        model_fingerprint=model_fingerprint,
        digest="",
    )
    return report.model_copy(update={"digest": report_digest(report)})


def report_digest(report: PrivacyReport) -> str:
    """Digest of everything in a report but the digest itself."""
    data = json.loads(report.model_dump_json(exclude={"digest"}))
    return digest_of(data)


def spending_rows(composition: ScopeRecord) -> list[SpendingRow]:
    """Requests by stage and tree (with what each composes to), level, role and mechanism."""
    trees = [scope for scope in composition.walk() if _TREE.fullmatch(scope.label)]
    rows = [_scope_row("tree", tree) for tree in trees]
    if not trees or trees[0] not in composition.children:
        rows = [_scope_row("stage", stage) for stage in composition.children] + rows
    entries = composition.ledger
    for group in ("level", "role", "mechanism"):
        rows += [_row(group, str(name), own) for name, own in _by(group, entries).items()]
    return rows


def _by(attribute: str, entries: Iterable[LedgerEntry]) -> dict[Any, list[LedgerEntry]]:
    """Entries by what one attribute of theirs says, in the order in which that is first said."""
    groups: dict[Any, list[LedgerEntry]] = {}
    for entry in entries:
        groups.setdefault(getattr(entry, attribute), []).append(entry)
    return groups


def _scope_row(group: str, scope: ScopeRecord) -> SpendingRow:
    row = _row(group, scope.label, list(scope.ledger))
    return row.model_copy(update={"composed": scope.composed})


def _row(group: Any, name: str, entries: list[LedgerEntry]) -> SpendingRow:
    try:
        loss = added_losses(entry.loss for entry in entries)
    except TooManyDigitsError:
        raise ReportError((_TOO_LONG,)) from None
    return SpendingRow(
        group=group,
        name=name,
        requests=len(entries),
        cells=sum(entry.cells for entry in entries),
        loss=LossRecord.of(loss),
    )


def _notices(facts: RunFacts, domain: Domain, guarantee: Guarantee) -> list[Notice]:
    severity: Literal["void", "caution"] = "void" if guarantee.status == "void" else "caution"
    notices = [Notice(severity=severity, text=reason) for reason in guarantee.reasons]
    if guarantee.status != "void":
        notices += [Notice(severity="caution", text=text) for text in _weak(guarantee, domain)]
    notices += [Notice(severity="caution", text=_AROUND.format(text)) for text in facts.around]
    if facts.settings.get("invalid") == "raise":
        notices.append(Notice(severity="caution", text=_RAISED))
    if facts.records_per_unit > 1:
        text = _PROMISED.format(k=facts.records_per_unit)
        notices.append(Notice(severity="note", text=text))
    if facts.ceiling is not None and guarantee.status == "holds":
        notices.append(Notice(severity="note", text=_ceiling_text(facts, guarantee)))
    if facts.ledger is not None:
        notices += _of_the_ledger(facts.ledger, guarantee)
    if facts.listing.n_fits > 1:
        kept = OWN_BUDGET not in facts.listing.charged
        text = f"{counted_fits(facts.listing)} (all of this object and its clones)"
        notices.append(Notice(severity="note" if kept else "caution", text=text))
    if began := domain.began_as_drafts:
        notices.append(Notice(severity="caution", text=_BEGAN.format(names=_listed(began))))
    if any(entry.get("declared_by") is None for entry in _entries(domain)):
        notices.append(
            Notice(severity="note", text="Some public facts do not say who declared them.")
        )
    return notices


def _of_utility(utility: tuple[UtilityFigure, ...]) -> list[Notice]:
    return [Notice(severity="caution", text=text) for text in utility_cautions(utility)]


def _of_the_ledger(place: LedgerPlace, guarantee: Guarantee) -> list[Notice]:
    """Promise of a data set's cap, where this fit keeps to it; and that its end is not noted."""
    notices = []
    if place.entry == "start":
        notices.append(Notice(severity="caution", text=UNSETTLED))
    if guarantee.status == "holds":
        notices.append(Notice(severity="note", text=promise(place, guarantee.unit)))
    return notices


def _listed(names: tuple[str, ...]) -> str:
    """Names as a sentence lists them."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _ceiling_text(facts: RunFacts, guarantee: Guarantee) -> str:
    """Promise of the accountant that this fit was charged to, in words."""
    assert facts.ceiling is not None
    epsilon, delta = map(figure_up, facts.ceiling.total)
    units = _CEILING_UNITS.format(unit=guarantee.unit) if facts.records_per_unit > 1 else ""
    return _CEILING.format(place=facts.charged_to, epsilon=epsilon, delta=delta, units=units)


def _weak(guarantee: Guarantee, domain: Domain) -> list[str]:
    """Cautions about a guarantee that is proven and yet promises little."""
    texts = []
    rows = domain.approximate_rows
    if guarantee.delta * (rows or _FEW_ROWS) >= 1:
        than = f"one over the {rows} records declared" if rows else f"one over {_FEW_ROWS}"
        texts.append(_LARGE_DELTA.format(delta=figure_up(guarantee.delta), than=than))
    if guarantee.epsilon > MOST_EPSILON:
        texts.append(_LARGE_EPSILON.format(epsilon=figure_up(guarantee.epsilon)))
    return texts


def _entries(domain: Domain) -> list[dict[str, Any]]:
    dumped = domain.model_dump(mode="json")
    return [*dumped["features"], *(dumped[k] for k in ("classes", "target") if dumped[k])]
