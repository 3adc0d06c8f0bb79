"""Transforms: every function eagerly, compiled, nested in any order, with Parameters and casts, and its errors."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tracejit
from tests.agreement import agree, leaves, same, tensor
from tracejit import (
    Parameter,
    Tensor,
    checkpoint,
    cond,
    custom_vjp,
    fori_loop,
    grad,
    jit,
    jvp,
    ops,
    scan,
    value_and_grad,
    vjp,
    vmap,
)
from tracejit.errors import (
    AttributeTypeError,
    AttributeValueError,
    DTypeError,
    EscapedValueError,
    GradientError,
    ParameterCastError,
    ParameterError,
    ShapeError,
    StateError,
)
from tracejit.passes.casts import implicit_casts

X = tensor([1, 2, 3])
RAW = np.float32([1, 2, 3])


def parameter(values: Any = (1, 2, 3), dtype: str = "f4", name: str = "p") -> Parameter:
    return Parameter(tensor(values, dtype), name=name)


# Gradients


def test_grad_by_arguments():
    f = lambda x, y: (x * x * y).sum()  # noqa: E731
    agree(grad(f), X, X + 1, want=2 * RAW * (RAW + 1))
    agree(grad(f, 1), X, X + 1, want=RAW**2)
    agree(grad(f, -1), X, X + 1, want=RAW**2)
    both = agree(grad(f, (1, 0)), X, X + 1)
    assert [t.tolist() for t in both] == [[1, 4, 9], [4, 12, 24]]
    value, gradient = agree(value_and_grad(f), X, X + 1)
    assert value.item() == 50 and gradient.tolist() == [4, 12, 24]


def test_grad_of_trees():
    f = lambda tree: (tree["a"] * tree["b"][0]).sum()  # noqa: E731
    result = agree(lambda x: grad(f)({"a": x, "b": (x * 2,)}), X)
    assert result["a"].tolist() == [2, 4, 6] and result["b"][0].tolist() == [1, 2, 3]


def test_grad_with_anything_beside():
    f = lambda x: ((x * x).sum(), {"max": x.argmax(), "twice": x * 2, "n": 3})  # noqa: E731
    gradient, aux = agree(grad(f, has_aux=True), X)
    assert gradient.tolist() == [2, 4, 6] and aux["max"].item() == 2 and aux["n"].item() == 3
    (value, aux), gradient = agree(value_and_grad(f, has_aux=True), X)
    assert value.item() == 14 and aux["twice"].tolist() == [2, 4, 6]


def test_grad_by_parameters():
    p, q, unused = parameter(), parameter([2, 2, 2], name="q"), parameter(name="unused")
    f = lambda x: (p * q * x).sum()  # noqa: E731
    by_all = agree(lambda x: grad(f, None, params=[q, unused, p])(x), X, params=[p, q, unused])
    assert [t.tolist() for t in by_all] == [[1, 4, 9], [0, 0, 0], [2, 4, 6]]
    of_x, of_p = agree(grad(f, 0, params=(p,)), X, params=[p, q])
    assert of_x.tolist() == [2, 4, 6] and of_p[0].tolist() == [2, 4, 6]
    (of_xs, of_ps) = agree(grad(f, (0,), params=(p,)), X, params=[p, q])
    assert of_xs[0].tolist() == of_ps[0].tolist()
    value, (gradient,) = agree(value_and_grad(f, argnums=None, params=p), X, params=[p, q])
    assert value.item() == 28 and gradient.tolist() == [2, 4, 6]


def test_a_parameter_as_argument_and_captured():
    p = parameter()
    captured = lambda given: value_and_grad(lambda a: (a * p).sum(), 0, params=[p])(given)  # noqa: E731
    value, (of_argument, of_parameter) = agree(captured, p, params=[p])
    assert value.item() == 14 and of_argument.tolist() == of_parameter[0].tolist() == [1, 2, 3]


CASTS = [
    (("f2", "f4"), lambda x, y: (x * y).sum()),
    (("f2", "f8"), lambda x, y: (x * y).sum()),
    (("f4", "f8"), lambda x, y: (x + y * x).mean()),
    (("f2", "f4"), lambda x, y: ops.matmul(x.reshape((1, 3)), y.reshape((3, 1))).sum()),
    (("f2", "f4"), lambda x, y: ops.concat((x, y)).sum() * x[0]),
    (("f4", "f2"), lambda x, y: ops.select(x > 2, x, y).sum()),
    (("f2", "f4"), lambda x, y: (x**y).sum()),
]


@pytest.mark.parametrize("number", range(len(CASTS)))
def test_gradients_through_casts_have_their_operands_dtypes(number: int):
    (first, second), f = CASTS[number]
    x, y = tensor([1, 2, 3], first), tensor([2, 1, 2], second)
    gradients = agree(grad(f, (0, 1)), x, y)
    assert [g.dtype.numpy for g in gradients] == [np.dtype(first), np.dtype(second)]
    assert all(g.shape == (3,) for g in gradients)


def test_integers_beside_do_not_get_a_gradient_but_convert():
    f = lambda x, n: (x * n).sum()  # noqa: E731
    assert agree(grad(f), tensor([1, 2], "f2"), tensor([3, 4], "i4")).tolist() == [3, 4]
    p = parameter([1, 2], "f2")
    (gradient,) = grad(lambda n: (p * n).sum(), None, params=[p])(tensor([3, 4], "i8"))
    assert gradient.dtype is tracejit.float16
    assert grad(f)(tensor([1, 2]), 3).tolist() == [3, 3]


def test_a_scalar_argument_is_differentiated_as_float32():
    assert grad(lambda x: x * x)(3.0).item() == 6
    assert agree(lambda x: grad(lambda a: (a * x).sum())(2.0), X).dtype is tracejit.float32


def test_writes_happen_once_and_are_constants_to_the_gradient():
    p = parameter()

    def loss(x: Tensor) -> Tensor:
        ops.assign_add(p, x)
        return (p * x).sum()

    value, gradient = agree(value_and_grad(loss), X, params=[p])
    assert value.item() == 28 and gradient.tolist() == [2, 4, 6]  # p is [2, 4, 6], a constant
    before = lambda x: (p * x).sum() + ops.assign_add(p, x).sum() * 0  # noqa: E731
    (gradient,) = agree(grad(before, None, params=[p]), X, params=[p])
    assert gradient.tolist() == [1, 2, 3]


def test_writes_in_every_transform():
    p = parameter()
    write = lambda x: ops.assign_add(p, x) * x  # noqa: E731
    agree(lambda x: jvp(write, (x,), (x,)), X, params=[p])
    agree(lambda x: vjp(write, x)[1](x), X, params=[p])
    agree(lambda x: grad(checkpoint(lambda a: write(a).sum()))(x), X, params=[p])
    agree(lambda x: grad(lambda a: cond(a.sum() > 0, lambda: write(a).sum(), lambda: a.sum()))(x), X, params=[p])
    agree(lambda x: scan(lambda c, i: (c + grad(lambda v: (write(x) * v).sum())(i), p.sum()), 0.0, x), X, params=[p])


def test_stop_gradient():
    agree(grad(lambda x: (ops.stop_gradient(x) * x).sum()), X, want=RAW)


# jvp, vjp


def test_jvp():
    value, along = agree(lambda x: jvp(lambda a, b: a * b, (x, x + 1), (x * 0 + 1, x * 0)), X)
    assert value.tolist() == [2, 6, 12] and along.tolist() == [2, 3, 4]
    half = jvp(lambda x, y: x * y, (tensor(2, "f2"), tensor(3)), (tensor(1, "f2"), tensor(0)))
    assert half[1].dtype is tracejit.float32 and half[1].item() == 3


def test_vjp():
    def f(x: Tensor) -> Any:
        value, back = vjp(lambda a, b: (a * b, a.sum()), x, x + 1)
        return value, back((x, tensor(1)))

    value, cotangents = agree(f, X)
    assert value[1].item() == 6 and [c.tolist() for c in cotangents] == [[3, 7, 13], [1, 4, 9]]
    value, back, aux = vjp(lambda x: (x * x, {"n": x.sum()}), X, has_aux=True)
    assert aux["n"].item() == 6 and back(X)[0].tolist() == [2, 8, 18]
    _, back = vjp(lambda x, y: x * y, tensor(2, "f2"), tensor(3))
    assert [c.dtype.name for c in back(tensor(1))] == ["float16", "float32"]


# vmap


def test_vmap():
    matrix = tensor([[1, 2, 3], [4, 5, 6]])
    agree(vmap(lambda v: v.sum()), matrix, want=[6, 15])
    agree(vmap(lambda v: v.sum(), in_axes=1), matrix, want=[5, 7, 9])
    agree(vmap(lambda v: v.sum(), in_axes=-1), matrix, want=[5, 7, 9])
    agree(vmap(lambda v, w: v * w, in_axes=(0, None)), matrix, X)
    agree(vmap(lambda v, w: v * w, in_axes=(0, None), out_axes=1), matrix, X, want=[[1, 4], [4, 10], [9, 18]])
    agree(vmap(lambda v: (v, v * 2), out_axes=(0, -1)), matrix)
    agree(vmap(lambda tree: tree["a"] + tree["b"]), {"a": matrix, "b": matrix}, under_jax=False)
    agree(vmap(vmap(lambda s: s * 2)), matrix)
    agree(vmap(lambda v, n: v * n, in_axes=(0, None)), matrix, 2)


def test_vmap_reads_parameters_and_captured_tensors():
    p, q = parameter(), tensor([10, 20, 30])
    agree(lambda x: vmap(lambda v: v * p + q)(x), tensor([[1, 1, 1], [2, 2, 2]]), params=[p])
    agree(lambda given, x: vmap(lambda v: v * given)(x), p, X, params=[p])
    (gradient,) = agree(
        grad(lambda x: vmap(lambda v: (v * p).sum())(x).sum(), None, params=[p]), tensor([[1, 1, 1], [2, 2, 2]]),
        params=[p],
    )  # fmt: skip
    assert gradient.tolist() == [3, 3, 3]


def test_vmap_promotes_what_is_mapped_like_anything_else():
    result = agree(vmap(lambda v, w: v + w), tensor([1, 2], "i4"), tensor([1, 2], "f2"))
    assert result.dtype is tracejit.float16
    assert agree(vmap(lambda v: v + 2.5), tensor([1, 2], "i4")).dtype is tracejit.float32


def test_vmap_of_nothing_returned():
    assert jit(lambda x: vmap(lambda v: None)(x))(X) is None


# checkpoint, custom_vjp


def test_checkpoint():
    f = lambda x: ops.tanh(x * x).sum()  # noqa: E731
    want = jax.grad(lambda x: jnp.tanh(x * x).sum())(RAW)
    agree(grad(checkpoint(f)), X, want=want)
    agree(checkpoint(lambda x, n: {"a": x * n}), X, 2)
    assert "checkpoint" in str(jit(grad(checkpoint(f))).trace(X).graph)


def doubled() -> Any:
    f = custom_vjp(lambda x, y: x * 2 + y)
    f.defvjp(lambda x, y: (x * 2 + y, (x,)), lambda residuals, g: (g * 10, g * residuals[0]))
    return f


def test_custom_vjp():
    f = doubled()
    agree(lambda x: f(x, x), X, want=RAW * 3)
    first, second = agree(grad(lambda x, y: f(x, y).sum(), (0, 1)), X, X)
    assert first.tolist() == [10, 10, 10] and second.tolist() == [1, 2, 3]
    agree(lambda x: vmap(grad(lambda v: f(v, v)))(x), X, want=10 + RAW)
    agree(lambda x: grad(lambda x: scan(lambda c, i: (c + f(i, i), c), 0.0, x)[0])(x), X)


def test_custom_vjp_with_captured_values_and_integers():
    p = parameter()

    def f(x: Tensor, scale: Tensor) -> Tensor:
        g = custom_vjp(lambda a, n: a * scale * p * n)
        g.defvjp(lambda a, n: (a * scale * p * n, a), lambda a, cotangent: (cotangent * scale, None))
        return grad(lambda a: g(a, tensor(2, "i4")).sum())(x)

    agree(f, X, X + 1, params=[p], want=RAW + 1)
    trees = custom_vjp(lambda tree: tree["a"] * tree["b"][0])
    trees.defvjp(lambda tree: (trees._fun(tree), tree), lambda tree, g: ({"a": g, "b": (g * 2,)},))
    result = agree(lambda x: grad(lambda t: trees(t).sum())({"a": x, "b": (x,)}), X)
    assert result["b"][0].tolist() == [2, 2, 2]


# In any order


TRANSFORMS = {
    "grad": lambda f: grad(lambda x: f(x).sum()),
    "jit": jit,
    "vmap": lambda f: lambda x: vmap(f)(ops.stack((x, x * 2))).sum(0),
    "checkpoint": checkpoint,
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,))[1],
    "vjp": lambda f: lambda x: vjp(f, x)[1](x)[0],
    "scan": lambda f: lambda x: scan(lambda c, i: (f(c) * 0.5, i), x, None, length=2)[0],
    "cond": lambda f: lambda x: cond(x.sum() > 0, f, lambda x: x, x),
    "fori": lambda f: lambda x: fori_loop(0, 2, lambda i, c: f(c) * 0.5, x),
    "custom": lambda f: _identity_gradient(f),
}


def _identity_gradient(f: Any) -> Any:
    wrapped = custom_vjp(f)
    wrapped.defvjp(lambda x: (f(x), None), lambda residuals, g: (g,))
    return wrapped


PAIRS = [(a, b) for a in TRANSFORMS for b in TRANSFORMS]


PAIRS.remove(("jvp", "custom"))  # which has no forward derivative


@pytest.mark.sweep(keep=30)
@pytest.mark.parametrize(("outer", "inner"), PAIRS, ids=[f"{a}-{b}" for a, b in PAIRS])
def test_transforms_nest_in_any_order(outer: str, inner: str):
    f = TRANSFORMS[outer](TRANSFORMS[inner](lambda x: ops.tanh(x) * x))
    agree(f, tensor([0.3, 0.5, 0.7]), under_jax=outer != "jit")


@pytest.mark.parametrize("names", [("grad", "vmap", "scan"), ("vmap", "grad", "scan"), ("scan", "vjp", "vmap"),
                                   ("jvp", "grad", "cond"), ("grad", "checkpoint", "fori")])  # fmt: skip
def test_three_deep(names: tuple[str, ...]):
    f: Any = lambda x: ops.tanh(x) * x  # noqa: E731
    for name in reversed(names):
        f = TRANSFORMS[name](f)
    agree(f, tensor([0.3, 0.5, 0.7]))


def test_against_jax_on_the_same_function():
    def ours(x: Tensor) -> Tensor:
        step = lambda c, i: (ops.tanh(c * i), c)  # noqa: E731
        return scan(step, x.sum(), x)[0]

    def theirs(x: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda c, i: (jnp.tanh(c * i), c), x.sum(), x)[0]

    x = tensor([0.3, 0.5, 0.7])
    hessian = vmap(lambda v: jvp(grad(ours), (x,), (v,))[1])(ops.eye(3, 3, tracejit.float32))
    np.testing.assert_allclose(hessian.asnumpy(), jax.hessian(theirs)(x.value()), rtol=1e-3, atol=1e-5)


# Under JAX, and in the Graph


def test_under_the_users_own_transformations():
    f = jit(grad(lambda x: (x**3).sum()))
    second = jax.grad(lambda x: f(x).value().sum())(jnp.asarray(RAW))
    np.testing.assert_allclose(second, 6 * RAW, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(lambda v: f(v).value())(jnp.stack([RAW, RAW]))[0], 3 * RAW**2, rtol=1e-6)


def test_the_graph_shows_regions_casts_and_state():
    p = parameter([1, 2, 3], "f2")
    f = lambda x: value_and_grad(lambda x: (ops.assign_add(p, ops.cast(x, "float16")) * x).sum())(x)  # noqa: E731
    traced = jit(f).trace(X)
    text = str(traced.promoted)
    assert "value_and_grad" in text and "    region" in text and "assign_add" in text
    (cast,) = [c for c in implicit_casts(traced.promoted) if c.operation == "mul"]
    assert (str(cast.from_), cast.to.name, cast.rule) == ("f16[3]", "float32", "highest-priority")
    (operation,) = [o for o in traced.graph.operations if o.regions]
    assert operation.regions[0].written == (0,) and traced.graph.written == (0,)


def test_calls_like_earlier_ones_compile_nothing():
    f = grad(lambda x: ops.tanh(x).sum())
    f(X)
    compiled: list[str] = []
    jax.monitoring.clear_event_listeners()
    jax.monitoring.register_event_duration_secs_listener(
        lambda name, seconds, **_: compiled.append(name) if "backend_compile" in name else None
    )
    try:
        for _ in range(3):
            f(X)
    finally:
        jax.monitoring.clear_event_listeners()
    assert compiled == []


# Errors


def both(function: Any, error: type[Exception], message: str, *args: Any) -> None:
    """Check the error of a function, eager and compiled: its message, and that it ends at the user's line."""
    for form in (function, jit(function)):
        with pytest.raises(error, match=message) as caught:
            form(*args)
        shown = [str(entry.path) for entry in caught.traceback]
        assert not any("/tracejit/" in path or "/lowering/" in path or "/jax/" in path for path in shown)


