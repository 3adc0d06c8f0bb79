"""Graphs as text: one operation a line, short dtype codes, the user's names, the user's source line at the end.

    graph @step(%x: u8[32,64], %lr: float; %w: f32[64,10]) {           // digits.py:40
      %0 = cast %x {dtype = f32, rule = "tensor-tensor"} : f32[32,64]  // digits.py:42  logits = x @ w
      %1 = matmul %0, %w : f32[32,10]                                  // digits.py:42  logits = x @ w
      %2 = mul[strict] %w, 0.5 : f32[64,10]                            // digits.py:44  w *= 0.5
      return %1; %w = %2
    }

`tracejit.parser` has the grammar and reads the text back. Of a file's path only the last part is printed, so that
the text is the same on every machine. How names, strings and numbers are spelled is defined here for both.
"""

from __future__ import annotations

import html
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit.dtypes import ALL, DType
from tracejit.ir import Callee, Graph, Literal, Operation, TensorType, Value
from tracejit.locations import Location

DEFAULT_POLICY = "mindspore"
#: Longer arrays are written as the hexadecimal digits of their bytes.
SHORT_ARRAY = 32
#: Longer lists of arguments and of written state take a line for each.
_WIDTH = 120
#: Source lines stand in one column, which longer operations do not push further to the right.
_COMMENT_COLUMN = 80
#: Words with a meaning of their own: a name that is one of them is quoted.
_RESERVED = frozenset("return region nan inf nanj infj".split())
_BARE_WORD = re.compile(r"[^\W\d][\w.]*")
_BARE_VALUE = re.compile(r"[\w.]+")
_BARE_FILE = re.compile(r'[^\s":]+')
_OF_NUMPY = {dtype.numpy: dtype for dtype in ALL}
_READERS: dict[str, Callable[[str], Any]] = {
    "bool": {"True": True, "False": False}.__getitem__,
    "uint": int,
    "int": int,
    "float": float,
    "complex": complex,
}


def print_graph(graph: Graph, *, locations: bool = True, elide: bool = False) -> str:
    """Return the Graph as text; `parse_graph` reads it back as an equal one.

    `locations=False` leaves the source lines out. `elide=True` leaves out what long array attributes hold, for a
    text that is only looked at. A Graph that breaks the rules of the IR prints all the same: a value that nothing
    defines shows as `%?`, an attribute of a type that attributes do not have as the type's name in angle brackets.

    >>> from tracejit.dtypes import float32
    >>> from tracejit.ir import Graph, Operation, TensorType, Value
    >>> x = Value(TensorType(float32, (4,)), name="x")
    >>> double = Operation("add", [x, x], [x.type])
    >>> print(print_graph(Graph("double", [x], operations=[double], outputs=double.results)))
    graph @double(%x: f32[4]) {
      %0 = add %x, %x : f32[4]
      return %0
    }
    """
    lines = _Lines(graph, elide).lines
    return "\n".join([code + comment for _, code, comment in _aligned(lines, locations)])


def print_operation(operation: Operation, graph: Graph | None = None) -> str:
    """Return an operation's own line, without its regions and source line; long array attributes are elided.

    Values have the names that they have in `graph`, the Graph that holds the operation; without one, the results
    are numbered from 0 and an operand without a name shows as `%?`.

    >>> from tracejit.ir import Literal, Operation, SCALAR_TYPES
    >>> print_operation(Operation("add", [Literal(2), Literal(0.5)], [SCALAR_TYPES["float"]]))
    '%0 = add 2, 0.5 : float'
    """
    names = _names(graph.values()) if graph is not None else _names([*_named(operation.operands), *operation.results])
    policy = common_policy(graph) if graph is not None else DEFAULT_POLICY
    return _operation_text(operation, names, policy, elide=True)


