"""The command `tracejit`: what it prints, its exit codes, its help, and that dtype questions start without JAX."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.test_project import ROOT
from tracejit import dtypes as dt
from tracejit import policies
from tracejit.abstract import read_arguments, read_operand
from tracejit.errors import AttributeValueError
from tracejit.ir import TensorType
from tracejit.shell import main

MODEL = '''"""A model to look at."""

import tracejit
from tracejit import jit, ops

w = tracejit.Parameter([1.0, 2.0], name="w")
constant = 3


@jit
def step(x, y, rate):
    z = x * y
    ops.assign_sub(w, z * rate)
    return z / 2


def lossy(x):
    return x * 0.5


def fails(x):
    if x.dtype == tracejit.int8:
        raise KeyError("no int8 here")
    return x


class Net:
    @jit
    def forward(self, x, rate=2):
        return x * rate


net = Net()
'''


class Shell:
    """Runs the command inside this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]):
        self.capsys = capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        try:
            code = main(words)
        except SystemExit as error:  # argparse's
            code = error.code  # type: ignore[assignment]
        captured = self.capsys.readouterr()
        return code, captured.out, captured.err

    def json(self, *words: str, code: int = 0) -> Any:
        found, out, _ = self(*words, "--json")
        assert found == code
        return json.loads(out)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tracejit"])
    monkeypatch.delitem(sys.modules, "shown_model", raising=False)
    (tmp_path / "shown_model.py").write_text(MODEL)
    return "shown_model.py"


# result-type


def test_result_type(shell: Shell) -> None:
    code, out, err = shell("result-type", "uint8", "int8")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "int16"
    assert "mindspore, uint8-int8: Where nothing stands higher" in out
    assert shell("result-type", "u1", "i1", "--policy", "torch")[1].startswith("int16\n")
    assert shell("result-type", "int8", "300", "--policy", "numpy1")[1].startswith("int16\n")
    assert shell("result-type", "i8", "i4")[1].startswith("int64\n")  # NumPy's strings
    assert shell("result-type", "i8[]", "i32[3]")[1].startswith("int32\n")  # codes with a shape
    assert shell("result-type", "2**3")[0] == 2


def test_result_type_as_json(shell: Shell) -> None:
    found = shell.json("result-type", "int32", "2.5")
    assert found["operands"] == ["int32", "2.5"]
    answer = found["policies"]["mindspore"]
    assert answer["dtype"] == "float32"
    assert list(answer["rules"]) == ["integer-float-scalar"]


def test_result_type_under_all_policies(shell: Shell) -> None:
    code, out, _ = shell("result-type", "int64", "float16", "--all")
    assert code == 0
    lines = {line.split()[0]: line.split()[1] for line in out.splitlines()}
    assert lines["mindspore"] == "float16"
    assert lines["numpy2"] == "float64"
    assert lines["tensorflow"] == "error"
    assert list(lines)[:8] == list(policies.names())[:8]
    assert shell("result-type", "int64", "float16", "--all", "--check")[0] == 1
    assert shell("result-type", "int8", "int8", "--all", "--check")[0] == 0
    assert "error" in shell.json("result-type", "int64", "float16", "--all")["policies"]["tensorflow"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["uint16", "int8"], "uint16 and int8 tensors do not combine under the policy mindspore"),
        (["f32"], "'f32' is a short code, which needs a shape"),
        (["float33"], "'float33' is not a dtype"),
        (["f33[2]"], "'f33[2]': 'f33' is no dtype"),
        (["i8[2,x]"], "'i8[2,x]': [2,x] is no shape"),
        (["qint8"], "dtype qint8 is not supported"),
        (["object"], "dtype object is not supported"),
        (["int8", "--policy", "numpy3"], "no promotion policy is called 'numpy3'"),
        (["int8", "--check"], "result-type --check compares policies"),
    ],
)
def test_questions_without_an_answer(shell: Shell, words: list[str], message: str) -> None:
    code, out, err = shell("result-type", *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"tracejit: {message}")
    assert "fix: " in err
    found = shell.json("result-type", *words, code=2)
    assert found["error"]["message"].startswith(message)


# table


@pytest.mark.parametrize("name", policies.names()[:8])
def test_table(shell: Shell, name: str) -> None:
    code, out, _ = shell("table", "--policy", name)
    assert code == 0
    assert out.startswith(f"{name}: ")
    assert "tensor with tensor" in out
    assert max(map(len, out.splitlines()[2:])) < 140
    found = shell.json("table", "--policy", name)
    assert set(found["tensors"]) == {dtype.name for dtype in dt.ALL}
    policy = policies.get(name)
    for row, cells in found["tensors"].items():
        for column, cell in cells.items():
            joined = policy.join_pair(dt.as_dtype(row), dt.as_dtype(column))
            if not policy.reports_casts:
                assert cell["result"] == (joined.name if joined else None)


