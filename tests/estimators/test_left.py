"""Files of earlier releases are read, or refused with the reason.

``left`` holds what release 0.1.0.dev1 wrote: a model that took the strategy ``auto`` with its
report, and one of a strategy that has since left the package. Another one that left is in a model
file of version 3, and in two reports of 0.1.0.dev2: asked for, and picked by ``auto``.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import dpforest
from dpforest import (
    EarlierReportError,
    PrivacyReport,
    PrivateForestClassifier,
    verify_report,
)
from dpforest.exceptions import ModelFormatError, ReportError
from dpforest.report.making import report_digest
from dpforest.report.versions import (
    CODE,
    NOT_INSTALLED,
    UNKNOWN,
    code_digest,
    library_versions,
)

FILES = Path(__file__).parent / "left"
#: What that release predicted for two records.
RECORDS = np.array([[30.0, "no"], [31.0, "yes"]], dtype=object)
PREDICTED = [[0.7552956738781122, 0.2447043161218878], [0.2447030790571203, 0.7552969209428798]]


def test_a_parameter_that_is_no_more_is_left_out():
    model = PrivateForestClassifier.from_json(FILES / "auto.json")
    assert np.allclose(model.predict_proba(RECORDS), PREDICTED, rtol=0, atol=1e-6)
    assert "candidates" not in model.get_params()
    report = model.privacy_report()
    assert "candidates" not in report.parameters
    verify_report(report.to_json(), model)
    assert "candidates" not in model.to_json()


def test_a_strategy_that_is_no_more_is_refused():
    said = "left the package in version 0.1.0. Read it with the release that wrote it"
    with pytest.raises(ModelFormatError, match=said):
        PrivateForestClassifier.from_json(FILES / "private_selection.json")
    content = json.loads((FILES / "auto.json").read_text("utf-8"))
    content["parameters"]["candidates"] = ["rules", "one_shot"]
    with pytest.raises(ModelFormatError, match=said):
        PrivateForestClassifier.from_json(json.dumps(content))


@pytest.mark.parametrize("asked", ["combined", "auto"])
def test_a_strategy_that_left_is_refused_whether_it_was_asked_for_or_picked(asked):
    content = json.loads((FILES / "combined.json").read_text("utf-8"))
    assert content["version"] == 3 and content["released"]["strategy"] == "combined"
    content["parameters"]["strategy"] = asked
    with pytest.raises(ModelFormatError, match="strategy='combined', which left the package in"):
        PrivateForestClassifier.from_json(json.dumps(content))


def test_a_report_of_then_is_shown_and_not_verified():
    text = (FILES / "auto_report.json").read_text("utf-8")
    report = PrivacyReport.from_json(text)
    assert report.version == 3 and "candidates" in report.to_markdown()
    with pytest.raises(EarlierReportError, match="cannot be verified here") as refusal:
        verify_report(text)
    assert refusal.value.version == 3 and "not rely" not in str(refusal.value)
    again = pickle.loads(pickle.dumps(refusal.value))
    assert (str(again), again.problems) == (str(refusal.value), ("it is of format version 3",))


@pytest.mark.parametrize("name", ["combined_report", "auto_combined_report"])
def test_a_report_of_a_strategy_that_left_holds_and_its_plan_is_taken_at_its_word(name):
    found = verify_report(FILES / f"{name}.json")
    assert "totals of all scopes" in found.held and "plan and settings" not in found.held
    said = "the plan (its strategy 'combined' left the package in version 0.1.0)"
    assert said in found.taken_at_its_word


@pytest.mark.parametrize("name", ["combined_report", "auto_combined_report"])
def test_no_version_without_a_strategy_wrote_a_report_of_it(name):
    data = json.loads((FILES / f"{name}.json").read_text("utf-8"))
    data["versions"]["dpforest"] = dpforest.__version__
    with pytest.raises(ReportError, match="its strategy 'combined' left the package in version"):
        verify_report(with_its_digest(data))


@pytest.mark.parametrize("name", ["combined_report", "auto_combined_report"])
def test_a_change_of_such_a_report_is_found(name):
    data = json.loads((FILES / f"{name}.json").read_text("utf-8"))
    data["guarantee"]["bounds"][0]["epsilon"] = 0.5
    with pytest.raises(ReportError, match="does not hold: the guarantee does not follow"):
        verify_report(with_its_digest(data))


def with_its_digest(data):
    """A report as whoever changed it would write it."""
    report = PrivacyReport.from_json(json.dumps(data))
    return report.model_copy(update={"digest": report_digest(report)}).to_json()


def test_a_report_names_the_version_of_the_code_that_runs():
    """Whatever an installer noted when it laid a link to the code."""
    assert library_versions()["dpforest"] == dpforest.__version__


def test_a_report_names_the_code_that_runs():
    """Every file of it counts, by its place and its text, but for ends of lines."""
    assert library_versions()[CODE] == code_digest(Path(dpforest.__file__).parent) != UNKNOWN


def test_the_digest_of_code_is_of_names_and_texts(tmp_path):
    (tmp_path / "in").mkdir()
    one, other = tmp_path / "a.py", tmp_path / "in" / "b.py"
    digests = {code_digest(tmp_path)}
    assert digests == {UNKNOWN}
    for place, text in [(one, b""), (other, b"x"), (one, b"x\n"), (other, b""), (other, b"x\ny")]:
        place.write_bytes(text)
        assert code_digest(tmp_path) not in digests
        digests.add(code_digest(tmp_path))
    one.write_bytes(b"x\r\n")
    (tmp_path / "in" / "b.txt").write_bytes(b"other")
    assert code_digest(tmp_path) in digests
    one.rename(tmp_path / "c.py")
    assert code_digest(tmp_path) not in digests
    (tmp_path / "d.py").mkdir()  # what cannot be read ends no fit
    assert code_digest(tmp_path) == UNKNOWN


@pytest.mark.parametrize("note", [None, "Name: numba\n"])
def test_what_an_installer_left_behind_ends_no_fit(note, tmp_path, monkeypatch):
    """An empty folder of notes, or notes without a version, of which Python says None."""
    notes = tmp_path / "numba-0.dist-info"
    notes.mkdir()
    if note is not None:
        (notes / "METADATA").write_text(note)
    monkeypatch.syspath_prepend(tmp_path)
    library_versions.cache_clear()
    try:
        versions = library_versions()
        domain = dpforest.Domain(features={"a": (0, 1)}, classes=[0, 1], approximate_rows=60)
        forest = dpforest.PrivateForestClassifier(epsilon=9, domain=domain, strategy="one_shot")
        report = forest.fit([[0.5], [0.1]] * 30, [0, 1] * 30).privacy_report()
    finally:
        library_versions.cache_clear()
    assert versions["numba"] == NOT_INSTALLED and versions["numpy"] == np.__version__
    verify_report(report, forest)
