"""Forests as options describe them, and the domain that they are planned by."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from dpforest.display import short_list
from dpforest.domain.domain import Domain
from dpforest.exceptions import DomainError, ParameterError
from dpforest.standard_streams import is_terminal


def declared_domain(chosen: argparse.Namespace) -> Domain:
    """The domain of ``--domain``, whose entries must all be declared.

    Raises
    ------
    DomainError
        An entry is still a draft, and ``--allow-draft`` is not set; or there is nothing to learn.
    """
    domain = with_rows(Domain.from_json(Path(chosen.domain)), chosen.rows)
    if domain.drafted_entries and not chosen.allow_draft:
        lacking = short_list([f"{name}: {what}" for name, what in domain.lacking])
        raise DomainError(
            domain.drafted_entries[0],
            "was drafted from records and is not confirmed, so no guarantee would hold "
            f"({lacking})",
            "Confirm it with `dpforest domain confirm`, with a --source of each, or write "
            "--allow-draft for a forest without a guarantee",
        )
    return domain


def with_rows(domain: Domain, rows: int | None) -> Domain:
    """The domain with a number of records that somebody typed in, if somebody did."""
    return domain if rows is None else domain.model_copy(update={"approximate_rows": rows})


def forest_of(
    chosen: argparse.Namespace, domain: Domain, seed: int | None = None, jobs: int | None = None
) -> Any:
    """The estimator that options and domain ask for; nothing is charged yet."""
    from dpforest import PrivateForestClassifier, PrivateForestRegressor

    regression = _task_of(chosen.task, domain) == "regression"
    kind = PrivateForestRegressor if regression else PrivateForestClassifier
    return kind(
        epsilon=chosen.epsilon,
        delta=chosen.delta,
        domain=domain,
        strategy=chosen.strategy,
        max_records_per_unit=chosen.max_records_per_unit,
        random_state=seed,
        n_jobs=jobs,
        verbose=int(not chosen.quiet and is_terminal(sys.stderr)),
    )


def _task_of(asked: str | None, domain: Domain) -> str:
    """Classification or regression, by what the domain declares."""
    known = {"classification": domain.classes, "regression": domain.target}
    held = [task for task, entry in known.items() if entry is not None]
    if asked is None and len(held) == 1:
        return held[0]
    if asked in held:
        return str(asked)
    if not held:
        raise DomainError(
            "classes", "the domain has neither classes nor a target", "Declare what is predicted"
        )
    raise ParameterError(
        "--task", asked, f"must be one that the domain declares: {' or '.join(held)}",
        "Name one of them",
    )  # fmt: skip
