"""Bitcast against TensorFlow: all recorded cases, inputs of every kind, errors, gradients, there and back."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit
from tests.conftest import sample
from tracejit import Parameter, Tensor, errors, jit, ops
from tracejit import dtypes as dt
from tracejit.ir import TensorType, Value
from tracejit.ops.record import RECORDS
from tracejit.passes.inference import infer
from tracejit.policies import get

GOLDEN = Path(__file__).parent / "golden" / "tensorflow"
NAMES = [dtype.name if dtype is not dt.float16 else "half" for dtype in dt.ALL]
PAIRS = [(a, b) for a in NAMES for b in NAMES]


@pytest.fixture(autouse=True)
def no_leak_check() -> Iterator[None]:
    """JAX's leak check takes a third of a second for each program with a derivative rule of its own."""
    jax.config.update("jax_check_tracer_leaks", False)
    yield
    jax.config.update("jax_check_tracer_leaks", True)


@functools.cache
def golden(file: str) -> Any:
    return json.loads((GOLDEN / f"{file}.json").read_text())


def expected(source: str, target: str) -> list[Any]:
    """What TensorFlow did for each shape: the shape of its result, or the class of error that we raise for its."""
    recorded = golden("bitcast")

    def read(outcome: Any) -> Any:
        if isinstance(outcome, list):
            return tuple(outcome)
        refused_dtype = recorded["errors"][int(outcome[1:])][1].startswith("Value for attr")
        return TypeError if refused_dtype else ValueError

    return [read(outcome) for outcome in recorded["pairs"][f"{source}->{target}"][0]]


def inputs(source: str) -> list[np.ndarray]:
    dtype, recorded = dt.as_dtype(source), golden("bitcast")
    texts = zip(recorded["inputs"][source], recorded["shapes"], strict=True)
    return [np.frombuffer(bytes.fromhex(text), dtype.numpy).reshape(shape) for text, shape in texts]


def good_cases(source: str) -> list[tuple[np.ndarray, str, tuple[int, ...]]]:
    cases = [(zip(inputs(source), expected(source, target), strict=True), target) for target in NAMES]
    return [(x, target, shape) for pairs, target in cases for x, shape in pairs if isinstance(shape, tuple)]


def test_the_recorded_cases_are_2025() -> None:
    assert len(PAIRS) * len(golden("bitcast")["shapes"]) == 2025


def declared(x: TensorType, target: str) -> Any:
    op = RECORDS["bitcast"]
    return infer(op, [Value(x)], {"dtype": op.check_attribute("dtype", target)}, get("mindspore")).results[0]


@pytest.mark.parametrize("source", NAMES)
def test_all_recorded_shapes_and_refusals(source: str) -> None:
    for target in NAMES:
        for shape, outcome in zip(golden("bitcast")["shapes"], expected(source, target), strict=True):
            x = TensorType(dt.as_dtype(source), shape)
            if isinstance(outcome, tuple):
                assert declared(x, target) == TensorType(dt.as_dtype(target), outcome)
            else:
                with pytest.raises(outcome):
                    declared(x, target)


def check(result: Tensor, x: np.ndarray, target: str, shape: tuple[int, ...]) -> None:
    assert (result.dtype, result.shape) == (dt.as_dtype(target), shape)
    assert np.asarray(result).tobytes() == x.tobytes()


@pytest.mark.parametrize("source", [name for name in NAMES if name != "bool"])
def test_all_recorded_bytes_traced(source: str) -> None:
    cases = good_cases(source)
    results = jit(lambda *xs: [ops.bitcast(x, target) for x, (_, target, _) in zip(xs, cases, strict=True)])(
        *[Tensor(x) for x, _, _ in cases]
    )
    for result, case in zip(results, cases, strict=True):
        check(result, *case)


@pytest.mark.sweep(25)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_recorded_bytes_eager(source: str, target: str) -> None:
    for x, outcome in zip(inputs(source), expected(source, target), strict=True):
        if isinstance(outcome, tuple):
            check(ops.bitcast(Tensor(x), target), x, target, outcome)
            check(ops.Bitcast()(Tensor(x), target), x, target, outcome)
        else:
            with pytest.raises(outcome):
                ops.bitcast(Tensor(x), target)


@pytest.mark.parametrize("source", ["float32", "complex64", "uint8"])
def test_recorded_bytes_under_jax_jit(source: str) -> None:
    narrow = [case for case in good_cases(source) if dt.as_dtype(case[1]).bits < 64 or case[1] == "complex64"]
    cases = sample(narrow, 12)

    def run(*xs: Any) -> list[Any]:
        return [ops.bitcast(Tensor(x), target).value() for x, (_, target, _) in zip(xs, cases, strict=True)]

    for result, case in zip(jax.jit(run)(*[x for x, _, _ in cases]), cases, strict=True):
        check(Tensor(result), *case)


