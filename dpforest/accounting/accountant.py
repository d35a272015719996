"""The ceiling: holds the total, the lock and the root of the composition tree."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from dpforest.accounting.books import Books
from dpforest.accounting.events import Event
from dpforest.accounting.figures import figure_down
from dpforest.accounting.frozen_ledger import FrozenLedger
from dpforest.accounting.grants import Grant
from dpforest.accounting.ledger import Budget, BudgetRecord, LedgerEntry, ScopeRecord
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.rationals import check_length, to_rational
from dpforest.accounting.requests import Request
from dpforest.accounting.reserves import checked_reserve
from dpforest.accounting.scopes import (
    ParallelCellsScope,
    ParallelRecordsScope,
    PoissonScope,
    SequentialScope,
)
from dpforest.accounting.units import open_units
from dpforest.exceptions import BudgetExceeded, ParameterTypeError, ScopeError


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
        self._set_up(Books.begun(epsilon, delta, name))

    def _set_up(self, books: Books) -> None:
        self._books = books
        self._root = SequentialScope(books, None, "")

    @classmethod
    def _unlimited(cls, delta: Any = 0, name: str | None = None) -> BudgetAccountant:
        """Make one that grants everything, to learn what a plan composes to. No data near it."""
        accountant = cls.__new__(cls)
        accountant._set_up(Books(math.inf, to_rational(delta, "delta"), name))
        return accountant

    # -- reading ------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """Name for reports."""
        return self._books.name

    @property
    def total(self) -> Budget:
        """Budget in all: pure epsilon, or the rho that converts to it at delta."""
        return self._books.total()

    @property
    def loss(self) -> PrivacyLoss:
        """Exact loss of everything granted, reserves that are held included."""
        with self._books.lock:
            return self._root.charged

    @property
    def spent(self) -> Budget:
        """Amounts that were spent so far, as they add up; reserves that are held included.

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
        """Budget that is left: as pure epsilon, or as rho; either is enough to be granted."""
        with self._books.lock:
            return self._books.remaining(self._root.charged)

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """Every granted request, ordered by scope."""
        return self.composition().ledger

    @property
    def conversion(self) -> str:
        """Source of conversions between rho and (epsilon, delta)."""
        return self._books.conversion

    def composition(self) -> ScopeRecord:
        """Return the tree of scopes with the total of each."""
        return self._root.record()

    def frozen(self) -> FrozenLedger:
        """Return the books as data that can be stored; they grant nothing."""
        with self._books.lock:
            return FrozenLedger(
                name=self._books.name,
                conversion=self.conversion,
                total_record=BudgetRecord.of(self.total),
                spent_record=BudgetRecord.of(self.spent),
                remaining_record=BudgetRecord.of(self.remaining),
                scopes=self.composition(),
            )

    def to_json(self, path: str | Path | None = None) -> str:
        """Write the books as JSON; ``FrozenLedger.from_json`` reads them back.

        A file that is at ``path`` is replaced.
        """
        return self.frozen().to_json(path)

    # -- spending -----------------------------------------------------------------------

    def _seal(self) -> None:
        """Grant nothing more: what is left was set aside elsewhere for what is done."""
        with self._books.lock:
            self._books.sealed = True

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
        max_records_per_unit: int = 1,
        alone: PrivacyLoss | None = None,
    ) -> SequentialScope:
        """Open a sequential scope at the top, numbered if its name is taken.

        Parameters
        ----------
        label : str
            The second ``"fit"`` becomes ``"fit #2"``.
        reserve : PrivacyLoss, optional
            As in ``Scope.sequential``, which names the errors too.
        adaptive : bool
            As in ``Scope.sequential``.
        max_records_per_unit : int
            Above 1 the scope is charged for a unit that owns so many records (``units``), and the
            reserve is a unit's.
        alone : PrivacyLoss, optional
            What to reserve where ``reserve`` does not fit and nothing is charged yet: such as the
            (epsilon, delta) of a certified list. Nothing is granted outside of the scope then, nor
            after it, unless it is closed before anything was granted in it.
        """
        alone = None if alone is None else checked_reserve(alone, "alone")
        with self._books.lock:
            label = self._free_label(label)
            size = max_records_per_unit
            try:
                return open_units(self._root, label, size, reserve, adaptive)
            except BudgetExceeded:
                if alone is None or self._root._charged != NO_LOSS:
                    raise
            return open_units(self._root, label, size, alone, adaptive, alone=True)

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
        with self._books.lock:
            total = self._root.charged + loss
            check_length(total)
            self._books.check_remainder(total)
            self._books.admit(self._root.charged, total, loss)

    def _free_label(self, label: str) -> str:
        taken = self._root._children
        if label not in taken:
            return label
        number = 2
        while f"{label} #{number}" in taken:
            number += 1
        return f"{label} #{number}"

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
        name = f", name={self._books.name!r}" if self._books.name else ""
        return (
            f"BudgetAccountant(epsilon={figure_down(self._books.epsilon)}, "
            f"delta={figure_down(self._books.delta)}{name})"
        )
