"""Every honest report verifies, whichever fit of a history it is of, and edited ones do not."""

from __future__ import annotations

import contextlib
import json
import math
import warnings
from fractions import Fraction
from typing import Any

import pytest

from dpforest import (
    BudgetAccountant,
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    ReportError,
    dask,
    verify_report,
)
from dpforest.accounting.verify import sole_certificate
from dpforest.estimators.fitting import Fit
from dpforest.estimators.training import Training
from dpforest.exceptions import BudgetExceeded, ParameterError
from dpforest.report.digests import digest_of
from dpforest.streams import BatchStream
from dpforest.trees.strategies import ASKED

pytestmark = pytest.mark.usefixtures("quick_learners")
N = 60
FEATURES = {"age": (0, 100), "colour": ["red", "green", "blue"]}
X = [[i % 100, ("red", "green", "blue")[i % 3]] for i in range(N)]
Y = ["ill" if i % 3 else "well" for i in range(N)]
TARGETS = [float(i % 10) for i in range(N)]
DELTA = "1e-6"


def domain(rows: int | None = 400) -> Domain:
    return Domain(features=FEATURES, classes=["ill", "well"], approximate_rows=rows)


def fitted(forest: Any, records: Any = X, labels: Any = Y) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(records, BatchStream):
            Fit(forest).run(records, None)  # as a Dask table is fitted, without a cluster
            return forest
        return forest.fit(records, labels)


def failing(monkeypatch: pytest.MonkeyPatch, forest: Any, after: bool) -> None:
    """A fit that an error ends in the middle, or once everything was released."""
    kind, place = (Fit, "_finish") if after else (Training, "train")
    train = getattr(kind, place)

    def stop(self: Any, *arguments: Any) -> None:
        train(self, *arguments)
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(kind, place, stop)
        with pytest.raises(RuntimeError):
            fitted(forest)


def assert_all_hold(forests: list[Any], certified: bool | None = None) -> None:
    for forest in forests:
        report = forest.privacy_report()
        found = verify_report(report, forest)
        assert "plan and settings" in found.held
        verify_report(report.to_json(), forest.to_json())
        if certified is not None:
            assert (sole_certificate(report.composition) is not None) == certified


KINDS: dict[str, Any] = {
    "published": lambda **given: MultinomialForestClassifier(
        epsilon=1, domain=domain(), n_estimators=2, max_depth=1, **given
    ),
    **{
        name: lambda name=name, **given: PrivateForestClassifier(
            epsilon=1, domain=domain(), strategy=name, **given
        )
        for name in ("auto", *ASKED)
    },
}
CERTIFIED = {(kind, DELTA) for kind in ("refitted", "boosted", "additive", "one_shot")}


@pytest.mark.parametrize("delta", [0, DELTA])
@pytest.mark.parametrize("kind", KINDS)
def test_two_fits_and_failed_ones_between(kind, delta, monkeypatch):
    accountant = BudgetAccountant(40, delta="1e-3", name="survey")
    first = fitted(KINDS[kind](delta=delta, accountant=accountant))
    failing(monkeypatch, KINDS[kind](delta=delta, accountant=accountant), after=False)
    failing(monkeypatch, KINDS[kind](delta=delta, accountant=accountant), after=True)
    second = fitted(KINDS[kind](delta=delta, accountant=accountant))
    assert second._composition().label.endswith(" #4")
    assert_all_hold([first, second], certified=True if (kind, delta) in CERTIFIED else None)
    assert "grants no more than (40, 0.001) in all" in str(second.privacy_report())


@pytest.mark.parametrize("kind", ["published", "one_shot", "refitted"])
def test_ten_fits(kind):
    accountant = BudgetAccountant(9, delta="1e-5")
    forests = [fitted(KINDS[kind](delta=DELTA, accountant=accountant)) for _ in range(10)]
    assert_all_hold(forests)
    assert accountant.loss.delta == 0


@pytest.mark.parametrize("delta", [0, DELTA])
def test_a_bought_number_of_records(delta):
    accountant = BudgetAccountant(40, delta="1e-3")
    forests = [
        fitted(
            PrivateForestClassifier(
                epsilon=2, delta=delta, domain=domain(None), strategy=name, accountant=accountant
            )
        )
        for name in ("one_shot", "auto", "one_shot")
    ]
    assert_all_hold(forests)


