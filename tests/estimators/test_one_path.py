"""Every private estimator has what every other has, by one path of few classes."""

from __future__ import annotations

import ast
import inspect
import json
import re
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import dpforest
import dpforest.dask
from dpforest import (
    BudgetAccountant,
    Domain,
    MultinomialForestClassifier,
    ParameterError,
    PrivateForestClassifier,
    PrivateForestRegressor,
    read_plain,
    verify_report,
)
from dpforest.accounting.fits import OWN_BUDGET
from dpforest.estimators.base import PrivateEstimator
from dpforest.estimators.classifier import PrivateClassifier
from dpforest.estimators.fit_plan import table_facts
from dpforest.estimators.fitting import Fit
from dpforest.estimators.forecast import PlanSummary
from dpforest.estimators.planning import make_plan, plan_of
from dpforest.exceptions import ParameterTypeError, WeakSignalWarning
from dpforest.records.streams.batches import BatchStream
from dpforest.trees.multinomial.learner import SIZES

N = 120
FEATURES = {"age": (0, 100), "weight": (0.0, 90.0), "colour": ["red", "green", "blue"]}
X = [[i % 100, (i * 7) % 90 + 0.5, ("red", "green", "blue")[i % 3]] for i in range(N)]
Y = ["ill" if x[0] > 50 else "well" for x in X]
TARGETS = [float(x[0]) for x in X]
SMALL = {"n_estimators": 2, "max_depth": 3}
#: How each is fitted; labels are votes, lattices have more codes than anybody could be shown.
CASES = {
    "MultinomialForestClassifier": ({}, {"leaves": "label"}, {"thresholds": "lattice"}),
    "PrivateForestClassifier": ({}, {"strategy": "one_shot"}),
    "PrivateForestRegressor": ({}, {"strategy": "rules"}),
    "DaskMultinomialForestClassifier": ({},),
    "DaskPrivateForestClassifier": ({},),
    "DaskPrivateForestRegressor": ({},),
}
#: What belongs to a task, or to the choices of one forest.
OWN = {
    "classifier": {"predict_proba", "predict_log_proba", "decision_function", "classes_"},
    # scikit-learn routes return_std.
    "regressor": {"target_range_", "target_steps_", "set_predict_request"},
    "MultinomialForestClassifier": {"forest_", "as_published"},
}
ALL = [(name, parameters) for name, ways in CASES.items() for parameters in ways]


def kind_of(name):
    return getattr(dpforest.dask if name.startswith("Dask") else dpforest, name)


def made(name, **parameters):
    kind = kind_of(name)
    regresses = kind._task == "regression"
    output = {"target": (0, 100)} if regresses else {"classes": ["well", "ill"]}
    domain = Domain(features=FEATURES, approximate_rows=N, **output)
    known = inspect.signature(kind).parameters
    small = {k: v for k, v in SMALL.items() if k in known}
    return kind(**{"epsilon": 8, "domain": domain, **small, **parameters})


def fitted(name, **parameters):
    forest = made(name, **parameters)
    y = TARGETS if forest._task == "regression" else Y
    if name.startswith("Dask"):  # as a Dask table is fitted, without a cluster
        Fit(forest).run(BatchStream([(X[:50], y[:50]), (X[50:], y[50:])]), None)
        return forest
    return forest.fit(X, y)


@pytest.fixture(scope="module", params=ALL, ids=lambda way: f"{way[0]} {way[1] or ''}".strip())
def forest(request):
    name, parameters = request.param
    return fitted(name, **parameters)


def private_estimators():
    everything = {**vars(dpforest.dask)}
    everything |= {name: getattr(dpforest, name) for name in dpforest.__all__}
    return {
        name: kind
        for name, kind in everything.items()
        if isinstance(kind, type) and issubclass(kind, PrivateEstimator)
    }


# -- which estimators, of which classes ---------------------------------------------------------


def test_every_private_estimator_is_here():
    here = {kind for name, kind in private_estimators().items() if not name.startswith("_")}
    assert here == {kind_of(name) for name in CASES}


@pytest.mark.parametrize("base", ["base", "model_uses"])
def test_what_is_of_all_estimators_knows_no_task(base):
    """Attributes of one task are asked for by methods that each task gives."""
    of_a_task = {*PrivateClassifier.__annotations__, *PrivateForestRegressor.__annotations__}
    assert {"classes_", "_order_", "target_steps_"} <= of_a_task
    tree = ast.parse(Path(dpforest.estimators.__path__[0], f"{base}.py").read_text("utf-8"))
    named = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    named |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert not named & of_a_task


def classes_between(kind):
    """Classes of this library between an estimator and scikit-learn's, mixins aside."""
    above = [c for c in kind.__mro__[1:] if issubclass(c, BaseEstimator) and c is not BaseEstimator]
    return [c for c in above if c.__module__.startswith("dpforest")]


