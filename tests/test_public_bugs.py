"""What went wrong for users of comparable systems, one test for each report: the right answer, as tracejit gives it.

The sources name the public issues; the comments say what another system gave.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import Parameter, Tensor, jit, ops
from tracejit import dtypes as dt


def T(values: Any, dtype: str) -> Tensor:
    return Tensor(np.array(values, dtype))


def check(found: Any, dtype: str, values: list[Any]) -> None:
    assert found.dtype.name == dtype
    assert np.array_equal(np.asarray(found), np.array(values, found.dtype.numpy), equal_nan=dtype.startswith("f"))
    if dtype.startswith("f"):
        assert np.array_equal(np.signbit(np.asarray(found)), np.signbit(np.array(values, found.dtype.numpy)))


def both(function: Any, *args: Any) -> list[Any]:
    """Run a function as it is and jitted; the results must be the same to the bit."""
    eager, jitted = function(*args), jit(function)(*args)
    assert eager.dtype is jitted.dtype
    assert np.asarray(eager).tobytes() == np.asarray(jitted).tobytes()
    return [eager, jitted]


# ---- dtypes ---------------------------------------------------------------------------------------------------------


def test_b01_uint64_with_a_signed_integer() -> None:
    """https://github.com/numpy/numpy/issues/20969, /7126, /5745, /13212."""
    a = np.array([1], np.uint64)
    asked = [(np.uint64, np.int64), (a, 1), (a, -1), (np.uint64(1), 1), (np.array([0]), 2**63)]
    found = [str(tj.result_type(*operands, promotion="numpy1")) for operands in asked]
    assert found == ["float64", "uint64", "float64", "float64", "float64"]
    assert tj.promote_types("u8", "i1", promotion="numpy1") == "float64"
    with tj.promotion("numpy1"):
        assert [(Tensor(a) + s).dtype.name for s in (1, -1)] == ["uint64", "float64"]


def test_b02_result_type_changes_with_argument_order() -> None:
    """https://github.com/numpy/numpy/issues/13754: real NumPy 1.26 bug for bug, as the docs of `result_type` say."""
    u16, i16 = np.uint16, np.int16
    asked = [(u16, i16, np.uint8(127)), (i16, u16, np.uint8(127)), (np.uint8(127), u16, i16), (u16, i16, np.uint8(200))]
    found = [str(tj.result_type(*operands, promotion="numpy1")) for operands in asked]
    assert found == ["int16", "int32", "int16", "int32"]


def test_b04_zero_d_arrays_are_scalars_for_numpy1_only() -> None:
    """https://github.com/numpy/numpy/issues/20323, /10322."""
    z32, o32, o16 = np.ones((), "i4"), np.ones(1, "i4"), np.ones(5, "i2")
    asked = [(z32, o16), (o32, o16), (np.ones((), "f8"), np.ones(3, "f4")), (np.ones((), "f8"), np.ones((), "f4"))]
    found = [str(tj.result_type(*operands, promotion="numpy1")) for operands in asked]
    assert found == ["int16", "int32", "float32", "float64"]
    assert ops.add(Tensor(z32), Tensor(o16)).dtype is dt.int32
    with tj.promotion("numpy1"):
        assert ops.add(Tensor(z32), Tensor(o16)).dtype is dt.int16


def test_b05_values_count_for_zero_d_input_only() -> None:
    """https://github.com/numpy/numpy/issues/30309, /pull/9778."""
    values = (1, [1], -1, 256, 65504.0, 65520.0, float("nan"), 1e50, 2**63, np.array(7, "i8"))
    assert [str(tj.min_scalar_type(value)) for value in values] == [
        "uint8", "int64", "int8", "uint16", "float32", "float32", "float16", "float64", "uint64", "uint8",
    ]  # fmt: skip
    asked = [(127, "i1"), (128, "i1"), (-1, "u1"), (256, "f2"), (256.0, "f2"), (np.array([5], "i8"), "i1"),
             ("i8", "f8"), ("u8", "f4")]  # fmt: skip
    assert [tj.can_cast(*operands) for operands in asked] == [True, False, False, False, True, False, True, False]


def test_b06_half_times_256() -> None:
    """https://github.com/cupy/cupy/pull/2673."""
    h = np.arange(3, dtype=np.float16)
    scalars = (255, 256, 2048, 70000, 256.0, 65505.0, 1e10)
    names = ["float16", "float32", "float32", "float64", "float16", "float32", "float32"]
    assert [str(tj.result_type(h, scalar, promotion="numpy1")) for scalar in scalars] == names
    with tj.promotion("numpy1"):
        assert [(Tensor(h) * scalar).dtype.name for scalar in scalars] == names


