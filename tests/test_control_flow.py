"""Structured control flow: every function eagerly, compiled, nested in others, with Parameters, and its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.agreement import agree, leaves, same, tensor
from tracejit import (
    Parameter,
    Tensor,
    check_indices,
    cond,
    fori_loop,
    grad,
    jit,
    ops,
    scan,
    switch,
    vmap,
    while_loop,
)
from tracejit.errors import (
    AttributeTypeError,
    DTypeError,
    EscapedValueError,
    GradientError,
    ImplicitCastError,
    IndexBoundsError,
    ParameterCastError,
    ShapeError,
    StateError,
    TraceError,
)
from tracejit.passes.casts import implicit_casts

X = tensor([1, 2, 3])


def parameter(values: Any = (1, 2, 3), dtype: str = "f4", name: str = "p") -> Parameter:
    return Parameter(tensor(values, dtype), name=name)


def region_of(function: Any, *args: Any) -> Any:
    """Return the operation of a traced function that has regions, promoted."""
    operations = jit(function).trace(*args).promoted.operations
    return next(operation for operation in operations if operation.regions)


# Branches


@pytest.mark.parametrize("sign", [1, -1])
def test_cond(sign: int):
    agree(
        lambda x: cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, x),
        X * sign,
        want=[2, 4, 6] if sign > 0 else [1, 2, 3],
    )
    agree(lambda x: cond(x.sum() > 0, lambda: x * 2, lambda: -x), X * sign)


def test_cond_with_trees_and_scalars():
    def f(x: Tensor) -> Any:
        return cond(
            x[0] > 0,
            lambda a, b: {"t": (a["u"], 1), "n": [2.5, True]},
            lambda a, b: {"t": (b, 2), "n": [x[0], False]},
            {"u": x},
            x * 2,
        )

    result = agree(f, X)
    assert result["n"][0].dtype is tracejit.float32 and result["t"][1].dtype is tracejit.int64
    half = agree(lambda x: cond(x[0] > 0, lambda: 1.5, lambda: x[0]), tensor([1], "f2"))
    assert half.dtype is tracejit.float16


def test_cond_on_a_python_bool_and_on_a_parameter():
    agree(lambda x: cond(True, lambda: x, lambda: x * 2), X, want=[1, 2, 3])
    flag = parameter(False, "?", "flag")
    agree(lambda x: cond(flag, lambda: x, lambda: x * 2), X, params=[flag], want=[2, 4, 6])


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 9])
@pytest.mark.parametrize("dtype", ["i4", "i8", "u1"])
def test_switch(index: int, dtype: str):
    if dtype == "u1" and index < 0:
        index = 0
    branches = [lambda x: x, lambda x: x + 10, lambda x: x * 0]
    want = [[1, 2, 3], [11, 12, 13], [0, 0, 0]][min(max(index, 0), 2)]
    same(switch(tensor(index, dtype), branches, X), tensor(want))
    if index == 1:
        agree(lambda i, x: switch(i, branches, x), tensor(index, dtype), X, want=want)


def test_switch_on_a_python_int():
    agree(lambda x: switch(1, [lambda: x, lambda: x * 2], ), X, want=[2, 4, 6])  # fmt: skip


def test_a_branch_reads_what_is_current_and_writes_in_order():
    p, q = parameter(), parameter(0, "i4", "q")

    def f(x: Tensor) -> Any:
        ops.assign_add(p, x)
        y = cond(p.sum() > 10, lambda: (ops.assign_add(p, x), ops.assign_add(q, 1))[0] + 0, lambda: p * 0)
        ops.assign_add(p, x)
        return y, p * 1

    agree(f, X, params=[p, q])
    agree(f, X * -1, params=[p, q])


@pytest.mark.parametrize("index", [0, 1, 2])
def test_branches_that_write_different_parameters(index: int):
    p, q = parameter(), parameter(0, "i4", "q")

    def f(i: Tensor) -> Any:
        def first() -> Any:
            ops.assign(q, tensor(7, "i4"))
            return q + 0

        def second() -> Any:
            return q + 1

        def third() -> Any:
            ops.assign_add(q, 2)
            ops.assign_add(p, p)
            return q * 1

        return switch(i, [first, second, third]), p.sum()

    agree(f, tensor(index, "i4"), params=[p, q])
    held = region_of(f, tensor(index, "i4"))
    assert [region.written for region in held.regions] == [(0,), (), (0, 1)]


def test_the_untaken_branch_writes_nothing():
    p = parameter()
    f = jit(lambda x: cond(x.sum() > 0, lambda: ops.assign_add(p, x) + 0, lambda: x))
    f(X * -1)
    assert p.tolist() == [1, 2, 3]
    f(X)
    assert p.tolist() == [2, 4, 6]


# Loops


def test_while_loop():
    agree(lambda x: while_loop(lambda c: c.sum() < 50, lambda c: c * 2, x), X, want=[16, 32, 48])
    agree(lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + x), (0, x)), X)


def test_while_loop_of_zero_turns_has_the_bodys_dtypes():
    body = lambda c: (c[0] + 1, c[1] + tensor(1.5, "f2"), c[2] + c[1])  # noqa: E731
    for turns in (0, 3):
        result = agree(lambda n: while_loop(lambda c: c[0] < n, body, (0, 0, 0)), tensor(turns, "i4"))
        assert [t.dtype.name for t in result] == ["int64", "float16", "float16"]


def test_fori_loop():
    assert agree(lambda x: fori_loop(0, 3, lambda i, c: c + i, x), X).tolist() == [4, 5, 6]
    assert agree(lambda x, n: fori_loop(1, n, lambda i, c: c * 2, x), X, tensor(4, "i4")).tolist() == [8, 16, 24]
    wide = agree(lambda n: fori_loop(0, n, lambda i, c: c + i, 0), tensor(4, "i8"))
    assert wide.dtype is tracejit.int64 and wide.item() == 6
    narrow = agree(lambda n: fori_loop(0, n, lambda i, c: c + i, 0), tensor(4, "i4"))
    assert narrow.dtype is tracejit.int32
    assert agree(lambda x: fori_loop(3, 1, lambda i, c: c * 0, x), X).tolist() == [1, 2, 3]
    assert jit(lambda n: fori_loop(0, n, lambda i, c: c + 1, 0))(3).item() == 3


def test_fori_loop_with_bounds_beyond_32_bits():
    first = 2**40
    assert fori_loop(first, first + 2, lambda i, c: i, tensor(0, "i8")).item() == first + 1


def test_scan():
    totals = agree(lambda x: scan(lambda c, i: (c + i, c * i), 0.0, x), X)
    assert totals[0].item() == 6 and totals[1].tolist() == [0, 2, 9]
    backward = agree(lambda x: scan(lambda c, i: (c + i, c), 0.0, x, reverse=True), X)
    assert backward[1].tolist() == [5, 3, 0]
    agree(lambda x: scan(lambda c, i: (c + i, c), 0.0, x, unroll=2), X)


def test_scan_over_trees_and_over_nothing():
    step = lambda c, i: ({"a": c["a"] + i["u"]}, (c["a"], [i["v"].sum()]))  # noqa: E731
    result = agree(lambda x: scan(step, {"a": tensor(0)}, {"u": x, "v": ops.ones((3, 2), "float32")}), X)
    assert result[0]["a"].item() == 6 and result[1][1][0].tolist() == [2, 2, 2]
    assert agree(lambda x: scan(lambda c, _: (c * 2, c), x, None, length=3), tensor(2))[1].tolist() == [2, 4, 8]
    assert agree(lambda x: scan(lambda c, i: (None, i * 2), None, x), X)[1].tolist() == [2, 4, 6]
    assert agree(lambda x: scan(lambda c, i: (c + i, None), 0.0, x), X)[1] is None


def test_scan_of_length_zero():
    result = agree(lambda x: scan(lambda c, i: (c + i, c * 2), tensor(5), x), tensor(np.zeros((0,))))
    assert result[0].item() == 5 and result[1].shape == (0,)
    assert scan(lambda c, _: (c, c), tensor(5), None, length=0)[1].shape == (0,)


def test_scalars_in_a_carry_take_the_bodys_dtype():
    for first, want in ((0, "float16"), (1.5, "float16"), (True, "float16")):
        carry, _ = agree(lambda x, first=first: scan(lambda c, i: (c + i, None), first, x), tensor([1, 2], "f2"))
        assert carry.dtype.name == want
    kept = agree(lambda x: scan(lambda c, i: (c + 1, i), 0, x)[0], X)
    assert kept.dtype is tracejit.int64 and kept.item() == 3
    risen = agree(lambda x: scan(lambda c, i: (c + 0.5, i), 0, x)[0], X)
    assert risen.dtype is tracejit.float32 and risen.item() == 1.5


def test_loops_write_parameters_in_program_order():
    p = parameter()

    def f(x: Tensor) -> Any:
        def body(c: Tensor, i: Tensor) -> tuple:
            ops.assign_add(p, x * i)
            return c + p.sum(), p * 1

        return scan(body, 0.0, x)

    agree(f, X, params=[p])
    agree(lambda x: fori_loop(0, 3, lambda i, c: (ops.assign_sub(p, x), c + p[0])[1], 0.0), X, params=[p])
    agree(lambda: while_loop(lambda c: c < p.sum(), lambda c: (ops.assign(p, p * 0.9), c + 1)[1], 0.0), params=[p])


def test_a_loop_of_zero_turns_leaves_parameters_alone():
    p = parameter()
    f = jit(lambda n: fori_loop(0, n, lambda i, c: (ops.assign_add(p, X), c)[1], 0))
    f(0)
    assert p.tolist() == [1, 2, 3]
    f(2)
    assert p.tolist() == [3, 6, 9]


def test_captured_tensors_are_inputs_of_the_program():
    big = Tensor(np.arange(3000, dtype="f4"))
    f = jit(lambda x: scan(lambda c, i: (c + (big * i).sum(), None), 0.0, x)[0])
    graph = f.trace(X).simplified
    assert [str(value.type) for value in graph.inputs] == ["f32[3]", "f32[3000]"]
    same(f(X), tensor(np.arange(3000, dtype="f8").sum() * 6))


# Nested


NESTED = {
    "cond in while in vmap": lambda x: vmap(
        lambda v: while_loop(lambda c: c < 10, lambda c: cond(c > 3, lambda c: c * 2, lambda c: c + 1, c), v)
    )(x),
    "scan in fori in cond": lambda x: cond(
        x.sum() > 0, lambda: fori_loop(0, 2, lambda i, c: c + scan(lambda a, b: (a + b, b), 0.0, x)[0], x), lambda: x
    ),
    "switch in scan": lambda x: scan(
        lambda c, i: (switch(ops.cast(i, "int32"), [lambda: c, lambda: c + 1, lambda: c * 2, lambda: -c]), c), 1.0, x
    ),
    "jitted in scan": lambda x: scan(lambda c, i: (jit(lambda a, b: a * b)(c, i), jit(lambda a: a + 1)(i)), 1.0, x),
    "grad of scan in vmap": lambda x: vmap(grad(lambda v: scan(lambda c, i: (c * v, c), v, tensor([1, 2]))[0]))(x),
    "scan of grad": lambda x: scan(lambda c, i: (c + grad(lambda v: v * v * c)(i), c), 1.0, x),
    "while in scan in scan": lambda x: scan(
        lambda c, i: scan(lambda d, j: (while_loop(lambda e: e < i, lambda e: e + 1, d), j), c, x), 0.0, x
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_nested(name: str):
    agree(NESTED[name], X)


def test_parameters_written_deep_inside():
    p, q = parameter(), parameter(0, "i4", "q")

    def f(x: Tensor) -> Any:
        def turn(c: Tensor, i: Tensor) -> tuple:
            def write() -> Tensor:
                ops.assign_add(p, x * i)
                return fori_loop(0, 2, lambda k, d: (ops.assign_add(q, k + 1), d + q)[1], 0)

            return c + cond(i > 1, write, lambda: tensor(0, "i4")), p.sum()

        return scan(turn, 0, x)

    agree(f, X, params=[p, q])


def test_one_parameter_as_argument_and_captured():
    p = parameter()

    def f(given: Parameter, x: Tensor) -> Any:
        def body(c: Tensor, i: Tensor) -> tuple:
            ops.assign_add(given, x)
            return c + p.sum(), given * 1

        return scan(body, 0.0, x)

    agree(f, p, X, params=[p])


# Policies, casts, checks


def test_a_regions_casts_show_in_the_graph_with_rule_and_line():
    f = lambda x: scan(lambda c, i: (c + i * tensor([1], "i4")[0], c), 0.0, x)  # noqa: E731
    promoted = jit(f).trace(X).promoted
    inner = [cast for cast in implicit_casts(promoted) if cast.operation == "mul"]
    assert [(cast.operand, str(cast.from_), cast.to.name) for cast in inner] == [("input_y", "i32[]", "float32")]
    assert "test_control_flow.py" in inner[0].location.file
    assert "    region" in str(promoted) and 'rule = "highest-priority"' in str(promoted)


def test_explain_casts_looks_into_regions():
    explained = str(tracejit.explain_casts(lambda x: fori_loop(0, 2, lambda i, c: c * 2 + i, x))(X))
    assert "add" in explained and "i32" in explained and "float32" in explained


def test_strict_reports_a_regions_conversions_at_once():
    def f(x: Tensor) -> Any:
        y = scan(lambda c, i: (c * tensor(1, "i4"), i), tensor(0.0), x)
        return cond(x[0] > 0, lambda: x + tensor(1, "i8"), lambda: x), y

    with pytest.raises(ImplicitCastError, match="2 implicit conversions in f") as caught:
        jit(f, promotion="strict")(X)
    assert "- mul: input_y i32[] to f32" in str(caught.value) and "- add: input_y i64[] to f32" in str(caught.value)
    with tracejit.promotion("strict"), pytest.raises(ImplicitCastError):
        fori_loop(0, 2, lambda i, c: c + i, X)


def test_a_policy_block_inside_a_body():
    def body(c: Tensor, i: Tensor) -> tuple:
        with tracejit.promotion("numpy2"):
            small = tensor([1], "i1")[0] + tensor([1], "u1")[0]
        return c + i, small

    result = agree(lambda x: scan(body, 0.0, x), X)
    assert result[1].dtype is tracejit.int16
    operation = region_of(lambda x: scan(body, 0.0, x), X)
    assert {inner.policy for inner in operation.regions[0].operations} == {"mindspore", "numpy2"}


OK_INDICES, BAD_INDICES = tensor([0, 1], "i4"), tensor([0, 5], "i4")
TAKE = ops.gather
CHECKED = {
    "scan": lambda x, i: scan(lambda c, k: (c + TAKE(x, k, 0), c), 0.0, i),
    "fori": lambda x, i: fori_loop(0, 2, lambda k, c: c + TAKE(x, i, 0), ops.zeros((2,), "float32")),
    "while body": lambda x, i: while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] + TAKE(x, i, 0)[1]), (0, 0.0)),
    "while condition": lambda x, i: while_loop(lambda c: TAKE(x, i, 0)[0] > c, lambda c: c + 1, 0.0),
    "cond": lambda x, i: cond(x.sum() > 0, lambda: TAKE(x, i, 0), lambda: x[:2]),
    "switch": lambda x, i: switch(1, [lambda: x[:2], lambda: TAKE(x, i, 0)]),
    "vmap": lambda x, i: vmap(lambda k: TAKE(x, k, 0))(i),
    "grad": lambda x, i: grad(lambda x: TAKE(x, i, 0).sum())(x),
    "vmap in scan in grad": lambda x, i: grad(
        lambda x: scan(lambda c, _: (c + vmap(lambda k: TAKE(x, k, 0))(i).sum(), None), 0.0, None, length=2)[0]
    )(x),
    "scan in vmap": lambda x, i: vmap(lambda k: scan(lambda c, _: (c + TAKE(x, k, 0), None), 0.0, None, length=2)[0])(
        i
    ),
}


@pytest.mark.parametrize("name", CHECKED)
def test_indices_are_checked_in_regions(name: str):
    f = CHECKED[name]
    checked = jit(f, check_indices=True)
    same(checked(X, OK_INDICES), jit(f)(X, OK_INDICES))
    with pytest.raises(IndexBoundsError, match="gather: index 5 is out of bounds for an axis of length 3") as caught:
        checked(X, BAD_INDICES)
    assert "TAKE" in str(caught.value)
    with check_indices(True), pytest.raises(IndexBoundsError):
        f(X, BAD_INDICES)
    jit(f)(X, BAD_INDICES)


def test_the_untaken_branch_is_not_checked():
    f = jit(lambda x, i: cond(x.sum() < 0, lambda: ops.gather(x, i, 0), lambda: x[:2]), check_indices=True)
    assert f(X, BAD_INDICES).tolist() == [1, 2]


def test_a_bad_index_in_a_region_leaves_parameters_alone():
    p = parameter()

    def body(c: Tensor, k: Tensor) -> tuple:
        ops.scatter_add(p, k.reshape(1), ops.ones((1,), "float32"))
        return c, None

    f = jit(lambda i: scan(body, 0.0, i)[0], check_indices=True)
    f(OK_INDICES)
    assert p.tolist() == [2, 3, 3]
    with pytest.raises(IndexBoundsError, match="scatter_add: index 5"):
        f(BAD_INDICES)
    assert p.tolist() == [2, 3, 3]


# Errors


def both(function: Any, error: type[Exception], message: str, *args: Any) -> None:
    """Check the error of a function, eager and compiled: its message, and that it ends at the user's line."""
    for form in (function, jit(function)):
        with pytest.raises(error, match=message) as caught:
            form(*args)
        shown = [str(entry.path) for entry in caught.traceback]
        assert not any("/tracejit/" in path or "/lowering/" in path or "/jax/" in path for path in shown)


