"""Tables and plots of the speed benchmark, put between two marks of docs/speed.md."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from common.pages import between, place_of, rows_lost
from common.plotting import file_plots
from common.results import Line

START, END = "<!-- results of benchmarks/speed.py -->", "<!-- end of results -->"
PEERS = ("scikit-learn", "HistGradientBoosting", "diffprivlib", "DP-EBM", "treelite")
#: What fits are to reach beside scikit-learn's forest on as many threads.
TARGETS = {
    ("adult", "multinomial"): 0.20, ("covertype", "multinomial"): 0.25,
    ("continuous", "multinomial"): 0.08, ("continuous", "one-shot"): 0.03,
    ("continuous", "refitted"): 0.15, ("adult", "default"): 0.5, ("covertype", "default"): 0.5,
    ("adult", "one-shot"): 0.06, ("connect_4", "one-shot"): 0.06, ("covertype", "one-shot"): 0.06,
    ("adult", "refitted"): 0.4, ("connect_4", "refitted"): 0.4, ("covertype", "refitted"): 0.4,
}  # fmt: skip
PREDICT_TARGET = 0.4
TABLES = ("adult", "continuous", "connect_4", "covertype")


def write_page(every: list[Line], folder: Path) -> None:
    """Put the tables into docs/speed.md, and plots beside it."""
    lines = latest(every)
    page = folder / "speed.md"
    parts = [setting(lines), fits(lines), predictions(lines), sizes(lines), synthetic(lines)]
    made = "\n\n".join(part for part in parts if part)
    new = between(page.read_text(encoding="utf-8"), (START, END), made)
    place = place_of(page, rows_lost(page, new))
    place.write_text(new, encoding="utf-8")
    plot_growth(lines, place.parent / "speed_growth.svg")


def latest(lines: Iterable[Line]) -> list[Line]:
    """The last line of each measurement."""
    names = ("part", "table", "fit", "threads", "over", "value")
    return list({tuple(line.get(name) for name in names): line for line in lines}.values())


def setting(lines: list[Line]) -> str:
    """Versions, cores and load."""
    last, loads = lines[-1], sorted(line["load"] for line in lines)
    return (
        f"{last['cores']} cores, Python {last['python']}, numpy {last['numpy']}, numba "
        f"{last['numba']}, scikit-learn {last['scikit-learn']}. Load of the machine during the "
        f"measurements: {loads[0]} to {loads[-1]}, median {loads[len(loads) // 2]}."
    )


def fits(lines: list[Line]) -> str:
    """A row a table, fit and number of threads."""
    head = (
        "| table | fit | threads | size | seconds | × floor | × scikit-learn | target | "
        "× HistGB | × diffprivlib | × DP-EBM | repeats |"
    )
    rows = [head, "| --- " * 12 + "|"]
    found = (line for line in lines if line["part"] == "fit")
    for line in sorted(found, key=lambda line: (line["threads"], TABLES.index(line["table"]))):
        target, own = TARGETS.get((line["table"], line["fit"])), line["ratio"]
        shown = "" if target is None else f"{target:.2f}{_verdict(own['scikit-learn'], target)}"
        # The floor is that of one core.
        has_floor = line["threads"] == 1 and line.get("over_floor")
        over = f"{line['over_floor']:.1f}" if has_floor else ""
        peers = (_times(own.get(name)) for name in PEERS[:4])
        first, *others = peers
        cells = (
            line["table"].replace("_", "-"), line["fit"], line["threads"], line["size"],
            _seconds(line["seconds"]["ours"]), over, first, shown, *others, line["repeats"],
        )  # fmt: skip
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)


def predictions(lines: list[Line]) -> str:
    """Prediction and encoding."""
    rows = ["| table | what | seconds | × scikit-learn | target | × treelite |", "| --- " * 6 + "|"]
    for line in (line for line in lines if line["part"] == "predict"):
        ratio = line["ratio"]
        target = f"{PREDICT_TARGET:.2f}{_verdict(ratio['scikit-learn'], PREDICT_TARGET)}"
        rows.append(
            f"| {line['table']} | `predict_proba`, 100 trees, {line['shape'][0]:,} rows | "
            f"{_seconds(line['seconds']['ours'])} | {_times(ratio['scikit-learn'])} | {target} | "
            f"{_times(ratio.get('treelite'))} |"
        )
    for line in (line for line in lines if line["part"] == "encode"):
        n, width = line["shape"]
        for kind, value in line["seconds"].items():
            what = f"encoding {n:,} × {width}, {kind}"
            rows.append(f"| {line['table'].replace('_', '-')} | {what} | {_seconds(value)} | | | |")
    return "\n".join(rows)


def sizes(lines: list[Line]) -> str:
    """One-shot fits over n."""
    rows = ["| records × 14 | one-shot forest | seconds | × scikit-learn | × diffprivlib |"]
    rows.append("| --- " * 5 + "|")
    found = sorted((li for li in lines if li["part"] == "sizes"), key=lambda li: li["value"])
    for line in found:
        rows.append(
            f"| {line['value']:,} | {line['size']} | {_seconds(line['seconds']['ours'])} | "
            f"{_times(line['ratio']['scikit-learn'])} | "
            f"{_times(line['ratio'].get('diffprivlib'))} |"
        )
    return "\n".join(rows) if found else ""


def synthetic(lines: list[Line]) -> str:
    """Large one-shot fits."""
    rows = ["| records × 30 | one-shot forest | wall s | processor s | floor s | codes | beyond |"]
    rows.append("| --- " * 7 + "|")
    found = sorted((li for li in lines if li["part"] == "synthetic"), key=lambda li: li["value"])
    for line in found:
        seconds = line["seconds"]
        rows.append(
            f"| {line['value']:,} | {line['size']} | {seconds['wall']:.2f} | "
            f"{seconds['processor']:.2f} | {line['floor']:.2f} | {line['codes_gb']:.2f} GB | "
            f"{line['beyond_gb']:.2f} GB |"
        )
    return "\n".join(rows) if found else ""


def plot_growth(lines: list[Line], path: Path) -> None:
    """Time and memory of multinomial fits over n, D, trees, depth; left out without matplotlib."""
    found = [line for line in lines if line["part"] == "growth"]
    if not found:
        print("no plots: nothing measured")
        return
    plt = file_plots()
    if plt is None:
        return
    titles = {"n": "records", "D": "features", "trees": "trees", "depth": "depth"}
    figure, axes = plt.subplots(2, 4, figsize=(12, 5.5), layout="constrained", sharey="row")
    for column, (over, title) in zip(axes.T, titles.items(), strict=True):
        own = sorted((li for li in found if li["over"] == over), key=lambda li: li["value"])
        for name, colour in (("ours", "C0"), ("scikit-learn", "C7")):
            label = {"ours": "multinomial forest"}.get(name, name)
            at = [line["value"] for line in own]
            column[0].plot(at, [li["seconds"][name] for li in own], "o-", c=colour, label=label)
            memory = [(li["memory_mb"][name] or 0.1) for li in own]
            column[1].plot(at, [max(mb, 0.1) for mb in memory], "o-", c=colour, label=label)
        scale = "linear" if over in ("D", "depth") else "log"
        for axis in column:
            axis.set(xscale=scale, yscale="log", xlabel=title)
            axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("seconds of a fit")
    axes[1, 0].set_ylabel("MB beyond the table")
    axes[0, 0].legend(fontsize="small")
    figure.savefig(path)
    plt.close(figure)


def _verdict(ratio: float, target: float) -> str:
    return " met" if ratio <= target else " **missed**"


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.3f}"


def _seconds(value: float) -> str:
    return f"{value:.4f}" if value < 0.1 else f"{value:.2f}"
