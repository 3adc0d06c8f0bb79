"""`report`: one page, self-contained, with every stage, the conversions and the policies."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import tracejit
from tracejit import Parameter, Tensor, TensorType, jit, ops, report
from tracejit import dtypes as dt


class Page(HTMLParser):
    """The elements, texts and attributes of a page; fails on tags that do not match."""

    VOID = ("meta", "input", "br", "link", "img")

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, Any]]] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def written(function: Any, folder: Path, *args: Any, **options: Any) -> tuple[Any, Page]:
    made = report(function, folder / "page.html", **options)(*args)
    assert made.path.read_text() == made.html
    return made, Page(made.html)


def test_a_page_with_everything(tmp_path: Path) -> None:
    weight = Parameter([1.0, 2.0], name="weight")

    @jit
    def step(x: Any, rate: Any) -> Any:
        scaled = x * 0.5
        return ops.assign_sub(weight, scaled * rate)

    _, page = written(step, tmp_path, TensorType(dt.int32, (2,)), 0.1)
    for part in (
        "as written",
        "promoted: ",
        "simplified",
        "StableHLO",
        "stablehlo.",
        "Implicit conversions",
        "Under each policy",
    ):
        assert part in page.text
    assert "scaled = x * 0.5" in page.text
    assert "%weight: f32[2]" in page.text
    hovers = [attributes["title"] for tag, attributes in page.found if tag == "span" and "title" in attributes]
    assert any("i32[2] to f32[2]" in hover and 'rule "integer-float-scalar"' in hover for hover in hovers)
    assert "ParameterCastError" in page.text  # numpy2 computes in float64
    assert weight.tolist() == [1.0, 2.0]


def test_it_needs_nothing_else(tmp_path: Path) -> None:
    made, page = written(lambda x: x * 0.5, tmp_path, Tensor([1]))
    assert not any(tag in ("script", "link", "img", "iframe") for tag, _ in page.found)
    assert not any(key in ("src", "href") for _, attributes in page.found for key in attributes)
    assert not re.search(r"https?://|@import|url\(", made.html)
    assert "prefers-color-scheme:dark" in made.html


def test_source_text_is_escaped(tmp_path: Path) -> None:
    _, page = written(lambda x: x * (2 if "<script>alert(1)</script>" else 3), tmp_path, Tensor([1]))
    assert not any(tag == "script" for tag, _ in page.found)


def test_a_failing_function_is_reported(tmp_path: Path) -> None:
    _, page = written(lambda x, y: ops.logical_and(x, y), tmp_path, Tensor([1.0]), Tensor([2.0]))
    assert "It fails under mindspore" in page.text
    assert "logical_and does not take float32" in page.text
    assert "Under each policy" in page.text


def test_chosen_policies_and_values(tmp_path: Path) -> None:
    made, page = written(lambda x: x + 200, tmp_path, Tensor([100], "int8"), policies=["numpy1", "torch"])
    assert "300" in page.text
    assert "numpy2" not in page.text
    assert made.name == "<lambda>"


def test_the_default_file_is_named_after_the_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def scale(x: Any) -> Any:
        return x * 2

    made = report(scale)(Tensor([1]))
    assert (tmp_path / "scale-report.html").exists()
    assert str(made.path) == "scale-report.html"
    assert made._repr_html_().startswith("<iframe srcdoc=")
    assert report(lambda x: x)(Tensor([1])).path.name == "lambda-report.html"


def test_strict_functions_have_a_page_too(tmp_path: Path) -> None:
    with tracejit.promotion("strict"):
        _, page = written(lambda x, y: x * y, tmp_path, TensorType(dt.int8, (2,)), TensorType(dt.float32, (2,)))
    assert "strict refuses 1 of them" in page.text
    assert "StableHLO" not in page.text
