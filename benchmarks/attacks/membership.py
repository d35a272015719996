"""Membership inference by likelihood ratios of shadow models.

After Carlini, Chien, Nasr, Song, Terzis and Tramèr, "Membership Inference Attacks From First
Principles" (2022). Every record of a pool is in every model's table with probability 1/2, on its
own: so a record's presence is exactly the add/remove of one record, and the bound of (ε, δ) holds
for each record and, with one threshold for all, for the pooled rates. Each model is attacked in
turn with the others as shadows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from common.results import Line
from numpy.typing import NDArray
from scipy.stats import norm, rankdata
from sklearn.ensemble import RandomForestClassifier

from attacks.bounds import largest_auc, largest_true_positive_rate
from dpforest import PrivateForestClassifier
from dpforest.datasets import load_adult, load_mammographic_masses
from dpforest.exceptions import RepeatedFitWarning, WeakSignalWarning

EPSILONS = (0.1, 1.0, 5.0, 30.0)
DELTAS = (0.0, 1e-6)
SETS = ("adult", "mammographic_masses")
PLAIN, PRIVATE = "scikit-learn forest", "PrivateForestClassifier"
POOL = 1000
N_MODELS = 65
FALSE_POSITIVE_RATE = 0.001
#: Probabilities are kept this far from 0 and 1, half a vote of a hundred trees.
_CLIP = 0.005
#: Pseudo-count of the pooled variance in a record's own.
_SHRINKAGE = 8.0
_RESAMPLES = 200


@dataclass(frozen=True)
class Job:
    """One kind of model; its seed is that of pool and memberships."""

    dataset: str
    target: str
    epsilon: float | None
    delta: float
    seed: int = 0

    @property
    def model(self) -> str:
        """Name in the results."""
        return self.target if self.epsilon is None else f"{self.target}, delta {self.delta:g}"

    @property
    def key(self) -> tuple[str, str, float | None, int]:
        """What its line is known by."""
        return self.dataset, self.model, self.epsilon, self.seed


def jobs(sets: list[str], epsilons: list[float], seeds: int) -> Iterator[Job]:
    """All jobs."""
    for seed in range(seeds):
        for dataset in sets:
            yield Job(dataset, PLAIN, None, 0.0, seed)
            for delta in DELTAS:
                for epsilon in epsilons:
                    yield Job(dataset, PRIVATE, epsilon, delta, seed)


@lru_cache(maxsize=2)
def pool(dataset: str, seed: int) -> tuple[NDArray[np.float64], NDArray[Any], Any]:
    """Records, labels and domain; the declared number of records is the expected one."""
    bunch = {"adult": load_adult, "mammographic_masses": load_mammographic_masses}[dataset]()
    order = np.random.default_rng(2000 + seed).permutation(len(bunch.target))[:POOL]
    domain = bunch.domain.model_copy(update={"approximate_rows": len(order) // 2})
    return bunch.data[order], np.asarray(bunch.target)[order], domain


def run(job: Job, n_models: int = N_MODELS) -> Line:
    """Fit the models, attack each with the others, and pool the rates."""
    started = time.perf_counter()
    X, y, domain = pool(job.dataset, job.seed)
    inside = np.random.default_rng(job.seed).random((n_models, len(y))) < 0.5
    fits = [_fit(job, X, y, domain, inside[m], m) for m in range(n_models)]
    confidence = np.stack([shown for shown, _ in fits])
    strategies = sorted({strategy for _, strategy in fits})
    line: Line = {
        "dataset": job.dataset,
        "model": job.model,
        "epsilon": job.epsilon,
        "delta": job.delta,
        "seed": job.seed,
        "strategy": " or ".join(strategies),
        "shadows": n_models - 1,
        "targets": n_models,
        "members": int(inside.sum()),
        "non_members": int((~inside).sum()),
        "train_accuracy": _right(confidence, inside),
        "test_accuracy": _right(confidence, ~inside),
        "seconds": round(time.perf_counter() - started, 1),
    }
    for name, score in (("online", online_scores), ("offline", offline_scores)):
        line[name] = measured(score(confidence, inside), inside, job.seed)
    if job.epsilon is not None:
        line["auc_bound"] = largest_auc(job.epsilon, job.delta)
        rate = FALSE_POSITIVE_RATE
        line["tpr_bound"] = largest_true_positive_rate(job.epsilon, job.delta, rate)
    return line


def _fit(
    job: Job,
    X: NDArray[np.float64],
    y: NDArray[Any],
    domain: Any,
    inside: NDArray[np.bool_],
    m: int,
) -> tuple[NDArray[np.float64], str]:
    """Log-odds that one model gives to the true class of every record of the pool."""
    model: Any
    if job.epsilon is None:
        # Missing values are allowed in its trees since scikit-learn 1.4.
        model = RandomForestClassifier(100, random_state=m)
    else:
        model = PrivateForestClassifier(epsilon=job.epsilon, delta=job.delta, domain=domain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatedFitWarning)
        warnings.simplefilter("ignore", WeakSignalWarning)
        model.fit(X[inside], y[inside])
    probabilities = model.predict_proba(X)
    own = probabilities[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    own = np.clip(own, _CLIP, 1.0 - _CLIP)
    return np.log(own / (1.0 - own)), getattr(model, "strategy_", "forest")


def _right(confidence: NDArray[np.float64], where: NDArray[np.bool_]) -> float:
    return float((confidence[where] > 0).mean())


Scores = Callable[[NDArray[np.float64], NDArray[np.bool_]], NDArray[np.float64]]


def online_scores(
    confidence: NDArray[np.float64], inside: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Log ratio of two normal densities, of models with and without the record.

    Parameters
    ----------
    confidence : ndarray of float64, shape (n_models, n)
    inside : ndarray of bool, shape (n_models, n)

    Returns
    -------
    ndarray of float64, shape (n_models, n)
        Each model's from the shadows that are left without it; large is a member.
    """
    scores = np.empty_like(confidence)
    for target in range(len(confidence)):
        rest = np.arange(len(confidence)) != target
        shown, members = confidence[rest], inside[rest]
        with_it, spread_with = _normal(shown, members)
        without, spread_without = _normal(shown, ~members)
        scores[target] = norm.logpdf(confidence[target], with_it, spread_with) - norm.logpdf(
            confidence[target], without, spread_without
        )
    return scores


