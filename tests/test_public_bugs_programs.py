"""What went wrong for users of comparable systems: gradients, control flow, optimizers, slices; and that all are here.

The docstrings name the public reports; the comments say what another system gave.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import Parameter, Tensor, check_indices, grad, jit, nn, ops, vmap
from tracejit.errors import EscapedValueError, IndexBoundsError
from tracejit.ops.record import RECORDS

#: The numbers of the reports, by what they are about. Each has at least one test, named test_b<number>_...
REPORTS = {
    "dtype": (1, 2, 4, 5, 6, 7, 8, 9, 11, 13, 15),
    "value": (16, 17, 18, 19, 22, 24),
    "bitcast": (25, 26, 27, 28),
    "scatter": (30, 31),
    "grad": (32, 49, 51, 52),
    "state": (35, 38, 39),
    "cache": (41, 54, 55),
    "optimizer": (42, 45),
    "control-flow": (46, 48),
    "error": (14, 58, 59),
}


def test_every_report_has_a_test() -> None:
    sources = [path.read_text() for path in Path(__file__).parent.glob("test_public_bugs*.py")]
    tested = {int(number) for source in sources for number in re.findall(r"^def test_b(\d+)_\w+\(", source, re.M)}
    assert tested == {number for numbers in REPORTS.values() for number in numbers}


def T(values: Any, dtype: str = "f4") -> Tensor:
    return Tensor(np.array(values, dtype))


def check(found: Tensor, dtype: str, values: Any) -> None:
    assert found.dtype.name == dtype
    np.testing.assert_array_equal(np.asarray(found), np.array(values, dtype))


both = pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
Wrap = Callable[..., Any]


# Slices


@both
@pytest.mark.parametrize(
    ("axis", "start", "stop", "step"), [(1, -6, 5, 2), (1, -5, -1, 3), (0, -4, None, 2), (-1, -100, 100, 4)]
)
def test_b24_negative_slices_count_from_the_axis_end(
    wrap: Wrap, axis: int, start: int, stop: int | None, step: int
) -> None:
    """https://gitee.com/mindspore/mindspore/pulls/86434: the number of axes was added to the start, not the length."""
    want = np.zeros((4, 6), "i4")
    place = (slice(start, stop, step),) if axis == 0 else (slice(None), slice(start, stop, step))
    source = np.ones_like(want[place])
    want[place] = 1
    check(wrap(lambda x, y: ops.slice_scatter(x, y, axis, start, stop, step))(T(want * 0, "i4"), Tensor(source)),
          "int32", want)  # fmt: skip

    def assign(x: Tensor, y: Tensor) -> Tensor:
        x[place] = y
        return x

    check(wrap(assign)(T(want * 0, "i4"), Tensor(source)), "int32", want)
    check(wrap(lambda x: x[place])(Tensor(want)), "int32", source)


# Gradients


@pytest.mark.parametrize("name", ["tensor_scatter_update", "item assignment"])
def test_b32_overwritten_values_have_no_gradient(name: str) -> None:
    """https://github.com/tensorflow/tensorflow/issues/56961: both of two writes to one place got a gradient."""

    def update(u: Tensor) -> Tensor:
        base = T([0, 0, 0])
        if name == "tensor_scatter_update":
            return ops.tensor_scatter_update(base, T([[1], [1]], "i4"), u)
        base[T([1, 1], "i4")] = u
        return base

    u = T([7, 9])
    check(update(u), "float32", [0, 9, 0])
    for gradient in (grad(lambda u: update(u).sum()), jit(grad(lambda u: update(u).sum()))):
        check(gradient(u), "float32", [0, 1])


