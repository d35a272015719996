"""Utility of the private forests over tables, epsilons and seeds, beside what others reach.

All models learn and are tested on the same stratified 75/25 splits. One JSON line a fit is
appended to ``results.jsonl``; what is there is skipped, so a run can be stopped and taken up.
Then Markdown tables (``utility.md``) and, where matplotlib is installed, plots are written from
all lines. Other packages run where they can be imported, and where a folder of their stored
results (``DPFOREST_BENCH``) has the same split, those are shown instead.

    python benchmarks/utility.py                            # everything not yet done
    python benchmarks/utility.py --sets adult wdbc --epsilons 0.1 1 --seeds 2
    python benchmarks/utility.py --strategies auto one_shot --models dpforest
    python benchmarks/utility.py --report-only --models "dpforest auto" majority

Our noise comes from the operating system, so that figures repeat only within their spread. A
table of more than 50,000 records is there as a whole and as a part, ``covertype@50000``. The
domains are those declared in the tables' metadata, with missing values allowed in every column;
"rows" in a model's name says that the training records' number is declared, rounded to one digit,
and without it a noisy one is bought.
"""

from __future__ import annotations

import argparse
import platform
import time
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from common import models as models_of
from common.our_forests import NAMES
from common.records import PART_ROWS, Split
from common.results import Key, Line, Store, finished, key_of, stored_peers
from common.scores import in_all_classes, scores
from common.sources import Sources, by_beginning
from common.tables import (
    REPOSITORY,
    Facts,
    Table,
    classification_tables,
    data_folder,
    load_table,
    stratified_split,
)
from common.utility_plots import write_plots
from common.utility_report import write_report
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import dpforest

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0)
#: For tables of `common.records.PART_ROWS` records and more.
SEEDS_OF_LONG_TABLES = 3
STRATEGIES = "auto", *NAMES


@dataclass(frozen=True)
class Job:
    """One fit."""

    folder: Path
    dataset: str
    model: str
    epsilon: float | None
    seed: int

    @property
    def key(self) -> Key:
        """What its result line is known by."""
        return self.dataset, self.model, self.epsilon, self.seed


class Runner:
    """Fits in this process; made anew in every other, since makers of models cannot be sent."""

    def __init__(self, strategies: list[str], tuned: bool) -> None:
        threadpool_limits(1)  # one process a core is what the command line counts
        self.models = {model.name: model for model in all_models(strategies, tuned)}

    def run(self, job: Job) -> Line:
        """The result line of a fit, with its error where it failed."""
        return line_of(job, self.models[job.model])


def line_of(job: Job, model: models_of.Model) -> Line:
    """The result line of a model's fit, with its error where it failed."""
    table = load_table(job.folder, job.dataset)
    split = stratified_split(table, job.seed)
    line: Line = {
        "dataset": job.dataset,
        "model": job.model,
        "epsilon": job.epsilon,
        "seed": job.seed,
        "split": split.fingerprint,
        "n_train": split.train.size,
        "n_classes": table.n_classes,
    }
    try:
        with quiet():
            made = model.make(table, split.train.size, job.epsilon or 0.0, job.seed)
            return line | measured(made, model.features(table), table, split)
    except Exception as error:  # one failure must not end the run
        return line | {"error": f"{type(error).__name__}: {str(error)[:300]}"}


def _sources(maker: str, *packages: str) -> Sources:
    return Sources(("utility:line_of", f"common.models:{maker}"), packages=packages)


#: By the beginnings of models' names.
MADE_BY = {
    "dpforest ": _sources("private_forests"),
    "multinomial forest": _sources("multinomial_forests"),
    "majority": _sources("references"),
    "non-private forest": _sources("references", "scikit-learn"),
    "diffprivlib forest": _sources("diffprivlib_forest", "diffprivlib"),
    "DP-EBM": _sources("private_ebm", "interpret-core"),
}


def stored(folder: Path) -> Store:
    """The lines of all fits."""
    return Store(folder / "results.jsonl", lambda line: by_beginning(MADE_BY, line["model"]))


_runner: Runner | None = None


def _start_process(strategies: list[str], tuned: bool) -> None:
    global _runner
    _runner = Runner(strategies, tuned)


def _run_in_process(job: Job) -> Line:
    assert _runner is not None
    return _runner.run(job)


