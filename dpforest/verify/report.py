"""Verifying a privacy report: every figure in it worked out again from its entries.

A report is a few independent facts (entries, settings, domain, what was learnt without paying) and
much that follows from them. Here the rest is made again and compared, leaf by leaf. What follows
from nothing else in the report is compared with the model, or is held by the digest alone.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from dpforest.accounting.bounds import replace_one_price
from dpforest.accounting.conversion import LIBRARY, MEANS, conversion_method
from dpforest.accounting.events import ObjectivePerturbation, read_event
from dpforest.accounting.fits import DIFFPRIVLIB, OWN_BUDGET
from dpforest.accounting.ledger import ScopeRecord
from dpforest.accounting.ledger_check import is_within, place_problems
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import exact_text, float_up, parse_amount, parse_finite
from dpforest.accounting.verify import (
    claimed_loss,
    claims_elsewhere,
    entry_follows,
    sole_certificate,
    verify_composition,
)
from dpforest.domain.domain import Domain
from dpforest.estimators.base import PrivateEstimator
from dpforest.estimators.earlier import GONE, LEFT_IN
from dpforest.estimators.fitting import fit_price
from dpforest.estimators.storage import agrees, check_facts, listing_problems, read_stored
from dpforest.exceptions import (
    Described,
    ModelFormatError,
    ParameterError,
    ParameterTypeError,
    ReportError,
    kind_of,
)
from dpforest.ledger.amounts import cap_in_units, to_units
from dpforest.ledger.ledger import BudgetLedger
from dpforest.ledger.pricing import FitPrice
from dpforest.ledger.witness import witness_problems
from dpforest.mechanisms.objective import LARGEST_CURVATURE, check_event
from dpforest.own_names import OwnNames
from dpforest.relations import relations_of
from dpforest.report.diff import differing_leaves
from dpforest.report.guarantee import Guarantee, Status
from dpforest.report.making import make_report, report_digest
from dpforest.report.places import place_name
from dpforest.report.record import LedgerPlace
from dpforest.report.report import PrivacyReport
from dpforest.report.utility import granted_to_a_fit
from dpforest.report.versions import NOT_INSTALLED, library_versions
from dpforest.strict_json import MODEL_LIMITS, json_text
from dpforest.trees.base import MEDIAN_ROLE
from dpforest.verify.page import page_problems, shows_audits
from dpforest.verify.reading import read_report
from dpforest.verify.replan import Remade, estimator_of, remade_plan
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
#: Roles that were renamed, as reports of this version name them that were written before.
_RENAMED = {"middle of the target": MEDIAN_ROLE}
#: Where a fit was charged to a ledger that is not at hand.
NOT_IN_THE_LEDGER = (
    "its place in the ledger, and what was spent on the data set before and in all (no ledger was "
    "given)"
)
#: Where a plan waited for a released number of records.
_COUNTED = "that the noisy count of records, from which the rest was planned, came out as it says"
#: Audits are runs of their own.
AUDITS_SHOWN = "what the audits on the page found"
#: Kinds of scopes in which a record meets everything, or one cell, whatever is drawn.
_UNSAMPLED = ("sequential", "parallel cells")
#: Plans convert rho in doubles of another library, whose releases may differ by this much.
_PLAN_TOLERANCE = 1e-6


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
    found = _Found(list(_problems(record)), [*HELD], [*UNFOUNDED])
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
        found.problems, shown, found.why_not = _plan_problems(record)
        found.held += shown
        found.unfounded += found.why_not


def _look_at_model(found: _Found, record: PrivacyReport, model: Any) -> None:
    if model is None:
        found.unfounded.append("which model it is of (no model was given)")
    elif not found.problems:
        found.problems += _model_problems(record, model)
        found.held.append("everything against the model and its fingerprint")
        # If the plan could not be made again, the model does not help.
        found.unfounded = [OF_THE_MODEL, *found.why_not]


def _look_at_ledger(found: _Found, record: PrivacyReport, ledger: BudgetLedger | None) -> None:
    if ledger is not None and not found.problems:
        found.problems += _ledger_problems(record, ledger)
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


# -- what follows from the report itself ----------------------------------------------------------


def _problems(record: PrivacyReport) -> Iterator[str]:
    if record.digest != report_digest(record):
        yield "its digest belongs to another text"
    contradictions = verify_composition(record.composition)
    yield from contradictions
    yield from _finish_problems(record.composition)
    if contradictions:
        return  # whoever forged the books may have made them so that tables of them take long
    try:
        yield from _remade_problems(record)
    except ReportError as error:
        yield from error.problems
    except (ModelFormatError, ValueError, ArithmeticError, LookupError, AssertionError) as error:
        yield f"its parts cannot be put together again ({type(error).__name__})"


def _finish_problems(root: ScopeRecord) -> Iterator[str]:
    """Entries know their number and where they stand; a finished fit is closed."""
    yield from place_problems(root)
    if any(scope.probabilities for scope in root.walk() if scope.kind in _UNSAMPLED):
        yield "a scope that draws nothing has probabilities"
    if root.reserve_kept or any(s.reserve_kept and not s.reserve for s in root.walk()):
        yield "a reserve is kept that a finished fit does not keep"
    if any(scope.failed for scope in root.walk()):
        yield "a fit that failed released no model to report on"
    if not root.closed:
        yield "its composition is of a fit that was not finished"


def _remade_problems(record: PrivacyReport) -> Iterator[str]:
    facts, domain = record.facts, Domain.model_validate(record.domain)
    check_facts(facts, domain, record.estimator, record.composition)
    guarantee, claims = record.guarantee, _claims(record)
    agreed = [claim for claim in claims if agrees(guarantee, claim[1])]
    if agreed:
        yield from _figure_problems(guarantee, agreed[0][1], claims[0][1])
    else:
        yield "the guarantee does not follow from the composition"
    remade = make_report(
        facts,
        domain,
        guarantee,
        record.composition,
        record.model_fingerprint,
        record.header,
        record.utility,
        record.version,
    )
    for place in differing_leaves(*map(_data, (record, remade))):
        yield f"{place} does not follow from the rest of the report"
    if not all(entry_follows(figure.grant) for figure in record.utility if figure.grant):
        yield "what was paid for a figure of utility does not follow from its mechanism"
    if any(granted_to_a_fit(figure, record.composition.ledger) for figure in record.utility):
        yield "a figure of utility names a grant that a fit used, so nothing paid for it"
    least = min(claims, key=lambda claim: claim[0].epsilon)  # a list may have been made there
    yield from listing_problems(facts, least[0])
    yield from _minimum_problems(record)
    yield from _ceiling_problems(record)
    yield from _external_problems(record)


def _claims(record: PrivacyReport) -> list[tuple[PrivacyLoss, Guarantee]]:
    """Losses that its books come to, with their guarantees: here, then by other conversions."""
    books, delta = record.composition, Fraction(parse_amount(record.facts.delta))
    losses = [claimed_loss(books, delta), *claims_elsewhere(books, delta)]
    return [(loss, record.facts.judge(loss, sole_certificate(books))) for loss in losses]


def _figure_problems(guarantee: Guarantee, judged: Guarantee, here: Guarantee) -> Iterator[str]:
    """Figures of a guarantee that are not those that follow, or that cannot be shown here."""
    for written, shown in zip(guarantee.bounds, judged.bounds, strict=True):
        if written.derivation != shown.derivation and not (
            written.derivation.endswith(MEANS) and written.epsilon >= shown.epsilon
        ):
            yield f"its epsilon cannot be shown here, where it is {shown.derivation}"
        elif "converted" not in written.derivation and written != shown:
            yield "the guarantee does not follow from the composition"
    if judged.epsilon < here.epsilon:
        yield f"its epsilon cannot be shown here, where rho is converted by {conversion_method()}"


def _minimum_problems(record: PrivacyReport) -> Iterator[str]:
    """Minima whose parameters are of no release, also where their plan cannot be made again.

    Epsilon alone prices them, so the rest does not follow from their loss.
    """
    blocks = len(record.domain["features"]) + 1
    for entry in chain.from_iterable(scope.entries for scope in record.composition.walk()):
        event = read_event(entry.mechanism, entry.parameters)
        if isinstance(event, ObjectivePerturbation) and not _is_of_a_release(event, blocks):
            yield f"entry {entry.index} is a minimum that no mechanism releases"


def _is_of_a_release(event: ObjectivePerturbation, blocks: int) -> bool:
    try:
        check_event(event)
    except ParameterError:
        return False
    return event.blocks == blocks and event.curvature >= LARGEST_CURVATURE


def _data(record: BaseModel) -> Any:
    return json.loads(record.model_dump_json(exclude={"digest"}))


def _ceiling_problems(record: PrivacyReport) -> Iterator[str]:
    """The scope is named as its accountant names fits, and is within its ceiling."""
    lasting = record.basis.ledger is not None
    if record.basis.ledger and record.basis.charged_to != place_name(record.basis.ledger):
        yield "its place in a ledger is not where it was charged"
    shared = not lasting and record.basis.charged_to not in (OWN_BUDGET, DIFFPRIVLIB)
    number = r"( #([2-9]|[1-9]\d+))?" if shared else ""
    if not re.fullmatch(f"fit: {re.escape(record.estimator)}{number}", record.composition.label):
        yield "its scope has a name that no fit's scope has"
    ceiling = record.basis.ceiling
    if (ceiling is not None) != shared:
        yield "it names a ceiling and no accountant, or the other way round"
    elif ceiling is None or conversion_method() != LIBRARY:
        return  # looser conversions do not show what a tighter one admitted
    elif not is_within(record.composition.charged.loss, *ceiling.total):
        yield "what its fit was charged is above its accountant's ceiling"


def _ledger_problems(record: PrivacyReport, ledger: BudgetLedger) -> Iterator[str]:
    """The entry that a report names is in the ledger, and says the same."""
    place = record.basis.ledger
    if place is None:
        yield "its fit was charged to no ledger"
        return
    if place.ledger != ledger.id or place.data_set not in ledger.data_sets:
        yield f"it is of {place_name(place)}, which is not in this one ({ledger.id})"
        return
    yield from witness_problems(ledger.chain(place.data_set), place)


def _external_problems(record: PrivacyReport) -> Iterator[str]:
    """A fit with a plan of its own is charged elsewhere at the plan's replace-one price."""
    reserve = record.composition.reserve
    delta = Fraction(parse_amount(record.basis.delta))
    for entry in record.facts.external:
        floats = (entry.exact_epsilon, entry.epsilon), (entry.exact_delta, entry.delta)
        if any(float_up(parse_amount(exact)) != shown for exact, shown in floats):
            yield "a charge elsewhere is not its rational rounded up"
        if reserve is None or record.composition.adaptive:
            continue
        epsilon, at_delta, derivation = replace_one_price(reserve.loss, delta)
        expected = (exact_text(epsilon), exact_text(at_delta), derivation)
        if (entry.exact_epsilon, entry.exact_delta, entry.derivation) != expected and not (
            derivation != entry.derivation and entry.derivation.endswith(MEANS)
        ):
            yield "a charge elsewhere does not follow from the plan"
        relation = relations_of(record.facts.records_per_unit)[1].value
        if (entry.library, entry.relation) != ("diffprivlib", relation):
            yield "a charge elsewhere is of an unknown library"


