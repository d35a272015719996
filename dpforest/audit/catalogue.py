"""Every mechanism of the library as something to audit: subject, datasets, claim.

``benchmarks/audit.py`` and the tests run through this list; a test fails when a public
mechanism has no part here. Estimators are in `estimators`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    Event,
    ExponentialSelection,
    GeometricNoise,
    ObjectivePerturbation,
    PermuteAndFlipSelection,
    ZeroSumGeometricNoise,
)
from dpforest.accounting.releases import Plan
from dpforest.audit.neighbours import DatasetPair
from dpforest.audit.one_split import OneSplitTrees
from dpforest.audit.subjects import Batched, Subject
from dpforest.audit.worst_cases import worst_cases
from dpforest.domain.domain import Domain
from dpforest.domain.schema import Classes, NumericFeature, NumericTarget
from dpforest.mechanisms.entropy import SystemSource
from dpforest.mechanisms.lattice import select_interval_point
from dpforest.mechanisms.noise import add_discrete_gaussian_noise, add_geometric_noise
from dpforest.mechanisms.objective import (
    LARGEST_CURVATURE,
    Calibration,
    ClippedLosses,
    release_minimum,
)
from dpforest.mechanisms.selection import select_exponential, select_permute_and_flip
from dpforest.mechanisms.streamed import Envelope, StreamedBlocks, select_exponential_streamed
from dpforest.mechanisms.zero_sum_noise import add_zero_sum_geometric_noise
from dpforest.trees.multinomial.criteria import CRITERIA
from dpforest.trees.multinomial.plan import ForestShape, TreeEvents, forest_plan
from dpforest.trees.multinomial.queries import LabelByCount, LabelByFrequency

_ONE = Fraction(1)

#: Two features of four values and two classes: every rule of a tree can go wrong on it.
SMALL_DOMAIN = Domain(
    features=tuple(
        NumericFeature(name=name, lower=0, upper=3, integer=True) for name in ("a", "b")
    ),
    classes=Classes(labels=(0, 1)),
)
#: The same features with a number to predict.
SMALL_TARGET_DOMAIN = Domain(
    features=SMALL_DOMAIN.features, target=NumericTarget(lower=0.0, upper=1.0)
)


@dataclass(frozen=True, slots=True)
class AuditPart:
    """One thing to audit, with the claim it is held to.

    Attributes
    ----------
    name : str
    subject : Subject
    pairs : tuple of DatasetPair
    epsilon, delta : float
        The claim, under add/remove.
    covers : tuple of str
        Public mechanisms or estimators that it runs.
    """

    name: str
    subject: Subject
    pairs: tuple[DatasetPair, ...]
    epsilon: float
    covers: tuple[str, ...]
    delta: float = 0.0


# -- releases from the class counts of one leaf --------------------------------------------------

#: Labels of the records of one leaf, and one record more.
LEAF_PAIRS = (
    DatasetPair([0] * 3, [0] * 3 + [1], name="a class seen once in a leaf"),
    DatasetPair([], [1], name="the first record of a leaf"),
    DatasetPair([0] * 5 + [1] * 5, [0] * 5 + [1] * 6, name="a tie in a leaf"),
)


#: The same for a unit of three records, all of which are added at once.
UNIT = 3
UNIT_PAIRS = (
    DatasetPair([0] * 3, [0] * 3 + [1] * 3, name="a unit's class, seen nowhere else",
                records_per_unit=UNIT),
    DatasetPair([], [1] * 3, name="the first unit of a leaf", records_per_unit=UNIT),
    DatasetPair([0] * 5 + [1] * 5, [0] * 5 + [1] * 8, name="a unit that breaks a tie",
                records_per_unit=UNIT),
    DatasetPair([0, 1], [0, 1, 0, 1, 1], name="a unit of two classes", records_per_unit=UNIT),
)  # fmt: skip


def class_counts(labels: Any, runs: int, n_classes: int = 2) -> NDArray[np.int64]:
    """Class counts of a leaf, once a run, shape (runs, n_classes)."""
    counts = np.bincount(np.asarray(labels, dtype=np.int64), minlength=n_classes)
    return np.tile(counts, (runs, 1))


def leaf_release(mechanism: Callable[..., Any], event: Event) -> Callable[[Any, int], Any]:
    """A release from class counts as a batched function of the leaf's labels."""

    def release(labels: Any, runs: int) -> Any:
        grant = BudgetAccountant._unlimited(delta=Fraction(1, 2)).request(
            event, role="audit", cells=runs
        )
        return mechanism(class_counts(labels, runs), grant, SystemSource())

    return release


