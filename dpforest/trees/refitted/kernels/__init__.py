"""Compiled loops of the refitted forest; numpy and numba only."""
