"""Graphs as text: what is printed, that it parses back, that MLIR reads the generic form, what is said of bad text."""

from __future__ import annotations

import contextlib
import html.parser
import os
import re
import time
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxlib.mlir import ir as mlir
from jaxlib.mlir.dialects import func

from tracejit.dtypes import ALL, DType, bool_, float32, int32, uint8
from tracejit.errors import GraphSyntaxError, TracejitError
from tracejit.ir import SCALAR_TYPES, Graph, Literal, Operation, TensorType, Value, same_attribute
from tracejit.locations import Location
from tracejit.mlir import mlir_of_graph
from tracejit.parser import parse_graph
from tracejit.printer import (
    html_of_graph,
    mark_operation,
    print_graph,
    print_operation,
    quote,
    spell_attribute,
    spell_value,
)

# ---- samples ----


def value(name: str | None, dtype: DType = float32, *shape: int) -> Value:
    return Value(TensorType(dtype, shape), name=name)


def at(line: int, text: str = "") -> Location:
    return Location.of_line("/home/somebody/digits.py", line, text)


def step_graph() -> Graph:
    x, lr, w, b = (
        value("x", uint8, 32, 64),
        Value(SCALAR_TYPES["float"], name="lr"),
        value("w", float32, 64, 10),
        value("b"),
    )
    line = at(42, "logits = x @ w + b")
    attributes = {"dtype": float32, "rule": "tensor-tensor"}
    cast = Operation("cast", [x], [TensorType(float32, (32, 64))], attributes=attributes, location=line)
    matmul = Operation("matmul", [cast.result, w], [TensorType(float32, (32, 10))], location=line)
    scale = Operation("mul", [lr, Literal(2.5)], [lr.type])
    types = [TensorType(float32, (32, 3)), TensorType(int32, (32, 3))]
    topk = Operation("topk", [matmul.result], types, attributes={"k": 3}, policy="strict", location=at(44))
    decay = Operation("mul", [w, scale.result], [w.type], location=at(45, "w *= lr * 2.5"))
    operations = [cast, matmul, scale, topk, decay]
    return Graph("step", [x, lr], [w, b], operations, topk.results, [decay.result, b], at(40))


STEP = """\
graph @step(%x: u8[32,64], %lr: float; %w: f32[64,10], %b: f32[]) {  // digits.py:40
  %0 = cast %x {dtype = f32, rule = "tensor-tensor"} : f32[32,64]    // digits.py:42  logits = x @ w + b
  %1 = matmul %0, %w : f32[32,10]                                    // digits.py:42  logits = x @ w + b
  %2 = mul %lr, 2.5 : float
  %3, %4 = topk[strict] %1 {k = 3} : f32[32,3], i32[32,3]            // digits.py:44
  %5 = mul %w, %2 : f32[64,10]                                       // digits.py:45  w *= lr * 2.5
  return %3, %4; %w = %5
}"""


def cond_graph() -> Graph:
    p, a = value("p", bool_), value("a", float32, 4)
    then, other = (value(name, float32, 4) for name in "ax")
    negated = Operation("neg", [other], [a.type], location=at(8, "return -x"))
    regions = [Graph("<lambda>", [then], outputs=[then]), Graph("orelse", [other], [], [negated], [negated.result])]
    cond = Operation("cond", [p, a], [a.type], regions=regions, location=at(9, "tracejit.cond(p, f, g, a)"))
    return Graph("choose", [p, a], [], [cond], [cond.result])


COND = """\
graph @choose(%p: b1[], %a: f32[4]) {
  %0 = cond %p, %a : f32[4]  // digits.py:9  tracejit.cond(p, f, g, a)
    region @"<lambda>"(%a: f32[4]) {
      return %a
    }
    region @orelse(%x: f32[4]) {
      %0 = neg %x : f32[4]   // digits.py:8  return -x
      return %0
    }
  return %0
}"""


def with_attribute(attribute: Any) -> Graph:
    return Graph("f", operations=[Operation("constant", [], [], attributes={"value": attribute})])


def facts(graph: Graph) -> list[Any]:
    """Return what the text keeps and equality leaves out: names and locations."""

    def place(location: Location | None) -> tuple[str, int, str] | None:
        return location and (os.path.basename(location.file) or location.file, location.line, location.text)

    regions = [facts(region) for operation in graph.operations for region in operation.regions]
    places = [place(graph.location), *[place(operation.location) for operation in graph.operations]]
    return [graph.name, [value.name for value in graph.values()], places, regions]


def check_round_trip(graph: Graph) -> None:
    text = print_graph(graph)
    again = parse_graph(text)
    assert again == graph
    assert facts(again) == facts(graph)
    assert print_graph(again) == text


def mlir_module(graph: Graph) -> mlir.Module:
    context = mlir.Context()
    context.allow_unregistered_dialects = True
    with context:
        module = mlir.Module.parse(mlir_of_graph(graph))
        assert module.operation.verify()
        return module


