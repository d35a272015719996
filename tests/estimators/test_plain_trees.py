"""Splits of the plain form: one threshold or one set each, of what can reach them alone."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.domain.domain import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.fit_plan import table_facts
from dpforest.exceptions import ModelFormatError
from dpforest.mechanisms.entropy import SeededSource
from dpforest.plain.codes import FeatureCodes
from dpforest.plain.trees import MaskedSplits, RangedSplits, plain_trees
from dpforest.trees.random.bins import public_bins
from dpforest.trees.random.trees import draw_random_trees

DOMAIN = Domain(
    features=[
        {"name": "age", "kind": "numeric", "lower": 0, "upper": 9, "integer": True},
        {"name": "pay", "kind": "numeric", "lower": 0, "upper": 3, "integer": True,
         "missing": True},
        {"name": "hue", "kind": "categorical", "categories": ["red", "green", "blue"]},
        {"name": "sort", "kind": "categorical", "categories": ["a", "b", "z"], "other": "z",
         "missing": True},
    ],
    classes=["no", "yes"],
)  # fmt: skip
ENCODER = DomainEncoder(DOMAIN)
FEATURES = [FeatureCodes.of(ENCODER, place) for place in range(4)]
#: A value for every code, and for what is unknown and missing.
VALUES: list[list[Any]] = [
    [*range(10), "?", None], [*range(4), "?", None], ["red", "green", "blue", "?", None],
    ["a", "b", "z", "?", None],
]  # fmt: skip
AGE, PAY, HUE, SORT = range(4)


def values_of(tree: list[dict[str, Any]]) -> Any:
    """A function that gives the leaf's values of a record by its read values."""

    def walk(record: list[Any]) -> list[float]:
        node = tree[0]
        while "values" not in node:
            node = tree[node[side(node, record[node["feature"]])]]
        return node["values"]

    return walk


def side(node: dict[str, Any], value: Any) -> str:
    if value in (None, "?"):
        return node["missing" if value is None else "unknown"]
    if "threshold" in node:
        left = node["threshold"] is None or value <= node["threshold"]
    else:
        known = DOMAIN.features[node["feature"]].categories
        left = known.index(value) in node["categories"]
    return "left" if left else "right"


def drawn(seed: int, n_trees: int, depth: int) -> Any:
    facts = table_facts(ENCODER, 100)
    return draw_random_trees(n_trees, depth, public_bins(facts, 16), facts, SeededSource(seed))


def leaf_numbers(trees: Any) -> np.ndarray:
    """Values that tell leaves apart, shape (n_trees, n_leaves, 1)."""
    return np.tile(np.arange(trees.n_leaves, dtype=float)[None, :, None], (trees.n_trees, 1, 1))


def as_splits(trees: Any) -> list[MaskedSplits]:
    return [MaskedSplits(trees.feature[t], trees.mask[t]) for t in range(trees.n_trees)]


@pytest.fixture(scope="module")
def forest() -> Any:
    return drawn(5, n_trees=20, depth=7)


@pytest.fixture(scope="module")
def plain(forest) -> list[list[dict[str, Any]]]:
    return plain_trees(as_splits(forest), leaf_numbers(forest), FEATURES)


def test_every_record_ends_in_its_leaf(forest, plain):
    records = [list(record) for record in product(*VALUES)][::3]
    codes = ENCODER.encode_to_predict(records)[0]
    leaves = forest.leaves(codes)
    for tree, expected in zip(plain, leaves, strict=True):
        assert [values_of(tree)(record)[0] for record in records] == expected.tolist()


def test_every_node_that_is_written_is_reached(plain):
    # Codes that are not there are in no set, and no split is written that parts nothing.
    for tree in plain[::4]:
        leaf = values_of(tree)
        reached = {leaf(record)[0] for record in product(*VALUES)}
        written = [node["values"][0] for node in tree if "values" in node]
        assert sorted(reached) == sorted(written)
        assert len(tree) == 2 * len(written) - 1 < 2**8 - 1


def test_sets_hold_what_can_reach_the_node_alone(plain):
    for tree in plain:
        reached = {0: [{0, 1, 2}, {0, 1, 2}]}
        for place, node in enumerate(tree):
            if "categories" not in node:
                for child in ("left", "right"):
                    if child in node:
                        reached[node[child]] = reached[place]
                continue
            which, left = node["feature"] - HUE, set(node["categories"])
            assert left <= reached[place][which]
            for child, own in (("left", left), ("right", reached[place][which] - left)):
                reached[node[child]] = list(reached[place])
                reached[node[child]][which] = own


