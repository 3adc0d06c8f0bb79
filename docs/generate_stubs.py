"""Writes the type stubs of what is made from the Op records: `tracejit.ops`, and the methods of Tensor.

Type checkers and editors cannot see functions that are made at import; the stubs are made from the same records.

    python docs/generate_stubs.py [--check]
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tracejit import ops
from tracejit.ops.record import Op
from tracejit.tensor import Tensor

ROOT = Path(__file__).resolve().parent.parent
HEADER = '"""Made from the Op records by docs/generate_stubs.py; do not edit."""\n'
IMPORTS = """
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.parameter import Parameter
from tracejit.tensor import Tensor
"""
_REFLECTED = "add sub mul truediv floordiv mod pow matmul and or xor".split()


def result_of(op: Op) -> str:
    """Return the type of an operator's result: the Parameters that it writes, a Tensor, or a tuple."""
    kind = "Parameter" if op.writes else "Tensor"
    plural = len(op.results) > 1 or op.plural
    return f"tuple[{kind}, ...]" if plural else kind


def parameter_text(op: Op, parameter: inspect.Parameter) -> str:
    """Return one parameter of a function with its annotation and, where it has one, a default."""
    operand = next((o for o in op.operands if o.name == parameter.name), None)
    if operand is None:
        annotation = "Any"
    elif operand.role == "write":
        annotation = "Parameter"
    else:
        annotation = "Sequence[_Operand]" if operand.variadic else "_Operand"
    optional = parameter.default is not inspect.Parameter.empty
    if optional and parameter.default is None and operand is not None:
        annotation += " | None"
    return f"{parameter.name}: {annotation}{' = ...' if optional else ''}"


def parameters_text(op: Op, function: Callable[..., Any]) -> str:
    """Return the parameters of a function, with `*` before those that are given by name only."""
    texts, keyword_only = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            return "*args: Any, **kwargs: Any"
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            texts.append("*")
            keyword_only = True
        texts.append(parameter_text(op, parameter) if parameter.name != "self" else "self")
    return ", ".join(texts)


def lines_of_ops() -> Iterator[str]:
    """Yield the stub of `tracejit.ops`, line by line."""
    yield HEADER + IMPORTS
    yield "from tracejit.ops.record import CLASSES as CLASSES, RECORDS as RECORDS, Op as Op\n"
    yield "_Operand = Tensor | bool | int | float | complex | np.ndarray | np.generic\n"
    classes = []
    for name in sorted(set(ops.__all__) - {"CLASSES", "RECORDS", "Op"}):
        made = getattr(ops, name)
        if inspect.isclass(made):
            classes.append(name)
        else:
            op = _record_of(made, name)
            yield f"def {name}({parameters_text(op, made)}) -> {result_of(op)}: ..."
    for name in classes:
        yield f"\nclass {name}:"
        yield "    op: Op"
        yield "    def __init__(self, *args: Any, **kwargs: Any) -> None: ..."
        yield f"    def __call__(self, *args: Any, **kwargs: Any) -> {result_of(ops.CLASSES[name])}: ..."


def _record_of(function: Callable[..., Any], name: str) -> Op:
    found = getattr(function, "op", None) or ops.RECORDS.get(getattr(function, "__name__", name))
    return found or next(op for op in ops.RECORDS.values() if name in (op.name, *op.functions))


def lines_of_methods() -> Iterator[str]:
    """Yield the stub of the Tensor methods that are made from records."""
    yield HEADER + IMPORTS
    yield "_Operand = Tensor | bool | int | float | complex | np.ndarray | np.generic\n"
    yield "class Methods:"
    yield "    def __getitem__(self, index: Any, /) -> Tensor: ..."
    yield "    def __setitem__(self, index: Any, value: Any, /) -> None: ..."
    yield "    def __pos__(self) -> Tensor: ..."
    for name, op in sorted((name, op) for op in ops.RECORDS.values() for name in op.methods):
        yield from _method(name, op)


def _method(name: str, op: Op) -> Iterator[str]:
    if not name.startswith("__"):
        yield f"    def {name}({parameters_text(op, getattr(Tensor, name))}) -> {result_of(op)}: ..."
    elif len(op.operands) == 1:
        yield f"    def {name}(self) -> Tensor: ..."
    else:
        override = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
        yield f"    def {name}(self, other: _Operand, /) -> Tensor: ...{override}"
        if name.strip("_") in _REFLECTED:
            yield f"    def __r{name[2:]}(self, other: _Operand, /) -> Tensor: ..."


def stubs() -> dict[Path, str]:
    """Return the stub files with their texts."""
    return {
        ROOT / "tracejit" / "ops" / "__init__.pyi": "\n".join(lines_of_ops()) + "\n",
        ROOT / "tracejit" / "methods.pyi": "\n".join(lines_of_methods()) + "\n",
    }


def main() -> None:
    """Write the stubs, or say which are out of date."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a stub is out of date")
    check = parser.parse_args().check
    stale = [path for path, text in stubs().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        print(f"{path.relative_to(ROOT)} {'is out of date' if check else 'written'}")
        if not check:
            path.write_text(stubs()[path])
    sys.exit(bool(stale and check))


if __name__ == "__main__":
    main()
