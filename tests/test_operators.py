"""Every operator, from its record: samples on every path against NumPy, its forms, its errors, its special values.

The records drive the tests: an operator that is added is tested here without another line.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import tracejit
from tracejit import Parameter, Tensor, jit, ops
from tracejit import dtypes as dt
from tracejit.bridge import backend
from tracejit.dispatch import as_value
from tracejit.errors import IndexBoundsError, StateError, TracejitError
from tracejit.ops.record import CLASSES, RECORDS, Op, Sample
from tracejit.passes.inference import infer
from tracejit.policies import get
from tracejit.tracer import Builder

PUBLIC = [name for name, op in RECORDS.items() if not op.hidden]
TOLERANCE = {"bfloat16": 2e-2, "float16": 5e-3, "float32": 2e-6, "float64": 1e-12, "complex64": 2e-6}
SYMBOLS = {
    "__add__": operator.add, "__sub__": operator.sub, "__mul__": operator.mul, "__truediv__": operator.truediv,
    "__floordiv__": operator.floordiv, "__mod__": operator.mod, "__pow__": operator.pow, "__and__": operator.and_,
    "__or__": operator.or_, "__xor__": operator.xor, "__matmul__": operator.matmul, "__eq__": operator.eq,
    "__ne__": operator.ne, "__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt, "__ge__": operator.ge,
}  # fmt: skip
IN_PLACE = {
    name: getattr(operator, name.replace("__", "__i", 1)) for name in SYMBOLS
    if hasattr(operator, name.replace("__", "__i", 1))
}  # fmt: skip


# Samples: abstract operands such as `f32[2,3] i32[2] 2.5` become values


def host_value(text: str, role: str, position: int) -> Any:
    """Return the NumPy array or Python scalar that an operand of a sample stands for."""
    code, bracket, lengths = text.partition("[")
    if not bracket:
        return ast.literal_eval(text)
    shape = tuple(int(length) for length in lengths.rstrip("]").split(",") if length)
    dtype = dt.BY_CODE[code]
    count = math.prod(shape)
    if role == "index":
        values = np.arange(count) % 2
    elif dtype.kind == "bool":
        values = np.arange(count) % 3 != position
    elif dtype.kind == "uint":
        values = (np.arange(count) * 5 + position * 3) % 7
    elif dtype.kind == "int":
        values = (np.arange(count) * 5 + position * 3) % 9 - 4
    else:
        values = ((np.arange(count) * 7 + position * 3) % 13 - 5) * 0.75
    return np.asarray(values).astype(dtype.numpy).reshape(shape)


def host_values(op: Op, sample: Sample) -> list[Any]:
    texts = sample.operands.split()
    roles = [spec.role for spec in op.spread(len(texts))] + ["read"] * len(texts)
    return [host_value(text, roles[i], i) for i, text in enumerate(texts)]


def operands_of(op: Op, values: Sequence[Any]) -> list[Any]:
    """Return fresh Tensors, Parameters where the operator writes, and Python scalars."""
    made = [Tensor(value) if isinstance(value, np.ndarray) else value for value in values]
    return [Parameter(x, name=f"p{i}") if i in op.writes else x for i, x in enumerate(made)]


def call(op: Op, operands: Sequence[Any], attributes: Any) -> Any:
    """Call the operator's function."""
    function = getattr(ops, op.name)
    if any(spec.variadic for spec in op.operands):
        return function(**{op.operands[0].name: list(operands)}, **attributes)
    names = [spec.name for spec in op.operands[: len(operands)]]
    if op.call_order[: len(names)] == tuple(names):
        return function(*operands, **attributes)
    return function(**dict(zip(names, operands)), **attributes)


def samples_of(op: Op, raising: bool = False) -> list[Sample]:
    return [sample for sample in op.samples if (sample.raises is not None) == raising]


