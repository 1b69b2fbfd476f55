"""A recorded program on other buffers is, bit for bit, the program run again on them; and when it is not replayed."""

import re
from collections.abc import Sequence

import numpy as np
import pytest

from runtime.memory.device_memory import Allocation
from runtime.program_run import ProgramRun, Recording, ReplayError
from runtime.queue.command_queue import CommandQueueError, DebugFlag
from runtime.queue.launch import Launch, RelocationError
from runtime.queue.launcher import LauncherError
from runtime.queue.stream_cache import StreamCache
from runtime.session import Session, SessionError
from tests.support.compiler.convolution import Convolution, read
from tests.support.configs import CONFIGS
from tests.support.hw.streams import gemm_kernel
from tests.support.runtime.random_calls import RandomCalls


def session(config: str = "default") -> Session:
    return Session(CONFIGS[config], record=True)


def launches(s: Session) -> list[Launch]:
    return s.queue.launcher.launches


def copies(s: Session, blocks: Sequence[Allocation]) -> list[Allocation]:
    """Return blocks of the same sizes and contents at other addresses."""
    s.memory.alloc(4096)
    made = []
    for block in blocks:
        made.append(s.memory.alloc(block.nbytes))
        s.memory.copy(block, 0, made[-1], 0, block.nbytes)
    return made


def record(s: Session, program: RandomCalls) -> Recording:
    with s.program(program.arguments) as run:
        program.calls()
    assert run.recording is not None
    return run.recording


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("flags", [DebugFlag.NONE, DebugFlag.FORCE_SERIAL])
def test_a_replay_is_the_same_words_and_results_as_running_again(config: str, flags: DebugFlag) -> None:
    s = session(config)
    s.queue.debug_mode = flags
    program = RandomCalls(s, seed=9, length=80)
    recording = record(s, program)
    expected = program.expected()
    others = copies(s, program.arguments)
    s.replay(recording, others)
    found = read(s, others[-1], "i1")[: expected.size].reshape(expected.shape)
    np.testing.assert_array_equal(found, expected)

    program.buffers = dict(zip(program.buffers, others, strict=False))
    program.out = others[-1]
    with s.program():
        program.calls()
    first, replayed, again = launches(s)
    assert replayed.words == again.words
    assert replayed.uops.tolist() == again.uops.tolist()
    assert replayed.words != first.words
    assert replayed.origins == first.origins


def test_a_replay_on_the_same_buffers_is_the_recorded_launch_itself() -> None:
    s = session()
    program = RandomCalls(s, seed=1, length=20)
    recording = record(s, program)
    assert recording.bind(program.arguments) == recording.launches


def test_a_program_cut_into_several_launches_is_replayed_as_such() -> None:
    s = Session(CONFIGS["default"], instruction_limit=30, record=True)
    program = RandomCalls(s, seed=2, length=60)
    recording = record(s, program)
    assert len(recording.launches) > 2
    expected = program.expected()
    others = copies(s, program.arguments)
    s.replay(recording, others)
    np.testing.assert_array_equal(read(s, others[-1], "i1")[: expected.size], expected.ravel())


def test_replays_alternate_with_other_programs() -> None:
    s = session()
    convolution = Convolution(s, threads=2)
    with s.program(convolution.buffers) as run:
        convolution.calls()
    assert run.recording is not None
    other = RandomCalls(s, seed=3, length=30)
    for _ in range(3):
        s.memory.write(convolution.buffers[2], 0, bytes(128))
        record(s, other)
        s.replay(run.recording, convolution.buffers)
        found = read(s, convolution.buffers[2], "i1").reshape(2, 4, 16)
        np.testing.assert_array_equal(found, convolution.expected)


# --- the cache -------------------------------------------------------------------------------------------------------


class Counted:
    """The convolution as host code that counts its runs."""

    def __init__(self, s: Session) -> None:
        self.convolution = Convolution(s, threads=2)
        self.runs = 0

    def __call__(self, _run: ProgramRun) -> None:
        self.runs += 1
        self.convolution.calls()


def test_equal_calls_run_host_code_once() -> None:
    s = session()
    cache, code = StreamCache(s), Counted(s)
    arguments = code.convolution.buffers
    assert [cache.call("f", arguments, code) for _ in range(4)] == [False, True, True, True]
    assert cache.call("f", copies(s, arguments), code)
    assert code.runs == 1
    assert not cache.call(("f", 3), arguments, code)


def test_another_way_of_sharing_buffers_is_another_stream() -> None:
    s = session()
    cache, code = StreamCache(s), Counted(s)
    a, b, c = code.convolution.buffers
    same = s.memory.alloc(a.nbytes)
    cache.call("f", [a, b, c, same], code)
    assert not cache.call("f", [a, b, c, a], code)
    assert cache.call("f", [a, b, c, a], code)
    assert cache.call("f", [same, b, c, a], code)
    with pytest.raises(
        ReplayError,
        match=re.escape(
            "recorded program: its arguments shared buffers as (0, 1) says, and these as (0, 0); run it again to "
            "record it for them"
        ),
    ):
        Recording(s.memory, (), (a, b), DebugFlag.NONE).bind([a, a])


