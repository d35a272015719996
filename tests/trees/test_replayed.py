"""A model is made of what mechanisms released, and of nothing else that records hold.

Each learner is trained on a table and then, with the same releases handed out again, on one that
has hardly a record in common with it: every raw number on the way to the model would show. And
each release is of a count that was made after its grant.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant, grants
from dpforest.accounting.releases import LearnerBudget
from dpforest.audit.recording import compare, record
from dpforest.domain.targets import TARGET_STEPS
from dpforest.mechanisms.entropy import SeededSource
from dpforest.observation import Observer, set_observer
from dpforest.records.base import MemoryRecords, Query, RecordsAround, Secret
from dpforest.trees.additive.learner import AdditiveForest
from dpforest.trees.boosted.learner import BoostedForest
from dpforest.trees.boosted.settings import BoostedSettings, BoostedSize, PureSettings
from dpforest.trees.curves.in_turn.settings import InTurnSettings
from dpforest.trees.one_shot import OneShotForest
from dpforest.trees.one_shot.settings import OneShotSettings, OneShotSize
from dpforest.trees.refitted import RefittedForest
from dpforest.trees.refitted.settings import PureRefittedSettings, RefittedSettings, RefittedSize
from dpforest.trees.rules import RulesLearner, RulesSettings
from dpforest.trees.strategies import STRATEGIES
from dpforest.trees.training import train_on

DELTA = Fraction(1, 10**6)
RULES = RulesLearner(RulesSettings(n_sums=6, n_cuts=5))
FOREST = OneShotForest(OneShotSettings(fixed_size=OneShotSize(4, 3, (2,))))
ROUNDS = RefittedForest(
    RefittedSettings(fixed_size=RefittedSize(3, 4, 3), curves=InTurnSettings(cycles=3, max_bins=9)),
    PureRefittedSettings(
        fixed_size=RefittedSize(3, 4, 3),
        curves=InTurnSettings(pure_cycles=2, few_pure_cycles=2, max_bins=9),
    ),
)
LINEAR = RefittedForest(replace(ROUNDS.settings, curve_signal=float("inf")))
BOOSTED = BoostedForest(
    BoostedSettings(fixed_size=BoostedSize(3, 3)), PureSettings(fixed_size=BoostedSize(3, 2))
)
ADDITIVE = AdditiveForest(
    InTurnSettings(cycles=3, pure_cycles=2, few_pure_cycles=2, max_bins=9), at_once=None
)
AT_ONCE = STRATEGIES["additive"].make()


@dataclass(frozen=True)
class Case:
    """A learner with a budget and public facts; ``roles`` are those that its plan comes to."""

    learner: Any
    roles: set[str]
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    rows: float = 1000.0
    n_classes: int = 2
    unit: int = 1


MEANS = {"unit": TARGET_STEPS}
LEAVES = "leaf tables"
ALL_OF_ONE_SHOT = {"quantiles", LEAVES, "calibration"}
ALL_OF_ROUNDS = {
    "prior", "quantiles", "linear start: Gram matrix", "linear start: gradient", "tree selection",
    "leaf sums", "leaf corrections",
}  # fmt: skip
LOOK = "right answers less claimed ones"
ALL_OF_LEAVES = {"prior", "tree selection", "leaf sums", "leaf corrections"}
OF_TREES = {"prior", "node sums", "residual split selection", "residual leaf sums"}
OF_CURVES = {"prior", "records by bins", "residual sums of a feature"}
OF_MINIMA = {"prior", "minimum of a noisy objective"}
OF_COUNTS = {"node counts", "class split selection", "leaf counts"}
CASES = {
    "one-shot, prior and leaves": Case(FOREST, {"prior", LEAVES}, rows=50),
    "one-shot, all": Case(FOREST, ALL_OF_ONE_SHOT, rows=1e5),
    "one-shot, all, Gaussian": Case(FOREST, ALL_OF_ONE_SHOT, delta=DELTA, rows=1e5),
    "one-shot, all, four classes": Case(FOREST, ALL_OF_ONE_SHOT, rows=1e5, n_classes=4),
    "one-shot, a mean": Case(FOREST, {"prior"}, rows=3, **MEANS),
    "one-shot, a median": Case(FOREST, {"median of the target"}, rows=20, **MEANS),
    "one-shot, means": Case(FOREST, {"prior", *ALL_OF_ONE_SHOT}, rows=1e5, **MEANS),
    "one-shot, means, Gaussian": Case(
        FOREST, {"prior", *ALL_OF_ONE_SHOT}, delta=DELTA, rows=1e5, **MEANS
    ),
    "refitted, leaves": Case(ROUNDS, {*ALL_OF_LEAVES, LOOK}, delta=DELTA),
    "refitted, all": Case(ROUNDS, {*ALL_OF_ROUNDS, LOOK}, Fraction(8), DELTA, 3e4),
    "refitted, all, four classes": Case(ROUNDS, {*ALL_OF_ROUNDS, LOOK}, Fraction(8), DELTA, 1e5, 4),
    "refitted, means": Case(ROUNDS, ALL_OF_LEAVES, delta=DELTA, rows=50, **MEANS),
    "refitted, means, curves": Case(
        ROUNDS, {*OF_CURVES, *ALL_OF_LEAVES}, delta=DELTA, rows=300, **MEANS
    ),
    "refitted, means, all": Case(
        ROUNDS, {*OF_CURVES, "quantiles", *ALL_OF_LEAVES}, Fraction(8), DELTA, 1e6, **MEANS
    ),
    "refitted, means, linear": Case(LINEAR, ALL_OF_ROUNDS, Fraction(8), DELTA, 1e6, **MEANS),
    "refitted, pure": Case(ROUNDS, ALL_OF_LEAVES - {"leaf corrections"}),
    "refitted, pure, four classes": Case(
        ROUNDS, {"quantiles", *ALL_OF_LEAVES, LOOK} - {"leaf corrections"}, Fraction(8), rows=1e5,
        n_classes=4,
    ),
    "refitted, pure, means": Case(
        ROUNDS, {"quantiles", *OF_MINIMA, *ALL_OF_LEAVES} - {"leaf corrections"}, Fraction(8),
        rows=1e5, **MEANS,
    ),
    "boosted, public bins": Case(BOOSTED, OF_TREES, delta=DELTA),
    "boosted, all": Case(BOOSTED, {"quantiles", *OF_TREES}, Fraction(8), DELTA, 3e4),
    "boosted, all, four classes": Case(
        BOOSTED, {"quantiles", *OF_TREES, "leaf corrections", LOOK}, Fraction(8), DELTA, 1e5, 4
    ),
    "boosted, means": Case(BOOSTED, {"quantiles", *OF_TREES}, Fraction(8), DELTA, 1e6, **MEANS),
    "boosted, pure": Case(BOOSTED, {"quantiles", *OF_TREES}, Fraction(8), rows=3e4),
    "boosted, pure, four classes": Case(
        BOOSTED, {"quantiles", *OF_TREES, *OF_COUNTS, LOOK}, Fraction(8), rows=1e5, n_classes=4
    ),
    "boosted, pure, means": Case(
        BOOSTED, {"quantiles", *OF_TREES}, Fraction(8), rows=1e6, **MEANS
    ),
    "additive": Case(ADDITIVE, OF_CURVES, delta=DELTA, rows=100),
    "additive, four classes": Case(ADDITIVE, OF_CURVES, Fraction(8), DELTA, 100, 4),
    "additive, four classes, all": Case(ADDITIVE, {*OF_CURVES, LOOK}, Fraction(8), DELTA, 1000, 4),
    "additive, means": Case(ADDITIVE, OF_CURVES, delta=DELTA, rows=100, **MEANS),
    "additive, pure": Case(ADDITIVE, OF_CURVES, rows=100),
    "additive, pure, four classes": Case(ADDITIVE, OF_CURVES, Fraction(8), rows=100, n_classes=4),
    "additive, pure, four classes, all": Case(
        ADDITIVE, {*OF_CURVES, LOOK}, Fraction(8), rows=1000, n_classes=4
    ),
    "additive, pure, means": Case(ADDITIVE, OF_CURVES, rows=100, **MEANS),
    "additive, at once": Case(AT_ONCE, OF_MINIMA, rows=100),
    "additive, at once, means": Case(AT_ONCE, OF_MINIMA, rows=1000, **MEANS),
    "rules, class shares": Case(RULES, {"prior"}, rows=3),
    "rules, one stage": Case(RULES, {"rules, stage 1"}, rows=40),
    "rules, counted": Case(RULES, {"rules, stage 1", "leaf counts"}, rows=1000),
    "rules, counted before a stage": Case(
        RULES, {"rules, stage 2", "leaf counts before stage 2", "leaf counts"}, rows=2000
    ),
    "rules, more stages": Case(
        RULES, {"rules, stage 1", "rules, stage 2", "leaf counts"}, rows=5000, n_classes=4
    ),
    "multinomial": Case(STRATEGIES["multinomial"].make(), {"feature selection", "leaf histogram"}),
    "multinomial, Gaussian": Case(
        STRATEGIES["multinomial"].make(), {"feature selection", "leaf histogram"}, delta=DELTA
    ),
}  # fmt: skip


@dataclass
class Training:
    """Trains a case's learner on tables; the books are those of the last one."""

    case: Case
    facts: Any
    books: BudgetAccountant = field(init=False)

    def __call__(self, records: Any) -> dict[str, Any]:
        case = self.case
        plan = case.learner.plan(self.facts, LearnerBudget(case.epsilon, case.delta))
        self.books = BudgetAccountant._unlimited()
        with self.books.open_scope("fit", reserve=plan.loss) as scope:
            model = train_on(
                case.learner, plan, scope, SeededSource(1), records, self.facts, lambda: None
            )
        return model.to_data()


