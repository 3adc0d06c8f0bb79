"""The optimizers, dense and sparse: MindSpore's recorded runs, dtype groups, duplicates, bounds, attributes, errors."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

import tracejit
from docs.recorded_differences import DIFFERENCES
from tests import recorded
from tests.conftest import sample
from tests.recorded import abstract, assert_close, bits
from tracejit import Parameter, Tensor, jit, ops, promotion
from tracejit import dtypes as dt
from tracejit.errors import DTypeError, IndexBoundsError, ParameterAliasError, ParameterCastError, ShapeError
from tracejit.ops.optimizers import GRADIENTS
from tracejit.ops.record import RECORDS, Op

DENSE = [name for name in RECORDS if name.startswith("apply_")]
SPARSE = [name for name in RECORDS if name.startswith(("sparse_apply_", "fused_sparse_"))]
OPTIMIZERS = DENSE + SPARSE
SUMMED = [name for name in SPARSE if name.startswith("fused") or name == "sparse_apply_adagrad"]
NINE = (dt.bool_, dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64, dt.float16, dt.float32, dt.float64)
POLICIES = ("mindspore", "mindspore2")
VALUES = {"lr": 0.25, "l1": 0.125, "l2": 0.5, "lr_power": -0.5, "epsilon": 0.125, "l2_shrinkage": 0.25}
SPECS = {name: RECORDS[name].operands for name in OPTIMIZERS}


def attributes_of(name: str) -> dict[str, Any]:
    """Return values for the attributes that an operator requires."""
    return {a.name: VALUES[a.name] for a in RECORDS[name].attributes if a.name in VALUES}


def scalars_in_t(name: str) -> list[int]:
    return [i for i, s in enumerate(SPECS[name]) if s.role == "read" and s.name not in GRADIENTS]


def own_scalars(name: str) -> list[int]:
    return [i for i, spec in enumerate(SPECS[name]) if spec.role == "scalar"]


def operands_for(name: str, variable: dt.DType, gradient: Any = None, shape: Sequence[int] = (2, 2)) -> list[Any]:
    """Make operands: Parameters of ones, a gradient of ones, hyper-parameters of 0.5, and the first indices."""
    made: list[Any] = []
    for spec in SPECS[name]:
        if spec.role == "write":
            made.append(Parameter(Tensor(np.ones(shape).astype(variable.numpy)), name=spec.name))
        elif spec.role == "index":
            made.append(Tensor(np.arange(shape[0]).astype("i4")))
        elif spec.name in GRADIENTS:
            made.append(Tensor(np.ones(shape).astype((gradient or variable).numpy)))
        else:
            made.append(0.5)
    return made


def types_for(
    name: str, variable: Any, gradient: Any = None, scalar: Any = 0.5, index: dt.DType = dt.int32
) -> list[Any]:
    """Make operands for inference: their types, and Python numbers."""
    dtypes = variable if isinstance(variable, list) else [variable] * len(RECORDS[name].writes)
    states, made = iter(dtypes), []
    for spec in SPECS[name]:
        if spec.role == "write":
            made.append(abstract(next(states), (2, 2)))
        elif spec.role == "index":
            made.append(abstract(index, (2,)))
        elif spec.name in GRADIENTS:
            made.append(abstract(gradient or dtypes[0], (2, 2)))
        else:
            made.append(scalar)
    return made


def full() -> bool:
    """Say whether every case of the long sweeps is to run."""
    return len(sample(range(2), 1)) == 2


# Recorded runs


def is_optimizer(name: str) -> bool:
    return "Apply" in name or name.startswith("Fused")


def difference(case: recorded.Case) -> str | None:
    """Name the difference that a recorded case stands for, where it cannot be checked."""
    if case.raises and "int64" in case.note:
        return "int64-indices"
    if case.raises and case.note == "beta1_power=1":
        return "power-of-one"
    if case.raises and case.note == "lr f16 tensor":
        return "half-rate"
    if case.op == "ApplyMomentum" and case.attributes.get("use_nesterov"):
        return "nesterov"
    if case.op == "SparseApplyAdagradV2" and not case.raises:
        return "epsilon-inside"
    return None


CASES = [(policy, case) for policy in POLICIES for case in recorded.cases(is_optimizer, policy)]


@pytest.mark.parametrize(("policy", "case"), CASES, ids=str)
def test_recorded_case(policy: str, case: recorded.Case) -> None:
    name = difference(case)
    if name is None:
        first = next(other for _, other in CASES if other.op == case.op and not difference(other))
        check_case(policy, case, ["function", "class", "jitted class"][: 3 if case is first or full() else 2])
        return
    assert name in DIFFERENCES
    with pytest.raises(BaseException):  # noqa: B017, PT011  # whatever it is: the row does differ
        check_case(policy, case, ["function"])


def check_case(policy: str, case: recorded.Case, forms: Sequence[str]) -> None:
    for form in forms:
        operands = [recorded.operand(entry) for entry in case.inputs]
        if case.raises is not None:
            before = bits(operands)
            with pytest.raises(recorded.error_class(case.note)):
                recorded.run(case.op, case.attributes, operands, form, policy)
            assert bits(operands) == before
            continue
        returned = recorded.run(case.op, case.attributes, operands, form, policy)
        rows = rows_to_compare(case)
        for operand, after in zip(operands, case.after):
            assert_close(operand.asnumpy()[rows], recorded.array(after)[rows])
        if case.outputs is not None and not case.op.startswith("Fused"):  # the difference fused-results
            returned = returned if isinstance(returned, tuple) else (returned,)
            assert len(returned) == len(case.outputs)
            for result, output in zip(returned, case.outputs):
                assert_close(result.asnumpy(), recorded.array(output))


def rows_to_compare(case: recorded.Case) -> Any:
    """Return the rows that carry information: of FusedSparseAdam with Nesterov's rule, those that are named."""
    if case.op == "FusedSparseAdam" and case.attributes.get("use_nesterov"):  # the difference stale-rows
        return np.unique([i for i in case.inputs[-1]["values"] if 0 <= i < case.inputs[0]["shape"][0]])
    return slice(None)


