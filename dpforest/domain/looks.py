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

#: Signs that nobody sees, wherever they stand: of width zero, of where a line may end, of the
#: direction of a text, and of how an emoji is drawn.
_UNSEEN = frozenset(
    "\u00ad\u034f\u061c\u180e\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063"
    "\u2064\u2066\u2067\u2068\u2069\ufe0e\ufe0f\ufeff"
)
#: Signs that join their neighbours or keep them apart. They are seen where these have shapes for
#: that, as letters of Persian and Hindi and emoji do, but not beside letters of ASCII.
_JOINERS = "\u200c\u200d"
_WITHOUT_JOINERS = dict.fromkeys(map(ord, _JOINERS))
#: Pairs that a warning names.
_MOST_TOLD = 5
#: Signs of a text that it shows.
_LONGEST = 200


def seen_signs(text: str) -> str:
    """A text without signs that nobody sees, its letters made up in one way."""
    if not (text.isprintable() and _UNSEEN.isdisjoint(text)):
        text = "".join(sign for sign in text.strip(_JOINERS) if not _is_unseen(sign))
        bare = text.translate(_WITHOUT_JOINERS)
        text = bare if bare.isascii() else text
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _is_unseen(sign: str) -> bool:
    return sign in _UNSEEN or (unicodedata.category(sign) == "Cc" and not sign.isspace())


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
        yield f"{of}: {_cut(ascii(one))} and {_cut(ascii(other))}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
