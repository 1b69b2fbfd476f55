"""Reported cases that concern hardware, in the default configuration: numpy, reference, ``sim`` and ``tsim`` agree."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

import vta
from isa.config import VTAConfig
from isa.encoding import encode, encode_uop
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Instruction, Load, MemoryId, MicroOp, Store
from isa.layout import EncodingError
from isa.program import MemoryImage, MemorySegment, OutputRegion, Program
from runtime.devices.functional import FunctionalSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.session import Session
from tests.support.golden.spine_cases import Scheduled, copy_of, elementwise, place_operands, product
from tests.support.hw.rtl_comparison import rtl_difference
from tests.support.runtime.engine_comparison import run_reference
from tests.support.runtime.launching import MEMORY_LIMIT, place_program
from vta import te
from vta.nd import EXT_DEV, Device, array, empty

CONFIG = VTAConfig()
DATA, WEIGHTS, OUTPUT, UOPS = 0x1000, 0x20000, 0x40000, 0x80000
"""Byte addresses."""

TO_STORE = Deps(push_next=True)
Array = npt.NDArray[np.generic]


def program(
    instructions: Sequence[Instruction],
    data: Array,
    shape: tuple[int, ...],
    *,
    uops: Sequence[MicroOp] = (MicroOp(),),
    more: Sequence[MemorySegment] = (),
    output: int = OUTPUT,
) -> Program:
    """Return a program that loads ``uops``, executes ``instructions`` and leaves int8 of ``shape`` at ``output``."""
    load_uops = Load(memory=MemoryId.UOP, x_size=len(uops), y_size=1, dram_base=UOPS // 4)
    return Program(
        config=CONFIG,
        instructions=(load_uops, *instructions, Finish()),
        uops=tuple(encode_uop(uop, CONFIG) for uop in uops),
        uop_base=UOPS,
        memory=MemoryImage(
            segments=(MemorySegment.from_array(DATA, data), *more),
            outputs=(OutputRegion(name="y", address=output, shape=shape),),
        ),
    )


def check(
    case: Program, expected: Array, *, latencies: Sequence[tuple[int, int | None]] = ((1, None), (20, 5))
) -> None:
    """Run on every engine; ``latencies`` has the memory's latency and the seed of its stalls, for ``tsim``."""
    reference = run_reference(case)
    np.testing.assert_array_equal(case.outputs(reference.memory)["y"], expected)
    memory = DeviceMemory(MEMORY_LIMIT)
    placed = place_program(memory, case)
    FunctionalSimulator(CONFIG, memory).launch(placed.address, placed.count)
    np.testing.assert_array_equal(memory.address_space()[: reference.memory.size], reference.memory)
    for latency, seed in latencies:
        assert rtl_difference(case, reference, latency=latency, stall_seed=seed) is None


# --- 02: padded two-dimensional loads into every memory --------------------------------------------------------------


def pattern(*shape: int) -> npt.NDArray[np.int32]:
    """Return k mod 23 - 11."""
    return (np.arange(np.prod(shape)) % 23 - 11).astype(np.int32).reshape(shape)


def padded_load(memory: MemoryId, before: tuple[int, int], after: tuple[int, int], **fields: int) -> Load:
    elements = DATA // CONFIG.elem_bytes(memory)
    return Load(
        memory=memory,
        dram_base=elements + fields.pop("offset", 0),
        y_pad_0=before[0],
        x_pad_0=before[1],
        y_pad_1=after[0],
        x_pad_1=after[1],
        **fields,  # type: ignore[arg-type]  # sizes alone
    )


def store_whole(count: int) -> list[Instruction]:
    """Return a shift by nothing of ``count`` tiles and their store."""
    shift = Alu(
        alu_opcode=AluOpcode.SHR,
        use_imm=True,
        uop_end=1,
        iter_out=count,
        dst_factor_out=1,
        src_factor_out=1,
        deps=TO_STORE,
    )
    return [shift, store(count)]


