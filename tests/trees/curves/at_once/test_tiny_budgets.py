"""A budget too small for the curves of all features at once is refused before any is spent."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest import Domain, PrivateForestRegressor
from dpforest.accounting import BudgetAccountant
from dpforest.exceptions import ParameterError

DOMAIN = Domain(features={"a": (0, 10)}, target=(0, 1), approximate_rows=20)


@pytest.mark.filterwarnings("ignore::dpforest.exceptions.WeakSignalWarning")
def test_nothing_is_spent_where_doubles_cannot_keep_what_epsilon_makes():
    accountant = BudgetAccountant(epsilon=1)
    model = PrivateForestRegressor(
        epsilon=1e-12, domain=DOMAIN, strategy="additive", accountant=accountant
    )
    with pytest.raises(ParameterError, match="must leave more for the noise"):
        model.fit(np.zeros((20, 1)), np.zeros(20))
    assert accountant.spent.epsilon == 0
