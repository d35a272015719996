"""Texts and numbers of a draft that may be meant otherwise.

Of texts that is found in the draft itself, of numbers in its marks, which are made by the records.

Held by tests/domain/test_doubts.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.marks import DraftMark
from dpforest.domain.near import SIGNS_OF_GAPS, folded, is_filler
from dpforest.domain.schema import CategoricalFeature, Classes

#: Numbers as they are written elsewhere: 3,5 and 1.234,5 and 1 234 and 12,345.6, with units that
#: stand beside a number.
_WRITTEN_OTHERWISE = re.compile(
    r"[-+]?(?:[€$£] ?)?(?:\d+,\d+|\d{1,3}(?:[ .'’\u00a0\u202f]\d{3})+(?:,\d+)?"
    r"|\d{1,3}(?:,\d{3})+\.\d+|\d+(?:[.,]\d+)?(?= ?[%€$£]))(?: ?[%€$£])?"
)
_PLAIN = re.compile(r"[-+]?\d+(?:\.\d+)?")
_DIGITS = re.compile("[0-9]+")
#: Part of digits with a leading zero that is no slip.
_OFTEN = 0.1
#: Texts of which so many read as numbers are numbers; fewer distinct ones are a list to pick from.
_MOST_OTHERS, _FEWEST = 0.1, 3
#: So many different numbers are more than codes of a list to pick from.
_FEWEST_NUMBERS = 10
#: A day as it is written, whichever part comes first.
_DAY = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./-]\d{1,2}[./-]\d{1,2}.*")
#: Categories that a draft keeps, the most frequent ones: more are no list to edit, and of a column
#: with so many values each is hardly ever seen twice.
MOST_DRAFTED = 255
#: Stands for a category where no text of a column means one.
NO_TEXT = "unreadable"
#: Different whole numbers from which on they may be identifiers, the part of a range of steps that
#: these fill, and numbers of so many digits that few other columns have them.
_FEWEST_IDENTIFIERS, _DENSE, _LONG_NUMBER = 20, 0.5, 1e5
#: So many different labels that are whole numbers are amounts rather than classes.
_FEWEST_AMOUNTS = 30
#: Names that people give to identifiers: id, person_id, PersonID, and not "valid".
_NAME_OF_IDENTIFIER = re.compile(r"(?:.*[^A-Za-z])?(?:id|Id|ID)|.*[a-z](?:Id|ID)")
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


def have_leading_zeros(texts: Iterable[str]) -> bool:
    """Say if texts are digits that codes have: 01234, of one length or often with such a zero.

    A text or two among others of many lengths may be slips in numbers.
    """
    known = list(texts)
    padded = sum(len(text) > 1 and text[0] == "0" for text in known)
    if not padded or not all(_DIGITS.fullmatch(text) for text in known):
        return False
    return len({len(text) for text in known}) == 1 or padded >= _OFTEN * len(known)


def spelt_alike(texts: Iterable[str]) -> bool:
    """Say if some texts differ in case, blanks or how their letters are made up, alone."""
    known = list(texts)
    return len(set(map(folded, known))) < len(known)


def read_as_days(texts: Iterable[str]) -> bool:
    """Say if texts look like dates."""
    known = list(texts)
    days = sum(_DAY.fullmatch(text) is not None for text in known)
    return days >= _FEWEST and len(known) - days <= _MOST_OTHERS * len(known)


def hold_gaps(texts: Iterable[str]) -> bool:
    """Say if some texts are signs for a missing value, such as a question mark."""
    return any(text.strip().casefold() in SIGNS_OF_GAPS for text in texts)


def look_like_identifiers(numbers: NDArray[np.float64]) -> bool:
    """Say if whole numbers differ in all records, and follow one another or have many digits."""
    values = np.unique(numbers)
    if values.size < max(numbers.size, _FEWEST_IDENTIFIERS) or not np.isfinite(values).all():
        return False
    steps = (values[-1] - values[0]) / np.diff(values).min()
    return bool(values.size > _DENSE * steps or np.abs(values).min() >= _LONG_NUMBER)


def names_identifier(name: str, entry: Any) -> bool:
    """Say if a column of many values is called an identifier, whose values may come repeatedly.

    Parameters
    ----------
    name : str
    entry : feature, classes or target
        Of a draft.
    """
    many = len(getattr(entry, "categories", ())) >= _FEWEST_IDENTIFIERS
    if getattr(entry, "integer", False):
        many = entry.upper - entry.lower >= _FEWEST_IDENTIFIERS
    return many and _NAME_OF_IDENTIFIER.fullmatch(name.strip()) is not None


def may_be_amounts(entry: Any) -> bool:
    """Say if classes are so many whole numbers that a regression may be meant."""
    if not isinstance(entry, Classes) or len(entry.labels) < _FEWEST_AMOUNTS:
        return False
    return all(_PLAIN.fullmatch(text) for text in entry.texts)


def far_bounds(numbers: NDArray[np.float64]) -> tuple[Literal["lower", "upper"], ...]:
    """Find which extremes of a column may stand for a missing number: 99, 9999 or -1.

    One does where it lies farther from all others than these from one another, or is the only
    number below 0.
    """
    values = np.unique(numbers)
    if values.size < _FEWEST:
        return ()
    spread_above, spread_below = values[-1] - values[1], values[-2] - values[0]
    far: list[Literal["lower", "upper"]] = []
    alone = values[1] >= 0
    if is_filler(values[0]) and values[0] < 0 and (alone or values[1] - values[0] > spread_above):
        far.append("lower")
        spread_below = values[-2] - values[1]
    if is_filler(values[-1]) and values[-1] - values[-2] > spread_below:
        far.append("upper")
    return tuple(far)


def _doubts_of_numbers(mark: DraftMark | None) -> list[str]:
    words = []
    if mark is not None and mark.identifies:
        words.append(
            "each record has a number of its own, as of an identifier, which teaches nothing and "
            "tells of single persons; leave it out (on the command line: --drop)"
        )
    if mark is not None and mark.far:
        words.append(
            f"{' and '.join(mark.far)} may stand for a missing number, far from all others as it "
            "is; blank it, and allow missing values"
        )
    return words


def _doubts_of_kind(name: str, entry: Any) -> list[str]:
    words = []
    if names_identifier(name, entry) and not (entry.drafted and entry.drafted.identifies):
        words.append(
            "called as an identifier is; leave it out (on the command line: --drop), and where it "
            "numbers persons with several records each, fit with max_records_per_unit "
            "(--max-records-per-unit)"
        )
    if may_be_amounts(entry):
        words.append(
            "as many different whole numbers are rarely classes; where they are amounts, draft "
            'with task="regression" (on the command line: --task regression)'
        )
    return words


def _known_otherwise(name: str, entry: Any) -> bool:
    """Say if many texts are labels, or are told of already by their name."""
    return not isinstance(entry, CategoricalFeature) or names_identifier(name, entry)


#: What the texts of a categorical feature may be instead, the first that fits.
_READINGS: tuple[tuple[Callable[[tuple[str, ...]], bool], str], ...] = (
    (
        lambda texts: texts == (NO_TEXT,),
        "no text of it means anything here, as of dates and times; leave it out (on the command "
        "line: --drop), or turn it into numbers first, such as days since a public date",
    ),
    (
        read_as_numbers,
        "read as texts, but they look like numbers with decimal commas, separators or units; "
        "write them with a point alone to have numbers",
    ),
    (
        read_as_days,
        "read as texts, but they look like dates; write days since a public date to have numbers, "
        "or leave the column out",
    ),
    (
        lambda texts: len(texts) < MOST_DRAFTED and have_leading_zeros(texts),
        "read as texts, since some begin with a zero, as codes do; where more means more, declare "
        "bounds in place of categories",
    ),
    (
        nearly_all_numbers,
        "read as texts, but nearly all of them are numbers; blank what stands for a missing one, "
        "such as a question mark, to have numbers",
    ),
)
_MAY_BE_CUT = (
    "as many values as a draft keeps, so some may be lost: complete codes from their book; of "
    "numbers, blank what stands for a missing one; an identifier or free text teaches nothing and "
    "tells of single persons, so leave it out (on the command line: --drop)"
)
_GAPS = (
    "some are signs for a missing value; blank them, and allow missing values, unless they are an "
    "answer of their own"
)


def _doubts_of_texts(name: str, entry: Any, texts: tuple[str, ...]) -> list[str]:
    """Likeliest fault of texts as a whole, if there is one."""
    for fits, words in _READINGS if isinstance(entry, CategoricalFeature) else ():
        if fits(texts):
            return [words]
    if len(texts) >= MOST_DRAFTED and not _known_otherwise(name, entry):
        return [_MAY_BE_CUT]
    return [_GAPS] if hold_gaps(texts) else []


def doubts_of(name: str, entry: Any) -> str:
    """Words on what a drafted entry may have been meant as; none where it reads well."""
    texts: tuple[str, ...] = getattr(entry, "categories", getattr(entry, "texts", ()))
    words = [*_doubts_of_numbers(entry.drafted), *_doubts_of_kind(name, entry)]
    words += _doubts_of_texts(name, entry, texts)
    if spelt_alike(texts):
        words.append(
            "some differ in case, blanks or signs of Unicode that look the same; spell them alike "
            "to have one of them"
        )
    if any(LOST_CHARACTER in text for text in (name, *texts)):
        words.append("some characters were lost; write the file anew in UTF-8")
    return ", and ".join(words)
