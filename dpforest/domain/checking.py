"""Checking: what a fit would do to the records of a table, told to the curator.

Nothing here is private, nothing is spent, and nothing of it reaches a fit. Records are dropped by
the encoder's own rules (dpforest/domain/encoder.py), so both always agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.domain.encoder import (
    MISSING_RULE,
    WIDTH_RULE,
    Faults,
    label_codes,
    look_up,
    numbers_of,
    numeric_faults,
    target_faults,
)
from dpforest.domain.facts import PublicFacts
from dpforest.domain.findings import DomainCheck, Effect, Finding, FoundValue
from dpforest.domain.near import NearMiss, NearMisses, near_number
from dpforest.domain.schema import CategoricalFeature, Classes, NumericFeature, NumericTarget
from dpforest.domain.selection import Selection
from dpforest.domain.series import Column, Repeated
from dpforest.domain.table import check_lengths, read_labels, read_table, select_columns
from dpforest.domain.values import CategoryLookup, Meaning, meaning_of, text_of
from dpforest.exceptions import DomainError, ParameterError

_NAME = "Domain.check"
#: Values of a finding that are kept.
_MOST_VALUES = 20
#: Different values for which a guess is made: each is held against all that is declared.
_MOST_GUESSES = 500
_UNKNOWN, _ABSENT = -2, -1

Mask = NDArray[np.bool_]
Guess = Callable[[Any], NearMiss | None]


def check_records(domain: PublicFacts, X: Any, y: Any, task: str | None) -> DomainCheck:
    """Look at every record of a table; see ``Domain.check``."""
    table = read_table(X, n_columns=len(domain.features))
    selection = Selection(table, select_columns(table, domain.feature_names, _NAME))
    selection.check()
    labels = None
    if y is not None:
        task = _task(domain, task)
        labels = read_labels(y, _NAME, check_type=True)
        check_lengths(table, labels)
    keep = np.ones(table.n_rows, dtype=np.bool_)
    found = [one for one in _all_findings(domain, selection, labels, task, keep) if one.records]
    found.sort(key=lambda one: one.effect != "dropped")
    names = [name for name in table.names or () if name not in domain.feature_names]
    ignored = names if table.n_columns > len(domain.features) else []
    return DomainCheck(table.n_rows, int((~keep).sum()), tuple(found), tuple(ignored))


def _task(domain: PublicFacts, task: str | None) -> str:
    if task not in (None, "classification", "regression"):
        raise ParameterError(
            "task", task, "must be 'classification' or 'regression'", "Choose one of them"
        )
    task = task or ("regression" if domain.classes is None else "classification")
    if (domain.classes if task == "classification" else domain.target) is None:
        raise DomainError(
            "classes" if task == "classification" else "target",
            "y was passed, and the domain does not declare what it may hold",
            "Declare classes=[...] or target=(lower, upper)",
        )
    return task


def _all_findings(
    domain: PublicFacts, selection: Selection, labels: Column | None, task: str | None, keep: Mask
) -> Iterator[Finding]:
    """Findings in the order of the domain; ``keep`` is made False where a record is dropped."""
    broken = selection.table.broken
    if broken is not None:
        keep[broken] = False
        yield Finding("X", WIDTH_RULE, "dropped", int(broken.sum()))
    for position, feature in enumerate(domain.features):
        if isinstance(feature, CategoricalFeature):
            yield from _of_categories(selection.repeated(position), feature, keep, broken)
        else:
            yield from _of_numbers(selection.column(position), feature, keep, broken)
    if labels is not None and task == "classification":
        assert domain.classes is not None
        yield from _of_labels(labels, domain.classes, keep)
    elif labels is not None:
        assert domain.target is not None
        yield from _of_targets(labels, domain.target, keep)


def _of_categories(
    column: Repeated, feature: CategoricalFeature, keep: Mask, broken: Mask | None
) -> Iterator[Finding]:
    """Missing and undeclared categories, and numbers that are read as positions."""
    by_name = _codes(column, feature, positions=False)
    codes = _codes(column, feature, positions=not feature.holds_numbers)
    absent = _without(codes == _ABSENT, broken)
    values = _values(column)
    yield _of_missing(feature.name, absent, feature.missing, keep)
    yield _finding(
        feature.name, "a category is not declared", "unknown", codes == _UNKNOWN, values,
        NearMisses(feature.categories).of,
    )  # fmt: skip
    yield _finding(
        feature.name, "a number is read as the position of a category, counted from 0",
        "position", (by_name == _UNKNOWN) & (codes >= 0), values,
        lambda value: NearMiss(feature.categories[_position(meaning_of(value))], ""),
    )  # fmt: skip


def _position(meaning: Meaning) -> int:
    assert isinstance(meaning, float)
    return int(meaning)


def _codes(column: Repeated, feature: CategoricalFeature, positions: bool) -> NDArray[np.int32]:
    """Codes in which an undeclared category is told apart from ``other``."""
    lookup = CategoryLookup(
        feature.categories, unknown=_UNKNOWN, missing=_ABSENT, positions=positions
    )
    codes = look_up(lookup, column.values, _ABSENT)
    return codes if column.places is None else codes[column.places]


def _of_numbers(
    column: Column, feature: NumericFeature, keep: Mask, broken: Mask | None
) -> Iterator[Finding]:
    """Cells without a number, and numbers that are not taken as they are."""
    numbers, unparsable = numbers_of(column)
    faults, absent = numeric_faults(feature, numbers, unparsable)
    listed = _values(Repeated(column))
    yield _of_missing(feature.name, _without(absent, broken), feature.missing, keep)
    yield from _of_faults(feature.name, faults, listed, keep)
    yield from _clipped(feature.name, numbers, feature, listed)
    if feature.integer:
        whole = ~np.isfinite(numbers) | (numbers == np.floor(numbers))
        inside = (numbers >= feature.lower) & (numbers <= feature.upper)
        rule = "a number is not whole, where only whole numbers have a meaning"
        yield _finding(feature.name, rule, "rounded", inside & ~whole, listed, None)


def _of_labels(labels: Column, classes: Classes, keep: Mask) -> Iterator[Finding]:
    """Missing labels, and those that are not declared, by one rule of the encoder."""
    dropped = label_codes(labels, classes) < 0
    keep[dropped] = False
    lookup = CategoryLookup(classes.texts, unknown=_UNKNOWN, missing=_ABSENT)
    absent = dropped & (look_up(lookup, labels, _ABSENT) == _ABSENT)
    yield Finding("y", "a label is missing", "dropped", int(absent.sum()))
    guess = NearMisses(classes.texts).of
    yield _finding("y", "a label is not one of the declared classes", "dropped",
                   dropped & ~absent, _values(Repeated(labels)), guess)  # fmt: skip


def _of_targets(labels: Column, target: NumericTarget, keep: Mask) -> Iterator[Finding]:
    numbers, faults = target_faults(labels)
    listed = _values(Repeated(labels))
    yield from _of_faults("y", faults, listed, keep)
    yield from _clipped("y", numbers, target, listed)


def _of_faults(
    column: str, faults: Faults, values: Callable[[Mask], list[Any]], keep: Mask
) -> Iterator[Finding]:
    """A finding for each rule that drops records, by the encoder's word for it."""
    for rule, broken in faults:
        keep[broken] = False
        if rule != MISSING_RULE or column == "y":
            yield _finding(column, rule, "dropped", broken, values, near_number)


