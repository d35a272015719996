"""Looks of texts: names, categories and classes of a domain that look the same and are not.

A record has one or the other of two such by signs that nobody sees. They are told of where they are
declared, and so public; of a draft's, which were read off the records, its doubts tell.

Held by tests/domain/test_looks.py.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from dpforest.call_stack import callers_stacklevel
from dpforest.display import count_text
from dpforest.exceptions import LookAlikesWarning

#: Kinds of signs that have no width: those of formats, and control characters.
_WITHOUT_WIDTH = ("Cf", "Cc")
#: Pairs that a warning names.
_MOST_TOLD = 5


def seen_signs(text: str) -> str:
    """A text without signs that have no width, its letters made up in one way."""
    if text.isascii() and text.isprintable():
        return text
    seen = (
        sign for sign in text if sign.isspace() or unicodedata.category(sign) not in _WITHOUT_WIDTH
    )
    return unicodedata.normalize("NFC", "".join(seen))


def look_of(text: str) -> str:
    """A text as it is seen: as ``seen_signs`` of it, with each blank as one of one kind."""
    return " ".join(seen_signs(text).split())


def look_alikes(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs of texts that look the same: the first of a look, and each other one of it."""
    first: dict[str, str] = {}
    for text in texts:
        other = first.setdefault(look_of(text), text)
        if other != text:
            yield other, text


def warn_of_look_alikes(entries: Iterable[tuple[str, Any]]) -> None:
    """Warn once of all that looks the same among declared entries of a domain.

    Parameters
    ----------
    entries : iterable of tuple
        Name and entry, of whatever status.
    """
    declared = [(name, entry) for name, entry in entries if entry.status == "declared"]
    pairs = list(_pairs(declared))
    if not pairs:
        return
    more = len(pairs) - _MOST_TOLD
    told = [*pairs[:_MOST_TOLD], *([count_text(more, "other pair")] if more > 0 else [])]
    warnings.warn(
        f"the domain declares as two what looks the same: {'; '.join(told)}. A record has one or "
        "the other by signs that nobody sees. Spell them alike in the table and declare one, "
        "unless two are meant.",
        LookAlikesWarning,
        stacklevel=callers_stacklevel(),
    )


def _pairs(entries: list[tuple[str, Any]]) -> Iterator[str]:
    """Words on each pair, written out in ASCII, where signs are told apart."""
    features = [name for name, entry in entries if hasattr(entry, "kind")]
    yield from _words("features", look_alikes(features))
    for name, entry in entries:
        categories = getattr(entry, "categories", ())
        yield from _words(f"categories of {ascii(name)}", look_alikes(categories))
        yield from _words("classes", look_alikes(getattr(entry, "texts", ())))


def _words(of: str, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for one, other in pairs:
        yield f"{of}: {ascii(one)} and {ascii(other)}"
