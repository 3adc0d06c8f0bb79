"""Parameters in safetensors files: written whole or not at all, read strictly, all differences at once."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import Generator, Parameter, Tensor, jit, load_parameters, ops, save_parameters
from tracejit import dtypes as dt
from tracejit.errors import ParameterAliasError, ParameterMismatchError, SavedFileError, TracejitError
from tracejit.tensor_files import CODES

ROOT = Path(__file__).resolve().parent.parent
SAVED = [dtype for dtype in dt.ALL if dtype.name in {*CODES.values(), "complex128"}]


def values(dtype: Any, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Return numbers of a dtype, all bits of which are random."""
    raw = np.random.default_rng(seed).integers(0, 256, (*shape, dtype.itemsize), np.uint8)
    if dtype.kind == "bool":
        return raw[..., 0] > 127
    return raw.reshape(-1).view(dtype.numpy).reshape(shape)


def all_kinds(seed: int = 0) -> list[Parameter]:
    """Return a Parameter of every dtype and some shapes, a name that is no ASCII among them."""
    shapes = ((), (3,), (2, 3), (0, 4), (2, 1, 2))
    made = [Parameter(values(dtype, shapes[i % 5], seed), name=f"{dtype.name}.wéight") for i, dtype in enumerate(SAVED)]
    return [*made, Generator(seed + 7, name="random")]


def same_bits(a: Any, b: Any) -> bool:
    return a.dtype is b.dtype and a.shape == b.shape and a.asnumpy().tobytes() == b.asnumpy().tobytes()


def test_every_dtype_comes_back_bit_for_bit(tmp_path: Path):
    saved, fresh = all_kinds(1), all_kinds(2)
    save_parameters(tmp_path / "all", saved)
    assert load_parameters(tmp_path / "all", fresh) == ([], [])
    assert all(map(same_bits, saved, fresh))


def test_the_file_is_as_the_format_says(tmp_path: Path):
    """By hand, since the package that defines it is not a dependency."""
    half = Parameter(Tensor([1.0, -2.0], "bfloat16"), name="half")
    wide = Parameter(np.array([[1 + 2j]]), name="wide")
    save_parameters(tmp_path / "w.safetensors", [half, wide])
    raw = (tmp_path / "w.safetensors").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header, data = json.loads(raw[8 : 8 + size]), raw[8 + size :]
    metadata = header.pop("__metadata__")
    assert size % 8 == 0
    assert header == {
        "wide": {"dtype": "F64", "shape": [1, 1, 2], "data_offsets": [0, 16]},
        "half": {"dtype": "BF16", "shape": [2], "data_offsets": [16, 20]},
    }
    assert np.frombuffer(data[:16], "<f8").tolist() == [1, 2]
    assert np.frombuffer(data[16:], "<u2").tolist() == [0x3F80, 0xC000]
    assert all(isinstance(value, str) for value in metadata.values())


def foreign(header: bytes, data: bytes = b"") -> bytes:
    return len(header).to_bytes(8, "little") + header + data


def test_files_of_others_are_read(tmp_path: Path):
    header = {
        "__metadata__": {"format": "pt"},
        "b": {"dtype": "I8", "shape": [2], "data_offsets": [4, 6]},
        "a": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
    }
    data = np.float32(1.5).tobytes() + np.int8([3, -4]).tobytes()
    (tmp_path / "theirs").write_bytes(foreign(json.dumps(header).encode() + b"   ", data))
    a, b = Parameter(0.0, name="a"), Parameter(np.zeros(2, np.int8), name="b")
    load_parameters(tmp_path / "theirs", [a, b])
    assert (a.item(), b.tolist()) == (1.5, [3, -4])


def entry(dtype: Any = "U8", shape: Any = (1,), offsets: Any = (0, 1), **more: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets), **more}


