"""max_records_per_unit: the asked (epsilon, delta) holds for a unit that owns up to k records."""

from __future__ import annotations

import copy
import json
import math
from fractions import Fraction as F

import numpy as np
import pytest

from dpforest import (
    BudgetAccountant,
    BudgetExceeded,
    Domain,
    MultinomialForestClassifier,
    ParameterError,
    PrivateForestClassifier,
    PrivateForestRegressor,
    ReportError,
    diff_reports,
    verify_report,
)
from dpforest.accounting.conversion import rho_of_epsilon
from dpforest.accounting.ledger_check import is_within
from dpforest.accounting.verify import sole_certificate, verify_composition
from dpforest.exceptions import ModelFormatError, ParameterTypeError, WeakSignalWarning
from dpforest.report.budget import picture_of

pytestmark = [
    pytest.mark.usefixtures("quick_learners"),
    pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning"),
]
DELTA = 1e-6
UNIT = "one privacy unit (such as a person) that owns up to 3 records"

PRIVATE = [
    {"strategy": "rules"},
    {"strategy": "one_shot"},
    {"strategy": "one_shot", "delta": DELTA},
    {"strategy": "refitted", "delta": DELTA},
    {"strategy": "boosted", "delta": DELTA},
    {"strategy": "boosted"},
    {"strategy": "additive", "delta": DELTA},
    {"strategy": "additive"},
    {"strategy": "rules", "delta": DELTA},
    {"strategy": "auto", "rows": None},
    {"strategy": "refitted", "delta": DELTA, "rows": None},
    {"strategy": "refitted", "delta": DELTA, "shared": True},
    {"strategy": "one_shot", "shared": True},
    {"strategy": "refitted", "delta": DELTA, "rows": None, "shared": True},
]


def with_rows(domain: Domain, rows: int | None) -> Domain:
    return domain.model_copy(update={"approximate_rows": rows})


@pytest.fixture
def fit(domain, table):
    """A fit for units of three records; any parameter may be overridden."""

    def make(rows: int | None = 60, shared: bool = False, **parameters):
        settings = {"epsilon": 6, "domain": with_rows(domain, rows), "max_records_per_unit": 3}
        settings |= parameters
        if shared:
            settings["accountant"] = BudgetAccountant(
                settings["epsilon"], parameters.get("delta", 0)
            )
        return PrivateForestClassifier(**settings).fit(*table(60))

    return make


def assert_holds_for_units(forest, epsilon: float, delta: float) -> None:
    guarantee = forest.guarantee_
    assert guarantee.status == "holds" and guarantee.unit == UNIT
    assert guarantee.sentence.endswith(f"-differentially private when {UNIT} is added or removed.")
    native, replaced = guarantee.bounds
    assert (native.relation, replaced.relation) == (
        "add or remove all records of one unit",
        "replace all records of one unit",
    )
    assert native.epsilon <= epsilon and native.delta in (0, delta)
    assert native.epsilon >= 0.7 * epsilon
    assert native.epsilon < replaced.epsilon <= 2.6 * epsilon
    record = forest._composition()
    assert (record.kind, record.records_per_unit) == ("units", 3)


@pytest.mark.parametrize("case", PRIVATE, ids=lambda case: " ".join(map(str, case.values())))
def test_the_asked_budget_is_a_units(case, fit):
    forest = fit(**case)
    assert_holds_for_units(forest, 6, case.get("delta", 0))
    books = forest.accountant_
    assert verify_composition(books.composition()) == ()
    assert forest.spent_.epsilon <= 6
    total = books.total.exact
    assert is_within(books.composition().charged.loss, total.epsilon, total.delta)
    report = forest.privacy_report()
    verify_report(report.to_json(), forest)
    again = PrivateForestClassifier.from_json(forest.to_json())
    assert again.guarantee_ == forest.guarantee_ and again.max_records_per_unit == 3


@pytest.mark.parametrize("case", PRIVATE[:2], ids=lambda case: case["strategy"])
def test_in_pure_epsilon_it_is_the_fit_of_a_kth_of_the_budget(case, fit):
    units = fit(**case, random_state=1)
    records = fit(**case, epsilon=2, max_records_per_unit=1, random_state=1)
    assert units._released().to_data() == records._released().to_data()
    entries = [entry.model_dump(exclude={"path"}) for entry in units._composition().ledger]
    assert entries == [
        entry.model_dump(exclude={"path"}) for entry in records._composition().ledger
    ]
    assert units.spent_.exact.epsilon == 3 * records.spent_.exact.epsilon
    assert units.spent_.exact.rho == 9 * records.spent_.exact.rho


def test_beside_other_fits_a_unit_pays_k_squared_in_rho(fit):
    accountant = BudgetAccountant(20, DELTA)
    forests = [fit(strategy="refitted", delta=DELTA, accountant=accountant) for _ in range(2)]
    for forest in forests:
        inside = sum((entry.loss.rho for entry in forest._composition().ledger), F(0))
        assert forest.spent_.exact.rho == forest._composition().charged.loss.rho == 9 * inside
        assert (forest.guarantee_.epsilon, forest.guarantee_.delta) == (6, 1e-6)
    assert accountant.loss.rho == 2 * 9 * inside and accountant.loss.delta == 0
    assert verify_composition(accountant.composition()) == ()