ERRORS = {
    "cond dtypes": (
        lambda x: cond(x[0] > 0, lambda: x, lambda: ops.cast(x, "float16")), DTypeError,
        r"(?s)branches return different types.*true_fun \(<lambda>\): f32\[3\], false_fun \(<lambda>\): f16\[3\].*cast",
    ),
    "cond shapes": (
        lambda x: cond(x[0] > 0, lambda: {"a": x}, lambda: {"a": x[:2]}), ShapeError, "different types at a",
    ),
    "cond trees": (lambda x: cond(x[0] > 0, lambda: (x,), lambda: x), DTypeError, "different containers"),
    "cond condition": (lambda x: cond(x, lambda: x, lambda: x), DTypeError, "must be a 0-d bool tensor"),
    "cond number": (lambda x: cond(x[0], lambda: x, lambda: x), DTypeError, r"(?s)must be a 0-d bool.*x\.all\(\)"),
    "cond scalar": (
        lambda x: cond(x[0] > 0, lambda: 2.5, lambda: tensor(1, "i4")), DTypeError, "Python float where int32 is",
    ),
    "cond string": (lambda x: cond(x[0] > 0, lambda: "a", lambda: x), DTypeError, r"returned 'a' \(str\)"),
    "switch float": (lambda x: switch(x[0], [lambda: x]), DTypeError, "index must be a 0-d integer tensor"),
    "switch empty": (lambda x: switch(0, []), AttributeTypeError, "at least one branch"),
    "while dtype": (
        lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, ops.cast(c[1], "float16")), (0, x)), DTypeError,
        r"(?s)carry 1 is f32\[3\] and becomes f16\[3\].*first: f32\[3\], then: f16\[3\]",
    ),
    "while shape": (
        lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1][:1]), (0, x)), ShapeError,
        r"carry 1 is f32\[3\] and becomes f32\[1\]",
    ),
    "while tree": (
        lambda x: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1,), (0, x)), DTypeError,
        r"(?s)must return a carry of the same containers.*takes: \(\*, \*\), returns: \(\*,\)",
    ),
    "while condition": (
        lambda x: while_loop(lambda c: c, lambda c: c, x), DTypeError, "must return one 0-d bool tensor"
    ),
    "named carry": (
        lambda x: while_loop(lambda c: c["n"] < 3, lambda c: {"n": c["n"] + 1, "v": c["v"].sum()}, {"n": 0, "v": x}),
        ShapeError, r"carry v is f32\[3\] and becomes f32\[\]",
    ),
    "fori bound": (lambda x: fori_loop(0, 2.5, lambda i, c: c, x), DTypeError, "upper must be an int"),
    "fori tensor bound": (lambda x: fori_loop(x, 2, lambda i, c: c, x), DTypeError, "lower must be an int"),
    "scan no pair": (lambda x: scan(lambda c, i: c, 0.0, x), AttributeTypeError, "must return a pair"),
    "scan lengths": (
        lambda x: scan(lambda c, i: (c, None), 0.0, (x, x[:2])), ShapeError, "lengths of xs differ"
    ),
    "scan no length": (lambda x: scan(lambda c, i: (c, i), 0.0), ShapeError, "length must be given"),
    "scan 0-d": (lambda x: scan(lambda c, i: (c, i), 0.0, {"a": x[0]}), ShapeError, "xs.a is 0-d"),
    "scan dtype": (
        lambda x: scan(lambda c, i: (ops.cast(c, "float16"), i), tensor(0), x), DTypeError, "carry 0 is f32"
    ),
    "scan tree": (lambda x: scan(lambda c, i: ((c, c), i), 0.0, x), DTypeError, "carry of the same containers"),
    "scalar to tensor": (
        lambda x: scan(lambda c, i: (c + x, i), 0.0, x), ShapeError, r"(?s)scalar in the carry becomes f32\[3\].*zeros"
    ),
    "if": (
        lambda x: scan(lambda c, i: (c, i) if i > 0 else (c, -i), 0.0, x), TraceError,
        "bool needs a value, but <lambda> is being traced",
    ),
    "gradient of while": (
        lambda x: grad(lambda a: while_loop(lambda c: c.sum() < 10, lambda c: c * a, a).sum())(x), GradientError,
        r"(?s)no gradient: a while_loop in it.*use scan, or fori_loop",
    ),
    "gradient of fori": (
        lambda x: grad(lambda a: fori_loop(0, tensor(3, "i4"), lambda i, c: c * a, a).sum())(x), GradientError,
        "a fori_loop in it has no known number of turns",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str):
    function, error, message = ERRORS[name]
    both(function, error, message, X)