@pytest.fixture
def tables(facts_of, table_of):
    """From a case to its facts and two tables: sizes, codes and labels are all other ones."""

    def make(case: Case) -> tuple[Any, Any, Any]:
        facts = facts_of([12, -4, 9, 150], case.n_classes, case.rows)
        facts = replace(facts, unit=case.unit)
        one = table_of(facts, 150, seed=1)
        other = table_of(facts, 90, seed=2, labels=np.arange(90) % 7 == 0)
        if case.unit > 1:
            targets = np.linspace(0, TARGET_STEPS, 150).astype(np.int32)
            one = replace(one, targets=targets, labels=np.zeros_like(one.labels))
            low = (targets[:90] // 9).astype(np.int32)
            other = replace(other, targets=low, labels=np.zeros_like(other.labels))
        return facts, one, other

    return make


@pytest.mark.parametrize("name", CASES)
def test_the_same_releases_make_the_same_model_whatever_the_records_are(name, tables):
    facts, one, other = tables(CASES[name])
    train = Training(CASES[name], facts)
    first = record(train, MemoryRecords(one))
    assert first.error is None
    assert {entry.role for entry in train.books.ledger} >= CASES[name].roles
    assert compare(first, record(train, MemoryRecords(other), first)) == ()


def test_every_learner_is_there():
    assert {case.learner.name for case in CASES.values()} == set(STRATEGIES)


class Watched(RecordsAround):
    """Records that note when they are counted."""

    def sealed_total(self, query: Query) -> Secret[np.ndarray]:
        self.log.append(("counted", None))
        return self.records.sealed_total(query)

    def look(self, view: Any) -> Secret[Any]:
        self.log.append(("counted", None))
        return self.records.look(view)


class Noting(Observer):
    """An observer that notes which grant each release consumes."""

    def __init__(self, log: list) -> None:
        self._log = log

    def release(self, name: str, grant: Any, public: Any, draw: Any) -> Any:
        if grant is not None:
            self._log.append(("drawn", grant))
        return draw()


@pytest.mark.parametrize(
    "name",
    [n for n in CASES if CASES[n].learner in (FOREST, ROUNDS, LINEAR, ADDITIVE, AT_ONCE)],
)
def test_every_release_is_of_a_count_that_was_made_after_its_grant(name, tables, monkeypatch):
    facts, one, _ = tables(CASES[name])
    log: list[tuple[str, Any]] = []
    issue = grants.issue

    def noted(*arguments: Any) -> Any:
        grant = issue(*arguments)
        if grant.path[0] == "fit":  # a plan prices itself by asking too
            log.append(("granted", grant))
        return grant

    monkeypatch.setattr(grants, "issue", noted)
    records = Watched(MemoryRecords(one))
    object.__setattr__(records, "log", log)
    before = set_observer(Noting(log))
    try:
        Training(CASES[name], facts)(records)
    finally:
        set_observer(before)
    places = {id(grant): place for place, (what, grant) in enumerate(log) if what == "granted"}
    counted, unused = -1, set()
    for place, (what, grant) in enumerate(log):
        if what == "granted":
            unused.add(id(grant))
        elif what == "counted":
            assert unused, "nothing was asked for that this count could be for"
            counted = place
        else:
            assert places[id(grant)] < counted < place, grant.role
            unused.remove(id(grant))
    assert sum(what == "drawn" for what, _ in log) >= len(CASES[name].roles)
