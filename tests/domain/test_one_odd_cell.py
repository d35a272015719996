"""One odd cell in a column of a table that is declared: what it did, and must not do again.

Each case was a fault: the odd cell changed what all others meant, or ended the fit.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpforest import Domain, PrivateForestClassifier
from dpforest.domain import DomainEncoder
from dpforest.exceptions import DomainError, InvalidRecordError, ParameterError, ParameterTypeError

DOMAIN = Domain(
    features={"x": (0, 10), "kind": ["1", "4", "9"], "word": ["a", "b"]},
    classes=[1, 4, 9],
    target=(0, 10),
)
X = {"x": [1.0, 4.0, 9.0], "kind": [1.0, 4.0, 9.0], "word": ["a", "b", "a"]}
NAMES = list(DOMAIN.feature_names)


def encode(table, y, task="classification"):
    """Rows of codes and outputs of the records that are kept."""
    encoded = DomainEncoder(DOMAIN, task=task).encode(table, y)
    outputs = encoded.labels if task == "classification" else encoded.targets
    return list(zip(map(tuple, encoded.matrix.codes.tolist()), outputs.tolist(), strict=True))


def both_tasks(table, y):
    return [encode(table, y, task) for task in ("classification", "regression")]


def pandas_table(columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def polars_table(columns):
    return pytest.importorskip("polars").DataFrame(columns, strict=False)


def arrays(columns):
    """All columns in one array, by position, without the words."""
    made = np.column_stack([columns["x"], columns["kind"]])
    return np.concatenate([made, np.zeros((len(made), 1))], axis=1)


def plain(odd=None, column=None):
    """The table with one record more, its odd cell in a column."""
    table = {name: [*values, "a" if name == "word" else 1.0] for name, values in X.items()}
    if column is not None:
        table[column] = [*X[column], odd]
    return table


LABELS = [1.0, 4.0, 9.0]


@pytest.mark.parametrize("column", ["x", "kind"])
@pytest.mark.parametrize("build", [pandas_table, arrays])
def test_a_complex_cell_in_a_feature(build, column):
    alone = both_tasks(build(X), LABELS)
    for odd, kept in ((1j, column == "kind"), (2 + 0j, True), (complex(math.nan, 0), False)):
        table = build(plain(odd, column))
        found = both_tasks(table, [*LABELS, 1.0])
        assert [rows[:3] for rows in found] == alone
        assert [len(rows) for rows in found] == [3 + kept] * 2
    table = pandas_table({"x": [-1.0, 4.0]})
    table["x"] = table["x"].apply(lambda value: value**0.5)
    assert table["x"].dtype == complex
    encoder = DomainEncoder(Domain(features={"x": (0, 2)}, classes=[0, 1]))
    assert encoder.encode(table, [0, 1]).matrix.codes.tolist() == [[255]]


@pytest.mark.parametrize("build", [np.array, lambda y: pytest.importorskip("pandas").Series(y)])
def test_a_complex_label_or_target(build):
    table, alone = pandas_table(X), both_tasks(pandas_table(X), LABELS)
    more = pandas_table(plain())
    for odd in (1j, complex(math.nan, 0)):
        assert both_tasks(more, build([*LABELS, odd])) == alone
    assert encode(table, build([1 + 0j, 4, 9])) == alone[0]


@pytest.mark.parametrize(
    "odd", [{"k": 1}, b"\xff", [1.0], (1,), object(), 1j, np.datetime64("2020")]
)
@pytest.mark.parametrize("column", NAMES)
def test_a_cell_of_another_kind_in_a_frame(column, odd):
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    alone = both_tasks(pandas_table(X), LABELS)
    values = np.empty(4, dtype=object)
    values[:3], values[3] = X[column], odd
    for frame in (pl.DataFrame, pd.DataFrame):
        kind = pl.Object if frame is pl.DataFrame else object
        made = pl.Series if frame is pl.DataFrame else pd.Series
        series = made(list(values), dtype=kind)
        found = both_tasks(frame({**plain(), column: series}), [*LABELS, 1])
        assert [rows[:3] for rows in found] == alone
        # Unknown in a categorical feature, no number in a numeric one.
        assert [len(rows) for rows in found] == [3 if column == "x" else 4] * 2


def test_a_cell_that_gives_a_polars_column_another_type():
    pl = pytest.importorskip("polars")
    alone = both_tasks(polars_table(X), LABELS)
    for odd, kind in ((b"\xff", pl.Binary), (b"a", pl.Binary), ({"k": 1}, pl.String)):
        table = polars_table(plain(odd, "word"))
        assert table["word"].dtype == kind
        assert [rows[:3] for rows in both_tasks(table, [*LABELS, 1])] == alone
    # Here polars itself makes the others missing: the fit does not fail, but others change.
    for odd, kind in (({"k": 1}, pl.Struct), ([1], pl.Object)):
        table = polars_table(plain(odd, "x"))
        assert table["x"].dtype == kind
        DomainEncoder(DOMAIN).check(table, [*LABELS, 1])
        assert len(both_tasks(table, [*LABELS, 1])[0]) == (0 if kind == pl.Struct else 3)
    for y in (["1", "4", "9", b"\xff"], ["1", "4", "9", b"4", "x"][:4]):
        assert encode(polars_table(plain()), pl.Series(y, strict=False))[:3] == alone[0]


@pytest.mark.parametrize("odd", [{"k": 1}, b"\xff", 1j, {}])
def test_a_label_of_another_kind_in_polars(odd):
    pl = pytest.importorskip("polars")
    values = np.empty(4, dtype=object)
    values[:3], values[3] = LABELS, odd
    found = both_tasks(pandas_table(plain()), pl.Series(list(values), dtype=pl.Object))
    assert found == both_tasks(pandas_table(X), LABELS)


def test_a_masked_cell_is_missing():
    alone = both_tasks(arrays(X), LABELS)
    mask = np.zeros((4, 3), dtype=bool)
    for column in (0, 1):
        mask[3, column] = True
        table = np.ma.array(arrays(plain()), mask=mask)
        assert both_tasks(table, [*LABELS, 1]) == alone
    labels = np.ma.array([*LABELS, 4.0], mask=[False] * 3 + [True])
    for y in (labels, labels.astype(int), labels.astype(str), labels.astype(object), list(labels)):
        assert both_tasks(arrays(plain()), y) == alone


def test_rows_of_another_width_or_none_are_dropped():
    rows = [list(row) for row in zip(*X.values(), strict=True)]
    alone = both_tasks(rows, LABELS)
    for odd in ([1.0, 1.0], [1.0, 1.0, "a", 1.0], [], 7, None, "abc", {"other": 1}, [[1, 1, "a"]]):
        for place in (0, 3):
            more, y = list(rows), list(LABELS)
            more.insert(place, odd), y.insert(place, 1)
            for table in (more, tuple(more)):
                DomainEncoder(DOMAIN).check(table, y)
                assert both_tasks(table, y) == alone
            with pytest.raises(
                InvalidRecordError, match="a row is not a list with one value for each"
            ):
                DomainEncoder(DOMAIN, invalid="raise").encode(more, y)
            with pytest.raises(ParameterError, match="Expected 2D|is expecting 3 features") as said:
                DomainEncoder(DOMAIN).encode_to_predict(more)
            assert "abc" not in str(said.value)
    # A record that is whole, in any form that a row may have.
    pd = pytest.importorskip("pandas")
    for kind in (tuple, lambda row: np.array(row, dtype=object), pd.Series):
        assert both_tasks([*rows[:2], kind(rows[2])], LABELS) == alone
    ragged = np.empty(4, dtype=object)
    ragged[:] = [*rows, [1]]
    assert both_tasks(ragged, [*LABELS, 1]) == alone


def test_a_nested_cell_does_not_change_the_shape():
    rows = [list(row) for row in zip(*X.values(), strict=True)]
    alone = both_tasks(rows, LABELS)
    for odd in ([1], [1, 2, 3], np.zeros((2, 2)), (1,)):
        assert both_tasks([*rows, [odd, 1, "a"]], [*LABELS, 1]) == alone
    more = [*rows, [1, 1, "a"]]
    for odd in ([], [1, 2, 3], np.zeros((2, 2)), [[1]]):
        assert both_tasks(more, [*LABELS, odd]) == alone
    for row_of_one in ([1], (1,)):  # its cell, and the others as they were
        assert both_tasks(more, [*LABELS, row_of_one]) == both_tasks(more, [*LABELS, 1])
    # All of them, too: a plain one more must not decide whether the fit is refused.
    nested = [[[1], [2], [3]]] * 2
    for table in (nested, np.array(nested, dtype=object)):
        assert both_tasks(table, [1, 1]) == [[], []]
    assert both_tasks([[1, 1, "a"]] * 2, [[1, 2], [3, 4]]) == [[], []]


def test_the_names_of_a_domain_are_told_apart_as_doubles():
    """Integers beside a gap become doubles, so that no two of them may be one double."""
    big = 2**53
    for same in ((big, big + 1), (str(big), str(big + 1)), (float(big), big + 1)):
        with pytest.raises(DomainError, match="mean the same"):
            Domain(features={"a": {"categories": list(same)}})
        with pytest.raises(DomainError, match="mean the same"):
            Domain(features={"a": (0, 1)}, classes=same)
    for bounds in ((big, big + 1), (-big - 1, -big)):
        with pytest.raises(DomainError, match="must be below|within 2"):
            Domain(features={"a": bounds})
        with pytest.raises(DomainError, match="within 2"):
            Domain(features={"a": {"lower": 0, "upper": 4 * big, "integer": True}})
        with pytest.raises(DomainError, match="must be below"):
            Domain(features={"a": (0, 1)}, target=bounds)


def test_what_has_no_meaning_is_no_category():
    for value in ([1], np.datetime64("2020-01-01"), object()):
        with pytest.raises(DomainError, match="position 1 reads as missing.*or has no meaning"):
            Domain(features={"a": ["x", value]})


def test_a_fit_does_not_fail_for_the_types_of_its_columns():
    """Whole fits: every record is dropped, and nobody is told."""
    day = np.datetime64("2020-01-01")
    pd = pytest.importorskip("pandas")
    for table in (
        np.ones((4, 3)) * 1j, np.full((4, 3), day), np.ones((4, 3), dtype=complex),
        pd.DataFrame({"x": [day] * 4, "kind": 1, "word": "a"}),
    ):  # fmt: skip
        for y in (np.full(4, day), np.full(4, 1j), np.full(4, "1")):
            forest = PrivateForestClassifier(epsilon=99, domain=DOMAIN, strategy="one_shot")
            assert forest.fit(table, y).guarantee_.status == "holds"


def test_lazy_tables_and_names_are_refused():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(X)
    encoder = DomainEncoder(DOMAIN)
    for table, y in ((frame.lazy(), LABELS), (frame, pl.LazyFrame({"y": LABELS}))):
        for call in (encoder.check, encoder.encode):
            with pytest.raises(ParameterTypeError, match="Collect it first"):
                call(table, y)
    pa = pytest.importorskip("pyarrow")
    twice = pa.table([[1.0], [1.0], ["a"]], names=["x", "x", "word"])
    for table in (twice, twice.to_batches()[0]):
        with pytest.raises(DomainError, match="names must differ"):
            encoder.check(table)
