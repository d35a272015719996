"""Every private estimator as something to audit, in the ways it can be fitted.

``benchmarks/audit.py`` and the tests run through this list; a test fails when a public
estimator is neither here nor in `NOT_AUDITED`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpforest.accounting.accountant import BudgetAccountant
from dpforest.audit.catalogue import SMALL_DOMAIN, SMALL_TARGET_DOMAIN, UNIT, AuditPart
from dpforest.audit.subjects import Estimator
from dpforest.audit.worst_cases import worst_cases
from dpforest.domain.domain import Domain
from dpforest.domain.schema import Classes
from dpforest.estimators.classifier import PrivateForestClassifier
from dpforest.estimators.multinomial import MultinomialForestClassifier
from dpforest.estimators.regressor import PrivateForestRegressor
from dpforest.records.streams.batches import BatchStream
from dpforest.trees.rules.settings import MANY_CLASSES
from dpforest.trees.strategies import STRATEGIES

#: What makes a forest small, where an estimator has such a parameter.
SMALL = {"n_estimators": 1, "max_depth": 1}
#: Delta of the parts that have one; fewer than about 10 / delta runs could not tell it from 0.
DELTA = 0.01

#: Private estimators that are not audited, with the reason.
NOT_AUDITED = {
    name: "by the same words it makes bit for bit the forest that the estimator in memory makes "
    "(tests/dask/test_dask.py), and that one is audited"
    for name in (
        "DaskMultinomialForestClassifier",
        "DaskPrivateForestClassifier",
        "DaskPrivateForestRegressor",
    )
}

Present = Callable[[Any, Any], tuple[Any, ...]]


def streamed(X: Any, y: Any) -> tuple[BatchStream]:
    """A table as three batches."""
    parts = np.array_split(np.arange(len(y)), 3)
    return (BatchStream([(X[part], y[part]) for part in parts]),)


def strategy_and_predictions(model: Any, probes: Any) -> NDArray[np.float64]:
    """Predictions and strategy of a model; arrays of one strategy and size are not another's."""
    predict = getattr(model, "predict_proba", model.predict)
    return np.append(np.ravel(predict(probes)), float(list(STRATEGIES).index(model.strategy_)))


def estimator_part(
    estimator_type: type,
    domain: Domain | None = None,
    *,
    epsilon: float = 1.0,
    label: str = "",
    present: Present | None = None,
    readout: Callable[[Any, Any], Any] | None = None,
    **parameters: Any,
) -> AuditPart:
    """An estimator as a part: one small fit a run, on the built-in worst cases of the domain.

    With ``max_records_per_unit`` a pair differs in a whole unit of so many records at once.

    Parameters
    ----------
    estimator_type : type
        Takes ``epsilon`` and ``domain``.
    domain : Domain, optional
        The default is the small one of ``catalogue`` for the estimator's task.
    epsilon : float
    label : str
        Added to the part's name.
    present : callable (X, y) -> tuple, optional
        What ``fit`` is given, such as `streamed` makes.
    readout : callable (fitted estimator, probes) -> array, optional
        See `Estimator`.
    **parameters
        Further parameters of the estimator; ``factory`` names a class method that makes it.
    """
    if domain is None:
        domain = _small_domain(estimator_type)
    factory = parameters.pop("factory", None)
    make = getattr(estimator_type, factory) if factory else estimator_type
    known = inspect.signature(estimator_type).parameters
    small = {name: value for name, value in SMALL.items() if name in known}
    estimator = make(epsilon=epsilon, domain=domain, **{**small, **parameters})
    options = [f"{key}={value!r}" for key, value in parameters.items() if key != "accountant"]
    named = f"{estimator_type.__name__}({', '.join(filter(None, [factory, *options]))})"
    name = f"{named}, {label}" if label else named
    return AuditPart(
        name,
        Estimator(estimator, readout, name, present),
        worst_cases(domain, records_per_unit=parameters.get("max_records_per_unit", 1)),
        epsilon,
        (estimator_type.__name__,),
        float(parameters.get("delta", 0)),
    )


def _small_domain(estimator_type: type, rows: float | None = None, n_classes: int = 2) -> Domain:
    """A small domain; where many rows are declared, of so many values that quantiles are bought."""
    changed: dict[str, Any] = {"approximate_rows": rows}
    if rows is not None and rows >= MANY_ROWS:
        fine = [one.model_copy(update={"upper": FINE_UPPER}) for one in SMALL_DOMAIN.features]
        changed["features"] = tuple(fine)
    if getattr(estimator_type, "_task", "classification") == "regression":
        return SMALL_TARGET_DOMAIN.model_copy(update=changed)
    classes = Classes(labels=tuple(range(n_classes)))
    return SMALL_DOMAIN.model_copy(update={**changed, "classes": classes})


