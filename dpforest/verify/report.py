"""Verifying a privacy report: every figure in it worked out again from its entries.

A report is a few independent facts (entries, settings, domain, what was learnt without paying) and
much that follows from them. Here the rest is made again and compared, leaf by leaf. What follows
from nothing else in the report is compared with the model, or is held by the digest alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from dpforest.estimators.base import PrivateEstimator
from dpforest.exceptions import (
    ParameterTypeError,
    ReportError,
    kind_of,
)
from dpforest.ledger.ledger import BudgetLedger
from dpforest.own_names import OwnNames
from dpforest.report.guarantee import Status
from dpforest.report.report import PrivacyReport
from dpforest.verify.beside import ledger_problems, model_problems
from dpforest.verify.contents import content_problems
from dpforest.verify.page import page_problems, shows_audits
from dpforest.verify.planned import plan_problems
from dpforest.verify.reading import read_report
from dpforest.verify.signature import ReportSignature, asked_signature

#: What is worked out again of every report.
HELD = ("digest", "totals of all scopes", "guarantee and tables")
#: What people said, which nothing can check.
TYPED_IN = "what was typed into its header, and figures of utility"
#: Leaves that follow from nothing else in a report; see docs/report.md.
UNFOUNDED = (
    "who declared the public facts, from which source, and which of them began as a draft",
    "that no seed, observer, leak or step around the fit was left out",
    "where the fit was charged, as which fit, under which ceiling, and the object's earlier fits",
    "how parameters were written, and versions",
    "whether records were streamed, if the plan does not depend on it",
)
#: What no comparison of a report and a model shows.
OF_THE_MODEL = (
    "what the model's own file says of its fit, of its accountant's name and ceiling, and of other "
    "fits"
)
#: Where a fit was charged to a ledger that is not at hand.
NOT_IN_THE_LEDGER = (
    "its place in the ledger, and what was spent on the data set before and in all (no ledger was "
    "given)"
)
#: Audits are runs of their own.
AUDITS_SHOWN = "what the audits on the page found"


class Verification(OwnNames):
    """Findings of :func:`verify_report`.

    A report that holds may well say that nothing is guaranteed: then it says so truly.

    Attributes
    ----------
    guarantee_status : {"holds", "demonstration", "void", "none"}
        Of the guarantee that the report states.
    sentence : str
        That guarantee.
    held : tuple of str
        What was worked out again, or compared, and agreed.
    taken_at_its_word : tuple of str
        What only the report's own digest, or the absence of a model to compare with, speaks for.
    """

    model_config = ConfigDict(frozen=True)

    guarantee_status: Status
    sentence: str
    held: tuple[str, ...]
    taken_at_its_word: tuple[str, ...]

    def __str__(self) -> str:
        words = "; ".join(self.taken_at_its_word) or "nothing"
        return (
            f"The report holds, and what it says is: {self.sentence} Worked out again: "
            f"{'; '.join(self.held)}. Taken at its word: {words}."
        )


def verify_report(
    report: PrivacyReport | str | Path,
    model: Any = None,
    *,
    ledger: BudgetLedger | None = None,
    signature: ReportSignature | str | Path | None = None,
    key: str | None = None,
) -> Verification:
    """Work every figure of a privacy report out again, and compare it with a model.

    Parameters
    ----------
    report : PrivacyReport, str or Path
        A report, its JSON or its page as text, or the path of either file. A page is written again
        from the JSON that it carries, and must be the same, byte by byte.
    model : estimator, str or Path, optional
        What the report is said to be of: a fitted estimator, the JSON that it wrote, or the path
        of that file. Without it nothing ties the report to a model.
    ledger : BudgetLedger, optional
        That the fit was charged to: its chain is checked whole, and the fit's place in it.
    signature : ReportSignature, str or Path, optional
        What :func:`sign_report` returned, its JSON, or the path of that.
    key : str, optional
        Public key of whoever is trusted to have signed it, known from another source; needed with
        ``signature``.

    Returns
    -------
    Verification
        What held, and what had to be taken at its word.

    Raises
    ------
    EarlierReportError
        If the report is of a format before version 4: the release that wrote it verifies it.
    NewerReportError
        If it is of a format that only a newer release knows.
    ReportError
        If anything does not follow, was changed, is not of that model, not in that ledger, or not
        signed by that key; ``problems`` lists it.
    LedgerDamaged, LedgerUnreachable
        If the ledger itself is not as it was written, or cannot be read.
    ParameterError
        If the file of the report or of the model cannot be read; if the report is Markdown, which
        carries no figures; if one
        of ``signature`` and ``key`` is given without the other, or ``key`` is none.
    ParameterTypeError
        If ``model``, ``ledger`` or ``signature`` is of another kind.
    MissingExtraError
        Without ``jinja2`` for a page, or ``cryptography`` for a signature.

    Notes
    -----
    Worked out again: the loss of every entry from its mechanism and parameters; the total of every
    scope by its rule; the guarantee, its conversions and its sentence; all tables; the plan from
    the settings and the domain, and from the noisy number of records where that was bought; every
    request of it, by asking again on a table without records; the fingerprint of the domain; with a
    model, all that it knows.

    The digest finds a change of anything else, but who can write a report can write one with a
    fitting digest: without the model, or the word of whoever published the digest, a forged report
    whose parts agree is accepted. Held by tests/estimators/report/test_report_check.py.
    """
    _check_kinds(model, ledger)
    signed = asked_signature(signature, key)
    record, page = read_report(report)
    found = _Found(list(content_problems(record)), [*HELD], [*UNFOUNDED])
    _look_at_plan(found, record)
    _look_at_model(found, record, model)
    _look_at_ledger(found, record, ledger)
    _look_at_page(found, record, page, signed)
    if found.problems:
        raise ReportError(tuple(found.problems))
    return Verification(
        guarantee_status=record.guarantee.status, sentence=record.guarantee.sentence,
        held=tuple(found.held), taken_at_its_word=tuple(found.unfounded),
    )  # fmt: skip


def _check_kinds(model: Any, ledger: Any) -> None:
    if not (model is None or isinstance(model, (str, Path, PrivateEstimator))):
        raise ParameterTypeError(
            "model", kind_of(model), "must be a private estimator, its JSON, or a path",
            "Give what the report is said to be of, or leave it out",
        )  # fmt: skip
    if not (ledger is None or isinstance(ledger, BudgetLedger)):
        raise ParameterTypeError(
            "ledger", kind_of(ledger), "must be a BudgetLedger",
            "Open it with BudgetLedger.open(...), or leave it out",
        )  # fmt: skip


@dataclass
class _Found:
    """Findings so far; nothing more is looked for once there is a problem."""

    problems: list[str]
    held: list[str]
    unfounded: list[str]
    why_not: list[str] = field(default_factory=list)


def _look_at_plan(found: _Found, record: PrivacyReport) -> None:
    if not found.problems:
        found.problems, shown, found.why_not = plan_problems(record)
        found.held += shown
        found.unfounded += found.why_not


def _look_at_model(found: _Found, record: PrivacyReport, model: Any) -> None:
    if model is None:
        found.unfounded.append("which model it is of (no model was given)")
    elif not found.problems:
        found.problems += model_problems(record, model)
        found.held.append("everything against the model and its fingerprint")
        # If the plan could not be made again, the model does not help.
        found.unfounded = [OF_THE_MODEL, *found.why_not]


def _look_at_ledger(found: _Found, record: PrivacyReport, ledger: BudgetLedger | None) -> None:
    if ledger is not None and not found.problems:
        found.problems += ledger_problems(record, ledger)
        found.held.append("its place in the ledger, and what was spent there")
    elif record.basis.ledger is not None:
        found.unfounded.append(NOT_IN_THE_LEDGER)


def _look_at_page(
    found: _Found, record: PrivacyReport, page: str | None, signed: ReportSignature | None
) -> None:
    """Look at who stands behind a report, and at every byte of its page."""
    if record.header.stated or record.utility:
        found.unfounded.append(TYPED_IN)
    if signed is not None and not found.problems:
        found.problems += signed.problems(record.digest, page)
        found.held.append(f"the signature of {signed.key}")
    if page is not None and not found.problems:
        holds_all = signed is not None and signed.page is not None
        found.problems += page_problems(page, record, holds_all)
        found.held.append("every byte of the page")
        found.unfounded += [AUDITS_SHOWN] if shows_audits(page) else []
