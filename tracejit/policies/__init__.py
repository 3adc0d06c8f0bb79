"""The promotion policies: rules by which the operands of an operator find a common dtype.

`get(name)` gives one of `names()`, `register` adds one of your own. A policy is an argument (`jit(promotion=…)`,
`with tracejit.promotion(…)`, `result_type(…, promotion=…)`), never process-wide state.
"""

from __future__ import annotations

from tracejit.errors import AttributeTypeError, AttributeValueError
from tracejit.policies.engine import (
    UNKNOWN,
    Decision,
    ObjectResult,
    Operand,
    Policy,
    PromotionError,
    Rule,
    ValueNeeded,
    WrittenConversion,
)
from tracejit.policies.jax_ import JAX
from tracejit.policies.mindspore import MINDSPORE
from tracejit.policies.mindspore2 import MINDSPORE2
from tracejit.policies.numpy1 import NUMPY1
from tracejit.policies.numpy2 import NUMPY2
from tracejit.policies.strict import STRICT
from tracejit.policies.tensorflow import TENSORFLOW
from tracejit.policies.torch_ import TORCH

__all__ = [
    "UNKNOWN",
    "Decision",
    "ObjectResult",
    "Operand",
    "Policy",
    "PromotionError",
    "Rule",
    "ValueNeeded",
    "WrittenConversion",
    "get",
    "names",
    "register",
]

_known = {policy.name: policy for policy in (MINDSPORE, MINDSPORE2, NUMPY1, NUMPY2, JAX, TORCH, TENSORFLOW, STRICT)}


def names() -> tuple[str, ...]:
    """Return the names of the policies, tracejit's own first.

    >>> from tracejit import policies
    >>> policies.names()[:4]
    ('mindspore', 'mindspore2', 'numpy1', 'numpy2')
    """
    return tuple(_known)


def get(policy: str | Policy) -> Policy:
    """Return the policy of that name; a registered Policy is returned as it is.

    Raises AttributeValueError (a ValueError) for an unknown name and for a Policy that is not registered.

    >>> from tracejit import policies
    >>> policies.get("mindspore")
    <Policy mindspore>
    """
    if isinstance(policy, Policy):
        if _known.get(policy.name) is not policy:
            raise AttributeValueError(
                f"the policy {policy.name!r} is not registered", fix="register it first: policies.register(policy)"
            )
        return policy
    if not isinstance(policy, str):
        raise AttributeTypeError(
            f"{policy!r} is no promotion policy", fix=f"name one of {', '.join(_known)}, or give a Policy"
        )
    found = _known.get(policy)
    if found is None:
        raise AttributeValueError(f"no promotion policy is called {policy!r}", fix=f"use one of {', '.join(_known)}")
    return found


def register(policy: Policy) -> Policy:
    """Make a policy of your own known by its name, and return it.

    Raises AttributeValueError if the name is taken: a name means one set of rules for the life of the process, since
    Graphs and caches refer to policies by name.
    """
    if not isinstance(policy, Policy):
        raise AttributeTypeError(f"{policy!r} is no Policy", fix="make one with tracejit.policies.Policy(...)")
    if _known.setdefault(policy.name, policy) is not policy:
        raise AttributeValueError(f"a policy called {policy.name!r} is there already", fix="choose another name")
    return policy
