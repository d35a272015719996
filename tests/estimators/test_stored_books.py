"""Books of a stored model: no leaf about its accountant and fits can be edited unseen."""

from __future__ import annotations

import copy
import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from dpforest import (
    BudgetAccountant,
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    ReportError,
    verify_report,
)
from dpforest.accounting import FrozenLedger
from dpforest.accounting.ledger import LossRecord
from dpforest.accounting.losses import PrivacyLoss
from dpforest.exceptions import ModelFormatError

DOMAIN = Domain(features={"age": (0, 100)}, classes=["a", "b"], approximate_rows=400)
#: What follows from nothing else in the file, and stands in no report: shown as not verified.
OF_OTHER_FITS = re.compile(r"lineage|earlier_fits\[\d+\]\..*")
FIRST_OF_TWO = re.compile(r"ledger\.scopes\.children\[0\]\.")
#: Only a report speaks of these, so it takes one to find them edited.
BY_THE_REPORT = re.compile(
    r"fit\.(parameters|plan|versions)\..*|fit\.(seeded|seed_reused|observed|streamed|leaks)"
    r"|fit\.listing\.(rho|delta)|fit\.(external|leaks)"
    r"|ledger\.scopes\..*"
)
BOOKS = ("version", "spent", "guarantee", "fit", "lineage", "earlier_fits", "scope", "ledger")


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in inside:
        if isinstance(value, (dict, list)) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


def dotted(path: tuple[Any, ...]) -> str:
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")


def others(value: Any) -> list[Any]:
    """Other values that a forger may write in its place."""
    if isinstance(value, bool):
        return [not value, int(value)]
    if isinstance(value, (int, float)):
        return [value * 2 + 1, float(value) if isinstance(value, int) else str(value)]
    if isinstance(value, str):
        return [f"{value}0", "3x", "1e2000000", None]
    return ["x", [1], {"x": 1}]


def edited(data: Any, path: tuple[Any, ...], value: Any) -> str:
    data = copy.deepcopy(data)
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(data)


def shared() -> tuple[MultinomialForestClassifier, str]:
    """The second fit on a shared accountant, and the text of its report."""
    accountant = BudgetAccountant(3, "1e-6", name="the survey")
    for _ in range(2):
        forest = MultinomialForestClassifier(
            epsilon=1, domain=DOMAIN, n_estimators=1, max_depth=1, accountant=accountant
        ).fit([[1], [60]], ["a", "b"])
    return forest, forest.privacy_report().to_json()


def own() -> tuple[MultinomialForestClassifier, str]:
    forest = MultinomialForestClassifier(epsilon=1, domain=DOMAIN, n_estimators=1, max_depth=1)
    return forest.fit([[1], [60]], ["a", "b"]), forest.privacy_report().to_json()


def certified() -> tuple[PrivateForestClassifier, str]:
    accountant = BudgetAccountant(9, "1e-5")
    forest = PrivateForestClassifier(
        epsilon=1, delta="1e-6", domain=DOMAIN, strategy="one_shot", accountant=accountant
    )
    return forest.fit([[1], [60]], ["a", "b"]), forest.privacy_report().to_json()


MODELS = {"shared": shared, "own": own, "certified": certified}


@pytest.fixture(scope="module", params=MODELS)
def books(request: pytest.FixtureRequest) -> Any:
    forest, report = MODELS[request.param]()
    return type(forest), json.loads(forest.to_json()), report


def refused(kind: Any, text: str) -> bool:
    try:
        kind.from_json(text)
    except ModelFormatError:
        return True
    return False


def found(report: str, text: str) -> bool:
    try:
        verify_report(report, text)
    except ReportError:
        return True
    return False


