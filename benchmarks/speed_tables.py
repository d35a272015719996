"""Fits of the default and predictions from a data frame on every table, beside scikit-learn's.

Ours are what a user calls: ``fit`` and ``predict_proba`` of a data frame, encoding included, at
epsilon = 1, pure and with delta = 1e-6. Beside them stand scikit-learn's forest of 100 trees grown
out, which is handed the codes as float32, and on covertype `HistGradientBoosting` of 60 rounds and
255 leaves. All run in turn after compilation, on one thread, in processor seconds of the process;
a ratio is the median over turns of ours over theirs in the same turn: three turns, of more than
thirty seconds one. The import is that of `import_time.py`, in fresh processes.

A table is a JSON line, appended as it ends, and is not measured again while it is there:
``python benchmarks/speed_tables.py [--tables adult ...] [--import] [--again]``; without names all
tables of ``--data``, short ones first. ``--write`` makes the tables of docs/speed.md.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import import_time
import numpy as np
from common.records import facts_of_tables
from common.sources import Sources
from common.speed_tables_report import write_page
from common.tables import REPOSITORY, data_folder
from speed import DEFAULT_RESULTS as SPEED_RESULTS
from speed import Actions, Results, in_turn

from dpforest import Domain, PrivateForestClassifier, PrivateForestRegressor
from dpforest.domain.encoder import DomainEncoder

DEFAULT_RESULTS = SPEED_RESULTS.with_stem("speed_tables")
MADE_BY = {
    "table": Sources(("speed_tables:time_table",), packages=("scikit-learn",)),
    "import": Sources(("speed_tables:time_import",), packages=("scikit-learn", "numba")),
}
DELTAS = {"pure": 0.0, "delta": 1e-6}
#: Records with which fits of long tables are run before they are timed, for the compiler.
WARM = 20_000
#: Seconds of a turn, a sixth of those from which there is but one.
LONG = 5.0
CLASSIFIER = "PrivateForestClassifier"
#: What the page is made of.
REPEATS, PAIRS = 3, 11


@dataclass(frozen=True)
class Framed:
    """A table as a data frame, and as the codes that scikit-learn gets."""

    name: str
    task: str
    frame: Any
    y: Any
    domain: Domain
    codes: np.ndarray
    labels: np.ndarray


def table_of(name: str, folder: Path, facts: dict[str, Any]) -> Framed:
    """A table of a folder; categories and classes are read as texts."""
    import pandas as pd

    names = [c["name"] for c in facts["columns"] if c["kind"] == "categorical"]
    if facts["task"] == "classification":
        names.append("target")
    path, types = folder / f"{name}.csv.gz", dict.fromkeys(names, str)
    frame = pd.read_csv(path, dtype=types, keep_default_na=False, na_values=[""])
    y, domain = frame.pop("target"), Domain.from_json(folder / f"{name}.json")
    table = DomainEncoder(domain, task=facts["task"]).encode(frame, y)
    labels = table.labels if facts["task"] == "classification" else table.targets
    codes = np.ascontiguousarray(table.matrix.codes, dtype=np.float32)
    return Framed(name, facts["task"], frame, y, domain, codes, labels)


def our_models(table: Framed) -> dict[str, Any]:
    """The default, pure and with a delta, and on covertype the boosted forest."""
    kind: Any = PrivateForestRegressor
    if table.task == "classification":
        kind = PrivateForestClassifier
    models = {
        name: kind(epsilon=1, delta=delta, domain=table.domain, n_jobs=1)
        for name, delta in DELTAS.items()
    }
    if table.name == "covertype":
        models["boosted"] = kind(
            epsilon=1, delta=1e-6, domain=table.domain, strategy="boosted", n_jobs=1
        )
    return models


def their_models(table: Framed) -> dict[str, Any]:
    """The forest grown out, and on covertype histogram boosting."""
    from sklearn.ensemble import HistGradientBoostingClassifier as Boosting
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind: Any = RandomForestRegressor
    if table.task == "classification":
        kind = RandomForestClassifier
    models: dict[str, Any] = {"forest": kind(100, n_jobs=1)}
    if table.name == "covertype":
        models["HistGradientBoosting"] = Boosting(max_iter=60, max_leaf_nodes=255)
    return models


def time_table(table: Framed, repeats: int) -> dict[str, Any]:
    """Fits and predictions of one table."""
    ours, theirs = our_models(table), their_models(table)
    fits: Actions = {}
    for name, model in ours.items():
        model.fit(table.frame[:WARM], table.y[:WARM])  # compiles
        fits[name] = partial(model.fit, table.frame, table.y)
    for name, model in theirs.items():
        fits[name] = partial(model.fit, table.codes, table.labels)
    fitted = ratios(fits, repeats, set(theirs))
    ask = "predict_proba" if table.task == "classification" else "predict"
    asked: Actions = {name: partial(getattr(ours[name], ask), table.frame) for name in DELTAS}
    asked["forest"] = partial(getattr(theirs["forest"], ask), table.codes)
    for name in DELTAS:
        getattr(ours[name], ask)(table.frame[:WARM])
    picked = {name: model.strategy_ for name, model in ours.items()}
    asking = ratios(asked, repeats, {"forest"})
    return {"fits": fitted, "predictions": asking, "picked": picked}


def ratios(actions: Actions, repeats: int, peers: set[str]) -> dict[str, Any]:
    """Median seconds by action, and median ratios of ours to each peer's."""
    turns = in_turn(actions, repeats, 1, LONG)
    columns = dict(zip(actions, turns.T, strict=True))
    found: dict[str, Any] = {"repeats": len(turns)}
    found["seconds"] = {name: float(np.median(column)) for name, column in columns.items()}
    found["ratio"] = {
        peer: {
            name: float(np.median(columns[name] / columns[peer]))
            for name in columns
            if name not in peers
        }
        for peer in peers
    }
    return found


