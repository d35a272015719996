"""Texts of a draft that may be meant otherwise; found in the draft itself, not in the records.

Held by tests/domain/test_doubts.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dpforest.domain.near import SIGNS_OF_GAPS
from dpforest.domain.schema import CategoricalFeature

#: Numbers as they are written elsewhere: 3,5 and 1.234,5 and 1 234 and 12,345.6, with units that
#: stand beside a number.
_WRITTEN_OTHERWISE = re.compile(
    r"[-+]?(?:[€$£] ?)?(?:\d+,\d+|\d{1,3}(?:[ .'’\u00a0\u202f]\d{3})+(?:,\d+)?"
    r"|\d{1,3}(?:,\d{3})+\.\d+|\d+(?:[.,]\d+)?(?= ?[%€$£]))(?: ?[%€$£])?"
)
_PLAIN = re.compile(r"[-+]?\d+(?:\.\d+)?")
#: Texts of which so many read as numbers are numbers; fewer distinct ones are a list to pick from.
_MOST_OTHERS, _FEWEST = 0.1, 3
#: So many different numbers are more than codes of a list to pick from.
_FEWEST_NUMBERS = 10
#: A day as it is written, whichever part comes first.
_DAY = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./-]\d{1,2}[./-]\d{1,2}.*")
#: Categories that a draft keeps, the most frequent ones: more are no list to edit, and of a column
#: with so many values each is hardly ever seen twice.
MOST_DRAFTED = 255
#: What readers put where a byte is no character.
LOST_CHARACTER = "\ufffd"


def read_as_numbers(texts: Iterable[str]) -> bool:
    """Say if texts look like numbers that are written otherwise than with a point.

    Parameters
    ----------
    texts : iterable of str
        Categories of a draft.
    """
    known = list(texts)
    otherwise = sum(_WRITTEN_OTHERWISE.fullmatch(text) is not None for text in known)
    plain = sum(_PLAIN.fullmatch(text) is not None for text in known)
    others = len(known) - otherwise - plain
    return otherwise >= _FEWEST and others <= _MOST_OTHERS * len(known)


def nearly_all_numbers(texts: Iterable[str]) -> bool:
    """Say if texts are numbers but for a few: a sign for a missing value, as a rule."""
    known = list(texts)
    plain = sum(_PLAIN.fullmatch(text.strip()) is not None for text in known)
    others = len(known) - plain
    return plain >= _FEWEST_NUMBERS and 0 < others <= _MOST_OTHERS * len(known)


def spelt_alike(texts: Iterable[str]) -> bool:
    """Say if some texts differ in case or blanks alone."""
    known = list(texts)
    return len({" ".join(text.casefold().split()) for text in known}) < len(known)


def read_as_days(texts: Iterable[str]) -> bool:
    """Say if texts look like dates."""
    known = list(texts)
    days = sum(_DAY.fullmatch(text) is not None for text in known)
    return days >= _FEWEST and len(known) - days <= _MOST_OTHERS * len(known)


def hold_gaps(texts: Iterable[str]) -> bool:
    """Say if some texts are signs for a missing value, such as a question mark."""
    return any(text.strip().casefold() in SIGNS_OF_GAPS for text in texts)


def doubts_of(name: str, entry: Any) -> str:
    """Words on what a drafted entry may have been meant as; none where it reads well."""
    texts: tuple[str, ...] = getattr(entry, "categories", getattr(entry, "texts", ()))
    words = []
    if isinstance(entry, CategoricalFeature) and read_as_numbers(texts):
        words.append(
            "read as texts, but they look like numbers with decimal commas, separators or units; "
            "write them with a point alone to have numbers"
        )
    elif isinstance(entry, CategoricalFeature) and read_as_days(texts):
        words.append(
            "read as texts, but they look like dates; write days since a public date to have "
            "numbers, or leave the column out"
        )
    elif isinstance(entry, CategoricalFeature) and nearly_all_numbers(texts):
        words.append(
            "read as texts, but nearly all of them are numbers; blank what stands for a missing "
            "one, such as a question mark, to have numbers"
        )
    elif isinstance(entry, CategoricalFeature) and len(texts) >= MOST_DRAFTED:
        words.append(
            "as many values as a draft keeps, so some may be lost: complete codes from their book; "
            "of numbers, blank what stands for a missing one; an identifier or free text teaches "
            "nothing and tells of single persons, so leave it out (on the command line: --drop)"
        )
    elif hold_gaps(texts):
        words.append(
            "some are signs for a missing value; blank them, and allow missing values, unless they "
            "are an answer of their own"
        )
    if spelt_alike(texts):
        words.append("some differ in case or blanks alone; spell them alike to have one of them")
    if any(LOST_CHARACTER in text for text in (name, *texts)):
        words.append("some characters were lost; write the file anew in UTF-8")
    return ", and ".join(words)
