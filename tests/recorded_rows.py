"""MindSpore as it ran, for the binary operators, Cast, Assign* and Tensor(): every recorded row that counts.

A row is one input with what each version and mode gave for it. Under policy `mindspore` the outcome of 1.1.1 counts,
and for values that 1.1.1 does not tell, 2.10.0's; under `mindspore2` that of 2.10.0. This module reads the rows and
compares; which rule each row that differs falls under is not yet written down, so no test asserts it.
"""

from __future__ import annotations

import ast
import functools
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import ml_dtypes  # noqa: F401  # so that NumPy knows bfloat16
import numpy as np

import tracejit
from tests.test_operators import SYMBOLS
from tracejit import Parameter, Tensor, jit, ops
from tracejit import dtypes as dt
from tracejit.bridge import backend
from tracejit.dispatch import accept
from tracejit.errors import ParameterCastError, TracejitError
from tracejit.ir import Literal, TensorType, Value
from tracejit.ops.record import CLASSES, RECORDS, Op
from tracejit.passes.inference import infer
from tracejit.policies import get

GOLDEN = Path(__file__).parent / "golden" / "mindspore"
POLICIES = ("mindspore", "mindspore2")
TOLERANCE = {"float16": 5e-3, "bfloat16": 5e-2}  # else 2e-6
SYMBOL_OPS = {RECORDS[op.name].comparison or symbol: op for symbol, op in {
    "+": CLASSES["Add"], "-": CLASSES["Sub"], "*": CLASSES["Mul"], "/": CLASSES["Div"], "//": CLASSES["FloorDiv"],
    "%": CLASSES["FloorMod"], "**": CLASSES["Pow"], "&": CLASSES["BitwiseAnd"], "|": CLASSES["BitwiseOr"],
    "^": CLASSES["BitwiseXor"], "==": CLASSES["Equal"], "!=": CLASSES["NotEqual"], "<": CLASSES["Less"],
    "<=": CLASSES["LessEqual"], ">": CLASSES["Greater"], ">=": CLASSES["GreaterEqual"],
}.items()}  # fmt: skip
ASSIGN = ("Assign", "AssignAdd", "AssignSub")


class Written(NamedTuple):
    """An operand that is a Parameter to be written, or (`read`) one that is only read."""

    values: np.ndarray
    read: bool = False


class Row(NamedTuple):
    """One recorded input: an operator by class name or symbol, its operands, and a cell per run (`1.1.1p`)."""

    file: str
    tag: str
    op: str
    operands: tuple[Any, ...]
    cells: dict[str, str]
    errors: Sequence[str]
    attributes: dict[str, Any] = {}  # noqa: RUF012  # a NamedTuple's default, never changed

    @property
    def record(self) -> Op | None:
        return SYMBOL_OPS.get(self.op) or CLASSES.get(self.op)

    def __str__(self) -> str:
        given = ", ".join([show(x) for x in self.operands] + [f"{k}={v}" for k, v in self.attributes.items()])
        return f"{self.file}{'-' * bool(self.tag)}{self.tag} {self.op}({given})"


def show(operand: Any) -> str:
    """Word an operand: a tensor as `int8[1]:3`, a Parameter as `W:int8[1]:3`, a NumPy scalar as `np.int8(3)`."""
    if isinstance(operand, Written):
        return f"{'R' if operand.read else 'W'}:{show(operand.values)}"
    if isinstance(operand, np.ndarray):
        values = operand.ravel().tolist()
        shown = ",".join(map(str, values[:3])) + ",…" * (len(values) > 3)
        return f"{operand.dtype}[{','.join(map(str, operand.shape))}]:{shown}"
    if isinstance(operand, np.generic):
        return f"np.{operand.dtype}({operand.item()})"
    return repr(operand)


# Reading the files


@functools.cache
def load(name: str) -> Any:
    text = (GOLDEN / name).read_text()
    return [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)


def numbers(values: Any) -> Any:
    """Turn the strings nan, inf, -inf and -0.0 inside nested lists into floats."""
    if isinstance(values, list):
        return [numbers(value) for value in values]
    return float(values) if isinstance(values, str) else values


