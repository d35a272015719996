"""Allocation of a budget: the share of a total that each level, choice and leaf of a tree gets.

Shares are in the currency of the plan: pure epsilon or rho. Both add along a tree, so the
same arithmetic serves both. An allocation with ``in_epsilon = True`` gives epsilons in either
case. An allocation only proposes; what it costs is decided by the accountant's scopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from dpforest.accounting.losses import ZERO
from dpforest.accounting.rationals import to_rational
from dpforest.exceptions import ParameterError, ParameterTypeError

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class TreeShares:
    """Shares of one tree, in the currency of the plan unless the allocation says otherwise.

    Attributes
    ----------
    feature : tuple of Fraction
        For the feature selection of each level, root first; of the joint (feature, threshold)
        choice where there is one.
    value : tuple of Fraction
        For the value selection of each level; zeros with a joint choice.
    leaf : Fraction
        For the labels or histograms of the leaves.
    """

    feature: tuple[Fraction, ...]
    value: tuple[Fraction, ...]
    leaf: Fraction

    @property
    def selection(self) -> Fraction:
        """Sum over all levels and both choices."""
        return sum(self.feature, ZERO) + sum(self.value, ZERO)


@runtime_checkable
class Allocation(Protocol):
    """Anything that divides a total among the draws of a tree."""

    @property
    def name(self) -> str:
        """Name in reports."""

    def shares(
        self, total: Fraction, n_trees: int, depth: int, partitioned: bool, joint: bool
    ) -> TreeShares:
        """Divide a total.

        Parameters
        ----------
        total : Fraction
            For the whole forest.
        n_trees, depth : int
            Number of trees; levels of splits in each.
        partitioned : bool
            Structure and leaves of a tree meet different records, so they run in parallel and
            both may use the whole share of the tree.
        joint : bool
            Feature and value are chosen in one draw.

        Returns
        -------
        TreeShares
        """

    def describe(self) -> str:
        """Say in words how the total is divided."""


@dataclass(frozen=True, slots=True)
class Theorem2Allocation:
    """Theorem 2 of the MRF paper: B1 + B2 = total / (d t), B3 = total / t.

    Structure and estimation points are disjoint, so a tree costs
    max(d (B1 + B2), B3) = total / t. Needs a partitioned forest.

    Parameters
    ----------
    feature_share : number, default=1/2
        B1 / (B1 + B2).
    """

    feature_share: Any = _HALF
    name = "theorem2"

    def __post_init__(self) -> None:
        _set(self, "feature_share", _share("feature_share", self.feature_share))

    def shares(
        self, total: Fraction, n_trees: int, depth: int, partitioned: bool, joint: bool
    ) -> TreeShares:
        """Divide a total; see :class:`Allocation`."""
        if not partitioned:
            raise ParameterError(
                "allocation", self.name,
                "rests on structure and estimation points being disjoint",
                'Give a partition_rate, or use allocation="uniform"',
            )  # fmt: skip
        tree = total / n_trees
        return _with_levels([tree / depth] * depth, tree, self.feature_share, joint)

    def describe(self) -> str:
        """Say in words how the total is divided."""
        return (
            "Theorem 2 of the MRF paper: B1 + B2 = total / (levels x trees), B3 = total / trees, "
            f"with B1 : B2 = {_ratio(self.feature_share)}"
        )


@dataclass(frozen=True, slots=True)
class UniformAllocation:
    """Every tree the same, and in a tree every level the same.

    Parameters
    ----------
    selection_share : number, default=0.35
        Share of a tree's budget for its splits; the rest is for its leaves. A partitioned
        forest does not need it: both sides may use the whole.
    feature_share : number, default=1/2
        Share of a level's budget for the choice of features, where values are chosen apart.
    """

    selection_share: Any = Fraction(35, 100)
    feature_share: Any = _HALF
    name = "uniform"

    def __post_init__(self) -> None:
        _set(self, "selection_share", _share("selection_share", self.selection_share))
        _set(self, "feature_share", _share("feature_share", self.feature_share))

    def shares(
        self, total: Fraction, n_trees: int, depth: int, partitioned: bool, joint: bool
    ) -> TreeShares:
        """Divide a total; see :class:`Allocation`."""
        selection, leaf = _split_tree(total / n_trees, self.selection_share, partitioned)
        return _with_levels([selection / depth] * depth, leaf, self.feature_share, joint)

    def describe(self) -> str:
        """Say in words how the total is divided."""
        return f"uniform over trees and levels; {_words(self.selection_share, self.feature_share)}"


@dataclass(frozen=True, slots=True)
class PerLevelAllocation:
    """Every tree the same, levels in proportion to public weights.

    Parameters
    ----------
    weights : sequence of numbers, optional
        One positive weight a level, root first. By default level k (from 1) weighs k, since
        deeper nodes hold fewer records.
    selection_share, feature_share : number
        As in :class:`UniformAllocation`.
    """

    weights: Any = None
    selection_share: Any = Fraction(35, 100)
    feature_share: Any = _HALF
    name = "per_level"

    def __post_init__(self) -> None:
        if self.weights is not None:
            _set(self, "weights", _positive_numbers("weights", self.weights))
        _set(self, "selection_share", _share("selection_share", self.selection_share))
        _set(self, "feature_share", _share("feature_share", self.feature_share))

    def shares(
        self, total: Fraction, n_trees: int, depth: int, partitioned: bool, joint: bool
    ) -> TreeShares:
        """Divide a total; see :class:`Allocation`."""
        weights = self.weights
        if weights is None:
            weights = tuple(Fraction(level + 1) for level in range(depth))
        if len(weights) != depth:
            raise ParameterError(
                "weights", tuple(map(str, weights)),
                f"must hold one weight for each of {depth} levels",
                "Give as many weights as max_depth",
            )  # fmt: skip
        selection, leaf = _split_tree(total / n_trees, self.selection_share, partitioned)
        levels = [selection * weight / sum(weights) for weight in weights]
        return _with_levels(levels, leaf, self.feature_share, joint)

    def describe(self) -> str:
        """Say in words how the total is divided."""
        weights = "1, 2, 3, ..." if self.weights is None else ", ".join(map(str, self.weights))
        words = _words(self.selection_share, self.feature_share)
        return f"uniform over trees, levels weighted {weights}; {words}"


@dataclass(frozen=True, slots=True)
class ExplicitAllocation:
    """B1, B2 and B3 of each draw as given; the total is only a ceiling.

    All three are epsilons of the draw they are for, whether the plan adds up in epsilon or (with
    a delta) in rho: there each draw is priced by its rho.

    Parameters
    ----------
    B1, B2 : number
        Epsilon of every feature selection and every value selection of a level. With a joint
        choice the two are added.
    B3 : number
        Epsilon of the leaves of a tree. Gaussian leaves have none; they get the noise whose rho
        is that of any release at this epsilon, B3 squared over 2.
    """

    B1: Any
    B2: Any
    B3: Any
    name = "explicit"
    in_epsilon = True

    def __post_init__(self) -> None:
        for parameter in ("B1", "B2", "B3"):
            value = to_rational(getattr(self, parameter), parameter)
            if value <= 0:
                raise ParameterError(parameter, str(value), "must be positive", "Give more")
            _set(self, parameter, value)

    def shares(
        self, total: Fraction, n_trees: int, depth: int, partitioned: bool, joint: bool
    ) -> TreeShares:
        """Give every draw what was asked for; see :class:`Allocation`."""
        level = self.B1 + self.B2
        return _with_levels([level] * depth, self.B3, self.B1 / level, joint)

    def describe(self) -> str:
        """Say in words how the total is divided."""
        return f"epsilon of each draw as given: B1 = {self.B1}, B2 = {self.B2}, B3 = {self.B3}"


_BY_NAME: dict[str, type[Any]] = {
    "theorem2": Theorem2Allocation,
    "uniform": UniformAllocation,
    "per_level": PerLevelAllocation,
}


def resolve_allocation(allocation: Any) -> Allocation:
    """Return the allocation of a name, or the object itself if it is one.

    Parameters
    ----------
    allocation : {"theorem2", "uniform", "per_level"} or Allocation

    Raises
    ------
    ParameterError
        For an unknown name, and for ``"explicit"``, which needs its three numbers.
    ParameterTypeError
        For an object that divides nothing.
    """
    if isinstance(allocation, str):
        if allocation == "explicit":
            raise ParameterError(
                "allocation", allocation, "needs B1, B2 and B3",
                "Use allocation=ExplicitAllocation(B1=..., B2=..., B3=...)",
            )  # fmt: skip
        if allocation not in _BY_NAME:
            names = ", ".join(map(repr, _BY_NAME))
            raise ParameterError(
                "allocation", allocation, f"must be one of {names} or an Allocation",
                'Use, say, allocation="uniform"',
            )  # fmt: skip
        made: Allocation = _BY_NAME[allocation]()
        return made
    if isinstance(allocation, type) or not isinstance(allocation, Allocation):
        raise ParameterTypeError(
            "allocation", allocation, "must be a name or have name, shares and describe",
            'Use, say, allocation="uniform" or UniformAllocation()',
        )  # fmt: skip
    return allocation


_OBJECTS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (Theorem2Allocation, UniformAllocation, PerLevelAllocation, ExplicitAllocation)
}


def allocation_to_data(allocation: Allocation) -> dict[str, Any]:
    """Write an allocation down: its class, and its numbers as text.

    Of a class of somebody else's only the name is kept.
    """
    kind = type(allocation)
    if _OBJECTS.get(kind.__name__) is not kind:
        return {"class": None, "name": str(allocation.name)}
    values = {field.name: getattr(allocation, field.name) for field in fields(kind)}
    return {"class": kind.__name__, **{name: _as_text(value) for name, value in values.items()}}


def allocation_from_data(data: dict[str, Any]) -> Allocation | str:
    """Read what :func:`allocation_to_data` wrote; the name where the class is somebody else's."""
    values = dict(data)
    kind = values.pop("class")
    if kind is None:
        return str(values["name"])
    made: Allocation = _OBJECTS[kind](**values)
    return made


