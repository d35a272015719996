"""The family of all small trees: every tree enumerated, its proposal and score held exactly.

Error rates: chi-square accepted at 1e-9 on fixed words, a scale 30 % off rejected.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpforest.accounting.events import ExponentialSelection
from dpforest.mechanisms.entropy import SeededSource
from dpforest.mechanisms.streamed import Envelope, select_exponential_streamed
from dpforest.trees.rules import RulesSettings
from dpforest.trees.rules import family as module
from dpforest.trees.rules.family import BinnedRecords, FamilyWeights, TreeFamily
from dpforest.trees.rules.kernels import bit_counts as bits
from dpforest.trees.rules.kernels import pairs, roots
from dpforest.trees.rules.kernels import trees as kernels
from dpforest.trees.rules.kernels.children import leaves_by_difference, near_bounds, room_for
from dpforest.trees.rules.kernels.distinct import distinct_cuts, parted_alike
from dpforest.trees.rules.kernels.roots import parting_bounds, root_bounds
from dpforest.trees.rules.offers import draw_directions
from dpforest.trees.rules.plan import family_size

ONE = Fraction(1)
N_BINS = np.array([3, 2])


def records_of(n, n_classes=2, n_bins=N_BINS, seed=0):
    generator = np.random.default_rng(seed)
    bins = np.empty((n, len(n_bins)), dtype=np.uint8)
    for m, b in enumerate(n_bins):
        bins[:, m] = generator.integers(0, b, n)
    labels = (bins[:, :1].sum(axis=1) + generator.integers(0, 2, n)) % n_classes
    return BinnedRecords(bins, labels.astype(np.int64), np.ones(n_classes, dtype=np.int64))


def weights_of(n_bins=N_BINS, n_classes=2, stop_share=0.2):
    shares = np.linspace(1, 2, len(n_bins))
    return FamilyWeights.of(np.asarray(n_bins), shares, n_classes, stop_share)


class Script:
    """Stands in for ``pick``: makes the choices of a script, and says how likely they were."""

    def __init__(self, choices):
        self.choices, self.made, self.chance = choices, [], ONE

    def __call__(self, weights, source):
        options = np.flatnonzero(weights)
        place = self.choices[len(self.made)] if len(self.made) < len(self.choices) else 0
        self.made.append((place, options.size))
        index = int(options[place])
        self.chance *= Fraction(int(weights[index]), int(weights.sum()))
        return index


def all_proposals(family, monkeypatch):
    """(proposal, its probability) for every way that the draws may go."""
    script: list[int] = []
    while True:
        pick = Script(script)
        monkeypatch.setattr(module, "pick", pick)
        yield family.propose(None), pick.chance
        script = [place for place, _ in pick.made]
        while script and script[-1] + 1 == pick.made[len(script) - 1][1]:
            script.pop()
        if not script:
            return
        script[-1] += 1


def predict(tree, bins):
    if tree.direction < 0:
        return np.full(len(bins), tree.label)
    left = bins[:, tree.direction] <= tree.cut
    return np.where(left, predict(tree.left, bins), predict(tree.right, bins))


def score(tree, records):
    right = predict(tree, records.bins) == records.labels
    return int(records.class_weights[records.labels[right]].sum())


def repeated(records):
    """Each record as often as it counts."""
    times = records.class_weights[records.labels]
    bins, labels = np.repeat(records.bins, times, axis=0), np.repeat(records.labels, times)
    return BinnedRecords(bins, labels, np.ones_like(records.class_weights))


def weight(tree, weights, depth=0):
    """Public weight of a tree, by its definition."""
    if tree.direction < 0:
        return [weights.root_stop, weights.stop, 1][depth]
    below = weight(tree.left, weights, depth + 1) * weight(tree.right, weights, depth + 1)
    return int(weights.cut[tree.direction]) * below


CASES = [
    (12, 2, [3, 2], 0.3),
    (12, 2, [3, 2], 0.0),
    (5, 3, [2, 2], 4.0),
    (60, 2, [4], 25.0),
    (0, 2, [3, 2], 1.0),
    (1, 2, [3, 2], 1.0),
    (7, 2, [1, 2], 1.0),
    (7, 3, [], 1.0),
]


@pytest.mark.parametrize(("n", "n_classes", "n_bins", "c"), CASES)
def test_every_tree_is_proposed_as_promised(n, n_classes, n_bins, c, monkeypatch):
    records = records_of(n, n_classes, n_bins)
    weights = weights_of(n_bins, n_classes)
    family = TreeFamily(records, weights, Envelope(c))
    seen, constants, references = set(), set(), set()
    for proposal, chance in all_proposals(family, monkeypatch):
        assert proposal.outcome not in seen
        seen.add(proposal.outcome)
        constants.add(chance * proposal.ratio / weight(proposal.outcome, weights))
        references.add(proposal.gap + score(proposal.outcome, records))
        assert_at_most_one(proposal, c)
    cuts = sum(b - 1 for b in n_bins)
    child = n_classes + cuts * n_classes**2
    assert len(seen) == n_classes + cuts * child**2
    assert len(constants) == 1
    assert len(references) == 1


def assert_at_most_one(proposal, c):
    assert proposal.gap >= 0
    with localcontext() as context:
        context.prec = 60
        ratio = Decimal(proposal.ratio.numerator) / Decimal(proposal.ratio.denominator)
        assert ratio * (-Decimal(c) * proposal.gap).exp() <= 1


def test_proposals_are_hardly_ever_refused(monkeypatch):
    records, c = records_of(60, seed=3), 0.3
    family = TreeFamily(records, weights_of(), Envelope(c))
    refused = sum(
        float(chance) * (1 - float(p.ratio) * math.exp(-c * p.gap))
        for p, chance in all_proposals(family, monkeypatch)
    )
    assert 0 <= refused < 1e-3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_record_more_moves_every_score_by_nothing_or_one(n_classes, monkeypatch):
    both = records_of(9, n_classes, [2, 2], seed=2)
    fewer = both.where(np.arange(9) != 4)
    scores = []
    for records in (fewer, both):
        family = TreeFamily(records, weights_of([2, 2], n_classes), Envelope(0.1))
        top = family._top
        scores.append({p.outcome: top - p.gap for p, _ in all_proposals(family, monkeypatch)})
    assert scores[0].keys() == scores[1].keys()
    moves = {scores[1][tree] - scores[0][tree] for tree in scores[0]}
    assert moves == {0, 1}


@pytest.mark.parametrize("class_weights", [(1, 4), (3, 2)])
def test_a_record_more_moves_every_score_by_nothing_or_its_class_weight(class_weights, monkeypatch):
    whole = records_of(15)
    less = whole.where(np.arange(15) > 0)
    moved = set()
    family = TreeFamily(whole.weighed(class_weights), weights_of(), Envelope(0.1))
    for proposal, _ in all_proposals(family, monkeypatch):
        scores = [
            score(proposal.outcome, repeated(one.weighed(class_weights))) for one in (whole, less)
        ]
        right = predict(proposal.outcome, whole.bins) == whole.labels
        assert scores[0] == sum(class_weights[label] for label in whole.labels[right])
        moved.add(scores[0] - scores[1])
    assert moved == {0, class_weights[whole.labels[0]]}


def test_draws_follow_the_law_and_not_one_30_percent_off(grant, fits, monkeypatch):
    records, weights = records_of(10, n_bins=[2, 2], seed=1), weights_of([2, 2])
    family = TreeFamily(records, weights, Envelope(0.5))
    trees = [p.outcome for p, _ in all_proposals(family, monkeypatch)]
    monkeypatch.undo()
    n = 4_000
    event = ExponentialSelection(Fraction(1, 2), ONE)
    drawn = Counter(
        select_exponential_streamed([lambda _: family] * n, ONE, grant(event, n), SeededSource(5))
    )
    counts = np.array([drawn[tree] for tree in trees], dtype=float)
    assert fits(counts, law_of(trees, records, weights, 0.5))
    # Trees of one score together: that is where another scale shows.
    scores = np.array([score(tree, records) for tree in trees])
    for factor, accepted in ((1.0, True), (1.3, False), (1 / 1.3, False)):
        law = law_of(trees, records, weights, 0.5 * factor)
        assert fits(np.bincount(scores, counts), np.bincount(scores, law)) == accepted


def law_of(trees, records, weights, c):
    law = np.array([weight(t, weights) * math.exp(c * score(t, records)) for t in trees])
    return law / law.sum()


# -- kernels and weights ---------------------------------------------------------------------


def arguments(records, weights, c):
    """Of `root_bounds`."""
    sizes = records.sizes()
    n = int(sizes.sum())
    return (
        records.bins, records.labels, records.class_weights, sizes, weights.offsets, weights.cut,
        weights.stop, Envelope(c).integers(n), Envelope(c).factors(n),
    )  # fmt: skip


def assert_bounds_are_those_of_each_child_by_itself(records, weights, c):
    """The slow twin: every child is counted by itself."""
    args = arguments(records, weights, c)
    found = root_bounds(*args)
    assert found.shape == (4, int((np.diff(weights.offsets) - 1).sum()))
    for number in range(found.shape[1]):
        direction, cut = weights.locate(number)
        side = records.bins[:, direction] <= cut
        for half, part in ((0, records.where(side)), (2, records.where(~side))):
            whole = child_of(repeated(part), weights, *args[-2:])
            assert whole == tuple(found[half : half + 2, number])


@pytest.mark.parametrize("child", [0, 1])
@pytest.mark.parametrize("sizes", [(2**30, 3), (2**30 - 7, 2**30), (16, 2**31 - 17), (0, 0)])
def test_scores_of_as_many_records_as_32_bits_hold(sizes, child):
    lefts = [(0, 0), sizes, (sizes[0], 0), (sizes[0] // 3, sizes[1] // 5)]
    below = np.array([b - a for a, b in lefts], dtype=np.int32)
    both = np.zeros(below.size, dtype=np.int32)
    # Of the right child the left one's counts are taken off those of both.
    room, near = room_for(np.array([2, 2])), np.array([4, 2, 1], dtype=np.int32)
    whole = np.array(sizes, dtype=np.int64)
    leaves_by_difference(-below if child else below, both, child, whole, near, room)
    rights = [(sizes[0] - a, sizes[1] - b) for a, b in lefts]
    wanted = [max(left) + max(right) for left, right in zip(lefts, rights, strict=True)]
    assert room[3][: below.size].tolist() == wanted


@pytest.mark.parametrize("n, n_bins", [(60, (3, 2)), (0, (3, 2)), (20, (1, 1))])
def test_records_beyond_32_bits_are_counted_child_by_child(n, n_bins, monkeypatch):
    weights, envelope = weights_of(n_bins), Envelope(0.2)
    records = records_of(n, n_bins=n_bins).weighed((1, 16))
    quick = TreeFamily(records, weights, envelope)

    def refused(*_):
        raise AssertionError("32 bits do not hold them")

    monkeypatch.setattr(module, "_MOST_AT_ONCE", -1)
    monkeypatch.setattr(module, "root_bounds", refused)
    slow = TreeFamily(records, weights, envelope)
    for name in ("_scores", "_lefts", "_rights", "_roots"):
        assert np.array_equal(getattr(slow, name), getattr(quick, name))


@pytest.mark.parametrize("n_classes", [2, 5])
def test_kernels_compiled_and_not_agree(n_classes, monkeypatch):
    n_bins = np.array([5, 2, 4])
    records, weights = records_of(40, n_classes, n_bins), weights_of(n_bins, n_classes)
    args = arguments(records, weights, 0.2)
    compiled = root_bounds(*args)
    for name in ("partings", "counts_of_cuts", "bounds_by_child", "bounds_by_pairs"):
        monkeypatch.setattr(roots, name, getattr(roots, name).py_func)
    assert np.array_equal(root_bounds(*args), compiled)


@pytest.mark.parametrize(
    "n, n_classes, n_bins, c",
    [
        (900, 2, [5, 2, 4], 0.2),
        (4200, 2, [5, 2, 4, 16], 0.2),  # counted in a table
        (6200, 3, [5, 16, 2], 0.05),  # a class that lies in lines of its own
        (700, 3, [3, 1, 9, 2], 0.01),
        (37, 7, [2] * 70 + [16], 0.5),  # words that are hardly filled, and classes with none left
        (64, 2, [2] * 600, 0.1),  # more than one block of cuts
        (128, 3, [2] * 600, 0.1),
        (1, 2, [2, 3], 0.2),
        (300, 9, [16, 9, 16], 0.001),  # a table of one gap, and of five groups of classes
        (90, 10, [16] * 20, 1.0),  # more than one block of pairs, and gaps of several classes
        (0, 4, [2, 3], 0.2),
        (20, 2, [1, 1], 0.2),  # no cut at all
    ],
)
def test_bounds_of_root_cuts_are_those_of_each_child_by_itself(n, n_classes, n_bins, c):
    n_bins = np.array(n_bins)
    records, weights = records_of(n, n_classes, n_bins), weights_of(n_bins, n_classes)
    assert_bounds_are_those_of_each_child_by_itself(records, weights, c)


@pytest.mark.parametrize("n", [5, 60, 4200])
def test_cuts_that_part_alike_have_the_bounds_of_each_by_itself(n):
    records = with_likes(n)
    n_bins = records.bins.max(axis=0).astype(np.int64) + 3  # the last two bins are empty
    assert_bounds_are_those_of_each_child_by_itself(records, weights_of(n_bins), 0.2)


@pytest.mark.parametrize(
    "n, class_weights", [(60, (1, 4)), (60, (3, 2)), (4200, (11, 1)), (50, (2, 1, 3))]
)
def test_records_that_weigh_more_are_counted_as_if_they_were_there_more_often(n, class_weights):
    n_bins = np.array([5, 2, 4])
    records = records_of(n, len(class_weights), n_bins).weighed(class_weights)
    weights = weights_of(n_bins, len(class_weights))
    assert records.sizes().tolist() == repeated(records).sizes().tolist()
    assert_bounds_are_those_of_each_child_by_itself(records, weights, 0.05)
    of_each, of_all = (
        root_bounds(*arguments(one, weights, 0.05)) for one in (records, repeated(records))
    )
    assert np.array_equal(of_each, of_all)


@pytest.mark.parametrize("n_classes", [3, 5])
def test_of_too_many_records_for_pairs_each_cut_goes_by_itself(n_classes):
    n_bins = np.array([5, 2, 4])
    records, weights = records_of(40, n_classes + 2, n_bins), weights_of(n_bins, n_classes + 2)
    for times in (1, 2000):
        weighed = records.weighed((times,) * n_classes + (1, 1))
        assert (weighed.sizes().sum() > 2**15) == (times > 1)
        assert_bounds_are_those_of_each_child_by_itself(weighed, weights, 0.05)


def test_pairs_are_of_few_records_and_scores():
    few, many = np.array([2**15 - 2, 0, 1]), np.array([2**15 - 2, 1, 1])
    assert pairs.fits_pairs(few, np.array([0, 2**23]))
    assert not pairs.fits_pairs(few, np.array([0, 2**23 + 1]))
    assert not pairs.fits_pairs(many, np.array([0, 1]))


def test_no_score_of_a_child_is_above_what_its_two_largest_classes_have():
    lowest, firsts = pairs.scores_of_children(np.array([[4, 1, 2], [0, 0, 0]]), np.array([4, 9, 3]))
    assert lowest.tolist() == [4, 8, 0, 9]
    assert np.diff(firsts).tolist() == [3, 2, 1, 5]


@pytest.mark.parametrize("n_classes", [2, 7, 10, 26])
@pytest.mark.parametrize("bounds", [[5], [9, 1], [9, 4, 2, 1], list(range(200, 0, -1))])
def test_leaf_sums_are_those_of_one_class_after_the_other(bounds, n_classes):
    near = np.array(bounds, dtype=np.int32)
    table, n_digits = pairs.sums_of_gaps(near, n_classes)
    room = pairs.room_for_pairs(n_classes, -(-n_classes // n_digits))
    counts, tops, sums = room[:3]
    counts[:] = np.random.default_rng(0).integers(0, 250, counts.shape)
    tops[:] = counts.max(axis=1)
    for leaf in range(4):
        pairs.sum_gaps(leaf, 256, table, n_digits, near.size, room)
    gaps = np.minimum(tops[:, None] - counts, near.size - 1)
    assert np.array_equal(sums, near[gaps].sum(axis=1))
    assert table.size <= max(2**14, near.size)


def with_likes(n):
    """Records with a direction again, turned around, coarser, beside its like, and empty bins."""
    records = records_of(n, 2, [6, 4], seed=5)
    first, second = records.bins.T
    one_more = first.copy()
    one_more[-1] = (one_more[-1] + 1) % 6
    bins = [first, second, 5 - first, first // 2, first, one_more, 3 * second, 0 * first]
    return replace(records, bins=np.stack(bins, axis=1).astype(np.uint8))


def bits_of(records, whole_lines=False):
    """Records left of each cut, one by one, as bits, and where these are; and offsets of bins."""
    n_bins = records.bins.max(axis=0, initial=0).astype(np.int64) + 3
    offsets = np.concatenate([[0], np.cumsum(n_bins)]).astype(np.int64)
    cuts = [(m, b) for m in range(len(n_bins)) for b in range(n_bins[m] - 1)]
    left = np.array([records.bins[:, m] <= b for m, b in cuts])
    places, starts = bits.bit_places(records.labels, records.n_classes, whole_lines)
    columns = bits.in_columns(records.bins, places, 64 * starts[-1])
    return left, bits.left_bits(columns, starts[-1], offsets), places, starts


@pytest.mark.parametrize("whole_lines", [False, True])
def test_a_bit_is_set_where_a_record_is_left(whole_lines):
    records = records_of(300, 3, [4, 3, 2], seed=7)
    left, rows, places, starts = bits_of(records, whole_lines)
    assert len(set(places.tolist())) == 300
    for k in range(3):
        own = places[records.labels == k] // 64
        assert ((own >= starts[k]) & (own < starts[k + 1])).all()
    found = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little").astype(bool)
    assert np.array_equal(found[:, places], left)
    assert found.sum() == left.sum(), "no bit is set where there is no record"
    assert not whole_lines or rows.ctypes.data % 64 == 0 and (starts % 8 == 0).all()


def test_partings_are_told_apart_record_by_record():
    sides, rows, places, _ = bits_of(with_likes(60))
    number, turned, firsts = distinct_cuts(rows, places)
    alike = sides ^ sides[:, :1]
    for cut, side in enumerate(sides):
        same = (alike == alike[cut]).all(axis=1)
        assert np.array_equal(number == number[cut], same)
        if number[cut] < firsts.size:
            assert np.array_equal(side, sides[firsts[number[cut]]] ^ turned[cut])
        else:
            assert (side == turned[cut]).all()
    assert (np.diff(firsts) > 0).all()
    assert firsts.size == len(np.unique(alike, axis=0)) - 1


def test_two_rows_part_alike_or_not():
    everyone, one = np.array([0b1111, 0b1], np.uint64), np.array([0b0011, 0b1], np.uint64)
    rest, other = everyone ^ one, one ^ np.array([0b0100, 0], np.uint64)
    assert parted_alike(one, one, everyone, False) and not parted_alike(one, one, everyone, True)
    assert parted_alike(one, rest, everyone, True) and not parted_alike(one, rest, everyone, False)
    assert not any(parted_alike(one, other, everyone, turned) for turned in (False, True))


@pytest.mark.parametrize("class_weights", [(1, 1), (2, 5), (1, 1, 1), (3, 1, 2)])
def test_records_left_of_two_cuts_are_counted_in_a_table_or_anew_or_one_by_one(class_weights):
    records = records_of(300, len(class_weights), [6, 4, 3], seed=5)
    left, rows, _, starts = bits_of(records, whole_lines=True)
    counts = np.stack([(left * (records.labels == k)) @ left.T.astype(int) for k in range(3)], 1)
    counts = counts[:, : len(class_weights)] * np.array(class_weights)[None, :, None]
    of_all = np.diagonal(counts, axis1=0, axis2=2)
    if len(class_weights) == 2:
        counts = counts[:, 1:] - counts[:, :1]
    steps = bits.class_steps(np.array(class_weights))
    table, words = bits.joint_counts(rows, starts, steps), bits.in_words(rows)
    assert np.array_equal(table[:-1], counts) and not table[-1].any()
    anew = np.empty_like(table[0])
    for cut, expected in enumerate(table):
        bits.counts_with(words, cut, starts, steps, anew)
        assert np.array_equal(anew, expected)
    sizes, whole = bits.left_counts(rows, starts, np.array(class_weights))
    assert np.array_equal(sizes[:-1], of_all.T) and not sizes[-1].any()
    assert np.array_equal(whole, np.diagonal(counts, axis1=0, axis2=2))


def test_bounds_are_the_same_by_a_table_or_without():
    records = records_of(300, 3, [6, 4, 3], seed=5)
    _, rows, _, starts = bits_of(records, whole_lines=True)
    envelope, weights = Envelope(0.2), np.arange(1, len(rows) + 2)
    args = rows, starts, records.class_weights, records.sizes(), weights, 7
    args += near_bounds(envelope.integers(300)), envelope.factors(300)
    assert np.array_equal(parting_bounds(*args, True), parting_bounds(*args, False))


def test_a_table_is_made_of_many_records_where_it_is_not_too_large():
    assert bits.pays_a_table(4096, 2) and not bits.pays_a_table(4095, 2)
    assert bits.fits_a_table(4096, 2) and not bits.fits_a_table(4097, 2), "64 MB"
    assert bits.fits_a_table(2048, 4) and not bits.fits_a_table(2049, 4)


def child_of(records, weights, bounds, factors):
    """Best score and bound of one child, counted by itself."""
    n, sizes = records.labels.size, records.sizes()
    counts = np.zeros((int(weights.offsets[-1]), records.n_classes), dtype=np.int64)
    kernels.count_bins(records.bins, records.labels, np.arange(n), weights.offsets, counts)
    n_cuts = int(weights.offsets[-1]) - weights.n_directions
    scores, products = np.empty(n_cuts, dtype=np.int64), np.empty(n_cuts, dtype=np.int64)
    kernels.stump_bounds(counts, sizes, weights.offsets, weights.cut, bounds, scores, products)
    by_score, stops = np.zeros(n + 1, dtype=np.int64), np.empty(records.n_classes, dtype=np.int64)
    return kernels.close_node(scores, products, sizes, weights.stop, factors, by_score, stops)


@pytest.mark.parametrize("n_classes", [2, 3, 10, 26, 256])
def test_sums_of_a_node_stay_below_2_to_63(n_classes):
    n_bins = np.full(300, 32)
    weights = FamilyWeights.of(n_bins, np.ones(300), n_classes, 0.1)
    largest_leaf = n_classes * (2**14 + 2)
    mass = int((weights.cut * (n_bins - 1)).sum())
    total = mass * largest_leaf**2 + n_classes * weights.stop * 2**28
    assert total * (1 + 2**-40) + n_bins.sum() < 2**62


@pytest.mark.parametrize("n_classes", [256, 1000, 2049, 4096])
@pytest.mark.parametrize("n_codes", [[64] * 60, [8] * 60, [-64] * 60, [64] * 4, [256] * 2000])
@pytest.mark.parametrize("rows", [1, 50, 1e3, 1e6])
def test_and_so_they_do_for_every_family_of_a_plan(n_classes, n_codes, rows, facts_of):
    facts = facts_of(n_codes, n_classes, approximate_rows=rows)
    size = family_size(facts, RulesSettings(), 20, 1)
    kinds = size.n_sums, size.n_cuts, size.n_singles
    directions = draw_directions(facts, *kinds, 0.3, SeededSource(0))
    weights = FamilyWeights.of(directions.n_bins, directions.shares, n_classes, 0.05)
    mass = int((weights.cut * (directions.n_bins - 1)).sum())
    total = mass * (n_classes * (2**14 + 2)) ** 2 + n_classes * weights.stop * 2**28
    assert total * (1 + 2**-40) + directions.n_bins.sum() < 2**63


@pytest.mark.parametrize("n_classes", [2, 17, 64, 1000, 4096])
@pytest.mark.parametrize("n_codes", [[64] * 60, [-500] * 60, [64, -64] * 30])
def test_and_so_they_do_whatever_settings_ask_for(n_classes, n_codes, facts_of):
    """Bounds that wrapped around were below 0, and trees were drawn by no law at all."""
    sizes = {"n_sums": 3000, "n_sums_of_very_many": 3000, "n_cuts": 255, "n_cuts_of_very_many": 255}
    work = dict.fromkeys(("work", "pair_work", "pair_work_of_several", "much_signal"), math.inf)
    settings = RulesSettings(stop_share=0.5, **sizes, **work)
    facts = facts_of(n_codes, n_classes)
    size = family_size(facts, settings, 20, 1)
    assert (size.n_sums == 3000) == (n_classes < 1000)
    directions = draw_directions(
        facts, size.n_sums, size.n_cuts, size.n_singles, 0.3, SeededSource(0)
    )
    weights = FamilyWeights.of(directions.n_bins, directions.shares, n_classes, 0.5)
    mass = int((weights.cut * (directions.n_bins - 1)).sum())
    total = mass * (n_classes * (2**14 + 1)) ** 2 + n_classes * weights.stop * 2**28
    assert total * (1 + Fraction(1, 2**40)) + directions.n_bins.sum() < 2**63


@pytest.mark.parametrize(("n_classes", "stop_share"), [(256, 0.05), (256, 0.5), (4096, 0)])
def test_so_many_cuts_hold_and_not_far_beyond(n_classes, stop_share):
    of_a_cut = Fraction(n_classes * (2**14 + 1)) ** 2 / (1 - Fraction(stop_share))
    room = int(2**63 / of_a_cut) - 2 ** min(20, 32 - 2 * (n_classes.bit_length() - 1))
    assert FamilyWeights.hold(int(room * 0.999), n_classes, stop_share)
    assert not FamilyWeights.hold(int(room * 1.001), n_classes, stop_share)
    # Of few classes weights of roots end it.
    assert FamilyWeights.hold(2**21, 2, stop_share) and not FamilyWeights.hold(2**21 + 1, 2, 0)


def test_weights_keep_the_shares():
    weights = FamilyWeights.of(np.array([32, 2]), np.array([1.0, 3.0]), 2, 0.25)
    masses = weights.cut * np.array([31, 1])
    assert masses[1] / masses.sum() == pytest.approx(0.75, rel=1e-3)
    child_cuts = 4 * int(masses.sum())
    stop = 2 * weights.stop
    assert stop / (stop + child_cuts) == pytest.approx(0.25 * 2 / (0.25 * 2 + 0.75 * 2), rel=1e-3)
    trees = int(masses.sum()) * (stop + child_cuts) ** 2
    assert 2 * weights.root_stop / (2 * weights.root_stop + trees) == pytest.approx(0.25, rel=1e-3)


def test_cut_numbers_are_located():
    weights = FamilyWeights.of(np.array([4, 1, 2, 3]), np.ones(4), 2, 0.1)
    places = [weights.locate(k) for k in range(6)]
    assert places == [(0, 0), (0, 1), (0, 2), (2, 0), (3, 0), (3, 1)]


def test_kernels_of_a_child_are_called_whether_or_not_one_is_proposed(monkeypatch):
    """Whether a child of the root is split is drawn by records, and code is kept on disk."""
    called = []
    for name in ("count_bins", "stump_bounds", "close_node"):
        kernel = getattr(module, name)
        monkeypatch.setattr(
            module, name,
            lambda *given, kernel=kernel: called.append((kernel, given[1].size)) or kernel(*given),
        )  # fmt: skip
    TreeFamily(records_of(3), weights_of(), Envelope(1.0))
    assert called[0] == (kernels.count_bins, 0)  # of nobody
    assert [kernel for kernel, _ in called[1:]] == [kernels.stump_bounds, kernels.close_node]
