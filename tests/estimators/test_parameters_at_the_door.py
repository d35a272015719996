"""Parameters are read once, at the door of a fit: what is set meanwhile is of the next fit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpforest import BudgetAccountant, Domain, PrivateForestClassifier, verify_report
from dpforest.estimators import door
from dpforest.estimators.door import Door
from dpforest.estimators.fitting import Fit
from dpforest.estimators.training import Training

DOMAIN = Domain(features={"u": (0, 1), "v": (0, 1)}, classes=["n", "y"], approximate_rows=200)
OTHER = Domain(features={"u": (0, 9), "v": (0, 9)}, classes=["n", "y"], approximate_rows=900)
#: Steps of a fit after its first look at the estimator, in their order.
STEPS = [
    (door, "make_source"),
    (door, "charged_to"),
    (Door, "_resolve_domain"),
    (door, "surroundings"),
    (Door, "_check_records"),
    (Door, "plan"),
    (Fit, "_read"),
    (Training, "train"),
]


@pytest.mark.parametrize(("place", "step"), STEPS, ids=[step for _, step in STEPS])
def test_what_another_thread_sets_meanwhile_is_of_the_next_fit(place, step, monkeypatch):
    """The plan, what was charged, the guarantee and the report speak of the same parameters."""
    mine, others = BudgetAccountant(9), BudgetAccountant(9)
    given = {"epsilon": 8, "domain": DOMAIN, "strategy": "one_shot", "accountant": mine}
    forest = PrivateForestClassifier(**given)
    changed = {"epsilon": 0.01, "strategy": "rules", "domain": OTHER, "accountant": others}
    forest_changes_before(monkeypatch, place, step, lambda: forest.set_params(**changed))
    X = np.random.default_rng(0).random((200, 2))
    forest.fit(X, np.where(X[:, 0] < 0.5, "n", "y"))

    report = forest.privacy_report()
    assert (report.facts.settings["epsilon"], report.facts.parameters["epsilon"]) == (8, "8")
    assert forest.strategy_ == report.facts.settings["strategy"] == "one_shot"
    assert forest.domain_ == DOMAIN
    assert (mine.loss.epsilon, others.loss.epsilon) == (Fraction(8), 0)
    assert report.guarantee.epsilon == 8
    verify_report(report, forest)
    assert PrivateForestClassifier.from_json(forest.to_json()).fingerprint_ == forest.fingerprint_
    assert forest.get_params() == forest.get_params() | changed


def forest_changes_before(monkeypatch, place, name, change):
    step, seen = getattr(place, name), []

    def late(*given, **more):
        if not seen:
            seen.append(name)
            change()
        return step(*given, **more)

    monkeypatch.setattr(place, name, late)
