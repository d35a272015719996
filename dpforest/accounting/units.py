"""Units that own several records: what is asked for costs a record, what is charged a unit.

A unit (a person, a household, a device) may own up to k records. Adding or removing all of them is
k steps of adding or removing one, so group privacy says what any release costs it:

* pure: k epsilon (the ratio of probabilities of a transcript is at most e^epsilon a step);
* zero-concentrated: k^2 rho (Bun and Steinke 2016, Prop. 1.9);
* (epsilon, delta): k epsilon with delta (1 + e^epsilon + ... + e^((k-1) epsilon)), since
  P0(S) <= e^epsilon P1(S) + delta, and so on k times (Vadhan 2017, Lemma 2.2, rounds the sum up
  further). Where there is a delta, nothing is claimed in rho.

Records carry no owner here. That no unit has more than k is the promise of whoever calls.
"""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from typing import Any, ClassVar

from dpforest.accounting.books import Books
from dpforest.accounting.ledger import ScopeKind
from dpforest.accounting.losses import Amount, PrivacyLoss
from dpforest.accounting.rationals import exp_up
from dpforest.accounting.reserves import check_adaptive
from dpforest.accounting.scope_tree import ScopeNode
from dpforest.accounting.scopes import Scope, SequentialScope
from dpforest.exceptions import ParameterError, ParameterTypeError, ScopeError

#: e to a power beyond this is past any delta.
_LARGEST_EXPONENT = 1000
#: Units of more records are priced by a bound that takes no sum.
_SUMMED = 64


#: Beyond it nothing is learnt, and amounts would leave the range of doubles.
MOST_RECORDS_PER_UNIT = 10**9


def check_records_per_unit(value: Any) -> int:
    """A whole number of records, at least one.

    Raises
    ------
    ParameterTypeError, ParameterError
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ParameterTypeError(
            "max_records_per_unit", value, "must be a whole number",
            "Give the most records that one unit may own",
        )  # fmt: skip
    number = operator.index(value)
    if number < 1:
        raise ParameterError(
            "max_records_per_unit", value, "must be at least 1",
            "Give the most records that one unit may own",
        )  # fmt: skip
    if number > MOST_RECORDS_PER_UNIT:
        raise ParameterError(
            "max_records_per_unit", value, f"must be at most {MOST_RECORDS_PER_UNIT}",
            "Give the most records that one unit may own",
        )  # fmt: skip
    return number


def group_loss(loss: PrivacyLoss, size: int) -> PrivacyLoss:
    """Cost of a release for a unit that owns up to ``size`` records.

    Parameters
    ----------
    loss : PrivacyLoss
        Under add/remove of one record.
    size : int
        1 returns the loss itself.

    Notes
    -----
    Held by tests/accounting/test_units.py against randomised response and brute force.
    """
    if size == 1:
        return loss
    if not loss.delta:
        return PrivacyLoss(loss.epsilon * size, loss.rho * size**2)
    return PrivacyLoss(loss.epsilon * size, math.inf, _group_delta(loss, size))


def _group_delta(loss: PrivacyLoss, size: int) -> Fraction:
    exponent: Amount = loss.epsilon * (size - 1)
    if exponent > _LARGEST_EXPONENT:
        return Fraction(1)
    if size > _SUMMED:
        # No term of the sum is above the last one.
        return min(loss.delta * size * Fraction(exp_up(Fraction(exponent))), Fraction(1))
    step = Fraction(exp_up(Fraction(loss.epsilon)))
    total = sum((step**i for i in range(size)), Fraction(0))
    return min(loss.delta * total, Fraction(1))


def open_units(
    scope: Scope,
    label: str,
    size: int,
    reserve: PrivacyLoss | None = None,
    adaptive: bool = False,
    alone: bool = False,
) -> SequentialScope:
    """Open a sequential scope whose requests cost a record, and which is charged for a unit.

    Parameters
    ----------
    scope : Scope
        Towards which it is charged: in units.
    label : str
        Name, unlike those of its siblings.
    size : int
        Most records of a unit; 1 opens a plain sequential scope.
    reserve, adaptive
        As in ``Scope.sequential``, the reserve in units.
    alone : bool
        Whether nothing is granted beside it from then on.

    Raises
    ------
    ParameterTypeError, ParameterError
        If the size is no whole number from 1 up, or an adaptive scope has no reserve.
    BudgetExceeded
        If the reserve does not fit; nothing is opened.
    ScopeError
        If a scope around it counts in units already.
    """
    size = check_records_per_unit(size)
    check_adaptive(adaptive, reserve)
    if size == 1:
        plain = SequentialScope(scope._books, scope, label, reserve, adaptive)
        return scope._adopt(plain, alone)
    _check_around(scope)
    units = UnitsScope(scope._books, scope, label, size, reserve, adaptive)
    return scope._adopt(units, alone)


class UnitsScope(SequentialScope):
    """Everything in it meets the same records, of which a unit owns up to ``size``.

    What is asked for in it, and every scope in it, is composed for one record and counts as its
    group loss. A certified scope in it that was certified for units of that size counts as it is.
    """

    kind: ClassVar[ScopeKind] = "units"
    _adds_up: ClassVar[bool] = False

    def __init__(
        self,
        books: Books,
        parent: Scope,
        label: str,
        size: int,
        reserve: PrivacyLoss | None = None,
        adaptive: bool = False,
    ) -> None:
        super().__init__(books, parent, label, reserve, adaptive)
        self._size = size

    @property
    def max_records_per_unit(self) -> int:
        """Most records of a unit."""
        return self._size

    def _counted(self, loss: PrivacyLoss, child: ScopeNode | None = None) -> PrivacyLoss:
        certificate = None if child is None else child.certificate
        if certificate is not None and certificate.records_per_unit == self._size:
            return loss
        return group_loss(loss, self._size)


def _check_around(scope: Scope) -> None:
    for place in scope._around():
        if place.max_records_per_unit > 1:
            raise ScopeError(
                f"scope {place._name()!r} already counts in privacy units. "
                "Open the scope beside it."
            )
