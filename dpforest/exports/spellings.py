"""Texts that a categorical value may be sent as where a reader can only compare whole texts.

The plain form reads a text by a grammar (docs/plain_model.md, "What a value means"): " 1", "01" and
"1.0" are one number. A look-up has no grammar, so it gets the spellings that programs write.
"""

from __future__ import annotations

from collections.abc import Iterator

from dpforest.exports.parts import Feature
from dpforest.plain.reader import PlainModel

#: Texts of a missing value: an empty one, and what programs write for NaN.
MISSING = ("", "nan", "NaN", "NAN")
#: Texts of the zero that a double has below zero: of Python, JSON and DuckDB; of PostgreSQL.
_BELOW_ZERO = ("-0.0", "-0")
_TRUE, _FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")


def spellings(feature: Feature) -> dict[str, int]:
    """Code of every text that is known: the position of a category, or one beyond for missing.

    Parameters
    ----------
    feature : Feature
        A categorical one.

    Returns
    -------
    dict of str to int
        Categories as they are declared, and as numbers where the plain form reads them so; every
        other text is unknown.
    """
    assert feature.categories is not None
    meaning, n = reader().meaning, len(feature.categories)
    known = {meaning(category): place for place, category in enumerate(feature.categories)}
    found = dict.fromkeys(MISSING, n)
    for text in _candidates(feature, known):
        number = meaning(text)
        place = known.get(number)
        if place is None and feature.positions and isinstance(number, float):
            place = _position(number, n)
        if place is not None:
            found[text] = place
    return found


def reader() -> PlainModel:
    """The reference reader, for what texts mean; digits of other scripts are not read."""
    return PlainModel(
        {"format": "dpforest-plain", "version": 2, "digits": "0", "features": [], "score": {},
         "link": {}}
    )  # fmt: skip


def _position(number: float, n: int) -> int | None:
    return int(number) if number.is_integer() and 0 <= number < n else None


def _candidates(feature: Feature, known: dict[str | float | None, int]) -> Iterator[str]:
    """Texts that may stand for a category: its own, and numbers as programs write them."""
    assert feature.categories is not None
    yield from feature.categories
    yield from (text for text in known if isinstance(text, str))  # without white space around
    numbers = {number for number in known if isinstance(number, float)}
    if feature.positions:
        numbers |= set(map(float, range(len(feature.categories))))
    for number in numbers:
        yield repr(number)
        if number.is_integer() and abs(number) < 2**53:
            yield str(int(number))
        if number == 0:
            yield from _BELOW_ZERO
    yield from (*_TRUE, *_FALSE)
