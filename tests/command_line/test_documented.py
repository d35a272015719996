"""Every block of docs/command_line.md runs, and its tables are those of the program."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from every_command import EVERY_COMMAND

from dpforest.__main__ import main
from dpforest.command_line.exit_codes import CODES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def ran(tmp_path_factory, load_helper):
    """The folder, and what the shell said, after all blocks."""
    for package in ("pyarrow", "jinja2"):
        pytest.importorskip(package)
    if not Path("/bin/bash").exists():
        pytest.skip("the page's commands are for bash")
    folder = tmp_path_factory.mktemp("documented")
    shell, before = load_helper(ROOT / "tests" / "shell.py").Shell(folder), Path.cwd()
    os.chdir(folder)
    try:
        for kind, block in BLOCKS:
            if kind == "python":
                exec(compile(block, "docs/command_line.md", "exec"), {})
            else:
                shell.run(block)
    finally:
        os.chdir(before)
        shell.close()
    return folder, shell.said


def readme_block():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```sh\n(.*?)^```$", readme, flags=re.DOTALL | re.MULTILINE)
    return block


def test_every_block_is_of_a_kind_that_runs():
    assert {kind for kind, _ in BLOCKS} == {"python", "sh"} and PAGE.count("```") == 2 * len(BLOCKS)


def test_the_page_does_what_it_says(ran):
    folder, said = ran
    assert {path.name for path in (folder / "forest").iterdir()} == {
        "model.json", "report.json", "report.html",
    }  # fmt: skip
    assert "refused with code 3" in said and "they differ: code 1" in said
    assert "-differentially private when one record is added or removed" in said
    assert "The report holds" in said and "share of the effect" in said
    assert json.loads((folder / "plan.json").read_text())["result"]["price"]["fits"] is True
    assert (folder / "predictions.csv").read_text().startswith("stay,prediction,probability of no,")
    assert not (folder / "more").exists()
    for private in ("draft.json", "draft_changes.txt", "check.txt", "predictions.csv"):
        assert (folder / private).stat().st_mode & 0o77 == 0


def test_the_commands_of_the_readme_are_among_those_that_run():
    block = readme_block()
    here = {line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines()}
    assert block and set(block.splitlines()) <= here


def test_the_block_of_the_readme_runs_as_it_is_printed(load_helper, tmp_path, monkeypatch):
    for package in ("pyarrow", "jinja2"):
        pytest.importorskip(package)
    if not Path("/bin/bash").exists():
        pytest.skip("the commands are for bash")
    monkeypatch.chdir(tmp_path)
    exec(compile(BLOCKS[0][1], "docs/command_line.md", "exec"), {})  # the table
    shell = load_helper(ROOT / "tests" / "shell.py").Shell(tmp_path)
    try:
        shell.run(readme_block())
    finally:
        shell.close()
    assert "The report holds" in shell.said and (tmp_path / "predictions.csv").exists()


def test_the_edit_of_the_page_reaches_the_domain(ran):
    age = json.loads((ran[0] / "domain.json").read_text())["features"][0]
    assert (age["lower"], age["upper"], age["status"]) == (0, 110, "declared")


def test_commands_in_the_table_are_those_of_the_program():
    table = PAGE.partition("## Commands")[2].partition("## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    written = {word for row in rows for word in re.findall(r"`([a-z ]+)`", row)}
    assert written == {*EVERY_COMMAND, "ledger", "demo", "version"}


def test_codes_in_the_table_are_those_of_the_program():
    cells = re.findall(r"^\| (\d[\d, ]*) \|", PAGE, re.MULTILINE)
    assert {int(code) for cell in cells for code in cell.split(",")} == CODES.keys()


def test_every_option_on_the_page_is_there(capsys):
    known = ""
    for command in [*EVERY_COMMAND, "ledger init"]:
        with pytest.raises(SystemExit):
            main([*command.split(), "--help"])
        known += capsys.readouterr().out
    written = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE)) - {"--help"}
    assert written and {option for option in written if option not in known} == set()
