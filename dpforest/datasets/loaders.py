"""Loaders in scikit-learn's manner, each with the table's declared domain beside the table."""

from __future__ import annotations

import csv
import gzip
import io
import math
from importlib import resources
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from dpforest.domain.domain import Domain
from dpforest.domain.schema import CategoricalFeature, NumericFeature
from dpforest.exceptions import MissingExtraError

_FOLDER = "data"

#: (data, target), or a Bunch with them and everything known about them.
Loaded: TypeAlias = Any


def load_adult(*, return_X_y: bool = False, as_frame: bool = False) -> Loaded:
    """Load adult: does a person of the 1994 United States census earn over 50,000 dollars?

    48,842 records, 14 features (8 categorical, three of them with missing values), classes
    ``"<=50K"`` and ``">50K"``. The first 32,561 rows are the original training part. Source:
    Becker and Kohavi (1996), UCI Machine Learning Repository, doi:10.24432/C5XW20, CC BY 4.0.

    Parameters
    ----------
    return_X_y : bool
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool
        Return pandas objects, with categories as text. Else a float64 array, in which a
        categorical value is the position of its category in the domain, or the category
        itself where categories are numbers, and a missing value is NaN.

    Returns
    -------
    Bunch
        With ``data``, ``target`` (labels as text), ``feature_names``, ``target_names``,
        ``DESCR``, ``domain``, and ``frame`` (None unless ``as_frame``).

    Raises
    ------
    MissingExtraError
        With ``as_frame=True`` if pandas is not installed.
    """
    return _load("adult", return_X_y, as_frame)


def load_mammographic_masses(*, return_X_y: bool = False, as_frame: bool = False) -> Loaded:
    """Load mammographic_masses: is a mass seen in a mammogram malignant (1) or benign (0)?

    961 records, 5 features (2 categorical), all with missing values. One record has a known
    typing error outside the bounds, left as it is. Source: Elter (2007), UCI Machine Learning
    Repository, doi:10.24432/C53K6Z, CC BY 4.0. Parameters and returns as for `load_adult`.
    """
    return _load("mammographic_masses", return_X_y, as_frame)


def load_vertebral(*, return_X_y: bool = False, as_frame: bool = False) -> Loaded:
    """Load vertebral: hernia, spondylolisthesis or a normal spine, from the shape of the pelvis?

    310 records, 6 real features, 3 classes. Source: Barreto and Neto (2005), UCI Machine
    Learning Repository, doi:10.24432/C5K89B, CC BY 4.0. Parameters and returns as for
    `load_adult`.
    """
    return _load("vertebral", return_X_y, as_frame)


def _load(name: str, return_X_y: bool, as_frame: bool) -> Loaded:
    domain = Domain.from_json(_read(f"{name}.json").decode("utf-8"))
    columns = _read_columns(name)
    labels = np.array(columns.pop("target"))
    features = [columns[feature] for feature in domain.feature_names]
    frame = None
    data: Any
    target: Any = labels
    if as_frame:
        data, target = _to_frame(domain, features, labels)
        frame = data.assign(target=target)
    else:
        data = _to_array(domain, features)
    if return_X_y:
        return data, target
    assert domain.classes is not None
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=list(domain.feature_names),
        target_names=np.array(domain.classes.texts),
        DESCR=_read(f"{name}.txt").decode("utf-8"),
        domain=domain,
    )


def _read(file_name: str) -> bytes:
    return resources.files(__package__).joinpath(_FOLDER, file_name).read_bytes()


def _read_columns(name: str) -> dict[str, list[str]]:
    """Cells of the packed table as text, by column; an empty one is a missing value."""
    with gzip.open(io.BytesIO(_read(f"{name}.csv.gz")), "rt", encoding="utf-8", newline="") as text:
        rows = csv.reader(text)
        header = next(rows)
        return {
            key: list(cells) for key, cells in zip(header, zip(*rows, strict=True), strict=True)
        }


def _to_array(domain: Domain, columns: list[list[str]]) -> NDArray[np.float64]:
    data = np.empty((len(columns[0]), domain.n_features))
    for index, (feature, cells) in enumerate(zip(domain.features, columns, strict=True)):
        if isinstance(feature, NumericFeature) or feature.holds_numbers:
            data[:, index] = _numbers(cells)
        else:
            place = {category: float(k) for k, category in enumerate(feature.categories)}
            place[""] = math.nan
            data[:, index] = [place[cell] for cell in cells]
    return data


def _numbers(cells: list[str]) -> NDArray[np.float64]:
    return np.array([float(cell) if cell else math.nan for cell in cells])


def _to_frame(domain: Domain, columns: list[list[str]], labels: NDArray[Any]) -> tuple[Any, Any]:
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("pandas", "frames", "as_frame=True") from error
    series: dict[str, Any] = {}
    for feature, cells in zip(domain.features, columns, strict=True):
        if isinstance(feature, CategoricalFeature):
            values = [cell or None for cell in cells]
            series[feature.name] = pd.Categorical(values, categories=list(feature.categories))
        else:
            numbers = _numbers(cells)
            whole = feature.integer and not np.isnan(numbers).any()
            series[feature.name] = numbers.astype(np.int64) if whole else numbers
    return pd.DataFrame(series), pd.Series(labels, name="target")
