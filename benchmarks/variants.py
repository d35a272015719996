"""Variants of what the private forest learns, on the same splits with the same seeded noise.

For comparisons behind the defaults, not for figures of the library: learners are called directly,
their noise is seeded, delta is 1e-6 and the number of training records is declared, rounded to one
digit. Tables are those with at most 20,000 records; every second by name is for development, the
others for confirmation. One JSON line a fit is appended to ``--results``, and what is there is
skipped; then means are printed for each half and epsilon: accuracy (%), AUC, log loss.

    python benchmarks/variants.py                                  # everything not yet done
    python benchmarks/variants.py --sets car wdbc --epsilons 2 --variants rules refitted
    python benchmarks/variants.py --report-only
"""

from __future__ import annotations

import argparse
import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from common.models import rounded_rows
from common.records import Records, Split
from common.results import Line, Store, finished, fit_and_report, key_of
from common.scores import METRICS, scores
from common.sources import Sources
from common.tables import (
    REPOSITORY,
    classification_tables,
    data_folder,
    load_table,
    stratified_split,
)

from dpforest import BudgetAccountant
from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.encoder import DomainEncoder
from dpforest.estimators.fit_plan import table_facts
from dpforest.mechanisms.entropy import SeededSource
from dpforest.records.base import MemoryRecords
from dpforest.records.table import Table
from dpforest.trees.base import TableFacts
from dpforest.trees.boosted.learner import BoostedForest
from dpforest.trees.boosted.settings import BoostedSettings
from dpforest.trees.refitted import RefittedForest
from dpforest.trees.refitted.settings import RefittedSettings, RefittedSize
from dpforest.trees.rules import RulesLearner, probabilities
from dpforest.trees.training import train_on

DELTA = Fraction(1, 10**6)
MOST_RECORDS = 20_000
SOURCES = Sources(("variants:fitted",))
#: Tables around where a refitted forest takes over from rules at one of the epsilons.
SETS = (
    "chess_kr_vs_kp", "image_segmentation", "obesity", "spambase", "telco_churn",
    "website_phishing", "wine_quality_red", "wireless",
    "car", "cmc", "german_credit", "messidor", "tic_tac_toe", "vehicle", "wdbc", "yeast",
)  # fmt: skip
UNSTRETCHED = RefittedSettings(stretch=1.0, stretch_of_many=1.0)
WHOLE = RefittedSettings(clip=Fraction(1), clip_of_much=Fraction(1), scale=1.0)
LESS = RefittedSettings(clip=Fraction(7, 10), scale=1.0)
#: What rules and forest are each worth where both have half of epsilon.
EACH = 0.65


