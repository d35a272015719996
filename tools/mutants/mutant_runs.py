"""One mutant's run: its tests in its own copy, and what their end means."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from mutant_copies import WORK, changed_copy
from mutant_list import ROOT, Mutant
from mutant_process import Tests

KILLED = "killed"
SURVIVED = "SURVIVED"
BROKEN = "broken"
#: Longer than its tests may take, twice, while they fit without the mutant: say why, or plant it
#: otherwise.
TIMED_OUT = "timed out"
#: Its tests do not fit the time without the mutant either: that tells of the machine alone.
UNDECIDED = "undecided"
#: What tests found out. Any other end may be the machine's fault, so it is not the last word.
DECIDED = (KILLED, SURVIVED)
#: Seconds for the tests of one mutant; the list is written so that each takes a few.
TIME_LIMIT = 300
#: Such an end shows that the planted text is no program, not that a test saw a fault.
NOT_SEEN = (
    "builtins.NameError",
    "builtins.UnboundLocalError",
    "builtins.ImportError",
    "builtins.ModuleNotFoundError",
    "builtins.SyntaxError",
    "builtins.IndentationError",
    "numba.core.errors.",
)


@dataclass(frozen=True)
class Result:
    """What became of a mutant; ``code`` is the digest of all that the outcome rests on."""

    name: str
    code: str
    outcome: str
    seen_by: str
    words: str
    seconds: float


@dataclass(frozen=True)
class Ended:
    """How a run of pytest ended: its exit code, None if it took too long; failures; last lines."""

    exit_code: int | None
    failures: tuple[dict, ...]
    tail: str


def code_digest(mutant: Mutant, root: Path = ROOT) -> str:
    """Digest of the package, of the entry, of its tests and of what tests share."""
    named = {test.partition("::")[0] for test in mutant.tests}
    digest = hashlib.sha256((package_digest(root) + mutant.digest()).encode())
    for name in sorted(named):
        digest.update((root / name).read_bytes())
    return digest.hexdigest()[:16]


def test_digest(test: str, root: Path) -> str:
    """Digest of the package and of a test's file."""
    own = (root / test.partition("::")[0]).read_bytes()
    return hashlib.sha256(package_digest(root).encode() + own).hexdigest()[:16]


@cache
def package_digest(root: Path = ROOT) -> str:
    """Digest of the package's sources and of the helpers that tests share."""
    digest = hashlib.sha256()
    helpers = (path for path in (root / "tests").rglob("*.py") if "test_" not in path.name)
    for path in sorted([*(root / "dpforest").rglob("*.py"), *helpers]):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def run_mutant(mutant: Mutant, base: Path) -> Result:
    """Run a mutant's tests in a copy of its own.

    What took too long is run once more, if its tests fit the time without the mutant.
    """
    started = time.monotonic()
    outcome, seen_by, words = _run_in_copy(mutant, base)
    if outcome == TIMED_OUT:
        outcome, seen_by, words = _run_again(mutant, base)
    seconds = round(time.monotonic() - started, 1)
    # Of the copy that was run: the sources may have changed meanwhile.
    return Result(mutant.name, code_digest(mutant, base), outcome, seen_by, words, seconds)


def _run_in_copy(mutant: Mutant, base: Path) -> tuple[str, str, str]:
    with changed_copy(base, mutant) as folder:
        return judged(run_tests(folder, mutant.tests, mutant.select))


def _run_again(mutant: Mutant, base: Path) -> tuple[str, str, str]:
    """Outcome of a mutant that took too long: not its fault where the machine is as slow."""
    if run_tests(base, mutant.tests, mutant.select).exit_code is None:
        return UNDECIDED, "", f"its tests take longer than {TIME_LIMIT} s without the mutant too"
    return _run_in_copy(mutant, base)


def judged(ended: Ended) -> tuple[str, str, str]:
    """Outcome, the test that saw the mutant, and words."""
    if ended.exit_code is None:
        return TIMED_OUT, "", f"ran longer than {TIME_LIMIT} s"
    if ended.exit_code == 0:
        return SURVIVED, "", "all its tests passed"
    if ended.exit_code != 1 or not ended.failures:
        return BROKEN, "", f"pytest ended with {ended.exit_code}: {ended.tail}"
    test, exception = ended.failures[0]["test"], ended.failures[0]["exception"]
    words = f"{exception.rpartition('.')[2]}: {ended.failures[0]['message']}"
    return (BROKEN if exception.startswith(NOT_SEEN) else KILLED), test, words


def confirmed(results: list[Result], base: Path) -> list[Result]:
    """The results, with those called broken whose test fails without the mutant too.

    What a test says of a mutant counts only if it passes on the unchanged sources. All such tests
    are run at once, and what passed is kept with the sources that it passed on.
    """
    file = WORK / "passed.json"
    passed: dict[str, str] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    killed = [result for result in results if result.outcome == KILLED]
    waiting = {r.seen_by for r in killed if passed.get(r.seen_by) != test_digest(r.seen_by, base)}
    if not waiting:
        return results
    ended = run_tests(base, tuple(sorted(waiting)), "", to_the_end=True)
    failed = {failure["test"] for failure in ended.failures}
    if ended.exit_code not in (0, 1) or bool(failed) != (ended.exit_code == 1):
        raise RuntimeError(f"the tests cannot be run without a mutant: {ended.tail}")
    passed |= {test: test_digest(test, base) for test in waiting - failed}
    file.write_text(json.dumps(passed, indent=0, sort_keys=True), encoding="utf-8")
    words = "its test fails without the mutant too"
    return [replace(r, outcome=BROKEN, words=words) if r.seen_by in failed else r for r in results]


def run_tests(folder: Path, tests: tuple[str, ...], select: str, to_the_end: bool = False) -> Ended:
    """Run tests of a copy, until the first that fails unless they are to go on."""
    with tempfile.TemporaryDirectory(dir=WORK) as reports:
        output, failures = Path(reports) / "output.txt", Path(reports) / "failures.jsonl"
        arguments = ["-q", "-p", "no:cacheprovider", "--tb=line", "-p", "mutant_watch"]
        arguments += [f"--mutant-failures={failures}", *([] if to_the_end else ["-x"])]
        arguments += [*(["-k", select] if select else []), *tests]
        seconds = 100 * TIME_LIMIT if to_the_end else TIME_LIMIT
        code = _process().run(folder, arguments, output, seconds)
        lines = failures.read_text(encoding="utf-8").splitlines() if failures.exists() else []
        tail = " | ".join(output.read_text(encoding="utf-8").strip().splitlines()[-4:])
    return Ended(code, tuple(map(json.loads, lines)), tail)


_processes = threading.local()


def _process() -> Tests:
    """This thread's process for tests."""
    if not hasattr(_processes, "own"):
        # Compiled code lies in the copy: what is left alone is there already.
        apart = ("NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONPATH")
        _processes.own = Tests({k: v for k, v in os.environ.items() if k not in apart})
        atexit.register(_processes.own.close)
    own: Tests = _processes.own
    return own


def saved_results() -> dict[str, Result]:
    """Results of earlier runs by name, the last one of each."""
    file = WORK / "results.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    results = (Result(**json.loads(line)) for line in lines)
    return {result.name: result for result in results}


def save_result(result: Result) -> None:
    """Add a result to those that are kept."""
    with (WORK / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(result)) + "\n")
