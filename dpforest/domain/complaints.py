"""Translation of pydantic's complaints about public facts into our words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from dpforest.display import page_of_docs
from dpforest.exceptions import DomainError

_CHECK = f"Compare the entry with {page_of_docs('domain.md')}"
_DECLARE = f"Declare it; see {page_of_docs('domain.md')}"
#: Rules by pydantic's name of a complaint.
_RULES = {
    "bool_parsing": "must be True or False",
    "bool_type": "must be True or False",
    "finite_number": "must be a finite number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "greater_than_equal": "must be {ge} or more",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "int_type": "must be a whole number",
    "less_than_equal": "must be {le} or less",
    "literal_error": "must be {expected}",
    "model_attributes_type": "must be a feature: 'name', 'kind', and 'lower' and 'upper' or "
    "'categories'",
    "string_too_short": "must not be empty",
    "string_type": "must be a text",
    "string_unicode": "must be a text of whole characters",
    "too_long": "has more than {max_length}",
    "too_short": "needs {min_length} or more",
    "tuple_type": "must be a list",
    "union_tag_invalid": "must have one of these as its kind: {expected_tags}",
    "union_tag_not_found": "needs a kind: 'numeric' or 'categorical'",
    "value_error": "{error}",
}
#: Rules of entries that may be written in a shorter way than pydantic's type of them.
_OF_ENTRIES = {
    "features": "must be a mapping of names to (lower, upper) or to categories, or a list of "
    "features",
    "target": "must be a pair (lower, upper), or a mapping with 'lower' and 'upper'",
}
_OF_A_TYPE = ("model_type", "tuple_type")
#: Parts of a place that nobody wrote: they name the kind of a feature, or of a label.
_KINDS, _LABELS = ("numeric", "categorical"), ("str", "bool", "int", "float")
#: What only one kind of feature has.
_OWN_FIELDS = {"numeric": ("lower", "upper", "integer"), "categorical": ("categories",)}


def domain_error(
    error: ValidationError, data: Mapping[str, Any], fields: Iterable[str]
) -> DomainError:
    """Turn one complaint into ours, keeping a nested `DomainError` whole.

    A word that is no field comes first: what it should have been may be missed too.

    Parameters
    ----------
    error : ValidationError
    data : mapping
        What was given.
    fields : iterable of str
        Names that entries of a domain may have.
    """
    found = error.errors(include_url=False)
    unknown = [one for one in found if one["type"] == "extra_forbidden"]
    first = (unknown or found)[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, DomainError):
        return cause
    where = ".".join(_written(first["loc"], bool(unknown)))
    name = data.get("name")
    entry = ".".join(part for part in (name if isinstance(name, str) else "", where) if part)
    other = _other_kind(str(first["loc"][-1]), data.get("kind"))
    if unknown and other:
        return DomainError(entry, f"{other} has no such field", "Remove it")
    if unknown and _is_of_an_entry(first["loc"], name):
        rule = "is a field of one feature, not of the domain"
        return DomainError(entry, rule, f"Write it there: {{..., {entry!r}: ...}}")
    if unknown:
        return DomainError(entry, "there is no such field", _meant(str(first["loc"][-1]), fields))
    if first["type"] == "missing":
        return DomainError(entry or "domain", "is needed", _DECLARE)
    return DomainError(entry or "domain", _rule(first), _CHECK)


def _written(place: tuple[int | str, ...], unknown: bool) -> list[str]:
    """Parts of a place that somebody wrote: a word that is no field is one, whatever it is."""
    *above, last = place
    written = [str(part) for part in above if part not in _KINDS]
    if unknown or last not in (*_KINDS, *_LABELS):
        written.append(str(last))
    return written


def _is_of_an_entry(place: tuple[int | str, ...], name: Any) -> bool:
    """Say if a field that stands beside the features is one that each of them has."""
    own = {"missing", *(field for fields in _OWN_FIELDS.values() for field in fields)}
    return len(place) == 1 and not name and place[0] in own


#: Names that other libraries have for fields.
_SYNONYMS = {
    "min": "lower", "minimum": "lower", "low": "lower", "max": "upper", "maximum": "upper",
    "high": "upper", "values": "categories", "levels": "categories", "nullable": "missing",
    "int": "integer",
}  # fmt: skip
_BOTH_BOUNDS = ("bounds", "range", "limits", "interval")


def plain_rule(complaint: Mapping[str, Any]) -> str:
    """The rule of a complaint in our words; empty for a kind that another pydantic has."""
    try:
        return _RULES[complaint["type"]].format(**complaint.get("ctx", {}))
    except KeyError:
        return ""


def _rule(complaint: Mapping[str, Any]) -> str:
    """The rule that was broken, in our words where pydantic's speak of its own types."""
    entry, kind = complaint["loc"][-1], complaint["type"]
    if entry in _LABELS:
        return "must be a text, a number or a boolean"
    if kind in _OF_A_TYPE and entry in _OF_ENTRIES:
        return _OF_ENTRIES[entry]
    return plain_rule(complaint) or "has not the form of such an entry"


def _other_kind(field: str, kind: Any) -> str:
    """The kind of a feature that was given a field of the other kind; empty otherwise."""
    other = any(field in own for one, own in _OWN_FIELDS.items() if one != kind)
    return f"a {kind} feature" if kind in _KINDS and other else ""


def _meant(word: str, fields: Iterable[str]) -> str:
    """Suggest the field that a misspelt word may mean."""
    known = sorted(set(fields))
    if word in _BOTH_BOUNDS and "lower" in known:
        return "Write 'lower' and 'upper'"
    close = likely_field(word, known)
    return f"Write {close!r}" if close else f"There are {', '.join(known)}"


def likely_field(word: str, fields: Iterable[str]) -> str:
    """The field that a word is another name or a misspelling of; empty if there is none."""
    close = [_SYNONYMS[word]] if word in _SYNONYMS else get_close_matches(word, fields, n=1)
    return "".join(close)
