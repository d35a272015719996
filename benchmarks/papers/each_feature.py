"""BRF with its second Bernoulli draw made for each candidate feature, not once a node.

DMRF's paper describes BRF so: each candidate feature offers a random one of its values with
probability p2, else its best one, and the best offer splits the node. With several features the
random offers then seldom win. All else is as in `dpforest.BRFClassifier` and `BRFRegressor`, which
draw once a node; grown in numpy, since it is an experiment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.consistent import BRFClassifier, BRFRegressor
from dpforest.consistent.grower import TreeStack, seed_of
from dpforest.consistent.kernels.layout import CandidateRule, StopRule, Tree

Numbers = NDArray[np.float64]
#: Smallest value that goes left, first value above those that do, and the score.
Cut = tuple[float, float, float]


class _Drawn:
    """Grows the trees of a BRF anew, with a draw for each candidate feature."""

    def _grow(self: Any, X: Numbers, y: NDArray[Any], n_classes: int) -> None:
        rules = self._rules()
        self.categorical_features_ = self._reader.categorical
        tie, *children = seed_of(self.random_state).spawn(self.n_estimators + 1)
        values = np.eye(n_classes)[y] if n_classes else y.astype(float)[:, np.newaxis]
        trees = []
        for child in children:
            generator = np.random.Generator(np.random.PCG64(child))
            generator.integers(0, 2**64, dtype=np.uint64)  # where the package's trees draw a key
            structure, estimation = rules.records.draw(X.shape[0], generator)
            grower = Grower(
                X, values, n_classes > 0, self.categorical_features_,
                rules.candidates.parameters(X.shape[1]), rules.stop.parameters(), self.p2,
                getattr(self, "criterion", "") == "mse", generator,
            )  # fmt: skip
            trees.append(grower.grow(structure, structure if estimation is None else estimation))
        self.forest_ = TreeStack.of(trees, n_classes, int(tie.generate_state(1, np.uint64)[0]))


class EachFeatureClassifier(_Drawn, BRFClassifier):
    """See the module."""


class EachFeatureRegressor(_Drawn, BRFRegressor):
    """See the module."""


@dataclass
class Grower:
    """One tree.

    Parameters
    ----------
    X : ndarray of shape (n, D)
    values : ndarray of shape (n, K)
        A column a class with 1 for its records, or the targets.
    votes : bool
        Whether leaves answer by the majority.
    against_rest : ndarray of bool, shape (D,)
        Features split one value against the rest.
    candidates, stop : as kernels take them
    p2 : float
        Probability that a candidate feature offers a random cut.
    unweighted : bool
        Whether the children's errors are added without weights (eq. 15 of MRF 2019).
    generator : Generator
    """

    X: Numbers
    values: Numbers
    votes: bool
    against_rest: NDArray[np.bool_]
    candidates: CandidateRule
    stop: StopRule
    p2: float
    unweighted: bool
    generator: np.random.Generator
    nodes: list[list[float]] = field(default_factory=list)

    def grow(self, structure: NDArray[Any], estimation: NDArray[Any]) -> Tree:
        """Grow from these structure and estimation points."""
        waiting = [(self._add(), structure, estimation, 0)]
        while waiting:
            node, points, answering, depth = waiting.pop()
            sides = self._sides(node, points, answering, depth)
            if sides is None:
                self.nodes[node][4:] = [self._answer(answering), len(answering)]
                continue
            for own_points, own_answering in sides:
                waiting.append((self._add(), own_points, own_answering, depth + 1))
        feature, low, high, child, value, n_estimation = np.array(self.nodes).T
        return Tree(
            feature.astype(np.int32), low, high, child.astype(np.int32), value,
            n_estimation.astype(np.int32),
        )  # fmt: skip

    def _add(self) -> int:
        number = len(self.nodes)
        self.nodes.append([-1, np.inf, np.inf, number, np.nan, 0])
        return number

    def _sides(self, node: int, points: Any, answering: Any, depth: int) -> Any:
        """Points of both children, or None for a leaf."""
        split_from, child_from, max_depth = self.stop
        if len(answering) < split_from or depth >= max_depth:
            return None
        if not np.ptp(self.values[points], axis=0).any():
            return None
        found = self._choose(points)
        if found is None:
            return None
        f, (low, high, _) = found
        sent = [(low <= self.X[own, f]) & (self.X[own, f] < high) for own in (points, answering)]
        if min(sent[1].sum(), (~sent[1]).sum()) < child_from:
            return None
        self.nodes[node][:4] = [f, low, high, len(self.nodes)]
        return [(points[left], answering[right]) for left, right in (sent, [~s for s in sent])]

    def _answer(self, answering: Any) -> float:
        totals = self.values[answering].sum(axis=0)
        if not self.votes:
            return float(totals[0]) / max(len(answering), 1)
        return float(self.generator.choice(np.flatnonzero(totals == totals.max())))

    def _choose(self, points: Any) -> tuple[int, Cut] | None:
        """The best of what the candidate features offer, ties at random."""
        order = self.generator.permutation(self.X.shape[1])
        size = len(order) if self.candidates.size == 0 else self.candidates.size
        if self.candidates.single > 0 and self.generator.random() < self.candidates.single:
            size = 1
        for first in range(0, len(order), size):
            offers = [(int(f), self._offer(f, points)) for f in order[first : first + size]]
            real = [(f, cut) for f, cut in offers if cut is not None]
            if real:
                return max(real, key=lambda offer: offer[1][2])  # the first of those alike
            if not self.candidates.redraw:
                break
        return None

    def _offer(self, f: int, points: Any) -> Cut | None:
        """A random cut of a feature, or its best, ties at random."""
        lows, highs, scores = self._cuts(f, points)
        if not len(scores):
            return None
        chosen = np.flatnonzero(scores == scores.max())
        if self.generator.random() < self.p2:
            chosen = np.arange(len(scores))
        at = self.generator.choice(chosen) if len(chosen) > 1 else chosen[0]
        return lows[at], highs[at], scores[at]

    def _cuts(self, f: int, points: Any) -> tuple[Numbers, Numbers, Numbers]:
        """Cuts of a feature: ranges that go left, and scores, larger for a larger decrease."""
        column = self.X[points, f]
        order = np.argsort(column, kind="stable")
        column, own = column[order], self.values[points[order]]
        if self.unweighted:
            own = np.hstack([own, own**2])
        last = np.flatnonzero(np.append(column[1:] > column[:-1], True))
        distinct = column[last]
        if len(distinct) < 2:
            return (np.empty(0),) * 3
        sums, counts = np.cumsum(own, axis=0)[last], last + 1.0
        total, n = sums[-1], counts[-1]
        if self.against_rest[f]:
            sums = np.diff(sums, axis=0, prepend=0.0)
            counts = np.diff(counts, prepend=0.0)
            lows, highs = distinct, np.nextafter(distinct, np.inf)
        else:
            sums, counts = sums[:-1], counts[:-1]
            lows = np.full(len(distinct) - 1, -np.inf)
            highs = 0.5 * distinct[:-1] + 0.5 * distinct[1:]
        return lows, highs, self._score(sums, counts) + self._score(total - sums, n - counts)

    def _score(self, sums: Numbers, counts: Numbers) -> Numbers:
        """What a child adds to the decrease, but for what all cuts of a node have in common."""
        if self.unweighted:
            return np.asarray((sums[:, 0] / counts) ** 2 - sums[:, 1] / counts)
        return np.asarray((sums**2).sum(axis=1) / counts)
