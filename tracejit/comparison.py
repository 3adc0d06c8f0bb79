"""`compare`: one function under several policies, line by line: where dtypes differ, and where values do."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import policies as known
from tracejit.display import Segment, Sheet, element, escape, fragment, place, plural, row, source
from tracejit.locations import Location
from tracejit.policies import Policy

#: Operations that are not the user's: literals of the trace, and checks.
_HIDDEN = frozenset(("constant", "check_indices"))
#: Of larger results only so many elements are kept and compared, evenly spread.
_KEPT_ELEMENTS = 4096
#: Values of two dtypes agree if they are within so many roundings of the coarser one.
_ROUNDINGS = 64


class Cell(NamedTuple):
    """What an operation gave under one policy: the types of its results, or why there is none.

    `state` is "ok", "refused" (it has a conversion that the policy does not allow), "error" (the function fails
    here) or "missing" (it failed before, or never came here).
    """

    state: str
    dtypes: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    value: Any = None


_MISSING, _ERROR = Cell("missing"), Cell("error")


class Row(NamedTuple):
    """One operation of a source line under each policy; `times`, if a loop repeats it alike."""

    location: Location | None
    operator: str
    cells: dict[str, Cell]
    times: int
    #: Whether values differ by more than rounding; None where they are not known under two policies.
    values_differ: bool | None
    #: Where values differ: the element, as an index, that differs most, and its value under each policy.
    example: tuple[tuple[int, ...], dict[str, Any]] | None

    @property
    def dtypes_differ(self) -> bool:
        """Whether two policies give different dtypes, or one of them an error."""
        states = {cell.state for cell in self.cells.values()} - {"missing"}
        found = {cell.dtypes for cell in self.cells.values() if cell.state in ("ok", "refused")}
        return len(found) > 1 or len(states) > 1

    @property
    def differs(self) -> bool:
        """Whether dtypes or values differ."""
        return self.dtypes_differ or bool(self.values_differ)


class Comparison:
    """One function under several policies. Made by `compare`; `print` and notebooks show the lines that differ.

    `rows` holds every operation, `differences` those that differ, `errors` by policy why the function fails there.
    """

    def __init__(self, name: str, policies: Sequence[str], rows: list[Row], errors: dict[str, Any], concrete: bool):
        self.name, self.policies, self.rows, self.errors = name, list(policies), rows, errors
        #: Whether every argument had a value, so that values were compared too.
        self.concrete = concrete

    @property
    def differences(self) -> list[Row]:
        """The operations for which dtypes or values differ."""
        return [row for row in self.rows if row.differs]

    @property
    def agree(self) -> bool:
        """Whether the policies agree: no difference, and no error."""
        return not self.differences and not self.errors

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, strings and numbers."""
        return {
            "function": self.name,
            "policies": self.policies,
            "values_compared": self.concrete,
            "errors": {name: _failure_as_dict(failure) for name, failure in self.errors.items()},
            "lines": [_row_as_dict(row) for row in self.rows],
        }

    def to_json(self, indent: int | None = None) -> str:
        """Return everything as JSON, on one line by default: an indent takes several times as long to write."""
        import json

        return json.dumps(self.as_dict(), indent=indent)

    @property
    def summary(self) -> str:
        """One line: how many operations there are, how many differ, and where the function fails."""
        rows = [row for row in self.rows if row.operator]
        by_value = sum(bool(row.values_differ) for row in rows)
        text = f"{self.name} under {len(self.policies)} {'policy' if len(self.policies) == 1 else 'policies'}: "
        text += f"{sum(row.differs for row in rows)} of {plural(len(rows), 'operation')} differ"
        text += f", {by_value} in value" if by_value else "" if self.concrete else " (values not known)"
        return text + (f"; fails under {', '.join(self.errors)}" if self.errors else "")

    def __repr__(self) -> str:
        return f"<Comparison: {self.summary}>"

    def __str__(self) -> str:
        return str(self.sheet())

    def __rich__(self) -> Any:
        return self.sheet().__rich__()

    def sheet(self, everything: bool = False) -> Sheet:
        """Return the rows that differ, or all, and the errors as lines."""
        sheet = Sheet()
        sheet.add((self.summary, "bold"))
        groups = _by_line(self.rows if everything else self.differences)
        cells = [_segments(row, self.policies) for _, rows in groups for row in rows]
        table = Sheet()
        table.add_columns([[("", ""), *[(name, "dim") for name in self.policies]], *cells], indent=4)
        lines = iter(table.lines)
        if groups:
            sheet.add()
            sheet.lines.append(next(lines))
        for location, rows in groups:
            sheet.add((place(location), "dim"), ("  ", ""), (source(location), "bold"))
            sheet.lines += [next(lines) for _ in rows]
        for names, failure in _grouped(self.errors):
            sheet.add()
            where = f" at {place(failure.location)}" if failure.location is not None else ""
            sheet.add((f"{', '.join(names)}: {failure.kind}", "bold magenta"), (where, "dim"))
            sheet.add((f"    {failure.message}", ""))
        return sheet

    def _repr_html_(self) -> str:
        return fragment(self.html())

    def html(self, everything: bool = False) -> str:
        """Return the rows that differ, or all, as an HTML table, without the style sheet."""
        rows = [row(["operator", *map(escape, self.policies)], tag="th")]
        for location, group in _by_line(self.rows if everything else self.differences):
            text = f"<span class='place'>{escape(place(location))}</span> <code>{escape(source(location))}</code>"
            rows.append(row([f'<td colspan="{len(self.policies) + 1}">{text}</td>'], "source"))
            rows += [row(_html_cells(line, self.policies)) for line in group]
        table = element("table", "".join(rows)) if len(rows) > 1 else ""
        errors = [
            f"<dt>{escape(', '.join(names))}: <span class='error'>{escape(failure.kind)}</span> "
            f"<span class='place'>{escape(place(failure.location))}</span></dt><dd>{escape(failure.message)}</dd>"
            for names, failure in _grouped(self.errors)
        ]
        return f"<p>{escape(self.summary)}</p>{table}" + (f"<dl>{''.join(errors)}</dl>" if errors else "")


