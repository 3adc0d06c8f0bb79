"""What the shell prints of operators: the list of all, and one operator's record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.display import Sheet, plural
from tracejit.dtypes import ALL
from tracejit.ops.record import CLASSES, RECORDS, REQUIRED, Op

_DIALECTS = ("r1.1", "2.x")


def find(name: str | None) -> list[Op]:
    """Return the operator of a name (`add`, `Add`, an alias), or those whose name holds it; all for None."""
    public = [op for op in RECORDS.values() if not op.hidden]
    if name is None:
        return public
    exact = RECORDS.get(name) or CLASSES.get(name)
    if exact is not None:
        return [exact]
    wanted = name.lower().replace("_", "")
    return [op for op in public if wanted in op.class_name.lower()]


def list_sheet(operators: Sequence[Op]) -> Sheet:
    """Return a line for each operator."""
    sheet = Sheet()
    sheet.add((plural(len(operators), "operator"), "bold"))
    sheet.add_columns([[(op.name, "bold"), (op.class_name, ""), (_signature(op), "dim")] for op in operators])
    return sheet


def _signature(op: Op) -> str:
    return ", ".join([f"*{o.name}" if o.variadic else o.name for o in op.operands])


def summary(op: Op) -> dict[str, Any]:
    """Return an operator's names and operands as a dictionary."""
    return {"name": op.name, "class": op.class_name, "operands": [operand.name for operand in op.operands]}


def as_dict(op: Op) -> dict[str, Any]:
    """Return an operator's record as a dictionary."""
    return {
        **summary(op),
        "aliases": list(op.aliases),
        "methods": list(op.methods),
        "doc": op.doc,
        "groups": {o.name: o.group for o in op.operands},
        "writes": [op.operands[i].name for i in op.writes],
        "attributes": {a.name: _defaults(op, a) for a in op.attributes},
        "accepts": {group: {d: _names(op, group, d) for d in _DIALECTS} for group in op.accepts},
        "differs": op.differs or None,
    }


def _defaults(op: Op, attribute: Any) -> dict[str, Any]:
    values = {dialect: op.default(attribute, dialect) for dialect in _DIALECTS}
    return {dialect: None if value is REQUIRED else repr(value) for dialect, value in values.items()}


def _names(op: Op, group: str, dialect: str) -> list[str]:
    accepted = op.accepted(group, dialect)
    return [dtype.name for dtype in ALL if accepted is None or dtype in accepted]


def sheet(op: Op) -> Sheet:
    """Return an operator's record as lines."""
    page = Sheet()
    names = ", ".join([f"ops.{op.class_name}", *[f"ops.{alias}" for alias in op.aliases]])
    page.add((f"ops.{op.name}({', '.join(op.call_order)})", "bold"), (f"   {names}", "dim"))
    page.add((op.doc, ""))
    page.add()
    rows = [(f"{o.name}", _role(o)) for o in op.operands]
    rows += [(a.name, _attribute(op, a)) for a in op.attributes]
    page.add_columns([[(name, "bold"), (text, "")] for name, text in rows], indent=2)
    for group in op.accepts:
        old, new = (_names(op, group, dialect) for dialect in _DIALECTS)
        page.add((f"  {group} computes in ", "dim"), (_listed(old), ""))
        if new != old:
            page.add((f"  {group} in dialect 2.x: ", "dim"), (_listed(new), ""))
    if op.methods:
        page.add(("  methods: ", "dim"), (", ".join(op.methods), ""))
    if op.differs:
        page.add(("  differs from MindSpore: ", "dim"), (op.differs, ""))
    return page


def _listed(names: Sequence[str]) -> str:
    return "every dtype" if len(names) == len(ALL) else ", ".join(names)


def _role(operand: Any) -> str:
    text = {
        "write": f"a Parameter, written; dtype group {operand.group}",
        "index": "int32 or int64 tensor, never converted",
        "scalar": f"a number with a dtype group of its own, {operand.group}: takes the written Parameter's dtype",
    }.get(operand.role)
    if text is None:
        text = f"dtype group {operand.group}" if operand.group is not None else "any dtype, never converted"
    return text + (" (one or more)" if operand.variadic else "")


def _attribute(op: Op, attribute: Any) -> str:
    old, new = (op.default(attribute, dialect) for dialect in _DIALECTS)
    text = "attribute, required" if old is REQUIRED else f"attribute, {old!r} by default"
    return text if old is new or old == new else f"{text} ({new!r} in dialect 2.x)"
