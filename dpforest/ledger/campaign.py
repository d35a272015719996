"""Several fits priced or reserved together: a batch to look at, and a campaign to be run.

A campaign is announced before its first record is read: which plans, in which number. It is one
reserve. Where the sum of its prices fits under the cap it is charged that. Where it does not, and
nothing was ever charged to the data set, the whole list may still be (epsilon, delta)-DP within
what the cap was declared as, by one certificate (:func:`dpforest.ledger.pricing.campaign_epsilon`);
then it stands alone, and the data set is used up. Its rho may be above the cap's, so where the cap
was given in rho there is no such campaign.

Its fits may run in any order and side by side, and some may never run. All of them were fixed
beforehand, so a plan that waits for a released value cannot be among them.

Held by tests/ledger/test_campaign.py and tests/estimators/test_ledger_fits.py.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from dpforest.accounting.figures import figure_down, figure_up
from dpforest.accounting.losses import Amount
from dpforest.accounting.rationals import parse_amount, parse_finite
from dpforest.exceptions import BudgetExceeded, ParameterError, ParameterTypeError
from dpforest.ledger.accountant import (
    DataSetCeiling,
    LedgerReservation,
    Reserve,
    SharedCeiling,
)
from dpforest.ledger.amounts import fraction_of, to_units
from dpforest.ledger.bodies import OpenBody
from dpforest.ledger.ceilings import Reservation
from dpforest.ledger.charges import charged, check_charge
from dpforest.ledger.facts import is_given_in_rho
from dpforest.ledger.plan_files import Charge, Part
from dpforest.ledger.pricing import FitPrice, campaign_epsilon, charge_of, lines_of, repeated
from dpforest.ledger.state import DataSetState
from dpforest.ledger.words import BY_THE_SAME, several

#: Words for whether a single fit fits.
_ALL_OR_NONE = ("it does not fit", "it fits")
#: What rounding of all charges of years comes to at most.
_NARROW = Fraction(1, 2**64)


class Forest(Protocol):
    """An estimator, as far as its price goes."""

    def _priced(self, ceiling: DataSetCeiling, streamed: bool | None = None) -> FitPrice: ...


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Charges that some fits would come to; nothing was charged.

    Attributes
    ----------
    data_set : str
    currency : {"rho", "epsilon"}
    prices : tuple of Fraction
        Of each fit, exactly; their sum is what they are charged one by one.
    remaining : Fraction
        What the data set, or each of the blocks that were named, may still be charged, and no
        more than the actor's quota leaves.
    fits : int
        How many of them would be granted one by one, in their order.
    cap : (Fraction, Fraction)
        Epsilon and delta that the cap was declared as.
    together : Fraction or math.inf
        Epsilon of all of them at the cap's delta, by one certificate; infinite where there is none.
    alone : bool
        Whether a campaign of them would stand by that certificate: their sum does not fit, nothing
        was ever charged to the data set, and the certificate is within the cap.
    plans : tuple of str
        Digests of their plans, by which owners approve of them.
    approvals : int
        How many owners must approve of each, or of a campaign of them.
    waits : int
        How many of them wait for a number of records that they buy first.
    why_frozen : str
        Reason for which the data set is frozen, so that none of them begins; else empty.
    given_in_rho : bool
        Whether the cap was given in rho, so that no certificate stands in place of the sum.
    """

    data_set: str
    currency: str
    prices: tuple[Fraction, ...]
    remaining: Fraction
    fits: int
    cap: tuple[Fraction, Fraction]
    together: Amount
    alone: bool
    plans: tuple[str, ...]
    approvals: int = 0
    waits: int = 0
    why_frozen: str = ""
    given_in_rho: bool = False

    @property
    def total(self) -> Fraction:
        """Sum of all prices."""
        return sum(self.prices, Fraction(0))

    @property
    def granted(self) -> bool:
        """True if all of them fit, one by one or as a campaign, once the data set is not frozen."""
        return self.fits == len(self.prices) or self.alone

    def __str__(self) -> str:
        n, name, left = len(self.prices), self.currency, figure_down(self.remaining)
        lines = [
            f"data set {self.data_set!r}: {several(n, 'fit')}, nothing was charged",
            f"  {name} = {figure_up(self.total)} in all; {name} = {left} remains: "
            + (f"one by one {self.fits} of {n} fit" if n > 1 else _ALL_OR_NONE[self.fits]),
            f"  the cap was declared as ({', '.join(map(figure_up, self.cap))})",
        ]
        if self.together < math.inf:
            both = f"({figure_up(self.together)}, {figure_up(self.cap[1])})"
            lines.append(f"  one certificate for all of them, fixed beforehand: {both}")
        if self.alone:
            lines.append("  a campaign of them would stand by that, and use the data set up")
        return "\n".join([*lines, *self._hints()])

    def _hints(self) -> Iterator[str]:
        """Reasons that the figures alone do not show."""
        if self.fits < len(self.prices) and self.total <= self.remaining < self.total + _NARROW:
            yield (
                "  each price is rounded up to a multiple of 2^-128, and the cap down, so the last "
                "does not quite fit: register a little more, such as a ten-thousandth"
            )
        if self.given_in_rho and self.fits < len(self.prices) and self.together <= self.cap[0]:
            yield (
                "  the cap was given in rho, and a certificate says nothing of rho: a campaign is "
                "charged the sum here, as fits one by one are"
            )
        if self.waits and self.fits < len(self.prices):
            yield (
                f"  {several(self.waits, 'of them waits', 'of them wait')} for a released value, "
                "mostly the number of records, and is charged the most that it may come to: "
                "declare approximate_rows in the domain"
            )
        if self.approvals:
            yield f"  approvals of owners that each needs, or a campaign of them: {self.approvals}"
        if self.why_frozen:
            yield f"  none of them begins, since the data set is frozen ({self.why_frozen})"


