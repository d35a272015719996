"""``dpforest domain``: drafts and checks are private, confirmed files hold nothing of a draft."""

from __future__ import annotations

import io
import json
import sys

import pytest

from dpforest import Domain
from dpforest.__main__ import main
from dpforest.exceptions import DraftedBoundsWarning

DRAFT = "domain draft stays.csv --target back --drop stay --output draft.json"


def test_a_draft_is_private_and_tells_nothing_on_stdout(ask, here):
    code, out, err = ask(DRAFT)
    assert (code, out) == (0, "draft: draft.json") and "curator's eyes alone" in err
    domain = Domain.from_json(here / "draft.json")
    assert domain.feature_names == ("age", "ward") and domain.classes.labels == ("no", "yes")
    assert set(domain.drafted_entries) == {"age", "ward", "classes"}
    assert (here / "draft.json").stat().st_mode & 0o77 == 0


def test_a_draft_that_was_edited_stays(ask, here, good):
    good(DRAFT)
    (here / "draft.json").write_text("edited")
    code, out, err = ask(DRAFT)
    assert code == 2 and not out and "is there already" in err
    assert (here / "draft.json").read_text() == "edited"
    good(f"{DRAFT} --force --rows 400")
    assert Domain.from_json(here / "draft.json").approximate_rows == 400


@pytest.mark.parametrize(
    ("cells", "labels", "target"),
    [("0 1 1", (0, 1), None), ("0.5 1 2", None, (0.5, 2)), ("a b a", ("a", "b"), None)],
)
def test_labels_are_drafted_as_the_file_has_them(good, here, cells, labels, target):
    rows = "\n".join(f"{k},{cell}" for k, cell in enumerate(cells.split()))
    (here / "t.csv").write_text(f"a,y\n{rows}\n,\n")
    good("domain draft t.csv --target y --output t.json")
    domain = Domain.from_json(here / "t.json")
    assert (domain.classes and domain.classes.labels) == labels
    assert (domain.target and (domain.target.lower, domain.target.upper)) == target


def test_codes_are_categories_only_if_somebody_says_so(ask, good, here, monkeypatch):
    rows = "\n".join(f"{k % 3},{k},{'ny'[k % 2]}" for k in range(60))
    (here / "t.csv").write_text(f"code,number,y\n{rows}\n")
    line = "domain draft t.csv --target y --output t.json --force"
    _, _, err = ask(line)
    assert "--categorical" in err and "code," not in err and ": code" not in err
    assert Domain.from_json(here / "t.json").features[0].kind == "numeric"
    good(f"{line} --categorical code")
    assert Domain.from_json(here / "t.json").features[0].categories == ("0", "1", "2")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "Few of them are in: code" in ask(line)[2]
    code, _, err = ask(f"{line} --categorical number")
    assert code == 2 and "'number'" in err and "--categorical" not in err  # with its own reason


def test_codes_with_leading_zeros_stay_codes(good, here):
    """As in Python, of a table that was read as text."""
    rows = [f"{k % 7 + 1:02d},{k + 1},{k + 9:05d},{k},{'ny'[k % 2]}" for k in range(60)]
    rows[3] = rows[3].replace(",4,", ",004,")  # a slip among numbers of many lengths
    text = "ward,number,patient,age,y\n" + "\n".join(rows) + "\n,,00099,,n\n"
    (here / "t.csv").write_text(text)
    good("domain draft t.csv --target y --output t.json")
    ward, *others = Domain.from_json(here / "t.json").features
    assert ward.categories == tuple(f"{k:02d}" for k in range(1, 8)) and ward.missing
    assert [feature.kind for feature in others] == ["numeric"] * 3
    table = pytest.importorskip("pandas").read_csv(here / "t.csv", dtype=str)
    drafted = Domain.draft(table.drop(columns="y"), table["y"])
    assert [str(f) for f in drafted.features] == [str(f) for f in (ward, *others)]


