"""The ledger: one durable book of what is spent on a data set over its life."""
