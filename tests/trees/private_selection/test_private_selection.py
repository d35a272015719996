"""A private choice among learners: parallel records, exact merits, a paid draw."""

from __future__ import annotations

import json
import math
from fractions import Fraction as F

import numpy as np
import pytest

from dpforest import (
    BudgetAccountant,
    Domain,
    ParameterError,
    PrivateForestClassifier,
    PrivateForestRegressor,
    verify_report,
)
from dpforest.accounting.conversion import rho_of_epsilon
from dpforest.accounting.verify import verify_composition
from dpforest.domain.encoder import DomainEncoder
from dpforest.exceptions import ModelFormatError, ParameterTypeError
from dpforest.mechanisms.entropy import make_source
from dpforest.records.base import Block, MemoryRecords
from dpforest.records.table import TrainingTable
from dpforest.trees.private_selection import learner
from dpforest.trees.private_selection.learner import ERROR_STEPS, Merits, choose, split
from dpforest.trees.private_selection.plan import TRAINING_SHARE
from dpforest.trees.private_selection.squares import add_squared_errors

pytestmark = pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")
FEATURES = {"a": (0, 15), "b": ["x", "y"]}
DOMAIN = Domain(features=FEATURES, classes=[0, 1], approximate_rows=400)
MEANS = Domain(features=FEATURES, target=(0, 10), approximate_rows=400)
generator = np.random.default_rng(0)
X = np.column_stack([generator.integers(0, 16, 400), generator.integers(0, 2, 400)]).astype(float)
y = (X[:, 0] > 7).astype(int)
DELTA = 1e-6


def fit(**parameters) -> PrivateForestClassifier:
    given = {"epsilon": 2, "domain": DOMAIN, "strategy": "private_selection"} | parameters
    return PrivateForestClassifier(**given).fit(X, y)


