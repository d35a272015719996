"""verify_report: a report that was changed anywhere, or is of another model, is refused."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dpforest
import dpforest.dask
from dpforest import ParameterError, PrivacyReport, ReportError, verify_report
from dpforest.accounting import conversion
from dpforest.accounting.ledger import LossRecord
from dpforest.accounting.losses import PrivacyLoss
from dpforest.estimators import training
from dpforest.estimators.base import PrivateEstimator
from dpforest.exceptions import ModelFormatError, NewerReportError
from dpforest.report.digests import digest_of
from dpforest.report.odds import best_guess
from dpforest.report.versions import CODE, UNKNOWN, library_versions
from dpforest.verify import planned
from dpforest.verify.replan import estimator_of
from dpforest.verify.report import OF_THE_MODEL

TYPED_IN = r"header\..*"
#: Leaves that nothing else in a report speaks about, so that without a model only the digest
#: holds them. Everything else is found out even if the digest is made anew.
BY_DIGEST_ALONE = [
    r"model_fingerprint",
    r"parameters\..*",
    r"versions\..*",
    r"domain\..*\.(name|note)|domain\.(name|note)",
    r"basis\.listing\.(rho|delta|epsilon|epsilon_float)",
    r"basis\.settings\.(verbose|n_jobs|allocation)",
    r"basis\.streamed",
    # What people typed in, which no model speaks about either.
    TYPED_IN,
    # What only the ledger speaks about (tests/ledger/test_witness.py).
    r"basis\.ledger\.(reserve|parts?|number|hash|signature|key|blocks)",
]
#: Where a plan waited for a released number of records, nothing else speaks of that number.
BY_DIGEST_WHERE_COUNTED = r"plan\.noisy number of records"


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places of all leaves; an empty list or dictionary is one."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()  # noqa: E501 # fmt: skip
    found = False
    for key, value in inside:
        found = True
        yield from leaves(value, (*path, key))
    if not found:
        yield path


def dotted(path: tuple[Any, ...]) -> str:
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")


def mutated(value: Any) -> Any:
    """Another value of the same kind, as a forger would choose it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * 0.75 + 0.1 if isinstance(value, float) else value + 1
    if isinstance(value, str):
        if value == "inf" or re.fullmatch(r"\d+(/\d+)?", value):
            return "1/1000003"
        return value[:-1] + ("0" if value[-1:] != "0" else "1") if value else "x"
    if isinstance(value, list):
        return ["x"]
    return {"x": "y"} if isinstance(value, dict) else "x"


def changed(data: Any, path: tuple[Any, ...], change: Callable[[Any], Any] = mutated) -> Any:
    """The data with one leaf changed."""
    data = copy.deepcopy(data)
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = change(place[path[-1]])
    return data


def forged(data: Any) -> str:
    """The text of a changed report with a digest that fits."""
    rest = {key: value for key, value in data.items() if key != "digest"}
    return json.dumps(rest | {"digest": digest_of(rest)})


def holds(text: str, model: Any = None) -> bool:
    try:
        verify_report(text, model)
    except ReportError:
        return False
    return True


# -- reports as they were written ---------------------------------------------------------------


def test_every_real_report_holds(model, tmp_path):
    report = model.privacy_report()
    path, model_path = tmp_path / "report.json", tmp_path / "model.json"
    report.to_json(path), model.to_json(model_path)
    alone = verify_report(report)
    waited = "number of records" in report.plan
    assert "totals of all scopes" in alone.held
    assert "plan and settings" in alone.held
    assert ("the noisy count of records, from which the rest was planned" in str(alone)) == waited
    assert ("noisy number of records" in report.plan) == waited
    assert ("decided by that noisy count" in report.plan) == waited
    assert ("every request" in report.plan["fixed before any record is read"]) != waited
    assert "no model was given" in str(alone) and "no seed" in str(alone)
    for given, of in ((report.to_json(), model), (path, model_path), (str(path), model.to_json())):
        both = verify_report(given, of)
        assert "everything against the model and its fingerprint" in both.held
        assert both.taken_at_its_word[0] == OF_THE_MODEL
        # That a noisy count came out so, no model shows either, nor what a ledger knows.
        kept = report.basis.ledger is not None
        words = ["noisy count"] * waited + ["no ledger was given"] * kept
        others = both.taken_at_its_word[1:]
        pairs = zip(words, others, strict=True)
        assert all(word in text for word, text in pairs)