def batch_plan(
    state: DataSetState, prices: Sequence[FitPrice], actor: str, blocks: Sequence[str] = ()
) -> BatchPlan:
    """Price some fits of a data set, and charge nothing.

    Parameters
    ----------
    state : DataSetState
    prices : sequence of FitPrice
    actor : str
        Whoever would be charged.
    blocks : sequence of str
        Blocks that they would read, of a table that grows.
    """
    facts = state.facts
    together = _together(state, prices)
    fits = _fitting(state, prices, actor, blocks)
    return BatchPlan(
        data_set=state.name,
        currency=facts.currency,
        prices=tuple(price.amount(facts.currency) for price in prices),
        remaining=fraction_of(state.room(blocks, actor)),
        fits=fits,
        cap=_declared(facts),
        together=together,
        alone=fits < len(prices) and _may_stand_alone(state, prices, together),
        plans=tuple(price.plan for price in prices),
        approvals=state.approvals,
        waits=sum(price.waits for price in prices),
        why_frozen=state.why_frozen,
        given_in_rho=is_given_in_rho(facts),
    )


def campaign_charge(
    state: DataSetState,
    prices: Sequence[FitPrice],
    purpose: str = "",
    blocks: Sequence[str] = (),
) -> Charge:
    """The charge of a campaign: the sum of its prices, or that it may stand by its certificate.

    Raises
    ------
    ParameterError
        If a plan waits for a released value.
    """
    _check_fixed(prices)
    charge = charge_of(prices, state.facts.currency, purpose, blocks)
    if charge.units <= state.room(charge.blocks):
        return charge
    together = _together(state, prices)
    if not _may_stand_alone(state, prices, together):
        return charge  # the rules refuse it, with what is left
    certificate = Fraction(together), _declared(state.facts)[1]
    return charge_of(prices, state.facts.currency, purpose, blocks, certificate)


def _check_fixed(prices: Sequence[FitPrice]) -> None:
    if waiting := [place for place, price in enumerate(prices) if price.waits]:
        raise ParameterError(
            "forests", tuple(waiting[:10]),
            "are plans (counted from 0) that wait for a released value, and a campaign is fixed "
            "beforehand",
            "Declare approximate_rows in the domain, or fit them one by one",
        )  # fmt: skip


def _fitting(
    state: DataSetState, prices: Sequence[FitPrice], actor: str, blocks: Sequence[str]
) -> int:
    """Number of fits that the rules would grant, in their order."""
    count = 0
    with contextlib.suppress(BudgetExceeded):
        for price in prices:
            charge = charge_of([price], state.facts.currency, blocks=blocks)
            check_charge(state, charge)
            state, _ = charged(state, actor, charge)
            count += 1
    return count


def _declared(facts: OpenBody) -> tuple[Fraction, Fraction]:
    return Fraction(parse_amount(facts.epsilon)), parse_finite(facts.delta)


def _together(state: DataSetState, prices: Sequence[FitPrice]) -> Amount:
    facts = state.facts
    return math.inf if facts.currency != "rho" else campaign_epsilon(prices, _declared(facts)[1])


def _may_stand_alone(state: DataSetState, prices: Sequence[FitPrice], together: Amount) -> bool:
    """Say if nothing was ever charged and a certificate is within what the cap was declared as.

    A cap that was lowered is no longer what was declared, and one that was given in rho promises
    that, of which a certificate says nothing.
    """
    facts = state.facts
    untouched = not state.total and not state.blocks and state.cap == facts.cap
    fixed = not any(price.waits for price in prices)
    within = untouched and fixed and together <= _declared(facts)[0]
    return within and not is_given_in_rho(facts)


# -- a campaign that is run -----------------------------------------------------------------------


