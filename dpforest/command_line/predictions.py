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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from dpforest.command_line.answers import Answer, WritingResult, Written
from dpforest.command_line.models import read_model
from dpforest.command_line.tables import Features, files_of, unlabelled
from dpforest.exceptions import ParameterError
from dpforest.writing import check_new, new_file


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
    if chosen.probabilities and not hasattr(forest, "predict_proba"):
        raise ParameterError(
            "--probabilities", True, "are of classes, and the model is a regression", "Leave it out"
        )
    chosen.predict = chosen.files
    check_columns_of(chosen, tuple(forest.domain_.feature_names))
    if path is None:
        _write_csv(chosen, forest, sys.stdout.buffer)
        return Answer(WritingResult(written=()), "")
    write_predictions(chosen, forest, path)
    written = Written(what="predictions", path=str(path))
    return Answer(WritingResult(written=(written,)), f"predictions: {path}")


def check_columns_of(chosen: argparse.Namespace, names: tuple[str, ...]) -> None:
    """Refuse files of records to predict by their columns, before anything is read or charged."""
    for source in _sources(chosen):
        source.check(names)


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
    """Tables of predictions, one a batch, under a bar over files."""
    from tqdm import tqdm

    hidden = chosen.quiet or not sys.stderr.isatty()
    names = tuple(forest.domain_.feature_names)
    for source in tqdm(_sources(chosen), unit="file", disable=hidden):
        for batch in source.batches_of(names):
            yield _predicted(forest, batch.X, names, chosen.id, chosen.probabilities)


def _predicted(
    forest: Any, X: Any, names: Sequence[str], ids: Sequence[str], probabilities: bool
) -> Any:
    import pyarrow as pa

    columns = {name: X[name] for name in ids}
    features = X.select(list(names))
    if not probabilities:
        return pa.table(columns | {"prediction": _plain(forest.predict(features))})
    shares = forest.predict_proba(features)
    columns["prediction"] = _plain(forest.classes_[shares.argmax(axis=1)])
    for place, label in enumerate(forest.classes_.tolist()):
        columns[f"probability of {label}"] = pa.array(shares[:, place])
    return pa.table(columns)


def _plain(values: Any) -> Any:
    """Predictions as an Arrow column; labels of several types as text."""
    import pyarrow as pa

    cells = values.tolist()
    mixed = len({type(cell) for cell in cells}) > 1
    return pa.array([str(cell) for cell in cells] if mixed else cells)


def _write_csv(chosen: argparse.Namespace, forest: Any, file: BinaryIO) -> None:
    first = True
    for table in _tables(chosen, forest):
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        if first:
            rows.writerow(table.column_names)
            first = False
        rows.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
        file.write(text.getvalue().encode("utf-8"))
    file.flush()


def _write_parquet(chosen: argparse.Namespace, forest: Any, file: BinaryIO) -> None:
    from pyarrow import parquet

    writer = None
    for table in _tables(chosen, forest):
        writer = writer or parquet.ParquetWriter(file, table.schema)
        writer.write_table(table.cast(writer.schema))
    if writer is not None:
        writer.close()