def test_the_fingerprint_is_the_models_and_travels_with_it(fitted):
    model = fitted("multinomial")
    kind = type(model)
    copies = [kind.from_json(model.to_json()), pickle.loads(pickle.dumps(model)), copy.copy(model)]
    assert {duplicate.fingerprint_ for duplicate in copies} == {model.fingerprint_}
    assert model.privacy_report().model_fingerprint == model.fingerprint_
    assert re.fullmatch("[0-9a-f]{64}", model.fingerprint_)
    assert fitted("demonstration").fingerprint_ != model.fingerprint_
    with pytest.raises(Exception, match="not fitted"):
        _ = dpforest.MultinomialForestClassifier(epsilon=1).fingerprint_


@pytest.mark.parametrize("name", ["looked at last", "looked at last, pure"])
def test_a_last_look_at_the_scores_is_in_the_plan_that_is_made_again(name, fitted):
    report = fitted(name).privacy_report()
    words = "scores longer or shorter by how often they are right"
    assert report.plan["confidence"] == words and words in report.to_markdown()
    assert "plan and settings" in verify_report(report).held
    data = json.loads(report.to_json())
    assert not holds(forged(changed(data, ("plan", "confidence"))))
    del data["plan"]["confidence"]
    assert not holds(forged(data))


# -- any change -----------------------------------------------------------------------------------

MUTATED = ["multinomial by Theorem 2", "multinomial in rho", "void", "diffprivlib accountant",
           "waits for a count, in rho", "a ledger"]  # fmt: skip


@pytest.mark.parametrize("name", MUTATED)
def test_a_change_of_any_leaf_is_found(name, fitted):
    data = json.loads(fitted(name).privacy_report().to_json())
    places = list(leaves(data))
    assert len(places) > 200
    assert holds(json.dumps(data))
    assert [dotted(path) for path in places if holds(json.dumps(changed(data, path)))] == []


@pytest.mark.parametrize("name", MUTATED[:1] + MUTATED[3:])
def test_a_forged_digest_helps_only_where_nothing_else_speaks(name, fitted):
    model = fitted(name)
    data = json.loads(model.privacy_report().to_json())
    assert holds(forged(data)) and holds(forged(data), model)
    allowed = list(BY_DIGEST_ALONE)
    if name.startswith("waits"):
        allowed.append(BY_DIGEST_WHERE_COUNTED)
    texts = {p: forged(changed(data, p)) for p in leaves(data) if p != ("digest",)}
    unfound = {dotted(path): text for path, text in texts.items() if holds(text)}
    assert [p for p in unfound if not any(re.fullmatch(rule, p) for rule in allowed)] == []
    assert any(re.fullmatch(TYPED_IN, path) for path in unfound)
    seen = {path: text for path, text in unfound.items() if not re.fullmatch(TYPED_IN, path)}
    assert seen and [path for path, text in seen.items() if holds(text, model)] == []


@pytest.mark.parametrize("name", ["rules"])
def test_what_is_taken_away_or_added_is_found(name, fitted):
    data = json.loads(fitted(name).privacy_report().to_json())
    branches = {leaf[:n] for leaf in leaves(data) for n in range(1, len(leaf) + 1)}
    for path in branches:
        place = data
        for key in path[:-1]:
            place = place[key]
        kept = copy.deepcopy(place)
        del place[path[-1]]
        assert not holds(json.dumps(data)), dotted(path)
        place.clear()
        place.update(kept) if isinstance(kept, dict) else place.extend(kept)
        if isinstance(place, dict):
            place["unheard of"] = 1
            assert not holds(json.dumps(data)), dotted(path)
            del place["unheard of"]
    assert holds(json.dumps(data))


