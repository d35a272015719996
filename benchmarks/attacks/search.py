"""Search over tables: annealing from nothing, and posterior sampling for who knows the population.

Annealing gives CP-SAT a table to start from. Sampling is an attack of its own: its prior is the
population, so where a forest says nothing it scores what a fresh sample of the population does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from attacks.binary import Group
from attacks.evidence import N_CLASSES, Evidence

#: Temperatures, in units of what one record in the wrong leaf costs.
_HOT, _COLD = 2.0, 0.02
#: Where sampling starts, to forget its first table; it ends at the posterior.
_WARM = 10.0


@dataclass(frozen=True, eq=False)
class Found:
    """A table and its log-likelihood."""

    x: NDArray[np.uint8]
    y: NDArray[np.int64]
    log_likelihood: float


def anneal(
    evidence: Evidence, n_features: int, groups: tuple[Group, ...], moves: int, seed: int
) -> Found:
    """A likely table, by changing one value at a time at falling temperatures.

    Parameters
    ----------
    evidence : Evidence
    n_features : int
    groups : tuple of Group
        What the features are known to exclude.
    moves : int
    seed : int
    """
    generator = np.random.default_rng(seed)
    x, y = random_table(evidence.n_records, n_features, groups, generator)
    scale = evidence.scale
    if not scale:
        return Found(x, y, evidence.log_likelihood(x, y))
    return _run(evidence, x, y, groups, None, moves, (_HOT * scale, _COLD * scale), seed)


def sample_posterior(
    evidence: Evidence,
    population: tuple[NDArray[np.uint8], NDArray[np.int64]],
    moves: int,
    seed: int,
) -> Found:
    """A table drawn from the posterior, where records are independent draws of a population.

    Metropolis: a record is replaced by one of the population, and kept by the likelihood ratio.
    """
    generator = np.random.default_rng(seed)
    start = generator.choice(len(population[1]), evidence.n_records, replace=False)
    x, y = population[0][start].copy(), population[1][start].copy()
    half = moves // 2
    first = _run(evidence, x, y, (), population, half, (_WARM, 1.0), seed)
    return _run(evidence, first.x, first.y, (), population, moves - half, (1.0, 1.0), seed + 1)


def random_table(
    n: int, n_features: int, groups: tuple[Group, ...], generator: np.random.Generator
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Records with uniform values, as far as the groups leave a choice."""
    x = generator.integers(0, 2, (n, n_features)).astype(np.uint8)
    for group in groups:
        members = np.array(group.members)
        x[:, members] = 0
        pick = generator.integers(0, members.size + (not group.complete), n)
        chosen = np.flatnonzero(pick < members.size)
        x[chosen, members[pick[chosen]]] = 1
    return x, generator.integers(0, N_CLASSES, n)


def _run(
    evidence: Evidence,
    x: NDArray[np.uint8],
    y: NDArray[np.int64],
    groups: tuple[Group, ...],
    population: tuple[NDArray[np.uint8], NDArray[np.int64]] | None,
    moves: int,
    temperatures: tuple[float, float],
    seed: int,
) -> Found:
    trees = evidence.trees
    n_features = x.shape[1]
    group_of, complete = np.full(n_features, -1), np.zeros(n_features, dtype=np.bool_)
    for number, group in enumerate(groups):
        group_of[list(group.members)] = number
        complete[list(group.members)] = group.complete
    some = population if population is not None else (x[:0], y[:0])
    best_x, best_y = x.copy(), y.copy()
    _walk(
        best_x, best_y, trees.features, trees.weights, trees.thresholds, evidence.counts,
        evidence.margins, group_of, complete, some[0], some[1], moves, *temperatures, seed,
    )  # fmt: skip
    return Found(best_x, best_y, evidence.log_likelihood(best_x, best_y))


@njit(cache=True)
def _leaf(record, tree, features, weights, thresholds):  # type: ignore[no-untyped-def]
    place = 0
    n_nodes = features.shape[1]
    while place < n_nodes:
        total = 0
        for part in range(features.shape[2]):
            feature = features[tree, place, part]
            if feature >= 0:
                total += weights[tree, place, part] * record[feature]
        place = 2 * place + 1 + (total > thresholds[tree, place])
    return place - n_nodes


@njit(cache=True)
def _change(n, counts, margins, tree, leaf, label, step):  # type: ignore[no-untyped-def]
    """Put a record into a leaf or take it out; the gain in log-likelihood."""
    last = counts.shape[-1] - 1
    before, apart = n[tree, leaf, label], n[tree, leaf, 1] - n[tree, leaf, 0] + last
    n[tree, leaf, label] = before + step
    moved = apart + (step if label == 1 else -step)
    return (
        counts[tree, leaf, label, before + step]
        - counts[tree, leaf, label, before]
        + margins[tree, leaf, moved]
        - margins[tree, leaf, apart]
    )


@njit(cache=True)
def _walk(  # type: ignore[no-untyped-def]
    x, y, features, weights, thresholds, counts, margins, group_of, complete,
    others_x, others_y, moves, first_temperature, last_temperature, seed,
):  # fmt: skip
    np.random.seed(seed)
    n_records, n_features = x.shape
    n_trees = features.shape[0]
    n = np.zeros(counts.shape[:3], dtype=np.int64)
    leaf = np.zeros((n_records, n_trees), dtype=np.int64)
    for k in range(n_records):
        for t in range(n_trees):
            leaf[k, t] = _leaf(x[k], t, features, weights, thresholds)
            n[t, leaf[k, t], y[k]] += 1
    record = np.empty(n_features, dtype=x.dtype)
    goes = np.empty(n_trees, dtype=np.int64)
    temperature = first_temperature
    cooling = (last_temperature / first_temperature) ** (1.0 / max(moves, 1))
    total = best = 0.0
    best_x, best_y = x.copy(), y.copy()
    keeps_best = others_x.shape[0] == 0
    for _ in range(moves):
        temperature *= cooling
        k = np.random.randint(n_records)
        record[:], label = x[k], y[k]
        if others_x.shape[0] > 0:
            other = np.random.randint(others_x.shape[0])
            record[:], label = others_x[other], others_y[other]
        else:
            i = np.random.randint(n_features + 1)
            if i == n_features:
                label = 1 - label
            elif group_of[i] < 0:
                record[i] = 1 - record[i]
            elif record[i] == 0:
                for j in range(n_features):
                    if group_of[j] == group_of[i]:
                        record[j] = 0
                record[i] = 1
            elif complete[i]:
                continue
            else:
                record[i] = 0
        gain = 0.0
        for t in range(n_trees):
            goes[t] = _leaf(record, t, features, weights, thresholds)
            if goes[t] != leaf[k, t] or label != y[k]:
                gain += _change(n, counts, margins, t, leaf[k, t], y[k], -1)
                gain += _change(n, counts, margins, t, goes[t], label, 1)
        if gain >= 0 or np.random.random() < np.exp(gain / temperature):
            total += gain
            x[k] = record
            y[k] = label
            leaf[k] = goes
            if keeps_best and total > best + 1e-9:
                best = total
                best_x[:], best_y[:] = x, y
        else:
            for t in range(n_trees):
                if goes[t] != leaf[k, t] or label != y[k]:
                    _change(n, counts, margins, t, goes[t], label, -1)
                    _change(n, counts, margins, t, leaf[k, t], y[k], 1)
    if keeps_best:
        x[:], y[:] = best_x, best_y
