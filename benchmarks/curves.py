"""Accuracy and AUC that grow: against epsilon and against rows, of auto and of each learner.

Three large tables, one split of each, and a made-up law of known best accuracy. Training parts of
fewer rows are the beginning of larger ones; the test part is always the same. One JSON line a fit
is appended to ``benchmarks/results/curves.jsonl``; what is there is skipped, so a run can be
stopped and taken up. Then ``docs/growth_results.md`` and its plots are written from all lines.

    python benchmarks/curves.py                                   # everything not yet done
    python benchmarks/curves.py --parts epsilon --sets covertype --models auto
    python benchmarks/curves.py --fits 2                          # two draws of noise a cell
    python benchmarks/curves.py --report-only

Our noise comes from the operating system, so figures repeat only within their spread. The number of
records is declared, rounded to one digit. Tables come from ``--data`` or ``DPFOREST_DATA``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import law
from common.growth_cells import NAMED, with_picked
from common.growth_report import PAGE, write_report
from common.growth_tables import part, rows_of
from common.models import DELTA, rounded_rows
from common.results import Line, Store
from common.sources import Sources, by_beginning
from common.tables import REPOSITORY, classification_tables, data_folder
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from dpforest import Domain, PrivacyLeakWarning, PrivateForestClassifier

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
#: The epsilon at which rows grow.
EPSILON = 1.0
ROWS = (1_000, 3_000, 10_000, 30_000, 100_000)
ROWS_OF_LAW = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
SETS = ("hotel_bookings", "nycflights13", "covertype")
PARTS = ("epsilon", "rows", "law")
#: (domain, epsilon) to a classifier.
Maker = Callable[[Domain, float, int], Any]


@dataclass(frozen=True)
class Model:
    """A classifier under the name that its lines carry."""

    name: str
    make: Maker
    private: bool = True
    #: Of the made-up law that it is fitted to: above, it takes too long.
    most_rows: int = 10**8


@dataclass(frozen=True)
class Job:
    """One fit; no epsilon where the model is not private."""

    dataset: str
    model: str
    epsilon: float | None
    rows: int
    draw: int

    @property
    def key(self) -> tuple[Any, ...]:
        """What its line is known by."""
        return self.dataset, self.model, self.epsilon, self.rows, self.draw


def private_forest(strategy: str, delta: float) -> Maker:
    """Ours, the number of rows declared in its first digit."""

    def make(domain: Domain, epsilon: float, rows: int) -> Any:
        declared = domain.model_copy(update={"approximate_rows": rounded_rows(rows)})
        return PrivateForestClassifier(
            epsilon=epsilon, delta=delta, strategy=strategy, domain=declared, n_jobs=1
        )

    return make


def grown_out(domain: Domain, epsilon: float, rows: int) -> Any:
    """scikit-learn's forest of 100 trees; not private."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, n_jobs=1, random_state=0)