def mlir_attribute(attribute: Any) -> mlir.Attribute:
    module = mlir_module(with_attribute(attribute))
    return module.body.operations[0].regions[0].blocks[0].operations[0].attributes["value"]


# ---- what is printed ----


@pytest.mark.parametrize(("graph", "text"), [(step_graph(), STEP), (cond_graph(), COND)])
def test_printed_text(graph: Graph, text: str) -> None:
    assert print_graph(graph) == text == str(graph)
    check_round_trip(graph)


def test_locations_can_be_left_out() -> None:
    text = print_graph(step_graph(), locations=False)
    assert text == re.sub(" *//.*", "", STEP)
    assert parse_graph(text) == step_graph()


def test_long_signatures_take_a_line_for_each_value() -> None:
    state = [value(f"layers.{i}.weight", float32, 128, 128) for i in range(6)]
    new = [Operation("add", [w, Literal(1)], [w.type]) for w in state]
    results = [operation.result for operation in new]
    graph = Graph("f", [value("x")], state, new, [], results, at(3))
    lines = print_graph(graph).splitlines()
    assert lines[:3] == ["graph @f(", "    %x: f32[];", "    %layers.0.weight: f32[128,128],"]
    assert lines[7].split("//")[0].rstrip() == "    %layers.5.weight: f32[128,128]"
    assert lines[8].endswith("// digits.py:3")
    assert lines[-8:-5] == ["  return;", "      %layers.0.weight = %0,", "      %layers.1.weight = %1,"]
    check_round_trip(graph)


@pytest.mark.parametrize(
    ("inputs", "state", "outputs", "text"),
    [
        ("", "", "", "graph @f() {\n  return\n}"),
        ("a", "", "a", "graph @f(%a: f32[]) {\n  return %a\n}"),
        ("", "w", "", "graph @f(; %w: f32[]) {\n  return\n}"),
        ("a", "w", "", "graph @f(%a: f32[]; %w: f32[]) {\n  return; %w = %a\n}"),
        ("a", "w", "w", "graph @f(%a: f32[]; %w: f32[]) {\n  return %w; %w = %a\n}"),
    ],
)
def test_inputs_state_and_outputs(inputs: str, state: str, outputs: str, text: str) -> None:
    values = {name: value(name) for name in inputs + state}
    taken, kept, given_back = ([values[name] for name in names] for names in (inputs, state, outputs))
    graph = Graph("f", taken, kept, [], given_back, [values["a"]] if "%w = %a" in text else None)
    assert print_graph(graph) == text
    check_round_trip(graph)


@pytest.mark.parametrize(
    ("names", "printed"),
    [
        (["x", "lr"], ["%x", "%lr"]),
        ([None, "x", None], ["%0", "%x", "%1"]),
        (["x", "x", "x"], ["%x", "%x#1", "%x#2"]),
        (["x", "x#1", "x"], ["%x", '%"x#1"', "%x#1"]),
        (["0.weight", "layer.0.weight"], ["%0.weight", "%layer.0.weight"]),
        (["0", None], ['%"0"', "%0"]),
        (["", "a b", 'a"b', "a\nb", "größe"], ['%""', '%"a b"', '%"a\\"b"', '%"a\\nb"', "%größe"]),
        (["a b", "a b"], ['%"a b"', '%"a b"#1']),
        (["%x", "x: f32[4]", "//"], ['%"%x"', '%"x: f32[4]"', '%"//"']),
    ],
)
def test_names_of_values(names: list[str | None], printed: list[str]) -> None:
    inputs = [value(name) for name in names]
    graph = Graph("f", inputs, outputs=inputs[::-1])
    assert print_graph(graph).splitlines()[0] == f"graph @f({', '.join([f'{name}: f32[]' for name in printed])}) {{"
    check_round_trip(graph)
    mlir_module(graph)


@pytest.mark.parametrize(
    "name", ["return", "region", "graph", "nan", "inf", "dense", "True", "f32", "int", "a b", "", "é", "\n"]
)
def test_any_word_names_a_graph_an_operator_an_attribute_and_a_policy(name: str) -> None:
    operations = [Operation(name, [], [], attributes={name: 1}), Operation(name, [], [], policy=name)]
    operations += [Operation(name, [Literal(True)], []), Operation("a", [], [], policy=name)]
    check_round_trip(Graph(name, operations=operations))