def mark_operation(graph: Graph, operation: Operation | None, note: str, *, context: int = 8) -> str:
    """Return the Graph's text with a mark and `note` under `operation`, itself or a region's; for messages.

    No more than `context` lines before and after it are kept. What is not an operation of the Graph (None: its
    inputs or outputs are what the note is about) is marked at the end.

    >>> from tracejit.ir import Graph, Operation
    >>> steps = [Operation("start", [], []), Operation("stop", [], [])]
    >>> print(mark_operation(Graph("run", operations=steps), steps[0], "never stops", context=1))
    graph @run() {
      start
      ^^^^^ never stops
      stop
      ...
    """
    lines = list(_aligned(_Lines(graph, elide=True).lines, locations=True))
    at = next((i for i, (line, _, _) in enumerate(lines) if operation and line.operation is operation), len(lines) - 1)
    first, last = max(at - context, 0), min(at + context + 1, len(lines))
    texts = [code + comment for _, code, comment in lines[first:last]]
    texts.insert(at - first + 1, f"{_mark(lines[at][0].text)} {note}")
    return "\n".join(["  ..."] * (first > 0) + texts + ["  ..."] * (last < len(lines)))


def html_of_graph(graph: Graph) -> str:
    """Return the Graph as a piece of HTML that needs nothing else: casts coloured, rule and line shown on hover."""
    lines = _aligned(_Lines(graph, elide=True).lines, locations=True)
    body = "\n".join([_html_line(*parts) for parts in lines])
    return f'<pre class="tracejit-graph" style="line-height:1.35;overflow-x:auto">{body}</pre>'


def common_policy(graph: Graph) -> str:
    """Return the policy that most of the Graph's operations have, regions included: the one its first line names."""
    counts = Counter([operation.policy for operation in graph.walk()])
    return counts.most_common(1)[0][0] if counts else DEFAULT_POLICY


# ---- names and numbers ----


def quote(text: str) -> str:
    r"""Return a string in double quotes, on one line and printable, with Python's escapes.

    >>> print(quote('a "b"'), quote("tab\t"))
    "a \"b\"" "tab\t"
    """
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    if character == '"':
        return '\\"'
    if character.isprintable() and character != "\\":
        return character
    return character.encode("unicode_escape").decode()


def spell_word(word: str) -> str:
    """Return the name of an operator, attribute, policy or Graph, in quotes where it could be misread."""
    return word if _BARE_WORD.fullmatch(word) and word not in _RESERVED else quote(word)


def spell_value(name: str, repetition: int = 0) -> str:
    """Return the printed form of a value's name: `%x`, `%layer.0.weight`, `%"a b"`; `%x#1` for the second `x`."""
    # Plain digits are the printer's own, for the values without a name.
    bare = _BARE_VALUE.fullmatch(name) and not (name.isdecimal() and name.isascii())
    return f"%{name if bare else quote(name)}{f'#{repetition}' if repetition else ''}"


def spell_number(value: complex | None) -> str:
    """Return a Python scalar as Python writes it; long integers in hexadecimal, which has no limit of digits."""
    return hex(value) if isinstance(value, int) and value.bit_length() > 256 else repr(value)


def _names(values: Sequence[Value] | Iterator[Value]) -> dict[int, str]:
    """Give each value a printed name that no other has; the keys are the values' ids."""
    names: dict[int, str] = {}
    seen: Counter[str] = Counter()
    unnamed = 0
    for value in values:
        if value.name is None:
            names[id(value)] = f"%{unnamed}"
            unnamed += 1
        else:
            names[id(value)] = spell_value(value.name, seen[value.name])
            seen[value.name] += 1
    return names


def _named(values: Sequence[Value]) -> list[Value]:
    return [value for value in dict.fromkeys(values) if value.name is not None]


def _use(value: Value, names: dict[int, str]) -> str:
    if isinstance(value, Literal):
        return spell_number(value.value)
    found = names.get(id(value))
    return found if found is not None else f"%?{value.name or ''}"


def _binder(value: Value, names: dict[int, str]) -> str:
    return f"{_use(value, names)}: {value.type}"


# ---- attributes ----