#: Files that allow of no draft, with options, and what a terminal is told.
NO_DRAFT = {
    "one class": ("a,y\n1,n\n2,n\n", "", "hold 1 class"),
    "no number": ("a,y\n1,n\n2,y\n", "--task regression", "no finite number"),
    "no class": ("a,y\n1,0.5\n2,1\n", "--task classification", "discrete classes"),
    "labels of dates": ("a,y\n1,2020-01-01\n2,2020-01-02\n", "", "every value is a date"),
    "no records": ("a,y\n1,n,\n2,y,\n", "", "row.names=FALSE"),
    "no codes": ("a,y\n1,n\n2,y\n", "--categorical a", "few whole numbers"),
}


def test_no_log_tells_why_records_allow_of_no_draft(ask, here, monkeypatch):
    said = set()
    for text, options, _ in NO_DRAFT.values():
        (here / "t.csv").write_text(text)
        said.add(ask(f"domain draft t.csv --target y --output t.json {options}"))
    ((code, out, err),) = said
    assert code == 2 and not out and "Draft at a terminal" in err and "t.csv" in err
    assert not (here / "t.json").exists()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    for text, options, reason in NO_DRAFT.values():
        (here / "t.csv").write_text(text)
        code, _, err = ask(f"domain draft t.csv --target y --output t.json {options}")
        assert code == 2 and reason in err and "Draft at a terminal" not in err


def closed_stream():
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stderr", [None, closed_stream()], ids=["none", "closed"])
def test_without_stderr_a_draft_is_made_or_refused_and_is_no_fault(stderr, here, monkeypatch):
    """A fault would have the reason, which is a fact about the records, in its context."""
    monkeypatch.setattr(sys, "stderr", stderr)
    for text, options, _ in NO_DRAFT.values():
        (here / "t.csv").write_text(text)
        assert main(f"domain draft t.csv --target y --output t.json {options}".split()) == 2
    assert main([*DRAFT.split(), "--force"]) == 0


def test_no_log_tells_that_a_column_holds_dates_alone(ask, good, here, monkeypatch):
    line = "domain draft t.csv --target y --output t.json --force"
    said = set()
    for cell in ("2020-01-03", "9", "ward", ""):
        (here / "t.csv").write_text(f"admitted,y\n2020-01-01,n\n2020-01-02,y\n{cell},n\n")
        said.add(ask(line))
    assert len(said) == 1 and said.pop()[0] == 0
    (here / "t.csv").write_text("admitted,y\n2020-01-01,n\n2020-01-02,y\n")
    good(line)
    assert "dates" in Domain.from_json(here / "t.json").doubts["admitted"]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "admitted: no text of it means anything" in ask(line)[2]


def test_no_log_tells_that_labels_hold_a_fraction(good, here):
    line = "domain draft t.csv --target y --output t.json --force --json"
    said = set()
    for cell in ("0", "0.5"):
        (here / "t.csv").write_text(f"a,y\n1,1\n2,2\n3,{cell}\n")
        said.add(good(line))
    assert len(said) == 1
    assert "target" in json.loads(good(f"{line} --task regression"))["result"]["lacking"]


def test_no_log_tells_why_a_column_holds_no_codes(ask, here):
    rows = "\n".join(f"{k % 3},{k},{k / 7},{'xz'[k % 2]},{'ny'[k % 2]}" for k in range(60))
    (here / "t.csv").write_text(f"code,many,parts,text,y\n{rows}\n")
    said = set()
    for name in ("many", "parts", "text"):
        line = (
            f"domain draft t.csv --target y --output t.json --categorical code --categorical {name}"
        )
        code, out, err = ask(line)
        assert code == 2 and not out and "at a terminal" in err
        said.add(err)
    assert len(said) == 1 and not (here / "t.json").exists()


def test_a_column_without_a_name_is_told_by_its_place(ask, good, here):
    """As the index that `frame.to_csv` writes."""
    (here / "t.csv").write_text(",a,y\n0,1,n\n1,2,y\n")
    line = "domain draft t.csv --target y --output t.json"
    code, out, err = ask(line)
    assert code == 2 and not out and "--drop ''" in err
    assert "draft: t.csv: its column 1 has no name" in err
    good(line, "--drop", "")
    assert Domain.from_json(here / "t.json").feature_names == ("a",)


