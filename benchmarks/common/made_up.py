"""Made-up laws of classification: tables of any size, for what no table at hand has.

Public tables have few shapes: hardly one has more features than records in a class, or thirty
classes of a thousand records. A rule that was read off them has to hold between them, too.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np

from dpforest import Domain

#: Features that tell something, of more than these.
TELLING = 8
#: How far scores of classes lie apart, beside their noise, whose deviation is 1.3.
STRENGTH = 2.0
BOUND = 6.0
#: Declared upper bound of features whose values are mostly below 100.
LOOSE_BOUND = 100_000.0

Scores = Callable[[np.random.Generator, np.ndarray, int], np.ndarray]


def linear(generator: np.random.Generator, values: np.ndarray, n_classes: int) -> np.ndarray:
    """Scores of classes that each telling feature moves by so much a unit."""
    return values[:, telling(generator, values)] @ generator.normal(
        size=(min(TELLING, values.shape[1]), n_classes)
    )


def pairs(generator: np.random.Generator, values: np.ndarray, n_classes: int) -> np.ndarray:
    """Scores of classes that follow from whether one of two telling features is high, not both."""
    of, scores = telling(generator, values), np.zeros((values.shape[0], n_classes))
    for _ in range(TELLING):
        both = generator.choice(of, 2, replace=of.size < 2)
        cuts = [np.quantile(values[:, f], generator.uniform(0.2, 0.8)) for f in both]
        apart = (values[:, both[0]] > cuts[0]) ^ (values[:, both[1]] > cuts[1])
        scores += np.outer(apart, generator.normal(size=n_classes))
    return scores


def telling(generator: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """Features that tell something."""
    return generator.permutation(values.shape[1])[:TELLING]


def numbers(generator: np.random.Generator, n: int, n_features: int) -> np.ndarray:
    """Normal values, a little correlated."""
    mixing = np.eye(n_features) + 0.4 * generator.normal(size=(n_features,) * 2) / n_features**0.5
    return generator.normal(size=(n, n_features)) @ mixing


def category_shares(generator: np.random.Generator, n_features: int) -> list[np.ndarray]:
    """Frequencies of the two to twenty categories of each feature."""
    sizes = generator.choice([2, 3, 5, 8, 20], n_features)
    return [generator.dirichlet(np.full(size, 2.0)) for size in sizes]


#: Laws by name: how scores follow, the share of features that are categories, and whether bounds
#: are loose.
LAWS: dict[str, tuple[Scores, float, bool]] = {
    "linear": (linear, 0.0, False),
    "pairs": (pairs, 0.0, False),
    "mixed": (pairs, 0.5, False),
    "categories": (pairs, 1.0, False),
    "loose bounds": (linear, 0.0, True),
}


def drawn(
    law: str, n: int, n_features: int, n_classes: int
) -> tuple[np.ndarray, np.ndarray, Domain]:
    """Records of a law, their classes, and their declared domain.

    Parameters
    ----------
    law : str
        Of `LAWS`.
    n, n_features, n_classes : int

    Returns
    -------
    X : ndarray of float64, shape (n, n_features)
        Categories are positions.
    y : ndarray of int64, shape (n,)
    domain : Domain
    """
    make, share, loose = LAWS[law]
    generator = np.random.default_rng(zlib.crc32(f"{law} {n} {n_features} {n_classes}".encode()))
    n_numbers = n_features - round(share * n_features)
    values = numbers(generator, n, n_numbers)
    shares = category_shares(generator, n_features - n_numbers)
    places = [generator.choice(one.size, n, p=one) for one in shares]
    scores = make(generator, np.column_stack([values, *places]), n_classes)
    # Classes that are about as frequent as one another.
    scores -= scores.mean(axis=0)
    scores *= STRENGTH / scores.std()
    y = (scores + generator.gumbel(size=scores.shape)).argmax(axis=1)
    lower, upper = (0.0, LOOSE_BOUND) if loose else (-BOUND, BOUND)
    kept = np.clip(np.exp(1.2 * values + 2) if loose else values, lower, upper)
    declared = [(lower, upper)] * n_numbers + [list(range(one.size)) for one in shares]
    features = {f"x{f}": facts for f, facts in enumerate(declared)}
    domain = Domain(features=features, classes=list(range(n_classes)))
    return np.column_stack([kept, *places]), y, domain
