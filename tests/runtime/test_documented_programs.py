"""The traces and the two binary programs of ``docs/runtime.md``, made again call by call, word for word."""

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import AluOpcode, MemoryId, Module
from runtime.queue.command_queue import CommandQueue
from runtime.session import Session
from tests.support.compiler.convolution import Convolution, fill, read
from tests.support.hw.streams import gemm_kernel, trace

LOAD, COMPUTE, STORE = Module.LOAD, Module.COMPUTE, Module.STORE


@pytest.fixture(params=["reference", "sim"])
def session(request: pytest.FixtureRequest) -> Session:
    session = Session(VTAConfig(), request.param, record=True)
    addresses = session.queue.launcher.addresses  # the queue is there before any buffer
    assert (addresses.uops, addresses.instructions) == (0x1000, 0x2001000)
    return session


def words(session: Session) -> list[str]:
    [launch] = session.queue.launcher.launches
    return [f"{low:016x} {high:016x}" for low, high in launch.array.tolist()]


def names(session: Session) -> list[str]:
    [launch] = session.queue.launcher.launches
    return trace(launch.instructions)


def test_an_empty_synchronise_is_four_instructions(session: Session) -> None:
    session.queue.synchronize()
    assert names(session) == ["NOP-STORE 0010", "NOP-LOAD 0001", "NOP-COMPUTE 1100", "FINISH 0000"]
    assert words(session) == [
        "0000000000000021 0000000000000000",
        "0000000000000140 0000000000000000",
        "0000000000000018 0000000000000000",
        "0000000000000003 0000000000000000",
    ]


PROGRAM_A = [
    "0000400100000180 0000004000400001",
    "0000400200010180 0000004000400001",
    "0000001000000000 0000000100010001",
    "0080000800200044 0000200200000800",
    "0001000c00000229 0000004000400001",
    "0000000000000140 0000000000000000",
    "0000000000000018 0000000000000000",
    "0000000000000003 0000000000000000",
]


def test_program_a_adds_two_vectors(session: Session) -> None:
    queue = session.queue
    rng = np.random.default_rng(1)
    a = rng.integers(-(1 << 30), 1 << 30, (64, 16), dtype=np.int32)
    b = rng.integers(-(1 << 30), 1 << 30, (64, 16), dtype=np.int32)
    buffers = [fill(session, a), fill(session, b), session.memory.alloc(1024)]
    assert [buffer.address for buffer in buffers] == [0x4001000, 0x4002000, 0x4003000]

    def record() -> None:
        queue.uop_loop_begin(64, 1, 1, 0)
        queue.uop_push(1, False, 0, 64, 0, AluOpcode.ADD, False, 0)
        queue.uop_loop_end()

    for buffer, base in zip(buffers, (0, 64), strict=False):
        queue.load_buffer_2d(buffer, 0, x_size=64, y_size=1, x_stride=64, sram_base=base, memory=MemoryId.ACC)
    queue.push_alu("add", record)
    queue.dep_push(COMPUTE, STORE)
    queue.dep_pop(COMPUTE, STORE)
    queue.store_buffer_2d(0, MemoryId.OUT, buffers[2], 0, x_size=64, y_size=1, x_stride=64)
    queue.synchronize()
    assert names(session) == [
        "LOAD ACC 0000",
        "LOAD ACC 0000",
        "LOAD UOP 0000",
        "ALU 0001",
        "STORE 1010",
        "NOP-LOAD 0001",
        "NOP-COMPUTE 1100",
        "FINISH 0000",
    ]
    assert words(session) == PROGRAM_A
    assert queue.launcher.launches[0].uops.tolist() == [0x00020000]
    np.testing.assert_array_equal(read(session, buffers[2], "i1"), (a + b).astype(np.int8).ravel())


