"""No command writes over a file unasked, nor over one that it reads, whatever is forced.

Every argument of every command is told apart here: what names no place, what is read, and what is
written. A new one fails a test until it is, and its command needs a line for each file that it
reads.
"""

from __future__ import annotations

import argparse
import shutil

import pytest

from dpforest import BudgetLedger, Domain
from dpforest.__main__ import _parser
from dpforest.exceptions import ParameterError
from dpforest.ledger.opening import ledger_files
from dpforest.writing import check_new

#: Words in the place of what names no file; where an argument has none, its own name.
NO_PLACE = {
    "AMOUNT", "COLUMN", "D", "DATA_SET", "E", "ENTRY=WORDS", "ID", "K", "KEY", "N", "NAME",
    "NAME[=PUBLIC_KEY]", "P", "REQUEST", "RESERVE", "WORDS",
    "delta", "epsilon", "reason", "split_seed", "strategy", "token", "unit",
}  # fmt: skip
#: What each command reads.
READ = {
    "domain draft": "files",
    "domain confirm": "domain --sources",
    "domain check": "files --domain",
    "domain diff": "domain other",
    "report show": "report --header",
    "report verify": "report --model --signature --ledger --key",
    "report diff": "report other",
    "plan": "--domain --ledger --key",
    "fit": "files --predict --header --domain --ledger --key",
    "predict": "model files",
    "explain": "model",
    "export": "model",
    "audit": "--domain",
    "demo": "",
    "version": "",
    "ledger init": "--domain --ledger --key",
    "ledger plan": "plan --ledger --key",
    "ledger request": "plan --ledger --key",
    "ledger reserve": "plan --ledger --key",
    "ledger recover": "--witness --ledger --key",
    "ledger verify": "--witness --ledger --key",
    "ledger import": "file --ledger --key",
} | {
    f"ledger {name}": "--ledger --key"
    for name in ("status", "log", "approve", "revoke", "void", "settle", "export", "backup", "page")
}
#: What each command writes.
WRITTEN = {
    "domain draft": "--output",
    "domain confirm": "--output",
    "domain check": "--output",
    "domain diff": "--output",
    "report show": "--output",
    "plan": "--charge",
    "fit": "--output",
    "predict": "--output",
    "explain": "--plot",
    "export": "--output",
    "ledger export": "file",
    "ledger backup": "file",
    "ledger page": "file",
    "demo": "--output-dir",
}
FILES = ("", "-wal", "-shm", "-journal", "-queue")
BOOK = "--ledger sqlite:///book.ledger --as olga"
DRAFT = "domain draft stays.csv --target back"
CONFIRM = "domain confirm domain.json --by me --rows 77 --sources sources.json"
CHECK = "domain check stays.csv --target back --domain domain.json"
PLAN = "plan --domain domain.json --epsilon 1"
FIT = "fit stays.csv --target back --epsilon 1 --strategy one_shot --yes --no-html --output taken"
HOME = f"{FIT} --domain domain.json"
#: Lines by their command and by what they would lose.
LINES = {
    ("domain draft", "files"): [f"{DRAFT} --output stays.csv"],
    ("domain confirm", "domain"): [f"{CONFIRM} --output domain.json"],
    ("domain confirm", "--sources"): [f"{CONFIRM} --output sources.json"],
    ("domain check", "files"): [f"{CHECK} --output stays.csv"],
    ("domain check", "--domain"): [f"{CHECK} --output domain.json"],
    ("domain diff", "domain"): ["domain diff domain.json taken/model.json --output domain.json"],
    ("domain diff", "other"): ["domain diff taken/model.json domain.json --output domain.json"],
    ("report show", "report"): [
        "report show forest/model.json --output forest/model.json",
        "report show forest/report.json --output forest/report.json",
    ],
    ("report show", "--header"): [
        "report show forest/model.json --header taken/report.json --output taken/report.json"
    ],
    ("plan", "--domain"): [f"{PLAN} --charge domain.json", f"{PLAN} --charge link.json"],
    ("plan", "--ledger"): [
        *(f"{PLAN} {BOOK} --data-set stays --charge book.ledger{end}" for end in FILES),
        f"{PLAN} --ledger sqlite:///link.ledger --data-set stays --charge book.ledger-wal",
    ],
    ("plan", "--key"): [f"{PLAN} {BOOK} --data-set stays --key olga.key --charge olga.key"],
    ("fit", "files"): [
        f"{HOME.replace('stays.csv', 'taken/predictions.csv')}",
        f"{HOME.replace('stays.csv', 'taken')} --format csv",
    ],
    ("fit", "--predict"): [
        f"{HOME} --predict taken/predictions.csv",
        f"{HOME} --format csv --predict taken",
    ],
    ("fit", "--header"): [f"{HOME} --header taken/report.json"],
    ("fit", "--domain"): [f"{FIT} --domain taken/model.json"],
    ("fit", "--ledger"): [f"{HOME} --ledger sqlite:///taken/report.html --data-set stays"],
    ("fit", "--key"): [f"{HOME} --key taken/report.html {BOOK} --data-set stays"],
    ("predict", "model"): ["predict forest/model.json stays.csv --output forest/model.json"],
    ("predict", "files"): ["predict forest/model.json stays.csv --output stays.csv"],
    ("explain", "model"): ["explain forest/model.json --plot forest/model.json"],
    ("export", "model"): ["export forest/model.json --output forest/model.json"],
} | {
    (f"ledger {name}", lost): [f"ledger {name} {path} --key olga.key {BOOK}" for path in paths]
    for name in ("export", "backup", "page")
    for lost, paths in {
        "--ledger": [f"book.ledger{end}" for end in FILES],
        "--key": ["olga.key"],
    }.items()
}


