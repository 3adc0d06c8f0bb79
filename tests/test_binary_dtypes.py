"""Dtypes of every binary operator: 9 x 9 tensors and Python scalars in both orders; declared, traced and executed.

The rules are written down here once more, from the seed pages, OPS.md and DECISIONS.md; nothing asks the policies.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit
from tests.conftest import sample
from tests.test_operators import BINARY, assert_same, declare
from tracejit import Tensor, jit, ops
from tracejit import dtypes as dt
from tracejit.ops.record import RECORDS

ORDER = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]  # lowest priority first
SCALARS = [True, 2, 300, -1, 2**40, 2.5, 1e300]
POLICIES = ["mindspore", "mindspore2"]

COMPARISONS = {"equal", "not_equal", "greater", "greater_equal", "less", "less_equal"}
LOGICAL = {"logical_and", "logical_or"}
BITWISE = {"bitwise_and", "bitwise_or", "bitwise_xor"}
INTEGERS, FLOATS = set(ORDER[1:6]), set(ORDER[6:])


def meet(a: str, b: str) -> str:
    """Two tensors: the higher priority wins; uint8 with int8 is int16."""
    return "int16" if {a, b} == {"uint8", "int8"} else max(a, b, key=ORDER.index)


def beside(dtype: str, scalar: Any, policy: str) -> str:
    """Return what a tensor's dtype becomes beside a Python scalar."""
    if isinstance(scalar, float):
        return dtype if dtype in FLOATS else "float32"
    if isinstance(scalar, bool) or dtype != "bool":
        return dtype
    return "int32" if policy == "mindspore" else "int64"


def refused(name: str, policy: str) -> set[str]:
    """Name the promoted dtypes that an operator does not take."""
    if name in LOGICAL:
        return set(ORDER[1:]) if policy == "mindspore" else set()
    if name in BITWISE:
        return FLOATS
    if name in ("equal", "not_equal"):
        return set()
    if policy == "mindspore":
        half_and_single = {"float16", "float32"}
        few = {"squared_difference": {"int32", *half_and_single}}
        few |= dict.fromkeys(("xdivy", "xlogy", "approximate_equal"), half_and_single)
        return set(ORDER) - few[name] if name in few else {"bool"}
    return {
        "real_div": {"bool"},
        "mod": {"bool"},
        "minimum": {"bool"},
        "div_no_nan": {"bool", "int16"},
        "truncate_mod": {"bool", "int16", "int64"},
        "squared_difference": {"bool", "uint8", "int8", "int16"},
        "xdivy": {"bool", *INTEGERS},
        "xlogy": {"bool", *INTEGERS},
        "approximate_equal": {"bool", *INTEGERS},
    }.get(name, set())


def refuses_scalar(name: str, scalar: Any, policy: str) -> bool:
    if name == "xlogy" and policy == "mindspore2":
        return True
    return name in LOGICAL and policy == "mindspore2" and not isinstance(scalar, bool)


class Case(NamedTuple):
    """Two operands: names of dtypes are tensors."""

    name: str
    policy: str
    x: Any
    y: Any

    @property
    def is_of_tensors(self) -> bool:
        return isinstance(self.x, str) and isinstance(self.y, str)

    @property
    def computed(self) -> str:
        """The dtype in which the operator computes."""
        if self.is_of_tensors:
            return meet(self.x, self.y)
        dtype, scalar = (self.x, self.y) if isinstance(self.x, str) else (self.y, self.x)
        return beside(dtype, scalar, self.policy)

    @property
    def declared(self) -> str | type[Exception]:
        """The dtype that results, whatever the scalar's value is, or TypeError."""
        scalars = [x for x in (self.x, self.y) if not isinstance(x, str)]
        if any(refuses_scalar(self.name, scalar, self.policy) for scalar in scalars):
            return TypeError
        if self.computed in refused(self.name, self.policy):
            return TypeError
        if self.name == "approximate_equal" and not self.is_of_tensors:
            return ValueError  # it does not broadcast, and a scalar has no axes
        if self.name in COMPARISONS | LOGICAL | {"approximate_equal"}:
            return "bool"
        true_division = self.name == "div" and self.policy == "mindspore2" and self.computed not in FLOATS
        return "float32" if true_division else self.computed

    @property
    def executed(self) -> str | type[Exception]:
        """The dtype of the result, or the class of the error that the scalar's value causes."""
        if isinstance(self.declared, type) or self.computed not in INTEGERS:
            return self.declared
        low, high = np.iinfo(self.computed).min, np.iinfo(self.computed).max
        if self.name == "pow" and not isinstance(self.y, str) and self.y < 0:
            return ValueError
        fits = all(isinstance(x, str | bool) or low <= x <= high for x in (self.x, self.y))
        raises = self.policy == "mindspore" and self.name not in COMPARISONS and not fits
        return OverflowError if raises else self.declared

    def tensors(self) -> list[Tensor]:
        return [tensor_of(x) for x in (self.x, self.y) if isinstance(x, str)]

    def operands(self, tensors: list[Any]) -> list[Any]:
        given = iter(tensors)
        return [next(given) if isinstance(x, str) else x for x in (self.x, self.y)]

    def expected_value(self) -> np.ndarray:
        """Return the record's reference on the operands in the computed dtype."""
        operands = [VALUES[x] if isinstance(x, str) else x for x in (self.x, self.y)]
        if RECORDS[self.name].comparison and not self.is_of_tensors:
            if self.policy == "mindspore" and self.computed in INTEGERS:  # by the true value
                operands = [np.asarray(x).astype(object) for x in operands]
                return np.asarray(RECORDS[self.name].reference(*operands)).astype(bool)
        with np.errstate(all="ignore"):
            converted = [np.asarray(x).astype(self.computed) for x in operands]
            if self.declared == "float32" and self.computed not in FLOATS:
                converted = [x.astype("float32") for x in converted]
            if self.computed == "bool" and self.name in BOOL_ARITHMETIC:
                return BOOL_ARITHMETIC[self.name](*np.broadcast_arrays(*converted))
            return np.asarray(RECORDS[self.name].reference(*converted))


