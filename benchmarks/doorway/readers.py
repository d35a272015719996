"""Readers: files, batches and Dask partitions, in the ways in which people make them."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from doorway import containers
from doorway.containers import NotMade, Rows, columns_of, objects_of
from doorway.tables import Setting
from doorway.values import shown
from dpforest.streams import BatchStream, CSVStream, ParquetStream

#: Bytes of a block of CSV; the smallest cut every line.
BLOCKS = (16, 40, 100, 1000, 2**24)
#: Bytes of the longest line that is read.
LONGEST_LINES = (100, 2**20, 2**20)


@dataclass(frozen=True)
class Reader:
    """A way in which records reach a reader.

    Attributes
    ----------
    source : name of the class of source that reads them
    opened : of (rows, labels, setting); gives the source, or pairs of Dask partitions
    """

    family: str
    name: str
    source: str
    opened: Callable[[Rows, list[Any], Setting], Any]


# -- CSV -----------------------------------------------------------------------------------------


def text_of(value: Any) -> str:
    """A cell as a program would write it, on one line."""
    if isinstance(value, float) and value != value:
        return ""
    try:
        text = "" if value is None else str(value)
    except Exception:
        text = shown(value)
    return text


def _texts(rows: Rows, labels: list[Any]) -> Iterator[list[str]]:
    for row, label in zip(rows, labels, strict=True):
        cells = row if isinstance(row, tuple) else (row,)
        yield [*map(text_of, cells), text_of(label)]


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape" if _only_escapes(text) else "surrogatepass")


def _only_escapes(text: str) -> bool:
    return all("\udc80" <= sign <= "\udcff" for sign in text if "\ud800" <= sign <= "\udfff")


def written(lines: list[list[str]], setting: Setting) -> bytes:
    """Lines as the csv module writes them; one record a line."""
    choice = setting.random
    stream = io.StringIO()
    writer = csv.writer(
        stream,
        quoting=choice.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
        lineterminator=choice.choice(["\n", "\r\n"]),
    )
    for cells in lines:
        writer.writerow([_without_ends(cell) for cell in cells])
    return _bytes_of(stream.getvalue())


def raw(lines: list[list[str]], setting: Setting) -> bytes:
    """Cells between commas, with whatever they hold but an end of a line; some within quotes."""
    choice = setting.random
    end = choice.choice([b"\n", b"\r\n"])
    quoted = [choice.random() < 0.3 for _ in range(len(setting.names) + 1)]
    made = []
    for cells in lines:
        # A row of another width has more cells than there are columns, or fewer.
        pairs = zip(cells, itertools.chain(quoted, itertools.repeat(False)), strict=False)
        made.append(",".join(_within_quotes(cell) if q else cell for cell, q in pairs))
    return b"".join(_bytes_of(_without_ends(line)) + end for line in made)


def _within_quotes(cell: str) -> str:
    return cell if '"' in cell else f'"{cell}"'


def _without_ends(text: str) -> str:
    """Without LF, which would make several records of one."""
    return text.replace("\n", "")


def _csv(
    body: Callable[[list[list[str]], Setting], bytes], several: bool = False, **options: Any
) -> Callable[[Rows, list[Any], Setting], Any]:
    def opened(rows: Rows, labels: list[Any], setting: Setting) -> Any:
        lines = list(_texts(rows, labels))
        paths = []
        for number, part in enumerate(setting.parts(lines) if several else [lines]):
            paths.append(_csv_file(body(part, setting), number, setting))
        return CSVStream(paths, setting.target, **options)

    return opened


def _csv_file(body: bytes, number: int, setting: Setting) -> Any:
    choice = setting.random
    mark = choice.choice([b"", b"", b"\xef\xbb\xbf"])
    content = mark + ",".join([*setting.names, setting.target]).encode() + b"\n" + body
    if choice.random() < 0.3:  # the last line without an end
        content = content.removesuffix(b"\n").removesuffix(b"\r")
    packed = choice.random() < 0.1
    path = setting.folder / f"part{number}.csv{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    return path


def _from_pandas(rows: Rows, labels: list[Any], setting: Setting) -> Any:
    columns_of(rows, setting)
    frame = containers._frame(rows, setting).assign(**{setting.target: objects_of(labels)})
    text = frame.to_csv(index=False, lineterminator="\n")
    if text.count("\n") != len(rows) + 1:
        raise NotMade  # a record of several lines
    path = setting.folder / "frame.csv"
    path.write_bytes(_bytes_of(text))
    return CSVStream(path, setting.target)


# -- Parquet -------------------------------------------------------------------------------------


def _with_target(rows: Rows, labels: list[Any], setting: Setting) -> tuple[Rows, Setting]:
    """Rows that hold their labels, and a setting with the target among the names."""
    columns_of(rows, setting)
    together = [(*row, label) for row, label in zip(rows, labels, strict=True)]
    names = (*setting.names, setting.target)
    return together, Setting(names, setting.target, setting.choice, setting.cuts, setting.folder,
                             setting.regression)  # fmt: skip


def _as_arrow(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pl.DataFrame):
        return frame.to_arrow()
    return pa.Table.from_pandas(frame, preserve_index=False)


def _parquet(
    frame: Callable[[Rows, Setting], Any], several: bool = False
) -> Callable[[Rows, list[Any], Setting], Any]:
    def opened(rows: Rows, labels: list[Any], setting: Setting) -> Any:
        together, wider = _with_target(rows, labels, setting)
        paths = []
        for number, part in enumerate(wider.parts(together) if several else [together]):
            path = setting.folder / f"part{number}.parquet"
            size = setting.random.choice([2, 5, 2**20])
            pq.write_table(_as_arrow(frame(part, wider)), path, row_group_size=size)
            paths.append(path)
        return ParquetStream(paths, setting.target)

    return opened


def _by_pandas(rows: Rows, labels: list[Any], setting: Setting) -> Any:
    together, wider = _with_target(rows, labels, setting)
    path = setting.folder / "frame.parquet"
    containers._frame(together, wider).to_parquet(path)
    return ParquetStream([path], setting.target)


def _by_polars(rows: Rows, labels: list[Any], setting: Setting) -> Any:
    together, wider = _with_target(rows, labels, setting)
    path = setting.folder / "frame.parquet"
    containers._polars_rows(together, wider, strict=False).write_parquet(path)
    pq.read_schema(path)  # polars writes types that pyarrow does not know
    return ParquetStream([path], setting.target)


_PARQUET_COLUMNS = containers.by_column(pa.table, lambda v, s: pa.array(v))
_PARQUET_UNCHECKED = containers.by_column(pa.table, containers.unchecked_text)
_PARQUET_CATEGORIES = containers.by_column(pa.table, containers.unchecked_categories)
_PARQUET_TYPED = containers.by_column(
    pa.table, lambda v, s: containers._arrow_typed(v, s) if s.random.random() < 0.5 else pa.array(v)
)


# -- batches -------------------------------------------------------------------------------------


def _pairs(
    table: Callable[[Rows, Setting], Any], labels_of: Callable[[list[Any], Setting], Any]
) -> Callable[[Rows, list[Any], Setting], Any]:
    def opened(rows: Rows, labels: list[Any], setting: Setting) -> Any:
        parts = zip(setting.parts(rows), setting.parts(labels), strict=True)
        made = [(table(part, setting), labels_of(y, setting)) for part, y in parts]
        return BatchStream(made if setting.choice % 2 else lambda: made)

    return opened


def _frames(frame: Callable[[Rows, Setting], Any]) -> Callable[[Rows, list[Any], Setting], Any]:
    def opened(rows: Rows, labels: list[Any], setting: Setting) -> Any:
        together, wider = _with_target(rows, labels, setting)
        return BatchStream([frame(part, wider) for part in wider.parts(together)], setting.target)

    return opened


def _record_batches(rows: Rows, setting: Setting) -> Any:
    return containers.by_column(pa.RecordBatch.from_pydict, lambda v, s: pa.array(v))(rows, setting)


# -- Dask ----------------------------------------------------------------------------------------


def _partitions(
    table: Callable[[Rows, Setting], Any], labels_of: Callable[[list[Any], Setting], Any]
) -> Callable[[Rows, list[Any], Setting], Any]:
    """What workers get: each partition made on its own."""

    def opened(rows: Rows, labels: list[Any], setting: Setting) -> Any:
        parts = zip(setting.parts(rows), setting.parts(labels), strict=True)
        return [(table(part, setting), labels_of(y, setting)) for part, y in parts]

    return opened


def _apart(rows: Rows, labels: list[Any], setting: Setting) -> Any:
    from dpforest.dask.collections import features_and_target

    together, wider = _with_target(rows, labels, setting)
    parts = wider.parts(together)
    return [features_and_target(containers._frame(part, wider), setting.target) for part in parts]


def _dask_frame(rows: Rows, labels: list[Any], setting: Setting) -> Any:
    import dask.dataframe as dd

    from dpforest.dask.collections import DaskTable

    together, wider = _with_target(rows, labels, setting)
    frame = containers._frame(together, wider)
    return computed(DaskTable(dd.from_pandas(frame, npartitions=2, sort=False), setting.target))


def _dask_delayed(rows: Rows, labels: list[Any], setting: Setting) -> Any:
    import dask.dataframe as dd
    from dask.delayed import delayed

    from dpforest.dask.collections import DaskTable

    together, wider = _with_target(rows, labels, setting)
    parts = [containers._frame(part, wider) for part in wider.parts(together)]
    meta = pd.DataFrame({name: pd.Series(dtype=object) for name in wider.names})
    frame = dd.from_delayed([delayed(part) for part in parts], meta=meta, verify_meta=False)
    return computed(DaskTable(frame, setting.target))


def _dask_array(rows: Rows, labels: list[Any], setting: Setting) -> Any:
    import dask.array as da

    from dpforest.dask.collections import DaskTable

    X, y = np.array(rows), np.array(labels)
    if X.ndim != 2 or y.ndim != 1 or not len(X):
        raise NotMade
    return computed(DaskTable(da.from_array(X, chunks=(4, 1)), da.from_array(y, chunks=4)))


def computed(table: Any) -> Any:
    """The table with its partitions as workers get them, computed here; Dask may refuse."""
    import dask

    table.computed = list(dask.compute(*table._pairs(), scheduler="synchronous"))
    return table


def readers() -> tuple[Reader, ...]:
    """All of them."""
    frame, typed = containers._frame, containers.by_column
    series = containers._series
    pandas_typed = typed(pd.DataFrame, containers._pandas_typed)
    nullable = typed(pd.DataFrame, lambda v, s: pd.Series(v).convert_dtypes())
    arrow_backed = typed(
        pd.DataFrame, lambda v, s: pd.Series(v).convert_dtypes(dtype_backend="pyarrow")
    )
    polars_rows = containers._polars_parts
    return (
        Reader("CSVStream, one file", "by the csv module", "CSVStream", _csv(written)),
        Reader("CSVStream, one file", "read again in each pass", "CSVStream",
               _csv(written, memory_limit=0)),
        Reader("CSVStream, one file", "by pandas", "CSVStream", _from_pandas),
        Reader("CSVStream, raw lines", "cells between commas", "CSVStream", _csv(raw)),
        Reader("CSVStream, several files", "by the csv module", "CSVStream", _csv(written, True)),
        Reader("CSVStream, several files", "raw", "CSVStream", _csv(raw, True)),
        Reader("ParquetStream, one file", "by pandas", "ParquetStream", _by_pandas),
        Reader("ParquetStream, one file", "by polars", "ParquetStream", _by_polars),
        Reader("ParquetStream, one file", "by Arrow, inferred", "ParquetStream",
               _parquet(_PARQUET_COLUMNS)),
        Reader("ParquetStream, one file", "by Arrow, from_pylist", "ParquetStream",
               _parquet(containers._arrow_list)),
        Reader("ParquetStream, one file", "by Arrow, declared types", "ParquetStream",
               _parquet(_PARQUET_TYPED)),
        Reader("ParquetStream, one file", "by Arrow, text that is none", "ParquetStream",
               _parquet(_PARQUET_UNCHECKED)),
        Reader("ParquetStream, one file", "by Arrow, categories that are no text", "ParquetStream",
               _parquet(_PARQUET_CATEGORIES)),
        Reader("ParquetStream, several files", "by pandas", "ParquetStream",
               _parquet(frame, True)),
        Reader("ParquetStream, several files", "by Arrow, inferred", "ParquetStream",
               _parquet(_PARQUET_COLUMNS, True)),
        Reader("ParquetStream, several files", "by polars", "ParquetStream",
               _parquet(lambda r, s: containers._polars_rows(r, s, strict=False), True)),
        Reader("BatchStream of pairs", "lists", "BatchStream",
               _pairs(lambda r, s: [list(row) for row in r], lambda y, s: y)),
        Reader("BatchStream of pairs", "inferred arrays", "BatchStream",
               _pairs(lambda r, s: np.array(r), lambda y, s: np.array(y))),
        Reader("BatchStream of pairs", "pandas frames", "BatchStream", _pairs(frame, series)),
        Reader("BatchStream of frames", "pandas", "BatchStream", _frames(frame)),
        Reader("BatchStream of frames", "pandas, declared types", "BatchStream",
               _frames(pandas_typed)),
        Reader("BatchStream of frames", "pandas, nullable", "BatchStream", _frames(nullable)),
        Reader("BatchStream of frames", "pandas, Arrow", "BatchStream", _frames(arrow_backed)),
        Reader("BatchStream of frames", "polars", "BatchStream", _frames(polars_rows)),
        Reader("BatchStream of frames", "Arrow tables", "BatchStream",
               _frames(containers._arrow_list)),
        Reader("BatchStream of frames", "record batches", "BatchStream",
               _frames(_record_batches)),
        Reader("Dask partitions", "frames", "DaskTable", _partitions(frame, series)),
        Reader("Dask partitions", "frames that hold the target", "DaskTable", _apart),
        Reader("Dask partitions", "nullable frames", "DaskTable",
               _partitions(nullable, lambda y, s: pd.Series(y).convert_dtypes())),
        Reader("Dask partitions", "inferred arrays", "DaskTable",
               _partitions(lambda r, s: np.array(r), lambda y, s: np.array(y))),
        Reader("Dask collections", "from_pandas", "DaskTable", _dask_frame),
        Reader("Dask collections", "from_delayed", "DaskTable", _dask_delayed),
        Reader("Dask collections", "from_array", "DaskTable", _dask_array),
    )  # fmt: skip
