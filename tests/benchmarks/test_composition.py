"""What a plan gains where it is composed as a whole, as the benchmark reads it off plans."""

from __future__ import annotations

from fractions import Fraction

import composition
import pytest

from dpforest import Domain
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.fit_plan import table_facts

DOMAIN = Domain(features={"a": (0, 9), "b": (0, 9)}, classes=["no", "yes"])


@pytest.mark.parametrize("name", composition.NOISES)
def test_leaves_have_less_noise_where_a_plan_is_composed_as_a_whole(name):
    facts = table_facts(DomainEncoder(DOMAIN), 2_000.0)
    ratio, _ = composition._ratio(name, facts, Fraction(1), Fraction(1, 10**6))
    assert 0.5 < ratio < 0.99
