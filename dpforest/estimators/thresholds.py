"""Thresholds that could not be predicted with, found before the fit under them is paid for.

scikit-learn's classifiers with a threshold of their own look for two classes, and for the one that
counts, only where they predict: after the fit was charged. Both follow from their parameters and
from the declared classes. No record is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dpforest.estimators.pipeline_rows import is_search
from dpforest.estimators.pipelines import fitting_now
from dpforest.estimators.sharing import package_of
from dpforest.exceptions import Described, ParameterError

_THRESHOLDS = ("FixedThresholdClassifier", "TunedThresholdClassifierCV")


def refuse_idle_threshold(labels: Sequence[Any]) -> None:
    """Refuse a fit under a threshold that could predict nothing by the declared classes.

    Parameters
    ----------
    labels : sequence
        The declared classes.

    Raises
    ------
    ParameterError
        Nothing was charged.

    Notes
    -----
    Held by tests/estimators/test_thresholds.py.
    """
    for owner in _thresholds_around():
        name, wanted = type(owner).__name__, _class_that_counts(owner)
        if len(labels) != 2:
            raise ParameterError(
                "domain", Described("one whose classes are not two"),
                f"has other classes than the two that {name} could tell apart",
                "Declare two classes, or do without a threshold",
            )  # fmt: skip
        if wanted is not None and not _is_among(wanted, labels):
            raise ParameterError(
                "pos_label", wanted, f"is no declared class, so {name} could predict nothing",
                "Give one of the declared classes",
            )  # fmt: skip


def _thresholds_around() -> Iterator[Any]:
    """Estimators with a threshold around the fit that predict its classes, the innermost first.

    Between them stand searches alone, and pipelines whose last step is being fitted: whatever else
    stands there may have classes of its own.
    """
    for frame, owner in fitting_now():
        kind = type(owner)
        name = kind.__name__ if package_of(kind) == "sklearn" else ""
        if name in _THRESHOLDS:
            yield owner
        # The classes that a search predicts are those of what it fits last.
        elif not is_search(kind) and (name != "Pipeline" or frame.f_code.co_name != "fit"):
            return


def _class_that_counts(owner: Any) -> Any:
    """The class whose scores the threshold is for; None where it is the last one."""
    scorer = getattr(owner, "_curve_scorer", None)
    named = getattr(scorer, "_get_pos_label", None)  # scikit-learn's own, and asked as it asks it
    return getattr(owner, "pos_label", None) if named is None else named()


def _is_among(wanted: Any, labels: Sequence[Any]) -> bool:
    try:
        return wanted in list(labels)
    except Exception:  # an object that compares by its own rules
        return True
