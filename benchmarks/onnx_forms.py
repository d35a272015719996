"""Forests of every strategy as ONNX, run by onnxruntime, against the forests themselves.

Every table is fitted by every strategy at full size, on up to 2,000 records at a large epsilon,
written as ONNX, and run on its own records, and on those with missing, unknown and odd values. What
ONNX cannot be sent goes to both as what it stands for: a text where a number belongs as missing, a
text that the file does not spell as an unknown one. Noise is the operating system's, so models
differ from run to run. One JSON line a model is appended to ``--results``, and what is there by
the same sources is skipped; docs/exports_onnx_results.md is written at the end.

    python benchmarks/onnx_forms.py                 # everything not yet done
    python benchmarks/onnx_forms.py --sets car wdbc
    python benchmarks/onnx_forms.py --report-only
"""

from __future__ import annotations

import argparse
import time
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from common.plain_forms import PlainTable, as_matrix, forms_of, read_plain_table
from common.results import Line, Store
from common.sources import Sources
from common.tables import REPOSITORY, data_folder
from threadpoolctl import threadpool_limits

from dpforest import PrivateForestClassifier, PrivateForestRegressor
from dpforest.exceptions import RepeatedFitWarning, WeakSignalWarning
from dpforest.exports.parts import read_document
from dpforest.exports.spellings import spellings
from dpforest.trees.strategies import NEED_DELTA, STRATEGIES

EPSILON, DELTA = 8, "1e-6"
RESULTS = REPOSITORY / "benchmarks" / "results" / "onnx_forms.jsonl"
PAGE = REPOSITORY / "docs" / "exports_onnx_results.md"
CLOSE = 1e-12
FORMS = ("text", "missing", "unknown")
#: What writes, and this benchmark; the page is of these files as they are.
SOURCES = Sources(
    files=("dpforest/exports", "dpforest/plain/writing.py", "benchmarks/onnx_forms.py"),
    packages=("onnxruntime",),
)


def fit(table: PlainTable, strategy: str) -> Any:
    """A forest of up to 2,000 records of a table."""
    n = table.n_fitted
    domain = table.domain.model_copy(update={"approximate_rows": n})
    make: Any = PrivateForestClassifier if domain.classes else PrivateForestRegressor
    delta = DELTA if strategy in NEED_DELTA else 0
    forest = make(epsilon=EPSILON, delta=delta, strategy=strategy, domain=domain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSignalWarning)
        warnings.simplefilter("ignore", RepeatedFitWarning)
        return forest.fit(as_matrix(domain, table.cells[:n]), table.labels[:n])


def session_of(content: bytes) -> Any:
    """A runtime of one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def sendable(table: PlainTable, text: str, records: list[list[Any]]) -> list[list[Any]]:
    """Records as they can be sent: numbers of numeric features, known texts of categorical ones."""
    known = [
        None if feature.is_numeric else spellings(feature)
        for feature in read_document(text).features
    ]
    return [
        [_number(value) if own is None else _text(value, own)
         for value, own in zip(row, known, strict=True)]
        for row in records
    ]  # fmt: skip


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")
    except OverflowError:
        return float("inf")


def _text(value: Any, known: dict[str, int]) -> str:
    """What is known as it stands; all else as a text that is unknown to both."""
    text = "" if value is None else str(value)
    return text if text in known else "neither"


def fed(session: Any, table: PlainTable, records: list[list[Any]]) -> dict[str, Any]:
    """Tensors by the names of the features."""
    kinds = [feature.kind == "numeric" for feature in table.domain.features]
    columns = zip(session.get_inputs(), kinds, zip(*records, strict=True), strict=True)
    return {
        one.name: np.array(column, dtype=np.float64 if numeric else object)[:, None]
        for one, numeric, column in columns
    }


def predicted(forest: Any, records: list[list[Any]]) -> np.ndarray:
    """What the forest itself says, shape (n, columns)."""
    proba = getattr(forest, "predict_proba", None)
    found: np.ndarray = forest.predict(records)[:, None] if proba is None else proba(records)
    return found


def scale_of(forest: Any) -> float:
    """The width of a regression's range; 1 for probabilities."""
    low, high = getattr(forest, "target_range_", (0.0, 1.0))
    return float(high - low)


