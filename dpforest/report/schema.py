"""The published JSON Schema of the privacy report."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from dpforest.accounting.diffprivlib_adapter import ExternalEntry
from dpforest.domain.domain import Domain
from dpforest.domain.marks import UNREPORTED_FIELDS
from dpforest.report.report import PrivacyReport

FILE = "report.schema.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: Exact amounts: a whole number or a ratio of two, or "inf".
_AMOUNT = r"^(inf|[0-9]+(/[0-9]+)?)$"
_FINITE = r"^[0-9]+(/[0-9]+)?$"
_SHA256 = "^[0-9a-f]{64}$"


def report_schema() -> dict[str, Any]:
    """The JSON Schema that :meth:`PrivacyReport.to_json` keeps to.

    Returns
    -------
    dict
        JSON Schema, draft 2020-12, as published in the package (``report/report.schema.json``).
    """
    text = files("dpforest.report").joinpath(FILE).read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def make_report_schema() -> dict[str, Any]:
    """The same, made anew from the classes; the published file is compared with it by a test."""
    kinds: list[type[BaseModel]] = [PrivacyReport, Domain, ExternalEntry]
    references, made = models_json_schema(
        [(kind, "serialization") for kind in kinds], schema_generator=_Generator
    )
    parts = made["$defs"]
    report = parts["PrivacyReport"]["properties"]
    report["domain"] = references[(Domain, "serialization")]
    report["external"]["items"] = references[(ExternalEntry, "serialization")]
    for name in ("digest", "model_fingerprint", "domain_fingerprint"):
        report[name]["pattern"] = _SHA256
    for kind in ("LossRecord", "LedgerEntry"):
        for amount in ("epsilon", "rho", "delta"):
            parts[kind]["properties"][amount]["pattern"] = _AMOUNT
    for amount in ("epsilon", "delta"):
        parts["CertificateRecord"]["properties"][amount]["pattern"] = _AMOUNT
    _amend_place(parts)
    for name in UNREPORTED_FIELDS:
        del parts["DraftMark"]["properties"][name]
        parts["DraftMark"]["required"].remove(name)
    version = PrivacyReport.model_fields["version"].default
    report["version"] = {"const": version, "title": "Version", "type": "integer"}
    return {
        "$schema": DIALECT,
        "$id": f"urn:dpforest:report:{version}",
        "title": f"dpforest privacy report, version {version}",
        **references[(PrivacyReport, "serialization")],
        "$defs": parts,
    }


def _amend_place(parts: dict[str, Any]) -> None:
    """A place in a ledger is there or left out, and its amounts and digests are what they are."""
    basis, place = parts["ClaimBasis"], parts["LedgerPlace"]["properties"]
    basis["required"].remove("ledger")
    basis["properties"]["ledger"] = {"$ref": "#/$defs/LedgerPlace"}
    for amount in ("charged", "before", "in_all", "cap", "cap_epsilon", "cap_delta"):
        place[amount]["pattern"] = _FINITE
    for digest in ("hash", "plan"):
        place[digest]["pattern"] = _SHA256


class _Generator(GenerateJsonSchema):
    """As the report writes itself: every key always, an infinite float as the text "Infinity"."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        return True

    def ser_schema(self, schema: Any) -> dict[str, Any] | None:
        # What a record leaves out when it writes itself is said of its fields, not of its writer.
        return None if schema["type"] == "function-wrap" else super().ser_schema(schema)

    def float_schema(self, schema: Any) -> dict[str, Any]:
        return {"anyOf": [{"type": "number"}, {"const": "Infinity"}]}


def main() -> None:
    """Print the schema anew: ``python -m dpforest.report.schema > FILE``."""
    print(json.dumps(make_report_schema(), indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
