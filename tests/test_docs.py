"""The documentation's code runs: every python block of README.md and docs, and the doctests of all modules.

The blocks of a page share one namespace, in order. A block with `>>>` is a doctest; any other is executed as it
stands, under its page's name and line numbers, so that an error or a Graph's location points into the page.
"""

from __future__ import annotations

import doctest
import importlib
import linecache
import re
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from tests.test_project import modules
from tracejit import errors

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(path for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")) if path.exists())
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_BLOCK = re.compile(r"^( *)```python[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of a page: its code, and the line of the page on which the code starts."""

    line: int
    code: str


def blocks_of(text: str) -> list[Block]:
    """Find the python blocks of a page, freed of their indentation."""
    found = []
    for match in _BLOCK.finditer(text):
        indent, code = match[1], match[2]
        lines = [line.removeprefix(indent) for line in code.splitlines(keepends=True)]
        found.append(Block(text.count("\n", 0, match.start(2)) + 1, "".join(lines)))
    return found


def run_doctest(test: doctest.DocTest) -> None:
    """Run one doctest, and fail with doctest's own report."""
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append, clear_globs=False)
    if result.failed:
        pytest.fail("".join(report), pytrace=False)


def run_page(name: str, text: str) -> dict[str, Any]:
    """Run a page's blocks in one namespace."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    for line, code in blocks_of(text):
        if code.lstrip().startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(code, namespace, f"{name}:{line}", name, line - 1)
            test.globs = namespace  # not the copy that the parser makes: later blocks see what this one defines
            run_doctest(test)
        else:
            exec(compile("\n" * (line - 1) + code, name, "exec"), namespace)
    return namespace


def importable() -> list[str]:
    """Name every module of the distribution, but for those that are programs."""
    return [name for name in (*modules("tracejit"), *modules("lowering")) if not name.endswith("__main__")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    run_page(page.relative_to(ROOT).as_posix(), page.read_text())


@pytest.mark.parametrize("name", importable())
def test_doctests(name: str):
    module: ModuleType = importlib.import_module(name)
    for test in doctest.DocTestFinder().find(module):
        if test.examples:
            run_doctest(test)


def test_blocks_share_a_namespace_and_have_the_pages_lines():
    in_a_list = "- a list\n\n  ```python\n  >>> x + 1\n  2\n  >>> y = 3\n  ```\n"
    page = f"# Page\n\n```python\nx = 1\n```\n\n{in_a_list}\n```sh\nls\n```\n"
    assert [block.line for block in blocks_of(page)] == [4, 10]
    assert run_page("page.md", page)["y"] == 3


def test_a_wrong_block_fails():
    with pytest.raises(pytest.fail.Exception, match=r"Expected:\s+3\s+Got:\s+2"):
        run_page("page.md", "```python\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(ZeroDivisionError) as caught:
        run_page("page.md", "\n```python\nx = 1\nx / 0\n```\n")
    assert caught.traceback[-1].lineno + 1 == 4


def test_the_page_of_differences_is_current():
    from docs.generate_differences import PAGE, page

    assert PAGE.read_text() == page(), "run python -m docs.generate_differences"


def test_the_page_of_errors_names_every_class():
    text = (ROOT / "docs" / "errors.md").read_text()
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(classes) > 20
    assert [kind.__name__ for kind in classes if f"`{kind.__name__}`" not in text] == []


def test_the_page_of_operators_is_current():
    from docs.generate_operators import PAGE, page

    assert PAGE.read_text() == page(), "run python -m docs.generate_operators"
