"""Growing a tree: what is counted, from whom, and that the request always comes first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpforest import BudgetAccountant, BudgetExceeded
from dpforest.accounting.events import ExponentialSelection, GeometricNoise
from dpforest.accounting.releases import PlanError
from dpforest.accounting.scopes import SequentialScope
from dpforest.bridge.bridge import BridgeCopy
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.mechanisms.entropy import FixedWords, SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.multinomial import cells as level
from dpforest.trees.multinomial import growth as grower
from dpforest.trees.multinomial.criteria import CRITERIA
from dpforest.trees.multinomial.growth import GrowthInMemory, SharedRoot, count_root
from dpforest.trees.multinomial.learner import grown
from dpforest.trees.multinomial.memory import LevelMemory, new_counts
from dpforest.trees.multinomial.plan import FEATURE, VALUE, TreeEvents, forest_plan
from dpforest.trees.multinomial.queries import Side

N_CODES = (6, 4, 9, 2)
ORDERED = (True, False, True, False)
#: So large that a geometric draw is nothing but for a chance of e^-1000.
NO_NOISE = GeometricNoise(Fraction(1000), Fraction(1))


def plan_of(depth, epsilon=1, criterion="gini_count", leaf=NO_NOISE, **changes):
    """A tree with the same selection at every level; epsilon None draws splits uniformly."""
    score = CRITERIA[criterion]
    event = None
    if epsilon is not None:
        event = ExponentialSelection(Fraction(epsilon), score.score_range)
    return forest_plan(1, TreeEvents((event,) * depth, (event,) * depth, leaf), score, **changes)


def table_of(codes, labels, n_classes=2):
    codes = np.ascontiguousarray(codes, dtype=np.uint8)
    matrix = EncodedMatrix(codes, np.array(N_CODES, dtype=np.int64), np.array(ORDERED))
    return Table.of(EncodedTable(matrix, np.asarray(labels, dtype=np.int32), n_classes))


@pytest.fixture
def random_table(twins):
    def make(n=60, seed=0, n_classes=2):
        return twins.random_table(seed, n, N_CODES, n_classes)

    return make


def nothing():
    """Tell nobody."""


def grow(table, plan, source, epsilon=10**6, root=count_root, step_done=nothing, room=new_counts):
    """A tree of a plan with the source's own words."""
    with BudgetAccountant(epsilon).open_scope("tree") as scope:
        return grow_in(scope, table, plan, source, root, step_done, room)


def grow_in(scope, table, plan, source, root=count_root, step_done=nothing, room=new_counts):
    records = MemoryRecords(table)
    with BridgeCopy(plan.rounds[0], 0, scope, records, source, step_done) as tree:
        return grown(plan.shape, tree, GrowthInMemory(tree.side, root, room))


def test_trees_that_share_memory_are_those_that_do_not(random_table):
    plan, room, table = plan_of(4), LevelMemory(), table_of(*random_table())
    for seed in range(3):
        alone = grow(table, plan, SeededSource(seed))
        shared = grow(table, plan, SeededSource(seed), room=room)
        for name in ("feature", "high", "counts"):
            assert np.array_equal(getattr(alone, name), getattr(shared, name)), name


def draw_sides(n_records, plan, source):
    """The sides that a plan's tree draws from the words of its records."""
    partition = plan.shape.partition
    return (Side() if partition is None else Side(source.rows(), partition)).both(n_records)


def words_of_sides(seed):
    """The stream from which a tree with a seeded source takes its records' words."""
    return SeededSource(seed).spawn("records", "sides")


def true_counts(twins, tree, codes, labels, records, n_classes=2):
    counts = np.zeros((2**tree.depth, n_classes), dtype=int)
    for r in records:
        leaf = twins.leaf_of(codes[r], tree.feature, tree.low, tree.high, tree.depth)
        counts[leaf, labels[r]] += 1
    return counts


# -- what is counted -------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("criterion", sorted(CRITERIA))
def test_leaves_hold_every_record_once(depth, n_classes, criterion, random_table, twins):
    codes, labels = random_table(80, seed=depth, n_classes=n_classes)
    table = table_of(codes, labels, n_classes)
    for epsilon in (None, 0, 3, 500):
        tree = grow(table, plan_of(depth, epsilon, criterion), SeededSource(depth))
        expected = true_counts(twins, tree, codes, labels, range(80), n_classes)
        assert np.array_equal(tree.counts, expected)
        assert tree.counts.sum() == 80 and tree.counts.dtype == np.int64


