"""Plans of a fit: which learner, with what, before any data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpforest.accounting.certificates import Certificate
from dpforest.accounting.events import GeometricNoise
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.rationals import sqrt_in_steps
from dpforest.accounting.releases import LearnerBudget, Plan, PlanLine
from dpforest.accounting.units import group_loss
from dpforest.domain.domain import MOST_ROWS
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.targets import TARGET_STEPS
from dpforest.exceptions import ParameterError
from dpforest.trees.base import ALL_FIXED, FIXED, Learner, TableFacts, unit_words
from dpforest.trees.rules.settings import TOO_SMALL_SIGNAL
from dpforest.trees.strategies import NOT_STREAMED

#: Share of epsilon that buys a noisy number of records where none is declared. Whatever the table,
#: that puts a noise of about 1 / share on R: much where R is small, nothing where it is large.
COUNT_SHARE = Fraction(1, 20)
#: Role of that count in the ledger.
COUNT_ROLE = "number of records"
#: In a plan's words, the number that came of it.
COUNTED = "noisy number of records"
#: Role of the counts that a regression's range is made of, and the share of epsilon for them.
RANGE_ROLE = "range of the target"
RANGE_SHARE = Fraction(1, 20)
#: Least epsilon times rows of those counts.
RANGE_SIGNAL = 45.0
#: Below this R "auto" releases nothing of classes but their noisy shares, and a fit warns.
HOPELESS_SIGNAL = TOO_SMALL_SIGNAL


@dataclass(frozen=True, slots=True)
class FitRequest:
    """The fit that an estimator's parameters ask for; they were checked.

    Attributes
    ----------
    budget : LearnerBudget
        For a privacy unit: what the whole fit may cost, the number of records included.
    strategy : str
        Name of a learner, or ``"auto"``.
    learner : Learner or None
        Where its settings are given. No number of records is bought for it, since none of its
        settings would go by that.
    thresholds : str
        ``"cells"`` or ``"lattice"``.
    """

    budget: LearnerBudget
    strategy: str
    learner: Learner | None = None
    thresholds: str = "cells"

    def check_streamable(self) -> None:
        """Refuse what cannot be learnt pass by pass.

        Raises
        ------
        ParameterError
        """
        if self.strategy in NOT_STREAMED:
            raise ParameterError(
                "strategy", self.strategy,
                "looks at all records at once, which a stream does not have",
                'Use "auto", "one_shot", "refitted", "boosted" or "additive"',
            )  # fmt: skip
        if self.thresholds == "lattice":
            raise ParameterError(
                "thresholds", self.thresholds,
                "needs all records in order, which a stream does not have",
                'Use thresholds="cells"',
            )  # fmt: skip


def table_facts(
    encoder: DomainEncoder, approximate_rows: float | None, in_memory: bool = True
) -> TableFacts:
    """Public facts about the table that an encoder makes."""
    classes, is_regression = encoder.domain.classes, encoder.task == "regression"
    missing = np.array([f.missing for f in encoder.domain.features], dtype=np.bool_)
    return TableFacts(
        n_codes=encoder.n_codes,
        ordered=encoder.ordered,
        has_missing_code=missing,
        scaled=tuple(
            _scaled(int(n), bool(m)) if ordered and encoder.thresholds == "cells" else None
            for n, m, ordered in zip(encoder.n_codes, missing, encoder.ordered, strict=True)
        ),
        n_classes=2 if classes is None or is_regression else len(classes.labels),
        approximate_rows=approximate_rows,
        unit=TARGET_STEPS if is_regression else 1,
        in_memory=in_memory,
        unknown=encoder.unknown,
        listed=encoder.listed,
    )


def _scaled(n_codes: int, has_missing_code: bool) -> np.ndarray:
    """Place of each cell in the public order of cells, in (0, 1); 0.5 for a missing value."""
    n_cells = n_codes - has_missing_code
    middle = (np.arange(n_cells) + 0.5) / n_cells
    return np.append(middle, 0.5) if has_missing_code else middle


@dataclass(frozen=True, slots=True)
class FitPlan:
    """Plan of one fit: what it asks for.

    Attributes
    ----------
    strategy : str
        Name of the learner; ``"auto"`` where it waits for the noisy number of records.
    learner : Learner or None
    plan : Plan or None
        None where it waits for the noisy number of records.
    count : GeometricNoise or None
        Buys that number; None where it is declared.
    loss : PrivacyLoss
        Exact cost for a privacy unit; the caps where spending depends on the released number.
    signal : float or None
        R of the budget in the currency that the strategy spends, from the declared or released
        number of records; None where neither is known.
    facts : TableFacts
    budget : LearnerBudget
        What the learner may spend.
    target_range : GeometricNoise or None
        Buys the range of a regression's targets, where that is worth it.
    counted : int or None
        The noisy number of records that was bought, and that the rest was planned from.
    shared : bool
        Whether a certified plan is charged what it adds up to, beside other fits.
    """

    strategy: str
    learner: Learner | None
    plan: Plan[Any] | None
    count: GeometricNoise | None
    loss: PrivacyLoss
    signal: float | None
    facts: TableFacts
    budget: LearnerBudget
    target_range: GeometricNoise | None = None
    shared: bool = False
    counted: int | None = None

    @property
    def additive(self) -> PrivacyLoss:
        """Loss that counts beside other spending: for a certified list, what it adds up to."""
        if self.certificate is None:
            return self.loss
        size, bought = self.budget.records_per_unit, (self.count, self.target_range)
        losses = (group_loss(event.loss, size) for event in bought if event is not None)
        return sum(losses, start=self.certificate.additive)

    @property
    def certificate(self) -> Certificate | None:
        """Of the learner's list of releases, where that is composed as a whole."""
        return None if self.plan is None else self.plan.certificate

    @property
    def adaptive(self) -> bool:
        """True if spending depends on a released value.

        A certificate that follows another release counts as that too where its delta is then to
        be held for good (``accounting.certified``).
        """
        certified = self.certificate is not None and not self.shared
        return self.count is not None or (certified and self.target_range is not None)

    @property
    def caps(self) -> tuple[PrivacyLoss, ...]:
        """The most that either currency can come to, where a bought number decides between them.

        Elsewhere the rest is planned inside a fixed rest, and the whole has one reserve: ``loss``.
        """
        if self.count is None or self.budget.certified or self.budget.is_pure:
            return ()
        pure = PrivacyLoss.pure(self.budget.epsilon)
        concentrated = PrivacyLoss.concentrated(self.budget.rho)
        return tuple(group_loss(c, self.budget.records_per_unit) for c in (pure, concentrated))

    @property
    def parts(self) -> tuple[PlanLine, ...]:
        """Releases in order, as far as they are known, with their cost for a record."""
        bought = []
        if self.count is not None:
            bought.append(PlanLine(COUNT_ROLE, "a noisy count of all records", self.count.loss))
        if self.target_range is not None:
            text = "noisy counts of the target in a few cells"
            bought.append(PlanLine(RANGE_ROLE, text, self.target_range.loss))
        return *bought, *(self.plan.parts if self.plan is not None else ())

    def describe(self) -> dict[str, str]:
        """The plan in words, for the report."""
        words = {"strategy": self.strategy}
        if self.count is not None:
            words[COUNT_ROLE] = "bought: a noisy count, from which the rest of the plan is made"
        if self.counted is not None:
            words[COUNTED] = str(self.counted)
        if self.signal is not None:
            words["signal R"] = f"{self.signal:.4g}"
        words |= unit_words(self.budget.records_per_unit)
        if self.plan is not None:
            words |= self.plan.describe()
        return words | self._settled()

    def _settled(self) -> dict[str, str]:
        """Say in words what is fixed beforehand and what follows from a released value."""
        if self.count is None:
            return ALL_FIXED
        return {
            FIXED: "settings, the noisy count of records, and the most that all may cost",
            "decided by that noisy count": "strategy, sizes, noise and price of all that follows",
        }


