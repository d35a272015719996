"""The demo: the private forest on adult, its last line, its report, its refusals."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from types import SimpleNamespace

import pytest

from dpforest import ParameterError, PrivacyReport, demo
from dpforest.__main__ import main
from dpforest.demo import run_demo

KEYS = [
    "accuracy", "auc", "majority_accuracy", "baseline_accuracy", "baseline_auc", "strategy",
    "epsilon_spent", "delta", "seconds_fit", "report",
]  # fmt: skip


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    stream = io.StringIO()
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        # As users have it: every warning is an error here, and the first command shows none.
        patch.setattr("dpforest.estimators.counted.FEWEST", 0.5)
        result = run_demo(epsilon=0.5, output_dir=folder, stream=stream)
    return result, stream.getvalue(), folder


def test_the_last_line_is_the_result(shown):
    result, text, _ = shown
    assert list(result) == KEYS and json.loads(text.splitlines()[-1]) == result


def test_the_private_forest_learns_and_spends_what_was_asked(shown):
    result, text, _ = shown
    assert result["strategy"] == "additive" and "strategy additive, epsilon=0.5" in text
    assert (result["epsilon_spent"], result["delta"]) == (0.5, 0.0)
    assert "The released model is (0.5, 0)-differentially private" in text
    # Ten standard errors of a share of 12,211 records above the commonest class.
    assert result["majority_accuracy"] + 0.04 < result["accuracy"] < result["baseline_accuracy"]
    assert result["majority_accuracy"] == pytest.approx(0.7607)
    # The mean of the suite's five fits is .903 (docs/utility_results.md), and hardly one differs.
    assert result["auc"] > 0.8


def test_plan_and_forecast_come_before_the_fit(shown):
    lines = shown[1].splitlines()
    places = [
        next(i for i, line in enumerate(lines) if line.strip().startswith(start))
        for start in ("plan, before", "forecast: R = ", "adult: fitted", "majority class", "this f")
    ]
    assert places == sorted(places)


def test_the_report_is_a_page_and_data(shown):
    pytest.importorskip("jinja2")
    result, text, folder = shown
    page = folder / "privacy_report.html"
    assert result["report"] == str(page) and f"report: {page}" in text
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    report = PrivacyReport.from_json((folder / "privacy_report.json").read_text("utf-8"))
    assert report.estimator == "PrivateForestClassifier" and report.guarantee.status == "holds"
    assert report.to_markdown() == (folder / "privacy_report.md").read_text("utf-8")


def test_a_report_is_written_over_only_where_that_is_asked(shown, capsys, tmp_path):
    forest, folder = SimpleNamespace(privacy_report=lambda: shown_report(shown)), tmp_path / "new"
    folder.mkdir()
    written = demo._write_report(forest, folder, False, io.StringIO())
    written.write_text("old")
    for page in demo.REPORTS:
        (folder / page).touch()
    assert main(["demo", "--output-dir", str(folder)]) == 2
    said = capsys.readouterr()
    assert "is there already. Name another place, or write --force" in said.err and not said.out
    assert written.read_text() == "old"
    assert demo._write_report(forest, folder, True, io.StringIO()) == written
    assert written.read_text("utf-8") != "old"


def shown_report(shown):
    return PrivacyReport.from_json((shown[2] / "privacy_report.json").read_text("utf-8"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--epsilon", "0"], "epsilon=0.0"),
        (["--delta", "1"], "delta=1.0"),
        (["--strategy", "best"], "strategy='best'"),
        (["--strategy", "multinomial"], "Use MultinomialForestClassifier"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(options, said, capsys, tmp_path):
    assert main(["demo", *options, "--output-dir", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err and not list(tmp_path.iterdir())


def full(*words, **more):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_below_stdout_is_told_in_a_line_before_a_record_is_read(
    monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(demo, "_fit", lambda *all: pytest.fail("nobody would see what came of it"))
    monkeypatch.setattr(sys.stdout, "write", full)
    assert main(["demo", "--output-dir", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "No space left on device" in told
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_refused_before_the_fit(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(demo, "_fit", lambda *all: pytest.fail("its report has no place"))
    (tmp_path / "file").touch()
    assert main(["demo", "--output-dir", str(tmp_path / "file" / "folder")]) == 2
    assert "--output-dir" in capsys.readouterr().err


@pytest.mark.parametrize("state", ["missing", "closed"])
def test_without_stderr_nobody_watches_and_the_demo_goes_on(state, monkeypatch, tmp_path):
    stderr = None if state == "missing" else io.StringIO()
    if stderr is not None:
        stderr.close()
    monkeypatch.setattr(sys, "stderr", stderr)
    fits = []

    def fit(forest, *rest):
        fits.append(forest.verbose)
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_fit", fit)
    with pytest.raises(KeyboardInterrupt):
        run_demo(output_dir=tmp_path, stream=io.StringIO())
    assert fits == [0]


def test_words_go_to_a_stream_or_to_stdout_and_its_refusal_is_ours(monkeypatch, capsys):
    given = io.StringIO()
    demo._say("a line", given)
    assert given.getvalue() == "a line\n" and capsys.readouterr().out == ""
    demo._say("a line", None)
    assert capsys.readouterr().out == "a line\n"
    monkeypatch.setattr(sys.stdout, "write", full)
    with pytest.raises(ParameterError, match="what the command did otherwise stands"):
        demo._say("a line", None)
