"""Clip of targets: one rule, which forests and curves ask with bounds of their own."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from dpforest.trees.curves.in_turn.settings import InTurnSettings
from dpforest.trees.refitted.settings import RefittedSettings
from dpforest.trees.scored.clips import clip_of_targets

LEAST, MOST = Fraction(1, 20), Fraction(1, 4)


def test_a_clip_grows_with_the_root_of_the_signal_between_its_bounds():
    assert clip_of_targets(0.0, 50.0, LEAST, MOST) == LEAST
    assert clip_of_targets(50.0, 50.0, LEAST, MOST) == LEAST
    assert clip_of_targets(4 * 50.0, 50.0, LEAST, MOST) == 2 * LEAST
    assert clip_of_targets(25 * 50.0, 50.0, LEAST, MOST) == MOST
    assert clip_of_targets(1e12, 50.0, LEAST, MOST) == MOST
    found = [clip_of_targets(10.0**power, 50.0, LEAST, MOST) for power in range(8)]
    assert all(one <= two for one, two in pairwise(found))


@pytest.mark.parametrize("signal", [0.0, 29.0, 31.0, 77.7, 480.0, 1234.5, 1e9])
def test_forests_and_curves_have_this_rule(signal):
    forests, curves = RefittedSettings(), InTurnSettings()
    for own, limit in ((forests, forests.clip_signal_of_means), (curves, curves.clip_strength)):
        bounds = own.clip_of_means, own.most_clip_of_means
        clip = own.clips(signal, 2, True) if own is forests else own.clips(signal, True)
        assert clip == clip_of_targets(signal, limit, *bounds)