def array(values: Any, dtype: str, shape: Sequence[int] | None = None) -> np.ndarray:
    with np.errstate(all="ignore"):
        made = np.array(numbers(values)).astype(dtype) if "int" not in dtype else np.array(numbers(values), dtype)
    return made if shape is None else made.reshape(shape)


def start(dtype: str, value: int = 3, shape: Sequence[int] = (1,)) -> np.ndarray:
    """Return the operand of the tables: 3 on the left, 2 on the right, True for bool."""
    return np.full(shape, value).astype(dtype)


def merged(rows: Iterator[tuple[Any, dict[str, str]]]) -> dict[Any, dict[str, str]]:
    """Gather the cells of each key, which may be spread over tables."""
    found: dict[Any, dict[str, str]] = defaultdict(dict)
    for key, cells in rows:
        found[key].update(cells)
    return found


def by_run(cells: dict[str, str]) -> dict[str, str]:
    """Turn `{cell: runs}` round."""
    return {run: cell for cell, runs in cells.items() for run in runs.split()}


def table_cells(tables: Any, table: Any, columns: int) -> Iterator[tuple[Any, dict[str, str]]]:
    for runs in [tables]:
        for run, names in runs.items():
            for name in names:
                for i, line in enumerate(table):
                    for j, cell in enumerate(line[:columns]):
                        if cell is not None:
                            yield (name, i, j), {run: cell}


def read_a() -> Iterator[Row]:
    recorded = load("A_binary_tensor_tensor.json")
    dtypes, errors = recorded["dtypes"], recorded["errors"]
    cells = merged(pair for entry in recorded["tables"] for pair in table_cells(entry["runs"], entry["table"], 9))
    for (op, i, j), runs in cells.items():
        yield Row("A", "", op, (start(dtypes[i]), start(dtypes[j], 2)), runs, errors)
    for entry in recorded["operand_types_in_ir"]:
        for (op, i, j), runs in table_cells(entry["runs"], entry["table"], 9):
            runs = {run: f"~cast {cell.partition(',')[0]}" for run, cell in runs.items()}
            yield Row("A", "ir", op, (start(dtypes[i]), start(dtypes[j], 2)), runs, errors)


def read_a_ext() -> Iterator[Row]:
    errors = load("A_ext_other_dtypes.errors.json")
    for (op, a, b), cells in load("A_ext_other_dtypes.jsonl")[1:]:
        right = start(b, 2) if b in dt.BY_NAME else ast.literal_eval(b)
        yield Row("A_ext", "", op, (start(a), right), by_run(cells), errors)


def ordered(dtype: str, other: Any, order: str) -> tuple[Any, Any]:
    return (start(dtype), other) if order == "TS" else (other, start(dtype))


def read_b_dtypes() -> Iterator[Row]:
    recorded = load("B_binary_tensor_scalar_dtypes.json")
    scalars = [ast.literal_eval(text) for text in recorded["scalars"]]

    def pairs() -> Iterator[Any]:
        for entry in recorded["tables"]:
            for order in ("TS", "ST"):
                table = entry["TS"] if entry.get(order) == "same as TS" else entry.get(order)
                for (op, i, j), cells in table_cells(entry["runs"], table or [], 7):
                    yield (op, i, j, order), cells

    for (op, i, j, order), cells in merged(pairs()).items():
        operands = ordered(recorded["dtypes"][i], scalars[j], order)
        yield Row("B", "dtypes", op, operands, cells, recorded["errors"])


def read_b_values() -> Iterator[Row]:
    header, *lines = load("B_binary_tensor_scalar_values.jsonl")
    scalars, errors = header["scalars"], load("B_binary_tensor_scalar_dtypes.json")["errors"]

    def pairs() -> Iterator[Any]:
        for op, dtype, orders, runs, cells in lines:
            for order in orders.split("/"):
                for scalar, cell in zip(scalars, cells, strict=True):
                    yield (op, dtype, order, scalar), dict.fromkeys(runs.split(), cell)

    for (op, dtype, order, scalar), cells in merged(pairs()).items():
        yield Row("B", "values", op, ordered(dtype, ast.literal_eval(scalar), order), cells, errors)


