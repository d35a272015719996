"""Digests of what the frozen cases release, and the file that they are compared with."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from frozen_cases import Case, points_of

FILE = Path(__file__).with_name("digests.json")
#: What processors and libraries may differ in lies beyond these many digits.
_DIGITS = 9


def digests_of(case: Case) -> dict[str, str]:
    """Digests of what a case releases: the model, its plain form, predictions and the price.

    One that changes alone says what changed.
    """
    model = case.fit()
    parts: dict[str, Any] = {"predictions": case.predictions(model).tolist()}
    if case.private:
        spent = model.spent_.exact
        parts["model"] = released_by(model)
        plain = json.loads(model.to_plain())
        del plain["digits"]  # as many as Python's own table of characters has
        parts["plain"] = plain
        parts["spent"] = [str(spent.epsilon), str(spent.delta), str(spent.rho)]
    elif hasattr(model, "apply"):
        parts["leaves"] = model.apply(points_of(case.table)).tolist()
    return {name: digest(part) for name, part in sorted(parts.items())}


def released_by(model: Any) -> dict[str, Any]:
    """What a private forest released, however its class wraps that in a file."""
    stored = json.loads(model.to_json())["released"]
    return stored if "model" in stored else {"strategy": "multinomial", "model": stored}


def digest(data: Any) -> str:
    """Sixteen hexadecimal digits of data as JSON, floats to nine significant digits."""
    text = json.dumps(_rounded(data), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rounded(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _rounded(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_rounded(value) for value in data]
    if type(data) is not float:
        return data
    # What is near nothing is noise of the last bits; 0.0 and -0.0 are one.
    return f"{data if abs(data) > 1e-12 else 0.0:.{_DIGITS}g}"


def stored_digests() -> dict[str, dict[str, str]]:
    """Those in the file, by the case's name."""
    read: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return read


def write(digests: dict[str, dict[str, str]]) -> None:
    """Write the file anew."""
    FILE.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
