"""Reading of records: whatever numpy was told, it is quiet, and no error of it holds a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import count
from typing import Any, ParamSpec, TypeVar

import numpy as np

from dpforest.exceptions import (
    DomainError,
    DPForestError,
    ParameterError,
    StreamError,
    raise_alone,
)

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

#: Repair where records cannot be read.
CHECK_REPAIR = "Domain.check reads it too, at the curator's desk"
#: What a fit cost whose records were read and cannot be trained on, and the repair.
_SPENT = "What was set aside stays spent"
_NOTHING_SPENT = "Nothing was granted yet, so nothing was spent"
_ROOM = "Where memory ran out, make room before another fit"
_NO_MORE: Any = object()
#: Errors that pass: our own, which hold no value, and what ends a process or a generator.
PASSED = (DPForestError, KeyboardInterrupt, SystemExit, GeneratorExit)


def quietly(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that reads records: numpy neither warns nor raises within it.

    One tiny number may underflow. By ``numpy.seterr`` that could end a fit, or warn.
    """

    @wraps(function)
    def quiet(*given: P.args, **named: P.kwargs) -> R:
        with np.errstate(all="ignore"):
            return function(*given, **named)

    return quiet


@contextmanager
def reading_records(place: str, repair: str) -> Iterator[None]:
    """Read records quietly, and turn an error, which may quote a value, into one that does not.

    Parameters
    ----------
    place : str
        What is read, for the error; never a value.
    repair : str

    Raises
    ------
    StreamError
        It names the type of the error alone. Errors of our own pass.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except PASSED:
        raise
    except BaseException as error:  # a panic of Rust is no Exception
        raise_alone(unreadable(place, error, repair))


@contextmanager
def counting_records(is_charged: Callable[[], bool]) -> Iterator[None]:
    """Train on records quietly, and turn an error that may tell of them into one that does not.

    Where memory runs out numpy tells the shape of the array that it had no room for, and so how
    many records there are. A warning that somebody made an error passes, and so does an assertion
    of ours: neither has anything of a record.

    Parameters
    ----------
    is_charged : callable
        Says, where an error ends the training, if the fit stays charged.

    Raises
    ------
    StreamError
        It names the type of the error alone. Errors of our own, and of a cluster, pass.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except (*PASSED, Warning, AssertionError):
        raise
    except BaseException as error:
        if is_of_cluster(error):
            raise
        repair = f"{_SPENT if is_charged() else _NOTHING_SPENT}. {_ROOM}"
        raise_alone(unreadable("the records", error, repair, "they cannot be counted"))


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Turn what is wrong with a part of a table into an error that names the part."""
    try:
        yield
    except (ParameterError, DomainError) as error:
        raise_alone(StreamError(place, str(error), "Write it as the domain says"))


def is_of_cluster(error: BaseException) -> bool:
    """Say if an error is of Dask's cluster itself, such as a lost worker or a cancelled future."""
    return type(error).__module__.partition(".")[0] == "distributed"


def read_in_turn(
    make: Callable[[], Iterable[T]], place: str, repair: str, each: str = ""
) -> Iterator[T]:
    """Go through what a caller or a library makes, each as `reading_records` reads.

    Parameters
    ----------
    make : callable
    place : str
        What is read, for an error before the first of them.
    repair : str
    each : str, optional
        What each is called, before its number; by default all are ``place``.
    """
    with reading_records(place, repair):
        parts = iter(make())
    for number in count():
        with reading_records(f"{each} {number}" if each else place, repair):
            part = next(parts, _NO_MORE)
        if part is _NO_MORE:
            return
        yield part


def unreadable(
    place: str, error: BaseException, repair: str, rule: str = "it cannot be read"
) -> StreamError:
    """Error that stands for another one, by the name of its type."""
    return StreamError(place, f"{rule} ({type(error).__name__})", repair)
