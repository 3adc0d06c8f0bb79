"""`explain_casts`: nothing is missing, every judgement is right, and what is shown says where and why."""

from __future__ import annotations

import importlib.util
import io
import json
import linecache
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import Parameter, Tensor, TensorType, errors, explain_casts, jit, ops
from tracejit import dtypes as dt
from tracejit.explanation import Explanation
from tracejit.passes.casts import explicit_casts, implicit_casts, keeps

ROOT = Path(__file__).resolve().parent.parent


def casts_of(function: Any, *args: Any, **kwargs: Any) -> list[tuple[str, str, str, str, str]]:
    return [
        (cast.operation, cast.operand, cast.spelled_from, str(cast.to), cast.judgement)
        for cast in explain_casts(function)(*args, **kwargs)
    ]


def check_complete(function: Any, *args: Any) -> Explanation:
    """Every cast of the promoted Graph stands in the explanation, as a conversion or as the user's own."""
    promoted = jit(function).trace(*args).promoted
    explanation = explain_casts(function)(*args)
    casts = [operation for operation in promoted.walk() if operation.name == "cast"]
    assert len(casts) == len(explanation) + len(explanation.written)
    listed = sorted(str((cast.from_, str(cast.to), cast.rule)) for cast in explanation)
    graph = [(cast.operands[0].type, cast.result.type, cast.attributes.get("rule")) for cast in casts]
    implicit = [(a, b.dtype if isinstance(b, TensorType) else b, rule) for a, b, rule in graph if rule]
    assert listed == sorted(str((a, str(b), rule)) for a, b, rule in implicit)
    return explanation


