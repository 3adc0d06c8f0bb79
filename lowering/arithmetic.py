"""Lowerings of element-wise arithmetic. Operands arrive in one dtype; shapes broadcast here."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero
from jax.scipy.special import xlogy as _xlogy

from lowering.arrays import x64
from lowering.broadcasting import align, like
from lowering.registry import lower


def _is_integer(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.integer)


def _is_complex(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.complexfloating)


@lower("add")
def add(x: Any, y: Any) -> Any:
    """Add; bool with bool is a logical or."""
    x, y = align(x, y)
    return lax.bitwise_or(x, y) if x.dtype == bool else lax.add(x, y)


@lower("sub")
def sub(x: Any, y: Any) -> Any:
    """Subtract; bool with bool is an exclusive or."""
    x, y = align(x, y)
    return lax.bitwise_xor(x, y) if x.dtype == bool else lax.sub(x, y)


@lower("mul")
def mul(x: Any, y: Any) -> Any:
    """Multiply; bool with bool is a logical and."""
    x, y = align(x, y)
    return lax.bitwise_and(x, y) if x.dtype == bool else lax.mul(x, y)


def _least(x: Any) -> Any:
    return np.iinfo(x.dtype).min


def _by_zero(x: Any) -> Any:
    """Return the quotient by zero: the greatest integer, the least, or 0 by the sign of x."""
    info = np.iinfo(x.dtype)
    zero = like(x, 0)
    negative = lax.select(lax.lt(x, zero), like(x, info.min), zero)
    return lax.select(lax.gt(x, zero), like(x, info.max), negative)


def _safe_divisor(x: Any, y: Any) -> Any:
    """Replace the divisors for which XLA's result is implementation defined (0; -1 under the least) by 1."""
    bad = lax.eq(y, like(y, 0))
    if np.iinfo(x.dtype).min < 0:
        overflow = lax.bitwise_and(lax.eq(y, like(y, -1)), lax.eq(x, like(x, _least(x))))
        bad = lax.bitwise_or(bad, overflow)
    return lax.select(bad, like(y, 1), y)


def integer_quotient(x: Any, y: Any) -> Any:
    """Divide integers exactly, toward zero; by zero as `_by_zero`; the least by -1 is the least."""
    quotient = lax.div(x, _safe_divisor(x, y))
    return lax.select(lax.eq(y, like(y, 0)), _by_zero(x), quotient)


def _integer_remainder(x: Any, y: Any) -> Any:
    """Return the remainder with the sign of x; 0 for the divisor 0."""
    remainder = lax.rem(x, _safe_divisor(x, y))
    return lax.select(lax.eq(y, like(y, 0)), like(x, 0), remainder)


def _opposite(remainder: Any, y: Any) -> Any:
    """Say where a non-zero remainder has the other sign than the divisor, so that flooring goes one lower."""
    differ = lax.ne(lax.lt(remainder, like(y, 0)), lax.lt(y, like(y, 0)))
    return lax.bitwise_and(lax.ne(remainder, like(y, 0)), differ)


@lower("div")
def div(x: Any, y: Any, dialect: str = "r1.1") -> Any:
    """Divide; r1.1 truncates integers, 2.x divides them in float32."""
    if dialect == "2.x" and not jnp.issubdtype(x.dtype, jnp.inexact):
        x, y = (lax.convert_element_type(z, jnp.float32) for z in (x, y))
    return real_div(x, y)


@lower("real_div")
def real_div(x: Any, y: Any) -> Any:
    """Divide; integers toward zero."""
    x, y = align(x, y)
    return integer_quotient(x, y) if _is_integer(x) else lax.div(x, y)


@lower("div_no_nan")
def div_no_nan(x: Any, y: Any) -> Any:
    """Divide; 0 where the divisor is 0."""
    x, y = align(x, y)
    zero = lax.eq(y, like(y, 0))
    quotient = real_div(x, lax.select(zero, like(y, 1), y))  # no 0 below the line: its gradient would be NaN
    return lax.select(zero, like(x, 0), quotient)


def _as_numbers(x: Any) -> Any:
    return lax.convert_element_type(x, jnp.uint8) if x.dtype == bool else x


