"""The private forest from end to end: every strategy, every kind of table, budget and storage.

The multinomial forest, an estimator of its own, does the same. What is learnt is held against
numbers with noise from seeds: with fresh noise such a test fails now and then.
"""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpforest import (
    BudgetAccountant,
    BudgetExceeded,
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    WeakSignalWarning,
)
from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.releases import LearnerBudget
from dpforest.bridge.bridge import Bridge
from dpforest.estimators import planning
from dpforest.estimators.fit_plan import COUNT_ROLE, table_facts
from dpforest.exceptions import ModelFormatError, StreamError
from dpforest.mechanisms.entropy import SeededSource
from dpforest.mechanisms.noise import add_geometric_noise
from dpforest.trees.strategies import STRATEGIES

DELTA = "1e-6"
KINDS = [
    pytest.param("rules", 0, id="rules"),
    pytest.param("rules", DELTA, id="rules with delta"),
    pytest.param("refitted", DELTA, id="refitted"),
    pytest.param("refitted", 0, id="refitted, pure"),
    pytest.param("boosted", DELTA, id="boosted"),
    pytest.param("boosted", 0, id="boosted, pure"),
    pytest.param("additive", DELTA, id="additive"),
    pytest.param("additive", 0, id="additive, pure"),
    pytest.param("multinomial", 0, id="multinomial"),
    pytest.param("multinomial", DELTA, id="multinomial with delta"),
    pytest.param("one_shot", 0, id="one_shot"),
    pytest.param("one_shot", DELTA, id="one_shot with delta"),
]
#: Those whose sizes go by a number of records.
BUYING = [kind for kind in KINDS if kind.values[0] != "multinomial"]
N = 120
pytestmark = pytest.mark.usefixtures("quick_learners")


@pytest.fixture
def declared(domain) -> Domain:
    return domain.model_copy(update={"approximate_rows": N})


@pytest.fixture
def make_forest(declared) -> Callable[..., Any]:
    """A private forest under the small domain, or the multinomial one, with any parameters."""

    def make(strategy: str = "auto", **parameters: Any) -> Any:
        given = {"epsilon": 4, "domain": declared, **parameters}
        if strategy == "multinomial":
            return MultinomialForestClassifier(n_estimators=3, max_depth=3, **given)
        return PrivateForestClassifier(strategy=strategy, **given)

    return make


