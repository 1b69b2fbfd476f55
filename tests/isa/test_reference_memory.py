"""LOAD and STORE: padding, strides, number formats, counters, bounds; running whole streams."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Alu, AluOpcode, Finish, Gemm, Instruction, Load, MemoryId, Store
from isa.program import Program
from isa.reference import InterpreterError, Reference, execute, pack, unpack
from isa.text.assembler import assemble
from tests.support.configs import CONFIGS

INT4 = VTAConfig(log_inp_width=2, log_wgt_width=1, log_inp_buff_size=14, log_wgt_buff_size=16)
BINARY = VTAConfig(
    log_inp_width=0, log_wgt_width=0, log_block=5, log_inp_buff_size=13, log_wgt_buff_size=16, log_acc_buff_size=17
)
ALL = {**CONFIGS, "int4": INT4, "binary": BINARY}


def _machine(config: VTAConfig, nbytes: int = 1 << 17) -> Reference:
    return Reference(config, np.frombuffer(np.random.default_rng(3).bytes(nbytes), np.uint8).copy())


def _signed(bits: Sequence[int]) -> int:
    """Return the two's-complement number with these bits, lowest first."""
    value = sum(bit << place for place, bit in enumerate(bits))
    return value - (bits[-1] << len(bits))


def _elements(raw: npt.NDArray[np.uint8], width: int) -> list[int]:
    """Read numbers of ``width`` bits, one bit after the other."""
    bits = [int(byte) >> place & 1 for byte in raw for place in range(8)]
    return [_signed(bits[at : at + width]) for at in range(0, len(bits), width)]


TILED = (MemoryId.INP, MemoryId.WGT, MemoryId.ACC, MemoryId.ACC_8BIT)
LOADS = [(n, m) for n, c in ALL.items() for m in TILED if m != MemoryId.ACC_8BIT or c.inp_width == 8]


@pytest.mark.parametrize(("name", "memory"), LOADS)
def test_a_padded_load_fills_a_tile(name: str, memory: MemoryId) -> None:
    config = ALL[name]
    machine = _machine(config)
    scratchpad = {MemoryId.INP: machine.inp, MemoryId.WGT: machine.wgt}.get(memory, machine.acc)
    width = {MemoryId.INP: config.inp_width, MemoryId.WGT: config.wgt_width, MemoryId.ACC: 32}.get(memory, 8)
    scratchpad[:] = 77
    machine.step(
        Load(
            memory=memory,
            sram_base=2,
            dram_base=3,
            y_size=2,
            x_size=3,
            x_stride=4,
            y_pad_0=1,
            y_pad_1=2,
            x_pad_0=2,
            x_pad_1=1,
        )
    )
    size = config.elem_bytes(memory)
    for y in range(5):
        for x in range(6):
            element = scratchpad[2 + 6 * y + x].ravel().tolist()
            if y in (1, 2) and x in (2, 3, 4):
                place = (3 + (y - 1) * 4 + x - 2) * size
                assert element == _elements(machine.memory[place : place + size], width)
            else:
                assert not any(element)
    assert (scratchpad[:2] == 77).all()
    assert (scratchpad[32:] == 77).all()
    counts = {MemoryId.INP: machine.counts.inp_load_nbytes, MemoryId.WGT: machine.counts.wgt_load_nbytes}
    assert counts.get(memory, machine.counts.acc_load_nbytes) == 6 * size


def test_a_load_of_micro_ops_is_flat() -> None:
    machine = _machine(VTAConfig())
    machine.step(Load(memory=MemoryId.UOP, sram_base=5, dram_base=7, y_size=1, x_size=4, x_stride=999))
    assert machine.uop[5:9].tolist() == machine.memory[28:44].view("<u4").tolist()
    assert not machine.uop[:5].any()
    assert not machine.uop[9:].any()
    assert machine.counts.uop_load_nbytes == 16