class Halved(RefittedSettings):
    """Half the rounds."""

    def size(
        self, signal: float, rows: float, n_classes: int, of_means: bool = False
    ) -> RefittedSize:
        """The rule's, with half the rounds."""
        size = super().size(signal, rows, n_classes, of_means)
        return replace(size, n_rounds=size.n_rounds // 2)


@dataclass(frozen=True)
class Run:
    """One table, split and epsilon."""

    table: Table
    test: np.ndarray
    facts: TableFacts
    epsilon: Fraction
    seed: int

    def scores(self, learner: Any, share: Fraction = Fraction(1), pure: bool = False) -> np.ndarray:
        """Class scores of the test records by a learner that has a share of epsilon."""
        pure = pure or isinstance(learner, RulesLearner)
        delta = Fraction(0) if pure else DELTA
        budget = LearnerBudget(self.epsilon * share, delta, certified=not pure)
        return log_shares(self.trained(learner, budget).log_odds(self.test))

    def trained(self, learner: Any, budget: LearnerBudget) -> Any:
        """The model of a learner that spends a budget."""
        plan = learner.plan(self.facts, budget)
        with BudgetAccountant._unlimited().open_scope("variant") as scope:
            source, records = SeededSource(self.seed), MemoryRecords(self.table)
            return train_on(learner, plan, scope, source, records, self.facts, int)


class Doubled(RefittedSettings):
    """Twice the rounds."""

    def size(
        self, signal: float, rows: float, n_classes: int, of_means: bool = False
    ) -> RefittedSize:
        """The rule's, with twice the rounds."""
        size = super().size(signal, rows, n_classes, of_means)
        return replace(size, n_rounds=2 * size.n_rounds)

    def stretched(self, n_rounds: int, n_classes: int, of_means: bool) -> float:
        """That of the rule's rounds."""
        return super().stretched(n_rounds // 2, n_classes, of_means)


def log_shares(scores: np.ndarray) -> np.ndarray:
    """Log probabilities of class scores."""
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def plain_rules(run: Run) -> np.ndarray:
    """Rules whose leaves are not sharpened."""
    with mock.patch.object(probabilities, "SHARPENING", 1.0):
        return run.scores(RulesLearner())


def blend(run: Run) -> np.ndarray:
    """Rules and a refitted forest on half of epsilon each: epsilons add up, delta is one's."""
    half = Fraction(1, 2)
    both = run.scores(RulesLearner(), half) + run.scores(RefittedForest(), half)
    return log_shares(EACH * both)


VARIANTS: dict[str, Callable[[Run], np.ndarray]] = {
    "rules": lambda run: run.scores(RulesLearner()),
    "rules, not sharpened": plain_rules,
    "refitted": lambda run: run.scores(RefittedForest()),
    "refitted, pure": lambda run: run.scores(RefittedForest(), pure=True),
    "refitted, not stretched": lambda run: run.scores(RefittedForest(UNSTRETCHED)),
    "refitted, residuals whole": lambda run: run.scores(RefittedForest(WHOLE)),
    "refitted, clipped at .7": lambda run: run.scores(RefittedForest(LESS)),
    "refitted, half the rounds": lambda run: run.scores(RefittedForest(Halved(step=0.25))),
    "refitted, all sums in rounds": lambda run: run.scores(
        RefittedForest(Doubled(correction_times=0))
    ),
    "boosted": lambda run: run.scores(BoostedForest()),
    "boosted, leaves not corrected": lambda run: run.scores(
        BoostedForest(BoostedSettings(correction_share=Fraction(0)))
    ),
    "rules and refitted": blend,
}


@lru_cache(maxsize=1)
def coded(folder: Path, name: str) -> tuple[Any, DomainEncoder, np.ndarray]:
    """A table with its encoder and codes."""
    table = load_table(folder, name)
    return table, *codes_of(table)


def codes_of(table: Records) -> tuple[DomainEncoder, np.ndarray]:
    """A table's encoder, and codes of all its records."""
    encoder = DomainEncoder(
        table.domain, invalid="drop", task="classification", estimator_name="variants"
    )
    return encoder, encoder.encode_to_predict(table.X)[0]


def run_of(folder: Path, name: str, epsilon: float, seed: int) -> tuple[Run, np.ndarray]:
    """A run, and the test records' labels."""
    table, encoder, codes = coded(folder, name)
    number = zlib.crc32(f"{name} {epsilon} {seed}".encode())
    split = stratified_split(table, seed)
    return run_on(split, encoder, codes, table.y, Fraction(str(epsilon)), number)


def run_on(
    split: Split,
    encoder: DomainEncoder,
    codes: np.ndarray,
    y: np.ndarray,
    epsilon: Fraction,
    number: int,
) -> tuple[Run, np.ndarray]:
    """A run on a part of coded records, and the labels of the others."""
    facts = table_facts(encoder, float(rounded_rows(split.train.size)))
    training = Table(
        np.ascontiguousarray(codes[split.train]), y[split.train].astype(np.uint8),
        facts.n_codes, facts.offsets, facts.ordered, facts.n_classes,
    )  # fmt: skip
    test = np.ascontiguousarray(codes[split.test])
    return Run(training, test, facts, epsilon, number), y[split.test]


def fitted(folder: Path, line: Line) -> Line:
    """The scores of one fit."""
    run, labels = run_of(folder, line["dataset"], line["epsilon"], line["seed"])
    found = VARIANTS[line["model"]](run)
    return line | scores(labels, found.argmax(axis=1), np.exp(found))


def fit_missing(arguments: argparse.Namespace, out: Store) -> None:
    """Fit what has no line yet."""
    done = finished(out.lines())
    for name in arguments.sets:
        for epsilon in arguments.epsilons:
            for seed in range(arguments.seeds):
                for variant in arguments.variants:
                    line = {
                        "dataset": name, "model": variant, "epsilon": epsilon, "seed": seed
                    }  # fmt: skip
                    if key_of(line) not in done:
                        out.append(fitted(arguments.data, line))


def report(arguments: argparse.Namespace, found: list[Line]) -> None:
    """Print means over tables of each half by epsilon, for tables that all variants have."""
    small = classification_tables(arguments.data).values()
    names = sorted(facts.name for facts in small if facts.n_rows <= MOST_RECORDS)
    names = [name for name in names if name != "internet_ads_subset"]
    lines = finished(found).values()
    means: dict[Any, list[list[float]]] = defaultdict(list)
    for line in lines:
        place = line["dataset"], line["epsilon"], line["model"]
        means[place].append([line[metric] for metric in METRICS[:3]])
    for half, words in enumerate(("development", "confirmation")):
        for epsilon in arguments.epsilons:
            sets = [name for name in names[half::2] if name in arguments.sets]
            sets = [
                n for n in sets if all((n, epsilon, v) in means for v in arguments.variants)
            ]  # fmt: skip
            print(f"\n{words}, epsilon {epsilon:g}: {', '.join(sets)}")
            for variant in arguments.variants if sets else ():
                mean = np.mean([np.mean(means[n, epsilon, variant], axis=0) for n in sets], axis=0)
                print(f"  {variant:26} {100 * mean[0]:.1f} / {mean[1]:.3f} / {mean[2]:.3f}")


def main() -> None:
    """Fit what is missing, then report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--sets", nargs="*", default=list(SETS))
    add("--epsilons", nargs="*", type=float, default=[1.0, 2.0, 5.0])
    add("--seeds", type=int, default=1)
    add("--variants", nargs="*", choices=VARIANTS, default=list(VARIANTS))
    add("--data", type=Path, default=data_folder(), help="folder of tables, or DPFOREST_DATA")
    default = REPOSITORY / "benchmarks" / "results" / "variants.jsonl"
    add("--results", type=Path, default=default)
    add("--report-only", action="store_true")
    arguments = parser.parse_args()
    fit_and_report(arguments, Store(arguments.results, SOURCES), fit_missing, report)


if __name__ == "__main__":
    main()
