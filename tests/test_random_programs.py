"""Random programs: eager, compiled and inside `jax.jit` they give the same dtypes and values, and write the same.

A program is a list of steps on a pool of values and Parameters: operators over all dtypes, writes, branches, loops and
mapped functions. It is data, so that hypothesis can shrink it, and each run of it is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import hypothesis
import jax
import numpy as np
import pytest
from hypothesis import strategies as st

import tests.conftest as session
from tests.agreement import leaves, set_all
from tracejit import Parameter, Tensor, cond, fori_loop, jit, ops, scan, vmap
from tracejit.errors import TracejitError
from tracejit.parser import parse_graph

DTYPES = ("b1", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8")
#: All shapes that values have: programs of one operator are few, so that the eager runs of all examples share them.
SHAPES = ((), (2,))
#: How far floats may lie apart, by the narrowest float dtype that a program meets: it rounds, in other places.
NEAR = {2: 2e-2, 4: 1e-4, 8: 1e-9}


class Step(NamedTuple):
    """One step: its kind, the numbers that choose its operands, and an operator."""

    kind: str
    first: int
    second: int
    name: str


class Program(NamedTuple):
    """Dtypes and shapes of the arguments, dtypes of the Parameters, and the steps."""

    arguments: tuple[tuple[str, tuple[int, ...]], ...]
    parameters: tuple[str, ...]
    steps: tuple[Step, ...]


BINARY = ("add", "sub", "mul", "maximum", "minimum", "greater", "equal", "less_equal")
UNARY = ("neg", "abs", "square", "tanh", "sum", "cast_f4", "cast_i4", "cast_f2", "cast_b", "reshape", "index")
SCALARS = (2, 0.5, True, -3, 1.25)

KINDS = ["binary"] * 14 + ["unary"] * 8 + ["scalar"] * 6 + ["write"] * 6 + ["cond", "fori", "scan", "vmap"]
steps = st.builds(
    Step,
    st.sampled_from(KINDS),
    st.integers(0, 40),
    st.integers(0, 40),
    st.sampled_from(BINARY + UNARY),
)
programs = st.builds(
    Program,
    st.lists(st.tuples(st.sampled_from(DTYPES), st.sampled_from(SHAPES)), min_size=1, max_size=3).map(tuple),
    st.lists(st.sampled_from(DTYPES), min_size=1, max_size=2).map(tuple),
    st.sampled_from((1, 2, 3, 5, 8, 12, 20, 40)).flatmap(lambda n: st.lists(steps, min_size=n, max_size=n)).map(tuple),
)


def filled(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Return small values of a dtype, which stay exact for a while."""
    values = np.random.default_rng(seed).integers(0 if dtype in ("b1", "u1") else -3, 4, shape)
    return values.astype(bool if dtype == "b1" else dtype)


def binary(name: str, x: Any, y: Any) -> Any:
    return getattr(ops, name if name in BINARY else BINARY[len(name) % len(BINARY)])(x, y)


def unary(name: str, x: Tensor) -> Any:
    functions: dict[str, Callable[[Tensor], Any]] = {
        "neg": lambda x: -x,
        "abs": ops.abs,
        "square": ops.square,
        "tanh": ops.tanh,
        "sum": lambda x: x.sum(),
        "cast_f4": lambda x: ops.cast(x, "float32"),
        "cast_i4": lambda x: ops.cast(x, "int32"),
        "cast_f2": lambda x: ops.cast(x, "float16"),
        "cast_b": lambda x: ops.cast(x, "bool"),
        "reshape": lambda x: x.reshape((1, -1)).reshape(x.shape),
        "index": lambda x: x[::-1] if x.shape else x,
    }
    return functions.get(name, functions["neg"])(x)


def row(x: Tensor) -> Tensor:
    return x if x.shape else ops.broadcast_to(x, SHAPES[1])


