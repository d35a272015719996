"""Notes on what others learn, unpaid, from records or labels around a private estimator.

A scaler before a private estimator hands on what it learnt from the records. An ensemble around it
encodes the labels that occur, repeats records or fits a second stage to labels. Nobody asks for a
grant for any of this, so a private fit inside guarantees nothing. scikit-learn does not tell an
estimator what holds it, and a transformed array does not tell where it comes from. So there are two
ways to find out. While an outer estimator fits, it stands in the call stack: :func:`surroundings`
looks there, and reads only the parameters of the estimators that it finds. An object counts as an
estimator by its type alone, and an error while it is read never ends a fit. :func:`check_pipeline`
looks at an object that was not fitted yet. ``pipeline_rows.py`` says how each class uses records.

Neither can see a table that was transformed, or split into folds, before ``fit`` was called, or a
function in a ``FunctionTransformer`` that looks at the whole table. And the call stack does not
reach an outer estimator that fits the inner one in other threads or processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

from sklearn.base import BaseEstimator

from dpforest.call_stack import calling_frames
from dpforest.domain.domain import Domain
from dpforest.estimators.pipeline_columns import (
    is_class,
    is_of,
    open_selections,
    read,
    reordered,
    unfit_selection,
)
from dpforest.estimators.pipeline_rows import (
    NOT_KNOWN,
    NOT_KNOWN_AROUND,
    PipelineRow,
    around_row,
    row_of,
)
from dpforest.estimators.sharing import SharedBudget, has_own_fit
from dpforest.exceptions import ParameterTypeError, kind_of

#: Methods in which an estimator fits what it holds.
_FITTING = frozenset({"fit", "fit_transform", "fit_predict"})
#: The one in which a pipeline fits the steps before its last.
_FITTING_OTHERS = "_fit"


def check_pipeline(estimator: Any) -> tuple[str, ...]:
    """Name whatever would learn from records or labels without paying, and say what it is.

    Parameters
    ----------
    estimator : estimator
        A scikit-learn ``Pipeline``, an ensemble, a search, or any estimator, nested at will.

    Returns
    -------
    tuple of str
        One sentence each: where it stands, its class, and what it learns; empty where nothing is
        learnt unpaid and each private estimator is fitted once. With anything that is learnt
        unpaid, what is fitted has no guarantee as a whole, whatever the report of a private
        estimator inside says. Where private estimators are fitted several times (as members, for
        folds or candidates) it says so: each fit costs its own epsilon, and they add up. It also
        says where a fit with a declared domain would be refused, before anything is charged: where
        it is handed other columns, or codes for labels; and where a ``ColumnTransformer`` of named
        columns hands them on in another order, without their names.

    Raises
    ------
    ParameterTypeError
        If it is no estimator: of a table or a name nothing could be said.

    Notes
    -----
    Every transformer and meta-estimator of scikit-learn is classified, in
    ``estimators/pipeline_rows.py``. Here, and as a step before a private estimator, another
    class counts as learning unless it declares that it needs no fitting, by scikit-learn's tag
    ``requires_fit``; a plain function fits into a ``FunctionTransformer``. Where one fits a private
    estimator itself, a report has a caution: the guarantee is void if it learns from records. A
    ``FrozenEstimator`` learns nothing any more; fit it on public data. It cannot be told from a
    function whether it treats each record by itself: one that subtracts a mean of the table learns,
    and is not found. A subclass of a private estimator is not known where it has a ``fit`` of its
    own, which sees the records first. Of columns in another order only the step right before a
    private estimator is looked at (of a pipeline, its last one), and those of its columns that it
    names: not a union, or columns chosen by place or by a selector. Held by
    tests/estimators/test_pipeline_rows.py and tests/estimators/test_pipelines.py.

    Examples
    --------
    >>> from dpforest import PrivateForestClassifier, check_pipeline
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import Normalizer, StandardScaler
    >>> check_pipeline(make_pipeline(StandardScaler(), PrivateForestClassifier(epsilon=1)))
    ("'standardscaler' (StandardScaler): learns from the records",)
    >>> check_pipeline(make_pipeline(Normalizer(), PrivateForestClassifier(epsilon=1)))
    ()
    """
    if not (_may_learn(estimator) or is_of(estimator, SharedBudget)):
        raise ParameterTypeError(
            "estimator", kind_of(estimator), "is no estimator",
            "Pass what would be fitted: a pipeline, a search, an ensemble",
        )  # fmt: skip
    return tuple(_said_of(estimator, ""))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Notes on what stands before and around a fit, in words.

    Parameters
    ----------
    unpaid : tuple of str
        What learns from records or labels in a way that reaches the fit or rests on it.
    cautions : tuple of str
        What no guarantee speaks of (a choice by scores), and over what fits add up.
    """

    unpaid: tuple[str, ...]
    cautions: tuple[str, ...]


