"""True worst cases of single parts: labels, noise, secret sides, sums of residuals."""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product

import numpy as np

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.accounting.events import DiscreteGaussianNoise, GeometricNoise
from dpforest.audit.laws import (
    DIGITS,
    Law,
    exponential_law,
    geometric_law,
    permute_and_flip_law,
    product_law,
    worst_loss,
    zero_sum_law,
)
from dpforest.mechanisms.base import exponent
from dpforest.trees.multinomial.queries import LabelByFrequency
from dpforest.trees.refitted.queries import STEPS, ResidualLattice
from dpforest.trees.refitted.settings import RefittedSettings
from dpforest.trees.scored.columns import n_score_columns
from dpforest.trees.scored.kernels.residuals import lattice_residuals

_ONE = Fraction(1)
_K = 2


@dataclass(frozen=True, slots=True)
class ExactCheck:
    """A mechanism's true worst case on a small domain.

    Attributes
    ----------
    name : str
    claim : float
    worst : float
        Largest absolute log ratio over all outputs and neighbouring pairs.
    pairs : int
        Neighbouring pairs that were compared.
    where : str
        The worst pair.
    """

    name: str
    claim: float
    worst: float
    pairs: int
    where: str

    @property
    def ratio(self) -> float:
        """Worst case over claim: 1 where the claim is tight, never more."""
        return self.worst / self.claim


