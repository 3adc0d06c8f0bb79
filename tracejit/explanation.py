"""`explain_casts`: every implicit conversion of a function, with its line, its rule, and whether it loses anything."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tracejit import policies
from tracejit.display import STYLES, Segment, Sheet, element, escape, fragment, place, plural, row, source
from tracejit.errors import AttributeTypeError
from tracejit.ir import TensorType
from tracejit.locations import Location
from tracejit.policies import Policy

JUDGEMENTS = ("lossless", "widening", "lossy")


class Written(NamedTuple):
    """A cast that the user wrote: no implicit conversion, but listed too, so that no cast of a Graph is missing."""

    from_: Any
    to: Any
    location: Location | None


class Explanation:
    """The implicit conversions of one function for arguments of some types. Made by `explain_casts`.

    A sequence of CastRecords, in program order; `print` and notebooks show it as a table grouped by source line.
    """

    def __init__(self, name: str, policy: str, casts: list[Any], written: list[Written], refused: int):
        self.name, self.policy, self.casts, self.written = name, policy, casts, written
        #: How many of the conversions the policy does not allow (`strict`).
        self.refused = refused

    def __len__(self) -> int:
        return len(self.casts)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.casts)

    def __getitem__(self, index: Any) -> Any:
        return self.casts[index]

    @property
    def counts(self) -> dict[str, int]:
        """How many of the conversions are lossless, widening and lossy."""
        found = Counter([cast.judgement for cast in self.casts])
        return {judgement: found[judgement] for judgement in JUDGEMENTS}

    @property
    def lossy(self) -> list[Any]:
        """The conversions that can lose value."""
        return [cast for cast in self.casts if cast.judgement == "lossy"]

    @property
    def rules(self) -> dict[str, str]:
        """The rules that asked for the conversions, each with the sentence that explains it."""
        return {cast.rule: cast.why for cast in self.casts}

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, strings and numbers."""
        return {
            "function": self.name,
            "policy": self.policy,
            "counts": self.counts,
            "refused": self.refused,
            "casts": [_as_dict(cast) for cast in self.casts],
            "written": [_written_as_dict(cast) for cast in self.written],
            "rules": self.rules,
        }

    def to_json(self, indent: int | None = None) -> str:
        """Return everything as JSON, on one line by default: an indent takes several times as long to write."""
        import json

        return json.dumps(self.as_dict(), indent=indent)

    @property
    def summary(self) -> str:
        """One line: how many conversions of which kind."""
        kinds = ", ".join([f"{count} {judgement}" for judgement, count in self.counts.items() if count])
        text = f"{self.name} under {self.policy}: {plural(len(self), 'implicit conversion')}"
        text += f" ({kinds})" if kinds else ""
        text += f", {plural(len(self.written), 'cast')} of your own" if self.written else ""
        return text + (f"; {self.policy} refuses {self.refused} of them" if self.refused else "")

    def __repr__(self) -> str:
        return f"<Explanation: {self.summary}>"

    def __str__(self) -> str:
        return str(self.sheet())

    def __rich__(self) -> Any:
        return self.sheet().__rich__()

    def sheet(self) -> Sheet:
        """Return the table, and the sentences of its rules, as lines."""
        sheet = Sheet()
        sheet.add((self.summary, "bold"))
        groups = self.lines()
        rows = iter(_aligned([_cells(cast, count) for _, casts in groups for cast, count in casts]))
        for location, casts in groups:
            sheet.add()
            sheet.add((place(location), "dim"), ("  ", ""), (source(location), "bold"))
            sheet.lines += [next(rows) for _ in casts]
        if self.casts:
            sheet.add()
            sheet.add_columns([[(name, "dim"), (why, "dim")] for name, why in self.rules.items()])
        return sheet

    def lines(self) -> list[tuple[Location | None, list[tuple[Any, int]]]]:
        """Group the conversions by source line; those that a loop repeats stand once, with how often."""
        lines: dict[Any, tuple[Location | None, dict[Any, list[Any]]]] = {}
        for cast in self.casts:
            where = cast.location
            _, alike = lines.setdefault((where.file, where.line) if where is not None else None, (where, {}))
            same = (cast.operation, cast.operand, cast.spelled_from, str(cast.to), cast.rule)
            alike.setdefault(same, []).append(cast)
        return [(where, [(casts[0], len(casts)) for casts in alike.values()]) for where, alike in lines.values()]

    def _repr_html_(self) -> str:
        return fragment(self.html())

    def html(self) -> str:
        """Return the table as HTML, without the style sheet."""
        rows = [row(("operator", "operand", "from", "to", "", "rule"), tag="th")]
        for location, casts in self.lines():
            text = f"<span class='place'>{escape(place(location))}</span> <code>{escape(source(location))}</code>"
            rows.append(row([f'<td colspan="6">{text}</td>'], "source"))
            for cast, count in casts:
                texts = (cast.operation, cast.operand, cast.spelled_from, _code(cast.to) + _times(count))
                cells = [f"<code>{escape(text)}</code>" for text in texts]
                cells.append(element("td", cast.judgement, cast.judgement))
                cells.append(element("span", escape(cast.rule), title=cast.why))
                rows.append(row(cells))
        table = element("table", "".join(rows)) if self.casts else ""
        legend = "".join([f"<dt>{escape(name)}</dt><dd>{escape(why)}</dd>" for name, why in self.rules.items()])
        return f"<p>{escape(self.summary)}</p>{table}" + (f"<dl>{legend}</dl>" if legend else "")


