"""Threads: programs of one session run one after the other, sessions of their own do not touch each other."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import AluOpcode, MemoryId, Module
from runtime.memory.array import DeviceArray
from runtime.session import Session, SessionError

CONFIG = VTAConfig()
THREADS, ROUNDS = 6, 25


def add(session: Session, a: DeviceArray, b: DeviceArray, c: DeviceArray) -> None:
    queue = session.queue

    def describe() -> None:
        queue.uop_loop_begin(4, 1, 1, 0)
        queue.uop_push(1, False, 0, 4, 0, AluOpcode.ADD)
        queue.uop_loop_end()

    with session.program():
        for place, array in enumerate((a, b)):
            queue.load_buffer_2d(
                array.allocation, 0, x_size=4, y_size=1, x_stride=4, sram_base=4 * place, memory=MemoryId.ACC
            )
        queue.push_alu("add", describe)
        queue.dep_push(Module.COMPUTE, Module.STORE)
        queue.dep_pop(Module.COMPUTE, Module.STORE)
        queue.store_buffer_2d(0, MemoryId.OUT, c.allocation, 0, x_size=4, y_size=1, x_stride=4)
        queue.synchronize()


def in_threads(work: Callable[[int], None]) -> list[BaseException]:
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def add_and_check(session: Session, number: int) -> None:
    a, b, c = (DeviceArray(session, (4, 16), dtype) for dtype in ("int32", "int32", "int8"))
    a.copyfrom(np.full((4, 16), number, np.int32))
    b.copyfrom(np.full((4, 16), 10 * number, np.int32))
    for _ in range(ROUNDS):
        add(session, a, b, c)
        np.testing.assert_array_equal(c.numpy(), np.full((4, 16), 11 * number, np.int8))


@pytest.mark.parametrize("device", ["sim", "reference"])
def test_threads_may_share_a_session(device: str) -> None:
    session = Session(CONFIG, device, memory_limit=1 << 27)
    assert in_threads(lambda number: add_and_check(session, number)) == []
    assert session.device.stats.launches == THREADS * ROUNDS


def test_threads_may_have_sessions_of_their_own() -> None:
    sessions = [Session(CONFIG, "sim", memory_limit=1 << 27) for _ in range(THREADS)]
    assert in_threads(lambda number: add_and_check(sessions[number], number)) == []
    assert [session.device.stats.launches for session in sessions] == [ROUNDS] * THREADS


def test_a_program_belongs_to_the_thread_that_runs_it() -> None:
    session = Session(CONFIG, "reference", memory_limit=1 << 27)

    def look(_: int) -> None:
        Session.current()

    with session.program():
        assert Session.current() is session
        errors = in_threads(look)
    assert [type(error) for error in errors] == [SessionError] * THREADS
