"""One record more never changes another's code, whatever it does to the column's type.

Readers and containers give a column one type, so a single odd record (a text among numbers,
a gap among integers, one long decimal) changes how all other records are stored. Here every
odd value joins every base column, in every container that will hold both, before the other
records and after them; and the codes must be those that the same records have as a list.
"""

from __future__ import annotations

import datetime
import io
import itertools
import math
import uuid
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.domain import CategoricalFeature, Domain, DomainEncoder, NumericFeature
from dpforest.domain.values import meaning_of

HOUR = datetime.timezone(datetime.timedelta(hours=1))
NOON = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
BIG = 2**53


class Hostile:
    """Refuses whatever can be refused."""

    def __hash__(self):
        raise RuntimeError("secret")

    def __eq__(self, other):
        raise RuntimeError("secret")

    def __str__(self):
        raise RuntimeError("secret")


class EqualToAll:
    """Would take any code that a memory keyed by equality holds."""

    def __hash__(self):
        return hash(1.0)

    def __eq__(self, other):
        return True


ODD = [
    None, math.nan, math.inf, -math.inf, "", " ", "nan", "NaN", "-inf",
    0, 1, 2, -1, True, False, 1.0, 0.5, 0.1, -0.0, 1e300, 10**400, 10**5000, -(10**5000),
    BIG, BIG + 1, float(BIG), 2**63 + 1, 2**70,
    "1", "01", "1.0", " 1", "1 ", "1e0", "+1", "1\0", "1_0", "True", "true", "FALSE", " a", "a",
    "x", "?", "0.10", "0.1", str(BIG + 1), "9" * 400, "é",
    np.int8(1), np.float64(0.1), np.float32(0.5), np.longdouble("1e4000"), np.bool_(True),
    np.str_("1"), b"1", b"\xff", np.timedelta64(1, "D"), np.datetime64("2020-01-01"),
    Decimal("0.1"), Decimal("0.10"), Decimal("0.125"), Decimal(1), Decimal("NaN"), Decimal("sNaN"),
    Decimal("1e400"), Fraction(1, 2), Fraction(10**400), 1 + 0j, NOON, NOON.astimezone(HOUR),
    datetime.date(2020, 1, 1), datetime.timedelta(1), (1, 2), (1.0, 2), (), [1], {}, {"a": 1},
    np.zeros(0), np.array([1.0]), np.array([math.nan]), uuid.UUID(int=1), Hostile(), EqualToAll(),
]  # fmt: skip

BASES = [
    [1, 2, 0, 1],
    [0.1, 0.2, 0.5],
    [True, False, True],
    ["1", "2", "0"],
    ["01", " 1", "1.0", "0.10"],
    ["x", "a", " a", "?"],
    [BIG, BIG + 1, 5],
    [Decimal("0.1"), Decimal("0.2")],
    [NOON, NOON],
    ["", "1", "nan"],
    [0.1, "0.1", Decimal("0.1"), 1, True, "True"],
]

FEATURES = [
    CategoricalFeature(
        name="number", categories=("01", "0.1", "x", " a", str(BIG), "1+2j"), missing=True
    ),
    CategoricalFeature(name="position", categories=("no", "yes", "maybe")),
    CategoricalFeature(name="word", categories=("True", "false", "?"), other="?", missing=True),
    NumericFeature(name="real", lower=0, upper=2),
    NumericFeature(name="whole", lower=-3, upper=3, integer=True, missing=True),
]
NAMES = [feature.name for feature in FEATURES]
ENCODER = DomainEncoder(Domain(features=FEATURES))
CLASS_ENCODERS = [
    DomainEncoder(Domain(features=FEATURES, classes=classes))
    for classes in ((0, 1), ("x", "true"), (0.1, 2**53))
]


ROW = NumericFeature(name="row", lower=0, upper=20, integer=True)
TARGETS = DomainEncoder(Domain(features=[ROW], target=(0, 2)), task="regression")
WORDS_OF_NUMBERS = ["1", "01", "1.0", "0.10", "(1+0j)", "nan", "", "true", "1e0", "x"]


def objects(values):
    array = np.empty(len(values), dtype=object)
    for index, value in enumerate(values):
        array[index] = value
    return array


def own_type(values):
    return np.array(values)


def texts(values):
    return np.array([str(value) for value in values])


def pandas_own_type(values):
    return pytest.importorskip("pandas").Series(values)


def pandas_objects(values):
    return pytest.importorskip("pandas").Series(objects(values), dtype=object)


def pandas_nullable(values):
    return pandas_own_type(values).convert_dtypes()


def pandas_arrow(values):
    pytest.importorskip("pyarrow")
    return pandas_own_type(values).convert_dtypes(dtype_backend="pyarrow")