def on_tensors(op: Op, values: Sequence[Any], attributes: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Return the call as a function of its Tensors only, with the scalars written in it, and the Tensors."""
    given = operands_of(op, values)
    places = [i for i, operand in enumerate(given) if isinstance(operand, Tensor)]

    def function(*tensors: Any) -> Any:
        operands = list(given)
        for place, tensor in zip(places, tensors):
            operands[place] = tensor
        return call(op, operands, attributes)

    return function, [given[i] for i in places]


def declare(op: Op, operands: Sequence[Any], attributes: Any, policy: str = "mindspore") -> Any:
    """Return what inference says of a call, without running it."""
    builder = Builder("declare")
    absent = [None] * (len(op.operands) - len(operands))
    values = [as_value(builder, operand) for operand in [*operands, *absent]]
    return infer(op, values, attributes, get(policy))


def attributes_of(op: Op, sample: Sample) -> dict[str, Any]:
    given = {a.name: op.default(a) for a in op.attributes}
    return {name: op.check_attribute(name, value) for name, value in {**given, **sample.attributes}.items()}


def parts(results: Any) -> tuple[Any, ...]:
    """Return the results of an operator, of which most have one."""
    return results if isinstance(results, tuple) else (results,)


def expected_values(op: Op, values: Sequence[Any], sample: Sample) -> tuple[np.ndarray, ...]:
    """Return what the record's NumPy reference gives for the operands in the dtypes that inference promotes them to."""
    attributes = attributes_of(op, sample)
    with_dialect = {**attributes, "dialect": "r1.1"} if op.dialect_matters else attributes
    inference = declare(op, operands_of(op, values), with_dialect)
    converted = [
        value if conversion is None else np.asarray(value).astype(conversion.to.numpy)
        for value, conversion in zip(values, inference.conversions)
    ]
    with np.errstate(all="ignore"):
        return tuple(map(np.asarray, parts(op.reference(*converted, **attributes))[: op.returns]))


def host(results: Any) -> tuple[np.ndarray, ...]:
    return tuple([np.asarray(result) for result in parts(results)])


def assert_same(actual: Any, expected: Any, exact: bool = False) -> None:
    if isinstance(expected, tuple):
        for one, wanted in zip(parts(actual), expected, strict=True):
            assert_same(one, wanted, exact)
        return
    actual = np.asarray(actual)
    assert actual.shape == expected.shape
    if exact or expected.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected)
    else:
        tolerance = TOLERANCE.get(str(actual.dtype), 1e-12)
        wide = "c16" if np.iscomplexobj(expected) else "f8"
        np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), tolerance, tolerance)


# The records


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_complete(name: str) -> None:
    op = RECORDS[name]
    assert name in backend.RULES or name in backend.REGION_RULES
    assert op.doc.rstrip().endswith(".")
    if not op.hidden:
        assert samples_of(op)
        assert samples_of(op, raising=True) or not op.accepts
        assert op.reference is not None or op.takes_key
        assert getattr(ops, name).__doc__.startswith(op.doc)
        assert callable(getattr(ops, op.class_name))


def test_no_lowering_without_a_record() -> None:
    assert set(backend.RULES) <= set(RECORDS)


def test_aliases_are_classes_too() -> None:
    x = Tensor([1.0, 2.0])
    assert CLASSES["TensorAdd"] is CLASSES["Add"]
    assert_same(ops.TensorAdd()(x, x), np.float32([2, 4]))


class Results(NamedTuple):
    """What the samples of one operator gave on each path."""

    eager: list[Any]
    jitted: list[Any]
    traced: list[Any]
    under_jax: list[Any]


@functools.cache
def results(name: str) -> Results:
    """Run an operator's samples eagerly, in one jitted function, and in one function under `jax.jit`."""
    op, traced = RECORDS[name], []
    cases = [(host_values(op, sample), sample.attributes) for sample in samples_of(op)]
    eager = [call(op, operands_of(op, values), attributes) for values, attributes in cases]
    functions = [on_tensors(op, values, attributes) for values, attributes in cases]

    def run(groups: Sequence[Sequence[Any]]) -> list[Any]:
        returned = [function(*group) for (function, _), group in zip(functions, groups)]
        traced[:] = [[(x.dtype, x.shape) for x in parts(found)] for found in returned]
        return returned

    jitted = jit(run)([tensors for _, tensors in functions])
    types = list(traced)
    if op.writes:
        return Results(eager, jitted, types, jitted)
    with jax.enable_x64(True):
        under_jax = jax.jit(run)([tensors for _, tensors in functions])
    return Results(eager, jitted, types, under_jax)


@pytest.mark.sweep(90)
@pytest.mark.parametrize("name", PUBLIC)
def test_samples_are_the_reference_on_every_path(name: str) -> None:
    op, found = RECORDS[name], results(name)
    for sample, eager, jitted, under_jax in zip(
        samples_of(op), found.eager, found.jitted, found.under_jax, strict=True
    ):
        if op.reference is not None:
            assert_same(eager, expected_values(op, host_values(op, sample), sample))
        assert_same(jitted, host(eager), exact=True)
        assert_same(under_jax, host(eager), exact=True)


@pytest.mark.sweep(90)
@pytest.mark.parametrize("name", PUBLIC)
def test_declared_is_traced_is_executed(name: str) -> None:
    op, found = RECORDS[name], results(name)
    for sample, eager, jitted, traced, under_jax in zip(samples_of(op), *found, strict=True):
        attributes = attributes_of(op, sample)
        attributes |= {"dialect": "r1.1"} if op.dialect_matters else {}
        declared = declare(op, operands_of(op, host_values(op, sample)), attributes).results[: op.returns]
        assert [(type_.dtype, type_.shape) for type_ in declared] == traced
        for executed in map(parts, (eager, jitted, under_jax)):
            assert [(x.dtype, x.shape) for x in executed] == traced
            assert [x.asnumpy().dtype for x in executed] == [type_.dtype.numpy for type_ in declared]


