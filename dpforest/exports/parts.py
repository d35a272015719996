"""The plain form (docs/plain_model.md) as typed parts, for those who write it in other forms.

Nothing is checked here: a text of ``to_plain`` is whole, and one that anybody may have written goes
through :func:`dpforest.read_plain` first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Plain = dict[str, Any]
Label = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Feature:
    """One entry of a record.

    Attributes
    ----------
    name : str
    categories : tuple of str, or None
        Of a categorical feature, by position; None for a numeric one.
    edges : tuple of float, or None
        Of a numeric feature that some table looks at: the cell of a value is the number of edges
        below it.
    positions : bool
        Whether a number that is no category stands for the category at its position.
    """

    name: str
    categories: tuple[str, ...] | None
    edges: tuple[float, ...] | None
    positions: bool

    @property
    def is_numeric(self) -> bool:
        """True if its values are numbers rather than categories."""
        return self.categories is None


@dataclass(frozen=True, slots=True)
class Table:
    """Scores that the values of one feature add: tuples in a start, single numbers in rules."""

    feature: int
    places: tuple[Any, ...]
    missing: Any
    unknown: Any


@dataclass(frozen=True, slots=True)
class Leaf:
    """The end of a tree, or of rules: what it adds, or its probabilities."""

    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """A node that looks at one feature.

    Attributes
    ----------
    feature : int
    threshold : float or None
        Numbers up to it go left; None with ``categories`` None: all numbers do.
    categories : frozenset of int, or None
        Positions that go left, of a split by categories.
    missing_left, unknown_left : bool
    left, right : int
        Places in the same tree, after this one.
    """

    feature: int
    threshold: float | None
    categories: frozenset[int] | None
    missing_left: bool
    unknown_left: bool
    left: int
    right: int


@dataclass(frozen=True, slots=True)
class Rule:
    """A node that adds whole numbers of several features: up to ``threshold`` go left."""

    tables: tuple[Table, ...]
    threshold: int
    width: int
    left: int
    right: int


Tree = tuple[Split | Leaf, ...]


@dataclass(frozen=True, slots=True)
class Trees:
    """A sum of trees, after a base and tables of what each feature adds."""

    columns: tuple[int, ...]
    base: tuple[float, ...]
    start: tuple[Table, ...]
    trees: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """One tree whose leaves share a record; ``steepness`` None: one leaf has all of it."""

    steepness: float | None
    hard_weight: float
    nodes: tuple[Rule | Leaf, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """Kind of function that scores go through.

    Attributes
    ----------
    kind : str
        ``"softmax"``, ``"shares"`` or ``"mean"``.
    classes : tuple of labels
        In the order of the scores; empty for a mean.
    low, high : float
        Range of a mean; else 0 and 1.
    """

    kind: str
    classes: tuple[Label, ...] = ()
    low: float = 0.0
    high: float = 1.0

    @property
    def n_scores(self) -> int:
        """Number of scores."""
        return len(self.classes) or 2


@dataclass(frozen=True, slots=True)
class Document:
    """A whole plain model."""

    features: tuple[Feature, ...]
    score: Trees | Rules
    link: Link


def texts_of(document: Document) -> Iterator[tuple[str, str]]:
    """Every name, category and class, each with the entry of the domain that it stands in."""
    for feature in document.features:
        for text in (feature.name, *(feature.categories or ())):
            yield text, f"feature {feature.name!r}"
    for label in document.link.classes:
        yield str(label), "classes"


def read_document(text: str) -> Document:
    """Parts of a plain model.

    Parameters
    ----------
    text : str
        What ``to_plain`` returned.
    """
    content: Plain = json.loads(text)
    return Document(
        tuple(map(_feature, content["features"])), _score(content["score"]), _link(content["link"])
    )


def _feature(plain: Plain) -> Feature:
    categories, edges = plain.get("categories"), plain.get("edges")
    return Feature(
        plain["name"],
        None if categories is None else tuple(categories),
        None if edges is None else tuple(map(float, edges)),
        plain["numbers"] == "positions",
    )


def _link(plain: Plain) -> Link:
    if plain["kind"] == "mean":
        low, high = map(float, plain["range"])
        return Link("mean", low=low, high=high)
    return Link(plain["kind"], tuple(plain["classes"]))


def _score(plain: Plain) -> Trees | Rules:
    if plain["kind"] == "rules":
        nodes = tuple(map(_rule, plain["nodes"]))
        return Rules(plain["steepness"], plain["hard_weight"], nodes)
    return Trees(
        tuple(plain["columns"]),
        _numbers(plain["base"]),
        tuple(_table_of_scores(table) for table in plain["start"] or ()),
        tuple(tuple(map(_node, nodes)) for nodes in plain["trees"]),
    )


def _node(plain: Plain) -> Split | Leaf:
    if "values" in plain:
        return Leaf(_numbers(plain["values"]))
    threshold, categories = plain.get("threshold"), plain.get("categories")
    return Split(
        plain["feature"],
        None if threshold is None else float(threshold),
        None if categories is None else frozenset(categories),
        plain["missing"] == "left",
        plain["unknown"] == "left",
        plain["left"],
        plain["right"],
    )


def _rule(plain: Plain) -> Rule | Leaf:
    if "probabilities" in plain:
        return Leaf(_numbers(plain["probabilities"]))
    tables = tuple(map(_table, plain["sum"]))
    return Rule(tables, plain["threshold"], plain["width"], plain["left"], plain["right"])


def _table(plain: Plain) -> Table:
    return Table(plain["feature"], tuple(plain["places"]), plain["missing"], plain["unknown"])


def _table_of_scores(plain: Plain) -> Table:
    places = tuple(map(_numbers, plain["places"]))
    return Table(plain["feature"], places, _numbers(plain["missing"]), _numbers(plain["unknown"]))


def _numbers(plain: list[Any]) -> tuple[float, ...]:
    return tuple(map(float, plain))
