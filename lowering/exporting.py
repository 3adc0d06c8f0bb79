"""Programs that leave the process: StableHLO through `jax.export`, for any of JAX's platforms, and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import jax
from jax import export as jax_export

from lowering.arrays import x64_scope
from lowering.emit import emit
from lowering.programs import FixedProgram, spec_of
from lowering.registry import RULES
from tracejit.errors import ExportError, PlatformError, SavedFileError
from tracejit.ir import Graph, Literal, Operation, Type

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
_RULE = "a saved program runs StableHLO where neither this process nor its code exists"
_FIX = "leave that part out of the function that is exported"
_CUSTOM_CALL = re.compile(r"custom_call\s+@([\w.$-]+|\"[^\"]*\")|call_target_name\s*=\s*\"([^\"]*)\"")
#: What a saved program may call beside StableHLO's own operations: library routines in JAX's own builds that take
#: arrays and nothing else, which JAX keeps stable. A call back into Python, or to an address, is none of them.
_LIBRARY = re.compile(
    r"lapack_\w+_ffi|(cusolver|cusparse|hipsolver|hipsparse)_\w+_ffi|(cu|hip)_(lu_pivots_to_permutation|threefry2x32_ffi)"
    r"|Qr|ProductOfElementaryHouseholderReflectors|Eigh|LuDecomposition|ApproxTopK|AllocateBuffer"
    r"|Sharding|SPMDFullToShardShape|SPMDShardToFullShape|annotate_device_placement|shape_assertion"
    r"|stablehlo\.dynamic_\w+|mhlo\.\w+|chlo\.\w+"
)


def default_platform() -> str:
    """Return the platform on which programs run here, by the name that `jax.export` has for it."""
    return jax_export.default_export_platform()


def jax_version() -> str:
    """Return the version of JAX."""
    return jax.__version__


class Module:
    """A program as StableHLO: a function of (dict of named state, list of inputs) to (dict of new state, outputs)."""

    def __init__(self, exported: Any):
        self._exported = exported
        self.platforms: tuple[str, ...] = tuple(exported.platforms)

    def serialized(self) -> bytes:
        """Return the bytes from which `read_module` makes the same module."""
        return bytes(self._exported.serialize())

    def text(self) -> str:
        """Return the StableHLO module's text."""
        return self._exported.mlir_module()

    def foreign_calls(self) -> list[str]:
        """Return the names of what it calls that is neither StableHLO nor a library routine of JAX's own."""
        called = {(first or second).strip('"') for first, second in _CUSTOM_CALL.findall(self.text())}
        return sorted(name for name in called if not _LIBRARY.fullmatch(name))

    def call(self, state: dict[str, Any], inputs: Sequence[Any]) -> tuple[dict[str, Any], list[Any]]:
        """Run, or trace, the program."""
        new, outputs = self._exported.call(state, list(inputs))
        return new, outputs

    def fits(
        self, state: dict[str, Type], written: Sequence[str], inputs: Sequence[Type], outputs: Sequence[Type]
    ) -> bool:
        """Say whether the program takes and gives exactly these types."""
        taken = (dict.fromkeys(state, 0), [0] * len(inputs)), {}
        given = dict.fromkeys(written, 0), [0] * len(outputs)
        trees = jax.tree.structure(taken), jax.tree.structure(given)
        if (self._exported.in_tree, self._exported.out_tree) != trees:
            return False
        takes = [*[state[name] for name in sorted(state)], *inputs]
        gives = [*[state[name] for name in sorted(written)], *outputs]
        return _same(self._exported.in_avals, takes) and _same(self._exported.out_avals, gives)


def _same(avals: Sequence[Any], types: Sequence[Type]) -> bool:
    specs = [spec_of(type_) for type_ in types]
    found = [(aval.shape, aval.dtype) for aval in avals]
    return found == [(spec.shape, spec.dtype) for spec in specs]


