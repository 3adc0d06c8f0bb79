"""The batches of the operators on rows: NumPy alone, so that MindSpore's environment can make them too."""

from __future__ import annotations

import numpy as np

ROWS, WIDTH, NAMED, BATCHES = 1_000_000, 64, 1024, 256


def index_batches(rows: int = ROWS) -> list[np.ndarray]:
    """Make batches of indices, in each of which a row is named twice on average."""
    random = np.random.default_rng(0)
    return [random.choice(random.integers(0, rows, NAMED // 2), NAMED).astype(np.int32) for _ in range(BATCHES)]


def gradient(*shape: int) -> np.ndarray:
    """Make a gradient."""
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def signs(*shape: int) -> np.ndarray:
    """Make a gradient of 1 and -1, by which a row can be multiplied and divided for ever."""
    return np.where(gradient(*shape) < 0, np.float32(-1), np.float32(1))
