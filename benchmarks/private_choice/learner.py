"""Training a few candidates on some records, and the paid choice of one on the others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest import BudgetAccountant, Domain
from dpforest.accounting.grants import Grant
from dpforest.accounting.releases import LearnerBudget
from dpforest.accounting.scopes import Scope
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.classifier import class_array, class_order
from dpforest.estimators.fit_plan import table_facts
from dpforest.mechanisms.entropy import RandomSource, SystemSource
from dpforest.mechanisms.selection import select_exponential
from dpforest.records.base import Chunk, MemoryRecords, Records, reveal
from dpforest.records.table import Table
from dpforest.trees.base import ReleasedModel
from dpforest.trees.rules.model import RuleModel
from dpforest.trees.strategies import STRATEGIES
from dpforest.trees.training import train_on
from private_choice.plan import (
    ROLE,
    TRAINING,
    TRAINING_SHARE,
    VALIDATION,
    ChoicePlan,
    build_plan,
    open_sides,
)


@dataclass(frozen=True)
class Chosen:
    """What a private choice released.

    Attributes
    ----------
    strategy : str
        Of the candidate that was chosen.
    model : ReleasedModel
    encoder : DomainEncoder
    spent : PrivacyLoss
    """

    strategy: str
    model: ReleasedModel
    encoder: DomainEncoder
    spent: Any

    @property
    def classes_(self) -> NDArray[Any]:
        """Classes in the order of the estimators'."""
        labels = class_array(self.encoder.domain)
        return labels[class_order(labels)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities, columns as ``classes_``."""
        codes = self.encoder.encode_to_predict(X)[0]
        scores = self.model.log_odds(codes)[:, class_order(class_array(self.encoder.domain))]
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)


def fit(
    X: Any,
    y: Any,
    domain: Domain,
    epsilon: float,
    delta: float = 0,
    candidates: tuple[str, ...] | None = None,
    source: RandomSource | None = None,
) -> Chosen:
    """Train candidates on one side of the records, and pay for the choice on the other.

    Parameters
    ----------
    X, y : array-like
    domain : Domain
        With classes and a number of rows.
    epsilon, delta : float
    candidates : tuple of str, optional
        Strategies by name; None takes the two that the public rule would look at.
    source : RandomSource, optional
        The default draws from the operating system.
    """
    encoder, accountant = DomainEncoder(domain), BudgetAccountant(epsilon, delta)
    facts = table_facts(encoder, domain.approximate_rows)
    total = accountant.total.exact
    plan = build_plan(facts, LearnerBudget(total.epsilon, total.delta), candidates)
    records = MemoryRecords(Table.of(encoder.encode(X, y)))
    with accountant.open_scope("private choice", reserve=plan.loss) as scope:
        strategy, model = train(plan, scope, source or SystemSource(), records)
    return Chosen(strategy, model, encoder, accountant.spent)


def train(
    plan: ChoicePlan, scope: Scope, source: RandomSource, records: Records
) -> tuple[str, ReleasedModel]:
    """Make the plan's requests in ``scope``, each before its data is read, and release.

    Notes
    -----
    **Claim**: what is returned costs ``plan.loss`` under add/remove of one record.
    **Proof**: each record draws its side by a secret word of its own, once, so the sides are
    parallel over records (docs/accounting.md): a record meets all candidates, one after the
    other, or the choice, given the candidates that were released. **Tests**:
    tests/benchmarks/test_private_choice.py.
    """
    sides = open_sides(scope)
    training, validation = split(records, source.spawn("sides"))
    models = []
    with training.threads():
        for name, own in zip(plan.names, plan.plans, strict=True):
            words = source.spawn("candidate", name)
            with sides.side(TRAINING).sequential(name, reserve=own.loss) as inside:
                learner = STRATEGIES[name].make()
                models.append(
                    train_on(learner, own, inside, words, training, plan.facts, lambda: None)
                )
    grant = sides.side(VALIDATION).request(plan.choice, role=ROLE)
    chosen = choose(models, validation, grant, source.spawn("choice"))
    return plan.names[chosen], models[chosen]


class Whole:
    """A look that hands all records on."""

    def look(self, table: Table) -> Table:
        """The table; secret."""
        return table


def split(records: Records, source: RandomSource) -> tuple[MemoryRecords, MemoryRecords]:
    """Records for training and for validation; each record's side is its own secret draw."""
    table = reveal(records.look(Whole()))
    words = source.rows().words(0, table.n_records)
    drawn = words < np.uint64(int(TRAINING_SHARE * 2**64))
    first, second = (_rows(table, rows) for rows in (drawn, ~drawn))
    return MemoryRecords(first, records.n_threads), MemoryRecords(second, records.n_threads)


def _rows(table: Table, rows: NDArray[np.bool_]) -> Table:
    codes = np.ascontiguousarray(table.codes[rows])
    return Table(
        codes, table.labels[rows], table.n_codes, table.offsets, table.ordered, table.n_classes
    )


@dataclass(frozen=True, slots=True, eq=False)
class Merits:
    """What each model gets right, shape (J,): of a record 0 or 1 for each.

    Attributes
    ----------
    models : list of ReleasedModel
    """

    models: list[Any]

    def count(self, chunk: Chunk) -> NDArray[np.int64]:
        """Merits on a chunk."""
        table = chunk.table
        merits = [
            (own_scores(model, table.codes).argmax(axis=1) == table.labels).sum()
            for model in self.models
        ]
        return np.array(merits, dtype=np.int64)


def own_scores(model: ReleasedModel, codes: NDArray[Any]) -> NDArray[np.float64]:
    """Class scores of records, to the last bit functions of each record alone.

    Trees are summed record by record. Soft shares of rules go through a product of matrices, whose
    last bit may go by a record's place, so rules are taken at the leaf that a record lies in.
    """
    flat = np.ascontiguousarray(codes)
    if isinstance(model, RuleModel):
        scores: NDArray[np.float64] = np.log(model.probabilities)[model.leaves(flat)]
        return scores
    return model.log_odds(flat)


def choose(models: list[Any], validation: Records, grant: Grant, source: RandomSource) -> int:
    """Pick a model by what it gets right.

    Notes
    -----
    **Claim**: the event's. **Relation**: add or remove one record. **Sensitivity**: a record adds
    to every model's merit 0 or 1, which follows from the released model and itself alone, so all
    merits move by something in [0, 1]: range 1. **Tests**:
    tests/benchmarks/test_private_choice.py.
    """
    merits = reveal(validation.sealed_total(Merits(models))).astype(np.float64)
    starts, ends = np.array([0]), np.array([len(models)])
    return int(select_exponential(merits, starts, ends, Fraction(1), grant, source)[0])
