"""Reading of records: whatever numpy was told, it is quiet, and no error of it holds a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

from dpforest.exceptions import DPForestError, StreamError, raise_alone

P = ParamSpec("P")
R = TypeVar("R")

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


def unreadable(place: str, error: BaseException, repair: str) -> StreamError:
    """Error that stands for another one, by the name of its type."""
    return StreamError(place, f"it cannot be read ({type(error).__name__})", repair)