def test_the_first_line_names_the_policy_of_most_operations() -> None:
    policies = ["numpy1", "strict", "numpy1"]
    graph = Graph("f", operations=[Operation("a", [], [], policy=policy) for policy in policies])
    assert print_graph(graph) == "graph @f[numpy1]() {\n  a\n  a[strict]\n  a\n  return\n}"
    check_round_trip(graph)
    inner = Graph("g", operations=[Operation("b", [], []), Operation("b", [], [], policy="numpy1")])
    outer = Graph("f", operations=[Operation("a", [], [], policy="numpy1", regions=[inner])])
    assert "    region @g() {\n      b[mindspore]\n      b\n" in print_graph(outer)
    check_round_trip(outer)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (3, "3"),
        (-3, "-3"),
        (True, "True"),
        (False, "False"),
        (2.5, "2.5"),
        (3.0, "3.0"),
        (-0.0, "-0.0"),
        (1e300, "1e+300"),
        (5e-324, "5e-324"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (1 + 2j, "(1+2j)"),
        (-2j, "(-0-2j)"),
        (complex("nan+infj"), "(nan+infj)"),
        (complex(0, float("nan")), "nanj"),
        (1j, "1j"),
        (2**64, "18446744073709551616"),
        (2**300, "0x1" + "0" * 75),
        pytest.param(-(10**5000), hex(-(10**5000)), id="huge"),
    ],
)
def test_literals(number: complex, text: str) -> None:
    graph = Graph("f", operations=[Operation("neg", [Literal(number)], [])], outputs=[Literal(number)])
    assert print_graph(graph) == f"graph @f() {{\n  neg {text}\n  return {text}\n}}"
    check_round_trip(graph)
    mlir_module(graph)


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        (None, "None"),
        ("mean", '"mean"'),
        ('a "b" \\', '"a \\"b\\" \\\\"'),
        ("// a\nb\t\x00\u2028\ud800é", '"// a\\nb\\t\\x00\\u2028\\ud800é"'),
        (float32, "f32"),
        (bool_, "b1"),
        ((), "()"),
        ((1,), "(1,)"),
        ((1j,), "(1j,)"),
        ((1, (2.0, ("a", None)), float32), '(1, (2.0, ("a", None)), f32)'),
        (np.array([1, 2, 3], np.int32), "dense<[1, 2, 3]> : i32[3]"),
        (np.array([[1, 2], [3, 4]], np.uint64), "dense<[[1, 2], [3, 4]]> : u64[2,2]"),
        (np.array([0.1, -0.0, np.inf, np.nan], np.float32), "dense<[0.1, -0.0, inf, nan]> : f32[4]"),
        (np.array([0.5, 3], ml_dtypes.bfloat16), "dense<[0.5, 3]> : bf16[2]"),
        (np.array([True, False]), "dense<[True, False]> : b1[2]"),
        (np.array([1 + 2j, 3j], np.complex64), "dense<[(1+2j), 3j]> : c64[2]"),
        (np.array(2.5, np.float32), "dense<2.5> : f32[]"),
        (np.zeros((0, 3), np.float64), "dense<> : f64[0,3]"),
        (np.full((1000, 1000), 7, np.uint8), "dense<7> : u8[1000,1000]"),
        (np.array([0x7FC00001, 1], np.uint32).view(np.float32), 'dense<"0x0100c07f01000000"> : f32[2]'),
        (np.full(9, 0xFFC00001, np.uint32).view(np.float32), 'dense<"0x0100c0ff"> : f32[9]'),
        (np.arange(33, dtype=np.uint8), f'dense<"0x{bytes(range(33)).hex()}"> : u8[33]'),
        (np.asfortranarray([[1, 2], [3, 4]]), "dense<[[1, 2], [3, 4]]> : i64[2,2]"),
    ],
)
def test_attributes(attribute: Any, text: str) -> None:
    graph = with_attribute(attribute)
    assert spell_attribute(attribute) == text
    assert print_graph(graph).splitlines()[1] == f"  constant {{value = {text}}}"
    check_round_trip(graph)
    mlir_module(graph)


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3), (2, 0), (5000,)], ids=str)
def test_arrays_of_every_dtype(dtype: DType, shape: tuple[int, ...]) -> None:
    data = np.random.default_rng(7).bytes(int(np.prod(shape)) * dtype.itemsize)
    array = np.frombuffer(data, np.uint8)
    array = (array % 2).view(bool) if dtype is bool_ else array.view(dtype.numpy)
    for content in (array, np.ones_like(array), np.zeros_like(array)):
        graph = with_attribute(content.reshape(shape))
        check_round_trip(graph)
        mlir_module(graph)


@pytest.mark.parametrize(
    ("dtype", "bits"), [("f4", 0x7F800001), ("f2", 0x7C01), ("f8", 0x7FF0000000000001), ("V2", 0x7F81)]
)
def test_signalling_nans_survive(dtype: str, bits: int) -> None:
    quiet = np.array([bits, bits + 1, 3], f"u{dtype[1]}").view(ml_dtypes.bfloat16 if dtype == "V2" else dtype)
    for array in (quiet, quiet[:1], quiet[:2].view("c8") if dtype == "f4" else quiet[2:]):
        check_round_trip(with_attribute(array))
        mlir_module(with_attribute(array))


