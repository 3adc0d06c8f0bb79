"""Every dense optimizer of MindSpore's list, each fitting the same network to scikit-learn's digits.

All start from the same weights and see the same batches. Each is one operator that writes a weight and its state in
place, inside the one compiled step; their loss curves are drawn into one picture.

    python examples/optimizers.py [--epochs N] [--plot optimizers.png]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import mlp
import numpy as np
from plots import save_curves, sparkline
from tqdm import tqdm

import tracejit
from tracejit import Parameter, Tensor, nn, ops


class Rule(NamedTuple):
    """An operator's call for one weight: (optimizer, weight, its state, gradient); and what each state begins with."""

    update: Callable[[Any, Parameter, Sequence[Parameter], Tensor], Any]
    rate: float
    fills: tuple[float, ...] = ()


RULES = {
    "ApplyGradientDescent": Rule(lambda o, w, s, g: ops.apply_gradient_descent(w, o.learning_rate, g), 0.2),
    "ApplyMomentum": Rule(lambda o, w, s, g: ops.apply_momentum(w, *s, o.learning_rate, g, 0.9), 0.05, (0.0,)),
    "ApplyAdaMax": Rule(
        lambda o, w, s, g: ops.apply_ada_max(w, *s, o.beta1_power, o.learning_rate, 0.9, 0.999, 1e-7, g),
        0.003,
        (0.0, 0.0),
    ),
    "ApplyAdadelta": Rule(lambda o, w, s, g: ops.apply_adadelta(w, *s, o.learning_rate, 0.9, 1e-6, g), 1.0, (0.0, 0.0)),
    "ApplyAdagrad": Rule(lambda o, w, s, g: ops.apply_adagrad(w, *s, o.learning_rate, g), 0.05, (0.1,)),
    "ApplyAdagradV2": Rule(lambda o, w, s, g: ops.apply_adagrad_v2(w, *s, o.learning_rate, g, 1e-6), 0.03, (0.1,)),
    "ApplyAddSign": Rule(lambda o, w, s, g: ops.apply_add_sign(w, *s, o.learning_rate, 1.0, 0.9, 0.9, g), 0.1, (0.0,)),
    "ApplyPowerSign": Rule(
        lambda o, w, s, g: ops.apply_power_sign(w, *s, o.learning_rate, 1.0, 0.9, 0.9, g), 0.1, (0.0,)
    ),
    "ApplyProximalAdagrad": Rule(
        lambda o, w, s, g: ops.apply_proximal_adagrad(w, *s, o.learning_rate, 1e-4, 1e-4, g), 0.05, (0.1,)
    ),
    "ApplyProximalGradientDescent": Rule(
        lambda o, w, s, g: ops.apply_proximal_gradient_descent(w, o.learning_rate, 1e-4, 1e-4, g), 0.2
    ),
}


class ByRule(nn.Optimizer):
    """The optimizer of a rule."""

    def __init__(self, parameters: Iterable[Parameter], rule: Rule):
        super().__init__(rule.rate, parameters)
        self.rule, self.beta1_power = rule, Parameter(1.0, requires_grad=False)
        self.states = [
            [
                Parameter(ops.full(p.shape, fill, p.dtype), name=f"state{i}.{p.name}")
                for i, fill in enumerate(rule.fills)
            ]
            for p in self.parameters
        ]

    def update(self, gradients: Sequence[Tensor]) -> None:
        """Take a step."""
        self.beta1_power *= 0.9
        for parameter, state, gradient in zip(self.parameters, self.states, gradients, strict=True):
            self.rule.update(self, parameter, state, gradient)


def fit(rule: Rule, pixels: np.ndarray, labels: np.ndarray, epochs: int) -> tuple[nn.Cell, list[float]]:
    """Train a network from the same weights every time; returns it and the mean loss of each epoch."""
    nn.set_seed(0)
    net = mlp.MLP(tracejit.float32).set_train()
    step = mlp.make_step(net, ByRule(net.trainable_params(), rule))
    losses = [step(*batch) for batch in mlp.batches(pixels, labels, epochs)]
    return net, np.array([loss.item() for loss in losses]).reshape(epochs, -1).mean(axis=1).tolist()


def main() -> None:
    """Train with each optimizer, print how it went, draw the curves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--plot", type=Path, default=Path("optimizers.png"), help="the picture's file")
    arguments = parser.parse_args()

    pixels, test_pixels, labels, test_labels = mlp.load()
    curves = {}
    with tqdm(RULES.items(), unit="optimizer") as progress:
        for name, rule in progress:
            progress.set_postfix_str(name)
            net, curves[name] = fit(rule, pixels, labels, arguments.epochs)
            accuracy = mlp.accuracy(net, test_pixels, test_labels)
            progress.write(f"{name:29} {sparkline(curves[name], 30)} {curves[name][-1]:.4f}  test {accuracy:.1%}")
    save_curves(curves, arguments.plot, "The dense optimizers on digits", "epoch")
    print(f"drew {arguments.plot}")


if __name__ == "__main__":
    main()
