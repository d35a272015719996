"""The bridge itself: what it asks for is paid for, then counted, then sealed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from fractions import Fraction
from types import TracebackType
from typing import Any, Generic, NoReturn, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    Event,
    GeometricNoise,
    ObjectivePerturbation,
    PermuteAndFlipSelection,
    ZeroSumGeometricNoise,
)
from dpforest.accounting.grants import Grant
from dpforest.accounting.lists import ESTIMATION, SIDES, STRUCTURE, grant_steps
from dpforest.accounting.releases import PlanError, Release, Round, Step
from dpforest.accounting.scopes import Scope
from dpforest.bridge.cursor import Cursor
from dpforest.bridge.protocols import Families, Objective, Part, Score
from dpforest.mechanisms.entropy import RandomSource
from dpforest.mechanisms.lattice import select_interval_point
from dpforest.mechanisms.noise import add_discrete_gaussian_noise, add_geometric_noise
from dpforest.mechanisms.objective import release_minimum
from dpforest.mechanisms.row_words import RowWords
from dpforest.mechanisms.selection import select_exponential, select_permute_and_flip
from dpforest.mechanisms.streamed import select_exponential_streamed
from dpforest.mechanisms.zero_sum_noise import add_zero_sum_geometric_noise
from dpforest.observation import observe_count, observed
from dpforest.records.base import (
    MappedRecords,
    Mapping,
    Query,
    Records,
    Released,
    Secret,
    Sensitivity,
    View,
    reveal,
)
from dpforest.records.rows import Rows
from dpforest.records.sides import Side
from dpforest.records.table import Table

T = TypeVar("T")


class Sealed(Generic[T]):
    """Counts with the grants that were paid for them: they can be released, once a role."""

    __slots__ = ("__grants", "__question", "__secret", "__sensitivity", "__words")

    def __init__(
        self,
        secret: Secret[T],
        grants: dict[str, Grant],
        words: Callable[[str], RandomSource],
        question: Query | View[T],
    ) -> None:
        self.__secret, self.__grants, self.__words = secret, grants, words
        self.__question = question
        self.__sensitivity: Sensitivity | None = getattr(question, "sensitivity", None)

    def at(self, place: int) -> Sealed[T]:
        """One of several alternatives; the grants are shared, so that one of them is released."""
        raw: Any = reveal(self.__secret)
        if not isinstance(raw, np.ndarray) or raw.ndim < 3:
            raise PlanError("there are no alternatives")
        secret: Secret[T] = Secret(raw[operator.index(place)])
        return Sealed(secret, self.__grants, self.__words, self.__question)

    def noised(self, role: str, part: Part[T] | None = None) -> Released:
        """The counts with the noise that was paid for.

        Parameters
        ----------
        role : str
            Of geometric or Gaussian noise whose sensitivity is at least the query's.
        part : Part, optional
            What is released alone, by its own sensitivity.

        Raises
        ------
        PlanError
            If the role was not asked for or was used, its event is no noise or for a smaller
            sensitivity, alternatives are left, or the part is of another query than was asked or
            says no sensitivity. Of a part that is refused so nothing is made.
        """
        if part is None:
            counts, grant = _for_noise(reveal(self.__secret)), self._taken(role)
        else:
            # Paid for before anything is made of what was counted.
            grant = self._taken(role, self._moved(part))
            counts = _for_noise(part.counts(reveal(self.__secret)))
        if isinstance(grant.event, GeometricNoise):
            return Released(add_geometric_noise(counts, grant, self.__words(role)))
        if isinstance(grant.event, ZeroSumGeometricNoise):
            return Released(add_zero_sum_geometric_noise(counts, grant, self.__words(role)))
        return Released(add_discrete_gaussian_noise(counts, grant, self.__words(role)))

    def chosen(self, role: str, score: Score[T]) -> NDArray[np.int64]:
        """A candidate a row by its score: its place in the row, or its code; -1 where none is.

        Raises
        ------
        PlanError
            If the role was not asked for or was used, its event is for a smaller range, or the
            score takes its steps from another query.
        """
        if getattr(score, "query", self.__question) is not self.__question:
            raise PlanError("the score is of another query than was asked")
        grant = self._taken(role, score.score_range)
        rows, words = score.rows(reveal(self.__secret)), self.__words(role)
        if rows.firsts is not None and rows.lengths is not None:
            return _point(rows, rows.firsts, rows.lengths, score.unit, grant, words)
        permute = isinstance(grant.event, PermuteAndFlipSelection)
        select = select_permute_and_flip if permute else select_exponential
        return select(rows.scores, rows.starts, rows.ends, score.unit, grant, words)

    def drawn(self, role: str, families: Families[T]) -> list[Any]:
        """A candidate of each family, by its score.

        Raises
        ------
        PlanError
            As `chosen`.
        """
        grant = self._taken(role, families.score_range)
        makers = families.makers(reveal(self.__secret))
        return select_exponential_streamed(makers, families.unit, grant, self.__words(role))

    def minimised(self, role: str, objective: Objective[T]) -> Released:
        """Weights at which the losses of all records are least, with noise, in steps of a lattice.

        Raises
        ------
        PlanError
            If the role was not asked for or was used, its event is for less than one record adds to
            the losses, or these are of another query than was asked. Nothing is made of the
            records then.
        """
        if objective.query is not self.__question:
            raise PlanError("the objective is of another query than was asked")
        grant = self._taken(role, objective)
        losses = objective.losses(reveal(self.__secret))
        calibration, words = objective.calibration, self.__words(role)
        return Released(release_minimum(losses, calibration, grant, words))

    def _moved(self, part: Part[T]) -> Sensitivity:
        """Largest change of a part by one record, as it says itself; it must be of this query."""
        if getattr(part, "query", None) is not self.__question:
            raise PlanError("the part is of another query than was asked")
        sensitivity: Any = part.sensitivity
        if not isinstance(sensitivity, Sensitivity):
            raise PlanError("the part does not say how far one record moves it")
        return sensitivity

    def _taken(
        self, role: str, needed: Sensitivity | Fraction | Objective[T] | None = None
    ) -> Grant:
        """The grant of a role, which is used up with it."""
        if role not in self.__grants:
            raise PlanError(f"{role!r} was not asked for with this question, or was released")
        event = self.__grants[role].event
        if not _covers(event, self.__sensitivity if needed is None else needed):
            raise PlanError(f"the event of {role!r} is for less than one record moves")
        return self.__grants.pop(role)

    def __reduce__(self) -> NoReturn:
        raise TypeError("what was made of records cannot be pickled or copied")

    def __repr__(self) -> str:
        return f"<sealed, paid for {', '.join(map(repr, self.__grants)) or 'nothing'}>"


def _for_noise(counts: Any) -> NDArray[np.int64]:
    """Counts that noise may go on."""
    if not isinstance(counts, np.ndarray) or counts.dtype != np.int64:
        raise PlanError("noise goes on the counts of a query")
    if counts.ndim > 2:
        raise PlanError("one of the alternatives is released: take it by at(...)")
    return counts


def _covers(event: Event, moved: Sensitivity | Fraction | Objective[Any] | None) -> bool:
    """True if an event was priced for what one record moves: a sum, scores, or a gradient."""
    if isinstance(event, ObjectivePerturbation):
        clip, curvature = getattr(moved, "clip", None), getattr(moved, "curvature", None)
        if clip is None or curvature is None:
            return False
        return event.clip >= clip and event.curvature >= curvature
    if isinstance(moved, Sensitivity):
        if isinstance(event, GeometricNoise):
            return event.l1_sensitivity >= moved.l1
        if isinstance(event, ZeroSumGeometricNoise):
            return event.columns == moved.zero_sum and event.l1_sensitivity >= moved.l1
        if isinstance(event, DiscreteGaussianNoise):
            return event.l2_sensitivity_squared >= moved.l2_squared
        return False
    priced: Fraction | None = getattr(event, "score_range", None)
    if not isinstance(moved, Fraction) or priced is None:
        return False
    return priced == moved or priced > moved  # equal as a rule, which is quicker to see


@observed(lambda offer, *_: offer.starts.size)
def _point(
    offer: Rows,
    firsts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    unit: Fraction,
    grant: Grant,
    source: RandomSource,
) -> NDArray[np.int64]:
    """One code of each row, each with its own score; which interval held it is forgotten here."""
    interval, offset = select_interval_point(
        offer.scores, lengths, offer.starts, offer.ends, unit, grant, source
    )
    codes = np.full(interval.size, -1, dtype=np.int64)
    found = interval >= 0
    codes[found] = firsts[(offer.starts + interval)[found]] + offset[found]
    return codes


def _nothing() -> None:
    """Tell nobody."""


class Bridge:
    """The one place where secret becomes released: a list, a scope, records, random words.

    Parameters
    ----------
    rounds : tuple of Round
        What will be asked for, in order.
    scope : Scope
        Where it is paid for: a scope that holds that list, or any other that takes requests.
    records : Records
    source : RandomSource
    step_done : callable
        Told of each finished step.
    """

    def __init__(
        self,
        rounds: tuple[Round, ...],
        scope: Scope,
        records: Records,
        source: RandomSource,
        step_done: Callable[[], None] = _nothing,
    ) -> None:
        self._rounds = rounds
        self._cursor = Cursor((len(one.steps), one.times) for one in rounds)
        self._copies: list[BridgeCopy] = []
        self._scope, self._records, self._source = scope, records, source
        self._step_done = step_done
        self._streams: dict[tuple[str | int, ...], RandomSource] = {}
        self._asked: dict[str, Event] = {}
        self._side = Side()

    # -- public facts ---------------------------------------------------------------------------

    @property
    def schema(self) -> Table:
        """A table of the records' columns, without records."""
        return self._records.schema

    @property
    def in_memory(self) -> bool:
        """True if the records are one table, so that views can look at them."""
        return self._records.in_memory

    @property
    def n_threads(self) -> int:
        """Number of threads that a learner may use."""
        return self._records.n_threads

    @property
    def side(self) -> Side:
        """Records for structure and leaves: all for both, but where a round has a partition."""
        return self._side

    def has(self, role: str) -> bool:
        """True if the list still asks for a role."""
        return any(release.role == role for release in self._left())

    def event(self, role: str) -> Event:
        """The event of a role: as it was asked for last, or as it will be first.

        Raises
        ------
        PlanError
            If the role is on neither side.
        """
        if role in self._asked:
            return self._asked[role]
        for release in self._left():
            if release.role == role:
                return release.event
        raise PlanError(f"{role!r} is not on the list")

    @property
    def _here(self) -> Round | None:
        """The round that is asked for next; None at the end."""
        return None if self._cursor.is_at_end else self._rounds[self._cursor.round]

    def _left(self) -> Iterator[Release]:
        """Releases that were not asked for yet, one time of each round."""
        for number, step in self._cursor.ahead():
            yield from self._rounds[number].steps[step].releases

    # -- asking ---------------------------------------------------------------------------------

    @overload
    def ask(self, question: Query, *roles: str) -> Sealed[NDArray[np.int64]]: ...
    @overload
    def ask(self, question: View[T], *roles: str) -> Sealed[T]: ...
    def ask(self, question: Any, *roles: str) -> Sealed[Any]:
        """Pay for the next step of the list, then count.

        Parameters
        ----------
        question : Query or View
        roles : str
            Those of the step that is next on the list, in its order.

        Raises
        ------
        PlanError
            If they are not, or the question goes by other sides than `side`. Nothing is paid or
            counted then.
        BudgetExceeded
            If the scope cannot pay. Nothing is counted then.
        """
        _check_sides((self,), question)
        grants = self._paid(roles)
        observe_count(question)
        by_view = hasattr(question, "look")
        secret: Secret[Any] = (
            self._records.look(question) if by_view else self._records.sealed_total(question)
        )
        self._step_done()
        return Sealed(secret, grants, self._words_of, question)

    def _paid(self, roles: tuple[str, ...]) -> dict[str, Grant]:
        """The grants of the next step by role; one step at a time."""
        with self._cursor.lock:
            return self._next_paid(roles)

    def _next_paid(self, roles: tuple[str, ...]) -> dict[str, Grant]:
        here = self._here
        if here is None:
            raise PlanError(f"nothing more was planned, and {roles} is asked for")
        if here.label and not self._is_copy():
            raise PlanError(f"each {here.label} asks by a bridge of its own: copies()")
        step = here.steps[self._cursor.step]
        if step.roles != roles:
            raise PlanError(f"{step.roles} was planned, and {roles} is asked for")
        before = self._cursor.place
        try:
            self._cursor.pass_step()
            grants = self._granted(here, step)
        except BaseException:
            self._cursor.place = before
            raise
        for release in step.releases:
            self._asked[release.role] = release.event
        return grants

    def _granted(self, one: Round, step: Step) -> dict[str, Grant]:
        return grant_steps(self._scope, (step,), one.owner)[0]

    def _is_copy(self) -> bool:
        return False

    def ask_for_all(self) -> None:
        """Pay for all that is left of the list, in its order, and count nothing.

        What is written down is what any learner asks for: it can ask for nothing else, and for no
        less.
        """
        while (here := self._here) is not None:
            if here.label and not self._is_copy():
                for copy in self.copies():
                    with copy:
                        copy.ask_for_all()
            else:
                self._paid(here.steps[self._cursor.step].roles)
                self._step_done()

    def finish(self) -> None:
        """Say that nothing more will be asked for.

        Raises
        ------
        PlanError
            If the list goes on, or a copy was not left at its end.
        """
        if not self._cursor.is_at_end:
            left = sorted({release.role for release in self._left()})
            raise PlanError(f"planned and not asked for: {left}")
        if not all(copy.is_done for copy in self._copies):
            raise PlanError("planned and not asked for: all of what each copy was made for")

    # -- words ----------------------------------------------------------------------------------

    def public(self, *name: str | int) -> RandomSource:
        """Words that no release uses: for what is public, such as structures and directions."""
        return self._stream("public", *name)

    def row_words(self, name: str) -> RowWords:
        """A secret word for each record: its side, its coin."""
        return self._stream("records", name).rows()

    def _words_of(self, role: str) -> RandomSource:
        """Words for one role's releases."""
        return self._stream("release", role)

    def _stream(self, *name: str | int) -> RandomSource:
        """The stream of a name, made once."""
        if name not in self._streams:
            self._streams[name] = self._source.spawn(*name)
        return self._streams[name]

    # -- bridges of this one --------------------------------------------------------------------

    def mapped(self, mapping: Mapping) -> Bridge:
        """The same bridge to records as a mapping makes them, each on its own."""
        return self._like(MappedRecords(self._records, mapping))

    def _like(self, records: Records) -> Bridge:
        made = Bridge((), self._scope, records, self._source, self._step_done)
        made._rounds, made._cursor, made._copies = self._rounds, self._cursor, self._copies
        made._streams, made._asked = self._streams, self._asked
        return made

    def copies(self) -> tuple[BridgeCopy, ...]:
        """A bridge for each time of the labelled round that is next: to be used by ``with``.

        Each pays in a scope of its own and has words of its own, so they may be used in threads.
        """
        one = self._here
        if one is None or not one.label:
            raise PlanError("no round with a label is next on the list")
        self._cursor.pass_round()
        sources = (self._source.spawn("copy", one.label, number) for number in range(one.times))
        made = tuple(
            BridgeCopy(one, number, self._scope, self._records, source, self._step_done)
            for number, source in enumerate(sources)
        )
        self._copies += made
        return made