def load_digits() -> ModuleType:
    spec = importlib.util.spec_from_file_location("digits_example", ROOT / "examples" / "digits.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["digits_example"] = module
    spec.loader.exec_module(module)
    return module


def test_digits_example() -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("tqdm")
    digits = load_digits()
    before = digits.w2.asnumpy()
    explanation = check_complete(digits.step.function, TensorType(dt.uint8, (32, 64)), TensorType(dt.int64, (32,)), 0.5)
    texts = {cast.location.text for cast in explanation}
    assert "x = pixels / 16.0" in texts
    assert explanation.lossy == []
    assert (digits.w2.asnumpy() == before).all()


def generated(lines: int, seed: int = 0) -> Any:
    """A function of so many lines, each with an operator between values of whatever dtypes came out before."""
    choose = random.Random(seed)
    body = ["def generated(a, b, c, d, s):", "    v = [a, b, c, d]"]
    for _ in range(lines):
        x, y = choose.choice(["a", "b", "c", "d", "s", "2", "0.5", "True"]), f"v[{choose.randrange(4)}]"
        symbol = choose.choice(["+", "-", "*", ">", "=="])
        kind = choose.random()
        if kind < 0.05:
            body.append(f"    v[{choose.randrange(4)}] = ops.cast({y}, 'int8')")
        elif kind < 0.1:
            body.append(f"    v[{choose.randrange(4)}] = ops.where(v[0] > 1, {y}, v[1])")
        else:
            body.append(f"    v[{choose.randrange(4)}] = ops.cast({y}, 'int16') {symbol} {x}")
    body.append("    return v, s * 2")
    text = "\n".join(body) + "\n"
    name = f"<generated {lines} {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"ops": ops}
    exec(compile(text, name, "exec"), namespace)
    return namespace["generated"]


@pytest.mark.parametrize("policy", ["mindspore", "numpy2", "torch"])
def test_a_generated_function_of_1000_lines(policy: str) -> None:
    arguments = [Tensor(np.ones(3), d) for d in ("int8", "int32", "float16", "float32")]
    with tracejit.promotion(policy):
        explanation = check_complete(generated(1000), *arguments, 3)
    assert len(explanation) > 700
    assert {cast.judgement for cast in explanation} == {"lossless", "widening", "lossy"}
    lines = {cast.location.line for cast in explanation}
    assert len(lines) > 500
    assert all(cast.location.text for cast in explanation)


def test_casts_in_regions_are_listed() -> None:
    def loop(x: Any) -> Any:
        carry = tracejit.fori_loop(0, 3, lambda i, c: c + x * 2, Tensor([1.0, 2.0]))
        return tracejit.cond(x.sum() > 2, lambda: x * 0.5, lambda: x / 1.0), carry

    explanation = check_complete(loop, Tensor([1, 2], "int32"))
    assert {cast.operation for cast in explanation} >= {"mul", "add"}


# What a conversion is.

I8, U8, I32, I64 = (TensorType(d, (4,)) for d in (dt.int8, dt.uint8, dt.int32, dt.int64))
F16, F32, B1 = (TensorType(d, (4,)) for d in (dt.float16, dt.float32, dt.bool_))


@pytest.mark.parametrize(
    ("a", "b", "judgements"),
    [
        (I8, I32, ["lossless"]),
        (F16, F32, ["lossless"]),
        (B1, F16, ["lossless"]),
        (I64, F16, ["lossy"]),
        (I32, F32, ["lossy"]),
        (U8, I8, ["widening", "widening"]),
        (I8, 2.5, ["widening", "widening"]),
        (B1, 3, ["widening", "widening"]),
        (I64, 2.5, ["lossy", "widening"]),
        (F32, 2, ["lossless"]),
        (F32, 0.1, ["lossless"]),  # as float32 as a Python float is by default
        (F16, 0.1, ["lossy"]),
        (F16, 0.5, ["lossless"]),
        (F16, 70000.0, ["lossy"]),
        (F32, 2**24 + 1, ["lossy"]),
        (F32, 2**24, ["lossless"]),
        (F16, True, ["lossless"]),
    ],
)
def test_judgements(a: Any, b: Any, judgements: list[str]) -> None:
    if isinstance(b, TensorType):
        explanation = explain_casts(lambda x, y: x + y)(a, b)
    else:
        explanation = explain_casts(lambda x: x + b)(a)
    assert [cast.judgement for cast in explanation] == judgements
    assert explanation.counts == {name: judgements.count(name) for name in ("lossless", "widening", "lossy")}


def test_scalars_of_unknown_value_are_judged_by_their_kind() -> None:
    for scalar, tensor, judgement in (
        (2, I32, "lossy"),
        (2, I64, "lossless"),
        (2.5, F32, "lossless"),
        (1.0, F16, "lossy"),
    ):
        assert [cast.judgement for cast in explain_casts(lambda x, s: x * s)(tensor, scalar)] == [judgement]
    assert casts_of(lambda x, s: x * s, F32, 2.5) == [("mul", "input_y", "float", "float32", "lossless")]


def test_what_a_scalar_keeps() -> None:
    cases = [
        (True, dt.uint8, True),
        (3.0, dt.int8, True),
        (3.5, dt.int8, False),
        (float("nan"), dt.int8, False),
        (float("inf"), dt.float16, True),
        (float("nan"), dt.float16, True),
        (2, dt.bool_, False),
        (1, dt.bool_, True),
        (1 + 2j, dt.complex64, True),
        (1 + 2j, dt.float32, False),
        (1 + 0j, dt.float32, True),
        (2**2000, dt.float64, False),
        (255, dt.uint8, True),
        (-1, dt.uint8, False),
        (256, dt.bfloat16, True),
        (257, dt.bfloat16, False),
    ]
    for value, dtype, kept in cases:
        assert keeps(value, dtype) is kept, (value, dtype)


def test_every_implicit_conversion_has_its_operand() -> None:
    weight = Parameter(np.zeros(4, np.float32), name="weight")

    def function(x: Any, i: Any) -> Any:
        y = ops.concat((x, x * 0.5, ops.cast(x, "float64")))
        y[0] = x[1]
        ops.assign_add(weight, i)
        return y, ops.select(x > 0, x, 1.0), i.sum() + 1

    found = casts_of(function, F32, I8)
    assert ("concat", "tensors", "f32[4]", "float64", "lossless") in found
    assert ("setitem", "value", "f32[]", "float64", "lossless") in found
    assert ("assign_add", "value", "i8[4]", "float32", "lossless") in found
    assert ("select", "input_y", "1.0 (float)", "float32", "lossless") in found
    assert ("return", "result", "int", "int64", "lossless") in casts_of(lambda s: s * 2, 3)
    check_complete(function, F32, I8)


# Which function, under which policy.


class Model:
    def __init__(self) -> None:
        self.scale = 0.5

    def plain(self, x: Any) -> Any:
        return x * self.scale

    @jit(promotion="numpy2", static_argnames="n", on_lossy="error", max_traces=1)
    def jitted(self, x: Any, n: int) -> Any:
        return x * (0.5 * n)


def test_plain_functions_jitted_ones_and_methods() -> None:
    model = Model()
    assert explain_casts(model.plain)(I64).policy == "mindspore"
    explained = explain_casts(model.jitted)(I64, 3)
    assert (explained.policy, explained.name) == ("numpy2", "jitted")
    assert [str(cast.to) for cast in explained] == ["float64", "float64"]
    assert explain_casts(model.jitted, promotion="torch")(I64, n=2).policy == "torch"
    assert model.jitted.cache_info() == (0, 0, 0)  # neither counted nor kept, and nothing raised for lossy ones
    with tracejit.promotion("jax"):
        assert explain_casts(model.plain)(I64).policy == "jax"
        assert explain_casts(model.jitted)(I64, 3).policy == "numpy2"
    callable_object = type("Caller", (), {"__call__": lambda self, x: x * 0.5})()
    assert len(explain_casts(callable_object)(I8)) == 2


def test_arguments_are_concrete_or_abstract() -> None:
    for x in (Tensor([1]), np.array([1]), I64, jit(lambda: Tensor([1]))()):
        assert casts_of(lambda x: x * 0.5, x)[0][4] == "lossy"
    assert casts_of(lambda batch: batch["x"] * 0.5, {"x": I8})[0][:2] == ("mul", "input_x")


def test_nothing_runs_and_nothing_is_written() -> None:
    weight = Parameter([1.0], name="weight")
    seen = []

    def step(x: Any) -> Any:
        seen.append(x)
        return ops.assign_add(weight, x)

    explain_casts(step)(Tensor([1], "int32"))
    assert weight.tolist() == [1.0]
    assert len(seen) == 1
    assert "traced" in repr(seen[0])


def test_strict_explains_what_it_refuses() -> None:
    explanation = explain_casts(lambda x, y: (x * y) * 2, "strict")(I32, F32)
    assert len(explanation) == 2
    assert explanation.refused == 1
    assert "strict refuses 1 of them" in explanation.summary


def test_a_failing_function_raises_its_error() -> None:
    with pytest.raises(errors.DTypeError, match="logical_and does not take") as caught:
        explain_casts(lambda x: ops.logical_and(x, x))(F32)
    assert "test_explanation.py" in str(caught.value)
    frames = [entry.path.name for entry in caught.traceback]
    assert set(map(str, frames)) == {"test_explanation.py"}


# How it shows.


def scale(x: Any, y: Any) -> Any:
    for _ in range(3):
        y = y * 0.1
    return x * y


def test_text() -> None:
    text = str(explain_casts(scale)(I64, F16))
    assert text.splitlines()[0] == "scale under mindspore: 4 implicit conversions (4 lossy)"
    assert "y = y * 0.1" in text
    assert "0.1 (float)" in text
    assert "(×3)" in text
    assert "highest-priority  Tensors are converted to the dtype of the highest priority" in text
    assert "test_explanation.py:" in text
    assert str(explain_casts(lambda x: x)(F32)) == "<lambda> under mindspore: 0 implicit conversions"


def test_rich_shows_the_same_words() -> None:
    from rich.console import Console

    explanation = explain_casts(scale)(I64, F16)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(explanation)
    shown = console.export_text()
    for line in str(explanation).splitlines():
        assert line.strip()[:100] in shown


def test_json() -> None:
    explanation = explain_casts(scale)(I64, F16)
    found = json.loads(explanation.to_json())
    assert found == explanation.as_dict()
    assert found["counts"] == {"lossless": 0, "widening": 0, "lossy": 4}
    first = found["casts"][0]
    assert first["file"] == __file__
    assert (first["operator"], first["operand"], first["from"], first["to"]) == ("mul", "input_y", "float", "float16")
    assert (first["value"], first["judgement"], first["rule"]) == ("0.1", "lossy", "scalar-adopts")
    assert first["text"] == "y = y * 0.1"
    assert found["casts"][3]["shape"] == [4]
    assert set(found["rules"]) == {"scalar-adopts", "highest-priority"}
    assert found["written"] == []
    written = explain_casts(lambda x: ops.cast(x, "int8"))(F32).as_dict()["written"]
    assert (written[0]["from"], written[0]["to"]) == ("float32", "int8")


def test_html_stands_alone_and_escapes() -> None:
    page = explain_casts(lambda x: x * 0.5 + (1 if "<b>&" else 2))(I64)._repr_html_()
    assert "&lt;b&gt;&amp;" in page
    assert "<b>&" not in page
    assert 'title="An integer tensor' in page
    assert "http" not in page


def test_as_a_sequence() -> None:
    explanation = explain_casts(scale)(I64, F16)
    assert len(explanation) == len(list(explanation)) == 4
    assert explanation[-1].operation == "mul"
    assert explanation.lossy == list(explanation)
    assert repr(explanation) == f"<Explanation: {explanation.summary}>"
    assert explanation[0].why == "A Python scalar takes the dtype of the tensors."


def test_the_lists_agree_with_on_lossy() -> None:
    with pytest.raises(errors.DTypeError, match="1 implicit conversion in") as caught:
        jit(lambda x: x * 0.5, on_lossy="error")(Tensor([1]))
    (cast,) = [c for c in explain_casts(lambda x: x * 0.5)(Tensor([1])) if c.judgement == "lossy"]
    assert str(cast) in str(caught.value)


def test_the_passes_are_the_same_list() -> None:
    promoted = jit(scale).trace(I64, F16).promoted
    assert [str(cast) for cast in implicit_casts(promoted)] == [str(cast) for cast in explain_casts(scale)(I64, F16)]
    assert explicit_casts(promoted) == []
