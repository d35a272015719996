"""Small learners for audits that fit some hundred times."""

from __future__ import annotations

from typing import Any

import pytest

from dpforest.learners.combined.learner import CombinedLearner
from dpforest.learners.combined.plan import CombinedSettings
from dpforest.learners.refitted.learner import RefittedForest
from dpforest.learners.refitted.settings import RefittedSettings, Size
from dpforest.learners.registry import LEARNERS, Entry
from dpforest.learners.rules.learner import RulesLearner
from dpforest.learners.rules.settings import RulesSettings

RULES = RulesLearner(RulesSettings(n_sums=6, n_cuts=3))
QUICK = {
    "rules": RULES,
    "combined": CombinedLearner(CombinedSettings(weights=(0.0, 1.0), rules=RULES)),
    "refitted": RefittedForest(RefittedSettings(fixed_size=Size(2, 2, 2))),
}


@pytest.fixture
def quick_learners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let private forests make small learners of the kinds that they would have made."""
    make = Entry.make

    def make_small(entry: Entry) -> Any:
        name = next(name for name, other in LEARNERS.items() if other == entry)
        return QUICK[name] if name in QUICK else make(entry)

    monkeypatch.setattr(Entry, "make", make_small)