def surroundings(fitted: Any) -> Surroundings:
    """Notes on what the estimators learn that fit the caller now, as far as the stack shows.

    Parameters
    ----------
    fitted : estimator
        The private one that is fitted: of a class of somebody else's, whose own ``fit`` comes
        before ours.
    """
    unpaid: list[str] = []
    cautions: list[str] = []
    if has_own_fit(fitted):
        cautions.append(NOT_KNOWN_AROUND.format(type(fitted).__name__))
    busy: set[int] = set()
    seen: set[int] = set()
    for frame, owner in fitting_now():
        try:
            unpaid += _steps_before(frame, owner, busy)
            if id(owner) not in seen:
                seen.add(id(owner))
                _sort_own(owner, unpaid, cautions)
        except Exception:  # somebody else's class, whose parameters raise when they are read
            cautions.append(NOT_KNOWN_AROUND.format(type(owner).__name__))
    return Surroundings(tuple(dict.fromkeys(unpaid)), tuple(dict.fromkeys(cautions)))


def fitting_now() -> Iterator[tuple[FrameType, Any]]:
    """Frames in which estimators fit what they hold, and these, the innermost first."""
    for frame in calling_frames():
        owner = _fitting(frame)
        if owner is not None:
            yield frame, owner


def holders_around() -> Iterator[Any]:
    """Estimators that fit the caller now and hold a private one, as far as the stack shows."""
    for _, owner in fitting_now():
        try:
            holds = _pays(owner)
        except Exception:  # as above; nothing is known of it
            continue
        if holds:
            yield owner


# -- from the call stack ---------------------------------------------------------------------------


def _fitting(frame: FrameType) -> Any:
    """The estimator that is fitting what it holds in a frame; None of any other frame.

    Of an object that is no estimator only the type is read, because a proxy answers ``isinstance``
    for the object that it stands for, or with an error. Frames of class bodies have names of their
    own too.
    """
    code = frame.f_code
    named = code.co_name in _FITTING or code.co_name == _FITTING_OTHERS
    if not named or not code.co_flags & CO_OPTIMIZED:
        return None
    owner = frame.f_locals.get("self")
    # None of ours: a private estimator's own fit stands in the stack as well.
    ours = is_of(owner, SharedBudget)
    return owner if is_of(owner, BaseEstimator) and not ours else None


def _steps_before(frame: FrameType, owner: Any, busy: set[int]) -> Iterator[str]:
    """Of a pipeline, the steps that were fitted before the one that is being fitted.

    ``busy`` are pipelines that were found at a step before their last.
    """
    if is_class(owner, "sklearn.compose", "TransformedTargetRegressor"):
        if owner.transformer is not None:
            yield from _unpaid(owner.transformer, "the target's transformer")
        return
    if not is_class(owner, "sklearn.pipeline", "Pipeline") or id(owner) in busy:
        return
    steps = list(owner.steps)[:-1]
    if frame.f_code.co_name == _FITTING_OTHERS:
        busy.add(id(owner))
        # Those before the step that is being fitted have been; all, where it is not known which.
        place = frame.f_locals.get("step_idx")
        steps = steps[:place] if type(place) is int else steps
    for name, step in steps:
        yield from _unpaid(step, repr(name))