# dtype groups


def summary_cells(run: str) -> list[tuple[str, str, str, str]]:
    """List (operator, variable's dtype, gradient's dtype, outcome) of one run."""
    summary, cells = recorded.load("D_apply_summary.json"), []
    for table in summary["tables"]:
        for operator in table["runs"].get(run, []):
            for variable, row in zip(summary["var"], table["table"]):
                cells += [(operator, variable, gradient, cell) for gradient, cell in zip(summary["grad"], row)]
    return cells


@pytest.mark.parametrize(("policy", "run"), [("mindspore", "1.1.1g"), ("mindspore2", "2.10.0p")])
def test_recorded_dtypes_of_gradients(policy: str, run: str) -> None:
    classes, seen = {RECORDS[name].class_name: name for name in OPTIMIZERS}, set()
    for operator, variable, gradient, cell in summary_cells(run):
        name = classes[operator]
        seen.add(name)
        given = [dt.as_dtype("bool_" if dtype == "bool" else dtype) for dtype in (variable, gradient)]
        found = recorded.outcome(RECORDS[name], types_for(name, *given), attributes_of(name), policy)
        wanted = {"ok": "ok", "~": "ok", "crash": "ok"}.get(cell, cell.partition(":")[0])
        assert found == wanted, (operator, variable, gradient, cell)
    assert seen == set(OPTIMIZERS)


ROWS = [row[0:2] for row in recorded.load("D_parameter_rows.jsonl") if isinstance(row, list) and row[0][0] == "apply"]
D_ERRORS = recorded.load("D_parameter.errors.json")
GIVEN = {
    "py int 1": 1,
    "py bool": True,
    "Tensor0d float32": abstract(dt.float32, ()),
    "Tensor0d float16": abstract(dt.float16, ()),
    "Tensor0d float64": abstract(dt.float64, ()),
    "Tensor0d int32": abstract(dt.int32, ()),
    "Tensor(1,) float32": abstract(dt.float32, (1,)),
}


