"""Compiled loops over scores and residuals; numpy and numba only."""
