"""Milliseconds that a ledger takes beside a fit: reserve, start and settle."""

from __future__ import annotations

import statistics
import time
from fractions import Fraction
from typing import Any

from common.ledger_kills import ACTOR, Fit, go_through, register
from dpforest.ledger import BudgetLedger


def times(url: str, before: int, fits: int) -> dict[str, Any]:
    """Time fits on a new ledger, after so many other fits of its data set."""
    with BudgetLedger.open(url, actor=ACTOR, create=True) as ledger:
        register(ledger, "claims")
        for _ in range(before):
            _fit(ledger)
        found = sorted(_fit(ledger) for _ in range(fits))
    return {
        "before": before,
        "fits": fits,
        "median": statistics.median(found),
        "most_of": found[int(0.95 * fits)],
        "longest": found[-1],
    }


def _fit(ledger: BudgetLedger) -> float:
    """Milliseconds of one fit's three transactions."""
    fit = Fit("claims", Fraction(1, 3))
    began = time.perf_counter()
    go_through(ledger, fit, lambda text: None)
    return 1000 * (time.perf_counter() - began)
