"""The intermediate representation: a Graph of Operations over Values, in single-assignment form.

A Graph is a closed, typed program. Its *inputs* are the arguments and the captured arrays, its *state* the values
that the Parameters have when it starts; *new_state* says which value each has at the end, so that a write is
nothing but a result with a place in `new_state`. Control flow and transforms are operations with *regions*, which
are Graphs themselves and closed too: what a region uses of its surroundings, it takes as an input.

What an operation means is not known here: the Op records of `tracejit.ops` declare it, `lowering` gives it a body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.dtypes import DEFAULT_OF_KIND, DType
from tracejit.locations import Location


class TensorType:
    """The abstract value of a tensor: a dtype and a shape. Prints as `f32[4,2]`.

    >>> import tracejit
    >>> str(tracejit.TensorType(tracejit.float32, (4, 2)))
    'f32[4,2]'
    """

    __slots__ = ("_hash", "dtype", "shape")

    def __init__(self, dtype: DType, shape: Sequence[int]):
        self.dtype, self.shape = dtype, tuple(shape)
        self._hash = hash((dtype.name, self.shape))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        result = 1
        for length in self.shape:
            result *= length
        return result

    def __eq__(self, other: object) -> bool:
        return other.__class__ is TensorType and self.dtype is other.dtype and self.shape == other.shape  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{self.dtype.code}[{','.join(map(str, self.shape))}]"


class ScalarType:
    """The type of a Python scalar: only its kind counts. Prints as `int`, `float`, `bool`, `complex`."""

    __slots__ = ("kind",)

    def __init__(self, kind: str):
        self.kind = kind

    @property
    def dtype(self) -> DType:
        """The dtype that the scalar takes where nothing else decides."""
        return DEFAULT_OF_KIND[self.kind]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape: `()`."""
        return ()

    @property
    def ndim(self) -> int:
        """The number of axes: 0."""
        return 0

    def __eq__(self, other: object) -> bool:
        return other.__class__ is ScalarType and self.kind == other.kind  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        return self.kind


Type = TensorType | ScalarType
SCALAR_TYPES = {kind: ScalarType(kind) for kind in ("bool", "int", "float", "complex")}
#: The type of an operand that was left out.
ABSENT = ScalarType("none")
PythonScalar = bool | int | float | complex


class Scope:
    """The identity of one trace: which function is traced, whether that is still going on, and inside which."""

    __slots__ = ("alive", "function", "parent")

    def __init__(self, function: str, parent: Scope | None = None):
        self.function, self.parent, self.alive = function, parent, True


class Value:
    """What an operation makes or a Graph takes; defined once. Two Values are equal only if they are one object."""

    __slots__ = ("name", "producer", "scope", "type")

    def __init__(
        self, type: Type, *, name: str | None = None, producer: Operation | None = None, scope: Scope | None = None
    ):
        self.type, self.name, self.producer, self.scope = type, name, producer, scope

    def __repr__(self) -> str:
        return f"<Value {self.name or '_'}: {self.type}>"


class Literal(Value):
    """A Python scalar of known value, written where it is used, or None for an operand that was left out."""

    __slots__ = ("value",)

    def __init__(self, value: PythonScalar | None):
        super().__init__(ABSENT if value is None else SCALAR_TYPES[value.__class__.__name__])
        self.value = value

    def __repr__(self) -> str:
        return f"<Literal {self.value!r}>"


class Callee(str):
    """An attribute that names a function of the user's, and holds what it names: read back, it is a plain string."""

    __slots__ = ("call",)
    call: Any

    def __reduce__(self) -> Any:
        return str, (str(self),)


class Operation:
    """One step: the operator's name, operands, attributes, regions; its results; the policy and line it stems from.

    Attributes are None, booleans, numbers, strings, DTypes, NumPy arrays and (nested) tuples of these.
    """

    __slots__ = ("attributes", "location", "name", "operands", "policy", "regions", "results")

    def __init__(
        self,
        name: str,
        operands: Sequence[Value],
        result_types: Sequence[Type],
        *,
        attributes: dict[str, Any] | None = None,
        regions: Sequence[Graph] = (),
        location: Location | None = None,
        policy: str = "mindspore",
        scope: Scope | None = None,
    ):
        self.name = name
        self.operands = tuple(operands)
        self.attributes = attributes or {}
        self.regions = tuple(regions)
        self.location = location
        self.policy = policy
        self.results = tuple([Value(type, producer=self, scope=scope) for type in result_types])

    def replaced(self, operands: Sequence[Value], regions: Sequence[Graph] | None = None) -> Operation:
        """Return the operation with other operands (and regions) and the same result Values.

        A pass that changes few operations shares all other Values between its Graphs.
        """
        other = object.__new__(Operation)
        other.name, other.attributes, other.location, other.policy = (
            self.name,
            self.attributes,
            self.location,
            self.policy,
        )
        other.operands, other.results = tuple(operands), self.results
        other.regions = self.regions if regions is None else tuple(regions)
        return other

    @property
    def result(self) -> Value:
        """The only result."""
        (result,) = self.results
        return result

    @property
    def result_types(self) -> tuple[Type, ...]:
        """The types of the results."""
        return tuple([value.type for value in self.results])

    def __repr__(self) -> str:
        return f"<Operation {self.name} of {len(self.operands)} operands>"


