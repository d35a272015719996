"""Requests, sides and probabilities as callers write them, and as scopes read and keep them."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpforest.accounting.events import Event
from dpforest.accounting.losses import ZERO, PrivacyLoss
from dpforest.accounting.rationals import to_rational
from dpforest.exceptions import ParameterError, ParameterTypeError


@dataclass(frozen=True, slots=True)
class Request:
    """One of several requests that are made together; see ``Scope.request``.

    Attributes
    ----------
    event : Event
    role : str
    cells : int
    level : int or None
    """

    event: Event
    role: str
    cells: int = 1
    level: int | None = None


@dataclass(frozen=True, slots=True)
class Granted:
    """A granted request, as the scope keeps it."""

    event: Event
    loss: PrivacyLoss
    role: str
    cells: int
    level: int | None


@dataclass(frozen=True, slots=True)
class PricedRequests:
    """Requests that are made together, read and priced.

    Attributes
    ----------
    entries : tuple of Granted
        What the scope will keep of them.
    loss : PrivacyLoss
        Their sum.
    """

    entries: tuple[Granted, ...]
    loss: PrivacyLoss


def read_request(request: Any) -> tuple[Event, str, int, int | None]:
    """Event, role, cells and level of a request, each read once and of its own type."""
    if not isinstance(request, Request):
        raise ParameterTypeError(
            "requests", request, "must be of Request only", "Write Request(event, role)"
        )
    event, role = request.event, request.role
    if not isinstance(event, Event):
        raise ParameterTypeError(
            "event", event, "must be an Event", "Describe the release with one of the events"
        )
    if not isinstance(role, str) or not role:
        raise ParameterTypeError("role", role, "must be a non-empty str", "Say what it is for")
    cells = _whole(request.cells)
    if cells is None or cells < 1:
        raise ParameterError(
            "cells", request.cells, "must be a positive integer",
            "Count the nodes or leaves it runs on",
        )  # fmt: skip
    level = request.level
    if level is None:
        return event, role, cells, None
    # The books could not be written with another one, and would be lost with the grant at large.
    if (level := _whole(level)) is None:
        raise ParameterTypeError(
            "level", request.level, "must be an integer or None", "Give the level of the tree"
        )
    return event, role, cells, level


def _whole(number: Any) -> int | None:
    """A number as an int, or None where it is no whole one."""
    if type(number) is int:
        return number
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        return None
    return operator.index(number)


def read_sides(sides: Mapping[str, Any]) -> dict[str, Fraction]:
    """Exact probabilities of sides by their names; they sum to at most 1.

    Raises
    ------
    ParameterTypeError, ParameterError
    """
    if not sides:
        raise ParameterError("sides", sides, "must name at least one side", "Name the sides")
    probabilities = {name: read_probability(f"sides[{name!r}]", p) for name, p in sides.items()}
    if sum(probabilities.values()) > 1:
        raise ParameterError(
            "sides", dict(sides), "must sum to at most 1", "Lower the probabilities"
        )
    return probabilities


def read_probability(parameter: str, value: Any) -> Fraction:
    """A probability above 0, exactly.

    Raises
    ------
    ParameterTypeError, ParameterError
    """
    probability = to_rational(value, parameter)
    if not ZERO < probability <= 1:
        raise ParameterError(
            parameter, value, "must be a probability above 0, at most 1", "Use, say, 0.5"
        )
    return probability
