"""The boosted forest: rounds of trees whose splits are drawn by what is left to explain.

Each round grows one tree for all classes on the residuals of those before it: a split of every
node is drawn by an exponential mechanism, sums of nodes and leaves carry noise. With a delta
there are many rounds; in pure epsilon few, and of more than two classes a first tree is drawn by
class counts.
"""
