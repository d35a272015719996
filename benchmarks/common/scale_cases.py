"""Cases of `scale.py`: each runs in a process of its own and returns what it measured."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from common.scale_data import arrays, domain, encoded, write_files
from common.scale_floor import rates, work_of
from common.scale_machine import measured
from dpforest import BudgetAccountant, MultinomialForestClassifier, PrivateForestClassifier
from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.fit_plan import table_facts
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.trees.multinomial.learner import MultinomialForest
from dpforest.trees.one_shot.learner import OneShotForest
from dpforest.trees.refitted.learner import RefittedForest
from dpforest.trees.refitted.settings import RefittedSettings, RefittedSize
from dpforest.trees.training import train_on

Case = Callable[[], dict[str, Any]]

THREADS = 2
#: A tenth of the rounds that the rule gives: the cost of a round does not change.
ROUNDS = RefittedSize(6, 32, 24)
SIZES = (100_000, 316_000, 1_000_000, 3_160_000, 10_000_000)
LARGEST = 10_000_000
STREAMED = 2_000_000
CSV_ROWS = 500_000


def learner_of(kind: str) -> tuple[Any, LearnerBudget]:
    """A learner and its budget."""
    pure = LearnerBudget(Fraction(1), Fraction(0))
    if kind == "one_shot":
        return OneShotForest(), pure
    if kind == "multinomial":
        return MultinomialForest(), pure
    settings = RefittedSettings(fixed_size=ROUNDS)
    return RefittedForest(settings), LearnerBudget(Fraction(1), Fraction(1, 10**6))


def in_memory(kind: str, n: int) -> dict[str, Any]:
    """Fits on encoded records, with the floor; medians of three below three million records."""
    learner, budget = learner_of(kind)
    table = encoded(n)
    facts = table_facts(DomainEncoder(domain()), domain().approximate_rows)
    plan = learner.plan(facts, budget)

    def fit(some: Any) -> None:
        records = MemoryRecords(some, THREADS)
        with BudgetAccountant._unlimited().open_scope("fit") as scope, records.threads():
            train_on(learner, plan, scope, SeededSource(0), records, facts, lambda: None)

    fit(encoded(20_000))
    result = repeated(lambda: fit(table), 3 if n < 3_000_000 else 1)
    work = work_of(kind, plan)
    result |= {"codes_bytes": table.codes.nbytes, "updates": work.updates, "steps": work.steps}
    own = rates()
    return {**result, "rates": own, "floor_cpu_seconds": work.seconds(n, own)}


def repeated(action: Callable[[], Any], times: int) -> dict[str, Any]:
    """Medians over repeats."""
    runs = []
    for _ in range(times):
        runs.append({})
        with measured(runs[-1]):
            action()
    return {name: float(np.median([run[name] for run in runs])) for name in runs[0]}


def scikit_learn(name: str, n: int) -> dict[str, Any]:
    """The same table with scikit-learn, on as many threads."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

    X, y = arrays(n)
    made = {
        "HistGradientBoosting": HistGradientBoostingClassifier(),
        "RandomForest, 10 trees of depth 8": RandomForestClassifier(
            10, max_depth=8, n_jobs=THREADS
        ),
    }[name]
    return repeated(lambda: made.fit(X, y), 1)


def encoding(n: int) -> dict[str, Any]:
    """From numbers to codes, on one thread."""
    X, y = arrays(n)
    encoder = DomainEncoder(domain())
    encoder.encode(X[:5000], y[:5000])
    return repeated(lambda: encoder.encode(X, y), 3)


def estimator(kind: str) -> Any:
    """A forest by its public name."""
    common = {"epsilon": 1, "domain": domain(STREAMED), "random_state": 0, "n_jobs": THREADS}
    if kind == "multinomial":
        return MultinomialForestClassifier(n_estimators=5, max_depth=6, **common)
    return PrivateForestClassifier(strategy=kind, **common)