def test_no_writes_in_a_loops_condition():
    p = parameter()
    message = r"(?s)assign_add writes Parameter 'p' in a loop's condition.*fix"
    both(lambda x: while_loop(lambda c: ops.assign_add(p, x).sum() < 3, lambda c: c, x), StateError, message, X)
    nested = lambda x: while_loop(  # noqa: E731
        lambda c: cond(c > 0, lambda: ops.assign_add(p, x).sum() < 3, lambda: c < 0), lambda c: c, x[0]
    )
    both(nested, StateError, message, X)
    assert p.tolist() == [1, 2, 3]


def test_no_writes_in_a_checked_condition_either():
    p = parameter()

    def f(x: Tensor, i: Tensor) -> Tensor:
        return while_loop(lambda c: (ops.gather(x, i, 0) + ops.assign_add(p, x))[0] > c, lambda c: c + 1, 0.0)

    with pytest.raises(StateError, match="in a loop's condition"):
        jit(f, check_indices=True)(X, tensor([0, 1, 2], "i4"))


def test_a_parameter_is_never_converted_in_a_region():
    p = parameter([1, 2, 3], "f2")
    both(lambda x: scan(lambda c, i: (ops.assign_add(p, x).sum(), i), 0.0, x), ParameterCastError, "'p' of float16", X)


