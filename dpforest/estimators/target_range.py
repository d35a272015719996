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
from dpforest.records.base import MappedRecords, Records, Released, TargetSpans
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
#: Runs of so many cells are looked at, and hold records where they exceed so many deviations, and
#: as many more over the root of what they are the sum of: single geometric noise has a long tail,
#: and one stray cell far away would make a range that is found useless.
_RUNS, _CLEAR, _CLEAR_OF_ONE = (1, 2, 4, 8, 16), 3.2, 1.4
#: Share of the records that may be cut off at each end, so many deviations of the noise beside.
_TAIL, _DEVIATIONS = 0.005, 1.0
#: Part of the range that is added at each end; of a range of one cell, half a cell. That is taken
#: where it holds such a share of all records: many targets may be alike, and others far away.
_MARGIN, _MARGIN_OF_ONE, _LEAST_SHARE = 0.1, 0.5, 0.9
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
        rows = float(plan.facts.approximate_rows or 0.0)
        steps = release_target_range(Bridge((bought,), scope, records, source), rows)
        records = MappedRecords(records, Rescaled(*steps))
    if plan.strategy in _BY_CLASSES:
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
    if last - first == 1:
        if cells[first] < _LEAST_SHARE * rows:
            return 0, TARGET_STEPS
        if first in (0, N_CELLS - 1):
            return _beside_a_bound(counts, first > 0, deviation, rows)
    margin = (last - first) * (_MARGIN_OF_ONE if last - first == 1 else _MARGIN)
    low, high = int((first - margin) * _WIDTH), int((last + margin) * _WIDTH)
    return (max(low, 0), min(high, TARGET_STEPS)) if low < high else (0, TARGET_STEPS)


def _beside_a_bound(
    counts: Released, upper: bool, deviation: float, rows: float
) -> tuple[int, int]:
    """Range of targets that all lie in the cell beside a bound, by its spans from there inward."""
    spans = counts[::-1][: _SPANS[0]] if upper else counts[: _SPANS[0]]
    _, last = find_range(spans, deviation)
    reach = _WIDTH
    if last and spans[:last].sum() >= _LEAST_SHARE * rows:
        reach = (*_HALVES, _WIDTH)[last - 1]
    reach = int(reach * (1 + _MARGIN))
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
    first, last = counts.size, 0
    for length in _RUNS:
        if length > counts.size:
            break
        # What short runs have found already says nothing of the cells beside it.
        found = np.zeros(counts.size, dtype=np.bool_)
        found[first:last] = True
        starts = np.arange(0, counts.size - length + 1, max(length // 2, 1))
        left = (np.where(found, 0, values) for values in (counts, parts))
        held, size = (_run_sums(values, starts, length) for values in left)
        clear = starts[held > deviation * (_CLEAR * np.sqrt(size) + _CLEAR_OF_ONE)]
        if clear.size:
            first, last = min(first, int(clear[0])), max(last, int(clear[-1]) + length)
    if first >= last:
        return 0, 0
    inside, own = counts[first:last], parts[first:last]
    thin = _thin_cells(inside, own, deviation), _thin_cells(inside[::-1], own[::-1], deviation)
    return first + thin[0], last - thin[1]


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