@both
def test_b49_gradients_of_powers_at_zero(wrap: Wrap) -> None:
    """https://github.com/jax-ml/jax/issues/14397, /12409, /12033, /15598: 0 * inf is NaN, so in MindSpore."""

    def slope(function: Callable[[Any], Any], x: float) -> float:
        return wrap(grad(function))(T(x)).item()

    assert [slope(lambda x, n=n: x**n, 0) for n in (0, 0.0, 1, 2, 3)] == [0, 0, 1, 0, 0]
    assert [slope(lambda x: x**2, x) for x in (-2, 0, 3)] == [-4, 0, 6]
    assert [slope(grad(lambda x, n=n: x**n), 0) for n in (0, 1, 2, 3)] == [0, 0, 2, 0]
    by_exponent = wrap(grad(ops.pow, (0, 1)))
    assert [[g.item() for g in by_exponent(T(x), T(0))] for x in (0, 1)] == [[0, 0], [0, 0]]
    np.testing.assert_allclose(by_exponent(T(2), T(0))[1].item(), np.log(2), rtol=1e-6)
    check(wrap(vmap(grad(ops.pow)))(T([0, 0, 2]), T([0, 1, 3])), "float32", [0, 1, 12])


@both
def test_b49_xlogy_at_zero(wrap: Wrap) -> None:
    """https://github.com/jax-ml/jax/issues/37751: as JAX and SciPy; MindSpore computes x * log(y), NaN at 0, 0."""
    zero, three = T(0), T(3)
    by_x, by_y = wrap(grad(ops.xlogy, (0, 1)))(zero, three)
    np.testing.assert_allclose([by_x.item(), by_y.item()], [np.log(3), 0], rtol=1e-6)
    check(wrap(ops.xlogy)(zero, zero), "float32", 0)
    check(wrap(ops.xlogy)(zero, T(np.nan)), "float32", np.nan)


@both
@pytest.mark.parametrize(
    ("x", "y", "largest"),
    [(0, 0, (0.5, 0.5)), (2, 1, (1, 0)), (1, 2, (0, 1)), (np.nan, 1.7, (0, 1)), (1.7, np.nan, (0, 1))],
)
def test_b51_gradients_of_maximum_and_minimum_at_ties_and_nan(
    wrap: Wrap, x: float, y: float, largest: tuple[float, float]
) -> None:
    """https://github.com/jax-ml/jax/issues/37821: split at a tie; NaN: to the one that is returned."""
    assert [g.item() for g in wrap(grad(ops.maximum, (0, 1)))(T(x), T(y))] == list(largest)
    smallest = largest if np.isnan(x + y) or x == y else largest[::-1]
    assert [g.item() for g in wrap(grad(ops.minimum, (0, 1)))(T(x), T(y))] == list(smallest)


@both
def test_b52_gradients_through_conversions_have_their_inputs_dtypes(wrap: Wrap) -> None:
    """https://github.com/jax-ml/jax/issues/7157, /7780; MindSpore gives integers a gradient too, JAX float0."""
    by_x, by_y = wrap(grad(lambda x, y: (x * y).sum(), (0, 1)))(T([1, 1], "f2"), T([3, 3]))
    check(by_x, "float16", [3, 3])
    check(by_y, "float32", [1, 1])
    beside = T([1, 2], "i4")
    check(wrap(grad(lambda x, y: (x + y).sum()))(T([1, 2]), beside), "float32", [1, 1])
    for other in (beside, Tensor([True, False])):
        with pytest.raises(TypeError, match=r"argument 1 is (i32|b1)\[2\]; only floats have a gradient"):
            wrap(grad(lambda x, y: (x + y).sum(), 1))(T([1, 2]), other)


# Optimizers


@both
@pytest.mark.parametrize(("epsilon", "value"), [(1e-6, 0.7327395), (1.0, 0.9272286)])
def test_b42_adagrad_v2_adds_epsilon_outside_the_root(wrap: Wrap, epsilon: float, value: float) -> None:
    """https://gitee.com/mindspore/mindspore/pulls/85121: lr stood for epsilon; 2.10 adds it inside the root."""
    var, accum = (Parameter(np.full((3, 1), x, "f4"), name=name) for name, x in (("var", 1.0), ("accum", 0.1)))
    update = ops.SparseApplyAdagradV2(lr=0.5, epsilon=epsilon)
    wrap(lambda g, i: update(var, accum, g, i))(T([[0.2]]), T([1], "i4"))
    np.testing.assert_allclose(np.ravel(var.asnumpy()), [1, value, 1], rtol=1e-6)
    np.testing.assert_allclose(np.ravel(accum.asnumpy()), [0.1, 0.14, 0.1], rtol=1e-6)


