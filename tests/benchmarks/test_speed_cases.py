"""Fits on codes, as the benchmark of speed takes them: with today's way of reading records."""

from __future__ import annotations

import numpy as np
import pytest
import speed
from common import speed_cases as cases

TABLE = cases.synthetic(20_000).part(slice(0, 20_000), slice(0, 14))


@pytest.mark.parametrize("name", speed.FITS)
@pytest.mark.parametrize("threads", [1, 2])
def test_fits_are_of_the_codes_whatever_is_handed_in(name, threads):
    fit = speed.FITS[name](TABLE)
    model = fit.make(threads).fit(TABLE.codes[:1], TABLE.labels[:1])
    # Of one record nothing could be learnt.
    right = np.mean(model.predict(TABLE.codes.astype(float)) == TABLE.labels)
    assert right > np.bincount(TABLE.labels).max() / TABLE.labels.size + 0.02
