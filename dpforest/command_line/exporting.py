"""``dpforest export``: a forest for programs other than dpforest."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dpforest.command_line.answers import Answer, WritingResult, Written
from dpforest.command_line.models import holds_draft, read_model
from dpforest.exceptions import ParameterError
from dpforest.exports.sql_words import MAY_BE_SEVERAL, may_be_several
from dpforest.writing import check_new, new_file

#: A forest by the form that is asked for: text, or bytes that no terminal shows.
FORMS: dict[str, Callable[[Any, argparse.Namespace], str | bytes]] = {
    "plain": lambda forest, chosen: str(forest.to_plain()),
    "onnx": lambda forest, chosen: bytes(forest.to_onnx()),
    "sql": lambda forest, chosen: _sql(forest, chosen),
    "text": lambda forest, chosen: str(forest.export_text(chosen.tree)),
}
#: Those that are bytes.
BINARY = ("onnx",)


def run_export(chosen: argparse.Namespace) -> Answer:
    """Write a forest in another form, to a file or to stdout."""
    _check_output(chosen)
    forest = read_model(chosen.model)
    content = FORMS[chosen.form](forest, chosen)
    if isinstance(content, str) and not chosen.output:
        return Answer(WritingResult(written=()), content.rstrip("\n"))
    whole = content.encode("utf-8") if isinstance(content, str) else content
    private = holds_draft(forest)
    with new_file(Path(chosen.output), private=private, force=chosen.force) as file:
        file.write(whole)
    written = Written(what=chosen.form, path=chosen.output)
    return Answer(WritingResult(written=(written,)), written.words)


def _sql(forest: Any, chosen: argparse.Namespace) -> str:
    """One SELECT, by the options that it has."""
    given = {"keep": chosen.keep, "outputs": chosen.columns, "max_bytes": chosen.max_bytes}
    stated = {name: value for name, value in given.items() if value is not None}
    return str(forest.to_sql(table=chosen.table, **stated))


def _check_output(chosen: argparse.Namespace) -> None:
    """Refuse what cannot be written, before a model is read."""
    if chosen.output is None and chosen.json:
        raise ParameterError(
            "--json", True, "tells of a file that is written", "Name a file with --output"
        )
    if not chosen.output and chosen.form in BINARY:
        raise ParameterError(
            "--form", chosen.form, "is no text, and needs a file", "Name one with --output"
        )
    if chosen.form == "sql":
        _check_table(chosen.table)
    if chosen.output:
        check_new(Path(chosen.output), chosen.force, read=[chosen.model])


def _check_table(names: Sequence[str]) -> None:
    """Refuse one word with a point in it, which may be a name or two."""
    if len(names) == 1 and may_be_several(names[0]):
        raise ParameterError(
            "--table", names[0], MAY_BE_SEVERAL,
            "Write names apart, such as --table clinic records; one name with a point is for "
            f"Python: to_sql(table={(names[0],)})",
        )  # fmt: skip
