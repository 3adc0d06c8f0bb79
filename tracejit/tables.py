"""What the shell prints of policies: tables, differences between two, and answers of `result_type` with their rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tracejit.display import STYLES, Segment, Sheet, plural
from tracejit.dtypes import DType
from tracejit.errors import TracejitError
from tracejit.grids import Cell, Head, differences, grid, scalar_heads, tensor_heads
from tracejit.policies import Policy, Rule
from tracejit.queries import result_type, rules_of

_MARKS = {"same": "", "wider": "+", "lossy": "!", "error": ""}
_LEGEND: tuple[Segment, ...] = (
    ("i16+ wider than both, nothing lost", STYLES["wider"]),
    ("f16! can lose value", STYLES["lossy"]),
    ("– does not combine", STYLES["error"]),
    ("(i8) not on the system's own pages", STYLES["undocumented"]),
)


class Answer(NamedTuple):
    """What `result_type` says under one policy: a dtype, or the name `object`, and the rule; or the error."""

    result: DType | str | None
    rules: tuple[Rule, ...]
    error: TracejitError | None

    @property
    def name(self) -> str:
        """The dtype's name; `error` for none."""
        return str(self.result) if self.error is None else "error"

    def raise_error(self) -> None:
        """Raise the error, if it is one."""
        if self.error is not None:
            raise self.error

    def as_dict(self) -> dict[str, Any]:
        """Return the answer as a dictionary."""
        if self.error is not None:
            return {"error": self.error.what, "rule": self.error.rule}
        return {"dtype": str(self.result), "rules": {rule.name: rule.text for rule in self.rules}}


def answer(operands: Sequence[Any], policy: Policy) -> Answer:
    """Ask `result_type` under a policy, and for its rule."""
    try:
        return Answer(result_type(*operands, promotion=policy), rules_of(*operands, promotion=policy), None)
    except TracejitError as error:
        return Answer(None, (), error)


def answers_sheet(answers: Mapping[str, Answer]) -> Sheet:
    """Return one answer with its rule below, or several as a table."""
    sheet = Sheet()
    if len(answers) == 1:
        ((name, only),) = answers.items()
        sheet.add((only.name, "bold"))
        for rule in only.rules:
            sheet.add((f"  {name}, {rule}", "dim"))
        return sheet
    sheet.add_columns([[(name, "dim"), *_answer_segments(answer)] for name, answer in answers.items()])
    return sheet


def _answer_segments(answer: Answer) -> list[Segment]:
    if answer.error is not None:
        return [("error", STYLES["error"]), (answer.error.what, "dim")]
    return [(answer.name, "bold"), (", ".join([rule.name for rule in answer.rules]), "dim")]


# ---- tables ----


def table_sheet(policy: Policy) -> Sheet:
    """Return a policy's table: tensor with tensor, and Python scalar with tensor."""
    sheet = Sheet()
    sheet.add((policy.name, "bold"), (f": {policy.source}", "dim"))
    for title, heads in _parts(policy.needs_values):
        sheet.add()
        sheet.add((title, "bold"))
        rows = [[(head.label, "dim"), *map(_cell_segment, cells)] for head, cells in zip(heads, grid(policy, heads))]
        sheet.add_columns([_header(), *rows], gap=1)
    sheet.add()
    sheet.add(*[part for segment in _LEGEND for part in (segment, ("   ", ""))])
    return sheet


def _parts(by_value: bool) -> list[tuple[str, list[Head]]]:
    return [("tensor with tensor", tensor_heads()), ("Python scalar with tensor", scalar_heads(by_value))]


def _header() -> list[Segment]:
    return [("", ""), *[(f" {head.label} ", "dim") for head in tensor_heads()]]


def _cell_segment(cell: Cell) -> Segment:
    text = cell.code + _MARKS[cell.state]
    if not cell.documented:
        return f"({text})", STYLES["undocumented"]
    return f" {text} ", STYLES[cell.state] if cell.state != "same" else ""


def table_as_dict(policy: Policy) -> dict[str, Any]:
    """Return a policy's table as dictionaries, by row and column."""
    columns = tensor_heads()
    parts = {}
    for key, (_, heads) in zip(("tensors", "scalars"), _parts(policy.needs_values)):
        parts[key] = {
            head.name: {column.name: _cell_as_dict(cell) for column, cell in zip(columns, cells)}
            for head, cells in zip(heads, grid(policy, heads))
        }
    return {"policy": policy.name, "source": policy.source, **parts}


def _cell_as_dict(cell: Cell) -> dict[str, Any]:
    return {
        "result": cell.result.name if cell.result is not None else None,
        "state": cell.state,
        "documented": cell.documented,
        "rule": cell.why,
    }


# ---- differences ----


def differences_sheet(mine: Policy, other: Policy) -> Sheet:
    """Return the table of where two policies differ: one's dtype above the other's."""
    found = {(row.label, column.label): (a, b) for row, column, a, b in differences(mine, other)}
    sheet = Sheet()
    sheet.add((f"{mine.name} (above) and {other.name} (below): {plural(len(found), 'difference')}", "bold"))
    for title, heads in _parts(mine.needs_values or other.needs_values):
        sheet.add()
        sheet.add((title, "bold"))
        rows: list[list[Segment]] = [_header()]
        for head in heads:
            pairs = [found.get((head.label, column.label)) for column in tensor_heads()]
            rows.append([(head.label, "dim"), *[(f" {p[0].code} ", "bold") if p else (" · ", "dim") for p in pairs]])
            if any(pairs):
                rows.append([("", ""), *[(f" {p[1].code} ", STYLES["differs"]) if p else ("", "") for p in pairs]])
        sheet.add_columns(rows, gap=1)
    return sheet


def differences_as_dict(mine: Policy, other: Policy) -> dict[str, Any]:
    """Return the differences of two policies as a list."""
    return {
        "policy": mine.name,
        "vs": other.name,
        "differences": [
            {"row": row.name, "column": column.name, mine.name: _cell_as_dict(a), other.name: _cell_as_dict(b)}
            for row, column, a, b in differences(mine, other)
        ],
    }
