"""How far a reconstructed table is from the true one, and what knows nothing of it scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment


def distances(x: NDArray[np.uint8], z: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Share of the features in which each pair of records differs, shape (len(x), len(z))."""
    a, b = x.astype(np.float64), z.astype(np.float64)
    return (a @ (1 - b).T + (1 - a) @ b.T) / x.shape[1]


def matched_distances(x: NDArray[np.uint8], z: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Distances of the pairs of that one-to-one matching whose sum is smallest, shape (n,)."""
    apart = distances(x, z)
    return apart[linear_sum_assignment(apart)]


def matching_error(x: NDArray[np.uint8], z: NDArray[np.uint8]) -> float:
    """Mean share of wrong features after the best matching of records; labels do not count."""
    return float(matched_distances(x, z).mean())


def medoid_error(x: NDArray[np.uint8], population: NDArray[np.uint8]) -> float:
    """Error of guessing the record that is nearest to the population, for every record."""
    centre = population.mean(axis=0)
    medoid = population[np.argmin((np.abs(population - centre)).sum(axis=1))]
    return float((x != medoid).mean())


def fresh_errors(
    x: NDArray[np.uint8], population: NDArray[np.uint8], repeats: int, seed: int
) -> NDArray[np.float64]:
    """Errors of other samples of the population, as large as the table; shape (repeats,)."""
    generator = np.random.default_rng(seed)
    samples = (generator.choice(len(population), len(x), replace=False) for _ in range(repeats))
    return np.array([matching_error(x, population[sample]) for sample in samples])


def p_value(
    errors: NDArray[np.float64], fresh: list[NDArray[np.float64]], draws: int = 9999, seed: int = 0
) -> float:
    """Probability that fresh samples, one for each table, are on average at least as near.

    A rank test of the mean error over several attacked tables, by drawing one fresh sample for
    each of them; small where the attack is nearer than the population alone allows.
    """
    generator = np.random.default_rng(seed)
    means = np.mean([generator.choice(sample, draws) for sample in fresh], axis=0)
    return float((1 + np.count_nonzero(means <= errors.mean() + 1e-12)) / (1 + draws))
