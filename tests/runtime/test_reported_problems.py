"""What users of such toolchains reported about runtimes: the smallest input of each report, and the right answer."""

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from isa.config import ConfigError, VTAConfig
from isa.instructions import AluOpcode, MemoryId, Module
from runtime.memory.device_memory import Allocation
from runtime.queue.command_queue import DebugFlag
from runtime.queue.uop_kernel import KernelError
from runtime.session import Session
from tests.support.compiler.convolution import Convolution, fill, read
from tests.support.hw.streams import gemm_kernel

LOAD, COMPUTE, STORE = Module.LOAD, Module.COMPUTE, Module.STORE


def fa(*shape: int) -> npt.NDArray[np.int8]:
    """The reports' first pattern, by flat index k: (7 k mod 17) - 8."""
    return ((7 * np.arange(np.prod(shape)) % 17) - 8).astype(np.int8).reshape(shape)


def fb(*shape: int) -> npt.NDArray[np.int8]:
    """The reports' second pattern: (5 k mod 13) - 6."""
    return ((5 * np.arange(np.prod(shape)) % 13) - 6).astype(np.int8).reshape(shape)


class PackedMatmul:
    """One row of ``n`` input blocks times ``m`` rows of weight blocks, with a store for each output block if asked."""

    def __init__(self, session: Session, *, n: int, m: int, guard: int = 0) -> None:
        c = session.config
        self.session, self.n, self.m = session, n, m
        self.a, self.b = fa(1, n, 1, c.block_in), fb(m, n, c.block_out, c.block_in)
        self.inp, self.wgt = fill(session, self.a), fill(session, self.b)
        self.out = session.memory.alloc(m * c.block_out + guard)

    @property
    def sums(self) -> npt.NDArray[np.int32]:
        return np.einsum("onbi,mnji->ombj", self.a.astype(np.int32), self.b.astype(np.int32)).astype(np.int32)

    def run(self, *, one_store_each: bool = False) -> npt.NDArray[np.int8]:
        queue, n, m = self.session.queue, self.n, self.m
        with self.session.program():
            queue.push_gemm("reset", gemm_kernel(queue, *[(j, 0, 0) for j in range(m)], reset=True))
            queue.dep_push(COMPUTE, LOAD)
            queue.dep_pop(COMPUTE, LOAD)
            for buffer, count, memory in ((self.inp, n, MemoryId.INP), (self.wgt, m * n, MemoryId.WGT)):
                queue.load_buffer_2d(buffer, 0, x_size=count, y_size=1, x_stride=count, sram_base=0, memory=memory)
            queue.dep_push(LOAD, COMPUTE)
            queue.dep_pop(LOAD, COMPUTE)
            uops = [(j, k, j * n + k) for j in range(m) for k in range(n)]
            queue.push_gemm("gemm", gemm_kernel(queue, *uops))
            queue.dep_push(COMPUTE, STORE)
            queue.dep_pop(COMPUTE, STORE)
            for first, count in [(j, 1) for j in range(m)] if one_store_each else [(0, m)]:
                queue.store_buffer_2d(first, MemoryId.OUT, self.out, first, x_size=count, y_size=1, x_stride=count)
            queue.synchronize()
        return read(self.session, self.out, "i1")[: self.sums.size].reshape(self.sums.shape).astype(np.int8)


