"""Every variant gives shares of classes, and the same ones from the same seed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import variants

from dpforest.records.table import Table
from dpforest.trees.base import TableFacts
from dpforest.trees.refitted.settings import RefittedSettings
from dpforest.trees.rules import probabilities


def run_of_three_features(seed=3):
    generator = np.random.default_rng(0)
    sizes, ordered = np.array([8, 3, 5]), np.array([True, False, True])
    codes = np.column_stack([generator.integers(0, n, 300) for n in sizes]).astype(np.uint8)
    scaled = tuple(np.linspace(0, 1, n) if o else None for n, o in zip(sizes, ordered, strict=True))
    facts = TableFacts(sizes, ordered, np.zeros(3, bool), scaled, 3, 300.0)
    labels = (codes[:, 0] // 3).astype(np.uint8)
    table = Table(codes, labels, sizes, facts.offsets, ordered, 3)
    return variants.Run(table, codes[:20], facts, Fraction(2), seed)


@pytest.mark.parametrize("name", variants.VARIANTS)
def test_a_variant_gives_shares_of_classes(name):
    one, two = (variants.VARIANTS[name](run_of_three_features()) for _ in range(2))
    assert np.allclose(np.exp(one).sum(axis=1), 1) and np.array_equal(one, two)


def test_variants_are_what_their_names_say():
    run = run_of_three_features()
    found = {name: make(run) for name, make in variants.VARIANTS.items()}
    assert len({values.tobytes() for values in found.values()}) == len(found)
    assert probabilities.SHARPENING > 1
    assert np.ptp(found["refitted, not stretched"]) < np.ptp(found["refitted"])
    sizes = [s.size(500, 300, 3).n_rounds for s in (RefittedSettings(), variants.Halved())]
    assert sizes[0] == 2 * sizes[1]
