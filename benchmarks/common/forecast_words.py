"""Words of the page of forecasts."""

TEXT = """# Forecasts

Written by `{command}`.

A forecast is a range for what a fit gains over the best constant: accuracy less the share of
the most frequent class, or R². `plan().expected_gain` gives it before any record is read, from
public figures alone: R of the budget in pure ε, the task, the numbers of classes and features,
and whether the plan releases more than a constant. `forest.expected_gain()` gives one after the
fit, which costs nothing: it goes by what the released model says of itself.

**How it was found.** {fits} fits of `strategy="auto"` on the {n_first} tables that most pages are
made from: ε from 0.1 to 5, δ = 0 and 10⁻⁶, two splits, rows declared; long tables are cut to
50,000 records. Ranges are linear quantile regressions with two or three coefficients an end, at a
nominal coverage of {nominal}. They are held against {fits_second} fits, one split each, of
{n_second} other tables ([tables for everybody](benchmarks.md#tables-for-everybody)), of which
nothing was found but that no lower end before a fit is above 0. Of the rule by which `auto`
picks, a few limits were confirmed on them.

Forms were chosen earlier, with half of the {n_first} tables, and ranges found on that half alone.
Ten regressions were too few for that: on the other ten a range before the fit held in 54 %. No
range ends above what the largest class leaves, as the model has its share. After a fit a
regression's range goes by the root of what the model tells and by that times log₁₀ (R / √D): where
it went by log₁₀ (R / √D) itself, many records alone promised a gain where predictions hardly
differ. The lower end of such a range is cut at an R² of .3: where predictions lie far apart they
may follow noise, or a few targets that are far larger than most (parkinsons_updrs without a δ, and
made-up costs with a long tail). It is cut at 0 where what is learnt begins with curves at once:
there predictions lie as far apart where targets are dealt anew, and up to .3 was promised of noise.

A range that ignores the table has the quantiles of all gains of the tables at hand, of the
same nominal coverage: by ε alone, by task and ε alone, or one for all. Widths are compared with
the first two.

## On tables that were not used to find it

{confirmed}

Asked was: 75 to 90 % held, overall and by ε, with at most half the width of the range by ε
alone.

## On the tables it was found on, each left out in turn

{crossed}

The ranges in the last three rows were found on these very fits.

## Where there is nothing to learn

Labels and targets of the other tables, dealt anew among the records: one split, all ε, with and
without a δ. A model follows noise, and claims a gain for it. So no lower end of classes is
above what the model tells beyond `NOISE_TOLD`: what one fit in twenty tells of noise, found on the
tables at hand with their labels dealt anew ({noise_told}: a constant, more for rules, and
more for refitted forests by 1 − 2/K). Of curves at once `NOISE_TOLD_AT_ONCE` times the root of
their columns over the records comes to it, found on [coins](tried.md#kept-additive-models).

{noise}

## Coverage against width

On the other tables, for other nominal coverages; ends found on the tables at hand.

{curve}

{says}

## Coefficients

In `dpforest/estimators/forecast_range.py`: a constant, then one a figure. Those of classes
before a fit are in parts of 1 − 1/K, by log₁₀ R, up to 3. Those of means go by log₁₀ (R / √D),
up to 3. After a fit, what the model tells comes first: of classes the accuracy that it claims
less the claimed share of the most frequent class, and then whether it is a refitted forest; of
means the root of the standard deviation of predictions, in parts of the range that the learner
saw, then that deviation times log₁₀ (R / √D), and that deviation where curves were made at once,
which follow noise further. Selected rules without counted leaves tell
nothing, and keep the range of the plan.

{ends}

The constants of classes are from fits at ε = 0.005, where {small} released nothing else.

## Strategies asked for by name

One split, ε 0.5 and 2, all tables at hand. Nothing was found on these fits. What these models
tell is too far off, so after such a fit `forest.expected_gain()` is the range of the plan.

{strategies}

## The {n_worst} other tables whose ranges held least

Gains are those of all fits at ε = 1; ranges are means over δ and splits.

{tables}
"""

SAYS = """## What this says

* **Both ranges hold as often as was asked, and neither is as narrow.** On other tables `plan()`
  holds in 94 % of fits, in regressions 93 %, and is .82 as wide as a range that ignores the
  table. The range after a fit holds in 93 % (91 to 95 % by ε, in regressions 92 %), and is .57 as
  wide where half was asked. Both hold more often than asked.
* **On tables that were left out in turn** they hold in 89 and 87 %: the tables at hand differ
  more from each other. On many of the others there is little to gain.
* **One thing was changed after a look at the other tables**: no lower end before a fit is above 0
  any more, since no public figure says that the features tell anything. It was .01 for most
  plans, and `plan()` held in 83 %.
* **Where there is nothing to learn** one lower end of classes in seventeen lies above the gain,
  half of those by .04 and more. Of regressions it is more than one in three, half of those by
  .02 of R² and more, and none is above 0.
* How much a table can teach is mostly its own: of two tables alike in every public figure one
  gains 0 and the other 0.4. The curve shows what narrower ranges would cost. Of classes R says
  little once more than a constant is released; of regressions it says much.
* A table is mostly held or mostly missed as a whole."""
