"""Fits whose plan is composed as a whole: when, at what price, and that nothing else is granted."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpforest import (
    BudgetAccountant,
    Domain,
    PrivateForestClassifier,
    PrivateForestRegressor,
)
from dpforest.accounting.bounds import replace_one_price
from dpforest.accounting.fits import DIFFPRIVLIB, OWN_BUDGET
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.releases import LearnerBudget
from dpforest.accounting.verify import sole_certificate, verify_composition
from dpforest.datasets import load_adult
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators import planning
from dpforest.estimators.fit_plan import table_facts
from dpforest.estimators.planning import make_plan
from dpforest.exceptions import BudgetExceeded, ModelFormatError, ParameterError

pytestmark = pytest.mark.usefixtures("quick_learners")
DELTA = "1e-6"
N = 120


@pytest.fixture
def fitted(domain, table):
    """A fit with a delta; any parameter may be overridden."""

    def fit(rows: int | None = N, **parameters: Any) -> PrivateForestClassifier:
        declared = domain.model_copy(update={"approximate_rows": rows})
        settings = {"epsilon": 4, "delta": DELTA, "domain": declared, "strategy": "refitted"}
        return PrivateForestClassifier(**{**settings, **parameters}).fit(*table(N))

    return fit


@pytest.mark.parametrize(("strategy", "epsilon"), [("refitted", 4), ("one_shot", 1)])
def test_a_fit_of_its_own_is_composed_as_a_whole(strategy, epsilon, fitted):
    forest = fitted(strategy=strategy, epsilon=epsilon)
    record = forest.accountant_.composition().children[0]
    certificate = sole_certificate(record)
    assert certificate is not None and certificate.holds
    assert certificate.loss == forest.spent_.exact == forest.accountant_.loss
    assert certificate.rho > LearnerBudget(Fraction(epsilon), Fraction(DELTA)).rho
    own, replaced = forest.guarantee_.bounds
    assert (own.epsilon, own.delta) == (epsilon, 1e-6)
    assert "composition as a whole" in own.derivation
    by_rho = replace_one_price(PrivacyLoss.concentrated(certificate.rho), Fraction(DELTA))
    assert 2 * epsilon < replaced.epsilon < by_rho[0] * Fraction(97, 100)
    assert verify_composition(forest.accountant_.composition()) == ()
    report = forest.privacy_report()
    assert "composed as a whole by the privacy loss" in report.to_markdown()
    assert "fixed beforehand" in report.to_html()
    with pytest.raises(BudgetExceeded):
        forest.accountant_.check(PrivacyLoss.pure(Fraction(1, 100)))


@pytest.mark.parametrize("strategy", ["refitted", "one_shot"])
def test_a_shared_accountant_adds_up_in_rho(strategy, fitted):
    alone = fitted(strategy=strategy, epsilon=1)
    accountant = BudgetAccountant(8, DELTA)
    forests = [fitted(strategy=strategy, epsilon=1, accountant=accountant) for _ in range(2)]
    for forest in forests:
        certificate = sole_certificate(forest._composition())
        assert certificate is not None and certificate.holds
        assert forest.guarantee_ == alone.guarantee_ and forest.spent_ == alone.spent_
        assert forest._composition().charged.loss == certificate.additive
        assert forest.plan().details["composed by"] != "addition in rho"
        assert forest.plan() == alone.plan()
    assert accountant.loss == forests[0]._composition().charged.loss * 2
    assert accountant.loss.delta == 0 and accountant.loss.epsilon == math.inf


def test_others_are_as_they_were(fitted, make_forest, table):
    multinomial = make_forest(epsilon=4, delta=DELTA).fit(*table(N))
    for forest in (fitted(strategy="rules"), multinomial):
        assert sole_certificate(forest.accountant_.composition().children[0]) is None
        assert forest.spent_.exact.delta == 0


@pytest.mark.parametrize("strategy", ["refitted", "one_shot", "rules", "auto"])
def test_after_a_bought_count_the_rest_is_certified_for_what_is_left(strategy, fitted):
    forest = fitted(rows=None, strategy=strategy)
    record = forest.accountant_.composition().children[0]
    assert record.adaptive and not record.caps
    assert record.reserve.loss == PrivacyLoss(Fraction(4), math.inf, Fraction(DELTA))
    assert (forest.guarantee_.epsilon, forest.guarantee_.delta) == (4.0, 1e-6)
    count = record.entries[0].loss
    if forest.strategy_ != "rules":
        certificate = record.children[0].certificate.certificate
        assert certificate.epsilon + count.epsilon == 4 and certificate.holds
    assert verify_composition(forest.accountant_.composition()) == ()


def test_a_learner_that_strays_from_its_list_is_stopped(fitted, monkeypatch, domain, table):
    real = planning.planned

    def with_less_noise(*arguments: Any, **named: Any) -> Any:
        plan = real(*arguments, **named)
        noiseless = plan.plan.with_variances(Fraction(9, 10))
        return replace(plan, plan=replace(noiseless, certificate=plan.plan.certificate))

    monkeypatch.setattr(planning, "planned", with_less_noise)
    declared = domain.model_copy(update={"approximate_rows": N})
    forest = PrivateForestClassifier(epsilon=4, delta=DELTA, domain=declared, strategy="refitted")
    with pytest.raises(ParameterError, match="does not follow from the list of releases"):
        forest.fit(*table(N))
    assert not hasattr(forest, "model_")


def test_stored_models_are_held_to_their_list(fitted):
    forest = fitted()
    text = forest.to_json()
    again = PrivateForestClassifier.from_json(text)
    assert again.guarantee_ == forest.guarantee_ and again.spent_ == forest.spent_
    data = json.loads(text)
    fit = data["ledger"]["scopes"]["children"][0]
    repeats = fit["children"][0]["certificate"]["blocks"]
    repeats[-1]["times"] += 1
    with pytest.raises(ModelFormatError, match="certifi"):
        PrivateForestClassifier.from_json(json.dumps(data))


def test_a_regression_that_buys_its_range_is_certified_for_the_rest():
    chance = np.random.default_rng(5)
    X = chance.uniform(0, 1, (400, 2))
    y = 3 * X[:, 0] + 4
    domain = Domain(features={"a": (0, 1), "b": (0, 1)}, target=(0, 100), approximate_rows=5000)
    forest = PrivateForestRegressor(epsilon=4, delta=DELTA, domain=domain, strategy="one_shot")
    forest.fit(X, y)
    record = forest.accountant_.composition().children[0]
    assert [entry.role for entry in record.entries] == ["range of the target"]
    assert record.adaptive and record.children[0].certificate.certificate.holds
    assert forest.guarantee_.epsilon <= 4 and forest.guarantee_.delta == 1e-6
    assert verify_composition(forest.accountant_.composition()) == ()
    assert forest.spent_.exact == record.reserve.loss


@pytest.mark.parametrize("strategy", ["refitted", "one_shot"])
def test_ten_fits_of_adult_share_a_ceiling_with_the_noise_that_each_has_alone(strategy):
    pytest.importorskip("dp_accounting")  # ten fit under that ceiling by its conversion alone
    facts = table_facts(DomainEncoder(load_adult().domain), 45_000.0)
    epsilon, delta = Fraction(1, 2), Fraction(DELTA)
    alone, shared = (
        make_plan(strategy, facts, epsilon, delta, place)
        for place in (OWN_BUDGET, "an unnamed accountant")
    )
    assert shared.plan == alone.plan and not shared.adaptive
    accountant = BudgetAccountant("1.66", "1e-5")
    for _ in range(10):
        accountant.open_scope("fit", shared.additive, alone=shared.loss)
    with pytest.raises(BudgetExceeded):
        accountant.open_scope("fit", shared.additive, alone=shared.loss)
    in_rho = make_plan(strategy, facts, epsilon, delta, DIFFPRIVLIB)
    assert in_rho.loss.rho < shared.additive.rho * Fraction(9, 10)
