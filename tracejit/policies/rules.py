"""The names and texts of the rules that every policy has; a policy words those that it knows better."""

from __future__ import annotations

GENERAL_RULES = {
    "same-dtype": "Tensors of one dtype compute in it.",
    "highest-priority": "The tensors are converted to the dtype among theirs that stands above the others.",
    "common-dtype": "The tensors are converted to the least dtype that stands above all of theirs.",
    "scalar-adopts": "A Python scalar takes the dtype of the tensors.",
    "scalar-raises": "A Python scalar raises the dtype of the tensors.",
    "bool-int-scalar": "A Python int raises bool tensors to the default integer dtype.",
    "bool-float-scalar": "A Python float raises bool tensors to the default float dtype.",
    "bool-complex-scalar": "A Python complex raises bool tensors to the default complex dtype.",
    "integer-float-scalar": "A Python float raises integer tensors to the default float dtype.",
    "integer-complex-scalar": "A Python complex raises integer tensors to the default complex dtype.",
    "float-complex-scalar": "A Python complex raises float tensors to the complex dtype of their precision.",
    "only-scalars": "Python scalars alone stay a Python scalar, of the highest kind among them.",
    "not-combined": "These dtypes are not converted to each other implicitly.",
    "zero-d-adopts": "A 0-d tensor takes the dtype of the tensors with axes where its category is not higher.",
    "zero-d-category": "A 0-d tensor of a higher category than the tensors with axes raises them to its dtype.",
    "written-parameter": "A Parameter that an operator writes is never converted.",
    # Rules of tracejit's own, the same under every policy.
    "hyper-parameter": "A scalar input with a group of its own takes the written Parameter's dtype.",
    "scalar-scalar": "Python scalars compute as Python does and stay scalars.",
    "returned-scalar": "A Python scalar that a jitted function returns becomes a tensor: bool, int64, float32, "
    "complex64.",
    "item-assignment": "A value assigned to items takes the dtype of the tensor, where that loses nothing.",
    "carry-adopts": "A Python scalar that a loop starts with takes the dtype that the loop gives it.",
    "branch-index": "The index of a branch is an int32.",
    "loop-index": "The bounds of a loop are int32, or the 64-bit integer among them.",
    "out-of-range-comparison": "A Python int outside the tensor's dtype compares by its true value.",
}
_KIND_NAMES = {"bool": "bool", "uint": "integer", "int": "integer", "float": "float", "complex": "complex"}


def name_of_scalar_rule(tensor_kind: str, scalar_kind: str) -> str:
    """Return the name of the rule by which a Python scalar raises tensors: `integer-float-scalar`, for one."""
    return f"{_KIND_NAMES[tensor_kind]}-{scalar_kind}-scalar"
