"""What a saved program says of itself, as JSON: types, names, and the arrangement of arguments and results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from tracejit.dtypes import BY_CODE
from tracejit.errors import ExportError
from tracejit.ir import SCALAR_TYPES, ScalarType, TensorType, Type
from tracejit.tensor_files import damaged, parse_json

FORMAT = "tracejit program"
#: Raised by one when files of this version would be misread by the code of an older one.
VERSION = 1
_TYPE = re.compile(r"(\w+)\[((?:\d{1,18}(?:,\d{1,18})*)?)\]")


@dataclass(frozen=True)
class Leaf:
    """A place in the arrangement of arguments or results.

    `kind` is "input" or "output" (the next one in order), "parameter" (a Parameter, `what` its name) or "static" (a
    number that is part of the program, `what` its argument's name and the marks by which it is known).
    """

    kind: str
    what: Any = None


class ParameterRecord(NamedTuple):
    """A Parameter of a saved program."""

    name: str
    type: TensorType
    written: bool
    requires_grad: bool
    generator: bool


class CheckRecord(NamedTuple):
    """An index check that runs with the program: its operator, the line that called it, the lengths of the axes."""

    operator: str
    location: tuple[str, int, str] | None
    limits: tuple[int, ...]


class PolicyRecord(NamedTuple):
    """What a call must know of the policy that a function was traced under: how NumPy's scalars count."""

    name: str
    numpy_scalars: str
    needs_values: bool


class Manifest(NamedTuple):
    """Everything that a saved program consists of beside its code, its Graph and its arrays.

    `arguments` is the pair of args and kwargs with Leaf objects in the places of leaves, `results` the like.
    """

    name: str
    policy: PolicyRecord
    platforms: tuple[str, ...]
    donate: bool
    arguments: Any
    inputs: tuple[tuple[str, Type], ...]
    captured: tuple[TensorType, ...]
    parameters: tuple[ParameterRecord, ...]
    results: Any
    outputs: tuple[TensorType, ...]
    checks: tuple[CheckRecord, ...]
    written_by: dict[str, str]

    def to_json(self) -> bytes:
        """Return the manifest as JSON."""
        return json.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "written_by": self.written_by,
                "name": self.name,
                "policy": self.policy._asdict(),
                "platforms": self.platforms,
                "donate": self.donate,
                "arguments": _encode(self.arguments, "the arguments"),
                "inputs": [[name, str(type_)] for name, type_ in self.inputs],
                "captured": [str(type_) for type_ in self.captured],
                "parameters": [{**record._asdict(), "type": str(record.type)} for record in self.parameters],
                "results": _encode(self.results, "the results"),
                "outputs": [str(type_) for type_ in self.outputs],
                "checks": [record._asdict() for record in self.checks],
            },
            indent=1,
        ).encode()


# Arrangements


def _encode(tree: Any, where: str) -> Any:
    if isinstance(tree, Leaf):
        return {tree.kind: tree.what}
    if tree is None:
        return None
    if tree.__class__ is dict:
        for key in tree:
            if key.__class__ not in (str, int):
                raise _refused(f"a dict with the key {key!r}", where)
        return {"dict": [[key, _encode(value, where)] for key, value in tree.items()]}
    if tree.__class__ in (list, tuple):
        return {tree.__class__.__name__: [_encode(item, where) for item in tree]}
    raise _refused(f"a {type(tree).__name__}", where)


def _refused(what: str, where: str) -> ExportError:
    return ExportError(
        f"{where} of an exported function hold {what}",
        rule="a program is loaded without its source: tuples, lists, dicts (keys: strings, ints) and None hold leaves",
        fix="use one of these, here or in a small function around the one to export",
    )


_CONTAINERS: dict[str, Callable[[Any], Any]] = {"tuple": tuple, "list": list}
_LEAVES = frozenset(("input", "output", "parameter", "static"))


def _decode(tree: Any, what: str) -> Any:
    if tree is None:
        return None
    if not isinstance(tree, dict) or len(tree) != 1:
        damaged(what, "it describes no arrangement of arguments or results")
    ((kind, content),) = tree.items()
    if kind in _LEAVES:
        return _leaf(kind, content, what)
    if kind == "dict":
        pairs = [_pair(item, what) for item in _items(content, what)]
        if len(dict(pairs)) != len(pairs):
            damaged(what, "a key stands twice in it")
        return {key: _decode(value, what) for key, value in pairs}
    if kind not in _CONTAINERS:
        damaged(what, f"it has a container {kind!r}")
    return _CONTAINERS[kind]([_decode(item, what) for item in _items(content, what)])


