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
from collections import defaultdict
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
from common.results import Line, Store, finished, fit_and_report, key_of
from common.scores import METRICS, scores
from common.sources import Sources
from common.tables import REPOSITORY, classification_tables, data_folder, load_table
from made_tasks import MODELS, MOST_EPSILON, MOST_RECORDS, Task, delta_of, run_of

from dpforest import Domain
from dpforest.domain.schema import CategoricalFeature, NumericFeature

LEAST_RECORDS = 400
#: Features of fewer whole numbers stay as they are.
NARROW = 12
SOURCES = Sources(("wide_bounds:fitted",))
LEARNERS = ("rules, pure", "refitted")


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
def _task(folder: Path, name: str, times: int) -> Task:
    """A table with bounds so many times as wide."""
    declared = load_table(folder, name)
    return Task(name, declared.X, declared.y, widened(declared.domain, times))


def fitted(folder: Path, line: Line) -> Line | None:
    """The scores of one fit; nothing where its epsilon is no use."""
    learner, times = line["model"].split(" × ")
    task = _task(folder, line["dataset"], int(times))
    run, labels = run_of(task, line["epsilon"], line["seed"], delta_of(learner))
    if run.epsilon > MOST_EPSILON:
        return None
    found = MODELS[learner](run)
    facts = {"n_classes": task.n_classes}
    return line | facts | scores(labels, found.argmax(axis=1), np.exp(found))


def fit_missing(asked: argparse.Namespace, out: Store) -> None:
    """Fit what has no line yet; ``epsilon`` of a line is the signal that was asked for."""
    done = finished(out.lines())
    for name, facts in classification_tables(asked.data).items():
        if not LEAST_RECORDS <= facts.n_rows <= MOST_RECORDS or "@" in name:
            continue
        if not is_wide(load_table(asked.data, name).domain):
            continue
        kinds = product((1, *asked.times), asked.signals, range(asked.seeds), LEARNERS)
        for times, signal, seed, learner in kinds:
            model = f"{learner} × {times}"
            line = {"dataset": name, "model": model, "epsilon": signal, "seed": seed}
            if key_of(line) not in done and (made := fitted(asked.data, line)):
                out.append(made)
        print(name, flush=True)


def report(asked: argparse.Namespace, lines: list[Line]) -> None:
    """Print mean differences from the declared bounds, by learner, classes and signal."""
    found: dict[tuple[str, str, float], dict[int, Line]] = defaultdict(dict)
    for line in lines:
        found[line["dataset"], line["model"], line["epsilon"]][line["seed"]] = line
    names = {line["dataset"]: line["n_classes"] > 2 for line in lines}
    kinds = product(LEARNERS, asked.times, (False, True), asked.signals)
    for learner, times, several, signal in kinds:
        pairs = [
            (found[name, f"{learner} × {times}", signal], found[name, f"{learner} × 1", signal])
            for name in names
            if names[name] == several
        ]
        means = [_difference(*pair) for pair in pairs if pair[0] and pair[1]]
        if means:
            points = np.mean(means, axis=0) * (100, 1000, 1000)
            text = " / ".join(f"{value:+.2f}" for value in points)
            many = "more classes" if several else "two classes"
            print(f"{learner} × {times}, {many}, R√(2/K) {signal:g}, {len(means)}: {text}")


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
    fit_and_report(asked, Store(asked.results, SOURCES), fit_missing, report)


if __name__ == "__main__":
    main()