def time_import(pairs: int) -> dict[str, Any]:
    """Importing the classifier beside importing scikit-learn's forest."""
    statement = import_time.CASES[CLASSIFIER]
    found = {}
    for name, base in (("base", import_time.BASE), ("forest", import_time.FOREST)):
        ours, theirs = import_time.measure(statement, pairs, base)
        ratio = statistics.median(own / other for own, other in zip(ours, theirs, strict=True))
        seconds = {"ours": statistics.median(ours), "theirs": statistics.median(theirs)}
        found[name] = {"ratio": ratio, "seconds": seconds, "statement": base}
    return {"pairs": pairs, **found}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="*", help="all, where it is left out")
    parser.add_argument("--import", dest="imports", action="store_true", help="the import, too")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--results", type=Path, default=DEFAULT_RESULTS)
    parser.add_argument("--again", action="store_true", help="measure what is there, too")
    parser.add_argument("--write", action="store_true", help="make docs/speed.md of the results")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(arguments.results, arguments.again, MADE_BY)
    if not arguments.write:
        measure(arguments, results)
    else:
        # Here, since what is imported above belongs to what results depend on.
        from common.pages import place_of

        lines, page = results.file.reported(), REPOSITORY / "docs" / "speed.md"
        lost = missing(lines, arguments.data, page)
        write_page(lines, place_of(page, lost, marked=True))


def missing(lines: list[dict[str, Any]], folder: Path, page: Path) -> set[str]:
    """Tables, and the import, that the page has and these lines do not, in as many turns."""
    from common.speed_tables_report import tables_of

    names = {
        name
        for task in ("classification", "regression")
        for name, _ in facts_of_tables(folder, task)
    }
    whole = {
        line["table"]
        for line in lines
        if line["part"] == "table"
        and (line["fits"]["repeats"] >= REPEATS or sum(line["fits"]["seconds"].values()) > 6 * LONG)
    }
    imports = [line for line in lines if line["part"] == "import" and line["pairs"] >= PAIRS]
    absent = {f"table {n}" for n in range(len(names | whole), tables_of(page))}
    return (names - whole) | absent | ({"the import"} if not imports else set())


def measure(arguments: argparse.Namespace, results: Results) -> None:
    """What is missing, short tables first."""
    if arguments.imports and results.missing(part="import"):
        results.add({"part": "import", **time_import(arguments.pairs)})
    every = [
        (facts["n_rows"], name, facts)
        for task in ("classification", "regression")
        for name, facts in facts_of_tables(arguments.data, task)
        if arguments.tables is None or name in arguments.tables
    ]
    for _, name, facts in sorted(every, key=lambda entry: entry[:2]):
        key = {"part": "table", "table": name}
        if results.missing(**key):
            table = table_of(name, arguments.data, facts)
            shape = {"shape": table.frame.shape, "task": table.task}
            line = {**key, **shape, **time_table(table, arguments.repeats)}
            results.add(line)
            print(line["picked"], line["fits"], line["predictions"]["ratio"], flush=True)


if __name__ == "__main__":
    main()
