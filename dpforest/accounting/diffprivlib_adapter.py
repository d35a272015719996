"""A ``diffprivlib.BudgetAccountant`` as the ceiling, so that one budget covers both libraries.

diffprivlib counts in replace-one, dpforest in add/remove. A fit is charged there once, before
any record is read, at its replace-one price; inside the fit an accountant of dpforest's own
keeps the books. diffprivlib is never imported here: whatever has its methods will do.
"""

from __future__ import annotations

import math
import os
from typing import Any, NoReturn

from pydantic import ConfigDict

from dpforest.accounting.bounds import replace_one_price
from dpforest.accounting.ledger import Budget
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import exact_text, float_up, to_rational
from dpforest.exceptions import (
    BudgetExceeded,
    ParameterError,
    ParameterTypeError,
    ScopeError,
    kind_of,
)
from dpforest.own_names import OwnNames
from dpforest.processes import ProcessLock, this_process
from dpforest.relations import NeighbouringRelation

#: diffprivlib checks, then spends, without a lock; all of our charges pass through this one.
_LOCK = ProcessLock()
_forked = False


def _note_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


class ExternalEntry(OwnNames):
    """One charge to another library's accountant, for the report.

    Attributes
    ----------
    library : str
        Whose accountant was charged.
    relation : str
        Neighbouring relation of the price.
    epsilon, delta : float
        What was charged.
    exact_epsilon, exact_delta : str
        The price before it became a double, never larger than the double as it reads.
    derivation : str
        How the price follows from the add/remove loss.
    """

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    library: str
    relation: str
    epsilon: float
    delta: float
    exact_epsilon: str
    exact_delta: str
    derivation: str


def ceiling_of(accountant: Any) -> DiffprivlibCeiling:
    """The ceiling of a ``diffprivlib.BudgetAccountant``, or the ceiling itself.

    Raises
    ------
    ScopeError
        In a forked process, where an accountant may be a copy of the parent's and does not tell.
        Wrap one that was made there in a :class:`DiffprivlibCeiling`.
    """
    if isinstance(accountant, DiffprivlibCeiling):
        return accountant
    if _forked:
        raise ScopeError(
            "in a forked process a diffprivlib accountant may be a copy of the parent's, which "
            "must not spend. Use threads (n_jobs does), or wrap one that was made in this process "
            "in DiffprivlibCeiling(accountant)."
        )
    return DiffprivlibCeiling(accountant)


def is_diffprivlib_accountant(candidate: Any) -> bool:
    """True if an object has what the adapter uses of a ``diffprivlib.BudgetAccountant``."""
    methods = ("spend", "check", "remaining", "total")
    return not isinstance(candidate, type) and all(
        callable(getattr(candidate, name, None)) for name in methods
    )


class DiffprivlibCeiling:
    """Charges fits to a ``diffprivlib.BudgetAccountant`` at their replace-one price.

    Parameters
    ----------
    accountant : diffprivlib.BudgetAccountant
        Kept as it is, never copied: ``deepcopy`` and ``clone`` of the ceiling return the same
        one. Its own composition (``slack``) applies to the charges.

    Notes
    -----
    Charges made here exclude each other. diffprivlib itself has no lock, so its own models must
    not spend from the same accountant in another thread meanwhile. A forked process has a copy of
    the accountant, so a ceiling takes charges only in the process that made it.
    """

    def __init__(self, accountant: Any) -> None:
        if not is_diffprivlib_accountant(accountant):
            raise ParameterTypeError(
                "accountant", kind_of(accountant), "must be a diffprivlib.BudgetAccountant",
                "Give one, or a dpforest.BudgetAccountant",
            )  # fmt: skip
        self._accountant = accountant
        self._process = this_process()

    @property
    def accountant(self) -> Any:
        """The diffprivlib accountant that is charged."""
        return self._accountant

    def charge(
        self,
        loss: PrivacyLoss,
        delta: Any = 0,
        relation: NeighbouringRelation = NeighbouringRelation.REPLACE_ONE,
    ) -> ExternalEntry:
        """Charge a whole fit, all or nothing.

        Parameters
        ----------
        loss : PrivacyLoss
            Of the fit's plan, under add/remove.
        delta : number
            At which a loss in rho may be converted.
        relation : NeighbouringRelation
            What is replaced: a record, or a unit where the loss is a unit's.

        Returns
        -------
        ExternalEntry

        Raises
        ------
        BudgetExceeded
            If the accountant refuses; nothing is charged.
        ParameterError
            If the loss has no finite price.
        ScopeError
            In a forked process.
        """
        if this_process() != self._process:
            raise ScopeError(
                "this diffprivlib accountant belongs to another process, and a copy of it must not "
                "spend. Use threads (n_jobs does), or spend in the process that made it."
            )
        epsilon, at_delta, derivation = replace_one_price(loss, to_rational(delta, "delta"))
        if epsilon == math.inf:
            raise ParameterError(
                "delta", float(delta), "gives this loss no finite replace-one epsilon",
                "Give a delta, or use mechanisms with a pure epsilon",
            )  # fmt: skip
        entry = ExternalEntry(
            library="diffprivlib",
            relation=relation.value,
            epsilon=float_up(epsilon),
            delta=float_up(at_delta),
            exact_epsilon=exact_text(epsilon),
            exact_delta=exact_text(at_delta),
            derivation=derivation,
        )
        with _LOCK.here:
            self._spend(entry, PrivacyLoss(epsilon, loss.rho * 4, at_delta))
        return entry

    def _spend(self, entry: ExternalEntry, price: PrivacyLoss) -> None:
        try:
            self._accountant.spend(entry.epsilon, entry.delta)
        except ValueError as error:
            # Known by name, because the library is not imported.
            if type(error).__name__ != "BudgetError":
                raise
            raise BudgetExceeded(price, self._remaining(), "diffprivlib accountant") from error

    def _remaining(self) -> Budget:
        epsilon, delta = (float(amount) for amount in self._accountant.remaining())
        # diffprivlib finds it by bisection in doubles, so it can fall a hair below nothing.
        epsilon, delta = max(epsilon, 0.0), max(delta, 0.0)
        left = math.inf if math.isinf(epsilon) else to_rational(epsilon, "epsilon")
        # Of rho it says nothing: 0 would read as if that were used up.
        exact = PrivacyLoss(left, math.inf, to_rational(delta, "delta"))
        return Budget(epsilon, delta, math.inf, exact)

    def __copy__(self) -> DiffprivlibCeiling:
        return self

    def __deepcopy__(self, memo: Any) -> DiffprivlibCeiling:
        return self

    def __reduce__(self) -> NoReturn:
        raise ParameterTypeError(
            "accountant", self, "is live and cannot be pickled", "Spend in the process that made it"
        )

    def __repr__(self) -> str:
        return f"DiffprivlibCeiling({self._accountant!r})"
