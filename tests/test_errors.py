"""What every error says (what, where, types, rule, fix), and that no internal frame shows in its traceback."""

from __future__ import annotations

import linecache
import re
import threading
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tracejit
from tracejit import Parameter, Tensor, errors, jit, ops
from tracejit.errors import (
    AttributeTypeError,
    AttributeValueError,
    DTypeError,
    EscapedValueError,
    ImplicitCastError,
    IndexBoundsError,
    ParameterAliasError,
    ParameterCastError,
    ParameterError,
    RetraceLimitError,
    ScalarOverflowError,
    ShapeError,
    StateError,
    TraceError,
    TracejitError,
    X64Error,
)


def tensor(data: Any, dtype: str = "float32") -> Tensor:
    return Tensor(np.array(data, dtype))


F3, F2, I2, U2 = tensor([1, 2, 3]), tensor([1, 2]), tensor([1, 2], "int32"), tensor([1, 2], "uint16")
B2, I8 = tensor([True, False], "bool"), tensor([1, 2], "int8")
WEIGHT = Parameter(I2, name="weight")

#: What belongs to tracejit's or JAX's inside and says nothing to a user.
INTERNAL = re.compile(
    r"/(tracejit|lowering)/[\w/]+\.py|/jax(lib)?/|jax\._src|DynamicJaxpr|JitTracer|BatchTracer|<Value|Literal"
    r"|tracejit\.ir|object at 0x|\bNone\b(?! \()"
)


