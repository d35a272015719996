"""The greedy tree: one deep tree whose splits are drawn by class counts.

It is the multinomial tree itself, grown as deep as the records allow: a split of every node is
drawn by how far apart it sends the classes, and counts of nodes and leaves carry noise. In pure
epsilon, or with a delta.
"""
