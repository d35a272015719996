"""Tables for `scale.py`, made on the fly: codes of 30 features, and a noisy sum as the class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dpforest import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.records.table import Table

FEATURES = 30
#: Declared for all sizes, so that a forest of one size is made for each.
DECLARED = 10_000_000
#: Records of a chunk, each with a seed of its own.
CHUNK = 250_000


def domain(rows: int = DECLARED) -> Domain:
    """Integers from 0 to 255, two classes."""
    features = {f"x{place}": (0, 255) for place in range(FEATURES)}
    return Domain(features=features, classes=[0, 1], approximate_rows=rows)


def chunk(number: int, rows: int = CHUNK) -> tuple[np.ndarray, np.ndarray]:
    """Codes (uint8, rows × 30) and classes of one chunk."""
    generator = np.random.default_rng([7, number])
    codes = np.frombuffer(generator.bytes(rows * FEATURES), dtype=np.uint8)
    codes = codes.reshape(rows, FEATURES)
    signal = codes[:, :4].sum(axis=1, dtype=np.int16) - codes[:, 4:8].sum(axis=1, dtype=np.int16)
    return codes, (signal + generator.normal(0, 100, rows) > 0).astype(np.uint8)


def chunks(n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All chunks of a table of n records."""
    for number, first in enumerate(range(0, n, CHUNK)):
        yield chunk(number, min(CHUNK, n - first))


def arrays(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A whole table."""
    codes, labels = np.empty((n, FEATURES), np.uint8), np.empty(n, np.uint8)
    for place, (some, own) in enumerate(chunks(n)):
        first = place * CHUNK
        codes[first : first + len(some)], labels[first : first + len(some)] = some, own
    return codes, labels


def encoded(n: int) -> Table:
    """A whole table as kernels take it; a code is its own cell."""
    codes, labels = arrays(n)
    encoder = DomainEncoder(domain())
    matrix = EncodedMatrix(codes, encoder.n_codes, encoder.ordered)
    return Table.of(EncodedTable(matrix, labels, 2))


def write_files(n: int, folder: Path, kind: str) -> None:
    """A file a million records, read by their names."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    names = [f"x{place}" for place in range(FEATURES)]
    writer: Any = None
    for number, (codes, labels) in enumerate(chunks(n)):
        columns = [*np.ascontiguousarray(codes.T), labels]
        table = pa.table(columns, names=[*names, "target"])
        if number % 4 == 0:
            if writer is not None:
                writer.close()
            path = folder / f"part{number:04d}.{kind}"
            make = parquet.ParquetWriter if kind == "parquet" else csv.CSVWriter
            writer = make(path, table.schema)
        writer.write_table(table)
    writer.close()


def dask_arrays(n: int) -> tuple[Any, Any]:
    """The same table as Dask arrays, whose chunks workers make."""
    import dask.array as da
    from dask.delayed import delayed

    X, y = [], []
    for number, first in enumerate(range(0, n, CHUNK)):
        rows = min(CHUNK, n - first)
        made = delayed(chunk, nout=2)(number, rows)
        X.append(da.from_delayed(made[0], (rows, FEATURES), np.uint8))
        y.append(da.from_delayed(made[1], (rows,), np.uint8))
    return da.concatenate(X), da.concatenate(y)
