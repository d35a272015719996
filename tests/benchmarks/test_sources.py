"""The print of what a result depends on follows code that can reach it, and nothing else."""

from __future__ import annotations

import ast
import itertools

import pytest
from common import sources as prints
from common.modules import essence
from common.reach import Code
from common.sources import REPOSITORY, Sources, by_beginning

#: A checkout in small: a benchmark, its helpers, and a package.
FILES = {
    "benchmarks/bench.py": '''"""Words."""
from __future__ import annotations
from typing import TYPE_CHECKING
import dpforest
import common.tried as tried
from common import helpers, shown
from common.handed import tools
from common.loaded import never
from dpforest import Forest
from dpforest.plain import plain
if TYPE_CHECKING:
    from common.typed import Kind
LIMITS = {"a": 1}
LIMITS["b"] = 2
ASIDE = {}
ASIDE["c"] = 4
def fit(kind: Kind) -> float:
    """Words."""
    from common.late import late
    from common.sides import registered
    # a comment
    held = tools
    return helpers.scaled(Forest().fit(LIMITS), dpforest.rate(late), held, tried.found)
def others(fit: float) -> float:
    return dpforest.Other(), plain
def report() -> str:
    return shown.page()
if __name__ == "__main__":
    report()
''',
    "benchmarks/common/__init__.py": "",
    "benchmarks/common/helpers.py": "SCALE = 2\ndef scaled(x, *y): return x * SCALE\nother = 1\n",
    "benchmarks/common/shown.py": "def page(): return 1\n",
    "benchmarks/common/handed/__init__.py": "",
    "benchmarks/common/handed/tools.py": "from common.kept import kept\ndef first(): return 1\n",
    "benchmarks/common/kept.py": "def kept(): return 1\nother = 1\n",
    "benchmarks/common/loaded.py": "import os\nos.environ['A'] = '1'\ndef never(): return 1\n",
    "benchmarks/common/late.py": "late = 1\nlater = 1\n",
    "benchmarks/common/tried.py": "try:\n    from common.late import later as found\n"
    "except ImportError:\n    found = 7\n",
    "benchmarks/common/sides.py": "def registered(): return 1\n",
    "benchmarks/common/typed.py": "Kind = int\n",
    "dpforest/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
    "    from dpforest.forest import Forest\n    from dpforest.other import Other\n"
    "    from dpforest.rates import rate\nversion = 1\ndef __getattr__(name): return 1\n",
    "dpforest/forest.py": """
from importlib import import_module
from dpforest.parts.noise import draw
class Forest:
    def fit(self, x): return import_module('dpforest.plugs').plug(draw(x))
""",
    "dpforest/parts/__init__.py": "from dpforest.parts.shared import name\nstart = 1\n",
    "dpforest/parts/shared.py": "name = 1\n",
    "dpforest/parts/noise.py": "def draw(x): return x\ndef unused(): return 1\n",
    "dpforest/plugs/__init__.py": "",
    "dpforest/plugs/one.py": "def plug(x): return x\n",
    "dpforest/other.py": "class Other: pass\n",
    "dpforest/plain.py": "plain = 1\n",
    "dpforest/rates.py": "def rate(x): return x\n",
}
FIT = Sources(("bench:fit",))
#: What is edited, from what to what, and whether a result of ``fit`` depends on it.
EDITS = [
    ("benchmarks/bench.py", "LIMITS)", "LIMITS or 0)", True),
    ("benchmarks/bench.py", '"a": 1', '"a": 2', True),
    ("benchmarks/bench.py", '["b"] = 2', '["b"] = 3', True),
    ("benchmarks/bench.py", '["c"] = 4', '["c"] = 5', False),
    ("benchmarks/bench.py", "# a comment", "# another", False),
    ("benchmarks/bench.py", '"""Words."""', '"""Others."""', False),
    ("benchmarks/bench.py", "helpers.scaled(Forest", "helpers.scaled(\n        Forest", False),
    ("benchmarks/bench.py", "shown.page()", "shown.page() + 1", False),
    ("benchmarks/bench.py", "    report()\n", "    print(report())\n", False),
    ("benchmarks/bench.py", "if __name__", "print(1)\nif __name__", True),
    ("benchmarks/common/helpers.py", "SCALE = 2", "SCALE = 3", True),
    ("benchmarks/common/helpers.py", "x * SCALE", "x + SCALE", True),
    ("benchmarks/common/helpers.py", "other = 1", "other = 2", False),
    ("benchmarks/common/shown.py", "return 1", "return 2", False),
    ("benchmarks/common/handed/tools.py", "return 1", "return 2", True),
    ("benchmarks/common/kept.py", "return 1", "return 2", True),
    ("benchmarks/common/kept.py", "other = 1", "other = 2", False),
    ("benchmarks/common/loaded.py", "'1'", "'2'", True),
    ("benchmarks/common/loaded.py", "return 1", "return 2", False),
    ("benchmarks/common/late.py", "late = 1", "late = 2", True),
    ("benchmarks/common/late.py", "later = 1", "later = 2", True),
    ("benchmarks/common/tried.py", "found = 7", "found = 8", True),
    ("benchmarks/common/sides.py", "return 1", "return 2", True),
    ("benchmarks/common/typed.py", "int", "str", False),
    ("dpforest/__init__.py", "version = 1", "version = 2", False),
    ("dpforest/__init__.py", "dpforest.forest import", "dpforest.other import", True),
    ("dpforest/forest.py", "draw(x))", "draw(x + 1))", True),
    ("dpforest/parts/__init__.py", "start = 1", "start = 2", True),
    ("dpforest/parts/shared.py", "name = 1", "name = 2", True),
    ("dpforest/parts/noise.py", "return x", "return x + 1", True),
    ("dpforest/parts/noise.py", "return 1", "return 2", True),
    ("dpforest/plugs/one.py", "return x", "return x + 1", True),
    ("dpforest/other.py", "pass", "x = 1", False),
    ("dpforest/plain.py", "plain = 1", "plain = 2", False),
    ("dpforest/rates.py", "return x", "return x + 1", True),
]
checkouts = itertools.count()


