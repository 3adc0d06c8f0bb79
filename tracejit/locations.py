"""Where in the user's program something happened.

A location is taken for every recorded operation, so taking one must cost next to nothing: it stores the code
object and the instruction offset, and finds file, line and source text only when somebody prints it.
"""

from __future__ import annotations

import bisect
import contextlib
import linecache
import os
import sys
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
#: Where tracejit's own code lies, and that of others which locations and tracebacks pass over.
INTERNAL_FOLDERS = [_PACKAGE + os.sep, os.path.join(os.path.dirname(_PACKAGE), "lowering") + os.sep]
#: contextlib stands between JAX's frames, and between ours, where a function is decorated with a context.
_INTERNAL_FILES = {"<frozen importlib._bootstrap>", "<frozen runpy>", "<string>", contextlib.__file__}

# One answer per file name: a dictionary look-up is what keeps taking a location at a fraction of a microsecond.
_is_internal: dict[str, bool] = {}


def hide_folder(folder: str) -> None:
    """Treat the code below `folder` as machinery that locations and tracebacks pass over (JAX's own, for one)."""
    INTERNAL_FOLDERS.append(os.path.abspath(folder) + os.sep)
    _is_internal.clear()


def is_internal(filename: str) -> bool:
    """Say whether code of this file is tracejit's (or JAX's) own rather than the user's."""
    known = _is_internal.get(filename)
    if known is None:
        path = os.path.abspath(filename)
        known = filename in _INTERNAL_FILES or path.startswith(tuple(INTERNAL_FOLDERS))
        _is_internal[filename] = known
    return known


class Location:
    """A place in the user's program; file, line and text are found when they are first asked for."""

    __slots__ = ("_code", "_lasti", "_resolved")

    def __init__(self, code: CodeType | None, lasti: int = 0, resolved: tuple[str, int, str] | None = None):
        self._code, self._lasti, self._resolved = code, lasti, resolved

    @classmethod
    def of_line(cls, file: str, line: int, text: str = "") -> Location:
        """Make the location of a known file and line (as read back from printed text)."""
        return cls(None, 0, (file, line, text))

    def _resolve(self) -> tuple[str, int, str]:
        if self._resolved is None:
            assert self._code is not None
            line = _line_of(self._code, self._lasti)
            text = linecache.getline(self._code.co_filename, line).strip()
            self._resolved = (self._code.co_filename, line, text)
        return self._resolved

    @property
    def instruction(self) -> tuple[Any, int]:
        """What tells this place apart from others, on the same line too, for as long as the program runs."""
        return (id(self._code), self._lasti) if self._code is not None else self._resolve()[:2]

    @property
    def file(self) -> str:
        """The file's full name."""
        return self._resolve()[0]

    @property
    def line(self) -> int:
        """The line number, from 1."""
        return self._resolve()[1]

    @property
    def text(self) -> str:
        """The source text of the line, stripped; empty where the source cannot be read."""
        return self._resolve()[2]

    def with_text(self) -> Location:
        """Return the same place with the source text of its line."""
        return Location(self._code, self._lasti) if self._code is not None else self

    @property
    def function(self) -> str:
        """The name of the function that holds the line; empty if only file and line are known."""
        return self._code.co_name if self._code is not None else ""

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"

    def __repr__(self) -> str:
        return f"Location({self.file!r}, {self.line}, {self.text!r})"


class _LineTable(NamedTuple):
    """Where in the instructions of some code its lines begin. A long function has many places to look up."""

    code: CodeType
    starts: list[int]
    lines: list[int]


# By the code's id (hashing code takes longer than the look-up); the table keeps the code alive, so that its id stays
# its own.
_tables: dict[int, _LineTable] = {}
_MOST_TABLES = 256


def _line_table(code: CodeType) -> _LineTable:
    spans = [(start, line or code.co_firstlineno) for start, _, line in code.co_lines()]
    if len(_tables) >= _MOST_TABLES:
        _tables.clear()
    table = _tables[id(code)] = _LineTable(code, [start for start, _ in spans], [line for _, line in spans])
    return table


def _line_of(code: CodeType, lasti: int) -> int:
    table = _tables.get(id(code)) or _line_table(code)
    return table.lines[max(bisect.bisect_right(table.starts, lasti) - 1, 0)]


def user_location(depth: int = 1) -> Location | None:
    """Return the innermost place on the stack that is the user's; None if there is none."""
    frame: FrameType | None = sys._getframe(depth)
    known = _is_internal
    while frame is not None:
        code = frame.f_code
        filename = code.co_filename
        internal = known.get(filename)
        if internal is None:
            internal = is_internal(filename)
        if not internal:
            return Location(code, frame.f_lasti)
        frame = frame.f_back
    return None


def location_of(function: object) -> Location | None:
    """Return where a Python function, or the one that it wraps, is defined; None for what has no code."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__  # pyright: ignore[reportAttributeAccessIssue]
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return Location(code, 0, (code.co_filename, code.co_firstlineno, "")) if code is not None else None


def location_in(traceback: TracebackType | None) -> Location | None:
    """Return the innermost place of a traceback that is the user's; None if there is none."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_internal(code.co_filename):
            found = Location(code, traceback.tb_lasti)
        traceback = traceback.tb_next
    return found


def user_traceback(traceback: TracebackType | None) -> TracebackType | None:
    """Return the traceback without the frames that are not the user's."""
    kept = []
    while traceback is not None:
        if not is_internal(traceback.tb_frame.f_code.co_filename):
            kept.append(traceback)
        traceback = traceback.tb_next
    result = None
    for entry in reversed(kept):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result