@pytest.mark.parametrize("size", [2, 3])
def test_units(size):
    accountant = BudgetAccountant(9, delta="1e-3")
    made = [
        KINDS["one_shot"](delta=DELTA, max_records_per_unit=size, accountant=accountant)
        for _ in range(2)
    ]
    assert_all_hold([fitted(forest) for forest in made], certified=True)


def parts() -> BatchStream:
    return BatchStream([(X[:40], Y[:40]), (X[40:], Y[40:])])


def test_streams_dask_and_a_table_on_one_accountant():
    accountant = BudgetAccountant(40, delta="1e-3")
    given = {"epsilon": 1, "delta": DELTA, "domain": domain(), "accountant": accountant}
    streamed = [fitted(PrivateForestClassifier(**given), parts()) for _ in range(2)]
    # As a Dask table is fitted, but with records that need no cluster.
    on_dask = [fitted(dask.DaskPrivateForestClassifier(**given), parts()) for _ in range(2)]
    in_memory = fitted(PrivateForestClassifier(**given))
    assert_all_hold([*streamed, *on_dask, in_memory])


@pytest.mark.parametrize("rows", [400, 10**5])
def test_regressions_with_and_without_a_bought_range(rows):
    target = Domain(features=FEATURES, target=(0, 1000), approximate_rows=rows)
    accountant = BudgetAccountant(40, delta="1e-3")
    given = {"epsilon": 1, "delta": DELTA, "domain": target, "strategy": "one_shot"}
    alone = fitted(PrivateForestRegressor(**given), X, TARGETS)
    forests = [
        fitted(PrivateForestRegressor(**given, accountant=accountant), X, TARGETS) for _ in range(2)
    ]
    assert_all_hold([alone, *forests])
    bought = [entry.role for entry in forests[0]._composition().entries]
    assert bought == (["range of the target"] if rows > 400 else [])
    for forest in forests:
        assert forest.guarantee_.epsilon == alone.guarantee_.epsilon <= 1
        assert forest.guarantee_.delta == alone.guarantee_.delta == 1e-6
        assert forest._composition().charged.loss.delta == 0
    assert accountant.loss.delta == 0


def test_diffprivlib_is_charged_in_rho():
    class Accountant:
        def total(self) -> tuple[float, float]:
            return 0.0, 0.0

        remaining = total

        def check(self, epsilon: float, delta: float) -> bool:
            return True

        def spend(self, epsilon: float, delta: float) -> None:
            pass

    ceiling = Accountant()
    forests = [fitted(KINDS["one_shot"](delta=DELTA, accountant=ceiling)) for _ in range(2)]
    assert_all_hold(forests, certified=False)


# -- alone on its accountant ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["one_shot", "refitted"])
def test_a_fit_that_is_all_its_accountant_grants(kind):
    accountant = BudgetAccountant(1, delta=DELTA, name="one fit")
    forest = fitted(KINDS[kind](delta=DELTA, accountant=accountant))
    assert_all_hold([forest], certified=True)
    assert accountant.loss.delta == Fraction(DELTA)
    assert accountant.remaining.epsilon == accountant.remaining.rho == 0
    with pytest.raises(BudgetExceeded):
        fitted(KINDS[kind](delta=DELTA, accountant=accountant))


def test_ten_small_fits_under_one_ceiling_with_the_noise_that_each_has_alone():
    """Ten at (0.5, 1e-6) pass under (1.66, 1e-5); by their certificates they would come to 5."""
    pytest.importorskip("dp_accounting")  # other conversions give the ceiling less rho
    alone = fitted(KINDS["refitted"](delta=DELTA).set_params(epsilon="0.5"))
    accountant = BudgetAccountant("1.66", delta="1e-5")
    forests = [
        fitted(KINDS["refitted"](delta=DELTA, accountant=accountant).set_params(epsilon="0.5"))
        for _ in range(10)
    ]
    for forest in forests:
        assert forest.guarantee_ == alone.guarantee_
        assert (forest.guarantee_.epsilon, forest.guarantee_.delta) == (0.5, 1e-6)
        noise = [entry.parameters for entry in forest._composition().ledger]
        assert noise == [entry.parameters for entry in alone._composition().ledger]
    assert accountant.loss.epsilon == math.inf and accountant.loss.delta == 0
    page = forests[-1].privacy_report().to_html()
    assert "By itself it is (0.5, 1e-06)-DP. Its accountant is shared" in page
    assert "By itself it is" not in alone.privacy_report().to_html()
    with pytest.raises(BudgetExceeded):
        fitted(KINDS["refitted"](delta=DELTA, accountant=accountant).set_params(epsilon="0.5"))
    assert_all_hold(forests[-1:], certified=True)