def test_parsed_arrays_can_be_written() -> None:
    for text in ("<[1, 2]> : i8[2]", '<"0x0102"> : i8[2]', "<1> : i8[2]"):
        graph = parse_graph(f"graph @f() {{\n  a {{value = dense{text}}}\n  return\n}}")
        assert graph.operations[0].attributes["value"].flags.writeable


@pytest.mark.parametrize(
    ("file", "text", "printed"),
    [
        ("/home/me/model.py", "y = x + 1", "// model.py:7  y = x + 1"),
        ("<stdin>", "", "// <stdin>:7"),
        ("<ipython-input-3-ab>", "x // y  // z", "// <ipython-input-3-ab>:7  x // y  // z"),
        ("/a/my model.py", "a", '// "my model.py":7  a'),
        ('we"ird:\n', "a", '// "we\\"ird:\\n":7  a'),
        ("", "a", '// "":7  a'),
        ("a.py", '"docstring"', '// a.py:7  "\\"docstring\\""'),
        ("a.py", '"a" + "b', '// a.py:7  "\\"a\\" + \\"b"'),
        ("a.py", "x = f(  # %0 = add }", "// a.py:7  x = f(  # %0 = add }"),
        ("a.py", "a\nb", '// a.py:7  "a\\nb"'),
        ("a.py", "  indented\t", '// a.py:7  "  indented\\t"'),
        ("a.py", "schöne Größe 🙂", "// a.py:7  schöne Größe 🙂"),
        ("a.py", "evil\u202e\u2028\r\x0c", '// a.py:7  "evil\\u202e\\u2028\\r\\x0c"'),
    ],
)
def test_locations(file: str, text: str, printed: str) -> None:
    graph = Graph("f", operations=[Operation("a", [], [], location=Location.of_line(file, 7, text))])
    assert print_graph(graph).splitlines()[1] == f"  a  {printed}"
    check_round_trip(graph)
    mlir_module(graph)


# ---- the laws ----

NASTY = st.sampled_from(
    ['"', "\\", "//", "x", "0", "%0", "a b", "\n", "\ud800", "nan", "return", "<lambda>", "a.py:3  b"]
)
TEXTS = st.one_of(NASTY, st.text(st.characters(), max_size=6))
TYPES = st.one_of(
    st.builds(TensorType, st.sampled_from(ALL), st.lists(st.integers(0, 5), max_size=3)),
    st.sampled_from(list(SCALAR_TYPES.values())),
)
FLOATS = st.floats()
NUMBERS = st.one_of(
    st.booleans(),
    st.integers(),
    st.integers(4999, 5001).map(lambda digits: -(10**digits)),
    FLOATS,
    st.builds(complex, FLOATS, FLOATS),
)
LITERALS = st.builds(Literal, NUMBERS)
LOCATIONS = st.none() | st.builds(Location.of_line, TEXTS, st.integers(0, 10**6), TEXTS)
POLICIES = st.one_of(st.sampled_from(["mindspore", "mindspore", "numpy1", "strict"]), TEXTS)
VALUES = st.builds(Value, TYPES, name=st.none() | TEXTS)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    dtype = draw(st.sampled_from(ALL))
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    size = int(np.prod(shape, dtype=int)) * dtype.itemsize
    data = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), np.uint8)
    return ((data % 2).view(bool) if dtype is bool_ else data.view(dtype.numpy)).reshape(shape)