@lower("floor_div")
def floor_div(x: Any, y: Any) -> Any:
    """Divide and round toward minus infinity."""
    x, y = align(x, y)
    if x.dtype == bool:
        return lax.ne(floor_div(_as_numbers(x), _as_numbers(y)), like(_as_numbers(x), 0))
    if not _is_integer(x):
        return _floor_quotient(x, y)
    lower_one = lax.convert_element_type(_opposite(_integer_remainder(x, y), y), x.dtype)
    return lax.sub(integer_quotient(x, y), lower_one)


def _floor_quotient(x: Any, y: Any) -> Any:
    """Round the real quotient of floats down: 9 for 1 by float32's 0.1, whose rounded quotient is 10."""
    quotient = lax.div(x, y)
    whole = lax.floor(quotient)
    above = lax.gt(lax.mul(lax.abs(floor_mod(x, y)), like(y, 2)), lax.abs(y))
    rounded_up = lax.bitwise_and(lax.eq(whole, quotient), above)
    return lax.select(rounded_up, lax.sub(whole, like(whole, 1)), whole)


def _truncate(x: Any) -> Any:
    return lax.select(lax.lt(x, like(x, 0)), lax.ceil(x), lax.floor(x))


@lower("truncate_div")
def truncate_div(x: Any, y: Any) -> Any:
    """Divide and round toward zero."""
    x, y = align(x, y)
    if x.dtype == bool:
        return floor_div(x, y)
    return integer_quotient(x, y) if _is_integer(x) else _truncate(lax.div(x, y))


def _float_remainder(x: Any, y: Any) -> Any:
    """Return x - trunc(x / y) * y without rounding errors, which XLA's fused multiply-add would change at will."""
    # y - y is +0, and NaN for an infinite y: as in the formula, whose result also is never -0.
    return lax.add(lax.rem(x, y), lax.sub(y, y))


@lower("floor_mod")
def floor_mod(x: Any, y: Any) -> Any:
    """MindSpore's x - floor(x / y) * y, with the real quotient."""
    x, y = align(x, y)
    if x.dtype == bool:
        return lax.ne(floor_mod(_as_numbers(x), _as_numbers(y)), like(_as_numbers(x), 0))
    remainder = _integer_remainder(x, y) if _is_integer(x) else _float_remainder(x, y)
    return lax.select(_opposite(remainder, y), lax.add(remainder, y), remainder)


@lower("mod")
def mod(x: Any, y: Any) -> Any:
    """MindSpore's x - trunc(x / y) * y, with the real quotient; 0 modulo 0 is 0."""
    x, y = align(x, y)
    if _is_integer(x):
        return _integer_remainder(x, y)
    both_zero = lax.bitwise_and(lax.eq(x, like(x, 0)), lax.eq(y, like(y, 0)))
    return _float_remainder(x, lax.select(both_zero, like(y, 1), y))


@lower("truncate_mod")
def truncate_mod(x: Any, y: Any) -> Any:
    """C's fmod."""
    x, y = align(x, y)
    return _integer_remainder(x, y) if _is_integer(x) else lax.rem(x, y)


@lower("pow")
def pow_(x: Any, y: Any) -> Any:
    """Raise to a power; integers exactly modulo 2**bits."""
    x, y = align(x, y)
    if x.dtype == bool:
        return lax.bitwise_or(x, lax.bitwise_not(y))
    return _integer_power(x, y) if _is_integer(x) else _float_power(x, y)


_float_power = jax.custom_jvp(lax.pow)


def _power_slope(primals: Any, tangents: Any) -> Any:
    """Give JAX's, but 0 for x ** 0 at x = 0 too, where y * x ** (y - 1) is 0 * inf."""
    (x, y), (dx, dy) = primals, tangents
    slopes = []
    if not isinstance(dx, SymbolicZero):
        lower = lax.select(lax.eq(y, like(y, 0)), like(y, 1), lax.sub(y, like(y, 1)))
        slopes.append(lax.mul(dx, lax.mul(y, _float_power(x, lower))))
    if not isinstance(dy, SymbolicZero):
        slopes.append(jax.jvp(lambda y: lax.pow(x, y), (y,), (dy,))[1])
    return _float_power(x, y), functools.reduce(lax.add, slopes)


_float_power.defjvp(_power_slope, symbolic_zeros=True)


def _multiply_and_square(_: Any, carry: Any) -> Any:
    result, base, exponent = carry
    odd = lax.eq(lax.bitwise_and(exponent, like(exponent, 1)), like(exponent, 1))
    result = lax.select(odd, lax.mul(result, base), result)
    return result, lax.mul(base, base), lax.shift_right_logical(exponent, like(exponent, 1))


