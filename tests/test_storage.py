"""Banks: Parameters that one program writes lie together, whatever else is written, moved or deleted meanwhile."""

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tracejit import Parameter, jit, load_parameters, save_parameters
from tracejit.bridge import backend
from tracejit.commit import run_stateful
from tracejit.storage import ParameterGone, Written, gather


def parameters(count: int) -> list[Parameter]:
    return [Parameter(np.full(2, i, np.float32), name=f"p{i}") for i in range(count)]


def adder(chosen: list[Parameter]) -> Callable[[], None]:
    """A jitted function that adds one to each; it has run, so that its Parameters lie where it wants them."""

    @jit
    def add() -> None:
        for parameter in chosen:
            parameter += 1

    add()
    return add


def banks(chosen: list[Parameter]) -> list[int]:
    """Number the Banks of Parameters in the order in which they are met."""
    met: list[object] = []
    for parameter in chosen:
        if parameter._storage.place[0] not in met:
            met.append(parameter._storage.place[0])
    return [met.index(parameter._storage.place[0]) for parameter in chosen]


def values(chosen: list[Parameter]) -> list[float]:
    for parameter in chosen:
        first, second = parameter.tolist()
        assert first == second
    return [parameter.tolist()[0] for parameter in chosen]


def test_what_one_program_writes_lies_in_one_bank():
    p = parameters(4)
    assert banks(p) == [0, 1, 2, 3]
    adder(p[:3])
    assert banks(p) == [0, 0, 0, 1] and p[0]._storage.place[0].whole
    assert values(p) == [1, 2, 3, 3]


def test_a_second_program_of_the_same_parameters_shares_the_bank():
    p = parameters(3)
    first, second = adder(p), adder(p)
    bank = p[0]._storage.place[0]
    first(), second(), first()
    assert p[0]._storage.place[0] is bank and bank.whole
    assert values(p) == [5, 6, 7]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_programs_that_write_some_of_each_others_parameters_agree(order: tuple[int, ...]):
    p = parameters(5)
    groups = [[0, 1, 2, 3, 4], [3, 1], [2, 4, 0]]
    expected = np.arange(5.0)
    adds = []
    for group in order:
        adds.append(adder([p[i] for i in groups[group]]))
        expected[groups[group]] += 1
        assert values(p) == expected.tolist()
    for add, group in [*zip(adds, order), *zip(adds, order)]:
        add()
        expected[groups[group]] += 1
        assert values(p) == expected.tolist()
    assert banks(p) == [0, 0, 0, 0, 0] and p[0]._storage.place[0].whole  # whoever came first, the largest has them


def test_a_program_leaves_a_larger_bank_alone():
    p = parameters(3)
    every = adder(p)
    one = adder(p[:1])
    one(), every()
    assert banks(p) == [0, 0, 0] and p[0]._storage.place[0].whole
    assert values(p) == [4, 3, 4]


def test_eager_writes_set_data_and_loading_reach_the_bank(tmp_path):
    p = parameters(3)
    add = adder(p)
    path = tmp_path / "saved.safetensors"
    save_parameters(path, p)
    p[0] += 10
    p[1].set_data(np.full(2, 7, np.float32))
    add()
    assert values(p) == [12, 8, 4]
    load_parameters(path, p)
    add()
    assert values(p) == [2, 3, 4] and p[0]._storage.place[0].whole


def test_a_deleted_parameter_lets_go_of_its_array_and_the_others_go_on():
    p = parameters(3)
    add = adder(p)
    buffer = weakref.ref(p[1]._data)
    kept = [p[0], p[2]]
    del p, add
    gc.collect()
    assert buffer() is None and values(kept) == [1, 3]
    adder(kept)()
    assert values(kept) == [3, 5] and banks(kept) == [0, 0]


def test_a_parameter_deleted_while_its_program_runs_lets_go_of_its_array():
    p = parameters(2)
    written = Written([parameter._storage for parameter in p])
    written.unite()
    arrays = written.take()
    del p[0]
    written.put(arrays)  # as after the run
    assert written.storages[0].array is None and written.storages[1].array is arrays[1]
    with pytest.raises(ParameterGone, match="no longer exists"):
        written.take()
    with pytest.raises(ParameterGone, match="no longer exists"):
        gather(written.storages)


class DeletesWhileItRuns:
    """A program in whose first run another thread, as it were, deletes the first Parameter."""

    donates, interruptible = True, False

    def __init__(self, chosen: list[Parameter]):
        self.chosen, self.calls = chosen, 0
        self.arranged_at = backend.placements.version
        self.ready_at: int | None = None

    def compiled(self, inputs: list[Any], written: list[Any], read: list[Any]) -> tuple[list[Any], list[Any]]:
        self.calls += 1
        del self.chosen[0]
        return [], [array + 1 for array in written]

    def has_run(self, inputs: list[Any], written: list[Any]) -> bool:
        return self.ready_at is not None

    def mark_run(self, inputs: list[Any], written: list[Any]) -> None:
        self.ready_at = self.arranged_at


def test_a_first_run_in_which_a_parameter_is_deleted_counts_and_is_not_repeated():
    p = parameters(2)
    written = Written([parameter._storage for parameter in p])
    program = DeletesWhileItRuns(p)
    assert run_stateful(program, [], written, []) == []
    assert program.calls == 1 and values(p) == [2]
    assert written.storages[0].array is None
    with pytest.raises(ParameterGone, match="no longer exists"):
        run_stateful(program, [], written, [])
    assert program.calls == 1 and values(p) == [2]


def test_a_parameter_deleted_before_its_bank_is_made_lets_go_of_its_array():
    p = parameters(2)
    written = Written([parameter._storage for parameter in p])
    del p[0]
    written.unite()
    assert written.storages[0].array is None and values(p) == [1]
    with pytest.raises(ParameterGone, match="no longer exists"):
        written.take()


def test_the_arrays_that_are_taken_are_a_list_of_ones_own():
    p = parameters(2)
    written = Written([parameter._storage for parameter in p])
    for _ in range(2):
        taken = written.take()
        taken.clear()
        assert values(p) == [0, 1]
        written.unite()


def test_threads_that_write_overlapping_parameters_lose_no_update():
    p = parameters(4)
    groups = [[0, 1, 2, 3], [1, 2], [3, 0, 2]]

    def work(group: list[int]) -> None:
        add = adder([p[i] for i in group])
        for _ in range(99):
            add()

    threads = [threading.Thread(target=work, args=(group,)) for group in groups]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values(p) == [i + 100 * sum(i in group for group in groups) for i in range(4)]
