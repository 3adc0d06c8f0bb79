"""Every policy × binary operator × pair: what `result_type` says is what is declared, traced and computed."""

from __future__ import annotations

import functools
import itertools
import random
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import tracejit
from tests.conftest import sample
from tracejit import Tensor, jit, ops, policies
from tracejit import dtypes as dt
from tracejit.abstract import read_arguments
from tracejit.dispatch import split_call
from tracejit.errors import DTypeError, ImplicitCastError, ScalarOverflowError, ShapeError
from tracejit.grids import differences
from tracejit.ir import Literal, TensorType, Value
from tracejit.ops.record import RECORDS, Op
from tracejit.passes.inference import infer
from tracejit.policies import Policy
from tracejit.queries import result_type

SCALARS = (True, 1, 2.5, 1j)
POLICIES = policies.names()[:8]  # not those that other tests register


def is_binary(op: Op) -> bool:
    """Whether the operator converts its two operands together, and they may have axes."""
    groups = [operand.group for operand in op.operands]
    together = len(groups) == 2 and groups[0] == groups[1] is not None and not op.operands[0].exact
    return together and not (op.writes or op.hidden) and shapes_of(op) is not None


class Call(NamedTuple):
    """An operator with operands: dtypes of tensors, or Python scalars; their shapes are those of a sample."""

    op: Op
    operands: tuple[Any, Any]

    def types(self) -> list[Any]:
        shapes, _ = sample_of(self.op)
        pairs = zip(self.operands, shapes, strict=True)
        return [TensorType(x, shape) if isinstance(x, dt.DType) else x for x, shape in pairs]

    def tensors(self) -> list[Any]:
        return [Tensor(np.ones(t.shape), t.dtype) if isinstance(t, TensorType) else t for t in self.types()]

    def __str__(self) -> str:
        return f"{self.op.name}-{self.operands[0]}-{self.operands[1]}"


@functools.cache
def shapes_of(op: Op) -> tuple[list[tuple[int, ...]], dict[str, Any]] | None:
    """Shapes with axes, and attributes, with which the operator works."""
    for example in op.samples:
        args, _ = read_arguments([example.operands])
        if example.raises is None and all(isinstance(arg, TensorType) and arg.shape for arg in args):
            shapes = [arg.shape for arg in args]
            return shapes, split_call(op, names_of(op), shapes, dict(example.attributes))[1]
    return None


def sample_of(op: Op) -> tuple[list[tuple[int, ...]], dict[str, Any]]:
    found = shapes_of(op)
    assert found is not None
    return found


def names_of(op: Op) -> list[str]:
    return [*[operand.name for operand in op.operands], *[attribute.name for attribute in op.attributes]]


def pairs() -> list[tuple[Any, Any]]:
    tensors = list(itertools.product(dt.ALL, repeat=2))
    mixed = list(itertools.product(dt.ALL, SCALARS))
    return [*tensors, *mixed, *[(scalar, dtype) for dtype, scalar in mixed]]


BINARY = [op for op in RECORDS.values() if is_binary(op)]
CALLS = [Call(op, pair) for op in BINARY for pair in pairs()]
#: Those that are run, too: under --full many, else a few of these.
EXECUTED = random.Random(0).sample([(name, call) for name in POLICIES for call in CALLS], 4000)


def attributes_of(op: Op, policy: Policy) -> dict[str, Any]:
    attributes = sample_of(op)[1]
    return {**attributes, "dialect": "2.x"} if op.dialect_matters and policy.dialect == "2.x" else attributes


def declared(call: Call, policy: Policy) -> Any:
    """The dtype of the group and of the result; the class of error where there is none."""
    values = [Value(x) if isinstance(x, TensorType) else Literal(x) for x in call.types()]
    try:
        inference = infer(call.op, values, attributes_of(call.op, policy), policy)
    except (DTypeError, ShapeError):
        return None
    return inference.groups[call.op.operands[0].group], inference.results[0].dtype  # type: ignore[index]


