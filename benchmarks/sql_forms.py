"""Forests of every strategy as SQL, run by SQLite, against the forests themselves.

Every table is fitted by every strategy at full size, on up to 2,000 records at a large epsilon,
written as one SELECT, and run on its own records, and on those with missing, unknown and odd
values. What a column cannot hold goes to both as what it stands for: a text where a number belongs
as missing, a text that the statement does not spell as an unknown one. Noise is the operating
system's, so models differ from run to run. One JSON line a model is appended to ``--results``, and
what is there by the same sources is skipped; docs/exports_sql_results.md is written at the end.

    python benchmarks/sql_forms.py                 # everything not yet done
    python benchmarks/sql_forms.py --sets car wdbc
    python benchmarks/sql_forms.py --report-only
"""

from __future__ import annotations

import sqlite3
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from common.exported import drive, fit, predicted, scale_of, seconds, sendable, wrong_labels
from common.our_forests import NAMES, names_of
from common.plain_forms import PlainTable, forms_of, read_plain_table
from common.results import Line, Store
from common.sources import Sources
from common.tables import REPOSITORY

from dpforest.exceptions import ExportSizeError

RESULTS = REPOSITORY / "benchmarks" / "results" / "sql_forms.jsonl"
PAGE = REPOSITORY / "docs" / "exports_sql_results.md"
FORMS = ("text", "missing", "unknown")
#: What writes, and this benchmark; the page is of these files as they are.
SOURCES = Sources(
    files=("dpforest/exports/sql_*.py", "dpforest/exports/parts.py",
           "dpforest/exports/spellings.py", "dpforest/plain/writing.py",
           "benchmarks/common/exported.py", "benchmarks/sql_forms.py"),
)  # fmt: skip


def database_of(table: PlainTable, records: list[list[Any]]) -> sqlite3.Connection:
    """A table ``records`` with a key; NaN and empty texts are NULL."""
    kinds = {"numeric": "DOUBLE PRECISION", "categorical": "VARCHAR"}
    columns = ", ".join(
        '"' + feature.name.replace('"', '""') + f'" {kinds[feature.kind]}'
        for feature in table.domain.features
    )
    connection = sqlite3.connect(":memory:")
    connection.execute(f"CREATE TABLE records (record_number INTEGER, {columns})")
    marks = ", ".join("?" * (1 + table.domain.n_features))
    rows = [(number, *(value if value != "" else None for value in record))
            for number, record in enumerate(records)]  # fmt: skip
    connection.executemany(f"INSERT INTO records VALUES ({marks})", rows)
    return connection


