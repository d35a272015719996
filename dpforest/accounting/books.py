"""Books: the ceiling of an accountant, its lock and its prices, which all of its scopes share."""

from __future__ import annotations

import functools
import math
import threading
from fractions import Fraction
from typing import Any, Protocol, Self

from dpforest.accounting.bounds import add_remove_price
from dpforest.accounting.conversion import conversion_method, rho_of_epsilon
from dpforest.accounting.events import EVENTS, Event, checked_loss
from dpforest.accounting.figures import figure_up
from dpforest.accounting.ledger import Budget
from dpforest.accounting.losses import NO_LOSS, ZERO, Amount, PrivacyLoss
from dpforest.accounting.rationals import check_length, is_long, to_rational
from dpforest.accounting.requests import Granted, PricedRequests, Request, read_request
from dpforest.exceptions import BudgetExceeded, ParameterError, ParameterTypeError, ScopeError
from dpforest.processes import ProcessLock, this_process
from dpforest.strict_json import is_writable

_OWN_EVENTS = frozenset(EVENTS.values())
#: Where no larger total of this kind would do.
_WITHOUT_DELTA = "Ask for it without a delta, or open an accountant with one"
#: Sums of losses that books keep.
_MOST_SUMS = 1024
#: Digits left for the releases of a scope whose caps are alternatives, and that do not matter yet.
ROOM = 500


class Charged(Protocol):
    """A scope, as far as books know it."""

    @property
    def charged(self) -> PrivacyLoss:
        """Loss that it counts as."""