class AluOnly:
    """y = max(x, -4) + 2 on four elements."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.x = (np.arange(64, dtype=np.int32) - 30).reshape(4, 1, 16)
        self.inp, self.out = fill(session, self.x), session.memory.alloc(64)

    def run(self) -> npt.NDArray[np.int8]:
        queue = self.session.queue
        with self.session.program():
            queue.load_buffer_2d(self.inp, 0, x_size=4, y_size=1, x_stride=4, sram_base=0, memory=MemoryId.ACC)
            queue.push_alu("max", self._kernel(AluOpcode.MAX, -4))
            queue.push_alu("add", self._kernel(AluOpcode.ADD, 2))
            queue.dep_push(COMPUTE, STORE)
            queue.dep_pop(COMPUTE, STORE)
            queue.store_buffer_2d(0, MemoryId.OUT, self.out, 0, x_size=4, y_size=1, x_stride=4)
            queue.synchronize()
        return read(self.session, self.out, "i1").astype(np.int8)

    def _kernel(self, opcode: AluOpcode, imm: int) -> Callable[[], None]:
        queue = self.session.queue

        def record() -> None:
            queue.uop_loop_begin(4, 1, 1, 0)
            queue.uop_push(1, False, 0, 0, 0, opcode, True, imm)
            queue.uop_loop_end()

        return record


def check_p(found: npt.NDArray[np.int8]) -> None:
    elements = found.reshape(2, 16)
    assert elements[0].tolist() == [-43, 45, 116, 66, 55, -56, 28, 90, 126, -63, -113, 6, -1, -43, 45, 116]
    assert elements[1, :4].tolist() == [28, 90, 126, -63]
    assert elements.astype(int).sum() == 874


def check_q(found: npt.NDArray[np.int8]) -> None:
    assert found[:4].tolist() == [-2] * 4
    assert found[-4:].tolist() == [32, 33, 34, 35]
    assert found.astype(int).sum() == 575


@pytest.fixture(params=["reference", "sim"])
def session(request: pytest.FixtureRequest) -> Session:
    return Session(VTAConfig(), request.param, record=True)


def test_br_010_immediates_beyond_16_bits_are_exact_or_refused_by_name(session: Session) -> None:
    x = np.arange(16, dtype=np.int32)
    block, out = fill(session, x), session.memory.alloc(16)
    queue = session.queue
    queue.load_buffer_2d(block, 0, x_size=1, y_size=1, x_stride=1, sram_base=0, memory=MemoryId.ACC)
    queue.push_alu("add", lambda: queue.uop_push(1, False, 0, 0, 0, AluOpcode.ADD, True, 40000))
    queue.push_alu("shr", lambda: queue.uop_push(1, False, 0, 0, 0, AluOpcode.SHR, True, 9))
    queue.dep_push(COMPUTE, STORE)
    queue.dep_pop(COMPUTE, STORE)
    queue.store_buffer_2d(0, MemoryId.OUT, out, 0, x_size=1, y_size=1, x_stride=1)
    queue.synchronize()
    assert read(session, out, "i1").tolist() == [40000 >> 9] * 16
    for opcode, imm in ((AluOpcode.MIN, 70000), (AluOpcode.MAX, -40000)):
        kernel = _immediate(session, opcode, imm)
        with pytest.raises(KernelError, match=re.escape(f"the immediate {imm} is outside of -32768 to 32767")):
            queue.push_alu("limit", kernel)


def _immediate(session: Session, opcode: AluOpcode, imm: int) -> Callable[[], None]:
    return lambda: session.queue.uop_push(1, False, 0, 0, 0, opcode, True, imm)


def test_br_014_no_run_trusts_micro_ops_of_the_run_before(session: Session) -> None:
    p, q = PackedMatmul(session, n=2, m=2), AluOnly(session)
    for program in (p, q, p, p, q):
        if isinstance(program, PackedMatmul):
            check_p(program.run())
        else:
            check_q(program.run())
    streams = [launch.words for launch in session.queue.launcher.launches]
    assert streams[0] == streams[2] == streams[3]
    assert streams[1] == streams[4]
    check_p(PackedMatmul(Session(VTAConfig(), session.device.name), n=2, m=2).run())


def test_br_015_memory_and_micro_op_bytes_stay_flat_over_many_runs(session: Session) -> None:
    program = PackedMatmul(session, n=2, m=2)
    program.run()
    allocated, mapped = session.memory.allocated_bytes, session.memory.nbytes
    loaded = []
    for _ in range(200):
        session.device.clear_stats()
        check_p(program.run())
        loaded.append(session.device.stats.uop_load_nbytes)
    assert set(loaded) == {4 * (2 + 4)}
    assert (session.memory.allocated_bytes, session.memory.nbytes) == (allocated, mapped)


def test_br_017_force_serial_ends_with_the_same_numbers(session: Session) -> None:
    session.queue.debug_mode = DebugFlag.FORCE_SERIAL
    convolution = Convolution(session, threads=2)
    with session.program():
        convolution.calls()
    found = read(session, convolution.buffers[2], "i1").reshape(2, 4, 16)
    np.testing.assert_array_equal(found, convolution.expected)


def test_br_019_an_element_larger_than_a_page_is_refused_naming_both_sizes() -> None:
    with pytest.raises(ConfigError, match=r"16384 bytes.*4096 bytes"):
        VTAConfig(log_block=7)


@pytest.mark.parametrize("device", ["reference", "sim"])
@pytest.mark.parametrize("one_store_each", [True, False])
def test_br_020_stores_use_the_size_of_output_elements(device: str, one_store_each: bool) -> None:
    session = Session(VTAConfig(log_block_in=4, log_block_out=5), device)
    program = PackedMatmul(session, n=2, m=3, guard=64)
    session.memory.view(program.out.address, program.out.nbytes)[:] = 0x55
    found = program.run(one_store_each=one_store_each)
    sums = program.sums
    assert (sums.min(), sums.max(), sums.sum()) == (-197, 162, 123)
    assert sums[0, 0, 0, :6].tolist() == [156, 162, -40, -190, -197, 17]
    np.testing.assert_array_equal(found, sums.astype(np.int8))
    assert found.astype(int).sum() == 891
    assert found[0, 2, 0, -4:].tolist() == [-100, -94, -40, 66]
    assert read(session, program.out, "u1")[-64:].tolist() == [0x55] * 64


def test_br_021_host_copies_at_any_offset(session: Session) -> None:
    block = session.memory.alloc(4096)
    data = bytes(range(100))
    session.memory.write(block, 1000, data)
    assert session.memory.read(block, 1025, 50) == data[25:75]
    session.memory.free(block)
    again: Allocation = session.memory.alloc(4096)
    assert again.address == block.address
    assert session.memory.read(again, 1000, 100) == bytes(100)


def test_br_022_repeated_runs_give_equal_outputs_and_equal_counters_each() -> None:
    session = Session(VTAConfig(), "sim", record=True)
    convolution = Convolution(session, threads=2)
    outputs = []
    for _ in range(6):
        session.memory.write(convolution.buffers[2], 0, bytes(128))
        with session.program():
            convolution.calls()
        outputs.append(read(session, convolution.buffers[2], "i1").tobytes())
    assert set(outputs) == {convolution.expected.tobytes()}
    assert len(set(session.queue.launcher.launch_stats)) == 1
    assert session.device.stats.launches == 6


def test_br_119_equal_inputs_give_equal_outputs_whatever_ran_between(session: Session) -> None:
    convolution = Convolution(session, threads=2)
    first = convolution.inp
    other = np.random.default_rng(8).integers(-128, 128, first.shape, dtype=np.int8)
    outputs = []
    for data in (first, first, first, other, first):
        session.memory.write(convolution.buffers[0], 0, data.tobytes())
        with session.program():
            convolution.calls()
        outputs.append(read(session, convolution.buffers[2], "i1").tobytes())
    assert outputs[0] == outputs[1] == outputs[2] == outputs[4] == convolution.expected.tobytes()
    assert outputs[3] != outputs[0]
