"""Long programs that are cut in two, force-serial, the end of a program, and what the queue refuses."""

import ctypes
import itertools
import random
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from isa.check.checker import FindingKind, Severity, check, is_valid
from isa.config import VTAConfig
from isa.instructions import NO_DEPS, AluOpcode, Finish, Gemm, MemoryId, Module, numbered
from isa.origin import Origin
from runtime.devices.device import DeadlockError
from runtime.queue.command_queue import INSTRUCTION_LIMIT, CommandQueue, CommandQueueError, DebugFlag
from runtime.queue.instruction_queue import TokenError
from runtime.queue.launch import Launch
from runtime.queue.transfer import TransferError
from runtime.queue.uop_kernel import KernelError
from runtime.session import Session
from tests.support.compiler.convolution import Convolution, read
from tests.support.configs import CONFIGS
from tests.support.hw.streams import gemm_kernel, trace
from tests.support.runtime.random_calls import RandomCalls

LOAD, COMPUTE, STORE = Module.LOAD, Module.COMPUTE, Module.STORE
CONFIG = CONFIGS["default"]


def session(*, limit: int = INSTRUCTION_LIMIT, device: str = "sim", config: str = "default") -> Session:
    return Session(CONFIGS[config], device, instruction_limit=limit, record=True)


def launches(s: Session) -> list[Launch]:
    return s.queue.launcher.launches


# --- programs longer than the instruction area ---------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("limit", [28, 29, 30, 31, 33, 37, 64])
def test_a_program_cut_anywhere_gives_the_same_result(limit: int, threads: int) -> None:
    s = session(limit=limit)
    convolution = Convolution(s, threads, steps=5)
    with s.program():
        convolution.calls()
    assert len(launches(s)) > 1 or limit > 16 * threads
    assert all(len(launch) <= limit + 6 for launch in launches(s))
    found = read(s, convolution.buffers[2], "i1").reshape(threads, 4, 16)
    np.testing.assert_array_equal(found, convolution.expected)


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_do_not_depend_on_where_they_are_cut_or_on_force_serial(config: str, seed: int) -> None:
    for limit, flags in [(INSTRUCTION_LIMIT, 0), (28, 0), (41, 0), (INSTRUCTION_LIMIT, 32), (60, 32)]:
        s = session(limit=limit, config=config)
        s.queue.debug_mode = DebugFlag(flags)
        program = RandomCalls(s, seed, 120)
        with s.program():
            program.calls()
        expected = program.expected()
        assert len(expected)
        found = read(s, program.out, "i1")[: expected.size].reshape(expected.shape)
        np.testing.assert_array_equal(found, expected)
        assert all(len(launch) <= limit + 6 for launch in launches(s))
        assert all(is_valid(launch.program(s.memory)) for launch in launches(s))


def test_a_pop_called_before_the_cut_and_its_push_after_it_still_meet() -> None:
    s = session(limit=28)
    queue = s.queue
    block = s.memory.alloc(4096)
    queue.dep_pop(LOAD, COMPUTE)  # pending: nothing of compute follows yet
    for _ in range(40):
        queue.load_buffer_2d(block, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.INP)
    assert len(launches(s)) == 1
    queue.dep_push(LOAD, COMPUTE)
    queue.push_gemm("k", gemm_kernel(queue, (0, 0, 0), reset=True))
    queue.synchronize()
    assert trace(launches(s)[0].instructions)[-4:] == [
        "NOP-STORE 0010",
        "NOP-LOAD 0001",
        "NOP-COMPUTE 1100",
        "FINISH 0000",
    ]
    assert trace(launches(s)[1].instructions)[-7:-4] == ["LOAD INP 0001", "LOAD UOP 1000", "GEMM-reset 0000"]


def test_tokens_on_their_way_are_given_again_behind_the_cut() -> None:
    s = session(limit=28)
    queue = s.queue
    block = s.memory.alloc(4096)
    for _ in range(3):
        queue.dep_push(LOAD, COMPUTE)
    for _ in range(30):
        queue.load_buffer_2d(block, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.INP)
    for _ in range(2):
        queue.dep_pop(LOAD, COMPUTE)
        queue.push_gemm("k", gemm_kernel(queue, (0, 0, 0), reset=True))
    queue.synchronize()
    second = trace(launches(s)[1].instructions)
    assert second[:2] == ["NOP-LOAD 0001", "NOP-LOAD 0001"]  # two of the three: no more are taken
    assert second.count("LOAD UOP 1000") == 1
    assert second.count("GEMM-reset 1000") == 1


