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

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from common.exported import drive, fit, predicted, scale_of, seconds, sendable, wrong_labels
from common.our_forests import NAMES, names_of
from common.plain_forms import PlainTable, forms_of, read_plain_table
from common.results import Line, Store
from common.sources import Sources
from common.tables import REPOSITORY

RESULTS = REPOSITORY / "benchmarks" / "results" / "onnx_forms.jsonl"
PAGE = REPOSITORY / "docs" / "exports_onnx_results.md"
FORMS = ("text", "missing", "unknown")
#: What writes, and this benchmark; the page is of these files as they are.
SOURCES = Sources(
    files=(
        "dpforest/exports/onnx_*.py",
        "dpforest/exports/parts.py",
        "dpforest/exports/spellings.py",
        "dpforest/plain/writing.py",
        "benchmarks/common/exported.py",
        "benchmarks/onnx_forms.py",
    ),
    packages=("onnxruntime",),
)


def session_of(content: bytes) -> Any:
    """A runtime of one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def fed(session: Any, table: PlainTable, records: list[list[Any]]) -> dict[str, Any]:
    """Tensors by the names of the features."""
    kinds = [feature.kind == "numeric" for feature in table.domain.features]
    columns = zip(session.get_inputs(), kinds, zip(*records, strict=True), strict=True)
    return {
        one.name: np.array(column, dtype=np.float64 if numeric else object)[:, None]
        for one, numeric, column in columns
    }


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
        line["labels"] += wrong_labels(forest, expected, first) if rest else 0
        line["n"] += len(records)
    thousand = (table.cells * (1 + 1000 // len(table.cells)))[:1000]
    return line | timed(forest, session, fed(session, table, sendable(table, text, thousand)))


def timed(forest: Any, session: Any, feed: dict[str, Any]) -> Line:
    """Processor seconds of 1,000 records by both, one thread, the least of three turns."""
    records = [list(row) for row in zip(*(column[:, 0] for column in feed.values()), strict=True)]
    turns = [
        (seconds(lambda: predicted(forest, records)), seconds(lambda: session.run(None, feed)))
        for _ in range(3)
    ]
    own, theirs = np.min(turns, axis=0)
    return {"own": float(own), "onnx": float(theirs)}


def run(folder: Path, sets: list[str], file: Store) -> None:
    """Everything that is not there yet."""
    done = {(line["dataset"], line["model"]) for line in file.lines()}
    for name in sets:
        table = read_plain_table(folder, name)
        for strategy in names_of(table.domain):
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
    for name in NAMES:
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


def main() -> None:
    """Run what is asked for and write the page."""
    drive(__doc__, RESULTS, PAGE, lambda path: Store(path, SOURCES), run, report)


if __name__ == "__main__":
    main()
