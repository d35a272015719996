"""Columns of a table as small whole numbers that splits and tables of scores look at.

The code of a number says between which limits of the model it lies, the code of a category is its
position. Missing is -1, and an unknown category the number of categories. So each limit is written
once, and all else compares whole numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from dpforest.exports.parts import Document, Feature, Rule, Rules, Split, Table, Trees
from dpforest.exports.spellings import spellings
from dpforest.exports.sql_choices import Test
from dpforest.exports.sql_words import DOUBLE, among, exact, quoted_name, quoted_text

MISSING = -1
#: More than a whole number of 64 bits moves as it becomes a double.
_ROUNDING = 5_000


class Codes:
    """Codes of the features that a model looks at.

    Parameters
    ----------
    document : Document
    """

    def __init__(self, document: Document) -> None:
        self._features = document.features
        self._limits = {place: sorted(own) for place, own in _limits(document).items()}
        self.places = sorted(self._limits)

    # -- from columns to codes -------------------------------------------------------------

    def read(self) -> list[str]:
        """Numbers as doubles or NULL, categories as codes: columns made from a table ``t``."""
        return [
            f"{_number(feature)} AS v{place}"
            if feature.is_numeric
            else f"{_position(feature)} AS f{place}"
            for place, feature in self._used()
        ]

    def coded(self) -> list[str]:
        """Codes of all features: columns made from those of ``read``."""
        return [
            f"CASE WHEN v{place} IS NULL THEN {MISSING} ELSE "
            f"{self._search(place, 0, len(self._limits[place]))} END AS f{place}"
            if feature.is_numeric
            else f"f{place}"
            for place, feature in self._used()
        ]

    def _used(self) -> list[tuple[int, Feature]]:
        return [(place, self._features[place]) for place in self.places]

    def _search(self, place: int, first: int, last: int) -> str:
        """Number of limits below a number, by halves."""
        if first == last:
            return str(first)
        middle = (first + last) // 2
        below, above = self._search(place, first, middle), self._search(place, middle + 1, last)
        limit = exact(self._limits[place][middle])
        return f"CASE WHEN v{place} <= {limit} THEN {below} ELSE {above} END"

    # -- what splits and tables make of codes ----------------------------------------------

    def test(self, split: Split) -> Test:
        """Condition that sends a record left at a split."""
        if self._features[split.feature].is_numeric:
            return self._test_of_number(split)
        return self._test_of_position(split)

    def _test_of_number(self, split: Split) -> Test:
        column, limits = f"f{split.feature}", self._limits[split.feature]
        if split.threshold is None:
            return True if split.missing_left else (f"{column} >= 0", f"{column} < 0")
        code = bisect_left(limits, split.threshold)
        if split.missing_left:
            return f"{column} <= {code}", f"{column} > {code}"
        return f"{column} BETWEEN 0 AND {code}", f"{column} NOT BETWEEN 0 AND {code}"

    def _test_of_position(self, split: Split) -> Test:
        categories = self._features[split.feature].categories
        assert categories is not None and split.categories is not None
        left = set(split.categories)
        left |= {MISSING} if split.missing_left else set()
        left |= {len(categories)} if split.unknown_left else set()
        right = set(range(MISSING, len(categories) + 1)) - left
        if not left or not right:
            return bool(left)
        column, few = f"f{split.feature}", len(left) <= len(right)
        values = sorted(left if few else right)
        holds, fails = among(column, values), among(column, values, inside=False)
        return (holds, fails) if few else (fails, holds)

    def entry(self, table: Table, of: Callable[[Any], str], typed: Callable[[Any], str]) -> str:
        """Entry that a table has for the value of its feature.

        Parameters
        ----------
        table : Table
        of : callable
            An entry as SQL.
        typed : callable
            The same, of the type that the whole has.
        """
        feature = self._features[table.feature]
        pairs = self._runs(table, of) if feature.is_numeric else _groups(table, of)
        *cases, (_, last) = pairs
        if not cases:
            return typed(last)
        rows = " ".join(f"WHEN {holds} THEN {of(value)}" for holds, value in cases)
        return f"CASE {rows} ELSE {typed(last)} END"

    def _runs(self, table: Table, of: Callable[[Any], str]) -> list[tuple[str, Any]]:
        """Neighbouring codes that have the same entry, in order."""
        edges = self._features[table.feature].edges or ()
        ends = [*self._limits[table.feature], float("inf")]
        # A code's numbers end at its limit, so they have the place of that limit.
        entries = [table.missing, *(table.places[bisect_left(edges, end)] for end in ends)]
        runs, code = [], MISSING
        for _, run in groupby(entries, of):
            values = list(run)
            code += len(values)
            runs.append((f"f{table.feature} <= {code - 1}", values[0]))
        return runs


def _groups(table: Table, of: Callable[[Any], str]) -> list[tuple[str, Any]]:
    """Codes of categories by their entry, the largest group last."""
    by_entry: dict[str, tuple[Any, list[int]]] = {}
    for code, value in enumerate((table.missing, *table.places, table.unknown), start=MISSING):
        by_entry.setdefault(of(value), (value, []))[1].append(code)
    groups = sorted(by_entry.values(), key=lambda group: len(group[1]))
    return [(among(f"f{table.feature}", codes), value) for value, codes in groups]


def _limits(document: Document) -> dict[int, set[float]]:
    """Doubles that a model compares with, by the feature, of all features that it looks at."""
    found: dict[int, set[float]] = {}
    for split in _splits(document.score):
        own = found.setdefault(split.feature, set())
        if split.threshold is not None:
            own.add(split.threshold)
    for place in {table.feature for table in _tables(document.score)}:
        found.setdefault(place, set()).update(document.features[place].edges or ())
    return found


def _tables(score: Trees | Rules) -> Iterable[Table]:
    if isinstance(score, Rules):
        return (table for node in score.nodes if isinstance(node, Rule) for table in node.tables)
    return score.start


def _splits(score: Trees | Rules) -> Iterable[Split]:
    if isinstance(score, Rules):
        return ()
    return (node for tree in score.trees for node in tree if isinstance(node, Split))


def _number(feature: Feature) -> str:
    """A column as a double; NULL for NaN, and for a text that SQLite has among numbers.

    NaN is above all numbers in DuckDB and PostgreSQL, its opposite too. A text is above all numbers
    in SQLite.
    """
    column = f"t.{quoted_name(feature.name)}"
    value = f"CAST({column} AS {DOUBLE})"
    at_most = f"CAST({value} + {_ROUNDING} AS {DOUBLE})"
    return (
        f"CASE WHEN {value} > 0 AND -{value} > 0 THEN NULL "
        f"WHEN {column} <= {at_most} THEN {value} END"
    )


def _position(feature: Feature) -> str:
    """The code of a text.

    As an expression, and no column, it is compared letter by letter in SQLite, whatever the column
    says.
    """
    known, n = spellings(feature), len(feature.categories or ())
    text = f"COALESCE(CAST(t.{quoted_name(feature.name)} AS VARCHAR) || '', '')"
    rows = " ".join(
        f"WHEN {quoted_text(spelt)} THEN {MISSING if code == n else code}"
        for spelt, code in known.items()
    )
    return f"CASE {text} {rows} ELSE {n} END"