def heard(forest: Any, X: Any, y: Any) -> list[tuple[type, str]]:
    """The warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        forest.fit(X, y)
    return [(w.category, str(w.message)) for w in caught]


# -- prediction ------------------------------------------------------------------------------


@pytest.mark.parametrize(("strategy", "delta"), KINDS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_for_every_strategy(strategy, delta, n_classes, make_forest, table):
    X, y = table(N)
    domain = Domain(features={"age": (0, 100), "colour": ["red", "green", "blue"], "size": (-1, 1)},
                    classes=["ill", "well", "lost"][:n_classes], approximate_rows=N)  # fmt: skip
    forest = make_forest(
        strategy=strategy, delta=delta, epsilon=50, domain=domain, random_state=0
    ).fit(X, y)
    assert forest.strategy_ == strategy
    probability = forest.predict_proba(X)
    assert probability.shape == (N, n_classes)
    assert (probability >= 0).all() and (probability <= 1).all()
    assert np.allclose(probability.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert forest.score(X, y) > 0.7
    importances = forest.feature_importances_
    assert importances.shape == (3,) and (importances >= 0).all()
    assert importances.sum() == pytest.approx(1)


TABLES = {
    "one class": lambda X, y: (X, ["ill"] * len(y)),
    "one value": lambda X, y: ([X[0]] * 30, y[:30]),
    "one record": lambda X, y: (X[:1], y[:1]),
    "all dropped": lambda X, y: ([[float("nan"), None, float("inf")]] * 9, y[:9]),
    "unknown classes": lambda X, y: (X, ["?"] * len(y)),
    "empty": lambda X, y: (np.empty((0, 3), dtype=object), np.empty(0, dtype=object)),
    "empty numbers": lambda X, y: (np.empty((0, 3)), np.empty(0)),
}


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")
@pytest.mark.parametrize(("strategy", "delta"), KINDS)
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("rows", [None, N])
def test_every_table_fits(strategy, delta, kind, rows, make_forest, table, declared):
    domain = declared.model_copy(update={"approximate_rows": rows})
    X, y = TABLES[kind](*table(N))
    forest = make_forest(strategy=strategy, delta=delta, domain=domain).fit(X, y)
    tests = [[50, "red", 0.0], [0, "blue", 1.0]]
    probability = forest.predict_proba(tests)
    assert np.isfinite(probability).all() and np.allclose(probability.sum(axis=1), 1)
    importances = forest.feature_importances_
    assert importances.sum() == pytest.approx(1) or not importances.any()
    stored = type(forest).from_json(forest.to_json())
    assert np.array_equal(stored.predict_proba(tests), probability)


@pytest.mark.parametrize(("strategy", "delta"), KINDS)
@pytest.mark.parametrize("labels", [["well", "ill"], [3, 1], [True, False], ["b", 1]])
def test_columns_follow_classes_in_any_declared_order(strategy, delta, labels, make_forest, table):
    X, y = table(N)
    domain = Domain(features={"age": (0, 100), "colour": ["red", "green", "blue"], "size": (-1, 1)},
                    classes=labels, approximate_rows=N)  # fmt: skip
    named = np.empty(N, dtype=object)
    named[:] = [labels[label == "ill"] for label in y]
    forest = make_forest(
        strategy=strategy, delta=delta, epsilon=50, domain=domain, random_state=0
    ).fit(X, named)
    if labels != ["b", 1]:
        assert forest.classes_.tolist() == sorted(labels)
    assert (forest.predict(X) == named).mean() > 0.7
    place = forest.classes_.tolist().index(labels[1])
    likely = forest.predict_proba(X)[:, place]
    assert likely[np.array(y) == "ill"].mean() > likely[np.array(y) == "well"].mean() + 0.2


@pytest.mark.parametrize(
    "labels", [[5, 2**63 + 1], [-1, 2**63 + 1], [2**64, 3], [2**53 + 1, 0.5], [2**64 - 1, 2**63]]
)
def test_whole_numbers_of_any_length_stay_what_they_are(labels, make_forest, table):
    X, y = table(N)
    domain = Domain(features={"age": (0, 100), "colour": ["red", "green", "blue"], "size": (-1, 1)},
                    classes=labels, approximate_rows=N)  # fmt: skip
    named = np.array([labels[label == "ill"] for label in y], dtype=object)
    forest = make_forest(strategy="rules", delta=0, epsilon=50, domain=domain, random_state=0).fit(
        X, named
    )
    assert forest.classes_.tolist() == sorted(labels)
    whole = all(0 <= label < 2**64 and isinstance(label, int) for label in labels)
    assert forest.classes_.dtype == (np.uint64 if whole else object)
    assert np.mean(forest.predict(X) == named) > 0.8  # exactly the labels, numpy's comparison aside
    assert {label for label in forest.predict(X).tolist()} == set(labels)
    stored = PrivateForestClassifier.from_json(forest.to_json())
    assert stored.classes_.dtype == forest.classes_.dtype
    assert stored.classes_.tolist() == forest.classes_.tolist()


@pytest.mark.parametrize(("strategy", "delta"), KINDS)
def test_seeded_fits_repeat_whatever_the_threads(
    strategy, delta, make_forest, table, seeded_fits_repeat
):
    seeded_fits_repeat(partial(make_forest, strategy=strategy, delta=delta), *table(N))


def test_the_order_of_rows_plays_no_part(make_forest, table):
    X, y = table(N)
    order = np.random.default_rng(1).permutation(N)
    turned = [X[i] for i in order], [y[i] for i in order]
    for strategy in ("rules", "multinomial"):
        fits = [make_forest(strategy=strategy, random_state=4).fit(*t) for t in ((X, y), turned)]
        assert fits[0].model_.to_data() == fits[1].model_.to_data()


# -- budget ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("strategy", "delta"), KINDS)
def test_the_plan_is_what_is_spent(strategy, delta, make_forest, table):
    forest = make_forest(strategy=strategy, delta=delta)
    plan = forest.plan()
    forest.fit(*table(N))
    spent = forest.spent_.exact
    assert spent == forest.accountant_.spent.exact
    parts = [(part.name, part.epsilon, part.rho) for part in plan.parts]
    assert sum(p[2] for p in parts) == pytest.approx(float(spent.rho))
    if spent.delta:  # composed as a whole: parts with Gaussian noise have no epsilon of their own
        assert spent == PrivacyLoss(Fraction(4), spent.rho, Fraction(DELTA))
        assert "fixed list" in plan.details["composed by"]
    else:
        assert sum(p[1] for p in parts) == pytest.approx(float(spent.epsilon))
    assert forest.guarantee_.status == "holds"
    assert forest.guarantee_.epsilon <= 4 and forest.guarantee_.delta <= float(delta)
    assert forest.guarantee_.epsilon > 3.9
    assert forest.privacy_report().plan == plan.details


@pytest.mark.parametrize(("strategy", "delta"), [*BUYING, pytest.param("auto", 0, id="auto")])
@pytest.mark.parametrize("epsilon", [1, 6])
def test_a_bought_number_of_records_keeps_the_caps(
    strategy, delta, epsilon, make_forest, table, domain
):
    # With so few records "auto" draws rules, whatever the noise on their number.
    X, y = table(N // (1 if strategy != "auto" else 8))
    forest = make_forest(strategy=strategy, delta=delta, epsilon=epsilon, domain=domain)
    heard(forest, X, y)
    assert (forest.guarantee_.epsilon, forest.guarantee_.delta) == (epsilon, float(delta))
    assert forest.accountant_.ledger[0].role == COUNT_ROLE
    realised = forest.accountant_.spent.exact
    rho = LearnerBudget(Fraction(epsilon), Fraction(delta)).rho
    assert realised.epsilon <= epsilon or realised.rho <= rho
    words = forest.privacy_report().plan
    assert words["strategy"] == forest.strategy_ and float(words["signal R"])
    assert words[COUNT_ROLE].startswith("bought")
    assert "number of records" in forest.privacy_report().to_markdown()


@pytest.mark.parametrize("delta", [0, DELTA])
@pytest.mark.parametrize("rows", [None, N])
@pytest.mark.parametrize("strategy", ["one_shot", "multinomial"])
def test_a_shared_accountant_is_charged_and_refuses_before_data(
    strategy, delta, rows, make_forest, table, poisoned, declared
):
    domain = declared.model_copy(update={"approximate_rows": rows})
    accountant = BudgetAccountant(5, delta=delta)
    forest = make_forest(strategy=strategy, delta=delta, accountant=accountant, domain=domain).fit(
        *table(N)
    )
    assert forest.accountant_ is accountant
    before = accountant.spent.exact
    assert before != PrivacyLoss.pure(Fraction(0)) and accountant.ledger != ()
    # The second fit's budget is not there any more, so nobody looks at its records.
    entries = len(accountant.ledger)
    with pytest.raises(BudgetExceeded):
        forest.fit(*poisoned())
    assert accountant.spent.exact == before and len(accountant.ledger) == entries


def test_either_route_must_fit(make_forest, poisoned, domain):
    # A pure fit of epsilon 4 fits here; a fit that may go by rho does not.
    accountant = BudgetAccountant(4, delta=DELTA)
    accountant.open_scope("else", reserve=PrivacyLoss.concentrated(accountant.total.exact.rho / 2))
    forest = make_forest(delta=DELTA, accountant=accountant, domain=domain)
    with pytest.raises(BudgetExceeded):
        forest.fit(*poisoned())
    assert accountant.ledger == ()


@pytest.mark.parametrize("rows", [None, N])
@pytest.mark.parametrize("delta", [0, DELTA])
@pytest.mark.parametrize("strategy", ["refitted", "multinomial"])
def test_a_training_that_fails_keeps_its_reserve(
    strategy, rows, delta, make_forest, table, declared, monkeypatch
):
    real = Bridge.ask
    asked: list[int] = []

    def fail_later(*arguments: Any) -> Any:
        asked.append(1)
        if len(asked) > 2:
            raise RuntimeError("the machine went down")
        return real(*arguments)

    monkeypatch.setattr(Bridge, "ask", fail_later)
    domain = declared.model_copy(update={"approximate_rows": rows})
    accountant = BudgetAccountant(4, delta=delta)
    forest = make_forest(strategy=strategy, delta=delta, accountant=accountant, domain=domain)
    with pytest.raises(StreamError, match=r"cannot be counted \(RuntimeError\)"):
        forest.fit(*table(N))
    spent, total = accountant.spent.exact, accountant.total.exact
    # With a delta lists that are composed as a whole are kept as certificates, others as their rho.
    if delta and (rows is None or strategy == "multinomial"):
        assert total.rho * Fraction(999, 1000) < spent.rho <= total.rho
    else:
        assert (spent.epsilon, spent.delta) == (4, Fraction(delta))
    assert not hasattr(forest, "model_")


def test_a_learner_that_asks_for_more_is_stopped(make_forest, table, monkeypatch):
    forest = make_forest(strategy="multinomial")
    real = planning.planned

    def with_twice_as_many_trees(*arguments: Any, **named: Any) -> Any:
        from dataclasses import replace

        plan = real(*arguments, **named)
        (trees,) = plan.plan.rounds
        greedy = replace(plan.plan, rounds=(replace(trees, times=2 * trees.times),))
        return replace(plan, plan=greedy)

    monkeypatch.setattr(planning, "planned", with_twice_as_many_trees)
    with pytest.raises(BudgetExceeded):
        forest.fit(*table(N))


def test_auto_takes_what_the_budget_carries(make_forest, table, declared):
    pure = (60, 0, "rules"), (60, DELTA, "rules")
    many = (9e3, DELTA, "refitted"), (9e4, DELTA, "boosted")
    for rows, delta, expected in (*pure, *many):
        domain = declared.model_copy(update={"approximate_rows": int(rows)})
        forest = make_forest(delta=delta, domain=domain).fit(*table(40))
        assert forest.strategy_ == forest.plan().strategy == expected


# -- warnings --------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [None, 40])
@pytest.mark.parametrize("delta", [0, DELTA])
def test_a_hopeless_budget_is_warned_of(rows, delta, make_forest, table, declared):
    domain = declared.model_copy(update={"approximate_rows": rows})
    # A bought R has noise of its own, so this is one seed where it came out small.
    forest = make_forest(epsilon="0.1", delta=delta, domain=domain, random_state=1)
    said = heard(forest, *table(4))
    assert [category for category, _ in said if category is WeakSignalWarning]
    text = next(text for category, text in said if category is WeakSignalWarning)
    assert "too small for this many records" in text and text.startswith("R = ")
    assert forest.predict_proba([[1, "red", 0.0]]).shape == (1, 2)
    assert heard(make_forest(epsilon=30, delta=delta), *table(N)) == []


def test_the_warning_points_at_the_call(make_forest, table, domain):
    for rows in (None, 4):
        forest = make_forest(
            epsilon="0.1",
            domain=domain.model_copy(update={"approximate_rows": rows}),
            random_state=1,
        )
        with pytest.warns(WeakSignalWarning) as caught:
            forest.fit(*table(4))
        assert caught[0].filename == __file__


# -- storage ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("strategy", "delta"), KINDS)
@pytest.mark.parametrize("rows", [None, N])
def test_stored_and_pickled_forests_predict_identically(
    strategy, delta, rows, make_forest, table, declared, tmp_path
):
    X, y = table(N)
    domain = declared.model_copy(update={"approximate_rows": rows})
    forest = make_forest(strategy=strategy, delta=delta, epsilon=20, domain=domain).fit(X, y)
    text = forest.to_json(tmp_path / "forest.json")
    json.loads(text, parse_constant=pytest.fail)
    read = type(forest).from_json(tmp_path / "forest.json")
    assert read.to_json() == text
    for again in (read, pickle.loads(pickle.dumps(forest))):
        assert np.array_equal(again.predict_proba(X), forest.predict_proba(X))
        assert np.array_equal(again.feature_importances_, forest.feature_importances_)
        assert again.strategy_ == strategy and again.spent_ == forest.spent_
        assert again.privacy_report() == forest.privacy_report()


def read_damaged(content: dict[str, Any]) -> PrivateForestClassifier:
    return PrivateForestClassifier.from_json(json.dumps(content))


@pytest.mark.parametrize("strategy", ["forest", None, ["rules"], "multinomial"])
def test_another_strategy_is_refused(strategy, make_forest, table):
    content = json.loads(make_forest(strategy="rules").fit(*table(N)).to_json())
    content["released"]["strategy"] = strategy
    with pytest.raises(ModelFormatError):
        read_damaged(content)


def changes_of(data: Any) -> list[tuple[str, Any]]:
    """Every leaf and list of nested data in turn replaced: shorter, out of range, of another kind.

    Only the first and the last entry of a list are followed.
    """
    if isinstance(data, dict):
        return [
            (f"{key}.{name}", {**data, key: changed})
            for key, value in data.items()
            for name, changed in [("gone", None), *changes_of(value)]
            if not (value is None and changed is None)
        ]
    if isinstance(data, list):
        changed = [("shorter", data[:-1]), ("longer", [*data, *data[-1:]])]
        for place in {0, len(data) - 1} if data else ():
            changed += [
                (f"{place}.{name}", [*data[:place], value, *data[place + 1 :]])
                for name, value in changes_of(data[place])
            ]
        return changed
    if isinstance(data, bool) or data is None:
        return []
    if isinstance(data, (int, float)):
        values = [-(2**40), 2**70, 1e300, "1", [data], None, float("nan")]
        return [(repr(value), value) for value in values]
    return [(repr(value), value) for value in (data[:-1], data + "0", "", 7, "zz" + data[2:])]


@pytest.mark.parametrize(("strategy", "delta"), KINDS)
def test_damaged_models_are_refused_or_harmless(strategy, delta, make_forest, table):
    """Any one change is refused with our error, or predicts finite probabilities."""
    X, y = table(N)
    forest = make_forest(strategy=strategy, delta=delta, random_state=0).fit(X, y)
    facts = table_facts(forest._encoder_, None)
    entry = STRATEGIES[strategy]
    codes = forest._encoder_.encode_features(X)[0].codes
    refused = 0
    changes = changes_of(forest.model_.to_data())
    for name, data in changes:
        try:
            model = entry.read(data, facts)
        except ModelFormatError as error:
            assert "again." in str(error) or "not a dpforest" in str(error)
            refused += 1
            continue
        scores = model.log_odds(codes)
        assert scores.shape == (N, 2) and np.isfinite(scores).all(), name
        assert np.isfinite(model.feature_importances()).all(), name
    assert refused > 0.6 * len(changes) > 10
    for data in (None, [], "text", {}, 3):
        with pytest.raises(ModelFormatError):
            entry.read(data, facts)


# -- an epsilon too small for the table ------------------------------------------------------


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")
@pytest.mark.parametrize(("strategy", "delta"), [("auto", 0), ("auto", DELTA), *KINDS])
@pytest.mark.parametrize("signal", [0.3, 1.5])
@pytest.mark.parametrize("bought", [False, True])
def test_a_tiny_epsilon_is_no_worse_than_the_noisy_prior(
    strategy, delta, signal, bought, make_forest, table, domain
):
    """Mean test log loss over 20 seeds: at most the released noisy prior's + its standard error.

    The noisy prior is a class histogram released with the whole budget, each count at least 1.
    """
    n = 200
    domain = domain.model_copy(update={"approximate_rows": None if bought else n})
    epsilon = epsilon_of_signal(signal, n, 0 if strategy in ("auto", "rules") else delta)
    test_X, test_y = table(400, seed=999)
    own, prior = [], []
    for seed in range(20):
        X, y = table(n, seed=seed)
        forest = make_forest(
            strategy=strategy, delta=delta, epsilon=epsilon, domain=domain, random_state=seed
        ).fit(X, y)
        own.append(log_loss(forest.predict_proba(test_X), test_y))
        released = noisy_prior(y, epsilon, seed)
        prior.append(log_loss(np.tile(released, (len(test_y), 1)), test_y))
    standard_error = float(np.std(prior, ddof=1)) / 20**0.5
    assert np.mean(own) <= np.mean(prior) + standard_error


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")
@pytest.mark.parametrize("delta", [0, DELTA])
def test_far_below_what_teaches_the_whole_budget_goes_to_the_prior(
    delta, make_forest, table, declared
):
    forest = make_forest(epsilon=epsilon_of_signal(1.5, N, 0), delta=delta, domain=declared)
    X, y = table(N)
    probability = forest.fit(X, y).predict_proba(X)
    assert (probability == probability[0]).all()
    assert [part.name for part in forest.plan().parts] == ["prior"]
    assert forest.spent_.exact.epsilon == forest.epsilon
    assert not forest.feature_importances_.any()


def epsilon_of_signal(signal: float, rows: int, delta: Any) -> Fraction:
    """The epsilon at which a table of so many rows has this R."""
    if not delta:
        return Fraction(signal * 2**0.5 / rows).limit_denominator(10**9)
    low, high = Fraction(1, 10**6), Fraction(10)
    for _ in range(40):
        middle = ((low + high) / 2).limit_denominator(10**9)
        reached = LearnerBudget(middle, Fraction(delta)).signal(rows)
        low, high = (middle, high) if reached < signal else (low, middle)
    return high


def noisy_prior(labels: list[str], epsilon: Fraction, seed: int) -> np.ndarray:
    """Shares of ill and well from a released histogram."""
    grant = BudgetAccountant(epsilon).request(GeometricNoise(epsilon, Fraction(1)), role="test")
    counts = np.array([labels.count("ill"), labels.count("well")])
    noisy = np.maximum(add_geometric_noise(counts, grant, SeededSource(1000 + seed)), 1)
    return noisy / noisy.sum()


def log_loss(probability: np.ndarray, labels: list[str]) -> float:
    likely = np.where(np.array(labels) == "ill", probability[:, 0], probability[:, 1])
    return float(-np.log(likely).mean())