#: A line of each command that writes, without the place, and that place.
OVER = {
    "domain draft": (DRAFT, "--output old"),
    "domain confirm": (CONFIRM, "--output old"),
    "domain check": (CHECK, "--output old"),
    "domain diff": ("domain diff domain.json taken/model.json", "--output old"),
    "report show": ("report show forest/report.json", "--output old"),
    "plan": (f"{PLAN} {BOOK} --data-set stays", "--charge old"),
    "fit": (f"{HOME.removesuffix(' --output taken --domain domain.json')} --domain domain.json",
            "--output folder"),
    "predict": ("predict forest/model.json stays.csv", "--output old"),
    "explain": ("explain forest/model.json", "--plot old"),
    "export": ("export forest/model.json", "--output old"),
    "ledger export": (f"ledger export {BOOK}", "old"),
    "ledger backup": (f"ledger backup {BOOK}", "old"),
    "ledger page": (f"ledger page {BOOK}", "old"),
    "demo": ("demo", "--output-dir folder"),
}  # fmt: skip
#: Files that the lines above find at their places.
OLD = ("old", "folder/model.json", "folder/privacy_report.md")


@pytest.fixture
def old(full):
    """The full folder, with files where commands are about to write."""
    (full / "folder").mkdir()
    for name in OLD:
        (full / name).write_text("old")
    return full


@pytest.fixture
def full(here, stored):
    """The folder with a ledger, a key, and one in which a fit would write over all that it reads.

    The forest is a copy: it is not lost to other tests if it is written over.
    """
    (here / "forest").unlink()
    shutil.copytree(stored / "forest", here / "forest")
    (here / "taken").mkdir()
    shutil.copy(here / "stays.csv", here / "taken" / "predictions.csv")
    shutil.copy(here / "domain.json", here / "taken" / "model.json")
    (here / "taken" / "report.json").write_text('{"title": "Stays"}')
    (here / "sources.json").write_text("{}")
    (here / "olga.key").write_text("a key")
    with BudgetLedger.open("sqlite:///book.ledger", actor="olga", create=True) as ledger:
        ledger.register("stays", domain=Domain.from_json(here / "domain.json"), rho=1, delta=1e-6)
        ledger.backup(here / "taken" / "report.html")
    (here / "link.ledger").symlink_to("book.ledger")
    (here / "link.json").symlink_to("domain.json")
    return here


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, id=f"{command} loses {lost.removeprefix('--')}")
        for (command, lost), lines in LINES.items()
        for line in lines
    ],
)
def test_no_command_writes_over_what_it_reads(ask, full, line):
    before = {path: path.read_bytes() for path in full.rglob("*") if path.is_file()}
    code, out, err = ask(f"{line} --force")
    assert code == 2 and not out and "is a file that is read" in err
    assert before == {path: path.read_bytes() for path in full.rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", OVER)
def test_no_command_writes_over_a_file_unasked(ask, old, command):
    line, place = OVER[command]
    before = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}
    code, out, err = ask(f"{line} {place}")
    assert code == 2 and not out
    assert "is there already. Name another place, or write --force" in err
    assert before == {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}