BOOL_ARITHMETIC = {  # of the dialect 2.x
    "add": np.logical_or,
    "sub": np.logical_xor,
    "mul": np.logical_and,
    "floor_div": lambda x, y: x,
    "truncate_div": lambda x, y: x,
    "floor_mod": lambda x, y: np.zeros_like(x),
    "atan2": lambda x, y: x,
    "pow": lambda x, y: x | ~y,
}
VALUES = {name: np.array([True, False, True] if name == "bool" else [3, 0, 7], name) for name in ORDER}
VALUES |= {name: np.array([3, -2, 7], name) for name in ORDER if name.startswith("int")}
VALUES |= {name: np.array([3.5, -2.0, 0.25], name) for name in ORDER if name.startswith("float")}


def tensor_of(dtype: str) -> Tensor:
    return Tensor(VALUES[dtype])


def cases(name: str, policy: str) -> Iterator[Case]:
    for a, b in product(ORDER, repeat=2):
        yield Case(name, policy, a, b)
    for a, scalar in product(ORDER, SCALARS):
        yield Case(name, policy, a, scalar)
        yield Case(name, policy, scalar, a)


def outcome(function: Any, *args: Any) -> Any:
    """Return what a call gives, or the built-in class of its error."""
    try:
        return function(*args)
    except (TypeError, ValueError, OverflowError) as error:
        return next(kind for kind in (OverflowError, TypeError, ValueError) if isinstance(error, kind))


def declared_dtype(case: Case) -> str:
    op = RECORDS[case.name]
    attributes = {"dialect": "2.x" if case.policy == "mindspore2" else "r1.1"} if op.dialect_matters else {}
    attributes |= {a.name: op.default(a) for a in op.attributes}
    return declare(op, case.operands(case.tensors()), attributes, case.policy).results[0].dtype.name


def test_the_cases_are_all_there_are() -> None:
    assert len(BINARY) == 30
    assert len(list(cases("add", "mindspore"))) == 9 * 9 + 2 * 9 * 7


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", BINARY)
def test_declared(name: str, policy: str) -> None:
    wrong = {}
    for case in cases(name, policy):
        found = outcome(declared_dtype, case)
        if found != case.declared:
            wrong[case] = (found, case.declared)
    assert wrong == {}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", BINARY)
def test_traced_and_executed(name: str, policy: str) -> None:
    chosen = sample(cases(name, policy), 24)
    traced: list[Any] = []

    @jit(promotion=policy)
    def run(groups: list[list[Any]]) -> list[Any]:
        results = [outcome(getattr(ops, name), *case.operands(group)) for case, group in zip(chosen, groups)]
        traced[:] = [x if isinstance(x, type) else x.dtype.name for x in results]
        return [x for x in results if not isinstance(x, type)]

    executed = iter(run([case.tensors() for case in chosen]))
    assert dict(zip(chosen, traced, strict=True)) == {case: case.executed for case in chosen}
    for case in chosen:
        if not isinstance(case.executed, type):
            check_result(case, next(executed))


def check_result(case: Case, result: Tensor) -> None:
    assert result.dtype.name == result.asnumpy().dtype.name == case.executed, case
    try:
        assert_same(result, case.expected_value().astype(result.asnumpy().dtype))
    except AssertionError as error:
        error.add_note(str(case))
        raise


@pytest.mark.parametrize("policy", POLICIES)
def test_eager(policy: str) -> None:
    chosen = sample([case for name in BINARY for case in cases(name, policy)], 60)
    with tracejit.promotion(policy):
        for case in chosen:
            result = outcome(getattr(ops, case.name), *case.operands(case.tensors()))
            if isinstance(case.executed, type):
                assert result is case.executed, case
            else:
                check_result(case, result)


@pytest.mark.parametrize("policy", POLICIES)
def test_scalars_as_arguments_declare_the_same(policy: str) -> None:
    """A scalar argument of a jitted function promotes as the scalar, and wraps where it does not fit."""
    for dtype, scalar in sample(product(ORDER, SCALARS), 12):
        for x, y in ((tensor_of(dtype), scalar), (scalar, tensor_of(dtype))):
            result = jit(ops.maximum, promotion=policy)(x, y) if dtype != "bool" else jit(ops.equal)(x, y)
            wanted = "bool" if dtype == "bool" else beside(dtype, scalar, policy)
            assert result.dtype == wanted


def test_the_rules_agree_with_dtypes() -> None:
    assert [dtype.name for dtype in dt.NINE] == ORDER