def test_composed_as_a_whole_the_list_is_a_units(fit):
    forest = fit(strategy="refitted", delta=DELTA)
    certificate = sole_certificate(forest._composition())
    assert certificate.records_per_unit == 3 and certificate.holds
    assert certificate.loss == forest.spent_.exact
    assert certificate.rho > rho_of_epsilon(F(6), F(1, 10**6))  # it takes less noise than rho
    pure = fit(strategy="refitted", delta=DELTA, epsilon=2, max_records_per_unit=1)
    own = sole_certificate(pure._composition())
    # delta grows for a group of three, so a third of epsilon at the same delta would not do.
    assert own.rho * 9 > certificate.rho


def test_a_shared_accountant_counts_in_units(domain, table):
    accountant = BudgetAccountant(1)
    forest = PrivateForestClassifier(
        epsilon=1, domain=with_rows(domain, 60), accountant=accountant, max_records_per_unit=4,
        strategy="one_shot",
    ).fit(*table(60))  # fmt: skip
    assert accountant.spent.epsilon == 1.0 and forest.spent_.epsilon == 1.0
    with pytest.raises(BudgetExceeded):
        forest.fit(*table(60))


@pytest.mark.parametrize("parameters", [{}, {"delta": DELTA}, {"allocation": "theorem2"}])
def test_the_multinomial_forest(make_forest, table, parameters):
    if "allocation" in parameters:
        parameters = {**parameters, "partition_rate": 1}
    forest = make_forest(epsilon=6, max_records_per_unit=3, **parameters).fit(*table(60))
    assert_holds_for_units(forest, 6, parameters.get("delta", 0))
    report = forest.privacy_report()
    verify_report(report.to_json(), forest)
    again = MultinomialForestClassifier.from_json(forest.to_json())
    assert again.guarantee_ == forest.guarantee_
    assert report.plan["unit of privacy"] == "owns up to 3 records, and pays for all of them"
    if not parameters:
        plain = make_forest(epsilon=2, random_state=3).fit(*table(60))
        units = make_forest(epsilon=6, max_records_per_unit=3, random_state=3).fit(*table(60))
        assert units._released().to_data() == plain._released().to_data()


@pytest.mark.parametrize("rows", [60, None, 4000])
@pytest.mark.parametrize("delta", [0, DELTA])
def test_the_regressor(rows, delta):
    """With many rows it buys the range of the target as well."""
    domain = Domain(features={"age": (0, 100)}, target=(0, 10), approximate_rows=rows)
    generator = np.random.default_rng(0)
    X = generator.uniform(0, 100, (80, 1))
    forest = PrivateForestRegressor(
        epsilon=6, delta=delta, domain=domain, max_records_per_unit=3, strategy="one_shot"
    ).fit(X, X[:, 0] / 10)
    assert_holds_for_units(forest, 6, delta)
    verify_report(forest.privacy_report().to_json(), forest)
    roles = [entry.role for entry in forest._composition().ledger]
    assert ("range of the target" in roles) == (rows == 4000)


def test_a_plan_is_priced_for_a_unit(domain):
    declared = with_rows(domain, 5000)
    units = PrivateForestClassifier(epsilon=6, domain=declared, max_records_per_unit=3)
    records = PrivateForestClassifier(epsilon=2, domain=declared)
    assert units.plan().signal == records.plan().signal
    assert [3 * part.epsilon for part in records.plan().parts] == pytest.approx(
        [part.epsilon for part in units.plan().parts]
    )
    assert sum(part.share for part in units.plan().parts) == pytest.approx(1.0, abs=0.05)
    assert "unit of privacy" in units.plan().details
    assert "unit of privacy" not in records.plan().details


def test_units_make_a_budget_hopeless_sooner(domain, table):
    forest = PrivateForestClassifier(
        epsilon=1, domain=with_rows(domain, 60), max_records_per_unit=100
    )
    assert not forest.plan().teachable
    with pytest.warns(WeakSignalWarning):
        forest.fit(*table(60))


@pytest.mark.parametrize("size", [0, -3])
def test_a_unit_owns_a_record(size, domain, table):
    forest = PrivateForestClassifier(epsilon=1, domain=domain, max_records_per_unit=size)
    with pytest.raises(ParameterError, match="max_records_per_unit=.*must be at least 1"):
        forest.fit(*table(60))
    with pytest.raises(ParameterError, match="max_records_per_unit=.*must be at least 1"):
        forest.plan()


