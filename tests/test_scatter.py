"""The Scatter families: MindSpore's recorded runs, dtype groups, duplicates, bounds, and what an error leaves."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

import tracejit
from docs.recorded_differences import DIFFERENCES
from tests import recorded
from tests.conftest import sample
from tests.recorded import FORMS, abstract, assert_close, bits
from tracejit import Parameter, Tensor, jit, ops, promotion
from tracejit import dtypes as dt
from tracejit.errors import DTypeError, IndexBoundsError, ParameterCastError, ShapeError
from tracejit.ops.record import CLASSES, RECORDS

STEPS = ("add", "sub", "mul", "div", "max", "min", "update")
ROWS = [f"scatter_{step}" for step in STEPS]
SLICES = ["scatter_nd_add", "scatter_nd_sub", "scatter_nd_update", "scatter_non_aliasing_add"]
IN_PLACE = ROWS + SLICES
OUT_OF_PLACE = [f"tensor_scatter_{step}" for step in STEPS]
NINE = (dt.bool_, dt.uint8, dt.int8, dt.int16, dt.int32, dt.int64, dt.float16, dt.float32, dt.float64)
POLICIES = ("mindspore", "mindspore2")


def is_scatter(name: str) -> bool:
    return name.startswith("Scatter")


def nd(name: str) -> bool:
    return "nd" in name or "aliasing" in name or name.startswith("tensor")


def indices_for(name: str, values: Any, dtype: str = "i4") -> Tensor:
    array = np.asarray(values, dtype)
    return Tensor(array[..., None] if nd(name) else array)


def full() -> bool:
    """Say whether every case of the long sweeps is to run."""
    return len(sample(range(2), 1)) == 2


# Recorded runs


def difference(case: recorded.Case) -> str | None:
    """Name the difference that a recorded case stands for."""
    if "int64 ind" in case.note and case.raises:
        return "int64-indices"
    if case.op == "ScatterNdUpdate" and case.version == "1.1.1":
        return {"full index dup": "nd-strides", "index out of range": "nd-range"}.get(case.note)
    return None


CASES = [(policy, case) for policy in POLICIES for case in recorded.cases(is_scatter, policy)]


@pytest.mark.parametrize(("policy", "case"), CASES, ids=str)
def test_recorded_case(policy: str, case: recorded.Case) -> None:
    name = difference(case)
    if name is not None:
        assert name in DIFFERENCES
        with pytest.raises(BaseException):  # noqa: B017, PT011  # whatever it is: the row does differ
            check_case(policy, case)
        return
    check_case(policy, case)


def check_case(policy: str, case: recorded.Case) -> None:
    forms = ["function", "class", "jitted class"] if "duplicates" in case.note else ["function", "class"]
    for form in FORMS if full() else forms:
        operands = [recorded.operand(entry) for entry in case.inputs]
        if case.raises is not None:
            kind = recorded.error_class(case.note)
            before = bits(operands)
            if kind is IndexBoundsError and form.startswith("jitted"):
                continue  # unknown indices: dropped there, see below
            with pytest.raises(kind):
                recorded.run(case.op, case.attributes, operands, form, policy)
            assert bits(operands) == before
            continue
        returned = recorded.run(case.op, case.attributes, operands, form, policy)
        for operand, after in zip(operands, case.after):
            assert_close(operand.asnumpy(), recorded.array(after))
        if case.outputs is not None:
            assert_close(returned.asnumpy(), recorded.array(case.outputs[0]))


FEW = {"bad_upd_shape", "oor", "oor_far", "neg", "neg_far", "mixed_oor", "div0"}
F_ERRORS = recorded.load("F_scatter_indices.errors.json")
F_ROWS = [
    row[0:2] for row in recorded.load("F_scatter_indices.jsonl")
    if isinstance(row, list) and row[0][0].startswith("Scatter")
]  # fmt: skip


def cell_of(cells: dict[str, str], policy: str) -> str | None:
    """Pick the outcome that counts: of 1.1.1 where it ran or refused, else of 2.10.0."""
    by_run = {run: cell for cell, runs in cells.items() for run in runs.split()}
    own = by_run.get("1.1.1p", "~") if policy == "mindspore" else "~"
    cell = own if not own.startswith(("~", "CRASH")) else by_run.get("2.10.0p", "~")
    return None if cell.startswith(("~", "CRASH")) else cell


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("op", sorted({row[0][0] for row in F_ROWS}))
def test_recorded_indices(policy: str, op: str) -> None:
    checked = 0
    for (name, dtype, tag, indices, updates), cells in F_ROWS:
        cell = cell_of(cells, policy)
        if name != op or cell is None:
            continue
        start = [[1, 2], [3, 4], [5, 6]] if tag == "rows" else [1, 2, 3, 4]
        shape = (0, 1) if "Nd" in name and not indices else np.shape(indices)
        given = (np.reshape(np.array(indices, "i4"), shape), np.array(updates, dtype))
        p = Parameter(Tensor(np.array(start, dtype)), name="x")
        if name == "ScatterNdUpdate" and tag in ("oor", "mixed_oor") and not cell.startswith("!"):
            cell = "!range"  # the difference nd-range
        if tag == "div0" and name == "ScatterDiv":
            expected = ops.real_div(Tensor(np.array([2], dtype)), Tensor(np.array([0], dtype))).asnumpy()[0]
            cell = f"ok {dtype}(4):" + str([1, expected, 3, 4])  # the difference zero-divisor
        check_indices(op, p, given, cell, policy)
        checked += 1
    assert checked > 10 or op == "ScatterNonAliasingAdd"


def check_indices(op: str, p: Parameter, given: Any, cell: str, policy: str) -> None:
    before = p.asnumpy()
    if cell.startswith("!"):
        text = "index out of range" if cell == "!range" else F_ERRORS[int(cell[1:].split()[0])]
        with pytest.raises(recorded.error_class(text)):
            recorded.run(op, {}, [p, *map(Tensor, given)], "function", policy)
        assert p.asnumpy().tobytes() == before.tobytes()
        return
    dtype, shape, values = re.fullmatch(r"ok (\w+)\(([\d,]+)\):(.*)", cell).groups()  # type: ignore[union-attr]
    recorded.run(op, {}, [p, *map(Tensor, given)], "function", policy)
    numbers = eval(values, {"inf": np.inf, "nan": np.nan, "np": np})
    assert_close(p.asnumpy(), np.array(numbers, dtype).reshape([int(n) for n in shape.split(",")]))


# dtype groups


def types_for(name: str, variable: dt.DType, updates: Any, index: dt.DType = dt.int32) -> list[Any]:
    """Make operands for inference: their types, and Python numbers."""
    given = abstract(updates, (1,)) if isinstance(updates, dt.DType) else updates
    return [abstract(variable, (3,)), abstract(index, (1, 1) if nd(name) else (1,)), given]


D_ERRORS = recorded.load("D_parameter.errors.json")


def wanted(cell: str) -> str:
    if not cell.startswith("!"):
        return "ok"
    text = D_ERRORS[int(cell[1:].split()[0])]
    return {ParameterCastError: "conv", ShapeError: "shape"}.get(recorded.error_class(text), "type")


@pytest.mark.parametrize(("policy", "run"), [("mindspore", "1.1.1g"), ("mindspore2", "2.10.0p")])
def test_recorded_dtype_tables(policy: str, run: str) -> None:
    tables, seen = recorded.load("D_parameter_tables.json"), set()
    for entry in tables["tables"]:
        for key in entry["runs"].get(run, []) if entry["case"] == "scatter" else []:
            class_name, index = key.split("/")
            if index == "int64" and all(cell.startswith("!") for cell in entry["table"][8]):
                continue  # the difference int64-indices
            op = CLASSES[class_name]
            seen.add(class_name)
            for variable, row in zip(tables["dtypes"], entry["table"]):
                for updates, cell in zip(tables["dtypes"], row):
                    if class_name == "ScatterNonAliasingAdd" and cell == "~?" and policy == "mindspore2":
                        continue  # inference undetermined: there is no kernel
                    operands = types_for(op.name, dt.as_dtype(_name(variable)), dt.as_dtype(_name(updates)))
                    found = recorded.outcome(op, operands, {}, policy)
                    assert found == wanted(cell), (class_name, variable, updates, cell)
    assert len(seen) == len(IN_PLACE)


def _name(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype


@pytest.mark.sweep(5)
@pytest.mark.parametrize("variable", NINE, ids=str)
@pytest.mark.parametrize("name", IN_PLACE)
def test_pairs_of_dtypes_run(name: str, variable: dt.DType) -> None:
    """What inference accepts runs, eagerly and jitted, in the Parameter's dtype; what it refuses changes nothing."""
    op = RECORDS[name]
    for updates in NINE:
        for form in ("function", "jitted class"):
            first = Parameter(Tensor(np.full(3, 3).astype(variable.numpy)), name="x")
            operands = [first, indices_for(name, [1]), Tensor(np.full(1, 2).astype(updates.numpy))]
            before = bits(operands)
            if recorded.outcome(op, types_for(name, variable, updates), {}, "mindspore") != "ok":
                with pytest.raises(TypeError):
                    recorded.run(op.class_name, {}, operands, form)
                assert bits(operands) == before
                continue
            recorded.run(op.class_name, {}, operands, form)
            value = np.full(1, 2).astype(updates.numpy).astype(variable.numpy)
            expected = op.reference(np.full(3, 3).astype(variable.numpy), operands[1].asnumpy(), value)
            assert operands[0].dtype is variable
            assert_close(operands[0].asnumpy(), expected)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", IN_PLACE)
