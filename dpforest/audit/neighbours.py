"""Pairs of datasets that are checked to be neighbours, by one record or by one privacy unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Literal

from dpforest.accounting.units import check_records_per_unit
from dpforest.audit.gaps import objects_of
from dpforest.exceptions import ParameterError, ParameterTypeError, kind_of

Relation = Literal["add_remove", "replace_one"]

_MISSING = "not a number"


@dataclass(frozen=True, slots=True)
class DatasetPair:
    """Two datasets that differ in one record, or in the records of one privacy unit.

    A dataset is an array of records (one a row, or one a number), or a tuple ``(X, y)`` of a
    table and its labels. Order plays no part in whether two are neighbours. Masked cells are
    missing, whatever stands below.

    Parameters
    ----------
    first, second : array-like or tuple of array-likes
    relation : {"add_remove", "replace_one"}
        Native is adding or removing a record.
    name : str
        For the result.
    records_per_unit : int, default=1
        For a claim with ``max_records_per_unit``: one dataset may have from one to so many
        records more, or so many replaced, all of one privacy unit.
    made_up : bool, default=False
        Whoever gives the pair says by True that it holds nobody's records: both tables were made
        up, as the built-in ones are. An audit of an estimator warns of any other.

    Raises
    ------
    ParameterError
        If they are not neighbours. The message holds numbers of records, since whoever audits
        made both; it holds no value.
    ParameterTypeError
        If a dataset is of another kind.
    """

    first: Any
    second: Any
    relation: Relation = "add_remove"
    name: str = "the caller's pair"
    records_per_unit: int = 1
    made_up: bool = False

    def __post_init__(self) -> None:
        if self.relation not in ("add_remove", "replace_one"):
            raise ParameterError(
                "relation",
                self.relation,
                "must be 'add_remove' or 'replace_one'",
                "Choose the relation that the claim is for",
            )
        check_records_per_unit(self.records_per_unit)
        first, second = Counter(records_of(self.first)), Counter(records_of(self.second))
        only_first, only_second = (first - second).total(), (second - first).total()
        less, more = sorted((only_first, only_second))
        unit = 1 <= more <= self.records_per_unit
        if not unit or less != (0 if self.relation == "add_remove" else more):
            raise ParameterError(
                "pair",
                self.name,
                f"datasets are not neighbours under {self.relation}: {only_first} record(s) are "
                f"in the first alone and {only_second} in the second alone",
                "Give two datasets that differ in exactly one record"
                if self.records_per_unit == 1
                else f"Give two that differ in 1 to {self.records_per_unit} records of one "
                "privacy unit",
            )

    def reversed(self) -> DatasetPair:
        """The same pair the other way round."""
        return replace(self, first=self.second, second=self.first)


def as_pairs(pairs: Any) -> tuple[DatasetPair, ...]:
    """One pair or several, as the caller gave them.

    Raises
    ------
    ParameterTypeError
        If there is something else among them.
    ParameterError
        If two datasets are given that are no neighbours.
    """
    if isinstance(pairs, DatasetPair):
        return (pairs,)
    if isinstance(pairs, tuple) and len(pairs) == 2 and not isinstance(pairs[0], DatasetPair):
        return (DatasetPair(*pairs),)
    found = tuple(pairs) if isinstance(pairs, (list, tuple)) else ()
    if not found or not all(isinstance(pair, DatasetPair) for pair in found):
        raise ParameterTypeError(
            "pairs",
            kind_of(pairs),
            "must be a DatasetPair, a list of them, or a tuple of two datasets",
            "Build one with DatasetPair(first, second)",
        )
    return found


def records_of(dataset: Any) -> list[Hashable]:
    """The records of a dataset as hashable values.

    Raises
    ------
    ParameterTypeError
        If it is neither an array of records nor a table with labels.
    ParameterError
        If the table and its labels differ in length.
    """
    if isinstance(dataset, tuple) and len(dataset) == 2:
        X, y = (_rows(part) for part in dataset)
        if len(X) != len(y):
            raise ParameterError(
                "pair", f"{len(X)} and {len(y)} rows", "a table and its labels differ in length",
                "Give one label a record",
            )  # fmt: skip
        return list(zip(X, y, strict=True))
    return _rows(dataset)


def _rows(part: Any) -> list[Hashable]:
    array = objects_of(part)
    if array.ndim not in (1, 2):
        raise ParameterTypeError(
            "pair",
            kind_of(part),
            "a dataset must be an array of records or a tuple (X, y)",
            "Give one record a row",
        )
    if array.ndim == 1:
        return [_comparable(value) for value in array.tolist()]
    return [tuple(_comparable(value) for value in row) for row in array.tolist()]


def _comparable(value: Any) -> Hashable:
    """A value that equals itself: NaN does not."""
    if isinstance(value, float) and value != value:
        return _MISSING
    return tuple(value) if isinstance(value, list) else value