class BridgeCopy(Bridge):
    """One time of a labelled round: what all its steps but the last ask for is paid at once.

    Attributes
    ----------
    is_done : bool
        Whether it was left at its end, without an error.
    """

    def __init__(
        self,
        one: Round,
        number: int,
        scope: Scope,
        records: Records,
        source: RandomSource,
        step_done: Callable[[], None],
    ) -> None:
        own = Round(one.owner, one.steps, 1, one.label, one.partition)
        super().__init__((own,), scope, records, source, step_done)
        self._own, self._number = own, number
        self._last: Scope = scope
        self._open: ExitStack | None = None
        self._ahead: list[dict[str, Grant]] = []
        self.is_done = False

    def __enter__(self) -> Self:
        if self._open is not None:
            raise PlanError(f"a bridge of one {self._own.label} is entered once")
        self._open = ExitStack()
        scope = self._scope.sequential(f"{self._own.label} {self._number}")
        self._scope = self._last = self._open.enter_context(scope)
        if self._own.partition is not None:
            # The first words that a copy takes.
            self._side = Side(self.row_words("sides"), self._own.partition)
            shares = {STRUCTURE: self._own.partition, ESTIMATION: 1 - self._own.partition}
            sides = self._open.enter_context(scope.parallel_records(SIDES, shares))
            self._scope, self._last = sides.side(STRUCTURE), sides.side(ESTIMATION)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._open is not None
        with self._open.pop_all() as opened:
            if error is not None:
                opened.__exit__(kind, error, trace)
            else:
                self.finish()
                self.is_done = True

    def _is_copy(self) -> bool:
        return True

    def _granted(self, one: Round, step: Step) -> dict[str, Grant]:
        if self._open is None:
            raise PlanError(f"a bridge of one {one.label} is used by with")
        *structure, last = one.steps
        if self._cursor.is_at_end and not self._ahead:
            return grant_steps(self._last, (last,), one.owner)[0]
        if self._cursor.step == 1:
            self._ahead = list(grant_steps(self._scope, structure, one.owner))
            if not any(self._ahead):  # nothing is counted before something is paid
                self._ahead += grant_steps(self._last, (last,), one.owner)
        return self._ahead.pop(0)


