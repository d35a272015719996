"""Plans of the private forest: read before any data, never above the budget."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpforest import BudgetAccountant, Domain, NumericFeature, PrivateForestClassifier
from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.fit_plan import COUNT_ROLE, COUNT_SHARE, count_event, table_facts
from dpforest.estimators.forecast import SHARES_GAINED, in_words, teaches
from dpforest.estimators.planning import budget_after, make_plan, planned
from dpforest.exceptions import ParameterError, ParameterTypeError
from dpforest.trees import strategies
from dpforest.trees.base import PRIOR_ROLE
from dpforest.trees.curves.at_once.columns import MOST_KNOTS, QUICK_COLUMNS
from dpforest.trees.rules.settings import TOO_SMALL_SIGNAL
from dpforest.trees.strategies import pick_strategy

KINDS = [
    ("rules", 0),
    ("rules", "1e-6"),
    ("refitted", "1e-6"),
    ("refitted", "0"),
    ("boosted", "1e-6"),
    ("boosted", "0"),
    ("additive", "1e-6"),
    ("additive", "0"),
    # Reports of such fits are planned again.
    ("multinomial", 0),
    ("multinomial", "1e-6"),
]


def facts_of(domain, rows):
    return table_facts(DomainEncoder(domain), rows)


def test_facts_are_the_encoder_s(domain):
    given = domain.features[0]
    missing = NumericFeature(name=given.name, lower=0, upper=100, missing=True)
    domain = domain.model_copy(update={"features": (missing, *domain.features[1:])})
    encoder = DomainEncoder(domain)
    facts = table_facts(encoder, 40.0)
    assert facts.n_codes.tolist() == list(encoder.n_codes)
    assert facts.has_missing_code.tolist() == [True, False, False]
    assert facts.ordered.tolist() == [True, False, True]
    assert facts.n_classes == 2 and facts.approximate_rows == 40.0
    for n_codes, is_ordered, scaled in zip(facts.n_codes, facts.ordered, facts.scaled, strict=True):
        assert (scaled is not None) == is_ordered
        if scaled is not None:
            assert scaled.shape == (n_codes,) and scaled.min() > 0 and scaled.max() < 1
    assert facts.scaled[0][-1] == 0.5 and (np.diff(facts.scaled[0][:-1]) > 0).all()
    assert (np.diff(facts.scaled[2]) > 0).all()


@pytest.mark.parametrize(("strategy", "delta"), KINDS)
@pytest.mark.parametrize("epsilon", ["0.001", "1", "50"])
@pytest.mark.parametrize("rows", [1, 400, 1e6])
def test_parts_add_up_to_the_loss_and_stay_below_the_budget(strategy, delta, epsilon, rows, domain):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    plan = make_plan(strategy, facts_of(domain, float(rows)), epsilon, delta)
    assert not plan.adaptive and plan.strategy == strategy
    total = plan.parts[0].loss
    for part in plan.parts[1:]:
        total = total + part.loss
    assert total == plan.loss
    budget = LearnerBudget(epsilon, delta)
    assert plan.loss.epsilon <= epsilon or plan.loss.rho <= budget.rho
    with BudgetAccountant(epsilon, delta).open_scope("fit", reserve=plan.loss):
        pass


@pytest.mark.parametrize(("strategy", "delta"), KINDS)
@pytest.mark.parametrize("epsilon", ["0.001", "1", "5000"])
def test_a_bought_count_leaves_room_in_either_currency(strategy, delta, epsilon, domain):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    waiting = make_plan(strategy, facts_of(domain, None), epsilon, delta)
    assert waiting.adaptive and waiting.plan is None and waiting.signal is None
    assert [part.name for part in waiting.parts] == [COUNT_ROLE]
    rest = budget_after(waiting.budget, waiting.count)
    for rows in (1.0, 300.0):
        settled = planned(strategy, facts_of(domain, rows), rest, waiting.count)
        assert settled.parts[0].loss == waiting.count.loss
        assert any(cap.covers(settled.loss) for cap in waiting.caps or (waiting.loss,))


@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 10**900), Fraction(1, 3)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1), Fraction(10**6)])
def test_the_count_takes_its_share_at_most(epsilon, delta):
    budget = LearnerBudget(epsilon, delta)
    loss = count_event(budget).loss
    assert 0 < loss.epsilon <= COUNT_SHARE * epsilon and loss.rho <= COUNT_SHARE * budget.rho
    assert count_event(LearnerBudget(epsilon, Fraction(0))).loss.epsilon == COUNT_SHARE * epsilon


def like(facts, signal, budget, wide, ordered, unit=1, n_classes=2):
    """Facts of so many features, some of them ordered, at a signal."""
    return replace(
        facts, n_codes=np.full(wide, 4), ordered=np.arange(wide) < ordered,
        has_missing_code=np.zeros(wide, dtype=bool), scaled=[None] * wide, unknown=(-1,) * wide,
        approximate_rows=signal / budget.signal(1.0), unit=unit, n_classes=n_classes,
    )  # fmt: skip


def widened(facts):
    """The same of so many features that no curve is known well."""
    wide = like(facts, 1.0, LearnerBudget(Fraction(1), Fraction(0)), QUICK_COLUMNS, 1)
    return replace(wide, approximate_rows=facts.approximate_rows)


#: On either side of a limit.
BELOW, ABOVE = 0.99, 1.01
WIDE = strategies.BOOSTED_FEATURES
BOOSTED = {
    2: (strategies.BOOSTED_SIGNAL, strategies.BOOSTED_SIGNAL_OF_NARROW),
    8: (2 * strategies.BOOSTED_SIGNAL_OF_MANY, 2 * strategies.BOOSTED_SIGNAL_OF_MANY_NARROW),
}


def check_rule_of_boosting(facts, budget):
    """Boosted forests take rows, and features or mostly ordered ones; else more rows."""
    for n_classes, (suited, narrow) in BOOSTED.items():
        for signal, wide, ordered, picked in [
            (ABOVE * suited, WIDE, 2, "boosted"),
            (BELOW * suited, WIDE, 2, "refitted"),
            (BELOW * suited, WIDE - 1, WIDE - 1, "refitted"),
            (ABOVE * suited, WIDE - 1, WIDE - 1, "boosted"),
            (BELOW * narrow, WIDE, 1, "refitted"),
            (ABOVE * narrow, WIDE, 1, "boosted"),
            (ABOVE * suited, 5, 4, "boosted"),
            (BELOW * narrow, 5, 3, "refitted"),
            (BELOW * suited, 5, 4, "refitted"),
            (ABOVE * narrow, 5, 3, "boosted"),
        ]:
            many = like(facts, signal, budget, wide, ordered, n_classes=n_classes)
            assert many.approximate_rows > strategies.BOOSTED_ROWS
            assert pick_strategy(many, budget) == picked, (n_classes, signal, wide, ordered)
            assert pick_strategy(replace(many, in_memory=False), budget) == picked
            means = replace(many, unit=2**16, n_classes=2)
            ours = "boosted" if signal >= strategies.BOOSTED_SIGNAL_OF_MEANS else "refitted"
            assert pick_strategy(means, budget) == ours
            few = replace(many, approximate_rows=strategies.BOOSTED_ROWS - 1)
            assert pick_strategy(few, LearnerBudget(Fraction(1000), budget.delta)) == "refitted"


#: R from which refitted forests come of three classes, and boosted ones of three and eight.
OF_THREE = 1.5**0.5 * strategies.PURE_REFITTED_SIGNAL_OF_THREE
OF_THREE_ORDERED = 1.5**0.5 * strategies.PURE_REFITTED_SIGNAL_OF_THREE_ORDERED
BOOSTED_OF_THREE = 1.5**0.5 * strategies.PURE_BOOSTED_SIGNAL_OF_MANY
BOOSTED_OF_EIGHT = 2 * strategies.PURE_BOOSTED_SIGNAL_OF_MANY
#: Classes of which no boosted forest comes in pure epsilon, and R from which refitted ones do.
TOO_MANY = strategies.MANY_CLASSES + 1
OF_TOO_MANY = (TOO_MANY / 2) ** 0.5 * strategies.PURE_REFITTED_SIGNAL_OF_VERY_MANY


#: R / D from which boosted forests begin with curves, and pass refitted ones by them.
OF_CURVES = strategies.PURE_BOOSTED_SIGNAL_OF_CURVES


@pytest.mark.parametrize(("signal", "wide", "ordered", "picked"), [
    (ABOVE * strategies.PURE_BOOSTED_SIGNAL, 4, 2, "boosted"),
    (BELOW * strategies.PURE_BOOSTED_SIGNAL, 4, 4, "refitted"),
    (ABOVE * strategies.PURE_BOOSTED_SIGNAL_OF_FEW, 3, 3, "boosted"),
    (BELOW * strategies.PURE_BOOSTED_SIGNAL_OF_FEW, 3, 3, "refitted"),
])  # fmt: skip
def test_boosted_forests_that_begin_with_no_curves_come_later(
    domain, signal, wide, ordered, picked
):
    """On streams, where a step of a minimum would take long, and of few records."""
    budget = LearnerBudget(Fraction(2**0.5), Fraction(0))
    facts = like(facts_of(domain, 1e5), signal, budget, wide, ordered)
    assert pick_strategy(replace(facts, in_memory=False), budget) == picked
    many = replace(facts, n_codes=np.full(wide, QUICK_COLUMNS), ordered=facts.ordered & False)
    assert pick_strategy(many, budget) == picked
    few = LearnerBudget(Fraction(signal / strategies.REFITTED_LEAST_ROWS * 2), Fraction(0))
    of_few = like(facts_of(domain, 1e5), signal, few, wide, ordered)
    assert of_few.approximate_rows < strategies.REFITTED_LEAST_ROWS
    assert pick_strategy(of_few, few) == ("boosted" if picked == "boosted" else "rules")


@pytest.mark.parametrize(("signal", "wide", "ordered", "n_classes", "picked"), [
    (ABOVE * OF_CURVES * 9, 9, 0, 2, "boosted"), (BELOW * OF_CURVES * 9, 9, 9, 2, "refitted"),
    (ABOVE * OF_CURVES * 30, 30, 2, 2, "boosted"), (BELOW * OF_CURVES * 30, 30, 0, 2, "refitted"),
    (ABOVE * strategies.PURE_REFITTED_SIGNAL, 4, 1, 2, "boosted"),
    (BELOW * strategies.PURE_REFITTED_SIGNAL, 4, 2, 2, "rules"),
    (ABOVE * strategies.PURE_BOOSTED_SIGNAL_OF_FEW, 3, 3, 2, "boosted"),
    (BELOW * strategies.PURE_BOOSTED_SIGNAL_OF_FEW, 3, 3, 2, "refitted"),
    (ABOVE * strategies.PURE_BOOSTED_SIGNAL, 120, 2, 2, "boosted"),
    (BELOW * strategies.PURE_BOOSTED_SIGNAL, 120, 60, 2, "refitted"),
    (ABOVE * strategies.PURE_REFITTED_SIGNAL, WIDE, 9, 2, "refitted"),
    (ABOVE * strategies.PURE_BOOSTED_SIGNAL_OF_WIDE, WIDE, 9, 2, "refitted"),
    (ABOVE * strategies.PURE_BOOSTED_SIGNAL_OF_WIDE, WIDE, WIDE, 2, "boosted"),
    (BELOW * strategies.PURE_BOOSTED_SIGNAL_OF_WIDE, WIDE, WIDE, 2, "refitted"),
    (ABOVE * strategies.PURE_BOOSTED_SIGNAL_OF_WIDE, WIDE - 1, WIDE - 1, 2, "refitted"),
    (BELOW * strategies.PURE_REFITTED_SIGNAL, WIDE, WIDE, 2, "rules"),
    (ABOVE * BOOSTED_OF_EIGHT, 3, 2, 8, "boosted"), (BELOW * BOOSTED_OF_EIGHT, 3, 2, 8, "rules"),
    (ABOVE * BOOSTED_OF_EIGHT, 11, 1, 8, "rules"),
    (ABOVE * BOOSTED_OF_EIGHT, 10, 1, 8, "boosted"),
    (BELOW * strategies.PURE_REFITTED_SIGNAL, 11, 6, 2, "rules"),
    (BELOW * OF_THREE, 11, 1, 3, "rules"), (ABOVE * OF_THREE, 11, 1, 3, "refitted"),
    (BELOW * OF_THREE_ORDERED, 5, 4, 3, "rules"), (ABOVE * OF_THREE_ORDERED, 5, 4, 3, "refitted"),
    (ABOVE * OF_THREE, 5, 4, 3, "rules"),
    (BELOW * OF_THREE, 3, 2, 3, "rules"), (ABOVE * OF_THREE, 3, 2, 3, "refitted"),
    (BELOW * BOOSTED_OF_THREE, 3, 2, 3, "refitted"), (ABOVE * BOOSTED_OF_THREE, 3, 2, 3, "boosted"),
    (ABOVE * BOOSTED_OF_THREE, 11, 1, 3, "refitted"),
    (BELOW * 2 * strategies.PURE_BOOSTED_SIGNAL, 11, 1, 8, "rules"),
    (ABOVE * 2 * strategies.PURE_BOOSTED_SIGNAL, 11, 1, 8, "boosted"),
    (ABOVE * OF_TOO_MANY, 3, 2, TOO_MANY, "refitted"),
    (BELOW * OF_TOO_MANY, 3, 2, TOO_MANY, "rules"), (1e6, 30, 2, TOO_MANY, "refitted"),
])  # fmt: skip
def test_the_rule_of_a_pure_epsilon(domain, signal, wide, ordered, n_classes, picked):
    budget = LearnerBudget(Fraction(2**0.5), Fraction(0))
    facts = like(facts_of(domain, 1e5), signal, budget, wide, ordered, n_classes=n_classes)
    assert pick_strategy(facts, budget) == picked


@pytest.mark.parametrize(("rows", "epsilon", "n_classes", "picked"), [
    (ABOVE, ABOVE, 2, "rules"), (BELOW, BELOW, 2, "rules"), (BELOW, ABOVE, 2, "refitted"),
    # Above the limit of boosted forests, too.
    (BELOW, 20.0, 2, "refitted"), (ABOVE, 20.0, 2, "boosted"),
    (0.45, ABOVE, 3, "rules"), (BELOW, 1.5, 3, "refitted"), (ABOVE, 0.4, 3, "rules"),
    (BELOW, 30.0, 8, "refitted"), (ABOVE, 30.0, 8, "boosted"), (0.2, 3.0, 8, "rules"),
    (None, ABOVE, 2, "rules"), (BELOW, 20.0, TOO_MANY, "refitted"),
])  # fmt: skip
def test_the_rule_of_few_records_and_a_large_pure_epsilon(domain, rows, epsilon, n_classes, picked):
    """One rule follows them too closely; of many classes trees need enough for each."""
    epsilon *= strategies.PURE_REFITTED_EPSILON
    rows = None if rows is None else rows * strategies.PURE_REFITTED_ROWS
    facts = replace(facts_of(domain, rows), n_classes=n_classes)
    facts = widened(facts) if n_classes == 2 else facts
    budget = LearnerBudget(Fraction(epsilon), Fraction(0))
    assert pick_strategy(facts, budget) == picked
    least = replace(facts, approximate_rows=BELOW * strategies.REFITTED_LEAST_ROWS)
    assert pick_strategy(least, budget) != "refitted", "of so few rules stay"
    shared = LearnerBudget.of_unit(Fraction(2 * epsilon), Fraction(0), 2)
    assert pick_strategy(facts, shared) == picked, "an epsilon of each record"


OF_STREAMS = strategies.PURE_STREAMED_SIGNAL


@pytest.mark.parametrize(("n_classes", "from_streams"), [
    (2, strategies.PURE_BOOSTED_SIGNAL), (8, strategies.PURE_BOOSTED_SIGNAL_OF_MANY_STREAMED),
])  # fmt: skip
@pytest.mark.parametrize(("limit", "factor", "picked"), [
    ("of", BELOW, "one_shot"), ("of", ABOVE, "refitted"),
    ("from", BELOW, "refitted"), ("from", ABOVE, "boosted"),
])  # fmt: skip
def test_the_rule_of_streams(domain, n_classes, from_streams, limit, factor, picked):
    """Of classes; a regression's is that of tables. Rules need all records at hand."""
    signal = factor * (OF_STREAMS if limit == "of" else from_streams)
    pure = LearnerBudget(Fraction(1), Fraction(0))
    times = (n_classes / 2) ** 0.5
    facts = replace(
        like(facts_of(domain, 1e5), times * signal, pure, 4, 2, n_classes=n_classes),
        in_memory=False,
    )
    assert pick_strategy(facts, pure) == picked
    times = (TOO_MANY / 2) ** 0.5
    many = like(facts_of(domain, 1e5), times * signal, pure, 4, 2, n_classes=TOO_MANY)
    ours = "refitted" if picked == "boosted" else picked
    assert pick_strategy(replace(many, in_memory=False), pure) == ours
    limit = strategies.PURE_BOOSTED_SIGNAL_WITHOUT_RULES
    wide = replace(like(facts, ABOVE * limit, pure, WIDE, WIDE), in_memory=False)
    assert pick_strategy(wide, pure) == "boosted"
    both = LearnerBudget(Fraction(1), Fraction(1, 10**6))
    few = replace(facts, approximate_rows=ABOVE * TOO_SMALL_SIGNAL / both.signal(1.0))
    assert pick_strategy(few, both) == pick_strategy(replace(few, approximate_rows=None), both)
    assert pick_strategy(few, both) == "refitted"


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("n_classes", [2, 8, strategies.MANY_CLASSES + 1])
def test_a_hopeless_stream_releases_class_shares_alone(domain, n_classes, delta):
    """As a table in memory does: rules of no stage are one class histogram."""
    budget = LearnerBudget(Fraction(1), Fraction(delta))
    for factor in (BELOW, ABOVE):
        rows = factor * TOO_SMALL_SIGNAL / budget.signal(1.0)
        facts = replace(
            like(facts_of(domain, 1e5), 1.0, budget, 3, 2, n_classes=n_classes),
            in_memory=False, approximate_rows=rows,
        )  # fmt: skip
        plan = planned("auto", facts, budget)
        roles = [line.name for line in plan.parts]
        assert (plan.strategy == "rules") == (roles == [PRIOR_ROLE]) == (factor < 1), roles
        if factor < 1:
            assert plan.signal < TOO_SMALL_SIGNAL and not teaches(plan, plan.signal)


