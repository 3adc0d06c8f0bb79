"""`result_type`, `promote_types`, `min_scalar_type`, `can_cast`: all recorded NumPy rows, every kind of operand."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.oracles.numpy_operands import DTYPES, build, outcome
from tracejit import dtypes as dt
from tracejit import errors, ir, policies
from tracejit.queries import can_cast, min_scalar_type, promote_types, result_type

GOLDEN = Path(__file__).parent / "golden" / "numpy"
NAMES = {*DTYPES, "object"}


@functools.cache
def sections(file: str) -> dict[str, Any]:
    return json.loads((GOLDEN / f"{file}.json").read_text())["sections"]


def rows(section: dict[str, Any]) -> Iterator[tuple[list[Any], Any, Any]]:
    """Yield operands and the results of NumPy 1 and 2, whether the section lists rows or is a table."""
    if "rows" in section:
        for operands, first, *second in section["rows"]:
            yield operands, first, second[0] if second else first
    else:
        other = section["numpy1"] if section["numpy2"] == "same" else section["numpy2"]
        yield from table(section["args"], section["numpy1"], other, [])


def table(args: list[Any], one: Any, two: Any, before: list[Any]) -> Iterator[tuple[list[Any], Any, Any]]:
    if not args:
        yield before, one, two
        return
    for operand, first, second in zip(args[0], one, two, strict=True):
        yield from table(args[1:], first, second, [*before, operand])


def expected(operands: list[Any], result: Any) -> Any:
    """A recorded result in `outcome`'s words; what tracejit has no dtype for is a TypeError."""
    if {"dtype": "<U5"} in operands:
        return "TypeError"
    if isinstance(result, dict):
        return "ValueError" if "ValueError" in result["base"] else "TypeError"
    return result if result in NAMES else "TypeError"


def is_numpy_1_only(operands: list[Any], two: Any) -> bool:
    """None, the dtype object, and a lone Python int beyond int64, whose value NumPy 2 looks at (DECISIONS: never)."""
    if len(operands) == 1 and operands[0].get("scalar") == "int":
        return abs(int(operands[0]["value"])) >= 2**63
    return two == "object" or {"py": "None"} in operands


RESULT_TYPE = [
    (file, section)
    for file in ("result_type_dtypes", "result_type_scalars", "result_type_mixed", "result_type_errors")
    for section in json.loads((GOLDEN / f"{file}.json").read_text())["sections"]
]


@pytest.mark.parametrize(("file", "section"), RESULT_TYPE)
@pytest.mark.parametrize("policy", ["numpy1", "numpy2"])
def test_result_type_is_numpys(file: str, section: str, policy: str) -> None:
    wrong, count = [], 0
    for operands, one, two in rows(sections(file)[section]):
        result = one if policy == "numpy1" else two
        if policy == "numpy2" and is_numpy_1_only(operands, two):
            continue
        count += 1
        answer = outcome(result_type, *map(build, operands), promotion=policy)
        if answer != expected(operands, result):
            wrong.append((operands, result, answer))
    assert count > 50
    assert not wrong


@pytest.mark.parametrize("policy", ["numpy1", "numpy2"])
@pytest.mark.parametrize("section", ["promote_types", "errors"])
def test_promote_types_is_numpys(section: str, policy: str) -> None:
    wrong, count = [], 0
    for operands, one, two in rows(sections("promote_types")[section]):
        if policy == "numpy2" and one == "object":
            continue
        count += 1
        answer = outcome(promote_types, *map(build, operands), promotion=policy)
        if answer != expected(operands, one if policy == "numpy1" else two):
            wrong.append((operands, one, answer))
    assert count > 25
    assert not wrong


def test_min_scalar_type_is_numpy_1s() -> None:
    found = list(rows(sections("min_scalar_type")["min_scalar_type"]))
    wrong = [row for row in found if outcome(min_scalar_type, *map(build, row[0])) != expected(*row[:2])]
    assert len(found) == 390
    assert not wrong


