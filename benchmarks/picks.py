"""What `auto` picks for made-up tables of usual shapes, by records and epsilon.

It asks for plans, which need public facts alone, so it fits nothing and reads no records. The
tables have 20 features, half of them numbers; of two classes also a quarter. What it finds goes
between two marks of docs/private_forest.md.

    python benchmarks/picks.py [--page docs/private_forest.md]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from common.pages import between
from common.tables import REPOSITORY

from dpforest import Domain, PrivateForestClassifier, PrivateForestRegressor

PAGE = REPOSITORY / "docs" / "private_forest.md"
START, END = "<!-- picks of benchmarks/picks.py -->", "<!-- end of picks -->"
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
RECORDS = (300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
DELTA = 1e-6
FEATURES, NUMBERS, FEW_NUMBERS = 20, 10, 5
#: What is left where a budget teaches no more than one figure.
NOTHING = {"classes": "shares", "target": "mean"}

Names = dict[str, tuple[float, float] | list[str]]


def domain_of(task: str) -> Domain:
    """The public facts of a made-up table; its task is a number of classes, or a target."""
    n_numbers = FEW_NUMBERS if task == MOSTLY_CATEGORIES else NUMBERS
    features: Names = {f"number {i}": (0.0, 1.0) for i in range(n_numbers)}
    features |= {f"category {i}": ["a", "b", "c", "d"] for i in range(FEATURES - n_numbers)}
    if task == "a target":
        return Domain(features=features, target=(0.0, 1.0))
    return Domain(features=features, classes=[f"class {i}" for i in range(CLASSES[task])])


MOSTLY_CATEGORIES = "two classes, mostly categories"
CLASSES = {"two classes": 2, MOSTLY_CATEGORIES: 2, "five classes": 5}
TASKS = (*CLASSES, "a target")


def pick(task: str, domain: Domain, records: int, epsilon: float, delta: float) -> str:
    """The strategy of a plan, or what it teaches where that is next to nothing."""
    estimator: Callable[..., PrivateForestClassifier | PrivateForestRegressor]
    estimator = PrivateForestClassifier if task in CLASSES else PrivateForestRegressor
    plan = estimator(epsilon=epsilon, delta=delta).plan(domain, approximate_rows=records)
    if not plan.teachable:
        return NOTHING["classes" if task in CLASSES else "target"]
    return plan.strategy.replace("_", "-")


def table(delta: float) -> Iterator[str]:
    """Rows of a Markdown table: a task and a number of records, by epsilon."""
    yield "| " + " | ".join(["", "records", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)]) + " |"
    yield "| --- | ---: |" + " --- |" * len(EPSILONS)
    for task in TASKS:
        domain = domain_of(task)
        for records in RECORDS:
            picked = [pick(task, domain, records, epsilon, delta) for epsilon in EPSILONS]
            yield "| " + " | ".join([task, f"{records:,}", *picked]) + " |"


def section() -> str:
    """Both tables, with and without a delta."""
    parts = []
    for title, delta in (("δ = 0", 0.0), (f"δ = {DELTA:g}", DELTA)):
        parts.append("\n".join([f"**{title}**", "", *table(delta)]))
    return "\n\n".join(parts)


def renewed(text: str) -> str:
    """A page with the section between its marks."""
    return between(text, (START, END), section())


def main() -> None:
    """Put the tables into the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", type=Path, default=PAGE, help="page with the marks")
    page = parser.parse_args().page
    page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