def test_every_pair_follows_the_policy(name: str, policy: str) -> None:
    op, dialect = RECORDS[name], "2.x" if policy == "mindspore2" else "r1.1"
    for variable, updates in itertools.product(NINE, [*NINE, True, 2, 2.5]):
        result = tracejit.result_type(variable, updates, promotion=policy) if variable is not updates else variable
        accepted = variable in (op.accepted("T", dialect) or ())
        expected = "conv" if result is not variable else "ok" if accepted else "type"
        if expected == "ok" and not isinstance(updates, dt.DType):
            expected = "shape"  # a number has no axes
        assert recorded.outcome(op, types_for(name, variable, updates), {}, policy) == expected, (variable, updates)


@pytest.mark.parametrize("name", IN_PLACE + OUT_OF_PLACE)
def test_index_dtypes(name: str) -> None:
    op = RECORDS[name]
    for dtype in (*NINE, dt.uint16, dt.uint32, dt.uint64, dt.bfloat16):
        operands = types_for(name, dt.float32, dt.float32, dtype)
        wanted = "ok" if dtype in (dt.int32, dt.int64) else "type"
        assert recorded.outcome(op, operands, {}, "mindspore") == wanted
    for index in (1, True, 1.0):
        assert recorded.outcome(op, [operands[0], index, operands[2]], {}, "mindspore") == "type"


