"""Columns of a table by their names, or by their places.

No message of this module holds a name that nobody declared, where names may be cells of a file.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from dpforest.domain.near import folded
from dpforest.domain.table import Table, check_width, names_of_index
from dpforest.exceptions import Described, DomainError, ParameterError, RepeatedColumnsError


def select_columns(table: Table, names: Sequence[str], estimator_name: str) -> tuple[int, ...]:
    """Find the columns of a table that are the declared features.

    By name where the table has names and every declared one is among them, else by
    position. A table that has some of the declared names but not all is refused:
    reading it by position would mix columns up.
    """
    given = frozenset(table.names or ())
    if table.names is not None and len(given) != len(table.names):
        _refuse_repeated_names(table.names, names, of_pandas=False)
    absent = [name for name in names if name not in given]
    if table.names is not None and not absent:
        place = {name: index for index, name in enumerate(table.names)}
        return tuple(place[name] for name in names)
    if table.names is not None and len(absent) < len(names):
        raise DomainError(
            absent[0],
            "declared, but the table has no column of this name while it has others",
            _repair_of_name(absent[0], table.names, names_of_index(table)),
        )
    check_width(table, len(names), estimator_name)
    return tuple(range(len(names)))


def _repair_of_name(absent: str, names: Sequence[str], of_index: Sequence[Any]) -> str:
    if any(type(name) is str and name == absent for name in of_index):
        return "It is the index of the frame: pass X.reset_index()"
    alike = written_alike(absent, names)
    if alike is not None:
        return words_on_alike(absent, alike)
    return "Add or rename the column, or rename all so that they are read by position"


def written_alike(name: str, names: Sequence[str]) -> str | None:
    """The first name that differs in case, blanks or made-up letters alone, as good as known.

    Of a file without a header names are cells of a record, so no other one is told.
    """
    own = folded(name)
    return next((other for other in names if folded(other) == own), None)


def words_on_alike(name: str, alike: str) -> str:
    """Repair where a declared column is absent, and there is one whose name is nearly its own."""
    if name.casefold().split() == alike.casefold().split():
        return f"Its own is written {alike!r}: case and blanks count"
    return f"Its own is written {ascii(alike)}, with other signs of Unicode: write {ascii(name)}"


def table_names(X: Any) -> tuple[str, ...] | None:
    """Column names of a data frame of any library, where all of them are text."""
    # Asked of the type: pandas answers for columns and rows of a name too, with their values.
    # Arrow's tables hold data under "columns".
    place = "column_names" if hasattr(type(X), "column_names") else "columns"
    # A lazy frame of polars warns where it is asked for its columns, which are its schema's.
    lazy = hasattr(type(X), "collect") and hasattr(type(X), "collect_schema")
    found: tuple[Any, ...] = (None,)
    with suppress(Exception):  # what an object of somebody else's calls so need not be names
        names = X.collect_schema().names() if lazy else getattr(X, place, None)
        found = (None,) if names is None or callable(names) else _listed(names)
    return found if all(isinstance(name, str) for name in found) else None


def _listed(names: Any) -> tuple[Any, ...]:
    """Names one by one; those of pandas all at once, which takes a tenth of the time."""
    of_pandas = type(names).__module__.partition(".")[0] == "pandas"
    return tuple(names.tolist() if of_pandas else names)


#: What libraries, and drafts of arrays, call columns that have no names.
_PLACES = ("", "column_", "x")


def is_read_by_position(table: Table, names: Sequence[str]) -> bool:
    """Say if a table has names of which not one is declared, so that places alone count.

    Parameters
    ----------
    table : Table
    names : sequence of str
        What is declared, as many as the table has columns.
    """
    return bool(names_passed_over(table, names)) and tuple(names) not in _unnamed(len(names))


def names_passed_over(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """Names of a table that is read by its places; none where they but number its columns."""
    given = table.names or ()
    return () if set(given) & set(names) or given in _unnamed(len(given)) else given


def _unnamed(n_columns: int) -> list[tuple[str, ...]]:
    """Names of columns that have none."""
    return [tuple(f"{start}{k}" for k in range(n_columns)) for start in _PLACES]


def refuse_repeated_columns(X: Any, declared: Sequence[str]) -> NoReturn:
    """Refuse a frame that narwhals does not open, by its own names."""
    pandas = sys.modules.get("pandas")
    of_pandas = pandas is not None and isinstance(X, pandas.DataFrame)
    names: list[str] = []
    if of_pandas:
        names = list(map(str, X.columns))
    elif type(X).__module__.partition(".")[0] == "pyarrow":
        names = list(X.schema.names)  # its ``columns`` are the values
    _refuse_repeated_names(names, declared, of_pandas)


def _refuse_repeated_names(
    names: Sequence[str], declared: Sequence[str], of_pandas: bool
) -> NoReturn:
    """Refuse columns of one name; which one is told where it is no cell of a file's first row."""
    repeated = [name for name, times in Counter(names).items() if times > 1]
    told = [name for name in repeated if of_pandas or name in declared]
    rule = "column names must differ"
    if told:
        times = names.count(told[0])
        rule += f", and {told[0]!r} stands {'twice' if times == 2 else f'{times} times'}"
    others_suffice = bool(declared) and set(declared) <= set(names) - set(repeated)
    raise RepeatedColumnsError(rule, _repair_of_repeated(others_suffice, of_pandas))


def _repair_of_repeated(others_suffice: bool, of_pandas: bool) -> str:
    """Repair of repeated names; undeclared ones go where the declared columns are selected."""
    if others_suffice:
        how = "X[list(domain.feature_names)]" if of_pandas else "X.select(domain.feature_names)"
        return f"Rename one, or pass the declared columns alone: {how}"
    first = ": X.loc[:, ~X.columns.duplicated()] keeps the first" if of_pandas else ""
    return f"Rename one or leave one out{first}"


def read_by_name(given: Iterable[str] | None, names: Sequence[str]) -> Sequence[str]:
    """Names that a table's features are read by; none where they are read by their places."""
    return names if set(names) <= set(given or ()) else ()


def refuse_feature(name: Any, features: Sequence[str]) -> None:
    """Refuse labels that the features have among them: all would be learnt from the answer."""
    if isinstance(name, str) and name in features:
        raise ParameterError(
            "y",
            Described(f"the column {name}"),
            "is named as a feature of the domain",
            "Leave it out of the domain's features; give other values, such as what was worked out "
            "of it, a name of their own: y.rename('outcome')",
        )
