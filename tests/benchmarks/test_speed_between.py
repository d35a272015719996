"""Fits of two checkouts: a case that fails is no case that is as fast."""

from __future__ import annotations

from pathlib import Path

import pytest
import speed_between
from speed_between import Checkout, compare, is_slower

ROOT = Path(__file__).resolve().parents[2]


class Side:
    """A checkout that takes so long, or answers so."""

    def __init__(self, answer: float | str | None) -> None:
        self._answer = answer

    def seconds(self, table: str, what: str, times: int) -> float | str | None:
        """The answer, of as many times."""
        return self._answer * times if isinstance(self._answer, float) else self._answer


def lines_of(old: float | str | None, new: float | str | None) -> list[dict]:
    return [compare(Side(old), Side(new), "adult", "one-shot", 3)]


@pytest.mark.parametrize(
    ("old", "new", "slower"),
    [
        (1.0, 1.0, False),
        (1.0, 1.01, False),
        (1.0, 1.03, True),
        (1.0, 1.06, True),
        (1.0, "KeyError: it", True),
        ("KeyError: it", 1.0, True),
        (None, 1.0, True),
    ],
)
def test_slower_failed_or_nothing_compared_is_told(old, new, slower):
    assert is_slower(lines_of(old, new)) is slower


def test_absent_tables_and_failed_cases_beside_others():
    fast = lines_of(1.0, 1.0)
    assert not is_slower(fast + lines_of(None, None))
    assert is_slower(fast + lines_of(1.0, "MemoryError: "))
    assert is_slower(9 * fast + lines_of(1.0, 1.0 + 1.1 * (speed_between.WORST - 1)))


def test_a_process_says_which_it_is():
    with Checkout(ROOT) as side:
        assert side.seconds("no table", "one-shot", 1) is None
        assert str(side.seconds("continuous", "no fit", 1)).startswith("KeyError")
