"""Sources of random words: each word once, streams apart, nothing kept."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

from dpforest.exceptions import ParameterError, ParameterTypeError
from dpforest.mechanisms.entropy import (
    _BLOCK,
    FixedWords,
    SeededSource,
    SystemSource,
    make_source,
)


@pytest.mark.parametrize("source", [SystemSource(), SeededSource(5), FixedWords(range(9000))])
@pytest.mark.parametrize("n", [0, 1, 7, 4500])
def test_words_are_an_array_of_the_callers_own(source, n):
    words = source.words(n)
    assert words.shape == (n,)
    assert words.dtype == np.uint64
    assert words.flags.writeable


def test_system_words_never_repeat_across_blocks():
    source = SystemSource()
    taken = np.concatenate([source.words(n) for n in [1000] * 20 + [_BLOCK, 3 * _BLOCK, 5]])
    # Among 37,000 true 64-bit words a repetition has probability 4e-11.
    assert np.unique(taken).size == taken.size


def test_system_words_are_uniform_in_every_byte():
    octets = SystemSource().words(200_000).view(np.uint8).reshape(-1, 8)
    for column in octets.T:
        assert stats.chisquare(np.bincount(column, minlength=256)).pvalue > 1e-10


@pytest.mark.parametrize("n", [1, 300, _BLOCK, 2 * _BLOCK + 1])
def test_system_words_are_the_operating_systems_bytes_and_nothing_else(n, monkeypatch):
    asked = []

    def urandom(size):
        asked.append(np.random.default_rng(size).bytes(size))
        return asked[-1]

    monkeypatch.setattr(os, "urandom", urandom)
    words = SystemSource().words(n)
    assert len(asked) == 1
    assert words.tobytes() == asked[0][: 8 * n]


def test_system_words_that_were_handed_out_are_wiped():
    source = SystemSource()
    source.words(100)
    assert not source._block[:100].any()


def test_forked_process_does_not_hand_out_its_parents_block(monkeypatch):
    source = SystemSource()
    source.words(1)
    parents = source._block.copy()
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert not np.isin(source.words(100), parents).any()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forked_process_of_the_same_number_does_not_hand_out_its_parents_block(monkeypatch):
    # As in a PID namespace of its own, or where an ended ancestor's number is given out again.
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here)
    source = SystemSource()
    source.words(1)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, source.words(100).tobytes())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    taken = np.frombuffer(os.read(reading, 800), dtype=np.uint64)
    os.close(reading), os.close(writing)
    assert taken.size == 100
    assert not np.isin(taken, source.words(100)).any()


@pytest.mark.parametrize("stop", range(1, 11))
def test_interrupted_system_source_hands_out_neither_wiped_words_nor_any_twice(stop):
    code, lines = SystemSource.words.__code__, []

    def interrupt(frame, event, _):
        if frame.f_code is not code:
            return None
        if event == "line":
            lines.append(frame.f_lineno)
            if len(lines) == stop:
                raise KeyboardInterrupt
        return interrupt

    source = SystemSource()
    source.words(1)
    unused = source._block[1:].copy()
    before = sys.gettrace()
    sys.settrace(interrupt)
    try:
        source.words(100)
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    # An interrupt just before the lock is given back leaves it held: then nothing is handed out.
    if not source._lock.locked():
        words = source.words(50)
        assert words.all()
        assert np.isin(words, unused).all()


def test_threads_share_a_system_source_without_sharing_words():
    source = SystemSource()
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda _: source.words(17), range(2000)))
    taken = np.concatenate(parts)
    assert np.unique(taken).size == taken.size


def test_threads_never_share_words_however_they_take_turns():
    # Every line of it waits for the others, so that without a lock all would have counted first.
    code = SystemSource.words.__code__

    def at_every_line(frame, event, _):
        if frame.f_code is not code:
            return None
        if event == "line":
            time.sleep(0.002)
        return at_every_line

    def words(_):
        sys.settrace(at_every_line)
        try:
            return source.words(17)
        finally:
            sys.settrace(None)

    source = SystemSource()
    source.words(1)
    with ThreadPoolExecutor(4) as pool:
        taken = np.concatenate(list(pool.map(words, range(4))))
    assert np.unique(taken).size == taken.size
    assert taken.all()


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_copy_of_a_system_source_is_a_fresh_one(duplicate):
    source = SystemSource()
    source.words(1)
    other = duplicate(source)
    assert other._block.size == 0
    assert source._block[1:].tobytes() not in pickle.dumps(source)
    assert not np.isin(other.words(50), source.words(50)).any()


@pytest.mark.parametrize("source", [SeededSource(1), FixedWords([1])])
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_seeded_sources_cannot_be_copied(source, duplicate):
    with pytest.raises(ParameterTypeError, match="a copy would hand out the same words again"):
        duplicate(source)


def test_seeded_words_do_not_depend_on_how_they_are_asked_for():
    whole = SeededSource(11).words(10)
    source = SeededSource(11)
    assert np.array_equal(whole, np.concatenate([source.words(3), source.words(7)]))


def test_seeded_words_are_the_same_on_every_version():
    # A forest fitted with a random_state should be the same tomorrow.
    assert SeededSource(0).words(2).tolist() == [9921654995567266813, 5240852130247873238]


def test_spawned_streams_depend_on_seed_and_path_alone():
    first, second = SeededSource(3), SeededSource(3)
    first.words(100)
    first.spawn("tree", 0)
    assert np.array_equal(first.spawn("tree", 1).words(5), second.spawn("tree", 1).words(5))


def test_spawned_streams_differ():
    root = SeededSource(3)
    streams = [
        root,
        SeededSource(4),
        root.spawn(1),
        root.spawn("1"),
        root.spawn(1, 2),
        root.spawn(12),
        root.spawn(2).spawn(1),
    ]
    taken = np.concatenate([stream.words(100) for stream in streams])
    assert np.unique(taken).size == taken.size


def test_key_cannot_be_spawned_twice():
    source = SeededSource(3)
    source.spawn("tree", 1)
    with pytest.raises(ParameterError, match="used before, so its words would repeat") as caught:
        source.spawn("tree", 1)
    assert caught.value.parameter == "key"


def test_fixed_words_run_out_with_an_error():
    source = FixedWords([1, 2, 3])
    assert source.words(2).tolist() == [1, 2]
    assert source.used == 2
    with pytest.raises(ParameterError, match="only 1 fixed words are left"):
        source.words(2)
    assert source.spawn("same").words(1).tolist() == [3]


def test_no_random_state_means_the_operating_system():
    source = make_source(None)
    assert isinstance(source, SystemSource)
    assert isinstance(source.spawn("tree"), SystemSource)
    assert not source.seeded
    assert "os.urandom" in source.describe()


@pytest.mark.parametrize(
    "state",
    [
        lambda: 7,
        lambda: np.int64(7),
        lambda: np.random.default_rng(7),
        lambda: np.random.RandomState(7),
    ],
)
def test_random_state_gives_the_same_words_again(state):
    first, second = make_source(state()), make_source(state())
    assert first.seeded
    assert np.array_equal(first.words(8), second.words(8))


def test_generator_given_twice_gives_other_words():
    generator = np.random.default_rng(7)
    assert not np.array_equal(make_source(generator).words(8), make_source(generator).words(8))


def test_source_is_taken_as_it_is():
    source = FixedWords([1])
    assert make_source(source) is source


def test_description_does_not_hold_the_seed():
    assert "987654" not in make_source(987654).describe()
    assert "demonstration" in make_source(987654).describe()


@pytest.mark.parametrize("state", [True, 1.5, "seed", [1]])
def test_random_state_of_another_kind_is_refused(state):
    with pytest.raises(
        ParameterTypeError, match="must be None, an int, a numpy Generator"
    ) as caught:
        make_source(state)
    assert caught.value.parameter == "random_state"


def test_negative_random_state_is_refused():
    with pytest.raises(ParameterError, match="must not be negative"):
        make_source(-1)
