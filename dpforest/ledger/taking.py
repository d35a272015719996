"""Taking up a reserve that was made before, such as by ``dpforest ledger reserve``.

A reserve is taken up by whoever made it, while none of its fits has begun. What it is for stays
what it was made for: another purpose, other blocks or another plan are refused, and so is a fit
that costs more, before its start is written and before a record is read.

**Claim.** A reserve pays for each of its fits once, and for no fit that costs more than was set
aside for it, however many processes take it up and wherever one dies.

**Proof.** Nothing is read before the fit's start is durable. The rules accept one start of each
part (:func:`dpforest.ledger.rules._start`), so of several processes one goes on. What a fit costs
is worked out from its own plan, never read from the reserve, and compared with it part by part; of
a reserve that stands by a certificate, all releases of all fits are compared with its list at once.
Whatever fails before the start leaves the reserve as it stood.

Held by tests/ledger/test_taking.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Self

from dpforest.accounting.ledger import Budget
from dpforest.exceptions import BudgetExceeded, ParameterError
from dpforest.ledger.accountant import (
    FitLedger,
    LedgerAccountant,
    LedgerReservation,
    Reserve,
)
from dpforest.ledger.amounts import fraction_of, to_units
from dpforest.ledger.bodies import OpenBody, ReserveBody
from dpforest.ledger.ceilings import Reservation
from dpforest.ledger.charges import loss_of
from dpforest.ledger.plan_files import Part
from dpforest.ledger.pricing import FitPrice, lines_of, repeated
from dpforest.ledger.witness import ReserveSnapshot
from dpforest.ledger.words import BY_THE_SAME, several

_ANEW = "Give it back (dpforest ledger void), and reserve for this very fit"


class ReserveAccountant(LedgerAccountant):
    """Charges one fit to a reserve that stands already.

    Made by ``BudgetLedger.accountant`` where a reserve is named.

    Parameters
    ----------
    ledger : BudgetLedger
    data_set : str
    facts : OpenBody
    reserve : str
        Its id.
    purpose, blocks, request : str, sequence of str, str
        Empty, or those that the reserve was made with.
    """

    def __init__(
        self,
        ledger: FitLedger,
        data_set: str,
        facts: OpenBody,
        reserve: str,
        purpose: str = "",
        blocks: Sequence[str] = (),
        request: str = "",
    ) -> None:
        super().__init__(ledger, data_set, facts, purpose, blocks, request)
        charge = taken_up(ledger, data_set, reserve, purpose, blocks, request).snapshot.charge
        if len(charge.parts) > 1 or charge.alone:
            _refuse(
                reserve, f"is of {several(len(charge.parts), 'fit')} announced together",
                "Take it up with ledger.campaign(..., reserve=...) and all of its forests",
            )  # fmt: skip
        self.reserve, self.purpose, self.blocks = reserve, charge.purpose, charge.blocks

    @property
    def remaining(self) -> Budget:
        """Budget that was set aside; nothing once its fit has begun."""
        held = [one for one in self.ledger.status(self.data_set).reserves if one.id == self.reserve]
        left = sum(one.units for one in held if not one.started)
        return Budget.left(loss_of(self.facts.currency, fraction_of(left)))

    def reservation(self, price: FitPrice) -> Reservation:
        return _TakenReservation(self, price)

    def __repr__(self) -> str:
        return f"<accountant of reserve {self.reserve} on {self.charged_to}>"


class _TakenReservation(LedgerReservation):
    """A reserve of one fit that somebody made before; it outlives a fit that never began."""

    _reserve: Reserve

    def __init__(self, ceiling: ReserveAccountant, price: FitPrice) -> None:
        super().__init__(ceiling)
        self._own, self._price = ceiling, price

    def __enter__(self) -> Self:
        own = self._own
        reserve = taken_up(own.ledger, own.data_set, own.reserve)
        check_covers(reserve.snapshot, [self._price], own.facts)
        self._reserve = reserve
        return self

    def _claimed(self) -> tuple[Reserve, int]:
        return self._reserve, 0

    def _give_back(self) -> None:
        """Nothing was taken: the reserve stands as it did."""


def taken_up(
    ledger: FitLedger,
    data_set: str,
    reserve: str,
    purpose: str = "",
    blocks: Sequence[str] = (),
    request: str = "",
) -> Reserve:
    """A reserve of this actor's that stands, and of which no fit has begun.

    Parameters
    ----------
    ledger : BudgetLedger
    data_set, reserve : str
    purpose, blocks, request : str, sequence of str, str
        Empty, or those that it was made with.

    Raises
    ------
    ParameterError
        If there is none, it has begun, or it is of somebody or of something else.
    """
    held = {one.id: one for one in ledger.status(data_set).reserves}.get(reserve)
    if held is None:
        _refuse(
            reserve, f"is no reserve of data set {data_set!r} that is held",
            "It was given back, settled or never made: reserve budget, and use the id it returns",
        )  # fmt: skip
    if held.actor != ledger.actor:
        _refuse(reserve, f"was made by {held.actor!r}", "Open the ledger as that actor")
    if held.started:
        _refuse(
            reserve, "has begun, and a reserve pays for each fit once",
            "Reserve budget for another fit",
        )  # fmt: skip
    made = ledger.as_written(data_set, reserve)
    assert isinstance(made.entry.body, ReserveBody)
    _check_words(made.entry.body, purpose, blocks, request)
    return Reserve(ledger, data_set, ReserveSnapshot.of(made.entry, made.state))


def _check_words(body: ReserveBody, purpose: str, blocks: Sequence[str], request: str) -> None:
    charge = body.charge
    for name, given, own in (
        ("purpose", purpose, charge.purpose),
        ("blocks", tuple(sorted(blocks)), tuple(sorted(charge.blocks))),
        ("request", request, body.request),
    ):
        if given and given != own:
            raise ParameterError(
                name, given, f"is not what the reserve was made with ({own!r})",
                "Leave it out, or reserve anew",
            )  # fmt: skip


def check_covers(snapshot: ReserveSnapshot, prices: Sequence[FitPrice], facts: OpenBody) -> None:
    """Refuse fits that a reserve does not pay for: each needs a part of its plan and its price.

    Raises
    ------
    BudgetExceeded
        If a fit costs more than was set aside; nothing was charged.
    ParameterError
        If they are other plans than those that were reserved.
    """
    parts = list(snapshot.charge.parts)
    for price in prices:
        parts.remove(_paid(snapshot, parts, price, facts))
    if parts:
        _refuse(
            snapshot.id, f"is of {several(len(parts), 'more fit')} than were given",
            "Give all of its forests, each as often as it was reserved",
        )  # fmt: skip
    listed = sum((lines_of(repeated(price)) for price in prices), lines_of(()))
    if snapshot.charge.alone and not listed <= lines_of(snapshot.charge.releases):
        _refuse(snapshot.id, "stands by a certificate of other releases than its fits have", _ANEW)


def _paid(
    snapshot: ReserveSnapshot, parts: Sequence[Part], price: FitPrice, facts: OpenBody
) -> Part:
    """A part that pays for a fit: the one of its plan, at no less than its price."""
    units = to_units(price.amount(facts.currency), facts.currency)
    same = [part for part in parts if part.plan == price.plan]
    most = max(part.units for part in same or snapshot.charge.parts)
    if units > most:
        asked, left = (loss_of(facts.currency, fraction_of(n)) for n in (units, most))
        raise BudgetExceeded(asked, Budget.left(left), f"reserve {snapshot.id}", "", _ANEW)
    if not same:
        _refuse(
            snapshot.id,
            f"was made for other plans than the fit's ({price.plan[:12]}…)",
            f"Fit the very forest that was reserved for, with the same settings{BY_THE_SAME}; or "
            "reserve anew",
        )
    return max(same, key=lambda part: part.units)


def _refuse(reserve: Any, rule: str, repair: str) -> NoReturn:
    raise ParameterError("reserve", reserve, rule, repair)
