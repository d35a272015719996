"""The published privacy proof of the multinomial forest, examined: counter-examples, exactly.

Run with ``python benchmarks/proof_examined.py [--write]``. ``--write`` puts the tables into
docs/proof_examined.md, between its markers; a test compares the two. Nothing is sampled: outputs
are enumerated and probabilities are summed, so a ratio that is called infinite is infinite.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Iterator
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "proof_examined.md"
BEGIN, END = "<!-- figures: {} -->", "<!-- end -->"

#: From an output to its probability.
Law = dict[object, float]


def worst_loss(first: Law, second: Law) -> float:
    """Largest |log ratio| of the probabilities of an output under two laws."""
    worst = 0.0
    for output in first.keys() | second.keys():
        p, q = first.get(output, 0.0), second.get(output, 0.0)
        if p == 0.0 and q == 0.0:
            continue
        if p == 0.0 or q == 0.0:
            return math.inf
        worst = max(worst, abs(math.log(p / q)))
    return worst


def multinomial(scores: dict[float, float], strength: float) -> Law:
    """Draw a candidate with probability proportional to exp(strength * score)."""
    weights = {candidate: math.exp(strength * score) for candidate, score in scores.items()}
    total = sum(weights.values())
    return {candidate: weight / total for candidate, weight in weights.items()}


def gini_decreases(records: list[tuple[float, int]]) -> dict[float, float]:
    """Normalised decrease of Gini's impurity at every midpoint of neighbouring values."""
    decreases = raw_decreases(records)
    low, high = min(decreases.values()), max(decreases.values())
    spread = high - low
    return {cut: (d - low) / spread if spread else 0.0 for cut, d in decreases.items()}


def raw_decreases(records: list[tuple[float, int]]) -> dict[float, float]:
    """Decrease of Gini's impurity at every midpoint of neighbouring values."""
    values = sorted({x for x, _ in records})
    cuts = [(a + b) / 2 for a, b in itertools.pairwise(values)]

    def impurity(part: list[int]) -> float:
        return 1.0 - sum((part.count(c) / len(part)) ** 2 for c in set(part))

    labels = [y for _, y in records]
    decreases = {}
    for cut in cuts:
        left = [y for x, y in records if x <= cut]
        right = [y for x, y in records if x > cut]
        weighted = (len(left) * impurity(left) + len(right) * impurity(right)) / len(records)
        decreases[cut] = impurity(labels) - weighted
    return decreases


# -- the counter-examples ------------------------------------------------------------------------


def observed_thresholds() -> Iterator[str]:
    """Lemma 6: candidates are the values that are there."""
    ends = [(0.0, 0)] * 3 + [(3.0, 1)] * 3
    first = multinomial(gini_decreases(ends), 0.5)
    second = multinomial(gini_decreases([*ends, (1.0, 1)]), 0.5)
    yield "| threshold | probability on D | on D and one record at 1 |"
    yield "| --- | --- | --- |"
    for cut in sorted(first.keys() | second.keys()):
        yield f"| {cut} | {first.get(cut, 0.0):.4f} | {second.get(cut, 0.0):.4f} |"
    yield ""
    yield f"Claimed for the value's draw: B2 = 1. Found: {worst_loss(first, second)}."


def zero_over_zero() -> Iterator[str]:
    """The normalisation divides by max - min, which is 0 in a pure node."""
    # Two features with values 0 and 1, and a label; all are of class 0.
    pure = [(0.0, 0.0, 0), (0.0, 1.0, 0), (0.0, 0.0, 0), (1.0, 1.0, 0)]
    mixed = [*pure, (1.0, 1.0, 1)]

    def best(records: list[tuple[float, float, int]]) -> dict[str, float]:
        by_feature = {"A": [(a, y) for a, _, y in records], "B": [(b, y) for _, b, y in records]}
        return {name: max(raw_decreases(part).values()) for name, part in by_feature.items()}

    def law(raw: dict[str, float], where_constant: float | None) -> Law:
        low, high = min(raw.values()), max(raw.values())
        if low == high and where_constant is None:
            return {"no split": 1.0}
        if low == high:
            return dict(multinomial(dict.fromkeys(raw, where_constant), 0.5))
        return dict(multinomial({k: (v - low) / (high - low) for k, v in raw.items()}, 0.5))

    yield "| 0/0 is read as | drawn on D | on D and one record of class 1 | found |"
    yield "| --- | --- | --- | --- |"
    for words, value in (("no number: nothing is drawn", None), ("0, for all features", 0.0)):
        laws = law(best(pure), value), law(best(mixed), value)
        shown = [", ".join(f"{name} {p:.4f}" for name, p in found.items()) for found in laws]
        yield f"| {words} | {shown[0]} | {shown[1]} | {worst_loss(*laws):.4f} |"
    yield ""
    yield "Claimed for the feature's draw: B1 = 1."


