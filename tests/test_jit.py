"""`jit`: signatures, trees, statics, scalars, caches, stages, threads, and exceptions in the middle of a trace."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import gc
import linecache
import re
import threading
import time
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tracejit
from tracejit import Parameter, Tensor, TensorType, jit, ops
from tracejit.errors import (
    AttributeTypeError,
    AttributeValueError,
    DTypeError,
    IndexBoundsError,
    LossyCastWarning,
    RetraceLimitError,
    RetraceWarning,
    ScalarOverflowError,
    TraceError,
)


def tensor(data: Any, dtype: str = "float32") -> Tensor:
    return Tensor(np.array(data, dtype))


def same(actual: Any, expected: Any, dtype: str) -> None:
    assert type(actual) is Tensor
    assert actual.dtype == dtype
    np.testing.assert_array_equal(actual.asnumpy(), np.array(expected, dtype))


class Counted:
    """A function that counts its traces: how often Python ran it."""

    def __init__(self, function: Callable[..., Any]):
        self.function, self.runs = function, 0
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.runs += 1
        return self.function(*args, **kwargs)


def counted(function: Callable[..., Any], **options: Any) -> tuple[Any, Counted]:
    """Jit a function without RetraceWarnings; returns it with its counter."""
    counter = Counted(function)
    return jit(counter, max_traces=1000, **options), counter


X = tensor([1, 2, 3])


# Signatures


def test_one_trace_per_signature():
    f, counter = counted(lambda x, y: x + y)
    for _ in range(3):
        same(f(X, X), [2, 4, 6], "float32")
        same(f(X, tensor(1)), [2, 3, 4], "float32")
        same(f(X, tensor([1, 1, 1], "int32")), [2, 3, 4], "float32")
    assert counter.runs == 3
    assert f.cache_info() == (3, 1, 3)


def test_a_signature_is_dtype_shape_and_kind_of_scalar():
    f, counter = counted(lambda x, y: x * y)
    for y in (2, 3, 2.0, True, 1j, np.float32(5), np.int8(5)):
        f(tensor([1, 2], "complex64"), y)
    assert counter.runs == 4, "2 and 3, 2.0 and NumPy's scalars share traces"
    assert f.cache_info().entries == 4


def test_later_signatures_are_traced_in_the_body_of_the_same_program():
    f, counter = counted(lambda x: x * 2)
    f(X)
    (entry,) = f._entries.values()
    program = entry.program
    for length in range(4, 8):
        same(f(tensor(range(length))), np.arange(length) * 2, "float32")
    assert entry.program is program
    assert counter.runs == 5
    assert f.cache_info() == (5, 1, 5)


def test_keyword_and_positional_arguments():
    f, counter = counted(lambda a, b: a - b)
    same(f(X, b=tensor(1)), [0, 1, 2], "float32")
    same(f(b=tensor(1), a=X), [0, 1, 2], "float32")
    same(f(a=X, b=tensor(1)), [0, 1, 2], "float32")
    assert counter.runs == 2, "the order of keywords does not matter"


def test_defaults():
    f = jit(lambda x, y=2, *, z=None: x * y if z is None else x * y + z)
    same(f(X), [2, 4, 6], "float32")
    same(f(X, 3), [3, 6, 9], "float32")
    same(f(X, z=1), [3, 5, 7], "float32")


def test_any_number_of_arguments():
    f = jit(lambda *xs, **named: sum(xs[1:], xs[0]) * named["scale"])
    same(f(X, X, X, scale=2.0), [6, 12, 18], "float32")
    same(f(X, scale=1), [1, 2, 3], "float32")


def test_no_arguments():
    f, counter = counted(lambda: ops.ones((2,), "int8"))
    same(f(), [1, 1], "int8")
    same(f(), [1, 1], "int8")
    assert counter.runs == 1


def test_signatures_in_turn_use_the_short_way_only_for_their_own_classes():
    f, counter = counted(lambda x, y: x + y)
    for _ in range(3):
        same(f(X, 1), [2, 3, 4], "float32")
        same(f(X, X), [2, 4, 6], "float32")
        same(f(X, 1.5), [2.5, 3.5, 4.5], "float32")
        same(f(X, np.array([1, 1, 1], "int8")), [2, 3, 4], "float32")
    assert counter.runs == 4


# Trees

Pair = collections.namedtuple("Pair", "left right")


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Batch:
    images: Any
    labels: Any


TREES = [
    (X, X),
    [X, (X, [X])],
    {"b": X, "a": {"deep": X}},
    Pair(X, None),
    Batch(X, [X]),
    collections.OrderedDict(z=X, a=X),
    (),
    [],
    {},
    None,
    (None, {"x": (), "y": X}),
]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: type(tree).__name__)
def test_trees_in_and_out(tree: Any):
    double = functools.partial(jax.tree.map, lambda x: x * 2, is_leaf=lambda x: isinstance(x, Tensor))
    f, counter = counted(double)
    for _ in range(2):
        result = f(tree)
        assert jax.tree.structure(result) == jax.tree.structure(tree)
        assert type(result) is type(tree)
        for leaf in jax.tree.leaves(result, is_leaf=lambda x: isinstance(x, Tensor)):
            same(leaf, [2, 4, 6], "float32")
    assert counter.runs == 1


def test_the_tree_is_part_of_the_signature():
    f, counter = counted(lambda tree: ops.ones((1,)))
    for tree in ((X,), [X], {"a": X}, {"b": X}, Pair(X, None), Pair(None, X), (X, None), ((X,), ())):
        f(tree)
    assert counter.runs == 8


def test_what_a_function_can_return():
    def several(x: Tensor) -> Any:
        return 1, 2.5, True, 1j, None, np.float64(3), np.int8([1, 2]), jnp.ones(2, jnp.float32), [], x

    for f in (jit(several), jit(jit(several))):
        for _ in range(2):
            one, half, truth, imaginary, nothing, wide, array, jax_array, empty, x = f(X)
            same(one, 1, "int64")
            same(half, 2.5, "float32")
            same(truth, True, "bool")
            same(imaginary, 1j, "complex64")
            same(wide, 3, "float64")
            same(array, [1, 2], "int8")
            same(jax_array, [1, 1], "float32")
            same(x, [1, 2, 3], "float32")
            assert nothing is None and empty == []


def test_the_containers_of_arguments_are_copies():
    def consume(batch: list[Any]) -> Tensor:
        batch.append(None)
        batch[0][0] = 9
        return batch[0]

    batch = [X.copy()]
    for f in (jit(consume), jit(lambda batch: jit(consume)(batch))):
        same(f(batch), [9, 2, 3], "float32")
        assert len(batch) == 1
        same(batch[0], [1, 2, 3], "float32")


def test_item_assignment_changes_the_functions_own_view():
    @jit
    def inner(x: Tensor) -> Tensor:
        x[0] = 7
        return x

    @jit
    def outer(x: Tensor) -> tuple[Tensor, Tensor]:
        return inner(x), x

    first, second = outer(X)
    same(first, [7, 2, 3], "float32")
    same(second, [1, 2, 3], "float32")


def test_dicts_whose_keys_cannot_be_sorted_are_refused():
    with pytest.raises(AttributeValueError, match=r"keys that cannot be sorted"):
        jit(lambda d: d[1])({1: X, "a": X})
    with pytest.raises(AttributeValueError, match=r"keys that cannot be sorted"):
        jit(lambda x: {1: x, "a": x})(X)


# Scalars


def test_a_scalar_argument_promotes_as_a_python_scalar():
    f, _ = counted(lambda x, s: x * s)
    same(f(tensor([1, 2], "int8"), 3), [3, 6], "int8")
    same(f(tensor([1, 2], "int8"), 1.5), [1.5, 3], "float32")
    same(f(tensor([True, False], "bool"), 3), [3, 0], "int32")
    same(f(tensor([1, 2], "float16"), 1.5), [1.5, 3], "float16")
    same(f(tensor([1, 2], "float64"), 0.1), [0.1, 0.2], "float64")
    same(f(tensor([1, 2], "complex64"), 2j), [2j, 4j], "complex64")


def test_a_scalar_argument_wraps_since_its_value_is_not_known():
    same(jit(lambda x, s: x + s)(tensor([1], "int8"), 300), [45], "int8")
    with pytest.raises(ScalarOverflowError, match="300 does not fit int8"):
        jit(lambda x, s: x + s, static_argnames="s")(tensor([1], "int8"), 300)


@pytest.mark.parametrize("call", ["first", "later"])
def test_a_scalar_argument_beyond_64_bits(call: str):
    f = jit(lambda x, count: x + count)
    if call == "later":
        f(X, 1)
    with pytest.raises(ScalarOverflowError, match=r"argument count is the Python int 9223372036854775808") as caught:
        f(X, 2**63)
    assert "static" in caught.value.fix
    same(f(tensor([1], "int64"), 2**63 - 1), [-(2**63)], "int64")


SCALAR_PAIRS = [
    ((1, 2), 3, "int64"),
    ((1, 2.5), 3.5, "float32"),
    ((True, True), 2, "int64"),
    ((1j, 1), 1 + 1j, "complex64"),
    ((2.0, True), 3.0, "float32"),
]


@pytest.mark.parametrize(("pair", "expected", "dtype"), SCALAR_PAIRS)
def test_scalar_with_scalar_stays_a_scalar_until_it_is_returned(pair: Any, expected: Any, dtype: str):
    f = jit(lambda a, b: a + b)
    same(f(*pair), expected, dtype)
    g = jit(lambda x, a, b: x + (a + b))
    wanted = tensor([1], "complex64") + sum(pair)
    same(g(tensor([1], "complex64"), *pair), wanted.asnumpy(), "complex64")


def test_division_of_scalars_is_pythons():
    f = jit(lambda a, b: a / b)
    same(f(1, 2), 0.5, "float32")
    same(jit(lambda x, a, b: x * (a / b))(tensor([4], "int32"), 1, 2), [2], "float32")


def test_numpy_scalars_are_python_scalars_and_arrays_are_tensors():
    f = jit(lambda x, s: x * s)
    small = tensor([1, 2], "float16")
    same(f(small, np.float64(2)), [2, 4], "float16")
    same(f(small, np.array(2.0)), [2, 4], "float64")
    same(f(np.float32([1, 2]), np.int64([3, 4])), [3, 8], "float32")


def test_numpy_scalars_under_other_policies():
    small = tensor([1, 2], "float16")
    same(jit(lambda x, s: x * s, promotion="numpy2")(small, np.float64(2)), [2, 4], "float64")
    by_value, counter = counted(lambda x, s: x * s, promotion="numpy1")
    same(by_value(small, np.float64(2)), [2, 4], "float16")
    same(by_value(tensor([1], "int8"), 300), [300], "int16")
    same(by_value(tensor([1], "int8"), 3), [3], "int8")
    assert counter.runs == 3, "under numpy1 a scalar's value is part of the trace"


class Level(enum.IntEnum):
    HIGH = 3


def test_subclasses_of_python_numbers():
    same(jit(lambda x, s: x * s)(X, Level.HIGH), [3, 6, 9], "float32")


def test_jax_and_numpy_arrays_as_arguments():
    f, counter = counted(lambda x, y: x + y)
    numbers = np.float32([1, 2, 3])
    for x in (X, numbers, jnp.asarray(numbers)):
        for y in (X, numbers, jnp.asarray(numbers)):
            same(f(x, y), [2, 4, 6], "float32")
    assert counter.runs == 1


def test_numpy_arguments_are_read_at_the_call():
    numbers = np.arange(8192, dtype=np.float32)
    result = jit(lambda x: x + 1)(numbers)
    numbers[:] = -1
    same(result, np.arange(8192) + 1, "float32")


@pytest.mark.parametrize("policy", ["mindspore", "numpy1", "numpy2", "torch"])
def test_big_endian_and_bool_bytes_are_normalised(policy: str):
    f = jit(lambda x: x + 1, promotion=policy)
    same(f(np.array([1, 2], ">i4")), [2, 3], "int32")
    odd = np.array([0, 2, 255], "uint8").view("bool")
    same(jit(lambda m: ops.logical_not(m))(odd), [True, False, False], "bool")


BAD_ARGUMENTS = [
    ("text", "argument y is 'text' (str), which cannot be traced"),
    (object, "argument y is <class 'object'> (type)"),
    ({"a": [X, "deep"]}, "argument y.a.1 is 'deep' (str)"),
    (TensorType(tracejit.float32, (3,)), "argument y is the abstract f32[3]"),
    (jax.ShapeDtypeStruct((3,), "float32"), "argument y is the abstract ShapeDtypeStruct"),
    (np.array(["a"]), "dtype <U1 is not supported"),
    (np.array([None]), "dtype object is not supported"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_ARGUMENTS)
def test_arguments_that_cannot_be_traced(bad: Any, message: str):
    f = jit(lambda x, y: x)
    for _ in range(2):
        with pytest.raises(DTypeError, match=re.escape(message)):
            f(X, bad)
        f(X, X)


def test_a_bad_argument_is_named_behind_static_ones_and_among_many():
    with pytest.raises(DTypeError, match=r"argument b is 'no'.*\n.*\n.*\n.*\n.*static_argnames='b'"):
        jit(lambda n, a, b: a, static_argnums=0)(3, X, "no")
    with pytest.raises(DTypeError, match=r"argument args\[1\] is 'no'"):
        jit(lambda *args: args[0])(X, "no")
    p = Parameter([1.0])
    with pytest.raises(DTypeError, match=r"argument z is 'no'"):
        jit(lambda p, x, z: x)(p, X, "no")


# Static arguments


def test_static_arguments_are_keyed_by_value_and_type():
    seen = []
    f = jit(lambda x, c: (seen.append(c), x)[1], static_argnums=1, max_traces=100)
    values = [1, True, 1.0, 0, 0.0, -0.0, "a", None, (1, 2), (1, 2.0), (1, True), Pair(1, 2), np.float32(0), 1j]
    values += [np.float32(-0.0), complex(0.0, -0.0), complex(0.0, 0.0), float("nan"), (0.0,), (-0.0,), Level.HIGH]
    for value in values * 2:
        f(X, value)
    assert list(map(repr, seen)) == list(map(repr, values))


def test_static_arguments_by_number_and_by_name():
    def power(x: Tensor, n: int) -> Tensor:
        assert isinstance(n, int)
        return x if n == 0 else x * power(x, n - 1)

    for options in ({"static_argnums": 1}, {"static_argnums": -1}, {"static_argnames": "n"}, {"static_argnums": (1,)}):
        f = jit(power, **options)
        same(f(X, 2), [1, 8, 27], "float32")
        same(f(X, n=2), [1, 8, 27], "float32")
        same(f(n=2, x=X), [1, 8, 27], "float32")


def test_static_arguments_between_dynamic_ones():
    f = jit(lambda a, b, c, d: (a, b * c if c else b, d), static_argnums=(2,), static_argnames=("a",))
    first, product, last = f(3, X, 2, X)
    same(first, 3, "int64")
    same(product, [2, 4, 6], "float32")
    same(last, [1, 2, 3], "float32")


@pytest.mark.parametrize("value", [[1], {"a": 1}, {1}, (1, [2]), X, (X,), np.ones(2), jnp.ones(2)], ids=repr)
@pytest.mark.parametrize("keyword", [True, False])
def test_unhashable_static_arguments(value: Any, keyword: bool):
    runs = []
    f = jit(lambda x, c: runs.append(1) or x, static_argnames="c")
    with pytest.raises(AttributeTypeError, match="static argument c cannot be hashed") as caught:
        f(X, c=value) if keyword else f(X, value)
    assert "tuple" in caught.value.fix
    assert runs == []


def test_unhashable_static_arguments_of_a_nested_function():
    inner = jit(lambda x, c: x * c[0], static_argnames="c")
    with pytest.raises(AttributeTypeError, match="static argument c cannot be hashed"):
        jit(lambda x: inner(x, [1]))(X)
    same(jit(lambda x: inner(x, (2,)))(X), [2, 4, 6], "float32")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"static_argnums": 2}, "static_argnums 2 is beyond the 2 arguments"),
        ({"static_argnums": -3}, "static_argnums -3 is beyond"),
        ({"static_argnames": "z"}, "static_argnames 'z' is no argument of the function"),
        ({"static_argnums": "x"}, "static_argnums takes ints"),
        ({"static_argnums": True}, "static_argnums takes ints, got True"),
        ({"static_argnames": 1}, "static_argnames takes strs"),
        ({"donate": 1}, "donate must be a bool"),
        ({"check_indices": "yes"}, "check_indices must be a bool"),
        ({"max_traces": 1.5}, "max_traces must be an int"),
        ({"on_lossy": "panic"}, "on_lossy must be 'ignore', 'warn' or 'error'"),
        ({"promotion": "rust"}, "rust"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str):
    with pytest.raises((TypeError, ValueError, KeyError), match=message):
        jit(lambda x, y: x, **options)


# Methods


class Scale:
    factor = 2.0

    def __init__(self) -> None:
        self.traced = 0
        self.weight = Parameter([1.0, 1.0, 1.0], name="weight")

    @jit
    def step(self, x: Tensor, *, by: Any = None) -> Tensor:
        self.traced += 1
        return x * self.factor * self.weight if by is None else x * by

    @functools.partial(jit, static_argnums=2)
    def power(self, x: Tensor, n: int) -> Tensor:
        return x**n

    @staticmethod
    @jit
    def double(x: Tensor) -> Tensor:
        return x * 2


def test_methods_have_traces_of_each_instance():
    a, b = Scale(), Scale()
    b.factor = 3.0
    for _ in range(2):
        same(a.step(X), [2, 4, 6], "float32")
        same(b.step(X), [3, 6, 9], "float32")
        same(a.step(X, by=4), [4, 8, 12], "float32")
    assert (a.traced, b.traced) == (2, 1)
    assert a.step.cache_info().traces == 2
    assert Scale.step.cache_info().traces == 0
    same(a.power(X, 2), [1, 4, 9], "float32")
    same(a.power(X, n=2), [1, 4, 9], "float32")
    same(Scale.double(X), [2, 4, 6], "float32")


def test_a_bound_method_keeps_its_object_and_traces_do_not():
    same(Scale().step(X), [2, 4, 6], "float32")
    instance = Scale()
    step, reference = instance.step, weakref.ref(instance)
    del instance
    gc.collect()
    same(step(X), [2, 4, 6], "float32")
    assert reference() is not None
    del step
    gc.collect()
    assert reference() is None
    assert "step" in repr(Scale().step)


def test_the_traces_of_dead_instances_are_dropped():
    for _ in range(5):
        Scale().step(X)
    gc.collect()
    assert Scale.step._instances == {}


def test_an_instance_that_cannot_be_referred_to_weakly():
    class Slotted:
        __slots__ = ()

        @jit
        def step(self, x: Tensor) -> Tensor:
            return x

    with pytest.raises(AttributeTypeError, match="Slotted, which cannot be referred to weakly"):
        Slotted().step(X)


def test_clear_cache_of_a_method():
    instance = Scale()
    instance.step(X)
    Scale.step.clear_cache()
    instance.step(X)
    assert instance.traced == 2
    assert "the cache was cleared" in instance.step.explain_retraces()


# What is no function


def test_generator_and_async_functions_are_refused():
    def generate(x: Tensor) -> Iterator[Tensor]:
        yield x

    async def wait(x: Tensor) -> Tensor:
        return x

    async def generate_later(x: Tensor) -> Any:
        yield x

    class Later:
        async def __call__(self, x: Tensor) -> Tensor:
            return x

    for function, what in [
        (generate, "generate is a generator"),
        (functools.partial(generate), "partial is a generator"),
        (wait, "wait is an async"),
        (generate_later, "generate_later is a generator"),
        (Later(), "Later is an async"),
        (3, "jit takes a function, got 3"),
        (classmethod(lambda cls: cls), "jit takes a function"),
    ]:
        with pytest.raises(AttributeTypeError, match=what):
            jit(function)


def test_other_callables():
    class Doubler:
        def __call__(self, x: Tensor) -> Tensor:
            return x * 2

    same(jit(Doubler())(X), [2, 4, 6], "float32")
    same(jit(functools.partial(lambda a, b: a * b, b=3))(X), [3, 6, 9], "float32")
    same(jit(ops.neg)(X), [-1, -2, -3], "float32")
    same(jit(ops.Add())(X, X), [2, 4, 6], "float32")


def test_mindspores_spelling():
    same(jit(lambda x: x * 2, capture_mode="ast", jit_level="O0", fullgraph=False)(X), [2, 4, 6], "float32")
    same(jit(function=lambda x: x * 2)(X), [2, 4, 6], "float32")
    with pytest.raises(AttributeTypeError, match=r"jit_level='O2' is MindSpore's, and means nothing here"):
        jit(lambda x: x, jit_level="O2")
    with pytest.raises(AttributeTypeError, match=r"option optimise=True is unknown"):
        jit(lambda x: x, optimise=True)


def test_metadata():
    @jit
    def documented(x: Tensor) -> Tensor:
        """Say something."""
        return x

    assert documented.__name__ == "documented"
    assert documented.__doc__ == "Say something."
    assert documented.__wrapped__(3) == 3
    assert repr(documented) == "<jit of documented>"


# Nesting


def test_nested_functions_keep_their_own_policy():
    inner = jit(lambda a, b: a + b, promotion="numpy2")
    follows = jit(lambda a, b: a + b)
    i32, f16 = tensor([1], "int32"), tensor([0.5], "float16")
    outer = jit(lambda a, b: (inner(a, b), follows(a, b), a + b))
    same(inner(i32, f16), [1.5], "float64")
    for result, dtype in zip(outer(i32, f16), ("float64", "float16", "float16"), strict=True):
        same(result, [1.5], dtype)
    with tracejit.promotion("jax"):
        assert [result.dtype.name for result in outer(i32, f16)] == ["float64", "float16", "float16"]
    with tracejit.promotion("numpy2"):
        assert [result.dtype.name for result in outer(i32, f16)] == ["float64"] * 3
    policies = {operation.policy for operation in outer.trace(i32, f16).graph.operations}
    assert policies == {"numpy2", "mindspore"}


def test_a_nested_function_gives_what_it_gives_outside():
    number = jit(lambda: 2.0)
    half = tensor([1], "float16")
    outside = half * number()
    inside = jit(lambda x: x * number())(half)
    assert outside.dtype == inside.dtype == tracejit.float32

    p = Parameter([1.0], name="p")
    add = jit(lambda g: ops.assign_add(p, g))

    @jit
    def twice(g: Tensor) -> tuple[Tensor, Tensor]:
        first = add(g)
        return first, add(g)

    first, second = twice(tensor([1]))
    same(first, [2], "float32")
    same(second, [3], "float32")


def test_jit_of_jit_and_recursion():
    f, counter = counted(jit(jit(lambda x: x * 2)))
    same(f(X), [2, 4, 6], "float32")
    same(f(X), [2, 4, 6], "float32")
    assert counter.runs == 1

    @functools.partial(jit, static_argnums=1)
    def factorial(x: Tensor, n: int) -> Tensor:
        return x if n == 0 else factorial(x, n - 1) * n

    same(factorial(X, 4), [24, 48, 72], "float32")
    with pytest.raises(RecursionError):
        jit(lambda x: endless(x))(X)


def endless(x: Tensor) -> Tensor:
    return endless(x)


# Captures


def lines_with(text: str, word: str) -> list[str]:
    return [line for line in text.splitlines() if word in line]


def test_captured_tensors_are_inputs_and_not_constants():
    table = tensor(np.arange(1000) * 1.5)
    f = jit(lambda x: x + table + table)
    same(f(tensor(1)), np.arange(1000) * 3.0 + 1, "float32")
    lowered = f.trace(tensor(1)).lower()
    assert "1000xf32" in lines_with(lowered.as_stablehlo(), "@main")[0]
    assert not any("constant" in line for line in lines_with(lowered.as_stablehlo(), "1000xf32"))
    assert len(f.trace(tensor(1)).graph.inputs) == 2, "one array is one input"


def test_captured_tensors_are_told_apart_by_their_array():
    table = tensor([1, 2, 3])
    shared, other = Tensor(table), tensor([1, 2, 3])
    f = jit(lambda x: x + table + shared + other)
    same(f(X), [4, 8, 12], "float32")
    assert len(f.trace(X).graph.inputs) == 3


def capturing() -> tuple[Any, weakref.ref[Any]]:
    """Make a jitted function that captures a Tensor which nobody else has; gives a reference to its array too."""
    table = jnp.arange(1000.0)
    captured = Tensor(table)
    return jit(lambda x: x + captured), weakref.ref(table)


def test_captured_arrays_go_with_the_function():
    f, array = capturing()
    f(tensor(1)), f(tensor([[1.0]]))
    del f
    gc.collect()
    assert array() is None


def test_a_captured_tensor_is_the_one_of_the_trace():
    box = [tensor([1, 1, 1])]
    f = jit(lambda x: x + box[0])
    same(f(X), [2, 3, 4], "float32")
    box[0][0] = 5  # rebinds the Tensor; the array that was traced stays
    same(f(X), [2, 3, 4], "float32")


def test_host_data_made_while_tracing_is_a_constant():
    def function(x: Tensor) -> Tensor:
        return x + Tensor([10, 20, 30]) + np.float32([1, 1, 1]) + Tensor(5)

    traced = jit(function).trace(X)
    assert [operation.name for operation in traced.graph.operations].count("constant") == 3
    assert len(traced.graph.inputs) == 1
    same(jit(function)(X), [17, 28, 39], "float32")


def test_item_assignment_on_a_captured_tensor():
    table = tensor([1, 2, 3])

    def write(x: Tensor) -> Tensor:
        table[0] = 7
        return x

    with pytest.raises(TypeError, match="Parameter"):
        jit(write)(X)
    same(table, [1, 2, 3], "float32")


def test_jax_code_of_the_user_computes_while_tracing():
    f, counter = counted(lambda x: x + jnp.sin(jnp.zeros(3)) + jnp.ones(3, jnp.float32))
    for _ in range(2):
        same(f(X), [2, 3, 4], "float32")
    assert counter.runs == 1
    inside = jax.jit(lambda a: f(Tensor(a)).value())(jnp.float32([1, 2, 3]))
    np.testing.assert_array_equal(inside, [2, 3, 4])


def test_a_signature_that_newly_needs_captures_or_state():
    table, p = tensor([10, 20]), Parameter([1.0, 1.0], name="p")

    def function(x: Tensor) -> Tensor:
        if x.shape == (2,):
            return x + table
        return x + p.sum() if x.shape == (1,) else x * 2

    f, counter = counted(function)
    (entry_after_start,) = (f(X), list(f._entries.values()))[1]
    assert entry_after_start.program is not None, "no state, no captures: the direct way"
    for _ in range(2):
        same(f(tensor([1, 2])), [11, 22], "float32")
        same(f(tensor([1])), [3], "float32")
        same(f(X), [2, 4, 6], "float32")
    assert counter.runs == 3, "no signature is traced twice"
    assert entry_after_start.program is None
    ops.assign(p, tensor([5, 5]))
    same(f(tensor([1])), [11], "float32")


# Counting and explaining


def test_cache_info_and_clear_cache():
    f, counter = counted(lambda x: x * 2)
    assert f.cache_info() == (0, 0, 0)
    f(X), f(X), f(tensor(1)), f(2)
    assert f.cache_info()._asdict() == {"traces": 3, "entries": 2, "signatures": 3}
    f.clear_cache()
    assert f.cache_info() == (3, 0, 0)
    f(X)
    assert counter.runs == 4
    assert reasons(f)[-1] == "the same arguments: the earlier trace could not be kept, or the cache was cleared"


def reasons(f: Any) -> list[str]:
    """Give the reasons in explain_retraces, without numbers and times."""
    first, *lines = f.explain_retraces().splitlines()
    assert first == f"{f.name} was traced {len(lines)} time{'s' if len(lines) != 1 else ''}"
    for number, line in enumerate(lines, 1):
        assert re.match(rf"  {number}\. \(\d+\.\d ms\) ", line)
    return [line.partition(") ")[2] for line in lines]


def test_explain_retraces():
    p, q = Parameter([1.0], name="w"), Parameter([2.0], name="w")

    def function(x: Any, w: Any = 0, *, mode: str = "fast") -> Any:
        return x

    f = jit(function, static_argnames="mode", max_traces=100)
    f(X, 1)
    f(X, 1.0)
    f(tensor([1], "int8"), 1.0)
    f(tensor([[1]], "int8"), 1.0)
    f(tensor([[1]], "int8"), 1.0, mode="slow")
    f({"a": X}, 1)
    f(X, p)
    f(X, q)
    with tracejit.promotion("jax"):
        f(X, q)
    with tracejit.check_indices(True):
        f(X, q)
    f(x=X, w=1)
    assert reasons(f) == [
        "first call",
        "argument w: int became float",
        "argument x: f32[3] became i8[1]",
        "argument x: i8[1] became i8[1,1]",
        "static argument mode: absent became 'slow' (str)",
        "argument x: f32[3] became absent; argument x.a: absent became f32[3]",
        "argument w: float became Parameter 'w' f32[1]",
        "argument w: Parameter 'w' f32[1] became another one",
        "policy: mindspore became jax",
        "check_indices: None became True",
        "the arguments, positional and named: ((*, *), {}) became ((), {'w': *, 'x': *})",
    ]


def test_explain_retraces_of_values_under_numpy1():
    f, _ = counted(lambda x, s: x + s, promotion="numpy1")
    f(tensor([1], "int8"), 3)
    f(tensor([1], "int8"), 300)
    assert reasons(f) == ["first call", "argument s: 3 (int) became 300 (int)"]


def test_a_function_that_retraces_too_often_warns_once():
    f = jit(lambda x, other: x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for length in range(1, 12):
            f(tensor(range(length)), X)  # the line that the warning names
    (warning,) = caught
    assert warning.category is RetraceWarning
    message = str(warning.message)
    assert re.match(r"<lambda> has been traced 5 times \(\d", message)
    assert "argument x: f32[4] became f32[5]" in message
    assert "explain_retraces()" in message and "argument other" not in message
    assert warning.filename == __file__
    assert "the line that the warning names" in linecache.getline(__file__, warning.lineno)


def test_a_warning_that_is_an_error_leaves_the_function_usable():
    f = jit(lambda x: x * 2)
    for length in range(1, 5):
        f(tensor(range(length)))
    with pytest.raises(RetraceWarning):
        f(tensor(range(5)))
    same(f(tensor(range(5))), np.arange(5) * 2, "float32")
    same(f(tensor(range(6))), np.arange(6) * 2, "float32")


@pytest.mark.parametrize("stateful", [False, True])
def test_max_traces(stateful: bool):
    p = Parameter([1.0], name="p")
    f = jit(lambda x: x * p if stateful else x * 2, max_traces=2)
    f(tensor([1])), f(tensor([2]))
    f(tensor([1, 2]))
    with pytest.raises(RetraceLimitError, match=r"would be traced again, and max_traces is 2") as caught:
        f(X)
    assert "argument x: f32[2] became f32[3]" in caught.value.rule
    f(tensor([1, 2]))
    assert f.cache_info().traces == 2


# Stages


def test_stages():
    traced = jit(lambda x, lr: x * lr + 1).trace(tensor([1, 2], "int8"), 0.5)
    assert [operation.name for operation in traced.graph.operations] == ["mul", "add"]
    assert "cast" in str(traced) and str(traced) == str(traced.promoted)
    assert "<" in traced._repr_html_()
    lowered = traced.lower()
    assert "stablehlo.multiply" in lowered.as_stablehlo() and str(lowered) == lowered.as_stablehlo()
    assert lowered.cost_analysis()["flops"] > 0
    compiled = lowered.compile()
    assert "HloModule" in compiled.as_text() and str(compiled) == compiled.as_text()
    assert compiled.cost_analysis()["flops"] > 0
    assert compiled.memory_analysis() is not None
    for _ in range(2):
        same(compiled(tensor([1, 2], "int8"), 3.0), [4, 7], "float32")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((tensor([1, 2]), 3.0), "argument x was compiled for i8[2] and given f32[2]"),
        ((tensor([[1, 2]], "int8"), 3.0), "argument x was compiled for i8[2] and given i8[1,2]"),
        ((tensor([1, 2], "int8"), 3), "argument lr was compiled for float and given int"),
        (((tensor([1, 2], "int8"),), 3.0), "argument x was compiled for i8[2] and given absent"),
    ],
)
def test_compiled_functions_take_their_types_only(args: Any, message: str):
    compiled = jit(lambda x, lr: x).trace(tensor([1, 2], "int8"), 0.5).lower().compile()
    with pytest.raises(DTypeError, match=re.escape(f"compiled <lambda>: {message}")):
        compiled(*args)


def test_compiled_functions_and_policies():
    f = jit(lambda x, y: x + y)
    with tracejit.promotion("numpy2"):
        compiled = f.trace(tensor([1], "int32"), tensor([0.5], "float16")).lower().compile()
    same(compiled(tensor([1], "int32"), tensor([0.5], "float16")), [1.5], "float64")


def test_a_compiled_function_is_no_part_of_another_trace():
    compiled = jit(lambda x: x * 2).trace(X).lower().compile()

    @jit
    def outer(x: Tensor) -> Tensor:
        return compiled(x)

    with pytest.raises(TraceError, match="compiled <lambda> was called inside outer"):
        outer(X)
    with pytest.raises(TraceError, match="under a JAX transformation"):
        jax.jit(lambda a: compiled(Tensor(a)).value())(jnp.ones(3))


def test_a_compiled_function_with_state():
    p, table = Parameter([1.0, 2.0], name="p"), tensor([10, 20])
    step = jit(lambda g: ops.assign_add(p, g * table)).trace(tensor([1, 1])).lower().compile()
    same(step(tensor([1, 1])), [11, 22], "float32")
    same(step(tensor([1, 1])), [21, 42], "float32")
    same(p.copy(), [21, 42], "float32")


ABSTRACT = [TensorType(tracejit.int8, (2,)), jax.ShapeDtypeStruct((2,), np.int8), tensor([1, 2], "int8")]


@pytest.mark.parametrize("x", ABSTRACT, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("y", [*ABSTRACT, 3], ids=lambda y: type(y).__name__)
def test_tracing_with_abstract_arguments(x: Any, y: Any):
    f, counter = counted(lambda x, tree: x + tree["y"])
    traced = f.trace(x, {"y": y})
    assert [str(value.type) for value in traced.graph.outputs] == ["i8[2]"]
    assert traced.graph.inputs[1].name == "tree.y"
    given = y if isinstance(y, int) else tensor([1, 2], "int8")
    same(f(tensor([1, 2], "int8"), {"y": given}), [4, 5] if isinstance(y, int) else [2, 4], "int8")
    assert counter.runs == 1, "the call uses the trace"


# Index checks


def test_check_indices():
    table = tensor([1, 2, 3])

    def take(i: Tensor) -> Tensor:
        return ops.gather(table, i, 0)

    good, bad = tensor([0, 2], "int32"), tensor([0, 3], "int32")
    same(jit(take)(good), [1, 3], "float32")
    same(jit(take)(bad), [1, 0], "float32")
    same(jit(take, check_indices=False)(bad), [1, 0], "float32")
    checked = jit(take, check_indices=True)
    same(checked(good), [1, 3], "float32")
    for _ in range(2):
        with pytest.raises(IndexBoundsError, match="gather: index 3 is out of bounds for an axis of length") as caught:
            checked(bad)
        assert caught.value.location.text == "return ops.gather(table, i, 0)"
    same(checked(good), [1, 3], "float32")
    with pytest.raises(IndexBoundsError), tracejit.check_indices(True):
        jit(take)(bad)


def test_indices_known_while_tracing_are_checked():
    table, bad = tensor([1, 2, 3]), tensor([0, 3], "int32")
    with pytest.raises(IndexBoundsError, match="index 3"):
        jit(lambda x: ops.gather(x, bad, 0))(X)
    with pytest.raises(IndexBoundsError, match="index 7"):
        jit(lambda x: ops.gather(x, Tensor([7]), 0))(X)
    same(jit(lambda x: ops.gather(table, bad, 0) + x[0], check_indices=False)(X), [2, 1], "float32")


def test_checked_indices_leave_parameters_as_they_were():
    p = Parameter([1.0, 2.0, 3.0], name="p")

    def update(i: Tensor) -> Any:
        ops.assign_add(p, ops.ones((3,)))
        return ops.gather(p, i, 0)

    f = jit(update, check_indices=True)
    with pytest.raises(IndexBoundsError, match="every Parameter is as it was"):
        f(tensor([5], "int32"))
    same(p.copy(), [1, 2, 3], "float32")
    same(f(tensor([0], "int32")), [2], "float32")
    same(p.copy(), [2, 3, 4], "float32")


def test_indices_cannot_be_checked_under_a_jax_transformation():
    f = jit(lambda x, i: ops.gather(x, i, 0), check_indices=True)
    with pytest.raises(TraceError, match="gather: indices cannot be checked under a JAX transformation"):
        jax.jit(lambda i: f(X, Tensor(i)).value())(jnp.int32([1]))


# Lossy casts


def lossy(x: Tensor, y: Tensor) -> Tensor:
    z = x + y
    return z * 300 + ops.cast(x, "float16")


def test_on_lossy():
    i64, f16 = tensor([1], "int64"), tensor([1], "float16")
    same(jit(lossy)(i64, f16), [601], "float16")
    warns, counter = counted(lossy, on_lossy="warn")
    with pytest.warns(LossyCastWarning) as caught:
        same(warns(i64, f16), [601], "float16")
    (warning,) = caught
    message = str(warning.message)
    assert message.startswith("1 implicit conversion in lossy can lose value")
    assert "add: input_x i64[1] to float16" in message
    assert "z = x + y" in message and "300" not in message, "explicit and lossless conversions are not named"
    assert warning.filename == __file__
    warns(i64, f16)
    assert counter.runs == 1
    with pytest.warns(LossyCastWarning):
        warns(tensor([1, 2], "int64"), f16)


def test_on_lossy_error_lists_all():
    def function(x: Tensor, y: Tensor) -> Tensor:
        total = x + y
        return total - x

    f = jit(function, on_lossy="error")
    for _ in range(2):
        with pytest.raises(DTypeError, match="2 implicit conversions in function can lose value") as caught:
            f(tensor([1], "int64"), tensor([1], "float16"))
    message = str(caught.value)
    assert "add: input_x i64[1] to float16" in message and "total = x + y" in message
    assert "sub: input_y i64[1] to float16" in message and "return total - x" in message
    same(f(tensor([1], "int8"), tensor([1], "float16")), [1], "float16")


# Exceptions in the middle of a trace


class Mine(Exception):
    pass


def frames(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def helper() -> None:
    raise Mine("from the user")


def failing(x: Tensor, fail: list[bool]) -> Any:
    def function(x: Tensor) -> Tensor:
        if fail[0]:
            helper()
        return x * 2

    return function


@pytest.mark.parametrize("way", ["first", "later signature", "with state", "later signature with state", "nested"])
def test_a_users_exception_passes_through_unchanged(way: str):
    fail, p = [False], Parameter([1.0], name="p")

    def function(x: Tensor) -> Tensor:
        if "state" in way:
            ops.assign_add(p, ops.ones((1,)))
        if fail[0]:
            helper()
        return x * 2

    f = jit(jit(function) if way == "nested" else function)
    if "later" in way:
        f(X)
    fail[0], before = True, p.asnumpy()
    for _ in range(2):
        with pytest.raises(Mine, match=r"^from the user$") as caught:
            f(tensor([1]))
        assert type(caught.value) is Mine
        assert frames(caught.value)[-2:] == ["function", "helper"]
        assert_only_users_frames(caught.value)
    np.testing.assert_array_equal(p.asnumpy(), before)
    fail[0] = False
    same(f(tensor([1])), [2], "float32")
    same(f(X), [2, 4, 6], "float32")


def assert_only_users_frames(error: BaseException) -> None:
    text = "".join(traceback.format_exception(error))
    assert not re.search(r"/(tracejit|lowering|jax|jaxlib)/\w+\.py|jax/_src", text), text


def test_the_context_of_a_users_exception_is_kept():
    def function(x: Tensor) -> Tensor:
        try:
            {}["missing"]
        except KeyError:
            raise Mine("second")  # noqa: B904  # the context is what is tested

    with pytest.raises(Mine) as caught:
        jit(function)(X)
    assert isinstance(caught.value.__context__, KeyError)
    assert "During handling of the above exception" in "".join(traceback.format_exception(caught.value))


def test_a_failed_trace_is_not_counted():
    def function(x: Tensor) -> Tensor:
        raise Mine

    f = jit(function, max_traces=1)
    for _ in range(3):
        with pytest.raises(Mine):
            f(X)
    assert f.cache_info() == (0, 1, 0)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("later", [False, True])
def test_interrupts_while_tracing(kind: type[BaseException], later: bool):
    stop = [not later]

    def function(x: Tensor) -> Tensor:
        y = x * 2
        if stop[0]:
            raise kind
        return y

    f = jit(function)
    if later:
        f(X)
        stop[0] = True
    with pytest.raises(kind):
        f(tensor([1]))
    stop[0] = False
    assert tracejit.ambient.AMBIENT.get() is None
    same(f(tensor([1])), [2], "float32")


def test_the_garbage_collector_pauses_while_tracing():
    seen = []

    def function(x: Tensor, fail: bool = False) -> Tensor:
        seen.append(gc.isenabled())
        if fail:
            raise Mine
        return x

    f = jit(function, static_argnames="fail")
    f(X)
    with pytest.raises(Mine):
        f(X, fail=True)
    assert seen == [False, False] and gc.isenabled()
    gc.disable()
    try:
        f(tensor([1]))
        assert not gc.isenabled(), "what was off stays off"
    finally:
        gc.enable()


def test_the_garbage_collector_is_on_again_after_traces_that_overlap():
    inside, leave = threading.Barrier(2), [threading.Event(), threading.Event()]

    def function(number: int) -> Callable[[Tensor], Tensor]:
        def trace(x: Tensor) -> Tensor:
            inside.wait(5)
            leave[number].wait(5)
            return x

        return trace

    threads = [threading.Thread(target=jit(function(number)), args=(X,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for event, thread in zip(leave, threads, strict=True):
        time.sleep(0.01)
        assert not gc.isenabled()
        event.set()
        thread.join()
    assert gc.isenabled()


# Threads


def in_threads(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Run work in threads that start together; returns what it returned, or raises what it raised."""
    start, results = threading.Barrier(count), [None] * count

    def run(number: int) -> None:
        start.wait(10)
        try:
            results[number] = work(number)
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


