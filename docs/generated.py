"""Files of the project that programs make: written, or found to be out of date."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path


def write_or_check(description: str, files: Callable[[], Mapping[Path, str]]) -> None:
    """Write what differs from its committed copy; with --check, exit with 1 and name it instead."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is out of date")
    check = parser.parse_args().check
    made = files()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if check and stale:
        sys.exit(f"out of date: {', '.join(map(str, stale))}")
    for path in stale:
        path.write_text(made[path], encoding="utf-8")
