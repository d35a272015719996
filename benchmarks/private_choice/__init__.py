"""An experiment: a few learners on some of the records, and a paid choice among them.

It uses the package's parts as a caller would. It never paid (docs/private_forest.md has the
figures), so no estimator offers it.
"""
