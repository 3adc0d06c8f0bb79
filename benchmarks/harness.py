"""How everything here is measured: two sides, interleaved, each drained inside its timed batch.

In every round each side runs one batch, in shuffled order, and its result is awaited before the clock stops; a round's
figure is the ratio of the two times, and what is reported is the median of the ratios with its quartiles. Ratios of
neighbours in time cancel most of what a busy or throttled machine does to both sides.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import operator
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 140  # of a table that goes into a file or a log
RESULTS = Path(__file__).resolve().parent / "results"
_SENSES: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    "=": operator.eq,
}


@dataclass
class Side:
    """One way of doing the work: `batch(n)` does it n times and gives what `drain` has to wait for."""

    batch: Callable[[int], object]
    drain: Callable[..., object]

    def seconds(self, calls: int) -> float:
        """Run one drained batch; the time of one call in it."""
        start = time.perf_counter()
        self.drain(self.batch(calls))
        return (time.perf_counter() - start) / calls


def one_by_one(call: Callable[[], object], drain: Callable[..., object]) -> Side:
    """Make a side that awaits each call: for work so large that calls would overlap, or their results pile up."""

    def batch(calls: int) -> None:
        for _ in range(calls):
            drain(call())

    return Side(batch, lambda nothing: None)


@dataclass
class Row:
    """One figure of a report, and the bar that it has to meet, if there is one."""

    label: str
    value: float | None  # None: not measured, and `note` says why
    sense: str = "<="
    bar: float | None = None
    unit: str = "×"
    low: float | None = None
    high: float | None = None
    ours: str = ""
    theirs: str = ""
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None where there is no bar or no figure."""
        if self.bar is None or self.value is None:
            return None
        return _SENSES[self.sense](self.value, self.bar)


@dataclass
class Timings:
    """The times of one call, a pair for each round."""

    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    def extend(self, other: Timings) -> None:
        """Add another process's rounds."""
        self.ours += other.ours
        self.theirs += other.theirs

    def row(self, label: str, sense: str = "<=", bar: float | None = None, note: str = "") -> Row:
        """Report ours / theirs, or under `>=` how many times faster ours is."""
        pairs = zip(self.ours, self.theirs, strict=True)
        ratios = [theirs / ours if sense == ">=" else ours / theirs for ours, theirs in pairs]
        low, value, high = quartiles(ratios)
        ours, theirs = (seconds(statistics.median(side)) for side in (self.ours, self.theirs))
        return Row(label, value, sense, bar, "×", low, high, ours, theirs, note)


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Give the lower quartile, the median and the upper quartile."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, median, high


def seconds(value: float) -> str:
    """Write a time with the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def compare(
    ours: Side, theirs: Side, *, rounds: int, batch_seconds: float = 0.005, calls: int | None = None
) -> Timings:
    """Time both sides in rounds, after a warm-up that also finds how many calls fill a batch of that length.

    Where every call is dear, `calls` says how many make a batch, and the first round, which warms up, is not kept.
    """
    timings, order = Timings(), random.Random(0)
    sides = [
        (side, times, _calls(side, batch_seconds) if calls is None else calls)
        for side, times in ((ours, timings.ours), (theirs, timings.theirs))
    ]
    for _ in range(rounds + 1):
        order.shuffle(sides)
        for side, times, n in sides:
            times.append(side.seconds(n))
    return Timings(timings.ours[1:], timings.theirs[1:])


def _calls(side: Side, batch_seconds: float) -> int:
    side.seconds(1)
    side.seconds(3)
    return max(1, round(batch_seconds / min(side.seconds(3) for _ in range(3))))


# ---- other processes ------------------------------------------------------------------------------------------------


def elsewhere(target: str, quick: bool, *, x64: bool = False, processes: int = 3) -> Timings:
    """Call a target in new processes, with JAX's 64-bit mode set from the start, and pool the rounds.

    `module:function` is called as `function(quick)`, `module:function:word` as `function(word, quick)`.

    Where memory happens to lie differs from process to process, and with it a short call's time; so several.
    """
    timings = Timings()
    for _ in range(1 if quick else processes):
        command = [sys.executable, "-m", "benchmarks.harness", target, *(["--quick"] if quick else [])]
        environment = os.environ | {"JAX_ENABLE_X64": "1" if x64 else "0"}
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        timings.extend(Timings(**json.loads(done.stdout.splitlines()[-1])))
    return timings


def _answer() -> None:
    """Be the other process: call the function that is named and print its timings."""
    parser = argparse.ArgumentParser(description=elsewhere.__doc__)
    parser.add_argument("target")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    module, function, *words = options.target.split(":")
    timings = getattr(importlib.import_module(module), function)(*words, options.quick)
    print(json.dumps({"ours": timings.ours, "theirs": timings.theirs}))


# ---- reports --------------------------------------------------------------------------------------------------------


def main(name: str, measure: Callable[[bool], list[Row]], description: str | None) -> None:
    """Run one benchmark from the command line: measure, write the JSON, print the table."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=description)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a first look; kept out of the records")
    options = parser.parse_args()
    rows = measure(options.quick)
    write(name, rows, options.quick)
    show(name, rows)


