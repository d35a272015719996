"""Range of a regression's targets: narrower than the declared one, found from noisy counts.

Noise is in units of the target's bounds, so bounds that are far too wide drown a table that a
small part of the budget can find.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.releases import SHARED, Release, once
from dpforest.accounting.scopes import Scope
from dpforest.bridge import Bridge
from dpforest.domain.targets import TARGET_STEPS
from dpforest.estimators.fit_plan import RANGE_ROLE, FitPlan
from dpforest.mechanisms.entropy import RandomSource
from dpforest.records.base import MappedRecords, Records, Released, TargetCells
from dpforest.records.mappings import Rescaled, Tossed

#: Cells of equal width between the declared bounds.
N_CELLS = 64
#: Runs of so many cells are looked at, and hold records where they exceed so many deviations.
_RUNS, _CLEAR = (1, 2, 4, 8, 16), 3.5
#: Share of the records that may be cut off at each end, so many deviations of the noise beside.
_TAIL, _DEVIATIONS = 0.005, 1.0
#: Part of the range that is added at each end, and least cells of a range.
_MARGIN, _LEAST_CELLS = 0.1, 2
#: Strategies that draw by counts of whole records.
_BY_CLASSES = frozenset({"rules", "multinomial"})


def prepared(
    plan: FitPlan, scope: Scope, records: Records, source: RandomSource
) -> tuple[Records, tuple[int, int] | None]:
    """Records as the learner takes them, and the steps that targets lie between in a regression.

    Targets are brought between released bounds, where the plan buys these; a learner that counts
    whole records sees classes by each record's own coin.
    """
    if plan.facts.unit == 1:
        return records, None
    steps = 0, TARGET_STEPS
    if plan.target_range is not None:
        bought = once(SHARED, Release(RANGE_ROLE, plan.target_range))
        steps = release_target_range(Bridge((bought,), scope, records, source))
        records = MappedRecords(records, Rescaled(*steps))
    if plan.strategy in _BY_CLASSES:
        records = MappedRecords(records, Tossed(source.spawn("target coins").rows()))
    return records, steps


def release_target_range(bridge: Bridge) -> tuple[int, int]:
    """Release a range of targets in steps between the declared bounds.

    Parameters
    ----------
    bridge : Bridge
        To records with targets; geometric noise for ``RANGE_ROLE`` is all that is on its list.

    Returns
    -------
    low, high : int
        Made of noisy counts alone: 0 and ``TARGET_STEPS`` where the noise hides where the targets
        are.
    """
    event = bridge.event(RANGE_ROLE)
    counts = bridge.ask(TargetCells(N_CELLS), RANGE_ROLE).noised(RANGE_ROLE)
    bridge.finish()
    deviation = event.variance**0.5
    first, last = find_range(counts, deviation)
    if last - first < _LEAST_CELLS:
        return 0, TARGET_STEPS
    margin = _MARGIN * (last - first)
    width = TARGET_STEPS // N_CELLS
    low = max(int((first - margin) * width), 0)
    return low, min(int((last + margin) * width), TARGET_STEPS)


def find_range(counts: Released, deviation: float) -> tuple[int, int]:
    """First cell, and the one after the last, of those that hold records as far as noise tells.

    First all runs of cells that clearly hold some: a sum from one end over many empty cells would
    gather so much noise that it hides what comes after. Then from the ends of these inward.

    Parameters
    ----------
    counts : Released, shape (N_CELLS,)
    deviation : float
        Of the noise on one count.

    Returns
    -------
    first, last : int
        Equal where no cell clearly holds records.
    """
    first, last = counts.size, 0
    for length in _RUNS:
        # What short runs have found already says nothing of the cells beside it.
        found = np.zeros(counts.size, dtype=np.bool_)
        found[first:last] = True
        starts = np.arange(0, counts.size - length + 1, max(length // 2, 1))
        held, size = (_run_sums(a, starts, length) for a in (np.where(found, 0, counts), ~found))
        clear = starts[held > _CLEAR * deviation * np.sqrt(size)]
        if clear.size:
            first, last = min(first, int(clear[0])), max(last, int(clear[-1]) + length)
    if first >= last:
        return 0, 0
    inside = counts[first:last]
    return first + _thin_cells(inside, deviation), last - _thin_cells(inside[::-1], deviation)


def _run_sums(values: NDArray[Any], starts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    sums = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    found: NDArray[np.int64] = sums[starts + length] - sums[starts]
    return found


def _thin_cells(counts: NDArray[np.int64], deviation: float) -> int:
    """Count the cells from one end that hold no more than a tail, as far as the noise shows."""
    sums = np.cumsum(counts)
    allowed = _TAIL * max(float(sums[-1]), 0.0)
    allowed_sums = allowed + _DEVIATIONS * deviation * np.sqrt(np.arange(1, counts.size + 1))
    over = np.flatnonzero(sums > allowed_sums)
    return int(over[0]) if over.size else 0
