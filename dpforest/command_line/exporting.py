"""``dpforest export``: a forest for programs other than dpforest."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpforest.command_line.answers import Answer, WritingResult, Written
from dpforest.command_line.models import holds_draft, read_model
from dpforest.command_line.writing import check_new, write_text
from dpforest.exceptions import ParameterError

#: Text of a forest by the form that is asked for.
FORMS: dict[str, Callable[[Any, argparse.Namespace], str]] = {
    "plain": lambda forest, chosen: str(forest.to_plain()),
    "text": lambda forest, chosen: str(forest.export_text(chosen.tree)),
}


def run_export(chosen: argparse.Namespace) -> Answer:
    """Write a forest in another form, to a file or to stdout."""
    if chosen.output is None and chosen.json:
        raise ParameterError(
            "--json", True, "tells of a file that is written", "Name a file with --output"
        )
    if chosen.output:
        check_new(Path(chosen.output), chosen.force)
    forest = read_model(chosen.model)
    text = FORMS[chosen.form](forest, chosen)
    if not chosen.output:
        return Answer(WritingResult(written=()), text.rstrip("\n"))
    private = holds_draft(forest)
    write_text(Path(chosen.output), text, private=private, force=chosen.force)
    written = Written(what=chosen.form, path=chosen.output)
    return Answer(WritingResult(written=(written,)), f"{written.what}: {written.path}")
