"""Bins of ordered features: merged public cells, or private quantiles bought from the budget.

Random thresholds are worth most where records are. Noisy histograms of ordered features say where
that is; their cells are then merged to bins of about equal mass.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.releases import LearnerBudget, Release, Round, once
from dpforest.bridge.bridge import Bridge
from dpforest.records.base import Released
from dpforest.trees.base import QUANTILES_ROLE as QUANTILES_ROLE
from dpforest.trees.base import TableFacts
from dpforest.trees.priced_events import count_noise
from dpforest.trees.random.groups import FEW, PURE_FEW, GroupCounts

#: Share of a bin's mass that goes by cells rather than by records, so that the thin tail of a
#: skewed feature keeps some thresholds.
CELL_SHARE = 0.25
#: So few codes would hardly be merged by any counts, so none are asked for.
FEW_CODES = 16
#: Noise of a count, as a share of the records, up to which histograms are bought; and in pure
#: epsilon, where a few of many counts are far off.
MOST_NOISE, PURE_MOST_NOISE = 0.2, 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Groups of neighbouring codes; a categorical feature's codes are bins of their own.

    Attributes
    ----------
    of_code : ndarray of int64, shape (total codes,)
        Bin of every code within its feature; a missing value's is the last.
    starts : ndarray of int64, shape (D + 1,)
        Flat position of bin 0 of each feature, and the total.
    place : ndarray of float64, shape (total codes,)
        Place of every code of an ordered feature in [0, 1]: its mid-rank where quantiles were
        released, else its public scaled value. 0.5 for a missing value; 0 for categories.
    """

    of_code: NDArray[np.int64]
    starts: NDArray[np.int64]
    place: NDArray[np.float64]

    @classmethod
    def of_features(
        cls, of_code: list[NDArray[np.int64]], place: list[NDArray[np.float64]]
    ) -> Bins:
        """Join what was made feature by feature."""
        sizes = [int(bins[-1]) + 1 for bins in of_code]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(np.concatenate(of_code).astype(np.int64), starts, np.concatenate(place))


def public_bins(facts: TableFacts, max_bins: int) -> Bins:
    """At most ``max_bins`` bins an ordered feature, of equally many public cells each."""
    of_code, place = [], []
    for feature in range(facts.n_features):
        scaled = facts.scaled[feature]
        n_codes = int(facts.n_codes[feature])
        if scaled is None:
            of_code.append(np.arange(n_codes))
            place.append(np.zeros(n_codes))
            continue
        n_cells = n_codes - int(facts.has_missing_code[feature])
        bins = np.arange(n_cells) * min(max_bins, n_cells) // n_cells
        of_code.append(_with_missing(bins, n_codes))
        place.append(np.asarray(scaled, dtype=np.float64))
    return Bins.of_features(of_code, place)


def quantiles_are_affordable(facts: TableFacts, budget: LearnerBudget, share: Fraction) -> bool:
    """True if a count's noise is small beside the rows: a rule from public facts alone.

    Parameters
    ----------
    facts : TableFacts
        Without ``approximate_rows`` the answer is no.
    budget : LearnerBudget
        The whole of it.
    share : Fraction
        The part that would be spent on quantiles.
    """
    size = ordered_counts(facts, budget.is_pure).sensitivity.l1
    if not size or facts.approximate_rows is None:
        return False
    if budget.delta:
        most, noise = MOST_NOISE, float(size / (2 * share * budget.rho)) ** 0.5
    else:
        most, noise = PURE_MOST_NOISE, 2**0.5 * float(size / (share * budget.epsilon))
    return noise < most * facts.approximate_rows


def quantiles_round(owner: str, facts: TableFacts, share: Fraction, pure: bool = False) -> Round:
    """Ask for the histograms of all ordered features, for a share of pure epsilon or of rho."""
    event = count_noise(ordered_counts(facts, pure).sensitivity, share, pure)
    text = "noisy histograms of ordered features"
    return once(owner, Release(QUANTILES_ROLE, event, says=text))


