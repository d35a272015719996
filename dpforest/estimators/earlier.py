"""Stored models of earlier releases, made what this one reads or refused with a reason."""

from __future__ import annotations

from typing import Any

from dpforest.exceptions import ModelFormatError

#: A strategy that is no more, and the parameter that was its alone.
_GONE, _ITS_PARAMETER = "private_selection", "candidates"


def brought_up(content: dict[str, Any]) -> dict[str, Any]:
    """A stored model's content without parameters that are no more and that say nothing.

    Raises
    ------
    ModelFormatError
        If it was written with a strategy that left the package.
    """
    parameters = content["parameters"]
    if parameters.get("strategy") == _GONE or parameters.get(_ITS_PARAMETER) is not None:
        raise ModelFormatError(
            f"the stored model was written with strategy={_GONE!r}, which left the package in "
            "version 0.1.0.dev2. Read it with the release that wrote it, or use its to_plain() "
            "file."
        )
    fit = {**content["fit"], "parameters": _without(content["fit"]["parameters"])}
    return {**content, "parameters": _without(parameters), "fit": fit}


def _without(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name != _ITS_PARAMETER}
