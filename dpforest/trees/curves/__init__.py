"""Curves of single features, which additive models are and some forests begin with.

``in_turn`` asks for noisy sums of one feature after the other, ``at_once`` for one noisy minimum of
all of them. ``choice`` says which of both a plan takes, from public facts alone.
"""
