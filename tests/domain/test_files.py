"""Domains from and to JSON, the metadata of public benchmark tables included."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpforest.domain import CategoricalFeature, Classes, Domain, NumericFeature
from dpforest.domain.values import meaning_of
from dpforest.exceptions import DomainError

ROOT = Path(__file__).parents[2]
DATA = ROOT / os.environ.get("DPFOREST_DATA", "../shared/data")

BENCHMARK = {
    "name": "toy",
    "classes": ["0", "1"],
    "class_counts": {"0": 3, "1": 4},
    "n_rows": 7,
    "columns": [
        {"name": "a", "kind": "integer", "bounds": [0, 9]},
        {"name": "b", "kind": "numeric", "bounds": [-1, 0.5]},
        {"name": "c", "kind": "categorical", "categories": ["x", "y"]},
    ],
    "domain_source": "observed range widened",
}


def names():
    texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5)
    return texts.filter(lambda text: meaning_of(text) is not None)


def labels():
    infinite = (math.inf, -math.inf)
    return names().filter(lambda text: meaning_of(text) not in infinite)


@st.composite
def features(draw):
    name = draw(names())
    if draw(st.booleans()):
        categories = draw(st.lists(names(), min_size=1, max_size=4, unique_by=meaning_of))
        other = draw(st.none() | st.sampled_from(categories))
        return CategoricalFeature(
            name=name, categories=tuple(categories), other=other, missing=draw(st.booleans())
        )
    lower = draw(st.integers(-1000, 1000))
    width = draw(st.integers(1, 10**6))
    scale = draw(st.sampled_from([1, 0.1, 1 / 3]))
    return NumericFeature(
        name=name,
        lower=lower * scale,
        upper=(lower + width) * scale,
        integer=scale == 1,
        missing=draw(st.booleans()),
        source=draw(st.none() | names()),
    )


@given(
    st.lists(features(), min_size=1, max_size=4, unique_by=lambda f: f.name),
    st.none() | st.lists(labels(), min_size=2, max_size=3, unique_by=meaning_of),
    st.none() | st.integers(1, 10**9),
)
@settings(derandomize=True, max_examples=60, deadline=None)
def test_round_trip(entries, labels, rows):
    domain = Domain(features=entries, classes=labels, approximate_rows=rows)
    again = Domain.from_json(domain.to_json())
    assert again == domain
    assert again.fingerprint() == domain.fingerprint()


def test_file(tmp_path):
    domain = Domain(features={"größe": (0, 2)}, classes=["a", "b"])
    path = tmp_path / "domain.json"
    text = domain.to_json(path)
    assert path.read_text(encoding="utf-8") == text
    assert Domain.from_json(path) == Domain.from_json(str(path)) == domain
    facts = json.loads(text)
    assert (facts["format"], facts["version"]) == ("dpforest-domain", 1)


@pytest.mark.parametrize(
    ("text", "entry", "rule"),
    [
        ("{", "file", "line 1"),
        ("{}", "format", "must be"),
        ('{"format": "other"}', "format", "must be"),
        ('{"format": "dpforest-domain", "version": 2}', "version", "must be 1"),
        ('{"format": "dpforest-domain", "version": 1}', "features", "is needed"),
        (
            '{"format": "dpforest-domain", "version": 1, "features": [{}]}',
            "features.0",
            "needs a kind",
        ),
        ('{"columns": [{"kind": "integer"}]}', "columns[0]", "with a name"),
        ('{"columns": [{"name": "a", "kind": "date"}]}', "a", "kind must be"),
    ],
)
def test_unreadable(text, entry, rule):
    with pytest.raises(DomainError, match=rule) as caught:
        Domain.from_json(text)
    assert caught.value.entry == entry


def test_a_list_in_a_file_is_no_domain(tmp_path):
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(DomainError, match="not a JSON object"):
        Domain.from_json(tmp_path / "list.json")


def test_benchmark_metadata():
    domain = Domain.from_json(json.dumps(BENCHMARK))
    assert domain.features[0] == NumericFeature(
        name="a", lower=0, upper=9, integer=True, missing=True, source="observed range widened"
    )
    assert not domain.features[1].integer
    assert domain.features[2].categories == ("x", "y")
    assert domain.classes == Classes(labels=("0", "1"), source="observed range widened")
    # Counts in the file were taken from records.
    assert domain.approximate_rows is None
    strict = Domain.from_json(json.dumps(BENCHMARK), missing="none")
    assert not any(feature.missing for feature in strict.features)
    regression = {**BENCHMARK, "classes": None, "target_bounds": [0, 10]}
    assert Domain.from_json(json.dumps(regression)).target.upper == 10
    with pytest.raises(DomainError, match="must be 'all' or 'none'"):
        Domain.from_json(json.dumps(BENCHMARK), missing="some")


@pytest.mark.skipif(not DATA.is_dir(), reason="no folder of benchmark tables (DPFOREST_DATA)")
def test_every_benchmark_table():
    paths = sorted(DATA.glob("*.json"))
    assert len(paths) >= 74
    for path in paths:
        facts = json.loads(path.read_text(encoding="utf-8"))
        domain = Domain.from_json(path)
        assert domain.feature_names == tuple(column["name"] for column in facts["columns"])
        assert (domain.classes is not None) == (facts["task"] == "classification")
        assert (domain.target is not None) == (facts["task"] == "regression")
        assert all(f.source == facts["domain_source"] for f in domain.features)
        assert Domain.from_json(domain.to_json()) == domain


def test_the_example_in_the_guide():
    guide = (ROOT / "docs" / "domain.md").read_text(encoding="utf-8")
    example = guide.split("```json\n")[1].split("```")[0]
    domain = Domain.from_json(example)
    assert domain.is_declared
    assert domain.features[1].declared_by == "A. Curator"
    assert domain.approximate_rows == 20000


OWN = json.loads(Domain(features={"a": (0, 1), "c": ["x", "y"]}, classes=["n", "y"]).to_json())
#: What somebody's slip, or somebody's malice, may put where something else belongs.
ODD = [None, True, 3, -1, 1.5, "", "x", [], [0], [0, 1], [1, 0], {}, {"a": 1}, ["a", ["b"]]]
ODD += [[[1]], 10**300, "1_0", [None], {"labels": 3}, {"labels": ["a", "b"]}, {"name": "a"}]


def places(facts, path=()):
    yield path
    inside = facts.items() if isinstance(facts, dict) else enumerate(facts)
    for key, value in inside:
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))
        else:
            yield (*path, key)


def with_value(facts, path, value):
    if not path:
        return value
    changed = json.loads(json.dumps(facts))
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


@pytest.mark.parametrize("facts", [OWN, BENCHMARK, {**BENCHMARK, "target_bounds": [0, 1]}])
def test_a_wrong_value_at_any_place_is_our_own_error(facts):
    refused = 0
    for path in places(facts):
        for value in ODD:
            try:
                Domain.from_json(" {" + json.dumps(with_value(facts, path, value))[1:])
            except DomainError:
                refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('{"a":' * 100_000, "nested deeper"),
        ('{"format": ' + "9" * 5000 + "}", "digits"),
        ('{"format": "dpforest-domain", "format": "dpforest-domain"}', "occurs twice"),
        ('{"version": NaN}', "NaN"),
        ('{"columns": [{"name": "a", "kind": "integer", "bounds": [0]}]}', "two numbers"),
    ],
)
def test_hostile_text_is_refused(text, rule):
    with pytest.raises(DomainError, match=rule):
        Domain.from_json(text)
