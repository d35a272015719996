"""Compiled draws: pure functions over arrays of scores or counts and random words."""
