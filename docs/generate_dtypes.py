"""Draws the promotion tables of the documentation and the README from the policies.

    python docs/generate_dtypes.py [--check]

Writes a picture for each policy and one of all (`docs/images/dtypes*.svg`), the grids of the built documentation with
their diff view (`docs/dtypes-grids.html`), and what each policy stands for (`docs/dtypes-policies.txt`). With
`--check` nothing is written, and the exit code is 1 if a committed copy is not current.
"""

from __future__ import annotations

import argparse
import html
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tracejit import policies
from tracejit.grids import STATES, Cell, Head, grid, scalar_heads, tensor_heads
from tracejit.policies import Policy

DOCS = Path(__file__).resolve().parent
#: The eight that come with tracejit, whatever else is registered.
NAMES = ("mindspore", "mindspore2", "numpy1", "numpy2", "jax", "torch", "tensorflow", "strict")
TITLES = {
    "mindspore": "MindSpore r1.1",
    "mindspore2": "MindSpore 2.10",
    "numpy1": "NumPy 1.26",
    "numpy2": "NumPy 2",
    "jax": "JAX",
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "strict": "tracejit, strict",
}
LEGEND = {
    "same": "one of the two dtypes, nothing lost",
    "wider": "wider than both, nothing lost",
    "lossy": "can lose value",
    "error": "does not combine",
    "undocumented": "not on the system's own pages",
}

# ---- pictures -------------------------------------------------------------------------------------------------------

#: Fill and ink of each class, in a light and in a dark picture. What the pages do not say is hatched.
LIGHT = {
    "paper": "#ffffff", "ink": "#1f2328", "soft": "#59636e", "line": "#d1d9e0", "hatch": "#ffffff",
    "same": "#d3efdc", "same-ink": "#14532d", "wider": "#bfdbfe", "wider-ink": "#0b3d78",
    "lossy": "#ffcd9b", "lossy-ink": "#7a2e00", "error": "#e9e3f2", "error-ink": "#75618f",
}  # fmt: skip
DARK = {
    "paper": "#0d1117", "ink": "#e6edf3", "soft": "#9198a1", "line": "#3d444d", "hatch": "#0d1117",
    "same": "#153d25", "same-ink": "#9be9b4", "wider": "#123a70", "wider-ink": "#a9d0ff",
    "lossy": "#6b3408", "lossy-ink": "#ffc896", "error": "#2a2338", "error-ink": "#a093bd",
}  # fmt: skip
WIDE, HIGH = 47, 25  # of a cell
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"


def style() -> str:
    """Return the style sheet of a picture: classes for cells and texts, in both colour schemes."""
    rules = [f"text{{font:12px {FONT};text-anchor:middle;dominant-baseline:central}}"]
    rules.append("text.left{text-anchor:start}text.right{text-anchor:end}")
    rules.append("text.title{font:600 19px system-ui,sans-serif;text-anchor:start}")
    rules.append("text.small{font:12.5px system-ui,sans-serif;text-anchor:start}")
    return "".join([*rules, _colours(LIGHT), f"@media(prefers-color-scheme:dark){{{_colours(DARK)}}}"])


def _colours(scheme: dict[str, str]) -> str:
    rules = [f".paper{{fill:{scheme['paper']}}}.ink{{fill:{scheme['ink']}}}.soft{{fill:{scheme['soft']}}}"]
    rules += [f"rect.{name}{{fill:{scheme[name]}}}text.{name}{{fill:{scheme[name + '-ink']}}}" for name in STATES]
    rules.append(f".hatch{{stroke:{scheme['hatch']};stroke-width:2.6}}.frame{{fill:none;stroke:{scheme['line']}}}")
    return "".join(rules)


HATCH = (
    '<defs><pattern id="hatch" width="6.5" height="6.5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line class="hatch" x1="0" y1="0" x2="0" y2="6.5"/></pattern></defs>'
)


def meaning_of(cell: Cell) -> str:
    """Say in words what a cell is."""
    return LEGEND[cell.state] + ("" if cell.documented else f"; {LEGEND['undocumented']}")


def rect(x: float, y: float, width: float, height: float, kind: str, extra: str = "") -> str:
    """Return a rectangle of a class."""
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"{extra}/>'


