"""Sphinx's configuration; `make docs` builds with warnings as errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "benchmarks" / "results"

project = "tracejit"
author = "the tracejit authors"
copyright = "the tracejit authors, Apache-2.0"
version = release = "0.1.0"

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nitpicky = True

html_theme = "furo"
html_title = "tracejit"
html_copy_source = False


def benchmark_page() -> str:
    """Write the recorded results as Markdown, so that no figure in the documentation is typed by hand."""
    reports = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json")) if ".local" not in path.name]
    if not reports:
        return "No results are recorded yet: `make bench` records them.\n"
    return "\n".join(map(_section, reports))


def _section(report: dict[str, Any]) -> str:
    versions, machine = report["versions"], report["machine"]
    lines = [f"### {report['benchmark'].replace('_', ' ')}", "", "| what | figure | bar | | ours | theirs |"]
    lines.append("|---|---:|---:|---|---:|---:|")
    lines += [_row(row) for row in report["rows"]]
    facts = ", ".join(f"{name} {number}" for name, number in versions.items())
    lines += ["", f"{report['date']}; {facts}; {machine['cores']} cores of {machine['processor']}.", ""]
    return "\n".join(lines)


def _row(row: dict[str, Any]) -> str:
    figure = "not measured" if row["value"] is None else f"{row['value']:.4g} {row['unit']}"
    bar = "" if row["bar"] is None else f"{row['sense']} {row['bar']:g} {row['unit']}"
    met = {None: "", True: "met", False: "**missed**"}[row["met"]]
    return f"| {row['label']} | {figure} | {bar} | {met} | {row['ours']} | {row['theirs']} |"


def _write_generated(app: Sphinx) -> None:
    """Write the generated pages below _build, where pages include them from."""
    folder = HERE / "_build" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmarks.md").write_text(benchmark_page())


def setup(app: Sphinx) -> None:
    """Have Sphinx write the generated pages before it reads the others."""
    app.connect("builder-inited", _write_generated)