def test_the_rule_goes_by_public_signal_alone(domain):
    few, many = facts_of(domain, 50.0), facts_of(domain, 1e5)
    pure = LearnerBudget(Fraction(1), Fraction(0))
    both = LearnerBudget(Fraction(1), Fraction(1, 10**6))
    assert pick_strategy(few, pure) == pick_strategy(few, both) == "rules"
    picked = pick_strategy(many, pure), pick_strategy(many, both)
    assert picked == ("refitted", "refitted")
    check_rule_of_boosting(facts_of(domain, 1e5), both)


OF_TWO, OF_MORE = strategies.REFITTED_SIGNAL, strategies.REFITTED_SIGNAL_OF_MANY
OF_EACH, OF_WIDE = strategies.REFITTED_SIGNAL_OF_A_FEATURE, strategies.REFITTED_SIGNAL_OF_WIDE


@pytest.mark.parametrize("rows", [50.0, 1000.0, 4000.0])
@pytest.mark.parametrize(("wide", "ordered", "n_classes", "limit"), [
    (10, 1, 2, OF_TWO), (10, 0, 2, OF_TWO), (45, 45, 2, OF_TWO), (10, 1, 3, OF_MORE),
    (110, 0, 3, OF_MORE),
    # More features.
    (90, 90, 2, 90 * OF_EACH), (140, 140, 2, 140 * OF_EACH), (140, 0, 3, 140 * OF_EACH),
    (150, 150, 2, OF_WIDE), (999, 999, 2, OF_WIDE), (999, 0, 3, OF_WIDE),
])  # fmt: skip
def test_refitted_forests_pass_rules_with_a_delta(domain, rows, wide, ordered, n_classes, limit):
    """On either side of the limits, with or without the library that converts tightly."""
    for part in (BELOW, ABOVE):
        signal = part * limit * (n_classes / 2) ** 0.5 / rows
        rho = Fraction(signal) ** 2 / 2
        budget = LearnerBudget(Fraction(1), Fraction(1, 10**6), concentrated=rho)
        facts = like(facts_of(domain, 1e5), 1.0, budget, wide, ordered, n_classes=n_classes)
        facts = replace(facts, approximate_rows=rows)
        assert pick_strategy(facts, budget) == ("rules" if part < 1 else "refitted")