def check_label(rule: str, epsilon: Fraction = _ONE, largest: int = 40) -> ExactCheck:
    """All leaves of up to ``largest`` records of each of two classes.

    Parameters
    ----------
    rule : {"count_label", "count_label_permute_and_flip", "label"}
    epsilon : Fraction
        The claim.
    largest : int
        Most records of a class.
    """
    frequency = rule == "label"
    c = exponent(epsilon, *((Fraction(2), LabelByFrequency.unit) if frequency else (_ONE, _ONE)))
    make = permute_and_flip_law if rule.endswith("flip") else exponential_law

    def law(counts: tuple[int, ...]) -> Law:
        size = max(sum(counts), 1)
        steps = LabelByFrequency.unit.denominator
        scores = [m * steps // size for m in counts] if frequency else list(counts)
        return make([float(score) for score in scores], c)

    laws = {counts: law(counts) for counts in product(range(largest + 2), repeat=_K)}
    pairs = [
        (counts, tuple(m + (k == j) for k, m in enumerate(counts)))
        for counts in product(range(largest + 1), repeat=_K)
        for j in range(_K)
    ]
    losses = [worst_loss(laws[a], laws[b]) for a, b in pairs]
    at = losses.index(max(losses))
    where = f"counts {pairs[at][0]} and {pairs[at][1]}"
    return ExactCheck(f"{rule}, one leaf", float(epsilon), float(losses[at]), len(pairs), where)


def check_geometric(epsilon: Fraction = _ONE, largest: int = 30) -> ExactCheck:
    """One class's noisy count; the others keep their law. Ratios repeat beyond what is tried."""
    a = exponent(epsilon, _ONE, _ONE)
    outputs = range(-largest, 2 * largest)
    losses = [
        worst_loss(geometric_law(count, a, outputs), geometric_law(count + 1, a, outputs))
        for count in range(largest)
    ]
    worst = float(max(losses))
    return ExactCheck("geometric noise", float(epsilon), worst, largest, "any two counts")


def check_zero_sum_geometric(epsilon: Fraction = _ONE, columns: int = 3) -> ExactCheck:
    """A row that adds up to nothing, and all that one record may make of it in an L1 of four.

    All outputs up to 12 are compared; ratios repeat beyond.
    """
    moved, a = 4, exponent(epsilon, Fraction(4), _ONE)
    near, far = range(-moved, moved + 1), range(-12, 13)
    others = [row for row in _adding_up(near, columns) if 0 < sum(map(abs, row)) <= moved]
    outputs = _adding_up(far, columns)
    own = zero_sum_law([0] * columns, a, outputs)
    losses = [worst_loss(own, zero_sum_law(other, a, outputs)) for other in others]
    where = f"a record that adds {list(others[losses.index(max(losses))])}"
    name = "geometric noise that adds up to nothing"
    return ExactCheck(name, float(epsilon), float(max(losses)), len(others), where)


def _adding_up(values: range, columns: int) -> list[tuple[int, ...]]:
    """Rows that add up to nothing, all numbers but the last from some values."""
    return [(*row, -sum(row)) for row in product(values, repeat=columns - 1)]


def check_discrete_gaussian(variance: int = 9, reach: int = 200) -> ExactCheck:
    """Renyi divergence of neighbouring counts over its order, at orders 3/2, 2, 5/2 ... 16.

    The claim is rho = 1 / (2 variance), which is reached at whole orders.
    """
    claim = DiscreteGaussianNoise(Fraction(variance), _ONE).loss.rho
    orders = [Decimal(twice) / 2 for twice in range(3, 33)]
    with decimal.localcontext(decimal.Context(prec=DIGITS)):
        rates = [_divergence(variance, order, reach) / order for order in orders]
        worst = max(rates)
        # The last digits are rounding's.
        worst = worst.quantize(Decimal(10) ** (10 - DIGITS), decimal.ROUND_DOWN)
    where = f"any two counts, order {orders[rates.index(max(rates))]}"
    return ExactCheck(
        "discrete Gaussian noise, rho", float(claim), float(worst), len(orders), where
    )


def _divergence(variance: int, order: Decimal, reach: int) -> Decimal:
    """Renyi divergence of discrete Gaussians around 1 and 0; call with precision set."""
    weights, mixed = Decimal(0), Decimal(0)
    for x in range(-reach, reach + 1):
        own, other = Decimal((x - 1) ** 2), Decimal(x**2)
        weights += (-other / (2 * variance)).exp()
        mixed += (-(order * own + (1 - order) * other) / (2 * variance)).exp()
    return (mixed / weights).ln() / (order - 1)


def check_sides(
    probability: Fraction = Fraction(1, 4),
    epsilons: tuple[Fraction, Fraction] = (Fraction(2), Fraction(1, 2)),
    largest: int = 5,
) -> ExactCheck:
    """Two sides that a record enters by a secret coin of its own, each with its noisy count.

    The claim is the accountant's for records in parallel. All outcomes of the coins are summed.
    """
    claim = _claim_of_sides(probability, epsilons)
    exponents = [exponent(epsilon, _ONE, _ONE) for epsilon in epsilons]
    outputs = range(-3, largest + 4)
    noisy = [[geometric_law(n, a, outputs) for n in range(largest + 1)] for a in exponents]
    laws = [_law_of_sides(probability, n, noisy) for n in range(largest + 1)]
    losses = [worst_loss(*pair) for pair in pairwise(laws)]
    at = losses.index(max(losses))
    return ExactCheck(
        "secret sides, a noisy count each", claim, float(losses[at]), largest,
        f"{at} and {at + 1} records",
    )  # fmt: skip


def _claim_of_sides(probability: Fraction, epsilons: tuple[Fraction, Fraction]) -> float:
    with BudgetAccountant._unlimited().open_scope("sides") as scope:
        shares = {"first": probability, "second": 1 - probability}
        sides = scope.parallel_records("sides", shares)
        for name, epsilon in zip(shares, epsilons, strict=True):
            sides.side(name).request(GeometricNoise(epsilon, _ONE), role="count")
        return float(scope.loss.epsilon)


def _law_of_sides(probability: Fraction, n: int, noisy: list[list[Law]]) -> Law:
    """Law of both noisy counts of n records."""
    with decimal.localcontext(decimal.Context(prec=DIGITS)):
        total = [Decimal(0)] * len(noisy[0][0]) ** 2
        p = Decimal(probability.numerator) / Decimal(probability.denominator)
        for first in range(n + 1):
            share = math.comb(n, first) * p**first * (1 - p) ** (n - first)
            both = product_law(noisy[0][first], noisy[1][n - first])
            total = [sum_ + share * q for sum_, q in zip(total, both, strict=True)]
        return total


def check_residual_sums(n_classes: int) -> ExactCheck:
    """Largest sum that one record adds in a round, in L2 squared, over scores of every size.

    The claim is the sensitivity that the noise is made for, in units of a residual of 1.
    """
    places = (-1000.0, -3.0, -0.5, 0.0, 0.5, 3.0, 1000.0)
    n_columns = n_score_columns(n_classes)
    settings = RefittedSettings()
    lattice = ResidualLattice.of(n_columns, settings.clip, settings.norm_of_many)
    scores = np.array(list(product(places, repeat=n_columns)))
    worst, where = 0, ""
    for label in range(n_classes):
        residuals = np.empty(scores.shape, dtype=np.int32)
        labels = np.full(len(scores), label, dtype=np.uint8)
        lattice_residuals(scores, labels, STEPS, lattice.most, lattice.square, residuals)
        squares = (residuals.astype(np.int64) ** 2).sum(axis=1) + lattice.size**2
        if squares.max() > worst:
            worst = int(squares.max())
            where = f"a record of class {label} at scores {scores[squares.argmax()].tolist()}"
    claim = lattice.row.l2_squared
    return ExactCheck(
        f"residual sums of {n_classes} classes, L2 squared", float(claim / STEPS**2),
        worst / STEPS**2, len(scores) * n_classes, where,
    )  # fmt: skip