def read_b_scalars() -> Iterator[Row]:
    errors = load("B_binary_tensor_scalar_dtypes.json")["errors"]
    for op, a, b, cells in load("B_scalar_scalar.jsonl"):
        yield Row("B", "scalars", op, (ast.literal_eval(a), ast.literal_eval(b)), by_run(cells), errors)


def other_operand(spelled: str) -> Any:
    """Return an operand of file C such as `int32:2`, `ndarray:int64(2,):[2 2]`, `list:[True]`."""
    name, _, text = spelled.partition(":")
    if name == "ndarray":
        dtype, shape, values = re.fullmatch(r"(\w+)(\(.*?\)):(.*)", text).groups()
        return np.array([float(v) for v in values.strip("[]").split()]).astype(dtype).reshape(ast.literal_eval(shape))
    if name in ("str", "float"):
        return text if name == "str" else float(text)
    if name in ("bool_", "int8", "int32", "int64", "uint8", "float16", "float32", "float64"):
        return getattr(np, name)(ast.literal_eval(text))
    return complex(text) if name == "complex" else ast.literal_eval(text)


def read_c() -> Iterator[Row]:
    errors = load("C_zero_d_numpy_and_others.errors.json")
    for key, cells in load("C_zero_d_numpy_and_others.jsonl")[1:]:
        if key[0] == "ctor":
            yield Row("C", "ctor", "Tensor", (key[1],), by_run(cells), errors)
        elif key[1] == "shape":
            op, _, a, a_shape, b, b_shape = key
            yield Row("C", "shape", op, (start(a, 3, a_shape), start(b, 2, b_shape)), by_run(cells), errors)
        else:
            op, _, dtype, spelled, order = key
            yield Row(
                "C", "other", op, ordered(dtype, NumPyArray.of(other_operand(spelled)), order), by_run(cells), errors
            )


class NumPyArray(NamedTuple):
    """An operand that was a NumPy array, not a tensor."""

    values: np.ndarray

    @staticmethod
    def of(value: Any) -> Any:
        return NumPyArray(value) if isinstance(value, np.ndarray) else value

    def __repr__(self) -> str:
        return f"ndarray {show(self.values)}"


def read_d() -> Iterator[Row]:
    errors, recorded = load("D_parameter.errors.json"), load("D_parameter_tables.json")
    for case in ("arith", "assign"):
        entries = [entry for entry in recorded["tables"] if entry["case"] == case]
        for (op, i, j), cells in merged(p for e in entries for p in table_cells(e["runs"], e["table"], 9)).items():
            parameter = Written(start(recorded["dtypes"][i]), case == "arith")
            yield Row("D", case, op, (parameter, start(recorded["dtypes"][j], 2)), cells, errors)
    for key, cells in load("D_parameter_rows.jsonl")[1:]:
        if key[0] in ("assign_scalar", "arith_scalar"):
            tag, op, dtype, scalar = key
            parameter = Written(start(dtype), tag == "arith_scalar")
            yield Row("D", tag, op, (parameter, ast.literal_eval(scalar)), by_run(cells), errors)


def read_e() -> Iterator[Row]:
    errors = load("E_values.errors.json")
    for key, cells in load("E_values.jsonl")[1:]:
        tag, op, *rest = key
        runs = by_run(cells)
        name, _, attribute = op.partition("(")
        attributes = {"tolerance": ast.literal_eval(attribute.rstrip(")"))} if attribute else {}
        if tag == "cast":
            source, target, x = key[1:]
            yield Row("E", tag, "Cast", (array(x, source),), runs, errors, {"dtype": target})
        elif tag == "approx_ctor":
            yield Row("E", tag, name, (start("float32"), start("float32")), runs, errors, attributes)
        elif tag == "approx_tol0.5":
            dtype, x, y = rest
            yield Row("E", tag, name, (array(x, dtype), array(y, dtype)), runs, errors, attributes)
        elif tag.startswith("scalar_"):
            dtype, x, y = rest
            operands = (array([x], dtype), numbers(y))
            yield Row("E", tag, op, operands[::-1] if tag.endswith("_rev") else operands, runs, errors)
        else:
            a, b, x, y = rest
            yield Row("E", tag, op, (array(x, a), array(y, b)), runs, errors)