def label_by_count(counts: Any, grant: Any, source: Any) -> Any:
    """A label a leaf, drawn by its count as a forest's leaves are."""
    return _label(LabelByCount(), select_exponential, counts, grant, source)


def _label_by_count_permuting(counts: Any, grant: Any, source: Any) -> Any:
    return _label(LabelByCount(), select_permute_and_flip, counts, grant, source)


def _label_by_frequency(counts: Any, grant: Any, source: Any) -> Any:
    return _label(LabelByFrequency(), select_exponential, counts, grant, source)


def _label(score: Any, select: Any, counts: Any, grant: Any, source: Any) -> Any:
    rows = score.rows(counts)
    return select(rows.scores, rows.starts, rows.ends, score.unit, grant, source)


def _leaf_parts() -> list[AuditPart]:
    one, permute = ExponentialSelection(_ONE, _ONE), PermuteAndFlipSelection(_ONE, _ONE)
    rules: list[tuple[str, Callable[..., Any], Event, float, float]] = [
        ("label by count", label_by_count, one, 1.0, 0.0),
        ("label by count, permute-and-flip", _label_by_count_permuting, permute, 1.0, 0.0),
        (
            "label by frequency",
            _label_by_frequency,
            ExponentialSelection(_ONE, Fraction(2)),
            1.0,
            0.0,
        ),
        ("geometric noise", add_geometric_noise, GeometricNoise(_ONE, _ONE), 1.0, 0.0),
        # rho = 1/18 is (1, 0.02)-DP by rho + 2 sqrt(rho ln(1 / delta)) = 0.988.
        (
            "discrete Gaussian noise",
            add_discrete_gaussian_noise,
            DiscreteGaussianNoise(Fraction(9), _ONE),
            1.0,
            0.02,
        ),
    ]
    return [
        AuditPart(
            name,
            Batched(leaf_release(mechanism, event), name),
            LEAF_PAIRS,
            epsilon,
            tuple(
                found
                for found in ("add_geometric_noise", "add_discrete_gaussian_noise")
                if found == mechanism.__name__
            ),
            delta,
        )
        for name, mechanism, event, epsilon, delta in rules
    ]  # fmt: skip


def zero_sum_release(labels: Any, runs: int) -> NDArray[np.int64]:
    """Sums of residuals in thirds of three classes that are equally likely, at epsilon 1."""
    counts = class_counts(labels, runs, 3)
    sums = 3 * counts - counts.sum(axis=1, keepdims=True)
    # A record adds 2, -1 and -1.
    event = ZeroSumGeometricNoise(_ONE, Fraction(4), Fraction(3))
    grant = BudgetAccountant._unlimited().request(event, role="audit", cells=runs)
    return add_zero_sum_geometric_noise(sums, grant, SystemSource())


def _zero_sum_parts() -> list[AuditPart]:
    subject = Batched(zero_sum_release, "geometric noise that adds up to nothing")
    covers = (add_zero_sum_geometric_noise.__name__,)
    return [AuditPart(subject.name, subject, LEAF_PAIRS, 1.0, covers)]


def _unit_parts() -> list[AuditPart]:
    """Mechanisms at what a record may cost where a unit of three may cost epsilon = 1."""
    own = _ONE / UNIT
    select = ExponentialSelection(own, _ONE)
    rules: list[tuple[str, Callable[..., Any], Event, float]] = [
        ("label by count", label_by_count, select, 0.0),
        ("geometric noise", add_geometric_noise, GeometricNoise(own, _ONE), 0.0),
        # A unit's rho is 9 times a record's, so 1/18 as above.
        ("discrete Gaussian noise", add_discrete_gaussian_noise,
         DiscreteGaussianNoise(Fraction(9 * UNIT**2), _ONE), 0.02),
    ]  # fmt: skip
    return [
        AuditPart(f"{name}, units of {UNIT}", Batched(leaf_release(mechanism, event), name),
                  UNIT_PAIRS, 1.0,
                  (mechanism.__name__,) if mechanism is not label_by_count else (), delta)
        for name, mechanism, event, delta in rules
    ]  # fmt: skip


