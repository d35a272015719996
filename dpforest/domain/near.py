"""Near misses: the declared value that an undeclared one may be a spelling of.

Nothing is encoded by these guesses. They are for the curator's eyes, who then mends the table or
the domain.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from dpforest.domain.looks import seen_signs
from dpforest.domain.values import Meaning, is_boolean, meaning_of, text_of

#: Words for two answers, beyond those that a domain reads as 1 and 0 anyway.
_TRUTHS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on", "positive", "pos", "present"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off", "negative", "neg", "absent"), False),
}
#: What stands for no value and for nothing else, and words that may be an answer, too.
SIGNS_OF_GAPS = frozenset((
    "?", "-", "--", ".", "*", "na", "n/a", "n.a.", "#n/a", "<na>", "nat", "null",
))  # fmt: skip
#: Numbers that tables put in the place of a missing one.
_FILLERS = {-1.0, *(sign * (10.0**digits - 1.0) for digits in range(1, 7) for sign in (1, -1))}
_GAPS = SIGNS_OF_GAPS | {
    "none", "nil", "missing", "unknown", "not available", "not known",
}  # fmt: skip
#: Share by which two texts must agree to be one with a slip of the finger.
_CLOSE = 0.8
#: Texts below this length are alike by accident.
_LONG_ENOUGH = 4
#: Numbers that differ by less are one number in two precisions.
_SAME_NUMBER = 1e-6
#: Longer texts are no number with signs around it.
_LONGEST = 40
_CURRENCY = r"(?:[A-Z]{3}|[$£¥€₹₽₩₺₪฿¢₦₫₱₴])"
#: A number with what may stand around it: one sign, a currency, a unit, brackets for a minus.
_AMOUNT = re.compile(
    rf"[<>=~≈\s]*(?P<open>\()?\s*(?:[-+\u2212]?\s*(?:{_CURRENCY}\s*)?|{_CURRENCY}\s*[-+\u2212]\s*)"
    r"(?P<number>[\d.,](?:[\d.,\s'’_]*[\d.,])?)\s*"
    r"(?:[^\W\d_]|[\s%°$£¥€/])*(?P<close>\))?"
)
#: How texts differ that nobody can tell apart by looking at them.
_SAME_LOOK = "letters that look the same, made up of other signs"
_BLANK = r"[\s'’_]"
#: Ways to write a number, each with what stands between its thousands; the likelier one first.
_WAYS_TO_WRITE = (
    (re.compile(r"(?!0)\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d*)?"), ","),
    (re.compile(r"(?!0)\d{1,3}(?:\.\d{3})+(?:,\d*)?"), r"\."),
    (re.compile(rf"\d{{1,3}}(?:{_BLANK}\d{{3}})+(?:[.,]\d*)?"), _BLANK),
    (re.compile(r"\d*[.,]?\d*"), "^$"),
)


class NearMiss(NamedTuple):
    """A guess.

    Attributes
    ----------
    meant : str
        The declared category or label, or a number; empty for a missing value.
    because : str
        How the two differ, in words.
    """

    meant: str
    because: str


class NearMisses:
    """Find what a value may have been meant to be.

    Parameters
    ----------
    declared : sequence of str
        Categories or labels as text. Empty for numbers.
    """

    def __init__(self, declared: Sequence[str]) -> None:
        self._texts = tuple(declared)
        self._folded = _first_of((folded(text), text) for text in declared)
        self._bare = _first_of((_bare(text), text) for text in declared)
        self._numbers = [(meaning, text) for text in declared
                         if isinstance(meaning := meaning_of(text), float)]  # fmt: skip
        self._truths: dict[bool, list[str]] = {True: [], False: []}
        for text in declared:
            if (truth := _truth(text)) is not None:
                self._truths[truth].append(text)

    def of(self, value: Any) -> NearMiss | None:
        """The likely meaning of a value that is not declared, or None."""
        text = _text(value)
        for guess in (self._by_case, self._by_truth, self._by_number, self._by_signs,
                      _as_gap, self._by_letters):  # fmt: skip
            found = guess(text)
            if found is not None:
                return found
        return None

    def _by_case(self, text: str) -> NearMiss | None:
        meant = self._folded.get(folded(text))
        if meant is None:
            return None
        return NearMiss(
            meant, _SAME_LOOK if seen_signs(meant) == seen_signs(text) else "case or blanks"
        )

    def _by_truth(self, text: str) -> NearMiss | None:
        truth = _truth(text)
        meant = self._truths[truth] if truth is not None else []
        return NearMiss(meant[0], "another word for yes or no") if len(meant) == 1 else None

    def _by_number(self, text: str) -> NearMiss | None:
        readings = numbers_in(text)
        close = [
            meant
            for own, meant in self._numbers
            if any(math.isclose(own, number, rel_tol=_SAME_NUMBER) for number in readings)
        ]
        # Where two are declared, 1,234 and 1.234, nothing tells which one is meant.
        one = len(close) == 1
        return NearMiss(close[0], "the same number, written otherwise") if one else None

    def _by_signs(self, text: str) -> NearMiss | None:
        # A point or comma is a part of a number: 15 is no 1.5.
        bare = "" if numbers_in(text) else _bare(text)
        meant = self._bare.get(bare) if bare else None
        return NearMiss(meant, "signs or blanks between letters") if meant is not None else None

    def _by_letters(self, text: str) -> NearMiss | None:
        if len(text) < _LONG_ENOUGH or numbers_in(text):
            return None
        close = get_close_matches(folded(text), list(self._folded), n=1, cutoff=_CLOSE)
        return NearMiss(self._folded[close[0]], "a letter or two") if close else None


def near_number(value: Any, lower: float = -math.inf, upper: float = math.inf) -> NearMiss | None:
    """The number, or the gap, that text in a column of numbers may have been meant to be.

    Parameters
    ----------
    value : object
    lower, upper : float
        Declared bounds, which may tell a decimal comma from a sign between thousands.
    """
    text = _text(value)
    gap = _as_gap(text)
    if gap is not None:
        return gap
    number = _likely(text, lower, upper)
    return None if number is None else NearMiss(text_of(number), "a number, written otherwise")


def is_filler(number: float) -> bool:
    """Say if a number is one that tables put in the place of a missing one: 99, 9999, -1."""
    return number in _FILLERS


def near_gap(value: Any) -> NearMiss | None:
    """The gap that a number outside the bounds may stand for."""
    meaning = meaning_of(value)
    gap = isinstance(meaning, float) and is_filler(meaning)
    return NearMiss("", "a number that often stands for a missing value") if gap else None


def _likely(text: str, lower: float, upper: float) -> float | None:
    """The reading of a text that lies in the bounds; none where they do not tell."""
    readings = numbers_in(text)
    if "%" in text and lower >= -1.0 and upper <= 1.0:
        readings = [number / 100.0 for number in readings]
    inside = [number for number in readings if lower <= number <= upper]
    if len(inside) == 1 or len(readings) == 1:
        return (inside or readings)[0]
    # Of one comma and three digits, thousands are by far the more usual; a point may be either.
    return readings[0] if readings and "," in text else None


def numbers_in(text: str) -> list[float]:
    """Every number that a text may be read as, the likelier one first.

    It may have a decimal comma, signs between thousands, a currency before it or a unit behind it,
    and brackets for a minus.
    """
    text = text.strip()
    if (plain := _finite(text)) is not None:
        return [plain]
    found = _AMOUNT.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None or (found["open"] is None) != (found["close"] is None):
        return []
    minus = any(sign in text for sign in "-\u2212(")
    readings = (
        _finite(re.sub(between, "", found["number"]).replace(",", "."))
        for written, between in _WAYS_TO_WRITE if written.fullmatch(found["number"])
    )  # fmt: skip
    return [-number if minus else number for number in readings if number is not None]


def _finite(text: str) -> float | None:
    meaning: Meaning = meaning_of(text) if not is_boolean(text) else None
    return meaning if isinstance(meaning, float) and math.isfinite(meaning) else None


def _as_gap(text: str) -> NearMiss | None:
    is_gap = folded(text) in _GAPS
    return NearMiss("", "a sign for a missing value") if is_gap else None


def _first_of(pairs: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, text in pairs:
        found.setdefault(key, text)
    return found


def _text(value: Any) -> str:
    return text_of(value).rstrip("\0").strip()


def folded(text: str) -> str:
    """A text without case, blanks around words, signs of no width, and ways to make up letters."""
    return " ".join(unicodedata.normalize("NFKC", seen_signs(text)).casefold().split())


def told_apart(text: str) -> str:
    """A text whose letters are made up in an unusual way, with their signs written out."""
    if unicodedata.is_normalized("NFC", text):
        return text
    return text.encode("ascii", "backslashreplace").decode("ascii")


def _bare(text: str) -> str:
    """Letters and digits alone, without accents."""
    apart = unicodedata.normalize("NFKD", text).casefold()
    return "".join(sign for sign in apart if sign.isalnum())


def _truth(text: str) -> bool | None:
    meaning = meaning_of(text)
    if meaning in (0.0, 1.0):
        return meaning == 1.0
    return _TRUTHS.get(folded(text))
