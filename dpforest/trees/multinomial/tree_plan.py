"""What one tree asks of the accountant, and in which scopes.

``charge_tree`` (a dry run that consumes nothing) and the grower open the same scopes
through the functions of this module, so a plan's cost is the cost of what runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

from dpforest.accounting.events import Event
from dpforest.accounting.grants import Grant
from dpforest.accounting.scopes import Request, Scope
from dpforest.trees.multinomial.criteria import Criterion

STRUCTURE = "structure points"
ESTIMATION = "estimation points"


@dataclass(frozen=True, slots=True)
class LeafRule:
    """How a leaf answers: what it releases, and the range of its scores where it selects."""

    releases: str
    score_range: Fraction
    description: str


LEAF_RULES = {
    "label": LeafRule("labels", Fraction(2), "label drawn by its frequency, once a leaf"),
    "count_label": LeafRule("labels", Fraction(1), "label drawn by its count, once a leaf"),
    "count_label_permute_and_flip": LeafRule(
        "labels", Fraction(1), "label by its count with permute-and-flip, once a leaf"
    ),
    "geometric": LeafRule("counts", Fraction(0), "class counts with two-sided geometric noise"),
    "gaussian": LeafRule("counts", Fraction(0), "class counts with discrete Gaussian noise"),
}


@dataclass(frozen=True, slots=True)
class TreePlan:
    """Events of one tree, level by level.

    Attributes
    ----------
    depth : int
    feature_events : tuple of Event or None
        Selection of a feature at each level (of feature and value together where ``joint``);
        None draws uniformly, which reads no record and costs nothing.
    value_events : tuple of Event or None
        Selection of a value at each level; not used where ``joint``.
    leaf_event : Event
    leaves : str
        Key of ``LEAF_RULES``.
    criterion : Criterion
    joint : bool
    partition : Fraction or None
        Probability that a record is a structure point; None where all records serve both.
    """

    depth: int
    feature_events: tuple[Event | None, ...]
    value_events: tuple[Event | None, ...]
    leaf_event: Event
    leaves: str
    criterion: Criterion
    joint: bool
    partition: Fraction | None


@contextmanager
def tree_scopes(plan: TreePlan, scope: Scope) -> Iterator[tuple[Scope, Scope]]:
    """Scopes in which the structure and the leaves of one tree make their requests.

    With a partition each record is on one side by its own draw, so the sides are parallel
    over records; without one every record pays for both, in sequence.
    """
    if plan.partition is None:
        yield scope, scope
        return
    sides = {STRUCTURE: plan.partition, ESTIMATION: 1 - plan.partition}
    with scope.parallel_records("structure and estimation", sides) as both:
        yield both.side(STRUCTURE), both.side(ESTIMATION)


def request_structure(scope: Scope, plan: TreePlan) -> list[list[Grant | None]]:
    """Ask for every choice of every level of a tree, a list a level, before any count is made."""
    levels = [level_roles(plan, level) for level in range(plan.depth)]
    requests = [
        Request(event, role, 2**level, level)
        for level, roles in enumerate(levels)
        for role, event in roles
        if event is not None
    ]
    granted = iter(scope.request_all(requests))
    return [[None if event is None else next(granted) for _, event in roles] for roles in levels]


def request_leaves(scope: Scope, plan: TreePlan) -> Grant:
    """Ask for all leaves of a tree, which are parallel cells."""
    role = "leaf label" if LEAF_RULES[plan.leaves].releases == "labels" else "leaf histogram"
    return scope.request(plan.leaf_event, role=role, cells=2**plan.depth, level=plan.depth)


def level_roles(plan: TreePlan, level: int) -> list[tuple[str, Event | None]]:
    """Roles of one level with their events, in the order in which they are drawn."""
    if plan.joint:
        return [("split selection", plan.feature_events[level])]
    return [
        ("feature selection", plan.feature_events[level]),
        ("value selection", plan.value_events[level]),
    ]


def charge_tree(plan: TreePlan, scope: Scope) -> None:
    """Make every request of one tree without running anything; the grants are thrown away."""
    with tree_scopes(plan, scope) as (structure, leaves):
        request_structure(structure, plan)
        request_leaves(leaves, plan)