def expected_group(call: Call, policy: Policy) -> dt.DType | None:
    """`result_type`, unless the operator computes in other dtypes only, or takes no scalar."""
    try:
        found = result_type(*call.types(), promotion=policy)
    except DTypeError:
        return None
    op, dialect = call.op, policy.dialect
    if op.name == "approximate_equal" and not all(isinstance(x, TensorType) for x in call.types()):
        return None  # a scalar's shape is not the tensor's, and it does not broadcast
    accepted = op.accepted(op.operands[0].group or "", dialect)
    only = op.tensors_only.of(dialect) if hasattr(op.tensors_only, "of") else op.tensors_only
    scalars = [x for x in call.operands if not isinstance(x, dt.DType)]
    if only and any(not (only == "but bool" and isinstance(x, bool)) for x in scalars):
        return None
    assert isinstance(found, dt.DType)
    return found if accepted is None or found in accepted else None


def test_there_are_many_binary_operators() -> None:
    names = {op.name for op in BINARY}
    assert {"add", "div", "floor_mod", "pow", "greater", "bitwise_and", "matmul", "maximum", "xlogy"} <= names
    assert len(names) > 30


@pytest.mark.parametrize("name", POLICIES)
def test_every_pair_declares_result_type(name: str) -> None:
    policy = policies.get(name)
    for call in CALLS:
        group = expected_group(call, policy)
        found = declared(call, policy)
        assert (found is None) == (group is None), f"{call}: {group} expected, {found} declared"
        if group is not None and found is not None:
            assert found[0] is group, str(call)
            wanted = call.op.result_dtype(0, {call.op.operands[0].group: group}, sample_of(call.op)[1], policy.dialect)
            assert found[1] is wanted, str(call)


def outcome(run: Any) -> Any:
    try:
        return run().dtype
    except (DTypeError, ImplicitCastError, ShapeError):
        return None


@pytest.mark.parametrize(("name", "call"), sample(EXECUTED, 240), ids=str)
def test_declared_traced_and_executed_dtypes_are_one(name: str, call: Call) -> None:
    policy = policies.get(name)
    function = getattr(ops, call.op.name)
    attributes = sample_of(call.op)[1]
    seen: list[Any] = []

    def run(*args: Any) -> Any:
        merged = iter(args)
        operands = [next(merged) if isinstance(x, dt.DType) else x for x in call.operands]
        result = function(*operands, **attributes)
        seen.append(result.dtype)
        return result

    arguments = [tensor for tensor in call.tensors() if isinstance(tensor, Tensor)]
    found = declared(call, policy)
    wanted = None if found is None or refused(call, found[0], policy) else found[1]
    with tracejit.promotion(name):
        assert outcome(lambda: function(*call.tensors(), **attributes)) is wanted, "eager"
        assert outcome(lambda: jit(run)(*arguments)) is wanted, "jitted"
    assert seen == ([found[1]] if found is not None else []), "x.dtype while tracing"


def refused(call: Call, group: dt.DType, policy: Policy) -> bool:
    """Whether `strict` refuses what it declares."""
    operands = [
        policies.Operand(x, x.kind) if isinstance(x, dt.DType) else policies.Operand(None, type(x).__name__)
        for x in call.operands
    ]
    return not all(policy.is_silent(operand, group) for operand in operands)


# NumPy scalars and 0-d values.

NUMPY_SCALARS = [
    np.int64(5), np.int64(300), np.int8(-1), np.uint8(3), np.float32(2.5), np.float64(2.5), np.float64(1e300),
    np.bool_(True), np.complex64(1), ml_dtypes.bfloat16(2),
]  # fmt: skip


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("scalar", NUMPY_SCALARS, ids=repr)
def test_numpy_scalars_count_the_same_everywhere(name: str, scalar: Any) -> None:
    x = Tensor(np.int8([1, 2]))
    with tracejit.promotion(name):
        try:
            wanted = result_type(x, scalar)
        except DTypeError:
            wanted = None
        if wanted is not None and name == "strict" and wanted is not dt.int8:
            wanted = None  # the tensor would be converted
        kind = type(scalar.item()) if scalar.dtype.kind != "V" else float
        try:
            overflows = wanted is dt.int8 and kind is int and abs(int(scalar)) > 127
            ways = (
                lambda: x * scalar,
                lambda: scalar * x,
                lambda: ops.mul(x, scalar),
                lambda: jit(lambda a: a * scalar)(x),
                lambda: jit(lambda a: scalar * a)(x),
            )
            for way in ways:
                assert outcome(way) is wanted
            assert outcome(lambda: jit(lambda a, s: a * s)(x, scalar)) is wanted
        except ScalarOverflowError:
            assert overflows and policies.get(name).out_of_range == "error"


