"""Headers in files: read before anything is charged, and refused in our own words."""

from __future__ import annotations

import json
import re

import pytest

from dpforest import PrivacyReport, ReportHeader
from dpforest.command_line.headers import header_at
from dpforest.exceptions import ParameterError

FIT = "fit stays.csv --target back --domain domain.json --epsilon 1 --strategy one_shot --seed 5"
TYPED = {"title": "Who comes back", "date": "2026-11-23", "authors": ["Olga", "Ravi"]}


@pytest.fixture
def header(here):
    path = here / "header.json"
    path.write_text(json.dumps(TYPED), encoding="utf-8")
    return path


def test_a_file_holds_what_a_header_takes(header):
    expected = ReportHeader(title="Who comes back", date="2026-11-23", authors=("Olga", "Ravi"))
    assert header_at(str(header)) == expected and header_at(None) is None


def test_a_fit_writes_it_into_its_report(good, header, here):
    words = good(f"{FIT} --yes --header {header.name} --output new")
    report = PrivacyReport.from_json((here / "new" / "report.json").read_text())
    assert report.header == header_at(str(header))
    assert "Who comes back" in (here / "new" / "report.html").read_text()
    assert "forecast" not in words  # a strategy that was named has no range of its own


def test_a_fit_of_auto_says_what_it_likely_gains(good, here):
    words = good(f"{FIT.replace('--strategy one_shot', '')} --yes --output new")
    assert re.search("forecast: accuracy .*is likely ", words)


def test_a_model_is_shown_with_it_and_a_report_keeps_its_own(good, ask, header):
    assert "Who comes back" in good(f"report show forest/model.json --header {header.name}")
    code, _, err = ask(f"report show forest/report.json --header {header.name}")
    assert code == 2 and "whose header stays" in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stay,age\n1,77", "it is not JSON"),
        ('["a"]', "it is not a JSON object"),
        ('{"titel": "x"}', "is no field"),
        ('{"title": ["x"]}', "title"),
        ('{"title": 4}', "title"),
        ('{"title": {"a": 1}}', "title"),
        ('{"date": "tomorrow"}', "must be a date"),
        ('{"title": "a", "title": "b"}', "twice"),
        (None, "cannot be read (there is none)"),
    ],
)
def test_what_is_no_header_is_refused_before_anything_else(ask, here, text, words):
    if text is not None:
        (here / "bad.json").write_text(text, encoding="utf-8")
    code, out, err = ask(f"{FIT} --yes --header bad.json --output new")
    assert code == 2 and words in err and out == "" and "77" not in err
    assert not (here / "new").exists() and "price" not in err
    with pytest.raises(ParameterError):
        header_at("bad.json")


def test_a_forecast_that_fails_costs_nothing_that_was_paid_for(ask, here, monkeypatch):
    def fails(self):
        raise ZeroDivisionError("of a record")

    monkeypatch.setattr("dpforest.estimators.base.PrivateEstimator.expected_gain", fails)
    code, out, err = ask(f"{FIT} --yes --output new")
    assert code == 7 and "a fault of dpforest (ZeroDivisionError)" in err
    assert "of a record" not in out + err and (here / "new" / "report.json").exists()