def test_numbers_of_another_kind_and_keys_twice_are_found(fitted):
    text = fitted("multinomial").privacy_report().to_json()
    version = '"version": 5'
    assert text.count(version) == 1
    for other in ('"version": 5.0', '"version": "5"', f"{version}, {version}", '"version": 3'):
        assert not holds(text.replace(version, other))
    level = re.search(r'"level": 0,', text).group(0)
    assert not holds(text.replace(level, '"level": "0",', 1))
    assert not holds(text.replace(level, '"level": 0.0,', 1))
    for nothing in ("{", "{}", "{" * 10_000, '{"format": "dpforest-report"}'):
        assert not holds(nothing)


def test_a_program_that_writes_numbers_anew_is_named(fitted):
    """jq and JavaScript write 1 for 1.0; nobody is said to have changed what a report says."""

    def anew(part):
        if isinstance(part, dict):
            return {key: anew(one) for key, one in part.items()}
        if isinstance(part, list):
            return [anew(one) for one in part]
        return int(part) if isinstance(part, float) and part.is_integer() else part

    data = json.loads(fitted("multinomial").privacy_report().to_json())
    assert json.dumps(anew(data)) != json.dumps(data)
    with pytest.raises(ReportError, match="a program that formatted the file anew"):
        verify_report(json.dumps(anew(data)))
    assert holds(json.dumps(data, separators=(",", ":"), sort_keys=True))


def test_a_report_of_a_newer_release_is_not_called_false(fitted):
    data = json.loads(fitted("multinomial").privacy_report().to_json())
    newer = json.dumps(data | {"version": data["version"] + 1, "renewal": "never"})
    with pytest.raises(NewerReportError, match="which a newer release of dpforest wrote") as caught:
        verify_report(newer)
    assert "does not hold" not in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems
    with pytest.raises(ModelFormatError, match="which a newer release wrote"):
        PrivacyReport.from_json(newer)


# -- consistent forgeries -----------------------------------------------------------------------


def halved_entries(data: Any) -> None:
    """Claim half the budget in every figure that a careless verifier would look at."""
    for bound in data["guarantee"]["bounds"]:
        bound["epsilon"] /= 2
    data["sentence"] = data["sentence"].replace("(1, 0)", "(0.5, 0)")


def cleaned(data: Any) -> None:
    data["basis"]["leaks"] = []
    data["guarantee"] |= {"status": "holds", "reasons": []}


def trees_of(data: Any) -> list[Any]:
    (trees,) = data["composition"]["children"]
    found: list[Any] = trees["children"]
    return found


def tree_dropped(data: Any) -> None:
    del trees_of(data)[1]


def total_lowered(data: Any) -> None:
    less = json.loads(LossRecord.of(PrivacyLoss.pure(0)).model_dump_json())
    trees_of(data)[0] |= {"composed": less, "charged": less}


def reserve_raised(data: Any) -> None:
    more = LossRecord.of(PrivacyLoss.pure(2))
    data["composition"]["reserve"] = json.loads(more.model_dump_json())


def misnumbered(data: Any) -> None:
    trees_of(data)[0]["entries"][0]["index"] = 7


def misplaced(data: Any) -> None:
    trees_of(data)[0]["entries"][0]["path"] = ["elsewhere"]


def unfinished(data: Any) -> None:
    data["composition"]["closed"] = False


def other_epsilon(data: Any) -> None:
    data["basis"]["settings"]["epsilon"] = 2


def a_hair_less(data: Any) -> None:
    """So little that figures of another converting library might differ by it."""
    for bound in data["guarantee"]["bounds"]:
        bound["epsilon"] *= 1 - 1e-9


