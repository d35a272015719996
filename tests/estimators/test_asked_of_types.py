"""A fit is decided by nothing that stands in a table, in numpy's settings or in another thread."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest import BudgetAccountant, Domain, PrivateForestClassifier, verify_report
from dpforest.estimators.names import table_names
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
