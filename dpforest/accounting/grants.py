"""Single-use permissions to draw: made by the accountant, consumed by a mechanism."""

from __future__ import annotations

import threading
from typing import Any, NoReturn, TypeVar

from dpforest.accounting.events import Event
from dpforest.exceptions import GrantError
from dpforest.processes import this_process

E = TypeVar("E", bound=Event)

#: Shown by whoever may make a grant. A guard against mistakes, not against malice.
_ISSUER = object()


class Grant:
    """Permission to run one event once, over so many cells.

    Made by ``Scope.request`` after the spending is in the
    ledger; a mechanism hands it in with :meth:`consume` before it draws. A grant that is never
    consumed stays paid. It can be neither copied nor pickled, and a forked process cannot consume
    the one that it was born with: each would be a second use.
    """

    __slots__ = ("_cells", "_consumed", "_event", "_level", "_lock", "_path", "_process", "_role")

    def __init__(
        self,
        issuer: object,
        event: Event,
        role: str,
        cells: int,
        path: tuple[str, ...],
        level: int | None = None,
    ) -> None:
        if issuer is not _ISSUER:
            raise GrantError(
                "a Grant cannot be made by hand. Ask an accountant or one of its scopes: "
                "scope.request(event, role=..., cells=...)."
            )
        self._event = event
        self._role = role
        self._cells = cells
        self._path = path
        self._level = level
        self._consumed = False
        self._process = this_process()
        self._lock = threading.Lock()

    @property
    def event(self) -> Event:
        """Event that was paid for."""
        return self._event

    @property
    def role(self) -> str:
        """Purpose that it was asked for, for instance ``"feature selection"``."""
        return self._role

    @property
    def cells(self) -> int:
        """Number of disjoint public cells that the event may run on."""
        return self._cells

    @property
    def path(self) -> tuple[str, ...]:
        """Labels of the scopes it was paid in, outermost first."""
        return self._path

    @property
    def level(self) -> int | None:
        """Level of the tree it was asked for, if any."""
        return self._level

    @property
    def consumed(self) -> bool:
        """True if a mechanism has used it."""
        return self._consumed

    def consume(self, event_type: type[E], cells: int) -> E:
        """Use the grant up and return the event that was paid for.

        Parameters
        ----------
        event_type : type of Event
            What the mechanism is about to run.
        cells : int
            On how many disjoint cells.

        Returns
        -------
        Event
            Its parameters are the ones to draw with.

        Raises
        ------
        GrantError
            If it was used before, was issued for another event, for fewer cells, or in another
            process. A refusal for type or cells leaves the grant usable: nothing was drawn.
        """
        if not isinstance(self._event, event_type):
            raise GrantError(
                f"grant for {self._event.mechanism!r} ({self._role}) does not cover "
                f"{event_type.__name__}. Request the event that the mechanism runs."
            )
        if cells > self._cells:
            raise GrantError(
                f"grant for {self._cells} cells ({self._role}) does not cover {cells}. "
                "Request all cells of the level at once."
            )
        if this_process() != self._process:
            raise GrantError(
                f"grant for {self._event.mechanism!r} ({self._role}) belongs to another process, "
                "which may use it too. Draw in the process that asked for it."
            )
        with self._lock:
            if self._consumed:
                raise GrantError(
                    f"grant for {self._event.mechanism!r} ({self._role}) was used before. "
                    "Every draw needs a request of its own."
                )
            self._consumed = True
        return self._event

    def _refuse_copy(self, *_: Any) -> NoReturn:
        raise GrantError(
            "a Grant can be neither copied nor pickled: it is good for one draw. "
            "Request another one."
        )

    __copy__ = _refuse_copy
    __deepcopy__ = _refuse_copy
    __reduce__ = _refuse_copy
    __reduce_ex__ = _refuse_copy

    def __repr__(self) -> str:
        state = "used" if self._consumed else "unused"
        where = " / ".join(self._path)
        return f"<Grant {self._role!r} over {self._cells} cells in {where!r}, {state}>"


def issue(event: Event, role: str, cells: int, path: tuple[str, ...], level: int | None) -> Grant:
    """Make a grant; for the scopes alone, after they have recorded the spending."""
    return Grant(_ISSUER, event, role, cells, path, level)


def consume(grant: Grant | None, event_type: type[E], cells: int) -> E:
    """Use up a grant for an event of this type over so many cells.

    Raises
    ------
    GrantError
        When there is no grant, it was used before, it is for another event or for fewer cells.
    """
    if not isinstance(grant, Grant):
        raise GrantError(
            f"no grant: the {event_type.mechanism} runs only with a Grant for "
            f"{event_type.__name__}. Get one from the accountant's request."
        )
    return grant.consume(event_type, cells=cells)


def require_sensitivity(grant: Grant | None, name: str, needed: int) -> None:
    """Refuse a grant that was priced for a smaller sensitivity than the mechanism has.

    Called before the grant is consumed, so a refusal leaves it usable.

    Raises
    ------
    GrantError
        When the event's attribute ``name`` is smaller than ``needed``.
    """
    paid = getattr(getattr(grant, "event", None), name, None)
    if paid is not None and paid < needed:
        raise GrantError(f"the mechanism needs {name} >= {needed}, but the grant is for {paid}.")
