"""Ceilings of a ledger as fits know them: what a fit asks of a ledger, apart from the ledger.

Most fits know of none: importing an estimator imports this, and no entry, store or price.
"""

from __future__ import annotations

from abc import abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from dpforest.accounting.fits import LastingCeiling

if TYPE_CHECKING:
    from dpforest.accounting.releases import LearnerBudget
    from dpforest.ledger.pricing import FitPrice
    from dpforest.report.record import LedgerPlace


class Reservation:
    """A fit's part of a reserve; this one is of no ledger and does nothing.

    It is entered after the plan was made and before a record is read.

    Attributes
    ----------
    place : LedgerPlace or None
        Where the fit stands, as of its last entry.
    failure : str
        Words for a report about a fit that failed after it had begun.
    """

    place: LedgerPlace | None = None
    failure: str = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def start(self) -> None:
        """Say that the first record is about to be read."""

    def settle(self, status: str) -> None:
        """Say that the fit is done, and what status its guarantee has."""

    def warn(self) -> None:
        """Warn where the end of the fit could not be written down."""


NO_RESERVATION = Reservation()


class LedgerCeiling(LastingCeiling):
    """Base of what an estimator takes as ``accountant`` to be charged to a ledger."""

    @abstractmethod
    def check(self, domain: Any, budget: LearnerBudget) -> None:
        """Refuse a fit that its data set was not registered for, before it is planned."""

    @abstractmethod
    def reservation(self, price: FitPrice) -> Reservation:
        """A fit's part of a reserve, which is set aside when it is entered."""
