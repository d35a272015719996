"""Words that go with a charge: purpose, blocks and request, checked where they are given.

So they are refused before a fit is planned, and in errors of this package: a service that runs fits
for others catches those, and goes on with the next.

Held by tests/ledger/test_bad_input.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpforest.exceptions import ParameterError, ParameterTypeError
from dpforest.ledger.fields import is_id, is_name, is_text

#: What else a plan follows from that has a delta, for whoever is told that it is another one.
BY_THE_SAME = (
    ", by the same release of dpforest, with the extra `accounting` if it was installed there "
    "and without it if not"
)


def several(count: int, one: str, more: str = "") -> str:
    """A number of things in words: ``1 fit``, ``2 fits``, ``3 entries``."""
    return f"{count} {one if count == 1 else more or one + 's'}"


def checked_purpose(value: Any) -> str:
    """Purpose of fits, in words."""
    if not isinstance(value, str):
        raise ParameterTypeError("purpose", value, "must be a text", 'Write purpose="churn model"')
    if not is_text(value):
        raise ParameterError(
            "purpose", value, "must be at most 1000 printable characters, on one line",
            "Say it in fewer or plainer words",
        )  # fmt: skip
    return value


def checked_blocks(values: Any) -> tuple[str, ...]:
    """Names of blocks that are read."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise ParameterTypeError(
            "blocks", values, "must be a list of names", 'Write blocks=["2026-01"]'
        )
    if not all(map(is_name, values)):
        raise ParameterError(
            "blocks", tuple(values),
            "must be names of 1 to 100 printable characters, without spaces at their ends",
            "Name blocks of the data set, as its status shows them",
        )  # fmt: skip
    return tuple(values)


def checked_request(value: Any) -> str:
    """Id of a request, or an empty text."""
    return _checked_id("request", value)


def checked_reserve(value: Any) -> str:
    """Id of a reserve, or an empty text."""
    return _checked_id("reserve", value)


def _checked_id(kind: str, value: Any) -> str:
    if not isinstance(value, str) or (value and not is_id(value)):
        raise ParameterError(
            kind, value, f"must be the id of a {kind}, a UUID in small letters",
            f"Give what ledger.{kind}(...) returned as its id, or leave it out",
        )  # fmt: skip
    return value
