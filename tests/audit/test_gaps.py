"""Masked cells are missing in an audit, as in a fit, whatever stands below them."""

from __future__ import annotations

import numpy as np
import pytest

from dpforest import Domain, ParameterError, PrivateForestClassifier
from dpforest.audit import (
    Batched,
    DatasetPair,
    Estimator,
    Function,
    audit,
    audit_one_run,
    own_label_score,
)
from dpforest.audit.attributes import attributes_of
from dpforest.audit.gaps import joined, table_of
from dpforest.audit.neighbours import records_of
from dpforest.domain.encoder import DomainEncoder
from dpforest.records.table import Table

DOMAIN = Domain(
    features={
        "a": {"kind": "numeric", "lower": 0, "upper": 9, "missing": True},
        "b": {"kind": "numeric", "lower": 0, "upper": 9, "missing": True},
    },
    classes=["n", "y"],
    approximate_rows=20,
)
MASK = [[0, 1], [0, 0], [1, 0]]
CELLS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
GAPS = [[1.0, None], [3.0, 4.0], [None, 6.0]]
#: The same table in each way that a fit takes one with masked cells.
TABLES = {
    "array": np.ma.array(CELLS, mask=MASK),
    "other values below": np.ma.array(np.where(MASK, 8.5, CELLS), mask=MASK),
    "objects": np.ma.array(CELLS.astype(object), mask=MASK),
    "list of masked rows": list(np.ma.array(CELLS, mask=MASK)),
    "list of masked cells": [[np.ma.masked if cell is None else cell for cell in row]
                             for row in GAPS],
    "list with gaps": GAPS,
}  # fmt: skip
LABELS = ["n", "y", "n"]


def rows(table) -> list[list]:
    return [[None if c is None or c != c else c for c in row] for row in table.tolist()]


class Remembering(PrivateForestClassifier):
    """Keeps what it was fitted and asked with."""

    seen: list

    def fit(self, X, y=None):
        type(self).seen.append(("fit", X, y))
        return super().fit(X, y)

    def predict_proba(self, X):
        type(self).seen.append(("predict", X, None))
        return super().predict_proba(X)


def remembering():
    Remembering.seen = []
    return Remembering(epsilon=1, domain=DOMAIN, strategy="one_shot")


# -- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TABLES)
def test_a_fit_takes_each_of_them_alike(name):
    """What this module goes by."""
    encoder = DomainEncoder(DOMAIN)
    found, expected = (Table.of(encoder.encode(X, LABELS)) for X in (TABLES[name], GAPS))
    assert np.array_equal(found.codes, expected.codes)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_keeps_its_gaps(name):
    assert rows(table_of(TABLES[name])) == GAPS


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("other", TABLES)
def test_neighbours_are_compared_by_their_gaps(name, other):
    """What stands below a mask makes no record another one."""
    DatasetPair((TABLES[name], LABELS), (TABLES[other][:2], LABELS[:2]))
    with pytest.raises(ParameterError, match="not neighbours"):
        DatasetPair((TABLES[name], LABELS), (TABLES[other], LABELS))


def test_a_gap_is_another_record_than_the_value_below():
    masked = np.ma.array([1, 2, 3], mask=[0, 0, 1])
    DatasetPair(masked, np.array([1, 2, 3]), relation="replace_one")
    with pytest.raises(ParameterError, match="not neighbours"):
        DatasetPair(masked, np.array([1, 2]), relation="replace_one")
    assert records_of(masked) == [1, 2, None] == records_of([1, 2, np.ma.masked])


def test_masked_labels_are_gaps_too():
    labels = np.ma.array(["n", "y", "n"], mask=[0, 0, 1])
    assert [label for _, label in records_of((CELLS, labels))] == ["n", "y", None]


@pytest.mark.parametrize("kind", [int, float, "U2", "datetime64[D]", object])
def test_gaps_of_every_type(kind):
    array = np.ma.array(np.array([[1, 2], [3, 4]]).astype(kind), mask=[[0, 1], [0, 0]])
    (_, gap), (one, other) = records_of(array)
    assert gap is None and one is not None and other is not None


def test_a_structured_array_keeps_its_gaps():
    array = np.ma.array([(1, 2.0), (3, 4.0)], dtype=[("a", int), ("b", float)],
                        mask=[(0, 1), (0, 0)])  # fmt: skip
    assert records_of(array) == [(1, None), (3, 4.0)]


@pytest.mark.parametrize("name", TABLES)
def test_an_estimator_is_fitted_to_and_asked_about_gaps(name):
    subject = Estimator(remembering())
    pair = DatasetPair((TABLES[name], LABELS), (CELLS[1:2], LABELS[1:2]), records_per_unit=2)
    subject.sample(pair.first, 1, pair)
    (_, fitted, _), (_, asked, _) = Remembering.seen
    assert fitted is TABLES[name] and rows(table_of(asked)) == GAPS


