"""What exactness costs: the draws of a forest, exact and in plain doubles, on the same scores.

A forest of 100 trees of depth 8 makes 51,000 draws: a feature and a value at each of 255 nodes. A
fit is watched and the scores of all its draws are kept. Then they are drawn again by the library's
kernel, by a softmax in doubles (one uniform a draw, no certified error), and by a Gumbel race in
doubles (one word a candidate), each compiled and with its random words made beforehand.

Run with ``python benchmarks/draws.py [--rows 36631] [--trees 100] [--depth 8] [--repeats 15]``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from common.timing import median_seconds
from kernels import N_CODES, ORDERED, synthetic_table
from numba import njit

from dpforest import (
    CategoricalFeature,
    Domain,
    MultinomialForestClassifier,
    NumericFeature,
    bridge,
)
from dpforest.accounting import BudgetAccountant
from dpforest.mechanisms import SystemSource, select_exponential
from dpforest.mechanisms.base import exponent
from dpforest.mechanisms.kernels.selection import UNDECIDED, select_exponential_rows

NO_WEIGHTS = np.empty(0)


@dataclass
class Call:
    """One call of the mechanism: rows of scores, and what they were drawn for."""

    scores: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    unit: Fraction
    event: Any

    @property
    def c(self) -> float:
        """Coefficient of the scores."""
        return float(exponent(self.event.epsilon, self.event.score_range, self.unit))


@njit(cache=True, nogil=True)
def draw_softmax(scores, starts, ends, c, words, out):  # type: ignore[no-untyped-def]
    """The exponential mechanism in doubles by its cumulative sums."""
    weights = np.empty((ends - starts).max())
    for i in range(starts.size):
        n = ends[i] - starts[i]
        row = scores[starts[i] : ends[i]]
        top, total = row.max(), 0.0
        for j in range(n):
            weights[j] = np.exp(c * (row[j] - top))
            total += weights[j]
        left = (words[i] >> np.uint64(11)) * 2.0**-53 * total
        out[i] = n - 1
        for j in range(n):
            left -= weights[j]
            if left < 0:
                out[i] = j
                break


@njit(cache=True, nogil=True)
def draw_gumbel(scores, starts, ends, c, words, out):  # type: ignore[no-untyped-def]
    """The same as the largest of scores with Gumbel noise; ``words`` has one a candidate."""
    for i in range(starts.size):
        best = -np.inf
        for j in range(starts[i], ends[i]):
            u = ((words[j] >> np.uint64(11)) + 0.5) * 2.0**-53
            key = c * scores[j] - np.log(-np.log(u))
            if key > best:
                best, out[i] = key, j - starts[i]


@contextmanager
def watched(calls: list[Call]):  # type: ignore[no-untyped-def]
    """Keep the scores of every selection of the trees that are grown in the block."""
    real = bridge.select_exponential

    def keeping(scores, starts, ends, unit, grant, source, *rest):  # type: ignore[no-untyped-def]
        kept = [np.array(part) for part in (scores, starts, ends)]
        calls.append(Call(*kept, unit, grant._event))
        return real(scores, starts, ends, unit, grant, source, *rest)

    bridge.select_exponential = keeping
    try:
        yield
    finally:
        bridge.select_exponential = real


def warm_seconds(ways: dict[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    """Median seconds of the processor of each way, after a warm-up."""
    for way in ways.values():
        way()
    return median_seconds(ways, repeats, time.process_time)


def ways_of(calls: list[Call]) -> dict[str, Callable[[], None]]:
    """All draws in each way; the kernels' words are made beforehand."""
    source = SystemSource()
    out = [np.empty(call.starts.size, dtype=np.int64) for call in calls]
    one = [source.words(call.starts.size) for call in calls]
    many = [source.words(call.scores.size) for call in calls]
    cs = [call.c for call in calls]
    places = range(len(calls))

    def kernel(draw: Any, words: Any, *more: Any) -> Callable[[], None]:
        def run() -> None:
            for i in places:
                call = calls[i]
                draw(call.scores, *more, call.starts, call.ends, cs[i], words[i], out[i])

        return run

    def mechanism() -> None:
        for call in calls:
            grant = BudgetAccountant._unlimited().request(
                call.event, role="draw", cells=call.starts.size
            )
            select_exponential(call.scores, call.starts, call.ends, call.unit, grant, source)

    return {
        "softmax in doubles": kernel(draw_softmax, one),
        "Gumbel race in doubles": kernel(draw_gumbel, many),
        "exact, kernel alone": kernel(select_exponential_rows, one, NO_WEIGHTS),
        "exact, with grants, words of the system and the slow path": mechanism,
    }


def undecided(calls: list[Call], repeats: int) -> tuple[int, int]:
    """Draws that 64 bits did not decide, and draws that were tried."""
    source, open_, tried = SystemSource(), 0, 0
    for _ in range(repeats):
        for call in calls:
            out = np.empty(call.starts.size, dtype=np.int64)
            words = source.words(call.starts.size)
            select_exponential_rows(
                call.scores, NO_WEIGHTS, call.starts, call.ends, call.c, words, out
            )
            open_ += int((out == UNDECIDED).sum())
            tried += out.size
    return open_, tried


def forest_of(trees: int, depth: int) -> MultinomialForestClassifier:
    """The default forest with public cells like those of Adult."""
    features = [
        NumericFeature(name=f"x{i}", lower=0, upper=int(n) - 1, integer=True)
        if ordered
        else CategoricalFeature(name=f"x{i}", categories=tuple(map(str, range(n))))
        for i, (n, ordered) in enumerate(zip(N_CODES, ORDERED, strict=True))
    ]
    return MultinomialForestClassifier(
        epsilon=1, domain=Domain(features=features, classes=[0, 1]), n_estimators=trees,
        max_depth=depth, accountant=BudgetAccountant(100),
    )  # fmt: skip


def main() -> None:
    """Read the command line and print times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=36631)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    X, y = synthetic_table(options.rows)
    forest, calls = forest_of(options.trees, options.depth), []
    with watched(calls):
        forest.fit(X, y)
    fit = warm_seconds({"fit": lambda: forest.fit(X, y) and None}, 3)["fit"]
    draws = sum(call.starts.size for call in calls)
    candidates = sum(int((call.ends - call.starts).sum()) for call in calls)
    print(f"{draws:,} draws in {len(calls):,} calls, {candidates / draws:.0f} candidates each")
    times = warm_seconds(ways_of(calls), options.repeats)
    first = times["softmax in doubles"]
    for name, seconds in times.items():
        print(f"{name:58s} {seconds * 1e3:7.2f} ms  {seconds / first:5.2f} x softmax")
    own = times["exact, kernel alone"]
    print(
        f"the whole fit takes {fit * 1e3:.0f} ms, of which the exact kernel {100 * own / fit:.1f} %"
    )
    open_, tried = undecided(calls, options.repeats)
    print(f"undecided by 64 bits: {open_} of {tried:,}")


if __name__ == "__main__":
    main()