def read_f() -> Iterator[Row]:
    errors = load("F_scatter_indices.errors.json")
    shapes = {"same": (4,), "(1,)": (1,), "0-d": (), "(1,4)": (1, 4), "(3,)": (3,)}
    for key, cells in load("F_scatter_indices.jsonl")[1:]:
        if key[0] not in ASSIGN:
            continue
        if "shape" in key:
            operands: Any = (Written(array([1, 2, 3, 4], key[1])), start(key[1], 2, shapes[key[3]]))
        elif key[1] == "nonparam":
            operands = (start("float32", 1), start("float32", 2))
        elif key[1] == "overflow":
            operands = (Written(start("int8", 127)), start("int8", 1))
        else:
            operands = (Written(start("float32", 1)), start("float32", 2))
        yield Row("F", key[-1] if "shape" in key else key[1], key[0], operands, by_run(cells), errors)


def read_operator_cases() -> Iterator[Row]:
    """Read the numeric cases as cells like those of the other files; rows of one input are one row."""
    found: dict[str, Row] = {}
    for case in load("operator_cases.json")["cases"]:
        record = CLASSES.get(case["op"])
        if record is None or record.name not in BINARY_OR_ASSIGN:
            continue
        operands = tuple(map(case_operand, case["inputs"]))
        row = Row("cases", case["note"], case["op"], operands, {}, [], case["attrs"])
        row = found.setdefault(json.dumps([case["op"], case["attrs"], case["inputs"]]), row)
        for run in case.get("same_result_in") or [f"{case['version']}/{case['mode']}"]:
            version, _, mode = run.partition("/")
            row.cells[version + mode[0]] = case_cell(case)
    yield from found.values()


def case_operand(entry: dict[str, Any]) -> Any:
    if entry["kind"] == "python_scalar":
        return entry["value"]
    values = array(entry["values"], entry["dtype"], entry["shape"])
    return Written(values) if entry["kind"] == "parameter" else values


def case_cell(case: dict[str, Any]) -> str:
    if "raises" in case:
        return f"raises {case['raises']}: {case['note']}"
    after = case["parameters_after"]
    (result,) = after or case["outputs"]
    shape = ",".join(map(str, result["shape"]))
    return f"{'ok ' if after else ''}{result['dtype']}({shape}):{json.dumps(result['values'])}"


BINARY_OR_ASSIGN = {op.name for op in SYMBOL_OPS.values()} | {
    CLASSES[name].name
    for name in "RealDiv DivNoNan Mod TruncateDiv TruncateMod Maximum Minimum SquaredDifference Atan2 Xdivy Xlogy "
    "ApproximateEqual LogicalAnd LogicalOr Assign AssignAdd AssignSub".split()
}

READERS = {
    "A_binary_tensor_tensor": read_a,
    "A_ext_other_dtypes": read_a_ext,
    "B_binary_tensor_scalar_dtypes": read_b_dtypes,
    "B_binary_tensor_scalar_values": read_b_values,
    "B_scalar_scalar": read_b_scalars,
    "C_zero_d_numpy_and_others": read_c,
    "D_parameter": read_d,
    "E_values": read_e,
    "F_scatter_indices": read_f,
    "operator_cases": read_operator_cases,
}


# What a cell says


class Outcome(NamedTuple):
    """What a run gave: a `computed` or `result` dtype, a `value`, an error's class (`raises`), a `python` value."""

    kind: str
    cell: str
    dtype: str = ""
    values: np.ndarray | None = None
    error: Any = None


_RESULT = re.compile(r"(ok )?(bool|u?int\d+|b?float\d+|complex\d+)(\(([\d, ]*)\))?(?::(.+?))?( out=.*)?$")


