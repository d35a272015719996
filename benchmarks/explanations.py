"""Coverage of the standard errors that ``explain()`` gives, against repeated fits.

Two kinds of repeated fits of one table: everything anew, and the released structure kept with the
noise alone drawn anew. Of each fit the interval of 1.96 standard errors to either side of every
figure (points of curves, importances) either holds the mean of that figure over all repeated fits
or does not; the mean is itself made of the fits, which is corrected for. Two columns of random
numbers are added to every table: how often they are listed as like noise.

    python benchmarks/explanations.py                       # everything not yet done, then the page
    python benchmarks/explanations.py --strategies rules additive --fits 4
    python benchmarks/explanations.py --report-only

One JSON line a cell is appended to ``--results``; what is there is skipped. The table between the
marks of ``docs/explanations.md`` is written from all lines. Tables come from ``--data`` or
``DPFOREST_DATA``; where the folder is absent the run ends and says so.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from common.models import DELTA, rounded_rows
from common.our_forests import MULTINOMIAL, our_forest
from common.pages import between
from common.regression_tables import load_regression_table
from common.results import Store
from common.sources import Sources
from common.tables import REPOSITORY, data_folder, load_table
from threadpoolctl import threadpool_limits

from dpforest import NumericFeature
from dpforest.records.base import Chunk
from dpforest.records.table import Table
from dpforest.trees.multinomial.kernels.leaves import route_records
from dpforest.trees.multinomial.model import MultinomialModel
from dpforest.trees.population import Population
from dpforest.trees.renoised import RenoisedAnswer, RenoisedBridge, Renoising
from dpforest.trees.transcript import Noised, Replay, Transcript

SETS = {"diabetes_pima": "classification", "concrete": "regression", "cmc": "classification"}
EPSILONS = (0.5, 1.0, 5.0)
#: Strategies and their deltas.
STRATEGIES = {
    "rules": 0.0, "one_shot": 0.0, "multinomial": 0.0, "additive": DELTA,
    "boosted": DELTA, "refitted": DELTA,
}  # fmt: skip
JUNK = ("random 1", "random 2")
PAGE = REPOSITORY / "docs" / "explanations.md"
#: That a line depends on.
SOURCES = Sources(("explanations:cell",), packages=("numpy", "scikit-learn"))
RESULTS = Path(__file__).parent / "results" / "explanations.jsonl"
MARKS = "<!-- coverage -->", "<!-- /coverage -->"


class Given(Renoising):
    """Sums over the very records, with noise: a fit whose choices are those of another one."""

    def noisy(self, released: Noised, sums: np.ndarray | None) -> np.ndarray:
        values = released.values.astype(np.float64)
        if released.variance:
            values = sums + np.rint(released.noise(self.generator))
        self.sums.append(values)
        return values


class GivenBridge(RenoisedBridge):
    """Every question is counted."""

    def ask(self, question: Any, *roles: str) -> RenoisedAnswer:
        return RenoisedAnswer(self, question, self.chunk)


def given_structure(transcript: Transcript, table: Table, generator: Any) -> tuple[Any, Transcript]:
    """A model with fresh noise on the records' own sums, and the transcript of it."""
    again = Given(transcript, Population(table, 1.0), generator)
    bridge: Any = GivenBridge(again, Replay(transcript.answers), Chunk(table))
    model = transcript.learner.train(transcript.shape, bridge, transcript.facts)
    values = iter(again.sums)
    answers = [
        (name, replace(answer, values=next(values)) if name == "noised" else answer)
        for name, answer in transcript.answers
    ]
    return model, replace(transcript, answers=answers)


def recounted(model: MultinomialModel, table: Table, generator: Any) -> MultinomialModel:
    """The forest's leaves counted again, with fresh noise."""
    forest, rows = model.forest, np.arange(table.n_records, dtype=np.int32)
    counts = np.empty(forest.counts.shape)
    for tree in range(forest.n_trees):
        heap = forest.feature[tree], forest.low[tree], forest.high[tree]
        leaves = np.empty(rows.size, dtype=np.int32)
        route_records(table.codes, rows, *heap, forest.depth, leaves)
        flat = leaves.astype(np.int64) * forest.n_classes + table.labels
        found = np.bincount(flat, minlength=counts[tree].size)
        counts[tree] = found.reshape(counts[tree].shape)
    counts += np.rint(forest.noise_variance**0.5 * generator.normal(size=counts.shape))
    return MultinomialModel(replace(forest, counts=counts), model.n_features)


def with_junk(name: str, data: Path) -> tuple[Any, np.ndarray, np.ndarray]:
    """A table with two columns of random numbers."""
    read = load_regression_table if SETS[name] == "regression" else load_table
    table, junk = read(data, name), np.random.default_rng(0)
    X = np.column_stack([table.X, junk.random((table.y.size, len(JUNK)))])
    added = tuple(NumericFeature(name=one, lower=0.0, upper=1.0) for one in JUNK)
    facts = {
        "features": (*table.domain.features, *added),
        "approximate_rows": float(rounded_rows(table.y.size)),
    }
    return table.domain.model_copy(update=facts), X, table.y


def table_of(forest: Any, X: np.ndarray, y: np.ndarray) -> Table:
    """The records as the forest's learner saw them."""
    table = Table.of(forest._encoder_.encode(X, y))
    if table.targets is None:
        return table
    table = table.rescaled(*forest.target_steps_)
    if forest.strategy_ != "rules":
        return table
    words = np.random.default_rng(0).integers(0, 2**64, table.n_records, dtype=np.uint64)
    return table.tossed(words)