# -- selections ----------------------------------------------------------------------------------

#: Votes of records for one of four candidates: a record raises one score by one.
VOTE_PAIRS = (
    DatasetPair([0] * 3, [0] * 3 + [2], name="a vote for a candidate without any"),
    DatasetPair([], [3], name="the first vote"),
    DatasetPair([0, 1, 2, 3], [0, 1, 2, 3, 3], name="a vote that breaks a tie"),
)


def vote_scores(votes: Any, runs: int) -> tuple[NDArray, NDArray, NDArray]:
    """Scores of four candidates once a run, with starts and ends of the runs' rows."""
    scores = np.tile(np.bincount(np.asarray(votes, dtype=np.int64), minlength=4), runs)
    starts = np.arange(runs, dtype=np.int64) * 4
    return scores.astype(np.float64), starts, starts + 4


def selection(mechanism: Callable[..., Any], event: Event) -> Callable[[Any, int], Any]:
    """A selection among four candidates as a batched function of the votes."""

    def select(votes: Any, runs: int) -> Any:
        grant = BudgetAccountant._unlimited().request(event, role="audit", cells=runs)
        return mechanism(*vote_scores(votes, runs), _ONE, grant, SystemSource())

    return select


def streamed_selection(votes: Any, runs: int) -> NDArray[np.int64]:
    """The same four candidates as two blocks of two, which the mechanism never holds at once."""
    counts = np.bincount(np.asarray(votes, dtype=np.int64), minlength=4).astype(np.int64)
    make = StreamedBlocks.of(lambda k: counts[2 * k : 2 * k + 2], 2)
    built: list[StreamedBlocks] = []

    def once(envelope: Envelope) -> StreamedBlocks:
        if not built:
            built.append(make(envelope))
        return built[0]

    event = ExponentialSelection(_ONE, _ONE)
    grant = BudgetAccountant._unlimited().request(event, role="audit", cells=runs)
    drawn = select_exponential_streamed([once] * runs, _ONE, grant, SystemSource())
    return np.array([2 * block + place for block, place in drawn])


def lattice_point(values: Any, runs: int) -> NDArray[np.int64]:
    """A cut among 16 lattice points, scored by how many values lie at or below it, at epsilon 1.

    As in a tree the candidates go in as intervals of equal scores between the values.
    """
    ordered = np.unique(np.asarray(values, dtype=np.int64))
    firsts = np.concatenate([[0], ordered])
    lengths = np.diff(np.append(firsts, 16))
    below = [float(np.sum(np.asarray(values) <= first)) for first in firsts]
    below[0] -= float(np.sum(np.asarray(values) == 0)) if ordered[:1].tolist() == [0] else 0.0
    size = firsts.size
    starts = np.arange(runs, dtype=np.int64) * size
    event = ExponentialSelection(_ONE, _ONE)
    grant = BudgetAccountant._unlimited().request(event, role="audit", cells=runs)
    interval, offset = select_interval_point(
        np.tile(below, runs), np.tile(lengths, runs), starts, starts + size, _ONE, grant,
        SystemSource(),
    )  # fmt: skip
    return firsts[interval] + offset


def _selection_parts() -> list[AuditPart]:
    pairs = (
        DatasetPair([3], [3, 8], name="a value that cuts an interval"),
        DatasetPair([], [5], name="the first value"),
        DatasetPair([4] * 6, [4] * 7, name="duplicates"),
    )
    exponential = selection(select_exponential, ExponentialSelection(_ONE, _ONE))
    permuting = selection(select_permute_and_flip, PermuteAndFlipSelection(_ONE, _ONE))
    return [
        AuditPart("exponential mechanism", Batched(exponential, "exponential mechanism"),
                  VOTE_PAIRS, 1, ("select_exponential",)),
        AuditPart("permute-and-flip", Batched(permuting, "permute-and-flip"), VOTE_PAIRS, 1,
                  ("select_permute_and_flip",)),
        AuditPart("streamed exponential mechanism",
                  Batched(streamed_selection, "streamed exponential mechanism"), VOTE_PAIRS, 1,
                  ("select_exponential_streamed",)),
        AuditPart("threshold on a lattice", Batched(lattice_point, "threshold on a lattice"),
                  pairs, 1, ("select_interval_point",)),
    ]  # fmt: skip


