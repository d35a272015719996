"""The published schema of --json: made of the classes, and kept to by every command."""

from __future__ import annotations

import json

import pytest
from every_command import EVERY_COMMAND

from dpforest.command_line.schema import RESULTS, make_output_schema, output_schema

jsonschema = pytest.importorskip("jsonschema")

PLAN = "--domain domain.json --epsilon 1 --strategy one_shot"
LINES = {
    "domain draft": "stays.csv --target back --drop stay --output draft.json",
    "domain confirm": "domain.json --by A --rows 77 --output declared.json",
    "domain check": "stays.csv --target back --domain domain.json --output check.json",
    "domain diff": "domain.json domain.json",
    "report show": "forest/report.json",
    "report verify": "forest/report.json --model forest/model.json",
    "report diff": "forest/report.json forest/model.json",
    "plan": PLAN,
    "fit": f"stays.csv --target back {PLAN} --dry-run",
    "predict": "forest/model.json stays.csv --output predictions.csv",
    "explain": "forest/model.json",
    "export": "forest/model.json --output plain.json",
    "audit": f"{PLAN} --runs 20",
}


@pytest.fixture(scope="module")
def validator():
    schema = output_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_published_file_is_up_to_date():
    again = "python -m dpforest.command_line.schema > dpforest/command_line/output.schema.json"
    assert output_schema() == make_output_schema(), f"write it anew: {again}"


def test_every_command_is_in_it():
    assert set(RESULTS) == set(EVERY_COMMAND) == set(LINES)


@pytest.mark.parametrize("command", LINES)
def test_every_command_prints_one_object_that_keeps_to_it(command, good, validator, here):
    out = good(f"{command} {LINES[command]} --json")
    assert "\n" not in out
    data = json.loads(out)
    assert data["command"] == command
    validator.validate(data)
    if command == "domain check":
        validator.validate(json.loads((here / "check.json").read_text()))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("version",), 2),
        (("format",), "dpforest-report"),
        (("command",), "fit"),
        (("result", "price", "epsilon"), "much"),
        (("result", "price", "more"), 1),
        (("result", "streamed"), None),
    ],
)
def test_what_is_otherwise_does_not_keep_to_it(path, value, good, validator):
    data = json.loads(good(f"plan {PLAN} --json"))
    part = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    assert not validator.is_valid(data)
