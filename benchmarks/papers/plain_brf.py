"""A slow BRF for one question: what if splits that leave a side too few are no candidates?

The forests of dpforest draw a split first and give it up where a side is too small, and draw other
features where the first ones have no split. Here invalid splits are never candidates, and features
may be drawn once only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Split = tuple[int, bool, float]


class PlainBRF:
    """BRF of section 5.1 in plain Python; parameters as in ``BRFClassifier``."""

    def __init__(
        self,
        n_estimators: int,
        categorical: tuple[int, ...],
        *,
        draw_again: bool,
        leaf_size: int = 5,
        p1: float = 0.05,
        p2: float = 0.05,
        random_state: int = 0,
    ) -> None:
        self.n_estimators, self.categorical = n_estimators, set(categorical)
        self.draw_again, self.leaf_size = draw_again, leaf_size
        self.p1, self.p2 = p1, p2
        self.random = np.random.default_rng(random_state)

    def fit(self, X: np.ndarray, y: np.ndarray) -> PlainBRF:
        """Grow the trees."""
        self.X, self.y, self.n_classes = X, y, int(y.max()) + 1
        self.trees = []
        for _ in range(self.n_estimators):
            order = self.random.permutation(len(y))
            half = (len(y) + 1) // 2
            self.trees.append(self._grow(order[:half], order[half:]))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Majority of the trees; a tie goes to the first class."""
        votes = np.zeros((len(X), self.n_classes))
        for tree in self.trees:
            _vote(tree, X, np.arange(len(X)), votes)
        return votes.argmax(axis=1)

    def _grow(self, structure: np.ndarray, estimation: np.ndarray) -> Any:
        label = int(np.bincount(self.y[estimation], minlength=self.n_classes).argmax())
        classes = self.y[structure]
        if len(estimation) <= self.leaf_size or len(np.unique(classes)) < 2:
            return label
        splits = self._candidates(structure, estimation)
        if not splits:
            return label
        if self.random.random() < self.p2:
            split = splits[self.random.integers(len(splits))]
        else:
            split = min(splits, key=lambda s: self._impurity(s, structure))
        left, kept = _goes_left(self.X[structure], split), _goes_left(self.X[estimation], split)
        return (
            split,
            self._grow(structure[left], estimation[kept]),
            self._grow(structure[~left], estimation[~kept]),
        )

    def _candidates(self, structure: np.ndarray, estimation: np.ndarray) -> list[Split]:
        n_features = self.X.shape[1]
        wanted = 1 if self.random.random() < self.p1 else max(1, int(np.sqrt(n_features)))
        found: list[Split] = []
        for feature in self.random.permutation(n_features):
            valid = [
                split
                for split in self._splits_of(int(feature), structure)
                if self._leaves_enough(split, estimation)
            ]
            found += valid
            wanted -= bool(valid) or not self.draw_again
            if wanted == 0:
                break
        return found

    def _splits_of(self, feature: int, structure: np.ndarray) -> list[Split]:
        values = np.unique(self.X[structure, feature])
        if feature in self.categorical:
            return [(feature, True, value) for value in values] if len(values) > 1 else []
        return [(feature, False, middle) for middle in (values[:-1] + values[1:]) / 2]

    def _leaves_enough(self, split: Split, estimation: np.ndarray) -> bool:
        left = int(_goes_left(self.X[estimation], split).sum())
        return min(left, len(estimation) - left) >= self.leaf_size

    def _impurity(self, split: Split, structure: np.ndarray) -> float:
        left = _goes_left(self.X[structure], split)
        return sum(
            len(side) - (np.bincount(side) ** 2).sum() / len(side)
            for side in (self.y[structure[left]], self.y[structure[~left]])
        )


def _goes_left(X: np.ndarray, split: Split) -> np.ndarray:
    feature, is_category, value = split
    return X[:, feature] == value if is_category else X[:, feature] < value


def _vote(tree: Any, X: np.ndarray, places: np.ndarray, votes: np.ndarray) -> None:
    if not isinstance(tree, tuple):
        votes[places, tree] += 1
        return
    left = _goes_left(X[places], tree[0])
    _vote(tree[1], X, places[left], votes)
    _vote(tree[2], X, places[~left], votes)