def spell_attribute(value: Any, *, elide: bool = False) -> str:
    """Return an attribute as text: Python's spelling, dtype codes, `dense<[1, 2]> : i32[2]` for arrays.

    >>> spell_attribute((1, None, ("a",), float("nan")))
    '(1, None, ("a",), nan)'
    """
    kind = value.__class__
    if value is None or kind in (bool, int, float, complex):
        return spell_number(value)
    if kind is str or kind is Callee:
        return quote(value)
    if kind is DType:
        return value.code
    if kind is tuple:
        items = [spell_attribute(item, elide=elide) for item in value]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if kind is np.ndarray and value.dtype in _OF_NUMPY:
        return f"dense<{_spell_array(value, elide)}> : {TensorType(_OF_NUMPY[value.dtype], value.shape)}"
    return f"<{kind.__name__}>"


def _spell_array(array: np.ndarray, elide: bool) -> str:
    if array.size == 0:
        return ""
    array = splat_or_same(array)
    words = decimal_words(array)
    if words is not None:
        return nest(words, array.shape)
    if elide and array.size > SHORT_ARRAY:
        return "..."
    return f'"0x{array.tobytes().hex()}"'


def splat_or_same(array: np.ndarray) -> np.ndarray:
    """Return an array of no axes if all elements are the same bytes, else the array itself."""
    data = array.tobytes()
    return array.reshape(-1)[0:1].reshape(()) if data == data[: array.itemsize] * array.size else array


def decimal_words(array: np.ndarray) -> list[str] | None:
    """Return the elements in decimal; None if they are too many, or if the bytes would not survive (NaN payloads)."""
    if array.size > SHORT_ARRAY:
        return None
    words = [str(element) for element in array.flat]
    return words if read_words(words, _OF_NUMPY[array.dtype]).tobytes() == array.tobytes() else None


def read_words(words: Sequence[str], dtype: DType) -> np.ndarray:
    """Return the array of the elements that are written so.

    Raises ValueError, KeyError or OverflowError for a word that is no element of this dtype.
    """
    reader = _READERS[dtype.kind]
    return np.array([reader(word) for word in words], dtype.numpy)


def nest(words: list[str], shape: Sequence[int]) -> str:
    """Lay words out as nested lists of the given shape, of which no axis is empty.

    >>> nest(["1", "2", "3", "4"], (2, 2))
    '[[1, 2], [3, 4]]'
    """
    for length in reversed(shape):
        words = [f"[{', '.join(words[at : at + length])}]" for at in range(0, len(words), length)]
    (text,) = words
    return text


# ---- lines ----


class _Line(NamedTuple):
    """A printed line without its comment, the location that the comment names, the operation that it shows."""

    text: str
    location: Location | None = None
    operation: Operation | None = None


class _Lines:
    """The lines of a Graph and its regions, in order."""

    def __init__(self, graph: Graph, elide: bool):
        self.lines: list[_Line] = []
        self.elide = elide
        self.policy = common_policy(graph)
        self.add_graph(graph, "graph", "" if self.policy == DEFAULT_POLICY else f"[{spell_word(self.policy)}]", "")

    def add_graph(self, graph: Graph, keyword: str, policy: str, indent: str) -> None:
        names = _names(graph.values())
        inputs, state = ([_binder(value, names) for value in values] for values in (graph.inputs, graph.state))
        head = f"{indent}{keyword} @{spell_word(graph.name)}{policy}("
        self.add_lists(head, inputs, state, ") {", indent, graph.location)
        for operation in graph.operations:
            self.add_operation(operation, names, indent + "  ")
        outputs = [_use(value, names) for value in graph.outputs]
        self.add_lists(f"{indent}  return", outputs, _writes(graph, names), "", indent + "  ", None)
        self.lines.append(_Line(indent + "}"))

    def add_operation(self, operation: Operation, names: dict[int, str], indent: str) -> None:
        text = _operation_text(operation, names, self.policy, self.elide)
        self.lines.append(_Line(indent + text, operation.location, operation))
        for region in operation.regions:
            self.add_graph(region, "region", "", indent + "  ")

    def add_lists(
        self, head: str, first: list[str], second: list[str], tail: str, indent: str, location: Location | None
    ) -> None:
        """Add two lists with a semicolon between: one line or, where that is too long, a line for each item."""
        items = _commas(first)
        if second:
            head, items = (head, [*items[:-1], f"{items[-1]};"]) if items else (f"{head};", [])
        items += _commas(second)
        gap = " " if items and not head.endswith("(") else ""
        parts = [f"{head}{gap}{' '.join(items)}{tail}"]
        if len(parts[0]) > _WIDTH and len(items) > 1:
            parts = [head, *[f"{indent}    {item}" for item in items], *([indent + tail] if tail else [])]
        self.lines += [_Line(part) for part in parts[:-1]]
        self.lines.append(_Line(parts[-1], location))


