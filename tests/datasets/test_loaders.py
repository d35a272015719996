"""Packaged tables: shapes, both forms give the same codes, domains are declared with a source."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from dpforest.datasets import load_adult, load_mammographic_masses, load_vertebral
from dpforest.domain import DomainEncoder
from dpforest.exceptions import MissingExtraError

SETS = [
    (load_adult, (48842, 14), [37155, 11687], 6465),
    (load_mammographic_masses, (961, 5), [516, 445], 162),
    (load_vertebral, (310, 6), [60, 100, 150], 0),
]


@pytest.mark.parametrize(("load", "shape", "class_counts", "n_missing"), SETS)
def test_arrays(load, shape, class_counts, n_missing):
    bunch = load()
    assert bunch.data.shape == shape
    assert bunch.data.dtype == np.float64
    assert np.isnan(bunch.data).sum() == n_missing
    assert bunch.frame is None
    assert len(bunch.feature_names) == shape[1]
    assert bunch.target_names.tolist() == list(bunch.domain.classes.labels)
    assert "CC BY 4.0" in bunch.DESCR
    assert "doi.org" in bunch.DESCR
    table = DomainEncoder(bunch.domain).encode(bunch.data, bunch.target)
    assert np.bincount(table.labels).tolist() == class_counts


@pytest.mark.parametrize(("load", "shape", "class_counts", "n_missing"), SETS)
def test_frames_have_the_same_codes(load, shape, class_counts, n_missing):
    pytest.importorskip("pandas")
    bunch, (data, target) = load(as_frame=True), load(return_X_y=True)
    assert bunch.frame.shape == (shape[0], shape[1] + 1)
    assert bunch.data.isna().to_numpy().sum() == n_missing
    encoder = DomainEncoder(bunch.domain, invalid="raise")
    framed = encoder.encode(bunch.data, bunch.target)
    plain = encoder.encode(data, target)
    assert np.array_equal(framed.matrix.codes, plain.matrix.codes)
    assert np.array_equal(framed.labels, plain.labels)


@pytest.mark.parametrize("load", [entry[0] for entry in SETS])
def test_domains_are_declared(load):
    domain = load().domain
    assert domain.is_declared
    for entry in (*domain.features, domain.classes):
        assert entry.source
        assert entry.declared_by
    assert domain.approximate_rows % 100 == 0


def test_no_category_of_adult_is_unknown():
    bunch = load_adult()
    encoder = DomainEncoder(bunch.domain)
    codes = encoder.encode_features(bunch.data)[0].codes
    for index, feature in enumerate(bunch.domain.features):
        if feature.kind == "categorical":
            assert not (codes[:, index] == len(feature.categories)).any()
    assert bunch.domain.approximate_rows == 45000


def test_frames_need_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert load_vertebral().data.shape == (310, 6)
    with pytest.raises(MissingExtraError, match="pandas") as caught:
        load_vertebral(as_frame=True)
    assert caught.value.package == "pandas"