@pytest.mark.parametrize("section", ["types", "values"])
@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_can_cast_is_numpy_1s(section: str, casting: str) -> None:
    entry = sections("can_cast")[section]
    sources, targets = [list(map(build, operands)) for operands in entry["args"]]
    answers = [
        "".join({True: "1", False: "0", "TypeError": "E"}[outcome(can_cast, s, t, casting)] for t in targets)
        for s in sources
    ]
    assert answers == entry[f"numpy1_{casting}"]


# Reported against NumPy, with what NumPy 1.26.4 answers.


def test_uint64_and_signed_integers() -> None:
    array = np.array([1], np.uint64)
    calls = [(np.uint64, np.int64), (array, 1), (array, -1), (np.uint64(1), 1), (np.array([0]), 2**63)]
    answers = [result_type(*call, promotion="numpy1") for call in calls]
    assert answers == [dt.float64, dt.uint64, dt.float64, dt.float64, dt.float64]
    assert promote_types("u8", "i1", promotion="numpy1") is dt.float64


def test_the_flag_of_a_small_scalar_makes_numpy_1_depend_on_order() -> None:
    small, large = np.uint8(127), np.uint8(200)
    calls = [
        (np.uint16, np.int16, small),
        (np.int16, np.uint16, small),
        (small, np.uint16, np.int16),
        (np.uint16, np.int16, large),
    ]
    assert [result_type(*call, promotion="numpy1") for call in calls] == [dt.int16, dt.int32, dt.int16, dt.int32]


def test_0d_arrays_are_scalars_of_their_value_and_one_element_arrays_are_not() -> None:
    zero_d, one, many = np.ones((), "i4"), np.ones(1, "i4"), np.ones(5, "i2")
    assert result_type(zero_d, many, promotion="numpy1") is dt.int16
    assert result_type(one, many, promotion="numpy1") is dt.int32
    assert result_type(np.ones((), "f8"), np.ones(3, "f4"), promotion="numpy1") is dt.float32
    assert result_type(np.ones((), "f8"), np.ones((), "f4"), promotion="numpy1") is dt.float64
    assert result_type(zero_d, many) is dt.int32  # mindspore: a 0-d tensor is a tensor


def test_min_scalar_type_and_can_cast_look_at_values_of_scalars_only() -> None:
    values = (1, [1], -1, 256, 65504.0, 65520.0, float("nan"), 1e50, 2**63, np.array(7, "i8"))
    wanted = "uint8 int64 int8 uint16 float32 float32 float16 float64 uint64 uint8".split()
    assert [min_scalar_type(value) for value in values] == wanted
    calls: list[tuple[Any, str]] = [(127, "i1"), (128, "i1"), (-1, "u1"), (256, "f2"), (256.0, "f2")]
    calls += [(np.array([5], "i8"), "i1"), ("i8", "f8"), ("u8", "f4")]
    assert [can_cast(*call) for call in calls] == [True, False, False, False, True, False, True, False]


def test_an_integer_scalar_can_widen_float16_where_a_float_of_its_size_does_not() -> None:
    half = np.arange(3, dtype=np.float16)
    answers = [result_type(half, value, promotion="numpy1") for value in (255, 256, 2048, 70000, 256.0, 65505.0, 1e10)]
    assert answers == "float16 float32 float32 float64 float16 float32 float32".split()


def test_numpy_promotes_three_dtypes_from_the_highest_down() -> None:
    assert result_type("u1", "i1", "f2", promotion="numpy1") is dt.float16
    assert result_type("f2", "u1", "i1", promotion="numpy1") is dt.float16
    pair = promote_types("u1", "i1", promotion="numpy1")
    assert promote_types(pair, "f2", promotion="numpy1") is dt.float32
    assert {result_type(*order) for order in [("u1", "i1", "f2"), ("f2", "i1", "u1"), ("i1", "f2", "u1")]} == {
        dt.float16
    }