def test_children_stand_behind_their_parents(plain):
    for tree in plain:
        children = [node[c] for node in tree for c in ("left", "right") if c in node]
        assert sorted(children) == list(range(1, len(tree)))
        assert all(node.get("left", len(tree)) > place for place, node in enumerate(tree))


def test_a_threshold_lies_on_an_edge_between_the_cells(plain):
    nodes = [node for tree in plain for node in tree if node.get("feature") in (AGE, PAY)]
    thresholds = [node["threshold"] for node in nodes if node["threshold"] is not None]
    assert thresholds and all(threshold % 1 == 0.5 for threshold in thresholds)


def one_split(feature: int, left: list[int]) -> list[dict[str, Any]]:
    """A tree of one split that sends these codes left, leaf 0 there and leaf 1 beyond."""
    mask = np.array([[sum(1 << code for code in left)]], dtype=np.uint64)
    split = MaskedSplits(np.array([feature], dtype=np.int32), mask)
    return plain_trees([split], np.array([[[0.0], [1.0]]]), FEATURES)[0]


def test_missing_against_numbers_needs_no_threshold():
    # Four cells, then the code of what is missing.
    for left in ([0, 1, 2, 3], [4]):
        root, *leaves = one_split(PAY, left)
        assert root["threshold"] is None and root["missing"] == "right"
        assert root["unknown"] == "left"
        assert leaves[0]["values"] == [0.0 if 0 in left else 1.0]


@pytest.mark.parametrize("left", [[0, 1], [2, 3], [0, 1, 4], [2, 3, 4]])
def test_upper_cells_on_the_left_change_sides(left):
    root, *leaves = one_split(PAY, left)
    assert root["threshold"] == 1.5
    assert [leaf["values"] for leaf in leaves] == ([[0.0], [1.0]] if 0 in left else [[1.0], [0.0]])
    assert root["missing"] == ("left" if (4 in left) == (0 in left) else "right")
    # The middle of the bounds lies on the edge, and so in the lower cell.
    assert root["unknown"] == "left"


@pytest.mark.parametrize(("feature", "left"), [(AGE, []), (AGE, range(10)), (SORT, range(4))])
def test_a_split_that_parts_nothing_is_left_out(feature, left):
    assert one_split(feature, list(left)) == [{"values": [0.0 if left else 1.0]}]


@pytest.mark.parametrize("left", [[0, 2], [1], [1, 2], [0, 3]])
def test_cells_that_go_by_turns_are_refused(left):
    with pytest.raises(ModelFormatError, match="is no threshold"):
        one_split(PAY, left)


def test_what_is_missing_goes_with_the_unknown_where_it_is_no_value_of_its_own():
    # The middle of 0 to 9 lies on the edge of the cells 4 and 5.
    assert one_split(AGE, [0, 1, 2, 3, 4])[0]["missing"] == "left"
    assert one_split(AGE, [0, 1, 2, 3])[0]["missing"] == "right"
    assert one_split(HUE, [0, 3])[0] | {"left": 0, "right": 0} == {
        "feature": HUE, "categories": [0], "missing": "left", "unknown": "left",
        "left": 0, "right": 0,
    }  # fmt: skip
    # "other" is a category and what is unknown; the missing value has a code of its own.
    root = one_split(SORT, [2])[0]
    assert (root["categories"], root["unknown"], root["missing"]) == ([2], "left", "right")


@given(low=st.integers(0, 4), high=st.integers(0, 4))
def test_ranges_and_masks_say_the_same(low, high):
    if low > high:
        return
    feature = np.array([PAY], dtype=np.int32)
    ranged = RangedSplits(feature, np.array([low]), np.array([high]))
    bits = np.array([[sum(1 << code for code in range(low, high + 1))]], dtype=np.uint64)
    values = np.array([[[0.0], [1.0]]])

    def written(splits: Any) -> Any:
        try:
            return plain_trees([splits], values, FEATURES)
        except ModelFormatError as error:
            return str(error)

    assert written(ranged) == written(MaskedSplits(feature, bits))