def bought_quantiles(
    owner: str, facts: TableFacts, budget: LearnerBudget, total: Fraction, share: Fraction
) -> tuple[list[Round], Fraction]:
    """The request for histograms, if they are affordable, and what it takes of a plan's total.

    Parameters
    ----------
    owner : str
    facts : TableFacts
    budget : LearnerBudget
        The whole of it.
    total : Fraction
        What the plan adds up to: epsilon where the budget is pure, else rho.
    share : Fraction
        The part of the total that is spent on quantiles, where they are bought.
    """
    if not quantiles_are_affordable(facts, budget, share):
        return [], Fraction(0)
    return [quantiles_round(owner, facts, total * share, budget.is_pure)], total * share


def bins_in_words(buys_quantiles: bool) -> str:
    """Source of thresholds, for a plan's words."""
    if not buys_quantiles:
        return "merged public cells"
    return f"private quantiles of features of more than {FEW_CODES} codes, public cells of others"


def asked_bins(bridge: Bridge, facts: TableFacts, max_bins: int) -> Bins:
    """Bins by noisy histograms of ordered features where the plan buys them, else public ones.

    Parameters
    ----------
    bridge : Bridge
    facts : TableFacts
    max_bins : int
        Largest number of bins of values.
    """
    if not bridge.has(QUANTILES_ROLE):
        return public_bins(facts, max_bins)
    pure = isinstance(bridge.event(QUANTILES_ROLE), GeometricNoise)
    query = ordered_counts(facts, pure)
    released = bridge.ask(query, QUANTILES_ROLE).noised(QUANTILES_ROLE)
    return released_bins(facts, query, released, max_bins)


def ordered_counts(facts: TableFacts, pure: bool) -> GroupCounts:
    """Histograms of the ordered features of many codes; it knows its sensitivity."""
    n_codes = np.asarray(facts.n_codes, dtype=np.int64)
    asked = np.flatnonzero(facts.ordered & (n_codes > FEW_CODES))
    return GroupCounts(asked, n_codes[asked], PURE_FEW if pure else FEW)


def released_bins(facts: TableFacts, query: GroupCounts, released: Released, max_bins: int) -> Bins:
    """Merge cells to bins by their noisy counts.

    Parameters
    ----------
    facts : TableFacts
    query : GroupCounts
        Of `ordered_counts`.
    released : ndarray of int64
        What it counted, with noise.
    max_bins : int
        Largest number of bins of values.
    """
    public = public_bins(facts, max_bins)
    offsets = facts.offsets
    of_code = [public.of_code[offsets[f] : offsets[f + 1]] for f in range(facts.n_features)]
    place = [public.place[offsets[f] : offsets[f + 1]] for f in range(facts.n_features)]
    for f, histogram in zip(query.features, query.fitted(released), strict=True):
        n_cells = histogram.size - int(facts.has_missing_code[f])
        middle = _middle_ranks(histogram[:n_cells])
        bins = np.minimum((middle * max_bins).astype(np.int64), max_bins - 1)
        of_code[f] = _with_missing(np.unique(bins, return_inverse=True)[1], histogram.size)
        place[f] = np.concatenate([middle, np.full(histogram.size - n_cells, 0.5)])
    return Bins.of_features(of_code, place)


def _middle_ranks(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank of the middle of every cell in [0, 1], from noisy counts.

    The sums of noisy counts are made monotone by the mean of their envelopes from both ends,
    and mixed with the rank by cells alone.
    """
    sums = np.cumsum(counts)
    rising = np.maximum.accumulate(sums)
    falling = np.minimum.accumulate(sums[::-1])[::-1]
    share = np.clip(
        (rising + falling) / 2.0 / max(float(rising[-1] + sums[-1]) / 2.0, 1.0), 0.0, 1.0
    )
    by_cells = np.arange(1, counts.size + 1) / counts.size
    upper = (1.0 - CELL_SHARE) * share + CELL_SHARE * by_cells
    lower = np.concatenate([[0.0], upper[:-1]])
    return (lower + upper) / 2.0


def _with_missing(bins: NDArray[Any], n_codes: int) -> NDArray[np.int64]:
    """Bins of values, and one more for a missing value where there is a code for it."""
    missing = np.full(n_codes - bins.size, int(bins[-1]) + 1)
    return np.concatenate([bins, missing]).astype(np.int64)
