"""`tracejit.debug`, and `jit(eager=True)`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import (
    Parameter,
    Tensor,
    checkpoint,
    cond,
    custom_vjp,
    debug,
    fori_loop,
    grad,
    jit,
    ops,
    scan,
    switch,
    value_and_grad,
    vmap,
    while_loop,
)
from tracejit.errors import AttributeTypeError, AttributeValueError, EscapedValueError
from tracejit.parser import parse_graph


def tensor(values: Any, dtype: str = "f4") -> Tensor:
    return Tensor(np.array(values, dtype))


def printed(capfd: pytest.CaptureFixture[str]) -> list[str]:
    import jax

    jax.effects_barrier()
    return capfd.readouterr().out.splitlines()


@contextmanager
def unchecked_leaks() -> Iterator[None]:
    """Turn JAX's leak check off, which takes its own handle of an effect inside a gradient for a leak."""
    import jax

    jax.config.update("jax_check_tracer_leaks", False)
    try:
        yield
    finally:
        jax.config.update("jax_check_tracer_leaks", True)


# Printing


@pytest.mark.parametrize("wrap", [lambda f: f, jit, jit(eager=True)], ids=["plain", "jit", "eager"])
def test_print(wrap: Any, capfd: pytest.CaptureFixture[str]):
    def f(x: Tensor) -> Tensor:
        debug.print("x={} {0:.1f} {{literal}} {name!r} {total:+.2f} {n:03d}".replace("{0", "{x2"), x, x2=x,
                    name="it's", total=x.sum(), n=7)  # fmt: skip
        return x

    wrap(f)(tensor([1, 2.5]))
    assert printed(capfd) == ['x=[1.  2.5] [1.0 2.5] {literal} "it\'s" +3.50 007']


def test_print_of_everything_that_there_is(capfd: pytest.CaptureFixture[str]):
    p = Parameter(tensor([3]), name="p")

    @jit
    def f(x: Tensor, n: int) -> None:
        debug.print("{} {} {} {} {}", x, n, p, (1, 2), None)
        debug.print("{0.shape} {0.dtype} {1[1]}", x, tensor([5, 6], "i4"))
        debug.print("nothing")

    for last in (4, 5):
        f(tensor([True, False], "?"), last)
        assert sorted(printed(capfd)) == ["(2,) bool 6", f"[ True False] {last} [3.] (1, 2) None", "nothing"]


def test_print_sees_the_parameter_at_its_place(capfd: pytest.CaptureFixture[str]):
    p = Parameter(tensor([1]), name="p")

    @jit
    def f() -> None:
        debug.print("{}", p)
        ops.assign_add(p, tensor([1]))
        debug.print("{}", p)

    f()
    f()
    assert printed(capfd) == ["[1.]", "[2.]", "[2.]", "[3.]"]


def test_print_in_regions_and_under_transforms(capfd: pytest.CaptureFixture[str]):
    x = tensor([1, 2])
    jit(lambda x: scan(lambda c, i: (debug.print("scan {}", i), (c, i))[1], 0.0, x))(x)
    fori_loop(0, 2, lambda i, c: (debug.print("fori {}", i), c)[1], x)
    while_loop(lambda c: c < 2, lambda c: (debug.print("while {}", c), c + 1)[1], 0)
    cond(x.sum() > 0, lambda: (debug.print("true"), x)[1], lambda: (debug.print("false"), x)[1])
    vmap(lambda v: (debug.print("vmap {}", v), v)[1])(x)
    grad(lambda v: (debug.print("grad {}", v), (v * v).sum())[1])(x)
    with unchecked_leaks():
        jit(grad(lambda v: scan(lambda c, i: (debug.print("both {}", i), (c + i * i, None))[1], 0.0, v)[0]))(x)
    assert sorted(printed(capfd)) == sorted([
        "scan 1.0", "scan 2.0", "fori 0", "fori 1", "while 0", "while 1", "true", "vmap 1.0", "vmap 2.0",
        "grad [1. 2.]", "both 1.0", "both 2.0",
    ])  # fmt: skip


def test_print_under_jax_transformations(capfd: pytest.CaptureFixture[str]):
    import jax
    import jax.numpy as jnp

    f = jit(lambda x: (debug.print("jax {}", x), x * 2)[1])
    jax.jit(f)(jnp.ones(2))
    jax.jit(lambda x: (debug.print("bare {}", Tensor(x)), x)[1])(jnp.ones(2))
    assert printed(capfd) == ["jax [1. 1.]", "bare [1. 1.]"]


def test_print_survives_every_pass_and_parses():
    f = jit(lambda x: (debug.print('{:.2f} "quoted" {{}}', x), x)[1])
    traced = f.trace(tensor([1.0]))
    for graph in (traced.graph, traced.promoted, traced.simplified):
        assert [operation.name for operation in graph.operations] == ["debug_print"]
        assert parse_graph(str(graph)) == graph


