"""MindSpore's operators, as functions and as classes. Made from the Op records by docs/generate_stubs.py."""

from typing import Any

from tracejit.dispatch import Primitive
from tracejit.ops.record import CLASSES as CLASSES
from tracejit.ops.record import RECORDS as RECORDS
from tracejit.ops.record import Op as Op
from tracejit.parameter import Parameter
from tracejit.tensor import Tensor

__all__: list[str]

def sin(input: Any) -> Tensor:
    """The sine."""

def cos(input: Any) -> Tensor:
    """The cosine."""

def tan(input: Any) -> Tensor:
    """The tangent."""

def asin(input: Any) -> Tensor:
    """The inverse sine."""

def acos(input: Any) -> Tensor:
    """The inverse cosine."""

def atan(input: Any) -> Tensor:
    """The inverse tangent."""

def sinh(input: Any) -> Tensor:
    """The hyperbolic sine."""

def cosh(input: Any) -> Tensor:
    """The hyperbolic cosine."""

def asinh(input: Any) -> Tensor:
    """The inverse hyperbolic sine."""

def acosh(input: Any) -> Tensor:
    """The inverse hyperbolic cosine."""

def atanh(input: Any) -> Tensor:
    """The inverse hyperbolic tangent."""

def expm1(input: Any) -> Tensor:
    """e to the power x, minus 1, exact near 0."""

def log1p(input: Any) -> Tensor:
    """The natural logarithm of 1 + x, exact near 0."""

def log2(input: Any) -> Tensor:
    """The logarithm to base 2."""

def log10(input: Any) -> Tensor:
    """The logarithm to base 10."""

def rsqrt(input: Any) -> Tensor:
    """1 / sqrt(x)."""

def square(input: Any) -> Tensor:
    """x * x; integers wrap."""

def erf(input: Any) -> Tensor:
    """The error function."""

def erfc(input: Any) -> Tensor:
    """1 minus the error function, exact far from 0."""

def erfinv(input: Any) -> Tensor:
    """The inverse of the error function."""

def floor(input: Any) -> Tensor:
    """The greatest whole number that is not above x."""

def ceil(input: Any) -> Tensor:
    """The least whole number that is not below x."""

def trunc(input: Any) -> Tensor:
    """x without its fraction."""

def sign(input: Any) -> Tensor:
    """-1, 0 or 1; of a complex number, the number of its direction."""

def reciprocal(input: Any) -> Tensor:
    """1 / x; integers and bool are taken to float32 first."""

def isnan(input: Any) -> Tensor:
    """Whether x is NaN."""

def isinf(input: Any) -> Tensor:
    """Whether x is infinite."""

def isfinite(input: Any) -> Tensor:
    """Whether x is neither infinite nor NaN."""

def round(input: Any, decimals: Any = ...) -> Tensor:
    """The nearest multiple of 10 to the power -decimals; halves go to the even one. Integers are unchanged."""

def clamp(input: Any, min: Any = ..., max: Any = ...) -> Tensor:
    """Values below the lower limit become that, then values above the upper one become this."""

def clip(input: Any, min: Any = ..., max: Any = ...) -> Tensor:
    """Values below the lower limit become that, then values above the upper one become this."""

def clip_by_value(x: Any, clip_value_min: Any = ..., clip_value_max: Any = ...) -> Tensor:
    """Values below the lower limit become that, then values above the upper one become this."""

def lerp(input: Any, end: Any, weight: Any) -> Tensor:
    """input + weight * (end - input); shapes broadcast."""

def softmax(input: Any, axis: Any = ..., dtype: Any = ...) -> Tensor:
    """exp(x) divided by its sum along an axis (or several); with a dtype, x is converted to that first."""

def log_softmax(logits: Any, axis: Any = ...) -> Tensor:
    """The logarithm of the softmax along an axis."""

def layer_norm(input: Any, normalized_shape: Any, weight: Any = ..., bias: Any = ..., eps: Any = ...) -> Tensor:
    """Subtract the mean over the last axes and divide by the deviation; then scale by weight and add bias."""

def layer_norm_with_moments(input_x: Any, gamma: Any, beta: Any, begin_norm_axis: Any = ..., begin_params_axis: Any = ..., epsilon: Any = ...) -> tuple[Tensor, ...]:
    """Layer normalization over the axes from begin_norm_axis on; gives the result, and the means and variances."""

def batch_norm(input_x: Any, running_mean: Any, running_var: Any, weight: Any = ..., bias: Any = ..., training: Any = ..., momentum: Any = ..., eps: Any = ...) -> Any:
    """Normalize each channel (the second axis): by the running statistics, or when training by those of the batch, which then move the running ones, Parameters, by the share momentum."""

def group_norm(input: Any, num_groups: Any, weight: Any = ..., bias: Any = ..., eps: Any = ...) -> Tensor:
    """Normalize each sample over groups of channels (the second axis); then scale and shift each channel."""

def instance_norm(input: Any, weight: Any = ..., bias: Any = ..., eps: Any = ...) -> Tensor:
    """Normalize each channel of each sample over the axes behind; then scale and shift each channel."""

def dropout(input: Any, p: Any = ..., training: Any = ..., key: Any = ...) -> Tensor:
    """When training, make each element 0 with probability p and divide the others by 1 - p; else change nothing."""

def relu6(x: Any) -> Tensor:
    """x where 0 < x < 6, else the nearer of 0 and 6."""

def leaky_relu(input: Any, alpha: Any = ...) -> Tensor:
    """x where x > 0, else alpha * x."""

def elu(input_x: Any, alpha: Any = ...) -> Tensor:
    """x where x > 0, else alpha * (exp(x) - 1)."""

def celu(x: Any, alpha: Any = ...) -> Tensor:
    """x where x > 0, else alpha * (exp(x / alpha) - 1)."""

def selu(input_x: Any) -> Tensor:
    """The elu with the scale and alpha that keep mean 0 and variance 1."""

def gelu(input: Any, approximate: Any = ...) -> Tensor:
    """x times the normal distribution's probability below x; approximate='tanh' computes it with tanh."""

def gelu_tanh(input: Any) -> Tensor:
    """The gelu computed with tanh, as MindSpore's class has it."""

def silu(input: Any) -> Tensor:
    """x * sigmoid(x)."""

def mish(x: Any) -> Tensor:
    """x * tanh(log(1 + exp(x)))."""

def softplus(input: Any, beta: Any = ..., threshold: Any = ...) -> Tensor:
    """log(1 + exp(beta * x)) / beta, and x where beta * x > threshold."""

def softsign(x: Any) -> Tensor:
    """x / (1 + |x|)."""

def hardswish(input: Any) -> Tensor:
    """x * relu6(x + 3) / 6."""

def hardsigmoid(input: Any) -> Tensor:
    """relu6(x + 3) / 6."""

def hardtanh(input: Any, min_val: Any = ..., max_val: Any = ...) -> Tensor:
    """x between min_val and max_val, else the nearer of them."""

def hardshrink(input: Any, lambd: Any = ...) -> Tensor:
    """x where |x| > lambd, else 0."""

def softshrink(input: Any, lambd: Any = ...) -> Tensor:
    """x brought nearer to 0 by lambd, and 0 where it is that near."""

def logsigmoid(input: Any) -> Tensor:
    """log(sigmoid(x)), without overflow."""

def prelu(input: Any, weight: Any) -> Tensor:
    """x where x > 0, else x times the weight of its channel."""

def glu(x: Any, axis: Any = ...) -> Tensor:
    """The first half along an axis times the sigmoid of the second."""

def add(input_x: Any, input_y: Any) -> Tensor:
    """x + y; integers wrap."""

def sub(input_x: Any, input_y: Any) -> Tensor:
    """x - y; integers wrap."""

def mul(input_x: Any, input_y: Any) -> Tensor:
    """x * y; integers wrap."""

def div(input_x: Any, input_y: Any) -> Tensor:
    """x / y. On integers r1.1 truncates toward zero and keeps the dtype; 2.x divides in float32."""

def real_div(input_x: Any, input_y: Any) -> Tensor:
    """x / y; integers truncate toward zero."""

def div_no_nan(input_x: Any, input_y: Any) -> Tensor:
    """x / y, and 0 wherever y is 0."""

def floor_div(input_x: Any, input_y: Any) -> Tensor:
    """The real quotient x / y, rounded down."""

def truncate_div(input_x: Any, input_y: Any) -> Tensor:
    """x / y, truncated toward zero."""

def floor_mod(input_x: Any, input_y: Any) -> Tensor:
    """x - floor(x / y) * y, with the real quotient and the sign of y; NaN for an infinite y."""

def mod(input_x: Any, input_y: Any) -> Tensor:
    """x - trunc(x / y) * y, with the real quotient and the sign of x; 0 modulo 0 is 0; NaN for an infinite y."""

def truncate_mod(input_x: Any, input_y: Any) -> Tensor:
    """C's fmod(x, y), with the sign of x."""

def pow(input_x: Any, input_y: Any) -> Tensor:
    """x to the power y. Integers are exact modulo 2**bits; a negative exponent gives 0, or ±1 for the base ±1."""

def maximum(input_x: Any, input_y: Any) -> Tensor:
    """x if x > y, else y (so a NaN in y is kept, one in x is not)."""

def minimum(input_x: Any, input_y: Any) -> Tensor:
    """x if x < y, else y (so a NaN in y is kept, one in x is not)."""

def squared_difference(input_x: Any, input_y: Any) -> Tensor:
    """(x - y) squared."""

def atan2(input_x: Any, input_y: Any) -> Tensor:
    """The angle of the point (y, x) in (-pi, pi]: x is the ordinate, y the abscissa."""

def xdivy(input_x: Any, input_y: Any) -> Tensor:
    """0 where x is 0, else x / y."""

def xlogy(input_x: Any, input_y: Any) -> Tensor:
    """0 where x is 0 and y is not NaN, else x * log(y)."""

def bitwise_and(x1: Any, x2: Any) -> Tensor:
    """Bitwise and in two's complement; logical and on bool."""

def bitwise_or(x1: Any, x2: Any) -> Tensor:
    """Bitwise or in two's complement; logical or on bool."""

def bitwise_xor(x1: Any, x2: Any) -> Tensor:
    """Bitwise exclusive or in two's complement; logical exclusive or on bool."""

def bitcast(x: Any, dtype: Any) -> Tensor:
    """Read the bits of x as another dtype. A narrower one appends an axis; a wider one takes the last axis, whose length must be the ratio of the widths. Lists and Python scalars are int32 (int64 if needed), float32, complex128. It has no gradient: to differentiate around it is an error unless behind ops.stop_gradient."""

def equal(input_x: Any, input_y: Any) -> Tensor:
    """x == y in the promoted dtype; comparisons with NaN are false, except that NaN != y is true."""

def not_equal(input_x: Any, input_y: Any) -> Tensor:
    """x != y in the promoted dtype; comparisons with NaN are false, except that NaN != y is true."""

def greater(input_x: Any, input_y: Any) -> Tensor:
    """x > y in the promoted dtype; comparisons with NaN are false, except that NaN != y is true."""

def greater_equal(input_x: Any, input_y: Any) -> Tensor:
    """x >= y in the promoted dtype; comparisons with NaN are false, except that NaN != y is true."""

def less(input_x: Any, input_y: Any) -> Tensor:
    """x < y in the promoted dtype; comparisons with NaN are false, except that NaN != y is true."""

def less_equal(input_x: Any, input_y: Any) -> Tensor:
    """x <= y in the promoted dtype; comparisons with NaN are false, except that NaN != y is true."""

def approximate_equal(x1: Any, x2: Any, tolerance: Any = ...) -> Tensor:
    """|x1 - x2| < tolerance, strictly, with the tolerance in the dtype of the operands. No broadcasting."""

def logical_and(input_x: Any, input_y: Any) -> Tensor:
    """Logical and. r1.1 takes bool only; 2.x takes numbers too, of which non-zero ones are true."""

