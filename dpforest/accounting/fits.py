"""The process-wide ledger of fits that no shared accountant keeps count of.

With ``accountant=None`` every fit opens an accountant of its own, so five cross-validation
fits spend five times epsilon on overlapping records. Nobody adds that up but this ledger: fits
of an object and its clones are listed under one lineage. It lives and dies with the process,
and worker processes have one each; it reports, and refuses nothing.
"""

from __future__ import annotations

import math
import threading
import warnings

from pydantic import BaseModel, ConfigDict

from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.rationals import exact_text, float_up
from dpforest.exceptions import RepeatedFitWarning


class FitListing(BaseModel):
    """What an estimator and its clones have spent in this process so far.

    Attributes
    ----------
    estimator : str
        Class name.
    n_fits : int
        Fits that spent budget, failed ones included.
    epsilon, rho, delta : str
        Their losses added up (they may have met the same records), as rationals.
    epsilon_float : float
        The same epsilon, rounded up.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    estimator: str
    n_fits: int
    epsilon: str
    rho: str
    delta: str
    epsilon_float: float


_lock = threading.Lock()
_lineages: dict[str, tuple[str, int, PrivacyLoss]] = {}


def register_fit(
    lineage: str, estimator_name: str, loss: PrivacyLoss, *, stacklevel: int = 5
) -> FitListing:
    """List one fit, and warn from the second one of a lineage on.

    Parameters
    ----------
    lineage : str
        Identity that an object shares with its clones.
    estimator_name : str
        For the text.
    loss : PrivacyLoss
        What the fit may spend.
    stacklevel : int
        Of the warning; the default points at the caller of ``fit``.

    Returns
    -------
    FitListing
        This fit included.

    Warns
    -----
    RepeatedFitWarning
        Names the number of fits and their summed epsilon, and how to share one accountant.
    """
    with _lock:
        _, n_fits, total = _lineages.get(lineage, (estimator_name, 0, NO_LOSS))
        n_fits, total = n_fits + 1, total + loss
        _lineages[lineage] = (estimator_name, n_fits, total)
    if n_fits > 1:
        warnings.warn(_warning_text(estimator_name, n_fits, total), RepeatedFitWarning, stacklevel)
    return _listing(estimator_name, n_fits, total)


def fit_ledger() -> tuple[FitListing, ...]:
    """Return every lineage that was fitted in this process, in order of its first fit."""
    with _lock:
        return tuple(_listing(*entry) for entry in _lineages.values())


def _listing(estimator: str, n_fits: int, total: PrivacyLoss) -> FitListing:
    return FitListing(
        estimator=estimator,
        n_fits=n_fits,
        epsilon=exact_text(total.epsilon),
        rho=exact_text(total.rho),
        delta=exact_text(total.delta),
        epsilon_float=float_up(total.epsilon),
    )


def _warning_text(estimator: str, n_fits: int, total: PrivacyLoss) -> str:
    if total.epsilon == math.inf:
        together = f"rho = {float_up(total.rho):.6g}"
    else:
        together = f"epsilon = {float_up(total.epsilon):.6g}"
    return (
        f"this {estimator} and its clones have been fitted {n_fits} times in this process and "
        f"together spent {together}, if they met the same records. To put one ceiling over all "
        "of them, pass the same accountant=BudgetAccountant(epsilon=...) to each."
    )