def test_values_of_a_region_do_not_escape():
    kept: list[Tensor] = []

    def f(x: Tensor) -> Tensor:
        scan(lambda c, i: (kept.append(c * 2), (c, i))[1], 0.0, x)
        return kept[-1] + 1

    both(f, EscapedValueError, r"(?s)a traced value of <lambda> was used after its trace.*made by mul", X)
    with pytest.raises(EscapedValueError):
        kept[0].tolist()


def test_an_error_in_a_body_leaves_the_next_trace_alone():
    def body(c: Tensor, i: Tensor) -> tuple:
        raise KeyError("mine")

    for form in (lambda x: scan(body, 0.0, x), jit(lambda x: scan(body, 0.0, x))):
        with pytest.raises(KeyError, match="mine"):
            form(X)
    agree(lambda x: scan(lambda c, i: (c + i, c), 0.0, x), X)


def test_a_parameter_made_in_a_body_is_refused():
    both(
        lambda x: scan(lambda c, i: (c + Parameter(tensor(1.0), name="new"), i), 0.0, x),
        tracejit.errors.ParameterError, "Parameter 'new' is made inside", X,
    )  # fmt: skip


def test_calls_like_earlier_ones_compile_nothing():
    import jax

    f = lambda x: scan(lambda c, i: (c + i, c), 0.0, x)  # noqa: E731
    f(X)
    with jax.log_compiles(False):
        jax.monitoring.clear_event_listeners()
        compiled: list[str] = []
        jax.monitoring.register_event_duration_secs_listener(
            lambda name, seconds, **_: compiled.append(name) if "backend_compile" in name else None
        )
        try:
            for _ in range(3):
                f(X)
        finally:
            jax.monitoring.clear_event_listeners()
    assert compiled == []


def test_eager_control_flow_sees_todays_values():
    factor = [2.0]
    f = lambda x: fori_loop(0, 2, lambda i, c: c * factor[0], x)  # noqa: E731
    assert f(tensor(1)).item() == 4
    factor[0] = 3.0
    assert f(tensor(1)).item() == 9
    assert leaves(f(X))[0].tolist() == [9, 18, 27]
