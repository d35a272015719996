"""Books read from a file: consistent ones pass, and no figure can be changed alone."""

from __future__ import annotations

import json
import math
from fractions import Fraction as F

import pytest

from dpforest.accounting import (
    BudgetAccountant,
    DiscreteGaussianNoise,
    ExponentialSelection,
    ExternalSpend,
    GeometricNoise,
    ObjectivePerturbation,
    PermuteAndFlipSelection,
    PrivacyLoss,
    ScopeRecord,
    ZeroSumGeometricNoise,
)
from dpforest.accounting.caps import CappedScope, open_capped
from dpforest.accounting.conversion import rho_of_epsilon
from dpforest.accounting.ledger import LossRecord
from dpforest.accounting.verify import claimed_loss, verify_composition

MILLIONTH = F(1, 10**6)


def every_kind():
    """Books with every kind of scope, event and reserve in them."""
    accountant = BudgetAccountant(40, delta="1e-3", name="all kinds")
    accountant.request(ExternalSpend(F(1, 7), F(0), "a mean"), role="mean")
    minimum = ObjectivePerturbation(F(1, 8), F(1, 40), F(1, 2), F(1, 4), F(3))
    accountant.request(minimum, role="minimum")
    accountant.request(ZeroSumGeometricNoise(F(1, 11), F(4), F(3)), role="sums")
    with accountant.open_scope("fit", reserve=PrivacyLoss(math.inf, F(10))) as fit:
        cells = fit.parallel_cells("cells")
        for label, epsilon in (("one", F(1, 3)), ("two", F(1, 2))):
            selection = PermuteAndFlipSelection(epsilon, F(2))
            cells.sequential(label).request(selection, role="selection", cells=3, level=1)
        sides = fit.parallel_records("sides", {"S": F(1, 3), "E": F(1, 3)})
        sides.side("S").request(ExponentialSelection(F(1), F(2)), role="selection")
        sides.side("E").request(GeometricNoise(F(2), F(1)), role="histogram")
        sampled = fit.poisson("sampled", F(1, 10))
        sampled.request(GeometricNoise(F(1, 9), F(1)), role="histogram")
        fit.request(DiscreteGaussianNoise(F(100), F(1)), role="histogram", cells=16, level=4)
    cap = PrivacyLoss(math.inf, F(1, 10))
    with accountant.open_scope("adaptive", reserve=cap, adaptive=True) as adaptive:
        sides = adaptive.parallel_records("sides", {"S": F(1, 2), "E": F(1, 2)})
        sides.side("S").request(GeometricNoise(F(1, 4), F(1)), role="histogram")
    caps = (PrivacyLoss.pure(F(1)), PrivacyLoss.concentrated(F(1, 10)))
    with open_capped(accountant, "either", caps) as either:
        either.request(GeometricNoise(F(1, 2), F(1)), role="histogram")
    with pytest.raises(RuntimeError), accountant.open_scope("failed", PrivacyLoss.pure(F(1))) as f:
        f.request(GeometricNoise(F(1, 2), F(1)), role="histogram")
        raise RuntimeError
    accountant.open_scope("open", reserve=PrivacyLoss.pure(F(1)))
    return accountant


@pytest.fixture(scope="module")
def books():
    return every_kind().composition()


def test_real_books_pass(books):
    assert verify_composition(books) == ()
    assert verify_composition(ScopeRecord.model_validate_json(books.model_dump_json())) == ()
    outside = BudgetAccountant(4, "1e-3").poisson("sampled", F(1, 3))
    outside.request(ExternalSpend(F(1), MILLIONTH, "with a delta"), role="mean")
    assert verify_composition(outside.record()) == ()


def test_an_adaptive_scope_that_spent_nothing_changes_nothing():
    for request_later in (False, True):
        with BudgetAccountant(9, "1e-6").open_scope("fit") as fit:
            sampled = fit.poisson("sampled", F(1, 10))
            sampled.request(GeometricNoise(F(1), F(1)), role="histogram")
            caps = (PrivacyLoss.pure(F(1)), PrivacyLoss.concentrated(F(1)))
            sampled._adopt(CappedScope(caps, sampled._books, sampled, "late"))
            if request_later:
                sampled.request(GeometricNoise(F(1), F(1)), role="histogram")
        assert verify_composition(fit.record()) == ()