FORGERIES = {
    "a hair less": ("multinomial", a_hair_less, "guarantee does not follow"),
    "half the budget": ("multinomial", halved_entries, "guarantee does not follow"),
    "no leak": ("void", cleaned, "cannot be put together"),
    "a tree less": ("multinomial", tree_dropped, "its total does not follow"),
    "a smaller total": ("multinomial", total_lowered, "tree 0: its total does not follow"),
    "a larger reserve": ("multinomial", reserve_raised, "not what its plan costs"),
    "other numbers": ("multinomial", misnumbered, "not numbered in order"),
    "another place": ("multinomial", misplaced, "does not stand in the scope"),
    "an open scope": ("multinomial", unfinished, "was not finished"),
    "another epsilon": ("multinomial", other_epsilon, "not what its plan costs"),
}


#: Parameters of a minimum that its epsilon does not speak of, as a forger would have them.
MINIMA = {
    "determinant": ["1/1000", "5"], "clip": ["1/4", "3/8", "1"], "curvature": ["1/8", "1"],
    "blocks": ["1", "5", "7/2"],
}  # fmt: skip


def minima_of(scope: Any) -> Iterator[Any]:
    for entry in scope["entries"]:
        if entry["mechanism"] == "objective perturbation":
            yield entry["parameters"]
    for child in scope["children"]:
        yield from minima_of(child)


@pytest.mark.parametrize(
    "name", ["curves at once", "curves at once, of a count", "curves at once, of a large count"]
)
@pytest.mark.parametrize("parameter", MINIMA)
def test_a_minimum_of_other_parameters_is_no_minimum_of_the_plan(parameter, name, fitted):
    data = json.loads(fitted(name).privacy_report().to_json())
    for other in MINIMA[parameter]:
        changed_data = copy.deepcopy(data)
        (parameters,) = minima_of(changed_data["composition"])
        assert parameters[parameter] != other
        parameters[parameter] = other
        with pytest.raises(ReportError, match="not what such a fit asks for|no mechanism releases"):
            verify_report(forged(changed_data))


@pytest.mark.parametrize(
    ("parameter", "other"),
    [("determinant", "9"), ("determinant", "2"), ("clip", "3/8"), ("curvature", "1/8")]
    + [("blocks", "3"), ("blocks", "7/2")],
)
def test_no_version_releases_a_minimum_that_no_mechanism_does(parameter, other, fitted):
    data = json.loads(fitted("curves at once").privacy_report().to_json())
    data["versions"]["dpforest"] = "0.0.1"
    assert holds(forged(data))
    (parameters,) = minima_of(data["composition"])
    parameters[parameter] = other
    with pytest.raises(ReportError, match="is a minimum that no mechanism releases"):
        verify_report(forged(data))


def zero_sums_of(scope: Any) -> Iterator[Any]:
    for entry in scope["entries"]:
        if entry["mechanism"] == "two-sided geometric noise that adds up to nothing":
            yield entry["parameters"]
    for child in scope["children"]:
        yield from zero_sums_of(child)


@pytest.mark.parametrize("columns", ["2", "4"])
def test_noise_adds_up_to_nothing_over_no_other_columns_than_classes(columns, fitted):
    data = json.loads(fitted("refitted, of three classes").privacy_report().to_json())
    data["versions"]["dpforest"] = "0.0.1"
    assert holds(forged(data))
    parameters = [*zero_sums_of(data["composition"])]
    assert {one["columns"] for one in parameters} == {"3"}
    parameters[0]["columns"] = columns
    with pytest.raises(ReportError, match="adds up to nothing over other columns"):
        verify_report(forged(data))


def test_no_noise_of_two_classes_adds_up_to_nothing(fitted):
    data = json.loads(fitted("looked at last, pure").privacy_report().to_json())
    data["versions"]["dpforest"] = "0.0.1"
    plain = "two-sided geometric noise"
    renamed = [
        entry
        for scope in data["composition"]["children"]
        for entry in scope["entries"]
        if entry["role"] == "leaf sums" and entry["mechanism"] == plain
    ]
    assert renamed and holds(forged(data))
    for entry in renamed:
        entry["mechanism"] = f"{plain} that adds up to nothing"
        entry["parameters"]["columns"] = "2"
    with pytest.raises(ReportError) as caught:
        verify_report(forged(data))
    assert any("adds up to nothing over other columns" in text for text in caught.value.problems)


