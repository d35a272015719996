"""Accounting: what may be spent, what was spent, and how it composes.

Public names are loaded when they are first used, as those of ``dpforest`` are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpforest.lazy import lazy_names

if TYPE_CHECKING:
    from dpforest.accounting.accountant import BudgetAccountant
    from dpforest.accounting.events import (
        DiscreteGaussianNoise,
        Event,
        ExponentialSelection,
        ExternalSpend,
        GeometricNoise,
        ObjectivePerturbation,
        PermuteAndFlipSelection,
        ZeroSumGeometricNoise,
    )
    from dpforest.accounting.fits import DetachedAccountant
    from dpforest.accounting.frozen_ledger import FrozenLedger
    from dpforest.accounting.grants import Grant
    from dpforest.accounting.ledger import Budget, LedgerEntry, ScopeRecord
    from dpforest.accounting.losses import PrivacyLoss
    from dpforest.accounting.requests import Request

_HOMES = {
    "Budget": "dpforest.accounting.ledger",
    "BudgetAccountant": "dpforest.accounting.accountant",
    "DetachedAccountant": "dpforest.accounting.fits",
    "DiscreteGaussianNoise": "dpforest.accounting.events",
    "Event": "dpforest.accounting.events",
    "ExponentialSelection": "dpforest.accounting.events",
    "ExternalSpend": "dpforest.accounting.events",
    "FrozenLedger": "dpforest.accounting.frozen_ledger",
    "GeometricNoise": "dpforest.accounting.events",
    "Grant": "dpforest.accounting.grants",
    "LedgerEntry": "dpforest.accounting.ledger",
    "ObjectivePerturbation": "dpforest.accounting.events",
    "PermuteAndFlipSelection": "dpforest.accounting.events",
    "PrivacyLoss": "dpforest.accounting.losses",
    "Request": "dpforest.accounting.requests",
    "ScopeRecord": "dpforest.accounting.ledger",
    "ZeroSumGeometricNoise": "dpforest.accounting.events",
}

__all__ = [
    "Budget",
    "BudgetAccountant",
    "DetachedAccountant",
    "DiscreteGaussianNoise",
    "Event",
    "ExponentialSelection",
    "ExternalSpend",
    "FrozenLedger",
    "GeometricNoise",
    "Grant",
    "LedgerEntry",
    "ObjectivePerturbation",
    "PermuteAndFlipSelection",
    "PrivacyLoss",
    "Request",
    "ScopeRecord",
    "ZeroSumGeometricNoise",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
