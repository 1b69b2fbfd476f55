"""One module for several threads and sessions: everybody gets what they asked for."""

import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import vta
from bench.threads import adding
from isa.config import VTAConfig
from runtime.memory.array import DeviceArray
from runtime.session import Session
from vta.codegen import Module

THREADS, ROUNDS = 4, 12


@pytest.fixture(autouse=True)
def _threads_switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def add(constant: int) -> Module:
    """Return a module that adds ``constant`` to eight tiles."""
    return adding(constant, tiles=8)


def session() -> Session:
    return Session(VTAConfig(), "sim", memory_limit=1 << 27, record=True)


def call(module: Module, on: Session, value: int) -> None:
    """Call a module that adds 7 on new arrays, and check what it computed."""
    source = DeviceArray(on, (8, 1, 16), "int32").copyfrom(np.full((8, 1, 16), value, np.int32))
    target = DeviceArray(on, (8, 1, 16), "int8")
    module(source, target)
    assert (target.numpy() == value + 7).all()


def in_threads(work: Callable[[int], None]) -> None:
    """Do ``work`` in all threads at once; raise the first error."""
    errors: list[BaseException] = []
    start = threading.Barrier(THREADS)

    def guarded(number: int) -> None:
        start.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error


@pytest.mark.parametrize("replays", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_threads_share_a_module(shared: bool, replays: bool) -> None:
    module = add(7)
    module.replays = replays
    sessions = [session()] * THREADS if shared else [session() for _ in range(THREADS)]

    def calls(number: int) -> None:
        for n in range(ROUNDS):
            call(module, sessions[number], 10 * number + n)

    in_threads(calls)
    assert [len(s.queue.launcher.launches) for s in dict.fromkeys(sessions)] == (
        [THREADS * ROUNDS] if shared else [ROUNDS] * THREADS
    )


def test_streams_are_kept_for_every_session() -> None:
    module, sessions = add(7), [session(), session()]
    caches = [module.streams(s, "main") for s in sessions]
    assert caches[0] is not caches[1]
    for turn in range(3):
        for number, s in enumerate(sessions):
            call(module, s, turn)
            assert module.streams(s, "main") is caches[number]
            assert len(caches[number]) == 1


def test_kept_streams_do_not_keep_a_session() -> None:
    import gc
    import weakref

    module, s = add(7), session()
    call(module, s, 1)
    gone = weakref.ref(s)
    del s
    gc.collect()
    assert gone() is None


def test_a_module_is_linked_once() -> None:
    module, found = add(7), []
    in_threads(lambda _: found.append(module.linked))
    assert {id(linked) for linked in found} == {id(module.linked)}


def test_instructions_say_where_their_own_call_came_from() -> None:
    module = add(7)
    module.replays = False
    alone = session()
    call(module, alone, 0)
    [expected] = (launch.origins for launch in alone.queue.launcher.launches)
    assert len({str(origin) for origin in expected}) > 2
    sessions = [session() for _ in range(THREADS)]

    def calls(number: int) -> None:
        for n in range(ROUNDS):
            call(module, sessions[number], n)

    in_threads(calls)
    for s in sessions:
        assert {launch.origins for launch in s.queue.launcher.launches} == {expected}


def test_an_environment_has_one_session() -> None:
    env = vta.Environment(VTAConfig())
    found: list[Session] = []
    in_threads(lambda _: found.append(env.session))
    assert {id(s) for s in found} == {id(env.session)}
