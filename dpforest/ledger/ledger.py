"""The ledger that people use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpforest.ledger.accountant import DataSetCeiling, LedgerAccountant, Reserve
from dpforest.ledger.administration import LedgerAdministration
from dpforest.ledger.campaign import (
    BatchPlan,
    Campaign,
    batch_plan,
    campaign_charge,
    priced_forests,
)
from dpforest.ledger.plan_files import Charge
from dpforest.ledger.pricing import charge_of
from dpforest.ledger.state import DataSetState
from dpforest.ledger.taking import ReserveAccountant, check_covers, taken_up
from dpforest.ledger.words import (
    checked_blocks,
    checked_purpose,
    checked_request,
    checked_reserve,
)


class BudgetLedger(LedgerAdministration):
    """One durable book of what is spent on data sets, over years, analysts and machines.

    Made by :meth:`open`. Each data set has a chain of entries; budget is reserved before a fit,
    counts as spent from then on, and never comes back once the fit has begun.

    Notes
    -----
    The ledger prevents mistakes, races and forgotten fits, and makes tampering visible. It cannot
    stop somebody who can read the table. A ledger may be used by several threads, is opened anew
    after a fork, and is never pickled.
    """

    # -- fits ---------------------------------------------------------------------------

    def accountant(
        self,
        data_set: str,
        *,
        purpose: str = "",
        blocks: Sequence[str] = (),
        request: str = "",
        reserve: str = "",
    ) -> LedgerAccountant:
        """An ``accountant`` for estimators, whose fits are charged to a data set.

        Parameters
        ----------
        data_set : str
        purpose : str
            What the fits are for; owners read it, and approve of it where they approve.
        blocks : sequence of str
            Blocks that are read, of a table that grows.
        request : str
            Id of an approved request, where the data set asks for approvals. It pays for one fit.
        reserve : str
            Id of a reserve that this actor made, such as by ``dpforest ledger reserve``. It pays
            for one fit, of the plan that it was made for. Purpose, blocks and request are the
            reserve's, and may be left out.

        Returns
        -------
        LedgerAccountant
            Nothing is charged until a fit is planned. Without ``reserve``, each fit has a reserve
            of its own.

        Raises
        ------
        ParameterError
            If there is no such reserve, it has begun, or it is of another actor or purpose.
        """
        facts = self._state(data_set).facts
        if held := checked_reserve(reserve):
            return ReserveAccountant(self, data_set, facts, held, purpose, blocks, request)
        return LedgerAccountant(self, data_set, facts, purpose, blocks, request)

    def plan(
        self,
        data_set: str,
        forests: Any,
        *,
        blocks: Sequence[str] = (),
        streamed: bool | None = None,
    ) -> BatchPlan:
        """Price some fits, one by one and together. Nothing is charged, and no record is read.

        Parameters
        ----------
        data_set : str
        forests : estimator, or sequence of estimators
            As they would be fitted; ``[forest] * 10`` is ten fits.
        blocks : sequence of str
            Blocks that would be read, of a table that grows.
        streamed : bool, optional
            Whether records will be read pass by pass. None asks each forest.
        """
        named, state = checked_blocks(blocks), self._state(data_set)
        prices = priced_forests(DataSetCeiling(data_set, state.facts), forests, streamed)
        return batch_plan(state, prices, self.actor, named)

    def charge(
        self,
        data_set: str,
        forests: Any,
        *,
        purpose: str = "",
        blocks: Sequence[str] = (),
        streamed: bool | None = None,
    ) -> Charge:
        """The charge of a fit, or of a campaign of several: the content of a request.

        Parameters
        ----------
        data_set : str
        forests : estimator, or sequence of estimators
            A sequence is a campaign.
        purpose : str
        blocks : sequence of str
        streamed : bool, optional
        """
        what, named, state = checked_purpose(purpose), checked_blocks(blocks), self._state(data_set)
        prices = priced_forests(DataSetCeiling(data_set, state.facts), forests, streamed)
        if len(prices) == 1:
            return charge_of(prices, state.facts.currency, what, named)
        return campaign_charge(state, prices, what, named)

    def campaign(
        self,
        data_set: str,
        forests: Any,
        *,
        purpose: str = "",
        blocks: Sequence[str] = (),
        streamed: bool | None = None,
        request: str = "",
        reserve: str = "",
    ) -> Campaign:
        """Reserve several fits together; their plans are fixed from now on.

        Parameters
        ----------
        data_set : str
        forests : sequence of estimators
        purpose : str
        blocks : sequence of str
        streamed : bool, optional
            Whether records will be read pass by pass. None asks each forest.
        request : str
            Id of an approved request of this very campaign.
        reserve : str
            Id of a reserve of this very campaign that this actor made, to be taken up.

        Returns
        -------
        Campaign
            To be given to each of the forests, or clones of them, as ``accountant``.

        Raises
        ------
        BudgetExceeded
            If they do not fit together, or under the reserve; nothing is charged.
        ParameterError
            If a plan waits for a released value, or the reserve is of something else.
        """
        what, named, asked, held = (
            checked_purpose(purpose), checked_blocks(blocks),
            checked_request(request), checked_reserve(reserve),
        )  # fmt: skip
        state = self._state(data_set)
        prices = priced_forests(DataSetCeiling(data_set, state.facts), forests, streamed)
        if held:
            made = taken_up(self, data_set, held, what, named, asked)
            check_covers(made.snapshot, prices, state.facts)
        else:
            charge = campaign_charge(state, prices, what, named)
            made = Reserve.made(self, data_set, charge, asked)
        return Campaign(self, data_set, state.facts, made)

    def _state(self, data_set: str) -> DataSetState:
        return self._end(data_set).state
