"""`compare`: policies side by side, by dtype and by value, past errors, on every kind of function."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import Parameter, Tensor, TensorType, compare, jit, ops, policies
from tracejit import dtypes as dt
from tracejit.comparison import Comparison, Row

NAMES = policies.names()[:8]


def row(comparison: Comparison, operator: str) -> Row:
    (found,) = [row for row in comparison.rows if row.operator == operator]
    return found


def codes(found: Row) -> dict[str, str]:
    return {name: "/".join(cell.codes) or cell.state for name, cell in found.cells.items()}


def test_all_policies_by_default_and_dtypes_by_line() -> None:
    def mixed(x: Any, y: Any) -> Any:
        z = x * y
        return z + 0.5

    comparison = compare(mixed)(TensorType(dt.int64, (2,)), TensorType(dt.float16, (2,)))
    assert tuple(comparison.policies[:8]) == NAMES
    assert not comparison.concrete
    assert codes(row(comparison, "mul")) == {
        "mindspore": "f16", "mindspore2": "f16", "numpy1": "f64", "numpy2": "f64", "jax": "f16", "torch": "f16",
        "tensorflow": "error", "strict": "f16", **dict.fromkeys(comparison.policies[8:], "f16"),
    } | {name: codes(row(comparison, "mul"))[name] for name in comparison.policies[8:]}  # fmt: skip
    assert row(comparison, "mul").location.text == "z = x * y"
    assert row(comparison, "mul").dtypes_differ
    assert row(comparison, "add").cells["tensorflow"].state == "missing"
    assert comparison.errors["tensorflow"].kind == "DTypeError"
    assert "int64 and float16 tensors do not combine" in comparison.errors["tensorflow"].message
    assert comparison.errors["strict"].kind == "ImplicitCastError"
    assert row(comparison, "mul").cells["strict"].state == "refused"
    assert not comparison.agree


def test_chosen_policies_that_agree() -> None:
    comparison = compare(lambda x: x * 2, ["mindspore", policies.get("torch")])(TensorType(dt.float32, (2,)))
    assert comparison.policies == ["mindspore", "torch"]
    assert comparison.agree
    assert comparison.differences == []
    assert "0 of 1 operation differ" in comparison.summary


def test_values_are_compared_where_all_are_known() -> None:
    def wraps(x: Any) -> Any:
        return x + 100

    comparison = compare(wraps, ["mindspore", "numpy1", "numpy2"])(Tensor(np.int8([1, 100])))
    assert comparison.concrete
    assert not comparison.agree or row(comparison, "add").values_differ is False
    grown = compare(lambda x: x + 200, ["numpy1", "torch"])(Tensor(np.int8([1, 100])))
    found = row(grown, "add")
    assert codes(found) == {"numpy1": "i16", "torch": "i8"}
    assert found.values_differ
    index, values = found.example  # type: ignore[misc]
    assert index in ((0,), (1,))
    assert values["numpy1"] == (201, 300)[index[0]]
    assert values["torch"] == (-55, 44)[index[0]]


def test_rounding_is_no_difference() -> None:
    comparison = compare(lambda x: x * 0.1, ["mindspore", "numpy2"])(Tensor([1, 2, 3]))
    found = row(comparison, "mul")
    assert codes(found) == {"mindspore": "f32", "numpy2": "f64"}
    assert found.values_differ is False
    assert found.differs
    lost = compare(lambda x: x * 1.0, ["mindspore", "numpy2"])(Tensor([2**24 + 1]))
    assert row(lost, "mul").values_differ is False  # within float32's rounding


def test_integers_that_float16_cannot_hold() -> None:
    comparison = compare(lambda x, y: x + y, ["mindspore", "numpy2"])(Tensor([70000, 1]), Tensor([0.0, 1.0], "float16"))
    found = row(comparison, "add")
    assert found.values_differ
    assert found.example == ((0,), {"mindspore": float("inf"), "numpy2": 70000.0})


def test_nan_agrees_with_nan_and_empty_with_empty() -> None:
    for x in (Tensor([float("nan"), 1.0]), Tensor([], "float32"), Tensor(2.0)):
        assert row(compare(lambda x: x * 2, ["mindspore", "torch"])(x), "mul").values_differ is False
    assert row(compare(lambda x: x * 2j, ["jax", "torch"])(Tensor([1j])), "mul").values_differ is False


def test_large_results_are_sampled() -> None:
    x = Tensor(np.arange(100_000, dtype=np.int64))
    comparison = compare(lambda x: x * 0.5, ["mindspore", "numpy2"])(x)
    assert row(comparison, "mul").values_differ is False
    assert row(comparison, "mul").cells["mindspore"].value.size <= 4096


def test_an_error_under_one_policy_only_stands_in_its_column() -> None:
    def touchy(x: Any) -> Any:
        y = x * 0.5
        if y.dtype is dt.float64:
            raise ZeroDivisionError("not mine")
        return y + 1

    comparison = compare(touchy, ["mindspore", "numpy2", "torch"])(Tensor([1, 2]))
    assert list(comparison.errors) == ["numpy2"]
    failure = comparison.errors["numpy2"]
    assert (failure.kind, failure.message) == ("ZeroDivisionError", "not mine")
    assert failure.location.text == 'raise ZeroDivisionError("not mine")'
    states = {(r.location.text, r.operator): r.cells["numpy2"].state for r in comparison.rows}
    assert states == {("y = x * 0.5", "mul"): "ok", ("return y + 1", "add"): "missing",
                      ('raise ZeroDivisionError("not mine")', ""): "error"}  # fmt: skip
    assert "numpy2: ZeroDivisionError" in str(comparison)


def test_a_function_that_fails_everywhere_fails_alike() -> None:
    comparison = compare(lambda x: x.nothing)(Tensor([1]))
    assert set(comparison.errors) == set(comparison.policies)
    assert str(comparison).count("AttributeError") == 1


def test_a_parameter_that_would_be_converted() -> None:
    weight = Parameter([1.0, 2.0], name="weight")

    def step(x: Any) -> Any:
        return ops.assign_sub(weight, x * 0.5)

    comparison = compare(step, ["mindspore", "numpy2"])(Tensor([1, 2], "int32"))
    assert comparison.errors["numpy2"].kind == "ParameterCastError"
    assert codes(row(comparison, "assign_sub")) == {"mindspore": "f32", "numpy2": "error"}
    assert weight.tolist() == [1.0, 2.0]  # nothing was written
    assert row(comparison, "assign_sub").cells["mindspore"].value.tolist() == [0.5, 1.0]


def test_loops_are_one_row() -> None:
    def loop(x: Any) -> Any:
        for i in range(50):
            x = x + i
        return x

    comparison = compare(loop, ["mindspore", "numpy2"])(TensorType(dt.int8, (2,)))
    assert [(r.operator, r.times) for r in comparison.rows] == [("add", 50)]
    assert "(×50)" in str(comparison.sheet(everything=True))


def test_two_operators_on_a_line_are_two_rows() -> None:
    comparison = compare(lambda x, y: x * y + x * 0.5, ["mindspore", "numpy2"])(
        TensorType(dt.int8, (2,)), TensorType(dt.int8, (2,))
    )
    assert [r.operator for r in comparison.rows] == ["mul", "mul", "add"]
    assert [codes(r)["numpy2"] for r in comparison.rows] == ["i8", "f64", "f64"]


def test_control_flow_that_depends_on_dtypes() -> None:
    def branches(x: Any) -> Any:
        y = x * 0.5
        return y.sqrt() if y.dtype is dt.float32 else y.exp()

    comparison = compare(branches, ["mindspore", "numpy2"])(TensorType(dt.int8, (2,)))
    states = {r.operator: {name: cell.state for name, cell in r.cells.items()} for r in comparison.rows}
    assert states["sqrt"] == {"mindspore": "ok", "numpy2": "missing"}
    assert states["exp"] == {"mindspore": "missing", "numpy2": "ok"}


class Net:
    @jit(promotion="torch", static_argnames="n")
    def forward(self, x: Any, n: int = 2) -> Any:
        return x * (0.5 * n)


def test_methods_static_arguments_and_inner_policies() -> None:
    net = Net()
    comparison = compare(net.forward, ["mindspore", "numpy2"])(Tensor([1, 2]), n=3)
    assert codes(row(comparison, "mul")) == {"mindspore": "f32", "numpy2": "f64"}  # its own policy gives way
    assert net.forward.cache_info() == (0, 0, 0)
    inner = compare(lambda x: net.forward(x), ["mindspore", "numpy2"])(Tensor([1, 2]))
    assert codes(row(inner, "mul")) == {"mindspore": "f32", "numpy2": "f32"}  # inside, it holds

    def block(x: Any) -> Any:
        with tracejit.promotion("numpy2"):
            return x * 0.5

    assert codes(row(compare(block, ["mindspore", "torch"])(Tensor([1])), "mul")) == {
        "mindspore": "f64",
        "torch": "f64",
    }


def test_regions_are_compared_by_dtype() -> None:
    def loop(x: Any) -> Any:
        return tracejit.cond(x.sum() > 2, lambda: x * 0.5, lambda: x * 1.5)

    comparison = compare(loop, ["mindspore", "numpy2"])(Tensor([1, 2]))
    assert [codes(r)["numpy2"] for r in comparison.rows if r.operator == "mul"] == ["f64", "f64"]


def test_numpy1_looks_at_the_values_given() -> None:
    comparison = compare(lambda x, s: x + s, ["numpy1", "numpy2"])(Tensor(np.int8([1])), 300)
    assert codes(row(comparison, "add"))["numpy1"] == "i16"
    abstract = compare(lambda x, s: x + s, ["numpy1", "numpy2"])(TensorType(dt.int8, (2,)), TensorType(dt.int64, ()))
    assert "only known when the program runs" in abstract.errors["numpy1"].message


def test_json() -> None:
    comparison = compare(lambda x: x + 200, ["numpy1", "torch", "tensorflow"])(Tensor(np.int8([1, 100])))
    found = json.loads(comparison.to_json())
    assert found == comparison.as_dict()
    assert found["policies"] == ["numpy1", "torch", "tensorflow"]
    (line,) = found["lines"]
    assert line["file"] == __file__
    assert line["operator"] == "add"
    assert line["dtypes"] == {"numpy1": ["int16"], "torch": ["int8"], "tensorflow": ["int8"]}
    assert line["values_differ"] is True
    assert set(line["example"]["values"]) == {"numpy1", "torch", "tensorflow"}
    failed = compare(lambda x, y: x + y, ["tensorflow"])(Tensor([1]), Tensor([1.0])).as_dict()
    assert failed["errors"]["tensorflow"]["class"] == "DTypeError"
    assert failed["lines"][0]["states"] == {"tensorflow": "error"}


def test_text_and_html_show_what_differs() -> None:
    def two(x: Any) -> Any:
        y = x * 2
        return y * 0.5

    comparison = compare(two, ["mindspore", "numpy2", "tensorflow"])(Tensor([1, 2]))
    text = str(comparison)
    assert "two under 3 policies: 1 of 2 operations differ" in text
    assert "return y * 0.5" in text
    assert "y = x * 2" not in text
    assert "y = x * 2" in str(comparison.sheet(everything=True))
    assert "tensorflow: DTypeError at test_comparison.py" in text
    page = comparison._repr_html_()
    assert "return y * 0.5" in page
    assert 'class="differs"' in page
    assert "DTypeError" in page
    assert repr(comparison).startswith("<Comparison: two under 3 policies")


@pytest.mark.parametrize("chosen", [[], ["mindspore"]])
def test_few_policies(chosen: list[str]) -> None:
    comparison = compare(lambda x: x + 1, chosen)(Tensor([1]))
    assert comparison.agree
    assert comparison.policies == chosen
