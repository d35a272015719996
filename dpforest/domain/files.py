"""Domains as JSON: our own format, and the metadata files of public benchmark tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from dpforest.domain.schema import (
    CategoricalFeature,
    Classes,
    Domain,
    NumericFeature,
    NumericTarget,
)
from dpforest.exceptions import DomainError
from dpforest.strict_json import json_text

FORMAT = "dpforest-domain"
VERSION = 1


def write_domain(domain: Domain, path: str | PathLike[str] | None = None) -> str:
    """The domain as indented JSON text, also written to ``path`` if one is given."""
    facts: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    facts.update(domain.model_dump(mode="json", exclude_none=True))
    facts["features"] = [_name_first(feature) for feature in facts["features"]]
    text = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _name_first(feature: dict[str, Any]) -> dict[str, Any]:
    """The same fields, with what a reader looks for at the top and the declaration below."""
    declaration = ("source", "declared_by", "status", "drafted")
    first = {key: feature[key] for key in ("name", "kind")}
    last = {key: feature[key] for key in declaration if key in feature}
    return first | {k: v for k, v in feature.items() if k not in declaration} | last


def read_domain(
    path_or_text: str | PathLike[str], *, missing: Literal["all", "none"] = "all"
) -> Domain:
    """Read a domain from JSON.

    Parameters
    ----------
    path_or_text : str or path
        A file's path, or JSON text (recognised by its opening brace).
    missing : {"all", "none"}
        For benchmark metadata only, which does not say where values may be missing:
        allow them in every feature, or in none. Our own format says it per feature.

    Raises
    ------
    DomainError
        If there is no such file, or its text is not JSON, not a domain, or of a version this
        release cannot read.
    """
    if missing not in ("all", "none"):
        raise DomainError("missing", "must be 'all' or 'none'", "Choose one of them")
    facts = _parse(path_or_text)
    if "format" in facts:
        return _from_own(facts)
    if "columns" in facts:
        return _from_benchmark(facts, missing == "all")
    raise DomainError(
        "format",
        f"must be {FORMAT!r}, or the file must have 'columns'",
        "Write domains with Domain.to_json",
    )


def _parse(path_or_text: str | PathLike[str]) -> dict[str, Any]:
    text = json_text(path_or_text, _unreadable)
    try:
        facts = json.loads(text)
    except json.JSONDecodeError as error:
        raise DomainError(
            "JSON", f"{error.msg} in line {error.lineno}, column {error.colno}", "Mend the text"
        ) from None
    if not isinstance(facts, dict):
        raise DomainError("JSON", "must be an object", "Write domains with Domain.to_json")
    return facts


def _unreadable(rule: str) -> DomainError:
    return DomainError("file", rule, "Give the path of a domain's JSON file, or its text")


def _from_own(facts: Mapping[str, Any]) -> Domain:
    rest = dict(facts)
    if rest.pop("format") != FORMAT:
        raise DomainError("format", f"must be {FORMAT!r}", "Write domains with Domain.to_json")
    if rest.pop("version", None) != VERSION:
        raise DomainError("version", f"must be {VERSION}", "Read it with the release that wrote it")
    return Domain(**rest)


def _from_benchmark(facts: Mapping[str, Any], missing: bool) -> Domain:
    """Metadata with ``columns``, ``classes`` or ``target_bounds``, and ``domain_source``.

    Row counts and class counts in such a file were taken from the records: they are not read.
    """
    source = facts.get("domain_source")
    try:
        features = tuple(_benchmark_feature(c, source, missing) for c in facts["columns"])
        labels, bounds = facts.get("classes"), facts.get("target_bounds")
        target = _two_bounds("target_bounds", bounds) if bounds else None
        return Domain(
            name=facts.get("name"),
            features=features,
            classes=Classes(labels=tuple(labels), source=source) if labels else None,
            target=(
                NumericTarget(lower=target[0], upper=target[1], source=source) if target else None
            ),
            note=facts.get("source"),
        )
    except (KeyError, TypeError, IndexError) as error:
        missing_key = str(error)
    raise DomainError("columns", f"malformed metadata ({missing_key})", "Compare docs/domain.md")


def _two_bounds(entry: str, bounds: Any) -> tuple[Any, Any]:
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise DomainError(entry, "bounds are two numbers", "Write [lower, upper]")
    return bounds[0], bounds[1]


def _benchmark_feature(
    column: Mapping[str, Any], source: str | None, missing: bool
) -> NumericFeature | CategoricalFeature:
    name, kind = column["name"], column["kind"]
    if kind == "categorical":
        return CategoricalFeature(
            name=name, categories=tuple(column["categories"]), missing=missing, source=source
        )
    if kind in ("integer", "numeric"):
        lower, upper = _two_bounds(str(name), column["bounds"])
        return NumericFeature(
            name=name,
            lower=lower,
            upper=upper,
            integer=kind == "integer",
            missing=missing,
            source=source,
        )
    raise DomainError(
        name, "kind must be 'integer', 'numeric' or 'categorical'", "Correct the kind"
    )