def outcome_of(row: Row, cell: str | None) -> Outcome | None:
    """Read a cell; None where it says nothing: no such run, a crash, no kernel, no plain result."""
    if cell is None or cell.startswith(("CRASH", "~?", "~ref", "dtype:")) or re.match(r"~\w+,", cell):
        return None
    if cell.startswith("py:"):
        return Outcome("python", cell)
    if cell.startswith(("!", "raises")):
        text = row.errors[int(cell[1:])] if cell[0] == "!" else cell.partition(" ")[2]
        error = error_class(text, row)
        return None if error is None else Outcome("raises", text.partition("\n")[0][:90], error=error)
    if found := re.match(r"~cast (\w+)", cell):
        return Outcome("computed", cell, found[1])
    if found := re.match(r"~(\w+)( !\d+)?$", cell):
        return Outcome("result", cell, found[1])
    found = _RESULT.match(cell)
    if found is None:
        return None
    _, dtype, shaped, shape, values, _ = found.groups()
    if values is None or values.startswith("<"):
        return Outcome("result", cell, dtype)
    lengths = [int(n) for n in (shape or "").split(",") if n.strip()] if shaped else [1]
    return Outcome("value", cell, dtype, recorded_array(values, dtype, lengths))


def recorded_array(text: str, dtype: str, shape: Sequence[int]) -> np.ndarray:
    if dtype.startswith("complex"):
        return np.array(complex(text)).astype(dtype).reshape(shape)
    values = float(text) if text in ("nan", "inf", "-inf") else json.loads(text)
    if dtype.startswith(("int", "uint")):
        return np.array(values, dtype).reshape(shape)
    return array(values, dtype, shape)


_NO_KERNEL = "Select CPU operator|is not support[^e]|Unsupported data type|not support data type"
_NO_TENSOR = "For Tensor, the input_data is a numpy array|'NoneType'"  # complex and bfloat16 in 1.1.1
_NO_RULE = re.compile(f"{_NO_KERNEL}|{_NO_TENSOR}")
_CONVERSION = re.compile("ata type conversion|writable arg|with f32|<- f32")
_SHAPE = re.compile("shape|rank|same dim|descriptor|scalar|broadcast|larger|python")


def error_class(text: str, row: Row) -> Any:
    """Return the class that DECISIONS gives an error, the name of another one, or None where it is no rule."""
    name = text.partition(":")[0]
    if _NO_RULE.search(text) and "NoneType:None" not in str(row) and None not in row.operands:
        return None
    if "BuildKernel]" in text and row.op not in ASSIGN:
        return None
    if _CONVERSION.search(text):
        return ParameterCastError
    if "Unable to cast Python instance" in text:
        return OverflowError
    if name in ("ValueError", "RuntimeError") and _SHAPE.search(text):
        return ValueError
    return {"TypeError": TypeError, "ValueError": ValueError}.get(name, name)


def differs_by_dialect(row: Row) -> bool:
    """Say whether OPS.md names a difference between r1.1 and 2.x for an input of which 1.1.1 tells no value."""
    name = row.record.name if row.record else ""
    dtypes = {str(getattr(getattr(x, "values", x), "dtype", type(x).__name__)) for x in row.operands}
    if name == "div":
        return not any("float" in dtype for dtype in dtypes)
    if name in ("logical_and", "logical_or"):
        return dtypes != {"bool"}
    return name == "xlogy" and bool(
        dtypes & {"float", "int", "bool"} - {"bool"} | ({"bool"} & {type(x).__name__ for x in row.operands})
    )


def counted(row: Row, policy: str) -> list[Outcome]:
    """Return the outcomes of a row that count under a policy."""
    if row.tag == "scalars" and row.op in SYMBOL_OPS:
        return []  # Python computes
    later = outcome_of(row, row.cells.get("2.10.0p")) or outcome_of(row, row.cells.get("2.10.0g"))
    if policy == "mindspore2":
        return [later] if later else []
    first = [outcome_of(row, row.cells.get(run)) for run in ("1.1.1p", "1.1.1g")]
    known = [trusted(row, outcome) for outcome in first if outcome is not None]
    told = next((x for x in known if x.kind in ("value", "raises", "python")), None) or next(iter(known), None)
    if later is not None and differs_by_dialect(row):
        later = None
    if told is None:
        return [later] if later else []
    if told.kind in ("computed", "result") and later is not None and later.kind == "value":
        if later.dtype == told.dtype or (told.kind == "computed" and later.dtype == "bool"):
            return [told, later]
    return [told]


