"""The engine of the policies: its laws, its rules and errors, its tables, the registry."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tracejit import dtypes as dt
from tracejit import errors, policies
from tracejit.policies import Operand, Policy, PromotionError, WrittenConversion
from tracejit.policies.engine import by_tables
from tracejit.policies.tables import complete_joins, complete_scalars, read_grid, read_joins

NAMES = ("mindspore", "mindspore2", "numpy1", "numpy2", "jax", "torch", "tensorflow", "strict")
#: Policies whose decision does not depend on the order of operands, beyond what tests name.
UNORDERED = ("mindspore", "mindspore2", "numpy2", "jax", "tensorflow", "strict")


def of(dtype: dt.DType, ndim: int = 1, written: bool = False) -> Operand:
    return Operand(dtype, dtype.kind, ndim=ndim, written=written)


def scalar(kind: str) -> Operand:
    return Operand(None, kind, ndim=0)


def decide(policy: str, *operands: Operand) -> dt.DType | str | None:
    try:
        return policies.get(policy).decide(operands).dtype
    except PromotionError:
        return "refused"


TENSORS = st.builds(of, st.sampled_from(dt.ALL), st.integers(0, 2))
SCALARS = st.builds(scalar, st.sampled_from(["bool", "int", "float", "complex"]))
GROUPS = st.lists(TENSORS | SCALARS, min_size=1, max_size=6)


@given(GROUPS, st.randoms())
def test_order_of_operands_does_not_matter(group: list[Operand], random: Callable) -> None:
    shuffled = list(group)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for name in UNORDERED:
        assert decide(name, *group) == decide(name, *shuffled)
    # PyTorch folds from left to right: with uint16, 32 and 64 an order can be refused, and nothing else changes.
    answers = {decide("torch", *group), decide("torch", *shuffled)}
    assert len(answers - {"refused"}) <= 1
    assert len(answers) == 1 or {dt.uint16, dt.uint32, dt.uint64} & {operand.dtype for operand in group}


@given(GROUPS)
def test_converting_to_what_was_decided_changes_nothing_more(group: list[Operand]) -> None:
    for name in NAMES:
        dtype = decide(name, *group)
        if isinstance(dtype, dt.DType):
            converted = [of(dtype, operand.ndim) for operand in group]
            assert decide(name, *converted) is dtype


@given(GROUPS)
def test_an_operand_of_the_decided_dtype_changes_nothing(group: list[Operand]) -> None:
    for name in ("mindspore", "mindspore2", "numpy2", "jax", "strict"):
        dtype = decide(name, *group)
        if isinstance(dtype, dt.DType):
            assert decide(name, of(dtype), *group) is dtype


@given(GROUPS)
def test_every_operand_has_a_rule(group: list[Operand]) -> None:
    for name in NAMES:
        policy = policies.get(name)
        try:
            decision = policy.decide(tuple(group))
        except PromotionError as error:
            assert name in error.reason or "operand" in error.reason
            continue
        assert len(decision.rules) == len(group)
        for rule in decision.rules:
            assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", rule.name)
            assert policy.rule(rule.name) is rule
        if decision.dtype is not None:
            assert decision.kind == decision.dtype.kind


@given(GROUPS)
def test_strict_decides_as_mindspore(group: list[Operand]) -> None:
    assert decide("strict", *group) == decide("mindspore", *group)


@given(GROUPS, st.integers(-(2**70), 2**70))
def test_values_matter_under_numpy1_only(group: list[Operand], value: int) -> None:
    valued = [operand._replace(value=value) if operand.kind == "int" else operand for operand in group]
    for name in set(NAMES) - {"numpy1"}:
        assert decide(name, *group) == decide(name, *valued)


@given(GROUPS, st.integers(0, 5))
def test_a_written_parameter_keeps_its_dtype_or_raises(group: list[Operand], position: int) -> None:
    position %= len(group)
    assume(group[position].dtype is not None)
    marked = [operand._replace(written=i == position) for i, operand in enumerate(group)]
    for name in NAMES:
        free = decide(name, *group)
        if free == "refused" or free is group[position].dtype:
            assert decide(name, *marked) == free
            continue
        with pytest.raises(WrittenConversion) as caught:
            policies.get(name).decide(tuple(marked))
        error = caught.value
        assert (error.position, error.held, error.needed) == (position, group[position].dtype, free)
        assert isinstance(error, errors.ParameterCastError)
        assert isinstance(error, RuntimeError)


# Rules.


def rules_of(policy: str, *operands: Operand) -> list[str]:
    return [rule.name for rule in policies.get(policy).decide(operands).rules]


def test_rule_names() -> None:
    u8, i8, i32, f32, b1 = map(of, (dt.uint8, dt.int8, dt.int32, dt.float32, dt.bool_))
    assert rules_of("mindspore", i32, i32) == ["same-dtype"] * 2
    assert rules_of("mindspore", i32, f32, scalar("int")) == ["highest-priority"] * 2 + ["scalar-adopts"]
    assert rules_of("mindspore", b1, u8, i8) == ["uint8-int8"] * 3
    assert rules_of("mindspore", u8, i8, f32) == ["highest-priority"] * 3
    assert rules_of("mindspore", b1, scalar("int")) == ["bool-int-scalar"] * 2
    assert rules_of("mindspore", scalar("float"), i32, i8) == ["integer-float-scalar"] * 3
    assert rules_of("mindspore", b1, scalar("float"), scalar("int")) == ["bool-float-scalar"] * 3
    assert rules_of("mindspore", scalar("float"), scalar("int")) == ["only-scalars"] * 2
    assert rules_of("mindspore2", of(dt.bfloat16), of(dt.float16)) == ["bfloat16-float16"] * 2
    assert rules_of("numpy2", f32, scalar("complex")) == ["float-complex-scalar"] * 2
    assert rules_of("torch", i32, of(dt.int64, 0), scalar("int")) == ["same-dtype", "zero-d-adopts", "scalar-adopts"]
    assert rules_of("torch", i32, of(dt.float64, 0)) == ["zero-d-category"] * 2
    assert rules_of("torch", i32, of(dt.int8, 0), scalar("float")) == ["integer-float-scalar"] * 3


def test_only_scalars_have_no_dtype_and_the_highest_kind() -> None:
    for name in NAMES:
        for kinds in permutations(["bool", "int", "float"]):
            assert policies.get(name).decide(tuple(map(scalar, kinds)))[:2] == (None, "float")
        with pytest.raises(PromotionError, match="no operand"):
            policies.get(name).decide(())


def test_every_text_is_a_sentence() -> None:
    for name in NAMES:
        policy = policies.get(name)
        assert policy.source
        for rule_name in policy.rules:
            assert re.fullmatch(r"[A-Z].*\.", policy.rule(rule_name).text)


def test_answers_are_remembered() -> None:
    for name in NAMES:
        policy = policies.get(name)
        group = (of(dt.float32), of(dt.float64))
        assert name == "tensorflow" or policy.decide(group) is policy.decide((of(dt.float32), of(dt.float64)))
        written = (of(dt.float32, written=True), of(dt.float64))
        assert decide(name, *written) == "refused"
    # Equal in Python, and told apart by kind.
    answers = [decide("jax", of(dt.bool_), scalar(kind)) for kind in ("bool", "int", "float")]
    assert answers == [dt.bool_, dt.int64, dt.float64]


def test_a_refusal_says_what_which_rule_and_what_to_do() -> None:
    with pytest.raises(PromotionError) as caught:
        policies.get("mindspore").decide((of(dt.uint16), of(dt.int8)))
    error = caught.value
    assert error.reason == "uint16 and int8 tensors do not combine under the policy mindspore"
    assert "not-combined: Only the nine dtypes bool < uint8" in str(error)
    assert "ops.cast" in str(error)
    assert isinstance(error, TypeError)
    with pytest.raises(PromotionError, match="a float32 tensor and a Python complex do not combine"):
        policies.get("mindspore").decide((of(dt.float32), scalar("complex")))
    with pytest.raises(WrittenConversion, match="a Parameter of int8 is written, but its group computes in float32"):
        policies.get("mindspore").decide((of(dt.int8, written=True), scalar("float")))


def test_what_strict_reports() -> None:
    strict, lenient = policies.get("strict"), policies.get("mindspore")
    cases = {
        (of(dt.int32), dt.int32): True,
        (scalar("int"), dt.int32): True,
        (scalar("bool"), dt.float16): True,
        (scalar("int"), dt.float16): True,
        (of(dt.int32), dt.float32): False,
        (of(dt.float16), dt.float32): False,
        (of(dt.bool_), dt.int32): False,
        (scalar("float"), dt.int32): False,
    }
    for (operand, decided), silent in cases.items():
        assert strict.is_silent(operand, decided) is silent
        assert lenient.is_silent(operand, decided)
    assert strict.reports_casts
    assert not any(policies.get(name).reports_casts for name in set(NAMES) - {"strict"})


def test_what_operators_ask_of_a_policy() -> None:
    columns = {
        name: (p.dialect, p.out_of_range, p.numpy_scalars, p.needs_values)
        for name, p in ((name, policies.get(name)) for name in NAMES)
    }
    assert columns == {
        "mindspore": ("r1.1", "error", "python", False),
        "mindspore2": ("2.x", "wrap", "python", False),
        "numpy1": ("r1.1", "error", "value", True),
        "numpy2": ("r1.1", "error", "tensor", False),
        "jax": ("r1.1", "wrap", "tensor", False),
        "torch": ("r1.1", "wrap", "python", False),
        "tensorflow": ("r1.1", "wrap", "python", False),
        "strict": ("r1.1", "error", "python", False),
    }


# The registry, and policies of one's own.


def test_get_and_names() -> None:
    assert policies.names()[: len(NAMES)] == NAMES
    for name in NAMES:
        policy = policies.get(name)
        assert policies.get(policy) is policy
        assert repr(policy) == f"<Policy {name}>"
        assert pickle.loads(pickle.dumps(policy)) is copy.deepcopy(policy) is policy
    with pytest.raises(ValueError, match=r"(?s)no promotion policy is called 'Numpy'.*mindspore, mindspore2, numpy1"):
        policies.get("Numpy")
    with pytest.raises(TypeError, match="None is no promotion policy"):
        policies.get(None)  # type: ignore[arg-type]


def test_a_policy_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "_known", dict(policies._known))
    mine = Policy(
        "house",
        source="house rules",
        tensors={("int8", "int32"): "int32", (dt.int32, dt.float32): "float32"},
        scalars={("int", "int32"): "int32", ("int", "int8"): "int32", ("float", "float32"): "float32"},
        rules={"int8-int32": "Wider wins."},
    )
    with pytest.raises(ValueError, match="'house' is not registered"):
        policies.get(mine)
    assert policies.register(mine) is mine
    assert policies.get("house") is policies.get(mine) is mine
    assert policies.names() == (*NAMES, "house")
    assert decide("house", of(dt.int32), of(dt.int8)) is dt.int32
    assert decide("house", of(dt.int8), scalar("int")) is dt.int32
    assert rules_of("house", of(dt.int8), scalar("int")) == ["scalar-raises"] * 2
    assert decide("house", of(dt.int8), of(dt.float32)) == "refused"
    assert decide("house", of(dt.float32), scalar("bool")) == "refused"
    assert decide("house", of(dt.float64), of(dt.float64)) is dt.float64
    other = Policy("house", source="", tensors="", scalars={})
    for duplicate in (other, Policy("numpy1", source="", tensors="", scalars={})):
        with pytest.raises(ValueError, match="is there already"):
            policies.register(duplicate)
    with pytest.raises(ValueError, match="'house' is not registered"):
        policies.get(other)
    with pytest.raises(TypeError, match="no Policy"):
        policies.register("house")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "settings", [{"dialect": "3.x"}, {"out_of_range": "clamp"}, {"numpy_scalars": "array"}, {"fold_order": (dt.int8,)}]
)
def test_a_policy_with_a_wrong_setting_is_refused(settings: dict) -> None:
    with pytest.raises(ValueError, match="policy mine"):
        Policy("mine", source="", tensors="", scalars={}, **settings)


# Tables.


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_commutative_idempotent_and_complete(name: str) -> None:
    policy = policies.get(name)
    for a in dt.ALL:
        assert policy.join_pair(a, a) is a
        for b in dt.ALL:
            assert policy.join_pair(a, b) is policy.join_pair(b, a)
    if policy.algorithm is None:
        assert {(kind, a) for kind in ("bool", "int", "float", "complex") for a in dt.ALL} <= set(policy._grid)
    if policy.lower_zero_d:
        assert {(a, b) for a in dt.ALL for b in dt.ALL} == set(policy._zero_d or ())


@pytest.mark.parametrize("name", ["mindspore", "mindspore2", "jax", "tensorflow"])
def test_joins_are_associative(name: str) -> None:
    joins = policies.get(name)._joins
    nodes = {a for a, _ in joins}

    def join(a: object, b: object) -> object:
        return None if a is None or b is None else joins[a, b]  # type: ignore[index]

    assert all(join(join(a, b), c) == join(a, join(b, c)) for a in nodes for b in nodes for c in nodes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("i8 < i16 < i8", "form a cycle"),
        ("i8 < i16\ni8 < f16\nu8 < i16\nu8 < f16", "several dtypes above both and none is least"),
        ("i8 < i17", "'i17' is no dtype"),
        ("i8 i16", "'i8 i16' is no dtype"),
        ("i8 = i16", "neither a chain nor a join"),
        ("i8 u8 i16 = i16", "neither a chain nor a join"),
    ],
)
def test_a_table_that_leaves_a_question_open_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_joins(text)


def test_reading_tables() -> None:
    joins = read_joins("  int8 < i16  # a comment\n\n u8,u16 f16 = f16\n i16 bf16 = -\n i16 < f32\n bf16 < f32")
    assert joins[dt.int8, dt.int16] is joins[dt.int16, dt.int8] is dt.int16
    assert joins[dt.uint8, dt.float16] is joins[dt.float16, dt.uint16] is dt.float16
    assert joins[dt.int16, dt.bfloat16] is None
    assert joins[dt.int8, dt.bfloat16] is dt.float32
    grid = read_grid("     i8 f32\n int  =  - \n u8,b1 < i16")
    assert grid["int", dt.int8] is dt.int8
    assert grid["int", dt.float32] is None
    assert grid[dt.uint8, dt.int8] is dt.uint8
    assert grid[dt.bool_, dt.float32] is dt.int16
    with pytest.raises(ValueError, match="1 cells for 2 columns"):
        read_grid("i8 f32\nint =")
    with pytest.raises(ValueError, match="give different dtypes"):
        complete_joins({("int8", "int16"): "int16", ("int16", "int8"): "int8"})
    with pytest.raises(ValueError, match="'integer' is no kind"):
        complete_scalars({("integer", "int8"): "int8"})


def test_the_engine_is_the_tables() -> None:
    group = (of(dt.int8), of(dt.uint8), scalar("int"))
    assert by_tables(policies.get("mindspore"), group) == policies.get("mindspore").decide(group)


def test_importing_policies_needs_no_jax() -> None:
    code = "import sys, tracejit.policies, tracejit.queries; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])
