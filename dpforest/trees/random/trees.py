"""Random trees: complete trees whose splits depend on public facts and released bins alone.

Drawing them reads no record and costs nothing; what they hold becomes worth something through
what is released for their leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.entropy import RandomSource
from dpforest.trees.base import TableFacts
from dpforest.trees.random.bins import Bins
from dpforest.trees.random.kernels.leaves import add_leaf_values, tree_leaves
from dpforest.trees.random.kernels.random_trees import draw_trees
from dpforest.trees.random.kernels.unknown import count_coins, throw_coins
from dpforest.trees.splits import MaskTrees
from dpforest.trees.stored import reading, require, whole_number, whole_numbers

#: Bin of every code, and where the bins of each feature begin.
DeclaredBins: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
#: Deepest trees that are read back: their leaves are 2**depth a tree.
MAX_DEPTH = 20


@dataclass(frozen=True, slots=True, eq=False)
class RandomTrees(MaskTrees):
    """Complete trees of one depth, as heaps of ``2**depth - 1`` nodes.

    Attributes
    ----------
    depth : int
    feature : ndarray of int32, shape (n_trees, 2**depth - 1)
    mask : ndarray of uint64, shape (n_trees, 2**depth - 1, W)
        A code c goes left if bit ``c % 64`` of word ``c // 64`` is set. A node that nothing can
        split sends all codes of feature 0 left.
    """

    depth: int
    feature: NDArray[np.int32]
    mask: NDArray[np.uint64]

    @property
    def splits(self) -> NDArray[np.int32]:
        """Feature that each node splits, -1 where it sends all codes left; as ``feature``."""
        nothing = (self.mask == ~np.uint64(0)).all(axis=2)
        return np.where(nothing, np.int32(-1), self.feature)

    @property
    def n_leaves(self) -> int:
        """Leaves of one tree."""
        return 1 << self.depth

    def take(self, trees: slice | list[int]) -> RandomTrees:
        """Some of the trees."""
        return RandomTrees(self.depth, self.feature[trees], self.mask[trees])

    @classmethod
    def joined(cls, parts: list[RandomTrees]) -> RandomTrees:
        """Trees of the same depth and table, one part after the other."""
        return cls(
            parts[0].depth,
            np.concatenate([part.feature for part in parts]),
            np.concatenate([part.mask for part in parts]),
        )

    def leaves(self, codes: NDArray[Any]) -> NDArray[np.int32]:
        """Leaf number of every record in every tree, shape (n_trees, n)."""
        out = np.empty((self.n_trees, codes.shape[0]), dtype=np.int32)
        tree_leaves(np.ascontiguousarray(codes), self.feature, self.mask, self.depth, out)
        return out

    def add_values(
        self, codes: NDArray[Any], values: NDArray[np.float64], scores: NDArray[np.float64]
    ) -> None:
        """Add ``values`` (n_trees, n_leaves, C) of every record's leaves to ``scores`` (n, C)."""
        flat = np.ascontiguousarray(codes)
        add_leaf_values(flat, self.feature, self.mask, self.depth, values, scores)

    def to_data(self) -> dict[str, Any]:
        """JSON-ready form: masks as one hexadecimal number a node."""
        width = 16 * self.mask.shape[2]
        as_big = np.ascontiguousarray(self.mask[:, :, ::-1]).astype(">u8")
        return {
            "depth": self.depth,
            "feature": self.feature.tolist(),
            "left_codes": [[node.tobytes().hex() for node in tree] for tree in as_big],
            "hex_digits": width,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any], facts: TableFacts) -> RandomTrees:
        """Read what ``to_data`` wrote, checked so that no record leaves the tables.

        Raises
        ------
        ModelFormatError
        """
        kind = "random trees"
        with reading(kind):
            depth = whole_number(data["depth"], "depth of trees", 1, MAX_DEPTH)
            shape = len(data["feature"]), (1 << depth) - 1
            last = facts.n_features - 1
            feature = whole_numbers(data["feature"], shape, "features of trees", 0, last, np.int32)
            n_words = mask_words(facts)
            nodes = [node for tree in data["left_codes"] for node in tree]
            fits = len(nodes) == feature.size > 0 and data["hex_digits"] == 16 * n_words
            require(fits, kind, "its masks do not fit the nodes")
            require(all(len(n) == 16 * n_words for n in nodes), kind, "a mask is of another width")
            words = np.frombuffer(bytes.fromhex("".join(nodes)), dtype=">u8").astype(np.uint64)
            mask = words.reshape(*shape, n_words)[:, :, ::-1]
            return cls(depth, feature, np.ascontiguousarray(mask))


