"""Progress bars: they count parts and passes, never records.

A fit is paid for before its bar is drawn, so nothing that becomes of the bar ends it: standard
error may be closed, be none, or be on a disk that is full.
"""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from dpforest.records.base import Records, WatchedRecords

_FORMAT = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} "


class _Quiet:
    """A stream of which no error is heard.

    tqdm shows a bar under a lock that all bars of the process share, and keeps it where showing
    raises: another thread would wait for it for ever.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write what can be written."""
        with suppress(Exception):
            self._stream.write(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        with suppress(Exception):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __eq__(self, other: object) -> bool:
        """Say if it is that stream: tqdm asks how wide the terminal of standard error is."""
        return bool(self._stream is other or self is other)

    __hash__ = object.__hash__


class _Progress:
    """A bar that shows every step and no times: how long a step takes depends on the records."""

    def __init__(self, total: int, unit: str, shown: bool) -> None:
        self._lock = threading.Lock()
        self._bar: Any = None
        if shown:
            from tqdm import tqdm

            self._bar = tqdm(
                total=total, bar_format=_FORMAT + unit, mininterval=0, miniters=1,
                file=_Quiet(sys.stderr),
            )  # fmt: skip

    def over(self, records: Records) -> Records:
        """Records that are gone through under this bar."""
        return records

    def part_done(self) -> None:
        """One part of a training is finished."""

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
