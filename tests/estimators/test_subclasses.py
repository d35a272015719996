"""A class that somebody makes of ours: what it paid for is verified, stored and read as ours is."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from dpforest import (
    BudgetAccountant,
    BudgetLedger,
    Domain,
    PrivateForestClassifier,
    PrivateForestRegressor,
    load_model,
    verify_report,
)
from dpforest.exceptions import ModelFormatError

DOMAIN = Domain(features={"a": (0, 1)}, classes=[0, 1], target=(0, 1), approximate_rows=200)
X = np.linspace(0, 1, 200)[:, None]
Y = (X[:, 0] > 0.5).astype(int)


class Plain(PrivateForestClassifier):
    """Of the same parameters."""


class OfTheHouse(PrivateForestClassifier):
    """With the house's budget, and so with fewer parameters."""

    def __init__(self, domain=None, accountant=None):
        super().__init__(epsilon=1, delta=1e-6, domain=domain, accountant=accountant)


class WithMore(PrivateForestRegressor):
    """With a parameter that ours has not."""

    def __init__(self, epsilon=1, domain=None, ward="north"):
        super().__init__(epsilon=epsilon, domain=domain)
        self.ward = ward


KINDS = [Plain, OfTheHouse, WithMore]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def model(request):
    kind = request.param
    made = kind(domain=DOMAIN) if kind is not Plain else Plain(epsilon=1, domain=DOMAIN)
    return made.fit(X, Y)


def home(model):
    return type(model).__mro__[1]


def test_its_report_holds_and_its_plan_is_made_again(model):
    report = model.privacy_report()
    assert report.estimator == home(model).__name__
    for copy in (model, model.to_json(), pickle.loads(pickle.dumps(model))):
        assert verify_report(report, copy).guarantee_status == "holds"
    ours = home(model)(**report.facts.settings, domain=DOMAIN).fit(X, Y).privacy_report()
    assert verify_report(report).held == verify_report(ours).held
    assert verify_report(report).taken_at_its_word == verify_report(ours).taken_at_its_word


def test_its_model_is_read_as_ours_is(model):
    for again in (load_model(model.to_json()), home(model).from_json(model.to_json())):
        assert type(again) is home(model)
        assert again.fingerprint_ == model.fingerprint_
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.expected_gain() == pytest.approx(model.expected_gain(), nan_ok=True)


def test_a_class_of_all_our_parameters_reads_its_own(model):
    if isinstance(model, Plain):
        assert type(Plain.from_json(model.to_json())) is Plain
        return
    with pytest.raises(ModelFormatError, match="lacks parameters of .*Read it with load_model"):
        type(model).from_json(model.to_json())


def test_another_class_is_refused(model):
    other = PrivateForestRegressor if home(model) is PrivateForestClassifier else Plain
    with pytest.raises(ModelFormatError, match=f"not a {other.__name__}"):
        other.from_json(model.to_json())
    assert json.loads(model.to_json())["estimator"] == home(model).__name__


def test_budgets_are_charged_for_it_as_for_ours(tmp_path):
    accountant = BudgetAccountant(epsilon=3, delta=1e-5)
    model = OfTheHouse(domain=DOMAIN, accountant=accountant).fit(X, Y)
    assert verify_report(model.privacy_report(), model).guarantee_status == "holds"
    with BudgetLedger.open(f"sqlite:///{tmp_path / 'l'}", actor="olga", create=True) as ledger:
        ledger.register("stays", domain=DOMAIN, epsilon=3, delta=1e-5)
        kept = OfTheHouse(domain=DOMAIN, accountant=ledger.accountant("stays")).fit(X, Y)
        assert verify_report(kept.privacy_report(), kept, ledger=ledger).guarantee_status == "holds"