def _operation_text(operation: Operation, names: dict[int, str], policy: str, elide: bool) -> str:
    parts = [spell_word(operation.name)]
    if operation.policy != policy:
        parts[0] += f"[{spell_word(operation.policy)}]"
    if operation.operands:
        parts.append(", ".join([_use(value, names) for value in operation.operands]))
    if operation.attributes:
        pairs = operation.attributes.items()
        spelled = [f"{spell_word(key)} = {spell_attribute(value, elide=elide)}" for key, value in pairs]
        parts.append(f"{{{', '.join(spelled)}}}")
    if operation.results:
        parts.append(f": {', '.join([str(value.type) for value in operation.results])}")
        parts.insert(0, f"{', '.join([_use(value, names) for value in operation.results])} =")
    return " ".join(parts)


def _writes(graph: Graph, names: dict[int, str]) -> list[str]:
    pairs = zip(graph.state, graph.new_state, strict=False)
    return [f"{_use(old, names)} = {_use(new, names)}" for old, new in pairs if old is not new]


def _commas(items: list[str]) -> list[str]:
    return [f"{item}," for item in items[:-1]] + items[-1:]


def _aligned(lines: list[_Line], locations: bool) -> Iterator[tuple[_Line, str, str]]:
    """Yield each line, its code padded to where comments begin, its comment (empty, and no padding, without one)."""
    widths = [len(line.text) for line in lines if line.location is not None]
    column = min(max(widths, default=0), _COMMENT_COLUMN)
    for line in lines:
        if line.location is None or not locations:
            yield line, line.text, ""
        else:
            yield line, f"{line.text:<{column}}  ", _comment(line.location)


def _comment(location: Location) -> str:
    file = os.path.basename(location.file) or location.file
    bare = _BARE_FILE.fullmatch(file) and file.isprintable()
    place = f"// {file if bare else quote(file)}:{location.line}"
    return f"{place}  {_spell_source(location.text)}" if location.text else place


def _spell_source(text: str) -> str:
    plain = text.isprintable() and text == text.strip() and text[0] != '"'
    return text if plain else quote(text)


def _mark(text: str) -> str:
    code = text.lstrip()
    return " " * (len(text) - len(code)) + "^" * len(code)


def _html_line(line: _Line, code: str, comment: str) -> str:
    text = html.escape(code)
    if line.operation is not None and line.operation.name == "cast":
        text = f'<span style="color:#c2570c;font-weight:600" title="{_hover(line.operation)}">{text}</span>'
    return f'{text}<span style="opacity:.6">{html.escape(comment)}</span>' if comment else text


def _hover(cast: Operation) -> str:
    parts = [f"{cast.operands[0].type} to {cast.results[0].type}"] if cast.operands and cast.results else []
    if cast.attributes.get("rule") is not None:
        parts.append(f"rule {spell_attribute(cast.attributes['rule'])}")
    if cast.location is not None:
        parts.append(_comment(cast.location).removeprefix("// "))
    return "&#10;".join(map(html.escape, parts))