def answers(statement: str, database: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Rows in the order of the records, without the key."""
    return [row[1:] for row in sorted(database.execute(statement), key=lambda row: row[0])]


def compare(forest: Any, table: PlainTable, seed: int) -> Line:
    """Largest differences by form, wrong labels, sizes and times; of what is refused the size."""
    text, forms = forest.to_plain(), forms_of(table, seed)
    try:
        statement = forest.to_sql(keep=["record_number"])
    except ExportSizeError as refused:
        return {"bytes": refused.size, "differences": {}, "labels": 0, "n": 0}
    line: Line = {"bytes": len(statement.encode()), "differences": {}, "labels": 0, "n": 0}
    for form in FORMS:
        records = sendable(table, text, forms[form])
        expected = predicted(forest, records)
        rows = answers(statement, database_of(table, records))
        has_labels = len(rows[0]) > expected.shape[1]
        found = np.array([row[has_labels:] for row in rows], dtype=np.float64)
        line["differences"][form] = float(np.abs(found - expected).max()) / scale_of(forest)
        if has_labels:
            labels = np.array([row[0] for row in rows], dtype=object)
            line["labels"] += wrong_labels(forest, expected, labels)
        line["n"] += len(records)
    return line | timed(statement, table, text)


def timed(statement: str, table: PlainTable, text: str) -> Line:
    """Processor seconds of one record, which is the statement's own time, and of 1,000."""
    thousand = (table.cells * (1 + 1000 // len(table.cells)))[:1000]
    found = {}
    for kind, cells in (("one", thousand[:1]), ("thousand", thousand)):
        database = database_of(table, sendable(table, text, cells))
        found[kind] = seconds(lambda own=database: own.execute(statement).fetchall())
    return found


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
                print(name, strategy, f"{worst(line):.1e}", line["bytes"], flush=True)


def worst(line: Line) -> float:
    """The largest difference of a line; 0 of what was refused."""
    return max(line["differences"].values(), default=0.0)


def report(lines: list[Line]) -> str:
    """The page."""
    written = [line for line in lines if line["differences"]]
    refused = [line for line in lines if not line["differences"]]
    tables = {line["dataset"] for line in lines}
    wrong, n = sum(line["labels"] for line in lines), sum(line["n"] for line in lines)
    return "\n".join([
        "# SQL beside its forests", "",
        "Written by `python benchmarks/sql_forms.py`, which says what is done. "
        f"SQLite {sqlite3.sqlite_version}: {len(tables)} tables, {len(lines)} models, of which "
        f"{len(refused)} are refused for their size; {n:,} records. The largest difference of all "
        f"is {max(map(worst, lines)):.1e} (1e-12 is what is promised), and {wrong} labels differ "
        "where the two highest probabilities do. Means count in parts of their range. Times are "
        "processor milliseconds; that of one record is the reading of the statement.", "",
        "## By strategy, the worst first", "",
        "| strategy | models | refused | text | missing | unknown | wrong labels "
        "| kilobytes, median (most) | ms of one record, median (most) "
        "| ms of 1,000, median (most) |",
        "| --- " * 10 + "|", *by_strategy(lines), "",
        "## By table, the worst first", "",
        "| table | difference | strategy | kilobytes | ms of one record | ms of 1,000 |",
        "| --- " * 6 + "|", *by_table(written), "",
        "## Refused", "",
        *(f"- {line['dataset']}, {line['model']}: {line['bytes']:,} bytes"
          for line in sorted(refused, key=lambda line: -line["bytes"])),
        *(["Nothing."] if not refused else []), "",
    ])  # fmt: skip


def by_strategy(lines: list[Line]) -> list[str]:
    """A row for each strategy."""
    rows = []
    for name in NAMES:
        own = [line for line in lines if line["model"] == name]
        if any(line["differences"] for line in own):
            rows.append((max(map(worst, own)), _strategy_row(name, own)))
    return [row for _, row in sorted(rows, reverse=True)]


def _strategy_row(name: str, own: list[Line]) -> str:
    written = [line for line in own if line["differences"]]
    found = (f"{max(line['differences'][form] for line in written):.1e}" for form in FORMS)
    cells = (
        name, len(own), len(own) - len(written), *found, sum(line["labels"] for line in own),
        _middle([line["bytes"] / 1000 for line in own]),
        *(_middle([1000 * line[kind] for line in written]) for kind in ("one", "thousand")),
    )  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def _middle(values: list[float]) -> str:
    return f"{np.median(values):,.0f} ({max(values):,.0f})"


def by_table(lines: list[Line]) -> list[str]:
    """A row for each table: its worst model."""
    rows = []
    for name in {line["dataset"] for line in lines}:
        line = max((line for line in lines if line["dataset"] == name), key=worst)
        rows.append((worst(line), name, line))
    return [
        f"| {name} | {difference:.1e} | {line['model']} | {line['bytes'] / 1000:,.0f} | "
        f"{1000 * line['one']:.0f} | {1000 * line['thousand']:.0f} |"
        for difference, name, line in sorted(rows, key=lambda row: (-row[0], row[1]))
    ]


def main() -> None:
    """Run what is asked for and write the page."""
    drive(__doc__, RESULTS, PAGE, lambda path: Store(path, SOURCES), run, report)


if __name__ == "__main__":
    main()
