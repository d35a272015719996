"""Random words: the only place in dpforest that makes randomness.

A source hands out uniform 64-bit words, each of them once. Kernels hold no generator: they
take the words as arrays, so the same words give the same draw, and a test can choose them.
"""

from __future__ import annotations

import hashlib
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.exceptions import ParameterError, ParameterTypeError, kind_of
from dpforest.mechanisms.row_words import RowWords
from dpforest.processes import this_process

Words = NDArray[np.uint64]

# Words read from the operating system at once: small requests share one system call.
_BLOCK = 4096


class RandomSource(ABC):
    """A stream of independent uniform 64-bit words, each handed out once.

    Attributes
    ----------
    seeded : bool
        Whether somebody chose the stream. Then a guarantee holds only against those who
        neither know the seed nor can search for it, and for one fit. What a fit may claim is
        decided by ``is_seeded``, which takes no class's word for it.
    """

    seeded: bool = True

    @abstractmethod
    def words(self, n: int) -> Words:
        """Take the next ``n`` words, shape (n,), dtype uint64; the array is the caller's own."""

    @abstractmethod
    def spawn(self, *key: int | str) -> RandomSource:
        """Make a source that is independent of this one and of every other key.

        Raises
        ------
        ParameterError
            When a seeded source has made one for this key before: the words would repeat.
        """

    def rows(self) -> RowWords:
        """Make words by record number, under a key that is taken from this source."""
        return RowWords.keyed(self.words(4))

    @abstractmethod
    def describe(self) -> str:
        """Say in a sentence where the words come from; never holds the seed."""


class SystemSource(RandomSource):
    """Words from the operating system's CSPRNG; safe under threads and after a fork.

    Holds a block of unused words only: those handed out are wiped from it, and a pickled or
    copied source is a fresh one without any state.
    """

    seeded = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = this_process()
        self._block = np.empty(0, dtype=np.uint64)
        self._used = 0

    def words(self, n: int) -> Words:
        if n >= _BLOCK:
            return _system_words(n)
        with self._lock:
            # A forked child would hand out its parent's block again.
            if self._used + n > self._block.size or self._process != this_process():
                self._block = _system_words(_BLOCK)
                self._used, self._process = 0, this_process()
            # Counted first: if an interrupt comes before the end, words are lost, never repeated,
            # and never are wiped ones handed out.
            self._used += n
            part = self._block[self._used - n : self._used]
            taken = part.copy()
            part[:] = 0
        return taken

    def spawn(self, *key: int | str) -> SystemSource:
        # The very same: all its words are independent, each is handed out once, and a block of them
        # for every tree would mostly be thrown away.
        return self

    def describe(self) -> str:
        return "operating system's cryptographically secure generator (os.urandom)"

    def __reduce__(self) -> tuple[Any, ...]:
        return SystemSource, ()


class SeededSource(RandomSource):
    """Words from numpy's Philox, keyed by a seed and a path of keys: for tests and demonstrations.

    The words depend on the seed, the path of keys that led to the source, and how many were
    taken before; not on threads or on the order in which other sources are used.

    Parameters
    ----------
    random_state : int, numpy.random.Generator or numpy.random.RandomState
        A generator is read once, for a seed of 128 bits.

    Raises
    ------
    ParameterTypeError
        When ``random_state`` is of another kind.
    ParameterError
        When it is a negative int.
    """

    seeded = True

    def __init__(self, random_state: int | np.random.Generator | np.random.RandomState) -> None:
        self._open(_seed_of(random_state), "")

    def _open(self, seed: int, path: str) -> None:
        digest = hashlib.sha256(f"dpforest words 1|{seed}|{path}".encode()).digest()
        self._seed, self._path = seed, path
        self._bits = np.random.Philox(key=int.from_bytes(digest[:16], "little"))
        self._spawned: set[tuple[int | str, ...]] = set()
        self._lock = threading.Lock()

    @property
    def digest(self) -> bytes:
        """A digest that equal seeds share; the seed could be searched for in it."""
        return hashlib.sha256(f"dpforest seed|{self._seed}|{self._path}".encode()).digest()

    def words(self, n: int) -> Words:
        with self._lock:
            return np.asarray(self._bits.random_raw(n), dtype=np.uint64)

    def spawn(self, *key: int | str) -> SeededSource:
        with self._lock:
            if key in self._spawned:
                raise ParameterError(
                    "key", key, "was used before, so its words would repeat", "Spawn each key once"
                )
            self._spawned.add(key)
        child = SeededSource.__new__(SeededSource)
        child._open(self._seed, f"{self._path}/{key!r}")
        return child

    def describe(self) -> str:
        return "numpy Philox from a random_state given by the caller (demonstration only)"

    def __reduce__(self) -> tuple[Any, ...]:
        raise _no_copies(self)


