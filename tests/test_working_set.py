"""The working set of operators, beyond what the records' samples say: gradients, geometry, random numbers, forms."""

from __future__ import annotations

import itertools
import math
import pickle
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tracejit
from tests.test_operators import host_value
from tracejit import Generator, Parameter, Tensor, jit, ops
from tracejit import dtypes as dt
from tracejit.bridge import backend
from tracejit.errors import (
    AttributeTypeError,
    AttributeValueError,
    DTypeError,
    IndexBoundsError,
    ParameterAliasError,
    ParameterError,
    ShapeError,
    StateError,
)
from tracejit.ops.record import RECORDS, Op
from tracejit.parser import parse_graph

MODULES = (
    "activations convolution losses making maths moving normalization pooling products random_numbers slicing sorting "
    "statistics"
).split()


def declared_in(module: str) -> list[Op]:
    names = vars(__import__(f"tracejit.ops.{module}", fromlist=["*"])).values()
    return [op for op in names if isinstance(op, Op) and not op.hidden and op.name != "matmul"]


MINE = {op.name: op for module in MODULES for op in declared_in(module)}


def same(x: Any, y: Any, tolerance: float = 1e-5) -> None:
    x, y = np.asarray(x), np.asarray(y)
    assert x.dtype == y.dtype and x.shape == y.shape, (x.dtype, y.dtype, x.shape, y.shape)
    np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def parts(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


# Gradients


class Case:
    """One sample of an operator as a function of its float operands, which are given in any float dtype."""

    def __init__(self, op: Op, text: str, attributes: dict[str, Any]):
        self.op, self.attributes = op, attributes
        specs = op.spread(len(text.split()))
        self.fixed: dict[int, Any] = {}
        self.points: list[np.ndarray] = []
        self.places: list[int] = []
        for i, (word, spec) in enumerate(zip(text.split(), specs)):
            value = host_value(word, "index" if word.startswith(("i32", "i64")) else spec.role, i)
            if (isinstance(value, np.ndarray) and value.dtype.kind == "f") or word.startswith("bf16"):
                rng = np.random.default_rng(zlib.crc32(f"{op.name}{i}".encode()))
                low = 1.1 if op.name == "acosh" else 0.15
                self.points.append(rng.uniform(low, low + 0.7, np.shape(value)))
                self.places.append(i)
            else:
                narrow = value.astype(np.int32) if np.asarray(value).dtype == np.int64 else value
                self.fixed[i] = Tensor(narrow) if isinstance(value, np.ndarray) else value
        self.count = len(text.split())

    def run(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Apply the operator to arrays and return its float results."""
        given = dict(zip(self.places, arrays))
        operands = [given[i] if i in given else self.fixed[i] for i in range(self.count)]
        function = getattr(ops, self.op.name)
        if self.op.operands[0].variadic or self.op.operands[-1].variadic:
            results = function(**{self.op.operands[-1].name: operands}, **self.attributes)
        else:
            results = function(**dict(zip([s.name for s in self.op.operands], operands)), **self.attributes)
        return tuple([r for r in parts(results) if r.dtype.kind == "float"])

    def loss(self, arrays: Sequence[Any]) -> Any:
        """Return a weighted sum of the results, no weight like another."""
        total = 0.0
        for result in self.run([Tensor(x) if not isinstance(x, Tensor) else x for x in arrays]):
            array = result.value()
            weights = jnp.cos(jnp.arange(array.size, dtype=array.dtype) + 1).reshape(array.shape)
            total += jnp.sum(array * weights)
        return total


#: Two samples of these are differentiated, which differ in more than shapes.
TWICE = {"cross_entropy", "layer_norm", "conv2d", "max_pool2d", "avg_pool2d", "norm", "topk"}


def cases() -> list[Case]:
    found = []
    for op in MINE.values():
        floats = [sample for sample in op.samples if sample.raises is None and "f" in sample.operands]
        made = [Case(op, s.operands, dict(s.attributes)) for s in floats if "dtype" not in s.attributes]
        found += [case for case in made if case.places][: 2 if op.name in TWICE else 1]
    return found


#: Results of these are not floats, or no function of the operands' values.
WITHOUT_GRADIENT = {
    "isnan", "isinf", "isfinite", "argsort", "searchsorted", "nonzero", "shuffle", "bernoulli", "multinomial",
    "random_categorical", "zeros_like", "ones_like", "full_like",
}  # fmt: skip
CASES = [case for case in cases() if case.op.name not in WITHOUT_GRADIENT]
STEPS = {"floor", "ceil", "trunc", "sign", "round"}


def test_every_operator_of_floats_has_a_case() -> None:
    operands = {name for name, op in MINE.items() if any(s.group == "T" or s.group is None for s in op.operands)}
    accepting = {n for n in operands if any("f" in s.operands for s in MINE[n].samples if s.raises is None)}
    assert accepting - {case.op.name for case in CASES} <= WITHOUT_GRADIENT | {"normal"}


def measure(points: Any) -> Any:
    """Return the gradients of all cases, and the losses."""

    def total(points: Any) -> Any:
        losses = [case.loss(arrays) for case, arrays in zip(CASES, points)]
        return sum(losses), losses

    gradients, losses = jax.grad(total, has_aux=True)(points)
    return gradients, losses


def test_gradients_are_numerical_ones_in_float64_and_float32() -> None:
    """One program for all operators: gradients and losses, also a step in a random direction further and back."""
    rng = np.random.default_rng(7)
    points = [case.points for case in CASES]
    directions = [[rng.normal(size=x.shape) for x in arrays] for arrays in points]
    steps = np.array([0, 1e-6, -1e-6])
    around = [
        [x + steps.reshape(-1, *[1] * x.ndim) * d for x, d in zip(arrays, ds)] for arrays, ds in zip(points, directions)
    ]
    with jax.enable_x64(True):
        found, losses = jax.jit(jax.vmap(measure))(around)
        narrow, _ = jax.jit(measure)([[np.float32(x) for x in arrays] for arrays in points])
    for case, gradient, ds, loss, single in zip(CASES, found, directions, losses, narrow, strict=True):
        gradient = [np.asarray(g[0]) for g in gradient]
        along = sum(float(np.sum(g * d)) for g, d in zip(gradient, ds))
        numerical = (float(loss[1]) - float(loss[2])) / 2e-6
        scale = 1 + sum(float(np.abs(g).sum()) for g in gradient)
        assert abs(along - numerical) < 2e-7 * scale, (case.op.name, along, numerical)
        if case.op.name not in STEPS:
            assert any(g.any() for g in gradient), case.op.name
        for g, s in zip(gradient, single):
            assert s.dtype == np.float32
            if case.op.name == "normal":  # its numbers are others in another dtype
                continue
            np.testing.assert_allclose(s, g, rtol=2e-3, atol=2e-4 * scale, err_msg=case.op.name)


def test_gradients_through_an_implicit_conversion() -> None:
    """A float16 tensor times a float32 one is float32: its gradient comes back in float16."""
    chosen = CASES[::4]

    def loss(halves: Any, ones: Any) -> Any:
        total = 0.0
        for case, arrays, others in zip(chosen, halves, ones):
            total += case.loss([Tensor(x) * Tensor(one) for x, one in zip(arrays, others)])
        return total

    halves = [[x.astype(np.float16) for x in case.points] for case in chosen]
    ones = [[np.ones(x.shape, np.float32) for x in case.points] for case in chosen]
    by_halves, by_ones = jax.jit(jax.grad(loss, (0, 1)))(halves, ones)
    with jax.enable_x64(True):
        exact = jax.jit(jax.grad(lambda p: sum(case.loss(x) for case, x in zip(chosen, p))))(
            [[x.astype(np.float64) for x in arrays] for arrays in halves]
        )
    for case, wanted, half, one, values in zip(chosen, exact, by_halves, by_ones, halves, strict=True):
        scale = 1 + sum(float(np.abs(g).sum()) for g in wanted)
        for g, h, o, x in zip(wanted, half, one, values):
            assert h.dtype == np.float16 and o.dtype == np.float32
            np.testing.assert_allclose(h, g, rtol=4e-3, atol=1e-3 * scale, err_msg=case.op.name)
            np.testing.assert_allclose(o, np.asarray(g) * x, rtol=4e-3, atol=1e-3 * scale, err_msg=case.op.name)


JNP: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    **{
        name: (getattr(ops, name), getattr(jnp, other), "0.2 0.8 4")
        for name, other in {
            "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
            "sinh": "sinh", "cosh": "cosh", "asinh": "arcsinh", "atanh": "arctanh", "expm1": "expm1",
            "log1p": "log1p", "log2": "log2", "log10": "log10", "square": "square", "reciprocal": "reciprocal",
        }.items()
    },
    **{
        name: (getattr(ops, name), getattr(jax.nn, other), "-2 2 5")
        for name, other in {
            "relu6": "relu6", "silu": "silu", "softsign": "soft_sign", "hardswish": "hard_swish", "selu": "selu",
            "hardsigmoid": "hard_sigmoid", "logsigmoid": "log_sigmoid", "softmax": "softmax",
            "log_softmax": "log_softmax", "elu": "elu", "softplus": "softplus", "mish": "mish", "celu": "celu",
        }.items()
    },
    "gelu": (ops.gelu, lambda x: jax.nn.gelu(x, approximate=False), "-2 2 5"),
    "leaky_relu": (ops.leaky_relu, lambda x: jax.nn.leaky_relu(x, 0.2), "-2 2 5"),
    "erf": (ops.erf, jax.scipy.special.erf, "-2 2 5"),
    "var": (ops.var, jnp.var, "-2 2 5"),
    "norm": (ops.norm, jnp.linalg.norm, "-2 2 5"),
    "logsumexp": (lambda x: ops.logsumexp(x, 0), jax.nn.logsumexp, "-2 2 5"),
    "sort": (lambda x: ops.sort(x)[0], jnp.sort, "-2 2 5"),
    "cumsum": (lambda x: ops.cumsum(x, 0), jnp.cumsum, "-2 2 5"),
    "cumprod": (lambda x: ops.cumprod(x, 0), jnp.cumprod, "-2 2 5"),
    "flip": (lambda x: ops.flip(x, 0), jnp.flip, "-2 2 5"),
    "roll": (lambda x: ops.roll(x, 2), lambda x: jnp.roll(x, 2), "-2 2 5"),
    "clamp": (lambda x: ops.clamp(x, -1, 1), lambda x: jnp.clip(x, -1, 1), "-2 2 5"),
    "outer": (lambda x: ops.outer(x, x), lambda x: jnp.outer(x, x), "-2 2 5"),
    "einsum": (lambda x: ops.einsum("i,i,j->j", x, x, x), lambda x: jnp.sum(x * x) * x, "-2 2 5"),
    "pad": (lambda x: ops.pad(x, (1, 2), value=3), lambda x: jnp.pad(x, (1, 2), constant_values=3), "-2 2 5"),
}  # fmt: skip


def test_gradients_are_those_of_jax_numpy() -> None:
    def total(function: Callable[..., Any], x: Any) -> Any:
        result = function(x)
        array = result.value() if isinstance(result, Tensor) else result
        return jnp.sum(array * jnp.cos(jnp.arange(array.size, dtype=array.dtype)).reshape(array.shape))

    def sums(xs: Any, ys: Any) -> Any:
        ours = [total(lambda x, f=f: f(Tensor(x)), x) for (f, _, _), x in zip(JNP.values(), xs)]
        return sum(ours) + sum(total(f, x) for (_, f, _), x in zip(JNP.values(), ys))

    for dtype, tolerance in ((np.float32, 2e-5), (np.float64, 1e-11)):
        points = []
        for name, (_, _, text) in JNP.items():
            low, high, count = text.split()
            rng = np.random.default_rng(zlib.crc32(name.encode()))
            points.append(rng.uniform(float(low), float(high), int(count)).astype(dtype))
        with jax.enable_x64(True):
            ours, theirs = jax.jit(jax.grad(sums, (0, 1)))(points, points)
        for name, x, y in zip(JNP, ours, theirs, strict=True):
            assert x.dtype == dtype
            np.testing.assert_allclose(x, y, tolerance, tolerance, err_msg=name)


# Windows: random geometry against the records' references, which sum one position after the other


def pick(rng: np.random.Generator, least: int, most: int, count: int) -> tuple[int, ...]:
    return tuple(rng.integers(least, most + 1, count).tolist())


def against_reference(name: str, arrays: Sequence[np.ndarray], attributes: dict[str, Any]) -> None:
    op = RECORDS[name]
    given = {a.name: op.default(a) for a in op.attributes}
    checked = {key: op.check_attribute(key, value) for key, value in {**given, **attributes}.items()}
    assert op.reference is not None
    result = getattr(ops, name)(*map(Tensor, arrays), **attributes)
    for ours, theirs in zip(parts(result), parts(op.reference(*arrays, **checked)), strict=True):
        same(ours, theirs, 1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_convolutions_of_any_geometry(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, groups = 1 + seed % 3, int(rng.integers(1, 3))
    kernel, stride, dilation = (pick(rng, 1, most, count) for most in (3, 3, 2))
    shape = tuple(k * d + int(rng.integers(0, 3)) for k, d in zip(kernel, dilation))
    x, weight = rng.normal(size=(2, 2 * groups, *shape)), rng.normal(size=(3 * groups, 2, *kernel))
    attributes = {"stride": stride, "dilation": dilation, "groups": groups}
    attributes |= [{"pad_mode": "same"}, {"pad_mode": "pad", "padding": pick(rng, 0, 2, 2 * count)}, {}][seed // 3]
    against_reference(f"conv{count}d", [x, weight, rng.normal(size=3 * groups)], attributes)


@pytest.mark.parametrize("seed", range(6))
def test_transposed_convolutions_of_any_geometry(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, groups = 1 + seed % 3, int(rng.integers(1, 3))
    kernel, stride, dilation = (pick(rng, 1, most, count) for most in (3, 3, 2))
    x, weight = rng.normal(size=(2, 2 * groups, *pick(rng, 2, 4, count))), rng.normal(size=(2 * groups, 2, *kernel))
    reach = [d * (k - 1) for d, k in zip(dilation, kernel)]
    padding = tuple(int(rng.integers(0, 1 + r // 2)) for r in reach)
    extra = tuple(int(rng.integers(0, max(s, d))) for s, d in zip(stride, dilation))
    attributes = {"stride": stride, "padding": padding, "output_padding": extra, "groups": groups, "dilation": dilation}
    against_reference(f"conv_transpose{count}d", [x, weight], attributes)


def test_a_transposed_convolution_is_the_gradient_of_a_convolution() -> None:
    rng = np.random.default_rng(0)
    x, weight = (rng.normal(size=s).astype(np.float32) for s in ((1, 4, 7, 6), (6, 2, 3, 2)))
    settings = {"stride": (2, 1), "groups": 2, "dilation": (1, 2)}

    def forward(x: Any) -> Any:
        return ops.conv2d(Tensor(x), Tensor(weight), pad_mode="pad", padding=(1, 0), **settings).value()

    result, back = jax.vjp(forward, x)
    cotangent = rng.normal(size=result.shape).astype(np.float32)
    transposed = ops.conv_transpose2d(Tensor(cotangent), Tensor(weight), padding=(1, 0), **settings)
    same(transposed, back(cotangent)[0], 1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_pooling_of_any_geometry(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 2 + seed % 2
    kernel, stride = pick(rng, 1, 3, count), pick(rng, 1, 3, count)
    padding = tuple(int(rng.integers(0, k // 2 + 1)) for k in kernel)
    shape = tuple(int(rng.integers(k, k + 4)) for k in kernel)
    x = rng.normal(size=(1, 2, *shape))
    common = {"kernel_size": kernel, "stride": stride, "padding": padding, "ceil_mode": bool(seed % 2)}
    against_reference(f"max_pool{count}d", [x], {**common, "return_indices": seed > 2})
    against_reference(f"avg_pool{count}d", [x], {**common, "count_include_pad": seed > 2})
    against_reference(f"adaptive_avg_pool{count}d", [x], {"output_size": pick(rng, 1, 5, count)})


def test_max_pool_gives_the_first_of_equals_and_its_gradient_there() -> None:
    x = np.zeros((1, 1, 4, 4), np.float32)
    values, places = ops.max_pool2d(Tensor(x), 2, return_indices=True)
    assert places.tolist() == [[[[0, 2], [8, 10]]]] and values.tolist() == [[[[0.0, 0.0], [0.0, 0.0]]]]
    for dilation in (1, (1, 1)):
        gradient = jax.grad(lambda x, d=dilation: ops.max_pool2d(Tensor(x), 2, dilation=d).sum().value())(x)
        assert np.asarray(gradient)[0, 0, ::2, ::2].tolist() == [[1.0, 1.0], [1.0, 1.0]]


# Sorting, sizes


def test_unique_and_nonzero_fill_up_and_cut_off() -> None:
    x = Tensor(np.int32([5, 1, 2, 1, 5, 9]))
    for run in (lambda f: f, jit):
        for size, expected in ((6, [5, 1, 2, 9, 7, 7]), (2, [5, 1])):
            values, places = run(lambda x, size=size: ops.unique(x, size, 7))(x)
            assert values.tolist() == expected and places.tolist() == [0, 1, 2, 1, 0, 3]
            assert (values.dtype, places.dtype) == (tracejit.int32, tracejit.int32)
        mask = Tensor(np.array([[True, False], [True, True]]))
        assert run(lambda m: ops.nonzero(m, 4))(mask).tolist() == [[0, 0], [1, 0], [1, 1], [-1, -1]]
    assert ops.nonzero(mask, 1).tolist() == [[0, 0]]
    values, places = ops.unique(Tensor(np.zeros(0, np.float32)), 2)
    assert values.tolist() == [0.0, 0.0] and places.shape == (0,)
    assert ops.unique(Tensor(np.int64([3, 3])), 1)[1].dtype is tracejit.int64
    with pytest.raises(AttributeTypeError, match="Unique misses its attribute 'size'"):
        ops.unique(x)


def test_sorting_is_stable_and_takes_every_integer() -> None:
    values, places = ops.sort(Tensor(np.uint8([3, 255, 3, 0])), descending=True)
    assert values.tolist() == [255, 3, 3, 0] and places.tolist() == [1, 0, 2, 3]
    least = np.iinfo(np.int64).min
    values, places = ops.topk(Tensor(np.int64([0, least, 5])), 2, largest=False)
    assert values.tolist() == [least, 0] and places.tolist() == [1, 0]
    assert ops.topk(Tensor([1.0, 3.0, 3.0]), 2)[1].tolist() == [1, 2]


def test_running_extremes_keep_nan_and_take_the_last_of_equals() -> None:
    x = Tensor(np.float32([1, 3, 3, np.nan, 9]))
    values, places = ops.cummax(x, 0)
    assert places.tolist() == [0, 1, 2, 3, 3] and places.dtype is tracejit.int64
    np.testing.assert_array_equal(values, np.float32([1, 3, 3, np.nan, np.nan]))
    assert ops.Cummin(0)(Tensor(np.int8([4, 2, 2, 3])))[1].tolist() == [0, 1, 2, 2]


# Places and parts


def test_a_negative_start_counts_from_the_end_of_its_axis() -> None:
    x, y = ops.zeros((4, 6), tracejit.int32), ops.ones((4, 3), tracejit.int32)
    for run in (ops.slice_scatter, jit(ops.slice_scatter, static_argnums=(2, 3, 4, 5))):
        assert run(x, y, 1, -6, 5, 2).tolist() == [[1, 0, 1, 0, 1, 0]] * 4


BOOLS = [
    lambda x: ops.squeeze(x, True), lambda x: ops.expand_dims(x, False), lambda x: ops.tile(x, (True, 2)),
    lambda x: ops.sort(x, True), lambda x: ops.topk(x, True), lambda x: ops.cumsum(x, False),
    lambda x: ops.flip(x, (True,)), lambda x: ops.roll(x, True), lambda x: ops.split(x, True),
    lambda x: ops.pad(x, (True, False)), lambda x: ops.softmax(x, True), lambda x: ops.eye(True),
    lambda x: ops.max_pool2d(x, True), lambda x: ops.interpolate(x, size=True), lambda x: ops.var(x, True),
    lambda x: ops.layer_norm(x, True), lambda x: ops.moveaxis(x, True, 0), lambda x: ops.tril(x, True),
    lambda x: ops.one_hot(x, True, 1.0, 0.0), lambda x: ops.unique(x, True), lambda x: ops.strided_slice(x, True, 1, 1),
    lambda x: ops.standard_normal((True,), x), lambda x: ops.repeat_interleave(x, True),
    lambda x: ops.tensor_dot(x, x, True),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(BOOLS)))
def test_a_bool_is_no_axis_shape_or_count(number: int) -> None:
    with pytest.raises(TypeError, match="must be an int, not a bool"):
        BOOLS[number](Tensor(np.zeros((2, 2), np.float32)))


def test_a_single_piece_is_a_tuple_too() -> None:
    x = Tensor(np.arange(4.0, dtype=np.float32))
    for run in (lambda f: f, jit):
        (piece,) = run(lambda x: ops.split(x, 4))(x)
        assert piece.tolist() == x.tolist()
        (only,) = run(lambda x: ops.unstack(x.reshape((1, 4))))(x)
        assert only.shape == (4,)
        (grid,) = run(ops.meshgrid)(x)
        assert grid.shape == (4,)
    assert [p.shape for p in ops.split(Tensor(np.zeros((0, 2), np.float32)), 3)] == [(0, 2)]


def test_bad_indices() -> None:
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    bad = Tensor(np.int32([[0, 3]]))
    calls = {
        "gather_nd": lambda i: ops.gather_nd(x, i),
        "gather_elements": lambda i: ops.gather_elements(x, 1, i),
        "take": lambda i: ops.take(x, i + 3),
    }
    for name, function in calls.items():
        with pytest.raises(IndexBoundsError, match=f"{name}: index"):
            function(bad)
        assert jit(function)(bad).tolist()[-1] in ([0.0, 0.0], 0.0, [3.0, 0.0])
        with pytest.raises(IndexBoundsError, match=name):
            jit(function, check_indices=True)(bad)
    with pytest.raises(IndexBoundsError):
        ops.gather_nd(x, Tensor(np.int32([[-1, 0]])))
    assert ops.gather_elements(x, 1, Tensor(np.int32([[-1], [-3]]))).tolist() == [[2.0], [3.0]]


def test_a_class_that_does_not_exist_gives_nan() -> None:
    logits = Tensor(np.float32([[0.5, 1.5], [1.0, 2.0], [0.0, 1.0]]))
    loss = ops.cross_entropy(logits, Tensor(np.int32([2, -100, -1])), reduction="none")
    assert np.isnan(loss.asnumpy()).tolist() == [True, False, True] and loss.tolist()[1] == 0.0
    for weight in (None, Tensor(np.float32([1, 2]))):
        assert np.isnan(float(ops.cross_entropy(logits, Tensor(np.int32([0, 2, 1])), weight)))


# dtypes


def test_what_is_converted_and_what_is_not() -> None:
    half, single, whole = (Tensor(np.ones((2, 2)).astype(d)) for d in ("f2", "f4", "i4"))
    for name in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "outer", "binary_cross_entropy_with_logits"):
        assert getattr(ops, name)(half, single).dtype is tracejit.float32
    assert ops.where(single > 0, half, whole).dtype is tracejit.float16
    assert ops.clamp(whole, 0.5).dtype is tracejit.float32
    assert ops.clamp(half, 0.5, 2).dtype is tracejit.float16
    for function in (ops.bmm, ops.dot, ops.kl_div, ops.binary_cross_entropy, ops.slice_scatter, ops.meshgrid):
        with pytest.raises(DTypeError, match="must be of one dtype"):
            function(half, single)
    with pytest.raises(DTypeError, match="masked_fill: input_x, value must be of one dtype"):
        ops.masked_fill(whole, whole > 0, 0.5)
    assert ops.masked_fill(whole, whole > 0, 7).tolist() == [[7, 7], [7, 7]]


def test_python_scalars_alone() -> None:
    mask = Tensor([True, False])
    assert (ops.where(mask, 1.0, 0.0).dtype, ops.where(mask, 1, 0).dtype) == (tracejit.float32, tracejit.int64)
    assert ops.where(mask, 1, 0.5).tolist() == [1.0, 0.5]
    for run in (lambda f: f, jit):
        found = run(lambda: ops.linspace(0, 1, 3))()
        assert found.dtype is tracejit.float32 and found.tolist() == [0.0, 0.5, 1.0]
    graph = jit(lambda mask: ops.where(mask, 1, 0)).trace(mask).promoted
    assert "scalars-alone" in str(graph)


def test_integers_and_bool() -> None:
    whole, mask = Tensor(np.int32([-7, 2])), Tensor([True, False])
    assert ops.reciprocal(whole).dtype is ops.reciprocal(mask).dtype is ops.norm(whole).dtype is tracejit.float32
    assert ops.trunc(mask).dtype is tracejit.bool_ and ops.square(Tensor(np.int8([100]))).tolist() == [16]
    assert ops.sign(whole).tolist() == [-1, 1] and ops.sign(whole).dtype is tracejit.int32
    assert ops.norm(Tensor(np.complex64([3 + 4j]))).dtype is tracejit.float32
    assert ops.cumsum(Tensor(np.int8([100, 100])), 0).tolist() == [100, -56]
    assert ops.cumsum(Tensor(np.int8([100, 100])), 0, tracejit.int32).tolist() == [100, 200]
    assert ops.full_like(whole, 2.7).tolist() == [2, 2] and ops.pad(whole, (0, 1), value=2.5).tolist() == [-7, 2, 2]


# Operands left out


def test_an_operand_that_is_left_out() -> None:
    x = Tensor(np.ones((1, 1, 3, 3), np.float32))
    w = Tensor(np.ones((1, 1, 2, 2), np.float32))

    def step(x: Any, w: Any) -> Any:
        return ops.conv2d(x, w) + ops.conv2d(x, w, None) + ops.conv2d(x, w, bias=None)

    assert step(x, w).tolist() == jit(step)(x, w).tolist() == [[[[12.0, 12.0], [12.0, 12.0]]]]
    traced = jit(step).trace(x, w)
    for graph in (traced.graph, traced.promoted):
        assert "conv2d %x, %w, None {" in str(graph)
        assert parse_graph(str(graph)) == graph
        assert '"tracejit.literal"() {value = unit} : () -> (!tracejit.none)' in graph.as_mlir()
    y = ops.layer_norm(Tensor([[1.0, 3.0]]), 2, bias=Tensor([1.0, 1.0]))
    same(y, np.float32([[0.0, 2.0]]), 1e-4)
    for bad in (3.0, "a"):
        with pytest.raises(DTypeError, match="conv2d"):
            ops.conv2d(x, w, bad)
    with pytest.raises(DTypeError, match="conv2d: weight must be a tensor or a number, not None"):
        ops.conv2d(x, None)


# Classes in MindSpore's form


def test_classes_take_what_mindspore_takes() -> None:
    rng = np.random.default_rng(1)
    x, w = (rng.normal(size=s).astype(np.float32) for s in ((1, 4, 5, 4), (4, 2, 3, 2)))
    xt, wt = Tensor(x), Tensor(w)
    made = ops.Conv2D(4, (3, 2), pad_mode="pad", pad=(1, 0, 2, 1), stride=2, group=2)
    padded = ops.pad(xt, (2, 1, 1, 0))
    same(made(xt, wt), ops.conv2d(padded, wt, stride=2, groups=2))
    assert repr(made).startswith("Conv2D(pad_mode='pad', padding=(1, 0, 2, 1)")
    rows = Tensor(np.float32([[1, 2], [3, 4]]))
    assert [p.tolist() for p in ops.Split(1, 2)(rows)] == [[[1.0], [3.0]], [[2.0], [4.0]]]
    assert ops.ReverseV2(axis=[0])(rows).tolist() == [[3.0, 4.0], [1.0, 2.0]]
    assert ops.Pad(paddings=((0, 0), (1, 0)))(rows).tolist() == [[0.0, 1.0, 2.0], [0.0, 3.0, 4.0]]
    assert ops.CumSum(True)(rows, 1).tolist() == [[0.0, 1.0], [0.0, 3.0]]
    assert ops.TopK(True)(rows, 1)[0].tolist() == [[2.0], [4.0]]
    assert ops.Einsum("ij,jk->ik")((rows, rows)).tolist() == ops.einsum("ij,jk->ik", rows, rows).tolist()
    assert ops.Meshgrid("ij")((rows[0], rows[1]))[0].tolist() == [[1.0, 1.0], [2.0, 2.0]]
    assert ops.GatherD()(rows, 1, Tensor(np.int32([[1], [0]]))).tolist() == [[2.0], [3.0]]
    assert ops.StridedSlice(begin_mask=1)(rows, (1, 1), (2, 2), (1, 1)).tolist() == [[2.0], [4.0]]
    result, mean, var = ops.LayerNorm(-1, -1)(rows, Tensor(np.float32([1, 1])), Tensor(np.float32([0, 0])))
    assert mean.tolist() == [[1.5], [3.5]] and var.tolist() == [[0.25], [0.25]] and result.shape == (2, 2)
    assert ops.MaxPool(2, strides=1, pad_mode="SAME")(rows.reshape((1, 1, 2, 2))).tolist() == [[[[4, 4], [4, 4]]]]
    for wrong, message in [
        (lambda: ops.Conv2D(1, 2, data_format="NHWC"), "Conv2D: data_format must be one of 'NCHW'"),
        (lambda: ops.Conv2D(1, 2, pad=1, padding=1), "one attribute under two names: "),
        (lambda: ops.Split(output_num=True), "Split: output_num must be an int, not a bool"),
        (lambda: ops.TopK(True)(rows), "TopK misses its attribute 'k'"),
        (lambda: ops.Cummax(), "Cummax misses its attribute 'axis'"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            wrong()


def test_functions_under_several_names() -> None:
    x = Tensor([1.0, 5.0])
    assert ops.clip(x, 2.0).tolist() == ops.clamp(x, 2.0).tolist() == x.clip(2.0).tolist()
    assert ops.movedim(x, 0, 0).tolist() == ops.moveaxis(x, 0, 0).tolist()
    assert float(ops.tensordot(x, x, 1)) == float(ops.tensor_dot(x, x, 1)) == 26.0
    assert ops.einsum("i,i", x, x).tolist() == ops.einsum("i,i", [x, x]).tolist() == 26.0


# Batch normalization


def batch_norm_state() -> tuple[Parameter, Parameter]:
    return Parameter(np.float32([0, 1]), name="mean"), Parameter(np.float32([1, 2]), name="var")


@pytest.mark.parametrize("run", [lambda f: f, jit], ids=["eager", "jit"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_batch_norm_moves_the_running_statistics_only_when_training(run: Any, dtype: Any) -> None:
    x = np.random.default_rng(0).normal(size=(5, 2, 3)).astype(dtype)
    mean, var = batch_norm_state()
    weight, bias = (Tensor(np.float32(values)) for values in ([2, 3], [1, 0]))

    def apply(x: Any, training: bool) -> Any:
        return ops.batch_norm(x, mean, var, weight, bias, training, 0.25)

    plain = run(lambda x: apply(x, False))(Tensor(x))
    assert mean.tolist() == [0.0, 1.0] and plain.dtype == dtype
    expected = (x - np.float32([0, 1])[:, None]) / np.sqrt(np.float32([1, 2])[:, None] + 1e-5)
    same(plain, (expected * np.float32([2, 3])[:, None] + np.float32([1, 0])[:, None]).astype(dtype), 5e-3)
    result = run(lambda x: apply(x, True))(Tensor(x))
    wide = x.astype(np.float32)
    same(mean, 0.75 * np.float32([0, 1]) + 0.25 * wide.mean((0, 2)))
    same(var, 0.75 * np.float32([1, 2]) + 0.25 * wide.var((0, 2), ddof=1))
    normal = (wide - wide.mean((0, 2), keepdims=True)) / np.sqrt(wide.var((0, 2), keepdims=True) + 1e-5)
    same(result, (normal * np.float32([2, 3])[:, None] + np.float32([1, 0])[:, None]).astype(dtype), 5e-3)


def test_batch_norm_shows_its_writes_and_names_what_is_wrong() -> None:
    x = Tensor(np.ones((2, 2), np.float32))
    mean, var = batch_norm_state()
    text = str(jit(lambda x: ops.batch_norm(x, mean, var, training=True)).trace(x).graph)
    assert text.count("assign") == 2 and "batch_norm %x, %mean, %var, None, None {" in text
    with pytest.raises(ParameterError, match="batch_norm writes running_mean, which must be a Parameter"):
        ops.batch_norm(x, Tensor([0.0, 0.0]), var, training=True)
    with pytest.raises(ParameterAliasError, match="batch_norm would write Parameter 'mean' twice"):
        ops.batch_norm(x, mean, mean, training=True)
    with pytest.raises(StateError, match="mean"):
        jax.jit(lambda x: ops.batch_norm(Tensor(x), mean, var, training=True).value())(np.ones((2, 2), np.float32))
    with pytest.raises(ShapeError, match="more than one value per channel"):
        ops.batch_norm(x[:1], mean, var, training=True)
    assert mean.tolist() == [0.0, 1.0]


# Random numbers


def test_a_generator_draws_new_numbers_at_each_call_the_same_on_every_path() -> None:
    def draw(generator: Any) -> Any:
        return ops.standard_normal((3,), generator), ops.uniform((2,), 0.0, 1.0, generator)

    eager, compiled, other = Generator(7), Generator(7), Generator(8)
    jitted = jit(lambda: draw(compiled))
    seen = []
    for _ in range(3):
        first, second = draw(eager), jitted()
        for x, y in zip(first, second):
            np.testing.assert_array_equal(x, y)
        seen.append(first[0].tolist())
    assert jitted.cache_info().traces == 1 if hasattr(jitted.cache_info(), "traces") else True
    assert len({tuple(row) for row in seen}) == 3
    np.testing.assert_array_equal(eager.value(), compiled.value())
    assert draw(other)[0].tolist() not in seen
    eager.manual_seed(7)
    assert draw(eager)[0].tolist() == seen[0]
    assert jit(draw)(Generator(7))[0].tolist() == seen[0]


def test_a_generator_in_a_loop_draws_at_each_turn() -> None:
    generator = Generator(0)

    @jit
    def total() -> Any:
        def turn(carry: Any, index: Any) -> Any:
            return carry, ops.standard_normal((2,), generator)

        return tracejit.scan(turn, Tensor(0.0), Tensor(np.arange(4)))[1]

    rows = total().tolist()
    assert len({tuple(row) for row in rows}) == 4
    twin = Generator(0)
    assert rows == [ops.standard_normal((2,), twin).tolist() for _ in range(4)]


def test_keys_are_explicit_and_generators_are_parameters() -> None:
    key = Tensor(np.uint32([3, 4]))
    assert ops.uniform((2,), 0, 1, key).tolist() == ops.uniform((2,), 0, 1, key).tolist()
    keys = ops.split_key(key, 3)
    assert keys.shape == (3, 2) and len({tuple(k) for k in keys.tolist()}) == 3
    assert ops.uniform((2,), 0, 1, keys[0]).tolist() != ops.uniform((2,), 0, 1, keys[1]).tolist()
    expected = jax.random.uniform(jax.random.key(5, impl="threefry2x32"), (4,))
    same(ops.uniform((4,), 0, 1, Tensor(Generator(5))), expected, 0)
    generator = Generator(2**40 + 1)
    assert generator.tolist() == [256, 1] and generator.dtype is tracejit.uint32 and not generator.requires_grad
    assert repr(generator).startswith("Generator([256,   1], dtype=uint32")
    state = Generator(3)
    taken = state.next_key()
    assert taken.shape == (2,) and state.tolist() != [0, 3] and taken.tolist() != state.tolist()
    for copy in (pickle.loads(pickle.dumps(state)), state.clone()):
        assert type(copy) is Generator and copy.next_key().tolist() == state.clone().next_key().tolist()
    parameter = Parameter(np.uint32([3, 4]))  # a key that is no Generator is only read
    assert ops.uniform((2,), 0, 1, parameter).tolist() == ops.uniform((2,), 0, 1, key).tolist()
    assert parameter.tolist() == [3, 4]


def test_what_random_operators_refuse() -> None:
    generator = Generator(1)
    before = generator.tolist()
    for call, error, message in [
        (lambda: ops.uniform((2,), 0, 1), AttributeTypeError, "uniform misses its operand 'key'"),
        (lambda: ops.uniform((2,), 0, 1, 5), DTypeError, "key must be a Generator or a key"),
        (lambda: ops.uniform((2,), 1, 0, generator, "int32"), AttributeValueError, "no integers from 1"),
        (lambda: ops.randint(3, 3, (2,), generator), AttributeValueError, "no int64 from 3"),
        (lambda: ops.dropout(Tensor([1]), key=generator), DTypeError, "dropout does not take int64"),
        (lambda: ops.dropout(Tensor([1.0])), AttributeTypeError, "dropout misses its operand 'key'"),
        (lambda: Generator(True), AttributeTypeError, "seed must be an int, not a bool"),
        (lambda: Generator(-1), AttributeValueError, "seed must be from 0"),
        (lambda: Generator("a"), AttributeTypeError, "seed must be an int"),
    ]:
        with pytest.raises(error, match=message):
            call()
    assert generator.tolist() == before
    with pytest.raises(StateError, match="generator"):
        jax.jit(lambda: ops.uniform((2,), 0, 1, generator).value())()
    assert generator.tolist() == before


def test_distributions() -> None:
    generator = Generator(11)
    normal = ops.normal((4000,), 3.0, Tensor(2.0), generator).asnumpy()
    assert normal.dtype == np.float32 and abs(normal.mean() - 3) < 0.15 and abs(normal.std() - 2) < 0.15
    rows = ops.normal((1000, 2), Tensor(np.float64([0, 100])), 1.0, generator).asnumpy()
    assert rows.dtype == np.float64 and abs(rows.mean(0) - [0, 100]).max() < 0.2
    uniform = ops.uniform((4000,), -1, 3, generator).asnumpy()
    assert uniform.min() >= -1 and uniform.max() < 3 and abs(uniform.mean() - 1) < 0.1
    assert set(ops.randint(-2, 2, (300,), generator, dtype="int8").tolist()) == {-2, -1, 0, 1}
    ones = ops.bernoulli(ops.zeros((2000,), "int32"), 0.25, generator)
    assert ones.dtype is tracejit.int32 and 0.2 < np.mean(ones.asnumpy()) < 0.3
    p = Tensor(np.float32([0, 1, 1]))
    assert ops.bernoulli(ops.zeros((3,)), p, generator).tolist() == [0.0, 1.0, 1.0]
    assert sorted(ops.randperm(9, generator).tolist()) == list(range(9))
    assert sorted(ops.shuffle(Tensor([[1, 2], [3, 4], [5, 6]]), generator).tolist()) == [[1, 2], [3, 4], [5, 6]]
    drawn = ops.multinomial(Tensor(np.float32([[0, 1, 3], [1, 0, 0]])), 400, key=generator).asnumpy()
    assert drawn.dtype == np.int32 and not (drawn[1] != 0).any() and 0.65 < (drawn[0] == 2).mean() < 0.85
    chosen = ops.multinomial(Tensor(np.float32([1, 2, 3])), 3, False, generator).tolist()
    assert sorted(chosen) == [0, 1, 2]
    assert ops.random_categorical(Tensor(np.float32([[0, 50]])), 5, generator).tolist() == [[1] * 5]


def test_dropout() -> None:
    generator, x = Generator(0), Tensor(np.ones((50, 40), np.float32))
    kept = ops.dropout(x, 0.25, key=generator).asnumpy()
    assert set(np.unique(kept)) == {np.float32(0), np.float32(1 / 0.75)} and 0.7 < (kept > 0).mean() < 0.8
    state = generator.tolist()
    assert (
        ops.dropout(x, 0.25, False, generator).tolist() == ops.dropout(x, 0.25, training=False).tolist() == x.tolist()
    )
    assert ops.dropout(x, 0.0).tolist() == x.tolist() and not ops.dropout(x, 1.0, key=generator).asnumpy().any()
    assert generator.tolist() != state  # the last call drew a key, those that drop nothing did not
    key = Tensor(np.uint32([1, 2]))
    gradient = jax.grad(lambda x: ops.dropout(Tensor(x), 0.5, key=key).sum().value())(np.ones(8, np.float32))
    np.testing.assert_array_equal(gradient, ops.dropout(ops.ones((8,)), 0.5, key=key))


# Shapes that only the lowering knows


def test_what_jax_refuses_is_a_shape_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*operands: Any, **attributes: Any) -> Any:
        raise TypeError("dot_general requires contracting dimensions to have the same shape\nmore")

    monkeypatch.setitem(backend.RULES, "einsum", refuse)
    x = Tensor(np.ones((2, 7, 2), np.float32))
    for run in (lambda f: f, jit):
        with pytest.raises(ShapeError, match=r"einsum has no result for these shapes and equation='aba'") as caught:
            run(lambda x: ops.einsum("aba", x))(x)
        assert "f32[2,7,2]" in str(caught.value) and "dot_general requires" in str(caught.value)
        assert "\nmore" not in str(caught.value)


def test_messages() -> None:
    x = Tensor(np.ones((2, 3), np.float32))
    for call, message in [
        (lambda: ops.einsum("ij,jk->ik", x, x), "axis 'j' is of length 3 and of length 2"),
        (lambda: ops.einsum("ij->ii", x), "repeats a letter"),
        (lambda: ops.einsum("ij,jk", x), "is about 2 operands, not 1"),
        (lambda: ops.einsum("ijk", x), "'ijk' does not name the axes of f32"),
        (lambda: ops.split(x, (1, 3), 1), r"cannot be cut into pieces of \[1, 3\]"),
        (lambda: ops.cross_entropy(x, Tensor(np.int32([0]))), r"target has the shape \[1\]"),
        (lambda: ops.bmm(x, x), r"\[2, 3\] and \[2, 3\] cannot be multiplied"),
        (lambda: ops.interpolate(x, size=2), "mode 'nearest' does not take"),
        (lambda: ops.softmax(x, 2), "axis 2 is out of range for rank 2"),
        (lambda: ops.gelu(x, "fast"), "approximate must be one of 'none', 'tanh'"),
        (lambda: ops.norm(x, 3), "no norm of order 3 over 2 axes"),
        (lambda: ops.repeat_interleave(x, [1, 2, 3], 0), "3 repeats for 2 slices"),
        (lambda: ops.glu(x), "cannot be cut in halves"),
    ]:
        for run in (call, lambda call=call: jit(call)()):
            with pytest.raises((ShapeError, AttributeValueError), match=message) as caught:
                run()
            assert "test_working_set.py" in str(caught.value)


# Laws


def test_what_undoes_what() -> None:
    rng = np.random.default_rng(5)
    x = Tensor(rng.normal(size=(3, 4, 2)).astype(np.float32))
    assert ops.flip(ops.flip(x, (0, 2)), (0, 2)).tolist() == x.tolist()
    assert ops.roll(ops.roll(x, (1, -2), (0, 1)), (-1, 2), (0, 1)).tolist() == x.tolist()
    assert ops.stack(ops.unstack(x, 1), 1).tolist() == ops.concat(ops.split(x, (1, 3), 1), 1).tolist() == x.tolist()
    assert ops.pad(ops.pad(x, (1, 2, 0, 1)), (-1, -2, 0, -1)).tolist() == x.tolist()
    assert (ops.tril(x, 0) + ops.triu(x, 1)).tolist() == x.tolist()
    assert ops.moveaxis(ops.moveaxis(x, (0, 1), (2, 0)), (2, 0), (0, 1)).tolist() == x.tolist()
    assert ops.squeeze(ops.expand_dims(x, 1), 1).tolist() == x.tolist()
    assert ops.diagonal(ops.diag(x.reshape((24,)))).tolist() == x.reshape((24,)).tolist()
    values, places = ops.sort(x, 1)
    assert ops.gather_elements(x, 1, places).tolist() == values.tolist()
    same(ops.std(x, 1) ** 2, ops.var(x, 1).asnumpy(), 1e-5)
    same(ops.exp(ops.log_softmax(x, 1)), ops.softmax(x, 1).asnumpy(), 1e-5)


@pytest.mark.parametrize("policy", ["mindspore2", "numpy2", "jax", "torch", "strict"])
def test_other_policies(policy: str) -> None:
    x = Tensor(np.float32([[0.5, 1.5], [2.0, -1.0]]))
    with tracejit.promotion(policy):
        for run in (lambda f: f, jit):
            assert run(lambda x: ops.clamp(x, 0.0, 1.0))(x).tolist() == [[0.5, 1.0], [1.0, 0.0]]
            assert run(lambda x: ops.where(x > 1, x, 0.0))(x).tolist() == [[0.0, 1.5], [2.0, 0.0]]
            assert run(lambda x: ops.softmax(x, 1))(x).dtype is tracejit.float32
            assert run(lambda x: ops.linspace(0, 1, 2))(x).tolist() == [0.0, 1.0]


def test_dtypes_of_all_floats() -> None:
    """Every operator of floats also takes float16, bfloat16 and float64, and gives what it declares."""
    names = [n for n, op in MINE.items() if len(op.operands) == 1 and op.accepted("T", "r1.1") is not None]
    names = [n for n in names if not any(a.default.__class__.__name__ == "_Required" for a in MINE[n].attributes)]
    kinds = [tracejit.float16, tracejit.bfloat16, tracejit.float64]
    usable = [n for n in names if n not in ("einsum", "meshgrid", "interpolate", "avg_pool3d")]

    @jit
    def run(tensors: Any) -> Any:
        found = []
        for name, x in itertools.product(usable, tensors):
            shaped = x.reshape((1, 1, 4) if "1d" in name else (1, 1, 2, 2)) if "pool" in name else x
            found.append(getattr(ops, name)(shaped))
        return found

    results = run([Tensor(np.ones((2, 2)) * 0.5, dtype) for dtype in kinds])
    for (name, dtype), result in zip(itertools.product(usable, kinds), results, strict=True):
        first = parts(result)[0]
        assert first.dtype in (dtype, tracejit.bool_, tracejit.int32), (name, dtype)
        assert np.isfinite(first.asnumpy().astype("f8")).all() or name in ("acosh", "erfinv"), name
    assert len(usable) > 45 and math.prod([len(kinds), len(usable)]) == len(results)
    assert dt.bfloat16 in RECORDS["softmax"].accepted("T", "r1.1")
