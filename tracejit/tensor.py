"""The Tensor: a handle to a device array, to a Value of a trace, or to a JAX tracer.

Operators and methods come from the Op records; `tracejit.dispatch` puts them on the class.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from tracejit import dtypes as dt
from tracejit.ambient import AMBIENT
from tracejit.bridge import backend
from tracejit.dtypes import DType, as_dtype
from tracejit.errors import (
    DTypeError,
    ScalarOverflowError,
    ShapeError,
    TraceError,
    TracejitError,
    hide_frames,
)
from tracejit.ir import TensorType, Type, Value
from tracejit.locations import user_location
from tracejit.tracer import Builder, escaped

if TYPE_CHECKING:
    from tracejit.methods import TensorMethods  # a stub: `tracejit.dispatch` puts the methods on the class
else:
    TensorMethods = object

Method = TypeVar("Method", bound=Callable[..., Any])


def public(method: Method) -> Method:
    """Let errors leave a method that users call without tracejit's own frames."""

    @functools.wraps(method)
    def shown(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except TracejitError as error:
            hide_frames(error)
            raise

    return shown  # type: ignore[return-value]


class Tensor(TensorMethods):
    """An n-dimensional array of one dtype, with MindSpore's operators and dtype rules.

    Args:
        data: a Python scalar, (nested) lists, a NumPy array (copied), a JAX array (not copied), a Tensor, or a
            Parameter (its value at this moment). Inside a jitted function host data becomes a constant of the Graph.
        dtype: the dtype; converts as Cast does. By default a Python float is float32, an int int64, a bool bool, a
            complex complex64, lists likewise, and arrays keep theirs (DECISIONS: `Tensor(data, dtype=None)`).

    Raises:
        DTypeError: data of objects, strings, dates, records, masks, or a refused dtype.
        OverflowError: a Python int that does not fit an explicit dtype.

    >>> import numpy as np, tracejit
    >>> tracejit.Tensor(np.int8([1, 2])) + tracejit.Tensor(0.5)
    Tensor([1.5, 2.5], dtype=float32)
    """

    __slots__ = ("__weakref__", "_data")
    _data: Any

    #: NumPy must not take operators over: an array on the left reaches the reflected method.
    __array_ufunc__ = None

    def __init__(self, data: Any, dtype: Any = None):
        try:
            self._data = new_data(data, None if dtype is None else as_dtype(dtype))
        except TracejitError as error:
            hide_frames(error)
            raise

    @property
    def _type(self) -> Type:
        data = self._data
        return data.type if data.__class__ is Value else backend.type_of(data)

    @property
    def dtype(self) -> DType:
        """The elements' dtype."""
        return self._type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self._type.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return TensorType(self.dtype, self.shape).size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @public
    def value(self) -> Any:
        """Return the JAX array (no copy; arrays are immutable)."""
        return self._concrete("value()")

    def copy(self) -> Tensor:
        """Return a Tensor of the same value."""
        return wrap(self._data)

    @public
    def asnumpy(self) -> np.ndarray:
        """Return the value as a NumPy array of its own."""
        return np.array(self._read("asnumpy()"))

    @public
    def block_until_ready(self) -> Tensor:
        """Wait until the value has been computed; returns the Tensor."""
        self._concrete("block_until_ready()").block_until_ready()
        return self

    @public
    def item(self, *position: int) -> Any:
        """Return one element as a Python scalar."""
        return self._read("item()").item(*position)

    @public
    def tolist(self) -> Any:
        """Return the values as (nested) lists of Python scalars."""
        return self._read("tolist()").tolist()

    @property
    @public
    def sharding(self) -> Any:
        """The JAX sharding of the array: on which devices it lies."""
        return self._array("sharding").sharding

    @public
    def to(self, place: Any) -> Tensor:
        """Return the Tensor on a device (or its name, `"cpu:1"`) or in a sharding of JAX's; with a dtype, cast to it.

        >>> import jax, tracejit
        >>> tracejit.Tensor([1.0, 2.0]).to(jax.devices()[0]).to("float16")
        Tensor([1., 2.], dtype=float16)
        """
        if is_dtype(place):
            return self.astype(as_dtype(place))
        sharding = backend.sharding_of(place, self.shape)
        return wrap(backend.put(self._array("to()"), sharding))

    def _concrete(self, what: str) -> Any:
        """Return the array, or the JAX tracer, that the Tensor holds; no Value of a trace."""
        self._check_not_tracing(what)
        return self._data

    def _check_not_tracing(self, what: str) -> None:
        if self._data.__class__ is Value:
            self._not_while_tracing(what)

    def _array(self, what: str) -> Any:
        """Return the array that the Tensor holds; no tracer of somebody else's JAX transformation either."""
        data = self._concrete(what)
        if backend.is_tracer(data):
            raise TraceError(
                f"{what} needs a value, but this Tensor holds a tracer of a JAX transformation",
                types={"x": self._type},
                rule="under jax.jit, jax.grad, jax.vmap, ... values are only known when the function runs",
                fix=_FIXES.get(what, "move it out of the transformed function"),
            )
        return data

    def _read(self, what: str) -> np.ndarray:
        """Return the values for reading, without a copy where that is safe."""
        return backend.to_numpy(self._array(what))

    @public
    def _leaf(self) -> Any:
        """Return what the Tensor is to JAX's trees: its array. A traced Tensor cannot be given to JAX."""
        return self._concrete(_JAX)

    def _not_while_tracing(self, what: str) -> NoReturn:
        value: Value = self._data
        if value.scope is None or not value.scope.alive:
            raise escaped(value)
        function, producer = value.scope.function, value.producer
        made = f"argument {value.name}" if producer is None else producer.name
        if producer is not None and producer.location is not None:
            made += f" at {producer.location}: {producer.location.text}"
        raise TraceError(
            f"{what} needs a value, but {function} is being traced and this one is only known when it runs",
            types={value.name or "value": value.type},
            rule=f"the value comes from {made}; tracing sees dtypes and shapes, not values",
            fix=_fix(what, function),
        )

    @public
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self._read("np.asarray")
        return np.array(values, dtype=dtype, copy=copy) if dtype is not None or copy is not None else values

    @public
    def __dlpack__(self, **options: Any) -> Any:
        return self._array("__dlpack__").__dlpack__(**options)

    @public
    def __dlpack_device__(self) -> Any:
        return self._array("__dlpack_device__").__dlpack_device__()

    def _one(self, what: str) -> Any:
        values = self._read(what)
        if values.size != 1:
            raise ShapeError(
                f"{what}() takes a Tensor of one element",
                types={"x": self._type},
                fix="reduce it first, as in x.all() or x.any()",
            )
        return values.reshape(()).item()

    @public
    def __bool__(self) -> bool:
        return bool(self._one("bool"))

    @public
    def __int__(self) -> int:
        return int(self._one("int"))

    @public
    def __float__(self) -> float:
        return float(self._one("float"))

    @public
    def __complex__(self) -> complex:
        return complex(self._one("complex"))

    @public
    def __index__(self) -> int:
        if not dt.is_integer(self.dtype):
            raise DTypeError(f"a Tensor of {self.dtype.name} cannot be used as an index", types={"x": self._type})
        return int(self._one("int"))

    @public
    def __len__(self) -> int:
        if not self.shape:
            raise DTypeError("len() of a 0-d Tensor", types={"x": self._type})
        return self.shape[0]

    @public
    def __iter__(self) -> Any:
        self._check_not_tracing("iter")
        if not self.shape:
            raise DTypeError("a 0-d Tensor cannot be iterated over", types={"x": self._type})
        return (self[i] for i in range(self.shape[0]))

    @public
    def __contains__(self, item: Any) -> bool:
        self._array("in")
        return bool((self == item).any())

    # `==` is an operator, so a Tensor can only be told apart by identity.
    __hash__ = object.__hash__

    @public
    def __format__(self, spec: str) -> str:
        return format(self._one("format"), spec) if spec else repr(self)

    def __repr__(self) -> str:
        data = self._data
        name = type(self).__name__
        if data.__class__ is Value or backend.is_tracer(data):
            return f"{name}<{self._type}, traced>"
        body = np.array2string(self._read("repr"), separator=", ", prefix=f"{name}(")
        shape = f", shape={self.shape}" if 0 in self.shape else ""
        return f"{name}({body}{shape}, dtype={self.dtype.name})"

    @public
    def __reduce__(self) -> Any:
        return Tensor, (np.array(self._read("pickle")),)

    def __copy__(self) -> Tensor:
        return self.copy()

    @public
    def __deepcopy__(self, memo: Any) -> Tensor:
        return wrap(self._concrete("deepcopy"))

    @property
    def T(self) -> Tensor:
        """The Tensor with its axes in reverse order."""
        return self.transpose(tuple(range(self.ndim))[::-1])


def is_dtype(spec: Any) -> bool:
    """Say whether a value names a dtype rather than a place."""
    if isinstance(spec, str):
        return spec.partition(":")[0] not in ("cpu", "gpu", "cuda", "rocm", "tpu")
    return isinstance(spec, DType | type | np.dtype)


_JAX = "a JAX function that is given a tracejit Tensor"
_FIXES = {
    "iter": "loop over range(len(x)) and index, or write it as tracejit.scan(lambda carry, item: ..., start, x)",
    "in": "compare and reduce: (x == item).any()",
    "to()": "place arguments and Parameters outside; XLA places what is computed of them",
    "np.asarray": "use tracejit.ops on the Tensor; NumPy computes outside of the trace",
    _JAX: "use tracejit.ops on the Tensor; JAX's functions and jax.tree take Tensors outside of the trace",
}
_STATEMENT = re.compile(r"(if|elif|while|assert)\s+(.*?)\s*(:|$)")


def _fix(what: str, function: str) -> str:
    """Say what to write instead of reading a traced value; for Python's `if` and `while`, with the user's test."""
    location = user_location()
    statement = _STATEMENT.match(location.text) if location is not None else None
    if what == "bool" and statement is not None:
        word, test = statement.group(1), statement.group(2)
        if word == "while":
            return f"tracejit.while_loop(lambda carry: {test}, lambda carry: ..., start); what changes is the carry"
        if word != "assert":
            return f"tracejit.cond({test}, lambda: ..., lambda: ...), or ops.select({test}, x, y) for values"
    if what == "bool":
        return "choose with tracejit.cond(condition, lambda: ..., lambda: ...) or ops.select(condition, x, y)"
    return _FIXES.get(what, f"move it out of {function}, or make the argument static (static_argnames)")


_new = Tensor.__new__


def wrap(data: Any) -> Tensor:
    """Return a Tensor that holds an array, a Value or a JAX tracer as it is."""
    tensor = _new(Tensor)
    tensor._data = data
    return tensor


def new_data(data: Any, dtype: DType | None) -> Any:
    """Return what a new Tensor of `data` holds: an array, or a Value where a trace is going on."""
    if isinstance(data, Tensor):
        data = data._data if type(data) is Tensor else data.snapshot()  # type: ignore[attr-defined]
    if data.__class__ is Value:
        return data if dtype is None else convert(data, dtype)
    if backend.is_array(data):
        backend.type_of(data)  # raises DTypeError for JAX's own dtypes, such as that of random keys
        data = backend.with_auto_axes(data)
        return data if dtype is None else convert(data, dtype)
    array = host_array(data, dtype)
    ambient = AMBIENT.get()
    if ambient is not None and ambient.builder is not None:
        return constant(ambient.builder, array)
    return backend.from_numpy(array)


def convert(data: Any, dtype: DType) -> Any:
    """Cast what a Tensor holds."""
    return wrap(data).astype(dtype)._data


def constant(builder: Builder, array: np.ndarray) -> Value:
    """Record host data as a constant of the Graph."""
    from tracejit.ambient import current_policy
    from tracejit.ops.record import RECORDS

    return builder.record(RECORDS["constant"], [], {"value": array}, current_policy()).result


def host_array(data: Any, dtype: DType | None) -> np.ndarray:
    """Turn scalars, lists and NumPy arrays into a NumPy array of a supported dtype that nobody else holds."""
    if data.__class__ in (bool, int, float, complex):
        return _from_python(data, dtype)
    if isinstance(data, np.ma.MaskedArray):
        raise DTypeError("a masked array is not supported: the mask would be lost", fix="pass data.filled(value)")
    if isinstance(data, np.ndarray | np.generic):
        return _from_numpy(data, dtype)
    if isinstance(data, list | tuple):
        return _from_sequence(data, dtype)
    if hasattr(data, "__array__") or hasattr(data, "__dlpack__"):
        return _from_numpy(np.asarray(data), dtype)
    raise DTypeError(
        f"a Tensor cannot be made of {type(data).__name__}",
        fix="pass numbers, lists of numbers, or an array",
    )


def _from_python(data: Any, dtype: DType | None) -> np.ndarray:
    found = dtype or dt.DEFAULT_OF_KIND[data.__class__.__name__]
    if data.__class__ is int and dt.is_integer(found):
        low, high = dt.integer_range(found)
        if not low <= data <= high:
            raise ScalarOverflowError(
                f"the Python int {data} does not fit {found.name} ({low} to {high})", fix="name a wider dtype"
            )
    return _clamped(np.asarray(data), found) if data.__class__ is float else np.asarray(data, found.numpy)


def _from_sequence(data: Any, dtype: DType | None) -> np.ndarray:
    items = [np.asarray(item) if isinstance(item, Tensor) else item for item in data]
    try:
        array = np.array(items)
    except (ValueError, OverflowError) as error:
        raise DTypeError(f"a Tensor cannot be made of this list: {error}") from None
    if any(isinstance(item, np.ndarray | np.generic) for item in items) and array.dtype != object:
        return _from_numpy(array, dtype)
    if array.dtype.kind == "f" and (np.abs(array) >= 2.0**63).any():
        array = np.array(items, object)  # NumPy makes floats of ints beyond int64 beside smaller ones
        array = array if all(isinstance(item, int) for item in array.flat) else np.array(items)
    natural = _natural_dtype(array)
    found = dtype or natural
    if not (dt.is_integer(found) and dt.is_integer(natural)):
        return _clamped(array, found)
    low, high = dt.integer_range(found)
    if int(array.min()) < low or int(array.max()) > high:
        raise ScalarOverflowError(
            f"the list holds an int that does not fit {found.name} ({low} to {high})", fix="name a wider dtype"
        )
    return array.astype(found.numpy)


def _natural_dtype(array: np.ndarray) -> DType:
    """Return the dtype that a list of Python scalars takes by default; `array` is what NumPy made of it."""
    kind = array.dtype.kind if array.size else "f"
    if kind == "u" or (kind == "O" and all(isinstance(item, int) for item in array.flat)):
        kind = "i"  # beyond int64
    natural = {"b": dt.bool_, "i": dt.int64, "f": dt.float32, "c": dt.complex64}.get(kind)
    if natural is None:
        raise DTypeError(f"a Tensor cannot be made of a list of {array.dtype}", fix="pass numbers")
    return natural


def _from_numpy(data: Any, dtype: DType | None) -> np.ndarray:
    source = as_dtype(data.dtype)
    array = np.array(data, dtype=source.numpy)  # always a copy, in the machine's byte order
    if source is dt.bool_:
        array = np.asarray(array.view(np.uint8) != 0)  # bytes other than 0 and 1 are true, too
    return array if dtype is None or dtype is source else _clamped(array, dtype)


def _clamped(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Convert as Cast does on the device: floats clamp to an integer's limits, NaN gives 0."""
    with np.errstate(all="ignore"):
        if dt.is_integer(dtype) and dt.is_inexact(as_dtype(array.dtype)):
            array = array.real if np.iscomplexobj(array) else array  # pyright: ignore[reportAttributeAccessIssue]
            low, high = dt.integer_range(dtype)
            wide = np.nan_to_num(array.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
            inside = np.clip(np.trunc(wide), float(low), np.nextafter(float(high) + 1, 0))
            result = inside.astype(dtype.numpy)
            return np.where(wide >= high, np.array(high, dtype.numpy), result)
        if np.iscomplexobj(array) and dtype.kind in ("float",):
            array = array.real  # pyright: ignore[reportAttributeAccessIssue]
        return array.astype(dtype.numpy)
