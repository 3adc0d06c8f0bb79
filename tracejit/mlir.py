"""Graphs in MLIR's generic form, for the tools of MLIR.

Everything but module and function is of the `tracejit` dialect, which no tool has registered: a stock parser reads
it where unregistered dialects are allowed (`mlir-opt --allow-unregistered-dialect`).

A Graph is a `func.func` whose arguments are the inputs and then the state, and whose results are the outputs and
then the state that is written; `tracejit.graph` (and `tracejit.regions` of operations with regions) keeps the
names and says which is which. A Python scalar has the type `!tracejit.float` (`int`, `bool`, `complex`), a literal
becomes a `tracejit.literal`. A policy other than `mindspore` is the attribute `tracejit.policy`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.dtypes import DType, as_dtype
from tracejit.ir import Graph, Literal, Operation, TensorType, Type, Value
from tracejit.locations import Location
from tracejit.printer import DEFAULT_POLICY, decimal_words, nest, splat_or_same

_BARE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]")


def mlir_of_graph(graph: Graph) -> str:
    """Return a verified Graph as an MLIR module in generic form.

    Source lines become `loc("file":line:0)`, with the file's full path. Raises TypeError for an attribute of a type
    that attributes do not have.

    >>> from tracejit.dtypes import float32
    >>> from tracejit.ir import Graph, Operation, TensorType, Value
    >>> x = Value(TensorType(float32, (4,)), name="x")
    >>> double = Operation("add", [x, x], [x.type])
    >>> print(mlir_of_graph(Graph("double", [x], operations=[double], outputs=double.results)))
    "builtin.module"() ({
      "func.func"() ({
      ^bb0(%x: tensor<4xf32>):
        %0 = "tracejit.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
        "func.return"(%0) : (tensor<4xf32>) -> ()
      }) {sym_name = "double", function_type = (tensor<4xf32>) -> (tensor<4xf32>), tracejit.graph = {name = "double", \
inputs = ["x"], state = [], written = []}} : () -> ()
    }) : () -> ()
    """
    writer = _Writer()
    writer.lines.append('"builtin.module"() ({')
    writer.lines.append('  "func.func"() ({')
    writer.block(graph, "func.return", "  ")
    types = f"({_types([*graph.inputs, *graph.state])}) -> ({_types(_results(graph))})"
    attributes = f"sym_name = {_string(graph.name)}, function_type = {types}, tracejit.graph = {_signature(graph)}"
    writer.lines.append(f"  }}) {{{attributes}}} : () -> (){_location(graph.location)}")
    writer.lines.append("}) : () -> ()")
    return "\n".join(writer.lines)


def _results(graph: Graph) -> list[Value]:
    return [*graph.outputs, *[graph.new_state[place] for place in graph.written]]


def _signature(graph: Graph) -> str:
    """Return the dictionary that keeps what blocks and their terminators cannot say."""
    inputs, state = (_attribute(tuple([value.name for value in values])) for values in (graph.inputs, graph.state))
    return (
        f"{{name = {_string(graph.name)}, inputs = {inputs}, state = {state}, written = {_attribute(graph.written)}}}"
    )


class _Writer:
    """Lines of MLIR. A region sees the names around it, so names are unique in the module."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.next_number = 0
        self.repetitions: dict[str, int] = {}

    def define(self, value: Value) -> str:
        """Give a value its name; `$` is kept for telling equal names apart."""
        base = _NOT_IN_NAMES.sub("_", value.name or "")
        base = f"_{base}" if base[:1].isdigit() else base
        if not base:
            name = self.number()
        else:
            count = self.repetitions[base] = self.repetitions.get(base, -1) + 1
            name = f"%{base}{f'${count}' if count else ''}"
        self.names[id(value)] = name
        return name

    def number(self) -> str:
        self.next_number += 1
        return f"%{self.next_number - 1}"

    def block(self, graph: Graph, terminator: str, indent: str) -> None:
        """Write a Graph as the one block of a region."""
        binders = [f"{self.define(value)}: {_type(value.type)}" for value in [*graph.inputs, *graph.state]]
        if binders:
            self.lines.append(f"{indent}^bb0({', '.join(binders)}):")
        for operation in graph.operations:
            self.operation(operation, indent + "  ")
        results = _results(graph)
        uses = self.uses(results, indent + "  ")
        self.lines.append(f'{indent}  "{terminator}"({uses}) : ({_types(results)}) -> ()')

    def operation(self, operation: Operation, indent: str) -> None:
        uses = self.uses(operation.operands, indent)
        results = ", ".join([self.define(value) for value in operation.results])
        name = _string(f"tracejit.{operation.name}")
        head = f"{indent}{f'{results} = ' if results else ''}{name}({uses})"
        tail = f"{_attributes(operation)} : ({_types(operation.operands)}) -> ({_types(operation.results)})"
        if operation.regions:
            self.lines.append(f"{head} ({{")
            self.regions(operation.regions, indent)
            head = f"{indent}}})"
        self.lines.append(f"{head}{tail}{_location(operation.location)}")

    def regions(self, regions: Sequence[Graph], indent: str) -> None:
        for place, region in enumerate(regions):
            if place:
                self.lines.append(f"{indent}}}, {{")
            self.block(region, "tracejit.return", indent)

    def uses(self, values: Sequence[Value], indent: str) -> str:
        """Return the names of operands, after an operation for each literal among them."""
        return ", ".join(
            [self.literal(value, indent) if isinstance(value, Literal) else self.names[id(value)] for value in values]
        )

    def literal(self, literal: Literal, indent: str) -> str:
        name = self.number()
        value, type_ = _attribute(literal.value), _type(literal.type)
        self.lines.append(f'{indent}{name} = "tracejit.literal"() {{value = {value}}} : () -> ({type_})')
        return name


