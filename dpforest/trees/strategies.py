"""Strategies by the names users ask by, and the public rule that picks one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from dpforest.accounting.releases import LearnerBudget
from dpforest.trees.base import Learner, ReleasedModel, TableFacts
from dpforest.trees.curves.at_once.columns import MOST_KNOTS, are_quick
from dpforest.trees.curves.at_once.settings import AtOnceSettings
from dpforest.trees.rules.settings import MANY_CLASSES, TOO_SMALL_SIGNAL


@dataclass(frozen=True, slots=True)
class Strategy:
    """Place of a learner and its released model, which are imported when used."""

    package: str
    learner: str
    model: str

    def make(self) -> Learner:
        """The learner with its defaults."""
        made: Learner = getattr(import_module(f"{self.package}.learner"), self.learner)()
        return made

    def read(self, data: Any, facts: TableFacts) -> ReleasedModel:
        """The released model that its ``to_data`` wrote, checked against the public facts."""
        model_class = getattr(import_module(f"{self.package}.model"), self.model)
        model: ReleasedModel = model_class.from_data(data, facts)
        return model


#: Strategies that private forests can be asked for, by name; the rule picks each of them somewhere.
ASKED: dict[str, Strategy] = {
    "rules": Strategy("dpforest.trees.rules", "RulesLearner", "RuleModel"),
    "one_shot": Strategy("dpforest.trees.one_shot", "OneShotForest", "OneShotModel"),
    "refitted": Strategy("dpforest.trees.refitted", "RefittedForest", "RefittedModel"),
    "boosted": Strategy("dpforest.trees.boosted", "BoostedForest", "BoostedModel"),
    "additive": Strategy("dpforest.trees.additive", "AdditiveForest", "AdditiveModel"),
}
#: Those that models and reports are read of: the multinomial forest too. It is an estimator of its
#: own (`MultinomialForestClassifier`), and once was a strategy of private forests as well.
STRATEGIES: dict[str, Strategy] = ASKED | {
    "multinomial": Strategy("dpforest.trees.multinomial", "MultinomialForest", "MultinomialModel"),
}


#: R sqrt(2 / K) from which refitted forests pass selected rules, of two classes and of more, and R
#: for a regression.
REFITTED_SIGNAL, REFITTED_SIGNAL_OF_MANY = 100.0, 150.0
REFITTED_SIGNAL_OF_MEANS = 400.0
#: It is at least so much for each feature, up to the second: trees look at a few features each, and
#: the more there are, the more of these say nothing. Of hundreds many say the same.
REFITTED_SIGNAL_OF_A_FEATURE, REFITTED_SIGNAL_OF_WIDE = 1.25, 180.0
#: R sqrt(2 / K) and records from which boosted forests pass refitted ones, of two classes and of
#: more. Drawn splits follow a few hundred records too closely.
BOOSTED_SIGNAL, BOOSTED_SIGNAL_OF_MANY = 8000.0, 10_000.0
BOOSTED_ROWS = 2000.0
#: They do so of many features, of which such a share is ordered, or of fewer that are nearly all
#: ordered: of few features a random tree uses enough, and values of a category are split off one
#: by one.
BOOSTED_FEATURES, BOOSTED_ORDERED = 18, 0.1
BOOSTED_NUMBERS = 0.8
#: R sqrt(2 / K) from which they do of all others: random trees have no more to say then.
BOOSTED_SIGNAL_OF_NARROW, BOOSTED_SIGNAL_OF_MANY_NARROW = 60_000.0, 20_000.0
#: R and records from which boosted forests pass refitted ones in a regression, with a delta, and R
#: in pure epsilon: random trees have no more to say of what curves leave.
BOOSTED_SIGNAL_OF_MEANS, PURE_BOOSTED_SIGNAL_OF_MEANS = 8000.0, 40_000.0
#: R / sqrt(D) for D features, and in pure epsilon R / D, from which curves of single features are
#: known well enough for trees that go on from them to pass what else there is for a regression.
CURVE_SIGNAL, PURE_CURVE_SIGNAL = 7.0, 12.0
#: R from which they do in pure epsilon, and with a delta, however few features there are: below,
#: little more than a mean is known, and leaves would lose to it.
PURE_LEAST_SIGNAL_OF_MEANS, LEAST_SIGNAL_OF_MEANS = 150.0, 16.0
#: In pure epsilon, of records in memory: R / D from which, and up to which, curves by one noisy
#: minimum pass what else there is for a regression; R from which they do, however few features
#: there are; and R / D and R from which they do where each is known a little better.
AT_ONCE_SIGNAL, MOST_AT_ONCE_SIGNAL = 5.0, 300.0
LEAST_AT_ONCE_SIGNAL = 100.0
AT_ONCE_SIGNAL_OF_LITTLE, LEAST_AT_ONCE_SIGNAL_OF_LITTLE = 8.0, 40.0
#: The same of two classes: R / D from which curves at once pass rules. They do of few records
#: (`REFITTED_LEAST_ROWS` to `PURE_REFITTED_ROWS`), which rules follow too closely, up to such an
#: epsilon: then little noise is left, and trees tell what features say jointly.
AT_ONCE_SIGNAL_OF_CLASSES, MOST_AT_ONCE_EPSILON = 64.0, 18.0
#: Columns up to which they do: a few hundred records tell of no more, and are fitted in a second.
AT_ONCE_COLUMNS_OF_CLASSES = 300
#: Share of ordered features below which, if there are any, they do of more records, too: up to
#: boosted forests, past refitted ones.
MIXED_ORDERED = 0.5
#: In pure epsilon, of two classes: R from which refitted forests pass rules, and boosted ones pass
#: these; they do earlier of as many features as `BOOSTED_FEATURES`, nearly all ordered.
PURE_REFITTED_SIGNAL, PURE_BOOSTED_SIGNAL = 16_000.0, 200_000.0
PURE_BOOSTED_SIGNAL_OF_WIDE = 30_000.0
#: R from which boosted ones pass them of fewer features than these: trees that are drawn resolve
#: so few as well, in a tenth of the time.
FEW_FEATURES, PURE_BOOSTED_SIGNAL_OF_FEW = 4, 100_000.0
#: In memory, where boosted forests begin with curves at once: R / D from which they pass refitted
#: forests, wherever these passed rules.
PURE_BOOSTED_SIGNAL_OF_CURVES = 1800.0
#: R sqrt(2 / K) from which boosted forests pass what else there is of more classes, up to
#: `MANY_CLASSES`; of more they were ahead nowhere. Where hardly a feature is ordered it is that of
#: two: drawn splits part categories off one by one. The second is that of streams, which have no
#: rules.
PURE_BOOSTED_SIGNAL_OF_MANY, PURE_BOOSTED_SIGNAL_OF_MANY_STREAMED = 80_000.0, 60_000.0
#: That from which refitted forests pass rules of three classes; later where a share of
#: `BOOSTED_NUMBERS` of the features is ordered, since rules cut numbers better than random trees.
PURE_REFITTED_SIGNAL_OF_THREE, PURE_REFITTED_SIGNAL_OF_THREE_ORDERED = 5000.0, 12_000.0
#: The same of more than `MANY_CLASSES`. Of those between rules have as many leaves as say
#: something, and hold until boosted ones pass them.
PURE_REFITTED_SIGNAL_OF_VERY_MANY = 25_000.0
#: R from which boosted forests pass all others where rules can't be had: in regressions, and in
#: streams of two classes and many features that are nearly all ordered.
PURE_BOOSTED_SIGNAL_WITHOUT_RULES = 10_000.0
#: In pure epsilon, of two classes: records up to which, and epsilon from which, refitted forests
#: pass rules: with little noise many trees follow so few records less closely than one rule does. A
#: bought number of records takes a twentieth of epsilon, and 10 is to be enough.
PURE_REFITTED_ROWS, PURE_REFITTED_EPSILON = 2000.0, 9.0
#: Records below which rules stay: on made-up laws of 20 to 50 records trees say far less.
REFITTED_LEAST_ROWS = 100.0
#: In pure epsilon, of streams: R sqrt(2 / K) from which refitted forests pass one-shot ones.
PURE_STREAMED_SIGNAL = 200.0


#: Strategies that look at all records at once, which are refused where those are read pass by
#: pass. The rule picks them there too where class shares are all: of a stream they plan no more.
NOT_STREAMED = frozenset({"rules"})


#: Strategies whose models hold the very counts that the noise went on.
HOLD_COUNTS = frozenset({"multinomial"})


def pick_strategy(facts: TableFacts, budget: LearnerBudget) -> str:
    """The learner that serves this budget best, from public quantities only.

    Rules are drawn at the whole pure epsilon, so they win where the budget is small for the
    table; sums of many noisy tables win above, and trees whose splits are drawn
    win where records are many. The limits are in R sqrt(2 / K) for K classes, of means in
    R = n / sigma_1 (``LearnerBudget.signal``); docs/private_forest.md says how they were found.
    """
    signal = budget.signal(facts.approximate_rows or 1.0)
    if budget.is_pure and _is_for_curves_at_once(facts, float(budget.epsilon), signal):
        return "additive"
    if facts.is_regression and _is_for_boosted_means(facts, budget, signal):
        return "boosted"
    if facts.is_regression and _is_enough_for_means(facts, budget, signal):
        return "refitted"
    if budget.is_pure and _is_for_pure_refitting(facts, float(budget.epsilon), signal):
        return "refitted"
    if (_is_for_boosting if budget.delta else _is_for_pure_boosting)(facts, signal):
        return "boosted"
    if facts.is_regression:
        # Means need no labels: tables of one-shot forests hold out where rules would guess.
        return "one_shot"
    if not facts.in_memory:
        if facts.approximate_rows is not None and signal < TOO_SMALL_SIGNAL:
            return "rules"
        return "refitted" if budget.delta or _is_for_pure_streams(facts, signal) else "one_shot"
    if budget.delta:
        return "refitted" if _level(facts, signal) >= _refitted_signal(facts) else "rules"
    return "rules"


def _level(facts: TableFacts, signal: float) -> float:
    """R sqrt(2 / K): of more classes each has fewer records to be told by."""
    return float(signal * (2 / max(facts.n_classes, 2)) ** 0.5)


def _refitted_signal(facts: TableFacts) -> float:
    """R sqrt(2 / K) from which refitted forests pass rules, with a delta."""
    least = REFITTED_SIGNAL if facts.n_classes == 2 else REFITTED_SIGNAL_OF_MANY
    return min(max(least, REFITTED_SIGNAL_OF_A_FEATURE * facts.n_features), REFITTED_SIGNAL_OF_WIDE)


def _has_order(facts: TableFacts) -> bool:
    """True unless hardly a feature is ordered."""
    return float(facts.ordered.mean()) >= BOOSTED_ORDERED


def _is_for_boosted_means(facts: TableFacts, budget: LearnerBudget, signal: float) -> bool:
    """True if drawn splits are worth their price in a regression."""
    enough = BOOSTED_SIGNAL_OF_MEANS if budget.delta else PURE_BOOSTED_SIGNAL_OF_MEANS
    return signal >= enough and (facts.approximate_rows or 0.0) >= BOOSTED_ROWS


def _is_for_boosting(facts: TableFacts, signal: float) -> bool:
    """True if drawn splits are worth their price, with a delta."""
    if facts.is_regression or (facts.approximate_rows or 0.0) < BOOSTED_ROWS:
        return False
    suited = _suits_boosting(facts)
    if facts.n_classes > 2:
        enough = BOOSTED_SIGNAL_OF_MANY if suited else BOOSTED_SIGNAL_OF_MANY_NARROW
    else:
        enough = BOOSTED_SIGNAL if suited else BOOSTED_SIGNAL_OF_NARROW
    return _level(facts, signal) >= enough


def _is_for_pure_boosting(facts: TableFacts, signal: float) -> bool:
    """True if drawn splits are worth their price, in pure epsilon."""
    enough = _level(facts, signal) >= _pure_boosted_signal(facts)
    return enough and facts.n_classes <= MANY_CLASSES


def _pure_boosted_signal(facts: TableFacts) -> float:
    """R sqrt(2 / K) from which boosted forests pass what else there is, in pure epsilon.

    Of many ordered features random trees look for few thresholds among very many.
    """
    if facts.is_regression:
        return PURE_BOOSTED_SIGNAL_WITHOUT_RULES
    if facts.n_classes > 2:
        return _pure_boosted_signal_of_many(facts)
    if facts.n_features >= BOOSTED_FEATURES and float(facts.ordered.mean()) >= BOOSTED_NUMBERS:
        wide = PURE_BOOSTED_SIGNAL_OF_WIDE
        return wide if facts.in_memory else PURE_BOOSTED_SIGNAL_WITHOUT_RULES
    if facts.n_features < FEW_FEATURES:
        return PURE_BOOSTED_SIGNAL_OF_FEW
    rows = facts.approximate_rows or 0.0
    if not facts.in_memory or not are_quick(facts) or rows < BOOSTED_ROWS:
        return PURE_BOOSTED_SIGNAL
    begun = max(PURE_BOOSTED_SIGNAL_OF_CURVES * facts.n_features, PURE_REFITTED_SIGNAL)
    return min(begun, PURE_BOOSTED_SIGNAL)


def _pure_boosted_signal_of_many(facts: TableFacts) -> float:
    """The same of more than two classes."""
    if not _has_order(facts):
        return PURE_BOOSTED_SIGNAL
    in_memory, streamed = PURE_BOOSTED_SIGNAL_OF_MANY, PURE_BOOSTED_SIGNAL_OF_MANY_STREAMED
    return in_memory if facts.in_memory else streamed


def _is_for_pure_refitting(facts: TableFacts, epsilon: float, signal: float) -> bool:
    """True if many trees pass one rule, and fewer trees whose splits are drawn.

    They do where a signal is large; and where there are few records for their epsilon, which one
    rule would follow too closely.
    """
    rows = facts.approximate_rows
    if facts.is_regression or rows is None or rows < REFITTED_LEAST_ROWS:
        return False
    few = rows < PURE_REFITTED_ROWS
    if few and facts.n_classes == 2:
        return epsilon >= PURE_REFITTED_EPSILON
    enough = _level(facts, signal) >= _pure_refitted_signal(facts)
    return enough and (few or not _is_for_pure_boosting(facts, signal))


def _pure_refitted_signal(facts: TableFacts) -> float:
    """R sqrt(2 / K) from which refitted forests pass rules, in pure epsilon."""
    if facts.n_classes == 2:
        return PURE_REFITTED_SIGNAL
    if facts.n_classes == 3:
        numbers = float(facts.ordered.mean()) >= BOOSTED_NUMBERS
        return PURE_REFITTED_SIGNAL_OF_THREE_ORDERED if numbers else PURE_REFITTED_SIGNAL_OF_THREE
    many = facts.n_classes > MANY_CLASSES
    return PURE_REFITTED_SIGNAL_OF_VERY_MANY if many else _pure_boosted_signal(facts)


def _is_for_pure_streams(facts: TableFacts, signal: float) -> bool:
    """True if refitted trees pass tables of many random ones, where rules can't be had."""
    return _level(facts, signal) >= PURE_STREAMED_SIGNAL


