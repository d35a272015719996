"""Scores of a search that cannot be worked out, found before its fits are paid for.

``scoring="f1"`` looks for the class 1, and ``"roc_auc"`` for two classes. Of other classes
scikit-learn makes NaN of them, after every fit was charged; a permutation test and a tuning of a
threshold end in an error after the first one. A fit that stands in a search sees the
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
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier

from dpforest.call_stack import calling_frames
from dpforest.exceptions import Described, ParameterError

#: Functions of scikit-learn that fit an ``estimator`` and score it by a ``scorer``.
_FIT_AND_SCORE = {"_fit_and_score", "_permutation_test_score"}
#: Of labels alone, since a threshold makes labels of probabilities before they are scored.
_OF_THRESHOLDS = (
    "A threshold is scored by the labels that it gives: take 'balanced_accuracy', or say which "
    "class counts, such as by make_scorer(f1_score, pos_label=...)"
)
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


class _Numbers(RegressorMixin, BaseEstimator):
    """A regressor that answers with the number that it is given."""

    def fit(self, X: Any, y: Any) -> _Numbers:
        """Learn nothing."""
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """These numbers."""
        return np.asarray(X[:, 0])


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
            _refuse(scorers[0], classes)


def refuse_scores_of_classes() -> None:
    """Refuse a regressor's fit in a search whose scores are of classes alone, such as accuracy.

    A classifier may be made of regressors, as by ``OneVsRestClassifier``; its scores are of classes
    rightly.

    Raises
    ------
    ParameterError
        Nothing was charged.
    """
    for frame in calling_frames():
        scorers = _scorers_in(frame)
        if not scorers or is_classifier(_fitted_and_scored(frame)[0]):
            continue
        if all(map(_fails_at_numbers, scorers)):
            raise _unscorable(
                scorers[0], "numbers",
                "Take one of numbers, such as 'r2' or 'neg_mean_absolute_error'",
            )  # fmt: skip


def _refuse(scorer: Any, classes: NDArray[Any]) -> NoReturn:
    if hasattr(scorer, "_thresholds"):
        raise _unscorable(scorer, "the declared classes", _OF_THRESHOLDS)
    repair = _repair(_function_of(scorer), len(classes))
    raise _unscorable(scorer, "the declared classes", repair)


def _unscorable(scorer: Any, of_what: str, repair: str) -> ParameterError:
    return ParameterError(
        "scoring", Described(_function_of(scorer).__name__),
        f"cannot be worked out of {of_what}, so each fit of this search would be charged for "
        "NaN or an error",
        repair,
    )  # fmt: skip


def _scorers_in(frame: FrameType) -> list[Any]:
    """Scorers by which a frame scores what it fits; nothing of any other frame.

    Somebody else's class around the forest may answer with other labels.
    """
    place = str(frame.f_globals.get("__name__", ""))
    if not place.startswith("sklearn.model_selection."):
        return []
    estimator, scorer = _fitted_and_scored(frame)
    if scorer is None or type(estimator).__module__.partition(".")[0] not in (
        "dpforest",
        "sklearn",
    ):
        return []
    held = getattr(scorer, "_scorers", None) if _is_of_sklearn(scorer) else None
    return list(held.values()) if isinstance(held, dict) else [scorer]


def _fitted_and_scored(frame: FrameType) -> tuple[Any, Any]:
    """Estimator and scorer of a frame of scikit-learn; None where it has no scorer."""
    held = frame.f_locals
    if frame.f_code.co_name in _FIT_AND_SCORE:
        return held.get("estimator"), held.get("scorer")
    # The first fit of a threshold's tuning is no fold of it.
    tuned = held.get("self") if frame.f_code.co_name == "_fit" else None
    return getattr(tuned, "estimator", None), getattr(tuned, "_curve_scorer", None)


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
    return _raises(scorer, _Answers(classes), places[:, None], classes[places])


def _fails_at_numbers(scorer: Any) -> bool:
    """Say if a scorer raises at numbers, whether what was to be predicted is 0 and 1 or not."""
    if _function_of(scorer) is None:
        return False
    numbers = np.array([0.25, 0.5, 0.75, 1.25])
    given = (numbers, numbers.round())
    return all(_raises(scorer, _Numbers(), numbers[:, None], y) for y in given)


def _raises(scorer: Any, estimator: Any, X: Any, y: Any) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scorer(estimator, X, y)
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
