"""Places among edges are those that numpy finds."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest.domain.kernels.places import find_places, padded_edges


@pytest.mark.parametrize("n_edges", [0, 1, 2, 3, 7, 8, 100, 255, 256, 65_535])
@pytest.mark.parametrize("compiled", [True, False])
def test_places_are_those_of_searchsorted(n_edges, compiled):
    generator = np.random.default_rng(n_edges)
    edges = np.unique(generator.normal(size=n_edges))
    # On edges, a step to either side of them, beyond all, and signed zeros.
    beside = [np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf)]
    odd = np.array([-np.inf, np.inf, 0.0, -0.0, 1e300, -1e300])
    values = np.concatenate([odd, *(part[:200] for part in beside), generator.normal(size=600)])
    out = np.empty(values.size, dtype=np.int64)
    find = find_places if compiled else find_places.py_func
    find(padded_edges(edges), values, out)
    assert np.array_equal(out, np.searchsorted(edges, values, side="left"))


def test_infinities_fill_up_to_the_next_power_of_two():
    assert [padded_edges(np.zeros(n)).size for n in (0, 1, 2, 3, 4)] == [0, 1, 3, 3, 7]
