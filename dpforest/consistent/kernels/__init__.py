"""Compiled loops of the forests that are not private; pure functions over arrays."""