@pytest.mark.parametrize("pair", [("f4", "f2", "f4"), ("i4", "f4", "f4"), ("i1", "u1", "i2"), ("f2", "f4", "f4")])
@pytest.mark.parametrize("name", OUT_OF_PLACE)
def test_out_of_place_operands_promote_together(name: str, pair: tuple[str, str, str]) -> None:
    x, updates, result = pair
    given = Tensor(np.ones((3, 2), x)), Tensor(np.array([[1]], "i4")), Tensor(np.full((1, 2), 2, updates))
    out = getattr(ops, name)(*given)
    assert out.asnumpy().dtype == np.dtype(result)
    assert given[0].asnumpy().dtype == np.dtype(x)
    assert jit(getattr(ops, name))(*given).asnumpy().tobytes() == out.asnumpy().tobytes()


def test_use_locking_defaults() -> None:
    defaults = {"update": (True, True), "max": (True, False)}
    for step in STEPS:
        (attribute,) = RECORDS[f"scatter_{step}"].attributes
        found = tuple(RECORDS[f"scatter_{step}"].default(attribute, dialect) for dialect in ("r1.1", "2.x"))
        assert found == defaults.get(step, (False, False))
    with pytest.raises(TypeError, match="use_locking"):
        ops.ScatterAdd(use_locking=1)
    with pytest.raises(TypeError, match="use_locking"):
        ops.ScatterNonAliasingAdd(use_locking=False)


