"""Places where a list with a certificate may lie, and what it is charged there.

Its scope (``lists``) grants one list of releases in its order, and nothing else.

**Claim.** All that is released in the scope is (epsilon, delta)-DP, as its certificate says, also
where the run ends early for a reason that depends on released values: a part of the list is made
from all of it without looking at the records. So the whole is charged with the first grant.

**Charge.** A certificate speaks for its own list. Beside other spending the list counts as what its
releases add up to, which is its rho: ``Certificate.additive``. Its accountant then sees releases
that add up and nothing else, so what it proves of them it proves here: lists may be chosen by what
was released before, from list to list, and all of it stays (epsilon, delta)-DP as the ceiling says.
No delta is charged; the certificate's is a way of saying what the list alone comes to.

A list whose rho is above the ceiling may still be all that its accountant ever grants. It is then
charged its certificate's (epsilon, delta) and the accountant grants nothing more
(``BudgetAccountant.open_scope``). Whether it is so is decided while nothing has been spent, so it
does not depend on any record; and then all that is released is the list, which is
(epsilon, delta)-DP by its certificate. The same holds for a list that is opened outside of such a
scope, where nothing is charged but the reserves of the scopes around it. Nothing is granted beyond
those reserves then. Within a reserve that is larger than the list's (epsilon, delta) more may be
granted beside it, and adds up with it there: the list was fixed before anything was released.

The third place is an adaptive scope that was opened before anything was granted, whose reserve
holds the delta for good: there every run stays below an epsilon and a delta that add up, which is a
valid filter (Rogers, Roth, Ullman, Vadhan 2016, Theorem 3.6).

Held by tests/accounting/test_certified.py and test_shared_lists.py.
"""

from __future__ import annotations

from dpforest.accounting.certificates import Certificate
from dpforest.accounting.losses import NO_LOSS
from dpforest.accounting.scopes import Scope, SequentialScope
from dpforest.exceptions import ParameterError, ScopeError


def check_place(scope: Scope) -> None:
    """Refuse a place that a record may not meet all of."""
    if not all(
        isinstance(place, SequentialScope) and place.kind in ("sequential", "units")
        for place in scope._around()
    ):
        raise ScopeError(
            "a certified scope lies in sequential scopes only: its (epsilon, delta) is that of a "
            "record that meets all of it. Open it beside the parallel or sampled scope."
        )


def is_alone(scope: Scope) -> bool:
    """True if nothing is charged to the accountant but reserves of the scopes around."""
    around = list(scope._around())
    beside = (c for place in around for c in place._children.values() if c not in around)
    spent = [entry.loss for place in around for entry in place._entries]
    return all(loss == NO_LOSS for loss in (*spent, *(child._charged for child in beside)))


def is_held(scope: Scope) -> bool:
    """True if an adaptive scope that was opened first holds the delta for good."""
    return any(place in scope._books.held_first for place in scope._around())


def check_units(scope: Scope, certificate: Certificate) -> None:
    """A certificate for units counts as it is, so it lies right in a scope of just such units."""
    if certificate.records_per_unit in (1, scope.max_records_per_unit):
        return
    raise ParameterError(
        "certificate", f"for units of {certificate.records_per_unit} records",
        "must be for one record, or for the units of the scope that it is opened in",
        "Open that scope with max_records_per_unit",
    )  # fmt: skip