CURVES, PURE_CURVES = strategies.CURVE_SIGNAL, strategies.PURE_CURVE_SIGNAL
MEANS, PURE_LEAST = strategies.REFITTED_SIGNAL_OF_MEANS, strategies.PURE_LEAST_SIGNAL_OF_MEANS
LEAST = strategies.LEAST_SIGNAL_OF_MEANS
PURE_TREES = strategies.PURE_BOOSTED_SIGNAL_WITHOUT_RULES
#: So many features that their curves are known at none of the signals here.
MANY = 10_000


@pytest.mark.parametrize(("delta", "wide", "signal", "picked"), [
    (1e-6, 9, ABOVE * CURVES * 3, "refitted"), (1e-6, 9, BELOW * CURVES * 3, "one_shot"),
    (1e-6, MANY, ABOVE * MEANS, "refitted"), (1e-6, MANY, BELOW * MEANS, "one_shot"),
    (1e-6, 1, ABOVE * LEAST, "refitted"), (1e-6, 1, BELOW * LEAST, "one_shot"),
    (0, 15, ABOVE * PURE_CURVES * 15, "refitted"), (0, 15, BELOW * PURE_CURVES * 15, "one_shot"),
    (0, 7, BELOW * PURE_LEAST, "one_shot"), (0, 7, ABOVE * PURE_LEAST, "refitted"),
    (0, 1, BELOW * PURE_LEAST, "one_shot"), (0, 1, ABOVE * PURE_LEAST, "refitted"),
    (0, MANY, BELOW * PURE_TREES, "one_shot"), (0, MANY, ABOVE * PURE_TREES, "boosted"),
])  # fmt: skip
def test_a_regression_takes_curves_where_each_can_be_known(domain, delta, wide, signal, picked):
    budget = LearnerBudget(Fraction(1), Fraction(str(delta)))
    facts = like(facts_of(domain, 1e5), signal, budget, wide, 2, unit=2**16)
    assert pick_strategy(replace(facts, in_memory=False), budget) == picked
    if delta or wide == MANY:
        assert pick_strategy(facts, budget) == picked


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize(("delta", "limit"), [
    ("1e-6", strategies.BOOSTED_SIGNAL_OF_MEANS), ("0", strategies.PURE_BOOSTED_SIGNAL_OF_MEANS),
])  # fmt: skip
def test_drawn_splits_pass_random_ones_in_a_regression_of_many_records(
    domain, delta, limit, in_memory
):
    """From memory and from passes alike; of few records at a large epsilon they do not."""
    budget = LearnerBudget(Fraction(1), Fraction(delta))
    for factor, picked in ((BELOW, "refitted"), (ABOVE, "boosted")):
        facts = like(facts_of(domain, 1e5), factor * limit, budget, 12, 2, unit=2**16)
        assert pick_strategy(replace(facts, in_memory=in_memory), budget) == picked
    few = replace(facts, approximate_rows=BELOW * strategies.BOOSTED_ROWS)
    much = LearnerBudget(Fraction(1000), Fraction(delta))
    assert much.signal(few.approximate_rows) > limit
    assert pick_strategy(few, much) == "refitted"


