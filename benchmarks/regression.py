"""Private regression over tables, epsilons and seeds, beside the mean, a forest and other packages.

All models learn and are tested on the same 75/25 splits. One JSON line a fit is appended to
``--results``; what is there is skipped. Then the tables in ``docs/regression.md`` (between its
marks) and ``docs/regression.svg`` are written from all lines. R² is against the mean of the
training targets, RMSE is in units of the target's declared range.

    python benchmarks/regression.py                          # everything not yet done
    python benchmarks/regression.py --sets concrete airfoil --seeds 2 --models "dpforest auto"
    python benchmarks/regression.py --report-only

The tables come from ``--data`` or ``DPFOREST_DATA``; where the folder is absent the run ends and
says so. Our noise comes from the operating system, so figures repeat only within their spread.
``approximate_rows`` is declared: the number of training records rounded to one digit. Peers run
where they can be imported: diffprivlib's linear regression (features scaled to [0, 1] by their
public bounds) and DP-EBM, which needs a delta. A private ridge regression is in ``common``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from common.models import DELTA, EBM_DELTA, rounded_rows
from common.records import Split
from common.regression_report import write_plot, write_tables
from common.regression_tables import (
    RegressionTable,
    load_regression_table,
    random_split,
    regression_tables,
)
from common.results import Line, Store, finished, key_of
from common.sources import Sources, by_beginning
from common.tables import REPOSITORY, data_folder
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from dpforest import PrivateForestRegressor

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0)
#: From 300 records to 12,000, and targets from even to nearly all 0.
SETS = (
    "yacht", "real_estate", "facebook_metrics", "energy_heating", "wiki4he", "concrete",
    "solar_flare", "airfoil", "skillcraft", "parkinsons_updrs", "seoul_bike", "naval_cbm",
)  # fmt: skip
Predict = Callable[[np.ndarray], np.ndarray]
#: (table, places of training records, epsilon, seed) to predictions of the records at places.
Fit = Callable[[RegressionTable, np.ndarray, float, int], Predict]


@dataclass(frozen=True)
class Model:
    """A regressor under the name that its result lines carry."""

    name: str
    fit: Fit
    private: bool = True


def private_forest(strategy: str, delta: float) -> Fit:
    """Ours, with a rounded number of rows declared."""

    def fit(table: RegressionTable, train: np.ndarray, epsilon: float, seed: int) -> Predict:
        rows = rounded_rows(train.size)
        domain = table.domain.model_copy(update={"approximate_rows": rows})
        forest = PrivateForestRegressor(
            epsilon=epsilon, delta=delta, strategy=strategy, domain=domain
        )
        forest.fit(table.X[train], table.y[train])
        return lambda places: forest.predict(table.X[places])

    return fit


def noisy_mean(table: RegressionTable, train: np.ndarray, epsilon: float, seed: int) -> Predict:
    """Two sums with Laplace noise on the whole of epsilon: targets above and below the bounds."""
    generator = np.random.default_rng(seed)
    lower, upper = table.bounds
    shares = np.clip((table.y[train] - lower) / (upper - lower), 0, 1)
    sums = np.array([(1 - shares).sum(), shares.sum()]) + generator.laplace(0, 1 / epsilon, 2)
    sums = np.maximum(sums, 2**0.5 / epsilon)
    mean = lower + (upper - lower) * sums[1] / sums.sum()
    return lambda places: np.full(places.size, mean)


def grown_out(table: RegressionTable, train: np.ndarray, epsilon: float, seed: int) -> Predict:
    """scikit-learn's forest of 100 trees; not private."""
    from sklearn.ensemble import RandomForestRegressor

    X = table.ordinal.X
    forest = RandomForestRegressor(100, n_jobs=1, random_state=seed).fit(X[train], table.y[train])
    return lambda places: forest.predict(X[places])


def private_line(table: RegressionTable, train: np.ndarray, epsilon: float, seed: int) -> Predict:
    """diffprivlib's linear regression."""
    from diffprivlib.models import LinearRegression

    view = table.ordinal
    X = (view.X - view.lower) / np.maximum(view.upper - view.lower, 1e-12)
    y = np.clip(table.y, *table.bounds)
    model = LinearRegression(
        epsilon=epsilon, bounds_X=(0.0, 1.0), bounds_y=table.bounds, random_state=seed
    ).fit(X[train], y[train])
    return lambda places: np.clip(model.predict(X[places]), *table.bounds)


def noisy_ridge(table: RegressionTable, train: np.ndarray, epsilon: float, seed: int) -> Predict:
    """Ridge regression from noisy second moments, see ``common.private_ridge``."""
    from common.private_ridge import design, private_ridge

    view, (low, high) = table.ordinal, table.bounds
    X = design(view.X, [f.kind for f in table.domain.features], view.lower, view.upper)
    y = 2 * (np.clip(table.y, low, high) - low) / (high - low) - 1
    rows, largest = rounded_rows(train.size), view.X.shape[1] + 1.0
    generator = np.random.default_rng(seed)
    coefficients = private_ridge(X[train], y[train], rows, largest, epsilon, DELTA, generator)
    return lambda places: low + (high - low) * (1 + np.clip(X[places] @ coefficients, -1, 1)) / 2


