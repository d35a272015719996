"""One fit whose gain over the best constant is held against what `plan` promised of it.

What it gains is accuracy less the share of the most frequent class among the test records, or R²
of the test records.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dpforest
from common.models import DELTA, rounded_rows
from common.regression_tables import load_regression_table, random_split, regression_tables
from common.results import Line
from common.sources import Sources
from common.tables import classification_tables, load_table, stratified_split
from dpforest.estimators.claimed_gain import claimed_gain
from dpforest.estimators.fit_plan import table_facts

DELTAS = {"pure": 0.0, "delta=1e-6": DELTA}
#: Ends the name of a model whose labels or targets are dealt anew: features say nothing of them.
SHUFFLED = ", shuffled"
#: What a fit depends on. Not the words and figures of forecasts, which no fit goes by: they are
#: made from these lines.
SOURCES = Sources(
    (
        "common.forecast_fits:measured",
        "dpforest.domain.encoder",
        "dpforest.estimators.fit_plan",
        "dpforest.estimators.target_range",
        "dpforest.estimators.claimed_gain",
        "dpforest.trees.strategies",
        "dpforest.trees.training",
    ),
    tuple(f"dpforest/estimators/{name}.py" for name in ("classifier", "planning", "regressor")),
)


@dataclass(frozen=True)
class Job:
    """One fit."""

    dataset: str
    task: str
    model: str
    epsilon: float
    seed: int

    @property
    def is_shuffled(self) -> bool:
        """Whether labels are dealt anew."""
        return self.model.endswith(SHUFFLED)

    @property
    def key(self) -> tuple[Any, ...]:
        """What its line is known by."""
        return self.dataset, self.model, self.epsilon, self.seed


def forest_of(job: Job) -> Any:
    """The forest of a fit, without its domain."""
    kinds = (dpforest.PrivateForestClassifier, dpforest.PrivateForestRegressor)
    strategy, _, delta = job.model.removesuffix(SHUFFLED).partition(", ")
    given = {"epsilon": job.epsilon, "delta": DELTAS[delta], "strategy": strategy}
    return kinds[job.task == "regression"](**given)


def measured(job: Job, forest: Any, folder: Path) -> Line:
    """What one fit gains over the best constant of the test records."""
    if job.task == "regression":
        table, draw = load_regression_table(folder, job.dataset), random_split
    else:
        table, draw = load_table(folder, job.dataset), stratified_split
    split: Any = draw(table, job.seed)
    rows, X, y = rounded_rows(split.train.size), table.X, table.y
    if job.is_shuffled:
        y = np.random.default_rng(job.seed).permutation(y)
    forest.set_params(domain=table.domain.model_copy(update={"approximate_rows": rows}))
    started = time.perf_counter()
    forest.fit(X[split.train], y[split.train])
    seconds = time.perf_counter() - started
    gain = gained(job.task, y[split.test], forest.predict(X[split.test]))
    told = claimed_gain(forest.model_, table_facts(forest._encoder_, float(rows)))
    return gain | {"rows": rows, "n_test": split.test.size, "strategy": forest.strategy_,
                   "told": told, "seconds": round(seconds, 3)}  # fmt: skip


def gained(task: str, y: np.ndarray, predicted: np.ndarray) -> Line:
    """Accuracy less the largest share, or R²; and that share, or the deviation of targets."""
    if task == "regression":
        around = float(np.square(y - y.mean()).mean())
        return {"gain": 1.0 - float(np.square(y - predicted).mean()) / around, "constant": around}
    constant = float(np.bincount(y).max() / y.size)
    return {"gain": float(np.mean(predicted.astype(int) == y)) - constant, "constant": constant}


def tables_of(folder: Path) -> dict[str, str]:
    """Tasks of all tables, short ones first; of long ones their part."""
    classes = classification_tables(folder)
    rows = {name: one.n_rows for name, one in classes.items() if not one.is_long}
    rows |= regression_tables(folder)
    by_size = sorted(rows, key=lambda name: (rows[name], name))
    return {name: "classification" if name in classes else "regression" for name in by_size}