def recorded_outcome(cells: dict[str, str], run: str) -> str | None:
    """Return the outcome of one run: ok, conv, type or shape; None where it says nothing of the call's types."""
    cell = {run: cell for cell, runs in cells.items() for run in runs.split()}.get(run)
    if cell is None or cell.startswith(("CRASH", "~cast")):
        return None
    if not cell.startswith("!"):
        return "ok"
    text = D_ERRORS[int(cell[1:].split()[0])]
    if "should not be 1" in text:
        return "ok"  # the difference power-of-one
    if "is not a scalar" in text or "Framework Unexpected" in text:
        return "shape"
    return {ParameterCastError: "conv", ShapeError: "shape"}.get(recorded.error_class(text), "type")


@pytest.mark.parametrize(("policy", "run"), [("mindspore", "1.1.1p"), ("mindspore2", "2.10.0p")])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_recorded_scalars_parameters_and_indices(name: str, policy: str, run: str) -> None:
    op = RECORDS[name]
    checked = 0
    for (_, operator, what, *key), cells in ROWS:
        if operator != op.class_name or what == "grad":
            continue
        wanted = recorded_outcome(cells, run)
        if wanted is None:
            continue
        if what == "scalar":
            operands = types_for(name, dt.as_dtype(key[0]), scalar=GIVEN[key[1]])
            if key[1] == "Tensor(1,) float32" and policy == "mindspore2" and "proximal" in name and wanted == "shape":
                wanted = "shape" if name.startswith("fused") else "ok"  # the difference one-element-scalars
        elif what == "params":
            operands = types_for(name, parameters(name, *map(dt.as_dtype, key[0])), dt.float16)
        else:
            operands = types_for(name, dt.float32, index=dt.as_dtype(key[0]))
            if key[0] in ("int64", "int16", "uint8"):
                wanted = "ok" if key[0] == "int64" else "type"  # the differences int64-indices, narrow-indices
        assert recorded.outcome(op, operands, attributes_of(name), policy) == wanted, (what, key)
        checked += 1
    assert checked >= (0 if name == "apply_gradient_descent" else 3)


def parameters(name: str, first: dt.DType, others: dt.DType) -> list[dt.DType]:
    return [first] + [others] * (len(RECORDS[name].writes) - 1)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_pair_follows_the_policy(name: str, policy: str) -> None:
    """The gradient (and a scalar in its group) converts to the written dtype or is refused; all nine by nine."""
    op, dialect = RECORDS[name], "2.x" if policy == "mindspore2" else "r1.1"
    in_t = scalars_in_t(name)
    for variable, gradient in itertools.product(NINE, NINE):
        members = [gradient, 0.5] if in_t else [gradient]
        found = recorded.outcome(op, types_for(name, variable, gradient), attributes_of(name), policy)
        assert found == expected_outcome(op, variable, members, policy, dialect), (variable, gradient)
    for variable, given in itertools.product(NINE, [*NINE, True, 2, 2.5] if in_t else []):
        scalar = abstract(given, ()) if isinstance(given, dt.DType) else given
        found = recorded.outcome(op, types_for(name, variable, scalar=scalar), attributes_of(name), policy)
        assert found == expected_outcome(op, variable, [given], policy, dialect), (variable, given)


def expected_outcome(op: Op, variable: dt.DType, others: list[Any], policy: str, dialect: str) -> str:
    for other in others:
        if other is not variable and tracejit.result_type(variable, other, promotion=policy) is not variable:
            return "conv"
    return "ok" if variable in (op.accepted("T", dialect) or ()) else "type"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if own_scalars(name)])
def test_hyper_parameters_with_groups_of_their_own(name: str, policy: str) -> None:
    """They never decide the dtype; integers and bools are refused, but by two operators of 2.x, which take integers."""
    op, dialect = RECORDS[name], "2.x" if policy == "mindspore2" else "r1.1"
    integers = policy == "mindspore2" and name in ("apply_momentum", "apply_gradient_descent")
    for variable in sorted(op.accepted("T", dialect) & {dt.float16, dt.float32, dt.float64}, key=str):
        for given in [*NINE, True, 2, 2.5]:
            scalar = abstract(given, ()) if isinstance(given, dt.DType) else given
            kind = (
                given.kind if isinstance(given, dt.DType) else {bool: "bool", int: "int", float: "float"}[type(given)]
            )
            wanted = "ok" if kind == "float" or (integers and kind in ("int", "uint")) else "type"
            if given is dt.float64 and variable is not given and given not in op.accepted(spec_group(name), dialect):
                wanted = "type"
            found = recorded.outcome(op, types_for(name, variable, scalar=scalar), attributes_of(name), policy)
            assert found == wanted, (variable, given)


