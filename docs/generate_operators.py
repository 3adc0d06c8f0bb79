"""Writes docs/operators.md: every operator, from its declaration.

python -m docs.generate_operators [--check]
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.generated import write_or_check
from tracejit.catalogue import as_dict
from tracejit.dispatch import constructor_names
from tracejit.dtypes import ALL, BY_NAME
from tracejit.ops import RECORDS
from tracejit.ops.record import REQUIRED, Op, in_dialect

PAGE = Path(__file__).resolve().parent / "operators.md"
DIALECTS = ("r1.1", "2.x")
_SPECIAL = re.compile(r"\\|<(?=\w)|\*(?! )|\b_|_\b")

TEXT = """# Operators

This page is made by `docs/generate_operators.py` from the operators' declarations; `tracejit ops NAME` shows the same
in the terminal. An operator is a function, `ops.floor_mod(x, y)`, and a class, `ops.FloorMod()(x, y)`, which takes the
attributes when it is made.

Operands of one dtype group are converted to one dtype by the policy's rule. A Parameter that is written is never
converted: it decides its group's dtype, and operands of a lower priority are converted to it. A hyper-parameter with a
group of its own is converted to the dtype of the written Parameter. Two dialects, r1.1 and 2.x, differ where that is
said: `mindspore2` uses 2.x, every other policy r1.1.
"""


def page() -> str:
    """Return the page's text."""
    families: dict[str, list[Op]] = {}
    homes = _homes()
    for op in RECORDS.values():
        if not op.hidden:
            families.setdefault(homes[op.name], []).append(op)
    return TEXT + "".join([line for title, family in families.items() for line in _family(title, family)])


def _homes() -> dict[str, str]:
    """Return the family of each operator: the module that holds its record, by what its docstring calls it."""
    homes = {}
    for name in sorted({path.stem for path in Path(inspect.getfile(Op)).parent.glob("*.py")} - {"__init__"}):
        module = importlib.import_module(f"tracejit.ops.{name}")
        title = name.replace("_", " ").capitalize()
        homes |= {value.name: title for value in vars(module).values() if isinstance(value, Op)}
    return homes


def _family(title: str, family: list[Op]) -> Iterator[str]:
    yield f"\n## {title}\n"
    for op in family:
        yield f"\n### {op.class_name}\n\n`{_call(op)}`\n\n{_escaped(op.doc)}\n\n"
        yield from [f"- {fact}\n" for fact in _facts(op)]


def _call(op: Op) -> str:
    """Write the call of the function: what is given at the call, then the other attributes."""
    others = [attribute.name for attribute in op.attributes if attribute.name not in op.call_order]
    stars = {operand.name: "*" for operand in op.operands if operand.one_by_one}
    names = [stars.get(name, "") + name for name in op.call_order]
    return f"ops.{op.functions[0]}({', '.join(names + ['*'] * bool(others) + others)})"


def _facts(op: Op) -> Iterator[str]:
    facts = as_dict(op)
    attributes = ", ".join(constructor_names(op))
    yield f"Class: `{op.class_name}({attributes})`"
    if other := [*op.functions[1:], *op.aliases]:
        yield f"Also: {_codes(other)}"
    if op.methods:
        yield f"Methods of Tensors: {_codes(op.methods)}"
    if op.operands:
        yield f"Arguments: {'; '.join(map(_operand, op.operands))}"
    if op.attributes:
        yield f"Attributes: {'; '.join(_attribute(name, facts['attributes'][name]) for name in facts['attributes'])}"
    groups: dict[str, list[str]] = {}
    for operand in op.operands:
        if operand.group is not None:
            groups.setdefault(operand.group, []).append(operand.name + ("…" if operand.variadic else ""))
    if together := [_codes(names) for names in groups.values() if len(names) > 1 or names[0].endswith("…")]:
        yield f"Converted together: {'; '.join(together)}"
    yield from _accepted(op, facts["accepts"])
    if op.writes:
        yield f"Writes: {_codes([op.operands[i].name for i in op.writes])}"
    yield f"Result: {_result(op)}"
    if op.differs:
        yield f"Differs from MindSpore: {_escaped(op.differs)}"


