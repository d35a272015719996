"""Fits of tables with many numeric features: seconds of the default, beside scikit-learn's forest.

The tables of ``speed_tables.py`` have few numeric features or coarse ones. Here are scikit-learn's
digits, the same with every pixel eight times and noise of its own, and made-up tables whose values
lie evenly between their bounds, so that every cut parts the records in a way of its own: the worst
that rules can be given. Processor seconds of one thread, encoding included, after compilation;
each the least of three fits.

    python benchmarks/wide_tables.py                 # five minutes; then the table of the page
    python benchmarks/wide_tables.py --only digits --page build/part.md

The table goes between the marks of ``docs/speed.md``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common.pages import between
from common.tables import REPOSITORY
from threadpoolctl import threadpool_limits

from dpforest import Domain, NumericFeature, PrivateForestClassifier

PAGE = REPOSITORY / "docs" / "speed.md"
MARKS = "<!-- results of benchmarks/wide_tables.py -->", "<!-- end of wide tables -->"
EPSILONS = 0.5, 1.0, 5.0
DELTAS = {"pure": 0.0, "delta": 1e-6}
#: Records, features and classes of tables whose values lie evenly.
EVEN = (
    (200, 5000, 2), (500, 400, 5), (1500, 600, 2), (2000, 200, 10), (2500, 500, 2),
    (5000, 60, 10), (8000, 400, 2), (8000, 600, 10),
)  # fmt: skip
#: Times that a pixel is repeated, each with noise of its own.
TIMES = 8
#: Records that the model depends on: more features than these say nothing.
TELLING = 5
TURNS = 3
MADE_UP = "made up"


@dataclass(frozen=True)
class Wide:
    """A table of numeric features that all have the same bounds."""

    name: str
    records: np.ndarray
    labels: np.ndarray
    bounds: tuple[float, float]

    @property
    def domain(self) -> Domain:
        """With its number of records declared."""
        lower, upper = self.bounds
        features = [
            NumericFeature(name=f"x{i}", lower=lower, upper=upper)
            for i in range(self.records.shape[1])
        ]
        classes = np.unique(self.labels).tolist()
        return Domain(features=features, classes=classes, approximate_rows=len(self.records))


def digits(times: int) -> Wide:
    """Pictures of 8 by 8 pixels; with noise where pixels come more than once."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    if times == 1:
        return Wide("digits", pixels, labels, (0.0, 16.0))
    noise = np.random.default_rng(0).normal(size=(len(pixels), times * pixels.shape[1]))
    repeated = np.repeat(pixels, times, axis=1) + noise
    return Wide(f"digits, {times} times with noise", repeated, labels, (-5.0, 21.0))


def even(n_records: int, n_features: int, n_classes: int) -> Wide:
    """Values that lie evenly, and classes that are parts of a noisy sum of a few features."""
    generator = np.random.default_rng(0)
    records = generator.random((n_records, n_features))
    sums = TELLING * records[:, :TELLING].sum(axis=1) + generator.logistic(size=n_records)
    ends = np.quantile(sums, np.arange(1, n_classes) / n_classes)
    return Wide(MADE_UP, records, np.searchsorted(ends, sums), (0.0, 1.0))


def tables() -> Iterator[Wide]:
    """All of the page."""
    yield digits(1)
    yield digits(TIMES)
    for shape in EVEN:
        yield even(*shape)


def seconds_of(fit: Callable[[], Any]) -> float:
    """Least processor time of a few fits, after one that compiles."""
    fit()
    spent = []
    for _ in range(TURNS):
        started = time.process_time()
        fit()
        spent.append(time.process_time() - started)
    return min(spent)


def row(table: Wide, delta: float, forest: float) -> str:
    """Cells of a table's fits: what was picked at each epsilon, and its seconds."""
    cells = []
    for epsilon in EPSILONS:
        model = PrivateForestClassifier(epsilon=epsilon, delta=delta, domain=table.domain, n_jobs=1)
        spent = seconds_of(lambda model=model: model.fit(table.records, table.labels))
        cells.append(f"{model.strategy_} {spent:.2f}")
    n_records, n_features = table.records.shape
    budget = next(name for name, value in DELTAS.items() if value == delta)
    shape = f"{n_records:,} × {n_features:,}"
    first = [table.name, shape, str(len(np.unique(table.labels))), budget]
    return "| " + " | ".join([*first, *cells, f"{forest:.2f}"]) + " |"


def report(only: list[str] | None) -> str:
    """The table, a row a table and budget."""
    from sklearn.ensemble import RandomForestClassifier

    heads = ["table", "shape", "classes", "budget"]
    heads += [f"ε = {epsilon:g}: picked, seconds" for epsilon in EPSILONS] + ["forest"]
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    for table in tables():
        if only is not None and table.name not in only:
            continue
        rival = RandomForestClassifier(100, n_jobs=1)
        forest = seconds_of(lambda table=table, rival=rival: rival.fit(table.records, table.labels))
        for delta in DELTAS.values():
            lines.append(row(table, delta, forest))
            print(lines[-1], flush=True)
    return "\n".join([*lines, "", within(lines[2:])])


def within(rows: list[str]) -> str:
    """Number of fits of made-up and of other tables that take a second at most."""
    fits: dict[str, list[float]] = {"digits": [], "made-up tables": []}
    for cells in (one.strip("| ").split(" | ") for one in rows):
        kind = "made-up tables" if cells[0] == MADE_UP else "digits"
        fits[kind] += [float(cell.split()[1]) for cell in cells[4:-1]]
    counts = [f"{k} {sum(s <= 1 for s in spent)} of {len(spent)}" for k, spent in fits.items()]
    return f"Fits within a second: {'; '.join(counts)}."


def put(page: Path, text: str) -> None:
    """Write between the marks of the page, or a page of its own."""
    old = page.read_text(encoding="utf-8") if page.exists() else "".join(MARKS)
    page.write_text(between(old, MARKS, text), encoding="utf-8")


def main() -> None:
    """Read the command line."""
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--only", nargs="*", help="names of tables; then give a --page, too")
    parser.add_argument("--page", type=Path, default=PAGE)
    asked = parser.parse_args()
    if asked.only is not None and asked.page == PAGE:
        parser.error("a part goes to a --page of its own")
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        put(asked.page, report(asked.only))


if __name__ == "__main__":
    main()
