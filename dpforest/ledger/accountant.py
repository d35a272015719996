"""Accountants of a ledger, as fits are given them, and the life of a fit's reserve.

A reserve is set aside when the plan is made, and counts as spent from then on. Its start is written
before the first record is read. What fails before that is voided by the process that reserved it;
whatever happens after, the whole reserve stays spent. Between start and settlement the ledger is
not asked: the fit has books of its own in memory, which grant its plan and nothing else. A reserve
that somebody made before may be taken up instead (:mod:`dpforest.ledger.taking`).

Held by tests/ledger/test_accountant.py and tests/estimators/test_ledger_fits.py.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, NoReturn, Protocol, Self

from dpforest.accounting.fits import LastingCeiling
from dpforest.accounting.ledger import Budget
from dpforest.accounting.rationals import exact_text
from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.domain import Domain
from dpforest.exceptions import (
    DPForestError,
    LedgerUnreachable,
    LedgerWarning,
    ParameterError,
    ParameterTypeError,
    kind_of,
)
from dpforest.ledger.amounts import fraction_of
from dpforest.ledger.bodies import Body, OpenBody, SettleBody, StartBody, VoidBody
from dpforest.ledger.ceilings import LedgerCeiling, Reservation
from dpforest.ledger.charges import OTHER_DOMAIN, loss_of, other_unit
from dpforest.ledger.entries import Entry
from dpforest.ledger.facts import domain_digest
from dpforest.ledger.guarantee_marks import settled_mark
from dpforest.ledger.plan_files import Charge
from dpforest.ledger.pricing import FitPrice, charge_of
from dpforest.ledger.state import DataSetState
from dpforest.ledger.status import DataSetStatus
from dpforest.ledger.witness import ReserveSnapshot, place_of
from dpforest.ledger.words import checked_blocks, checked_purpose, checked_request
from dpforest.report.places import ledger_words
from dpforest.report.record import LedgerPlace

_UNSETTLED = (
    "the fit is done and its model is kept, but the ledger could not be told so ({why}). Nothing "
    "is lost: the whole reserve was spent when the fit began. Its report names the entry that says "
    "so. Until somebody settles it the ledger counts a fit whose guarantee is not known: "
    "ledger.settle({data_set!r}, {reserve!r}, {part}, guarantee={status!r})"
)
_NOT_VOIDED = (
    "The fit had not begun, but its reserve {reserve} could not be given back and stays spent "
    "until an owner voids it: dpforest ledger void."
)
_UNSURE = (
    "Whether the start of the fit was written down is not known, so its reserve {reserve} stays "
    "spent. If the ledger has no start of it, an owner may void it: dpforest ledger void."
)
_STAYS_SPENT = (
    "the last fit failed after it had begun. What was set aside for it in {place} stays spent: "
    "{amount}. No model was released. Fit again to get a report, and reserve anew."
)


class StandingEntry(Protocol):
    """An entry that stands, and the state that it left."""

    @property
    def entry(self) -> Entry: ...

    @property
    def state(self) -> DataSetState: ...


class WrittenReserve(StandingEntry, Protocol):
    """A reserve that stands, and the secret by which it may be voided."""

    @property
    def token(self) -> str: ...


class FitLedger(Protocol):
    """A ledger, as far as a fit goes."""

    @property
    def actor(self) -> str: ...

    def status(self, data_set: str) -> DataSetStatus: ...

    def room(self, data_set: str, blocks: Sequence[str] = ()) -> int: ...

    def reserve(self, data_set: str, charge: Charge, *, request: str = "") -> WrittenReserve: ...

    def write(self, data_set: str, body: Body) -> StandingEntry: ...

    def as_written(self, data_set: str, entry_id: str) -> StandingEntry: ...


# -- ceilings -------------------------------------------------------------------------------------


class DataSetCeiling(LastingCeiling):
    """Facts of a data set by which a fit is planned and priced.

    Attributes
    ----------
    data_set : str
    facts : OpenBody
        What was fixed when the data set was registered.
    """

    def __init__(self, data_set: str, facts: OpenBody) -> None:
        self.data_set, self.facts = data_set, facts
        self.charged_to = ledger_words(data_set, facts.ledger)

    def check(self, domain: Any, budget: LearnerBudget) -> None:
        """Refuse a fit whose domain, unit or delta is not the data set's, before it is planned.

        Raises
        ------
        ParameterError
            Nothing was charged, and no record was read.
        """
        of = f"data set {self.data_set!r}"
        if not isinstance(domain, Domain) or domain_digest(domain) != self.facts.domain:
            raise ParameterError(
                "domain", kind_of(domain),
                f"is not the one that {of} was registered with",
                OTHER_DOMAIN,
            )  # fmt: skip
        if budget.records_per_unit != self.facts.max_records_per_unit:
            raise ParameterError(
                "max_records_per_unit", budget.records_per_unit,
                f"is not the one that {of} was registered with",
                other_unit(self.facts.max_records_per_unit),
            )  # fmt: skip
        if budget.delta and self.facts.currency == "epsilon":
            raise ParameterError(
                "delta", exact_text(budget.delta), f"must be 0: {of} is kept in pure epsilon",
                "Fit with delta=0",
            )  # fmt: skip


class SharedCeiling(DataSetCeiling, LedgerCeiling):
    """Ceiling of a ledger that is open here.

    Clones and copies of an estimator share it, and it is never pickled: a fit in another process
    opens the ledger there.
    """

    def __init__(self, ledger: FitLedger, data_set: str, facts: OpenBody) -> None:
        super().__init__(data_set, facts)
        self.ledger = ledger

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise ParameterTypeError(
            "accountant", self,
            "belongs to a ledger that is open in this process and is not pickled",
            "Open the ledger in the other process with BudgetLedger.open(...), run jobs in "
            "threads, or pickle a fitted forest",
        )  # fmt: skip


class LedgerAccountant(SharedCeiling):
    """Charges every fit to a data set of a ledger, each in a reserve of its own.

    Made by ``BudgetLedger.accountant``. Nothing is charged until a fit is planned.

    Parameters
    ----------
    ledger : BudgetLedger
    data_set : str
    facts : OpenBody
    purpose : str
        What the fits are for, in words; owners read it.
    blocks : sequence of str
        Blocks that are read, of a table that grows.
    request : str
        Identity of an approved request, where the data set asks for approvals.
    """

    def __init__(
        self,
        ledger: FitLedger,
        data_set: str,
        facts: OpenBody,
        purpose: str = "",
        blocks: Sequence[str] = (),
        request: str = "",
    ) -> None:
        super().__init__(ledger, data_set, facts)
        self.purpose, self.blocks = checked_purpose(purpose), checked_blocks(blocks)
        self.request = checked_request(request)

    @property
    def remaining(self) -> Budget:
        """Budget that the data set, or the blocks that are named, may still be charged.

        In the currency of the data set, and never more than the actor's quota leaves. The other
        amount is infinite, and says nothing.
        """
        room = self.ledger.room(self.data_set, self.blocks)
        return Budget.left(loss_of(self.facts.currency, fraction_of(room)))

    def reservation(self, price: FitPrice) -> Reservation:
        charge = charge_of((price,), self.facts.currency, self.purpose, self.blocks)
        return _OwnReservation(self, charge)

    def __repr__(self) -> str:
        return f"<accountant of {self.charged_to}>"


# -- reserves -------------------------------------------------------------------------------------


class Reserve:
    """A reserve that stands in a ledger, as the process knows it that made it or takes it up.

    Attributes
    ----------
    snapshot : ReserveSnapshot
    """

    def __init__(
        self, ledger: FitLedger, data_set: str, snapshot: ReserveSnapshot, token: str = ""
    ) -> None:
        self._ledger, self._data_set = ledger, data_set
        self.snapshot, self._token = snapshot, token

    @classmethod
    def made(cls, ledger: FitLedger, data_set: str, charge: Charge, request: str = "") -> Self:
        """Set budget aside; it counts as spent from now on."""
        held = ledger.reserve(data_set, charge, request=request)
        return cls(ledger, data_set, ReserveSnapshot.of(held.entry, held.state), held.token)

    def start(self, part: int) -> LedgerPlace:
        """Write down that a fit begins; durable when this returns."""
        return self._written(StartBody(reserve=self.snapshot.id, part=part))

    def settle(
        self, part: int, outcome: Literal["done", "failed"], status: str = "holds"
    ) -> LedgerPlace:
        """Write down that a fit ended, and where its own guarantee does not hold."""
        mark = settled_mark(status)
        return self._written(
            SettleBody(reserve=self.snapshot.id, part=part, outcome=outcome, guarantee=mark)
        )

    def void(self, reason: str) -> None:
        """Give the whole back, while no fit of it has begun."""
        body = VoidBody(reserve=self.snapshot.id, token=self._token, reason=reason)
        self._ledger.write(self._data_set, body)

    def _written(self, body: Body) -> LedgerPlace:
        written = self._ledger.write(self._data_set, body)
        return place_of(self.snapshot, written.entry, written.state)


class LedgerReservation(Reservation):
    """A fit's part of a reserve in a ledger."""

    def __init__(self, ceiling: SharedCeiling) -> None:
        self._ceiling = ceiling
        # Why the end could not be written down, and how somebody may do so later.
        self._unsettled = ""
        self._started = self._settled = False
        # Whether the start may stand although nobody said so.
        self._unsure = False

    @abstractmethod
    def _claimed(self) -> tuple[Reserve, int]:
        """The reserve, and which part of it this fit is."""

    @abstractmethod
    def _give_back(self) -> None:
        """Undo the claim of a fit that has not begun."""

    def start(self) -> None:
        reserve, part = self._claimed()
        self._unsure = True
        try:
            self.place = reserve.start(part)
        except DPForestError as error:
            self._unsure = isinstance(error, LedgerUnreachable) and error.unanswered
            raise
        self._started = True

    def settle(self, status: str) -> None:
        reserve, part = self._claimed()
        self._settled = True
        try:
            self.place = reserve.settle(part, "done", status)
        except (DPForestError, OSError) as error:
            self._unsettled = _UNSETTLED.format(
                why=error, data_set=self._ceiling.data_set, reserve=reserve.snapshot.id, part=part,
                status=status,
            )  # fmt: skip

    def warn(self) -> None:
        if self._unsettled:
            warnings.warn(self._unsettled, LedgerWarning, stacklevel=4)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            return
        if self._started:
            self._fail(error)
        else:
            self._give_back_after(error)

    def _fail(self, error: BaseException) -> None:
        """Note that a fit failed after it had begun: nothing comes back."""
        reserve, part = self._claimed()
        self.failure = _STAYS_SPENT.format(
            place=self._ceiling.charged_to,
            amount=reserve.snapshot.amount(self._ceiling.facts.currency),
        )  # fmt: skip
        if self._settled:  # the error came between the settlement and the model
            return
        try:
            reserve.settle(part, "failed")
        except (DPForestError, OSError) as failure:
            error.add_note(f"The ledger could not be told that the fit failed ({failure}).")

    def _give_back_after(self, error: BaseException) -> None:
        reserve, _ = self._claimed()
        try:
            self._give_back()
        except (DPForestError, OSError):
            words = _UNSURE if self._unsure else _NOT_VOIDED
            error.add_note(words.format(reserve=reserve.snapshot.id))


class _OwnReservation(LedgerReservation):
    """A reserve of one fit."""

    _reserve: Reserve

    def __init__(self, ceiling: LedgerAccountant, charge: Charge) -> None:
        super().__init__(ceiling)
        self._charge, self._request = charge, ceiling.request

    def __enter__(self) -> Self:
        at = self._ceiling
        self._reserve = Reserve.made(at.ledger, at.data_set, self._charge, self._request)
        return self

    def _claimed(self) -> tuple[Reserve, int]:
        return self._reserve, 0

    def _give_back(self) -> None:
        self._reserve.void("the fit failed before it read a record")
