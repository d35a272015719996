"""The boosted forest: rounds of trees whose splits are drawn by what is left to explain.

Each round grows one tree for all classes on the residuals of those before it: a split of every
node is drawn by an exponential mechanism, sums of nodes and leaves carry noise ((epsilon, delta)
only).
"""
