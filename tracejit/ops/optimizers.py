"""The dense optimizers (OPS.md 4): a variable and its state, updated from a gradient of the same shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracejit.dtypes import float16, float32, float64
from tracejit.errors import DTypeError, ParameterCastError, ShapeError
from tracejit.ops import checks, references
from tracejit.ops.record import Attribute, Dialects, Op, Sample, op, parse_operands
from tracejit.ops.sets import COMPLEXES, HALF_AND_SINGLE, INTEGERS

Shape = tuple[int, ...]
GRADIENTS = ("gradient", "grad", "delta")
THREE_FLOATS = frozenset((float16, float32, float64))
#: MindSpore 2.x computes most of them in float64 too.
FLOATS_IN_2X = Dialects(HALF_AND_SINGLE, THREE_FLOATS)
#: Two of them take any number there.
NUMBERS_IN_2X = INTEGERS | THREE_FLOATS | COMPLEXES


def check_state(op: Op, types: Sequence[Any], positions: Sequence[int]) -> None:
    """Refuse state (or a dense gradient) whose shape is not the variable's."""
    for position in positions:
        if types[position].shape != types[0].shape:
            name, first = op.operands[position].name, op.operands[0].name
            raise ShapeError(
                f"{op.name}: {name} has the shape {list(types[position].shape)}, {first} {list(types[0].shape)}",
                types=op.names_of(types),
                rule="state and gradient have the shape of the variable; nothing broadcasts",
                fix=f"reshape {name}, or make it with ops.zeros({first}.shape, {first}.dtype)",
            )


def check_scalars(op: Op, types: Sequence[Any], positions: Sequence[int], zero_d: bool = False) -> None:
    """Refuse hyper-parameters that are no numbers of shape () or, unless that is excluded, (1,)."""
    for position in positions:
        if types[position].shape not in ([()] if zero_d else [(), (1,)]):
            name = op.operands[position].name
            raise ShapeError(
                f"{op.name}: {name} must be a scalar, and has the shape {list(types[position].shape)}",
                types=op.names_of(types),
                rule=f"{name} is a number or a tensor of shape []{'' if zero_d else ' or [1]'}",
                fix=f"take one element, as in {name}[0]",
            )


def _dense(op: Op, types: Sequence[Any], attributes: Mapping[str, Any]) -> list[Shape]:
    like_variable = [i for i, spec in enumerate(op.operands) if spec.role == "write" or spec.name in GRADIENTS]
    check_state(op, types, like_variable)
    check_scalars(op, types, [i for i in range(len(types)) if i not in like_variable])
    return [types[position].shape for position in op.writes]


def accepts(signature: str, tensors: Any, scalars: Any) -> dict[str, Any]:
    """Return what the groups of a signature accept: T, and hyper-parameters with groups of their own."""
    operands, _ = parse_operands(signature)
    return {"T": tensors, **{spec.group: scalars for spec in operands if spec.role == "scalar" and spec.group}}


_BOOL_ATTRIBUTE = {name: Attribute(name, checks.boolean, False) for name in ("use_locking", "use_nesterov")}
USE_LOCKING, USE_NESTEROV = _BOOL_ATTRIBUTE.values()
UPDATE_SLOTS = Attribute("update_slots", checks.boolean, True)


def _sample(signature: str, shape: str, dtype: str = "f32", gradient: str = "f32", scalar: str = "0.25") -> str:
    operands, _ = parse_operands(signature)
    texts = []
    for spec in operands:
        if spec.role == "write":
            texts.append(f"{dtype}[{shape}]")
        else:
            texts.append(f"{gradient}[{shape}]" if spec.name in GRADIENTS else scalar)
    return " ".join(texts)


def _samples(signature: str, attributes: Mapping[str, Any], own_group: bool) -> tuple[Sample, ...]:
    good = [
        _sample(signature, "2,3"),
        _sample(signature, "4", scalar="f32[]"),
        _sample(signature, "3", scalar="f32[1]"),
        _sample(signature, "", gradient="i8"),
        _sample(signature, "0"),
        _sample(signature, "2,2", "f16", "u8", "f32[]" if own_group else "0.5"),
    ]
    bad = [
        (_sample(signature, "4", scalar="f32[2]"), ShapeError),
        (_sample(signature, "4", scalar="f32[1,1]"), ShapeError),
        (_sample(signature, "4", "f16"), ParameterCastError),
        (_sample(signature, "4", "i32", "f32"), ParameterCastError),
        (_sample(signature, "4", gradient="f32").replace("f32[4]", "f32[1]", 1), ShapeError),
    ]
    if own_group:
        bad += [(_sample(signature, "4", scalar=scalar), DTypeError) for scalar in ("1", "True", "i32[]")]
    return (*[Sample(text, attributes) for text in good], *[Sample(text, attributes, e) for text, e in bad])


def _optimizer(
    class_name: str,
    signature: str,
    doc: str,
    reference: Callable[..., Any],
    *,
    tensors: Any = FLOATS_IN_2X,
    scalars: Any = FLOATS_IN_2X,
    sample: Mapping[str, Any] | None = None,
    **options: Any,
) -> Op:
    own_group = ":S:" in signature
    options.setdefault("result", ("T",) * signature.count(":W:"))
    return op(
        class_name,
        signature,
        doc=doc,
        accepts=accepts(signature, tensors, scalars),
        shape=_dense,
        reference=reference,
        samples=_samples(signature, sample or {}, own_group),
        **options,
    )