class FixedWords(RandomSource):
    """Words chosen by the caller, in order: for tests.

    Parameters
    ----------
    words : sequence of int, or uint64 array
        What ``words`` hands out. ``spawn`` shares the same stream.
    """

    seeded = True

    def __init__(self, words: Sequence[int] | Words) -> None:
        self._words = np.array(words, dtype=np.uint64)
        self._used = 0

    @property
    def used(self) -> int:
        """Number of words handed out so far."""
        return self._used

    def words(self, n: int) -> Words:
        left = self._words.size - self._used
        if n > left:
            raise ParameterError("n", n, f"only {left} fixed words are left", "Give more words")
        self._used += n
        return self._words[self._used - n : self._used].copy()

    def rows(self) -> RowWords:
        return _FixedRows(self)

    def spawn(self, *key: int | str) -> FixedWords:
        return self

    def describe(self) -> str:
        return "fixed words given by the caller (tests only)"

    def __reduce__(self) -> tuple[Any, ...]:
        raise _no_copies(self)


class _FixedRows(RowWords):
    """Words of records as they come from a list."""

    __slots__ = ("_source",)

    def __init__(self, source: FixedWords) -> None:
        super().__init__(())
        object.__setattr__(self, "_source", source)

    def words(self, first: int, n: int, number: int = 0) -> Words:
        taken: Words = self._source.words(n)  # type: ignore[attr-defined]
        return taken


@dataclass(frozen=True, repr=False)
class WithheldSeed:
    """Mark of a seed that a fit drew its noise from, in the place of that seed.

    Whoever has the seed makes the noise of that fit again, and takes it off what was released. A
    generator that was used is no better: its state can be stepped back. So what leaves the process
    has this mark. Were None in its place, the next fit would silently be another one.

    Parameters
    ----------
    kind : str
        Type of what was given as ``random_state``.
    """

    kind: str

    @classmethod
    def of(cls, random_state: Any) -> Any:
        """The mark of what a fit drew from; None and the operating system's source as they are."""
        if random_state is None or type(random_state) in (SystemSource, WithheldSeed):
            return random_state
        return cls(type(random_state).__name__)

    def refuse(self) -> None:
        """Refuse a fit.

        Raises
        ------
        ParameterError
            Always; it says how to go on.
        """
        raise ParameterError(
            "random_state", self,
            "is the mark of a seed that stayed behind: this object was fitted with it, and whoever "
            "has it can take the noise off what was released",
            "Choose on purpose: set_params(random_state=None), or a new seed for a demonstration",
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<a seed that was used ({self.kind}): withheld>"


def make_source(random_state: Any = None) -> RandomSource:
    """Make the source of a fit from scikit-learn's ``random_state``.

    Parameters
    ----------
    random_state : None, int, numpy.random.Generator, numpy.random.RandomState or RandomSource
        None means the operating system, the only choice that carries the guarantee. A source
        is returned as it is.

    Raises
    ------
    ParameterTypeError
        When it is of another kind.
    ParameterError
        When it is a negative int, or the mark of a seed that stayed behind.
    """
    if isinstance(random_state, WithheldSeed):
        random_state.refuse()
    if random_state is None:
        return SystemSource()
    if isinstance(random_state, RandomSource):
        return random_state
    return SeededSource(random_state)


def is_seeded(source: RandomSource) -> bool:
    """Say if somebody may have chosen the words: true of all but the operating system's source.

    By its exact class, since a source of somebody else's may say about itself what it likes.
    """
    return type(source) is not SystemSource


def describe_source(source: RandomSource) -> str:
    """Say where the words come from; of a foreign source only that it is one."""
    if type(source) in (SystemSource, SeededSource, FixedWords):
        return source.describe()
    return (
        f"a source of somebody else's ({type(source).__name__}) given by the caller as "
        "random_state (demonstration only)"
    )


def _system_words(n: int) -> Words:
    # Through a bytearray, since an array over bytes is read-only and would be a type of its
    # own to the kernels.
    return np.frombuffer(bytearray(os.urandom(8 * n)), dtype=np.uint64)


def _seed_of(random_state: Any) -> int:
    if isinstance(random_state, np.random.Generator):
        return int.from_bytes(random_state.bytes(16), "little")
    if isinstance(random_state, np.random.RandomState):
        return int.from_bytes(random_state.bytes(16), "little")
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ParameterError(
                "random_state", random_state, "must not be negative", "Give None or an int >= 0"
            )
        return int(random_state)
    raise ParameterTypeError(
        "random_state",
        random_state,
        "must be None, an int, a numpy Generator or a RandomState",
        "Leave it out to draw from the operating system",
    )


def _no_copies(source: RandomSource) -> ParameterTypeError:
    return ParameterTypeError(
        "source",
        kind_of(source),
        "cannot be copied or pickled, since a copy would hand out the same words again",
        "Spawn a source for each worker",
    )
