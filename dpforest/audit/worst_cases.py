"""Neighbouring tables on which private trees go wrong when they do.

Each is small, so that one record matters, and built from the public facts of a domain alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpforest.audit.neighbours import DatasetPair
from dpforest.domain.domain import Domain
from dpforest.domain.schema import CategoricalFeature
from dpforest.exceptions import ParameterError

_Row = tuple[list[Any], Any]


class _Corners:
    """Records at places of a domain: 0 is the low end of every feature, 1 the high end."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        if domain.classes is not None:
            self.outputs: tuple[Any, Any] = (domain.classes.labels[0], domain.classes.labels[-1])
        elif domain.target is not None:
            self.outputs = (domain.target.lower, domain.target.upper)
        else:
            raise ParameterError(
                "domain",
                "no classes and no target",
                "worst cases need labels",
                "Declare the classes",
            )

    def row(self, *places: float, label: int) -> _Row:
        """A record: one place a feature, the last one repeated; label 0 or 1."""
        values = [
            self._value(feature, places[min(index, len(places) - 1)])
            for index, feature in enumerate(self.domain.features)
        ]
        return values, self.outputs[label]

    @staticmethod
    def _value(feature: Any, place: float) -> Any:
        if isinstance(feature, CategoricalFeature):
            categories = feature.categories
            return categories[min(int(place * len(categories)), len(categories) - 1)]
        value = feature.lower + place * (feature.upper - feature.lower)
        return float(round(value)) if feature.integer else float(value)

    def table(self, rows: list[_Row]) -> tuple[np.ndarray, np.ndarray]:
        """Rows as a table; of numbers where no feature is categorical."""
        numeric = all(feature.kind == "numeric" for feature in self.domain.features)
        X = np.empty((len(rows), self.domain.n_features), dtype=np.float64 if numeric else object)
        for index, (values, _) in enumerate(rows):
            X[index] = values
        labels = [label for _, label in rows]
        return X, np.array(labels, dtype=np.array(self.outputs).dtype)


_Case = tuple[list[_Row], _Row]


def _lone_record(at: _Corners, size: int) -> _Case:
    """All others lie in one corner, so the record is alone wherever a split sends it."""
    return [at.row(0, label=0)] * size, at.row(1, label=1)


def _first_record(at: _Corners, size: int) -> _Case:
    """The only record there is."""
    return [], at.row(1, label=1)


def _new_candidate(at: _Corners, size: int) -> _Case:
    """A value that was not there: midpoints of observed values get a new one."""
    return [at.row(0, label=0), at.row(1, label=1)] * (size // 2), at.row(0.5, label=0)


def _stopping_size(at: _Corners, size: int) -> _Case:
    """One side of every split holds ``size - 1`` records, with the record ``size``."""
    low, high = [at.row(0, label=0)] * (4 * size), [at.row(1, label=1)] * (size - 1)
    return low + high, at.row(1, label=1)


def _above_stopping_size(at: _Corners, size: int) -> _Case:
    """The same one record further, for rules that stop at ``size`` and not below."""
    low, high = [at.row(0, label=0)] * (4 * size), [at.row(1, label=1)] * size
    return low + high, at.row(1, label=1)


def _class_seen_once(at: _Corners, size: int) -> _Case:
    """The record's class has no other record."""
    return [at.row(0, label=0), at.row(1, label=0)] * (size // 2), at.row(1, label=1)


def _tie(at: _Corners, size: int) -> _Case:
    """Both classes are equal in number everywhere; the record breaks every tie."""
    places = [at.row(place, label=label) for place in (0, 1) for label in (0, 1)]
    return places * (size // 2), at.row(1, label=1)


def _tie_of_features(at: _Corners, size: int) -> _Case:
    """Two features separate the classes equally well; the record contradicts the first."""
    return [at.row(0, label=0), at.row(1, label=1)] * size, at.row(0, 1, label=1)


def _duplicates(at: _Corners, size: int) -> _Case:
    """One more of many equal records."""
    return [at.row(1, label=1)] * (8 * size), at.row(1, label=1)


def _outside(at: _Corners, size: int) -> _Case:
    """A record at the far end, where bounds read from the data would move."""
    return [at.row(0, label=0), at.row(0.25, label=1)] * size, at.row(1, label=1)


#: Builders of the built-in pairs by name.
WORST_CASES: dict[str, Callable[[_Corners, int], _Case]] = {
    "a lone record in an empty leaf": _lone_record,
    "the only record": _first_record,
    "a record that creates a new candidate": _new_candidate,
    "a node at the stopping size": _stopping_size,
    "a node just above the stopping size": _above_stopping_size,
    "a class seen once": _class_seen_once,
    "ties between classes": _tie,
    "ties between features": _tie_of_features,
    "duplicates": _duplicates,
    "a record beyond all others": _outside,
}


def worst_cases(
    domain: Domain, stopping_size: int = 5, records_per_unit: int = 1
) -> tuple[DatasetPair, ...]:
    """Built-in neighbouring tables of a domain, in add/remove.

    Parameters
    ----------
    domain : Domain
        With classes or a target.
    stopping_size : int, default=5
        Number of records at which a stopping rule might stop; sizes of the tables follow it.
    records_per_unit : int, default=1
        Records of the one unit by which the tables differ, all alike.

    Returns
    -------
    tuple of DatasetPair
        Datasets are ``(X, y)``; the second has one unit more.

    Raises
    ------
    ParameterError
        If the domain has neither classes nor target.
    """
    return tuple(worst_case(domain, name, stopping_size, records_per_unit) for name in WORST_CASES)


def worst_case(
    domain: Domain, name: str, stopping_size: int = 5, records_per_unit: int = 1
) -> DatasetPair:
    """One built-in pair by its name, a key of ``WORST_CASES``.

    Raises
    ------
    ParameterError
        If there is none of this name, or the domain has neither classes nor target.
    """
    if name not in WORST_CASES:
        raise ParameterError("name", name, f"must be one of {list(WORST_CASES)}", "Choose one")
    corners = _Corners(domain)
    others, record = WORST_CASES[name](corners, stopping_size)
    return DatasetPair(
        corners.table(others),
        corners.table([*others, *[record] * records_per_unit]),
        name=name if records_per_unit == 1 else f"{name}, {records_per_unit} times",
        records_per_unit=records_per_unit,
        made_up=True,
    )
