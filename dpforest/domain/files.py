"""Domains as JSON: our own format, and the metadata files of public benchmark tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any, Literal

from dpforest.display import page_of_docs
from dpforest.domain.schema import (
    CategoricalFeature,
    Classes,
    NumericFeature,
    NumericTarget,
)
from dpforest.exceptions import DomainError
from dpforest.strict_json import read_object

FORMAT = "dpforest-domain"
VERSION = 1


def written_domain(fields: Mapping[str, Any]) -> str:
    """A domain's fields, as JSON can hold them, in indented JSON text."""
    facts: dict[str, Any] = {"format": FORMAT, "version": VERSION, **fields}
    facts["features"] = [_name_first(feature) for feature in facts["features"]]
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"


def _name_first(feature: dict[str, Any]) -> dict[str, Any]:
    """The same fields, with what a reader looks for at the top and the declaration below."""
    declaration = ("source", "declared_by", "status", "drafted")
    first = {key: feature[key] for key in ("name", "kind")}
    last = {key: feature[key] for key in declaration if key in feature}
    return first | {k: v for k, v in feature.items() if k not in declaration} | last


def read_facts(
    path_or_text: str | PathLike[str], *, missing: Literal["all", "none"]
) -> dict[str, Any]:
    """Fields of the domain that a file or text holds; see ``Domain.from_json``."""
    if missing not in ("all", "none"):
        raise DomainError("missing", "must be 'all' or 'none'", "Choose one of them")
    facts = read_object(path_or_text, _unreadable)
    if "format" in facts:
        return _from_own(facts)
    if "columns" in facts:
        return _from_benchmark(facts, missing == "all")
    raise DomainError(
        "format",
        f"must be {FORMAT!r}, or the file must have 'columns'",
        "Write domains with Domain.to_json",
    )


def _unreadable(rule: str) -> DomainError:
    return DomainError("file", rule, "Give the path of a domain's JSON file, or its text")


def _from_own(facts: Mapping[str, Any]) -> dict[str, Any]:
    rest = dict(facts)
    if rest.pop("format") != FORMAT:
        raise DomainError("format", f"must be {FORMAT!r}", "Write domains with Domain.to_json")
    if rest.pop("version", None) != VERSION:
        raise DomainError("version", f"must be {VERSION}", "Read it with the release that wrote it")
    return rest


def _from_benchmark(facts: Mapping[str, Any], missing: bool) -> dict[str, Any]:
    """Metadata with ``columns``, ``classes`` or ``target_bounds``, and ``domain_source``.

    Row counts and class counts in such a file were taken from the records: they are not read.
    """
    source = facts.get("domain_source")
    labels, bounds = facts.get("classes"), facts.get("target_bounds")
    return {
        "name": facts.get("name"),
        "features": tuple(
            _benchmark_feature(place, column, source, missing)
            for place, column in enumerate(_list_of(facts, "columns"))
        ),
        "classes": Classes(labels=tuple(_list_of(facts, "classes")), source=source)
        if labels is not None
        else None,
        "target": NumericTarget(**_bounds_of("target_bounds", bounds), source=source)
        if bounds is not None
        else None,
        "note": facts.get("source"),
    }


def _benchmark_feature(
    place: int, column: Any, source: str | None, missing: bool
) -> NumericFeature | CategoricalFeature:
    if not isinstance(column, Mapping) or not isinstance(column.get("name"), str):
        raise _malformed(f"columns[{place}]", "must be an object with a name")
    name, kind = column["name"], column.get("kind")
    if kind == "categorical":
        categories = tuple(_list_of(column, "categories", name))
        return CategoricalFeature(name=name, categories=categories, missing=missing, source=source)
    if kind in ("integer", "numeric"):
        return NumericFeature(
            name=name,
            **_bounds_of(name, column.get("bounds")),
            integer=kind == "integer",
            missing=missing,
            source=source,
        )
    raise DomainError(
        name, "kind must be 'integer', 'numeric' or 'categorical'", "Correct the kind"
    )


def _list_of(facts: Mapping[str, Any], key: str, owner: str = "") -> list[Any]:
    """The list that stands under a key."""
    found = facts.get(key)
    if isinstance(found, list):
        return found
    raise _malformed(f"{owner}.{key}" if owner else key, "must be a list")


def _bounds_of(entry: str, found: Any) -> dict[str, Any]:
    """Two bounds by the names of their fields."""
    if not isinstance(found, list) or len(found) != 2:
        raise DomainError(entry, "bounds are two numbers", "Write [lower, upper]")
    return {"lower": found[0], "upper": found[1]}


def _malformed(entry: str, rule: str) -> DomainError:
    return DomainError(entry, rule, f"Compare the metadata with {page_of_docs('domain.md')}")
