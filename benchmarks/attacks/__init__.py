"""Attacks on forests: reconstruction of the training table, and membership inference."""
