"""Where recorded runs of MindSpore differ from the binary operators, Cast, Assign* and Tensor(), and by which rule.

`tests/recorded_rules.py` says which recorded rows fall under each and what tracejit gives for them;
`tests/test_recorded_rows.py` fails for a row that differs without standing here, and for a difference without a row.
"""

from __future__ import annotations

from docs.recorded_differences import Difference

_OUT_OF_RANGE = (
    "a Python int that does not fit the tensor's integer dtype: OverflowError under `mindspore`, where comparisons "
    "answer by the true value; wraps under `mindspore2`"
)
_ONE_ANSWER = "`mindspore2` has one answer for class, function and operator; a refusal by one of them is not followed"
_SYMBOLS = "`& | ^` are Bitwise*, `**` is Pow, comparisons are the named operators"
_DEFECT = "defects of MindSpore's kernels are not copied"
_NINE = "dtypes outside the nine combine with themselves and with a Python scalar of their kind or a lower one"
_TENSOR = (
    "Tensor(data): a Python float is float32, an int int64, a complex complex64, lists likewise; an int that does not "
    "fit raises OverflowError; arrays convert as Cast does"
)

DIFFERENCES = {
    "bool-with-int": Difference(
        "all that take integers",
        "1.1.1, 2.10 under `mindspore`",
        "a bool tensor with a Python int: int64 (SquaredDifference refuses it: TypeError)",
        "int32",
        "bool tensor with a Python int: int32 under `mindspore`, as the pages say",
    ),
    "int-out-of-range": Difference(
        "all but comparisons",
        "1.1.1, 2.10 under `mindspore`",
        "a Python int outside of the tensor's dtype wraps",
        "OverflowError",
        _OUT_OF_RANGE,
    ),
    "true-value": Difference(
        "comparisons",
        "1.1.1, 2.10 under `mindspore`",
        "a Python int outside of the tensor's dtype wraps and is then compared",
        "compares by the true value",
        _OUT_OF_RANGE,
    ),
    "float64-scalar": Difference(
        "all that take float64, AssignAdd, AssignSub",
        "2.10",
        "a float scalar with a float64 tensor passes through float32",
        "computes with the float as it is",
        "a float scalar with a float64 tensor is exact",
    ),
    "compared-unconverted": Difference(
        "Equal, Less, `<`, reflected `>`",
        "2.10",
        "compare a scalar unconverted, by its true value",
        "converts the scalar to the tensor's dtype, as the other comparisons of 2.10 do",
        "a Python scalar adopts the tensor's dtype; one int that does not fit wraps under `mindspore2`",
    ),
    "scalar-first": Difference(
        "Equal, Less",
        "2.10",
        "refuse a scalar as first operand (TypeError)",
        "take it",
        _ONE_ANSWER,
    ),
    "int-beyond-int64": Difference(
        "Add, Mul, Div, Pow, Maximum, Equal, `+`",
        "1.1.1, 2.10",
        "a Python int of 2**63 and above with a float tensor: RuntimeError",
        "converts it to the float dtype",
        "OverflowError is for integer dtypes; with a float tensor a Python int adopts its dtype",
    ),
    "compared-beyond-int64": Difference(
        "`==`",
        "2.10",
        "a Python int of 2**63 and above with an int64 tensor: SystemError",
        "OverflowError",
        "2**63 and above for int64: OverflowError everywhere",
    ),
    "div-out-of-range": Difference(
        "Div, `/`",
        "2.10",
        "divides by (or into) a Python int outside of the tensor's dtype unwrapped, in float32",
        "wraps it to the tensor's dtype, then divides in float32",
        _OUT_OF_RANGE,
    ),
    "modulus-by-zero": Difference(
        "FloorMod, Mod, `%`", "2.10", "an integer modulo zero is the least integer", "0", "modulus by zero: 0"
    ),
    "negative-zero": Difference(
        "Div, RealDiv, FloorDiv, TruncateDiv, `/`, `//`",
        "2.10",
        "take -0.0 for +0.0 as divisor",
        "follow IEEE",
        "division by -0.0: IEEE",
    ),
    "integer-power": Difference(
        "Pow, `**`",
        "1.1.1, 2.10",
        "computes integer powers in float64, which saturates",
        "is exact modulo 2**bits; a negative exponent gives 0, or ±1 for the base ±1",
        "integer power: exact modulo 2**bits",
    ),
    "negative-exponent": Difference(
        "Pow, `**`",
        "1.1.1, 2.10",
        "an integer tensor to a negative Python int: 0, or ±1 for the base ±1",
        "ValueError",
        "a negative Python int as exponent: ValueError",
    ),
    "integer-modulus": Difference(
        "`%`",
        "2.10",
        "computes in float64, where int64 beyond 2**53 is rounded",
        "is exact",
        "integer division: exact in the integer dtype, never through floats",
    ),
    "missing-symbols": Difference(
        "`&`, `|`, `^`, reflected `**`",
        "1.1.1; reflected `&`, `|`, `^` 2.10",
        "are not defined (TypeError)",
        "give what the operator's class gives",
        _SYMBOLS,
    ),
    "not-equal-scalar": Difference(
        "`!=`",
        "1.1.1",
        "a bool tensor with a scalar: AttributeError",
        "is NotEqual",
        _SYMBOLS,
    ),
    "bool-bitwise": Difference(
        "BitwiseAnd, BitwiseOr, BitwiseXor",
        "1.1.1",
        "refuse bool with bool (TypeError)",
        "bool",
        "Bitwise* of bool with bool: accepted, an extension under `mindspore`",
    ),
    "bool-arithmetic": Difference(
        "Add, Sub, reflected `-`",
        "2.10",
        "refuse bool with bool (TypeError), which `+` and `-` take",
        "bool",
        "`mindspore2` has one answer for class, function and operator: bool with bool in `+ - *` gives bool",
    ),
    "zero-d-right": Difference(
        "Mul, Div",
        "2.10",
        "a 0-d right operand takes no part in promotion",
        "promotes it",
        "0-d tensors are tensors; Mul with a 0-d right operand skipping promotion is not followed",
    ),
    "mul-int8-int64": Difference(
        "Mul", "2.10", "int8 with a shorter int64 tensor reads foreign memory", "multiplies in int64", _DEFECT
    ),
    "numpy-arrays": Difference(
        "all",
        "1.1.1, 2.10",
        "refuse NumPy arrays (TypeError); on the left of a symbol NumPy takes over",
        "takes them as tensors, on either side",
        "NumPy arrays are tensors",
    ),
    "numpy-scalars": Difference(
        "all",
        "1.1.1; 2.10 on the left of a symbol",
        "refuse NumPy scalars (TypeError); on the left of a symbol NumPy takes over, or the dtype stays the tensor's",
        "takes them as Python scalars of their kind, on either side",
        "a NumPy scalar counts as a Python scalar of its kind, as in MindSpore 1.10 and later",
    ),
    "lists": Difference(
        "`+`", "2.10", "makes tensors of lists and tuples", "TypeError", "lists and tuples as operands: TypeError"
    ),
    "two-scalars": Difference(
        "all",
        "2.10",
        "give a 0-d tensor for two Python scalars",
        "TypeError",
        "two Python scalars given to an operator: TypeError",
    ),
    "wide-unsigned-scalar": Difference(
        "Add, Mul, Equal, Maximum, `+`",
        "1.1.1",
        "refuse uint16, uint32 and uint64 with a Python int or bool (TypeError)",
        "keep the tensor's dtype",
        _NINE,
    ),
    "outside-the-nine": Difference(
        "Add, Mul, Equal, Maximum, `+`",
        "2.10 under `mindspore` (1.1.1 lacks these dtypes)",
        "convert between bfloat16, complex64, complex128 and the nine",
        "TypeError",
        _NINE + "; anything else TypeError",
    ),
    "mul-wide-unsigned-bool": Difference(
        "Mul",
        "2.10",
        "refuses bool with uint16, uint32 and uint64 (TypeError), which Add takes",
        "gives the unsigned dtype",
        _ONE_ANSWER,
    ),
    "tensor-of-floats": Difference("Tensor()", "1.1.1", "Python floats make a float64 tensor", "float32", _TENSOR),
    "tensor-of-complex": Difference(
        "Tensor()",
        "1.1.1, 2.10",
        "a Python complex number: TypeError in 1.1.1, complex128 in 2.10",
        "complex64",
        _TENSOR,
    ),
    "tensor-out-of-range": Difference(
        "Tensor()",
        "1.1.1, 2.10",
        "a Python int that does not fit the dtype wraps; 2**63 makes a uint64 tensor",
        "OverflowError",
        _TENSOR,
    ),
    "tensor-of-nan": Difference("Tensor()", "1.1.1, 2.10", "NaN as int32 is the least integer", "0", _TENSOR),
    "float-to-integer": Difference(
        "Cast",
        "2.10",
        "floats out of the integer's range, and NaN, give x86's bits",
        "clamps; NaN gives 0",
        "float to integer out of range clamps, NaN gives 0",
    ),
    "xlogy-of-zero": Difference(
        "Xlogy",
        "2.10",
        "NaN at x = 0 where log(y) is not finite",
        "0 unless y is NaN",
        "Xlogy at x = 0: 0 unless y is NaN",
    ),
    "xlogy-of-integers": Difference(
        "Xlogy",
        "2.10 in graph mode",
        "infers float32 for integers, and has no kernel",
        "TypeError",
        "Xlogy takes float and (2.x) complex dtypes; integers: TypeError",
    ),
    "xdivy-of-zero": Difference(
        "Xdivy", "2.10", "NaN at x = 0 with y = NaN where shapes broadcast", "0 where x = 0", _DEFECT
    ),
    "assigned-shapes": Difference(
        "AssignAdd, AssignSub",
        "1.1.1",
        "take a value of another shape; AssignAdd updates the leading elements",
        "ValueError",
        "shapes are equal, or a scalar with a Parameter of one element; " + _DEFECT,
    ),
    "assigned-tensors": Difference(
        "Assign, AssignAdd, AssignSub",
        "2.10",
        "write to a plain Tensor",
        "TypeError",
        "writing to a plain Tensor: TypeError",
    ),
}
