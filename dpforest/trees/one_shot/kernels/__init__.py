"""Compiled loops of the one-shot forest; numpy and numba only."""
