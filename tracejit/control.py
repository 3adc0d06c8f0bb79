"""Structured control flow: `cond`, `switch`, `while_loop`, `fori_loop`, `scan`, with JAX's names and arguments.

Inside a trace each is one operation with regions; called outside of one, it is traced and run at once. Parameters may
be read anywhere and written in branches and loop bodies, in program order; not in a loop's condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit.ambient import current_policy
from tracejit.bridge import backend
from tracejit.dtypes import DType, bool_, int32, int64, is_integer
from tracejit.errors import AttributeTypeError, DTypeError, ShapeError
from tracejit.ir import Literal, ScalarType, TensorType, Type, Value
from tracejit.ops.record import RECORDS
from tracejit.policies import UNKNOWN, Operand, PromotionError
from tracejit.regions import (
    Leaves,
    Region,
    as_tensor_value,
    cast_value,
    current_builder,
    output_value,
    record_regions,
    results_tree,
    spell_tree,
    trace_region,
    tracing_again,
)
from tracejit.structured import structured

# Branches


@structured(fixed=(1, 2))
def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """Call one of two functions, by a condition that is known when the program runs.

    Args:
        pred: a 0-d bool tensor (or a Python bool).
        true_fun: called with the operands if the condition holds.
        false_fun: called with the operands if it does not. Both return the same tree, shapes and dtypes; a Python
            scalar takes the dtype that the other branch returns at its place.
        *operands: any trees of Tensors and numbers.

    Raises:
        DTypeError, ShapeError: the branches return different types, or the condition is no 0-d bool.

    >>> import tracejit
    >>> x = tracejit.Tensor([3.0, -1.0])
    >>> tracejit.cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, x)
    Tensor([ 6., -2.], dtype=float32)
    """
    choice = _predicate(pred, "cond")
    return _branches("cond", choice, [false_fun, true_fun], operands)


@structured(fixed=(1,))
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """Call one of several functions, by a number that is known when the program runs.

    Args:
        index: a 0-d integer tensor; one outside the range is taken for the nearest branch, as in JAX.
        branches: the functions; they return the same tree, shapes and dtypes.
        *operands: any trees of Tensors and numbers.

    >>> import tracejit
    >>> tracejit.switch(tracejit.Tensor(1), [lambda x: x, lambda x: x + 10], tracejit.Tensor(2.5))
    Tensor(12.5, dtype=float32)
    """
    if not branches:
        raise AttributeTypeError("switch needs at least one branch")
    chosen = as_tensor_value(_builder(), output_value(_builder(), index, "switch", "index"))
    if chosen.type.shape or not is_integer(chosen.type.dtype):
        raise DTypeError("switch: the index must be a 0-d integer tensor", types={"index": chosen.type})
    if chosen.type.dtype is not int32:
        chosen = cast_value(_builder(), chosen, int32, "branch-index")
    return _branches("switch", chosen, list(branches), operands)


def _builder() -> Any:
    return current_builder()


def _predicate(pred: Any, name: str) -> Value:
    value = as_tensor_value(_builder(), output_value(_builder(), pred, name, "pred"))
    if value.type.shape or value.type.dtype is not bool_:
        raise DTypeError(
            f"{name}: the condition must be a 0-d bool tensor",
            types={"pred": value.type},
            fix="reduce it, as in x.all() or x.any(), or compare it, as in x > 0",
        )
    return value


def _branches(name: str, choice: Value, functions: Sequence[Callable[..., Any]], operands: Sequence[Any]) -> Any:
    leaves = Leaves(tuple(operands))
    explicit = [as_tensor_value(_builder(), value) for value in leaves.values]
    types = [value.type for value in explicit]
    regions = [trace_region(function, types, leaves.tree, names=leaves.names) for function in functions]
    _same_structure(name, regions)
    for position in range(len(regions[0].outputs)):
        _unify(name, regions, position)
    results = record_regions(name, [choice, *explicit], regions, regions[0].types)
    return results_tree(regions[0].structure, results)


def _same_structure(name: str, regions: Sequence[Region]) -> None:
    for region in regions[1:]:
        if region.structure != regions[0].structure:
            raise DTypeError(
                f"{name}: the branches return different containers",
                types={label: spell_tree(r.structure) for label, r in _labelled(name, regions)},
                fix="return the same tuples, lists and dicts from every branch",
            )


def _unify(name: str, regions: Sequence[Region], position: int) -> None:
    """Bring one result of all branches to one type: scalars take the tensors' dtype, tensors must agree."""
    tensors = [r.outputs[position].type for r in regions if isinstance(r.outputs[position].type, TensorType)]
    kinds = [r.outputs[position].type for r in regions if isinstance(r.outputs[position].type, ScalarType)]
    dtype = tensors[0].dtype if tensors else _common_scalar_dtype(kinds)  # pyright: ignore[reportArgumentType]
    for region in regions:
        if isinstance(region.outputs[position].type, ScalarType):
            _adopt(region, position, dtype)
    wanted = regions[0].types[position]
    for region in regions[1:]:
        if region.types[position] != wanted:
            where = regions[0].names[position]
            same_dtype = region.types[position].dtype is wanted.dtype
            raise (ShapeError if same_dtype else DTypeError)(
                f"{name}: the branches return different types{f' at {where}' if where else ''}",
                types={label: r.types[position] for label, r in _labelled(name, regions)},
                rule="the type of a result cannot depend on which branch runs",
                fix="return equal shapes, as with ops.pad or broadcasting"
                if same_dtype
                else f"convert one, as in ops.cast(x, tracejit.{wanted.dtype.name})",
            )


