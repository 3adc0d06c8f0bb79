"""What `tests/test_devices.py` runs in a process that has eight devices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

import tracejit
from tests.example_models import NAMES, make
from tracejit import Generator, Parameter, Tensor, jit, load, load_parameters, ops, save_parameters
from tracejit.errors import AttributeTypeError, ParameterError, PlacementError, StateError, StateLostError, TraceError

P = PartitionSpec
MESH = jax.make_mesh((4, 2), ("data", "model"))  # its axes are Explicit, as JAX makes them
ROWS, COLUMNS, WHOLE = (NamedSharding(MESH, spec) for spec in (P("data"), P(None, "model"), P()))


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def spec(x: Any) -> tuple[Any, ...]:
    return tuple(x.sharding.spec)


def weights(place: Any = COLUMNS) -> Parameter:
    return Parameter(ones(16, 4), name="w").to(place)


def make_step(w: Parameter) -> Any:
    @jit
    def step(x: Tensor) -> Tensor:
        y = x @ w
        ops.assign_sub(w, 0.01 * (x.T @ y))
        return y.sum()

    return step


def programs(step: Any) -> list[Any]:
    """Return the compiled programs of a jitted function."""
    return [plan.program for entry in step._entries.values() for plan in entry.plans.values()]


def compilations(step: Any) -> int:
    """Count the programs that JAX has compiled for a jitted function."""
    return sum(variant._cache_size() for program in programs(step) for variant in program._variants.values())


# Placing


def test_a_tensor_goes_to_a_device_or_a_sharding():
    x = Tensor(ones(8, 2))
    there = x.to(jax.devices()[3])
    assert there.sharding.device_set == {jax.devices()[3]} == x.to("cpu:3").sharding.device_set
    assert x.sharding.device_set == {jax.devices()[0]}
    spread = x.to(ROWS)
    assert spec(spread) == ("data", None)
    assert spread.asnumpy().tolist() == x.asnumpy().tolist()
    assert (spread + 1).sharding == spread.sharding
    assert spread.to("float16").dtype is tracejit.float16
    assert spread.to(spread.sharding)._data is not None


def test_a_parameter_goes_itself():
    w = Parameter(ones(16, 4), name="w")
    assert w.to(COLUMNS) is w
    assert spec(w) == (None, "model") and w.sharding.mesh.axis_types == (jax.sharding.AxisType.Auto,) * 2
    assert {shard.data.shape for shard in w._data.addressable_shards} == {(16, 2)}
    assert w.asnumpy().tolist() == ones(16, 4).tolist()


def test_a_parameter_made_of_a_spread_array_keeps_its_place():
    array = jax.device_put(ones(16, 4), COLUMNS)
    w = Parameter(array)
    assert spec(w) == (None, "model")
    w += 1.0
    assert spec(w) == (None, "model") and np.asarray(array).tolist() == ones(16, 4).tolist()


def test_arrays_over_explicit_axes_are_taken():
    array = jax.device_put(ones(8, 16), ROWS)
    w = weights()
    product = jit(lambda x: (x.T @ x) @ w)
    for given in (array, Tensor(array)):
        assert product(given).tolist() == (8 * 16 * ones(16, 4)).tolist()
    assert (Tensor(array) + 1.0).tolist() == (2 * ones(8, 16)).tolist()
    mine, theirs = (
        [s.data.unsafe_buffer_pointer() for s in x.addressable_shards] for x in (Tensor(array).value(), array)
    )
    assert mine == theirs  # nothing was copied


@pytest.mark.parametrize(
    ("act", "error", "named"),
    [
        (lambda: Tensor(ones(6, 2)).to(ROWS), PlacementError, r"axis 0 of the shape \[6, 2\] cannot be cut into 4"),
        (lambda: Tensor(1.0).to(ROWS), PlacementError, r"more axes than an array of the shape \[\]"),
        (lambda: Tensor(1.0).to("cpu:8"), PlacementError, "there is no device 'cpu:8'"),
        (lambda: Tensor(1.0).to("tpu"), PlacementError, "there is no device 'tpu'"),
        (lambda: Tensor(1.0).to(8), AttributeTypeError, "8 .*is no place for an array"),
        (lambda: weights().to("float16"), ParameterError, "the dtype of Parameter 'w' never changes"),
        (lambda: jit(lambda x: x.to("cpu:1"))(1.0), TraceError, "place arguments and Parameters outside"),
        (lambda: Tensor([1.0]).to("cpu:1") + Tensor([1.0]).to("cpu:2"), PlacementError, "input_x is on cpu:1; input_y"),
        (lambda: make_step(weights("cpu:3"))(Tensor(ones(8, 16)).to(ROWS)), PlacementError, r"x is on .*; w is on cpu"),
        (lambda: ops.assign_add(weights("cpu:3"), Tensor(ones(16, 4)).to("cpu:1")), PlacementError, "variable is on"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(act: Callable[[], Any], error: type[Exception], named: str):
    with pytest.raises(error, match=named):
        act()


# Parameters of a program


def test_a_written_parameter_keeps_its_place_and_the_program():
    w, x = weights(), Tensor(ones(8, 16)).to(ROWS)
    step, alone = make_step(w), Parameter(ones(16, 4), name="alone")
    expected = make_step(alone)
    for _ in range(4):
        np.testing.assert_allclose(step(x).item(), expected(Tensor(ones(8, 16))).item(), rtol=1e-5)
        assert spec(w) == (None, "model")
    np.testing.assert_allclose(w.asnumpy(), alone.asnumpy(), rtol=1e-5)
    assert (step.cache_info().traces, compilations(step)) == (1, 1)


def test_old_buffers_are_given_to_the_program():
    w, x = weights(), Tensor(ones(8, 16)).to(ROWS)
    step = make_step(w)
    step(x)
    buffer = w._data
    step(x)
    assert buffer.is_deleted()


def test_another_place_makes_another_program_without_another_trace():
    w, x = weights(), Tensor(ones(8, 16)).to(ROWS)
    step = make_step(w)
    step(x)
    for place, expected in ((NamedSharding(MESH, P("data", "model")), ("data", "model")), (WHOLE, (None, None))):
        w.to(place)
        for _ in range(2):
            step(x)
            assert spec(w) == expected
    assert (step.cache_info().traces, compilations(step)) == (1, 3)
    w.to(COLUMNS)
    step(x)
    assert (spec(w), compilations(step)) == ((None, "model"), 3)


def test_what_was_never_placed_goes_to_where_the_others_are():
    w, bias, x = weights(), Parameter(np.zeros(4, np.float32), name="bias"), Tensor(ones(8, 16)).to(ROWS)

    @jit
    def step(x: Tensor) -> Tensor:
        y = x @ w + bias
        ops.assign_add(bias, y.mean(axis=0))
        return y.sum()

    for _ in range(3):
        step(x)
        assert spec(bias) == (None,) and len(bias.sharding.device_set) == 8
    assert compilations(step) == 1
    np.testing.assert_allclose(bias.asnumpy(), [16 * 7] * 4)


def test_two_functions_that_write_one_parameter():
    w, x = weights(), Tensor(ones(8, 16)).to(ROWS)
    first, second = make_step(w), make_step(w)
    for _ in range(3):
        first(x)
        second(x)
    assert (compilations(first), compilations(second)) == (1, 1)


def test_operators_on_their_own_keep_places():
    w = weights()
    w += 1.0
    ops.assign(w, Tensor(ones(16, 4)))
    ops.scatter_add(w, Tensor([0]), Tensor(ones(1, 4)))
    assert spec(w) == (None, "model")
    other = Parameter(ones(16, 4), name="other")
    other += 1.0
    assert len(other.sharding.device_set) == 1
    assert w[0].tolist() == [2, 2, 2, 2]


def test_new_values_from_outside_keep_places(tmp_path: Path):
    w = weights()
    w.set_data(Tensor(np.full((16, 4), 2, np.float32)))
    assert spec(w) == (None, "model")
    w.set_data(Tensor(np.full((16, 4), 3, np.float32)).to("cpu:5"))
    assert spec(w) == (None, "model")
    save_parameters(tmp_path / "w", [w])
    rows = weights(ROWS)
    load_parameters(tmp_path / "w", [rows])
    assert spec(rows) == ("data", None) and rows.asnumpy().tolist() == w.asnumpy().tolist()
    alone = Parameter(ones(16, 4), name="w")
    load_parameters(tmp_path / "w", [alone])
    alone += 1.0
    assert alone.sharding.device_set == {jax.devices()[0]}
    assert make_step(alone)(Tensor(ones(8, 16)).to(ROWS)).item() == 8 * 16 * 4 * 4  # it was never placed


def test_random_numbers_are_the_same_on_all_devices():
    def draw(place: Any) -> tuple[list[Any], np.ndarray]:
        generator = Generator(3)
        if place is not None:
            generator.to(place)
        drawn = jit(
            lambda x: (ops.randint(0, 2**30, (8, 4), generator) + x, x * ops.standard_normal((8, 4), generator))
        )
        x = Tensor(np.ones((8, 4), np.int32))
        whole, floats = zip(*[drawn(x if place is None else x.to(ROWS)) for _ in range(2)])
        return [y.asnumpy().tolist() for y in whole], np.stack([y.asnumpy() for y in floats])

    (integers, normals), (spread_integers, spread_normals) = draw(None), draw(WHOLE)
    assert integers == spread_integers
    np.testing.assert_allclose(normals, spread_normals, rtol=1e-6)  # XLA may round another way where arrays are cut up


def test_a_failed_first_run_leaves_everything_in_its_place(monkeypatch: pytest.MonkeyPatch):
    w, x = weights(), Tensor(ones(8, 16)).to(ROWS)
    step = make_step(w)
    step.trace(x)
    traced = step.trace(x).lower()._plan.program

    def fails(inputs: Any, written: Any, read: Any) -> Any:
        for array in written:
            array.delete()
        raise RuntimeError("RESOURCE_EXHAUSTED: out of memory")

    kind = type(traced)
    monkeypatch.setattr(kind, "_keep", lambda self, shardings: setattr(self, "compiled", fails))
    with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED"):
        step(x)
    monkeypatch.undo()
    assert spec(w) == (None, "model") and w.asnumpy().tolist() == ones(16, 4).tolist()
    (program,) = programs(step)
    program.arranged_at = program.compiled = None
    program.compiled = program._variants[None]
    assert step(x).item() == 8 * 16 * 4
    program.compiled = fails
    with pytest.raises(StateLostError, match="the buffers of w"):
        step(x)
    w.set_data(Tensor(ones(16, 4)).to(COLUMNS))


# Arguments and results


def test_arguments_and_results_have_places():
    w = weights()

    @jit(in_shardings=(ROWS, None), out_shardings={"y": NamedSharding(MESH, P("data", "model")), "loss": WHOLE})
    def step(x: Tensor, rate: float) -> dict[str, Tensor]:
        y = x @ w
        ops.assign_sub(w, rate * (x.T @ y))
        return {"y": y, "loss": y.sum()}

    for x in (Tensor(ones(8, 16)), Tensor(ones(8, 16)).to(COLUMNS), Tensor(ones(8, 16)).to("cpu:2")):
        out = step(x, 0.0)
        assert spec(out["y"]) == ("data", "model") and out["loss"].sharding.is_fully_replicated
    assert compilations(step) == 1


def test_places_without_parameters_and_in_containers():
    @jit(in_shardings=ROWS, out_shardings=(None, COLUMNS))
    def pair(batch: dict[str, Tensor], other: Tensor) -> Any:
        return batch["a"] + other, batch["a"] * 2

    first, second = pair({"a": Tensor(ones(8, 4))}, ones(8, 4))
    assert spec(first) == ("data", None) and spec(second) == (None, "model")
    assert second.asnumpy().tolist() == (2 * ones(8, 4)).tolist()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"in_shardings": (ROWS, ROWS)}, "in_shardings is no prefix"),
        ({"out_shardings": [ROWS]}, "out_shardings is no prefix"),
        ({"in_shardings": (3,)}, "3 .*is no place"),
    ],
)
def test_places_that_do_not_fit(options: dict[str, Any], named: str):
    with pytest.raises(AttributeTypeError, match=named):
        jit(lambda x: x + 1, **options)(ones(8, 4))


def test_stages_compile_for_places():
    w, x = weights(), Tensor(ones(8, 16)).to(ROWS)
    step = make_step(w)
    compiled = step.trace(x).lower().compile()
    first = [compiled(x).item() for _ in range(3)]
    assert spec(w) == (None, "model") and first[0] == 8 * 16 * 4
    abstract = jax.ShapeDtypeStruct((8, 16), np.float32, sharding=x.sharding)
    assert step.trace(abstract).lower().compile()(x).item() < first[-1]
    with pytest.raises(PlacementError, match="x is on cpu:2"):
        compiled(Tensor(ones(8, 16)).to("cpu:2"))


def test_what_was_spread_is_saved_as_a_program_for_one_device(tmp_path: Path):
    w, x = weights(), Tensor(ones(8, 16)).to(ROWS)
    step = make_step(w)
    step(x)
    step.export(x).save(tmp_path / "step")
    program = load(tmp_path / "step")
    np.testing.assert_allclose(program(ones(8, 16)).item(), step(x).item(), rtol=1e-6)


def test_programs_are_spread_too(tmp_path: Path):
    make_step(Parameter(ones(16, 4), name="w")).export(ones(8, 16)).save(tmp_path / "step")
    program = load(tmp_path / "step")
    program.parameters["w"].to(COLUMNS)
    x = Tensor(ones(8, 16)).to(ROWS)
    for _ in range(2):
        program(x)
        assert spec(program.parameters["w"]) == (None, "model")


# Inside the user's own shard_map


def test_inside_shard_map():
    w = Parameter(np.float32([1, 2, 3]), name="w")
    f = jit(lambda x: tracejit.fori_loop(0, 2, lambda i, c: c * w + i, x))
    a = np.arange(24, dtype=np.float32).reshape(8, 3)

    def local(part: Any) -> tuple[Any, Any]:
        y = f(Tensor(part)).value()
        return jax.lax.psum(y.sum(), "data"), y

    mapped = jax.shard_map(local, mesh=MESH, in_specs=P("data"), out_specs=(P(), P("data")))
    array, want = jax.device_put(a, ROWS), f(Tensor(a))
    with jax.set_mesh(MESH):
        for function in (mapped, jax.jit(mapped)):
            total, rows = function(array)
            np.testing.assert_allclose(rows, want.asnumpy(), rtol=1e-6)
            np.testing.assert_allclose(total, want.sum().item(), rtol=1e-6)
        with jax.check_tracer_leaks(False):  # it takes a gradient of JAX's own shard_map for a leak
            slope = jax.grad(lambda a: jax.jit(mapped)(a)[0])(array)
    np.testing.assert_allclose(slope, np.tile(np.float32([1, 4, 9]), (8, 1)), rtol=1e-6)


def test_writes_inside_shard_map_are_refused():
    w = Parameter(np.zeros(3, np.float32), name="w")
    write = jit(lambda x: ops.assign_add(w, x.sum(axis=0)))
    mapped = jax.shard_map(
        lambda a: write(Tensor(a)).value(), mesh=MESH, in_specs=P("data"), out_specs=P("data")
    )  # fmt: skip
    with pytest.raises(StateError, match="Parameter w would be written under a JAX transformation"):
        mapped(jax.device_put(ones(8, 3), ROWS))
    assert w.tolist() == [0, 0, 0]


# Training

ROUNDING = 1e-4


def losses(name: str, place: Callable[[str, Any], Any], rows: Any, steps: int = 50) -> list[float]:
    """Train an example model with its Parameters and batches in places."""
    model = make(name, "float32")  # rounding of float16 would grow to whatever size in 50 steps
    for label, parameter in model.parameters.items():
        where = place(label, parameter)
        if where is not None:
            parameter.to(where)
    found = [
        model.step(*[x if rows is None else x.to(rows) for x in map(Tensor, batch)]) for batch in model.batches(steps)
    ]
    assert model.step.cache_info().traces == 1
    if rows is not None:
        assert compilations(model.step) == 1
    return [loss.item() for loss in found]


def split(label: str, parameter: Parameter) -> NamedSharding:
    """Cut weights along the axis of outputs, as tensor parallelism does."""
    axes = [i for i, length in enumerate(parameter.shape) if length % 2 == 0 and parameter.ndim == 2]
    return NamedSharding(MESH, P(*["model" if i in axes[:1] else None for i in range(parameter.ndim)]))


@pytest.fixture(scope="module")
def alone() -> dict[str, list[float]]:
    return {name: losses(name, lambda label, parameter: None, None) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_data_parallel_training(name: str, alone: dict[str, list[float]]):
    everything = NamedSharding(MESH, P(("data", "model")))
    found = losses(name, lambda label, parameter: WHOLE, everything)
    np.testing.assert_allclose(found, alone[name], rtol=ROUNDING)
    assert found[-1] < found[0]


@pytest.mark.parametrize("name", ["mlp", "transformer"])
def test_data_and_tensor_parallel_training(name: str, alone: dict[str, list[float]]):
    np.testing.assert_allclose(losses(name, split, ROWS), alone[name], rtol=ROUNDING)
