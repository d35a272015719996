"""Learners beside each other on tasks that are made of tables, at the same public signal.

Limits of the default's rule were read off few tables, so other tasks have to try them: targets of
regressions and classes of several are cut into a few, which no rule was made on. ``table>0.8``
asks whether a target is in its upper fifth, ``table=top`` whether a record is of the most frequent
class, ``table=half`` whether it is of one half of the classes, drawn once, and ``table/3`` in which
third a target is. Cuts are read off all records, which no figure of privacy may be: these are
trials of learners, with seeded noise, not figures of the library. A long table gives 20,000 of its
records.

Epsilon is chosen so that R sqrt(2 / K) is what was asked for, with delta = 1e-6, or in pure epsilon
for the models that are called so: R counts noise of two kinds, so these are compared with one
another alone. A task that it takes more than 12 for is left out. One JSON line a fit is appended to
``--results``, and what is there is skipped; then mean differences from the first model are printed:
accuracy in points, AUC and log loss in thousandths.

    python benchmarks/made_tasks.py --models rules refitted --signals 320 450 600 850 1200
    python benchmarks/made_tasks.py --models refitted boosted --signals 4500 9000 --most-features 17
    python benchmarks/made_tasks.py --models refitted boosted --signals 2400 4000 6000 --several
    python benchmarks/made_tasks.py --models refitted additive "refitted, additive start"
    python benchmarks/made_tasks.py --models "refitted, public bins" refitted --signals 170 340
    python benchmarks/made_tasks.py --models "rules, pure" "boosted, pure" --signals 15000 25000
    python benchmarks/made_tasks.py --models "rules, counted once, pure" "rules, pure"
    python benchmarks/made_tasks.py --models "rules, rare as ever, pure" "rules, pure"
    python benchmarks/made_tasks.py --models "refitted, four trees, pure" "refitted, pure"
    python benchmarks/made_tasks.py --models "rules, nothing near, pure" "rules, pure"
    python benchmarks/made_tasks.py --models "refitted, features alike" refitted
    python benchmarks/made_tasks.py --models "refitted, as sure as it comes" refitted --several
    python benchmarks/made_tasks.py --models "refitted, to their clip" refitted --several
    python benchmarks/made_tasks.py --several --models "rules, sure as ever, pure" "rules, pure"
    python benchmarks/made_tasks.py --several --models "rules, three stages, pure" "rules, pure"

With ``--laws`` tasks are those of made-up laws (``common/made_up.py``) in the place of tables', and
means are those of laws of so many features:

    python benchmarks/made_tasks.py --laws --models rules refitted --records 900 4000 \
        --features 20 60 100 150 220 --classes 2 3 --signals 100 160 250 400 --seeds 1

With ``--of-features`` classes are the categories of a feature, as many as is said
(``common/feature_tasks.py``):

    python benchmarks/made_tasks.py --of-features 3 12 --models "rules, pure" "refitted, pure"
"""

from __future__ import annotations

import argparse
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
from common.feature_tasks import feature_tasks
from common.made_up import LAWS, drawn
from common.models import rounded_rows
from common.records import Records
from common.regression_tables import load_regression_table, regression_tables
from common.results import Line, Store, finished, fit_and_report, key_of
from common.scores import METRICS, scores
from common.sources import Sources
from common.tables import (
    REPOSITORY,
    Table,
    classification_tables,
    data_folder,
    load_table,
    stratified_split,
)
from variants import DELTA, Run, codes_of, log_shares, run_on

from dpforest import Domain
from dpforest.accounting.releases import LearnerBudget
from dpforest.domain.encoder import DomainEncoder
from dpforest.trees.additive.learner import AdditiveForest
from dpforest.trees.boosted.learner import BoostedForest
from dpforest.trees.boosted.settings import BoostedSettings, PureSettings
from dpforest.trees.curves.in_turn.settings import InTurnSettings
from dpforest.trees.one_shot import OneShotForest
from dpforest.trees.one_shot.settings import OneShotSettings
from dpforest.trees.random import bins
from dpforest.trees.refitted import RefittedForest, learner
from dpforest.trees.refitted.settings import PureRefittedSettings, RefittedSettings, RefittedSize
from dpforest.trees.rules import RulesLearner, RulesSettings, probabilities
from dpforest.trees.scored.queries import CodeMove, ScoreHistory

