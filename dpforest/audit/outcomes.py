"""Outcomes of single runs: the numbers that one gave, or that it ended with an error.

A claim is about all that somebody sees who asks for a run, and an error is seen. So an error is an
output, the same one whatever its type and words are: to take several outputs for one is work on
what was seen, so what is certified of the rest holds of the whole.

Held by tests/audit/test_outcomes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpforest.audit.gaps import refuse_masked
from dpforest.audit.neighbours import DatasetPair
from dpforest.exceptions import DPForestError, ParameterError, raise_alone

#: What ends an audit: refusals and faults of dpforest, each with words of its own, and trouble of
#: the machine, which may begin between the runs on one dataset and those on the other.
NO_OUTCOME = (DPForestError, MemoryError, OSError, ImportError)
#: Bits of the number that stands for an error: not a number, and none that arithmetic makes.
_BITS = np.uint64(0x7FF8_6470_666F_7265)
_ERROR = np.array([_BITS]).view(np.float64)
#: Seed of the order in which datasets take turns: no fact about runs, and the same in each audit.
_TURNS = 0x7475_726E
#: Runs of one turn. Trouble lasts longer; what a program keeps from one run to the next is of the
#: same dataset mostly, so that it still tells.
_TURN = 20
#: Tries on each dataset of a pair before it is said that no run gives an output.
_TRIES = 10

#: What is said where they all fail, and what to do: from the first run on, or from a later one.
_NOTHING = (
    "every run on {pair!r} ends with an error ({error}), so that nothing is released that could be "
    "audited",
    "Run it once on both datasets, and mend what it complains of",
)
_USED_UP = (
    "runs on {pair!r} gave outputs until they all ended with an error ({error}), which tells "
    "nothing of the datasets",
    "Let no run use up what another needs, such as a budget that they share",
)

Run = Callable[[Any], Any]


class NoOutput(ParameterError):
    """Every run on a pair ends with an error, so that there is nothing to compare."""


def outcomes_of(
    name: str, run: Run, datasets: Sequence[Any], runs: int, pair: DatasetPair
) -> list[NDArray]:
    """Outcomes of so many independent runs on each of some datasets of the pair, a row each.

    Where none of them gave an output, the rows have one place. Datasets take turns: trouble that
    comes and goes meets their runs alike, and would tell them apart if each had its own time.

    Raises
    ------
    NoOutput
        The first run ended with an error, and so did some more on both datasets.
    ParameterError
        So did the last run, where earlier ones did not; or two runs gave outputs of two lengths, or
        one a masked cell.
    """
    given: list[list[tuple[Any] | None]] = [[] for _ in datasets]
    for place in _turns(len(datasets), runs):
        given[place].append(_tried(run, datasets[place]))
        if sum(map(len, given)) == 1 and given[place][0] is None:
            _see_that_a_run_ends(name, run, pair, NoOutput, _NOTHING)
    # What is used up by now would tell the runs before from those after.
    if runs and any(outcomes[-1] is None for outcomes in given):
        _see_that_a_run_ends(name, run, pair, ParameterError, _USED_UP)
    stacked = []
    while given:  # what is stacked is let go
        outcomes = given.pop(0)
        stacked.append(
            _stacked(name, [None if one is None else np.ravel(one[0]) for one in outcomes])
        )
    return stacked


def _turns(n_datasets: int, runs: int) -> Iterator[int]:
    """Places of datasets in the order of their runs: a turn each, round after round.

    Rounds differ in their order, so that what happens at every second turn is of neither dataset.
    """
    turns = np.random.default_rng(_TURNS)
    for start in range(0, runs, _TURN):
        for place in map(int, turns.permutation(n_datasets)):
            yield from repeat(place, min(_TURN, runs - start))


def refuse_gaps(name: str, outputs: Any) -> None:
    """Refuse outputs with masked cells: what stands below is no output."""
    repair = "Return a number that is no output"
    refuse_masked(outputs, "subject", f"must give numbers alone, and {name} does not", repair)


def are_errors(outcomes: NDArray) -> NDArray[np.bool_]:
    """For each row, True if it stands for a run that ended with an error."""
    if outcomes.dtype != np.float64:
        return np.zeros(len(outcomes), dtype=bool)
    marked = np.ascontiguousarray(outcomes).view(np.uint64) == _BITS
    return np.asarray(marked.all(axis=1))


def of_one_width(name: str, parts: list[NDArray]) -> list[NDArray]:
    """Outcomes of several draws as they are; those of errors alone get the width of the others.

    Raises
    ------
    ParameterError
        Outputs are of two lengths.
    """
    nothing = [bool(are_errors(part).all()) for part in parts]
    widths = [part.shape[1] for part, none in zip(parts, nothing, strict=True) if not none]
    width = _one_length(name, widths)
    return [
        _errors(len(part), width) if none else part
        for part, none in zip(parts, nothing, strict=True)
    ]


def raise_of(told: ParameterError, error: Exception, pair: DatasetPair) -> NoReturn:
    """Raise our own error; with the one that it is about only where that can quote no record."""
    if pair.made_up:
        raise told from error
    raise_alone(told)


def _tried(run: Run, dataset: Any) -> tuple[Any] | None:
    """Output of a run, None if it ended with an error."""
    try:
        return (run(dataset),)
    except NO_OUTCOME:
        raise
    except Exception:
        return None


def _see_that_a_run_ends(
    name: str, run: Run, pair: DatasetPair, kind: type[ParameterError], words: tuple[str, str]
) -> None:
    """Stop where no run gives an output on either dataset: by its error nothing is told apart."""
    for dataset in (pair.first, pair.second) * _TRIES:
        try:
            run(dataset)
            return
        except NO_OUTCOME:
            raise
        except Exception as error:
            last = error
    rule, repair = words
    told = kind("subject", name, rule.format(pair=pair.name, error=type(last).__name__), repair)
    raise_of(told, last, pair)


def _stacked(name: str, rows: list[NDArray | None]) -> NDArray:
    """Outputs of single runs as rows, those of errors marked."""
    given = [row for row in rows if row is not None]
    refuse_gaps(name, given)
    length = _one_length(name, [row.size for row in given])
    outputs = np.array(given)
    if len(given) == len(rows) or (given and outputs.dtype.kind not in "biuf"):
        return outputs
    marked = _errors(len(rows), length)
    if given:
        marked[[row is not None for row in rows]] = outputs
    return marked


def _one_length(name: str, lengths: list[int]) -> int:
    """The length that all have; 1 where there is none."""
    least, most = min(lengths, default=1), max(lengths, default=1)
    if least != most:
        raise ParameterError(
            "subject", name, f"gives {least} numbers in some runs, {most} in others",
            "Return arrays of one length; fill up with a number that is no output",
        )  # fmt: skip
    return least


def _errors(runs: int, width: int) -> NDArray[np.float64]:
    return np.tile(_ERROR, (runs, width))
