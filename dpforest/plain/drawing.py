"""One tree as text and as a plot, from its words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dpforest.checks import check_integer
from dpforest.exceptions import MissingExtraError, printable
from dpforest.plain.shown import ShownTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NOTE_WIDTH = 100
_BOX_WIDTH = 22


def tree_text(tree: ShownTree, max_depth: int | None = None) -> str:
    """A tree as indented lines, as scikit-learn's ``export_text`` writes them."""
    lines = list(_lines(tree, 0, 0, _depth(tree, max_depth)))
    shown = "\n".join(lines)
    # What a sum adds is said where the sum is shown.
    notes = (textwrap.fill(printable(note), _NOTE_WIDTH) for note in tree.notes
             if " adds:" not in note or f"{note.partition(' adds:')[0]} (" in shown)  # fmt: skip
    return "\n".join([tree.title, *lines, *notes])


def _depth(tree: ShownTree, max_depth: int | None) -> int:
    return tree.depth_below(0) if max_depth is None else check_integer(max_depth, "max_depth", 0)


def _lines(tree: ShownTree, place: int, depth: int, deepest: int) -> Iterator[str]:
    node, indent = tree.nodes[place], "|   " * depth + "|--- "
    if node.left is None or node.right is None:
        yield indent + printable(node.left_if)
    elif depth >= deepest:
        yield indent + _cut_short(tree, place)
    else:
        for condition, child in ((node.left_if, node.left), (node.right_if, node.right)):
            yield indent + printable(condition)
            yield from _lines(tree, child, depth + 1, deepest)


def _cut_short(tree: ShownTree, place: int) -> str:
    return f"a branch of depth {tree.depth_below(place)} that is not shown"


def tree_figure(tree: ShownTree, max_depth: int | None = None) -> Figure:
    """A tree as boxes and lines; the left side is where a condition holds.

    Raises
    ------
    MissingExtraError
        Without matplotlib, which the extra ``plots`` brings.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plots", "plot_tree()") from None
    boxes: list[tuple[float, int, str, tuple[int, ...]]] = []
    _place(tree, 0, 0, _depth(tree, max_depth), boxes)
    n_leaves = sum(not children for *_, children in boxes)
    depth = max(level for _, level, _, _ in boxes)
    size = (max(4.0, 1.9 * n_leaves), max(2.5, 1.4 * (depth + 1)))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-0.6, max(n_leaves, 1) - 0.4)
    axes.set_ylim(-depth - 0.6, 0.6)
    axes.set_title(tree.title)
    for box in boxes:
        _draw(axes, box, boxes)
    return figure


def _place(tree: ShownTree, place: int, depth: int, deepest: int, boxes: list[Any]) -> int:
    """Put a node and all below it in the list of boxes; returns where it stands."""
    node = tree.nodes[place]
    if node.left is None or node.right is None or depth >= deepest:
        is_leaf = node.left is None
        text = node.left_if if is_leaf else _cut_short(tree, place)
        boxes.append((float(sum(not box[3] for box in boxes)), depth, text, ()))
        return len(boxes) - 1
    children = tuple(
        _place(tree, child, depth + 1, deepest, boxes) for child in (node.left, node.right)
    )
    middle = sum(boxes[child][0] for child in children) / 2
    boxes.append((middle, depth, node.left_if, children))
    return len(boxes) - 1


def _draw(axes: Any, box: tuple[float, int, str, tuple[int, ...]], boxes: list[Any]) -> None:
    x, depth, text, children = box
    for child, word in zip(children, ("yes", "no"), strict=bool(children)):
        below = boxes[child]
        axes.plot([x, below[0]], [-depth, -below[1]], color="#999999", zorder=1)
        axes.text((x + below[0]) / 2, -(depth + below[1]) / 2, word, fontsize="x-small")
    # A dollar sign would begin a formula.
    shown = "\n".join(textwrap.wrap(printable(text).replace("$", r"\$"), _BOX_WIDTH))
    colour = "#dce8f4" if children else "#f4ecdc"
    style = {"boxstyle": "round", "facecolor": colour, "edgecolor": "#666666"}
    axes.text(x, -depth, shown, ha="center", va="center", fontsize="small", bbox=style, zorder=2)
