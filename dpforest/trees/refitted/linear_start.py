"""The linear start: a softmax regression by noisy Newton-like steps on an integer design."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.bridge.bridge import Bridge
from dpforest.trees.base import TableFacts
from dpforest.trees.random.bins import Bins
from dpforest.trees.refitted.design import LEVELS, LinearDesign
from dpforest.trees.refitted.plan import RefittedShape, Role
from dpforest.trees.refitted.queries import (
    STEPS,
    DesignedColumns,
    GradientSums,
    GramSums,
    Residuals,
)
from dpforest.trees.scored.columns import centred
from dpforest.trees.scored.queries import CodeMove, ScoreHistory

#: Largest change of a weight in one step.
MOST = 20.0
#: Floors of p (1 - p) in a class's curvature, so that rare classes take no wild steps.
_CURVATURE_FLOOR = {True: 0.1, False: 0.05}


def fit_linear_start(
    shape: RefittedShape,
    bridge: Bridge,
    facts: TableFacts,
    bins: Bins,
    prior: NDArray[np.float64],
    history: ScoreHistory,
) -> tuple[NDArray[np.float64], ScoreHistory]:
    """Release a linear model, step by step.

    Parameters
    ----------
    shape : RefittedShape
    bridge : Bridge
    facts : TableFacts
    bins : Bins
        Public or released; ``place`` makes the values of ordered features.
    prior : ndarray of float64, shape (K,)
        Released class counts.
    history : ScoreHistory

    Returns
    -------
    values : ndarray of float64, shape (total codes, C)
        What every code adds to the scores; the constant is shared out over the first feature.
    history : ScoreHistory
        With the steps.
    """
    design = LinearDesign.of(facts)
    columns = DesignedColumns(facts.offsets, design.column, design.values(bins), design.n_columns)
    solve, curvature = _released_inverse(bridge, columns), _curvatures(prior)
    weights = np.zeros((design.n_columns, history.base.size))
    for _ in range(shape.settings.n_gradients):
        query = GradientSums(Residuals(history, shape.lattice), columns)
        released = bridge.ask(query, Role.GRADIENT).noised(Role.GRADIENT)
        gradient = centred(released.reshape(weights.shape) / (LEVELS * STEPS))
        move = np.clip(solve @ gradient / curvature, -MOST, MOST)
        weights += move
        history = history.then(CodeMove(facts.offsets, _code_values(move, columns)))
    return _code_values(weights, columns), history


def _released_inverse(bridge: Bridge, columns: DesignedColumns) -> NDArray[np.float64]:
    """Inverse of the noisy Gram matrix."""
    gram = np.zeros((columns.n_columns, columns.n_columns))
    upper = np.triu_indices(columns.n_columns)
    gram[upper] = bridge.ask(GramSums(columns), Role.GRAM).noised(Role.GRAM)
    noise = bridge.event(Role.GRAM).variance ** 0.5 / LEVELS**2
    return _ridge_inverse((gram + np.triu(gram, 1).T) / LEVELS**2, noise)


def _ridge_inverse(gram: NDArray[np.float64], noise: float) -> NDArray[np.float64]:
    """Inverse of a noisy Gram matrix, raised by about the norm of its noise."""
    roots, vectors = np.linalg.eigh(gram)
    ridge = 2.0 * noise * gram.shape[0] ** 0.5
    return (vectors / (np.maximum(roots, 0.0) + ridge)) @ vectors.T


def _curvatures(prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """p (1 - p) of every score column by the released prior, kept above a floor."""
    share = prior / prior.sum()
    spread = share * (1.0 - share)
    return np.maximum(spread[1:] if share.size == 2 else spread, _CURVATURE_FLOOR[share.size == 2])


def _code_values(weights: NDArray[np.float64], columns: DesignedColumns) -> NDArray[np.float64]:
    """Scores that codes add; the first feature's codes take the constant, since all have one."""
    worth = weights[columns.column] * (columns.values / LEVELS)[:, None]
    worth[: int(columns.offsets[1])] += weights[0]
    return worth
