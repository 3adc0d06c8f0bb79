"""What every test runs under: JAX's leak check, the hypothesis profiles, and the sampling of long sweeps."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeVar

os.environ["JAX_CHECK_TRACER_LEAKS"] = "1"  # read when jax is first imported, so before anything imports it
os.environ["TRACEJIT_VERIFY"] = "1"  # the verifier runs before and after every pass

import hypothesis
import pytest

T = TypeVar("T")
DEFAULT_SEED = 20240229

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50, print_blob=True)
hypothesis.settings.register_profile("full", deadline=None, max_examples=1000, print_blob=True)

_full = False
_seed = DEFAULT_SEED


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tracejit")
    group.addoption("--full", action="store_true", help="run every case of the long sweeps, and more random examples")
    group.addoption(
        "--sweep-seed", type=int, default=DEFAULT_SEED, help="seed of the sample of the long sweeps (%(default)s)"
    )


def pytest_configure(config: pytest.Config) -> None:
    global _full, _seed
    _full, _seed = config.getoption("full"), config.getoption("sweep_seed")
    hypothesis.settings.load_profile("full" if _full else "ci")


def pytest_report_header(config: pytest.Config) -> str:
    if _full:
        return "sweeps: every case, random examples from a new seed"
    return f"sweeps: a sample (--sweep-seed {_seed}; --full for every case)"


def sample(cases: Iterable[T], n: int, seed: int | None = None) -> list[T]:
    """Take n of the cases, in their order, or all of them under --full; for the arguments of a parametrized sweep.

    The same seed (the session's, unless one is given) takes the same cases, in every worker and on every machine.
    """
    everything = list(cases)
    if _full or n >= len(everything):
        return everything
    chosen = random.Random(_seed if seed is None else seed).sample(range(len(everything)), n)
    return [everything[i] for i in sorted(chosen)]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep a sample of each test marked `sweep(keep)`: its argument says how many cases."""
    sweeps: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        marker = item.get_closest_marker("sweep")
        if marker is not None:
            keep = marker.kwargs.get("keep", marker.args[0] if marker.args else 50)
            sweeps[item.nodeid.partition("[")[0], keep].append(item)
    dropped = set()
    for (_, keep), cases in sweeps.items():
        dropped |= set(map(id, cases)) - set(map(id, sample(cases, keep)))
    if dropped:
        config.hook.pytest_deselected(items=[item for item in items if id(item) in dropped])
        items[:] = [item for item in items if id(item) not in dropped]


@pytest.fixture(autouse=True)
def _registries_as_they_were() -> Iterator[None]:
    """Forget the policies, operators and lowering rules that a test, or a page, declares: another may use the names."""
    from lowering.registry import RULES
    from tracejit import policies
    from tracejit.ops import CLASSES, RECORDS

    kept = [(registry, dict(registry)) for registry in (policies._known, RECORDS, CLASSES, RULES)]
    yield
    for registry, before in kept:
        if registry.keys() != before.keys():
            registry.clear()
            registry.update(before)