PROGRAM_B = """
    0000000000000021 0000000000000000
    0000000000000021 0000000000000000
    0000001000000010 0000000100010001
    00020020002000a2 0000000000000001
    0000001004000410 0000000100010001
    00020020004001a2 0000000000000001
    0001000400000110 0000000400040001
    00001000800000c0 0000000100010001
    0001000400001110 0000000400040001
    00001000880004c0 0000000100010001
    0000001008000808 0000000100010001
    0002002000600222 0000000000400001
    000000100c000c08 0000000100010001
    0002002000800322 0000000000400001
    0001000410000110 0000000400040001
    00001000840000c0 0000000100010001
    0001000410001110 0000000400040001
    000010008c0004c0 0000000100010001
    000200200060022a 0000000000400001
    000200200080032a 0000000000400001
    0000000000000110 0000000000000000
    0000001010001000 0000000100010001
    0008000800a00444 0008b00200000800
    0000001014001400 0000000100010001
    0008000800c00544 0008b00200000800
    0001000c00000229 0000000400040001
    0001000c10001229 0000000400040001
    0000000000000010 0000000000000000
    0000000000000021 0000000000000000
    0000000000000110 0000000000000000
    0000000000000140 0000000000000000
    0000000000000010 0000000000000000
    0000000000000018 0000000000000000
    0000000000000003 0000000000000000
"""

TRACE_B = """
    NOP-STORE 0010, NOP-STORE 0010, LOAD UOP 0100, GEMM-reset 0010, LOAD UOP 0100, GEMM-reset 0010,
    LOAD INP 0100, LOAD WGT 0001, LOAD INP 0100, LOAD WGT 0001, LOAD UOP 1000, GEMM 0010, LOAD UOP 1000, GEMM 0010,
    LOAD INP 0100, LOAD WGT 0001, LOAD INP 0100, LOAD WGT 0001, GEMM 1010, GEMM 1010, NOP-LOAD 0100,
    LOAD UOP 0000, ALU 0001, LOAD UOP 0000, ALU 0001, STORE 1010, STORE 1010, NOP-COMPUTE 0100, NOP-STORE 0010,
    NOP-LOAD 0100, NOP-LOAD 0001, NOP-COMPUTE 0100, NOP-COMPUTE 1100, FINISH 0000
"""

TRACE_B_ONE_THREAD = """
    NOP-STORE 0010, LOAD UOP 0100, GEMM-reset 0010, LOAD INP 0100, LOAD WGT 0001, LOAD UOP 1000, GEMM 0010,
    LOAD INP 0100, LOAD WGT 0001, GEMM 1010, LOAD UOP 0000, ALU 0001, STORE 1010, NOP-STORE 0010, NOP-LOAD 0100,
    NOP-LOAD 0001, NOP-COMPUTE 0100, NOP-COMPUTE 1100, FINISH 0000
"""


def listed(text: str) -> list[str]:
    return [name.strip() for name in text.replace("\n", " ").split(",")]


def test_program_b_convolves_in_two_threads(session: Session) -> None:
    convolution = Convolution(session, threads=2)
    assert [buffer.address for buffer in convolution.buffers] == [0x4001000, 0x4002000, 0x4003000]
    convolution.calls()
    assert words(session) == PROGRAM_B.strip().replace("    ", "").split("\n")
    assert names(session) == listed(TRACE_B)
    assert session.queue.launcher.launches[0].uops.tolist() == [0, 4, 0, 0x00402004, 0, 0x00002004]
    found = read(session, convolution.buffers[2], "i1").reshape(2, 4, 16)
    np.testing.assert_array_equal(found, convolution.expected)


def test_the_convolution_in_one_thread_is_nineteen_instructions(session: Session) -> None:
    convolution = Convolution(session, threads=1)
    convolution.calls()
    assert names(session) == listed(TRACE_B_ONE_THREAD)
    found = read(session, convolution.buffers[2], "i1").reshape(1, 4, 16)
    np.testing.assert_array_equal(found, convolution.expected)