def _sort_own(owner: Any, unpaid: list[str], cautions: list[str]) -> None:
    """Note what an estimator around the fit learns itself, and that it fits several times."""
    row, name = row_of(owner), type(owner).__name__
    learnt = row.learnt_by(owner)
    voids = row.voids and around_row(type(owner)) is not None
    if learnt == NOT_KNOWN:
        cautions.append(NOT_KNOWN_AROUND.format(name))
    elif learnt:
        (unpaid if voids else cautions).append(f"{name}: {learnt}")
    if row.adds:
        cautions.append(f"{name}: {_adding(row)}")


# -- from an object --------------------------------------------------------------------------------


def _said_of(estimator: Any, place: str) -> Iterator[str]:
    """Everything to be said of an estimator and of what it holds."""
    if is_of(estimator, SharedBudget) and has_own_fit(estimator):
        yield f"{_where(estimator, place)}: {NOT_KNOWN}"
    if not _may_learn(estimator):
        return
    row = row_of(estimator)
    said = [row.learnt_by(estimator)]
    parts = list(_parts(estimator, row))
    privates = [private for _, part in parts for private in _privates(part)]
    if row.adds and privates:
        said.append(_adding(row))
    domains = [read(private, "domain") for private in privates]
    said += _refused(row, domains)
    if unfit := unfit_selection(estimator):
        said.append(f"{unfit}, which is refused")
    said += open_selections(estimator)
    said += reordered(estimator, [domain for domain in domains if is_of(domain, Domain)])
    if any(said):
        yield f"{_where(estimator, place)}: {'; '.join(filter(None, said))}"
    for name, part in parts:
        yield from _said_of(part, f"{place} > {name}" if place else name)


def _unpaid(estimator: Any, place: str) -> Iterator[str]:
    """Yield what of that is learnt, without how often a private estimator is fitted."""
    if not _may_learn(estimator):
        return
    row = row_of(estimator)
    learnt = row.learnt_by(estimator)
    if learnt:
        yield f"{_where(estimator, place)}: {learnt}"
    for name, part in _parts(estimator, row):
        yield from _unpaid(part, f"{place} > {name}")


def _may_learn(estimator: Any) -> bool:
    """Say if it is fitted at all ("passthrough", "drop" and None are not) and does not pay."""
    if is_of(estimator, SharedBudget):
        return False
    try:
        return hasattr(estimator, "fit")
    except Exception:  # there is something that answers, if not how
        return True


def _adding(row: PipelineRow) -> str:
    return f"each fit costs its own epsilon, and they add up over {row.adds}"


def _refused(row: PipelineRow, domains: list[Any]) -> Iterator[str]:
    """Say why private fits inside would be refused: of a declared domain, by ``wasted.py``."""
    declared = [domain for domain in domains if is_of(domain, Domain)]
    if row.columns == "others" and declared:
        yield "fits to other columns than are declared, which is refused"
    classes = [domain.classes for domain in declared if domain.classes is not None]
    if row.encodes and not all(one.have_codes for one in classes):
        yield "hands codes on for the declared labels, which is refused"


def _where(estimator: Any, place: str) -> str:
    kind = type(estimator).__name__
    return f"{place} ({kind})" if place else kind


def _parts(estimator: Any, row: PipelineRow) -> Iterator[tuple[str, Any]]:
    """Yield the estimators that an estimator fits, by name: single ones, and those in lists."""
    cv = read(estimator, "cv")
    if read(estimator, "prefit") is True or (is_of(cv, str) and cv == "prefit"):
        return  # fitted before, as a frozen one
    for attribute in row.holds:
        held = read(estimator, attribute)
        if is_of(held, (list, tuple)):
            members = (m for m in held if is_of(m, (list, tuple)) and len(m) > 1)
            yield from ((repr(name), member) for name, member, *_ in members)
        elif attribute == "transformer":
            yield "the target's transformer", held
        else:
            yield f"its {attribute.replace('_', ' ')}", held


def _pays(estimator: Any) -> bool:
    """Say if a private estimator is inside."""
    return any(True for _ in _privates(estimator))


def _privates(estimator: Any) -> Iterator[Any]:
    """Yield the private estimators inside, or the one that it is."""
    if is_of(estimator, SharedBudget):
        yield estimator
    elif _may_learn(estimator):
        for _, part in _parts(estimator, row_of(estimator)):
            yield from _privates(part)
