"""64-bit dtypes exist at top level whatever the user's `jax_enable_x64` says, and that setting is never changed."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tracejit
from tests.test_operators import BINARY, assert_equal_bits
from tracejit import Parameter, Tensor, jit, ops
from tracejit.errors import X64Error
from tracejit.ops.record import RECORDS

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = [False, True]


def computed() -> list[Any]:
    """Compute with every binary operator on 32 and 64 bits, and with what makes 64 bits by itself."""
    results: list[Any] = []
    for name in BINARY:
        accepted = RECORDS[name].accepted("T", "r1.1")
        for dtype in (
            tracejit.bool_,
            tracejit.int32,
            tracejit.int64,
            tracejit.uint64,
            tracejit.float32,
            tracejit.float64,
        ):
            if dtype in accepted:
                x, y = Tensor([7, 3, 0], dtype), Tensor([2, 0, 5], dtype)
                results.append(getattr(ops, name)(x, y))
    x = Tensor(np.float32([1.5, -2.0]))
    results += [x + 0.1, x * 2**40, Tensor([1, 2]) + 2**40, Tensor([True]) + 1, Tensor([1.0], "float64") + 0.1]
    results += [ops.arange(5), ops.arange(0.0, 1.0, 0.25), ops.zeros((2,), "int64"), ops.full((2,), 2**40, "int64")]
    results += [ops.argmax(x, output_type="int64"), ops.reduce_mean(Tensor([2**31 - 1] * 3, "int32"))]
    results += [
        ops.cast(x, "float64"),
        ops.cast(x, "complex128"),
        x[Tensor([1, 0])],
        -Tensor(2**62),
        Tensor([2, 3]) ** 40,
    ]
    return results


def test_results_are_the_same_under_both_settings() -> None:
    outcomes = []
    for setting in SETTINGS:
        with jax.enable_x64(setting):
            results = jit(computed)()
            outcomes.append([result.asnumpy() for result in results])
            assert jax.config.jax_enable_x64 is setting
    for off, on in zip(*outcomes, strict=True):
        assert_equal_bits(off, on)


def test_eager_results_are_the_same_under_both_settings() -> None:
    def run() -> list[Any]:
        p = Parameter(np.array([2**40]), name="p")
        p += 1
        q = Parameter(0.5, dtype="float64", name="q")
        ops.assign(q, 0.1)
        x = Tensor([2**40, 5])
        x[0] = 2**41
        made = [p, q, x, Tensor(2**40) // 3, Tensor(0.1, "float64") * 3, Tensor([1, 2]).sum(), Tensor([1, 2])[1]]
        return [value.asnumpy() for value in made]

    outcomes = []
    for setting in SETTINGS:
        with jax.enable_x64(setting):
            outcomes.append(run())
            assert jax.config.jax_enable_x64 is setting
    for off, on in zip(*outcomes, strict=True):
        assert off.dtype.itemsize == 8
        assert_equal_bits(off, on)


def test_values_cross_from_one_setting_to_the_other() -> None:
    with jax.enable_x64(True):
        x = Tensor([2**40])
        f = jit(lambda x: x + 1)
        f(x)
    assert f(x).tolist() == [2**40 + 1]
    y = x * 2
    with jax.enable_x64(True):
        assert (y + f(x)).tolist() == [3 * 2**40 + 1]
        assert y.value().dtype == np.int64
    assert y.value().dtype == np.int64
    assert tracejit.Tensor(y.value()).dtype is tracejit.int64


def test_an_error_leaves_the_setting_alone() -> None:
    def failing(x: Any) -> Any:
        x = x + 2**40
        raise KeyError("from the user")

    for setting in SETTINGS:
        with jax.enable_x64(setting):
            with pytest.raises(KeyError):
                jit(failing)(Tensor([1]))
            with pytest.raises(TypeError):
                Tensor([1]) + "a"
            with pytest.raises(OverflowError):
                Tensor([1]) + 2**70
            assert jax.config.jax_enable_x64 is setting


def test_other_threads_keep_their_setting() -> None:
    seen: dict[str, Any] = {}

    def work() -> None:
        seen["result"] = (jit(lambda x: x * 3)(Tensor([2**40]))).tolist()
        seen["setting"] = jax.config.jax_enable_x64

    with jax.enable_x64(True):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == {"result": [3 * 2**40], "setting": jax.config.jax_enable_x64}


SCRIPT = """
import jax, numpy as np
{first}
import tracejit
from tracejit import Parameter, Tensor, jit, ops
assert jax.config.jax_enable_x64 is {setting}
p = Parameter([2**40], name="p")
step = jit(lambda x: ops.assign_add(p, x) * 2)
print(step(Tensor([1])).tolist(), (Tensor([2**40]) + 2.5).dtype, Tensor(0.1, "float64").asnumpy() + 0.2)
print(p.tolist(), (Tensor([2**40]) // 7).tolist(), jax.jit(lambda x: ops.add(x, 1.5))(np.float32([1])).tolist())
assert jax.config.jax_enable_x64 is {setting}
assert jax.numpy.ones(2).dtype == ("float64" if {setting} else "float32")
"""


def run_script(first: str, setting: bool, environment: dict[str, str]) -> str:
    code = SCRIPT.format(first=first, setting=setting)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_programs_print_the_same_under_both_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    environment = {key: value for key, value in os.environ.items() if key != "JAX_ENABLE_X64"}
    update = 'jax.config.update("jax_enable_x64", True)'
    outputs = {run_script("", False, environment), run_script(update, True, environment)}
    outputs.add(run_script("", True, {**environment, "JAX_ENABLE_X64": "1"}))
    assert len(outputs) == 1


# Inside the user's own transformations the user's setting decides


def under_jit(function: Callable[..., Any], x: Any) -> Any:
    return jax.jit(lambda x: function(Tensor(x)).value())(x)


def under_grad(function: Callable[..., Any], x: Any) -> Any:
    return jax.grad(lambda x: function(Tensor(x)).astype("float32").sum().value())(x)


def under_vmap(function: Callable[..., Any], x: Any) -> Any:
    return jax.vmap(lambda x: function(Tensor(x)).value())(x)


TRANSFORMS = [under_jit, under_grad, under_vmap]
FORMS: list[Callable[..., Any]] = [lambda function: function, jit]  # operator by operator, and as one jitted function
WIDE = [
    (lambda x: ops.cast(x, "float64"), r"cast|f64"),
    (lambda x: x * Tensor([1.0, 2.0], "float64"), r"mul.*f64|f64"),
    (lambda x: x + Tensor([1, 2]), r"add.*i64|i64"),
    (lambda x: x + ops.arange(2), r"arange.*i64|i64"),
    (lambda x: ops.cast(ops.argmax(x, output_type="int64"), "float32") * x, r"argmax.*i64|i64"),
]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("form", FORMS, ids=["eager", "jit"])
@pytest.mark.parametrize(("function", "words"), WIDE, ids=["cast", "mul", "add", "arange", "argmax"])
def test_64_bits_under_the_users_transformations(transform: Any, form: Any, function: Any, words: str) -> None:
    x = np.ones((2, 2) if transform is under_vmap else 2, np.float32)
    with jax.enable_x64(False):
        with pytest.raises(X64Error, match=words) as caught:
            transform(form(function), jnp.asarray(x))
        assert isinstance(caught.value, TypeError)
        assert "jax_enable_x64" in str(caught.value)
        assert jax.config.jax_enable_x64 is False
        assert form(function)(Tensor(np.float32([1, 1]))).shape == (2,)  # at top level it runs
    with jax.enable_x64(True):
        assert transform(form(function), jnp.asarray(x)) is not None


NARROW: list[Callable[..., Any]] = [
    lambda x: x * 2.5 + 1,
    lambda x: x // 0.3 - x % 0.7,
    lambda x: ops.maximum(x, Tensor(np.int32([1, 2]))) ** 2,
    lambda x: ops.select(x > 1, x, 0.1),
    lambda x: x * ops.cast(ops.argmax(x), "float32") + ops.zeros((2,)),
    lambda x: x + ops.arange(2, dtype="int32") + Tensor([True, False]),
    lambda x: x[::-1] * ops.reduce_mean(x) - Tensor(0.5),
]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("form", FORMS, ids=["eager", "jit"])
def test_32_bits_run_there_with_the_results_of_top_level(transform: Any, form: Any) -> None:
    x = np.float32([1.5, -2.25])

    functions = NARROW[:3] if form is not jit and transform is under_grad else NARROW  # each costs a compilation

    def run(x: Any) -> Any:
        return ops.stack([function(x) for function in functions])

    expected = run(Tensor(x)).asnumpy()
    with jax.enable_x64(False):
        if transform is under_vmap:
            result = transform(form(run), jnp.stack([jnp.asarray(x)] * 3))
            np.testing.assert_allclose(result[1], expected, 1e-6)
        elif transform is under_grad:
            gradient = transform(form(run), jnp.asarray(x))
            with jax.enable_x64(True):
                np.testing.assert_allclose(gradient, transform(form(run), jnp.asarray(x)), 1e-6)
            assert gradient.dtype == np.float32
        else:
            np.testing.assert_allclose(transform(form(run), jnp.asarray(x)), expected, 1e-6)
        assert jax.config.jax_enable_x64 is False


def test_an_x64_error_costs_nothing() -> None:
    f = jit(lambda x: ops.cast(x, "float64") + 1)
    with jax.enable_x64(False):
        for _ in range(2):
            with pytest.raises(X64Error):
                jax.jit(lambda x: f(Tensor(x)).value())(np.float32([1]))
        assert f(Tensor(np.float32([1]))).asnumpy().dtype == np.float64
    with jax.enable_x64(True):
        assert jax.jit(lambda x: f(Tensor(x)).value())(np.float32([1])).dtype == np.float64
