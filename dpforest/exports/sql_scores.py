"""Scores of trees and of rules as columns of a SELECT."""

from __future__ import annotations

import math
from functools import partial

from dpforest.exports.parts import Leaf, Rule, Rules, Split, Tree, Trees
from dpforest.exports.sql_choices import Test, tree_choice
from dpforest.exports.sql_inputs import Codes
from dpforest.exports.sql_stages import Stages
from dpforest.exports.sql_words import ZERO, double, number, total

#: Columns that terms of sums are spread over: DuckDB's time for one expression grows with the
#: square of its length.
_TERM_COLUMNS = 1_000
#: Steps of a sigmoid beyond which a share is 0 or 1: what is lost is 4e-18. PostgreSQL refuses
#: products that are too small for a double; those of 17 shares of this size are not.
_MOST_STEPS = 40


def trees_scores(part: Trees, codes: Codes, stages: Stages, n_scores: int) -> list[str]:
    """Add stages of scores, and name the columns of the last.

    Parameters
    ----------
    part : Trees
    codes : Codes
    stages : Stages
        The last one has codes.
    n_scores : int
        How many there are; those that the trees do not add to are 0.
    """
    terms = [_terms(part, codes, k) for k in range(len(part.columns))]
    most = max(1, _TERM_COLUMNS // len(terms))
    columns: list[str] = []
    sums: list[str] = []
    for column, own in zip(part.columns, terms, strict=True):
        names = [f"a{len(columns) + k}" for k in range(min(most, len(own)))]
        groups = (own[k :: len(names)] for k in range(len(names)))
        columns += [f"{total(group)} AS {to}" for group, to in zip(groups, names, strict=True)]
        sums.append(f"{total(names)} AS s{column}")
    stages.add(columns)
    stages.add(sums)
    return [f"s{k}" if k in part.columns else ZERO for k in range(n_scores)]


def _terms(part: Trees, codes: Codes, column: int) -> list[str]:
    """Terms of one score: the base, what tables have, and what trees do."""
    base, terms = part.base[column], []
    for table in part.start:
        terms.append(
            codes.entry(table, lambda row: number(row[column]), lambda row: double(row[column]))
        )
    for tree in part.trees:
        choice = tree_choice(tree, column, partial(_test, codes, tree))
        if choice.cases:
            terms.append(choice.text)
        else:
            base += choice.otherwise
    return [f"({double(base)})", *terms]


def _test(codes: Codes, tree: Tree, place: int) -> Test:
    split = tree[place]
    assert isinstance(split, Split)
    return codes.test(split)


def rules_shares(part: Rules, codes: Codes, stages: Stages, n_scores: int) -> list[str]:
    """Add stages of mixed probabilities, whose logarithms are the scores, and name the columns."""
    rules = {place: node for place, node in enumerate(part.nodes) if isinstance(node, Rule)}
    stages.add([f"{_points(rule, codes)} AS r{place}" for place, rule in rules.items()])
    if part.steepness is not None:
        steepness = part.steepness
        shares = [f"{_share(rule, place, steepness)} AS q{place}" for place, rule in rules.items()]
        stages.add(shares)
    stages.add([f"{_mixed(part, column)} AS s{column}" for column in range(n_scores)])
    return [f"s{column}" for column in range(n_scores)]


def _points(rule: Rule, codes: Codes) -> str:
    """The whole numbers that a rule adds."""
    terms = [codes.entry(table, str, str) for table in rule.tables]
    return total(terms) if terms else "0"


def _share(rule: Rule, place: int, steepness: float) -> str:
    """Share of a record that goes right at a rule."""
    column, scale = f"r{place}", steepness / rule.width
    middle = rule.threshold + 0.5
    low, high = (middle + way * _MOST_STEPS / scale for way in (-1, 1))
    return (
        f"CASE WHEN {column} < {math.floor(low)} THEN {ZERO} "
        f"WHEN {column} > {math.ceil(high)} THEN 1 + {ZERO} "
        f"ELSE 1 / (1 + EXP(({number(middle)} - ({ZERO} + {column})) * {number(scale)})) END"
    )


def _mixed(part: Rules, column: int) -> str:
    """A class's part of both kinds of shares, by their weights."""
    hard = tree_choice(part.nodes, column, lambda place: _passed(part, place))
    whole = hard.text if hard.cases else double(hard.otherwise)
    if part.steepness is None:
        return whole
    weight, both = part.hard_weight, 1.0 + part.hard_weight
    return f"({_soft(part, column)} + {number(weight)} * ({whole})) / {number(both)}"


def _passed(part: Rules, place: int) -> Test:
    """Tests of a rule; a share is on the side of a half that its whole number is on."""
    rule = part.nodes[place]
    assert isinstance(rule, Rule)
    if part.steepness is not None:
        return f"q{place} < 0.5", f"q{place} > 0.5"
    return f"r{place} <= {rule.threshold}", f"r{place} > {rule.threshold}"


def _soft(part: Rules, column: int) -> str:
    """A class's part of the shares: at each rule that of both children."""
    found: dict[int, str] = {}
    for place in reversed(range(len(part.nodes))):
        node = part.nodes[place]
        if isinstance(node, Leaf):
            found[place] = number(node.values[column])
            continue
        left, right = found.pop(node.left), found.pop(node.right)
        both = f"((1 - q{place}) * {left} + q{place} * {right})"
        found[place] = left if left == right else both
    return found[0]
