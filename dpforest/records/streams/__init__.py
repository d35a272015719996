"""Readers of tables that do not fit in memory, and passes over them."""
