"""Checking books that were read from a file: every total worked out again from the entries.

Whoever can write the file can write a consistent one; what is refused here is a file whose parts
contradict each other, so that no figure is printed that does not follow from the entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain, islice, repeat

from dpforest.accounting.bounds import add_remove_price
from dpforest.accounting.certificate_record import MOST_RELEASES
from dpforest.accounting.certificates import METHOD, MOST_WORK, Certificate
from dpforest.accounting.conversion import LIBRARY, closed_form_epsilon, conversion_method
from dpforest.accounting.events import EVENTS, Event, read_event
from dpforest.accounting.ledger import LedgerEntry, LossRecord, ScopeRecord
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.rationals import (
    TooManyDigitsError,
    added_up,
    mixture_epsilon,
    parse_finite,
)
from dpforest.accounting.units import group_loss

#: Work of the longest plan's certificate for each of its releases, and more (``certificates``).
_WORK_OF_ENTRY = 2**14
#: Certificates of a file that need their rho converted, which takes a hundredth of a second, beside
#: one for each entry: plans of few releases on large budgets have some.
MOST_CONVERTED = 256


def verify_composition(record: ScopeRecord) -> tuple[str, ...]:
    """Work the totals of a tree of scopes out again, from its entries alone.

    Parameters
    ----------
    record : ScopeRecord

    Returns
    -------
    tuple of str
        What does not follow, scope by scope; empty where the books are consistent.

    Notes
    -----
    Checked: the loss of every entry follows from its mechanism and parameters; a certified scope
    holds the releases it was certified for, in order, and the certificate follows from them; every
    scope composes its entries and children by its own rule (docs/accounting.md) and is charged
    what its reserve says; no scope is above its reserve, or above all of its caps; every double
    beside a rational is that rational rounded up. Held by tests/accounting/test_verify.py.
    """
    try:
        slow = tuple(_work_problems(record))
        return slow or (
            *_false_certificates(record),
            *_problems(record, within_adaptive=False),
            *_beside_certificates(record),
        )
    except TooManyDigitsError:
        name = record.label or "accountant"
        return (f"{name}: its amounts add up to one of more digits than books hold",)
    except (ValueError, ZeroDivisionError, ArithmeticError) as error:
        return (f"{record.label or 'accountant'}: not readable ({type(error).__name__})",)


def _work_problems(record: ScopeRecord) -> Iterator[str]:
    """Certificates that would take longer to work out again than those of any plan.

    Nobody's file may keep a reader busy. One certificate is allowed twice what the longest plan's
    takes, and all of a file's together two such, and for each entry what an entry's part in the
    longest plan is. To tell the work takes time too, so releases are counted first. A finished fit
    has an entry for each release, so books are read however many fits share them. Sums of more
    digits than books hold were refused when they were asked for (``nodes``).
    """
    name = record.label or "accountant"
    certificates = list(_certificates(record))
    n_entries = _n_entries(record)
    if sum(one.n_releases for one in certificates) > 2 * MOST_RELEASES + n_entries:
        yield f"{name}: its certificates name more releases than were asked for"
        return
    left: float = 2 * MOST_WORK + _WORK_OF_ENTRY * n_entries
    for certificate in certificates:
        work = certificate.work
        left -= work
        if work > MOST_WORK or left < 0:
            yield f"{name}: its certificates are longer than those of any plan"
            return


def _n_entries(record: ScopeRecord) -> int:
    return sum(len(scope.entries) for scope in record.walk())


def _certificates(record: ScopeRecord) -> dict[Certificate, str]:
    """Certificates, each with the first scope under it: equal ones are worked out once."""
    found: dict[Certificate, str] = {}
    for scope in record.walk():
        if scope.certificate is not None:
            found.setdefault(scope.certificate.certificate, scope.label)
    return found


def _false_certificates(record: ScopeRecord) -> Iterator[str]:
    """The first certificate that does not follow; what lies behind it is not worked out."""
    n_converted, n_entries = 0, _n_entries(record)
    for certificate, name in _certificates(record).items():
        method = certificate.method
        if method is None:
            yield f"{name}: its certificate does not follow from its list of releases{_as_here()}"
            return
        n_converted += method != METHOD
        if n_converted > MOST_CONVERTED + n_entries:
            top = record.label or "accountant"
            yield f"{top}: more of its certificates are converted from rho than in any books"
            return


def _as_here() -> str:
    """A remark for readers without the library, by which alone some certificates follow."""
    method = conversion_method()
    return (
        "" if method == LIBRARY else f" as it can be shown here, where rho is converted by {method}"
    )


def stands_by_certificate(record: ScopeRecord) -> bool:
    """True if a certified scope was charged its certificate's (epsilon, delta), not its rho."""
    written = record.certificate
    if written is None or record.reserve is None:
        return False
    certificate = written.certificate
    return certificate.loss != certificate.additive and record.reserve.loss == certificate.loss


