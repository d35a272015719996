"""The process-wide ledger of fits: how often an object and its clones were fitted, and where.

With ``accountant=None`` every fit opens an accountant of its own, so five cross-validation
fits spend five times epsilon on overlapping records. Nobody adds that up but this ledger: fits
of an object and its clones are listed under one lineage, those charged to a shared accountant
too. It lives with the process, reports, and refuses nothing. A pickled or stored object carries
what was known of its lineage; where it is read back the two histories are joined, each fit once.
"""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from pydantic import Field

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.figures import figure_up
from dpforest.accounting.frozen import ExactText, Frozen
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.rationals import (
    exact_text,
    float_up,
    parse_amount,
    parse_loss,
    short_up,
)
from dpforest.exceptions import ParameterError, RepeatedFitWarning
from dpforest.processes import ProcessLock, this_process
from dpforest.searches import warn_in_search

#: Where a fit is charged that no shared accountant keeps count of.
OWN_BUDGET = "a budget of its own"
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


class LastingCeiling:
    """Base of ceilings that are kept outside of any process.

    Attributes
    ----------
    charged_to : str
        Where such a ceiling is kept, in words.
    """

    charged_to: str


def charged_to(accountant: Any) -> str:
    """Words for the place where a fit under this accountant is charged."""
    if accountant is None:
        return OWN_BUDGET
    if isinstance(accountant, (DetachedAccountant, LastingCeiling)):
        return accountant.charged_to
    if isinstance(accountant, BudgetAccountant):
        return named_accountant(accountant.name)
    return DIFFPRIVLIB


def named_accountant(name: str | None) -> str:
    """An accountant of this library, in words."""
    return f"accountant {name!r}" if name else "an unnamed accountant"


class FitListing(Frozen):
    """Sum of what an estimator and its clones have spent so far, as far as this process knows.

    Attributes
    ----------
    estimator : str
        Class name.
    n_fits : int
        Fits that spent budget, failed ones included.
    epsilon, rho, delta : str
        Their losses added up (they may have met the same records), as rationals: bounds from
        above where the sum has more digits than books hold.
    epsilon_float : float
        The same epsilon, rounded up.
    charged : dict of int
        Fits by where they were charged.
    """

    estimator: str
    n_fits: int
    epsilon: ExactText
    rho: ExactText
    delta: ExactText
    epsilon_float: float
    charged: dict[str, int]


class EarlierFits(Frozen):
    """Fits of one lineage that one process charged to one place; travels with stored objects."""

    process: str
    charged_to: str
    n_fits: int = Field(ge=1)
    epsilon: ExactText
    rho: ExactText
    delta: ExactText

    @property
    def loss(self) -> PrivacyLoss:
        """Their losses added up."""
        return parse_loss(self.epsilon, self.rho, self.delta)


@dataclass(slots=True)
class _Lineage:
    """Fits of one lineage by (process, where charged).

    A process counts under a name of its own, so the larger of two counts under one name holds
    the smaller one, and histories that met before are joined without counting a fit twice.
    """

    estimator: str
    counts: dict[tuple[str, str], tuple[int, PrivacyLoss]] = field(default_factory=dict)

    def add(self, key: tuple[str, str], n_fits: int, loss: PrivacyLoss) -> None:
        before, spent = self.counts.get(key, (0, NO_LOSS))
        self.counts[key] = before + n_fits, _short(spent + loss)

    def join(self, key: tuple[str, str], n_fits: int, loss: PrivacyLoss) -> None:
        if n_fits > self.counts.get(key, (0, NO_LOSS))[0]:
            self.counts[key] = n_fits, loss

    def listing(self) -> FitListing:
        charged: dict[str, int] = {}
        for (_, place), (n_fits, _) in self.counts.items():
            charged[place] = charged.get(place, 0) + n_fits
        total = NO_LOSS
        for _, loss in self.counts.values():
            total = _short(total + loss)
        return FitListing(
            estimator=self.estimator,
            n_fits=sum(charged.values()),
            epsilon=exact_text(total.epsilon),
            rho=exact_text(total.rho),
            delta=exact_text(total.delta),
            epsilon_float=float_up(total.epsilon),
            charged=charged,
        )


