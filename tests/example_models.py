"""The example models at a size for tests: their training steps, predictions, and batches of real data."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tracejit
from tracejit import Parameter, Tensor, jit, nn

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


class Model(NamedTuple):
    """A training step, a prediction, the Parameters of both by name, and batches of arguments for each."""

    step: Any
    predict: Any
    parameters: dict[str, Parameter]
    batches: Callable[[int], list[tuple[np.ndarray, ...]]]
    #: How many leading arguments of the step are the prediction's.
    inputs: int = 1


def example(name: str) -> Any:
    """Import one of the examples, which import each other as programs do."""
    if str(EXAMPLES) not in sys.path:
        sys.path.append(str(EXAMPLES))
    return importlib.import_module(name)


def digits_batches(convert: Callable[[np.ndarray], np.ndarray]) -> Callable[[int], list[tuple[np.ndarray, ...]]]:
    """Return a function that gives shuffled batches of digits."""
    mlp = example("mlp")
    pixels, _, labels, _ = mlp.load()

    def batches(count: int, size: int = 64) -> list[tuple[np.ndarray, ...]]:
        chosen = np.random.default_rng(1).integers(0, len(pixels), (count, size))
        return [(convert(pixels[rows]), labels[rows]) for rows in chosen]

    return batches


def classifier(net: Any, rate: float, convert: Callable[[np.ndarray], np.ndarray]) -> Model:
    """Return a network with its optimizer."""
    optimizer = nn.Momentum(net.trainable_params(), learning_rate=rate, momentum=0.9)
    step = example("mlp").make_step(net, optimizer)
    predict = jit(lambda pixels: net.set_train(False)(pixels).argmax(axis=1))
    return Model(step, predict, named(net, optimizer), digits_batches(convert))


def named(net: Any, optimizer: Any) -> dict[str, Parameter]:
    """Return the Parameters of a network and its optimizer by name."""
    return {p.name: p for p in [*net.get_parameters(), *optimizer.get_parameters()]}


def make(name: str, dtype: Any = tracejit.float16) -> Model:
    """Make one of the models anew, from the same weights each time; dtype is that of one layer, the rest float32."""
    nn.set_seed(0)
    module = example(name)
    if name == "mlp":
        return classifier(module.MLP(dtype).set_train(), 0.1, lambda pixels: pixels)
    if name == "convnet":
        return classifier(module.ConvNet(dtype).set_train(), 0.05, module.as_images)
    net = module.Transformer(module.Size(width=32, heads=2, layers=1, window=16)).set_train()
    optimizer = nn.AdaMax(net.trainable_params(), learning_rate=2e-3, eps=1e-4)
    text = module.read_text(20_000)

    def batches(count: int) -> list[tuple[np.ndarray, ...]]:
        starts = np.random.default_rng(1).integers(0, len(text) - 17, (count, 8))
        return [(np.stack([text[s : s + 17] for s in rows]),) for rows in starts]

    predict = jit(lambda text: net(text[:, :-1]).argmax(axis=-1))
    return Model(module.make_step(net, optimizer), predict, named(net, optimizer), batches)


NAMES = ("mlp", "convnet", "transformer")


def tensors(batch: Sequence[np.ndarray]) -> list[Tensor]:
    """Return a batch as Tensors."""
    return [Tensor(array) for array in batch]