def pandas_category(values):
    return pandas_own_type(values).astype("category")


def polars_own_type(values):
    if not {type(value) for value in values} <= {bool, int, float, str, Decimal, type(None)}:
        raise TypeError("polars panics at some objects")
    if any(type(value) in (int, Decimal) and not abs(value) < 2**127 for value in values):
        raise OverflowError("polars panics at some numbers, too")
    return pytest.importorskip("polars").Series("v", values, strict=False)


def arrow(values):
    return pytest.importorskip("pyarrow").chunked_array([values])


def arrow_dictionary(values):
    return arrow(values).dictionary_encode()


def arrow_batch(values):
    """As a record batch, with the labels as an array that is not in chunks."""
    return pytest.importorskip("pyarrow").array(values)


def masked(values):
    """With whatever is missing masked, and another value below the mask."""
    array = np.ma.array(own_type(values), mask=False)
    array[[meaning_of(value) is None for value in values]] = np.ma.masked
    return array


def masked_objects(values):
    gaps = [meaning_of(value) is None for value in values]
    return np.ma.array(
        objects([1 if g else v for v, g in zip(values, gaps, strict=True)]), mask=gaps
    )


def pandas_sparse(values):
    return pandas_own_type(values).astype("Sparse")


def pandas_text(values):
    return pandas_own_type(values).astype("string[python]")


def polars_objects(values):
    polars = pytest.importorskip("polars")
    return polars.Series("v", values, dtype=polars.Object)


def polars_lenient(values):
    """Polars gives way here: Object, Binary, Struct and List columns."""
    polars = pytest.importorskip("polars")
    try:
        return polars.Series("v", values, strict=False)
    except polars.exceptions.PanicException:  # no Exception
        raise TypeError("polars panics at some objects") from None


def polars_category(values):
    polars = pytest.importorskip("polars")
    return polars_own_type(values).cast(polars.Categorical)


CONTAINERS = [
    list, objects, own_type, pandas_own_type, pandas_objects, pandas_nullable, pandas_arrow,
    pandas_category, polars_own_type, arrow,
]  # fmt: skip


#: All in which the property below is tried; each has a record more than ``CONTAINERS`` would show.
EVERY = [
    *CONTAINERS, arrow_dictionary, arrow_batch, masked, masked_objects, pandas_sparse, pandas_text,
    polars_objects, polars_lenient, polars_category,
]  # fmt: skip


def as_table(column):
    """A table of the column's own kind that has it once for each feature."""
    if isinstance(column, np.ma.MaskedArray):
        return np.ma.stack([column] * len(NAMES), axis=1)
    if isinstance(column, list):
        return [[value] * len(NAMES) for value in column]
    if isinstance(column, np.ndarray):
        return np.stack([column] * len(NAMES), axis=1)
    if isinstance(column, pytest.importorskip("pandas").Series):
        return pytest.importorskip("pandas").DataFrame(dict.fromkeys(NAMES, column))
    if isinstance(column, pytest.importorskip("polars").Series):
        return pytest.importorskip("polars").DataFrame(dict.fromkeys(NAMES, column))
    pyarrow = pytest.importorskip("pyarrow")
    if isinstance(column, pyarrow.Array):
        return pyarrow.RecordBatch.from_arrays([column] * len(NAMES), NAMES)
    return pyarrow.table(dict.fromkeys(NAMES, column))


def contained(build, values):
    """The values in a container, or None if it will not have them, or not as they are."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            column = build(values)
    except Exception:  # a skipped test is no Exception
        return None
    if len(column) != len(values) or getattr(column, "ndim", 1) != 1:
        return None
    listed = column.tolist() if isinstance(column, np.ndarray) else None
    if listed is None:
        listed = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    # Some containers hold something else: polars has no integers beyond 128 bits.
    same = all(meaning_of(a) == meaning_of(b) for a, b in zip(listed, values, strict=True))
    return column if same else None


def refused(column):
    """Whether a schema refuses the column's type: times and nested types of Arrow."""
    kind = str(getattr(column, "type", ""))
    return any(word in kind for word in ("timestamp", "duration", "date32", "list", "struct"))


def feature_codes(column):
    """For each record: codes, whether it is kept."""
    matrix, keep = ENCODER.encode_features(as_table(column))
    return [(*row, kept) for row, kept in zip(matrix.codes.tolist(), keep.tolist(), strict=True)]


def predicted_codes(column):
    return ENCODER.encode_to_predict(as_table(column))[0].tolist()


def class_codes(column):
    found = [encoder.encode_labels(column).tolist() for encoder in CLASS_ENCODERS]
    return list(zip(*found, strict=True))


