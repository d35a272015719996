"""Results to stdout, all else to stderr, and codes that tell how a command ended."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

import dpforest
from dpforest import Domain
from dpforest.command_line import running
from dpforest.command_line.answers import Answer
from dpforest.command_line.running import run_command
from dpforest.exceptions import BudgetExceeded, LedgerDamaged, ParameterError, WeakSignalWarning
from dpforest.standard_streams import is_terminal, print_notice

SECRET = "4711.25"


@pytest.fixture
def run(monkeypatch):
    """Run a function as a command."""

    def start(function):
        monkeypatch.setattr(running, "_function", lambda place: function)
        return run_command(SimpleNamespace(function="", named="fit", json=False))

    return start


def raising(error):
    def command(chosen):
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ParameterError("cap", 1, "must be", "do"), 2),
        (BudgetExceeded("rho 1", "rho 0.5"), 3),
        (LedgerDamaged("is not whole", "restore"), 5),
        (KeyboardInterrupt(), 130),
        (ValueError(SECRET), 70),
    ],
)
def test_codes(run, capsys, error, code):
    assert run(raising(error)) == code
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("dpforest fit: ")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_names_of_any_character_reach_a_pipe_in_utf_8(encoding, tmp_path):
    """Else a name that the system's encoding lacks would end a command as a fault."""
    name = "Bereich→ä"
    domain = Domain(features={name: (0, 1)}, classes=["nö", "ja"], approximate_rows=100)
    domain.to_json(tmp_path / "domain.json")
    path = "domain.json"
    run = subprocess.run(
        [sys.executable, "-m", "dpforest", "domain", "diff", path, path, "--output", f"{name}.txt"],
        cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": encoding}, capture_output=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.decode("utf-8").splitlines() == [f"diff: {name}.txt"]


def test_names_that_are_no_text_are_written_out_in_json(tmp_path):
    """Else a fit that was paid for would end as a fault, once its model was written."""
    Domain(features={"a": (0, 1)}, classes=[0, 1]).to_json(tmp_path / "domain.json")
    try:
        (tmp_path / os.fsdecode(b"\xff.json")).write_bytes((tmp_path / "domain.json").read_bytes())
    except OSError:
        pytest.skip("names of files are text here")
    run = subprocess.run(
        [sys.executable, "-m", "dpforest", "domain", "diff", b"\xff.json", "domain.json",
         "--output", b"\xff.txt", "--json"],
        cwd=tmp_path, capture_output=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["result"]["written"] == [{"what": "diff", "path": r"\udcff.txt"}]
    assert os.path.exists(os.path.join(os.fsencode(tmp_path), b"\xff.txt"))


def test_a_fault_is_named_without_its_words(run, capsys, monkeypatch):
    monkeypatch.delenv(running.TRACEBACK_VARIABLE, raising=False)
    run(raising(ValueError(SECRET)))
    printed = capsys.readouterr().err
    assert (
        "ValueError at running.py:" in printed
        and SECRET not in printed
        and "Traceback" not in printed
    )
    monkeypatch.setenv(running.TRACEBACK_VARIABLE, "1")
    run(raising(ValueError(SECRET)))
    printed = capsys.readouterr().err
    assert "Traceback" in printed and SECRET in printed


def test_warnings_of_dpforest_are_lines_and_others_stay(run, capsys):
    def command(chosen):
        for words in ("so it is", "so it is", "and so"):
            warnings.warn(words, WeakSignalWarning, stacklevel=1)
        raise KeyboardInterrupt

    for _ in range(2):  # once a command, and not once a process
        run(command)
        printed = capsys.readouterr().err.splitlines()[:2]
        assert printed == ["dpforest: warning: so it is", "dpforest: warning: and so"]

    def another(chosen):
        warnings.warn("of another library", DeprecationWarning, stacklevel=1)

    assert run(another) == 70  # an error in these tests, and a fault is a fault


def test_nobody_has_to_read_everything(here):
    # The reader goes away before anything is written.
    read, write = os.pipe()
    os.close(read)
    run = subprocess.run(
        [sys.executable, "-m", "dpforest", "predict", "forest/model.json", "stays.csv"],
        stdout=write, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(write)
    assert run.returncode == 141 and run.stderr == ""


def shell(words, redirected):
    """A command of the shell with its streams redirected, without what it printed."""
    python = f"{sys.executable} -m dpforest {words} {redirected}"
    return subprocess.run(python, shell=True, capture_output=True, text=True)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_end_no_command(here, closed):
    run = shell("predict forest/model.json stays.csv --output predicted.csv", closed)
    assert run.returncode == 0, run.stderr
    assert (here / "predicted.csv").read_text("utf-8").startswith("prediction")


def test_without_stderr_nothing_but_results_is_on_stdout(here):
    run = shell("domain check nowhere.csv --target back --domain domain.json", "2>&-")
    assert run.returncode == 2 and run.stdout == "" == run.stderr


def test_a_notice_without_stderr_is_dropped_and_no_result(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)  # as of a program without a console
    print_notice("charged")
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    print_notice("charged")
    assert capsys.readouterr().out == ""


def closed():
    stream = io.StringIO()
    stream.close()
    return stream


def gone():
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_stream_that_is_missing_or_closed_is_no_terminal():
    for stream in (None, closed(), SimpleNamespace(isatty=gone), SimpleNamespace(write=print)):
        assert is_terminal(stream) is False
    assert is_terminal(SimpleNamespace(isatty=lambda: True)) is True


def test_terminals_are_asked_for_in_one_place():
    """A stream may be None or closed wherever it is asked."""
    package = Path(dpforest.__file__).parent
    asking = [path.name for path in package.rglob("*.py") if "isatty" in path.read_text("utf-8")]
    assert asking == ["standard_streams.py"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is full")
@pytest.mark.parametrize("words", [
    "predict forest/model.json stays.csv", "explain forest/model.json",
    "report verify forest/report.json", "version", "demo --output-dir demo",
])  # fmt: skip
def test_a_full_disk_below_stdout_is_no_fault_of_dpforest(here, words):
    run = shell(words, "> /dev/full")
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1 and "stdout=" in run.stderr and "fault" not in run.stderr
    assert "No space left on device" in run.stderr


def test_a_fit_whose_words_do_not_reach_stdout_is_done_all_the_same(run, monkeypatch, capsys):
    monkeypatch.setattr(running, "_function", lambda place: lambda chosen: Answer(None, "done"))
    monkeypatch.setattr("builtins.print", full_for(sys.stdout, print))
    fit = SimpleNamespace(function="", named="fit", json=False, dry_run=False)
    assert run_command(fit) == 7
    assert run_command(SimpleNamespace(**vars(fit) | {"dry_run": True})) == 2
    assert capsys.readouterr().err.count("what the command did otherwise stands") == 2


def full_for(stream, printing):
    """Print that finds no space for what goes to one stream."""

    def tried(*words, file=None, **more):
        if file in (None, stream):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        printing(*words, file=file, **more)

    return tried


def test_a_question_is_asked_at_a_terminal_alone(monkeypatch, capsys):
    from dpforest.command_line.asking import agreed

    with pytest.raises(ParameterError, match="nobody can be asked"):
        agreed("Spend this?", yes=False)
    assert capsys.readouterr() == ("", "")
    for answer, expected in (("y\n", True), ("YES\n", True), ("\n", False), ("no\n", False)):
        typed = SimpleNamespace(isatty=lambda: True, readline=lambda answer=answer: answer)
        monkeypatch.setattr(sys, "stdin", typed)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        assert agreed("Spend this?", yes=False) is expected
        said = capsys.readouterr()
        assert said.out == "" and said.err == "Spend this? [y/N] "
