"""Docstrings begin with a noun or an imperative, never with a question word."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "dpforest"
QUESTIONS = {
    "What", "Whatever", "Where", "Whether", "How", "Who", "Whoever", "Whose", "Which", "When",
    "Why", "That",
}  # fmt: skip
KINDS = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def openings(text: str) -> Iterator[tuple[int, str]]:
    """Line and first word of each docstring."""
    for node in ast.walk(ast.parse(text)):
        words = (ast.get_docstring(node) or "").split(None, 1) if isinstance(node, KINDS) else []
        if words:
            yield node.body[0].lineno, words[0].rstrip(",:")


def questions(path: Path) -> list[str]:
    """Docstrings of a module that begin with a question word, by place."""
    found = openings(path.read_text(encoding="utf-8"))
    return [f"{path.name}:{line} {word}" for line, word in found if word in QUESTIONS]


def room_of(path: Path) -> str:
    """Folder of the package that a module is in, or its own name."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


ROOMS = sorted({room_of(path) for path in PACKAGE.rglob("*.py")})


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_begin_with_a_noun_or_an_imperative(room):
    paths = [path for path in PACKAGE.rglob("*.py") if room_of(path) == room]
    found = [place for path in sorted(paths) for place in questions(path)]
    assert not found


@pytest.mark.parametrize("word", sorted(QUESTIONS))
@pytest.mark.parametrize("before", ['"""', 'def f():\n    """', 'class A:\n    r"""', '"""\n'])
def test_a_question_is_found_in_every_docstring(word, before, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(f'{before}{word} it is."""\n')
    assert len(questions(path)) == 1
    path.write_text(f'{before}Number of cells; {word} it is."""\n')
    assert not questions(path)
