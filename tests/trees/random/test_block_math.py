"""Exponentials and logarithms of blocks, beside the library's."""

from __future__ import annotations

import numpy as np

from dpforest.trees.random.kernels.block_math import exp_of, log_of


def test_exponentials_are_the_librarys():
    generator = np.random.default_rng(0)
    edges = [0.0, -0.0, -1e-300, 1.0, 700.0, -700.0, np.log(2) / 2, -np.log(2) / 2]
    values = np.concatenate(
        [generator.uniform(-700, 700, 9001), generator.normal(size=9000), edges]
    )
    expected = np.exp(values)
    exp_of(values, np.empty(values.size))
    np.testing.assert_allclose(values, expected, rtol=5e-14)


def test_what_is_far_below_is_next_to_nothing_and_never_negative():
    values = np.array([-701.0, -1e300, -np.inf, np.nan])
    exp_of(values, np.empty(4))
    assert (values > 0).all() and values.max() < 1e-303


def test_logarithms_are_the_librarys():
    generator = np.random.default_rng(1)
    edges = [1.0, 0.5**0.5, 2**0.5, 2.0, 3.0, 1e-307, 1e307, 1 - 2**-53, 1 + 2**-52]
    values = np.concatenate([np.exp(generator.uniform(-700, 700, 9001)), edges])
    expected = np.log(values)
    log_of(values, np.empty(values.size))
    np.testing.assert_allclose(values, expected, rtol=5e-16 * 8, atol=5e-14)


def test_a_result_does_not_depend_on_the_place_in_a_block():
    values = np.random.default_rng(2).uniform(0.1, 5.0, 37)
    for function in (exp_of, log_of):
        whole = values.copy()
        function(whole, np.empty(37))
        for place in range(37):
            alone = values[place : place + 1].copy()
            function(alone, np.empty(1))
            assert alone[0] == whole[place]