OF_LITTLE = strategies.LEAST_AT_ONCE_SIGNAL_OF_LITTLE
OF_EACH_OF_LITTLE = strategies.AT_ONCE_SIGNAL_OF_LITTLE
LEAST_AT_ONCE, AT_ONCE_COLUMNS = strategies.LEAST_AT_ONCE_SIGNAL, QUICK_COLUMNS
OF_EACH_AT_ONCE, MOST_AT_ONCE = strategies.AT_ONCE_SIGNAL, strategies.MOST_AT_ONCE_SIGNAL
#: Features of four codes that have as many columns as there may be, with two knots and with four.
WIDEST_OF_LINES, WIDEST = AT_ONCE_COLUMNS // 2, AT_ONCE_COLUMNS // 4


@pytest.mark.parametrize(("wide", "signal", "picked"), [
    (1, BELOW * OF_LITTLE, "one_shot"), (1, ABOVE * OF_LITTLE, "additive"),
    (5, BELOW * OF_LITTLE, "one_shot"), (5, ABOVE * OF_LITTLE, "additive"),
    (8, BELOW * OF_EACH_OF_LITTLE * 8, "one_shot"), (8, ABOVE * OF_EACH_OF_LITTLE * 8, "additive"),
    (1, BELOW * MOST_AT_ONCE, "additive"), (1, ABOVE * MOST_AT_ONCE, "refitted"),
    (19, BELOW * LEAST_AT_ONCE, "one_shot"), (19, ABOVE * LEAST_AT_ONCE, "additive"),
    (60, BELOW * OF_EACH_AT_ONCE * 60, "one_shot"), (60, ABOVE * OF_EACH_AT_ONCE * 60, "additive"),
    (60, BELOW * MOST_AT_ONCE * 60, "additive"), (60, ABOVE * MOST_AT_ONCE * 60, "refitted"),
    (WIDEST_OF_LINES, ABOVE * OF_EACH_AT_ONCE * WIDEST_OF_LINES, "additive"),
    (WIDEST_OF_LINES + 1, ABOVE * OF_EACH_AT_ONCE * (WIDEST_OF_LINES + 1), "one_shot"),
    (WIDEST, ABOVE * PURE_CURVES * WIDEST, "additive"),
    (WIDEST + 1, BELOW * PURE_CURVES * (WIDEST + 1), "additive"),
    (WIDEST + 1, ABOVE * PURE_CURVES * (WIDEST + 1), "refitted"),
    (WIDEST + 1, BELOW * MOST_AT_ONCE * (WIDEST + 1), "boosted"),
])  # fmt: skip
def test_a_pure_regression_in_memory_takes_one_minimum(domain, wide, signal, picked):
    budget = LearnerBudget(Fraction(1), Fraction(0))
    facts = like(facts_of(domain, 1e5), signal, budget, wide, wide, unit=2**16)
    assert pick_strategy(facts, budget) == picked
    shared = LearnerBudget.of_unit(Fraction(3), Fraction(0), 3)
    assert pick_strategy(facts, shared) == picked, "an epsilon of each record"
    others = [
        pick_strategy(replace(facts, in_memory=False), budget),
        pick_strategy(
            replace(facts, unit=1, approximate_rows=strategies.PURE_REFITTED_ROWS), budget
        ),
        pick_strategy(facts, replace(budget, delta=Fraction(1, 10**6))),
        pick_strategy(replace(facts, approximate_rows=None), budget),
    ]
    assert "additive" not in others