SOURCES = Sources(
    ("made_tasks:fitted", "common.made_up:drawn", "common.feature_tasks:feature_tasks")
)
LEAST_RECORDS, MOST_RECORDS = 900, 20_000
MOST_EPSILON = 12.0
#: Share of a class below which a task is left out, and that of features from which all count as
#: ordered, or none.
LEAST_SHARE, MIXED = 0.05, (0.1, 0.8)
#: A feature behind the name of its table; a cut at a share has a sign between.
FEATURE = re.compile(r"^[^>/=]+\.[^.]+$")
START_SHARE = Fraction(3, 10)
FOUR_TREES = RefittedForest(
    pure_settings=PureRefittedSettings(
        fixed_size=RefittedSize(8, 64, 4), step=1.4, selection_share=Fraction(1, 2)
    )
)

#: Nobody looks at how often scores are right.
NO_LOOK = {"confidence_share": Fraction(0)}
AS_IT_COMES = {
    "refitted": RefittedForest(RefittedSettings(**NO_LOOK), PureRefittedSettings(**NO_LOOK)),
    "boosted": BoostedForest(BoostedSettings(**NO_LOOK), PureSettings(**NO_LOOK)),
    "additive": AdditiveForest(**NO_LOOK),
}
#: Residuals of several classes held by their clip alone, with a delta.
TO_THEIR_CLIP = {
    "refitted": RefittedForest(RefittedSettings(norm_of_many=None)),
    "boosted": BoostedForest(BoostedSettings(norm_of_many=None)),
    "additive": AdditiveForest(InTurnSettings(norm_of_many=None)),
}
SURE_TABLES = OneShotForest(OneShotSettings(most_slope=1e6))
FEATURES_ALIKE = RefittedForest(
    RefittedSettings(learnt_share=0.0), PureRefittedSettings(learnt_share=0.0)
)


class Task(Table):
    """Records with classes that were made of a target or of other classes."""

    @cached_property
    def coded(self) -> tuple[DomainEncoder, np.ndarray]:
        """Encoder of the features, and codes of all records."""
        return codes_of(self)


def tasks(folder: Path, several: bool) -> Iterator[Task]:
    """All tasks, of two classes or of several; those of tables that are one as they are, too."""
    for name, n_rows in regression_tables(folder).items():
        if n_rows >= LEAST_RECORDS:
            table = load_regression_table(folder, name)
            for text, y in (cut_finely if several else cut_in_two)(table.y):
                yield from _task(table, name + text, y)
    for name, facts in classification_tables(folder).items():
        if facts.n_rows < LEAST_RECORDS or (facts.is_long and "@" not in name):
            continue
        classes = load_table(folder, name)
        if several == (facts.n_classes > 2):
            yield from _task(classes, name, classes.y)
        elif not several:
            for text, y in two_of_many(classes.y, facts.n_classes):
                yield from _task(classes, name + text, y)


def tasks_of_laws(asked: argparse.Namespace) -> Iterator[Task]:
    """Tasks of made-up laws, of each number of records, features and classes."""
    for law, n, wide, n_classes in product(LAWS, asked.records, asked.features, asked.classes):
        X, y, domain = drawn(law, n, wide, n_classes)
        yield Task(f"{law}, {n:,} × {wide}, {n_classes} classes", X, y, domain)


def tasks_of_features(folder: Path, least: int, most: int) -> Iterator[Task]:
    """Tasks whose classes are a feature's categories."""
    for name, X, y, domain in feature_tasks(folder, least, most):
        yield Task(name, X, y, domain)