# -- edited ones ----------------------------------------------------------------------------------


def forged(data: Any) -> str:
    rest = {key: value for key, value in data.items() if key != "digest"}
    return json.dumps(rest | {"digest": digest_of(rest)})


def renamed(scope: Any, old: str, new: str) -> None:
    scope["label"] = new if scope["label"] == old else scope["label"]
    for entry in scope["entries"]:
        entry["path"] = [new if part == old else part for part in entry["path"]]
    for child in scope["children"]:
        renamed(child, old, new)


EDITS: dict[str, tuple[Any, str]] = {
    "label": (lambda d: d["composition"].update(label="fit: x"), "does not stand in the scope"),
    "another fit's label": (
        lambda d: renamed(d["composition"], d["composition"]["label"], "census"),
        "a name that no fit's scope has",
    ),
    "more fits than are listed": (
        lambda d: d["basis"]["listing"].update(n_fits=2),
        "its list of fits contradicts itself",
    ),
    "fits that spent less": (
        lambda d: d["basis"]["listing"].update(epsilon="1/2", epsilon_float=0.5),
        "its list of fits sums to less than this one",
    ),
    "a smaller ceiling": (
        lambda d: d["basis"]["ceiling"].update(epsilon="1/100"),
        "above its accountant's ceiling",
    ),
    "a larger ceiling": (
        lambda d: d["basis"]["ceiling"].update(epsilon="100"),
        "notices",
    ),
    "no ceiling": (lambda d: d["basis"].update(ceiling=None), "names a ceiling and no accountant"),
    "a ceiling that stalls": (
        lambda d: d["basis"]["ceiling"].update(epsilon="1e2000000"),
        "not a dpforest-report of this version",
    ),
    "an amount that stalls": (
        lambda d: d["composition"]["charged"].update(epsilon="1e2000000"),
        "not a dpforest-report of this version",
    ),
    "an amount that is none": (
        lambda d: d["composition"]["composed"].update(rho="3x"),
        "not a dpforest-report of this version",
    ),
    "the certificate instead": (
        lambda d: d["composition"]["children"][0].update(
            reserve=d["composition"]["children"][0]["reserve"] | {"epsilon": "1", "delta": "1/9"}
        ),
        "not what was set aside",
    ),
}


@pytest.fixture(scope="module")
def second() -> Any:
    """The text of the report of a second fit that is certified."""
    accountant = BudgetAccountant(9, delta="1e-5", name="survey")
    for _ in range(2):
        forest = fitted(KINDS["one_shot"](delta=DELTA, accountant=accountant))
    return forest.privacy_report().to_json()


@pytest.mark.parametrize("edit", EDITS)
def test_edits_are_found_with_a_fitting_digest(edit, second):
    if edit == "a smaller ceiling":
        pytest.importorskip("dp_accounting")  # without it nothing is said of a ceiling in rho
    change, problem = EDITS[edit]
    verify_report(second)
    data = json.loads(second)
    change(data)
    with pytest.raises(ReportError) as refused:
        verify_report(forged(data))
    assert any(problem in text for text in refused.value.problems), refused.value.problems


def test_texts_that_are_none_end_at_once_in_our_error(second):
    deep = '{"composition":' + '{"children":[' * 50_000
    texts = [deep, second[:-3] + ', "format": "dpforest-report"}', "[" * 10**5, '{"a": 1e999}']
    for text in [*texts, '{"version": ' + "2" * 5000 + "}"]:
        # What is no JSON object is taken for a path, and no such file can be read.
        with pytest.raises(ParameterError if text.startswith("[") else ReportError):
            verify_report(text)
    for model in (7, object(), b"{}", dict):
        with pytest.raises(TypeError, match="must be a private estimator, its JSON, or a path"):
            verify_report(second, model)
    with contextlib.suppress(ReportError):
        verify_report(second, "{}")
