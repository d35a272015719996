"""Kernels of the rules learner."""
