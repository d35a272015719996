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
from dpforest.bridge.bridge import Bridge
from dpforest.domain.targets import TARGET_STEPS
from dpforest.estimators.fit_plan import RANGE_ROLE, FitPlan
from dpforest.mechanisms.entropy import RandomSource
from dpforest.records.base import MappedRecords, Records, Released
from dpforest.records.counts import TargetSpans
from dpforest.records.mappings import Rescaled, Tossed

#: Cells of equal width between the declared bounds, and halvings of the first and the last one:
#: targets often lie near a bound, and spans that are counted apart have no noise in common.
N_CELLS, N_HALVINGS = 64, 5
_WIDTH = TARGET_STEPS // N_CELLS
_HALVES = tuple(_WIDTH >> times for times in range(N_HALVINGS, 0, -1))
#: Edges of the spans that are counted, and spans in each cell.
EDGES = (
    0, *_HALVES, *range(_WIDTH, TARGET_STEPS, _WIDTH),
    *(TARGET_STEPS - step for step in reversed(_HALVES)), TARGET_STEPS,
)  # fmt: skip
_SPANS = np.array([N_HALVINGS + 1, *[1] * (N_CELLS - 2), N_HALVINGS + 1])
#: Runs of so many cells are looked at, and hold records where they exceed so many deviations of the
#: noise on their sum, and as many more of one part: single geometric noise has a long tail. Far
#: from all others it is more, since one stray cell would make a range that is found useless.
_RUNS, _CLEAR, _CLEAR_NEAR, _CLEAR_FAR = (1, 2, 4, 8, 16), 3.2, 0.8, 3.3
#: Share of the records that may be cut off at each end, so many deviations of the noise beside.
_TAIL, _DEVIATIONS = 0.005, 1.0
#: Part of the range that is added at each end, of one cell, and as many deviations of the noise on
#: a cell, in parts of the records, where that is more: what is too thin to be seen lies beside what
#: is seen. Twice as much, and so on, until such a share of all records is held, as noise tells.
_MARGIN, _MARGIN_OF_ONE, _MARGIN_DEVIATIONS, _LEAST_SHARE = 0.1, 0.5, 10.0, 0.85
#: Deviation of a declared number from that of the records, as a part: people round.
_ROUNDING = 0.15
#: More are taken for so many, whose square is a double.
_MOST_ROWS = 1e15


def prepared(
    plan: FitPlan, scope: Scope, records: Records, source: RandomSource
) -> tuple[Records, tuple[int, int] | None]:
    """Records as the learner takes them, and the steps that targets lie between in a regression.

    Targets are brought between released bounds, where the plan buys these; rules, which count whole
    records, see classes by each record's own coin.
    """
    if not plan.facts.is_regression:
        return records, None
    steps = 0, TARGET_STEPS
    if plan.target_range is not None:
        bought = once(SHARED, Release(RANGE_ROLE, plan.target_range))
        rows = float(plan.facts.approximate_rows or 0.0)
        steps = release_target_range(Bridge((bought,), scope, records, source), rows)
        records = MappedRecords(records, Rescaled(*steps))
    if plan.strategy == "rules":
        records = MappedRecords(records, Tossed(source.spawn("target coins").rows()))
    return records, steps


def release_target_range(bridge: Bridge, rows: float) -> tuple[int, int]:
    """Release a range of targets in steps between the declared bounds.

    Parameters
    ----------
    bridge : Bridge
        To records with targets; geometric noise for ``RANGE_ROLE`` is all that is on its list.
    rows : float
        Declared or bought number of records.

    Returns
    -------
    low, high : int
        Made of noisy counts alone: 0 and ``TARGET_STEPS`` where the noise hides where the targets
        are.
    """
    event = bridge.event(RANGE_ROLE)
    counts = bridge.ask(TargetSpans(EDGES), RANGE_ROLE).noised(RANGE_ROLE)
    bridge.finish()
    deviation = event.variance**0.5
    cells = np.add.reduceat(counts, np.cumsum(_SPANS) - _SPANS)
    first, last = find_range(cells, deviation, _SPANS)
    if first >= last:
        return 0, TARGET_STEPS
    rows = _likely_rows(counts, deviation, rows)
    part = max(_MARGIN, _MARGIN_DEVIATIONS * deviation / rows)
    low, high = first * _WIDTH, last * _WIDTH
    if last - first == 1:
        part = _MARGIN_OF_ONE
        if first in (0, N_CELLS - 1):
            low, high = _beside_a_bound(counts, first > 0, deviation)
    return _wide_enough(counts, (low, high), part, rows)


