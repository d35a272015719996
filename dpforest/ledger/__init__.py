"""The ledger: what is spent on a data set over its life."""
