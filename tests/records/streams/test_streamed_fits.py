"""Forests of streams are those of tables, bit for bit; what cannot be read says where."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dpforest import (
    BudgetAccountant,
    Domain,
    MultinomialForestClassifier,
    ParameterError,
    PrivateForestClassifier,
    PrivateForestRegressor,
    StreamError,
)
from dpforest.domain.encoder import DomainEncoder
from dpforest.records.streams.csv_files import placed
from dpforest.records.streams.parquet_files import tables_of
from dpforest.records.streams.passes import Marks
from dpforest.records.table import Table
from dpforest.streams import BatchStream, CSVStream, ParquetStream

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

N = 700
FEATURES = {"age": (0, 100), "kind": ["a", "b", "c"], "income": (0.0, 9000.0)}


def frame(n: int = N) -> pd.DataFrame:
    generator = np.random.default_rng(5)
    age = generator.integers(0, 101, n).astype(float)
    age[::50] = 1000.0  # outside the bounds: clipped
    income = generator.exponential(2000.0, n)
    income[3::97] = np.nan  # not allowed: the record is dropped
    table = pd.DataFrame({"age": age, "kind": generator.choice(list("abcd"), n), "income": income})
    table["target"] = np.where((age > 50) ^ (generator.random(n) < 0.2), "ill", "well")
    return table


def domain_of(**changes) -> Domain:
    declared = {"features": FEATURES, "classes": ["ill", "well"], "approximate_rows": N}
    return Domain(**{**declared, **changes})


def make(kind, **parameters):
    classes = {"multinomial published": MultinomialForestClassifier.as_published}
    if kind == "multinomial":
        return MultinomialForestClassifier(
            epsilon=5, n_estimators=5, max_depth=3, domain=domain_of(), random_state=1, **parameters
        )
    if kind in classes:
        return classes[kind](
            epsilon=5, n_estimators=5, max_depth=3, domain=domain_of(), random_state=1, **parameters
        )
    strategy, delta = kind
    return PrivateForestClassifier(
        epsilon=3, delta=delta, strategy=strategy, domain=domain_of(), random_state=1, **parameters
    )


KINDS = [
    "multinomial", "multinomial published", ("one_shot", 0), ("one_shot", 1e-6),
    ("refitted", 1e-6), ("refitted", 0), ("boosted", 1e-6), ("boosted", 0),
    ("additive", 1e-6),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("memory_limit", [0, 20_000, 2**30])  # in the middle: two batches
def test_a_stream_gives_the_forest_of_its_table(kind, memory_limit):
    table = frame()
    X, y = table.drop(columns="target"), table["target"]
    parts = [table.iloc[a : a + 150] for a in range(0, N, 150)]
    stream = BatchStream(parts, target="target", memory_limit=memory_limit)
    whole = make(kind).fit(X, y)
    for n_jobs in (1, 3):
        streamed = make(kind, n_jobs=n_jobs).fit(stream)
        assert np.array_equal(streamed.predict_proba(X), whole.predict_proba(X))
    assert streamed.feature_names_in_.tolist() == list(FEATURES)
    assert streamed.privacy_report().guarantee.bounds == whole.privacy_report().guarantee.bounds


def test_curves_of_a_stream_take_turns_whatever_its_batches_are():
    """In pure epsilon a table in memory has them at once, which takes all records."""
    table = frame()
    X, y = table.drop(columns="target"), table["target"]
    made = []
    for size in (100, 150, N):
        parts = [table.iloc[a : a + size] for a in range(0, N, size)]
        forest = make(("additive", 0)).fit(BatchStream(parts, target="target"))
        made.append(forest.predict_proba(X))
        roles = {entry.role for entry in forest.accountant_.ledger}
        assert "residual sums of a feature" in roles
    assert np.array_equal(made[0], made[1]) and np.array_equal(made[0], made[2])
    whole = {entry.role for entry in make(("additive", 0)).fit(X, y).accountant_.ledger}
    assert "minimum of a noisy objective" in whole


@pytest.mark.parametrize("memory_limit", [0, 2**30])
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("strategy", ["refitted", "boosted", "additive"])
def test_a_stream_is_looked_at_last_as_its_table_is(strategy, delta, memory_limit):
    table = frame()
    table["target"] = np.where(table["income"] < 800.0, "away", table["target"])
    X, y = table.drop(columns="target"), table["target"]
    parameters = {
        "epsilon": 6, "delta": delta, "strategy": strategy, "random_state": 1,
        "domain": domain_of(classes=["away", "ill", "well"]),
    }  # fmt: skip
    parts = [table.iloc[a : a + 150] for a in range(0, N, 150)]
    whole = PrivateForestClassifier(**parameters).fit(X, y)
    streamed = PrivateForestClassifier(**parameters)
    streamed.fit(BatchStream(parts, target="target", memory_limit=memory_limit))
    assert streamed.accountant_.ledger[-1].role == "right answers less claimed ones"
    assert np.array_equal(streamed.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize("strategy", ["one_shot", "refitted", "boosted", "additive"])
def test_a_regressor_reads_streams_too(strategy):
    table = frame()
    table["target"] = table["age"].clip(0, 100)
    X, y = table.drop(columns="target"), table["target"]
    parameters = {
        "epsilon": 20, "delta": 1e-6, "strategy": strategy, "random_state": 1,
        "domain": domain_of(classes=None, target=(0, 1000)),
    }  # fmt: skip
    stream = BatchStream([table.iloc[:333], table.iloc[333:]], target="target")
    whole = PrivateForestRegressor(**parameters).fit(X, y)
    streamed = PrivateForestRegressor(**parameters).fit(stream)
    assert np.array_equal(streamed.predict(X), whole.predict(X))
    assert streamed.target_range_ == whole.target_range_ and whole.target_range_[1] < 1000
    asked = {entry.role for entry in streamed.accountant_.ledger}
    begins = strategy in ("refitted", "additive", "boosted")
    assert ("residual sums of a feature" in asked) == begins, "it begins with curves"


def write_csv(table, folder, compress=False):
    for number, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        text = table.iloc[part].to_csv(index=False)
        if compress:
            (folder / f"part{number}.csv.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"part{number}.csv").write_text(text)
    return sorted(folder.glob("*.csv*")) if compress else folder


def write_parquet(table, folder):
    import pyarrow.parquet as parquet

    for number, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        arrow = pa.Table.from_pandas(table.iloc[part], preserve_index=False)
        parquet.write_table(arrow, folder / f"part{number}.parquet", row_group_size=100)
    return folder


STREAMS = ["csv", "csv.gz", "parquet", "record batches", "pairs"]


def stream_of(kind, table, folder):
    if kind == "csv":
        return CSVStream(write_csv(table, folder), "target")
    if kind == "csv.gz":
        return CSVStream(write_csv(table, folder, compress=True), "target")
    if kind == "parquet":
        return ParquetStream(write_parquet(table, folder), "target")
    if kind == "record batches":
        batches = pa.Table.from_pandas(table, preserve_index=False).to_batches(99)
        return BatchStream(lambda: iter(batches), "target")
    X, y = table.drop(columns="target"), table["target"]
    return BatchStream([(X.iloc[:9], y.iloc[:9]), (X.iloc[9:], y.iloc[9:])])


@pytest.mark.parametrize("kind", STREAMS)
def test_every_kind_of_stream_holds_the_same_table(kind, tmp_path):
    table = frame()
    X, y, stream = table.drop(columns="target"), table["target"], stream_of(kind, table, tmp_path)
    whole, streamed = make(("one_shot", 0)).fit(X, y), make(("one_shot", 0)).fit(stream)
    assert np.array_equal(streamed.predict_proba(X), whole.predict_proba(X))


@pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("kind", STREAMS)
def test_a_hopeless_stream_releases_the_class_shares_that_its_table_would(kind, delta, tmp_path):
    table = frame()
    X, y, stream = table.drop(columns="target"), table["target"], stream_of(kind, table, tmp_path)
    whole, streamed = (make(("auto", delta)).set_params(epsilon=0.005) for _ in range(2))
    whole.fit(X, y)
    streamed.fit(stream)
    assert [entry.role for entry in streamed.accountant_.ledger] == ["prior"]
    assert np.array_equal(streamed.predict_proba(X), whole.predict_proba(X))


@pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning")
def test_a_stream_that_is_hopeless_with_its_delta_alone_is_asked_for_no_rules():
    """In memory these records would have a rule, drawn at the pure epsilon."""
    table = frame()
    X, y = table.drop(columns="target"), table["target"]
    whole, streamed = (make(("auto", 1e-6)).set_params(epsilon=0.02) for _ in range(2))
    whole.fit(X, y)
    streamed.fit(BatchStream([table], "target"))
    asked = [[entry.role for entry in one.accountant_.ledger] for one in (whole, streamed)]
    assert asked == [["rules, stage 1"], ["prior"]]


def test_auto_on_a_stream_never_takes_what_looks_at_all_records():
    stream = BatchStream([frame()], "target")
    for delta in (0, 1e-6):
        forest = make(("auto", delta)).fit(stream)
        assert forest.strategy_ in ("one_shot", "refitted")


def test_what_cannot_stream_is_refused_before_anything_is_spent():
    accountant = BudgetAccountant(9)
    with pytest.raises(ParameterError, match="looks at all records at once"):
        make(("rules", 0), accountant=accountant).fit(BatchStream([frame()], "target"))
    with pytest.raises(ParameterError, match="needs all records in order"):
        make("multinomial", thresholds="lattice", accountant=accountant).fit(
            BatchStream([frame()], "target")
        )
    with pytest.raises(ParameterError, match="declared public facts"):
        PrivateForestClassifier(epsilon=1, accountant=accountant).fit(
            BatchStream([frame()], "target")
        )
    with pytest.raises(ParameterError, match="holds its own"):
        make(("one_shot", 0), accountant=accountant).fit(BatchStream([frame()], "target"), [1])
    assert accountant.spent.exact.epsilon == 0


def test_a_file_without_a_column_is_refused_before_anything_is_spent(tmp_path):
    write_parquet(frame(), tmp_path)
    write_parquet_of = frame().drop(columns="income")
    pa.parquet.write_table(
        pa.Table.from_pandas(write_parquet_of, preserve_index=False), tmp_path / "part1.parquet"
    )
    accountant = BudgetAccountant(9)
    with pytest.raises(StreamError, match=r"part1.parquet: it has no column 'income'"):
        make(("one_shot", 0), accountant=accountant).fit(ParquetStream(tmp_path, "target"))
    assert accountant.spent.exact.epsilon == 0


def test_a_file_cut_short_is_refused_before_anything_is_spent(tmp_path):
    write_parquet(frame(), tmp_path)
    path = tmp_path / "part2.parquet"
    path.write_bytes(path.read_bytes()[:-40])
    accountant = BudgetAccountant(9)
    with pytest.raises(StreamError, match=r"part2.parquet: it cannot be read"):
        make(("one_shot", 0), accountant=accountant).fit(ParquetStream(tmp_path, "target"))
    assert accountant.spent.exact.epsilon == 0


def test_a_damaged_row_group_leaves_the_fit_failed_and_spent(tmp_path):
    write_parquet(frame(), tmp_path)
    path = tmp_path / "part1.parquet"
    sound = path.read_bytes()
    whole = bytearray(sound)
    whole[4:204] = b"\xff" * 200  # the header of the first page
    path.write_bytes(bytes(whole))
    accountant = BudgetAccountant(9)
    forest = make(("one_shot", 0), accountant=accountant)
    with pytest.raises(StreamError, match=r"part1.parquet, row group \d: it cannot be read"):
        forest.fit(ParquetStream(tmp_path, "target"))
    assert accountant.spent.exact.epsilon == 3
    assert not hasattr(forest, "model_")
    failed = [scope.label for scope in accountant.composition().walk() if scope.failed]
    assert failed == ["fit: PrivateForestClassifier", "one_shot"]
    with pytest.raises(NotFittedError, match="fit failed after .* stays spent: epsilon = 3, delta"):
        forest.privacy_report()
    # A fit that comes to an end has a report again, and the failed one stays in the books.
    path.write_bytes(sound)
    report = forest.fit(ParquetStream(tmp_path, "target")).privacy_report()
    assert report.guarantee and not any(scope.failed for scope in report.composition.walk())
    assert accountant.spent.exact.epsilon == 6


def raised_by(go_through) -> StreamError | None:
    try:
        go_through()
    except StreamError as error:
        return error
    return None


@pytest.mark.parametrize("seed", range(30))
def test_the_check_at_the_desk_finds_what_would_end_a_fit(seed, tmp_path):
    """Any byte of any page may be wrong: both read the same columns of the same parts."""
    write_parquet(frame(), tmp_path)
    path, generator = tmp_path / "part1.parquet", np.random.default_rng(seed)
    data, footer = bytearray(path.read_bytes()), pa.parquet.read_metadata(path).serialized_size
    start = int(generator.integers(4, len(data) - footer - 60))
    data[start : start + 40] = generator.bytes(40)
    path.write_bytes(bytes(data))
    stream, accountant = ParquetStream(tmp_path, "target"), BudgetAccountant(9)
    forest = make(("one_shot", 0), accountant=accountant)
    checked = raised_by(lambda: forest.domain.check(stream, task="classification"))
    assert accountant.spent.exact.epsilon == 0
    fitted = raised_by(lambda: forest.fit(stream))
    assert accountant.spent.exact.epsilon == 3
    assert str(checked) == str(fitted)
    assert checked is None or checked.place.startswith("part1.parquet, row group ")


@pytest.mark.parametrize("checksums", [True, False])
def test_a_page_that_is_not_what_its_checksum_says_is_not_read(checksums, tmp_path):
    """Without one nobody can tell: the damaged page holds other ages."""
    path, table = tmp_path / "a.parquet", pa.Table.from_pandas(frame(), preserve_index=False)
    how = {"compression": "none", "use_dictionary": False, "write_page_checksum": checksums}
    pa.parquet.write_table(table, path, **how)
    data, domain = bytearray(path.read_bytes()), make(("one_shot", 0)).domain
    place = data.index(frame()["age"].to_numpy()[40:50].tobytes())
    data[place : place + 8] = frame()["age"].to_numpy()[50:51].tobytes()
    path.write_bytes(bytes(data))
    for go_through in (domain.check, make(("one_shot", 0)).fit):
        error = raised_by(lambda go_through=go_through: go_through(ParquetStream(path, "target")))
        assert (error is not None) == checksums
        assert not checksums or error.place == "a.parquet, row group 0"


def broken_at_the_end():
    yield frame(100)
    raise OSError("secret 4711")


def test_the_check_at_the_desk_reads_every_part(tmp_path):
    lines = b"age,kind,income,target\n" + b"1,a,2,ill\n9,c,8,well\n" * 5000
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(lines)[:-20])
    streams = [BatchStream(broken_at_the_end, "target"), CSVStream(tmp_path, "target")]
    for stream, said in zip(streams, ("batch 1: ", "a.csv.gz"), strict=True):
        forest = make(("one_shot", 0))
        for go_through in (forest.domain.check, forest.fit):
            with pytest.raises(StreamError, match=f"{said}.*cannot be read") as ended:
                go_through(stream)
            assert "4711" not in str(ended.value)


def test_a_batch_without_a_column_names_the_batch():
    parts = [frame(100), frame(100).drop(columns="kind")]
    # Batches that are there are looked at before anything is spent.
    for batches, spent in ((parts, 0), (lambda: parts, 3)):
        accountant = BudgetAccountant(9)
        with pytest.raises(StreamError, match="batch 1"):
            make(("one_shot", 0), accountant=accountant).fit(BatchStream(batches, "target"))
        assert accountant.spent.exact.epsilon == spent


@pytest.mark.parametrize(
    "odd", [b"3,b,secret4711\n", b"3,b,4,ill,more\n", b"3,\xff\xfe,5,ill\n", b"4,b,x\xff,ill\n"]
)
def test_no_line_decides_whether_a_fit_succeeds(tmp_path, odd):
    lines = b"age,kind,income,target\n" + b"1,a,2,ill\n9,c,8,well\n" * 50
    (tmp_path / "a.csv").write_bytes(lines + odd + b"7,c,7,well\n")
    accountant = BudgetAccountant(9)
    forest = make(("one_shot", 0), accountant=accountant)
    assert forest.fit(CSVStream(tmp_path, "target")).privacy_report().guarantee
    assert accountant.spent.exact.epsilon == 3


def test_errors_hold_no_value(tmp_path):
    import gzip as compressing

    whole = compressing.compress(b"age,kind,income,target\n" + b"4711,a,2,ill\n" * 9000)
    (tmp_path / "a.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StreamError) as caught:
        make(("one_shot", 0)).fit(CSVStream(tmp_path / "a.csv.gz", "target"))
    assert "4711" not in str(caught.value) and "a.csv.gz" in str(caught.value)


def test_a_file_that_ends_early_is_named_with_the_part():
    def blocks(whole):
        yield from (b"1", b"2")
        if not whole:
            raise OSError("Truncated compressed stream: 4711")

    with pytest.raises(StreamError, match=r"a.csv.gz, block 2: it cannot be read") as caught:
        list(placed(blocks(False), "a.csv.gz"))
    assert "4711" not in str(caught.value) and caught.value.__context__ is None
    assert list(placed(blocks(True), "a.csv")) == [
        ("a.csv, block 0", b"1"), ("a.csv, block 1", b"2"),
    ]  # fmt: skip


def test_a_row_group_that_ends_early_is_named():
    def batches():
        yield from pa.table({"a": [1, 2]}).to_batches(1)
        raise OSError("Unexpected end of stream: 4711")

    found = tables_of(batches(), "a.parquet, row group 3")
    assert [next(found).num_rows, next(found).num_rows] == [1, 1]
    with pytest.raises(StreamError, match=r"row group 3: it cannot be read") as caught:
        next(found)
    assert "4711" not in str(caught.value) and caught.value.__context__ is None


def test_a_stream_that_changes_is_refused():
    passes = []

    def batches():
        passes.append(1)
        return [frame(50)] * len(passes)

    stream = BatchStream(batches, "target", memory_limit=0)
    with pytest.raises(StreamError, match="changed between two passes"):
        make(("one_shot", 0)).fit(stream)


def another_value(parts):
    parts[1] = parts[1].assign(kind=parts[1]["kind"].to_numpy()[::-1])


def another_label(parts):
    changed = parts[2]["target"].to_numpy().copy()
    changed[0] = {"ill": "well", "well": "ill"}[changed[0]]
    parts[2] = parts[2].assign(target=changed)


def another_order(parts):
    parts[1], parts[2] = parts[2], parts[1]


def another_cut(parts):
    rows = pd.concat(parts[1:])
    parts[1:] = [rows.iloc[:30], rows.iloc[30:]]


@pytest.mark.parametrize("memory_limit", [0, 2500])  # room for the first batch alone
@pytest.mark.parametrize("change", [another_value, another_label, another_order, another_cut])
@pytest.mark.parametrize("when", [2, 3])
def test_batches_that_change_between_passes_are_refused(change, memory_limit, when):
    first = [frame(40), frame(90).iloc[40:90], frame(150).iloc[90:150]]
    passes = []

    def batches():
        passes.append(1)
        parts = [part.copy() for part in first]
        if len(passes) == when:
            change(parts)
        return parts

    forest = make(("refitted", 1e-6))
    with pytest.raises(StreamError, match="changed between two passes") as refused:
        forest.fit(BatchStream(batches, "target", memory_limit=memory_limit))
    assert len(passes) == when
    # Which batch it was, and how, are the records' own affair.
    assert not any(sign.isdigit() for sign in str(refused.value))
    assert not hasattr(forest, "guarantee_") and not hasattr(forest, "model_")


@pytest.mark.parametrize("when", [2, 3])
def test_a_batch_that_is_small_enough_to_keep_by_now_is_looked_at_too(when):
    """It was kept in place of the one that had been too large, and never compared with that."""
    passes = []

    def batches():
        passes.append(1)
        return [frame(80).iloc[: 20 if len(passes) >= when else 80]]

    with pytest.raises(StreamError, match="changed between two passes"):
        make(("refitted", 1e-6)).fit(BatchStream(batches, "target", memory_limit=2500))
    assert len(passes) == when


def test_digests_of_batches_tell_nothing_without_their_key():
    X, y = frame(9).drop(columns="target"), frame(9)["target"]
    table = Table.of(DomainEncoder(domain_of()).encode(X, y))
    one, other = Marks(), Marks()
    assert one.agree(0, table) and one.agree(0, table) and other.agree(0, table)
    assert one._seen != other._seen


def test_a_stream_without_records_makes_a_model():
    forest = make(("one_shot", 0)).fit(BatchStream([], "target"))
    assert np.isfinite(forest.predict_proba(frame(5).drop(columns="target"))).all()
