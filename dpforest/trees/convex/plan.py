"""The plan of the convex learner: one list of releases, made from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpforest.accounting.events import ObjectivePerturbation
from dpforest.accounting.releases import LearnerBudget, Plan, Release, Round, Step
from dpforest.exceptions import ParameterError
from dpforest.mechanisms.objective import Calibration
from dpforest.trees.base import PRIOR_ROLE, TableFacts
from dpforest.trees.convex.columns import CurveColumns
from dpforest.trees.convex.queries import CurveLosses
from dpforest.trees.convex.settings import ConvexSettings
from dpforest.trees.prior import prior_round

OWNER = "convex"
#: Columns of one minimum, at most: each step solves for all at once, which takes their square of
#: memory and their cube of time.
MOST_COLUMNS = 4000
#: A ridge that is smaller than this makes holds nothing back: where there is little noise, curves
#: would follow single records.
_MOST_FOR_DETERMINANT = Fraction(3, 4)


class Role:
    """Requests, in the ledger's words."""

    PRIOR = PRIOR_ROLE
    CURVES = "minimum of a noisy objective"


@dataclass(frozen=True, slots=True)
class ConvexShape:
    """Sizes of the curves.

    Attributes
    ----------
    n_classes : int
    n_knots : int
        Of an ordered feature's curve, at most.
    clip : Fraction
    prior_share, determinant_share : Fraction
        Of the whole, and of what is left.
    """

    n_classes: int
    n_knots: int
    clip: Fraction
    prior_share: Fraction
    determinant_share: Fraction

    @property
    def labels(self) -> tuple[int, ...]:
        """Classes that have curves of their own: of two the second alone."""
        return labels_with_curves(self.n_classes)

    def columns(self, facts: TableFacts) -> CurveColumns:
        """Columns of one minimum."""
        return CurveColumns.of(facts, self.n_knots)

    def is_solvable(self, facts: TableFacts) -> bool:
        """True if columns are not too many."""
        return self.columns(facts).n_columns <= MOST_COLUMNS


def labels_with_curves(n_classes: int) -> tuple[int, ...]:
    """Classes that have curves of their own: of two the second alone."""
    return (1,) if n_classes == 2 else tuple(range(n_classes))


def build_plan(
    facts: TableFacts, budget: LearnerBudget, settings: ConvexSettings
) -> Plan[ConvexShape]:
    """Make a plan that costs exactly epsilon, purely, from public facts alone.

    Delta is not used: noise of the K-norm in pure epsilon is less than Gaussian noise of as many
    columns as few records can teach.

    Parameters
    ----------
    facts : TableFacts
        Without ``approximate_rows`` curves are straight lines.
    budget : LearnerBudget
    settings : ConvexSettings
    """
    shape = curve_shape(facts, budget, settings)
    rounds = curve_rounds(shape, facts, budget.epsilon, OWNER)
    return Plan(rounds, shape, _words(shape, shape.columns(facts)))


def curve_shape(facts: TableFacts, budget: LearnerBudget, settings: ConvexSettings) -> ConvexShape:
    """Sizes by the public signal of a budget, which the curves have for themselves."""
    signal = LearnerBudget(budget.epsilon, Fraction(0)).signal(facts.approximate_rows or 0.0)
    n_minima = len(labels_with_curves(facts.n_classes))
    level, of_means = signal / (n_minima * facts.n_features), facts.unit > 1
    return ConvexShape(
        facts.n_classes, settings.n_knots(level), settings.clip_at(level, of_means),
        settings.prior(signal, of_means), settings.determinant(level),
    )  # fmt: skip


def curve_rounds(
    shape: ConvexShape, facts: TableFacts, epsilon: Fraction, owner: str
) -> tuple[Round, ...]:
    """Ask for the prior and for the curves, for a total of epsilon."""
    prior, times = shape.prior_share * epsilon, len(shape.labels)
    of_one = (epsilon - prior) / times
    determinant = min(shape.determinant_share * of_one, _MOST_FOR_DETERMINANT)
    blocks = Fraction(facts.n_features + 1)
    event = ObjectivePerturbation(of_one, determinant, shape.clip, CurveLosses.curvature, blocks)
    # Refuses what doubles, memory and time cannot keep before anything is charged.
    columns = shape.columns(facts)
    if columns.n_columns > MOST_COLUMNS:
        rule = f"would lay out {columns.n_columns} columns, of at most {MOST_COLUMNS}"
        raise ParameterError("strategy", OWNER, rule, 'Declare fewer categories, or use "additive"')
    Calibration.of(event, columns.widths)
    text = "the curves of all features at once"
    release = Release(Role.CURVES, event, says=text if times == 1 else f"{text}, {times} times")
    return (
        prior_round(owner, facts.unit, prior, True),
        Round(owner, (Step((release,)),), times),
    )


def _words(shape: ConvexShape, columns: CurveColumns) -> dict[str, str]:
    """The plan in words, for the report."""
    of_each = "" if len(shape.labels) == 1 else ", for each class against all others"
    lines = "a straight line" if shape.n_knots == 2 else f"lines between {shape.n_knots} knots"
    return {
        "rounds": f"one minimum of a clipped log loss, a ridge and a noisy linear term{of_each}",
        "structure": "no trees: a sum of curves of single features",
        "curves": f"{lines} over the public cells of an ordered feature, a step for each category",
        "columns": str(columns.n_columns),
        "noise": "drawn exactly by the largest L1 of a feature's columns (K-norm)",
        "budget shares add up in": "epsilon",
        "composed by": "addition in epsilon",
    }
