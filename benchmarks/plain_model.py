"""Plain models of every strategy, followed by both readers, against the forests themselves.

Every table is fitted by every strategy on up to 2,000 records at a large epsilon, written as a
plain model, and predicted in four forms: as a matrix with categories as positions, as text, with
missing values, with unknown and odd ones. Noise is the operating system's, so models differ from
run to run. One JSON line a model is appended to ``--results``, and what is there by the same
sources is skipped; docs/plain_model_results.md is written at the end.

    python benchmarks/plain_model.py                 # everything not yet done
    python benchmarks/plain_model.py --sets car wdbc --report /dev/null
    python benchmarks/plain_model.py --report-only
"""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from common.exported import drive, scale_of
from common.our_forests import names_of, our_forest
from common.plain_forms import FORMS, PlainTable, as_matrix, forms_of, read_plain_table
from common.plain_readers import READER, by_node, by_python, node
from common.results import Line, Store
from common.sources import Sources
from common.tables import REPOSITORY

from dpforest import MultinomialForestClassifier
from dpforest.exceptions import RepeatedFitWarning, WeakSignalWarning
from dpforest.trees.refitted import RefittedForest
from dpforest.trees.refitted.settings import RefittedSettings, RefittedSize
from dpforest.trees.rules import RulesLearner, RulesSettings
from dpforest.trees.strategies import Strategy

EPSILON, DELTA = 8, "1e-6"
RESULTS = REPOSITORY / "benchmarks" / "results" / "plain_model.jsonl"
PAGE = REPOSITORY / "docs" / "plain_model_results.md"
_RULES = RulesLearner(RulesSettings(n_sums=24, n_cuts=15))
#: Learners that are made small: few rules; few rounds, after a linear start.
_SMALL = {
    "RulesLearner": _RULES,
    "RefittedForest": RefittedForest(
        RefittedSettings(fixed_size=RefittedSize(3, 4, 24), start_signal=1e-9)
    ),
}
_DRAWN: dict[str, dict[str, Any]] = {
    "multinomial forest": {},
    "multinomial forest, lattice": {"thresholds": "lattice"},
    "multinomial forest, labels": {"leaves": "label"},
}
READERS: dict[str, Callable[..., list[Any]]] = {"Python": by_python, "JavaScript": by_node}
#: The format and its readers, and this benchmark; the page is of these files as they are.
SOURCES = Sources(files=(
    "dpforest/plain",
    "dpforest/verify/plain.py",
    "examples/plain_model.mjs",
    "benchmarks/plain_model.py",
    "benchmarks/common/exported.py",
    "benchmarks/common/plain_*.py",
))  # fmt: skip


def models_of(table: PlainTable) -> dict[str, Any]:
    """Unfitted forests by name."""
    domain = table.domain.model_copy(update={"approximate_rows": table.n_fitted})
    found = {
        name: our_forest(name, domain, EPSILON, DELTA if name == "refitted" else 0)
        for name in names_of(domain)
    }
    if domain.classes:
        small = {"epsilon": EPSILON, "domain": domain, "n_estimators": 4, "max_depth": 5}
        found |= {
            name: MultinomialForestClassifier(**small, **more) for name, more in _DRAWN.items()
        }
    return found


def fit(forest: Any, table: PlainTable) -> Any:
    """Fit on the table as a matrix of positions."""
    n = table.n_fitted
    real = Strategy.make
    small = mock.patch.object(Strategy, "make", lambda e: _SMALL.get(e.learner) or real(e))
    with small, warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSignalWarning)
        warnings.simplefilter("ignore", RepeatedFitWarning)
        return forest.fit(as_matrix(table.domain, table.cells[:n]), table.labels[:n])


def compare(forest: Any, table: PlainTable, seed: int) -> Line:
    """Largest differences by form and reader, in parts of the range where means are predicted."""
    forms = forms_of(table, seed)
    text = forest.to_plain()
    expected = [predicted(forest, name, records) for name, records in forms.items()]
    spans = np.cumsum([len(records) for records in forms.values()])[:-1]
    records = [record for found in forms.values() for record in found]
    differences: dict[str, dict[str, float]] = {name: {} for name in forms}
    for reader, read in READERS.items():
        found = np.split(np.array(read(text, records)), spans)
        for name, own, other in zip(forms, expected, found, strict=True):
            differences[name][reader] = float(np.abs(own - other).max()) / scale_of(forest)
    spread = float(np.ptp(np.concatenate(expected), axis=0).max()) / scale_of(forest)
    return {"n": len(records), "spread": spread, "size": len(text), "differences": differences}


