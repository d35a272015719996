"""Words beside a boundary of the geometric law are not decided by the rounding of doubles."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from dpforest.mechanisms.entropy import SystemSource
from dpforest.mechanisms.kernels import noise as kernels
from dpforest.mechanisms.noise import geometric_constant
from dpforest.mechanisms.slow import finish_two_sided_geometric


def boundary(a: float, m: int) -> int:
    """The largest v of 63 bits of which |k| >= m, up to one: V <= 2 e^(-a m) / (1 + e^-a)."""
    with localcontext() as context:
        context.prec = 60
        share = 2 * (-Decimal(a) * m).exp() / (1 + (-Decimal(a)).exp())
        return int(share * 2**63)


@pytest.mark.parametrize("m", [1, 2, 7])
@pytest.mark.parametrize("a", [1e-9, 1e-6, 1e-3])
def test_a_word_near_a_boundary_is_decided_as_the_exact_law_says_or_left_open(a, m):
    # Near 2^63 a word is rounded by up to 512 before its logarithm is taken.
    places = [boundary(a, m) + step for step in range(-1500, 1500, 7)]
    words = np.array([2 * place for place in places], dtype=np.uint64)
    drawn = np.empty(words.size, dtype=np.int64)
    kernels.two_sided_geometric_values(a, geometric_constant(a), words, drawn)
    decided = drawn != kernels.UNDECIDED
    for word, value in zip(words[decided].tolist(), drawn[decided].tolist(), strict=True):
        assert value == finish_two_sided_geometric(a, word, SystemSource())
    assert not decided[places.index(boundary(a, m) - 1500 + 7 * 214)]