def test_tokens_given_before_a_synchronise_can_be_taken_behind_it_in_the_same_program() -> None:
    s = session()
    queue = s.queue
    with s.program():
        queue.dep_push(STORE, COMPUTE)
        queue.synchronize()
        queue.dep_pop(STORE, COMPUTE)
        queue.push_gemm("k", gemm_kernel(queue, (0, 0, 0), reset=True))
        queue.synchronize()
    assert trace(launches(s)[1].instructions)[:3] == ["NOP-STORE 0010", "LOAD UOP 0100", "GEMM-reset 0000"]


def test_the_micro_op_area_is_emptied_by_a_launch_before_it_overflows() -> None:
    s = session()
    queue = s.queue = CommandQueue(s.config, s.memory, s.device, uop_limit=8192, record=True)
    with s.program():
        for site in range(3):
            queue.push_gemm(site, gemm_kernel(queue, *[(0, 0, 0)] * 3000, reset=True))
            queue.push_gemm(0, gemm_kernel(queue))
        queue.synchronize()
    assert [len(launch.uops) for launch in launches(s)] == [6000, 6000]
    assert trace(launches(s)[1].instructions)[:4] == [
        "LOAD UOP 0000",
        "GEMM-reset 0000",
        "LOAD UOP 0000",
        "GEMM-reset 0000",
    ]


def test_more_tokens_than_a_launch_has_room_for_are_refused() -> None:
    s = session(limit=28)
    message = (
        "command queue: 27 tokens are on their way at once, and a launch has at most 28 instructions; take tokens "
        "before giving more"
    )
    for _ in range(27):
        s.queue.dep_push(LOAD, COMPUTE)
    with pytest.raises(CommandQueueError, match=f"^{re.escape(message)}$"):
        s.queue.dep_push(LOAD, COMPUTE)


@pytest.mark.parametrize("seed", range(12))
def test_tokens_that_run_ahead_are_never_lost_where_a_program_is_cut(seed: int) -> None:
    works = [token_heavy_program(seed, limit, flags) for limit, flags in CUTS]
    assert all(work == works[0] for work in works)


CUTS = ((INSTRUCTION_LIMIT, 0), (60, 0), (75, 0), (80, 32))


def token_heavy_program(seed: int, limit: int, flags: int) -> list[tuple[Module, str]]:
    """Run loads, resets and stores among pushes that run up to six ahead of their pops; return what did work."""
    rng = random.Random(seed)
    s = session(limit=limit)
    queue, block = s.queue, s.memory.alloc(4096)
    queue.debug_mode = DebugFlag(flags)
    ahead = dict.fromkeys([(LOAD, COMPUTE), (COMPUTE, LOAD), (COMPUTE, STORE), (STORE, COMPUTE)], 0)
    with s.program():
        for number in range(150):
            pair = rng.choice(list(ahead))
            match rng.randrange(7):
                case 0 | 1 if ahead[pair] < 6:
                    queue.dep_push(*pair)
                    ahead[pair] += 1
                case 2 | 3 if ahead[pair]:
                    queue.dep_pop(*pair)
                    ahead[pair] -= 1
                case 4:
                    one_element(queue.load_buffer_2d, block, number, sram_base=number % 7, memory=MemoryId.INP)
                case 5:
                    queue.push_gemm(number % 5, gemm_kernel(queue, (number % 5, 0, 0), reset=True))
                case 6:
                    one_element(queue.store_buffer_2d, number % 9, MemoryId.OUT, block, number)
        queue.synchronize()
    # The tokens are random, so they order nothing: what matters is that none of them is lost.
    wrong = [f for launch in launches(s) for f in check(launch.program(s.memory)) if f.severity == Severity.ERROR]
    assert {f.kind for f in wrong} <= {FindingKind.RACE, FindingKind.UNWRITTEN}
    stream = [i for launch in launches(s) for i in launch.instructions]
    work = [(i.module, str(replace(i, deps=NO_DEPS))) for i in stream if not i.is_nop and not isinstance(i, Finish)]
    return [(module, text) for module, text in work if "MemoryId.UOP" not in text and "Gemm" not in text]