class Machine:
    """Runs a program's steps on whatever the Tensors hold: arrays, or values of a trace."""

    def __init__(self, program: Program, parameters: list[Parameter]):
        self.program, self.parameters = program, parameters

    def __call__(self, *arguments: Tensor) -> list[Any]:
        pool = [*arguments]
        for step in self.program.steps:
            try:
                pool.append(self.step(step, pool))
            except TracejitError as error:
                pool.append(pool[len(type(error).__name__) % len(pool)])  # refused alike in every run
        return pool

    def step(self, step: Step, pool: list[Any]) -> Any:
        x, y = pool[step.first % len(pool)], pool[step.second % len(pool)]
        return getattr(self, step.kind)(step, x, y)

    def binary(self, step: Step, x: Tensor, y: Tensor) -> Any:
        return binary(step.name, x, y)

    def scalar(self, step: Step, x: Tensor, y: Tensor) -> Any:
        return binary(step.name, x, SCALARS[step.second % len(SCALARS)])

    def unary(self, step: Step, x: Tensor, y: Tensor) -> Any:
        return unary(step.name, x)

    def write(self, step: Step, x: Tensor, y: Tensor) -> Any:
        parameter = self.parameters[step.second % len(self.parameters)]
        value = ops.cast(x.sum() if x.dtype.name != "bool" else x.any(), parameter.dtype)
        if step.first % 3 and parameter.dtype.name != "bool":
            return ops.assign_add(parameter, value) * 1
        ops.assign(parameter, value)
        return binary("add", x, parameter)

    def cond(self, step: Step, x: Tensor, y: Tensor) -> Any:
        test = ops.cast(y, "float32").sum() > 0
        return cond(test, lambda: unary("square", x), lambda: self.write(step, x, y) * 0 + unary("square", x))

    def fori(self, step: Step, x: Tensor, y: Tensor) -> Any:
        def turn(index: Tensor, carry: Tensor) -> Tensor:
            self.write(step, carry, y)
            return ops.cast(binary(step.name, carry, index), x.dtype)

        return fori_loop(0, 2, turn, x)

    def scan(self, step: Step, x: Tensor, y: Tensor) -> Any:
        items = row(x)

        def turn(carry: Tensor, item: Tensor) -> tuple[Tensor, Tensor]:
            return ops.cast(binary(step.name, carry, item), x.dtype), carry

        return scan(turn, items[0], items)[1]

    def vmap(self, step: Step, x: Tensor, y: Tensor) -> Any:
        return vmap(lambda v, w: binary(step.name, v, w), (0, 0 if y.shape else None))(row(x), y)


def floats_in(values: list[np.ndarray]) -> list[int]:
    return [value.dtype.itemsize for value in values if value.dtype.kind == "f"]


def compare(one: list[np.ndarray], other: list[np.ndarray], near: float) -> None:
    """Compare values; floats that are large or not finite by what they are, integers made of floats too."""
    assert [(a.dtype, a.shape) for a in one] == [(b.dtype, b.shape) for b in other]
    for a, b in zip(one, other):
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a.astype("f8"), b.astype("f8"), near, near)
        else:
            np.testing.assert_array_equal(a, b)


def exact(program: Program) -> Program:
    """Leave out conversions from floats to integers and bool, where a last bit decides about a whole number."""
    kept = [step for step in program.steps if step.name not in ("cast_i4", "cast_b", "tanh")]
    return program._replace(steps=tuple(kept) or (Step("unary", 0, 0, "neg"),))


def check(program: Program) -> None:
    arrays = [filled(dtype, shape, i) for i, (dtype, shape) in enumerate(program.arguments)]
    parameters = [Parameter(filled(dtype, (), i), name=f"p{i}") for i, dtype in enumerate(program.parameters)]
    before = leaves(parameters)
    arguments = [Tensor(array) for array in arrays]
    eager = leaves(Machine(program, parameters)(*arguments))
    after = leaves(parameters)
    near = NEAR[min(floats_in([*eager, *after]), default=8)]

    set_all(parameters, before)
    compiled = jit(Machine(program, parameters))
    compare(eager, leaves(compiled(*arguments)), near)
    compare(after, leaves(parameters), near)

    traced = compiled.trace(*arguments)
    for graph in (traced.graph, traced.promoted, traced.simplified):
        assert parse_graph(str(graph)) == graph
    if not traced.simplified.written and len(program.steps) % 2:  # half of them: it compiles once more
        set_all(parameters, before)
        with jax.enable_x64(True):
            compare(eager, leaves(jax.jit(compiled)(*[jax.numpy.asarray(array) for array in arrays])), near)


@pytest.fixture(autouse=True, scope="module")
def _fast_compilation() -> Iterator[None]:
    """Compile with few of XLA's optimizations in the default run: there are hundreds of programs.

    JAX's check for leaks is off: under it, nothing that was compiled is found again.
    """
    jax.config.update("jax_disable_most_optimizations", not session._full)
    with jax.check_tracer_leaks(False):
        yield
    jax.config.update("jax_disable_most_optimizations", False)


@hypothesis.settings(
    max_examples=3000 if session._full else 200,  # a program costs a quarter of a second, most of it compilation
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
@hypothesis.given(programs.map(exact))
def test_random_programs(program: Program) -> None:
    check(program)
