"""What results depend on, as a print that tells results of this code from those of other code."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from common.modules import essence
from common.reach import Code

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Sources:
    """What a result depends on.

    Parameters
    ----------
    roots : tuple of str
        Definitions of benchmarks, ``module:name``; with them goes all that they can reach, in the
        benchmarks and in the package (see `common.reach`). Modules of the package by their names.
    files : tuple of str
        Patterns of files of the repository that are taken as they are, without what they import.
        A folder is every Python file in it.
    packages : tuple of str
        Other packages, which matter by their versions.
    """

    roots: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    def print(self, repository: Path = REPOSITORY) -> str:
        """Hexadecimal digits of all this; code as it was when first asked for."""
        return _print(self, repository)


def by_beginning(kinds: dict[str, Sources], name: str) -> Sources:
    """What is named by the beginning of a name.

    Raises
    ------
    KeyError
        If no kind's name begins so.
    """
    for beginning, sources in kinds.items():
        if name.startswith(beginning):
            return sources
    raise KeyError(name)


@lru_cache
def code_of(repository: Path) -> Code:
    """The repository's code, read once: what is edited during a run is not what runs."""
    return Code(repository)


@lru_cache
def _print(sources: Sources, repository: Path) -> str:
    found = hashlib.sha256()
    if sources.roots:
        found.update(code_of(repository).digest(sources.roots).encode())
    for path in _files(sources.files, repository):
        found.update(path.relative_to(repository).as_posix().encode() + b"\0")
        found.update(_content(path) + b"\0")
    for package in sources.packages:
        found.update(f"{package} {_version(package)}\0".encode())
    return found.hexdigest()[:16]


def _files(patterns: tuple[str, ...], repository: Path) -> Iterator[Path]:
    for pattern in patterns:
        paths = sorted(repository.glob(pattern))
        if not paths:
            raise LookupError(f"there is no {pattern!r} in {repository}")
        for path in paths:
            yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _content(path: Path) -> bytes:
    """Of Python what runs, of other files everything."""
    if path.suffix != ".py":
        return path.read_bytes()
    return essence(ast.parse(path.read_text(encoding="utf-8")).body).encode()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"
