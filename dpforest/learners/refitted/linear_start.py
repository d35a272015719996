"""The linear start: a softmax regression by noisy Newton-like steps on an integer design."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.scopes import Scope
from dpforest.learners.base import TableFacts
from dpforest.learners.kernels.linear import add_code_values, gradient_sums, gram_sums
from dpforest.learners.kernels.rounds import lattice_residuals
from dpforest.learners.quantiles import Bins
from dpforest.learners.refitted.design import LEVELS, LinearDesign
from dpforest.learners.refitted.lattice import STEPS
from dpforest.learners.refitted.plan import Role, StartPlan
from dpforest.learners.refitted.steps import centred
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.noise import add_discrete_gaussian_noise
from dpforest.trees.records import TrainingTable

#: Largest change of a weight in one step.
MOST = 20.0
#: Floors of p (1 - p) in a class's curvature, so that rare classes take no wild steps.
_CURVATURE_FLOOR = {True: 0.1, False: 0.05}


def fit_linear_start(
    plan: StartPlan,
    scope: Scope,
    source: RandomSource,
    table: TrainingTable,
    facts: TableFacts,
    bins: Bins,
    prior: NDArray[np.float64],
    raw_scores: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Release a linear model, and move the records' secret scores by it.

    Parameters
    ----------
    plan : StartPlan
    scope, source, table, facts
    bins : Bins
        Public or released; ``place`` makes the values of ordered features.
    prior : ndarray of float64, shape (K,)
        Released class counts.
    raw_scores : ndarray of float64, shape (n, C), moved in place

    Returns
    -------
    ndarray of float64, shape (total codes, C)
        What every code adds to the scores; the constant is shared out over the first feature.

    Notes
    -----
    **Claim**: one ``plan.gram`` and ``plan.n_gradients`` times ``plan.gradient`` under
    add/remove. **Sensitivity**: ``design``; values and residuals are integers within their bounds
    for every record, whatever was released before. **Tests**: tests/learners/refitted.
    """
    design = LinearDesign.of(facts)
    values = design.values(bins)
    grant = scope.request(plan.gram, role=Role.GRAM)
    raw_gram = np.empty((design.n_columns, design.n_columns), dtype=np.int64)
    gram_sums(table.codes, facts.offsets, design.column, values, LEVELS, raw_gram)
    upper = np.triu_indices(design.n_columns)
    gram = np.zeros(raw_gram.shape)
    gram[upper] = add_discrete_gaussian_noise(raw_gram[upper], grant, source.spawn("gram"))
    noise = float(plan.gram.sigma_squared) ** 0.5 / LEVELS**2
    solve = _ridge_inverse((gram + np.triu(gram, 1).T) / LEVELS**2, noise)
    bend = _curvatures(prior)
    weights = np.zeros((design.n_columns, raw_scores.shape[1]))
    raw_residuals = np.empty(raw_scores.shape, dtype=np.int32)
    raw_sums = np.empty(weights.shape, dtype=np.int64)
    words = source.spawn("gradients")
    for _ in range(plan.n_gradients):
        grant = scope.request(plan.gradient, role=Role.GRADIENT)
        lattice_residuals(raw_scores, table.labels, STEPS, raw_residuals)
        gradient_sums(
            table.codes, facts.offsets, design.column, values, LEVELS, raw_residuals, raw_sums
        )
        released = add_discrete_gaussian_noise(raw_sums.ravel(), grant, words)
        gradient = centred(released.reshape(weights.shape) / (LEVELS * STEPS))
        move = np.clip(solve @ gradient / bend, -MOST, MOST)
        weights += move
        moved = _code_values(move, design, values, facts)
        add_code_values(table.codes, facts.offsets, moved, raw_scores)
    return _code_values(weights, design, values, facts)


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
