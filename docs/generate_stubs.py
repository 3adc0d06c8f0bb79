"""Writes the type stubs of what is made from the Op records: `tracejit.ops`, and the methods of Tensor.

python -m docs.generate_stubs [--check]
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import tracejit
from docs.generated import write_or_check
from tracejit import dispatch, ops
from tracejit.ops import CLASSES, RECORDS, Op

PACKAGE = Path(tracejit.__file__).resolve().parent
MADE = '"""{} Made from the Op records by docs/generate_stubs.py."""\n\n'
OPS_HEAD = """from typing import Any

from tracejit.dispatch import Primitive
from tracejit.ops.record import CLASSES as CLASSES
from tracejit.ops.record import RECORDS as RECORDS
from tracejit.ops.record import Op as Op
from tracejit.parameter import Parameter
from tracejit.tensor import Tensor

__all__: list[str]

"""
METHODS_HEAD = """from typing import Any, Self

from tracejit.tensor import Tensor

class TensorMethods:
    def __hash__(self) -> int: ...
    def __pos__(self) -> Tensor: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
"""


def result_of(op: Op) -> str:
    """Return the annotation of what a call gives."""
    if op.writes:
        return "Parameter" if op.returns == 1 or len(op.writes) == 1 else "tuple[Parameter, ...]"
    if op.updates is not None or not op.results:
        return "Any"
    return "Tensor" if len(op.results) == 1 and not op.plural else "tuple[Tensor, ...]"


def arguments(parameters: Sequence[inspect.Parameter]) -> str:
    """Spell arguments: Any, and `...` for a default."""
    spelled, keyword_only = [], False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            spelled.append("*")
        default = "" if parameter.default is parameter.empty else " = ..."
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        spelled.append(f"{star}{parameter.name}: Any{default}")
    return ", ".join(spelled)


def signature_of(function: Callable[..., object]) -> list[inspect.Parameter]:
    """Return the arguments of a function."""
    return list(inspect.signature(function).parameters.values())


def function_lines(name: str, op: Op) -> Iterator[str]:
    """Declare an operator's function."""
    yield f"def {name}({arguments(signature_of(getattr(ops, name)))}) -> {result_of(op)}:"
    yield f'    """{op.doc.splitlines()[0]}"""'
    yield ""


def class_lines(name: str, op: Op) -> Iterator[str]:
    """Declare an operator's class: made with its attributes, called with its operands."""
    made = [f"{public}: Any = ..." for public in dispatch.constructor_names(op)]
    called = [p for p in signature_of(getattr(ops, op.functions[0])) if p.name in op.call_order]
    yield f"class {name}(Primitive):"
    yield f'    """{op.doc.splitlines()[0]}"""'
    yield ""
    yield f"    def __init__({', '.join(['self', *made])}) -> None: ..."
    yield f"    def __call__({', '.join(filter(None, ['self', arguments(called)]))}) -> {result_of(op)}: ..."
    yield ""


def method_lines(name: str, op: Op) -> Iterator[str]:
    """Declare a method of Tensor, with the reflected and the in-place form of a symbol."""
    result = result_of(op)
    if not name.startswith("__"):
        public = {name: public for public, name in op.method_keywords.items()}
        parameters = signature_of(getattr(tracejit.Tensor, name))[1:]
        rest = arguments([p.replace(name=public.get(p.name, p.name)) for p in parameters])
        yield f"    def {name}({', '.join(filter(None, ['self', rest]))}) -> {result}: ..."
    elif len(op.operands) == 1:
        yield f"    def {name}(self) -> {result}: ..."
    else:
        ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
        yield f"    def {name}(self, other: Any) -> {result}: ...{ignore}"
    if name in dispatch.REFLECTED:
        yield f"    def {dispatch.REFLECTED[name]}(self, other: Any) -> {result}: ..."
        yield f"    def {dispatch.IN_PLACE[name]}(self, other: Any) -> Self: ..."


def ops_stub() -> str:
    """Return the stub of `tracejit.ops`."""
    lines: list[str] = []
    for op in RECORDS.values():
        for name in () if op.hidden else op.functions:
            lines += function_lines(name, op)
    for name, op in CLASSES.items():
        if not op.hidden:
            lines += class_lines(name, op)
    return MADE.format("MindSpore's operators, as functions and as classes.") + OPS_HEAD + "\n".join(lines)


def methods_stub() -> str:
    """Return the stub of the methods that Tensor has of the operators."""
    lines = [line for op in RECORDS.values() for name in op.methods for line in method_lines(name, op)]
    return MADE.format("The operators' methods on Tensor.") + METHODS_HEAD + "\n".join(lines) + "\n"


def made() -> dict[Path, str]:
    """Return the stubs by file."""
    return {PACKAGE / "ops" / "__init__.pyi": ops_stub(), PACKAGE / "methods.pyi": methods_stub()}


if __name__ == "__main__":
    write_or_check("Write the type stubs.", made)