def test_can_cast_tells_byte_orders_apart_under_no_only() -> None:
    assert not can_cast(">i2", "int16", "no")
    assert can_cast(">i2", ">i2", "no")
    assert can_cast(">i2", "int16", "equiv")


# Operands of every kind.


class FakeTensor:
    """What queries may know of a Tensor: a dtype, a shape, and in `_data` the value of a trace (it has a type)."""

    def __init__(self, dtype: dt.DType, shape: tuple[int, ...], traced: Any = None, value: Any = None):
        self.dtype, self.shape, self.value = dtype, shape, value
        self._data = types.SimpleNamespace(type=traced) if traced is not None else value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self.value is None:
            raise errors.TraceError("a traced value has no value yet")
        return np.array(self.value, self.dtype.numpy)


@pytest.mark.parametrize(
    "operand",
    [
        np.zeros(3, "int8"),
        np.zeros((), "int8"),
        np.zeros(3, ">i1"),
        np.dtype("int8"),
        np.int8,
        "int8",
        "i1",
        dt.int8,
        ir.TensorType(dt.int8, (2,)),
        ir.TensorType(dt.int8, ()),
        FakeTensor(dt.int8, (2,)),
        FakeTensor(dt.int8, (), traced=ir.TensorType(dt.int8, ())),
    ],
)
def test_each_of_these_is_an_int8_tensor(operand: Any) -> None:
    for policy in ("mindspore", "mindspore2", "numpy2", "jax"):
        assert result_type(operand, dt.uint8, promotion=policy) is dt.int16
        assert result_type(operand, 300, promotion=policy) is dt.int8


@pytest.mark.parametrize(
    "operand",
    [2.5, np.float32(2.5), np.float64(2.5), ir.ScalarType("float"), FakeTensor(dt.float32, (), ir.ScalarType("float"))],
)
def test_each_of_these_is_a_float_scalar(operand: Any) -> None:
    assert result_type(dt.float16, operand, promotion="mindspore") is dt.float16
    assert result_type(dt.int64, operand, promotion="mindspore") is dt.float32
    assert result_type(dt.int64, operand, promotion="torch") is dt.float32


def test_numpy_scalars_count_as_each_system_has_it() -> None:
    half, one = np.ones(3, "float16"), np.float32(1)
    wanted = dict.fromkeys(policies.names(), dt.float16) | {"numpy2": dt.float32, "jax": dt.float32}
    assert {name: result_type(half, one, promotion=name) for name in policies.names()} == wanted
    assert result_type(np.ones(3, "int8"), np.uint8(3)) is dt.int8
    assert result_type(np.ones(3, "bool"), np.bool_(True)) is dt.bool_
    assert result_type(dt.bfloat16, ml_dtypes.bfloat16(1)) is dt.bfloat16


def test_subclasses_of_python_numbers_are_weak_where_the_system_takes_them_so() -> None:
    class Count(int):
        pass

    array = np.ones(3, "int8")
    answers = {name: str(result_type(array, Count(3), promotion=name)) for name in policies.names()}
    assert answers == dict.fromkeys(policies.names(), "int8") | {"numpy2": "int64", "jax": "int64"}


def test_scalars_alone_have_the_systems_default_dtype() -> None:
    answers = {name: str(result_type(1, 2.5, promotion=name)) for name in policies.names()}
    double = {"numpy1": "float64", "numpy2": "float64", "jax": "float64"}
    assert answers == dict.fromkeys(policies.names(), "float32") | double
    assert result_type(1, True) is dt.int64
    assert result_type(1, True, promotion="tensorflow") is dt.int32
    assert result_type(2.0, 1j) is dt.complex64


