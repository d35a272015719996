"""Public tables made binary: features of two values, and which of them exclude one another.

adult becomes 20 features by the rules of `_ADULT`, votes 16 (a vote for, against the rest), and
masses, which ships with the package and stands in where the folder of tables is absent, 17.
All cuts were set by hand before any attack ran.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from common.tables import data_folder, load_table
from numpy.typing import NDArray

from dpforest import Domain
from dpforest.datasets import load_adult, load_mammographic_masses
from dpforest.domain.schema import NumericFeature


@dataclass(frozen=True)
class Group:
    """Features of which at most one is 1, or exactly one where ``complete``."""

    members: tuple[int, ...]
    complete: bool


@dataclass(frozen=True, eq=False)
class BinaryTable:
    """A table of zeros and ones.

    Attributes
    ----------
    x : ndarray of uint8, shape (n, D)
    y : ndarray of int64, shape (n,)
        Zeros and ones.
    names : tuple of str
    groups : tuple of Group
        Public: they follow from how the features are made.
    """

    name: str
    x: NDArray[np.uint8]
    y: NDArray[np.int64]
    names: tuple[str, ...]
    groups: tuple[Group, ...]

    def domain(self, n_records: int) -> Domain:
        """The declared domain of a training table of that size."""
        features = [NumericFeature(name=n, lower=0, upper=1, integer=True) for n in self.names]
        return Domain(features=features, classes=[0, 1], approximate_rows=n_records)


_Rule = tuple[str, bool, dict[str, Callable[[dict[str, NDArray]], NDArray]]]


def _is(column: str, *values: str) -> Callable[[dict[str, NDArray]], NDArray]:
    return lambda table: np.isin(table[column], values)


def _between(column: str, low: float, high: float) -> Callable[[dict[str, NDArray]], NDArray]:
    return lambda table: (table[column] >= low) & (table[column] <= high)


#: Name of the group, whether one of it is always 1, and its features. A missing value is none.
_ADULT: tuple[_Rule, ...] = (
    ("age", True, {"age <= 30": _between("age", 0, 30), "age 31-45": _between("age", 31, 45),
                   "age > 45": _between("age", 46, 200)}),
    ("work", False, {"private": _is("workclass", "Private"),
                     "self-employed": _is("workclass", "Self-emp-inc", "Self-emp-not-inc"),
                     "government": _is("workclass", "Federal-gov", "Local-gov", "State-gov")}),
    ("education", True, {"at most high school": _between("education-num", 1, 9),
                         "some college": _between("education-num", 10, 12),
                         "bachelor or more": _between("education-num", 13, 16)}),
    ("marital", False, {"married": _is("marital-status", "Married-civ-spouse",
                                       "Married-AF-spouse"),
                        "never married": _is("marital-status", "Never-married")}),
    ("occupation", False, {"manager or professional": _is("occupation", "Exec-managerial",
                                                          "Prof-specialty"),
                           "clerical or sales": _is("occupation", "Adm-clerical", "Sales"),
                           "manual": _is("occupation", "Craft-repair", "Farming-fishing",
                                         "Handlers-cleaners", "Machine-op-inspct",
                                         "Transport-moving")}),
    ("white", False, {"white": _is("race", "White")}),
    ("male", False, {"male": _is("sex", "Male")}),
    ("gain", False, {"capital gain": _between("capital-gain", 1, 1e9)}),
    ("loss", False, {"capital loss": _between("capital-loss", 1, 1e9)}),
    ("hours", False, {"hours > 40": _between("hours-per-week", 41, 200)}),
    ("native", False, {"born in the United States": _is("native-country", "United-States")}),
)  # fmt: skip

_MASSES: tuple[_Rule, ...] = (
    ("age", True, {"age <= 40": _between("age", 0, 40), "age 41-55": _between("age", 41, 55),
                   "age 56-65": _between("age", 56, 65), "age > 65": _between("age", 66, 200)}),
    ("shape", False, {f"shape {k}": _is("shape", str(k)) for k in range(1, 5)}),
    ("margin", False, {f"margin {k}": _is("margin", str(k)) for k in range(1, 6)}),
    ("density", False, {"density <= 2": _between("density", 1, 2)}),
    ("assessment", False, {"assessment 4": _between("birads", 4, 4),
                           "assessment > 4": _between("birads", 5, 6)}),
)  # fmt: skip


@lru_cache(maxsize=4)
def binary_table(name: str) -> BinaryTable:
    """``adult``, ``votes`` or ``masses``."""
    return {"adult": _adult, "votes": _votes, "masses": _masses}[name]()


def default_sets() -> tuple[str, str]:
    """adult, and votes where the folder of tables has it."""
    return "adult", "votes" if (data_folder() / "house_votes.json").exists() else "masses"


def _adult() -> BinaryTable:
    bunch = load_adult()
    labels = (np.asarray(bunch.target) == ">50K").astype(np.int64)
    return _by_rules("adult", _columns(bunch), labels, _ADULT)


def _masses() -> BinaryTable:
    bunch = load_mammographic_masses()
    table = _columns(bunch)
    # No record may be without an age: the few that miss it are left out.
    keep = ~np.isnan(table["age"])
    labels = (np.asarray(bunch.target).astype(str) == "1").astype(np.int64)
    kept = {column: values[keep] for column, values in table.items()}
    return _by_rules("masses", kept, labels[keep], _MASSES)


def _votes() -> BinaryTable:
    table = load_table(data_folder(), "house_votes")
    names = tuple(table.domain.feature_names)
    # The first category is the vote for; an abstention is no vote for.
    return BinaryTable("votes", (table.X == 0).astype(np.uint8), table.y, names, ())


def _columns(bunch: object) -> dict[str, NDArray]:
    """Columns by name: numbers as they are, categories as text."""
    columns = {}
    for place, feature in enumerate(bunch.domain.features):  # type: ignore[attr-defined]
        values = bunch.data[:, place]  # type: ignore[attr-defined]
        if feature.kind == "categorical":
            values = _texts(feature, values)
        columns[feature.name] = values
    return columns


def _texts(feature: object, values: NDArray) -> NDArray:
    if feature.holds_numbers:  # type: ignore[attr-defined]
        return np.array(["" if np.isnan(v) else str(int(v)) for v in values])
    names = np.array([*feature.categories, ""])  # type: ignore[attr-defined]
    return names[np.where(np.isnan(values), len(names) - 1, values).astype(np.int64)]


def _by_rules(
    name: str, table: dict[str, NDArray], y: NDArray[np.int64], rules: tuple[_Rule, ...]
) -> BinaryTable:
    columns: list[NDArray] = []
    names: list[str] = []
    groups = []
    for _, complete, made in rules:
        members = tuple(range(len(names), len(names) + len(made)))
        if len(members) > 1:
            groups.append(Group(members, complete))
        names += made
        columns += [make(table) for make in made.values()]
    return BinaryTable(name, np.column_stack(columns).astype(np.uint8), y, tuple(names),
                       tuple(groups))  # fmt: skip