def private_ebm(table: RegressionTable, train: np.ndarray, epsilon: float, seed: int) -> Predict:
    """DP-EBM with its defaults."""
    from interpret.privacy import DPExplainableBoostingRegressor

    view = table.ordinal
    numeric = [feature.kind == "numeric" for feature in table.domain.features]
    bounds = {
        place: (view.lower[place], view.upper[place])
        for place, is_number in enumerate(numeric)
        if is_number
    }
    model = DPExplainableBoostingRegressor(
        epsilon=epsilon,
        delta=EBM_DELTA,
        feature_types=["continuous" if is_number else "nominal" for is_number in numeric],
        privacy_bounds=bounds,
        privacy_target_min=table.bounds[0],
        privacy_target_max=table.bounds[1],
        n_jobs=1,
        random_state=seed,
    ).fit(view.X[train], np.clip(table.y[train], *table.bounds))
    return lambda places: np.clip(model.predict(view.X[places]), *table.bounds)


def all_models() -> list[Model]:
    """Ours, the references, and what can be imported of other packages."""
    models = [
        Model("noisy mean", noisy_mean),
        Model("dpforest auto, pure", private_forest("auto", 0)),
        Model("dpforest auto, delta=1e-6", private_forest("auto", DELTA)),
        Model("dpforest additive, delta=1e-6", private_forest("additive", DELTA)),
        Model("private ridge, delta=1e-6", noisy_ridge),
        Model("non-private forest", grown_out, private=False),
    ]
    if find_spec("diffprivlib"):
        models.append(Model("diffprivlib linear regression", private_line))
    if find_spec("interpret"):
        models.append(Model("DP-EBM", private_ebm))
    return models


def measured(model: Model, table: RegressionTable, epsilon: float | None, seed: int) -> Line:
    """One result line, with its error where the fit failed."""
    split: Split = random_split(table, seed)
    line: Line = {"dataset": table.name, "model": model.name, "epsilon": epsilon, "seed": seed}
    line |= {"split": split.fingerprint, "n_train": split.train.size}
    started = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predict = model.fit(table, split.train, epsilon or 0.0, seed)
            line["fit_seconds"] = round(time.perf_counter() - started, 4)
            errors = table.y[split.test] - predict(split.test)
    except Exception as error:  # one failure must not end the run
        return line | {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    plain = table.y[split.test] - table.y[split.train].mean()
    low, high = table.bounds
    line["rmse"] = float(np.sqrt(np.mean(errors**2)) / (high - low))
    line["r2"] = float(1 - np.mean(errors**2) / np.mean(plain**2))
    return line


def jobs(arguments: argparse.Namespace) -> Iterator[tuple[str, Model, float | None, int]]:
    """All fits asked for, table by table."""
    models = [
        model
        for model in all_models()
        if any(part in model.name for part in arguments.models or [""])
    ]
    for name in arguments.sets:
        for seed in range(arguments.seeds):
            for model in models:
                for epsilon in arguments.epsilons if model.private else [None]:
                    yield name, model, epsilon, seed


def _sources(fit: str, *packages: str) -> Sources:
    roots = ("measured", fit)
    table = "common.regression_tables:load_regression_table"
    return Sources((*(f"regression:{root}" for root in roots), table), packages=packages)


#: By the beginnings of models' names.
MADE_BY = {
    "noisy mean": _sources("noisy_mean"),
    "dpforest ": _sources("private_forest"),
    "non-private forest": _sources("grown_out", "scikit-learn"),
    "private ridge": _sources("noisy_ridge"),
    "diffprivlib linear regression": _sources("private_line", "diffprivlib"),
    "DP-EBM": _sources("private_ebm", "interpret-core"),
}


def run(arguments: argparse.Namespace, file: Store) -> None:
    """Fit what is not done, and append its lines."""
    done = set(finished(file.lines()))
    planned = [job for job in jobs(arguments) if (job[0], job[1].name, *job[2:]) not in done]
    with tqdm(planned, unit="fit", mininterval=1, smoothing=0) as progress:
        for name, model, epsilon, seed in progress:
            progress.set_postfix_str(f"{name}, {model.name}", refresh=False)
            table = load_regression_table(arguments.data, name)
            line = measured(model, table, epsilon, seed)
            file.append(line)
            if "error" in line:
                progress.write(f"{key_of(line)}: {line['error']}")


def main() -> None:
    """Run, then report."""
    # Here, since what is imported above belongs to what results depend on.
    from common.pages import place_of

    arguments = parse()
    file = Store(arguments.results, lambda line: by_beginning(MADE_BY, line["model"]))
    if not arguments.report_only:
        absent = [name for name in arguments.sets if name not in regression_tables(arguments.data)]
        if absent:
            raise SystemExit(f"skipped: no {', '.join(absent)} in {arguments.data}; give --data")
        threadpool_limits(1)
        run(arguments, file)
    lines = list(finished(file.reported()).values())
    page = place_of(REPOSITORY / "docs" / "regression.md", missing(lines))
    write_tables(lines, page)
    write_plot(lines, page.with_suffix(".svg"))


#: Models of packages that may not be installed; their lines may be there all the same.
OTHERS = ("diffprivlib linear regression", "DP-EBM")


def missing(lines: list[Line]) -> set[tuple[object, ...]]:
    """Fits that the page is made of and that are not among the lines, installed or not."""
    every = parse([])
    here = [(name, model.name, *job) for name, model, *job in jobs(every)]
    others = [
        (name, model, epsilon, seed)
        for name in every.sets
        for model in OTHERS
        for epsilon in every.epsilons
        for seed in range(every.seeds)
    ]
    return {*here, *others} - set(finished(lines))


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--sets", nargs="*", default=list(SETS))
    add("--epsilons", nargs="*", type=float, default=list(EPSILONS))
    add("--seeds", type=int, default=3)
    add("--models", nargs="*", help="only models whose name contains one of these")
    add("--data", type=Path, default=data_folder(), help="folder of tables, or DPFOREST_DATA")
    default = REPOSITORY / "benchmarks" / "results" / "regression.jsonl"
    add("--results", type=Path, default=default)
    add("--report-only", action="store_true")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
