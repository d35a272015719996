"""The one reader of JSON: sizes, depths and numbers limited before anything is made of them.

Every format of dpforest is one JSON object. What its text may hold is decided here, whoever wrote
it: no key twice, no NaN or infinity, no number beyond doubles, no whole number of hundreds of
digits, no nesting that a recursion would follow, no half of a character. Whatever breaks a rule
ends in the caller's own error, quickly, and never in one of the interpreter's.

Held by tests/test_strict_json.py.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

#: Makes the caller's error from a clause that says what is wrong.
Refuse = Callable[[str], Exception]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a text.

    Attributes
    ----------
    size : int
        Characters of a text, bytes of a file.
    depth : int
        Objects and lists within one another.
    digits : int
        Digits of a whole number.
    """

    size: int = 2**26
    depth: int = 100
    digits: int = 400


LIMITS = Limits()
#: Models are larger than anything else that is read.
MODEL_LIMITS = Limits(size=2**30)

#: Forms of our own files, by their "format".
FILES = {
    "dpforest-model": "a stored model",
    "dpforest-plain": "a model as plain JSON for other programs",
    "dpforest-report": "a report",
    "dpforest-report-signature": "the signature of a report",
    "dpforest-domain": "a domain",
    "dpforest-charge": "a plan of a ledger",
    "dpforest-ledger": "an export of a ledger",
    "dpforest-output": "what a command printed",
}

#: A longer path or key is not shown.
_LONGEST = 250
#: What may stand before a text: blanks, and the mark that some editors write.
_BEFORE = " \t\n\r\f\v\ufeff"
#: A string, closed or not, or brackets beside one another; linear in the text, whatever it is.
_STRINGS_AND_BRACKETS = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{]+|[\]}]+', re.DOTALL
)
#: An escape or a character that may be half of one.
_HALVES = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def read_object(
    given: str | PathLike[str], refuse: Refuse, limits: Limits = LIMITS
) -> dict[str, Any]:
    """The object that a JSON text or file holds.

    Parameters
    ----------
    given : str or path
        A text is told by its opening brace; anything else is a path.
    refuse : callable
        Makes the caller's error of what is wrong, as a clause such as "the key 'a' occurs twice".
    limits : Limits, optional

    Returns
    -------
    dict
        Whole numbers as int, others as finite float.

    Raises
    ------
    Exception
        What ``refuse`` makes; nothing else.
    """
    return parse_object(json_text(given, refuse, limits), refuse, limits)


def parse_object(text: str, refuse: Refuse, limits: Limits = LIMITS) -> dict[str, Any]:
    """The object that a JSON text holds; see :func:`read_object`."""
    if not isinstance(text, str):
        raise refuse(f"a {type(text).__name__} is not JSON text")
    if len(text) > limits.size:
        raise refuse(f"it is longer than {limits.size} characters")
    if _nested_deeper(text, limits.depth):
        raise refuse(f"it is nested deeper than {limits.depth} levels")
    try:
        found = _decoder(limits).decode(text)
        _check_whole_characters(text, found)
    except _RefusedError as error:
        raise refuse(str(error)) from None
    except json.JSONDecodeError as error:
        where = f"in line {error.lineno}, column {error.colno}"
        raise refuse(f"it is not JSON ({error.msg} {where})") from None
    if not isinstance(found, dict):
        raise refuse("it is not a JSON object")
    return found


def json_text(given: str | PathLike[str], refuse: Refuse, limits: Limits = LIMITS) -> str:
    """The text itself, or what the file holds; see :func:`read_object`."""
    if isinstance(given, str) and given.lstrip(_BEFORE).startswith("{"):
        return given.lstrip(_BEFORE)
    if not isinstance(given, (str, PathLike)):
        raise refuse(f"a {type(given).__name__} is neither a path nor JSON text")
    try:
        with Path(given).open("rb") as file:
            content = file.read(limits.size + 1)
    except (OSError, ValueError, TypeError) as error:  # a null character is a ValueError
        reason = _REASONS.get(type(error), type(error).__name__)
        raise refuse(_unreadable(given, reason)) from None
    if len(content) > limits.size:
        raise refuse(_unreadable(given, f"it is longer than {limits.size} bytes"))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise refuse(_unreadable(given, "it is no text in UTF-8")) from None


def name_of(given: Any) -> str:
    """Name of what was given to be read, for people: a file's, or what else it is."""
    if isinstance(given, (str, PathLike)):
        name = "a text" if str(given).lstrip(_BEFORE).startswith("{") else Path(given).name
        return "".join(letter if letter.isprintable() else "?" for letter in name)
    return f"a {type(given).__name__}"


def other_file(found: dict[str, Any], wanted: str) -> str:
    """Words for another file of ours than the one that is read; empty for one that is not ours.

    Parameters
    ----------
    found : dict
        What the file holds.
    wanted : str
        The "format" that is read.
    """
    kind = found.get("format")
    return FILES.get(kind, "") if isinstance(kind, str) and kind != wanted else ""


def _unreadable(given: str | PathLike[str], reason: str) -> str:
    path = str(given)
    # What is no path may be a text, which is nobody's business.
    name = f" {path!r}" if len(path) <= _LONGEST and path.isprintable() else ""
    return f"the file{name} cannot be read ({reason})"


_REASONS: dict[type[Exception], str] = {
    FileNotFoundError: "there is none",
    IsADirectoryError: "it is a folder",
    PermissionError: "no permission",
}


class _RefusedError(Exception):
    """Reason to refuse a text, raised within the decoder."""


def _nested_deeper(text: str, depth: int) -> bool:
    """Say if brackets outside of strings are ever open beyond a depth; no recursion."""
    if text.count("[") + text.count("{") <= depth:
        return False
    level = 0
    for match in _STRINGS_AND_BRACKETS.finditer(text):
        first = text[match.start()]
        if first in "[{":
            level += match.end() - match.start()
            if level > depth:
                return True
        elif first != '"':
            level -= match.end() - match.start()
    return False


def _decoder(limits: Limits) -> json.JSONDecoder:
    def whole(digits: str) -> int:
        if len(digits) > limits.digits:
            raise _RefusedError(f"a number has more than {limits.digits} digits")
        return int(digits)

    return json.JSONDecoder(
        object_pairs_hook=_once, parse_int=whole, parse_float=_finite, parse_constant=_constant
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        name = f" {key!r}" if len(key) <= _LONGEST and key.isprintable() else ""
        raise _RefusedError(f"the key{name} occurs twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _RefusedError("a number is too large")
    return number


def _constant(name: str) -> Any:
    raise _RefusedError(f"{name} is not a JSON number")


def is_writable(text: str) -> bool:
    """Say if a text is Unicode; half of a character (a lone surrogate) is not."""
    try:
        return text.isascii() or bool(text.encode("utf-8"))
    except UnicodeEncodeError:
        return False


def _check_whole_characters(text: str, found: Any) -> None:
    """Half of a character could not be written out again, in a report or a digest."""
    if _HALVES.search(text) and not is_writable(json.dumps(found, ensure_ascii=False)):
        raise _RefusedError("a string holds half of a character")
