"""Help comes at once, names every command, and loads nothing that only fits need."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest
from every_command import EVERY_COMMAND

from dpforest import Domain, __version__
from dpforest.__main__ import main
from dpforest.command_line.options import STRATEGIES
from dpforest.command_line.parser import COMMANDS, DOMAIN, GROUPS, REPORT
from dpforest.trees.strategies import ASKED

HELP = (
    "import sys; from dpforest.__main__ import main\n"
    "try: main({words!r})\n"
    "except SystemExit: pass\n"
)


def test_the_commands_are_those_that_are_promised():
    assert set(DOMAIN) == {"draft", "confirm", "check", "diff"}
    assert set(REPORT) == {"show", "verify", "diff"} and set(GROUPS) == {"domain", "report"}
    assert set(COMMANDS) == {"plan", "fit", "predict", "explain", "export", "audit"}


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit, match="^0$"):
        main([*command.split(), "--help"])
    said = capsys.readouterr()
    assert EVERY_COMMAND[command].words[1:] in " ".join(said.out.split()) and not said.err
    assert "--json" in said.out and "130 interrupted" in " ".join(said.out.split())


def test_the_version_is_told_as_pip_and_git_tell_theirs(capsys):
    with pytest.raises(SystemExit, match="^0$"):
        main(["--version"])
    assert capsys.readouterr().out.strip() == __version__


def test_strategies_are_those_of_the_package():
    assert set(STRATEGIES) == {"auto", *ASKED}


@pytest.mark.parametrize("words", [[], ["fit"], ["ledger"], ["ledger", "init"]])
def test_help_loads_nothing_heavy(words):
    code = HELP.format(words=[*words, "--help"]) + "print(*sys.modules, file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in run.stderr.split()}
    assert "usage:" in run.stdout
    assert not loaded & {
        "numpy", "numba", "sklearn", "pydantic", "narwhals", "pyarrow", "pandas", "tqdm", "jinja2",
        "sqlite3", "psycopg",
    }  # fmt: skip


def seconds(code: str) -> float:
    """Least of a few measurements of the processor's time that a fresh interpreter takes."""
    found = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


@pytest.mark.parametrize("command", ["fit", "ledger"])
def test_help_takes_less_than_a_fifth_of_a_second(command):
    """Or as much of a slow machine's as numpy takes there two and a half times."""
    python = seconds("pass")
    taken = seconds(HELP.format(words=[command, "--help"])) - python
    assert taken < 0.2 or taken < 2.5 * (seconds("import numpy") - python)


@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        ("--rows", "3e3", "'3e3' is no whole number such as 3000"),
        ("--rows", "0", "0 is less than 1"),
        ("--epsilon", "one", "'one' is no number such as 0.5 or 1/2"),
        ("--epsilon", "1/0", "'1/0' is no number such as 0.5 or 1/2"),
        ("--delta", "1e-6%", "'1e-6%' is no number"),
    ],
)
def test_numbers_that_are_none_are_told_by_what_to_write(option, given, said, capsys):
    words = ["plan", "--domain", "d.json", "--epsilon", "1", option, given]
    with pytest.raises(SystemExit, match="^2$"):
        main(words)
    assert said in capsys.readouterr().err


def test_a_budget_may_be_a_ratio(tmp_path, capsys):
    domain = Domain(features={"a": (0, 9)}, classes=["no", "yes"], approximate_rows=1000)
    domain.to_json(tmp_path / "d.json")
    said = []
    for epsilon in ("1/2", "0.5"):
        main(["plan", "--domain", str(tmp_path / "d.json"), "--epsilon", epsilon])
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] and "epsilon=0.5" in said[0]
