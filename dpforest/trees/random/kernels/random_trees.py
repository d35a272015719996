"""Random complete trees: drawing them from words, and walking records down them.

A tree is a heap of ``2**depth - 1`` nodes. Node v looks at ``feature[v]``; code c goes left if
bit c of its mask is set: ``mask[v, c // 64] >> (c % 64) & 1``. One feature, one code and one word
of bits a step, whatever the kind of feature, and a tree of depth 6 takes 2 KB.

The words are public randomness, expanded by SplitMix64 (Steele, Lea, Flood 2014): no claim of
privacy rests on how structures are drawn, only on their not depending on records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel

#: Features tried at random before those that can split are listed.
_TRIES = 8
#: What the state of the stream grows by a word.
_GAMMA = np.uint64(0x9E3779B97F4A7C15)


@kernel(inline="always")
def _next(state):
    """Next word of the stream in ``state``, shape (1,)."""
    state[0] += _GAMMA
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel(inline="always")
def _below(n, state):
    """Uniform integer below n, up to a bias of n / 2**32."""
    return np.int64(((_next(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel()
def _live_bins(
    node: int, wanted: int, feature: NDArray, sides: NDArray, bin_starts: NDArray, live: NDArray
) -> int:
    """Bins of a feature that the ancestors leave to a node: marks them, returns how many."""
    n_bins = bin_starts[wanted + 1] - bin_starts[wanted]
    live[:n_bins] = True
    child = node
    while child > 0:
        parent = (child - 1) // 2
        if feature[parent] == wanted:
            left = child == 2 * parent + 1
            for b in range(n_bins):
                if sides[parent, b] != left:
                    live[b] = False
        child = parent
    total = 0
    for b in range(n_bins):
        total += live[b]
    return total


@kernel()
def _draw_feature(
    node: int,
    allowed: NDArray,
    feature: NDArray,
    sides: NDArray,
    bin_starts: NDArray,
    live: NDArray,
    state: NDArray,
) -> int:
    """A feature uniformly among those that can split the node's box, -1 where none can.

    On return ``live`` holds its live bins.
    """
    for _ in range(_TRIES):
        tried = allowed[_below(allowed.size, state)]
        if _live_bins(node, tried, feature, sides, bin_starts, live) > 1:
            return tried
    able = np.empty(allowed.size, np.int64)
    n_able = 0
    for i in range(allowed.size):
        if _live_bins(node, allowed[i], feature, sides, bin_starts, live) > 1:
            able[n_able] = allowed[i]
            n_able += 1
    if n_able == 0:
        return -1
    chosen = able[_below(n_able, state)]
    _live_bins(node, chosen, feature, sides, bin_starts, live)
    return chosen


@kernel(inline="always")
def _can_split(left):
    """True if a set of bins, as bits, has two or more."""
    return left & (left - np.uint64(1)) != np.uint64(0)


@kernel()
def _draw_among(left: NDArray, state: NDArray) -> int:
    """Place of a feature, uniformly among those whose bins left, as bits, can be split; else -1."""
    n_able = 0
    for place in range(left.size):
        n_able += _can_split(left[place])
    if n_able == 0:
        state[0] += np.uint64(_TRIES) * _GAMMA  # as if they had been tried
        return -1
    for _ in range(_TRIES):
        place = _below(left.size, state)
        if _can_split(left[place]):
            return place
    skip = _below(n_able, state)
    place = 0
    while skip > 0 or not _can_split(left[place]):
        skip -= _can_split(left[place])
        place += 1
    return place


@kernel()
def _whole(n_bins: int) -> np.uint64:
    """A set of all bins of a feature that has 64 at most."""
    return ~np.uint64(0) >> np.uint64(64 - n_bins)


@kernel(inline="always")
def _size(bits):
    """Number of bins in a set."""
    size = 0
    while bits != np.uint64(0):
        bits &= bits - np.uint64(1)
        size += 1
    return size


@kernel()
def _by_list(listed: int, state: NDArray) -> bool:
    """True if this split of a categorical feature parts its list in two."""
    return listed == 2 or listed == 1 and _next(state) >> np.uint64(63) == np.uint64(1)


@kernel()
def _cut_bits(left: np.uint64, n_bins: int, has_missing: bool, state: NDArray) -> np.uint64:
    """Draw of :func:`_cut`, as bits: the bins that go left."""
    one = np.uint64(1)
    missing = one << np.uint64(n_bins - 1) if has_missing else np.uint64(0)
    values = left & ~missing
    n_live = _size(values)
    skip = _below(n_live - 1, state) if n_live > 1 else n_live - 1
    for _ in range(skip):
        values &= values - one
    # All up to the lowest that is left; none where there are none.
    goes_left = values ^ (values - one) if values != np.uint64(0) else values
    if n_live > 1 and _next(state) >> np.uint64(63) == one:
        goes_left |= missing
    return goes_left


@kernel()
def _subset_bits(left: np.uint64, n_bins: int, state: NDArray) -> np.uint64:
    """Draw of :func:`_subset`, as bits: the bins that go left."""
    goes_left = np.uint64(0)
    for b in range(n_bins):
        goes_left |= (_next(state) >> np.uint64(63)) << np.uint64(b)
    if goes_left & left != np.uint64(0) and goes_left & left != left:
        return goes_left
    for _ in range(_below(_size(left), state)):
        left &= left - np.uint64(1)
    return goes_left ^ (left & (~left + np.uint64(1)))


@kernel()
def _cut(live: NDArray, n_bins: int, has_missing: bool, side: NDArray, state: NDArray) -> None:
    """Sides of bins in their order: a random threshold, missing on a random side."""
    n_values = n_bins - has_missing
    last = -1
    n_live = 0
    for b in range(n_values):
        if live[b]:
            n_live += 1
            last = b
    missing_left = False
    if n_live > 1:
        skip = _below(n_live - 1, state)
        for b in range(n_values):
            if live[b]:
                if skip == 0:
                    last = b
                    break
                skip -= 1
        missing_left = _next(state) >> np.uint64(63) == 1
    # With one live bin of values the split is values against missing.
    for b in range(n_values):
        side[b] = b <= last
    if has_missing:
        side[n_values] = missing_left


@kernel()
def _subset(live: NDArray, n_bins: int, side: NDArray, state: NDArray) -> None:
    """Sides of a categorical feature's bins: each at random, one turned over if all live agree."""
    n_live = 0
    n_left = 0
    for b in range(n_bins):
        side[b] = _next(state) >> np.uint64(63) == 1
        if live[b]:
            n_live += 1
            n_left += side[b]
    if n_left != 0 and n_left != n_live:
        return
    turned = _below(n_live, state)
    for b in range(n_bins):
        if live[b]:
            if turned == 0:
                side[b] = not side[b]
                return
            turned -= 1


