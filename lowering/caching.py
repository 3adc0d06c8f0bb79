"""JAX's persistent compilation cache."""

from __future__ import annotations

import jax
from jax.experimental.compilation_cache import compilation_cache


def enable_compilation_cache(folder: str | None) -> None:
    """Keep every compiled program in a folder, and look there first; None: no longer."""
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    compilation_cache.reset_cache()  # JAX looks at the folder once, and may have done so