def _is_enough_for_means(facts: TableFacts, budget: LearnerBudget, signal: float) -> bool:
    """True if a refitted forest passes what else there is for a regression."""
    if budget.is_pure:
        return signal >= max(PURE_CURVE_SIGNAL * facts.n_features, PURE_LEAST_SIGNAL_OF_MEANS)
    curves = signal >= max(CURVE_SIGNAL * facts.n_features**0.5, LEAST_SIGNAL_OF_MEANS)
    return curves or signal >= REFITTED_SIGNAL_OF_MEANS


def _is_for_curves_at_once(facts: TableFacts, epsilon: float, signal: float) -> bool:
    """True if curves of all features at once pass what else there is, in pure epsilon."""
    if not facts.in_memory or facts.n_classes != 2:
        return False
    if facts.is_regression:
        return _are_means_for_curves(facts, signal)
    return _are_classes_for_curves(facts, epsilon, signal)


def _are_means_for_curves(facts: TableFacts, signal: float) -> bool:
    """The same of a regression."""
    level = signal / facts.n_features
    little = level >= AT_ONCE_SIGNAL_OF_LITTLE and signal >= LEAST_AT_ONCE_SIGNAL_OF_LITTLE
    enough = level >= AT_ONCE_SIGNAL and signal >= LEAST_AT_ONCE_SIGNAL
    known = (little or enough) and level < MOST_AT_ONCE_SIGNAL
    # Curves are lines where no forest begins with them yet: quick of many features, too.
    lines = level < PURE_CURVE_SIGNAL
    knots = AtOnceSettings().n_knots(level, facts.n_features, True) if lines else MOST_KNOTS
    return known and are_quick(facts, n_knots=knots)