class Graph:
    """A closed program: inputs and state in, operations in order, outputs and new state out."""

    __slots__ = ("inputs", "location", "name", "new_state", "operations", "outputs", "state")

    def __init__(
        self,
        name: str,
        inputs: Sequence[Value] = (),
        state: Sequence[Value] = (),
        operations: Sequence[Operation] = (),
        outputs: Sequence[Value] = (),
        new_state: Sequence[Value] | None = None,
        location: Location | None = None,
    ):
        self.name = name
        self.inputs = list(inputs)
        self.state = list(state)
        self.operations = list(operations)
        self.outputs = list(outputs)
        self.new_state = list(state if new_state is None else new_state)
        self.location = location

    @property
    def written(self) -> tuple[int, ...]:
        """The positions in `state` of what the Graph writes."""
        return tuple([i for i, (old, new) in enumerate(zip(self.state, self.new_state)) if old is not new])

    def walk(self) -> Iterator[Operation]:
        """Yield every operation, those of regions (before the operation that holds them) included."""
        for operation in self.operations:
            for region in operation.regions:
                yield from region.walk()
            yield operation

    def values(self) -> Iterator[Value]:
        """Yield every Value that the Graph itself defines: inputs, state, results (no region's)."""
        yield from self.inputs
        yield from self.state
        for operation in self.operations:
            yield from operation.results

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return same_graph(self, other)

    __hash__ = None  # type: ignore[assignment]  # Graphs are compared by content and can change while they are built.

    def __str__(self) -> str:
        from tracejit.printer import print_graph  # the printer is made of this module's classes

        return print_graph(self)

    def _repr_html_(self) -> str:
        from tracejit.printer import html_of_graph

        return html_of_graph(self)

    def as_mlir(self) -> str:
        """Return the Graph in MLIR's generic form, which a stock MLIR parser reads (unregistered dialect)."""
        from tracejit.mlir import mlir_of_graph

        return mlir_of_graph(self)


def same_graph(a: Graph, b: Graph) -> bool:
    """Say whether two Graphs are the same program: names of values, locations and Graph names do not count."""
    numbers: dict[int, int] = {}  # id of a's value -> id of the value in b that stands at its place

    def match(mine: Sequence[Value], other: Sequence[Value]) -> bool:
        if len(mine) != len(other):
            return False
        for x, y in zip(mine, other):
            if x.type != y.type:
                return False
            numbers[id(x)] = id(y)
        return True

    def use(x: Value, y: Value) -> bool:
        if isinstance(x, Literal) or isinstance(y, Literal):
            both = isinstance(x, Literal) and isinstance(y, Literal)
            return both and same_attribute(x.value, y.value)  # type: ignore[attr-defined]
        return numbers.get(id(x)) == id(y)

    def uses(mine: Sequence[Value], other: Sequence[Value]) -> bool:
        return len(mine) == len(other) and all(map(use, mine, other))

    def same_operation(x: Operation, y: Operation) -> bool:
        return (
            x.name == y.name
            and x.policy == y.policy
            and uses(x.operands, y.operands)
            and same_attribute(x.attributes, y.attributes)
            and len(x.regions) == len(y.regions)
            and all(map(same_graph, x.regions, y.regions))
            and match(x.results, y.results)
        )

    return (
        match(a.inputs, b.inputs)
        and match(a.state, b.state)
        and len(a.operations) == len(b.operations)
        and all(map(same_operation, a.operations, b.operations))
        and uses(a.outputs, b.outputs)
        and uses(a.new_state, b.new_state)
    )


def same_attribute(a: Any, b: Any) -> bool:
    """Compare attributes by class and content: 1, 1.0 and True differ, as do 0.0 and -0.0; NaN equals NaN."""
    if a.__class__ is not b.__class__ and not (isinstance(a, str) and isinstance(b, str)):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_attribute(a[key], b[key]) for key in a)  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same_attribute, a, b))
    if isinstance(a, float | complex):
        return repr(a) == repr(b)
    return a == b