def ask_together(
    bridges: Sequence[Bridge], query: Query, *roles: str
) -> list[Sealed[NDArray[np.int64]]]:
    """Pay for the next step of each bridge, then count once for all of them.

    Parameters
    ----------
    bridges : sequence of Bridge
        Copies of one round.
    query : Query
        Its first axis is of the bridges, or of length one where all share a count. The rest is
        what each of them releases, and ``sensitivity`` is of that.
    roles : str

    Raises
    ------
    PlanError
        As `Bridge.ask`.
    """
    if any(bridge._records is not bridges[0]._records for bridge in bridges):
        raise PlanError("those who ask together ask of the same records")
    _check_sides(bridges, query)
    paid = [bridge._paid(roles) for bridge in bridges]
    observe_count(query)
    raw = reveal(bridges[0]._records.sealed_total(query))
    each = np.broadcast_to(raw, (len(bridges), *raw.shape[1:]))
    sealed = []
    for bridge, grants, own in zip(bridges, paid, each, strict=True):
        bridge._step_done()
        sealed.append(Sealed(Secret(own), grants, bridge._words_of, query))
    return sealed


def _check_sides(bridges: Sequence[Bridge], question: Query | View[Any]) -> None:
    """Refuse a question by other sides than those that the bridges drew, where they drew any."""
    if not any([bridge._side.rows for bridge in bridges]):
        return
    drawn = tuple([bridge._side for bridge in bridges])
    if getattr(question, "sides", None) != drawn:
        raise PlanError("a round with a partition is asked about by the bridge's own sides: side")
