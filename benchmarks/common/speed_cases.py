"""Tables of the speed benchmark as codes, the fits that are timed on them, and what each must do.

Everybody gets the same codes: ours as they are (encoding is a line of its own), scikit-learn's
forests as float32, which is what they work on, so that nobody pays for a conversion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dpforest import CategoricalFeature, Domain, NumericFeature
from dpforest import MultinomialForestClassifier as Multinomial
from dpforest import PrivateForestClassifier as Private
from dpforest.checks import check_n_jobs
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.estimators import fitting
from dpforest.records.base import MemoryRecords
from dpforest.records.table import Table

TREES, DEPTH = 100, 8
#: Rows of the small tables: the training part of adult.
ROWS = 36_631
#: What a core of a plain machine does in a second: numbers added to a cell or looked up, and steps
#: of records down a tree.
UPDATES, STEPS = 1.35e9, 4e8
#: Features of a tree, on average: of the one-shot forest, and of candidates of the refitted one.
ONE_SHOT_FEATURES, CANDIDATE_FEATURES = 3.0, 4.25


@dataclass(frozen=True)
class Coded:
    """A table as codes, with a domain of those codes.

    Attributes
    ----------
    raw : tuple of (X, y, Domain) or None
        What it was encoded from, for the line on encoding and for prediction.
    frame : tuple of (X, y) or None
        The same as a data frame.
    """

    name: str
    codes: np.ndarray
    labels: np.ndarray
    domain: Domain
    n_codes: np.ndarray
    ordered: np.ndarray
    raw: tuple[Any, Any, Domain] | None = None
    frame: tuple[Any, Any] | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.domain.classes.labels)

    @property
    def plain(self) -> np.ndarray:
        """What scikit-learn gets: the codes, or for continuous values the values, as float32."""
        values = self.raw[0] if self.name == "continuous" and self.raw else self.codes
        return np.ascontiguousarray(values, dtype=np.float32)

    def records(self, n_jobs: int | None) -> MemoryRecords:
        """The table as a fit takes it."""
        matrix = EncodedMatrix(self.codes, self.n_codes, self.ordered)
        table = EncodedTable(matrix, self.labels, self.n_classes)
        return MemoryRecords(Table.of(table), check_n_jobs(n_jobs))

    def part(self, rows: slice, columns: slice) -> Coded:
        """Some rows and columns."""
        codes, n_codes = np.ascontiguousarray(self.codes[rows, columns]), self.n_codes[columns]
        ordered = self.ordered[columns]
        domain = code_domain(n_codes, ordered, self.n_classes, len(codes))
        return Coded(self.name, codes, self.labels[rows], domain, n_codes, ordered)


def coded(name: str, X: Any, y: Any, domain: Domain) -> Coded:
    """Encode a table and declare its codes."""
    encoder = DomainEncoder(domain)
    table = encoder.encode(X, y)
    codes = table.matrix.codes
    own = code_domain(encoder.n_codes, encoder.ordered, table.n_classes, len(codes))
    raw = X, y, domain
    return Coded(name, codes, table.labels, own, encoder.n_codes, encoder.ordered, raw)


def code_domain(n_codes: np.ndarray, ordered: np.ndarray, n_classes: int, rows: int) -> Domain:
    """A domain in which a value is its own code."""
    features: list[Any] = []
    for place, (n, is_ordered) in enumerate(zip(n_codes.tolist(), ordered.tolist(), strict=True)):
        if is_ordered:
            features.append(NumericFeature(name=f"f{place}", lower=0, upper=n - 1, integer=True))
        else:
            # The last category stands for the rest, so that there is no further code.
            texts = [str(code) for code in range(n)]
            features.append(CategoricalFeature(name=f"f{place}", categories=texts, other=texts[-1]))
    return Domain(features=features, classes=list(range(n_classes)), approximate_rows=rows)


def adult() -> Coded:
    """Adult's training rows."""
    from dpforest.datasets import load_adult

    data, frame = load_adult(), load_adult(as_frame=True)
    table = coded("adult", data.data[:ROWS], data.target[:ROWS], data.domain)
    return replace(table, frame=(frame.data.iloc[:ROWS], frame.target.iloc[:ROWS]))


def from_folder(name: str, folder: Path) -> Coded | None:
    """Connect-4 or covertype from a folder of tables; None where it is absent."""
    import pandas as pd

    path = folder / f"{name}.csv.gz"
    if not path.exists():
        return None
    frame = pd.read_csv(path)
    domain = Domain.from_json(folder / f"{name}.json")
    y = frame.pop("target").astype(str).to_numpy()
    return coded(name, frame, y, domain)


def continuous() -> Coded:
    """36,631 x 14 uniform values, two noisy classes; scikit-learn gets the values themselves."""
    generator = np.random.default_rng(0)
    X = generator.random((ROWS, 14))
    signal = 3 * X[:, 0] + 2 * X[:, 1] * X[:, 2] + generator.normal(0, 0.5, ROWS)
    features = {f"f{place}": (0.0, 1.0) for place in range(14)}
    domain = Domain(features=features, classes=[0, 1], approximate_rows=ROWS)
    return coded("continuous", X, (signal > 2).astype(int), domain)


def synthetic(n_rows: int, chunk: int = 500_000) -> Coded:
    """n x 30 codes made chunk by chunk: 20 ordered features of 256 codes, 10 categorical of 12."""
    n_codes = np.array([256] * 20 + [12] * 10, dtype=np.int64)
    ordered = np.arange(30) < 20
    codes = np.empty((n_rows, 30), dtype=np.uint8)
    labels = np.empty(n_rows, dtype=np.int32)
    for first in range(0, n_rows, chunk):
        generator = np.random.default_rng((7, first))
        part = codes[first : first + chunk]
        part[:] = generator.integers(0, n_codes, part.shape, dtype=np.int64)
        signal = part[:, 0] / 128.0 + (part[:, 21] > 5) + generator.normal(0, 0.5, len(part))
        labels[first : first + chunk] = signal > 1.5
    domain = code_domain(n_codes, ordered, 2, n_rows)
    return Coded("synthetic", codes, labels, domain, n_codes, ordered)