@pytest.mark.parametrize(
    "name", ["curves at once, of a count", "waits for a count, in rho", "refitted, of a count"]
)
def test_what_was_planned_from_a_noisy_count_is_planned_again(name, fitted):
    data = json.loads(fitted(name).privacy_report().to_json())
    assert holds(forged(data))
    # Of a number that is far from it another plan is made; none, or no number, has none.
    for other in ("100000", "007", "1e3", "", "1" * 30, None):
        changed_data = copy.deepcopy(data)
        if other is None:
            del changed_data["plan"]["noisy number of records"]
        else:
            changed_data["plan"]["noisy number of records"] = other
        assert not holds(forged(changed_data)), other
    changed_data = copy.deepcopy(data)
    changed_data["plan"]["signal R"] = "1000"
    with pytest.raises(ReportError, match="its plan is not the one"):
        verify_report(forged(changed_data))


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forgeries_with_a_fitting_digest(forgery, fitted):
    name, forge, reason = FORGERIES[forgery]
    data = json.loads(fitted(name).privacy_report().to_json())
    forge(data)
    with pytest.raises(ReportError, match=reason) as caught:
        verify_report(forged(data))
    assert any(reason in problem for problem in caught.value.problems)
    assert str(caught.value).endswith("Do not rely on it.")
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


def test_a_check_is_no_fit(fitted, listed_fits):
    report = fitted("multinomial").privacy_report()
    before = listed_fits()
    verify_report(report)
    assert listed_fits() == before


@pytest.mark.parametrize("name", ["multinomial", "rules"])
def test_a_check_learns_nothing(name, fitted, monkeypatch):
    """What a fit asks for is the list of its plan; of many trees learning would take minutes."""

    def trained(*words):
        raise AssertionError("a learner was run")

    report = fitted(name).privacy_report()
    monkeypatch.setattr(training, "train_on", trained)
    assert "plan and settings" in verify_report(report).held


def test_a_report_of_another_model(fitted, fit_anew):
    report = fitted("multinomial").privacy_report()
    with pytest.raises(ReportError, match="about another model: the fingerprints differ"):
        verify_report(report, fit_anew())
    said = "a MultinomialForestClassifier, and this is a PrivateForestClassifier"
    with pytest.raises(ReportError, match=f"about another model: {said}"):
        verify_report(report, fitted("rules").to_json())
    for name in ("Nobody", 7, [], "PrivateForestClassifier\x1b[2J"):
        forged = json.dumps(json.loads(fitted("rules").to_json()) | {"estimator": name})
        with pytest.raises(ReportError, match="the model cannot be read"):
            verify_report(report, forged)
    with pytest.raises(ReportError, match="the model cannot be read"):
        verify_report(report, "{}")


def test_a_model_that_is_not_there_says_nothing_against_a_report(fitted, tmp_path):
    report = fitted("multinomial").privacy_report()
    (tmp_path / "sent.json").write_text(fitted("multinomial").to_json(), encoding="utf-16")
    (tmp_path / "table.csv").write_text("age,ward\n7,north\n", encoding="utf-8")
    for given, said in (
        (tmp_path / "absent.json", "there is none"),
        (str(tmp_path), "it is a folder"),
        (tmp_path / "sent.json", "it is no text in UTF-8"),
        (tmp_path / "table.csv", "it is no JSON of a model"),
    ):
        with pytest.raises(ParameterError, match=said) as caught:
            verify_report(report, given)
        assert "does not hold" not in str(caught.value)


def test_a_model_that_was_changed_after_its_report(fit_anew):
    model = fit_anew()
    report = model.privacy_report()
    stored = json.loads(model.to_json())
    stored["released"]["model"]["counts"][0][0][0] += 1
    with pytest.raises(ReportError, match="fingerprints differ"):
        verify_report(report, json.dumps(stored))


def test_a_changed_object_is_found_too(fitted):
    report = fitted("multinomial").privacy_report()
    for change in ({"sentence": "Perfectly private."}, {"randomness": "none"}, {"notices": ()}):
        with pytest.raises(ReportError):
            verify_report(report.model_copy(update=change))


