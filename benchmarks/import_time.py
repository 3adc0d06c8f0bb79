"""How long `import tracejit` takes in a new interpreter, best of several."""

from __future__ import annotations

import subprocess
import sys

from benchmarks import harness

_IMPORT = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def _best(module: str, runs: int) -> float:
    command = [sys.executable, "-c", _IMPORT.format(module)]
    runs_of_it = (
        subprocess.run(command, cwd=harness.ROOT, capture_output=True, text=True, check=True) for _ in range(runs)
    )
    return min(float(run.stdout) for run in runs_of_it)


def measure(quick: bool) -> list[harness.Row]:
    """Measure, with `import jax` for scale."""
    runs = 5 if quick else 20
    ours, theirs = _best("tracejit", runs), _best("jax", 5)
    note = "theirs is import jax, which tracejit puts off until something runs"
    return [
        harness.Row(
            "import tracejit",
            ours,
            "<",
            0.25,
            "s",
            ours=harness.seconds(ours),
            theirs=harness.seconds(theirs),
            note=note,
        )
    ]


if __name__ == "__main__":
    harness.main("import_time", measure, __doc__)
