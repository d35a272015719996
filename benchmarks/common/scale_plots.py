"""Plots of docs/scale.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from common.results import Line

Lines = dict[str, Line]
_KINDS = {"one_shot": "one-shot", "refitted": "refitted, 24 rounds", "multinomial": "multinomial"}


def write_plots(found: Lines, folder: Path) -> None:
    """Time and memory over records; memory over a stream's limit."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "scale"
    import matplotlib.pyplot as plt

    figure, (time, memory) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    _over_records(found, time, memory)
    figure.savefig(folder / "scale_size.svg", metadata={"Date": None})
    figure, axes = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
    _over_limit(found, axes)
    figure.savefig(folder / "scale_stream.svg", metadata={"Date": None})


def _over_records(found: Lines, time: Any, memory: Any) -> None:
    for kind, shown in _KINDS.items():
        own = [(k.rsplit("/", 1)[1], v) for k, v in found.items() if k.startswith(f"memory/{kind}")]
        own.sort(key=lambda pair: int(pair[0]))
        n = [int(size) for size, _ in own]
        time.loglog(n, [line["cpu_seconds"] for _, line in own], "o-", label=shown)
        time.loglog(n, [line["floor_cpu_seconds"] for _, line in own], ":", color="grey")
        memory.loglog(n, [line["peak_bytes"] / 2**20 for _, line in own], "o-", label=shown)
    sizes = sorted({line["codes_bytes"] for k, line in found.items() if k.startswith("memory/")})
    memory.loglog([size / 30 for size in sizes], [s / 2**20 for s in sizes], ":", color="grey")
    time.set(xlabel="records", ylabel="seconds of the processor", title="fit; dotted: floor")
    memory.set(xlabel="records", ylabel="MB", title="beyond the codes; dotted: codes")
    time.legend(frameon=False)


def _over_limit(found: Lines, axes: Any) -> None:
    own = []
    for name, line in found.items():
        if name.startswith("stream/parquet/one_shot/") and not name.endswith("None"):
            own.append((int(name.rsplit("/", 1)[1]) / 2**20, line["peak_bytes"] / 2**20))
    own.sort()
    axes.plot([min(limit, 256) for limit, _ in own], [peak for _, peak in own], "o-")
    axes.set(xlabel="memory_limit, MB (the last: all fits)", ylabel="memory at most, MB", ylim=0)
