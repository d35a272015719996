"""Files that an earlier version wrote predict what they did, or are refused with a clear word."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frozen_cases import STRATEGIES, TASKS, points_of

import dpforest
from dpforest import PrivacyReport, read_plain, verify_report
from dpforest.exceptions import ModelFormatError, ReportError

FOLDER = Path(__file__).with_name("earlier")
INDEX: dict[str, dict[str, Any]] = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))


def named(kind: str) -> list[str]:
    """Names of the fits that have a file of a kind."""
    return sorted(path.name.split(".")[0] for path in FOLDER.glob(f"*.{kind}.gz"))


def content(name: str, kind: str) -> bytes:
    return gzip.decompress((FOLDER / f"{name}.{kind}.gz").read_bytes())


def text(name: str, kind: str) -> str:
    return content(name, kind).decode()


def predicted(model: Any, name: str) -> np.ndarray:
    points = points_of(INDEX[name]["table"])
    return model.predict(points) if INDEX[name]["task"] == "target" else model.predict_proba(points)


def check_predictions(found: Any, name: str) -> None:
    np.testing.assert_allclose(found, INDEX[name]["predictions"], rtol=1e-8, atol=1e-12)


#: Strategies that the earlier version did not have.
SINCE = {"boosted", "additive"}
#: One that is read, and that nobody can ask for any more.
READ = {"multinomial"}
#: Fits of a strategy that has left the package; what ``auto`` took may be one too.
GONE = {"private_selection", "combined"}
LEFT = [name for name in named("model.json") if INDEX[name]["strategy"] in GONE]


@pytest.mark.parametrize("name", LEFT)
def test_a_model_of_a_strategy_that_left_is_refused(name):
    with pytest.raises(ModelFormatError, match="left the package in version"):
        getattr(dpforest, INDEX[name]["estimator"]).from_json(text(name, "model.json"))


@pytest.mark.parametrize("name", sorted(set(named("model.json")) - set(LEFT)))
def test_a_model_is_read(name):
    model = getattr(dpforest, INDEX[name]["estimator"]).from_json(text(name, "model.json"))
    check_predictions(predicted(model, name), name)
    spent = model.spent_.exact
    assert [str(spent.epsilon), str(spent.delta), str(spent.rho)] == INDEX[name]["spent"]
    if "Private" in INDEX[name]["estimator"]:
        assert model.strategy_ == INDEX[name]["strategy"]


@pytest.mark.parametrize("name", named("report.json"))
def test_a_report_is_read(name):
    report = PrivacyReport.from_json(text(name, "report.json"))
    assert "epsilon" in str(report) and "<html" in report.to_html()


@pytest.mark.parametrize("name", named("report.json"))
def test_a_report_is_verified_by_the_version_that_wrote_it(name):
    with pytest.raises(ReportError, match="it is of format version 3"):
        verify_report(text(name, "report.json"))


@pytest.mark.parametrize("name", named("plain.json"))
def test_a_plain_model_is_read(name):
    plain = read_plain(text(name, "plain.json"))
    points = points_of(INDEX[name]["table"]).tolist()
    target = INDEX[name]["task"] == "target"
    check_predictions(plain.predict(points) if target else plain.predict_proba(points), name)


@pytest.mark.parametrize("name", named("pickle"))
def test_a_pickle_is_refused(name):
    with pytest.raises(ModelFormatError, match="the version that wrote it"):
        pickle.loads(content(name, "pickle"))


def test_every_strategy_and_task_is_among_them():
    names = named("model.json")
    assert set(names) == set(INDEX)
    were = set(STRATEGIES[:-1]) - SINCE | READ | GONE - {"private_selection"}
    assert {f"{strategy}_{task}" for strategy in were for task in TASKS} <= set(names)
    assert named("pickle") == ["published_two", "rules_two"]