def mask_words(facts: TableFacts) -> int:
    """Words of a node's mask: a bit for every code of the feature with the most codes."""
    return -(-int(facts.n_codes.max()) // 64)


def draw_random_trees(
    n_trees: int,
    depth: int,
    bins: Bins,
    facts: TableFacts,
    source: RandomSource,
    n_features: NDArray[np.int64] | None = None,
    declared: DeclaredBins | None = None,
    weights: NDArray[np.int64] | None = None,
) -> RandomTrees:
    """Draw complete random trees over bins.

    At every node a feature, uniformly among those that can split the node's box; then for an
    ordered feature a threshold, uniform between the bins that the ancestors left, with a missing
    value on a random side; for a categorical one a random non-trivial subset of the declared
    levels left, or a threshold in their list where that tells an order (in half of the nodes where
    it may tell one), with what is not declared on a random side: no node tells that from all the
    rest.

    Parameters
    ----------
    n_trees, depth : int
    bins : Bins
        Public, or released.
    facts : TableFacts
    source : RandomSource
        One word a tree: public randomness.
    n_features : ndarray of int64, shape (n_trees,), optional
        How many features, drawn at random, each tree may use; all without.
    declared : tuple of ndarray, optional
        From `declared_bins`, for whoever draws many times.
    weights : ndarray of int64, shape (D,), optional
        Of the features that a tree may use, which are drawn in proportion to them: public, or
        made of released values. Positive, below 2**31 in all.

    Notes
    -----
    **Claim**: no record is read, so this costs nothing. **Tests**:
    tests/trees/random/test_trees.py.
    """
    shape = (n_trees, (1 << depth) - 1)
    feature = np.empty(shape, dtype=np.int32)
    mask = np.empty((*shape, mask_words(facts)), dtype=np.uint64)
    allowed = np.full(n_trees, facts.n_features) if n_features is None else n_features
    of_code, starts = declared_bins(bins, facts) if declared is None else declared
    draw_trees(
        source.words(n_trees),
        np.ascontiguousarray(allowed, dtype=np.int64),
        of_code,
        starts,
        facts.offsets,
        facts.ordered,
        facts.list_orders,
        facts.has_missing_code,
        np.empty(0, dtype=np.int64) if weights is None else weights,
        feature,
        mask,
    )
    toss_unknown(feature, mask, facts, source)
    return RandomTrees(depth, feature, mask)


def declared_bins(bins: Bins, facts: TableFacts) -> DeclaredBins:
    """Bins and their starts where what is not declared shares the bin of a feature's first code.

    So it never counts among the bins that a node can part.
    """
    offsets = facts.offsets
    of_code = [bins.of_code[offsets[f] : offsets[f + 1]].copy() for f in range(facts.n_features)]
    for feature, own in enumerate(of_code):
        if (unknown := facts.unknown_code(feature)) >= 0:
            own[unknown + 1 :] -= 1
            own[unknown] = own[0]
    sizes = [int(own.max()) + 1 for own in of_code]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return np.concatenate(of_code), starts


def toss_unknown(
    feature: NDArray[np.int32],
    mask: NDArray[np.uint64],
    facts: TableFacts,
    source: RandomSource,
) -> None:
    """Send what is not declared to a random side of every node that splits its feature."""
    if max(facts.unknown, default=-1) < 0:
        return
    unknown = np.array(facts.unknown, dtype=np.int64)
    throw_coins(feature, mask, unknown, source.words(count_coins(feature, mask, unknown)))
