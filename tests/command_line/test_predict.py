"""What commands make of a forest: predictions, explanations, reports, exports; and audits."""

from __future__ import annotations

import csv
import io
import json
import time

import numpy as np
import pytest

from dpforest import Domain, PrivateForestClassifier, Signer, read_plain, sign_report
from dpforest.audit.result import AuditResult
from dpforest.command_line import auditing
from dpforest.exceptions import ReportError

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

PREDICT = "predict forest/model.json stays.csv"
FIT = "fit stays.csv --target back --domain domain.json --epsilon 1 --yes"


@pytest.fixture
def forest(stored):
    return PrivateForestClassifier.from_json(stored / "forest" / "model.json")


@pytest.fixture
def rows(stored):
    with (stored / "stays.csv").open() as file:
        return list(csv.DictReader(file))


def features(rows):
    return pa.table({name: [row[name] for row in rows] for name in ("age", "ward")})


def test_predictions_are_those_of_the_forest(good, forest, rows):
    found = list(csv.DictReader(io.StringIO(good(f"{PREDICT} --probabilities --id stay"))))
    X = features(rows)
    assert [row["stay"] for row in found] == [row["stay"] for row in rows]
    assert [row["prediction"] for row in found] == forest.predict(X).tolist()
    shares = [[float(row[f"probability of {label}"]) for label in ["no", "yes"]]
              for row in found]  # fmt: skip
    assert np.array_equal(shares, forest.predict_proba(X))


def test_parquet_in_and_out(good, here, forest, rows):
    table = {name: [row[name] for row in rows] for name in ("ward", "stay")}
    table["age"] = [int(row["age"]) for row in rows]
    parquet.write_table(pa.table(table), here / "stays.parquet")
    good("predict forest/model.json stays.parquet --id stay --output out.parquet")
    found = parquet.read_table(here / "out.parquet").to_pydict()
    assert list(found) == ["stay", "prediction"] and found["stay"][7] == "0007"
    X = features(rows)
    assert found["prediction"] == forest.predict(X).tolist()
    assert (here / "out.parquet").stat().st_mode & 0o77 == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"{PREDICT} --json", "--output"),
        (f"{PREDICT} --output domain.json", "is there already"),
        ("predict forest/report.json stays.csv", "not a dpforest-model but a report. Give"),
        ("predict none.json stays.csv", "there is none"),
        ("predict stays.csv stays.csv", "not JSON"),
        ("predict forest/model.json none.csv", "none.csv"),
        (f"{PREDICT} --id none", "no column 'none'"),
        (f"{PREDICT} --id prediction", "is the name of a column of predictions"),
    ],
)
def test_refusals_of_predict(ask, line, words):
    code, out, err = ask(line)
    assert code == 2 and not out and words in err


def test_a_table_without_a_feature_is_refused_by_its_header(ask, here):
    (here / "less.csv").write_text("age\n\x00\n")
    code, out, err = ask("predict forest/model.json less.csv")
    assert code == 2 and not out and "no column 'ward'" in err


def written_parquet(good, line):
    good(f"{line} --output out.parquet --force")
    return parquet.read_table("out.parquet")


def mixed_forest(labels):
    """A forest that knows its two classes apart, and the table that it was fitted to."""
    ages = np.repeat([10.0, 90.0], 50)
    domain = Domain(features={"age": (0, 100)}, classes=labels, approximate_rows=100)
    forest = PrivateForestClassifier(epsilon=100, domain=domain, random_state=0)
    return forest.fit(ages[:, None], [labels[int(age > 50)] for age in ages]), ages