def _labelled(name: str, regions: Sequence[Region]) -> list[tuple[str, Region]]:
    """Pair branches with what the user calls them."""
    labels = ["false_fun", "true_fun"] if name == "cond" else [f"branch {i}" for i in range(len(regions))]
    pairs = [(f"{label} ({region.builder.name})", region) for label, region in zip(labels, regions)]
    return pairs[::-1] if name == "cond" else pairs


def _common_scalar_dtype(kinds: Sequence[ScalarType]) -> DType:
    order = ("bool", "int", "float", "complex")
    return max(kinds, key=lambda type_: order.index(type_.kind)).dtype


def _adopt(region: Region, position: int, dtype: DType) -> None:
    """Convert a Python scalar that a region returns, inside the region."""
    with tracing_again(region):
        value = region.outputs[position]
        _check_adopts(value.type, dtype, region.names[position] or "the result")
        region.outputs[position] = cast_value(region.builder, value, dtype, "scalar-adopts")


def _check_adopts(type_: Type, dtype: DType, what: str) -> None:
    assert isinstance(type_, ScalarType)
    try:
        decided = current_policy().decide((Operand(dtype, dtype.kind), Operand(None, type_.kind, UNKNOWN, 0)))
    except PromotionError as error:
        raise DTypeError(f"{what}: {error.reason}", fix=error.fix) from None
    if decided.dtype is not dtype:
        raise DTypeError(
            f"{what} is a Python {type_} where {dtype.name} is wanted",
            rule=f"{current_policy().name}: {decided.rules[0].text}",
            fix=f"convert it, as in ops.cast(x, tracejit.{dtype.name})",
        )


# Loops


@structured(fixed=(0, 1))
def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Repeat a function while a condition holds.

    Args:
        cond_fun: takes the carry, returns a 0-d bool tensor; it may not write Parameters.
        body_fun: takes the carry, returns the next one of the same tree, shapes and dtypes.
        init_val: the first carry. A Python scalar in it takes the dtype that the body gives it.

    Raises:
        DTypeError: a carry changes its dtype; the message names it, both dtypes and the line.
        StateError: the condition writes a Parameter.

    >>> import tracejit
    >>> tracejit.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (0, tracejit.Tensor(1.0)))
    (Tensor(5, dtype=int64), Tensor(32., dtype=float32))
    """
    carry = Leaves(init_val)
    body, values = _settle("while_loop", body_fun, carry, lambda handles: (carry.tree(handles),))
    types = [value.type for value in values]
    test = trace_region(
        cond_fun,
        types,
        lambda handles: (carry.tree(handles),),
        no_writes=_IN_CONDITION,
        keeps_checks=True,
        names=carry.names,
    )
    if test.builder.checks:
        return _while_checked(cond_fun, body_fun, init_val)
    with tracing_again(test):
        test.outputs = [_predicate_output(test, cond_fun)]
    results = record_regions("while_loop", values, [test, body], types)
    return results_tree(carry.structure, results)


_IN_CONDITION = "in a loop's condition"


def _while_checked(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Record a loop whose condition checks indices: what it tells can leave the loop only through the body."""

    def test(carry: Any) -> Any:
        builder = _builder()
        before, builder.no_writes = builder.no_writes, _IN_CONDITION
        try:
            return cond_fun(carry)
        finally:
            builder.no_writes = before

    def turn(pair: Any) -> Any:
        carry = body_fun(pair[0])
        return carry, test(carry)

    return while_loop(lambda pair: pair[1], turn, (init_val, test(init_val)))[0]


