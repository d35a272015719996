"""DomainDiff: what changed from one domain to another, entry by entry and field by field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dpforest.display import Grid, Page, Shown, count_text

#: Stands where a field or an entry is absent.
ABSENT = "–"
_OF_A_DRAFT = (
    "For the curator's eyes alone. One of the domains is a draft, which was read off the records: "
    "no budget pays for what it holds."
)
#: Fields that hold lists: told by what came and went.
_LISTS = {"categories": "category", "labels": "label"}


@dataclass(frozen=True, slots=True)
class DomainChange:
    """One field that differs.

    Attributes
    ----------
    entry : str
        A feature's name, ``"classes"``, ``"target"``, or ``"domain"`` for facts about the whole.
    field : str
        Name of the field; ``"feature"`` where a whole feature is new or gone.
    before, after : str
        Values as text; a dash where there is none. Of a list, what is gone and what is new.
    """

    entry: str
    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class DomainDiff(Shown):
    """Differences from one domain to another.

    Marks of a draft's bounds are left out, so it tells no more than both domains as a fit takes
    them (:meth:`~dpforest.Domain.without_marks`).

    Attributes
    ----------
    changes : tuple of DomainChange
        Facts about the whole first, then features in their order, then classes and target.
    for_the_curator_alone : bool
        Whether one of the domains is not declared: what a draft holds was read off the records.
    """

    changes: tuple[DomainChange, ...]
    for_the_curator_alone: bool = False

    @property
    def same(self) -> bool:
        """True if nothing differs."""
        return not self.changes

    def of(self, entry: str) -> tuple[DomainChange, ...]:
        """The changes of one entry."""
        return tuple(change for change in self.changes if change.entry == entry)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data, ready for JSON."""
        return {"same": self.same, **asdict(self)}

    def _page(self) -> Page:
        warning = _OF_A_DRAFT if self.for_the_curator_alone else ""
        if self.same:
            return Page((warning, "The domains say the same."))
        rows = tuple((one.entry, one.field, one.before, one.after) for one in self.changes)
        entries = count_text(len({one.entry for one in self.changes}), "entry", "entries")
        head = f"{count_text(len(rows), 'field')} of {entries} {_differ(len(rows))}."
        return Page((warning, head, Grid(("entry", "field", "before", "after"), rows)))


def _differ(number: int) -> str:
    return "differs" if number == 1 else "differ"


def compare_domains(first: Mapping[str, Any], second: Mapping[str, Any]) -> DomainDiff:
    """Compare two domains as plain data without marks; see ``Domain.diff``."""
    changes = [*_of_whole(first, second), *_of_features(first, second)]
    for entry in ("classes", "target"):
        one, other = first.get(entry), second.get(entry)
        if one is None or other is None:
            changes += _came_or_went(entry, entry, one, other)
        else:
            changes += _of_entry(entry, one, other)
    return DomainDiff(tuple(changes))


def _of_whole(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[DomainChange]:
    for field in ("name", "approximate_rows", "note"):
        yield from _of_field("domain", field, first.get(field), second.get(field))
    common = set(_named(first)) & set(_named(second))
    orders = [[name for name in _named(one) if name in common] for one in (first, second)]
    if orders[0] != orders[1]:
        yield DomainChange("domain", "order of features", *map(", ".join, orders))


def _of_features(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[DomainChange]:
    one, other = _named(first), _named(second)
    for name in dict.fromkeys([*one, *other]):
        if name not in one or name not in other:
            yield from _came_or_went(name, "feature", one.get(name), other.get(name))
        else:
            yield from _of_entry(name, one[name], other[name])


def _named(facts: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {feature["name"]: feature for feature in facts["features"]}


def _came_or_went(entry: str, field: str, one: Any, other: Any) -> Iterator[DomainChange]:
    if one is not other:
        yield DomainChange(entry, field, _entry_text(one), _entry_text(other))


def _of_entry(
    entry: str, one: Mapping[str, Any], other: Mapping[str, Any]
) -> Iterator[DomainChange]:
    for field in dict.fromkeys([*one, *other]):
        before, after = one.get(field), other.get(field)
        if field == "drafted":
            before, after = before is not None, after is not None
            yield from _of_field(entry, "began as a draft", before, after)
        elif field in _LISTS and before is not None and after is not None:
            yield from _of_list(entry, field, before, after)
        else:
            yield from _of_field(entry, field, before, after)


def _of_list(entry: str, field: str, before: list[Any], after: list[Any]) -> Iterator[DomainChange]:
    """Members that came and went, and whether the others stand in another order."""
    texts = [list(map(_text, values)) for values in (before, after)]
    gone = [text for text in texts[0] if text not in set(texts[1])]
    new = [text for text in texts[1] if text not in set(texts[0])]
    if gone or new:
        yield DomainChange(entry, field, _members(gone), _members(new))
    left = [[text for text in own if text not in {*gone, *new}] for own in texts]
    if left[0] != left[1]:
        yield DomainChange(entry, f"order of {field}", *map(_members, left))


def _members(texts: list[str]) -> str:
    return ", ".join(texts) or ABSENT


def _of_field(entry: str, field: str, before: Any, after: Any) -> Iterator[DomainChange]:
    if type(before) is not type(after) or before != after:
        yield DomainChange(entry, field, _text(before), _text(after))


def _entry_text(facts: Mapping[str, Any] | None) -> str:
    """An entry in short."""
    if facts is None:
        return ABSENT
    for field, noun in _LISTS.items():
        if field in facts:
            return count_text(len(facts[field]), noun, field)
    kind = "whole numbers" if facts.get("integer") else "numbers"
    return f"{kind} from {_text(facts['lower'])} to {_text(facts['upper'])}"


def _text(value: Any) -> str:
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)
