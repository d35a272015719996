"""The public rule that picks a learner, beside a twin in the words of docs/private_forest.md.

And that people can ask for what it picks, and for nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpforest import ParameterError, PrivateForestClassifier, PrivateForestRegressor
from dpforest.accounting.releases import LearnerBudget
from dpforest.dask import DaskPrivateForestClassifier, DaskPrivateForestRegressor
from dpforest.estimators.earlier import GONE
from dpforest.trees.base import TableFacts
from dpforest.trees.curves.at_once.columns import MOST_KNOTS
from dpforest.trees.strategies import ASKED, STRATEGIES, pick_strategy

DOCS = Path(__file__).parents[2] / "docs"
FORESTS = (
    PrivateForestClassifier, PrivateForestRegressor, DaskPrivateForestClassifier,
    DaskPrivateForestRegressor,
)  # fmt: skip
FIVE = {"rules", "one_shot", "refitted", "boosted", "additive"}

DELTA = Fraction(1, 10**8)
WIDTHS = (1, 2, 3, 4, 5, 15, 17, 18, 20, 40, 100, 400)
DRAWS = 20_000


@pytest.fixture(scope="module")
def budgets():
    """Some budgets of both currencies; working one out takes long, asking it does not."""
    return [
        LearnerBudget(Fraction(text), delta)
        for delta in (Fraction(0), DELTA)
        for text in ("0.02", "0.1", "0.5", "1", "2", "5", "8.9", "9", "10", "17", "18", "30")
    ]


def made_facts(random):
    """Facts of a table of any shape, classes or a target, in memory or not."""
    width = int(random.choice(WIDTHS))
    ordered = random.random(width) < random.choice([0, 0.05, 0.1, 0.5, 0.8, 0.9, 1])
    codes = np.where(ordered, random.choice([5, 40, 250]), random.integers(2, 40, width))
    of_means = bool(random.random() < 0.25)
    return TableFacts(
        codes.astype(np.int64), ordered, np.zeros(width, dtype=bool), (None,) * width,
        2 if of_means else int(random.choice([2, 2, 2, 3, 4, 12, 13, 26])),
        float(round(10 ** random.uniform(1, 6.5))),
        unit=100 if of_means else 1, in_memory=bool(random.random() < 0.6),
    )  # fmt: skip


def columns_of(facts, n_knots=MOST_KNOTS):
    """Columns of curves at once, with so many knots of an ordered feature."""
    knots = np.minimum(facts.n_codes, n_knots)
    return np.where(facts.ordered, knots, facts.n_codes).sum()


def as_documented(facts, epsilon, has_delta, signal):
    """The first row of the page's tables that fits."""
    if facts.unit > 1:
        return of_a_target(facts, has_delta, signal)
    level = signal * (2 / facts.n_classes) ** 0.5
    rows = of_classes_with_delta if has_delta else of_classes_in_pure_epsilon
    found = rows(facts, epsilon, level)
    if found or facts.in_memory:
        return found or "rules"
    if signal < 5:
        return "rules"
    return "refitted" if has_delta or level >= 200 else "one_shot"


def of_a_target(facts, has_delta, signal):
    rows, width = facts.approximate_rows, facts.n_features
    quick = facts.in_memory and columns_of(facts, 2 if signal / width < 12 else MOST_KNOTS) <= 1000
    known = signal >= 100 and signal / width >= 5 or signal >= 40 and signal / width >= 8
    if not has_delta and quick and known and signal / width < 300:
        return "additive"
    if rows >= 2000 and signal >= (8000 if has_delta else 40_000):
        return "boosted"
    if has_delta:
        curves = signal >= 16 and signal / width**0.5 >= 7
        return "refitted" if curves or signal >= 400 else "one_shot"
    if signal >= 150 and signal / width >= 12:
        return "refitted"
    return "boosted" if signal >= 10_000 else "one_shot"


def of_classes_in_pure_epsilon(facts, epsilon, level):
    rows, classes = facts.approximate_rows, facts.n_classes
    few = 100 <= rows < 2000
    quick = facts.in_memory and columns_of(facts) <= 300
    limit = limit_of_two(facts) if classes == 2 else limit_of_more(facts)
    if classes == 2 and quick and level / facts.n_features >= 64:
        mixed = 0 < facts.ordered.mean() < 0.5
        if epsilon < 18 if few else rows >= 2000 and mixed and level < limit:
            return "additive"
    if few and (epsilon >= 9 if classes == 2 else classes <= 12 and level >= limit):
        return "refitted"
    if classes <= 12 and level >= limit:
        return "boosted"
    of_three = 12_000 if facts.ordered.mean() >= 0.8 else 5000
    from_there = {2: 16_000, 3: of_three}.get(classes, np.inf if classes <= 12 else 25_000)
    return "refitted" if rows >= 100 and level >= from_there else None