# The odd inputs: TensorFlow's expressions, read with our functions.

TF = SimpleNamespace(
    bitcast=ops.bitcast,
    cast=lambda x, dtype: ops.cast(Tensor(x) if isinstance(x, list) else x, dtype),
    constant=lambda x, dtype: Tensor(x, dtype),
    zeros=lambda shape, dtype: ops.zeros(tuple(shape), dtype),
    equal=lambda x, y: ops.equal(Tensor(x), Tensor(y)),
    Variable=Parameter,
    string="string",
    variant="variant",
    resource="resource",
    qint32=tracejit.qint32,
    as_dtype=lambda name: name,
    bool=tracejit.bool_,
    **{name: dt.as_dtype(name) for name in NAMES if name != "bool"},
)
#: What TensorFlow takes and we do not, or the other way round, and why.
DIFFERENT = {
    "tf.bitcast(C([1, 2, 3, 4], tf.uint8), tf.qint32)": TypeError,  # quantized types are refused
    "tf.bitcast(2**64, tf.int32)": OverflowError,  # as everywhere in tracejit
    "tf.bitcast(None, tf.int32)": TypeError,
    "tf.bitcast(input=[1.], type=tf.int32, name='x')": TypeError,  # arguments have MindSpore-like names
}
FOREIGN = ("ragged", "sparse", "keras")  # kinds of tensors that tracejit does not have


def rows(*sections: str) -> list[tuple[str, Any]]:
    recorded = golden("bitcast_misc")["rows"]
    known = [row for row in recorded if not any(word in row[1] for word in FOREIGN)]
    return [(expression, outcome) for section, expression, outcome in known if section in sections]


@pytest.mark.parametrize(("expression", "outcome"), rows("seed", "inputs"))
def test_recorded_inputs(expression: str, outcome: Any) -> None:
    def run() -> Tensor:
        return eval(expression, {"tf": TF, "np": np, "C": TF.constant})

    if "error" not in outcome and expression not in DIFFERENT:
        result = run()
        assert (result.dtype.name, list(result.shape)) == (outcome["dtype"], outcome["shape"])
        assert np.asarray(result).tobytes().hex() == outcome["hex"]
        return
    dtype = outcome.get("error") == "TypeError" or "Value for attr" in outcome.get("message", "")
    with pytest.raises(DIFFERENT.get(expression, TypeError if dtype else ValueError)):
        run()


def test_bits_of_every_kind_of_operand() -> None:
    bits = [0, 0, 128, 63]
    for one in (1.0, np.float32(1), Tensor(np.float32(1)), Parameter(np.float32(1)), jnp.float32(1), np.array(1, "f4")):
        assert ops.bitcast(one, "uint8").tolist() == bits
    assert ops.bitcast([1.0], "uint8").tolist() == ops.bitcast((1.0,), "uint8").tolist() == [bits]
    assert ops.bitcast(np.float64(1), "uint8").shape == (8,)  # a NumPy scalar keeps its dtype
    assert Tensor(np.float32(1)).bitcast("uint8").tolist() == bits
    assert ops.bitcast([], "int32").shape == (0,)
    assert ops.bitcast(Tensor([1.0]), np.dtype("uint32")).tolist() == [0x3F800000]


def test_scalars_of_a_trace_have_the_same_dtypes() -> None:
    for scalar in (1, 1.0, 1j):
        traced = jit(lambda s: ops.bitcast(s, "uint8"))(scalar)
        assert traced.tolist() == ops.bitcast(scalar, "uint8").tolist()
        assert jit(lambda s=scalar: ops.bitcast(s, "uint8"))().tolist() == traced.tolist()
    with pytest.raises(TypeError, match="bool"):
        jit(lambda s: ops.bitcast(s, "uint8"))(True)