def text(x: float, y: float, words: str, kind: str) -> str:
    """Return text of a class."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{html.escape(words)}</text>'


def filled(x: float, y: float, width: float, height: float, kind: str, documented: bool = True) -> str:
    """Return a cell's background, hatched where the pages do not say."""
    corners = ' rx="3"' if width > 15 else ' rx="1.5"'
    box = rect(x, y, width, height, kind, corners)
    return box if documented else box + rect(x, y, width, height, "", f'{corners} fill="url(#hatch)"')


def draw_cell(x: float, y: float, row: Head, column: Head, cell: Cell) -> str:
    """Return one cell with its code; hovering says what it is."""
    result = cell.result.name if cell.result is not None else "error"
    hover = f"{row.name} with {column.name}: {result} ({meaning_of(cell)})"
    box = filled(x + 1, y + 1, WIDE - 2, HIGH - 2, cell.state, cell.documented)
    return f"<g><title>{html.escape(hover)}</title>{box}{text(x + WIDE / 2, y + HIGH / 2, cell.code, cell.state)}</g>"


def draw_table(policy: Policy, heads: Sequence[Head], left: float, top: float) -> str:
    """Return a grid of rows against tensors of every dtype, with heads."""
    columns = tensor_heads()
    parts = [text(left + (i + 0.5) * WIDE, top - 11, head.label, "soft") for i, head in enumerate(columns)]
    for j, (head, cells) in enumerate(zip(heads, grid(policy, heads), strict=True)):
        y = top + j * HIGH
        parts.append(text(left - 9, y + HIGH / 2, head.label, "soft right"))
        parts += [draw_cell(left + i * WIDE, y, head, columns[i], cell) for i, cell in enumerate(cells)]
    return "".join(parts)


def draw_legend(left: float, top: float, width: float) -> str:
    """Return what the colours mean, in as many lines as it takes."""
    parts, x, y = [], left, top
    for kind, meaning in LEGEND.items():
        length = 23 + 6.8 * len(meaning)
        if x + length > left + width:
            x, y = left, y + 24
        if kind == "undocumented":
            parts.append(rect(x, y, 16, 16, "error", ' rx="3"') + rect(x, y, 16, 16, "", ' rx="3" fill="url(#hatch)"'))
        else:
            parts.append(filled(x, y, 16, 16, kind))
        parts.append(text(x + 23, y + 8, f"hatched: {meaning}" if kind == "undocumented" else meaning, "small soft"))
        x += length + 24
    return "".join(parts)


def picture(body: str, width: float, height: float, label: str) -> str:
    """Return a picture with its style sheet and background."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{html.escape(label)}">'
    )
    paper = rect(0, 0, width, height, "paper", ' rx="8"')
    return f"{head}<style>{style()}</style>{HATCH}{paper}{body}</svg>\n"


def draw_policy(policy: Policy) -> str:
    """Draw one policy: tensor with tensor above, Python scalar with tensor below."""
    tensors, scalars = tensor_heads(), scalar_heads(policy.needs_values)
    left, top = 92, 96
    below = top + len(tensors) * HIGH + 62
    width = left + len(tensors) * WIDE + 24
    bottom = below + len(scalars) * HIGH + 26
    title = f"{policy.name}: in which dtype two operands compute"
    parts = [
        text(24, 30, title, "title ink"),
        text(24, 54, f"{TITLES[policy.name]}. Tensor (row) with tensor (column)", "small soft"),
        draw_table(policy, tensors, left, top),
        text(24, below - 34, "Python scalar (row) with tensor (column)", "small soft"),
        draw_table(policy, scalars, left, below),
        draw_legend(24, bottom, width - 48),
    ]
    return picture("".join(parts), width, bottom + 60, title)


def draw_all() -> str:
    """Draw all policies side by side, tensor with tensor, small: where they lose, widen and refuse."""
    size, gap, left, top = 14, 38, 28, 104
    columns = tensor_heads()
    side = size * len(columns)
    parts = [
        text(left, 32, "One operator, eight sets of dtype rules", "title ink"),
        text(left, 56, "Each square is a pair of tensors, bool to complex128 from top and left", "small soft"),
    ]
    for number, name in enumerate(NAMES):
        policy = policies.get(name)
        x, y = left + number % 4 * (side + gap), top + number // 4 * (side + 70)
        parts.append(text(x, y - 18, name, "small ink"))
        parts.append(text(x + side, y - 18, TITLES[name], "small soft end"))
        for j, cells in enumerate(grid(policy, columns)):
            for i, cell in enumerate(cells):
                result = cell.result.name if cell.result is not None else "error"
                hover = f"{columns[j].name} with {columns[i].name}: {result}"
                box = filled(x + i * size, y + j * size, size - 1, size - 1, cell.state, cell.documented)
                parts.append(f"<g><title>{html.escape(hover)}</title>{box}</g>")
    width = left + 4 * side + 3 * gap + left
    bottom = top + 2 * side + 70 + 26
    parts.append(draw_legend(left, bottom, width - 2 * left))
    body = "".join(parts).replace('class="small soft end"', 'class="small soft" style="text-anchor:end"')
    return picture(body, width, bottom + 64, "The promotion tables of eight policies")


# ---- the page's grids -----------------------------------------------------------------------------------------------


def data() -> dict[str, Any]:
    """Return what the page's script draws from: heads, and cells as [code, state, documented, number of the reason]."""
    reasons: dict[str, int] = {}

    def encode(cell: Cell) -> list[Any]:
        number = reasons.setdefault(cell.why, len(reasons))
        return [cell.code, STATES.index(cell.state), int(cell.documented), number]

    cells = {}
    for name in NAMES:
        policy = policies.get(name)
        parts = {"tensors": tensor_heads(), "kinds": scalar_heads(False), "values": scalar_heads(True)}
        if policy.needs_values:
            del parts["kinds"]
        cells[name] = {part: [list(map(encode, row)) for row in grid(policy, heads)] for part, heads in parts.items()}
    return {
        "policies": [{"name": name, "title": TITLES[name]} for name in NAMES],
        "columns": [head.label for head in tensor_heads()],
        "names": [head.name for head in tensor_heads()],
        "kinds": [head.label for head in scalar_heads(False)],
        "values": [head.label for head in scalar_heads(True)],
        "cells": cells,
        "reasons": list(reasons),
        "legend": [[kind, meaning] for kind, meaning in LEGEND.items()],
    }


