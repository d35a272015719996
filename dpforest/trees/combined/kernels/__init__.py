"""Compiled loops of the combined learner; numpy and numba only."""
