"""The experiment of a private choice: parallel records, exact merits, a paid draw."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import private_selection
import pytest
from common import tables
from private_choice import learner
from private_choice.learner import Merits, choose, fit, split
from private_choice.plan import TRAINING, TRAINING_SHARE, VALIDATION, build_plan, open_sides

from dpforest import BudgetAccountant, Domain
from dpforest.accounting.conversion import rho_of_epsilon
from dpforest.accounting.events import ExponentialSelection, GeometricNoise
from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.fit_plan import table_facts
from dpforest.mechanisms.entropy import FixedWords, make_source
from dpforest.records.base import Chunk, MemoryRecords, reveal
from dpforest.records.table import Table

FEATURES = {"a": (0, 15), "b": ["x", "y"]}
DOMAIN = Domain(features=FEATURES, classes=[0, 1], approximate_rows=400)
generator = np.random.default_rng(0)
X = np.column_stack([generator.integers(0, 16, 400), generator.integers(0, 2, 400)]).astype(float)
y = (X[:, 0] > 7).astype(int)
DELTA = 1e-6


def plan_of(epsilon, delta=F(0), candidates=None):
    facts = table_facts(DomainEncoder(DOMAIN), DOMAIN.approximate_rows)
    return build_plan(facts, LearnerBudget(F(epsilon), delta), candidates)


@pytest.mark.parametrize("candidates", [None, ("rules", "refitted")])
def test_it_fits_and_costs_no_more_than_was_given(candidates):
    delta = DELTA if candidates else 0
    chosen = fit(X, y, DOMAIN, 20, delta, candidates, make_source(1))
    assert chosen.strategy in (candidates or ("rules", "one_shot"))
    assert 0.7 * 20 <= chosen.spent.exact.epsilon <= 20 or delta
    found = chosen.classes_[chosen.predict_proba(X).argmax(axis=1)]
    assert (found == y).mean() > 0.9


def test_candidates_divide_the_budget_and_the_choice_has_all_of_it():
    plan = plan_of(2, candidates=("rules", "one_shot"))
    assert [own.loss.epsilon for own in plan.plans] == [1, 1]
    assert plan.choice.epsilon == plan.loss.epsilon == 2


def test_with_a_delta_they_divide_rho():
    delta = F(1, 10**6)
    cap = rho_of_epsilon(F(2), delta)
    plan = plan_of(2, delta, ("one_shot", "refitted"))
    for own in plan.plans:
        assert 0.99 * cap / 2 < own.loss.rho <= cap / 2
    assert 0.99 * cap < plan.choice.loss.rho <= cap
    assert plan.loss.rho == max(sum(own.loss.rho for own in plan.plans), plan.choice.loss.rho)
    with_rules = plan_of(2, delta, ("rules", "refitted"))
    assert sum(own.loss.rho for own in with_rules.plans) <= cap


def test_sides_are_priced_as_they_are_drawn():
    accountant = BudgetAccountant(10)
    with accountant.open_scope("choice") as scope:
        sides = open_sides(scope)
        for side, epsilon in ((TRAINING, 2), (VALIDATION, 0.5)):
            sides.side(side).request(GeometricNoise(F(epsilon), F(1)), role="count")
    price = 0.75 * math.exp(2) + 0.25 * math.exp(0.5)
    assert float(accountant.loss.epsilon) == pytest.approx(math.log(price), abs=1e-12)
    # The last word of the likelier side, and the first of the other one.
    words = np.array([3 * 2**62 - 1, 3 * 2**62], dtype=np.uint64)
    training, validation = split(coded([0, 1]), FixedWords(words))
    assert training._table.labels.tolist() == [0]
    assert validation._table.labels.tolist() == [1]


@pytest.mark.parametrize("n", [0, 1, 40_000])
def test_sides_are_each_records_own_draw(n):
    rows = np.zeros((n, 2)) if n else np.empty((0, 2))
    table = Table.of(DomainEncoder(DOMAIN).encode(rows, np.zeros(n, dtype=int)))
    training, validation = split(MemoryRecords(table), make_source(7))
    first, second = training._table.n_records, validation._table.n_records
    assert first + second == n
    # Seven standard deviations: error below 1e-11.
    assert abs(first - n * TRAINING_SHARE) <= 7 * math.sqrt(n * 3 / 16) + 1


def test_a_record_more_leaves_the_others_where_they_were():
    encoder = DomainEncoder(DOMAIN)
    table = Table.of(encoder.encode(X, y))
    less = Table.of(encoder.encode(X[:-1], y[:-1]))
    (a, b), (c, d) = (split(MemoryRecords(t), make_source(7)) for t in (table, less))
    sizes = [part._table.n_records for part in (a, b, c, d)]
    assert (sizes[0] - sizes[2], sizes[1] - sizes[3]) in ((1, 0), (0, 1))
    assert np.array_equal(a._table.codes[: sizes[2]], c._table.codes)
    assert np.array_equal(b._table.codes[: sizes[3]], d._table.codes)


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
    fit(X, y, DOMAIN, 1, source=make_source(2))
    assert len(parts) == len(judged) == 1
    assert judged[0] is parts[0][1]


class Always:
    """A model that says the same class of everybody."""

    def __init__(self, odds: float) -> None:
        self.odds = odds

    def log_odds(self, codes):
        return np.column_stack([np.zeros(len(codes)), np.full(len(codes), self.odds)])


def coded(labels):
    rows = np.zeros((len(labels), 2))
    return MemoryRecords(Table.of(DomainEncoder(DOMAIN).encode(rows, labels)))


def test_merits_count_right_answers_and_a_record_moves_them_by_at_most_one():
    models = [Always(-1.0), Always(1.0)]
    assert reveal(coded([0, 0, 1]).sealed_total(Merits(models))).tolist() == [2, 1]
    assert reveal(coded([]).sealed_total(Merits(models))).tolist() == [0, 0]
    merits = [Merits(models).count(Chunk(coded(labels)._table)) for labels in ([0, 1], [0, 1, 1])]
    assert set((merits[1] - merits[0]).tolist()) <= {0, 1}


def test_the_choice_has_the_law_of_the_exponential_mechanism():
    records, models, source = coded([0, 0, 1]), [Always(-1.0), Always(1.0)], make_source(5)
    chosen = 0
    for _ in range(4000):
        grant = BudgetAccountant(100).request(ExponentialSelection(F(2), F(1)), role="choice")
        chosen += choose(models, records, grant, source) == 0
    # Seven standard deviations are .036: error below 1e-11; 30 % more or less in epsilon shows.
    law = [math.exp(e) / (1 + math.exp(e)) for e in (1.4, 2.0, 2.6)]
    assert abs(chosen / 4000 - law[1]) < 7 * math.sqrt(law[1] * (1 - law[1]) / 4000)
    assert law[1] - law[0] > 0.045 and law[2] - law[1] > 0.045


@pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")
def test_a_line_of_the_comparison(capsys):
    private_selection.compare(tables.Table("small", X, y, DOMAIN), 2.0, 0.0, 2)
    cells = capsys.readouterr().out.split(" | ")
    assert cells[0] == "| small" and len(cells) == 9