ATTRIBUTES = st.recursive(
    st.one_of(st.none(), NUMBERS, TEXTS, st.sampled_from(ALL), arrays()),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@st.composite
def graphs(draw: st.DrawFn, depth: int = 2) -> Graph:
    inputs, state = draw(st.lists(VALUES, max_size=3)), draw(st.lists(VALUES, max_size=3))
    known = [*inputs, *state]
    operations = []
    for _ in range(draw(st.integers(0, 3))):
        operands = draw(st.lists(st.sampled_from(known) | LITERALS if known else LITERALS, max_size=3))
        operation = Operation(
            draw(TEXTS),
            operands,
            draw(st.lists(TYPES, max_size=2)),
            attributes=draw(st.dictionaries(TEXTS, ATTRIBUTES, max_size=2)),
            regions=draw(st.lists(graphs(depth - 1), max_size=2)) if depth else (),
            location=draw(LOCATIONS),
            policy=draw(POLICIES),
        )
        operations.append(operation)
        known += operation.results
    uses = st.sampled_from(known) | LITERALS if known else LITERALS
    new_state = [draw(st.just(old) | uses) for old in state]
    return Graph(draw(TEXTS), inputs, state, operations, draw(st.lists(uses, max_size=3)), new_state, draw(LOCATIONS))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(graphs())
def test_a_graph_survives_printing_and_parsing(graph: Graph) -> None:
    check_round_trip(graph)
    assert parse_graph(print_graph(graph, locations=False)) == graph


@settings(derandomize=True, max_examples=150, deadline=None)
@given(ATTRIBUTES)
def test_an_attribute_survives_printing_and_parsing(attribute: Any) -> None:
    graph = parse_graph(print_graph(with_attribute(attribute)))
    assert same_attribute(graph.operations[0].attributes["value"], attribute)


@settings(derandomize=True, max_examples=30, deadline=None)
@given(graphs())
def test_mlir_reads_every_graph(graph: Graph) -> None:
    for operation in graph.walk():  # MLIR has no attribute without a name, and no zero in an operator's
        operation.name = operation.name.replace("\0", "")
        operation.attributes = {f"a{name}": content for name, content in operation.attributes.items()}
    mlir_module(graph)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(graphs(), st.data())
def test_damaged_text_parses_or_is_a_graph_syntax_error(graph: Graph, data: st.DataObject) -> None:
    text = print_graph(graph)
    start = data.draw(st.integers(0, len(text) - 1))
    piece = data.draw(
        st.sampled_from(["", "%0", "{", ")", "dense<", '"', "1", ",", "\n", "f32[2]", "return", "@f", "#"])
    )
    with contextlib.suppress(GraphSyntaxError):
        parse_graph(text[:start] + piece + text[start + data.draw(st.integers(0, 3)) :])


# ---- text written by hand ----


def test_layout_and_comments_are_free() -> None:
    graph = parse_graph(
        """
    // a comment, then a location of nothing:
    // a.py:1  nothing
    graph @step ( %x : u8[32, 64] , // a.py:2  nothing
        %"lr": float; %w: f32[64,10],
        %b: f32[ ] )  // why
    {   // digits.py:40
      %cast = cast %x { dtype = f32,
                        rule = "tensor-tensor" }
        : f32[32,64] // digits.py:42    logits = x @ w + b\t
      // a.py:3  nothing
      %1 = matmul %cast,
          %w : f32[32,10]   // digits.py:42  "logits = x @ w + b"
      %2 = mul %lr, 2.5 : float // not a location: 3
      // a.py:3rd
      %first, %second = topk["strict"] %1 {k = 3,} : f32[32,3], i32[32,3]   // digits.py:44
      %5 = mul %"w", %2 : f32[64,10]   // digits.py:45  w *= lr * 2.5
      return %first, %second; %w = %5   // a.py:3  nothing
    }  // end
    """.replace("3,}", "3}").replace("\n", "\r\n")
    )
    assert graph == step_graph()
    again = facts(graph)
    assert again[0] == "step"
    assert again[1] == ["x", "lr", "w", "b", "cast", None, None, "first", "second", None]
    assert again[2] == facts(step_graph())[2]


def test_names_can_be_chosen_for_results() -> None:
    graph = parse_graph("graph @f() {\n  %total, %total#1 = sum : f32[], f32[]\n  return %total#1\n}")
    assert [result.name for result in graph.operations[0].results] == ["total", "total"]
    assert graph.outputs == [graph.operations[0].results[1]]
    check_round_trip(graph)


def body(*lines: str) -> str:
    return "\n".join(["graph @f(%x: f32[4]; %w: f32[4]) {", *lines, "  return %x", "}"])


ERRORS = [
    ("", "expected `graph`, found the end of the text", "", 0),
    ("step(%x)", "expected `graph`, found `step`: line 1, column 1", "step(%x)", 0),
    ("graph step()", "expected the Graph's name, as in `@step`, found `step`", "graph step()", 6),
    ("graph @f(%x)", "expected `:` and a type, found `)`", "graph @f(%x)", 11),
    ("graph @f(x: f32[])", "expected a value, as in `%x: f32[4]`, found `x`", "graph @f(x: f32[])", 9),
    ("graph @f(%x: f33[4])", "f33 is no dtype", "graph @f(%x: f33[4])", 13),
    ("graph @f(%x: f32[4,,2])", "expected lengths with a comma between them", "graph @f(%x: f32[4,,2])", 13),
    ("graph @f(%x: f32)", "expected a type, as in `f32[4,2]` or `float`, found `f32`", "graph @f(%x: f32)", 13),
    ("graph @f(%x: int, %x: int)", "%x is defined twice", "graph @f(%x: int, %x: int)", 18),
    ('graph @f(%x: int, %"x": int)', '%"x" is defined twice', 'graph @f(%x: int, %"x": int)', 18),
    ("graph @f(%x: int {", "expected `)`, found `{`", "graph @f(%x: int {", 17),
    ("graph @f[] {", "expected a policy's name, found `]`", "graph @f[] {", 9),
    ("graph @f() {", "expected an operation or `return`, found the end of the text", "graph @f() {", 12),
    ("graph @f() {\n  return\n} }", "expected the end of the text, found `}`: line 3, column 3", "} }", 2),
    ("graph @f(%x: int) {\n  return; %x = 1\n}", "%x is no state of this Graph", "  return; %x = 1", 10),
    ("graph @f(;%w: int) {\n  return; %w\n}", "expected `=` and the new value, found `}`: line 3", "}", 0),
    ("graph @f() {\n  return 1 2\n}", "expected `}`, found `2`", "  return 1 2", 11),
    (body("  %0 = add %x, %y : f32[4]"), "%y is not defined here: line 2, column 16", "  %0 = add %x, %y : f32[4]", 15),
    (body("  %0 = add %x %x : int"), "expected `,` or the end of the line, found `%x`", None, 14),
    (body("  %0 = add %x, : f32[4]"), "expected a value or a number, found `:`", "  %0 = add %x, : f32[4]", 15),
    (body("  %0 add %x : f32[4]"), "expected `=`, found `add`", "  %0 add %x : f32[4]", 5),
    (body("  %0 = %x"), "expected an operator's name, found `%x`", "  %0 = %x", 7),
    (body("  %0 = add %x : }"), "expected a type, as in `f32[4,2]` or `float`, found `}`", "  %0 = add %x : }", 16),
    (body("  %0 = add %x"), "1 results, but 0 types: line 3, column 3", "  return %x", 2),
    (body("  add %x : f32[4]"), "0 results, but 1 types", "  add %x : f32[4]", 9),
    (body("  %0, %1 = add : int"), "2 results, but 1 types", "  %0, %1 = add : int", 15),
    (body("  add {1 = 2}"), "expected an attribute's name, found `1`", "  add {1 = 2}", 7),
    (body("  add {a 2}"), "expected `=`, found `2`", "  add {a 2}", 9),
    (body("  add {a = 1, a = 2}"), "attribute a is given twice", "  add {a = 1, a = 2}", 14),
    (body("  add {a = x}"), "expected an attribute: a number, string, dtype, None", "  add {a = x}", 11),
    (body("  add {a = <list>}"), "found `<`", "  add {a = <list>}", 11),
    (body("  add {a = 1"), "expected `}` or `,`, found `return`: line 3", "  return %x", 2),
    (body("  add {a = (1, 2}"), "expected `)` or `,`, found `}`", "  add {a = (1, 2}", 16),
    (body('  add {a = "b}'), 'found `"`', '  add {a = "b}', 11),
    (body('  add {a = "\\q"}'), 'found `"`', '  add {a = "\\q"}', 11),
    (body('  add {a = "\\Uffffffff"}'), "an escape beyond the last character", '  add {a = "\\Uffffffff"}', 11),
    (body("  add 1e5.3"), "expected `,` or the end of the line", "  add 1e5.3", 6),
    (body("  add (1+2+3j)"), "`(1+2+3j)` is no number", "  add (1+2+3j)", 6),
    (body("  add {a = dense<[1, 2]> : i8[3]}"), "elements of shape [2] for an array of type i8[3]", None, 17),
    (body("  add {a = dense<[[1], [2]]> : i8[2]}"), "elements of shape [2, 1] for an array of type i8[2]", None, 17),
    (body("  add {a = dense<[[1], [2, 3]]> : i8[3]}"), "lists of different lengths in one array", None, 18),
    (body("  add {a = dense<[300]> : u8[1]}"), "elements that an array of type u8[1] cannot hold", None, 17),
    (body("  add {a = dense<[2.5]> : u8[1]}"), "elements that an array of type u8[1] cannot hold", None, 17),
    (body("  add {a = dense<[1]> : b1[1]}"), "elements that an array of type b1[1] cannot hold", None, 17),
    (body("  add {a = dense<> : u8[1]}"), "0 elements for an array of type u8[1]", None, 17),
    (body("  add {a = dense<[%x]> : u8[1]}"), "expected an element or `[`, found `%x`", None, 18),
    (body("  add {a = dense<[1> : u8[1]}"), "expected `]` or `,`, found `>`", None, 19),
    (body("  add {a = dense<1> : float}"), "expected the type of an array, as in `f32[4]`, found `float`", None, 22),
    (body('  add {a = dense<"0x01"> : u16[1]}'), "no whole elements of u16[1] in hexadecimal", None, 17),
    (body('  add {a = dense<"0x0101"> : u8[3]}'), "2 elements for an array of type u8[3]", None, 17),
    (body('  add {a = dense<"abc"> : u8[3]}'), "no whole elements of u8[3] in hexadecimal", None, 17),
    (body("  add", "  region @g() {", "  return %x", "  }"), "%x is not defined here: line 4", "  return %x", 9),
    (body("  add {a = " + "(" * 5000), "more levels of nesting than can be read", "", -1),
    (body("  add {a = dense<1> : f32[9999999999999]}"), "f32[9999999999999] is more than an array can hold", None, 22),
    (body("  add {a = dense<1> : f32[" + "1," * 99 + "1]}"), "is more than an array can hold", "", -1),
    (body("  add ?"), "found `?`", "  add ?", 6),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "line", "column"), ERRORS)
