"""Slow twin of the grower: plain Python, one record at a time, recursive, the same uniforms.

It shares no code with the kernels: nodes are lists of records, candidates are found by going
through a dictionary of values, scores are computed from each child's records.
"""

from __future__ import annotations

import math

MASK = 2**64 - 1
STEP = 0x9E3779B97F4A7C15
FIRST = 0xBF58476D1CE4E5B9
SECOND = 0x94D049BB133111EB


def mix(word):
    word = ((word ^ (word >> 30)) * FIRST) & MASK
    word = ((word ^ (word >> 27)) * SECOND) & MASK
    return word ^ (word >> 31)


def child_key(key, side):
    return mix((mix((key + STEP) & MASK) + (side + 1) * FIRST) & MASK)


class Stream:
    def __init__(self, key):
        self.state = key

    def uniform(self):
        self.state = (self.state + STEP) & MASK
        return (mix(self.state) >> 11) * 2.0**-53

    def below(self, n):
        return min(int(self.uniform() * n), n - 1)

    def shuffle_first(self, items, first, last):
        for i in range(first, last):
            j = i + self.below(len(items) - i)
            items[i], items[j] = items[j], items[i]

    def poisson(self, mean):
        count, product = 0, self.uniform()
        while product > math.exp(-mean):
            product *= self.uniform()
            count += 1
        return count

    def choose(self, weights):
        aim = self.uniform() * sum_in_order(weights)
        running = 0.0
        for place, weight in enumerate(weights):
            running += weight
            if weight > 0 and aim < running:
                return place
        raise AssertionError("rounding at the last weight: pick another seed")


def sum_in_order(numbers):
    total = 0.0
    for number in numbers:
        total += number
    return total


def gini_score(left, right):
    """Purity of both children, from their labels."""
    return sum(
        float(sum(side.count(label) ** 2 for label in set(side))) / len(side)
        for side in (left, right)
    )


def error(targets):
    mean = math.fsum(targets) / len(targets)
    return math.fsum((target - mean) ** 2 for target in targets)


def error_score(left, right, criterion):
    node = error(left + right)
    if criterion == "weighted_mse":
        return round((node - error(left) - error(right)) / node * 2**30)
    both = error(left) / len(left) + error(right) / len(right)
    return -round(both / node * (len(left) + len(right)) * 2**30)


def weights_of(scores, strength, low, high):
    if not high > low:
        return [1.0 for _ in scores]
    if strength == math.inf:
        return [1.0 if score == high else 0.0 for score in scores]
    scale = strength / (high - low)
    return [math.exp(scale * (score - high)) for score in scores]


