"""What code some code can reach, found by reading a checkout: nothing of it is imported or run.

A part is a definition of a benchmark's module, or a whole module of the package. In a benchmark,
whose modules compute and report side by side, a part leads to the definitions that it uses, those
they use, and so on; statements that run on import belong to every part of their module, and a
module that is used otherwise than by its names counts whole. In the package, where subclasses and
registries join what no word joins, a module leads to every module that it imports or, where it
imports by name, names; one that only says where names live (``dpforest``, ``dpforest.consistent``)
leads to the homes of those that are used. Files that are not Python are not followed.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from common.modules import ALWAYS, WHOLE, Module, essence, imports_of, paths_of

PACKAGE = "dpforest"
#: Module and name.
Part = tuple[str, str]


def _is_benchmark(module: str) -> bool:
    return module.partition(".")[0] != PACKAGE


class Code:
    """The sources of a checkout, as they are when this is made."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._texts: dict[str, str] = {}
        self._modules: dict[str, Module] = {}
        self._essences: dict[Part, str] = {}
        self._led: dict[Part, frozenset[Part]] = {}
        for folder, base in ((root / "benchmarks", root / "benchmarks"), (root / PACKAGE, root)):
            for path in sorted(folder.rglob("*.py")):
                parts = path.relative_to(base).with_suffix("").parts
                name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                self._texts[name] = path.read_text(encoding="utf-8")

    @property
    def names(self) -> list[str]:
        """Names of all modules."""
        return list(self._texts)

    def module(self, name: str) -> Module:
        """One module, read when it is first asked for."""
        if name not in self._modules:
            self._modules[name] = Module(name, self._texts[name])
        return self._modules[name]

    def reached(self, roots: Iterable[str]) -> set[Part]:
        """The parts that roots, ``module:name`` or ``module``, lead to, and the roots.

        Raises
        ------
        LookupError
            If there is no such root.
        """
        waiting = [self._root(root) for root in roots]
        found: set[Part] = set()
        while waiting:
            part = waiting.pop()
            if part not in found:
                found.add(part)
                if part not in self._led:
                    self._led[part] = frozenset(self._next(*part))
                waiting += self._led[part]
        return found

    def digest(self, roots: Iterable[str]) -> str:
        """Hexadecimal digits that change with any part that the roots lead to.

        Not with the text of a module that only says where names live: where they live is followed.
        """
        found = hashlib.sha256()
        for name, part in sorted(self.reached(roots)):
            if part != WHOLE or self.module(name).homes is None:
                found.update(f"{name}:{part}\0{self._essence(name, part)}\0".encode())
        return found.hexdigest()

    def _essence(self, name: str, part: str) -> str:
        if (name, part) not in self._essences:
            self._essences[name, part] = essence(self.module(name).statements[part])
        return self._essences[name, part]

    def _root(self, root: str) -> Part:
        name, _, part = root.partition(":")
        if name not in self._texts or (part or WHOLE) not in self.module(name).statements:
            raise LookupError(f"there is no {root!r} in {self.root}")
        return name, part or WHOLE

    def _next(self, name: str, part: str) -> Iterator[Part]:
        """What one part leads to."""
        module = self.module(name)
        yield from self._loaded(name.rpartition(".")[0])
        if part == WHOLE and module.homes is not None:
            for home in module.homes.values():
                yield from self._found(home)
            return
        if part != ALWAYS:
            yield name, ALWAYS
        for home in module.imports.values():
            loaded = self._split(home)[0]
            if _is_benchmark(loaded):
                yield from self._loaded(loaded)
        used: set[str] = set()
        for statement in module.statements[part]:
            yield from self._used(module, statement, used)
        if part == WHOLE:
            for unused in module.imports.keys() - used:
                yield from self._found(module.imports[unused])
            for text in module.texts:
                yield from ((one, WHOLE) for one in self._within(text))

    def _used(self, module: Module, statement: ast.stmt, used: set[str]) -> Iterator[Part]:
        """What the names of a statement stand for."""
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return
        own, paths = imports_of(statement), set(paths_of(statement))
        used |= {path[0] for path in paths}
        for first, *rest in paths:
            if first in own or first in module.imports:
                home = own[first] if first in own else module.imports[first]
                yield from self._found(".".join((home, *rest)))
            elif first in module.statements:
                yield module.name, first
        for name in own.keys() - {path[0] for path in paths}:
            yield from self._found(own[name])

    def _found(self, dotted: str) -> Iterator[Part]:
        """The part that a dotted name names; nothing where it is another package's."""
        name, rest = self._split(dotted)
        if not name:
            return
        module, wanted = self.module(name), rest[0] if rest else WHOLE
        if module.homes is not None:
            if wanted in module.homes:
                yield from self._found(module.homes[wanted])
            elif wanted in module.statements:
                yield name, wanted
        elif not _is_benchmark(name):
            yield name, WHOLE
        elif wanted in module.imports:
            yield name, ALWAYS
            yield from self._found(".".join((module.imports[wanted], *rest[1:])))
        else:
            yield name, wanted if wanted in module.statements else WHOLE

    def _split(self, dotted: str) -> tuple[str, list[str]]:
        """The longest module's name that it begins with, and what follows."""
        parts = dotted.split(".")
        for n in range(len(parts), 0, -1):
            if ".".join(parts[:n]) in self._texts:
                return ".".join(parts[:n]), parts[n:]
        return "", parts

    def _loaded(self, name: str) -> Iterator[Part]:
        """What runs where a module is imported though nothing of it may be used."""
        if name in self._texts:
            by_parts = _is_benchmark(name) or self.module(name).homes is not None
            yield name, ALWAYS if by_parts else WHOLE

    def _within(self, text: str) -> list[str]:
        """The module that a text names, and all within it."""
        if "." not in text or text not in self._texts:
            return []
        return [name for name in self._texts if f"{name}.".startswith(f"{text}.")]
