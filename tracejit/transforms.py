"""Transforms with JAX's names: `grad`, `value_and_grad`, `vjp`, `jvp`, `vmap`, `checkpoint`, `custom_vjp`.

Inside a trace each is one operation with a region, which printed Graphs show, and into which promotion sees. Called
outside of one, it is traced and run at once. Gradients flow back through implicit casts, each in its operand's own
dtype. Parameters that the function writes are written once, in program order, and their new values are constants to
the gradient; under `vmap` nothing may be written.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ambient import DEFAULT_POLICY
from tracejit.bridge import backend
from tracejit.dtypes import is_inexact
from tracejit.errors import (
    AttributeTypeError,
    AttributeValueError,
    DTypeError,
    ParameterError,
    ShapeError,
    StateError,
    hide_frames,
)
from tracejit.ir import ScalarType, TensorType, Type, Value
from tracejit.ops.record import RECORDS
from tracejit.parameter import Parameter
from tracejit.regions import (
    Leaves,
    Region,
    as_tensor_value,
    current_builder,
    record_regions,
    results_tree,
    spell_tree,
    trace_region,
    tracing_again,
)
from tracejit.structured import run_once
from tracejit.tensor import Tensor, public


def _transformed(function: Callable[..., Any], record: Callable[..., Any]) -> Callable[..., Any]:
    """Make the callable of a transform: recorded inside a trace, run at once outside."""

    @functools.wraps(function, updated=())
    def run(*args: Any) -> Any:
        try:
            return record(*args) if current_builder() is not None else run_once(record, args)
        except Exception as error:
            hide_frames(error)
            raise

    return run


def _check_callable(name: str, function: Any) -> None:
    if not callable(function):
        raise AttributeTypeError(f"{name} takes a function, got {function!r}")


def _positions(name: str, argnums: Any) -> tuple[int, ...]:
    given = argnums if isinstance(argnums, tuple | list) else (argnums,)
    for number in given:
        if isinstance(number, bool) or not isinstance(number, int):
            raise AttributeTypeError(f"{name}: argnums must be an int or a tuple of ints, got {argnums!r}")
    return tuple(given)


class _Arguments:
    """The arguments of a transformed call: each a tree of leaves, in the current trace.

    Python scalars become tensors of their default dtype where `tensors` says so; elsewhere they stay what they are.
    """

    def __init__(self, args: Sequence[Any], tensors: Sequence[int]):
        self.trees = [Leaves(argument) for argument in args]
        builder = current_builder()
        assert builder is not None
        for position in tensors:
            tree = self.trees[position]
            tree.values = [as_tensor_value(builder, value) for value in tree.values]

    @property
    def values(self) -> list[Value]:
        return [value for tree in self.trees for value in tree.values]

    @property
    def names(self) -> list[str | None]:
        return [f"arg{i}.{name}" if name else f"arg{i}" for i, tree in enumerate(self.trees) for name in tree.names]

    def of(self, handles: Sequence[Any]) -> list[Any]:
        """Return the arguments made of other leaves."""
        rest = iter(handles)
        return [tree.tree([next(rest) for _ in tree.values]) for tree in self.trees]

    def places(self, position: int) -> list[int]:
        """Return where the leaves of one argument stand among all."""
        start = sum(len(tree.values) for tree in self.trees[:position])
        return list(range(start, start + len(self.trees[position].values)))


@public
def grad(
    fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *, params: Sequence[Parameter] = ()
) -> Callable[..., Any]:
    """Make the function that gives the gradient of `fun`, which returns one real number.

    Args:
        fun: the function; with `has_aux` it returns a pair of the number and anything else.
        argnums: by which arguments (their trees); None for none.
        has_aux: whether to return the pair (gradient, anything else).
        params: Parameters by whose values to differentiate, in a tuple of their own.

    Returns:
        A function of the same arguments: the gradients by argument (a tuple if argnums is one), those by Parameter, or
        the pair of both. Each has the dtype of what it belongs to.

    Raises:
        DTypeError: an argument named by argnums is an integer or bool; the function returns no real number.

    >>> import tracejit
    >>> tracejit.grad(lambda x: (x * x).sum())(tracejit.Tensor([1.0, 2.0]))
    Tensor([2., 4.], dtype=float32)
    """
    both = value_and_grad(fun, argnums, has_aux, params=params)

    def record(*args: Any) -> Any:
        value, gradient = both(*args)
        return (gradient, value[1]) if has_aux else gradient

    return _transformed(fun, record)


@public
def value_and_grad(
    fun: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *, params: Sequence[Parameter] = ()
) -> Callable[..., Any]:
    """Make the function that gives the value of `fun` and its gradient; see `grad`.

    >>> import tracejit
    >>> w = tracejit.Parameter([3.0], name="w")
    >>> loss = tracejit.value_and_grad(lambda x: (w * x).sum(), argnums=None, params=[w])
    >>> loss(tracejit.Tensor([2.0]))
    (Tensor(6., dtype=float32), (Tensor([2.], dtype=float32),))
    """
    _check_callable("grad", fun)
    numbers = () if argnums is None else _positions("grad", argnums)
    chosen = _parameters(params)
    if not numbers and not chosen:
        raise AttributeValueError("grad: neither argnums nor params name anything to differentiate by")

    def record(*args: Any) -> Any:
        arguments = _differentiable("grad", args, numbers)
        region = _differentiated_region(fun, arguments)
        loss = _split_loss(region, has_aux)
        places = [place for number in numbers for place in arguments.places(number % len(args))]
        values, gradients = _record_grad(region, arguments, places, chosen)
        value = results_tree(region.structure, values)
        return (value if not has_aux else (value[0], value[1])), _gradients_tree(
            argnums, numbers, arguments, gradients, len(chosen), len(args), loss
        )

    return _transformed(fun, record)


def _parameters(params: Any) -> tuple[Parameter, ...]:
    chosen = (params,) if isinstance(params, Parameter) else tuple(params)
    for parameter in chosen:
        if not isinstance(parameter, Parameter):
            raise ParameterError(f"grad: params holds {parameter!r}, which is no Parameter")
        if not is_inexact(parameter.dtype):
            raise DTypeError(
                f"grad: Parameter {parameter.name!r} of {parameter.dtype.name} has no gradient",
                fix="differentiate by float Parameters only",
            )
    return chosen


def _differentiable(name: str, args: Sequence[Any], numbers: Sequence[int]) -> _Arguments:
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise AttributeValueError(f"{name}: argnums names argument {number}, but {len(args)} are given")
    arguments = _Arguments(args, [number % len(args) for number in numbers])
    for number in numbers:
        for value in arguments.trees[number % len(args)].values:
            if not is_inexact(value.type.dtype):
                raise DTypeError(
                    f"{name}: argument {number} is {value.type}; only floats have a gradient",
                    types={f"argument {number}": value.type},
                    fix="leave it out of argnums, or convert it, as in ops.cast(x, tracejit.float32)",
                )
    return arguments


def _differentiated_region(fun: Callable[..., Any], arguments: _Arguments) -> Region:
    types = [value.type for value in arguments.values]
    return trace_region(fun, types, arguments.of, differentiated=True, names=arguments.names)


def _split_loss(region: Region, has_aux: bool) -> Value:
    """Check what the function returns; its first leaf is the number to differentiate."""
    count = len(region.outputs)
    if count == 0 or (count != 1 and not has_aux):
        raise DTypeError(
            f"grad: {region.builder.name} must return one real number, and returns {count} values",
            types={name or "result": type_ for name, type_ in zip(region.names, region.types)},
            fix="reduce it, as in loss.mean(); has_aux=True allows a pair (loss, anything)",
        )
    with tracing_again(region):
        region.outputs = [as_tensor_value(region.builder, value) for value in region.outputs]
    loss = region.outputs[0]
    if loss.type.shape:
        raise ShapeError(
            f"grad: {region.builder.name} must return one real number, not {loss.type}",
            fix="reduce it, as in loss.mean() or loss.sum()",
        )
    if loss.type.dtype.kind != "float":
        raise DTypeError(
            f"grad: {region.builder.name} must return one real number, not {loss.type}",
            fix="compute the loss in a float dtype",
        )
    return loss


def _record_grad(
    region: Region, arguments: _Arguments, places: Sequence[int], chosen: Sequence[Parameter]
) -> tuple[Sequence[Value], Sequence[Value]]:
    for parameter in chosen:
        parameter._slot(region.builder)  # one that the function does not use has a gradient of zeros
    slots = list(region.builder.slots.values())
    by_state = [next(i for i, slot in enumerate(slots) if slot.key is p._storage) for p in chosen]
    values = arguments.values
    gradient_types: list[Type] = [values[place].type for place in places]
    gradient_types += [parameter._type for parameter in chosen]
    attributes = {"arguments": tuple(places), "parameters": tuple(by_state)}
    results = record_regions("value_and_grad", values, [region], [*region.types, *gradient_types], attributes)
    return results[: len(region.outputs)], results[len(region.outputs) :]


def _gradients_tree(
    argnums: Any,
    numbers: Sequence[int],
    arguments: _Arguments,
    gradients: Sequence[Value],
    parameters: int,
    count: int,
    loss: Value,
) -> Any:
    rest = iter(gradients)
    by_argument = []
    for number in numbers:
        tree = arguments.trees[number % count]
        by_argument.append(results_tree(tree.structure, [next(rest) for _ in tree.values]))
    single = not isinstance(argnums, tuple | list)
    of_arguments = by_argument[0] if single and by_argument else tuple(by_argument)
    if not parameters:
        return of_arguments
    of_parameters = tuple([results_tree(backend.LEAF, [value]) for value in rest])
    return (of_arguments, of_parameters) if numbers else of_parameters


@public
def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Return the value of a function, and its derivative along tangents (of the primals' types).

    >>> import tracejit
    >>> tracejit.jvp(lambda x: x * x, (tracejit.Tensor(3.0),), (tracejit.Tensor(1.0),))
    (Tensor(9., dtype=float32), Tensor(6., dtype=float32))
    """
    _check_callable("jvp", fun)

    def record(primals: Any, tangents: Any) -> Any:
        arguments = _differentiable("jvp", primals, range(len(primals)))
        along = _like(arguments, tangents, "jvp", "tangent")
        region = _tensor_region(_differentiated_region(fun, arguments))
        types = region.types
        results = record_regions(
            "jvp", [*arguments.values, *along], [region], [*types, *types], {"arguments": len(arguments.values)}
        )
        value, derivative = results[: len(types)], results[len(types) :]
        return results_tree(region.structure, value), results_tree(region.structure, derivative)

    return _transformed(fun, record)(tuple(primals), tuple(tangents))