class quiet(warnings.catch_warnings):
    """No warnings, but a fit of ours whose guarantee is void is an error."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", dpforest.PrivacyLeakWarning)
        return entered


def measured(model: Any, X: np.ndarray, table: Table, split: Split) -> Line:
    """Fit, predict and score; the first fit of a process includes loading compiled code."""
    y = table.y
    started = time.perf_counter()
    model.fit(X[split.train], y[split.train])
    seconds = time.perf_counter() - started
    seen = np.asarray(model.predict_proba(X[split.test]), dtype=float)
    probabilities = in_all_classes(seen, model.classes_, table.n_classes)
    predicted = np.asarray(model.predict(X[split.test])).astype(int)
    line: Line = scores(y[split.test], predicted, probabilities)
    line["fit_seconds"] = round(seconds, 4)
    if hasattr(model, "strategy_"):
        line["strategy"] = model.strategy_
    return line


def all_models(strategies: list[str], tuned: bool) -> list[models_of.Model]:
    """Ours, the references and what can be imported of other packages."""
    ours = [*models_of.private_forests(strategies), *models_of.multinomial_forests()]
    return [*models_of.references(), *ours, *models_of.peers(tuned)]


def planned_jobs(
    arguments: argparse.Namespace, tables: dict[str, Facts], models: Iterable[models_of.Model]
) -> Iterator[Job]:
    """All fits asked for; those of one table follow each other, so that it is read once."""
    for name in arguments.sets or tables:
        facts = tables[name]
        most = SEEDS_OF_LONG_TABLES if facts.n_rows >= PART_ROWS else arguments.seeds
        for seed in range(min(arguments.seeds, most)):
            for model in models:
                if not (model.binary_only and facts.n_classes > 2):
                    for epsilon in model.epsilons(arguments.epsilons):
                        yield Job(arguments.data, name, model.name, epsilon, seed)


def run_jobs(jobs: list[Job], arguments: argparse.Namespace) -> Iterator[Line]:
    """Result lines as the fits end."""
    setting = (arguments.strategies, arguments.tuned)
    if arguments.workers == 1:
        yield from map(Runner(*setting).run, jobs)
        return
    with ProcessPoolExecutor(
        arguments.workers, initializer=_start_process, initargs=setting
    ) as pool:
        futures = [pool.submit(_run_in_process, job) for job in jobs]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def run(jobs: list[Job], arguments: argparse.Namespace, file: Store) -> None:
    """Run what is not done, and append its lines; stop in time."""
    stop = time.monotonic() + 60 * arguments.minutes
    lines = run_jobs(jobs, arguments)
    with tqdm(total=len(jobs), unit="fit", mininterval=1, smoothing=0) as progress:
        for line in lines:
            file.append(line | {"versions": versions()})
            progress.set_postfix_str(f"{line['dataset']}, {line['model']}", refresh=False)
            progress.update()
            if "error" in line:
                progress.write(f"{key_of(line)}: {line['error']}")
            if time.monotonic() > stop:
                progress.write("time is up: run the same command again to go on")
                break
    lines.close()


def versions() -> dict[str, str]:
    """Of the interpreter and the packages that figures depend on."""
    found = {"python": platform.python_version(), "dpforest": dpforest.__version__}
    for package in ("numpy", "scikit-learn", "diffprivlib", "interpret-core"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def usable(strategies: list[str]) -> list[str]:
    """The strategies that can be imported; the others are named with the reason."""
    missing = models_of.missing_strategies(strategies)
    for strategy, reason in missing.items():
        print(f'skipped: strategy "{strategy}" cannot be imported here ({reason})')
    return [strategy for strategy in strategies if strategy not in missing]


def main() -> None:
    """Run, then report."""
    arguments = parse()
    tables = classification_tables(arguments.data)
    unknown = set(arguments.sets) - set(tables)
    if unknown or not tables:
        raise SystemExit(f"no table {sorted(unknown) or ''} in {arguments.data}: give --data")
    arguments.strategies = usable(arguments.strategies)
    models = [
        model
        for model in all_models(arguments.strategies, arguments.tuned)
        if any(part in model.name for part in arguments.models or [""])
    ]
    file = stored(arguments.out)
    if not arguments.report_only:
        done = set(finished(file.lines()))
        done |= {key_of(line) for line in stored_peers(tables) if line["default"]}
        jobs = [job for job in planned_jobs(arguments, tables, models) if job.key not in done]
        run(jobs, arguments, file)
    names = [model.name for model in models]
    report = write_report(arguments, tables, names, file.reported())
    write_plots(report, arguments.out)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--sets", nargs="*", default=[], help="names of tables; default all, short ones first")
    add("--epsilons", nargs="*", type=float, default=list(EPSILONS))
    add("--seeds", type=int, default=5, help="at most 3 for tables from 50,000 records on")
    add("--strategies", nargs="*", choices=STRATEGIES, default=["auto"])
    add("--models", nargs="*", help="only models whose name contains one of these")
    add("--tuned", action="store_true", help="run diffprivlib's grid too")
    add("--data", type=Path, default=data_folder(), help="folder of tables, or DPFOREST_DATA")
    add("--out", type=Path, default=REPOSITORY / "benchmarks" / "results" / "utility")
    add("--workers", type=int, default=1, help="processes; one a core")
    add("--minutes", type=float, default=float("inf"), help="stop after the fit that passes this")
    add("--report-only", action="store_true", help="write tables and plots from what is there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
