"""Cast: every pair of dtypes against TensorFlow, clamping, and the same answer on every path."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tracejit import Tensor, jit, ops
from tracejit import dtypes as dt

GOLDEN = Path(__file__).parent / "golden" / "tensorflow" / "cast.json"
NAMES = [dtype.name if dtype is not dt.float16 else "half" for dtype in dt.ALL]


@functools.cache
def golden() -> dict[str, Any]:
    return json.loads(GOLDEN.read_text())


def read(words: list[str], name: str) -> np.ndarray:
    dtype = dt.as_dtype(name)
    if dt.is_integer(dtype):
        return np.array([int(word) for word in words], dtype.numpy)
    reader = {"bool": lambda word: word == "True", "float": float, "complex": complex}[dtype.kind]
    return np.array([reader(word) for word in words]).astype(dtype.numpy)


def clamped(values: np.ndarray, name: str) -> np.ndarray:
    """Floats as integers: cut off toward zero, clamped, NaN as 0."""
    low, high = dt.integer_range(dt.as_dtype(name))
    numbers = [
        0 if v != v else low if v == -np.inf else high if v == np.inf else int(v) for v in map(float, values.real)
    ]
    return np.array([min(max(number, low), high) for number in numbers], dt.as_dtype(name).numpy)


def same(result: Any, expected: np.ndarray) -> None:
    found = np.asarray(result)
    assert found.dtype == expected.dtype
    exact = found.tobytes() == expected.tobytes()
    assert exact or np.array_equal(found, expected, equal_nan=True), (found, expected)


def is_clamped(source: str, target: str) -> bool:
    return dt.is_inexact(dt.as_dtype(source)) and dt.is_integer(dt.as_dtype(target))


def cases(source: str) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Target, input and result of every recorded row of a source dtype, as DECISIONS has it."""
    recorded, kind = golden(), dt.as_dtype(source).kind
    plain = read(recorded["inputs"][kind[0]], source)
    rows = [(target, plain, words) for a, target, words in recorded["pairs"] if a == source]
    special = np.array([float(word) for word in recorded["special_inputs"]])
    with np.errstate(all="ignore"):
        rows += [(b, special.astype(dt.as_dtype(a).numpy), words) for a, b, words in recorded["special"] if a == source]
    rows += [(b, read(given, a), words) for a, b, given, words in recorded["wrap"] if a == source]
    return [(b, x, clamped(x, b) if is_clamped(source, b) else read(words, b)) for b, x, words in rows]


def test_every_pair_is_recorded() -> None:
    assert {(a, b) for a, b, _ in golden()["pairs"]} == {(a, b) for a in NAMES for b in NAMES}


@pytest.mark.parametrize("source", NAMES)
def test_every_pair_traced(source: str) -> None:
    rows = cases(source)
    casts = jit(lambda *xs: [ops.cast(x, target) for x, (target, _, _) in zip(xs, rows, strict=True)])
    for result, row in zip(casts(*[Tensor(x) for _, x, _ in rows]), rows, strict=True):
        same(result, row[2])


@pytest.mark.parametrize("source", NAMES)
def test_every_pair_of_constants(source: str) -> None:
    rows = cases(source)
    results = jit(lambda: [ops.cast(Tensor(x), target) for target, x, _ in rows])()
    for result, row in zip(results, rows, strict=True):
        same(result, row[2])


@pytest.mark.parametrize("source", NAMES)
def test_every_pair_from_the_host(source: str) -> None:
    for target, x, expected in cases(source):
        same(Tensor(x, target), expected)


@pytest.mark.sweep(40)
@pytest.mark.parametrize(("source", "target"), [(a, b) for a in NAMES for b in NAMES])
def test_every_pair_eager(source: str, target: str) -> None:
    for other, x, expected in cases(source):
        if other == target:
            same(ops.cast(Tensor(x), target), expected)
            same(ops.Cast()(Tensor(x), dt.as_dtype(target)), expected)
            same(Tensor(x).astype(target), expected)


def test_where_the_recorded_run_is_x86s() -> None:
    """TensorFlow gives x86's bits for negative floats as unsigned integers; DECISIONS clamps (differences.md)."""
    row = next(words for a, b, words in golden()["pairs"] if (a, b) == ("float32", "uint8"))
    assert (row[3], row[8]) == ("255", "253")
    assert ops.cast(Tensor([-1.0, -3.99]), "uint8").tolist() == [0, 0]


def test_real_to_complex_and_back() -> None:
    x = Tensor(np.float32([1.5, -0.0, np.nan]))
    z = np.asarray(ops.cast(x, "complex128"))
    assert z.real.tolist()[:2] == [1.5, -0.0]
    assert np.signbit(z.real[1])
    assert (z.imag == 0).all()
    assert ops.cast(Tensor([1 + 2j]), "float32").tolist() == [1.0]
    assert ops.cast(Tensor([300.7 + 2j, complex("nan")]), "int8").tolist() == [127, 0]


SCALARS = [True, 3, -1, 300, 2**40, 2.5, -1.5, 1e30, float("inf"), float("nan"), 1 + 2j, 2j]


@pytest.mark.parametrize("scalar", SCALARS, ids=repr)
def test_python_scalars_are_cast_like_tensors(scalar: Any) -> None:
    array = np.asarray(scalar)
    for target in ("bool", "uint8", "int32", "int64", "float16", "float64", "complex64"):
        expected = np.asarray(ops.cast(Tensor(array), target))
        same(ops.cast(scalar, target), expected)
        same(jit(lambda s=scalar, target=target: ops.cast(s, target))(), expected)


def test_gradients_go_back_in_the_dtype_they_came_from() -> None:
    half = jax.numpy.float16([1, 2])
    loss = jax.grad(lambda x: ops.cast(Tensor(x), "float32").sum().value())
    assert loss(half).dtype == np.float16
    single = jax.numpy.float32([1, 2])
    assert jax.grad(lambda x: ops.cast(Tensor(x), "complex64").value().real.sum())(single).tolist() == [1.0, 1.0]


def test_what_cast_refuses() -> None:
    for target in ("qint8", "float8_e5m2", "int4", object, "U3", None):
        with pytest.raises(TypeError):
            ops.cast(Tensor([1]), target)