@pytest.mark.parametrize("name", [name for name in PUBLIC if RECORDS[name].writes])
def test_a_writing_operator_writes_and_returns_the_parameter(name: str) -> None:
    op = RECORDS[name]
    for sample in samples_of(op):
        values = host_values(op, sample)
        expected = expected_values(op, values, sample)
        operands = operands_of(op, values)
        written = [operands[i] for i in op.writes]
        returned = parts(call(op, operands, sample.attributes))
        assert all(one is parameter for one, parameter in zip(returned, written[: op.returns], strict=True))
        assert_same(tuple(written[: op.returns]), expected)
        function, tensors = on_tensors(op, values, sample.attributes)
        returned = parts(jit(function)(*tensors))
        changed = [tensors[i] for i in op.writes][: op.returns]
        assert_same(tuple(changed), expected)
        assert_same(returned, expected)
        assert all(type(one) is Tensor for one in returned)
        with pytest.raises(StateError, match="p0"):
            jax.jit(lambda function=function, tensors=tensors: function(*tensors))()
        assert_same(tuple(changed), expected)


@pytest.mark.sweep(90)
@pytest.mark.parametrize("name", PUBLIC)
def test_class_and_method_are_the_function(name: str) -> None:
    op, found = RECORDS[name], results(name)
    for sample, expected in zip(samples_of(op), found.eager):
        values, attributes = host_values(op, sample), dict(sample.attributes)
        at_call = {key: attributes.pop(key) for key in list(attributes) if key in op.call_order}
        made = getattr(ops, op.class_name)(**attributes)
        operands = operands_of(op, values)
        names = [spec.name for spec in op.operands]
        named = {names[0]: operands} if op.operands and op.operands[0].variadic else dict(zip(names, operands))
        expected = host(expected)
        assert_same(made(**named, **at_call), expected, exact=True)
        for method in op.methods:
            operands = operands_of(op, values)
            if not isinstance(operands[0], Tensor) or (method in SYMBOLS and sample.attributes):
                continue
            if method in SYMBOLS:
                result = SYMBOLS[method](*operands)
            else:
                result = getattr(operands[0], method)(**dict(zip(names[1:], operands[1:])), **sample.attributes)
            assert_same(result, expected, exact=True)


@pytest.mark.parametrize("method", sorted(SYMBOLS))
def test_reflected_and_in_place(method: str) -> None:
    symbol = SYMBOLS[method]
    op = next(op for op in RECORDS.values() if method in op.methods)
    array = np.array([[3, -2], [5, 4]], np.int32)
    x = Tensor(array)
    if method != "__matmul__":
        expected = getattr(ops, op.name)(3, x).asnumpy()
        for scalar in (3, np.int64(3), np.int32(3)):
            assert_same(symbol(scalar, x), expected, exact=True)
        assert_same(jit(lambda x: symbol(3, x))(x), expected, exact=True)
    other = np.array([[1, 2], [2, -1]], np.int16)
    both = symbol(Tensor(other), x).asnumpy()
    for left in (other, jax.numpy.asarray(other)):  # neither NumPy nor JAX takes the operation over
        result = symbol(left, x)
        assert type(result) is Tensor
        assert_same(result, both, exact=True)
    if method in IN_PLACE:
        p = q = Parameter(x, name="p")
        expected = symbol(x, Tensor(other)).asnumpy()
        p = IN_PLACE[method](p, Tensor(other))
        assert p is q
        assert_same(p.asnumpy(), expected, exact=True)
        y = z = Tensor(array)
        y = IN_PLACE[method](y, Tensor(other))
        assert y is not z
        assert_same(z, array, exact=True)
        assert_same(y, expected, exact=True)


def test_unary_symbols() -> None:
    x, mask = Tensor(np.int8([-128, 0, 5])), Tensor([True, False])
    assert_same(-x, np.int8([-128, 0, -5]))
    assert_same(abs(x), np.int8([-128, 0, 5]))
    assert_same(~x, np.int8([127, -1, -6]))
    assert_same(~mask, np.array([False, True]))
    assert_same(+x, x.asnumpy())
    assert_same(-Tensor(np.uint8([1, 0])), np.uint8([255, 0]))


def check_error(op: Op, sample: Sample, function: Callable[..., Any], tensors: Sequence[Any]) -> None:
    with pytest.raises(sample.raises) as caught:
        function(*tensors)
    assert isinstance(caught.value, TracejitError)
    assert type(caught.value) is sample.raises
    words = str(caught.value).partition("\n")[0].replace("_", "").lower()
    assert op.name.replace("_", "") in words or op.class_name.lower() in words or "dtype" in words


@pytest.mark.sweep(90)
@pytest.mark.parametrize("name", PUBLIC)
def test_error_samples(name: str) -> None:
    op = RECORDS[name]
    cases = [on_tensors(op, host_values(op, s), s.attributes) for s in samples_of(op, raising=True)]

    @jit(check_indices=True)
    def traced(groups: Any) -> None:
        for sample, (function, _), tensors in zip(samples_of(op, raising=True), cases, groups, strict=True):
            if sample.raises is not IndexBoundsError:
                check_error(op, sample, function, tensors)

    traced([tensors for _, tensors in cases])
    for sample, (function, tensors) in zip(samples_of(op, raising=True), cases, strict=True):
        before = [tensor.asnumpy() for tensor in tensors]
        check_error(op, sample, function, tensors)
        if sample.raises is IndexBoundsError:
            check_error(op, sample, jit(function, check_indices=True), tensors)
        for tensor, values in zip(tensors, before):  # nothing was lost
            np.testing.assert_array_equal(tensor.asnumpy(), values)