ACCUM = Parameter(T([1, 1, 1]), name="accum")
BAD_VALUES: dict[str, Callable[[Any], Any]] = {
    "a shape": lambda p: ops.AssignSub()(p, T([1, 2])),
    "one element": lambda p: ops.AssignSub()(p, T([1])),
    "a string": lambda p: ops.AssignSub()(p, "x"),
    "None": lambda p: ops.AssignSub()(p, None),
    "no Parameter": lambda p: ops.Assign()(T([1, 2, 3]), T([1, 2, 3])),
    "a gradient's shape": lambda p: ops.ApplyGradientDescent()(p, 0.5, T([1, 2])),
    "a row's shape": lambda p: ops.SparseApplyAdagradV2(0.5, 1e-6)(p, ACCUM, T([[1, 2]]), T([0], "i4")),
}


@both
@pytest.mark.parametrize("kind", BAD_VALUES)
def test_b45_bad_inputs_raise_and_write_nothing(wrap: Wrap, kind: str) -> None:
    """https://gitee.com/mindspore/mindspore/issues/I66PE6, /I8B8IW: a crash of the process."""
    p = Parameter(T([1, 2, 3]), name="p")
    with pytest.raises((ValueError, TypeError), match=r"shape|must be a (tensor|Parameter)"):
        wrap(lambda: BAD_VALUES[kind](p))()
    check(p, "float32", [1, 2, 3])
    check(ACCUM, "float32", [1, 1, 1])


def _adam(p: Parameter, rows: Tensor) -> Any:
    m, v = Parameter(np.zeros((3, 1), "f4"), name="m"), Parameter(np.zeros((3, 1), "f4"), name="v")
    return lambda: ops.FusedSparseAdam()(p, m, v, 0.9, 0.999, 0.1, 0.9, 0.999, 1e-8, T([[1.0]]), rows)


@both
@pytest.mark.parametrize("row", [3, -1])
def test_b45_rows_that_do_not_exist(wrap: Wrap, row: int) -> None:
    """https://gitee.com/mindspore/mindspore/pulls/38221: dropped and never wrapped; an error where checks are on."""
    p = Parameter(np.ones((3, 1), "f4"), name="p")
    step = _adam(p, T([row], "i4"))
    wrap(step)()
    check(p, "float32", np.ones((3, 1)))
    with check_indices(True), pytest.raises(IndexBoundsError, match=f"index {row} is out of bounds"):
        wrap(step)()
    check(p, "float32", np.ones((3, 1)))


# Control flow


@both
@pytest.mark.parametrize(("turns", "sums"), [(3, 4.5), (0, 0.0)])
def test_b46_a_carry_has_the_bodys_dtype_from_the_start(wrap: Wrap, turns: int, sums: float) -> None:
    """https://github.com/jax-ml/jax/pull/9046, /711: a chain of two, and no turn at all; MindSpore cannot join them."""

    def f(x: Tensor, n: Tensor) -> Any:
        return tracejit.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + x, c[2] + c[1]), (0, 0, 0))

    _, total, chained = wrap(f)(T(1.5, "f2"), T(turns, "i4"))
    check(total, "float16", sums)
    check(chained, "float16", sums)


@both
@pytest.mark.parametrize("turns", [3, 0])
def test_b48_writes_in_a_condition_are_refused(wrap: Wrap, turns: int) -> None:
    """https://github.com/pytorch/pytorch/issues/195970, /195327: they were lost; here the line is named."""
    p = Parameter(0, name="count")

    def f(n: Tensor) -> Any:
        def test(i: Tensor) -> Tensor:
            ops.assign_add(p, 1)
            return i < n

        return tracejit.while_loop(test, lambda i: i + 1, T(0, "i4"))

    with pytest.raises(RuntimeError, match=r"assign_add writes Parameter 'count' in a loop's condition"):
        wrap(f)(T(turns, "i4"))
    assert p.item() == 0


