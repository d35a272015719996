"""Mixtures: the cost of meeting one of several sides, each by a record's own secret draw."""

from __future__ import annotations

from fractions import Fraction

from dpforest.accounting.losses import NO_LOSS, PrivacyLoss
from dpforest.accounting.rationals import mixture_epsilon


def mixed(weights: tuple[Fraction, ...], losses: list[PrivacyLoss], adaptive: bool) -> PrivacyLoss:
    """Loss of a record that meets side j with probability ``weights[j]``, else none."""
    worst = NO_LOSS
    for loss in losses:
        worst = worst.maximum(loss)
    if worst == NO_LOSS:
        return NO_LOSS
    epsilon = mixture_epsilon(weights, [loss.epsilon for loss in losses])
    rho = worst.rho
    if not adaptive and not worst.delta:
        rho = min(rho, epsilon * epsilon / 2)
    # With one side a failure needs the record to enter it. With several the larger delta may
    # sit on the likelier posterior side, so only the maximum is sure.
    delta = weights[0] * worst.delta if len(weights) == 1 else worst.delta
    return PrivacyLoss(epsilon, rho, delta)