def streamed(kind: str, format: str, n: int, memory_limit: int | None) -> dict[str, Any]:
    """A fit from files; without a memory limit the files are read whole, as a frame."""
    import pyarrow  # noqa: F401  (loaded before memory is measured)

    from dpforest.records.streams.passes import StreamedRecords
    from dpforest.streams import CSVStream, ParquetStream

    passes: list[float] = []
    total = StreamedRecords._sum

    def timed(records: Any, query: Any) -> Any:
        start = time.perf_counter()
        found = total(records, query)
        passes.append(time.perf_counter() - start)
        return found

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(n, folder, format)
        stream = {"parquet": ParquetStream, "csv": CSVStream}[format]
        small = arrays(20_000)
        estimator(kind).fit(*small)
        StreamedRecords._sum = timed
        result: dict[str, Any] = {}
        with measured(result):
            if memory_limit is None:
                frame = read_frame(folder, format)
                model = estimator(kind).fit(frame.drop(columns="target"), frame["target"])
            else:
                files = stream(folder, "target", memory_limit=memory_limit)
                model = estimator(kind).fit(files)
        return {**result, "passes": passes, "fingerprint": model.fingerprint_}


def by_auto(source: str, n: int) -> dict[str, Any]:
    """A fit by what auto picks, at epsilon 1 with a delta: an array of float32, or Parquet files.

    Encoding is part of the time, and reading; memory is what the process held at most beyond what
    it held before the fit.
    """
    import pyarrow  # noqa: F401  (loaded before memory is measured)

    from dpforest.streams import ParquetStream

    common = {"epsilon": 1, "delta": 1e-6, "domain": domain(n), "n_jobs": THREADS}
    small = arrays(20_000)
    PrivateForestClassifier(**common).fit(small[0].astype(np.float32), small[1])
    forest, result = PrivateForestClassifier(**common), {}
    if source == "float32":
        X, y = arrays(n)
        X = X.astype(np.float32)
        with measured(result):
            forest.fit(X, y)
    else:
        with tempfile.TemporaryDirectory() as name:
            write_files(n, Path(name), "parquet")
            with measured(result):
                forest.fit(ParquetStream(name, "target", memory_limit=2**31))
    size = forest.plan().details["rounds"]
    return {**result, "rows": n, "strategy": forest.strategy_, "size": size}


def read_frame(folder: Path, format: str) -> Any:
    """The files as one frame of pandas."""
    import pandas as pd

    read = pd.read_parquet if format == "parquet" else pd.read_csv
    return pd.concat([read(path) for path in sorted(folder.glob(f"*.{format}"))])


def cases() -> dict[str, Case]:
    """All cases by name, short ones first."""
    from common import scale_dask

    found: dict[str, Case] = {}
    for n in SIZES:
        for kind in ("one_shot", "refitted", "multinomial"):
            found[f"memory/{kind}/{n}"] = partial(in_memory, kind, n)
    for n in (100_000, 1_000_000):
        found[f"encoding/{n}"] = partial(encoding, n)
        for name in ("HistGradientBoosting", "RandomForest, 10 trees of depth 8"):
            found[f"sklearn/{name}/{n}"] = partial(scikit_learn, name, n)
    for kind in ("one_shot", "multinomial"):
        for limit in (None, 2**31, 0):
            found[f"stream/parquet/{kind}/{STREAMED}/{limit}"] = partial(
                streamed, kind, "parquet", STREAMED, limit
            )
    for source in ("float32", "parquet"):
        found[f"auto/{source}/{LARGEST}"] = partial(by_auto, source, LARGEST)
    for limit in (2**25, 2**26, 2**27):
        found[f"stream/parquet/one_shot/{STREAMED}/{limit}"] = partial(
            streamed, "one_shot", "parquet", STREAMED, limit
        )
    for limit in (None, 2**31, 0):
        found[f"stream/csv/one_shot/{CSV_ROWS}/{limit}"] = partial(
            streamed, "one_shot", "csv", CSV_ROWS, limit
        )
    return {**found, **scale_dask.cases()}
