"""Programs saved and loaded: equal results in another process without the source; clear errors for all other files."""

from __future__ import annotations

import io
import json
import os
import random
import struct
import subprocess
import sys
import textwrap
import zipfile
from collections import namedtuple
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tracejit
from tests.example_models import NAMES, make, tensors
from tracejit import Generator, Parameter, Tensor, jit, load, ops
from tracejit.archives import write_archive
from tracejit.errors import (
    AttributeTypeError,
    DTypeError,
    ExportError,
    IndexBoundsError,
    ParameterAliasError,
    ParameterError,
    PlatformError,
    SavedFileError,
    TraceError,
    TracejitError,
)
from tracejit.exporting import MEMBERS, Loaded

ROOT = Path(__file__).resolve().parent.parent
x = Tensor([1.0, 2.0, 3.0])


def saved_and_loaded(function: Any, folder: Path, *args: Any, **kwargs: Any) -> Loaded:
    """Export a function, save it, and load it."""
    function.export(*args, **kwargs).save(folder / "program")
    return load(folder / "program")


def run_python(code: str, *arguments: Any, **environment: str) -> str:
    """Run code in another process, away from tests and examples, and give what it printed."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    variables = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    done = subprocess.run(command, cwd="/", env=variables, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# The example models, elsewhere

ELSEWHERE = """
import sys, numpy as np, tracejit
folder, inputs = sys.argv[1], int(sys.argv[2])
tracejit.enable_compilation_cache(f"{folder}/cache")
batches = np.load(f"{folder}/batches.npz")
for run in ("first", "second"):
    step, predict = (tracejit.load(f"{folder}/{name}") for name in ("step", "predict"))
    results = {f"loss{i}": step(*[batches[f"{i}.{j}"] for j in range(inputs)]).asnumpy() for i in range(3)}
    results["predicted"] = predict(batches["0.0"]).asnumpy()
    for name, p in {**predict.parameters, **step.parameters}.items():
        results[f"p.{name}"] = p.asnumpy().view("u2" if p.itemsize == 2 else "u4")
    np.savez(f"{folder}/{run}.npz", **results)
