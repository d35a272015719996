"""Plain models: a form of released models that needs no dpforest to be read."""