def _are_classes_for_curves(facts: TableFacts, epsilon: float, signal: float) -> bool:
    """The same of two classes."""
    level, rows = signal / facts.n_features, facts.approximate_rows or 0.0
    known = level >= AT_ONCE_SIGNAL_OF_CLASSES and are_quick(facts, AT_ONCE_COLUMNS_OF_CLASSES)
    if rows < PURE_REFITTED_ROWS:
        return known and rows >= REFITTED_LEAST_ROWS and epsilon < MOST_AT_ONCE_EPSILON
    return known and _is_mixed(facts) and signal < _pure_boosted_signal(facts)


def _is_mixed(facts: TableFacts) -> bool:
    """True if more than half of the features are categories, but not all.

    So it is of surveys and customers, where each feature tells something on its own.
    """
    return 0.0 < float(facts.ordered.mean()) < MIXED_ORDERED


def _suits_boosting(facts: TableFacts) -> bool:
    """True if random trees would waste much on features that say little, or on thresholds."""
    ordered = float(facts.ordered.mean())
    wide = facts.n_features >= BOOSTED_FEATURES and _has_order(facts)
    return wide or ordered >= BOOSTED_NUMBERS


def spends_pure_epsilon(strategy: str) -> bool:
    """True if a learner spends the pure epsilon, with a delta too."""
    return strategy == "rules"
