"""Spending so far is told by what was released, so it holds for whoever stops or goes on."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest

from dpforest.accounting import BudgetAccountant, GeometricNoise
from dpforest.accounting.bounds import add_remove_price
from dpforest.exceptions import BudgetExceeded

DELTA = F(1, 1000)
UNIT = F(1, 256)
#: Noise that shrinks: what is released next outweighs what was before, eight times over.
LADDER = [2**rung for rung in range(8) for _ in range(30)]


def offers(accountant: BudgetAccountant):
    """Every (epsilon, delta) that may be read as a bound of what was released so far."""
    spent, total = accountant.spent, accountant.total
    converted, delta, _ = add_remove_price(accountant.loss, DELTA)
    return {
        "spent": (spent.epsilon, spent.delta),
        "total": (total.epsilon, total.delta),
        "rho, converted as if fixed beforehand": (float(converted), float(delta)),
    }


def worst_stop(losses: list[int], epsilons: list[float]) -> float:
    """Sum of P(t) - e^epsilon(t) Q(t) over the transcripts t of the worst stopping rule, exactly.

    One record changes a count by one. Two-sided geometric noise then tells the two tables apart as
    a coin does: the loss is +e or -e, up with probability 1 / (1 + exp(-e)) under P. So the worst
    rule follows by recursion from the last release back, over the sums of losses.
    """
    reach, unit = sum(losses), float(UNIT)
    loss = np.arange(-reach, reach + 1) * unit

    def stopped(epsilon: float):
        return np.maximum(-np.expm1(np.minimum(epsilon - loss, 0)), 0)

    value = stopped(epsilons[-1])
    for number in reversed(range(len(losses))):
        step = losses[number]
        up = 1 / (1 + math.exp(-step * unit))
        higher = np.append(value[step:], np.full(step, value[-1]))
        lower = np.append(np.full(step, value[0]), value[:-step])
        value = up * higher + (1 - up) * lower
        if number:
            value = np.maximum(value, stopped(epsilons[number - 1]))
    return float(value[reach])


def climbed(accountant: BudgetAccountant):
    """The ladder as far as it is granted: losses, and what is offered after each."""
    losses, offered = [], []
    for step in LADDER:
        try:
            accountant.request(GeometricNoise(step * UNIT, F(1)), role="look")
        except BudgetExceeded:
            break
        losses.append(step)
        offered.append(offers(accountant))
    return losses, offered


@pytest.fixture(scope="module")
def wide():
    """A ceiling under which all of the ladder is granted."""
    return climbed(BudgetAccountant(40, DELTA))


@pytest.mark.parametrize("name", ["spent", "total"])
def test_what_is_offered_holds_at_the_worst_stop(name, wide):
    losses, offered = wide
    assert len(losses) == len(LADDER)
    epsilons = [offer[name][0] for offer in offered]
    deltas = {offer[name][1] for offer in offered}
    assert worst_stop(losses, epsilons) <= max(deltas)


def test_a_realised_rho_converts_to_no_bound(wide):
    pytest.importorskip("dp_accounting")  # the closed form is loose enough to hide it here
    losses, offered = wide
    epsilons = [offer["rho, converted as if fixed beforehand"][0] for offer in offered]
    assert worst_stop(losses, epsilons) > 3 * DELTA


@pytest.mark.parametrize("epsilon", [F(1, 10), 1, 3])
def test_a_ceiling_that_is_reached_holds_at_the_worst_stop(epsilon):
    accountant = BudgetAccountant(epsilon, DELTA)
    losses, offered = climbed(accountant)
    assert 10 < len(losses) < len(LADDER)
    found = worst_stop(losses, [float(epsilon)] * len(losses))
    assert found <= DELTA
    assert worst_stop(losses, [offer["spent"][0] for offer in offered]) == 0.0


def test_the_amounts_are_those_that_add_up():
    accountant = BudgetAccountant(40, DELTA)
    events = [GeometricNoise(F(1, 7), F(1)), GeometricNoise(F(1, 3), F(1))]
    for event in events:
        accountant.request(event, role="test")
    spent = accountant.spent
    assert spent.exact == accountant.loss == events[0].loss + events[1].loss
    assert spent.epsilon == pytest.approx(1 / 7 + 1 / 3) and spent.delta == 0.0
    assert accountant.frozen().spent == spent