def test_b07_three_way_promotion_does_not_depend_on_order() -> None:
    """https://github.com/numpy/numpy/pull/22991: the highest dtype among all first, then one conversion each."""
    assert tj.result_type("u1", "i1", "f2", promotion="numpy1") == "float16"
    assert tj.result_type("f2", "u1", "i1", promotion="numpy1") == "float16"
    pair = tj.promote_types("u1", "i1", promotion="numpy1")
    assert tj.promote_types(pair, "f2", promotion="numpy1") == "float32"
    a, b, c = T([1], "u1"), T([2], "i1"), T([3], "f2")
    assert {ops.concat(order).dtype for order in ((a, b, c), (b, a, c), (c, b, a), (a, c, b))} == {dt.float16}
    assert ops.concat((a, b)).dtype is dt.int16


def test_b08_bool_tensor_plus_a_python_int() -> None:
    """https://www.mindspore.cn/docs/en/r2.0/note/operator_list_implicit.html: int32 by the pages, int64 as shipped."""
    m = Tensor([True, False])
    for result in (m + 3, 3 + m, jit(lambda x: x + 3)(m)):
        check(result, "int32", [4, 3])
    check(m + 3.5, "float32", [4.5, 3.5])
    for add in (lambda x: x + True, lambda x: x + x):
        for call in (add, jit(add)):
            with pytest.raises(TypeError, match=r"add does not take bool"):
                call(m)
    with tj.promotion("mindspore2"):
        check(m + 3, "int64", [4, 3])


def test_b09_bitwise_operators_promote() -> None:
    """https://gitee.com/mindspore/mindspore/pulls/85305: the first operand's dtype was taken."""
    for result in both(ops.bitwise_and, T([255], "u1"), T([-2], "i1")):
        check(result, "int16", [254])
    for result in both(ops.bitwise_and, T([-1], "i1"), T([70000], "i4")):
        check(result, "int32", [70000])
    for result in both(ops.bitwise_or, T([-128], "i1"), T([255], "u1")):
        check(result, "int16", [-1])
    for result in both(lambda a, b: a ^ b, T([255], "u1"), T([-1], "i1")):
        check(result, "int16", [-256])


def test_b11_a_zero_d_tensor_is_no_python_scalar() -> None:
    """https://github.com/pytorch/pytorch/issues/74400, /185605: compiled and eager gave different dtypes."""
    x, s = T([1, 2], "f4"), Tensor(np.float64(0.1))
    f, g = jit(lambda a, b: a + b), jit(lambda a: a + 0.1)
    for result in (x + s, f(x, s), f(x, s)):
        check(result, "float64", [1.1, 2.1])
    for result in (x + 0.1, g(x), g(x)):
        check(result, "float32", [1.1, 2.1])
    check(T([1], "i4") + Tensor(np.float16(0.5)), "float16", [1.5])


def test_b13_a_python_integer_that_does_not_fit() -> None:
    """https://github.com/jax-ml/jax/issues/15505: int32 + 2**40 gave the tensor back."""
    for tensor, scalar in ((T([1], "i4"), 2**40), (T([1], "i1"), 300), (T([1], "u1"), -1)):
        for call in (lambda x, s=scalar: x + s, jit(lambda x, s=scalar: x + s)):
            with pytest.raises(OverflowError) as caught:
                call(tensor)
            assert str(scalar) in str(caught.value)
            assert tensor.dtype.name in str(caught.value)
    for result in both(lambda x: x + (2**62 + 1), T([0], "i8")):
        check(result, "int64", [2**62 + 1])
    check(T([0], "u4") + (2**32 - 1), "uint32", [2**32 - 1])
    with tj.promotion("numpy1"):
        check(T([1], "i4") + 2**40, "int64", [2**40 + 1])
    with tj.promotion("jax"):
        check(T([1], "i1") + 300, "int8", [45])


