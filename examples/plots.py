"""The loss curve of a training run, as a picture and in the terminal."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

BARS = "▁▂▃▄▅▆▇█"


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
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(losses, linewidth=1)
    axes.set(title=title, xlabel="step", ylabel="loss", yscale="log")
    axes.grid(alpha=0.3)
    figure.savefig(path)
