"""Named arrays in a file: the safetensors format, read strictly and written in one pass.

    8 bytes   length of the header, little-endian
    header    JSON: name -> {"dtype", "shape", "data_offsets"}, and under "__metadata__" strings
    data      the arrays' bytes, one after the other without gaps

Two things go into the metadata that the format lacks: a digest of header and data, so that a damaged file is known
as such, and the names of complex128 arrays, which are stored as float64 with a last axis of 2. Files of others are
read too; they have no digest, and then none is checked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np

from tracejit.dtypes import BY_NAME, DType, complex128, float64
from tracejit.errors import SavedFileError
from tracejit.ir import TensorType

CODES = {
    "BOOL": "bool",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "BF16": "bfloat16",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
}
_CODE_OF = {name: code for code, name in CODES.items()}
_MOST_HEADER = 100_000_000  # what the format allows
_METADATA = "__metadata__"
_OURS, _DIGEST, _WIDE_COMPLEX = "tracejit", "tracejit.sha256", "tracejit.complex128"
#: What stands for the digest in the header while it is computed; before all names, so that it is found first.
_NO_DIGEST = b"0" * 64


class Entry(NamedTuple):
    """One array of a file: its name, its type, and where in the data it begins and ends."""

    name: str
    type: TensorType
    start: int
    end: int


# Writing


def write_tensors(stream: BinaryIO, arrays: Mapping[str, np.ndarray], types: Mapping[str, TensorType]) -> None:
    """Write arrays of these types under their names."""
    # Wide elements first, so that each array begins at a multiple of its element's size.
    names = sorted(arrays, key=lambda name: (-types[name].dtype.itemsize, name))
    header = _header(names, types)
    digest = hashlib.sha256(header)
    for name in names:
        digest.update(_bytes(arrays[name]))
    stream.write(len(header).to_bytes(8, "little"))
    stream.write(header.replace(_NO_DIGEST, digest.hexdigest().encode(), 1))
    for name in names:
        stream.write(_bytes(arrays[name]))


def _header(names: Sequence[str], types: Mapping[str, TensorType]) -> bytes:
    """Return the header without its digest, padded so that the data is aligned."""
    metadata = {_DIGEST: _NO_DIGEST.decode(), "format": _OURS}
    wide = [name for name in names if types[name].dtype is complex128]
    if wide:
        metadata[_WIDE_COMPLEX] = json.dumps(wide)
    header: dict[str, Any] = {_METADATA: metadata}
    start = 0
    for name in names:
        type_ = types[name]
        end = start + type_.size * type_.dtype.itemsize
        code, shape = _spelled(type_)
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [start, end]}
        start = end
    text = json.dumps(header, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % 8)


def _spelled(type_: TensorType) -> tuple[str, list[int]]:
    if type_.dtype is complex128:
        return "F64", [*type_.shape, 2]
    return _CODE_OF[type_.dtype.name], list(type_.shape)


def _bytes(array: np.ndarray) -> memoryview:
    little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
    return memoryview(np.ascontiguousarray(little).reshape(-1).view(np.uint8))  # pyright: ignore[reportArgumentType]


# Reading


def read_tensors(stream: BinaryIO, length: int, what: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays of a file of `length` bytes, in the order of their data; `what` names it in messages.

    Whether the digest is right is only known at the end: use nothing of a file that was not read to its end.
    Raises SavedFileError for whatever is not exactly as the format says.
    """
    entries, digest, expected = read_header(stream, length, what)
    for entry in entries:
        array = _read_array(stream, entry, what)
        digest.update(_bytes(array))
        yield entry.name, _as_typed(array, entry.type)
    if expected is not None and digest.hexdigest() != expected:
        damaged(what, "its digest is not that of its contents")


def read_header(stream: BinaryIO, length: int, what: str) -> tuple[list[Entry], Any, str | None]:
    """Return what a file holds, in the order of the data, the digest so far, and what it should come to."""
    size = int.from_bytes(_exactly(stream, 8, what), "little")
    if size > min(_MOST_HEADER, length - 8):
        damaged(what, f"its header claims {size} bytes, and the file has {length}")
    raw = _exactly(stream, size, what)
    header = parse_json(raw, what)
    if not raw.startswith(b"{") or not isinstance(header, dict):
        damaged(what, "its header is no JSON object")
    metadata = _metadata(header.pop(_METADATA, {}), what)
    wide = _wide_names(metadata, what)
    entries = sorted((_entry(name, given, wide, what) for name, given in header.items()), key=lambda e: e[2:])
    _check_layout(entries, length - 8 - size, what)
    expected = metadata.get(_DIGEST)
    neutral = raw if expected is None else raw.replace(expected.encode(), _NO_DIGEST, 1)
    return entries, hashlib.sha256(neutral), expected