def trusted(row: Row, outcome: Outcome) -> Outcome:
    """Keep a value of 1.1.1 only where its kernels were right: float32 and int32 (bool is right as a result)."""
    if outcome.kind != "value":
        return outcome
    arrays = [x.values if isinstance(x, Written) else x for x in row.operands]
    dtypes = {str(x.dtype) for x in arrays if isinstance(x, np.ndarray)}
    wide = {"float32", "int32"}
    sure = bool(dtypes & wide) and dtypes <= wide | {"bool"} and outcome.dtype in wide | {"bool"}
    return outcome if sure or row.op == "Tensor" else Outcome("result", outcome.cell, outcome.dtype)


# What tracejit does


_numbers = itertools.count()
_tensors: dict[Any, Tensor] = {}


def tensor_of(x: np.ndarray) -> Tensor:
    """Return a Tensor of an array's values, the same for equal ones."""
    key = (x.dtype, x.shape, x.tobytes())
    if key not in _tensors:
        _tensors[key] = Tensor(x)
    return _tensors[key]


def operand_of(x: Any) -> Any:
    if isinstance(x, Written):
        return Parameter(x.values, name=f"p{next(_numbers)}")
    return x.values if isinstance(x, NumPyArray) else x


def call(row: Row, operands: Sequence[Any]) -> Any:
    if row.op in SYMBOLS_BY_TEXT:
        return SYMBOLS_BY_TEXT[row.op](*operands)
    at_call = {k: v for k, v in row.attributes.items() if k in row.record.call_order}
    attributes = {k: v for k, v in row.attributes.items() if k not in at_call}
    return getattr(ops, row.op)(**attributes)(*operands, **at_call)


SYMBOLS_BY_TEXT = {
    text: next(SYMBOLS[method] for method in op.methods if method in SYMBOLS) for text, op in SYMBOL_OPS.items()
}


class Declared(NamedTuple):
    """What inference says of a row: the dtype in which it computes and that of the result, or an error's class."""

    computed: str
    result: str
    error: type[Exception] | None = None


def abstract(op: Op, position: int, x: Any, policy: str) -> Value:
    values = getattr(x, "values", x)
    if isinstance(values, np.ndarray):
        return Value(TensorType(dt.as_dtype(values.dtype), values.shape))
    return Literal(accept(op, position, x, get(policy)))


def declare(row: Row, policy: str) -> Declared:
    op = row.record
    try:
        values = [abstract(op, i, x, policy) for i, x in enumerate(row.operands)]
        given = {a.name: op.check_attribute(a.name, row.attributes.get(a.name, op.default(a))) for a in op.attributes}
        given |= {"dialect": get(policy).dialect} if op.dialect_matters else {}
        inference = infer(op, values, given, get(policy))
        computed = next(iter(inference.groups.values()), inference.results[0].dtype)
        return Declared(computed.name, inference.results[0].dtype.name)
    except (TypeError, ValueError, OverflowError) as error:
        return Declared("", "", type(error))


def execute(rows: Sequence[Row], policy: str, wanted: Sequence[bool]) -> list[Any]:
    """Trace rows as one function and compute its Graph: per row an array, or the class of its error.

    The Graph is computed operation by operation, which XLA need not compile as a whole: it has thousands of them. Of
    rows whose value is not `wanted` the result is an array of zeros: these are only traced.
    """
    outcomes: list[Any] = [None] * len(rows)
    operands = [[operand_of(x) for x in row.operands] for row in rows]
    tensors = [[tensor_of(x) if type(x) is np.ndarray else None for x in row.operands] for row in rows]

    @jit(promotion=policy)
    def run(groups: list[list[Any]]) -> list[Any]:
        results = []
        for i, (row, given, traced) in enumerate(zip(rows, operands, groups, strict=True)):
            chosen = [x if y is None else y for x, y in zip(given, traced, strict=True)]
            try:
                result = call(row, chosen)
            except (TracejitError, TypeError) as error:
                outcomes[i] = type(error)
                continue
            result = result if isinstance(result, Tensor) else Tensor(result)
            outcomes[i] = len(results) if wanted[i] else np.zeros(result.shape, result.dtype.numpy)
            results += [result] * wanted[i]
        return results

    graph = run.trace(tensors).simplified
    state = {x.name: x.value() for group in operands for x in group if isinstance(x, Parameter)}
    inputs = [x.value() for group in tensors for x in group if x is not None]
    with jax.enable_x64(True):
        results, _ = backend.emit(graph, inputs, [state[value.name] for value in graph.state])
    return [np.asarray(results[x]) if isinstance(x, int) else x for x in outcomes]


