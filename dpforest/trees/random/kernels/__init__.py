"""Compiled loops over random trees; numpy and numba only."""