def export_graph(
    graph: Graph, names: Sequence[str], written: Sequence[str], name: str, platforms: Sequence[str]
) -> Module:
    """Lower a promoted Graph, whose state has these names, for some platforms.

    Raises PlatformError naming each operator that a platform has no lowering for, and ExportError for what cannot
    leave the process.
    """
    positions = [list(names).index(chosen) for chosen in written]

    def run(state: dict[str, Any], inputs: list[Any]) -> tuple[dict[str, Any], list[Any]]:
        outputs, new = emit(graph, inputs, [state[name] for name in names])
        return {name: new[i] for name, i in zip(written, positions)}, outputs

    run.__name__ = run.__qualname__ = name
    state = {name: spec_of(value.type) for name, value in zip(names, graph.state)}
    inputs = [spec_of(value.type) for value in graph.inputs]
    with x64_scope():
        try:
            module = Module(jax_export.export(jax.jit(run), platforms=list(platforms))(state, inputs))
        except Exception as error:
            raise _explained(graph, platforms, error) from None
    if foreign := module.foreign_calls():
        raise ExportError(f"{name} cannot be exported: it calls {', '.join(foreign)}", rule=_RULE, fix=_FIX)
    return module


def _explained(graph: Graph, platforms: Sequence[str], error: Exception) -> Exception:
    """Find the operators to which a failed export is due."""
    found: dict[str, list[str]] = {}
    first: Operation | None = None
    for operation in graph.walk():
        refused = [platform for platform in platforms if not _lowers(operation, platform)]
        if refused:
            first = first or operation
            found.setdefault(", ".join(refused), []).append(_spelled(operation))
    if first is None:
        return error
    refusals = "; ".join(f"{', '.join(dict.fromkeys(names))} for {where}" for where, names in found.items())
    if "callback" in str(error).lower():
        return ExportError(
            f"{graph.name} cannot be exported: {_spelled(first)} calls Python code",
            location=first.location,
            rule=_RULE,
            fix=_FIX,
        )
    return PlatformError(
        f"{graph.name} cannot be lowered: {refusals}",
        location=first.location,
        rule=f"JAX says: {str(error).splitlines()[0]}",
        fix="leave the platform out of platforms=, or write it with other operators",
    )


def _spelled(operation: Operation) -> str:
    """Name an operation; one that stands for a JAX function, with that function's name."""
    function = operation.attributes.get("function")
    return operation.name if function is None else f"{operation.name} of {function.partition('#')[0]}"


def _lowers(operation: Operation, platform: str) -> bool:
    """Say whether an operation, without those in its regions, has a lowering for a platform."""
    if operation.regions or operation.name not in RULES:
        return True
    inputs = [value for value in operation.operands if not isinstance(value, Literal)]
    graph = Graph(operation.name, list(dict.fromkeys(inputs)), operations=[operation], outputs=operation.results)
    specs = [spec_of(value.type) for value in graph.inputs]
    try:
        jax_export.export(jax.jit(lambda arrays: emit(graph, arrays, ())[0]), platforms=[platform])(specs)
    except Exception:
        return False
    return True


def read_module(data: bytes, what: str) -> Module:
    """Read a module; SavedFileError for what is none, or calls anything but StableHLO and JAX's own routines."""
    try:
        module = Module(jax_export.deserialize(bytearray(data)))
        foreign = module.foreign_calls()
    except Exception as error:  # JAX and its parsers raise whatever they like
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SavedFileError(
            f"{what} cannot be read: JAX {jax.__version__} does not take its program ({reason})",
            rule="JAX reads programs of its earlier versions for half a year at least",
            fix="use the version of JAX that wrote it, or a newer one; or export it again",
        ) from None
    if foreign:
        raise SavedFileError(
            f"{what} cannot be read: its program calls {', '.join(foreign)}",
            rule="a saved program runs StableHLO and library routines of JAX's own, and nothing else",
        )
    return module


class ExportedProgram(FixedProgram):
    """A module as a program with state: `names` are those of what is written, then of what is only read."""

    __slots__ = ()

    def __init__(self, module: Module, written: Sequence[str], read: Sequence[str], name: str, donate: bool):
        names = [*written, *read]

        def body(inputs: Any, old: Any, others: Any) -> Any:
            new, outputs = module.call(dict(zip(names, [*old, *others])), inputs)
            return outputs, [new[name] for name in written]

        self._compile(body, name, donate)
        self._ran = False

    def check(self, inputs: Sequence[Any], read: Sequence[Any]) -> None:
        """Do nothing: its caller does not run it under a transformation."""
