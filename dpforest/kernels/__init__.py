"""Compilation and storage of kernels."""
