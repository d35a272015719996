"""Order that a list of categories tells, by the way that it is written alone.

Somebody who writes low, medium, high puts neighbours beside each other. A list that a program, or
somebody in a hurry, has sorted says less: codes often go up with what they stand for, words do
not. Learners try neighbours together where a list says that they are some. What a list says is as
public as the list itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Any

from dpforest.domain.values import is_number_text, meaning_of


class ListOrder(IntEnum):
    """Word of a list on its order: of two splits, so many part it in two runs of neighbours."""

    NOTHING = 0
    PERHAPS = 1
    TOLD = 2


def list_order(categories: Sequence[str], other: str | None = None) -> ListOrder:
    """Order that a list tells.

    Nothing where there are fewer than three categories, or sorted words; perhaps one where codes
    are sorted: with a digit in each, or letters that follow each other; else the list was written
    in an order of its own.

    Parameters
    ----------
    categories : sequence of str
    other : str, optional
        The one that stands for all values not listed: wherever it is written, it says nothing.
    """
    listed = [category for category in categories if category != other]
    if len(listed) < 3:
        return ListOrder.NOTHING
    if not _is_sorted(listed):
        return ListOrder.TOLD
    return ListOrder.PERHAPS if _are_codes(listed) else ListOrder.NOTHING


def _is_sorted(listed: Sequence[str]) -> bool:
    """True if they go up as texts, whatever their case, or as numbers."""
    folded = [category.casefold() for category in listed]
    if folded == sorted(folded) or list(listed) == sorted(listed):
        return True
    if not all(map(is_number_text, listed)):
        return False
    numbers: list[Any] = [meaning_of(category) for category in listed]
    return numbers == sorted(numbers)


def _are_codes(listed: Sequence[str]) -> bool:
    """True of texts with a digit each, and of letters without a gap, such as A, B, C."""
    if all(map(_has_digit, listed)):
        return True
    letters = [category.casefold() for category in listed]
    follow = all(len(letter) == 1 for letter in letters)
    return follow and all(ord(b) - ord(a) == 1 for a, b in pairwise(letters))


def _has_digit(category: str) -> bool:
    return any(map(str.isdigit, category))
