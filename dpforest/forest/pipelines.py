"""Preprocessing that was learnt from the records before a private estimator saw them.

A scaler, an imputer or a feature selector that was fitted on the records hands on what it learnt,
unpaid: a private fit behind it guarantees nothing. scikit-learn gives a step no handle on its
pipeline, and a transformed array does not tell where it comes from. So there are two ways to know.
While a pipeline fits, it stands in the call stack: :func:`learned_before` looks there, and reads
nothing but the steps of the pipelines (and the transformer of a ``TransformedTargetRegressor``)
that it finds. And :func:`check_pipeline` reads them off an object that was not fitted yet.

What neither can see: a table that was transformed before ``fit`` was called; an ensemble that feeds
predictions of other estimators to this one (stacking). And the call stack does not reach a pipeline
whose last step fits the estimator in other threads or processes (one inside of those is seen).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

#: Methods of a pipeline in which its last step is fitted.
_FITTING_LAST = frozenset({"fit", "fit_transform", "fit_predict"})
#: The one in which the steps before it are.
_FITTING_OTHERS = "_fit"


def check_pipeline(estimator: Any) -> tuple[str, ...]:
    """Steps of a pipeline that would learn from the records before the last step sees them.

    Parameters
    ----------
    estimator : estimator
        A scikit-learn ``Pipeline``, or an estimator around one (a grid search, a
        ``TransformedTargetRegressor``, a nested pipeline).

    Returns
    -------
    tuple of str
        Names and kinds; empty where nothing is learnt before the last step. With any of them a
        private estimator as the last step has no guarantee.

    Notes
    -----
    A step counts as learning unless it says itself that it needs no fitting: scikit-learn's tag
    ``requires_fit`` is False, as of ``FunctionTransformer``, ``Normalizer`` or
    ``HashingVectorizer``. A ``FrozenEstimator`` learns nothing any more; fit it on public data.
    Containers (pipelines, ``ColumnTransformer``, ``FeatureUnion``) count by what they hold. That a
    function of a ``FunctionTransformer`` treats each record by itself cannot be told from it: one
    that subtracts a mean of the table learns, and is not found.

    Examples
    --------
    >>> from dpforest import PrivateForestClassifier, check_pipeline
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import Normalizer, StandardScaler
    >>> check_pipeline(make_pipeline(StandardScaler(), PrivateForestClassifier(epsilon=1)))
    ("'standardscaler' (StandardScaler)",)
    >>> check_pipeline(make_pipeline(Normalizer(), PrivateForestClassifier(epsilon=1)))
    ()
    """
    return tuple(_learned_inside(estimator))


def learned_before() -> tuple[str, ...]:
    """Steps that learnt from the records in the pipelines that are fitting the caller now."""
    found: list[str] = []
    busy: set[int] = set()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        found += _learned_in_frame(frame, busy)
        frame = frame.f_back
    return tuple(dict.fromkeys(found))


def _learned_in_frame(frame: FrameType, busy: set[int]) -> Iterator[str]:
    """From one frame; ``busy`` are pipelines that were found at a step before their last."""
    name = frame.f_code.co_name
    if name not in _FITTING_LAST and name != _FITTING_OTHERS:
        return
    owner: Any = frame.f_locals.get("self")
    if _is(owner, "sklearn.compose", "TransformedTargetRegressor") and name == "fit":
        yield from _learned_target(owner)
    if not _is(owner, "sklearn.pipeline", "Pipeline") or id(owner) in busy:
        return
    steps = list(owner.steps)[:-1]
    if name == _FITTING_OTHERS:
        busy.add(id(owner))
        # Those before the step that is being fitted have been; all, where it is not known which.
        place = frame.f_locals.get("step_idx")
        steps = steps[:place] if isinstance(place, int) else steps
    yield from _learned_of(steps)


def _learned_inside(estimator: Any) -> Iterator[str]:
    if _is(estimator, "sklearn.pipeline", "Pipeline"):
        *before, last = estimator.steps
        yield from _learned_of(before)
        yield from _learned_inside(last[1])
        return
    if _is(estimator, "sklearn.compose", "TransformedTargetRegressor"):
        yield from _learned_target(estimator)
    for name in ("estimator", "regressor"):
        inner = getattr(estimator, name, None)
        if hasattr(inner, "fit"):
            yield from _learned_inside(inner)


def _learned_target(regressor: Any) -> Iterator[str]:
    transformer = regressor.transformer
    if transformer is not None and _learns(transformer):
        yield f"the target's transformer ({type(transformer).__name__})"


def _learned_of(steps: Any) -> Iterator[str]:
    for name, step in steps:
        if _learns(step):
            yield f"{name!r} ({type(step).__name__})"


def _learns(step: Any) -> bool:
    """Whether fitting a step learns from records, as far as it says itself."""
    from sklearn.utils import get_tags

    if step is None or isinstance(step, str):  # "passthrough", "drop"
        return False
    if _is(step, "sklearn.frozen", "FrozenEstimator"):
        return False
    parts = _parts(step)
    if parts is not None:
        return any(map(_learns, parts))
    try:
        return bool(get_tags(step).requires_fit)
    except Exception:  # whatever a class that is not scikit-learn's makes of the question
        return True


def _parts(step: Any) -> list[Any] | None:
    """What a container holds; None of a step that is none."""
    if _is(step, "sklearn.pipeline", "Pipeline"):
        return [part for _, part in step.steps]
    if _is(step, "sklearn.pipeline", "FeatureUnion"):
        return [part for _, part in step.transformer_list]
    if _is(step, "sklearn.compose", "ColumnTransformer"):
        return [*(part for _, part, _ in step.transformers), step.remainder]
    return None


def _is(candidate: Any, module: str, name: str) -> bool:
    """Whether an object is of a class of scikit-learn, which is not imported for the question."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(candidate, kind)
