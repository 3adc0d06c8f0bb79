"""A table that cannot grow without end."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

_V = TypeVar("_V")


class Bounded(Generic[_V]):
    """Keeps so many values, and forgets those that were not asked for longest. Any thread may use it.

    >>> table = Bounded(2)
    >>> for key in "abc":
    ...     _ = table.keep(key, key.upper())
    >>> table.get("a"), table.get("c"), len(table)
    (None, 'C', 2)
    """

    __slots__ = ("_table", "most")

    def __init__(self, most: int):
        self.most = most
        self._table: dict[Hashable, _V] = {}

    def __len__(self) -> int:
        return len(self._table)

    def get(self, key: Hashable) -> _V | None:
        """Return a value, which is the newest now; None if it is not there."""
        table = self._table
        value = table.get(key)
        if value is not None and len(table) > self.most // 2:  # else nothing is forgotten soon, and order is no matter
            table.pop(key, None)
            table[key] = value
        return value

    def keep(self, key: Hashable, value: _V) -> _V:
        """Keep a value, or return the one that another thread has kept meanwhile."""
        table = self._table
        value = table.setdefault(key, value)
        while len(table) > self.most:
            try:
                table.pop(next(iter(table)), None)
            except (StopIteration, RuntimeError):  # another thread does the same
                break
        return value
