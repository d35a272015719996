"""Parts that tests of forests share: a declared domain, tables, estimators, poisoned values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from dpforest import Domain, MultinomialForestClassifier, PrivacyReport
from dpforest.domain import values
from dpforest.trees.refitted.learner import RefittedForest
from dpforest.trees.refitted.settings import PureRefittedSettings, RefittedSettings, RefittedSize
from dpforest.trees.rules.learner import RulesLearner
from dpforest.trees.rules.settings import RulesSettings

#: Learners of the private forest that are small enough for many fits.
QUICK = {
    "rules": RulesLearner(RulesSettings(n_sums=12, n_cuts=7)),
    "refitted": RefittedForest(
        RefittedSettings(fixed_size=RefittedSize(3, 4, 12)),
        PureRefittedSettings(fixed_size=RefittedSize(3, 4, 4)),
    ),
}
#: Parameters that tell the estimators apart that scikit-learn checks.
SHOWN = ("criterion", "delta", "random_state", "strategy")


def small_domain() -> Domain:
    return Domain(
        features={"age": (0, 100), "colour": ["red", "green", "blue"], "size": (-1.0, 1.0)},
        classes=["ill", "well"],
    )


def small_table(seed: int, n: int) -> tuple[list[list[Any]], list[str]]:
    """Records of the small domain whose class follows age and colour."""
    generator = np.random.default_rng(seed)
    age = generator.integers(0, 101, n)
    colour = generator.integers(0, 3, n)
    size = generator.uniform(-1, 1, n)
    ill = (age > 60) ^ (generator.random(n) < 0.1) | (colour == 2)
    names = ("red", "green", "blue")
    X = [[int(a), names[c], float(s)] for a, c, s in zip(age, colour, size, strict=True)]
    return X, ["ill" if flag else "well" for flag in ill]


@pytest.fixture
def domain() -> Domain:
    return small_domain()


@pytest.fixture
def table() -> Callable[..., tuple[list[list[Any]], list[str]]]:
    def make(n: int = 60, seed: int = 0) -> tuple[list[list[Any]], list[str]]:
        return small_table(seed, n)

    return make


@pytest.fixture
def make_forest(domain: Domain) -> Callable[..., MultinomialForestClassifier]:
    """A small forest under the small domain; any parameter may be overridden."""

    def make(**parameters: Any) -> MultinomialForestClassifier:
        small = {"epsilon": 1, "domain": domain, "n_estimators": 2, "max_depth": 2}
        return MultinomialForestClassifier(**{**small, **parameters})

    return make


@pytest.fixture
def undigested() -> Callable[[Any], PrivacyReport]:
    """A forest's report without digests: those of released values differ as their noise does."""

    def make(forest: Any) -> PrivacyReport:
        report = forest.privacy_report()
        assert len(report.digest) == len(report.model_fingerprint) == 64
        return report.model_copy(update={"digest": "", "model_fingerprint": ""})

    return make


@pytest.fixture
def quick_learners(use_learners: Callable[[Mapping[str, Any]], None]) -> None:
    """Let the private forest make small learners of the kinds that it would have made."""
    use_learners(QUICK)


@pytest.fixture
def seeded_fits_repeat() -> Callable[..., None]:
    """Assert that a seed decides a private forest's model, however many threads fit it."""

    def check(make: Callable[..., Any], X: Any, y: Any) -> None:
        fits = [
            make(random_state=seed, n_jobs=n).fit(X, y) for seed, n in ((3, None), (3, 2), (4, 1))
        ]
        first, second, other = (forest.model_.to_data() for forest in fits)
        assert first == second != other
        assert fits[0].guarantee_.status == "demonstration"

    return check


@pytest.fixture(scope="session")
def searching(load_helper: Callable[[Path], ModuleType]) -> ModuleType:
    """Module ``searching.py`` of this folder."""
    return load_helper(Path(__file__).with_name("searching.py"))


# parametrize_with_checks does the same with an iterator, which pytest 9 warns of.
def checks_of(estimators: list[Any]) -> list[tuple[Any, Any]]:
    """scikit-learn's own checks of all these estimators; none is expected to fail."""
    return [pair for estimator in estimators for pair in estimator_checks_generator(estimator)]


def name_of_part(part: Any) -> str:
    """Name of a check, or what tells an estimator from the others of its module."""
    if hasattr(part, "get_params"):
        return "".join(f"{k}={v}," for k, v in part.get_params().items() if k in SHOWN)
    return getattr(part, "func", part).__name__


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"estimator", "check"} <= set(metafunc.fixturenames):
        pairs = checks_of(metafunc.module.ESTIMATORS)
        metafunc.parametrize(("estimator", "check"), pairs, ids=name_of_part)


@pytest.fixture
def check_names(request: pytest.FixtureRequest) -> list[str]:
    """Names of scikit-learn's checks of a module's ESTIMATORS."""
    return [name_of_part(check) for _, check in checks_of(request.module.ESTIMATORS)]


class TouchedError(BaseException):
    """Somebody looked at a value. No Exception, so that nobody swallows it."""


class Poison:
    """A value that cannot be looked at."""

    def _touch(self, *_: Any) -> NoReturn:
        raise TouchedError

    __bool__ = __float__ = __int__ = __index__ = __complex__ = _touch  # type: ignore[assignment]
    __str__ = __repr__ = __format__ = __hash__ = __bytes__ = _touch  # type: ignore[assignment]
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _touch  # type: ignore[assignment]
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _touch


@pytest.fixture
def touched() -> type[TouchedError]:
    return TouchedError


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """A table of the small domain's width, and labels, of values that cannot be looked at."""
    # No method of a cell is ever called, so whoever asks for its meaning touches it.
    monkeypatch.setitem(values._READERS, id(Poison), Poison._touch)

    def make(n: int = 4, width: int = 3) -> tuple[np.ndarray, np.ndarray]:
        X = np.empty((n, width), dtype=object)
        y = np.empty(n, dtype=object)
        for i in range(n):
            y[i] = Poison()
            for j in range(width):
                X[i, j] = Poison()
        return X, y

    return make
