"""A domain as a page that people read: one row an entry, by who declares it and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from dpforest.display import Grid, Page, count_text, short_list
from dpforest.domain.schema import (
    CategoricalFeature,
    Classes,
    Declaration,
    NumericFeature,
    NumericTarget,
)
from dpforest.domain.values import text_of

#: More features than this fill no screen.
_MOST_ROWS = 60
_COLUMNS = ("entry", "kind", "holds", "missing", "declared by", "source", "status")


class Declared(Protocol):
    """The facts of a domain."""

    @property
    def name(self) -> str | None: ...
    @property
    def note(self) -> str | None: ...
    @property
    def approximate_rows(self) -> int | None: ...
    @property
    def features(self) -> tuple[NumericFeature | CategoricalFeature, ...]: ...
    @property
    def classes(self) -> Classes | None: ...
    @property
    def target(self) -> NumericTarget | None: ...
    @property
    def may_be_codes(self) -> dict[str, tuple[str, ...]]: ...
    @property
    def doubts(self) -> dict[str, str]: ...
    @property
    def lacking(self) -> tuple[tuple[str, str], ...]: ...


def domain_page(domain: Declared) -> Page:
    """A domain as text and a table; marks of a draft's bounds are not shown."""
    outputs = [("classes", domain.classes), ("target", domain.target)]
    entries: list[tuple[str, Declaration]] = [(f.name, f) for f in domain.features[:_MOST_ROWS]]
    entries += [(name, entry) for name, entry in outputs if entry is not None]
    rows = [_row(name, entry) for name, entry in entries]
    # A column that says nothing of any entry is left out.
    told = [place for place, _ in enumerate(_COLUMNS)
            if place < 3 or any(row[place] for row in rows)]  # fmt: skip
    return Page((
        _head(domain),
        Grid(tuple(_COLUMNS[p] for p in told), tuple(tuple(row[p] for p in told) for row in rows)),
        _rest(domain),
        domain.note or "",
        _codes(domain),
        _doubts(domain),
        _lacking(domain),
    ))  # fmt: skip


def _head(domain: Declared) -> str:
    rows = domain.approximate_rows
    about = f", about {count_text(rows, 'record')}" if rows is not None else ""
    name = f" {domain.name}" if domain.name else ""
    return f"Domain{name}: {count_text(len(domain.features), 'feature')}{about}"


def _rest(domain: Declared) -> str:
    more = len(domain.features) - _MOST_ROWS
    return f"and {count_text(more, 'more feature')}" if more > 0 else ""


def _codes(domain: Declared) -> str:
    """Columns that may be numbers or categories, with both ways to read them."""
    codes = domain.may_be_codes
    if not codes:
        return ""
    listed = "; ".join(f"{name} ({', '.join(values)})" for name, values in codes.items())
    names = ", ".join(map(repr, codes))
    return (
        f"Read as numbers, but these few whole numbers may be codes of categories: {listed}. Where "
        "more means more, such as rooms, leave them. Where they only name something, such as a "
        f"region, read them as categories: domain.with_categories({names})."
    )


def _doubts(domain: Declared) -> str:
    """Lines on what may be meant otherwise than a draft has it."""
    return "\n".join(f"{name}: {words}" for name, words in domain.doubts.items())


def _lacking(domain: Declared) -> str:
    if not domain.lacking:
        return ""
    names = short_list([name for name, _ in domain.lacking])
    return (
        f"Not declared yet: {names}. A fit that uses a drafted entry has no guarantee; see "
        "Domain.confirmed and domain.lacking."
    )


def _row(name: str, entry: Any) -> tuple[str, ...]:
    missing = "a value" if getattr(entry, "missing", False) else ""
    status = "" if entry.status == "declared" else entry.status
    return (name, _kind(entry), "; ".join(_holds(entry)), missing, entry.declared_by or "",
            entry.source or "", status)  # fmt: skip


def _kind(entry: Any) -> str:
    if isinstance(entry, NumericFeature):
        return "integer" if entry.integer else "number"
    if isinstance(entry, NumericTarget):
        return "number"
    return "categories" if isinstance(entry, CategoricalFeature) else "labels"


def _holds(entry: Any) -> Iterator[str]:
    if isinstance(entry, NumericFeature | NumericTarget):
        yield f"{text_of(entry.lower)} to {text_of(entry.upper)}"
    elif isinstance(entry, CategoricalFeature):
        yield short_list(entry.categories)
        if entry.other is not None:
            yield f"others count as {entry.other}"
    else:
        yield short_list(entry.texts)