def _leaf(kind: str, content: Any, what: str) -> Leaf:
    texts = content if isinstance(content, list) else [content]
    wanted = {"parameter": 1, "static": 4}.get(kind)
    if wanted is None and content is None:
        return Leaf(kind)
    if len(texts) != wanted or not all(isinstance(text, str) for text in texts):
        damaged(what, f"it has an {kind} that is none")
    return Leaf(kind, tuple(texts) if kind == "static" else content)


def _items(content: Any, what: str) -> list[Any]:
    if not isinstance(content, list):
        damaged(what, "it has a list that is none")
    return content


def _pair(item: Any, what: str) -> tuple[Any, Any]:
    if not isinstance(item, list) or len(item) != 2 or item[0].__class__ not in (str, int):
        damaged(what, "it has a dict that is none")
    return item[0], item[1]


# Reading


def read_manifest(raw: bytes, what: str) -> Manifest:
    """Read a manifest; SavedFileError for what is none, or of a version that is not known."""
    data = parse_json(raw, what)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        damaged(what, "it is no program that tracejit saved")
    if data.get("version") != VERSION:
        damaged(what, f"it has the version {data.get('version')!r} of the format, and this is {VERSION}")
    try:
        return _read(data, what)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        damaged(what, f"its manifest lacks something, or holds something else ({type(error).__name__}: {error})")


def _read(data: dict[str, Any], what: str) -> Manifest:
    read = _Reader(what)
    arguments = _decode(data["arguments"], what)
    if not (isinstance(arguments, tuple) and list(map(type, arguments)) == [tuple, dict]):
        damaged(what, "its arguments are no pair of args and kwargs")
    return Manifest(
        name=read.text(data["name"]),
        policy=read.policy(data["policy"]),
        platforms=tuple(map(read.text, read.items(data["platforms"]))),
        donate=read.flag(data["donate"]),
        arguments=arguments,
        inputs=tuple([(read.text(name), read.type(type_)) for name, type_ in read.items(data["inputs"])]),
        captured=tuple(map(read.tensor, read.items(data["captured"]))),
        parameters=tuple(map(read.parameter, read.items(data["parameters"]))),
        results=_decode(data["results"], what),
        outputs=tuple(map(read.tensor, read.items(data["outputs"]))),
        checks=tuple(map(read.check, read.items(data["checks"]))),
        written_by={read.text(name): read.text(version) for name, version in data["written_by"].items()},
    )


class _Reader:
    """Takes values of JSON for what they should be, and refuses all else."""

    def __init__(self, what: str):
        self.what = what

    def _expect(self, condition: bool, value: Any, wanted: str) -> None:
        if not condition:
            damaged(self.what, f"its manifest has {value!r:.60} where {wanted} should be")

    def text(self, value: Any) -> str:
        self._expect(isinstance(value, str), value, "a string")
        return value

    def flag(self, value: Any) -> bool:
        self._expect(isinstance(value, bool), value, "true or false")
        return value

    def items(self, value: Any) -> list[Any]:
        self._expect(isinstance(value, list), value, "a list")
        return value

    def number(self, value: Any) -> int:
        self._expect(value.__class__ is int, value, "an integer")
        return value

    def type(self, value: Any) -> Type:
        if self.text(value) in SCALAR_TYPES:
            return SCALAR_TYPES[value]
        match = _TYPE.fullmatch(value)
        self._expect(match is not None and match[1] in BY_CODE, value, "a type")
        assert match is not None
        return TensorType(BY_CODE[match[1]], [int(length) for length in match[2].split(",") if length])

    def tensor(self, value: Any) -> TensorType:
        type_ = self.type(value)
        self._expect(not isinstance(type_, ScalarType), value, "a tensor's type")
        return type_  # type: ignore[return-value]

    def policy(self, value: Any) -> PolicyRecord:
        scalars = self.text(value["numpy_scalars"])
        self._expect(scalars in ("python", "value", "tensor"), scalars, "what NumPy's scalars count as")
        return PolicyRecord(self.text(value["name"]), scalars, self.flag(value["needs_values"]))

    def parameter(self, value: Any) -> ParameterRecord:
        flags = [self.flag(value[name]) for name in ("written", "requires_grad", "generator")]
        return ParameterRecord(self.text(value["name"]), self.tensor(value["type"]), *flags)

    def check(self, value: Any) -> CheckRecord:
        location = value["location"]
        if location is not None:
            file, line, text = self.items(location)
            location = (self.text(file), self.number(line), self.text(text))
        return CheckRecord(self.text(value["operator"]), location, tuple(map(self.number, self.items(value["limits"]))))
