"""The front's only door to `lowering`: it is imported, and JAX with it, when something is first computed.

Until then `import tracejit`, the shell and the dtype tables run without JAX.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

_on_load: list[Callable[[Any], None]] = []


class _Backend:
    """The names of `lowering`, which this object takes over at the first one asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        importlib.import_module("tracejit.dispatch")  # no Tensor exists before this, and from here it has its methods
        module = importlib.import_module("lowering")
        self.__dict__.update({key: getattr(module, key) for key in module.__all__})
        for callback in _on_load:
            callback(module)
        return getattr(module, name)


backend: Any = _Backend()


def when_loaded(callback: Callable[[Any], None]) -> Callable[[Any], None]:
    """Call a function with the `lowering` module once that has been imported."""
    _on_load.append(callback)
    return callback