def _predicate_output(test: Region, cond_fun: Callable[..., Any]) -> Value:
    value = as_tensor_value(test.builder, test.outputs[0]) if len(test.outputs) == 1 else None
    if value is None or value.type.shape or value.type.dtype is not bool_:
        raise DTypeError(
            f"while_loop: {getattr(cond_fun, '__name__', 'the condition')} must return one 0-d bool tensor",
            types={"returned": test.types},
        )
    return value


def _settle(name: str, function: Callable[..., Any], carry: Leaves, arguments: Callable[..., Any], extra: Any = ()):
    """Trace a loop's body until the types of the carry stop changing: only a Python scalar's can.

    Returns the region and the carry's first Values, converted. `extra` are the types of further explicit inputs.
    """
    values = list(carry.values)
    while True:
        types = [*[value.type for value in values], *extra]
        body = trace_region(function, types, arguments, names=carry.names)
        _check_carry(name, body, carry)
        changed = False
        for position, value in enumerate(values):
            returned = body.outputs[position].type
            if isinstance(value.type, ScalarType) and returned != value.type and _rises(value.type, returned):
                values[position] = _first_carry(value, returned)
                changed = True
        if not changed:
            break
    with tracing_again(body):
        for position, value in enumerate(values):
            _fit_carry(name, body, position, value.type, carry.names[position])
    return body, values


def _rises(held: ScalarType, returned: Type) -> bool:
    order = ("bool", "int", "float", "complex")
    return isinstance(returned, TensorType) or order.index(returned.kind) > order.index(held.kind)


def _first_carry(value: Value, wanted: Type) -> Value:
    builder = _builder()
    if isinstance(wanted, ScalarType):  # of a higher kind: int and float are float, as in Python
        one = {"int": 1, "float": 1.0, "complex": 1 + 0j}[wanted.kind]
        if isinstance(value, Literal):
            return Literal(value.value * one)
        return builder.record(RECORDS["mul"], [value, Literal(one)], {}, current_policy()).result
    tensor = cast_value(builder, value, wanted.dtype, "carry-adopts")
    if wanted.shape:
        raise ShapeError(
            f"a Python scalar in the carry becomes {wanted}",
            fix=f"start with a tensor, as in ops.zeros({list(wanted.shape)}, tracejit.{wanted.dtype.name})",
        )
    return tensor


def _check_carry(name: str, body: Region, carry: Leaves) -> None:
    if name != "scan" and body.structure != carry.structure:
        raise DTypeError(
            f"{name}: {body.builder.name} must return a carry of the same containers as it takes",
            types={"takes": spell_tree(carry.structure), "returns": spell_tree(body.structure)},
        )


def _fit_carry(name: str, body: Region, position: int, wanted: Type, label: str) -> None:
    value = body.outputs[position]
    if value.type == wanted:
        return
    what = f"{name}: carry {label or position}"
    if isinstance(value.type, ScalarType) and isinstance(wanted, TensorType) and not wanted.shape:
        _check_adopts(value.type, wanted.dtype, what)
        body.outputs[position] = cast_value(body.builder, value, wanted.dtype, "scalar-adopts")
        return
    producer = value.producer
    same_dtype = value.type.dtype is wanted.dtype
    raise (ShapeError if same_dtype else DTypeError)(
        f"{what} is {wanted} and becomes {value.type}",
        location=producer.location if producer is not None else None,
        types={"first": wanted, "then": value.type},
        rule="a carry keeps its type: the result cannot depend on how often the loop runs",
        fix=f"convert one of them, as in ops.cast(x, tracejit.{wanted.dtype.name})" if not same_dtype else None,
    )


@structured(fixed=(2,))
def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any) -> Any:
    """Repeat a function for the integers from lower up to, not including, upper.

    Args:
        lower: a Python int or a 0-d integer tensor.
        upper: the same.
        body_fun: takes the index (an int32 tensor; int64 if a bound is) and the carry, returns the next carry.
        init_val: the first carry. A Python scalar in it takes the dtype that the body gives it.

    >>> import tracejit
    >>> tracejit.fori_loop(0, 3, lambda i, total: total + i, tracejit.Tensor(0, "int32"))
    Tensor(3, dtype=int32)
    """
    carry = Leaves(init_val)
    known = (lower, upper) if lower.__class__ is int and upper.__class__ is int else None
    bounds, index = _bounds(lower, upper)
    extra = [TensorType(index, ())]
    count = len(carry.values)

    def arguments(handles: Sequence[Any]) -> Sequence[Any]:
        return handles[count], carry.tree(handles[:count])

    body, values = _settle("fori_loop", body_fun, carry, arguments, extra)
    types = [value.type for value in values]
    results = record_regions("fori_loop", [*values, *bounds], [body], types, {"known_bounds": known})
    return results_tree(carry.structure, results)