def is_used_up(record: ScopeRecord) -> bool:
    """True if a list that stands by its certificate is all that an accountant ever grants."""
    return bool(list(_alone(record)))


def _alone(record: ScopeRecord) -> Iterator[ScopeRecord]:
    """Scopes that are charged a certificate and in no adaptive scope that holds its delta."""
    if stands_by_certificate(record) and record.charged.loss != NO_LOSS:
        yield record
    if not record.adaptive:
        for child in record.children:
            yield from _alone(child)


def _beside_certificates(record: ScopeRecord) -> Iterator[str]:
    """A list that stands by its certificate is all that is ever granted by its accountant."""
    alone = list(_alone(record))
    if not alone:
        return
    granted = [child for child in record.children if child.charged.loss != NO_LOSS]
    within = [{id(scope) for scope in child.walk()} for child in granted]
    for only in alone:
        if any(id(only) not in scopes for scopes in within):
            yield f"{only.label}: it stands by its certificate, and something else was granted"


def claimed_loss(record: ScopeRecord, delta: Fraction) -> PrivacyLoss:
    """Loss that a finished fit's scope may claim: what was spent, or what it was kept under.

    Of the fit alone; what it is charged beside others may be less (``certified``).

    Parameters
    ----------
    record : ScopeRecord
        Of one fit.
    delta : Fraction
        At which alternative caps in rho may be converted.

    Notes
    -----
    Where spending depended on released values the realised amounts are no bound. One cap is the
    claim then. With alternatives the runs are split by the cap they ended under, which proves the
    largest epsilon that any of them comes to, at delta (see ``BudgetAccountant``).
    """
    if record.caps:
        prices = [add_remove_price(cap.loss, delta) for cap in record.caps]
        return PrivacyLoss(max(price[0] for price in prices), math.inf, delta)
    if record.adaptive and record.reserve is not None:
        return record.reserve.loss
    certified = [child for child in record.children if child.certificate is not None]
    # Several were perhaps chosen one by what another released: then they only add up.
    if len(certified) != 1 or certified[0].charged.loss == NO_LOSS:
        return record.composed.loss
    return added_losses(_claims(record, certified[0]))


def possible_claims(record: ScopeRecord, delta: Fraction) -> tuple[PrivacyLoss, ...]:
    """Claims that a finished fit's scope may make: here first, then where rho converts otherwise.

    Parameters
    ----------
    record : ScopeRecord
        Of one fit.
    delta : Fraction
        At which caps in rho are converted.

    Notes
    -----
    The first is `claimed_loss`, and all that there is without alternative caps. The closed form's
    claim can be worked out anywhere. The library's cannot be where it is absent: there it is the
    largest cap in epsilon, since a cap in rho is planned to convert to no more, and it is read, but
    not shown.
    """
    here = claimed_loss(record, delta)
    if not record.caps:
        return (here,)
    losses = [cap.loss for cap in record.caps]
    epsilons = [max(min(c.epsilon, closed_form_epsilon(c.rho, delta - c.delta)) for c in losses)]
    if conversion_method() != LIBRARY:
        epsilons.append(max((c.epsilon for c in losses if c.epsilon < math.inf), default=math.inf))
    return here, *(PrivacyLoss(epsilon, math.inf, delta) for epsilon in epsilons)


def _claims(record: ScopeRecord, certified: ScopeRecord) -> list[PrivacyLoss]:
    """Losses counted in a fit, with one list of it by its certificate."""
    written = certified.certificate
    assert written is not None
    whole = PrivacyLoss(
        written.certificate.epsilon, certified.charged.loss.rho, written.certificate.delta
    )
    by_list = certified.model_copy(update={"charged": LossRecord.of(whole)})
    children = tuple(by_list if child is certified else child for child in record.children)
    return counted_losses(record.model_copy(update={"children": children}))