@pytest.mark.parametrize("name", ALL)
def test_a_store_keeps_the_low_bits_of_what_lies_in_the_accumulator(name: str) -> None:
    config = ALL[name]
    machine = _machine(config)
    before = machine.memory.copy()
    machine.acc[:] = np.random.default_rng(1).integers(-(2**31), 2**31, machine.acc.shape)
    machine.step(Store(sram_base=4, dram_base=5, y_size=2, x_size=3, x_stride=7))
    size, width = config.out_elem_bytes, config.out_width
    for y in range(2):
        for x in range(3):
            place = (5 + 7 * y + x) * size
            stored = _elements(machine.memory[place : place + size], width)
            lanes = machine.acc[4 + 3 * y + x].ravel().tolist()
            assert stored == [_signed([lane >> bit & 1 for bit in range(width)]) for lane in lanes]
            before[place : place + size] = machine.memory[place : place + size]
    assert np.array_equal(machine.memory, before)
    assert machine.counts.out_store_nbytes == 6 * size


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_numbers_are_packed_lowest_bits_first(width: int) -> None:
    raw = np.random.default_rng(2).integers(0, 256, 64).astype(np.uint8)
    numbers = unpack(raw, width)
    assert numbers.tolist() == _elements(raw, width)
    assert np.array_equal(pack(numbers, width), raw)


@pytest.mark.parametrize(
    "nothing",
    [
        Load(memory=MemoryId.INP, sram_base=65535, x_size=0, y_size=3, y_pad_0=2),
        Load(memory=MemoryId.ACC, sram_base=65535, dram_base=2**32 - 1, x_size=3, y_size=0, x_pad_0=15),
        Load(memory=MemoryId.UOP),
        Store(memory=MemoryId.UOP, sram_base=65535, x_size=3),
        Store(y_size=3),
        Finish(),
    ],
)
def test_a_size_of_zero_is_no_work(nothing: Instruction) -> None:
    machine = _machine(VTAConfig())
    machine.inp[:] = machine.acc[:] = 5
    before = machine.memory.copy()
    machine.step(nothing)
    assert (machine.inp == 5).all()
    assert (machine.acc == 5).all()
    assert np.array_equal(machine.memory, before)
    assert machine.counts.inp_load_nbytes == machine.counts.acc_load_nbytes == machine.counts.out_store_nbytes == 0


# --- errors ----------------------------------------------------------------------------------------------------------

KERNEL = ".uop address=0x8000\ndst=2000 src=2040 wgt=1000\n.text\nload.uop dram=uops x=1\n"
ERRORS = [
    ("load.inp x=2 sram=2047", "INP elements 2047 to 2048 are out of range, the buffer has 2048 elements"),
    ("store x=2 sram=2047", "OUT elements 2047 to 2048 are out of range, the buffer has 2048 elements"),
    ("load.inp x=2 dram=0x8ff", "DRAM bytes 0x8ff0 to 0x900f are out of range, memory ends at 0x9000"),
    ("store x=1 y=2 stride=16 dram=0x8f0", "DRAM bytes 0x9000 to 0x900f are out of range, memory ends at 0x9000"),
    ("gemm uop=0:1 iter=1,49 dst=0,1", "accumulator index 2048 is out of range, the buffer has 2048 elements"),
    ("gemm uop=0:1 iter=1,9 src=0,1", "input index 2048 is out of range, the buffer has 2048 elements"),
    ("gemm uop=0:1 iter=25,1 wgt=1,0", "weight index 1024 is out of range, the buffer has 1024 elements"),
    ("alu.min uop=0:1 iter=9,1 src=1,0", "accumulator index 2048 is out of range, the buffer has 2048 elements"),
    ("gemm uop=8191:8193", "micro-op index 8192 is out of range, the buffer has 8192 elements"),
]


@pytest.mark.parametrize(("line", "message"), ERRORS, ids=[line for line, _ in ERRORS])
def test_an_index_out_of_range_names_the_instruction(line: str, message: str) -> None:
    with pytest.raises(InterpreterError) as error:
        execute(assemble(f"{KERNEL}nop.load\n{line}\nfinish"))
    assert str(error.value) == f"instruction 2: {message}"