def one_element(call: Callable[..., None], *arguments: object, **options: object) -> None:
    call(*arguments, x_size=1, y_size=1, x_stride=1, **options)


# --- force-serial ----------------------------------------------------------------------------------------------------


def test_force_serial_makes_every_instruction_wait_for_the_one_before_it() -> None:
    s = session(device="reference")
    s.queue.debug_mode = DebugFlag.FORCE_SERIAL
    convolution = Convolution(s, threads=2)
    with s.program():
        convolution.calls()
    [launch] = launches(s)
    instructions = launch.instructions
    for before, after in itertools.pairwise(instructions):
        if before.module is after.module:
            continue
        assert abs(before.module - after.module) == 1
        rightwards = before.module < after.module
        assert before.deps.push_next if rightwards else before.deps.push_prev
        assert after.deps.pop_prev if rightwards else after.deps.pop_next
    pushes = sum(i.deps.push_prev + i.deps.push_next for i in instructions)
    assert pushes == sum(a.module is not b.module for a, b in itertools.pairwise(instructions))
    found = read(s, convolution.buffers[2], "i1").reshape(2, 4, 16)
    np.testing.assert_array_equal(found, convolution.expected)


def test_force_serial_joins_load_and_store_through_compute() -> None:
    s = session()
    s.queue.debug_mode = DebugFlag.FORCE_SERIAL
    block = s.memory.alloc(4096)
    queue = s.queue
    queue.load_buffer_2d(block, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.INP)
    queue.store_buffer_2d(0, MemoryId.OUT, block, 0, x_size=1, y_size=1, x_stride=1)
    queue.load_buffer_2d(block, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.WGT)
    queue.store_buffer_2d(0, MemoryId.OUT, block, 0, x_size=1, y_size=1, x_stride=1)
    queue.synchronize()
    assert trace(launches(s)[0].instructions) == [
        "LOAD INP 0001",
        "NOP-COMPUTE 1001",
        "STORE 1010",
        "NOP-COMPUTE 0110",
        "LOAD WGT 0101",
        "NOP-COMPUTE 1001",
        "STORE 1010",
        "NOP-COMPUTE 0100",
        "FINISH 0000",
    ]


def test_force_serial_of_an_empty_program_is_finish_alone() -> None:
    s = session()
    s.queue.debug_mode = DebugFlag.FORCE_SERIAL
    s.queue.synchronize()
    assert trace(launches(s)[0].instructions) == ["FINISH 0000"]


def test_turning_force_serial_on_with_a_full_queue_runs_what_is_there_first() -> None:
    s = session(limit=60)
    block = s.memory.alloc(4096)
    for _ in range(50):
        s.queue.load_buffer_2d(block, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.INP)
    s.queue.debug_mode = DebugFlag.FORCE_SERIAL
    assert [len(launch) for launch in launches(s)] == [54]
    s.queue.synchronize()
    assert len(launches(s)) == 2


# --- the end of a program --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pops", [1, 2, 3])
def test_pops_behind_the_last_synchronise_do_not_reach_the_next_program(pops: int) -> None:
    s = session()
    with s.program():
        s.queue.dep_push(STORE, COMPUTE)
        s.queue.synchronize()
        for _ in range(pops):
            s.queue.dep_pop(STORE, COMPUTE)
    with s.program():
        s.queue.synchronize()
    assert trace(launches(s)[1].instructions) == ["NOP-STORE 0010", "NOP-LOAD 0001", "NOP-COMPUTE 1100", "FINISH 0000"]
    assert len(launches(s)) == 2


def test_work_that_was_not_synchronised_is_done_when_the_program_ends() -> None:
    s = session()
    with s.program():
        s.queue.push_gemm("k", gemm_kernel(s.queue, (0, 0, 0), reset=True))
    assert len(launches(s)) == 1


def test_what_ran_before_has_no_influence_on_a_stream() -> None:
    s = session()
    first, other = Convolution(s, 2), Convolution(s, 3)
    for convolution in (first, other, first, first):
        with s.program():
            convolution.calls()
    streams = [(launch.words, launch.uops.tolist()) for launch in launches(s)]
    assert streams[0] == streams[2] == streams[3]
    assert streams[0] != streams[1]


def short_of_a_token(s: Session) -> None:
    with s.program():
        s.queue.dep_pop(LOAD, COMPUTE)
        s.queue.push_gemm("k", gemm_kernel(s.queue, (0, 0, 0), reset=True))
        s.queue.synchronize()


