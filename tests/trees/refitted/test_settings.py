"""Public rules of a refitted forest: clips by the signal, when it starts with curves, refusals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from dpforest.exceptions import ParameterError
from dpforest.trees import strategies
from dpforest.trees.refitted.settings import PureRefittedSettings, RefittedSettings, RefittedSize

OWN = RefittedSettings()
CLIPS = ("clip", "clip_of_much", "clip_of_means", "most_clip_of_means")
SIGNALS = (0.0, 1.0, 100.0, 1000.0, 1e5, 1e9, float("inf"))


def test_two_classes_are_cut_less_where_little_noise_is_left():
    for signal in SIGNALS:
        much = signal >= OWN.clip_signal
        assert OWN.clips(signal, 2, False) == (OWN.clip_of_much if much else OWN.clip)
        assert OWN.clips(signal, 3, False) == OWN.clip, "of more the clip stays"
    assert OWN.clips(OWN.clip_signal, 2, False) == OWN.clip_of_much > OWN.clip


def test_a_clip_of_means_grows_with_the_root_of_the_signal_between_its_ends():
    first = OWN.clip_signal_of_means
    low, most = OWN.clip_of_means, OWN.most_clip_of_means
    assert OWN.clips(0.0, 2, True) == OWN.clips(first, 2, True) == low
    assert OWN.clips(2.25 * first, 2, True) == Fraction(3, 2) * low
    assert OWN.clips(float(most / low) ** 2 * first, 2, True) == most
    assert OWN.clips(1e9, 2, True) == most
    found = [OWN.clips(10.0**power, 2, True) for power in range(10)]
    assert all(one <= two for one, two in pairwise(found))
    assert all(isinstance(clip, Fraction) for clip in found)


@pytest.mark.parametrize("signal", SIGNALS[:-1])
@pytest.mark.parametrize("n_classes", [2, 3, 26])
def test_every_clip_is_a_part_of_one(signal, n_classes):
    for of_means in (True, False):
        assert 0 < OWN.clips(signal, n_classes, of_means) <= 1


def test_a_regression_starts_with_curves_where_each_is_known():
    for n_features in (1, 4, 100):
        enough = OWN.curve_signal * n_features**0.5
        assert OWN.starts_with_curves(enough, n_features, True)
        assert not OWN.starts_with_curves(enough * 0.999, n_features, True)
        assert not OWN.starts_with_curves(1e9, n_features, False), "classes never do"


def test_in_pure_epsilon_noise_of_curves_adds_up_in_the_signal():
    pure = PureRefittedSettings()
    for n_features in (1, 4, 100):
        enough = pure.curve_signal * n_features
        assert pure.starts_with_curves(enough, n_features, True)
        assert not pure.starts_with_curves(enough * 0.999, n_features, True)
        assert not pure.starts_with_curves(1e9, n_features, False)
    assert not pure.starts_linearly(1e12, 2, 2), "never"
    own = RefittedSize(2, 3, 5)
    assert PureRefittedSettings(fixed_size=own).size(1e6, 1e6, 2) == own


def test_scores_of_two_classes_alone_are_scaled():
    assert OWN.scaled(2, False) == OWN.scale < 1
    assert OWN.scaled(3, False) == OWN.scaled(2, True) == 1.0


@pytest.mark.parametrize("name", [*CLIPS, "curve_share"])
@pytest.mark.parametrize("value", [Fraction(0), Fraction(-1, 2), Fraction(3, 2), float("nan")])
def test_parts_that_are_none_are_refused(name, value):
    with pytest.raises(ParameterError, match=name):
        RefittedSettings(**{name: value})


def test_a_clip_may_be_the_whole_but_a_share_may_not():
    assert all(getattr(RefittedSettings(**{name: Fraction(1)}), name) == 1 for name in CLIPS)
    with pytest.raises(ParameterError, match="curve_share=.*: must be above 0 and below "):
        RefittedSettings(curve_share=Fraction(1))


@pytest.mark.parametrize("name", ["prior_share", "quantile_share", "selection_share", "gram_share"])
@pytest.mark.parametrize("value", [Fraction(0), Fraction(-1, 10), Fraction(1)])
def test_shares_that_are_none_or_all_are_refused(name, value):
    with pytest.raises(ParameterError) as caught:
        RefittedSettings(**{name: value})
    assert caught.value.parameter == name


@pytest.mark.parametrize("value", [Fraction(-1, 10), Fraction(1), float("nan"), "all"])
def test_the_last_look_may_cost_nothing_but_not_all(value):
    with pytest.raises(ParameterError, match="confidence_share"):
        RefittedSettings(confidence_share=value)
    assert RefittedSettings(confidence_share=Fraction(0)).confidence_share == 0
    with pytest.raises(ParameterError, match="prior_share=.*which quantiles, a start and a look"):
        RefittedSettings(confidence_share=Fraction(9, 10))


def test_shares_that_leave_nothing_are_refused():
    with pytest.raises(ParameterError, match="prior_share"):
        RefittedSettings(prior_share=Fraction(3, 4))
    with pytest.raises(ParameterError, match="curve_share"):
        RefittedSettings(curve_share=Fraction(9, 10))


def test_the_rule_and_the_settings_know_one_limit_of_curves():
    assert OWN.curve_signal == strategies.CURVE_SIGNAL
    assert PureRefittedSettings().curve_signal == strategies.PURE_CURVE_SIGNAL


@pytest.mark.parametrize("n_classes", [2, 7])
def test_in_pure_epsilon_trees_grow_with_the_root_of_the_signal(n_classes):
    pure, times = PureRefittedSettings(), (n_classes / 2) ** 0.5
    n_rounds = [pure.size(times * level, 500, n_classes).n_rounds for level in (0, 1e4, 4e4, 1e9)]
    assert n_rounds == [pure.least_rounds, 20, 40, pure.most_rounds]
    assert pure.size(times * 1e4, 1e5, n_classes).n_candidates == 32
    depths = [pure.size(signal, 1e5, n_classes).depth for signal in (0.99e5, 1e5)]
    assert depths == [6, 8] and pure.size(1e5, 9_999, n_classes).depth == 6


def test_steps_in_pure_epsilon_add_up_to_the_root_of_their_number():
    pure = PureRefittedSettings()
    for n_rounds in (1, 4, 9, 64):
        whole = n_rounds * pure.step_of(n_rounds, False)
        assert whole == pytest.approx(pure.step * n_rounds**0.5)
    assert OWN.step_of(4, False) == OWN.step_of(60, True) == OWN.step


def test_a_regression_in_pure_epsilon_has_a_few_small_trees():
    pure = PureRefittedSettings()
    for signal, depth in ((0.0, 5), (0.99e4, 5), (1e4, 6), (1e9, 6)):
        size = pure.size(signal, 1e5, 2, of_means=True)
        assert size == replace(pure.target_size, depth=depth)
    assert pure.step_of(4, True) == pure.target_step
    assert pure.selection_of(True) == pure.target_selection_share != pure.selection_of(False)
    assert OWN.selection_of(True) == OWN.selection_of(False) == OWN.selection_share


@pytest.mark.parametrize(("name", "value"), [
    ("least_rounds", 0), ("most_rounds", 7), ("target_selection_share", Fraction(1)),
    ("target_selection_share", Fraction(-1, 2)), ("prior_share", Fraction(0)),
])  # fmt: skip
def test_pure_settings_without_a_meaning_are_refused(name, value):
    with pytest.raises(ParameterError) as caught:
        PureRefittedSettings(**{name: value})
    assert caught.value.parameter == name
