"""Subjects of an audit: a function of a dataset, many runs of it at once, or an estimator."""

from __future__ import annotations

import uuid
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import fields, is_dataclass
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.audit.gaps import joined, table_of
from dpforest.audit.neighbours import DatasetPair
from dpforest.audit.outcomes import NO_OUTCOME, outcomes_of, raise_of, refuse_gaps
from dpforest.exceptions import ParameterError, ParameterTypeError, kind_of


@runtime_checkable
class Subject(Protocol):
    """Something that releases an output from a dataset, again and again."""

    @property
    def name(self) -> str:
        """For the result."""

    def sample(self, dataset: Any, runs: int, pair: DatasetPair) -> NDArray:
        """Outputs of independent runs on a dataset of the pair, shape (runs,) or (runs, k)."""


def name_of(function: Callable[..., Any]) -> str:
    """A function's name; the type's where it has none."""
    return str(getattr(function, "__name__", type(function).__name__))


class _RunByRun(ABC):
    """A subject of single runs, which those on both datasets of a pair can take in turns."""

    name: str

    @abstractmethod
    def _running(self, pair: DatasetPair) -> AbstractContextManager[Callable[[Any], Any]]:
        """Function that makes one run on a dataset of the pair, within a context."""

    def sample(self, dataset: Any, runs: int, pair: DatasetPair) -> NDArray:
        """One call a run."""
        with self._running(pair) as run:
            return outcomes_of(self.name, run, [dataset], runs, pair)[0]

    def sample_both(self, runs: int, pair: DatasetPair) -> list[NDArray]:
        """So many runs on each dataset of the pair, in turns."""
        with self._running(pair) as run:
            return outcomes_of(self.name, run, [pair.first, pair.second], runs, pair)


class Function(_RunByRun):
    """A plain function dataset -> output, called once a run.

    Parameters
    ----------
    function : callable
        Returns a number or an array of numbers, always of one length.
    name : str, optional
    """

    def __init__(self, function: Callable[[Any], Any], name: str | None = None) -> None:
        self._function = function
        self.name = name or name_of(function)

    def _running(self, pair: DatasetPair) -> AbstractContextManager[Callable[[Any], Any]]:
        return nullcontext(self._function)


class Batched:
    """A function (dataset, runs) -> outputs of that many independent runs.

    Parameters
    ----------
    function : callable
        Returns an array of shape (runs,) or (runs, k).
    name : str, optional
    """

    def __init__(self, function: Callable[[Any, int], Any], name: str | None = None) -> None:
        self._function = function
        self.name = name or name_of(function)

    def sample(self, dataset: Any, runs: int, pair: DatasetPair) -> NDArray:
        """One call for all runs."""
        outputs = self._function(dataset, runs)
        refuse_gaps(self.name, outputs)
        return np.asarray(outputs)


class Estimator(_RunByRun):
    """An estimator, cloned and fitted once a run, on a budget of its own each time.

    Parameters
    ----------
    estimator : estimator
        Its ``random_state`` is taken away, and that of each of its parts, since runs that share a
        seed are one run. A shared accountant is replaced by a fresh one of its epsilon and delta;
        without one it stays without, since a fit that has its budget to itself may be composed
        otherwise.
    readout : callable (fitted estimator, probes) -> array, optional
        What is released. The default is every array of released values of a dpforest forest and
        the predictions for the probes: all distinct records of both datasets.
    name : str, optional
    present : callable (X, y) -> tuple, optional
        What ``fit`` is given; the default is ``(X, y)``.
    """

    def __init__(
        self,
        estimator: Any,
        readout: Callable[[Any, Any], Any] | None = None,
        name: str | None = None,
        present: Callable[[Any, Any], tuple[Any, ...]] | None = None,
    ) -> None:
        self._estimator = estimator
        self._readout = readout or released_values
        self.name = name or type(estimator).__name__
        self._present = present or (lambda X, y: (X, y))

    @contextmanager
    def _running(self, pair: DatasetPair) -> Iterator[Callable[[Any], Any]]:
        """One fit a run."""
        probes = _distinct_records(pair)
        with warnings.catch_warnings():
            # Thousands of fits would warn alike; what warnings tell is for a replay to find.
            warnings.simplefilter("ignore")
            yield lambda table: self._readout(self.fitted(table), probes)

    def fitted(self, dataset: Any, random_state: Any = None) -> Any:
        """A fresh estimator, fitted."""
        return self._fresh(random_state).fit(*self._present(*dataset))

    def _fresh(self, random_state: Any) -> Any:
        """A clone without its seeds and shared accountants, those of its parts included."""
        model = clone(self._estimator)
        parameters = model.get_params(deep=True)
        changes: dict[str, Any] = {}
        for name, value in parameters.items():
            of, _, last = name.rpartition("__")
            within = f"{of}__" if of else ""
            if last == "random_state":
                changes[name] = random_state
            elif last == "accountant" and value is not None and f"{within}epsilon" in parameters:
                changes[name] = BudgetAccountant(
                    parameters[f"{within}epsilon"], parameters.get(f"{within}delta") or 0
                )
        for part in (model, *parameters.values()):
            if "_lineage" in getattr(part, "__dict__", {}):
                # Each counts as the only fit there is, and not as a fit of the caller's object.
                part._lineage = uuid.uuid4().hex
        return model.set_params(**changes)


