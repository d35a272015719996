"""Released values and public words that a learner was given while it trained, in their order.

A model is made of what mechanisms released, public facts and public words, and of nothing else
(tests/trees/test_replayed.py), so whoever keeps these can make it again, and can see what it would
have been with other noise. All of it was paid for; nothing here sees a record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.mechanisms.entropy import is_seeded
from dpforest.trees.base import QUANTILES_ROLE, Learner, TableFacts

#: Numbers that only say where thresholds lie: what is made of them counts as structure.
STRUCTURE_ROLES = frozenset({QUANTILES_ROLE})


@dataclass(frozen=True, slots=True, eq=False)
class Noised:
    """Released numbers, the noise on them, and their role; all are public.

    Attributes
    ----------
    values : ndarray
    variance : float
        Of the noise on a number.
    role : str
    zero_sum, zero_sum_variance
        So many leading columns have noise that adds up to nothing: as if of that variance, less
        its mean over them. None where that is 0.
    """

    values: NDArray[Any]
    variance: float
    role: str = ""
    zero_sum: int = 0
    zero_sum_variance: float = 0.0

    @classmethod
    def of(cls, values: NDArray[Any], event: Any, role: str) -> Noised:
        """Numbers with the noise of an event."""
        columns = int(getattr(event, "columns", 0))
        return cls(values, float(event.variance), role, columns, float(event.zero_sum_variance))

    def noise(self, generator: np.random.Generator) -> NDArray[np.float64]:
        """Normal noise of the same variances, in the shape of the values."""
        noise = self.variance**0.5 * generator.normal(size=self.values.shape)
        if self.zero_sum:
            shape = self.values.shape[0], self.zero_sum
            own = self.zero_sum_variance**0.5 * generator.normal(size=shape)
            noise[:, : self.zero_sum] = own - own.mean(axis=1, keepdims=True)
        return noise


@dataclass(frozen=True, slots=True, eq=False)
class Transcript:
    """A finished training, as far as it is public.

    Attributes
    ----------
    learner : Learner
    shape : object
        Of the learner's plan.
    facts : TableFacts
    answers : list of tuple
        What it was answered, in order: (name, answer).
    """

    learner: Learner
    shape: Any
    facts: TableFacts
    answers: list[tuple[str, Any]] = field(default_factory=list)


class RecordingBridge:
    """A bridge that notes what it hands out: answers, events and public words."""

    def __init__(self, bridge: Any, answers: list[tuple[str, Any]]) -> None:
        self._bridge, self._answers = bridge, answers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bridge, name)

    def _note(self, name: str, answer: Any) -> Any:
        self._answers.append((name, answer))
        return answer

    def has(self, role: str) -> bool:
        """As the bridge."""
        return bool(self._note("has", self._bridge.has(role)))

    def event(self, role: str) -> Any:
        """As the bridge."""
        return self._note("event", self._bridge.event(role))

    def ask(self, question: Any, *roles: str) -> RecordedSealed:
        """As the bridge."""
        return RecordedSealed(self._bridge, self._bridge.ask(question, *roles), self._answers)

    def public(self, *name: str | int) -> RecordedWords:
        """As the bridge."""
        return RecordedWords(self._bridge.public(*name), self._answers)


@dataclass(frozen=True, slots=True, eq=False)
class RecordedWords:
    """Public words, noted as they are taken.

    No word of the operating system is kept, not even a public one: what is handed out and noted is
    a digest of it, of the same length. Words of a seed are handed out as they are.
    """

    source: Any
    answers: list[tuple[str, Any]]

    def words(self, n: int) -> NDArray[np.uint64]:
        """As the source."""
        taken: NDArray[np.uint64] = self.source.words(n)
        if not is_seeded(self.source):
            digest = hashlib.shake_256(taken.tobytes()).digest(taken.nbytes)
            taken = np.frombuffer(bytearray(digest), dtype=np.uint64)
        self.answers.append(("words", taken.copy()))
        return taken


@dataclass(frozen=True, slots=True, eq=False)
class RecordedSealed:
    """A sealed count whose releases are noted, and nothing else of it."""

    bridge: Any
    sealed: Any
    answers: list[tuple[str, Any]]

    def at(self, place: int) -> RecordedSealed:
        """As the sealed count."""
        return RecordedSealed(self.bridge, self.sealed.at(place), self.answers)

    def noised(self, role: str, part: Any = None) -> Any:
        """As the sealed count."""
        released = self.sealed.noised(role, part)
        noised = Noised(released, 0.0, role)
        if role not in STRUCTURE_ROLES:
            noised = Noised.of(released, self.bridge.event(role), role)
        self.answers.append(("noised", noised))
        return released

    def chosen(self, role: str, score: Any) -> Any:
        """As the sealed count."""
        released = self.sealed.chosen(role, score)
        self.answers.append(("chosen", released))
        return released

    def minimised(self, role: str, objective: Any) -> Any:
        """As the sealed count."""
        released = self.sealed.minimised(role, objective)
        self.answers.append(("minimised", released))
        return released

    def drawn(self, role: str, families: Any) -> Any:
        """As the sealed count."""
        released = self.sealed.drawn(role, families)
        self.answers.append(("drawn", released))
        return released


class Replay:
    """Answers of a training, handed out again in their order.

    Raises
    ------
    AssertionError
        Where something else is asked for than was.
    """

    def __init__(self, answers: list[tuple[str, Any]]) -> None:
        self._left: Iterator[tuple[str, Any]] = iter(answers)

    def next(self, name: str) -> Any:
        """The next answer, which is of this kind."""
        found, answer = next(self._left, ("nothing", None))
        assert found == name, f"{name} is asked for, and {found} was"
        return answer
