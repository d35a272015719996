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

from common.results import ResultFile, read_lines
from common.scale_machine import facts

RESULTS = Path(__file__).resolve().parent / "results" / "scale.jsonl"
_MARK = "RESULT "


def run_case(name: str) -> None:
    """Run one case in this process."""
    import warnings

    from common.scale_cases import cases

    warnings.simplefilter("ignore")
    load = facts()["load"]
    result = cases()[name]()
    print(_MARK + json.dumps({"case": name, **result, "machine": {**facts(), "load": load}}))


def run_all(only: str, again: bool) -> None:
    """Run what has no line yet, each case in a fresh process."""
    from common.scale_cases import cases

    done = set() if again else {line["case"] for line in read_lines(RESULTS)}
    file = ResultFile(RESULTS)
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
    file.close()


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

        write_report(read_lines(RESULTS))
    else:
        run_all(arguments.only, arguments.again)


if __name__ == "__main__":
    main()
