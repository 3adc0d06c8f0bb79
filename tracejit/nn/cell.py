"""The Cell: MindSpore's module, with Parameters and Cells as attributes."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

import numpy as np

from tracejit import ops
from tracejit.bridge import when_loaded
from tracejit.dtypes import DType, as_dtype
from tracejit.errors import AttributeTypeError, AttributeValueError, ParameterError
from tracejit.freshness import Record, Watch, depend_on, same
from tracejit.parameter import Parameter
from tracejit.tensor import Tensor, public

_ABSENT = object()
#: Attributes of the machinery, of which no trace depends.
_INTERNAL = ("_record", "_automatic", "_parent")


class _Signature:
    """Shows the signature of `construct` as that of a Cell."""

    def __get__(self, cell: Cell | None, owner: type) -> inspect.Signature | None:
        return None if cell is None else inspect.signature(cell.construct)


class Cell:
    """A part of a model: Parameters and further Cells as attributes, and `construct`, which a call runs.

    A Parameter without a name gets that of its attribute, and in a Cell that holds this one a dotted name
    (`encoder.dense.weight`). Parameters and Cells in a list or tuple are found too. Setting an attribute starts a new
    trace of the jitted functions that call the Cell; changing a list in place does not. Setting one that holds a
    Parameter to a Tensor (or a 0-d one to a number) writes the Parameter, as in MindSpore.

    Args:
        auto_prefix: whether the names of Parameters get the names of attributes in front.
        flags: attributes to set.

    >>> import tracejit
    >>> from tracejit import nn, ops
    >>> class Net(nn.Cell):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = tracejit.Parameter([2.0])
    ...         self.double = True
    ...     @tracejit.jit
    ...     def construct(self, x):
    ...         return x * self.scale * 2 if self.double else x * self.scale
    >>> net = Net()
    >>> net(tracejit.Tensor([3.0])), [p.name for p in net.trainable_params()]
    (Tensor([12.], dtype=float32), ['scale'])
    >>> net.double = False
    >>> net(tracejit.Tensor([3.0]))
    Tensor([6.], dtype=float32)
    """

    training: bool = False
    _record: Record
    #: Names of own Parameters that had none and got that of their attribute.
    _automatic: set[str]
    #: The Cell that holds this one, and under which name.
    _parent: tuple[weakref.ref[Cell], str] | None = None
    _auto_prefix: bool = True
    _float: DType | None = None
    __signature__ = _Signature()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make a Cell that can hold attributes before `__init__` has run."""
        cell = super().__new__(cls)
        cell.__dict__.update(_record=Record(), _automatic=set())
        return cell

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None):
        if not auto_prefix:
            self._auto_prefix = False
        for name, value in (flags or {}).items():
            setattr(self, name, value)

    # Calling

    @public
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `construct`."""
        depend_on(self)
        if self._float is not None:
            args = tuple([_in_float(argument, self._float) for argument in args])
        return self.construct(*args, **kwargs)

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the Cell's result; every subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} defines no construct")

    def to_float(self, dst_type: Any) -> Self:
        """Convert float Tensors that are given to this Cell, or to one inside, to a dtype; returns the Cell."""
        dtype = as_dtype(dst_type)
        if dtype.kind != "float":
            raise AttributeTypeError(f"to_float takes a float dtype, got {dtype.name}")
        for _, cell in self.cells_and_names():
            cell._float = dtype
        return self

    def set_train(self, mode: bool = True) -> Self:
        """Set `training`, here and in every Cell inside; returns the Cell."""
        for _, cell in self.cells_and_names():
            cell.training = bool(mode)
        return self

    # Attributes

    def __setattr__(self, name: str, value: Any) -> None:
        held = self.__dict__.get(name, _ABSENT)
        if held is value:
            return
        if isinstance(held, Parameter) and value is not None and not isinstance(value, Parameter):
            self._write(name, held, value)
            return
        super().__setattr__(name, value)
        self._release(held)
        self._adopt(name, value)
        if not same(getattr(type(self), name, _ABSENT) if held is _ABSENT else held, value):
            self._record.changed(name)

    def __delattr__(self, name: str) -> None:
        held = self.__dict__.get(name)
        super().__delattr__(name)
        self._release(held)
        self._record.changed(name)

    @public
    def _write(self, name: str, parameter: Parameter, value: Any) -> None:
        if not isinstance(value, Tensor | bool | int | float | complex):
            raise ParameterError(
                f"{type(self).__name__}.{name} holds a Parameter and is set to {value!r} ({type(value).__name__})",
                rule="a Tensor is written into the Parameter, another Parameter or None takes its place",
                fix="set it to a Tensor, or a number for a 0-d one, or delete the attribute first",
            )
        ops.assign(parameter, value)

    def _adopt(self, name: str, value: Any) -> None:
        """Give names to the Parameters that come with an attribute; those inside a Cell have its first place's."""
        for path, member in _members(name, value):
            if isinstance(member, Cell):
                if member._holder() is None:
                    member.__dict__["_parent"] = (weakref.ref(self), path)
                    member._rename()
            elif member.name is None:
                self._automatic.add(path)
                member.name = self._prefix() + path

    def _release(self, value: Any) -> None:
        for _, member in _members("", value):
            if isinstance(member, Cell) and member._holder() is self:
                member.__dict__["_parent"] = None

    def _holder(self) -> Cell | None:
        return self._parent[0]() if self._parent is not None else None

    def _prefix(self) -> str:
        """Return what stands in front of the names of attributes: the names of the Cells around this one."""
        holder = self._holder()
        if holder is None or self._parent is None or not holder._auto_prefix:
            return ""
        return f"{holder._prefix()}{self._parent[1]}."

    def _rename(self) -> None:
        for _, cell in self.cells_and_names():
            for direct in (True, False):
                for path, parameter in cell._own_parameters(direct):
                    if path in cell._automatic:
                        parameter.name = cell._prefix() + path

    # What is inside

    def cells_and_names(self, cells: set[int] | None = None, name_prefix: str = "") -> Iterator[tuple[str, Cell]]:
        """Yield this Cell and all inside, each once, with dotted names."""
        seen = set() if cells is None else cells
        if id(self) in seen:
            return
        seen.add(id(self))
        yield name_prefix, self
        for name, cell in self.name_cells().items():
            yield from cell.cells_and_names(seen, f"{name_prefix}.{name}" if name_prefix else name)

    def name_cells(self) -> dict[str, Cell]:
        """Return the Cells that are attributes of this one, by name."""
        found = [pair for name, value in vars(self).items() for pair in _members(name, value)]
        return {name: member for name, member in found if isinstance(member, Cell)}

    def cells(self) -> Iterable[Cell]:
        """Return the Cells that are attributes of this one."""
        return self.name_cells().values()

    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Yield all Parameters, each once, with dotted names; without `expand` those of this Cell only."""
        cells = list(self.cells_and_names(name_prefix=name_prefix)) if expand else [(name_prefix, self)]
        seen: set[int] = set()
        for direct in (True, False):  # a list of Parameters repeats, as a rule, what Cells hold
            for prefix, cell in cells:
                for name, parameter in cell._own_parameters(direct):
                    if id(parameter) not in seen:
                        seen.add(id(parameter))
                        yield f"{prefix}.{name}" if prefix else name, parameter

    def _own_parameters(self, direct: bool) -> Iterator[tuple[str, Parameter]]:
        for name, value in vars(self).items():
            if isinstance(value, Parameter) == direct:
                for path, member in _members(name, value):
                    if isinstance(member, Parameter):
                        yield path, member

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """Yield all Parameters; without `expand` those of this Cell only."""
        for _, parameter in self.parameters_and_names(expand=expand):
            yield parameter

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """Return the Parameters that require a gradient."""
        return [parameter for parameter in self.get_parameters(recurse) if parameter.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """Return the Parameters that require no gradient."""
        return [parameter for parameter in self.get_parameters(recurse) if not parameter.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> dict[str, Parameter]:
        """Return all Parameters by dotted name."""
        return dict(self.parameters_and_names(expand=recurse))

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Put a prefix in front of the Parameters' names."""
        for parameter in self.get_parameters(recurse):
            parameter.name = f"{prefix}{parameter.name}"

    def insert_child_to_cell(self, child_name: str, child_cell: Cell) -> None:
        """Add a Cell as an attribute."""
        setattr(self, child_name, child_cell)

    def insert_param_to_cell(self, param_name: str, param: Parameter) -> None:
        """Add a Parameter as an attribute."""
        setattr(self, param_name, param)

    def observe(self, watch: Watch) -> Iterator[tuple[str, Any]]:
        """Let a watch know of changes here and in every Cell inside; yields the attributes' marks."""
        for prefix, cell in self.cells_and_names(name_prefix=type(self).__name__):
            cell._record.observe(watch)
            yield prefix, ("Cell", cell._record)
            for name, value in vars(cell).items():
                unset = same(getattr(type(cell), name, _ABSENT), value)  # as it would be if it had never been set
                if not (unset or name in _INTERNAL or isinstance(value, Cell)):
                    yield f"{prefix}.{name}", cell._mark(name, value)

    def _mark(self, name: str, value: Any) -> Any:
        return ("Parameter", value._storage) if isinstance(value, Parameter) else self._record.mark(name, value)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_record", "_parent")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        for name, value in state.items():
            for path, member in _members(name, value):
                if isinstance(member, Cell):
                    member.__dict__["_parent"] = (weakref.ref(self), path)

    # Printing

    def extend_repr(self) -> str:
        """Return what a printed Cell shows of itself; for subclasses to define."""
        return ""

    def __repr__(self) -> str:
        inner = [f"({name}): {cell!r}".replace("\n", "\n  ") for name, cell in self.name_cells().items()]
        body = "\n  ".join([self.extend_repr(), *inner]) if inner else self.extend_repr()
        return f"{type(self).__name__}({body}{')' if not inner else chr(10) + ')'}"


