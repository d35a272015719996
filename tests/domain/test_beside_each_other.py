"""What is encoded beside each other, or once for cells alike, gets the codes it gets alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpforest import CategoricalFeature, Domain, NumericFeature
from dpforest.domain import codes as columns
from dpforest.domain import table as tables
from dpforest.domain.encoder import DomainEncoder
from dpforest.domain.series import _MANY_CELLS, repeated_texts

N = 300
FEATURES = [
    NumericFeature(name="a", lower=0, upper=1, integer=True),
    NumericFeature(name="b", lower=0, upper=1, integer=True),
    NumericFeature(name="c", lower=0, upper=1, integer=True, missing=True),
    NumericFeature(name="d", lower=-2, upper=5),
    NumericFeature(name="e", lower=0, upper=900),
    NumericFeature(name="f", lower=0, upper=1),
    NumericFeature(name="g", lower=0, upper=1, integer=True),
]


def numbers():
    """Numbers in and out of bounds, gaps and infinities, in several types."""
    generator = np.random.default_rng(0)
    table = {
        feature.name: generator.uniform(feature.lower - 1, feature.upper + 1, N)
        for feature in FEATURES
    }
    for place, odd in enumerate((np.nan, np.inf, -np.inf)):
        for name in "abcd":
            table[name][place] = odd
    table["e"] = np.r_[2**63 - 1, -(2**62) - 1, generator.integers(-5, 950, N - 2)]
    table["f"] = generator.random(N) < 0.5
    table["g"] = generator.integers(0, 2, N).astype(np.uint8)
    return pd.DataFrame(table)


TABLES = {
    "frame": lambda frame: frame,
    "other order, one more column": lambda frame: frame[list("gfedcba")].assign(z=1.0),
    "float32": lambda frame: frame.astype(np.float32),
    "array": lambda frame: frame.to_numpy(dtype=np.float64),
    "array by columns": lambda frame: np.asfortranarray(frame.to_numpy(dtype=np.float64)),
    "no records": lambda frame: frame[:0],
}


@pytest.mark.parametrize("at_once", [1, 1000, 2**15])
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("thresholds", ["cells", "lattice"])
def test_numbers_beside_each_other_get_the_codes_they_get_alone(
    kind, thresholds, at_once, monkeypatch
):
    table, encoder = TABLES[kind](numbers()), DomainEncoder(Domain(features=FEATURES), "drop",
                                                            thresholds)  # fmt: skip
    monkeypatch.setattr(columns, "_CELLS_AT_ONCE", at_once)
    assert encoder._codes._encode_numbers(
        encoder._open(table), np.empty((len(table), 7), encoder.dtype)
    )
    found, _ = encoder.encode_to_predict(table)
    monkeypatch.setattr(columns, "_FEW_RECORDS", 0)
    alone, _ = encoder.encode_to_predict(table)
    assert len(found) == len(table) and found.dtype == alone.dtype
    assert np.array_equal(found, alone)


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.assign(a=frame.a.astype(object)),
        lambda frame: frame.assign(a=frame.a.astype("Float64")),
        lambda frame: frame.assign(a=frame.a.astype(str)),
        lambda frame: frame.assign(a=frame.a.astype(np.longdouble)),
        lambda frame: frame.to_numpy().astype(np.complex128),
        lambda frame: frame.to_numpy().tolist(),
    ],
)
def test_other_tables_are_read_column_by_column(change):
    encoder = DomainEncoder(Domain(features=FEATURES))
    assert not encoder._codes._encode_numbers(encoder._open(change(numbers())), np.empty((N, 7)))


def test_numbers_of_categories_are_not_taken_for_features_of_a_grid():
    category = CategoricalFeature(name="a", categories=["5", "7"])
    encoder = DomainEncoder(Domain(features=[category, *FEATURES[1:]]))
    assert not encoder._codes._encode_numbers(encoder._open(numbers()), np.empty((N, 7)))


TEXTS = ["x", " x ", "y", None, "", "nan", "1", "1.0", "unheard of", "é"]


@pytest.mark.parametrize("kind", ["string", "large_string", "chunks", "pandas", "categories"])
@pytest.mark.parametrize("missing", [True, False])
def test_texts_told_apart_by_arrow_get_the_codes_of_texts_one_by_one(kind, missing):
    texts = np.random.default_rng(1).choice(np.array(TEXTS, dtype=object), _MANY_CELLS).tolist()
    if kind == "pandas":
        frame = pd.DataFrame({"a": pd.array(texts, dtype=pd.ArrowDtype(pa.string()))})
    elif kind == "categories":
        frame = pd.DataFrame({"a": pd.Categorical(texts)})
    elif kind == "chunks":
        parts = [pa.array(texts[:7]), pa.array(texts[7:500]), pa.array([], pa.string())]
        frame = pa.table({"a": pa.chunked_array([*parts, pa.array(texts[500:])])})
    else:
        frame = pa.table({"a": pa.array(texts, getattr(pa, kind)())})
    feature = CategoricalFeature(name="a", categories=["y", "x", "1", "é"], missing=missing)
    encoder = DomainEncoder(Domain(features=[feature]))
    rows = [[text] for text in texts]
    found, keep = encoder.encode_features(frame)
    alone, kept = encoder.encode_features(rows)
    assert np.array_equal(keep, kept)
    assert np.array_equal(found.codes[keep], alone.codes[keep])
    found, alone = (encoder.encode_to_predict(table)[0] for table in (frame, rows))
    assert np.array_equal(found, alone)


def test_texts_that_are_no_utf_8_are_read_as_bytes():
    bad = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"\xffy")]
    )
    values = pa.chunked_array([bad] + [pa.array(["y"] * _MANY_CELLS)])
    found = repeated_texts(values)
    assert found.values == [b"\xff", b"y", None]
    assert found.places.tolist() == [0, 1] + [1] * _MANY_CELLS


def test_few_texts_and_other_types_are_handed_on_one_by_one():
    assert repeated_texts(pa.array(["x", None])) == (["x", None], None)
    assert repeated_texts(pa.array([True] * _MANY_CELLS)).places is None


@pytest.mark.parametrize("kind", ["numbers", "array", "texts"])
def test_who_looks_on_is_told_of_every_column_once(kind, monkeypatch):
    told = []
    monkeypatch.setattr(tables, "observe_read", told.append)
    table, features = numbers(), FEATURES
    if kind == "array":
        table = table.to_numpy(dtype=np.float64)
    if kind == "texts":
        table = pd.DataFrame({"a": ["x"] * _MANY_CELLS, "b": ["y"] * _MANY_CELLS})
        features = [CategoricalFeature(name=name, categories=["x", "y"]) for name in "ab"]
    DomainEncoder(Domain(features=features)).encode_to_predict(table)
    assert told == [f"column {index}" for index in range(len(features))]