@pytest.mark.parametrize("n", [0, 1, 2])
def test_tables_of_hardly_any_record(n, random_table):
    codes, labels = random_table(n)
    tree = grow(table_of(codes, labels), plan_of(4), SeededSource(1))
    assert tree.counts.sum() == n and tree.depth == 4


@pytest.mark.parametrize("joint", [False, True])
def test_splits_stay_in_the_box(joint, random_table):
    # Deeper than the codes allow: a node that cannot be split has no feature and sends all left.
    codes, labels = random_table(40)
    tree = grow(table_of(codes, labels), plan_of(10, 2, joint=joint), SeededSource(3))
    boxes = {0: [set(range(n)) for n in N_CODES]}
    for node in range(2**10 - 1):
        box, f = boxes[node], int(tree.feature[node])
        left, right = list(box), list(box)
        if f == -1:
            assert all(len(reachable) <= 1 for reachable in box)
            right = [set()] * len(box)
        else:
            chosen = {c for c in box[f] if tree.low[node] <= c <= tree.high[node]}
            assert chosen and chosen != box[f]  # both children can be reached
            assert ORDERED[f] or len(chosen) == 1
            left[f], right[f] = chosen, box[f] - chosen
        boxes[2 * node + 1], boxes[2 * node + 2] = left, right
    assert (tree.feature == -1).any()


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("criterion", sorted(CRITERIA))
def test_memory_plays_no_part(joint, criterion, random_table, monkeypatch):
    codes, labels = random_table(90, n_classes=3)
    plan = plan_of(5, 3, criterion, joint=joint)
    whole = grow(table_of(codes, labels, 3), plan, SeededSource(8))
    for limit in (1, 1000, 5000):
        monkeypatch.setattr(level, "MEMORY_LIMIT", limit)
        pieces = grow(table_of(codes, labels, 3), plan, SeededSource(8))
        for name in ("feature", "low", "high", "counts"):
            assert np.array_equal(getattr(pieces, name), getattr(whole, name)), (limit, name)


# -- neighbours ------------------------------------------------------------------------------


def test_one_record_more_is_one_count_more(random_table, twins):
    # Uniform splits read no record, so the same words give the same structure to neighbours.
    codes, labels = random_table(30)
    plan = plan_of(4, None)
    whole = grow(table_of(codes, labels), plan, SeededSource(2))
    for r in range(30):
        kept = np.arange(30) != r
        less = grow(table_of(codes[kept], labels[kept]), plan, SeededSource(2))
        assert np.array_equal(less.feature, whole.feature)
        assert np.array_equal(less.high, whole.high)
        leaf = twins.leaf_of(codes[r], whole.feature, whole.low, whole.high, 4)
        expected = whole.counts.copy()
        expected[leaf, labels[r]] -= 1
        assert np.array_equal(less.counts, expected)


def test_uniform_splits_read_no_record(random_table):
    for joint in (False, True):
        plan = plan_of(5, None, joint=joint)
        trees = [
            grow(table_of(*random_table(n, seed=n)), plan, SeededSource(4)) for n in (0, 5, 50)
        ]
        for name in ("feature", "low", "high"):
            assert len({str(getattr(tree, name).tolist()) for tree in trees}) == 1


# -- sides -----------------------------------------------------------------------------------


def half(rate=Fraction(1, 2), depth=3, **changes):
    return plan_of(depth, partition=Fraction(rate), **changes)


def test_without_a_partition_all_serve_for_both():
    structure, estimation = draw_sides(9, plan_of(2), FixedWords([]))
    assert structure.tolist() == list(range(9)) and estimation is None


