"""Compiled loops over records and over the bytes of files."""
