"""A report in the registry's form, and as a model card: what is known, and nothing made up."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from dpforest import ReportHeader, UtilityFigure
from dpforest.report.header import LABELS
from dpforest.report.registry_form import FIELDS, Entry

DOCS = Path(__file__).resolve().parents[3] / "docs" / "report.md"
HEADER = ReportHeader(
    title="Triage forest", description="Forest for triage", data_set="visits of 2025",
    people="patients", region="France", sector="Healthcare", curator="The Clinic",
    curator_type="Nonprofit", purpose="help nurses", why_epsilon="ethics board, minute 3",
    date="2026-11-23", trust_model="the clinic's staff is trusted", actors="staff and public",
    access="on request", retention="ten years", collection="hospital records, on one server",
    data_source="Static", release_plans="none", preparation="none", unprotected="nothing",
    groups="children", authors=("Ana",), evidence=("https://example.org/a", "a paper"),
)  # fmt: skip
FIGURE = UtilityFigure(
    name="accuracy", value=0.8, origin="public holdout", source="open visits of 2019"
)

TEXT = {"type": "string", "minLength": 1}


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": required,
            "properties": properties}  # fmt: skip


def one_of(*values: str) -> dict[str, Any]:
    return {"enum": list(values)}


#: Names, kinds and choices of the registry's fields, as of the schema that docs/report.md dates.
REGISTRY = closed(
    ["deployment"],
    url_slug=TEXT,
    deployment=closed(
        ["basic", "administrative"],
        basic=closed(
            [],
            name=TEXT,
            data_curators={
                "type": "array",
                "minItems": 1,
                "items": closed(
                    ["data_curator_name", "data_curator_type"],
                    data_curator_name=TEXT,
                    data_curator_type=one_of("Government", "Industry", "Nonprofit"),
                ),
            },
            description=TEXT,
            intended_use=TEXT,
            data_product_type=one_of(
                "Summary statistics", "Machine learning model", "Dataset", "Synthetic data",
                "Interactive API", "SQL queries",
            ),
            data_product_region=TEXT,
            data_product_sector=one_of(
                "Technology", "Healthcare", "Education", "Government", "Energy", "Finance"
            ),
            publication_date={"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"},
        ),
        dp_variant=closed(
            [],
            variant_name=one_of(
                "Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"
            ),
            data_domain=TEXT,
            unprotected_quantities=TEXT,
        ),
        privacy_loss=closed(
            [],
            privacy_unit=TEXT,
            privacy_unit_details=TEXT,
            number_of_privacy_units={"type": "integer"},
            privacy_parameters=closed(
                [], epsilon={"type": "number"}, delta={"type": "number"}, rho={"type": "number"}
            ),
            privacy_parameters_details=TEXT,
        ),
        deployment_model=closed(
            [],
            model_name=one_of("Local", "Central", "Shuffle", "Federated", "Varies"),
            model_name_details=TEXT,
            trust_assumptions=TEXT,
            actors=TEXT,
            release_type=one_of("One release", "Many releases"),
            release_type_details=TEXT,
            data_source_type=one_of("Static", "Dynamic"),
            data_source_type_details=TEXT,
            access_type=one_of("Interactive", "Non-interactive"),
            access_type_details=TEXT,
        ),
        implementation=closed(
            [],
            preprocessing_and_hyperparameter_tuning=TEXT,
            mechanisms=TEXT,
            composition=TEXT,
            post_processing=TEXT,
            justification=TEXT,
            utility=TEXT,
            additional_information=TEXT,
        ),
        administrative=closed(
            ["status"],
            status=one_of("Converted", "Draft", "Pending", "Changes Required", "Approved"),
            registry_authors={"type": "array", "items": TEXT, "minItems": 1},
            tier={"enum": [1, 2, 3]},
            evidence_sources={"type": "object", "additionalProperties": closed(
                ["misc"], misc=closed([], url=TEXT, note=TEXT))},
        ),
    ),
)  # fmt: skip


def test_every_entry_keeps_to_the_registrys_form(model):
    jsonschema = pytest.importorskip("jsonschema")
    for given in ({}, {"header": HEADER, "utility": FIGURE}):
        entry = model.privacy_report(**given).to_registry()
        jsonschema.Draft202012Validator(REGISTRY).validate(entry)
        assert json.loads(json.dumps(entry, allow_nan=False)) == entry


def test_the_form_has_no_other_fields_than_the_list():
    named = {
        f"{group}.{field}"
        for group, part in REGISTRY["properties"]["deployment"]["properties"].items()
        for field in part["properties"]
    }
    unwritten = {"deployment_model.data_source_type_details", "administrative.status",
                 "administrative.registry_authors", "administrative.tier"}  # fmt: skip
    assert named - unwritten == set(FIELDS)


def changes(form: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Values that break a form: another choice, another kind, one more field."""
    if "enum" in form:
        yield path, "none of these"
    elif form.get("type") in ("integer", "number"):
        yield path, "many"
    elif form.get("type") == "string":
        yield path, ""
    for name, part in form.get("properties", {}).items():
        yield from changes(part, (*path, name))
    if "properties" in form:
        yield (*path, "more"), "of it"


def test_what_the_registry_refuses_the_typed_entry_refuses_too(fitted):
    jsonschema = pytest.importorskip("jsonschema")
    registry = jsonschema.Draft202012Validator(REGISTRY)
    entry = fitted("multinomial").privacy_report(HEADER, FIGURE).to_registry()
    assert Entry.model_validate(entry).to_dict() == entry
    tried = 0
    for path, value in changes(REGISTRY):
        changed = copy.deepcopy(entry)
        place = changed
        for name in path[:-1]:
            place = place.setdefault(name, {})
        place[path[-1]] = value
        assert not registry.is_valid(changed), path
        with pytest.raises(ValidationError):
            Entry.model_validate(changed)
        tried += 1
    assert tried > 40


