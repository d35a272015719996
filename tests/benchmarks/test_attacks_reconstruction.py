"""The reconstruction attack of benchmarks/attacks: its parts against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from attacks.binary import Group, binary_table
from attacks.evidence import (
    Trees,
    beside,
    bootstrap_evidence,
    both,
    exact_evidence,
    label_evidence,
    noisy_evidence,
)
from attacks.forests import (
    BAGGED,
    MULTINOMIAL,
    ONE_SHOT,
    PLAIN,
    PRIVATE,
    RANDOM,
    fit_forest,
    random_structure,
)
from attacks.matching import fresh_errors, matching_error, medoid_error, p_value
from attacks.ours import private, rule_trees
from attacks.search import Found, anneal, random_table, sample_posterior
from sklearn.ensemble import RandomForestClassifier

from dpforest import PrivateForestClassifier


def full_tree(n_features: int) -> Trees:
    """One tree whose leaves are all values of a record."""
    trees = Trees.all_left(1, n_features)
    for node in range(trees.n_leaves - 1):
        trees.split(0, node, (node + 1).bit_length() - 1)
    return trees


def small_trees(generator: np.random.Generator) -> Trees:
    """Two trees of depth two over three features; one node tests a sum, one sends all left."""
    trees = Trees.all_left(2, 2, width=2)
    for tree, node in itertools.product(range(2), range(3)):
        one = bool(generator.integers(2))
        trees.split(tree, node, int(generator.integers(3)), one_goes_left=one)
    trees.features[0, 1], trees.weights[0, 1], trees.thresholds[0, 1] = [0, 2], [3, -2], 0
    trees.features[1, 2] = -1
    trees.thresholds[1, 2] = 0
    return trees


def all_tables(n: int, n_features: int):
    """Every table of n records, each once whatever its order."""
    records = list(itertools.product(range(2), repeat=n_features + 1))
    for table in itertools.combinations_with_replacement(records, n):
        rows = np.array(table)
        yield rows[:, :-1].astype(np.uint8), rows[:, -1].astype(np.int64)


def kinds_of_evidence(trees: Trees, n: int, generator: np.random.Generator):
    noisy = generator.integers(-1, 3, (trees.n_trees, trees.n_leaves, 2))
    labels = generator.integers(0, 2, noisy.shape[:2])
    yield noisy_evidence(trees, noisy, 0.7, n)
    yield label_evidence(trees, labels, 1.3, n)
    yield both(noisy_evidence(trees, noisy, 0.4, n), label_evidence(trees, labels, 2.0, n))
    x, y = random_table(n, 3, (), generator)
    yield bootstrap_evidence(trees, trees.counts(x, y), n)


def test_a_tree_sends_records_where_scikit_learns_does():
    generator = np.random.default_rng(0)
    x, y = generator.integers(0, 2, (60, 7)).astype(np.uint8), generator.integers(0, 2, 60)
    model = RandomForestClassifier(4, max_depth=5, random_state=0).fit(x, y)
    table = binary_table("masses")
    release = fit_forest(BAGGED, table, x, y, None, 4, 0)
    leaves = release.evidence.trees.leaves(x)
    for tree, theirs in enumerate(model.apply(x).T):
        pairs = set(zip(theirs.tolist(), leaves[:, tree].tolist(), strict=True))
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def test_a_forest_without_bagging_is_certain_of_the_truth():
    table = binary_table("masses")
    x, y = table.x[:80], table.y[:80]
    evidence = fit_forest(PLAIN, table, x, y, None, 3, 1).evidence
    assert evidence.log_likelihood(x, y) == 0.0
    assert evidence.log_likelihood(1 - x, y) < 0.0
    assert np.array_equal(evidence.exact, evidence.trees.counts(x, y))


@pytest.mark.parametrize("target", [RANDOM, MULTINOMIAL])
def test_without_noise_released_counts_are_the_true_ones(target):
    table = binary_table("masses")
    x, y = table.x[:80], table.y[:80]
    evidence = fit_forest(target, table, x, y, 3000.0, 2, 1).evidence
    assert evidence.log_likelihood(x, y) == 0.0
    assert evidence.log_likelihood(x, 1 - y) < -100.0


def test_the_likelihood_of_noisy_counts_has_their_scale():
    """Two-sided geometric noise has mean |noise| 2a / (1 - a^2): 320 counts, six deviations."""
    table = binary_table("masses")
    x, y = table.x[:80], table.y[:80]
    release = fit_forest(MULTINOMIAL, table, x, y, 5.0, 5, 1)
    ratio = release.evidence.scale
    assert ratio == pytest.approx(0.65 * 5.0 / 5)
    a = np.exp(-ratio)
    expected = ratio * 2 * a / (1 - a * a)
    assert -release.evidence.log_likelihood(x, y) / 320 == pytest.approx(expected, rel=0.4)


def test_rules_send_records_where_the_model_does():
    table = binary_table("masses")
    x, y = table.x[:100], table.y[:100]
    domain = table.domain(100)
    model = PrivateForestClassifier(epsilon=5, domain=domain).fit(x.astype(float), y)
    assert model.strategy_ == "rules"
    trees = rule_trees(model.model_.nodes)
    assert np.array_equal(trees.leaves(x)[:, 0], model.model_.leaves(x.astype(np.int64)))


def test_counts_before_each_stage_are_evidence_and_labels_of_weighed_leaves_are_none():
    table = binary_table("masses")
    x, y = table.x[:100], table.y[:100]
    found = private(table, x, y, 40.0, "rules").evidence  # R = 2,800: three stages
    assert found.trees.n_trees == 3
    counted, of_labels = np.ptp(found.counts, axis=-1) > 0, np.ptp(found.margins, axis=-1) > 0
    leaves = found.trees.leaves(x)
    for tree in (1, 2):  # of the trees above, the leaves that records reach are counted
        assert counted[tree, leaves[:, tree]].all() and not of_labels[tree].any()
    # Leaves of one class are so lopsided that their labels are left out.
    assert 0 < of_labels[0].sum() < 64


def test_rules_give_what_their_plan_says():
    table = binary_table("masses")
    x, y = table.x[:100], table.y[:100]
    modest = fit_forest(PRIVATE, table, x, y, 1.0, 1, 0)
    assert modest.what == "rules drawn in 1 stage"
    counted = fit_forest(PRIVATE, table, x, y, 20.0, 1, 0)
    assert counted.what.endswith("noisy class counts")
    # Up to 64 leaves of 2 counts at epsilon 2: |noise| is 0.28 in the mean, its deviation 0.6;
    # off by more than 75 in all with probability below 1e-9.
    assert counted.evidence.log_likelihood(x, y) > -200.0
    assert counted.evidence.log_likelihood(x, 1 - y) < counted.evidence.log_likelihood(x, y)


def test_one_shot_tables_without_noise_are_the_true_ones():
    table = binary_table("masses")
    x, y = table.x[:100], table.y[:100]
    release = fit_forest(ONE_SHOT, table, x, y, 3000.0, 1, 0)
    assert release.evidence.log_likelihood(x, y) == 0.0
    assert release.evidence.log_likelihood(1 - x, y) < -100.0


def test_releases_beside_each_other_add_up():
    generator = np.random.default_rng(4)
    shallow, deep = small_trees(generator), random_structure(6, 2, generator)
    x, y = random_table(9, 6, (), generator)
    labels = generator.integers(0, 2, (2, 4))
    first = label_evidence(shallow, labels, 1.3, 9)
    second = noisy_evidence(deep, generator.integers(-1, 3, (2, 32, 2)), 0.7, 9)
    for pair in ((first, second), (second, first)):
        total = first.log_likelihood(x, y) + second.log_likelihood(x, y)
        assert beside(*pair).log_likelihood(x, y) == pytest.approx(total)


def test_random_trees_use_no_feature_twice_on_a_path():
    trees = random_structure(6, 5, np.random.default_rng(0))
    for tree in range(5):
        for leaf in range(trees.n_leaves):
            place, path = leaf + trees.n_leaves - 1, []
            while place:
                place = (place - 1) // 2
                path.append(int(trees.features[tree, place, 0]))
            assert len(set(path)) == len(path) == 5


@pytest.mark.parametrize("seed", range(2))
def test_annealing_finds_what_enumeration_finds(seed):
    generator = np.random.default_rng(seed)
    for evidence in kinds_of_evidence(small_trees(generator), 3, generator):
        best = max(evidence.log_likelihood(x, y) for x, y in all_tables(3, 3))
        found = anneal(evidence, 3, (), 20_000, seed)
        assert found.log_likelihood == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_the_solver_finds_what_enumeration_finds(seed):
    pytest.importorskip("ortools")
    from attacks.solver import solve

    generator = np.random.default_rng(seed)
    for evidence in kinds_of_evidence(small_trees(generator), 3, generator):
        best = max(evidence.log_likelihood(x, y) for x, y in all_tables(3, 3))
        x, y = random_table(3, 3, (), generator)
        start = Found(x, y, evidence.log_likelihood(x, y))
        solution = solve(evidence, 3, (), start, seconds=20)
        assert solution.status == "OPTIMAL"
        # Whole steps of a thousandth, and chords of a fiftieth of a turn.
        assert solution.found.log_likelihood == pytest.approx(best, abs=0.05)


def test_a_noiseless_forest_gives_a_tiny_table_away():
    pytest.importorskip("ortools")
    from attacks.solver import solve

    generator = np.random.default_rng(5)
    x, y = random_table(12, 4, (), generator)
    trees = full_tree(4)
    evidence = exact_evidence(trees, trees.counts(x, y), 12)
    wrong = Found(*random_table(12, 4, (), generator), -1.0)
    assert matching_error(x, wrong.x) > 0
    solution = solve(evidence, 4, (), wrong, seconds=20)
    assert solution.status == "OPTIMAL"
    assert matching_error(x, solution.found.x) == 0.0
    assert sorted(map(tuple, np.column_stack([x, y]))) == sorted(
        map(tuple, np.column_stack([solution.found.x, solution.found.y]))
    )


def test_counts_that_no_table_has_are_infeasible():
    pytest.importorskip("ortools")
    from attacks.solver import solve

    trees = full_tree(2)
    counts = np.zeros((1, 4, 2), dtype=np.int64)
    counts[0, 0, 0] = 2  # of three records
    start = Found(*random_table(3, 2, (), np.random.default_rng(0)), -1.0)
    solution = solve(exact_evidence(trees, counts, 3), 2, (), start, seconds=20)
    assert solution.status == "INFEASIBLE"
    assert solution.found is start


def test_groups_hold_in_what_is_found():
    groups = Group((0, 1, 2), True), Group((3, 4), False)
    trees = random_structure(6, 2, np.random.default_rng(1))
    noisy = np.random.default_rng(2).integers(-1, 4, (2, 32, 2))
    evidence = noisy_evidence(trees, noisy, 1.0, 10)
    tables = [anneal(evidence, 6, groups, 20_000, 0).x]
    if _has_ortools():
        from attacks.solver import solve

        start = anneal(evidence, 6, groups, 1, 0)
        tables.append(solve(evidence, 6, groups, start, seconds=2).found.x)
    for x in tables:
        assert (x[:, :3].sum(axis=1) == 1).all()
        assert (x[:, 3:5].sum(axis=1) <= 1).all()


def _has_ortools() -> bool:
    try:
        import ortools  # noqa: F401
    except ImportError:
        return False
    return True


def test_the_posterior_sampler_has_the_posterior():
    """One record, four kinds of it: frequencies over runs against the exact posterior."""
    trees = full_tree(2)
    noisy = np.zeros((1, 4, 2), dtype=np.int64)
    noisy[0, 3, 1] = 1
    evidence = noisy_evidence(trees, noisy, 1.0, 1)
    values = np.array([[0, 0], [0, 1], [1, 1], [1, 1]], dtype=np.uint8)
    labels = np.array([0, 1, 1, 0])
    weights = np.exp([evidence.log_likelihood(values[k : k + 1], labels[k : k + 1])
                      for k in range(4)])  # fmt: skip
    runs = 4000
    seen = np.zeros(4)
    for seed in range(runs):
        found = sample_posterior(evidence, (values, labels), 60, seed)
        match = (values == found.x[0]).all(axis=1) & (labels == found.y[0])
        seen[np.flatnonzero(match)[0]] += 1
    expected = runs * weights / weights.sum()
    # Chi-square with three degrees of freedom: beyond 44 with probability below 2e-9.
    assert ((seen - expected) ** 2 / expected).sum() < 44.0
    even = np.full(4, runs / 4)
    assert ((seen - even) ** 2 / even).sum() > 44.0


def test_matching_error_against_all_matchings():
    generator = np.random.default_rng(3)
    for _ in range(5):
        x, z = generator.integers(0, 2, (2, 5, 4)).astype(np.uint8)
        best = min((x != z[list(order)]).mean() for order in itertools.permutations(range(5)))
        assert matching_error(x, z) == pytest.approx(best)
    assert matching_error(x, x[::-1]) == 0.0


def test_baselines():
    population = np.array([[0, 0], [0, 1], [0, 1], [1, 1]], dtype=np.uint8)
    assert medoid_error(population, population) == pytest.approx(2 / 8)
    fresh = fresh_errors(population, population, 20, 0)
    assert (fresh == 0.0).all()  # samples of everybody


def test_p_values():
    fresh = [np.linspace(0.08, 0.12, 199)] * 3
    assert p_value(np.array([0.05, 0.05, 0.05]), fresh) == pytest.approx(1e-4)
    assert p_value(np.array([0.2, 0.2, 0.2]), fresh) == 1.0
    assert p_value(np.array([0.1, 0.1, 0.1]), fresh) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("name", ["adult", "masses"])
def test_binary_tables(name):
    table = binary_table(name)
    assert set(np.unique(table.x)) == set(np.unique(table.y)) == {0, 1}
    assert table.x.shape[1] == len(table.names) == len(set(table.names))
    for group in table.groups:
        ones = table.x[:, list(group.members)].sum(axis=1)
        assert ones.max() == 1
        assert ones.min() == 1 or not group.complete
    assert (table.x.mean(axis=0) > 0.005).all()
    assert table.domain(100).approximate_rows == 100
