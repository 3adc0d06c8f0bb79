"""Programs that are saved and served: `jit(f).export(*args).save(path)`, and `tracejit.load(path)`.

A saved program is one file (see `tracejit.archives`): the manifest, the typed Graph as text, the code as StableHLO, and
the arrays as safetensors. Loading it runs nothing; calling what was loaded runs the StableHLO and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import tracejit
from tracejit import policies
from tracejit.ambient import AMBIENT
from tracejit.archives import read_archive, write_archive
from tracejit.arguments import Static, named_leaves, normalise
from tracejit.bridge import backend
from tracejit.errors import (
    AttributeTypeError,
    DTypeError,
    ExportError,
    GraphSyntaxError,
    PlatformError,
    TraceError,
    hide_frames,
)
from tracejit.ir import SCALAR_TYPES, Graph, Operation, TensorType, Type
from tracejit.locations import Location
from tracejit.manifests import CheckRecord, Leaf, Manifest, ParameterRecord, PolicyRecord, read_manifest
from tracejit.ops.record import Bound
from tracejit.parameter import Generator, Parameter
from tracejit.parser import parse_graph
from tracejit.placing import check_places, named_arrays
from tracejit.plans import Plan
from tracejit.saving import PathLike, by_name, values_of
from tracejit.stages import Traced
from tracejit.storage import Storage, Written
from tracejit.tensor import Tensor, public
from tracejit.tensor_files import damaged, write_tensors

MEMBERS = ("manifest.json", "graph.txt", "program.stablehlo", "parameters.safetensors", "captured.safetensors")


class Contents(NamedTuple):
    """What a saved program is made of, beside the Parameters."""

    manifest: Manifest
    module: Any
    #: The module as bytes, which are kept, so that saving it again changes nothing.
    code: bytes
    graph_text: str
    captured: list[Any]


class Exported:
    """A function as a program that needs no source: it can be called, printed and saved. Made by `jit(f).export`.

    It runs on the function's own Parameters, which it keeps alive.
    """

    def __init__(self, contents: Contents, graph: Graph, parameters: Mapping[str, Parameter]):
        self._contents, self._graph = contents, graph
        self._parameters = dict(parameters)
        manifest = contents.manifest
        self.name, self.platforms, self.policy = manifest.name, manifest.platforms, manifest.policy.name
        self._leaves, self._structure = backend.flatten_named(manifest.arguments)
        self._expected = [type_ for _, type_ in manifest.inputs]
        self._plan = self._make_plan()

    def _make_plan(self) -> Plan:
        manifest = self._contents.manifest
        written = [record.name for record in manifest.parameters if record.written]
        read = [record.name for record in manifest.parameters if not record.written]
        program = backend.ExportedProgram(self._contents.module, written, read, self.name, manifest.donate)
        _, structure = backend.flatten_named(manifest.results)
        return Plan(
            program=program,
            written=Written([self._parameters[name]._storage for name in written]),
            read=tuple([self._parameters[name]._storage for name in read]),
            captured=self._contents.captured,
            structure=None if structure == backend.LEAF else structure,
            checks=[_check_of(record) for record in manifest.checks],
        )

    @property
    def graph(self) -> Graph:
        """The typed Graph, with every implicit conversion written out."""
        return self._graph

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The Parameters by name; they change when the program writes them."""
        return dict(self._parameters)

    def as_stablehlo(self) -> str:
        """Return the StableHLO module's text."""
        return self._contents.module.text()

    @public
    def save(self, path: PathLike) -> None:
        """Save the program, with its Parameters as they are now, in one file, which `tracejit.load` reads.

        The file is written aside and takes its name when it is complete.
        """
        contents = self._contents
        parameters = values_of(self._parameters)
        captured = {str(i): backend.to_numpy(array, f"captured array {i}") for i, array in enumerate(contents.captured)}
        types = {record.name: record.type for record in contents.manifest.parameters}
        captured_types = {str(i): type_ for i, type_ in enumerate(contents.manifest.captured)}
        writers = (
            lambda stream: stream.write(contents.manifest.to_json()),
            lambda stream: stream.write(contents.graph_text.encode()),
            lambda stream: stream.write(contents.code),
            partial(write_tensors, arrays=parameters, types=types),
            partial(write_tensors, arrays=captured, types=captured_types),
        )
        write_archive(path, dict(zip(MEMBERS, writers, strict=True)))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arguments of the types that were exported; DTypeError naming the argument for others."""
        try:
            self._check_here()
            inputs = self._inputs(args, kwargs)
            try:
                return self._plan.run(inputs)
            except ValueError as error:
                names = [name for name, _ in self._contents.manifest.inputs]
                check_places(error, self.name, named_arrays(names, inputs, self._plan.parameters))
                raise
        except Exception as error:
            hide_frames(error)
            raise

    def _check_here(self) -> None:
        ambient = AMBIENT.get()
        if (ambient is not None and ambient.builder is not None) or backend.under_transformation():
            raise TraceError(
                f"the exported program {self.name} was called while something else is being traced",
                rule="an exported program runs on values; it can be no part of another trace",
                fix="call it outside of tracejit.jit, jax.jit, jax.grad, ...",
            )
        platform = backend.default_platform()
        if platform not in self.platforms:
            raise PlatformError(
                f"{self.name} was exported for {', '.join(self.platforms)}, and this is {platform}",
                fix=f"export it again with platforms=(..., {platform!r})",
            )

    def _inputs(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """Return the arrays and numbers of a call, which must be as they were when the function was exported."""
        named, structure = named_leaves((), args, kwargs, ())
        if structure != self._structure:
            raise AttributeTypeError(
                f"{self.name} takes {_spelled(self._contents.manifest.arguments)}, "
                f"and was given {_spelled(backend.unflatten(structure, [Leaf('given')] * len(named)))}",
                rule="arguments come in the arrangement that was exported; static arguments are part of the program",
            )
        given = []
        for (_, place), (name, leaf) in zip(self._leaves, named):
            if place.kind == "parameter":
                self._check_parameter(name, place, leaf)
            elif isinstance(leaf, Parameter):
                given.append((place, leaf.snapshot()))
            else:
                given.append((place, leaf._data if isinstance(leaf, Tensor) else leaf))
        return self._checked(given)

    def _check_parameter(self, name: str, place: Leaf, leaf: Any) -> None:
        if leaf is not self._parameters[place.what]:
            raise AttributeTypeError(
                f"{self.name}: {name} is the Parameter {place.what!r} of the program, and was given {leaf!r}",
                rule="a Parameter that was an argument when the function was exported is the program's own",
                fix=f"pass the program's .parameters[{place.what!r}]",
            )

    def _checked(self, given: Sequence[tuple[Leaf, Any]]) -> list[Any]:
        manifest = self._contents.manifest
        names = iter([name for name, _ in manifest.inputs])
        labels = [next(names) if place.kind == "input" else place.what[0] for place, _ in given]
        marks, inputs = normalise([leaf for _, leaf in given], manifest.policy, lambda i: labels[i])  # type: ignore[arg-type]
        expected, inputs = iter(self._expected), iter(inputs)
        checked: list[Any] = []
        for (place, leaf), mark, label in zip(given, marks, labels):
            if place.kind == "static":
                if mark != place.what[1:]:
                    raise self._other(label, place.what[-1], repr(leaf))
                continue
            if isinstance(mark, tuple):
                raise self._other(label, next(expected), repr(leaf))
            checked.append(next(inputs))
            found, wanted = backend.type_of(checked[-1]) if mark is None else SCALAR_TYPES[mark], next(expected)
            if found != wanted:
                raise self._other(label, wanted, found)
        return checked

    def _other(self, label: str, wanted: Any, found: Any) -> DTypeError:
        return DTypeError(
            f"{self.name}: argument {label} was exported for {wanted} and given {found}",
            rule="an exported program takes exactly the types it was exported for",
            fix="convert the argument, or export the function for these types",
        )

    def __str__(self) -> str:
        return str(self._graph)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} for {', '.join(self.platforms)}>"


class Loaded(Exported):
    """A program read from a file, with Parameters of its own, which keep their values from call to call."""


def _spelled(tree: Any) -> str:
    """Spell an arrangement, each leaf as `_`."""
    args, kwargs = tree
    return f"({', '.join([*map(_spell, args), *[f'{key}={_spell(value)}' for key, value in kwargs.items()]])})"


def _spell(tree: Any) -> str:
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key!r}: {_spell(value)}" for key, value in tree.items()) + "}"
    if isinstance(tree, list):
        return f"[{', '.join(map(_spell, tree))}]"
    if isinstance(tree, tuple):
        return f"({', '.join(map(_spell, tree))})"
    return "None" if tree is None else "_"


# Exporting


def export_traced(traced: Traced, platforms: Sequence[str] | None) -> Exported:
    """Export a trace for some platforms, by default the one at hand."""
    recorded, entry = traced._recorded, traced._entry
    chosen = _check_platforms(platforms)
    graph, name = recorded.simplified, entry.owner.name
    held = list(map(_held, recorded.parameters))
    named = by_name(held, "export")
    names = [parameter.name or "" for parameter in held]
    written = [names[i] for i in graph.written]
    manifest = Manifest(
        name=name,
        policy=_policy_record(entry.policy),
        platforms=chosen,
        donate=entry.owner.options.donate and not recorded.checks,
        arguments=_arranged(entry.arguments),
        inputs=tuple(zip(entry.arguments.names, traced._signature)),
        captured=tuple([value.type for value in graph.inputs[len(traced._signature) :]]),  # type: ignore[misc]
        parameters=tuple([_record(parameter, parameter.name in written) for parameter in held]),
        results=backend.unflatten(recorded.structure, [Leaf("output")] * recorded.structure.num_leaves),
        outputs=tuple([value.type for value in graph.outputs]),  # type: ignore[misc]
        checks=tuple([_check_record(operation, bound) for operation, bound in recorded.checks]),
        written_by={"tracejit": tracejit.__version__, "jax": backend.jax_version()},
    )
    manifest.to_json()  # refuses what JSON cannot hold before anything is lowered
    module = backend.export_graph(graph, names, written, name, chosen)
    contents = Contents(manifest, module, module.serialized(), str(recorded.promoted), list(recorded.captured))
    return Exported(contents, recorded.promoted, named)


def _check_platforms(platforms: Sequence[str] | None) -> tuple[str, ...]:
    if platforms is None:
        return (backend.default_platform(),)
    chosen = tuple(platforms) if isinstance(platforms, list | tuple | set) else (platforms,)
    if not chosen or any(platform not in backend.PLATFORMS for platform in chosen):
        raise AttributeTypeError(
            f"export: platforms must be of {', '.join(backend.PLATFORMS)}, got {platforms!r}",
            fix='give some of them, as in platforms=("cpu", "cuda")',
        )
    return tuple(dict.fromkeys(chosen))  # pyright: ignore[reportReturnType]


def _held(storage: Storage) -> Parameter:
    parameter = storage.parameter()
    if parameter is None:
        raise ExportError("a Parameter of the traced function no longer exists", fix="keep it, and trace again")
    return parameter


def _policy_record(policy: policies.Policy) -> PolicyRecord:
    return PolicyRecord(policy.name, policy.numpy_scalars, policy.needs_values)


def _record(parameter: Parameter, written: bool) -> ParameterRecord:
    generator = isinstance(parameter, Generator)
    return ParameterRecord(parameter.name or "", parameter._type, written, parameter.requires_grad, generator)


def _check_record(operation: Operation, bound: Bound) -> CheckRecord:
    place = operation.location
    location = None if place is None else (place.file, place.line, place.text)
    return CheckRecord(operation.name, location, bound.limits)


def _arranged(arguments: Any) -> Any:
    """Return the arguments' containers with a Leaf at each place."""

    def leaf(slot: Any) -> Leaf:
        if isinstance(slot, Static):
            return Leaf("static", (slot.name, *_mark(slot.value)))
        return Leaf("input") if slot.__class__ is int else Leaf("parameter", slot.parameter().name)

    args, kwargs = backend.unflatten(arguments.structure, [leaf(slot) for slot in arguments.slots])
    return tuple(args), dict(kwargs)