def parse_json(raw: bytes, what: str) -> Any:
    """Read JSON in which no name stands twice in one object."""
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=lambda pairs: _unique(pairs, what))
    except (ValueError, RecursionError) as error:
        damaged(what, f"it holds no readable JSON ({type(error).__name__})")


def _unique(pairs: list[tuple[str, Any]], what: str) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        damaged(what, "a name stands twice in it")
    return result


def _metadata(metadata: Any, what: str) -> dict[str, str]:
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        damaged(what, "its metadata is no JSON object of strings")
    if metadata.get("format") == _OURS and _DIGEST not in metadata:
        damaged(what, "it has lost its digest")
    return metadata


def _wide_names(metadata: Mapping[str, str], what: str) -> frozenset[str]:
    names = parse_json(metadata.get(_WIDE_COMPLEX, "[]").encode(), what)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        damaged(what, "its list of complex128 arrays is none")
    return frozenset(names)


def _entry(name: str, given: Any, wide: frozenset[str], what: str) -> Entry:
    if not isinstance(given, dict) or given.keys() != {"dtype", "shape", "data_offsets"}:
        damaged(what, f"{name!r} is not described by dtype, shape and data_offsets")
    code, shape, offsets = given["dtype"], given["shape"], given["data_offsets"]
    if not _are_lengths(shape) or not _are_lengths(offsets) or len(offsets) != 2:
        damaged(what, f"{name!r} has no proper shape or data_offsets")
    if not isinstance(code, str) or code not in CODES:
        damaged(what, f"{name!r} has the dtype {code!r}, which tracejit does not know")
    type_ = TensorType(BY_NAME[CODES[code]], shape)
    if type_.size * type_.dtype.itemsize != offsets[1] - offsets[0]:
        damaged(what, f"{name!r} is {type_} and has {offsets[1] - offsets[0]} bytes")
    if name in wide:
        if type_.dtype is not float64 or type_.shape[-1:] != (2,):
            damaged(what, f"{name!r} is {type_}, which is no complex128 array")
        type_ = TensorType(complex128, type_.shape[:-1])
    return Entry(name, type_, *offsets)


def _are_lengths(values: Any) -> bool:
    return isinstance(values, list) and all(value.__class__ is int and 0 <= value < 2**63 for value in values)


def _check_layout(entries: Sequence[Entry], length: int, what: str) -> None:
    position = 0
    for entry in entries:
        if entry.start != position:
            damaged(what, f"the data of {entry.name!r} begins at byte {entry.start} instead of {position}")
        position = entry.end
    if position != length:
        damaged(what, f"its arrays have {position} bytes, and {length} are there")


def _read_array(stream: BinaryIO, entry: Entry, what: str) -> np.ndarray:
    """Read an array's bytes; no more memory is taken than the file has bytes (the layout was checked)."""
    array = np.empty(entry.type.shape, _little(entry.type.dtype))
    target = memoryview(array.reshape(-1).view(np.uint8))  # pyright: ignore[reportArgumentType]
    position = 0
    while position < len(target):
        count = stream.readinto(target[position:])  # type: ignore[attr-defined]
        if not count:
            damaged(what, f"it ends within {entry.name!r}")
        position += count
    return array


def _little(dtype: DType) -> Any:
    return dtype.numpy.newbyteorder("<")


def _as_typed(array: np.ndarray, type_: TensorType) -> np.ndarray:
    if type_.dtype.kind == "bool":
        return np.asarray(array.view(np.uint8) != 0)  # bytes other than 0 and 1 are true, too
    return array.astype(type_.dtype.numpy, copy=False)


def _exactly(stream: BinaryIO, size: int, what: str) -> bytes:
    read = stream.read(size)
    if len(read) != size:
        damaged(what, "it ends too early")
    return read


def damaged(what: str, why: str) -> NoReturn:
    """Raise the error for a file that is not as it was written, or of another kind."""
    raise SavedFileError(
        f"{what} cannot be read: {why}",
        rule="a file is taken only if all of it is as it was written; nothing has been changed",
        fix="save it again, or take an earlier copy",
    )