AT_THE_EDGE = [
    "load.inp x=1 sram=2047",
    "load.inp x=2 dram=0x8fe",
    "store x=1 sram=2047 dram=0x8ff",
    "store x=1 y=2 stride=15 dram=0x8f0",
    "gemm uop=0:1 iter=1,48 dst=0,1",
    "gemm uop=0:1 iter=1,8 src=0,1",
    "gemm uop=0:1 iter=24,1 wgt=1,0",
    "alu.min uop=0:1 iter=8,1 src=1,0",
    "alu.min uop=0:1 imm=0 iter=2,2 src=2047,2047",
    "gemm reset uop=0:1 iter=2,2 src=2047,2047 wgt=1023,1023",
    "gemm uop=8191:8192",
]


@pytest.mark.parametrize("line", AT_THE_EDGE)
def test_the_last_element_is_in_range(line: str) -> None:
    execute(assemble(f"{KERNEL}nop.load\n{line}\nfinish"))


def test_no_access_lies_below_the_first_address() -> None:
    machine = Reference(VTAConfig(), np.zeros(0x2000, np.uint8), first_address=0x1000)
    machine.step(Load(memory=MemoryId.INP, dram_base=0x100, x_size=1, y_size=1))
    with pytest.raises(InterpreterError) as error:
        machine.step(Store(dram_base=0xFF, x_size=2, y_size=1))
    message = "instruction 0: DRAM bytes 0xff0 to 0x100f are out of range, memory begins at 0x1000"
    assert str(error.value) == message


def test_illegal_words_name_the_instruction() -> None:
    machine = _machine(VTAConfig())
    with pytest.raises(InterpreterError) as error:
        machine.step(Load(memory=MemoryId.OUT, x_size=1, y_size=1))
    assert str(error.value) == "instruction 0: LOAD: memory OUT cannot be loaded, only stored"
    with pytest.raises(InterpreterError, match=r"^instruction 1: opcode 7 is unknown; "):
        machine.run([encode(Gemm(), VTAConfig()), 7])
    with pytest.raises(InterpreterError) as error:
        machine.run(Program(config=VTAConfig(), instructions=(Finish(), Load(memory=MemoryId.OUT, x_size=1, y_size=1))))
    assert str(error.value) == "instruction 1: LOAD: memory OUT cannot be loaded, only stored"
    narrow = Program(config=INT4, instructions=(Load(memory=MemoryId.ACC_8BIT, x_size=1, y_size=1),))
    with pytest.raises(InterpreterError, match=r"^instruction 0: LOAD: memory ACC_8BIT needs inputs of 8 bits"):
        _machine(INT4).run(narrow)


def test_an_illegal_micro_op_names_the_instruction() -> None:
    machine = _machine(CONFIGS["in16out32"])
    machine.uop[0] = 1 << 30
    with pytest.raises(InterpreterError) as error:
        machine.run(Program(config=CONFIGS["in16out32"], instructions=(Gemm(uop_end=1),)))
    assert str(error.value) == "instruction 0: UOP: unused bits from bit 30 on must be zero, not 0x1"


def test_br_046_a_program_for_another_configuration_is_refused() -> None:
    with pytest.raises(InterpreterError) as error:
        _machine(VTAConfig()).run(Program(config=CONFIGS["block32"], instructions=()))
    names = "1x32_i8w8a32_15_15_18_17 and this machine is 1x16_i8w8a32_15_15_18_17"
    assert str(error.value) == f"the program is for {names}"


# --- running ---------------------------------------------------------------------------------------------------------


def test_words_and_programs_run_alike_up_to_finish() -> None:
    store = Store(y_size=1, x_size=1, dram_base=2)
    program = Program(config=VTAConfig(), instructions=(store, Finish(), replace(store, sram_base=9, dram_base=20)))
    first, second = _machine(VTAConfig()), _machine(VTAConfig())
    first.run(program)
    second.run([encode(store, VTAConfig()), encode(Finish(), VTAConfig()), 7])
    assert np.array_equal(first.memory, second.memory)
    assert not first.memory[32:48].any()
    assert first.memory[320:336].any()
    assert first.counts == second.counts


