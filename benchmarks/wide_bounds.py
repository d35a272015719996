"""What generous bounds cost: learners on tables whose bounds are made several times as wide.

Bounds of numeric features that begin at 0 or above grow upwards, others on both sides. Epsilon is
chosen as in ``made_tasks.py``, with delta = 1e-6, or in pure epsilon for rules, so that R sqrt(2 /
K) is what is asked for. Tables are those of classes with 400 to 20,000 records and a feature that
is wide; noise is seeded, the same beside both bounds. One JSON line a fit is appended to
``--results``, and what is there is skipped; then mean differences from the declared bounds are
printed: accuracy in points, AUC and log loss in thousandths.

    python benchmarks/wide_bounds.py
    python benchmarks/wide_bounds.py --times 2 8 --signals 200 600 --seeds 1
"""

from __future__ import annotations

import argparse
import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
from common.models import rounded_rows
from common.results import Line, Store, finished, key_of
from common.scores import METRICS, scores
from common.sources import Sources
from common.tables import (
    REPOSITORY,
    Table,
    classification_tables,
    data_folder,
    load_table,
    stratified_split,
)
from made_tasks import epsilon_of
from threadpoolctl import threadpool_limits
from variants import DELTA, Run, codes_of, run_on

from dpforest import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.schema import CategoricalFeature, NumericFeature
from dpforest.trees.refitted import RefittedForest
from dpforest.trees.rules import RulesLearner

LEAST_RECORDS, MOST_RECORDS, MOST_EPSILON = 400, 20_000, 12.0
#: Features of fewer whole numbers stay as they are.
NARROW = 12
SOURCES = Sources(("wide_bounds:fitted",))
LEARNERS: dict[str, Callable[[Run], np.ndarray]] = {
    "rules, pure": lambda run: run.scores(RulesLearner()),
    "refitted": lambda run: run.scores(RefittedForest()),
}


def widened(domain: Domain, times: int) -> Domain:
    """The same with numeric features so many times as wide."""
    features = [
        feature if isinstance(feature, CategoricalFeature) else _wider(feature, times)
        for feature in domain.features
    ]
    return domain.model_copy(update={"features": tuple(features)})


def _wider(feature: NumericFeature, times: int) -> NumericFeature:
    more = (times - 1) * (feature.upper - feature.lower)
    if feature.lower >= 0:
        bounds = {"upper": feature.upper + more}
    else:
        half = round(more / 2) if feature.integer else more / 2
        bounds = {"lower": feature.lower - half, "upper": feature.upper + half}
    return feature.model_copy(update=bounds)


def is_wide(domain: Domain) -> bool:
    """True if a feature has more values than a few."""
    return any(
        isinstance(feature, NumericFeature) and feature.upper - feature.lower > NARROW
        for feature in domain.features
    )


@lru_cache(maxsize=2)
def _coded(folder: Path, name: str, times: int) -> tuple[Table, DomainEncoder, np.ndarray]:
    declared = load_table(folder, name)
    table = replace(declared, domain=widened(declared.domain, times))
    return table, *codes_of(table)


def fitted(folder: Path, line: Line) -> Line | None:
    """The scores of one fit; nothing where its epsilon is no use."""
    name, seed, signal = line["dataset"], line["seed"], line["epsilon"]
    learner, times = line["model"].split(" × ")
    table, encoder, codes = _coded(folder, name, int(times))
    split = stratified_split(table, seed)
    delta = Fraction(0) if learner.endswith("pure") else DELTA
    epsilon = epsilon_of(signal, rounded_rows(split.train.size), table.n_classes, delta)
    if epsilon > MOST_EPSILON:
        return None
    number = zlib.crc32(f"{name} {signal} {seed}".encode())
    run, labels = run_on(split, encoder, codes, table.y, epsilon, number)
    found = LEARNERS[learner](run)
    facts = {"n_classes": table.n_classes}
    return line | facts | scores(labels, found.argmax(axis=1), np.exp(found))


def fit_missing(asked: argparse.Namespace, out: Store) -> None:
    """Fit what has no line yet; ``epsilon`` of a line is the signal that was asked for."""
    done = finished(out.lines())
    for name, facts in classification_tables(asked.data).items():
        if not LEAST_RECORDS <= facts.n_rows <= MOST_RECORDS or "@" in name:
            continue
        if not is_wide(load_table(asked.data, name).domain):
            continue
        for times in (1, *asked.times):
            for signal in asked.signals:
                for seed in range(asked.seeds):
                    for learner in LEARNERS:
                        line = {
                            "dataset": name, "model": f"{learner} × {times}", "epsilon": signal,
                            "seed": seed,
                        }  # fmt: skip
                        if key_of(line) not in done and (made := fitted(asked.data, line)):
                            out.append(made)
        print(name, flush=True)


def report(asked: argparse.Namespace, lines: list[Line]) -> None:
    """Print mean differences from the declared bounds, by learner, classes and signal."""
    found: dict[tuple[str, str, float], dict[int, Line]] = defaultdict(dict)
    for line in lines:
        found[line["dataset"], line["model"], line["epsilon"]][line["seed"]] = line
    names = {line["dataset"]: line["n_classes"] > 2 for line in lines}
    for learner in LEARNERS:
        for times in asked.times:
            for several in (False, True):
                for signal in asked.signals:
                    pairs = [
                        (found[name, f"{learner} × {times}", signal],
                         found[name, f"{learner} × 1", signal])
                        for name in names if names[name] == several
                    ]  # fmt: skip
                    means = [_difference(*pair) for pair in pairs if pair[0] and pair[1]]
                    if means:
                        points = np.mean(means, axis=0) * (100, 1000, 1000)
                        text = " / ".join(f"{value:+.2f}" for value in points)
                        many = "more classes" if several else "two classes"
                        print(
                            f"{learner} × {times}, {many}, R√(2/K) {signal:g}, {len(means)}: {text}"
                        )


def _difference(wide: dict[int, Line], declared: dict[int, Line]) -> list[float]:
    """Mean differences of one table's fits by metric."""
    seeds = wide.keys() & declared.keys()
    return [
        float(np.mean([wide[seed][metric] - declared[seed][metric] for seed in seeds]))
        for metric in METRICS[:3]
    ]


def main() -> None:
    """Fit what is missing, then report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--times", nargs="*", type=int, default=[8], help="how many times as wide")
    add("--signals", nargs="*", type=float, default=[60.0, 200.0, 600.0, 2000.0])
    add("--seeds", type=int, default=1)
    add("--data", type=Path, default=data_folder(), help="folder of tables, or DPFOREST_DATA")
    add("--results", type=Path, default=REPOSITORY / "benchmarks" / "results" / "wide_bounds.jsonl")
    add("--report-only", action="store_true")
    asked = parser.parse_args()
    threadpool_limits(1)
    out = Store(asked.results, SOURCES)
    if not asked.report_only:
        fit_missing(asked, out)
    report(asked, out.reported())


if __name__ == "__main__":
    main()
