"""One durable book for a data set: what was spent on it, by whom, over years and machines."""

from __future__ import annotations

from dpforest.ledger.amounts import UNITS, fraction_of, to_units
from dpforest.ledger.entries import Charge, Entry, Kind, Part, Repeated
from dpforest.ledger.ledger import BudgetLedger
from dpforest.ledger.signatures import Signer

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
