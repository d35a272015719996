"""The additive model: a curve for each feature, corrected in turn by what is left to explain.

Noisy sums of clipped residuals over the bins of one feature at a time make the posterior mean of
that feature's curve; several cycles go through all features. ``plan`` lists what is asked for,
``learner`` asks.
"""
