"""The sparse optimizers (OPS.md 5): rows of a table and of its state, updated from a gradient for each row named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracejit.dtypes import float32
from tracejit.errors import AttributeTypeError, AttributeValueError, DTypeError, ParameterCastError, ShapeError
from tracejit.ops import checks, references
from tracejit.ops.optimizers import UPDATE_SLOTS, USE_LOCKING, USE_NESTEROV, accepts, check_scalars, check_state
from tracejit.ops.record import Attribute, Bound, Op, Sample, op, parse_operands
from tracejit.ops.sets import HALF_AND_SINGLE

Shape = tuple[int, ...]
SINGLE = frozenset((float32,))


def _sparse(zero_d: bool) -> Callable[..., list[Shape]]:
    def shape(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
        names = [spec.name for spec in op.operands]
        gradient, indices = names.index("grad"), names.index("indices")
        check_state(op, types, op.writes)
        _check_rows(op, types, types[0].shape, types[gradient].shape, types[indices].shape)
        check_scalars(op, types, range(len(op.writes), gradient), zero_d)
        return [types[position].shape for position in op.writes]

    return shape


def _check_rows(op: Op, types: Sequence[Any], variable: Shape, gradient: Shape, indices: Shape) -> None:
    if not variable:
        raise ShapeError(f"{op.name}: var must have an axis of rows", types=op.names_of(types))
    if len(indices) != 1:
        raise ShapeError(
            f"{op.name}: indices must have rank 1, and has the shape {list(indices)}",
            types=op.names_of(types),
            rule="indices names one row of var for each row of grad",
            fix="flatten both, as in indices.reshape((-1,))",
        )
    if gradient != indices + variable[1:]:
        raise ShapeError(
            f"{op.name}: grad has the shape {list(gradient)}, and {[*indices, *variable[1:]]} is needed",
            types=op.names_of(types),
            rule="grad.shape = indices.shape + var.shape[1:]",
            fix="give grad one row for each index",
        )


def _bounds(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Bound]:
    position = next(i for i, spec in enumerate(op.operands) if spec.role == "index")
    return [Bound(position, (types[0].shape[0],))]


def _sample(
    signature: str, shape: str, rows: str = "3", dtype: str = "f32", gradient: str = "f32", scalar: str = "0.25"
) -> str:
    operands, _ = parse_operands(signature)
    inner = ",".join(shape.split(",")[1:])
    special = {"grad": f"{gradient}[{rows}{',' if inner else ''}{inner}]", "indices": f"i32[{rows}]"}
    state = f"{dtype}[{shape}]"
    return " ".join(state if s.role == "write" else special.get(s.name, scalar) for s in operands)


def _samples(signature: str, attributes: Mapping[str, Any], half: bool, zero_d: bool) -> tuple[Sample, ...]:
    plain = _sample(signature, "4,2")
    good = [
        plain,
        _sample(signature, "3", "5", scalar="f32[]"),
        _sample(signature, "2,2,3", "4", gradient="i8"),
        _sample(signature, "4,2").replace("i32[3]", "i64[3]"),
        _sample(signature, "4,2", "0"),
        _sample(signature, "0,2", "0"),
    ]
    if half:
        good.append(_sample(signature, "3,2", "3", "f16", "u8", "0.5"))
    bad = [
        (plain.replace("i32[3]", "i32[3,1]"), ShapeError),
        (plain.replace("i32[3]", "i32[2]"), ShapeError),
        (plain.replace("f32[3,2]", "f32[3,1]"), ShapeError),
        (plain.replace("f32[4,2]", "f32[4,1]", 1), ShapeError),
        (plain.replace("i32[3]", "u8[3]"), DTypeError),
        (plain.replace("i32[3]", "f32[3]"), DTypeError),
        (_sample(signature, "4,2", dtype="f16"), ParameterCastError),
        (_sample(signature, "4,2", dtype="i8"), ParameterCastError),
        (_sample(signature, "4,2", dtype="f64"), DTypeError),
    ]
    if " 0.25" in plain:
        bad += [(_sample(signature, "4,2", scalar="f32[2]"), ShapeError)]
        bad += [(_sample(signature, "4,2", scalar="f32[1]"), ShapeError)] if zero_d else []
        good += [] if zero_d else [_sample(signature, "4,2", scalar="f32[1]")]
    checked = [Sample(plain, {**attributes, name: bad}, error) for name, bad, error in _bad_attributes(attributes)]
    return (*[Sample(text, attributes) for text in good], *[Sample(text, attributes, e) for text, e in bad], *checked)


def _bad_attributes(attributes: Mapping[str, Any]) -> list[tuple[str, Any, type[Exception]]]:
    bad: list[tuple[str, Any, type[Exception]]] = [("use_locking", 1, AttributeTypeError)]
    bad += [(name, 1, AttributeTypeError) for name in attributes]
    if "lr" in attributes:
        bad.append(
            ("lr", float("nan"), AttributeValueError)
            if "epsilon" not in attributes
            else ("lr", None, AttributeTypeError)
        )
    if "lr_power" in attributes:
        values = [("lr", 0.0), ("l1", -0.5), ("l2", float("inf")), ("lr_power", 0.5)]
        bad += [(name, value, AttributeValueError) for name, value in values]
    return bad


def _sparse_optimizer(
    class_name: str,
    signature: str,
    doc: str,
    reference: Callable[..., Any],
    attributes: Sequence[Attribute],
    *,
    tensors: Any = HALF_AND_SINGLE,
    zero_d: bool = False,
    sample: Mapping[str, Any] | None = None,
    differs: str = "",
) -> Op:
    return op(
        class_name,
        signature,
        doc=f"{doc} Rows not named stay as they are, and rows out of range are left out."
        if class_name != "FusedSparseAdam"
        else f"{doc} Rows out of range are left out.",
        result=("T",) * signature.count(":W:"),
        accepts=accepts(signature, tensors, HALF_AND_SINGLE),
        attributes=attributes,
        shape=_sparse(zero_d),
        bounds=_bounds,
        drops=True,
        reference=reference,
        samples=_samples(signature, sample or {}, tensors is not SINGLE, zero_d),
        differs=f"Indices are int32 or int64. {differs}".strip(),
    )


_RATE = Attribute("lr", checks.finite)
_FTRL = (
    Attribute("lr", checks.positive),
    Attribute("l1", checks.not_negative),
    Attribute("l2", checks.not_negative),
    Attribute("lr_power", checks.not_positive),
)
_FTRL_SAMPLE = {"lr": 0.5, "l1": 0.25, "l2": 0.125, "lr_power": -0.5}
_ADAGRAD = "var:W:T, accum:W:T, grad:T, indices:index"
_FTRL_STATE = "var:W:T, accum:W:T, linear:W:T, grad:T, indices:index"
_FTRL_DOC = (
    "new = accum + grad²; sigma = (new^-lr_power - accum^-lr_power) / lr; linear += grad - sigma * var; accum = new; "
    "var = (sign(linear) * l1 - linear) / (new^-lr_power / lr + 2 * l2) if |linear| > l1 else 0."
)
_IN_ORDER = "Equal indices: one after another."
_SUMMED = "Equal indices: their gradients are added first."
_RETURNS = "Returns the updated Parameters (MindSpore's results carry no information)."
_DROPS = "Rows out of range are left out (MindSpore's CPU kernel {} there)."

sparse_apply_adagrad = _sparse_optimizer(
    "SparseApplyAdagrad",
    _ADAGRAD,
    f"accum += grad² (if update_slots); var -= lr * grad / sqrt(accum). {_SUMMED}",
    references.summed_first(references.sparse_adagrad_row, 2),
    (_RATE, UPDATE_SLOTS, USE_LOCKING),
    sample={"lr": 0.25},
)
sparse_apply_adagrad_v2 = _sparse_optimizer(
    "SparseApplyAdagradV2",
    _ADAGRAD,
    f"accum += grad² (if update_slots); var -= lr * grad / (sqrt(accum) + epsilon). {_IN_ORDER}",
    references.one_after_another(references.sparse_adagrad_v2_row, 2),
    (Attribute("lr", checks.real), Attribute("epsilon", checks.real), USE_LOCKING, UPDATE_SLOTS),
    sample={"lr": 0.25, "epsilon": 0.125},
    differs="epsilon stands outside the root (2.10 puts it inside, 2.0 takes lr for it). "
    + _DROPS.format("ends the process"),
)
sparse_apply_ftrl = _sparse_optimizer(
    "SparseApplyFtrl",
    _FTRL_STATE,
    f"{_FTRL_DOC} {_IN_ORDER}",
    references.one_after_another(references.ftrl_row, 3),
    (*_FTRL, USE_LOCKING),
    sample=_FTRL_SAMPLE,
    differs=_DROPS.format("writes out of bounds"),
)
sparse_apply_ftrl_v2 = _sparse_optimizer(
    "SparseApplyFtrlV2",
    _FTRL_STATE,
    f"As SparseApplyFtrl, with linear += grad + 2 * l2_shrinkage * var - sigma * var. {_IN_ORDER}",
    references.one_after_another(references.ftrl_row, 3),
    (*_FTRL[:3], Attribute("l2_shrinkage", checks.real), _FTRL[3], USE_LOCKING),
    sample={**_FTRL_SAMPLE, "l2_shrinkage": 0.5},
)
sparse_apply_proximal_adagrad = _sparse_optimizer(
    "SparseApplyProximalAdagrad",
    "var:W:T, accum:W:T, lr:S:T1, l1:S:T2, l2:S:T3, grad:T, indices:index",
    f"ApplyProximalAdagrad on the rows named. {_IN_ORDER}",
    references.one_after_another(references.proximal_adagrad, 2),
    (USE_LOCKING,),
    differs="A hyper-parameter of shape [1] is taken in both dialects (2.x takes 0-d ones only).",
)
fused_sparse_ftrl = _sparse_optimizer(
    "FusedSparseFtrl",
    _FTRL_STATE,
    f"{_FTRL_DOC} {_SUMMED}",
    references.summed_first(references.ftrl_row, 3),
    (*_FTRL, USE_LOCKING),
    tensors=SINGLE,
    sample=_FTRL_SAMPLE,
    differs=_RETURNS,
)
fused_sparse_proximal_adagrad = _sparse_optimizer(
    "FusedSparseProximalAdagrad",
    "var:W:T, accum:W:T, lr:T, l1:T, l2:T, grad:T, indices:index",
    f"ApplyProximalAdagrad on the rows named. {_SUMMED}",
    references.summed_first(references.proximal_adagrad, 2),
    (USE_LOCKING,),
    tensors=SINGLE,
    zero_d=True,
    differs=_RETURNS,
)
_ADAM = "var:W:T, m:W:T, v:W:T, beta1_power:T, beta2_power:T, lr:T, beta1:T, beta2:T, epsilon:T, grad:T, indices:index"
_ADAM_DOC = (
    "m = beta1 * m + (1 - beta1) * grad; v = beta2 * v + (1 - beta2) * grad²; mean = m, or with Nesterov's rule "
    "beta1 * m + (1 - beta1) * grad; "
    "var -= lr * sqrt(1 - beta2_power) / (1 - beta1_power) * mean / (sqrt(v) + epsilon)."
)
_ADAM_DIFFERS = f"beta1_power = 1 gives what IEEE arithmetic gives, and no error. {_RETURNS}"
fused_sparse_adam = _sparse_optimizer(
    "FusedSparseAdam",
    _ADAM,
    f"On the whole table, with a gradient of 0 for rows not named: {_ADAM_DOC} {_SUMMED}",
    references.sparse_adam,
    (USE_LOCKING, USE_NESTEROV),
    differs="With Nesterov's rule rows not named follow it too (MindSpore's kernel applies stale memory there). "
    + _ADAM_DIFFERS,
)
fused_sparse_lazy_adam = _sparse_optimizer(
    "FusedSparseLazyAdam",
    _ADAM,
    f"{_ADAM_DOC} {_SUMMED}",
    references.summed_first(references.lazy_adam_row, 3),
    (USE_LOCKING, USE_NESTEROV),
    differs=_ADAM_DIFFERS,
)
