"""More than one device: eight in one process, two processes, and what the profiler shows of them."""

from __future__ import annotations

import collections
import json
import os
import re
import socket
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tracejit
from tests.example_models import NAMES, make
from tracejit import Parameter, Tensor, jit, ops

ROOT = Path(__file__).resolve().parent.parent
EIGHT = "--xla_force_host_platform_device_count=8"


def run(*command: Any, **environment: str) -> str:
    """Run Python with JAX's leak check off, which would double the time of everything, and give what it printed."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_CHECK_TRACER_LEAKS": "0", **environment}
    whole = [sys.executable, *map(str, command)]
    done = subprocess.run(whole, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_on_eight_devices():
    """All of tests/eight_devices.py, in a process that has them."""
    told = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/eight_devices.py", XLA_FLAGS=EIGHT)
    assert re.search(r"\d+ passed", told) and "skipped" not in told, told


WORKER = """
import json, sys, jax
number, port, name = int(sys.argv[1]), sys.argv[2], sys.argv[3]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"localhost:{port}", 2, number)
from jax.sharding import NamedSharding, PartitionSpec as P
from tests.example_models import make
import numpy as np, tracejit
from tracejit import Tensor

mesh = jax.make_mesh((2,), ("data",))
model, rows = make(name, "float32"), NamedSharding(mesh, P("data"))
for p in model.parameters.values():
    p.to(NamedSharding(mesh, P()))

def local(array):  # as a loader does that reads its own half of each batch
    half = np.array_split(array, 2)[number]
    return Tensor(jax.make_array_from_process_local_data(rows, half))

losses = [model.step(*map(local, batch)) for batch in model.batches(50)]
assert model.step.cache_info().traces == 1
tracejit.save_parameters(f"{sys.argv[4]}/{number}", model.parameters)
some = next(p for p in model.parameters.values() if p.ndim == 2 and p.shape[0] % 2 == 0).to(rows)
try:
    some.asnumpy(), tracejit.save_parameters(f"{sys.argv[4]}/x", [some])
except tracejit.errors.PlacementError as error:
    told = str(error)
print(json.dumps([[loss.item() for loss in losses], told]))
"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return listener.getsockname()[1]


@pytest.mark.parametrize("name", ["mlp", "transformer"])
def test_two_processes_train_one_model(name: str, tmp_path: Path):
    port = free_port()
    model = make(name, "float32")
    with ThreadPoolExecutor() as pool:
        workers = [pool.submit(run, "-c", WORKER, i, port, name, tmp_path) for i in range(2)]
        alone = [model.step(*map(Tensor, batch)) for batch in model.batches(50)]
        told = [json.loads(worker.result().splitlines()[-1]) for worker in workers]
    assert told[0] == told[1]
    np.testing.assert_allclose(told[0][0], [loss.item() for loss in alone], rtol=1e-4)
    assert "lies in parts on several processes" in told[0][1]
    fresh = make(name, "float32")
    tracejit.load_parameters(tmp_path / "0", fresh.parameters)
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()
    for key, parameter in model.parameters.items():
        np.testing.assert_allclose(fresh.parameters[key].asnumpy(), parameter.asnumpy(), rtol=1e-2, atol=1e-3)


# The persistent cache

CACHED = """
import collections, sys, jax
events = collections.Counter()
jax.monitoring.register_event_listener(lambda event, **_: events.update([event.rpartition("/")[2]]))
import tracejit
from tests.example_models import make, tensors
tracejit.enable_compilation_cache(sys.argv[1])
model = make(sys.argv[2])
batch = tensors(model.batches(1)[0])
events.clear()
loss = model.step(*batch).item()
print(events["cache_hits"], events["cache_misses"], events["compile_requests_use_cache"], loss)
"""


@pytest.mark.parametrize("name", NAMES)
def test_a_second_process_compiles_nothing(name: str, tmp_path: Path):
    (_, misses, *_, first), (hits, compiled, requests, second) = (
        run("-c", CACHED, tmp_path / "cache", name).split() for _ in range(2)
    )
    assert int(misses) > 0 == int(compiled)
    assert int(hits) == int(requests) > 0
    assert first == second


def test_the_cache_does_not_know_lines(tmp_path: Path):
    code = textwrap.dedent("""
    import collections, sys, jax
    events = collections.Counter()
    jax.monitoring.register_event_listener(lambda event, **_: events.update([event.rpartition("/")[2]]))
    import tracejit
    tracejit.enable_compilation_cache(sys.argv[1])
    tracejit.jit(lambda x: x * 2 + x)(tracejit.Tensor([1.0]))
    print(events["cache_misses"])
    """)
    told = [run("-c", "\n" * moved + code, tmp_path / "cache") for moved in (0, 7)]
    assert int(told[0]) > 0 == int(told[1])


def test_a_folder_that_cannot_be(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        tracejit.enable_compilation_cache(tmp_path / "file")


# What the profiler shows

w = Parameter(np.ones((4, 4), np.float32), name="w")


def traced_lines(x: Tensor) -> Tensor:
    y = x @ w  # the matrix product
    y = tracejit.fori_loop(0, 3, lambda i, z: ops.exp(z), y)  # inside the loop
    ops.assign_sub(w, tracejit.grad(lambda v: (ops.sigmoid(v) * v).sum())(y))  # inside the gradient
    return y


def line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


def names_in(hlo: str) -> set[str]:
    """Return the operators with lines that a program's metadata names."""
    return set(re.findall(r"\w+\[test_devices\.py:\d+\]", hlo))


def test_programs_name_operators_and_the_users_lines():
    compiled = jit(traced_lines).trace(Tensor(np.ones((4, 4), np.float32))).lower().compile()
    product, loop, gradient = (
        line_of(f"# {text}") for text in ("the matrix product", "inside the loop", "inside the gradient")
    )
    found = names_in(compiled.as_text())
    assert f"matmul[test_devices.py:{product}]" in found
    assert f"exp[test_devices.py:{loop}]" in found
    assert any(name.endswith(f":{gradient}]") for name in found)


def test_the_profilers_trace_names_them(tmp_path: Path):
    step, x = jit(traced_lines), Tensor(np.ones((4, 4), np.float32))
    step(x)
    compiled = step.trace(x).lower().compile()
    with jax.profiler.trace(tmp_path):
        compiled(x).block_until_ready()
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*.xplane.pb"))
    assert f"matmul[test_devices.py:{line_of('# the matrix product')}]".encode() in written


def test_names_can_be_left_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys.modules["lowering.emit"], "NAMED_SCOPES", False)
    compiled = jit(lambda x: ops.exp(x) * 2).trace(Tensor([1.0])).lower().compile()
    assert names_in(compiled.as_text()) == set()


def test_counting_is_possible():
    """The events that the tests of the cache count are there."""
    events: collections.Counter[str] = collections.Counter()
    jax.monitoring.register_event_duration_secs_listener(lambda event, seconds, **_: events.update([event]))
    jit(lambda x: x * 3 + 1)(Tensor([1.0]))
    assert any("backend_compile" in event for event in events)
