"""Small seeded fits that together go through every strategy, task, currency and way of reading.

They speak to the package by its public names alone, so that they can be run on any version of it:
here for digests of what is released, and by ``benchmarks/laws.py`` for the laws of two versions.
All tables come from fixed arithmetic.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import dpforest
from dpforest.streams import BatchStream, CSVStream

#: Strategies of the private forests; `MultinomialForestClassifier` is named apart.
STRATEGIES = "rules", "one_shot", "refitted", "boosted", "additive", "auto"
PUBLISHED = "MultinomialForestClassifier"
#: Those that look at families of trees, which grow quickly with the features.
_OF_FAMILIES = ("rules", "auto")
N_CLASSES = {"two": 2, "three": 3, "five": 5, "thirteen": 13}
TASKS = ("two", "three", "target")
DELTA = 1e-6
#: Batches of a stream, files of a CSV stream and partitions of a Dask array.
PARTS = 3
#: What a small table for its budget is told by; it says nothing of what is released.
_TOLD = (
    dpforest.WeakSignalWarning,
    dpforest.RepeatedFitWarning,
    dpforest.PrivacyLeakWarning,
)

_FEATURES: dict[str, dict[str, Any]] = {
    "one": {"a": (0, 3)},
    "few": {"a": (0, 3), "c": ["0", "1", "2"]},
    "wide": {
        "a": {"lower": 0, "upper": 3, "missing": True},
        "b": (0.0, 10.0),
        "c": ["0", "1", "2"],
    },
    # Of a list that tells an order.
    "listed": {"a": (0, 3), "d": ["low", "some", "much", "most"]},
}
_ROWS = {"one": 24, "few": 30, "wide": 60, "listed": 40}


@dataclass(frozen=True)
class Table:
    """Records and public facts.

    Attributes
    ----------
    X : ndarray of float64, shape (n, n_features)
        A category is its position; "wide" has missing and undeclared values.
    y : ndarray, shape (n,)
    features : dict
        As a `Domain` takes them.
    """

    X: np.ndarray
    y: np.ndarray
    features: dict[str, Any]


def _spread(places: np.ndarray, salt: int, below: int) -> np.ndarray:
    """Whole numbers in no order that anyone would see."""
    mixed = ((places + 1) * 2654435761 + salt * 40503) % 2**32
    return (mixed ^ (mixed >> 15)) * 2246822519 % 2**32 * below >> 32


def table_of(name: str, task: str) -> Table:
    """One of the tables with the outputs of a task."""
    places = np.arange(_ROWS[name], dtype=np.int64)
    a, c = _spread(places, 1, 4), _spread(places, 2, 3)
    b = _spread(places, 3, 10_001) / 1000.0
    noise = _spread(places, 4, 5) == 0
    y: np.ndarray
    if task == "target":
        y = np.round((a + (b > 4.0) + noise) / 5.0, 3)
    else:
        y = ((a > 1) + (c == 0) * noise + (b > 7.0) * (N_CLASSES[task] > 2)) % N_CLASSES[task]
    d = _spread(places, 5, 4)
    columns = {
        name: part.astype(np.float64) for name, part in zip("abcd", (a, b, c, d), strict=True)
    }
    if name == "wide":
        columns["a"][places % 11 == 3] = np.nan  # missing, and declared so
        columns["b"][places % 17 == 5] = np.nan  # missing, and not declared
        columns["b"][places % 19 == 7] = 12.5  # out of bounds
        columns["c"][places % 13 == 6] = 9.0  # no category
    X = np.column_stack([columns[feature] for feature in _FEATURES[name]])
    return Table(X, y, _FEATURES[name])


def points_of(name: str) -> np.ndarray:
    """Where a model on a table of this name is asked; every cell but those of b."""
    values = [np.arange(4.0), [0.5, 3.0, 7.25, 9.75], np.arange(3.0), np.arange(4.0)]
    grid = np.meshgrid(*values, indexing="ij")
    columns = {name: part.ravel() for name, part in zip("abcd", grid, strict=True)}
    points = np.column_stack([columns[feature] for feature in _FEATURES[name]])
    return np.unique(points, axis=0)


@dataclass(frozen=True)
class Case:
    """One fit.

    Attributes
    ----------
    name : str
        Whole, as tests and results are known by it.
    estimator : str
        Public name of its class; for Dask, where `reading` says so, of that without "Dask".
    task : str
    parameters : dict
    table : str
    rows : float or None
        Declared number of records; None has it bought.
    reading : {"memory", "batches", "csv", "dask"}
    shared : bool
        Whether it is charged to an accountant of others.
    declared : bool
        Whether there is a domain.
    lean : str or None
        Table on which the law of this case is looked at; None where another case has that law.
    """

    name: str
    estimator: str
    task: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    table: str = "few"
    rows: float | None = None
    reading: str = "memory"
    shared: bool = False
    declared: bool = True
    lean: str | None = None

    @property
    def private(self) -> bool:
        """Whether a budget is spent."""
        return "Private" in self.estimator or self.estimator == PUBLISHED

    @property
    def needs(self) -> tuple[str, ...]:
        """Packages without which this fit is not made, or another one is."""
        reading = {"csv": ("pyarrow", "pandas"), "dask": ("dask.array", "distributed")}
        # With it a delta is worth more rho: docs/accounting.md.
        converting = ("dp_accounting",) if self.parameters.get("delta") else ()
        return (*reading.get(self.reading, ()), *converting)

    @property
    def seed(self) -> int:
        """Of the fit whose digest is stored; another for each case."""
        return crc32(self.name.encode())

    def fit(self, random_state: Any = None) -> Any:
        """Fit with the case's seed or another."""
        table = table_of(self.table, self.task)
        made = self._estimator(table, self.seed if random_state is None else random_state)
        with warnings.catch_warnings(), _presented(self.reading, table) as records:
            for kind in _TOLD:
                warnings.simplefilter("ignore", kind)
            return made.fit(*records)

    def predictions(self, model: Any) -> np.ndarray:
        """Probabilities or means at fixed points."""
        points = points_of(self.table)
        with warnings.catch_warnings():
            # Files have names of columns, points have none.
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            target = self.task == "target"
            predicted = model.predict(points) if target else model.predict_proba(points)
        return np.asarray(predicted, dtype=np.float64)

    def on_lean_table(self) -> Case:
        """The same fit on its lean table."""
        return replace(self, table=self.lean or self.table)

    def _estimator(self, table: Table, random_state: Any) -> Any:
        home: Any = dpforest
        name = self.estimator
        if self.reading == "dask":
            from dpforest import dask as home

            name = f"Dask{name}"
        parameters = {**self.parameters, "random_state": random_state}
        if self.private:
            parameters["domain"] = self._domain(table) if self.declared else None
        if self.shared:
            epsilon, delta = parameters["epsilon"], parameters.get("delta", 0)
            parameters["accountant"] = dpforest.BudgetAccountant(2 * epsilon, 2 * delta)
        return getattr(home, name)(**parameters)

    def _domain(self, table: Table) -> dpforest.Domain:
        public: dict[str, Any] = {"features": table.features, "approximate_rows": self.rows}
        if self.task == "target":
            return dpforest.Domain(**public, target=(0.0, 1.0))
        return dpforest.Domain(**public, classes=list(range(N_CLASSES[self.task])))


