"""The table of lowering rules: one function per operator, JAX arrays and attributes in, JAX arrays out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rule = Callable[..., Any]

RULES: dict[str, Rule] = {}
#: Rules of operations with regions: called with (emit, operands, regions, **attributes).
REGION_RULES: dict[str, Rule] = {}


#: Operators whose rule also takes `location`: the line of the program that calls it; None for one run on its own.
LOCATED: set[str] = set()


def lower(*names: str, located: bool = False) -> Callable[[Rule], Rule]:
    """Register the lowering of one or more operators. A second rule for a name is an error."""

    def register(rule: Rule) -> Rule:
        for name in names:
            _add(RULES, name, rule)
        if located:
            LOCATED.update(names)
        return rule

    return register


def lower_regions(name: str) -> Callable[[Rule], Rule]:
    """Register the lowering of an operation that holds regions."""

    def register(rule: Rule) -> Rule:
        _add(REGION_RULES, name, rule)
        return rule

    return register


def _add(table: dict[str, Rule], name: str, rule: Rule) -> None:
    if name in RULES or name in REGION_RULES:
        raise ValueError(f"{name} has two lowerings")
    table[name] = rule