@pytest.mark.filterwarnings("ignore::dpforest.LargeEpsilonWarning")
@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([1, "x"], "string"),
        ([1, 2**70], "string"),
        ([-1, 2**63], "string"),
        ([1, 2**63], "uint64"),
        ([1, 2], "int64"),
        ([0.5, 2], "double"),
    ],
)
def test_the_type_of_predictions_goes_by_the_classes_not_by_those_that_occur(
    good, here, labels, kind
):
    forest, ages = mixed_forest(labels)
    forest.to_json(here / "mixed.json")
    for name, some in (("low", ages < 50), ("high", ages > 50)):
        parquet.write_table(pa.table({"age": ages[some]}), here / f"{name}.parquet")
    found = written_parquet(good, "predict mixed.json low.parquet high.parquet")
    assert found.schema.field("prediction").type == kind
    assert [str(label) for label in found["prediction"].to_pylist()] == [
        str(forest.classes_.tolist()[int(age > 50)]) for age in ages
    ]


def test_files_without_records_have_predictions_of_nobody(good, here):
    (here / "nobody.csv").write_text("stay,age,ward\n")
    line = "predict forest/model.json nobody.csv --id stay --probabilities"
    names = ["stay", "prediction", "probability of no", "probability of yes"]
    assert good(line).splitlines() == [",".join(names)]
    found = written_parquet(good, line)
    assert found.column_names == names and found.num_rows == 0


def test_a_column_of_two_types_is_refused_in_parquet_without_a_value_of_it(ask, here):
    for name, stays in (("one", [1, 2]), ("two", ["3", "secret"])):
        columns = {"stay": stays, "age": [1, 2], "ward": ["north", "south"]}
        parquet.write_table(pa.table(columns), here / f"{name}.parquet")
    line = "predict forest/model.json one.parquet two.parquet --id stay --output"
    code, _, err = ask(f"{line} out.parquet")
    assert code == 2 and "--id='stay'" in err and "secret" not in err and "Traceback" not in err
    assert not list(here.glob("*out.parquet*"))
    assert ask(f"{line} out.csv")[0] == 0


@pytest.mark.parametrize(
    "column", [["--id", "prediction"], ["--probabilities", "--id", "probability of yes"]]
)
def test_no_column_of_predictions_takes_the_place_of_one_that_is_handed_on(ask, here, column):
    """A fit is refused before anything is charged, as all that can be told beforehand."""
    for line in (PREDICT, f"{FIT} --output new --predict stays.csv"):
        code, out, err = ask(line, *column)
        assert code == 2 and not out and "is the name of a column of predictions" in err
    assert not (here / "new").exists()


def test_probabilities_of_a_regression_are_refused_before_a_fit_is_charged(ask, here):
    domain = Domain(features={"age": (0, 110)}, target=(0, 400), approximate_rows=400)
    domain.to_json(here / "target.json")
    line = FIT.replace("--target back --domain domain", "--target stay --domain target")
    code, out, err = ask(f"{line} --output new --predict stays.csv --probabilities")
    assert code == 2 and not out and "a regression" in err and not (here / "new").exists()


def test_predictions_that_fail_leave_no_file(ask, here):
    (here / "odd.csv").write_text("age,ward\n1,north\n2\n")
    code, _, err = ask("predict forest/model.json odd.csv --output out.csv")
    assert code == 2 and "no record" in err and "--id" in err
    assert not list(here.glob("*out.csv*"))


def test_a_column_without_a_number_is_told_of_by_predict_and_not_by_a_fit(ask, here, rows):
    lines = [f'{row["stay"]},"{row["age"]},5",{row["ward"]},{row["back"]}' for row in rows]
    (here / "commas.csv").write_text("\n".join(["stay,age,ward,back", *lines]) + "\n")
    code, out, err = ask("predict forest/model.json commas.csv")
    assert code == 0 and out and err.count("no value of 'age' is a number") == 1
    assert "40,5" not in err and "400" not in err
    code, _, err = ask(f"{FIT} --output new --predict commas.csv")
    assert code == 0 and "'age'" not in err and (here / "new" / "predictions.csv").exists()