@pytest.mark.parametrize("name", sorted(dpforest.__all__))
def test_three_classes_at_most_stand_between_an_estimator_and_scikit_learn(name):
    kind = getattr(dpforest, name)
    if isinstance(kind, type) and issubclass(kind, BaseEstimator):
        assert len(classes_between(kind)) <= 3, classes_between(kind)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("Dask")])
def test_on_dask_an_estimator_is_the_one_in_memory_and_one_mixin(name):
    kind, in_memory = kind_of(name), kind_of(name.removeprefix("Dask"))
    mixin, own = kind.__bases__
    assert own is in_memory and not issubclass(mixin, BaseEstimator)


# -- what each has ------------------------------------------------------------------------------


def public_names(forest):
    """Methods and attributes, but parameters; a strategy is none where there is one alone."""
    names = {name for name in dir(forest) if not name.startswith("_")}
    return names - set(forest.get_params()) - {"strategy"}


def test_each_has_what_all_have(forest):
    """But for what its task or its own choices say: whatever one gains, all gain."""
    role = "regressor" if forest._task == "regression" else "classifier"
    own = OWN[role] | OWN.get(type(forest).__name__.removeprefix("Dask"), set())
    assert public_names(forest) - own == public_names(BASE) - OWN["classifier"]
    assert public_names(forest) >= own


BASE = fitted("PrivateForestClassifier")


def test_what_it_plans_is_what_it_spends(forest):
    plan = forest.plan()
    assert isinstance(plan, PlanSummary) and plan.strategy == forest.strategy_
    assert plan.signal is not None and f"R = {plan.signal:.3g}"[:5] in plan.forecast
    assert plan.epsilon == 8 and forest.spent_.epsilon <= 8
    assert sum(part.share for part in plan.parts) == pytest.approx(1)
    if forest.spent_.exact.epsilon != float("inf"):
        total = sum(part.epsilon for part in plan.parts)
        assert total == pytest.approx(float(forest.spent_.exact.epsilon))
    report = forest.privacy_report()
    assert report.plan == plan.details


def test_importances_are_shares_of_features(forest):
    shares = forest.feature_importances_
    assert shares.shape == (3,) and (shares >= 0).all()
    assert shares.sum() == pytest.approx(1) or not shares.any()


def test_it_is_explained_at_every_shown_cell(forest):
    explanation = forest.explain()
    assert list(explanation.importances) == [d.feature for d in explanation.dependence]
    for dependence in explanation.dependence:
        sizes = {len(curve) for curve in dependence.predictions.values()}
        assert sizes == {len(dependence.cells)} == {len(dependence.places)}
        assert 0 < len(dependence.cells) <= 257
        curves = np.array(list(dependence.predictions.values()))
        if forest._task == "classification":
            assert list(dependence.predictions) == list(map(str, forest.classes_))
            assert np.allclose(curves.sum(axis=0), 1)
        else:
            low, high = forest.target_range_
            assert (curves >= low).all() and (curves <= high).all()


def test_its_plain_form_predicts_as_it_does(forest):
    plain = read_plain(forest.to_plain())
    if forest._task == "regression":
        assert np.allclose(plain.predict(X[:30]), forest.predict(X[:30]), rtol=1e-9)
    else:
        assert np.allclose(plain.predict_proba(X[:30]), forest.predict_proba(X[:30]), atol=1e-12)


def test_it_is_stored_and_read_back(forest):
    text = forest.to_json()
    content = json.loads(text)
    assert content["version"] == 3 and content["released"]["strategy"] == forest.strategy_
    again = type(forest).from_json(text)
    assert again.to_json() == text and again.fingerprint_ == forest.fingerprint_
    assert np.array_equal(again.predict(X), forest.predict(X))
    assert again.explain(0) == forest.explain(0) and again.to_plain() == forest.to_plain()


def test_its_report_is_verified(forest):
    for model in (forest, forest.to_json()):
        found = verify_report(forest.privacy_report(), model)
        assert "plan and settings" in found.held


@pytest.mark.parametrize(("name", "parameters"), ALL, ids=str)
def test_a_unit_of_three_records_pays_for_all_of_them(name, parameters):
    accountant = BudgetAccountant(24)
    forest = fitted(name, epsilon=24, max_records_per_unit=3, accountant=accountant, **parameters)
    assert forest.guarantee_.unit == "one privacy unit (such as a person) that owns up to 3 records"
    assert forest.spent_.exact.epsilon <= 24
    assert accountant.spent.exact.epsilon == forest.spent_.exact.epsilon
    scope = forest._composition()
    inside = sum(entry.loss.epsilon for entry in scope.ledger)
    assert scope.records_per_unit == 3 and inside < forest.spent_.exact.epsilon * 8 / 3
    assert forest.plan().details["unit of privacy"].startswith("owns up to 3 records")


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("Dask")])
def test_a_weight_is_refused_by_each(name):
    with pytest.raises(ParameterTypeError, match="sample_weight"):
        made(name).fit(X, Y, sample_weight=np.ones(N))