def predicted(forest: Any, form: str, records: Any) -> np.ndarray:
    """What the forest itself says."""
    table = np.array(records) if form == "matrix" else records
    proba = getattr(forest, "predict_proba", None)
    found: np.ndarray = forest.predict(table) if proba is None else proba(table)
    return found


def run(folder: Path, sets: list[str], file: Store) -> None:
    """Everything that is not there yet."""
    done = {(line["dataset"], line["model"]) for line in file.lines()}
    for name in sets:
        table = read_plain_table(folder, name)
        for model, forest in models_of(table).items():
            if (name, model) not in done:
                started = time.perf_counter()
                line = compare(fit(forest, table), table, zlib.crc32(f"{name} {model}".encode()))
                file.append({"dataset": name, "model": model, **line})
                worst = max(d for by in line["differences"].values() for d in by.values())
                print(f"{name}, {model}: {worst:.1e} ({time.perf_counter() - started:.0f} s)",
                      flush=True)  # fmt: skip


def cells_of(line: Line) -> Iterator[tuple[float, str, str]]:
    """Difference, form and reader."""
    for form, by_reader in line["differences"].items():
        for reader, difference in by_reader.items():
            yield difference, form, reader


def report(lines: list[Line], own: str) -> str:
    """The page."""
    worst = max(max(cells_of(line))[0] for line in lines)
    tables = sorted({line["dataset"] for line in lines})
    moved = sum(line["spread"] > 0.05 for line in lines)
    return "\n".join([
        "# Plain models beside their forests", "",
        "Written by `python benchmarks/plain_model.py`, which says what is done. "
        f"Sources `{own}`: {len(tables)} tables, {len(lines)} models, "
        f"{sum(line['n'] for line in lines):,} records; the predictions of {moved} models spread "
        "over more than a twentieth. The largest difference of all is "
        f"{worst:.1e}; 1e-12 is what is promised. Means count in parts of their range.", "",
        "## Largest difference by strategy, form and reader", "",
        *by_model(lines), "", "## By table, the worst first", "", *by_table(lines), "",
    ])  # fmt: skip


def by_model(lines: list[Line]) -> list[str]:
    """A row for each kind of forest."""
    columns = [(form, reader) for form in FORMS for reader in READERS]
    rows = [
        "| forest | tables | " + " | ".join(f"{form}, {reader}" for form, reader in columns) + " |",
        "| --- |" + " --- |" * (len(columns) + 1),
    ]
    for model in dict.fromkeys(line["model"] for line in lines):
        own = [line for line in lines if line["model"] == model]
        found = [max(line["differences"][f][r] for line in own) for f, r in columns]
        rows.append(f"| {model} | {len(own)} | " + " | ".join(f"{d:.1e}" for d in found) + " |")
    return rows


def by_table(lines: list[Line]) -> list[str]:
    """A row for each table: where it is worst."""
    found = [
        (*max(cells_of(line)), line["model"], line["dataset"])
        for line in lines
    ]  # fmt: skip
    worst = {name: max(row for row in found if row[-1] == name) for *_, name in found}
    rows = [f"| {name} | {d:.1e} | {model} | {form} | {reader} |"
            for d, form, reader, model, name in sorted(worst.values(), reverse=True)]  # fmt: skip
    return ["| table | difference | forest | form | reader |", "| --- |" + " --- |" * 4, *rows]


def run_with_both(folder: Path, sets: list[str], file: Store) -> None:
    """The same, where both readers are there."""
    if node() is None:
        raise SystemExit(f"the reader in JavaScript ({READER.name}) needs Node 18 or later")
    run(folder, sets, file)


def main() -> None:
    """Run what is asked for and write the page."""
    drive(
        __doc__, RESULTS, PAGE, lambda path: Store(path, SOURCES), run_with_both,
        lambda lines: report(lines, SOURCES.print()),
    )  # fmt: skip


if __name__ == "__main__":
    main()
