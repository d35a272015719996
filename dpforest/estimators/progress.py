"""Progress bars: they count trees, levels, parts and passes, never records."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any, Self

from dpforest.records.base import Records, WatchedRecords

_FORMAT = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} "


class _Progress:
    """A bar that shows every step and no times: how long a step takes depends on the records."""

    def __init__(self, total: int, unit: str, shown: bool) -> None:
        self._lock = threading.Lock()
        self._bar: Any = None
        if shown:
            from tqdm import tqdm

            self._bar = tqdm(total=total, bar_format=_FORMAT + unit, mininterval=0, miniters=1)

    def over(self, records: Records) -> Records:
        """Records that are gone through under this bar."""
        return records

    def part_done(self) -> None:
        """One part of a training is finished."""

    def step_done(self) -> None:
        """One step of a plan is finished."""

    def _step(self) -> None:
        if self._bar is not None:
            with self._lock:
                self._bar.update(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


class TreeProgress(_Progress):
    """A bar over trees, shown where ``verbose`` is positive.

    Parameters
    ----------
    n_trees : int
    verbose : int
        0 shows nothing, 1 a bar over trees, 2 a bar over the levels of all trees.
    depth : int
        Levels of each tree, leaves included.
    """

    def __init__(self, n_trees: int, verbose: int, depth: int) -> None:
        self._steps_a_tree, self._by_level, self._done = depth + 1, verbose > 1, 0
        total = n_trees * self._steps_a_tree if self._by_level else n_trees
        super().__init__(total, "levels" if self._by_level else "trees", verbose > 0)

    def step_done(self) -> None:
        """Count one level of one tree; trees by their levels, whichever trees these were of."""
        with self._lock:
            self._done += 1
            whole_tree = self._done % self._steps_a_tree == 0
        if self._by_level or whole_tree:
            self._step()


class PartProgress(_Progress):
    """A bar over the parts of a training (rounds, tables, draws), where ``verbose`` is positive."""

    def __init__(self, n_parts: int, verbose: int) -> None:
        super().__init__(n_parts, "parts", verbose > 0)

    def part_done(self) -> None:
        """Count one finished part."""
        self._step()


class PassProgress(_Progress):
    """A bar over passes through records that are read anew in each, where ``verbose`` is positive.

    What is read within a pass moves nothing: it would tell how many records there are.
    """

    def __init__(self, n_passes: int, verbose: int) -> None:
        super().__init__(n_passes, "passes", verbose > 0)

    def over(self, records: Records) -> Records:
        """Records of which every pass is counted."""
        return WatchedRecords(records, self._step)
