"""Caps that are alternatives: a pure epsilon, or the rho that converts to (epsilon, delta).

A released value may decide in which currency the rest of a plan is spent. One reserve cannot hold
both, so the two amounts are fixed beforehand, each must fit when the scope is opened, and every
request keeps what is charged under one of them. They are not set aside, but for the first one while
records are read: what is planned from the released value reserves its part in a scope inside. All
that is released is then covered by the union of the alternatives, by the accountant's own proof
(``BudgetAccountant``).

For a fit with a delta that buys its number of records, where its rest cannot be certified: the
rest is then best drawn at the pure epsilon on small tables and in rho on large ones. Held by
tests/accounting/test_caps.py.
"""

from __future__ import annotations

from typing import Any

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.books import ROOM
from dpforest.accounting.composition import Change
from dpforest.accounting.ledger import Budget, LossRecord, ScopeRecord
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import MOST_DIGITS, check_length
from dpforest.accounting.scopes import SequentialScope
from dpforest.accounting.units import UnitsScope, check_records_per_unit
from dpforest.exceptions import BudgetExceeded


def open_capped(
    accountant: BudgetAccountant,
    label: str,
    caps: tuple[PrivacyLoss, ...],
    max_records_per_unit: int = 1,
) -> SequentialScope:
    """Open a sequential scope at the top that stays under one of its caps.

    Parameters
    ----------
    accountant : BudgetAccountant
    label : str
        Numbered if it is taken.
    caps : tuple of PrivacyLoss
        Alternatives, of a privacy unit.
    max_records_per_unit : int
        As in ``BudgetAccountant.open_scope``.

    Raises
    ------
    BudgetExceeded
        If a cap does not fit at present; nothing is opened.
    """
    size, root = check_records_per_unit(max_records_per_unit), accountant._root
    with accountant._books.lock:
        for cap in caps:
            accountant.check(cap)
            # What follows a released value is asked for after records were read.
            check_length(root.charged + cap, MOST_DIGITS - ROOM)
            check_length(cap)
        label = accountant._free_label(label)
        if size == 1:
            return root._adopt(CappedScope(caps, root._books, root, label))
        return root._adopt(CappedUnits(caps, root._books, root, label, size))


class CappedScope(SequentialScope):
    """A scope whose charge stays under one of its caps, and depends on released values."""

    def __init__(self, caps: tuple[PrivacyLoss, ...], *place: Any) -> None:
        super().__init__(*place)
        self._caps = caps

    def _is_adaptive(self) -> bool:
        return True

    def hold(self) -> None:
        """Set the first cap aside while records are read, before a released value decides.

        Raises
        ------
        BudgetExceeded
            If it does not fit any more; nothing is set aside.
        """
        with self._books.lock:
            self._check_open()
            changes = self._changes_of(self._caps[0], self._state)
            self._check(changes, self._caps[0])
            self._commit(changes, (setattr, self, "_reserve", self._caps[0]))

    def let_go(self) -> None:
        """Give the first cap back: what is asked for is kept under one of them from here."""
        with self._books.lock:
            changes = self._changes_of(None, self._state)
            self._commit(changes, (setattr, self, "_reserve", None))

    def _check_own(self, change: Change, requested: PrivacyLoss) -> None:
        super()._check_own(change, requested)
        if not any(cap.covers(change.charged) for cap in self._caps):
            left = Budget.left(self._caps[0].left_after(self._charged))
            raise BudgetExceeded(requested, left, where=f"caps of {self._name()!r}")

    def _record(self, counter: list[int]) -> ScopeRecord:
        written = tuple(LossRecord.of(cap) for cap in self._caps)
        return super()._record(counter).model_copy(update={"caps": written})


class CappedUnits(CappedScope, UnitsScope):
    """The same, charged for privacy units."""
