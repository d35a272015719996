"""The ChaCha20 block function (Bernstein 2008; RFC 8439), for words that are indexed by record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpforest.kernels.compiling import kernel


@kernel(forceinline=True)
def _rotated(word: np.uint32, bits: int) -> np.uint32:
    return np.uint32((word << np.uint32(bits)) | (word >> np.uint32(32 - bits)))


@kernel(forceinline=True)
def _quarter_round(state: NDArray, a: int, b: int, c: int, d: int) -> None:
    state[a] += state[b]
    state[d] = _rotated(state[d] ^ state[a], 16)
    state[c] += state[d]
    state[b] = _rotated(state[b] ^ state[c], 12)
    state[a] += state[b]
    state[d] = _rotated(state[d] ^ state[a], 8)
    state[c] += state[d]
    state[b] = _rotated(state[b] ^ state[c], 7)


@kernel()
def chacha20_block(start: NDArray, out: NDArray) -> None:
    """One block of key stream.

    Parameters
    ----------
    start : uint32 array of shape (16,)
        Constants, key, counter and nonce.
    out : uint32 array of shape (16,), overwritten
    """
    for i in range(16):
        out[i] = start[i]
    for _ in range(10):
        _quarter_round(out, 0, 4, 8, 12)
        _quarter_round(out, 1, 5, 9, 13)
        _quarter_round(out, 2, 6, 10, 14)
        _quarter_round(out, 3, 7, 11, 15)
        _quarter_round(out, 0, 5, 10, 15)
        _quarter_round(out, 1, 6, 11, 12)
        _quarter_round(out, 2, 7, 8, 13)
        _quarter_round(out, 3, 4, 9, 14)
    for i in range(16):
        out[i] += start[i]


@kernel()
def row_words(key: NDArray, first: int, number: int, out: NDArray) -> None:
    """Words of rows ``first … first + n - 1``: eight rows share a block, counted in 64 bits.

    Parameters
    ----------
    key : uint32 array of shape (8,)
    first, number : int
        Which row, and which word of each: the number is in place of the nonce.
    out : uint64 array of shape (n,), overwritten
    """
    start = np.empty(16, np.uint32)
    start[0], start[1] = np.uint32(0x61707865), np.uint32(0x3320646E)
    start[2], start[3] = np.uint32(0x79622D32), np.uint32(0x6B206574)
    start[4:12] = key
    start[12:] = np.uint32(0)
    start[14] = np.uint32(number)
    block = np.empty(16, np.uint32)
    at = -1
    for i in range(out.size):
        row = first + i
        if row >> 3 != at:
            at = row >> 3
            start[12] = np.uint32(at & 0xFFFFFFFF)
            start[13] = np.uint32(at >> 32)
            chacha20_block(start, block)
        low = np.uint64(block[2 * (row & 7)])
        out[i] = low | (np.uint64(block[2 * (row & 7) + 1]) << np.uint64(32))
