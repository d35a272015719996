"""Other readings of a dataset: encodings and columns that a paper may have meant."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from papers.sets import PaperSet, facts


def with_identifier(data: PaperSet) -> PaperSet:
    """A random numbering of the records as a first column, as a file's own number may be."""
    numbering = np.random.RandomState(0).permutation(data.n_rows).astype(float)
    return replace(
        data,
        X=np.column_stack([numbering, data.X]),
        categorical=tuple(column + 1 for column in data.categorical),
        columns=("identifier", *data.columns),
    )


def alphabetical(data: PaperSet, folder: Path) -> PaperSet:
    """Categories numbered in alphabetical order, not in the domain's."""
    kinds = {column["name"]: column for column in facts(folder, data.name)["columns"]}
    X = data.X.copy()
    for column in data.categorical:
        categories = [str(value) for value in kinds[data.columns[column]]["categories"]]
        places = np.argsort(np.argsort(categories)).astype(float)
        known = X[:, column] >= 0
        X[known, column] = places[X[known, column].astype(int)]
    return replace(data, X=X)


def one_hot(data: PaperSet) -> PaperSet:
    """A column of 0 and 1 for every category."""
    columns = []
    for place, column in enumerate(data.X.T):
        if place in data.categorical:
            columns += [(column == value).astype(float) for value in np.unique(column)]
        else:
            columns.append(column)
    names = tuple(json.dumps(number) for number in range(len(columns)))
    return replace(data, X=np.column_stack(columns), categorical=(), columns=names)


def scaled(data: PaperSet) -> PaperSet:
    """Every column to [0, 1]."""
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    return replace(data, X=(data.X - low) / np.where(high > low, high - low, 1.0))


def complete(data: PaperSet) -> PaperSet:
    """Without the records that miss a value."""
    whole = (data.X != -1.0).all(axis=1)
    return replace(data, X=data.X[whole], y=data.y[whole])