def test_a_matrix_multiply_in_two_steps_merges_its_tokens(session: Session) -> None:
    queue = session.queue
    rng = np.random.default_rng(3)
    inp = rng.integers(-128, 128, (2, 16), dtype=np.int8)
    wgt = rng.integers(-128, 128, (2, 16, 16), dtype=np.int8)
    buffers = [fill(session, inp), fill(session, wgt), session.memory.alloc(16)]
    queue.push_gemm("reset", gemm_kernel(queue, (0, 0, 0), reset=True))
    queue.dep_push(COMPUTE, LOAD)
    for step in range(2):
        queue.dep_pop(COMPUTE, LOAD)
        for buffer, memory in zip(buffers, (MemoryId.INP, MemoryId.WGT), strict=False):
            queue.load_buffer_2d(buffer, step, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=memory)
        queue.dep_push(LOAD, COMPUTE)
        queue.dep_pop(LOAD, COMPUTE)
        queue.push_gemm("gemm", gemm_kernel(queue, (0, 0, 0)))
        queue.dep_push(COMPUTE, LOAD)
    queue.dep_push(COMPUTE, STORE)
    queue.dep_pop(COMPUTE, LOAD)
    queue.dep_pop(COMPUTE, STORE)
    queue.store_buffer_2d(0, MemoryId.OUT, buffers[2], 0, x_size=1, y_size=1, x_stride=1)
    queue.synchronize()
    assert names(session) == listed(
        """LOAD UOP 0000, GEMM-reset 0010, LOAD INP 0100, LOAD WGT 0001, LOAD UOP 1000, GEMM 0010, LOAD INP 0100,
        LOAD WGT 0001, GEMM 1011, STORE 1010, NOP-LOAD 0100, NOP-LOAD 0001, NOP-COMPUTE 1100, FINISH 0000"""
    )
    expected = np.einsum("ki,koi->o", inp.astype(np.int32), wgt.astype(np.int32)).astype(np.int8)
    np.testing.assert_array_equal(read(session, buffers[2], "i1"), expected)


SMALL_UOPS = VTAConfig(log_uop_buff_size=6)


@pytest.mark.parametrize("device", ["reference", "sim"])
def test_kernels_that_wrap_around_on_chip_are_each_read_from_their_own_place(device: str) -> None:
    # Depth 16 and four kernels of six micro-ops: C and D go where A and B were. (Upstream loads C and D for A and B.)
    session = Session(SMALL_UOPS, device, record=True)
    queue = session.queue
    ones = fill(session, np.ones((1, 16), np.int8))
    identity = fill(session, np.eye(16, dtype=np.int8)[None])
    out = session.memory.alloc(24 * 16)
    queue.load_buffer_2d(ones, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.INP)
    queue.load_buffer_2d(identity, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.WGT)
    queue.dep_push(LOAD, COMPUTE)
    queue.dep_pop(LOAD, COMPUTE)
    clear = gemm_kernel(queue, (0, 0, 0), reset=True, loop=(24, 1, 0, 0))
    queue.push_gemm("reset", clear)
    queue.synchronize()
    for kernel in range(4):
        add = gemm_kernel(queue, *[(6 * kernel + i, 0, 0) for i in range(6)], loop=(kernel + 1, 0, 0, 0))
        queue.push_gemm(kernel, add)
    queue.dep_push(COMPUTE, STORE)
    queue.dep_pop(COMPUTE, STORE)
    queue.store_buffer_2d(0, MemoryId.OUT, out, 0, x_size=24, y_size=1, x_stride=24)
    queue.synchronize()
    loads = load_places(queue)
    assert loads == [(0, 0), (6, 6), (0, 12), (6, 18)]
    image = queue.launcher.launches[-1].uops.tolist()
    assert image == list(range(24))
    expected = np.repeat(np.arange(1, 5), 6 * 16).astype(np.int8)
    np.testing.assert_array_equal(read(session, out, "i1"), expected)


def load_places(queue: CommandQueue) -> list[tuple[int, int]]:
    """Return, for each micro-op load of the last launch, its place on chip and in the micro-op image."""
    launch = queue.launcher.launches[-1]
    loads = [i for i in launch.instructions if trace([i])[0].startswith("LOAD UOP")]
    base = launch.addresses.uops // 4
    return [(load.sram_base, load.dram_base - base) for load in loads]