def test_numpy1_knows_the_values_of_zero_d_tensors() -> None:
    x, small, wide = Tensor(np.int8([1, 2])), Tensor(5), Tensor(300)
    with tracejit.promotion("numpy1"):
        for zero_d, dtype in ((small, dt.int8), (wide, dt.int16)):
            assert (x + zero_d).dtype is dtype
            assert jit(lambda a, z=zero_d: a + z)(x).dtype is dtype  # captured: a constant
            assert (x + np.array(zero_d)).dtype is dtype
            assert jit(lambda a, z=zero_d: a + np.array(z))(x).dtype is dtype
            assert result_type(x, zero_d) is dtype
        assert (x + tracejit.Parameter(300)).dtype is dt.int16
        assert (small + Tensor(np.float32(1))).dtype is dt.float64  # scalars alone: declared dtypes


def test_numpy1_says_that_a_traced_scalars_value_is_needed() -> None:
    x = Tensor(np.int8([1, 2]))
    with tracejit.promotion("numpy1"):
        with pytest.raises(DTypeError) as caught:
            jit(lambda a, s: a + s)(x, Tensor(5))
        text = str(caught.value)
        assert "depends on the value of a scalar (int64) that is only known when the program runs" in text
        assert "static_argnames" in text
        assert "jit(lambda a, s: a + s)" in text
        # Where the value decides nothing, none is needed.
        assert jit(lambda a, s: a + s)(Tensor(np.int64([1])), Tensor(5)).dtype is dt.int64
        assert jit(lambda a, s: a + s)(Tensor(np.float64([1])), Tensor(5)).dtype is dt.float64


def test_numpy1_makes_scalar_arguments_static() -> None:
    with tracejit.promotion("numpy1"):
        add = jit(lambda a, s: a + s)
        x = Tensor(np.int8([1, 2]))
        assert [add(x, s).dtype for s in (5, 300, np.int64(5), np.int64(300))] == [
            dt.int8, dt.int16, dt.int8, dt.int16,
        ]  # fmt: skip
        assert add.cache_info().traces == 4


@pytest.mark.parametrize("value", [2**64, 2**70, -(2**64)])
def test_an_int_beyond_64_bits_is_an_overflow(value: int) -> None:
    x = Tensor(np.int8([1, 2]))
    for name in ("mindspore", "numpy1", "numpy2", "jax"):
        with tracejit.promotion(name):
            for way in (lambda: x + value, lambda: jit(lambda a: a + value)(x)):
                with pytest.raises(OverflowError) as caught:
                    way()
                assert "x + value" in str(caught.value) or "a + value" in str(caught.value)


def test_numpy_scalars_that_are_no_numbers() -> None:
    for scalar in (np.str_("a"), np.datetime64("2020-01-01"), np.longdouble(1), np.void(b"ab")):
        for way in (lambda s=scalar: Tensor([1]) + s, lambda s=scalar: jit(lambda a: a + s)(Tensor([1]))):
            with pytest.raises(TypeError, match="not supported"):
                way()


# Blocks, functions, and policies of one's own.


def test_a_policy_holds_for_a_block_a_function_and_a_query() -> None:
    u8, i64, f16 = Tensor(np.uint8([1])), Tensor([1]), Tensor(np.float16([1]))
    assert (i64 * f16).dtype is dt.float16
    with tracejit.promotion("numpy2"):
        assert (i64 * f16).dtype is result_type(i64, f16) is dt.float64
        with tracejit.promotion("torch"):
            assert (i64 * f16).dtype is dt.float16
        assert jit(lambda a, b: a * b, promotion="jax")(i64, f16).dtype is dt.float16
    calls = jit(lambda a, b: a * b)
    assert [calls(i64, f16).dtype, under("numpy2", calls, i64, f16), under("mindspore", calls, i64, f16)] == [
        dt.float16, dt.float64, dt.float16,
    ]  # fmt: skip
    assert calls.cache_info().traces == 2
    assert jit(lambda a: [a * 2.5, with_block(a)])(u8)[1].dtype is dt.float64


def with_block(x: Any) -> Any:
    with tracejit.promotion("numpy2"):
        return x * 2.5


