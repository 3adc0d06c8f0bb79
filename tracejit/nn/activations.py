"""Activations as Cells, and by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit import ops
from tracejit.errors import AttributeTypeError, AttributeValueError
from tracejit.nn.cell import Cell
from tracejit.tensor import Tensor


class Identity(Cell):
    """What it is given."""

    def construct(self, x: Tensor) -> Tensor:
        """Return x."""
        return x


class ReLU(Cell):
    """The greater of x and 0."""

    def construct(self, x: Tensor) -> Tensor:
        """Compute the function."""
        return ops.relu(x)


class ReLU6(Cell):
    """x, cut off below 0 and above 6."""

    def construct(self, x: Tensor) -> Tensor:
        """Compute the function."""
        return ops.relu6(x)


class LeakyReLU(Cell):
    """x above 0, alpha * x below."""

    def __init__(self, alpha: float = 0.2):
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        """Compute the function."""
        return ops.leaky_relu(x, self.alpha)


class ELU(Cell):
    """x above 0, alpha * (exp(x) - 1) below."""

    def __init__(self, alpha: float = 1.0):
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Tensor) -> Tensor:
        """Compute the function."""
        return ops.elu(x, self.alpha)


class GELU(Cell):
    """x times the normal distribution's probability of less than x; by default approximated with tanh."""

    def __init__(self, approximate: bool = True):
        super().__init__()
        self.approximate = approximate

    def construct(self, x: Tensor) -> Tensor:
        """Compute the function."""
        return ops.gelu(x, "tanh" if self.approximate else "none")


class SiLU(Cell):
    """x * sigmoid(x)."""

    def construct(self, x: Tensor) -> Tensor:
        """Compute the function."""
        return ops.silu(x)


class Sigmoid(Cell):
    """1 / (1 + exp(-x))."""

    def construct(self, x: Tensor) -> Tensor:
        """Compute the function."""
        return ops.sigmoid(x)


class Tanh(Cell):
    """The hyperbolic tangent."""

    def construct(self, x: Tensor) -> Tensor:
        """Compute the function."""
        return ops.tanh(x)


class HSwish(Cell):
    """x * relu6(x + 3) / 6."""

    def construct(self, x: Tensor) -> Tensor:
        """Compute the function."""
        return ops.hardswish(x)


class HSigmoid(Cell):
    """relu6(x + 3) / 6."""

    def construct(self, x: Tensor) -> Tensor:
        """Compute the function."""
        return ops.hardsigmoid(x)


class Softmax(Cell):
    """exp(x), divided by its sum along an axis."""

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        """Compute the function."""
        return ops.softmax(x, self.axis)


class LogSoftmax(Cell):
    """The logarithm of the softmax."""

    def __init__(self, axis: int = -1):
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor) -> Tensor:
        """Compute the function."""
        return ops.log_softmax(x, self.axis)


_NAMED: dict[str, type[Cell]] = {
    "relu": ReLU,
    "relu6": ReLU6,
    "leakyrelu": LeakyReLU,
    "elu": ELU,
    "gelu": GELU,
    "silu": SiLU,
    "sigmoid": Sigmoid,
    "tanh": Tanh,
    "hswish": HSwish,
    "hsigmoid": HSigmoid,
    "softmax": Softmax,
    "logsoftmax": LogSoftmax,
}


def activation_named(activation: str | Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    """Return the activation of a name; a Cell or function is itself."""
    if activation is None or not isinstance(activation, str):
        if activation is not None and not callable(activation):
            raise AttributeTypeError(f"an activation is a name, a Cell or a function, got {activation!r}")
        return activation
    if activation.lower() not in _NAMED:
        raise AttributeValueError(f"no activation is named {activation!r}", fix=f"one of {', '.join(_NAMED)}")
    return _NAMED[activation.lower()]()