@pytest.mark.parametrize("device", ["reference", "sim"])
def test_a_deadlock_leaves_the_queue_usable(device: str) -> None:
    s = session(device=device)
    message = (
        "deadlock: load: nothing left; compute: instruction 4 waits for a token load->compute; store: nothing left"
    )
    with pytest.raises(DeadlockError, match=f"^{re.escape(message)}$"):
        short_of_a_token(s)
    with s.program():
        s.queue.synchronize()
    assert len(launches(s)) == 1


# --- kernels ---------------------------------------------------------------------------------------------------------


def test_a_kernel_is_captured_once_for_each_site_and_signature_of_a_program() -> None:
    s = session()
    captured: list[bytes] = []

    def record(signature: bytes) -> Callable[[], None]:
        def calls() -> None:
            captured.append(signature)
            s.queue.uop_push(0, True, len(captured), 0, 0)

        return calls

    long = bytes(range(200))  # signatures have any length
    for _ in range(2):
        with s.program():
            for signature in (b"", long, b"", long[:-1], long):
                s.queue.push_gemm("site", record(signature), signature)
            s.queue.synchronize()
    assert captured == [b"", long, long[:-1]] * 2


def test_an_empty_kernel_leaves_pending_pops_to_the_next_instruction() -> None:
    s = session()
    s.queue.dep_push(LOAD, COMPUTE)
    s.queue.dep_pop(LOAD, COMPUTE)
    s.queue.push_gemm("empty", gemm_kernel(s.queue, loop=(4, 1, 0, 0)))
    s.queue.push_gemm("k", gemm_kernel(s.queue, (0, 0, 0), reset=True))
    s.queue.synchronize()
    assert trace(launches(s)[0].instructions)[:3] == ["NOP-LOAD 0001", "LOAD UOP 1000", "GEMM-reset 0000"]


def test_the_dump_of_micro_ops_comes_when_a_kernel_is_captured() -> None:
    s = session()
    text: list[str] = []
    s.queue.launcher.write = text.append
    s.queue.debug_mode = DebugFlag.DUMP_UOP
    for _ in range(2):
        s.queue.push_gemm("k", gemm_kernel(s.queue, (1, 2, 3)))
    assert text == ["There are 1 uops\n[0000]\t acc=1, inp=2, wgt=3\n\n"]


def alu_kernel(queue: CommandQueue, opcode: int, imm: int) -> Callable[[], None]:
    return lambda: queue.uop_push(1, False, 0, 0, 0, opcode, True, imm)


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (
            lambda q: q.uop_push(0, False, 0, 0, 0),
            "micro-op kernel: a micro-op is pushed outside of a kernel; push_gemm and push_alu open one",
        ),
        (
            lambda q: q.uop_loop_begin(1, 0, 0, 0),
            "micro-op kernel: a loop begins outside of a kernel; push_gemm and push_alu open one",
        ),
        (
            lambda q: q.uop_loop_end(),
            "micro-op kernel: a loop ends outside of a kernel; push_gemm and push_alu open one",
        ),
        (
            lambda q: q.push_gemm("k", lambda: q.uop_push(4, False, 0, 0, 0)),
            "micro-op kernel: mode 4 is unknown; the modes are GEMM 0, ALU 1, DEPTHWISE 2, FUSED 3",
        ),
        (
            lambda q: q.push_gemm("k", lambda: q.uop_push(2, False, 0, 0, 0)),
            "micro-op kernel: mode 2 is depthwise, which this configuration does not have; set DEPTHWISE_TAPS",
        ),
        (
            lambda q: q.push_alu("k", lambda: q.uop_push(3, False, 0, 0, 0, AluOpcode.MAX)),
            "micro-op kernel: mode 3 is fused, which this configuration does not have; set FUSED_ALU",
        ),
        (
            lambda q: q.push_alu("k", alu_kernel(q, 99, 0)),
            f"micro-op kernel: ALU operation 99 is unknown; the operations are {numbered(AluOpcode)}",
        ),
        (
            lambda q: q.push_gemm("k", alu_kernel(q, AluOpcode.ADD, 1)),
            "micro-op kernel: it is pushed for GEMM, and its micro-ops are for ALU",
        ),
        (
            lambda q: q.push_gemm("k", lambda: q.push_gemm("l", gemm_kernel(q, (0, 0, 0)))),
            "micro-op kernel: a kernel is pushed while another one is being captured",
        ),
    ],
)
def test_calls_that_describe_no_kernel_are_refused(calls: Callable[[CommandQueue], None], message: str) -> None:
    s = session()
    with pytest.raises(KernelError, match=f"^{re.escape(message)}$"):
        calls(s.queue)
    s.queue.push_gemm("fine", gemm_kernel(s.queue, (0, 0, 0)))


