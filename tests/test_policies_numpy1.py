"""Policy `numpy1` as operators ask it: `decide` on tensors, 0-d tensors and scalars, with values known or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracles.numpy_operands import DTYPES, build
from tests.test_queries import RESULT_TYPE, rows, sections
from tracejit import dtypes as dt
from tracejit.policies import UNKNOWN, ObjectResult, Operand, PromotionError, ValueNeeded, get


def operand_of(built: Any) -> Operand:
    if isinstance(built, np.ndarray | np.generic):
        dtype = dt.as_dtype(built.dtype)
        return Operand(dtype, dtype.kind, UNKNOWN if built.ndim else built.item(), built.ndim)
    return Operand(None, type(built).__name__, built, 0)


@pytest.mark.parametrize(("file", "section"), RESULT_TYPE)
def test_decide_is_numpys_result_type(file: str, section: str) -> None:
    wrong = []
    for operands, wanted, _ in rows(sections(file)[section]):
        if not operands or not all({"array", "npscalar", "scalar"} & set(operand) for operand in operands):
            continue  # dtypes are no operands of an operator
        group = tuple([operand_of(build(operand)) for operand in operands])
        try:
            answer = str(get("numpy1").decide(group).dtype)
        except ObjectResult:
            answer = "object"
        if all(operand.dtype is None for operand in group):
            wanted = "None"  # Python scalars stay Python scalars
        if answer != wanted:
            wrong.append((operands, wanted, answer))
    assert wrong == []


def known(dtype: dt.DType, value: Any) -> Operand:
    return Operand(dtype, dtype.kind, value, 0)


SAMPLES = {
    "bool": [True, False],
    "int": [0, 1, -1, 127, 128, 200, 255, 256, -129, 2**15, 2**16, 2**31, 2**32, -(2**31) - 1, 2**62],
    "float": [0.0, 1.5, 65000.0, 1e10, 1e39, float("inf"), float("nan")],
    "complex": [0j, 1e10j, 1e39 + 0j, complex("nan")],
}
SAMPLES["uint"] = SAMPLES["int"]


@st.composite
def numpy1_groups(draw: st.DrawFn) -> list[Operand]:
    group = []
    for _ in range(draw(st.integers(1, 4))):
        dtype = draw(st.sampled_from([dt.BY_NAME[name] for name in DTYPES]))
        group.append(Operand(dtype, dtype.kind, ndim=draw(st.integers(0, 1))))
    return group


@given(numpy1_groups(), st.data())
def test_a_dtype_decided_without_a_value_is_that_of_every_value(group: list[Operand], data: st.DataObject) -> None:
    assume(len({operand.dtype for operand in group}) > 1)  # those of one dtype compute in it
    policy = get("numpy1")
    try:
        dtype = policy.decide(tuple(group)).dtype
    except ValueNeeded:
        return
    for position, operand in enumerate(group):
        if operand.ndim == 0 and operand.dtype is not None:
            fitting = [value for value in SAMPLES[operand.kind] if fits(value, operand.dtype)]
            group[position] = operand._replace(value=data.draw(st.sampled_from(fitting)))
    assert policy.decide(tuple(group)).dtype is dtype


def fits(value: Any, dtype: dt.DType) -> bool:
    if dt.is_integer(dtype):
        low, high = dt.integer_range(dtype)
        return low <= value <= high
    with np.errstate(over="ignore"):
        return dtype.kind == "bool" or bool(np.isclose(complex(dtype.numpy.type(value)), value, 1e-2, equal_nan=True))


def test_numpy1_decides_by_value_and_names_its_rules() -> None:
    policy = get("numpy1")
    array = Operand(dt.int8, "int")

    def rules(*operands: Operand) -> list[str]:
        return [rule.name for rule in policy.decide(operands).rules]

    assert policy.decide((array, Operand(None, "int", 200, 0))).dtype is dt.int16
    assert rules(array, Operand(None, "int", 200, 0)) == ["scalar-widens"] * 2
    assert rules(array, Operand(None, "int", 100, 0)) == ["same-dtype", "minimal-scalar"]
    assert rules(array, Operand(None, "float", 1.0, 0)) == ["scalar-category"] * 2
    assert rules(known(dt.int8, 1), known(dt.float32, 1.0)) == ["declared-dtypes"] * 2
    assert rules(array, Operand(dt.uint8, "uint")) == ["common-dtype"] * 2
    # True, 1 and 1.0 are equal in Python, and so are 0.0 and -0.0: the answers are not mixed up.
    scalars = [Operand(None, "bool", True, 0), Operand(None, "int", 1, 0), Operand(None, "float", 1.0, 0)]
    answers = [str(policy.decide((Operand(dt.bool_, "bool"), scalar)).dtype) for scalar in scalars * 2]
    assert answers == ["bool", "int64", "float64"] * 2


def test_operands_of_one_dtype_compute_in_it_unless_known_values_say_otherwise() -> None:
    policy, array, zero_d = get("numpy1"), Operand(dt.int16, "int"), Operand(dt.int16, "int", ndim=0)
    assert policy.decide((zero_d, zero_d, array)).dtype is dt.int16
    assert policy.decide((known(dt.int16, 300), known(dt.int16, 200), array)).dtype is dt.int32  # as NumPy 1.26 does


def test_numpy1_says_which_value_it_needs_and_what_holds_none() -> None:
    policy = get("numpy1")
    with pytest.raises(ValueNeeded, match=r"(?s)value of a scalar \(int64\).*static_argnums"):
        policy.decide((Operand(dt.int8, "int"), Operand(None, "int", ndim=0)))
    with pytest.raises(PromotionError, match="beyond 64 bits"):
        policy.decide((Operand(dt.int8, "int"), Operand(None, "int", 2**64, 0)))