class Campaign(SharedCeiling):
    """One reserve for several fits, to be given to each of them as ``accountant``.

    Made by ``BudgetLedger.campaign``, which has reserved all of it or took such a reserve up. A fit
    takes the part whose plan is its own, once; a fit of another plan is refused before anything is
    read.

    Attributes
    ----------
    reserve : Reserve
    left : int
        How many of its fits have not begun.
    """

    def __init__(self, ledger: Any, data_set: str, facts: OpenBody, reserve: Reserve) -> None:
        super().__init__(ledger, data_set, facts)
        self.reserve = reserve
        self._lock = threading.Lock()
        self._waiting = dict(enumerate(reserve.snapshot.charge.parts))
        # Of a certified list: lines that no fit has claimed.
        self._lines = lines_of(reserve.snapshot.charge.releases)

    @property
    def left(self) -> int:
        """Number of its fits that have not begun."""
        return len(self._waiting)

    def reservation(self, price: FitPrice) -> Reservation:
        return _PartReservation(self, price)

    def void(self, reason: str) -> None:
        """Give the whole reserve back, while none of its fits has begun.

        Parameters
        ----------
        reason : str
        """
        self.reserve.void(reason)
        with self._lock:
            self._waiting.clear()

    def claim(self, price: FitPrice) -> int:
        """Take the next part that is of a fit's plan, and was paid for at its price.

        Raises
        ------
        ParameterError
            If there is none, all of them were taken, or the reserve has another price of it. A plan
            file says what it likes: here it is compared with what the fit costs.
        """
        with self._lock:
            for place, part in sorted(self._waiting.items()):
                if part.plan == price.plan:
                    self._check_paid(part, price)
                    del self._waiting[place]
                    self._lines -= lines_of(repeated(price))
                    return place
            left = len(self._waiting)
        raise ParameterError(
            "accountant", self.charged_to,
            f"is a campaign of {several(len(self.reserve.snapshot.charge.parts), 'fit')}, of which "
            f"{left} {'is' if left == 1 else 'are'} left and none is of this plan "
            f"({price.plan[:12]}…)",
            f"Fit a clone of a forest that was announced, each as often as it was{BY_THE_SAME}; or "
            "announce a campaign of its own",
        )  # fmt: skip

    def _check_paid(self, part: Part, price: FitPrice) -> None:
        """A part's price must be the fit's, and a certificate's list must hold the fit's own."""
        same = part.units == to_units(price.amount(self.facts.currency))
        listed = lines_of(repeated(price)) <= self._lines
        if not same or (self.reserve.snapshot.charge.alone and not listed):
            raise ParameterError(
                "accountant", self.charged_to,
                "is a campaign whose reserve names another price or other releases of this plan "
                f"({price.plan[:12]}…) than the fit has",
                "Reserve what ledger.campaign(...) prices, and not a plan file that was edited",
            )  # fmt: skip

    def unclaim(self, part: int, price: FitPrice) -> None:
        """Let another fit take a part whose fit failed before it began."""
        with self._lock:
            self._waiting[part] = self.reserve.snapshot.charge.parts[part]
            self._lines += lines_of(repeated(price))

    def __repr__(self) -> str:
        fits = several(len(self.reserve.snapshot.charge.parts), "fit")
        return f"<campaign of {fits} on {self.charged_to}>"


class _PartReservation(LedgerReservation):
    """A part of a campaign."""

    _part: int

    def __init__(self, campaign: Campaign, price: FitPrice) -> None:
        super().__init__(campaign)
        self._campaign, self._price = campaign, price
        # Whether another process has begun this part, of a reserve that both took up.
        self._is_gone = False

    def __enter__(self) -> _PartReservation:
        self._part = self._campaign.claim(self._price)
        return self

    def start(self) -> None:
        try:
            super().start()
        except ParameterError as error:
            self._is_gone = error.parameter == "part"
            raise

    def _claimed(self) -> tuple[Reserve, int]:
        return self._campaign.reserve, self._part

    def _give_back(self) -> None:
        # A part that may have begun is not begun again.
        if not self._unsure and not self._is_gone:
            self._campaign.unclaim(self._part, self._price)


def priced_forests(
    ceiling: DataSetCeiling, forests: Any, streamed: bool | None = None
) -> tuple[FitPrice, ...]:
    """Prices of some forests as fits of a data set.

    Parameters
    ----------
    ceiling : DataSetCeiling
    forests : estimator, or sequence of estimators
    streamed : bool, optional
        Whether records will be read pass by pass; None asks each forest.

    Raises
    ------
    ParameterError, ParameterTypeError
        If one is no forest, or is not of the data set.
    """
    named = list(forests) if isinstance(forests, Iterable) else [forests]
    if not named:
        raise ParameterError("forests", named, "must name a forest", "Give at least one")
    for forest in named:
        if isinstance(forest, type) or not hasattr(forest, "_priced"):
            raise ParameterTypeError(
                "forests", getattr(forest, "__name__", type(forest).__name__),
                "must be private estimators of dpforest",
                "Give forests as they would be fitted",
            )  # fmt: skip
    return tuple(forest._priced(ceiling, streamed) for forest in named)
