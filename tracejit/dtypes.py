"""The one table of dtypes: name, kind, width, short code, and each neighbour's spelling.

Dtypes are interned: `tracejit.float32` is one object, and `dtype is tracejit.float32` is a valid test.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tracejit.errors import DTypeError


class DType:
    """The type of a tensor's elements.

    `name` is NumPy's (`"float32"`), `kind` one of bool, uint, int, float, complex, `bits` the width of one element,
    `code` the short spelling of printed types (`f32`). `==` also takes whatever NumPy calls a dtype:

    >>> import numpy as np, tracejit
    >>> tracejit.float32 == np.float32, tracejit.float32 == "int8", tracejit.float32.itemsize
    (True, False, 4)
    """

    __slots__ = ("_hash", "bits", "code", "kind", "mindspore", "mlir", "name", "numpy", "tensorflow")

    def __init__(self, name: str, kind: str, bits: int, code: str, mlir: str, tensorflow: str, mindspore: str):
        self.name, self.kind, self.bits, self.code = name, kind, bits, code
        self.mlir, self.tensorflow, self.mindspore = mlir, tensorflow, mindspore
        self.numpy = np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name)
        self._hash = hash(self.numpy)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.numpy.itemsize

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, DType) or not isinstance(other, str | type | np.dtype):
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"tracejit.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)


# name, kind, bits, code, MLIR, TensorFlow, MindSpore
_TABLE = """
bool       bool    1   b1   i1           bool       Bool
uint8      uint    8   u8   ui8          uint8      UInt8
uint16     uint    16  u16  ui16         uint16     UInt16
uint32     uint    32  u32  ui32         uint32     UInt32
uint64     uint    64  u64  ui64         uint64     UInt64
int8       int     8   i8   i8           int8       Int8
int16      int     16  i16  i16          int16      Int16
int32      int     32  i32  i32          int32      Int32
int64      int     64  i64  i64          int64      Int64
bfloat16   float   16  bf16 bf16         bfloat16   BFloat16
float16    float   16  f16  f16          half       Float16
float32    float   32  f32  f32          float32    Float32
float64    float   64  f64  f64          float64    Float64
complex64  complex 64  c64  complex<f32> complex64  Complex64
complex128 complex 128 c128 complex<f64> complex128 Complex128
"""


def _read_table() -> dict[str, DType]:
    rows = (line.split() for line in _TABLE.strip().splitlines())
    return {row[0]: DType(row[0], row[1], int(row[2]), *row[3:]) for row in rows}


BY_NAME = _read_table()
BY_CODE = {dtype.code: dtype for dtype in BY_NAME.values()}
BY_MLIR = {dtype.mlir: dtype for dtype in BY_NAME.values()}
ALL = tuple(BY_NAME.values())
_BY_NUMPY = {dtype.numpy: dtype for dtype in ALL}

bool_ = BY_NAME["bool"]
uint8, uint16, uint32, uint64 = (BY_NAME[f"uint{bits}"] for bits in (8, 16, 32, 64))
int8, int16, int32, int64 = (BY_NAME[f"int{bits}"] for bits in (8, 16, 32, 64))
bfloat16, float16, float32, float64 = (BY_NAME[name] for name in ("bfloat16", "float16", "float32", "float64"))
complex64, complex128 = BY_NAME["complex64"], BY_NAME["complex128"]

#: The nine dtypes that take part in MindSpore's implicit conversion, lowest priority first (seed pages, rule 2).
NINE = (bool_, uint8, int8, int16, int32, int64, float16, float32, float64)
#: Spellings that are known and refused by name (TensorFlow's quantized types, sub-byte and 8-bit floats, …).
REFUSED = frozenset(
    "qint8 quint8 qint16 quint16 qint32 int2 int4 uint2 uint4 float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 "
    "float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu "
    "string resource variant float128 complex256 longdouble".split()
)


class RefusedDType:
    """A dtype that tracejit knows and does not have. Wherever one is given as a dtype, the error names it."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"tracejit.{self.name}"


