"""The released model of the rules learner: one decision tree of released values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import ModelFormatError
from dpforest.trees.base import ClassShares, LogOddsModel, TableFacts
from dpforest.trees.partial import sampled_scores
from dpforest.trees.rules.directions import Direction, RuleNode
from dpforest.trees.rules.settings import STEEPNESS_RANGE
from dpforest.trees.rules.shares import FlatCuts, SoftCuts
from dpforest.trees.stored import (
    reading,
    real_numbers,
    require,
    whole_number,
    whole_numbers,
)

#: Steepness of soft cuts where a stored model of version 1 does not say it.
STEEPNESS = 20.0
#: Weight of the leaf a record lies in, against its soft shares in all leaves.
HARD_WEIGHT = 2.0
_BLOCK = 2**14
#: Shares that are held at a time where there are many leaves: they stay in fast memory.
_SHARES = 2**19
_LEAST_RUN = 512
_FORMAT = "dpforest-rules"
_VERSION = 2
_KIND = "rules model"
#: Largest entry of a stored table; sums of them stay far inside 64 bits.
_LARGEST = 2**40


@dataclass(frozen=True, slots=True, eq=False)
class RuleModel(LogOddsModel):
    """A decision tree over public directions.

    Attributes
    ----------
    nodes : tuple of (RuleNode or None), length 2^depth - 1
        In heap order; None sends every record left.
    probabilities : ndarray of float64, shape (2^depth, n_classes)
        Of the leaves, from left to right.
    labels : ndarray of int64, shape (2^depth,)
        Drawn labels; most likely class where none was drawn.
    n_features : int
    masses : ndarray of float64, shape (2^depth,), or None
        Released share of the records in each leaf; None where leaves were not counted.
    steepness : float
        Of the soft cuts that grade records by their distance to a cut, in units of the direction's
        public width.
    """

    nodes: tuple[RuleNode | None, ...]
    probabilities: NDArray[np.float64]
    labels: NDArray[np.int64]
    n_features: int
    masses: NDArray[np.float64] | None = None
    steepness: float = STEEPNESS

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.probabilities.shape[1])

    def log_odds(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Log-probabilities of coded records, shape (n, n_classes).

        A record shares in the leaves by its distances to the cuts on its way, and has the
        larger part in the one it lies in. So records are graded and not only sorted.
        """
        scores = np.empty((codes.shape[0], self.n_classes))
        cuts = self._soft_cuts(codes.shape[0])
        for block in _blocks(codes.shape[0]):
            for run in _runs(block, self.labels.size):
                scores[run] = np.log(cuts.shares(codes[run], HARD_WEIGHT).T @ self.probabilities)
        return scores

    def _graded(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        """Shares of records in the leaves, shape (n, n_leaves)."""
        return self._soft_cuts(codes.shape[0]).shares(codes, HARD_WEIGHT).T

    def _soft_cuts(self, n_records: int) -> SoftCuts:
        return SoftCuts.of(FlatCuts.of_nodes(self.nodes), self.steepness, n_records)

    def leaves(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """Index of the leaf that each record lies in."""
        found = np.zeros(codes.shape[0], dtype=np.int64)
        for block in _blocks(codes.shape[0]):
            self._descend(codes[block], found[block])
        return found - len(self.nodes)

    def _descend(self, codes: NDArray[Any], found: NDArray[np.int64]) -> None:
        """Move records from the root, place 0, to their leaves, which come after all nodes.

        Nodes lie as in a heap, so records come to a node before its turn, and leave it.
        """
        for place, node in enumerate(self.nodes):
            here = np.flatnonzero(found == place)
            found[here] = 2 * place + 1
            if node is not None:
                found[here] += node.direction.values(codes[here]) > node.threshold

    def score_parts(self) -> None:
        """None: cuts look at sums of features."""

    def leaf_shares(self) -> ClassShares | None:
        """Probabilities of leaves, and the share of all records in each."""
        if self.masses is None or not self.masses.sum():
            return None
        return self.probabilities, self.masses / self.masses.sum()

    def feature_importances(self) -> NDArray[np.float64]:
        """Share of the model's effect that each feature carries, shape (D,), sum 1 or all 0.

        A cut counts by how far apart the mean probabilities of its two sides are, squared, and
        by the released masses of both; a sum's is divided by how far each feature moves it.
        """
        effect = np.zeros(self.n_features)
        masses = self.leaf_masses()
        for place, node in enumerate(self.nodes):
            if node is None:
                continue
            level = (place + 1).bit_length() - 1
            below = self.labels.size >> (level + 1)
            first = (place + 1 - (1 << level)) * 2 * below
            sides = slice(first, first + below), slice(first + below, first + 2 * below)
            sizes = [float(masses[side].sum()) for side in sides]
            spans = node.direction.spans()
            # Nothing counts that no record passes, nor a sum of sets none of which parts anything.
            if min(sizes) <= 0 or not spans.any():
                continue
            left, right = (
                masses[side] @ self.probabilities[side] / size
                for side, size in zip(sides, sizes, strict=True)
            )
            weight = sizes[0] * sizes[1] / sum(sizes)
            gain = float(((left - right) ** 2).sum()) * weight
            np.add.at(effect, list(node.direction.features), gain * spans / spans.sum())
        total = effect.sum()
        return effect / total if total else effect

    def leaf_masses(self) -> NDArray[np.float64]:
        """Share of the records in each leaf: released, or halved at every cut where not counted."""
        if self.masses is not None:
            return self.masses
        shares = np.ones(1)
        for level in range((len(self.nodes) + 1).bit_length() - 1):
            nodes = self.nodes[(1 << level) - 1 : (2 << level) - 1]
            left = np.array([1.0 if node is None else 0.5 for node in nodes])
            shares = np.column_stack([shares * left, shares * (1.0 - left)]).ravel()
        return shares

    def partial_scores(self, feature: int, facts: TableFacts) -> NDArray[np.float64]:
        """Mean class scores at every code of one feature, shape (n_codes, n_classes).

        Cuts look at sums of features, so the mean is over made-up records, spread evenly.
        """
        looked_at = self._looks_at(feature)
        return sampled_scores(
            self.log_odds, feature, facts.n_codes, looked_at=looked_at, n_scores=self.n_classes
        )

    def features_read(self) -> list[int]:
        """Places of the features of all cuts."""
        return sorted(
            {feature for node in self.nodes if node for feature in node.direction.features}
        )

    def _looks_at(self, feature: int) -> bool:
        """Say if any cut is of a feature."""
        return feature in self.features_read()

    def partial_scores_of(
        self, models: Sequence[Any], feature: int, facts: TableFacts
    ) -> list[NDArray[np.float64]]:
        """``partial_scores`` of models that have the same cuts, which are followed once."""
        tables = np.stack([model.probabilities for model in models], axis=1)
        flat = tables.reshape(tables.shape[0], -1)

        def scores(codes: NDArray[Any]) -> NDArray[np.float64]:
            found: NDArray[np.float64] = np.log(self._graded(codes) @ flat)
            return found

        looked_at = self._looks_at(feature)
        means = sampled_scores(
            scores, feature, facts.n_codes, looked_at=looked_at, n_scores=flat.shape[1]
        )
        means = means.reshape(-1, *tables.shape[1:])
        return [means[:, place] for place in range(len(models))]

    def to_data(self) -> dict[str, Any]:
        """The model as JSON-ready data."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "n_features": self.n_features,
            "nodes": [None if node is None else _node_data(node) for node in self.nodes],
            "probabilities": self.probabilities.tolist(),
            "labels": self.labels.tolist(),
            "masses": None if self.masses is None else self.masses.tolist(),
            "steepness": self.steepness,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any], facts: TableFacts) -> RuleModel:
        """Read what `to_data` wrote, checked against the public facts.

        Raises
        ------
        ModelFormatError
            When it is of another format or version, or parts are missing or do not fit.
        """
        with reading(_KIND):
            version = data.get("version")
            known = type(version) is int and version in (1, _VERSION)
            if data.get("format") != _FORMAT or not known:
                raise ModelFormatError(f"not a {_FORMAT} model of version 1 or {_VERSION}.")
            require(data["n_features"] == facts.n_features, _KIND, "its features do not fit")
            n_leaves, n_classes = len(data["nodes"]) + 1, facts.n_classes
            require(n_leaves & (n_leaves - 1) == 0, _KIND, "nodes do not make a complete tree")
            nodes = tuple(None if node is None else _node_of(node, facts) for node in data["nodes"])
            shape, least = (n_leaves, n_classes), np.finfo(np.float64).tiny
            masses = data["masses"]
            if masses is not None:
                masses = real_numbers(masses, (n_leaves,), "masses of leaves", 0.0, 1.0)
            return cls(
                nodes,
                real_numbers(data["probabilities"], shape, "table of leaves", least, 1.0),
                whole_numbers(data["labels"], (n_leaves,), "labels of leaves", 0, n_classes - 1),
                facts.n_features,
                masses,
                STEEPNESS if version == 1 else _steepness_of(data["steepness"]),
            )


def _blocks(n: int) -> list[slice]:
    """Runs of records, so that the shares of few are held at a time."""
    return [slice(first, min(first + _BLOCK, n)) for first in range(0, n, _BLOCK)]


def _runs(block: slice, n_leaves: int) -> list[slice]:
    """Parts of a block whose shares stay in fast memory; the last one takes in what is left over.

    Runs are no shorter than 512 records, and their shares no fewer than `_SHARES`, so that a
    library adds the leaves up for each record in the order that it has for the whole block.
    """
    size = max(_LEAST_RUN, _SHARES // n_leaves)
    last = max(block.stop - size, block.start)
    edges = [*range(block.start, last + 1, size)]
    return [slice(*ends) for ends in zip(edges, [*edges[1:], block.stop], strict=True)]


def _steepness_of(data: Any) -> float:
    """One number, as it is written."""
    return float(real_numbers([data], (1,), "steepness", *STEEPNESS_RANGE)[0])


def _node_data(node: RuleNode) -> dict[str, Any]:
    return {
        "features": list(node.direction.features),
        "tables": [table.tolist() for table in node.direction.tables],
        "threshold": node.threshold,
    }


def _node_of(data: dict[str, Any], facts: TableFacts) -> RuleNode:
    features, tables = data["features"], data["tables"]
    whole_numbers(features, (len(features),), "features of a node", 0, facts.n_features - 1)
    require(len(features) == len(tables) > 0, _KIND, "features and tables of a node do not fit")
    arrays = tuple(
        whole_numbers(table, (int(facts.n_codes[f]),), "table of a node", -_LARGEST, _LARGEST)
        for f, table in zip(features, tables, strict=True)
    )
    low, high = sum(int(t.min()) for t in arrays), sum(int(t.max()) for t in arrays)
    threshold = whole_number(data["threshold"], "threshold of a node", low - 1, high)
    return RuleNode(Direction(tuple(features), arrays, np.array([threshold])), threshold)
