"""What can be told of a fit that an error ended."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sklearn.exceptions import NotFittedError

from dpforest.accounting.ledger import ScopeRecord


def failure_of(record: ScopeRecord) -> str:
    """What a report says of a fit that an error ended; nothing where nothing was granted."""
    if not record.failed:
        return ""
    charged = record.charged
    name = "rho" if charged.epsilon == "inf" else "epsilon"
    amount = f"{name} = {_short(getattr(charged, name))}"
    # Where released values decided what was asked for, what came of it is no bound: the caps are.
    bound = " (as it came out; what bounds it are its caps)" if record.caps else ""
    return (
        "the last fit failed after something was granted. What it was charged stays spent: "
        f"{amount}, delta = {_short(charged.delta)}{bound}; the accountant's composition has it "
        "exactly. "
        "No model was released. Fit again to get a report."
    )


def _short(exact: str) -> str:
    return f"{float(Fraction(exact)):.6g}"


def refuse_failed(estimator: Any) -> None:
    """Refuse to report on a fit that failed, saying so and what it cost.

    Raises
    ------
    NotFittedError
    """
    failure = estimator.__dict__.get("_failure")
    if failure and not estimator.__sklearn_is_fitted__():
        raise NotFittedError(f"{type(estimator).__name__}: {failure}")
