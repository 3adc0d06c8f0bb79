"""MindSpore as it ran, for the binary operators, Cast, Assign* and Tensor(): every recorded row that counts.

A row equals what tracejit gives, or falls under exactly one difference of `docs/operator_differences.py`, and tracejit
gives what its rule states. Every row is inferred and traced; a sample is computed too, and all under --full.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import pytest

from docs.operator_differences import DIFFERENCES
from tests.conftest import sample
from tests.recorded_calls import Made, consistent, make
from tests.recorded_counts import ROWS
from tests.recorded_outcomes import POLICIES, Outcome, counted
from tests.recorded_rows import READERS
from tests.recorded_rules import RULES, Case, states

COMPUTED = 100


@functools.cache
def cases(file: str, policy: str) -> tuple[list[Case], int]:
    """Return the rows of a file that count, and how many do not."""
    rows = list(READERS[file]())
    found = [Case(row, policy, told) for row in rows if (told := counted(row, policy))]
    return found, len(rows) - len(found)


def agrees(outcome: Outcome, made: Made) -> bool:
    """Say whether what tracejit declares and does is what was recorded."""
    if outcome.kind == "raises":
        return made.error is not None and isinstance(outcome.error, type) and issubclass(made.error, outcome.error)
    if outcome.kind == "value":
        assert outcome.values is not None
        return made.gives(outcome.values)
    if outcome.kind == "python":
        return False
    if made.declared is None:
        return not isinstance(made.given, type) and str(made.given.dtype) == outcome.dtype
    return (made.declared.computed if outcome.kind == "computed" else made.declared.result) == outcome.dtype


def difference(case: Case, made: Made) -> str:
    """Return the difference that a row falls under, or words for what is wrong."""
    names = [name for name, rule in RULES.items() if rule.falls(case)]
    if len(names) != 1:
        return f"falls under {names or 'no difference'}"
    expected = RULES[names[0]].gives(case)
    return names[0] if states(expected, made) else f"{names[0]} states {expected}"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("file", READERS)
def test_every_row_is_equal_or_listed(file: str, policy: str) -> None:
    rows, silent = cases(file, policy)
    chosen = set(sample(range(len(rows)), COMPUTED))
    results = make([case.row for case in rows], policy, [i in chosen for i in range(len(rows))])
    assert [str(case.row) for case, made in zip(rows, results) if not consistent(made)] == []

    differing = [(c, made) for c, made in zip(rows, results) if not all(agrees(x, made) for x in c.told)]
    found = [(difference(case, made), case, made) for case, made in differing]
    wrong = [
        f"{case.row}: recorded {[x.text for x in case.told]}, tracejit {made}: {name}"
        for name, case, made in found
        if name not in DIFFERENCES
    ]
    assert wrong == []
    check_counts(Counter(name for name, _, _ in found), ROWS[file][policy], (len(rows), silent), len(chosen))


def check_counts(found: Counter[str], wanted: Any, counts: tuple[int, int], computed: int) -> None:
    """Compare how many rows were read, and how many fall under each difference: at most, where not all are computed."""
    *read, by_rule = wanted
    assert counts == tuple(read)
    if computed == counts[0]:
        assert found == by_rule
    else:
        assert all(found[name] <= by_rule.get(name, 0) for name in found)


def test_every_difference_has_rows() -> None:
    counts = [by_rule for policies in ROWS.values() for _, _, by_rule in policies.values()]
    assert list(RULES) == list(DIFFERENCES)
    assert set().union(*counts) == set(RULES)
    rows = [case for policy in POLICIES for file in READERS for case in cases(file, policy)[0]]
    assert [name for name, rule in RULES.items() if not any(map(rule.falls, rows))] == []