def checkout(folder, path=None, old="", new=""):
    """A fresh folder of `FILES`, one of them edited."""
    root = folder / str(next(checkouts))
    for name, text in FILES.items():
        if name == path:
            assert old in text
            text = text.replace(old, new, 1)
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize(("path", "old", "new", "matters"), EDITS)
def test_a_print_follows_what_can_be_reached(tmp_path, path, old, new, matters):
    before, after = checkout(tmp_path), checkout(tmp_path, path, old, new)
    assert (FIT.print(before) != FIT.print(after)) == matters


def test_a_module_used_as_a_value_leads_to_all_that_it_names(tmp_path):
    before = checkout(tmp_path)
    handed = checkout(tmp_path, "benchmarks/bench.py", "dpforest.rate(late)", "dpforest")
    assert ("dpforest.other", "*") not in Code(before).reached(FIT.roots)
    assert ("dpforest.other", "*") in Code(handed).reached(FIT.roots)


def test_a_root_or_file_that_is_not_there_is_an_error(tmp_path):
    root = checkout(tmp_path)
    for wrong in (Sources(("bench:gone",)), Sources(("gone",)), Sources(files=("gone/*.py",))):
        with pytest.raises(LookupError, match="gone"):
            wrong.print(root)


def test_files_are_taken_as_they_are(tmp_path):
    (tmp_path / "reader.mjs").write_text("let a = 1 // one\n")
    (tmp_path / "reader.py").write_text('"""One."""\na = 1  # one\n')
    of = Sources(files=("reader.*",))
    first = of.print(tmp_path)
    for name, text, matters in (
        ("reader.py", '"""Two."""\na = (1)  # two\n', False),
        ("reader.py", "a = 2\n", True),
        ("reader.mjs", "let a = 1 // two\n", True),
    ):
        before = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text)
        prints._print.cache_clear()
        assert (of.print(tmp_path) != first) == matters
        (tmp_path / name).write_text(before)


def test_an_edit_during_a_run_is_not_what_runs(tmp_path):
    root = checkout(tmp_path)
    prints.code_of(root)  # as a run does when it begins
    (root / "dpforest/other.py").write_text("class Other: changed = 1\n")
    same = checkout(tmp_path)
    other = Sources(("bench:others",))
    assert other.print(root) == other.print(same)


def test_versions_of_other_packages_count(tmp_path, monkeypatch):
    of = Sources(packages=("numpy",))
    first = of.print()
    prints._print.cache_clear()
    monkeypatch.setattr(prints, "version", lambda name: "0.0")
    assert of.print() != first
    prints._print.cache_clear()


def test_kinds_are_told_by_the_beginnings_of_names():
    kinds = {"a ": Sources(("x",)), "b": Sources(("y",))}
    assert by_beginning(kinds, "a b") == kinds["a "] and by_beginning(kinds, "ba") == kinds["b"]
    with pytest.raises(KeyError):
        by_beginning(kinds, "c")


def test_the_essence_of_a_tree_is_what_runs():
    def of(text):
        return essence(ast.parse(text).body)

    assert of("def f(x):\n    'doc'\n    return x # why\n") == of("def f(x): return (x)")
    assert of("u'a'; f(1)") == of("f(1)") and of("f(1)") != of("f(True)") != of("f(1.0)")
    assert of("f(None)") != of("f()") and of("x = 'doc'") != of("x = 'other'")


def test_imports_that_cannot_be_followed_are_refused(tmp_path):
    root = checkout(tmp_path, "dpforest/rates.py", "def", "from dpforest.other import *\ndef")
    with pytest.raises(SyntaxError, match="absolute imports of names"):
        FIT.print(root)


def test_modules_are_named_by_texts_only_where_they_are_imported_by_name():
    code = prints.code_of(REPOSITORY)
    # The papers' tables by name, of which the command imports one, on which lines depend; modules
    # that lines of forecasts depend on; and the package in which files of pages lie.
    aside = {"papers.tables", "common.forecast_fits"}
    aside |= {"dpforest.ledger.page", "dpforest.report.page"}
    aside |= {"dpforest.report.schema", "dpforest.command_line.schema"}
    for name in code.names:
        module = code.module(name)
        texts = {
            node.value
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        named = {text for text in texts if "." in text and text in code.names}
        assert not named or module.texts or name in aside, (name, named)
