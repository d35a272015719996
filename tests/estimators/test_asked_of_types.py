"""A fit is decided by nothing that stands in a table, in numpy's settings or in another thread."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest import (
    BudgetAccountant,
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    verify_report,
)
from dpforest.domain import DomainEncoder
from dpforest.domain.column_names import table_names
from dpforest.streams import BatchStream

DOMAIN = Domain(features={"x": (0, 9)}, classes=["no", "yes"], approximate_rows=3000)


def test_a_column_called_column_names_is_a_column():
    pd = pytest.importorskip("pandas")
    for values in (["a", "b"], [1, "b"]):
        frame = pd.DataFrame({"x": [1, 2], "column_names": values})
        assert table_names(frame) == ("x", "column_names")


@pytest.mark.parametrize("rows", [3000, None])
def test_numpy_s_settings_end_no_fit(rows):
    domain = DOMAIN.model_copy(update={"approximate_rows": rows})
    forest = PrivateForestClassifier(epsilon=1, domain=domain, strategy="one_shot")
    with np.errstate(all="raise"):
        forest.fit([[5]] * 3000, ["yes"] * 3000)
    assert forest.guarantee_.status == "holds"


#: Numbers at which an arithmetic of doubles underflows, overflows or is invalid, and usual ones.
ODD_NUMBERS = [
    1e-310, 5e-324, 1e-320, -1e-320, 1e308, -1e308, np.inf, np.nan, np.longdouble("1e4000"), 0.5, 1
]  # fmt: skip
FACTS = {"features": {"x": (0, 3)}, "approximate_rows": 3000}


@pytest.mark.parametrize("told", ["raise", "warn"])
@pytest.mark.parametrize("odd", ODD_NUMBERS)
def test_no_number_is_read_by_numpy_s_settings(odd, told):
    domain = Domain(**FACTS, target=(0, 3))
    X = np.array([[odd], [0.5]], np.longdouble)
    with np.errstate(all=told):
        for thresholds in ("cells", "lattice"):
            encoder = DomainEncoder(domain, thresholds=thresholds, task="regression")
            for table in (X, X.astype(object), X.tolist(), *narrow(X)):
                y = [row[0] for row in np.asarray(table, object)]
                assert encoder.encode(table, y).targets[-1] == 2**16 // 6
                assert len(encoder.encode_to_predict(table)[0]) == 2
                assert domain.check(table, y).records == 2


def narrow(X):
    """The same numbers in shorter types, where they have room."""
    with np.errstate(all="ignore"):
        found = [X.astype(kind) for kind in ("f8", "f4", "f2")]
    return [*found, *map(pytest.importorskip("pandas").DataFrame, found)]


@pytest.mark.parametrize(
    ("kind", "facts", "settings"),
    [
        (MultinomialForestClassifier, {"classes": [0.5, 1]}, {"thresholds": "lattice"}),
        (PrivateForestClassifier, {"classes": [0.5, 1]}, {"strategy": "rules"}),
        (PrivateForestRegressor, {"target": (0, 3)}, {"strategy": "one_shot"}),
    ],
)
@pytest.mark.filterwarnings("ignore::dpforest.exceptions.FewRecordsWarning")
def test_no_number_of_a_record_ends_a_fit_by_numpy_s_settings(kind, facts, settings):
    X = np.array(ODD_NUMBERS * 300, np.longdouble)[:, None]
    forest = kind(epsilon=9, domain=Domain(**FACTS, **facts), accountant=BudgetAccountant(99))
    forest.set_params(**settings)
    with np.errstate(all="raise"):
        for table in (X, X.tolist()):
            forest.fit(table, [row[0] for row in table])
            assert forest.predict(table[:11]).shape == (11,)
        if kind is not MultinomialForestClassifier and settings["strategy"] != "rules":
            forest.fit(BatchStream([(X, X[:, 0])]))


def test_the_report_names_the_accountant_that_was_charged():
    charged, other = BudgetAccountant(2, name="same"), BudgetAccountant(1, name="same")
    forest = PrivateForestClassifier(
        epsilon=1, domain=DOMAIN, strategy="one_shot", accountant=charged
    )

    def batches():
        forest.set_params(accountant=other)
        yield [[1]] * 3000, ["no"] * 3000

    forest.fit(BatchStream(batches))
    report = forest.privacy_report()
    assert charged.remaining.epsilon == 1 and other.remaining.epsilon == 1
    assert report.basis.ceiling.epsilon == "2"
    verify_report(report)


def test_a_ceiling_is_said_to_hold_for_records():
    accountant = BudgetAccountant(1)
    for unit in (1, 3):
        forest = PrivateForestClassifier(
            epsilon=0.5, domain=DOMAIN, strategy="one_shot", accountant=accountant,
            max_records_per_unit=unit,
        )  # fmt: skip
        forest.fit([[1]] * 3000, ["no"] * 3000)
    text = " ".join(forest.privacy_report().to_markdown().split())
    assert "differentially private when one record is added or removed, as long as" in text
    assert "only if every fit charged to it was priced for such a privacy unit" in text


class Names(list):
    """Names of a library that we do not know, which lies about them, or will not hand them out."""

    def __init__(self, names, answer):
        super().__init__(names)
        self.tolist = answer


def fails():
    raise TypeError("no host copies")


@pytest.mark.parametrize("answer", [fails, lambda: 7, lambda: None, lambda: ["z", "y"]])
def test_names_are_asked_of_pandas_alone_as_a_list(answer):
    class Frame:
        columns = Names(["a", "b"], answer)

    assert table_names(Frame()) == ("a", "b")
