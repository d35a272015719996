"""Record and replay, to find whatever depends on records and leaves without a grant.

A run is recorded on a dataset, then repeated on its neighbour while every mechanism hands out
what it released the first time. Releases are paid for; everything else that the run shows must
then be the same: which columns were read when, which draws were asked for, warnings, log lines,
printed text, errors and their messages, and the result down to its last attribute. (The method is
that of Re:cord-play, 2026.) Tests only: one recording at a time in a process, in one thread, and
with a ``random_state`` where anything is drawn that is neither paid nor a function of public facts.
"""

from __future__ import annotations

import contextlib
import io
import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpforest.audit.attributes import attributes_of
from dpforest.audit.neighbours import DatasetPair
from dpforest.exceptions import DPForestError
from dpforest.observation import Observer, set_observer


@dataclass(frozen=True, slots=True)
class Read:
    """Values of records were read."""

    what: str


@dataclass(frozen=True, slots=True)
class Release:
    """A mechanism drew; under a grant if it read anything.

    Attributes
    ----------
    mechanism : str
    paid : tuple or None
        Scopes, role, level and cells of the grant; None for a draw from public facts alone.
    public : dict
        What of its arguments the mechanism takes to be public.
    output : object
    """

    mechanism: str
    paid: tuple[Any, ...] | None
    public: dict[str, Any]
    output: Any


@dataclass
class Recording:
    """Record of one run.

    Attributes
    ----------
    events : list of Read or Release
        In order.
    warnings, logs : list of str
    printed : str
        Standard output and error.
    error : str or None
        Type and message of an exception that left the run.
    result : dict
        Every attribute of what the run returned, by path.
    """

    events: list[Read | Release] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    printed: str = ""
    error: str | None = None
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def reads(self) -> list[str]:
        """Names of all that was read, in order."""
        return [event.what for event in self.events if isinstance(event, Read)]

    @property
    def releases(self) -> list[Release]:
        """Draws in order."""
        return [event for event in self.events if isinstance(event, Release)]

    @property
    def unpaid(self) -> list[str]:
        """Mechanisms that drew without a grant; they may only draw from public facts."""
        return [release.mechanism for release in self.releases if release.paid is None]


class Recorder(Observer):
    """Logs what passes; with an earlier recording it hands out that one's outputs."""

    def __init__(self, log: Recording, frozen: Recording | None) -> None:
        self._log = log
        self._frozen = list(frozen.releases) if frozen is not None else None
        self._inside = threading.local()

    @property
    def inside(self) -> bool:
        """True while a mechanism runs of which this one is a part."""
        return getattr(self._inside, "release", False)

    def read(self, what: str) -> None:
        self._log.events.append(Read(what))

    def release(self, name: str, grant: Any, public: Any, draw: Callable[[], Any]) -> Any:
        # A mechanism made of mechanisms is one release: its parts may be secret.
        if self.inside:
            return draw()
        self._inside.release = True
        try:
            drawn = draw()
        finally:
            self._inside.release = False
        output = self._output(name, drawn)
        paid = None if grant is None else (*grant.path, grant.role, grant.level, grant.cells)
        event = Release(name, paid, attributes_of(public), _copy(output))
        self._log.events.append(event)
        return output

    def _output(self, name: str, drawn: Any) -> Any:
        """Replace a draw by the first recorded one of the same form, if there is one."""
        if not self._frozen:
            return drawn
        earlier = self._frozen.pop(0)
        same = earlier.mechanism == name and _form(earlier.output) == _form(drawn)
        return _copy(earlier.output) if same else drawn


