"""Records that are texts: docstrings of four packages, and how often each has the commonest words.

The classes are the packages, whose own names are left out. The texts are those of the versions that
are installed.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from common.package_tables import folder_of
from common.wide_records import WideRecords

PACKAGES = ("sklearn", "scipy", "numpy", "pandas")
NAMES = {*PACKAGES, "np", "pd", "scikit", "learn", "dataframe", "series"}
#: Words that are counted, in the wide table and in the narrower one, and how far.
N_WORDS, N_FEWER, MOST_OF_A_WORD = 891, 200, 10
#: Length of a docstring, at least.
LEAST_TEXT = 200


def texts_of(package: str) -> Iterator[Counter[str]]:
    """Words of each docstring of a package, tests apart."""
    for path in sorted(folder_of(package).rglob("*.py")):
        if "tests" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                text = ast.get_docstring(node) or ""
                if len(text) > LEAST_TEXT:
                    yield Counter(re.findall("[a-z]{2,}", text.lower()))


def words() -> Iterator[WideRecords]:
    """Counts of words of four packages and of two, and whether a word is there at all."""
    found = [(text, place) for place, name in enumerate(PACKAGES) for text in texts_of(name)]
    known: Counter[str] = Counter()
    for text, _ in found:
        known.update(text.keys())
    commonest = [word for word, _ in known.most_common() if word not in NAMES][:N_WORDS]
    counts = np.array([[text[word] for word in commonest] for text, _ in found], dtype=np.int64)
    counts = np.minimum(counts, MOST_OF_A_WORD)
    labels = np.array([place for _, place in found], dtype=np.int64)
    for several, kept in (("four", labels >= 0), ("two", labels < 2)):
        for width in (N_WORDS, N_FEWER):
            part, source = counts[kept, :width], "docstrings of " + ", ".join(PACKAGES)
            yield WideRecords(
                f"words_{width}_{several}", part, labels[kept], MOST_OF_A_WORD, source
            )
            there = (part > 0).astype(np.int64)
            yield WideRecords(f"has_words_{width}_{several}", there, labels[kept], 1, source)
