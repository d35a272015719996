"""Checking: what a fit would do to the records of a table, told to the curator.

Nothing here is private, nothing is spent, and nothing of it reaches a fit. Records are dropped by
the encoder's own rules (dpforest/domain/codes.py), so both always agree. A table in parts is read
once, one part at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpforest.checks import check_asked_task
from dpforest.display import short_list
from dpforest.domain.codes import (
    INFINITE_RULE,
    MISSING_RULE,
    NUMBER_RULE,
    WIDTH_RULE,
    Faults,
    label_codes,
    look_up,
    numbers_of,
    numeric_faults,
    target_faults,
)
from dpforest.domain.column_names import is_read_by_position, select_columns
from dpforest.domain.facts import PublicFacts
from dpforest.domain.findings import DomainCheck, Effect
from dpforest.domain.labels import check_lengths, read_labels
from dpforest.domain.near import NearMiss, NearMisses, near_gap, near_number
from dpforest.domain.opening import read_table
from dpforest.domain.parts import is_in_parts
from dpforest.domain.reading import placed, quietly
from dpforest.domain.schema import CategoricalFeature, Classes, NumericFeature, NumericTarget
from dpforest.domain.selection import Selection
from dpforest.domain.series import Column, Repeated
from dpforest.domain.table import Table
from dpforest.domain.tallies import Guess, Seen, Tallies
from dpforest.domain.values import CategoryLookup, Meaning, meaning_of, text_of
from dpforest.exceptions import DomainError, ParameterError, kind_of

_NAME = "Domain.check"
_UNKNOWN, _ABSENT = -2, -1

Mask = NDArray[np.bool_]
Values = Callable[[Mask], list[Any]]


@quietly
def check_records(domain: PublicFacts, X: Any, y: Any, task: str | None) -> DomainCheck:
    """Look at every record of a table; see ``Domain.check``."""
    check_asked_task(task)
    look = _Look(domain, task)
    if not is_in_parts(X):
        look.at(X, y)
        return look.found()
    if y is not None:
        raise ParameterError(
            "y", kind_of(y), "must be left out where X is a stream, which has its labels",
            "Leave y out",
        )  # fmt: skip
    X.check(domain.feature_names)
    for _, names in X.columns():
        look.names |= dict.fromkeys(names or ())
    target = getattr(X, "target", None)
    if target is not None:
        look.names.pop(target, None)
    for part in X.batches_of(domain.feature_names):
        look.reads(part.y)
        with placed(part.place):
            look.at(part.X, part.y)
    found = look.found()
    return replace(found, lines_left_out=X.left_out(found.records))


class _Look:
    """Counts of a table so far."""

    def __init__(self, domain: PublicFacts, task: str | None) -> None:
        self._domain, self._task = domain, task
        self._tallies = Tallies()
        self._records = self._dropped = 0
        self._by_position = ""
        self._other_order = self._has_labels = False
        #: Columns, whether they are declared or not, in their order.
        self.names: dict[str, None] = {}

    def reads(self, y: Any) -> str | None:
        """The task by which labels are read; refused where the domain does not declare them."""
        return None if y is None else _task(self._domain, self._task)

    def at(self, X: Any, y: Any) -> None:
        """Look at the whole table, or at one more part of it."""
        domain = self._domain
        table = read_table(X, domain.feature_names)
        selection = Selection(table, select_columns(table, domain.feature_names, _NAME))
        selection.check()
        labels, task = None, None
        if y is not None:
            task = self.reads(y)
            labels = read_labels(y, _NAME, check=True)
            self._has_labels = True
            check_lengths(table, labels)
            self._other_order |= _in_other_order(X, y)
        self._by_position = _by_position(table, domain.feature_names)
        keep = np.ones(table.n_rows, dtype=np.bool_)
        for seen in _all_seen(domain, selection, labels, task, keep):
            self._tallies.add(seen)
        self._records += table.n_rows
        self._dropped += int((~keep).sum())
        if table.n_columns > len(domain.features):
            self.names |= dict.fromkeys(table.names or ())

    def found(self) -> DomainCheck:
        """The account of all parts."""
        declared = set(self._domain.feature_names)
        ignored = tuple(name for name in self.names if name not in declared)
        return DomainCheck(
            self._records, self._dropped, self._tallies.findings(), ignored,
            by_position=self._by_position, labels_in_other_order=self._other_order,
            labels_checked=self._has_labels,
        )  # fmt: skip


def _in_other_order(X: Any, y: Any) -> bool:
    """Say if pandas' labels name the rows that records name, in another order: a slip, mostly."""
    pandas = sys.modules.get("pandas")
    kinds = () if pandas is None else (pandas.DataFrame, pandas.Series)
    if not all(issubclass(type(one), kinds) for one in (X, y)):
        return False
    own, other = X.index, y.index
    if not all(_is_plain_index(index, pandas) for index in (own, other)) or own.equals(other):
        return False
    return bool(own.is_unique and own.isin(other).all())


