"""Statements about other fits: a report knows only those of its own object and process."""

from __future__ import annotations

from dpforest.accounting.figures import figure_up
from dpforest.accounting.fits import FitListing
from dpforest.accounting.rationals import parse_amount

#: Stands before every count of fits. A pickled or stored object brings along what was known of it
#: in the process that it comes from; a process learns of nothing else from outside.
_KNOWS_ONLY = (
    "This report knows only of fits of this object and its clones, made in the process of this fit "
    "or brought along by a copy that was read back before it"
)
_KNOWS_NOT = (
    "It does not know of fits of other objects, of those in other processes (a search or "
    "cross-validation with n_jobs starts some), or of later ones; whatever they spend on the same "
    "records adds up with this one"
)


def known_fits(listing: FitListing) -> str:
    """Say in a report's first lines which other fits it knows of, and which it cannot know of.

    It never says that a fit was the first: no process can know that. Held by
    tests/estimators/report/test_known_fits.py.

    Parameters
    ----------
    listing : FitListing
        What was known when the reported fit was charged, itself included.
    """
    return f"{_KNOWS_ONLY}: {counted_fits(listing)}. {_KNOWS_NOT}."


def counted_fits(listing: FitListing) -> str:
    """The count alone, where the fits were charged, and what they spent together.

    A certified fit's epsilon goes with a delta: without it the sum would claim a pure epsilon.
    """
    if listing.n_fits == 1:
        return f"1 fit, this one, charged to {' and '.join(listing.charged)}"
    where = ", ".join(f"{n} charged to {place}" for place, n in listing.charged.items())
    delta = parse_amount(listing.delta)
    at_delta = f" with delta = {figure_up(delta)}" if delta else ""  # none beside a pure epsilon
    return (
        f"{listing.n_fits} fits ({where}), this one the last, which together may have spent "
        f"epsilon = {figure_up(parse_amount(listing.epsilon))}{at_delta}, "
        f"rho = {figure_up(parse_amount(listing.rho))} if they met the same records; "
        "this report speaks of the last one alone"
    )
