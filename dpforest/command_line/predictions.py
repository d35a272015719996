"""``dpforest predict``: predictions of files of records, in their order.

Predictions are made of released values: they cost nothing. They are about the records that are
read, so a file of them is for its owner's eyes alone.

Held by tests/command_line/test_predict.py.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dpforest.command_line.answers import Answer, WritingResult, Written
from dpforest.command_line.models import read_model
from dpforest.command_line.tables import Features, files_of, unlabelled
from dpforest.domain.domain import Domain
from dpforest.estimators.classifier import sorted_classes
from dpforest.exceptions import ParameterError, raise_alone
from dpforest.standard_streams import is_terminal, writing_to_stdout
from dpforest.writing import check_new, new_file

#: Name of the column of what is predicted.
_PREDICTION = "prediction"


def run_predict(chosen: argparse.Namespace) -> Answer:
    """Predict, to a file or to stdout."""
    if chosen.output is None and chosen.json:
        raise ParameterError(
            "--json", True, "is no form of predictions: they are CSV or Parquet",
            "Name a file with --output",
        )  # fmt: skip
    path = None if chosen.output is None else Path(chosen.output)
    if path is not None:
        read = [chosen.model, *files_of(chosen.files, chosen.format)]
        check_new(path, chosen.force, read=read)
    forest = read_model(chosen.model)
    chosen.predict = chosen.files
    check_columns_of(chosen, forest, forest.domain_)
    if path is None:
        _write_csv(chosen, forest, sys.stdout.buffer, writing_to_stdout)
        return Answer(WritingResult(written=()), "")
    write_predictions(chosen, forest, path)
    written = Written(what="predictions", path=str(path))
    return Answer(WritingResult(written=(written,)), written.words)


def check_columns_of(chosen: argparse.Namespace, forest: Any, domain: Domain) -> None:
    """Refuse files of records to predict by their columns, before anything is read or charged.

    So are columns that would have one name in what is written: one would take the other's place.
    """
    sources = _sources(chosen)
    if not sources:
        return
    if chosen.probabilities and not hasattr(forest, "predict_proba"):
        raise ParameterError(
            "--probabilities", True, "are of classes, and the model is a regression", "Leave it out"
        )
    labels = sorted_classes(domain).tolist() if chosen.probabilities else []
    for name in (_PREDICTION, *map(_column_of, labels)):
        if name in chosen.id:
            raise ParameterError(
                "--id", name, "is the name of a column of predictions", "Rename it in the files"
            )
    for source in sources:
        source.check(domain.feature_names)


def write_predictions(chosen: argparse.Namespace, forest: Any, path: Path) -> None:
    """Write predictions to a new file: Parquet where its name says so, else CSV."""
    with new_file(path, private=True, force=chosen.force) as file:
        if path.name.lower().endswith((".parquet", ".pq")):
            _write_parquet(chosen, forest, file)
        else:
            _write_csv(chosen, forest, file)


def _sources(chosen: argparse.Namespace) -> list[Features]:
    if not chosen.predict:
        return []
    kind = chosen.format
    return [unlabelled(path, kind, chosen.id) for path in files_of(chosen.predict, kind)]


def _tables(chosen: argparse.Namespace, forest: Any) -> Iterator[Any]:
    """Tables of predictions, one a batch, under a bar over files; there is at least one."""
    from tqdm import tqdm

    hidden = chosen.quiet or not is_terminal(sys.stderr)
    names, empty = tuple(forest.domain_.feature_names), True
    for source in tqdm(_sources(chosen), unit="file", disable=hidden):
        for batch in source.batches_of(names):
            empty = False
            yield _predicted(forest, batch.X, names, chosen.id, chosen.probabilities)
    if empty:
        yield _empty_predictions(forest, names, chosen.id, chosen.probabilities)


def _predicted(
    forest: Any, X: Any, names: Sequence[str], ids: Sequence[str], probabilities: bool
) -> Any:
    import pyarrow as pa

    columns = {name: X[name] for name in ids}
    features = X.select(list(names))
    if not probabilities:
        return pa.table(columns | {_PREDICTION: _plain(forest, forest.predict(features))})
    shares = forest.predict_proba(features)
    columns[_PREDICTION] = _plain(forest, forest.classes_[shares.argmax(axis=1)])
    for place, label in enumerate(forest.classes_.tolist()):
        columns[_column_of(label)] = pa.array(shares[:, place])
    return pa.table(columns)


def _empty_predictions(
    forest: Any, names: Sequence[str], ids: Sequence[str], probabilities: bool
) -> Any:
    """Predictions of files without records: the columns are there."""
    import pyarrow as pa

    columns = dict.fromkeys([*names, *ids], pa.array([], pa.string()))
    return _predicted(forest, pa.table(columns), names, ids, probabilities)


def _column_of(label: Any) -> str:
    return f"probability of {label}"


def _plain(forest: Any, values: Any) -> Any:
    """Predictions as an Arrow column, of one type whichever of the labels are among them.

    Labels of several types are text, and so are whole numbers that no column of numbers takes.
    """
    import pyarrow as pa

    cells = values.tolist()
    labels = getattr(forest, "classes_", np.zeros(1))
    if len({type(label) for label in labels.tolist()}) == 1:
        with suppress(OverflowError):
            return pa.array(cells, pa.array(labels).type)
    return pa.array([str(cell) for cell in cells], pa.string())


def _write_csv(
    chosen: argparse.Namespace,
    forest: Any,
    file: BinaryIO,
    writing: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> None:
    first = True
    for table in _tables(chosen, forest):
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        if first:
            rows.writerow(table.column_names)
            first = False
        rows.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
        with writing():
            file.write(text.getvalue().encode("utf-8"))
    with writing():
        file.flush()


def _write_parquet(chosen: argparse.Namespace, forest: Any, file: BinaryIO) -> None:
    from pyarrow import parquet

    tables = _tables(chosen, forest)
    first = next(tables)
    with parquet.ParquetWriter(file, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(_of_schema(table, writer.schema))


def _of_schema(table: Any, schema: Any) -> Any:
    """A table with the types of the first one; files may give a column that is handed on others."""
    import pyarrow as pa

    try:
        return table.cast(schema)
    except (pa.ArrowException, ValueError):
        others = [
            name for name in table.column_names if table[name].type != schema.field(name).type
        ]
        raise_alone(
            ParameterError(
                "--id", others[0],
                "has another type in some of the files, which a column of Parquet does not take",
                "Name a *.csv with --output, or predict those files by themselves",
            )
        )  # fmt: skip