@pytest.mark.parametrize("bad", [None, "abc", [1.0, 2.0, 3.0], (1.0,), {}], ids=repr)
@pytest.mark.parametrize("symbol", [operator.add, operator.eq, operator.lt, operator.pow], ids=lambda f: f.__name__)
def test_operands_that_are_no_tensors(symbol: Callable[..., Any], bad: Any) -> None:
    x = Tensor([1.0, 2.0, 3.0])
    for run in (lambda: symbol(x, bad), lambda: symbol(bad, x), lambda: jit(lambda x: symbol(x, bad))(x)):
        with pytest.raises(TypeError, match="input_"):
            run()


# Special values, each binary operator over all dtypes that it accepts. The references below are written down
# separately from the records', in exact integers and in longer floats.


def integers_of(dtype: dt.DType) -> tuple[np.ndarray, np.ndarray]:
    low, high = dt.integer_range(dtype)
    edges = [0, 1, 2, 3, 5, 7, 100, high // 2, high - 1, high]
    edges += [-1, -2, -3, -7, low + 1, low] if low else [high - 2, high // 3]
    pairs = [(a, b) for a in edges for b in edges]
    return tuple(np.array(column, dtype.numpy) for column in zip(*pairs))


def floats_of(dtype: dt.DType) -> tuple[np.ndarray, np.ndarray]:
    big, tiny = float(jax.numpy.finfo(dtype.numpy).max), float(jax.numpy.finfo(dtype.numpy).tiny)
    edges = [0.0, -0.0, 1.0, -1.0, 0.1, 0.3, 2.0, -2.5, 3.0, 7.0, -7.5, 300.0, big, -big, tiny, np.inf, -np.inf, np.nan]
    pairs = [(a, b) for a in edges for b in edges]
    return tuple(np.array(column).astype(dtype.numpy) for column in zip(*pairs))


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def by_zero(a: int, low: int, high: int) -> int:
    return high if a > 0 else low if a < 0 else 0


def power(a: int, b: int) -> int:
    if b >= 0:
        return pow(a, b, 2**64)
    return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)


ON_INTEGERS: dict[str, Callable[[int, int, int, int], Any]] = {
    "add": lambda a, b, low, high: a + b,
    "sub": lambda a, b, low, high: a - b,
    "mul": lambda a, b, low, high: a * b,
    "div": lambda a, b, low, high: truncated(a, b) if b else by_zero(a, low, high),
    "real_div": lambda a, b, low, high: truncated(a, b) if b else by_zero(a, low, high),
    "truncate_div": lambda a, b, low, high: truncated(a, b) if b else by_zero(a, low, high),
    "floor_div": lambda a, b, low, high: a // b if b else by_zero(a, low, high),
    "div_no_nan": lambda a, b, low, high: truncated(a, b) if b else 0,
    "floor_mod": lambda a, b, low, high: a % b if b else 0,
    "mod": lambda a, b, low, high: a - truncated(a, b) * b if b else 0,
    "truncate_mod": lambda a, b, low, high: a - truncated(a, b) * b if b else 0,
    "pow": lambda a, b, low, high: power(a, b),
    "maximum": lambda a, b, low, high: max(a, b),
    "minimum": lambda a, b, low, high: min(a, b),
    "squared_difference": lambda a, b, low, high: (a - b) ** 2,
    "atan2": lambda a, b, low, high: int(math.atan2(a, b)),
    "equal": lambda a, b, low, high: a == b,
    "not_equal": lambda a, b, low, high: a != b,
    "greater": lambda a, b, low, high: a > b,
    "greater_equal": lambda a, b, low, high: a >= b,
    "less": lambda a, b, low, high: a < b,
    "less_equal": lambda a, b, low, high: a <= b,
    "bitwise_and": lambda a, b, low, high: a & b,
    "bitwise_or": lambda a, b, low, high: a | b,
    "bitwise_xor": lambda a, b, low, high: a ^ b,
}


def wrapped(value: int, dtype: dt.DType) -> int:
    value %= 2**dtype.bits
    return value - 2**dtype.bits if dtype.kind == "int" and value >= 2 ** (dtype.bits - 1) else value


def exact_integers(name: str, x: np.ndarray, y: np.ndarray, dtype: dt.DType) -> np.ndarray:
    low, high = dt.integer_range(dtype)
    values = [ON_INTEGERS[name](int(a), int(b), low, high) for a, b in zip(x, y)]
    if RECORDS[name].results[0] == "bool":
        return np.array(values)
    return np.array([wrapped(value, dtype) for value in values], dtype.numpy)


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.longdouble if x.dtype.itemsize == 8 else np.float64)


