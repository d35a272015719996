"""Scores of a search that cannot be worked out, found before its fits are paid for.

``scoring="f1"`` looks for the class 1, and ``"roc_auc"`` for two classes. Of other classes
scikit-learn makes NaN of them, after every fit was charged. A fit that stands in a search sees the
scorers on the call stack, and tries each on made-up predictions of the declared classes, which are
public. No record is looked at. Scorers whose function is not scikit-learn's are not tried.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from dpforest.call_stack import calling_frames
from dpforest.exceptions import Described, ParameterError

#: With more classes a table of made-up probabilities takes long.
_MOST_CLASSES = 200


class _Answers(ClassifierMixin, BaseEstimator):
    """A classifier that answers with the class whose place it is given."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes_ = classes

    def fit(self, X: Any, y: Any) -> _Answers:
        """Learn nothing."""
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The classes at these places."""
        return self.classes_[X[:, 0]]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Most of the probability for these classes."""
        n = len(self.classes_)
        sure = np.full((len(X), n), 0.5 / n)
        sure[np.arange(len(X)), X[:, 0]] += 0.5
        return sure

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Their probabilities, in the shape of decisions."""
        chances = self.predict_proba(X)
        return chances[:, 1] if chances.shape[1] == 2 else chances


def refuse_unscorable(labels: Sequence[Any]) -> None:
    """Refuse a fit in a search whose scores cannot be worked out of the declared classes.

    Where a search has several scores, all of them must be such.

    Parameters
    ----------
    labels : sequence
        The declared classes. Those of several types are not tried.

    Raises
    ------
    ParameterError
        Nothing was charged.

    Notes
    -----
    Held by tests/estimators/test_scorers.py.
    """
    if len(labels) > _MOST_CLASSES or len(set(map(type, labels))) > 1:
        return
    classes = np.unique(np.array(labels))
    for frame in calling_frames():
        scorers = _scorers_in(frame)
        if scorers and all(_fails(scorer, classes) for scorer in scorers):
            _refuse(_function_of(scorers[0]), classes)


def _refuse(function: Any, classes: NDArray[Any]) -> NoReturn:
    raise ParameterError(
        "scoring", Described(function.__name__),
        "cannot be worked out of the declared classes, so each fit of this search would be "
        "charged, and its score be NaN",
        _repair(function, len(classes)),
    )  # fmt: skip


def _scorers_in(frame: FrameType) -> list[Any]:
    """Scorers by which a frame scores what it fits; nothing of any other frame.

    Somebody else's class around the forest may answer with other labels.
    """
    place = str(frame.f_globals.get("__name__", ""))
    if frame.f_code.co_name != "_fit_and_score" or not place.startswith("sklearn.model_selection."):
        return []
    around = type(frame.f_locals.get("estimator")).__module__
    if around.partition(".")[0] not in ("dpforest", "sklearn"):
        return []
    scorer = frame.f_locals.get("scorer")
    held = getattr(scorer, "_scorers", None) if _is_of_sklearn(scorer) else None
    return list(held.values()) if isinstance(held, dict) else [scorer]


def _is_of_sklearn(thing: Any) -> bool:
    return type(thing).__module__.startswith("sklearn.metrics.")


def _function_of(scorer: Any) -> Any:
    """The function of scikit-learn that a scorer calls; None of any other."""
    function = getattr(scorer, "_score_func", None) if _is_of_sklearn(scorer) else None
    named = str(getattr(function, "__module__", "")).startswith("sklearn.metrics.")
    return function if named and hasattr(function, "__name__") else None


def _fails(scorer: Any, classes: NDArray[Any]) -> bool:
    """Say if a scorer raises at right answers, of which each class has two."""
    if _function_of(scorer) is None:
        return False
    places = np.tile(np.arange(len(classes)), 2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scorer(_Answers(classes), places[:, None], classes[places])
    except Exception:
        return True
    return False


def _repair(function: Any, n_classes: int) -> str:
    """Say what to ask for in place of a score."""
    if n_classes > 2:
        return "Take one for several classes, such as 'f1_macro' or 'roc_auc_ovr'"
    if "pos_label" in inspect.signature(function).parameters:
        named = f"make_scorer({function.__name__}, pos_label=...)"
        return f"Say which class counts, by {named}, or declare the classes 0 and 1"
    return "Take another one, such as 'roc_auc'"
