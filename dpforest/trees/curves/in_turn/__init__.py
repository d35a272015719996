"""Curves in turn: each is corrected by what is left to explain, feature by feature.

Noisy sums of clipped residuals over the bins of one feature at a time make the posterior mean of
that feature's curve; several cycles go through all features. ``plan`` lists what is asked for,
``training`` asks.
"""
