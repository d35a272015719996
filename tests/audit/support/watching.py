"""Watch a fit: when grants were made, when records were counted, what each mechanism was given.

`recording` tells whether anything leaves unpaid. This says more of the same run: `unpaid_counts`
that no number was counted before the grant that pays for it, and `Given` what a mechanism was
handed, so that a test can measure how far one record moves it. With a `Plant` a mechanism hands
out what it was given instead of what it drew: so a test can show that a replay would see that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import dpforest
from dpforest.audit.attributes import attributes_of
from dpforest.audit.recording import Recorder, Recording, recording
from dpforest.mechanisms.entropy import SeededSource
from dpforest.mechanisms.objective import certified_weights, lattice_places, release_minimum
from dpforest.mechanisms.streamed import Envelope, select_exponential_streamed
from dpforest.records.table import Table

PACKAGE = Path(dpforest.__file__).resolve().parent
#: Attributes of a table that hold records.
_COLUMNS = frozenset({"codes", "labels", "targets", "lattice"})
#: Functions that cut, measure or map a table record by record, and count nothing.
_PLUMBING = frozenset(
    {"__init__", "rows_of", "slices", "replace", "_replace", "n_records", "__sizeof__", "unit",
     "whole", "schema", "rescaled", "tossed", "_rows", "split"}
)  # fmt: skip
#: Exponent of a planted draw by the exponential mechanism: as good as the best candidate.
_SHARP = 50.0


@dataclass(frozen=True, slots=True)
class Site:
    """Where in the package a grant was asked for: a line, or by name where a list says whose."""

    module: str
    line: int

    @property
    def learner(self) -> str:
        """The learner that asked; ``forest`` and ``trees`` for what learners share."""
        parts = Path(self.module).parts
        return parts[1] if parts[0] == "trees" and len(parts) > 1 else parts[0]


@dataclass(frozen=True, slots=True)
class Granted:
    """A grant was made."""

    grant: Any
    site: Site


@dataclass(frozen=True, slots=True)
class Counted:
    """Records were counted, or a table of them was looked at; ``what`` names the place."""

    what: str


@dataclass(frozen=True, slots=True)
class Given:
    """A mechanism was run under a grant.

    Attributes
    ----------
    mechanism : str
    grant : Grant
    arguments : dict
        What it was given, by name; secret.
    """

    mechanism: str
    grant: Any
    arguments: dict[str, Any]


Step = Granted | Counted | Given
#: Which mechanisms shall hand out what they were given.
Plant = Callable[[Given, Site], bool]


@dataclass
class Watched:
    """One run, with all that was seen of it.

    Attributes
    ----------
    recording : Recording
        What it showed.
    steps : list of Granted, Counted or Given
        In order.
    model : object
        What the run returned; None where it raised.
    """

    recording: Recording = field(default_factory=Recording)
    steps: list[Step] = field(default_factory=list)
    model: Any = None

    @property
    def given(self) -> list[tuple[Given, Site]]:
        """Paid releases in order, each with the place that asked for its grant."""
        sites = {id(s.grant): s.site for s in self.steps if isinstance(s, Granted)}
        return [(s, sites[id(s.grant)]) for s in self.steps if isinstance(s, Given)]


class Watcher(Recorder):
    """A recorder that sees grants, counts and what mechanisms are given as well."""

    def __init__(
        self, watched: Watched, frozen: Recording | None = None, plant: Plant | None = None
    ) -> None:
        super().__init__(watched.recording, frozen)
        self._watched, self._plant = watched, plant
        self._sites: dict[int, Site] = {}
        self._leaking: Given | None = None

    def granted(self, grants: Sequence[Any], owner: str = "") -> None:
        site = Site(owner, 0) if owner else _asking_site()
        self._sites |= {id(grant): site for grant in grants}
        self._watched.steps += [Granted(grant, site) for grant in grants]

    def table(self, table: Table) -> Table:
        return _watched_table(table, self.count)

    def count(self, what: str) -> None:
        self._watched.steps.append(Counted(what))

    def release(self, name: str, grant: Any, public: Any, draw: Any) -> Any:
        if grant is None or self.inside:
            return super().release(name, grant, public, draw)
        given = Given(name, grant, {k: _kept(v) for k, v in draw.arguments.items()})
        if self._plant is not None and self._plant(given, self._sites[id(grant)]):
            self._leaking = given
        released = super().release(name, grant, public, draw)
        # Here, not before: families are counted while the mechanism draws.
        self._watched.steps.append(given)
        return released

    def _output(self, name: str, drawn: Any) -> Any:
        output, given, self._leaking = super()._output(name, drawn), self._leaking, None
        return output if given is None else raw_output(given, drawn)


def watch(
    run: Callable[[Any], Any],
    dataset: Any,
    replay: Recording | None = None,
    plant: Plant | None = None,
) -> Watched:
    """Run on a dataset and see all of it.

    Parameters
    ----------
    run : callable
        Dataset -> fitted estimator.
    dataset : object
    replay : Recording, optional
        Mechanisms hand out what was released in this one, but for planted ones.
    plant : callable, optional
        Of a release and the place that asked for it: whether it shall leak.
    """
    watched = Watched()
    with recording(replay, Watcher(watched, replay, plant), watched.recording) as log:
        try:
            watched.model = run(dataset)
            log.result = attributes_of((watched.model, watched.model.privacy_report()))
        except Exception as error:  # whatever leaves the run is shown, so it is compared
            log.error = f"{type(error).__name__}: {error}"
    return watched


def unpaid_counts(steps: Sequence[Step]) -> list[str]:
    """Roles whose numbers were counted before their grant was made.

    What a mechanism is given was counted since the release before it, or, where nothing was
    counted in between, it is of the same counts as that one. All these counts have to come after
    the grant. One exception: trees of a forest share the counts of the root, which were paid for by
    the first of them.
    """
    made = {id(s.grant): number for number, s in enumerate(steps) if isinstance(s, Granted)}
    found, first, latest = [], None, None
    for number, step in enumerate(steps):
        if isinstance(step, Counted) and first is None:
            first = number
        elif isinstance(step, Given):
            of_root = first is None and step.grant.level == 0
            latest = first if first is not None else latest
            if latest is None or (made[id(step.grant)] > latest and not of_root):
                found.append(step.grant.role)
            first = None
    return found


def raw_output(given: Given, drawn: Any) -> Any:
    """What a mechanism was given in the form of what it drew: counts, the minimum, the best."""
    arguments = given.arguments
    if "counts" in arguments:
        return np.asarray(arguments["counts"], dtype=np.int64).reshape(np.shape(drawn))
    if given.mechanism == release_minimum.__name__:
        losses, calibration = arguments["losses"], arguments["calibration"]
        weights = certified_weights(losses, calibration, [0] * calibration.n_columns)
        return np.array(lattice_places(weights, calibration.step), dtype=np.int64)
    if given.mechanism == select_exponential_streamed.__name__:
        return [_best_of(make) for make in arguments["families"]]
    if "offer" in arguments:
        offer = arguments["offer"]
        best = _best_rows(offer.scores, offer.starts, offer.ends)
        return np.where(best < 0, -1, offer.firsts[offer.starts + np.maximum(best, 0)])
    return _best_rows(*(np.asarray(arguments[name]) for name in ("scores", "starts", "ends")))


def _best_rows(scores: Any, starts: Any, ends: Any) -> Any:
    rows = [scores[a:b] for a, b in zip(starts, ends, strict=True)]
    return np.array(
        [int(r.argmax()) if r.size and np.isfinite(r.max()) else -1 for r in rows], dtype=np.int64
    )


def _best_of(make: Callable[[Envelope], Any]) -> Any:
    family, source = make(Envelope(_SHARP)), SeededSource(0)
    proposals = [family.propose(source) for _ in range(20)]
    return min(proposals, key=lambda proposal: proposal.gap).outcome


def _kept(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _asking_site() -> Site:
    """The nearest caller outside the accountant."""
    frame = sys._getframe(2)
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            module = path.relative_to(PACKAGE)
            if module.parts[0] not in ("observation.py", "accounting"):
                return Site(module.as_posix(), frame.f_lineno)
        elif path.parent.name != "accounting":
            return Site(path.name, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]
    raise AssertionError("somebody asked for the grant")


def _watched_table(table: Table, count: Callable[[str], None]) -> Table:
    """The same table, which says by whom its columns are looked at."""

    def look(self: Table, name: str) -> Any:
        if name in _COLUMNS:
            asking = sys._getframe(1).f_code.co_name
            if asking not in _PLUMBING:
                count(asking)
        return object.__getattribute__(self, name)

    kind = type("WatchedTable", (Table,), {"__slots__": (), "__getattribute__": look})
    names = [name for name in Table.__dataclass_fields__]
    watched: Table = kind(*(getattr(table, name) for name in names))
    return watched