@pytest.mark.parametrize("rows", ["", "r1,1,n\nr2,2,y\n", "1,n,\n2,y,\n"])
def test_a_file_without_records_is_refused_with_what_leaves_lines_out(ask, here, monkeypatch, rows):
    """A header alone, names of rows as R writes them, commas at the ends of lines."""
    (here / "t.csv").write_text(f"a,y\n{rows}")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, out, err = ask("domain draft t.csv --target y --output t.json")
    assert code == 2 and not out and "row.names=FALSE" in err and "shape" not in err


def test_columns_that_are_not_there_are_refused(ask):
    code, _, err = ask("domain draft stays.csv --target back --drop none --output new.json")
    assert code == 2 and "Write --drop once for each column" in err
    for name in ("none", "back"):
        line = f"domain draft stays.csv --target back --categorical {name} --output new.json"
        code, _, err = ask(line)
        assert code == 2 and "Write --categorical once for each column" in err
        assert "fact about the records" not in err
    code, _, err = ask("domain draft stays.csv --target none --output new.json")
    assert code == 2 and "it has no column 'none'" in err


def test_what_is_confirmed_holds_nothing_that_the_draft_knew(ask, good, here):
    good(DRAFT)
    (here / "sources.json").write_text('{"ward": "the house", "classes": "the question"}')
    line = "domain confirm draft.json --by A --output declared.json --sources sources.json"
    assert "not declared: age" in good(line)
    assert (here / "declared.json").stat().st_mode & 0o77 == 0  # its bounds are the records' own
    code, _, err = ask("fit stays.csv --target back --domain declared.json --epsilon 1 --yes")
    assert code == 2 and "was drafted" in err and not (here / "dpforest-output").exists()
    out = good(f"{line} --force --rows 500 --json", "--source", "age=the register")
    assert json.loads(out)["result"]["lacking"] == {}
    domain = Domain.from_json(here / "declared.json")
    assert domain.is_declared and domain.approximate_rows == 500
    assert domain.bounds_as_drafted == {} != Domain.from_json(here / "draft.json").bounds_as_drafted


def test_no_log_tells_which_bounds_are_the_drafts(ask, good, here, monkeypatch):
    good(DRAFT)
    line = ("domain confirm draft.json --by A --force --output declared.json", "--source", "age=x")
    _, _, err = ask(*line)
    assert "age" not in err
    draft = (here / "draft.json").read_text()
    (here / "draft.json").write_text(draft.replace('"lower": 0.0', '"lower": -1', 1))
    assert ask(*line)[2] == err  # whatever is left of the draft
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "age (upper)" in ask(*line)[2]


def spoil(here):
    """The same table with other spellings, a line that is no record and a value far out."""
    text = (here / "stays.csv").read_text().replace(",yes\n", ",Yes\n")
    (here / "odd.csv").write_text(text + "broken,line\n0400,300,north,no\n")


CHECK = "domain check odd.csv --target back --domain domain.json"


def test_a_check_is_for_the_curator_alone(ask, here):
    spoil(here)
    code, out, err = ask(CHECK)
    assert code == 2 and not out and "a log would keep it" in err and "Yes" not in err
    code, out, err = ask(f"{CHECK} --output check.txt")
    assert (code, out) == (0, "check: check.txt") and "Yes" not in err
    found = (here / "check.txt").read_text()
    assert found.startswith("For the curator's eyes alone.")
    assert "'Yes'" in found and "is above 110" in found
    assert "no record, and that no fit reads: 1." in found and "no fit reads: stay." in found
    assert (here / "check.txt").stat().st_mode & 0o77 == 0


def test_a_check_shows_itself_at_a_terminal(ask, here, monkeypatch):
    spoil(here)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, out, _ = ask(CHECK)
    assert code == 0 and out.startswith("For the curator's eyes alone.") and "'Yes'" in out


def test_a_check_tells_by_its_code_only_if_asked(ask, here):
    spoil(here)
    more = "--output check.txt --force"
    assert ask(f"{CHECK} {more}")[0] == 0
    assert ask(f"{CHECK} {more} --exit-code")[0] == 1
    line = f"domain check stays.csv --target back --domain domain.json {more} --exit-code"
    assert ask(line)[0] == 0