def test_print_does_not_merge_or_move(capfd: pytest.CaptureFixture[str]):
    f = jit(lambda x: (debug.print("same"), debug.print("same"), x)[2])
    f(tensor([1.0]))
    assert printed(capfd) == ["same", "same"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: debug.print("{} {}", x), "does not fit 1 values"),
        (lambda x: debug.print("{", x), "does not fit 1 values"),
        (lambda x: debug.print("{y}", x), "does not fit 1 values: 'y'"),
    ],
)
def test_print_checks_its_braces_at_once(call: Any, message: str):
    for form in (call, jit(call)):
        with pytest.raises(AttributeValueError, match=message):
            form(tensor([1.0]))


def test_print_takes_a_string():
    with pytest.raises(AttributeTypeError, match="takes a string first, got"):
        debug.print(tensor([1.0]))


def test_an_error_while_printing_goes_no_further(capfd: pytest.CaptureFixture[str]):
    p = Parameter(tensor([1]), name="p")
    f = jit(lambda x: (ops.assign_add(p, x), debug.print("{:d}", x), x)[2])
    assert f(tensor([1.5])).item() == 1.5 and p.item() == 2.5
    (line,) = printed(capfd)
    assert line.startswith("tracejit.debug.print('{0:d}') failed: ")
    debug.print("{:d}", tensor([1.5]))
    assert "failed" in printed(capfd)[0]


def test_print_of_an_escaped_value():
    kept = []
    jit(lambda x: (kept.append(x), x)[1])(tensor([1.0]))
    with pytest.raises(EscapedValueError):
        debug.print("{}", kept[0])


# Finding NaN


def found(function: Any, *args: Any, inf: bool = False) -> tuple[Any, ...] | None:
    finding = debug.find_nan(function, inf=inf)(*args)
    return None if finding is None else (finding.operation, finding.location.text, *finding.where)


def in_line(x: Tensor) -> Tensor:
    y = x - 1
    z = ops.log(y)  # makes it
    return ops.select(y > 0, z, 0.0).sum()


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["plain", "jit"])
def test_find_nan_names_the_line(wrap: Any):
    finding = debug.find_nan(wrap(in_line))(tensor([0.5, 3.0]))
    assert (finding.kind, finding.operation, finding.given, finding.where) == ("NaN", "log", None, ())
    assert finding.location.text == "z = ops.log(y)  # makes it"
    lines = str(finding).splitlines()
    assert lines[0] == "NaN made by log" and lines[1].endswith(f"line {finding.location.line}")
    assert lines[2].strip() == finding.location.text
    assert debug.find_nan(wrap(in_line))(tensor([2.0, 3.0])) is None


def test_find_nan_tells_what_was_given():
    nan = tensor([np.nan])
    p = Parameter(nan, name="weight")
    assert str(debug.find_nan(lambda x: x + 1)(nan)) == "NaN given in x"
    assert str(debug.find_nan(lambda: p + 1)()) == "NaN given in weight"
    assert str(debug.find_nan(lambda: nan + 1)()) == "NaN given in a captured Tensor"
    assert debug.find_nan(lambda x: x + 1)(tensor([1], "i4")) is None


def test_find_inf_on_demand():
    f = lambda x: 1 / x  # noqa: E731
    assert debug.find_nan(f)(tensor([0.0])) is None
    assert debug.find_nan(f, inf=True)(tensor([0.0])).kind == "infinity"


def loop_body(x: Tensor) -> Tensor:
    y = x - 1
    return ops.sqrt(y)  # here


