"""Functions of more than 40 lines of code: in kernels alone, and each with its reason."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "dpforest"
LONGEST = 40

#: Kernels by file and name. Numba hands no array from one function to another for free, and every
#: number that a loop keeps would be one more argument.
KERNELS = {
    "grow.grow_tree": "names each of the arrays of a tree and of a stack, one a line",
    "grow._make_room": "names each of the arrays that growing a tree needs, one a line",
    "grow._grow_nodes": "one loop over nodes whose twenty numbers live from step to step",
    "grid_trees.draw_grid_trees": "one loop over trees and nodes on words that it alone advances",
    "score_tables.add_pair_scores": "one block of records goes through all steps in fast memory",
    "selection.select_exponential_rows": "an interval around each sum: proof and steps stand side "
    "by side",
    "selection.select_noisy_maximum_rows": "an interval around each key: proof and steps stand "
    "side by side",
    "stages._best_scores": "one loop over nodes and features on arrays that all of them share",
}
SKIPPED = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(text: str, tree: ast.AST) -> set[int]:
    """Numbers of the lines that hold code: no comments, no docstrings, no blanks."""
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SKIPPED:
            held.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            held -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return held


def long_functions(text: str) -> Iterator[str]:
    """Names of the functions that are longer than they may be."""
    tree = ast.parse(text)
    held = code_lines(text, tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = sum(node.lineno <= line <= node.end_lineno for line in held)
            if inside > LONGEST:
                yield node.name


def found(in_kernels: bool) -> set[str]:
    """File and name of every long function of the package, in kernels or elsewhere."""
    return {
        f"{path.stem}.{name}"
        for path in PACKAGE.rglob("*.py")
        if ("kernels" in path.relative_to(PACKAGE).parts) == in_kernels
        for name in long_functions(path.read_text(encoding="utf-8"))
    }


def test_long_functions_are_kernels():
    assert found(in_kernels=False) == set(), "shorten it"


def test_each_long_kernel_has_its_reason():
    assert found(in_kernels=True) == KERNELS.keys(), "say why it is long, or take it off the list"


@pytest.mark.parametrize(("lines", "is_long"), [(LONGEST - 1, False), (LONGEST, True)])
@pytest.mark.parametrize("start", ["def f(a):", "async def f(a):", "class A:\n  def f(a):"])
def test_lines_are_counted_without_what_explains_them(start, lines, is_long):
    inside = start.count("\n") * "  " + "  "
    told = f'{inside}"""Text\n\n{inside}of lines.\n{inside}"""\n{inside}# A comment.\n\n'
    text = (
        f"{start}\n{told}" + f"{inside}a = a + 1  # more\n" * (lines - 2) + f"{inside}a = '''\n'''"
    )
    assert list(long_functions(text)) == (["f"] if is_long else [])