def offline_scores(
    confidence: NDArray[np.float64], inside: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """How far above the models without the record a model's confidence is."""
    scores = np.empty_like(confidence)
    for target in range(len(confidence)):
        rest = np.arange(len(confidence)) != target
        mean, spread = _normal(confidence[rest], ~inside[rest])
        scores[target] = (confidence[target] - mean) / spread
    return scores


def _normal(
    shown: NDArray[np.float64], where: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of every record; variances lean toward that of all records."""
    count = np.maximum(where.sum(axis=0), 1)
    mean = np.where(where, shown, 0.0).sum(axis=0) / count
    squares = (np.where(where, shown - mean, 0.0) ** 2).sum(axis=0)
    pooled = squares.sum() / max(int(where.sum()), 1)
    variance = (squares + _SHRINKAGE * pooled) / (count + _SHRINKAGE)
    return mean, np.sqrt(variance + 1e-6)


def measured(scores: NDArray[np.float64], inside: NDArray[np.bool_], seed: int) -> Line:
    """Area under the curve and true-positive rates, with 95 % intervals.

    Intervals resample whole attacked models: scores of one model depend on one another.
    """
    auc, rate = _rates(scores, inside)
    generator = np.random.default_rng(seed)
    draws = np.array(
        [
            _rates(scores[again], inside[again])
            for again in generator.integers(0, len(scores), (_RESAMPLES, len(scores)))
        ]
    )
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    false_rates = np.logspace(-4, 0, 33)
    return {
        "auc": auc,
        "auc_interval": [low[0], high[0]],
        "tpr": rate,
        "tpr_interval": [low[1], high[1]],
        "curve": [false_rates.tolist(), true_rates(scores, inside, false_rates).tolist()],
    }


def _rates(scores: NDArray[np.float64], inside: NDArray[np.bool_]) -> tuple[float, float]:
    members = int(inside.sum())
    others = inside.size - members
    ranks = rankdata(scores, axis=None).reshape(scores.shape)[inside].sum()
    auc = (ranks - members * (members + 1) / 2) / (members * others)
    return float(auc), float(true_rates(scores, inside, np.array([FALSE_POSITIVE_RATE]))[0])


def true_rates(
    scores: NDArray[np.float64], inside: NDArray[np.bool_], false_rates: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Share of the members above the score that at most a share of the others exceeds."""
    others = np.sort(scores[~inside])[::-1]
    allowed = np.floor(false_rates * others.size + 1e-9).astype(np.int64)
    limits = np.append(others, -np.inf)[allowed]
    members = np.sort(scores[inside])
    return 1.0 - np.searchsorted(members, limits, side="right") / members.size
