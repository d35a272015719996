"""Checking a stored ledger: whatever follows from its scopes and its ceiling is worked out again.

A name and a ceiling follow from nothing in the ledger; what holds them is whatever was written of
the fit beside it. Held by tests/accounting/test_ledger_check.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from dpforest.accounting.books import Books
from dpforest.accounting.conversion import MEANS, conversion_method, rho_of_epsilon
from dpforest.accounting.ledger import Budget, BudgetRecord, LedgerRecord, ScopeRecord
from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.scopes import SequentialScope
from dpforest.accounting.verify import is_used_up, verify_composition

#: Releases of the converting library may differ by this much.
_TOLERANCE = 1e-6


def verify_ledger(ledger: LedgerRecord) -> tuple[str, ...]:
    """Work out again what follows from a ledger's scopes, its ceiling and its delta.

    Parameters
    ----------
    ledger : LedgerRecord

    Returns
    -------
    tuple of str
        What does not follow; empty where the books are consistent.
    """
    problems = verify_composition(ledger.scopes)
    if problems:
        return problems
    try:
        return tuple(_problems(ledger))
    except (ValueError, ArithmeticError) as error:
        return (f"the ledger's amounts are not readable ({type(error).__name__})",)


def _problems(ledger: LedgerRecord) -> Iterator[str]:
    loss, total = ledger.scopes.charged.loss, ledger.total_record.exact.loss
    books = Books.begun(total.epsilon, total.delta, ledger.name)
    if not _is_root(ledger.scopes):
        yield "its outermost scope is no accountant's"
    yield from place_problems(ledger.scopes)
    if not _agrees(ledger.total_record, books.total(), ledger):
        yield "the ledger's ceiling contradicts itself"
    if ledger.conversion not in (MEANS if total.delta else (books.conversion,)):
        yield "the ledger's conversion is none that is known"
    left = _remainders(total, ledger)
    if not any(_agrees(ledger.remaining_record, amount, ledger) for amount in left):
        yield "the ledger's remainder does not follow from its ceiling and its scopes"
    spent = Budget.spent(loss)
    # Ledgers of version 1 had a converted epsilon there, which is not read any more.
    exact = ledger.spent_record.exact == BudgetRecord.of(spent).exact
    if not exact or (ledger.version > 1 and ledger.spent_record != BudgetRecord.of(spent)):
        yield "the ledger's total is not that of its scopes"
    # What converts by other means may be within it there.
    if _same_means(ledger) and not is_within(loss, Fraction(total.epsilon), total.delta):
        yield "the ledger's scopes are above its ceiling"


def _is_root(scope: ScopeRecord) -> bool:
    """True if a scope is what an accountant's outermost one is, which nobody opens or closes."""
    given = ("composed", "charged", "entries", "children")
    root = SequentialScope(Books.begun(1, 0, None), None, "").record()
    return scope == root.model_copy(update={name: getattr(scope, name) for name in given})


def place_problems(root: ScopeRecord) -> Iterator[str]:
    """Entries are numbered in order, and know where they stand."""
    if root != root.apart():
        yield "its entries are not numbered in order"
    above = (root.label,) if root.label else ()
    if any(entry.path != path for path, scope in _paths(root, above) for entry in scope.entries):
        yield "an entry does not stand in the scope that it names"


def _paths(
    scope: ScopeRecord, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], ScopeRecord]]:
    yield path, scope
    for child in scope.children:
        yield from _paths(child, (*path, child.label))


def _remainders(total: PrivacyLoss, ledger: LedgerRecord) -> Iterator[Budget]:
    """Rest that may be left; nothing, perhaps, where a fit ended before its list was opened."""
    loss = ledger.scopes.charged.loss
    used_up = is_used_up(ledger.scopes)
    if used_up or any(map(_may_stand_alone, ledger.scopes.children)):
        yield Budget.left(NO_LOSS)
    if not used_up:
        rho = rho_of_epsilon(total.epsilon, total.delta - loss.delta)
        yield Budget.left(PrivacyLoss(total.epsilon, rho, total.delta).left_after(loss))


def _may_stand_alone(scope: ScopeRecord) -> bool:
    """True of a scope that set an (epsilon, delta) aside and in which nothing was granted yet.

    Its books do not tell if it was opened for a list that is all its accountant ever grants. That
    nothing is left is then the more careful answer of the two.
    """
    reserve = None if scope.reserve is None else scope.reserve.loss
    held = reserve is not None and reserve.delta > 0 and scope.charged.loss == reserve
    return held and not scope.adaptive and scope.composed.loss == NO_LOSS


def _agrees(written: BudgetRecord, remade: Budget, ledger: LedgerRecord) -> bool:
    """True if amounts are those worked out here; a converted rho only if by the same means."""
    amounts, own = written.exact.loss, remade.exact
    if (amounts.epsilon, amounts.delta) != (own.epsilon, own.delta) or amounts.rho < 0:
        return False
    close = _TOLERANCE * ledger.total_record.exact.loss.rho
    if _same_means(ledger) and not math.isclose(amounts.rho, own.rho, abs_tol=close):
        return False
    return written == BudgetRecord.of(Budget.left(amounts))


def _same_means(ledger: LedgerRecord) -> bool:
    return ledger.conversion == conversion_method() or not ledger.total_record.exact.loss.delta


def is_within(loss: PrivacyLoss, epsilon: Fraction, delta: Fraction) -> bool:
    """True if a ceiling admits a loss, up to what releases of a converting library differ by."""
    if loss.delta > delta:
        return False
    cap = float(rho_of_epsilon(epsilon, delta - loss.delta)) * (1 + _TOLERANCE)
    return loss.epsilon <= epsilon or loss.rho <= cap