def result_file(name: str, quick: bool) -> Path:
    """Name the file of a benchmark's results; quick ones are local and not kept in version control."""
    return RESULTS / f"{name}{'.local' if quick else ''}.json"


def write(name: str, rows: list[Row], quick: bool) -> None:
    """Write a benchmark's results with what they were measured on."""
    RESULTS.mkdir(exist_ok=True)
    report = {
        "benchmark": name,
        "quick": quick,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": versions(),
        "machine": machine(),
        "rows": [asdict(row) | {"met": row.met} for row in rows],
    }
    result_file(name, quick).write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")


def read(name: str, quick: bool) -> list[Row]:
    """Read a benchmark's results back."""
    rows = json.loads(result_file(name, quick).read_text())["rows"]
    return [Row(**{key: value for key, value in row.items() if key != "met"}) for row in rows]


def versions() -> dict[str, str]:
    """Give the versions of what was measured."""
    found = {"python": platform.python_version()}
    for package in ("tracejit", "jax", "jaxlib", "numpy"):
        found[package] = metadata.version(package)
    return found


def machine() -> dict[str, str | float]:
    """Give the facts of the machine that speed depends on, and none that names it."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line.partition(":") for line in cpuinfo.read_text().splitlines()]
        model = next((value.strip() for key, _, value in lines if key.strip() == "model name"), model)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    facts: dict[str, str | float] = {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": model,
        "cores": cores,
    }
    return facts | {"load": round(os.getloadavg()[0], 1)}  # includes the benchmark's own


def show(title: str, rows: Sequence[Row]) -> None:
    """Print figures with the bar beside each, and the notes below."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    grid = Table(title=title, title_justify="left")
    for heading in ("what", "figure", "quartiles", "bar", "", "ours", "theirs"):
        grid.add_column(heading, justify="left" if heading in ("what", "") else "right")
    for row in rows:
        grid.add_row(row.label, *_cells(row))
    console.print(grid)
    for row in rows:
        if row.note:
            console.print(f"[dim]{row.label}: {row.note}[/dim]")


def _cells(row: Row) -> list[str]:
    verdict = {None: "", True: "[green]met[/green]", False: "[red]missed[/red]"}[row.met]
    figure = "-" if row.value is None else f"{row.value:.4g} {row.unit}"
    spread = "" if row.low is None or row.high is None else f"{row.low:.3g} – {row.high:.3g}"
    bar = "" if row.bar is None else f"{row.sense} {row.bar:g} {row.unit}"
    return [figure, spread, bar, verdict, row.ours, row.theirs]


if __name__ == "__main__":
    _answer()