def draw_trees(
    words: NDArray,
    n_allowed: NDArray,
    bins: NDArray,
    bin_starts: NDArray,
    offsets: NDArray,
    ordered: NDArray,
    listed: NDArray,
    has_missing: NDArray,
    weights: NDArray,
    feature_out: NDArray,
    mask_out: NDArray,
) -> None:
    """Draw complete random trees, as deep as there is room for in what is overwritten.

    Parameters
    ----------
    words : uint64 array of shape (T,)
    n_allowed : int64 array of shape (T,)
        How many features, drawn at random, a tree may use.
    bins : int64 array of shape (total codes,)
        Bin of every code within its feature, non-decreasing for an ordered one; a missing
        value's is the last.
    bin_starts, offsets : int64 arrays of shape (D + 1,)
    ordered : bool array of shape (D,)
    listed : uint8 array of shape (D,)
        Of two splits of a categorical feature, how many part its list in two.
    has_missing : bool array of shape (D,)
        Whether a feature's last bin is a missing value's.
    weights : int64 array of shape (D,), or (0,) where all features weigh alike
        Positive, and below 2**31 in all: a tree's features are drawn one after the other, each
        in proportion to them among those that are left.
    feature_out : int32 array of shape (T, 2**depth - 1), overwritten
    mask_out : uint64 array of shape (T, 2**depth - 1, W), overwritten
        A node that nothing can split looks at feature 0 and sends every code left.
    """
    # Chosen here, so that only one of them is compiled.
    draw = _draw_by_bits if np.diff(bin_starts).max() <= 64 else _draw_by_ancestors
    draw(
        words, n_allowed, bins, bin_starts, offsets, ordered, listed, has_missing, weights,
        feature_out, mask_out,
    )  # fmt: skip


@kernel()
def _deal(state: NDArray, pool: NDArray, n_allowed: int, weights: NDArray) -> NDArray:
    """So many features, drawn at random; ``pool`` holds all of them in any order."""
    n_dealt = min(n_allowed, pool.size)
    total = weights.sum()
    for i in range(n_dealt):
        if weights.size:
            other = _draw_by_weight(pool, i, _below(total, state), weights)
            total -= weights[pool[other]]
        else:
            other = i + _below(pool.size - i, state)
        pool[i], pool[other] = pool[other], pool[i]
    return pool[:n_dealt]