def construct(row: Row) -> Any:
    """Run a row of `Tensor(...)`."""
    expression = row.operands[0].replace("ms.", "tracejit.")
    try:
        return eval(expression, {"Tensor": Tensor, "np": np, "tracejit": tracejit}).asnumpy()
    except TracejitError as error:
        return type(error)


def agrees(outcome: Outcome, declared: Declared | None, executed: Any) -> bool:
    """Say whether what tracejit declares and does is what was recorded."""
    if outcome.kind in ("computed", "result"):
        if declared is None:
            return not isinstance(executed, type) and str(executed.dtype) == outcome.dtype
        return (declared.computed if outcome.kind == "computed" else declared.result) == outcome.dtype
    if outcome.kind == "raises":
        return isinstance(executed, type) and isinstance(outcome.error, type) and issubclass(executed, outcome.error)
    if outcome.kind == "python" or isinstance(executed, type):
        return False
    return same_values(executed, outcome.values)


def same_values(actual: np.ndarray, expected: np.ndarray) -> bool:
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return False
    if actual.dtype.kind in "biu":
        return bool(np.array_equal(actual, expected))
    tolerance = TOLERANCE.get(str(actual.dtype), 2e-6)
    wide = "c16" if actual.dtype.kind == "c" else "f8"
    return bool(np.allclose(actual.astype(wide), expected.astype(wide), tolerance, tolerance, equal_nan=True))


class Result(NamedTuple):
    """A counted row under a policy, with the text by which differences are found; `wrong` is what disagreed."""

    row: Row
    policy: str
    wrong: tuple[str, ...]


def word(executed: Any, declared: Declared | None, outcome: Outcome) -> str:
    if outcome.kind in ("computed", "result") and declared is not None:
        return declared.error.__name__ if declared.error else getattr(declared, outcome.kind)
    return executed.__name__ if isinstance(executed, type) else show(executed)


@functools.cache
def results(file: str, policy: str) -> tuple[list[Result], int]:
    """Compare the rows of a file with what tracejit does; returns them, and how many rows say nothing."""
    rows = list(READERS[file]())
    told = [(row, outcomes) for row in rows if (outcomes := counted(row, policy))]
    executed = run_all([row for row, _ in told], policy, [any(x.kind == "value" for x in xs) for _, xs in told])
    found = []
    for (row, outcomes), ours in zip(told, executed, strict=True):
        declared = None if row.op == "Tensor" else declare(row, policy)
        wrong = [
            f"{policy} {row} recorded {outcome.cell} ours {word(ours, declared, outcome)}"
            for outcome in outcomes
            if not agrees(outcome, declared, ours)
        ]
        found.append(Result(row, policy, tuple(wrong)))
    return found, len(rows) - len(told)


def run_all(rows: Sequence[Row], policy: str, wanted: Sequence[bool]) -> list[Any]:
    """Execute rows; those of one call are run once."""
    keys = [call_key(row) for row in rows]
    values = {key for key, flag in zip(keys, wanted, strict=True) if flag}
    first = dict(zip(keys, rows, strict=True))
    calls = {key: row for key, row in first.items() if row.op != "Tensor"}
    outcomes = dict(zip(calls, execute(list(calls.values()), policy, [key in values for key in calls]), strict=True))
    outcomes |= {key: construct(row) for key, row in first.items() if row.op == "Tensor"}
    return [outcomes[key] for key in keys]


def call_key(row: Row) -> str:
    """Word everything that can matter of a call; a symbol is its operator."""
    values = [getattr(x, "values", x) for x in row.operands]
    shown = [(show(x), v.tobytes() if isinstance(v, np.ndarray) else "") for x, v in zip(row.operands, values)]
    return repr((row.op, shown, row.attributes))
