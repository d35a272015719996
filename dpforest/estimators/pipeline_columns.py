"""Columns that a step of a pipeline hands on to a private estimator, by what is known before.

A ``ColumnTransformer`` may hand them on in another order and without their names; a selection by a
private estimator leaves so many of them. What a step is asked for are its parameters and the
declared domains. An object counts as an estimator by its type alone, without being asked.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

from sklearn import get_config

from dpforest.domain.domain import Domain
from dpforest.estimators.pipeline_rows import around_row
from dpforest.estimators.sharing import SharedBudget, has_own_fit


@dataclass(frozen=True, slots=True)
class _Selection:
    """A private selection in a pipeline, and the private estimator that is fitted after it.

    Attributes
    ----------
    name, after : str
        Of both steps.
    declared, wanted : Domain
        Of the selection, and of what comes after it.
    least, most : int
        Columns that it may leave.
    by_mean : bool
        Whether it leaves out what is below the mean: something, as a rule.
    keeps_names : bool
        Whether it hands on a frame.
    """

    name: str
    after: str
    declared: Domain
    wanted: Domain
    least: int
    most: int
    by_mean: bool
    keeps_names: bool

    def refused(self, names: tuple[str, ...] | None) -> str:
        """Words on why what is left is refused for sure; empty where it need not be."""
        n_columns, needed = self.declared.n_features, self.wanted.n_features
        by_name = self.keeps_names and names == self.declared.feature_names
        by_place = not self.keeps_names or names == ()
        others = set(self.wanted.feature_names) - set(self.declared.feature_names)
        if by_name and others and (len(others) < needed or needed < self.least):
            return "none but its own columns"  # a frame without any of the names is read by place
        if needed > self.most:
            return f"{self.most} columns at most"
        if by_place and needed < self.least:
            return f"{self.least} columns"
        return "columns out" if self.by_mean and self.least < needed == n_columns else ""

    @property
    def is_open(self) -> bool:
        """True if nobody knows before which columns are left."""
        return self.least < self.declared.n_features


def unfit_selection(estimator: Any, names: tuple[str, ...] | None = None) -> str:
    """Words on a pipeline whose private selection leaves what is refused after it, else empty.

    Parameters
    ----------
    estimator : estimator
    names : tuple of str, optional
        Of the columns that the selection is fitted to, empty where they have none; None where that
        is not known.
    """
    try:
        for one in _selections(estimator):
            if left := one.refused(names):
                needed = one.wanted.n_features
                return f"{one.name!r} leaves {left}, and {one.after!r} declares {needed} features"
    except Exception:  # somebody else's class, whose parameters raise when they are read
        return ""
    return ""


def open_selections(estimator: Any) -> Iterator[str]:
    """Say of a pipeline where it is not known before what a private selection leaves."""
    for one in _selections(estimator):
        if one.is_open and not one.refused(None):
            yield (
                f"which columns {one.name!r} leaves is known once it was paid for: {one.after!r} "
                "is refused then if it declares others, and takes others for its own where they "
                "come without names"
            )


def _selections(estimator: Any) -> Iterator[_Selection]:
    """Private selections of a pipeline that are followed by a private estimator."""
    for (name, step), (after, following) in pairwise(_working(_steps(estimator))):
        while inner := _working(_steps(step)):
            step = inner[-1][1]
        if not is_class(step, "sklearn.feature_selection", "SelectFromModel"):
            continue
        declared, wanted = _domain_of(read(step, "estimator")), _domain_of(_first(following))
        if declared is not None and wanted is not None and read(step, "prefit") is not True:
            left, by_mean = _left_by(step, declared.n_features), _goes_by_mean(step)
            yield _Selection(name, after, declared, wanted, *left, by_mean, _keeps_names(step))


def _first(step: Any) -> Any:
    """Estimator fitted to a step's columns: itself, its first step, or the one that it holds."""
    while not is_of(step, SharedBudget):
        held, row = read(step, "estimator"), around_row(type(step))
        if inner := _working(_steps(step)):
            step = inner[0][1]
        elif row is None or held is None or row.columns == "others":
            return None
        else:
            step = held
    return step


def _domain_of(estimator: Any) -> Domain | None:
    """The domain that a private estimator declares, if no ``fit`` of its own may change it."""
    is_known = is_of(estimator, SharedBudget) and not has_own_fit(estimator)
    domain = read(estimator, "domain") if is_known else None
    return domain if is_of(domain, Domain) else None


