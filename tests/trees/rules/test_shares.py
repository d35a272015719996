"""Shares of records in the leaves of rules, against a slow twin that follows each cut by itself."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpforest.mechanisms.entropy import SeededSource
from dpforest.trees.rules import RuleModel, model, shares
from dpforest.trees.rules.directions import RuleNode
from dpforest.trees.rules.model import HARD_WEIGHT, STEEPNESS
from dpforest.trees.rules.offers import draw_directions
from dpforest.trees.rules.shares import FlatCuts, SoftCuts


def sides(node, codes, steepness):
    """Shares of records to the right of a cut, and who lies there."""
    values, width = node.direction.values(codes), node.direction.width
    distance = (values - node.threshold - 0.5) / width
    return 1.0 / (1.0 + np.exp(-steepness * distance)), values > node.threshold


def graded(rules, codes):
    """Shares of records in the leaves, shape (n, n_leaves)."""
    found = np.zeros((rules.labels.size, codes.shape[0]))

    def route(place, share, inside):
        if place >= len(rules.nodes):
            hard = HARD_WEIGHT * inside
            found[place - len(rules.nodes)] = (share + hard) / (1.0 + HARD_WEIGHT)
            return
        node = rules.nodes[place]
        if node is None:
            route(2 * place + 1, share, inside)
            return
        right, beyond = sides(node, codes, rules.steepness)
        route(2 * place + 1, share * (1 - right), inside & ~beyond)
        route(2 * place + 2, share * right, inside & beyond)

    route(0, np.ones(codes.shape[0]), np.ones(codes.shape[0], dtype=bool))
    return found.T


def log_odds(rules, codes):
    """Log-probabilities of records, in the blocks of the model."""
    return np.concatenate([
        np.log(graded(rules, codes[first : first + model._BLOCK]) @ rules.probabilities)
        for first in range(0, len(codes), model._BLOCK)
    ])  # fmt: skip


@pytest.fixture
def made(facts_of):
    """Trees by depth and classes, some of whose nodes do not cut, over features of all kinds."""
    facts = facts_of([64, -5, 9, -2, 300], 2, approximate_rows=9000)
    directions = draw_directions(facts, 30, 7, 40, 0.5, SeededSource(3)).members
    generator = np.random.default_rng(1)

    def make(depth, n_classes=2, share_of_none=0.1):
        nodes = []
        for _ in range(2**depth - 1):
            one = directions[generator.integers(len(directions))]
            node = RuleNode(one, int(generator.choice(one.thresholds)))
            nodes.append(None if generator.random() < share_of_none else node)
        table = generator.dirichlet(np.ones(n_classes), 2**depth)
        return RuleModel(tuple(nodes), table, table.argmax(axis=1), facts.n_features)

    return make, lambda n: np.column_stack(
        [generator.integers(0, int(k), n) for k in facts.n_codes]
    ).astype(np.uint16)


@pytest.mark.parametrize("n", [0, 1, 2, 40, 700])
@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_shares_are_those_of_the_twin(made, depth, n):
    make, codes_of = made
    for steepness in (STEEPNESS, 3.0, 1000.0):
        rules, codes = replace(make(depth), steepness=steepness), codes_of(n)
        with np.errstate(over="ignore"):
            expected = graded(rules, codes)
        assert rules._graded(codes).shape == expected.shape
        assert np.array_equal(rules._graded(codes), expected)


@pytest.mark.parametrize("share_of_none", [1.0, 0.6])
def test_nodes_that_do_not_cut_send_all_to_the_left(made, share_of_none):
    make, codes_of = made
    rules, codes = make(4, share_of_none=share_of_none), codes_of(60)
    assert np.array_equal(rules._graded(codes), graded(rules, codes))


def test_each_way_to_know_a_share_gives_the_same(made, monkeypatch):
    """By value, and for each record."""
    make, codes_of = made
    rules, codes = make(6), codes_of(2500)
    cuts, found = FlatCuts.of_nodes(rules.nodes), []
    for n, most in ((2500, shares._MOST_VALUES), (2500, 5000), (100, 5000), (1, 5000)):
        monkeypatch.setattr(shares, "_MOST_VALUES", most)
        soft = SoftCuts.of(cuts, rules.steepness, n)
        found.append((int(soft.by_value.sum()), soft.shares(codes, HARD_WEIGHT)))
    known = [n_known for n_known, _ in found]
    assert cuts.widths.size > known[0] > max(known[1:3]) and min(known[1:3]) > known[3] == 0
    assert all(np.array_equal(own, found[0][1]) for _, own in found)


def test_a_cut_that_many_nodes_have_is_followed_once(made):
    """Also where each has a copy of its own, as in a model that was read."""
    make, codes_of = made
    rules = make(3, share_of_none=0.0)
    one, other = rules.nodes[0], replace(rules.nodes[0], threshold=rules.nodes[0].threshold + 1)
    tables = tuple(table.copy() for table in one.direction.tables)
    copied = replace(one, direction=replace(one.direction, tables=tables))
    rules = replace(rules, nodes=(one, copied, other, None, one, other, copied))
    cuts, codes = FlatCuts.of_nodes(rules.nodes), codes_of(50)
    assert cuts.cut_of.tolist() == [0, 0, 1, -1, 0, 1, 0] and cuts.thresholds.size == 2
    assert np.array_equal(rules._graded(codes), graded(rules, codes))


@pytest.mark.parametrize(("depth", "n_classes"), [(3, 2), (10, 26), (12, 14)])
def test_predictions_are_bit_for_bit_those_of_whole_blocks(made, depth, n_classes, monkeypatch):
    """A run is long enough that a library adds its leaves up as those of a block.

    On one thread: of several, each has records of its own, and where they part depends on how many
    there are. Other libraries than OpenBLAS may add up otherwise.
    """
    monkeypatch.setattr(model, "_BLOCK", 1600)
    make, codes_of = made
    rules, codes = make(depth, n_classes), codes_of(1600 + 1023)
    with threadpool_limits(1):
        for n in (1, 2, 300, 511, 513, 1023, 1024, 1025, 1601, len(codes)):
            expected, scores = log_odds(rules, codes[:n]), rules.log_odds(codes[:n])
            if sys.platform == "linux":
                assert np.array_equal(scores, expected)
            assert np.allclose(scores, expected, rtol=1e-13, atol=0)


@pytest.mark.parametrize("n_leaves", [1, 8, 1024, 4096])
def test_runs_are_whole_and_none_is_short(n_leaves):
    size = max(512, 2**19 // n_leaves)
    for n in (1, size - 1, size, 2 * size - 1, 2 * size, 2**14):
        runs = model._runs(slice(7, 7 + n), n_leaves)
        assert [one.start for one in runs] == [7, *(one.stop for one in runs[:-1])]
        assert runs[-1].stop == 7 + n
        assert all(one.stop - one.start >= min(n, size) for one in runs)
        assert all(one.stop - one.start == size for one in runs[:-1])