def _members(name: str, value: Any) -> Iterator[tuple[str, Cell | Parameter]]:
    """Yield the Cells and Parameters that an attribute holds: itself, or the items of a list or tuple."""
    if isinstance(value, Cell | Parameter):
        yield name, value
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            if isinstance(item, Cell | Parameter):
                yield f"{name}.{position}", item


def _in_float(argument: Any, dtype: DType) -> Any:
    if isinstance(argument, Tensor) and argument.dtype.kind == "float" and argument.dtype is not dtype:
        return argument.astype(dtype)
    return argument


class ParameterTuple(tuple[Parameter, ...]):
    """A tuple of Parameters.

    >>> import tracejit
    >>> weights = tracejit.ParameterTuple([tracejit.Parameter([1.0], name="w")])
    >>> weights.clone("moments", init="zeros")
    (Parameter([0.], dtype=float32, name='moments.w'),)
    """

    def __new__(cls, parameters: Iterable[Parameter]) -> ParameterTuple:
        """Make the tuple; an item that is no Parameter is an error."""
        items = tuple(parameters)
        for position, item in enumerate(items):
            if not isinstance(item, Parameter):
                raise ParameterError(f"ParameterTuple: item {position} is {item!r} ({type(item).__name__})")
        return super().__new__(cls, items)

    def clone(self, prefix: str, init: str = "same") -> ParameterTuple:
        """Return Parameters of their own with a prefix to the names: of the same values, of "zeros" or of "ones"."""
        makers: dict[str, Callable[[Parameter], Any]] = {
            "same": Parameter.copy,
            "zeros": lambda p: np.zeros(p.shape, p.dtype.numpy),
            "ones": lambda p: np.ones(p.shape, p.dtype.numpy),
        }
        if init not in makers:
            raise AttributeValueError(f"ParameterTuple.clone: init must be one of {', '.join(makers)}, got {init!r}")
        return ParameterTuple(
            [Parameter(makers[init](p), f"{prefix}.{p.name or i}", p.requires_grad) for i, p in enumerate(self)]
        )


@when_loaded
def _bind(lowering: Any) -> None:
    lowering.register_tuple(ParameterTuple)