def target_steps(column):
    """For each record: the place of its target, or None if it is dropped."""
    rows = np.arange(len(column))[:, None]
    encoded = TARGETS.encode(rows, column)
    kept = encoded.matrix.codes[:, 0].tolist()
    steps = dict(zip(kept, encoded.targets.tolist(), strict=True))
    return [(steps.get(row),) for row in range(len(column))]


NAMED = [value for values in [*BASES, ODD] for value in values]
VALUES = st.one_of(
    # Some cannot be hashed; and of a method, hypothesis may print all that it belongs to.
    st.integers(0, len(NAMED) - 1).map(lambda place: NAMED[place]),
    st.integers(-3, 3), st.floats(), st.complex_numbers(), st.text(max_size=3), st.booleans(),
    st.integers(), st.decimals(places=2), st.binary(max_size=2), st.dates(), st.datetimes(),
    st.fractions(), st.builds(np.float32, st.floats(width=32)), st.builds(np.int8, st.just(1)),
)  # fmt: skip
#: Columns of one kind each, as containers have them: numbers, texts, mixtures.
KINDS = st.sampled_from([
    st.integers(-3, 3), st.floats(), st.sampled_from(WORDS_OF_NUMBERS), st.booleans(), VALUES,
    st.one_of(st.none(), st.integers(0, 2**60)), st.text(max_size=2), st.decimals(places=2),
])  # fmt: skip


@pytest.mark.parametrize("build", EVERY)
def test_whatever_the_others_are_a_record_means_what_it_means_alone(build):
    """Codes of features, of labels and of targets are those of each value in a list by itself."""
    held = []

    @given(KINDS.flatmap(lambda kind: st.lists(kind, max_size=6)), VALUES, st.integers(0, 6))
    @settings(derandomize=True, max_examples=40, deadline=None, database=None)
    def check(others, odd, place):
        values = [*others[:place], odd, *others[place:]]
        for given_values in (others, values):
            column = contained(build, given_values)
            if column is None or refused(column):
                continue
            held.append(len(given_values))
            for codes in (feature_codes, class_codes, target_steps):
                assert codes(column) == [codes([value])[0] for value in given_values]

    check()
    # What hypothesis draws goes by the modules that are loaded; some containers refuse much of it.
    assert len(held) > 15


def checked(domain, column, task):
    """What the curator is told of a column, as features and as labels or targets."""
    return domain.check(as_table(column), column, task=task)


@pytest.mark.parametrize("build", EVERY)
def test_the_curator_is_told_what_a_fit_drops(build):
    """``Domain.check`` counts the records that the encoder drops, and each value's rule."""
    held = []
    facts = Domain(features=FEATURES, classes=("x", "true"), target=(0, 2))

    @given(KINDS.flatmap(lambda kind: st.lists(kind, max_size=6)))
    @settings(derandomize=True, max_examples=25, deadline=None, database=None)
    def check(values):
        column = contained(build, values)
        if column is None or refused(column):
            return
        held.append(len(values))
        for task in ("classification", "regression"):
            encoder = DomainEncoder(facts, task=task)
            encoded = encoder.encode(as_table(column), column)
            check = checked(facts, column, task)
            assert (check.records, check.kept) == (len(values), encoded.labels.size)
            dropped = [one for one in check.findings if one.effect == "dropped"]
            assert max((one.records for one in dropped), default=0) <= check.dropped
            assert sum(one.records for one in dropped) >= check.dropped
            told_of_values(check, encoder.encode_features(as_table(column))[0].codes)

    check()
    assert len(held) > 8


def told_of_values(check, codes):
    """Unknown and missing values are those whose code says so."""
    for place, feature in enumerate(FEATURES):
        effects = {one.effect: one.records for one in check.of(feature.name)}
        if feature.missing:
            last = int(ENCODER.n_codes[place]) - 1
            assert effects.get("missing", 0) == (codes[:, place] == last).sum()
        if ENCODER.unknown[place] >= 0:
            lost = sum(one.records for one in check.of(feature.name) if one.effect == "dropped")
            unknown = (codes[:, place] == ENCODER.unknown[place]).sum()
            assert effects.get("unknown", 0) + lost == unknown


@pytest.mark.parametrize("build", CONTAINERS)
def test_a_record_more_changes_no_other(build):
    """In any container, records have the codes that each has alone, in a list."""
    used = 0
    for codes in (feature_codes, class_codes):
        every = [value for values in [*BASES, ODD] for value in values]
        alone = {id(value): codes([value])[0] for value in every}
        for base in BASES:
            assert codes(build(base) if build in (list, objects) else base) == [
                alone[id(value)] for value in base
            ]
            for odd in ODD:
                values = [odd, *base]
                column = contained(build, values)
                if column is not None and not refused(column):
                    used += 1
                    assert codes(column) == [alone[id(value)] for value in values]
    assert used > 300


