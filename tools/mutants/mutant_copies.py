"""Copies of the sources: one that is kept as it is, and one for each mutant.

Compiled code is copied along, with the times of its sources, so that what a mutant leaves alone is
not compiled again. A changed file has a new time, and kernels that use it have another digest
(dpforest/kernels/compiling.py), so what it changes is.
"""

from __future__ import annotations

import compileall
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mutant_list import ROOT, Mutant

WORK = ROOT / "build" / "mutants"
#: What tests look at beside the package.
FOLDERS = ("dpforest", "tests", "benchmarks", "docs", "examples", "tools", "constraints")
FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "Makefile")
COMPILED = "__pycache__"


def fresh_base() -> Path:
    """The unchanged sources in a folder of their own; code compiled there before is kept."""
    base = WORK / "base"
    base.mkdir(parents=True, exist_ok=True)
    wanted = {path.relative_to(ROOT) for path in _sources(ROOT)}
    for path in _sources(base):
        if path.relative_to(base) not in wanted:
            path.unlink()
    changed = [path for path in wanted if _copy_if_changed(ROOT / path, base / path)]
    if any("kernels" in path.parts for path in changed):
        _copy_compiled(ROOT / "dpforest", base / "dpforest")
    compileall.compile_dir(base / "dpforest", quiet=1)
    return base


def _sources(root: Path) -> Iterator[Path]:
    """Files that count, compiled ones left out."""
    yield from (root / name for name in FILES if (root / name).is_file())
    for name in FOLDERS:
        for folder, inner, files in os.walk(root / name):
            inner[:] = [other for other in inner if other not in (COMPILED, "results")]
            yield from (Path(folder) / file for file in files)


def _copy_if_changed(source: Path, target: Path) -> bool:
    """Copy a file with its time, unless the copy that is there holds the same bytes."""
    if target.is_file() and target.read_bytes() == source.read_bytes():
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)
    return True


def _copy_compiled(source: Path, target: Path) -> None:
    """Replace compiled code by that of the source, as a whole: its files belong together."""
    for folder in target.rglob(COMPILED):
        shutil.rmtree(folder)
    for folder in source.rglob(COMPILED):
        shutil.copytree(folder, target / folder.relative_to(source))


@contextmanager
def changed_copy(base: Path, mutant: Mutant) -> Iterator[Path]:
    """A copy of the base with the mutant's file changed; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="mutant-", dir=WORK))
    try:
        shutil.copytree(base, folder, dirs_exist_ok=True, copy_function=_link_or_copy)
        file = folder / mutant.file
        text = mutant.applied(file.read_text(encoding="utf-8"))
        for compiled in (file.parent / COMPILED).glob(f"{file.stem}.*"):
            compiled.unlink()
        file.unlink()  # the base shares it
        file.write_text(text, encoding="utf-8")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _link_or_copy(source: str, target: str) -> None:
    """Share what nobody writes in place: sources, and compiled code, which is replaced whole."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
