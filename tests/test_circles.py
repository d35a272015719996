"""No circle of imports: neither between folders nor inside one, however an import is written."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "dpforest"


def dotted(path: Path, package: Path) -> str:
    """The name by which a file is imported."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def named(tree: ast.AST, inside: list[str]) -> Iterator[str]:
    """Dotted names that a module imports anywhere: at its top, in a function, for type checkers.

    A name as a text that is handed to ``import_module`` counts too.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = inside[: len(inside) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func):
            yield from (a.value for a in node.args if isinstance(a, ast.Constant))


def arrows(package: Path) -> dict[str, set[str]]:
    """Which files each file of a package imports, by name.

    A file's own folders are run before it, whatever they hold; that is no import of its own.
    """
    files = {dotted(path, package): path for path in package.rglob("*.py")}

    def place_of(name: str) -> str:
        while name and name not in files:
            name = name.rpartition(".")[0]
        return name

    found = {}
    for name, path in files.items():
        inside = [*path.relative_to(package.parent).parts[:-1]]
        names = named(ast.parse(path.read_text(encoding="utf-8")), inside)
        found[name] = {place_of(str(one)) for one in names} - {""}
    return found


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Files that lead to each other, and those that import themselves."""
    names = [*graph]
    places = {name: place for place, name in enumerate(names)}
    matrix = np.zeros((len(names), len(names)), dtype=np.bool_)
    for name, others in graph.items():
        matrix[places[name], [places[other] for other in others]] = True
    n_groups, group = connected_components(csr_array(matrix), connection="strong")
    groups = [{names[i] for i in np.flatnonzero(group == g)} for g in range(n_groups)]
    return [found for found in groups if len(found) > 1 or found <= graph[min(found)]]


def test_no_files_of_the_package_import_each_other():
    graph = arrows(PACKAGE)
    assert len(graph) > 200 and sum(map(len, graph.values())) > 500
    assert circles(graph) == []


def learners(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Which folders beside each other in `dpforest.trees` import which, by name."""
    found: dict[str, set[str]] = {}
    for name, others in graph.items():
        own = learner_of(name)
        for other in filter(None, map(learner_of, others)):
            if own and own != other:
                found.setdefault(own, set()).add(other)
                found.setdefault(other, set())
    return found


def learner_of(name: str) -> str:
    """The folder in `dpforest.trees` that a file lies in, however deep; "" for others."""
    parts = name.split(".")
    return parts[2] if parts[:2] == ["dpforest", "trees"] and len(parts) > 3 else ""


def test_no_folders_of_trees_import_each_other():
    graph = arrows(PACKAGE)
    found = learners(graph)
    assert {"boosted", "curves", "scored"} <= set(found) and "curves" in found["boosted"]
    assert circles(found) == []
    graph["dpforest.trees.scored.kernels.residuals"] = {"dpforest.trees.boosted.steps"}
    assert any({"scored", "boosted"} <= circle for circle in circles(learners(graph)))


BACK = {
    "at the top": "from house.rooms.door import knock",
    "by a relative name": "from .door import knock",
    "of the module": "from house.rooms import door",
    "by its whole name": "import house.rooms.door",
    "for type checkers": "if TYPE_CHECKING:\n    from house.rooms.door import Knock",
    "in a function": "def late():\n    from house.rooms.door import knock",
    "in a method": "class A:\n    def late(self):\n        import house.rooms.door as door",
    "by a text": "def late():\n    return import_module('house.rooms.door')",
}


@pytest.mark.parametrize("text", BACK.values(), ids=BACK)
def test_a_circle_is_found_however_it_is_written(text, tmp_path):
    rooms = tmp_path / "house" / "rooms"
    rooms.mkdir(parents=True)
    for folder in (rooms.parent, rooms):
        (folder / "__init__.py").write_text("")
    (rooms / "door.py").write_text("from house.rooms.hall import Hall")
    (rooms / "hall.py").write_text("from house.rooms.stairs import up")
    (rooms / "stairs.py").write_text("import numpy")
    (rooms / "cellar.py").write_text("from house.rooms.door import knock")
    assert circles(arrows(rooms.parent)) == []
    (rooms / "stairs.py").write_text(text)
    there = {f"house.rooms.{name}" for name in ("door", "hall", "stairs")}
    assert circles(arrows(rooms.parent)) == [there]
    (rooms / "stairs.py").write_text("from house.rooms import stairs")
    assert circles(arrows(rooms.parent)) == [{"house.rooms.stairs"}]


def test_every_circle_is_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d", "f"}, "f": set()}
    assert sorted(map(sorted, circles(graph))) == [["a", "b", "c"], ["d", "e"]]
    graph["f"] = {"a"}
    assert circles(graph) == [set("abcdef")]