def depth_from_records(sizes: tuple[int, int] = (49, 50)) -> Iterator[str]:
    """Theorem 2 divides by d = |D^E|/k, which a record of E changes."""
    k = 5
    yield "| estimation points | k | d | B1 = B2 at ε = 1 | the worse of two is drawn |"
    yield "| --- | --- | --- | --- | --- |"
    laws, depths = [], []
    for n in sizes:
        depths.append(n // k)
        strength = 1.0 / (2 * depths[-1])
        laws.append(label_law((1, 0), strength / 2))
        yield f"| {n} | {k} | {depths[-1]} | {strength:.4f} | {laws[-1][1]:.6f} |"
    # A feature and a value in each node of the levels that both trees have.
    draws = 2 * (2 ** min(depths) - 1)
    one, other = laws
    losses = [
        abs(w * math.log(one[1] / other[1]) + (draws - w) * math.log(one[0] / other[0]))
        for w in range(draws + 1)
    ]
    yield ""
    yield (
        f"Claimed for the whole tree: 1. Found, over the {draws} draws that both trees make: "
        f"{max(losses):.2f}; and where the number of levels can be seen: "
        f"{worst_loss({depths[0]: 1.0}, {depths[1]: 1.0})}."
    )


def stop_by_size() -> Iterator[str]:
    """A node is split only where more than k estimation points reach it."""
    yield "| estimation points in the node | k | the node is |"
    yield "| --- | --- | --- |"
    laws = []
    for n in (5, 6):
        kind = "a leaf" if n <= 5 else "split"
        laws.append({kind: 1.0})
        yield f"| {n} | 5 | {kind}, with probability 1 |"
    yield ""
    yield f"Paid for this: nothing. Found: {worst_loss(*laws)}."


def label_law(shares: tuple[float, float], strength: float) -> tuple[float, float]:
    """Probabilities of two labels by exp(strength * share)."""
    weights = [math.exp(strength * share) for share in shares]
    return weights[0] / sum(weights), weights[1] / sum(weights)


def labels_at_each_prediction() -> Iterator[str]:
    """A label is drawn anew whenever a record is predicted."""
    yield "| predictions | epsilon of the label, claimed | found |"
    yield "| --- | --- | --- |"
    # The first record of an empty leaf: shares (0, 0) and (1, 0), B3 = 1.
    empty, one = label_law((0, 0), 0.5), label_law((1, 0), 0.5)
    for m in (1, 10, 100, 1000):
        laws = [
            {k: math.comb(m, k) * p**k * (1 - p) ** (m - k) for k in range(m + 1)}
            for p in (empty[1], one[1])
        ]
        losses = [
            abs(k * math.log(one[1] / empty[1]) + (m - k) * math.log(one[0] / empty[0]))
            for k in laws[0]
        ]
        yield f"| {m} | 1 | {max(losses):.2f} |"


def geometric(k: int, epsilon: float) -> float:
    """Probability of k under two-sided geometric noise."""
    a = math.exp(-epsilon)
    return (1 - a) / (1 + a) * a ** abs(k)


def two_cells() -> Iterator[str]:
    """Property 2 over the nodes of a level, under replacing a record."""
    epsilon, reach = 1.0, range(-6, 12)

    def law(counts: tuple[int, int]) -> Law:
        return {
            (a, b): geometric(a - counts[0], epsilon) * geometric(b - counts[1], epsilon)
            for a in reach
            for b in reach
        }

    added = worst_loss(law((4, 3)), law((5, 3)))
    moved = worst_loss(law((4, 3)), law((3, 4)))
    yield "| neighbours | counts of two leaves | claimed for the level | found |"
    yield "| --- | --- | --- | --- |"
    yield f"| add one record | (4, 3) and (5, 3) | 1 | {added:.4f} |"
    yield f"| replace one record | (4, 3) and (3, 4) | 1 | {moved:.4f} |"


def fixed_halves() -> Iterator[str]:
    """S and E as random halves of fixed size: a record's side depends on the others."""
    epsilon = 1.0
    reach = range(-8, 12)

    def law(records: list[tuple[int, int]], sides: Callable[[int], list[tuple[int, ...]]]) -> Law:
        total: Law = {}
        choices = sides(len(records))
        for structure in choices:
            ones = sum(records[i][0] for i in structure)
            others = [i for i in range(len(records)) if i not in structure]
            counted = sum(records[i][1] for i in others)
            for a in reach:
                for b in reach:
                    p = geometric(a - ones, epsilon) * geometric(b - counted, epsilon)
                    total[a, b] = total.get((a, b), 0.0) + p / len(choices)
        return total

    def halves(n: int) -> list[tuple[int, ...]]:
        return list(itertools.combinations(range(n), (n + 1) // 2))

    def coins(n: int) -> list[tuple[int, ...]]:
        return [tuple(i for i in range(n) if side >> i & 1) for side in range(2**n)]

    # A record counts in S by its first number and in E by its second.
    pair = [(1, 1)], [(1, 1), (0, 0)]
    yield "| how sides are drawn | claimed, max of the sides | found |"
    yield "| --- | --- | --- |"
    yield f"| a random half of fixed size | 1 | {worst_loss(*(law(r, halves) for r in pair)):.4f} |"
    own = worst_loss(*(law(r, coins) for r in pair))
    other = worst_loss(law([], coins), law([(1, 1)], coins))
    yield f"| each record by its own coin | 1 | {max(own, other):.4f} |"


def unchanged_by_size() -> Iterator[str]:
    """Normalised scores do not grow with the number of records."""
    yield "| records | the best of 20 cuts is drawn, B = 0.1 | by count-weighted Gini at 0.1 |"
    yield "| --- | --- | --- |"
    for n in (100, 10_000, 1_000_000):
        # One cut parts the classes 60 to 40, nineteen tell nothing.
        normal = 1.0 / (1.0 + 19.0 * math.exp(-0.1 / 2))
        gain = n * 2 * (0.5 * 0.5 - 0.6 * 0.4)  # n m-weighted Gini, both sides
        counted = 1.0 / (1.0 + 19.0 * math.exp(-0.1 * gain / 2))
        yield f"| {n:,} | {normal:.4f} | {counted:.4f} |"


def appendix_f() -> Iterator[str]:
    """What one tree with drawn labels can reach at most."""
    yield "| B3 | probability that a pure leaf draws its class, two classes |"
    yield "| --- | --- |"
    for strength in (0.1, 1, 5, 10):
        yield f"| {strength} | {100 * label_law((1, 0), strength / 2)[0]:.1f} % |"
    yield ""
    yield (
        "So a single tree's expected accuracy at B3 = 1 cannot exceed 62.2 %, whatever it has "
        "learnt; Appendix F prints 94.71 % for WDBC."
    )


SECTIONS: dict[str, Callable[[], Iterator[str]]] = {
    "observed thresholds": observed_thresholds,
    "zero over zero": zero_over_zero,
    "stop by size": stop_by_size,
    "depth from records": depth_from_records,
    "labels at each prediction": labels_at_each_prediction,
    "two cells": two_cells,
    "fixed halves": fixed_halves,
    "unchanged by size": unchanged_by_size,
    "appendix f": appendix_f,
}


def rewritten(page: str) -> str:
    """The page with every section's figures made anew."""
    for name, figures in SECTIONS.items():
        begin = BEGIN.format(name)
        before, rest = page.split(begin)
        _, after = rest.split(END, 1)
        page = "\n".join([f"{before}{begin}", "", *figures(), "", f"{END}{after}"])
    return page


def main() -> None:
    """Print every table, and write them into the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        PAGE.write_text(rewritten(PAGE.read_text("utf-8")), "utf-8")
        return
    for name, figures in SECTIONS.items():
        print(f"\n== {name}", *figures(), sep="\n")


if __name__ == "__main__":
    main()
