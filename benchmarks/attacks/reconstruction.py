"""Reconstruction over tables, forests, epsilons and seeds: one JSON line an attack."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from common.results import Line
from numpy.typing import NDArray

from attacks.binary import binary_table
from attacks.forests import BAGGED, MULTINOMIAL, ONE_SHOT, PLAIN, PRIVATE, RANDOM, fit_forest
from attacks.matching import fresh_errors, matched_distances, matching_error, medoid_error
from attacks.release import Release
from attacks.search import Found, anneal, sample_posterior
from attacks.solver import solve

N_RECORDS = 100
EPSILONS = (0.1, 1.0, 5.0, 30.0)
TREES = (1, 10)
#: Training tables of a whole run.
SEEDS = 3
FRESH = 199
#: Moves of a search for each tree; a few seconds for ten.
_ANNEALING, _SAMPLING = 500_000, 250_000
_LEAST_MOVES = 1_500_000


@dataclass(frozen=True)
class Job:
    """One forest to attack; the default private one picks its trees itself (None)."""

    dataset: str
    target: str
    trees: int | None
    epsilon: float | None
    seed: int

    @property
    def model(self) -> str:
        """Name in the results."""
        if self.trees is None:
            return self.target
        return f"{self.target}, {self.trees} tree{'s' if self.trees > 1 else ''}"

    @property
    def key(self) -> tuple[str, str, float | None, int]:
        """What its line is known by."""
        return self.dataset, self.model, self.epsilon, self.seed


@dataclass(frozen=True, eq=False)
class Training:
    """A training table, the rest of its population, and what a fresh sample of that scores."""

    x: NDArray[np.uint8]
    y: NDArray[np.int64]
    others: tuple[NDArray[np.uint8], NDArray[np.int64]]
    fresh: NDArray[np.float64]
    medoid: float


def jobs(sets: list[str], epsilons: list[float], seeds: int) -> Iterator[Job]:
    """All jobs, seed after seed, so that an early end leaves whole seeds."""
    for seed in range(seeds):
        for dataset in sets:
            for trees in TREES:
                for target in (PLAIN, BAGGED):
                    yield Job(dataset, target, trees, None, seed)
                for epsilon in epsilons:
                    for target in (RANDOM, MULTINOMIAL):
                        yield Job(dataset, target, trees, epsilon, seed)
            for epsilon in epsilons:
                for target in (PRIVATE, ONE_SHOT):
                    yield Job(dataset, target, None, epsilon, seed)


@lru_cache(maxsize=2)
def training(dataset: str, seed: int) -> Training:
    """Draw a training table; the same for all forests of a seed."""
    table = binary_table(dataset)
    order = np.random.default_rng(1000 + seed).permutation(len(table.y))
    own, rest = order[:N_RECORDS], order[N_RECORDS:]
    x, others = table.x[own], (table.x[rest], table.y[rest])
    return Training(
        x, table.y[own], others, fresh_errors(x, others[0], FRESH, seed), medoid_error(x, others[0])
    )


def run(job: Job, seconds: float, workers: int) -> Line:
    """Fit, attack in both ways, and compare with the truth."""
    table, known = binary_table(job.dataset), training(job.dataset, job.seed)
    release = fit_forest(job.target, table, known.x, known.y, job.epsilon, job.trees or 1, job.seed)
    evidence, n_features = release.evidence, known.x.shape[1]
    started, cpu = time.perf_counter(), time.process_time()
    n_trees = evidence.trees.n_trees
    moves = max(_ANNEALING * n_trees, _LEAST_MOVES)
    start = anneal(evidence, n_features, table.groups, moves, job.seed)
    solution = solve(evidence, n_features, table.groups, start, seconds, job.seed, workers)
    moves = max(_SAMPLING * n_trees, _LEAST_MOVES)
    sampled = sample_posterior(evidence, known.others, moves, job.seed)
    return {
        "dataset": job.dataset,
        "model": job.model,
        "epsilon": job.epsilon,
        "seed": job.seed,
        "released": release.what,
        "n": N_RECORDS,
        "accuracy": _accuracy(release, known),
        "status": solution.status,
        "limit": seconds,
        "workers": workers,
        "solver_seconds": round(solution.seconds, 2),
        "solver_cpu_seconds": round(solution.cpu_seconds, 2),
        "attack_seconds": round(time.perf_counter() - started, 2),
        "attack_cpu_seconds": round(time.process_time() - cpu, 2),
        "log_likelihood": evidence.log_likelihood(known.x, known.y),
        "start": _scored(start, known),
        "solved": _scored(solution.found, known),
        "sampled": _scored(sampled, known),
        "fresh": known.fresh.round(5).tolist(),
        "medoid": known.medoid,
    }


def _accuracy(release: Release, known: Training) -> float:
    x, y = known.others[0][:5000], known.others[1][:5000]
    return float((release.predict(x) == y).mean())


def _scored(found: Found, known: Training) -> Line:
    apart = matched_distances(known.x, found.x)
    return {
        "error": matching_error(known.x, found.x),
        "exact_rows": float((apart == 0).mean()),
        "log_likelihood": found.log_likelihood,
    }
