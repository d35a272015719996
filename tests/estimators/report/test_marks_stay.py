"""No fit publishes whether a documented bound is the table's extreme; the curator alone sees it."""

from __future__ import annotations

import json
import pickle
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest import (
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    ReportError,
    WeakSignalWarning,
    verify_report,
)
from dpforest.report.making import report_digest

#: Documented, whatever the table holds.
LOWER, UPPER = 17.0, 90.0
MODELS = {
    "multinomial": (MultinomialForestClassifier, {"n_estimators": 1, "max_depth": 1}),
    "classifier": (PrivateForestClassifier, {"strategy": "one_shot"}),
    "regressor": (PrivateForestRegressor, {"strategy": "one_shot"}),
}


def documented(X, y) -> Domain:
    """The curator's flow: draft, replace every fact by the documented one, name sources."""
    facts = json.loads(Domain.draft(X, y).to_json())
    facts["features"][0] |= {"lower": LOWER, "upper": UPPER, "integer": True}
    facts["features"][1] |= {"categories": ["red", "green"]}
    if "target" in facts:
        facts["target"] |= {"lower": 0.5, "upper": 9.0}
    else:
        facts["classes"]["labels"] = ["ill", "well"]
    for entry in (*facts["features"], facts.get("classes") or facts["target"]):
        entry["source"] = "codebook"
    facts["approximate_rows"] = 40
    return Domain.from_json(json.dumps(facts)).confirmed("me")


def tables(extreme, kind):
    """A table with one record at a documented bound, and the same without the record."""
    X = [[30 + i, ("red", "green")[i % 2]] for i in range(12)]
    y = [1 + i / 7 if kind == "regressor" else ("ill", "well")[i % 2] for i in range(12)]
    bounds = {LOWER: 0.5, UPPER: 9.0}
    mine = bounds[extreme] if kind == "regressor" else "ill"
    return ([[int(extreme), "red"], *X], [mine, *y]), (X, y)


def published(kind, domain, X, y) -> dict[str, str]:
    """Everything that a fit shows, stores or tells, from one seed."""
    cls, parameters = MODELS[kind]
    model = cls(epsilon=1, domain=domain, random_state=3, **parameters)
    model.fit(X, y)
    report = model.privacy_report()
    stored = json.loads(model.to_json())
    stored.pop("lineage")  # a name that is drawn at random
    return {
        "markdown": report.to_markdown(),
        "JSON": report.to_json(),
        "page": report.to_html(),
        "model": json.dumps(stored),
        "read again": repr(cls.from_json(model.to_json()).domain_),
        "plain": model.to_plain(),
        "fingerprint": model.fingerprint_,
        "shown": repr(model) + repr(report) + repr(model.domain_) + str(model.get_params()),
        "facts": model.domain_.to_json() + model.domain_.fingerprint(),
        "encoder": repr(model._encoder_.domain.model_dump()),
        "pickle": repr(pickle.loads(pickle.dumps(model)).domain.model_dump()),
    }


pytestmark = [
    pytest.mark.filterwarnings("ignore::dpforest.DraftedBoundsWarning"),
    pytest.mark.filterwarnings("ignore::dpforest.WeakSignalWarning"),
]


@pytest.mark.parametrize("extreme", [LOWER, UPPER])
@pytest.mark.parametrize("kind", MODELS)
def test_a_draft_with_and_without_the_record_at_a_bound_publish_the_same(kind, extreme):
    """One table is fitted, so that nothing but the two curators' domains could differ."""
    whole, without = tables(extreme, kind)
    one, other = documented(*whole), documented(*without)
    assert one.bounds_as_drafted and not other.bounds_as_drafted
    first, second = (published(kind, domain, *without) for domain in (one, other))
    assert {name for name in first if first[name] != second[name]} == set()


#: Leaves that follow from what was released, noise and all.
NOISY = ("model_fingerprint", "digest")


@pytest.mark.parametrize("extreme", [LOWER, UPPER])
def test_each_with_its_own_table_report_the_same(extreme):
    """The whole flow, each curator with the own table: only what is released may differ."""
    reports = []
    for X, y in tables(extreme, "classifier"):
        report = json.loads(published("multinomial", documented(X, y), X, y)["JSON"])
        reports.append({k: v for k, v in report.items() if k not in NOISY})
    assert reports[0] == reports[1]


values = st.lists(st.sampled_from([17, 30, 41, 90]), min_size=2, max_size=8)


@settings(max_examples=60, deadline=None)
@given(values, values, st.sampled_from([LOWER, 0.0]), st.sampled_from([UPPER, 120.0]))
def test_no_table_decides_what_a_fit_takes(first, second, lower, upper):
    """Any two tables, and bounds that may or may not be their extremes."""
    taken = []
    for column in (first, second):
        labels = [i % 2 for i in range(len(column))]
        facts = json.loads(Domain.draft([[v, "a"] for v in column], labels).to_json())
        facts["features"][0] |= {"lower": lower, "upper": upper, "source": "codebook"}
        domain = Domain.from_json(json.dumps(facts)).confirmed("me")
        taken.append((domain.without_marks(), domain.fingerprint(), domain.began_as_drafts))
    assert taken[0] == taken[1]
    assert pickle.dumps(taken[0]) == pickle.dumps(taken[1])


def test_the_estimators_parameter_stays_what_was_passed_and_its_pickle_has_no_marks():
    from sklearn.base import clone

    whole, _ = tables(LOWER, "classifier")
    domain = documented(*whole)
    model = MultinomialForestClassifier(epsilon=1, domain=domain, max_depth=1)
    for fitted in (model, model.fit(*whole)):
        assert fitted.get_params()["domain"] is domain and domain.bounds_as_drafted
        again = pickle.loads(pickle.dumps(fitted))
        assert again.domain == domain.without_marks() and not again.domain.bounds_as_drafted
    assert clone(model).domain == domain


def test_a_stored_model_with_marks_is_read_without_them():
    whole, _ = tables(LOWER, "classifier")
    fitted = MultinomialForestClassifier(epsilon=1, domain=documented(*whole), max_depth=1)
    content = json.loads(fitted.fit(*whole).to_json())
    assert content["domain"]["features"][0]["drafted"] == {}
    content["domain"]["features"][0]["drafted"] = {"lower": LOWER}
    again = MultinomialForestClassifier.from_json(json.dumps(content))
    assert not again.domain_.bounds_as_drafted and not again.domain.bounds_as_drafted


def test_a_report_with_marks_is_no_report_of_ours():
    whole, _ = tables(LOWER, "classifier")
    model = MultinomialForestClassifier(epsilon=1, domain=documented(*whole), max_depth=1)
    report = model.fit(*whole).privacy_report()
    verify_report(report)
    report.domain["features"][0]["drafted"]["lower"] = LOWER
    forged = report.model_copy(update={"digest": report_digest(report)})
    with pytest.raises(ReportError, match="drafted"):
        verify_report(forged)


def test_a_fit_says_nothing_of_them():
    """The curator's warning is given where facts are confirmed, and by no fit."""
    whole, _ = tables(LOWER, "classifier")
    domain = documented(*whole)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MultinomialForestClassifier(epsilon=1, domain=domain, max_depth=1).fit(*whole)
    assert {warning.category for warning in caught} <= {WeakSignalWarning}