def places(value, path=()):
    """Every number, figure and rule in dumped books, by path."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from places(part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from places(part, (*path, index))
    elif path[-1] not in ("label", "role", "level", "index", "mechanism", "description") and (
        "path" not in path
    ):
        yield path, value


def changed(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return 0 if value else 1
    if value in ("inf", "Infinity"):
        return "1" if value == "inf" else 1.0
    kinds = {"sequential": "parallel cells", "parallel cells": "sequential"}
    return kinds.get(value, "1/977")


def test_no_figure_can_be_changed_alone(books):
    dumped = json.loads(books.model_dump_json())
    harmless = []
    for path, value in places(dumped):
        damaged = json.loads(books.model_dump_json())
        place = damaged
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = changed(value)
        try:
            record = ScopeRecord.model_validate(damaged)
        except ValueError:
            continue
        if not verify_composition(record):
            harmless.append(path[-1])
    # What plays no part: how many cells, a reserve that was given back, who is closed without one
    # or failed, the rule of a scope with one part, and a cap, a sensitivity or a part of a
    # mechanism's epsilon that no figure rests on.
    assert len(list(places(dumped))) > 300
    assert set(harmless) <= {
        "cells", "closed", "kind", "adaptive", "reserve_kept", "score_range", "l1_sensitivity",
        "S", "E", "failed", "determinant", "clip", "curvature", "blocks",
    }, harmless  # fmt: skip


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"epsilon": "1/2"}, "the loss of entry 0 does not follow"),
        ({"parameters": {"epsilon": "-1", "l1_sensitivity": "1"}}, "not readable"),
        ({"parameters": {"epsilon": "1e999999999", "l1_sensitivity": "1"}}, "not readable"),
        ({"parameters": {"epsilon": "1/0", "l1_sensitivity": "1"}}, "not readable"),
        ({"parameters": {"epsilon": "1"}}, "the loss of entry 0 does not follow"),
        ({"mechanism": "exponential mechanism"}, "the loss of entry 0 does not follow"),
        ({"cells": 0}, "the loss of entry 0 does not follow"),
        ({"mechanism": "somebody else's", "epsilon": "-1"}, "the loss of entry 0 does not follow"),
    ],
)
def test_entries_that_do_not_follow(change, problem):
    accountant = BudgetAccountant(4)
    accountant.request(GeometricNoise(F(1), F(1)), role="count")
    record = accountant.composition()
    entry = record.entries[0].model_copy(update=change)
    damaged = record.model_copy(update={"entries": (entry,)})
    assert verify_composition(record) == ()
    assert any(problem in text for text in verify_composition(damaged))


def test_totals_made_smaller_everywhere_do_not_pass():
    with BudgetAccountant(4).open_scope("fit") as fit:
        fit.sequential("tree").request(GeometricNoise(F(1), F(1)), role="count")
    less = LossRecord.of(PrivacyLoss.pure(F(1, 100)))
    tree = fit.record().children[0].model_copy(update={"composed": less, "charged": less})
    damaged = fit.record().model_copy(
        update={"composed": less, "charged": less, "children": (tree,)}
    )
    assert verify_composition(damaged) == ("tree: its total does not follow from its entries",)


def test_claims_of_finished_fits(books):
    scopes = {scope.label: scope for scope in books.children}
    assert claimed_loss(scopes["fit"], MILLIONTH) == scopes["fit"].composed.loss
    assert claimed_loss(scopes["adaptive"], MILLIONTH) == PrivacyLoss(math.inf, F(1, 10))
    # Two routes to (1, 1e-6): the union of both is that.
    rho = rho_of_epsilon(F(1), MILLIONTH)
    caps = (PrivacyLoss.pure(F(1)), PrivacyLoss.concentrated(rho))
    with open_capped(BudgetAccountant(1, MILLIONTH), "fit", caps) as fit:
        fit.request(GeometricNoise(F(1, 2), F(1)), role="histogram")
    assert claimed_loss(fit.record(), MILLIONTH) == PrivacyLoss(F(1), math.inf, MILLIONTH)
    # A cap that converts to more is not hidden behind the smaller one.
    assert claimed_loss(fit.record(), F(1, 10**9)).epsilon > 1


def test_a_scope_apart_numbers_its_entries_anew(books):
    scope = next(scope for scope in books.children if scope.label == "either")
    assert scope.entries[0].index > 0
    assert [entry.index for entry in scope.apart().ledger] == [0]
    assert scope.apart().model_copy(update={"entries": scope.entries}) == scope


@pytest.mark.parametrize("spends", [True, False])
def test_a_reserve_comes_back_only_where_nothing_was_granted(spends):
    """Earlier releases kept rho of such a scope in both cases, and their books are read."""
    accountant = BudgetAccountant(3, delta="1e-3")
    kept = PrivacyLoss.concentrated(F(1, 10))
    with accountant.open_scope("adaptive", reserve=kept, adaptive=True) as scope:
        if spends:
            scope.request(DiscreteGaussianNoise(F(100), F(1)), role="sums")
    books = accountant.composition()
    (child,) = books.children
    composed = child.composed.loss
    held = PrivacyLoss(composed.epsilon, kept.rho)
    for charged, holds in ((composed, not spends), (held, True)):
        written = LossRecord.of(charged)
        other = child.model_copy(update={"charged": written})
        problems = verify_composition(
            books.model_copy(update={"children": (other,), "composed": written, "charged": written})
        )
        assert (problems == ()) == holds, problems