def figures(forest: Any) -> dict[str, np.ndarray]:
    """Curves and importances in one row each, with their standard errors."""
    found = forest.explain()
    in_order = sorted(found.dependence, key=lambda one: one.feature)
    names = sorted(found.importances)
    curves, errors = [], []
    for one in in_order:
        for label in list(one.predictions)[-1:] if len(one.predictions) == 2 else one.predictions:
            curves += one.predictions[label]
            errors += one.errors[label]
    return {
        "curves": np.array(curves), "curve errors": np.array(errors, dtype=float),
        "importances": np.array([found.importances[name] for name in names]),
        "importance errors": np.array([found.importance_errors[n] for n in names], dtype=float),
        "listed": np.array([name in found.like_noise for name in JUNK]),
    }  # fmt: skip


def covered(rows: list[dict[str, np.ndarray]], what: str, error: str) -> float | None:
    """Share of intervals that hold the mean; None where there are no standard errors."""
    own = np.array([row[what] for row in rows])
    errors = np.array([row[error] for row in rows])
    away = np.abs(own - own.mean(axis=0)) / (1.0 - 1.0 / len(rows)) ** 0.5
    known = np.isfinite(errors)
    return float((away <= 1.96 * errors)[known].mean()) if known.any() else None


def cell(name: str, strategy: str, epsilon: float, fits: int, data: Path) -> dict[str, Any]:
    """One line of results."""
    domain, X, y = with_junk(name, data)
    make = lambda: our_forest(  # noqa: E731
        strategy, domain, epsilon, STRATEGIES[strategy]
    ).fit(X, y)
    start, first = time.perf_counter(), make()
    anew = [figures(make()) for _ in range(fits)]
    generator, table, given = np.random.default_rng(), table_of(first, X, y), []
    for _ in range(0 if strategy == "additive" else fits):  # where nothing is chosen, they are one
        if strategy == "multinomial":
            model, transcript = recounted(first.model_, table, generator), None
        else:
            model, transcript = given_structure(first._transcript, table, generator)
        first.__dict__.update(model_=model, _transcript=transcript)
        given.append(figures(first))
    line = {"table": name, "strategy": strategy, "epsilon": epsilon, "fits": fits}
    for kind_of, rows in (("given", given or anew), ("anew", anew)):
        for what, error in (("curves", "curve errors"), ("importances", "importance errors")):
            line[f"{what}, {kind_of}"] = covered(rows, what, error)
    known = [row["listed"] for row in anew if np.isfinite(row["curve errors"]).any()]
    line["listed"] = float(np.mean(known)) if known else None
    return line | {"seconds": round(time.perf_counter() - start, 1)}


def report(lines: list[dict[str, Any]]) -> str:
    """The page's table: a row a strategy, the share over all tables and epsilons, and the range."""
    columns = "curves, given", "importances, given", "curves, anew", "importances, anew", "listed"
    head = (
        "| strategy | δ | ε | curves, structure kept | importances, structure kept "
        "| curves, all anew | importances, all anew | random columns listed as like noise |\n"
        + "|---" * 8
        + "|\n"
    )
    rows = []
    for strategy, epsilon in product(STRATEGIES, EPSILONS):
        own = [x for x in lines if x["strategy"] == strategy and x["epsilon"] == epsilon]
        texts = [_mean_text([x[c] for x in own if x[c] is not None]) for c in columns]
        delta = "10⁻⁶" if STRATEGIES[strategy] else "0"
        rows.append(f"| {strategy} | {delta} | {epsilon:g} | {' | '.join(texts)} |")
    fits = sorted({x["fits"] for x in lines})
    seconds = sum(x["seconds"] for x in lines)
    for strategy in STRATEGIES:
        own = [x for x in lines if x["strategy"] == strategy]
        texts = [_mean_text([x[c] for x in own if x[c] is not None]) for c in columns]
        rows.append(f"| **{strategy}, all** | | | {' | '.join(texts)} |")
    cells = ", ".join(f"{name} ({sum(x['table'] == name for x in lines)} cells)" for name in SETS)
    note = (
        f"\n\nTables: {cells}; repeated fits a cell: {', '.join(map(str, fits))}; "
        f"means over cells, and in brackets the least and the largest of them; "
        f"{seconds / 60:.0f} minutes in all on a machine with other work."
    )
    return head + "\n".join(rows) + note


def _mean_text(shares: list[float]) -> str:
    if not shares:
        return "none"
    mean, least, most = (100 * f(shares) for f in (np.mean, np.min, np.max))
    return f"{mean:.0f} % ({least:.0f} to {most:.0f})"


def write_page(lines: list[dict[str, Any]]) -> None:
    """Put the table between the page's marks."""
    text = between(PAGE.read_text(encoding="utf-8"), MARKS, report(lines))
    PAGE.write_text(text, encoding="utf-8")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--strategies", nargs="+", default=list(STRATEGIES), choices=STRATEGIES)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--fits", type=int, default=6)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--report-only", action="store_true")
    wanted = parser.parse_args()
    if not wanted.report_only:
        if not wanted.data.is_dir():
            raise SystemExit(f"no tables in {wanted.data}: give --data or DPFOREST_DATA")
        run(wanted)
    if wanted.results == RESULTS:
        write_page(Store(RESULTS, SOURCES).reported())


def run(wanted: argparse.Namespace) -> None:
    """Every cell that is not there yet."""
    store = Store(wanted.results, SOURCES)
    done = {(x["table"], x["strategy"], x["epsilon"]) for x in store.lines()}
    for key in product(wanted.sets, wanted.strategies, wanted.epsilons):
        of_a_target = SETS[key[0]] == "regression" and key[1] == MULTINOMIAL
        if key in done or of_a_target:
            continue
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            line = cell(*key, wanted.fits, wanted.data)
        store.append(line)
        print(line, flush=True)


if __name__ == "__main__":
    main()
