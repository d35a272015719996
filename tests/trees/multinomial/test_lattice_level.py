"""Levels on a fine lattice: intervals against a twin that scores every point, and whole fits."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpforest import BudgetAccountant, Domain, MultinomialForestClassifier
from dpforest.accounting.events import ExponentialSelection, GeometricNoise
from dpforest.accounting.releases import Round, Step
from dpforest.bridge.bridge import Bridge
from dpforest.domain.matrix import EncodedMatrix, EncodedTable
from dpforest.exceptions import ParameterError
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.multinomial.cells import LevelCells
from dpforest.trees.multinomial.criteria import CRITERIA
from dpforest.trees.multinomial.growth import GrowthInMemory, count_root
from dpforest.trees.multinomial.lattice import LevelLattice
from dpforest.trees.multinomial.learner import released_splits
from dpforest.trees.multinomial.plan import TreeEvents, forest_plan
from dpforest.trees.multinomial.queries import Side
from dpforest.trees.multinomial.segments import Segments, Splits

ALPHA = 1e-9
N_CODES = [9, 4, 1, 17, 3]
ORDERED = [True, False, True, True, False]


def table_of(codes, labels, n_codes, ordered, n_classes, dtype=np.uint32):
    """A table whose integer codes are lattice points (uint32) or cells (uint8)."""
    matrix = EncodedMatrix(
        np.ascontiguousarray(codes, dtype=dtype), np.array(n_codes), np.array(ordered)
    )
    return Table.of(EncodedTable(matrix, np.asarray(labels, dtype=np.int32), n_classes))


def everyone(table):
    return Segments.of_root(np.arange(table.n_records, dtype=np.int32))


def points_of(offer, node):
    """Score of every code that a node is offered; no code may come twice."""
    points = {}
    for j in range(offer.starts[node], offer.ends[node]):
        first = j - offer.starts[node] if offer.firsts is None else offer.firsts[j]
        length = 1 if offer.lengths is None else offer.lengths[j]
        assert length > 0
        for code in range(first, first + length):
            assert code not in points
            points[code] = offer.scores[j]
    return {code: score for code, score in points.items() if score > -math.inf}


def random_splits(generator, level):
    """A split of each node among its candidates; about one in eight has none."""
    splits = Splits.empty(level.n_nodes)
    for node, sizes in enumerate(level.n_candidates()):
        f = int(generator.choice(np.flatnonzero(sizes))) if sizes.any() else -1
        if generator.random() < 1 / 8:
            f = -1
        code = 0
        if f >= 0:
            features = np.full(level.n_nodes, -1)
            features[node] = f
            places = np.full(level.n_nodes, generator.integers(sizes[f]))
            code = level.nth_candidates(features, places)[node]
        splits.feature[node], splits.high[node] = f, code
        splits.low[node] = code if f >= 0 and not ORDERED[f] else 0
    return splits


def grown(table, depth, seed):
    """Levels of random splits of the same table on a lattice and on cells, with their nodes."""
    generator = np.random.default_rng(seed)
    cells_table = table_of(
        table.codes, table.labels, table.n_codes, table.ordered, table.n_classes, np.uint8
    )
    segments = everyone(table)
    lattice = LevelLattice.of_root(table).count(segments)
    cells = LevelCells.of_root(cells_table).count(segments)
    boxes = [[set(range(m)) for m in table.n_codes]]
    for _ in range(depth):
        yield lattice, cells, segments, boxes
        splits = random_splits(generator, lattice)
        segments = segments.split(table.codes, splits)
        lattice = lattice.children(splits).count(segments)
        cells = cells.children(splits).count(segments)
        boxes = [
            child
            for node, box in enumerate(boxes)
            for child in child_sets(box, splits.feature[node], splits.low[node], splits.high[node])
        ]


def child_sets(box, f, low, high):
    if f < 0:
        return box, box
    inside = {code for code in box[f] if low <= code <= high}
    return [*box[:f], inside, *box[f + 1 :]], [*box[:f], box[f] - inside, *box[f + 1 :]]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CRITERIA)
def test_every_point_of_every_box_has_the_score_of_a_twin(twins, name, n_classes):
    criterion = CRITERIA[name]
    # A floor of the twin's exact fraction may be one step from that of the kernel's double.
    slack = 1 if criterion.normalised else 0
    codes, labels = twins.random_table(n_classes, 40, N_CODES, n_classes)
    table = table_of(codes, labels, N_CODES, ORDERED, n_classes)
    offsets = twins.offsets_of(N_CODES)
    for lattice, cells, segments, boxes in grown(table, 4, seed=n_classes):
        best = lattice.scored(criterion).best()
        np.testing.assert_array_equal(best, cells.scored(criterion).best())
        offers = [
            [level.scored(criterion).offer(np.full(len(boxes), f)) for f in range(len(N_CODES))]
            for level in (lattice, cells)
        ]
        for node, box in enumerate(boxes):
            records = segments.order[segments.starts[node] : segments.starts[node + 1]]
            counts = twins.histogram(codes, labels, records, N_CODES, n_classes)
            flat = twins.scores(counts, box, ORDERED, name)
            by_feature = [flat[offsets[f] : offsets[f + 1]] for f in range(len(N_CODES))]
            maxima = [max(scores) for scores in by_feature]
            expected = twins.normalised(maxima) if criterion.normalised else maxima
            np.testing.assert_allclose(best[node], expected, rtol=0, atol=slack)
            for f, scores in enumerate(by_feature):
                points = points_of(offers[0][f], node)
                scores = twins.normalised(scores) if criterion.normalised else scores
                allowed = {c: q for c, q in enumerate(scores) if q > -math.inf}
                assert points.keys() == allowed.keys()
                assert all(abs(points[code] - allowed[code]) <= slack for code in allowed)
                # Bit for bit what counting every cell gives, the normalised criteria included.
                assert points == points_of(offers[1][f], node)


@pytest.mark.parametrize("name", CRITERIA)
def test_masses_of_intervals_are_the_sums_over_their_points(twins, name):
    criterion = CRITERIA[name]
    codes, labels = twins.random_table(5, 12, N_CODES, 2)
    table = table_of(codes, labels, N_CODES, ORDERED, 2)

    def weight(score):
        return Fraction(math.exp(float(score * criterion.unit)))

    n_merged = 0
    for lattice, cells, _, boxes in grown(table, 3, seed=5):
        offer = lattice.scored(criterion).offer(np.full(len(boxes), 3))
        single = cells.scored(criterion).offer(np.full(len(boxes), 3))
        for node in range(len(boxes)):
            points = points_of(single, node)
            for j in range(offer.starts[node], offer.ends[node]):
                first, length = int(offer.firsts[j]), int(offer.lengths[j])
                mass = sum(weight(points[code]) for code in range(first, first + length))
                assert mass == length * weight(offer.scores[j])
                n_merged += length > 1
    assert n_merged > 5


def law(scores, event, unit):
    """Probabilities of the exponential mechanism over a dictionary of scores."""
    c = float(event.epsilon / event.score_range * unit)
    top = max(scores.values())
    weights = {key: math.exp(c * (q - top)) for key, q in scores.items()}
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def split_law(level, criterion, event):
    """Law of (feature, code) drawn in two stages in the only node of a level."""
    scored = level.scored(criterion)
    best = {f: q for f, q in enumerate(scored.best()[0]) if q > -math.inf}
    result = {}
    for f, share in law(best, event, criterion.unit).items():
        points = points_of(level.scored(criterion).offer(np.array([f])), 0)
        for code, p in law(points, event, criterion.unit).items():
            result[f, code] = share * p
    return result


def plan_of(criterion, event, joint=False):
    leaf = GeometricNoise(Fraction(1), Fraction(1))
    return forest_plan(1, TreeEvents((event,), (event,), leaf), criterion, joint=joint)


def split_of(level, plan, scope, source):
    """Splits of the nodes of a level, paid for as one wide step of a plan."""
    (step, _) = plan.rounds[0].steps
    step = Step(tuple(replace(one, cells=level.n_nodes) for one in step.releases))
    bridge = Bridge((Round("trees", (step,)),), scope, MemoryRecords(level.table), source)
    growth = GrowthInMemory(Side(), lambda *_: level)
    counted = bridge.ask(growth.level(), *step.roles)
    drawn = released_splits(plan.shape, bridge, growth, counted, step.roles)
    return Splits.drawn(level.table.ordered, *drawn)


def drawn(level, criterion, event, repeats, accountant):
    """How often each split was drawn, over nodes that are all alike."""
    counts, plan = {}, plan_of(criterion, event)
    with accountant.open_scope("draws") as scope:
        for seed in range(repeats):
            splits = split_of(level, plan, scope, SeededSource(seed))
            for f, code in zip(splits.feature.tolist(), splits.high.tolist(), strict=True):
                counts[f, code] = counts.get((f, code), 0) + 1
    return counts


def fits(counts, probabilities):
    """Chi-square at ALPHA; rare outcomes are pooled, impossible ones must not come."""
    assert counts.keys() <= probabilities.keys()
    n = sum(counts.values())
    expected = np.array([n * p for p in probabilities.values()])
    observed = np.array([counts.get(key, 0) for key in probabilities], dtype=float)
    rare = expected < 20
    expected = np.append(expected[~rare], expected[rare].sum())
    observed = np.append(observed[~rare], observed[rare].sum())
    keep = expected > 0
    return stats.chisquare(observed[keep], expected[keep], sum_check=False).pvalue > ALPHA


def alike_nodes(codes, labels, n_codes, ordered, levels):
    """A level of 2**levels nodes with the same records; one more feature told them apart."""
    copies = 2**levels
    which = np.repeat(np.arange(copies), len(labels))
    table = table_of(
        np.column_stack([np.tile(codes, (copies, 1)), which]),
        np.tile(labels, copies), [*n_codes, copies], [*ordered, True], 2,
    )  # fmt: skip
    segments = everyone(table)
    level = count_root(table, segments)
    for depth in range(levels):
        n_nodes, width = 2**depth, copies >> depth
        middle = np.arange(n_nodes) * width + width // 2 - 1
        feature = np.full(n_nodes, len(n_codes), dtype=np.int32)
        splits = Splits(feature, np.zeros(n_nodes, dtype=np.int64), middle)
        segments = segments.split(table.codes, splits)
        level = level.children(splits).count(segments)
    return level


@pytest.mark.parametrize("name", CRITERIA)
def test_splits_follow_the_law_of_cells_and_not_one_30_percent_off(twins, name):
    criterion = CRITERIA[name]
    n_codes, ordered = [12, 4], [True, False]
    codes, labels = twins.random_table(8, 24, n_codes, 2)
    cells = LevelCells.of_root(table_of(codes, labels, n_codes, ordered, 2, np.uint8))
    cells = cells.count(everyone(cells.table))
    event = ExponentialSelection(Fraction(4 if criterion.normalised else 2), criterion.score_range)
    level = alike_nodes(codes, labels, n_codes, ordered, levels=11)
    counts = drawn(level, criterion, event, 6, BudgetAccountant(epsilon=1000))
    assert fits(counts, split_law(cells, criterion, event))
    for factor in (Fraction(13, 10), Fraction(10, 13)):
        wrong = ExponentialSelection(event.epsilon * factor, criterion.score_range)
        assert not fits(counts, split_law(cells, criterion, wrong))


@pytest.mark.parametrize("dtype", [np.uint32, np.uint8])
def test_draws_that_nothing_was_paid_for_read_no_record(twins, dtype):
    codes, labels = twins.random_table(8, 24, [6, 4, 1], 2)
    table = table_of(codes, labels, [6, 4, 1], [True, False, True], 2, dtype)
    # Not counted: a look at a record would fail.
    level = (LevelLattice if dtype == np.uint32 else LevelCells).of_root(table)
    counts, jointly = {}, {}
    scope = BudgetAccountant(1).open_scope("draws")
    for seed in range(4000):
        for joint, into in ((False, counts), (True, jointly)):
            plan = plan_of(CRITERIA["gini_count"], None, joint)
            splits = split_of(level, plan, scope, SeededSource(seed))
            key = int(splits.feature[0]), int(splits.high[0])
            into[key] = into.get(key, 0) + 1
    sizes = {0: 5, 1: 4}
    assert fits(counts, {(f, c): 1 / 2 / m for f, m in sizes.items() for c in range(m)})
    assert fits(jointly, {(f, c): 1 / 9 for f, m in sizes.items() for c in range(m)})


@pytest.mark.parametrize("name", CRITERIA)
def test_a_new_distinct_value_leaves_every_split_possible_and_its_odds_bounded(twins, name):
    criterion = CRITERIA[name]
    n_codes, ordered = [40, 5], [True, False]
    event = ExponentialSelection(Fraction(1), criterion.score_range)
    for seed in range(6):
        codes, labels = twins.random_table(seed, 3 * seed, n_codes, 2)
        codes[:, 0] &= 0xFE  # even codes, so that an odd one is new
        neighbour = np.vstack([codes, [[2 * seed + 1, seed % 5]]]), np.append(labels, seed % 2)
        laws = []
        for own_codes, own_labels in ((codes, labels), neighbour):
            table = table_of(own_codes, own_labels, n_codes, ordered, 2)
            laws.append(split_law(count_root(table, everyone(table)), criterion, event))
        assert laws[0].keys() == laws[1].keys()
        assert len(laws[0]) == 39 + 5
        ratios = [math.log(laws[1][key] / laws[0][key]) for key in laws[0]]
        # Two draws of epsilon 1 each; bounded range, so the spread is held as well.
        assert max(ratios) - min(ratios) <= 2 + 1e-9


def test_the_finest_lattice_offers_all_its_points_to_full_and_to_empty_nodes():
    top = 2**32 - 1
    table = table_of([[0, 0], [top, 0], [7, 0]], [0, 1, 1], [2**32, 2], [True, False], 2)
    segments = everyone(table)
    root = count_root(table, segments)
    criterion = CRITERIA["gini_count"]
    offer = root.scored(criterion).offer(np.array([0]))
    assert offer.firsts[: offer.ends[0]].tolist() == [0, 7]
    assert offer.lengths[: offer.ends[0]].tolist() == [7, top - 7]
    splits = Splits(np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([top - 1]))
    segments = segments.split(table.codes, splits)
    left = root.children(splits).count(segments)
    assert np.diff(segments.starts).tolist() == [2, 1]
    # The right child is the one code that stands for missing values: nothing to cut.
    assert left.n_candidates().tolist() == [[top - 1, 2], [0, 2]]
    assert left.scored(criterion).best()[1, 0] == -np.inf
    again = Splits(np.zeros(2, np.int32), np.zeros(2, np.int64), np.array([2**31, top]))
    last = left.children(again).count(segments.split(table.codes, again))
    offer = last.scored(criterion).offer(np.zeros(4, dtype=np.int64))
    # The second node has no record, yet every point of its box is a candidate.
    assert points_count(offer) == [2**31, top - 1 - 2**31 - 1, 0, 0]
    assert offer.scores[offer.starts[1]] == 0


def points_count(offer):
    spans = zip(offer.starts, offer.ends, strict=True)
    return [int(offer.lengths[start:end].sum()) for start, end in spans]


def test_a_root_of_some_records_has_theirs_alone(twins):
    codes, labels = twins.random_table(3, 30, N_CODES, 3)
    table = table_of(codes, labels, N_CODES, ORDERED, 3)
    some = np.arange(0, 30, 3, dtype=np.int32)
    part = table_of(codes[some], labels[some], N_CODES, ORDERED, 3)
    criterion = CRITERIA["gini_count"]
    for f in range(len(N_CODES)):
        offers = [
            root.scored(criterion).offer(np.array([f]))
            for root in (
                count_root(table, Segments.of_root(some)),
                count_root(part, everyone(part)),
            )
        ]
        assert points_of(offers[0], 0) == points_of(offers[1], 0)


# -- whole fits ---------------------------------------------------------------------------------

NUMERIC = Domain(features={"a": (0.0, 1.0), "b": (-5.0, 5.0)}, classes=["no", "yes"])
MIXED = Domain(
    features=[
        {"kind": "numeric", "name": "age", "lower": 17, "upper": 90, "integer": True},
        {"kind": "numeric", "name": "gain", "lower": 0, "upper": 1e5, "missing": True},
        {"kind": "categorical", "name": "work", "categories": ["a", "b", "c"], "missing": True},
        {"kind": "categorical", "name": "sex", "categories": ["f", "m"]},
    ],
    classes=["<=50K", ">50K"],
)


def numeric_data(n=3000):
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.random(n), generator.uniform(-5, 5, n)])
    # A step that equal cells of the domain's bounds would blur.
    return X, np.where(X[:, 0] < 0.37123, "no", "yes")


def mixed_data(n=500):
    generator = np.random.default_rng(1)
    gain = np.where(generator.random(n) < 0.3, np.nan, generator.random(n) * 1e5)
    work = generator.choice(["a", "b", "c", None], n)
    X = [
        [int(generator.integers(17, 91)), None if math.isnan(g) else g, w, s]
        for g, w, s in zip(gain, work, generator.choice(["f", "m"], n), strict=True)
    ]
    return X, np.where(gain > 5e4, ">50K", "<=50K")


def forest(domain, **parameters):
    return MultinomialForestClassifier(
        **{
            "epsilon": 20,
            "domain": domain,
            "thresholds": "lattice",
            "n_estimators": 4,
            "max_depth": 3,
            "random_state": 0,
            "accountant": BudgetAccountant(epsilon=100),
            **parameters,
        }
    )


@pytest.mark.parametrize("published", [False, True])
def test_numeric_table_end_to_end(published):
    X, y = numeric_data()
    as_published = {"partition_rate": 1, "leaves": "label", "criterion": "gini_decrease"}
    parameters = {**as_published, "random_state": 1} if published else {}
    fitted = forest(NUMERIC, **parameters).fit(X, y)
    assert (fitted.predict(X) == y).mean() > (0.6 if published else 0.95)
    assert fitted.forest_.high.max() > 2**20
    cells = forest(NUMERIC, thresholds="cells", **parameters).fit(X, y)
    assert fitted.spent_.exact == cells.spent_.exact
    threads = forest(NUMERIC, n_jobs=2, **parameters).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), threads.predict_proba(X))
    again = MultinomialForestClassifier.from_json(fitted.to_json())
    np.testing.assert_array_equal(fitted.predict_proba(X), again.predict_proba(X))


def test_order_of_rows_plays_no_part():
    X, y = numeric_data(300)
    mixed = np.random.default_rng(2).permutation(300)
    first, second = forest(NUMERIC).fit(X, y), forest(NUMERIC).fit(X[mixed], y[mixed])
    np.testing.assert_array_equal(first.forest_.high, second.forest_.high)
    np.testing.assert_array_equal(first.forest_.counts, second.forest_.counts)


@pytest.mark.parametrize("n", [500, 1, 0])
@pytest.mark.parametrize("criterion", ["gini_count", "entropy_decrease"])
def test_mixed_table_with_missing_values_and_without_rows(n, criterion):
    X, y = mixed_data()
    X_fit = np.array(X, dtype=object)[:n]
    fitted = forest(MIXED, criterion=criterion).fit(X_fit, y[:n])
    assert set(fitted.predict(X)) <= {"<=50K", ">50K"}
    # Every code drawn is one that its feature has.
    split = fitted.forest_.feature >= 0
    n_codes = np.array([74, 2**32, 5, 3])  # with codes for missing and for unknown values
    assert np.all(fitted.forest_.high[split] < n_codes[fitted.forest_.feature[split]])
    if n == 500:
        assert (fitted.predict(X) == y).mean() > (0.9 if criterion == "gini_count" else 0.5)


@pytest.mark.parametrize(
    "parameters, name, rule",
    [
        ({"selection": "permute_and_flip"}, "selection", "flip a coin for each"),
        ({"choice": "joint"}, "choice", "would outweigh all values of a category"),
    ],
)
def test_draws_that_a_lattice_cannot_serve_are_refused_before_anything_is_paid(
    parameters, name, rule
):
    X, y = numeric_data(20)
    refused = forest(NUMERIC, **parameters)
    with pytest.raises(ParameterError, match=rule) as error:
        refused.fit(X, y)
    assert error.value.parameter == name
    assert "lattice" in error.value.rule
    assert refused.accountant.ledger == ()
