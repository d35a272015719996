"""Learning the event that tells two samples of outputs apart.

By the Neyman-Pearson lemma the best event is a set of outputs on which the likelihood ratio is
large. Ratios are learnt from a part of the runs in several ways (whole outputs, single columns,
thresholds, columns taken as independent, a small decision tree), and the set with the largest
promised bound is chosen on another part. The bound itself comes from runs that took no part in
either (`auditor`), so nothing here can make it wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from dpforest.audit.bounds import SHARES, certified_epsilon, lower_limit, upper_limit
from dpforest.audit.outcomes import are_errors

_MAX_COLUMNS = 64  # single columns that are looked at one by one
_MAX_THRESHOLDS = 256  # levels of a score that are tried
_MAX_TREE_CELLS = 2_000_000  # outputs times columns beyond which no tree is fitted
_CLIP = 4.0  # largest log ratio that one column may add
_CAUTION = 0.02  # error of the limits that promises are made of


@dataclass(frozen=True, slots=True)
class CodedOutputs:
    """Outputs of many runs, each column as codes of its values.

    Attributes
    ----------
    columns : ndarray of int64, shape (n, k)
    rows : ndarray of int64, shape (n,)
        One code for the whole output.
    raw : ndarray, shape (n, k)
        The values. Only what depends on no other run's value may be made of the codes: that two
        are equal. Order against a learnt value is of these.
    """

    columns: NDArray[np.int64]
    rows: NDArray[np.int64]
    raw: NDArray

    @classmethod
    def of(cls, outputs: NDArray) -> CodedOutputs:
        """Code the outputs, shape (n, k), of all runs of both datasets together."""
        coded = [np.unique(c, return_inverse=True)[1].reshape(-1) for c in map(_bits, outputs.T)]
        columns = np.column_stack(coded).astype(np.int64)
        rows = columns[:, 0]
        for column in columns.T[1:]:
            # Pairs of codes become codes again at each step, so the product stays small.
            rows = np.unique(rows * (int(column.max()) + 1) + column, return_inverse=True)[1]
        return cls(columns, rows.reshape(-1), outputs)

    def take(self, rows: NDArray[np.int64]) -> CodedOutputs:
        """Some of the runs."""
        return CodedOutputs(self.columns[rows], self.rows[rows], self.raw[rows])


@dataclass(frozen=True, slots=True)
class Score:
    """A number for every output of the choosing and of the testing runs.

    ``examples`` are the choosing runs' outputs.
    """

    name: str
    choose: NDArray[np.float64]
    test: NDArray[np.float64]
    examples: NDArray


@dataclass(frozen=True, slots=True)
class ChosenEvent:
    """Outputs whose score is at least (or at most) a level.

    Attributes
    ----------
    description : str
    likelier_on_first : bool
    promised : float
        Bound that the choosing runs promise.
    share : float
        How to divide the error between the two limits.
    happened : ndarray of bool
        For each testing run, those on the first dataset before those on the second.
    """

    description: str
    likelier_on_first: bool
    promised: float
    share: float
    happened: NDArray[np.bool_]


def choose_event(
    learning: tuple[NDArray, NDArray],
    testing: tuple[NDArray, NDArray] | None,
    n_test: int,
    delta: float,
    alpha: float,
    shown: bool = True,
) -> ChosenEvent:
    """Learn scores on half of the learning runs, choose one event on the others, try it.

    Parameters
    ----------
    learning : tuple of two ndarrays, shape (n, k)
        Outputs on the first and on the second dataset.
    testing : tuple of two ndarrays, shape (n_test, k), or None
        Has no influence on which event is chosen.
    n_test : int
        Testing runs on each dataset that the bound will be computed from.
    delta, alpha : float
        Of that bound.
    shown : bool
        Whether the description may quote outputs.
    """
    half = learning[0].shape[0] // 2
    parts = [_labelled(*(o[:half] for o in learning)), _labelled(*(o[half:] for o in learning))]
    if testing is not None:
        parts.append(_labelled(*testing))
    coded = CodedOutputs.of(np.vstack([outputs for outputs, _ in parts]))
    n_learn, n_choose = (is_first.size for _, is_first in parts[:2])
    learn = coded.take(np.arange(n_learn))
    later = coded.take(np.arange(n_learn, coded.rows.size))
    best: tuple[Score, _Level] | None = None
    for score in _scores(learn, later, parts[0][1], n_choose):
        level = _best_level(score, parts[1][1], n_test, delta, alpha)
        if best is None or level.promised > best[1].promised:
            best = score, level
    assert best is not None
    return _event_of(*best, shown)


def _labelled(first: NDArray, second: NDArray) -> tuple[NDArray, NDArray[np.bool_]]:
    """Outputs of both datasets, and which are the first's."""
    is_first = np.arange(first.shape[0] + second.shape[0]) < first.shape[0]
    return np.vstack([first, second]), is_first


def _scores(
    learn: CodedOutputs, later: CodedOutputs, is_first: NDArray[np.bool_], n_choose: int
) -> Iterator[Score]:
    """Scores learnt on ``learn``, of the choosing runs and of the testing runs."""
    examples = later.raw[:n_choose]

    def score(name: str, values: NDArray) -> Score:
        values = np.asarray(values, dtype=np.float64)
        return Score(name, values[:n_choose], values[n_choose:], examples)

    yield score("log ratio of the whole output", _log_ratios(learn.rows, later.rows, is_first))
    n_columns = learn.columns.shape[1]
    together = np.zeros(later.rows.size)
    for index in range(n_columns):
        ratios = _log_ratios(learn.columns[:, index], later.columns[:, index], is_first)
        together += np.clip(ratios, -_CLIP, _CLIP)
        if index < _MAX_COLUMNS:
            yield score(f"log ratio of column {index}", ratios)
            values = later.raw[:, index].astype(np.float64)
            yield score(f"column {index}", _ordered(values))
            yield score(f"minus column {index}", _ordered(-values))
    if n_columns > 1:
        yield score("sum of the columns' log ratios", together)
        if learn.columns.size <= _MAX_TREE_CELLS:
            yield score("log ratio in a decision tree", _tree_ratios(learn, later, is_first))


