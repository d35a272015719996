"""What ``import dpforest`` costs beside the packages it stands on.

Fresh processes, in turn, so that a slow minute hits both sides; processor seconds; prints the
median of the ratios of the pairs. Run with ``python benchmarks/import_time.py [--pairs 21]``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

BASE = "import numpy, numba, sklearn.base, pydantic"
FOREST = "from sklearn.ensemble import RandomForestClassifier"
CASES = {
    "import dpforest": "import dpforest",
    "PrivateForestClassifier": "from dpforest import PrivateForestClassifier",
    "PrivateForestRegressor": "from dpforest import PrivateForestRegressor",
    "classifier and accountant": "from dpforest import BudgetAccountant, PrivateForestClassifier",
}
# The clock runs inside the process: starting the interpreter is the same on both sides
# and would only draw the ratio towards one.
TIMED = "import time; start = time.process_time(); {}; print(time.process_time() - start)"
# Installed packages come with their bytecode; a checkout where Python may not write any would be
# compiled anew in every process.
BYTECODE = tempfile.TemporaryDirectory()
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "PYTHONPYCACHEPREFIX": BYTECODE.name,
}


def seconds(statement: str) -> float:
    """Time of one statement in a fresh process."""
    run = subprocess.run(
        [sys.executable, "-c", TIMED.format(statement)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout)


def measure(statement: str, pairs: int, against: str = BASE) -> tuple[list[float], list[float]]:
    """Times of a statement and of another, taken in turn; the order swaps from pair to pair."""
    for side in (statement, against):
        seconds(side)  # bytecode and disk cache
    ours, base = [], []
    for pair in range(pairs):
        sides = [(ours, statement), (base, against)]
        for times, side in sides if pair % 2 else reversed(sides):
            times.append(seconds(side))
    return ours, base


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=21)
    pairs = parser.parse_args().pairs
    print(f"against: {BASE}; {pairs} interleaved pairs, median of ratios")
    for name, statement in CASES.items():
        ours, base = measure(statement, pairs)
        ratios = [own / other for own, other in zip(ours, base, strict=True)]
        print(
            f"{name:28s} {statistics.median(ratios):5.2f}   "
            f"({statistics.median(ours):.3f} s against {statistics.median(base):.3f} s, "
            f"ratios {min(ratios):.2f} to {max(ratios):.2f})"
        )


if __name__ == "__main__":
    main()
