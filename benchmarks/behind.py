"""Where auto is behind one of our own learners, asked for by name at its one default.

Fits every learner on 20 stratified 75/25 splits of the classification tables (long ones cut to
50,000 records), and on the regressions the additive forest, the paid-for constant and a private
ridge regression, without and with a delta; the number of training records is declared, rounded to
one digit. One JSON line a fit is appended to ``--results``; what is there is skipped. Then
``docs/behind_results.md`` is written from the tables that have all their splits.

    python benchmarks/behind.py                     # everything not yet done, quick tables first
    python benchmarks/behind.py --minutes 60
    python benchmarks/behind.py --report-only

Which learner auto is on a table comes from public facts alone, so auto is not fitted a second time:
its scores are that learner's. Our noise comes from the operating system.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import regression
import utility
from common import models as models_of
from common.behind_cells import (
    CONSTANT,
    DELTAS,
    RIDGE,
    known_models,
    picked,
)
from common.records import facts_of_tables, part_of
from common.regression_tables import load_regression_table, random_split
from common.results import Key, Line, Store, finished, key_of
from common.sources import Sources, by_beginning
from common.tables import PART_ROWS, REPOSITORY, data_folder, load_table, stratified_split
from threadpoolctl import threadpool_limits
from tqdm import tqdm

EPSILONS = (0.1, 1.0, 5.0)
SEEDS = 20
RESULTS = REPOSITORY / "benchmarks" / "results" / "behind.jsonl"
PAGE = REPOSITORY / "docs" / "behind_results.md"


@dataclass(frozen=True)
class Place:
    """A table by its name, long ones by their part's, and its task."""

    dataset: str
    task: str
    cells: int


def places(folder: Path) -> list[Place]:
    """All tables of a folder, those with few cells first: they are quick."""
    found = []
    for task in ("classification", "regression"):
        for name, facts in facts_of_tables(folder, task):
            is_long = facts["n_rows"] > PART_ROWS and task == "classification"
            rows = PART_ROWS if is_long else facts["n_rows"]
            dataset = part_of(name) if is_long else name
            found.append(Place(dataset, task, rows * len(facts["columns"])))
    return sorted(found, key=lambda place: (place.cells, place.dataset))


def pick_line(folder: Path, place: Place, epsilon: float, currency: str) -> Line:
    """Which model auto is there."""
    if place.task == "classification":
        table = load_table(folder, place.dataset)
        split = stratified_split(table, 0)
    else:
        table = load_regression_table(folder, place.dataset)
        split = random_split(table, 0)
    rows = models_of.rounded_rows(split.train.size)
    model = f"auto, {currency}"
    line: Line = {"dataset": place.dataset, "model": model, "epsilon": epsilon, "seed": 0}
    return line | {"is": picked(table.domain, rows, epsilon, currency), "task": place.task}


def class_line(folder: Path, dataset: str, model: str, epsilon: float, seed: int) -> Line:
    """Scores of one fit of classes."""
    strategy = model.split()[1].rstrip(",")
    made = {one.name: one for one in models_of.private_forests([strategy])}
    return utility.line_of(utility.Job(folder, dataset, model, epsilon, seed), made[model])


def target_line(folder: Path, dataset: str, model: str, epsilon: float, seed: int) -> Line:
    """R² of one fit of a regression."""
    table = load_regression_table(folder, dataset)
    return regression.measured(regression.Model(model, _fit_of(model)), table, epsilon, seed)


def _fit_of(model: str) -> regression.Fit:
    if model == CONSTANT:
        return regression.noisy_mean
    if model == RIDGE:
        return regression.noisy_ridge
    strategy, currency = model.removeprefix("dpforest ").split(", ")[:2]
    return regression.private_forest(strategy, DELTAS[currency])


_BOTH = Sources(("behind:class_line", "behind:target_line"))
#: By the beginnings of models' names.
MADE_BY = {
    "auto, ": Sources(("behind:pick_line",)),
    "dpforest ": _BOTH,
    **{one: by_beginning(regression.MADE_BY, one) for one in (CONSTANT, RIDGE)},
}


def stored(path: Path) -> Store:
    """The lines of all fits."""
    return Store(path, lambda line: by_beginning(MADE_BY, line["model"]))


def fits(place: Place, autos: dict[float, dict[str, str]], seeds: int) -> Iterator[Key]:
    """All fits of a table: whom auto stands against, and what auto is."""
    for seed in range(seeds):
        for epsilon, auto in autos.items():
            for model in dict.fromkeys([*known_models(place.task), *auto.values()]):
                yield place.dataset, model, epsilon, seed


def run(asked: argparse.Namespace, file: Store) -> None:
    """Fit what is not there yet, table by table; stop in time."""
    stop = time.monotonic() + 60 * asked.minutes
    done = finished(file.lines())
    every = places(asked.data)
    unknown = set(asked.sets) - {place.dataset for place in every}
    if unknown or not every:
        raise SystemExit(f"no table {sorted(unknown) or ''} in {asked.data}: give --data")
    wanted = [place for place in every if not asked.sets or place.dataset in asked.sets]
    for place in tqdm(wanted, unit="table", smoothing=0):
        autos = _autos(asked, place, file, done)
        make = class_line if place.task == "classification" else target_line
        for key in fits(place, autos, asked.seeds):
            if time.monotonic() > stop:
                tqdm.write("time is up: run the same command again to go on")
                return
            if key not in done:
                line = make(asked.data, *key) | {"task": place.task}
                file.append(line)
                if "error" in line:
                    tqdm.write(f"{key_of(line)}: {line['error']}")


def _autos(
    asked: argparse.Namespace, place: Place, file: Store, done: dict[Key, Line]
) -> dict[float, dict[str, str]]:
    """What auto is on a table, by epsilon and currency; lines that are not there are added."""
    found: dict[float, dict[str, str]] = {}
    for epsilon in asked.epsilons:
        for currency in DELTAS:
            key = (place.dataset, f"auto, {currency}", epsilon, 0)
            line = done.get(key)
            if line is None:
                line = pick_line(asked.data, place, epsilon, currency)
                file.append(line)
            found.setdefault(epsilon, {})[currency] = line["is"]
    return found


def main() -> None:
    """Run, then write the page."""
    # Here, since what is imported above belongs to what results depend on.
    from common.behind_report import write_page

    asked = parse()
    file = stored(asked.results)
    if not asked.report_only:
        with threadpool_limits(1):
            run(asked, file)
    write_page(file.reported(), places(asked.data), asked, asked.page, shortened(asked))


def shortened(asked: argparse.Namespace) -> list[str]:
    """Options that make a run a part of the page's; none where the page is another one."""
    whole = parse([])
    if asked.page != whole.page:
        return []
    return [name for name in ("epsilons", "seeds") if getattr(asked, name) != getattr(whole, name)]


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--sets", nargs="*", default=[], help="names of tables; default all, quick ones first")
    add("--epsilons", nargs="*", type=float, default=list(EPSILONS))
    add("--seeds", type=int, default=SEEDS, help="splits a table")
    add("--data", type=Path, default=data_folder(), help="folder of tables, or DPFOREST_DATA")
    add("--results", type=Path, default=RESULTS, help="file of result lines")
    add("--page", type=Path, default=PAGE, help="file that is written")
    add("--minutes", type=float, default=float("inf"), help="stop after the fit that passes this")
    add("--report-only", action="store_true", help="write the page from what is there")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