# Duplicates, order, bounds


def random_call(name: str, dtype: str, seed: int, bad: bool = False) -> list[np.ndarray]:
    """Make operands with many duplicates: (x, indices, updates)."""
    random = np.random.default_rng(seed)
    depth = 2 if nd(name) and seed % 2 else 1
    shape = [(5, 3, 2), (4, 3), (6,)][seed % 3] if depth == 1 or seed % 3 != 2 else (3, 3)
    leading = (2, 7) if seed % 2 else (11,)
    limits = np.array(shape[:depth])
    indices = random.integers(0, limits, (*leading, depth))
    if bad:
        wrong = random.choice([-1, -3, 7, 2**31 - 1, -(2**31)], indices.shape)
        indices = np.where(random.random(indices.shape) < 0.4, wrong, indices)
    values = [random.integers(-9, 9, shape), random.integers(-3, 4, (*leading, *shape[depth:]))]
    if np.dtype(dtype).kind == "f":
        values = [random.standard_normal(value.shape) for value in values]
    indices = indices.astype("i8" if seed % 3 else "i4")
    return [values[0].astype(dtype), indices if nd(name) else indices[..., 0], values[1].astype(dtype)]


def kept(x: np.ndarray, indices: np.ndarray, updates: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Leave out the bad indices and their updates."""
    depth = indices.shape[-1] if nd(name) else 1
    coordinates = indices.reshape(-1, depth)
    good = np.all((coordinates >= 0) & (coordinates < np.array(x.shape[:depth])), axis=1)
    given = coordinates[good] if nd(name) else coordinates[good][:, 0]
    return given, updates.reshape(len(coordinates), *x.shape[depth:])[good]


def call(name: str, operands: list[np.ndarray], form: str) -> np.ndarray:
    """Run an operator and return the new value, of the Parameter or of the result."""
    x, indices, updates = operands
    first = Parameter(Tensor(x), name="x") if name in IN_PLACE else Tensor(x)
    returned = recorded.run(RECORDS[name].class_name, {}, [first, Tensor(indices), Tensor(updates)], form)
    if name in IN_PLACE and form == "function":
        assert returned is first
    value = first.asnumpy() if name in IN_PLACE else returned.asnumpy()
    np.testing.assert_array_equal(returned.asnumpy(), value)
    return value


DTYPES_OF = {"scatter_non_aliasing_add": ("float16", "float32", "int32")}


@pytest.mark.parametrize("name", IN_PLACE + OUT_OF_PLACE)
def test_duplicates_are_applied_in_order(name: str, elsewhere: str) -> None:
    dtypes = DTYPES_OF.get(name, ("float32", "int8", "float16", "int64", "uint8", "float64"))
    for seed, dtype in enumerate(dtypes if full() else dtypes[:1] if elsewhere == "other" else dtypes[:3]):
        operands = random_call(name, dtype, seed)
        with np.errstate(all="ignore"):
            expected = RECORDS[name].reference(*operands)
        eager = call(name, operands, "function")
        assert_close(eager, expected, 1e-14 if dtype == "float64" else None)
        assert call(name, operands, "function").tobytes() == eager.tobytes()
        if dtype == "float32" or full():
            assert call(name, operands, "jitted function").tobytes() == eager.tobytes()


@pytest.fixture(params=["cpu", "other"])
def elsewhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test with the program for the CPU, and with the one for other devices."""
    if request.param == "other":
        from tracejit import eager

        monkeypatch.setattr(lax, "platform_dependent", lambda *args, default, cpu: default(*args))
        monkeypatch.setattr(eager, "_programs", type(eager._programs)(64))
    return request.param


@pytest.mark.parametrize("name", IN_PLACE + OUT_OF_PLACE)
def test_traced_bad_indices_are_left_out(name: str, elsewhere: str) -> None:
    dtypes = DTYPES_OF.get(name, ("float32", "int16", "float16"))
    for seed, dtype in enumerate(dtypes if full() else dtypes[:1]):
        operands = random_call(name, dtype, seed, bad=True)
        with np.errstate(all="ignore"):
            expected = RECORDS[name].reference(operands[0], *kept(*operands, name))
        assert_close(call(name, operands, "jitted function"), expected)


@pytest.mark.parametrize("name", IN_PLACE + OUT_OF_PLACE)
def test_bad_indices_raise_in_eager_calls(name: str) -> None:
    x = np.arange(6, dtype="f4").reshape(3, 2)
    first = Parameter(Tensor(x), name="x") if name in IN_PLACE else Tensor(x)
    checked = jit(lambda i, u: getattr(ops, name)(first, i, u), check_indices=True)
    for bad in (-1, 3, -4, 2**31 - 1, -(2**31)):
        given = indices_for(name, [0, bad]), Tensor(np.ones((2, 2), "f4"))
        with pytest.raises(IndexBoundsError, match=f"{name}: index {bad} .* length 3"):
            getattr(ops, name)(first, *given)
        known = jit(lambda given=given: getattr(ops, name)(first, *given))  # captured: known while tracing
        with pytest.raises(IndexBoundsError, match=f"{name}: index {bad} "):
            known()
        with pytest.raises(IndexBoundsError, match=f"{name}: index {bad} "):
            checked(*given)
        with tracejit.check_indices(True), pytest.raises(IndexBoundsError):
            getattr(ops, name)(first, *given)
        assert first.asnumpy().tobytes() == x.tobytes()
    with tracejit.check_indices(False):
        result = getattr(ops, name)(first, *given)
    assert result.asnumpy()[1:].tobytes() == x[1:].tobytes()


def test_each_coordinate_is_checked() -> None:
    p = Parameter(Tensor(np.zeros((3, 2), "f4")))
    for bad in ([0, 2], [3, 0], [0, -1]):  # [0, 2] is a valid flat offset, which MindSpore's kernel writes
        with pytest.raises(IndexBoundsError):
            ops.scatter_nd_update(p, Tensor(np.array([bad], "i4")), Tensor(np.ones(1, "f4")))
    jit(ops.scatter_nd_update)(p, Tensor(np.array([[0, 2], [2, 1]], "i4")), Tensor(np.ones(2, "f4")))
    assert p.asnumpy().tolist() == [[0, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize("name", ["scatter_add", "scatter_sub", "scatter_mul", "scatter_update", "tensor_scatter_add"])
def test_many_duplicates_keep_their_order_bit_for_bit(name: str) -> None:
    random = np.random.default_rng(1)
    x, updates = random.uniform(0.9, 1.1, (2, 3)).astype("f4"), random.uniform(0.9, 1.1, (5000, 3)).astype("f4")
    indices = random.integers(0, 2, 5000).astype("i4")
    if name.startswith("tensor"):
        indices = indices[:, None]
    expected = RECORDS[name].reference(x, indices, updates)
    assert call(name, [x, indices, updates], "function").tobytes() == expected.tobytes()
    assert call(name, [x, indices, updates], "jitted function").tobytes() == expected.tobytes()


def test_division_of_integers_truncates_at_each_step() -> None:
    p = Parameter(Tensor(np.array([-7, 100, 5, -128], "i1")))
    ops.scatter_div(p, Tensor(np.array([0, 0, 1, 1, 2, 3], "i4")), Tensor(np.array([2, 2, 7, 3, 0, -1], "i1")))
    assert p.asnumpy().tolist() == [-1, 4, 127, -128]


@pytest.mark.parametrize(("kind", "expected"), [("max", [np.nan, 2, np.nan, 4]), ("min", [1, np.nan, 3, 4])])
def test_nan_follows_mindspore_comparison(kind: str, expected: list[float]) -> None:
    x = np.array([1, np.nan, 3, 4], "f4")
    indices, updates = np.array([0, 1, 2, 2, 3, 3]), np.array([np.nan, 2, 9, np.nan, np.nan, 4], "f4")
    if kind == "min":
        updates = np.array([np.nan, 2, 9, np.nan, np.nan, 9], "f4")
    for name in (f"scatter_{kind}", f"tensor_scatter_{kind}"):
        given = indices[:, None] if name.startswith("tensor") else indices
        for form in ("function", "jitted function"):
            np.testing.assert_array_equal(call(name, [x, given, updates], form), np.float32(expected))


# In place


def lowered(function: Callable[..., Any], *args: Any) -> str:
    return jit(function).trace(*args).lower().compile().as_text()


@pytest.mark.parametrize("name", IN_PLACE)
def test_the_table_is_updated_in_place(name: str) -> None:
    p = Parameter(Tensor(np.zeros((50021, 8), "f4")), name="x")

    def write(i: Tensor, u: Tensor) -> None:
        getattr(ops, name)(p, i, u)

    text = lowered(
        write,
        indices_for(name, np.arange(64)),
        Tensor(np.ones((64, 8), "f4")),
    )
    assert re.search(r"input_output_alias=\{ \{0?\}: \(", text)
    made = re.findall(r"= f32\[50021,8\]\{1,0\} (\S+)\(", text)
    assert set(made) <= {
        "parameter",
        "get-tuple-element",
        "scatter",
        "fusion",
        "dynamic-update-slice",
        "call",
        "while",
        "bitcast",
    }
    assert "copy" not in made


# Gradients


def numeric(f: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    result, step = np.zeros_like(x), 1e-6
    for at in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[at] += step
        down[at] -= step
        result[at] = (f(up) - f(down)) / (2 * step)
    return result


@pytest.mark.parametrize("step", STEPS)
def test_gradients_agree_with_the_value(step: str) -> None:
    random = np.random.default_rng(3)
    x, updates = random.uniform(0.5, 2, (4, 2)), random.uniform(0.5, 2, (6, 2))
    indices, weights = Tensor(np.array([[1], [0], [1], [3], [1], [9]], "i4")), random.standard_normal((4, 2))
    function = getattr(ops, f"tensor_scatter_{step}")

    def value(x: Any, updates: Any) -> Any:
        with tracejit.check_indices(False):
            out = function(Tensor(x), indices, Tensor(updates))
        return ops.reduce_sum(out * Tensor(weights)).value()

    with jax.enable_x64(True):
        gradients = jax.grad(value, (0, 1))(x, updates)
        _, forward = jax.jvp(value, (x, updates), (np.ones_like(x), np.ones_like(updates)))
    for_x = numeric(lambda given: float(value(given, updates)), x)
    for_updates = numeric(lambda given: float(value(x, given)), updates)
    np.testing.assert_allclose(gradients[0], for_x, 1e-6, 1e-6)
    np.testing.assert_allclose(gradients[1], for_updates, 1e-6, 1e-6)
    np.testing.assert_allclose(forward, for_x.sum() + for_updates.sum(), 1e-6)


def test_special_gradients() -> None:
    def gradient(name: str, x: list[float], updates: list[float]) -> list[list[float]]:
        def value(x: Any, u: Any) -> Any:
            indices = Tensor(np.zeros((len(updates), 1), "i4"))
            return ops.reduce_sum(getattr(ops, name)(Tensor(x), indices, Tensor(u))).value()

        found = jax.grad(value, (0, 1))(np.float32(x), np.float32(updates))
        return [part.tolist() for part in found]

    assert gradient("tensor_scatter_update", [5.0], [7.0, 9.0]) == [[0], [0, 1]]  # the last wins, in both
    assert gradient("tensor_scatter_mul", [3.0], [2.0, 0.0]) == [[0], [0, 6]]
    assert gradient("tensor_scatter_mul", [3.0], [0.0, 0.0]) == [[0], [0, 0]]
    assert gradient("tensor_scatter_max", [1.0], [1.0, 0.0]) == [[0.5], [0.5, 0]]


@pytest.mark.parametrize("step", STEPS)
def test_under_jax_transformations_of_32_bits(step: str) -> None:
    function = getattr(ops, f"tensor_scatter_{step}")
    x, indices = np.arange(1, 7, dtype="f4").reshape(3, 2), np.array([[0], [2], [0], [5]], "i4")
    updates = np.arange(2, 10, dtype="f4").reshape(4, 2)
    expected = RECORDS[function.__name__].reference(x, indices[:3], updates[:3])

    def run(x: Any, indices: Any, updates: Any) -> Any:
        return function(Tensor(x), Tensor(indices), Tensor(updates)).value()

    assert not jax.config.jax_enable_x64
    assert_close(jax.jit(run)(x, indices, updates), expected)
    batched = jax.vmap(run)(np.stack([x, x]), np.stack([indices, indices]), np.stack([updates, updates]))
    assert_close(batched, np.stack([expected, expected]))


# Errors


@pytest.mark.parametrize("name", IN_PLACE)
def test_an_error_later_in_the_function_leaves_the_parameter(name: str) -> None:
    p = Parameter(Tensor(np.arange(6, dtype="f4").reshape(3, 2)), name="x")
    before = p.asnumpy()
    updates = Tensor(np.ones((2, 2), "f4"))

    @jit
    def fails(indices: Any, updates: Any) -> None:
        getattr(ops, name)(p, indices, updates)
        raise ZeroDivisionError

    @jit(check_indices=True)
    def reads_badly(indices: Any, updates: Any) -> Any:
        getattr(ops, name)(p, indices, updates)
        return ops.gather(updates, indices.reshape((-1,)) + 5, 0)

    with pytest.raises(ZeroDivisionError):
        fails(indices_for(name, [0, 1]), updates)
    with pytest.raises(IndexBoundsError, match="gather"):
        reads_badly(indices_for(name, [0, 1]), updates)
    assert p.asnumpy().tobytes() == before.tobytes()


@pytest.mark.parametrize("name", IN_PLACE)
def test_a_tensor_cannot_be_written(name: str) -> None:
    for form in FORMS:
        given = [Tensor(np.zeros(3, "f4")), indices_for(name, [0]), Tensor(np.ones(1, "f4"))]
        with pytest.raises(TypeError, match=f"tensor_scatter_{name.rpartition('_')[2]}"):
            recorded.run(RECORDS[name].class_name, {}, given, form)


def test_messages() -> None:
    p = Parameter(Tensor(np.zeros((3, 2), "f4")), name="table")
    indices = Tensor(np.array([0, 1], "i4"))
    with pytest.raises(ShapeError, match=r"updates has the shape \[2\], and \[2, 2\] is needed") as caught:
        ops.scatter_add(p, indices, Tensor(np.zeros(2, "f4")))
    assert "indices.shape + input_x.shape[1:]" in str(caught.value)
    assert "input_x: f32[3,2], indices: i32[2], updates: f32[2]" in str(caught.value)
    with pytest.raises(ParameterCastError, match="'table' of float32, which the conversion to float64"):
        ops.ScatterUpdate()(p, indices, Tensor(np.zeros((2, 2), "f8")))
    with pytest.raises(DTypeError, match="indices must be an int32 or int64 tensor"):
        ops.scatter_max(p, Tensor(np.array([0.0])), Tensor(np.zeros((1, 2), "f4")))
    with pytest.raises(ShapeError, match="do not hold coordinates"):
        ops.scatter_nd_add(p, indices, Tensor(np.zeros((2, 2), "f4")))
    with promotion("mindspore2"), pytest.raises(ParameterCastError):
        ops.scatter_add(p, indices, Tensor(np.zeros((2, 2), "f8")))