def _type(type_: Type) -> str:
    if not isinstance(type_, TensorType):
        return f"!tracejit.{type_.kind}"
    return f"tensor<{''.join([f'{length}x' for length in type_.shape])}{type_.dtype.mlir}>"


def _types(values: Sequence[Value]) -> str:
    return ", ".join([_type(value.type) for value in values])


def _location(location: Location | None) -> str:
    return f" loc({_string(location.file)}:{max(location.line, 0)}:0)" if location is not None else ""


# ---- attributes ----


def _attributes(operation: Operation) -> str:
    pairs = [f"{_key(name)} = {_attribute(value)}" for name, value in operation.attributes.items()]
    if operation.policy != DEFAULT_POLICY:
        pairs.append(f"tracejit.policy = {_string(operation.policy)}")
    if operation.regions:
        pairs.append(f"tracejit.regions = [{', '.join(map(_signature, operation.regions))}]")
    return f" {{{', '.join(pairs)}}}" if pairs else ""


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _string(name)


def _string(text: str) -> str:
    """Return a string of MLIR: UTF-8 in double quotes, bytes other than printable ASCII as two hexadecimal digits."""
    data = text.encode("utf-8", "surrogatepass")
    plain = [chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\{byte:02X}" for byte in data]
    return f'"{"".join(plain)}"'


def _attribute(value: Any) -> str:
    if value is None:
        return "unit"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{_integer(value)} : i{max(64, value.bit_length() + 1)}"
    if isinstance(value, float):
        return f"{_float(value)} : f64"
    if isinstance(value, complex):
        return f"[{_attribute(value.real)}, {_attribute(value.imag)}]"
    if isinstance(value, str):
        return _string(value)
    return _compound_attribute(value)


def _compound_attribute(value: Any) -> str:
    if isinstance(value, DType):
        return value.mlir
    if isinstance(value, tuple):
        return f"[{', '.join(map(_attribute, value))}]"
    if isinstance(value, np.ndarray):
        return _dense(value)
    raise TypeError(f"{value.__class__.__name__} is no type of attributes: {value!r}")


def _integer(value: int) -> str:
    return str(value) if value.bit_length() <= 256 else hex(value)


def _float(value: float) -> str:
    """Return a float with the point that MLIR asks for; infinities and NaNs by their bits."""
    if not math.isfinite(value):
        return f"0x{np.float64(value).view(np.uint64):016X}"
    return _pointed(repr(value))


def _pointed(word: str) -> str:
    number, mark, exponent = word.partition("e")
    return f"{number}{'' if '.' in number else '.0'}{mark}{exponent}"


def _dense(array: np.ndarray) -> str:
    dtype = as_dtype(array.dtype)
    return f"dense<{_elements(array.astype(dtype.numpy), dtype)}> : {_type(TensorType(dtype, array.shape))}"


def _elements(array: np.ndarray, dtype: DType) -> str:
    """Return what stands in `dense<…>`. An array of booleans is always spelled out: packing its bytes is MLIR's."""
    if array.size == 0:
        return ""
    array = splat_or_same(array)
    if dtype.kind == "bool":
        return nest([str(bool(element)).lower() for element in array.flat], array.shape)
    words = _words(array, dtype)
    return nest(words, array.shape) if words is not None else f'"0x{array.tobytes().hex().upper()}"'


def _words(array: np.ndarray, dtype: DType) -> list[str] | None:
    """Return the elements in decimal; None where they are too many or not finite."""
    if dtype.kind == "complex":
        parts = array.reshape(-1).view(f"f{dtype.itemsize // 2}")
        words = _words(parts, as_dtype(parts.dtype))
        return words and [f"({real}, {imaginary})" for real, imaginary in zip(words[::2], words[1::2], strict=True)]
    words = decimal_words(array)
    if words is None or dtype.kind != "float":
        return words
    return None if any("n" in word for word in words) else list(map(_pointed, words))  # nan, inf
