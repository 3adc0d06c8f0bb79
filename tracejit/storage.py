"""Where the arrays of Parameters lie.

A Parameter has a Storage, which programs, tables and JAX's caches hold in its stead: it does not keep the Parameter
alive. A Storage is a place in a Bank, which is a list of arrays. Those that one program writes come together in one
Bank, which the program takes and replaces as a whole: what a step costs in Python does not grow with the Parameters.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Sequence
from operator import attrgetter, setitem
from typing import Any

from tracejit.errors import StateError

#: Held while Parameters are gathered, a program that writes them runs, and its results are committed; and around
#: every read of a Parameter's buffer. User code never runs under it. Re-entrant, one for the process.
STATE_LOCK = threading.RLock()


class ParameterGone(StateError):
    """A Parameter that a program uses has been deleted: the trace is of no use any more."""


class Bank:
    """A list of arrays that is read and replaced as a whole, as long as none of them has left it."""

    __slots__ = ("arrays", "whole")

    def __init__(self, arrays: list[Any]):
        self.arrays, self.whole = arrays, True

    def leave(self, index: int) -> None:
        """Let go of an array, in any thread and without the lock: a Parameter is deleted when it is."""
        self.whole = False  # first: a copy of the list is complete if the Bank is whole after it was made
        self.arrays[index] = None


class Storage:
    """The place of a Parameter's array, and the Parameter's identity."""

    __slots__ = ("__weakref__", "parameter", "place")

    def __init__(self, parameter: Any, array: Any):
        #: The Bank and the index in it: one pair, so that another thread never sees the one without the other.
        self.place = Bank([array]), 0
        #: Gives the Parameter; None when it no longer exists. Then the array is gone as well.
        self.parameter: weakref.ref[Any] = weakref.ref(parameter, self.let_go)

    @property
    def array(self) -> Any:
        """The array that is there now; it is replaced under STATE_LOCK."""
        bank, index = self.place
        return bank.arrays[index]

    @array.setter
    def array(self, array: Any) -> None:
        bank, index = self.place
        bank.arrays[index] = array

    def move(self, bank: Bank, index: int) -> None:
        """Move to a place in a Bank that holds the array already."""
        left, old = self.place
        self.place = bank, index
        left.leave(old)

    def let_go(self, _: Any = None) -> None:
        """Leave the Bank for good; the Parameter no longer exists."""
        bank, index = self.place
        bank.leave(index)

    #: Others may need the Bank longer, and nobody is told of a Parameter that is collected together with its Storage.
    __del__ = let_go


_PLACE = attrgetter("place")


def gather(storages: Sequence[Storage]) -> list[Any]:
    """Return the arrays of storages, under STATE_LOCK; raises ParameterGone for a Parameter that no longer exists."""
    arrays = _arrays_of(storages)
    for array in arrays:
        if array is None:
            raise ParameterGone(
                "a Parameter that this program uses no longer exists",
                rule="a program holds its Parameters weakly",
                fix="keep the Parameters, or call the jitted function itself, which traces anew",
            )
    return arrays


def _arrays_of(storages: Sequence[Storage]) -> list[Any]:
    return [bank.arrays[index] for bank, index in map(_PLACE, storages)]


class Written:
    """The storages that a program writes, in its order."""

    __slots__ = ("_bank", "storages")

    def __init__(self, storages: Sequence[Storage]):
        self.storages = tuple(storages)
        #: The Bank of all of them, once they are united; it may have been broken up since.
        self._bank: Bank | None = None

    def unite(self) -> None:
        """Bring the storages together in one Bank, under STATE_LOCK, unless that would break up a larger one."""
        places = list(map(_PLACE, self.storages))
        bank = places[0][0]
        if bank.whole and places == [(bank, index) for index in range(len(bank.arrays))]:
            self._bank = bank  # another program of the same Parameters has made it
        elif all(len(bank.arrays) <= len(places) for bank, _ in places if bank.whole):
            bank = Bank(_arrays_of(self.storages))
            for index, storage in enumerate(self.storages):
                storage.move(bank, index)
            self._bank = bank  # at last: wherever an exception comes, each array is where its Storage says
            self._let_go()

    def take(self) -> list[Any]:
        """Return the arrays, in a list of the caller's own, under STATE_LOCK."""
        bank = self._bank
        if bank is not None:
            arrays = bank.arrays[:]
            if bank.whole:
                return arrays
        return gather(self.storages)

    def put(self, arrays: list[Any]) -> None:
        """Replace the arrays, under STATE_LOCK: all in one step of C code, so that an interrupt finds all or none."""
        bank = self._bank
        if bank is not None and bank.whole:
            bank.arrays = arrays
            if bank.whole:
                return
        else:
            places = list(map(_PLACE, self.storages))
            deque(map(setitem, [bank.arrays for bank, _ in places], [index for _, index in places], arrays), 0)
        self._let_go()

    def _let_go(self) -> None:
        """Let go of the arrays of Parameters that were deleted meanwhile."""
        for storage in self.storages:
            if storage.parameter() is None:
                storage.let_go()
