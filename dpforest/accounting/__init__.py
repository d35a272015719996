"""Accounting: what may be spent, what was spent, and how it composes."""

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.events import (
    DiscreteGaussianNoise,
    Event,
    ExponentialSelection,
    ExternalSpend,
    GeometricNoise,
    ObjectivePerturbation,
    PermuteAndFlipSelection,
)
from dpforest.accounting.fits import DetachedAccountant
from dpforest.accounting.frozen_ledger import FrozenLedger
from dpforest.accounting.grants import Grant
from dpforest.accounting.ledger import Budget, LedgerEntry, ScopeRecord
from dpforest.accounting.losses import PrivacyLoss
from dpforest.accounting.scopes import Request

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
]