qint8, qint16, qint32 = (RefusedDType(f"qint{bits}") for bits in (8, 16, 32))
quint8, quint16 = RefusedDType("quint8"), RefusedDType("quint16")
int4, uint4 = RefusedDType("int4"), RefusedDType("uint4")
float8_e4m3fn, float8_e5m2 = RefusedDType("float8_e4m3fn"), RefusedDType("float8_e5m2")

_EXTRA_NAMES = {"half": "float16", "bool_": "bool"}
#: What a Python scalar becomes where nothing else decides (DECISIONS: `Tensor(data)`).
DEFAULT_OF_KIND = {"bool": bool_, "int": int64, "float": float32, "complex": complex64}


def as_dtype(spec: Any) -> DType:
    """Return the dtype that `spec` names: a DType, or whatever NumPy takes for one (dtype, type object, string).

    Raises DTypeError (a TypeError) for unknown and refused names, objects, strings, dates, records.

    >>> import tracejit
    >>> tracejit.as_dtype("i8"), tracejit.as_dtype(float)
    (tracejit.int64, tracejit.float64)
    """
    if spec.__class__ is DType:
        return spec
    name = _name_of(spec)
    if name in REFUSED:
        raise DTypeError(f"dtype {name} is not supported", fix=f"use one of {', '.join(BY_NAME)}")
    found = BY_NAME.get(name) or BY_NAME.get(_EXTRA_NAMES.get(name, ""))
    if found is not None:
        return found
    return _from_numpy(spec)


def _name_of(spec: Any) -> str:
    if isinstance(spec, str):
        return spec
    return getattr(spec, "name", None) or getattr(spec, "__name__", None) or ""


def _from_numpy(spec: Any) -> DType:
    if spec is None or isinstance(spec, int | float | complex):
        raise DTypeError(f"{spec!r} is not a dtype", fix="name one, as in tracejit.float32 or 'float32'")
    try:
        numpy_dtype = np.dtype(spec)
    except (TypeError, ValueError):
        raise DTypeError(f"{spec!r} is not a dtype", fix=f"use one of {', '.join(BY_NAME)}") from None
    found = _BY_NUMPY.get(numpy_dtype.newbyteorder("="))
    if found is None:
        raise DTypeError(
            f"dtype {numpy_dtype} is not supported: tensors hold booleans and numbers only",
            fix=f"use one of {', '.join(BY_NAME)}",
        )
    return found


_KIND_RANK = {"bool": 0, "uint": 1, "int": 1, "float": 2, "complex": 3}
#: Bits of the significand, the hidden one included: up to 2**that every integer is exact.
_SIGNIFICAND = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53, "complex64": 24, "complex128": 53}
_EXPONENT = {"bfloat16": 8, "float16": 5, "float32": 8, "float64": 11, "complex64": 8, "complex128": 11}


def kind_rank(kind: str) -> int:
    """Order kinds: bool 0, integers 1, floats 2, complex 3."""
    return _KIND_RANK[kind]


def is_integer(dtype: DType) -> bool:
    """Say whether the dtype is a signed or unsigned integer."""
    return dtype.kind == "int" or dtype.kind == "uint"


def is_inexact(dtype: DType) -> bool:
    """Say whether the dtype is a float or a complex."""
    return dtype.kind == "float" or dtype.kind == "complex"


def integer_range(dtype: DType) -> tuple[int, int]:
    """Return the least and the greatest value of an integer dtype."""
    if dtype.kind == "uint":
        return 0, 2**dtype.bits - 1
    return -(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1


def holds(to: DType, source: DType) -> bool:
    """Say whether every value of `source` is exact in `to` (DECISIONS: lossless).

    >>> import tracejit.dtypes as dt
    >>> dt.holds(dt.float16, dt.int8), dt.holds(dt.float32, dt.int32)
    (True, False)
    """
    if to is source or source is bool_:
        return True
    if is_integer(source):
        if is_integer(to):
            low, high = integer_range(source)
            to_low, to_high = integer_range(to)
            return to_low <= low and high <= to_high
        return is_inexact(to) and source.bits - (source.kind == "int") <= _SIGNIFICAND[to.name]
    if (source.kind == "complex" and to.kind != "complex") or not is_inexact(to):
        return False
    return _SIGNIFICAND[source.name] <= _SIGNIFICAND[to.name] and _EXPONENT[source.name] <= _EXPONENT[to.name]
