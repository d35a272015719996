"""The wall between what is secret and what is released, held by reading the sources.

``dpforest/bridge/bridge.py`` alone sees both: it reveals, it runs mechanisms under grants, and it
says of a number that it was released. Every import counts, those in functions and for type
checkers too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "dpforest"
BRIDGE = "bridge/bridge"
#: Where the two protocols are, and where secrets are made of records.
COUNTING, RECORDS = "records/base", ("records/base", "records/streams/passes")
#: Rooms of mechanisms and of grants themselves, and who audits mechanisms as such.
FREE = ("mechanisms/", "accounting/", "audit/")

#: Kernels that predict from coded rows, which a released model may call.
PREDICTION = {
    "dpforest.trees.random.kernels.block_math",
    "dpforest.trees.scored.kernels.code_values.add_code_values",
}


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names that a file imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


#: Modules of which everything runs a mechanism, and those of which one function does.
_MECHANISMS = ("dpforest.mechanisms.noise", "dpforest.mechanisms.selection",
               "dpforest.mechanisms.labels")  # fmt: skip
_SOME = {"dpforest.mechanisms.lattice": "select_interval_point",
         "dpforest.mechanisms.streamed": "select_exponential_streamed"}  # fmt: skip


def runs_a_mechanism(name: str) -> bool:
    """Whether an import can run a mechanism: a module, or a function that takes a grant."""
    if any(name == module or name.startswith(module + ".") for module in _MECHANISMS):
        return True
    return any(name in (m, f"{m}.{function}", f"{m}.*") for m, function in _SOME.items())


def called(tree: ast.AST) -> Iterator[str]:
    """Names and attributes that a file calls; attributes with a dot before them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id
            elif isinstance(node.func, ast.Attribute):
                yield f".{node.func.attr}"


def breaches(module: str, text: str) -> set[str]:
    """What a module does that the bridge alone may do."""
    if module == BRIDGE or module.startswith(FREE):
        return set()
    tree = ast.parse(text)
    names, calls = set(imported(tree)), set(called(tree))
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    last = {name.rpartition(".")[2] for name in names}
    found = set()
    if any(map(runs_a_mechanism, names)):
        found.add("runs a mechanism")
    if "Grant" in last or "dpforest.accounting.grants" in names:
        found.add("names a grant")
    if module != COUNTING and ("reveal" in last or {"reveal", ".reveal"} & calls):
        found.add("reveals")
    if {"Released", ".Released"} & calls:
        found.add("says that it was released")
    if module not in RECORDS and {"Secret", ".Secret"} & calls:
        found.add("makes a secret")
    hidden = {name for name in attributes if name.startswith(("_Secret__", "_Sealed__"))}
    if hidden - ({"_Secret__held"} if module == COUNTING else set()):
        found.add("reaches into what is sealed")
    if any(name.startswith("dpforest.bridge") for name in names):
        if last & {"Table", "Chunk"} or any(map(counts_records, names)):
            found.add("holds records beside the bridge")
        if calls & {".count", ".look", ".total", ".sealed_total", ".whole"}:
            found.add("counts beside the bridge")
    return found


def counts_records(name: str) -> bool:
    """Whether an import is of a kernel that may be given records."""
    of_kernels = ".kernels" in name and not name.startswith("dpforest.kernels")
    return of_kernels and not name.startswith(tuple(PREDICTION))


def found_in_the_sources() -> dict[str, set[str]]:
    texts = {module_name(path): path.read_text(encoding="utf-8") for path in sources()}
    found = {module: breaches(module, text) for module, text in texts.items()}
    return {module: what for module, what in found.items() if what}


def test_the_bridge_alone_sees_both_sides():
    assert found_in_the_sources() == {}


LEARNER = "from dpforest.bridge.bridge import Bridge\n"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("from dpforest.records.base import reveal", "reveals"),
        ("def f():\n    from dpforest.records.base import reveal as r", "reveals"),
        ("import dpforest.records.base as c\nc.reveal(1)", "reveals"),
        ("from dpforest.mechanisms.noise import add_geometric_noise", "runs a mechanism"),
        ("from dpforest.mechanisms import noise", "runs a mechanism"),
        ("import dpforest.mechanisms.noise", "runs a mechanism"),
        ("from dpforest.mechanisms import lattice", "runs a mechanism"),
        ("from dpforest.mechanisms.lattice import select_interval_point", "runs a mechanism"),
        ("if TYPE_CHECKING:\n    from dpforest.accounting.grants import Grant", "names a grant"),
        ("Released(counts)", "says that it was released"),
        ("Secret(counts)", "makes a secret"),
        ("secret._Secret__held", "reaches into what is sealed"),
        ("sealed._Sealed__grants", "reaches into what is sealed"),
        (LEARNER + "from dpforest.records.base import Chunk", "holds records beside the bridge"),
        (
            LEARNER + "from dpforest.records.table import Table",
            "holds records beside the bridge",
        ),
        (
            LEARNER + "from dpforest.trees.refitted.kernels.rounds import leaf_sums",
            "holds records beside the bridge",
        ),
        (LEARNER + "query.count(chunk)", "counts beside the bridge"),
        (LEARNER + "records.total(query)", "counts beside the bridge"),
        (LEARNER + "records.whole()", "counts beside the bridge"),
    ],
)
def test_a_breach_is_seen(text, what):
    assert what in breaches("learners/some/learner", text)


def test_what_is_free_is_no_breach():
    text = LEARNER + (
        "from dpforest.mechanisms.lattice import draw_below\n"
        "from dpforest.mechanisms.streamed import Envelope, Family\n"
        "from dpforest.mechanisms.entropy import RandomSource\n"
        "from dpforest.records.base import Released\n"
        "from dpforest.records.counts import ClassCounts\n"
        "counts = bridge.ask(ClassCounts(), 'prior').noised('prior')\n"
    )
    assert breaches("learners/some/learner", text) == set()


#: Data classes of records that do not begin by saying that they are secret.
HOLD_RECORDS = {
    "EncodedMatrix", "EncodedTable", "LatticeColumns", "LevelCells", "LevelLattice", "Segments",
}  # fmt: skip


def shows_its_fields(found: ast.ClassDef) -> bool:
    """Whether a data class has the repr that prints all that it holds."""
    made = [d for d in found.decorator_list if "dataclass" in ast.unparse(d)]
    hidden = any("repr=False" in ast.unparse(d) for d in made)
    own = any(isinstance(part, ast.FunctionDef) and part.name == "__repr__" for part in found.body)
    return bool(made) and not hidden and not own


def test_what_holds_records_prints_none_of_them():
    """It may stand in a log."""
    seen = set()
    for path in sources():
        for found in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(found, ast.ClassDef):
                continue
            words = (ast.get_docstring(found) or "").split("\n")[0]
            if "; secret" in words or found.name in HOLD_RECORDS:
                assert not shows_its_fields(found), f"{module_name(path)}: {found.name}"
                seen.add(found.name)
    assert HOLD_RECORDS | {"BinnedRecords", "ClippedLosses", "Place", "Table"} < seen