def cut_in_two(targets: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Above the median or not; in the upper fifth or not."""
    for part in (0.5, 0.8):
        yield f">{part}", targets > np.quantile(targets, part)


def cut_finely(targets: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """In which third, and in which sixth."""
    for n_classes in (3, 6):
        places = np.quantile(targets, np.arange(1, n_classes) / n_classes)
        yield f"/{n_classes}", np.searchsorted(places, targets)


def two_of_many(labels: np.ndarray, n_classes: int) -> Iterator[tuple[str, np.ndarray]]:
    """Of the most frequent class or not; of four and more, of a half of them or not."""
    yield "=top", labels == np.bincount(labels).argmax()
    if n_classes > 3:
        half = np.random.RandomState(7).permutation(n_classes)[: n_classes // 2]
        yield "=half", np.isin(labels, half)


def _task(table: Records, name: str, y: np.ndarray) -> Iterator[Task]:
    """A task of at most so many records, where no class is rare; a cut may find one class alone."""
    n_classes = int(y.max()) + 1
    counts = np.bincount(y.astype(np.int64), minlength=n_classes)
    if n_classes < 2 or (y is not table.y and counts.min() < LEAST_SHARE * y.size):
        return
    fields = table.domain.model_dump(mode="json")
    fields = {**fields, "target": None, "classes": {"labels": list(range(n_classes))}}
    kept = np.random.RandomState(3).permutation(y.size)[:MOST_RECORDS]
    domain = Domain.model_validate(fields)
    yield Task(name, table.X[kept], y[kept].astype(np.int64), domain)


def started(run: Run) -> np.ndarray:
    """A refitted forest on what curves leave unexplained, which have a share of rho."""
    budget = LearnerBudget(run.epsilon, DELTA)
    share = replace(budget, concentrated=budget.rho * START_SHARE)
    curves = run.trained(AdditiveForest(), share)
    begins = ScoreHistory(curves.base).then(CodeMove(run.facts.offsets, curves.code_values))
    rest = replace(budget, concentrated=budget.rho * (1 - START_SHARE))
    settings = RefittedSettings(start_signal=float("inf"))
    with mock.patch.object(learner, "ScoreHistory", lambda base: begins):
        forest = replace(run, seed=run.seed + 1).trained(RefittedForest(settings), rest)
    # What it begins with is no part of the forest but for the base, so it is added here.
    values = replace(curves, base=np.zeros_like(curves.base))
    return log_shares(forest.log_odds(run.test) + values.log_odds(run.test))


def of_public_bins(run: Run) -> np.ndarray:
    """A refitted forest that buys no quantiles."""
    with mock.patch.object(bins, "MOST_NOISE", 0.0):
        return run.scores(RefittedForest())


def corrected_singly(run: Run) -> np.ndarray:
    """A refitted forest that asks for the corrections of one tree after the other."""
    return run.scores(RefittedForest(RefittedSettings(trees_together=1)))


def counted_once(run: Run) -> np.ndarray:
    """Rules of up to three stages whose leaves are counted at the end alone."""
    settings = RulesSettings(cells_share=Fraction(0), fourth_signal=float("inf"))
    return run.scores(RulesLearner(settings))


def nothing_near(run: Run) -> np.ndarray:
    """Rules all of whose sums are from anywhere."""
    return run.scores(RulesLearner(RulesSettings(near_share=0.0)))


def equal_stages(run: Run) -> np.ndarray:
    """Rules whose stages have the same budget."""
    return run.scores(RulesLearner(RulesSettings(stage_growth=Fraction(1))))


def later_stages(run: Run) -> np.ndarray:
    """Rules of two classes whose third and fourth stage come at twice and a third more R."""
    settings = RulesSettings(third_signal=2000.0, fourth_signal=8000.0, few_rows=0.0)
    return run.scores(RulesLearner(settings))


def three_stages(run: Run) -> np.ndarray:
    """Rules of as many stages as two classes have without counts, from the same R on."""
    ours = RulesSettings()
    few = replace(
        ours,
        second_signal_of_several=ours.second_signal, third_signal_of_several=ours.third_signal,
        further_signals_of_many=(), further_signals_of_very_many=(),
        n_sums_of_very_many=ours.n_sums_of_much, n_cuts_of_very_many=ours.n_cuts,
    )  # fmt: skip
    return run.scores(RulesLearner(few))


def rare_as_ever(run: Run) -> np.ndarray:
    """Rules by which a class is rare from the same odds on, whatever can be learnt."""
    return run.scores(RulesLearner(RulesSettings(odds_signal=float("inf"))))


def sure_as_ever(run: Run) -> np.ndarray:
    """Rules of many classes that expect of labels what two classes do, and whose counts decide."""
    with (
        mock.patch.object(probabilities, "HALFWAY_OF_A_CLASS", 0.0),
        mock.patch.object(probabilities, "CONFIDENCE_CLASSES", float("inf")),
        mock.patch.object(probabilities, "LABEL_LEAD", 0.0),
    ):
        return run.scores(RulesLearner())


MODELS: dict[str, Callable[[Run], np.ndarray]] = {
    "rules": lambda run: run.scores(RulesLearner()),
    "one-shot": lambda run: run.scores(OneShotForest()),
    "refitted": lambda run: run.scores(RefittedForest()),
    "refitted, features alike": lambda run: run.scores(FEATURES_ALIKE),
    "refitted, public bins": of_public_bins,
    "refitted, corrected one by one": corrected_singly,
    "boosted": lambda run: run.scores(BoostedForest()),
    "additive": lambda run: run.scores(AdditiveForest()),
    "refitted, additive start": started,
    "refitted, as sure as it comes": lambda run: run.scores(AS_IT_COMES["refitted"]),
    "boosted, as sure as it comes": lambda run: run.scores(AS_IT_COMES["boosted"]),
    "additive, as sure as it comes": lambda run: run.scores(AS_IT_COMES["additive"]),
    "refitted, to their clip": lambda run: run.scores(TO_THEIR_CLIP["refitted"]),
    "boosted, to their clip": lambda run: run.scores(TO_THEIR_CLIP["boosted"]),
    "additive, to their clip": lambda run: run.scores(TO_THEIR_CLIP["additive"]),
    "boosted, as sure as it comes, pure": lambda run: run.scores(AS_IT_COMES["boosted"], pure=True),
    "rules, counted once, pure": counted_once,
    "rules, rare as ever, pure": rare_as_ever,
    "rules, nothing near, pure": nothing_near,
    "rules, equal stages, pure": equal_stages,
    "rules, later stages, pure": later_stages,
    "rules, sure as ever, pure": sure_as_ever,
    "rules, three stages, pure": three_stages,
    "rules, pure": lambda run: run.scores(RulesLearner()),
    "one-shot, pure": lambda run: run.scores(OneShotForest(), pure=True),
    "one-shot, sure as ever, pure": lambda run: run.scores(SURE_TABLES, pure=True),
    "one-shot, sure as ever": lambda run: run.scores(SURE_TABLES),
    "refitted, pure": lambda run: run.scores(RefittedForest(), pure=True),
    "refitted, features alike, pure": lambda run: run.scores(FEATURES_ALIKE, pure=True),
    "refitted, four trees, pure": lambda run: run.scores(FOUR_TREES, pure=True),
    "boosted, pure": lambda run: run.scores(BoostedForest(), pure=True),
    "additive, pure": lambda run: run.scores(AdditiveForest(), pure=True),
    "additive, in turn, pure": lambda run: run.scores(AdditiveForest(at_once=None), pure=True),
}


def delta_of(model: str) -> Fraction:
    """Delta of a model, as its name says."""
    return Fraction(0) if model.endswith(", pure") else DELTA


def epsilon_of(signal: float, rows: float, n_classes: int, delta: Fraction) -> Fraction:
    """Epsilon, to four digits after the point, with which R sqrt(2 / K) is what is asked for."""
    low, high = 1e-4, 2 * MOST_EPSILON
    for _ in range(40):
        middle = (low * high) ** 0.5
        found = LearnerBudget(Fraction(middle), delta).signal(rows) * (2 / n_classes) ** 0.5
        low, high = (middle, high) if found < signal else (low, middle)
    return Fraction(f"{high:.4f}")


def run_of(task: Task, signal: float, seed: int, delta: Fraction) -> tuple[Run, np.ndarray]:
    """A run, and the test records' classes."""
    split, (encoder, codes) = stratified_split(task, seed), task.coded
    epsilon = epsilon_of(signal, rounded_rows(split.train.size), task.n_classes, delta)
    number = zlib.crc32(f"{task.name} {signal} {seed}".encode())
    return run_on(split, encoder, codes, task.y, epsilon, number)


def fitted(task: Task, line: Line) -> Line | None:
    """The scores of one fit; nothing where its epsilon is no use."""
    run, labels = run_of(task, line["epsilon"], line["seed"], delta_of(line["model"]))
    if run.epsilon > MOST_EPSILON:
        return None
    found = MODELS[line["model"]](run)
    facts = {"ordered": float(run.facts.ordered.mean()), "n_features": run.facts.n_features}
    return line | facts | scores(labels, found.argmax(axis=1), np.exp(found))


def fit_missing(asked: argparse.Namespace, out: Store) -> None:
    """Fit what has no line yet; ``epsilon`` of a line is the signal that was asked for."""
    done = finished(out.lines())
    for task in asked_tasks(asked):
        if task.X.shape[1] > asked.most_features or (asked.sets and task.name not in asked.sets):
            continue
        for signal in asked.signals:
            for seed in range(asked.seeds):
                for model in asked.models:
                    line = {"dataset": task.name, "model": model, "epsilon": signal, "seed": seed}
                    if key_of(line) not in done and (made := fitted(task, line)):
                        out.append(made)
        print(task.name, flush=True)


def asked_tasks(asked: argparse.Namespace) -> Iterator[Task]:
    """The tasks that fits are asked of."""
    if asked.laws:
        return tasks_of_laws(asked)
    if asked.of_features:
        return tasks_of_features(asked.data, *asked.of_features)
    return tasks(asked.data, asked.several)


def kind_of(ordered: float) -> str:
    """Kind of features that a task has."""
    return "no numbers" if ordered < MIXED[0] else "mixed" if ordered < MIXED[1] else "numbers"


def is_of_law(task: str) -> bool:
    """True if a task is of a made-up law, by its name."""
    return task.split(", ")[0] in LAWS


def is_asked(asked: argparse.Namespace) -> Callable[[str], bool]:
    """Say of a task's name whether means of it were asked for."""
    if asked.of_features:
        return {task[0] for task in feature_tasks(asked.data, *asked.of_features)}.__contains__
    return lambda name: not FEATURE.search(name) and is_of_law(name) == asked.laws


def group_of(line: Line) -> str:
    """Tasks that a line's task is one of."""
    of_law = is_of_law(line["dataset"])
    return f"{line['n_features']:4} features" if of_law else kind_of(line["ordered"])


def report(asked: argparse.Namespace, lines: list[Line]) -> None:
    """Print mean differences from the first model by signal, for kinds of tasks and for all."""
    found = {key_of(line): line for line in lines}
    wanted = is_asked(asked)
    asked_for = [line for line in lines if wanted(line["dataset"])]
    names = {line["dataset"]: group_of(line) for line in asked_for}
    for signal in asked.signals:
        rows = defaultdict(list)
        for name, kind in names.items():
            keys = [(name, model, signal) for model in asked.models]
            seeds = [s for s in range(asked.seeds) if all((*key, s) in found for key in keys)]
            if seeds:
                means = [
                    [np.mean([found[*key, s][metric] for s in seeds]) for metric in METRICS[:3]]
                    for key in keys
                ]
                rows[kind].append(means)
                rows["all"].append(means)
        for kind, values in sorted(rows.items()):
            mean = np.mean(values, axis=0)
            text = " | ".join(
                f"{model} {100 * a:+.2f} / {1000 * b:+.1f} / {1000 * c:+.1f}"
                for model, (a, b, c) in zip(asked.models[1:], mean[1:] - mean[0], strict=True)
            )
            print(f"R {signal:<7g} {kind:13} {len(values):3} tasks | {text}")


def main() -> None:
    """Fit what is missing, then report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--models", nargs="*", choices=MODELS, default=["refitted", "boosted"])
    add("--signals", nargs="*", type=float, default=[400.0, 1000.0, 2500.0, 6000.0])
    add("--several", action="store_true", help="tasks of more than two classes")
    add("--sets", nargs="*", help="names of tasks; default all")
    add("--laws", action="store_true", help="tasks of made-up laws in the place of tables'")
    add("--of-features", nargs=2, type=int, metavar=("LEAST", "MOST"),
        help="tasks whose classes are a feature's categories, so many")  # fmt: skip
    add("--records", nargs="*", type=int, default=[4000])
    add("--features", nargs="*", type=int, default=[20, 100])
    add("--classes", nargs="*", type=int, default=[2, 3])
    add("--most-features", type=int, default=10**6)
    add("--seeds", type=int, default=2)
    add("--data", type=Path, default=data_folder(), help="folder of tables, or DPFOREST_DATA")
    add("--results", type=Path, default=REPOSITORY / "benchmarks" / "results" / "made_tasks.jsonl")
    add("--report-only", action="store_true")
    asked = parser.parse_args()
    if len({delta_of(model) for model in asked.models}) > 1:
        parser.error("models in pure epsilon are compared with one another alone")
    fit_and_report(asked, Store(asked.results, SOURCES), fit_missing, report)


if __name__ == "__main__":
    main()