def under(name: str, function: Any, *args: Any) -> Any:
    with tracejit.promotion(name):
        return function(*args).dtype


def test_dialects_of_operators() -> None:
    x = Tensor([7, -7], "int32")
    for name in POLICIES:
        with tracejit.promotion(name):
            quotient = x / 2
            assert quotient.dtype is (dt.float32 if name == "mindspore2" else dt.int32)
            assert quotient.tolist() == ([3.5, -3.5] if name == "mindspore2" else [3, -3])


def test_strict_reports_all_conversions_at_once() -> None:
    @jit(promotion="strict")
    def step(x: Any, y: Any, flag: Any) -> Any:
        z = x * y
        w = z + flag
        return w * 0.5 + y * 2

    i32, f32, b1 = Tensor([1], "int32"), Tensor([1.0]), Tensor([True])
    with pytest.raises(ImplicitCastError) as caught:
        step(i32, f32, b1)
    text = str(caught.value)
    assert "2 implicit conversions in step" in text
    assert "mul: input_x i32[1] to f32" in text
    assert "add: input_y b1[1] to f32" in text
    assert "z = x * y" in text
    assert "w = z + flag" in text
    with tracejit.promotion("strict"):
        for _ in range(2):  # the second call has a program that could not be built
            with pytest.raises(ImplicitCastError, match="mul: input_x i32"):
                i32 * f32


def test_a_policy_of_ones_own_goes_everywhere() -> None:
    name = "test-policy-operators"
    mine = policies.Policy(
        name,
        source="house rules",
        tensors="i8 < i32 < f32",
        scalars={("float", "float32"): "float32", ("int", "int32"): "int32", ("int", "float32"): "float32"},
        rules={"highest-priority": "The house takes the higher one."},
    )
    policies.register(mine)
    i8, i32, f32 = (Tensor(np.ones(2), d) for d in ("int8", "int32", "float32"))
    with tracejit.promotion(name):
        assert (i8 * i32).dtype is result_type("int8", "int32") is dt.int32
        assert jit(lambda a, b: a * b)(i32, f32).dtype is dt.float32
        with pytest.raises(DTypeError, match=name):
            i8 * 2
        graph = jit(lambda a, b: a * b).trace(i32, f32)
        assert name in str(graph)
    assert tracejit.explain_casts(lambda a, b: a * b, mine)(i32, f32)[0].why == "The house takes the higher one."
    assert list(tracejit.compare(lambda a, b: a * b, [mine, "mindspore"])(i32, f32).policies) == [name, "mindspore"]
    assert any(ours.result is None for _, _, ours, _ in differences(mine, policies.get("mindspore")))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: result_type("int8", promotion="numpy3"), "no promotion policy is called 'numpy3'"),
        (lambda: jit(lambda x: x, promotion="numpy3"), "no promotion policy is called 'numpy3'"),
        (lambda: tracejit.compare(lambda x: x, ["numpy3"]), "no promotion policy is called 'numpy3'"),
        (lambda: tracejit.explain_casts(lambda x: x, "numpy3"), "no promotion policy is called 'numpy3'"),
        (lambda: tracejit.report(lambda x: x, policies=["numpy3"]), "no promotion policy is called 'numpy3'"),
        (lambda: tracejit.promotion("numpy3").__enter__(), "no promotion policy is called 'numpy3'"),
        (lambda: tracejit.promotion(3).__enter__(), "3 is no promotion policy"),  # type: ignore[arg-type]
        (lambda: result_type("int7"), "'int7' is not a dtype"),
        (lambda: tracejit.promote_types("int8", "qint8"), "dtype qint8 is not supported"),
        (lambda: result_type(np.zeros(2, [("a", "i4")])), "not supported"),
        (lambda: result_type(np.zeros(2, object)), "not supported"),
        (lambda: Tensor(np.zeros(2, object)), "not supported"),
        (lambda: Tensor(np.zeros(2, [("a", "i4")])), "not supported"),
        (lambda: Tensor([1]) + np.zeros(1, object), "not supported"),
        (lambda: tracejit.explain_casts(lambda x: x + 1)(np.zeros(2, object)), "not supported"),
        (lambda: tracejit.explain_casts(3), "3"),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_named(ask: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        ask()
    assert message in str(caught.value)
    assert isinstance(caught.value, tracejit.errors.TracejitError)