def _short(loss: PrivacyLoss) -> PrivacyLoss:
    """A loss, or one above it where it has more digits than books hold.

    A fit is listed after it has read records, so no sum of earlier ones may be an error here.
    """
    delta = short_up(loss.delta)
    # A delta of 1 allows everything; a larger one says no more.
    within = Fraction(1) if isinstance(delta, float) else delta
    return PrivacyLoss(short_up(loss.epsilon), short_up(loss.rho), within)


_lock = ProcessLock()
_seeds: dict[tuple[str, str, bytes], int] = {}
_lineages: dict[str, _Lineage] = {}
_process = (this_process(), uuid.uuid4().hex)


def _process_name() -> str:
    """This process's name; a forked child counts under another one."""
    global _process
    if _process[0] != this_process():
        _process = this_process(), uuid.uuid4().hex
    return _process[1]


def register_fit(
    lineage: str,
    estimator_name: str,
    loss: PrivacyLoss,
    *,
    charged_to: str = OWN_BUDGET,
    search: str | None = None,
    stacklevel: int = 5,
) -> FitListing:
    """List one fit; warn from the second one of a lineage on where no accountant counts it.

    Parameters
    ----------
    lineage : str
        Identity that an object shares with its clones and stored copies.
    estimator_name : str
        For the text.
    loss : PrivacyLoss
        What the fit may spend.
    charged_to : str
        Where, in words. A shared accountant keeps its own ceiling, so nobody is warned.
    search : str, optional
        Token of the search that the fit is part of, which warns once.
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
    with _lock.here:
        known = _lineages.setdefault(lineage, _Lineage(estimator_name))
        known.estimator = estimator_name
        known.add((_process_name(), charged_to), 1, loss)
        listing = known.listing()
    if listing.n_fits > 1 and charged_to == OWN_BUDGET:
        warn_in_search(_warning_text(listing), RepeatedFitWarning, search, stacklevel=stacklevel)
    return listing


def count_seed(lineage: str, estimator_name: str, digest: bytes) -> int:
    """Number of fits of a lineage that drew from one seed in this process, this one included."""
    key = lineage, estimator_name, digest
    with _lock.here:
        _seeds[key] = _seeds.get(key, 0) + 1
        return _seeds[key]


def earlier_fits(lineage: str) -> tuple[EarlierFits, ...]:
    """Facts that are known of a lineage, for an object that leaves the process."""
    with _lock.here:
        known = _lineages.get(lineage)
        counts = {} if known is None else dict(known.counts)
    return tuple(
        EarlierFits(
            process=process,
            charged_to=place,
            n_fits=n_fits,
            epsilon=exact_text(loss.epsilon),
            rho=exact_text(loss.rho),
            delta=exact_text(loss.delta),
        )
        for (process, place), (n_fits, loss) in counts.items()
    )


def recall_fits(lineage: str, estimator_name: str, earlier: tuple[EarlierFits, ...]) -> None:
    """Join what an object that was read back knows of its lineage to what this process knows."""
    if not earlier:
        return
    with _lock.here:
        known = _lineages.setdefault(lineage, _Lineage(estimator_name))
        for fits in earlier:
            known.join((fits.process, fits.charged_to), fits.n_fits, fits.loss)


def _warning_text(listing: FitListing) -> str:
    if listing.epsilon == exact_text(math.inf):
        together = f"rho = {figure_up(parse_amount(listing.rho))}"
    else:
        together = f"epsilon = {figure_up(parse_amount(listing.epsilon))}"
        delta = parse_amount(listing.delta)
        together += f" with delta = {figure_up(delta)}" if delta else ""
    return (
        f"this {listing.estimator} and its clones have been fitted {listing.n_fits} times (known "
        f"to this process) and together spent {together} so far, if they met the same records, "
        "and each further fit adds its own. To put one ceiling over all of them, pass the same "
        "accountant=BudgetAccountant(epsilon=...) to each."
    )
