"""Policies `jax`, `torch`, `tensorflow` against what these systems gave, `jax` and `numpy2` against live ones."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.numpy_operands import DTYPES
from tracejit import dtypes as dt
from tracejit.ir import TensorType
from tracejit.policies import Operand, PromotionError, get
from tracejit.queries import result_type

GOLDEN = Path(__file__).parent / "golden"
SCALARS = [True, 2, -1, 300, 2**40, 2.5, 1 + 2j]
SECTIONS = ("tensor_tensor", "zero_d_with_tensor", "tensor_scalar", "scalar_tensor", "scalar_scalar")


@functools.cache
def load(system: str) -> dict[str, Any]:
    recorded = json.loads((GOLDEN / system / "promotion.json").read_text())
    assert [repr(scalar) for scalar in SCALARS] == [text for _, text in recorded["scalars"]]
    return recorded


def rows(system: str, section: str) -> Iterator[tuple[Any, Any, Any]]:
    recorded = load(system)
    tensors = [TensorType(dt.as_dtype(name), (2,)) for name in recorded["dtypes"]]
    zero_d = [TensorType(tensor.dtype, ()) for tensor in tensors]
    sides = {
        "tensor_tensor": (tensors, tensors),
        "zero_d_with_tensor": (zero_d, tensors),
        "tensor_scalar": (tensors, SCALARS),
        "scalar_tensor": (tensors, SCALARS),
        "scalar_scalar": (SCALARS, SCALARS),
    }[section]
    for x, cells in zip(sides[0], recorded.get(section, []), strict=False):
        for y, cell in zip(sides[1], cells, strict=True):
            yield (y, x, cell) if section == "scalar_tensor" else (x, y, cell)


def outcome(policy: str, *operands: Any) -> str:
    try:
        return str(result_type(*operands, promotion=policy))
    except PromotionError:
        return "refused"


def disagreements(system: str, section: str, read: Callable[[Any, Any, Any], str | None]) -> list[Any]:
    """Compare each cell; `read` returns its dtype, `refused`, or None for a cell that tells nothing."""
    told, wrong = 0, []
    for x, y, cell in rows(system, section):
        wanted = read(x, y, cell)
        told += wanted is not None
        answer = outcome(system, x, y)
        if wanted is not None and wanted != answer:
            wrong.append((x, y, wanted, answer))
    assert told > 40
    return wrong


@pytest.mark.parametrize("section", SECTIONS)
def test_jax(section: str) -> None:
    assert disagreements("jax", section, lambda x, y, cell: cell) == []


@pytest.mark.parametrize("section", SECTIONS)
def test_torch(section: str) -> None:
    # complex32, PyTorch's complex of float16, is no dtype of tracejit.
    def read(x: Any, y: Any, cell: Any) -> str:
        return "refused" if cell == "complex32" or isinstance(cell, dict) else cell

    assert disagreements("torch", section, read) == []


@pytest.mark.parametrize("section", SECTIONS[:-1])
def test_tensorflow(section: str) -> None:
    def read(x: Any, y: Any, cell: Any) -> str | None:
        if dt.bool_ in (getattr(x, "dtype", None), getattr(y, "dtype", None)):
            # AddV2 takes no bool; that a number does not become one is TensorFlow's conversion.
            return "refused" if "Cannot convert" in cell["message"] else None
        if isinstance(cell, dict):
            return None if cell["error"] == "SystemError" else "refused"
        return cell

    assert disagreements("tensorflow", section, read) == []


def strong_and_weak() -> st.SearchStrategy[tuple[list[str], list[str]]]:
    kinds = st.lists(st.sampled_from(["bool", "int", "float", "complex"]), max_size=3)
    return st.tuples(st.lists(st.sampled_from(DTYPES), min_size=1, max_size=5), kinds)


def decided(policy: str, dtypes: list[str], kinds: list[str]) -> str:
    tensors = [Operand(dt.BY_NAME[name], dt.BY_NAME[name].kind) for name in dtypes]
    return str(get(policy).decide((*tensors, *[Operand(None, kind) for kind in kinds])).dtype)


PYTHON = {"bool": True, "int": 3, "float": 2.5, "complex": 1j}


@given(strong_and_weak())
def test_numpy2_is_this_numpy(operands: tuple[list[str], list[str]]) -> None:
    dtypes, kinds = operands
    live = np.result_type(*map(np.dtype, dtypes), *[PYTHON[kind] for kind in kinds])
    assert decided("numpy2", dtypes, kinds) == live.name


@given(strong_and_weak())
def test_jax_is_this_jax(operands: tuple[list[str], list[str]]) -> None:
    jax = pytest.importorskip("jax")
    dtypes, kinds = operands
    with jax.enable_x64(True):
        live = jax.numpy.result_type(*map(np.dtype, dtypes), *[PYTHON[kind] for kind in kinds])
    assert decided("jax", dtypes, kinds) == live.name


def test_bfloat16_beside_numpys_dtypes_is_ml_dtypes() -> None:
    for name in DTYPES:
        try:
            live = np.promote_types(dt.bfloat16.numpy, name).name
        except TypeError:
            live = "refused"
        for policy in ("numpy1", "numpy2"):
            assert outcome(policy, dt.bfloat16, name) == outcome(policy, name, dt.bfloat16) == live


def test_torch_categories_beyond_pairs() -> None:
    policy = get("torch")

    def of(name: str, ndim: int) -> Operand:
        return Operand(dt.BY_NAME[name], dt.BY_NAME[name].kind, ndim=ndim)

    number = Operand(None, "float")
    assert policy.decide((of("int32", 1), of("int64", 0), number)).dtype is dt.float32
    assert policy.decide((of("int32", 1), of("float64", 0), number)).dtype is dt.float64
    assert policy.decide((of("float16", 1), of("float64", 0), number)).dtype is dt.float16
    assert policy.decide((of("int16", 0), of("int32", 0), Operand(None, "int"))).dtype is dt.int32
    assert policy.decide((of("bool", 2), of("int8", 0), Operand(None, "bool"))).dtype is dt.int8
