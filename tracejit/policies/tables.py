"""Reads the tables in which a policy is written, and refuses one that leaves a question open.

Dtypes stand in them by their short codes (`b1 u8 i8 bf16 f32 c64`; so `i8` is int8) or by NumPy's names.

*Joins* say in which dtype two tensors meet. A line of them is a chain, `b1 < i8 < i16`, lowest first, or names joins
that the chains do not give: `u16,u32 f16 = f16`, or `i16 bf16 = -` for none. Two dtypes meet in the least one that is
above both; where the chains have nothing above both, they do not combine. A word with a star (`float*`) is a weak
node: a Python scalar of that kind.

*Grids* say what the column's dtype becomes beside what the row names: `=` it stays, `-` they do not combine, `<` it
becomes the row's, or the dtype itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from tracejit.dtypes import ALL, BY_CODE, BY_NAME, DType, as_dtype
from tracejit.errors import AttributeValueError

#: A dtype, or the name of a weak node.
Node = DType | str
#: In what two nodes meet; None where they do not combine. Holds every pair, in both orders.
Joins = Mapping[tuple[Node, Node], Node | None]
#: What a column's dtype becomes beside a row (the kind of a Python scalar, or a dtype); None where it is refused.
Grid = Mapping[tuple[Node, DType], DType | None]

KINDS = ("bool", "int", "float", "complex")
_FIX = "see the docstring of tracejit.policies.tables for the form of a table"


def _error(what: str) -> AttributeValueError:
    return AttributeValueError(f"policy table: {what}", fix=_FIX)


def read_dtype(word: str) -> DType:
    """Return the dtype that a short code or a name stands for; AttributeValueError for any other word."""
    found = BY_CODE.get(word) or BY_NAME.get(word)
    if found is None:
        raise _error(f"{word!r} is no dtype")
    return found


def _read_node(word: str) -> Node:
    return word if word.endswith("*") else read_dtype(word)


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if line:
            yield line


def read_joins(text: str) -> Joins:
    r"""Read chains and single joins into the table of all pairs, which is commutative and has `x` with `x` give `x`.

    Raises AttributeValueError for a cycle, and for two dtypes with several dtypes above both but none that is least.

    >>> from tracejit.policies.tables import read_dtype, read_joins
    >>> joins = read_joins("u8 < i16 < f32\ni8 < i16")
    >>> joins[read_dtype("u8"), read_dtype("i8")], joins[read_dtype("u8"), read_dtype("f64")]
    (tracejit.int16, None)
    """
    edges: list[tuple[Node, Node]] = []
    named: dict[tuple[Node, Node], Node | None] = {}
    for line in _lines(text):
        if "=" in line:
            for a, b, result in _read_named(line):
                named[a, b] = named[b, a] = result
        else:
            chain = [_read_node(word.strip()) for word in line.split("<")]
            edges += pairwise(chain)
    nodes = list(dict.fromkeys([*ALL, *[node for edge in edges for node in edge]]))
    return _all_joins(nodes, _above(nodes, edges), named)


def _read_named(line: str) -> Iterator[tuple[Node, Node, Node | None]]:
    try:
        several, second, _, result = line.replace("=", " = ").split()
    except ValueError:
        raise _error(f"{line!r} is neither a chain nor a join of two") from None
    for first in several.split(","):
        yield _read_node(first), _read_node(second), None if result == "-" else _read_node(result)


def _above(nodes: list[Node], edges: list[tuple[Node, Node]]) -> dict[Node, int]:
    """For each node the set (a bit mask) of the nodes at or above it."""
    bit = {node: 1 << i for i, node in enumerate(nodes)}
    above = dict(bit)
    for low, high in edges:
        above[low] |= bit[high]
    for middle in nodes:
        for node in nodes:
            if above[node] & bit[middle]:
                above[node] |= above[middle]
    return above


def _all_joins(nodes: list[Node], above: dict[Node, int], named: dict[tuple[Node, Node], Node | None]) -> Joins:
    # The least of the nodes above two is the one that has exactly these above itself.
    least = {mask: node for node, mask in above.items()}
    if len(least) < len(nodes):
        raise _error("the chains form a cycle")
    table: dict[tuple[Node, Node], Node | None] = {}
    for a in nodes:
        for b in nodes:
            common = above[a] & above[b]
            table[a, b] = named[a, b] if (a, b) in named else least.get(common)
            if common and table[a, b] is None and (a, b) not in named:
                raise _error(f"{a} and {b} have several dtypes above both and none is least: name their join")
    return table


def complete_joins(pairs: Mapping[tuple[object, object], object]) -> Joins:
    """Turn a user's `{(a, b): result}` into the table of all pairs: mirrored, and with `x` with `x` giving `x`.

    Dtypes may be named in any way that NumPy knows. Pairs that are missing, or whose result is None, do not combine.
    AttributeValueError where (a, b) and (b, a) differ.
    """
    table: dict[tuple[Node, Node], Node | None] = {(a, b): a if a is b else None for a in ALL for b in ALL}
    given: dict[tuple[Node, Node], Node | None] = {}
    for (first, second), value in pairs.items():
        a, b, result = as_dtype(first), as_dtype(second), None if value is None else as_dtype(value)
        if given.setdefault((a, b), result) is not result or given.setdefault((b, a), result) is not result:
            raise _error(f"{a} with {b} and {b} with {a} give different dtypes")
    return {**table, **given}


def read_grid(text: str) -> Grid:
    """Read a grid: a line of the columns' dtypes, then lines of a row's name and its cells.

    A row is named by a kind of Python scalar, or by dtypes with commas between them.

    >>> from tracejit.policies.tables import read_dtype, read_grid
    >>> grid = read_grid('''
    ...          i32  f32
    ...   int    =    =
    ...   float  f32  =''')
    >>> grid["float", read_dtype("i32")]
    tracejit.float32
    """
    header, *rows = [line.split() for line in _lines(text)]
    columns = [read_dtype(word) for word in header]
    grid: dict[tuple[Node, DType], DType | None] = {}
    for name, *cells in rows:
        if len(cells) != len(columns):
            raise _error(f"row {name} has {len(cells)} cells for {len(columns)} columns")
        for row in [name] if name in KINDS else map(read_dtype, name.split(",")):
            for column, cell in zip(columns, cells, strict=True):
                grid[row, column] = _read_cell(cell, row, column)
    return grid


def _read_cell(cell: str, row: Node, column: DType) -> DType | None:
    if cell == "<" and isinstance(row, DType):
        return row
    if cell == "=":
        return column
    return None if cell == "-" else read_dtype(cell)


def complete_scalars(cells: Mapping[tuple[str, object], object]) -> Grid:
    """Turn a user's `{(kind, dtype): result}` into a grid; what is missing, or None, is refused."""
    for kind, _ in cells:
        if kind not in KINDS:
            raise _error(f"{kind!r} is no kind of Python scalar: {', '.join(KINDS)}")
    return {(kind, as_dtype(to)): None if it is None else as_dtype(it) for (kind, to), it in cells.items()}


def weak_grid(joins: Joins, weak: Mapping[str, DType]) -> Grid:
    """Return the grid of Python scalars that a lattice with weak nodes implies (a Python bool is a bool tensor)."""
    grid: dict[tuple[Node, DType], DType | None] = {}
    for kind in KINDS:
        for column in ALL:
            node = joins.get((column, f"{kind}*" if kind != "bool" else BY_NAME["bool"]))
            grid[kind, column] = weak[node.rstrip("*")] if isinstance(node, str) else node
    return grid
