"""The published JSON Schema of what commands print with ``--json``."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from dpforest.command_line import answers
from dpforest.command_line.answers import FORMAT, VERSION

FILE = "output.schema.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: What each command answers; what is written to a file in place of stdout says only where.
RESULTS: dict[str, tuple[type[BaseModel], ...]] = {
    "domain draft": (answers.DomainResult,),
    "domain confirm": (answers.DomainResult,),
    "domain check": (answers.CheckResult, answers.WritingResult),
    "domain diff": (answers.DomainDiffResult, answers.WritingResult),
    "report show": (answers.ReportResult,),
    "report verify": (answers.VerifyResult,),
    "report diff": (answers.DiffResult,),
    "plan": (answers.PlanResult,),
    "fit": (answers.FitResult,),
    "predict": (answers.WritingResult,),
    "explain": (answers.ExplainResult,),
    "export": (answers.WritingResult,),
    "audit": (answers.AuditOutcome,),
}


def output_schema() -> dict[str, Any]:
    """The JSON Schema that every command but those of the ledger keeps to with ``--json``.

    Returns
    -------
    dict
        JSON Schema, draft 2020-12, as published in the package
        (``command_line/output.schema.json``).
    """
    text = files("dpforest.command_line").joinpath(FILE).read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def make_output_schema() -> dict[str, Any]:
    """The same, made anew from the classes; the published file is compared with it by a test."""
    kinds = list(dict.fromkeys(kind for some in RESULTS.values() for kind in some))
    references, made = models_json_schema(
        [(kind, "serialization") for kind in kinds], schema_generator=_Generator
    )
    answered = [
        _answer(command, [references[(kind, "serialization")] for kind in some])
        for command, some in RESULTS.items()
    ]
    return {
        "$schema": DIALECT,
        "$id": f"urn:dpforest:output:{VERSION}",
        "title": f"what dpforest prints with --json, version {VERSION}",
        "oneOf": answered,
        "$defs": made["$defs"],
    }


def _answer(command: str, results: list[Any]) -> dict[str, Any]:
    """One line of output of a command."""
    properties = {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        "command": {"const": command},
        "result": results[0] if len(results) == 1 else {"oneOf": results},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class _Generator(GenerateJsonSchema):
    """As results are written: every key always, and an infinite float as the text "Infinity"."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        return True

    def float_schema(self, schema: Any) -> dict[str, Any]:
        return {"anyOf": [{"type": "number"}, {"const": "Infinity"}]}


def main() -> None:
    """Print the schema anew: ``python -m dpforest.command_line.schema > FILE``."""
    print(json.dumps(make_output_schema(), indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
