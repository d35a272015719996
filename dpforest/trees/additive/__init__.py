"""The additive model: a curve for each feature, in turn or at once.

``plan`` lists what is asked for, ``learner`` asks; ``trees.curves`` has the curves.
"""
