"""The type stubs say what there is: they are made from the Op records, and editors and type checkers read them."""

from __future__ import annotations

import ast
from pathlib import Path

from docs.generate_stubs import made
from tracejit import Tensor, ops

STUBS = {path.name if path.parent.name == "tracejit" else path.parent.name: path for path in made()}


def declared(path: Path) -> list[str]:
    """Return the functions, classes and methods that a stub declares."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def test_the_stubs_are_current():
    for path, text in made().items():
        assert path.read_text() == text, "run python -m docs.generate_stubs"


def test_every_public_operator_is_declared():
    names = declared(STUBS["ops"])
    assert set(ops.__all__) - {"CLASSES", "RECORDS", "Op"} <= set(names)
    assert all(hasattr(ops, name) for name in names if not name.startswith("__"))


def test_every_method_is_there():
    names = set(declared(STUBS["methods.pyi"])) - {"TensorMethods"}
    assert {"__add__", "__radd__", "sum", "reshape", "bitcast"} <= names
    in_place = {name for name in names if name.startswith("__i") and name not in ("__invert__",)}
    assert all(hasattr(Tensor, name) for name in names - in_place)