def _left_by(selector: Any, n_columns: int) -> tuple[int, int]:
    """Fewest and most columns that a selection may leave, by its parameters.

    Importances of private forests are not negative.
    """
    limit, threshold = read(selector, "max_features"), read(selector, "threshold")
    if limit is not None and not is_of(limit, Integral):
        return 0, n_columns  # a function of the table
    most = n_columns if limit is None else min(int(limit), n_columns)
    takes_all = is_of(threshold, Real) and threshold <= 0
    own = read(selector, "importance_getter") in ("auto", "feature_importances_")
    return (most if takes_all and own else 0), most


def _goes_by_mean(selector: Any) -> bool:
    """True of the threshold that leaves all only where features are all alike."""
    threshold = read(selector, "threshold")
    return threshold is None or (is_of(threshold, str) and threshold == "mean")


def reordered_by(estimator: Any, domain: Domain) -> str:
    """Words on a pipeline's step that loses names and order of the declared columns, else empty."""
    try:
        return "".join(reordered(estimator, [domain]))
    except Exception:  # somebody else's class, whose parameters raise when they are read
        return ""


def reordered(estimator: Any, domains: list[Domain]) -> Iterator[str]:
    """Say of a pipeline whether columns lose their names and come in another order than declared.

    Its step is asked by names alone. One that makes other columns of them (of each category one)
    is told by a domain that does not declare these.
    """
    working = _working(_steps(estimator)[:-1])
    if not working:
        return
    # The last one gets its columns from this step; what steps before it made of theirs it hides.
    name, step = working[-1]
    order, whole = _order_of(step)
    declared = [domain.feature_names for domain in domains]
    if any(
        set(order) <= set(names)
        and order != names[: len(order)]
        and (whole or len(order) == len(names))
        for names in declared
    ):
        yield (
            f"{name!r} hands columns on in another order than is declared, and without names, "
            'so they are read as others: give it set_output(transform="pandas") and '
            "verbose_feature_names_out=False"
        )


def _steps(estimator: Any) -> list[Any]:
    """Names and estimators of a pipeline's steps; nothing of any other estimator."""
    steps = read(estimator, "steps")
    if not is_class(estimator, "sklearn.pipeline", "Pipeline") or not is_of(steps, list):
        return []
    return [step for step in steps if is_of(step, (list, tuple)) and len(step) == 2]


def _working(steps: list[Any]) -> list[Any]:
    """Steps that are no ``"passthrough"``, nor a pipeline of these alone."""
    some = [pair for pair in steps if not is_of(pair[1], (str, type(None)))]
    return [pair for pair in some if not _steps(pair[1]) or _working(_steps(pair[1]))]


def _order_of(step: Any) -> tuple[tuple[str, ...], bool]:
    """Names of the columns that a ``ColumnTransformer`` hands on as an array, in its order.

    And whether the columns that it does not name follow. A pipeline hands on what its last step
    does.
    """
    if inner := _working(_steps(step)):
        return _order_of(inner[-1][1])
    parts, nothing = read(step, "transformers"), ((), False)
    if not is_class(step, "sklearn.compose", "ColumnTransformer") or _keeps_names(step):
        return nothing
    if not is_of(parts, list) or not all(is_of(p, tuple) and len(p) == 3 for p in parts):
        return nothing
    if any(is_of(part, str) and part == "drop" for _, part, _ in parts):
        return nothing
    order = [column for *_, columns in parts for column in _listed(columns)]
    if not all(is_of(column, str) for column in order) or len(set(order)) < len(order):
        return nothing
    left = read(step, "remainder")
    return tuple(order), not (is_of(left, str) and left == "drop")


def _listed(columns: Any) -> list[Any]:
    """Columns one by one: of a list, an array or an index of pandas."""
    if is_of(columns, (list, tuple)):
        return list(columns)
    listed = read(columns, "tolist")
    try:
        found = listed() if callable(listed) else columns
    except Exception:  # somebody else's class
        found = columns
    return found if is_of(found, list) else [columns]


def _keeps_names(step: Any) -> bool:
    """Say if a transformer hands on a frame, by its own setting or by that of scikit-learn."""
    own = read(step, "_sklearn_output_config") or {}
    return bool(own.get("transform", get_config()["transform_output"]) != "default")


def read(estimator: Any, name: str) -> Any:
    """A parameter; None where there is none, or where reading it raises."""
    try:
        return getattr(estimator, name, None)
    except Exception:
        return None


def is_of(candidate: Any, kinds: type | tuple[type, ...]) -> bool:
    """Say if an object is of a class by its type, without asking the object."""
    return issubclass(type(candidate), kinds)


def is_class(candidate: Any, module: str, name: str) -> bool:
    """Say if an object is of a class of scikit-learn, which is not imported for the question."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and is_of(candidate, kind)