def test_domains_are_compared(ask, good, here):
    other = (here / "domain.json").read_text().replace("110", "120")
    (here / "other.json").write_text(other)
    assert good("domain diff domain.json domain.json") == "The domains say the same."
    code, out, err = ask("domain diff domain.json other.json --exit-code")
    assert code == 1 and "110" in out and "120" in out and not err
    assert ask("domain diff domain.json other.json")[0] == 0
    assert good("domain diff domain.json other.json --output changes.txt") == "diff: changes.txt"
    assert "120" in (here / "changes.txt").read_text()


@pytest.mark.parametrize("files", ["draft.json domain.json", "domain.json draft.json",
                                   "draft.json draft.json"])  # fmt: skip
@pytest.mark.parametrize("more", ["", "--json", "--exit-code"])
def test_no_log_tells_how_a_draft_differs(ask, good, here, files, more):
    good(DRAFT)
    code, out, err = ask(f"domain diff {files} {more}")
    assert code == 2 and not out and "a log would keep it" in err and "99" not in err
    good(f"domain diff {files} {more.replace('--exit-code', '')} --output changes.txt")
    assert (here / "changes.txt").stat().st_mode & 0o77 == 0
    assert ("99" in (here / "changes.txt").read_text()) == ("domain" in files)


def test_how_a_draft_differs_is_shown_at_a_terminal(ask, good, monkeypatch):
    good(DRAFT)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, out, err = ask("domain diff domain.json draft.json")
    assert code == 0 and "99" in out and "for the curator's eyes alone" in err


@pytest.mark.parametrize("text", ["", "{", '{"format": "other"}', '{"columns": 3}'])
def test_a_bad_domain_is_bad_input(ask, here, text):
    (here / "bad.json").write_text(text)
    for line in (
        "plan --domain bad.json --epsilon 1",
        "domain diff bad.json domain.json",
        "domain check stays.csv --target back --domain bad.json --output check.txt",
    ):
        code, out, err = ask(line)
        assert code == 2 and not out and err.startswith("dpforest ")
    assert not (here / "check.txt").exists()


def test_a_header_that_does_not_fit_is_told_with_what_helps(ask, here):
    text = (here / "stays.csv").read_text()
    (here / "semi.csv").write_text(text.replace(",", ";"))
    line = "domain draft {} --target {} --output new.json"
    code, _, err = ask(line.format("semi.csv", "back") + " --drop stay")
    assert code == 2 and "no comma" in err and "stay;" not in err  # it may be a record
    assert "sep=';'" in err
    (here / "tabs.csv").write_text(text.replace(",", "\t"))
    _, _, err = ask(line.format("tabs.csv", "back") + " --drop stay")
    assert r"sep='\t'" in err
    code, _, err = ask(line.format("stays.csv", "Back"))
    assert code == 2 and "Its own is written 'back'" in err
    code, _, err = ask(line.format("stays.csv", "none"))
    assert code == 2 and "Every file needs a header" in err and "ward" not in err
    (here / "stays.xlsx").write_text(text)
    code, _, err = ask(line.format("stays.xlsx", "back"))
    assert code == 2 and "Excel" in err
    for absent in ("folder", "stays.csv folder", "stays.txt"):
        code, _, err = ask(line.format(absent, "back"))
        assert code == 2 and f"{absent.split()[-1]!r}: " in err and "there" in err


def test_a_table_without_a_record_is_none_that_a_fit_would_use(ask, here):
    head, *records = (here / "stays.csv").read_text().splitlines()
    (here / "commas.csv").write_text("\n".join([head, *(f"{record}," for record in records)]))
    line = "domain check commas.csv --target back --domain domain.json --output check.txt"
    assert ask(line)[0] == 0
    said = " ".join((here / "check.txt").read_text().split())
    assert "The table has no record." in said and "would use" not in said
    assert "Look for" in said and "commas at the ends of lines" in said


@pytest.mark.parametrize(
    "line", ["predict {} stays.csv", "explain {}", "report verify {}", "export {} --output p.json"]
)
def test_the_folder_of_a_fit_is_no_model_and_its_file_is_named(ask, here, line):
    (here / "fits").mkdir()
    code, _, err = ask(line.format("fits"))
    assert code == 2 and "is a folder" in err and "model.json" in err and "to_json" not in err


SOURCES = [word for n in ("age", "ward", "classes") for word in ("--source", f"{n}=the house")]
CONFIRM = "domain confirm draft.json --by A --output declared.json"