CASES = [
    {},
    {"candidates": ["rules", "one_shot", "multinomial"]},
    {"delta": DELTA},
    {"delta": DELTA, "candidates": ("one_shot", "refitted")},
    {"delta": DELTA, "candidates": ["rules", "refitted"], "epsilon": 20},
    {"domain": DOMAIN.model_copy(update={"approximate_rows": None})},
    {"domain": DOMAIN.model_copy(update={"approximate_rows": None}), "delta": DELTA},
    {"max_records_per_unit": 2},
    {"max_records_per_unit": 2, "delta": DELTA, "candidates": ["one_shot", "refitted"]},
    {"accountant": BudgetAccountant(9, 1e-5), "delta": DELTA},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_everything_stands_in_one_report(case):
    forest = fit(**case)
    epsilon, delta = case.get("epsilon", 2), case.get("delta", 0)
    assert forest.guarantee_.status == "holds"
    assert 0.7 * epsilon <= forest.guarantee_.epsilon <= epsilon
    assert forest.guarantee_.delta in (0, delta)
    assert verify_composition(forest.accountant_.composition()) == ()
    verify_report(forest.privacy_report().to_json(), forest)
    again = PrivateForestClassifier.from_json(forest.to_json())
    assert np.array_equal(again.predict_proba(X), forest.predict_proba(X))
    assert again.model_.strategy == forest.model_.strategy
    assert forest.strategy_ == "private_selection"
    assert forest.feature_importances_.shape == (2,)
    assert forest.explain() is not None


def test_candidates_divide_the_budget_and_the_choice_has_all_of_it():
    forest = fit(candidates=["rules", "one_shot"])
    sides = next(s for s in forest._composition().walk() if s.kind == "parallel records")
    training, validation = sides.children
    assert sides.probabilities == {"training": "3/4", "validation": "1/4"}
    assert [child.composed.loss.epsilon for child in training.children] == [1, 1]
    assert training.composed.loss.epsilon == 2 == validation.composed.loss.epsilon
    assert forest.spent_.exact.epsilon == 2
    (entry,) = validation.entries
    assert (entry.role, entry.parameters["score_range"]) == ("private selection", "1")


def test_with_a_delta_they_divide_rho():
    forest = fit(delta=DELTA, candidates=["one_shot", "refitted"])
    cap = rho_of_epsilon(F(2), F(1, 10**6))
    sides = next(s for s in forest._composition().walk() if s.kind == "parallel records")
    training, validation = sides.children
    for child in training.children:
        assert 0.99 * cap / 2 < child.composed.loss.rho <= cap / 2
    assert 0.99 * cap < validation.composed.loss.rho <= cap
    assert forest.spent_.exact.rho <= cap


@pytest.mark.parametrize("n", [0, 1, 40_000])
def test_sides_are_each_records_own_draw(n):
    encoder = DomainEncoder(DOMAIN)
    rows = np.zeros((n, 2)) if n else np.empty((0, 2))
    table = TrainingTable.of(encoder.encode(rows, np.zeros(n, dtype=int)))
    training, validation = split(MemoryRecords(table), make_source(7))
    first, second = training.whole().n_records, validation.whole().n_records
    assert first + second == n
    # Seven standard deviations: error below 1e-11.
    assert abs(first - n * TRAINING_SHARE) <= 7 * math.sqrt(n * 3 / 16) + 1


def test_a_record_more_leaves_the_others_where_they_were():
    encoder = DomainEncoder(DOMAIN)
    table = TrainingTable.of(encoder.encode(X, y))
    less = TrainingTable.of(encoder.encode(X[:-1], y[:-1]))
    (a, b), (c, d) = (split(MemoryRecords(t), make_source(7)) for t in (table, less))
    sizes = [part.whole().n_records for part in (a, b, c, d)]
    assert (sizes[0] - sizes[2], sizes[1] - sizes[3]) in ((1, 0), (0, 1))
    assert np.array_equal(a.whole().codes[: sizes[2]], c.whole().codes)
    assert np.array_equal(b.whole().codes[: sizes[3]], d.whole().codes)


def test_candidates_learn_from_one_side_and_are_judged_on_the_other(monkeypatch):
    parts, judged = [], []

    def spied(*arguments):
        parts.append(split(*arguments))
        return parts[-1]

    def watched(models, validation, *rest):
        judged.append(validation)
        return choose(models, validation, *rest)

    monkeypatch.setattr(learner, "split", spied)
    monkeypatch.setattr(learner, "choose", watched)
    fit(epsilon=1, strategy="private_selection")
    assert len(parts) == len(judged) == 1
    assert judged[0] is parts[0][1]


class Always:
    """A model that says the same class, or mean, of everybody."""

    def __init__(self, odds: float) -> None:
        self.odds = odds

    def log_odds(self, codes):
        return np.column_stack([np.zeros(len(codes)), np.full(len(codes), self.odds)])


def coded(labels):
    rows = np.zeros((len(labels), 2))
    return MemoryRecords(TrainingTable.of(DomainEncoder(DOMAIN).encode(rows, labels)))


def test_merits_count_right_answers_and_a_record_moves_them_by_at_most_one():
    models = [Always(-1.0), Always(1.0)]
    assert coded([0, 0, 1]).total(Merits(models)).tolist() == [2, 1]
    assert coded([]).total(Merits(models)).tolist() == [0, 0]
    merits = [Merits(models).count(Block(coded(labels).whole())) for labels in ([0, 1], [0, 1, 1])]
    assert set((merits[1] - merits[0]).tolist()) <= {0, 1}


@pytest.mark.parametrize("odds", [-800.0, -1.0, 0.0, 3.0, 800.0])
def test_squared_errors_stay_on_the_lattice(odds):
    targets = np.arange(0, 2**16 + 1, 4096, dtype=np.int32)
    mean = 1 / (1 + math.exp(-max(min(odds, 700), -700)))
    for t in targets:
        steps = add_squared_errors(
            np.array([odds]), np.array([t], dtype=np.int32), 2**16, ERROR_STEPS
        )
        assert 0 <= steps <= ERROR_STEPS
        exact = (mean - t / 2**16) ** 2 * ERROR_STEPS
        assert exact - 1e-6 <= steps <= exact + 1 + 1e-6
    apart = sum(
        add_squared_errors(np.array([odds]), targets[i : i + 1], 2**16, ERROR_STEPS)
        for i in range(targets.size)
    )
    together = add_squared_errors(np.full(targets.size, odds), targets, 2**16, ERROR_STEPS)
    assert apart == together


def frequency(epsilon: F, runs: int = 4000) -> float:
    """How often the better of two models is chosen, which is right once more often."""
    from dpforest.accounting.events import ExponentialSelection

    records, models = coded([0, 0, 1]), [Always(-1.0), Always(1.0)]
    source = make_source(5)
    chosen = 0
    for _ in range(runs):
        grant = BudgetAccountant(100).request(ExponentialSelection(epsilon, F(1)), role="choice")
        chosen += choose(models, records, grant, source) == 0
    return chosen / runs


def test_the_choice_has_the_law_of_the_exponential_mechanism():
    # Seven standard deviations are .055: error below 1e-11; 30 % more or less in epsilon shows.
    law = [math.exp(e) / (1 + math.exp(e)) for e in (1.4, 2.0, 2.6)]
    found = frequency(F(2), 4000)
    assert abs(found - law[1]) < 7 * math.sqrt(law[1] * (1 - law[1]) / 4000)
    assert law[1] - law[0] > 0.055 and law[2] - law[1] > 0.045


def test_the_better_candidate_is_chosen_where_the_budget_allows():
    """Labels that no single split tells: rules of height two do, the prior alone does not."""
    chosen = {fit(epsilon=60, candidates=["rules", "one_shot"]).model_.strategy}
    assert chosen <= {"rules", "one_shot"}
    assert (fit(epsilon=60).predict(X) == y).mean() > 0.9


@pytest.mark.parametrize("case", [{"delta": DELTA}, {"delta": DELTA, "max_records_per_unit": 2}])
def test_means(case):
    forest = PrivateForestRegressor(
        epsilon=20, domain=MEANS, strategy="private_selection", **case
    ).fit(X, 10 * y)
    assert forest.model_.strategy in ("one_shot", "refitted")
    assert np.abs(forest.predict(X) - 10 * y).mean() < 3
    verify_report(forest.privacy_report().to_json(), forest)
    again = PrivateForestRegressor.from_json(forest.to_json())
    assert np.array_equal(again.predict(X), forest.predict(X))


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({"candidates": ["rules"]}, "at least two strategies, each once"),
        ({"candidates": []}, "at least two strategies, each once"),
        ({"candidates": ["rules", "rules"]}, "at least two strategies, each once"),
        ({"candidates": ["rules", "private_selection"]}, "must be one of '[^.]*'multinomial'. C"),
        ({"candidates": ["rules", "auto"]}, "must be one of"),
        ({"candidates": ["rules", "refitted"]}, "needs delta > 0"),
        ({"candidates": ["rules", "one_shot"], "strategy": "auto"}, 'is for strategy="private'),
    ],
)
def test_candidates_that_do_not_fit_are_refused(parameters, rule):
    accountant = BudgetAccountant(9)
    with pytest.raises(ParameterError, match=f"candidates=.*{rule}"):
        fit(accountant=accountant, **parameters)
    assert accountant.spent.epsilon == 0


