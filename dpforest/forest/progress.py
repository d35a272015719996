"""Progress bars: they count trees and levels, never records."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

_FORMAT = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} "


class TreeProgress:
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
        self._by_level = verbose > 1
        self._lock = threading.Lock()
        self._bar: Any = None
        if verbose > 0:
            from tqdm import tqdm

            total = n_trees * (depth + 1) if self._by_level else n_trees
            unit = "levels" if self._by_level else "trees"
            # Every step is shown and no times are: how long a step takes depends on the records.
            self._bar = tqdm(total=total, bar_format=_FORMAT + unit, mininterval=0, miniters=1)

    def level_done(self) -> None:
        """Count one finished level of one tree."""
        if self._by_level:
            self._step()

    def tree_done(self) -> None:
        """Count one finished tree."""
        if not self._by_level:
            self._step()

    def _step(self) -> None:
        if self._bar is not None:
            with self._lock:
                self._bar.update(1)

    def __enter__(self) -> TreeProgress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