def test_b14_a_written_parameter_is_never_converted() -> None:
    """https://github.com/jax-ml/jax/issues/27683: an int32 reference += 1.5 stored the float's bits."""
    p, q = Parameter(T([1, 2, 3], "i4"), name="p"), Parameter(T([1, 2, 3], "i1"), name="q")
    calls = [
        lambda: ops.AssignAdd()(p, T([1.5] * 3, "f4")),
        lambda: ops.Assign()(p, T([1.5] * 3, "f4")),
        lambda: ops.Assign()(q, T([1] * 3, "u1")),
        lambda: ops.ScatterNdUpdate()(p, T([[0]], "i4"), T([7.5], "f4")),
        lambda: ops.ScatterUpdate()(p, T([0], "i4"), T([7.5], "f4")),
    ]
    for call in calls:
        for way in (call, jit(call)):
            for kind in (RuntimeError, TypeError):  # MindSpore 1.1 raised one, 2.x the other
                with pytest.raises(kind, match="Parameter"):
                    way()
    with pytest.raises(RuntimeError, match="Parameter"):
        ops.AssignAdd()(Parameter(T([1], "i4")), 1.5)
    check(p, "int32", [1, 2, 3])
    check(q, "int8", [1, 2, 3])
    check(ops.AssignAdd()(Parameter(T([1, 2], "f4")), T([7, 8], "i4")), "float32", [8, 10])


def test_b15_int64_with_float16() -> None:
    """https://github.com/pytorch/pytorch/pull/37294: int64 < float16, by the rule; equality is in the common dtype."""
    for result in both(lambda a, b: a == b, T([2049], "i8"), T([2048], "f2")):
        check(result, "bool", [True])
    for result in both(lambda a, b: a + b, T([70000], "i8"), T([0], "f2")):
        check(result, "float16", [np.inf])
    check(T([2**24 + 1], "i8") == T([2.0**24], "f4"), "bool", [True])
    check(T([1], "i8") + T([1], "f2"), "float16", [2.0])
    (cast,) = tj.explain_casts(lambda a, b: a == b)(T([2049], "i8"), T([2048], "f2"))
    assert cast.judgement == "lossy"
    with tj.promotion("numpy2"):
        check(T([2**24 + 1], "i8") == T([2.0**24], "f4"), "bool", [False])


# ---- values ---------------------------------------------------------------------------------------------------------


def test_b16_abs_of_bool_is_the_identity() -> None:
    """https://gitee.com/mindspore/mindspore/pulls/53234: it was the logical not."""
    m = Tensor([True, False])
    for result in both(ops.abs, m):
        check(result, "bool", [True, False])
    for name, call in (("neg", ops.neg), ("sub", lambda x: x - x), ("pow", lambda x: ops.pow(x, x))):
        for way in (call, jit(call)):
            with pytest.raises(TypeError, match=rf"{name} does not take bool"):
                way(m)