OF_CLASSES, AT_ONCE_ROWS = strategies.AT_ONCE_SIGNAL_OF_CLASSES, strategies.PURE_REFITTED_ROWS


@pytest.mark.parametrize(("rows", "wide", "level", "picked"), [
    (ABOVE * strategies.REFITTED_LEAST_ROWS, 1, ABOVE, "additive"),
    (BELOW * strategies.REFITTED_LEAST_ROWS, 1, ABOVE, "rules"),
    (BELOW * AT_ONCE_ROWS, 20, ABOVE, "additive"), (BELOW * AT_ONCE_ROWS, 20, BELOW, "rules"),
    (ABOVE * AT_ONCE_ROWS, 20, ABOVE, "rules"), (BELOW * AT_ONCE_ROWS, 1, 10.0, "additive"),
])  # fmt: skip
def test_two_classes_of_few_records_take_one_minimum(domain, rows, wide, level, picked):
    """Where each curve is known, in memory; three classes, or any with a delta, do not."""
    epsilon = level * OF_CLASSES * wide * 2**0.5 / rows
    budget = LearnerBudget(Fraction(epsilon), Fraction(0))
    facts = like(facts_of(domain, 1e5), budget.signal(rows), budget, wide, wide)
    assert pick_strategy(facts, budget) == picked
    shared = LearnerBudget.of_unit(Fraction(3 * epsilon), Fraction(0), 3)
    assert pick_strategy(facts, shared) == picked, "an epsilon of each record"
    of_categories = replace(facts, n_codes=np.full(wide, 10**6), ordered=facts.ordered & False)
    others = [
        pick_strategy(replace(facts, in_memory=False), budget),
        pick_strategy(replace(facts, n_classes=3), budget),
        pick_strategy(facts, replace(budget, delta=Fraction(1, 10**6))),
        pick_strategy(replace(facts, approximate_rows=None), budget),
        pick_strategy(of_categories, budget),
    ]
    assert "additive" not in others


