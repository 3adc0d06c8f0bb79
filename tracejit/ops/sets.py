"""Sets of dtypes that operators accept, named as OPS.md names them."""

from __future__ import annotations

from tracejit import dtypes as dt
from tracejit.ops.record import Dialects

BOOL = frozenset((dt.bool_,))
UINTS = frozenset((dt.uint8, dt.uint16, dt.uint32, dt.uint64))
INTS = frozenset((dt.int8, dt.int16, dt.int32, dt.int64))
INTEGERS = UINTS | INTS
FLOATS = frozenset((dt.bfloat16, dt.float16, dt.float32, dt.float64))
COMPLEXES = frozenset((dt.complex64, dt.complex128))
REALS = INTEGERS | FLOATS
NUMBERS = REALS | COMPLEXES
ALL = BOOL | NUMBERS
HALF_AND_SINGLE = frozenset((dt.float16, dt.float32))
INEXACT = FLOATS | COMPLEXES

#: r1.1 takes numbers; 2.x takes bool too.
REALS_THEN_BOOL = Dialects(REALS, REALS | BOOL)
NUMBERS_THEN_BOOL = Dialects(NUMBERS, ALL)
