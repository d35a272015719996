"""The model that a training would have released with other noise, from released values alone.

Noise of the known law goes on the released numbers, and what the learner makes of them is made
again; what was chosen stays chosen. Where later numbers are of what earlier ones left unexplained,
they answer to the earlier ones: by as much as the same sums move over a made-up population, whose
records follow from released values (``population``). No record is touched, so it costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.records.base import Chunk
from dpforest.trees.answering import AnsweringQuery, AnsweringScore
from dpforest.trees.base import ReleasedModel
from dpforest.trees.population import Population
from dpforest.trees.transcript import Noised, Replay, Transcript


@dataclass(slots=True, eq=False)
class Renoising:
    """One training made again.

    Attributes
    ----------
    transcript : Transcript
    population : Population or None
        None where no later number answers to earlier ones.
    generator : numpy.random.Generator or None
        None adds no noise.
    before : list of ndarray
        Sums over the population as the released values had them; empty while they are made.
    sums : list of ndarray
        The same as these values have them, None where they answer to nothing.
    """

    transcript: Transcript
    population: Population | None
    generator: np.random.Generator | None = None
    before: list[NDArray[np.float64] | None] = field(default_factory=list)
    sums: list[NDArray[np.float64] | None] = field(default_factory=list)

    def model(self) -> ReleasedModel:
        """Train again over what was recorded."""
        chunk = None if self.population is None else Chunk(self.population.table)
        bridge: Any = RenoisedBridge(self, Replay(self.transcript.answers), chunk)
        with np.errstate(all="ignore"):
            return self.transcript.learner.train(
                self.transcript.shape, bridge, self.transcript.facts
            )

    def noisy(self, released: Noised, sums: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Released numbers with new noise and with the answer of later sums to earlier ones."""
        place = len(self.sums)
        self.sums.append(sums)
        values = released.values.astype(np.float64)
        if self.generator is None or not released.variance:
            return values
        values += released.noise(self.generator)
        before = self.before[place]
        if sums is not None and before is not None and self.population is not None:
            values += self.population.weight * (sums - before)
        return values

    def minimum(self, released: NDArray[Any], objective: Any) -> NDArray[np.float64]:
        """Released weights of a minimum, as they were.

        Other noise would move them by the inverse of a curvature that only the records have, so
        nobody can say how far; `noise_draws` refuses to.
        """
        assert self.generator is None, "the noise of a minimum is made anew"
        self.sums.append(None)
        return released.astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class RenoisedBridge:
    """A bridge to a transcript: no records, no grants, nothing to pay."""

    renoising: Renoising
    replay: Replay
    chunk: Chunk | None

    def has(self, role: str) -> bool:
        """As it was recorded."""
        return bool(self.replay.next("has"))

    def event(self, role: str) -> Any:
        """As it was recorded."""
        return self.replay.next("event")

    def ask(self, question: Any, *roles: str) -> RenoisedAnswer:
        """Nothing is counted; sums over the population wait until they are needed."""
        answers = isinstance(question, AnsweringQuery)
        return RenoisedAnswer(self, question, self.chunk if answers else None)

    def public(self, *name: str | int) -> RenoisedBridge:
        """Words, as they were recorded."""
        return self

    def words(self, n: int) -> NDArray[np.uint64]:
        """As they were recorded."""
        taken: NDArray[np.uint64] = self.replay.next("words")
        return taken.copy()


@dataclass(slots=True, eq=False)
class RenoisedAnswer:
    """Released numbers with new noise; choices as they were."""

    bridge: RenoisedBridge
    question: Any
    chunk: Chunk | None
    place: int | None = None
    counted: NDArray[np.int64] | None = None

    def at(self, place: int) -> RenoisedAnswer:
        """One of several alternatives."""
        self.place = place
        return self

    def noised(self, role: str, part: Any = None) -> NDArray[np.float64]:
        """Numbers with new noise."""
        released = self.bridge.replay.next("noised")
        return self.bridge.renoising.noisy(released, self._sums(part))

    def chosen(self, role: str, score: Any) -> Any:
        """As it was recorded."""
        if self.chunk is not None and isinstance(score, AnsweringScore):
            score.keep(self._counted())
        return self.bridge.replay.next("chosen")

    def minimised(self, role: str, objective: Any) -> NDArray[np.float64]:
        """Weights, as they were recorded."""
        released = self.bridge.replay.next("minimised")
        return self.bridge.renoising.minimum(released, objective)

    def drawn(self, role: str, families: Any) -> Any:
        """As it was recorded."""
        return self.bridge.replay.next("drawn")

    def _sums(self, part: Any) -> NDArray[np.float64] | None:
        """Sums over the population, where they depend on what was released before."""
        if self.chunk is None:
            return None
        counted = self._counted()
        sums = counted if part is None else part.counts(counted)
        return np.array(sums, dtype=np.float64)

    def _counted(self) -> NDArray[np.int64]:
        if self.counted is None:
            assert self.chunk is not None
            self.counted = self.question.recount(self.chunk, self.place)
        return self.counted
