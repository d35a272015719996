"""One line while the first fit compiles: on standard error, once, and where somebody waits."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading

import pytest
from tqdm import tqdm
from tqdm.utils import DisableOnWriteError

from dpforest import Domain, PrivateForestClassifier, verify_report
from dpforest.estimators import compiling, progress
from dpforest.streams import BatchStream

TELL = """
from dpforest.estimators import compiling
for _ in range(2):
    compiling.tell_of_compiling("boosted")
print("done")
"""


def told_at_a_terminal(folder):
    """Standard error, which is a terminal, with compiled code in a folder of its own."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    done = subprocess.run([sys.executable, "-c", TELL], stdout=subprocess.PIPE, stderr=theirs,
                          env={**os.environ, "NUMBA_CACHE_DIR": str(folder)})  # fmt: skip
    os.close(theirs)
    assert done.stdout == b"done\n"
    parts = []
    try:
        while part := os.read(ours, 4096):
            parts.append(part)
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    return b"".join(parts).decode()


@pytest.fixture
def unseen(monkeypatch):
    monkeypatch.setattr(compiling, "_seen", set())


def test_one_line_at_a_terminal_where_nothing_is_kept(tmp_path):
    told = told_at_a_terminal(tmp_path)
    assert told.count("compiles its code for this machine") == told.count("\n") == 1
    assert "boosted" in told


def told(capsys, strategy="one_shot"):
    compiling.tell_of_compiling(strategy)
    out, error = capsys.readouterr()
    assert out == ""
    return error


@pytest.mark.parametrize(("kept", "waits", "lines"), [(False, True, 1), (False, False, 0),
                                                      (True, True, 0)])  # fmt: skip
def test_where_somebody_waits(kept, waits, lines, unseen, capsys, monkeypatch):
    monkeypatch.setattr(compiling, "_is_kept", lambda strategy: kept)
    monkeypatch.setattr(compiling, "_somebody_waits", lambda: waits)
    assert told(capsys).count("\n") == lines
    assert told(capsys) == ""  # once a process


@pytest.mark.parametrize("strategy", compiling.STRATEGIES)
def test_numbas_index_can_be_asked(strategy):
    """Were this gone, nothing would ever be said."""
    caches = list(compiling._caches(strategy))
    assert caches and all(hasattr(cache._cache_file, "_load_index") for cache in caches)


def test_a_fit_asks_before_it_trains_and_finds_its_code_afterwards(unseen, capsys, monkeypatch):
    monkeypatch.setattr(compiling, "_is_kept", lambda strategy: False)
    monkeypatch.setattr(compiling, "_somebody_waits", lambda: True)
    domain = Domain(features={"a": (0, 1)}, classes=[0, 1], approximate_rows=9999)
    forest = PrivateForestClassifier(epsilon=9, domain=domain, strategy="one_shot")
    forest.fit([[0.5], [0.1]] * 30, [0, 1] * 30)
    assert capsys.readouterr().err.count("(one_shot)") == 1
    monkeypatch.undo()
    assert compiling._is_kept("one_shot")


def test_a_check_of_a_report_compiles_nothing_and_says_nothing(unseen, capsys, monkeypatch):
    domain = Domain(features={"a": (0, 1)}, classes=[0, 1], approximate_rows=9999)
    forest = PrivateForestClassifier(epsilon=9, domain=domain, strategy="one_shot")
    report = forest.fit([[0.5], [0.1]] * 30, [0, 1] * 30).privacy_report()
    monkeypatch.setattr(compiling, "_is_kept", lambda strategy: False)
    monkeypatch.setattr(compiling, "_somebody_waits", lambda: True)
    verify_report(report)
    assert capsys.readouterr().err == "" and compiling._seen == set()


def test_a_log_and_a_worker_get_nothing(capsys, monkeypatch):
    assert not compiling._somebody_waits()  # standard error is captured here
    monkeypatch.setattr(compiling, "_caches", lambda strategy: iter([object()]))
    assert compiling._is_kept("one_shot")  # numba's own parts are gone
    monkeypatch.setattr(sys, "stderr", None)
    assert not compiling._somebody_waits()


class Gone(io.StringIO):
    """A terminal that was closed after so many writings."""

    left = 0

    def isatty(self):
        return True

    def write(self, text):
        if self.left == 0:
            raise OSError("no space is left, or nobody listens")
        self.left -= 1
        return len(text)


def closed():
    file = io.StringIO()
    file.close()
    return file


def soon_gone():
    file = Gone()
    file.left = 5
    return file


@pytest.mark.parametrize("verbose", [0, 1])
@pytest.mark.parametrize("error", [lambda: None, closed, Gone, soon_gone])
def test_no_fit_that_is_paid_for_ends_with_its_standard_error(error, verbose, unseen, monkeypatch):
    monkeypatch.setattr(compiling, "_is_kept", lambda strategy: False)
    domain = Domain(features={"a": (0, 1)}, classes=[0, 1], approximate_rows=9999)
    records = [[0.5], [0.1]] * 30, [0, 1] * 30
    stream = BatchStream([records])
    for given in (records, (stream,)):
        forest = PrivateForestClassifier(
            epsilon=9, domain=domain, strategy="one_shot", verbose=verbose
        )
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stderr", error())
            forest.fit(*given)
        assert forest.guarantee_.status == "holds"
    # All bars of a process share a lock, for which a fit on another thread would wait.
    assert is_free(tqdm.get_lock())


def is_free(lock):
    def take():
        with lock:
            taken.append(True)

    taken = []
    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    thread.join(20)
    return taken == [True]


def test_a_bar_is_as_wide_as_the_terminal(monkeypatch):
    """The stream that a bar gets is standard error, to whoever asks."""
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    quiet = progress._Quiet(screen)
    assert quiet == screen and quiet in (screen, None) and quiet != io.StringIO()
    assert DisableOnWriteError(quiet, tqdm(disable=True)) in (sys.stderr, sys.stdout)
