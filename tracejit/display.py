"""How explanations, comparisons and tables look: in a terminal, in a notebook, in a page.

rich and the HTML helpers are loaded when something is shown, not when tracejit is imported.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tracejit.locations import Location

#: rich's style of each judgement, and of what else stands out.
STYLES = {
    "lossless": "green",
    "widening": "cyan",
    "lossy": "bold red",
    "same": "dim",
    "wider": "cyan",
    "error": "bold magenta",
    "undocumented": "dim italic",
    "differs": "bold yellow",
}

#: Everything that tracejit shows in HTML is styled by these rules, below an element of class `tracejit`.
CSS = """
.tracejit{--ink:#1f2328;--soft:#59636e;--line:#d1d9e0;--paper:#fff;--shade:#f6f8fa;
--lossless:#1a7f37;--widening:#0969da;--lossy:#bc4c00;--error:#8250df;
color:var(--ink);font:14px/1.45 system-ui,sans-serif}
@media (prefers-color-scheme:dark){.tracejit{--ink:#e6edf3;--soft:#9198a1;--line:#3d444d;--paper:#0d1117;
--shade:#151b23;--lossless:#3fb950;--widening:#4493f8;--lossy:#f0883e;--error:#ab7df8}}
.tracejit table{border-collapse:collapse;margin:.6em 0}
.tracejit th,.tracejit td{padding:.25em .7em;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
.tracejit th{color:var(--soft);font-weight:600;border-bottom-width:2px}
.tracejit code,.tracejit pre{font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.tracejit tr.source td{background:var(--shade)}
.tracejit .place,.tracejit .soft{color:var(--soft)}
.tracejit .lossless{color:var(--lossless)}.tracejit .widening{color:var(--widening)}
.tracejit .lossy{color:var(--lossy);font-weight:600}.tracejit .error{color:var(--error);font-weight:600}
.tracejit .differs{font-weight:600;color:var(--lossy)}
.tracejit dt{font-family:ui-monospace,monospace;font-size:13px;margin-top:.4em}.tracejit dd{margin:0 0 0 1.5em}
"""


Segment = tuple[str, str]
"""Some text and the rich style that it has in a terminal."""


class Sheet:
    """Lines of styled text: plain as a string, coloured where rich prints it.

    >>> sheet = Sheet()
    >>> sheet.add(("two casts", "bold"))
    >>> sheet.add_columns([[("x", ""), ("i8", "")], [("weight", ""), ("f32", "red")]], indent=2)
    >>> print(sheet)
    two casts
      x       i8
      weight  f32
    """

    def __init__(self) -> None:
        self.lines: list[list[Segment]] = []

    def add(self, *segments: Segment) -> None:
        """Add a line; an empty one without segments."""
        self.lines.append(list(segments))

    def add_columns(self, rows: Sequence[Sequence[Segment]], indent: int = 0, gap: int = 2) -> None:
        """Add a line for each row, with the rows' cells below each other."""
        widths = [max(len(row[i][0]) for row in rows if i < len(row)) for i in range(max(map(len, rows), default=0))]
        for row in rows:
            padded = [(text.ljust(width + gap), style) for (text, style), width in zip(row, widths)]
            self.lines.append([(" " * indent, ""), *padded])

    def __str__(self) -> str:
        return "\n".join(["".join([text for text, _ in line]).rstrip() for line in self.lines])

    def __rich__(self) -> Any:
        """Return rich's Text of the lines."""
        from rich.text import Text

        text = Text("\n", no_wrap=True, overflow="ellipsis")
        return text.join([Text.assemble(*[(words, style) for words, style in line]) for line in self.lines])


def show(sheet: Any) -> None:
    """Print a sheet, in colour where the terminal has it."""
    import sys

    if sys.stdout.isatty():
        from rich.console import Console

        Console(soft_wrap=True).print(sheet, highlight=False)
    else:
        print(sheet)


def place(location: Location | None) -> str:
    """Return `file.py:12`, with the last part of the path only; empty for no place."""
    return f"{os.path.basename(location.file)}:{location.line}" if location is not None else ""


def source(location: Location | None) -> str:
    """Return the source text of a line; empty where it is not known."""
    return location.text if location is not None else ""


def escape(text: object) -> str:
    """Return text as HTML shows it."""
    import html

    return html.escape(str(text))


def element(tag: str, content: str, kind: str = "", title: str = "") -> str:
    """Return an HTML element around content that is HTML already; `title` is shown on hover."""
    attributes = (f' class="{kind}"' if kind else "") + (f' title="{escape(title)}"' if title else "")
    return f"<{tag}{attributes}>{content}</{tag}>"


def row(cells: Sequence[str], kind: str = "", tag: str = "td") -> str:
    """Return a row of a table of cells that are HTML already, or elements `<td ...>` of their own."""
    made = [cell if cell.startswith(f"<{tag}") else element(tag, cell) for cell in cells]
    return element("tr", "".join(made), kind)


def fragment(content: str) -> str:
    """Return HTML that can stand in any page or notebook."""
    return f'<div class="tracejit"><style>{CSS}</style>{content}</div>'


def plural(count: int, noun: str) -> str:
    """Return `1 cast`, `2 casts`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
