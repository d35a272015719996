"""Names of files with signs that steer a terminal, end a line, or are no text: told on one line."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from dpforest import BudgetLedger, Domain
from dpforest.__main__ import main

#: It turns what follows red, and looks like a line of its own.
ODD = "odd\x1b[31m\nguarantee: holds"
TOLD = r"odd\x1b[31m\nguarantee: holds"
#: Bytes that are no UTF-8, as Python has them in a name.
NO_TEXT = os.fsdecode(b"no\xfftext")
LEDGER = "sqlite:///{}.ledger"
LABELLED = ["stays.csv", "--target", "back"]


def a_ledger(name):
    url = LEDGER.format(name)
    with BudgetLedger.open(url, actor="olga", create=True) as ledger:
        domain = Domain.from_json("domain.json")
        ledger.register("stays", domain=domain, epsilon=1, delta=1e-6, owners=["olga"])
    return url


def charged(name):
    """Words for a fit or a plan that is charged to a ledger of such a name."""
    return ["--epsilon", "0.1", "--domain", "domain.json", "--ledger", a_ledger(name), "--as",
            "olga", "--data-set", "stays"]  # fmt: skip


def a_draft():
    main(["domain", "draft", *LABELLED, "--output", "draft.json"])
    return "draft.json"


WRITING = {
    "domain draft": lambda: [*LABELLED, "--output", ODD],
    "domain confirm": lambda: [a_draft(), "--by", "me", "--source", "age=law", "--output", ODD],
    "domain check": lambda: [*LABELLED, "--domain", "domain.json", "--output", ODD],
    "domain diff": lambda: ["domain.json", "domain.json", "--output", ODD],
    "report show": lambda: ["forest/report.json", "--output", ODD],
    "plan": lambda: [*charged("own"), "--charge", ODD],
    "fit": lambda: [*LABELLED, *charged(ODD), "--yes", "--output", ODD],
    "predict": lambda: ["forest/model.json", "stays.csv", "--output", ODD],
    "explain": lambda: ["forest/model.json", "--plot", ODD],
    "export": lambda: ["forest/model.json", "--output", ODD],
    "ledger init": lambda: ["--ledger", LEDGER.format(ODD)],
    "ledger export": lambda: ["--ledger", a_ledger("own"), ODD],
    "ledger backup": lambda: ["--ledger", a_ledger("own"), ODD],
    "ledger page": lambda: ["--ledger", a_ledger("own"), ODD],
}


def told_on_one_line(printed):
    return TOLD in printed and "\x1b" not in printed and "\nguarantee" not in printed


@pytest.mark.parametrize("command", WRITING)
def test_a_file_that_was_written_is_told_on_one_line(command, here, capsys):
    if command == "explain":
        pytest.importorskip("matplotlib")
    words = WRITING[command]()
    assert main([*command.split(), *words]) in (0, 1)
    assert os.path.exists(ODD) or os.path.exists(f"{ODD}.ledger")
    assert told_on_one_line("".join(capsys.readouterr()))


def test_a_file_that_is_refused_is_told_on_one_line(here, capsys):
    shutil.copy("stays.csv", f"{ODD}.csv")
    fit = ["fit", "--domain", "domain.json", "--epsilon", "1", "--yes", "--output", "new"]
    assert main([*fit, f"{ODD}.csv", f"{ODD}.csv", "--target", "back"]) == 2  # named twice
    assert told_on_one_line("".join(capsys.readouterr()))
    assert main([*fit, f"{ODD}.csv", "--target", "absent"]) == 2
    assert told_on_one_line("".join(capsys.readouterr()))


#: Longer than any name may be: the system does not look at such a place.
LONG = "x" * 300


@pytest.mark.parametrize(
    "words",
    [
        ["report", "show", LONG],
        ["report", "verify", LONG],
        ["report", "diff", "forest/report.json", LONG],
        ["report", "verify", "forest/report.json", "--model", LONG],
        ["report", "show", "forest/model.json", "--output", LONG],
        ["export", "forest/model.json", "--output", LONG],
        ["predict", "forest/model.json", "stays.csv", "--output", LONG],
        ["explain", LONG],
        ["domain", "draft", *LABELLED, "--output", LONG],
        ["fit", *LABELLED, "--domain", "domain.json", "--epsilon", "1", "--yes", "--output", LONG],
        ["ledger", "export", "--ledger", "sqlite:///own.ledger", LONG],
        ["ledger", "backup", "--ledger", "sqlite:///own.ledger", LONG],
        ["ledger", "page", "--ledger", "sqlite:///own.ledger", LONG],
    ],
    ids=lambda words: " ".join(words).replace(LONG, "LONG"),
)
def test_a_place_that_cannot_be_looked_at_is_refused(words, here, capsys):
    """In words, and not as a fault; nor is anything charged."""
    a_ledger("own")
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "cannot be written (File name too long)" in said or "cannot be read (OSError)" in said


def test_a_ledger_that_is_not_there_is_told_on_one_line(here, capsys):
    assert main(["ledger", "status", "--ledger", LEDGER.format(ODD)]) == 6
    assert told_on_one_line("".join(capsys.readouterr()))


@pytest.mark.parametrize("command", ["plan", "fit"])
def test_a_ledger_whose_name_is_no_text_ends_no_command(command, here, capsys):
    """Else a fit with --json that was paid for would end as a fault."""
    try:
        words = charged(NO_TEXT)
    except OSError:
        pytest.skip("names of files are text here")
    words += [*LABELLED, "--yes", "--output", "new"] * (command == "fit")
    assert main([command, *words, "--json"]) == 0
    price = json.loads(capsys.readouterr().out)["result"]["price"]
    assert price["charged_to"] == r"data set 'stays' of sqlite:///no\udcfftext.ledger"
