"""Arguments of the kernels: the encoded table, a forest's rules and a tree's working room.

Named tuples, because compiled code takes them apart at no cost.
"""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import NDArray


class Table(NamedTuple):
    """Records, encoded once for a forest.

    Attributes
    ----------
    rows : uint8 or uint32 array of shape (n, at least D)
        ``rows[r, f]`` is the rank of record r's value among the distinct values of feature f.
        Columns are filled up to a multiple of 64 where features are counted side by side.
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
    n_lanes : int
        So many of them, the first ones, are counted side by side (:mod:`.lanes`).
    lane_codes : int
        Most values that one of these has.
    firsts : int64 array of the same shape
        First cell of each of them in a node that counts them all.
    n_cells : int
        Cells of all of them, rounded up.
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
    n_lanes: int
    lane_codes: int
    firsts: NDArray
    n_cells: int
    sorted_place: NDArray
    words: NDArray


class CandidateRule(NamedTuple):
    """Features that a node may split: see :mod:`dpforest.consistent.candidates`."""

    single: float  # probability of a single random feature
    size: int  # number of random features; 0 takes all
    poisson: float  # mean of a Poisson number, added to ``size``
    redraw: bool  # whether others are drawn where none of those drawn can split


class SplitRule(NamedTuple):
    """Choice of a split: see :mod:`dpforest.consistent.splits`."""

    joint: bool
    first: float  # probability of the first pair of strengths
    first_feature: float
    first_value: float
    other_feature: float
    other_value: float
    search_points: int  # 0 searches all values


class StopRule(NamedTuple):
    """Conditions for a leaf: see :mod:`dpforest.consistent.rules`."""

    split_from: int  # fewest estimation points of a node that is split
    child_from: int  # fewest estimation points of a child
    max_depth: int


class Room(NamedTuple):
    """Arrays of one tree: what every node writes over, and what is kept between nodes.

    Attributes
    ----------
    structure, estimation : int32 arrays
        Record numbers grouped by node; the same array where the same records serve for both.
        A node's structure points are grouped by class.
    words : uint64 array of shape (n_sorted, n_structure + 1)
        The structure points of each node in the order of features of many values.
    cells : int32 array
        Class counts of counted features. Slots of ``slot_size`` cells; slot 0 is for counts made
        afresh, the others are kept with nodes.
    moment_cells : float64 array
        The same for regression, afresh only.
    stream : uint64 array of shape (1,)
        Where the node is in its stream of random numbers.
    totals, left : int64 arrays of shape (K,)
        Class counts of the node, and of a left child.
    moments : float64 array of shape (4,)
        Number, sum and sum of squares of the node's targets minus their mean, and the mean.
    features : int64 array of shape (D,)
        Features; those drawn come first.
    lows, highs : float64 arrays of shape (D,)
        Smallest and largest score that each drawn feature offers; ``inf`` and ``-inf`` if none.
    scores, codes : float64 and int64 arrays
        Candidates of one feature.
    parts : float64 array of two rows
        What their scores are computed from.
    weights, shares : float64 arrays
        For draws.
    is_counted : bool array of shape (D,)
        Whether the feature is one of few values.
    own, own_firsts : int64 arrays of shape (D,)
        Features that a node counts afresh, with their first cells.
    own_place, kept_place : int64 arrays of shape (D,)
        First cell of each feature among those counted afresh, and among those kept; or -1.
    sums : float64 array of shape (4, n_cells)
        Sums of left children, cell by cell.
    cell_scores : float64 array of shape (n_cells,)
    sorted : uint64 array
        Room to sort a node's words in, and to split them.
    lanes : uint8 array of shape (192,)
        Sums of features that are counted side by side.
    picked, buffer : int32 arrays
        Picked records; records on their way right.
    marks : bool array
        Codes of picked records; False between uses.
    is_left : uint8 array of shape (n,)
        Sides of the records that were split last.
    """

    structure: NDArray
    estimation: NDArray
    words: NDArray
    cells: NDArray
    moment_cells: NDArray
    stream: NDArray
    totals: NDArray
    left: NDArray
    moments: NDArray
    features: NDArray
    lows: NDArray
    highs: NDArray
    scores: NDArray
    codes: NDArray
    parts: NDArray
    weights: NDArray
    shares: NDArray
    is_counted: NDArray
    own: NDArray
    own_firsts: NDArray
    own_place: NDArray
    kept_place: NDArray
    sums: NDArray
    cell_scores: NDArray
    sorted: NDArray
    lanes: NDArray
    picked: NDArray
    buffer: NDArray
    marks: NDArray
    is_left: NDArray


class Tree(NamedTuple):
    """A grown tree. A record goes to ``child[v]`` if ``low[v] <= x < high[v]``, x its value of
    feature ``feature[v]``, else to ``child[v] + 1``; leaves have ``feature[v] == -1``."""

    feature: NDArray  # int32
    low: NDArray  # float64
    high: NDArray  # float64
    child: NDArray  # int32
    value: NDArray  # float64: class code or mean, in leaves
    n_estimation: NDArray  # int32: estimation points that reached the node