def missing_fields(entry, tier):
    """Fields that an entry lacks for a tier."""
    written = {f"{g}.{f}" for g, fields in entry["deployment"].items() for f in fields}
    asked = {name for name, by in FIELDS.items() if by.tier <= tier and not by.may_lack}
    return asked - written


def test_a_full_header_makes_an_entry_of_the_third_tier(fitted, tmp_path):
    report = fitted("multinomial").privacy_report(HEADER, FIGURE)
    entry = report.to_registry(tmp_path / "entry.json")
    assert json.loads((tmp_path / "entry.json").read_text("utf-8")) == entry
    assert not missing_fields(entry, 3) and entry["deployment"]["administrative"]["tier"] == 3
    assert entry["url_slug"] == "triage-forest-the-clinic-2026"
    deployment = entry["deployment"]
    assert set(FIELDS) == {f"{g}.{f}" for g, part in deployment.items() for f in part} - {
        "administrative.status", "administrative.registry_authors", "administrative.tier",
    }  # fmt: skip
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert deployment["dp_variant"]["variant_name"] == "Pure DP"
    assert deployment["privacy_loss"]["number_of_privacy_units"] == 40  # as it was declared
    text = json.dumps(entry)
    hidden = {"retention", "people", "data_set", "groups"}
    for name, value in HEADER.stated.items():
        for part in value.split("; "):
            assert (part in text) == (name not in hidden), name


@pytest.mark.parametrize(
    ("left_out", "tier"),
    [("why_epsilon", 2), ("actors", 2), ("data_source", 1), ("region", None), ("curator", None)],
)
def test_the_tier_is_what_is_complete(left_out, tier, fitted):
    header = HEADER.model_copy(update={left_out: None})
    entry = fitted("multinomial").privacy_report(header).to_registry()
    assert entry["deployment"]["administrative"].get("tier") == tier
    assert missing_fields(entry, 3)


@pytest.mark.parametrize("name", ["void", "demonstration"])
def test_what_does_not_hold_claims_no_parameters(name, fitted):
    report = fitted(name).privacy_report(HEADER)
    entry = report.to_registry()["deployment"]
    assert "privacy_parameters" not in entry["privacy_loss"]
    assert "variant_name" not in entry["dp_variant"]
    assert report.sentence in entry["privacy_loss"]["privacy_parameters_details"]
    assert entry["administrative"].get("tier") == 1


def test_rho_and_a_ledger_are_told_of(fitted):
    loss = fitted("a ledger, in rho").privacy_report().to_registry()["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"].keys() == {"epsilon", "delta", "rho"}
    entry = fitted("a ledger").privacy_report().to_registry()["deployment"]
    assert "The ledger knows of every fit" in entry["deployment_model"]["release_type_details"]
    units = fitted("units of three records").privacy_report().to_registry()["deployment"]
    assert "owns up to 3 records" in units["privacy_loss"]["privacy_unit"]
    assert "number_of_privacy_units" not in units["privacy_loss"]


def test_the_docs_compare_every_field_of_header_and_registry():
    text = DOCS.read_text("utf-8")
    for field, asked in FIELDS.items():
        assert re.search(rf"^\| `{field}` \| {asked.tier} \|", text, re.MULTILINE), field
    for name in LABELS:
        assert f"`{name}`" in text, name


# -- model cards ---------------------------------------------------------------------------------


def head_of(card):
    yaml = pytest.importorskip("yaml")
    begin, head, _ = card.split("---\n", 2)
    assert begin == ""
    return yaml.safe_load(head)


def test_every_card_has_its_head_and_its_parts(model):
    report = model.privacy_report(HEADER, FIGURE)
    card = report.to_model_card()
    head = head_of(card)
    task = "tabular-regression" if report.domain["target"] else "tabular-classification"
    assert head["pipeline_tag"] == task and task in head["tags"]
    (result,) = head["model-index"][0]["results"]
    assert result["metrics"] == [{"type": "accuracy", "name": "accuracy", "value": 0.8}]
    assert result["dataset"]["name"] == "open visits of 2019"
    for heading in ("Model details", "Uses", "Privacy", "Bias, risks and limitations",
                    "Training data", "Evaluation", "How to check this"):  # fmt: skip
        assert f"\n## {heading}\n" in card
    assert report.sentence in card and report.digest in card and "children" in card
    for line in report.not_covered:
        assert line.replace("*", "\\*") in card


def test_a_card_claims_no_more_than_its_report(fitted, tmp_path):
    report = fitted("void").privacy_report()
    card = report.to_model_card(tmp_path / "README.md")
    assert (tmp_path / "README.md").read_text("utf-8") == card
    assert "VOID, no privacy guarantee" in card and "| relation | epsilon |" not in card
    assert "model-index" not in head_of(card) and "No figure of utility was handed in." in card
    assert card.count("not stated") >= 6


def test_hostile_texts_stay_texts_in_a_card(fitted):
    hostile = 'a": [1] # --- \u2028 x | <b> é 😀'.replace("\u2028", " ")
    figure = UtilityFigure(name=hostile, value=1, origin="public holdout", source=hostile)
    header = ReportHeader(title=hostile, purpose=hostile)
    card = fitted("multinomial").privacy_report(header, figure).to_model_card()
    head = head_of(card)
    assert head["model-index"][0]["name"] == hostile.strip()
    assert "<b>" not in card.split("---\n", 2)[2]