class Twin:
    """Grows a tree as nested dictionaries.

    ``rules`` is a ForestRules; only its numbers are used.
    """

    def __init__(self, X, y, n_classes, against_rest, rules):
        self.X, self.y = X.tolist(), y.tolist()
        self.n_classes = n_classes
        self.against_rest = against_rest.tolist()
        self.n_features = X.shape[1]
        self.all_values = [sorted(set(column)) for column in zip(*self.X, strict=True)]
        self.candidates = rules.candidates.parameters(self.n_features)
        self.splits = rules.splits.parameters()
        self.stop = rules.stop.parameters()
        self.answers = rules.answers

    def score(self, left, right):
        left, right = [self.y[r] for r in left], [self.y[r] for r in right]
        if self.n_classes:
            return gini_score(left, right)
        return error_score(left, right, self.answers.criterion)

    def offers(self, f, records, picked):
        """Candidates ``(low, high, score)`` of a feature: left where ``low <= x < high``."""
        values = sorted({self.X[r][f] for r in records})
        if len(values) < 2:
            return []
        searched = {self.X[r][f] for r in picked} if picked else set(values)
        found = []
        if self.against_rest[f]:
            cuts = [(v, math.nextafter(v, math.inf)) for v in values if v in searched]
            if len(searched) < 2:
                cuts = []
        else:
            cuts = [
                (-math.inf, below / 2 + above / 2)
                for below, above in zip(values, values[1:], strict=False)
                if min(searched) <= below and above <= max(searched)
            ]
        for low, high in cuts:
            left = [r for r in records if low <= self.X[r][f] < high]
            right = [r for r in records if not low <= self.X[r][f] < high]
            found.append((low, high, self.score(left, right)))
        return found

    def draw_split(self, records, stream):
        """Feature, low and high of a drawn split, or None."""
        points = self.splits.search_points
        picked = []
        if points and len(records) > points:
            picked = list(records)
            stream.shuffle_first(picked, 0, points)
            picked = picked[:points]
        features, last, size = list(range(self.n_features)), 0, self.n_features
        if self.candidates.size:
            size = self.draw_size(stream)
        while last < self.n_features:
            first, last = last, min(last + size, self.n_features)
            if self.candidates.size:
                stream.shuffle_first(features, first, last)
            offers = {f: self.offers(f, records, picked) for f in features[first:last]}
            offers = {f: found for f, found in offers.items() if found}
            if offers:
                return self.choose(offers, stream)
            if not self.candidates.redraw:
                return None
        return None

    def draw_size(self, stream):
        if self.candidates.single and stream.uniform() < self.candidates.single:
            return 1
        size = self.candidates.size
        if self.candidates.poisson:
            size += stream.poisson(self.candidates.poisson)
        return min(size, self.n_features)

    def choose(self, offers, stream):
        rule = self.splits
        by_feature, by_value = rule.other_feature, rule.other_value
        if rule.first and stream.uniform() < rule.first:
            by_feature, by_value = rule.first_feature, rule.first_value
        scores = {f: [score for _, _, score in found] for f, found in offers.items()}
        every = [score for found in scores.values() for score in found]
        if rule.joint:
            low, high = min(every), max(every)
            weights = [
                sum_in_order(weights_of(found, by_value, low, high)) for found in scores.values()
            ]
        else:
            best = [max(found) for found in scores.values()]
            weights = weights_of(best, by_feature, min(best), max(best))
        f = list(offers)[stream.choose(weights)]
        if not rule.joint:
            low, high = min(scores[f]), max(scores[f])
        place = stream.choose(weights_of(scores[f], by_value, low, high))
        return f, *offers[f][place][:2]

    def answer(self, records, stream):
        if not self.n_classes:
            return math.fsum(self.y[r] for r in records) / max(len(records), 1)
        shares = [
            sum(self.y[r] == k for r in records) / max(len(records), 1)
            for k in range(self.n_classes)
        ]
        strength = self.answers.strength
        if strength == math.inf:
            weights = [1.0 if share == max(shares) else 0.0 for share in shares]
        else:
            weights = [math.exp(strength * (share - max(shares))) for share in shares]
        return stream.choose(weights)

    def grow(self, structure, estimation, key, depth=0):
        """A tree; ``estimation`` is None where the same records serve for both."""
        answers = structure if estimation is None else estimation
        stream = Stream(key)
        node = {"n": len(answers)}
        split = None
        agree = len({self.y[r] for r in structure}) < 2
        if len(answers) >= self.stop.split_from and depth < self.stop.max_depth and not agree:
            split = self.draw_split(structure, stream)
        if split is not None:
            f, low, high = split

            def side(records):
                left = [r for r in records if low <= self.X[r][f] < high]
                return left, [r for r in records if not low <= self.X[r][f] < high]

            halves = side(answers)
            if min(map(len, halves)) >= self.stop.child_from:
                parts = side(structure)
                others = (None, None) if estimation is None else halves
                node.update(feature=f, low=low, high=high)
                node["children"] = [
                    self.grow(parts[i], others[i], child_key(key, i), depth + 1) for i in (0, 1)
                ]
                return node
        node["value"] = self.answer(answers, stream)
        return node


def as_nested(tree, node=0):
    """A grown Tree as the twin's nested dictionaries."""
    out = {"n": int(tree.n_estimation[node])}
    if tree.feature[node] < 0:
        out["value"] = tree.value[node]
        return out
    out.update(
        feature=int(tree.feature[node]), low=float(tree.low[node]), high=float(tree.high[node])
    )
    first = int(tree.child[node])
    out["children"] = [as_nested(tree, first), as_nested(tree, first + 1)]
    return out


def assert_same(ours, twins, tolerance=0.0):
    """The two trees split alike and answer alike."""
    assert ours.keys() == twins.keys()
    assert ours["n"] == twins["n"]
    if "value" in ours:
        assert abs(ours["value"] - twins["value"]) <= tolerance
        return
    assert (ours["feature"], ours["low"], ours["high"]) == (
        twins["feature"], twins["low"], twins["high"],
    )  # fmt: skip
    for mine, other in zip(ours["children"], twins["children"], strict=True):
        assert_same(mine, other, tolerance)
