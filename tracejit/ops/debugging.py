"""Operators of the machinery: printing from traced code, and what index checks in regions tell."""

from __future__ import annotations

from tracejit.ops import checks
from tracejit.ops.record import Attribute, op

debug_print = op(
    "DebugPrint",
    "*values:-",
    doc="Print values when the program runs.",
    attributes=(Attribute("format", checks.anything),),
    result=(),
    shape=lambda op, types, attributes: [],
    hidden=True,
    effect=True,
)
no_bad_index = op(
    "NoBadIndex",
    "",
    doc="What an index check tells before it has run.",
    attributes=(Attribute("dtype", checks.dtype),),
    result=":dtype",
    shape=lambda op, types, attributes: [(2,)],
    hidden=True,
)
first_bad_index = op(
    "FirstBadIndex",
    "earlier:T, told:T",
    doc="What was told earlier if that was of a bad index, else the first bad index of what is told now.",
    shape=lambda op, types, attributes: [(2,)],
    hidden=True,
)
