"""Policies `mindspore`, `mindspore2`, `strict` against MindSpore as it ran, and against the pages.

A recorded cell says something about promotion if it shows a dtype that was inferred or cast to, or an error about
conversion. Other errors are an operator's refusal of the promoted dtype, or a missing kernel.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tracejit import dtypes as dt
from tracejit.ir import TensorType
from tracejit.policies import Operand, PromotionError, WrittenConversion, get
from tracejit.queries import result_type

GOLDEN = Path(__file__).parent / "golden" / "mindspore"
#: Operators that do not return what they computed in; only the casts before them tell.
BOOLEAN = set("Equal NotEqual Less LessEqual Greater GreaterEqual ApproximateEqual LogicalAnd LogicalOr".split())
BOOLEAN |= set("== != < <= > >=".split())
#: Optimizers whose Python scalars (0.5 in the recorded runs) are in the Parameter's group.
SCALARS_IN_THE_GROUP = {"ApplyPowerSign", "FusedSparseAdam", "FusedSparseLazyAdam", "FusedSparseProximalAdagrad"}
RUNS = {"mindspore": ("1.1.1p", "1.1.1g"), "mindspore2": ("2.10.0p", "2.10.0g")}


@functools.cache
def load(name: str) -> Any:
    text = (GOLDEN / name).read_text()
    return [json.loads(line) for line in text.splitlines()][1:] if name.endswith("l") else json.loads(text)


class Row(NamedTuple):
    policy: str
    operator: str
    operands: tuple[Any, ...]
    cell: str

    @property
    def dtype(self) -> str | None:
        """The dtype in which the operator computed; None where the cell does not tell."""
        found = re.match(r"~?(cast )?(bool|u?int\d+|b?float\d+|complex\d+)\b(?!,)", self.cell)
        if not found or (self.operator in BOOLEAN and not found[1]):
            return None
        if self.policy == "mindspore2" and self.operator in ("Div", "/") and found[2] == "float32":
            return None  # the dialect's true division makes float32 of integers
        return found[2]


def tensor(dtype: str, shape: tuple[int, ...] = (2,)) -> TensorType:
    return TensorType(dt.as_dtype(dtype), shape)


def outcome(policy: str, *operands: Any) -> str:
    try:
        return str(result_type(*operands, promotion=policy))
    except PromotionError:
        return "refused"


def runs_of(entry: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield policy and operator of every run of a table that counts for a policy."""
    for policy, runs in RUNS.items():
        for run in runs:
            for operator in entry.get(run, ()):
                yield policy, operator


def tensor_rows() -> Iterator[Row]:
    recorded = load("A_binary_tensor_tensor.json")
    dtypes = recorded["dtypes"]
    tables = [(entry["runs"], entry["table"]) for entry in recorded["tables"]]
    for entry in recorded["operand_types_in_ir"]:
        casts = [[f"~cast {cell.split(',')[0]}" if cell else "-" for cell in row] for row in entry["table"]]
        tables.append((entry["runs"], casts))
    for runs, table in tables:
        for policy, operator in runs_of(runs):
            for (i, a), (j, b) in product(enumerate(dtypes), repeat=2):
                yield Row(policy, operator, (tensor(a), tensor(b)), table[i][j])


def scalar_rows() -> Iterator[Row]:
    recorded = load("B_binary_tensor_scalar_dtypes.json")
    scalars = [True, 2, 300, -1, 2**40, 2.5, 1e300]
    for entry in recorded["tables"]:
        for policy, operator in runs_of(entry["runs"]):
            for order in ("TS", "ST"):
                table = entry["TS"] if entry.get(order) == "same as TS" else entry.get(order)
                for (i, dtype), (j, scalar) in product(enumerate(recorded["dtypes"]), enumerate(scalars)):
                    if table:
                        operands = (tensor(dtype), scalar) if order == "TS" else (scalar, tensor(dtype))
                        yield Row(policy, operator, operands, table[i][j])


def line_rows(file: str) -> Iterator[tuple[list[Any], str, str]]:
    for key, cells in load(file):
        for policy, runs in RUNS.items():
            for cell, names in cells.items():
                if set(runs) & set(names.split()):
                    yield key, policy, cell


def zero_d_rows() -> Iterator[Row]:
    for key, policy, cell in line_rows("C_zero_d_numpy_and_others.jsonl"):
        if key[1] == "shape":
            operator, _, a, a_shape, b, b_shape = key
            yield Row(policy, operator, (tensor(a, tuple(a_shape)), tensor(b, tuple(b_shape))), cell)