@pytest.mark.parametrize(("wide", "ordered", "picked"), [
    (20, 0, "rules"), (20, 1, "additive"), (20, 9, "additive"), (20, 10, "rules"),
    (20, 20, "rules"), (2, 1, "rules"), (3, 1, "additive"),
])  # fmt: skip
def test_two_classes_of_mostly_categories_take_one_minimum(domain, wide, ordered, picked):
    """Of many records where some features are ordered, up to the limit of boosted forests."""
    budget = LearnerBudget(Fraction(1), Fraction(0))
    rows = max(ABOVE * OF_CLASSES * wide * 2**0.5, AT_ONCE_ROWS)
    facts = replace(like(facts_of(domain, 1e5), 1.0, budget, wide, ordered), approximate_rows=rows)
    assert pick_strategy(facts, budget) == picked
    less = LearnerBudget(Fraction(BELOW * OF_CLASSES * wide * 2**0.5 / rows), Fraction(0))
    assert pick_strategy(facts, less) == "rules"
    limit = strategies._pure_boosted_signal(facts)
    for part, ours in ((BELOW, "additive"), (ABOVE, "boosted")):
        many = replace(facts, approximate_rows=part * limit * 2**0.5)
        found = pick_strategy(many, budget)
        assert found == ours if picked == "additive" or part > 1 else found != "additive"


