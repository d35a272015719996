"""Refusals come before any value is looked at, and cost nothing."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpforest import (
    BudgetAccountant,
    BudgetExceeded,
    Domain,
    DomainError,
    InvalidRecordError,
    MultinomialForestClassifier,
    ParameterError,
    PrivateForestClassifier,
    StreamError,
)
from dpforest.accounting import fits
from dpforest.accounting.allocation import (
    ExplicitAllocation,
    PerLevelAllocation,
    UniformAllocation,
)
from dpforest.exceptions import ParameterTypeError
from dpforest.streams import BatchStream
from dpforest.trees.multinomial.criteria import GINI_COUNT_CRITERION
from dpforest.trees.multinomial.plan import ForestSettings, build_plan


@pytest.fixture(autouse=True)
def listed_here(monkeypatch):
    """Fits of this test alone: a process lists thousands by the time that it comes here."""
    monkeypatch.setattr(fits, "_lineages", {})


BAD_PARAMETERS = [
    ({"epsilon": 0}, "epsilon=0"),
    ({"epsilon": -1}, "epsilon=-1"),
    ({"epsilon": math.nan}, "epsilon=nan"),
    ({"epsilon": math.inf}, "epsilon=inf"),
    ({"epsilon": Decimal("NaN")}, "epsilon"),
    ({"epsilon": Decimal("Infinity")}, "epsilon"),
    ({"epsilon": "a lot"}, "epsilon='a lot'"),
    ({"epsilon": None}, "epsilon=None"),
    ({"epsilon": True}, "epsilon=True"),
    ({"epsilon": 1e-300}, "epsilon=1e-300"),
    ({"epsilon": 1e300}, "epsilon=1e"),
    ({"delta": -1e-9}, "delta="),
    ({"delta": 1}, "delta=1"),
    ({"delta": math.nan}, "delta=nan"),
    ({"delta": math.inf}, "delta=inf"),
    ({"n_estimators": 0}, "n_estimators=0"),
    ({"n_estimators": 2.0}, "n_estimators=2.0"),
    ({"max_depth": 0}, "max_depth=0"),
    ({"max_depth": 21}, "max_depth=21"),
    ({"max_depth": None}, "max_depth=None"),
    ({"allocation": "thm2"}, "allocation='thm2'"),
    ({"allocation": "explicit"}, "needs B1, B2 and B3"),
    ({"allocation": 3}, "allocation=3"),
    ({"allocation": "theorem2"}, "Give a partition_rate"),
    ({"allocation": "theorem2", "partition_rate": 1, "delta": 1e-6}, "needs delta = 0"),
    ({"allocation": ExplicitAllocation(1, 1, 1)}, "asks for 10 of a total epsilon of 1"),
    ({"allocation": PerLevelAllocation((1, 2, 3))}, "one weight for each of 2 levels"),
    ({"criterion": "gini"}, "criterion='gini'"),
    ({"selection": "best"}, "selection='best'"),
    ({"choice": "random"}, "choice='random'"),
    ({"leaves": "median"}, "leaves='median'"),
    ({"leaves": "gaussian"}, "needs delta > 0"),
    ({"partition_rate": 0}, "partition_rate=0"),
    ({"partition_rate": -1}, "partition_rate=-1"),
    ({"partition_rate": 1e30}, "probability of at least 2**-64"),
    ({"partition_rate": "1e-30"}, "probability of at least 2**-64"),
    ({"thresholds": "observed"}, "thresholds='observed'"),
    ({"invalid": "ignore"}, "invalid='ignore'"),
    ({"n_jobs": 0}, "n_jobs=0"),
    ({"n_jobs": 1.5}, "n_jobs=1.5"),
    ({"verbose": -1}, "verbose=-1"),
    ({"random_state": "seed"}, "random_state='seed'"),
    ({"random_state": -1}, "random_state=-1"),
    ({"accountant": 10}, "accountant"),
    ({"domain": {"age": (0, 100)}}, "domain"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS)
@pytest.mark.parametrize("declared", [True, False])
def test_bad_parameters(parameters, message, declared, make_forest, poisoned, listed_fits):
    accountant = BudgetAccountant(5)
    base = {"accountant": accountant} | ({} if declared else {"domain": None})
    n_listed = len(listed_fits())
    forest = make_forest(**(base | parameters))
    with pytest.raises(ParameterError) as refusal:
        forest.fit(*poisoned())
    assert message in str(refusal.value)
    assert refusal.value.rule and refusal.value.repair
    assert_nothing_spent(accountant)
    assert len(listed_fits()) == n_listed
    assert not hasattr(forest, "forest_")


def test_an_epsilon_that_is_no_rho_is_named(make_forest):
    wanted = make_forest(epsilon="1e-15", delta=1e-6)._wanted()
    plan = build_plan(wanted.learner.settings, wanted.budget)
    assert plan.loss.rho > 0  # the smallest epsilon still is one
    settings = ForestSettings(1, 1, UniformAllocation(), GINI_COUNT_CRITERION)
    spent = replace(wanted.budget, concentrated=Fraction(0))
    with pytest.raises(ParameterError, match="epsilon=1e-15: is so small.* delta = 1e-06"):
        build_plan(settings, spent)


EXPLICIT = [
    {},
    {"choice": "joint"},
    {"selection": "permute_and_flip", "leaves": "geometric"},
    {"leaves": "count_label"},
    {"partition_rate": 1},
]


@pytest.mark.parametrize("parameters", EXPLICIT)
def test_explicit_shares_are_epsilons_of_draws_with_a_delta_too(parameters, make_forest, table):
    allocation = ExplicitAllocation("0.01", "0.02", "0.03")
    parameters |= {"epsilon": 3, "allocation": allocation}
    for delta in (0, 1e-6):
        forest = make_forest(delta=delta, **parameters).fit(*table())
        drawn = {entry.role: entry.loss for entry in forest.accountant_.ledger}
        selections = {e.epsilon for role, e in drawn.items() if "selection" in role}
        joint = parameters.get("choice") == "joint"
        shares = {Fraction(3, 100)} if joint else {Fraction(1, 100), Fraction(2, 100)}
        assert selections == shares
        (leaf,) = [loss for role, loss in drawn.items() if role.startswith("leaf")]
        if leaf.epsilon == math.inf:
            assert leaf.rho == Fraction(3, 100) ** 2 / 2
        else:
            assert leaf.epsilon == Fraction(3, 100)
        assert "epsilon of each draw" in forest.privacy_report().plan["allocation"]


def test_explicit_shares_may_fit_in_either_currency(make_forest, table):
    # 2 trees of 2 levels: too much in epsilon, little in rho, and the other way round.
    explicit = {"epsilon": 1, "delta": 1e-6, "leaves": "geometric", "n_estimators": 2}
    many = ExplicitAllocation("0.12", "0.12", "0.05")
    assert make_forest(allocation=many, **explicit).fit(*table()).spent_.epsilon <= 1
    few = ExplicitAllocation("0.001", "0.001", "0.49")
    forest = make_forest(allocation=few, **explicit).fit(*table())
    assert forest.spent_.exact.epsilon == Fraction("0.988") and forest.spent_.delta == 0
    with pytest.raises(ParameterError, match="asks for .* of a total rho of"):
        make_forest(allocation=ExplicitAllocation(1, 1, 1), **explicit).fit(*table())


def assert_nothing_spent(accountant):
    assert accountant.ledger == ()
    assert accountant.composition().children == ()
    assert accountant.spent.exact.epsilon == 0
    assert accountant.remaining.exact.epsilon == accountant.total.exact.epsilon


def test_the_poison_works(make_forest, poisoned, touched):
    with pytest.raises(touched):
        make_forest(domain=None).fit(*poisoned())
    with pytest.raises(StreamError, match=touched.__name__):
        make_forest().fit(*poisoned())


def test_reading_comes_after_the_reserve(make_forest, poisoned, touched):
    accountant = BudgetAccountant(5)
    with pytest.raises(StreamError, match=touched.__name__):
        make_forest(accountant=accountant).fit(*poisoned())
    # Reserved first, and spent: that reading failed is a fact about records.
    (scope,) = accountant.composition().children
    assert scope.reserve.loss.epsilon == 1 and scope.failed and not scope.entries
    assert scope.closed and accountant.spent.exact.epsilon == 1


def test_budget_exceeded(make_forest, poisoned):
    accountant = BudgetAccountant(Fraction(9, 10))
    forest = make_forest(accountant=accountant)
    with pytest.raises(BudgetExceeded, match="Ask for less") as refusal:
        forest.fit(*poisoned())
    assert refusal.value.requested.epsilon == 1
    assert refusal.value.remaining.exact.epsilon == Fraction(9, 10)
    assert_nothing_spent(accountant)
    # A refusal changes nothing: a smaller fit is still granted.
    forest.set_params(epsilon="9/10").fit([[1, "red", 0.0]], ["ill"])
    assert accountant.remaining.exact.epsilon == 0


def test_a_fit_with_a_delta_under_a_total_without_one(make_forest, poisoned):
    accountant = BudgetAccountant(5)
    with pytest.raises(BudgetExceeded, match="without a delta, or open an accountant with one"):
        make_forest(delta=1e-6, accountant=accountant).fit(*poisoned())
    assert_nothing_spent(accountant)


def test_budget_exceeded_in_rho(make_forest, poisoned):
    accountant = BudgetAccountant(1, delta=1e-6)
    with pytest.raises(BudgetExceeded):
        make_forest(epsilon=2, delta=1e-6, accountant=accountant).fit(*poisoned())
    assert_nothing_spent(accountant)


@pytest.mark.parametrize(
    "domain",
    [
        Domain(features={"age": (0, 1), "colour": ["a"], "size": (0, 1)}),
        Domain(features={"age": (0, 1), "colour": ["a"], "size": (0, 1)}, target=(0, 1)),
    ],
)
def test_a_domain_without_classes(domain, make_forest, poisoned):
    accountant = BudgetAccountant(5)
    with pytest.raises(DomainError, match="classes"):
        make_forest(domain=domain, accountant=accountant).fit(*poisoned())
    assert_nothing_spent(accountant)


@pytest.mark.parametrize("classes", [[], ["ill"], ["ill", "ill"]])
def test_a_domain_with_fewer_than_two_classes_does_not_exist(classes):
    with pytest.raises(DomainError, match="classes"):
        Domain(features={"age": (0, 100)}, classes=classes)


def test_width_shape_and_length(make_forest, poisoned):
    accountant = BudgetAccountant(5)
    forest = make_forest(accountant=accountant)
    X, y = poisoned(4, 2)
    with pytest.raises(ParameterError, match="X has 2 features, but MultinomialForestClassifier"):
        forest.fit(X, y)
    X, y = poisoned(4, 3)
    with pytest.raises(ParameterError, match="inconsistent numbers of samples"):
        forest.fit(X, y[:3])
    with pytest.raises(ParameterError, match="Expected 2D array"):
        forest.fit(np.zeros(4), y)
    with pytest.raises(ParameterError, match="multi-output is not supported"):
        forest.fit(X, np.array(X))
    with pytest.raises(ParameterError, match="the target y is None"):
        forest.fit(X, None)
    assert_nothing_spent(accountant)


def test_kinds_of_input_that_have_no_meaning(make_forest):
    sparse = pytest.importorskip("scipy.sparse")
    accountant = BudgetAccountant(5)
    forest = make_forest(accountant=accountant)
    y = ["ill", "well"]
    for X, message in [
        (sparse.csr_matrix(np.zeros((2, 3))), "sparse input is not supported"),
        (np.zeros((2, 3), dtype="i4,i4"), "structured arrays are not supported"),
    ]:
        with pytest.raises(ParameterTypeError, match=message):
            forest.fit(X, y)
    assert_nothing_spent(accountant)


def test_an_arrow_table_with_dates(make_forest):
    arrow, day = pytest.importorskip("pyarrow"), datetime.date(2020, 1, 1)
    accountant = BudgetAccountant(5)
    X = arrow.table({"age": [day, day], "colour": ["red", "red"], "size": [0.0, 0.1]})
    with pytest.raises(ParameterTypeError, match="dates and times are not supported"):
        make_forest(accountant=accountant).fit(X, ["ill", "well"])
    assert_nothing_spent(accountant)


# -- records that no rule of the domain covers -----------------------------------------------

GOOD = [31, "red", 0.5]
INVALID = [
    ([math.nan, "red", 0.5], "ill", "age", "a value is missing"),
    ([None, "red", 0.5], "ill", "age", "a value is missing"),
    ([math.inf, "red", 0.5], "ill", "age", "a value is infinite"),
    (["much", "red", 0.5], "ill", "age", "a value is not a number"),
    ([31, None, 0.5], "ill", "colour", "a value is missing"),
    ([31, "red", -math.inf], "ill", "size", "a value is infinite"),
    ([31, "red", 0.5], "secretly", "y", "a label is missing or not one of the declared classes"),
    ([31, "red", 0.5], None, "y", "a label is missing or not one of the declared classes"),
]


@pytest.mark.parametrize(("record", "label", "column", "rule"), INVALID)
def test_raising_releases_and_spends_nothing(record, label, column, rule, make_forest):
    accountant = BudgetAccountant(1)
    forest = make_forest(accountant=accountant, invalid="raise")
    with pytest.raises(InvalidRecordError) as refusal:
        forest.fit([GOOD, record], ["well", label])
    assert refusal.value.column == column
    assert rule in refusal.value.rule
    assert not hasattr(forest, "forest_")
    assert accountant.ledger == () and accountant.spent.exact.epsilon == 0
    forest.fit([GOOD], ["well"])  # the whole budget is still there
    assert accountant.remaining.exact.epsilon == 0


def test_raising_is_not_listed_as_a_fit(make_forest, listed_fits):
    n_listed = len(listed_fits())
    with pytest.raises(InvalidRecordError):
        make_forest(invalid="raise").fit([[math.nan, "red", 0.0]], ["ill"])
    assert len(listed_fits()) == n_listed


@pytest.mark.parametrize(("record", "label", "column", "rule"), INVALID)
def test_the_text_names_column_and_rule_only(record, label, column, rule, make_forest):
    texts = set()
    for n_before, n_after in ((0, 0), (3, 0), (0, 7), (1, 1)):
        X = [GOOD] * n_before + [record, record] + [GOOD] * n_after
        y = ["well"] * n_before + [label, label] + ["well"] * n_after
        with pytest.raises(InvalidRecordError) as refusal:
            make_forest(invalid="raise").fit(X, y)
        texts.add(str(refusal.value))
        assert refusal.value.__cause__ is None and refusal.value.__context__ is None
    (text,) = texts
    assert not any(character.isdigit() for character in text)
    for value in ("much", "secretly", "nan", "inf)", "31"):
        assert value not in text
    assert "not covered by epsilon" in text


@pytest.mark.parametrize(("record", "label", "column", "rule"), INVALID)
def test_dropping_is_the_same_as_not_having_the_record(record, label, column, rule, make_forest):
    with_record = make_forest(random_state=5).fit([GOOD, record, GOOD], ["ill", label, "well"])
    without = make_forest(random_state=5).fit([GOOD, GOOD], ["ill", "well"])
    assert np.array_equal(with_record.forest_.counts, without.forest_.counts)
    assert np.array_equal(with_record.forest_.feature, without.forest_.feature)


def test_what_has_a_rule_is_kept(make_forest):
    huge = "1000"  # so little noise that counts come out exact
    X = [[-5, "red", 9.0], [500, "purple", -9.0], ["31", "red", "0.5"]]
    forest = make_forest(epsilon=huge, invalid="raise").fit(X, ["ill", "well", "ill"])
    assert forest.forest_.counts.sum(axis=(1, 2)).tolist() == [3, 3]
    allowed = Domain(
        features=[{"kind": "numeric", "name": "age", "lower": 0, "upper": 9, "missing": True}],
        classes=["ill", "well"],
    )
    forest = MultinomialForestClassifier(
        epsilon=huge, domain=allowed, n_estimators=1, max_depth=1, invalid="raise"
    ).fit([[None], [math.nan], [3]], ["ill", "well", "ill"])
    assert forest.forest_.counts.sum() == 3


def test_prediction_drops_nothing(make_forest, table):
    forest = make_forest(invalid="raise").fit(*table())
    rows = [record for record, *_ in INVALID] + [[1e9, "purple", -1e9]]
    assert forest.predict_proba(rows).shape == (len(rows), 2)
    assert np.isfinite(forest.predict_proba(rows)).all()
    with pytest.raises(ParameterError, match="X has 1 features"):
        forest.predict([[1]])


@pytest.mark.parametrize("kind", [PrivateForestClassifier, MultinomialForestClassifier])
def test_an_epsilon_without_a_rho_is_refused_before_anything_is_bought(kind):
    domain = Domain(features={"a": (0, 1)}, classes=[0, 1])
    accountant = BudgetAccountant(5, delta="1e-6")
    forest = kind(epsilon="1e-60", delta="1e-6", domain=domain, accountant=accountant)
    with pytest.raises(ParameterError, match="epsilon='1e-60': must be a positive finite number"):
        forest.fit([[0.5]] * 20, [0, 1] * 10)
    assert accountant.ledger == ()


def test_a_strategy_that_became_an_estimator_is_refused_before_anything_is_spent(domain, poisoned):
    accountant = BudgetAccountant(5)
    forest = PrivateForestClassifier(
        epsilon=1, domain=domain, strategy="multinomial", accountant=accountant
    )
    stream = BatchStream(lambda: pytest.fail("a batch was read"))
    for records in (poisoned(), (stream,)):
        with pytest.raises(ParameterError, match="Use MultinomialForestClassifier"):
            forest.fit(*records)
    assert accountant.ledger == () and accountant.composition().children == ()
