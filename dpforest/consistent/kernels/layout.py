"""What the kernels take: the encoded table and the rules of a forest, as plain named tuples.

Compiled code takes a tuple apart where it enters and passes plain arrays on: handing tuples of
arrays down costs reference counts that are dearer than a small node.
"""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import NDArray


class Table(NamedTuple):
    """Records, encoded once for a forest.

    Attributes
    ----------
    rows : uint8 or uint32 array of shape (n, D)
        ``rows[r, f]`` is the rank of record r's value among the distinct values of feature f.
    labels : uint16 array of shape (n,)
        Class codes; empty in regression.
    targets : float64 array of shape (n,)
        Targets; empty in classification.
    n_classes : int
        0 in regression.
    values : float64 array
        Distinct values of all features, ascending within each.
    value_starts : int64 array of shape (D + 1,)
        Feature f's values are ``values[value_starts[f]:value_starts[f + 1]]``.
    n_codes : int64 array of shape (D,)
        Numbers of distinct values.
    against_rest : bool array of shape (D,)
        Features split one value against the rest; others are ordered.
    counted : int64 array
        Features of few values, which nodes count by cells.
    firsts : int64 array of the same shape
        First cell of each of them in a node that counts them all.
    n_cells : int
        Cells of all of them.
    sorted_place : int64 array of shape (D,)
        Row of ``words`` that holds the feature, or -1.
    words : uint64 array of shape (n_sorted, n)
        All records in the order of features of many values.
    """

    rows: NDArray
    labels: NDArray
    targets: NDArray
    n_classes: int
    values: NDArray
    value_starts: NDArray
    n_codes: NDArray
    against_rest: NDArray
    counted: NDArray
    firsts: NDArray
    n_cells: int
    sorted_place: NDArray
    words: NDArray


class CandidateRule(NamedTuple):
    """Which features a node may split: see :mod:`dpforest.consistent.candidates`."""

    single: float  # probability of a single random feature
    size: int  # number of random features; 0 takes all
    poisson: float  # mean of a Poisson number, added to ``size``


class SplitRule(NamedTuple):
    """How a split is chosen: see :mod:`dpforest.consistent.splits`."""

    joint: bool
    first: float  # probability of the first pair of strengths
    first_feature: float
    first_value: float
    other_feature: float
    other_value: float
    search_points: int  # 0 searches all values


class StopRule(NamedTuple):
    """When a node becomes a leaf: see :mod:`dpforest.consistent.rules`."""

    split_from: int  # fewest estimation points of a node that is split
    child_from: int  # fewest estimation points of a child
    max_depth: int


class Tree(NamedTuple):
    """A grown tree. A record goes to ``child[v]`` if ``low[v] <= x < high[v]``, x its value of
    feature ``feature[v]``, else to ``child[v] + 1``; leaves have ``feature[v] == -1``."""

    feature: NDArray  # int32
    low: NDArray  # float64
    high: NDArray  # float64
    child: NDArray  # int32
    value: NDArray  # float64: class code or mean, in leaves
    n_estimation: NDArray  # int32: estimation points that reached the node
