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
    notice = "".join(f"{one.what}: {one.path}" for one in written)
    return Answer(ExplainResult(explanation=explanation, written=written), words, notice)


def _draw(explanation: Explanation, chosen: argparse.Namespace, private: bool) -> None:
    path = Path(chosen.plot)
    figure = explanation.plot(chosen.feature or None)
    kind = path.suffix.removeprefix(".").lower()
    with new_file(path, private=private, force=chosen.force, option="--plot") as file:
        figure.savefig(file, format=kind if kind in ("svg", "pdf", "png") else "png")
