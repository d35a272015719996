"""Seconds of actions that run in turn, so that drift of the machine hits all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Actions = Mapping[str, Callable[[], Any]]
Clock = Callable[[], float]


def median_seconds(
    actions: Actions, repeats: int, clock: Clock = time.perf_counter
) -> dict[str, float]:
    """Median seconds of each action."""
    return {name: float(np.median(own)) for name, own in _in_turn(actions, repeats, clock).items()}


def least_seconds(
    actions: Actions, repeats: int, clock: Clock = time.perf_counter
) -> dict[str, float]:
    """Least seconds of each action."""
    return {name: min(own) for name, own in _in_turn(actions, repeats, clock).items()}


def _in_turn(actions: Actions, repeats: int, clock: Clock) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repeats):
        for name, action in actions.items():
            started = clock()
            action()
            seconds[name].append(clock() - started)
    return seconds