@contextmanager
def recording(
    replay: Recording | None = None,
    observer: Observer | None = None,
    log: Recording | None = None,
) -> Iterator[Recording]:
    """Log every read of a column and every release made in the block.

    Parameters
    ----------
    replay : Recording, optional
        Mechanisms run, consume their grants and refuse as ever, but what they hand out is
        what they released in this recording, in order.
    observer, log : Observer and Recording, optional
        Who looks on, and what it writes to; the default is a `Recorder`.

    Yields
    ------
    Recording
        Complete when the block is left. ``error`` and ``result`` are filled by `record`.
    """
    log = Recording() if log is None else log
    printed, handler = io.StringIO(), _ListHandler(log.logs)
    root = logging.getLogger()
    level = root.level
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        warnings.simplefilter("always")
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        before = set_observer(Recorder(log, replay) if observer is None else observer)
        try:
            yield log
        finally:
            set_observer(before)
            root.removeHandler(handler)
            root.setLevel(level)
            log.warnings += [f"{entry.category.__name__}: {entry.message}" for entry in caught]
            log.printed = printed.getvalue()


def record(run: Callable[[Any], Any], dataset: Any, replay: Recording | None = None) -> Recording:
    """Run on a dataset and record everything that it shows.

    Parameters
    ----------
    run : callable
        Dataset -> result, such as ``lambda data: clone(estimator).fit(*data)``.
    dataset : object
    replay : Recording, optional
        Hand out what was released in this one.
    """
    with recording(replay) as log:
        try:
            log.result = attributes_of(run(dataset))
        except Exception as error:  # whatever leaves the run is shown, so it is compared
            log.error = f"{type(error).__name__}: {error}"
    return log


def differences_on_replay(run: Callable[[Any], Any], pair: DatasetPair) -> tuple[str, ...]:
    """Find everything unpaid by which a run shows the difference between two neighbours.

    Parameters
    ----------
    run : callable
        Dataset -> result; has no randomness of its own but that of mechanisms and of a fixed seed.
    pair : DatasetPair

    Returns
    -------
    tuple of str
        Empty where nothing left without a grant. Never holds a value.

    Raises
    ------
    DPForestError
        If the same dataset does not give the same run: then a difference would tell nothing.
    """
    first = record(run, pair.first)
    again = compare(first, record(run, pair.first, first))
    if again:
        raise DPForestError(
            f"two runs on one dataset differ ({', '.join(again[:3])}), so it cannot be "
            "replayed. Give it a random_state, one thread and an accountant made in the run."
        )
    return compare(first, record(run, pair.second, first))


def compare(first: Recording, second: Recording) -> tuple[str, ...]:
    """Name the differences of two recordings; released outputs are not compared."""
    found = [
        name
        for name in ("warnings", "logs", "printed", "error")
        if getattr(first, name) != getattr(second, name)
    ]
    mine, other = [_shown(event) for event in first.events], [_shown(e) for e in second.events]
    for index, (a, b) in enumerate(zip(mine, other, strict=False)):
        if a != b:
            found.append(f"event {index}: {a[0]}")
            break
    else:
        if len(mine) != len(other):
            found.append(f"number of events after {min(len(mine), len(other))}")
    paths = sorted(first.result.keys() | second.result.keys())
    missing = object()
    found += [
        f"result{path}"
        for path in paths
        if first.result.get(path, missing) != second.result.get(path, missing)
    ]
    return tuple(found)


def _shown(event: Read | Release) -> tuple[Any, ...]:
    if isinstance(event, Read):
        return f"read of {event.what}", None, None, None
    return f"release by {event.mechanism}", event.paid, event.public, _form(event.output)


def _form(output: Any) -> Any:
    """Shape and type of an output."""
    if isinstance(output, tuple):
        return tuple(_form(part) for part in output)
    if isinstance(output, list):
        return len(output)  # outcomes of which each has a form of its own, as released
    return (output.shape, output.dtype.str) if isinstance(output, np.ndarray) else type(output)


def _copy(output: Any) -> Any:
    if type(output) in (tuple, list):
        return type(output)(_copy(part) for part in output)
    return output.copy() if isinstance(output, np.ndarray) else output


class _ListHandler(logging.Handler):
    """Keeps log lines."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] == "numba":
            return  # it tells of compiling, which only the first call of a kernel does
        self._lines.append(f"{record.levelname} {record.name}: {record.getMessage()}")