#: The multinomial forest with each of its choices.
MULTINOMIAL: tuple[dict[str, Any], ...] = (
    {},
    {"factory": "as_published"},
    {"choice": "joint", "criterion": "majority_count", "leaves": "count_label"},
    {"selection": "permute_and_flip", "leaves": "count_label_permute_and_flip"},
    {"choice": "joint", "selection": "permute_and_flip"},
    {"thresholds": "lattice"},
    {"delta": DELTA},
    {"partition_rate": 1, "allocation": "theorem2"},
)
#: Strategies of the private forests with the delta that they are audited at.
OF_STRATEGIES: tuple[dict[str, Any], ...] = (
    {"strategy": "rules"},
    {"strategy": "rules", "delta": DELTA},
    {"strategy": "one_shot"},
    {"strategy": "one_shot", "delta": DELTA},
    {"strategy": "refitted"},
    {"strategy": "refitted", "delta": DELTA},
    {"strategy": "boosted"},
    {"strategy": "boosted", "delta": DELTA},
    {"strategy": "additive"},
    {"strategy": "additive", "delta": DELTA},
)
#: The same for a unit that owns three records, all of them added or removed at once.
OF_UNITS: tuple[dict[str, Any], ...] = tuple(
    {"max_records_per_unit": UNIT, **choice}
    for choice in (
        {"strategy": "rules"},
        {"strategy": "one_shot"},
        {"strategy": "one_shot", "delta": DELTA},
        {"strategy": "refitted"},
        {"strategy": "refitted", "delta": DELTA},
        {"strategy": "boosted", "delta": DELTA},
        {"strategy": "additive"},
        {"strategy": "additive", "delta": DELTA},
    )
)
#: Rows that a domain of the small tables declares: enough for a plan that learns at epsilon 1.
#: With the larger number quantiles, a calibration and a range of targets are bought too. What
#: is declared has no part in what a release costs.
ROWS, MANY_ROWS = 200, 2000
#: Upper end of the features then: cells are counted in groups too.
FINE_UPPER = 39.0
#: So few that the median of a regression's targets is all that is released, or that rules release
#: the shares of classes alone; and so many that rules have every stage and sums a linear start.
LEAST_ROWS, HOPELESS_ROWS, MOST_ROWS = 20, 3, 100_000


#: Plans that have what those above have not.
OF_SIZES: tuple[tuple[float, dict[str, Any]], ...] = (
    (HOPELESS_ROWS, {"strategy": "rules"}),
    (MOST_ROWS, {"strategy": "rules"}),
    (MOST_ROWS, {"strategy": "refitted"}),
    (MOST_ROWS, {"strategy": "refitted", "delta": DELTA}),
    (MOST_ROWS, {"strategy": "boosted"}),
    (MOST_ROWS, {"strategy": "boosted", "delta": DELTA}),
)


def estimator_parts() -> tuple[AuditPart, ...]:
    """Every private estimator: its choices, with and without a declared number of records, on a
    shared accountant, on a stream, and for units of three records."""
    parts = [estimator_part(MultinomialForestClassifier, **ways) for ways in _ways_as_published()]
    for kind in (PrivateForestClassifier, PrivateForestRegressor):
        parts += [
            estimator_part(kind, _small_domain(kind, rows), **ways)
            for rows, ways in _private_ways()
        ]
    three = _small_domain(PrivateForestClassifier, MANY_ROWS, n_classes=3)
    many = _small_domain(PrivateForestClassifier, MOST_ROWS, n_classes=MANY_CLASSES + 1)
    least = _small_domain(PrivateForestRegressor, LEAST_ROWS)
    return (
        *parts,
        estimator_part(PrivateForestClassifier, three, label="three classes", strategy="one_shot"),
        estimator_part(PrivateForestClassifier, three, label="three classes", strategy="boosted"),
        estimator_part(PrivateForestClassifier, three, label="three classes", strategy="refitted"),
        estimator_part(
            PrivateForestClassifier, three, label="three classes", strategy="boosted", delta=DELTA
        ),
        estimator_part(PrivateForestClassifier, three, label="three classes", strategy="additive"),
        estimator_part(
            PrivateForestClassifier, three, label="three classes", strategy="additive", delta=DELTA
        ),
        estimator_part(PrivateForestClassifier, many, label="thirteen classes", strategy="rules"),
        estimator_part(PrivateForestRegressor, least, **_declared(LEAST_ROWS, "one_shot")),
    )


def _ways_as_published() -> Iterator[dict[str, Any]]:
    """Parameters of the multinomial forest."""
    yield from MULTINOMIAL
    yield {"max_records_per_unit": UNIT}
    yield {"max_records_per_unit": UNIT, "delta": DELTA}
    yield {"label": "streamed", "present": streamed}


def _private_ways() -> Iterator[tuple[float | None, dict[str, Any]]]:
    """Declared rows and parameters of a private forest, for either task."""
    bought = {"label": "number of records bought", "readout": strategy_and_predictions}
    shared = {"label": "shared accountant", "accountant": BudgetAccountant(1, DELTA)}
    on_a_stream = {"label": "streamed", "present": streamed}
    yield None, bought
    yield from ((ROWS, choice) for choice in (*OF_STRATEGIES, *OF_UNITS))
    yield None, bought | {"max_records_per_unit": UNIT}
    yield ROWS, {"strategy": "refitted", "delta": DELTA, **shared}
    yield MANY_ROWS, _declared(MANY_ROWS, "one_shot")
    yield from ((rows, _declared(rows, **choice)) for rows, choice in OF_SIZES)
    yield MANY_ROWS, {"strategy": "one_shot", "delta": DELTA, **on_a_stream}
    # Passes make curves in turn where records in memory have them at once.
    yield ROWS, {"strategy": "additive", **on_a_stream}


def _declared(rows: float, strategy: str, **parameters: Any) -> dict[str, Any]:
    """Parameters of a plan that is named by its declared rows."""
    return {"label": f"{rows} rows declared", "strategy": strategy, **parameters}
