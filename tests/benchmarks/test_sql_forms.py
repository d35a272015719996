"""The benchmark of SQL sees a difference, and takes up where a run stopped."""

from __future__ import annotations

import functools
import json

import numpy as np
import sql_forms
from common.exported import CLOSE, missing
from common.plain_forms import PlainTable

from dpforest import Domain
from dpforest.exports import sql_model as writer


def table() -> PlainTable:
    generator = np.random.default_rng(0)
    numbers, places = generator.integers(0, 9, 300), generator.integers(0, 2, 300)
    domain = Domain(features={"n": (0, 9), "c": ["a", "1"]}, classes=["no", "yes"])
    cells = [
        [str(number), ("a", "1")[place]] for number, place in zip(numbers, places, strict=True)
    ]
    labels = np.where(numbers + 4 * places > 5, "yes", "no").tolist()
    return PlainTable("made", domain, cells, labels)


def test_a_file_says_what_its_forest_says():
    made = table()
    line = sql_forms.compare(sql_forms.fit(made, "one_shot"), made, 0)
    assert sql_forms.worst(line) < CLOSE and line["labels"] == 0
    assert set(line["differences"]) == set(sql_forms.FORMS) and line["n"] > 180
    page = sql_forms.report([{"dataset": "made", "model": "one_shot", **line}])
    assert "| made |" in page and "| one_shot | 1 |" in page


def test_what_is_refused_is_a_row(monkeypatch):
    made = table()
    forest = sql_forms.fit(made, "one_shot")
    small = functools.partial(writer.sql_model, max_bytes=99)
    monkeypatch.setattr(forest, "to_sql", lambda **more: small(forest.to_plain(), **more))
    line = sql_forms.compare(forest, made, 0)
    assert line["bytes"] > 99 and not line["differences"]
    done = sql_forms.compare(sql_forms.fit(made, "boosted"), made, 0)
    page = sql_forms.report([
        {"dataset": "made", "model": "one_shot", **line},
        {"dataset": "made", "model": "boosted", **done},
    ])  # fmt: skip
    assert f"- made, one_shot: {line['bytes']:,} bytes" in page and "| one_shot |" not in page


def test_a_file_that_is_off_is_seen(monkeypatch):
    made, real = table(), writer.sql_model

    def off(plain, path, **more):
        content = json.loads(plain)
        content["score"]["base"] = [value + 0.1 for value in content["score"]["base"]]
        content["link"]["classes"].reverse()
        return real(json.dumps(content), path, **more)

    monkeypatch.setattr(writer, "sql_model", off)
    line = sql_forms.compare(sql_forms.fit(made, "one_shot"), made, 0)
    assert sql_forms.worst(line) > 1e-3 and line["labels"] > 0


def test_a_run_takes_up_where_one_stopped(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(sql_forms, "read_plain_table", lambda *_: table())
    monkeypatch.setattr(sql_forms, "fit", lambda *given: calls.append(given))
    line = {"bytes": 1, "differences": {"text": 0.0}}
    monkeypatch.setattr(sql_forms, "compare", lambda *_: line)
    for _ in range(2):
        file = sql_forms.Store(tmp_path / "lines.jsonl", sql_forms.SOURCES)
        sql_forms.run(tmp_path, ["one"], file)
    assert len(calls) == len(sql_forms.NAMES)
    (tmp_path / "one.json").touch()
    (tmp_path / "two.json").touch()
    assert missing(file.reported(), tmp_path) == {"two"}
