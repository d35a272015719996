"""Fits without a guarantee of their own are counted, however they came into the ledger."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dpforest import Domain, MultinomialForestClassifier
from dpforest.__main__ import main
from dpforest.exceptions import ParameterError, PrivacyLeakWarning
from dpforest.ledger import bodies
from dpforest.ledger.chain import Head, Row, checked_chain
from dpforest.ledger.guarantee_marks import all_marked, count_marks
from dpforest.ledger.imported_fits import imported_fit
from dpforest.ledger.page import ledger_html
from dpforest.ledger.status import status_of
from dpforest.report.digests import digest_of

HERE = Path(__file__).parent
DOMAIN = Domain(features={"a": (0, 9), "b": (0, 9)}, classes=[0, 1], approximate_rows=40)
X = np.random.default_rng(0).random((40, 2))
Y = np.arange(40) % 2
STATUSES = ["holds", "demonstration", "void"]


@pytest.fixture(scope="module")
def helpers(load_helper):
    return load_helper(HERE / "helpers.py")


@pytest.fixture
def ledger(helpers, tmp_path):
    made = helpers.ledger_at(tmp_path / "claims.ledger")
    made.register("claims", domain=DOMAIN, rho=9, delta=1e-6)
    yield made
    made.close()


def fitted(status, accountant=None):
    """A fit whose own guarantee has a status."""
    seed = 7 if status == "demonstration" else None
    forest = MultinomialForestClassifier(
        epsilon=1, domain=DOMAIN, n_estimators=1, max_depth=1, random_state=seed,
        accountant=accountant,
    )  # fmt: skip
    if status == "void":
        with pytest.warns(PrivacyLeakWarning, match="void"):
            make_pipeline(StandardScaler(), forest).fit(X, Y)
    else:
        forest.fit(X, Y)
    assert forest.guarantee_.status == status
    return forest


def check(ledger, lacking):
    """What status, page and shell say of the data set."""
    status = ledger.status("claims")
    assert status.lacking == lacking
    page = ledger.page()
    claim = "for all releases together, whoever makes them"
    assert claim in page
    said = ", ".join(f"{count} {mark}" for mark, count in lacking.items())
    but = f"without a guarantee of its own ({said})"
    assert (but in page) == bool(lacking) == ("guarantee of its own" in page)
    assert ("the cap does not speak of fits" in str(status)) == bool(lacking)
    assert said in str(status)


@pytest.mark.parametrize("status", STATUSES)
def test_a_fit_that_is_imported_bears_the_mark_of_its_report(
    status, ledger, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("DPFOREST_LEDGER", ledger.url)
    monkeypatch.setenv("DPFOREST_ACTOR", "olga")
    path = str(tmp_path / "report.json")
    fitted(status).privacy_report().to_json(path)
    assert main(["ledger", "import", path, "--into", "claims", "--reason", "before"]) == 0
    assert ("the cap does not speak of" in capsys.readouterr().out) == (status != "holds")
    assert ledger.log("claims")[-1].body.guarantee == status
    check(ledger, {} if status == "holds" else {status: 1})
    assert main(["ledger", "status", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["data_sets"][0]
    assert shown["lacking"] == ({} if status == "holds" else {status: 1})


def test_a_report_whose_status_is_not_that_of_its_facts_is_not_imported(ledger):
    data = json.loads(fitted("void").privacy_report().to_json())
    data.pop("digest")
    data["guarantee"]["status"] = "holds"
    text = json.dumps(data | {"digest": digest_of(data)})
    with pytest.raises(ParameterError, match="does not follow from its own facts"):
        imported_fit(text, ledger.status("claims").facts)


@pytest.mark.parametrize("by", ["report", "export"])
@pytest.mark.parametrize("status", STATUSES)
def test_a_lost_fit_that_is_charged_again_bears_its_mark(status, by, ledger, helpers, tmp_path):
    ledger.backup(tmp_path / "backup")
    report = fitted(status, ledger.accountant("claims")).privacy_report().to_json()
    marks = {} if status == "holds" else {status: 1}
    check(ledger, marks)
    witness = report if by == "report" else ledger.export_json()
    with helpers.ledger_at(tmp_path / "backup") as restored:
        restored.note("claims", "so that an export is no mere continuation")
        assert restored.status("claims").lacking == {}
        restored.recover("claims", [witness], write_off=0, reason="no fit ran since")
        assert restored.log("claims")[-2].body.guarantee == status
        check(restored, marks)


def test_what_a_witness_does_not_know_is_not_known(ledger, helpers, tmp_path):
    """A report speaks of its own fit alone; an export of what was settled by then."""
    ledger.backup(tmp_path / "backup")
    forest = MultinomialForestClassifier(epsilon=1, domain=DOMAIN, n_estimators=1, max_depth=1)
    campaign = ledger.campaign("claims", [forest, forest])
    report = forest.set_params(accountant=campaign).fit(X, Y).privacy_report().to_json()
    export = ledger.export_json()
    for name, witness in (("one", report), ("two", export)):
        shutil.copy(tmp_path / "backup", tmp_path / name)
        with helpers.ledger_at(tmp_path / name) as restored:
            restored.note("claims", "another entry")
            restored.recover("claims", [witness], write_off=0, reason="no fit ran since")
            check(restored, {"unknown": 1})


def test_a_mark_is_the_worst_of_a_reserves_fits():
    assert all_marked(["holds", "holds"], 2) == "holds"
    assert all_marked(["holds", "demonstration"], 2) == "demonstration"
    assert all_marked(["holds", "", "void"], 3) == "void"
    assert all_marked(["holds", "demonstration"], 3) == all_marked(["holds", ""], 2) == ""


@pytest.mark.parametrize(
    ("outcome", "guarantee", "mark"),
    [("done", None, "unknown"), ("failed", None, ""), ("done", "holds", ""),
     ("done", "void", "void"), ("done", "none", "void"), ("failed", "void", "void"),
     ("done", "demonstration", "demonstration")],
)  # fmt: skip
def test_who_settles_says_whether_the_guarantee_holds(outcome, guarantee, mark, ledger, helpers):
    """Until then, and where nobody says so, it is not known."""
    held = ledger.reserve("claims", helpers.charge("1/8", domain=DOMAIN))
    check(ledger, {})
    ledger.start("claims", held.id)
    check(ledger, {"unknown": 1})
    entry = ledger.settle("claims", held.id, outcome=outcome, guarantee=guarantee)
    assert entry.body.guarantee == mark
    check(ledger, {mark: 1} if mark else {})


def test_what_nobody_vouches_for_is_not_known(ledger):
    ledger.charge_elsewhere("claims", 7, "a mean")
    ledger.charge_elsewhere("claims", 7, "lost", write_off=True)
    check(ledger, {"unknown": 2})
    ledger.charge_elsewhere("claims", 7, "a sound mean", guarantee="holds")
    check(ledger, {"unknown": 2})
    ledger.charge_elsewhere("claims", 7, "a leak", guarantee="none")
    check(ledger, {"void": 1, "unknown": 2})


def test_parts_of_a_campaign_are_counted_one_by_one(ledger, helpers):
    held = ledger.reserve("claims", helpers.charge("1/8", parts=4, domain=DOMAIN))
    for part in range(3):
        ledger.start("claims", held.id, part)
    ledger.settle("claims", held.id, 0, guarantee="void")
    ledger.settle("claims", held.id, 1, guarantee="void")
    check(ledger, {"void": 2, "unknown": 1})


def test_marks_of_version_1_are_counted_from_its_entries():
    """States of version 1 hold no numbers of marks, and are read to the byte."""
    stored = json.loads((HERE / "marked_version_1.json").read_text(encoding="ascii"))
    rows = []
    for number, one in enumerate(stored["rows"]):
        data = json.loads(one["text"])
        rows.append(
            Row("claims", number, data["id"], data["kind"], one["text"], one["hash"], "", "")
        )
    head = Head("claims", len(rows) - 1, rows[-1].hash, stored["state"])
    chain = checked_chain(rows, head, stored["ledger"], "claims")
    assert chain.state.text == stored["state"] and chain.state.facts.version == 1
    found = {"void": 1, "demonstration": 1, "unknown": 2}
    assert count_marks(chain.state, chain.entries) == found
    assert status_of(chain.state, head.hash, "", chain.entries).lacking == found
    assert "(1 void, 1 demonstration, 2 unknown)" in ledger_html(
        stored["ledger"], [(chain.state, chain.entries)]
    )


def test_a_ledger_goes_on_with_data_sets_of_version_1(helpers, tmp_path):
    made = helpers.ledger_at(tmp_path / "old.ledger")
    body = helpers.opening(version=1, ledger=made.id, owners={"olga": ""})
    made.write("claims", body)
    for mark in ("void", "holds"):
        held = made.reserve("claims", helpers.charge("1/8"))
        made.start("claims", held.id)
        made.settle("claims", held.id, guarantee=mark)
    made.charge_elsewhere("claims", 7, "a leak", guarantee="void")
    assert made.chain("claims").state.lacking == {}
    check(made, {"void": 2})
    assert bodies.VERSION > 1
    made.close()