def test_a_side_is_the_records_own_word():
    words = [0, 2**63 - 1, 2**63, 2**64 - 1, 5, 2**63 + 5]
    structure, estimation = draw_sides(6, half(), FixedWords(words))
    assert structure.tolist() == [0, 1, 4] and estimation.tolist() == [2, 3, 5]
    # Whoever comes or goes takes a word of their own along; nobody else moves.
    for r in range(6):
        others = words[:r] + words[r + 1 :]
        structure, estimation = draw_sides(5, half(), FixedWords(others))
        names = [i for i in range(6) if i != r]
        assert [names[i] for i in structure] == [i for i in (0, 1, 4) if i != r]
        assert [names[i] for i in estimation] == [i for i in (2, 3, 5) if i != r]


@pytest.mark.parametrize("numerator", [1, 2**62, 2**63 + 1, 2**64 - 1])
def test_the_boundary_is_the_plans_to_the_last_bit(numerator):
    plan = half(Fraction(numerator, 2**64))
    structure, estimation = draw_sides(2, plan, FixedWords([numerator - 1, numerator]))
    assert structure.tolist() == [0] and estimation.tolist() == [1]


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 10**30), 1 - Fraction(1, 10**30)])
def test_a_boundary_between_two_words_is_the_plans_too(p):
    """A side of 10^-30 that is drawn with 2^-64, as one word has it, costs 5.6 where 50 is run."""
    first, second, third, fourth = (int(p * 2 ** (64 * k)) % 2**64 for k in range(1, 5))
    further = [second - 1, second + 1, second, third, fourth - 1]
    words = FixedWords([first, first, first, *further])
    structure, estimation = draw_sides(3, half(p), words)
    assert structure.tolist() == [0, 2] and estimation.tolist() == [1]
    assert words.used == 8


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(1, 5)])
def test_sides_are_disjoint_and_binomial(rate, fits):
    source, n, draws = SeededSource(6), 20, 4000
    sizes, per_record = np.zeros(n + 1), np.zeros(n)
    for _ in range(draws):
        structure, estimation = draw_sides(n, half(rate), source)
        assert sorted([*structure, *estimation]) == list(range(n))
        sizes[structure.size] += 1
        per_record[structure] += 1
    assert fits(sizes, stats.binom(n, float(rate)).pmf(np.arange(n + 1)))
    for wrong in (0.7, 1.3):
        assert not fits(sizes, stats.binom(n, wrong * float(rate)).pmf(np.arange(n + 1)))
    assert stats.chisquare(per_record).pvalue > 1e-9


def test_leaves_count_estimation_points_only(random_table, twins):
    codes, labels = random_table(100)
    plan = half(Fraction(1, 4))
    for seed in (9, 10):  # each tree has a draw of its own
        tree = grow(table_of(codes, labels), plan, SeededSource(seed))
        _, estimation = draw_sides(100, plan, words_of_sides(seed))
        assert np.array_equal(tree.counts, true_counts(twins, tree, codes, labels, estimation))
        assert tree.counts.sum() == estimation.size


