"""Checks of reports and plain models by somebody who did not write them."""