P = parameter(name="watched")
ERRORS = {
    "int argument": (
        lambda x: grad(lambda a, n: (a * n).sum(), (0, 1))(x, tensor([1, 2, 3], "i4")), DTypeError,
        r"(?s)grad: argument 1 is i32\[3\]; only floats have a gradient.*leave it out of argnums",
    ),
    "bool argument": (lambda x: grad(lambda a: a.sum())(x > 1), DTypeError, r"argument 0 is b1\[3\]"),
    "int in a tree": (lambda x: grad(lambda t: t["a"].sum())({"a": x, "n": tensor(1, "i4")}), DTypeError, "argument 0"),
    "no scalar": (lambda x: grad(lambda a: a * 2)(x), ShapeError, r"must return one real number, not f32\[3\]"),
    "int loss": (lambda x: grad(lambda a: a.argmax())(x), DTypeError, r"must return one real number, not i32\[\]"),
    "complex loss": (
        lambda x: grad(lambda a: ops.cast(a.sum(), "complex64"))(x), DTypeError, r"not c64\[\]"
    ),
    "two results": (
        lambda x: grad(lambda a: (a.sum(), a))(x), DTypeError, r"(?s)returns 2 values.*has_aux=True allows"
    ),
    "no result": (lambda x: grad(lambda a: None)(x), DTypeError, "returns 0 values"),
    "argnums": (lambda x: grad(lambda a: a.sum(), 3)(x), AttributeValueError, "names argument 3, but 1 are given"),
    "argnums bool": (lambda x: grad(lambda a: a.sum(), True)(x), AttributeTypeError, "argnums must be an int"),
    "nothing": (lambda x: grad(lambda a: a.sum(), None)(x), AttributeValueError, "neither argnums nor params"),
    "no parameter": (lambda x: grad(lambda a: a.sum(), params=[x])(x), ParameterError, "which is no Parameter"),
    "no function": (lambda x: grad(3)(x), AttributeTypeError, "grad takes a function, got 3"),
    "vmap write": (
        lambda x: vmap(lambda v: ops.assign_add(P, x) * v)(x), StateError,
        r"(?s)assign_add writes Parameter 'watched' under vmap.*fix: return the value",
    ),
    "vmap deep write": (
        lambda x: vmap(lambda v: scan(lambda c, i: (c + ops.assign_add(P, x)[0], i), v, x)[0])(x), StateError, "vmap",
    ),
    "vmap lengths": (
        lambda x: vmap(lambda a, b: a + b)(x, x[:2]), ShapeError, r"(?s)differ in length.*length 3: f32\[3\]"
    ),
    "vmap none": (lambda x: vmap(lambda a: a, in_axes=None)(x), ShapeError, "no argument is mapped"),
    "vmap bool": (lambda x: vmap(lambda a: a, in_axes=False)(x), AttributeTypeError, r"got False \(bool\)"),
    "vmap axis": (lambda x: vmap(lambda a: a, in_axes=3)(x), ShapeError, "axis 3 is out of range"),
    "vmap out axis": (lambda x: vmap(lambda a: a, out_axes=3)(x), AttributeValueError, "out_axes 3 is out of range"),
    "vmap out axes": (lambda x: vmap(lambda a: a, out_axes=(0, 0))(x), AttributeValueError, "names 2 results"),
    "vmap in axes": (lambda x: vmap(lambda a: a, in_axes=(0, 0))(x), AttributeValueError, "names 2 arguments"),
    "jvp dtype": (lambda x: jvp(lambda a: a, (x,), (ops.cast(x, "float64"),)), DTypeError, r"must be f32\[3\]"),
    "jvp shape": (lambda x: jvp(lambda a: a, (x,), (x[:2],)), ShapeError, r"must be f32\[3\], got f32\[2\]"),
    "jvp count": (lambda x: jvp(lambda a: a, (x,), ()), AttributeValueError, "1 primals and 0 tangents"),
    "vjp dtype": (lambda x: vjp(lambda a: a, x)[1](ops.cast(x, "float16")), DTypeError, r"cotangent must be f32\[3\]"),
    "vjp tree": (lambda x: vjp(lambda a: (a, a), x)[1](x), AttributeValueError, "2 cotangents are needed"),
    "custom no rule": (lambda x: custom_vjp(lambda a: a)(x), AttributeTypeError, "(?s)no gradient is.*defvjp"),
    "jvp of custom_vjp": (
        lambda x: jvp(lambda a: _identity_gradient(lambda b: b * 2)(a), (x,), (x,)), GradientError,
        "(?s)<lambda> has no forward derivative.*custom_vjp says how to go back",
    ),
    "written parameter": (
        lambda x: grad(lambda a: ops.assign_add(P, ops.cast(a, "float64")).sum())(x), ParameterCastError, "watched",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str):
    function, error, message = ERRORS[name]
    both(function, error, message, X)
    assert P.tolist() == [1, 2, 3]


def _custom(forward: Any, backward: Any) -> Any:
    f = custom_vjp(lambda x, y: x * y)
    f.defvjp(forward, backward)
    return lambda x: grad(lambda a: f(a, a).sum())(x)


@pytest.mark.parametrize(
    ("forward", "backward", "error", "message"),
    [
        (lambda x, y: x * y, lambda r, g: (g, g), AttributeTypeError, r"must return \(value, residuals\)"),
        (lambda x, y: (x[:2], x), lambda r, g: (g, g), DTypeError, "returns another value than the function"),
        (lambda x, y: (x * y, x), lambda r, g: g, AttributeTypeError, "a tuple of 2 cotangents"),
        (lambda x, y: (x * y, x), lambda r, g: (g,), AttributeTypeError, "a tuple of 2 cotangents"),
        (lambda x, y: (x * y, x), lambda r, g: (g, g[:2]), ShapeError, r"must be f32\[3\], got f32\[2\]"),
        (lambda x, y: (x * y, x), lambda r, g: (g, ops.cast(g, "float16")), DTypeError, "must be f32"),
        (lambda x, y: (x * y, x), lambda r, g: (g, (g,)), DTypeError, "other containers than its argument"),
        (lambda x, y: (x * y, ops.assign_add(P, x)), lambda r, g: (g, g), StateError, "a gradient of its own"),
    ],
)
def test_custom_vjp_errors(forward: Any, backward: Any, error: type[Exception], message: str):
    both(_custom(forward, backward), error, message, X)


def test_a_gradient_by_an_integer_parameter():
    counter = Parameter(0, name="counter")
    with pytest.raises(DTypeError, match="Parameter 'counter' of int64 has no gradient"):
        grad(lambda x: x.sum(), params=[counter])


def test_values_inside_do_not_escape():
    kept: list[Tensor] = []
    grad(lambda x: (kept.append(x * 2), x.sum())[1])(X)
    with pytest.raises(EscapedValueError, match="was used after its trace"):
        _ = kept[0] + 1


def test_an_interrupted_trace_leaves_nothing_behind():
    def wrong(x: Tensor) -> Tensor:
        raise RuntimeError("mine")

    for transform in (grad, vmap, checkpoint):
        with pytest.raises(RuntimeError, match="mine"):
            transform(wrong)(X)
    same(grad(lambda x: x.sum())(X), tensor([1, 1, 1]))
    assert leaves(X)[0].tolist() == [1, 2, 3]
