"""Looking into traced code: printing when the program runs, and finding the line that makes a NaN."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tracejit.ambient import AMBIENT
from tracejit.bridge import backend
from tracejit.dispatch import apply
from tracejit.errors import AttributeTypeError, AttributeValueError, hide_frames
from tracejit.examination import examine
from tracejit.ir import Operation, ScalarType
from tracejit.locations import Location
from tracejit.ops.record import RECORDS
from tracejit.tensor import Tensor, public


@public
def print(format: str, *values: Any, **named: Any) -> None:
    """Print when the program runs, in traced code too, with `str.format`'s braces; an error there goes no further.

    A format specification such as `{:.3f}` holds for each element. In a loop it prints at every turn, under `vmap`
    for every example. Everything but Tensors is formatted while tracing. As in JAX, lines that do not depend on one
    another can come in another order than that of the program.

    Raises:
        AttributeValueError: the braces do not fit the values.

    >>> import tracejit
    >>> @tracejit.jit
    ... def f(x):
    ...     tracejit.debug.print("x = {}, its sum {total:.1f}", x, total=x.sum())
    ...     return x * 2
    >>> y = f(tracejit.Tensor([1.0, 2.0])).block_until_ready()
    x = [1. 2.], its sum 3.0
    """
    if not isinstance(format, str):
        raise AttributeTypeError(f"debug.print takes a string first, got {format!r}")
    text, operands = _template(format, values, named)
    concrete = [operand for operand in operands if isinstance(operand._data, backend.ArrayType)]
    if AMBIENT.get() is None and len(concrete) == len(operands):
        backend.show(text, *[operand._read("print") for operand in operands])
    else:
        apply(RECORDS["debug_print"], list(map(_tensor, operands)), {"format": text})


def _tensor(operand: Tensor) -> Tensor:
    """Return a tensor of a Python scalar that is an argument of the jitted function."""
    scalar = isinstance(operand._type, ScalarType)
    return apply(RECORDS["cast"], [operand], {"dtype": operand.dtype}) if scalar else operand


def _template(text: str, values: Sequence[Any], named: dict[str, Any]) -> tuple[str, list[Tensor]]:
    """Format what is known, and return a format string for the Tensors, which are numbered in order."""
    pieces: list[str] = []
    operands: list[Tensor] = []
    formatter, automatic = _Fields(), 0
    try:
        for literal, field, specification, conversion in formatter.parse(text):
            pieces.append(literal.replace("{", "{{").replace("}", "}}"))
            if field is None:
                continue
            if not field or field[0] in ".[":
                field, automatic = f"{automatic}{field}", automatic + 1
            value = formatter.value(field, values, named)
            tail = f"{'!' + conversion if conversion else ''}{':' + specification if specification else ''}"
            if isinstance(value, Tensor):
                pieces.append(f"{{{len(operands)}{tail}}}")
                operands.append(value)
            else:
                shown = f"{{{tail}}}".format(value)
                pieces.append(shown.replace("{", "{{").replace("}", "}}"))
    except (ValueError, IndexError, KeyError, AttributeError) as error:
        raise AttributeValueError(
            f"debug.print: {text!r} does not fit {len(values) + len(named)} values: {error}",
            fix="give a value for each pair of braces; double the braces that are to be printed",
        ) from None
    return "".join(pieces), operands


class _Fields(string.Formatter):
    def value(self, field: str, values: Sequence[Any], named: dict[str, Any]) -> Any:
        return self.get_field(field, values, named)[0]


class Finding(NamedTuple):
    """Where a NaN (or an infinity) came from.

    `operation` is the name of the operator that made it from values without one, or None if the argument, Parameter or
    captured Tensor `given` held it already; `location` is the user's line, `where` the loops, branches and gradients
    around it, the outermost first.
    """

    kind: str
    operation: str | None
    given: str | None
    location: Location | None
    where: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.kind} made by {self.operation}" if self.operation else f"{self.kind} given in {self.given}"]
        if self.location is not None:
            lines.append(f'  at "{self.location.file}", line {self.location.line}')
            lines.append(f"      {self.location.text}")
        return "\n".join([*lines, *[f"  in {place}" for place in self.where]])


class _Found(Exception):
    def __init__(self, finding: Finding):
        super().__init__()
        self.finding = finding


def find_nan(function: Callable[..., Any], *, inf: bool = False) -> Callable[..., Finding | None]:
    """Make the function that runs `function` operation by operation and returns the first that made a NaN.

    It looks into branches, loops, mapped examples and, going back, into gradients; it writes no Parameter. None: there
    was no NaN.

    Args:
        function: a function, jitted or not.
        inf: look for infinities too.

    >>> import tracejit
    >>> from tracejit import ops
    >>> def f(x):
    ...     y = x - 1
    ...     return ops.log(y).sum()
    >>> tracejit.debug.find_nan(f)(tracejit.Tensor([0.5, 3.0])).operation
    'log'
    """
    if not callable(function):
        raise AttributeTypeError(f"find_nan takes a function, got {function!r}")

    def find(*args: Any, **kwargs: Any) -> Finding | None:
        try:
            return _find(function, args, kwargs, inf)
        except Exception as error:
            hide_frames(error)
            raise

    return find


def _find(function: Callable[..., Any], args: Any, kwargs: Any, inf: bool) -> Finding | None:
    examined = examine(function, args, kwargs)
    graph = examined.promoted
    state = examined.state()
    inputs = [*examined.leaves, *examined.captured]
    for value, array in zip([*graph.inputs, *graph.state], [*inputs, *state]):
        kind = _kind(array, inf)
        if kind is not None:
            return Finding(kind, None, value.name or "a captured Tensor", None, ())

    def look(operation: Operation, results: Sequence[Any], where: tuple[str, ...]) -> None:
        for array in results:
            kind = _kind(array, inf)
            if kind is not None:
                raise _Found(Finding(kind, operation.name, None, operation.location, where))

    try:
        backend.step_through(graph, inputs, state, look)
    except _Found as found:
        return found.finding
    return None


def _kind(array: Any, inf: bool) -> str | None:
    if backend.holds_nan(array):
        return "NaN"
    return "infinity" if inf and backend.holds_inf(array) else None


__all__ = ["Finding", "find_nan", "print"]
