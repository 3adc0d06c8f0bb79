"""Recorded MindSpore rows of the binary operators, Cast, Assign* and Tensor(): read from `golden/mindspore`.

A row is one input with what each version and mode gave for it. `recorded_outcomes` says what a cell means and which
counts, `recorded_calls` what tracejit does.
"""

from __future__ import annotations

import ast
import functools
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes  # noqa: F401  # so that NumPy knows bfloat16
import numpy as np

from tracejit import dtypes as dt
from tracejit.ops.record import CLASSES, Op

GOLDEN = Path(__file__).parent / "golden" / "mindspore"
SYMBOL_OPS = {
    "+": CLASSES["Add"], "-": CLASSES["Sub"], "*": CLASSES["Mul"], "/": CLASSES["Div"], "//": CLASSES["FloorDiv"],
    "%": CLASSES["FloorMod"], "**": CLASSES["Pow"], "&": CLASSES["BitwiseAnd"], "|": CLASSES["BitwiseOr"],
    "^": CLASSES["BitwiseXor"], "==": CLASSES["Equal"], "!=": CLASSES["NotEqual"], "<": CLASSES["Less"],
    "<=": CLASSES["LessEqual"], ">": CLASSES["Greater"], ">=": CLASSES["GreaterEqual"],
}  # fmt: skip
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


def table_cells(runs: dict[str, list[str]], table: Any) -> Iterator[tuple[Any, dict[str, str]]]:
    """Give each cell of a table that stands for operators in some runs."""
    cells = [(i, j, cell) for i, line in enumerate(table) for j, cell in enumerate(line) if cell is not None]
    for run, names in runs.items():
        for name in names:
            for i, j, cell in cells:
                yield (name, i, j), {run: cell}


def read_a() -> Iterator[Row]:
    recorded = load("A_binary_tensor_tensor.json")
    dtypes, errors = recorded["dtypes"], recorded["errors"]
    cells = merged(pair for entry in recorded["tables"] for pair in table_cells(entry["runs"], entry["table"]))
    for (op, i, j), runs in cells.items():
        yield Row("A", "", op, (start(dtypes[i]), start(dtypes[j], 2)), runs, errors)
    for entry in recorded["operand_types_in_ir"]:
        for (op, i, j), runs in table_cells(entry["runs"], entry["table"]):
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
                for (op, i, j), cells in table_cells(entry["runs"], table or []):
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
        ((dtype, shape, values),) = re.findall(r"(\w+)(\(.*?\)):(.*)", text)
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
        for (op, i, j), cells in merged(p for e in entries for p in table_cells(e["runs"], e["table"])).items():
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
