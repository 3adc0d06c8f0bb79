"""Layers with weights, with MindSpore's names, arguments and defaults; each a few lines over the operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tracejit import dtypes as dt
from tracejit import ops
from tracejit.dtypes import as_dtype
from tracejit.errors import AttributeTypeError, AttributeValueError, ShapeError
from tracejit.nn.activations import activation_named
from tracejit.nn.cell import Cell
from tracejit.nn.initializers import HeUniform, Uniform, fans, initializer, next_seed
from tracejit.parameter import Generator, Parameter
from tracejit.tensor import Tensor, public

Pair = int | tuple[int, int]


def _weight(init: Any, shape: Sequence[int], dtype: Any, requires_grad: bool = True) -> Parameter:
    return Parameter(initializer(init, shape, dtype), requires_grad=requires_grad)


def _positive(layer: Cell, **sizes: Any) -> None:
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int):
            raise AttributeTypeError(f"{type(layer).__name__}: {name} must be an int, got {size!r}")
        if size < 1:
            raise AttributeValueError(f"{type(layer).__name__}: {name} must be positive, got {size}")


class Dense(Cell):
    """A fully connected layer: `x @ weight.T + bias`, then an activation.

    Args:
        in_channels: the length of the last axis of the input.
        out_channels: the length of the last axis of the result.
        weight_init: initial weights of the shape (out_channels, in_channels).
        bias_init: initial biases.
        has_bias: whether there are any.
        activation: a name such as "relu", or a Cell or function.
        dtype: the dtype of the Parameters.

    >>> from tracejit import Tensor, nn
    >>> nn.Dense(3, 1, weight_init="ones", bias_init=0.5)(Tensor([[1.0, 2.0, 3.0]]))
    Tensor([[6.5]], dtype=float32)
    """

    @public
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        activation: str | Callable[[Any], Any] | None = None,
        dtype: Any = dt.float32,
    ):
        super().__init__()
        _positive(self, in_channels=in_channels, out_channels=out_channels)
        self.in_channels, self.out_channels, self.has_bias = in_channels, out_channels, has_bias
        weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        bias_init = Uniform(1 / math.sqrt(in_channels)) if bias_init is None else bias_init
        self.weight = _weight(weight_init, (out_channels, in_channels), dtype)
        self.bias = _weight(bias_init, (out_channels,), dtype) if has_bias else None
        self.activation = activation_named(activation)

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer along the last axis."""
        result = ops.matmul(x, self.weight, transpose_b=True)
        if self.bias is not None:
            result = result + self.bias
        return result if self.activation is None else self.activation(result)

    def extend_repr(self) -> str:
        """Return what a printed layer shows of itself."""
        return f"input_channels={self.in_channels}, output_channels={self.out_channels}, has_bias={self.has_bias}"


class Conv2d(Cell):
    """A 2-d convolution of (batch, channels, height, width).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: an int, or height and width.
        stride: the same.
        pad_mode: "same", "valid" or "pad" (by `padding`).
        padding: an int, or two for height and width, under "pad".
        dilation: an int or two.
        group: groups of channels, each convolved on its own.
        has_bias: whether a bias is added.
        weight_init: initial weights of the shape (out_channels, in_channels / group, height, width).
        bias_init: initial biases.
        data_format: "NCHW" only.
        dtype: the dtype of the Parameters.

    >>> from tracejit import Tensor, nn, ops
    >>> nn.Conv2d(1, 2, 3, weight_init="ones")(ops.ones((1, 1, 2, 2), "float32"))[0, 0]
    Tensor([[4., 4.],
            [4., 4.]], dtype=float32)
    """

    @public
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        pad_mode: str = "same",
        padding: int | tuple[int, ...] = 0,
        dilation: Pair = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCHW",
        dtype: Any = dt.float32,
    ):
        super().__init__()
        _positive(self, in_channels=in_channels, out_channels=out_channels, group=group)
        if in_channels % group or out_channels % group:
            raise AttributeValueError(
                f"Conv2d: in_channels {in_channels} and out_channels {out_channels} must be divisible by group {group}"
            )
        _check_format(self, data_format)
        self.in_channels, self.out_channels, self.group = in_channels, out_channels, group
        self.kernel_size = kernel_size if isinstance(kernel_size, tuple) else (kernel_size, kernel_size)
        self.stride, self.pad_mode, self.padding, self.dilation = stride, pad_mode, padding, dilation
        shape = (out_channels, in_channels // group, *self.kernel_size)
        bias_init = Uniform(1 / math.sqrt(fans(shape)[0])) if bias_init is None else bias_init
        self.weight = _weight(HeUniform(math.sqrt(5)) if weight_init is None else weight_init, shape, dtype)
        self.bias = _weight(bias_init, (out_channels,), dtype) if has_bias else None

    def construct(self, x: Tensor) -> Tensor:
        """Convolve a batch of images."""
        return ops.conv2d(
            x, self.weight, self.bias, self.stride, self.pad_mode, self.padding, self.dilation, self.group
        )

    def extend_repr(self) -> str:
        """Return what a printed layer shows of itself."""
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, pad_mode={self.pad_mode}, group={self.group}, has_bias={self.bias is not None}"
        )


