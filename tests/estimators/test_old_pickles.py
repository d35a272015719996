"""Pickles of versions whose modules had other names are refused with a clear word."""

import pickle

import pytest

from dpforest.exceptions import ModelFormatError


@pytest.mark.parametrize("name", [
    "dpforest.forest.private\nPrivateForestClassifier",
    "dpforest.forest.multinomial\nMultinomialForestClassifier",
    "dpforest.forest.report\nPrivacyReport",
    "dpforest.learners.one_shot.model\nOneShotModel",
])  # fmt: skip
def test_a_pickle_of_an_earlier_version_says_what_to_do(name):
    with pytest.raises(ModelFormatError, match="the version that wrote it"):
        pickle.loads(f"c{name}\n.".encode())