def _mark(value: Any) -> tuple[str, ...]:
    kind = str(value.dtype) if isinstance(value, np.generic) else type(value).__name__
    return ("value", kind, repr(value))


# Loading


@public
def load(path: PathLike) -> Loaded:
    """Load a program that `Exported.save` wrote, with Parameters of its own. Nothing of it runs before it is called.

    Neither the Python source nor the policy under which it was traced is needed.

    Raises:
        SavedFileError: (a ValueError) a file that is not exactly as it was saved, or cannot be read here.

    >>> import tempfile, tracejit
    >>> count = tracejit.Parameter(0, name="count")
    >>> @tracejit.jit
    ... def tick(step):
    ...     return tracejit.ops.assign_add(count, step)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tick.export(tracejit.Tensor(2)).save(f"{folder}/tick.tracejit")
    ...     loaded = tracejit.load(f"{folder}/tick.tracejit")
    >>> loaded(tracejit.Tensor(2)), loaded(tracejit.Tensor(3))
    (Tensor(2, dtype=int64), Tensor(5, dtype=int64))
    >>> loaded.parameters["count"], count
    (Parameter(5, dtype=int64, name='count'), Parameter(0, dtype=int64, name='count'))
    """
    with read_archive(path, MEMBERS) as archive:
        manifest = read_manifest(archive.bytes("manifest.json"), archive.what)
        text = archive.bytes("graph.txt")
        code = archive.bytes("program.stablehlo")
        parameters = archive.tensors("parameters.safetensors")
        captured = archive.tensors("captured.safetensors")
        what = archive.what
    _check_arrays(parameters, {record.name: record.type for record in manifest.parameters}, what)
    _check_arrays(captured, {str(i): type_ for i, type_ in enumerate(manifest.captured)}, what)
    graph = _read_graph(text, manifest, what)
    module = backend.read_module(code, what)
    _check_module(module, manifest, what)
    held = {record.name: _parameter(record, parameters[record.name]) for record in manifest.parameters}
    arrays = [backend.from_numpy(captured[str(i)]) for i in range(len(manifest.captured))]
    return Loaded(Contents(manifest, module, code, text.decode(), arrays), graph, held)


