"""One durable book for a data set: what was spent on it, by whom, over years and machines.

Public names are loaded when they are first used, as those of ``dpforest`` are.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpforest.ledger.amounts import UNITS, fraction_of, to_units
    from dpforest.ledger.entries import Charge, Entry, Kind, Part, Repeated
    from dpforest.ledger.ledger import BudgetLedger
    from dpforest.ledger.signatures import Signer

_HOMES = {
    "UNITS": "amounts",
    "BudgetLedger": "ledger",
    "Charge": "entries",
    "Entry": "entries",
    "Kind": "entries",
    "Part": "entries",
    "Repeated": "entries",
    "Signer": "signatures",
    "fraction_of": "amounts",
    "to_units": "amounts",
}

__all__ = [
    "UNITS",
    "BudgetLedger",
    "Charge",
    "Entry",
    "Kind",
    "Part",
    "Repeated",
    "Signer",
    "fraction_of",
    "to_units",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dpforest.ledger' has no attribute {name!r}")
    return getattr(import_module(f"dpforest.ledger.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