def boosting(domain: Domain, epsilon: float, rows: int) -> Any:
    """scikit-learn's histogram boosting, 60 rounds of large trees; not private."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=255, early_stopping=False, random_state=0
    )


def models() -> list[Model]:
    """Ours, with a delta and in pure epsilon, and two that are not private."""
    ours = [
        Model(f"{strategy}, {'delta=1e-6' if delta else 'pure'}", private_forest(strategy, delta))
        for strategy in ("auto", *NAMED)
        for delta in (DELTA, 0)
        if delta or strategy != "refitted"  # its noise is Gaussian alone
    ]
    others = [
        Model("random forest", grown_out, False, 10**5),
        Model("histogram boosting", boosting, False, 10**6),
    ]
    return ours + others


def _sources(maker: str, *packages: str) -> Sources:
    return Sources(("curves:line_of", f"curves:{maker}"), packages=packages)


_OURS = _sources("private_forest")
#: By the beginnings of models' names.
MADE_BY = {
    "auto": _OURS,
    "boosted": _OURS,
    "refitted": _OURS,
    "one_shot": _OURS,
    "random forest": _sources("grown_out", "scikit-learn"),
    "histogram boosting": _sources("boosting", "scikit-learn"),
}


def stored(path: Path) -> Store:
    """The lines of all fits."""
    return Store(path, lambda line: by_beginning(MADE_BY, line["model"]))


def line_of(job: Job, model: Model, folder: Path) -> Line:
    """The result line of a fit."""
    own = part(folder, job.dataset, job.rows)
    made = model.make(own.domain, job.epsilon or 0.0, job.rows)
    line: Line = {"dataset": job.dataset, "model": job.model, "epsilon": job.epsilon}
    line |= {"rows": job.rows, "draw": job.draw}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", PrivacyLeakWarning)
        wall, processor = time.perf_counter(), time.process_time()
        made.fit(own.X if model.private else own.plain, own.y)
        line["seconds"] = round(time.perf_counter() - wall, 3)
        line["cpu_seconds"] = round(time.process_time() - processor, 3)
        line |= own.judge(made, not model.private)
    if model.private:
        details = made.plan().details
        line |= {"strategy": made.strategy_, "size": details.get("rounds", "")}
    return line


def jobs_of(asked: argparse.Namespace) -> Iterator[Job]:
    """All fits asked for, table by table; one that two parts share comes once."""
    found: dict[Job, None] = {}
    for name in asked.sets:
        for cell in cells_of(asked, name):
            found |= dict.fromkeys(cell)
    if "law" in asked.parts:
        for rows in asked.law_rows:
            fitting = [model for model in asked.chosen if rows <= model.most_rows]
            found |= dict.fromkeys(_cell(asked, law.NAME, fitting, EPSILON, rows))
    yield from found


def cells_of(asked: argparse.Namespace, name: str) -> Iterator[Iterator[Job]]:
    """The fits of one table, by epsilon and by rows."""
    whole = rows_of(asked.data, name)
    if "epsilon" in asked.parts:
        for epsilon in asked.epsilons:
            yield _cell(asked, name, asked.chosen, epsilon, whole)
    if "rows" in asked.parts:
        for rows in [*(rows for rows in ROWS if rows < whole), whole]:
            yield _cell(asked, name, asked.chosen, EPSILON, rows)


def _cell(
    asked: argparse.Namespace, name: str, chosen: list[Model], epsilon: float, rows: int
) -> Iterator[Job]:
    for model in chosen:
        for draw in range(asked.fits if model.private else 1):
            yield Job(name, model.name, epsilon if model.private else None, rows, draw)


def key_of(line: Line) -> tuple[Any, ...]:
    """What a fit is known by."""
    return Job(*(line[key] for key in Job.__annotations__)).key


def run(asked: argparse.Namespace, file: Store) -> None:
    """Fit what is not done, and append its lines; stop in time.

    What auto picked is not fitted again under its own name.
    """
    stop = time.monotonic() + 60 * asked.minutes
    by_name = {model.name: model for model in asked.chosen}
    done = {key_of(line) for line in with_picked(file.lines())}
    todo = [job for job in jobs_of(asked) if job.key not in done]
    with tqdm(todo, unit="fit", mininterval=1, smoothing=0) as progress:
        for job in progress:
            if job.key in done:
                continue
            progress.set_postfix_str(f"{job.dataset}, {job.model}", refresh=False)
            line = line_of(job, by_name[job.model], asked.data)
            file.append(line)
            done |= {key_of(one) for one in with_picked([line])}
            if time.monotonic() > stop:
                progress.write("time is up: run the same command again to go on")
                break


def main() -> None:
    """Run, then report."""
    # Here, since what is imported above belongs to what results depend on.
    from common.pages import place_of

    asked = parse()
    file = stored(asked.results)
    if not asked.report_only:
        absent = set(asked.sets) - set(classification_tables(asked.data))
        if absent:
            raise SystemExit(
                f"skipped: no {', '.join(sorted(absent))} in {asked.data}; give --data"
            )
        threadpool_limits(1)
        run(asked, file)
    lines = file.reported()
    write_report(lines, place_of(asked.page, missing(lines, asked.data)))


def missing(lines: list[Line], folder: Path) -> set[Any]:
    """Fits, or tables, that the page is made of and that are not there."""
    every = parse([])
    every.data = folder
    absent = set(every.sets) - set(classification_tables(folder))
    if absent:
        return absent
    done = {key_of(line) for line in with_picked(lines)}
    return {job.key for job in jobs_of(every)} - done


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """The command line, and the models that it asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    add("--sets", nargs="*", default=list(SETS))
    add("--epsilons", nargs="*", type=float, default=list(EPSILONS))
    add("--law-rows", nargs="*", type=int, default=list(ROWS_OF_LAW))
    add("--models", nargs="*", help="only models whose name begins with one of these")
    add("--fits", type=int, default=1, help="of each private model in each cell")
    add("--minutes", type=float, default=float("inf"), help="stop after the fit that passes this")
    add("--data", type=Path, default=data_folder(), help="folder of tables, or DPFOREST_DATA")
    results = REPOSITORY / "benchmarks" / "results" / "curves.jsonl"
    add("--results", type=Path, default=results)
    add("--page", type=Path, default=PAGE, help="the page to write, its plots beside it")
    add("--report-only", action="store_true")
    asked = parser.parse_args(words)
    asked.chosen = [m for m in models() if m.name.startswith(tuple(asked.models or [""]))]
    if asked.parts == ["law"]:
        asked.sets = []
    return asked


if __name__ == "__main__":
    main()