@both
@pytest.mark.parametrize("turns", [3, 0])
def test_b48_writes_in_a_body_happen_once_a_turn(wrap: Wrap, turns: int) -> None:
    p = Parameter(T(0, "i4"), name="count")

    def f(n: Tensor) -> Any:
        return tracejit.while_loop(lambda i: i < n, lambda i: (ops.assign_add(p, 1), i + 1)[1], T(0, "i4"))

    check(wrap(f)(T(turns, "i4")), "int32", turns)
    check(p, "int32", turns)


# What the trace saw


def test_b41_globals_are_part_of_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """https://github.com/pytorch/pytorch/issues/115774: as in JAX, and documented; a Parameter is live."""
    f, live = jit(lambda x: x + SETTING["gain"] + LIVE), T([0])
    assert f(live).tolist() == [1]
    monkeypatch.setitem(SETTING, "gain", 5)
    LIVE.set_data(T([10]))
    assert f(live).tolist() == [11]
    assert jit(lambda x: x + SETTING["gain"] + LIVE)(live).tolist() == [15]


SETTING, LIVE = {"gain": 1}, Parameter(T([0]), name="live")


def test_b58_a_traced_value_on_a_cell_names_the_function_and_the_line() -> None:
    """https://github.com/jax-ml/jax/issues/3086: the value of the next call was old, or the message was internal."""

    class Net(nn.Cell):
        @jit
        def construct(self, x: Tensor) -> Tensor:
            self.last = x * 2
            return x + 3

    net = Net()
    assert [net(T([1])).tolist() for _ in range(3)] == [[4]] * 3
    for use in (lambda: net.last + 1, lambda: np.asarray(net.last), lambda: bool(net.last), lambda: f"{net.last:.2f}"):
        with pytest.raises(EscapedValueError, match=r"(?s)construct .*escaped from jit.*self\.last = x \* 2"):
            use()


def with_bool(value: Any) -> Any:
    """Return a value with True for its (first) int; None if it has none."""
    if type(value) is int:
        return True
    if isinstance(value, tuple | list) and value and (first := with_bool(value[0])) is not None:
        return type(value)([first, *value[1:]])
    return None


#: Attributes that hold an element's value, or for which MindSpore takes a bool.
TAKE_BOOL = ("fill_value", "value", "ddof")
INTEGERS = [
    (name, attribute.name, wrong)
    for name, op in RECORDS.items()
    for attribute in op.attributes
    for value in [attribute.default, *[s.attributes.get(attribute.name) for s in op.samples if not s.raises]]
    if attribute.name not in TAKE_BOOL and (wrong := with_bool(value)) is not None
]


def test_b59_bool_is_no_axis_size_or_shape_of_any_operator() -> None:
    """https://gitee.com/mindspore/mindspore/pulls/68922, /58803: True was taken for 1."""
    assert len(INTEGERS) > 300
    for name, attribute, wrong in INTEGERS:
        check = next(a.check for a in RECORDS[name].attributes if a.name == attribute)
        with pytest.raises((TypeError, ValueError)):
            print(f"{name}: {attribute} = {wrong!r} gives {check(wrong)!r}")


@both
@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.reshape((True, 2)), lambda x: x.sum(axis=True), lambda x: x.transpose((True, False)),
        lambda x: ops.softmax(x, axis=True), lambda x: ops.zeros((True, 2)), lambda x: ops.concat((x, x), True),
        lambda x: ops.topk(x, True), lambda x: ops.tile(x, (True, 1)), lambda x: x.squeeze(False),
        lambda x: tracejit.scan(lambda c, _: (c, c), x, length=True),
        lambda x: tracejit.scan(lambda c, _: (c, c), x, x, unroll=True), lambda x: vmap(lambda v: v, out_axes=True)(x),
    ],
)  # fmt: skip
def test_b59_bool_as_an_argument_is_named(wrap: Wrap, call: Wrap) -> None:
    with pytest.raises((TypeError, ValueError), match=r"bool|True|False"):
        wrap(call)(T([[1, 2]]))
