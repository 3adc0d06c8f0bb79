"""The promotion tables as grids of cells: what every two dtypes give under a policy, and at what cost.

The shell's `table` and the documentation's grids are made from these, and so cannot disagree with the policies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tracejit.dtypes import ALL, DType, holds
from tracejit.policies import UNKNOWN, Operand, Policy, PromotionError

#: What a cell can be: nothing is lost and one of the two dtypes is the result; nothing is lost and the result is
#: wider; an operand can lose value; the policy does not combine them.
STATES = ("same", "wider", "lossy", "error")
#: The scalars of a grid: of each kind, and where values matter those that show how.
KINDS = ("bool", "int", "float", "complex")
VALUES: tuple[bool | int | float | complex, ...] = (True, 1, -1, 300, 70000, 2.5, 1e10, 1j)


class Head(NamedTuple):
    """What heads a row or a column: its label, the operand that it stands for, and what the system's pages call it."""

    label: str
    operand: Operand
    node: DType | str

    @property
    def name(self) -> str:
        """The dtype's name, or the label of a scalar."""
        return self.node.name if isinstance(self.node, DType) else self.label


class Cell(NamedTuple):
    """What two operands give: the dtype (None: an error), one of STATES, whether the pages say so, and why."""

    result: DType | None
    state: str
    documented: bool
    why: str

    @property
    def code(self) -> str:
        """The result's short code; a dash for an error."""
        return self.result.code if self.result is not None else "–"


def tensor_heads() -> list[Head]:
    """Return the heads of tensors with axes, of every dtype."""
    return [Head(dtype.code, Operand(dtype, dtype.kind), dtype) for dtype in ALL]


def scalar_heads(by_value: bool) -> list[Head]:
    """Return the heads of Python scalars: of a few values where those decide, else of each kind."""
    if not by_value:
        return [Head(kind, Operand(None, kind, UNKNOWN, 0), kind) for kind in KINDS]
    kinds = [type(value).__name__ for value in VALUES]
    return [Head(_label(value), Operand(None, kind, value, 0), kind) for value, kind in zip(VALUES, kinds)]


def _label(value: bool | int | float | complex) -> str:
    return "1e10" if value == 1e10 else repr(value)


def cell(policy: Policy, row: Head, column: Head) -> Cell:
    """Return what two operands give under a policy, the column being a tensor.

    >>> from tracejit import policies
    >>> u8, i8 = tensor_heads()[1], tensor_heads()[5]
    >>> cell(policies.get("mindspore"), u8, i8)[:3]
    (tracejit.int16, 'wider', True)
    """
    operands = (row.operand, column.operand)
    documented = policy.documents(row.node, column.node)
    try:
        decided = policy.decide(operands)
    except PromotionError as error:
        return Cell(None, "error", documented, error.rule or "")
    assert decided.dtype is not None  # the column is a tensor
    why = "; ".join(dict.fromkeys(map(str, decided.rules)))
    if not all(policy.is_silent(operand, decided.dtype) for operand in operands):
        return Cell(None, "error", documented, f"{policy.name} refuses this conversion to {decided.dtype.code}; {why}")
    return Cell(decided.dtype, _state(operands, decided.dtype), documented, why)


def _state(operands: Sequence[Operand], result: DType) -> str:
    dtypes = [operand.dtype for operand in operands if operand.dtype is not None]
    if not all(holds(result, dtype) for dtype in dtypes):
        return "lossy"
    return "same" if result in dtypes else "wider"


def grid(policy: Policy, rows: Sequence[Head], columns: Sequence[Head] | None = None) -> list[list[Cell]]:
    """Return the cells of some rows against tensors of every dtype."""
    columns = tensor_heads() if columns is None else columns
    return [[cell(policy, row, column) for column in columns] for row in rows]


def differences(mine: Policy, other: Policy) -> list[tuple[Head, Head, Cell, Cell]]:
    """List the cells in which two policies give different dtypes, or one of them an error."""
    rows = [*tensor_heads(), *scalar_heads(mine.needs_values or other.needs_values)]
    found = []
    for row in rows:
        for column in tensor_heads():
            ours, theirs = cell(mine, row, column), cell(other, row, column)
            if ours.result is not theirs.result:
                found.append((row, column, ours, theirs))
    return found