def _wide_enough(
    counts: Released, seen: tuple[int, int], part: float, rows: float
) -> tuple[int, int]:
    """Steps between which nearly all records are: those that are seen, and a margin."""
    edges, (low, high) = np.array(EDGES), seen
    margin = part * (high - low)
    while low > 0 or high < TARGET_STEPS:
        low, high = max(int(seen[0] - margin), 0), min(int(seen[1] + margin), TARGET_STEPS)
        if counts[(edges[1:] > low) & (edges[:-1] < high)].sum() >= _LEAST_SHARE * rows:
            break
        margin *= 2
    return low, high


def _likely_rows(counts: Released, deviation: float, rows: float) -> float:
    """Number of records, by the declared or bought one and by the noisy counts together."""
    total, noise = float(counts.sum()), counts.size * deviation**2
    rows = min(rows, _MOST_ROWS)
    declared = (_ROUNDING * rows) ** 2
    return max((rows * noise + total * declared) / (noise + declared), 1.0) if declared else 1.0


def _beside_a_bound(counts: Released, upper: bool, deviation: float) -> tuple[int, int]:
    """Steps of the spans of the first cell, or of the last, that hold records."""
    spans = counts[::-1][: _SPANS[0]] if upper else counts[: _SPANS[0]]
    _, last = find_range(spans, deviation)
    reach = (*_HALVES, _WIDTH)[last - 1] if last else _WIDTH
    return (TARGET_STEPS - reach, TARGET_STEPS) if upper else (0, reach)


def find_range(
    counts: NDArray[np.int64], deviation: float, parts: NDArray[np.int64] | None = None
) -> tuple[int, int]:
    """First cell, and the one after the last, of those that hold records as far as noise tells.

    First all runs of cells that clearly hold some: a sum from one end over many empty cells would
    gather so much noise that it hides what comes after. Then from the ends of these inward.

    Parameters
    ----------
    counts : ndarray of int64, shape (n_cells,)
        Released ones.
    deviation : float
        Of the noise on one part of a count.
    parts : ndarray of int64, shape (n_cells,), optional
        Noisy parts that each count is the sum of; 1 by default.

    Returns
    -------
    first, last : int
        Equal where no cell clearly holds records.
    """
    parts = np.ones(counts.size, dtype=np.int64) if parts is None else parts
    first, last = _held(counts, parts, deviation, _CLEAR_FAR)
    # What is beside what is sure, no further away than that is wide.
    low = max(2 * first - last, 0) if first < last else 0
    high = 2 * last - first if first < last else counts.size
    near = _held(counts[low:high], parts[low:high], deviation, _CLEAR_NEAR)
    if near[0] < near[1]:
        first, last = min(first, low + near[0]), max(last, low + near[1])
    if first >= last:
        return 0, 0
    inside, own = counts[first:last], parts[first:last]
    thin = _thin_cells(inside, own, deviation), _thin_cells(inside[::-1], own[::-1], deviation)
    return first + thin[0], last - thin[1]


def _held(
    counts: NDArray[np.int64], parts: NDArray[np.int64], deviation: float, more: float
) -> tuple[int, int]:
    """First cell, and the one after the last, of runs that clearly hold records.

    The first comes after the last where there is none.
    """
    first, last = counts.size, 0
    for length in (run for run in _RUNS if run <= counts.size):
        # What short runs have found already says nothing of the cells beside it.
        found = np.zeros(counts.size, dtype=np.bool_)
        found[first:last] = True
        starts = np.arange(0, counts.size - length + 1, max(length // 2, 1))
        left = (np.where(found, 0, values) for values in (counts, parts))
        held, size = (_run_sums(values, starts, length) for values in left)
        clear = starts[held > deviation * (_CLEAR * np.sqrt(size) + more)]
        if clear.size:
            first, last = min(first, int(clear[0])), max(last, int(clear[-1]) + length)
    return first, last


def _run_sums(values: NDArray[Any], starts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    sums = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    found: NDArray[np.int64] = sums[starts + length] - sums[starts]
    return found


def _thin_cells(counts: NDArray[np.int64], parts: NDArray[np.int64], deviation: float) -> int:
    """Count the cells from one end that hold no more than a tail, as far as the noise shows."""
    sums = np.cumsum(counts)
    allowed = _TAIL * max(float(sums[-1]), 0.0)
    allowed_sums = allowed + _DEVIATIONS * deviation * np.sqrt(np.cumsum(parts))
    over = np.flatnonzero(sums > allowed_sums)
    return int(over[0]) if over.size else 0
