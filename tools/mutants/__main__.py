"""Plant faults in copies of the sources, one at a time, and see that a test notices each.

    python tools/mutants                             all that have no result yet for this code
    python tools/mutants --only trees '*noise*' --again    a layer, and some by name, once more
    python tools/mutants --sample 12 --seed-from-head    a dozen that the commit chooses
    python tools/mutants --report                    write docs/mutants.md from the results

Results are kept in build/mutants as they come, so a run that was cut short goes on where it was.
Ends with 1 when a mutant survived, was no program, took too long, or no longer applies to the code.
Where its tests take too long without the mutant too, the machine is slow: such a mutant stays
undecided, and fails a run of all of them but not a sample. Whatever was neither killed nor survived
is run again the next time: its tests may not have been able to start.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from fnmatch import fnmatch
from pathlib import Path

from mutant_copies import WORK, fresh_base
from mutant_list import ROOT, ListError, Mutant, check_applies, read_mutants
from mutant_page import PAGE, page
from mutant_runs import (
    DECIDED,
    KILLED,
    UNDECIDED,
    Result,
    code_digest,
    confirmed,
    package_digest,
    run_mutant,
    save_result,
    saved_results,
)


def main() -> int:
    """Do what the command line asks for; return the exit code."""
    options = _parser().parse_args()
    try:
        mutants = read_mutants()
        check_applies(mutants)
    except ListError as error:
        print(error, file=sys.stderr)
        return 1
    chosen = _chosen(mutants, options)
    if options.list:
        print("\n".join(f"{mutant.name}: {mutant.why}" for mutant in chosen))
        return 0
    failed = 0 if options.report else _run_all(chosen, options)
    if options.report or len(chosen) == len(mutants):
        PAGE.write_text(page(mutants, saved_results()), encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tools/mutants", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--only", nargs="+", default=["*"], metavar="NAME", help="names, with *, or layers"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="N of them, chosen by the seed")
    parser.add_argument(
        "--seed-from-head", action="store_true", help="seed: the commit; without git, the sources"
    )
    parser.add_argument("--jobs", type=int, default=1, help="how many at once")
    parser.add_argument("--again", action="store_true", help="run what has a result too")
    parser.add_argument("--list", action="store_true", help="name the mutants and stop")
    parser.add_argument("--report", action="store_true", help="write the page and stop")
    return parser


def _chosen(mutants: list[Mutant], options: argparse.Namespace) -> list[Mutant]:
    found = (m for pattern in options.only for m in mutants if _is_named(m, pattern))
    named = list(dict.fromkeys(found))  # in the order of the patterns, each once
    if options.sample is None or options.sample >= len(named):
        return named
    seed = _head() if options.seed_from_head else None
    return random.Random(seed).sample(named, options.sample)


def _is_named(mutant: Mutant, pattern: str) -> bool:
    return fnmatch(mutant.name, pattern) or mutant.layer == pattern


def _head() -> str:
    """The commit's hash; where there is no git, a digest of the sources."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return package_digest()
    return done.stdout.strip()


def _run_all(mutants: list[Mutant], options: argparse.Namespace) -> int:
    """Run mutants, say what became of each, return how many were not killed."""
    known = {} if options.again else saved_results()
    done = [known[m.name] for m in mutants if _is_current(known.get(m.name), m)]
    names = {result.name for result in done}
    waiting = [mutant for mutant in mutants if mutant.name not in names]
    if done:
        print(f"{len(done)} of {len(mutants)} have a result for this code; --again runs them anew")
    WORK.mkdir(parents=True, exist_ok=True)
    base = fresh_base()
    for number, result in enumerate(_results(waiting, base, options.jobs), start=1):
        done.append(result)
        seen = result.seen_by if result.outcome == KILLED else result.words
        ended = f"{result.name}: {result.outcome}, {seen}, {result.seconds} s"
        print(f"[{number}/{len(waiting)}] {ended}", flush=True)
    judged = confirmed(done, base)
    for before, after in zip(done, judged, strict=True):
        if before != after:
            save_result(after)
    left = [result for result in judged if result.outcome != KILLED]
    print(f"{len(done) - len(left)} of {len(done)} mutants were killed")
    for result in left:
        print(f"  {result.name}: {result.outcome}: {result.words}")
    return sum(fails(result, options.sample is not None) for result in left)


def fails(result: Result, in_sample: bool) -> bool:
    """True if a result fails a run; in a sample not where the machine alone was too slow."""
    return result.outcome != KILLED and not (in_sample and result.outcome == UNDECIDED)


def _is_current(result: Result | None, mutant: Mutant) -> bool:
    """True if tests have decided on a mutant of this code."""
    decided = result is not None and result.outcome in DECIDED
    return decided and result.code == code_digest(mutant)


def _results(mutants: list[Mutant], base: Path, jobs: int) -> Iterator[Result]:
    """Results as they come, each saved first."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(run_mutant, mutant, base) for mutant in mutants]
        try:
            for future in as_completed(waiting):
                save_result(future.result())
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    sys.exit(main())
