"""Gain that a released model claims for itself; from released values, so it is free.

It is no estimate that can be trusted by itself: a model that is timid tells too little, and one
that followed noise too much. `forecast_range` says how far it is off.
"""

from __future__ import annotations

import numpy as np

from dpforest.decisions import softmax
from dpforest.estimators.claims import ClaimedGain
from dpforest.trees.base import ClassShares, ReleasedModel, TableFacts
from dpforest.trees.population import made_up

#: Made-up records that stand for those of the table.
N_RECORDS = 4000


def claimed_gain(model: ReleasedModel, facts: TableFacts) -> ClaimedGain | None:
    """Gain over the best constant that a model claims.

    Parameters
    ----------
    model : ReleasedModel
    facts : TableFacts

    Returns
    -------
    ClaimedGain or None
        None where nothing was counted in leaves, or sizes are not released.
    """
    found = _shares_of(model, facts)
    if found is None:
        return None
    shares, weights = found
    if facts.is_regression:
        mean = weights @ shares[:, 1]
        return ClaimedGain(float((weights @ (shares[:, 1] - mean) ** 2) ** 0.5), 1.0)
    largest = float((weights @ shares).max())
    return ClaimedGain(float(weights @ shares.max(axis=1)) - largest, 1.0 - largest)


def _shares_of(model: ReleasedModel, facts: TableFacts) -> ClassShares | None:
    """Class shares in leaves or of made-up records, and the share of all records in each."""
    found = model.leaf_shares()
    if found is not None or model.known_sizes() is None:
        return found
    codes = made_up(model, facts, N_RECORDS).table.codes
    shares = softmax(model.log_odds(np.ascontiguousarray(codes)))
    return shares, np.full(len(shares), 1.0 / len(shares))
