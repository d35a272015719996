"""Of a long run of rounds a report shows the first and the last, one pass a round or two."""

from __future__ import annotations

import pytest
from common.scale_report import shown_passes


@pytest.mark.parametrize("a_round", [["CandidateSums", "LeafSums"], ["LeafSums"]])
def test_the_first_round_and_the_last_passes_are_shown(a_round):
    countings = ["ClassCounts", *["GradientSums"] * 3, *20 * a_round]
    shown = shown_passes([{"counting": counting} for counting in countings])
    numbers = [int(one["label"].split(":")[0]) for one in shown]
    first = 4 + len(a_round)
    assert numbers == [*range(1, first + 1), len(countings) - 1, len(countings)]
