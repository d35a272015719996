"""One mutant's run: its tests in its own copy, and what their end means."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from mutant_copies import WORK, changed_copy
from mutant_list import HERE, ROOT, Mutant

KILLED = "killed"
SURVIVED = "SURVIVED"
BROKEN = "broken"
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
    """How a run of pytest ended: its exit code, the first failure if any, its last lines."""

    exit_code: int | None
    failure: dict | None
    tail: str


def code_digest(mutant: Mutant) -> str:
    """Digest of the package, of the entry, of its tests and of what tests share."""
    named = {test.partition("::")[0] for test in mutant.tests}
    digest = hashlib.sha256((package_digest() + mutant.digest()).encode())
    for name in sorted(named):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()[:16]


@cache
def package_digest() -> str:
    """Digest of the package's sources and of the helpers that tests share."""
    digest = hashlib.sha256()
    helpers = (path for path in (ROOT / "tests").rglob("*.py") if "test_" not in path.name)
    for path in sorted([*(ROOT / "dpforest").rglob("*.py"), *helpers]):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def run_mutant(mutant: Mutant, base: Path) -> Result:
    """Run a mutant's tests in a copy that holds it, and the test that saw it in one that does not."""
    started = time.monotonic()
    with changed_copy(base, mutant) as folder:
        ended = run_tests(folder, mutant.tests, mutant.select)
    outcome, seen_by, words = judged(ended, base)
    seconds = round(time.monotonic() - started, 1)
    return Result(mutant.name, code_digest(mutant), outcome, seen_by, words, seconds)


def judged(ended: Ended, base: Path) -> tuple[str, str, str]:
    """Outcome, the test that saw the mutant, and words."""
    if ended.exit_code is None:
        return BROKEN, "", f"ran longer than {TIME_LIMIT} s"
    if ended.exit_code == 0:
        return SURVIVED, "", "all its tests passed"
    if ended.exit_code != 1 or ended.failure is None:
        return BROKEN, "", f"pytest ended with {ended.exit_code}: {ended.tail}"
    test, exception = ended.failure["test"], ended.failure["exception"]
    words = f"{exception.rpartition('.')[2]}: {ended.failure['message']}"
    if exception.startswith(NOT_SEEN):
        return BROKEN, test, words
    if not passes_unchanged(base, test):
        return BROKEN, test, f"{test} fails without the mutant too"
    return KILLED, test, words


@cache
def passes_unchanged(base: Path, test: str) -> bool:
    """Whether a test passes on the unchanged sources."""
    return run_tests(base, (test,), "").exit_code == 0


def run_tests(folder: Path, tests: tuple[str, ...], select: str) -> Ended:
    """Run tests of a copy until the first that fails."""
    with tempfile.TemporaryDirectory(dir=WORK) as reports:
        failures = Path(reports) / "failures.jsonl"
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        command += ["-p", "mutant_watch", "--tb=line", *(["-k", select] if select else []), *tests]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=_environment(folder, failures),
                capture_output=True,
                text=True,
                timeout=TIME_LIMIT,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return Ended(None, None, "")
        lines = failures.read_text(encoding="utf-8").splitlines() if failures.exists() else []
    tail = " | ".join((done.stdout + done.stderr).strip().splitlines()[-4:])
    return Ended(done.returncode, json.loads(lines[0]) if lines else None, tail)


def _environment(folder: Path, failures: Path) -> dict[str, str]:
    path = os.pathsep.join([str(folder), str(HERE)])
    changed = {**os.environ, "PYTHONPATH": path, "MUTANT_FAILURES": str(failures)}
    changed.pop("NUMBA_CACHE_DIR", None)  # compiled code of a mutant stays in its copy
    return changed


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