def _like(arguments: _Arguments, given: Sequence[Any], name: str, what: str) -> list[Value]:
    """Return the leaves of tangents, checked against the types of the arguments."""
    if len(given) != len(arguments.trees):
        raise AttributeValueError(f"{name}: {len(arguments.trees)} primals and {len(given)} {what}s are given")
    others = _Arguments(given, range(len(given))).values
    _check_types([value.type for value in arguments.values], others, name, what)
    return others


def _check_types(wanted: Sequence[Type], given: Sequence[Value], name: str, what: str) -> None:
    if len(wanted) != len(given):
        raise AttributeValueError(f"{name}: {len(wanted)} {what}s are needed, got {len(given)}")
    for type_, value in zip(wanted, given):
        if value.type != type_:
            kind = ShapeError if value.type.dtype is type_.dtype else DTypeError
            raise kind(f"{name}: a {what} must be {type_}, got {value.type}", types={"wanted": type_, what: value.type})


def _tensor_region(region: Region) -> Region:
    with tracing_again(region):
        region.outputs = [as_tensor_value(region.builder, value) for value in region.outputs]
    return region


@public
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return the value of a function, and the function from cotangents of it to those of the arguments.

    With `has_aux` the function returns a pair, of which the second part is returned as a third value. Inside a trace
    the function's operations stand twice in the Graph; XLA merges them.

    >>> import tracejit
    >>> value, back = tracejit.vjp(lambda x, y: x * y, tracejit.Tensor(3.0), tracejit.Tensor(4.0))
    >>> value, back(tracejit.Tensor(1.0))
    (Tensor(12., dtype=float32), (Tensor(4., dtype=float32), Tensor(3., dtype=float32)))
    """
    _check_callable("vjp", fun)

    def forward(*args: Any) -> Any:
        return fun(*args)

    def record(args: Any, cotangents: Any) -> Any:
        arguments = _differentiable("vjp", args, range(len(args)))
        first = (lambda *given: fun(*given)[0]) if has_aux else fun
        region = _tensor_region(_differentiated_region(first, arguments))
        builder = current_builder()
        assert builder is not None
        along = [as_tensor_value(builder, value) for value in Leaves(cotangents).values]
        _check_types(region.types, along, "vjp", "cotangent")
        types = [value.type for value in arguments.values]
        attributes = {"arguments": len(types)}
        results = iter(record_regions("vjp", [*arguments.values, *along], [region], types, attributes))
        return tuple([results_tree(tree.structure, [next(results) for _ in tree.values]) for tree in arguments.trees])

    value = _transformed(fun, forward)(*primals)

    @public
    def back(cotangents: Any) -> Any:
        return _transformed(fun, record)(tuple(primals), cotangents)

    return (value[0], back, value[1]) if has_aux else (value, back)


@public
def vmap(fun: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Make the function that maps `fun` over an axis of its arguments.

    Args:
        fun: the function of one example; it may read Parameters, not write them.
        in_axes: per argument the axis to map over, None for an argument that is the same for all; one for all.
        out_axes: the same for the results.

    Raises:
        StateError: the function writes a Parameter.
        ShapeError: the mapped axes differ in length, or none is mapped.

    >>> import tracejit
    >>> tracejit.vmap(lambda x, y: (x * y).sum(), in_axes=(0, None))(
    ...     tracejit.Tensor([[1.0, 2.0], [3.0, 4.0]]), tracejit.Tensor([1.0, 10.0]))
    Tensor([21., 43.], dtype=float32)
    """
    _check_callable("vmap", fun)
    _check_axes("in_axes", in_axes)
    _check_axes("out_axes", out_axes)

    def record(*args: Any) -> Any:
        axes = _spread(in_axes, len(args))
        arguments = _Arguments(args, [i for i, axis in enumerate(axes) if axis is not None])
        mapped = [axis for axis, tree in zip(axes, arguments.trees) for _ in tree.values]
        values = arguments.values
        size, normal = _mapped_size(values, mapped)
        types = [_without(value.type, axis) for value, axis in zip(values, normal)]
        region = _tensor_region(
            trace_region(fun, types, arguments.of, no_writes="under vmap", keeps_checks=True, names=arguments.names)
        )
        out = _out_axes(out_axes, region)
        checks = region.builder.checks
        region.outputs += [told for _, _, told in checks]
        out += [0] * len(checks)
        results = [_with(type_, axis, size) for type_, axis in zip(region.types, out)]
        attributes = {"in_axes": tuple(normal), "out_axes": tuple(out), "size": size}
        recorded = record_regions("vmap", values, [region], results, attributes)
        _pass_on(checks, recorded[len(recorded) - len(checks) :])
        return results_tree(region.structure, recorded[: len(recorded) - len(checks)])

    return _transformed(fun, record)


