"""Kernels for trees of any learner."""