apply_momentum = _optimizer(
    "ApplyMomentum",
    "variable:W:T, accumulation:W:T, learning_rate:S:T1, gradient:T, momentum:S:T2",
    "accumulation = accumulation * momentum + gradient; variable -= learning_rate * accumulation, or with Nesterov's "
    "rule learning_rate * (gradient + momentum * accumulation). The gradient is multiplied by gradient_scale first.",
    references.momentum,
    attributes=(USE_NESTEROV, USE_LOCKING, Attribute("gradient_scale", checks.real, 1.0)),
    tensors=Dialects(THREE_FLOATS, NUMBERS_IN_2X),
    scalars=Dialects(THREE_FLOATS, NUMBERS_IN_2X),
    returns=1,
    differs="use_nesterov and gradient_scale count (MindSpore's CPU kernel ignores both). Returns variable alone.",
)
apply_ada_max = _optimizer(
    "ApplyAdaMax",
    "var:W:T, m:W:T, v:W:T, beta1_power:S:T1, lr:S:T2, beta1:S:T3, beta2:S:T4, epsilon:S:T5, grad:T",
    "m = beta1 * m + (1 - beta1) * grad; v = max(beta2 * v, |grad|); "
    "var -= lr / (1 - beta1_power) * m / (v + epsilon).",
    references.ada_max,
    differs="beta1_power = 1 gives what IEEE arithmetic gives, and no error.",
)
apply_adadelta = _optimizer(
    "ApplyAdadelta",
    "var:W:T, accum:W:T, accum_update:W:T, lr:S:T1, rho:S:T2, epsilon:S:T3, grad:T",
    "accum = rho * accum + (1 - rho) * grad²; update = sqrt(accum_update + epsilon) * grad / sqrt(accum + epsilon); "
    "accum_update = rho * accum_update + (1 - rho) * update²; var -= lr * update.",
    references.adadelta,
)
apply_adagrad = _optimizer(
    "ApplyAdagrad",
    "var:W:T, accum:W:T, lr:S:T1, grad:T",
    "accum += grad² (if update_slots); var -= lr * grad / sqrt(accum + 1e-6).",
    references.adagrad,
    attributes=(UPDATE_SLOTS,),
    differs="The constant is that of MindSpore 1.1.1 in both dialects (2.x has 1e-8), and update_slots=False counts.",
)
apply_adagrad_v2 = _optimizer(
    "ApplyAdagradV2",
    "var:W:T, accum:W:T, lr:S:T1, grad:T",
    "accum += grad² (if update_slots); var -= lr * grad / (sqrt(accum) + epsilon), where a denominator of 0 is 1e-6.",
    references.adagrad_v2,
    attributes=(Attribute("epsilon", checks.real), UPDATE_SLOTS),
    sample={"epsilon": 0.125},
)
apply_add_sign = _optimizer(
    "ApplyAddSign",
    "var:W:T, m:W:T, lr:S:T1, alpha:S:T2, sign_decay:S:T3, beta:S:T3, grad:T",
    "m = beta * m + (1 - beta) * grad; var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad.",
    references.add_sign,
)
apply_power_sign = _optimizer(
    "ApplyPowerSign",
    "var:W:T, m:W:T, lr:T, logbase:T, sign_decay:T, beta:T, grad:T",
    "m = beta * m + (1 - beta) * grad; var -= lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad.",
    references.power_sign,
)
apply_gradient_descent = _optimizer(
    "ApplyGradientDescent",
    "var:W:T, alpha:S:T1, delta:T",
    "var -= alpha * delta.",
    references.gradient_descent,
    tensors=Dialects(HALF_AND_SINGLE, NUMBERS_IN_2X),
    scalars=Dialects(HALF_AND_SINGLE, NUMBERS_IN_2X),
)
apply_proximal_adagrad = _optimizer(
    "ApplyProximalAdagrad",
    "var:W:T, accum:W:T, lr:S:T1, l1:S:T2, l2:S:T3, grad:T",
    "accum += grad²; rate = lr / sqrt(accum); x = var - rate * grad; "
    "var = sign(x) * max(|x| - rate * l1, 0) / (1 + rate * l2), with l1 counted as 0 where it is negative.",
    references.proximal_adagrad,
    attributes=(USE_LOCKING,),
    tensors=HALF_AND_SINGLE,
    scalars=HALF_AND_SINGLE,
    differs="A hyper-parameter of shape [1] is taken in both dialects (2.x takes 0-d ones only).",
)
apply_proximal_gradient_descent = _optimizer(
    "ApplyProximalGradientDescent",
    "var:W:T, alpha:S:T1, l1:S:T2, l2:S:T3, delta:T",
    "x = var - alpha * delta; var = sign(x) * max(|x| - alpha * l1, 0) / (1 + alpha * l2), with l1 counted as 0 "
    "where it is negative.",
    references.proximal_gradient_descent,
    differs="A hyper-parameter of shape [1] is taken in both dialects (2.x takes 0-d ones only).",
)