def _bits(column: NDArray) -> NDArray:
    """Doubles as they are stored: both zeros are equal as numbers, and tell apart who sees them."""
    if column.dtype.kind != "f" or column.dtype.itemsize > 8:
        return column
    return np.ascontiguousarray(column).view(f"u{column.dtype.itemsize}")


def _ordered(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values that are all above or below a level; NaN, which is neither, lies below the others."""
    return np.where(np.isnan(values), -np.inf, values)


def _log_ratios(
    learnt: NDArray[np.int64], later: NDArray[np.int64], is_first: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """ln P(value | first) / P(value | second), smoothed by half a run; 0 for values not seen."""
    size = int(max(learnt.max(initial=0), later.max(initial=0))) + 1
    first = np.bincount(learnt[is_first], minlength=size)
    second = np.bincount(learnt[~is_first], minlength=size)
    return np.log((first + 0.5) / (second + 0.5))[later]


def _tree_ratios(
    learn: CodedOutputs, later: CodedOutputs, is_first: NDArray[np.bool_]
) -> NDArray[np.float64]:
    tree = DecisionTreeClassifier(max_leaf_nodes=16, min_samples_leaf=10, random_state=0)
    known, new = (np.nan_to_num(o.raw.astype(np.float64)).clip(-1e30, 1e30) for o in (learn, later))
    tree.fit(known, is_first)
    return _log_ratios(tree.apply(known), tree.apply(new), is_first)


@dataclass(frozen=True, slots=True)
class _Level:
    """A level of a score, and the outputs on one side of it."""

    promised: float
    level: float
    on_first: bool
    share: float


def _best_level(
    score: Score, is_first: NDArray[np.bool_], n_test: float, delta: float, alpha: float
) -> _Level:
    """The level of a score, and the side of it, with the largest promised bound."""
    levels = _levels_to_try(score.choose)
    first, second = (np.sort(score.choose[who]) for who in (is_first, ~is_first))
    n = min(first.size, second.size)
    best: tuple[float, float, bool, float, float] = (-1.0, 0.0, True, 0.0, 0.0)
    for on_first in (True, False):
        more, less = (first, second) if on_first else (second, first)
        # The best of many levels looks better than it is, so each is taken at its worse end.
        likely = lower_limit(_beyond(more, levels, on_first), n, _CAUTION) * n_test
        unlikely = upper_limit(_beyond(less, levels, on_first), n, _CAUTION) * n_test
        promised = certified_epsilon(likely, unlikely, n_test, n_test, delta, alpha)
        at = int(promised.argmax())
        if promised[at] > best[0]:
            best = float(promised[at]), float(levels[at]), on_first, likely[at], unlikely[at]
    _, level, on_first, hits_more, hits_less = best
    bounds = {
        share: float(certified_epsilon(hits_more, hits_less, n_test, n_test, delta, alpha, share))
        for share in SHARES
    }
    share = max(bounds, key=bounds.__getitem__)
    return _Level(bounds[share], level, on_first, share)


def _levels_to_try(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """All values; of many equal steps in rank, and all extreme ones, where rare events are."""
    levels = np.unique(values)
    if levels.size <= _MAX_THRESHOLDS:
        return levels
    edge = _MAX_THRESHOLDS // 4
    middle = np.linspace(edge, levels.size - edge - 1, _MAX_THRESHOLDS // 2).astype(int)
    return np.unique(np.concatenate([levels[:edge], levels[middle], levels[-edge:]]))


def _beyond(
    sample: NDArray[np.float64], levels: NDArray[np.float64], above: bool
) -> NDArray[np.intp]:
    """Number of a sorted sample's values from each level on, upward or downward."""
    if above:
        return sample.size - np.searchsorted(sample, levels)
    return np.searchsorted(sample, levels, side="right")


def _event_of(score: Score, chosen: _Level, shown: bool) -> ChosenEvent:
    level, on_first = chosen.level, chosen.on_first
    happened = score.test >= level if on_first else score.test <= level
    text = f"{score.name}: {'>=' if on_first else '<='} "
    # A level may be an output itself: of a single column it is one.
    text += f"{level:.4g}{_examples(score, chosen)}" if shown else "a level that is not shown"
    return ChosenEvent(text, on_first, chosen.promised, chosen.share, happened)


def _examples(score: Score, chosen: _Level) -> str:
    """Most frequent outputs of an event, in words."""
    level = chosen.level
    inside = score.choose >= level if chosen.on_first else score.choose <= level
    if not inside.any():
        return ""
    examples = score.examples[inside]
    failed = are_errors(examples)
    rows, counts = np.unique(examples[~failed], axis=0, return_counts=True)
    texts = [_shown(row) for row in rows[np.argsort(-counts)][:3]]
    return f", such as {', '.join(['an error'] * bool(failed.any()) + texts)}"


def _shown(row: NDArray) -> str:
    """An output in a few characters."""
    parts = [f"{value:.4g}" for value in row[:12].tolist()]
    more = ", ..." if row.size > 12 else ""
    return f"({', '.join(parts)}{more})"