def spec_group(name: str) -> str:
    return str(SPECS[name][own_scalars(name)[0]].group)


def test_scalars_of_one_group_promote_together() -> None:
    tensor, integer, single = abstract(dt.float32, (2,)), abstract(dt.int32, ()), abstract(dt.float32, ())
    arguments = [tensor, tensor, 0.5, 0.5, integer, single, tensor]
    assert recorded.outcome(RECORDS["apply_add_sign"], arguments, {}, "mindspore") == "ok"  # sign_decay and beta: T3
    arguments[5] = 0.5
    assert recorded.outcome(RECORDS["apply_add_sign"], arguments, {}, "mindspore") == "ok"
    arguments[5] = integer
    assert recorded.outcome(RECORDS["apply_add_sign"], arguments, {}, "mindspore") == "type"


@pytest.mark.sweep(4)
@pytest.mark.parametrize("variable", [dt.float16, dt.float32, dt.float64], ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_lower_gradients_run(name: str, variable: dt.DType) -> None:
    policy = "mindspore2" if variable is dt.float64 else "mindspore"
    op, dialect = RECORDS[name], "2.x" if policy == "mindspore2" else "r1.1"
    for gradient in NINE if full() else NINE[::3]:
        operands = operands_for(name, variable, gradient)
        if recorded.outcome(op, types_for(name, variable, gradient), attributes_of(name), policy) != "ok":
            continue
        expected = model(name, [*operands_for(name, variable, variable)], dialect)
        recorded.run(op.class_name, attributes_of(name), operands, "function", policy)
        for position, value in zip(op.writes, expected):
            assert operands[position].dtype is variable
            assert_close(operands[position].asnumpy(), value, 5e-3 if variable is dt.float16 else 2e-6)


# Values: random calls against the NumPy models


def host(operands: Sequence[Any], dtype: np.dtype) -> list[Any]:
    return [x.asnumpy() if isinstance(x, Tensor) else dtype.type(x) for x in operands]


def model(name: str, operands: Sequence[Any], dialect: str = "r1.1", **attributes: Any) -> tuple[np.ndarray, ...]:
    """Return what the record's NumPy model says."""
    op = RECORDS[name]
    given = {a.name: op.default(a, dialect) for a in op.attributes} | attributes_of(name) | attributes
    with np.errstate(all="ignore"):
        result = op.reference(*host(operands, operands[0].asnumpy().dtype), **given)
    return result if isinstance(result, tuple) else (result,)


def random_operands(name: str, seed: int, dtype: str = "float32", shape: Sequence[int] = (5, 3)) -> list[Any]:
    """Make operands with duplicates, and for the sparse operators with rows out of range."""
    random, made = np.random.default_rng(seed), []
    count = 9
    for spec in SPECS[name]:
        if spec.role == "write":
            low = 0.5 if spec.name in ("accum", "accum_update", "v") else -1
            made.append(Parameter(Tensor(random.uniform(low, 2, shape).astype(dtype)), name=spec.name))
        elif spec.role == "index":
            indices = random.integers(0, shape[0], count)
            indices[[2, 6]] = [-1, shape[0] + seed]
            made.append(Tensor(indices.astype("i8" if seed % 2 else "i4")))
        elif spec.name in GRADIENTS:
            sparse = name in SPARSE
            made.append(Tensor(random.standard_normal([count, *shape[1:]] if sparse else shape).astype(dtype)))
        elif seed % 2:
            made.append(float(np.float16(random.uniform(0.1, 0.9))))
        else:
            made.append(Tensor(np.asarray(random.uniform(0.1, 0.9), dtype)))
    return made


@pytest.fixture(params=["cpu", "other"])
def elsewhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test with the program for the CPU, and with the one for other devices."""
    if request.param == "other":
        from tracejit import eager

        monkeypatch.setattr(lax, "platform_dependent", lambda *args, default, cpu: default(*args))
        monkeypatch.setattr(eager, "_programs", type(eager._programs)(64))
    return request.param


SHAPES = {0: (5, 3), 1: (6,), 2: (4, 2, 3)}


@pytest.mark.parametrize("name", SPARSE)
def test_duplicates_and_bad_rows(name: str, elsewhere: str) -> None:
    op = RECORDS[name]
    for seed, shape in list(SHAPES.items())[: 1 if elsewhere == "other" else 2]:
        fresh = [random_operands(name, seed, shape=shape) for _ in range(3)]
        expected = model(name, fresh[0])
        forms = ("function", "jitted class" if seed == 0 and elsewhere == "cpu" else "class", "function")
        for operands, form in zip(fresh, forms):
            recorded.run(op.class_name, attributes_of(name), operands, form)
            for position, value in zip(op.writes, expected):
                assert_close(operands[position].asnumpy(), value, 5e-6)
        assert bits(fresh[0]) == bits(fresh[1]) == bits(fresh[2])


@pytest.mark.parametrize("name", DENSE)
def test_dense_values(name: str) -> None:
    op = RECORDS[name]
    for seed, dtype in enumerate(("float32", "float32", "float16")):
        fresh = [random_operands(name, seed, dtype) for _ in range(2)]
        expected = model(name, fresh[0])
        for operands, form in zip(fresh, ("function", "jitted class")):
            recorded.run(op.class_name, attributes_of(name), operands, form)
            for position, value in zip(op.writes, expected):
                assert_close(operands[position].asnumpy(), value, 5e-3 if dtype == "float16" else 5e-6)
        assert bits(fresh[0]) == bits(fresh[1])


FLAGS = [
    ("apply_momentum", {"use_nesterov": True, "gradient_scale": 0.5}),
    ("apply_adagrad", {"update_slots": False}),
    ("apply_adagrad_v2", {"update_slots": False}),
    ("sparse_apply_adagrad", {"update_slots": False}),
    ("sparse_apply_adagrad_v2", {"update_slots": False}),
    ("sparse_apply_ftrl", {"lr_power": 0.0}),
    ("sparse_apply_ftrl", {"lr_power": -1.0}),
    ("sparse_apply_ftrl", {"lr_power": -0.75}),
    ("sparse_apply_ftrl_v2", {"l2_shrinkage": -0.25}),
    ("fused_sparse_adam", {"use_nesterov": True}),
    ("fused_sparse_lazy_adam", {"use_nesterov": True, "use_locking": True}),
]


@pytest.mark.parametrize(("name", "flags"), FLAGS, ids=str)
def test_attributes_change_the_values(name: str, flags: dict[str, Any]) -> None:
    operands = random_operands(name, 4)
    plain, expected = model(name, operands), model(name, operands, **flags)
    assert any((a != b).any() for a, b in zip(plain, expected)) or flags == {"use_locking": True}
    recorded.run(RECORDS[name].class_name, {**attributes_of(name), **flags}, operands, "jitted function")
    for position, value in zip(RECORDS[name].writes, expected):
        assert_close(operands[position].asnumpy(), value, 5e-6)


def test_special_values() -> None:
    def single(value: float) -> Parameter:
        return Parameter(Tensor(np.float32([value])))

    gradient, zero = Tensor(np.float32([0.5])), Tensor(np.float32([0]))
    var, m, v = single(1), single(0), single(0)
    ops.apply_ada_max(var, m, v, 1.0, 0.1, 0.9, 0.9, 0.0, gradient)  # lr / 0
    assert np.isneginf(var.asnumpy()[0])
    var, accum = single(1), single(0)
    ops.apply_adagrad_v2(var, accum, 0.1, zero, epsilon=0.0)  # 0 / 1e-6, and not 0 / 0
    assert var.asnumpy()[0] == 1
    ops.apply_proximal_gradient_descent(var, 0.5, -3.0, 2.0, gradient)  # a negative l1 counts as 0
    assert_close(var.asnumpy(), np.float32([(1 - 0.25) / 2]))
    table, accum = single(1), single(0.1)
    ops.SparseApplyAdagradV2(lr=0.5, epsilon=1.0)(table, accum, Tensor(np.float32([0.2])), Tensor(np.int32([0])))
    assert_close(table.asnumpy(), np.float32([0.9272286]), 1e-6)  # epsilon inside the root would give 0.9063


@pytest.mark.parametrize("name", SPARSE)
def test_summed_first_or_one_after_another(name: str) -> None:
    """Two gradients that cancel out change nothing if they are added first, and something if not."""
    shape, op = (3, 1), RECORDS[name]
    made = []
    for spec in SPECS[name]:
        if spec.role == "write":
            made.append(Parameter(Tensor(np.ones(shape, "f4"))))
        else:
            made.append(
                {"grad": Tensor(np.float32([[3], [-3]])), "indices": Tensor(np.int32([1, 1]))}.get(spec.name, 0.5)
            )
    getattr(ops, name)(*made, **attributes_of(name))
    expected = model(name, made[:0] or [np_parameter(x) for x in fresh_ones(name, shape)] + made[len(op.writes) :])
    for position, value in zip(op.writes, expected):
        assert_close(made[position].asnumpy(), value, 5e-6)
    accum = next((i for i in op.writes if SPECS[name][i].name in ("accum", "v")), None)
    moved = made[accum].asnumpy()[1, 0] > 1.5  # 3² were added twice, or 0 once
    assert moved == (name not in SUMMED)


def np_parameter(value: np.ndarray) -> Parameter:
    return Parameter(Tensor(value))


def fresh_ones(name: str, shape: Sequence[int]) -> list[np.ndarray]:
    return [np.ones(shape, "f4") for _ in RECORDS[name].writes]


# Bounds


@pytest.mark.parametrize("name", SPARSE)
def test_bad_rows_raise_only_where_checks_are_asked_for(name: str) -> None:
    attributes = attributes_of(name)
    operands = operands_for(name, dt.float32)
    checked = jit(lambda i: getattr(ops, name)(*operands[:-1], i, **attributes), check_indices=True)
    before = bits(operands[:-1])
    for bad in (-1, 2, 2**31 - 1):
        operands[-1] = Tensor(np.array([0, bad], "i4"))
        with tracejit.check_indices(True), pytest.raises(IndexBoundsError, match=f"{name}: index {bad} .* length 2"):
            getattr(ops, name)(*operands, **attributes)
        with pytest.raises(IndexBoundsError, match=f"{name}: index {bad} "):
            checked(operands[-1])
        assert bits(operands[:-1]) == before
    getattr(ops, name)(*operands, **attributes)
    if name != "fused_sparse_adam":
        assert operands[0].asnumpy()[1].tobytes() == np.ones(2, "f4").tobytes()
    assert operands[0].asnumpy()[0].tobytes() != np.ones(2, "f4").tobytes()


# In place


@pytest.mark.parametrize("name", SPARSE)
def test_tables_are_updated_in_place(name: str) -> None:
    operands = operands_for(name, dt.float32, shape=(64, 8))
    operands = [Parameter(Tensor(np.ones((50021, 8), "f4"))) if isinstance(x, Parameter) else x for x in operands]
    given = [i for i, x in enumerate(operands) if isinstance(x, Tensor) and not isinstance(x, Parameter)]

    def step(*tensors: Any) -> None:
        filled = list(operands)
        for place, tensor in zip(given, tensors):
            filled[place] = tensor
        getattr(ops, name)(*filled, **attributes_of(name))

    compiled = jit(step).trace(*[operands[i] for i in given]).lower().compile()
    made = re.findall(r"= f32\[50021,8\]\{1,0\} (\S+)\(", compiled.as_text())
    assert "copy" not in made
    if name != "fused_sparse_adam":  # its formula moves every row
        assert "broadcast" not in made  # no gradient is densified
    assert compiled.as_text().count("may-alias") + compiled.as_text().count("must-alias") == len(RECORDS[name].writes)


# Attributes, errors


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_attributes_are_checked_when_the_class_is_made(name: str) -> None:
    cls, required = getattr(ops, RECORDS[name].class_name), attributes_of(name)
    assert "not" not in repr(cls(**required))
    for missing in required:
        with pytest.raises(TypeError, match=missing):
            cls(**{key: value for key, value in required.items() if key != missing})
    for attribute in RECORDS[name].attributes:
        boolean = attribute.name.startswith(("use_", "update_"))
        for wrong in (0, 1, None, "x", 0.5) if boolean else (1, 0, True, None, "x"):
            with pytest.raises(TypeError, match=attribute.name):
                cls(**{**required, attribute.name: wrong})
    with pytest.raises(TypeError, match="rho_"):
        cls(**required, rho_=1)
    ranged = {
        "lr": [float("nan"), float("inf")],
        "l1": [-0.5, float("nan")],
        "l2": [-0.5],
        "lr_power": [0.5, float("nan")],
    }
    for attribute, values in ranged.items() if "ftrl" in name or name == "sparse_apply_adagrad" else ():
        for value in [*values, *([0.0, -1.0] if attribute == "lr" and "ftrl" in name else [])]:
            if attribute in required:
                with pytest.raises(ValueError, match=attribute):
                    cls(**{**required, attribute: value})
    unranged = {"sparse_apply_adagrad": {"lr": -1.0}, "sparse_apply_adagrad_v2": {"lr": float("nan"), "epsilon": -1.0}}
    cls(**{**required, **unranged.get(name, {})})


def test_order_of_attributes() -> None:
    assert repr(ops.ApplyMomentum(True, False, 0.5)) == (
        "ApplyMomentum(use_nesterov=True, use_locking=False, gradient_scale=0.5)"
    )
    assert "use_locking=True, update_slots=False" in repr(ops.SparseApplyAdagradV2(0.1, 0.2, True, False))
    assert "update_slots=True, use_locking=False" in repr(ops.SparseApplyAdagrad(0.1, True, False))
    assert "l2_shrinkage=0.5, lr_power=-0.5" in repr(ops.SparseApplyFtrlV2(0.1, 0.2, 0.3, 0.5, -0.5))


def broken(name: str) -> list[tuple[Callable[[list[Any]], None], type[Exception]]]:
    """List ways to break a good call, and the error that each deserves."""
    gradient = next(i for i, spec in enumerate(SPECS[name]) if spec.name in GRADIENTS)

    def setter(position: int, value: Any) -> Callable[[list[Any]], None]:
        return lambda operands: operands.__setitem__(position, value)

    ways: list[Any] = [
        (setter(0, Tensor(np.ones((2, 2), "f4"))), TypeError),
        (setter(gradient, Tensor(np.ones((2, 3), "f4"))), ShapeError),
        (setter(gradient, Tensor(np.ones((2, 2), "f8"))), ParameterCastError),
        (setter(gradient, "gradient"), TypeError),
    ]
    if name in DENSE:
        ways.append((setter(gradient, 1.0), ShapeError))
    if len(RECORDS[name].writes) > 1:
        ways.append((lambda operands: operands.__setitem__(1, operands[0]), ParameterAliasError))
        ways.append((setter(1, Parameter(Tensor(np.ones((2, 1), "f4")))), ShapeError))
    for position in [*own_scalars(name), *scalars_in_t(name)]:
        ways.append((setter(position, Tensor(np.ones(2, "f4"))), ShapeError))
    if name in SPARSE:
        ways += [
            (setter(len(SPECS[name]) - 1, Tensor(np.array([0.0, 1.0], "f4"))), DTypeError),
            (setter(len(SPECS[name]) - 1, Tensor(np.array([[0], [1]], "i4"))), ShapeError),
            (setter(len(SPECS[name]) - 1, Tensor(np.array([0], "i4"))), ShapeError),
            (setter(len(SPECS[name]) - 1, 1), DTypeError),
        ]
    return ways


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_after_an_error_every_parameter_is_as_before(name: str) -> None:
    for change, error in broken(name):
        for form in ("function", "jitted class"):
            operands = operands_for(name, dt.float32)
            change(operands)
            before = bits(operands)
            with pytest.raises(error, match=f"(?s){name}|argument"):
                recorded.run(RECORDS[name].class_name, attributes_of(name), operands, form)
            assert bits(operands) == before
    operands = operands_for(name, dt.float32)
    before = bits(operands)

    @jit
    def fails_later() -> None:
        getattr(ops, name)(*operands, **attributes_of(name))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails_later()
    assert bits(operands) == before


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_results_are_the_written_parameters(name: str) -> None:
    op, operands = RECORDS[name], operands_for(name, dt.float32)
    returned = getattr(ops, name)(*operands, **attributes_of(name))
    returned = returned if isinstance(returned, tuple) else (returned,)
    written = [operands[position] for position in op.writes]
    assert len(returned) == (1 if name == "apply_momentum" else len(written))
    assert all(a is b for a, b in zip(returned, written))
    traced = recorded.run(op.class_name, attributes_of(name), operands, "jitted function")
    traced = traced if isinstance(traced, tuple) else (traced,)
    assert all(type(x) is Tensor and x.asnumpy().tobytes() == p.asnumpy().tobytes() for x, p in zip(traced, written))


@pytest.mark.parametrize("name", ["apply_adadelta", "sparse_apply_ftrl", "fused_sparse_lazy_adam"])
def test_keywords_are_mindspores_names(name: str) -> None:
    for form in (getattr(ops, name), getattr(ops, RECORDS[name].class_name)(**attributes_of(name))):
        operands = operands_for(name, dt.float32)
        named = dict(zip([spec.name for spec in SPECS[name]], operands))
        form(**named, **(attributes_of(name) if form is getattr(ops, name) else {}))
        positional = operands_for(name, dt.float32)
        getattr(ops, name)(*positional, **attributes_of(name))
        assert bits(operands) == bits(positional)


@pytest.mark.parametrize("name", ["sparse_apply_ftrl", "fused_sparse_lazy_adam", "apply_momentum", "scatter_update"])
def test_a_write_inside_a_gradient_is_not_differentiated(name: str) -> None:
    table = Parameter(Tensor(np.ones((4, 2), "f4")), name="table")
    operands = operands_for(name, dt.float32, shape=(2, 2)) if name in SPECS else []

    def loss(x: Any) -> Any:
        if name == "scatter_update":
            ops.scatter_update(table, Tensor(np.array([0, 1], "i4")), x)
        else:
            given = [x if spec.name in GRADIENTS else o for spec, o in zip(SPECS[name], operands)]
            getattr(ops, name)(*given, **attributes_of(name))
        return ops.reduce_sum(x * x)

    x = Tensor(np.float32([[1, 2], [3, 4]]))
    gradient = jit(lambda x: tracejit.grad(loss)(x))(x)
    assert_close(gradient.asnumpy(), 2 * x.asnumpy())


def test_under_jax_transformations() -> None:
    operands = operands_for("apply_gradient_descent", dt.float32)
    with pytest.raises(tracejit.errors.StateError, match="var"):
        jax.jit(lambda: ops.apply_gradient_descent(*operands).value())()


def test_messages() -> None:
    var, accum = (Parameter(Tensor(np.ones((3, 2), "f4")), name=name) for name in ("weights", "sums"))
    gradient = Tensor(np.ones((3, 2), "f4"))
    with pytest.raises(DTypeError, match="apply_adagrad does not take int64 for lr") as caught:
        ops.apply_adagrad(var, accum, 1, gradient)
    assert "lr may be float16, float32" in str(caught.value)
    assert "lr: int" in str(caught.value)
    with pytest.raises(ShapeError, match=r"lr must be a scalar, and has the shape \[2\]"):
        ops.apply_adagrad(var, accum, Tensor(np.ones(2, "f4")), gradient)
    with pytest.raises(ShapeError, match=r"grad has the shape \[3, 2\], and \[2, 2\] is needed"):
        ops.SparseApplyAdagrad(lr=0.1)(var, accum, gradient, Tensor(np.array([0, 1], "i4")))
    with pytest.raises(ParameterAliasError, match="'weights' twice"):
        ops.apply_adagrad(var, var, 0.1, gradient)
    with pytest.raises(ParameterCastError, match="'weights' of float32"):
        ops.apply_adagrad(var, accum, 0.1, Tensor(np.ones((3, 2))))
    with promotion("strict"), pytest.raises(tracejit.errors.ImplicitCastError, match="lr"):
        ops.apply_adagrad(var, accum, Tensor(np.float16(0.5)), gradient)