def test_candidates_are_a_list():
    with pytest.raises(ParameterTypeError, match="candidates=.*must be a list of strategies"):
        fit(candidates="rules")


def test_means_without_a_delta_have_nothing_to_choose_from():
    forest = PrivateForestRegressor(epsilon=1, domain=MEANS, strategy="private_selection")
    with pytest.raises(ParameterError, match="strategy='private_selection': needs delta > 0"):
        forest.fit(X, 10 * y)
    with pytest.raises(ParameterError, match="candidates=.*needs delta > 0"):
        forest.set_params(candidates=["one_shot", "refitted"]).fit(X, 10 * y)
    with pytest.raises(ParameterError, match="must be strategies for this task"):
        forest.set_params(candidates=["rules", "one_shot"]).fit(X, 10 * y)


@pytest.mark.parametrize(
    ("key", "value"), [("kind", "other"), ("strategy", "private_selection"), ("strategy", "none")]
)
def test_damaged_models_are_refused(key, value):
    content = json.loads(fit().to_json())
    content["released"]["model"][key] = value
    with pytest.raises(ModelFormatError, match="is damaged"):
        PrivateForestClassifier.from_json(json.dumps(content))


def test_a_stream_is_refused_and_tables_without_records_fit():
    from dpforest.streams import BatchStream

    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN, strategy="private_selection")
    with pytest.raises(ParameterError, match="looks at all records at once"):
        forest.fit(BatchStream(lambda: iter([(X, y)])))
    assert forest.fit(np.empty((0, 2)), np.empty(0)).guarantee_.status == "holds"


def test_it_does_not_depend_on_threads():
    one, two = (fit(random_state=3, n_jobs=jobs) for jobs in (1, 2))
    assert one._released_to_data() == two._released_to_data()
