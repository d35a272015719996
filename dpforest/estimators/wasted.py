"""Fits that would be paid for in vain, because of what stands around them; refused at the door.

scikit-learn's tools know nothing of a domain. Some fit an estimator to other columns than the
table has; some look its features up by the places of columns, where a private fit reads them by
name; some hand codes on in the place of labels, which mean no declared class; a private selection
leaves too few columns for a private fit after it. All of this can be
seen before anything is charged: from the call stack, as in ``pipelines.py``, and from the declared
domain. No record is looked at.
"""

from __future__ import annotations

from types import FrameType
from typing import Any, NoReturn

from dpforest.call_stack import calling_frames
from dpforest.domain.column_names import table_names
from dpforest.domain.domain import Domain
from dpforest.estimators.pipeline_columns import reordered_by, unfit_selection
from dpforest.estimators.pipeline_rows import row_of
from dpforest.estimators.pipelines import holders_around
from dpforest.exceptions import Described, ParameterError

#: The function that hands codes on where it is asked for more than labels.
_BY_FOLDS = "cross_val_predict"


def refuse_wasted(domain: Domain, X: Any) -> None:
    """Refuse a fit that can come to nothing where it stands.

    Parameters
    ----------
    domain : Domain
        As declared.
    X : array, data frame or stream
        Its names alone are looked at.

    Raises
    ------
    ParameterError

    Notes
    -----
    Held by tests/estimators/test_wasted.py.
    """
    # A class of somebody else's between them may declare what each fit of it needs.
    for owner in holders_around():
        row, name = row_of(owner), type(owner).__name__
        if row.columns == "others":
            raise ParameterError(
                "domain", Described("a declared one"),
                f"declares other columns than {name} passes to a fit",
                "Choose features by public knowledge, or by what forest.explain() tells of a fit",
            )  # fmt: skip
        if row.columns == "by place":
            _refuse_other_places(domain, X, name)
        if row.encodes:
            _refuse_codes(domain, name)
        if table_names(X) is None and (reordered := reordered_by(owner, domain)):
            _refuse_reordered(reordered)
        if unfit := unfit_selection(owner, table_names(X) or ()):
            _refuse_selection(unfit)
    if any(map(_hands_codes_on, calling_frames())):
        _refuse_codes(domain, f"{_BY_FOLDS} with such a method")


def _refuse_other_places(domain: Domain, X: Any, name: str) -> None:
    """Refuse a table whose columns have other places than their features."""
    names = table_names(X)
    if names is None or names == domain.feature_names:
        return
    if set(domain.feature_names) <= set(names):  # else it is read by position
        raise ParameterError(
            "X", Described("a table with other columns, or in another order"),
            f"{name} goes by the places that the domain declares",
            "Pass the declared columns alone, in their order: X[list(domain.feature_names)]",
        )  # fmt: skip


def _refuse_reordered(words: str) -> NoReturn:
    raise ParameterError(
        "X", Described("a table without names"),
        "comes from a step that changes the order of the declared columns, so each would be read "
        "as another",
        f"The step {words}",
    )  # fmt: skip


def _refuse_selection(words: str) -> NoReturn:
    raise ParameterError(
        "domain", Described("a declared one"),
        f"is of a selection that would be paid for in vain: {words}",
        "Select by public knowledge, or by what forest.explain() tells of a fit, and declare what "
        "is left",
    )  # fmt: skip


def _refuse_codes(domain: Domain, name: str) -> None:
    """Refuse codes where none means the class that it stands for."""
    if domain.classes is None or domain.classes.have_codes:
        return
    raise ParameterError(
        "domain", Described("one with classes of its own"),
        f"{name} passes codes 0, 1, … in place of your labels, and none is a declared class",
        "Declare the classes 0, 1, … and pass these as labels, or do without it",
    )  # fmt: skip


def _hands_codes_on(frame: FrameType) -> bool:
    """Say if a frame is of predictions by folds that begin with codes for labels."""
    place = str(frame.f_globals.get("__name__", ""))
    named = frame.f_code.co_name == _BY_FOLDS and place.startswith("sklearn.model_selection.")
    return named and frame.f_locals.get("encode") is True