# --- tokens, origins, limits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["push", "pop"])
def test_load_and_store_have_no_token_queue(verb: str) -> None:
    message = (
        f"dependency {verb} from LOAD to STORE: no token queue joins them; tokens pass between LOAD and COMPUTE and "
        "between COMPUTE and STORE"
    )
    with pytest.raises(TokenError, match=f"^{re.escape(message)}$"):
        getattr(session().queue, f"dep_{verb}")(LOAD, STORE)


def test_each_instruction_has_the_origin_of_its_call() -> None:
    s = session()
    queue, block = s.queue, s.memory.alloc(4096)
    current = Origin("nothing")
    queue.origin = lambda: current
    current = Origin("A", "x.py:3")
    queue.load_buffer_2d(block, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.INP)
    current = Origin("sync")
    queue.dep_push(LOAD, COMPUTE)
    queue.dep_push(LOAD, COMPUTE)
    queue.dep_pop(LOAD, COMPUTE)
    current = Origin("C", "x.py:7")
    queue.push_gemm("k", gemm_kernel(queue, (0, 0, 0)))
    current = Origin("end")
    queue.synchronize()
    stages = [origin.stage for origin in launches(s)[0].origins if origin is not None]
    assert stages == ["A", "sync", "C", "C", "end", "end", "end", "end"]


@pytest.mark.parametrize(("loads", "lengths"), [(24, [31]), (25, [32]), (26, [32, 7])])
def test_a_synchronise_behind_a_full_queue_first_runs_what_is_there(loads: int, lengths: list[int]) -> None:
    # The limit of 28 is two no-ops and 26 loads. Pops are asked for before the last load: each wants room by itself.
    s = session(limit=28)
    block = s.memory.alloc(4096)
    s.queue.dep_push(COMPUTE, LOAD)
    s.queue.dep_push(COMPUTE, STORE)
    for number in range(loads):
        if number == 1:
            s.queue.dep_push(LOAD, COMPUTE)
            for source, target in ((COMPUTE, LOAD), (COMPUTE, STORE), (LOAD, COMPUTE)):
                s.queue.dep_pop(source, target)
        s.queue.load_buffer_2d(block, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.INP)
    s.queue.synchronize()
    assert [len(launch) for launch in launches(s)] == lengths


@pytest.mark.parametrize("limit", [27, INSTRUCTION_LIMIT + 1])
def test_an_instruction_limit_must_leave_room_to_end_a_launch(limit: int) -> None:
    message = f"command queue: the instruction limit is 28 to 2097146, not {limit}"
    with pytest.raises(CommandQueueError, match=f"^{re.escape(message)}$"):
        session(limit=limit)


def test_a_micro_op_limit_must_hold_one_kernel() -> None:
    s = session()
    message = "command queue: the micro-op limit is 8192 to 8388608, not 8191"
    with pytest.raises(CommandQueueError, match=f"^{re.escape(message)}$"):
        CommandQueue(s.config, s.memory, s.device, uop_limit=8191)


def test_large_immediates_run_as_several_instructions_on_one_block_of_micro_ops() -> None:
    s = session()
    acc = np.arange(-8, 8, dtype=np.int32).reshape(1, 16)
    block = s.memory.alloc(64)
    s.memory.write(block, 0, acc.tobytes())
    out = s.memory.alloc(16)
    queue = s.queue
    queue.load_buffer_2d(block, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.ACC)
    for site, (opcode, imm) in enumerate([(AluOpcode.ADD, 1 << 30), (AluOpcode.SHR, 23), (AluOpcode.MUL, 100003)]):
        queue.push_alu(site, alu_kernel(queue, opcode, imm))
    queue.dep_push(COMPUTE, STORE)
    queue.dep_pop(COMPUTE, STORE)
    queue.store_buffer_2d(0, MemoryId.OUT, out, 0, x_size=1, y_size=1, x_stride=1)
    queue.synchronize()
    expected = (((acc + (1 << 30)) >> 23) * 100003).astype(np.int8)
    np.testing.assert_array_equal(read(s, out, "i1"), expected.ravel())
    assert len(launches(s)[0].uops) == 3


