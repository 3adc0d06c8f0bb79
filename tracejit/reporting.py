"""`report`: one self-contained HTML page about a function: its Graph at each stage, its conversions, the policies."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tracejit import policies as known
from tracejit.display import CSS, element, escape, plural
from tracejit.policies import Policy

#: A longer StableHLO module is cut: its constants can be larger than everything else together.
_LONGEST_MODULE = 200_000

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>{title}</title><style>
body{{margin:0}}
{css}
.tracejit.page{{background:var(--paper);min-height:100vh;padding:1.5em clamp(1em,4vw,4em);box-sizing:border-box}}
.tracejit h1{{font-size:1.5em;margin:0 0 .2em}} .tracejit h2{{font-size:1.15em;margin:2em 0 .4em}}
.tracejit .scroll{{overflow-x:auto}}
.tracejit pre{{background:var(--shade);border:1px solid var(--line);border-radius:6px;padding:1em;overflow-x:auto}}
.tracejit .tabs>input{{position:absolute;opacity:0}}
.tracejit .tabs>label{{display:inline-block;padding:.35em .9em;border:1px solid transparent;border-bottom:0;
border-radius:6px 6px 0 0;color:var(--soft);cursor:pointer}}
.tracejit .tabs>input:checked+label{{color:var(--ink);border-color:var(--line);background:var(--shade);font-weight:600}}
.tracejit .tabs>input:focus-visible+label{{outline:2px solid var(--widening)}}
.tracejit .tabs>div{{display:none}} .tracejit .tabs pre{{margin:0;border-top-left-radius:0}}
{tab_rules}
</style></head><body><div class="tracejit page">
{body}
</div></body></html>
"""


class Report:
    """A page about one function. Made by `report`, which also writes it; `html` is the page, `path` the file."""

    def __init__(self, name: str, page: str, path: Path):
        self.name, self.html, self.path = name, page, path

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __repr__(self) -> str:
        return f"<Report on {self.name}: {self.path}>"

    def _repr_html_(self) -> str:
        frame = f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:40em;border:1px solid #8888"></iframe>'
        return f"{frame}<p><code>{escape(self.path)}</code></p>"


def report(
    function: Callable[..., Any],
    path: str | os.PathLike[str] | None = None,
    policies: Sequence[str | Policy] | None = None,
) -> Callable[..., Report]:
    """Write one self-contained HTML page about a function: `report(f)(*args)`.

    The page shows the Graph as written, with its conversions (hover over one for its rule and line), simplified and as
    StableHLO; the list of conversions; and the function under all `policies`, side by side. It is written to `path`,
    by default `NAME-report.html` in the current folder. It holds the function's source lines, and values only where
    those differ between policies. Arguments may be abstract, as for `explain_casts`.

    >>> import pathlib, tempfile, tracejit
    >>> def scale(x):
    ...     return x * 0.5
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(scale, pathlib.Path(folder, "scale.html"))(tracejit.TensorType(tracejit.int8, (4,)))
    ...     page.path.name, "2 implicit conversions" in page.html
    ('scale.html', True)
    """
    from tracejit.explanation import check_function
    from tracejit.tensor import public

    check_function("report", function)
    chosen = [known.get(policy) for policy in (known.names() if policies is None else policies)]

    @functools.wraps(function, updated=())
    def write(*args: Any, **kwargs: Any) -> Report:
        from tracejit.comparison import compare_examinations
        from tracejit.examination import examine, module_text

        own = examine(function, args, kwargs, keep_failure=True)
        others = [examine(function, args, kwargs, policy, keep_failure=True) for policy in chosen]
        module = shortened(module_text(function, args, kwargs))
        page = _page(own, compare_examinations(others), module)
        name = re.sub(r"\W+", "-", own.name).strip("-") or "function"
        file = Path(path if path is not None else f"{name}-report.html")
        file.write_text(page, encoding="utf-8")
        return Report(own.name, page, file)

    return public(write)


def _page(own: Any, comparison: Any, module: str) -> str:
    from tracejit import __version__

    stages = _stages(own, module)
    tabs = "\n".join([f".tracejit .tabs>#stage{i}:checked~#panel{i}{{display:block}}" for i in range(len(stages))])
    head = f"<h1>{escape(own.name)}</h1><p class='soft'>policy {escape(own.policy.name)}, tracejit {__version__}</p>"
    parts = [head, _failure(own) if own.failure is not None else _tabs(stages)]
    if own.failure is None:
        from tracejit.explanation import explain_examination

        parts += ["<h2>Implicit conversions</h2>", element("div", explain_examination(own).html(), "scroll")]
    parts += ["<h2>Under each policy</h2>", element("div", comparison.html(everything=True), "scroll")]
    return _PAGE.format(title=escape(f"{own.name} – tracejit"), css=CSS, tab_rules=tabs, body="\n".join(parts))


def _failure(own: Any) -> str:
    return f"<h2>It fails under {escape(own.policy.name)}</h2>" + element("pre", escape(own.failure.error), "error")


def _stages(own: Any, module: str) -> list[tuple[str, str]]:
    """Return the title and the HTML of each stage."""
    if own.failure is not None:
        return []
    from tracejit.passes import simplify
    from tracejit.printer import html_of_graph

    casts = sum(operation.name == "cast" and "rule" in operation.attributes for operation in own.promoted.walk())
    graphs = [
        ("as written", own.graph),
        (f"promoted: {plural(casts, 'cast')} written out", own.promoted),
        ("simplified", simplify(own.promoted)),
    ]
    stages = [(title, html_of_graph(graph)) for title, graph in graphs]
    return [*stages, ("StableHLO", element("pre", escape(module)))] if module else stages


def _tabs(stages: Sequence[tuple[str, str]]) -> str:
    shown = min(1, len(stages) - 1)  # the promoted Graph
    inputs = [
        f'<input type="radio" name="stage" id="stage{i}"{" checked" if i == shown else ""}>'
        f'<label for="stage{i}">{escape(title)}</label>'
        for i, (title, _) in enumerate(stages)
    ]
    panels = [f'<div id="panel{i}">{content}</div>' for i, (_, content) in enumerate(stages)]
    return element("div", "".join([*inputs, *panels]), "tabs")


def shortened(text: str) -> str:
    """Cut a module's text where it is too long to look at."""
    if len(text) <= _LONGEST_MODULE:
        return text
    return text[:_LONGEST_MODULE] + f"\n... {len(text) - _LONGEST_MODULE:,} more characters"