def test_other_sizes_and_force_serial_are_other_streams_and_coming_back_finds_the_first() -> None:
    s = session()
    cache, code = StreamCache(s), Counted(s)
    arguments = code.convolution.buffers
    longer = [s.memory.alloc(arguments[0].nbytes + 16), *arguments[1:]]
    assert not cache.call("f", arguments, code)
    assert not cache.call("f", longer, code)
    s.queue.debug_mode = DebugFlag.FORCE_SERIAL
    assert not cache.call("f", arguments, code)
    assert cache.call("f", arguments, code)
    s.queue.debug_mode = DebugFlag.NONE
    assert cache.call("f", arguments, code)
    serial, normal = launches(s)[-2], launches(s)[-1]
    assert len(serial) != len(normal)


def test_dumps_are_written_by_replays_too_and_kernels_are_captured_for_theirs() -> None:
    s = session()
    text: list[str] = []
    s.queue.launcher.write = text.append
    cache, code = StreamCache(s), Counted(s)
    cache.call("f", code.convolution.buffers, code)
    s.queue.debug_mode = DebugFlag.DUMP_INSN
    assert cache.call("f", code.convolution.buffers, code)
    assert text[0].startswith("There are 34 instructions\n")
    s.queue.debug_mode = DebugFlag.DUMP_UOP
    assert not cache.call("f", code.convolution.buffers, code)
    assert len(text) == 7


def test_host_code_that_looks_at_data_runs_every_time() -> None:
    s = session()
    cache = StreamCache(s)
    convolution = Convolution(s, threads=1)
    runs: list[int] = []

    def host_code(run: ProgramRun) -> None:
        run.depends_on_host("it accesses a device buffer")
        runs.append(1)
        convolution.calls()

    assert [cache.call("f", convolution.buffers, host_code) for _ in range(3)] == [False] * 3
    assert len(runs) == 3
    assert len(cache) == 0


def test_a_program_that_uses_a_buffer_of_its_own_is_recorded_again_when_that_is_gone() -> None:
    s = session()
    cache, code = StreamCache(s), Counted(s)
    inp, wgt, out = code.convolution.buffers
    assert not cache.call("f", [inp, out], code)
    assert cache.call("f", [inp, out], code)
    s.memory.free(wgt)
    with pytest.raises(ReplayError, match="a buffer that it uses besides its arguments was freed; run it again"):
        s.replay(next(iter(cache._recordings.values())), [inp, out])
    code.convolution.buffers[1] = s.memory.alloc(wgt.nbytes)
    assert not cache.call("f", [inp, out], code)


def test_a_program_is_recorded_again_when_the_memory_areas_moved() -> None:
    s = session()
    pages = [s.memory.alloc(4096) for _ in range(2)]
    cache, code = StreamCache(s), Counted(s)
    assert not cache.call("f", code.convolution.buffers, code)
    recording = next(iter(cache._recordings.values()))
    s.queue.close()
    for page in pages:
        s.memory.free(page)
    s.memory.alloc(3 * 4096)
    s.memory.alloc(4096)
    assert not cache.call("f", code.convolution.buffers, code)
    assert cache.call("f", code.convolution.buffers, code)
    assert launches(s)[0].addresses != launches(s)[1].addresses
    with pytest.raises(LauncherError, match=r"; it belongs to another session, or to the time before a shutdown$"):
        s.replay(recording, code.convolution.buffers)


def test_a_program_that_failed_is_not_kept() -> None:
    s = session()
    cache = StreamCache(s)

    def host_code(run: ProgramRun) -> None:
        s.queue.push_gemm("k", gemm_kernel(s.queue, (0, 0, 0)))
        raise ValueError("host code failed")

    with pytest.raises(ValueError, match="host code failed"):
        cache.call("f", [], host_code)
    assert len(cache) == 0


def test_the_stream_used_longest_ago_is_forgotten_first() -> None:
    s = session()
    cache, code = StreamCache(s, limit=2), Counted(s)
    arguments = code.convolution.buffers
    for function in ("f", "g", "f", "h"):
        cache.call(function, arguments, code)
    assert len(cache) == 2
    assert cache.call("f", arguments, code)
    assert not cache.call("g", arguments, code)


def test_a_buffer_too_short_for_the_recorded_program_is_refused() -> None:
    s = session()
    convolution = Convolution(s, threads=2)
    with s.program(convolution.buffers) as run:
        convolution.calls()
    assert run.recording is not None
    inp, wgt, out = convolution.buffers
    short = s.memory.alloc(out.nbytes - 1)
    message = (
        f"buffer at {short.address:#x}: it has 127 bytes, and instruction 26 of the recorded launch reaches to byte 128"
    )
    with pytest.raises(RelocationError, match=f"^{re.escape(message)}$"):
        s.replay(run.recording, [inp, wgt, short])


def test_a_freed_buffer_is_refused_by_queue_and_replay() -> None:
    s = session()
    convolution = Convolution(s, threads=2)
    with s.program(convolution.buffers) as run:
        convolution.calls()
    assert run.recording is not None
    s.memory.free(convolution.buffers[0])
    address = convolution.buffers[0].address
    message = f"recorded program: the buffer at {address:#x} is not allocated (any more)"
    with pytest.raises(ReplayError, match=f"^{re.escape(message)}$"):
        s.replay(run.recording, convolution.buffers)
    message = f"command queue: the buffer at {address:#x} is not allocated (any more), or belongs to another memory"
    with pytest.raises(CommandQueueError, match=f"^{re.escape(message)}$"):
        convolution.calls()


def test_a_program_cannot_be_replayed_inside_another_one() -> None:
    s = session()
    message = "a program is running on this session, and a recorded one cannot run inside it"
    with s.program(), pytest.raises(SessionError, match=f"^{re.escape(message)}$"):
        s.replay(Recording(s.memory, (), (), DebugFlag.NONE), [])