def test_modules_and_memories_may_be_given_by_number() -> None:
    words = []
    for module, memory in ((Module, MemoryId), (int, int)):
        s = session()
        block = s.memory.alloc(4096)
        with s.program():
            s.queue.load_buffer_2d(block, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=memory(2))
            s.queue.dep_push(module(1), module(2))
            s.queue.dep_pop(module(1), module(2))
            s.queue.store_buffer_2d(0, memory(4), block, 0, x_size=1, y_size=1, x_stride=1)
            s.queue.synchronize()
        words.append(s.queue.launcher.launches[0].words)
    assert words[0] == words[1]


def test_numbers_of_nothing_are_refused() -> None:
    s = session()
    with pytest.raises(TokenError) as token:
        s.queue.dep_pop(2, 4)
    assert str(token.value) == "dependency: module 4 is unknown; the modules are LOAD 1, COMPUTE 2, STORE 3"
    with pytest.raises(TransferError) as transfer:
        s.queue.store_buffer_2d(0, 9, s.memory.alloc(1), 0, x_size=1, y_size=1, x_stride=1)
    assert str(transfer.value) == "memory 9 is unknown; the memories are UOP 0, WGT 1, INP 2, ACC 3, OUT 4, ACC_8BIT 5"


@pytest.mark.parametrize("limit", [28, 40, 64])
@pytest.mark.parametrize("debug", [DebugFlag(0), DebugFlag.FORCE_SERIAL])
def test_a_launch_is_cut_when_its_area_is_full_and_not_before(limit: int, debug: DebugFlag) -> None:
    """Without tokens a launch takes the whole limit; where no-ops may be put between any two, half of what is left."""
    room = limit if not debug else limit // 2 - 7  # 7 end a launch
    for loads in (room, room + 1):
        s = session(limit=limit)
        s.queue.debug_mode = debug
        block = s.memory.alloc(4096)
        for _ in range(loads):
            s.queue.load_buffer_2d(block, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.INP)
        assert len(launches(s)) == loads - room


def test_as_many_tokens_as_a_launch_has_room_for_may_be_on_their_way() -> None:
    s = session(limit=28)
    block = s.memory.alloc(64)
    for _ in range(26):
        s.queue.dep_push(LOAD, COMPUTE)
    s.queue.load_buffer_2d(block, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.INP)
    s.queue.dep_push(LOAD, COMPUTE)  # behind a cut: 26 are given again, and two no-ops are room for one more
    assert len(launches(s)) == 1


def test_compiled_code_says_where_instructions_come_from_by_number() -> None:
    s = session()
    table = [Origin("first"), None, Origin("last")]
    number = ctypes.c_int32()
    s.queue.set_origin_source(ctypes.addressof(number), table)
    for index in (-1, 0, 1, 2, 3):
        number.value = index
        s.queue.push_gemm(index, gemm_kernel(s.queue, (index + 1, 0, 0), reset=True))
    s.queue.synchronize()
    [launch] = launches(s)
    stages = [origin.stage for origin in launch.origins if origin is not None and origin.call == "VTAPushGEMMOp"]
    assert list(dict.fromkeys(stages)) == ["", "first", "last"]
    resets = [
        origin.stage if origin else None
        for word, origin in zip(launch.instructions, launch.origins, strict=True)
        if isinstance(word, Gemm) and not word.is_nop
    ]
    assert resets == ["", "first", "", "last", ""]


@pytest.mark.parametrize(
    ("opcode", "use_imm", "got"), [(AluOpcode.ADD, False, "ADD 2"), (AluOpcode.MAX, True, "MAX 1 and an immediate")]
)
def test_fused_operations_are_those_that_there_are(opcode: AluOpcode, use_imm: bool, got: str) -> None:
    queue = Session(VTAConfig(fused_alu=1), "sim").queue
    with pytest.raises(KernelError) as caught:
        queue.push_alu("k", lambda: queue.uop_push(3, False, 0, 0, 0, opcode, use_imm, 3))
    assert str(caught.value) == (
        f"micro-op kernel: fused operations begin with MAX 1, MUL 4 and two accumulators, not with {got}"
    )
