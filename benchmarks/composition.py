"""What composing a fixed plan as a whole is worth beside adding up rho: noise, then accuracy.

``noise`` prints the standard deviation of the leaves' noise for the same (epsilon, delta), composed
as a whole over added up in rho, for the plans that adult leads to (45,000 rows declared), beside
what a single Gaussian release would gain (Balle and Wang 2018). No records are read.

``accuracy`` fits both on adult, on the same stratified 75/25 splits with noise from the operating
system: alone, and charged to an accountant of another library, where plans add up in rho.

``shared`` counts the fits of adult at (0.5, 1e-6) that an accountant of (1.66, 1e-5) grants one
after the other, from their plans, and says whether each has the noise that it has alone.

Run with ``python benchmarks/composition.py noise``, ``python benchmarks/composition.py shared`` or
``python benchmarks/composition.py accuracy [--seeds 10] [--epsilons 0.1 1]``.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import time
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from dpforest import BudgetAccountant, PrivateForestClassifier
from dpforest.accounting.conversion import epsilon_of_rho, rho_of_epsilon
from dpforest.accounting.fits import OWN_BUDGET
from dpforest.accounting.loss_curves import gaussian_shift, selections_curve
from dpforest.accounting.releases import LearnerBudget
from dpforest.datasets import load_adult
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.fit_plan import table_facts
from dpforest.estimators.planning import make_plan
from dpforest.exceptions import BudgetExceeded
from dpforest.trees.one_shot.plan import Role as OneShotRole
from dpforest.trees.refitted.plan import Role as RefittedRole
from dpforest.trees.strategies import STRATEGIES
from dpforest.verify.replan import Boundless

#: By strategy, the role of what is released of leaves.
NOISES = {"refitted": RefittedRole.SUMS, "one_shot": OneShotRole.LEAVES}
DELTAS = ("1e-6", "1e-9")
EPSILONS = ("0.1", "0.5", "1", "2", "5", "10")


def noise_table() -> None:
    """Print ratios of standard deviations, and how long the certificate took."""
    facts = table_facts(DomainEncoder(load_adult().domain), 45_000.0)
    print("| delta | epsilon | one Gaussian | refitted | one-shot | seconds |")
    print("|" + " --- |" * 6)
    for delta in map(Fraction, DELTAS):
        for epsilon in map(Fraction, EPSILONS):
            rho = float(rho_of_epsilon(epsilon, delta))
            alone = math.sqrt(2 * rho) / gaussian_shift(float(epsilon), float(delta))
            ratios, seconds = zip(
                *(_ratio(name, facts, epsilon, delta) for name in NOISES), strict=True
            )
            cells = [f"{float(delta):g}", f"{float(epsilon):g}"]
            cells += [f"{r:.3f}" for r in (alone, *ratios)] + [f"{max(seconds):.2f}"]
            print("| " + " | ".join(cells) + " |")


def _ratio(name: str, facts: Any, epsilon: Fraction, delta: Fraction) -> tuple[float, float]:
    learner = STRATEGIES[name].make()
    plain: Any = learner.plan(facts, LearnerBudget(epsilon, delta))
    selections_curve.cache_clear()
    start = time.perf_counter()
    whole: Any = learner.plan(facts, LearnerBudget(epsilon, delta, certified=True))
    seconds = time.perf_counter() - start
    return math.sqrt(_variance(whole, NOISES[name]) / _variance(plain, NOISES[name])), seconds


def _variance(plan: Any, role: str) -> Fraction:
    """Variance of the noise of a role, which all its releases have."""
    releases = (release for one in plan.rounds for release in one.releases)
    (found,) = {release.event.sigma_squared for release in releases if release.role == role}
    return found


def shared_table() -> None:
    """Print how many fits one accountant grants, and what ten of them come to."""
    facts = table_facts(DomainEncoder(load_adult().domain), 45_000.0)
    epsilon, delta, total, all_delta = map(Fraction, ("0.5", "1e-6", "1.66", "1e-5"))
    print("| strategy | fits granted | ten come to | noise as alone |")
    print("|" + " --- |" * 4)
    for strategy in NOISES:
        alone, shared = (
            make_plan(strategy, facts, epsilon, delta, place)
            for place in (OWN_BUDGET, "an unnamed accountant")
        )
        accountant, granted = BudgetAccountant(total, all_delta), 0
        with contextlib.suppress(BudgetExceeded):
            while True:
                accountant.open_scope("fit", shared.additive, alone=shared.loss)
                granted += 1
        ten, _ = epsilon_of_rho(shared.additive.rho * 10, all_delta)
        same = "yes" if alone.plan == shared.plan else "no"
        print(f"| {strategy} | {granted} | {float(ten):.3f} | {same} |")


def accuracy_table(seeds: int, epsilons: list[float]) -> None:
    """Print accuracy, AUC and log loss of both, and their paired difference."""
    warnings.simplefilter("ignore")
    data = load_adult()
    domain = data.domain.model_copy(update={"approximate_rows": 45_000})
    print("| strategy | epsilon | composed | accuracy | AUC | log loss |")
    print("|" + " --- |" * 6)
    for strategy in NOISES:
        for epsilon in epsilons:
            found = np.array(
                [_pair(strategy, epsilon, data, domain, seed) for seed in range(seeds)]
            )
            for place, name in enumerate(("in rho", "as a whole")):
                _print(strategy, epsilon, name, found[:, place])
            _print(strategy, epsilon, "difference", found[:, 1] - found[:, 0])


def _pair(strategy: str, epsilon: float, data: Any, domain: Any, seed: int) -> list[list[float]]:
    rows = np.arange(len(data.target))
    train, test = train_test_split(rows, test_size=0.25, stratify=data.target, random_state=seed)
    found = []
    for shared in (Boundless(), None):
        model = PrivateForestClassifier(
            epsilon=epsilon, delta=1e-6, domain=domain, strategy=strategy, accountant=shared
        ).fit(data.data[train], data.target[train])
        probability = model.predict_proba(data.data[test])
        truth = data.target[test]
        predicted = model.classes_[probability.argmax(axis=1)]
        auc = roc_auc_score(truth == model.classes_[1], probability[:, 1])
        loss = log_loss(truth, probability, labels=model.classes_)
        found.append([100 * accuracy_score(truth, predicted), auc, loss])
    return found


def _print(strategy: str, epsilon: float, name: str, found: np.ndarray) -> None:
    means = found.mean(axis=0)
    errors = found.std(axis=0, ddof=1) / len(found) ** 0.5
    digits = (2, 4, 4)
    cells = [f"{m:.{d}f} ± {e:.{d}f}" for m, e, d in zip(means, errors, digits, strict=True)]
    print("| " + " | ".join([strategy, f"{epsilon:g}", name, *cells]) + " |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("noise", "shared", "accuracy"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 1.0])
    given = parser.parse_args()
    if given.what == "noise":
        noise_table()
    elif given.what == "shared":
        shared_table()
    else:
        accuracy_table(given.seeds, given.epsilons)
