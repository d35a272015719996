"""Checks of arguments that estimators of every kind take."""

from __future__ import annotations

import math
import numbers
import os
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpforest.call_stack import callers_stacklevel
from dpforest.exceptions import ParameterError, ParameterTypeError
from dpforest.whole_files import file_over

#: What a table is read for.
TASKS = "classification", "regression"
#: Sizes that settings may have; what is expected lies far below.
_LARGEST_SIZE = 1e9


def is_real(value: Any) -> bool:
    """Say if a value is a real number; True and False are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_integer(value: Any, name: str, lowest: int, highest: int | None = None) -> int:
    """A whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterTypeError(
            name, value, "must be a whole number", f"Give an int from {lowest} up"
        )
    number = int(value)
    if number < lowest or (highest is not None and number > highest):
        upper = "" if highest is None else f" and at most {highest}"
        raise ParameterError(
            name, value, f"must be at least {lowest}{upper}", "Give a whole number in that range"
        )
    return number


def check_part(value: Any, name: str, most: int | None = None, below: Fraction | int = 1) -> None:
    """Refuse what is not above 0 and below a bound; 1 itself is fine where it is the most."""
    rule = f"must be above 0 and {'at most' if most else 'below'} {below}"
    if not is_real(value):
        raise ParameterTypeError(name, value, rule, "Give a part of 1")
    if not (0 < value < below or value == most):
        raise ParameterError(name, value, rule, "Give a part of 1")


def check_norm(value: Any, name: str) -> None:
    """Refuse what is neither None nor above 0 and at most 2, which no residuals pass."""
    if value is not None and not is_real(value):
        raise ParameterTypeError(name, value, "must be a number or None", "Give None for no bound")
    if value is not None and not 0 < value <= 2:
        raise ParameterError(name, value, "must be above 0 and at most 2", "Give None for no bound")


def check_share(value: Any, name: str) -> None:
    """Refuse what is below 0 or not below 1."""
    rule = "must be at least 0 and below 1"
    if not is_real(value):
        raise ParameterTypeError(name, value, rule, "Give a part of 1")
    if not 0 <= value < 1:
        raise ParameterError(name, value, rule, "Give a smaller share")


def check_number(
    value: Any, name: str, lowest: float, highest: float, closed: bool = True
) -> float:
    """A real number within bounds; the lowest is allowed only where ``closed``."""
    rule = f"must be a number in {'[' if closed else '('}{lowest:g}, {highest:g}]"
    if not is_real(value):
        raise ParameterTypeError(name, value, rule, "Give a number in that range")
    if not lowest <= value <= highest or (value == lowest and not closed):
        raise ParameterError(name, value, rule, "Give a number in that range")
    return float(value)


def check_count(value: Any, name: str) -> None:
    """Refuse what is no whole number from 1 up."""
    check_integer(value, name, 1)


def check_limit(value: Any, name: str, above_nothing: bool = False) -> None:
    """Refuse what is no limit of a signal: below 0, or 0 where it has to lie above that.

    Infinity is one, which no signal reaches.
    """
    check_number(value, name, 0, math.inf, closed=not above_nothing)


def check_size(value: Any, name: str) -> None:
    """Refuse what is not above 0, or so large that it is a slip of the pen."""
    check_number(value, name, 0, _LARGEST_SIZE, closed=False)


def check_kind(value: Any, name: str, kind: type, optional: bool = False) -> None:
    """Refuse what is no object of a class, or None where that is an option."""
    if not isinstance(value, kind) and not (optional and value is None):
        rule = f"must be of {kind.__name__}{', or None' if optional else ''}"
        raise ParameterTypeError(name, value, rule, f"Give an object of {kind.__name__}")


def check_each(values: Any, name: str, check: Callable[[Any, str], object], least: int = 1) -> None:
    """Refuse what is no tuple of at least so many elements that pass a check."""
    rule, repair = f"must be a tuple of {least} or more", "Give a tuple"
    if not isinstance(values, tuple):
        raise ParameterTypeError(name, values, rule, repair)
    if len(values) < least:
        raise ParameterError(name, values, rule, repair)
    for value in values:
        check(value, name)


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """One of a few names."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(
            name,
            value,
            "must be one of " + ", ".join(repr(choice) for choice in choices),
            "Choose one of these",
        )
    return value


def check_asked_task(value: Any) -> None:
    """Refuse what is no task; None leaves it to the domain or the labels."""
    if value is not None:
        check_choice(value, "task", TASKS)


def check_n_jobs(value: Any) -> int:
    """Number of threads from scikit-learn's convention: None is 1, -1 all processors."""
    if value is None:
        return 1
    rule, repair = "must be None or a non-zero whole number", "Use -1 for all processors"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterTypeError("n_jobs", value, rule, repair)
    if value == 0:
        raise ParameterError("n_jobs", value, rule, repair)
    if int(value) > 0:
        return int(value)
    return max(1, (os.cpu_count() or 1) + 1 + int(value))


#: Reasons why a file cannot be written, in words.
_REASONS: dict[type[Exception], str] = {
    FileNotFoundError: "there is no such folder",
    IsADirectoryError: "it is a folder",
    NotADirectoryError: "a part of it is no folder",
    PermissionError: "no permission",
}


def is_same_file(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Say if two places are one file, by whatever names, also where no file is there yet."""
    try:
        if os.path.realpath(path) == os.path.realpath(other):
            return True
        return os.path.isfile(path) and os.path.isfile(other) and os.path.samefile(path, other)
    except (OSError, ValueError):  # a null character is a ValueError
        return False


def write_file(path: Any, content: str | bytes, newline: str | None = None) -> None:
    """Write a text or bytes to a file, over what is there: whole, or not at all.

    Raises
    ------
    ParameterError
        It cannot be written; what was there still is.
    """
    try:
        data = content if isinstance(content, bytes) else _encoded(content, newline)
        with file_over(Path(path)) as file:
            file.write(data)
    except (OSError, ValueError, TypeError) as error:  # a null character is a ValueError
        reason = _REASONS.get(type(error), type(error).__name__)
        raise ParameterError(
            "path",
            str(path) if isinstance(path, os.PathLike) else path,
            f"cannot be written ({reason})",
            "Name a file in a folder that is there and that you may write to",
        ) from None


def _encoded(text: str, newline: str | None) -> bytes:
    """Bytes of a text, with the ends of lines that the system has unless others are named."""
    ending = os.linesep if newline is None else newline
    return (text if ending == "\n" else text.replace("\n", ending)).encode("utf-8")


def warn_of_lacking_names(estimator: Any) -> None:
    """Warn in scikit-learn's words of a table without names, where the fit had them."""
    warnings.warn(
        f"X does not have valid feature names, but {type(estimator).__name__} was fitted with "
        "feature names",
        UserWarning,
        stacklevel=callers_stacklevel(),
    )
