"""How far the noise of curves at once moves them, beside what could be said without the records.

A minimum of a noisy objective is moved by the noise times the inverse of the records' curvature,
which is secret. Repeated fits of a made-up table show the spread; two laws that need no records say
what standard errors would be:

* of records that lie evenly over the domain, with targets at the model's means;
* of no records at all, the ridges alone.

    python benchmarks/at_once_noise.py               # two minutes; then the section of the page
    python benchmarks/at_once_noise.py --fits 6 --page build/part.md

All noise is seeded, so a run gives the same section again. It goes between the marks of
``docs/explanations.md``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from common.pages import between
from common.tables import REPOSITORY
from threadpoolctl import threadpool_limits

from dpforest import Domain, PrivateForestClassifier, PrivateForestRegressor
from dpforest.decisions import softmax
from dpforest.estimators.noise import standard_errors
from dpforest.mechanisms.objective import Calibration
from dpforest.trees.base import TableFacts
from dpforest.trees.population import made_up
from dpforest.trees.renoised import Renoising

RECORDS = 1500
#: R / D of the rows.
LEVELS = (10, 64, 300)
TASKS = {
    "classes": "two classes",
    "near": "targets near their means",
    "apart": "targets of two values",
}
KINDS, SORTS = "abcdef", "pqrs"
FEATURES: dict[str, Any] = {
    "skewed": (0.0, 1.0), "high": (0.0, 1.0), "evenly": (0.0, 1.0), "kind": list(KINDS),
    "seldom": ["no", "yes"], "sort": list(SORTS),
}  # fmt: skip
SHARES = {False: (0.6, 0.25, 0.1, 0.04, 0.01, 0.0), True: (1 / 6,) * 6}
#: Of an even share: codes with less are rare ones, and those with more frequent ones.
RARE, FREQUENT = 0.2, 0.5
#: Cells of an ordered feature to either side that say how many records lie near one.
NEAR = 16
DRAWS = 20
PAGE = REPOSITORY / "docs" / "explanations.md"
MARKS = "<!-- minimum -->", "<!-- /minimum -->"


def k_norm_like(calibration: Calibration, generator: np.random.Generator) -> np.ndarray:
    """Doubles with about the law of the noise; they protect nobody.

    The largest L1 has a gamma law, and each block lies anywhere within it.
    """
    scale = calibration.noise_step / calibration.noise_exponent
    radius = generator.gamma(calibration.n_columns + 1) * scale
    blocks = [generator.dirichlet(np.ones(width + 1))[:-1] for width in calibration.widths]
    signs = generator.choice([-1.0, 1.0], calibration.n_columns)
    drawn: np.ndarray = radius * signs * np.concatenate(blocks)
    return drawn


class Even(Renoising):
    """Weights that a new linear term moves as it would those of records that lie evenly."""

    def minimum(self, released: np.ndarray, objective: Any) -> np.ndarray:
        """A step of Newton's method from the released weights, over the made-up records."""
        place, values = len(self.sums), released.astype(np.float64)
        pull, hessian = self.at(objective, values * objective.calibration.step)
        self.sums.append(pull)
        if self.generator is None:
            return values
        before = self.before[place]
        linear = k_norm_like(objective.calibration, self.generator)
        linear += 0.0 if before is None else pull - before
        moved: np.ndarray = np.linalg.solve(hessian, linear) / objective.calibration.step
        return values - moved

    def at(self, objective: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient of the losses, and the Hessian of the objective."""
        assert self.population is not None
        losses, weight = objective.losses(self.population.table), self.population.weight
        gradient, rest = np.zeros(weights.size), np.zeros(weights.size)
        losses.add_gradient(weights, gradient, rest)
        _, curvatures = losses.slopes(losses.scores(weights))
        hessian = weight * losses.gram(curvatures, weights.size)
        return weight * gradient, hessian + np.diag(objective.calibration.ridges)


class Alone(Even):
    """The same of no records: the ridges alone hold the weights."""

    def at(self, objective: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """No gradient, and the ridges."""
        return np.zeros(weights.size), np.diag(objective.calibration.ridges)


@dataclass(frozen=True)
class Task:
    """A made-up table, and where its codes and records are rare.

    Attributes
    ----------
    fit : callable
        From a seed to a fitted forest.
    X : list
    rare : ndarray of bool
        Records that hold a rare category.
    """

    fit: Callable[[int], Any]
    X: list[list[Any]]
    rare: np.ndarray


def table(even: bool) -> tuple[list[list[Any]], np.ndarray, np.ndarray]:
    """Records, the share of the second class of each, and whether it holds a rare category."""
    generator = np.random.default_rng(0)
    kind = generator.choice(len(KINDS), RECORDS, p=SHARES[even])
    seldom = generator.random(RECORDS) < (0.5 if even else 0.02)
    skewed = generator.random(RECORDS) ** (1 if even else 4)
    high = generator.random(RECORDS) if even else generator.beta(8, 2, RECORDS)
    evenly, sort = generator.random(RECORDS), generator.integers(0, len(SORTS), RECORDS)
    score = -0.6 + 1.5 * (skewed - 0.5) + 0.8 * (kind == 1) - 0.5 * (kind == 0)
    score += 0.8 * seldom + evenly - 0.5
    words = np.array(list(KINDS))[kind], np.where(seldom, "yes", "no"), np.array(list(SORTS))[sort]
    X = [list(row) for row in zip(skewed, high, evenly, *(w.tolist() for w in words), strict=True)]
    return X, 1.0 / (1.0 + np.exp(-score)), (kind >= 3) | seldom


def task_of(name: str, even: bool, level: float) -> Task:
    """The table with outputs, to be fitted at R / D = ``level`` in pure epsilon."""
    X, shares, rare = table(even)
    generator = np.random.default_rng(1)
    y: np.ndarray = generator.random(RECORDS) < shares
    if name != "classes":
        noise = generator.uniform(-0.1, 0.1, RECORDS)
        y = np.clip(shares + noise, 0.0, 1.0) if name == "near" else y.astype(float)
    kind: Any = PrivateForestClassifier if name == "classes" else PrivateForestRegressor
    output = {"classes": [False, True]} if name == "classes" else {"target": (0, 1)}
    domain = Domain(features=FEATURES, approximate_rows=RECORDS, **output)
    asked = {"epsilon": level * len(FEATURES) / RECORDS, "domain": domain, "strategy": "additive"}
    return Task(lambda seed: kind(**asked, random_state=seed).fit(X, y), X, rare)


def curves(model: Any, facts: TableFacts) -> np.ndarray:
    """Means at every code of every feature, in one row."""
    return np.concatenate(
        [softmax(model.partial_scores(f, facts))[:, 1] for f in range(facts.n_features)]
    )


def draws_of(forest: Any, law: type[Renoising], seed: int) -> list[Any]:
    """Models with other noise, as a law has them."""
    transcript, generator = forest._transcript, np.random.default_rng(seed)
    population = made_up(forest.model_, transcript.facts)
    before = law(transcript, population)
    before.model()
    return [law(transcript, population, generator, before.sums).model() for _ in range(DRAWS)]


def fullness(codes: np.ndarray, facts: TableFacts) -> np.ndarray:
    """Records at each code, or near it, in even shares; nan of what nobody declared."""
    found = []
    for feature in range(facts.n_features):
        n_codes = int(facts.n_codes[feature])
        counts = np.bincount(codes[:, feature], minlength=n_codes) * n_codes / codes.shape[0]
        if facts.ordered[feature]:
            window = np.ones(2 * NEAR + 1)
            beside = np.convolve(np.ones(n_codes), window, "same")
            counts = np.convolve(counts, window, "same") / beside
        unknown = facts.unknown_code(feature)
        if unknown >= 0:
            counts = counts * (n_codes - 1) / n_codes
            counts[unknown] = np.nan
        found.append(counts)
    return np.concatenate(found)


def cell(task: Task, fits: int) -> dict[str, tuple[float, float]]:
    """Median of claimed over true errors, and coverage of 1.96 to either side, by figure.

    Of curves at frequent and at rare codes, importances, and predictions of all records and of
    those with a rare category.
    """
    figures: dict[str, list[np.ndarray]] = {}
    for seed in range(fits):
        forest = task.fit(seed)
        facts, codes = forest._transcript.facts, forest._coded(task.X)
        of = {
            "curves": lambda model, facts=facts: curves(model, facts),
            "importances": lambda model: model.feature_importances(),
            "predictions": lambda model, codes=codes: softmax(model.log_odds(codes))[:, 1],
        }
        laws = {law.__name__: draws_of(forest, law, seed) for law in (Even, Alone)}
        for what, read in of.items():
            figures.setdefault(what, []).append(read(forest.model_))
            for law, draws in laws.items():
                errors = standard_errors(read, forest.model_, draws)
                figures.setdefault(f"{what} {law}", []).append(errors)
    full, every = fullness(codes, facts), np.ones(len(FEATURES), dtype=bool)
    parts = {
        "frequent": ("curves", full >= FREQUENT), "rare": ("curves", full < RARE),
        "importances": ("importances", every), "records": ("predictions", task.rare | True),
        "rare records": ("predictions", task.rare),
    }  # fmt: skip
    return {
        f"{name} {law}": _compared(figures, what, law, part)
        for (name, (what, part)), law in product(parts.items(), ("Even", "Alone"))
    }


def _compared(
    figures: dict[str, list[np.ndarray]], what: str, law: str, part: np.ndarray
) -> tuple[float, float]:
    """Median of claimed over true errors of a part of the figures, and their coverage."""
    if not part.any():
        return np.nan, np.nan
    own, errors = np.array(figures[what])[:, part], np.array(figures[f"{what} {law}"])[:, part]
    away = np.abs(own - own.mean(axis=0)) / (1.0 - 1.0 / len(own)) ** 0.5
    claimed = np.sqrt(np.nanmean(errors**2, axis=0))
    return float(np.median(claimed / own.std(axis=0, ddof=1))), float(
        (away <= 1.96 * errors).mean()
    )


def report(rows: Iterable[tuple[str, bool, float, dict[str, tuple[float, float]]]]) -> str:
    """The section's table."""
    names = "frequent", "rare", "importances", "records", "rare records"
    lines = [
        "| target | records lie | R / D | curves, frequent values | curves, rare values "
        "| importances | predictions | predictions, rare categories "
        "| no records: curves, frequent values |",
        "|---" * 9 + "|",
    ]
    for name, even, level, found in rows:
        cells = [_text(found[f"{one} Even"]) for one in names] + [_text(found["frequent Alone"])]
        lies = "evenly" if even else "unevenly"
        lines.append(f"| {TASKS[name]} | {lies} | {level:g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _text(pair: tuple[float, float]) -> str:
    ratio, share = pair
    return "none" if np.isnan(ratio) else f"{ratio:.2f} ({100 * share:.0f} %)"


def measured(
    fits: int, levels: Sequence[float] = LEVELS
) -> Iterable[tuple[str, bool, float, dict[str, tuple[float, float]]]]:
    """Every row."""
    for name, even, level in product(TASKS, (True, False), levels):
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            yield name, even, level, cell(task_of(name, even, level), fits)


def rewritten(page: str, section: str) -> str:
    """A page with the section between its marks."""
    return between(page, MARKS, section)


def main() -> None:
    """Measure, and write the section."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--page", type=Path, default=PAGE)
    wanted = parser.parse_args()
    section = report(measured(wanted.fits))
    note = f"{RECORDS:,} records, six features, ε = 6 R/D / {RECORDS:,}; {wanted.fits} fits a row."
    text = wanted.page.read_text(encoding="utf-8") if wanted.page.exists() else "".join(MARKS)
    wanted.page.write_text(rewritten(text, f"{section}\n\n{note}"), encoding="utf-8")


if __name__ == "__main__":
    main()
