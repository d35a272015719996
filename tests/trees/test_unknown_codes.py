"""The code that no declared value has is no candidate of splits, in any learner: see `TableFacts`.

Half of the records here have values that nobody declared, and these alone tell the class: whoever
may split them off does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dpforest import MultinomialForestClassifier, PrivateForestClassifier, PrivateForestRegressor
from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.fit_plan import table_facts
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.streams.passes import empty_table
from dpforest.trees.multinomial.cells import Boxes, LevelCells
from dpforest.trees.multinomial.lattice import LevelLattice
from dpforest.trees.multinomial.segments import Splits
from dpforest.trees.multinomial.uniform import uniform_splits
from dpforest.trees.one_shot.settings import OneShotSize
from dpforest.trees.one_shot.structures import draw_structures
from dpforest.trees.random.bins import public_bins
from dpforest.trees.random.trees import RandomTrees, draw_random_trees
from dpforest.trees.rules.offers import draw_directions
from dpforest.trees.strategies import ASKED

ROWS = 2000
DOMAIN = Domain(
    features=[
        {"name": "flag", "kind": "categorical", "categories": ["no", "yes"]},
        {"name": "hue", "kind": "categorical", "categories": ["red", "green", "blue", "white"],
         "missing": True},
        {"name": "one", "kind": "categorical", "categories": ["always"]},
        {"name": "sort", "kind": "categorical", "categories": ["a", "b"], "other": "b"},
        {"name": "age", "kind": "numeric", "lower": 0, "upper": 30, "integer": True,
         "missing": True},
    ],
    classes=["no", "yes"],
    target=(0, 1),
    approximate_rows=ROWS,
)  # fmt: skip
#: Of each feature the codes that declared values have, and the code of all others.
DECLARED, UNKNOWN = ([0, 1], [0, 1, 2, 3, 5], [0], [0, 1], None), (2, 4, 1, -1, -1)


def records() -> tuple[np.ndarray, np.ndarray]:
    """Three columns hold nothing declared in every record of class yes."""
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, ROWS)
    known = [generator.choice(feature.categories, ROWS) for feature in DOMAIN.features[:4]]
    columns = [np.where(y == 1, "?", column) for column in known[:3]]
    columns += [known[3], generator.integers(0, 31, ROWS)]
    return np.column_stack([column.astype(object) for column in columns]), y


X, Y = records()


def found(part: Any, key: str) -> Iterator[Any]:
    """Every object of a plain model that has a key."""
    if isinstance(part, dict):
        if key in part:
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for one in part:
            yield from found(one, key)


def check_tree(nodes: list[Any], place: int, live: dict[int, list[int]]) -> int:
    """Sides of every split are reached by declared categories; number of splits by category."""
    node = nodes[place]
    if "left" not in node:
        return 0
    feature, sets = node["feature"], [live, live]
    if "categories" in node:
        declared = live.get(feature, DECLARED[feature])
        left = [c for c in declared if c in node["categories"] or (
            c > UNKNOWN[feature] >= 0 and node["missing"] == "left")]  # fmt: skip
        right = [c for c in declared if c not in left]
        assert left and right, "nothing declared on one side"
        sets = [{**live, feature: own} for own in (left, right)]
    below = zip((node["left"], node["right"]), sets, strict=True)
    return ("categories" in node) + sum(check_tree(nodes, *child) for child in below)


def check_rules(score: Any) -> int:
    """What is not declared is worth what something declared is; a single feature parts that."""
    rules = [node for node in found(score, "sum") if "threshold" in node]
    for rule in rules:
        for table in rule["sum"]:
            if UNKNOWN[table["feature"]] >= 0:
                known = set(table["places"])
                known |= {table["missing"]} if DOMAIN.features[table["feature"]].missing else set()
                assert table["unknown"] in known
                assert len(rule["sum"]) > 1 or len(known) > 1
    return len(rules)


def check_plain(model: Any) -> int:
    """Number of splits and rules that were looked at."""
    score = json.loads(model.to_plain())["score"]
    lists = [part for part in _lists(score) if any("left" in node for node in part)]
    trees = [nodes for nodes in lists if not any("sum" in node for node in nodes)]
    return sum(check_tree(nodes, 0, {}) for nodes in trees) + check_rules(score)


def _lists(part: Any) -> Iterator[list[Any]]:
    """Every list of objects."""
    if isinstance(part, dict):
        part = list(part.values())
    elif isinstance(part, list) and part and all(isinstance(one, dict) for one in part):
        yield part
    if isinstance(part, list):
        for one in part:
            yield from _lists(one)


#: Strategies that have no splits: every code has a worth of its own, noisy where nobody has it.
WITHOUT_SPLITS = {"additive"}
FOR_CLASSES_ALONE = {"rules"}
KINDS = [
    *((strategy, PrivateForestClassifier) for strategy in ASKED),
    *((strategy, PrivateForestRegressor) for strategy in sorted({*ASKED} - FOR_CLASSES_ALONE)),
]


@pytest.mark.filterwarnings("ignore:.*random_state.*")
@pytest.mark.parametrize(("strategy", "kind"), KINDS)
def test_no_strategy_splits_off_what_is_not_declared(strategy, kind):
    model = kind(epsilon=50, delta=1e-6, domain=DOMAIN, strategy=strategy, random_state=1)
    n_splits = check_plain(model.fit(X, Y))
    assert (n_splits == 0) == (strategy in WITHOUT_SPLITS)


def test_the_multinomial_forest_splits_off_nothing_that_is_not_declared():
    model = MultinomialForestClassifier(
        epsilon=50, delta=1e-6, domain=DOMAIN, n_estimators=5, max_depth=5
    )
    assert check_plain(model.fit(X, Y)) > 0


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_boxes_offer_nothing_that_is_not_declared(dtype):
    encoder = DomainEncoder(DOMAIN, thresholds="cells" if dtype == np.int32 else "lattice")
    table = empty_table(encoder)
    level = (LevelCells if dtype == np.int32 else LevelLattice).of_root(table)
    assert level.n_candidates()[0].tolist() == [2, 5, 0, 2, 31]
    source, drawn = SeededSource(0), set()
    for _ in range(7):
        features, codes = uniform_splits(level, source)
        drawn |= set(zip(features.tolist(), codes.tolist(), strict=True))
        level = level.children(Splits.drawn(table.ordered, features, codes))
    categories = {(f, code) for f, code in drawn if UNKNOWN[f] >= 0}
    assert categories == {(0, 0), (0, 1), *((1, code) for code in DECLARED[1])}


@pytest.mark.filterwarnings("ignore:.*random_state.*")
@pytest.mark.parametrize("thresholds", ["cells", "lattice"])
@pytest.mark.parametrize("way", ["published", "count_label"])
def test_multinomial_forests_never_draw_it(way, thresholds):
    more = {} if way == "published" else {"leaves": way}
    model = MultinomialForestClassifier.as_published(
        epsilon=400, domain=DOMAIN, n_estimators=20, max_depth=4, random_state=0,
        thresholds=thresholds, **more,
    ).fit(X, Y)  # fmt: skip
    forest = model.model_.forest
    used = np.isin(forest.feature, np.flatnonzero(np.array(UNKNOWN) >= 0))
    unknown = np.array(UNKNOWN)[forest.feature]
    assert used.sum() > 20 and not (used & (forest.low == unknown)).any()


def random_trees(seed: int) -> RandomTrees:
    facts = table_facts(DomainEncoder(DOMAIN), ROWS)
    return draw_random_trees(40, 6, public_bins(facts, 16), facts, SeededSource(seed))


def wide_trees(seed: int) -> RandomTrees:
    """More than 64 bins: nodes look through their ancestors."""
    facts = table_facts(DomainEncoder(WIDE), ROWS)
    return draw_random_trees(40, 6, public_bins(facts, 128), facts, SeededSource(seed))


def grid_trees(seed: int) -> RandomTrees:
    facts = table_facts(DomainEncoder(DOMAIN), ROWS)
    size = OneShotSize(40, 6, (3, 2))
    return draw_structures(size, public_bins(facts, 16), facts, SeededSource(seed))


WIDE = Domain(
    features=[*DOMAIN.features[:4],
              {"name": "age", "kind": "numeric", "lower": 0, "upper": 1, "missing": True}],
    classes=["no", "yes"], approximate_rows=ROWS,
)  # fmt: skip


@pytest.mark.parametrize("draw", [random_trees, wide_trees, grid_trees])
def test_random_trees_part_declared_codes_at_every_split(draw):
    trees = draw(3)
    tossed = []
    for feature, mask in zip(trees.feature, trees.mask, strict=True):
        live: list[Any] = [[list(own or []) for own in DECLARED]]
        for node in range(feature.size):
            f, here = feature[node], live[node]
            below = [list(here), list(here)]
            if UNKNOWN[f] >= 0 and not (mask[node] == 2**64 - 1).all():
                left = [c for c in here[f] if sends_left(mask[node], c)]
                assert 0 < len(left) < len(here[f])
                below[0][f], below[1][f] = left, [c for c in here[f] if c not in left]
                tossed.append(sends_left(mask[node], UNKNOWN[f]))
            live += below
    # What is not declared goes either way, and one node in two left: five standard errors.
    assert abs(np.mean(tossed) - 0.5) < 2.5 / np.sqrt(len(tossed)) and len(tossed) > 200


def sends_left(mask: np.ndarray, code: int) -> bool:
    return bool(int(mask[code // 64]) >> (code % 64) & 1)


def test_rules_offer_declared_values_alone():
    facts = table_facts(DomainEncoder(DOMAIN), ROWS)
    directions = draw_directions(facts, 200, 32, 100, 0.5, SeededSource(5)).members
    singles = [d for d in directions if len(d.features) == 1]
    # Five values of the second feature, and its list, which tells an order.
    assert [d.features[0] for d in singles] == [0, 1, 1, 1, 1, 1, 1, 3, 4]
    assert [d.thresholds.size for d in singles[1:7]] == [1] * 6
    for direction in directions:
        for feature, table in zip(direction.features, direction.tables, strict=True):
            if UNKNOWN[feature] >= 0:
                assert table[UNKNOWN[feature]] in table[DECLARED[feature]]
    assert not any(2 in d.features for d in directions)  # one declared value parts nothing


def test_every_code_of_numbers_is_some_declared_value():
    """Cells and whole points of numbers: each holds a value within the bounds."""
    features = [
        {"name": f"{kind}{upper}", "kind": "numeric", "lower": 0, "upper": upper, "integer": kind}
        for kind in (True, False) for upper in (1, 3, 255, 256, 400, 10**5, 10**12)
    ]  # fmt: skip
    encoder = DomainEncoder(Domain(features=features, classes=["a", "b"]))
    for feature, cells in zip(encoder.domain.features, encoder.cells, strict=True):
        edges = np.array([feature.lower, *map(cells.threshold, range(cells.n_codes))])
        inside = np.floor(edges[1:]) if feature.integer else edges[1:]
        assert np.array_equal(cells.encode(inside), np.arange(cells.n_codes))


def test_boxes_without_facts_offer_every_code():
    n_codes = np.array([3])
    boxes = Boxes.of_root(n_codes, np.array([0, 3]), np.array([False]))
    assert boxes.n_candidates().tolist() == [[3]]