def sample(paths: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """All but what repeats: of entries and releases in a list the first and the last."""
    return [p for p in paths if all(not isinstance(key, int) or key < 2 for key in p)]


def test_every_edit_is_refused_or_found(books):
    kind, data, report = books
    verify_report(report, json.dumps(data))
    paths = sample([path for path in leaves(data) if path[0] in BOOKS])
    assert len(paths) > 100
    two = len(data["ledger"]["scopes"]["children"]) == 2
    for path in paths:
        value = data
        for key in path:
            value = value[key]
        for other in others(value):
            text, name = edited(data, path, other), dotted(path)
            of_another = OF_OTHER_FITS.fullmatch(name) or (two and FIRST_OF_TWO.match(name))
            if refused(kind, text) or of_another:
                continue
            assert BY_THE_REPORT.fullmatch(name), (name, other)
            assert found(report, text), (name, other)


def test_what_is_taken_away_or_added_is_refused(books):
    kind, data, _ = books
    for part in ("ledger", "fit", "spent", "guarantee"):
        for key in list(data[part]):
            less = copy.deepcopy(data)
            del less[part][key]
            if not refused(kind, json.dumps(less)):
                newer = ("streamed", "reasons", "unit", "ceiling", "around")
                assert key in ("format", "version", *newer)
                assert part != "fit" or key not in ("ceiling", "around") or not data[part][key]
        assert refused(kind, edited(data, (part, "unheard of"), 1))


@pytest.mark.parametrize(
    ("places", "value"),
    [
        (("total_record",), PrivacyLoss(0, 0)),
        (("total_record",), PrivacyLoss.pure(5)),
        (("remaining_record",), PrivacyLoss.pure(5)),
        (("total_record", "remaining_record"), PrivacyLoss.pure(5)),
    ],
)
def test_consistent_figures_of_a_ceiling_or_a_remainder_are_refused(places, value, books):
    """Every figure of one amount, as a forger would write them together."""
    kind, data, _ = books
    record = json.loads(LossRecord.of(value).model_dump_json())
    for place in places:
        data = copy.deepcopy(data)
        data["ledger"][place] = {
            "epsilon": record["epsilon_float"], "delta": record["delta_float"],
            "rho": record["rho_float"], "exact": record,
        }  # fmt: skip
    assert refused(kind, json.dumps(data))


def test_a_model_with_another_name_ceiling_and_remainder_is_found():
    """All that the file says of its accountant agrees; the report of the fit does not."""
    forest, report = shared()
    data = json.loads(forest.to_json())
    other = BudgetAccountant(5, "1e-6", name="the census")
    for _ in range(2):
        made = MultinomialForestClassifier(
            epsilon=1, domain=DOMAIN, n_estimators=1, max_depth=1, accountant=other
        ).fit([[1], [60]], ["a", "b"])
    forged = json.loads(made.to_json())
    data["ledger"], data["earlier_fits"] = forged["ledger"], forged["earlier_fits"]
    assert refused(MultinomialForestClassifier, json.dumps(data))
    data["fit"] |= {key: forged["fit"][key] for key in ("charged_to", "ceiling", "listing")}
    text = json.dumps(data)
    assert MultinomialForestClassifier.from_json(text).accountant_.name == "the census"
    with pytest.raises(ReportError, match="is not what the model says"):
        verify_report(report, text)
    said = verify_report(report, forest.to_json()).taken_at_its_word
    assert any("its accountant's name and ceiling" in words for words in said)


HOSTILE = {
    "nested": '{"format": "dpforest-model", "released": ' + "[" * 10**5,
    "digits": '{"format": "dpforest-model", "version": ' + "1" * 5000 + "}",
    "a key twice": '{"format": "dpforest-model", "version": 2, "version": 1}',
    "nan": '{"format": "dpforest-model", "version": NaN}',
    "too large a number": '{"format": "dpforest-model", "version": 1e999999999}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_end_at_once_in_our_error(name):
    begin = time.process_time()
    with pytest.raises(ModelFormatError):
        MultinomialForestClassifier.from_json(HOSTILE[name])
    with pytest.raises(ModelFormatError):
        FrozenLedger.from_json(HOSTILE[name].replace("dpforest-model", "dpforest-ledger"))
    assert time.process_time() - begin < 2


def test_ledgers_are_read_strictly():
    accountant = BudgetAccountant(3, "1e-6", name="the survey")
    text = accountant.to_json()
    assert FrozenLedger.from_json(text) == accountant.frozen()
    for amount in ("3x", "1e2000000", "1_0", "१", "1/0", ""):
        with pytest.raises(ModelFormatError, match="not an exact amount"):
            FrozenLedger.from_json(text.replace('"epsilon": "3"', f'"epsilon": "{amount}"', 1))
    with pytest.raises(ModelFormatError, match="the key 'name' occurs twice"):
        FrozenLedger.from_json(text.replace('"name"', '"name": null, "name"', 1))


# -- of an earlier version -------------------------------------------------------------------------


def test_models_of_version_1_are_read_and_what_was_converted_is_made_anew():
    forest, _ = shared()
    data = json.loads(forest.to_json())
    data["version"] = data["ledger"]["version"] = 1
    data["released"] = data["released"]["model"]  # of trees alone
    del data["fit"]["ceiling"]
    data["ledger"]["spent_record"] |= {"epsilon": 0.5, "delta": 1e-6}  # as it was converted
    read = MultinomialForestClassifier.from_json(json.dumps(data))
    assert read.accountant_ == forest.accountant_.frozen()
    assert json.loads(read.to_json())["version"] == 3
    report, own = (kept.privacy_report().model_dump() for kept in (read, forest))
    differing = {name for name in report if report[name] != own[name]}
    assert differing == {"versions", "digest"}
    data["version"] = 2
    with pytest.raises(ModelFormatError, match="not the one that its fit was charged to"):
        MultinomialForestClassifier.from_json(json.dumps(data))