def floored(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.floor(wide(x) / wide(y))


ON_FLOATS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "real_div": np.divide,
    "div_no_nan": lambda x, y: np.where(y == 0, 0, x / y),
    "floor_div": floored,
    "truncate_div": lambda x, y: np.trunc(x / y),
    "truncate_mod": lambda x, y: np.fmod(wide(x), wide(y)),
    "pow": lambda x, y: np.power(wide(x), wide(y)),
    "maximum": lambda x, y: np.where(x > y, x, y),
    "minimum": lambda x, y: np.where(x < y, x, y),
    "squared_difference": lambda x, y: (x - y) * (x - y),
    "atan2": lambda x, y: np.arctan2(wide(x), wide(y)),
    "xdivy": lambda x, y: np.where(x == 0, 0, x / y),
    "xlogy": lambda x, y: np.where((x == 0) & (y == y), 0, wide(x) * np.log(wide(y))),
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "approximate_equal": lambda x, y: np.abs(x - y) < np.asarray(1e-5, x.dtype),
}


def modulus(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return MindSpore's x - round(x / y) * y: fmod with the sign of y (FloorMod) or x (Mod), NaN for infinite y."""
    rest = np.fmod(wide(x), wide(y))
    if name == "floor_mod":
        rest = np.where((rest != 0) & ((rest < 0) != (y < 0)), rest + wide(y), rest)
    rest = np.where(np.isinf(wide(y)), np.nan, rest)
    return np.where((x == 0) & (y == 0), 0, rest) if name == "mod" else rest


BINARY = [
    CLASSES[name].name
    for name in (
        "Add Sub Mul Div RealDiv DivNoNan FloorDiv FloorMod Mod TruncateDiv TruncateMod Pow Maximum Minimum "
        "SquaredDifference Atan2 Xdivy Xlogy Equal NotEqual Greater GreaterEqual Less LessEqual ApproximateEqual "
        "LogicalAnd LogicalOr BitwiseAnd BitwiseOr BitwiseXor"
    ).split()
]


def accepted(name: str, kinds: str) -> list[dt.DType]:
    return [dtype for dtype in dt.ALL if dtype in RECORDS[name].accepted("T", "r1.1") and dtype.kind in kinds.split()]


def assert_equal_bits(x: np.ndarray, y: np.ndarray) -> None:
    assert x.dtype == y.dtype
    assert x.tobytes() == y.tobytes()


def run_both(name: str, operands: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
    """Run an operator on several pairs at once, jitted; the first pair eagerly too, with the same result."""
    function = getattr(ops, name)
    pairs = [(Tensor(x), Tensor(y)) for x, y in operands]
    jitted = jit(lambda pairs: [function(x, y) for x, y in pairs])(pairs)
    assert_equal_bits(function(*pairs[0]).asnumpy(), jitted[0].asnumpy())
    return [result.asnumpy() for result in jitted]


def test_the_tables_of_special_values_name_every_binary_operator() -> None:
    logical = {"logical_and", "logical_or"}
    for name in set(BINARY) - logical:
        assert (name in ON_INTEGERS) == bool(accepted(name, "int")), name
        assert (name in ON_FLOATS or name in ("mod", "floor_mod")) == bool(accepted(name, "float")), name
    assert len(BINARY) == 30


@pytest.mark.parametrize("name", sorted(ON_INTEGERS))
def test_integers(name: str) -> None:
    dtypes = accepted(name, "int uint")
    pairs = [integers_of(dtype) for dtype in dtypes]
    for dtype, (x, y), result in zip(dtypes, pairs, run_both(name, pairs), strict=True):
        np.testing.assert_array_equal(result, exact_integers(name, x, y, dtype), err_msg=dtype.name)


@pytest.mark.parametrize("name", sorted([*ON_FLOATS, "mod", "floor_mod"]))
def test_floats(name: str) -> None:
    dtypes = accepted(name, "float")
    pairs = [floats_of(dtype) for dtype in dtypes]
    for dtype, (x, y), result in zip(dtypes, pairs, run_both(name, pairs), strict=True):
        with np.errstate(all="ignore"):
            expected = np.asarray(ON_FLOATS[name](x, y) if name in ON_FLOATS else modulus(name, x, y))
            expected = expected if expected.dtype == bool else expected.astype(dtype.numpy)
        if dtype.kind == "float" and expected.dtype != bool:
            check_floats(result, expected, dtype, f"{name} {dtype}", x, y)
        else:
            np.testing.assert_array_equal(result, expected)


def check_floats(result: np.ndarray, expected: np.ndarray, dtype: dt.DType, what: str, *operands: np.ndarray) -> None:
    """Compare within the tolerance; subnormal results may be flushed to zero."""
    tiny, tolerance = float(jax.numpy.finfo(dtype.numpy).tiny), TOLERANCE[dtype.name]
    got, want = result.astype("f8"), expected.astype("f8")
    got, want = (np.where(np.abs(z) < 2 * tiny, 0, z) for z in (got, want))
    wrong = ~(np.isclose(got, want, tolerance, 0) | ((got != got) & (want != want)))
    cases = [(*(float(z[i]) for z in operands), float(got[i]), float(want[i])) for i in np.flatnonzero(wrong)]
    assert not cases, f"{what}: operands, result, expected: {cases[:8]} ({len(cases)})"


SIGNS = [  # operator, operands, whether the zero that results is negative
    ("maximum", 0.0, -0.0, True),
    ("maximum", -0.0, 0.0, False),
    ("minimum", 0.0, -0.0, True),
    ("minimum", -0.0, 0.0, False),
    ("real_div", 1.0, -np.inf, True),
    ("real_div", -0.0, 5.0, True),
    ("floor_div", -1.0, np.inf, True),
    ("truncate_mod", -4.0, 2.0, True),
    ("floor_mod", -4.0, 2.0, False),
    ("mod", -4.0, 2.0, False),
    ("atan2", -0.0, 1.0, True),
]


@pytest.mark.parametrize("dtype", [dt.float16, dt.float32, dt.float64], ids=str)
def test_zero_keeps_its_sign_as_the_rules_say(dtype: dt.DType) -> None:
    def run(x: Any, y: Any) -> list[Any]:
        return [getattr(ops, name)(x[i], y[i]) for i, (name, *_) in enumerate(SIGNS)]

    x, y = (Tensor([case[i] for case in SIGNS], dtype) for i in (1, 2))
    negative = [bool(np.signbit(result.asnumpy())) for result in jit(run)(x, y)]
    assert negative == [case[3] for case in SIGNS]


def test_division_by_negative_zero_is_ieee() -> None:
    x, y = Tensor([1.0, -1.0, 0.0]), Tensor([-0.0, -0.0, -0.0])
    for name in ("div", "real_div", "floor_div", "truncate_div", "xdivy"):
        expected = np.float32([-np.inf, np.inf, 0.0 if name == "xdivy" else np.nan])
        np.testing.assert_array_equal(getattr(ops, name)(x, y).asnumpy(), expected)


@pytest.mark.parametrize(
    "name", ["equal", "not_equal", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or"]
)
def test_bool(name: str) -> None:
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    table = {"equal": x == y, "not_equal": x != y, "and": x & y, "or": x | y, "xor": x ^ y}
    np.testing.assert_array_equal(run_both(name, [(x, y)])[0], table.get(name, table.get(name.rpartition("_")[2])))


def test_bool_in_the_later_dialect() -> None:
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    expected = {
        "add": x | y, "mul": x & y, "sub": x ^ y, "floor_div": [True, True, False, False], "maximum": x | y,
        "truncate_div": [True, True, False, False], "floor_mod": [False] * 4, "div": [1.0, np.inf, 0.0, np.nan],
        "greater": x & ~y, "less": ~x & y, "greater_equal": x | ~y, "less_equal": ~x | y,
    }  # fmt: skip
    with tracejit.promotion("mindspore2"):
        for name, wanted in expected.items():
            np.testing.assert_array_equal(run_both(name, [(x, y)])[0], np.asarray(wanted), err_msg=name)


@pytest.mark.parametrize("name", BINARY)
def test_empty_zero_d_and_broadcast_shapes(name: str) -> None:
    dtype = bool if name.startswith("logical") else "i4" if name.startswith("bitwise") else "f4"
    shapes = [((0,), (0,)), ((), ()), ((2, 0), (2, 0))]
    if name != "approximate_equal":
        shapes += [((0,), ()), ((2, 1), (3,)), ((2, 1, 3), (4, 1)), ((), (1, 1)), ((0, 3), (1,)), ((1,), (5,))]
    pairs = [(np.ones(a, dtype), np.ones(b, dtype)) for a, b in shapes]
    for (x, y), result in zip(pairs, run_both(name, pairs)):
        assert result.shape == np.broadcast_shapes(x.shape, y.shape)
        assert len(set(result.ravel().tolist())) <= 1
    with pytest.raises(ValueError, match=name):
        getattr(ops, name)(Tensor(np.ones((2, 3), dtype)), Tensor(np.ones((2,), dtype)))


def test_broadcast_values() -> None:
    x, y = np.arange(6, dtype="f4").reshape(2, 1, 3), np.arange(4, dtype="f4").reshape(4, 1) * 10
    np.testing.assert_array_equal(run_both("sub", [(x, y), (y, x)])[1], y - x)


def test_a_negative_int_as_exponent_of_integers_is_a_value_error() -> None:
    for dtype in (dt.int8, dt.uint8, dt.int32, dt.int64):
        x = Tensor([2], dtype)
        for run in (lambda x: x**-1, lambda x: ops.pow(x, -1), lambda x: ops.Pow()(x, np.int64(-3))):
            for function in (run, jit(run)):
                with pytest.raises(ValueError, match=f"pow: {dtype} to the negative power"):
                    function(x)
    assert_same(Tensor(np.int32([2])) ** -1.0, np.float32([0.5]))
    assert_same(Tensor([2.0]) ** -1, np.float32([0.5]))
    assert_same(Tensor([True]) ** 2, np.int32([1]))
    assert_same(jit(lambda x, n: x**n)(Tensor(np.int8([2, 1, -1])), -3), np.int8([0, 1, -1]))


# Conversions of values


FLOATS = [0.0, -0.0, 0.5, -0.5, 1.5, 2.7, -2.7, 127.5, 128.0, 255.0, 256.0, 300.0, -1.0, -129.0, 65504.0, 65520.0, 1e10]
FLOATS += [-1e10, 1e19, -1e19, 3.4e38, 1e300, 1 + 2**-11 + 2**-30, np.inf, -np.inf, np.nan]


def test_cast_of_floats() -> None:
    """Out of range clamps, NaN is 0, everything that is not 0 is True; eager, jitted and folded early."""
    for source in (dt.float16, dt.float32, dt.float64, dt.bfloat16):
        with np.errstate(all="ignore"):
            array = np.array(FLOATS).astype(source.numpy)
        targets = [dtype for dtype in dt.ALL if dtype.kind != "complex"]
        x = Tensor(array)

        def run(x: Any, targets: Any = targets) -> list[Any]:
            return [ops.cast(x, dtype) for dtype in targets]

        def constant(array: Any = array, run: Any = run) -> list[Any]:
            return run(Tensor(array))

        outcomes = [jit(run)(x), run(x), jit(constant)(), [Tensor(array, dtype) for dtype in targets]]
        for results in outcomes:
            for dtype, result in zip(targets, results):
                assert result.dtype is dtype
                assert_equal_bits(result.asnumpy(), converted(array, dtype))


def converted(array: np.ndarray, dtype: dt.DType) -> np.ndarray:
    """Return what Cast gives, element by element."""
    if dtype is dt.bool_:
        return array != 0
    with np.errstate(all="ignore"):
        if not dt.is_integer(dtype):
            return array.astype(dtype.numpy)
    low, high = dt.integer_range(dtype)
    values = array.astype("f8").tolist()
    return np.array([0 if v != v else low if v <= low else high if v >= high else int(v) for v in values], dtype.numpy)


def test_false_times_nan_is_nan() -> None:
    mask, bad = Tensor([True, False, False]), Tensor([np.nan, np.nan, np.inf])
    for function in (lambda m, x: m * x, jit(lambda m, x: m * x), jit(lambda m, x: ops.cast(m, "float32") * x)):
        assert_same(function(mask, bad), np.float32([np.nan, np.nan, np.nan]))
    assert_same(jit(lambda m: m * 1e300)(mask), np.float32([np.inf, np.nan, np.nan]))


def test_cast_of_integers_wraps() -> None:
    values = [0, 1, -1, 127, 128, 255, 256, 300, -129, 2**31 - 1, 2**31, -(2**31), 2**53 + 1, 2**62 + 2**38 + 1]
    array = np.array(values, np.int64)
    for dtype in dt.ALL:
        if dtype.kind == "complex" or dtype is dt.bfloat16:
            continue
        with np.errstate(all="ignore"):
            expected = array.astype(dtype.numpy)
        np.testing.assert_array_equal(Tensor(array).astype(dtype).asnumpy(), expected, strict=True)
        np.testing.assert_array_equal(Tensor(array, dtype).asnumpy(), expected, strict=True)


SCALARS = [True, 0, 2, 100, 2**40, 2**60 + 2**36 + 1, 0.1, 2.5, 1e300, -1e300, 1 + 2**-11 + 2**-30, np.nan, np.inf]


@pytest.mark.parametrize("dtype", [dt.float16, dt.float32, dt.float64, dt.bfloat16, dt.complex64], ids=str)
def test_a_scalar_is_converted_once_and_alike_on_every_path(dtype: dt.DType) -> None:
    x = Tensor(np.zeros((), dtype.numpy))

    def run(x: Any) -> list[Any]:
        return [x + scalar for scalar in SCALARS]

    def as_arguments(x: Any, *scalars: Any) -> list[Any]:
        return [x + scalar for scalar in scalars]

    jitted, eager = [r.asnumpy() for r in jit(run)(x)], [r.asnumpy() for r in run(x)]
    given = [r.asnumpy() for r in jit(as_arguments)(x, *SCALARS)]
    for scalar, *found in zip(SCALARS, jitted, eager, given):
        with np.errstate(all="ignore"):
            expected = np.asarray(scalar, np.int64 if isinstance(scalar, int) else None).astype(dtype.numpy)
        for result in found:
            if dtype is dt.bfloat16:
                np.testing.assert_allclose(result.astype("f8"), expected.astype("f8"), 1e-2)
            else:
                np.testing.assert_array_equal(result, expected, err_msg=repr(scalar), strict=True)


def test_ints_beyond_64_bits() -> None:
    assert_same(Tensor(np.uint64([1])) + 2**63, np.uint64([2**63 + 1]))
    assert_same(Tensor(np.uint64([1])) < 2**63, np.array([True]))
    assert_same(Tensor([1.0]) + 2**70, np.float32([2.0**70]))
    assert_same(jit(lambda x: x + 2**70)(Tensor([1.0])), np.float32([2.0**70]))
    assert_same(Tensor([1.0]) + 10**400, np.float32([np.inf]))
    for run in (lambda x: x + 2**63, lambda x: x == 2**63, lambda x: x < -(2**63) - 1):
        for policy in ("mindspore", "mindspore2", "strict", "jax"):
            with pytest.raises(OverflowError, match="does not fit int64"):
                jit(run, promotion=policy)(Tensor(np.int64([1])))


OUT_OF_RANGE = [(dt.int8, 300), (dt.uint8, -1), (dt.int16, 2**40), (dt.int32, 2**40), (dt.uint8, 2**40)]


@pytest.mark.parametrize(("dtype", "value"), OUT_OF_RANGE)
def test_an_int_that_does_not_fit(dtype: dt.DType, value: int) -> None:
    x = Tensor([3], dtype)
    for run in (lambda x: x + value, lambda x: value * x, lambda x: ops.maximum(x, np.int64(value))):
        for function in (run, jit(run)):
            with pytest.raises(OverflowError, match=f"the Python int {value} does not fit {dtype}"):
                function(x)
        with tracejit.promotion("mindspore2"):
            assert_same(run(x), jit(run)(x).asnumpy(), exact=True)
    with tracejit.promotion("mindspore2"):
        assert_same(x + value, np.array([wrapped(3 + value, dtype)], dtype.numpy))
    assert_same(jit(lambda x, n: x + n)(x, value), np.array([wrapped(3 + value, dtype)], dtype.numpy))


@pytest.mark.parametrize("symbol", ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"])
@pytest.mark.parametrize(("dtype", "value"), [*OUT_OF_RANGE, (dt.int8, -300), (dt.uint8, 256)])
def test_comparisons_answer_by_the_true_value(symbol: str, dtype: dt.DType, value: int) -> None:
    compare = SYMBOLS[symbol]
    array = np.array([0, 3, dt.integer_range(dtype)[1]], dtype.numpy)
    x, expected = Tensor(array), compare(array.astype(object), value).astype(bool)
    for function in (lambda x: compare(x, value), jit(lambda x: compare(x, value))):
        np.testing.assert_array_equal(function(x).asnumpy(), expected)
    name = next(op.name for op in RECORDS.values() if symbol in op.methods)
    reflected = compare(np.full(3, value, object), array.astype(object)).astype(bool)
    for function in (getattr(ops, name), jit(getattr(ops, name), static_argnums=0)):
        np.testing.assert_array_equal(function(value, x).asnumpy(), reflected)


def test_data_of_tensors() -> None:
    """DECISIONS: `Tensor(data, dtype=None)`."""
    nothing = np.zeros(0, np.float32)
    table = [
        (2.5, np.float32(2.5)), (2, np.int64(2)), (True, np.bool_(True)), (1j, np.complex64(1j)), ([], nothing),
        ([1, 2], np.int64([1, 2])), ([1.5, 2], np.float32([1.5, 2])), ([True, 1], np.int64([1, 1])),
        ([[True], [False]], np.array([[True], [False]])), ([1, 1j], np.complex64([1, 1j])),
        (np.float64(2.5), np.float64(2.5)), (np.int8([1]), np.int8([1])), (np.array([1], ">i4"), np.int32([1])),
        ([np.float64(1), 2.0], np.float64([1, 2])), (1e300, np.float32(np.inf)),
    ]  # fmt: skip
    for data, expected in table:
        np.testing.assert_array_equal(Tensor(data).asnumpy(), expected, strict=True)
    for data, dtype, expected in [(2.7, "int8", np.int8(2)), (1e9, "int8", np.int8(127)), ([3.9], "u1", np.uint8([3]))]:
        np.testing.assert_array_equal(Tensor(data, dtype).asnumpy(), expected, strict=True)
    for data, dtype in [
        (300, "int8"),
        (-1, "uint8"),
        ([1, 300], "int8"),
        (2**63, None),
        ([2**63], None),
        ([2**70], None),
    ]:
        with pytest.raises(OverflowError, match="does not fit"):
            Tensor(data, dtype)
    refused = [None, "a", ["a"], [None], object(), [[1], [1, 2]], np.array(["a"]), np.array([None])]
    refused += [np.array(0, "M8[s]"), np.ma.array([1, 2], mask=[0, 1]), np.zeros(1, [("a", "f4")])]
    for data in refused:
        for dtype in (None, "float32", "int8"):
            with pytest.raises(TypeError, match=r"Tensor|not supported|not a dtype"):
                Tensor(data, dtype)
    for data, dtype in (([2**70], None), ([[2**63], [0]], "int64"), (["1.5"], "float32")):
        with pytest.raises((OverflowError, TypeError), match=r"does not fit int64|list of"):
            Tensor(data, dtype)


def test_bool_bytes_are_normalised() -> None:
    strange = np.array([0, 1, 2, 255], np.uint8).view(bool)
    assert_same(Tensor(strange), np.array([False, True, True, True]))
    assert_same(ops.cast(Tensor(strange), "int32"), np.int32([0, 1, 1, 1]))
