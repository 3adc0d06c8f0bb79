"""Run every benchmark, each in a process of its own, and print all figures with their bars in one table."""

from __future__ import annotations

import argparse
import subprocess
import sys
from itertools import chain

from rich.console import Console

from benchmarks import harness

NAMES = (
    "import_time",
    "cached_call",
    "parameters_step",
    "first_call",
    "tracing",
    "compiled",
    "eager",
    "explain",
    "models",
    "optimizers",
    "sparse",
    "sharded",
    "mindspore_peer",
    "models_peer",
)


def _run(name: str, quick: bool) -> list[harness.Row]:
    command = [sys.executable, "-m", f"benchmarks.{name}", *(["--quick"] if quick else [])]
    done = subprocess.run(command, cwd=harness.ROOT, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        return [harness.Row(name, None, note=f"failed with code {done.returncode}; its error is above")]
    return harness.read(name, quick)


def main() -> int:
    """Run them; exit code 1 if one failed, or with --check if one missed its bar."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which: {', '.join(NAMES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a first look; kept out of the records")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bar is missed")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    console, reports = Console(), []
    for name in options.names or NAMES:
        console.print(f"[dim]{name} …[/dim]")
        reports.append(_run(name, options.quick))
    rows = list(chain.from_iterable(reports))
    harness.show("tracejit's benchmarks", rows)
    failed = any(row.value is None and row.note.startswith("failed") for row in rows)
    return int(failed or (options.check and any(row.met is False for row in rows)))


if __name__ == "__main__":
    sys.exit(main())
