"""Cells, layers, initial values and optimizers."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import Generator, Parameter, ParameterTuple, Tensor, jit, nn, ops, value_and_grad
from tracejit.errors import (
    AttributeTypeError,
    AttributeValueError,
    EscapedValueError,
    ParameterError,
    RetraceLimitError,
    ShapeError,
)


def tensor(values: Any, dtype: str = "f4") -> Tensor:
    return Tensor(np.array(values, dtype))


class Block(nn.Cell):
    def __init__(self, width: int = 2):
        super().__init__()
        self.dense = nn.Dense(width, width)
        self.scale = Parameter(np.ones(width, "f4"), requires_grad=False)

    def construct(self, x: Tensor) -> Tensor:
        return self.dense(x) * self.scale


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = Block()
        self.rest = nn.CellList([Block(), Block()])
        self.named = Parameter(np.zeros(2, "f4"), name="my_own")

    def construct(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for block in self.rest:
            x = block(x)
        return x + self.named


NAMES = [
    "named", "first.scale", "first.dense.weight", "first.dense.bias", "rest.0.scale", "rest.0.dense.weight",
    "rest.0.dense.bias", "rest.1.scale", "rest.1.dense.weight", "rest.1.dense.bias",
]  # fmt: skip


# What is inside


def test_parameters_have_the_names_of_their_attributes():
    net = Net()
    assert [name for name, _ in net.parameters_and_names()] == NAMES
    assert [p.name for p in net.get_parameters()] == ["my_own", *NAMES[1:]]
    assert list(net.parameters_dict()) == NAMES
    assert [p.name for p in net.get_parameters(expand=False)] == ["my_own"]


def test_trainable_and_untrainable():
    net = Net()
    assert len(net.trainable_params()) == 7 and len(net.untrainable_params()) == 3
    assert all(p.requires_grad for p in net.trainable_params())
    assert not any(p.requires_grad for p in net.untrainable_params())


def test_cells_and_names():
    names = [name for name, _ in Net().cells_and_names()]
    assert names == [
        "", "first", "first.dense", "rest", "rest.0", "rest.0.dense", "rest.1", "rest.1.dense",
    ]  # fmt: skip
    net = Net()
    assert list(net.name_cells()) == ["first", "rest"] and list(net.cells()) == [net.first, net.rest]


def test_a_shared_cell_is_found_once_and_named_for_its_first_place():
    class Twice(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a = nn.Dense(2, 2)
            self.b = self.a

    net = Twice()
    assert [p.name for p in net.get_parameters()] == ["a.weight", "a.bias"]
    assert [name for name, _ in net.cells_and_names()] == ["", "a"]


def test_a_list_that_is_attached_before_it_is_filled():
    class Late(nn.Cell):
        def __init__(self):
            super().__init__()
            self.layers = nn.CellList()
            for _ in range(2):
                self.layers.append(nn.Dense(2, 2, has_bias=False))

    outer = nn.SequentialCell(Late())
    assert [p.name for p in outer.get_parameters()] == ["0.layers.0.weight", "0.layers.1.weight"]


def test_cells_in_plain_lists_and_tuples_are_found():
    class Plain(nn.Cell):
        def __init__(self):
            super().__init__()
            self.items = [nn.Dense(2, 2, has_bias=False), "other", (nn.ReLU(),)]
            self.pair = (Parameter([1.0]), Parameter([2.0], name="b"))

    assert [p.name for p in Plain().get_parameters()] == ["items.0.weight", "pair.0", "b"]


def test_auto_prefix_off():
    class Bare(nn.Cell):
        def __init__(self):
            super().__init__(auto_prefix=False)
            self.dense = nn.Dense(2, 2, has_bias=False)

    assert [p.name for p in Bare().get_parameters()] == ["weight"]


def test_update_parameters_name_and_insertion():
    net = nn.Cell()
    net.insert_child_to_cell("dense", nn.Dense(2, 2, has_bias=False))
    net.insert_param_to_cell("w", Parameter([1.0]))
    net.update_parameters_name("model.")
    assert [p.name for p in net.get_parameters()] == ["model.w", "model.dense.weight"]


def test_flags_and_a_cell_without_init_called():
    assert nn.Cell(flags={"fast": True}).fast is True

    class Forgetful(nn.Cell):
        def __init__(self):
            self.w = Parameter([1.0])

    assert [p.name for p in Forgetful().get_parameters()] == ["w"]


def test_attributes_are_replaced_and_deleted():
    net = Net()
    old = net.first
    net.first = Block()
    assert net.first.dense.weight.name == "first.dense.weight"
    other = nn.Cell()
    other.moved = old  # free again, it takes the names of its new place
    assert old.dense.weight.name == "moved.dense.weight"
    del net.first
    assert "first" not in net.name_cells()
    with pytest.raises(AttributeError):
        _ = net.first


def test_writing_a_parameter_by_setting_its_attribute():
    net = Net()
    parameter = net.named
    net.named = tensor([1, 2])
    assert net.named is parameter and parameter.asnumpy().tolist() == [1, 2]
    net.named += 1.0
    assert net.named is parameter and parameter.asnumpy().tolist() == [2, 3]
    with pytest.raises(ParameterError, match=r"Net.named holds a Parameter and is set to 'x'"):
        net.named = "x"
    net.named = None
    assert net.named is None
    net.named = Parameter([5.0])
    assert net.named.name == "named"


def test_writing_an_attribute_while_traced():
    class Counter(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = Parameter(0)

        @jit
        def construct(self, x: Tensor) -> Tensor:
            self.count = self.count + 1
            return x + self.count

    cell = Counter()
    assert [cell(tensor(0)).item() for _ in range(3)] == [1, 2, 3]
    assert cell.count.item() == 3 and cell.construct.cache_info().traces == 1


def test_repr_shows_the_tree():
    assert repr(nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())) == (
        "SequentialCell(\n  (0): Dense(input_channels=2, output_channels=3, has_bias=True)\n  (1): ReLU()\n)"
    )
    layers = [nn.Conv2d(1, 2, 3), nn.LayerNorm([2]), nn.BatchNorm2d(2), nn.GroupNorm(1, 2), nn.Dropout(p=0.5)]
    for layer in [*layers, nn.Embedding(3, 2)]:
        assert repr(layer).startswith(f"{type(layer).__name__}(") and "=" in repr(layer)


def test_parameter_tuple():
    net = Net()
    weights = ParameterTuple(net.trainable_params())
    assert isinstance(weights, tuple) and len(weights) == 7
    moments = weights.clone("moments", "zeros")
    assert moments[1].name == "moments.first.dense.weight" and not moments[1].asnumpy().any()
    assert weights.clone("copy")[1].asnumpy().tolist() == weights[1].asnumpy().tolist()
    assert weights.clone("ones", "ones")[1].asnumpy().min() == 1
    with pytest.raises(AttributeValueError, match="init must be one of same, zeros, ones"):
        weights.clone("x", "random")
    with pytest.raises(ParameterError, match="item 1 is 3"):
        ParameterTuple([weights[0], 3])


def test_a_parameter_tuple_is_an_argument_of_a_jitted_function():
    weights = ParameterTuple([Parameter([1.0], name="a"), Parameter([2.0], name="b")])

    @jit
    def double(weights: ParameterTuple) -> tuple:
        for weight in weights:
            weight *= 2.0
        return tuple(weights)

    assert [t.item() for t in double(weights)] == [2, 4] and [p.item() for p in weights] == [2, 4]


def test_a_held_parameter_tuple_repeats_nothing():
    net = Net()
    net.all = ParameterTuple(net.trainable_params())
    assert [name for name, _ in net.parameters_and_names()] == NAMES


# Modes


def test_set_train_reaches_every_cell():
    net = Net()
    assert not net.training
    assert net.set_train() is net and all(cell.training for _, cell in net.cells_and_names())
    assert not any(cell.training for _, cell in net.set_train(False).cells_and_names())


def test_to_float_converts_what_is_given():
    net = nn.SequentialCell(nn.Dense(2, 2), nn.ReLU()).to_float(tracejit.float16)
    seen = []
    net[1].construct = lambda x: seen.append(x.dtype) or x
    net(tensor([[1.0, 2.0]]))
    assert seen == [tracejit.float16]
    with pytest.raises(AttributeTypeError, match="to_float takes a float dtype, got int32"):
        net.to_float(tracejit.int32)


# jit, and attributes that change


class Flagged(nn.Cell):
    def __init__(self):
        super().__init__()
        self.flag = True
        self.buffer = tensor([1.0])
        self.traces = []

    @jit
    def construct(self, x: Tensor) -> Tensor:
        self.traces.append(self.flag)
        return x + self.buffer if self.flag else x - self.buffer


def test_attributes_set_after_compilation_count():
    cell, x = Flagged(), tensor([0.0])
    results = [cell(x).item()]
    cell.flag = False
    results.append(cell(x).item())
    cell.buffer = tensor([7.0])
    results.append(cell(x).item())
    assert results == [1, -1, -7]


def test_a_flag_that_goes_back_needs_no_new_trace():
    cell, x = Flagged(), tensor([0.0])
    for flag in (True, False, True, False, False, True):
        cell.flag = flag
        assert cell(x).item() == (1 if flag else -1)
    assert len(cell.traces) == 2


def test_setting_an_equal_value_changes_nothing():
    cell, x = Flagged(), tensor([0.0])
    for _ in range(3):
        cell.flag = True
        cell.buffer = cell.buffer
        cell.set_train(False)
        cell(x)
    assert len(cell.traces) == 1


@pytest.mark.parametrize(("before", "after"), [(1, True), (1, 1.0), (0.0, -0.0), ("a", "b"), ((1, 2), (1, 2.0))])
def test_values_are_told_apart_with_their_types(before: Any, after: Any):
    cell = Flagged()
    cell.setting, traces = before, []
    f = jit(lambda x: (traces.append(repr(cell.setting)), cell(x))[1])
    f(tensor([0.0]))
    cell.setting = after
    f(tensor([0.0]))
    assert traces == [repr(before), repr(after)]


def test_a_cell_inside_counts_for_all_that_call_it():
    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = Flagged()

        def construct(self, x: Tensor) -> Tensor:
            return self.inner(x) * 10

    cell, x = Outer(), tensor([0.0])
    whole, function = jit(cell), jit(lambda x: cell(x) + 1)
    assert (whole(x).item(), function(x).item()) == (10, 11)
    cell.inner.flag = False
    assert (whole(x).item(), function(x).item()) == (-10, -9)
    cell.inner = Flagged()
    assert (whole(x).item(), function(x).item()) == (10, 11)
    del cell.inner.buffer
    with pytest.raises(AttributeError):
        whole(x)


def test_train_and_eval_mode_in_a_closure():
    layer = nn.SequentialCell(nn.Dropout(p=0.5, seed=1), nn.ReLU())
    predict, x = jit(lambda x: layer(x)), ops.ones((64,), "float32")
    assert predict(x).asnumpy().min() == 1
    layer.set_train()
    assert predict(x).asnumpy().min() == 0
    layer.set_train(False)
    assert predict(x).asnumpy().min() == 1
    assert predict.cache_info().traces == 2


def test_what_a_trace_sets_starts_no_new_one():
    class Counting(nn.Cell):
        def __init__(self):
            super().__init__()
            self.calls = 0

        @jit
        def construct(self, x: Tensor) -> Tensor:
            self.calls += 1
            self.last = x * 2
            return x + self.calls

    cell = Counting()
    assert [cell(tensor(1.0)).item() for _ in range(3)] == [2, 2, 2]
    assert cell.calls == 1
    with pytest.raises(EscapedValueError, match="escaped from jit"):
        _ = cell.last + 1


def test_two_functions_that_set_the_mode_themselves():
    layer = nn.Dropout(p=0.5, seed=1)
    train, evaluate = jit(lambda x: layer.set_train()(x)), jit(lambda x: layer.set_train(False)(x))
    x = ops.ones((64,), "float32")
    for _ in range(3):
        assert train(x).asnumpy().min() == 0 and evaluate(x).asnumpy().min() == 1
    assert (train.cache_info().traces, evaluate.cache_info().traces) == (1, 1)


def test_the_reason_of_a_new_trace_is_told():
    cell, x = Flagged(), tensor([0.0])
    cell(x)
    cell.flag = False
    cell(x)
    assert "attribute Flagged.flag: True became False" in cell.construct.explain_retraces()


def test_max_traces_counts_attributes():
    cell = Flagged()
    f = jit(lambda x: cell(x), max_traces=1)
    f(tensor([0.0]))
    cell.flag = False
    with pytest.raises(RetraceLimitError, match=r"attribute Flagged.flag: True became False"):
        f(tensor([0.0]))


def test_old_attribute_values_are_forgotten():
    cell, x = Flagged(), tensor([0.0])
    f = jit(lambda x: cell(x))

    def call_often() -> None:
        for i in range(40):
            cell.flag = i
            f(x)

    with pytest.warns(tracejit.errors.RetraceWarning):
        call_often()
    assert f.cache_info().entries <= 17


def test_each_instance_has_traces_of_its_own_and_is_not_kept_alive():
    first, second = Flagged(), Flagged()
    second.flag = False
    x = tensor([0.0])
    assert (first(x).item(), second(x).item()) == (1, -1)
    first.flag = False
    assert first(x).item() == -1 and len(second.traces) == 1
    reference = weakref.ref(first)
    del first
    gc.collect()
    assert reference() is None


def test_a_jitted_closure_survives_the_death_of_a_cell_that_it_called():
    cells = [Flagged()]
    f = jit(lambda x: cells[0](x))
    f(tensor([0.0]))
    cells[0] = Flagged()
    gc.collect()
    assert f(tensor([0.0])).item() == 1


def test_jit_of_a_whole_cell_shows_its_arguments():
    net = nn.Dense(2, 1, has_bias=False)
    graph = jit(net).trace(tensor([[1.0, 2.0]])).graph
    assert graph.name == "Dense" and [v.name for v in graph.inputs] == ["x"] and graph.state[0].name == "weight"
    assert jit(net, static_argnames="x") is not None


def test_a_cell_under_jax_transformations():
    import jax
    import jax.numpy as jnp

    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    gradient = jax.grad(lambda x: jit(net)(x).value().sum())(jnp.ones((1, 2)))
    assert gradient.tolist() == [[1, 1]]


def test_a_cell_is_copied_and_pickled():
    net = Net()
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert [p.name for p in twin.get_parameters()] == ["my_own", *NAMES[1:]]
        x = tensor([[1.0, 2.0]])
        assert twin(x).tolist() == net(x).tolist()
        ops.assign_add(twin.named, tensor([1, 1]))
        assert net.named.asnumpy().tolist() == [0, 0]
        other = nn.Cell()
        other.net = twin
        assert twin.first.scale.name == "net.first.scale"


def test_a_copy_is_watched_on_its_own():
    cell = Flagged()
    twin = copy.deepcopy(cell)
    f, x = jit(lambda x: twin(x)), tensor([0.0])
    f(x)
    cell.flag = False
    assert f(x).item() == 1
    twin.flag = False
    assert f(x).item() == -1


def test_errors_inside_a_cell_end_at_the_users_line():
    net = nn.Dense(2, 2)
    with pytest.raises(ShapeError) as caught:
        net(tensor([[1.0, 2.0, 3.0]]))
    assert not any("tracejit/" in str(entry.path) for entry in caught.traceback)
    with pytest.raises(NotImplementedError, match="Cell defines no construct"):
        nn.Cell()(1)


# Containers


def test_sequential_cell():
    cells = [nn.Dense(2, 3), nn.ReLU(), nn.Dense(3, 1)]
    net = nn.SequentialCell(*cells)
    assert len(net) == 3 and list(net) == cells and net[1] is cells[1] and net[-1] is cells[2]
    assert list(net[:2]) == cells[:2] and isinstance(net[:2], nn.SequentialCell)
    x = tensor([[1.0, 2.0]])
    assert net(x).tolist() == cells[2](cells[1](cells[0](x))).tolist()
    assert list(nn.SequentialCell(cells)) == cells
    named = nn.SequentialCell({"a": nn.Dense(2, 2, has_bias=False), "b": nn.ReLU()})
    assert list(named.parameters_dict()) == ["a.weight"]


def test_containers_change():
    net = nn.SequentialCell(nn.Dense(2, 2, has_bias=False), nn.ReLU())
    net.append(nn.Dense(2, 2, has_bias=False)).insert(0, nn.Flatten())
    assert [type(cell).__name__ for cell in net] == ["Flatten", "Dense", "ReLU", "Dense"]
    assert [p.name for p in net.get_parameters()] == ["1.weight", "3.weight"]
    net[2] = nn.Tanh()
    del net[0]
    assert [type(cell).__name__ for cell in net] == ["Dense", "Tanh", "Dense"]
    assert [p.name for p in net.get_parameters()] == ["0.weight", "2.weight"]
    net.extend([nn.ReLU()])
    assert len(net) == 4
    with pytest.raises(AttributeTypeError, match="SequentialCell holds Cells, got 3"):
        net.append(3)


def test_a_container_that_changes_starts_a_new_trace():
    net = nn.SequentialCell(nn.ReLU())
    f = jit(net)
    assert f(tensor([-1.0])).item() == 0
    net[0] = nn.Identity()
    assert f(tensor([-1.0])).item() == -1
    net.append(nn.ReLU())
    assert f(tensor([-1.0])).item() == 0


def test_cell_list():
    cells = nn.CellList([nn.ReLU(), nn.Tanh()])
    assert len(cells) == 2 and isinstance(cells[0], nn.ReLU) and len(nn.CellList(nn.ReLU(), nn.ReLU())) == 2
    with pytest.raises(NotImplementedError, match="a CellList cannot be called"):
        cells(tensor([1.0]))


# Layers


def reference_norm(x: np.ndarray, axes: tuple[int, ...], eps: float) -> np.ndarray:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def test_dense():
    x = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("f4")
    layer = nn.Dense(3, 5, activation="tanh")
    want = np.tanh(x @ layer.weight.asnumpy().T + layer.bias.asnumpy())
    np.testing.assert_allclose(layer(Tensor(x)).asnumpy(), want, rtol=1e-5, atol=1e-6)
    assert nn.Dense(3, 5, has_bias=False).bias is None
    assert nn.Dense(3, 5, activation=ops.relu)(Tensor(x)).asnumpy().min() == 0
    assert nn.Dense(3, 5, activation=nn.ReLU())(Tensor(x)).asnumpy().min() == 0


def test_a_float16_layer_promotes():
    layer = nn.Dense(3, 2, dtype=tracejit.float16)
    assert layer.weight.dtype is tracejit.float16
    assert layer(ops.ones((1, 3), "float32")).dtype is tracejit.float32
    assert layer(ops.ones((1, 3), "float16")).dtype is tracejit.float16
    gradient = value_and_grad(lambda x: layer(x).sum(), None, params=layer.trainable_params())
    assert {g.dtype for g in gradient(ops.ones((1, 3), "float32"))[1]} == {tracejit.float16}


def test_conv2d():
    x = np.random.default_rng(0).normal(size=(1, 2, 5, 5)).astype("f4")
    layer = nn.Conv2d(2, 3, 3, pad_mode="valid", has_bias=True)
    weight, bias = layer.weight.asnumpy(), layer.bias.asnumpy()
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    want = np.einsum("bihwkl,oikl->bohw", windows, weight) + bias[:, None, None]
    np.testing.assert_allclose(layer(Tensor(x)).asnumpy(), want, rtol=1e-4, atol=1e-5)
    assert nn.Conv2d(2, 3, 3)(Tensor(x)).shape == (1, 3, 5, 5)
    assert nn.Conv2d(2, 4, (3, 1), stride=2, group=2)(Tensor(x)).shape == (1, 4, 3, 3)
    assert nn.Conv2d(2, 3, 3, pad_mode="pad", padding=2, dilation=2)(Tensor(x)).shape == (1, 3, 5, 5)


def test_layer_norm():
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("f4")
    np.testing.assert_allclose(
        nn.LayerNorm([4])(Tensor(x)).asnumpy(), reference_norm(x, (2,), 1e-7), rtol=1e-4, atol=1e-5
    )
    whole = nn.LayerNorm([3, 4], begin_norm_axis=1, begin_params_axis=1, gamma_init="zeros", beta_init="ones")
    assert whole(Tensor(x)).asnumpy().tolist() == np.ones((2, 3, 4)).tolist()


@pytest.mark.parametrize(
    ("layer", "shape", "axes"),
    [
        (nn.BatchNorm1d(3), (4, 3), (0,)),
        (nn.BatchNorm1d(3), (4, 3, 2), (0, 2)),
        (nn.BatchNorm2d(3), (4, 3, 2, 2), (0, 2, 3)),
    ],
)
def test_batch_norm(layer: nn.Cell, shape: tuple[int, ...], axes: tuple[int, ...]):
    x = np.random.default_rng(0).normal(2.0, 3.0, shape).astype("f4")
    layer = copy.deepcopy(layer)
    np.testing.assert_allclose(layer(Tensor(x)).asnumpy(), x / np.sqrt(1 + 1e-5), rtol=1e-5)  # running statistics 0, 1
    layer.set_train()
    np.testing.assert_allclose(layer(Tensor(x)).asnumpy(), reference_norm(x, axes, 1e-5), rtol=1e-3, atol=1e-4)
    count = x.size // 3
    np.testing.assert_allclose(layer.moving_mean.asnumpy(), 0.1 * x.mean(axes), rtol=1e-4)
    want = 0.9 + 0.1 * x.var(axes) * count / (count - 1)
    np.testing.assert_allclose(layer.moving_variance.asnumpy(), want, rtol=1e-4)
    assert [p.requires_grad for p in layer.get_parameters()] == [False, False, True, True]
    assert not any(p.requires_grad for p in nn.BatchNorm1d(3, affine=False).get_parameters())


def test_batch_norm_is_the_same_compiled_and_its_statistics_do_not_move_gradients():
    x = tensor(np.random.default_rng(0).normal(size=(4, 3)))
    results = []
    for wrap in (lambda f: f, jit):
        layer = nn.BatchNorm1d(3).set_train()
        loss = value_and_grad(lambda x, layer=layer: (layer(x) ** 3).sum(), None, params=layer.trainable_params())
        value, gradients = wrap(loss)(x)
        results.append([value, *gradients, layer.moving_mean, layer.moving_variance])
    for eager, compiled in zip(*results, strict=True):
        np.testing.assert_allclose(eager.asnumpy(), compiled.asnumpy(), rtol=1e-5, atol=1e-6)


def test_batch_statistics_on_demand():
    x = tensor(np.random.default_rng(0).normal(2.0, 1.0, (4, 3)))
    assert abs(nn.BatchNorm1d(3, use_batch_statistics=True)(x).asnumpy().mean()) < 1e-5
    assert nn.BatchNorm1d(3, use_batch_statistics=False).set_train()(x).asnumpy().mean() > 1


def test_group_norm():
    x = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("f4")
    want = reference_norm(x.reshape(2, 2, 6), (2,), 1e-5).reshape(2, 4, 3)
    np.testing.assert_allclose(nn.GroupNorm(2, 4)(Tensor(x)).asnumpy(), want, rtol=1e-4, atol=1e-5)


def test_dropout_draws_anew_and_from_its_seed():
    x = ops.ones((256,), "float32")
    layer = nn.Dropout(p=0.25, seed=3)
    assert layer(x) is x
    layer.set_train()
    compiled = jit(layer)
    first, second = compiled(x).asnumpy(), compiled(x).asnumpy()
    assert (first != second).any() and set(first) == {np.float32(0), np.float32(1 / 0.75)}
    assert 0.6 < (first > 0).mean() < 0.9
    again = nn.Dropout(p=0.25, seed=3).set_train()
    assert again(x).tolist() == first.tolist() and again(x).tolist() == second.tolist()
    assert isinstance(layer.generator, Generator) and layer.generator.name == "generator"
    assert nn.Dropout(0.8).p == pytest.approx(0.2) and nn.Dropout(p=0.0).set_train()(x) is x


def test_embedding():
    layer = nn.Embedding(5, 3, padding_idx=2)
    table = layer.embedding_table.asnumpy()
    assert not table[2].any() and table[1].any()
    ids = tensor([[0, 2], [4, 4]], "i4")
    assert layer(ids).tolist() == table[[[0, 2], [4, 4]]].tolist()
    hot = nn.Embedding(5, 3, use_one_hot=True, embedding_table=Tensor(table))
    np.testing.assert_allclose(hot(ids).asnumpy(), table[[[0, 2], [4, 4]]], rtol=1e-6)


ACTIVATIONS = {
    nn.Identity(): lambda x: x,
    nn.ReLU(): lambda x: np.maximum(x, 0),
    nn.ReLU6(): lambda x: np.clip(x, 0, 6),
    nn.LeakyReLU(0.1): lambda x: np.where(x > 0, x, 0.1 * x),
    nn.ELU(): lambda x: np.where(x > 0, x, np.exp(x) - 1),
    nn.SiLU(): lambda x: x / (1 + np.exp(-x)),
    nn.Sigmoid(): lambda x: 1 / (1 + np.exp(-x)),
    nn.Tanh(): np.tanh,
    nn.HSwish(): lambda x: x * np.clip(x + 3, 0, 6) / 6,
    nn.HSigmoid(): lambda x: np.clip(x + 3, 0, 6) / 6,
    nn.GELU(): lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    nn.Softmax(): lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
    nn.LogSoftmax(0): lambda x: x - np.log(np.exp(x).sum(0, keepdims=True)),
}


@pytest.mark.parametrize("layer", ACTIVATIONS, ids=lambda layer: type(layer).__name__)
def test_activations(layer: nn.Cell):
    x = np.random.default_rng(0).normal(0, 4, (3, 5)).astype("f4")
    np.testing.assert_allclose(layer(Tensor(x)).asnumpy(), ACTIVATIONS[layer](x), rtol=1e-4, atol=1e-5)


def test_pooling_and_flattening():
    x = np.arange(16, dtype="f4").reshape(1, 1, 4, 4)
    assert nn.MaxPool2d(2, 2)(Tensor(x)).tolist() == [[[[5, 7], [13, 15]]]]
    assert nn.AvgPool2d(2, 2)(Tensor(x)).tolist() == [[[[2.5, 4.5], [10.5, 12.5]]]]
    assert nn.Flatten()(Tensor(x)).shape == (1, 16) and nn.Flatten(0, 1)(Tensor(x)).shape == (1, 4, 4)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: nn.Dense(0, 2), AttributeValueError, "in_channels must be positive, got 0"),
        (lambda: nn.Dense(True, 2), AttributeTypeError, "in_channels must be an int, got True"),
        (lambda: nn.Dense(2, 2, activation="relux"), AttributeValueError, "no activation is named 'relux'"),
        (lambda: nn.Dense(2, 2, activation=3), AttributeTypeError, "an activation is a name"),
        (lambda: nn.Dense(2, 2, weight_init=tensor([1.0])), ShapeError, r"\[1\] are given for \[2, 2\]"),
        (lambda: nn.Dense(2, 2, weight_init="no"), AttributeValueError, "'no' is no initializer"),
        (lambda: nn.Conv2d(3, 4, 3, group=2), AttributeValueError, "divisible by group 2"),
        (lambda: nn.Conv2d(3, 4, 3, data_format="NHWC"), AttributeValueError, "data_format must be 'NCHW'"),
        (lambda: nn.LayerNorm(4), AttributeTypeError, "normalized_shape must be a list or tuple"),
        (lambda: nn.BatchNorm1d(3, momentum=1.5), AttributeValueError, "momentum must be from 0 to 1"),
        (lambda: nn.BatchNorm2d(3)(ops.ones((2, 3), "float32")), ShapeError, "takes tensors of 4 axes"),
        (lambda: nn.GroupNorm(3, 4), AttributeValueError, "4 channels cannot form 3 groups"),
        (lambda: nn.Dropout(p=1.0), AttributeValueError, "p must be from 0 to below 1"),
        (lambda: nn.Dropout(0.0), AttributeValueError, "keep_prob must be above 0"),
        (lambda: nn.Dropout(dtype=tracejit.float16), AttributeValueError, "dtype means nothing"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), AttributeValueError, "padding_idx must be"),
        (lambda: nn.HeUniform(mode="fan"), AttributeValueError, "mode must be"),
        (lambda: nn.HeUniform(nonlinearity="x"), AttributeValueError, "nonlinearity must be one of"),
        (lambda: nn.initializer("he_uniform", [3]), ShapeError, "have no inputs and outputs"),
        (lambda: nn.initializer("ones"), AttributeTypeError, "a shape is needed"),
        (lambda: nn.set_seed(True), AttributeTypeError, "the seed must be an int"),
        (lambda: nn.set_seed(-1), AttributeValueError, "must not be negative"),
    ],
)
def test_layers_say_what_is_wrong(make: Any, error: type[Exception], message: str):
    with pytest.raises(error, match=message) as caught:
        make()
    assert not any("tracejit/" in str(entry.path) for entry in caught.traceback)


# Initial values


@pytest.mark.parametrize(
    ("init", "std", "bound"),
    [
        (nn.Normal(0.5), 0.5, None),
        (nn.Uniform(0.3), 0.3 / np.sqrt(3), 0.3),
        (nn.TruncatedNormal(0.5), 0.5 * 0.8796, 1.0),
        (nn.HeUniform(), np.sqrt(2 / 100), np.sqrt(6 / 100)),
        (nn.HeNormal(mode="fan_out"), np.sqrt(2 / 400), None),
        (nn.HeUniform(np.sqrt(5)), np.sqrt(1 / 300), np.sqrt(1 / 100)),
        (nn.XavierUniform(), np.sqrt(2 / 500), np.sqrt(6 / 500)),
        (nn.XavierNormal(2), 2 * np.sqrt(2 / 500), None),
    ],
)
def test_initializers(init: nn.Initializer, std: float, bound: float | None):
    values = nn.initializer(init, (400, 100)).asnumpy()
    assert values.std() == pytest.approx(std, rel=0.03) and abs(values.mean()) < std / 20
    assert bound is None or 0.9 * bound < np.abs(values).max() <= bound * (1 + 1e-6)


def test_initializers_by_name_number_and_tensor():
    assert nn.initializer("zeros", 3).tolist() == [0, 0, 0] and nn.initializer("ones", [2]).tolist() == [1, 1]
    assert nn.initializer(0.5, (2,), tracejit.float16).dtype is tracejit.float16
    assert nn.initializer(tensor([1, 2]), (2,)).tolist() == [1, 2]
    assert nn.initializer(nn.One(), (1,)).item() == 1 and nn.initializer(nn.Zero(), (1,)).item() == 0


def test_seeds():
    nn.set_seed(5)
    first = nn.Dense(3, 3).weight.asnumpy()
    second = nn.Dense(3, 3).weight.asnumpy()
    nn.set_seed(5)
    assert (nn.Dense(3, 3).weight.asnumpy() == first).all() and (first != second).any()
    own = [nn.initializer(nn.Normal(seed=1), (3,)).tolist() for _ in range(2)]
    assert own[0] == own[1]


# Optimizers


def quadratic(parameter: Parameter) -> Any:
    return value_and_grad(lambda: ((parameter - 1.0) ** 2).sum(), None, params=[parameter])


OPTIMIZERS = {
    "SGD": lambda params: nn.SGD(params, 0.1),
    "Momentum": lambda params: nn.Momentum(params, 0.05, 0.9),
    "Nesterov": lambda params: nn.Momentum(params, 0.02, 0.9, use_nesterov=True),
    "Adagrad": lambda params: nn.Adagrad(params, learning_rate=0.5),
    "AdaMax": lambda params: nn.AdaMax(params, learning_rate=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_optimizers_go_downhill(name: str, compiled: bool):
    parameter = Parameter([3.0, -2.0], name="x")
    optimizer, loss = OPTIMIZERS[name]([parameter]), quadratic(parameter)

    def step() -> Tensor:
        value, gradients = loss()
        optimizer(gradients)
        return value

    step = jit(step) if compiled else step
    losses = [step().item() for _ in range(60 if compiled else 8)]
    assert losses[-1] < (0.05 if compiled else 0.9) * losses[0]


def test_momentum_against_the_formula():
    parameter = Parameter([1.0], name="x")
    optimizer = nn.Momentum([parameter], learning_rate=0.1, momentum=0.9)
    for _ in range(2):
        optimizer((tensor([1.0]),))
    assert parameter.item() == pytest.approx(1 - 0.1 * 1 - 0.1 * 1.9)
    assert optimizer.moments[0].name == "moments.x"


def test_ada_max_against_the_formula():
    parameter = Parameter([1.0], name="x")
    optimizer = nn.AdaMax([parameter], learning_rate=0.1)
    m = v = 0.0
    want = 1.0
    for step, gradient in enumerate((0.5, -2.0, 1.0), 1):
        optimizer((tensor([gradient]),))
        m, v = 0.9 * m + 0.1 * gradient, max(0.999 * v, abs(gradient))
        want -= 0.1 / (1 - 0.9**step) * m / (v + 1e-8)
    assert parameter.item() == pytest.approx(want, rel=1e-5)


def test_the_learning_rate_is_set_for_compiled_steps_too():
    parameter = Parameter([1.0], name="x")
    optimizer = nn.SGD([parameter], 0.5)
    step = jit(lambda g: optimizer((g,)))
    step(tensor([1.0]))
    optimizer.learning_rate = 0.0
    step(tensor([1.0]))
    assert parameter.item() == 0.5 and step.cache_info().traces == 1


def test_float16_parameters_take_float16_steps():
    parameter = Parameter(np.ones(2, "f2"), name="x")
    nn.Momentum([parameter], 0.5, 0.9)((tensor([1, 1], "f2"),))
    assert parameter.dtype is tracejit.float16 and parameter.asnumpy().tolist() == [0.5, 0.5]


def test_optimizers_check_what_they_are_given():
    with pytest.raises(AttributeValueError, match="SGD is given no Parameters"):
        nn.SGD([])
    with pytest.raises(ParameterError, match="updates 1 Parameters and was given 2 gradients"):
        nn.SGD([Parameter([1.0])])((tensor([1.0]), tensor([1.0])))


# Against MindSpore's signatures, as 2.10 was asked for them

SIGNATURES = {
    "Dense": "in_channels, out_channels, weight_init=None, bias_init=None, has_bias=True, activation=None, dtype",
    "Conv2d": "in_channels, out_channels, kernel_size, stride=1, pad_mode='same', padding=0, dilation=1, group=1, "
    "has_bias=False, weight_init=None, bias_init=None, data_format='NCHW', dtype",
    "LayerNorm": "normalized_shape, begin_norm_axis=-1, begin_params_axis=-1, gamma_init='ones', beta_init='zeros', "
    "epsilon=1e-07, dtype",
    "BatchNorm1d": "num_features, eps=1e-05, momentum=0.9, affine=True, gamma_init='ones', beta_init='zeros', "
    "moving_mean_init='zeros', moving_var_init='ones', use_batch_statistics=None, data_format='NCHW', dtype",
    "GroupNorm": "num_groups, num_channels, eps=1e-05, affine=True, gamma_init='ones', beta_init='zeros', dtype",
    "Dropout": "keep_prob=0.5, p=None, dtype",
    "Embedding": "vocab_size, embedding_size, use_one_hot=False, embedding_table='normal', dtype, padding_idx=None",
    "Flatten": "start_dim=1, end_dim=-1",
    "GELU": "approximate=True",
    "LeakyReLU": "alpha=0.2",
    "Normal": "sigma=0.01, mean=0.0",
    "Uniform": "scale=0.07",
    "TruncatedNormal": "sigma=0.01, mean=0.0, a=-2.0, b=2.0",
    "HeUniform": "negative_slope=0, mode='fan_in', nonlinearity='leaky_relu'",
    "XavierUniform": "gain=1",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_are_mindspores(name: str):
    import inspect

    parameters = [p for p in inspect.signature(getattr(nn, name)).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    shown = [p.name if p.default is p.empty or p.name == "dtype" else f"{p.name}={p.default!r}" for p in parameters]
    assert ", ".join(shown) == SIGNATURES[name]