# -- the plan -------------------------------------------------------------------------------------


#: What is said of a plan: problems, what held, what is taken at its word.
_Said = tuple[list[str], list[str], list[str]]


def _plan_problems(record: PrivacyReport) -> _Said:
    """Compare a report with its plan made anew: contradictions, what was shown, what was not."""
    written_by = record.versions.get("dpforest")
    today = library_versions()["dpforest"]
    gone = _strategy_that_left(record)
    if gone is not None:
        left = f"{gone!r} left the package in version {LEFT_IN}"
        if written_by == today:
            return [f"its strategy {left}, and it is said to be of version {today}"], [], []
        return [], [], [f"the plan (its strategy {left})"]
    if written_by not in (today, NOT_INSTALLED):
        return [], [], ["the plan (made by another version of dpforest)"]
    if not _planned_by_same_means(record):
        return [], [], ["the plan (its conversions are of other means)"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        remade = remade_plan(record)
        if remade is None:
            return [], [], ["the plan (a part of it is not dpforest's)"]
        if isinstance(remade, str):
            return [remade], [], []
        problems = list(_planned(record, remade.plan))
        if remade.settled.describe() != record.plan:
            problems.append("its plan is not the one that its settings and domain lead to")
        problems += _charged_for(record, remade)
        problems = problems or list(_requested(record, remade.requests(record)))
        return problems, ["plan and settings"], [_COUNTED] if _waits(remade.plan) else []


def _planned_by_same_means(record: PrivacyReport) -> bool:
    """True if a fit with a delta was planned with the accounting library, as plans are made here.

    Its bounds say so where they were converted; a list that was composed as a whole does not. Nor
    do reports of before the library was among the versions: a plan that cannot be made again
    without it is then no contradiction.
    """
    if record.facts.delta == "0":
        return True
    converted = [b.derivation for b in record.guarantee.bounds if "converted by" in b.derivation]
    if not all(text.endswith(conversion_method()) for text in converted):
        return False
    installed = record.versions.get("dp-accounting", "unknown") != NOT_INSTALLED
    return installed == (conversion_method() == LIBRARY)


def _strategy_that_left(record: PrivacyReport) -> str | None:
    """A strategy that is no more, whether it was asked for or picked by ``auto``."""
    named = (record.facts.settings.get("strategy"), record.plan.get("strategy"))
    return next((name for name in GONE if name in named), None)


def _waits(plan: Any) -> bool:
    """Say if a part of a plan is made from a released number of records."""
    return getattr(plan, "count", None) is not None


def _requested(record: PrivacyReport, requests: ScopeRecord) -> Iterator[str]:
    written = _with_roles_of_today(_data(record.composition))
    for place in differing_leaves(written, _data(requests)):
        yield f"composition.{place} is not what such a fit asks for"


def _with_roles_of_today(scope: dict[str, Any]) -> dict[str, Any]:
    """A scope's requests and those inside it, by the names that roles have today."""
    roles = [_RENAMED.get(entry["role"], entry["role"]) for entry in scope["entries"]]
    return scope | {
        "entries": [e | {"role": role} for e, role in zip(scope["entries"], roles, strict=True)],
        "children": [_with_roles_of_today(child) for child in scope["children"]],
    }


def _planned(record: PrivacyReport, plan: Any) -> Iterator[str]:
    root = record.composition
    if plan.adaptive:
        written = root.caps or ((root.reserve,) if root.reserve is not None else ())
        if root.adaptive == bool(plan.caps):
            yield "its composition is not adaptive in the way that its plan is"
        expected = plan.caps or (plan.loss,)
    else:
        if root.adaptive or root.caps:
            yield "its composition is adaptive, and its plan is not"
        written = (root.reserve,) if root.reserve is not None else ()
        expected = (_set_aside(record, plan),)
    if len(written) != len(expected) or not all(
        record_ is not None and _alike(record_.loss, loss)
        for record_, loss in zip(written, expected, strict=True)
    ):
        yield "what was set aside is not what its plan costs"


def _charged_for(record: PrivacyReport, remade: Remade) -> Iterator[str]:
    """The plan that a ledger was charged for is this one, at its price."""
    place, facts = record.basis.ledger, record.facts
    if place is None:
        return
    domain = Domain.model_validate(record.domain)
    wanted = remade.model._wanted(done=True)
    price = fit_price(remade.model, remade.plan, wanted, facts.settings, domain)
    if price.plan != place.plan:
        yield "the plan that the ledger was charged for is another one"
    if place.parts == 1 and not _is_price(place, price):
        yield "what the ledger was charged is not the price of its plan"
    if parse_finite(place.in_all) < parse_finite(place.charged):
        yield "less was spent in all than for this fit"


def _is_price(place: LedgerPlace, price: FitPrice) -> bool:
    """Say if a reserve of one fit was charged its price, rounded up as a ledger does."""
    try:
        return to_units(price.amount(place.currency)) == cap_in_units(parse_finite(place.charged))
    except ParameterError:  # no price in such a currency, or an amount beyond all books
        return False


def _set_aside(record: PrivacyReport, plan: Any) -> PrivacyLoss:
    """Loss that a fit reserves: its own if it is charged alone, else what its pieces add up to."""
    reserve = record.composition.reserve
    stands_alone = reserve is not None and reserve.loss.delta > 0
    alone = record.basis.charged_to in (OWN_BUDGET, DIFFPRIVLIB) or stands_alone
    loss: PrivacyLoss = plan.loss if alone else plan.additive
    return loss


def _alike(one: PrivacyLoss, other: PrivacyLoss) -> bool:
    """Equal, apart from what another release of the converting library makes of a plan's rho."""
    pairs = ((one.epsilon, other.epsilon), (one.rho, other.rho), (one.delta, other.delta))
    return all(a == b or math.isclose(a, b, rel_tol=_PLAN_TOLERANCE) for a, b in pairs)


# -- the model ------------------------------------------------------------------------------------


def _kind_in(stored: str | Path) -> str:
    """Name of the estimator that a file holds, where it is one of ours; empty otherwise."""
    try:
        return estimator_of(read_stored(stored)["estimator"]).__name__
    except (ModelFormatError, LookupError, TypeError):  # a name may be anything
        return ""


def _model_text(model: str | Path) -> str:
    """JSON of a stored model. Where there is none, nothing is said against the report."""

    def refuse(rule: str) -> ParameterError:
        return ParameterError(
            "model", Described("what was given"), rule, "Give the file that to_json() wrote"
        )

    text = json_text(model, refuse, MODEL_LIMITS)
    if not text.lstrip().startswith("{"):
        raise refuse("it is no JSON of a model")
    return text


def _model_problems(record: PrivacyReport, model: Any) -> Iterator[str]:
    if isinstance(model, (str, Path)):
        model = _model_text(model)
        try:
            model = estimator_of(record.estimator).from_json(model)
        except (ModelFormatError, LookupError) as error:
            other = _kind_in(model)
            differs = other and other != record.estimator
            yield (
                f"it is about another model: a {record.estimator}, and this is a {other}"
                if differs
                else f"the model cannot be read ({error})"
            )
            return
    if record.model_fingerprint != model.fingerprint_:
        yield "it is about another model: the fingerprints differ"
    own = make_report(
        model._facts,
        model.domain_,
        model.guarantee_,
        model._composition(),
        model.fingerprint_,
        record.header,
        record.utility,
        record.version,
    )
    # A model that is read back where conversions use other means claims only what can be shown
    # there.
    means = [[b.derivation for b in r.guarantee.bounds] for r in (record, own)]
    ignored = ("guarantee.", "sentence") if means[0] != means[1] else ()
    for place in differing_leaves(_data(record), _data(own)):
        if not place.startswith(ignored) or not ignored:
            yield f"{place} is not what the model says"
