"""The architecture that docs/design.md draws, held by reading the sources."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "dpforest"

# A layer may import those of a lower number, and itself.
LAYERS = {
    "exceptions": 0,
    "relations": 0,
    "observation": 0,
    "processes": 0,
    "threads": 0,
    "strict_json": 0,
    "kernels": 0,
    "lazy": 0,
    "decisions": 0,
    "own_names": 0,
    "call_stack": 0,
    "whole_files": 0,
    "checks": 1,
    "display": 1,
    "searches": 1,
    "signatures": 1,
    "standard_streams": 1,
    "writing": 2,
    "domain": 2,
    "accounting": 2,
    "mechanisms": 3,
    "records": 4,
    "bridge": 5,
    "streams": 5,
    "trees": 6,
    "plain": 7,
    "report": 7,
    "exports": 8,
    "ledger": 8,
    "consistent": 9,
    "estimators": 9,
    "dask": 10,
    "verify": 10,
    "audit": 11,
    "datasets": 11,
    "loading": 11,
    "command_line": 12,
    "demo": 12,
    "forest": 12,
    "learners": 12,
}
# Public names, and the command: they may name everything.
ENTRANCES = {"__init__.py", "__main__.py"}

RUN_TIME = {"numpy", "numba", "sklearn", "pydantic", "narwhals", "tqdm", "scipy"}
# Heavy or optional: imported where used, never at the top of a module.
OPTIONAL = {
    "cryptography", "dask", "diffprivlib", "distributed", "dp_accounting", "jinja2", "matplotlib",
    "onnx", "pandas", "polars", "psycopg", "pyarrow",
}  # fmt: skip
NOT_LOADED_BY_IMPORT = [
    "pandas", "polars", "matplotlib", "dask", "jinja2", "sklearn.ensemble", "sqlite3", "psycopg",
    "cryptography", "onnx",
]  # fmt: skip


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


def imported(path: Path, only_at_import: bool = False) -> Iterator[str]:
    """Dotted names a file imports; those for type checkers alone are left out."""
    package = ["dpforest", *path.relative_to(PACKAGE).parts[:-1]]
    for node in reached(ast.parse(path.read_text(encoding="utf-8")), only_at_import):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            # "from dpforest import domain" imports dpforest.domain.
            yield from (f"{base}.{alias.name}" for alias in node.names)


def reached(tree: ast.AST, only_at_import: bool) -> Iterator[ast.AST]:
    """Nodes of a tree, without ``if TYPE_CHECKING`` and, if asked, without function bodies."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if only_at_import and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        yield node
        yield from reached(node, only_at_import)


def layers_named(path: Path) -> set[str]:
    names = {name.split(".")[1] for name in imported(path) if name.startswith("dpforest.")}
    return names & LAYERS.keys()


@pytest.mark.parametrize("path", sources(), ids=module_name)
def test_imports_go_one_way(path):
    layer = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if path.name in ENTRANCES and path.parent == PACKAGE:
        return
    assert layer in LAYERS, f"{layer} is in no layer: add it here and to docs/design.md"
    upward = {name for name in layers_named(path) if LAYERS[name] > LAYERS[layer]}
    sideways = {name for name in layers_named(path) if LAYERS[name] == LAYERS[layer]} - {layer}
    assert not upward, f"imports from above: {upward}"
    assert not sideways, f"imports from beside: {sideways}"


#: What consistent forests stand on beside themselves; of the private ones the guarantee alone.
NEAR_CONSISTENT = (
    "dpforest.call_stack.", "dpforest.checks.", "dpforest.consistent.", "dpforest.decisions.",
    "dpforest.exceptions.", "dpforest.lazy.", "dpforest.report.guarantee.",
    "dpforest.kernels.", "dpforest.mechanisms.entropy.",
)  # fmt: skip


def test_consistent_forests_are_a_leaf():
    for path in (PACKAGE / "consistent").rglob("*.py"):
        ours = {name for name in imported(path) if name.startswith("dpforest.")}
        far = {name for name in ours if not name.startswith(NEAR_CONSISTENT)}
        assert not far, f"{module_name(path)} imports {far}"
    for path in set(sources()) - set((PACKAGE / "consistent").rglob("*.py")):
        if path != PACKAGE / "__init__.py":
            assert not any(name.startswith("dpforest.consistent") for name in imported(path)), path