# Errors.


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "traced"])
def test_messages_name_dtypes_shape_and_what_would_fit(wrap: Any) -> None:
    with pytest.raises(errors.ShapeError) as caught:
        wrap(lambda x: ops.bitcast(x, "complex128"))(Tensor([1.0, 2.0, 3.0]))
    text = str(caught.value)
    assert "f32[3] cannot be read as complex128: the last axis must be 4, and it is 3" in text
    assert "test_bitcast.py" in text
    assert "reshape(x, (-1, 4))" in text
    with pytest.raises(errors.ShapeError, match="the last axis must be 2, and a 0-d tensor has none"):
        wrap(lambda x: ops.bitcast(x, "float16"))(Tensor(np.uint8(1)))
    with pytest.raises(errors.DTypeError, match="bitcast does not take bool"):
        wrap(lambda x: ops.bitcast(x, "uint8"))(Tensor([True]))
    with pytest.raises(errors.DTypeError, match="nothing can be read as bool"):
        wrap(lambda x: ops.bitcast(x, tracejit.bool_))(Tensor([1]))


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "traced"])
@pytest.mark.parametrize("name", ["qint8", "quint8", "qint16", "quint16", "qint32", "int4", "uint4", "float8_e5m2"])
def test_quantized_and_tiny_dtypes_are_refused_by_name(wrap: Any, name: str) -> None:
    for target in (name, getattr(tracejit, name)):
        with pytest.raises(TypeError, match=rf"dtype {name} is not supported"):
            wrap(lambda x, target=target: ops.bitcast(x, target))(Tensor(np.uint8([200])))


@pytest.mark.parametrize(
    ("given", "word"),
    [(["a"], "str"), ([1, None], "NoneType"), ([True, 1], "booleans"), ([Tensor([1])], "Tensor"), ("a", "str")],
)
def test_lists_that_are_no_tensor(given: Any, word: str) -> None:
    with pytest.raises(TypeError, match=word):
        ops.bitcast(given, "int32")


@pytest.mark.parametrize("target", [int, float, bool, complex, None, "hello", 3])
def test_targets_without_a_width(target: Any) -> None:
    with pytest.raises(TypeError):
        ops.bitcast([1.0], target)


# Gradients.


def floats(x: Any) -> Any:
    return ops.bitcast(x, "float32").sum()


def integers(x: Any) -> Any:
    return ops.cast(ops.bitcast(x, "int32"), "float32").sum()


@pytest.mark.parametrize("function", [floats, integers])
@pytest.mark.parametrize("jitted", [False, True])
def test_differentiating_is_an_error_that_names_the_line(function: Any, jitted: bool) -> None:
    inner = jit(function) if jitted else function
    for differentiate in (
        lambda: tracejit.grad(inner)(Tensor([1.0, 2.0])),
        lambda: jit(tracejit.grad(inner))(Tensor([1.0, 2.0])),
        lambda: jax.grad(lambda x: inner(Tensor(x)).value())(jnp.float32([1, 2])),
        lambda: jax.jit(jax.grad(lambda x: inner(Tensor(x)).value()))(jnp.float32([1, 2])),
    ):
        with pytest.raises(errors.DTypeError) as caught:
            differentiate()
        assert "bitcast has no gradient" in str(caught.value)
        assert "stop_gradient" in str(caught.value)
        assert "ops.bitcast(x" in caught.value.location.text


def test_what_stands_behind_stop_gradient_is_a_constant() -> None:
    def loss(x: Any) -> Any:
        return (x * x + ops.bitcast(ops.stop_gradient(x), "float32")).sum()

    assert tracejit.grad(loss)(Tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert jax.grad(lambda x: loss(Tensor(x)).value())(jnp.float32([1, 2])).tolist() == [2.0, 4.0]
    assert tracejit.grad(lambda x, k: (x * 2 + ops.bitcast(k, "float32")).sum())(
        Tensor([1.0]), Tensor([1], "int32")
    ).tolist() == [2.0]


def test_it_can_be_mapped() -> None:
    x = np.float32([[1, 2], [3, 4]])
    for target in ("uint8", "complex64", "float64"):
        mapped = jax.vmap(lambda row, target=target: ops.bitcast(Tensor(row), target).value())
        with jax.enable_x64(True):
            assert np.asarray(mapped(x)).tobytes() == x.tobytes()


# There and back.

WIDTHS = [dtype for dtype in dt.ALL if dtype is not dt.bool_]


@settings(max_examples=20)
@given(st.sampled_from(WIDTHS), st.sampled_from(WIDTHS), st.binary(min_size=32, max_size=32))
def test_there_and_back_is_the_identity(source: dt.DType, target: dt.DType, data: bytes) -> None:
    x = np.frombuffer(data, source.numpy)
    x = x.reshape(-1, max(1, target.itemsize // source.itemsize))  # an axis for a wider target to take
    if target.itemsize <= source.itemsize:
        x = x.reshape(-1)
    back = ops.bitcast(ops.bitcast(Tensor(x), target), source)
    assert back.shape == x.shape
    assert np.asarray(back).tobytes() == data
