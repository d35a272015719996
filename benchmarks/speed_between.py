"""Fits of two checkouts of the package, in turn: is the newer one any slower?

Each checkout runs in a process of its own, with its own benchmarks; the cases are those of
``speed.py``. Times are processor seconds of one thread, the two in turn, so that whatever else the
machine does hits both; a case's ratio is the median over the turns of the newer one's time over the
older one's.

``python benchmarks/speed_between.py OLD NEW [--repeats 7] [--tables adult ...] [--fits ...]``
prints a line a case as it ends, and exits 1 where the geometric mean is above 1.02, a case above
1.05, or a case fails in either. Tables that are not at hand are left out, and said to be.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

TABLES = ("adult", "continuous", "connect_4", "covertype")
FITS = ("one-shot", "multinomial", "refitted", "default")
#: Largest geometric mean of the ratios, and largest ratio of a case.
MEAN, WORST = 1.02, 1.05
#: Seconds that a turn takes at least: shorter actions are repeated within it.
TURN = 0.3

_WORKER = """
import json, sys, time, warnings
from pathlib import Path
warnings.simplefilter("ignore")
root = Path(sys.argv[1])
sys.path[:0] = [str(root / "benchmarks"), str(root)]
import numpy as np
import dpforest
assert Path(dpforest.__file__).is_relative_to(root), dpforest.__file__
import speed
from common import speed_cases as cases
from common.tables import data_folder
from threadpoolctl import threadpool_limits

tables, actions = {}, {}

def table_of(name):
    if name not in tables:
        made = {"adult": cases.adult, "continuous": cases.continuous}.get(name)
        tables[name] = made() if made else cases.from_folder(name, data_folder())
    return tables[name]

def action_of(name, what):
    table = table_of(name)
    if what == "encode":
        X, y, domain = table.raw
        encoder = cases.DomainEncoder(domain)
        return lambda: encoder.encode(X, y)
    if what == "predict":
        X, y, domain = table.raw
        forest = cases.Multinomial(epsilon=1, domain=domain, n_estimators=20, max_depth=6)
        forest.fit(X, y)
        return lambda: forest.predict_proba(X)
    ours = speed.FITS[what](table).make(1)
    rows, labels = table.codes[:1], table.labels[:1]
    return lambda: ours.fit(rows, labels)

with threadpool_limits(1):
    for line in sys.stdin:
        name, what, times = json.loads(line)
        try:
            if table_of(name) is None:
                print("null", flush=True)
                continue
            if (name, what) not in actions:
                actions.clear()
                actions[name, what] = action_of(name, what)
                actions[name, what]()
            act = actions[name, what]
            started = time.process_time()
            for _ in range(times):
                act()
            answer = time.process_time() - started
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)
"""


class Checkout:
    """A process that runs a checkout's cases."""

    def __init__(self, root: Path) -> None:
        command = [sys.executable, "-c", _WORKER, str(root.resolve())]
        pipe: Any = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, cwd=root
        )

    def __enter__(self) -> Checkout:
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, which reads cases until there are no more."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def seconds(self, table: str, what: str, times: int) -> float | str | None:
        """Processor seconds of an action so many times over; or why it failed; None: no table."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps([table, what, times]), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline() or '"the process ended"')


def compare(old: Checkout, new: Checkout, table: str, what: str, repeats: int) -> dict[str, Any]:
    """A case's median ratio and median seconds of each; or that it failed, or has no table."""
    first = [side.seconds(table, what, 1) for side in (old, new)]
    if None in first:
        return {"absent": table}
    failed = [answer for answer in first if isinstance(answer, str)]
    if failed:
        return {"failed": failed[0]}
    times = max(1, round(TURN / max(*first, 1e-6)))
    turns = np.array(
        [[side.seconds(table, what, times) / times for side in (old, new)] for _ in range(repeats)]
    )
    ratios = turns[:, 1] / turns[:, 0]
    return {"ratio": float(np.median(ratios)), "seconds": np.median(turns, axis=0).tolist()}


def is_slower(lines: list[dict[str, Any]]) -> bool:
    """Print what was found; true where the newer one is slower, or a case failed.

    It is true where nothing was compared, too.
    """
    ratios = [line["ratio"] for line in lines if "ratio" in line]
    failed = sum("failed" in line for line in lines)
    mean = float(np.exp(np.mean(np.log(ratios)))) if ratios else float("nan")
    largest = max(ratios, default=float("nan"))
    cases = f"{len(ratios)} cases; {failed} failed"
    print(f"geometric mean {mean:.3f}, largest {largest:.3f}, of {cases}")
    return failed > 0 or not (mean <= MEAN and largest <= WORST)


def main() -> int:
    """Compare, and say whether the newer one is slower."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--fits", nargs="+", default=(*FITS, "predict", "encode"))
    arguments = parser.parse_args()
    found = []
    with Checkout(arguments.old) as old, Checkout(arguments.new) as new:
        for table in arguments.tables:
            for what in arguments.fits:
                line = compare(old, new, table, what, arguments.repeats)
                print(json.dumps({"table": table, "case": what, **line}), flush=True)
                found.append(line)
    return int(is_slower(found))


if __name__ == "__main__":
    sys.exit(main())
