"""The committed pictures and grids of the documentation are those that the policies give."""

from __future__ import annotations

import importlib.util
import json
import re
import xml.etree.ElementTree
from pathlib import Path
from types import ModuleType

import pytest

from tracejit import policies

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_dtypes", DOCS / "generate_dtypes.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_committed_copies_are_current(generator: ModuleType) -> None:
    assert generator.stale() == [], "run python docs/generate_dtypes.py"


def test_every_policy_has_its_picture(generator: ModuleType) -> None:
    assert generator.NAMES == policies.names()[:8]
    drawn = {path.name for path in generator.files()}
    assert {f"dtypes-{name}.svg" for name in generator.NAMES} <= drawn


def test_pictures_are_well_formed_and_stand_alone(generator: ModuleType) -> None:
    for path, text in generator.files().items():
        if path.suffix == ".svg":
            root = xml.etree.ElementTree.fromstring(text)
            assert root.tag.endswith("svg")
            titles = [element.text for element in root.iter() if element.tag.endswith("title")]
            assert len(titles) >= 15 * 15
            assert not re.search(r"href|<script|url\((?!#hatch)", text)


def test_the_page_holds_what_the_policies_decide(generator: ModuleType) -> None:
    page = generator.files()[DOCS / "dtypes-grids.html"]
    held = json.loads(re.search(r'id="tj-data">(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    assert held == json.loads(json.dumps(generator.data()))
    assert [policy["name"] for policy in held["policies"]] == list(generator.NAMES)
    u8, i8 = held["columns"].index("u8"), held["columns"].index("i8")
    code, state, documented, reason = held["cells"]["mindspore"]["tensors"][u8][i8]
    assert (code, generator.STATES[state], documented) == ("i16", "wider", 1)
    assert held["reasons"][reason].startswith("uint8-int8: ")
    assert held["cells"]["mindspore"]["tensors"][2][2][2] == 0  # uint16: not on MindSpore's pages
    for name in generator.NAMES:
        assert f"`{name}`" in generator.files()[DOCS / "dtypes-policies.txt"]


def test_the_check_notices_a_stale_copy(generator: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(generator.LEGEND, "lossy", "something else")
    assert DOCS / "images" / "dtypes.svg" in generator.stale()
