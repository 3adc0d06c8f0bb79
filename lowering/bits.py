"""Lowering of Bitcast. XLA reads bits between real dtypes only, so a complex array goes as its components."""

from __future__ import annotations

import functools
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from lowering.arrays import type_of
from lowering.registry import lower
from tracejit.dtypes import DType
from tracejit.errors import DTypeError
from tracejit.locations import Location


@lower("bitcast", located=True)
def bitcast(x: Any, dtype: DType, location: Location | None = None) -> Any:
    """Read the bits as another dtype; differentiating this is an error."""
    return _read_bits(x, dtype.numpy, location)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _read_bits(x: Any, target: Any, location: Location | None) -> Any:
    return _read(x, target)


@_read_bits.defjvp
def _(target: Any, location: Location | None, primals: Any, tangents: Any) -> NoReturn:
    (x,) = primals
    raise DTypeError(
        f"bitcast has no gradient: the bits of {x.dtype} read as {target} do not change smoothly",
        location=location,
        types={"x": type_of(x)},
        rule="as in TensorFlow, whatever the dtypes, the same one included",
        fix="put what should be a constant to the gradient behind ops.stop_gradient(x)",
    )


def _read(x: Any, target: Any) -> Any:
    if x.dtype == target:
        return x
    if not _is_complex(x.dtype) and not _is_complex(target):
        return lax.bitcast_convert_type(x, target)
    ratio = x.dtype.itemsize // target.itemsize
    shape = x.shape[:-1] if ratio == 0 else (*x.shape, ratio) if ratio > 1 else x.shape
    return _from_components(_components(x), target).reshape(shape)


def _is_complex(dtype: Any) -> bool:
    return jnp.issubdtype(dtype, jnp.complexfloating)


def _components(x: Any) -> Any:
    """Return the real numbers that the array consists of, in one row; a complex one's real part comes first."""
    if _is_complex(x.dtype):
        x = jnp.stack([lax.real(x), lax.imag(x)], -1)
    return x.reshape(x.size)


def _from_components(row: Any, target: Any) -> Any:
    """Return the elements of the target dtype that a row of real numbers holds."""
    real = np.finfo(target).dtype if _is_complex(target) else target
    per_element = real.itemsize // row.dtype.itemsize
    if per_element > 1:
        row = row.reshape(row.size // per_element, per_element)
    row = lax.bitcast_convert_type(row, real)
    row = row.reshape(row.size)
    if not _is_complex(target):
        return row
    pairs = row.reshape(row.size // 2, 2)
    return lax.complex(pairs[:, 0], pairs[:, 1])
