"""The bridge from secret to released: scores and counts in, splits and leaves out.

Each function hands raw numbers and one grant to one mechanism. Nothing else in the package
turns something counted from records into something kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.events import PermuteAndFlipSelection
from dpforest.accounting.grants import Grant
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.labels import draw_label_by_count, draw_label_by_frequency
from dpforest.mechanisms.noise import add_discrete_gaussian_noise, add_geometric_noise
from dpforest.mechanisms.selection import select_exponential, select_permute_and_flip
from dpforest.mechanisms.uniform import select_uniform
from dpforest.trees.criteria import Criterion
from dpforest.trees.kernels.scoring import (
    candidate_spans,
    chosen_splits,
    feature_scores,
    joint_scores,
    value_scores,
)
from dpforest.trees.level import LevelCells
from dpforest.trees.records import Splits
from dpforest.trees.tree_plan import TreePlan


def release_splits(
    cells: LevelCells, plan: TreePlan, grants: list[Grant | None], source: RandomSource
) -> Splits:
    """Draw the split of every node of a level: feature then value, or both at once.

    Parameters
    ----------
    cells : LevelCells
        Counted level.
    plan : TreePlan
    grants : list of Grant or None
        One for each role of the level; None draws uniformly.
    source : RandomSource
    """
    if plan.joint:
        return _release_joint(cells, plan, grants[0], source)
    features, scores = _release_features(cells, plan, grants[0], source)
    return _release_values(cells, plan, features, scores, grants[1], source)


def _release_features(
    cells: LevelCells, plan: TreePlan, grant: Grant | None, source: RandomSource
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Draw a feature for every node, by the best score that each feature offers."""
    table, criterion = cells.table, plan.criterion
    best = np.empty((cells.n_nodes, table.n_codes.size), dtype=np.float64)
    chunks = cells.chunks()
    for first, last in chunks:
        scores = cells.scores(first, last, criterion)
        feature_scores(scores, table.offsets, criterion.normalised, best[first:last])
    starts = np.arange(cells.n_nodes, dtype=np.int64) * best.shape[1]
    features = _select(best.ravel(), starts, starts + best.shape[1], criterion, grant, source)
    # The value stage needs the same scores again: kept where the level is one chunk.
    return features, scores if len(chunks) == 1 else None


def _release_values(
    cells: LevelCells,
    plan: TreePlan,
    features: NDArray[np.int64],
    kept: NDArray[np.float64] | None,
    grant: Grant | None,
    source: RandomSource,
) -> Splits:
    """Draw a value of the feature that each node drew."""
    criterion = plan.criterion
    if kept is not None:
        offered, starts, ends = _offered_values(cells, criterion, features, kept)
    else:
        offered, starts, ends = _offered_by_chunks(cells, criterion, features)
    values = _select(offered, starts, ends, criterion, grant, source)
    return _splits(cells, features, values)


def _offered_values(
    cells: LevelCells,
    criterion: Criterion,
    features: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Flat scores and the span of each node's drawn feature in them; changes ``scores``."""
    offsets = cells.table.offsets
    value_scores(scores, offsets, features, criterion.normalised)
    starts = np.empty(features.size, dtype=np.int64)
    ends = np.empty(features.size, dtype=np.int64)
    candidate_spans(offsets, features, starts, ends)
    return scores.ravel(), starts, ends


def _offered_by_chunks(
    cells: LevelCells, criterion: Criterion, features: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """The same for a level whose scores do not fit in memory at once: drawn features only."""
    width = int(cells.table.n_codes.max(initial=1))
    offered = np.empty((cells.n_nodes, width), dtype=np.float64)
    ends = np.empty(cells.n_nodes, dtype=np.int64)
    for first, last in cells.chunks():
        scores = cells.scores(first, last, criterion)
        flat, begin, end = _offered_values(cells, criterion, features[first:last], scores)
        places = begin[:, None] + np.arange(width)
        offered[first:last] = flat[np.minimum(places, flat.size - 1)]
        ends[first:last] = end - begin
    starts = np.arange(cells.n_nodes, dtype=np.int64) * width
    return offered.ravel(), starts, starts + ends


def _release_joint(
    cells: LevelCells, plan: TreePlan, grant: Grant | None, source: RandomSource
) -> Splits:
    """Draw feature and value of every node in one draw over all its candidates."""
    criterion = plan.criterion
    offered = np.empty((cells.n_nodes, cells.total), dtype=np.float64)
    for first, last in cells.chunks():
        offered[first:last] = cells.scores(first, last, criterion)
    joint_scores(offered, criterion.normalised)
    starts = np.arange(cells.n_nodes, dtype=np.int64) * cells.total
    chosen = _select(offered.ravel(), starts, starts + cells.total, criterion, grant, source)
    found = chosen >= 0
    places = np.where(found, chosen, 0)
    features = np.searchsorted(cells.table.offsets, places, side="right") - 1
    values = np.where(found, places - cells.table.offsets[features], -1)
    return _splits(cells, np.where(found, features, -1), values)


def _select(
    scores: NDArray[np.float64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    criterion: Criterion,
    grant: Grant | None,
    source: RandomSource,
) -> NDArray[np.int64]:
    """The line where the two flows meet: scores and a grant in, released choices out."""
    if grant is None:
        # No grant, no scores: only which candidates the public boxes leave.
        return select_uniform(np.isfinite(scores), starts, ends, source)
    if isinstance(grant.event, PermuteAndFlipSelection):
        return select_permute_and_flip(scores, starts, ends, criterion.unit, grant, source)
    return select_exponential(scores, starts, ends, criterion.unit, grant, source)


def _splits(cells: LevelCells, features: NDArray[np.int64], values: NDArray[np.int64]) -> Splits:
    """Splits from choices: ordered features cut after the value, categorical ones single it out."""
    splits = Splits.empty(features.size)
    chosen_splits(
        cells.table.ordered, features, values, splits.feature, splits.low, splits.high
    )
    return splits


def release_leaves(
    counts: NDArray[np.int64], plan: TreePlan, grant: Grant, source: RandomSource
) -> tuple[NDArray[np.int32] | None, NDArray[np.int64] | None]:
    """Draw labels or noisy histograms for all leaves of a tree: (labels, None) or (None, counts)."""
    if plan.leaves == "geometric":
        return None, add_geometric_noise(counts, grant, source)
    if plan.leaves == "gaussian":
        return None, add_discrete_gaussian_noise(counts, grant, source)
    if plan.leaves == "label":
        return draw_label_by_frequency(counts, grant, source).astype(np.int32), None
    permute = plan.leaves == "count_label_permute_and_flip"
    return draw_label_by_count(counts, grant, source, permute_and_flip=permute).astype(np.int32), None