def _of_missing(column: str, absent: Mask, allowed: bool, keep: Mask) -> Finding:
    if allowed:
        return Finding(column, "a value is missing", "missing", int(absent.sum()))
    keep[absent] = False
    return Finding(column, MISSING_RULE, "dropped", int(absent.sum()))


def _clipped(
    column: str,
    numbers: NDArray[np.float64],
    bounds: NumericFeature | NumericTarget,
    values: Callable[[Mask], list[Any]],
) -> Iterator[Finding]:
    finite = np.isfinite(numbers)
    for side, outside, extreme in (
        ("below", finite & (numbers < bounds.lower), np.min),
        ("above", finite & (numbers > bounds.upper), np.max),
    ):
        if outside.any():
            bound = bounds.lower if side == "below" else bounds.upper
            farthest = text_of(float(extreme(numbers[outside])))
            rule = f"a number is {side} {text_of(bound)}; the farthest is {farthest}"
            yield _finding(column, rule, "clipped", outside, values, None)


def _without(mask: Mask, broken: Mask | None) -> Mask:
    """Records of a mask, but for rows that were no rows; those read as rows without values."""
    return mask if broken is None else mask & ~broken


def _values(column: Repeated) -> Callable[[Mask], list[Any]]:
    """Give the values of the records of a mask."""

    def of(mask: Mask) -> list[Any]:
        places: NDArray[np.integer] = np.flatnonzero(mask)
        if column.places is not None:
            # A missing cell has the last place.
            places = column.places[places]
        if isinstance(column.values, np.ndarray):
            return list(column.values[places].tolist())
        return [column.values[place] for place in places]

    return of


def _finding(
    column: str,
    rule: str,
    effect: Effect,
    mask: Mask,
    values: Callable[[Mask], list[Any]],
    guess: Guess | None,
) -> Finding:
    """A finding with its values, those that are near to something declared first."""
    examples: dict[str, Any] = {}
    counts: Counter[str] = Counter()
    for value in values(mask) if mask.any() else []:
        text = _written(value)
        counts[text] += 1
        examples.setdefault(text, value)
    ranked = sorted(counts, key=lambda text: (-counts[text], text))
    tried = ranked[:_MOST_GUESSES]
    guessed = {text: guess(examples[text]) for text in tried} if guess is not None else {}
    ranked.sort(key=lambda text: guessed.get(text) is None)
    found = (FoundValue(text, counts[text], *(guessed.get(text) or ())) for text in
             ranked[:_MOST_VALUES])  # fmt: skip
    more = max(0, len(ranked) - _MOST_VALUES)
    return Finding(column, rule, effect, int(mask.sum()), tuple(found), more)


def _written(value: Any) -> str:
    """A value as Python writes it, without a call of its own methods."""
    if isinstance(value, str):
        return repr(str.__str__(value))
    if isinstance(value, bytes):
        return repr(bytes(value))
    return text_of(value) or f"a {type(value).__name__}"
