"""The linear start: a softmax regression by noisy Newton-like steps on an integer design."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.scopes import Scope
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.noise import add_discrete_gaussian_noise
from dpforest.records.base import Records
from dpforest.trees.base import TableFacts
from dpforest.trees.random.bins import Bins
from dpforest.trees.refitted.design import LEVELS, LinearDesign
from dpforest.trees.refitted.lattice import STEPS
from dpforest.trees.refitted.plan import Role, StartPlan
from dpforest.trees.refitted.queries import (
    CodeMove,
    DesignedColumns,
    GradientSums,
    GramSums,
    ScoreHistory,
)
from dpforest.trees.refitted.steps import centred

#: Largest change of a weight in one step.
MOST = 20.0
#: Floors of p (1 - p) in a class's curvature, so that rare classes take no wild steps.
_CURVATURE_FLOOR = {True: 0.1, False: 0.05}


def fit_linear_start(
    plan: StartPlan,
    scope: Scope,
    source: RandomSource,
    records: Records,
    facts: TableFacts,
    bins: Bins,
    prior: NDArray[np.float64],
    history: ScoreHistory,
) -> tuple[NDArray[np.float64], ScoreHistory]:
    """Release a linear model, step by step.

    Parameters
    ----------
    plan : StartPlan
    scope, source, records, facts
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

    Notes
    -----
    **Claim**: one ``plan.gram`` and ``plan.n_gradients`` times ``plan.gradient`` under
    add/remove. **Sensitivity**: ``design``; values and residuals are integers within their bounds
    for every record, whatever was released before. **Tests**: tests/trees/refitted.
    """
    design = LinearDesign.of(facts)
    values = design.values(bins)
    grant = scope.request(plan.gram, role=Role.GRAM)
    columns = DesignedColumns(facts.offsets, design.column, values, design.n_columns, LEVELS)
    raw_gram = records.total(GramSums(columns))
    upper = np.triu_indices(design.n_columns)
    gram = np.zeros(raw_gram.shape)
    gram[upper] = add_discrete_gaussian_noise(raw_gram[upper], grant, source.spawn("gram"))
    noise = float(plan.gram.sigma_squared) ** 0.5 / LEVELS**2
    solve = _ridge_inverse((gram + np.triu(gram, 1).T) / LEVELS**2, noise)
    bend = _curvatures(prior)
    weights = np.zeros((design.n_columns, history.base.size))
    words = source.spawn("gradients")
    for _ in range(plan.n_gradients):
        grant = scope.request(plan.gradient, role=Role.GRADIENT)
        raw_sums = records.total(GradientSums(history, columns))
        released = add_discrete_gaussian_noise(raw_sums.ravel(), grant, words)
        gradient = centred(released.reshape(weights.shape) / (LEVELS * STEPS))
        move = np.clip(solve @ gradient / bend, -MOST, MOST)
        weights += move
        moved = _code_values(move, design, values, facts)
        history = history.then(CodeMove(facts.offsets, moved))
    return _code_values(weights, design, values, facts), history


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


def _code_values(
    weights: NDArray[np.float64],
    design: LinearDesign,
    values: NDArray[np.int64],
    facts: TableFacts,
) -> NDArray[np.float64]:
    """What every code adds; the first feature's codes take the constant, since all have one."""
    worth = weights[design.column] * (values / LEVELS)[:, None]
    worth[: int(facts.n_codes[0])] += weights[0]
    return worth