def test_syntax_errors_show_the_line_and_what_was_expected(
    text: str, message: str, line: str | None, column: int
) -> None:
    with pytest.raises(GraphSyntaxError) as caught:
        parse_graph(text)
    shown = str(caught.value).splitlines()
    assert message in shown[0]
    assert shown[1] == f"    {text.splitlines()[1] if line is None else line}".rstrip() or not line
    assert shown[2] == f"{' ' * (4 + column)}^" or column < 0
    assert isinstance(caught.value, SyntaxError)
    assert isinstance(caught.value, TracejitError)


def test_an_error_suggests_the_name_that_was_meant() -> None:
    with pytest.raises(GraphSyntaxError, match=r"is %weight meant\?"):
        parse_graph("graph @f(%weight: int) {\n  return %wieght\n}")


def test_an_error_in_a_long_line_shows_the_part_around_it() -> None:
    line = "  add {a = (" + "1, " * 3000 + "?" + ", 1" * 3000 + ")}"
    with pytest.raises(GraphSyntaxError) as caught:
        parse_graph(body(line))
    _, shown, mark = str(caught.value).splitlines()[:3]
    assert len(shown) < 120
    assert shown[mark.index("^")] == "?"


# ---- MLIR ----


def test_mlir_keeps_what_the_graph_says() -> None:
    module = mlir_module(step_graph())
    (function,) = module.body.operations
    assert mlir.StringAttr(function.attributes["sym_name"]).value == "step"
    assert str(function.attributes["function_type"]) == (
        "(tensor<32x64xui8>, !tracejit.float, tensor<64x10xf32>, tensor<f32>) -> "
        "(tensor<32x3xf32>, tensor<32x3xi32>, tensor<64x10xf32>)"
    )
    assert str(function.attributes["tracejit.graph"]) == (
        '{inputs = ["x", "lr"], name = "step", state = ["w", "b"], written = [0]}'
    )
    operations = list(function.regions[0].blocks[0].operations)
    assert [operation.operation.name for operation in operations] == [
        f"{'func' if name == 'return' else 'tracejit'}.{name}"
        for name in ("cast", "matmul", "literal", "mul", "topk", "mul", "return")
    ]
    cast, topk = operations[0], operations[4]
    assert str(cast.attributes["dtype"]) == "f32"
    assert str(cast.location) == 'loc("/home/somebody/digits.py":42:0)'
    assert mlir.StringAttr(topk.attributes["tracejit.policy"]).value == "strict"
    assert [str(result.type) for result in topk.results] == ["tensor<32x3xf32>", "tensor<32x3xi32>"]


