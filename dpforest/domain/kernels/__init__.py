"""Compiled loops over the values of a column."""