def number_rows() -> Iterator[Row]:
    """Python and NumPy scalars. NumPy's are as MindSpore 1.10 and later take them, under both policies (DECISIONS)."""
    for key, policy, cell in line_rows("C_zero_d_numpy_and_others.jsonl"):
        if key[1] != "other":
            continue
        operator, _, dtype, spelled, order = key
        name, _, value = spelled.partition(":")
        if name in ("bool", "int", "float"):
            scalar: Any = value == "True" if name == "bool" else {"int": int, "float": float}[name](value)
        elif name in ("bool_", "int8", "int32", "int64", "uint8", "float16", "float32", "float64"):
            scalar = getattr(np, name)(value == "True" if name == "bool_" else float(value))
        else:
            continue
        if isinstance(scalar, np.generic) and order == "ST" and not operator.isalpha():
            continue  # there NumPy took the operation over
        operands = (tensor(dtype), scalar) if order == "TS" else (scalar, tensor(dtype))
        yield Row(policy, operator, operands, cell)
        if isinstance(scalar, np.generic) and policy == "mindspore2" and operator not in ("Div", "/"):
            yield Row("mindspore", operator, operands, cell)


def read_parameter_rows() -> Iterator[Row]:
    recorded = load("D_parameter_tables.json")
    for entry in recorded["tables"]:
        if entry["case"] == "arith":
            for policy, operator in runs_of(entry["runs"]):
                for (i, a), (j, b) in product(enumerate(recorded["dtypes"]), repeat=2):
                    yield Row(policy, operator, (tensor(a), tensor(b)), entry["table"][i][j])
    for key, policy, cell in line_rows("D_parameter_rows.jsonl"):
        if key[0] == "arith_scalar":
            scalar = {"True": True, "2": 2, "2.5": 2.5}.get(key[3])
            if scalar is not None:
                yield Row(policy, key[1], (tensor(key[2]), scalar), cell)


def is_bool_with_int(operands: tuple[Any, ...]) -> bool:
    """Say whether these are a bool tensor and an integer scalar, Python's or NumPy's."""
    tensors = [operand for operand in operands if isinstance(operand, TensorType)]
    numbers = [operand for operand in operands if not isinstance(operand, TensorType | bool)]
    return (
        [t.dtype for t in tensors] == [dt.bool_]
        and all(isinstance(n, int | np.integer) for n in numbers)
        and numbers != []
    )


def check(rows: Iterator[Row], least: int) -> list[tuple[str, str, tuple[Any, ...], str, str]]:
    """Return the rows that disagree, but for DECISIONS' int32 of a bool tensor with a Python int."""
    wrong, told = [], {"mindspore": 0, "mindspore2": 0}
    answers: dict[Any, str] = {}
    for row in rows:
        if row.dtype is None:
            continue
        told[row.policy] += 1
        key = (row.policy, repr(row.operands))
        if key not in answers:
            answers[key] = outcome(row.policy, *row.operands)
        wanted = row.dtype
        if row.policy == "mindspore" and wanted == "int64" and is_bool_with_int(row.operands):
            wanted = "int32"
        if answers[key] != wanted:
            wrong.append((row.policy, row.operator, row.operands, row.dtype, answers[key]))
    assert min(told.values()) >= least, told
    return wrong


@pytest.mark.parametrize(
    ("rows", "least"),
    [(tensor_rows, 1300), (scalar_rows, 1200), (number_rows, 600), (read_parameter_rows, 300)],
    ids=["tensors", "scalars", "numbers", "parameters read"],
)
def test_dtypes_are_mindspores(rows: Any, least: int) -> None:
    assert check(rows(), least) == []


def test_0d_tensors_are_tensors() -> None:
    wrong = check(zero_d_rows(), 200)
    # Not followed (DECISIONS): Mul of 2.10, and its Div of floats, skip promotion where the right operand is 0-d.
    assert {(policy, operator, operands[1].shape) for policy, operator, operands, *_ in wrong} == {
        ("mindspore2", "Mul", ()),
        ("mindspore2", "Div", ()),
    }


