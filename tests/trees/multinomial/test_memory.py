"""Memory for levels: what is handed out is as large as asked, and never the level above's."""

import threading

import numpy as np
import pytest

from dpforest.trees.multinomial.memory import LevelMemory, new_counts

SHAPES = [(2, 5, 3), (4, 5, 3), (8, 5, 3)]


@pytest.mark.parametrize("room", [new_counts, LevelMemory()], ids=["new", "again"])
@pytest.mark.parametrize("tree", range(2))
def test_a_level_and_the_one_above_share_nothing(room, tree):
    above = room((1, 5, 3))
    for shape in SHAPES:
        above[:] = 7
        counts = room(shape)
        assert counts.shape == shape
        assert counts.dtype == np.int32
        counts[:] = -1
        assert (above == 7).all()
        above = counts


def test_the_second_tree_takes_no_new_memory():
    room = LevelMemory()
    first = [room(shape) for shape in SHAPES]
    second = [room(shape) for shape in SHAPES]
    assert all(map(np.shares_memory, first[1:], second[1:]))
    assert np.shares_memory(second[0], second[2])


def test_threads_share_nothing():
    room, made = LevelMemory(), []
    threads = [threading.Thread(target=lambda: made.append(room((4, 5, 3)))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not np.shares_memory(*made)
