"""Features of pixels: by hand on small pictures, and within the bounds that are declared."""

from __future__ import annotations

import numpy as np
from papers.pixels import BOUNDS, LEVELS, POINTS, RADIUS, REACH, haralick, patterns
from papers.tables import mrf2020_segmentation as table

NAMES = ("second_moment", "contrast", "correlation", "entropy", "homogeneity", "mean", "variance",
         "deviation")  # fmt: skip
SIDE = 60


def features(grey):
    return dict(zip(NAMES, haralick(grey), strict=True))


def test_a_plain_picture_has_one_pair_of_levels():
    found = features(np.full((SIDE, SIDE), 100.0))
    wanted = (1, 0, 1, 0, 1, 100 * LEVELS // 256, 0, 0)
    for name, value in zip(NAMES, wanted, strict=True):
        assert np.allclose(found[name], value), name


def test_stripes_by_hand():
    """Columns of levels 0 and 7: half of the pairs lie side by side and differ by 7."""
    stripes = np.where(np.arange(SIDE) % 2 == 0, 0.0, 255.0)[None, :] * np.ones((SIDE, 1))
    found = {name: values[SIDE // 2, SIDE // 2] for name, values in features(stripes).items()}
    # Of 15 columns 8 begin a pair of one kind and 7 one of the other; pairs count both ways.
    first, second = 8 / 30, 7 / 30
    assert np.isclose(found["contrast"], 49 / 2)
    assert np.isclose(found["homogeneity"], 0.5 + 0.5 / 50)
    assert np.isclose(found["entropy"], -(
        0.5 * np.log(0.25) + first * np.log(first) + second * np.log(second)))  # fmt: skip
    assert np.isclose(found["second_moment"], 2 * 0.25**2 + first**2 + second**2)
    assert abs(found["mean"] - 3.5) < 0.2 and abs(found["correlation"]) < 0.05


def test_an_edge_is_a_uniform_pattern():
    """Beside an edge half of the circle is darker; a lone bright pixel has all of it darker."""
    edge = np.where(np.arange(SIDE) < SIDE // 2, 0.0, 200.0)[None, :] * np.ones((SIDE, 1))
    found = patterns(edge)
    middle = found[SIDE // 2, SIDE // 2]
    assert abs(middle - POINTS / 2) <= 2 and (found[:, SIDE // 2 - 1] == POINTS).all()
    lone = np.zeros((2 * RADIUS + 1, 2 * RADIUS + 1))
    lone[RADIUS, RADIUS] = 1.0
    assert patterns(lone)[RADIUS, RADIUS] == 0


def test_features_lie_within_their_public_bounds():
    grey = np.random.default_rng(0).uniform(0, 256, (SIDE, SIDE))
    grey[:REACH] = 0
    found = {"pattern": patterns(grey), **features(grey)}
    for name, values in found.items():
        low, high = BOUNDS[name]
        assert low <= values.min() and values.max() <= high, name


def test_without_tiles_there_are_no_tasks(tmp_path):
    assert list(table.tasks(tmp_path)) == []


def test_a_picture_is_kept_small_and_read_again():
    answer = (np.arange(400 * 400) // 7 % 3 == 0).astype(np.int64)
    shown = table._picture(table._kept(answer, (400, 400)))
    assert np.array_equal(shown, answer.reshape(400, 400)[::4, ::4])