# -- minima ---------------------------------------------------------------------------------------

#: One column, whose value is 1 in every record, and the constant.
_WIDTHS = (1, 1)
_COLUMN, _VALUES = np.zeros((1, 2), dtype=np.int64), np.array([[1.0, 0.0]])


def minimum(labels: Any, runs: int) -> NDArray[np.int64]:
    """Weights of one column and of the constant, which say a class of two, at epsilon 1."""
    clip = Fraction(1, 2)
    event = ObjectivePerturbation(
        _ONE, Fraction(1, 4), clip, LARGEST_CURVATURE, Fraction(len(_WIDTHS))
    )
    targets = np.asarray(labels, dtype=np.float64)
    losses = ClippedLosses(
        np.zeros((targets.size, 1), dtype=np.uint8), targets, np.zeros(1, dtype=np.int64), _COLUMN,
        _VALUES, 0.0, float(clip),
    )  # fmt: skip
    calibration, books, source = (
        Calibration.of(event, _WIDTHS), BudgetAccountant._unlimited(), SystemSource()
    )  # fmt: skip
    grants = (books.request(event, role="audit") for _ in range(runs))
    return np.array([release_minimum(losses, calibration, grant, source) for grant in grants])


def _minimum_parts() -> list[AuditPart]:
    name = "minimum of a noisy objective"
    return [AuditPart(name, Batched(minimum, name), LEAF_PAIRS, 1.0, ("release_minimum",))]


# -- one-split trees -----------------------------------------------------------------------------


def one_split_plan(
    criterion: str = "gini_count",
    *,
    draw: str = "exponential",
    joint: bool = False,
    leaves: str = "count_label",
    partition: Fraction | None = None,
    selection_epsilon: Fraction = _ONE,
    leaf_epsilon: Fraction = _ONE,
) -> Plan[ForestShape]:
    """Plan of a one-split tree: so much for the split, halved over its choices, and for leaves."""
    rule = CRITERIA[criterion]
    event_type = ExponentialSelection if draw == "exponential" else PermuteAndFlipSelection
    share = selection_epsilon if joint else selection_epsilon / 2
    event = event_type(share, rule.score_range) if share else None
    events = TreeEvents((event,), (event,), _leaf_event(leaves, leaf_epsilon))
    return forest_plan(1, events, rule, joint=joint, leaves=leaves, partition=partition)


def _leaf_event(leaves: str, epsilon: Fraction) -> Event:
    if leaves == "geometric":
        return GeometricNoise(epsilon, _ONE)
    if leaves == "count_label_permute_and_flip":
        return PermuteAndFlipSelection(epsilon, _ONE)
    return ExponentialSelection(epsilon, Fraction(2 if leaves == "label" else 1))


def _tree_parts() -> list[AuditPart]:
    half = Fraction(1, 2)
    plans = {
        f"one-split tree, {name}": one_split_plan(name) for name in CRITERIA
    } | {
        "one-split tree, joint choice": one_split_plan(joint=True),
        "one-split tree, permute-and-flip": one_split_plan(draw="permute_and_flip"),
        "one-split tree, noisy counts": one_split_plan(leaves="geometric"),
        "one-split tree, free split": one_split_plan(selection_epsilon=Fraction(0)),
        "one-split tree, secret sides": one_split_plan(
            partition=half, selection_epsilon=2 * _ONE, leaf_epsilon=2 * _ONE
        ),
        "one-split tree, as published": one_split_plan(
            "gini_decrease", leaves="label", partition=half,
            selection_epsilon=2 * _ONE, leaf_epsilon=2 * _ONE,
        ),
    }  # fmt: skip
    parts = []
    for name, plan in plans.items():
        subject = OneSplitTrees(SMALL_DOMAIN, plan, name)
        pairs = worst_cases(SMALL_DOMAIN)
        parts.append(AuditPart(name, subject, pairs, float(subject.loss.epsilon), ()))
    return parts


def mechanism_parts() -> tuple[AuditPart, ...]:
    """Every mechanism alone, and one-split trees made of them."""
    return (
        *_leaf_parts(), *_unit_parts(), *_zero_sum_parts(), *_selection_parts(),
        *_minimum_parts(), *_tree_parts()
    )  # fmt: skip