def test_explain(good, here, ask):
    words = good("explain forest/model.json --feature ward")
    assert words.startswith("share of the effect") and "north" in words and "yes" in words
    pytest.importorskip("matplotlib")
    good("explain forest/model.json --plot learnt.svg")
    assert "<svg" in (here / "learnt.svg").read_text()
    code, _, err = ask("explain forest/model.json --feature none")
    assert code == 2 and "none" in err
    assert ask("explain forest/model.json --plot learnt.svg")[0] == 2


@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_a_plot_is_the_same_bytes_at_any_time(kind, good, here, monkeypatch):
    """So it says nothing of when, and in which zone, somebody looked at a model."""
    pytest.importorskip("matplotlib")
    for number, zone in enumerate(("America/St_Johns", "Pacific/Kiritimati")):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        good(f"explain forest/model.json --plot {number}.{kind}")
    monkeypatch.delenv("TZ")
    time.tzset()
    first, second = ((here / f"{number}.{kind}").read_bytes() for number in range(2))
    assert first == second and b"CreationDate" not in first and b"<dc:date>" not in first


def test_a_hostile_model_steers_no_terminal(good, ask, here, stored):
    text = (stored / "forest" / "model.json").read_text()
    for name in ("ward", "north", "yes"):
        assert f'"{name}"' in text
        text = text.replace(f'"{name}"', f'"{name}\\u001b]0;owned\\u0007\\u001b[2J\\u202e"')
    (here / "evil.json").write_text(text)
    ward = json.loads('"ward\\u001b]0;owned\\u0007\\u001b[2J\\u202e"')
    said = [
        ask("explain evil.json", "--feature", ward),
        ask("export evil.json --form text"),
        ask("report show evil.json"),
        ask("explain evil.json --feature none"),
        ask("predict evil.json stays.csv"),
    ]
    for _, out, err in said:
        assert (out + err).replace("\n", "").isprintable()
    assert said[0][0] == 0 and r"\x1b" in said[0][1]


def test_a_report_in_a_file_is_said_to_be_as_it_was_written(ask, here, stored):
    for asked in ("show forest/report.json", "diff forest/model.json forest/report.json"):
        code, _, err = ask(f"report {asked}")
        assert code == 0 and "dpforest report verify says whether it holds" in err
    for asked in ("show forest/model.json", "diff forest/model.json forest/model.json"):
        assert ask(f"report {asked}")[2] == ""


def test_reports_are_shown_in_every_form(good, here, stored):
    assert good("report show forest/report.json") == good("report show forest/model.json")
    page = good("report show forest/report.json --form html")
    assert page.startswith("<!DOCTYPE html>")
    good("report show forest/report.json --form json --output copy.json")
    assert (here / "copy.json").read_text() == (stored / "forest" / "report.json").read_text()


def test_a_report_holds_or_not(ask, here, stored):
    line = "report verify forest/report.json --model forest/model.json"
    assert ask(line)[0] == 0
    text = (stored / "forest" / "report.json").read_text()
    (here / "edited.json").write_text(text.replace('"epsilon_float": 1.0', '"epsilon_float": 0.5'))
    assert (here / "edited.json").read_text() != text
    code, out, err = ask("report verify edited.json --json")
    result = json.loads(out)["result"]
    assert code == 1 and not result["holds"] and result["problems"] and not err
    code, out, err = ask("report verify none.json")
    assert code == 2 and not out and "there is none" in err and "does not hold" not in err


def test_markdown_is_no_report_to_verify_and_no_false_one(ask, good):
    good("report show forest/report.json --output report.md")
    code, out, err = ask("report verify report.md")
    assert code == 2 and not out and "Markdown, which carries no figures to check" in err
    assert "Give the page (.html) or the JSON" in err and "not JSON" not in err


