"""The loss curve of a training run, as a picture and in the terminal."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

BARS = "▁▂▃▄▅▆▇█"
STYLES = ("-", "--")


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """Return values as a line of bars, each the mean of a stretch of them."""
    count = min(width, len(values))
    edges = [i * len(values) // count for i in range(count + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    low, high = min(means), max(means)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((mean - low) * scale)] for mean in means)


def save_curve(losses: Sequence[float], path: Path, title: str) -> None:
    """Draw a loss curve into a file."""
    save_curves({"": losses}, path, title, "step")


def save_curves(curves: Mapping[str, Sequence[float]], path: Path, title: str, unit: str) -> None:
    """Draw loss curves into one picture; the legend lists them from the highest last loss to the lowest."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    several = len(curves) > 1
    figure = Figure(figsize=(10, 6) if several else (7, 4), layout="constrained")
    axes = figure.add_subplot()
    for i, (name, losses) in enumerate(sorted(curves.items(), key=lambda curve: -curve[1][-1])):
        style = STYLES[i // 5 % len(STYLES)]
        axes.plot(losses, style, color=colormaps["tab10"](i % 10), linewidth=1.6 if several else 1, label=name)
    axes.set(title=title, xlabel=unit, ylabel="loss", yscale="log")
    axes.grid(alpha=0.3)
    if several:
        figure.legend(loc="outside right center", frameon=False)
    figure.savefig(path, dpi=150)
