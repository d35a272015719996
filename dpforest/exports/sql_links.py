"""From scores to what a SELECT gives: probabilities and labels, or means."""

from __future__ import annotations

from collections.abc import Sequence

from dpforest.exports.onnx_links import label_array
from dpforest.exports.parts import Link
from dpforest.exports.sql_stages import Stages
from dpforest.exports.sql_words import DOUBLE, ZERO, number, quoted_text, total

#: Beyond these an exponential is as good as 0; PostgreSQL refuses one that is too small for a
#: double, and products of these are not.
_LOWEST, _MOST_STEPS = -700, 60
#: Columns whose largest is taken at once.
_AT_ONCE = 8


def probabilities(scores: Sequence[str], link: Link, stages: Stages) -> list[str]:
    """Columns of the result: the most probable label, and the probability of each class.

    Parameters
    ----------
    scores : sequence of str
        Columns of the last stage; any that are in proportion, unless the link is softmax.
    link : Link
    stages : Stages
    """
    top, many = _largest(scores, stages), len(scores)
    shares = scores
    if link.kind == "softmax":
        powers = [f"{_power(score, top)} AS e{k}" for k, score in enumerate(scores)]
        shares = [f"e{k}" for k in range(many)]
        stages.add([*_named([*scores, top]), *powers])
    stages.add([*_named([*scores, *shares, top]), f"{total(shares)} AS w"])
    return [_label(scores, link, top), *(f"{share} / w" for share in shares)]


def means(scores: Sequence[str], link: Link, stages: Stages) -> list[str]:
    """The column of the result, from scores that are in the exponent."""
    low, high = scores
    step = f"{high} - {low}"
    within = f"CASE WHEN {step} > {_MOST_STEPS} THEN {_MOST_STEPS} WHEN {step} < -{_MOST_STEPS} "
    power = f"EXP(-({within}THEN -{_MOST_STEPS} ELSE {step} END))"
    stages.add([f"1 / (1 + {power}) AS w"])
    return [_mean(link)]


def mean_shares(shares: Sequence[str], link: Link, stages: Stages) -> list[str]:
    """The column of the result, from shares of both ends."""
    low, high = shares
    stages.add([f"{high} / ({low} + {high}) AS w"])
    return [_mean(link)]


def _mean(link: Link) -> str:
    return f"{number(link.low)} * (1 - w) + {number(link.high)} * w"


def _named(columns: Sequence[str]) -> list[str]:
    """Columns that go from stage to stage; a zero always does."""
    return [column for column in dict.fromkeys(columns) if column != ZERO]


def _power(score: str, top: str) -> str:
    return f"EXP(CASE WHEN {score} - {top} < {_LOWEST} THEN {_LOWEST} ELSE {score} - {top} END)"


def _largest(scores: Sequence[str], stages: Stages) -> str:
    """Add stages that lead to the largest score, and name its column."""
    left, number_of = list(scores), 0
    while len(left) > 1:
        groups = [left[start : start + _AT_ONCE] for start in range(0, len(left), _AT_ONCE)]
        left = [f"m{number_of + k}" for k in range(len(groups))]
        number_of += len(groups)
        made = [f"{_top(group)} AS {to}" for group, to in zip(groups, left, strict=True)]
        stages.add([*_named(scores), *made])
    return left[0]


def _top(columns: Sequence[str]) -> str:
    """The largest of a few columns: there is no word for it that all databases know."""
    *first, last = columns
    cases = []
    for place, column in enumerate(first):
        others = " AND ".join(f"{column} >= {other}" for other in columns[place + 1 :])
        cases.append(f"WHEN {others} THEN {column}")
    return f"CASE {' '.join(cases)} ELSE {last} END" if cases else last


def _label(scores: Sequence[str], link: Link, top: str) -> str:
    """The first class that has the largest score."""
    *first, last = [_written(label) for label in label_array(link.classes).tolist()]
    cases = " ".join(
        f"WHEN {score} = {top} THEN {label}" for score, label in zip(scores, first, strict=False)
    )
    return f"CASE {cases} ELSE {last} END" if cases else last


def _written(label: str | int | float | bool) -> str:
    if isinstance(label, str):
        return quoted_text(label)
    if isinstance(label, bool):
        return "TRUE" if label else "FALSE"
    return f"CAST({number(label)} AS {DOUBLE})" if isinstance(label, float) else str(label)
