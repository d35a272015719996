"""One durable book for a data set: what was spent on it, by whom, over years and machines.

Public names are loaded when they are first used, as those of ``dpforest`` are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpforest.lazy import lazy_names

if TYPE_CHECKING:
    from dpforest.ledger.amounts import UNITS, fraction_of, to_units
    from dpforest.ledger.bodies import Kind
    from dpforest.ledger.entries import Entry
    from dpforest.ledger.ledger import BudgetLedger
    from dpforest.ledger.plan_files import Charge, Part, Repeated
    from dpforest.signatures import Signer

_HOMES = {
    "UNITS": "dpforest.ledger.amounts",
    "BudgetLedger": "dpforest.ledger.ledger",
    "Charge": "dpforest.ledger.plan_files",
    "Entry": "dpforest.ledger.entries",
    "Kind": "dpforest.ledger.bodies",
    "Part": "dpforest.ledger.plan_files",
    "Repeated": "dpforest.ledger.plan_files",
    "Signer": "dpforest.signatures",
    "fraction_of": "dpforest.ledger.amounts",
    "to_units": "dpforest.ledger.amounts",
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

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