def test_the_layers_are_those_of_the_design():
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    line = re.search(r"Imports go one way: (.*?)\. ", design, flags=re.DOTALL).group(1)
    written = [re.findall(r"`(\w+)`", group) for group in line.split("<")]
    drawn: dict[int, set[str]] = {}
    for name, level in LAYERS.items():
        drawn.setdefault(level, set()).add(name)
    assert [set(group) for group in written] == [drawn[level] for level in sorted(drawn)]


def is_kernel(path: Path) -> bool:
    return "kernels" in path.relative_to(PACKAGE).parts


@pytest.mark.parametrize("path", [*filter(is_kernel, sources())], ids=module_name)
def test_kernels_import_numpy_and_numba_only(path):
    for name in imported(path):
        top = name.split(".")[0]
        allowed = top in {"numpy", "numba"} or top in sys.stdlib_module_names
        near = name.startswith("dpforest.") and ".kernels." in name
        assert allowed or near, f"{name} has no place in a kernel"
        assert top not in {"random", "secrets", "os"}, "random words come in as arrays"


@pytest.mark.parametrize("path", sources(), ids=module_name)
def test_numba_is_used_in_kernels_only(path):
    # tests/conftest.py and a reader looking for compiled code count on it.
    assert is_kernel(path) or not any(name.split(".")[0] == "numba" for name in imported(path))


@pytest.mark.parametrize("path", sources(), ids=module_name)
def test_what_is_optional_is_imported_where_it_is_used(path):
    at_top = {name.split(".")[0] for name in imported(path, only_at_import=True)}
    assert not at_top & OPTIONAL
    foreign = {name.split(".")[0] for name in imported(path)} - sys.stdlib_module_names
    assert foreign <= RUN_TIME | OPTIONAL | {"dpforest"}


def loaded_by(statement: str) -> set[str]:
    """Names of the modules that a fresh process has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_import_is_light():
    assert not loaded_by("import dpforest").intersection(NOT_LOADED_BY_IMPORT)


def test_the_classifier_loads_nothing_heavy_of_its_own():
    # sklearn.base itself loads pandas where that is installed, so it is the measure.
    base = loaded_by("import sklearn.base")
    ours = loaded_by("from dpforest import MultinomialForestClassifier, BudgetAccountant")
    assert not (ours - base).intersection(NOT_LOADED_BY_IMPORT)


@pytest.mark.parametrize("name", ["Classifier", "Regressor"])
def test_compilers_and_ledgers_are_loaded_by_fits_and_not_before(name):
    made = f"from dpforest import Domain, PrivateForest{name}\n"
    made += f"PrivateForest{name}(epsilon=1, domain=Domain(features={{'a': (0, 1)}})).get_params()"
    loaded = loaded_by(made)
    assert not loaded.intersection({"numba", "llvmlite"})
    assert not {module for module in loaded if module.startswith("dpforest.ledger")}


@pytest.mark.parametrize(
    "name", ["PrivateForestClassifier", "PrivateForestRegressor", "MultinomialForestClassifier"]
)
def test_an_estimator_is_imported_without_its_engine(name):
    made = f"from dpforest import {name}\nfrom sklearn.base import clone\n"
    made += f"repr(clone({name}(epsilon=1)).set_params(delta='1e-6'))"
    ours = {name for name in loaded_by(made) if name.startswith("dpforest.")}
    assert "dpforest.estimators.engine" in ours and len(ours) < 16
    rooms = ("accounting", "domain", "mechanisms", "records", "report", "trees")
    assert not {module for module in ours if module.split(".")[1] in rooms}
    assert "pydantic" not in loaded_by(made)


def tracked_text() -> Iterator[tuple[str, str]]:
    """Path and text of every file under version control, or skip where there is none."""
    try:
        run = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    for name in filter(None, run.stdout.split("\0")):
        if (ROOT / name).is_file() and not name.endswith((".gz", ".png")):
            yield name, (ROOT / name).read_text(encoding="utf-8")


def test_no_file_names_a_folder_of_somebodys_machine():
    absolute = re.compile(
        r"(?<![\w.~$})*])/(?:" + "|".join(["home", "root", "Users", "work", "tmp"]) + r")/"
    )
    found = {name for name, text in tracked_text() if absolute.search(text)}
    assert not found, f"absolute paths in {sorted(found)}"
