"""How much of what a forest without privacy gains, a private one gains, by R: from stored lines.

It fits nothing: it reads the lines that `benchmarks/utility.py` stored of `auto` with the number of
records declared, of the majority class and of the forest without privacy. Tables on which that
forest gains less than three points over the majority class are left out, as there is nothing to
divide by. One line a range of R goes to standard output.

    python benchmarks/utility.py --models "auto, pure, rows" "auto, delta=1e-6, rows" majority \
        non-private
    python benchmarks/share_of_gain.py
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from common.models import rounded_rows
from common.results import Line
from common.tables import REPOSITORY
from utility import stored

from dpforest.accounting.releases import LearnerBudget

PRIVATE = {"dpforest auto, pure, rows": "δ = 0", "dpforest auto, delta=1e-6, rows": "δ = 1e-6"}
MAJORITY, FOREST = "majority", "non-private forest"
LIMITS = (5, 20, 50, 150, 500, 1500, 5000, float("inf"))
LEAST_GAIN = 0.03


def shares(lines: Iterable[Line]) -> Iterator[tuple[str, float, float]]:
    """Model, R of the budget in pure epsilon, and the share of the gain, of each private fit."""
    lines = list(lines)
    at = {(line["dataset"], line["model"], line["seed"]): line["accuracy"] for line in lines}
    for line in lines:
        if line["model"] not in PRIVATE:
            continue
        base, best = (at.get((line["dataset"], m, line["seed"])) for m in (MAJORITY, FOREST))
        if base is not None and best is not None and best - base >= LEAST_GAIN:
            budget = LearnerBudget(Fraction(str(line["epsilon"])), Fraction(0))
            signal = budget.signal(rounded_rows(line["n_train"]))
            yield line["model"], signal, (line["accuracy"] - base) / (best - base)


def rows(found: Iterable[tuple[str, float, float]]) -> Iterator[str]:
    """Rows of a Markdown table: quartiles of the shares, and how often nothing was gained."""
    cells = defaultdict(list)
    for model, signal, share in found:
        cells[int(np.searchsorted(LIMITS, signal, side="right")), model].append(share)
    for place in range(1, len(LIMITS)):
        low, high = LIMITS[place - 1], LIMITS[place]
        row = [f"from {low:,}" if high == float("inf") else f"{low:,} to {high:,}"]
        for model in PRIVATE:
            own = np.array(cells[place, model])
            quartiles = np.percentile(own, (25, 50, 75)) if own.size else (np.nan,) * 3
            nothing = 100 * float(np.mean(own <= 0)) if own.size else np.nan
            row.append(" / ".join(f"{100 * q:.0f}" for q in quartiles) + f", {nothing:.0f} %")
        yield f"| {' | '.join([*row, str(len(cells[place, next(iter(PRIVATE))]))])} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    results = REPOSITORY / "benchmarks" / "results" / "utility"
    parser.add_argument("--out", type=Path, default=results, help="folder of stored lines")
    lines = stored(parser.parse_args().out).reported()
    print(f"| R | {' | '.join(PRIVATE.values())} | fits of each |\n| --- | ---: | ---: | ---: |")
    print("\n".join(rows(shares(lines))))


if __name__ == "__main__":
    main()