# -- machines that differ -------------------------------------------------------------------------


def test_a_machine_without_the_converting_library(fitted, monkeypatch):
    pytest.importorskip("dp_accounting")
    tight = fitted("multinomial in rho").privacy_report()
    monkeypatch.setattr(conversion, "_library_bound", lambda *_: None)
    monkeypatch.setattr(conversion, "_has_library", lambda: False)
    conversion._epsilon_of_rho.cache_clear()
    conversion.rho_of_epsilon.cache_clear()
    try:
        # Nothing that cannot be shown passes.
        with pytest.raises(ReportError, match="cannot be shown here"):
            verify_report(tight)
    finally:
        conversion._epsilon_of_rho.cache_clear()
        conversion.rho_of_epsilon.cache_clear()


def test_plans_of_other_versions_are_not_judged(fitted):
    data = json.loads(fitted("multinomial").privacy_report().to_json())
    data["versions"]["dpforest"] = "0.0.1"
    found = verify_report(forged(data))
    assert "plan and settings" not in found.held
    assert any("another version of dpforest" in text for text in found.taken_at_its_word)
    content = json.loads(fitted("multinomial").to_json())
    content["fit"]["versions"]["dpforest"] = "0.0.1"
    model = dpforest.MultinomialForestClassifier.from_json(json.dumps(content))
    found = verify_report(model.privacy_report(), model)
    assert "plan and settings" not in found.held
    assert any("another version of dpforest" in text for text in found.taken_at_its_word)


@pytest.mark.parametrize("code", [None, "0123456789abcdef", UNKNOWN])
def test_another_plan_by_other_code_of_the_same_version_is_no_contradiction(fitted, code):
    """Main keeps its version between releases, and a copy of somebody's own keeps it, too."""
    data = json.loads(fitted("multinomial").privacy_report().to_json())
    data["versions"] = {k: v for k, v in data["versions"].items() if k != CODE or code is not None}
    data["versions"] |= {CODE: code} if code is not None else {}
    # The same plan is shown by whatever code it was made.
    assert "plan and settings" in verify_report(forged(data)).held
    data["plan"]["trees"] = "4"
    found = verify_report(forged(data))
    assert "plan and settings" not in found.held
    assert any("made by other code of dpforest" in text for text in found.taken_at_its_word)


def test_another_plan_by_this_code_is_a_contradiction(fitted):
    data = json.loads(fitted("multinomial").privacy_report().to_json())
    assert data["versions"][CODE] == library_versions()[CODE]
    data["plan"]["trees"] = "4"
    with pytest.raises(ReportError, match="its plan is not the one"):
        verify_report(forged(data))


def test_what_code_without_a_source_planned_is_never_called_false(fitted, monkeypatch):
    data = json.loads(fitted("multinomial").privacy_report().to_json())
    data["versions"][CODE] = UNKNOWN
    data["plan"]["trees"] = "4"
    monkeypatch.setattr(planned, "library_versions", lambda: library_versions() | {CODE: UNKNOWN})
    found = verify_report(forged(data))
    assert any("made by other code of dpforest" in text for text in found.taken_at_its_word)


@pytest.mark.parametrize("place", [dpforest, dpforest.dask], ids=["dpforest", "dask"])
def test_plans_of_all_private_estimators_can_be_made_again(place):
    public = {name: getattr(place, name) for name in place.__all__}
    private = {
        name: kind
        for name, kind in public.items()
        if isinstance(kind, type) and issubclass(kind, PrivateEstimator)
    }
    assert len(private) >= 3
    assert {name: estimator_of(name) for name in private} == private
    for name in public.keys() - private.keys() | {"PrivateEstimator", "path", ""}:
        with pytest.raises(LookupError):
            estimator_of(name)


def test_the_public_names():
    assert {"verify_report", "diff_reports", "report_schema"} <= set(dpforest.__all__)
    assert PrivacyReport.diff and best_guess(0, 0) == 0.5
