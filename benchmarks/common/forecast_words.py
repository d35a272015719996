"""Words of the page of forecasts."""

TEXT = """# Forecasts

Written by `{command}`.

A forecast is a range for what a fit gains over the best constant: accuracy less the share of
the most frequent class, or R². `plan().expected_gain` gives it before any record is read, from
public figures alone: R of the budget in pure ε, the task, the numbers of classes and features,
and whether the plan releases more than a constant. `forest.expected_gain()` gives one after the
fit, which costs nothing: it goes by what the released model says of itself.

**How it was found.** {fits} fits of `strategy="auto"`: {n_first} tables for development and
{n_second} for confirmation (every second one of each task, by name), ε from 0.1 to 5, δ = 0 and
10⁻⁶, two splits, rows declared; long tables are cut to 50,000 records. Ranges are linear
quantile regressions with two or three coefficients an end, at a nominal coverage of {nominal}.
Form and coverage were chosen by leaving out tables of the development half. The other half was
looked at when all was fixed. After that, `auto` changed its rule, in pure ε and with a δ, and the
ends were found anew in the same way. Two things were changed besides. No range ends above what the
largest class leaves, as the model has its share. And after a fit a regression's range goes by the
root of what the model tells and by that times log₁₀ (R / √D), where it went by what it tells and
by log₁₀ (R / √D): many records alone promised a gain where predictions hardly differ. With each
table of the development half left out in turn the old form held in 73 % of its regressions (a
one-off run) and the new one in 78 %, at one width. Later the lower end of such a range was cut at
an R² of .3: where predictions lie far apart they may follow noise, or a few targets that are far
larger than most, and then R² was far below what was promised (parkinsons_updrs without a δ, and
made-up costs with a long tail); widths grew by a twentieth. The limits by which `auto` picks a
strategy were found before, on other halves; two of them changed after these fits.

A range that ignores the table has the quantiles of all gains of the development half, of the
same nominal coverage: by ε alone, by task and ε alone, or one for all. Widths are compared with
the first two.

## On tables that were not used to find it

{confirmed}

Asked was: 75 to 90 % held, overall and by ε, with at most half the width of the range by ε
alone.

## On the development half, each table left out in turn

{crossed}

The ranges in the last three rows were found on these very fits.

## Where there is nothing to learn

Labels and targets of the confirmation half, dealt anew among the records: one split, all ε, with
and without a δ. A model follows noise, and claims a gain for it. So no lower end of classes is
above what the model tells beyond `NOISE_TOLD`: what one fit in twenty tells of noise, found on the
development half with its labels dealt anew ({noise_told}: a constant, more for rules, and
more for refitted forests by 1 − 2/K). Of curves at once `NOISE_TOLD_AT_ONCE` times the root of
their columns over the records comes to it, found on [coins](tried.md#kept-additive-models).

{noise}

## Coverage against width

On the confirmation half, for other nominal coverages; ends found on the development half.

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

The constants of classes are from fits at ε = 0.005, where {small} of both halves released
nothing else; {small_held} of those of the confirmation half held.

## Strategies asked for by name

One split, ε 0.5 and 2, all tables. Nothing was found on these fits. What these models tell is too
far off, so after such a fit `forest.expected_gain()` is the range of the plan.

{strategies}

## Tables of the confirmation half, worst first

Gains are those of all fits at ε = 1; ranges are means over δ and splits.

{tables}
"""

SAYS = """## What this says

* **Neither range keeps all that was asked.** `plan()` holds in 74 % of fits (71 to 77 % by ε,
  in regressions 54 %), and is .81 as wide as a range that ignores the table. The range after a fit
  holds in 74 % (72 to 78 % by ε, in regressions 62 %), and is .66 as wide where half was asked: a
  sixth of that is that nothing is promised which noise may tell.
* **Where there is nothing to learn** that rule leaves one lower end of classes in seven above the
  gain, most of them by .01 or .02. It was one in two of refitted forests of two classes, and all of
  six and more.
* **Ranges hold less often on new tables than on those left out in turn** (83 and 84 % there). So
  does the range by ε alone, found at a nominal 85 %: the confirmation half has more tables that
  are easy (wireless, iris, mushroom, energy_heating). Of so few tables, a share has a standard
  error of some 6 points; of regressions, ten a half, of some 10.
* How much a table can teach is mostly its own: of two tables alike in every public figure one
  gains 0 and the other 0.4. The curve shows what narrower ranges would cost. Of classes R says
  nearly nothing once more than a constant is released; of regressions it says much.
* A table is mostly held or mostly missed as a whole."""