@pytest.mark.parametrize("command", [one for one in OVER if one != "demo"])
def test_every_command_writes_over_a_file_that_it_is_told_to(good, old, command):
    """That of the demo takes long: see its own tests."""
    line, place = OVER[command]
    if command == "explain":
        pytest.importorskip("matplotlib")
    good(f"{line} {place} --force")
    changed = {name for name in OLD if not (old / name).exists() or (old / name).read_text(
        "utf-8", "replace") != "old"}  # fmt: skip
    assert changed == {"folder/model.json" if command == "fit" else "old"}
    assert not [path.name for path in old.rglob(".*.part")]


def test_a_backup_over_another_ledger_is_the_copy(good, full):
    """Its queue may stay: nothing of it is read into the copy."""
    good("ledger init --ledger sqlite:///other.ledger --as ana")
    good(f"ledger backup other.ledger {BOOK} --force")
    book, other = (good(f"ledger log stays --ledger sqlite:///{name}.ledger --as olga --json")
                   for name in ("book", "other"))  # fmt: skip
    assert book == other


@pytest.mark.parametrize("force", ["", " --force"])
@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_no_backup_is_put_beside_the_log_of_another_ledger(ask, full, end, force):
    """SQLite would take it for the copy's own, and spoil it."""
    (full / f"copy.ledger{end}").write_text("of another one")
    code, _, err = ask(f"ledger backup copy.ledger {BOOK}{force}")
    assert code == 2 and "has the log of a ledger beside it" in err
    assert [path.name for path in full.glob("*copy.ledger*")] == [f"copy.ledger{end}"]


def test_an_export_beside_a_ledger_is_not_taken_for_its_queue(ask, good, full):
    """Whoever reads it into that ledger would write into it."""
    good(f"ledger export copy.ledger-queue {BOOK}")
    before = (full / "copy.ledger-queue").read_bytes()
    code, _, err = ask("ledger import copy.ledger-queue --ledger sqlite:///copy.ledger")
    assert code == 2 and "is a file of the ledger's own" in err
    assert (full / "copy.ledger-queue").read_bytes() == before
    assert not (full / "copy.ledger").exists()


def commands(parser, *words):
    """Each command with its parser."""
    below = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if not below:
        yield " ".join(words), parser
    for one in below:
        for name, own in one.choices.items():
            yield from commands(own, *words, name)


def places(parser):
    """Arguments of a command that may name a file."""
    return {
        action.option_strings[0] if action.option_strings else action.dest
        for action in parser._actions
        if action.nargs != 0
        and action.choices is None
        and (action.metavar or action.dest) not in NO_PLACE
    }


@pytest.mark.parametrize(("command", "parser"), list(commands(_parser())))
def test_every_place_is_known_as_read_or_written(command, parser):
    known = {*READ[command].split(), *WRITTEN.get(command, "").split()}
    assert places(parser) == known


def test_every_command_that_writes_is_tried_with_all_that_it_reads():
    assert LINES.keys() == {(command, one) for command in WRITTEN for one in READ[command].split()}


def test_every_command_that_writes_is_tried_over_a_file_that_is_there():
    assert OVER.keys() == WRITTEN.keys()
    for command, parser in commands(_parser()):
        forced = any("--force" in one.option_strings for one in parser._actions)
        assert forced == (command in WRITTEN), command


def test_what_is_beside_a_ledger_in_use_is_known(full):
    with BudgetLedger.open("sqlite:///link.ledger", actor="olga") as ledger:
        ledger.policy("stays", quotas={"ana": "0.1"})
        beside = set(full.glob("book.ledger*"))
        found = set(ledger_files("sqlite:///link.ledger"))
    assert full / "book.ledger-wal" in beside and beside <= found
    assert {path.name for path in found} == {f"book.ledger{end}" for end in FILES}
    assert ledger_files("postgresql://here") == ledger_files(None) == ()


def test_a_file_that_is_not_there_yet_is_known_by_its_name(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    with pytest.raises(ParameterError, match="is a file that is read"):
        check_new(tmp_path / "folder" / "new", False, read=[tmp_path / "link" / "new"])
    check_new(tmp_path / "folder" / "new", False, read=[tmp_path / "new", "\0"])