def compare(function: Callable[..., Any], policies: Sequence[str | Policy] | None = None) -> Callable[..., Comparison]:
    """Put one function side by side under several policies: `compare(f)(*args)`; all of them by default.

    The function is traced under each policy, and where every argument has a value its operators are run once, one by
    one, so that values can be compared too: they differ if they are further apart than rounding to the coarser dtype
    explains. No Parameter is written. Arguments may be abstract (a `TensorType`): then only dtypes are compared.

    A function that fails under a policy has that error in the policy's column, and the others go on. Blocks
    (`with tracejit.promotion(...)`) and jitted functions with a policy of their own inside the function keep it.

    >>> import tracejit
    >>> def area(width, height):
    ...     return width * height
    >>> comparison = compare(area, ["mindspore", "numpy2"])(tracejit.Tensor([100], "int8"), tracejit.Tensor([4.0]))
    >>> [cell.codes for cell in comparison.rows[0].cells.values()]
    [('f32',), ('f32',)]
    >>> comparison.agree
    True
    """
    from tracejit.explanation import check_function
    from tracejit.tensor import public

    check_function("compare", function)
    chosen = [known.get(policy) for policy in (known.names() if policies is None else policies)]

    @functools.wraps(function, updated=())
    def side_by_side(*args: Any, **kwargs: Any) -> Comparison:
        from tracejit.examination import examine
        from tracejit.tracer import collector_paused

        with collector_paused():
            examined = [examine(function, args, kwargs, policy, keep_failure=True) for policy in chosen]
            return compare_examinations(examined)

    return public(side_by_side)


def compare_examinations(examined: Sequence[Any]) -> Comparison:
    """Make the Comparison of a function that has been traced under several policies already."""
    concrete = all(one.failure is not None or one.is_concrete for one in examined)
    errors: dict[str, Any] = {}
    columns: dict[str, dict[Any, Cell]] = {}
    places: dict[Any, Location | None] = {}
    for one in examined:
        failure = one.failure or _violations(one)
        if failure is not None:
            errors[one.policy.name] = failure
        columns[one.policy.name] = _column(one, places, concrete and one.failure is None)
    rows = _rows(columns, places)
    return Comparison(examined[0].name if examined else "", list(columns), rows, errors, concrete)


def _violations(examined: Any) -> Any:
    """Return the failure that a policy's violations are; None without any."""
    from tracejit.examination import Failure
    from tracejit.passes.promotion import refusal

    violations = examined.promotion.violations
    return Failure(refusal(examined.name, violations), violations[0].location) if violations else None


