"""Curves at once: all features' curves are the minimum of one noisy objective.

Noise is paid once, however many steps of Newton's method find the minimum; so in pure epsilon a few
hundred records teach curves that sums, feature by feature, would drown in noise. ``plan`` lists
what is asked for, ``training`` asks.
"""
