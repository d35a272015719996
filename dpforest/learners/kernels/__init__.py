"""Compiled kernels that several learners share: numpy and numba only."""