def _bounds(lower: Any, upper: Any) -> tuple[list[Value], DType]:
    values = [output_value(_builder(), bound, "fori_loop", "bound") for bound in (lower, upper)]
    for name, value in zip(("lower", "upper"), values):
        type_ = value.type
        wrong = type_.kind != "int" if isinstance(type_, ScalarType) else type_.shape or not is_integer(type_.dtype)
        if wrong:
            raise DTypeError(f"fori_loop: {name} must be an int or a 0-d integer tensor", types={name: type_})
    wide = [v.type.dtype for v in values if isinstance(v.type, TensorType) and v.type.dtype.bits == 64]
    wide += [int64 for v in values if isinstance(v, Literal) and not -(2**31) <= int(v.value) < 2**31]  # pyright: ignore[reportArgumentType]
    index = wide[0] if wide else int32
    wanted = TensorType(index, ())
    return [v if v.type == wanted else cast_value(_builder(), v, index, "loop-index") for v in values], index


@structured(fixed=(0, 3, 4, 5))
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int = 1,
) -> tuple[Any, Any]:
    """Call a function for each slice of xs along the first axis, with a carry.

    Args:
        f: takes the carry and a slice, returns the next carry and a result.
        init: the first carry. A Python scalar in it takes the dtype that f gives it.
        xs: a tree of Tensors with equal first axes; None for none.
        length: how often, where xs is None.
        reverse: go through xs from the end.
        unroll: how many steps the compiled loop takes at once.

    Returns:
        The last carry, and the results stacked along a new first axis.

    >>> import tracejit
    >>> tracejit.scan(lambda total, x: (total + x, total), tracejit.Tensor(0.0), tracejit.Tensor([1.0, 2.0]))
    (Tensor(3., dtype=float32), Tensor([0., 1.], dtype=float32))
    """
    carry, slices = Leaves(init), Leaves(xs)
    over = [as_tensor_value(_builder(), value) for value in slices.values]
    length = _length(over, slices.names, length)
    count = len(carry.values)
    extra = [TensorType(value.type.dtype, value.type.shape[1:]) for value in over]

    def arguments(handles: Sequence[Any]) -> Sequence[Any]:
        return carry.tree(handles[:count]), slices.tree(handles[count:])

    structures: list[Any] = []
    body, values = _settle("scan", _splitting(f, carry, structures), carry, arguments, extra)
    with tracing_again(body):
        body.outputs[count:] = [as_tensor_value(body.builder, value) for value in body.outputs[count:]]
    stacked = [TensorType(value.type.dtype, (length, *value.type.shape)) for value in body.outputs[count:]]
    attributes = {"length": length, "reverse": bool(reverse), "unroll": _count("unroll", unroll, 1)}
    attributes |= {"carries": count, "slices": len(over)}
    results = record_regions("scan", [*values, *over], [body], [*[v.type for v in values], *stacked], attributes)
    return results_tree(carry.structure, results[:count]), results_tree(structures[-1], results[count:])


def _splitting(f: Callable[..., Any], carry: Leaves, structures: list[Any]) -> Callable[..., Any]:
    """Make f return the leaves of its carry and of its result in one flat list, noting the result's tree."""

    def body(held: Any, item: Any) -> list[Any]:
        returned = f(held, item)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise AttributeTypeError(f"scan: the function must return a pair (carry, result), not {returned!r}")
        named, structure = backend.flatten_named(returned[0])
        if structure != carry.structure:
            raise DTypeError(
                "scan: the function must return a carry of the same containers as it takes",
                types={"takes": spell_tree(carry.structure), "returns": spell_tree(structure)},
            )
        results, result_structure = backend.flatten_named(returned[1])
        structures.append(result_structure)
        return [leaf for _, leaf in (*named, *results)]

    body.__name__ = getattr(f, "__name__", "body")
    return body


def _count(name: str, value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise AttributeTypeError(f"scan: {name} must be an int of {least} or more, got {value!r}")
    return value


def _length(over: Sequence[Value], names: Sequence[str], length: int | None) -> int:
    for value, name in zip(over, names):
        if not value.type.shape:
            raise ShapeError(f"scan: xs{f'.{name}' if name else ''} is 0-d and has no axis to go along")
    lengths = {value.type.shape[0] for value in over}
    if length is not None:
        lengths.add(_count("length", length, 0))
    if len(lengths) != 1:
        raise ShapeError(
            f"scan: {'the lengths of xs differ' if lengths else 'xs is None, so length must be given'}",
            types={name or "xs": value.type for name, value in zip(names, over)},
        )
    return lengths.pop()