def logical_or(input_x: Any, input_y: Any) -> Tensor:
    """Logical or. r1.1 takes bool only; 2.x takes numbers too, of which non-zero ones are true."""

def logical_not(x: Any) -> Tensor:
    """Logical not of a bool tensor."""

def conv1d(input: Any, weight: Any, bias: Any = ..., stride: Any = ..., pad_mode: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> Tensor:
    """The convolution of deep learning: sums of products of a window with the weights of each output channel. pad_mode: valid (none), same (as many results as elements, divided by stride), or pad (as padding says)."""

def conv2d(input: Any, weight: Any, bias: Any = ..., stride: Any = ..., pad_mode: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> Tensor:
    """The convolution of deep learning: sums of products of a window with the weights of each output channel. pad_mode: valid (none), same (as many results as elements, divided by stride), or pad (as padding says)."""

def conv3d(input: Any, weight: Any, bias: Any = ..., stride: Any = ..., pad_mode: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> Tensor:
    """The convolution of deep learning: sums of products of a window with the weights of each output channel. pad_mode: valid (none), same (as many results as elements, divided by stride), or pad (as padding says)."""

def conv_transpose1d(input: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ...) -> Tensor:
    """The transposed convolution: the gradient of a convolution by its input, used forwards. The weight has the input's channels first."""

def conv_transpose2d(input: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ...) -> Tensor:
    """The transposed convolution: the gradient of a convolution by its input, used forwards. The weight has the input's channels first."""

def conv_transpose3d(input: Any, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ...) -> Tensor:
    """The transposed convolution: the gradient of a convolution by its input, used forwards. The weight has the input's channels first."""

def zeros(shape: Any, dtype: Any = ...) -> Tensor:
    """A tensor of zeros."""

def ones(shape: Any, dtype: Any = ...) -> Tensor:
    """A tensor of ones."""

def full(size: Any, fill_value: Any, dtype: Any = ...) -> Tensor:
    """A tensor filled with one value, which is converted as Cast does; an int has to fit."""

def arange(start: Any, end: Any = ..., step: Any = ..., dtype: Any = ...) -> Tensor:
    """The numbers from start up to, not including, end; with one number, from 0 up to it."""

def exp(x: Any) -> Tensor:
    """e to the power x."""

def log(x: Any) -> Tensor:
    """The natural logarithm."""

def sqrt(x: Any) -> Tensor:
    """The square root; integers are taken to float32 first."""

def tanh(x: Any) -> Tensor:
    """The hyperbolic tangent."""

def sigmoid(x: Any) -> Tensor:
    """1 / (1 + exp(-x))."""

def relu(x: Any) -> Tensor:
    """x where x > 0, else 0."""

def neg(x: Any) -> Tensor:
    """-x; integers wrap."""

def abs(x: Any) -> Tensor:
    """|x|; bool is unchanged, the least integer stays."""

def invert(x: Any) -> Tensor:
    """Bitwise not of integers, logical not of bool."""

def cast(input_x: Any, dtype: Any) -> Tensor:
    """Convert the values to a dtype. Out of range, a float clamps to the integer's limits and NaN gives 0; integers wrap; non-zero is True; a complex loses its imaginary part to a real."""

def stop_gradient(x: Any) -> Tensor:
    """The same value, as a constant for every gradient."""

def matmul(x: Any, y: Any, transpose_a: Any = ..., transpose_b: Any = ...) -> Tensor:
    """The matrix product; leading axes broadcast, 1-d operands are vectors as in NumPy."""

def nll_loss(inputs: Any, target: Any, weight: Any = ..., ignore_index: Any = ..., reduction: Any = ..., label_smoothing: Any = ...) -> Tensor:
    """Minus the logarithm of the probability, which inputs hold, of each target class; the mean is weighted."""

def cross_entropy(input: Any, target: Any, weight: Any = ..., ignore_index: Any = ..., reduction: Any = ..., label_smoothing: Any = ...) -> Tensor:
    """The loss between logits and class indices (int32, int64) or probabilities (floats) along the second axis."""

def sparse_softmax_cross_entropy_with_logits(logits: Any, labels: Any, is_grad: Any = ...) -> Tensor:
    """The mean cross-entropy of logits and class indices; with is_grad its gradient by the logits."""

def softmax_cross_entropy_with_logits(logits: Any, labels: Any) -> tuple[Tensor, ...]:
    """The cross-entropy of logits and probabilities for each row, and its gradient by the logits."""

def mse_loss(input: Any, target: Any, reduction: Any = ...) -> Tensor:
    """The squared difference; integers are taken to float32 first."""

def l1_loss(input: Any, target: Any, reduction: Any = ...) -> Tensor:
    """The absolute difference; the mean of integers truncates."""

def smooth_l1_loss(input: Any, target: Any, beta: Any = ..., reduction: Any = ...) -> Tensor:
    """Half the squared difference over beta where the difference is below beta, else the difference less beta / 2."""

def huber_loss(input: Any, target: Any, reduction: Any = ..., delta: Any = ...) -> Tensor:
    """Half the squared difference where it is at most delta, else delta times (the difference less delta / 2)."""

def kl_div(logits: Any, labels: Any, reduction: Any = ...) -> Tensor:
    """labels * (log(labels) - logits), 0 where labels are not positive; logits are logarithms of probabilities."""

def binary_cross_entropy(logits: Any, labels: Any, weight: Any = ..., reduction: Any = ...) -> Tensor:
    """The cross-entropy of probabilities and labels from 0 to 1; the probability counts as 1e-12 at least."""

def binary_cross_entropy_with_logits(input: Any, target: Any, weight: Any = ..., pos_weight: Any = ..., reduction: Any = ...) -> Tensor:
    """The cross-entropy of sigmoid(input) and labels from 0 to 1, without overflow; pos_weight multiplies the part of the label 1."""

def zeros_like(input: Any, dtype: Any = ...) -> Tensor:
    """Zeros, of a tensor's shape and, unless another is named, dtype."""

def ones_like(input: Any, dtype: Any = ...) -> Tensor:
    """Ones, of a tensor's shape and, unless another is named, dtype."""

def full_like(input: Any, fill_value: Any, dtype: Any = ...) -> Tensor:
    """One value, converted as Cast does, of a tensor's shape and, unless another is named, dtype."""

def eye(n: Any, m: Any = ..., dtype: Any = ...) -> Tensor:
    """A matrix of n rows and m columns (n by default) with ones on its diagonal, zeros elsewhere."""

def linspace(start: Any, end: Any, steps: Any) -> Tensor:
    """Numbers from start to end, both included, at equal distances; of Python numbers in float32."""

def squeeze(input: Any, axis: Any = ...) -> Tensor:
    """Drop axes of length 1: the ones given, or all of them."""

def expand_dims(input_x: Any, axis: Any) -> Tensor:
    """Add an axis of length 1."""

def flatten(input: Any, order: Any = ..., start_dim: Any = ..., end_dim: Any = ...) -> Tensor:
    """Make one axis of those from start_dim to end_dim; order F reverses the axes first."""

def tile(input: Any, dims: Any) -> Tensor:
    """Repeat the whole along each axis, the last axes first; further ones are added in front."""

def repeat_elements(x: Any, rep: Any, axis: Any = ...) -> Tensor:
    """Repeat each slice along an axis the same number of times."""

def repeat_interleave(input: Any, repeats: Any, axis: Any = ...) -> Tensor:
    """Repeat each slice along an axis, all as often or each its own number of times; without an axis, elements."""

def flip(input: Any, dims: Any) -> Tensor:
    """Reverse the order along the axes given."""

def roll(input: Any, shifts: Any, dims: Any = ...) -> Tensor:
    """Move elements along axes; what leaves at one end enters at the other. Without axes, as if it were one row."""

def split(tensor: Any, split_size_or_sections: Any = ..., axis: Any = ..., output_num: Any = ...) -> tuple[Tensor, ...]:
    """Cut along an axis: into pieces of one size (the last may be shorter) or of the sizes listed; the class, into output_num equal ones. Gives a tuple."""

def unstack(input_x: Any, axis: Any = ...) -> tuple[Tensor, ...]:
    """The slices along an axis, without it, as a tuple."""

def pad(input_x: Any, padding: Any, mode: Any = ..., value: Any = ...) -> Tensor:
    """Add elements around: `padding` is flat, before and behind of the last axis first, or (as the class takes it) one pair for each axis. Negative numbers cut off."""

def swapaxes(input: Any, axis0: Any, axis1: Any) -> Tensor:
    """Exchange two axes."""

def moveaxis(x: Any, source: Any, destination: Any) -> Tensor:
    """Move axes to other places; the others keep their order."""

def movedim(x: Any, source: Any, destination: Any) -> Tensor:
    """Move axes to other places; the others keep their order."""

def tril(input: Any, diagonal: Any = ...) -> Tensor:
    """Matrices with zeros above a diagonal, counted from the main one upwards."""

def triu(input: Any, diagonal: Any = ...) -> Tensor:
    """Matrices with zeros below a diagonal, counted from the main one upwards."""

def diag(input: Any) -> Tensor:
    """A tensor of twice as many axes with the elements on its diagonal, zeros elsewhere."""

def diagonal(input: Any, offset: Any = ..., dim1: Any = ..., dim2: Any = ...) -> Tensor:
    """The elements on a diagonal of two axes, as a last axis."""

def meshgrid(inputs: Any, indexing: Any = ...) -> tuple[Tensor, ...]:
    """Coordinates of a grid: one tensor of the grid's shape for each row of coordinates, as a tuple."""

def apply_momentum(variable: Any, accumulation: Any, learning_rate: Any, gradient: Any, momentum: Any, use_nesterov: Any = ..., use_locking: Any = ..., gradient_scale: Any = ...) -> Parameter:
    """accumulation = accumulation * momentum + gradient; variable -= learning_rate * accumulation, or with Nesterov's rule learning_rate * (gradient + momentum * accumulation). The gradient is multiplied by gradient_scale first."""

def apply_ada_max(var: Any, m: Any, v: Any, beta1_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any) -> tuple[Parameter, ...]:
    """m = beta1 * m + (1 - beta1) * grad; v = max(beta2 * v, |grad|); var -= lr / (1 - beta1_power) * m / (v + epsilon)."""

def apply_adadelta(var: Any, accum: Any, accum_update: Any, lr: Any, rho: Any, epsilon: Any, grad: Any) -> tuple[Parameter, ...]:
    """accum = rho * accum + (1 - rho) * grad²; update = sqrt(accum_update + epsilon) * grad / sqrt(accum + epsilon); accum_update = rho * accum_update + (1 - rho) * update²; var -= lr * update."""

def apply_adagrad(var: Any, accum: Any, lr: Any, grad: Any, update_slots: Any = ...) -> tuple[Parameter, ...]:
    """accum += grad² (if update_slots); var -= lr * grad / sqrt(accum + 1e-6)."""

def apply_adagrad_v2(var: Any, accum: Any, lr: Any, grad: Any, epsilon: Any, update_slots: Any = ...) -> tuple[Parameter, ...]:
    """accum += grad² (if update_slots); var -= lr * grad / (sqrt(accum) + epsilon), where a denominator of 0 is 1e-6."""

def apply_add_sign(var: Any, m: Any, lr: Any, alpha: Any, sign_decay: Any, beta: Any, grad: Any) -> tuple[Parameter, ...]:
    """m = beta * m + (1 - beta) * grad; var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad."""

def apply_power_sign(var: Any, m: Any, lr: Any, logbase: Any, sign_decay: Any, beta: Any, grad: Any) -> tuple[Parameter, ...]:
    """m = beta * m + (1 - beta) * grad; var -= lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad."""

def apply_gradient_descent(var: Any, alpha: Any, delta: Any) -> Parameter:
    """var -= alpha * delta."""

def apply_proximal_adagrad(var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any, use_locking: Any = ...) -> tuple[Parameter, ...]:
    """accum += grad²; rate = lr / sqrt(accum); x = var - rate * grad; var = sign(x) * max(|x| - rate * l1, 0) / (1 + rate * l2), with l1 counted as 0 where it is negative."""

def apply_proximal_gradient_descent(var: Any, alpha: Any, l1: Any, l2: Any, delta: Any) -> Parameter:
    """x = var - alpha * delta; var = sign(x) * max(|x| - alpha * l1, 0) / (1 + alpha * l2), with l1 counted as 0 where it is negative."""

def max_pool2d(x: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., return_indices: Any = ..., ceil_mode: Any = ...) -> tuple[Tensor, ...]:
    """The maximum of each window of the last axes; with return_indices also where it is in the flattened axes. The stride is the window's size unless one is given."""

def max_pool3d(x: Any, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: Any = ..., return_indices: Any = ...) -> tuple[Tensor, ...]:
    """The maximum of each window of the last axes; with return_indices also where it is in the flattened axes. The stride is the window's size unless one is given."""

def avg_pool1d(input_x: Any, kernel_size: Any = ..., stride: Any = ..., padding: Any = ..., ceil_mode: Any = ..., count_include_pad: Any = ...) -> Tensor:
    """The mean of each window of the last axes; padding counts as zeros unless count_include_pad is off."""

def avg_pool2d(input_x: Any, kernel_size: Any = ..., stride: Any = ..., padding: Any = ..., ceil_mode: Any = ..., count_include_pad: Any = ..., divisor_override: Any = ...) -> Tensor:
    """The mean of each window of the last axes; padding counts as zeros unless count_include_pad is off."""

def avg_pool3d(input_x: Any, kernel_size: Any = ..., stride: Any = ..., padding: Any = ..., ceil_mode: Any = ..., count_include_pad: Any = ..., divisor_override: Any = ...) -> Tensor:
    """The mean of each window of the last axes; padding counts as zeros unless count_include_pad is off."""

def max_pool(x: Any, kernel_size: Any = ..., strides: Any = ..., pad_mode: Any = ..., data_format: Any = ...) -> Tensor:
    """The maximum of each window of the last two axes; of pad_mode same, padding does not count."""

def avg_pool(x: Any, kernel_size: Any = ..., strides: Any = ..., pad_mode: Any = ..., data_format: Any = ...) -> Tensor:
    """The mean of each window of the last two axes; of pad_mode same, padding does not count."""

def adaptive_avg_pool1d(input: Any, output_size: Any) -> Tensor:
    """Means of windows that divide the last axes into the numbers given; None keeps an axis."""

def adaptive_avg_pool2d(input: Any, output_size: Any) -> Tensor:
    """Means of windows that divide the last axes into the numbers given; None keeps an axis."""

def adaptive_avg_pool3d(input: Any, output_size: Any) -> Tensor:
    """Means of windows that divide the last axes into the numbers given; None keeps an axis."""

def interpolate(input: Any, size: Any = ..., scale_factor: Any = ..., mode: Any = ..., align_corners: Any = ..., recompute_scale_factor: Any = ...) -> Tensor:
    """Resize the axes behind batch and channels, to a size or by a factor. Modes: nearest, nearest-exact, area, and linear, bilinear and trilinear for one, two and three axes."""

def bmm(input_x: Any, mat2: Any, transpose_a: Any = ..., transpose_b: Any = ...) -> Tensor:
    """Products of the matrices in the last two axes; leading axes broadcast."""

def batch_mat_mul(input_x: Any, mat2: Any, transpose_a: Any = ..., transpose_b: Any = ...) -> Tensor:
    """Products of the matrices in the last two axes; leading axes broadcast."""

def dot(input: Any, other: Any) -> Tensor:
    """Sums of products over the last axis of the first and the last but one of the second, for all other axes."""

def outer(input: Any, vec2: Any) -> Tensor:
    """Products of each element of one with each of the other, both flattened."""

def tensor_dot(x1: Any, x2: Any, axes: Any) -> Tensor:
    """Sums of products over pairs of axes: the last n of one with the first n of the other, or the axes named."""

def tensordot(x1: Any, x2: Any, axes: Any) -> Tensor:
    """Sums of products over pairs of axes: the last n of one with the first n of the other, or the axes named."""

def einsum(equation: Any, operands: Any) -> Tensor:
    """Sums of products in Einstein's notation, as in `ij,jk->ik`."""

def split_key(key: Any, num: Any = ...) -> Tensor:
    """Keys, one a row, whose numbers resemble neither each other's nor those of the key they come from."""

def standard_normal(shape: Any, key: Any, dtype: Any = ...) -> Tensor:
    """Numbers of the normal distribution of mean 0 and deviation 1."""

def normal(shape: Any, mean: Any, stddev: Any, key: Any) -> Tensor:
    """Numbers of a normal distribution; mean and deviation may be numbers (then float32) or tensors."""

def uniform(shape: Any, minval: Any, maxval: Any, key: Any, dtype: Any = ...) -> Tensor:
    """Numbers from minval up to, not including, maxval, all equally likely."""

def randint(low: Any, high: Any, size: Any, key: Any, dtype: Any = ...) -> Tensor:
    """Integers from low up to, not including, high, all equally likely."""

def bernoulli(input: Any, p: Any = ..., *, key: Any) -> Tensor:
    """1 with probability p (0.5 unless given), else 0, of the input's shape and dtype."""

def randperm(n: Any, key: Any, dtype: Any = ...) -> Tensor:
    """The numbers from 0 up to, not including, n in random order."""

def shuffle(x: Any, key: Any) -> Tensor:
    """The slices along the first axis in random order."""

def multinomial(input: Any, num_samples: Any, replacement: Any = ..., *, key: Any) -> Tensor:
    """Indices drawn with probabilities in proportion to the input's last axis, with replacement or all different."""

def random_categorical(logits: Any, num_sample: Any, key: Any, dtype: Any = ...) -> Tensor:
    """Indices drawn with the probabilities that the softmax of each row of logits gives."""

def reduce_sum(x: Any, axis: Any = ..., keep_dims: Any = ...) -> Tensor:
    """Sum; integers keep their dtype and wrap, over the axes given, over all of them by default."""

def reduce_prod(x: Any, axis: Any = ..., keep_dims: Any = ...) -> Tensor:
    """Product; integers keep their dtype and wrap, over the axes given, over all of them by default."""

def reduce_max(x: Any, axis: Any = ..., keep_dims: Any = ...) -> Tensor:
    """Maximum over the axes given, over all of them by default."""

def reduce_min(x: Any, axis: Any = ..., keep_dims: Any = ...) -> Tensor:
    """Minimum over the axes given, over all of them by default."""

def reduce_mean(x: Any, axis: Any = ..., keep_dims: Any = ...) -> Tensor:
    """Mean; that of integers keeps the dtype and truncates, over the axes given, over all of them by default."""

def reduce_all(x: Any, axis: Any = ..., keep_dims: Any = ...) -> Tensor:
    """Whether all elements are non-zero over the axes given, over all of them by default."""

def reduce_any(x: Any, axis: Any = ..., keep_dims: Any = ...) -> Tensor:
    """Whether any element is non-zero over the axes given, over all of them by default."""

def argmax(x: Any, axis: Any = ..., output_type: Any = ...) -> Tensor:
    """The index of the maximum along an axis; the first of equals, NaN counts as the maximum."""

def argmin(x: Any, axis: Any = ..., output_type: Any = ...) -> Tensor:
    """The index of the minimum along an axis; the first of equals, NaN counts as the minimum."""

def scatter_add(input_x: Any, indices: Any, updates: Any, use_locking: Any = ...) -> Parameter:
    """Update rows of input_x in place, one index after another: x = x + update."""

def scatter_sub(input_x: Any, indices: Any, updates: Any, use_locking: Any = ...) -> Parameter:
    """Update rows of input_x in place, one index after another: x = x - update."""

def scatter_mul(input_x: Any, indices: Any, updates: Any, use_locking: Any = ...) -> Parameter:
    """Update rows of input_x in place, one index after another: x = x * update."""

def scatter_div(input_x: Any, indices: Any, updates: Any, use_locking: Any = ...) -> Parameter:
    """Update rows of input_x in place, one index after another: x = x / update; integers truncate toward zero at each step."""

def scatter_max(input_x: Any, indices: Any, updates: Any, use_locking: Any = ...) -> Parameter:
    """Update rows of input_x in place, one index after another: x = x if x > update, else update."""

def scatter_min(input_x: Any, indices: Any, updates: Any, use_locking: Any = ...) -> Parameter:
    """Update rows of input_x in place, one index after another: x = update if x > update, else x."""

def scatter_update(input_x: Any, indices: Any, updates: Any, use_locking: Any = ...) -> Parameter:
    """Update rows of input_x in place, one index after another: x = update: the last one stays."""

def scatter_nd_add(input_x: Any, indices: Any, updates: Any, use_locking: Any = ...) -> Parameter:
    """Update slices of input_x in place, one index after another: x = x + update."""

def scatter_nd_sub(input_x: Any, indices: Any, updates: Any, use_locking: Any = ...) -> Parameter:
    """Update slices of input_x in place, one index after another: x = x - update."""

def scatter_nd_update(input_x: Any, indices: Any, updates: Any, use_locking: Any = ...) -> Parameter:
    """Update slices of input_x in place, one index after another: x = update: the last one stays."""

def scatter_non_aliasing_add(input_x: Any, indices: Any, updates: Any) -> Parameter:
    """Update slices of input_x in place, one index after another: x = x + update."""

def tensor_scatter_add(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Return input_x with slices updated, one index after another: x = x + update. input_x stays as it is."""

def tensor_scatter_sub(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Return input_x with slices updated, one index after another: x = x - update. input_x stays as it is."""

def tensor_scatter_mul(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Return input_x with slices updated, one index after another: x = x * update. input_x stays as it is."""

def tensor_scatter_div(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Return input_x with slices updated, one index after another: x = x / update; integers truncate toward zero at each step. input_x stays as it is."""

def tensor_scatter_max(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Return input_x with slices updated, one index after another: x = x if x > update, else update. input_x stays as it is."""

def tensor_scatter_min(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Return input_x with slices updated, one index after another: x = update if x > update, else x. input_x stays as it is."""

def tensor_scatter_update(input_x: Any, indices: Any, updates: Any) -> Tensor:
    """Return input_x with slices updated, one index after another: x = update: the last one stays. input_x stays as it is."""

def select(condition: Any, input_x: Any, input_y: Any) -> Tensor:
    """x where the condition is true, else y; shapes broadcast."""

def gather(input_params: Any, input_indices: Any, axis: Any = ...) -> Tensor:
    """Take slices along an axis, one per index. Indices are never negative."""

def one_hot(indices: Any, depth: Any, on_value: Any, off_value: Any, axis: Any = ...) -> Tensor:
    """on_value at the position that each index names along a new axis, off_value elsewhere."""

def reshape(input_x: Any, shape: Any) -> Tensor:
    """The same elements in another shape; one length may be -1."""

def transpose(input_x: Any, input_perm: Any) -> Tensor:
    """Permute the axes."""

def broadcast_to(input_x: Any, shape: Any) -> Tensor:
    """Repeat along new axes and axes of length 1."""

def concat(tensors: Any, axis: Any = ...) -> Tensor:
    """Join tensors along an axis; they are converted to one dtype."""

def stack(tensors: Any, axis: Any = ...) -> Tensor:
    """Join tensors of one shape along a new axis; they are converted to one dtype."""

def strided_slice(input_x: Any, begin: Any, end: Any, strides: Any, begin_mask: Any = ..., end_mask: Any = ..., ellipsis_mask: Any = ..., new_axis_mask: Any = ..., shrink_axis_mask: Any = ...) -> Tensor:
    """x[begin:end:strides] over the first axes. Bit i of a mask changes entry i: begin_mask and end_mask leave the bound out, ellipsis_mask makes it `...`, new_axis_mask a new axis, shrink_axis_mask the index begin[i]."""

def slice(input_x: Any, begin: Any, size: Any) -> Tensor:
    """The part that begins somewhere and has some size; -1 means as far as there are elements."""

def slice_scatter(input: Any, src: Any, axis: Any = ..., start: Any = ..., end: Any = ..., step: Any = ...) -> Tensor:
    """input with the slice start:end:step of an axis replaced by src; negative bounds count from the end."""

def gather_nd(input_x: Any, indices: Any) -> Tensor:
    """The slice at each row of coordinates: the last axis of indices says where, one number for each leading axis."""

def gather_elements(input: Any, dim: Any, index: Any) -> Tensor:
    """The element at each index along an axis, at the place of the index along the others; negative ones count from the end."""

def gather_d(input: Any, dim: Any, index: Any) -> Tensor:
    """The element at each index along an axis, at the place of the index along the others; negative ones count from the end."""

def take(input: Any, index: Any) -> Tensor:
    """The elements at positions of the flattened tensor; negative ones count from the end."""

def masked_fill(input_x: Any, mask: Any, value: Any) -> Tensor:
    """value where the mask is true, else x; x and the mask broadcast."""

def where(condition: Any, input: Any, other: Any) -> Tensor:
    """input where the condition is true, else other; shapes broadcast. Two Python scalars make a tensor."""

def sort(input_x: Any, axis: Any = ..., descending: Any = ...) -> tuple[Tensor, ...]:
    """The elements in order along an axis, equal ones in the order in which they are, and where each came from."""

def argsort(input: Any, axis: Any = ..., descending: Any = ...) -> Tensor:
    """Where the elements in order along an axis come from; equal ones keep their order."""

def topk(input: Any, k: Any, dim: Any = ..., largest: Any = ..., sorted: Any = ...) -> tuple[Tensor, ...]:
    """The k greatest elements along an axis (the last by default), or the k least, and where they are."""

def searchsorted(sorted_sequence: Any, values: Any, sorter: Any = ..., out_int32: Any = ..., right: Any = ..., side: Any = ..., dtype: Any = ...) -> Tensor:
    """Where each value would have to stand in a sorted row: before equal ones, or behind them (right)."""

def unique(input: Any, size: Any, fill_value: Any = ...) -> tuple[Tensor, ...]:
    """The distinct elements in the order in which they first appear, filled up to the given size, and the position of each element's value among them."""

def nonzero(input: Any, size: Any, fill_value: Any = ...) -> Tensor:
    """The indices of the elements that are not 0, one a row, in order, filled up to the given number of rows."""

def cumsum(x: Any, axis: Any, dtype: Any = ..., exclusive: Any = ..., reverse: Any = ...) -> Tensor:
    """The running sum along an axis: of the elements before (exclusive), from the end (reverse)."""

def cumprod(x: Any, dim: Any, dtype: Any = ..., exclusive: Any = ..., reverse: Any = ...) -> Tensor:
    """The running product along an axis: of the elements before (exclusive), from the end (reverse)."""

def cummax(input: Any, axis: Any) -> tuple[Tensor, ...]:
    """The running maximum along an axis, and where it is: the last of equals; a NaN stays."""

def cummin(input: Any, axis: Any) -> tuple[Tensor, ...]:
    """The running minimum along an axis, and where it is: the last of equals; a NaN stays."""

def sparse_apply_adagrad(var: Any, accum: Any, grad: Any, indices: Any, lr: Any, update_slots: Any = ..., use_locking: Any = ...) -> tuple[Parameter, ...]:
    """accum += grad² (if update_slots); var -= lr * grad / sqrt(accum). Equal indices: their gradients are added first. Rows not named stay as they are, and rows out of range are left out."""

def sparse_apply_adagrad_v2(var: Any, accum: Any, grad: Any, indices: Any, lr: Any, epsilon: Any, use_locking: Any = ..., update_slots: Any = ...) -> tuple[Parameter, ...]:
    """accum += grad² (if update_slots); var -= lr * grad / (sqrt(accum) + epsilon). Equal indices: one after another. Rows not named stay as they are, and rows out of range are left out."""

def sparse_apply_ftrl(var: Any, accum: Any, linear: Any, grad: Any, indices: Any, lr: Any, l1: Any, l2: Any, lr_power: Any, use_locking: Any = ...) -> tuple[Parameter, ...]:
    """new = accum + grad²; sigma = (new^-lr_power - accum^-lr_power) / lr; linear += grad - sigma * var; accum = new; var = (sign(linear) * l1 - linear) / (new^-lr_power / lr + 2 * l2) if |linear| > l1 else 0. Equal indices: one after another. Rows not named stay as they are, and rows out of range are left out."""

def sparse_apply_ftrl_v2(var: Any, accum: Any, linear: Any, grad: Any, indices: Any, lr: Any, l1: Any, l2: Any, l2_shrinkage: Any, lr_power: Any, use_locking: Any = ...) -> tuple[Parameter, ...]:
    """As SparseApplyFtrl, with linear += grad + 2 * l2_shrinkage * var - sigma * var. Equal indices: one after another. Rows not named stay as they are, and rows out of range are left out."""

def sparse_apply_proximal_adagrad(var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any, indices: Any, use_locking: Any = ...) -> tuple[Parameter, ...]:
    """ApplyProximalAdagrad on the rows named. Equal indices: one after another. Rows not named stay as they are, and rows out of range are left out."""

def fused_sparse_ftrl(var: Any, accum: Any, linear: Any, grad: Any, indices: Any, lr: Any, l1: Any, l2: Any, lr_power: Any, use_locking: Any = ...) -> tuple[Parameter, ...]:
    """new = accum + grad²; sigma = (new^-lr_power - accum^-lr_power) / lr; linear += grad - sigma * var; accum = new; var = (sign(linear) * l1 - linear) / (new^-lr_power / lr + 2 * l2) if |linear| > l1 else 0. Equal indices: their gradients are added first. Rows not named stay as they are, and rows out of range are left out."""

def fused_sparse_proximal_adagrad(var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any, indices: Any, use_locking: Any = ...) -> tuple[Parameter, ...]:
    """ApplyProximalAdagrad on the rows named. Equal indices: their gradients are added first. Rows not named stay as they are, and rows out of range are left out."""

def fused_sparse_adam(var: Any, m: Any, v: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any, indices: Any, use_locking: Any = ..., use_nesterov: Any = ...) -> tuple[Parameter, ...]:
    """On the whole table, with a gradient of 0 for rows not named: m = beta1 * m + (1 - beta1) * grad; v = beta2 * v + (1 - beta2) * grad²; mean = m, or with Nesterov's rule beta1 * m + (1 - beta1) * grad; var -= lr * sqrt(1 - beta2_power) / (1 - beta1_power) * mean / (sqrt(v) + epsilon). Equal indices: their gradients are added first. Rows out of range are left out."""

def fused_sparse_lazy_adam(var: Any, m: Any, v: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any, indices: Any, use_locking: Any = ..., use_nesterov: Any = ...) -> tuple[Parameter, ...]:
    """m = beta1 * m + (1 - beta1) * grad; v = beta2 * v + (1 - beta2) * grad²; mean = m, or with Nesterov's rule beta1 * m + (1 - beta1) * grad; var -= lr * sqrt(1 - beta2_power) / (1 - beta1_power) * mean / (sqrt(v) + epsilon). Equal indices: their gradients are added first. Rows not named stay as they are, and rows out of range are left out."""

def assign(variable: Any, value: Any) -> Parameter:
    """Write value into variable; returns variable."""

def assign_add(variable: Any, value: Any) -> Parameter:
    """Add value to variable in place; returns variable."""

def assign_sub(variable: Any, value: Any) -> Parameter:
    """Subtract value from variable in place; returns variable."""

def var(input: Any, axis: Any = ..., ddof: Any = ..., keepdims: Any = ...) -> Tensor:
    """The variance over the axes given, over all of them by default; the divisor is the number of elements less ddof."""

def std(input: Any, axis: Any = ..., ddof: Any = ..., keepdims: Any = ...) -> Tensor:
    """The standard deviation over the axes given, over all of them by default; the divisor is the number of elements less ddof."""

def logsumexp(input: Any, dim: Any, keepdim: Any = ...) -> Tensor:
    """The logarithm of the sum of the exponentials over the axes given, without overflow; `()` means all."""

def norm(A: Any, ord: Any = ..., dim: Any = ..., keepdim: Any = ..., dtype: Any = ...) -> Tensor:
    """The norm of vectors (one axis in dim) or matrices (two), by default of all elements as one vector. Integers are taken to float32 first."""

class Sin(Primitive):
    """The sine."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Cos(Primitive):
    """The cosine."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Tan(Primitive):
    """The tangent."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Asin(Primitive):
    """The inverse sine."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class ACos(Primitive):
    """The inverse cosine."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Atan(Primitive):
    """The inverse tangent."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Sinh(Primitive):
    """The hyperbolic sine."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Cosh(Primitive):
    """The hyperbolic cosine."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Asinh(Primitive):
    """The inverse hyperbolic sine."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Acosh(Primitive):
    """The inverse hyperbolic cosine."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Atanh(Primitive):
    """The inverse hyperbolic tangent."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Expm1(Primitive):
    """e to the power x, minus 1, exact near 0."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Log1p(Primitive):
    """The natural logarithm of 1 + x, exact near 0."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Log2(Primitive):
    """The logarithm to base 2."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Log10(Primitive):
    """The logarithm to base 10."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Rsqrt(Primitive):
    """1 / sqrt(x)."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Square(Primitive):
    """x * x; integers wrap."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Erf(Primitive):
    """The error function."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Erfc(Primitive):
    """1 minus the error function, exact far from 0."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Erfinv(Primitive):
    """The inverse of the error function."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Floor(Primitive):
    """The greatest whole number that is not above x."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Ceil(Primitive):
    """The least whole number that is not below x."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Trunc(Primitive):
    """x without its fraction."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Sign(Primitive):
    """-1, 0 or 1; of a complex number, the number of its direction."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Reciprocal(Primitive):
    """1 / x; integers and bool are taken to float32 first."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class IsNan(Primitive):
    """Whether x is NaN."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class IsInf(Primitive):
    """Whether x is infinite."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class IsFinite(Primitive):
    """Whether x is neither infinite nor NaN."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Round(Primitive):
    """The nearest multiple of 10 to the power -decimals; halves go to the even one. Integers are unchanged."""

    def __init__(self, decimals: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Clamp(Primitive):
    """Values below the lower limit become that, then values above the upper one become this."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any, min: Any = ..., max: Any = ...) -> Tensor: ...

class ClipByValue(Primitive):
    """Values below the lower limit become that, then values above the upper one become this."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any, clip_value_min: Any = ..., clip_value_max: Any = ...) -> Tensor: ...

class Lerp(Primitive):
    """input + weight * (end - input); shapes broadcast."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any, end: Any, weight: Any) -> Tensor: ...

class Softmax(Primitive):
    """exp(x) divided by its sum along an axis (or several); with a dtype, x is converted to that first."""

    def __init__(self, axis: Any = ..., dtype: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class LogSoftmax(Primitive):
    """The logarithm of the softmax along an axis."""

    def __init__(self, axis: Any = ...) -> None: ...
    def __call__(self, logits: Any) -> Tensor: ...

class LayerNormExt(Primitive):
    """Subtract the mean over the last axes and divide by the deviation; then scale by weight and add bias."""

    def __init__(self, eps: Any = ...) -> None: ...
    def __call__(self, input: Any, normalized_shape: Any, weight: Any = ..., bias: Any = ...) -> Tensor: ...

class LayerNorm(Primitive):
    """Layer normalization over the axes from begin_norm_axis on; gives the result, and the means and variances."""

    def __init__(self, begin_norm_axis: Any = ..., begin_params_axis: Any = ..., epsilon: Any = ...) -> None: ...
    def __call__(self, input_x: Any, gamma: Any, beta: Any) -> tuple[Tensor, ...]: ...

class BatchNormExt(Primitive):
    """Normalize each channel (the second axis): by the running statistics, or when training by those of the batch, which then move the running ones, Parameters, by the share momentum."""

    def __init__(self, training: Any = ..., momentum: Any = ..., eps: Any = ...) -> None: ...
    def __call__(self, input_x: Any, running_mean: Any, running_var: Any, weight: Any = ..., bias: Any = ...) -> Any: ...

class GroupNorm(Primitive):
    """Normalize each sample over groups of channels (the second axis); then scale and shift each channel."""

    def __init__(self, eps: Any = ...) -> None: ...
    def __call__(self, input: Any, num_groups: Any, weight: Any = ..., bias: Any = ...) -> Tensor: ...

class InstanceNormExt(Primitive):
    """Normalize each channel of each sample over the axes behind; then scale and shift each channel."""

    def __init__(self, eps: Any = ...) -> None: ...
    def __call__(self, input: Any, weight: Any = ..., bias: Any = ...) -> Tensor: ...

class DropoutExt(Primitive):
    """When training, make each element 0 with probability p and divide the others by 1 - p; else change nothing."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any, p: Any = ..., training: Any = ..., key: Any = ...) -> Tensor: ...

class ReLU6(Primitive):
    """x where 0 < x < 6, else the nearer of 0 and 6."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class LeakyReLUExt(Primitive):
    """x where x > 0, else alpha * x."""

    def __init__(self, alpha: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Elu(Primitive):
    """x where x > 0, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha: Any = ...) -> None: ...
    def __call__(self, input_x: Any) -> Tensor: ...

class CeLU(Primitive):
    """x where x > 0, else alpha * (exp(x / alpha) - 1)."""

    def __init__(self, alpha: Any = ...) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class SeLU(Primitive):
    """The elu with the scale and alpha that keep mean 0 and variance 1."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any) -> Tensor: ...

class GeluExt(Primitive):
    """x times the normal distribution's probability below x; approximate='tanh' computes it with tanh."""

    def __init__(self, approximate: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class GeLU(Primitive):
    """The gelu computed with tanh, as MindSpore's class has it."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Gelu(Primitive):
    """The gelu computed with tanh, as MindSpore's class has it."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class SiLU(Primitive):
    """x * sigmoid(x)."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Mish(Primitive):
    """x * tanh(log(1 + exp(x)))."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class Softplus(Primitive):
    """log(1 + exp(beta * x)) / beta, and x where beta * x > threshold."""

    def __init__(self, beta: Any = ..., threshold: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Softsign(Primitive):
    """x / (1 + |x|)."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class HSwish(Primitive):
    """x * relu6(x + 3) / 6."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class HSigmoid(Primitive):
    """relu6(x + 3) / 6."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Hardtanh(Primitive):
    """x between min_val and max_val, else the nearer of them."""

    def __init__(self, min_val: Any = ..., max_val: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class HShrink(Primitive):
    """x where |x| > lambd, else 0."""

    def __init__(self, lambd: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class SoftShrink(Primitive):
    """x brought nearer to 0 by lambd, and 0 where it is that near."""

    def __init__(self, lambd: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class LogSigmoid(Primitive):
    """log(sigmoid(x)), without overflow."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class PReLU(Primitive):
    """x where x > 0, else x times the weight of its channel."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any, weight: Any) -> Tensor: ...

class GLU(Primitive):
    """The first half along an axis times the sigmoid of the second."""

    def __init__(self, axis: Any = ...) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class Add(Primitive):
    """x + y; integers wrap."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class TensorAdd(Primitive):
    """x + y; integers wrap."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class Sub(Primitive):
    """x - y; integers wrap."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class Mul(Primitive):
    """x * y; integers wrap."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class Div(Primitive):
    """x / y. On integers r1.1 truncates toward zero and keeps the dtype; 2.x divides in float32."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class RealDiv(Primitive):
    """x / y; integers truncate toward zero."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class DivNoNan(Primitive):
    """x / y, and 0 wherever y is 0."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class FloorDiv(Primitive):
    """The real quotient x / y, rounded down."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class TruncateDiv(Primitive):
    """x / y, truncated toward zero."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class FloorMod(Primitive):
    """x - floor(x / y) * y, with the real quotient and the sign of y; NaN for an infinite y."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class Mod(Primitive):
    """x - trunc(x / y) * y, with the real quotient and the sign of x; 0 modulo 0 is 0; NaN for an infinite y."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class TruncateMod(Primitive):
    """C's fmod(x, y), with the sign of x."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class Pow(Primitive):
    """x to the power y. Integers are exact modulo 2**bits; a negative exponent gives 0, or ±1 for the base ±1."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class Maximum(Primitive):
    """x if x > y, else y (so a NaN in y is kept, one in x is not)."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class Minimum(Primitive):
    """x if x < y, else y (so a NaN in y is kept, one in x is not)."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class SquaredDifference(Primitive):
    """(x - y) squared."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class Atan2(Primitive):
    """The angle of the point (y, x) in (-pi, pi]: x is the ordinate, y the abscissa."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class Xdivy(Primitive):
    """0 where x is 0, else x / y."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class Xlogy(Primitive):
    """0 where x is 0 and y is not NaN, else x * log(y)."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class BitwiseAnd(Primitive):
    """Bitwise and in two's complement; logical and on bool."""

    def __init__(self) -> None: ...
    def __call__(self, x1: Any, x2: Any) -> Tensor: ...

class BitwiseOr(Primitive):
    """Bitwise or in two's complement; logical or on bool."""

    def __init__(self) -> None: ...
    def __call__(self, x1: Any, x2: Any) -> Tensor: ...

class BitwiseXor(Primitive):
    """Bitwise exclusive or in two's complement; logical exclusive or on bool."""

    def __init__(self) -> None: ...
    def __call__(self, x1: Any, x2: Any) -> Tensor: ...

class Bitcast(Primitive):
    """Read the bits of x as another dtype. A narrower one appends an axis; a wider one takes the last axis, whose length must be the ratio of the widths. Lists and Python scalars are int32 (int64 if needed), float32, complex128. It has no gradient: to differentiate around it is an error unless behind ops.stop_gradient."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any, dtype: Any) -> Tensor: ...

class Equal(Primitive):
    """x == y in the promoted dtype; comparisons with NaN are false, except that NaN != y is true."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class NotEqual(Primitive):
    """x != y in the promoted dtype; comparisons with NaN are false, except that NaN != y is true."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class Greater(Primitive):
    """x > y in the promoted dtype; comparisons with NaN are false, except that NaN != y is true."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class GreaterEqual(Primitive):
    """x >= y in the promoted dtype; comparisons with NaN are false, except that NaN != y is true."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class Less(Primitive):
    """x < y in the promoted dtype; comparisons with NaN are false, except that NaN != y is true."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class LessEqual(Primitive):
    """x <= y in the promoted dtype; comparisons with NaN are false, except that NaN != y is true."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class ApproximateEqual(Primitive):
    """|x1 - x2| < tolerance, strictly, with the tolerance in the dtype of the operands. No broadcasting."""

    def __init__(self, tolerance: Any = ...) -> None: ...
    def __call__(self, x1: Any, x2: Any) -> Tensor: ...

class LogicalAnd(Primitive):
    """Logical and. r1.1 takes bool only; 2.x takes numbers too, of which non-zero ones are true."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class LogicalOr(Primitive):
    """Logical or. r1.1 takes bool only; 2.x takes numbers too, of which non-zero ones are true."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_y: Any) -> Tensor: ...

class LogicalNot(Primitive):
    """Logical not of a bool tensor."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class Conv1D(Primitive):
    """The convolution of deep learning: sums of products of a window with the weights of each output channel. pad_mode: valid (none), same (as many results as elements, divided by stride), or pad (as padding says)."""

    def __init__(self, stride: Any = ..., pad_mode: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> None: ...
    def __call__(self, input: Any, weight: Any, bias: Any = ...) -> Tensor: ...

class Conv2D(Primitive):
    """The convolution of deep learning: sums of products of a window with the weights of each output channel. pad_mode: valid (none), same (as many results as elements, divided by stride), or pad (as padding says)."""

    def __init__(self, out_channel: Any = ..., kernel_size: Any = ..., mode: Any = ..., pad_mode: Any = ..., pad: Any = ..., stride: Any = ..., dilation: Any = ..., group: Any = ..., data_format: Any = ..., padding: Any = ..., groups: Any = ...) -> None: ...
    def __call__(self, input: Any, weight: Any, bias: Any = ...) -> Tensor: ...

class Conv3D(Primitive):
    """The convolution of deep learning: sums of products of a window with the weights of each output channel. pad_mode: valid (none), same (as many results as elements, divided by stride), or pad (as padding says)."""

    def __init__(self, out_channel: Any = ..., kernel_size: Any = ..., mode: Any = ..., pad_mode: Any = ..., pad: Any = ..., stride: Any = ..., dilation: Any = ..., group: Any = ..., data_format: Any = ..., padding: Any = ..., groups: Any = ...) -> None: ...
    def __call__(self, input: Any, weight: Any, bias: Any = ...) -> Tensor: ...

class ConvTranspose1D(Primitive):
    """The transposed convolution: the gradient of a convolution by its input, used forwards. The weight has the input's channels first."""

    def __init__(self, stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ...) -> None: ...
    def __call__(self, input: Any, weight: Any, bias: Any = ...) -> Tensor: ...

class ConvTranspose2D(Primitive):
    """The transposed convolution: the gradient of a convolution by its input, used forwards. The weight has the input's channels first."""

    def __init__(self, stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ...) -> None: ...
    def __call__(self, input: Any, weight: Any, bias: Any = ...) -> Tensor: ...

class ConvTranspose3D(Primitive):
    """The transposed convolution: the gradient of a convolution by its input, used forwards. The weight has the input's channels first."""

    def __init__(self, stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: Any = ..., dilation: Any = ...) -> None: ...
    def __call__(self, input: Any, weight: Any, bias: Any = ...) -> Tensor: ...

class Zeros(Primitive):
    """A tensor of zeros."""

    def __init__(self) -> None: ...
    def __call__(self, shape: Any, dtype: Any = ...) -> Tensor: ...

class Ones(Primitive):
    """A tensor of ones."""

    def __init__(self) -> None: ...
    def __call__(self, shape: Any, dtype: Any = ...) -> Tensor: ...

class Full(Primitive):
    """A tensor filled with one value, which is converted as Cast does; an int has to fit."""

    def __init__(self) -> None: ...
    def __call__(self, size: Any, fill_value: Any, dtype: Any = ...) -> Tensor: ...

class Arange(Primitive):
    """The numbers from start up to, not including, end; with one number, from 0 up to it."""

    def __init__(self, dtype: Any = ...) -> None: ...
    def __call__(self, start: Any, end: Any = ..., step: Any = ...) -> Tensor: ...

class Exp(Primitive):
    """e to the power x."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class Log(Primitive):
    """The natural logarithm."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class Sqrt(Primitive):
    """The square root; integers are taken to float32 first."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class Tanh(Primitive):
    """The hyperbolic tangent."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class Sigmoid(Primitive):
    """1 / (1 + exp(-x))."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class ReLU(Primitive):
    """x where x > 0, else 0."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class Neg(Primitive):
    """-x; integers wrap."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class Abs(Primitive):
    """|x|; bool is unchanged, the least integer stays."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class Invert(Primitive):
    """Bitwise not of integers, logical not of bool."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class Cast(Primitive):
    """Convert the values to a dtype. Out of range, a float clamps to the integer's limits and NaN gives 0; integers wrap; non-zero is True; a complex loses its imaginary part to a real."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, dtype: Any) -> Tensor: ...

class StopGradient(Primitive):
    """The same value, as a constant for every gradient."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class MatMul(Primitive):
    """The matrix product; leading axes broadcast, 1-d operands are vectors as in NumPy."""

    def __init__(self, transpose_a: Any = ..., transpose_b: Any = ...) -> None: ...
    def __call__(self, x: Any, y: Any) -> Tensor: ...

class NLLLossExt(Primitive):
    """Minus the logarithm of the probability, which inputs hold, of each target class; the mean is weighted."""

    def __init__(self, ignore_index: Any = ..., reduction: Any = ..., label_smoothing: Any = ...) -> None: ...
    def __call__(self, inputs: Any, target: Any, weight: Any = ...) -> Tensor: ...

class CrossEntropyLoss(Primitive):
    """The loss between logits and class indices (int32, int64) or probabilities (floats) along the second axis."""

    def __init__(self, ignore_index: Any = ..., reduction: Any = ..., label_smoothing: Any = ...) -> None: ...
    def __call__(self, input: Any, target: Any, weight: Any = ...) -> Tensor: ...

class SparseSoftmaxCrossEntropyWithLogits(Primitive):
    """The mean cross-entropy of logits and class indices; with is_grad its gradient by the logits."""

    def __init__(self, is_grad: Any = ...) -> None: ...
    def __call__(self, logits: Any, labels: Any) -> Tensor: ...

class SoftmaxCrossEntropyWithLogits(Primitive):
    """The cross-entropy of logits and probabilities for each row, and its gradient by the logits."""

    def __init__(self) -> None: ...
    def __call__(self, logits: Any, labels: Any) -> tuple[Tensor, ...]: ...

class MSELossExt(Primitive):
    """The squared difference; integers are taken to float32 first."""

    def __init__(self, reduction: Any = ...) -> None: ...
    def __call__(self, input: Any, target: Any) -> Tensor: ...

class L1LossExt(Primitive):
    """The absolute difference; the mean of integers truncates."""

    def __init__(self, reduction: Any = ...) -> None: ...
    def __call__(self, input: Any, target: Any) -> Tensor: ...

class SmoothL1Loss(Primitive):
    """Half the squared difference over beta where the difference is below beta, else the difference less beta / 2."""

    def __init__(self, beta: Any = ..., reduction: Any = ...) -> None: ...
    def __call__(self, input: Any, target: Any) -> Tensor: ...

class HuberLoss(Primitive):
    """Half the squared difference where it is at most delta, else delta times (the difference less delta / 2)."""

    def __init__(self, reduction: Any = ..., delta: Any = ...) -> None: ...
    def __call__(self, input: Any, target: Any) -> Tensor: ...

class KLDivLoss(Primitive):
    """labels * (log(labels) - logits), 0 where labels are not positive; logits are logarithms of probabilities."""

    def __init__(self, reduction: Any = ...) -> None: ...
    def __call__(self, logits: Any, labels: Any) -> Tensor: ...

class BinaryCrossEntropy(Primitive):
    """The cross-entropy of probabilities and labels from 0 to 1; the probability counts as 1e-12 at least."""

    def __init__(self, reduction: Any = ...) -> None: ...
    def __call__(self, logits: Any, labels: Any, weight: Any = ...) -> Tensor: ...

class BCEWithLogitsLoss(Primitive):
    """The cross-entropy of sigmoid(input) and labels from 0 to 1, without overflow; pos_weight multiplies the part of the label 1."""

    def __init__(self, reduction: Any = ...) -> None: ...
    def __call__(self, input: Any, target: Any, weight: Any = ..., pos_weight: Any = ...) -> Tensor: ...

class ZerosLike(Primitive):
    """Zeros, of a tensor's shape and, unless another is named, dtype."""

    def __init__(self, dtype: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class OnesLike(Primitive):
    """Ones, of a tensor's shape and, unless another is named, dtype."""

    def __init__(self, dtype: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class FullLike(Primitive):
    """One value, converted as Cast does, of a tensor's shape and, unless another is named, dtype."""

    def __init__(self, dtype: Any = ...) -> None: ...
    def __call__(self, input: Any, fill_value: Any) -> Tensor: ...

class Eye(Primitive):
    """A matrix of n rows and m columns (n by default) with ones on its diagonal, zeros elsewhere."""

    def __init__(self) -> None: ...
    def __call__(self, n: Any, m: Any = ..., dtype: Any = ...) -> Tensor: ...

class LinSpace(Primitive):
    """Numbers from start to end, both included, at equal distances; of Python numbers in float32."""

    def __init__(self) -> None: ...
    def __call__(self, start: Any, end: Any, steps: Any) -> Tensor: ...

class Squeeze(Primitive):
    """Drop axes of length 1: the ones given, or all of them."""

    def __init__(self, axis: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class ExpandDims(Primitive):
    """Add an axis of length 1."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, axis: Any) -> Tensor: ...

class Flatten(Primitive):
    """Make one axis of those from start_dim to end_dim; order F reverses the axes first."""

    def __init__(self, order: Any = ..., start_dim: Any = ..., end_dim: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Tile(Primitive):
    """Repeat the whole along each axis, the last axes first; further ones are added in front."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any, dims: Any) -> Tensor: ...

class RepeatElements(Primitive):
    """Repeat each slice along an axis the same number of times."""

    def __init__(self, axis: Any = ...) -> None: ...
    def __call__(self, x: Any, rep: Any) -> Tensor: ...

class RepeatInterleave(Primitive):
    """Repeat each slice along an axis, all as often or each its own number of times; without an axis, elements."""

    def __init__(self, axis: Any = ...) -> None: ...
    def __call__(self, input: Any, repeats: Any) -> Tensor: ...

class ReverseV2(Primitive):
    """Reverse the order along the axes given."""

    def __init__(self, axis: Any = ..., dims: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Roll(Primitive):
    """Move elements along axes; what leaves at one end enters at the other. Without axes, as if it were one row."""

    def __init__(self, shifts: Any = ..., dims: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Split(Primitive):
    """Cut along an axis: into pieces of one size (the last may be shorter) or of the sizes listed; the class, into output_num equal ones. Gives a tuple."""

    def __init__(self, axis: Any = ..., output_num: Any = ..., split_size_or_sections: Any = ...) -> None: ...
    def __call__(self, tensor: Any) -> tuple[Tensor, ...]: ...

class Unstack(Primitive):
    """The slices along an axis, without it, as a tuple."""

    def __init__(self, axis: Any = ..., num: Any = ...) -> None: ...
    def __call__(self, input_x: Any) -> tuple[Tensor, ...]: ...

class Unpack(Primitive):
    """The slices along an axis, without it, as a tuple."""

    def __init__(self, axis: Any = ..., num: Any = ...) -> None: ...
    def __call__(self, input_x: Any) -> tuple[Tensor, ...]: ...

class Pad(Primitive):
    """Add elements around: `padding` is flat, before and behind of the last axis first, or (as the class takes it) one pair for each axis. Negative numbers cut off."""

    def __init__(self, paddings: Any = ..., padding: Any = ..., mode: Any = ..., value: Any = ...) -> None: ...
    def __call__(self, input_x: Any) -> Tensor: ...

class SwapAxes(Primitive):
    """Exchange two axes."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any, axis0: Any, axis1: Any) -> Tensor: ...

class MoveAxis(Primitive):
    """Move axes to other places; the others keep their order."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any, source: Any, destination: Any) -> Tensor: ...

class Tril(Primitive):
    """Matrices with zeros above a diagonal, counted from the main one upwards."""

    def __init__(self, diagonal: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Triu(Primitive):
    """Matrices with zeros below a diagonal, counted from the main one upwards."""

    def __init__(self, diagonal: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Diag(Primitive):
    """A tensor of twice as many axes with the elements on its diagonal, zeros elsewhere."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Diagonal(Primitive):
    """The elements on a diagonal of two axes, as a last axis."""

    def __init__(self, offset: Any = ..., dim1: Any = ..., dim2: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Meshgrid(Primitive):
    """Coordinates of a grid: one tensor of the grid's shape for each row of coordinates, as a tuple."""

    def __init__(self, indexing: Any = ...) -> None: ...
    def __call__(self, inputs: Any) -> tuple[Tensor, ...]: ...

class ApplyMomentum(Primitive):
    """accumulation = accumulation * momentum + gradient; variable -= learning_rate * accumulation, or with Nesterov's rule learning_rate * (gradient + momentum * accumulation). The gradient is multiplied by gradient_scale first."""

    def __init__(self, use_nesterov: Any = ..., use_locking: Any = ..., gradient_scale: Any = ...) -> None: ...
    def __call__(self, variable: Any, accumulation: Any, learning_rate: Any, gradient: Any, momentum: Any) -> Parameter: ...

class ApplyAdaMax(Primitive):
    """m = beta1 * m + (1 - beta1) * grad; v = max(beta2 * v, |grad|); var -= lr / (1 - beta1_power) * m / (v + epsilon)."""

    def __init__(self) -> None: ...
    def __call__(self, var: Any, m: Any, v: Any, beta1_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any) -> tuple[Parameter, ...]: ...

class ApplyAdadelta(Primitive):
    """accum = rho * accum + (1 - rho) * grad²; update = sqrt(accum_update + epsilon) * grad / sqrt(accum + epsilon); accum_update = rho * accum_update + (1 - rho) * update²; var -= lr * update."""

    def __init__(self) -> None: ...
    def __call__(self, var: Any, accum: Any, accum_update: Any, lr: Any, rho: Any, epsilon: Any, grad: Any) -> tuple[Parameter, ...]: ...

class ApplyAdagrad(Primitive):
    """accum += grad² (if update_slots); var -= lr * grad / sqrt(accum + 1e-6)."""

    def __init__(self, update_slots: Any = ...) -> None: ...
    def __call__(self, var: Any, accum: Any, lr: Any, grad: Any) -> tuple[Parameter, ...]: ...

class ApplyAdagradV2(Primitive):
    """accum += grad² (if update_slots); var -= lr * grad / (sqrt(accum) + epsilon), where a denominator of 0 is 1e-6."""

    def __init__(self, epsilon: Any = ..., update_slots: Any = ...) -> None: ...
    def __call__(self, var: Any, accum: Any, lr: Any, grad: Any) -> tuple[Parameter, ...]: ...

class ApplyAddSign(Primitive):
    """m = beta * m + (1 - beta) * grad; var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad."""

    def __init__(self) -> None: ...
    def __call__(self, var: Any, m: Any, lr: Any, alpha: Any, sign_decay: Any, beta: Any, grad: Any) -> tuple[Parameter, ...]: ...

class ApplyPowerSign(Primitive):
    """m = beta * m + (1 - beta) * grad; var -= lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad."""

    def __init__(self) -> None: ...
    def __call__(self, var: Any, m: Any, lr: Any, logbase: Any, sign_decay: Any, beta: Any, grad: Any) -> tuple[Parameter, ...]: ...

class ApplyGradientDescent(Primitive):
    """var -= alpha * delta."""

    def __init__(self) -> None: ...
    def __call__(self, var: Any, alpha: Any, delta: Any) -> Parameter: ...

class ApplyProximalAdagrad(Primitive):
    """accum += grad²; rate = lr / sqrt(accum); x = var - rate * grad; var = sign(x) * max(|x| - rate * l1, 0) / (1 + rate * l2), with l1 counted as 0 where it is negative."""

    def __init__(self, use_locking: Any = ...) -> None: ...
    def __call__(self, var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any) -> tuple[Parameter, ...]: ...

class ApplyProximalGradientDescent(Primitive):
    """x = var - alpha * delta; var = sign(x) * max(|x| - alpha * l1, 0) / (1 + alpha * l2), with l1 counted as 0 where it is negative."""

    def __init__(self) -> None: ...
    def __call__(self, var: Any, alpha: Any, l1: Any, l2: Any, delta: Any) -> Parameter: ...

class MaxPool2DExt(Primitive):
    """The maximum of each window of the last axes; with return_indices also where it is in the flattened axes. The stride is the window's size unless one is given."""

    def __init__(self, kernel_size: Any = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., return_indices: Any = ..., ceil_mode: Any = ...) -> None: ...
    def __call__(self, x: Any) -> tuple[Tensor, ...]: ...

class MaxPool3DExt(Primitive):
    """The maximum of each window of the last axes; with return_indices also where it is in the flattened axes. The stride is the window's size unless one is given."""

    def __init__(self, kernel_size: Any = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: Any = ..., return_indices: Any = ...) -> None: ...
    def __call__(self, x: Any) -> tuple[Tensor, ...]: ...

class AvgPool1DExt(Primitive):
    """The mean of each window of the last axes; padding counts as zeros unless count_include_pad is off."""

    def __init__(self, kernel_size: Any = ..., stride: Any = ..., padding: Any = ..., ceil_mode: Any = ..., count_include_pad: Any = ...) -> None: ...
    def __call__(self, input_x: Any) -> Tensor: ...

class AvgPool2DExt(Primitive):
    """The mean of each window of the last axes; padding counts as zeros unless count_include_pad is off."""

    def __init__(self, kernel_size: Any = ..., stride: Any = ..., padding: Any = ..., ceil_mode: Any = ..., count_include_pad: Any = ..., divisor_override: Any = ...) -> None: ...
    def __call__(self, input_x: Any) -> Tensor: ...

class AvgPool3DExt(Primitive):
    """The mean of each window of the last axes; padding counts as zeros unless count_include_pad is off."""

    def __init__(self, kernel_size: Any = ..., stride: Any = ..., padding: Any = ..., ceil_mode: Any = ..., count_include_pad: Any = ..., divisor_override: Any = ...) -> None: ...
    def __call__(self, input_x: Any) -> Tensor: ...

class MaxPool(Primitive):
    """The maximum of each window of the last two axes; of pad_mode same, padding does not count."""

    def __init__(self, kernel_size: Any = ..., strides: Any = ..., pad_mode: Any = ..., data_format: Any = ...) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class AvgPool(Primitive):
    """The mean of each window of the last two axes; of pad_mode same, padding does not count."""

    def __init__(self, kernel_size: Any = ..., strides: Any = ..., pad_mode: Any = ..., data_format: Any = ...) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class AdaptiveAvgPool1D(Primitive):
    """Means of windows that divide the last axes into the numbers given; None keeps an axis."""

    def __init__(self, output_size: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class AdaptiveAvgPool2D(Primitive):
    """Means of windows that divide the last axes into the numbers given; None keeps an axis."""

    def __init__(self, output_size: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class AdaptiveAvgPool3D(Primitive):
    """Means of windows that divide the last axes into the numbers given; None keeps an axis."""

    def __init__(self, output_size: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Interpolate(Primitive):
    """Resize the axes behind batch and channels, to a size or by a factor. Modes: nearest, nearest-exact, area, and linear, bilinear and trilinear for one, two and three axes."""

    def __init__(self, size: Any = ..., scale_factor: Any = ..., mode: Any = ..., align_corners: Any = ..., recompute_scale_factor: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class BatchMatMul(Primitive):
    """Products of the matrices in the last two axes; leading axes broadcast."""

    def __init__(self, transpose_a: Any = ..., transpose_b: Any = ...) -> None: ...
    def __call__(self, input_x: Any, mat2: Any) -> Tensor: ...

class Dot(Primitive):
    """Sums of products over the last axis of the first and the last but one of the second, for all other axes."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any, other: Any) -> Tensor: ...

class Outer(Primitive):
    """Products of each element of one with each of the other, both flattened."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any, vec2: Any) -> Tensor: ...

class TensorDot(Primitive):
    """Sums of products over pairs of axes: the last n of one with the first n of the other, or the axes named."""

    def __init__(self) -> None: ...
    def __call__(self, x1: Any, x2: Any, axes: Any) -> Tensor: ...

class Einsum(Primitive):
    """Sums of products in Einstein's notation, as in `ij,jk->ik`."""

    def __init__(self, equation: Any = ...) -> None: ...
    def __call__(self, equation: Any, operands: Any) -> Tensor: ...

class SplitKey(Primitive):
    """Keys, one a row, whose numbers resemble neither each other's nor those of the key they come from."""

    def __init__(self) -> None: ...
    def __call__(self, key: Any, num: Any = ...) -> Tensor: ...

class StandardNormalExt(Primitive):
    """Numbers of the normal distribution of mean 0 and deviation 1."""

    def __init__(self, dtype: Any = ...) -> None: ...
    def __call__(self, shape: Any, key: Any) -> Tensor: ...

class Normal(Primitive):
    """Numbers of a normal distribution; mean and deviation may be numbers (then float32) or tensors."""

    def __init__(self) -> None: ...
    def __call__(self, shape: Any, mean: Any, stddev: Any, key: Any) -> Tensor: ...

class UniformExt(Primitive):
    """Numbers from minval up to, not including, maxval, all equally likely."""

    def __init__(self, dtype: Any = ...) -> None: ...
    def __call__(self, shape: Any, minval: Any, maxval: Any, key: Any) -> Tensor: ...

class RandInt(Primitive):
    """Integers from low up to, not including, high, all equally likely."""

    def __init__(self, dtype: Any = ...) -> None: ...
    def __call__(self, low: Any, high: Any, size: Any, key: Any) -> Tensor: ...

class BernoulliExt(Primitive):
    """1 with probability p (0.5 unless given), else 0, of the input's shape and dtype."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any, p: Any = ..., *, key: Any) -> Tensor: ...

class RandpermExt(Primitive):
    """The numbers from 0 up to, not including, n in random order."""

    def __init__(self, dtype: Any = ...) -> None: ...
    def __call__(self, n: Any, key: Any) -> Tensor: ...

class Shuffle(Primitive):
    """The slices along the first axis in random order."""

    def __init__(self) -> None: ...
    def __call__(self, x: Any, key: Any) -> Tensor: ...

class MultinomialExt(Primitive):
    """Indices drawn with probabilities in proportion to the input's last axis, with replacement or all different."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any, num_samples: Any, replacement: Any = ..., *, key: Any) -> Tensor: ...

class RandomCategorical(Primitive):
    """Indices drawn with the probabilities that the softmax of each row of logits gives."""

    def __init__(self, dtype: Any = ...) -> None: ...
    def __call__(self, logits: Any, num_sample: Any, key: Any) -> Tensor: ...

class ReduceSum(Primitive):
    """Sum; integers keep their dtype and wrap, over the axes given, over all of them by default."""

    def __init__(self, keep_dims: Any = ...) -> None: ...
    def __call__(self, x: Any, axis: Any = ...) -> Tensor: ...

class ReduceProd(Primitive):
    """Product; integers keep their dtype and wrap, over the axes given, over all of them by default."""

    def __init__(self, keep_dims: Any = ...) -> None: ...
    def __call__(self, x: Any, axis: Any = ...) -> Tensor: ...

class ReduceMax(Primitive):
    """Maximum over the axes given, over all of them by default."""

    def __init__(self, keep_dims: Any = ...) -> None: ...
    def __call__(self, x: Any, axis: Any = ...) -> Tensor: ...

class ReduceMin(Primitive):
    """Minimum over the axes given, over all of them by default."""

    def __init__(self, keep_dims: Any = ...) -> None: ...
    def __call__(self, x: Any, axis: Any = ...) -> Tensor: ...

class ReduceMean(Primitive):
    """Mean; that of integers keeps the dtype and truncates, over the axes given, over all of them by default."""

    def __init__(self, keep_dims: Any = ...) -> None: ...
    def __call__(self, x: Any, axis: Any = ...) -> Tensor: ...

class ReduceAll(Primitive):
    """Whether all elements are non-zero over the axes given, over all of them by default."""

    def __init__(self, keep_dims: Any = ...) -> None: ...
    def __call__(self, x: Any, axis: Any = ...) -> Tensor: ...

class ReduceAny(Primitive):
    """Whether any element is non-zero over the axes given, over all of them by default."""

    def __init__(self, keep_dims: Any = ...) -> None: ...
    def __call__(self, x: Any, axis: Any = ...) -> Tensor: ...

class Argmax(Primitive):
    """The index of the maximum along an axis; the first of equals, NaN counts as the maximum."""

    def __init__(self, axis: Any = ..., output_type: Any = ...) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class Argmin(Primitive):
    """The index of the minimum along an axis; the first of equals, NaN counts as the minimum."""

    def __init__(self, axis: Any = ..., output_type: Any = ...) -> None: ...
    def __call__(self, x: Any) -> Tensor: ...

class ScatterAdd(Primitive):
    """Update rows of input_x in place, one index after another: x = x + update."""

    def __init__(self, use_locking: Any = ...) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Parameter: ...

class ScatterSub(Primitive):
    """Update rows of input_x in place, one index after another: x = x - update."""

    def __init__(self, use_locking: Any = ...) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Parameter: ...

class ScatterMul(Primitive):
    """Update rows of input_x in place, one index after another: x = x * update."""

    def __init__(self, use_locking: Any = ...) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Parameter: ...

class ScatterDiv(Primitive):
    """Update rows of input_x in place, one index after another: x = x / update; integers truncate toward zero at each step."""

    def __init__(self, use_locking: Any = ...) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Parameter: ...

class ScatterMax(Primitive):
    """Update rows of input_x in place, one index after another: x = x if x > update, else update."""

    def __init__(self, use_locking: Any = ...) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Parameter: ...

class ScatterMin(Primitive):
    """Update rows of input_x in place, one index after another: x = update if x > update, else x."""

    def __init__(self, use_locking: Any = ...) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Parameter: ...

class ScatterUpdate(Primitive):
    """Update rows of input_x in place, one index after another: x = update: the last one stays."""

    def __init__(self, use_locking: Any = ...) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Parameter: ...

class ScatterNdAdd(Primitive):
    """Update slices of input_x in place, one index after another: x = x + update."""

    def __init__(self, use_locking: Any = ...) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Parameter: ...

class ScatterNdSub(Primitive):
    """Update slices of input_x in place, one index after another: x = x - update."""

    def __init__(self, use_locking: Any = ...) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Parameter: ...

class ScatterNdUpdate(Primitive):
    """Update slices of input_x in place, one index after another: x = update: the last one stays."""

    def __init__(self, use_locking: Any = ...) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Parameter: ...

class ScatterNonAliasingAdd(Primitive):
    """Update slices of input_x in place, one index after another: x = x + update."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Parameter: ...

class TensorScatterAdd(Primitive):
    """Return input_x with slices updated, one index after another: x = x + update. input_x stays as it is."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Tensor: ...

class TensorScatterSub(Primitive):
    """Return input_x with slices updated, one index after another: x = x - update. input_x stays as it is."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Tensor: ...

class TensorScatterMul(Primitive):
    """Return input_x with slices updated, one index after another: x = x * update. input_x stays as it is."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Tensor: ...

class TensorScatterDiv(Primitive):
    """Return input_x with slices updated, one index after another: x = x / update; integers truncate toward zero at each step. input_x stays as it is."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Tensor: ...

class TensorScatterMax(Primitive):
    """Return input_x with slices updated, one index after another: x = x if x > update, else update. input_x stays as it is."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Tensor: ...

class TensorScatterMin(Primitive):
    """Return input_x with slices updated, one index after another: x = update if x > update, else x. input_x stays as it is."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Tensor: ...

class TensorScatterUpdate(Primitive):
    """Return input_x with slices updated, one index after another: x = update: the last one stays. input_x stays as it is."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, indices: Any, updates: Any) -> Tensor: ...

class Select(Primitive):
    """x where the condition is true, else y; shapes broadcast."""

    def __init__(self) -> None: ...
    def __call__(self, condition: Any, input_x: Any, input_y: Any) -> Tensor: ...

class Gather(Primitive):
    """Take slices along an axis, one per index. Indices are never negative."""

    def __init__(self) -> None: ...
    def __call__(self, input_params: Any, input_indices: Any, axis: Any = ...) -> Tensor: ...

class OneHot(Primitive):
    """on_value at the position that each index names along a new axis, off_value elsewhere."""

    def __init__(self, axis: Any = ...) -> None: ...
    def __call__(self, indices: Any, depth: Any, on_value: Any, off_value: Any) -> Tensor: ...

class Reshape(Primitive):
    """The same elements in another shape; one length may be -1."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, shape: Any) -> Tensor: ...

class Transpose(Primitive):
    """Permute the axes."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, input_perm: Any) -> Tensor: ...

class BroadcastTo(Primitive):
    """Repeat along new axes and axes of length 1."""

    def __init__(self, shape: Any = ...) -> None: ...
    def __call__(self, input_x: Any) -> Tensor: ...

class Concat(Primitive):
    """Join tensors along an axis; they are converted to one dtype."""

    def __init__(self, axis: Any = ...) -> None: ...
    def __call__(self, tensors: Any) -> Tensor: ...

class Stack(Primitive):
    """Join tensors of one shape along a new axis; they are converted to one dtype."""

    def __init__(self, axis: Any = ...) -> None: ...
    def __call__(self, tensors: Any) -> Tensor: ...

class StridedSlice(Primitive):
    """x[begin:end:strides] over the first axes. Bit i of a mask changes entry i: begin_mask and end_mask leave the bound out, ellipsis_mask makes it `...`, new_axis_mask a new axis, shrink_axis_mask the index begin[i]."""

    def __init__(self, begin_mask: Any = ..., end_mask: Any = ..., ellipsis_mask: Any = ..., new_axis_mask: Any = ..., shrink_axis_mask: Any = ...) -> None: ...
    def __call__(self, input_x: Any, begin: Any, end: Any, strides: Any) -> Tensor: ...

class Slice(Primitive):
    """The part that begins somewhere and has some size; -1 means as far as there are elements."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, begin: Any, size: Any) -> Tensor: ...

class SliceScatter(Primitive):
    """input with the slice start:end:step of an axis replaced by src; negative bounds count from the end."""

    def __init__(self, axis: Any = ..., start: Any = ..., end: Any = ..., step: Any = ...) -> None: ...
    def __call__(self, input: Any, src: Any) -> Tensor: ...

class GatherNd(Primitive):
    """The slice at each row of coordinates: the last axis of indices says where, one number for each leading axis."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, indices: Any) -> Tensor: ...

class GatherD(Primitive):
    """The element at each index along an axis, at the place of the index along the others; negative ones count from the end."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any, dim: Any, index: Any) -> Tensor: ...

class Take(Primitive):
    """The elements at positions of the flattened tensor; negative ones count from the end."""

    def __init__(self) -> None: ...
    def __call__(self, input: Any, index: Any) -> Tensor: ...

class MaskedFill(Primitive):
    """value where the mask is true, else x; x and the mask broadcast."""

    def __init__(self) -> None: ...
    def __call__(self, input_x: Any, mask: Any, value: Any) -> Tensor: ...

class Where(Primitive):
    """input where the condition is true, else other; shapes broadcast. Two Python scalars make a tensor."""

    def __init__(self) -> None: ...
    def __call__(self, condition: Any, input: Any, other: Any) -> Tensor: ...

class Sort(Primitive):
    """The elements in order along an axis, equal ones in the order in which they are, and where each came from."""

    def __init__(self, axis: Any = ..., descending: Any = ...) -> None: ...
    def __call__(self, input_x: Any) -> tuple[Tensor, ...]: ...

class ArgSort(Primitive):
    """Where the elements in order along an axis come from; equal ones keep their order."""

    def __init__(self, axis: Any = ..., descending: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class TopK(Primitive):
    """The k greatest elements along an axis (the last by default), or the k least, and where they are."""

    def __init__(self, sorted: Any = ..., dim: Any = ..., largest: Any = ...) -> None: ...
    def __call__(self, input: Any, k: Any) -> tuple[Tensor, ...]: ...

class SearchSorted(Primitive):
    """Where each value would have to stand in a sorted row: before equal ones, or behind them (right)."""

    def __init__(self, dtype: Any = ..., right: Any = ..., out_int32: Any = ..., side: Any = ...) -> None: ...
    def __call__(self, sorted_sequence: Any, values: Any, sorter: Any = ...) -> Tensor: ...

class Unique(Primitive):
    """The distinct elements in the order in which they first appear, filled up to the given size, and the position of each element's value among them."""

    def __init__(self, size: Any = ..., fill_value: Any = ...) -> None: ...
    def __call__(self, input: Any) -> tuple[Tensor, ...]: ...

class NonZero(Primitive):
    """The indices of the elements that are not 0, one a row, in order, filled up to the given number of rows."""

    def __init__(self, size: Any = ..., fill_value: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class CumSum(Primitive):
    """The running sum along an axis: of the elements before (exclusive), from the end (reverse)."""

    def __init__(self, exclusive: Any = ..., reverse: Any = ..., dtype: Any = ...) -> None: ...
    def __call__(self, x: Any, axis: Any) -> Tensor: ...

class CumProd(Primitive):
    """The running product along an axis: of the elements before (exclusive), from the end (reverse)."""

    def __init__(self, exclusive: Any = ..., reverse: Any = ..., dtype: Any = ...) -> None: ...
    def __call__(self, x: Any, dim: Any) -> Tensor: ...

class Cummax(Primitive):
    """The running maximum along an axis, and where it is: the last of equals; a NaN stays."""

    def __init__(self, axis: Any = ...) -> None: ...
    def __call__(self, input: Any) -> tuple[Tensor, ...]: ...

class Cummin(Primitive):
    """The running minimum along an axis, and where it is: the last of equals; a NaN stays."""

    def __init__(self, axis: Any = ...) -> None: ...
    def __call__(self, input: Any) -> tuple[Tensor, ...]: ...

class SparseApplyAdagrad(Primitive):
    """accum += grad² (if update_slots); var -= lr * grad / sqrt(accum). Equal indices: their gradients are added first. Rows not named stay as they are, and rows out of range are left out."""

    def __init__(self, lr: Any = ..., update_slots: Any = ..., use_locking: Any = ...) -> None: ...
    def __call__(self, var: Any, accum: Any, grad: Any, indices: Any) -> tuple[Parameter, ...]: ...

class SparseApplyAdagradV2(Primitive):
    """accum += grad² (if update_slots); var -= lr * grad / (sqrt(accum) + epsilon). Equal indices: one after another. Rows not named stay as they are, and rows out of range are left out."""

    def __init__(self, lr: Any = ..., epsilon: Any = ..., use_locking: Any = ..., update_slots: Any = ...) -> None: ...
    def __call__(self, var: Any, accum: Any, grad: Any, indices: Any) -> tuple[Parameter, ...]: ...

class SparseApplyFtrl(Primitive):
    """new = accum + grad²; sigma = (new^-lr_power - accum^-lr_power) / lr; linear += grad - sigma * var; accum = new; var = (sign(linear) * l1 - linear) / (new^-lr_power / lr + 2 * l2) if |linear| > l1 else 0. Equal indices: one after another. Rows not named stay as they are, and rows out of range are left out."""

    def __init__(self, lr: Any = ..., l1: Any = ..., l2: Any = ..., lr_power: Any = ..., use_locking: Any = ...) -> None: ...
    def __call__(self, var: Any, accum: Any, linear: Any, grad: Any, indices: Any) -> tuple[Parameter, ...]: ...

class SparseApplyFtrlV2(Primitive):
    """As SparseApplyFtrl, with linear += grad + 2 * l2_shrinkage * var - sigma * var. Equal indices: one after another. Rows not named stay as they are, and rows out of range are left out."""

    def __init__(self, lr: Any = ..., l1: Any = ..., l2: Any = ..., l2_shrinkage: Any = ..., lr_power: Any = ..., use_locking: Any = ...) -> None: ...
    def __call__(self, var: Any, accum: Any, linear: Any, grad: Any, indices: Any) -> tuple[Parameter, ...]: ...

class SparseApplyProximalAdagrad(Primitive):
    """ApplyProximalAdagrad on the rows named. Equal indices: one after another. Rows not named stay as they are, and rows out of range are left out."""

    def __init__(self, use_locking: Any = ...) -> None: ...
    def __call__(self, var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any, indices: Any) -> tuple[Parameter, ...]: ...

class FusedSparseFtrl(Primitive):
    """new = accum + grad²; sigma = (new^-lr_power - accum^-lr_power) / lr; linear += grad - sigma * var; accum = new; var = (sign(linear) * l1 - linear) / (new^-lr_power / lr + 2 * l2) if |linear| > l1 else 0. Equal indices: their gradients are added first. Rows not named stay as they are, and rows out of range are left out."""

    def __init__(self, lr: Any = ..., l1: Any = ..., l2: Any = ..., lr_power: Any = ..., use_locking: Any = ...) -> None: ...
    def __call__(self, var: Any, accum: Any, linear: Any, grad: Any, indices: Any) -> tuple[Parameter, ...]: ...

class FusedSparseProximalAdagrad(Primitive):
    """ApplyProximalAdagrad on the rows named. Equal indices: their gradients are added first. Rows not named stay as they are, and rows out of range are left out."""

    def __init__(self, use_locking: Any = ...) -> None: ...
    def __call__(self, var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any, indices: Any) -> tuple[Parameter, ...]: ...

class FusedSparseAdam(Primitive):
    """On the whole table, with a gradient of 0 for rows not named: m = beta1 * m + (1 - beta1) * grad; v = beta2 * v + (1 - beta2) * grad²; mean = m, or with Nesterov's rule beta1 * m + (1 - beta1) * grad; var -= lr * sqrt(1 - beta2_power) / (1 - beta1_power) * mean / (sqrt(v) + epsilon). Equal indices: their gradients are added first. Rows out of range are left out."""

    def __init__(self, use_locking: Any = ..., use_nesterov: Any = ...) -> None: ...
    def __call__(self, var: Any, m: Any, v: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any, indices: Any) -> tuple[Parameter, ...]: ...

class FusedSparseLazyAdam(Primitive):
    """m = beta1 * m + (1 - beta1) * grad; v = beta2 * v + (1 - beta2) * grad²; mean = m, or with Nesterov's rule beta1 * m + (1 - beta1) * grad; var -= lr * sqrt(1 - beta2_power) / (1 - beta1_power) * mean / (sqrt(v) + epsilon). Equal indices: their gradients are added first. Rows not named stay as they are, and rows out of range are left out."""

    def __init__(self, use_locking: Any = ..., use_nesterov: Any = ...) -> None: ...
    def __call__(self, var: Any, m: Any, v: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any, indices: Any) -> tuple[Parameter, ...]: ...

class Assign(Primitive):
    """Write value into variable; returns variable."""

    def __init__(self) -> None: ...
    def __call__(self, variable: Any, value: Any) -> Parameter: ...

class AssignAdd(Primitive):
    """Add value to variable in place; returns variable."""

    def __init__(self) -> None: ...
    def __call__(self, variable: Any, value: Any) -> Parameter: ...

class AssignSub(Primitive):
    """Subtract value from variable in place; returns variable."""

    def __init__(self) -> None: ...
    def __call__(self, variable: Any, value: Any) -> Parameter: ...

class Var(Primitive):
    """The variance over the axes given, over all of them by default; the divisor is the number of elements less ddof."""

    def __init__(self, axis: Any = ..., ddof: Any = ..., keepdims: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class Std(Primitive):
    """The standard deviation over the axes given, over all of them by default; the divisor is the number of elements less ddof."""

    def __init__(self, axis: Any = ..., ddof: Any = ..., keepdims: Any = ...) -> None: ...
    def __call__(self, input: Any) -> Tensor: ...

class LogSumExp(Primitive):
    """The logarithm of the sum of the exponentials over the axes given, without overflow; `()` means all."""

    def __init__(self, keepdim: Any = ...) -> None: ...
    def __call__(self, input: Any, dim: Any) -> Tensor: ...

class Norm(Primitive):
    """The norm of vectors (one axis in dim) or matrices (two), by default of all elements as one vector. Integers are taken to float32 first."""

    def __init__(self, ord: Any = ..., dim: Any = ..., keepdim: Any = ..., dtype: Any = ...) -> None: ...
    def __call__(self, A: Any) -> Tensor: ...
