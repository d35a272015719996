"""Streams over files: which files, what their headers or schemas tell, and what pyarrow says."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpforest.exceptions import (
    Described,
    MissingExtraError,
    ParameterError,
    ParameterTypeError,
    StreamError,
    kind_of,
    raise_alone,
)
from dpforest.records.streams.base import COUNTS_TWICE, MEMORY_LIMIT, ReadBy, Stream
from dpforest.records.streams.passes import Batch

Paths = str | os.PathLike[str] | list[Any] | tuple[Any, ...]

#: How files of a kind end; folders are searched for all of them.
ENDINGS = {"csv": (".csv", ".csv.gz"), "parquet": (".parquet", ".pq")}
#: Ends of the names of compressed files, with what pyarrow calls their kind.
PACKED = {".gz": "gzip", ".bz2": "bz2", ".lz4": "lz4", ".zst": "zstd"}
#: Ends by which two files of one name are the same records in two forms, as nobody means both.
_FORMS = {"csv": tuple(PACKED), "parquet": ENDINGS["parquet"]}
_THERE = "must name files that are there"


class Files(Stream):
    """Files of one kind, read in the order in which they are given; each of them once.

    They are those that their names led to when the stream was made, whatever folder the process
    works in later.
    """

    kind: str

    def __init__(self, paths: Paths, target: str, memory_limit: int = MEMORY_LIMIT) -> None:
        super().__init__(memory_limit)
        if not isinstance(target, str):
            raise ParameterTypeError(
                "target", kind_of(target), "must be the name of a column", "Give a text"
            )
        self.paths = tuple(path.absolute() for path in file_list(paths, self.kind))
        self._refuse_counted_twice()
        self.target = target

    def check(self, feature_names: tuple[str, ...]) -> ReadBy:
        """Open every file and look at its columns, which have names; see :meth:`Stream.check`."""
        if self.target in feature_names:
            raise ParameterError(
                "target", self.target, "is a feature of the domain too", "Name another column"
            )
        self._check_files((*feature_names, self.target))
        self._refuse_counted_twice()  # a link may lead elsewhere by now
        return ReadBy(names=True)

    def _refuse_counted_twice(self) -> None:
        """Refuse what is paid for once and would count twice; predictions may be of both."""
        _refuse_repeats(self.paths)
        _refuse_forms(self.paths, self.kind)

    @abstractmethod
    def _check_files(self, needed: tuple[str, ...]) -> None:
        """Refuse files by their headers or schemas."""

    def batches(self) -> Iterator[Batch]:
        """All columns of all files."""
        return self._read(None)

    def batches_of(self, feature_names: Sequence[str]) -> Iterator[Batch]:
        """Some columns of all files; the others are not read."""
        return self._read((*feature_names, self.target))

    @abstractmethod
    def _read(self, wanted: tuple[str, ...] | None) -> Iterator[Batch]:
        """Batches with these columns, or with all."""

    def _batch(self, table: Any, place: str) -> Batch:
        return Batch(table.drop_columns([self.target]), table[self.target], place)


@contextmanager
def reading(place: str) -> Iterator[None]:
    """Turn what pyarrow says, which may quote a value, into an error that names the place."""
    pa = pyarrow()
    try:
        yield
    except StreamError:
        raise
    # A footer's text may be no text, which is a ValueError.
    except (pa.ArrowException, OSError, ValueError) as error:
        denied = isinstance(error, PermissionError)
        why = "" if denied else ": damaged, cut short or of another kind"
        repair = "Give this user the right to read it" if denied else "Write it again"
        rule = f"it cannot be read ({type(error).__name__}){why}"
        raise_alone(StreamError(place, rule, repair))


@contextmanager
def looking_for_files() -> Iterator[None]:
    """Turn what the system says of a path into an error that names its last part."""
    try:
        yield
    except OSError as error:
        place = Described(Path(os.fsdecode(error.filename or "a path")).name)
        rule = f"cannot be looked at ({type(error).__name__})"
        raise_alone(
            ParameterError("paths", place, rule, "Name files that are there and may be read")
        )


@contextmanager
def source_of(path: Path) -> Iterator[Any]:
    """Source that pyarrow opens: a file's path, or the open file where its name is no UTF-8.

    pyarrow writes every name in UTF-8. Names of other bytes, and all that are no ASCII where
    Python was told so by its locale, have halves of characters, which it refuses to write.
    """
    if any("\udc80" <= letter <= "\udcff" for letter in os.fspath(path)):
        with path.open("rb") as file:
            yield file
    else:
        yield path


def file_list(paths: Paths, kind: str) -> tuple[Path, ...]:
    """Files of a kind, in the order in which they are read.

    Raises
    ------
    ParameterTypeError
        Something else is given.
    ParameterError
        There are none, or one cannot be looked at.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if not isinstance(given, (list, tuple)) or not all(map(_is_path, given)):
        raise ParameterTypeError(
            "paths", kind_of(paths), "must be a path, or a list of paths", "Give file names"
        )
    found: list[Path] = []
    with looking_for_files():
        for path in map(Path, given):
            found += files_in(path, kind) if path.is_dir() else [path]
        usual = f"Give *{ENDINGS[kind][0]} files or a folder of them"
        for path in found:
            _check_file(path, usual)
    if not found:
        raise ParameterError(
            "paths", Described("a folder" if given else "an empty list"), _THERE,
            f"{usual}; folders in a folder are not searched",
        )  # fmt: skip
    return tuple(found)


