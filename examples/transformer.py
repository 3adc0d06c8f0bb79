"""A decoder-only transformer of about a million weights, trained on the Python standard library's own sources.

It reads characters and predicts the next one. The table of characters is float16 and the rest float32, so that the
first thing that happens to a character is a conversion by MindSpore's rules. Afterwards it writes a sample: one
compiled program, with a loop that draws from a seeded Generator.

    python examples/transformer.py [--steps N] [--plot loss.svg]
"""

from __future__ import annotations

import argparse
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from plots import save_curve, sparkline
from tqdm import tqdm

import tracejit
from tracejit import Generator, Parameter, Tensor, jit, nn, ops, scan, value_and_grad

#: What the text consists of: printable ASCII and the end of a line; everything else is left out.
CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))


class Size(NamedTuple):
    """The sizes of a model."""

    width: int = 128
    heads: int = 4
    layers: int = 5
    window: int = 64


class Attention(nn.Cell):
    """Causal self-attention with several heads."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.mix = nn.Dense(width, 3 * width)
        self.out = nn.Dense(width, width)

    def construct(self, x: Tensor) -> Tensor:
        """Let every place see itself and what came before."""
        batch, length, width = x.shape
        parts = self.mix(x).reshape((batch, length, 3, self.heads, width // self.heads))
        query, key, value = (parts[:, :, i].transpose((0, 2, 1, 3)) for i in range(3))
        scores = ops.matmul(query, key, transpose_b=True) / (width // self.heads) ** 0.5
        seen = np.tril(np.ones((length, length), bool))
        weights = ops.softmax(ops.select(Tensor(seen), scores, -1e9))
        return self.out(ops.matmul(weights, value).transpose((0, 2, 1, 3)).reshape((batch, length, width)))


class Block(nn.Cell):
    """Attention and a small network, each added to its input."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm([width]), nn.LayerNorm([width])
        self.attention = Attention(width, heads)
        self.network = nn.SequentialCell(nn.Dense(width, 4 * width, activation="gelu"), nn.Dense(4 * width, width))

    def construct(self, x: Tensor) -> Tensor:
        """Run the block."""
        x = x + self.attention(self.norm1(x))
        return x + self.network(self.norm2(x))


class Transformer(nn.Cell):
    """Characters in, logits of the next ones out."""

    def __init__(self, size: Size):
        super().__init__()
        self.size = size
        self.characters = nn.Embedding(len(CHARACTERS), size.width, dtype=tracejit.float16)
        self.places = Parameter(nn.initializer("normal", (size.window, size.width)))
        self.blocks = nn.CellList([Block(size.width, size.heads) for _ in range(size.layers)])
        self.norm = nn.LayerNorm([size.width])
        self.head = nn.Dense(size.width, len(CHARACTERS), has_bias=False)

    def construct(self, ids: Tensor) -> Tensor:
        """Return the logits for ids of (batch, length)."""
        x = self.characters(ids) + self.places[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def read_text(limit: int = 1_000_000) -> np.ndarray:
    """Return the first characters of the standard library's modules, as numbers."""
    number = {character: i for i, character in enumerate(CHARACTERS)}
    numbers: list[int] = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        numbers += [number[c] for c in path.read_text("utf-8", errors="ignore") if c in number]
        if len(numbers) >= limit:
            break
    return np.array(numbers[:limit], np.int32)


def make_step(net: Transformer, optimizer: nn.Optimizer) -> Callable[[Tensor], Tensor]:
    """Return the compiled training step on windows of text, each one character longer than the model's."""

    def loss_of(text: Tensor) -> Tensor:
        target = ops.one_hot(text[:, 1:], len(CHARACTERS), Tensor(1.0), Tensor(0.0))
        return -(ops.log_softmax(net(text[:, :-1])) * target).sum(axis=-1).mean()

    loss_and_gradients = value_and_grad(loss_of, None, params=optimizer.parameters)

    @jit
    def step(text: Tensor) -> Tensor:
        loss, gradients = loss_and_gradients(text)
        optimizer(gradients)
        return loss

    return step


def train(step: Callable[[Tensor], Tensor], text: np.ndarray, window: int, steps: int, batch: int) -> list[float]:
    """Train on windows from all over the text; returns the loss of each step."""
    random = np.random.default_rng(1)
    losses = []
    with tqdm(range(steps), unit="step") as progress:
        for _ in progress:
            starts = random.integers(0, len(text) - window - 1, batch)
            losses.append(step(Tensor(np.stack([text[s : s + window + 1] for s in starts]))).item())
            progress.set_postfix(loss=f"{losses[-1]:.3f}")
    return losses


def write(net: Transformer, beginning: str, length: int, temperature: float = 0.7, seed: int = 0) -> str:
    """Let the model go on from a beginning."""
    generator = Generator(seed)
    window = net.size.window
    start = [CHARACTERS.index(c) for c in beginning.rjust(window, "\n")[-window:]]

    @jit
    def draw(start: Tensor) -> Tensor:
        def one(seen: Tensor, _: None) -> tuple[Tensor, Tensor]:
            logits = net(seen.reshape((1, window)))[:, -1] / temperature
            drawn = ops.random_categorical(logits, 1, generator, tracejit.int32).reshape(1)
            return ops.concat((seen[1:], drawn)), drawn[0]

        return scan(one, start, None, length)[1]

    return beginning + "".join(CHARACTERS[i] for i in draw(Tensor(np.array(start, np.int32))).tolist())


def main() -> None:
    """Train, draw the loss curve, and write a sample."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--plot", type=Path, help="draw the loss curve into this file")
    arguments = parser.parse_args()

    nn.set_seed(0)
    net = Transformer(Size()).set_train()
    weights = sum(parameter.size for parameter in net.trainable_params())
    text = read_text()
    print(f"{weights:,} weights, {len(text):,} characters of text")
    step = make_step(net, nn.AdaMax(net.trainable_params(), learning_rate=2e-3, eps=1e-4))
    losses = train(step, text, net.size.window, arguments.steps, arguments.batch)
    print(f"\nloss {losses[0]:.3f} {sparkline(losses)} {losses[-1]:.3f}\n")
    print(write(net, "def ", 400))
    if arguments.plot:
        save_curve(losses, arguments.plot, "transformer on the standard library")


if __name__ == "__main__":
    main()