def _check_format(layer: Cell, data_format: str) -> None:
    if data_format != "NCHW":
        raise AttributeValueError(
            f"{type(layer).__name__}: data_format must be 'NCHW', got {data_format!r}",
            fix="transpose the input, as in ops.transpose(x, (0, 3, 1, 2))",
        )


class LayerNorm(Cell):
    """Normalization of each example over its last axes, then scale (gamma) and shift (beta).

    Args:
        normalized_shape: the lengths of the axes of gamma and beta.
        begin_norm_axis: the first axis to normalize over.
        begin_params_axis: the first axis of gamma and beta.
        gamma_init: initial scale.
        beta_init: initial shift.
        epsilon: added to the variance.
        dtype: the dtype of the Parameters.

    >>> from tracejit import Tensor, nn
    >>> nn.LayerNorm([2])(Tensor([[1.0, 3.0]])).round(3)
    Tensor([[-1.,  1.]], dtype=float32)
    """

    @public
    def __init__(
        self,
        normalized_shape: Sequence[int],
        begin_norm_axis: int = -1,
        begin_params_axis: int = -1,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        epsilon: float = 1e-7,
        dtype: Any = dt.float32,
    ):
        super().__init__()
        if not isinstance(normalized_shape, list | tuple):
            raise AttributeTypeError(f"LayerNorm: normalized_shape must be a list or tuple, got {normalized_shape!r}")
        self.normalized_shape = tuple(normalized_shape)
        self.begin_norm_axis, self.begin_params_axis, self.epsilon = begin_norm_axis, begin_params_axis, epsilon
        self.gamma = _weight(gamma_init, self.normalized_shape, dtype)
        self.beta = _weight(beta_init, self.normalized_shape, dtype)

    def construct(self, input_x: Tensor) -> Tensor:
        """Normalize."""
        normalize = ops.LayerNorm(self.begin_norm_axis, self.begin_params_axis, self.epsilon)
        return normalize(input_x, self.gamma, self.beta)[0]

    def extend_repr(self) -> str:
        """Return what a printed layer shows of itself."""
        return f"normalized_shape={list(self.normalized_shape)}, begin_norm_axis={self.begin_norm_axis}"