def _key(location: Location | None) -> Any:
    """Tell places in a program apart: not lines, but instructions, of which a line has several."""
    return None if location is None else location.instruction


def _column(examined: Any, places: dict[Any, Location | None], with_values: bool) -> dict[Any, Cell]:
    """Return the cells of one policy by (place, operator, how often it came there before)."""
    values = examined.values() if with_values else {}
    refused = {_key(violation.location) for violation in examined.promotion.violations} if examined.promotion else set()
    cells: dict[Any, Cell] = {}
    times: dict[Any, int] = {}
    for operation in _visible(examined):
        at = _key(operation.location)
        here = (at, operation.name)
        number = times[here] = times.get(here, -1) + 1
        key = (*here, number)
        places.setdefault(key, operation.location)
        dtypes = tuple([type_.dtype.name for type_ in operation.result_types])
        codes = tuple([_code(type_) for type_ in operation.result_types])
        value = _sample(values.get(id(operation.results[0]))) if operation.results else None
        cells[key] = Cell("refused" if at in refused else "ok", dtypes, codes, value)
    if examined.failure is not None:
        at = _key(examined.failure.location)
        places.setdefault((at, None, 0), examined.failure.location)
        cells[at, None, 0] = _ERROR
    return cells


def _visible(examined: Any) -> list[Any]:
    operations = examined.graph.walk() if examined.graph is not None else examined.written
    return [o for o in operations if o.name not in _HIDDEN and not (o.name == "cast" and "rule" in o.attributes)]


def _code(type_: Any) -> str:
    return str(type_) if type_.__class__.__name__ == "ScalarType" else type_.dtype.code


def _rows(columns: dict[str, dict[Any, Cell]], places: dict[Any, Location | None]) -> list[Row]:
    """Line the columns up, and put operations that a loop repeats alike into one row."""
    failed = {name: cells for name, cells in columns.items() if any(key[1] is None for key in cells)}
    met = {key[0] for key in places if key[1] is not None}
    rows: dict[Any, Row] = {}
    for key, location in places.items():
        at, operator, number = key
        if operator is None and at in met:
            continue  # the error stands in the row of the operation that fails here
        cells = {name: cells.get(key, _MISSING) for name, cells in columns.items()}
        for name in failed:
            if number == 0 and cells[name] is _MISSING and (at, None, 0) in columns[name]:
                cells[name] = _ERROR
        differ, example = _compare_values(cells)
        alike = (at, operator, differ, tuple([cell[:2] for cell in cells.values()]))
        earlier = rows.get(alike)
        if earlier is None:
            rows[alike] = Row(location, operator or "", cells, 1, differ, example)
        else:
            rows[alike] = earlier._replace(times=earlier.times + 1)
    return list(rows.values())


# ---- values ----


