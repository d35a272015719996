"""Where forests of clipped residuals begin: what is cut off at the prior adds up to nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpforest.trees.prior import base_scores, start_scores

#: Class counts as `released_class_counts` makes them: none below 1.
priors = st.lists(st.floats(1, 1e9), min_size=2, max_size=12).map(np.array)
clips = st.floats(0.5, 1.0) | st.sampled_from([0.5, 1.0])


def shares_at(scores, n_classes):
    """Shares of classes that scores stand for."""
    full = np.concatenate([[0.0], scores]) if n_classes == 2 else scores
    raised = np.exp(full - full.max())
    return raised / raised.sum()


def clipped_sums(prior, p, clip, norm=None):
    """Residuals of classes, summed over records in the prior's shares, each record's cut."""
    cut = np.minimum(1.0, clip / np.maximum(1.0 - p, 1e-300))
    if norm is not None:
        cut = np.minimum(cut, norm / np.linalg.norm(np.eye(p.size) - p, axis=1))
    weights = prior / prior.sum() * cut
    return weights - weights.sum() * p


@given(priors, clips)
def test_clipped_residuals_of_the_prior_add_up_to_nothing(prior, clip):
    scores = start_scores(prior, clip)
    assert scores.shape == ((1,) if prior.size == 2 else (prior.size,))
    assert np.isfinite(scores).all()
    assert np.abs(clipped_sums(prior, shares_at(scores, prior.size), clip)).max() < 1e-9


@given(priors.filter(lambda prior: prior.size > 2), clips, st.floats(1.0, 1.5))
def test_so_do_residuals_of_a_largest_norm(prior, clip, norm):
    found = shares_at(start_scores(prior, clip, norm * clip), prior.size)
    assert np.abs(clipped_sums(prior, found, clip, norm * clip)).max() < 1e-3
    order = np.argsort(prior, kind="stable")
    assert (np.diff(found[order]) >= -1e-9).all()
    if norm >= 2**0.5:  # which no clipped residuals pass
        assert np.allclose(found, shares_at(start_scores(prior, clip), prior.size), atol=1e-9)


@given(priors)
def test_without_a_cut_the_start_is_the_prior(prior):
    scores, base = start_scores(prior, 1.0), base_scores(prior)
    assert np.allclose(shares_at(scores, prior.size), prior / prior.sum(), rtol=1e-12, atol=0)
    assert np.allclose(np.diff(scores), np.diff(base), rtol=0, atol=1e-9)


@given(priors, st.floats(0.0, 0.5))
def test_below_a_half_the_start_is_that_of_a_half(prior, clip):
    assert np.array_equal(start_scores(prior, clip), start_scores(prior, 0.5))


@given(priors, clips)
def test_more_of_a_class_is_more_of_its_score(prior, clip):
    """Classes are in the order of the prior, and as far apart as there or further."""
    scores, base = (
        f if prior.size > 2 else np.array([0.0, f[0]])
        for f in (start_scores(prior, clip), base_scores(prior))
    )
    order = np.argsort(prior, kind="stable")
    apart, before = np.diff(scores[order]), np.diff(base[order])
    assert (apart >= before - 1e-6).all()


@given(priors, clips, st.integers(0, 11), st.floats(1.0, 100.0))
def test_a_class_with_more_records_has_no_less_of_the_start(prior, clip, pick, times):
    place = pick % prior.size
    more = prior.copy()
    more[place] *= times
    one, two = (shares_at(start_scores(p, clip), prior.size)[place] for p in (prior, more))
    assert two >= one * (1 - 1e-6)


@pytest.mark.parametrize("clip", [0.5, 0.7, 1.0])
@pytest.mark.parametrize("n_classes", [2, 3, 26])
def test_even_shares_stay_even(n_classes, clip):
    for norm in (None, *([1.1 * clip] if n_classes > 2 else [])):
        scores = start_scores(np.full(n_classes, 40.0), clip, norm)
        assert np.allclose(shares_at(scores, n_classes), 1 / n_classes, rtol=1e-9)


def test_two_classes_are_those_of_a_hand_count():
    """Of three to one and a clip of a half: (1 - p) 1 / 4 = 1 / 8 is p 3 / 4 at p = 1 / 6."""
    (score,) = start_scores(np.array([30.0, 10.0]), 0.5)
    p = 1 / (1 + np.exp(-score))
    assert p == pytest.approx(1 / 6)
