"""A ledger with everything that its page may show."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def filled_ledger(helpers: Any, path: Path) -> Any:
    """Data sets with approvals, a campaign, blocks, voids, write-offs and quotas."""
    olga = helpers.ledger_at(path)
    helpers.registered(olga, "claims", unit="a person", owners=["olga", "oscar", "otto"])
    _approved(helpers, olga, path)
    _others(helpers, olga)
    _blocks(helpers, olga)
    helpers.registered(olga, "pure", currency="epsilon", epsilon="2")
    olga.reserve("pure", helpers.charge("1/3", "epsilon", purpose="a third"))
    return olga


def _approved(helpers: Any, olga: Any, path: Path) -> None:
    olga.policy("claims", approvals=2, quotas={"ana": "1/2"})
    ana, oscar, otto = (helpers.ledger_at(path, actor=name) for name in ("ana", "oscar", "otto"))
    charge = helpers.charge("1/8", purpose="churn")
    asked = ana.request("claims", charge)
    for owner in (oscar, otto):
        owner.approve("claims", asked.id)
    reserve = ana.reserve("claims", charge, request=asked.id)
    ana.start("claims", reserve.id)
    more = ana.request("claims", helpers.charge("1/2", purpose="asks for more"))
    oscar.approve("claims", more.id)
    ana.settle("claims", reserve.id, guarantee="holds")
    for other in (ana, oscar, otto):
        other.close()


def _others(helpers: Any, olga: Any) -> None:
    helpers.registered(olga, "sweeps")
    sweep = olga.reserve("sweeps", helpers.charge("1/4", parts=4, purpose="a sweep"))
    for part, outcome in enumerate(("done", "failed", None)):
        olga.start("sweeps", sweep.id, part)
        if outcome:
            olga.settle("sweeps", sweep.id, part, outcome, guarantee="holds")
    mistake = olga.reserve("sweeps", helpers.charge("1/2", purpose="a mistake"))
    olga.void("sweeps", mistake.id, reason="the wrong plan")
    olga.reserve("sweeps", helpers.charge("1/16", purpose="for later"))
    olga.charge_elsewhere("sweeps", 2**122, "before the ledger", write_off=True)


def _blocks(helpers: Any, olga: Any) -> None:
    helpers.registered(olga, "visits", max_blocks_per_unit=2)
    for name in ("2025", "2026"):
        olga.add_block("visits", name, cap="1/2")
    olga.reserve("visits", helpers.charge("1/4", blocks=("2025", "2026")))
