"""Compares tracejit's `numpy1` policy with a running NumPy 1.26.4 on random calls.

Two steps, in two environments; the first needs NumPy 1.26.4 only (`pip install numpy==1.26.4`):

    python tests/oracles/numpy1_random.py write /tmp/rows.jsonl --count 100000 --seed 1
    python tests/oracles/numpy1_random.py compare /tmp/rows.jsonl
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.oracles.numpy_operands import DTYPES, build, outcome

CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
STRINGS = ("i1", "<i4", ">i2", "u2", "H", "f2", "d", "F", "c16", "?", "int64")
EDGES = [edge for bits in (0, 7, 8, 15, 16, 31, 32, 63, 64) for edge in (2**bits - 1, 2**bits, 2**bits + 1)]
FLOATS = ("0.0", "-0.0", "1.5", "64999.0", "65000.0", "65504.0", "-65001.0", "1e10", "3.4e38", "-3.5e38", "1e39", "inf",
          "nan")  # fmt: skip


def _integer(draw: random.Random, low: int, high: int) -> str:
    edge = draw.choice(EDGES) * draw.choice((1, -1))
    return str(min(max(edge if draw.random() < 0.7 else draw.randrange(-300, 300), low), high))


def _value(draw: random.Random, kind: str, dtype: str) -> dict[str, str]:
    if kind == "bool":
        return {"value": draw.choice(("True", "False"))}
    if kind == "int":
        low, high = (-(2**65), 2**65) if dtype == "int" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        return {"value": _integer(draw, int(low), int(high))}
    parts = [draw.choice(FLOATS) for _ in range(2)]
    if dtype in ("float16", "float32", "complex64"):  # the value has to be one of the dtype
        with np.errstate(over="ignore"):
            parts = [repr(float(np.array(part, {"complex64": "float32"}.get(dtype, dtype)))) for part in parts]
    return {"value": parts[0]} if kind == "float" else {"re": parts[0], "im": parts[1]}


def draw_operand(draw: random.Random) -> dict[str, Any]:
    """Return a random operand of `result_type`, as the recorded files write one."""
    form = draw.choice(
        ("array", "array", "array", "zero_d", "npscalar", "scalar", "scalar", "dtype", "dtypestr", "pytype")
    )
    dtype = draw.choice(DTYPES)
    kind = "int" if dtype.startswith("uint") else dtype.rstrip("0123456789")
    if form == "array":
        return {"array": dtype, "shape": draw.choice(([3], [1], [0], [2, 2]))}
    if form == "zero_d":
        return {"array": dtype, "shape": [], **_value(draw, kind, dtype)}
    if form == "npscalar":
        return {"npscalar": dtype, **_value(draw, kind, dtype)}
    python = draw.choice(("bool", "int", "int", "float", "complex"))
    if form == "scalar":
        return {"scalar": python, **_value(draw, python, python)}
    return {"dtype": {"dtype": dtype}, "dtypestr": {"dtypestr": draw.choice(STRINGS)}, "pytype": {"pytype": python}}[
        form
    ]


def draw_call(draw: random.Random) -> dict[str, Any]:
    """Return a random call: mostly of `result_type`, some of the other three functions."""
    function = draw.choices(("result_type", "can_cast", "min_scalar_type", "promote_types"), (85, 10, 3, 2))[0]
    if function == "result_type":
        return {"function": function, "operands": [draw_operand(draw) for _ in range(draw.randint(1, 6))]}
    if function == "promote_types":
        return {"function": function, "operands": [{"dtype": draw.choice(DTYPES)} for _ in range(2)]}
    operand = draw_operand(draw)
    if function == "can_cast":
        rest = {"casting": draw.choice(CASTINGS)}
        return {"function": function, "operands": [operand, {"dtype": draw.choice(DTYPES)}], "keywords": rest}
    while not ({"array", "npscalar", "scalar"} & set(operand)):
        operand = draw_operand(draw)
    return {"function": function, "operands": [operand]}


def write(path: Path, count: int, seed: int) -> None:
    """Write random calls and what this environment's NumPy answers."""
    if not np.__version__.startswith("1."):
        raise SystemExit(f"this is NumPy {np.__version__}; run `write` where NumPy 1.26.4 is installed")
    draw = random.Random(seed)
    with path.open("w") as file:
        for _ in range(count):
            call = draw_call(draw)
            operands = [build(operand) for operand in call["operands"]]
            call["result"] = outcome(getattr(np, call["function"]), *operands, **call.get("keywords", {}))
            file.write(json.dumps(call) + "\n")


def compare(path: Path) -> int:
    """Compare recorded answers with tracejit's; return how many differ."""
    from tracejit import queries

    policy = {"result_type": {"promotion": "numpy1"}, "promote_types": {"promotion": "numpy1"}}
    calls = [json.loads(line) for line in path.read_text().splitlines()]
    wrong = 0
    for call in calls:
        keywords = {**policy.get(call["function"], {}), **call.get("keywords", {})}
        operands = [build(operand) for operand in call["operands"]]
        answer = outcome(getattr(queries, call["function"]), *operands, **keywords)
        if answer != call["result"]:
            wrong += 1
            print(f"NumPy {call['result']}, tracejit {answer}: {json.dumps(call)}")
    print(f"{len(calls)} calls, {wrong} differ")
    return wrong


def main() -> None:
    """Run one of the two steps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("write", "compare"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.step == "write":
        write(options.path, options.count, options.seed)
    else:
        sys.exit(1 if compare(options.path) else 0)


if __name__ == "__main__":
    main()
