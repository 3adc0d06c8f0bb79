"""What a cell of a recorded row says, and which cells count under a policy.

Under `mindspore` the outcome of 1.1.1 counts, and where 1.1.1 tells none, or a dtype only, that of 2.10.0; under
`mindspore2` that of 2.10.0, PyNative's where graph mode has another one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.recorded_rows import ASSIGN, SYMBOL_OPS, Row, Written, array
from tracejit.errors import ParameterCastError

POLICIES = ("mindspore", "mindspore2")
DTYPE_ONLY = ("result", "computed")


class Outcome(NamedTuple):
    """What a run gave, as `kind` says: a value, an error's class (`raises`), a `python` value; else only a dtype.

    That is the dtype of the `result`, or the one in which it was `computed`. `text` is the cell, or the error's text.
    """

    kind: str
    text: str
    dtype: str = ""
    values: np.ndarray | None = None
    error: Any = None


_RESULT = re.compile(r"(?:ok )?(bool|u?int\d+|b?float\d+|complex\d+)(\(([\d, ]*)\))?(?::(.+?))?( out=.*)?$")


def outcome_of(row: Row, cell: str | None) -> Outcome | None:
    """Read a cell; None where it says nothing: no such run, a crash, no kernel, no plain result."""
    if cell is None or cell.startswith(("CRASH", "~?", "~ref", "dtype:")) or re.match(r"~\w+,", cell):
        return None
    if cell.startswith("py:"):
        return Outcome("python", cell)
    if cell.startswith(("!", "raises")):
        text = row.errors[int(cell[1:])] if cell[0] == "!" else cell.partition(" ")[2]
        error = error_class(text, row)
        return None if error is None else Outcome("raises", text, error=error)
    if found := re.match(r"~cast (\w+)", cell):
        return Outcome("computed", cell, found[1])
    if found := re.match(r"~(\w+)( !\d+)?$", cell):
        return Outcome("result", cell, found[1])
    return result_of(cell)


def result_of(cell: str) -> Outcome | None:
    found = _RESULT.match(cell)
    if found is None:
        return None
    dtype, shaped, shape, values, _ = found.groups()
    if values is None or values.startswith("<"):
        return Outcome("result", cell, dtype)
    lengths = [int(n) for n in shape.split(",") if n.strip()] if shaped else [1]
    return Outcome("value", cell, dtype, recorded_array(values, dtype, lengths))


def recorded_array(text: str, dtype: str, shape: Sequence[int]) -> np.ndarray:
    if dtype.startswith("complex"):
        return np.array(complex(text)).astype(dtype).reshape(shape)
    values = float(text) if text in ("nan", "inf", "-inf") else json.loads(text)
    return array(values, dtype, shape)


# No kernel on this CPU, and dtypes that 1.1.1 lacks (its operators got None in place of a tensor), are no rules.
_NO_KERNEL = "Select CPU operator|is not support[^e]|Unsupported data type|not support data type"
_NO_TENSOR = "For Tensor, the input_data is a numpy array|'NoneType'|type: NoneType|but got None"
_NO_RULE = re.compile(f"{_NO_KERNEL}|{_NO_TENSOR}")
_CONVERSION = re.compile("ata type conversion|writable arg|with f32|<- f32")
_SHAPE = re.compile("shape|rank|same dim|descriptor|scalar|broadcast|larger|python")


def error_class(text: str, row: Row) -> Any:
    """Return the class that DECISIONS gives an error, the name of another one, or None where it is no rule."""
    name = text.partition(":")[0]
    if _NO_RULE.search(text) and all(x is not None for x in row.operands):
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
    return name == "xlogy" and any(isinstance(x, bool | int | float) for x in row.operands)


def counted(row: Row, policy: str) -> list[Outcome]:
    """Return the outcomes of a row that count under a policy: none, one, or a dtype of 1.1.1 with a value of 2.10."""
    if row.tag == "scalars" and row.op in SYMBOL_OPS:
        return []  # Python computes
    later = outcome_of(row, row.cells.get("2.10.0p")) or outcome_of(row, row.cells.get("2.10.0g"))
    if policy == "mindspore2":
        return [later] if later else []
    known = [outcome_of(row, row.cells.get(run)) for run in ("1.1.1p", "1.1.1g")]
    told = min((trusted(row, x) for x in known if x), key=lambda x: x.kind in DTYPE_ONLY, default=None)
    if later is not None and differs_by_dialect(row):
        later = None
    if told is None:
        return [later] if later else []
    if told.kind in DTYPE_ONLY and later is not None and later.kind == "value":
        if later.dtype == told.dtype or (told.kind == "computed" and later.dtype == "bool"):
            return [told, later]
    return [told]


def trusted(row: Row, outcome: Outcome) -> Outcome:
    """Keep a value of 1.1.1 only where its kernels were right: float32 and int32 (bool is right as a result)."""
    if outcome.kind != "value" or row.op == "Tensor":
        return outcome
    arrays = [x.values if isinstance(x, Written) else x for x in row.operands]
    dtypes = {str(x.dtype) for x in arrays if isinstance(x, np.ndarray)}
    wide = {"float32", "int32"}
    sure = bool(dtypes & wide) and dtypes <= wide | {"bool"} and outcome.dtype in wide | {"bool"}
    return outcome if sure else Outcome("result", outcome.text, outcome.dtype)