def test_the_structure_does_not_hear_of_estimation_points(random_table):
    codes, labels = random_table(100)
    plan = half(Fraction(1, 2), criterion="gini_decrease")
    structure, estimation = draw_sides(100, plan, words_of_sides(9))
    first = grow(table_of(codes, labels), plan, SeededSource(9))
    others = codes.copy(), labels.copy()
    others[0][estimation] = 0
    others[1][estimation] = 1 - others[1][estimation]
    second = grow(table_of(*others), plan, SeededSource(9))
    for name in ("feature", "low", "high"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    assert second.counts.sum(axis=1).max() == estimation.size  # all of one code now
    # And leaves do not hear of structure points but through the structure.
    flipped = labels.copy()
    flipped[structure] = 1 - flipped[structure]
    uniform = half(Fraction(1, 2), epsilon=None)
    counts = [grow(table_of(codes, y), uniform, SeededSource(9)).counts for y in (labels, flipped)]
    assert np.array_equal(*counts)


# -- requests come first ---------------------------------------------------------------------


def spied(monkeypatch, table, plan, accountant, seen):
    """Note what happens while a tree grows, in order."""
    request, count = SequentialScope.request_all, level.LevelCells.count
    leaves = GrowthInMemory._leaf_counts

    def spy_request(self, requests, owner=""):
        grants = request(self, requests, owner)
        seen.extend(("granted", one.role, one.level, one.cells) for one in requests)
        return grants

    def spy_count(self, segments, *room):
        seen.append(("counted", self.n_nodes))
        return count(self, segments, *room)

    def spy_leaves(*args):
        seen.append(("counted leaves",))
        return leaves(*args)

    monkeypatch.setattr(SequentialScope, "request_all", spy_request)
    monkeypatch.setattr(level.LevelCells, "count", spy_count)
    monkeypatch.setattr(GrowthInMemory, "_leaf_counts", spy_leaves)
    with accountant.open_scope("tree") as scope:
        grow_in(scope, table, plan, SeededSource(1), step_done=lambda: seen.append(("done",)))


@pytest.mark.parametrize("partition", [None, Fraction(1, 2)])
@pytest.mark.parametrize("joint", [False, True])
def test_every_count_was_paid_for(partition, joint, random_table, monkeypatch):
    plan, seen = plan_of(3, partition=partition, joint=joint), []
    spied(monkeypatch, table_of(*random_table()), plan, BudgetAccountant(10**6), seen)
    roles = ["split selection"] if joint else ["feature selection", "value selection"]
    expected = [("granted", role, depth, 2**depth) for depth in range(3) for role in roles]
    for depth in range(3):
        expected += [("counted", 2**depth), ("done",)]
    expected += [("granted", "leaf histogram", 3, 8), ("counted leaves",), ("done",)]
    assert seen == expected


@pytest.mark.parametrize(("epsilon", "n_granted"), [(3, 0), (6, 6)])
def test_a_refusal_stops_before_the_count(random_table, monkeypatch, epsilon, n_granted):
    # Enough for half of the choices, which are asked for together, or for all but the leaves.
    accountant, seen = BudgetAccountant(epsilon), []
    with pytest.raises(BudgetExceeded):
        spied(monkeypatch, table_of(*random_table()), plan_of(3), accountant, seen)
    assert accountant.spent.exact.epsilon == n_granted  # what was granted stays spent
    assert [entry.level for entry in accountant.ledger] == [0, 0, 1, 1, 2, 2][:n_granted]
    assert seen[:n_granted] == [one for one in seen if one[0] == "granted"]
    counted = [("counted", 2**depth) for depth in range(3 if n_granted else 0)]
    assert [one for one in seen if one[0].startswith("counted")] == counted


def test_nothing_is_counted_without_budget(random_table):
    def no_root(table, segments):
        raise AssertionError("counted before anything was granted")

    with pytest.raises(BudgetExceeded):
        grow(table_of(*random_table()), plan_of(2), SeededSource(1), epsilon="0.5", root=no_root)


def test_a_grant_serves_one_draw(random_table):
    plan, source = plan_of(2), SeededSource(1)
    with BudgetAccountant(10**6).open_scope("tree") as scope:
        records = MemoryRecords(table_of(*random_table()))
        tree = BridgeCopy(plan.rounds[0], 0, scope, records, source, lambda: None)
        with pytest.raises(PlanError, match="was released"), tree:
            growth, criterion = GrowthInMemory(Side()), plan.shape.criterion
            counted = tree.ask(growth.level(), FEATURE, VALUE)
            features = counted.chosen(FEATURE, growth.best(criterion))
            assert features.shape == (1,)
            counted.chosen(FEATURE, growth.best(criterion))


def test_steps_are_reported_as_they_are_done(random_table):
    done = []
    grow(table_of(*random_table()), plan_of(4), SeededSource(1), step_done=lambda: done.append(1))
    assert len(done) == 5


# -- a root for all trees --------------------------------------------------------------------


def test_the_shared_root_is_counted_once(random_table, monkeypatch):
    table = table_of(*random_table())
    made, real = [], grower.count_root

    def count(*args):
        made.append(1)
        return real(*args)

    monkeypatch.setattr(grower, "count_root", count)
    root = SharedRoot()
    plan = plan_of(3)

    def one(number):
        return grow(table, plan, SeededSource(number), root=root)

    with ThreadPoolExecutor(4) as pool:
        shared = list(pool.map(one, range(8)))
    assert len(made) == 1
    for number, tree in enumerate(shared):
        alone = grow(table, plan, SeededSource(number), root=real)
        for name in ("feature", "low", "high", "counts"):
            assert np.array_equal(getattr(tree, name), getattr(alone, name))
