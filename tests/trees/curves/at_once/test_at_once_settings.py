"""Settings of curves at once: what has no proof or no sense is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpforest.exceptions import ParameterError
from dpforest.trees.curves.at_once.columns import MOST_KNOTS
from dpforest.trees.curves.at_once.settings import AtOnceSettings

ONE = Fraction(1)


@pytest.mark.parametrize(("name", "value", "said"), [
    ("prior_share", Fraction(0), "above 0 and below 1"),
    ("prior_share", ONE, "above 0 and below 1"),
    ("most_prior_share", Fraction(-1, 2), "above 0 and below 1"),
    ("mean_signal", 0.0, r"in \(0, 1e\+09\]"), ("mean_signal", float("inf"), r"in \(0, 1e\+09\]"),
    ("mean_signal", float("nan"), r"in \(0, 1e\+09\]"),
    ("clip", Fraction(3, 8), "a power of two"), ("clip", Fraction(2), "must be a number in"),
    ("clip", Fraction(1, 2**11), "must be a number in"),
    ("clip", Fraction(0), "must be a number in"),
    ("clips_of_means", ((0.0, Fraction(1, 3)),), "a power of two"),
    ("clips_of_means", (), "a tuple of 1 or more"),
    ("determinant_share", Fraction(1, 2), "below 1/2"), ("determinant_share", 0, "below 1/2"),
    ("determinant_shares_of_means", ((0.0, Fraction(1, 2)),), "below 1/2"),
    ("determinant_shares_of_means", ((0.0, Fraction(0)),), "below 1/2"),
    ("knots", ((0.0, 1),), "at least 2"), ("knots", ((1.0, 2),), "rise from 0"),
    ("few_features", 0, "must be at least 1"), ("knots_of_means", ((0.0, 1),), "at least 2"),
    ("knots_of_means", (), "a tuple of 1 or more"),
    ("knots", ((0.0, 2), (0.0, 3)), "rise from 0"),
    ("knots", ((0.0, 2), (9.0, 5), (4.0, 3)), "rise from 0"),
])  # fmt: skip
def test_what_is_taken_for_granted_is_checked(name: str, value: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=f"^{name}=.*{said}"):
        AtOnceSettings(**{name: value})


@pytest.mark.parametrize("clip", [Fraction(1, 2**k) for k in range(11)])
def test_every_power_of_two_is_a_clip(clip: Fraction) -> None:
    assert AtOnceSettings(clip=clip).clip_at(1.0, False) == clip
    assert AtOnceSettings(clips_of_means=((0.0, clip),)).clip_at(1.0, True) == clip


def test_steps_begin_at_their_level_and_hold_up_to_the_next() -> None:
    settings = AtOnceSettings()
    assert [settings.n_knots(x, 1, True) for x in (0.0, 11.99, 12.0, 1e9)] == [2, 2, 4, 9]
    assert [settings.n_knots(x, 1, False) for x in (29.99, 30.0, 249.9, 1e9)] == [2, 4, 7, 9]
    assert [settings.clip_at(level, True) for level in (0.0, 89.0, 90.0)] == [
        Fraction(1, 8), Fraction(1, 8), Fraction(1, 4),
    ]  # fmt: skip
    shares = [settings.determinant(level, True) for level in (0.0, 39.9, 40.0)]
    assert shares == [Fraction(1, 5), Fraction(1, 5), Fraction(3, 10)]
    assert settings.determinant(0.0, False) == settings.determinant(1e9, False) == Fraction(3, 20)


@pytest.mark.parametrize(("n_features", "starts"), [
    (30, (12, 25, 60, 200)), (60, (96, 200, 480, 1600)), (90, (324, 675, 1620, 5400)),
])  # fmt: skip
def test_curves_of_many_features_bend_later(n_features: int, starts: tuple[int, ...]) -> None:
    """A target's, by the cube of how many there are beyond 30; labels' as they did."""
    settings, knots = AtOnceSettings(), (2, 4, 5, 7, 9)
    for place, start in enumerate(starts):
        assert settings.n_knots(start * 0.99, n_features, True) == knots[place]
        assert settings.n_knots(start * 1.01, n_features, True) == knots[place + 1]
        assert settings.n_knots(start, n_features, False) == settings.n_knots(start, 1, False)


def test_what_is_quick_is_told_for_as_many_knots_as_there_may_be() -> None:
    settings = AtOnceSettings()
    assert max(n for _, n in (*settings.knots, *settings.knots_of_means)) <= MOST_KNOTS


def test_a_mean_gets_the_signal_that_it_is_to_have_within_bounds() -> None:
    settings = AtOnceSettings()
    assert settings.prior(0.0, True) == settings.prior(300.0, False) == Fraction(1, 20)
    assert settings.prior(300.0, True) == Fraction(1, 10)
    assert settings.prior(10.0, True) == Fraction(3, 10)
    assert settings.prior(1e6, True) == Fraction(1, 20)
