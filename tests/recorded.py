"""Recorded runs of MindSpore's operators that write Parameters, made into calls of tracejit's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes  # noqa: F401  # so that NumPy knows bfloat16
import numpy as np

from tracejit import Parameter, Tensor, jit, ops, promotion
from tracejit.dtypes import DType
from tracejit.errors import DTypeError, IndexBoundsError, ParameterCastError, ShapeError, TracejitError
from tracejit.ir import Literal, TensorType, Value
from tracejit.ops.record import CLASSES, Op
from tracejit.passes.inference import infer
from tracejit.policies import get

GOLDEN = Path(__file__).parent / "golden" / "mindspore"
TOLERANCE = {"float16": 5e-3, "float32": 2e-6, "float64": 2e-6}
DIALECTS = {"mindspore": "1.1.1", "mindspore2": "2.10.0"}


class Case(NamedTuple):
    """One recorded call, and what came of it in the version that counts."""

    op: str
    note: str
    attributes: dict[str, Any]
    inputs: list[dict[str, Any]]
    version: str
    mode: str
    raises: str | None
    outputs: list[dict[str, Any]] | None
    after: list[dict[str, Any]]

    def __str__(self) -> str:
        given = ",".join(f"{key}={value}" for key, value in self.attributes.items())
        return "-".join(filter(None, [self.op, self.note.replace(" ", "_"), given, self.version]))


def load(name: str) -> Any:
    """Read a golden file: JSON, or a list of JSON lines."""
    text = (GOLDEN / name).read_text()
    return [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)


def cases(select: Callable[[str], bool], policy: str) -> list[Case]:
    """List the recorded calls that count for a policy: its own version's, else (for `mindspore`) those of 2.10.0."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in load("operator_cases.json")["cases"]:
        if select(row["op"]):
            groups.setdefault(json.dumps([row["op"], row["attrs"], row["inputs"]]), []).append(row)
    return [case for rows in groups.values() if (case := _counting(rows, policy)) is not None]


def _counting(rows: Sequence[dict[str, Any]], policy: str) -> Case | None:
    wanted = [DIALECTS[policy]] + (["2.10.0"] if policy == "mindspore" else [])
    for version in wanted:
        for row in rows:
            runs = row.get("same_result_in") or [f"{row['version']}/{row['mode']}"]
            if any(run.startswith(version) for run in runs):
                note, raises = row["note"], row.get("raises")
                outputs = None if "outputs_note" in row else row.get("outputs")
                after = row.get("parameters_after") or []
                return Case(row["op"], note, row["attrs"], row["inputs"], version, row["mode"], raises, outputs, after)
    return None


def array(entry: dict[str, Any]) -> np.ndarray:
    """Return the values of an input or result."""
    values = [float(value) if isinstance(value, str) else value for value in entry["values"]]
    return np.array(values, entry["dtype"]).reshape(entry["shape"])


def operand(entry: dict[str, Any]) -> Any:
    """Return a fresh operand."""
    if entry["kind"] == "python_scalar":
        return entry["value"]
    tensor = Tensor(array(entry))
    return Parameter(tensor, name=entry["name"]) if entry["kind"] == "parameter" else tensor


def by_function(op: Op, attributes: dict[str, Any], operands: Sequence[Any]) -> Any:
    return getattr(ops, op.name)(*operands, **attributes)


def by_class(op: Op, attributes: dict[str, Any], operands: Sequence[Any]) -> Any:
    return getattr(ops, op.class_name)(**attributes)(*operands)


def traced(form: Callable[..., Any]) -> Callable[..., Any]:
    """Make the jitted form of a form: Tensors and numbers are arguments, Parameters captured."""

    def call(op: Op, attributes: dict[str, Any], operands: Sequence[Any]) -> Any:
        places = [i for i, x in enumerate(operands) if not isinstance(x, Parameter)]

        def function(*given: Any) -> Any:
            filled = list(operands)
            for place, value in zip(places, given):
                filled[place] = value
            return form(op, attributes, filled)

        return jit(function)(*[operands[i] for i in places])

    return call


FORMS = {
    "function": by_function,
    "class": by_class,
    "jitted function": traced(by_function),
    "jitted class": traced(by_class),
}


def run(op: str, attributes: dict[str, Any], operands: Sequence[Any], form: str, policy: str = "mindspore") -> Any:
    with promotion(policy):
        return FORMS[form](CLASSES[op], attributes, operands)


def assert_close(actual: Any, expected: np.ndarray, tolerance: float | None = None) -> None:
    """Compare dtype, shape and values: integers exactly, floats within the tolerance of the recorded runs."""
    actual = np.asarray(actual)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    if actual.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected)
        return
    tolerance = TOLERANCE.get(str(actual.dtype), 2e-6) if tolerance is None else tolerance
    wide = "c16" if actual.dtype.kind == "c" else "f8"
    np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), tolerance, tolerance)


def bits(tensors: Iterable[Any]) -> list[bytes]:
    """Return the bytes of Tensors and Parameters, to compare bit for bit."""
    return [tensor.asnumpy().tobytes() for tensor in tensors if isinstance(tensor, Tensor)]


#: What the note or text of a recorded error says, and the class that it stands for (DECISIONS: error classes).
KINDS = (
    (("writable arg", "onversion is not supported", "ata type conversion of", "f16 x f32", "f16 var", "var f16"),
     ParameterCastError),
    (("index out of range", "negative index", "coordinate", "value of indices should", "indices out of range",
      "less than 0", "Launch kernel failed"), IndexBoundsError),
    (("shape", "rank", "dimension", "scalar updates", "0-d updates", "grad rows"), ShapeError),
    (("indices", "idx", "type", "f16", "TypeError"), DTypeError),
)  # fmt: skip


def error_class(text: str) -> type[TracejitError]:
    """Return the class of the error that a recorded one stands for, by its note or its text."""
    return next(kind for words, kind in KINDS if any(word in text for word in words))


def abstract(dtype: DType, shape: Sequence[int]) -> Value:
    """Return an operand of which inference needs to know no more."""
    return Value(TensorType(dtype, shape))


def outcome(op: Op, operands: Sequence[Any], attributes: dict[str, Any], policy: str) -> str:
    """Say what inference makes of a call: `ok`, `conv` (a written Parameter would be converted), `type` or `shape`."""
    values = [operand if isinstance(operand, Value) else Literal(operand) for operand in operands]
    given = {a.name: op.default(a, get(policy).dialect) for a in op.attributes} | attributes
    try:
        infer(op, values, given, get(policy))
    except ParameterCastError:
        return "conv"
    except DTypeError:
        return "type"
    except ShapeError:
        return "shape"
    return "ok"
