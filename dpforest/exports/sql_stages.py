"""Stages of a SELECT: each makes columns of those of the stage before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dpforest.exceptions import ExportSizeError
from dpforest.exports.sql_words import DOUBLE, ZERO

#: Columns that a stage may have: PostgreSQL takes 1,664, SQLite 2,000.
MOST_COLUMNS = 1_600


@dataclass(slots=True)
class Stages:
    """The WITH of a SELECT.

    A stage is MATERIALIZED, or a database would write each column's expression wherever it is
    used.

    Parameters
    ----------
    prefix : str
        Of the stages' names, which no table has.
    kept : sequence of str
        Columns of the table that all stages hand on, as SQL.
    table : str
        The table, as SQL.
    """

    prefix: str
    kept: Sequence[str]
    table: str
    _written: list[str] = field(default_factory=list)

    @property
    def last(self) -> str:
        """Name of the last stage."""
        return f"{self.prefix}{len(self._written)}"

    def add(self, columns: Sequence[str]) -> None:
        """Append a stage that has these columns, those kept, and a zero."""
        if self._written:
            own, source = [f"k{k}" for k in range(len(self.kept))] + [ZERO], self.last
        else:
            own = [f"t.{name} AS k{k}" for k, name in enumerate(self.kept)]
            own, source = [*own, f"CAST(0 AS {DOUBLE}) AS {ZERO}"], f"{self.table} AS t"
        _check_columns(len(own) + len(columns))
        listed = ",\n    ".join([*own, *columns])
        self._written.append(
            f"{self.prefix}{len(self._written) + 1} AS MATERIALIZED (\n  SELECT\n    {listed}\n"
            f"  FROM {source}\n)"
        )

    def finished(self, columns: Sequence[str]) -> str:
        """The whole SELECT, whose columns are these."""
        _check_columns(len(columns))
        return (
            "WITH " + ",\n".join(self._written) + "\nSELECT\n  " + ",\n  ".join(columns)
            + f"\nFROM {self.last}\n"
        )  # fmt: skip


def _check_columns(n: int) -> None:
    if n > MOST_COLUMNS:
        raise ExportSizeError(
            "forest", f"{n} columns at once", n, MOST_COLUMNS,
            f"is more than the {MOST_COLUMNS} that databases take", "Use to_onnx() or to_plain()",
        )  # fmt: skip
