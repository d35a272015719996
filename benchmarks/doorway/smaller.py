"""From a pair that shows a fault to the smallest that was found to show it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from doorway.answers import Answer, Case, NotMade, judged
from doorway.tables import Pair
from doorway.values import shown
from dpforest.domain import Domain, DomainEncoder

#: Pairs that are tried for one example.
MOST_TRIES = 150
_SIMPLE = (1, 0.5, "x", None)

Signature = tuple[Any, ...]


def signature_of(fault: str | None, answers: tuple[Answer, Answer]) -> Signature:
    """By what faults are told apart: the kind, and stages and classes of errors."""
    errors = tuple(answer.error[:2] if answer.error else ("", "") for answer in answers)
    return fault or "", *errors[0], *errors[1]


def smallest(case: Case, pair: Pair, wanted: Signature, folder: Path) -> Pair:
    """The pair without what its fault can do without."""
    tries = 0
    changed = True
    while changed and tries < MOST_TRIES:
        changed = False
        for candidate in _simpler(pair):
            tries += 1
            if tries > MOST_TRIES:
                break
            if _shows(case, candidate, wanted, folder):
                pair, changed = candidate, True
                break
    return pair


def _shows(case: Case, pair: Pair, wanted: Signature, folder: Path) -> bool:
    try:
        return signature_of(*judged(case, pair, folder)) == wanted
    except NotMade:
        return False


def _simpler(pair: Pair) -> Iterator[Pair]:
    """Pairs with one thing less, the largest steps first."""
    n = len(pair.rows)
    if n > 1:
        yield _with_rows(pair, range(n // 2))
        yield _with_rows(pair, range(n // 2, n))
    if pair.cuts:
        yield dataclasses.replace(pair, cuts=())
    is_row = isinstance(pair.row, tuple) and len(pair.row) == pair.encoder.domain.n_features
    for place in range(pair.encoder.domain.n_features if is_row else 0):
        if pair.encoder.domain.n_features > 1:
            yield _without_column(pair, place)
    if n <= 8:
        for place in range(n):
            yield _with_rows(pair, [k for k in range(n) if k != place])
    yield from _simpler_cells(pair, is_row)


def _simpler_cells(pair: Pair, is_row: bool) -> Iterator[Pair]:
    known = pair.encoder.domain.classes
    label = known.labels[0] if known else 0.5
    if any(one is not label for one in [*pair.labels, pair.label]):
        yield dataclasses.replace(pair, labels=[label] * len(pair.labels), label=label)
        yield dataclasses.replace(pair, label=label)
        yield dataclasses.replace(pair, labels=[label] * len(pair.labels))
    for place in range(pair.encoder.domain.n_features if is_row else 0):
        column = [row[place] for row in pair.rows]
        for simple in _SIMPLE:
            if not _is_plain(pair.row[place]):
                yield dataclasses.replace(pair, row=_put(pair.row, place, simple))
            if not all(map(_is_plain, column)):
                rows = [_put(row, place, simple) for row in pair.rows]
                yield dataclasses.replace(pair, rows=rows)


def _is_plain(value: Any) -> bool:
    return any(value is simple for simple in _SIMPLE)


def _put(row: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*row[:place], value, *row[place + 1 :])


def _with_rows(pair: Pair, kept: Any) -> Pair:
    kept = list(kept)
    return dataclasses.replace(
        pair,
        rows=[pair.rows[k] for k in kept],
        labels=[pair.labels[k] for k in kept],
        place=sum(k < pair.place for k in kept),
        cuts=tuple(sum(k < cut for k in kept) for cut in pair.cuts),
    )


def _without_column(pair: Pair, place: int) -> Pair:
    domain, without = pair.encoder.domain, _without(place)
    features = without(domain.features)
    encoder = DomainEncoder(
        Domain(features=features, classes=domain.classes, target=domain.target),
        thresholds=pair.encoder.thresholds,
        task=pair.encoder.task,
    )
    return dataclasses.replace(
        pair, encoder=encoder, rows=list(map(without, pair.rows)), row=without(pair.row)
    )


def _without(place: int) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    return lambda row: row[:place] + row[place + 1 :]


def described(pair: Pair, answers: tuple[Answer, Answer]) -> dict[str, Any]:
    """A pair in words, for the page of results."""
    domain = pair.encoder.domain
    labels = domain.classes.labels if domain.classes else None
    return {
        "domain": [_feature(feature) for feature in domain.features],
        "labels": [shown(label) for label in labels[:6]] if labels else "numbers",
        "records": [_record(row, y) for row, y in zip(pair.rows[:6], pair.labels, strict=False)],
        "more": max(0, len(pair.rows) - 6),
        "record": _record(pair.row, pair.label),
        "place": pair.place,
        "cuts": list(pair.cuts),
        "without": _said(answers[0]),
        "with": _said(answers[1]),
    }


def _record(row: Any, label: Any) -> str:
    cells = ", ".join(map(shown, row)) if isinstance(row, tuple) else f"row {shown(row)}"
    return f"{cells} → {shown(label)}"


def _feature(feature: Any) -> str:
    if feature.kind == "categorical":
        text = "one of " + ", ".join(map(repr, feature.categories[:4]))
    else:
        text = f"{'whole ' if feature.integer else ''}{feature.lower:g} to {feature.upper:g}"
    return text + (", or missing" if feature.missing else "")


def _said(answer: Answer) -> str:
    if answer.error is not None:
        stage, name, text = answer.error
        return f"{name} at {stage}: {text[:160]}"
    warned = "".join(f"; {name}: {text[:80]}" for name, text in answer.warned)
    return f"{len(answer.records)} records kept{warned}"
