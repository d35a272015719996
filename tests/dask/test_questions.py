"""Countings as they are sent: each released step goes out once, and arrives whole."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpforest.dask.questions import PACKET, Questions, opened
from dpforest.records.base import MappedQuery
from dpforest.records.counts import ClassCounts
from dpforest.trees.random.trees import RandomTrees
from dpforest.trees.refitted.queries import LeafSums, ResidualLattice, Residuals, TreeMove
from dpforest.trees.scored.queries import ScoreHistory


class Here:
    """A client that runs what is submitted at once."""

    def submit(self, make, data, pure):
        return make(data)


def moves_of(n: int, seed: int = 0) -> list[TreeMove]:
    generator = np.random.default_rng(seed)
    trees = [
        RandomTrees(2, np.zeros((1, 3), np.int32), generator.integers(0, 9, (1, 3, 1), np.uint64))
        for _ in range(n)
    ]
    return [TreeMove(tree, generator.normal(size=(4, 1))) for tree in trees]


def question_of(moves: list[TreeMove]) -> LeafSums:
    scored, lattice = ScoreHistory(np.zeros(1), tuple(moves)), ResidualLattice.of(1, Fraction(1, 2))
    return LeafSums(Residuals(scored, lattice), moves_of(1, 9)[0].tree)


def same_moves(found: LeafSums, moves: list[TreeMove]) -> bool:
    pairs = zip(found.residuals.scored.moves, moves, strict=True)
    return all(
        np.array_equal(a.steps, b.steps) and np.array_equal(a.tree.mask, b.tree.mask)
        for a, b in pairs
    )


@pytest.mark.parametrize("n", [0, 1, PACKET - 1, PACKET, PACKET + 1, 3 * PACKET + 5])
def test_a_history_arrives_whole(n):
    moves, questions = moves_of(n), Questions(Here())
    for length in range(n + 1):
        question, packets = questions.sent(question_of(moves[:length]))
        assert len(packets) == length // PACKET
        assert same_moves(opened(question, packets), moves[:length])


def test_each_step_is_sent_a_bounded_number_of_times():
    moves, questions, sizes = moves_of(5 * PACKET), Questions(Here()), []
    for length in range(len(moves) + 1):
        question, _ = questions.sent(question_of(moves[:length]))
        sizes.append(len(question))
    whole = len(Questions(Here()).sent(question_of(moves[: PACKET - 1]))[0])
    assert max(sizes) < 1.1 * whole
    assert sizes[5 * PACKET] < 2 * sizes[PACKET] < whole


def test_another_history_is_not_taken_for_the_first():
    questions = Questions(Here())
    for seed in (1, 2):
        moves = moves_of(2 * PACKET, seed)
        assert same_moves(opened(*questions.sent(question_of(moves))), moves)
    mapped = MappedQuery(None, question_of(moves))
    found = opened(*questions.sent(mapped))
    assert same_moves(found.query, moves) and found.mapping is None
    assert isinstance(opened(*questions.sent(ClassCounts())), ClassCounts)
