"""``dpforest explain``: what a forest learnt, from released values alone."""

from __future__ import annotations

import argparse
from pathlib import Path

from dpforest.command_line.answers import Answer, ExplainResult, Written
from dpforest.command_line.models import holds_draft, read_model
from dpforest.display import printable
from dpforest.estimators.explanation import Explanation
from dpforest.writing import check_new, new_file


def run_explain(chosen: argparse.Namespace) -> Answer:
    """Importances, curves of the features that are named, and a plot if a file is named."""
    if chosen.plot:
        check_new(Path(chosen.plot), chosen.force, "--plot", read=[chosen.model])
    forest = read_model(chosen.model)
    explanation = forest.explain()
    curves = [_curve(explanation, name) for name in chosen.feature]
    words = "\n\n".join([str(explanation), *curves])
    written: tuple[Written, ...] = ()
    if chosen.plot:
        _draw(explanation, chosen, private=holds_draft(forest))
        written = (Written(what="plot", path=chosen.plot),)
    aside = "".join(f"{one.what}: {one.path}" for one in written)
    return Answer(ExplainResult(explanation=explanation, written=written), words, aside)


def _draw(explanation: Explanation, chosen: argparse.Namespace, private: bool) -> None:
    path = Path(chosen.plot)
    figure = explanation.plot(chosen.feature or None)
    kind = path.suffix.removeprefix(".").lower()
    with new_file(path, private=private, force=chosen.force, option="--plot") as file:
        figure.savefig(file, format=kind if kind in ("svg", "pdf", "png") else "png")


def _curve(explanation: Explanation, name: str) -> str:
    """The mean prediction in every cell of a feature, as a table; its words are the model's."""
    found = explanation.of(name)
    curves = list(found.predictions.values())
    heads = "  ".join(f"{printable(head):>10.10}" for head in found.predictions)
    cells = list(map(printable, found.cells))
    width = max(map(len, cells))
    lines = [f"{printable(name):{width}}  {heads}"]
    for place, cell in enumerate(cells):
        figures = "  ".join(f"{curve[place]:10.4g}" for curve in curves)
        lines.append(f"{cell:{width}}  {figures}")
    return "\n".join(lines)
