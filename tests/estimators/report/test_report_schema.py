"""The published schema: made of the classes, and kept to by reports of every estimator."""

from __future__ import annotations

import copy
import json

import pytest

from dpforest import report_schema
from dpforest.report.schema import make_report_schema

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture(scope="module")
def validator():
    schema = report_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_published_file_is_up_to_date():
    again = "python -m dpforest.report.schema > dpforest/report/report.schema.json"
    assert report_schema() == make_report_schema(), f"write it anew: {again}"


def test_real_reports_keep_to_it(model, validator):
    validator.validate(json.loads(model.privacy_report().to_json()))


def test_it_names_its_version(validator):
    assert report_schema()["$id"] == "urn:dpforest:report:5"
    assert "draft/2020-12" in report_schema()["$schema"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("version",), 1),
        (("format",), "another"),
        (("digest",), "abc"),
        (("guarantee", "status"), "fine"),
        (("guarantee", "bounds", 0, "epsilon"), "many"),
        (("composition", "kind"), "serial"),
        (("composition", "composed", "epsilon"), "-1"),
        (("composition", "composed", "epsilon"), "0.5"),
        (("domain", "features", 0, "lower"), "low"),
        (("notices",), "none"),
        (("unheard of",), 1),
    ],
)
def test_what_does_not_keep_to_it(path, value, fitted, validator):
    data = copy.deepcopy(json.loads(fitted("multinomial").privacy_report().to_json()))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(data)


def test_every_key_is_required(fitted, validator):
    data = json.loads(fitted("multinomial").privacy_report().to_json())
    for key in data:
        with pytest.raises(jsonschema.ValidationError, match="is a required property"):
            validator.validate({k: v for k, v in data.items() if k != key})
