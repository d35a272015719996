"""The door: a random table, and the same with one record more; nothing may change for the others.

Encoding alone, in every container and reader. A pair is a fault if codes, kept records, labels or
targets of other records differ, if one of the two tables ends in an error or warns and the other
does not, or if an error comes later than the check before spending. One JSON line a chunk of pairs
is appended to ``--results``, with a print of the sources; what is there for these sources is
skipped. Then ``docs/door_results.md`` is written from all lines of these sources.

    python benchmarks/door.py [--pairs 84000] [--seed 0] [--only CSV Dask] [--processes 2]
    python benchmarks/door.py --planted    # planted faults, and pairs until each is found
    python benchmarks/door.py --report
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # tables are small, and processes share the machine

from common.pages import place_of  # noqa: E402
from common.results import Line, Store  # noqa: E402
from common.sources import REPOSITORY, Sources  # noqa: E402
from doorway import planted  # noqa: E402
from doorway.page import write_page  # noqa: E402
from doorway.processes import Task, run_all  # noqa: E402
from doorway.search import CHUNK, families  # noqa: E402
from tqdm import tqdm  # noqa: E402

HERE = Path(__file__).parent
#: Where values and records get their meaning, and the search itself.
SOURCES = Sources(
    files=(
        *("dpforest/domain", "dpforest/records/streams", "dpforest/records/kernels"),
        *("dpforest/dask", "benchmarks/doorway"),
    )
)


#: What the page is made of.
PAIRS, SEED = 84_000, 0


def tasks_of(pairs: int, seed: int, only: list[str], done: set[Task]) -> list[Task]:
    """Chunks that are still to be run, families in turn."""
    names = [
        name
        for name in families()
        if not only or any(part.lower() in name.lower() for part in only)
    ]
    chunks = -(-pairs // (CHUNK * len(names)))
    found = [(name, number, seed) for number in range(chunks) for name in names]
    return [task for task in found if task not in done]


def run(arguments: argparse.Namespace, results: Store) -> None:
    """Run what is not yet done."""
    done = {(line["family"], line["number"], line["seed"]) for line in results.lines()}
    tasks = tasks_of(arguments.pairs, arguments.seed, arguments.only, done)
    for line in tqdm(run_all(tasks, arguments.processes), total=len(tasks), disable=None):
        results.append(line)


def run_planted(arguments: argparse.Namespace, results: Store) -> None:
    """Run every planted fault anew."""
    for fault in tqdm(planted.FAULTS, disable=None):
        results.append(planted.search(fault, arguments.seed))


def missing(lines: list[Line], planted_lines: list[Line]) -> set[Task | str]:
    """Chunks and planted faults that the page has and these lines do not."""
    done = {(line["family"], line["number"], line["seed"]) for line in lines}
    faults = {fault.name for fault in planted.FAULTS} - {line["name"] for line in planted_lines}
    return {*tasks_of(PAIRS, SEED, [], done), *faults}


def main() -> None:
    """Read the command line, run, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=PAIRS, help="of all containers together")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", nargs="+", default=[], help="parts of names of containers")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--planted", action="store_true", help="run the planted faults instead")
    parser.add_argument("--report", action="store_true", help="write the page alone")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "door.jsonl")
    planted_results = HERE / "results" / "door_planted.jsonl"
    parser.add_argument("--planted-results", type=Path, default=planted_results)
    parser.add_argument("--output", type=Path, default=REPOSITORY / "docs" / "door_results.md")
    arguments = parser.parse_args()
    results = Store(arguments.results, SOURCES)
    planted_ones = Store(arguments.planted_results, SOURCES)
    if arguments.planted:
        run_planted(arguments, planted_ones)
    elif not arguments.report:
        run(arguments, results)
    lines, planted_lines = results.lines(), planted_ones.lines()
    page = place_of(arguments.output, missing(lines, planted_lines))
    write_page(page, lines, planted_lines, SOURCES.print())


if __name__ == "__main__":
    main()
