"""The list of planted faults, read from the TOML files of this folder."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class ListError(Exception):
    """The list is wrong: a name twice, a field missing, a text that is not there exactly once."""


@dataclass(frozen=True)
class Mutant:
    """One planted fault.

    Parameters
    ----------
    name : str
        Says what was done to the code.
    file : str
        The file that is changed, from the root of the repository.
    old, new : str
        A text that occurs exactly once in the file, and what stands there instead.
    why : str
        One line: what breaks by it.
    tests : tuple of str
        Files or node ids of the tests that should see it.
    select : str
        A ``-k`` expression that narrows the tests; empty for all of them.
    layer : str
        Name of the TOML file it stands in.
    """

    name: str
    file: str
    old: str
    new: str
    why: str
    tests: tuple[str, ...]
    select: str = ""
    layer: str = ""

    def applied(self, text: str) -> str:
        """Return the changed text of the file.

        Raises
        ------
        ListError
            When the old text does not occur exactly once.
        """
        times = text.count(self.old)
        if times != 1:
            raise ListError(
                f"{self.name} no longer applies: its old text occurs {times} times in {self.file}"
            )
        return text.replace(self.old, self.new)

    def digest(self) -> str:
        """Digest of all that the entry says."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


def read_mutants(folder: Path = HERE) -> list[Mutant]:
    """All mutants, by layer and in the order of the files.

    Raises
    ------
    ListError
        When an entry is incomplete or a name occurs twice.
    """
    mutants = [mutant for path in sorted(folder.glob("*.toml")) for mutant in _read_layer(path)]
    names = [mutant.name for mutant in mutants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ListError(f"names that occur twice: {', '.join(twice)}")
    return mutants


def _read_layer(path: Path) -> list[Mutant]:
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])
    return [_checked(entry, path.stem) for entry in entries]


def _checked(entry: dict, layer: str) -> Mutant:
    try:
        mutant = Mutant(**{**entry, "tests": tuple(entry["tests"])}, layer=layer)
    except (KeyError, TypeError) as error:
        raise ListError(f"{layer}.toml, {entry.get('name', 'an entry')}: {error}") from None
    if mutant.old == mutant.new or not mutant.old or not mutant.why or not mutant.tests:
        raise ListError(f"{layer}.toml, {mutant.name}: changes nothing, or says too little")
    return mutant


def check_applies(mutants: list[Mutant], root: Path = ROOT) -> None:
    """Raise if a mutant's old text is not in its file exactly once; names all that fail."""
    complaints = []
    for mutant in mutants:
        try:
            mutant.applied((root / mutant.file).read_text(encoding="utf-8"))
        except (ListError, FileNotFoundError) as error:
            complaints.append(str(error))
    if complaints:
        raise ListError("\n".join(complaints))