@pytest.mark.parametrize("size", [2.5, "2", True, None])
def test_a_number_of_records_is_whole(size, make_forest, table):
    accountant = BudgetAccountant(1)
    with pytest.raises(ParameterTypeError, match="max_records_per_unit=.*must be a whole number"):
        make_forest(max_records_per_unit=size, accountant=accountant).fit(*table(60))
    assert accountant.spent.epsilon == 0


def test_a_numpy_number_will_do(make_forest, table):
    forest = make_forest(max_records_per_unit=np.int64(3)).fit(*table(60))
    verify_report(forest.privacy_report().to_json(), forest)


# -- the report ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forest():
    domain = Domain(features={"age": (0, 100)}, classes=["ill", "well"], approximate_rows=60)
    X = np.random.default_rng(0).uniform(0, 100, (60, 1))
    y = np.where(X[:, 0] > 50, "ill", "well")
    return MultinomialForestClassifier(
        epsilon=6, domain=domain, max_records_per_unit=3, n_estimators=2, max_depth=2
    ).fit(X, y)


def test_the_report_names_the_unit_and_whose_promise_it_is(forest):
    report = forest.privacy_report()
    promised = [
        notice.text
        for notice in report.notices
        if "whoever fitted the model promised" in notice.text
    ]
    assert len(promised) == 1 and "more than 3 records" in promised[0]
    markdown, page = report.to_markdown(), report.to_html()
    assert f"Privacy unit: {UNIT}." in markdown
    assert "(units of up to 3 records, amounts inside are for one record)" in markdown
    assert f"Privacy unit: {UNIT}." in page
    assert "Whoever fitted the model promised that nobody owns more records" in page
    assert "pays k·ε and k²·ρ" in page and "Here: k = 3." in page
    assert "all records of one privacy unit are added or removed" in page
    assert "if the records (up to 3) of one privacy unit, such as a person, had not been" in page
    assert "if one record had not been" not in page and "several records in the table" not in page


def test_the_picture_of_a_units_budget_adds_up_by_use_to_what_it_pays(forest):
    picture = picture_of(forest.privacy_report())
    amounts = [F(bar.amount.ratio or bar.amount.text) for bar in picture.views[1].bars]
    assert sum(amounts) == F(picture.total.ratio or picture.total.text) == 6
    # The same on both sides is not "more than".
    note = "Requests added up as if all records of one privacy unit (up to 3) had met all of them."
    assert [view.note for view in picture.views[1:]] == [note] * 2


def test_what_ran_in_parallel_adds_up_to_more_than_it_composes_to(make_forest, table):
    """Two sides of a tree's records: each record meets one of them, and the sum counts both."""
    picture = picture_of(make_forest(partition_rate=1).fit(*table(60)).privacy_report())
    assert "more than what they compose to" in picture.views[1].note
    assert sum(F(bar.amount.ratio or bar.amount.text) for bar in picture.views[1].bars) > F(
        picture.total.ratio or picture.total.text
    )


def test_a_report_of_records_says_what_it_said(make_forest, table):
    page = make_forest().fit(*table(60)).privacy_report().to_html()
    assert "if one record had not been in the table" in page
    assert "A person who has several records in the table is less protected" in page


def test_the_difference_to_a_report_of_records(forest, make_forest, table):
    other = MultinomialForestClassifier(
        epsilon=6, domain=forest.domain_, n_estimators=2, max_depth=2
    ).fit(np.zeros((1, 1)), ["ill"])
    changes = diff_reports(other.privacy_report(), forest.privacy_report())
    assert any(change.what == "unit" and change.after == UNIT for change in changes.of("guarantee"))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_report_that_names_another_unit_is_refused(forest, size):
    data = json.loads(forest.privacy_report().to_json())
    data["basis"]["settings"]["max_records_per_unit"] = size
    data["parameters"]["max_records_per_unit"] = str(size)
    with pytest.raises(ReportError):
        verify_report(json.dumps(data))
    changed = copy.deepcopy(data)
    changed["composition"]["records_per_unit"] = size
    changed["composition"]["kind"] = "units" if size > 1 else "sequential"
    with pytest.raises(ReportError):
        verify_report(json.dumps(changed))


@pytest.mark.parametrize("size", [1, 2, 4])
def test_a_model_that_names_another_unit_is_refused(forest, size):
    content = json.loads(forest.to_json())
    content["parameters"]["max_records_per_unit"] = size
    with pytest.raises(
        ModelFormatError, match="budget was spent for privacy units of another size"
    ):
        MultinomialForestClassifier.from_json(json.dumps(content))


def test_diffprivlib_is_charged_for_a_replaced_unit(make_forest, table):
    library = pytest.importorskip("diffprivlib")
    ceiling = library.BudgetAccountant(epsilon=20)
    forest = make_forest(epsilon=6, max_records_per_unit=3, accountant=ceiling).fit(*table(60))
    assert ceiling.total()[0] == pytest.approx(12)
    (entry,) = forest.privacy_report().external
    assert entry["relation"] == "replace all records of one unit"
    verify_report(forest.privacy_report().to_json(), forest)
    assert math.isclose(entry["epsilon"], 12)