@kernel()
def _draw_by_weight(pool: NDArray, first: int, skip: int, weights: NDArray) -> int:
    """Place, from the first on, in which a number below what they weigh in all lies."""
    place = first
    while skip >= weights[pool[place]]:
        skip -= weights[pool[place]]
        place += 1
    return place


@kernel()
def _draw_by_ancestors(
    words: NDArray, n_allowed: NDArray, bins: NDArray, bin_starts: NDArray, offsets: NDArray,
    ordered: NDArray, listed: NDArray, has_missing: NDArray, weights: NDArray,
    feature_out: NDArray, mask_out: NDArray,
) -> None:  # fmt: skip
    """Trees whatever the number of bins."""
    pool, state = np.arange(ordered.size), np.empty(1, np.uint64)
    for tree in range(words.size):
        state[0] = words[tree]
        _draw_tree(
            state, _deal(state, pool, n_allowed[tree], weights), bins, bin_starts, offsets,
            ordered, listed, has_missing, feature_out[tree], mask_out[tree],
        )  # fmt: skip


@kernel()
def _draw_by_bits(
    words: NDArray, n_allowed: NDArray, bins: NDArray, bin_starts: NDArray, offsets: NDArray,
    ordered: NDArray, listed: NDArray, has_missing: NDArray, weights: NDArray,
    feature_out: NDArray, mask_out: NDArray,
) -> None:  # fmt: skip
    """Trees whose features have 64 bins at most."""
    pool, state = np.arange(ordered.size), np.empty(1, np.uint64)
    for tree in range(words.size):
        state[0] = words[tree]
        _draw_tree_by_bits(
            state, _deal(state, pool, n_allowed[tree], weights), bins, bin_starts, offsets,
            ordered, listed, has_missing, feature_out[tree], mask_out[tree],
        )  # fmt: skip


@kernel()
def _draw_tree(
    state: NDArray, allowed: NDArray, bins: NDArray, bin_starts: NDArray, offsets: NDArray,
    ordered: NDArray, listed: NDArray, has_missing: NDArray, feature_out: NDArray,
    mask_out: NDArray,
) -> None:  # fmt: skip
    """One tree, whatever the number of bins: a node looks through its ancestors' splits."""
    n_nodes = feature_out.size
    widest = 1
    for i in range(allowed.size):
        widest = max(widest, bin_starts[allowed[i] + 1] - bin_starts[allowed[i]])
    sides = np.empty((n_nodes, widest), np.bool_)
    live = np.empty(widest, np.bool_)
    feature = np.full(n_nodes, -1, np.int64)
    for node in range(n_nodes):
        f = _draw_feature(node, allowed, feature, sides, bin_starts, live, state)
        feature[node] = f
        feature_out[node] = max(f, 0)
        mask_out[node, :] = ~np.uint64(0)
        if f < 0:
            continue
        n_bins = bin_starts[f + 1] - bin_starts[f]
        if ordered[f] or _by_list(listed[f], state):
            _cut(live, n_bins, has_missing[f], sides[node], state)
        else:
            _subset(live, n_bins, sides[node], state)
        mask_out[node, :] = 0
        for code in range(offsets[f + 1] - offsets[f]):
            bit = np.uint64(sides[node, bins[offsets[f] + code]])
            mask_out[node, code >> 6] |= bit << np.uint64(code & 63)


@kernel()
def _draw_tree_by_bits(
    state: NDArray, allowed: NDArray, bins: NDArray, bin_starts: NDArray, offsets: NDArray,
    ordered: NDArray, listed: NDArray, has_missing: NDArray, feature_out: NDArray,
    mask_out: NDArray,
) -> None:  # fmt: skip
    """The same tree where bins fit in a word: a node is handed what its ancestors leave it."""
    n_nodes = feature_out.size
    left = np.empty((n_nodes, allowed.size), np.uint64)
    for i in range(allowed.size):
        left[0, i] = _whole(bin_starts[allowed[i] + 1] - bin_starts[allowed[i]])
    for node in range(n_nodes):
        own = left[node]
        place = _draw_among(own, state)
        goes_left = ~np.uint64(0)
        if place < 0:
            feature_out[node] = 0
            mask_out[node, :] = goes_left
        else:
            f = allowed[place]
            n_bins = bin_starts[f + 1] - bin_starts[f]
            feature_out[node] = f
            of_codes = bins[offsets[f] : offsets[f + 1]]
            if ordered[f]:
                goes_left = _cut_bits(own[place], n_bins, has_missing[f], state)
                missing = n_bins - 1 if has_missing[f] else -1
                _fill_ordered_mask(goes_left, of_codes, missing, mask_out[node])
            else:
                if _by_list(listed[f], state):
                    goes_left = _cut_bits(own[place], n_bins, has_missing[f], state)
                else:
                    goes_left = _subset_bits(own[place], n_bins, state)
                _fill_mask(goes_left, of_codes, mask_out[node])
        if 2 * node + 2 < n_nodes:
            for i in range(own.size):
                left[2 * node + 1, i] = left[2 * node + 2, i] = own[i]
            if place >= 0:
                left[2 * node + 1, place] &= goes_left
                left[2 * node + 2, place] &= ~goes_left


