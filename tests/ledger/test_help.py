"""Help names every command; that it comes at once is held by tests/command_line/test_help.py."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from dpforest.__main__ import main
from dpforest.exceptions import (
    ApprovalMissing,
    BudgetExceeded,
    DomainError,
    LedgerDamaged,
    LedgerError,
    LedgerFrozen,
    LedgerUnreachable,
    MissingExtraError,
    ParameterError,
)
from dpforest.ledger.command_line import COMMANDS, exit_code

ROOT = Path(__file__).resolve().parent.parent.parent
NAMED = (
    "init|status|log|plan|request|approve|revoke|reserve|void|settle|recover|verify|export|import"
    "|backup|page"
)


def test_the_commands_are_those_that_are_promised():
    assert list(COMMANDS) == NAMED.split("|")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit, match="^0$"):
        main(["ledger", command, "--help"])
    said = capsys.readouterr()
    assert COMMANDS[command][0][1:] in " ".join(said.out.split()) and not said.err
    for option in ("--ledger", "--as", "--key", "--json"):
        assert option in said.out


@pytest.mark.parametrize("command", ["init", "recover", "verify"])
def test_options_that_may_be_repeated_say_so(command, capsys):
    with pytest.raises(SystemExit, match="^0$"):
        main(["ledger", command, "--help"])
    assert "several times for several" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (ParameterError("cap", 1, "must be", "do"), 2),
        (DomainError("classes", "must be", "do"), 2),
        (LedgerError("is no", "do"), 2),
        (MissingExtraError("jinja2", "report", "a page"), 2),
        (BudgetExceeded("rho 1", "rho 0.5"), 3),
        (ApprovalMissing("needs one", "ask"), 4),
        (LedgerDamaged("is not whole", "restore"), 5),
        (LedgerFrozen("is frozen", "recover"), 5),
        (LedgerUnreachable("cannot be read", "wait"), 6),
    ],
)
def test_exit_codes_tell_refusals_apart(refusal, code):
    assert exit_code(refusal) == code


def test_the_script_and_the_module_are_one_program():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["dpforest"].partition(":")
    assert getattr(import_module(module), function) is main


@pytest.mark.parametrize(
    ("called", "shown"),
    [("/usr/bin/dpforest", "dpforest"), ("/x/__main__.py", "python -m dpforest")],
)
def test_help_shows_the_name_that_was_called(called, shown, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [called])
    with pytest.raises(SystemExit, match="^0$"):
        main(["--help"])
    assert re.match(rf"usage: {shown} \[-h\]", capsys.readouterr().out)
