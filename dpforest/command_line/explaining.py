"""``dpforest explain``: what a forest learnt, from released values alone."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpforest.command_line.answers import Answer, ExplainResult, Written
from dpforest.command_line.models import holds_draft, read_model
from dpforest.estimators.explanation import Explanation
from dpforest.writing import check_new, new_file


def run_explain(chosen: argparse.Namespace) -> Answer:
    """Importances, curves of the features that are named, and a plot if a file is named."""
    if chosen.plot:
        check_new(Path(chosen.plot), chosen.force, "--plot", read=[chosen.model])
    forest = read_model(chosen.model)
    explanation = forest.explain()
    curves = [str(explanation.of(name)) for name in chosen.feature]
    words = "\n\n".join([str(explanation), *curves])
    written: tuple[Written, ...] = ()
    if chosen.plot:
        _draw(explanation, chosen, private=holds_draft(forest))
        written = (Written(what="plot", path=chosen.plot),)
    notice = "".join(one.words for one in written)
    return Answer(ExplainResult(explanation=explanation, written=written), words, notice)


#: What matplotlib would say of the time of day, by the form of a plot.
_NO_TIMES: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {},
}


def _draw(explanation: Explanation, chosen: argparse.Namespace, private: bool) -> None:
    """Write a plot: the same bytes whenever it is made, and no clock time in them."""
    import matplotlib as mpl

    path = Path(chosen.plot)
    figure = explanation.plot(chosen.feature or None)
    named = path.suffix.removeprefix(".").lower()
    kind = named if named in _NO_TIMES else "png"
    # Names of shapes in SVG are drawn at random unless something is hashed with them.
    with (
        new_file(path, private=private, force=chosen.force, option="--plot") as file,
        mpl.rc_context({"svg.hashsalt": "dpforest"}),
    ):
        figure.savefig(file, format=kind, metadata=_NO_TIMES[kind])
