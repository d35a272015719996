"""What stands where an accountant was, in a model that was pickled or stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.fits import OWN_BUDGET
from dpforest.exceptions import ParameterError

#: Where a fit is charged that another library keeps count of.
DIFFPRIVLIB = "a diffprivlib accountant"


@dataclass(frozen=True, slots=True, repr=False)
class DetachedAccountant:
    """Mark of a ceiling that stayed behind: nothing can be spent on it, and nothing beside it.

    A live accountant is never copied, so a pickled or stored model cannot bring it along. Were
    ``None`` in its place, the next fit would silently open a budget of its own, outside of the
    ceiling. With this mark ``fit`` refuses until an accountant, or None, is set on purpose.

    Parameters
    ----------
    charged_to : str
        Where the fit was charged, in words.
    """

    charged_to: str

    def refuse(self) -> None:
        """Refuse a fit.

        Raises
        ------
        ParameterError
            Always; it says how to go on.
        """
        raise ParameterError(
            "accountant", self,
            f"this model was read back, and what it was charged to ({self.charged_to}) did not "
            "come with it, so another fit would spend outside of that ceiling",
            "Choose on purpose: set_params(accountant=...) with the accountant that this fit is to "
            "be charged to, or with None for a budget of its own",
        )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"<detached from {self.charged_to}: a live accountant is not pickled or stored; "
            "set_params(accountant=...) before the next fit>"
        )


def charged_to(accountant: Any) -> str:
    """Where a fit under this accountant is charged, in words."""
    if accountant is None:
        return OWN_BUDGET
    if isinstance(accountant, DetachedAccountant):
        return accountant.charged_to
    if isinstance(accountant, BudgetAccountant):
        return named_accountant(accountant.name)
    return DIFFPRIVLIB


def named_accountant(name: str | None) -> str:
    """An accountant of this library, in words."""
    return f"accountant {name!r}" if name else "an unnamed accountant"
