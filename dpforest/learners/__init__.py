"""Learners: ways to turn a coded table and a budget into a released model."""