def test_b17_integer_division_by_zero() -> None:
    """https://github.com/jax-ml/jax/issues/11990, /37819: XLA's own answers differ from machine to machine."""
    a, z = T([0, 1, -1, -(2**31)], "i4"), T([0, 0, 0, 0], "i4")
    for result in both(lambda a, b: a // b, a, z):
        check(result, "int32", [0, 2**31 - 1, -(2**31), -(2**31)])
    for result in both(lambda a, b: a % b, a, z):
        check(result, "int32", [0, 0, 0, 0])
    for result in both(lambda a, b: a // b, T([-(2**31)], "i4"), T([-1], "i4")):
        check(result, "int32", [-(2**31)])


def test_b18_float_floor_division_and_modulo() -> None:
    """https://github.com/jax-ml/jax/issues/37752, /40028; https://github.com/numpy/numpy/issues/7709."""
    inf, nan = np.inf, np.nan

    def F(*values: float) -> Tensor:
        return T(values, "f4")

    for result in both(lambda a, b: a // b, F(1, -1), F(0, 0)):
        check(result, "float32", [inf, -inf])
    for result in both(lambda a, b: a // b, F(0), F(0)):
        assert np.isnan(np.asarray(result)).all()
    for result in both(lambda a, b: a // b, F(12, -1), F(inf, inf)):
        check(result, "float32", [0.0, -0.0])
    for result in both(lambda a, b: a % b, F(-1), F(inf)):
        assert np.isnan(np.asarray(result)).all() and nan != nan
    for result in both(lambda a, b: a % b, F(-1, -4, 0, 4), F(1, 2, -3, -2)):
        check(result, "float32", [0.0, 0.0, 0.0, 0.0])


def test_b19_float_to_integer_casts_clamp_on_every_path() -> None:
    """https://github.com/jax-ml/jax/issues/13101; https://github.com/numpy/numpy/issues/19881: undefined in C++."""
    values = np.array([-1, 300, np.nan, np.inf, -np.inf, 3e9], "f4")
    x = Tensor(values)
    answers = {"uint8": [0, 255, 0, 255, 0, 255], "int32": [-1, 300, 0, 2**31 - 1, -(2**31), 2**31 - 1]}
    for name, answer in answers.items():
        ways = (
            lambda: ops.cast(x, name),  # noqa: B023  # called at once
            lambda: jit(lambda x: ops.cast(x, name))(x),  # noqa: B023
            lambda: jit(lambda: ops.cast(x, name))(),  # noqa: B023
            lambda: jit(lambda: ops.cast(Tensor(values), name))(),  # noqa: B023
            lambda: Tensor(values, name),  # noqa: B023
        )
        for way in ways:
            check(way(), name, answer)


def test_b22_complex_to_bool_looks_at_both_parts() -> None:
    """https://gitee.com/mindspore/mindspore/pulls/56598: 1j was False."""
    for result in both(lambda x: ops.cast(x, tj.bool_), T([1j, 0, 1, -1j], "c8")):
        check(result, "bool", [True, False, True, True])
    check(Tensor(np.complex64([1j, 0]), "bool"), "bool", [True, False])


# ---- bitcast --------------------------------------------------------------------------------------------------------


def test_b25_bitcast_between_widths() -> None:
    """https://github.com/tensorflow/tensorflow/issues/655; https://github.com/jax-ml/jax/issues/14499."""

    def ones(shape: tuple[int, ...], dtype: str) -> Tensor:
        return Tensor(np.ones(shape, dtype))

    assert ops.bitcast(ones((2, 3), "f4"), tj.uint8).shape == (2, 3, 4)
    assert ops.bitcast(ones((2, 4), "u1"), tj.float32).shape == (2,)
    assert ops.bitcast(ones((0, 4), "u1"), tj.int32).shape == (0,)
    assert ops.bitcast(ones((3, 0), "u2"), tj.uint8).shape == (3, 0, 2)
    check(ops.bitcast(Tensor(np.float32(1)), tj.uint8), "uint8", [0, 0, 128, 63])
    for shape, source, target, axis in (
        ((2, 3), "u1", tj.float32, 4),
        ((8,), "u1", tj.float32, 4),
        ((), "u1", tj.uint16, 2),
        ((3, 0), "u1", tj.uint16, 2),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=rf"u8\[.*\] cannot be read as {target}: the last axis must be {axis}"):
            ops.bitcast(ones(shape, source), target)


def test_b26_bitcast_and_bool() -> None:
    """https://github.com/jax-ml/jax/pull/14529; https://github.com/openxla/stablehlo/issues/1672: a compiler's dump."""
    for call in (
        lambda: ops.bitcast(Tensor(np.int32(1)), tj.bool_),
        lambda: ops.bitcast(T([1, 2], "u1"), tj.bool_),
        lambda: ops.bitcast(Tensor([True]), tj.uint8),
        lambda: jit(lambda x: ops.bitcast(x, tj.uint8))(Tensor([True])),
        lambda: ops.bitcast(Tensor([True]), tj.bool_),
    ):
        with pytest.raises(TypeError, match="bool"):
            call()


def test_b27_bitcast_of_complex_numbers() -> None:
    """https://github.com/tensorflow/tensorflow/issues/122051: right in eager calls, refused when compiled."""
    c = T([1 + 2j], "c8")
    for target, answer in (
        ("int32", [[1065353216, 1073741824]]), ("float32", [[1.0, 2.0]]), ("int64", [4611686019492741120]),
    ):  # fmt: skip
        for result in both(lambda x, target=target: ops.bitcast(x, target), c):
            check(result, target, answer)
    for result in both(lambda x: ops.bitcast(x, "complex64"), T([[1065353216, 1073741824]], "i4")):
        check(result, "complex64", [1 + 2j])
    for result in both(lambda x: ops.bitcast(x, "complex64"), T([1 + 2j], "c16")):
        check(result, "complex64", [[1.875j, 2j]])


def test_b28_bitcast_refuses_quantized_types_by_name() -> None:
    """https://github.com/tensorflow/tensorflow/issues/59583: an internal error about a missing kernel."""
    u = T([200], "u1")
    for call in (lambda u: ops.bitcast(u, tj.qint8), lambda u: ops.bitcast(ops.bitcast(u, "qint8"), tj.int8)):
        for way in (call, jit(call)):
            with pytest.raises(TypeError, match="qint8"):
                way(u)
