"""Attacks on forests: reconstruction of the training table, and membership inference.

One JSON line an attack is appended, and what is there is skipped, so a run can be stopped and taken
up. ``report`` writes tables and plots from all lines. Reconstruction needs OR-Tools (extra
``dpforest[attacks]``), plots need matplotlib (extra ``dpforest[plots]``).

    python benchmarks/attack.py reconstruct --seconds 600             # as long as is allowed
    python benchmarks/attack.py reconstruct --seconds 30 --seeds 3
    python benchmarks/attack.py membership
    python benchmarks/attack.py report --docs docs                    # writes what docs/ shows
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from attacks import membership, reconstruction
from attacks.binary import default_sets
from attacks.report import write_report
from attacks.stored import stored
from common.results import Line, finished
from common.tables import REPOSITORY
from threadpoolctl import threadpool_limits


def main() -> None:
    """Run what the command line asks for."""
    arguments = parse()
    threadpool_limits(1)
    if arguments.what == "report":
        write_report(arguments.out, arguments.docs)
        return
    if arguments.what == "reconstruct":
        sets = arguments.sets or list(default_sets())
        every = reconstruction.jobs(
            sets, arguments.epsilons, arguments.seeds or reconstruction.SEEDS
        )
        todo = (job for job in every if (job.trees or 1) in arguments.trees)
        limits = arguments.seconds, arguments.workers
        run_all(todo, lambda job: reconstruction.run(job, *limits), arguments)
    else:
        sets = arguments.sets or list(membership.SETS)
        todo = membership.jobs(sets, arguments.epsilons, arguments.seeds or 1)
        run_all(todo, membership.run, arguments)


def run_all(jobs: Iterable[Any], run: Callable[[Any], Line], arguments: argparse.Namespace) -> None:
    """Run what is not there yet; one failure does not end the run."""
    file = stored(arguments.out, arguments.what)
    done = finished(file.lines())
    for job in jobs:
        if job.key in done:
            continue
        started = time.perf_counter()
        line: Line = {"dataset": job.dataset, "model": job.model, "epsilon": job.epsilon,
                      "seed": job.seed}  # fmt: skip
        try:
            line = run(job)
        except Exception as error:
            line |= {"error": f"{type(error).__name__}: {str(error)[:300]}"}
        file.append(line)
        shown = line.get("error") or line.get("status") or line.get("strategy")
        print(*job.key, shown, f"{time.perf_counter() - started:.0f} s", flush=True)


def parse() -> argparse.Namespace:
    """The command line."""
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    add = parser.add_argument
    add("what", choices=("reconstruct", "membership", "report"))
    add("--sets", nargs="+", help="adult, votes, masses; for membership adult, mammographic_masses")
    add("--epsilons", nargs="+", type=float, default=list(reconstruction.EPSILONS))
    add("--seeds", type=int, help="training tables; 3, or one pool for membership")
    trees = reconstruction.TREES
    add("--trees", nargs="+", type=int, choices=trees, default=trees,
        help="forests to attack; the default private one counts as 1")  # fmt: skip
    add("--seconds", type=float, default=60.0, help="processor time of one solve, at most 600")
    add("--workers", type=int, default=1, help="threads of the solver")
    add("--out", type=Path, default=REPOSITORY / "benchmarks" / "results" / "attacks")
    add("--docs", type=Path, help="for report: the folder of the documentation")
    arguments = parser.parse_args()
    if not 0 < arguments.seconds <= 600:
        parser.error("--seconds must be in (0, 600]")
    return arguments


if __name__ == "__main__":
    main()
