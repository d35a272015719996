"""Texts that people type into a report: short, printable, and refused in our own words."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ValidationError

from dpforest.accounting.frozen import Frozen
from dpforest.domain.complaints import plain_rule
from dpforest.exceptions import ParameterError
from dpforest.own_names import set_fields
from dpforest.strict_json import is_writable

#: Letters of one typed text; a paragraph or two.
LONGEST = 4000
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _words(text: str) -> str:
    text = text.strip()
    if not text or len(text) > LONGEST:
        raise ValueError(f"must be a text of 1 to {LONGEST} characters")
    if not (text.isprintable() and is_writable(text)):
        raise ValueError("must be one line of printable characters")
    return text


def _day_text(value: Any) -> Any:
    """A date as its text; a date with a time is none."""
    is_day = isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)
    return value.isoformat() if is_day else value


def _day(text: str) -> str:
    rule = "must be a date such as '2026-11-23'"
    if not _DATE.fullmatch(text):
        raise ValueError(rule)
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        raise ValueError(rule) from None
    return text


#: One line that somebody typed, without blanks around it.
Words = Annotated[str, AfterValidator(_words)]
#: A day of the calendar as text; a ``datetime.date`` is taken too.
Day = Annotated[str, BeforeValidator(_day_text), AfterValidator(_day)]


class Typed(Frozen):
    """Base of what people type in: frozen, closed, and speaking in `ParameterError`."""

    def __init__(self, **data: Any) -> None:
        failure: ParameterError | None = None
        try:
            super().__init__(**data)
        except ValidationError as error:
            failure = _refusal(type(self), error)
        # Raised outside the handler, so that no second error trails behind it.
        if failure is not None:
            raise failure

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        yield from set_fields(self)

    def __str__(self) -> str:
        return repr(self)


def _refusal(kind: type[Typed], error: ValidationError) -> ParameterError:
    """The first complaint about a field, in our words."""
    found = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in found["loc"]) or kind.__name__
    cause = found.get("ctx", {}).get("error")
    if isinstance(cause, ParameterError):
        return cause
    names = ", ".join(kind.model_fields)
    if found["type"] == "extra_forbidden":
        near = get_close_matches(field, kind.model_fields, n=1)
        repair = f"Write {near[0]}" if near else f"The fields are {names}"
        return ParameterError(field, found["input"], "is no field", repair)
    if found["type"] == "missing":
        return ParameterError(field, None, "is needed", f"See the docstring of {kind.__name__}")
    value = found["input"] if found["loc"] else None
    rule = str(cause) if cause is not None else plain_rule(found) or "has not the form of its field"
    return ParameterError(field, value, rule, f"See the docstring of {kind.__name__}")
