"""Cells that hold others in order: SequentialCell and CellList."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tracejit.errors import AttributeTypeError
from tracejit.nn.cell import Cell
from tracejit.tensor import public


class _Cells(Cell):
    """Cells in order, as attributes with numbers or given names."""

    def _add(self, name: str, cell: Any) -> None:
        if not isinstance(cell, Cell):
            raise AttributeTypeError(f"{type(self).__name__} holds Cells, got {cell!r} ({type(cell).__name__})")
        setattr(self, name, cell)

    def _replace(self, cells: Iterable[Any]) -> None:
        for name in list(self.name_cells()):
            delattr(self, name)
        for position, cell in enumerate(cells):
            self._add(str(position), cell)

    @property
    def _cells(self) -> list[Cell]:
        return list(self.cells())

    @public
    def append(self, cell: Cell) -> Any:
        """Add a Cell at the end; returns the container."""
        self._add(str(len(self)), cell)
        return self

    def extend(self, cells: Iterable[Cell]) -> Any:
        """Add Cells at the end; returns the container."""
        for cell in cells:
            self.append(cell)
        return self

    @public
    def insert(self, index: int, cell: Cell) -> Any:
        """Add a Cell before the one at an index; returns the container."""
        cells = self._cells
        cells.insert(index, cell)
        self._replace(cells)
        return self

    @public
    def __setitem__(self, index: int, cell: Cell) -> None:
        self._add(list(self.name_cells())[index], cell)

    def __delitem__(self, index: int | slice) -> None:
        cells = self._cells
        del cells[index]
        self._replace(cells)

    def __getitem__(self, index: int | slice) -> Any:
        make: Any = type(self)
        return make(self._cells[index]) if isinstance(index, slice) else self._cells[index]

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._cells)


class SequentialCell(_Cells):
    """Cells that run one after the other, each on the result of the one before.

    Args:
        *args: the Cells, a list of them, or a dict from name to Cell.

    >>> from tracejit import Tensor, nn
    >>> nn.SequentialCell(nn.Flatten(), nn.ReLU())(Tensor([[[-1.0, 2.0]]]))
    Tensor([[0., 2.]], dtype=float32)
    """

    @public
    def __init__(self, *args: Any):
        super().__init__()
        cells = args[0] if len(args) == 1 and isinstance(args[0], list | tuple | dict) else args
        named = cells.items() if isinstance(cells, dict) else ((str(i), cell) for i, cell in enumerate(cells))
        for name, cell in named:
            self._add(name, cell)

    def construct(self, input_data: Any) -> Any:
        """Run the Cells in order."""
        for cell in self:
            input_data = cell(input_data)
        return input_data


class CellList(_Cells):
    """A list of Cells whose Parameters are found. It cannot be called.

    >>> from tracejit import nn
    >>> layers = nn.CellList([nn.Dense(2, 2), nn.Dense(2, 2)])
    >>> [p.name for p in layers.trainable_params()]
    ['0.weight', '0.bias', '1.weight', '1.bias']
    """

    @public
    def __init__(self, *args: Any):
        super().__init__()
        for position, cell in enumerate(args[0] if len(args) == 1 and not isinstance(args[0], Cell) else args):
            self._add(str(position), cell)

    def construct(self, *inputs: Any) -> Any:
        """Refuse: a list says nothing of the order in which its Cells run."""
        raise NotImplementedError("a CellList cannot be called; loop over its Cells")
