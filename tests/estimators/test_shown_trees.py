"""Rules and trees as text and as plots: what they say is what the plain form does."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from dpforest import (
    Domain,
    MultinomialForestClassifier,
    ParameterError,
    PrivateForestClassifier,
    PrivateForestRegressor,
)
from dpforest.exceptions import MissingExtraError
from dpforest.plain.reader import PlainModel, _side
from dpforest.plain.rule_words import rule_words
from dpforest.plain.shown import shown_tree

FEATURES = {
    "age": (0, 100),
    "kind": {"categories": ["a", "b", "c"], "missing": True},
    "n": {"lower": 0, "upper": 5, "integer": True, "missing": True},
    "joined": {"categories": ["x", "rest", "$y$"], "other": "rest"},
}
TREES = [("one_shot", 0), ("refitted", 1e-6), ("boosted", 1e-6),
         ("multinomial", 0)]  # fmt: skip
N = 1500


def records(n=N):
    generator = np.random.default_rng(0)
    X = [[int(a), "abc"[k], int(m), ["x", "rest", "$y$"][j]] for a, k, m, j in zip(
        generator.integers(0, 101, n), generator.integers(0, 3, n), generator.integers(0, 6, n),
        generator.integers(0, 3, n), strict=True)]  # fmt: skip
    return X, ["yes" if (row[0] > 50) ^ (row[1] == "a") else "no" for row in X]


def fitted(strategy, delta=0, epsilon=3):
    domain = Domain(features=FEATURES, classes=["yes", "no"], approximate_rows=N)
    given = {"epsilon": epsilon, "delta": delta, "domain": domain, "random_state": 1}
    if strategy == "multinomial":
        return MultinomialForestClassifier(**given, n_estimators=10).fit(*records())
    return PrivateForestClassifier(**given, strategy=strategy).fit(*records())


@pytest.fixture(scope="module")
def rules():
    return fitted("rules", epsilon=10)


ODD = [[7, None, None, "x"], [93, "z", 3, "rest"], [50, "a", None, "elsewhere"]]


def holds(condition, name, value):
    """Whether a condition of one feature holds, read as a person would."""
    assert condition.startswith(name + " ") or condition == f"{name}: nothing"
    said = condition.removeprefix(name).strip()
    if said in (": nothing", "is nothing"):
        return False
    declared = FEATURES[name]["categories"] if name in ("kind", "joined") else []
    if name == "joined" and value not in declared:
        value = "rest"
    for part in said.split(" or "):
        word, _, bound = part.removeprefix("is ").partition(" ")
        if word == "missing" or value is None:
            if word == "missing" and value is None:
                return True
        elif declared:
            if part.removeprefix("is ") == (value if value in declared else "any other"):
                return True
        elif part != "nothing" and is_so(word, bound, value):
            return True
    return False


def is_so(word, bound, value):
    """Whether a number meets one part of a condition."""
    if word == "any":
        return True
    if word == "in":
        return within(bound, value)
    return value <= float(bound) if word == "<=" else value > float(bound)


def within(interval, value):
    low, high = map(float, interval.strip("(]").split(", "))
    return low < value <= high


def check_tree(content, tree, plain_nodes, goes_left):
    """Each record meets one of the two conditions of every node on its way: that of its side."""
    names = [feature["name"] for feature in content["features"]]
    seen = 0
    for record in [*records(40)[0], *ODD]:
        place = 0
        while tree.nodes[place].left is not None:
            node, plain = tree.nodes[place], plain_nodes[place]
            left = goes_left(plain, record)
            if " (" not in node.left_if.split(" or ")[0] or "in (" in node.left_if:
                name = node.left_if.split()[0].rstrip(":")
                value = record[names.index(name)]
                assert holds(node.left_if, name, value) == left, (node, record)
                assert holds(node.right_if, name, value) != left, (node, record)
                seen += 1
            place = node.left if left else node.right
        assert ("values" in plain_nodes[place]) or ("probabilities" in plain_nodes[place])
    return seen


@pytest.mark.parametrize(("strategy", "delta"), TREES)
def test_every_tree_says_where_a_record_goes(strategy, delta):
    forest = fitted(strategy, delta)
    content = json.loads(forest.to_plain())
    score = content["score"]
    number = len(score["trees"]) - 1
    tree = shown_tree(content, forest.domain_.features, number)
    assert len(tree.nodes) == len(score["trees"][number]) > 1

    model = PlainModel(content)

    def goes_left(node, record):
        return _side(node, model._read(record)[node["feature"]]) == "left"

    assert check_tree(content, tree, score["trees"][number], goes_left) > 40
    text = forest.export_text(number)
    assert text.startswith(f"tree {number} of {len(score['trees'])}")
    leaves = [line for line in text.splitlines() if "|--- adds " in line]
    assert len(leaves) == sum("values" in node for node in score["trees"][number])
    with pytest.raises(ParameterError, match=f"has {number + 1} trees"):
        forest.export_text(number + 1)


def test_rules_are_shown_with_their_sums(rules):
    content = json.loads(rules.to_plain())
    tree = shown_tree(content, rules.domain_.features, None)
    text = rules.export_text()
    n_leaves = sum("probabilities" in node for node in content["score"]["nodes"])
    leaves = [line.split("|--- ")[1] for line in text.splitlines()
              if "|--- yes: " in line or "|--- no: " in line]  # fmt: skip
    assert len(leaves) == n_leaves > 1 and text.startswith("rules\n")
    # In the order of ``classes_``, with shares that the file has.
    first = next(node for node in content["score"]["nodes"] if "probabilities" in node)
    shown = f"no {first['probabilities'][0]:.3g}, yes {first['probabilities'][1]:.3g}"
    assert any(leaf.endswith(shown) for leaf in leaves)
    sums = {note.split(" adds:")[0] for note in tree.notes if " adds:" in note}
    used = {node.left_if.split(" (")[0] for node in tree.nodes if node.left_if.startswith("sum ")}
    assert sums == used
    assert "age" in text and "age" in rules.export_text(max_depth=1)
    with pytest.raises(ParameterError, match="one tree of rules"):
        rules.export_text(0)


def test_sums_are_named_by_what_moves_them_with_their_signs():
    features = Domain(features={"age": (0, 9), "pay": (0, 9), "kind": ["x", "y"]}).features
    known = [{"edges": [3, 6]}, {"edges": [5]}, {"categories": ["x", "y"]}]

    def words_of(*places):
        tables = [{"feature": place, "places": own[:-1], "unknown": own[-1], "missing": own[-1]}
                  for place, own in enumerate(places)]  # fmt: skip
        sums = {}
        left, _ = rule_words({"sum": tables, "threshold": 7}, known, features, sums)
        return left, *sums

    left, note = words_of([0, 500, 1000, 0], [-9, 0, 0], [0, 0, 0])
    assert left == "sum 1 (age - pay) <= 7" and "kind 0 whatever it is" in note
    assert words_of([0, -5, -9, 0], [0, 9, 0], [0, -9, 0])[0] == "sum 1 (- age + pay - kind) <= 7"
    assert words_of([1, 1, 1, 1], [2, 2, 2], [0, 0, 0])[0] == "sum 1 (the same for all) <= 7"
    # What is not declared moves a sum too.
    assert words_of([0, 1, 2, 0], [2, 2, 2], [0, 0, 9])[0] == "sum 1 (age + kind) <= 7"


def test_single_cuts_of_rules_say_where_a_record_goes(rules):
    content = json.loads(rules.to_plain())
    tree = shown_tree(content, rules.domain_.features, None)
    model = PlainModel(content)

    def goes_left(node, record):
        read = model._read(record)
        return sum(model._entry(table, read) for table in node["sum"]) <= node["threshold"]

    assert check_tree(content, tree, content["score"]["nodes"], goes_left) > 40


def test_the_number_of_splits_can_be_bounded(rules):
    for depth, lines in ((0, 1), (1, 4)):
        shown = [
            line for line in rules.export_text(max_depth=depth).splitlines() if "|--- " in line
        ]
        assert len(shown) == lines and "not shown" in shown[-1]
    with pytest.raises(ParameterError, match="max_depth"):
        rules.export_text(max_depth=-1)


@pytest.mark.parametrize("wrong", [-1, 1.5, "0"])
def test_a_tree_is_a_number(wrong, rules):
    with pytest.raises((ParameterError, TypeError)):
        rules.export_text(wrong)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_curves_have_no_trees_and_point_to_explain(delta):
    forest = fitted("additive", delta)
    for show in (forest.export_text, forest.plot_tree):
        with pytest.raises(ParameterError, match=r"sum of curves.*explain\(\)"):
            show()


def test_a_regression_says_what_its_leaves_add():
    X, _ = records()
    domain = Domain(features=FEATURES, target=(0, 10), approximate_rows=N)
    given = {"domain": domain, "random_state": 1, "epsilon": 5}
    trees = PrivateForestRegressor(strategy="refitted", delta=1e-6, **given)
    text = trees.fit(X, [row[0] / 10 for row in X]).export_text(0, max_depth=None)
    assert "adds " in text and "the target's place between its bounds" in text
    means = PrivateForestRegressor(strategy="rules", **given)
    text = means.fit(X, [row[0] / 10 for row in X]).export_text()
    shown = [float(line.split("mean ")[1]) for line in text.splitlines() if "|--- mean " in line]
    assert shown and all(0 <= mean <= 10 for mean in shown)


def test_lattices_and_labels_are_shown():
    X, y = records(300)
    domain = Domain(features=FEATURES, classes=["yes", "no"])
    forest = MultinomialForestClassifier(
        epsilon=5, domain=domain, thresholds="lattice", leaves="label", n_estimators=2,
        max_depth=2, random_state=0,
    )  # fmt: skip
    assert "adds to the votes of each class" in forest.fit(X, y).export_text(1)


def test_one_tree_is_drawn(rules):
    pytest.importorskip("matplotlib")
    for forest, depth in ((rules, 2), (fitted("one_shot"), None)):
        figure = forest.plot_tree(max_depth=depth)
        texts = [text.get_text() for text in figure.axes[0].texts]
        assert texts.count("yes") == texts.count("no") == (len(texts) - 1) / 4
        figure.draw_without_rendering()  # a dollar sign in a category is no formula


def test_a_missing_extra_is_named(rules, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="plots"):
        rules.plot_tree()