REFUSED = {
    "empty": b"",
    "text": b"hello, this is no such file",
    "a header of 2**63 bytes": (2**63).to_bytes(8, "little") + b"{}",
    "no JSON": foreign(b"{nonsense"),
    "no UTF-8": foreign(b'{"\xff": 1}'),
    "no object": foreign(b"[]"),
    "deep JSON": foreign(b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "a name twice": foreign(f'{{"a":{json.dumps(entry())},"a":{json.dumps(entry())}}}'.encode(), b"1"),
    "an unknown dtype": foreign(json.dumps({"a": entry("F8_E4M3")}).encode(), b"1"),
    "a dtype that is a list": foreign(json.dumps({"a": entry(["U8"])}).encode(), b"1"),
    "a negative length": foreign(json.dumps({"a": entry(shape=[-1])}).encode(), b"1"),
    "a length that is true": foreign(json.dumps({"a": entry(shape=[True])}).encode(), b"1"),
    "a huge shape": foreign(json.dumps({"a": entry(shape=[2**62, 2**62])}).encode(), b"1"),
    "a huge array": foreign(json.dumps({"a": entry(shape=[2**40], offsets=[0, 2**40])}).encode(), b"1"),
    "offsets too many": foreign(json.dumps({"a": entry(offsets=[0, 1, 2])}).encode(), b"1"),
    "a gap": foreign(json.dumps({"a": entry(offsets=[1, 2])}).encode(), b"12"),
    "arrays that overlap": foreign(json.dumps({"a": entry(), "b": entry()}).encode(), b"1"),
    "more data": foreign(json.dumps({"a": entry()}).encode(), b"12"),
    "less data": foreign(json.dumps({"a": entry()}).encode(), b""),
    "more fields": foreign(json.dumps({"a": entry(x=1)}).encode(), b"1"),
    "metadata of numbers": foreign(json.dumps({"a": entry(), "__metadata__": {"a": 1}}).encode(), b"1"),
    "complex of bytes": foreign(
        json.dumps({"a": entry(), "__metadata__": {"tracejit.complex128": '["a"]'}}).encode(), b"1"
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_such_file_is_refused(kind: str, tmp_path: Path):
    (tmp_path / "bad").write_bytes(REFUSED[kind])
    a = Parameter(np.uint8([7]), name="a")
    with pytest.raises(SavedFileError, match=r"bad cannot be read: "):
        load_parameters(tmp_path / "bad", [a])
    assert a.tolist() == [7]


def test_every_flipped_bit_and_every_cut_is_found(tmp_path: Path):
    saved, fresh = all_kinds(1), all_kinds(2)
    save_parameters(tmp_path / "w", saved)
    whole, random_ = (tmp_path / "w").read_bytes(), random.Random(0)
    for _ in range(150):
        damaged = bytearray(whole)
        damaged[random_.randrange(len(whole))] ^= 1 << random_.randrange(8)
        cut = whole[: random_.randrange(len(whole))]
        for contents in (bytes(damaged), cut):
            (tmp_path / "w").write_bytes(contents)
            with pytest.raises(SavedFileError):
                load_parameters(tmp_path / "w", fresh)
    assert all(map(same_bits, fresh, all_kinds(2)))


@pytest.mark.parametrize("kind", ["folder", "device", "nothing"])
def test_what_is_no_file(kind: str, tmp_path: Path):
    path = {"folder": tmp_path, "device": Path("/dev/zero"), "nothing": tmp_path / "none"}[kind]
    with pytest.raises(FileNotFoundError if kind == "nothing" else SavedFileError, match=path.name):
        load_parameters(path, [Parameter(1.0, name="a")])


# Which Parameters


def test_all_differences_are_told_at_once_and_nothing_changes(tmp_path: Path):
    save_parameters(
        tmp_path / "w", [Parameter([1.0, 2.0], name="shape"), Parameter(1, name="dtype"), Parameter(2, name="extra")]
    )
    fresh = [Parameter([5.0], name="shape"), Parameter(5.0, name="dtype"), Parameter(5, name="gone")]
    with pytest.raises(ParameterMismatchError) as caught:
        load_parameters(tmp_path / "w", fresh)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, TypeError)
    assert str(caught.value).splitlines()[1:5] == [
        "- shape is f32[1], and f32[2] in the file",
        "- dtype is f32[], and i64[] in the file",
        "- gone i64[] is not in the file",
        "- extra i64[] is only in the file",
    ]
    assert [p.tolist() for p in fresh] == [[5.0], 5.0, 5]


def test_not_strict_takes_what_both_have(tmp_path: Path):
    save_parameters(tmp_path / "w", {"a": Parameter(1.0), "b": Parameter(2.0)})
    b, c = Parameter(0.0, name="b"), Parameter(0.0, name="c")
    assert load_parameters(tmp_path / "w", [b, c], strict=False) == (["c"], ["a"])
    assert (b.item(), c.item()) == (2.0, 0.0)
    with pytest.raises(ParameterMismatchError, match=r"b is f32\[1\]"):
        load_parameters(tmp_path / "w", [Parameter([0.0], name="b")], strict=False)


def test_names_must_be_there_and_differ(tmp_path: Path):
    with pytest.raises(ParameterAliasError, match=r"named 'w': Parameter\(1\..*Parameter\(2\.") as caught:
        save_parameters(tmp_path / "w", [Parameter(1.0, name="w"), Parameter(2.0, name="w")])
    assert isinstance(caught.value, ValueError)
    with pytest.raises(TypeError, match="has no name"):
        save_parameters(tmp_path / "w", [Parameter(1.0)])
    assert not (tmp_path / "w").exists()
    one = Parameter(1.0, name="w")
    save_parameters(tmp_path / "w", [one, one])  # one Parameter, listed twice
    save_parameters(tmp_path / "w", {"a": one, "b": one})  # shared, under two names


@pytest.mark.parametrize("given", [Parameter(1.0, name="w"), 3, [Tensor(1.0)], {"w": Tensor(1.0)}, {1: Parameter(1.0)}])
def test_what_is_no_collection_of_parameters(given: Any, tmp_path: Path):
    with pytest.raises(TypeError, match="save_parameters"):
        save_parameters(tmp_path / "w", given)


def test_cells_are_taken_by_their_names(tmp_path: Path):
    class Net(tracejit.nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.second = tracejit.nn.Dense(2, 3), tracejit.nn.Dense(3, 1)

    net, other = Net(), Net()
    save_parameters(tmp_path / "net", net)
    load_parameters(tmp_path / "net", other)
    assert all(map(same_bits, net.get_parameters(), other.get_parameters()))


def test_loaded_values_are_the_next_calls(tmp_path: Path):
    w = Parameter([1.0, 2.0], name="w")
    step = jit(lambda x: ops.assign_add(w, x))
    save_parameters(tmp_path / "w", [w])
    step(Tensor([1.0, 1.0]))
    load_parameters(tmp_path / "w", [w])
    assert step(Tensor([1.0, 1.0])).tolist() == [2, 3]
    assert step.cache_info().traces == 1


def test_a_generator_goes_on_where_it_was(tmp_path: Path):
    generator = Generator(3)
    save_parameters(tmp_path / "g", [generator])
    first = ops.standard_normal((4,), generator)
    load_parameters(tmp_path / "g", [generator])
    assert (first == ops.standard_normal((4,), generator)).all()


# Whole or not at all


def test_an_error_while_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, w = tmp_path / "w", Parameter([1.0], name="w")
    save_parameters(path, [w])
    before = path.read_bytes()
    w += 1.0

    def fails(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    for function in ("fsync", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(os, function, fails)
            with pytest.raises(OSError, match="No space left"):
                save_parameters(path, [w])
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["w"]
    assert w.tolist() == [2.0]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_a_full_disk(tmp_path: Path):
    """In a process whose files may not grow beyond 64 kB: writing fails in the middle."""
    code = """
    import os, resource, signal, sys, numpy as np
    from tracejit import Parameter, jit, load_parameters, ops, save_parameters
    path, w = sys.argv[1], Parameter(np.zeros(100_000, np.float32), name="w")
    save_parameters(path, [w])
    w += 1.0
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, resource.RLIM_INFINITY))
    try:
        save_parameters(path, [w])
    except OSError as error:
        print(type(error).__name__)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(os.listdir(os.path.dirname(path)), bool((w == 1.0).all()))
    load_parameters(path, [w])
    print(bool((w == 0.0).all()))
    """
    done = run(code, tmp_path / "w")
    assert done.stdout.split("\n")[:3] == ["OSError", "['w'] True", "True"], done.stderr


def run(code: str, *arguments: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


KILLED = """
import sys, numpy as np
from tracejit import Parameter, save_parameters
path, w = sys.argv[1], Parameter(np.zeros(500_000, np.float32), name="w")
save_parameters(path, [w])
print("ready", flush=True)
while True:
    w += 1.0
    save_parameters(path, [w])
"""


@pytest.mark.sweep(4)
@pytest.mark.parametrize("turn", range(20))
def test_a_kill_while_saving(turn: int, tmp_path: Path):
    """Whenever the process dies, the file is one of those that it wrote, whole."""
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "w")], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        process.stdout.readline()
        time.sleep(random.Random(turn).uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
    w = Parameter(np.full(500_000, -1, np.float32), name="w")
    load_parameters(tmp_path / "w", [w])
    found = set(w.asnumpy().tolist())
    assert len(found) == 1 and found.pop() >= 0


def test_the_file_keeps_to_the_umask_and_follows_links(tmp_path: Path):
    w = Parameter([1.0], name="w")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "target")
    old = os.umask(0o027)
    try:
        save_parameters(tmp_path / "link", [w])
    finally:
        os.umask(old)
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE((tmp_path / "folder" / "target").stat().st_mode) == 0o640
    load_parameters(tmp_path / "link", [w])


def test_a_folder_that_is_not_there(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        save_parameters(tmp_path / "none" / "w", [Parameter(1.0, name="w")])


def test_saving_blocks_no_donation_for_good(tmp_path: Path):
    w = Parameter(np.zeros(4096, np.float32), name="w")
    step = jit(lambda: ops.assign_add(w, Tensor(np.ones(4096, np.float32))))
    step()
    save_parameters(tmp_path / "w", [w])
    step()
    buffer = w._data
    step()
    assert buffer.is_deleted()


def test_errors_are_ours(tmp_path: Path):
    (tmp_path / "w").write_bytes(b"nothing")
    with pytest.raises(TracejitError) as caught:
        load_parameters(tmp_path / "w", [])
    assert caught.value.rule and caught.value.fix
    assert [entry.name for entry in caught.traceback if "tracejit" in str(entry.path.parent.name)] == []
