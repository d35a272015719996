"""Our forests by the names of results: what was a strategy is an estimator of those sizes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from common.models import private_forests
from common.our_forests import NAMES, names_of, our_forest

from dpforest import (
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
)
from dpforest.accounting.fits import OWN_BUDGET
from dpforest.estimators.fit_plan import table_facts
from dpforest.estimators.planning import make_plan, plan_of
from dpforest.trees.strategies import ASKED

FEATURES = {"a": (0, 9), "b": ["x", "y"]}
CLASSES = Domain(features=FEATURES, classes=[0, 1])
TARGET = Domain(features=FEATURES, target=(0, 1))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_a_forest_of_classes(name):
    forest = our_forest(name, CLASSES.model_copy(update={"approximate_rows": 300}), 1.0, n_jobs=2)
    kind = MultinomialForestClassifier if name == "multinomial" else PrivateForestClassifier
    assert type(forest) is kind and forest.n_jobs == 2 and forest.plan().strategy == name


def test_a_target_has_no_multinomial_forest():
    assert names_of(CLASSES) == NAMES == (*ASKED, "multinomial")
    assert names_of(TARGET) == tuple(ASKED)
    assert type(our_forest("auto", TARGET, 0.5, "1e-6")) is PrivateForestRegressor


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0), (1.0, 1e-6), (5.0, "1e-6")])
@pytest.mark.parametrize("rows", [30.0, 300.0, 3000.0, 1e6])
def test_its_plan_is_that_of_the_strategy(rows, epsilon, delta):
    domain = CLASSES.model_copy(update={"approximate_rows": rows})
    forest = our_forest("multinomial", domain, epsilon, delta)
    encoder = forest._encoder(domain)
    plan = plan_of(forest._wanted(), encoder, rows, OWN_BUDGET)
    exact = Fraction(str(epsilon)), Fraction(str(delta))
    assert plan.plan == make_plan("multinomial", table_facts(encoder, rows), *exact).plan


def test_it_is_compared_where_rows_are_declared_alone():
    """Without them it had a number of records bought, which the estimator has not."""
    names = [model.name for model in private_forests(["multinomial", "rules"])]
    assert [name for name in names if "multinomial" in name] == [
        "dpforest multinomial, pure, rows",
        "dpforest multinomial, delta=1e-6, rows",
    ]
    assert len(names) == 6