def test_of_very_many_problems_some_are_shown_and_all_are_in_the_answer(ask, stored, monkeypatch):
    problems = tuple(f"figure {number} is another" for number in range(500))

    def refuse(*arguments, **named):
        raise ReportError(problems)

    monkeypatch.setattr("dpforest.command_line.reports.verify_report", refuse)
    code, out, _ = ask("report verify forest/report.json")
    assert code == 1 and "figure 22 is another\nand 477 more: --json lists all" in out
    assert "figure 23 " not in out
    found = json.loads(ask("report verify forest/report.json --json")[1])["result"]["problems"]
    assert found == list(problems)


def test_a_page_and_a_file_that_an_editor_marked_are_shown_as_the_report(good, here, stored):
    shown = good("report show forest/report.json")
    text = (stored / "forest" / "report.json").read_text(encoding="utf-8")
    (here / "marked.json").write_text(text, encoding="utf-8-sig")
    assert good("report show marked.json") == shown
    pytest.importorskip("jinja2")
    assert good("report show forest/report.html") == shown
    assert good("report diff forest/report.html marked.json") == "The reports say the same."


def test_an_edited_page_is_found_and_a_signed_one_holds(ask, here, stored):
    pytest.importorskip("jinja2")
    assert ask("report verify forest/report.html --model forest/model.json")[0] == 0
    text = (stored / "forest" / "report.html").read_text()
    (here / "edited.html").write_text(text.replace("For the person", "For a person"))
    code, out, _ = ask("report verify edited.html")
    assert code == 1 and "its words or its markup were changed" in out
    pytest.importorskip("cryptography", reason="the extra ledger-signatures is not installed")
    signer = Signer.new()
    sign_report(stored / "forest" / "report.html", signer, here / "signature.json")
    line = "report verify forest/report.html --signature signature.json"
    assert ask(f"{line} --public-key {signer.public_key}")[0] == 0
    assert ask(f"{line} --public-key {Signer.new().public_key}")[0] == 1
    assert ask(line)[0] == 2


def test_reports_are_compared(ask, good, here):
    good("fit stays.csv --target back --domain domain.json --epsilon 2 --strategy one_shot "
         "--seed 5 --yes --no-html --output other")  # fmt: skip
    line = "report diff forest/report.json other/report.json"
    code, out, _ = ask(f"{line} --exit-code")
    assert code == 1 and "budget" in out
    assert ask(line)[0] == 0
    assert ask("report diff forest/report.json forest/model.json --exit-code")[0] == 0


def test_the_plain_form_is_the_forests_own(good, here, forest):
    assert good("export forest/model.json") == forest.to_plain().rstrip("\n")
    good("export forest/model.json --output plain.json")
    read_plain(here / "plain.json")


def test_a_tree_is_shown_as_text(good, ask, forest):
    assert good("export forest/model.json --form text") == forest.export_text().rstrip("\n")
    assert good("export forest/model.json --form text --tree 0") == forest.export_text(0).rstrip()
    statement = good("export forest/model.json --form sql --table clinic stays --keep stay")
    assert statement == forest.to_sql(table=("clinic", "stays"), keep=["stay"]).rstrip("\n")
    code, _, err = ask("export forest/model.json --form sql --table clinic.stays")
    assert code == 2 and "--table clinic records" in err and "('clinic.stays',)" in err
    assert ask("export forest/model.json --form sql --max-bytes 99")[0] == 2
    assert ask("export forest/model.json --form sql --columns one")[0] == 2
    assert ask("export forest/model.json --form text --tree 999")[0] == 2


def test_an_audit_ends_with_1_where_the_claim_is_broken(ask, monkeypatch):
    line = "audit --domain domain.json --epsilon 1 --strategy one_shot --runs 20"
    code, out, err = ask(f"{line} --json")
    data = json.loads(out)["result"]["audit"]
    assert code == 0 and data["verdict"] == "inconclusive" and "some 40 forests" in err
    broken = AuditResult(**data | {"verdict": "violates"})
    monkeypatch.setattr(auditing, "audit", lambda forest, **more: broken)
    assert ask(line)[0] == 1
