"""What newcomers hand over at first is refused with what helps."""

from __future__ import annotations

import pandas as pd
import pytest

from dpforest import Domain, PrivateForestClassifier
from dpforest.exceptions import DomainError, DPForestError, ParameterError

DOMAIN = Domain(features={"age": (0, 110), "ward": ["a", "b"]}, classes=["no", "yes"])
TABLE = pd.DataFrame({"age": [40, 50], "ward": ["a", "b"]})


def test_dates_are_refused_with_a_way_to_numbers():
    with pytest.raises(DomainError, match="days since a public date"):
        Domain(features={"day": ("2020-01-01", "2020-12-31")}, classes=["no", "yes"])
    days = pd.DataFrame({"day": ["2020-01-01", "2020-01-02"]})
    with pytest.raises(DPForestError, match=r"--drop.*pandas\.to_datetime"):
        Domain.draft(days, ["no", "yes"])


def test_one_text_is_no_list_of_classes():
    with pytest.raises(DomainError, match="must be a list of labels"):
        Domain(features={"age": (0, 110)}, classes="yes")


@pytest.mark.parametrize("path", ["patients.csv", __file__])
def test_a_path_is_no_table(path):
    with pytest.raises(DPForestError, match=r"pandas\.read_csv") as refused:
        PrivateForestClassifier(epsilon=1, domain=DOMAIN).fit(path, ["no", "yes"])
    assert path not in str(refused.value)


def test_a_missing_column_is_named_in_a_fit():
    forest = PrivateForestClassifier(epsilon=1, domain=DOMAIN)
    with pytest.raises(ParameterError, match="1 features.*'ward' is not among them"):
        forest.fit(TABLE.drop(columns="ward"), ["no", "yes"])
