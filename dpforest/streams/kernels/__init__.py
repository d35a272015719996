"""Compiled loops over the bytes of files."""
