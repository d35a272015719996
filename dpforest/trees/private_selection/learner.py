"""Training a few candidates on some records, and the paid choice of one on the others."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.grants import Grant
from dpforest.accounting.scopes import Scope
from dpforest.domain.targets import TARGET_STEPS
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.selection import select_exponential
from dpforest.records.base import Block, MemoryRecords, Records
from dpforest.records.table import TrainingTable
from dpforest.trees.base import LearnerBudget, PartDone, ReleasedModel, TableFacts
from dpforest.trees.private_selection.model import SelectedModel
from dpforest.trees.private_selection.plan import (
    ROLE,
    TRAINING,
    TRAINING_SHARE,
    VALIDATION,
    SelectionPlan,
    build_plan,
    open_sides,
)
from dpforest.trees.private_selection.squares import add_squared_errors
from dpforest.trees.rules.model import RuleModel
from dpforest.trees.strategies import LEARNERS
from dpforest.trees.training import train_on

#: Steps of the lattice on which a record's squared error is counted.
ERROR_STEPS = 2**20


@dataclass(frozen=True, slots=True)
class PrivateSelection:
    """A private choice among learners by records that none of them saw.

    Parameters
    ----------
    candidates : tuple of str, optional
        Strategies by name.
    """

    candidates: tuple[str, ...] | None = None
    name: ClassVar[str] = "private_selection"

    def plan(self, facts: TableFacts, budget: LearnerBudget) -> SelectionPlan:
        """Make a plan that costs at most the budget, from public facts alone."""
        return build_plan(facts, budget, self.candidates)

    def train(
        self,
        plan: SelectionPlan,
        scope: Scope,
        source: RandomSource,
        records: Records,
        facts: TableFacts,
        part_done: PartDone,
    ) -> SelectedModel:
        """Make the plan's requests in ``scope``, each before its data is read, and release.

        Notes
        -----
        **Claim**: what is returned costs ``plan.loss`` under add/remove of one record.
        **Proof**: each record draws its side by a secret word of its own, once, so the sides are
        parallel over records (docs/accounting.md): a record meets all candidates, one after the
        other, or the choice, given the candidates that were released. **Tests**:
        tests/trees/private_selection.
        """
        sides = open_sides(scope)
        training, validation = split(records, source.spawn("sides"))
        models = []
        with training.threads():
            for name, own in zip(plan.names, plan.plans, strict=True):
                words = source.spawn("candidate", name)
                with sides.side(TRAINING).sequential(name, reserve=own.loss) as inside:
                    learner = LEARNERS[name].make()
                    models.append(
                        train_on(learner, own, inside, words, training, plan.facts, part_done)
                    )
        grant = sides.side(VALIDATION).request(plan.choice, role=ROLE)
        chosen = choose(models, validation, grant, source.spawn("choice"))
        part_done()
        return SelectedModel(plan.names[chosen], models[chosen])


def split(records: Records, source: RandomSource) -> tuple[MemoryRecords, MemoryRecords]:
    """Records for training and for validation; each record's side is its own secret draw."""
    table = records.whole()
    words = source.rows().words(0, table.n_records)
    drawn = words < np.uint64(int(TRAINING_SHARE * 2**64))
    first, second = (_rows(table, rows) for rows in (drawn, ~drawn))
    return MemoryRecords(first, records.n_threads), MemoryRecords(second, records.n_threads)


def _rows(table: TrainingTable, rows: NDArray[np.bool_]) -> TrainingTable:
    targets = None if table.targets is None else table.targets[rows]
    codes = np.ascontiguousarray(table.codes[rows])
    return TrainingTable(
        codes, table.labels[rows], table.n_codes, table.offsets, table.ordered, table.n_classes,
        targets=targets,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Merits:
    """What each model gets right, shape (J,), in steps: of a record 0 to ``steps`` for each.

    Attributes
    ----------
    models : list of ReleasedModel
    """

    models: list[Any]

    def count(self, block: Block) -> NDArray[np.int64]:
        """Merits on a block."""
        table = block.table
        merits = [_merit(own_scores(model, table.codes), table) for model in self.models]
        return np.array(merits, dtype=np.int64)


def _merit(scores: NDArray[np.float64], table: TrainingTable) -> int:
    if table.targets is None:
        return int((scores.argmax(axis=1) == table.labels).sum())
    odds = np.ascontiguousarray(scores[:, 1] - scores[:, 0])
    lost = add_squared_errors(odds, table.targets, TARGET_STEPS, ERROR_STEPS)
    return int(ERROR_STEPS * table.n_records - lost)


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
    to every model's merit something in [0, 1] that follows from the released model and itself
    alone (1 where the class is right; for a mean 1 less its squared error in units of the bounds,
    rounded to a lattice), so all merits move by something in [0, 1]: range 1. **Tests**:
    tests/trees/private_selection/test_private_selection.py.
    """
    merits = validation.total(Merits(models)).astype(np.float64)
    unit = Fraction(1) if validation.schema.targets is None else Fraction(1, ERROR_STEPS)
    starts, ends = np.array([0]), np.array([len(models)])
    return int(select_exponential(merits, starts, ends, unit, grant, source)[0])
