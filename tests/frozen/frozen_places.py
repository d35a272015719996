"""Every place that the audit goes through, as data: what is audited is no less afterwards."""

from __future__ import annotations

import json
from pathlib import Path

FILE = Path(__file__).with_name("places.json")
#: Of a role (strategy, learner, role, mechanism): tasks and currencies, with readings and units.
Places = dict[str, dict[str, str]]


def audited_places() -> Places:
    """All of them, sorted."""
    from support.roles import private_places, published_places

    found: dict[str, dict[str, list[str]]] = {}
    for place in sorted(private_places() | published_places()):
        role = place.role
        whose = " | ".join((role.strategy, role.learner, role.role, role.mechanism))
        ways = found.setdefault(whose, {}).setdefault(f"{place.task}, {place.currency}", [])
        ways.append(f"{place.reading} {place.unit}")
    return {
        whose: {way: ", ".join(sorted(read)) for way, read in ways.items()}
        for whose, ways in found.items()
    }


def stored_places() -> Places:
    """Those in the file."""
    read: Places = json.loads(FILE.read_text(encoding="utf-8"))
    return read


def write_places() -> None:
    """Write the file anew."""
    FILE.write_text(json.dumps(audited_places(), indent=1) + "\n", encoding="utf-8")
