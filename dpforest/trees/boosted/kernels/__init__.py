"""Kernels of the boosted forest."""
