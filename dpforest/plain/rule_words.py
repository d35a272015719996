"""Conditions of released rules in words: a sum of scores of features, held against a threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any

from dpforest.domain.schema import CategoricalFeature, NumericFeature

Plain = Mapping[str, Any]
Features = Sequence[NumericFeature | CategoricalFeature]

#: A feature with more ranges than this is told by how its scores go.
_MOST_PARTS = 6


def rule_words(
    node: Plain, known: Sequence[Plain], features: Features, sums: dict[str, int]
) -> tuple[str, str]:
    """Conditions of the left and the right side of a rule.

    Parameters
    ----------
    node : mapping
        With ``sum`` and ``threshold``.
    known : sequence of mappings
        Features of the plain form: categories, and edges of cells.
    features : sequence of Feature
        Of the domain.
    sums : dict of str to int
        Numbers of the sums of scores by what they add up, in words; a new one is put there.
    """
    tables, cut = node["sum"], node["threshold"]
    names = [features[table["feature"]].name for table in tables]
    if len(tables) > 1:
        words = "; ".join(_note(table, known, features) for table in tables)
        total = f"sum {sums.setdefault(words, len(sums) + 1)} ({_signed(tables, names)})"
        return f"{total} <= {cut}", f"{total} > {cut}"
    parts = list(_entries(tables[0], known, features, lambda entry: entry > cut))
    sides = ([text for text, side in parts if side == right] for right in (False, True))
    left, right = (f"{names[0]} {' or '.join(side) or 'is nothing'}" for side in sides)
    return left, right


def _signed(tables: Sequence[Plain], names: Sequence[str]) -> str:
    """Features that move a sum, with a minus where scores are taken away: ``age - pay``."""
    scores = [_scores(table) for table in tables]
    moving = [
        f"{'-' if min(own) < 0 else '+'} {name}"
        for name, own in zip(names, scores, strict=True)
        if len(own) > 1
    ]
    return " ".join(moving).removeprefix("+ ") or "the same for all"


def _scores(table: Plain) -> set[int]:
    """All scores that a feature can have."""
    return {*table["places"], *(table[key] for key in ("unknown", "missing") if key in table)}


def _note(table: Plain, known: Sequence[Plain], features: Features) -> str:
    """Scores of a feature; of many cells how they go."""
    name, places = features[table["feature"]].name, table["places"]
    if len(_scores(table)) == 1:
        return f"{name} {places[0]} whatever it is"
    parts = list(_entries(table, known, features, lambda entry: entry))
    if len(parts) <= _MOST_PARTS:
        return f"{name} " + ", ".join(f"{entry} if it {_is(text)}" for text, entry in parts)
    rising = all(one <= other for one, other in pairwise(places))
    falling = all(one >= other for one, other in pairwise(places))
    way = "rising" if rising else "falling" if falling else "from cell to cell"
    others = [f"{entry} if it {text}" for text, entry in parts if text.startswith("is ")]
    return ", ".join([f"{name} {min(places)} to {max(places)} ({way})", *others])


def _is(text: str) -> str:
    return text if text.startswith("is ") else f"is {text}"


def _entries(
    table: Plain, known: Sequence[Plain], features: Features, kind_of: Callable[[int], Any]
) -> Iterator[tuple[str, Any]]:
    """Values of a feature in words, beside each other where their entries are of one kind."""
    feature, own = features[table["feature"]], known[table["feature"]]
    kinds = [kind_of(entry) for entry in table["places"]]
    if isinstance(feature, CategoricalFeature):
        named = [*zip(map(str, own["categories"]), kinds, strict=True)]
        if feature.other is None:
            named.append(("any other", kind_of(table["unknown"])))
        for kind in dict.fromkeys(kind for _, kind in named):
            yield "is " + " or ".join(text for text, of in named if of == kind), kind
    else:
        yield from _ranges(own["edges"], kinds)
    if feature.missing:
        yield "is missing", kind_of(table["missing"])


def _ranges(edges: Sequence[float], places: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Ranges of cells that are of one kind; edges stand between cells."""
    start = 0
    for entry, run in groupby(places):
        end = start + len(list(run))
        low = edges[start - 1] if start else None
        high = edges[end - 1] if end < len(places) else None
        yield _range(low, high), entry
        start = end


def _range(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "is any number"
    if low is None:
        return f"<= {high:.6g}"
    return f"> {low:.6g}" if high is None else f"in ({low:.6g}, {high:.6g}]"
