"""Fields of entries: what a name, a text, an id or a digest may be, and a word on what is not."""

from __future__ import annotations

import re
import uuid
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError

from dpforest.exceptions import printable
from dpforest.signatures import is_hex
from dpforest.strict_json import is_writable

#: Longest name and longest free text, in characters.
LONGEST_NAME, LONGEST_TEXT = 100, 1000

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


def is_name(value: Any) -> bool:
    """Say if a value may name a data set, a block or an actor."""
    return (
        isinstance(value, str)
        and 1 <= len(value) <= LONGEST_NAME
        and value.isprintable()
        and value == value.strip()
        and is_writable(value)
    )


def is_text(value: Any) -> bool:
    """Say if a value may be a purpose, a reason or a note: some printable words, or none."""
    return (
        isinstance(value, str)
        and len(value) <= LONGEST_TEXT
        and value.isprintable()
        and is_writable(value)
    )


def is_id(value: Any) -> bool:
    """Say if a value is a UUID as it is written in a ledger: 36 small characters."""
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value
    except ValueError:
        return False


def _rule(passes: Any, words: str) -> AfterValidator:
    def check(value: Any) -> Any:
        if not passes(value):
            raise ValueError(words)
        return value

    return AfterValidator(check)


# Strict: bytes are no text, and neither is any other type that reads as one.
_strict = Field(strict=True)
Name = Annotated[str, _strict, _rule(is_name, "not a name of 1 to 100 printable characters")]
Text = Annotated[str, _strict, _rule(is_text, "not a text of at most 1000 printable characters")]
Id = Annotated[str, _strict, _rule(is_id, "not a UUID in small letters")]
IdOrNone = Annotated[str, _strict, _rule(lambda v: not v or is_id(v), "not a UUID")]
Digest = Annotated[str, _strict, _rule(lambda v: is_hex(v, 32), "not 64 hexadecimal digits")]
DigestOrNone = Annotated[
    str, _strict, _rule(lambda v: not v or is_hex(v, 32), "not 64 hexadecimal digits")
]
#: An ed25519 public key, or empty where nobody signs.
PublicKey = DigestOrNone
Signature = Annotated[str, _strict, _rule(lambda v: not v or is_hex(v, 64), "not a signature")]
Time = Annotated[str, _strict, _rule(lambda v: _TIME.fullmatch(v) is not None, "not a time")]
Flag = Annotated[bool, _strict]
Count = Annotated[int, Field(strict=True, ge=0, le=10**9)]


def first_fault(error: ValidationError) -> str:
    """Place and rule of the first field that is not what it may be."""
    first = error.errors(include_url=False, include_input=False)[0]
    # Keys of whoever wrote it are among its places, and terminals heed what they are told.
    return f"{printable('.'.join(map(str, first['loc'])))}: {first['msg']}"