def _pass_on(checks: Sequence[Any], told: Sequence[Value]) -> None:
    """Keep what the index checks of all mapped examples tell."""
    builder = current_builder()
    assert builder is not None
    for (operation, bound, one), all_of_them in zip(checks, told):
        none = builder.record(RECORDS["no_bad_index"], [], {"dtype": one.type.dtype}, DEFAULT_POLICY).result
        first = builder.record(RECORDS["first_bad_index"], [none, all_of_them], {}, DEFAULT_POLICY).result
        builder.add_check(operation, bound, first)


def _check_axes(name: str, axes: Any) -> None:
    items = axes if isinstance(axes, tuple | list) else (axes,)
    for axis in items:
        if isinstance(axis, bool) or not (axis is None or isinstance(axis, int)):
            raise AttributeTypeError(f"vmap: {name} holds ints and None, got {axis!r} ({type(axis).__name__})")


def _spread(axes: Any, count: int) -> list[int | None]:
    if not isinstance(axes, tuple | list):
        return [axes] * count
    if len(axes) != count:
        raise AttributeValueError(f"vmap: in_axes names {len(axes)} arguments, {count} are given")
    return list(axes)


def _mapped_size(values: Sequence[Value], axes: Sequence[int | None]) -> tuple[int, list[int | None]]:
    normal: list[int | None] = []
    sizes: dict[int, Type] = {}
    for value, axis in zip(values, axes):
        rank = len(value.type.shape)
        if axis is None or isinstance(value.type, ScalarType):
            normal.append(None)
            continue
        if not -rank <= axis < rank:
            raise ShapeError(f"vmap: axis {axis} is out of range for {value.type}", types={"argument": value.type})
        normal.append(axis % rank)
        sizes[value.type.shape[axis]] = value.type
    if len(sizes) != 1:
        raise ShapeError(
            "vmap: the mapped axes differ in length" if sizes else "vmap: no argument is mapped",
            types={f"length {size}": type_ for size, type_ in sizes.items()},
            fix="give the mapped arguments equal lengths along their axes" if sizes else "set an axis in in_axes",
        )
    return next(iter(sizes)), normal


