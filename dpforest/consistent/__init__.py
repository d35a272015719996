"""Consistent forests, and those they are compared with, as their papers have them. Not private."""