def _check_arrays(arrays: Mapping[str, np.ndarray], types: Mapping[str, TensorType], what: str) -> None:
    found = {name: backend.type_of(array) for name, array in arrays.items()}
    if found != types:
        damaged(what, "its arrays are not those that its manifest names")


def _read_graph(text: bytes, manifest: Manifest, what: str) -> Graph:
    try:
        graph = parse_graph(text.decode())
    except (GraphSyntaxError, UnicodeDecodeError) as error:
        damaged(what, f"its Graph cannot be read ({str(error).partition(chr(10))[0]})")
    inputs: list[Type] = [*[type_ for _, type_ in manifest.inputs], *manifest.captured]
    state = [record.type for record in manifest.parameters]
    written = tuple([i for i, record in enumerate(manifest.parameters) if record.written])
    agree = (
        [value.type for value in graph.inputs] == inputs
        and [value.type for value in graph.state] == state
        and graph.written == written
        and [value.type for value in graph.outputs] == list(manifest.outputs)
    )
    if not agree:
        damaged(what, "its Graph is not of the types that its manifest names")
    return graph


def _check_module(module: Any, manifest: Manifest, what: str) -> None:
    state = {record.name: record.type for record in manifest.parameters}
    written = [record.name for record in manifest.parameters if record.written]
    inputs = [*[type_ for _, type_ in manifest.inputs], *manifest.captured]
    if len(state) != len(manifest.parameters) or not module.fits(state, written, inputs, manifest.outputs):
        damaged(what, "its program is not of the types that its manifest names")
    if module.platforms != manifest.platforms:
        damaged(what, "its program is not for the platforms that its manifest names")
    places = [place for _, place in backend.flatten_named(manifest.arguments)[0]]
    named = [place.what for place in places if place.kind == "parameter"]
    results = len(backend.flatten_named(manifest.results)[0]) + len(manifest.checks)
    counts = sum(place.kind == "input" for place in places), results
    if counts != (len(manifest.inputs), len(manifest.outputs)) or not state.keys() >= set(named):
        damaged(what, "its arguments or results are not those of its program")


def _parameter(record: ParameterRecord, value: np.ndarray) -> Parameter:
    if record.generator:
        return Generator(name=record.name).set_data(value)
    return Parameter(value, record.name, record.requires_grad)


def _check_of(record: CheckRecord) -> tuple[Operation, Bound]:
    location = None if record.location is None else Location.of_line(*record.location)
    return Operation(record.operator, [], [], location=location), Bound(0, tuple(record.limits))