def _without(type_: Type, axis: int | None) -> Type:
    if axis is None:
        return type_
    return TensorType(type_.dtype, type_.shape[:axis] + type_.shape[axis + 1 :])


def _out_axes(out_axes: Any, region: Region) -> list[int]:
    given = out_axes if isinstance(out_axes, tuple | list) else [out_axes] * len(region.outputs)
    if len(given) != len(region.outputs):
        raise AttributeValueError(f"vmap: out_axes names {len(given)} results, there are {len(region.outputs)}")
    for axis, type_ in zip(given, region.types):
        rank = len(type_.shape) + 1
        if axis is None or not -rank <= axis < rank:
            raise AttributeValueError(f"vmap: out_axes {axis} is out of range for a result of {type_}")
    return [axis % (len(type_.shape) + 1) for axis, type_ in zip(given, region.types)]


def _with(type_: Type, axis: int, size: int) -> Type:
    return TensorType(type_.dtype, (*type_.shape[:axis], size, *type_.shape[axis:]))


@public
def checkpoint(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function whose intermediate values are computed again for the gradient instead of being kept.

    >>> import tracejit
    >>> tracejit.grad(tracejit.checkpoint(lambda x: (x * x).sum()))(tracejit.Tensor([3.0]))
    Tensor([6.], dtype=float32)
    """
    _check_callable("checkpoint", fun)

    def record(*args: Any) -> Any:
        arguments = _Arguments(args, range(len(args)))
        types = [value.type for value in arguments.values]
        region = _tensor_region(trace_region(fun, types, arguments.of, names=arguments.names))
        return results_tree(region.structure, record_regions("checkpoint", arguments.values, [region], region.types))

    return _transformed(fun, record)


class custom_vjp:
    """A function with a gradient of your own, as in JAX: `defvjp(fwd, bwd)`.

    `fwd` takes the arguments and returns (value, residuals); `bwd` takes (residuals, cotangent) and returns a tuple
    with a cotangent per argument.

    >>> import tracejit
    >>> @tracejit.custom_vjp
    ... def clipped(x):
    ...     return x * 2
    >>> clipped.defvjp(lambda x: (x * 2, x), lambda x, g: (g * 10,))
    >>> tracejit.grad(clipped)(tracejit.Tensor(1.0))
    Tensor(10., dtype=float32)
    """

    @public
    def __init__(self, fun: Callable[..., Any]):
        _check_callable("custom_vjp", fun)
        self._fun = fun
        self._rules: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        functools.update_wrapper(self, fun, updated=())

    @public
    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Give the forward and the backward function."""
        _check_callable("defvjp", fwd)
        _check_callable("defvjp", bwd)
        self._rules = (fwd, bwd)

    @public
    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        if self._rules is None:
            raise AttributeTypeError(f"{self._fun.__name__}: no gradient is given yet", fix="call defvjp(fwd, bwd)")
        return _transformed(self._fun, self._record)(*args)

    def _record(self, *args: Any) -> Any:
        assert self._rules is not None
        fwd, bwd = self._rules
        arguments = _Arguments(args, range(len(args)))
        types = [value.type for value in arguments.values]
        first = _custom_region(self._fun, types, arguments.of, arguments.names)
        split: list[Any] = []
        second = _custom_region(_flat_pair(fwd, split), types, arguments.of, arguments.names)
        count, residuals = split[-1]
        _same_results(first, second, count)
        back_types = [*second.types[count:], *first.types]
        number = len(second.outputs) - count

        def back(handles: Sequence[Tensor]) -> Sequence[Any]:
            return backend.unflatten(residuals, handles[:number]), backend.unflatten(first.structure, handles[number:])

        third = _custom_region(_by_leaf(bwd, arguments.trees), back_types, back)
        _check_types(types, third.outputs, f"custom_vjp of {self._fun.__name__}", "cotangent of the backward function")
        attributes = {"results": count, "arguments": len(types)}
        results = record_regions("custom_vjp", arguments.values, [first, second, third], first.types, attributes)
        return results_tree(first.structure, results)


def _custom_region(
    function: Callable[..., Any],
    types: Sequence[Type],
    arguments: Callable[[list[Tensor]], Sequence[Any]],
    names: Sequence[str | None] = (),
) -> Region:
    where = "in a function with a gradient of its own"
    region = _tensor_region(trace_region(function, types, arguments, no_writes=where, keeps_checks=True, names=names))
    if region.builder.checks:
        operation = region.builder.checks[0][0]
        raise StateError(
            f"{operation.name}: indices cannot be checked {where}",
            location=operation.location,
            rule="check_indices=True: what a check tells cannot leave such a function",
            fix="check the indices before the call, or trace it inside `with tracejit.check_indices(False):`",
        )
    return region


def _by_leaf(bwd: Callable[..., Any], trees: Sequence[Leaves]) -> Callable[..., Any]:
    """Make the backward function return a cotangent for each leaf of the arguments: zeros for None and integers."""

    def backward(residuals: Any, cotangents: Any) -> list[Any]:
        given = bwd(residuals, cotangents)
        if not isinstance(given, tuple | list) or len(given) != len(trees):
            raise AttributeTypeError(
                f"custom_vjp: the backward function must return a tuple of {len(trees)} cotangents, one per argument, "
                f"not {given!r}"
            )
        return [leaf for tree, cotangent in zip(trees, given) for leaf in _cotangents(tree, cotangent)]

    backward.__name__ = getattr(bwd, "__name__", "backward")
    return backward


def _cotangents(tree: Leaves, given: Any) -> list[Any]:
    zeros = [np.zeros(type_.shape, type_.dtype.numpy) for type_ in tree.types]
    if given is None:
        return zeros
    named, structure = backend.flatten_named(given)
    if structure != tree.structure:
        raise DTypeError(
            "custom_vjp: a cotangent has other containers than its argument",
            types={"argument": spell_tree(tree.structure), "cotangent": spell_tree(structure)},
        )
    return [leaf if is_inexact(t.dtype) else zero for (_, leaf), t, zero in zip(named, tree.types, zeros)]


def _flat_pair(fwd: Callable[..., Any], split: list[Any]) -> Callable[..., Any]:
    def forward(*args: Any) -> list[Any]:
        pair = fwd(*args)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise AttributeTypeError(f"custom_vjp: the forward function must return (value, residuals), not {pair!r}")
        values, _ = backend.flatten_named(pair[0])
        residuals, structure = backend.flatten_named(pair[1])
        split.append((len(values), structure))
        return [leaf for _, leaf in (*values, *residuals)]

    forward.__name__ = getattr(fwd, "__name__", "forward")
    return forward


def _same_results(first: Region, second: Region, count: int) -> None:
    if first.types != second.types[:count]:
        raise DTypeError(
            "custom_vjp: the forward function returns another value than the function",
            types={"function": first.types, "forward": second.types[:count]},
        )
