"""Ledgers as ``dp_accounting`` events, for a second opinion.

Every release becomes a ``ZCDpEvent`` with its rho, one by one: bounded-range selections at
epsilon squared over 8, permute-and-flip, geometric noise and perturbed objectives at epsilon
squared over 2, the discrete Gaussian at its own rho. That is a valid claim for each, and
``RdpAccountant`` composes it. ``GaussianDpEvent`` would be wrong under a PLD accountant, since the
discrete Gaussian is not the continuous one, and ``DiscreteLaplaceDpEvent`` is not taken by the
Renyi accountant.

``dp_accounting`` has no parallel composition over different events, so a parallel scope is
exported as the child that costs most in rho; where a mixture has a smaller rho than that, as
one event with the mixture's rho. A scope of units is exported as one event for each release and
each scope in it, at what that costs a unit.
"""

from __future__ import annotations

import importlib
import math
from fractions import Fraction
from typing import Any

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.frozen_ledger import FrozenLedger
from dpforest.accounting.ledger import LedgerEntry, ScopeRecord
from dpforest.accounting.losses import Amount
from dpforest.accounting.rationals import float_down
from dpforest.accounting.verify import counted_losses
from dpforest.exceptions import MissingExtraError


def to_dp_event(books: BudgetAccountant | FrozenLedger | ScopeRecord) -> Any:
    """Export books as one composed event under add/remove.

    Parameters
    ----------
    books : BudgetAccountant, FrozenLedger or ScopeRecord

    Returns
    -------
    dp_accounting.ComposedDpEvent
        Its rho in all is the books' rho, up to rounding up to doubles.

    Raises
    ------
    MissingExtraError
        If ``dp_accounting`` is not installed.
    """
    library = _library()
    record = books if isinstance(books, ScopeRecord) else books.composition()
    return library.ComposedDpEvent(events=_scope_events(record, library))


def _scope_events(scope: ScopeRecord, library: Any) -> list[Any]:
    composed, charged = scope.composed.loss.rho, scope.charged.loss.rho
    events = _inner_events(scope, composed, library)
    if charged > composed:  # a reserve that is held, or stays spent
        events.append(_event(charged - composed, library))
    return events


def _inner_events(scope: ScopeRecord, composed: Amount, library: Any) -> list[Any]:
    if scope.kind == "units":
        return [_event(loss.rho, library) for loss in counted_losses(scope)]
    if scope.kind.startswith("parallel"):
        if not scope.children:
            return []
        costliest = max(scope.children, key=lambda child: child.charged.loss.rho)
        if costliest.charged.loss.rho > composed:
            return [_event(composed, library)]
        return _scope_events(costliest, library)
    inner = sum((entry.loss.rho for entry in scope.entries), Fraction(0))
    inner = sum((child.charged.loss.rho for child in scope.children), inner)
    if inner > composed:
        return [_event(composed, library)]
    events = [_entry_event(entry, library) for entry in scope.entries]
    for child in scope.children:
        events.extend(_scope_events(child, library))
    return events


def _entry_event(entry: LedgerEntry, library: Any) -> Any:
    return _event(entry.loss.rho, library)


def _event(rho: Amount, library: Any) -> Any:
    if rho == math.inf:
        return library.NonPrivateDpEvent()
    # The smallest double that is not below rho, so the export never claims less.
    return library.ZCDpEvent(-float_down(-Fraction(rho))) if rho else library.NoOpDpEvent()


def _library() -> Any:
    try:
        return importlib.import_module("dp_accounting")
    except ImportError:
        raise MissingExtraError("dp-accounting", "accounting", "exporting events") from None
