"""Kernels of curves in turn."""
