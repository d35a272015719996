"""Marks that an entry keeps of its draft; they hold no value beyond the entry's own bounds.

An entry that ``Domain.draft`` read off the records counts as declared when somebody names a source
of its own for it. So that this can be told after the file was edited by hand, the draft marks each
entry, and each bound. A mark of a bound that was changed since is dropped as soon as the entry is
read: it would hold an extreme of the table.

Marks of bounds are for the curator alone. That one is left tells that the declared bound
equals the table's extreme, a fact about one record that no budget pays for. So a fit takes the
entries without them (:func:`without_bounds`): nothing that is fitted, stored or reported has more
than that an entry began as a draft, which is so whatever the records are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from pydantic import ConfigDict, SerializerFunctionWrapHandler, model_serializer

from dpforest.exceptions import DomainError
from dpforest.own_names import OwnNames

#: What a draft writes as the source of its entries.
DRAFT_SOURCE = "read from the data by Domain.draft"
#: What it writes as the note of the domain, which goes with the last drafted entry.
DRAFT_NOTE = "Drafted from records: confirm every entry from public knowledge before use."


#: Fields of a mark that no fit takes, so that no report has them.
UNREPORTED_FIELDS = ("far", "identifies")


class DraftMark(OwnNames):
    """Mark of an entry that was drafted, with those of its bounds that are still the draft's.

    Parameters
    ----------
    lower, upper : float, optional
        Equal to the entry's own bound, or None. Not shown by ``repr``: an estimator's own shows
        its domain, and is often printed.
    codes : tuple of str, optional
        Of a column of few whole numbers, which may be codes of categories: these, in order. Dropped
        as soon as the entry is declared.
    far : tuple of str, optional
        Bounds that lie far from all other numbers, and may stand for a missing one. Dropped with
        the mark of the bound, and as soon as the entry is declared.
    identifies : bool, optional
        True of whole numbers that look like an identifier. Dropped as soon as the entry is
        declared.
    """

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    lower: float | None = None
    upper: float | None = None
    codes: tuple[str, ...] | None = None
    far: tuple[Literal["lower", "upper"], ...] | None = None
    identifies: Literal[True] | None = None

    @model_serializer(mode="wrap")
    def _write(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out fields that only a draft has: reports stay as they were."""
        written: dict[str, Any] = handler(self)
        left_out = [name for name in UNREPORTED_FIELDS if written.get(name) is None]
        return {name: value for name, value in written.items() if name not in left_out}

    @property
    def bounds(self) -> tuple[str, ...]:
        """Names of the bounds that are still the draft's."""
        return tuple(name for name in ("lower", "upper") if getattr(self, name) is not None)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Nothing: which bounds are the draft's is asked for by ``Domain.bounds_as_drafted``."""
        return iter(())


def is_own_source(source: str | None) -> bool:
    """Say if a source is named, and is not the draft's own."""
    words = " ".join((source or "").casefold().split())
    return bool(words) and DRAFT_SOURCE.casefold() not in words


def settled(entry: Any) -> dict[str, Any]:
    """Give the values that an entry's fields must have, from its own source and its mark.

    Held by tests/domain/test_confirmation.py: without a source of its own a marked entry, and one
    whose source is the draft's, is drafted, whatever it says of itself; and a mark holds no number
    that is not the entry's own bound.
    """
    changes: dict[str, Any] = {}
    mark = entry.drafted
    from_draft = mark is not None or bool(entry.source and entry.source.strip())
    if entry.status == "declared" and from_draft and not is_own_source(entry.source):
        changes["status"] = "drafted"
    if mark is not None:
        own = {name: getattr(entry, name, None) for name in ("lower", "upper")}
        kept = {name: value for name, value in own.items() if getattr(mark, name) == value}
        drafted = changes.get("status", entry.status) == "drafted" and "lower" in own_fields(entry)
        more = _of_columns(mark, kept) if drafted else {}
        changes["drafted"] = DraftMark(**kept, **more)
    return changes


def _of_columns(mark: DraftMark, kept: Collection[str]) -> dict[str, Any]:
    """Fields of a mark that tell of a whole column, of a drafted entry; of bounds that stand."""
    far = tuple(name for name in mark.far or () if name in kept)
    return {"codes": mark.codes, "far": far or None, "identifies": mark.identifies}


def own_fields(entry: Any) -> Collection[str]:
    """Names of the fields of an entry."""
    return type(entry).model_fields.keys()


def without_bounds(entry: Any) -> Any:
    """The same entry, with no more than the fact that it began as a draft, if it did.

    A copy whether or not a bound was marked: even what the copy is made of must not tell.
    """
    if entry is None or entry.drafted is None:
        return entry
    return entry.model_copy(update={"drafted": DraftMark()})


def checked_sources(names: list[str], drafted: Collection[str], sources: Any) -> Mapping[str, str]:
    """Sources by the name of an entry, as they were given to ``Domain.confirmed``.

    Parameters
    ----------
    names : list of str
        Of all entries; a feature may be called as an output is.
    drafted : collection of str
        Names of those that are not declared.
    sources : mapping of str to str, or None

    Raises
    ------
    DomainError
        With the entry whose source is none.
    """
    if not isinstance(sources, Mapping | None):
        raise DomainError(
            "sources",
            "one source for everything names no entry",
            "Give sources={'age': ..., 'classes': ...}, with an entry's name for each",
        )
    for name, text in (sources or {}).items():
        if name not in names:
            rule, repair = "there is no such entry", "Write a feature's name, 'classes' or 'target'"
        elif names.count(name) > 1:
            rule, repair = "names two entries", "Name sources in the domain's JSON file"
        elif name not in drafted:
            rule, repair = "is declared already", "Leave its source out"
        elif not isinstance(text, str) or not is_own_source(text):
            rule = "its source must be a text, and not the draft"
            repair = "Say where it is documented, without looking at the records"
        else:
            continue
        raise DomainError(str(name), rule, repair)
    return sources or {}
