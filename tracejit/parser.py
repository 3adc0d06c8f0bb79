"""Graph text back to a Graph: `parse_graph(print_graph(graph)) == graph`.

    graph      = "graph" body ;                         body = "@" word [policy] "(" [binders] [";" binders] ")"
                                                               "{" [location] {operation} return "}" ;
    operation  = [values "="] word [policy] [operands] ["{" pairs "}"] [":" types] [location] {"region" body} ;
    return     = "return" [operands] [";" writes] ;     writes = value "=" operand {"," value "=" operand} ;
    binders    = value ":" type {"," value ":" type} ;  operand = value | scalar | "None" ;
    policy     = "[" word "]" ;                         type = code "[" [lengths] "]" | scalar kind ;
    pairs      = word "=" attribute {"," word "=" attribute} ;
    scalar     = number | "True" | "False" ;
    attribute  = scalar | "None" | string | code | "(" [attribute {"," attribute}] [","] ")"
               | "dense<" [string | elements] ">" ":" type ;
    value      = "%" (digits | name | string) ["#" digits] ;
    location   = "//" file ":" line [text] ;

An operation ends with its line, and its operands stand on the line where its name does. In a signature, state follows
the `;`; in `return`, the state that the Graph writes. A value of digits only has no name, `#1` tells values of one
name apart. The policy in the first line is that of every operation without one of its own, regions included; without
it that is `mindspore`. Strings have Python's escapes. A `dense<…>` of one element fills the whole array, its string
holds the bytes in hexadecimal. Every comment that is not a location behind an operation or a `{` is skipped.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from tracejit.dtypes import BY_CODE
from tracejit.errors import GraphSyntaxError
from tracejit.ir import SCALAR_TYPES, Graph, Literal, Operation, PythonScalar, TensorType, Type, Value
from tracejit.locations import Location
from tracejit.printer import DEFAULT_POLICY, read_words, spell_value

_STRING = r'"[^"\\\n]*(?:\\(?:[nrt"\\]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})[^"\\\n]*)*"'
_WORD = r"[^\W\d][\w.]*"
_NUMBER = r"-?(?:0x[0-9a-f]+|(?:[0-9]+(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?|inf|nan)j?)(?![\w.])|\([-+.\w]+j\)"
_TOKEN = re.compile(
    rf"(?P<space>\s+)|(?P<comment>//[^\n]*)"
    rf"|(?P<value>%(?:[\w.]+|{_STRING})(?:\#[0-9]+)?)|(?P<symbol>@(?:{_WORD}|{_STRING}))"
    rf"|(?P<string>{_STRING})|(?P<number>{_NUMBER})|(?P<type>\w+\[[0-9, ]*\])"
    rf"|(?P<mark>dense<|[][(){{}}=:;,>])|(?P<word>{_WORD})|(?P<unknown>.)"
)
_LOCATION = re.compile(rf'//\s*(?P<file>[^\s":]+|{_STRING}):(?P<line>-?[0-9]{{1,12}})(?:\s+(?P<text>.*))?')
_WHOLE_STRING = re.compile(_STRING)
_ESCAPE = re.compile(r"\\(?:x..|u.{4}|U.{8}|.)")
_CONSTANTS: dict[str, Any] = {"True": True, "False": False, "None": None, **BY_CODE}
_LINE_SHOWN = 100
_T = TypeVar("_T")


def parse_graph(text: str) -> Graph:
    r"""Return the Graph that the text describes.

    Raises GraphSyntaxError, which shows the line and what was expected there. That the Graph keeps the rules of the
    IR (operators that exist, types that fit) is not checked.

    >>> graph = parse_graph("graph @double(%x: f32[4]) { \n %0 = add %x, %x : f32[4] \n return %0 }")
    >>> graph.inputs[0].type, graph.operations
    (f32[4], [<Operation add of 2 operands>])
    """
    parser = _Parser(text)
    try:
        parser.expect("graph")
        graph = parser.body(DEFAULT_POLICY)
    except RecursionError:
        parser.reject("more levels of nesting than can be read", parser.token)
    if parser.token.kind != "end":
        parser.fail("the end of the text")
    return graph


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    first: bool  # whether it is the first on its line


def _tokens(text: str) -> Iterator[_Token]:
    first = True
    for match in _TOKEN.finditer(text):
        kind, word = match.lastgroup or "", match.group()
        if kind == "space":
            first = first or "\n" in word
        elif kind != "comment":
            yield _Token(kind, word, match.start(), first)
            first = False
        elif not first and _LOCATION.fullmatch(word):
            yield _Token("location", word, match.start(), False)
    yield _Token("end", "", len(text), True)


class _Parser:
    """Reads tokens from left to right; every method leaves `token` at the first token that it did not use."""

    def __init__(self, text: str):
        self.text = text
        self.tokens = _tokens(text)
        self.types: dict[str, Type] = dict(SCALAR_TYPES)
        self.token = next(self.tokens)
        self.comment: _Token | None = None  # the location between the last token that was used and `token`

    # ---- tokens ----

    def step(self) -> _Token:
        """Return the token and go on to the next."""
        token = self.token
        self.comment = None
        if token.kind != "end":
            self.token = next(self.tokens)
        if self.token.kind == "location":
            self.comment, self.token = self.token, next(self.tokens)
        return token

    def at(self, mark: str) -> bool:
        return self.token.text == mark and self.token.kind in ("mark", "word")

    def accept(self, mark: str) -> bool:
        found = self.at(mark)
        if found:
            self.step()
        return found

    def expect(self, mark: str, context: str = "") -> None:
        if not self.accept(mark):
            self.fail(f"`{mark}`{context}")

    def list_of(self, item: Callable[[], _T]) -> list[_T]:
        items = [item()]
        while self.accept(","):
            items.append(item())
        return items

    # ---- errors ----

    def fail(self, expected: str, token: _Token | None = None, *, fix: str | None = None) -> NoReturn:
        """Raise the error of a token that stands where something else must."""
        token = token or self.token
        found = f"`{_shorten(token.text)}`" if token.kind != "end" else "the end of the text"
        self.reject(f"expected {expected}, found {found}", token, fix=fix)

    def reject(self, problem: str, token: _Token, *, fix: str | None = None) -> NoReturn:
        """Raise the error of a token that is in its place, but wrong."""
        line = self.text.count("\n", 0, token.start) + 1
        begin = self.text.rfind("\n", 0, token.start) + 1
        end = self.text.find("\n", token.start)
        shown, column = _window(self.text[begin : end if end >= 0 else len(self.text)], token.start - begin)
        where = f"line {line}, column {token.start - begin + 1} of the Graph text"
        raise GraphSyntaxError(f"{problem}: {where}\n    {shown}\n    {' ' * column}^", fix=fix) from None

    # ---- Graphs ----

    def body(self, policy: str) -> Graph:
        """Read what follows the word `graph` or `region`; `policy` is that of operations which name none."""
        values: dict[str, Value] = {}
        name = self.symbol()
        policy = self.policy(policy)
        self.expect("(", " and the inputs")
        inputs, state = self.signature(values)
        self.expect("{")
        location = self.location()
        graph = Graph(name, inputs, state, location=location)
        while not self.at("return"):
            graph.operations.append(self.operation(values, policy))
        self.finish(graph, values)
        return graph

    def symbol(self) -> str:
        if self.token.kind != "symbol":
            self.fail("the Graph's name, as in `@step`")
        token = self.step()
        return self.unquote(token, token.text[1:])

    def policy(self, default: str) -> str:
        if not self.accept("["):
            return default
        name = self.word("a policy's name")
        self.expect("]")
        return name

    def signature(self, values: dict[str, Value]) -> tuple[list[Value], list[Value]]:
        def binder() -> Value:
            token = self.value("a value, as in `%x: f32[4]`")
            self.expect(":", " and a type")
            value = Value(self.type())
            self.define(token, value, values)
            return value

        inputs = [] if self.at(";") or self.at(")") else self.list_of(binder)
        state = self.list_of(binder) if self.accept(";") else []
        self.expect(")")
        return inputs, state

    def finish(self, graph: Graph, values: dict[str, Value]) -> None:
        """Read from `return` to the closing brace."""
        self.expect("return")
        graph.outputs = self.operands(values) if not (self.at(";") or self.at("}")) else []
        places = {id(value): place for place, value in enumerate(graph.state)}

        def write() -> None:
            token = self.value("the state that is written, as in `%w = %3`")
            place = places.get(id(self.use(token, values)))
            if place is None:
                self.reject(
                    f"{token.text} is no state of this Graph", token, fix="state follows the `;` in the signature"
                )
            self.expect("=", " and the new value")
            graph.new_state[place] = self.operand(values)

        if self.accept(";"):
            self.list_of(write)
        self.expect("}")

    # ---- operations ----

    def operation(self, values: dict[str, Value], policy: str) -> Operation:
        names = self.result_names()
        operator = self.word("an operation or `return`" if not names else "an operator's name")
        own_policy = self.policy(policy)
        operands = self.operands(values) if self.at_operand() and not self.token.first else []
        attributes = self.attributes()
        types = self.result_types(names)
        location = self.location()
        regions = []
        while self.accept("region"):
            regions.append(self.body(policy))
        made = Operation(
            operator, operands, types, attributes=attributes, regions=regions, location=location, policy=own_policy
        )
        for token, result in zip(names, made.results, strict=True):
            self.define(token, result, values)
        return made

    def result_names(self) -> list[_Token]:
        if self.token.kind != "value":
            return []
        names = self.list_of(lambda: self.value("a value"))
        self.expect("=")
        return names

    def result_types(self, names: list[_Token]) -> list[Type]:
        start = self.token
        types = self.list_of(self.type) if self.accept(":") else []
        if not self.token.first:
            self.fail("`,` or the end of the line")
        if len(types) != len(names):
            self.reject(f"{len(names)} results, but {len(types)} types", start, fix="write one type for each result")
        return types

    def operands(self, values: dict[str, Value]) -> list[Value]:
        return self.list_of(lambda: self.operand(values))

    def at_operand(self) -> bool:
        return self.token.kind in ("value", "number") or self.token.text in ("True", "False", "None")

    def operand(self, values: dict[str, Value]) -> Value:
        if self.token.kind == "value":
            return self.use(self.step(), values)
        if self.token.kind == "number":
            return Literal(self.number(self.step()))
        if self.at("True") or self.at("False"):
            return Literal(self.step().text == "True")
        if self.accept("None"):
            return Literal(None)
        self.fail("a value or a number")

    def value(self, expected: str) -> _Token:
        if self.token.kind != "value":
            self.fail(expected)
        return self.step()

    def use(self, token: _Token, values: dict[str, Value]) -> Value:
        found = values.get(token.text) or values.get(self.value_name(token)[1])
        if found is None:
            close = difflib.get_close_matches(token.text, values, 1)
            fix = f"is {close[0]} meant?" if close else "define it above; a region sees only its own inputs"
            self.reject(f"{token.text} is not defined here", token, fix=fix)
        return found

    def define(self, token: _Token, value: Value, values: dict[str, Value]) -> None:
        value.name, key = self.value_name(token)
        if key in values:
            self.reject(f"{token.text} is defined twice", token, fix="a second value of one name is written %name#1")
        values[key] = value

    def value_name(self, token: _Token) -> tuple[str | None, str]:
        """Return a value's name and, needless quotes taken away, how it is written."""
        text, mark, repetition = token.text[1:].rpartition("#")
        if not (mark and repetition.isdecimal()):  # no `#`, or it is part of the string
            text, mark, repetition = token.text[1:], "", ""
        if text[0] != '"':
            return None if text.isdecimal() and text.isascii() else text, token.text
        name = self.unquote(token, text)
        return name, spell_value(name) + mark + repetition

    # ---- words, types and attributes ----

    def word(self, expected: str) -> str:
        if self.token.kind not in ("word", "string"):
            self.fail(expected)
        token = self.step()
        return self.unquote(token, token.text)

    def unquote(self, token: _Token, text: str) -> str:
        """Return what a string stands for, a bare word itself."""
        if text[0] != '"':
            return text
        try:
            return _ESCAPE.sub(_character, text[1:-1]) if "\\" in text else text[1:-1]
        except ValueError:
            self.reject("a string with an escape beyond the last character of Unicode", token)

    def type(self) -> Type:
        found = self.types.get(self.token.text)
        if found is None:
            found = self.types[self.token.text] = self.tensor_type()
        self.step()
        return found

    def tensor_type(self) -> TensorType:
        token = self.token
        if token.kind != "type":
            self.fail("a type, as in `f32[4,2]` or `float`")
        code, _, lengths = token.text[:-1].partition("[")
        dtype = BY_CODE.get(code)
        if dtype is None:
            self.reject(f"{code} is no dtype", token, fix=f"use one of {', '.join(BY_CODE)}")
        try:
            return TensorType(dtype, [int(length) for length in lengths.split(",")] if lengths.strip() else [])
        except ValueError:
            self.fail("lengths with a comma between them, as in `f32[4,2]`")

    def location(self) -> Location | None:
        """Return the location that follows the last token that was used, on its line."""
        token = self.comment
        match = token and _LOCATION.fullmatch(token.text)
        if not token or not match:
            return None
        text = (match["text"] or "").rstrip()
        source = self.unquote(token, text) if _WHOLE_STRING.fullmatch(text) else text
        return Location.of_line(self.unquote(token, match["file"]), int(match["line"]), source)

    def attributes(self) -> dict[str, Any]:
        if self.token.first or not self.accept("{"):
            return {}
        pairs: dict[str, Any] = {}

        def pair() -> None:
            token = self.token
            key = self.word("an attribute's name")
            if key in pairs:
                self.reject(f"attribute {key} is given twice", token)
            self.expect("=")
            pairs[key] = self.attribute()

        self.list_of(pair)
        self.expect("}", " or `,`")
        return pairs

    def attribute(self) -> Any:
        token = self.token
        if self.accept("("):
            return self.tuple()
        if self.accept("dense<"):
            return self.dense()
        if token.kind == "number":
            return self.number(self.step())
        if token.kind == "string":
            return self.unquote(self.step(), token.text)
        if token.kind == "word" and token.text in _CONSTANTS:
            return _CONSTANTS[self.step().text]
        self.fail("an attribute: a number, string, dtype, None, True, False, `(`…`)` or `dense<`…`>`")

    def tuple(self) -> tuple[Any, ...]:
        items = []
        while not self.at(")"):
            items.append(self.attribute())
            if not self.accept(","):
                break
        self.expect(")", " or `,`")
        return tuple(items)

    def number(self, token: _Token) -> PythonScalar:
        text = token.text
        try:
            if text.endswith("j") or text.endswith("j)"):
                return complex(text)
            if "x" in text:
                return int(text, 16)
            return int(text) if text.lstrip("-").isdecimal() else float(text)
        except ValueError:
            self.reject(f"`{_shorten(text)}` is no number that can be read", token, fix="write long integers as 0x…")

    # ---- arrays ----

    def dense(self) -> np.ndarray:
        """Read what follows `dense<`."""
        start = self.token
        data = self.step() if start.kind == "string" else None
        words: list[str] = []
        shape = self.elements(words) if data is None and not self.at(">") else ()
        self.expect(">", " or `,`")
        self.expect(":", " and the array's type")
        type_token, type_ = self.token, self.type()
        if not isinstance(type_, TensorType):
            self.fail("the type of an array, as in `f32[4]`", type_token)
        flat = self.read_words(start, words, type_) if data is None else self.read_bytes(data, type_)
        splat = shape == () and flat.size == 1
        if not splat and (flat.size != type_.size or shape not in ((), type_.shape)):
            found = f"elements of shape {list(shape)}" if shape else f"{flat.size} elements"
            self.reject(f"{found} for an array of type {type_}", start)
        try:
            return np.full(type_.shape, flat[0], flat.dtype) if splat else flat.reshape(type_.shape)
        except (ValueError, MemoryError):
            self.reject(f"{type_} is more than an array can hold", type_token)

    def elements(self, words: list[str]) -> tuple[int, ...]:
        """Add the elements of nested lists to `words`; return the lists' shape."""
        if not self.accept("["):
            if self.token.kind == "value" or not self.at_operand():
                self.fail("an element or `[`")
            words.append(self.step().text)
            return ()
        start = self.token
        shapes = self.list_of(lambda: self.elements(words))
        self.expect("]", " or `,`")
        if len(set(shapes)) > 1:
            self.reject("lists of different lengths in one array", start)
        return (len(shapes), *shapes[0])

    def read_words(self, start: _Token, words: list[str], type_: TensorType) -> np.ndarray:
        try:
            with np.errstate(over="ignore"):
                return read_words(words, type_.dtype)
        except (ValueError, KeyError, OverflowError):
            self.reject(f"elements that an array of type {type_} cannot hold", start)

    def read_bytes(self, token: _Token, type_: TensorType) -> np.ndarray:
        digits = token.text[3:-1]
        try:
            if not token.text.startswith('"0x'):
                raise ValueError
            return np.frombuffer(bytearray.fromhex(digits), type_.dtype.numpy)
        except ValueError:
            self.reject(f"a string that holds no whole elements of {type_} in hexadecimal", token)


def _character(match: re.Match[str]) -> str:
    return '"' if match.group() == '\\"' else match.group().encode().decode("unicode_escape")


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}…"


def _window(line: str, column: int) -> tuple[str, int]:
    """Return the part of a line that is worth showing, and where in it the column is; a tab counts as one."""
    line = line.replace("\t", " ").rstrip()
    begin = max(min(column - _LINE_SHOWN // 2, len(line) - _LINE_SHOWN), 0)
    return line[begin : begin + _LINE_SHOWN], column - begin