def test_scratchpads_and_counters_stay_from_run_to_run() -> None:
    machine = _machine(VTAConfig())
    load = Load(memory=MemoryId.ACC, y_size=1, x_size=1)
    counts = machine.run(Program(config=VTAConfig(), instructions=(load, Finish())))
    machine.run(Program(config=VTAConfig(), instructions=(load, Finish())))
    assert counts is machine.counts
    assert counts.acc_load_nbytes == 128
    assert machine.acc[0].any()


def test_skipping_execution_counts_and_loads_micro_ops_alone() -> None:
    program = assemble(
        ".uop\ndst=1\n.text\nload.uop dram=uops x=1\nload.inp x=1\nload.acc x=1\ngemm uop=0:1 iter=2,3\n"
        "alu.add uop=0:1 imm=1\nstore x=1\nfinish"
    )
    memory = np.full(1 << 14, 1, np.uint8)
    memory[: program.dram().size] |= program.dram()
    machine = Reference(program.config, memory, skip_execution=True)
    before = memory.copy()
    counts = machine.run(program)
    assert machine.uop[0] != 0
    assert not machine.inp.any()
    assert not machine.acc.any()
    assert np.array_equal(memory, before)
    assert (counts.inp_load_nbytes, counts.acc_load_nbytes, counts.uop_load_nbytes) == (16, 64, 4)
    assert (counts.out_store_nbytes, counts.gemm_counter, counts.alu_counter) == (16, 6, 1)


def test_br_012_a_store_keeps_the_low_bits_and_a_clip_saturates() -> None:
    values = [127, 128, 255, 256, -129, -300]
    machine = _machine(VTAConfig())
    machine.uop[0] = 0
    machine.acc[0, 0, :6] = values
    machine.step(Store(y_size=1, x_size=1))
    assert machine.memory[:6].view(np.int8).tolist() == [127, -128, -1, 0, 127, -44]
    machine.step(Alu(alu_opcode=AluOpcode.MIN, use_imm=True, imm=127, uop_end=1))
    machine.step(Alu(alu_opcode=AluOpcode.MAX, use_imm=True, imm=-128, uop_end=1))
    machine.step(Store(y_size=1, x_size=1))
    assert machine.memory[:6].view(np.int8).tolist() == [127, 127, 127, 127, -128, -128]


def _pattern(count: int, multiplier: int, modulus: int, offset: int) -> npt.NDArray[np.int8]:
    return ((multiplier * np.arange(count)) % modulus - offset).astype(np.int8)


@pytest.mark.parametrize("one_by_one", [True, False])
def test_br_020_stores_of_another_block_than_inputs_go_to_the_right_place(one_by_one: bool) -> None:
    a = _pattern(2 * 16, 7, 17, 8).reshape(1, 2, 1, 16)
    b = _pattern(3 * 2 * 32 * 16, 5, 13, 6).reshape(3, 2, 32, 16)
    stores = [f"store dram=C+{m} sram={m} x=1" for m in range(3)] if one_by_one else ["store dram=C x=3"]
    lines = [
        ".config LOG_BLOCK_IN=4 LOG_BLOCK_OUT=5",
        f".data A type=int8 shape=1,2,1,16 {' '.join(map(str, a.ravel()))}",
        f".data B type=int8 shape=3,2,32,16 {' '.join(map(str, b.ravel()))}",
        ".data C type=uint8 shape=160 fill 0x55",
        ".uop",
        *(f"dst={m} src={n} wgt={2 * m + n}" for m in range(3) for n in range(2)),
        ".text",
        "load.uop dram=uops x=6",
        "gemm reset uop=0:6",
        "load.inp dram=A x=2",
        "load.wgt dram=B x=6",
        "gemm uop=0:6",
        *stores,
        "finish",
    ]
    program = assemble("\n".join(lines))
    memory = execute(program).memory
    place = program.memory.segments[2].address
    expected = np.einsum("onbi,mnji->ombj", a.astype(np.int32), b.astype(np.int32))
    assert expected.sum() == 123
    stored = memory[place : place + 96].view(np.int8)
    assert np.array_equal(stored, expected.astype(np.int8).ravel())
    assert stored.astype(int).sum() == 891
    assert (memory[place + 96 : place + 160] == 0x55).all()