def sole_certificate(record: ScopeRecord) -> Certificate | None:
    """The certificate that speaks for all that a finished fit spent, where one does."""
    children = [child for child in record.children if child.charged.loss != NO_LOSS]
    if record.adaptive or record.caps or record.entries or len(children) != 1:
        return None
    written = children[0].certificate
    if written is None or written.records_per_unit != record.records_per_unit:
        return None
    return written.certificate


def _problems(record: ScopeRecord, within_adaptive: bool) -> Iterator[str]:
    name = record.label or "accountant"
    within_adaptive = within_adaptive or record.adaptive or bool(record.caps)
    for entry in record.entries:
        if not entry_follows(entry):
            yield f"{name}: the loss of entry {entry.index} does not follow from its parameters"
    if record.certificate is not None:
        yield from _certificate_problems(record, record.certificate.certificate)
    yield from _unit_problems(record)
    for child in record.children:
        yield from _problems(child, within_adaptive)
    if record.composed.loss not in _compositions(record, within_adaptive):
        yield f"{name}: its total does not follow from its entries"
    if record.charged.loss not in _charges(record):
        yield f"{name}: what it is charged does not follow from its total and reserve"
    if record.reserve is not None and not record.reserve.loss.covers(record.composed.loss):
        yield f"{name}: it is above its reserve"
    if record.caps and not any(cap.loss.covers(record.charged.loss) for cap in record.caps):
        yield f"{name}: it is above its caps"
    written = (record.composed, record.charged, record.reserve, *record.caps)
    if any(amount != LossRecord.of(amount.loss) for amount in written if amount is not None):
        yield f"{name}: a figure is not its rational rounded up"


def entry_follows(entry: LedgerEntry) -> bool:
    """Say if an entry's loss follows from its mechanism and parameters."""
    if entry.mechanism not in EVENTS:  # taken at its word
        return min(entry.loss.epsilon, entry.loss.rho, entry.loss.delta) >= 0
    event = _event_of(entry)
    return event is not None and entry.cells > 0 and event.loss == entry.loss


def _event_of(entry: LedgerEntry) -> Event | None:
    return read_event(entry.mechanism, entry.parameters)


def _certificate_problems(record: ScopeRecord, certificate: Certificate) -> Iterator[str]:
    """A certified scope: the list is what was granted, and is what it says."""
    name = record.label
    if record.kind != "sequential" or record.children or record.caps or record.adaptive:
        yield f"{name}: a scope of its kind cannot be certified"
    if record.reserve is None or record.reserve.loss not in (
        certificate.loss,
        certificate.additive,
    ):
        yield f"{name}: its certificate is not what was set aside for it"
    # Of a list that is shorter, what follows it is nothing.
    planned = islice(chain(certificate.releases(), repeat(None)), len(record.entries))
    if [_event_of(entry) for entry in record.entries] != list(planned):
        yield f"{name}: its entries are not those that it was certified for"


def _unit_problems(record: ScopeRecord) -> Iterator[str]:
    """Units are those of one scope, and certificates for units lie right in it."""
    name, size = record.label or "accountant", record.records_per_unit
    if (record.kind == "units") != (size > 1):
        yield f"{name}: it counts in units and does not say so, or the other way round"
    if size > 1 and any(scope.kind == "units" for scope in record.walk() if scope is not record):
        yield f"{name}: units lie within units"
    for child in record.children:
        written = child.certificate
        if written is not None and written.records_per_unit not in (1, size):
            yield f"{child.label}: its certificate is for units of another size"


def counted_losses(record: ScopeRecord) -> list[PrivacyLoss]:
    """Entries and children of a scope as they count towards it, in units where it has units."""
    size = record.records_per_unit
    counted = [group_loss(entry.loss, size) for entry in record.entries]
    for child in record.children:
        own = child.certificate is not None and child.certificate.records_per_unit == size
        counted.append(child.charged.loss if own else group_loss(child.charged.loss, size))
    return counted


