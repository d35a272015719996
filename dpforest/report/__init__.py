"""Reports of what was spent and promised: their data, words and pages."""
