"""Every field of every settings class refuses what it cannot mean, in the library's own words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction
from importlib import import_module
from math import inf, nan
from pkgutil import walk_packages
from typing import Any

import pytest

import dpforest.trees
from dpforest.accounting.allocation import UniformAllocation
from dpforest.exceptions import ParameterError, ParameterTypeError
from dpforest.trees.boosted.settings import BoostedSettings, BoostedSize, PureSettings
from dpforest.trees.curves.at_once.settings import AtOnceSettings
from dpforest.trees.curves.in_turn.settings import CLIPS, COUNTS, SHARES, SIZES, InTurnSettings
from dpforest.trees.multinomial.criteria import GINI_COUNT_CRITERION
from dpforest.trees.multinomial.plan import ForestSettings
from dpforest.trees.one_shot.settings import OneShotSettings, OneShotSize
from dpforest.trees.refitted.settings import PureRefittedSettings, RefittedSettings, RefittedSize
from dpforest.trees.rules.settings import RulesSettings

HALF = Fraction(1, 2)
#: Of a wrong type wherever a number is wanted, and what no range holds.
NO_NUMBER = ("much", b"1", True, None, [1], 1j, nan, -inf)
# What each kind of field refuses.
COUNT = (*NO_NUMBER, 2.5, Fraction(3, 2), 2.0, inf, 0, -1)
COUNT_OR_NONE = (*NO_NUMBER, 2.5, 2.0, inf, -1)
PART = (*NO_NUMBER, inf, 0, 1, 1.0, -HALF, Fraction(3, 2), 3)
PART_OR_ALL = (*NO_NUMBER, inf, 0, 0.0, -HALF, Fraction(3, 2), 3)
SHARE = (*NO_NUMBER, inf, 1, -HALF, Fraction(3, 2), 3)
NUMBER = (*NO_NUMBER, inf, -0.1, 11)
UNIT = (*NO_NUMBER, inf, -0.1, 1.5)
SIZE = (*NO_NUMBER, inf, 0, 0.0, -1)
LIMIT = (*NO_NUMBER, -1, -0.5)
LIMIT_ABOVE = (*LIMIT, 0, 0.0)
NORM = ("much", True, nan, inf, 0, -1, 2.5, ())
FLAG = ("yes", 1, 0, None, nan, 2.5)
KIND = ("much", True, 2.5, 0, nan, (), ...)
NAME = ("much", True, 2.5, 0, nan, None, ())
NO_TUPLE = (*NO_NUMBER, 2.5, 0, -1, ("much",), (True,), (None,), (nan,), (-1,))
SEVERAL_COUNTS = (*NO_TUPLE, (), (0,), (2, 2.5))
SEVERAL_SIZES = (*NO_TUPLE, (), (0,), (1.0, inf))
SEVERAL_LIMITS = NO_TUPLE
TWO_LIMITS = (*NO_TUPLE, (), (1.0,), (2.0, 1.0), (1.0, 2.0, 3.0))
STEPS = (
    *NO_TUPLE, (), ((0.0,),), (("much", HALF),), ((0.0, "much"),), ((True, HALF),), ((0.0, True),),
    ((nan, HALF),), ((0.0, nan),), ((1.0, HALF),), ((0.0, 0),), ((0.0, -1),),
)  # fmt: skip

#: Second levels that are none, before a share or a clip that is fine.
LEVELS = tuple(((0.0, Fraction(1, 4)), (level, Fraction(1, 4))) for level in ("much", True, nan, 0))

AT_ONCE = {
    "prior_share": PART, "most_prior_share": PART, "mean_signal": SIZE,
    "determinant_share": (*PART, HALF), "clip": (*PART_OR_ALL, Fraction(3, 8), 2.0**-11),
    "determinant_shares_of_means": (*STEPS, *LEVELS, ((0.0, HALF),)),
    "clips_of_means": (*STEPS, *LEVELS, ((0.0, Fraction(3, 8)),)),
    "knots": (*STEPS, ((0.0, 1),), ((0.0, 2.5),)), "knots_of_means": (*STEPS, ((0.0, 2.5),)),
    "few_features": COUNT,
}  # fmt: skip
IN_TURN = {
    **dict.fromkeys(SHARES, (*PART, Fraction(1, 4))), **dict.fromkeys(CLIPS, PART_OR_ALL),
    **dict.fromkeys(COUNTS, COUNT), **dict.fromkeys(SIZES, SIZE),
    "factors": SEVERAL_SIZES, "line": UNIT, "norm_of_many": NORM,
}  # fmt: skip
ONE_SHOT = {
    **dict.fromkeys(("quantile_share", "histogram_share", "selection_share", "prior_share"), PART),
    **dict.fromkeys(("histogram_signal", "selection_signal", "target_histogram_signal"), LIMIT),
    **dict.fromkeys(("mean_signal", "expected_slope", "full_signal", "most_slope"), SIZE),
    "leaf_signal": LIMIT_ABOVE, "median_signals": TWO_LIMITS, "target_spread": (*SIZE, 1.5),
    "slope_classes": SIZE, "strength": SIZE, "max_bins": COUNT, "fixed_size": KIND,
}  # fmt: skip
RULES = {
    **dict.fromkeys(("n_sums", "n_sums_of_much", "n_sums_of_very_many"), COUNT),
    "most_weight": (*COUNT, 1001),
    **dict.fromkeys(("n_cuts", "n_cuts_of_very_many"), (*COUNT, 256)),
    **dict.fromkeys(("much_signal", "smallest_signal", "counted_signal", "second_signal"), LIMIT),
    **dict.fromkeys(("third_signal", "fourth_signal", "odds_signal", "few_rows"), LIMIT),
    **dict.fromkeys(("second_signal_of_several", "third_signal_of_several"), LIMIT),
    **dict.fromkeys(("shares_signal", "cells_signal"), LIMIT_ABOVE),
    **dict.fromkeys(("work", "pair_work", "pair_work_of_several"), LIMIT_ABOVE),
    **dict.fromkeys(("rare_odds", "rare_odds_of_much", "rare_odds_of_cell"), LIMIT_ABOVE),
    "further_signals_of_many": SEVERAL_LIMITS, "further_signals_of_very_many": SEVERAL_LIMITS,
    **dict.fromkeys(("count_share", "shares_share", "cells_share"), SHARE),
    "stop_share": (*SHARE, 0.51),
    "sum_share": UNIT, "near_share": UNIT, "stage_growth": SIZE, "rare_power": NUMBER,
    "steepness": SIZE, "steepness_of_many": SIZE,
}  # fmt: skip
BOOSTED_SIZE = {"depth": (*COUNT, 17), "n_rounds": COUNT, "wanted_depth": COUNT_OR_NONE}
BOOSTED = {
    **dict.fromkeys(("prior_share", "quantile_share", "selection_share", "node_share"), PART),
    **dict.fromkeys(("first_share", "correction_share", "confidence_share"), SHARE),
    **dict.fromkeys(("curve_share", "share_at_once"), PART),
    **dict.fromkeys(("clip", "clip_of_many", "clip_of_means"), PART_OR_ALL),
    **dict.fromkeys(("curvature", "curvature_of_many"), PART_OR_ALL),
    **dict.fromkeys(("mass", "mass_of_means", "weighted_curvature", "weighted_mass"), PART_OR_ALL),
    **dict.fromkeys(("downward", "node_downward", "step", "spread", "weighted_spread"), SIZE),
    "step_clip": SIZE, "correction_step": SIZE, "max_bins": COUNT, "weighted": FLAG,
    "curve_signal": LIMIT, "correction_times": COUNT_OR_NONE, "fixed_size": KIND,
    "curves": (*KIND, None), "curves_at_once": (*KIND, None), "norm_of_many": NORM,
}  # fmt: skip
REFITTED_SIZE = {"depth": (*COUNT, 17), "n_candidates": COUNT, "n_rounds": COUNT}
REFITTED = {
    **dict.fromkeys(("prior_share", "quantile_share", "start_share", "selection_share"), PART),
    **dict.fromkeys(("gram_share", "curve_share", "share_at_once"), PART),
    **dict.fromkeys(("clip", "clip_of_much", "clip_of_means", "most_clip_of_means"), PART_OR_ALL),
    **dict.fromkeys(("n_gradients", "max_bins", "trees_together"), COUNT),
    **dict.fromkeys(("max_start_columns", "learnt_trees", "correction_times"), COUNT_OR_NONE),
    **dict.fromkeys(("start_signal", "learnt_rows", "clip_signal", "curve_signal"), LIMIT),
    **dict.fromkeys(("step", "spread", "target_spread", "step_clip", "stretch"), SIZE),
    **dict.fromkeys(("stretch_of_many", "target_stretch", "scale"), SIZE),
    "clip_signal_of_means": LIMIT_ABOVE, "confidence_share": SHARE, "learnt_share": UNIT,
    "rare_share": UNIT, "own_curvature_of_means": FLAG,
    "features_per_tree": SEVERAL_COUNTS, "fixed_size": KIND, "curves": (*KIND, None),
    "curves_at_once": (*KIND, None), "norm_of_many": NORM,
}  # fmt: skip
#: What every field of every class refuses.
REFUSED: dict[type, dict[str, tuple[Any, ...]]] = {
    AtOnceSettings: AT_ONCE,
    InTurnSettings: IN_TURN,
    OneShotSize: {"n_trees": COUNT, "depth": (*COUNT, 21), "features_per_tree": SEVERAL_COUNTS},
    OneShotSettings: ONE_SHOT,
    RulesSettings: RULES,
    BoostedSize: BOOSTED_SIZE,
    BoostedSettings: BOOSTED,
    PureSettings: BOOSTED | {"curve_signal_of_classes": LIMIT, "curve_features": COUNT},
    RefittedSize: REFITTED_SIZE,
    RefittedSettings: REFITTED,
    PureRefittedSettings: REFITTED | {
        "rounds_per_root": SIZE, "least_rounds": COUNT, "most_rounds": COUNT, "deep_signal": LIMIT,
        "target_size": (*KIND, None), "target_deep_depth": (*COUNT, 17), "target_step": SIZE,
        "target_deep_signal": LIMIT, "target_selection_share": PART,
    },
    ForestSettings: {
        "n_trees": COUNT, "depth": COUNT, "allocation": (*KIND, None), "criterion": (*KIND, None),
        "draw": NAME, "joint": FLAG, "leaves": NAME,
        "partition": tuple(value for value in PART if value is not None),
    },
}  # fmt: skip
#: Fields that have no default.
NEEDED: dict[type, dict[str, Any]] = {
    OneShotSize: {"n_trees": 3, "depth": 2, "features_per_tree": (2,)},
    BoostedSize: {"depth": 3, "n_rounds": 4},
    RefittedSize: {"depth": 3, "n_candidates": 4, "n_rounds": 5},
    ForestSettings: {
        "n_trees": 2, "depth": 3, "allocation": UniformAllocation(),
        "criterion": GINI_COUNT_CRITERION,
    },
}  # fmt: skip


def made(kind: type, **changes: Any) -> Any:
    return kind(**(NEEDED.get(kind, {}) | changes))


def settings_classes() -> Iterator[type]:
    """Dataclasses of every settings.py under trees, and those called settings elsewhere."""
    for found in walk_packages(dpforest.trees.__path__, "dpforest.trees."):
        for thing in vars(import_module(found.name)).values():
            own = isinstance(thing, type) and thing.__module__ == found.name
            if not own or not is_dataclass(thing):
                continue
            if found.name.endswith(".settings") or thing.__name__.endswith("Settings"):
                yield thing


def test_every_class_and_every_field_is_covered():
    assert set(settings_classes()) == REFUSED.keys()
    for kind, refused in REFUSED.items():
        assert {field.name for field in fields(kind)} == refused.keys(), kind.__name__


CASES = [
    pytest.param(kind, name, value, id=f"{kind.__name__}-{name}-{value!r:.40}")
    for kind, refused in REFUSED.items()
    for name, values in refused.items()
    for value in values
]


@pytest.mark.parametrize(("kind", "name", "value"), CASES)
def test_what_has_no_meaning_is_refused_by_name(kind, name, value):
    with pytest.raises(ParameterError) as caught:
        made(kind, **{name: value})
    assert name in caught.value.parameter.replace("+", " ").split()
    if value == "much" and kind is not ForestSettings:
        assert type(caught.value) is ParameterTypeError


@pytest.mark.parametrize("kind", REFUSED, ids=lambda kind: kind.__name__)
def test_defaults_are_fine(kind):
    own = made(kind)
    assert kind(**{field.name: getattr(own, field.name) for field in fields(kind)}) == own


@pytest.mark.parametrize(("kind", "changes"), [
    (OneShotSettings, {"quantile_share": Fraction(9, 10)}),
    (OneShotSettings, {"histogram_share": Fraction(9, 10)}),
    (OneShotSettings, {"selection_share": Fraction(9, 10)}),
    (OneShotSettings, {"prior_share": Fraction(9, 10)}),
    (OneShotSettings, {"mean_signal": 150.0}),
    (OneShotSettings, {"leaf_signal": 100.0}),
    (OneShotSettings, {"target_histogram_signal": 100.0, "mean_signal": 125.0}),
    (RulesSettings, {"count_share": Fraction(9, 10)}),
    (RulesSettings, {"shares_share": Fraction(9, 10)}),
    (RulesSettings, {"cells_share": Fraction(3, 10)}),
    (BoostedSettings, {"selection_share": HALF, "node_share": HALF}),
    (BoostedSettings, {"quantile_share": Fraction(99, 100)}),
    (PureSettings, {"curve_share": Fraction(96, 100)}),
    (RefittedSettings, {"prior_share": Fraction(3, 4)}),
    (RefittedSettings, {"start_share": Fraction(9, 10)}),
    (PureRefittedSettings, {"share_at_once": Fraction(96, 100)}),
    (PureRefittedSettings, {"most_rounds": 7}),
])  # fmt: skip
def test_what_leaves_nothing_for_the_rest_is_refused(kind, changes):
    with pytest.raises(ParameterError):
        kind(**changes)


@pytest.mark.parametrize(("kind", "changes"), [
    (RulesSettings, {"cells_share": Fraction(0), "fourth_signal": inf, "few_rows": 0.0}),
    (RulesSettings, {"further_signals_of_many": (), "near_share": 0.0, "rare_odds": 1e9}),
    (RefittedSettings, {"start_signal": inf, "curve_signal": inf, "learnt_share": 0.0}),
    (RefittedSettings, {"clip": 1, "confidence_share": 0, "max_start_columns": 0}),
    (BoostedSettings, {"correction_share": 0, "correction_times": 0, "curve_signal": 0.0}),
    (OneShotSettings, {"most_slope": 1e6, "histogram_signal": inf, "leaf_signal": inf}),
    (InTurnSettings, {"line": 0, "cycles": 1, "clip": 1}),
    (AtOnceSettings, {"clip": 1, "knots": ((0, 2),)}),
])  # fmt: skip
def test_ends_of_ranges_are_fine(kind, changes):
    own = kind(**changes)
    assert {name: getattr(own, name) for name in changes} == changes
