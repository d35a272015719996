"""Small holes that benchmarks/door.py found, one test each."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpforest.domain import CategoricalFeature, Domain, DomainEncoder, NumericFeature
from dpforest.domain.values import meaning_of
from dpforest.exceptions import ParameterTypeError

PARTS = (0.0, -0.0, 1.0, math.nan, math.inf, -math.inf)
ENCODER = DomainEncoder(
    Domain(
        features=[
            NumericFeature(name="v", lower=0, upper=2, missing=True),
            CategoricalFeature(name="k", categories=("a", "b"), missing=True),
        ],
        classes=(0, 1),
    )
)


@pytest.mark.parametrize("real", PARTS)
@pytest.mark.parametrize("imaginary", PARTS)
def test_a_complex_number_means_the_same_as_text_and_in_a_pandas_column(real, imaginary):
    number = complex(real, imaginary)
    assert meaning_of(str(number)) == meaning_of(number)
    # Beside an infinite imaginary part pandas loses the real one.
    pandas = pytest.importorskip("pandas")
    assert meaning_of(pandas.Series([number]).tolist()[0]) == meaning_of(number)
    held = np.array([number, 1]).tolist()[0]
    assert meaning_of(held) == meaning_of(number)


def test_no_label_of_a_row_makes_labels_sparse():
    pandas = pytest.importorskip("pandas")
    X = [[1, "a"], [2, "b"]]
    plain, named = pandas.Series([0, 1]), pandas.Series([0, 1], index=["x", "tocsr"])
    one, two = ENCODER.encode(X, plain), ENCODER.encode(X, named)
    assert np.array_equal(one.labels, two.labels)
    frame = pandas.DataFrame([[1, "a", 0]], columns=["v", "k", "tocsr"])
    assert ENCODER.encode_features(frame)[1].all()


class Rows:
    """A sequence that is registered as none, as columns of other libraries are."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return self.rows[place]


def test_a_sequence_of_any_class_is_read_row_by_row():
    encoder = DomainEncoder(Domain(features={"x": (0, 9), "c": ["a", "b"]}, classes=["no", "yes"]))
    rows, labels = [[1, "a"], [2, "b"]], ["no", "yes"]
    plain = encoder.encode(Rows(rows), Rows(labels))
    more = encoder.encode(Rows([*rows, [1]]), Rows([*labels, ["no"]]))
    assert np.array_equal(plain.matrix.codes, encoder.encode(rows, labels).matrix.codes)
    assert np.array_equal(plain.matrix.codes, more.matrix.codes)
    assert np.array_equal(plain.labels, more.labels)


class Unsteady(Rows):
    """Rows that are made when somebody asks for them, of which one cannot be made."""

    error = ValueError

    def __getitem__(self, place):
        if place == 1:
            raise self.error(f"secret 4711 in row {place}")
        return self.rows[place]


class Raising(list):
    """A list whose methods are its own."""

    def __iter__(self):
        raise KeyError("secret 4711")


class Odd(type):
    """A class that raises where it is asked for what it can do."""

    def __getattr__(cls, name):
        raise RuntimeError(f"secret 4711: {name}")


@pytest.mark.parametrize("error", [ValueError, MemoryError, "panic"])
def test_what_an_objects_own_code_raises_is_told_without_its_words(error, monkeypatch):
    if error == "panic":
        error = type("PanicException", (BaseException,), {})
    monkeypatch.setattr(Unsteady, "error", error)
    rows, labels = [[1, "a"], [2, "b"]], [0, 1]
    odd = Odd("Odd", (), {})()
    for table, given in (
        (Unsteady(rows), labels), (Raising(rows), labels), (odd, labels),
        (rows, Unsteady(labels)), (rows, Raising(labels)), (rows, odd),
    ):  # fmt: skip
        for read in (ENCODER.check, ENCODER.encode):
            with pytest.raises(ParameterTypeError, match="its own code raised") as caught:
                read(table, given)
            assert "4711" not in str(caught.value)
            assert caught.value.__context__ is caught.value.__cause__ is None
    for table in (Unsteady(rows), Raising(rows), odd):
        with pytest.raises(ParameterTypeError, match="its own code raised"):
            ENCODER.encode_to_predict(table)


def test_a_reader_that_is_interrupted_ends():
    class Slow(Unsteady):
        error = KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ENCODER.check(Slow([[1, "a"], [2, "b"]]))


class AsksNothing:
    """Refuses to be asked for any attribute."""

    def __getattribute__(self, name):
        raise RuntimeError("secret")


def objects_with(odd):
    cells = np.empty(4, dtype=object)
    cells[:3] = [1, 2.5, 9]
    cells[3] = odd
    return np.ma.masked_array(cells, [False, True, False, False])


def test_masked_labels_are_not_asked_for_attributes():
    domain = Domain(features={"a": (0, 9)}, target=(0, 9))
    encoder = DomainEncoder(domain, task="regression")
    table = [[1], [2], [3], [4]]
    encoder.check(table, objects_with(AsksNothing()))
    for odd, kept in ((AsksNothing(), 2), (3, 3)):
        assert len(encoder.encode(table, objects_with(odd)).matrix.codes) == kept


def test_masked_rows_are_not_asked_for_attributes():
    names = list("abcd")
    domain = Domain(features=dict.fromkeys(names, (0, 9)), classes=["x", "y"])
    encoder = DomainEncoder(domain)
    rows = [objects_with(AsksNothing()), [1, 2, 3, 4]]
    encoder.check(rows, ["x", "y"])
    # The row has a gap and a cell without a meaning, so it is left out.
    assert len(encoder.encode(rows, ["x", "y"]).matrix.codes) == 1
