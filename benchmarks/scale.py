"""Past one machine's memory and past one machine: time, memory and bytes as tables grow.

Synthetic tables of up to 10,000,000 × 30 made on the fly, covertype from ``DPFOREST_DATA``; forests
in memory, from files and on Dask. Each case runs in a process of its own and leaves one line in
``benchmarks/results/scale.jsonl``; a run that was stopped is taken up where it was.

Run with ``python benchmarks/scale.py [--only memory/one_shot] [--again]``, then
``python benchmarks/scale.py --report`` writes the tables of docs/scale.md and its plots.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from common.pages import DOCS, place_of
from common.results import Line, Store
from common.scale_machine import facts
from common.sources import Sources, by_beginning

RESULTS = Path(__file__).resolve().parent / "results" / "scale.jsonl"
_MARK = "RESULT "
#: By the beginnings of cases' names.
MADE_BY = {
    "memory/": Sources(("common.scale_cases:in_memory",)),
    "auto/": Sources(("common.scale_cases:by_auto",)),
    "encoding/": Sources(("common.scale_cases:encoding",)),
    "sklearn/": Sources(("common.scale_cases:scikit_learn",), packages=("scikit-learn",)),
    "stream/": Sources(("common.scale_cases:streamed",)),
    "dask/": Sources(("common.scale_dask:cases",), packages=("dask", "distributed")),
}


def stored() -> Store:
    """The lines of all cases."""
    return Store(RESULTS, lambda line: by_beginning(MADE_BY, line["case"]))


def run_case(name: str) -> None:
    """Run one case in this process."""
    import warnings

    from common.scale_cases import cases

    warnings.simplefilter("ignore")
    store = stored()  # the code is read before it runs
    load = facts()["load"]
    result = cases()[name]()
    line = {"case": name, **result, "machine": {**facts(), "load": load}}
    print(_MARK + json.dumps(store.stamped(line)))


def run_all(only: str, again: bool) -> None:
    """Run what has no line yet, each case in a fresh process."""
    from common.scale_cases import cases

    file = stored()
    done = set() if again else {line["case"] for line in file.lines()}
    for name in cases():
        if name in done or not name.startswith(only):
            continue
        command = [sys.executable, __file__, "--case", name]
        run = subprocess.run(command, capture_output=True, text=True, env=os.environ)
        lines = [line for line in run.stdout.splitlines() if line.startswith(_MARK)]
        if run.returncode or not lines:
            print(f"{name}: failed\n{run.stderr[-2000:]}")
            continue
        result = json.loads(lines[-1][len(_MARK) :])
        file.append(result)
        print(f"{name:50s} {result['seconds']:8.2f} s   load {result['machine']['load']}")


def missing(lines: list[Line]) -> set[str]:
    """Cases that the page has and these lines do not.

    What auto took has marks of its own: where all lines are of it, or none, the other part of the
    page stays as it is.
    """
    from common.scale_cases import cases

    done = {line["case"] for line in lines}
    parts = {name.startswith("auto/") for name in done}
    return {name for name in cases() if name.startswith("auto/") in parts} - done


def main() -> None:
    """Run cases, or one of them, or report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose names begin so")
    parser.add_argument("--again", action="store_true", help="also those that have a line")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        run_case(arguments.case)
    elif arguments.report:
        from common.scale_report import write_report

        lines = stored().reported()
        write_report(lines, place_of(DOCS / "scale.md", missing(lines), marked=True))
    else:
        run_all(arguments.only, arguments.again)


if __name__ == "__main__":
    main()