@kernel()
def _fill_mask(goes_left: np.uint64, bins: NDArray, mask: NDArray) -> None:
    """The codes that go left: those of bins that do."""
    for word in range(mask.size):
        mask[word] = 0
    for code in range(bins.size):
        side = (goes_left >> np.uint64(bins[code])) & np.uint64(1)
        mask[code >> 6] |= side << np.uint64(code & 63)


@kernel()
def _fill_ordered_mask(goes_left: np.uint64, bins: NDArray, missing: int, mask: NDArray) -> None:
    """The same where bins grow with codes: those below a threshold, and perhaps the missing one.

    ``missing`` is the missing value's bin, -1 without.
    """
    turned = ~goes_left
    n_left = _size((turned & (~turned + np.uint64(1))) - np.uint64(1))
    for word in range(mask.size):
        mask[word] = 0
    _fill_bits(mask, 0, _n_below(bins, n_left))
    if missing >= n_left and (goes_left >> np.uint64(missing)) & np.uint64(1) == np.uint64(1):
        _fill_bits(mask, _n_below(bins, missing), bins.size)


@kernel()
def _n_below(bins: NDArray, wanted: int) -> int:
    """Number of codes that lie in bins below the wanted one, where bins grow with codes."""
    low, high = 0, bins.size
    while low < high:
        middle = (low + high) // 2
        if bins[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@kernel()
def _fill_bits(mask: NDArray, first: int, last: int) -> None:
    """Set the bits from the first to before the last."""
    if first >= last:
        return
    for word in range(first >> 6, (last + 63) >> 6):
        low, high = max(first - 64 * word, 0), min(last - 64 * word, 64)
        mask[word] |= (~np.uint64(0) >> np.uint64(64 - high + low)) << np.uint64(low)


@kernel()
def descend(
    codes: NDArray,
    first: int | np.int64,
    count: int,
    feature: NDArray,
    mask: NDArray,
    depth: int,
    node: NDArray,
) -> None:
    """Walk records ``first … first + count`` down one tree; ``node`` (int32) gets leaf numbers.

    Parameters
    ----------
    codes : uint array of shape (n, D), C order
    first, count : int
    feature : int32 array of shape (2**depth - 1,)
    mask : uint64 array of shape (2**depth - 1, W)
    depth : int
    node : int32 array, at least ``count`` long, overwritten
    """
    node[:count] = 0
    # A plain 0 would be a type of its own, and compiled anew.
    descend_from(codes, first, count, feature, mask, np.int64(0), depth, node)


@kernel()
def descend_from(
    codes: NDArray,
    first: int | np.int64,
    count: int,
    feature: NDArray,
    mask: NDArray,
    level: int | np.int64,
    depth: int,
    node: NDArray,
) -> None:
    """Walk on from a level: ``node`` holds numbers within it, and gets leaf numbers."""
    flat_codes = codes.reshape(codes.size)
    flat_mask = mask.reshape(mask.size)
    width = np.uint64(codes.shape[1])
    n_words = np.uint64(mask.shape[1])
    first_node = np.int32((1 << level) - 1)
    for i in range(count):
        node[i] += first_node
    for _ in range(level, depth):
        row = np.uint64(first) * width
        for i in range(count):
            place = np.uint64(node[i])
            code = np.uint64(flat_codes[row + np.uint64(feature[place])])
            word = flat_mask[place * n_words + (code >> np.uint64(6))]
            goes_left = np.int32((word >> (code & np.uint64(63))) & np.uint64(1))
            node[i] = 2 * node[i] + 2 - goes_left
            row += width
    first_leaf = np.int32((1 << depth) - 1)
    for i in range(count):
        node[i] -= first_leaf