def limit_of_two(facts):
    width = facts.n_features
    if width >= 18 and facts.ordered.mean() >= 0.8:
        return 30_000 if facts.in_memory else 10_000
    if width < 4:
        return 100_000
    if facts.approximate_rows < 2000 or columns_of(facts) > 1000 or not facts.in_memory:
        return 200_000
    return min(max(1800 * width, 16_000), 200_000)


def limit_of_more(facts):
    if facts.ordered.mean() < 0.1:
        return 200_000
    return 80_000 if facts.in_memory else 60_000


def of_classes_with_delta(facts, epsilon, level):
    rows, width, ordered = facts.approximate_rows, facts.n_features, facts.ordered.mean()
    suited = ordered >= 0.8 or (width >= 18 and ordered >= 0.1)
    two = facts.n_classes == 2
    limit = (8000 if suited else 60_000) if two else (10_000 if suited else 20_000)
    if rows >= 2000 and level >= limit:
        return "boosted"
    if not facts.in_memory:
        return None
    least = 100 if two else 150
    return "refitted" if level >= min(max(least, 1.25 * width), 180) else None


def test_the_rule_is_what_the_page_says(budgets):
    random, seen = np.random.default_rng(0), Counter()
    for _ in range(DRAWS):
        facts, budget = made_facts(random), budgets[random.integers(len(budgets))]
        signal = budget.signal(facts.approximate_rows)
        told = as_documented(facts, float(budget.epsilon), budget.delta > 0, signal)
        assert pick_strategy(facts, budget) == told, (facts, budget.epsilon, budget.delta)
        seen[facts.unit > 1, budget.delta > 0, facts.in_memory, told] += 1
    # Every learner was met in every case that the page has it for.
    assert len(seen) == 27 and min(seen.values()) >= 10, seen


# -- what can be asked for -----------------------------------------------------------------------


def test_five_can_be_asked_for_and_each_is_picked_somewhere(budgets):
    """A learner that is picked nowhere is one more to choose from, and serves nobody."""
    random = np.random.default_rng(1)
    picked = Counter(
        pick_strategy(made_facts(random), budgets[random.integers(len(budgets))])
        for _ in range(4000)
    )
    assert set(picked) == set(ASKED) == FIVE and min(picked.values()) >= 10, picked


def is_taken(kind, strategy):
    """Whether a forest can be asked for a strategy; a refusal names what can be."""
    try:
        return kind(epsilon=1, strategy=strategy)._wanted().strategy == strategy
    except ParameterError as refused:
        assert refused.parameter == "strategy"
        return False


@pytest.mark.parametrize("kind", FORESTS)
def test_forests_take_these_names_and_auto(kind):
    known = {*STRATEGIES, *GONE, "auto", "forest", "MultinomialForestClassifier"}
    assert {name for name in known if is_taken(kind, name)} == {"auto", *FIVE}
    with pytest.raises(ParameterError) as refused:
        kind(epsilon=1, strategy="forest")._wanted()
    assert re.findall(r"'(\w+)'", refused.value.rule) == ["auto", *ASKED]


@pytest.mark.parametrize(("kind", "repair"), [
    (PrivateForestClassifier, "Use MultinomialForestClassifier."),
    (DaskPrivateForestClassifier, "Use DaskMultinomialForestClassifier."),
    (PrivateForestRegressor, "one of 'rules', 'one_shot', 'refitted', 'boosted', 'additive'."),
    (DaskPrivateForestRegressor, "one of 'rules', 'one_shot', 'refitted', 'boosted', 'additive'."),
])  # fmt: skip
def test_what_became_an_estimator_is_named(kind, repair):
    with pytest.raises(ParameterError, match="forest is an estimator of its own") as refused:
        kind(epsilon=1, strategy="multinomial")._wanted()
    assert str(refused.value).endswith(repair)


def test_pages_and_docstrings_list_the_same():
    page = (DOCS / "private_forest.md").read_text(encoding="utf-8")
    learners = page.partition("\n## The learners\n")[2].partition("\n## ")[0]
    assert re.findall(r'^\*\*[^*]+\*\* \(`"(\w+)"', learners, re.MULTILINE) == list(ASKED)
    design = (DOCS / "design.md").read_text(encoding="utf-8")
    rows = design.partition("\n## Strategies\n")[2].partition("\n\nWhat does not pay")[0]
    assert re.findall(r"^\| `(\w+)`", rows, re.MULTILINE) == list(ASKED)
    for kind in FORESTS[:2]:
        told = kind.__doc__.partition("\n    strategy : str")[2].partition("\n    max_records")[0]
        assert re.findall(r'``"(\w+)"``', told) == list(ASKED)
