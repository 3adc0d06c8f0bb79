"""A recommender's embedding table, a million items by 64 numbers, trained by FusedSparseLazyAdam.

Each example has some items that a visitor looked at, one more item, and whether it was liked; the score is the product
of the item's row and the mean of the others'. Items are as popular as words are frequent (Zipf's law), so that a batch
names many of them several times: gradients of equal ids are added, and only the rows that are named are touched.

    python examples/embedding.py [--steps N] [--items N]
"""

from __future__ import annotations

import argparse
import functools
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from plots import sparkline
from tqdm import tqdm

from tracejit import Parameter, Tensor, jit, ops, value_and_grad

ITEMS, WIDTH, TASTES, SEEN, BATCH = 1_000_000, 64, 16, 8, 256
RATE, BETA1, BETA2, EPSILON = 0.003, 0.9, 0.999, 1e-8


def batches(count: int, items: int = ITEMS, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Make batches of ids (int32, the last column the item in question) and labels (float32).

    A visitor has one taste, an item's is its id modulo TASTES; what is liked is an item of the visitor's taste.
    """
    random = np.random.default_rng(seed)
    tastes = random.integers(0, TASTES, (count, BATCH, 1)).repeat(SEEN + 1, axis=2)
    liked = random.random((count, BATCH)) < 0.5
    tastes[..., -1] += np.where(liked, 0, random.integers(1, TASTES, (count, BATCH)))
    popularity = np.minimum(random.zipf(1.3, tastes.shape) - 1, items // TASTES - 1)
    ids = popularity * TASTES + tastes % TASTES
    return list(zip(ids.astype(np.int32), liked.astype(np.float32), strict=True))


def first_table(items: int = ITEMS) -> np.ndarray:
    """Make the table before training."""
    return 0.1 * np.random.default_rng(1).standard_normal((items, WIDTH), np.float32)


class Recommender:
    """The table, Adam's state, and the compiled training step."""

    def __init__(self, table: np.ndarray):
        self.table = Parameter(Tensor(table), name="table")
        self.mean = Parameter(ops.zeros(table.shape, self.table.dtype), name="mean")
        self.square = Parameter(ops.zeros(table.shape, self.table.dtype), name="square")
        self.powers = Parameter(1.0, name="beta1_power"), Parameter(1.0, name="beta2_power")

    def scores(self, rows: Tensor) -> Tensor:
        """Return the logits of rows of shape (batch, SEEN + 1, WIDTH)."""
        return (rows[:, :-1].mean(axis=1) * rows[:, -1]).sum(axis=1)

    @jit
    def step(self, ids: Tensor, liked: Tensor) -> Tensor:
        """Take a training step; returns the loss before it."""

        def loss_of(rows: Tensor) -> Tensor:
            scores = self.scores(rows)
            return (ops.softplus(scores) - liked * scores).mean()

        loss, gradient = value_and_grad(loss_of)(ops.gather(self.table, ids, 0))
        power1, power2 = self.powers
        power1 *= BETA1
        power2 *= BETA2
        ops.fused_sparse_lazy_adam(
            self.table, self.mean, self.square, power1, power2, RATE, BETA1, BETA2, EPSILON,
            gradient.reshape((-1, WIDTH)), ids.reshape((-1,)),
        )  # fmt: skip
        return loss

    @jit
    def predict(self, ids: Tensor) -> Tensor:
        """Say which items are liked."""
        return self.scores(ops.gather(self.table, ids, 0)) > 0


@functools.partial(jax.jit, donate_argnums=0)
def jax_step(state: tuple[jax.Array, ...], ids: jax.Array, liked: jax.Array) -> tuple[tuple[jax.Array, ...], jax.Array]:
    """Take the same step in hand-written JAX: distinct ids, sums of their gradients, Adam on those rows."""
    table, mean, square, power1, power2 = state

    def loss_of(rows: jax.Array) -> jax.Array:
        scores = (rows[:, :-1].mean(axis=1) * rows[:, -1]).sum(axis=1)
        return (jax.nn.softplus(scores) - liked * scores).mean()

    loss, gradient = jax.value_and_grad(loss_of)(table[ids])
    power1, power2 = power1 * BETA1, power2 * BETA2
    rows, slots = jnp.unique(ids.ravel(), size=ids.size, fill_value=len(table), return_inverse=True)
    gradient = jax.ops.segment_sum(gradient.reshape(-1, WIDTH), slots, ids.size)
    m = BETA1 * mean.at[rows].get(mode="clip") + (1 - BETA1) * gradient
    v = BETA2 * square.at[rows].get(mode="clip") + (1 - BETA2) * gradient**2
    new = table.at[rows].get(mode="clip") - RATE * jnp.sqrt(1 - power2) / (1 - power1) * m / (jnp.sqrt(v) + EPSILON)
    tables = [
        old.at[rows].set(value, mode="drop", unique_indices=True)
        for old, value in zip((table, mean, square), (new, m, v), strict=True)
    ]
    return (*tables, power1, power2), loss


def train(step: Callable[..., Tensor], data: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[float]:
    """Train on batches; returns the loss of each step."""
    losses = []
    with tqdm(data, desc="training", unit="step") as progress:
        for ids, liked in progress:
            losses.append(step(Tensor(ids), Tensor(liked)))
            if len(losses) % 50 == 0:
                progress.set_postfix(loss=f"{losses[-1].item():.3f}")
    return [loss.item() for loss in losses]


def accuracy(model: Recommender, data: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return the share of answers that are right."""
    return float(np.mean([model.predict(Tensor(ids)).asnumpy() == (liked > 0) for ids, liked in data]))


def compare_speed(
    model: Recommender, data: Sequence[tuple[np.ndarray, np.ndarray]], rounds: int = 20
) -> tuple[float, float, float]:
    """Return milliseconds per step of tracejit and of hand-written JAX, and the median ratio, taken in turns."""
    state: Any = (jnp.array(model.table.asnumpy()), *[jnp.zeros(model.table.shape, jnp.float32) for _ in range(2)])
    state = (*state, jnp.float32(1), jnp.float32(1))
    tensors = [(Tensor(ids), Tensor(liked)) for ids, liked in data]
    arrays = [(jnp.array(ids), jnp.array(liked)) for ids, liked in data]

    def ours() -> float:
        start = time.perf_counter()
        for batch in tensors:
            loss = model.step(*batch)
        loss.block_until_ready()
        model.table.block_until_ready()
        return (time.perf_counter() - start) / len(data)

    def theirs() -> float:
        nonlocal state
        start = time.perf_counter()
        for batch in arrays:
            state, loss = jax_step(state, *batch)
        jax.block_until_ready((state, loss))
        return (time.perf_counter() - start) / len(data)

    ours(), theirs()
    times = [(ours(), theirs()) if turn % 2 else (theirs(), ours())[::-1] for turn in range(rounds)]
    mine, hand = (statistics.median(side) * 1e3 for side in zip(*times, strict=True))
    return mine, hand, statistics.median(a / b for a, b in times)


def main() -> None:
    """Train, test on visitors not seen before, and compare the speed with hand-written JAX."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--items", type=int, default=ITEMS)
    arguments = parser.parse_args()

    data, unseen = batches(arguments.steps, arguments.items), batches(20, arguments.items, seed=2)
    model = Recommender(first_table(arguments.items))
    distinct = statistics.median(len(np.unique(ids)) for ids, _ in data)
    print(f"table of {arguments.items:,} x {WIDTH}; a batch names {distinct:g} rows {BATCH * (SEEN + 1):,} times")

    before, losses, after = accuracy(model, unseen), train(model.step, data), accuracy(model, unseen)
    print(f"loss {losses[0]:.3f} {sparkline(losses)} {losses[-1]:.3f}")
    print(f"right answers about new visitors: {before:.1%} before, {after:.1%} after")

    mine, hand, ratio = compare_speed(model, data[:20])
    print(f"step time {mine:.2f} ms; hand-written jax.jit {hand:.2f} ms; ratio {ratio:.2f} (median, taken in turns)")


if __name__ == "__main__":
    main()
