"""The ceiling: holds the total, the lock and the root of the composition tree."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from dpforest.accounting.bounds import add_remove_price
from dpforest.accounting.conversion import (
    conversion_method,
    rho_of_epsilon,
)
from dpforest.accounting.events import EVENTS, Event
from dpforest.accounting.figures import figure_down, figure_up
from dpforest.accounting.grants import Grant
from dpforest.accounting.ledger import (
    Budget,
    BudgetRecord,
    FrozenLedger,
    LedgerEntry,
    ScopeRecord,
)
from dpforest.accounting.losses import NO_LOSS, ZERO, Amount, PrivacyLoss
from dpforest.accounting.rationals import MOST_DIGITS, check_length, is_long, to_rational
from dpforest.accounting.scopes import (
    ParallelCellsScope,
    ParallelRecordsScope,
    PoissonScope,
    Request,
    Scope,
    SequentialScope,
    checked_loss,
)
from dpforest.accounting.units import open_units
from dpforest.exceptions import BudgetExceeded, ParameterError, ParameterTypeError, ScopeError
from dpforest.processes import this_process
from dpforest.strict_json import is_writable

_OWN_EVENTS = frozenset(EVENTS.values())
#: Sums of losses that an accountant keeps.
_MOST_SUMS = 1024
#: Digits left for the releases of a scope whose caps are alternatives, and that do not matter yet.
_ROOM = 500


class BudgetAccountant:
    """Ceiling on what may be learnt about one record, and the books of what was spent.

    Parameters
    ----------
    epsilon : int, float, str, Decimal or Fraction
        Total pure epsilon; a float means its shortest decimal.
    delta : int, float, str, Decimal or Fraction
        With a delta, spending may also stay under the rho that converts to
        (epsilon, delta).
    name : str, optional
        For reports.

    Notes
    -----
    **Rule.** With E, R, D the composed pure epsilon, rho and delta, a request passes if
    D <= delta and either E <= epsilon, or R <= rho(epsilon, delta - D), the rho that converts
    to (epsilon, delta - D).

    **Claim.** All that is released is (epsilon, delta)-DP under add/remove of one record, also
    when requests are chosen by what was released before; the deltas of external spends must
    be fixed beforehand.

    **Proof.** D is fixed, so take D = 0 (a failure event of probability at most D in all is
    added at the end). Split the transcripts S by the cap under which they end: A, where
    E <= epsilon, and B, the rest, where R <= rho. On a transcript of A every request's ratio of
    probabilities is at most e^epsilon_i, whatever chose epsilon_i, and the products stay below
    e^epsilon: P(S & A) <= e^epsilon P'(S & A). Losses never fall, so a transcript of B was
    under the rho cap all along, and a run that stops at the first request beyond that cap
    agrees with this one on B. It is rho-zCDP (plain addition against a fixed cap is a valid
    filter: Whitehouse, Ramdas, Rogers, Wu 2023), hence (epsilon, delta)-DP:
    P(S & B) <= e^epsilon P'(S & B) + delta. Add the two:
    P(S) = P(S & A) + P(S & B) <= e^epsilon P'(S) + delta.

    **One scope alone.** A scope may be opened for an alternative reserve while nothing is charged
    (``open_scope``, ``alone``); that it is so follows from no record. From then on all that is
    released is released in that scope, whose reserve is covered by (epsilon, delta).

    Held by tests/accounting/test_accountant.py, test_laws.py and test_shared_lists.py.

    A live accountant is never duplicated: ``copy``, ``deepcopy`` and scikit-learn's ``clone``
    return the same one, pickling raises, and a forked process may not spend. All methods may
    be called from any thread.
    """

    def __init__(self, epsilon: Any, delta: Any = 0, name: str | None = None) -> None:
        if hasattr(self, "_root"):
            raise ScopeError("books are not begun anew: make another BudgetAccountant")
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
        self._set_up(cap, slack, name)

    def _set_up(self, epsilon: Amount, delta: Fraction, name: str | None) -> None:
        self._epsilon = epsilon
        self._delta = delta
        self._name = name
        self._lock = threading.RLock()
        self._process = this_process()
        self._prices: dict[int, tuple[Event, PrivacyLoss]] = {}
        self._sums: dict[tuple[int, int], tuple[PrivacyLoss, PrivacyLoss, PrivacyLoss]] = {}
        self._root = SequentialScope(self, None, "")
        # The scope beside which nothing is granted any more, once it is charged anything.
        self._alone: Scope | None = None

    @classmethod
    def _unlimited(cls, delta: Any = 0, name: str | None = None) -> BudgetAccountant:
        """Make one that grants everything, to learn what a plan composes to. No data near it."""
        accountant = cls.__new__(cls)
        accountant._set_up(math.inf, to_rational(delta, "delta"), name)
        return accountant

    # -- reading ------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """Name for reports."""
        return self._name

    @property
    def total(self) -> Budget:
        """What may be spent: pure epsilon, or the rho that converts to it at delta."""
        rho = self._rho_cap(ZERO)
        exact = PrivacyLoss(self._epsilon, rho, self._delta)
        return Budget.left(exact)

    @property
    def loss(self) -> PrivacyLoss:
        """Exact loss of everything granted, reserves that are held included."""
        with self._lock:
            return self._root.charged

    @property
    def spent(self) -> Budget:
        """What is spent so far, in the amounts that add up; reserves that are held included.

        ``epsilon`` and ``delta`` are a bound of what was released, also where requests were chosen
        by what was released before. Without a ``delta`` every transcript's ratio of probabilities
        is at most e^epsilon (``epsilon`` is infinite beside Gaussian noise). Where one certified
        list stands for all that is granted (``open_scope``, ``alone``), they are the list's
        (epsilon, delta) by its certificate. ``rho`` is what counts against the total's rho, and no
        more: once it depends on what was released, what it would convert to is no bound. What
        holds for all that is ever released is ``total``.
        Held by tests/accounting/test_spent.py.
        """
        return Budget.spent(self.loss)

    @property
    def remaining(self) -> Budget:
        """What may still be spent: as pure epsilon, or as rho; either is enough to be granted."""
        with self._lock:
            loss = self.loss
            if self._is_used_up():
                return Budget.left(NO_LOSS)
        cap = PrivacyLoss(self._epsilon, self._rho_cap(loss.delta), self._delta)
        return Budget.left(cap.left_after(loss))

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """Every granted request, ordered by scope."""
        return self.composition().ledger

    @property
    def conversion(self) -> str:
        """Where conversions between rho and (epsilon, delta) come from."""
        return conversion_method() if self._delta else "none: delta is 0"

    def composition(self) -> ScopeRecord:
        """Return the tree of scopes with the total of each."""
        return self._root.record()

    def frozen(self) -> FrozenLedger:
        """Return the books as data that can be stored; they grant nothing."""
        with self._lock:
            return FrozenLedger(
                name=self._name,
                conversion=self.conversion,
                total_record=BudgetRecord.of(self.total),
                spent_record=BudgetRecord.of(self.spent),
                remaining_record=BudgetRecord.of(self.remaining),
                scopes=self.composition(),
            )

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the books as JSON; ``FrozenLedger.from_json`` reads them back."""
        return self.frozen().to_json(path)

    # -- spending -----------------------------------------------------------------------

    def request(
        self, event: Event, *, role: str, cells: int = 1, level: int | None = None
    ) -> Grant:
        """Ask for one release outside any scope; see ``Scope.request``."""
        return self._root.request(event, role=role, cells=cells, level=level)

    def request_all(self, requests: Iterable[Request]) -> list[Grant]:
        """Ask for several releases, all or none; see ``SequentialScope.request_all``."""
        return self._root.request_all(requests)

    def open_scope(
        self,
        label: str,
        reserve: PrivacyLoss | None = None,
        adaptive: bool = False,
        caps: tuple[PrivacyLoss, ...] = (),
        max_records_per_unit: int = 1,
        alone: PrivacyLoss | None = None,
    ) -> SequentialScope:
        """Open a sequential scope at the top, numbered if its name is taken.

        See ``Scope.sequential`` for the other parameters; the second ``"fit"`` becomes
        ``"fit #2"``. Each of the ``caps`` must fit at present. With ``max_records_per_unit`` above
        1 the scope is charged for a unit that owns so many records (``units``), and reserve and
        caps are a unit's.

        ``alone`` is what to reserve where ``reserve`` does not fit and nothing is charged yet:
        such as the (epsilon, delta) of a certified list. Nothing is granted outside of the scope
        then, nor after it, unless it is closed before anything was granted in it.
        """
        with self._lock:
            for cap in caps:
                self.check(cap)
                # What follows a released value is asked for after records were read.
                check_length(self._root.charged + cap, MOST_DIGITS - _ROOM)
            label = self._free_label(label)
            size = max_records_per_unit
            try:
                return open_units(self._root, label, size, reserve, adaptive, caps)
            except BudgetExceeded:
                if alone is None or self._root._charged != NO_LOSS:
                    raise
            self._alone = open_units(self._root, label, size, alone, adaptive, caps)
            return self._alone

    def parallel_cells(self, label: str) -> ParallelCellsScope:
        """Open a scope at the top for disjoint cells; see ``Scope.parallel_cells``."""
        return self._root.parallel_cells(label)

    def parallel_records(self, label: str, sides: Any) -> ParallelRecordsScope:
        """Open a scope at the top for disjoint records; see ``Scope.parallel_records``."""
        return self._root.parallel_records(label, sides)

    def poisson(self, label: str, rate: Any) -> PoissonScope:
        """Open a sampled scope at the top; see ``Scope.poisson``."""
        return self._root.poisson(label, rate)

    def check(self, loss: PrivacyLoss) -> None:
        """Raise BudgetExceeded if this loss would not be granted now; spends nothing.

        Another thread may spend between this and a request, which then raises by itself.
        """
        with self._lock:
            total = self._root.charged + loss
            check_length(total)
            self._check_remainder(total)
            self._admit(total, loss)

    # -- deciding -----------------------------------------------------------------------

    def _price_of(self, event: Event) -> PrivacyLoss:
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

    def _sum_of(self, spent: PrivacyLoss, added: PrivacyLoss) -> PrivacyLoss:
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

    def _admit(self, loss: PrivacyLoss, requested: PrivacyLoss) -> None:
        """Refuse a new total that fits under neither cap, or beside a scope that stands alone."""
        if self._epsilon == math.inf:
            return
        fits = loss.delta <= self._delta and (
            loss.epsilon <= self._epsilon
            or (self._delta > 0 and loss.rho <= self._rho_cap(loss.delta))
        )
        if fits and (loss == self._root._charged or not self._is_used_up()):
            return
        name = f"accountant {self._name!r}" if self._name else "accountant"
        raise BudgetExceeded(requested, self.remaining, name, self._in_epsilon(requested))

    def _check_remainder(self, loss: PrivacyLoss) -> None:
        """Refuse a new total that leaves an amount of more digits than books hold.

        A difference is worked out only where an amount is long itself: others leave short ones.
        """
        if self._epsilon == math.inf or not any(
            is_long(amount, _ROOM)
            for amount in (self._epsilon, self._delta, loss.epsilon, loss.rho, loss.delta)
        ):
            return
        cap = PrivacyLoss(self._epsilon, self._rho_cap(loss.delta), self._delta)
        check_length(cap.left_after(loss))

    def _is_used_up(self) -> bool:
        """Whether one scope stands for all that is ever granted."""
        return self._alone is not None and self._alone._charged != NO_LOSS

    def _held_alone_by(self, scope: Scope) -> bool:
        """Whether a scope, or one around it, is the one beside which nothing is granted."""
        place: Any = scope
        while place is not None and place is not self._alone:
            place = place._parent
        return place is not None and self._is_used_up()

    def _in_epsilon(self, requested: PrivacyLoss) -> str:
        """What a request without a pure epsilon comes to here, in words."""
        if requested.delta and not self._delta:
            return "which has a delta where this accountant has none"
        if requested.epsilon != math.inf or requested.rho == math.inf:
            return ""
        if not self._delta:
            return "which has no pure epsilon, and this accountant has no delta"
        epsilon, delta, _ = add_remove_price(requested, self._delta)
        return f"which is epsilon={figure_up(epsilon)} at delta={figure_up(delta)}"

    def _rho_cap(self, delta_spent: Fraction) -> Amount:
        if self._epsilon == math.inf:
            return math.inf
        return rho_of_epsilon(Fraction(self._epsilon), self._delta - delta_spent)

    def _free_label(self, label: str) -> str:
        taken = self._root._children
        if label not in taken:
            return label
        number = 2
        while f"{label} #{number}" in taken:
            number += 1
        return f"{label} #{number}"

    def _check_process(self) -> None:
        if this_process() != self._process:
            raise ScopeError(
                "this accountant belongs to another process, and a copy of it must not spend. "
                "Use threads (n_jobs does), or spend in the process that made it."
            )

    def __copy__(self) -> BudgetAccountant:
        return self

    def __deepcopy__(self, memo: Any) -> BudgetAccountant:
        return self

    def __reduce__(self) -> NoReturn:
        raise ParameterTypeError(
            "accountant",
            self,
            "is live and cannot be pickled: a copy would spend the same budget again",
            "Pickle a fitted forest, keep accountant.frozen(), or run jobs in threads",
        )

    def __repr__(self) -> str:
        name = f", name={self._name!r}" if self._name else ""
        return (
            f"BudgetAccountant(epsilon={figure_down(self._epsilon)}, "
            f"delta={figure_down(self._delta)}{name})"
        )
