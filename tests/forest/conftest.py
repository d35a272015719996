"""What the tests of forests share: a small declared domain, tables, estimators, poisoned values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import pytest

from dpforest import Domain, MultinomialForestClassifier, PrivacyReport
from dpforest.learners.refitted.learner import RefittedForest
from dpforest.learners.refitted.settings import RefittedSettings, Size
from dpforest.learners.registry import LEARNERS, Entry
from dpforest.learners.rules.learner import RulesLearner
from dpforest.learners.rules.settings import RulesSettings

#: Learners of the private forest that are small enough for many fits.
QUICK = {
    "rules": RulesLearner(RulesSettings(n_sums=12, n_cuts=7)),
    "refitted": RefittedForest(RefittedSettings(fixed_size=Size(3, 4, 12))),
}


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
def quick_learners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the private forest make small learners of the kinds that it would have made."""
    make = Entry.make

    def make_small(entry: Entry) -> Any:
        name = next(name for name, other in LEARNERS.items() if other == entry)
        return QUICK[name] if name in QUICK else make(entry)

    monkeypatch.setattr(Entry, "make", make_small)


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
def poisoned() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """A table of the small domain's width, and labels, of values that cannot be looked at."""

    def make(n: int = 4, width: int = 3) -> tuple[np.ndarray, np.ndarray]:
        X = np.empty((n, width), dtype=object)
        y = np.empty(n, dtype=object)
        for i in range(n):
            y[i] = Poison()
            for j in range(width):
                X[i, j] = Poison()
        return X, y

    return make
