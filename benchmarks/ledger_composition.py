"""Ten fits of adult on one data set: what a ledger charges them, one by one and together.

The data set's cap is (1.66, 1e-5), kept in rho, and each fit asks for (0.5, 1e-6). For each
strategy the table says how many fits are granted one after the other, what epsilon ten of them
would ask for if epsilons were added, what the rho of ten converts to at 1e-5, and the epsilon of
one certificate for a campaign of ten. Fits are really made, on a table without records: what is
charged is the same whatever the records are.

Run with ``python benchmarks/ledger_composition.py [--strategies refitted one_shot]``.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np

from dpforest import BudgetExceeded, BudgetLedger, Domain, PrivateForestClassifier
from dpforest.accounting.conversion import epsilon_of_rho
from dpforest.accounting.figures import figure_up
from dpforest.datasets import load_adult

CAP, FIT, FITS = ("1.66", "1e-5"), ("0.5", "1e-6"), 10
STRATEGIES = ("refitted", "one_shot")


def row(ledger: BudgetLedger, domain: Domain, strategy: str) -> list[str]:
    """What one strategy comes to, on a data set of its own."""
    epsilon, delta = CAP
    ledger.register(strategy, domain=domain, epsilon=epsilon, delta=delta)
    forest = PrivateForestClassifier(
        epsilon=FIT[0], delta=FIT[1], domain=domain, strategy=strategy,
        accountant=ledger.accountant(strategy),
    )  # fmt: skip
    plan = ledger.plan(strategy, [forest] * FITS)
    in_rho, _ = epsilon_of_rho(plan.total, Fraction(delta))
    added = FITS * Fraction(FIT[0])
    cells = [figure_up(value) for value in (added, in_rho, plan.together)]
    return [strategy, str(granted(ledger, strategy, forest)), *cells]


def granted(ledger: BudgetLedger, data_set: str, forest: PrivateForestClassifier) -> int:
    """How many fits are granted until one is refused."""
    X = np.empty((0, forest.domain.n_features), dtype=object)
    y = np.empty(0, dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while True:
            try:
                forest.fit(X, y)
            except BudgetExceeded:
                break
    return sum(entry.kind == "settle" for entry in ledger.log(data_set))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--strategies", nargs="+", default=STRATEGIES)
    given = parser.parse_args()
    domain = load_adult().domain
    print(f"A cap of ({', '.join(CAP)}); each fit asks for ({', '.join(FIT)}).\n")
    print(
        "| strategy | granted one by one | ten, epsilon added | ten, by rho | a campaign of ten |"
    )
    print("|" + " --- |" * 5)
    with (
        tempfile.TemporaryDirectory() as folder,
        BudgetLedger.open(
            f"sqlite:///{Path(folder) / 'book'}", actor="benchmark", create=True
        ) as ledger,
    ):
        for strategy in given.strategies:
            print("| " + " | ".join(row(ledger, domain, strategy)) + " |", flush=True)


if __name__ == "__main__":
    main()