def explain_casts(function: Callable[..., Any], promotion: str | Policy | None = None) -> Callable[..., Explanation]:
    """List every implicit conversion of a function: `explain_casts(f)(*args)`.

    The function is traced, not run: arguments may be abstract (a `TensorType`). It is a plain function, a jitted one
    or a method; a jitted one keeps its static arguments and, unless `promotion` is given, its policy.

    Each conversion says its line, operator and operand, what it converts from and to, the rule, and whether it is
    lossless (every value of the source is exact in the target), widening (lossless, and the operator computes in a
    dtype wider than each of its operands') or lossy. A Python scalar is judged by its value.

    >>> import tracejit
    >>> def scale(x, y):
    ...     return x * y
    >>> explanation = explain_casts(scale)(tracejit.TensorType(tracejit.uint8, (4,)), 0.5)
    >>> explanation.counts
    {'lossless': 0, 'widening': 2, 'lossy': 0}
    >>> print(explanation[0])
    mul: input_x u8[4] to float32 (widening, integer-float-scalar)
    """
    from tracejit.tensor import public

    check_function("explain_casts", function)
    policy = None if promotion is None else policies.get(promotion)

    @functools.wraps(function, updated=())
    def explain(*args: Any, **kwargs: Any) -> Explanation:
        from tracejit.examination import examine

        return explain_examination(examine(function, args, kwargs, policy))

    return public(explain)


def check_function(asked: str, function: Any) -> None:
    """Refuse at once what cannot be called: the function of `explain_casts`, `compare` or `report`."""
    if not callable(function):
        raise AttributeTypeError(f"{asked} takes a function, got {function!r}", fix=f"write {asked}(f)(*args)")


def explain_examination(examined: Any) -> Explanation:
    """Make the Explanation of a function that has been traced already."""
    from tracejit.passes.casts import explicit_casts, implicit_casts

    promoted = examined.promoted
    written = [Written(cast.operands[0].type, cast.result.type, cast.location) for cast in explicit_casts(promoted)]
    casts = implicit_casts(promoted)
    return Explanation(examined.name, examined.policy.name, casts, written, len(examined.promotion.violations))


def _code(to: Any) -> str:
    return getattr(to, "code", None) or str(to)


def _times(count: int) -> str:
    return f" (×{count:,})" if count > 1 else ""


def _cells(cast: Any, count: int) -> list[Segment]:
    return [
        (cast.operation, ""),
        (cast.operand, ""),
        (cast.spelled_from, ""),
        ("→", "dim"),
        (_code(cast.to) + _times(count), ""),
        (cast.judgement, STYLES[cast.judgement]),
        (cast.rule, "dim"),
    ]


def _aligned(rows: list[list[Segment]]) -> list[list[Segment]]:
    sheet = Sheet()
    sheet.add_columns(rows, indent=4)
    return sheet.lines


def _place_as_dict(location: Location | None) -> dict[str, Any]:
    if location is None:
        return {"file": None, "line": None, "text": ""}
    return {"file": location.file, "line": location.line, "text": location.text}


def _as_dict(cast: Any) -> dict[str, Any]:
    return {
        **_place_as_dict(cast.location),
        "operator": cast.operation,
        "operand": cast.operand,
        "from": _type_name(cast.from_),
        "shape": list(cast.from_.shape) if isinstance(cast.from_, TensorType) else None,
        "value": None if cast.value is None else repr(cast.value),
        "to": str(cast.to),
        "rule": cast.rule,
        "judgement": cast.judgement,
    }


def _written_as_dict(cast: Written) -> dict[str, Any]:
    return {**_place_as_dict(cast.location), "from": _type_name(cast.from_), "to": _type_name(cast.to)}


def _type_name(type_: Any) -> str:
    return type_.dtype.name if isinstance(type_, TensorType) else str(type_)
