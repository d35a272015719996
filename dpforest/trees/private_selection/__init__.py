"""Private selection: a few learners on some of the records, and a paid choice among them."""