def test_table_of_two_policies(shell: Shell) -> None:
    code, out, _ = shell("table", "--policy", "mindspore", "--vs", "mindspore2")
    assert code == 0
    assert out.startswith("mindspore (above) and mindspore2 (below): ")
    assert shell("table", "--policy", "mindspore", "--vs", "mindspore2", "--check")[0] == 1
    assert shell("table", "--policy", "torch", "--vs", "torch", "--check")[0] == 0
    found = shell.json("table", "--policy", "mindspore", "--vs", "mindspore2")["differences"]
    (bool_int,) = [cell for cell in found if (cell["row"], cell["column"]) == ("int", "bool")]
    assert (bool_int["mindspore"]["result"], bool_int["mindspore2"]["result"]) == ("int32", "int64")
    assert shell("table", "--check")[0] == 2


def test_marks_of_a_table(shell: Shell) -> None:
    _, out, _ = shell("table", "--policy", "mindspore")
    rows = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "i16+" in rows["u8"]  # wider
    assert "f16!" in rows["i64"]  # lossy
    assert "(–)" in rows["c64"]  # the pages do not say


# explain and compare


def test_explain(shell: Shell, model: str) -> None:
    code, out, err = shell("explain", f"{model}:step", "--args", "f32[2] u8[2]", "0.5")
    assert (code, err) == (0, "")
    assert "step under mindspore: 3 implicit conversions" in out
    assert "shown_model.py:12  z = x * y" in out
    assert "u8[2]" in out
    assert shell("explain", f"{model}:step", "--args", "f32[2]", "u8[2]", "0.5", "--check")[0] == 0
    assert shell("explain", f"{model}:lossy", "--args", "i64[2]", "--check")[0] == 1
    assert shell("explain", f"{model}:lossy", "--args", "i8[2]", "--policy", "strict", "--check")[0] == 1
    found = shell.json("explain", f"{model}:lossy", "--args", "i64[2]")
    assert found["counts"]["lossy"] == 1


def test_targets(shell: Shell, model: str) -> None:
    for target in (f"{model}:net.forward", "shown_model:net.forward"):
        assert "forward under mindspore: 2 implicit" in shell("explain", target, "--args", "i8[4]", "rate=0.5")[1]
    nested = Path("package/inner.py")
    nested.parent.mkdir()
    nested.write_text("def scale(x):\n    return x * 2\n")
    assert shell("explain", "package/inner.py:scale", "--args", "i8[2]")[0] == 0


def test_compare(shell: Shell, model: str) -> None:
    code, out, _ = shell("compare", f"{model}:step", "--args", "f32[2] u8[2]", "0.5")
    assert code == 0
    assert "tensorflow: DTypeError at shown_model.py:12" in out
    assert shell("compare", f"{model}:lossy", "--args", "i64[2]", "--check")[0] == 1
    agree = ["compare", f"{model}:lossy", "--args", "f32[2]", "--policies", "mindspore,torch", "--check"]
    assert shell(*agree)[0] == 0
    assert "x * 0.5" in shell(*agree, "--all-lines")[1]
    assert shell.json("compare", f"{model}:lossy", "--args", "i64[2]", "--policies", "jax")["policies"] == ["jax"]
    assert shell("compare", f"{model}:step", "--args", "f32[2]")[0] == 2  # arguments are missing


def test_report(shell: Shell, model: str) -> None:
    code, out, _ = shell("report", f"{model}:lossy", "--args", "i64[2]", "--output", "page.html")
    assert (code, out) == (0, "page.html\n")
    assert "x * 0.5" in Path("page.html").read_text()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("shown_model.py:nothing", "shown_model.py has no 'nothing'"),
        ("shown_model.py:net.nothing", "shown_model.py has no 'net.nothing'"),
        ("shown_model.py:constant", "constant of shown_model.py is no function: 3"),
        ("missing.py:step", "there is no file missing.py"),
        ("missing_module:step", "No module named 'missing_module'"),
        ("shown_model.py", "'shown_model.py' names no function"),
    ],
)
def test_targets_that_are_none(shell: Shell, model: str, target: str, message: str) -> None:
    code, out, err = shell("explain", target, "--args", "f32[2]")
    assert (code, out) == (2, "")
    assert message in err
    if "model.py:" in target:
        assert "step, lossy, fails, Net" in err


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("i8", "'i8' alone is no argument: it is short for int8 and NumPy's name for int64"),
        ("f32", "'f32' alone is no argument: it has no shape"),
        ("float32", "'float32' alone is no argument: it has no shape"),
        ("f33[2]", "'f33' is no dtype"),
        ("f32[2,x]", "[2,x] is no shape"),
        ("f32[-1]", "[-1] is no shape"),
        ("f32[2", "'f32[2' is no operand"),
        ("'text'", "\"'text'\" is no operand"),
        ("[1,2]", "'[1,2]' is no operand"),
        ("rate=i8", "'i8' alone is no argument"),
    ],
)
def test_args_that_cannot_be_read(shell: Shell, model: str, word: str, message: str) -> None:
    code, out, err = shell("explain", f"{model}:lossy", "--args", word)
    assert (code, out) == (2, "")
    assert message in err
    assert "fix: " in err
    if word == "i8":
        assert "i8[...] for a tensor of int8, or i64[...] for a tensor of int64" in err


