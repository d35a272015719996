"""A report as an entry of the public registry of deployments (registry.opendp.org).

Fields and choices are those of `dpforest.report.registry_form`. Only what follows from the report,
or was typed into its header, is written: what is missing has to be filled in by whoever submits the
entry.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from dpforest.accounting.figures import figure_up
from dpforest.display import one_line
from dpforest.report.guarantee import RelationBound
from dpforest.report.record import ReportRecord
from dpforest.report.registry_form import FIELDS, Entry

_POST_PROCESSING = (
    "Predictions, importances and explanations are computed from released values alone."
)
_UNPROTECTED = (
    "Of this fit none: all that it released passed its mechanisms. The public facts that were "
    "declared about the table are taken as known."
)
_URL = re.compile(r"https?://", re.IGNORECASE)
_CENTRAL = "Whoever fits the model reads the records; only what passes a mechanism is released."
_ACCESS = "The model is handed out whole; predicting with it reads no record and costs nothing."


def registry_entry(report: ReportRecord) -> Entry:
    """The entry; see :meth:`PrivacyReport.to_registry`."""
    written = ((name, _printable(value)) for name, value in _values(report))
    found = {name: value for name, value in written if value not in (None, "", [], {})}
    deployment: dict[str, dict[str, Any]] = {"basic": {}, "administrative": {"status": "Draft"}}
    for name, value in found.items():
        group, field = name.split(".")
        deployment.setdefault(group, {})[field] = value
    deployment["administrative"] |= {
        "registry_authors": report.header.authors or None,
        "tier": _tier(found) or None,
    }
    return Entry.model_validate({"url_slug": _slug(report) or None, "deployment": deployment})


def _printable(value: Any) -> Any:
    """The same without characters that could turn the line around them, wherever texts stand."""
    if isinstance(value, dict):
        return {key: _printable(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_printable(part) for part in value]
    if isinstance(value, str):
        return one_line(value)
    return value


def _asked(tier: int) -> list[str]:
    return [name for name, by in FIELDS.items() if by.tier <= tier and not by.may_lack]


def _tier(found: dict[str, Any]) -> int:
    """The highest tier of which nothing is missing; 0 where the first is not complete."""
    complete = [all(name in found for name in _asked(tier)) for tier in (1, 2, 3)]
    return next((tier for tier in (3, 2, 1) if all(complete[:tier])), 0)


def _slug(report: ReportRecord) -> str:
    header = report.header
    parts = (header.title, header.curator, header.date[:4] if header.date else None)
    text = " ".join(part for part in parts if part) if header.title else ""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return "-".join(re.findall(r"[a-z0-9]+", plain.lower()))


def _values(report: ReportRecord) -> Iterator[tuple[str, Any]]:
    yield from _basic(report)
    yield from _variant(report)
    yield from _loss(report)
    yield from _model(report)
    yield from _implementation(report)
    yield "administrative.evidence_sources", _sources(report)


def _basic(report: ReportRecord) -> Iterator[tuple[str, Any]]:
    header = report.header
    curator = {"data_curator_name": header.curator, "data_curator_type": header.curator_type}
    yield "basic.name", header.title
    yield "basic.data_curators", [curator] if all(curator.values()) else []
    yield "basic.description", header.description
    yield "basic.intended_use", header.purpose
    yield "basic.data_product_type", "Machine learning model"
    yield "basic.data_product_region", header.region
    yield "basic.data_product_sector", header.sector
    yield "basic.publication_date", header.date


def _native(report: ReportRecord) -> RelationBound | None:
    """The bound that holds; None for a demonstration or a void fit, which may claim nothing.

    None too where it bounds nothing: the registry has no infinite parameters.
    """
    native = report.guarantee.bounds[0] if report.guarantee.status == "holds" else None
    return native if native is not None and 0 <= native.epsilon < math.inf else None


def _variant(report: ReportRecord) -> Iterator[tuple[str, Any]]:
    native = _native(report)
    if native is not None:
        yield "dp_variant.variant_name", "Approximate DP" if native.delta else "Pure DP"
    yield "dp_variant.data_domain", _data_domain(report)
    own = "" if native is None else _UNPROTECTED
    yield "dp_variant.unprotected_quantities", _joined(own, report.header.unprotected)


def _data_domain(report: ReportRecord) -> str:
    names = [f"{entry['name']} ({_column(entry)})" for entry in report.domain["features"]]
    return f"Tables of any number of records with these columns: {', '.join(names)}."


def _column(entry: dict[str, Any]) -> str:
    if entry["kind"] == "numeric":
        kind = "whole numbers" if entry["integer"] else "numbers"
        return f"{kind} from {entry['lower']:g} to {entry['upper']:g}"
    return f"one of {len(entry['categories'])} categories"


def _loss(report: ReportRecord) -> Iterator[tuple[str, Any]]:
    native, one = _native(report), report.facts.records_per_unit == 1
    yield "privacy_loss.privacy_unit", "Record-level" if one else report.guarantee.unit
    relation = report.guarantee.bounds[0].relation.value if report.guarantee.bounds else ""
    yield (
        "privacy_loss.privacy_unit_details",
        f"Two tables are adjacent if they differ by: {relation}." if relation else "",
    )
    yield "privacy_loss.number_of_privacy_units", report.domain["approximate_rows"] if one else None
    if native is not None:
        relaxed = {"delta": native.delta, "rho": native.rho} if native.delta else {}
        shown = {"epsilon": native.epsilon} | {k: v for k, v in relaxed.items() if v is not None}
        yield "privacy_loss.privacy_parameters", shown
    yield "privacy_loss.privacy_parameters_details", _parameters(report)


def _parameters(report: ReportRecord) -> str:
    bounds = [
        f"{b.relation.value}: epsilon {figure_up(b.epsilon)}, delta {figure_up(b.delta)}, by "
        f"{b.derivation}"
        for b in report.guarantee.bounds
        if _native(report) is not None
    ]
    return _joined(report.sentence, "; ".join(bounds) + "." if bounds else "")


def _model(report: ReportRecord) -> Iterator[tuple[str, Any]]:
    header, place = report.header, report.basis.ledger
    yield "deployment_model.model_name", "Central"
    yield "deployment_model.model_name_details", _CENTRAL
    yield "deployment_model.trust_assumptions", header.trust_model
    yield "deployment_model.actors", header.actors
    yield "deployment_model.release_type", "One release"
    others = place.sentence if place is not None else ""
    yield "deployment_model.release_type_details", _joined(header.release_plans, others)
    yield "deployment_model.data_source_type", header.data_source
    yield "deployment_model.access_type", "Non-interactive"
    yield "deployment_model.access_type_details", _joined(_ACCESS, header.access)


def _implementation(report: ReportRecord) -> Iterator[tuple[str, Any]]:
    header = report.header
    yield "implementation.preprocessing_and_hyperparameter_tuning", header.preparation
    yield "implementation.mechanisms", _mechanisms(report)
    yield "implementation.composition", _composition(report)
    yield "implementation.post_processing", _POST_PROCESSING
    yield "implementation.justification", header.why_epsilon
    figures = [f"{f.name} {f.shown}, {f.origin_words}" for f in report.utility]
    yield "implementation.utility", "; ".join(figures)
    yield (
        "implementation.additional_information",
        f"{report.estimator}; SHA-256 of the released model {report.model_fingerprint}, of the "
        f"privacy report {report.digest}.",
    )


def _mechanisms(report: ReportRecord) -> str:
    names = dict.fromkeys(entry.mechanism for entry in report.composition.ledger)
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    stored = report.header.collection
    return _joined(
        f"{', '.join(names)}, sampled exactly; randomness: {report.randomness}; "
        f"implemented by {versions}.",
        f"Collection and storage: {stored}" if stored else "",
    )


def _composition(report: ReportRecord) -> str:
    derivations = dict.fromkeys(bound.derivation for bound in report.guarantee.bounds)
    return f"{report.known_fits} The fit's own total: {'; '.join(derivations)}."


def _sources(report: ReportRecord) -> dict[str, Any]:
    """Sources as they were typed in; which type of evidence one is, its author has to say."""
    return {
        f"source_{i}": {"misc": {"url" if _URL.match(text) else "note": text}}
        for i, text in enumerate(report.header.evidence, start=1)
    }


def _joined(*texts: str | None) -> str:
    return " ".join(text for text in texts if text)
