"""What tracejit makes of recorded rows: what inference declares, and what the call gives."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

import tracejit
from tests.recorded_rows import SYMBOL_OPS, NumPyArray, Row, Written, show
from tests.test_operators import SYMBOLS
from tracejit import Parameter, Tensor, jit, ops
from tracejit import dtypes as dt
from tracejit.bridge import backend
from tracejit.dispatch import accept
from tracejit.errors import AttributeValueError, ParameterError, ScalarOverflowError, TracejitError
from tracejit.ir import Literal, TensorType, Value
from tracejit.ops.record import Op
from tracejit.passes.inference import infer
from tracejit.policies import get

TOLERANCE = {"float16": 5e-3, "bfloat16": 5e-2}  # else 2e-6
PYTHON_SYMBOLS = {
    text: next(SYMBOLS[method] for method in op.methods if method in SYMBOLS) for text, op in SYMBOL_OPS.items()
}


class Declared(NamedTuple):
    """What inference says of a row: the dtype in which it computes and that of the result, or an error's class."""

    computed: str
    result: str
    error: type[Exception] | None = None


class Traced(NamedTuple):
    """The type of a result that was not computed."""

    dtype: np.dtype
    shape: tuple[int, ...]


class Made(NamedTuple):
    """What tracejit makes of a row; `given` is an array, what is traced of it, or the class of an error."""

    declared: Declared | None
    given: np.ndarray | Traced | type[Exception]

    def __str__(self) -> str:
        given = self.given.__name__ if isinstance(self.given, type) else self.given
        return f"{self.declared and tuple(self.declared[:2])} {show(given) if isinstance(given, np.ndarray) else given}"

    @property
    def error(self) -> type[Exception] | None:
        return self.given if isinstance(self.given, type) else None

    def gives(self, values: np.ndarray) -> bool:
        """Say whether the result has a dtype, a shape and, where it was computed, values."""
        if isinstance(self.given, Traced):
            return self.given == (values.dtype, values.shape)
        return not isinstance(self.given, type) and same_values(self.given, values)


def same_values(actual: np.ndarray, expected: np.ndarray) -> bool:
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    if actual.dtype.kind in "biu":
        return bool(np.array_equal(actual, expected))
    tolerance = TOLERANCE.get(str(actual.dtype), 2e-6)
    wide = "c16" if actual.dtype.kind == "c" else "f8"
    return bool(np.allclose(actual.astype(wide), expected.astype(wide), tolerance, tolerance, equal_nan=True))


def make(rows: Sequence[Row], policy: str, computed: Sequence[bool]) -> list[Made]:
    """Make every row a call: all are inferred and traced, the `computed` ones executed. Equal calls are made once.

    This is without JAX's leak check, under which JAX keeps no compiled operation.
    """
    keys = [call_key(row) for row in rows]
    calls = dict(zip(keys, rows))
    wanted = {key for key, flag in zip(keys, computed) if flag}
    traced = {key: row for key, row in calls.items() if row.op != "Tensor"}
    with jax.check_tracer_leaks(False):
        results = dict(zip(traced, execute(list(traced.values()), policy, [key in wanted for key in traced])))
    results |= {key: construct(row) for key, row in calls.items() if row.op == "Tensor"}
    found = {key: Made(declare(row, policy), results[key]) for key, row in calls.items()}
    return [found[key] for key in keys]


def call_key(row: Row) -> str:
    """Word everything that can matter of a call."""
    values = [getattr(x, "values", x) for x in row.operands]
    shown = [(show(x), v.tobytes() if isinstance(v, np.ndarray) else "") for x, v in zip(row.operands, values)]
    return repr((row.op, shown, row.attributes))


# Inference


