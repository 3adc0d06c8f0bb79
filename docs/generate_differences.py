"""Writes docs/differences.md: the decisions that differ from a MindSpore that was run, and what each operator says.

python -m docs.generate_differences [--check]
"""

from __future__ import annotations

from pathlib import Path

from docs import operator_differences, recorded_differences
from docs.generated import write_or_check
from docs.recorded_differences import markdown
from tracejit.ops import RECORDS

PAGE = Path(__file__).resolve().parent / "differences.md"

TEXT = """# Differences from MindSpore

This page is made by `docs/generate_differences.py`, from the operators' declarations and the tests' own list.

## Where MindSpore's own versions differ

Operators have two dialects, `r1.1` and `2.x`, which select accepted dtypes, the kind of result and defaults. The policy
`mindspore2` uses 2.x; every other policy uses r1.1. Division is the best known case: `Div` of integers truncates and
keeps the dtype in r1.1, and divides in float32 in 2.10.

## Where tracejit decides otherwise

| | MindSpore, as it ran | tracejit |
|---|---|---|
| bool tensor with a Python int | int64, in every version | `mindspore`: int32, as its pages say; `mindspore2`: int64 |
| a Python int that does not fit the tensor's integer dtype | wraps | OverflowError under `mindspore`; comparisons answer by the true value; `mindspore2` wraps |
| a float scalar with a float64 tensor | passes through float32 | exact |
| 0-d right operand of Mul and Div in 2.10 | skips promotion | is a tensor like any other |
| integer division and modulus by zero | the greatest or least integer; the modulus varies | the same for division; 0 for the modulus |
| the least integer divided by -1 | ends the process, in some versions | the least integer; its modulus is 0 |
| integer power | through float64 | exact modulo 2**bits; a negative Python int as exponent is a ValueError |
| division by -0.0 | taken for +0.0 on the CPU | IEEE |
| float to integer out of range, NaN | x86's bits | clamps; NaN gives 0 |
| Atan2 on integers | no kernel in 2.x | computed in float64 and truncated |
| Xlogy at x = 0 | NaN for y of 0, NaN, or less | 0 unless y is NaN |
| a Parameter that an operator writes and that would need conversion | RuntimeError in r1.1, TypeError in 2.x | ParameterCastError, which is both |
| writing to a plain Tensor | TypeError in 1.1.1, accepted later | TypeError |
| NumPy arrays as operands | TypeError | tensors |
| uint16 to uint64, bfloat16, complex with a Python scalar (`mindspore`) | TypeError | take a scalar of their kind or a lower one |

## Operators

| operator | differs |
|---|---|
"""

REST = """
## Recorded runs that differ

The binary operators, Cast, Assign* and Tensor() are tested against every recorded row; these differ, each by a rule.

"""

WRITING = """
The other operators that write Parameters are tested against recorded runs too, and differ here:

"""

LAST = """
## What is not there

Graph mode's parsing of Python source (`if` on a tensor, lists that grow): a function is traced. Ascend-only operators,
operators on strings, sparse tensors (`COOTensor`, `RowTensor`), and MindSpore's cluster settings.
"""


def page() -> str:
    """Return the page's text."""
    rows = [f"| {op.class_name} | {op.differs} |\n" for op in RECORDS.values() if op.differs and not op.hidden]
    binary, writing = operator_differences.DIFFERENCES, recorded_differences.DIFFERENCES
    tables = REST + markdown(binary.values()) + WRITING + markdown(writing.values())
    return TEXT + "".join(rows) + tables + LAST


if __name__ == "__main__":
    write_or_check("Write docs/differences.md.", lambda: {PAGE: page()})