@dataclass(frozen=True)
class Fit:
    """One private fit on codes, the size of scikit-learn's forest beside it, and its floor.

    Attributes
    ----------
    depth : int or None
        None: scikit-learn's trees grow out.
    updates, steps : float
        Cells or leaves that are counted into and codes that are looked up, and records that take
        a step down a tree, at least.
    """

    name: str
    make: Callable[[int], Any]
    n_trees: int
    depth: int | None
    updates: float = 0.0
    steps: float = 0.0
    size: str = ""

    @property
    def floor(self) -> float:
        """Seconds on one core for the updates and steps alone."""
        return self.updates / UPDATES + self.steps / STEPS


def on_codes(kind: type, table: Coded) -> type:
    """The estimator with encoding taken out: it is handed the encoded table."""

    class OfCodes(fitting.Fit):
        """A fit of the coded table, whatever it is given."""

        def _read(self, scope: Any, X: Any, y: Any) -> Any:
            return table.records(self.estimator.n_jobs)

    class Encoded(kind):  # type: ignore[misc]
        """Fits the coded table whatever it is given."""

        def fit(self, X: Any, y: Any = None) -> Any:
            OfCodes(self).run(X, y)
            return self

    assert "_read" in vars(fitting.Fit), "records are read elsewhere by now"
    Encoded.__name__ = kind.__name__
    return Encoded


def multinomial(table: Coded, n_trees: int = TREES, depth: int = DEPTH) -> Fit:
    """Every feature scored at every node; a right child is its parent less the left, or so."""
    kind = on_codes(Multinomial, table)

    def make(n_jobs: int) -> Any:
        return kind(
            epsilon=1, domain=table.domain, n_estimators=n_trees, max_depth=depth, n_jobs=n_jobs
        )

    return Fit("multinomial", make, n_trees, depth, size=f"{n_trees} trees of depth {depth}")


def with_floor(fit: Fit, table: Coded, forest: Any) -> Fit:
    """A multinomial fit with what it had to count: the smaller of any two siblings."""
    n, width = table.codes.shape
    depth = fit.depth or 0
    counted = n * width * (1 + fit.n_trees * counted_share(table, forest, depth))
    return replace(fit, updates=counted, steps=float(fit.n_trees * depth * n))


def counted_share(table: Coded, forest: Any, depth: int, trees: int = 5) -> float:
    """Records in the smaller of siblings over all records, summed over the levels of a tree."""
    codes = table.codes[:100_000]
    shares = []
    for tree in range(trees):
        feature, low, high = forest.feature[tree], forest.low[tree], forest.high[tree]
        node, share = np.zeros(len(codes), dtype=np.int64), 0.0
        for level in range(depth - 1):
            code = codes[np.arange(len(codes)), np.maximum(feature[node], 0)]
            goes_left = (low[node] <= code) & (code <= high[node])
            node = 2 * node + 2 - goes_left
            counts = np.bincount(node - (2 ** (level + 1) - 1), minlength=2 ** (level + 1))
            share += counts.reshape(-1, 2).min(axis=1).sum() / len(codes)
        shares.append(share)
    return float(np.mean(shares))


def one_shot(table: Coded) -> Fit:
    """Codes of every tree's features twice, a count a tree, and a leaf's values a tree."""
    plan = _plan(table, "one_shot")
    n, planned = len(table.codes), plan.shape.size
    trees, depth = planned.n_trees, planned.depth
    columns = 1 if table.n_classes == 2 else table.n_classes
    updates = n * trees * (2 * ONE_SHOT_FEATURES + 1 + columns)
    size = f"{trees} trees of depth {depth}"
    return Fit("one-shot", _private(table, "one_shot"), trees, depth, updates, size=size)


def refitted(table: Coded) -> Fit:
    """Codes of the features of every candidate of every round, and sums of its residuals."""
    plan = _plan(table, "refitted")
    n, rounds, depth = len(table.codes), plan.shape.n_rounds, plan.shape.depth
    columns = 1 if table.n_classes == 2 else table.n_classes
    updates = n * rounds * plan.shape.n_candidates * (CANDIDATE_FEATURES + columns)
    size = f"{rounds} rounds of {plan.shape.n_candidates} candidates, depth {depth}"
    return Fit("refitted", _private(table, "refitted"), rounds, depth, updates, size=size)


def default(table: Coded) -> Fit:
    """What a user gets who says nothing but epsilon and delta, beside a forest grown out."""
    return Fit("default", _private(table, "auto"), TREES, None, size="as the rule picks")


def _private(table: Coded, strategy: str) -> Callable[[int], Any]:
    kind = on_codes(Private, table)

    def make(n_jobs: int) -> Any:
        return kind(epsilon=1, delta=1e-6, domain=table.domain, strategy=strategy, n_jobs=n_jobs)

    return make


def _plan(table: Coded, strategy: str) -> Any:
    from dpforest.accounting.releases import LearnerBudget
    from dpforest.estimators.fit_plan import table_facts
    from dpforest.trees.strategies import STRATEGIES

    facts = table_facts(DomainEncoder(table.domain), len(table.codes), True)
    budget = LearnerBudget(Fraction(1), Fraction(1, 10**6), certified=True)
    return STRATEGIES[strategy].make().plan(facts, budget)
