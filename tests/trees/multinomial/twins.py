"""Slow twins of the tree kernels: plain Python, one record or candidate at a time.

They share no code with the kernels and use other representations: sets of codes for boxes,
lists of records for nodes, fractions for scores.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

STEPS = 2**20


def random_table(seed, n_rows, n_codes, n_classes, dtype=np.uint8):
    """Codes and labels, skewed so that cells repeat and some stay empty."""
    generator = np.random.default_rng(seed)
    codes = np.floor(generator.random((n_rows, len(n_codes))) ** 2 * np.asarray(n_codes))
    labels = generator.integers(0, n_classes, n_rows)
    return codes.astype(dtype), labels.astype(np.uint8 if n_classes <= 256 else np.uint16)


def random_segments(seed, n_rows, n_nodes):
    """Records spread over nodes (some of them empty), each node's records in some order."""
    generator = np.random.default_rng(seed)
    nodes = np.sort(generator.integers(0, n_nodes, n_rows))
    starts = np.searchsorted(nodes, np.arange(n_nodes + 1))
    return generator.permutation(n_rows).astype(np.int32), starts.astype(np.int64)


def random_heap(seed, n_trees, depth, n_codes, ordered, dtype=np.int32):
    """Splits of complete trees; about one node in eight has none."""
    generator = np.random.default_rng(seed)
    shape = (n_trees, 2**depth - 1)
    feature = generator.integers(0, len(n_codes), shape)
    high = np.floor(generator.random(shape) * np.asarray(n_codes)[feature])
    low = np.where(np.asarray(ordered)[feature], 0, high)
    feature[generator.random(shape) < 1 / 8] = -1
    return feature.astype(np.int32), low.astype(dtype), high.astype(dtype)


def offsets_of(n_codes):
    return np.concatenate([[0], np.cumsum(n_codes)]).astype(np.int64)


def histogram(codes, labels, records, n_codes, n_classes):
    """Counts of one node as nested lists: ``[feature][code][class]``."""
    counts = [[[0] * n_classes for _ in range(m)] for m in n_codes]
    for record in records:
        for f, code in enumerate(codes[record]):
            counts[f][int(code)][int(labels[record])] += 1
    return counts


def flat_histogram(counts):
    return np.array([cell for feature in counts for cell in feature], dtype=np.int32)


def goes_left(row, feature, low, high):
    return feature < 0 or int(low) <= int(row[feature]) <= int(high)


def split_records(codes, records, feature, low, high):
    left = [r for r in records if goes_left(codes[r], feature, low, high)]
    right = [r for r in records if not goes_left(codes[r], feature, low, high)]
    return left, right


def leaf_of(row, feature, low, high, depth):
    node = 0
    for _ in range(depth):
        step = 1 if goes_left(row, feature[node], low[node], high[node]) else 2
        node = 2 * node + step
    return node - (2**depth - 1)


def candidates(reachable, is_ordered):
    """Codes at which a feature can be split, given the set of codes that can reach the node."""
    if is_ordered:
        return [c for c in reachable if c < max(reachable)]
    return list(reachable) if len(reachable) > 1 else []


def children_counts(counts, code, is_ordered):
    """Class counts of the two children of a candidate of one feature."""
    n_classes = len(counts[0])
    left, right = [0] * n_classes, [0] * n_classes
    for c, cell in enumerate(counts):
        side = left if (c <= code if is_ordered else c == code) else right
        for label, count in enumerate(cell):
            side[label] += count
    return left, right


def gini_count(left, right):
    """Exact, each child floored: what the kernel computes while m**2 2**20 < 2**52."""
    total = 0
    for child in (left, right):
        if sum(child):
            total += math.floor(Fraction(sum(m * m for m in child), sum(child)) * STEPS)
    return total


def majority_count(left, right):
    return max(left) + max(right)


def gini(counts):
    return 1 - sum(Fraction(m, sum(counts)) ** 2 for m in counts) if sum(counts) else 0


def entropy(counts):
    whole = sum(counts)
    return -sum(m / whole * math.log(m / whole) for m in counts if m)


def decrease(impurity, left, right):
    """Equation (4) of the paper: the node's impurity minus the children's, weighted by records."""
    node = [a + b for a, b in zip(left, right, strict=True)]
    if not sum(node):
        return 0.0
    weighted = sum(sum(child) * impurity(child) for child in (left, right) if sum(child))
    return float(impurity(node) - weighted / sum(node))


SCORES = {
    "gini_decrease": lambda left, right: decrease(gini, left, right),
    "entropy_decrease": lambda left, right: decrease(entropy, left, right),
    "gini_count": gini_count,
    "majority_count": majority_count,
}


def scores(counts, reachable, ordered, criterion):
    """Scores of one node by feature and code, ``-inf`` where there is no candidate."""
    result = []
    for f, cells in enumerate(counts):
        allowed = candidates(reachable[f], ordered[f])
        for code in range(len(cells)):
            score = -math.inf
            if code in allowed:
                score = SCORES[criterion](*children_counts(cells, code, ordered[f]))
            result.append(score)
    return result


def normalised(values):
    """Min–max over what is finite, floored to lattice steps."""
    finite = [v for v in values if v != -math.inf]
    if not finite:
        return list(values)
    low, spread = min(finite), max(finite) - min(finite)
    return [
        v if v == -math.inf else math.floor((v - low) / spread * STEPS) if spread else 0
        for v in values
    ]


def child_boxes(reachable, is_ordered, feature, low, high):
    """Sets of codes that can reach the two children; with no split both keep the node's box."""
    left, right = [set(s) for s in reachable], [set(s) for s in reachable]
    if feature >= 0:
        inside = {c for c in reachable[feature] if low <= c <= high}
        left[feature], right[feature] = inside, reachable[feature] - inside
    return left, right


def box_arrays(boxes, n_codes, ordered):
    """The kernels' form of nodes' boxes."""
    offsets = offsets_of(n_codes)
    low = np.zeros((len(boxes), len(n_codes)), np.int32)
    high = np.zeros((len(boxes), len(n_codes)), np.int32)
    alive = np.zeros((len(boxes), offsets[-1]), np.bool_)
    for node, box in enumerate(boxes):
        for f, codes in enumerate(box):
            low[node, f], high[node, f] = min(codes), max(codes)
            alive[node, [offsets[f] + c for c in codes]] = True
    return low, high, alive