class _BatchNorm(Cell):
    ranks: tuple[int, ...]

    @public
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        data_format: str = "NCHW",
        dtype: Any = dt.float32,
    ):
        super().__init__()
        _positive(self, num_features=num_features)
        _check_format(self, data_format)
        if not 0 <= momentum <= 1:
            raise AttributeValueError(f"{type(self).__name__}: momentum must be from 0 to 1, got {momentum}")
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.use_batch_statistics = use_batch_statistics
        shape = (num_features,)
        self.moving_mean = _weight(moving_mean_init, shape, dtype, requires_grad=False)
        self.moving_variance = _weight(moving_var_init, shape, dtype, requires_grad=False)
        self.gamma = _weight(gamma_init, shape, dtype, requires_grad=affine)
        self.beta = _weight(beta_init, shape, dtype, requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        """Normalize by the batch's statistics when training (they move the running ones), else by the running ones."""
        if x.ndim not in self.ranks:
            ranks = " or ".join(map(str, self.ranks))
            raise ShapeError(f"{type(self).__name__} takes tensors of {ranks} axes", types={"x": x._type})
        training = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        return ops.batch_norm(
            x, self.moving_mean, self.moving_variance, self.gamma, self.beta, training, 1.0 - self.momentum, self.eps
        )

    def extend_repr(self) -> str:
        """Return what a printed layer shows of itself."""
        return f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}"