def _accepted(op: Op, accepts: dict[str, dict[str, list[str]]]) -> Iterator[str]:
    """Say in which dtypes the groups compute, and in which hyper-parameters may be given."""
    scalars = {operand.group for operand in op.operands if operand.role == "scalar"}
    for how, groups in (("", accepts.keys() - scalars), (", as given", accepts.keys() & scalars)):
        texts: dict[str, list[str]] = {}
        for group in sorted(groups):
            text = _by_dialect(*[_dtypes(accepts[group][dialect]) for dialect in DIALECTS])
            texts.setdefault(text, []).append(group)
        yield from [f"Dtypes of {_codes(same)}{how}: {text}" for text, same in texts.items()]


def _operand(operand: Any) -> str:
    exact = ", of one dtype as given" if operand.exact else ""
    what = {
        "write": f"a Parameter, written, `{operand.group}`",
        "index": "int32 or int64, never converted",
        "scalar": f"a number, `{operand.group}`",
        "key": "a key of random numbers, or a Generator",
    }.get(operand.role) or (f"`{operand.group}`{exact}" if operand.group is not None else "any dtype, never converted")
    more = (", a list of one or more" if operand.variadic else "") + (", or None" if operand.optional else "")
    return f"{_code(operand.name)} ({what}{more})"


def _attribute(name: str, defaults: dict[str, str | None]) -> str:
    texts = ["required" if value is None else f"default {_code(value)}" for value in map(defaults.get, DIALECTS)]
    return f"{_code(name)} ({_by_dialect(*texts)})"


def _result(op: Op) -> str:
    """Say what a call gives."""
    if op.writes:
        written = [op.operands[i].name for i in op.writes]
        returned = written if op.returns is None else written[: op.returns]
        return f"the new value{'s' * (len(returned) > 1)} of {_codes(returned)}"
    return " and ".join(
        [_by_dialect(*[_result_dtype(op, i, dialect) for dialect in DIALECTS]) for i in range(len(op.results))]
    )


def _result_dtype(op: Op, position: int, dialect: str) -> str:
    spec = in_dialect(op.results[position], dialect)
    if callable(spec):
        return _mapped(op, position, dialect)
    if spec == "-":
        return "a tensor of the operand's dtype"
    if spec.startswith(":"):
        return f"a tensor of the dtype {_code(spec[1:])}"
    return f"a tensor of the dtype {spec}" if spec in BY_NAME else f"a tensor of the dtype of {_code(spec)}"


def _mapped(op: Op, position: int, dialect: str) -> str:
    """Say which dtype a result has by the dtype in which `T` computes, where the attributes have their defaults."""
    defaults = {attribute.name: op.default(attribute, dialect) for attribute in op.attributes}
    if REQUIRED in defaults.values():
        return "a tensor of the dtype that the text names"
    found: dict[str, list[str]] = {}
    for dtype in ALL:
        accepted = op.accepted("T", dialect)
        if accepted is None or dtype in accepted:
            groups = dict.fromkeys([operand.group or "-" for operand in op.operands] or ["T"], dtype)
            result: Any = op.result_dtype(position, groups, defaults, dialect)
            found.setdefault(result.name, []).append(dtype.name)
    changed = {name: sources for name, sources in found.items() if sources != [name]}
    exceptions = [f"{name} for {', '.join(s for s in sources if s != name)}" for name, sources in changed.items()]
    return f"a tensor of the dtype of `T`{''.join(f', {exception}' for exception in exceptions)}"


def _by_dialect(old: str, new: str) -> str:
    return old if old == new else f"{old}; in 2.x {new}"


def _dtypes(names: list[str]) -> str:
    return "every dtype" if len(names) == len(ALL) else ", ".join(names)


def _code(text: str) -> str:
    return f"`{text}`"


def _codes(names: Any) -> str:
    return ", ".join(map(_code, names))


def _escaped(text: str) -> str:
    """Write a declaration's text as Markdown, in which its formulas mean themselves."""
    return _SPECIAL.sub(r"\\\g<0>", text)


if __name__ == "__main__":
    write_or_check("Write docs/operators.md.", lambda: {PAGE: page()})