def store(count: int) -> Store:
    return Store(x_size=count, y_size=1, x_stride=count, dram_base=OUTPUT // 16, deps=Deps(pop_prev=True))


SMALL_PADS = [
    ((2, 0), (0, 0), 170),
    ((0, 2), (0, 0), 106),
    ((0, 0), (2, 0), 170),
    ((0, 0), (0, 2), 106),
    ((1, 1), (1, 1), 330),
    ((2, 1), (1, 2), 538),
]


@pytest.mark.parametrize(("before", "after", "zeros"), SMALL_PADS)
def test_br_026_accumulator_loads_pad(before: tuple[int, int], after: tuple[int, int], zeros: int) -> None:
    x = pattern(3, 5, 1, 16)
    expected = np.pad(x, ((before[0], after[0]), (before[1], after[1]), (0, 0), (0, 0))).astype(np.int8)
    assert (int(expected.sum()), int((expected == 0).sum())) == (-65, zeros)
    load = padded_load(MemoryId.ACC, before, after, x_size=5, y_size=3, x_stride=5)
    count = expected.shape[0] * expected.shape[1]
    check(program([load, *store_whole(count)], x, expected.shape), expected)


def test_br_027_large_padded_accumulator_loads_are_whole() -> None:
    x = pattern(21, 20, 1, 16)
    expected = np.pad(x, ((0, 1), (1, 3), (0, 0), (0, 0))).astype(np.int8)
    assert expected.shape == (22, 24, 1, 16)
    assert int(expected.sum()) == -38
    assert expected[0, 1, 0, :3].tolist() == [-11, -10, -9]
    assert expected[20, 20, 0, -3:].tolist() == [-10, -9, -8]
    load = padded_load(MemoryId.ACC, (0, 1), (1, 3), x_size=20, y_size=21, x_stride=20)
    check(program([load, *store_whole(22 * 24)], x, expected.shape), expected)


def test_br_027_a_padded_region_of_a_tensor_is_cut_out() -> None:
    x = pattern(3, 5, 1, 16)
    expected = np.pad(x[1:3, 1:4], ((1, 1), (1, 1), (0, 0), (0, 0))).astype(np.int8)
    load = padded_load(MemoryId.ACC, (1, 1), (1, 1), x_size=3, y_size=2, x_stride=5, offset=6)
    check(program([load, *store_whole(4 * 5)], x, expected.shape), expected)


@pytest.mark.parametrize(("before", "after", "zeros"), SMALL_PADS)
def test_padded_inputs_go_through_a_gemm_with_identity_weights(
    before: tuple[int, int], after: tuple[int, int], zeros: int
) -> None:
    x = pattern(3, 5, 1, 16).astype(np.int8)
    expected = np.pad(x, ((before[0], after[0]), (before[1], after[1]), (0, 0), (0, 0)))
    count = expected.shape[0] * expected.shape[1]
    identity = MemorySegment.from_array(WEIGHTS, np.eye(16, dtype=np.int8))
    weights = Load(
        memory=MemoryId.WGT, x_size=1, y_size=1, dram_base=WEIGHTS // CONFIG.wgt_elem_bytes, deps=Deps(push_next=True)
    )
    instructions: list[Instruction] = [
        padded_load(MemoryId.INP, before, after, x_size=5, y_size=3, x_stride=5),
        weights,
        Gemm(reset=True, uop_end=1, iter_out=count, dst_factor_out=1),
        Gemm(
            uop_end=1,
            iter_out=count,
            dst_factor_out=1,
            src_factor_out=1,
            deps=Deps(pop_prev=True, push_next=True),
        ),
        store(count),
    ]
    check(program(instructions, x, expected.shape, more=[identity]), expected)


# --- 03: negative immediates -----------------------------------------------------------------------------------------

V = np.array([-7, -1, 0, 1, 7, 100, -100, 2147483647, -2147483648, 3, 4, 5, 6, 8, 9, 10], np.int32)

IMMEDIATES = [
    (AluOpcode.MAX, -5, [-5, -1, 0, 1, 7, 100, -5, 2147483647, -5, 3, 4, 5, 6, 8, 9, 10]),
    (AluOpcode.MIN, -5, [-7, -5, -5, -5, -5, -5, -100, -5, -2147483648, -5, -5, -5, -5, -5, -5, -5]),
    (AluOpcode.ADD, -1, [-8, -2, -1, 0, 6, 99, -101, 2147483646, 2147483647, 2, 3, 4, 5, 7, 8, 9]),
    (AluOpcode.SHR, 3, [-1, -1, 0, 0, 0, 12, -13, 268435455, -268435456, 0, 0, 0, 0, 1, 1, 1]),
    (AluOpcode.SHR, -3, [-56, -8, 0, 8, 56, 800, -800, -8, 0, 24, 32, 40, 48, 64, 72, 80]),
    (AluOpcode.MAX, -32768, [-7, -1, 0, 1, 7, 100, -100, 2147483647, -32768, 3, 4, 5, 6, 8, 9, 10]),
    (
        AluOpcode.ADD,
        32767,
        [
            32760,
            32766,
            32767,
            32768,
            32774,
            32867,
            32667,
            -2147450882,
            -2147450881,
            *range(32770, 32774),
            32775,
            32776,
            32777,
        ],
    ),
]


@pytest.mark.parametrize(("opcode", "imm", "expected"), IMMEDIATES)
def test_br_002_negative_immediates_are_negative_on_every_engine(
    opcode: AluOpcode, imm: int, expected: list[int]
) -> None:
    load = Load(memory=MemoryId.ACC, x_size=1, y_size=1, dram_base=DATA // CONFIG.acc_elem_bytes)
    instructions: list[Instruction] = [
        load,
        Alu(alu_opcode=opcode, use_imm=True, imm=imm, uop_end=1, deps=TO_STORE),
    ]
    for byte in range(4):  # a store keeps eight bits: the accumulator goes out byte by byte
        instructions.append(
            Store(x_size=1, y_size=1, dram_base=OUTPUT // 16 + byte, deps=Deps(pop_prev=True, push_prev=True))
        )
        instructions.append(
            Alu(
                alu_opcode=AluOpcode.SHR,
                use_imm=True,
                imm=8,
                uop_end=1,
                deps=Deps(pop_next=True, push_next=byte < 3),
            )
        )
    bytes_out = np.array(expected, "<i4").view(np.int8).reshape(16, 4).T
    check(program(instructions, V, (4, 16)), bytes_out, latencies=[(1, None)])


@pytest.mark.parametrize("imm", [32768, -32769, 40000])
def test_br_010_an_immediate_beyond_16_bits_is_never_cut(imm: int) -> None:
    """No instruction holds it, so the hardware never sees it; compiled programs add it exactly."""
    for opcode in AluOpcode:
        with pytest.raises(EncodingError, match=rf"field 'imm' holds .*, not {imm}"):
            encode(Alu(alu_opcode=opcode, use_imm=True, imm=imm, uop_end=1), CONFIG)
    with vta.Environment(CONFIG) as env:
        steps = [lambda x: x + imm, lambda x: x >> 10]
        made = elementwise(env, (1, 1), steps, lambda x: copy_of(x, "x_buf"))
        module = vta.build(made.schedule, made.args)
    for engine in ("sim", "tsim"):
        place = Device(EXT_DEV, 0, Session(CONFIG, engine))
        y = empty((1, 1, 1, 16), "int8", place)
        module(array(V.reshape(1, 1, 1, 16), place), y)
        with np.errstate(over="ignore"):
            expected = ((V + np.int32(imm)) >> 10).astype(np.int8)
        assert y.numpy().ravel().tolist() == expected.tolist(), engine


# --- 08: state that is left over between runs ------------------------------------------------------------------------


def matmul(env: vta.Environment) -> Scheduled:
    """Return program P: (1, 2) tiles times (2, 2) tiles."""
    p = product(env, 1, 2, 2)
    c = te.compute(p.gemm.shape, lambda *i: p.gemm(*i).astype(env.inp_dtype), name="C")
    s = te.create_schedule(c.op)
    place_operands(s, env, p, p.ko, env.dma_copy)
    rows, columns, batch, channel = s[p.gemm].leaf_iter_vars[:4]
    s[c].pragma(s[c].leaf_iter_vars[0], env.dma_copy)
    s[p.gemm].reorder(p.ko, rows, columns, batch, channel, p.ki)
    s[p.gemm].tensorize(batch, env.gemm)
    return Scheduled(s, [p.x, p.w, c])


def alu_only(env: vta.Environment) -> Scheduled:
    """Return program Q: max with -4, and 2 more."""
    return elementwise(env, (4, 1), [lambda x: te.max(x, -4), lambda x: x + 2], lambda x: copy_of(x, "x_buf"))


class Runs:
    """P and Q on one device."""

    def __init__(self) -> None:
        self.session = Session(CONFIG, "tsim", record=True)
        place = Device(EXT_DEV, 0, self.session)
        fa = ((7 * np.arange(32)) % 17 - 8).astype(np.int8).reshape(1, 2, 1, 16)
        fb = ((5 * np.arange(1024)) % 13 - 6).astype(np.int8).reshape(2, 2, 16, 16)
        x = (np.arange(64) - 30).astype(np.int32).reshape(4, 1, 1, 16)
        with vta.Environment(CONFIG) as env:
            self.modules = [vta.build(made.schedule, made.args) for made in (matmul(env), alu_only(env))]
        self.arguments = [[array(fa, place), array(fb, place)], [array(x, place)]]
        self.outputs = [empty((1, 2, 1, 16), "int8", place), empty((4, 1, 1, 16), "int8", place)]

    def p(self) -> None:
        self.modules[0](*self.arguments[0], self.outputs[0])
        result = self.outputs[0].numpy()
        self.outputs[0].copyfrom(np.zeros_like(result))
        first = [-43, 45, 116, 66, 55, -56, 28, 90, 126, -63, -113, 6, -1, -43, 45, 116]
        assert result[0, 0, 0].tolist() == first
        assert result[0, 1, 0, :4].tolist() == [28, 90, 126, -63]
        assert int(result.sum(dtype=np.int64)) == 874

    def q(self) -> None:
        self.modules[1](*self.arguments[1], self.outputs[1])
        result = self.outputs[1].numpy()
        self.outputs[1].copyfrom(np.zeros_like(result))
        assert int(result.sum(dtype=np.int64)) == 575
        assert result.ravel()[:4].tolist() == [-2] * 4
        assert result.ravel()[-4:].tolist() == [32, 33, 34, 35]


def test_br_014_no_run_on_the_hardware_trusts_what_the_run_before_left() -> None:
    runs = Runs()
    for run in (runs.p, runs.q, runs.p, runs.p, runs.q):
        run()
    Runs().p()
    allocated = runs.session.memory.allocated_bytes
    for _ in range(200):
        runs.p()
    assert runs.session.memory.allocated_bytes == allocated
    stats = runs.session.queue.launcher.launch_stats
    of_p = [stats[0], *stats[2:4], *stats[5:]]
    assert len(of_p) == 203
    assert len({launch.cycles for launch in of_p}) == 1, "equal runs take equal cycles"
    assert len({launch.statistics.uop_load_nbytes for launch in of_p}) == 1
    assert stats[1].cycles == stats[4].cycles


# --- 18: stores under back-pressure and over page lines --------------------------------------------------------------

PAGE = 0x2000
"""The cases' addresses count from here: the first page of device memory is never used."""

STALLS = [(1, None), (20, None), *((1, seed) for seed in range(1, 6)), (20, 7)]
"""Latency of the memory, and the seed of its stalls on every channel."""


def store_region(y_size: int, x_size: int, stride: int) -> tuple[Program, npt.NDArray[np.int8]]:
    """Return the program that stores 200 tiles at byte 4048 of ``PAGE``, and what it leaves in region and guards."""
    tiles = (7 * np.arange(200 * 16) + 3) % 256
    acc = (tiles + 256 * (np.arange(tiles.size) % 5)).astype(np.int32)
    load = Load(memory=MemoryId.ACC, x_size=200, y_size=1, dram_base=0x10000 // 64, deps=TO_STORE)
    out = Store(x_size=x_size, y_size=y_size, x_stride=stride, dram_base=(PAGE + 4048) // 16, deps=Deps(pop_prev=True))
    begin, end = PAGE + 4048 - 32, PAGE + 4048 + ((y_size - 1) * stride + x_size) * 16 + 32
    guard = np.full(end - begin, 0x5A, np.int8)
    expected = guard.copy()
    rows = tiles.astype(np.uint8).view(np.int8).reshape(y_size, x_size * 16)
    for y in range(y_size):
        expected[32 + y * stride * 16 :][: x_size * 16] = rows[y]
    segments = (MemorySegment.from_array(begin, guard), MemorySegment.from_array(0x10000, acc))
    case = Program(
        config=CONFIG,
        instructions=(load, out, Finish()),
        uop_base=UOPS,
        memory=MemoryImage(segments=segments, outputs=(OutputRegion(name="y", address=begin, shape=expected.shape),)),
    )
    return case, expected


@pytest.mark.parametrize(("y_size", "x_size", "stride"), [(1, 200, 200), (4, 50, 60)])
def test_br_031_a_store_over_page_lines_survives_every_stall(y_size: int, x_size: int, stride: int) -> None:
    case, expected = store_region(y_size, x_size, stride)
    if y_size == 1:
        region = expected[32:-32].view(np.uint8)
        assert int(region.sum()) == 406976
        assert region[-4:].tolist() == [103, 110, 117, 124]
    check(case, expected, latencies=STALLS)


def test_br_030_an_accumulator_load_over_two_page_lines_is_whole() -> None:
    values = pattern(70, 1, 16)
    load = Load(memory=MemoryId.ACC, x_size=70, y_size=1, dram_base=(PAGE + 4032) // 64)
    segment = MemorySegment.from_array(PAGE + 4032, values)
    case = Program(
        config=CONFIG,
        instructions=(
            Load(memory=MemoryId.UOP, x_size=1, y_size=1, dram_base=UOPS // 4),
            load,
            *store_whole(70),
            Finish(),
        ),
        uops=(encode_uop(MicroOp(), CONFIG),),
        uop_base=UOPS,
        memory=MemoryImage(segments=(segment,), outputs=(OutputRegion(name="y", address=OUTPUT, shape=(70, 1, 16)),)),
    )
    check(case, values.astype(np.int8), latencies=STALLS)