step.save(f"{folder}/later")
assert not [m for m in sys.modules if m.partition(".")[0] in ("mlp", "convnet", "transformer", "sklearn", "tests")]
"""


@pytest.mark.parametrize("name", NAMES)
def test_the_example_models_in_another_process(name: str, tmp_path: Path):
    model = make(name)
    batches = model.batches(4)
    model.step.export(*tensors(batches[0]), platforms=("cpu", "cuda", "rocm", "tpu")).save(tmp_path / "step")
    model.predict.export(*tensors(batches[0][:1])).save(tmp_path / "predict")
    arrays = {f"{i}.{j}": array for i, batch in enumerate(batches) for j, array in enumerate(batch)}
    np.savez(tmp_path / "batches.npz", **arrays)
    run_python(ELSEWHERE, tmp_path, len(batches[0]), JAX_CHECK_TRACER_LEAKS="0")
    first, second = (np.load(tmp_path / f"{run}.npz") for run in ("first", "second"))
    predicted = model.predict(*tensors(batches[0][:1]))
    losses = [model.step(*tensors(batch)) for batch in batches[:3]]
    for key in first.files:
        assert first[key].tobytes() == second[key].tobytes(), key
    for i, loss in enumerate(losses):
        assert first[f"loss{i}"].dtype == loss.dtype.numpy
        np.testing.assert_allclose(first[f"loss{i}"], loss.asnumpy(), rtol=1e-5)
    assert first["predicted"].dtype == predicted.dtype.numpy and first["predicted"].tolist() == predicted.tolist()
    later = load(tmp_path / "later")  # holds what the other process had at the end
    for key, parameter in model.parameters.items():
        assert later.parameters[key].asnumpy().view(first[f"p.{key}"].dtype).tobytes() == first[f"p.{key}"].tobytes()
        theirs, mine = (np.asarray(p.asnumpy(), "f8") for p in (later.parameters[key], parameter))
        np.testing.assert_allclose(theirs, mine, rtol=1e-2, atol=1e-3, err_msg=key)


# What goes into a program and comes out of it


@jit
def arranged(batch: Mapping[str, Any], pair: Any, rate: float, *, bias: Any = None) -> Any:
    a, (b, c) = batch["a"], pair
    total = a * rate + b + c
    return {"sum": total, "all": [total.sum(), (c,)]}, None, total if bias is None else total + bias


def test_containers_and_keywords(tmp_path: Path):
    args = {"a": x, "unused": None}, [x, (np.float32([4, 5, 6]))], 0.5
    program = saved_and_loaded(jit(lambda *a, **k: arranged(*a, **k)[0]["sum"]), tmp_path, *args, bias=x)
    assert_same(program(*args, bias=x), arranged(*args, bias=x)[0]["sum"])
    whole = jit(lambda batch, pair: [{"k": batch["a"], "l": (pair[0], None)}, pair[1]])
    program = saved_and_loaded(whole, tmp_path, *args[:2])
    returned, expected = program(*args[:2]), whole(*args[:2])
    assert jax.tree.structure(returned) == jax.tree.structure(expected)
    for mine, theirs in zip(jax.tree.leaves(returned), jax.tree.leaves(expected), strict=True):
        assert (mine == theirs).all()
    assert isinstance(returned[0]["k"], Tensor)


def assert_same(a: Tensor, b: Tensor) -> None:
    assert a.dtype is b.dtype and a.asnumpy().tobytes() == b.asnumpy().tobytes()


Pair = namedtuple("Pair", "first second")


@pytest.mark.parametrize(
    ("function", "args", "named"),
    [
        (lambda pair: pair[0], (Pair(x, x),), "arguments of an exported function hold a Pair"),
        (lambda a: Pair(a, a), (x,), "results of an exported function hold a Pair"),
        (lambda a: {(1, 2): a}, (x,), r"results of an exported function hold a dict with the key \(1, 2\)"),
    ],
)
def test_containers_that_a_file_cannot_describe(function: Callable[..., Any], args: Any, named: str):
    with pytest.raises(ExportError, match=named) as caught:
        jit(function).export(*args)
    assert isinstance(caught.value, TypeError)


def test_static_arguments_are_part_of_the_program(tmp_path: Path):
    power = jit(lambda a, times, b: a * times + b, static_argnums=1)
    program = saved_and_loaded(power, tmp_path, x, 3, x)
    assert program(x, x).tolist() == [4, 8, 12]


@pytest.mark.parametrize(
    ("call", "error", "named"),
    [
        (lambda f: f(x), AttributeTypeError, r"takes \(_, _, {'a': _}\), and was given \(_\)"),
        (lambda f: f(x, 0.5, {"b": x}), AttributeTypeError, r"was given \(_, _, {'b': _}\)"),
        (lambda f: f(x, 0.5, {"a": x}, c=x), AttributeTypeError, r"was given \(_, _, {'a': _}, c=_\)"),
        (lambda f: f(x, 1, {"a": x}), DTypeError, "argument rate was exported for float and given int"),
        (
            lambda f: f(Tensor([1, 2, 3]), 0.5, {"a": x}),
            DTypeError,
            r"argument value was .* f32\[3\] and given i64\[3\]",
        ),
        (lambda f: f(x, 0.5, {"a": Tensor([1.0])}), DTypeError, r"argument batch.a was .* f32\[3\] and given f32\[1\]"),
        (lambda f: f(x, 0.5, {"a": "text"}), DTypeError, "batch.a is 'text'"),
        (lambda f: f(x, x, {"a": x}), DTypeError, r"argument rate was exported for float and given f32\[3\]"),
    ],
)
def test_a_call_with_other_arguments(call: Callable[..., Any], error: type[Exception], named: str, tmp_path: Path):
    program = jit(lambda value, rate, batch: value * rate + batch["a"]).export(x, 0.5, {"a": x})
    for each in (program, load(saved(program, tmp_path))):
        with pytest.raises(error, match=named):
            call(each)


def saved(program: Any, folder: Path) -> Path:
    program.save(folder / "program")
    return folder / "program"


def test_arguments_may_be_abstract_arrays_and_numpys_scalars(tmp_path: Path):
    add = jit(lambda a, rate: a + rate)
    program = saved_and_loaded(add, tmp_path, jax.ShapeDtypeStruct((3,), "int8"), 1)
    for given in (Tensor(np.int8([1, 2, 3])), np.int8([1, 2, 3]), jax.numpy.int8([1, 2, 3])):
        assert program(given, np.int64(1)).tolist() == [2, 3, 4]
    assert program(Parameter(np.int8([1, 2, 3])), 1).dtype is tracejit.int8


@pytest.mark.parametrize("policy", ["numpy1", "numpy2", "mindspore2", "torch", "jax"])
def test_the_policy_goes_with_the_program(policy: str, tmp_path: Path):
    divide = jit(lambda a, b: (a / b + 2.5, a + 1), promotion=policy)
    args = np.int8([7, 8]), Tensor(np.int8([2, 4]))
    program = saved_and_loaded(divide, tmp_path, *args)
    assert program.policy == policy
    with tracejit.promotion("strict"):
        for mine, theirs in zip(program(*args), divide(*args), strict=True):
            assert_same(mine, theirs)


def test_a_number_that_decided_a_dtype_is_part_of_the_program(tmp_path: Path):
    add = jit(lambda a, number: a + number, promotion="numpy1")
    program = saved_and_loaded(add, tmp_path, np.int8([1]), 1000)
    assert program(np.int8([1]), 1000).dtype is tracejit.int16
    with pytest.raises(DTypeError, match="number was exported for 1000 and given 1"):
        program(np.int8([1]), 1)


def test_captured_arrays_are_saved(tmp_path: Path):
    table = Tensor(np.arange(4, dtype=np.float16), "bfloat16")
    program = saved_and_loaded(jit(lambda i: table[i]), tmp_path, Tensor(2))
    assert_same(program(Tensor(3)), table[3])
    program.save(tmp_path / "again")
    assert_same(load(tmp_path / "again")(Tensor(3)), table[3])


def test_index_checks_are_saved(tmp_path: Path):
    table, count = Parameter(np.zeros((3, 2), np.float32), name="table"), Parameter(0, name="count")

    @jit(check_indices=True)
    def write(index: Tensor) -> Tensor:
        ops.assign_add(count, 1)
        return ops.scatter_add(table, index, Tensor(np.ones((1, 2), np.float32))) * 1

    program = saved_and_loaded(write, tmp_path, Tensor([0]))
    assert program(Tensor([2])).tolist() == [[0, 0], [0, 0], [1, 1]]
    with pytest.raises(IndexBoundsError, match=r"scatter_add: index 3 is out of bounds .* length 3") as caught:
        program(Tensor([3]))
    assert caught.value.location is not None and "ops.scatter_add(table" in caught.value.location.text
    assert program.parameters["count"].item() == 1


# State


def test_a_loaded_program_has_state_of_its_own_and_keeps_it(tmp_path: Path):
    w, generator = Parameter([1.0, 2.0, 3.0], name="w", requires_grad=False), Generator(5)

    @jit
    def step(a: Tensor) -> Tensor:
        ops.assign_add(w, a)
        return ops.standard_normal((2,), generator) + w[:2]

    step(x)
    program = saved_and_loaded(step, tmp_path, x)
    expected = [step(x), step(x), step(x)]
    assert_same(program(x), expected[0])
    assert_same(program(x), expected[1])
    program.save(tmp_path / "again")
    assert_same(program(x), expected[2])
    assert_same(load(tmp_path / "again")(x), expected[2])
    held = program.parameters
    assert held["w"].tolist() == w.tolist() and not held["w"].requires_grad
    assert isinstance(held["generator"], Generator)
    held["w"].set_data(Tensor([0.0, 0.0, 0.0]))
    held["generator"].manual_seed(5)
    program(x)
    assert held["w"].tolist() == [1, 2, 3]
    assert (tmp_path / "program").read_bytes() != (tmp_path / "again").read_bytes()


def test_saving_twice_makes_the_same_file(tmp_path: Path):
    w = Parameter([1.0, 2.0, 3.0], name="w")
    program = jit(lambda a: ops.assign_add(w, a)).export(x)
    program.save(tmp_path / "one")
    program.save(tmp_path / "two")
    load(tmp_path / "one").save(tmp_path / "three")
    assert len({(tmp_path / name).read_bytes() for name in ("one", "two", "three")}) == 1


def test_an_exported_program_runs_on_the_functions_parameters():
    w = Parameter([1.0, 2.0, 3.0], name="w")
    step = jit(lambda a: ops.assign_add(w, a))
    program = step.export(x)
    assert program(x).tolist() == [2, 4, 6] == w.tolist()
    program(x)
    step(x)
    assert w.tolist() == [4, 8, 12]
    assert program.parameters["w"] is w


def test_parameters_as_arguments(tmp_path: Path):
    w = Parameter([1.0, 2.0, 3.0], name="w")
    step = jit(lambda state, a: ops.assign_add(state["w"], a))
    program = saved_and_loaded(step, tmp_path, {"w": w}, x)
    assert program({"w": program.parameters["w"]}, x).tolist() == [2, 4, 6]
    with pytest.raises(AttributeTypeError, match=r"state|args.*is the Parameter 'w' of the program"):
        program({"w": w}, x)
    assert w.tolist() == [1, 2, 3]


def test_parameters_need_names_that_differ():
    a, b, none = Parameter(1.0, name="w"), Parameter(2.0, name="w"), Parameter(3.0)
    with pytest.raises(ParameterAliasError, match="two Parameters named 'w'"):
        jit(lambda: a + b).export()
    with pytest.raises(ParameterError, match="has no name"):
        jit(lambda: none + 1).export()


def test_donation_is_kept(tmp_path: Path):
    w = Parameter(np.zeros(4096, np.float32), name="w")
    ones = Tensor(np.ones(4096, np.float32))
    for donate in (True, False):
        program = saved_and_loaded(jit(lambda a: ops.assign_add(w, a), donate=donate), tmp_path, ones)
        program(ones)
        buffer = program.parameters["w"]._data
        program(ones)
        assert buffer.is_deleted() is donate


# What can be seen


def test_everything_is_there_to_read(tmp_path: Path):
    w = Parameter(np.int8([1, 2, 3]), name="w")
    program = jit(lambda a: a * w).export(x)
    assert str(program) == str(program.graph) and "cast %w" in str(program)
    assert "stablehlo.multiply" in program.as_stablehlo()
    assert repr(program) == "<Exported <lambda> for cpu>"
    loaded = load(saved(program, tmp_path))
    assert loaded.graph == program.graph and loaded.as_stablehlo() == program.as_stablehlo()
    with zipfile.ZipFile(tmp_path / "program") as archive:  # any tool can look into it
        assert archive.namelist() == list(MEMBERS) and archive.testzip() is None
        assert tracejit.parser.parse_graph(archive.read("graph.txt").decode()) == program.graph
        manifest = json.loads(archive.read("manifest.json"))
    assert manifest["version"] == 1 and manifest["written_by"]["jax"] == jax.__version__
    assert manifest["parameters"][0]["type"] == "i8[3]"


# Platforms


def test_platforms_are_named_and_checked():
    program = jit(lambda a: a + 1).export(x, platforms=("tpu", "cuda"))
    assert program.platforms == ("tpu", "cuda")
    with pytest.raises(PlatformError, match="exported for tpu, cuda, and this is cpu"):
        program(x)
    for wrong in ((), ("gpu",), "metal", 3):
        with pytest.raises(TypeError, match="platforms"):
            jit(lambda a: a).export(x, platforms=wrong)


def test_an_operator_that_a_platform_lacks_is_named():
    schur = tracejit.from_jax(lambda a: jax.lax.linalg.schur(a)[0])
    square = Tensor(np.eye(3, dtype=np.float32))
    function = jit(lambda a: ops.exp(schur(a * 2.0)))
    assert function.export(square).platforms == ("cpu",)
    with pytest.raises(PlatformError, match=r"cannot be lowered: jax_call .*lambda.* for tpu, rocm") as caught:
        function.export(square, platforms=("cpu", "tpu", "rocm"))
    assert isinstance(caught.value, NotImplementedError)
    assert "schur(a * 2.0)" in caught.value.location.text


def test_calls_into_python_cannot_leave():
    def printing(a: Tensor) -> Tensor:
        tracejit.debug.print("a {}", a)
        return a

    with pytest.raises(ExportError, match="debug_print calls Python code") as caught:
        jit(printing).export(x)
    assert "debug.print" in caught.value.location.text


def test_not_inside_another_trace():
    program = jit(lambda a: a + 1).export(x)
    for call in (lambda: jit(program)(x), lambda: jax.jit(program)(x), lambda: jax.grad(program)(1.0)):
        with pytest.raises(TraceError, match="while something else is being traced"):
            call()


# Files that are not what they were


def a_program(name: str = "w", value: Any = (1.0, 2.0, 3.0)) -> Any:
    w, table = Parameter(np.float32(value), name=name), Tensor(np.float32([5, 6, 7]))
    return jit(lambda a, rate: ops.assign_add(w, a * rate) + table).export(x, 0.5)


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rebuilt(path: Path, members: Mapping[str, bytes]) -> Path:
    """Write an archive that is right in itself, as somebody would who knows how."""
    write_archive(path, {name: (lambda stream, data=data: stream.write(data)) for name, data in members.items()})
    return path


def zipped(names: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in names.items():
            archive.writestr(name, data)
    return stream.getvalue()


def mutations(whole: bytes, other: bytes, folder: Path) -> list[tuple[str, bytes]]:
    """Return 200 files that are not what they should be."""
    rng = random.Random(0)
    made: list[tuple[str, bytes]] = []
    for _ in range(90):
        flipped = bytearray(whole)
        flipped[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        made.append(("a flipped bit", bytes(flipped)))
    made += [("cut short", whole[: rng.randrange(len(whole))]) for _ in range(40)]
    for _ in range(30):
        a, b = sorted(rng.randrange(len(whole)) for _ in range(2))
        made.append(("a piece of another", whole[:a] + other[a:b] + whole[b:]))
    made += [("longer", whole + bytes(rng.randrange(1, 100))), ("twice", whole + whole), ("zeros", bytes(len(whole)))]
    made += [("a block of zeros", whole[:a] + bytes(64) + whole[a + 64 :]) for a in range(100, 2000, 200)]
    made += [("noise", rng.randbytes(size)) for size in (0, 1, 3, 4, 63, 64, 65, 100, 1000, 100_000)]
    mine, theirs = members_of(folder / "whole"), members_of(folder / "other")
    made += [
        ("another name", whole.replace(b"graph.txt", b"gr\x00ph.txt")),
        ("renamed", whole.replace(b"graph.txt", b"Graph.txt")),
    ]
    made += [
        ("the digest of another", whole[:-64] + other[-64:]),
        ("no comment", whole[:-80]),
        ("a newline", whole + b"\n"),
    ]
    made += [("swapped, by another tool", zipped(mine | {name: theirs[name]})) for name in MEMBERS]
    made += [("members missing", zipped({k: v for k, v in mine.items() if k != name})) for name in MEMBERS]
    made += [
        (f"path {path}", zipped(mine | {path: b"x"})) for path in ("../../etc/passwd", "/tmp/x", "C:\\x", "a/../b")
    ]
    made += [("compressed", zipped(mine, zipfile.ZIP_DEFLATED)), ("a bomb", zipped({"manifest.json": bytes(10**7)}, 8))]
    made += [("a foreign zip", zipped({"readme.txt": b"hello"})), ("an empty zip", zipped({}))]
    made += [
        ("an ELF", b"\x7fELF" + bytes(1000)),
        ("pickle", b"\x80\x04\x95\x10\x00\x00\x00\x8c\x02os\x94."),
        ("text", b"{}"),
    ]
    huge = bytearray(whole)
    huge[18:26] = struct.pack("<II", 0xFFFFFFFF, 0xFFFFFFFF)
    made.append(("huge sizes", bytes(huge)))
    return [(kind, contents) for kind, contents in made if contents != whole]


def test_200_files_that_are_not_what_they_should_be(tmp_path: Path):
    a_program().save(tmp_path / "whole")
    a_program("v", (4.0, 5.0, 6.0)).save(tmp_path / "other")
    cases = mutations((tmp_path / "whole").read_bytes(), (tmp_path / "other").read_bytes(), tmp_path)
    assert len(cases) >= 200
    for kind, contents in cases:
        (tmp_path / "bad").write_bytes(contents)
        with pytest.raises(SavedFileError, match=r"bad cannot be read: .+") as caught:
            load(tmp_path / "bad")
        assert caught.value.fix, kind
    assert sorted(os.listdir(tmp_path)) == ["bad", "other", "whole"]


Forgery = Callable[[dict[str, bytes], dict[str, bytes]], bytes]


def manifest(**changes: Any) -> tuple[str, Forgery]:
    """Return the forgery of a manifest with some of its values replaced."""
    return "manifest.json", lambda mine, other: json.dumps(json.loads(mine["manifest.json"]) | changes).encode()


FORGED: dict[str, tuple[str, Forgery]] = {
    "a newer version": manifest(version=2),
    "another format": manifest(format="x"),
    "no JSON": ("manifest.json", lambda mine, other: b"\xff{"),
    "deep JSON": ("manifest.json", lambda mine, other: b"[" * 10**6 + b"]" * 10**6),
    "a deep arrangement": (
        "manifest.json",
        lambda mine, other: mine["manifest.json"].replace(
            b'"results": {', b'"results": ' + b'{"list": [' * 900 + b"null" + b"]}" * 900 + b', "x": {', 1
        ),
    ),
    "a name twice": (
        "manifest.json",
        lambda mine, other: mine["manifest.json"].replace(b'"donate"', b'"donate": true, "donate"', 1),
    ),
    "no types": manifest(inputs=[["a", "f33[3]"], ["b", "int"]]),
    "a huge type": manifest(outputs=["f32[999999999999999999,999999999999999999]"]),
    "other inputs": manifest(inputs=[["a", "f32[4]"], ["r", "float"]]),
    "other outputs": manifest(outputs=["f32[4]"]),
    "no outputs": manifest(results=None),
    "other platforms": manifest(platforms=["tpu"]),
    "no Parameters": manifest(parameters=[]),
    "arguments that are no pair": manifest(arguments=None),
    "a Parameter that is not there": (
        "manifest.json",
        lambda mine, other: mine["manifest.json"].replace(b'"input": null', b'"parameter": "gone"', 1),
    ),
    "a list": ("manifest.json", lambda mine, other: b"[]"),
    "the Parameters of another": ("parameters.safetensors", lambda mine, other: other["parameters.safetensors"]),
    "the manifest of another": ("manifest.json", lambda mine, other: other["manifest.json"]),
    "the Graph of another": ("graph.txt", lambda mine, other: b"graph @f(%x: f32[2]) {\n  return %x\n}"),
    "no Graph": ("graph.txt", lambda mine, other: b"\xff\xfe"),
    "no Graph text": ("graph.txt", lambda mine, other: b"import os"),
    "the program of another": ("program.stablehlo", lambda mine, other: other["program.stablehlo"]),
    "no program": ("program.stablehlo", lambda mine, other: b"not StableHLO"),
    "an empty program": ("program.stablehlo", lambda mine, other: b""),
    "no arrays": ("captured.safetensors", lambda mine, other: b""),
}  # fmt: skip


@pytest.mark.parametrize("kind", FORGED)
def test_files_that_somebody_forged(kind: str, tmp_path: Path):
    """Archives with a right digest whose parts do not fit each other."""
    name, forge = FORGED[kind]
    mine = members_of(saved(a_program(), tmp_path))
    jit(lambda v: (v, v + 1)).export(Parameter(2, name="q")).save(tmp_path / "other")
    forged = forge(mine, members_of(tmp_path / "other"))
    assert forged != mine[name]
    with pytest.raises(SavedFileError):
        load(rebuilt(tmp_path / "forged", mine | {name: forged}))


def test_a_program_that_calls_something_else_is_refused(tmp_path: Path):
    """A call that JAX's own reader lets pass."""
    inputs = {"w": jax.ShapeDtypeStruct((3,), "float32")}, [
        jax.ShapeDtypeStruct((3,), "float32"), jax.ShapeDtypeStruct((), "float64", weak_type=True),
        jax.ShapeDtypeStruct((3,), "float32"),
    ]  # fmt: skip

    def calls(state: Any, arrays: Any) -> Any:
        called = jax.ffi.ffi_call("some_function", jax.ShapeDtypeStruct((3,), "float32"))(arrays[0])
        return {"w": state["w"] + called}, [arrays[2]]

    checks = [jax.export.DisabledSafetyCheck.custom_call("some_function")]
    with jax.enable_x64(True):
        data = jax.export.export(jax.jit(calls), disabled_checks=checks)(*inputs).serialize()
    mine = members_of(saved(a_program(), tmp_path))
    with pytest.raises(SavedFileError, match="its program calls some_function"):
        load(rebuilt(tmp_path / "forged", mine | {"program.stablehlo": bytes(data)}))