@pytest.mark.parametrize(("n_codes", "picked"), [(100, "additive"), (101, "rules")])
def test_two_classes_of_few_records_take_a_minimum_of_few_columns(domain, n_codes, picked):
    """A fit of 1,000 columns takes seconds, and a few hundred records do not tell of them."""
    budget = LearnerBudget(Fraction(1), Fraction(0))
    facts = like(facts_of(domain, 1e5), budget.signal(1900.0), budget, 3, 0)
    assert strategies.AT_ONCE_COLUMNS_OF_CLASSES == 3 * 100
    assert pick_strategy(replace(facts, n_codes=np.full(3, n_codes)), budget) == picked


@pytest.mark.parametrize(("epsilon", "picked"), [(BELOW, "additive"), (ABOVE, "refitted")])
def test_of_a_large_epsilon_trees_tell_what_features_say_jointly(domain, epsilon, picked):
    budget = LearnerBudget(Fraction(epsilon * strategies.MOST_AT_ONCE_EPSILON), Fraction(0))
    assert strategies.MOST_AT_ONCE_EPSILON > strategies.PURE_REFITTED_EPSILON
    assert pick_strategy(facts_of(domain, 1000.0), budget) == picked


@pytest.mark.parametrize(("n_codes", "ordered", "picked"), [
    (MOST_KNOTS, True, "additive"), (10**6, True, "additive"),
    (MOST_KNOTS, False, "additive"),
    (MOST_KNOTS + 1, False, "refitted"),
])  # fmt: skip
def test_columns_of_a_minimum_are_knots_and_categories(domain, n_codes, ordered, picked):
    wide = AT_ONCE_COLUMNS // MOST_KNOTS
    budget = LearnerBudget(Fraction(1), Fraction(0))
    facts = like(facts_of(domain, 1e5), 20 * wide, budget, wide, wide * ordered, unit=2**16)
    facts = replace(facts, n_codes=np.full(wide, n_codes))
    assert pick_strategy(facts, budget) == picked


def test_rules_go_by_the_signal_of_a_pure_epsilon(domain):
    forest = PrivateForestClassifier(epsilon=1, delta=1e-6, domain=domain, strategy="rules")
    assert forest.plan(approximate_rows=4000).signal == pytest.approx(4000 / 2**0.5)


def test_a_plan_is_read_without_data_and_spends_nothing(domain):
    accountant = BudgetAccountant(1, delta=1e-6)
    forest = PrivateForestClassifier(
        epsilon=1, delta=1e-6, domain=domain, strategy="one_shot", accountant=accountant
    )
    before = vars(forest).copy()
    plan = forest.plan(approximate_rows=4000)
    assert vars(forest) == before and accountant.ledger == ()
    assert plan.strategy == "one_shot" and (plan.epsilon, plan.delta) == (1.0, 1e-6)
    assert sum(part.share for part in plan.parts) == pytest.approx(1)
    assert plan.teachable and plan.signal == pytest.approx(
        4000 * float(2 * LearnerBudget(Fraction(1), Fraction(1, 10**6)).rho) ** 0.5
    )
    assert plan.model_validate_json(plan.model_dump_json()) == plan
    assert not PrivateForestClassifier(epsilon="0.001").plan(domain, 100).teachable


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_rules_go_by_the_pure_epsilon_with_a_delta_too(delta, domain):
    plan = PrivateForestClassifier(epsilon=1, delta=delta).plan(domain, 30)
    assert plan.strategy == "rules" and plan.teachable
    assert plan.signal == pytest.approx(30 / 2**0.5)


def test_without_a_number_of_rows_the_plan_says_what_it_waits_for(domain):
    plan = PrivateForestClassifier(epsilon=2).plan(domain)
    assert plan.strategy == "auto" and plan.signal is None and plan.teachable is None
    assert "declare approximate_rows" in plan.forecast
    assert [(part.name, part.epsilon, part.share) for part in plan.parts] == [
        (COUNT_ROLE, 0.1, 0.05)
    ]
    assert "noisy count" in plan.details[COUNT_ROLE]


def test_declared_rows_serve_unless_others_are_given(domain):
    declared = domain.model_copy(update={"approximate_rows": 200})
    forest = PrivateForestClassifier(epsilon=1, domain=declared, strategy="one_shot")
    assert forest.plan().signal == pytest.approx(200 / 2**0.5)
    assert forest.plan(approximate_rows=np.float64(50.5)).signal == pytest.approx(50.5 / 2**0.5)
    assert forest.plan(domain).signal is None


@pytest.mark.parametrize("rows", [0, -1, float("nan"), float("inf"), True, "100", 10**309])
def test_a_number_of_rows_is_a_positive_number(rows, domain):
    with pytest.raises(ParameterError, match="approximate_rows=.*must be a positive number"):
        PrivateForestClassifier(epsilon=1).plan(domain, rows)


