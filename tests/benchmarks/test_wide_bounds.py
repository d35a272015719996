"""Bounds made wider, for what generous ones cost."""

from __future__ import annotations

import pytest
import wide_bounds
from wide_bounds import is_wide, widened

from dpforest import Domain, NumericFeature

AGE = NumericFeature(name="age", lower=0, upper=120, integer=True)
DOMAIN = Domain(
    features=[
        AGE,
        NumericFeature(name="share", lower=0.25, upper=1),
        NumericFeature(name="step", lower=-3, upper=4, integer=True, missing=True),
        {"name": "sex", "kind": "categorical", "categories": ["f", "m"]},
    ],
    classes=["no", "yes"],
)


@pytest.mark.parametrize("times", [1, 2, 8])
def test_numbers_get_wider_and_all_else_stays(times):
    wide = widened(DOMAIN, times)
    for before, after in zip(DOMAIN.features[:3], wide.features[:3], strict=True):
        width = after.upper - after.lower
        assert width == pytest.approx(times * (before.upper - before.lower), abs=1)
        assert after.lower <= before.lower and after.upper >= before.upper
        assert (after.lower == before.lower) is (before.lower >= 0 or times == 1)
        assert before.model_copy(update={"lower": after.lower, "upper": after.upper}) == after
        # Still a feature that may be declared: whole ends where values are whole.
        assert NumericFeature.model_validate(after.model_dump()) == after
    assert wide.features[3] == DOMAIN.features[3] and wide.classes == DOMAIN.classes


def test_only_tables_with_a_wide_feature_are_asked():
    assert is_wide(DOMAIN)
    assert not is_wide(Domain(features={"a": (0, 5)}, classes=["no", "yes"]))


def test_a_line_is_reported_beside_the_declared_bounds(capsys):
    asked = wide_bounds.argparse.Namespace(times=[8], signals=[60.0], seeds=1)
    fit = {"dataset": "one", "epsilon": 60.0, "seed": 0, "n_classes": 2}
    lines = [
        {**fit, "model": "refitted × 1", "accuracy": 0.80, "auc": 0.90, "log_loss": 0.5},
        {**fit, "model": "refitted × 8", "accuracy": 0.79, "auc": 0.88, "log_loss": 0.6},
    ]
    wide_bounds.report(asked, lines)
    said = capsys.readouterr().out
    assert said == "refitted × 8, two classes, R√(2/K) 60, 1: -1.00 / -20.00 / +100.00\n"
