"""Initial values of weights, by MindSpore's names: drawn on the host, from one seeded stream or one of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes as dt
from tracejit.dtypes import as_dtype
from tracejit.errors import AttributeTypeError, AttributeValueError, ShapeError
from tracejit.tensor import Tensor, public

_stream = np.random.default_rng(0)


@public
def set_seed(seed: int) -> None:
    """Begin the stream of initial values anew, from a seed; it begins from 0.

    >>> from tracejit import nn
    >>> def first_weight():
    ...     nn.set_seed(3)
    ...     return nn.Dense(2, 1).weight.tolist()
    >>> first_weight() == first_weight()
    True
    """
    global _stream
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise AttributeTypeError(f"set_seed: the seed must be an int, got {seed!r} ({type(seed).__name__})")
    if seed < 0:
        raise AttributeValueError(f"set_seed: the seed must not be negative, got {seed}")
    _stream = np.random.default_rng(seed)


def next_seed() -> int:
    """Draw a seed for a stream of its own."""
    return int(_stream.integers(2**32))


class Initializer:
    """How initial values are made: `sample(random, shape)` gives them as float64.

    With a `seed` an initializer has a stream of its own, and gives the same values each time.
    """

    def __init__(self, *, seed: int | None = None):
        self.seed = seed

    def __call__(self, shape: Sequence[int]) -> np.ndarray:
        """Return values of a shape."""
        random = _stream if self.seed is None else np.random.default_rng(self.seed)
        return self.sample(random, tuple(shape))

    def sample(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draw values of a shape; every subclass defines it."""
        raise NotImplementedError


class Constant(Initializer):
    """One value everywhere."""

    def __init__(self, value: float):
        super().__init__()
        self.value = value

    def sample(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Return the value in each place."""
        return np.full(shape, self.value)


class Zero(Constant):
    """Zeros."""

    def __init__(self) -> None:
        super().__init__(0.0)


class One(Constant):
    """Ones."""

    def __init__(self) -> None:
        super().__init__(1.0)


class Uniform(Initializer):
    """Uniform between -scale and scale."""

    def __init__(self, scale: float = 0.07, *, seed: int | None = None):
        super().__init__(seed=seed)
        self.scale = scale

    def sample(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draw from the distribution."""
        return random.uniform(-self.scale, self.scale, shape)


class Normal(Initializer):
    """Normal with the standard deviation sigma."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, *, seed: int | None = None):
        super().__init__(seed=seed)
        self.sigma, self.mean = sigma, mean

    def sample(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draw from the distribution."""
        return random.normal(self.mean, self.sigma, shape)


class TruncatedNormal(Normal):
    """Normal, without values outside of mean + a * sigma to mean + b * sigma."""

    def __init__(
        self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0, *, seed: int | None = None
    ):
        super().__init__(sigma, mean, seed=seed)
        self.a, self.b = a, b

    def sample(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draw from the distribution, again where a value lies outside."""
        values = random.normal(0.0, 1.0, shape)
        while (outside := (values < self.a) | (values > self.b)).any():
            values[outside] = random.normal(0.0, 1.0, int(outside.sum()))
        return self.mean + self.sigma * values


class _He(Initializer):
    """He et al.: scaled to keep the variance through layers with a nonlinearity."""

    @public
    def __init__(
        self,
        negative_slope: float = 0,
        mode: str = "fan_in",
        nonlinearity: str = "leaky_relu",
        *,
        seed: int | None = None,
    ):
        super().__init__(seed=seed)
        if mode not in ("fan_in", "fan_out"):
            raise AttributeValueError(f"{type(self).__name__}: mode must be 'fan_in' or 'fan_out', got {mode!r}")
        self.mode, self.gain = mode, _gain(nonlinearity, negative_slope)

    def sigma(self, shape: tuple[int, ...]) -> float:
        """Return the standard deviation for weights of a shape."""
        return self.gain / math.sqrt(fans(shape)[self.mode == "fan_out"])


class HeUniform(_He):
    """Uniform of He's variance."""

    def sample(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draw from the distribution."""
        bound = math.sqrt(3) * self.sigma(shape)
        return random.uniform(-bound, bound, shape)


class HeNormal(_He):
    """Normal of He's variance."""

    def sample(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draw from the distribution."""
        return random.normal(0.0, self.sigma(shape), shape)


class _Xavier(Initializer):
    """Glorot and Bengio: scaled to keep the variance forward and backward."""

    def __init__(self, gain: float = 1, *, seed: int | None = None):
        super().__init__(seed=seed)
        self.gain = gain

    def sigma(self, shape: tuple[int, ...]) -> float:
        """Return the standard deviation for weights of a shape."""
        return self.gain * math.sqrt(2 / sum(fans(shape)))


class XavierUniform(_Xavier):
    """Uniform of Xavier's variance."""

    def sample(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draw from the distribution."""
        bound = math.sqrt(3) * self.sigma(shape)
        return random.uniform(-bound, bound, shape)


class XavierNormal(_Xavier):
    """Normal of Xavier's variance."""

    def sample(self, random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draw from the distribution."""
        return random.normal(0.0, self.sigma(shape), shape)


def _gain(nonlinearity: str, slope: float) -> float:
    gains = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2)}
    gains["leaky_relu"] = math.sqrt(2 / (1 + slope**2))
    if nonlinearity not in gains:
        raise AttributeValueError(f"nonlinearity must be one of {', '.join(gains)}, got {nonlinearity!r}")
    return gains[nonlinearity]


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """Return how many inputs and outputs a weight of a shape (outputs, inputs, ...) connects at one place."""
    if len(shape) < 2:
        raise ShapeError(
            f"weights of the shape {list(shape)} connect no inputs with outputs", fix="give two axes or more"
        )
    places = math.prod(shape[2:])
    return shape[1] * places, shape[0] * places


_NAMED: dict[str, type[Initializer]] = {
    "zeros": Zero,
    "zero": Zero,
    "ones": One,
    "one": One,
    "normal": Normal,
    "uniform": Uniform,
    "truncatednormal": TruncatedNormal,
    "he_uniform": HeUniform,
    "he_normal": HeNormal,
    "xavier_uniform": XavierUniform,
    "xavier_normal": XavierNormal,
}


@public
def initializer(init: Any, shape: int | Sequence[int] | None = None, dtype: Any = dt.float32) -> Tensor:
    """Return a Tensor of initial values.

    Args:
        init: a name such as "normal" or "xavier_uniform", a number, an Initializer, or a Tensor (taken as it is).
        shape: the shape.
        dtype: the dtype.

    >>> from tracejit import nn
    >>> nn.initializer("ones", [2, 2])
    Tensor([[1., 1.],
            [1., 1.]], dtype=float32)
    """
    wanted = (shape,) if isinstance(shape, int) else shape
    if isinstance(init, Tensor | np.ndarray):
        given = Tensor(init, dtype)
        if wanted is not None and given.shape != tuple(wanted):
            raise ShapeError(f"initial values of the shape {list(given.shape)} are given for {list(wanted)}")
        return given
    if wanted is None:
        raise AttributeTypeError("initializer: a shape is needed")
    return Tensor(_made(init)(wanted).astype(as_dtype(dtype).numpy))


def _made(init: Any) -> Initializer:
    if isinstance(init, str) and init.lower() in _NAMED:
        return _NAMED[init.lower()]()
    if isinstance(init, int | float) and not isinstance(init, bool):
        return Constant(init)
    if isinstance(init, Initializer):
        return init
    raise AttributeValueError(
        f"no initializer is {init!r}", fix=f"one of {', '.join(_NAMED)}, a number, or an Initializer"
    )