def count_event(budget: LearnerBudget, share: Fraction = COUNT_SHARE) -> GeometricNoise:
    """Noisy counts of disjoint records, for at most a share of the budget in either currency."""
    epsilon = budget.epsilon * share
    if budget.delta:
        # Where epsilon is large or delta tiny, rho is the scarcer one: rho = epsilon^2 / 2.
        epsilon = min(epsilon, sqrt_in_steps(2 * budget.rho * share))
    return GeometricNoise(epsilon, Fraction(1))


def range_event(facts: TableFacts, budget: LearnerBudget) -> GeometricNoise | None:
    """The counts that a regression's range is made of; None where they would drown in noise."""
    if not facts.is_regression:
        return None
    event = count_event(budget, RANGE_SHARE)
    enough = float(event.epsilon) * (facts.approximate_rows or 0.0) >= RANGE_SIGNAL
    return event if enough else None


def checked_approximate_rows(value: Any) -> float:
    """A positive number of rows, that need not be whole."""
    a_number = isinstance(value, (int, float, np.integer, np.floating))
    if not a_number or isinstance(value, bool) or not 0 < value <= MOST_ROWS:
        raise ParameterError(
            "approximate_rows", value, "must be a positive number up to 10**15",
            "Give a public guess",
        )  # fmt: skip
    return float(value)