def _as_text(value: Any) -> Any:
    if isinstance(value, tuple):
        return [str(part) for part in value]
    return None if value is None else str(value)


def _with_levels(
    levels: Sequence[Fraction], leaf: Fraction, feature_share: Fraction, joint: bool
) -> TreeShares:
    if joint:
        return TreeShares(tuple(levels), (ZERO,) * len(levels), leaf)
    return TreeShares(
        tuple(level * feature_share for level in levels),
        tuple(level * (1 - feature_share) for level in levels),
        leaf,
    )


def _split_tree(
    tree: Fraction, selection_share: Fraction, partitioned: bool
) -> tuple[Fraction, Fraction]:
    if partitioned:
        return tree, tree
    return tree * selection_share, tree * (1 - selection_share)


def _share(parameter: str, value: Any) -> Fraction:
    share = to_rational(value, parameter)
    if not 0 < share < 1:
        raise ParameterError(parameter, value, "must lie strictly between 0 and 1", "Use, say, 0.5")
    return share


def _positive_numbers(parameter: str, values: Any) -> tuple[Fraction, ...]:
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ParameterTypeError(
            parameter, values, "must be a sequence of numbers", "Give one weight a level"
        )
    weights = tuple(to_rational(value, parameter) for value in values)
    if not weights or min(weights) <= 0:
        raise ParameterError(parameter, values, "must all be positive", "Give one weight a level")
    return weights


def _set(frozen: Any, name: str, value: Any) -> None:
    object.__setattr__(frozen, name, value)


def _ratio(feature_share: Fraction) -> str:
    ratio = feature_share / (1 - feature_share)
    return f"{ratio.numerator} : {ratio.denominator}"


def _words(selection_share: Fraction, feature_share: Fraction) -> str:
    return (
        f"{float(selection_share):.4g} of a tree for its splits, the rest for its leaves (all of "
        f"it for both where they meet different records); B1 : B2 = {_ratio(feature_share)}"
    )