def test_a_plan_needs_a_domain():
    with pytest.raises(ParameterTypeError, match="^domain=None: a plan needs the public facts"):
        PrivateForestClassifier(epsilon=1).plan()
    with pytest.raises(ParameterTypeError, match="a plan needs the public facts"):
        PrivateForestClassifier(epsilon=1).plan({"age": (0, 1)})


def test_what_cannot_be_planned_is_refused(domain):
    for strategy in ("bagged", None, ["rules"]):
        with pytest.raises(ParameterError, match="strategy=.*must be one of 'auto', 'rules'"):
            PrivateForestClassifier(epsilon=1, strategy=strategy).plan(domain)


GAIN = "a forest without privacy gains over always naming the most frequent class"
FORECASTS = [
    ({"epsilon": "0.001"}, 100, "more than the shares of the classes"),
    ({"epsilon": 1}, 50, GAIN),
    ({"epsilon": 1, "delta": "1e-6"}, 10_000, GAIN),
]


@pytest.mark.parametrize(("parameters", "rows", "said"), FORECASTS)
def test_the_forecast_speaks_of_what_is_planned(parameters, rows, said, domain):
    plan = PrivateForestClassifier(**parameters).plan(domain, rows)
    assert said in plan.forecast
    assert ("without privacy gains" in plan.forecast) == plan.teachable
    shown = plan.forecast.removeprefix("R = ").split(":")[0]
    assert float(shown.replace(",", "")) == float(f"{plan.signal:.3g}")


@pytest.mark.parametrize(
    ("figure", "said"),
    [(0.0707, "0.0707"), (70.71, "70.7"), (9929.4, "9,930"), (1.2345e7, "12,300,000")],
)
def test_the_forecast_writes_figures_as_people_do(figure, said):
    assert in_words(figure) == said


def test_a_plan_is_a_few_lines_for_people(domain):
    plan = PrivateForestClassifier(epsilon=1, delta="1e-6").plan(domain, 10_000)
    first, second, head, _, *lines = str(plan).splitlines()
    assert first == "strategy refitted, epsilon=1, delta=1e-06"
    # What is too long goes on in the next line, below itself.
    parts = [" ".join(part.split()) for part in re.split(r"\n(?= *[0-9.]+%)", "\n".join(lines))]
    assert second == f"forecast: {plan.forecast}"
    assert head.split() == ["share", "part", "releases"]
    assert [line.split()[1] for line in parts] == [part.name.split()[0] for part in plan.parts]
    assert all(part.releases in line for part, line in zip(plan.parts, parts, strict=True))
    assert str(PrivateForestClassifier(epsilon=1).plan(domain)).startswith("strategy auto, epsilon")


@pytest.mark.parametrize(("strategy", "spent"), [("rules", 0.0), ("refitted", 1e-6)])
def test_a_plan_names_the_delta_that_the_guarantee_will_name(strategy, spent):
    domain = Domain(features={"a": (0, 9)}, classes=["n", "y"], approximate_rows=200)
    forest = PrivateForestClassifier(
        epsilon=1, delta=1e-6, domain=domain, strategy=strategy, random_state=0
    )
    plan = forest.plan()
    assert plan.delta == spent
    assert ("of delta=1e-06 nothing is spent" in str(plan)) == (spent == 0)
    assert forest.fit([[1]] * 200, ["n", "y"] * 100).guarantee_.delta == plan.delta
    unknown = domain.model_copy(update={"approximate_rows": None})
    assert forest.plan(unknown).delta == 1e-6


@pytest.mark.parametrize(
    ("rows", "pure", "with_delta"),
    [
        # The same plan, of whose delta nothing is spent.
        (60, "75 % or more.* 17 % gained nothing", "75 % or more.* 17 % gained nothing"),
        (80, "75 % or more.* 10 % gained nothing", "75 % or more.* 10 % gained nothing"),
        (3000, "90 % or more.* quarters 77 % or", "88 % or more.* quarters 78 % or"),
        (10**7, "89 % or more.* quarters 69 % or", "92 % or more.* quarters 81 % or"),
    ],
)
def test_a_forecast_of_classes_says_how_much_was_learnt_elsewhere(rows, pure, with_delta):
    """The range of the gain reads 0.00 to 0.44 for all two classes from R = 1000 on."""
    domain = Domain(features={"a": (0, 9)}, classes=["n", "y"], approximate_rows=rows)
    for delta, said in ((0, pure), (1e-8, with_delta)):
        plan = PrivateForestClassifier(epsilon=1, delta=delta, domain=domain).plan()
        assert re.search(said, plan.forecast) and "0.44" not in plan.forecast


def test_shares_that_were_learnt_are_those_of_the_page():
    page = (Path(__file__).parents[2] / "docs" / "choosing_epsilon.md").read_text("utf-8")
    cell = r"(\d+) / (\d+) / \d+, (\d+) %"
    rows = re.findall(rf"^\| (?:from )?([\d,]+)(?: to [\d,]+)? \| {cell} \| {cell} \|", page, re.M)
    figures = ([int(part.replace(",", "")) for part in row] for row in rows)
    assert [(row[0], tuple(row[1:4]), tuple(row[4:])) for row in figures] == list(SHARES_GAINED)