def test_mlir_keeps_regions() -> None:
    module = mlir_module(cond_graph())
    (function,) = module.body.operations
    cond = function.regions[0].blocks[0].operations[0]
    assert len(cond.operation.regions) == 2
    assert [str(region.blocks[0].arguments[0].type) for region in cond.operation.regions] == ["tensor<4xf32>"] * 2
    names = [str(mlir.DictAttr(signature)["name"]) for signature in mlir.ArrayAttr(cond.attributes["tracejit.regions"])]
    assert names == ['"<lambda>"', '"orelse"']


def test_mlir_function_is_a_valid_one_where_functions_are_known() -> None:
    for graph in (step_graph(), cond_graph(), Graph("empty")):
        with mlir.Context() as context:
            context.load_all_available_dialects()
            context.allow_unregistered_dialects = True
            module = mlir.Module.parse(mlir_of_graph(graph))
            assert isinstance(module.body.operations[0], func.FuncOp)
            assert module.operation.verify()


@pytest.mark.parametrize("number", [0.1, -0.0, 1e22, 5e-324, 1.7976931348623157e308, float("inf"), float("nan")])
def test_mlir_floats_are_exact(number: float) -> None:
    assert same_attribute(mlir.FloatAttr(mlir_attribute(number)).value, number)


@pytest.mark.parametrize("text", ["plain", 'a "b" \\ c', "\n\t\x00", "größe 🙂"])
def test_mlir_strings_are_exact(text: str) -> None:
    assert mlir.StringAttr(mlir_attribute(text)).value_bytes == text.encode()


@pytest.mark.parametrize("dtype", [dtype for dtype in ALL if dtype.kind in ("int", "uint", "float")], ids=str)
def test_mlir_arrays_are_exact(dtype: DType) -> None:
    data = np.random.default_rng(3).bytes(6 * dtype.itemsize)
    for array in (np.frombuffer(data, dtype.numpy).reshape(2, 3), np.array([0, 1, 2.5, 100], dtype.numpy)):
        read = mlir_attribute(array)
        with read.context:  # attributes are unique in a context: equal ones have the same bytes
            assert mlir.Attribute.parse(f'dense<"0x{array.tobytes().hex()}"> : {read.type}') == read


def test_mlir_refuses_what_is_no_attribute() -> None:
    with pytest.raises(TypeError, match="list is no type of attributes"):
        mlir_of_graph(with_attribute([1, 2]))


