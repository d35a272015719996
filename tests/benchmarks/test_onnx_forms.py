"""The benchmark of ONNX files sees a difference, and takes up where a run stopped."""

from __future__ import annotations

import json

import numpy as np
import pytest
from common.exported import CLOSE, missing
from common.plain_forms import PlainTable

from dpforest import Domain
from dpforest.exports import onnx_model as writer

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx_forms  # noqa: E402  (needs onnxruntime)


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
    line = onnx_forms.compare(onnx_forms.fit(made, "one_shot"), made, 0)
    assert onnx_forms.worst(line) < CLOSE and line["labels"] == 0
    assert set(line["differences"]) == set(onnx_forms.FORMS) and line["n"] > 180
    page = onnx_forms.report([{"dataset": "made", "model": "one_shot", **line}])
    assert "| made |" in page and "| one_shot | 1 |" in page


def test_a_file_that_is_off_is_seen(monkeypatch):
    made, real = table(), writer.onnx_model

    def off(plain, path, outputs):
        content = json.loads(plain)
        content["score"]["base"] = [value + 0.1 for value in content["score"]["base"]]
        content["link"]["classes"].reverse()
        return real(json.dumps(content), path, outputs)

    monkeypatch.setattr(writer, "onnx_model", off)
    line = onnx_forms.compare(onnx_forms.fit(made, "one_shot"), made, 0)
    assert onnx_forms.worst(line) > 1e-3 and line["labels"] > 0


def test_a_run_takes_up_where_one_stopped(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(onnx_forms, "read_plain_table", lambda *_: table())
    monkeypatch.setattr(onnx_forms, "fit", lambda *given: calls.append(given))
    line = {"differences": {"text": 0.0}}
    monkeypatch.setattr(onnx_forms, "compare", lambda *_: line)
    for _ in range(2):
        file = onnx_forms.Store(tmp_path / "lines.jsonl", onnx_forms.SOURCES)
        onnx_forms.run(tmp_path, ["one"], file)
    assert len(calls) == len(onnx_forms.NAMES)
    (tmp_path / "one.json").touch()
    (tmp_path / "two.json").touch()
    assert missing(file.reported(), tmp_path) == {"two"}
