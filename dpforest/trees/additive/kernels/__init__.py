"""Kernels of the additive model."""
