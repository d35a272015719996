"""Stored models of earlier versions, brought into the form of today or refused with a reason."""

from __future__ import annotations

from typing import Any

from dpforest.exceptions import ModelFormatError

#: Versions that are read. Files of version 1 say nothing of a shared accountant's ceiling but in
#: the ledger (``storage.check_place``).
EARLIER = (1, 2)
#: Estimators whose trees alone were stored, without the strategy that grew them.
_BARE_TREES = frozenset({"MultinomialForestClassifier", "DaskMultinomialForestClassifier"})
#: Strategies that were removed, the first version without them, and a parameter that was the
#: first one's alone.
GONE = ("private_selection", "combined")
LEFT_IN = "0.1.0"
_ITS_PARAMETER = "candidates"
#: Begin of the words for a privacy unit of several records, then and now.
_UNIT_THEN, _UNIT_NOW = "one unit (", "one privacy unit ("


def as_written_now(content: dict[str, Any]) -> dict[str, Any]:
    """The content of a file of any version that is read, in the form of today.

    Its version number stays, and it is checked like a file of today. An estimator that stored bare
    trees is noted as an earlier writer's, because its plan and its scopes are not those of a fit of
    today; ``verify_report`` says so.

    Raises
    ------
    ModelFormatError
        If it was written with a strategy that left the package.
    """
    _check_what_left(content)
    if content["version"] not in EARLIER:
        return content
    content = _with_the_unit_of_today(content)
    if content["estimator"] in _BARE_TREES:
        return _with_a_strategy(content)
    return _without_what_left(content)


def _with_the_unit_of_today(content: dict[str, Any]) -> dict[str, Any]:
    guarantee = content["guarantee"]
    unit = guarantee["unit"].replace(_UNIT_THEN, _UNIT_NOW)
    return content | {"guarantee": guarantee | {"unit": unit}}


def _with_a_strategy(content: dict[str, Any]) -> dict[str, Any]:
    fit, trees = content["fit"], content["released"]
    writer = f"{fit['versions']['dpforest']}, model format {content['version']}"
    return content | {
        "released": {"strategy": "multinomial", "model": trees},
        "fit": fit | {"versions": fit["versions"] | {"dpforest": writer}},
    }


def _check_what_left(content: dict[str, Any]) -> None:
    """Refuse a strategy that left, whether it was asked for or picked by ``auto``."""
    parameters = content["parameters"]
    held = [parameters.get("strategy"), content["released"].get("strategy")]
    if parameters.get(_ITS_PARAMETER) is not None:
        held.append(GONE[0])
    for name in GONE:
        if name in held:
            raise ModelFormatError(
                f"the stored model was written with strategy={name!r}, which left the package in "
                f"version {LEFT_IN}. Read it with the release that wrote it, or use its "
                "to_plain() file."
            )


def _without_what_left(content: dict[str, Any]) -> dict[str, Any]:
    parameters = content["parameters"]
    fit = {**content["fit"], "parameters": _without(content["fit"]["parameters"])}
    return {**content, "parameters": _without(parameters), "fit": fit}


def _without(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name != _ITS_PARAMETER}