def test_the_order_of_records_changes_no_code():
    """All at once, so that the lookup remembers the most, both ways around."""
    values = [value for base in BASES for value in [*base, *ODD]]
    for codes in (feature_codes, predicted_codes, class_codes):
        expected = [codes([value])[0] for value in values]
        assert codes(values) == expected
        assert codes(values[::-1]) == expected[::-1]


def pandas_csv(text):
    return pytest.importorskip("pandas").read_csv(io.StringIO(text))


def polars_csv(text):
    """A frame; None where a column is all whole numbers, and polars is too old for a long one."""
    polars = pytest.importorskip("polars")
    try:
        return polars.read_csv(io.StringIO(text), infer_schema_length=None)
    except polars.exceptions.ComputeError as error:
        assert f"could not parse `{2**70}` as dtype `i64`" in str(error)
        return None


def arrow_csv(text):
    csv = pytest.importorskip("pyarrow.csv")
    return csv.read_csv(io.BytesIO(text.encode()))


WORDS = ["1", "01", "1.0", " 1", "1e0", "2", "True", "true", "False", "x", "", "nan", "NaN",
         "0.1", "0.10", "0.125", str(BIG), str(BIG + 1), str(2**70), "inf", "?", "a"]  # fmt: skip


@pytest.mark.parametrize("read", [pandas_csv, polars_csv, arrow_csv])
def test_text_means_the_same_whatever_type_a_reader_infers(read):
    for first, second in itertools.combinations(WORDS, 2):
        for more in ([], ["x"]):
            words = [first, second, *more]
            # Another column, as some readers skip empty lines.
            lines = [",".join([word] * len(NAMES) + ["0"]) for word in words]
            frame = read("\n".join([",".join([*NAMES, "other"]), *lines, ""]))
            if frame is None:
                continue
            matrix, keep = ENCODER.encode_features(frame)
            found = zip(matrix.codes.tolist(), keep.tolist(), strict=True)
            assert [(*row, kept) for row, kept in found] == feature_codes(words)
            assert class_codes(frame[NAMES[0]]) == class_codes(words)


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        (1, "1"), (1.0, "1.0"), (True, "True"), (False, "false"), (0.1, "0.1"), (None, ""),
        (math.nan, "nan"), (-math.inf, "-inf"), (Decimal("0.10"), "0.10"), (10**400, "9" * 400),
        (BIG + 1, str(BIG + 1)), (b"x", "x"), (np.str_("x"), "x"), (1j, "1j"), (1 + 0j, "(1+0j)"),
    ],
    ids=lambda value: repr(value)[:16],
)  # fmt: skip
def test_text_form_equals_typed_form(typed, text):
    for codes in (feature_codes, predicted_codes, class_codes):
        assert codes([typed]) == codes([text]) == codes([f" {text} "])
        assert codes([text]) == codes(np.array([text, "a longer text"]))[:1]


def test_the_longest_numbers_pass_in_silence():
    """A warning or an error that a record's value decides would be a release."""
    long = np.array(["1", "1e4000", "-1e4000"], dtype=np.longdouble)
    for column in (long, list(long), [1, 10**5000, -(10**5000)]):
        assert class_codes(column)[1:] == [(-1, -1, -1)] * 2
        assert [row[-1] for row in feature_codes(column)] == [True, False, False]


def test_nested_cells_do_not_change_the_shape():
    encoder = DomainEncoder(Domain(features={"v": (0, 2)}))
    for odd in ([1], [1, 2], [[3]], np.zeros((2, 2)), 3):
        _, keep = encoder.encode_features([[[1]], [[2]], [odd]])
        assert keep.tolist() == [False, False, isinstance(odd, int)]


def test_arrow_and_polars_widths():
    """Types as narrow and as wide as there are, with a gap and without."""
    polars = pytest.importorskip("polars")
    for name in ("UInt8", "Int16", "UInt32", "Int64", "UInt64", "Int128", "Float32", "Boolean"):
        values = [1, 0] if name in ("Boolean", "UInt8") else [1, 2**15 - 1]
        plain = polars.Series("v", values, dtype=getattr(polars, name), strict=False)
        gap = polars.Series("v", [*values, None], dtype=getattr(polars, name), strict=False)
        for codes in (feature_codes, predicted_codes, class_codes):
            assert codes(plain) == codes(gap)[:-1] == codes(values)
            assert codes(gap)[-1:] == codes([None])
