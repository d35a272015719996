"""Standard errors by privacy noise: exact where they can be worked out, and never nothing."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from inspect import isclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dpforest.trees
from dpforest import (
    Domain,
    MultinomialForestClassifier,
    PrivateForestClassifier,
    PrivateForestRegressor,
    RepeatedFitWarning,
)
from dpforest.accounting.events import GeometricNoise, ZeroSumGeometricNoise
from dpforest.estimators.noise import share_as_flat, standard_errors
from dpforest.exceptions import NoiseUnknownError, ParameterError
from dpforest.trees.answering import AnsweringQuery
from dpforest.trees.population import made_up
from dpforest.trees.renoised import Renoising
from dpforest.trees.transcript import Noised, Transcript

TREES = Path(dpforest.trees.__file__).parent
KINDS = [
    ("rules", 0), ("one_shot", 0), ("refitted", 1e-6), ("boosted", 1e-6),
    ("boosted", 0), ("additive", 1e-6), ("additive", 0),
]  # fmt: skip
FEATURES = {"age": (0, 20), "kind": ["a", "b", "c"], "noise": (0.0, 1.0)}


def records(n: int) -> tuple[list[list[object]], np.ndarray]:
    generator = np.random.default_rng(4)
    age, kind = generator.integers(0, 21, n), generator.integers(0, 3, n)
    columns = zip(age, kind, generator.random(n), strict=True)
    X = [[int(a), "abc"[k], float(u)] for a, k, u in columns]
    return X, generator.random(n) < 0.15 + 0.5 * (age > 10) + 0.2 * (kind != 1)


def numbers(X: list[list[object]]) -> np.ndarray:
    """Targets that lie within a tenth of the means of the labels above."""
    means = [0.15 + 0.5 * (int(age) > 10) + 0.2 * (kind != "b") for age, kind, _ in X]
    return means + np.random.default_rng(5).uniform(-0.1, 0.1, len(X))


def fitted(
    strategy: str, delta: float, epsilon: float = 5, n: int = 1500, task: str = "classes",
    seed: int = 1,
):  # fmt: skip
    X, y = records(n)
    if task == "classes":
        domain = Domain(features=FEATURES, classes=[False, True], approximate_rows=n)
        kind = PrivateForestClassifier
    else:
        domain, kind = Domain(features=FEATURES, target=(0, 1), approximate_rows=n), None
    kind = kind or PrivateForestRegressor
    forest = kind(epsilon=epsilon, delta=delta, domain=domain, strategy=strategy, random_state=seed)
    outputs = {"classes": y, "means": y.astype(float), "numbers": numbers(X)}
    return forest.fit(X, outputs[task]), X


@pytest.mark.parametrize(("strategy", "delta"), KINDS)
@pytest.mark.parametrize("task", ["classes", "means"])
def test_what_was_heard_makes_the_very_model_again(strategy, delta, task):
    forest, _ = fitted(strategy, delta, task=task, n=600)
    transcript = pickle.loads(pickle.dumps(forest))._transcript
    counted = [name for name, _ in transcript.answers if name in ("noised", "minimised")]
    population = made_up(forest.model_, transcript.facts) if strategy != "rules" else None
    again = Renoising(transcript, population)
    assert again.model().to_data() == forest.model_.to_data()
    assert len(again.sums) == len(counted)
    # And with other noise it is another one; nobody knows which where it is of a minimum.
    anew = Renoising(transcript, population, np.random.default_rng(1), again.sums)
    if "minimised" in counted:
        with pytest.raises(AssertionError, match="minimum"):
            anew.model()
    else:
        assert bool(counted) == (anew.model().to_data() != forest.model_.to_data())


def test_every_query_of_released_steps_is_counted_again_with_others():
    """Its ``history`` is what its sums follow from, so they move when these do."""
    files = [*TREES.rglob("queries.py"), TREES / "scored" / "claims.py"]
    names = [".".join(path.relative_to(TREES).with_suffix("").parts) for path in files]
    modules = [import_module(f"dpforest.trees.{name}") for name in names]
    kinds = {kind for module in modules for kind in vars(module).values() if isclass(kind)}
    of_steps = {kind for kind in kinds if hasattr(kind, "count") and hasattr(kind, "history")}
    assert len(of_steps) > 5
    assert {kind for kind in of_steps if not issubclass(kind, AnsweringQuery)} == set()


@dataclass(frozen=True)
class Linear:
    """A learner whose model is one weighted sum of released numbers."""

    weights: np.ndarray
    name: str = "linear"

    def train(self, shape, bridge, facts):
        return SimpleNamespace(total=bridge.ask("a question", "sums").noised("sums") @ self.weights)


def made_error(variance: float) -> float:
    """Standard error of the weighted sum, from 2,000 draws."""
    weights, values = np.array([1.0, -2.0, 0.5]), np.array([10, 20, 30])
    transcript = Transcript(Linear(weights), None, None, [("noised", Noised(values, variance))])
    before = Renoising(transcript, None)
    own, generator = before.model(), np.random.default_rng(0)
    draws = [Renoising(transcript, None, generator, before.sums).model() for _ in range(2000)]
    return float(standard_errors(lambda model: np.array([model.total]), own, draws)[0])


def is_exact(error: float, variance: float) -> bool:
    return abs(error / (variance * 5.25) ** 0.5 - 1.0) < 0.05


def test_the_standard_error_of_a_linear_model_is_exact():
    assert is_exact(made_error(9.0), 9.0)


@pytest.mark.parametrize("wrong", [0.5, 2.0])
def test_noise_of_a_wrong_size_would_be_seen(wrong):
    assert not is_exact(made_error(9.0 * wrong), 9.0)


def test_noise_that_adds_up_to_nothing_does_so_when_it_is_made_anew():
    event = ZeroSumGeometricNoise(Fraction(1, 50), Fraction(4), Fraction(3))
    noised = Noised.of(np.zeros((20_000, 5), dtype=np.int64), event, "leaf sums")
    noise = noised.noise(np.random.default_rng(0))
    assert np.abs(noise[:, :3].sum(axis=1)).max() < 1e-6
    # A variance of normal noise errs by 1 % here.
    expected = [event.zero_sum_variance * 2 / 3] * 3 + [event.variance] * 2
    assert np.allclose(noise.var(axis=0), expected, rtol=0.06)
    plain = Noised.of(noised.values, GeometricNoise(Fraction(1, 50), Fraction(4)), "leaf sums")
    assert np.allclose(plain.noise(np.random.default_rng(0)).var(axis=0), event.variance, rtol=0.06)


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_repeated_fits_lie_as_far_apart_as_is_said(task):
    """Of curves in turn."""
    curves, errors = [], []
    for seed in range(12):
        forest, _ = fitted("additive", 1e-6, 2, task=task, seed=seed)
        parts = sorted(forest.explain(20).dependence, key=lambda part: part.feature)
        name = max(parts[0].predictions)
        curves.append(np.concatenate([part.predictions[name] for part in parts]))
        errors.append(np.concatenate([part.errors[name] for part in parts]))
    away = np.abs(np.array(curves) - np.mean(curves, axis=0))
    reached = [(away <= 1.96 * times * np.array(errors)).mean() for times in (1.0, 0.25)]
    # A quarter of the noise is found out.
    assert 0.85 <= reached[0] <= 1.0 and reached[1] < 0.7


AT_ONCE = [("additive", "classes", 5), ("additive", "numbers", 1), ("refitted", "means", 20),
           ("boosted", "numbers", 20)]  # fmt: skip


@pytest.mark.parametrize(("strategy", "task", "epsilon"), AT_ONCE)
def test_curves_at_once_have_no_standard_error_and_say_why(strategy, task, epsilon):
    """What fits of even records had was far too small where records lie unevenly, see
    tests/benchmarks/test_at_once_noise.py.
    """
    forest, X = fitted(strategy, 0, epsilon, task=task)
    assert "minimised" in [name for name, _ in forest._transcript.answers]
    found = forest.explain()
    assert found.importance_errors is None and found.like_noise == ()
    assert all(one.errors is None and one.as_flat is None for one in found.dependence)
    assert "where the records lie" in found.note and str(found).endswith(found.note)
    assert found.model_copy(update={"note": ""}) == forest.explain(0)
    with pytest.raises(NoiseUnknownError, match="where the records lie.*with a delta") as caught:
        forest.prediction_noise(X[:2])
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.rule, again.repair, str(again)) == (
        caught.value.rule, caught.value.repair, str(caught.value),
    )  # fmt: skip
    if task != "classes":
        with pytest.raises(NoiseUnknownError, match="where the records lie"):
            forest.predict(X[:2], return_std=True)
        assert forest.predict(X[:2]).shape == (2,)


def test_noise_alone_is_told_from_a_curve_at_the_stated_rate():
    generator = np.random.default_rng(0)

    def drawn(source, n):
        return source.normal(size=(n, 1, 10))

    own = np.zeros((1, 10))
    assert share_as_flat(own, list(drawn(generator, 40))) == 1.0
    # Draws differ from the curve by noise alone.
    assert 0.015 <= rate(generator, 1.0) <= 0.085
    assert rate(generator, 0.5) > 0.3
    bent = np.linspace(-5, 5, 10)[None]
    assert share_as_flat(bent, [bent + d for d in drawn(generator, 40)]) < 0.05


def rate(generator: np.random.Generator, size: float) -> float:
    """Share of flat curves that are not listed, where draws are that much less noisy."""
    missed = 0
    for _ in range(400):
        own = generator.normal(size=(1, 10))
        draws = [own + size * generator.normal(size=(1, 10)) for _ in range(40)]
        missed += share_as_flat(own, draws) <= 0.05
    return missed / 400


def test_pure_choices_have_no_standard_error_and_say_so():
    X, y = records(300)
    domain = Domain(features=FEATURES, classes=[False, True], approximate_rows=300)
    forest = MultinomialForestClassifier.as_published(
        epsilon=5, domain=domain, n_estimators=3, max_depth=3, random_state=1
    ).fit(X, y)
    found = forest.explain()
    assert set(found.importance_errors.values()) == {None}
    errors = [error for one in found.dependence for c in one.errors.values() for error in c]
    assert set(errors) == {None} and found.like_noise == ()
    assert "exponential mechanism" in found.note
    assert np.isnan(forest.prediction_noise(X[:4])).all()


def test_importances_of_drawn_splits_alone_have_none():
    X, y = records(200)
    domain = Domain(features=FEATURES, classes=[False, True], approximate_rows=200)
    forest = MultinomialForestClassifier(
        epsilon=2, domain=domain, n_estimators=5, max_depth=5, random_state=1
    ).fit(X, y)
    found = forest.explain()
    assert set(found.importance_errors.values()) == {None}
    assert np.isfinite(np.array(found.of("age").errors["True"], dtype=float)).all()
    assert "given what was drawn" in found.note
    # Its model holds the counts, so a file will do.
    again = MultinomialForestClassifier.from_json(forest.to_json())
    assert again.explain() == found


def test_more_budget_is_less_noise():
    noise = [fitted("one_shot", 0, epsilon)[0] for epsilon in (0.5, 20)]
    errors = [np.nanmean(forest.prediction_noise(records(50)[0])) for forest in noise]
    assert errors[0] > 3 * errors[1] > 0


def test_a_regressor_says_how_much_of_a_prediction_is_noise():
    forest, X = fitted("additive", 1e-6, task="means")
    means, errors = forest.predict(X[:9], return_std=True)
    assert (means == forest.predict(X[:9])).all()
    assert (errors == forest.prediction_noise(X[:9])).all() and errors.shape == (9,)
    assert (errors > 0).all() and (errors < 0.5).all()


def test_a_file_keeps_no_standard_errors_and_a_pickle_does():
    forest, X = fitted("additive", 1e-6)
    found = forest.explain(10)
    assert pickle.loads(pickle.dumps(forest)).explain(10) == found
    again = PrivateForestClassifier.from_json(forest.to_json())
    explained = again.explain()
    assert explained.importances == found.importances and explained.importance_errors is None
    assert "read from a file" in explained.note
    assert str(explained).endswith(explained.note) and explained.note in explained._repr_html_()
    with pytest.raises(NoiseUnknownError, match="read from a file"):
        again.prediction_noise(X[:2])
    assert json.loads(forest.to_json()).keys() == json.loads(again.to_json()).keys()


def test_a_new_fit_forgets_the_old_draws():
    forest, X = fitted("one_shot", 0)
    before = forest.prediction_noise(X[:20])
    with pytest.warns(RepeatedFitWarning):
        again = forest.set_params(epsilon=0.1).fit(*records(1500)).prediction_noise(X[:20])
    assert not np.allclose(before, again)


@pytest.mark.parametrize("n_draws", [-1, 1, 1.5])
def test_draws_are_a_whole_number_and_not_one(n_draws):
    forest, X = fitted("one_shot", 0)
    with pytest.raises(ParameterError, match="n_draws"):
        forest.explain(n_draws)
    with pytest.raises(ParameterError, match="n_draws"):
        forest.prediction_noise(X[:1], 1)


def test_without_draws_it_is_as_it_was():
    forest, _ = fitted("one_shot", 0)
    found = forest.explain(0)
    assert found.importance_errors is None and found.like_noise == ()
    assert all(one.errors is None for one in found.dependence)
    assert found.importances == forest.explain().importances


def test_what_cannot_be_told_from_noise_is_listed_and_drawn_in_grey():
    pytest.importorskip("matplotlib")
    forest, _ = fitted("additive", 1e-6)
    found = forest.explain()
    assert "age" not in found.like_noise
    listed = found.model_copy(update={"like_noise": ("noise",)})
    lines = {line.split()[1]: line for line in str(listed).splitlines()[1:]}
    assert lines["noise"].endswith("(like noise)") and "±" in lines["age"]
    assert "like noise" not in lines["age"]
    figure = listed.plot()
    curves = figure.axes[1:]
    assert len({axes.get_ylim() for axes in curves}) == 1
    assert {axes.get_title() for axes in curves} >= {"age", "noise (like noise)"}
    bands = [axes for axes in curves if axes.collections]
    assert len(bands) == 3
    of_age = next(axes for axes in curves if axes.get_title() == "age")
    heights = np.ptp(of_age.collections[0].get_paths()[0].vertices[:, 1])
    age = found.of("age")
    curve, errors = np.array(age.predictions["True"]), np.array(age.errors["True"])
    reach = (curve + 1.96 * errors).max() - (curve - 1.96 * errors).min()
    assert heights == pytest.approx(reach)


@pytest.mark.parametrize(("strategy", "delta"), [("refitted", 1e-6), ("boosted", 0)])
def test_made_up_records_agree_with_released_sizes(strategy, delta):
    generator = np.random.default_rng(2)
    share = generator.random(1500) ** 4
    domain = Domain(features={"share": (0.0, 1.0)}, classes=[False, True], approximate_rows=1500)
    forest = PrivateForestClassifier(
        epsilon=8, delta=delta, domain=domain, strategy=strategy, random_state=1
    ).fit(share[:, None], generator.random(1500) < 0.2 + 0.6 * share)
    made = made_up(forest.model_, forest._transcript.facts, 3000)
    assert made.weight == 0.5 and made.table.n_records == 3000
    codes = forest._coded(share[:, None])
    edge = int(forest._encoder_.n_codes[0]) // 2
    own, found = (float((table[:, 0] < edge).mean()) for table in (codes, made.table.codes))
    assert own > 0.7 and found == pytest.approx(own, abs=0.1)