def test_dtypes_outside_the_nine() -> None:
    errors = load("A_ext_other_dtypes.errors.json")
    wrong, told = [], 0
    for (operator, a, b), policy, cell in line_rows("A_ext_other_dtypes.jsonl"):
        if not dt.BY_NAME.get(b) and policy == "mindspore":
            continue  # MindSpore 1.1 refuses scalars beside uint16; that they are taken is an extension
        other = tensor(b) if b in dt.BY_NAME else {"True": True, "2": 2, "2.5": 2.5}[b]
        answer = outcome(policy, tensor(a), other)
        message = errors[int(cell[1:])] if cell.startswith("!") else ""
        refused = re.search("implicit conversion between|promote output type|should be same as", message)
        wanted = "refused" if refused else Row(policy, operator, (), cell).dtype
        if wanted is None:
            continue  # no such tensor in that version, or no kernel
        told += 1
        if answer != wanted:
            wrong.append((policy, operator, a, b, wanted, answer))
    assert told > 500
    # Mul of 2.10 refuses bool with uint16, 32, 64, which Add and its own table take. One answer for every operator.
    assert {(policy, operator, *sorted({a, b})) for policy, operator, a, b, *_ in wrong} == {
        ("mindspore2", "Mul", "bool", unsigned) for unsigned in ("uint16", "uint32", "uint64")
    }


def written(policy: str, parameter: str, *others: Any) -> str:
    """Decide a group of a written Parameter and values: its dtype, or whether the Parameter would be converted."""
    dtype = dt.as_dtype(parameter)
    group = [Operand(dtype, dtype.kind, written=True)]
    for other in others:
        if isinstance(other, str):
            group.append(Operand(dt.as_dtype(other), dt.as_dtype(other).kind))
        else:
            group.append(Operand(None, type(other).__name__))
    try:
        return str(get(policy).decide(tuple(group)).dtype)
    except WrittenConversion:
        return "converted"


def is_conversion_error(message: str) -> bool:
    return "ata type conversion" in message or "writable argument" in message


def test_a_written_parameter_is_never_converted() -> None:
    recorded, errors = load("D_parameter_tables.json"), load("D_parameter.errors.json")
    told = 0
    for entry in recorded["tables"]:
        if entry["case"] not in ("assign", "scatter"):
            continue
        for policy, operator in runs_of(entry["runs"]):
            for (i, a), (j, b) in product(enumerate(recorded["dtypes"]), repeat=2):
                cell = entry["table"][i][j]
                if cell.startswith("!"):
                    if is_conversion_error(errors[int(cell[1:])]):
                        told += 1
                        assert written(policy, a, b) == "converted", (policy, operator, a, b)
                else:
                    told += 1
                    assert written(policy, a, b) == a, (policy, operator, a, b, cell)
    assert told > 4000


def test_a_written_parameter_beside_scalars_and_in_optimizers() -> None:
    errors, told = load("D_parameter.errors.json"), 0
    for key, policy, cell in line_rows("D_parameter_rows.jsonl"):
        if key[0] != "assign_scalar":
            continue
        scalar = {"True": True, "2": 2, "300": 300, "2.5": 2.5, "1e+300": 1e300}.get(key[-1])
        if scalar is not None:
            raises = cell.startswith("!") and is_conversion_error(errors[int(cell[1:])])
            if raises or cell.startswith("ok"):
                told += 1
                assert written(policy, key[2], scalar) == ("converted" if raises else key[2]), (key, policy, cell)
    recorded = load("D_apply_summary.json")
    for entry in recorded["tables"]:
        for policy, operator in runs_of(entry["runs"]):
            for (i, a), (j, b) in product(enumerate(recorded["var"]), enumerate(recorded["grad"])):
                cell = entry["table"][i][j]
                if not cell.startswith("type"):  # the operator's own refusal of the dtype
                    told += 1
                    wanted = "converted" if cell.startswith("conv") else a
                    scalars = [0.5] if operator in SCALARS_IN_THE_GROUP else []
                    assert written(policy, a, b, *scalars) == wanted, (policy, operator, a, b, cell)
    assert told > 1500


