"""Optimizers as Cells: lists of the Apply* operators, with their state and the learning rate as Parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tracejit import ops
from tracejit.errors import AttributeValueError, ParameterError
from tracejit.nn.cell import Cell, ParameterTuple
from tracejit.parameter import Parameter
from tracejit.tensor import Tensor, public


class Optimizer(Cell):
    """Updates Parameters, given their gradients in the same order.

    Setting `learning_rate` to a number writes it for all later steps, those of jitted functions too.
    """

    @public
    def __init__(self, learning_rate: float, parameters: Iterable[Parameter]):
        super().__init__()
        self.parameters = ParameterTuple(parameters)
        if not self.parameters:
            raise AttributeValueError(f"{type(self).__name__} is given no Parameters")
        self.learning_rate = Parameter(float(learning_rate), requires_grad=False)

    def construct(self, gradients: Sequence[Tensor]) -> ParameterTuple:
        """Take a step; returns the Parameters."""
        count = len(self.parameters)
        if len(gradients) != count:
            raise ParameterError(
                f"{type(self).__name__} updates {count} Parameters and was given {len(gradients)} gradients",
                fix="differentiate by the same Parameters: value_and_grad(f, None, params=optimizer.parameters)",
            )
        self.update(gradients)
        return self.parameters

    def update(self, gradients: Sequence[Tensor]) -> None:
        """Take a step; every subclass defines it."""
        raise NotImplementedError


class SGD(Optimizer):
    """Gradient descent: ApplyGradientDescent."""

    def __init__(self, params: Iterable[Parameter], learning_rate: float = 0.1):
        super().__init__(learning_rate, params)

    def update(self, gradients: Sequence[Tensor]) -> None:
        """Take a step."""
        for parameter, gradient in zip(self.parameters, gradients):
            ops.apply_gradient_descent(parameter, self.learning_rate, gradient)


class Momentum(Optimizer):
    """Gradient descent with momentum: ApplyMomentum.

    >>> import tracejit
    >>> from tracejit import nn
    >>> layer = nn.Dense(2, 1, weight_init="ones", has_bias=False)
    >>> optimizer = nn.Momentum(layer.trainable_params(), learning_rate=0.5, momentum=0.9)
    >>> loss = tracejit.value_and_grad(lambda x: layer(x).sum(), None, params=optimizer.parameters)
    >>> value, gradients = loss(tracejit.Tensor([[1.0, 2.0]]))
    >>> optimizer(gradients)
    (Parameter([[0.5, 0. ]], dtype=float32, name='weight'),)
    """

    def __init__(
        self, params: Iterable[Parameter], learning_rate: float, momentum: float, *, use_nesterov: bool = False
    ):
        super().__init__(learning_rate, params)
        self.momentum, self.use_nesterov = float(momentum), use_nesterov
        self.moments = self.parameters.clone("moments", "zeros")

    def update(self, gradients: Sequence[Tensor]) -> None:
        """Take a step."""
        for parameter, moment, gradient in zip(self.parameters, self.moments, gradients):
            ops.apply_momentum(
                parameter, moment, self.learning_rate, gradient, self.momentum, use_nesterov=self.use_nesterov
            )


class Adagrad(Optimizer):
    """Adagrad: ApplyAdagradV2."""

    def __init__(
        self, params: Iterable[Parameter], accum: float = 0.1, learning_rate: float = 0.001, epsilon: float = 1e-7
    ):
        super().__init__(learning_rate, params)
        self.epsilon = float(epsilon)
        self.accum = ParameterTuple(
            [Parameter(ops.full(p.shape, accum, p.dtype), f"accum.{p.name}") for p in self.parameters]
        )

    def update(self, gradients: Sequence[Tensor]) -> None:
        """Take a step."""
        for parameter, accum, gradient in zip(self.parameters, self.accum, gradients):
            ops.apply_adagrad_v2(parameter, accum, self.learning_rate, gradient, self.epsilon)


class AdaMax(Optimizer):
    """AdaMax, Adam's variant with the largest gradient: ApplyAdaMax."""

    def __init__(
        self,
        params: Iterable[Parameter],
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
    ):
        super().__init__(learning_rate, params)
        self.beta1, self.beta2, self.eps = float(beta1), float(beta2), float(eps)
        self.moment1 = self.parameters.clone("moment1", "zeros")
        self.moment2 = self.parameters.clone("moment2", "zeros")
        self.beta1_power = Parameter(1.0, requires_grad=False)

    def update(self, gradients: Sequence[Tensor]) -> None:
        """Take a step."""
        self.beta1_power *= self.beta1
        for parameter, m, v, gradient in zip(self.parameters, self.moment1, self.moment2, gradients):
            ops.apply_ada_max(
                parameter, m, v, self.beta1_power, self.learning_rate, self.beta1, self.beta2, self.eps, gradient
            )