def test_an_eager_0d_tensor_has_its_value_under_numpy1_and_a_traced_one_has_none() -> None:
    array = np.ones(3, "int8")
    assert result_type(array, FakeTensor(dt.int64, (), value=100), promotion="numpy1") is dt.int8
    assert result_type(array, FakeTensor(dt.int64, (), value=300), promotion="numpy1") is dt.int16
    for unknown in (FakeTensor(dt.int64, (), ir.TensorType(dt.int64, ())), FakeTensor(dt.int64, ())):
        with pytest.raises(policies.ValueNeeded, match="only known when the program runs"):
            result_type(array, unknown, promotion="numpy1")
    # Whatever its value, it fits: then the value is not needed.
    assert result_type(dt.float32, FakeTensor(dt.float32, ()), promotion="numpy1") is dt.float32
    assert result_type(dt.int64, ir.ScalarType("int"), promotion="numpy1") is dt.int64


def test_unknown_values_in_the_numpy_1_functions() -> None:
    traced = FakeTensor(dt.int64, (), ir.TensorType(dt.int64, ()))
    assert can_cast(traced, "int64")
    assert not can_cast(FakeTensor(dt.float64, ()), "int8")
    assert min_scalar_type(FakeTensor(dt.float16, ())) is dt.float16
    for call in (lambda: can_cast(traced, "int8"), lambda: min_scalar_type(traced)):
        with pytest.raises(errors.DTypeError, match="only known when the program runs"):
            call()


@pytest.mark.parametrize("policy", policies.names())
@pytest.mark.parametrize("operand", ["hello", "qint8", [1, 2], (1, 2), np.array(["a"]), np.array([None]), object(), {}])
def test_what_is_no_operand_is_refused(operand: Any, policy: str) -> None:
    with pytest.raises(errors.DTypeError):
        result_type(operand, "int8", promotion=policy)


def test_none_and_object_are_operands_of_numpy_1_only() -> None:
    assert result_type(None, "int8", promotion="numpy1") is dt.float64
    assert result_type("O", 1, promotion="numpy1") == "object"
    for name in set(policies.names()) - {"numpy1"}:
        for operand in (None, "O", object):
            with pytest.raises(errors.DTypeError):
                result_type(operand, 1, promotion=name)


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(errors.AttributeValueError, match="at least one operand"):
        result_type()
    with pytest.raises(errors.AttributeValueError, match="mindspore2, numpy1") as caught:
        result_type("int8", promotion="numpy")
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
    with pytest.raises(errors.AttributeTypeError, match="no promotion policy"):
        result_type("int8", promotion=3)  # type: ignore[arg-type]
    with pytest.raises(errors.AttributeValueError, match="same_kind, unsafe"):
        can_cast("int8", "int16", "loose")
    for call in (lambda: promote_types(None, "int8"), lambda: promote_types(3, "int8")):
        with pytest.raises(errors.DTypeError, match="not a dtype"):
            call()
    with pytest.raises(errors.DTypeError, match="uint16 and int8 tensors do not combine under the policy mindspore"):
        result_type("uint16", "int8")
    for value in ("int8", np.float32, dt.int8, [[1], [1, 2]]):
        with pytest.raises(errors.DTypeError, match="no minimal dtype"):
            min_scalar_type(value)


def test_the_current_policy_answers_where_none_is_named() -> None:
    from tracejit.ambient import promotion

    assert result_type("int64", "float16") is dt.float16
    with promotion("numpy2"):
        assert result_type("int64", "float16") is dt.float64
        assert promote_types("int64", "float16") is dt.float64
        assert result_type("int64", "float16", promotion="mindspore") is dt.float16


def test_numpys_own_promotion_is_never_called() -> None:
    code = (
        "import numpy as np\n"
        "def refuse(*args, **keywords): raise AssertionError('NumPy was asked')\n"
        "np.result_type = np.promote_types = np.can_cast = np.min_scalar_type = refuse\n"
        "from tracejit import queries\n"
        "assert queries.result_type(np.arange(3, dtype='i1'), 200, promotion='numpy1') == 'int16'\n"
        "assert queries.can_cast(300, 'i2') and queries.min_scalar_type([1]) == 'int64'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])