def _sample(array: np.ndarray[Any, Any] | None) -> Any:
    """Keep a result for comparison: all of it, or an even spread of a large one."""
    if array is None or array.size <= _KEPT_ELEMENTS:
        return array
    return array.reshape(-1)[:: -(-array.size // _KEPT_ELEMENTS)]


def _compare_values(cells: dict[str, Cell]) -> tuple[bool | None, Any]:
    """Say whether values differ, and give the element that does most."""
    held = {name: cell.value for name, cell in cells.items() if cell.value is not None}
    if len(held) < 2:
        return None, None
    names = list(held)
    first = held[names[0]]
    worst: tuple[float, int] | None = None
    for name in names[1:]:
        found = _largest_difference(first, held[name])
        if found is not None and (worst is None or found[0] > worst[0]):
            worst = found
    if worst is None:
        return False, None
    index = tuple(map(int, np.unravel_index(worst[1], first.shape))) if first.shape else ()
    same_shape = [name for name in names if held[name].shape == first.shape]
    return True, (index, {name: held[name][index].item() for name in same_shape})


def _largest_difference(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> tuple[float, int] | None:
    """Return by how much, relative to what rounding allows, the worst element differs, and which it is; or None."""
    if a.shape != b.shape:
        return float("inf"), 0
    if a.size == 0:
        return None
    wide_a, wide_b = _widened(a), _widened(b)
    with np.errstate(all="ignore"):
        gap = np.abs(wide_a - wide_b)
        scale = np.maximum(np.abs(wide_a), np.abs(wide_b))
        excess = gap / (_ROUNDINGS * max(_epsilon(a.dtype), _epsilon(b.dtype)) * np.where(scale == 0, 1, scale))
    both_nan = np.isnan(wide_a) & np.isnan(wide_b)
    excess = np.where((wide_a == wide_b) | both_nan, 0.0, np.where(np.isnan(excess), np.inf, excess)).reshape(-1)
    at = int(excess.argmax())
    return (float(excess[at]), at) if excess[at] > 1 else None


def _widened(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return values in a dtype in which differences of any two can be taken."""
    if np.iscomplexobj(array):
        return array.astype(np.complex128)
    # Differences of 64-bit integers beyond float64's are lost, but for those of one another: longdouble has 64 bits.
    return array.astype(np.longdouble if array.dtype.kind in "iu" and array.dtype.itemsize == 8 else np.float64)


def _epsilon(dtype: Any) -> float:
    import ml_dtypes

    return 0.0 if dtype.kind in "biu" else float(ml_dtypes.finfo(dtype).eps)


# ---- showing ----


def _by_line(rows: Sequence[Row]) -> list[tuple[Location | None, list[Row]]]:
    groups: dict[Any, tuple[Location | None, list[Row]]] = {}
    for line in rows:
        where = line.location
        key = (where.file, where.line) if where is not None else None
        groups.setdefault(key, (where, []))[1].append(line)
    return list(groups.values())


def _grouped(errors: dict[str, Any]) -> list[tuple[list[str], Any]]:
    """Put policies under which a function fails alike together."""
    groups: dict[Any, tuple[list[str], Any]] = {}
    for name, failure in errors.items():
        alike = (failure.kind, failure.message, place(failure.location))
        groups.setdefault(alike, ([], failure))[0].append(name)
    return list(groups.values())


def _cell_text(cell: Cell) -> str:
    if cell.state in ("missing", "error"):
        return {"missing": "·", "error": "error"}[cell.state]
    return ", ".join(cell.codes) + (" ✗" if cell.state == "refused" else "")


def _texts(line: Row, policies: Sequence[str]) -> list[tuple[str, bool]]:
    """Return each policy's cell with its example value, and whether it differs from the first policy's."""
    cells = [line.cells[name] for name in policies]
    values = line.example[1] if line.example is not None else {}
    first, first_value = cells[0], values.get(policies[0])
    texts = []
    for name, cell in zip(policies, cells):
        value = f" {_spell(values[name])}" if name in values else ""
        other = cell.dtypes != first.dtypes or cell.state in ("error", "refused")
        texts.append((_cell_text(cell) + value, other or values.get(name) != first_value))
    return texts


def _spell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | complex) else str(value)


def _operator(line: Row) -> str:
    return (line.operator or "(fails)") + (f" (×{line.times:,})" if line.times > 1 else "")


def _segments(line: Row, policies: Sequence[str]) -> list[Segment]:
    texts = _texts(line, policies)
    styles = ["bold magenta" if text.startswith("error") else "bold yellow" if other else "" for text, other in texts]
    return [(_operator(line), ""), *[(text, style) for (text, _), style in zip(texts, styles)]]


def _html_cells(line: Row, policies: Sequence[str]) -> list[str]:
    cells = [f"<code>{escape(_operator(line))}</code>"]
    for text, other in _texts(line, policies):
        kind = "error" if text.startswith("error") else "differs" if other else ""
        cells.append(element("td", f"<code>{escape(text)}</code>", kind))
    return cells


def _failure_as_dict(failure: Any) -> dict[str, Any]:
    location = failure.location
    return {
        "class": failure.kind,
        "message": str(failure.error),
        "file": location.file if location is not None else None,
        "line": location.line if location is not None else None,
    }


def _row_as_dict(line: Row) -> dict[str, Any]:
    where = line.location
    return {
        "file": where.file if where is not None else None,
        "line": where.line if where is not None else None,
        "text": source(where),
        "operator": line.operator or None,
        "count": line.times,
        "dtypes": {name: list(cell.dtypes) or None for name, cell in line.cells.items()},
        "states": {name: cell.state for name, cell in line.cells.items()},
        "dtypes_differ": line.dtypes_differ,
        "values_differ": line.values_differ,
        "example": _example_as_dict(line.example),
    }


def _example_as_dict(example: Any) -> dict[str, Any] | None:
    if example is None:
        return None
    index, values = example
    return {"index": list(index), "values": {name: repr(value) for name, value in values.items()}}