# -- what the forest of the paper gains, and what it keeps ---------------------------------------


def test_a_forest_with_sizes_of_its_own_buys_no_number_of_records():
    unknown = Domain(features=FEATURES, classes=["well", "ill"])
    forest = made("MultinomialForestClassifier", domain=unknown)
    plan = forest.plan()
    assert plan.signal is None and plan.teachable is None
    assert plan.forecast == "unknown; declare approximate_rows (on the command line: --rows)"
    assert [part.name for part in plan.parts] == [
        "feature selection",
        "value selection",
        "leaf histogram",
    ]
    assert forest.fit(X, Y).spent_.exact.epsilon == 8
    assert plan.details == forest.privacy_report().plan
    assert "bought" in PrivateForestClassifier(epsilon=8, domain=unknown).plan().forecast


def test_a_hopeless_budget_is_told_of():
    forest = made("MultinomialForestClassifier", epsilon="0.001")
    assert forest.plan().teachable is False
    with pytest.warns(WeakSignalWarning, match="too small"):
        forest.fit(X, Y)


def test_the_plan_of_a_lattice_is_none_of_a_stream():
    forest = made("MultinomialForestClassifier", thresholds="lattice")
    with pytest.raises(ParameterError, match="needs all records in order"):
        forest.plan(streamed=True)
    assert forest.plan().parts


@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)])
@pytest.mark.parametrize(("rows", "sizes"), [(10, (3, 3)), (150, (5, 5)), (10**6, (10, 8))])
def test_what_was_a_strategy_is_planned_as_this_forest_of_its_sizes(rows, sizes, delta):
    """Reports of such fits are planned again, and a page has the sizes for whoever wants them."""
    n_trees, depth = sizes
    own = made("MultinomialForestClassifier", n_estimators=n_trees, max_depth=depth, delta=delta)
    encoder = own._encoder(own.domain)
    plan = plan_of(own._wanted(), encoder, float(rows), OWN_BUDGET)
    strategy = make_plan("multinomial", table_facts(encoder, float(rows)), Fraction(8), delta)
    assert strategy.plan == plan.plan and strategy.describe() == plan.describe()


def test_the_page_has_these_sizes():
    page = Path(__file__).parents[2] / "docs" / "multinomial.md"
    rows = re.findall(r"^\| (below ([\d,]+)|from there on) \| (\d+) \| (\d+) \|$",
                      page.read_text(encoding="utf-8"), re.MULTILINE)  # fmt: skip
    told = [
        (float(limit.replace(",", "")) if limit else float("inf"), int(trees), int(levels))
        for _, limit, trees, levels in rows
    ]
    assert tuple(told) == SIZES


def test_labels_are_explained_by_their_votes():
    forest = fitted("MultinomialForestClassifier", leaves="label", n_estimators=1, max_depth=1)
    feature, low, high = (int(a[0, 0]) for a in (
        forest.forest_.feature, forest.forest_.low, forest.forest_.high
    ))  # fmt: skip
    left, right = forest.forest_.labels[0]
    place = [str(c) for c in forest.classes_].index(forest.domain_.classes.labels[left])
    explained = forest.explain().of(forest.domain_.features[feature].name)
    curve = np.array(explained.predictions[str(forest.classes_[place])])
    goes_left = (low <= np.arange(curve.size)) & (np.arange(curve.size) <= high)
    assert np.array_equal(curve, np.where(goes_left, 1.0, float(left == right)))
    others = forest.explain().dependence[-1]
    assert others.feature != explained.feature
    assert set(np.ravel(list(others.predictions.values()))) <= {0.0, 0.5, 1.0}


def test_a_lattice_is_explained_at_the_middles_of_equal_parts():
    forest = fitted("MultinomialForestClassifier", thresholds="lattice")
    explained = forest.explain().of("weight")
    assert len(explained.cells) == 256
    assert explained.cells[0] == "0 to 0.351562" and explained.cells[-1].endswith(" to 90")
    assert np.allclose(np.diff(explained.places), 90 / 256)
    # At those places it says what it predicts there, where a feature stands alone.
    alone = made("MultinomialForestClassifier", thresholds="lattice")
    alone.domain = Domain(features={"weight": FEATURES["weight"]}, classes=["well", "ill"])
    alone.fit([[row[1]] for row in X], Y)
    explained = alone.explain().of("weight")
    predicted = alone.predict_proba([[place] for place in explained.places])
    curves = np.array([explained.predictions[str(label)] for label in alone.classes_])
    assert np.allclose(curves.T, predicted, atol=1e-9)


def test_defaults_of_the_classes_are_as_they_were():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert MultinomialForestClassifier(epsilon=1).get_params()["n_estimators"] == 20
        assert "strategy" not in MultinomialForestClassifier(epsilon=1).get_params()
        assert PrivateForestRegressor(epsilon=1).get_params()["strategy"] == "auto"
