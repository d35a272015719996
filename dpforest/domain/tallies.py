"""Tallies: what the parts of a table add up to in a check, in memory that their size does not set.

Parts are added in the order of their records. Which values are told apart depends on that order
alone, so a table in parts has the findings of the whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dpforest.domain.findings import Effect, Finding, FoundValue
from dpforest.domain.near import NearMiss
from dpforest.domain.values import NO_MEANING, is_boolean, meaning_of, text_of

#: Values of a finding that are kept.
_MOST_VALUES = 20
#: Different values for which a guess is made: each is held against all that is declared.
_MOST_GUESSES = 500
#: Different values of a finding that are told apart, and characters of all of them.
MOST_APART = 100_000
MOST_CHARACTERS = 2**24

#: Characters up to which a text may be a number, or is remembered.
_SHORT = 40

Guess = Callable[[Any], NearMiss | None]


class Seen(NamedTuple):
    """One rule in one part of a table.

    Attributes
    ----------
    place : int
        Of the column in the order of findings: two columns may have one name.
    column, rule : str
    effect : str
    records : int
        May be 0: which rules there are, and their order, does not depend on the part.
    values : iterable
        Of these records.
    guess : callable or None
        What a value may have been meant to be.
    farthest : float or None
        Of numbers outside a bound.
    extreme : callable
        The farthest of several, ``np.min`` or ``np.max``.
    """

    place: int
    column: str
    rule: str
    effect: Effect
    records: int
    values: Iterable[Any] = ()
    guess: Guess | None = None
    farthest: float | None = None
    extreme: Callable[[Any], Any] = np.max


class Tallies:
    """All findings of a check, part after part."""

    def __init__(self) -> None:
        self._tallies: dict[tuple[int, str, Effect], _Tally] = {}

    def add(self, seen: Seen) -> None:
        """Count what a part shows."""
        key = seen.place, seen.rule, seen.effect
        if key not in self._tallies:
            self._tallies[key] = _Tally(seen)
        self._tallies[key].add(seen)

    def findings(self) -> tuple[Finding, ...]:
        """Records that are dropped first, then the others, each by the order of the domain."""
        found = [tally.finding() for tally in self._tallies.values() if tally.records]
        return tuple(sorted(found, key=lambda one: one.effect != "dropped"))


class _Tally:
    """One finding."""

    def __init__(self, first: Seen) -> None:
        self._first = first
        self.records = 0
        self._farthest: float | None = None
        self._counts: dict[str, int] = {}
        self._examples: dict[str, Any] = {}
        self._characters = 0
        self._untold = 0

    def add(self, seen: Seen) -> None:
        self.records += seen.records
        for value in seen.values:
            self._count(value)
        if seen.farthest is not None:
            ends = [seen.farthest, *([] if self._farthest is None else [self._farthest])]
            self._farthest = float(seen.extreme(ends))

    def _count(self, value: Any) -> None:
        text = written(value)
        if text in self._counts:
            self._counts[text] += 1
        elif len(self._counts) == MOST_APART or self._characters + len(text) > MOST_CHARACTERS:
            self._untold += 1
        else:
            self._counts[text], self._examples[text] = 1, value
            self._characters += len(text)

    def finding(self) -> Finding:
        """Its values, those that are near to something declared first."""
        first, counts = self._first, self._counts
        ranked = sorted(counts, key=lambda text: (-counts[text], text))
        guessed = {}
        if first.guess is not None:
            guessed = {t: first.guess(self._examples[t]) for t in ranked[:_MOST_GUESSES]}
        ranked.sort(key=lambda text: guessed.get(text) is None)
        shown = ranked[:_MOST_VALUES]
        values = tuple(FoundValue(t, counts[t], *(guessed.get(t) or ())) for t in shown)
        rule = first.rule
        if self._farthest is not None:
            rule = f"{rule}; the farthest is {text_of(self._farthest)}"
        more = len(ranked) - len(shown)
        return Finding(first.column, rule, first.effect, self.records, values, more, self._untold)


def written(value: Any) -> str:
    """A value as Python writes it, without a call of its own methods.

    Text that a number or a truth is written as stands like these: whether a column is text
    depends on other records.
    """
    if isinstance(value, str):
        text = str.__str__(value)
        return _written_text(text) if len(text) <= _SHORT else repr(text)
    if isinstance(value, bytes):
        return repr(bytes(value))
    if value is NO_MEANING:
        return "a date, a list or the like"
    kind = type(value).__name__
    return text_of(value) or f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


@lru_cache(maxsize=4096)
def _written_text(text: str) -> str:
    if is_boolean(text):
        return text if text in ("True", "False") else repr(text)
    meaning = meaning_of(text)
    as_number = isinstance(meaning, float) and text_of(meaning) == text
    return text if as_number else repr(text)
