"""The cursor: a place on a list, which goes on from step to step until the list is at its end."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator


class Cursor:
    """A place on a list: which round, which time through it, and which of its steps is next.

    It knows how long rounds are, and nothing of what they ask for.

    Parameters
    ----------
    lengths : iterable of (int, int)
        Number of steps of each round, and how many times it is gone through.

    Attributes
    ----------
    lock : Lock
        Held by whoever moves it.
    """

    def __init__(self, lengths: Iterable[tuple[int, int]]) -> None:
        self.lock = threading.Lock()
        self._lengths = tuple(lengths)
        self.round = self.time = self.step = 0
        self._skip()

    def _skip(self) -> None:
        """Go on to where there is a step, or to the end."""
        while not self.is_at_end:
            n_steps, times = self._lengths[self.round]
            if n_steps and times > 0:
                return
            self.round += 1

    @property
    def is_at_end(self) -> bool:
        """True if no step is left."""
        return self.round == len(self._lengths)

    @property
    def place(self) -> tuple[int, int, int]:
        """Round, time and step; may be set to where it was before."""
        return self.round, self.time, self.step

    @place.setter
    def place(self, place: tuple[int, int, int]) -> None:
        self.round, self.time, self.step = place

    def pass_step(self) -> None:
        """Move behind the step at the cursor."""
        n_steps, times = self._lengths[self.round]
        self.step += 1
        if self.step == n_steps:
            self.step, self.time = 0, self.time + 1
        if self.time == times:
            self.pass_round()

    def pass_round(self) -> None:
        """Move behind the whole round at the cursor."""
        self.step = self.time = 0
        self.round += 1
        self._skip()

    def ahead(self) -> Iterator[tuple[int, int]]:
        """Round and step of what is left, one time of each round."""
        for number, (n_steps, times) in enumerate(self._lengths[self.round :], start=self.round):
            for step in range(n_steps):
                behind = number == self.round and step < self.step
                if not behind or self.time + 1 < times:
                    yield number, step