def _is_plain_index(index: Any, pandas: Any) -> bool:
    """Say if names of rows are whole numbers or texts, which compare without surprise."""
    dtype = index.dtype
    if getattr(dtype, "kind", "") == "O":  # what texts are before pandas 3
        return all(type(name) is str for name in index)
    return isinstance(dtype, pandas.StringDtype) or getattr(dtype, "kind", "") in ("i", "u")


def _by_position(table: Table, names: Sequence[str]) -> str:
    """Words on which column is read as which feature, where places alone count."""
    if not is_read_by_position(table, names):
        return ""
    pairs = zip(table.names or (), names, strict=True)
    read = short_list([f"{own} as {name}" for own, name in pairs])
    return f"no column has a declared name, so columns are read by position: {read}"


def _task(domain: PublicFacts, task: str | None) -> str:
    task = task or ("regression" if domain.classes is None else "classification")
    if (domain.classes if task == "classification" else domain.target) is None:
        raise DomainError(
            "classes" if task == "classification" else "target",
            "there are labels, and the domain does not declare what they may be",
            "Declare classes=[...] or target=(lower, upper)",
        )
    return task


class _Place(NamedTuple):
    """A column, as findings name it: -1 is a whole row, and labels come after all features."""

    number: int
    name: str

    def seen(
        self,
        rule: str,
        effect: Effect,
        mask: Mask,
        values: Values | None = None,
        guess: Guess | None = None,
    ) -> Seen:
        """Count the records of a mask, for a rule."""
        n_records = int(mask.sum())
        listed = values(mask) if values is not None and n_records else ()
        return Seen(self.number, self.name, rule, effect, n_records, listed, guess)


def _all_seen(
    domain: PublicFacts, selection: Selection, labels: Column | None, task: str | None, keep: Mask
) -> Iterator[Seen]:
    """Findings of a part, in the order of the domain.

    ``keep`` is made False where a record is dropped. Rules that no record meets are named too:
    their order must not depend on the part.
    """
    broken = selection.table.broken
    if broken is not None:
        keep[broken] = False
    none = np.zeros(0, dtype=np.bool_)
    yield _Place(-1, "X").seen(WIDTH_RULE, "dropped", none if broken is None else broken)
    for position, feature in enumerate(domain.features):
        place = _Place(position, feature.name)
        if isinstance(feature, CategoricalFeature):
            yield from _of_categories(place, selection.repeated(position), feature, keep, broken)
        else:
            yield from _of_numbers(place, selection.column(position), feature, keep, broken)
    place = _Place(len(domain.features), "y")
    if labels is not None and task == "classification":
        assert domain.classes is not None
        yield from _of_labels(place, labels, domain.classes, keep)
    elif labels is not None:
        assert domain.target is not None
        yield from _of_targets(place, labels, domain.target, keep)


def _of_categories(
    place: _Place, column: Repeated, feature: CategoricalFeature, keep: Mask, broken: Mask | None
) -> Iterator[Seen]:
    """Missing and undeclared categories, and numbers that are read as positions."""
    by_name = _codes(column, feature, positions=False)
    codes = _codes(column, feature, positions=not feature.holds_numbers)
    absent = _without(codes == _ABSENT, broken)
    values = _values(column)
    yield _of_missing(place, absent, feature.missing, keep)
    yield place.seen(
        "a category is not declared", "unknown", codes == _UNKNOWN, values,
        _near_misses(tuple(feature.categories)).of,
    )  # fmt: skip
    yield place.seen(
        "a number is read as the position of a category, counted from 0",
        "position", (by_name == _UNKNOWN) & (codes >= 0), values,
        lambda value: NearMiss(feature.categories[_position(meaning_of(value))], ""),
    )  # fmt: skip