AUDITED = """
import sys, tracejit
tracejit.load(sys.argv[1])  # imports what it needs
seen = []
def hook(event, args):
    if event in ("open", "exec", "compile", "import", "os.system", "subprocess.Popen", "pickle.find_class", "os.remove",
                 "os.mkdir", "os.rename", "socket.connect", "ctypes.dlopen"):
        seen.append((event, str(args[0])))
sys.addaudithook(hook)
tracejit.load(sys.argv[1])
for path in sys.argv[2:]:
    try:
        tracejit.load(path)
    except tracejit.errors.SavedFileError:
        pass
print(*{event for event in seen}, sep="\\n")
"""


def test_loading_reads_the_file_and_does_nothing_else(tmp_path: Path):
    good = saved(a_program(), tmp_path)
    (tmp_path / "text").write_bytes(b"import os")
    mine = members_of(good)
    forged = rebuilt(tmp_path / "forged", mine | {"graph.txt": b"import os"})
    told = run_python(AUDITED, good, tmp_path / "text", forged, JAX_CHECK_TRACER_LEAKS="0").splitlines()
    paths = {str(path) for path in (good, tmp_path / "text", forged)}
    assert {line for line in told if line.startswith("('open'")} == {str(("open", path)) for path in paths}
    assert [line for line in told if not line.startswith("('open'")] == []


def test_a_damaged_file_changes_nothing_and_the_error_is_ours(tmp_path: Path):
    (tmp_path / "bad").write_bytes(b"PK\x03\x04")
    with pytest.raises(TracejitError) as caught:
        load(tmp_path / "bad")
    assert isinstance(caught.value, ValueError)
    with pytest.raises(FileNotFoundError, match=r"no file .*gone"):
        load(tmp_path / "gone")
