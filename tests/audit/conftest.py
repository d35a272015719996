"""Small learners for audits that fit some hundred times."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpforest.trees.additive.learner import AdditiveForest
from dpforest.trees.boosted.learner import BoostedForest
from dpforest.trees.boosted.settings import BoostedSettings, BoostedSize, PureSettings
from dpforest.trees.curves.in_turn.settings import InTurnSettings
from dpforest.trees.refitted.learner import RefittedForest
from dpforest.trees.refitted.settings import PureRefittedSettings, RefittedSettings, RefittedSize
from dpforest.trees.rules.learner import RulesLearner
from dpforest.trees.rules.settings import RulesSettings

# `support`, which tests here share.
sys.path.insert(0, str(Path(__file__).resolve().parent))

RULES = RulesLearner(
    RulesSettings(
        n_sums=6, n_sums_of_much=6, n_sums_of_very_many=6, n_cuts=3, n_cuts_of_very_many=3,
        further_signals_of_very_many=(3000.0,),
    )
)  # fmt: skip
HALF = Fraction(1, 2)
CURVES = InTurnSettings(
    cycles=2, pure_cycles=2, clip=HALF, clip_of_means=HALF, most_clip_of_means=HALF
)
QUICK = {
    "rules": RULES,
    "refitted": RefittedForest(
        RefittedSettings(fixed_size=RefittedSize(2, 2, 2), curves=CURVES),
        PureRefittedSettings(fixed_size=RefittedSize(2, 2, 2), curves=CURVES),
    ),
    # Two classes begin with curves of as few features as audits have.
    "boosted": BoostedForest(
        BoostedSettings(fixed_size=BoostedSize(2, 2)), PureSettings(curve_features=1)
    ),
    "additive": AdditiveForest(InTurnSettings(cycles=2, pure_cycles=2, clip=Fraction(1, 2))),
}


@pytest.fixture
def quick_learners(use_learners: Callable[[Mapping[str, Any]], None]) -> None:
    """Let private forests make small learners of the kinds that they would have made."""
    use_learners(QUICK)


@pytest.fixture(scope="session")
def quick_kinds() -> Mapping[str, Any]:
    """The same learners by name."""
    return QUICK