HERE = "return ops.sqrt(y)  # here"
CASES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "fori": (lambda x: fori_loop(0, 5, lambda i, c: loop_body(c), x), ("turn 1 of fori_loop",)),
    "while": (
        lambda x: while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, loop_body(c[1])), (0, x)),
        ("turn 1 of while_loop",),
    ),
    "scan": (lambda x: scan(lambda c, _: (loop_body(c), c), x, None, length=5), ("turn 1 of scan",)),
    "scan over": (lambda x: scan(lambda c, i: (c, loop_body(i)), 0.0, tensor([3, 2, 0, 1])), ("turn 2 of scan",)),
    "scan back": (
        lambda x: scan(lambda c, i: (c, loop_body(i)), 0.0, tensor([3, 0, 0, 2]), reverse=True),
        ("turn 2 of scan",),
    ),
    "cond": (lambda x: cond(x > 5, lambda: x, lambda: loop_body(x - 1)), ("branch <lambda> of cond",)),
    "switch": (
        lambda x: switch(tensor(9, "i4"), [lambda: x, lambda: loop_body(x - 1)]),
        ("branch <lambda> of switch",),
    ),
    "vmap": (lambda x: vmap(loop_body)(tensor([2, 1, 0, 3])), ("example 2 of vmap",)),
    "checkpoint": (lambda x: checkpoint(lambda x: loop_body(x - 1).sum())(x), ("branch <lambda> of checkpoint",)),
    "grad": (lambda x: grad(lambda x: loop_body(x - 1))(x), ("grad of <lambda>",)),
    "vjp": (lambda x: tracejit.vjp(lambda x: loop_body(x - 1), x)[0], ()),
    "nested": (
        lambda x: vmap(lambda v: scan(lambda c, i: (c, loop_body(i * v)), 0.0, tensor([2, 1]))[1])(tensor([1, 0.5])),
        ("example 1 of vmap", "turn 1 of scan"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["plain", "jit"])
def test_find_nan_looks_into_regions(name: str, wrap: Any):
    function, where = CASES[name]
    assert found(wrap(function), tensor(1.5)) == ("sqrt", HERE, *where)


def test_find_nan_gives_nothing_where_there_is_nothing():
    def step(c: Tensor, i: Tensor) -> tuple[Tensor, Tensor]:
        return c + cond(i > 1, lambda: i, lambda: c), vmap(lambda v: v * i)(tensor([1, 2]))

    assert debug.find_nan(jit(lambda: scan(step, tensor(1.0), tensor([1, 2]))))() is None


def test_find_nan_going_back_through_a_gradient():
    def loss(x: Tensor) -> Tensor:
        squares = x * x
        lengths = ops.sqrt(squares)  # its gradient at 0 is infinite, and 0 times that is NaN
        return lengths.sum()

    x = tensor([0.0, 1.0])
    assert found(grad(loss), x) == ("mul", "squares = x * x", "the gradient, going back through loss")
    assert found(grad(loss), x, inf=True)[0] == "sqrt"
    assert found(jit(grad(loss)), tensor([2.0])) is None
    w = Parameter(x, name="w")
    by_parameter = value_and_grad(lambda: loss(w), None, params=[w])
    assert found(by_parameter)[0] == "mul"


def test_find_nan_with_a_gradient_of_ones_own():
    f = custom_vjp(lambda x: ops.log(x))
    f.defvjp(lambda x: (ops.log(x), x), lambda x, g: (g * 0,))
    assert found(lambda x: f(x), tensor(-1.0))[0] == "log"


def test_find_nan_writes_nothing_and_counts_nothing():
    p = Parameter(tensor([1.0]), name="p")
    f = jit(lambda x: ops.assign_add(p, x))
    assert debug.find_nan(f)(tensor([1.0])) is None
    assert p.item() == 1 and f.cache_info().traces == 0
    assert debug.find_nan(lambda x: fori_loop(0, 3, lambda i, c: ops.assign_add(p, c) * 1, x))(tensor([1.0])) is None
    assert p.item() == 1


def test_find_nan_takes_static_arguments_and_functions_only():
    f = jit(lambda x, power: x**power, static_argnames="power")
    assert debug.find_nan(f)(tensor([-1.0]), power=0.5).operation == "pow"
    with pytest.raises(AttributeTypeError, match="find_nan takes a function, got 3"):
        debug.find_nan(3)


# Running operator by operator


def test_jit_eager_runs_python_each_time():
    calls = []

    @jit(eager=True)
    def f(x: Tensor, n: int) -> tuple:
        calls.append(x.tolist())  # a value can be read
        if x.sum() > 2:
            return x * n, n
        return -x, n

    assert [t.tolist() for t in f(tensor([1, 2]), 3)] == [[3, 6], 3]
    assert [t.tolist() for t in f(tensor([0, 1]), 3)] == [[0, -1], 3]
    assert calls == [[1, 2], [0, 1]] and f.cache_info().traces == 0


def test_jit_eager_keeps_to_the_rules_of_jit():
    p = Parameter(tensor([1.0]), name="p")

    @jit(eager=True, promotion="jax")
    def f(x: Tensor) -> Any:
        x[0] = 5.0  # its own view
        ops.assign_add(p, tensor([1.0]))
        return {"p": p, "sum": x + tensor([1], "i8"), "n": 2.5}

    x = tensor([1, 2], "f2")
    result = f(x)
    assert x.tolist() == [1, 2] and p.item() == 2
    assert type(result["p"]) is Tensor and result["sum"].dtype is tracejit.float16
    assert result["n"].dtype is tracejit.float32
    ops.assign_add(p, tensor([1.0]))
    assert result["p"].item() == 2
    assert f(np.float16([1, 2]))["sum"].tolist() == [6, 3]


def test_jit_eager_inside_a_trace_is_a_part_of_it():
    inner = jit(eager=True)(lambda x: x + 1)
    outer = jit(lambda x: inner(x) * 2)
    assert outer(tensor([1.0])).tolist() == [4]
    assert [operation.name for operation in outer.trace(tensor([1.0])).graph.operations] == ["add", "mul"]


def test_jit_eager_on_a_method_and_stages():
    class Net(tracejit.nn.Cell):
        @jit(eager=True)
        def construct(self, x: Tensor) -> Tensor:
            assert x.tolist()
            return x * 2

    assert Net()(tensor([1.0])).tolist() == [2]
    f = jit(eager=True)(lambda x: x * 2)
    assert f.trace(tensor([1.0])).lower().compile()(tensor([1.0])).tolist() == [2]
    with pytest.raises(AttributeTypeError, match="eager must be a bool, got 1"):
        jit(lambda x: x, eager=1)