class BatchNorm1d(_BatchNorm):
    """Batch normalization of (batch, features) or (batch, features, length).

    Args:
        num_features: the length of the second axis.
        eps: added to the variance.
        momentum: how much of the running statistics stays at each step.
        affine: whether scale and shift are trained.
        gamma_init: initial scale.
        beta_init: initial shift.
        moving_mean_init: initial running mean.
        moving_var_init: initial running variance.
        use_batch_statistics: True: always those of the batch, False: never; None: when training.
        data_format: "NCHW" only.
        dtype: the dtype of the Parameters.

    >>> from tracejit import Tensor, nn
    >>> nn.BatchNorm1d(2).set_train()(Tensor([[1.0, 4.0], [3.0, 8.0]])).round(2)
    Tensor([[-1., -1.],
            [ 1.,  1.]], dtype=float32)
    """

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalization of (batch, channels, height, width); the arguments are those of BatchNorm1d.

    >>> from tracejit import nn, ops
    >>> nn.BatchNorm2d(3)(ops.ones((1, 3, 2, 2), "float32")).shape
    (1, 3, 2, 2)
    """

    ranks = (4,)


class GroupNorm(Cell):
    """Normalization of each example over groups of channels, then scale (gamma) and shift (beta) by channel.

    Args:
        num_groups: how many groups the channels form.
        num_channels: the length of the second axis.
        eps: added to the variance.
        affine: whether scale and shift are trained.
        gamma_init: initial scale.
        beta_init: initial shift.
        dtype: the dtype of the Parameters.

    >>> from tracejit import nn, ops
    >>> nn.GroupNorm(2, 4)(ops.ones((1, 4, 2, 2), "float32")).sum()
    Tensor(0., dtype=float32)
    """

    @public
    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: Any = dt.float32,
    ):
        super().__init__()
        _positive(self, num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            raise AttributeValueError(f"GroupNorm: {num_channels} channels cannot form {num_groups} groups")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.gamma = _weight(gamma_init, (num_channels,), dtype, requires_grad=affine)
        self.beta = _weight(beta_init, (num_channels,), dtype, requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        """Normalize."""
        return ops.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        """Return what a printed layer shows of itself."""
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"


class Dropout(Cell):
    """When training, makes elements 0 at random and scales the others up; else changes nothing.

    The random numbers are new at each call, in compiled programs too: the layer has a Generator.

    Args:
        keep_prob: the probability with which an element stays, where `p` is None.
        p: the probability with which an element becomes 0.
        dtype: float32, as in MindSpore, where it means nothing.
        seed: of the Generator; by default from the stream of `nn.set_seed`.

    >>> from tracejit import nn, ops
    >>> layer = nn.Dropout(p=0.5).set_train()
    >>> sorted(set(layer(ops.ones((100,), "float32")).tolist()))
    [0.0, 2.0]
    """

    @public
    def __init__(
        self, keep_prob: float = 0.5, p: float | None = None, dtype: Any = dt.float32, *, seed: int | None = None
    ):
        super().__init__()
        if as_dtype(dtype) is not dt.float32:
            raise AttributeValueError("Dropout: dtype means nothing; the result has the input's", fix="leave it out")
        if p is None and not 0 < keep_prob <= 1:
            raise AttributeValueError(f"Dropout: keep_prob must be above 0 and not above 1, got {keep_prob}")
        if p is not None and not 0 <= p < 1:
            raise AttributeValueError(f"Dropout: p must be from 0 to below 1, got {p}")
        self.p = float(p) if p is not None else 1.0 - keep_prob
        self.generator = Generator(next_seed() if seed is None else seed, name=None)

    def construct(self, x: Tensor) -> Tensor:
        """Drop elements when training."""
        return ops.dropout(x, self.p, True, self.generator) if self.training and self.p > 0 else x

    def extend_repr(self) -> str:
        """Return what a printed layer shows of itself."""
        return f"p={self.p}"


class Embedding(Cell):
    """A table of vectors, looked up by number.

    Args:
        vocab_size: how many vectors.
        embedding_size: their length.
        use_one_hot: look up by a product with one-hot vectors.
        embedding_table: initial values.
        dtype: the dtype of the table.
        padding_idx: the number whose vector begins as zeros.

    >>> from tracejit import Tensor, nn
    >>> nn.Embedding(3, 2, embedding_table=Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))(Tensor([2, 0]))
    Tensor([[5., 6.],
            [1., 2.]], dtype=float32)
    """

    @public
    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: Any = "normal",
        dtype: Any = dt.float32,
        padding_idx: int | None = None,
    ):
        super().__init__()
        _positive(self, vocab_size=vocab_size, embedding_size=embedding_size)
        self.vocab_size, self.embedding_size, self.use_one_hot = vocab_size, embedding_size, use_one_hot
        values = initializer(embedding_table, (vocab_size, embedding_size), dtype).asnumpy()
        if padding_idx is not None:
            if not 0 <= padding_idx < vocab_size:
                raise AttributeValueError(
                    f"Embedding: padding_idx must be from 0 to {vocab_size - 1}, got {padding_idx}"
                )
            values[padding_idx] = 0
        self.padding_idx = padding_idx
        self.embedding_table = Parameter(values)

    def construct(self, ids: Tensor) -> Tensor:
        """Return the vectors of some numbers."""
        if not self.use_one_hot:
            return ops.gather(self.embedding_table, ids, 0)
        dtype = self.embedding_table.dtype
        chosen = ops.one_hot(ids, self.vocab_size, Tensor(1, dtype), Tensor(0, dtype))
        return ops.matmul(chosen, self.embedding_table)

    def extend_repr(self) -> str:
        """Return what a printed layer shows of itself."""
        return f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, padding_idx={self.padding_idx}"


class Flatten(Cell):
    """The axes from start_dim to end_dim as one.

    >>> from tracejit import nn, ops
    >>> nn.Flatten()(ops.zeros((2, 3, 4), "float32")).shape
    (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Tensor) -> Tensor:
        """Flatten."""
        return ops.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class MaxPool2d(Cell):
    """The maximum of each window of (batch, channels, height, width).

    >>> from tracejit import Tensor, nn
    >>> nn.MaxPool2d(2, 2)(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]))
    Tensor([[[[4.]]]], dtype=float32)
    """

    def __init__(self, kernel_size: Pair = 1, stride: Pair = 1, pad_mode: str = "valid"):
        super().__init__()
        self.kernel_size, self.stride, self.pad_mode = kernel_size, stride, pad_mode

    def construct(self, x: Tensor) -> Tensor:
        """Pool."""
        return ops.MaxPool(self.kernel_size, self.stride, self.pad_mode)(x)


class AvgPool2d(Cell):
    """The mean of each window of (batch, channels, height, width).

    >>> from tracejit import Tensor, nn
    >>> nn.AvgPool2d(2, 2)(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]))
    Tensor([[[[2.5]]]], dtype=float32)
    """

    def __init__(self, kernel_size: Pair = 1, stride: Pair = 1, pad_mode: str = "valid"):
        super().__init__()
        self.kernel_size, self.stride, self.pad_mode = kernel_size, stride, pad_mode

    def construct(self, x: Tensor) -> Tensor:
        """Pool."""
        return ops.AvgPool(self.kernel_size, self.stride, self.pad_mode)(x)