@pytest.mark.parametrize("way", ["direct", "captures", "state"])
@pytest.mark.parametrize("warm", [True, False])
def test_eight_threads_call_one_function(way: str, warm: bool):
    table, p = tensor([1, 1, 1]), Parameter([0.0, 0.0, 0.0], name="p")

    def function(x: Tensor) -> Tensor:
        if way == "state":
            ops.assign_add(p, table)
        return x * 2 + table if way != "direct" else x * 2 + 1

    f = jit(function)
    if warm:
        f(X)

    def work(number: int) -> None:
        for i in range(20):
            same(f(tensor([number, i, 1])), [2 * number + 1, 2 * i + 1, 3], "float32")

    in_threads(8, work)
    assert f.cache_info() == (1, 1, 1)
    if way == "state":
        same(p.copy(), [160 + warm] * 3, "float32")


def test_threads_that_are_first_do_not_exceed_max_traces():
    f = jit(lambda x: x * 2, max_traces=1)
    in_threads(8, lambda number: same(f(X), [2, 4, 6], "float32"))
    assert f.cache_info().traces == 1


def test_eight_threads_call_different_functions_and_signatures():
    f, _ = counted(lambda x: x + 1)

    def work(number: int) -> None:
        own = jit(lambda x: x * number)
        for length in range(1, 4):
            same(own(tensor(np.ones(length))), [number] * length, "float32")
            same(f(tensor(np.ones((number + 1, length)))), np.full((number + 1, length), 2), "float32")

    in_threads(8, work)
    assert f.cache_info().signatures == 24


def test_policy_blocks_and_traces_do_not_reach_other_threads():
    dtypes = []

    def other() -> None:
        dtypes.append((tensor([1], "int32") + tensor([1], "float16")).dtype)

    def in_another_thread() -> None:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    def function(x: Tensor) -> Tensor:
        in_another_thread()
        return x

    with tracejit.promotion("numpy2"):
        in_another_thread()
        assert (tensor([1], "int32") + tensor([1], "float16")).dtype == tracejit.float64
        jit(function)(X)
    assert dtypes == [tracejit.float16, tracejit.float16], "a new thread starts without a block, and without a trace"


def test_an_exception_in_a_policy_block_ends_it():
    with contextlib.suppress(Mine), tracejit.promotion("numpy2"):
        raise Mine
    assert (tensor([1], "int32") + tensor([1], "float16")).dtype == tracejit.float16


# The hot path


def test_a_cached_call_asks_nothing_of_the_front():
    f, counter = counted(lambda x, s: x * s)
    f(X, 2.0)
    f._find = None  # type: ignore[method-assign]  # whatever needs it now fails
    same(f(X, 3.0), [3, 6, 9], "float32")
    assert counter.runs == 1