def test_errors_of_the_function_are_its_own(shell: Shell, model: str) -> None:
    code, out, err = shell("explain", f"{model}:fails", "--args", "i8[2]")
    assert (code, out) == (2, "")
    assert "KeyError: 'no int8 here'" in err
    assert 'raise KeyError("no int8 here")' in err
    assert f"tracejit{os.sep}" not in err
    Path("broken.py").write_text("def f(:\n")
    code, _, err = shell("explain", "broken.py:f")
    assert code == 2
    assert "SyntaxError" in err


def test_reading_operands() -> None:
    assert read_operand("bf16[2,3]") == TensorType(dt.bfloat16, (2, 3))
    assert read_operand("float32[2, 3]") == TensorType(dt.float32, (2, 3))
    assert [read_operand(word) for word in ("True", "-3", "2.5e3", "1j", "-inf", "1+2j")] == [
        True, -3, 2500.0, 1j, float("-inf"), 1 + 2j,
    ]  # fmt: skip
    assert read_operand("i8") is dt.int64
    args, kwargs = read_arguments(["f32[2, 3] i8[]", "x=b1[1]", "y=-2"])
    assert args == [TensorType(dt.float32, (2, 3)), TensorType(dt.int8, ())]
    assert kwargs == {"x": TensorType(dt.bool_, (1,)), "y": -2}
    with pytest.raises(AttributeValueError):
        read_operand("f32[-1]")


# ops


def test_ops(shell: Shell) -> None:
    code, out, _ = shell("ops")
    assert code == 0
    assert "assign_add" in out
    assert "getitem" not in out
    _, out, _ = shell("ops", "Add")
    assert "ops.add(input_x, input_y)" in out
    assert "dtype group T" in out
    assert "in dialect 2.x: every dtype" in out
    assert shell("ops", "add")[1] == out == shell("ops", "TensorAdd")[1]
    assert "a Parameter, written" in shell("ops", "assign_sub")[1]
    assert "attribute, required" in shell("ops", "Bitcast")[1]
    several = shell("ops", "Assign")[1]
    assert "assign" in several
    assert shell("ops", "no_such_operator")[0] == 2
    found = shell.json("ops", "Div")
    assert found["accepts"]["T"]["2.x"][0] == "bool"
    assert len(shell.json("ops")["operators"]) > 50


# Help, and the process


COMMANDS = ("table", "result-type", "explain", "compare", "report", "ops")


def test_help_shows_examples(shell: Shell) -> None:
    code, out, _ = shell("--help")
    assert code == 0
    for command in COMMANDS:
        assert command in out
        code, page, _ = shell(command, "--help")
        assert code == 0
        assert f"examples:\n  tracejit {command}" in page
        assert "--json" in page
    assert "tracejit result-type uint8 int8" in out
    assert max(map(len, out.splitlines())) <= 120


@pytest.mark.parametrize("words", [[], ["unknown"], ["table", "--polic"], ["result-type"]])
def test_wrong_usage(shell: Shell, words: list[str]) -> None:
    code, _, err = shell(*words)
    assert code == 2
    assert "usage: tracejit" in err


def run(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, env=environment, **options
    )


@pytest.mark.parametrize(
    "words",
    [["result-type", "int8", "uint8"], ["result-type", "i8[3]", "2.5", "--all", "--json"], ["table"], ["ops", "Add"],
     ["table", "--policy", "jax", "--vs", "numpy1"], ["--help"]],
)  # fmt: skip
def test_dtype_questions_load_no_jax(words: list[str]) -> None:
    code = (
        "import sys, tracejit.shell\n"
        f"try: tracejit.shell.main({words!r})\n"
        "except SystemExit: pass\n"
        "print(sorted(m for m in sys.modules if m.partition('.')[0] in ('jax', 'jaxlib', 'lowering', 'rich')))"
    )
    done = run("-c", code)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "[]"


def test_as_a_module_and_as_a_program(model: str) -> None:
    done = run("-m", "tracejit", "result-type", "int8", "uint8")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("int16\n")
    done = run("-m", "tracejit", "explain", f"{model}:lossy", "--args", "i64[2]", "--check")
    assert done.returncode == 1
    assert "(1 widening, 1 lossy)" in done.stdout
    done = run("-m", "tracejit", "result-type", "f32")
    assert done.returncode == 2
    assert "runpy" not in done.stderr


def test_a_reader_that_goes_away() -> None:
    command = f"PYTHONPATH={ROOT} {sys.executable} -m tracejit ops --json | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == "{\n"
    assert "Traceback" not in done.stderr