# The conversion tables of MindSpore 2's source (July 2025); err is a TypeError.
TENSORS_2 = """
          b1    u8   u16   u32   u64    i8   i16   i32   i64  bf16   f16   f32   f64   c64  c128
    b1    b1    u8   u16   u32   u64    i8   i16   i32   i64  bf16   f16   f32   f64   c64  c128
    u8    u8    u8   err   err   err   i16   i16   i32   i64  bf16   f16   f32   f64   c64  c128
   u16   u16   err   u16   err   err   err   err   err   err   err   err   err   err   err   err
   u32   u32   err   err   u32   err   err   err   err   err   err   err   err   err   err   err
   u64   u64   err   err   err   u64   err   err   err   err   err   err   err   err   err   err
    i8    i8   i16   err   err   err    i8   i16   i32   i64  bf16   f16   f32   f64   c64  c128
   i16   i16   i16   err   err   err   i16   i16   i32   i64  bf16   f16   f32   f64   c64  c128
   i32   i32   i32   err   err   err   i32   i32   i32   i64  bf16   f16   f32   f64   c64  c128
   i64   i64   i64   err   err   err   i64   i64   i64   i64  bf16   f16   f32   f64   c64  c128
  bf16  bf16  bf16   err   err   err  bf16  bf16  bf16  bf16  bf16   f32   f32   f64   c64  c128
   f16   f16   f16   err   err   err   f16   f16   f16   f16   f32   f16   f32   f64   c64  c128
   f32   f32   f32   err   err   err   f32   f32   f32   f32   f32   f32   f32   f64   c64  c128
   f64   f64   f64   err   err   err   f64   f64   f64   f64   f64   f64   f64   f64  c128  c128
   c64   c64   c64   err   err   err   c64   c64   c64   c64   c64   c64   c64  c128   c64  c128
  c128  c128  c128   err   err   err  c128  c128  c128  c128  c128  c128  c128  c128  c128  c128
"""
SCALARS_2 = """
          b1    u8   u16   u32   u64    i8   i16   i32   i64  bf16   f16   f32   f64   c64  c128
  bool    b1    u8   u16   u32   u64    i8   i16   i32   i64  bf16   f16   f32   f64   c64  c128
   int   i64    u8   err   err   err    i8   i16   i32   i64  bf16   f16   f32   f64   c64  c128
 float   f32   f32   err   err   err   f32   f32   f32   f32  bf16   f16   f32   f64   c64  c128
"""


@pytest.mark.parametrize("text", [TENSORS_2, SCALARS_2], ids=["tensors", "scalars"])
def test_mindspore2_is_the_table_of_mindspores_source(text: str) -> None:
    columns, *rows = [line.split() for line in text.strip().splitlines()]
    scalars = {"bool": True, "int": 2, "float": 2.5}
    for name, *cells in rows:
        row = scalars[name] if name in scalars else dt.BY_CODE[name]
        answers = [outcome("mindspore2", row, dt.BY_CODE[column]) for column in columns]
        assert answers == ["refused" if cell == "err" else dt.BY_CODE[cell].name for cell in cells]


def test_complex_scalars() -> None:
    for dtype in dt.ALL:
        adopts = dtype.name if dtype.kind == "complex" else "refused"
        assert outcome("mindspore", dtype, 1j) == outcome("strict", dtype, 1j) == adopts
        assert outcome("mindspore2", dtype, 1j) == "refused"


def test_the_pages_sentences() -> None:
    for dtype in dt.NINE:
        assert result_type(dtype, True) is dtype
        assert result_type(dtype, 3) is (dt.int32 if dtype is dt.bool_ else dtype)
        assert result_type(dtype, 2.5) is (dtype if dtype.kind == "float" else dt.float32)
    for (i, a), (j, b) in product(enumerate(dt.NINE), repeat=2):
        exception = {a, b} == {dt.uint8, dt.int8}
        assert result_type(a, b) is (dt.int16 if exception else dt.NINE[max(i, j)])


def test_uint8_with_int8_counts_as_int16_only_where_nothing_is_higher() -> None:
    assert result_type("uint8", "int8", "bool") is dt.int16
    for higher in ("int16", "int32", "int64", "float16", "float32", "float64"):
        assert result_type("uint8", "int8", higher) is result_type("int8", higher, "uint8") is dt.as_dtype(higher)


def test_dtypes_outside_the_nine_take_scalars_of_their_kind_or_a_lower_one() -> None:
    for dtype in set(dt.ALL) - set(dt.NINE):
        kinds = [True, 2] + [2.5] * dt.is_inexact(dtype) + [1j] * (dtype.kind == "complex")
        for scalar in (True, 2, 2.5, 1j):
            assert outcome("mindspore", dtype, scalar) == (dtype.name if scalar in kinds else "refused")
        for other in set(dt.ALL) - {dtype}:
            assert outcome("mindspore", dtype, other) == "refused"
