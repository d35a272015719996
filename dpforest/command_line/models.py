"""Stored forests and reports that commands read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dpforest.exceptions import ModelFormatError
from dpforest.loading import load_model
from dpforest.report.carried import report_text
from dpforest.strict_json import MODEL_LIMITS, parse_object


def read_model(path: str) -> Any:
    """The forest in a file, of whatever class it is.

    Raises
    ------
    ModelFormatError
        It is no stored forest, or damaged.
    """
    return load_model(_file_at(path))


def holds_draft(forest: Any) -> bool:
    """True if a forest knows what a draft read off the records, so that its files are private."""
    return not forest.domain_.is_declared


def text_of(path: str) -> str:
    """The JSON of a file, or that a page of a report carries."""
    return report_text(_file_at(path), _unreadable, MODEL_LIMITS)


def content_of(path: str) -> dict[str, Any]:
    """The JSON object of a file, or that a page of a report carries."""
    return parse_object(text_of(path), _unreadable, MODEL_LIMITS)


def _file_at(path: str) -> Path:
    """The path, unless it is a folder: a fit's is named as readily as the file in it."""
    if os.path.isdir(path):  # which says no of a path that may not be looked at
        raise ModelFormatError(
            f"{path!r} is a folder. Name a file in it, such as {str(Path(path) / 'model.json')!r}."
        )
    return Path(path)


def _unreadable(rule: str) -> ModelFormatError:
    return ModelFormatError(f"{rule}. Give the file of a model or a report.")