def declare(row: Row, policy: str) -> Declared | None:
    op = row.record
    if row.op == "Tensor" or op is None:
        return None
    try:
        values = [abstract(op, i, x, policy) for i, x in enumerate(row.operands)]
        given = {a.name: op.check_attribute(a.name, row.attributes.get(a.name, op.default(a))) for a in op.attributes}
        given |= {"dialect": get(policy).dialect} if op.dialect_matters else {}
        inference = infer(op, values, given, get(policy))
    except TracejitError as error:
        return Declared("", "", type(error))
    computed = next(iter(inference.groups.values()), inference.results[0].dtype)
    return Declared(computed.name, inference.results[0].dtype.name)


def abstract(op: Op, position: int, x: Any, policy: str) -> Value:
    values = getattr(x, "values", x)
    if isinstance(values, np.ndarray):
        return Value(TensorType(dt.as_dtype(values.dtype), values.shape))
    return Literal(accept(op, position, x, get(policy)))


def consistent(made: Made) -> bool:
    """Say whether the call does what inference declares; the value of a scalar, or writing a Tensor, may be refused."""
    if made.declared is None:
        return True
    if isinstance(made.given, type):
        refused = issubclass(made.given, ScalarOverflowError | AttributeValueError | ParameterError)
        return made.declared.error is not None or refused
    return made.declared.error is None and str(made.given.dtype) == made.declared.result


# Calls


def execute(rows: Sequence[Row], policy: str, computed: Sequence[bool]) -> list[Any]:
    """Trace rows as one function and compute its Graph: per row an array, its type, or the class of its error.

    The Graph is computed operation by operation, which XLA need not compile as a whole: it has thousands of them.
    """
    operands = [[operand_of(x) for x in row.operands] for row in rows]
    tensors = [[tensor_of(x) if type(x) is np.ndarray else None for x in row.operands] for row in rows]
    outcomes: list[Any] = [None] * len(rows)

    @jit(promotion=policy)
    def run(groups: list[list[Any]]) -> list[Any]:
        results = []
        for i, (row, given, traced) in enumerate(zip(rows, operands, groups)):
            result = result_of(row, [x if y is None else y for x, y in zip(given, traced)])
            if isinstance(result, Tensor) and computed[i]:
                outcomes[i] = len(results)
                results.append(result)
            else:
                outcomes[i] = Traced(result.dtype.numpy, result.shape) if isinstance(result, Tensor) else result
        return results

    graph = run.trace(tensors).simplified
    state = {x.name: x.value() for group in operands for x in group if isinstance(x, Parameter)}
    inputs = [x.value() for group in tensors for x in group if x is not None]
    with jax.enable_x64(True):
        results, _ = backend.emit(graph, inputs, [state[value.name] for value in graph.state])
    return [np.asarray(results[x]) if isinstance(x, int) else x for x in outcomes]


_numbers = itertools.count()
_tensors: dict[Any, Tensor] = {}


def operand_of(x: Any) -> Any:
    if isinstance(x, Written):
        return Parameter(x.values, name=f"p{next(_numbers)}")
    return x.values if isinstance(x, NumPyArray) else x


def tensor_of(x: np.ndarray) -> Tensor:
    """Return a Tensor of an array's values, the same for equal ones."""
    key = (x.dtype, x.shape, x.tobytes())
    if key not in _tensors:
        _tensors[key] = Tensor(x)
    return _tensors[key]


def construct(row: Row) -> np.ndarray | type[Exception]:
    """Run a row of `Tensor(...)`."""
    try:
        return eval(row.operands[0], {"Tensor": Tensor, "np": np, "ms": tracejit}).asnumpy()
    except TracejitError as error:
        return type(error)


def result_of(row: Row, operands: Sequence[Any]) -> Tensor | type[Exception]:
    """Call a row's operator: its result, or the class of its error."""
    try:
        if row.op in PYTHON_SYMBOLS:
            return PYTHON_SYMBOLS[row.op](*operands)
        at_call = {k: v for k, v in row.attributes.items() if row.record and k in row.record.call_order}
        attributes = {k: v for k, v in row.attributes.items() if k not in at_call}
        result = getattr(ops, row.op)(**attributes)(*operands, **at_call)
    except TracejitError as error:
        return type(error)
    return Tensor(result) if isinstance(result, Parameter) else result