def compare(forest: Any, table: PlainTable, seed: int) -> Line:
    """Largest differences by form, wrong labels, sizes and times."""
    content, text = forest.to_onnx(), forest.to_plain()
    session, forms = session_of(content), forms_of(table, seed)
    line: Line = {"bytes": len(content), "differences": {}, "labels": 0, "n": 0}
    for form in FORMS:
        records = sendable(table, text, forms[form])
        expected = predicted(forest, records)
        first, *rest = session.run(None, fed(session, table, records))
        found = rest[0] if rest else first
        line["differences"][form] = float(np.abs(found - expected).max()) / scale_of(forest)
        line["labels"] += _wrong_labels(forest, expected, first) if rest else 0
        line["n"] += len(records)
    thousand = (table.cells * (1 + 1000 // len(table.cells)))[:1000]
    return line | timed(forest, session, fed(session, table, sendable(table, text, thousand)))


def _wrong_labels(forest: Any, expected: np.ndarray, labels: np.ndarray) -> int:
    """Labels that differ where the two highest probabilities do."""
    top = np.sort(expected, axis=1)
    own = np.asarray(forest.classes_, dtype=object)[expected.argmax(axis=1)]
    return int(((labels.astype(object) != own) & (top[:, -1] - top[:, -2] > CLOSE)).sum())


def timed(forest: Any, session: Any, feed: dict[str, Any]) -> Line:
    """Processor seconds of 1,000 records by both, one thread, the least of three turns."""
    records = [list(row) for row in zip(*(column[:, 0] for column in feed.values()), strict=True)]
    turns = [
        (_seconds(lambda: predicted(forest, records)), _seconds(lambda: session.run(None, feed)))
        for _ in range(3)
    ]
    own, theirs = np.min(turns, axis=0)
    return {"own": float(own), "onnx": float(theirs)}


def _seconds(act: Any) -> float:
    started = time.process_time()
    act()
    return time.process_time() - started


def run(folder: Path, sets: list[str], file: Store) -> None:
    """Everything that is not there yet."""
    done = {(line["dataset"], line["model"]) for line in file.lines()}
    for name in sets:
        table = read_plain_table(folder, name)
        for strategy in STRATEGIES:
            if (name, strategy) not in done:
                seed = zlib.crc32(f"{name} {strategy}".encode())
                line = compare(fit(table, strategy), table, seed)
                file.append({"dataset": name, "model": strategy, **line})
                print(name, strategy, f"{worst(line):.1e}", flush=True)


def worst(line: Line) -> float:
    """The largest difference of a line."""
    return max(line["differences"].values())


def report(lines: list[Line]) -> str:
    """The page."""
    tables = {line["dataset"] for line in lines}
    wrong, n = sum(line["labels"] for line in lines), sum(line["n"] for line in lines)
    return "\n".join([
        "# ONNX files beside their forests", "",
        "Written by `python benchmarks/onnx_forms.py`, which says what is done. "
        f"onnxruntime {onnxruntime.__version__}: {len(tables)} tables, {len(lines)} models, "
        f"{n:,} records. The largest difference of all is {max(map(worst, lines)):.1e} (1e-12 is "
        f"what is promised), and {wrong} labels differ where the two highest probabilities do. "
        "Means count in parts of their range. "
        "Times are processor milliseconds of 1,000 records on one thread; those of the forest "
        "include the reading of the records, as lists.", "",
        "## By strategy, the worst first", "",
        "| strategy | models | text | missing | unknown | wrong labels | kilobytes, median (most) "
        "| × the forest's time, median (most) |",
        "| --- " * 8 + "|", *by_strategy(lines), "",
        "## By table, the worst first", "",
        "| table | difference | strategy | kilobytes | ms | the forest's ms |", "| --- " * 6 + "|",
        *by_table(lines), "",
    ])  # fmt: skip


def by_strategy(lines: list[Line]) -> list[str]:
    """A row for each strategy."""
    rows = []
    for name in STRATEGIES:
        own = [line for line in lines if line["model"] == name]
        if own:
            rows.append((max(map(worst, own)), _strategy_row(name, own)))
    return [row for _, row in sorted(rows, reverse=True)]


def _strategy_row(name: str, own: list[Line]) -> str:
    found = (f"{max(line['differences'][form] for line in own):.1e}" for form in FORMS)
    sizes = [line["bytes"] / 1000 for line in own]
    ratios = [line["onnx"] / max(line["own"], 1e-9) for line in own]
    cells = (
        name, len(own), *found, sum(line["labels"] for line in own),
        f"{np.median(sizes):,.0f} ({max(sizes):,.0f})",
        f"{np.median(ratios):.2f} ({max(ratios):.2f})",
    )  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def by_table(lines: list[Line]) -> list[str]:
    """A row for each table: its worst model."""
    rows = []
    for name in {line["dataset"] for line in lines}:
        line = max((line for line in lines if line["dataset"] == name), key=worst)
        rows.append((worst(line), name, line))
    return [
        f"| {name} | {difference:.1e} | {line['model']} | {line['bytes'] / 1000:,.0f} | "
        f"{1000 * line['onnx']:.1f} | {1000 * line['own']:.1f} |"
        for difference, name, line in sorted(rows, key=lambda row: (-row[0], row[1]))
    ]


def missing(lines: list[Line], folder: Path) -> set[str]:
    """Tables of the folder that have no line; the folder itself where it has none."""
    every = {path.stem for path in folder.glob("*.json")} or {str(folder)}
    return every - {line["dataset"] for line in lines}


def main() -> None:
    """Run what is asked for and write the page."""
    # Here, since what is imported above belongs to what results depend on.
    from common.pages import place_of

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--report-only", action="store_true")
    asked = parser.parse_args()
    file = Store(asked.results, SOURCES)
    with threadpool_limits(1):
        if not asked.report_only:
            sets = asked.sets or sorted(path.stem for path in asked.data.glob("*.json"))
            run(asked.data, sets, file)
    lines = list({(line["dataset"], line["model"]): line for line in file.reported()}.values())
    place_of(PAGE, missing(lines, asked.data)).write_text(report(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
