"""Corrections of grown trees: their leaves answer once more to what is left unexplained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.events import Event
from dpforest.bridge.bridge import Bridge
from dpforest.trees.boosted.plan import BoostedShape, Role
from dpforest.trees.boosted.queries import BoostedMove, LeafSums
from dpforest.trees.boosted.steps import Scales, levels_of_leaves, newton_steps
from dpforest.trees.multinomial.segments import Heap
from dpforest.trees.scored.gradients import GRADIENT_STEPS, Gradients
from dpforest.trees.scored.queries import ScoreHistory
from dpforest.trees.scored.score_steps import in_score_steps

#: A tree's splits, steps of its leaves, and their sizes.
Grown = tuple[Heap, NDArray[np.float64], NDArray[np.float64]]


def corrected(
    shape: BoostedShape, bridge: Bridge, history: ScoreHistory, grown: Sequence[Grown]
) -> tuple[list[Grown], ScoreHistory]:
    """Correct the steps of one tree of the rounds after the other, so many times as was planned.

    A tree was grown by what those before it left unexplained, and those after it changed that. Its
    splits are paid for, so another answer of its leaves costs their sums alone.

    Parameters
    ----------
    shape, bridge
    history : ScoreHistory
        Scores with the steps of all trees.
    grown : sequence of Grown

    Returns
    -------
    grown : list of Grown
    history : ScoreHistory
        Scores with the corrections, too.

    Notes
    -----
    **Claim**: as ``BoostedForest.train``. **Proof**: residuals follow from released scores and the
    record's own codes; it lies in one leaf of a tree, so a correction moves by its row
    (``LeafSums.sensitivity``). **Tests**: tests/trees/boosted/test_corrections.py.
    """
    found = list(grown)
    for number in range(shape.n_corrections):
        place = shape.first + number % shape.n_rounds
        heap, steps, sizes = found[place]
        more = _correction(shape, bridge, history, heap)
        history = history.then(BoostedMove(len(history.moves), heap, more))
        found[place] = heap, steps + more, sizes
    return found, history


def _correction(
    shape: BoostedShape, bridge: Bridge, history: ScoreHistory, heap: Heap
) -> NDArray[np.float64]:
    """Ask what is left in the leaves of a tree, and make shrunk Newton steps of it."""
    leaves = np.arange(2**shape.depth)
    query = LeafSums(Gradients(history, shape.lattice), heap, shape.depth, leaves)
    released = bridge.ask(query, Role.CORRECTIONS).noised(Role.CORRECTIONS)
    noise = bridge.event(Role.CORRECTIONS)
    steps = steps_of(shape, levels_of_leaves(released, noise.variance), noise)
    return in_score_steps(shape.settings.correction_step * steps)


def steps_of(
    shape: BoostedShape, levels: Sequence[tuple[NDArray[np.float64], float]], noise: Event
) -> NDArray[np.float64]:
    """Shrunk Newton steps of a tree's leaves, from estimates of its levels' sums and its noise."""
    settings, lattice = shape.settings, shape.lattice
    scales = Scales(GRADIENT_STEPS, lattice.curvature, lattice.mass)
    spread, clip = settings.spread_of(lattice.weighted), settings.step_clip
    return newton_steps(levels, scales, spread, clip, noise.zero_sum_variance / noise.variance)
