"""The error classes, and the one function that words a message.

Every message says what happened, the user's file, line and source text, the types as `f32[4]`, the rule that
decided, and one fix. The classes are DECISIONS.md's: shape and range are ValueErrors, dtype and attribute types
TypeErrors, the conversion of a written Parameter is both a RuntimeError (MindSpore r1.1) and a TypeError (2.x).
"""

from __future__ import annotations

from collections.abc import Mapping

from tracejit.locations import Location, user_location, user_traceback


def compose(
    what: str,
    *,
    location: Location | None = None,
    types: Mapping[str, object] | None = None,
    rule: str | None = None,
    fix: str | None = None,
) -> str:
    """Word a message: what happened, where, the types, the rule, the fix, each on a line of its own."""
    lines = [what]
    if location is not None:
        text = f"\n      {location.text}" if location.text else ""
        lines.append(f'  at "{location.file}", line {location.line}{text}')
    if types:
        lines.append("  types: " + ", ".join(f"{name}: {type_}" for name, type_ in types.items()))
    if rule:
        lines.append(f"  rule: {rule}")
    if fix:
        lines.append(f"  fix: {fix}")
    return "\n".join(lines)


class TracejitError(Exception):
    """What all of tracejit's errors are, each beside the built-in class that it stands for.

    `what`, `location`, `types`, `rule` and `fix` hold the parts of the message. Where no location is given, the
    innermost line on the stack that is the user's is taken.
    """

    def __init__(
        self,
        what: str,
        *,
        location: Location | None = None,
        types: Mapping[str, object] | None = None,
        rule: str | None = None,
        fix: str | None = None,
    ):
        self.what, self.types, self.rule, self.fix = what, dict(types or {}), rule, fix
        self.location = location if location is not None else user_location(2)
        super().__init__(compose(what, location=self.location, types=self.types, rule=rule, fix=fix))


class DTypeError(TracejitError, TypeError):
    """A dtype that an operator or a policy does not take, or an operand that is no tensor at all."""


class ShapeError(TracejitError, ValueError):
    """Shapes that do not fit each other or the operator."""


class AttributeTypeError(TracejitError, TypeError):
    """An attribute of the wrong type, a missing one, or one that the operator does not have."""


class AttributeValueError(TracejitError, ValueError):
    """An attribute outside its range."""


class ParameterError(TracejitError, TypeError):
    """Something other than a Parameter where an operator writes, or a Parameter made where none can be."""


class ParameterCastError(TracejitError, RuntimeError, TypeError):
    """A written Parameter would have to be converted (seed pages, rule 3): r1.1's RuntimeError, 2.x's TypeError."""


class ParameterAliasError(TracejitError, ValueError):
    """One Parameter written twice by one operator, or two Parameters where their names must differ."""


class ScalarOverflowError(TracejitError, OverflowError):
    """A Python scalar that the group's integer dtype cannot hold (DECISIONS: policies mindspore, numpy2, strict)."""


class ImplicitCastError(TracejitError, TypeError):
    """Implicit conversions under the `strict` policy, all of a function's in one report."""


class IndexBoundsError(TracejitError, IndexError, ValueError, RuntimeError):
    """An index outside its axis; every Parameter is as it was."""


class TraceError(TracejitError, TypeError):
    """A traced value read as a Python value: `bool`, `int`, `float`, `iter`, `np.asarray`, `in`."""


class EscapedValueError(TracejitError, RuntimeError, TypeError):
    """A traced value used after its trace ended."""


class StateError(TracejitError, RuntimeError):
    """A write where none can be kept: under somebody else's JAX transformation, in a loop condition, under vmap."""


class StateLostError(TracejitError, RuntimeError):
    """A device failed in a donated call and took the named Parameters' buffers with it."""


class SavedFileError(TracejitError, ValueError):
    """A file that is not as it was saved: damaged, cut short, of another kind, or of a version that is not known."""


class ParameterMismatchError(TracejitError, ValueError, TypeError):
    """Saved Parameters that are not those they are loaded into; all differences of names, shapes and dtypes at once."""


class ExportError(TracejitError, TypeError):
    """A function that cannot be saved: it calls back into Python, or its arguments are of classes of its own."""


class PlatformError(TracejitError, NotImplementedError):
    """An operator without a lowering for a platform, or a saved program on a platform that it was not made for."""


class PlacementError(TracejitError, ValueError):
    """Arrays on devices that do not go together, or a sharding that does not fit a shape."""


class GradientError(TracejitError, ValueError):
    """A derivative that a function does not have: a loop of unknown length going back, `custom_vjp` going forward."""


class X64Error(TracejitError, TypeError):
    """A 64-bit type inside the user's own JAX transform while `jax_enable_x64` is off."""


class RetraceLimitError(TracejitError, RuntimeError):
    """A jitted function was traced more often than its `max_traces` allows."""


class VerificationError(TracejitError, AssertionError):
    """A Graph that breaks a rule of the IR; the message shows the Graph with a mark under the operation."""


class GraphSyntaxError(TracejitError, SyntaxError):
    """Graph text that cannot be parsed; the message shows the line and a caret."""


class RetraceWarning(UserWarning):
    """A jitted function keeps being traced anew; the message names the argument that changed."""


class LossyCastWarning(UserWarning):
    """An implicit conversion that can lose value, under `jit(on_lossy="warn")`."""


def hide_frames(error: BaseException) -> None:
    """Drop tracejit's and JAX's own frames from an error that leaves to the user, and from those that it came from.

    Used as `except ... as error: hide_frames(error); raise`: a bare `raise` adds no frame, so the traceback ends at
    the user's line. What the user raises stays what it was, its context included.
    """
    if isinstance(error, TracejitError):
        error.__suppress_context__ = True
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        current = pending.pop()
        if current is not None and id(current) not in seen:
            seen.add(id(current))
            current.__traceback__ = user_traceback(current.__traceback__)
            pending += [current.__cause__, current.__context__]
