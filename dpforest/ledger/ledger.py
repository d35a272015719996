"""The ledger that people use."""

from __future__ import annotations

from dpforest.ledger.desk import LedgerDesk


class BudgetLedger(LedgerDesk):
    """One durable book of what is spent on data sets, over years, analysts and machines.

    Made by :meth:`open`. Each data set has a chain of entries; budget is reserved before a fit,
    counts as spent from then on, and never comes back once the fit has begun.

    Notes
    -----
    The ledger prevents mistakes, races and forgotten fits, and makes tampering visible. It cannot
    stop somebody who can read the table. A ledger may be used by several threads, is opened anew
    after a fork, and is never pickled.
    """
