"""Saving Parameters, and writing files so that no half of one is ever read."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from tracejit.bridge import backend
from tracejit.errors import (
    AttributeTypeError,
    ParameterAliasError,
    ParameterError,
    ParameterMismatchError,
    SavedFileError,
)
from tracejit.ir import TensorType
from tracejit.parameter import Parameter
from tracejit.storage import STATE_LOCK, Written
from tracejit.tensor import public
from tracejit.tensor_files import read_tensors, write_tensors

PathLike = str | os.PathLike[str]


class Unmatched(NamedTuple):
    """What `load_parameters(strict=False)` left alone: Parameters that the file lacks, and names only it has."""

    missing: list[str]
    unexpected: list[str]


@public
def save_parameters(path: PathLike, parameters: Any) -> None:
    """Save Parameters under their names as a safetensors file, all as they are at one moment.

    The file is written aside and takes its name when it is complete, so that neither a full disk nor a killed
    process leaves half of one.

    Args:
        path: the file; by custom it ends in `.safetensors`.
        parameters: Parameters in a list or another iterable, a dict of them by the names to save them under, or an
            object with `parameters_dict()`, as a Cell has.

    Raises:
        ParameterAliasError: (a ValueError) two Parameters of one name.
        ParameterError: (a TypeError) a Parameter without a name, or what is no Parameter.

    >>> import tempfile, tracejit
    >>> w = tracejit.Parameter([1.0, 2.0], name="w")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tracejit.save_parameters(f"{folder}/w.safetensors", [w])
    ...     w += 1.0
    ...     tracejit.load_parameters(f"{folder}/w.safetensors", [w])
    Unmatched(missing=[], unexpected=[])
    >>> w
    Parameter([1., 2.], dtype=float32, name='w')
    """
    named = by_name(parameters, "save_parameters")
    with written_aside(path) as stream:
        write_tensors(stream, values_of(named), types_of(named))


@public
def load_parameters(path: PathLike, parameters: Any, strict: bool = True) -> Unmatched:
    """Give Parameters the values saved in a file; either all of them change, or, after an error, none.

    Args:
        path: a safetensors file.
        parameters: as for `save_parameters`.
        strict: the file must have these names, no more and no fewer. Off, values go to the names that both have.
            Shapes and dtypes must agree in any case: nothing is converted.

    Returns:
        The names that only the Parameters have, and those that only the file has; both are empty if strict.

    Raises:
        ParameterMismatchError: (a ValueError and TypeError) all differences of names, shapes and dtypes.
        SavedFileError: (a ValueError) a file that is damaged or no safetensors file.
    """
    named = by_name(parameters, "load_parameters")
    what = os.fspath(path)
    with opened(path) as (stream, length):
        values = dict(read_tensors(stream, length, what))
    return put(values, named, what, strict)


def put(values: Mapping[str, np.ndarray], named: Mapping[str, Parameter], what: str, strict: bool) -> Unmatched:
    """Give Parameters values under their names, or raise all the differences."""
    unmatched = Unmatched([n for n in named if n not in values], [n for n in values if n not in named])
    differences = _different_types(values, named)
    if strict:
        differences += [f"- {name} {named[name]._type} is not in the file" for name in unmatched.missing]
        differences += [f"- {name} {_type_of(values[name])} is only in the file" for name in unmatched.unexpected]
    if differences:
        raise ParameterMismatchError(
            f"{what} does not fit the Parameters:\n" + "\n".join(differences),
            rule="names, shapes and dtypes must agree; every Parameter is as it was",
            fix="load into the Parameters that were saved"
            + (", or take what fits: strict=False" if unmatched.missing or unmatched.unexpected else ""),
        )
    chosen = [(parameter, values[name]) for name, parameter in named.items() if name in values]
    with STATE_LOCK:
        arrays = [backend.placed(value, parameter._data) for parameter, value in chosen]
        Written([parameter._storage for parameter, _ in chosen]).put(arrays)
    return unmatched


def _different_types(values: Mapping[str, np.ndarray], named: Mapping[str, Parameter]) -> list[str]:
    pairs = [(name, parameter._type, _type_of(values[name])) for name, parameter in named.items() if name in values]
    return [f"- {name} is {mine}, and {theirs} in the file" for name, mine, theirs in pairs if mine != theirs]


def _type_of(array: np.ndarray) -> TensorType:
    return backend.type_of(array)


# Named Parameters


def by_name(parameters: Any, what: str) -> dict[str, Parameter]:
    """Return Parameters by their names, which must be there and differ."""
    if hasattr(parameters, "parameters_dict"):
        parameters = parameters.parameters_dict()
    if isinstance(parameters, Parameter) or not isinstance(parameters, Iterable):
        raise AttributeTypeError(f"{what} takes Parameters in a list or dict, got {type(parameters).__name__}")
    pairs = parameters.items() if isinstance(parameters, Mapping) else [(None, p) for p in parameters]
    named: dict[str, Parameter] = {}
    for name, parameter in pairs:
        _add(named, name, parameter, what)
    return named


def _add(named: dict[str, Parameter], name: Any, parameter: Any, what: str) -> None:
    if not isinstance(parameter, Parameter):
        raise ParameterError(f"{what} was given a {type(parameter).__name__}, which is no Parameter")
    name = parameter.name if name is None else name
    if not isinstance(name, str):
        raise ParameterError(
            f"{what} was given {parameter!r}, which has no name" if name is None else f"{what}: {name!r} is no name",
            rule="Parameters are saved by name",
            fix='name it, as in Parameter(data, name="weight"), or pass a dict of names and Parameters',
        )
    other = named.setdefault(name, parameter)
    if other is not parameter:
        raise ParameterAliasError(
            f"{what} was given two Parameters named {name!r}: {other!r} and {parameter!r}",
            rule="Parameters are saved by name",
            fix="rename one of them, or pass a dict of names and Parameters",
        )


def types_of(named: Mapping[str, Parameter]) -> dict[str, TensorType]:
    """Return the Parameters' types by name."""
    return {name: parameter._type for name, parameter in named.items()}


def values_of(named: Mapping[str, Parameter]) -> dict[str, np.ndarray]:
    """Return the Parameters' values in host memory, all of one moment.

    They may be views, which block the donation of the buffers that they show: a step that runs meanwhile copies.
    """
    with STATE_LOCK:
        return {name: backend.to_numpy(parameter._data, name) for name, parameter in named.items()}


# Files


@contextmanager
def written_aside(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file that takes its name only when the block has succeeded and all of it is on disk.

    The name is either that of the old file, or of the whole new one, whatever happens and whenever.
    """
    target = Path(os.path.realpath(path))
    aside = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        with open(aside, "x+b") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(aside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


@contextmanager
def opened(path: PathLike) -> Iterator[tuple[BinaryIO, int]]:
    """Open a regular file for reading; gives it with its length."""
    if not os.path.isfile(path):
        if not os.path.exists(path):
            raise FileNotFoundError(f"there is no file {os.fspath(path)}")
        raise SavedFileError(f"{os.fspath(path)} is no regular file", fix="name the file that was saved")
    with open(path, "rb") as stream:
        yield stream, os.fstat(stream.fileno()).st_size
