"""Constants of the rules learner.

The family of trees and the stages were compared on seventeen small public tables, the last shares
at epsilon 0.1 on all of them; ten other tables served for the confidence and calibration constants.
So none of these is a clean confirmation. Counts before a stage, their share and limits, and the
fourth stage were read off tasks made of all tables, and further stages of more classes off tables
as they are (docs/tried.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpforest.checks import (
    check_count,
    check_each,
    check_integer,
    check_limit,
    check_number,
    check_share,
)

#: R below which a budget cannot teach more than the class shares.
TOO_SMALL_SIGNAL = 5.0
#: Classes from which a first tree, of four leaves, names half of them at most.
SEVERAL_CLASSES = 8
#: More classes than these are very many: 64 leaves hardly name each of them where it lies.
MANY_CLASSES = 12
#: Smallest and largest steepness of soft cuts.
STEEPNESS_RANGE = 0.001, 1000.0
#: Cuts of a direction, at most: its bins are numbered with 8 bits.
MOST_CUTS = 255
#: Largest weight of a record: as often it is counted, in 64 bits, and scores have a place each.
MOST_WEIGHT = 1000
#: Largest base weight of nodes that are not split: sums of bounds of all trees have 64 bits.
MOST_STOP_SHARE = 0.5
#: Further stages of two classes, at most: class counts are bought before each.
_MOST_FURTHER = 3
#: Settings that are whole numbers above 0.
COUNTS = "n_sums", "n_sums_of_much", "n_sums_of_very_many"
#: Settings that are R from which something is done.
SIGNALS = (
    "much_signal", "smallest_signal", "counted_signal", "second_signal", "third_signal",
    "fourth_signal", "second_signal_of_several", "third_signal_of_several", "odds_signal",
    "few_rows",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RulesSettings:
    """Rules by which a plan follows from R = rows * epsilon / sqrt(2).

    Attributes
    ----------
    n_sums, n_sums_of_much : int
        Random signed sums among the directions; the second from R = ``much_signal`` on, where
        fewer are as good, and a fit takes two thirds of the time.
    much_signal : float
    n_cuts : int
        Cuts of a direction, at most.
    sum_share, stop_share : float
        Base weight of sums among all directions, and of nodes that are not split.
    near_share : float
        Of the sums of further stages, those that are near to directions of earlier ones.
    stage_growth : Fraction
        Budget of a stage, over that of the one before: its cells have a quarter of the records.
    smallest_signal : float
        Below it only class shares are released.
    counted_signal : float
        From here on leaves are counted, with noise.
    second_signal : float
        From here on each leaf of the first tree is split by a tree of its own.
    third_signal : float
        From here on so are those leaves' leaves.
    second_signal_of_several, third_signal_of_several : float
        Both of ``SEVERAL_CLASSES`` and more.
    few_rows : float
        Declared records of two classes below which all of this is more careful: see `of_few`.
    count_share : Fraction
        Share of the budget for the counts.
    shares_signal : float
        From here on class shares of two classes are bought before the first tree.
    shares_share : Fraction
        Of the budget, for them, at that R. It falls with the root of R, and so does their noise as
        a share of the records.
    rare_odds, rare_power : float
        Odds of one class against the other from which a record of the rare one weighs more, and
        the power of the odds that it weighs: counting right answers alone never asks which records
        are likelier to be of a class that is nowhere the likeliest.
    odds_signal, rare_odds_of_much : float
        From this R on a class is rare from these odds on among all records: what is likelier and
        what is the answer can both be learnt.
    most_weight : int
        Of a rare class's record, where that of others is 1.
    work : float
        Largest number of elementary steps of a stage, where records weigh alike; families shrink to
        stay below.
    pair_work : float
        Largest number of steps that all stages' pairs with a cut of a single feature take, where
        each parts the records in a way of its own; many ordered features have fewer cuts each.
    pair_work_of_several : float
        The same of all pairs, of ``SEVERAL_CLASSES`` and more.
    fourth_signal : float
        From here on a fourth stage is drawn where leaves are counted before each.
    further_signals_of_many, further_signals_of_very_many : tuple of float
        From these on further stages are drawn of four classes and more, and of more than
        ``MANY_CLASSES``: each leaf names one class.
    n_sums_of_very_many, n_cuts_of_very_many : int
        Sums and cuts of more than ``MANY_CLASSES``, whose weights take longer: fewer say as much.
    cells_signal : float
        From here on class counts of two classes are bought before each further stage, in the
        leaves of the one before.
    cells_share : Fraction
        Of the budget, for those before one stage, at that R. It falls as that of class shares.
    rare_odds_of_cell : float
        As ``rare_odds``, in a leaf of an earlier stage. Less is lost there by asking for the rare
        class: the stage before has asked already what is to be answered.
    steepness, steepness_of_many : float
        Of soft cuts, where there is one stage and where there are more: how fast a record's share
        passes from one side to the other, by its distance from the threshold in public widths.

    Raises
    ------
    ParameterError
        Where a share is none, shares leave nothing for trees, or a number has no meaning.
    """

    n_sums: int = 200
    n_sums_of_much: int = 150
    much_signal: float = 5000.0
    n_cuts: int = 15
    sum_share: float = 0.3
    stop_share: float = 0.05
    near_share: float = 0.8
    stage_growth: Fraction = Fraction(2)
    smallest_signal: float = TOO_SMALL_SIGNAL
    counted_signal: float = 75.0
    second_signal: float = 300.0
    third_signal: float = 1000.0
    few_rows: float = 1000.0
    count_share: Fraction = Fraction(1, 10)
    shares_signal: float = 250.0
    shares_share: Fraction = Fraction(5, 100)
    rare_odds: float = 5.5
    odds_signal: float = 1500.0
    rare_odds_of_much: float = 2.0
    rare_power: float = 0.85
    most_weight: int = 16
    work: float = 1.2e9
    pair_work: float = 2e8
    pair_work_of_several: float = 3.3e8
    fourth_signal: float = 6000.0
    second_signal_of_several: float = 150.0
    third_signal_of_several: float = 700.0
    further_signals_of_many: tuple[float, ...] = (8000.0, 30_000.0)
    further_signals_of_very_many: tuple[float, ...] = (3000.0, 12_000.0, 60_000.0)
    n_sums_of_very_many: int = 60
    n_cuts_of_very_many: int = 8
    cells_signal: float = 1000.0
    cells_share: Fraction = Fraction(3, 100)
    rare_odds_of_cell: float = 3.0
    steepness: float = 20.0
    steepness_of_many: float = 40.0

    def __post_init__(self) -> None:
        """Check what plans, families and models take for granted."""
        for name in COUNTS:
            check_count(getattr(self, name), name)
        for name in ("n_cuts", "n_cuts_of_very_many"):
            check_integer(getattr(self, name), name, 1, MOST_CUTS)
        for name in SIGNALS:
            check_limit(getattr(self, name), name)
        for name in ("further_signals_of_many", "further_signals_of_very_many"):
            check_each(getattr(self, name), name, check_limit, least=0)
        self._check_shares()
        self._check_weights()

    def _check_shares(self) -> None:
        for name in ("count_share", "shares_share", "cells_share"):
            check_share(getattr(self, name), name)
        # Both fall with the root of R.
        for name in ("shares_signal", "cells_signal"):
            check_limit(getattr(self, name), name, above_nothing=True)
        counted = self.count_share + self.shares_share + _MOST_FURTHER * self.cells_share
        check_share(counted, f"count_share + shares_share + {_MOST_FURTHER} cells_share")
        check_number(self.stage_growth, "stage_growth", 0, 1000, closed=False)

    def _check_weights(self) -> None:
        check_number(self.stop_share, "stop_share", 0, MOST_STOP_SHARE)
        for name in ("sum_share", "near_share"):
            check_number(getattr(self, name), name, 0, 1)
        for name in (
            "rare_odds",
            "rare_odds_of_much",
            "rare_odds_of_cell",
            "work",
            "pair_work",
            "pair_work_of_several",
        ):
            check_limit(getattr(self, name), name, above_nothing=True)
        check_number(self.rare_power, "rare_power", 0, 10)
        check_integer(self.most_weight, "most_weight", 1, MOST_WEIGHT)
        for name in ("steepness", "steepness_of_many"):
            check_number(getattr(self, name), name, *STEEPNESS_RANGE)

    def share_of_shares(self, signal: float) -> Fraction:
        """Share of the budget for class shares."""
        return _falling(self.shares_share, self.shares_signal, signal)

    def share_of_cells(self, signal: float) -> Fraction:
        """Share of the budget for class counts before each further stage."""
        return _falling(self.cells_share, self.cells_signal, signal)

    def rare_odds_at(self, signal: float) -> float:
        """Odds from which a class is rare among all records."""
        return self.rare_odds if signal < self.odds_signal else self.rare_odds_of_much

    def steepness_at(self, n_stages: int) -> float:
        """Steepness of soft cuts where there are so many stages."""
        return self.steepness if n_stages == 1 else self.steepness_of_many

    def of_few(self) -> RulesSettings:
        """The same for few records of two classes or a target, soon followed too closely.

        Sums from anywhere, equal stages, later further ones and softer cuts each say more of some
        hundred records than what says more of thousands.
        """
        return replace(
            self,
            near_share=0.0,
            stage_growth=Fraction(1),
            third_signal=2 * self.third_signal,
            fourth_signal=2 * self.fourth_signal,
            steepness_of_many=self.steepness,
        )

    def n_stages(self, signal: float, n_classes: int, counted: bool) -> int:
        """Number of stages of trees in a plan; none where only class shares are released.

        Parameters
        ----------
        signal : float
            R.
        n_classes : int
        counted : bool
            Whether leaves are counted before each further stage, where R allows it.
        """
        limits = self.smallest_signal, *self._firsts(n_classes), *self._further(n_classes, counted)
        return sum(signal >= limit for limit in limits)

    def _firsts(self, n_classes: int) -> tuple[float, float]:
        """R of the second and the third stage."""
        if n_classes >= SEVERAL_CLASSES:
            return self.second_signal_of_several, self.third_signal_of_several
        return self.second_signal, self.third_signal

    def _further(self, n_classes: int, counted: bool) -> tuple[float, ...]:
        """R of the stages after the third; of three classes 64 leaves are enough."""
        if n_classes <= 3:
            return (self.fourth_signal,) if counted else ()
        if n_classes <= MANY_CLASSES:
            return self.further_signals_of_many
        return self.further_signals_of_very_many


def _falling(share: Fraction, first: float, signal: float) -> Fraction:
    """A share of the budget from R = ``first`` on, which falls with the root of R."""
    if signal < first:
        return Fraction(0)
    return share * Fraction((first / signal) ** 0.5).limit_denominator(1000)
