"""Random trees that are public, and the bins of numbers that they split."""
