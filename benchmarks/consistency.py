"""Excess risk of the consistent forests as n grows, on a distribution with known Bayes risk.

The distribution and its exact Bayes risk are in ``common/smooth.py``. Each forest is fitted with
n = 10³ … 10⁶ records and leaf sizes k = √n · ln n and k = √n; excess risks are measured on 50,000
further records by the known η, without label noise. One JSON line a fit is appended to
``--results``; what is there is skipped. Then the tables in ``docs/consistency.md`` (between its
marks) and ``docs/consistency_*.svg`` are written from all lines.

    python benchmarks/consistency.py [--seeds 3] [--trees 32] [--largest 1000000]
    python benchmarks/consistency.py --forests MRF DMRF --tasks classes
    python benchmarks/consistency.py --report-only
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from common import smooth
from common.consistency_report import write_plots, write_tables
from common.results import Line, Store
from common.sources import Sources
from papers import comprf
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from dpforest import consistent

DOCS = Path(__file__).parents[1] / "docs"
SIZES = (1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000)
N_TEST, TEST_SEED = 50_000, 10**6
#: Trees of the Safe-Bayesian forest, which come from its prior: as many as in its paper.
PRIOR_TREES = 1000
#: What the page is made of.
SEEDS, TREES = 3, 32
LEAF_SIZES: dict[str, Callable[[int], int]] = {
    "√n·ln n": lambda n: math.ceil(math.sqrt(n) * math.log(n)),
    "√n": lambda n: math.ceil(math.sqrt(n)),
}
#: What is too slow for more records: pivots are drawn again until both sides are full.
LARGEST = {"CompRF-C, leaves of k": 256_000}
SOURCES = Sources(("consistency:run_one",))
Make = Callable[[int, int, int], Any]


def grown(name: str, **parameters: Any) -> Make:
    """A forest of the grower: of (k, trees, seed)."""
    return lambda k, trees, seed: getattr(consistent, name)(
        trees, leaf_size=k, random_state=seed, **parameters
    )


def compared(filled: bool) -> Make:
    """CompRF-C; ``filled``: both sides of a split keep k answering records."""
    return lambda k, trees, seed: comprf.CompRFCClassifier(
        n_estimators=trees,
        max_samples_leaf=k,
        min_samples_leaf=k if filled else 1,
        random_state=seed,
    )


def safe_bayesian(size: Any) -> Make:
    """The Safe-Bayesian forest, which has no leaf size."""
    return lambda k, trees, seed: consistent.SafeBayesianForestClassifier(
        n_estimators=PRIOR_TREES, effective_sample_size=size, random_state=seed
    )


NAMES = ("MRF", "MRF2019", "DMRF", "BRF", "Denil14")
#: Classifiers that are claimed to be consistent, by name, for each leaf size.
CLAIMED: dict[str, Make] = {name: grown(f"{name}Classifier") for name in NAMES}
CLAIMED["CompRF-C"] = compared(filled=False)
CLAIMED |= {
    f"{name}, leaves of k": grown(f"{name}Classifier", enforce_leaf_size=True) for name in NAMES
}
CLAIMED["CompRF-C, leaves of k"] = compared(filled=True)
REGRESSORS: dict[str, Make] = {
    "BRF": grown("BRFRegressor"),
    "MRF2019": grown("MRF2019Regressor"),
    "MRF2019, weighted": grown("MRF2019Regressor", criterion="weighted_mse"),
    "DMRF": grown("DMRFRegressor"),
    "DMRF, weighted": grown("DMRFRegressor", criterion="weighted_mse"),
}
#: Not claimed; leaf sizes are their own.
NOT_CLAIMED: dict[str, Make] = {
    "MRF, k = 5": lambda k, trees, seed: consistent.MRFClassifier(trees, random_state=seed),
    "Safe-Bayesian, m = 5": safe_bayesian(5),
    "Safe-Bayesian, BMA": safe_bayesian("bma"),
}


def fits(seeds: int, largest: int) -> list[Line]:
    """Everything to be run; last the largest tables of all seeds but the first."""
    found = [
        {"task": task, "k": rule, "forest": name, "n": n, "seed": seed}
        for seed in range(seeds)
        for n in SIZES
        for task, rule, name in forests()
        if n <= min(largest, LARGEST.get(name, largest))
    ]
    return sorted(found, key=lambda fit: fit["n"] == SIZES[-1] and fit["seed"] > 0)


def forests() -> Iterator[tuple[str, str, str]]:
    """Task, leaf size and name of every forest."""
    for rule in LEAF_SIZES:
        yield from (("classes", rule, name) for name in CLAIMED)
        yield from (("targets", rule, name) for name in REGRESSORS)
    yield from (("classes", "own", name) for name in NOT_CLAIMED)


def key_of(line: Line) -> tuple[Any, ...]:
    """What a fit is known by."""
    return tuple(line[name] for name in ("task", "k", "forest", "n", "seed"))


def run_one(fit: Line, trees: int, test: smooth.Sample) -> Line:
    """Fit, measure."""
    sample = smooth.draw(fit["n"], fit["seed"])
    k = LEAF_SIZES[fit["k"]](fit["n"]) if fit["k"] != "own" else 0
    choices = REGRESSORS if fit["task"] == "targets" else CLAIMED | NOT_CLAIMED
    forest = choices[fit["forest"]](k, trees, fit["seed"])
    started = time.perf_counter()
    if fit["task"] == "targets":
        excess = smooth.excess_error(forest.fit(sample.X, sample.targets).predict(test.X), test)
    else:
        excess = smooth.excess_risk(forest.fit(sample.X, sample.labels).predict(test.X), test)
    return {**fit, "excess": excess, "seconds": round(time.perf_counter() - started, 3)}


def run(arguments: argparse.Namespace, results: Store) -> None:
    """Run what is not yet done."""
    done = {key_of(line) for line in results.lines() if line.get("trees", TREES) == arguments.trees}
    todo = [
        fit
        for fit in fits(arguments.seeds, arguments.largest)
        if key_of(fit) not in done
        and fit["task"] in arguments.tasks
        and (not arguments.forests or fit["forest"] in arguments.forests)
    ]
    if not todo:
        return
    test = smooth.draw(N_TEST, TEST_SEED)
    with threadpool_limits(1):
        for fit in tqdm(todo, disable=None):
            results.append({**run_one(fit, arguments.trees, test), "trees": arguments.trees})


def missing(lines: list[Line]) -> set[tuple[Any, ...]]:
    """Fits that the page has and these lines do not; lines of once have no number of trees."""
    whole = {key_of(line) for line in lines if line.get("trees", TREES) == TREES}
    return {key_of(fit) for fit in fits(SEEDS, SIZES[-1])} - whole


def main() -> None:
    """Read the command line, run, write."""
    # Here, since what is imported above belongs to what results depend on.
    from common.pages import place_of

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--trees", type=int, default=TREES)
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--forests", nargs="+", help="only these, by the names in the tables")
    parser.add_argument("--tasks", nargs="+", default=["classes", "targets"])
    default = Path(__file__).parent / "results" / "consistency.jsonl"
    parser.add_argument("--results", type=Path, default=default)
    parser.add_argument("--output", type=Path, default=DOCS)
    parser.add_argument("--report-only", action="store_true")
    arguments = parser.parse_args()
    results = Store(arguments.results, SOURCES)
    if not arguments.report_only:
        run(arguments, results)
    lines = results.reported()
    page = place_of(arguments.output / "consistency.md", missing(lines), marked=True)
    write_tables(lines, page)
    write_plots(lines, page.parent)


if __name__ == "__main__":
    main()