def _is_path(given: Any) -> bool:
    """Say if an object is a path of text, itself or by what it says; paths of bytes are none."""
    if not isinstance(given, (str, os.PathLike)):
        return False
    try:
        return isinstance(os.fspath(given), str)
    except TypeError:
        return False


def _check_file(path: Path, usual: str) -> None:
    if path.is_file():
        return
    rule, repair = _THERE, usual
    if path.is_dir():
        rule, repair = "is a folder in a folder, which is not searched", "Name it too, or move it"
    elif path.exists():
        rule, repair = "is no file that can be read again", "Write what it gives into a file"
    raise ParameterError("paths", path.name, rule, repair)


def files_in(folder: Path, kind: str) -> list[Path]:
    """Files of a folder that end so, in the order of their names; T.CSV ends with .csv too."""
    return sorted(path for path in folder.iterdir() if path.name.lower().endswith(ENDINGS[kind]))


def _refuse_forms(files: Sequence[Path], kind: str) -> None:
    """Refuse a file beside another form of it in a folder: its records would count twice.

    Endings are known by large letters too, so names are compared without their case.
    """
    first: dict[tuple[str, str], tuple[str, Path]] = {}
    folders = {parent: os.path.realpath(parent) for parent in {path.parent for path in files}}
    for path in files:
        name = path.name.lower()
        ending = next((one for one in _FORMS[kind] if name.endswith(one)), "")
        place = folders[path.parent], name.removesuffix(ending)
        known, other = first.setdefault(place, (ending, path))
        if known != ending:
            short, long = sorted((path.name, other.name), key=len)
            raise ParameterError(
                "paths", Described(f"the file {short} (and {long})"), COUNTS_TWICE,
                "Name the files, each in one form; rename one if it has other records",
            )  # fmt: skip


def _refuse_repeats(files: Sequence[Path]) -> None:
    """Refuse a file that is named twice, by whatever names: its records would count twice."""
    seen: set[tuple[int, int]] = set()
    for path in files:
        with looking_for_files():
            found = path.stat()
        if (found.st_dev, found.st_ino) in seen:
            raise ParameterError(
                "paths", Described(f"the file {path.name}"), COUNTS_TWICE, "Name each file once"
            )
        seen.add((found.st_dev, found.st_ino))


def pyarrow(module: str | None = None) -> Any:
    """pyarrow, or a module of it.

    Raises
    ------
    MissingExtraError
        It is not installed.
    """
    from importlib import import_module

    try:
        return import_module("pyarrow" if module is None else f"pyarrow.{module}")
    except ImportError:
        raise MissingExtraError("pyarrow", "frames", "reading files in parts") from None