def page() -> str:
    """Return the grids of the documentation: a choice of policy, and of another to compare it with."""
    template = (DOCS / "dtypes-grids.template.html").read_text(encoding="utf-8")
    variables = [
        f"{selector}{{{''.join(f'--tj-{name}:{value};' for name, value in scheme.items())}}}"
        for selector, scheme in (
            (".tj", LIGHT),
            ('body[data-theme="dark"] .tj', DARK),
        )
    ]
    dark = "".join(f"--tj-{name}:{value};" for name, value in DARK.items())
    variables.append(f'@media(prefers-color-scheme:dark){{body:not([data-theme="light"]) .tj{{{dark}}}}}')
    text = json.dumps(data(), ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    return template.replace("/*COLOURS*/", "\n".join(variables)).replace("/*DATA*/", text)


def policies_text() -> str:
    """Return the list of the policies: whose rules each follows, and what else it decides."""
    numpy_scalars = {
        "python": "count as Python scalars of their kind",
        "tensor": "are 0-d tensors of their dtype",
        "value": "count by value and dtype",
    }
    lines = []
    for name in NAMES:
        policy = policies.get(name)
        overflow = "raises OverflowError" if policy.out_of_range == "error" else "wraps"
        lines += [f"`{name}`", f": {policy.source}"]
        lines.append(
            f"  NumPy scalars {numpy_scalars[policy.numpy_scalars]}. A Python int that the dtype cannot hold "
            f"{overflow}. Operators in dialect {policy.dialect}."
        )
        lines.append("")
    return "\n".join(lines)


# ---- files ----------------------------------------------------------------------------------------------------------


def files() -> dict[Path, str]:
    """Return every generated file with what it should hold."""
    made = {DOCS / "images" / f"dtypes-{name}.svg": draw_policy(policies.get(name)) for name in NAMES}
    made[DOCS / "images" / "dtypes.svg"] = draw_all()
    made[DOCS / "dtypes-grids.html"] = page()
    made[DOCS / "dtypes-policies.txt"] = policies_text()
    return made


def stale() -> list[Path]:
    """List the files whose committed copy is missing or not current."""
    return [path for path, text in files().items() if not path.exists() or path.read_text(encoding="utf-8") != text]


def main() -> int:
    """Write the files, or with --check only say which are not current."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a copy is not current")
    old = stale()
    if parser.parse_args().check:
        for path in old:
            print(f"{path.relative_to(DOCS.parent)} is not current: run python docs/generate_dtypes.py")
        return int(bool(old))
    (DOCS / "images").mkdir(exist_ok=True)
    for path in old:
        path.write_text(files()[path], encoding="utf-8")
        print(path.relative_to(DOCS.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