def text_of(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def assert_clean(error: BaseException) -> None:
    """Check that neither the message nor the traceback shows anything internal."""
    text = text_of(error)
    found = INTERNAL.search(text)
    assert found is None, f"{found[0]!r} in\n{text}"


def assert_at(error: TracejitError, mark: str) -> None:
    """Check that message, location and traceback point to the line of this file that ends with a mark."""
    assert error.location is not None
    line = linecache.getline(__file__, error.location.line)
    assert line.rstrip().endswith(f"# {mark}"), line
    assert f'  at "{__file__}", line {error.location.line}\n      {line.strip()}\n' in str(error) + "\n"
    last = traceback.extract_tb(error.__traceback__)[-1]
    assert (last.filename, last.lineno) == (__file__, error.location.line)


class Case(NamedTuple):
    """A mistake, and what its error says."""

    mistake: Callable[[], Any]
    error: type[TracejitError]
    bases: tuple[type[Exception], ...]
    what: str
    types: str
    rule: str
    fix: str


CASES: dict[str, Case] = {}


def case(
    error: type[TracejitError], *bases: type[Exception], what: str, types: str = "", rule: str = "", fix: str = ""
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Declare what the error of a mistake says."""

    def declare(mistake: Callable[[], Any]) -> Callable[[], Any]:
        CASES[mistake.__name__] = Case(mistake, error, bases, what, types, rule, fix)
        return mistake

    return declare


@case(
    DTypeError,
    TypeError,
    what="add: uint16 and int32 tensors do not combine under the policy mindspore",
    types="input_x: u16[2], input_y: i32[2]",
    rule="mindspore",
    fix="convert one of them yourself, as in ops.cast(x, tracejit.float32)",
)
def unknown_pair() -> Any:
    return U2 + I2  # here


@case(
    DTypeError,
    TypeError,
    what="add does not take bool",
    types="input_x: b1[2], input_y: b1[2]",
    rule="Add computes in",
    fix="ops.cast(x, tracejit.int32)",
)
def bool_with_bool() -> Any:
    return ops.add(B2, B2)  # here


@case(DTypeError, TypeError, what="exp does not take int32", types="x: i32[2]", rule="Exp computes in", fix="ops.cast")
def exponential_of_integers() -> Any:
    return ops.exp(I2)  # here


@case(
    ShapeError,
    ValueError,
    what="add: shapes [3] and [2] do not broadcast",
    types="input_x: f32[3], input_y: f32[2]",
    rule="aligned from the last axis",
    fix="ops.reshape",
)
def shapes_of_an_operator() -> Any:
    return F3 + F2  # here


@case(ShapeError, ValueError, what="do not broadcast", types="input_x: f32[3], input_y: f32[2]")
def shapes_of_a_class() -> Any:
    return ops.Maximum()(F3, F2)  # here


@case(ShapeError, ValueError, what="matmul: [1, 3] and [2, 1] cannot be", types="x: f32[1,3], y: f32[2,1]")
def shapes_of_matmul() -> Any:
    return F3.reshape((1, 3)) @ F2.reshape((2, 1))  # here


@case(AttributeTypeError, TypeError, what="got (True, 2)")
def bool_as_length() -> Any:
    return ops.reshape(F2, (True, 2))  # here


@case(AttributeTypeError, TypeError, what="got True (bool)")
def bool_as_axis() -> Any:
    return ops.ReduceSum()(F2, True)  # here


@case(AttributeTypeError, TypeError, what="add takes 2 arguments (input_x, input_y), got 3")
def too_many_operands() -> Any:
    return ops.add(F2, F2, F2)  # here


@case(AttributeTypeError, TypeError, what="add misses its operand 'input_y'")
def too_few_operands() -> Any:
    return ops.add(F2)  # here


@case(AttributeTypeError, TypeError, what="add has no argument 'alpha'", fix="its arguments: input_x, input_y")
def unknown_argument() -> Any:
    return ops.add(F2, F2, alpha=1)  # here


@case(ScalarOverflowError, OverflowError, what="300 does not fit int8 (-128 to 127)", rule="scalar", fix="ops.cast")
def scalar_that_does_not_fit() -> Any:
    return I8 + 300  # here


@case(IndexBoundsError, IndexError, ValueError, RuntimeError, what="gather: index 7 is out of bounds", fix="0 to 1")
def bad_index() -> Any:
    return ops.gather(F2, tensor([7], "int32"), 0)  # here


@case(IndexBoundsError, IndexError, what="index 2 is out of bounds for axis 0 of length 2", types="x: f32[2]")
def bad_position() -> Any:
    return F2[2]  # here


@case(DTypeError, TypeError, what="index tensor must be int32, int64 or bool, not float32", fix="ops.cast")
def index_of_floats() -> Any:
    return F2[F2]  # here


@case(
    ParameterCastError,
    RuntimeError,
    TypeError,
    what="assign_add writes Parameter 'weight' of int32, which the conversion to float32 would need",
    types="variable: i32[2], value: f32[2]",
    rule="a Parameter that an operator writes is never converted",
    fix="ops.cast(value, tracejit.int32)",
)
def converted_parameter() -> Any:
    return ops.assign_add(WEIGHT, F2)  # here


@case(ParameterCastError, RuntimeError, TypeError, what="'weight' of int32", types="i32[2]", fix="tracejit.int32")
def converted_parameter_in_place() -> Any:
    parameter = WEIGHT
    parameter *= 2.5  # here


@case(ParameterError, TypeError, what="which must be a Parameter, not Tensor", rule="never changes", fix="Parameter")
def written_tensor() -> Any:
    return ops.assign(F2, F2)  # here


@case(ParameterAliasError, ValueError, what="would write Parameter 'weight' twice", fix="a Parameter of its own")
def written_twice() -> Any:
    return ops.ApplyMomentum()(WEIGHT, WEIGHT, 0.1, I2, 0.9)  # here


OPERANDS = [
    ("text", "'text' (str)"), (None, "None (NoneType)"), ([1, 2], "[1, 2] (list)"), ((1,), "(1,) (tuple)"),
    ({}, "{} (dict)"), ({1}, "{1} (set)"), (b"x", "b'x' (bytes)"),
]  # fmt: skip
SYMBOLS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,  # symbol
    "mul": lambda x, y: x * y,  # symbol
    "pow": lambda x, y: x**y,  # symbol
    "equal": lambda x, y: x == y,  # symbol
    "less": lambda x, y: x < y,  # symbol
    "floor_mod": lambda x, y: x % y,  # symbol
}
WAYS = pytest.mark.parametrize("way", [lambda f: f, jit], ids=["eager", "jit"])


class Model:
    @jit
    def run(self, mistake: Callable[[], Any] = lambda: None) -> Any:
        return self.mistake()

    mistake: Any


def as_method(mistake: Callable[[], Any]) -> Callable[[], Any]:
    model = Model()
    model.mistake = mistake
    return model.run


FORMS = {"eager": lambda mistake: mistake, "jit": jit, "method": as_method, "nested": lambda f: jit(jit(f))}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CASES)
def test_errors(name: str, form: str):
    mistake, kind, bases, what, types, rule, fix = CASES[name]
    before = WEIGHT.asnumpy()
    call = FORMS[form](mistake)
    for _ in range(2):
        with pytest.raises(kind) as caught:
            call()
        error = caught.value
        assert type(error) is kind and all(issubclass(kind, base) for base in bases)
        assert what in error.what and what in str(error)
        for label, part in (("types", types), ("rule", rule), ("fix", fix)):
            assert not part or re.search(rf"\n  {label}: .*{re.escape(part)}", str(error)), str(error)
        assert_at(error, "here")
        assert_clean(error)
    np.testing.assert_array_equal(WEIGHT.asnumpy(), before)


@WAYS
@pytest.mark.parametrize("name", SYMBOLS)
@pytest.mark.parametrize(("operand", "spelled"), OPERANDS)
def test_operands_that_are_no_tensors(way: Callable[..., Any], name: str, operand: Any, spelled: str):
    symbol = SYMBOLS[name]
    x = I2
    with pytest.raises(DTypeError) as caught:
        way(lambda: symbol(x, operand))()
    assert f"{name}: input_y must be a tensor or a number, not {spelled}" in str(caught.value)
    assert "tracejit.Tensor(data)" in caught.value.fix
    assert_at(caught.value, "symbol")
    assert_clean(caught.value)


@WAYS
def test_operands_of_functions_and_on_the_left(way: Callable[..., Any]):
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: ops.add("text", F2), "add: input_x must be a tensor or a number, not 'text' (str)"),
        (lambda: "text" + F2, "add: input_x must be a tensor or a number, not 'text' (str)"),
        (lambda: [1] + F2, "add: input_x must be a tensor or a number, not [1] (list)"),  # noqa: RUF005
        (lambda: ops.Less()(F2, None), "less: input_y must be a tensor or a number, not None (NoneType)"),
        (lambda: ops.concat(["a", "b"]), "'a' (str)"),
        (lambda: ops.concat(F2), "must be a list or tuple of tensors"),
        (lambda: ops.add(1, 2), "add needs at least one tensor; it was given Python scalars only"),
        (lambda: ops.exp("x"), "exp: x must be a tensor or a number, not 'x' (str)"),
    ]
    for call, message in calls:
        with pytest.raises(DTypeError, match=re.escape(message)):
            way(call)()


def test_a_foreign_operand_gets_a_chance():
    class Foreign:
        def __radd__(self, other: Any) -> str:
            return "foreign"

        def __eq__(self, other: object) -> Any:
            return "equal"

        __hash__ = object.__hash__

    assert F2 + Foreign() == "foreign"
    assert (F2 == Foreign()) == "equal"
    with pytest.raises(TypeError, match="unsupported operand"):
        F2 - Foreign()


# Tensors made of what is no number


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("text", "a Tensor cannot be made of str"),
        (None, "a Tensor cannot be made of NoneType"),
        ([1, "a"], "a Tensor cannot be made of"),
        ([[1], [1, 2]], "a Tensor cannot be made of this list"),
        (np.array(["a"]), "tensors hold booleans and numbers only"),
        (np.array([None]), "dtype object is not supported"),
        (np.array(["2020"], "M8[D]"), "is not supported"),
        (np.zeros(2, [("a", "i4")]), "is not supported"),
        (np.ma.masked_array([1, 2], [True, False]), "the mask would be lost"),
    ],
)
@WAYS
def test_what_no_tensor_is_made_of(way: Callable[..., Any], data: Any, message: str):
    for make in (Tensor, Parameter):
        with pytest.raises((DTypeError, ParameterError)) as caught:
            way(lambda make=make: make(data).copy())()
        if make is Tensor or way is not jit:
            assert message in str(caught.value)
        assert_clean(caught.value)


# Reading traced values


READS: dict[str, tuple[Callable[[Tensor], Any], str, str]] = {
    "if": (lambda x: 1 if x.sum() else 2, "bool needs a value", "select"),
    "and": (lambda x: x.sum() and x, "bool needs a value", "select"),
    "int": (lambda x: int(x.sum()), "int needs a value", "static_argnames"),
    "float": (lambda x: float(x.sum()), "float needs a value", "static_argnames"),
    "complex": (lambda x: complex(x.sum()), "complex needs a value", "static_argnames"),
    "iter": (lambda x: [*x], "iter needs a value", "range(len(x))"),
    "unpack": (lambda x: (lambda a, b: a)(*x), "iter needs a value", "range(len(x))"),
    "np.asarray": (np.asarray, "np.asarray needs a value", "tracejit.ops"),
    "np.array": (lambda x: np.array(x, "float64"), "np.asarray needs a value", "tracejit.ops"),
    "in": (lambda x: 1.0 in x, "in needs a value", "(x == item).any()"),
    "format": (lambda x: f"{x.sum():.2f}", "format needs a value", "static_argnames"),
    "index": (lambda x: [1, 2][x.astype("int32").sum()], "int needs a value", "static_argnames"),
    "range": (lambda x: range(x.astype("int64").sum()), "int needs a value", "static_argnames"),
    "slice": (lambda x: x[: x.astype("int64").sum()], "slice needs a value", "static_argnames"),
    "item": (lambda x: x.sum().item(), "item() needs a value", "static_argnames"),
    "tolist": (lambda x: x.tolist(), "tolist() needs a value", "static_argnames"),
    "asnumpy": (lambda x: x.asnumpy(), "asnumpy() needs a value", "static_argnames"),
    "value": (lambda x: x.value(), "value() needs a value", "static_argnames"),
    "block": (lambda x: x.block_until_ready(), "block_until_ready() needs a value", "static_argnames"),
    "dlpack": (np.from_dlpack, "__dlpack", "static_argnames"),
    "jnp": (jnp.sin, "a JAX function that is given a tracejit Tensor needs a value", "tracejit.ops"),
    "jax.jit": (lambda x: jax.jit(lambda a: a)(x), "given a tracejit Tensor needs a value", "tracejit.ops"),
    "jax.grad": (lambda x: jax.grad(lambda a: a.sum())(x), "given a tracejit Tensor needs a value", "tracejit.ops"),
    "jax.tree": (lambda x: jax.tree.map(lambda a: a * 2, [x]), "given a tracejit Tensor needs", "tracejit.ops"),
}


@pytest.mark.parametrize("read", READS)
def test_reading_a_traced_value(read: str):
    function, what, fix = READS[read]

    def traced_function(x: Tensor) -> Any:
        return function(x)

    f = jit(traced_function)
    for _ in range(2):
        with pytest.raises(TraceError) as caught:
            f(F2)
        message = str(caught.value)
        assert isinstance(caught.value, TypeError)
        assert what in message and "traced_function is being traced" in message
        assert "rule: the value comes from" in message
        assert fix in caught.value.fix
        assert_clean(caught.value)


def test_the_message_names_the_line_that_made_the_value():
    def branch(x: Tensor) -> Tensor:
        large = x.sum() > 3
        if large:
            return x
        return -x

    with pytest.raises(TraceError) as caught:
        jit(branch)(F2)
    message = str(caught.value)
    assert "large = x.sum() > 3" in caught.value.rule and "greater at test_errors.py:" in caught.value.rule
    assert "if large:" in message and "types: value: b1[]" in message
    assert "ops.select(large, x, y)" in caught.value.fix
    with pytest.raises(TraceError, match="the value comes from argument x"):
        jit(lambda x: bool(x))(F2)


def test_formatting_a_traced_value_without_a_format():
    seen = []
    jit(lambda x: (seen.append(f"{x} {x!r} {x!s}"), x)[1])(F2)
    assert seen == ["Tensor<f32[2], traced> " * 2 + "Tensor<f32[2], traced>"]
    assert len(jit(lambda x: ops.ones((len(x),)))(F2)) == 2


def test_other_jax_functions_name_the_tensor():
    for function in (jnp.stack, jnp.where, jax.lax.neg):
        with pytest.raises(TypeError, match=r"tracejit\.tensor\.Tensor"):
            jit(lambda x, function=function: function((x, x) if function is jnp.stack else x))(F2)
    with pytest.raises(TypeError, match="Tensor"):
        jit(lambda x: np.sin(x))(F2)


def test_what_eager_tensors_refuse():
    calls: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: bool(F2), ValueError, "bool() takes a Tensor of one element"),
        (lambda: int(F2), ValueError, "int() takes a Tensor of one element"),
        (lambda: len(tensor(1)), TypeError, "len() of a 0-d Tensor"),
        (lambda: list(tensor(1)), TypeError, "a 0-d Tensor cannot be iterated over"),
        (lambda: [1, 2][tensor(1)], TypeError, "a Tensor of float32 cannot be used as an index"),
        (lambda: F2.__setitem__(0, I8), ValueError, "[2]"),
        (lambda: tensor([1], "int8").__setitem__(0, 1.5), TypeError, "a Python float does not fit int8"),
        (lambda: tensor([1], "int8").__setitem__(0, I2[:1]), TypeError, "would lose value converting int32 to int8"),
    ]
    for call, kind, message in calls:
        with pytest.raises(kind, match=re.escape(message)) as caught:
            call()
        assert_clean(caught.value)
    assert int(tensor([3])) == 3 and float(tensor(2.5)) == 2.5 and bool(tensor([[1]])) is True
    assert f"{tensor(3.14159):.2f}" == "3.14" and 2 in F2 and 7 not in F2
    assert [float(x) for x in F2] == [1.0, 2.0] and [10, 20][tensor(1, "int8")] == 20


# Escaped values


def escaped_value() -> Tensor:
    kept = []

    def leaky(x: Tensor) -> Tensor:
        kept.append(x * 2)  # made here
        return x

    jit(leaky)(F2)
    return kept[0]


ESCAPES: dict[str, Callable[[Tensor], Any]] = {
    "operator": lambda v: v + 1,
    "reflected": lambda v: 1 + v,
    "with a tensor": lambda v: F2 * v,
    "function": lambda v: ops.exp(v),
    "class": lambda v: ops.Add()(F2, v),
    "method": lambda v: v.sum(),
    "variadic": lambda v: ops.concat([F2, v]),
    "index": lambda v: v[0],
    "item assignment": lambda v: v.__setitem__(0, 1),
    "assigned value": lambda v: tensor([[1, 2]]).__setitem__(0, v),
    "bool": bool,
    "float": float,
    "list": list,
    "np.asarray": np.asarray,
    "asnumpy": lambda v: v.asnumpy(),
    "value": lambda v: v.value(),
    "cast": lambda v: Tensor(v, "int32"),
    "list of tensors": lambda v: Tensor([v, v]),
    "argument": jit(lambda x: x * 2),
    "argument in a tree": lambda v: jit(lambda tree: tree[0] * 2)([v]),
    "keyword argument": lambda v: jit(lambda x, y: x)(F2, y=v),
    "argument of a function that has run": lambda v: (lambda f: (f(F2), f(v)))(jit(lambda x: x * 2)),
    "argument with captures": lambda v: (lambda f: (f(F2), f(v)))(jit(lambda x: x * F2)),
    "argument with state": lambda v: (lambda f: (f(I2), f(v)))(jit(lambda x: WEIGHT + x)),
    "captured": lambda v: jit(lambda x: x + v)(F2),
    "returned": lambda v: jit(lambda x: v)(F2),
    "trace": lambda v: jit(lambda x: x).trace(v),
    "assign": lambda v: ops.assign(WEIGHT, v),
    "jnp": jnp.sin,
    "jax.jit": lambda v: jax.jit(lambda a: a)(v),
    "jax.vmap": lambda v: jax.vmap(lambda a: a)(v),
    "format": lambda v: f"{v:.1f}",
}


@pytest.mark.parametrize("use", ESCAPES)
def test_a_value_used_after_its_trace(use: str):
    value, before = escaped_value(), WEIGHT.asnumpy()
    for _ in range(2):
        with pytest.raises(EscapedValueError) as caught:
            ESCAPES[use](value)
        error = caught.value
        assert isinstance(error, RuntimeError) and isinstance(error, TypeError)
        assert "a traced value of leaky was used after its trace (it escaped from jit)" in str(error)
        assert re.search(r"made by mul at test_errors.py:\d+: kept.append\(x \* 2\)  # made here", error.rule)
        assert "return it from leaky" in error.fix
        if "jax" not in use and "jnp" not in use:
            assert_clean(error)
    np.testing.assert_array_equal(WEIGHT.asnumpy(), before)


def test_the_repr_of_an_escaped_value():
    assert repr(escaped_value()) == "Tensor<f32[2], traced>"


def test_a_traced_value_in_another_thread():
    caught: list[BaseException] = []

    def use(x: Tensor) -> None:
        for call in (lambda: x + 1, lambda: jit(lambda y: y)(x), lambda: np.asarray(x)):
            try:
                call()
            except TracejitError as error:
                caught.append(error)

    def function(x: Tensor) -> Tensor:
        thread = threading.Thread(target=use, args=(x * 2,))
        thread.start()
        thread.join()
        return x

    jit(function)(F2)
    assert [type(error) for error in caught] == [EscapedValueError, TraceError, TraceError]
    for error in caught:
        assert "function" in str(error)
        assert_clean(error)


def test_an_argument_that_escapes_is_named():
    kept = []
    jit(lambda weights: kept.append(weights))(F2)
    with pytest.raises(EscapedValueError, match="types: weights: f32"):
        kept[0] + 1


# Policies


@WAYS
def test_strict_reports_all_conversions_at_once(way: Callable[..., Any]):
    def mixed(x: Tensor, y: Tensor) -> Tensor:
        total = x + y
        return total * tensor([0.5, 0.5], "float64")

    def run() -> Any:
        return way(mixed)(I8, F2) if way is jit else mixed(I8, F2)

    with tracejit.promotion("strict"), pytest.raises(ImplicitCastError) as caught:
        run()
    message = str(caught.value)
    assert "add: input_x i8[2] to f32" in message and "total = x + y" in message
    assert ("2 implicit conversions in mixed" in message) == (way is jit)
    assert ("mul: input_x f32[2] to f64" in message) == (way is jit)
    assert "rule: strict" in message and "ops.cast" in caught.value.fix
    assert_clean(caught.value)


# JAX's own transformations


def test_a_64_bit_graph_under_the_users_transformation():
    assert not jax.config.jax_enable_x64
    f = jit(lambda x: x * tensor([1, 2], "float64"))  # wide
    p = Parameter(tensor([1, 2], "float64"), name="p")
    g = jit(lambda x: x * p)
    for function in (f, g, lambda x: x * tensor([1, 2], "float64"), jit(lambda x: ops.cast(x, "int64"))):
        function(F2)  # at top level the user's setting does not matter
        for transform in (lambda h: jax.jit(h)(jnp.ones(2)), lambda h: jax.grad(lambda a: h(a).sum())(jnp.ones(2))):
            for _ in range(2):
                with pytest.raises(X64Error) as caught:
                    transform(lambda a, function=function: function(Tensor(a)).value())
                message = str(caught.value)
                assert isinstance(caught.value, TypeError)
                assert "64-bit type" in message and "jax_enable_x64" in message and '"jax_enable_x64", True' in message
        function(F2)
    assert not jax.config.jax_enable_x64


def test_state_errors_name_the_parameter_and_the_way_out():
    def loss(a: Any) -> Any:
        ops.assign_add(WEIGHT, I2)  # write
        return a.sum()

    before = WEIGHT.asnumpy()
    with pytest.raises(StateError) as caught:
        jax.grad(loss)(jnp.ones(2))
    message = str(caught.value)
    assert "Parameter weight would be written under a JAX transformation" in message
    assert "functional" in message and "tracejit" in caught.value.fix
    assert caught.value.location is not None and caught.value.location.text.endswith("# write")
    np.testing.assert_array_equal(WEIGHT.asnumpy(), before)


def test_reading_a_jax_tracer():
    reads: list[Callable[[Tensor], Any]] = [bool, float, np.asarray, lambda x: 1 in x, lambda x: f"{x:.1f}"]
    reads += [lambda x: x.asnumpy(), lambda x: x.tolist(), lambda x: x.item()]
    for read in reads:
        for transform in (jax.jit, jax.grad, lambda f: lambda a: jax.vmap(f)(a[None])):
            with pytest.raises(TraceError, match="holds a tracer of a JAX transformation") as caught:
                transform(lambda a, read=read: read(Tensor(a)))(jnp.ones(()))
            assert "jax.jit" in caught.value.rule
            assert not re.search(r"/(tracejit|lowering)/\w+\.py", text_of(caught.value))


# The remaining classes


def test_too_many_traces():
    f = jit(lambda x: x, max_traces=1)
    f(F2)
    with pytest.raises(RetraceLimitError, match="would be traced again, and max_traces is 1") as caught:
        f(F3)  # here
    assert "argument x: f32[2] became f32[3]" in caught.value.rule
    assert_at(caught.value, "here")
    assert_clean(caught.value)


def test_attribute_values():
    for call in (lambda: jit(lambda x: x, on_lossy="x"), lambda: jit(lambda x: x, static_argnums=5)):
        with pytest.raises(AttributeValueError) as caught:
            call()
        assert isinstance(caught.value, ValueError)
        assert_clean(caught.value)


def test_every_class_stands_for_a_built_in_exception():
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, TracejitError)]
    assert len(classes) > 15
    for kind in classes:
        if kind is not TracejitError:
            assert any(base.__module__ == "builtins" and base is not Exception for base in kind.__mro__[1:-3]), kind
            assert kind.__doc__
    assert not issubclass(ShapeError, TypeError) and not issubclass(DTypeError, ValueError)


def test_the_parts_of_an_error():
    with pytest.raises(ShapeError) as caught:
        F3 + F2
    error = caught.value
    assert error.what == "add: shapes [3] and [2] do not broadcast"
    assert {name: str(type_) for name, type_ in error.types.items()} == {"input_x": "f32[3]", "input_y": "f32[2]"}
    assert error.rule and error.fix and error.location and error.location.file == __file__
    lines = str(error).splitlines()
    assert lines[0] == error.what
    assert [line.split(":")[0].strip() for line in lines[3:]] == ["types", "rule", "fix"]


def test_an_error_can_be_caught_and_the_function_goes_on():
    def function(x: Tensor) -> Tensor:
        try:
            return x + F3
        except ShapeError as error:
            assert "do not broadcast" in str(error)
            return x + F2

    np.testing.assert_array_equal(jit(function)(F2).asnumpy(), [2, 4])


@pytest.mark.parametrize("inside", [False, True])
def test_jax_keys_are_no_tensors(inside: bool):
    make = lambda: Tensor(jax.random.key(0))  # noqa: E731
    with pytest.raises(DTypeError, match="key<fry> is not a dtype"):
        jit(make)() if inside else make()
