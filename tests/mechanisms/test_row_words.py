"""Words by record number: the published test vector, and that blocks do not show."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dpforest.mechanisms.entropy import SeededSource, SystemSource
from dpforest.mechanisms.kernels.chacha import chacha20_block
from dpforest.mechanisms.row_words import RowWords


def test_the_block_function_gives_the_vector_of_rfc_8439():
    """Section 2.3.2: key 00 01 … 1f, counter 1, nonce 00:00:00:09:00:00:00:4a:00:00:00:00."""
    constants = np.frombuffer(b"expand 32-byte k", dtype="<u4")
    key = np.frombuffer(bytes(range(32)), dtype="<u4")
    rest = np.array([1, 0x09000000, 0x4A000000, 0], dtype=np.uint32)
    out = np.empty(16, dtype=np.uint32)
    chacha20_block(np.concatenate([constants, key, rest]).astype(np.uint32), out)
    assert out.astype("<u4").tobytes() == bytes.fromhex(
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )


def test_the_published_stream_of_a_key_of_noughts():
    """The first block under key, counter and nonce 0, of Bernstein's original layout."""
    found = RowWords((0,) * 8).words(0, 8).astype("<u8").tobytes()
    assert found.hex().startswith(
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    )


@pytest.mark.parametrize("first", [0, 1, 7, 8, 2**32 * 8 - 3])
def test_a_record_has_one_word_however_it_is_asked_for(first):
    rows = SeededSource(1).rows()
    together = rows.words(first, 40)
    assert [int(rows.words(first + i, 1)[0]) for i in range(40)] == together.tolist()
    cut = [rows.words(first, 5), rows.words(first + 5, 13), rows.words(first + 18, 22)]
    assert np.array_equal(np.concatenate(cut), together)
    assert np.unique(together).size == 40


def test_further_words_of_a_record_are_others():
    rows = SeededSource(1).rows()
    found = [rows.words(3, 20, number) for number in range(3)]
    assert np.array_equal(found[0], rows.words(3, 20))
    assert np.unique(found).size == 60
    assert [int(rows.words(3 + i, 1, 2)[0]) for i in range(20)] == found[2].tolist()


def test_a_key_holds_all_bits_of_four_words():
    assert SeededSource(5).rows().key == tuple(SeededSource(5).words(4).view(np.uint32).tolist())
    # Eight true numbers of 32 bits hold an equal pair with probability 1e-8.
    assert len(set(SystemSource().rows().key)) == 8


def test_keys_differ_and_are_not_shown():
    one, two = SystemSource().rows(), SystemSource().rows()
    assert one.key != two.key
    assert not np.array_equal(one.words(0, 4), two.words(0, 4))
    assert str(one.key[0]) not in repr(one)
    assert pickle.loads(pickle.dumps(one)).key == one.key


def test_words_are_uniform():
    """Bytes of 2^16 words: chi-square with 255 degrees, accepted below its 1e-9 quantile (429)."""
    counts = np.bincount(SeededSource(3).rows().words(5, 2**16).view(np.uint8))
    expected = 2**19 / 256
    assert ((counts - expected) ** 2 / expected).sum() < 429