def as_subject(subject: Any) -> Subject:
    """A subject as it is; an estimator or a function is wrapped.

    Raises
    ------
    ParameterTypeError
        If it is none of them.
    """
    if isinstance(subject, type):
        _refuse(subject, f"Make one of the class: {subject.__name__}(...)")
    if isinstance(subject, Subject):
        return subject
    if hasattr(subject, "fit") and hasattr(subject, "get_params"):
        return Estimator(subject)
    if callable(subject):
        return Function(subject)
    _refuse(subject, "Wrap a function (dataset, runs) -> outputs in Batched")


def _refuse(subject: Any, repair: str) -> NoReturn:
    rule = "must be a Subject, an estimator or a function of a dataset"
    raise ParameterTypeError("subject", kind_of(subject), rule, repair)


def draw_outputs(subject: Subject, runs: int, pair: DatasetPair) -> list[NDArray]:
    """Outputs of so many runs on each dataset, as arrays of numbers of shape (runs, k).

    Of a subject that makes many runs at once those on one dataset come after those on the other.

    Raises
    ------
    ParameterError
        If the subject gave another number of outputs, or something that is no number, or ended
        with an error that is of no single run.
    """
    return [_numbers(subject, given, runs) for given in _sampled(subject, runs, pair)]


def _numbers(subject: Subject, given: Any, runs: int) -> NDArray:
    refuse_gaps(subject.name, given)
    outputs = np.asarray(given)
    if outputs.dtype.kind not in "biuf" or outputs.shape[:1] != (runs,) or not outputs.size:
        raise ParameterError(
            "subject",
            subject.name,
            f"must give numbers of shape (runs, k), not {outputs.dtype} of shape {outputs.shape}",
            "Return an array of one length from every run",
        )
    return outputs.reshape(runs, -1)


def _sampled(subject: Subject, runs: int, pair: DatasetPair) -> list[Any]:
    """Outputs as the subject gives them; an error of many runs at once is named."""
    try:
        # One of somebody else's class may make its runs in a way of its own.
        if getattr(subject.sample, "__func__", None) is _RunByRun.sample:
            return subject.sample_both(runs, pair)  # type: ignore[attr-defined]
        return [subject.sample(dataset, runs, pair) for dataset in (pair.first, pair.second)]
    except NO_OUTCOME:
        raise
    except Exception as error:
        told = ParameterError(
            "subject", subject.name,
            f"ends with an error ({type(error).__name__}) that is of no single run, so that it "
            "cannot be counted",
            "Return a number that is no output where a run fails, or give a function of one run",
        )  # fmt: skip
        raise_of(told, error, pair)


def released_values(model: Any, probes: Any) -> NDArray:
    """Arrays of released values of a fitted forest, and its predictions for the probes."""
    if hasattr(model, "predict_proba"):
        predictions = model.predict_proba(probes)
    else:
        predictions = np.asarray(model.predict(probes), dtype=np.float64)
    # Trees of a forest that hands them out are those of its model.
    trees = getattr(model, "forest_", None)
    arrays = [
        *_arrays_of(trees),
        predictions,
        *_arrays_of(getattr(model, "model_", None) if trees is None else None),
        np.asarray(getattr(model, "target_steps_", ())),
    ]
    return np.concatenate([np.ravel(array).astype(np.float64) for array in arrays])


def _arrays_of(released: Any) -> Iterator[NDArray]:
    """Arrays of released values, a model's parts first; each has a fixed shape.

    Values that a model computes from others of its own are left out.
    """
    for field in fields(released) if is_dataclass(released) else ():
        value = getattr(released, field.name) if field.init else None
        if isinstance(value, np.ndarray):
            yield value
        elif is_dataclass(value):
            yield from _arrays_of(value)


def _distinct_records(pair: DatasetPair) -> NDArray:
    """Records of both tables, each once, with the gaps that a fit of them meets."""
    tables = [table_of(dataset[0]) for dataset in (pair.first, pair.second)]
    rows = joined([np.atleast_2d(table) for table in tables if table.size])
    kept: dict[str, int] = {}
    for index, row in enumerate(rows.tolist()):
        kept.setdefault(repr(row), index)
    return rows[list(kept.values())]