def test_the_whole_audit_takes_them():
    pair = DatasetPair(
        (TABLES["array"], LABELS), (TABLES["list with gaps"][:2], LABELS[:2]), made_up=True
    )
    subject = PrivateForestClassifier(epsilon=1, domain=DOMAIN, strategy="one_shot")
    # The noise is new each time: at 99 % a sound subject is accused now and then.
    assert audit(subject, pair, runs=40, confidence=1 - 1e-9).verdict != "violates"


def test_rows_are_joined_with_the_masks_of_both():
    assert rows(joined([TABLES["array"], CELLS])) == GAPS + CELLS.tolist()
    assert rows(joined([CELLS, TABLES["array"]])) == CELLS.tolist() + GAPS
    assert not isinstance(joined([CELLS, CELLS]), np.ma.MaskedArray)


# -- one run --------------------------------------------------------------------------------------


def canaries(masked: bool = True):
    X = np.ma.array(np.tile(CELLS, (10, 1)), mask=np.tile(MASK, (10, 1)) if masked else False)
    return X, np.array(LABELS * 10)


@pytest.mark.parametrize("base", [None, *TABLES])
def test_a_run_is_trained_on_and_asked_about_gaps(base):
    model, given = remembering(), None if base is None else (TABLES[base], LABELS)
    audit_one_run(model.fit, canaries(), claimed_epsilon=1, base=given)
    (_, fitted, labels), (_, asked, _) = Remembering.seen
    assert rows(asked) == GAPS * 10 and len(labels) == len(fitted)
    assert all(row in GAPS for row in rows(fitted))
    assert base is None or rows(fitted)[:3] == GAPS


def test_masked_labels_of_what_is_always_in_stay_masked():
    labels = np.ma.array(LABELS, mask=[0, 0, 1])
    model = remembering()
    audit_one_run(model.fit, canaries(), claimed_epsilon=1, base=(CELLS, labels))
    assert Remembering.seen[0][2].tolist()[:3] == ["n", "y", None]


@pytest.mark.parametrize("masked", [np.ma.array(LABELS * 10, mask=[0, 1, 0] * 10),
                                    ["n", np.ma.masked, "n"] * 10])  # fmt: skip
def test_a_canary_without_a_label_is_refused(masked):
    model = remembering()
    with pytest.raises(ParameterError, match=r"canaries=a masked cell: must have a label"):
        audit_one_run(model.fit, (canaries()[0], masked), claimed_epsilon=1)
    assert Remembering.seen == []
    with pytest.raises(ParameterError, match=r"y=a masked cell"):
        own_label_score(model, canaries()[0], masked)


def test_a_masked_score_is_refused():
    scores = np.ma.array(np.arange(30.0), mask=np.arange(30) == 7)
    with pytest.raises(ParameterError, match="score=a masked cell"):
        audit_one_run(remembering().fit, canaries(), claimed_epsilon=1, score=lambda *words: scores)


# -- what is released -----------------------------------------------------------------------------


class Own:
    """A subject that somebody else wrote."""

    name = "own"

    def sample(self, dataset, runs, pair):
        return np.ma.array(np.zeros(runs), mask=np.arange(runs) == 3)


@pytest.mark.parametrize(
    "subject",
    [
        Function(lambda dataset: np.ma.array([1.0, 4711.0], mask=[0, 1])),
        Function(lambda dataset: np.ma.masked),
        Batched(lambda dataset, runs: np.ma.array(np.zeros(runs), mask=np.arange(runs) == 3)),
        Own(),
    ],
)
def test_a_masked_output_is_refused(subject):
    """It was taken for the number below."""
    with pytest.raises(ParameterError, match="masked cell: must give numbers alone") as caught:
        audit(subject, ([1, 2], [1]), claimed_epsilon=1, runs=40)
    assert "4711" not in str(caught.value)


def test_a_masked_readout_is_refused():
    subject = Estimator(
        PrivateForestClassifier(epsilon=1, domain=DOMAIN, strategy="one_shot"),
        readout=lambda model, probes: np.ma.array([1.0, 2.0], mask=[0, 1]),
    )
    pair = DatasetPair((CELLS, LABELS), (CELLS[:2], LABELS[:2]), made_up=True)
    with pytest.raises(ParameterError, match="masked cell"):
        audit(subject, pair, claimed_epsilon=1, runs=4)


def test_arrays_without_a_masked_cell_are_numbers():
    whole = Batched(lambda dataset, runs: np.ma.array(np.arange(runs) % 2))
    assert audit(whole, ([1, 2], [1]), claimed_epsilon=1, runs=40).lower_bound == 0


def test_objects_that_differ_in_a_mask_differ():
    one, other = (np.ma.array([1, 2], mask=mask) for mask in ([0, 1], [0, 0]))
    assert attributes_of([one]) != attributes_of([other])
    assert attributes_of([one]) == attributes_of([one.copy()])
