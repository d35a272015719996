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
from dpforest.mechanisms.lattice import draw_below, select_interval_point
from dpforest.mechanisms.noise import add_discrete_gaussian_noise, add_geometric_noise
from dpforest.mechanisms.selection import select_exponential, select_permute_and_flip
from dpforest.mechanisms.uniform import select_uniform
from dpforest.observation import observed
from dpforest.records.rows import Offer
from dpforest.trees.multinomial.cells import LevelCells
from dpforest.trees.multinomial.criteria import Criterion
from dpforest.trees.multinomial.kernels.scoring import chosen_splits
from dpforest.trees.multinomial.levels import Level, ScoredLevel
from dpforest.trees.multinomial.segments import Splits
from dpforest.trees.multinomial.tree_plan import TreePlan


def release_splits(
    level: Level, plan: TreePlan, grants: list[Grant | None], source: RandomSource
) -> Splits:
    """Draw the split of every node of a level: feature then value, or both at once.

    Parameters
    ----------
    level : Level
        Counted level.
    plan : TreePlan
    grants : list of Grant or None
        One for each role of the level; None draws uniformly from what the public boxes leave,
        without a look at any record.
    source : RandomSource
    """
    if plan.joint:
        features, codes = _release_joint(level, plan.criterion, grants[0], source)
    else:
        # Scores are made when first asked for, so not at all where nothing was paid.
        scored = level.scored(plan.criterion)
        features = _release_features(level, scored, plan.criterion, grants[0], source)
        codes = _release_codes(level, scored, plan.criterion, features, grants[1], source)
    splits = Splits.empty(features.size)
    # Ordered features cut after the code, categorical ones single it out.
    chosen_splits(level.table.ordered, features, codes, splits.feature, splits.low, splits.high)
    return splits


def _release_features(
    level: Level,
    scored: ScoredLevel,
    criterion: Criterion,
    grant: Grant | None,
    source: RandomSource,
) -> NDArray[np.int64]:
    """Draw a feature for every node, by the best score that each feature offers."""
    n_features = level.table.n_codes.size
    starts = np.arange(level.n_nodes, dtype=np.int64) * n_features
    ends = starts + n_features
    if grant is None:
        return select_uniform((level.n_candidates() > 0).ravel(), starts, ends, source)
    return _select(Offer(scored.best().ravel(), starts, ends), criterion, grant, source)


def _release_codes(
    level: Level,
    scored: ScoredLevel,
    criterion: Criterion,
    features: NDArray[np.int64],
    grant: Grant | None,
    source: RandomSource,
) -> NDArray[np.int64]:
    """Draw a code of the feature that each node drew."""
    if grant is not None:
        return _select(scored.offer(features), criterion, grant, source)
    sizes = level.n_candidates()[np.arange(features.size), features]
    sizes[features < 0] = 0
    return level.nth_candidates(features, draw_below(np.maximum(sizes, 1), source))


def _release_joint(
    level: Level, criterion: Criterion, grant: Grant | None, source: RandomSource
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw feature and code of every node in one draw over all its candidates."""
    if grant is None:
        return _uniform_jointly(level, source)
    if not isinstance(level, LevelCells):
        raise AssertionError("parameters refuse a joint draw on a lattice")
    offer = level.scored(criterion).offer_jointly()
    chosen = _select(offer, criterion, grant, source)
    found = chosen >= 0
    cells = np.where(found, chosen, 0)
    features = np.searchsorted(level.table.offsets, cells, side="right") - 1
    codes = np.where(found, cells - level.table.offsets[features], -1)
    return np.where(found, features, -1), codes


def _uniform_jointly(
    level: Level, source: RandomSource
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same from public boxes alone: every candidate with the same probability."""
    ends = np.cumsum(level.n_candidates(), axis=1)
    totals = ends[:, -1]
    places = draw_below(np.maximum(totals, 1), source)
    features = np.where(totals > 0, (ends <= places[:, None]).sum(axis=1), -1)
    before = (ends - level.n_candidates())[np.arange(totals.size), features]
    return features, level.nth_candidates(features, places - before)


def _select(
    offer: Offer, criterion: Criterion, grant: Grant, source: RandomSource
) -> NDArray[np.int64]:
    """The line where the two flows meet: scores and a grant in, released choices out.

    Returns the place in each row, or where candidates stand for runs of codes the code; -1
    where there is nothing to choose.
    """
    rows = offer.scores, offer.starts, offer.ends
    if offer.firsts is not None and offer.lengths is not None:
        return _select_point(offer, offer.firsts, offer.lengths, criterion, grant, source)
    if isinstance(grant.event, PermuteAndFlipSelection):
        return select_permute_and_flip(*rows, criterion.unit, grant, source)
    return select_exponential(*rows, criterion.unit, grant, source)


@observed(lambda offer, *_: offer.starts.size)
def _select_point(
    offer: Offer,
    firsts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    criterion: Criterion,
    grant: Grant,
    source: RandomSource,
) -> NDArray[np.int64]:
    """One code of each row, each with its own score; which interval held it is forgotten here."""
    interval, offset = select_interval_point(
        offer.scores, lengths, offer.starts, offer.ends, criterion.unit, grant, source
    )
    codes = np.full(interval.size, -1, dtype=np.int64)
    found = interval >= 0
    codes[found] = firsts[(offer.starts + interval)[found]] + offset[found]
    return codes


def release_leaves(
    counts: NDArray[np.int64], plan: TreePlan, grant: Grant, source: RandomSource
) -> tuple[NDArray[np.int32] | None, NDArray[np.int64] | None]:
    """Draw labels or noisy counts for all leaves of a tree: (labels, None) or (None, counts)."""
    if plan.leaves == "geometric":
        return None, add_geometric_noise(counts, grant, source)
    if plan.leaves == "gaussian":
        return None, add_discrete_gaussian_noise(counts, grant, source)
    if plan.leaves == "label":
        labels = draw_label_by_frequency(counts, grant, source)
    else:
        permute = plan.leaves == "count_label_permute_and_flip"
        labels = draw_label_by_count(counts, grant, source, permute_and_flip=permute)
    return labels.astype(np.int32), None
