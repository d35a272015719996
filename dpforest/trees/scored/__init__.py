"""Scores of records as released steps have made them, shared by all learners that boost."""