@contextmanager
def _presented(reading: str, table: Table) -> Iterator[tuple[Any, ...]]:
    """What a fit is given."""
    X, y = table.X, table.y
    ends = [len(y) * (part + 1) // PARTS for part in range(PARTS)]
    cuts = list(zip([0, *ends], ends, strict=False))
    if reading == "batches":
        yield (BatchStream([(X[a:b], y[a:b]) for a, b in cuts], memory_limit=0),)
    elif reading == "csv":
        with tempfile.TemporaryDirectory() as folder:
            paths = [_written(Path(folder) / f"{a}.csv", table, a, b) for a, b in cuts]
            yield (CSVStream(paths, "target", memory_limit=0),)
    elif reading == "dask":
        import dask.array as da

        sizes = tuple(b - a for a, b in cuts)
        yield da.from_array(X, chunks=(sizes, X.shape[1])), da.from_array(y, chunks=(sizes,))
    else:
        yield X, y


def _written(path: Path, table: Table, start: int, stop: int) -> Path:
    """A CSV file of some records; whole numbers without a point, as categories are."""
    header = ",".join([*table.features, "target"])
    lines = [
        ",".join("" if np.isnan(cell) else f"{cell:g}" for cell in (*row, label))
        for row, label in zip(table.X[start:stop], table.y[start:stop], strict=True)
    ]
    path.write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    return path


# -- the list ------------------------------------------------------------------------------------


def _private(strategy: str, task: str, name: str, **options: Any) -> Case:
    """A fit of a private forest; options that are no field of a case are parameters."""
    fields = {key: options.pop(key) for key in ("rows", "reading", "shared", "lean", "table")
              if key in options}  # fmt: skip
    fields.setdefault("table", "one" if strategy in _OF_FAMILIES else "few")
    kind = "PrivateForestRegressor" if task == "target" else "PrivateForestClassifier"
    parameters = {"epsilon": 4, "strategy": strategy, **options}
    return Case(f"{strategy} {task} {name}", kind, task, parameters, **fields)


def _declared_cases() -> Iterator[Case]:
    """Every strategy, task and currency, with the number of records declared."""
    for task in TASKS:
        for strategy in STRATEGIES:
            lean = None if strategy == "auto" else "one" if strategy in _OF_FAMILIES else "few"
            yield _private(strategy, task, "epsilon", rows=200, lean=lean)
            # Rules spend the pure epsilon with a delta too.
            own = lean if strategy in ("one_shot", "refitted") else None
            yield _private(strategy, task, "delta", rows=200, delta=DELTA, lean=own)


def _budget_cases() -> Iterator[Case]:
    """Numbers that are bought, budgets that are shared, owners of several records."""
    for strategy in STRATEGIES:
        lean = {"rules": "one", "one_shot": "few"}.get(strategy)
        yield _private(strategy, "two", "bought", delta=DELTA, lean=lean)
        yield _private(strategy, "target", "bought", delta=DELTA)
        yield _private(strategy, "two", "shared", rows=200, delta=DELTA, shared=True)
        yield _private(strategy, "three", "bought, shared", delta=DELTA, shared=True)
        yield _private(strategy, "two", "unit 3", rows=200, delta=DELTA, max_records_per_unit=3)
        yield _private(strategy, "target", "hopeless", rows=2, delta=DELTA, epsilon=1,
                       lean="few" if strategy == "one_shot" else None)  # fmt: skip


def _size_cases() -> Iterator[Case]:
    """So many declared records that all is released that can be; missing and unknown cells."""
    ways: dict[str, Any] = {"table": "wide", "rows": 1e4, "epsilon": 20}
    for task in TASKS:
        yield _private("one_shot", task, "many", **ways)
    yield _private("rules", "two", "many", **ways)
    # Of many classes labels are trusted by their number, and counts do not overrule them.
    yield _private("rules", "five", "not counted", rows=20)
    yield _private("rules", "five", "counted", rows=200)
    # Five stages, and six of smaller families.
    for task in ("five", "thirteen"):
        yield _private("rules", task, "many", **ways)
    for strategy in ("rules", "one_shot", "refitted"):
        yield _private(strategy, "two", "listed", table="listed", rows=200)
    for task in ("two", "target"):
        yield _private("refitted", task, "many", **ways, delta=DELTA)
        yield _private("refitted", task, "many, pure", **ways)
        yield _private("boosted", task, "many", **ways, delta=DELTA)
        yield _private("boosted", task, "many, pure", **ways)
        yield _private("additive", task, "many", **ways, delta=DELTA)
        yield _private("additive", task, "many, pure", **ways)
    yield _private("boosted", "three", "many, pure", **ways)
    yield _private("additive", "three", "many, pure", **ways)
    # To certify so many rounds takes long; what is charged to an accountant of others is not.
    yield _private("refitted", "three", "many", table="wide", rows=2000, epsilon=10, delta=DELTA,
                   shared=True)  # fmt: skip
    # The linear start and the quantiles of a refitted forest, on a table where that is quick.
    yield _private("refitted", "two", "start", rows=3000, epsilon=8, delta=DELTA, lean="one")
    yield _private("one_shot", "three", "calibrated", rows=1e4, epsilon=20, lean="few")


def _reading_cases() -> Iterator[Case]:
    """Streams, Dask and threads."""
    for reading in ("batches", "csv", "dask"):
        ways: dict[str, Any] = {"reading": reading, "table": "wide"}
        yield _private("one_shot", "three", reading, rows=200, **ways)
        yield _private("refitted", "target", reading, rows=200, delta=DELTA, reading=reading)
        yield _private("boosted", "three", reading, rows=200, delta=DELTA, **ways)
        yield _private("additive", "three", reading, rows=200, delta=DELTA, **ways)
        yield _private("auto", "two", reading, rows=200, delta=DELTA, shared=True, **ways)
        yield _published("two", reading, reading=reading)
    for strategy in STRATEGIES[:-1]:
        yield _private(strategy, "two", "two threads", rows=200, delta=DELTA, n_jobs=2)
    yield _published("two", "two threads", n_jobs=2)


def _published(task: str, name: str, **options: Any) -> Case:
    fields = {key: options.pop(key) for key in ("reading", "shared", "lean", "table", "declared")
              if key in options}  # fmt: skip
    parameters = {"epsilon": 2, "n_estimators": 2, "max_depth": 2, **options}
    return Case(f"{PUBLISHED} {task} {name}", PUBLISHED, task, parameters, **fields)


def _published_cases() -> Iterator[Case]:
    """Every criterion, draw, choice, grid, leaf and allocation."""
    yield _published("two", "epsilon", lean="few")
    yield _published("three", "delta", delta=DELTA, lean="few")
    yield _published("three", "wide", delta=DELTA, table="wide", n_estimators=5, max_depth=4)
    for criterion in ("majority_count", "gini_decrease", "entropy_decrease"):
        yield _published("two", criterion, criterion=criterion, table="wide",
                         lean="few" if criterion == "majority_count" else None)  # fmt: skip
    lattice: dict[str, Any] = {"thresholds": "lattice", "table": "wide"}
    yield _published("two", "lattice", lean="few", **lattice)
    yield _published("two", "lattice, majority_count", criterion="majority_count", **lattice)
    for leaves in ("label", "count_label", "count_label_permute_and_flip"):
        yield _published("three", f"leaves {leaves}", leaves=leaves, lean="few")
    yield _published("two", "permute and flip", selection="permute_and_flip", lean="few")
    yield _published("two", "joint", choice="joint", table="wide", lean="few")
    yield _published("two", "joint, permute and flip", choice="joint", table="wide",
                     selection="permute_and_flip", lean="few")  # fmt: skip
    yield _published("two", "partition", partition_rate=1, lean="few")
    yield _published("two", "partition, rho", partition_rate=0.5, delta=DELTA)
    yield _published("two", "per level", allocation="per_level", partition_rate=1, max_depth=3)
    yield _published("two", "as published", criterion="gini_decrease", partition_rate=1,
                     leaves="label", allocation="theorem2", lean="few")  # fmt: skip
    yield _published("three", "unit 3", max_records_per_unit=3)
    yield _published("two", "shared", delta=DELTA, shared=True)
    yield _published("two", "no domain", declared=False)


def _consistent_cases() -> Iterator[Case]:
    """Forests that claim no privacy."""
    ways: list[tuple[str, dict[str, Any]]] = [
        ("MRF", {}),
        ("MRF", {"records": "bernoulli", "B3": 2.0, "enforce_leaf_size": True}),
        ("MRF2019", {}),
        ("DMRF", {"categorical_features": [1], "categorical_splits": "ordered"}),
        ("BRF", {"categorical_features": [1], "max_depth": 2}),
        ("Denil14", {"redraw": False}),
        ("SafeBayesianForest", {"effective_sample_size": "bma"}),
        ("SafeBayesianForest", {}),
    ]
    for kind, parameters in ways:
        parameters = {"n_estimators": 4, **parameters}
        yield _consistent(f"{kind}Classifier", "three", parameters)
        if kind in ("MRF2019", "DMRF", "BRF"):
            yield _consistent(f"{kind}Regressor", "target", parameters)
    yield _consistent("MRFClassifier", "two", {"n_estimators": 4, "n_jobs": 2})


def _consistent(kind: str, task: str, parameters: dict[str, Any]) -> Case:
    options = ", ".join(f"{key} {value}" for key, value in parameters.items())
    return Case(f"{kind} {task} {options}", kind, task, parameters)


CASES: tuple[Case, ...] = (
    *_declared_cases(),
    *_budget_cases(),
    *_size_cases(),
    *_reading_cases(),
    *_published_cases(),
    *_consistent_cases(),
)
