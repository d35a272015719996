"""Parts of a privacy report that follow from others: totals, guarantee and tables made again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

from pydantic import BaseModel

from dpforest.accounting.bounds import replace_one_price
from dpforest.accounting.conversion import LIBRARY, MEANS, conversion_method
from dpforest.accounting.events import (
    ObjectivePerturbation,
    ZeroSumGeometricNoise,
    read_event,
)
from dpforest.accounting.fits import DIFFPRIVLIB, OWN_BUDGET
from dpforest.accounting.ledger import ScopeRecord
from dpforest.accounting.ledger_check import is_within, place_problems
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import exact_text, float_up, parse_amount, parse_finite
from dpforest.accounting.verify import (
    entry_follows,
    possible_claims,
    sole_certificate,
    verify_composition,
)
from dpforest.domain.domain import Domain
from dpforest.estimators.storage import agrees, check_facts, listing_problems
from dpforest.exceptions import (
    ModelFormatError,
    ParameterError,
    ReportError,
)
from dpforest.mechanisms.objective import LARGEST_CURVATURE, check_event
from dpforest.relations import relations_of
from dpforest.report.diff import differing_leaves
from dpforest.report.guarantee import Guarantee
from dpforest.report.making import make_report, report_digest
from dpforest.report.places import place_name
from dpforest.report.record import in_todays_words
from dpforest.report.report import PrivacyReport
from dpforest.report.utility import granted_to_a_fit

#: Kinds of scopes in which a record meets everything, or one cell, whatever is drawn.
_UNSAMPLED = ("sequential", "parallel cells")


def content_problems(record: PrivacyReport) -> Iterator[str]:
    """Name what of a report contradicts the rest of it."""
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
    facts, domain = record.facts, Domain._of_record(record.domain)
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
    for place in differences(in_todays_words(record), remade):
        yield f"{place} does not follow from the rest of the report"
    if not all(entry_follows(figure.grant) for figure in record.utility if figure.grant):
        yield "what was paid for a figure of utility does not follow from its mechanism"
    if any(granted_to_a_fit(figure, record.composition.ledger) for figure in record.utility):
        yield "a figure of utility names a grant that a fit used, so nothing paid for it"
    least = min(claims, key=lambda claim: claim[0].epsilon)  # a list may have been made there
    yield from listing_problems(facts, least[0])
    yield from _event_problems(record)
    yield from _ceiling_problems(record)
    yield from _external_problems(record)


def _claims(record: PrivacyReport) -> list[tuple[PrivacyLoss, Guarantee]]:
    """Losses that its books come to, with their guarantees: here, then by other conversions."""
    books, delta = record.composition, Fraction(parse_amount(record.facts.delta))
    certificate = sole_certificate(books)
    return [(loss, record.facts.judge(loss, certificate)) for loss in possible_claims(books, delta)]


def _figure_problems(guarantee: Guarantee, judged: Guarantee, here: Guarantee) -> Iterator[str]:
    """Figures of a guarantee that are not those that follow, or that cannot be shown here."""
    for written, shown in zip(guarantee.bounds, judged.bounds, strict=True):
        converted = written.derivation.endswith(MEANS) or shown.derivation.endswith(MEANS)
        if written.derivation != shown.derivation and not (
            converted and written.epsilon >= shown.epsilon
        ):
            yield f"its epsilon cannot be shown here, where it is {shown.derivation}"
        elif "converted" not in written.derivation and written != shown:
            yield "the guarantee does not follow from the composition"
    if judged.epsilon < here.epsilon:
        yield f"its epsilon cannot be shown here, where rho is converted by {conversion_method()}"


def _event_problems(record: PrivacyReport) -> Iterator[str]:
    """Events whose parameters are of no release, also where their plan cannot be made again.

    Epsilon alone prices minima and noise that adds up to nothing, so the rest does not follow from
    their loss. Residuals of two classes are one column, which adds up to nothing with no other.
    """
    blocks = len(record.domain["features"]) + 1
    n_classes = len((record.domain.get("classes") or {}).get("labels") or ())
    for entry in chain.from_iterable(scope.entries for scope in record.composition.walk()):
        event = read_event(entry.mechanism, entry.parameters)
        if isinstance(event, ObjectivePerturbation) and not _is_of_a_release(event, blocks):
            yield f"entry {entry.index} is a minimum that no mechanism releases"
        if isinstance(event, ZeroSumGeometricNoise) and not 2 < event.columns == n_classes:
            yield f"entry {entry.index} has noise that adds up to nothing over other columns"


def _is_of_a_release(event: ObjectivePerturbation, blocks: int) -> bool:
    try:
        check_event(event)
    except ParameterError:
        return False
    return event.blocks == blocks and event.curvature >= LARGEST_CURVATURE


def differences(
    record: BaseModel, other: BaseModel, as_today: Callable[[Any], Any] = lambda data: data
) -> Iterator[str]:
    """Dotted paths at which two records differ, but for their digests.

    Parameters
    ----------
    record, other : BaseModel
    as_today : callable, optional
        Makes of the first one's data what is compared.
    """
    one, two = (found.model_dump_json(exclude={"digest"}) for found in (record, other))
    if one != two:  # else no leaf differs
        yield from differing_leaves(as_today(json.loads(one)), json.loads(two))


def _ceiling_problems(record: PrivacyReport) -> Iterator[str]:
    """The scope is named as its accountant names fits, and is within its ceiling."""
    place = record.basis.ledger
    lasting = place is not None
    if place and record.basis.charged_to != place_name(place):
        yield "its place in a ledger is not where it was charged"
    if place and parse_finite(place.in_all) < parse_finite(place.charged):
        yield "less was spent in all than for this fit"
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