def added_losses(losses: Iterable[PrivacyLoss]) -> PrivacyLoss:
    """Losses added up; TooManyDigitsError where a sum has more digits than books hold."""
    losses = list(losses)
    return PrivacyLoss(
        added_up(loss.epsilon for loss in losses),
        added_up(loss.rho for loss in losses),
        Fraction(added_up(loss.delta for loss in losses)),
    )


def _compositions(record: ScopeRecord, within_adaptive: bool) -> list[PrivacyLoss]:
    """Losses that a scope may compose to; see :func:`_adaptivities` for why there may be two."""
    children = [child.charged.loss for child in record.children]
    parts = [*(entry.loss for entry in record.entries), *children]
    if record.kind == "parallel cells":
        return [_largest(children)] if not record.entries else []
    if record.certificate is not None:
        return [_of_list(record, record.certificate.certificate, added_losses(parts))]
    if record.kind == "sequential":
        return [added_losses(parts)]
    if record.kind == "units":
        return [added_losses(counted_losses(record))]
    sides = _sides(record, parts)
    if sides is None:
        return []
    return [_mixed(*sides, adaptive) for adaptive in _adaptivities(record, within_adaptive)]


def _of_list(record: ScopeRecord, certificate: Certificate, inner: PrivacyLoss) -> PrivacyLoss:
    """Loss that a certified scope composes to: what its entries add up to, or its certificate."""
    added = group_loss(inner, certificate.records_per_unit)
    if not stands_by_certificate(record):
        return added
    whole = PrivacyLoss(certificate.epsilon, added.rho, certificate.delta)
    return whole if record.entries else NO_LOSS


def _sides(
    record: ScopeRecord, parts: list[PrivacyLoss]
) -> tuple[list[Fraction], list[PrivacyLoss]] | None:
    """Probabilities of the sides of a scope and what each comes to; None where it has no such."""
    weights = {name: parse_finite(p) for name, p in record.probabilities.items()}
    if any(p <= 0 for p in weights.values()) or added_up(weights.values()) > 1:
        return None
    if record.kind == "poisson":
        return ([weights["rate"]], [added_losses(parts)]) if "rate" in weights else None
    by_name = {child.label: child.charged.loss for child in record.children}
    if record.entries or set(by_name) - set(weights):
        return None
    return list(weights.values()), [by_name.get(name, NO_LOSS) for name in weights]


def _adaptivities(record: ScopeRecord, within_adaptive: bool) -> tuple[bool, ...]:
    """Ways in which spending inside counts as adaptive: no, yes, or either.

    A scope that was opened as adaptive after the last request elsewhere and spent nothing changes
    no total until the next request.
    """
    inside = [s for s in record.walk() if s is not record and (s.adaptive or s.caps)]
    if within_adaptive:
        return (True,)
    if not inside:
        return (False,)
    return (True, False) if all(s.charged.loss == NO_LOSS for s in inside) else (True,)


# What scopes that mix cost is written here a second time, apart from ``mixtures`` on purpose: books
# that a fault there made do not pass because the same fault checks them.
def _mixed(shares: list[Fraction], losses: list[PrivacyLoss], adaptive: bool) -> PrivacyLoss:
    worst = _largest(losses)
    if worst == NO_LOSS:
        return NO_LOSS
    epsilon = mixture_epsilon(shares, [loss.epsilon for loss in losses])
    rho = worst.rho
    if not adaptive and not worst.delta:
        rho = min(rho, epsilon * epsilon / 2)
    return PrivacyLoss(epsilon, rho, shares[0] * worst.delta if len(shares) == 1 else worst.delta)


def _largest(losses: list[PrivacyLoss]) -> PrivacyLoss:
    worst = NO_LOSS
    for loss in losses:
        worst = worst.maximum(loss)
    return worst


def _charges(record: ScopeRecord) -> tuple[PrivacyLoss, ...]:
    """Losses that its parent may count.

    Earlier releases kept rho and delta of an adaptive scope also where nothing was granted in it.
    """
    composed, reserve = record.composed.loss, record.reserve
    if reserve is None:
        return (composed,)
    if not record.closed or record.reserve_kept:
        return (reserve.loss.maximum(composed),)
    if not record.adaptive:
        return (composed,)
    kept = PrivacyLoss(composed.epsilon, reserve.loss.rho, reserve.loss.delta)
    return (kept, composed) if composed == NO_LOSS else (kept,)