def _integer_power(x: Any, y: Any) -> Any:
    """Square and multiply over the exponent's bits; negative exponents give 0, or ±1 for the base ±1."""
    unsigned = np.dtype(f"uint{x.dtype.itemsize * 8}")
    bits = lax.bitcast_convert_type(y, unsigned)
    power, _, _ = lax.fori_loop(0, x.dtype.itemsize * 8, _multiply_and_square, (like(x, 1), x, bits))
    if np.iinfo(x.dtype).min == 0:
        return power
    even = lax.eq(lax.bitwise_and(y, like(y, 1)), like(y, 0))
    minus_one = lax.select(even, like(x, 1), like(x, -1))
    inverse = lax.select(lax.eq(x, like(x, -1)), minus_one, like(x, 0))
    inverse = lax.select(lax.eq(x, like(x, 1)), like(x, 1), inverse)
    return lax.select(lax.lt(y, like(y, 0)), inverse, power)


def _choose(compare: Any) -> Any:
    """Make Maximum or Minimum: a false comparison picks y; at ties each operand gets half the gradient."""

    @jax.custom_jvp
    def choose(x: Any, y: Any) -> Any:
        return lax.select(compare(x, y), x, y)

    @choose.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        x, y = primals
        half = lax.select(lax.eq(x, y), like(x, 0.5), like(x, 0))
        share = lax.select(compare(x, y), like(x, 1), half)
        dx, dy = tangents
        return choose(x, y), lax.add(lax.mul(share, dx), lax.mul(lax.sub(like(x, 1), share), dy))

    return choose


_maximum, _minimum = _choose(lax.gt), _choose(lax.lt)


@lower("maximum")
def maximum(x: Any, y: Any) -> Any:
    """Return x if x > y, else y."""
    x, y = align(x, y)
    return _maximum(x, y) if jnp.issubdtype(x.dtype, jnp.floating) else lax.max(x, y)


@lower("minimum")
def minimum(x: Any, y: Any) -> Any:
    """Return x if x < y, else y."""
    x, y = align(x, y)
    return _minimum(x, y) if jnp.issubdtype(x.dtype, jnp.floating) else lax.min(x, y)


@lower("squared_difference")
def squared_difference(x: Any, y: Any) -> Any:
    """Square the difference (with the conjugate, for complex numbers)."""
    difference = lax.sub(*align(x, y))
    return lax.mul(lax.conj(difference) if _is_complex(difference) else difference, difference)


@lower("atan2")
def atan2(x: Any, y: Any) -> Any:
    """Return the angle; integers are computed in the widest float there is and truncated."""
    x, y = align(x, y)
    if not (_is_integer(x) or x.dtype == bool):
        return lax.atan2(x, y)
    wide = jnp.float64 if x64() else jnp.float32
    angle = lax.atan2(lax.convert_element_type(x, wide), lax.convert_element_type(y, wide))
    return lax.convert_element_type(angle, x.dtype)


@lower("xdivy")
def xdivy(x: Any, y: Any) -> Any:
    """Divide; 0 where x is 0."""
    x, y = align(x, y)
    zero = lax.eq(x, like(x, 0))
    return lax.select(zero, like(x, 0), lax.div(x, lax.select(zero, like(y, 1), y)))


@lower("xlogy")
def xlogy(x: Any, y: Any) -> Any:
    """Multiply x by log(y); 0 where x is 0 and y is not NaN."""
    x, y = align(x, y)
    if not _is_complex(x):
        return _xlogy(x, y)
    zero = lax.bitwise_and(lax.eq(x, like(x, 0)), lax.eq(y, y))
    return lax.select(zero, like(x, 0), lax.mul(x, lax.log(lax.select(zero, like(y, 1), y))))


@lower("bitwise_and")
def bitwise_and(x: Any, y: Any) -> Any:
    """Bitwise and."""
    return lax.bitwise_and(*align(x, y))


@lower("bitwise_or")
def bitwise_or(x: Any, y: Any) -> Any:
    """Bitwise or."""
    return lax.bitwise_or(*align(x, y))


@lower("bitwise_xor")
def bitwise_xor(x: Any, y: Any) -> Any:
    """Bitwise exclusive or."""
    return lax.bitwise_xor(*align(x, y))
