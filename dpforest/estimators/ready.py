"""Loading of what a fit takes beside its plan, before anything is charged or read.

Kernels are imported where they are called, so that domains, reports and plans are read without a
compiler, and a learner where it is chosen. In a fit both would come after the charge: what cannot
be loaded then would cost a budget.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from dpforest.estimators.fit_plan import FitPlan
from dpforest.trees.strategies import ASKED, STRATEGIES

#: Packages of kernels that any fit may call; a learner imports its own.
_KERNELS = ("dpforest.domain.kernels", "dpforest.mechanisms.kernels", "dpforest.records.kernels")


def load_for(plan: FitPlan) -> None:
    """Load kernels, the compiler's parts, and each learner that a plan may yet choose.

    Parameters
    ----------
    plan : FitPlan
        Its own learner is there already; one that waits for a number of records has none yet.
    """
    _load_kernels()
    if plan.learner is None:
        for name in ASKED if plan.strategy == "auto" else (plan.strategy,):
            _load_learner(name)


@cache  # as for kernels: later fits find it
def _load_learner(name: str) -> None:
    STRATEGIES[name].make()


@cache
def _load_kernels() -> None:
    """Load kernels and the compiler's parts."""
    for package in _KERNELS:
        for module in iter_modules(import_module(package).__path__, f"{package}."):
            import_module(module.name)
    import_module("dpforest.kernels.compiling").load_compiler()
