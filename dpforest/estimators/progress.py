"""Progress bars: they count parts and passes, never records.

A fit is paid for before its bar is drawn, so nothing that becomes of the bar ends it: standard
error may be closed, be none, or be on a disk that is full.
"""

from __future__ import annotations

import threading
from contextlib import suppress
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

            with suppress(Exception):
                self._bar = tqdm(total=total, bar_format=_FORMAT + unit, mininterval=0, miniters=1)

    def over(self, records: Records) -> Records:
        """Records that are gone through under this bar."""
        return records

    def part_done(self) -> None:
        """One part of a training is finished."""

    def _step(self) -> None:
        if self._bar is not None:
            with self._lock, suppress(Exception):
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
            with suppress(Exception):
                self._bar.close()


class PartProgress(_Progress):
    """A bar over parts of a training (rounds, tables, levels), where ``verbose`` is positive."""

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
