"""Charges: to a data set of a ledger, or a budget that ends with the process."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpforest.accounting.figures import figure_charged, figure_down, figure_up
from dpforest.accounting.fits import charged_to
from dpforest.command_line.answers import Price, Written
from dpforest.exceptions import (
    ApprovalMissing,
    BudgetExceeded,
    LedgerFrozen,
    ParameterError,
    printable,
)
from dpforest.ledger.charges import less_by
from dpforest.ledger.commands import login
from dpforest.ledger.ledger import BudgetLedger
from dpforest.ledger.opening import ledger_files
from dpforest.ledger.words import several
from dpforest.signatures import Signer
from dpforest.writing import write_text

#: Said where no ledger is.
NO_LEDGER = (
    "No ledger is named, so nothing but the report remembers this fit: further fits on the same "
    "records add up."
)


class BudgetSource:
    """Ledger and data set that a fit is charged to, or none, and its price there."""

    def __init__(self, ledger: BudgetLedger | None, chosen: argparse.Namespace) -> None:
        self._ledger, self._chosen = ledger, chosen
        self._why_frozen = ""

    def price(self, forest: Any, streamed: bool) -> Price:
        """Price of a fit; nothing is charged and no record is read."""
        plan = forest.plan(streamed=streamed)
        own = {"epsilon": plan.epsilon, "delta": plan.delta}
        if self._ledger is None:
            return Price(**own, charged_to=charged_to(None))
        data_set, blocks = self._chosen.data_set, self._chosen.block
        found = self._ledger.plan(data_set, forest, blocks=blocks, streamed=streamed)
        self._why_frozen = found.why_frozen
        return Price(
            **own,
            charged_to=f"data set {data_set!r} of {printable(self._ledger.url)}",
            currency="epsilon" if found.currency == "epsilon" else "rho",
            amount=figure_charged(found.total),
            remaining=figure_down(found.remaining),
            # A reserve that stands has paid already.
            fits=bool(self._chosen.reserve) or (found.fits == 1 and not found.why_frozen),
            approvals=found.approvals,
        )

    def check(self, price: Price) -> None:
        """Refuse a fit that its ledger would not grant, before any record is read.

        Raises
        ------
        BudgetExceeded, ApprovalMissing, LedgerFrozen
            As the fit itself would.
        """
        chosen, ledger = self._chosen, self._ledger
        if ledger is None or chosen.reserve:
            return
        if self._why_frozen:
            raise LedgerFrozen(
                f"it is frozen ({self._why_frozen})", "Its owners recover it: dpforest ledger "
                "recover", ledger.url, chosen.data_set,
            )  # fmt: skip
        if not price.fits:
            asked, left = f"{price.currency} {price.amount}", f"{price.currency} {price.remaining}"
            raise BudgetExceeded(
                asked, left, price.charged_to, repair=_less_than(price, chosen.delta)
            )
        if price.approvals and not chosen.request:
            raise ApprovalMissing(
                f"a fit needs {several(price.approvals, 'approval')}",
                "Write its charge with `dpforest plan --charge`, ask with `dpforest ledger "
                "request`, and name what was approved with --request",
                ledger.url, chosen.data_set,
            )  # fmt: skip

    def accountant(self) -> Any:
        """Accountant for the estimator."""
        if self._ledger is None:
            return None
        chosen = self._chosen
        return self._ledger.accountant(
            chosen.data_set,
            purpose=chosen.purpose,
            blocks=chosen.block,
            request=chosen.request,
            reserve=chosen.reserve,
        )

    def write_charge(self, forest: Any, streamed: bool, path: Path, force: bool) -> Written:
        """Write the charge as the plan file of ``dpforest ledger request`` and ``reserve``."""
        if self._ledger is None:
            raise ParameterError(
                "--charge", str(path), "is of a ledger, and none is named",
                "Name it with --ledger and --data-set",
            )  # fmt: skip
        charge = self._ledger.charge(
            self._chosen.data_set, forest, purpose=self._chosen.purpose,
            blocks=self._chosen.block, streamed=streamed,
        )  # fmt: skip
        write_text(path, charge.to_json(), force=force, option="--charge")
        return Written(what="charge", path=str(path))


def read_for_price(chosen: argparse.Namespace) -> list[str | Path | None]:
    """Files that a plan and its price are read from; what a ledger has beside it may come yet."""
    return [chosen.domain, chosen.key, *ledger_files(chosen.ledger)]


@contextmanager
def opened_budget_source(chosen: argparse.Namespace) -> Iterator[BudgetSource]:
    """Ledger and data set of the options, open."""
    if bool(chosen.ledger) != bool(chosen.data_set):
        missing = "--data-set" if chosen.ledger else "--ledger"
        raise ParameterError(
            missing, None, "must be given: a ledger and a data set of it belong together",
            'Name both; --ledger "" charges none, where DPFOREST_LEDGER names one',
        )  # fmt: skip
    with opened_ledger(chosen) as ledger:
        yield BudgetSource(ledger, chosen)


@contextmanager
def opened_ledger(chosen: argparse.Namespace) -> Iterator[BudgetLedger | None]:
    """The ledger that options name; None where they name none."""
    if not chosen.ledger:
        yield None
        return
    signer = Signer.read(chosen.key) if chosen.key else None
    with BudgetLedger.open(chosen.ledger, actor=chosen.actor or login(), signer=signer) as ledger:
        yield ledger


def _less_than(price: Price, delta: float | str) -> str:
    """A way to go on where the price of a fit with this delta does not fit."""
    if price.currency != "rho" or not delta or price.amount is None:
        return "Ask for less"
    part = float(price.remaining or 0) / float(price.amount)
    return less_by(price.epsilon, float(delta), part)


def price_words(price: Price) -> str:
    """Price in lines."""
    own = f"epsilon = {figure_up(price.epsilon)}, delta = {figure_up(price.delta)}"
    if price.currency is None:
        return f"price: {own}, charged to {price.charged_to}\n{NO_LEDGER}"
    lines = [
        f"price: {price.currency} = {price.amount} ({own} by itself), charged to "
        f"{price.charged_to}",
        f"  {price.currency} = {price.remaining} remains there before it",
    ]
    if not price.fits:
        lines.append("  it would not be granted")
    if price.approvals:
        lines.append(f"  it needs {several(price.approvals, 'approval')}")
    return "\n".join(lines)


def spent_words(price: Price) -> str:
    """Words for a fit that was charged and left no model."""
    own = f"epsilon = {figure_up(price.epsilon)}, delta = {figure_up(price.delta)}"
    amount = own if price.currency is None else f"{price.currency} = {price.amount} ({own})"
    return f"no model was kept. What the fit cost stays spent: {amount}, of {price.charged_to}"