class Books:
    """Total of an accountant, and all that deciding about it takes.

    The losses themselves stand in the tree of scopes, each of which holds these books. The rule
    that they keep, and its proof, are in :class:`dpforest.BudgetAccountant`.

    Attributes
    ----------
    epsilon, delta : Fraction
        The ceiling; an infinite epsilon grants everything.
    name : str or None
        For reports.
    lock : RLock
        Held by whoever reads or changes what is charged. In a forked child, which may read what
        it inherits, it is another one.
    alone : scope or None
        The scope beside which nothing is granted any more, once it is charged anything.
    held_first : list of scope
        Adaptive scopes that were opened before anything was granted.
    sealed : bool
        Whether nothing more is granted, because what is left belongs to nobody.
    """

    def __init__(self, epsilon: Amount, delta: Fraction, name: str | None) -> None:
        self.epsilon, self.delta, self.name = epsilon, delta, name
        self._lock = ProcessLock()
        self.alone: Charged | None = None
        self.held_first: list[Charged] = []
        self.sealed = False
        self._process = this_process()
        self._prices: dict[int, tuple[Event, PrivacyLoss]] = {}
        self._sums: dict[tuple[int, int], tuple[PrivacyLoss, PrivacyLoss, PrivacyLoss]] = {}
        self._requests_read: dict[tuple[int, ...], tuple[tuple[Request, ...], PricedRequests]] = {}

    @classmethod
    def begun(cls, epsilon: Any, delta: Any, name: Any) -> Self:
        """Empty books of a ceiling; see :class:`dpforest.BudgetAccountant`."""
        cap = to_rational(epsilon, "epsilon")
        if cap <= 0:
            raise ParameterError(
                "epsilon", epsilon, "must be a positive number", "Choose the total to spend"
            )
        slack = to_rational(delta, "delta")
        if not 0 <= slack < 1:
            raise ParameterError(
                "delta", delta, "must be at least 0 and below 1", "Use 0, or about 1e-6"
            )
        if name is not None and not isinstance(name, str):
            raise ParameterTypeError("name", name, "must be a str or None", "Name it for reports")
        if name is not None and not is_writable(name):
            raise ParameterError("name", name, "holds half of a character", "Write it as Unicode")
        return cls(cap, slack, name)

    # -- reading ------------------------------------------------------------------------

    @property
    def lock(self) -> threading.RLock:
        return self._lock.here

    def total(self) -> Budget:
        """Budget in all: pure epsilon, or the rho that converts to it at delta."""
        return Budget.left(self._cap(ZERO))

    def remaining(self, charged: PrivacyLoss) -> Budget:
        """Budget that is left where so much is charged."""
        if self._is_used_up():
            return Budget.left(NO_LOSS)
        return Budget.left(self._cap(charged.delta).left_after(charged))

    @property
    def conversion(self) -> str:
        """Source of conversions between rho and (epsilon, delta)."""
        return conversion_method() if self.delta else "none: delta is 0"

    # -- deciding -----------------------------------------------------------------------

    def asked_of(self, requests: tuple[Request, ...]) -> PricedRequests:
        """Requests read, priced and added up; the trees of a forest make the same ones.

        Read once: what is priced, what is recorded and what is granted are the same objects. Kept
        by identity like prices, where they are several, as long as there are few, and of our own
        frozen types only.
        """
        key = tuple(map(id, requests))
        known = self._requests_read.get(key)
        if known is not None:
            return known[1]
        entries = tuple([self._entry(request) for request in requests])
        losses = [entry.loss for entry in entries]
        asked = PricedRequests(
            entries, functools.reduce(self.sum_of, losses) if losses else NO_LOSS
        )
        several = len(requests) > 1 and len(self._requests_read) < _MOST_SUMS
        if several and all(map(_stays, requests)):
            self._requests_read[key] = requests, asked
        return asked

    def _entry(self, request: Request) -> Granted:
        event, role, cells, level = read_request(request)
        return Granted(event, self.price_of(event), role, cells, level)

    def price_of(self, event: Event) -> PrivacyLoss:
        """Loss of an event; plans ask for the same object again and again.

        Kept by identity: our own events never change, and hashing rationals is no cheaper than
        pricing them. Entries hold the events anyway.
        """
        priced = self._prices.get(id(event))
        if priced is not None and priced[0] is event:
            return priced[1]
        loss = checked_loss(event)
        if type(event) in _OWN_EVENTS:
            self._prices[id(event)] = event, loss
        return loss

    def sum_of(self, spent: PrivacyLoss, added: PrivacyLoss) -> PrivacyLoss:
        """Sum of two losses; the trees of a forest add up the same ones in the same order.

        Kept by identity like prices, as long as there are few: losses never change, and those that
        are kept here cannot make room for others of the same identity.
        """
        known = self._sums.get((id(spent), id(added)))
        if known is not None:
            return known[2]
        total = spent + added
        if len(self._sums) < _MOST_SUMS:
            self._sums[id(spent), id(added)] = spent, added, total
        return total

    def admit(self, charged: PrivacyLoss, loss: PrivacyLoss, requested: PrivacyLoss) -> None:
        """Refuse a new total that fits under neither cap, or beside a scope that stands alone.

        Parameters
        ----------
        charged, loss : PrivacyLoss
            What the root is charged, and what it would be.
        requested : PrivacyLoss
            What is asked for, for the message.

        Raises
        ------
        BudgetExceeded
        """
        if self.sealed and loss != charged:
            raise BudgetExceeded(requested, Budget.left(NO_LOSS), "the books of a fit that is done")
        if self.epsilon == math.inf:
            return
        fits = loss.delta <= self.delta and (
            loss.epsilon <= self.epsilon
            or (self.delta > 0 and loss.rho <= self._rho_cap(loss.delta))
        )
        if fits and (loss == charged or not self._is_used_up()):
            return
        name = f"accountant {self.name!r}" if self.name else "accountant"
        left, note = self.remaining(charged), self._in_epsilon(requested)
        if not self.delta and (requested.delta or requested.epsilon == math.inf):
            raise BudgetExceeded(requested, left, name, note, _WITHOUT_DELTA)
        raise BudgetExceeded(requested, left, name, note)

    def check_remainder(self, loss: PrivacyLoss) -> None:
        """Refuse a new total that leaves an amount of more digits than books hold.

        A difference is worked out only where an amount is long itself: others leave short ones.

        Raises
        ------
        ParameterError
        """
        if self.epsilon == math.inf or not any(
            is_long(amount, ROOM)
            for amount in (self.epsilon, self.delta, loss.epsilon, loss.rho, loss.delta)
        ):
            return
        check_length(self._cap(loss.delta).left_after(loss))

    def check_process(self) -> None:
        """Refuse to spend in another process than the one that began the books.

        Raises
        ------
        ScopeError
        """
        if this_process() != self._process:
            raise ScopeError(
                "this accountant belongs to another process, and a copy of it must not spend. "
                "Use threads (n_jobs does), or spend in the process that made it."
            )

    def _is_used_up(self) -> bool:
        return self.alone is not None and self.alone.charged != NO_LOSS

    def _in_epsilon(self, requested: PrivacyLoss) -> str:
        """Words for a request without a pure epsilon: what it comes to here."""
        if requested.delta and not self.delta:
            return "which has a delta where this accountant has none"
        if requested.epsilon != math.inf or requested.rho == math.inf:
            return ""
        if not self.delta:
            return "which has no pure epsilon, and this accountant has no delta"
        epsilon, delta, _ = add_remove_price(requested, self.delta)
        return f"which is epsilon={figure_up(epsilon)} at delta={figure_up(delta)}"

    def _rho_cap(self, delta_spent: Fraction) -> Amount:
        if self.epsilon == math.inf:
            return math.inf
        return rho_of_epsilon(Fraction(self.epsilon), self.delta - delta_spent)

    def _cap(self, delta_spent: Fraction) -> PrivacyLoss:
        """The most that may be charged in each amount, where so much of delta is spent."""
        return PrivacyLoss(self.epsilon, self._rho_cap(delta_spent), self.delta)


def _stays(request: Request) -> bool:
    """True if a request is as it was read whenever it is read: its parts are of plain types."""
    plain = type(request.role) is str and type(request.cells) is int
    plain = plain and (request.level is None or type(request.level) is int)
    return plain and type(request) is Request and type(request.event) in _OWN_EVENTS
