"""What went wrong for users of comparable systems: areas state, cache, error and scatter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import Parameter, Tensor, jit, nn, ops, vmap
from tracejit.errors import IndexBoundsError


def tensor(values: Any, dtype: str = "f4") -> Tensor:
    return Tensor(np.array(values, dtype))


# Scatter

BAD_INDICES = {
    "scatter_update": (ops.ScatterUpdate, [0, 3], [7, 8]),
    "scatter_update, negative": (ops.ScatterUpdate, [-1, 0], [7, 8]),
    "scatter_add": (ops.ScatterAdd, [0, 3], [7, 8]),
    "scatter_nd_add": (ops.ScatterNdAdd, [[-1], [0]], [7, 8]),
    "scatter_nd_update": (ops.ScatterNdUpdate, [[3], [0]], [7, 8]),
}


@pytest.mark.parametrize("case", BAD_INDICES)
def test_b30_bad_indices_raise_in_eager_calls(case: str):
    make, indices, updates = BAD_INDICES[case]
    p = Parameter(tensor([1, 2, 3]), name="p")
    with pytest.raises(IndexBoundsError, match=r"index (3|-1) is out of bounds for an axis of length 3") as caught:
        make()(p, tensor(indices, "i4"), tensor(updates))
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, RuntimeError)
    assert p.tolist() == [1, 2, 3]


@pytest.mark.parametrize("case", BAD_INDICES)
def test_b30_traced_bad_indices_drop_their_row_and_never_wrap(case: str):
    make, indices, updates = BAD_INDICES[case]
    p = Parameter(tensor([1, 2, 3]), name="p")
    jit(lambda i, u: make()(p, i, u))(tensor(indices, "i4"), tensor(updates))
    good = next(u for i, u in zip(np.ravel(indices), updates, strict=True) if i == 0)
    assert p.tolist() == [good + (1 if "Add" in make.__name__ else 0), 2, 3]


@pytest.mark.parametrize("case", BAD_INDICES)
def test_b30_checked_indices_raise_and_nothing_is_written(case: str):
    make, indices, updates = BAD_INDICES[case]
    p, count = Parameter(tensor([1, 2, 3]), name="p"), Parameter(0, name="count")

    @jit(check_indices=True)
    def write(i: Tensor, u: Tensor) -> Any:
        ops.assign_add(count, 1)
        return make()(p, i, u)

    with pytest.raises(IndexBoundsError, match="out of bounds"):
        write(tensor(indices, "i4"), tensor(updates))
    assert (p.tolist(), count.item()) == ([1, 2, 3], 0)


@pytest.mark.parametrize(("dtype", "index"), [("u1", 200), ("i1", 100), ("i2", 200), ("u4", 1), ("u8", 1)])
@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "traced"])
def test_b31_other_index_dtypes_are_refused(dtype: str, index: int, wrap: Callable[..., Any]):
    p, x = Parameter(tensor(np.zeros(300)), name="p"), tensor(np.arange(300))
    for call in (lambda i: ops.ScatterAdd()(p, i, tensor([1])), lambda i: ops.gather(x, i, 0)):
        with pytest.raises(TypeError, match=r"(?s)indices.*int32.*int64|int32.*int64"):
            wrap(call)(tensor([index], dtype))
    assert not p.asnumpy().any()


# State


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "traced"])
def test_b35_a_branch_reads_before_the_write_behind_it(wrap: Callable[..., Any]):
    flag = Parameter(Tensor(False), name="flag")

    def f(x: Tensor) -> Tensor:
        y = tracejit.cond(flag, lambda: x + 1, lambda: x + 0)
        ops.assign(flag, Tensor(True))
        return y

    f = wrap(f)
    assert [f(tensor(1)).item(), f(tensor(1)).item(), flag.item()] == [1.0, 2.0, True]


def test_b38_snapshots_neither_change_nor_die():
    p = Parameter(tensor([1, 2]), name="p")
    snapshots = [Tensor(p), p.copy(), p.value(), p.asnumpy(), np.asarray(p)]
    step, g = jit(lambda g: ops.assign_add(p, g)), tensor([10, 10])
    step(g)
    step(g)
    assert [np.asarray(snapshot).tolist() for snapshot in snapshots] == [[1, 2]] * 5
    assert p.tolist() == [21, 22]


@pytest.mark.parametrize("size", [3, 4096, 100_003])
def test_b39_memory_of_the_user_is_never_shared(size: int):
    a, z = np.arange(size, dtype="f4"), np.zeros(size, "f4")
    t, p = Tensor(a), Parameter(Tensor(z), name="p")
    q = Parameter(z, name="q")
    y = jit(lambda t: t[2])(t)
    a[:] = -1
    ops.assign_add(p, Tensor(np.ones(size, "f4")))
    jit(lambda: ops.assign_add(q, ops.ones((size,))))()
    assert (t[2].item(), y.item(), z[:2].tolist(), p[0].item(), q[0].item()) == (2.0, 2.0, [0, 0], 1.0, 1.0)
    z[:] = 9
    assert (p[0].item(), q[0].item()) == (1.0, 1.0)


# Cache


def test_b41_attributes_that_are_replaced_start_a_new_trace():
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.flag = True
            self.buf = tensor([1])

        @jit
        def construct(self, x: Tensor) -> Tensor:
            return x + self.buf if self.flag else x - self.buf

    net, x = Net(), tensor([0])
    found = [net(x)]
    net.flag = False
    found.append(net(x))
    net.buf = tensor([7])
    found.append(net(x))
    assert [r.tolist() for r in found] == [[1], [-1], [-7]]


@pytest.mark.parametrize("value", [[1], {"a": 1}, {1}, bytearray(b"1")])
def test_b54_static_arguments_that_cannot_be_hashed(value: Any):
    f = jit(lambda x, c: x + 1, static_argnames="c")
    with pytest.raises(TypeError, match=r"static argument c cannot be hashed"):
        f(tensor([1]), value)


def test_b55_one_trace_per_signature():
    traces = []

    @jit
    def f(k: Parameter) -> Tensor:
        traces.append(1)
        ops.assign_add(k, ops.ones_like(k))
        return k * 1

    p = Parameter(tensor(np.zeros(4)), name="p")
    for _ in range(50):
        f(p)
    assert (p.tolist(), len(traces)) == ([50] * 4, 1)


def test_b55_fresh_branches_in_one_function_are_one_trace():
    traces = []

    @jit
    def f(i: Tensor) -> Tensor:
        traces.append(1)
        return tracejit.cond(i > 3, lambda: i + 1, lambda: i)

    assert [f(tensor(i, "i4")).item() for i in range(10)] == [0, 1, 2, 3, 5, 6, 7, 8, 9, 10]
    assert len(traces) == 1


# Error


def test_b58_a_traced_value_that_escapes_names_the_function_and_the_line():
    log: list[Any] = []

    class Net(nn.Cell):
        @jit
        def construct(self, x: Tensor) -> Tensor:
            log.extend([x * 2, x + 1])
            return x + 3

    net = Net()
    assert net(tensor([1])).tolist() == [4]
    for use in (lambda: log[0] + 1, lambda: np.asarray(log[1]), lambda: jit(lambda: log[0] + 1)()):
        with pytest.raises(
            (RuntimeError, TypeError), match=r"(?s)escaped from jit.*test_public_bugs_runtime.py"
        ) as caught:
            use()
        assert "construct" in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ops.reshape(x, (True, 2)),
        lambda x: ops.ReduceSum()(x, True),
        lambda x: vmap(lambda v: v, in_axes=False)(x),
        lambda x: ops.expand_dims(x, False),
    ],
)
@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "traced"])
def test_b59_bool_is_no_integer(call: Callable[..., Any], wrap: Callable[..., Any]):
    with pytest.raises((TypeError, ValueError), match=r"(?i)bool|True|False"):
        wrap(call)(tensor([[1, 2]]))


def test_b59_bool_as_an_index_adds_an_axis():
    assert tensor([[1, 2]])[True].shape == (1, 1, 2)