# ---- HTML, messages, broken Graphs ----


class Page(html.parser.HTMLParser):
    """Collects the text and the titles of a page, and checks that every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.titles, self.open = "", [], []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.titles += [content for name, content in attrs if name == "title"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read_page(graph: Graph) -> Page:
    page = Page()
    page.feed(html_of_graph(graph))
    page.close()
    assert page.open == []
    return page


def test_html_shows_the_text_and_explains_casts() -> None:
    page = read_page(step_graph())
    assert page.text == STEP
    assert page.titles == ['u8[32,64] to f32[32,64]\nrule "tensor-tensor"\ndigits.py:42  logits = x @ w + b']
    assert step_graph()._repr_html_() == html_of_graph(step_graph())


def test_html_is_escaped() -> None:
    evil = "</pre><script>alert('1')</script>\"&"
    location = Location.of_line(f"/a/{evil}.py", 3, evil)
    x = value(evil)
    operations = [Operation("cast", [x], [x.type], attributes={"rule": evil}, location=location, policy=evil)]
    graph = Graph(evil, [x], operations=operations)
    page = read_page(graph)
    assert page.text == print_graph(graph)
    assert "<script" not in html_of_graph(graph)
    assert quote(evil) in page.titles[0]


@settings(derandomize=True, max_examples=30, deadline=None)
@given(graphs())
def test_html_shows_the_text_of_every_graph(graph: Graph) -> None:
    assert read_page(graph).text == print_graph(graph, elide=True)


def test_long_arrays_can_be_elided() -> None:
    graph = with_attribute(np.arange(10**6))
    assert print_graph(graph, elide=True).splitlines()[1] == "  constant {value = dense<...> : i64[1000000]}"
    assert len(print_graph(graph)) > 16 * 10**6
    assert len(html_of_graph(graph)) < 1000
    with pytest.raises(GraphSyntaxError, match="expected an element"):
        parse_graph(print_graph(graph, elide=True))


def test_print_operation() -> None:
    graph = step_graph()
    topk = graph.operations[3]
    assert print_operation(topk, graph) == "%3, %4 = topk[strict] %1 {k = 3} : f32[32,3], i32[32,3]"
    assert print_operation(topk) == "%0, %1 = topk[strict] %? {k = 3} : f32[32,3], i32[32,3]"
    assert print_operation(graph.operations[4]) == "%0 = mul %w, %? : f32[64,10]"


def test_mark_operation() -> None:
    graph = cond_graph()
    (neg,) = graph.operations[0].regions[1].operations
    assert mark_operation(graph, neg, "defined twice", context=1) == "\n".join(
        [
            "  ...",
            "    region @orelse(%x: f32[4]) {",
            "      %0 = neg %x : f32[4]   // digits.py:8  return -x",
            "      ^^^^^^^^^^^^^^^^^^^^ defined twice",
            "      return %0",
            "  ...",
        ]
    )
    assert mark_operation(graph, graph.operations[0], "wrong").splitlines()[2] == "  ^^^^^^^^^^^^^^^^^^^^^^^^^ wrong"
    assert mark_operation(graph, None, "no output").splitlines()[-2:] == ["}", "^ no output"]
    assert len(mark_operation(graph, None, "no output").splitlines()) == 11


def test_broken_graphs_print_and_do_not_parse() -> None:
    unknown, named = value(None), value("z")
    broken = Operation("add", [unknown, named], [], attributes={"a": [1], "b": np.array(["s"]), "c": np.float32(1)})
    text = print_graph(Graph("f", operations=[broken], outputs=[unknown]))
    assert text.splitlines()[1:3] == ["  add %?, %?z {a = <list>, b = <ndarray>, c = <float32>}", "  return %?"]
    with pytest.raises(GraphSyntaxError):
        parse_graph(text)


# ---- size ----


def long_graph(count: int) -> Graph:
    x, w = value("x", float32, 32, 64), value("w", float32, 64, 64)
    operations, last = [], x
    for i in range(count):
        attributes = {"dtype": float32, "rule": "tensor-tensor", "axes": (0, 1)}
        step = Operation("matmul", [last, w], [x.type], attributes=attributes, location=at(i, "x = x @ w"))
        operations.append(step)
        last = step.result
    return Graph("long", [x], [w], operations, [last])


def test_ten_thousand_operations_take_seconds_at_most() -> None:
    graph = long_graph(10_000)
    start = time.perf_counter()
    text = print_graph(graph)
    printed = time.perf_counter()
    again = parse_graph(text)
    parsed = time.perf_counter()
    assert again == graph
    assert printed - start < 2
    assert parsed - printed < 10


def test_spell_value_is_what_the_parser_reads() -> None:
    assert [spell_value("x"), spell_value("x", 2), spell_value("7"), spell_value("a b", 1)] == [
        "%x",
        "%x#2",
        '%"7"',
        '%"a b"#1',
    ]