#: Made once for all parts of a table.
_near_misses = lru_cache(maxsize=64)(NearMisses)


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
    place: _Place, column: Column, feature: NumericFeature, keep: Mask, broken: Mask | None
) -> Iterator[Seen]:
    """Cells without a number, and numbers that are not taken as they are."""
    numbers, unparsable = numbers_of(column)
    faults, absent = numeric_faults(feature, numbers, unparsable)
    listed = _values(Repeated(column))
    yield _of_missing(place, _without(absent, broken), feature.missing, keep)
    guess = partial(near_number, lower=feature.lower, upper=feature.upper)
    yield from _of_faults(place, faults, (NUMBER_RULE, INFINITE_RULE), listed, keep, guess)
    yield from _clipped(place, numbers, feature, listed)
    if feature.integer:
        whole = ~np.isfinite(numbers) | (numbers == np.floor(numbers))
        inside = (numbers >= feature.lower) & (numbers <= feature.upper)
        rule = "a number is not whole, where only whole numbers have a meaning"
        yield place.seen(rule, "rounded", inside & ~whole, listed)


def _of_labels(place: _Place, labels: Column, classes: Classes, keep: Mask) -> Iterator[Seen]:
    """Missing labels, and those that are not declared, by one rule of the encoder."""
    dropped = label_codes(labels, classes) < 0
    keep[dropped] = False
    lookup = CategoryLookup(classes.texts, unknown=_UNKNOWN, missing=_ABSENT)
    absent = dropped & (look_up(lookup, labels, _ABSENT) == _ABSENT)
    yield place.seen("a label is missing", "dropped", absent)
    guess = _near_misses(tuple(classes.texts)).of
    yield place.seen("a label is not one of the declared classes", "dropped",
                     dropped & ~absent, _values(Repeated(labels)), guess)  # fmt: skip


def _of_targets(place: _Place, labels: Column, target: NumericTarget, keep: Mask) -> Iterator[Seen]:
    numbers, faults = target_faults(labels)
    listed = _values(Repeated(labels))
    rules = (NUMBER_RULE, INFINITE_RULE, MISSING_RULE)
    guess = partial(near_number, lower=target.lower, upper=target.upper)
    yield from _of_faults(place, faults, rules, listed, keep, guess)
    yield from _clipped(place, numbers, target, listed)


def _of_faults(
    place: _Place, faults: Faults, told: Sequence[str], values: Values, keep: Mask, guess: Guess
) -> Iterator[Seen]:
    """Drop what breaks a rule, and name each rule that is told by the encoder's word for it."""
    for _, broken in faults:
        keep[broken] = False
    found, none = dict(faults), np.zeros(0, dtype=np.bool_)
    for rule in told:
        yield place.seen(rule, "dropped", found.get(rule, none), values, guess)


def _of_missing(place: _Place, absent: Mask, allowed: bool, keep: Mask) -> Seen:
    if allowed:
        return place.seen("a value is missing", "missing", absent)
    keep[absent] = False
    return place.seen(MISSING_RULE, "dropped", absent)


def _clipped(
    place: _Place,
    numbers: NDArray[np.float64],
    bounds: NumericFeature | NumericTarget,
    values: Values,
) -> Iterator[Seen]:
    finite = np.isfinite(numbers)
    below, above = finite & (numbers < bounds.lower), finite & (numbers > bounds.upper)
    for side, bound, outside, extreme in (
        ("below", bounds.lower, below, np.min),
        ("above", bounds.upper, above, np.max),
    ):
        seen = place.seen(
            f"a number is {side} {text_of(bound)}", "clipped", outside, values, near_gap
        )
        farthest = float(extreme(numbers[outside])) if seen.records else None
        yield seen._replace(farthest=farthest, extreme=extreme)


def _without(mask: Mask, broken: Mask | None) -> Mask:
    """Records of a mask, but for rows that were no rows; those read as rows without values."""
    return mask if broken is None else mask & ~broken


def _values(column: Repeated) -> Values:
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
