"""Forests of all strategies beside what they are written as: what such benchmarks share."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from common.one_page import remake
from common.our_forests import our_forest
from common.plain_forms import PlainTable, as_matrix
from common.results import Line, Store
from common.tables import data_folder
from dpforest.exceptions import RepeatedFitWarning, WeakSignalWarning
from dpforest.exports.parts import read_document
from dpforest.exports.spellings import spellings

EPSILON, DELTA = 8, "1e-6"
CLOSE = 1e-12


def fit(table: PlainTable, strategy: str) -> Any:
    """A forest of up to 2,000 records of a table."""
    n = table.n_fitted
    domain = table.domain.model_copy(update={"approximate_rows": n})
    forest = our_forest(strategy, domain, EPSILON, DELTA if strategy == "refitted" else 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakSignalWarning)
        warnings.simplefilter("ignore", RepeatedFitWarning)
        return forest.fit(as_matrix(domain, table.cells[:n]), table.labels[:n])


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


def predicted(forest: Any, records: list[list[Any]]) -> np.ndarray:
    """What the forest itself says, shape (n, columns)."""
    proba = getattr(forest, "predict_proba", None)
    found: np.ndarray = forest.predict(records)[:, None] if proba is None else proba(records)
    return found


def scale_of(forest: Any) -> float:
    """The width of a regression's range; 1 for probabilities."""
    low, high = getattr(forest, "target_range_", (0.0, 1.0))
    return float(high - low)


def wrong_labels(forest: Any, expected: np.ndarray, labels: np.ndarray) -> int:
    """Labels that differ where the two highest probabilities do."""
    top = np.sort(expected, axis=1)
    own = np.asarray(forest.classes_, dtype=object)[expected.argmax(axis=1)]
    return int(((labels.astype(object) != own) & (top[:, -1] - top[:, -2] > CLOSE)).sum())


def seconds(act: Any) -> float:
    """Processor seconds that something takes."""
    started = time.process_time()
    act()
    return time.process_time() - started


def drive(
    words: str,
    results: Path,
    page: Path,
    store: Callable[[Path], Store],
    run: Callable[[Path, list[str], Store], None],
    report: Callable[[list[Line]], str],
) -> None:
    """Run what the command line asks for and write the page.

    Parameters
    ----------
    words : str
        The benchmark's docstring.
    results, page : Path
        Where lines and the page go, if nobody names another place.
    store : callable
        Makes the store of the lines at a place.
    run : callable
        Does everything that is not there yet, of a folder's tables by name.
    report : callable
        Makes the page's text of the last line of each model.
    """
    asked = _asked(words, results, page)

    def run_asked(asked: argparse.Namespace, file: Store) -> None:
        if not asked.report_only:
            run(asked.data, asked.sets or sorted(tables_in(asked.data)), file)

    remake(
        asked.report, asked, store(asked.results), run_asked,
        lambda lines: missing(lines, asked.data), lambda lines: report(last_of_each(lines)),
    )  # fmt: skip


def _asked(words: str, results: Path, page: Path) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=words.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--results", type=Path, default=results)
    parser.add_argument("--report", type=Path, default=page)
    parser.add_argument("--report-only", action="store_true")
    return parser.parse_args()


def last_of_each(lines: list[Line]) -> list[Line]:
    """The last line of each table's models."""
    return list({(line["dataset"], line["model"]): line for line in lines}.values())


def tables_in(folder: Path) -> set[str]:
    """Names of the tables of a folder."""
    return {path.stem for path in folder.glob("*.json")}


def missing(lines: list[Line], folder: Path) -> set[str]:
    """Tables of the folder that have no line; the folder itself where it has none."""
    return (tables_in(folder) or {str(folder)}) - {line["dataset"] for line in lines}