def test_a_confirmation_without_sources_says_how_to_name_them_and_leaves_no_file(ask, good, here):
    good(DRAFT)
    code, out, err = ask(f"{CONFIRM} --rows 500")
    assert code == 1 and "--source 'ENTRY=WORDS'" in err
    first, *others = out.splitlines()
    assert first == "nothing is confirmed, so no file is written" and len(others) == 3
    assert not (here / "declared.json").exists()
    code, _, err = ask("plan --domain draft.json --epsilon 1")
    assert code == 2 and "with a --source of each" in err
    code, _, err = ask(CONFIRM, *SOURCES)  # no --force is asked for
    assert code == 0 and "--source" not in err
    code, _, _ = ask(f"{CONFIRM} --force")
    assert code == 1 and Domain.from_json(here / "declared.json").is_declared  # as it was


def test_where_nothing_is_left_to_confirm_no_file_is_written(ask, good, here):
    good(DRAFT)
    good(CONFIRM, *SOURCES)
    line = "domain confirm declared.json --by A --output again.json"
    code, out, err = ask(line)
    assert (code, out) == (1, "nothing is confirmed, so no file is written")
    assert "declared already" in err and not (here / "again.json").exists()
    result = json.loads(ask(f"{line} --json")[1])["result"]
    assert (result["written"], result["lacking"]) == ([], {})
    good(f"{line} --rows 500")
    assert Domain.from_json(here / "again.json").approximate_rows == 500
    assert ask("domain confirm again.json --by A --output more.json --rows 500")[0] == 1


def test_no_log_tells_by_a_file_which_bounds_are_the_drafts(ask, good, here):
    good(DRAFT)
    sources = {"age": "a", "ward": "b", "classes": "c"}
    with pytest.warns(DraftedBoundsWarning):
        draft = Domain.from_json(here / "draft.json").confirmed("A", sources=sources)
    changed = draft.features[0].model_copy(update={"lower": -9.0, "upper": 999.0})
    said = set()
    for features in (draft.features, (changed, *draft.features[1:])):
        domain = draft.model_copy(update={"features": features})
        domain.to_json(here / "by_hand.json")
        said.add(ask("domain confirm by_hand.json --by A --output out.json"))
        assert not (here / "out.json").exists()
    assert len(said) == 1


def test_a_placeholder_that_is_left_is_told_at_a_terminal_alone(ask, here, monkeypatch):
    line = "domain confirm d.json --by A --source a=b --source classes=b --output e.json --force"
    said = []
    for terminal in (False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        for cells in ("2020-01-01 2020-01-02", "north south"):
            rows = "".join(
                f"{cell},{label}\n" for cell, label in zip(cells.split(), "ny", strict=True)
            )
            (here / "t.csv").write_text(f"a,y\n{rows}")
            ask("domain draft t.csv --target y --output d.json --force")
            said.append(ask(line))
    assert said[0] == said[1] and "placeholders" in said[0][2] and "unreadable" not in said[0][2]
    assert "the draft's 'unreadable' is still among the categories of: a." in said[2][2]
    assert "unreadable" not in said[3][2] and {code for code, *_ in said} == {0}


def test_a_model_that_is_not_there_is_no_false_report(ask, here):
    code, _, err = ask("report verify forest/report.json --model none.json")
    assert code == 2 and "there is none" in err


@pytest.mark.parametrize("command", ["draft", "check --domain domain.json"])
def test_a_target_with_a_slip_of_the_finger_is_told_at_a_terminal_alone(ask, monkeypatch, command):
    line = f"domain {command} stays.csv --target bakc --output new.json"
    code, _, err = ask(line)
    assert code == 2 and "'bakc'" in err and "Write back" not in err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, _, err = ask(line)
    assert code == 2 and "--target='bakc': is no column of the file. Write back." in err


def test_a_column_to_drop_with_a_slip_of_the_finger_is_told_at_a_terminal_alone(ask, monkeypatch):
    line = "domain draft stays.csv --target back --drop satys --output new.json"
    code, _, err = ask(line)
    assert code == 2 and "Write --drop once for each column" in err and "stay" not in err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, _, err = ask(line)
    assert code == 2 and "'satys': is no column of the file that it may name. Write stay." in err
