"""Engines in step: the first difference, whatever it is, and nothing where there is none."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Instruction, Load, Opcode, Store
from isa.origin import Origin
from isa.program import Program
from isa.reference import Reference
from isa.text.assembler import assemble
from runtime.devices.device import Device, ExecutionError
from runtime.devices.functional import FunctionalSimulator
from runtime.devices.reference import ReferenceDevice
from runtime.devices.tsim.device import RtlSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.observe.stats import LaunchStats
from tests.support.configs import CONFIGS
from tests.support.faults.engine_faults import EngineFault, faulty_engine
from tests.support.hw.small_designs import SMALL_DESIGNS
from tests.support.isa.random_programs import random_program
from vta.inspect.diff.differ import Difference, DiffError, EngineMaker, diff_engines, engines_by_name
from vta.inspect.diff.stepping import Engine, engine

TEXT = """\
.data A address=0x1000 type=int32 shape=4,16
    arange
.output C address=0x2000 type=int8 shape=4,16
.uop address=0x3000
dst=0
.text
load.acc dram=A x=4
load.uop dram=uops x=1
alu.add uop=0:1 iter=1,4 dst=0,1 imm=3 push_next @ "C_buf" "add.py:12"
store dram=C x=4 pop_prev push_prev
finish pop_next
"""


def difference(program: Program, fault: EngineFault) -> Difference | None:
    return diff_engines(program, [partial(engine, program, "sim"), partial(faulty_engine, program, fault)]).difference


def on(program: Program, device: Callable[[VTAConfig, DeviceMemory], Device]) -> EngineMaker:
    """Return what makes an engine with a device of a class."""
    return lambda: Engine(program, device(program.config, DeviceMemory(1 << 26)))


def after(kind: type, scratchpad: str, place: tuple[int | slice, ...], by: int) -> EngineFault:
    """Return the fault that ``by`` is added somewhere after each instruction of a kind."""

    def corrupt(entry: Instruction, machine: Reference) -> None:
        if isinstance(entry, kind):
            getattr(machine, scratchpad)[place] += by

    return EngineFault(f"{scratchpad}{place} changes", None, corrupt)


@pytest.mark.parametrize("name", CONFIGS)
def test_engines_that_agree_have_no_difference(name: str) -> None:
    for seed in range(3):
        program = random_program(np.random.default_rng([seed, 2]), CONFIGS[name])
        result = diff_engines(program, engines_by_name(program, ("reference", "sim")))
        assert (result.difference, result.stopped) == (None, "")


@pytest.mark.parametrize("name", SMALL_DESIGNS)
def test_the_hardware_is_stepped_too(name: str) -> None:
    program = random_program(np.random.default_rng(3), SMALL_DESIGNS[name])
    assert diff_engines(program, engines_by_name(program, ("reference", "sim", "tsim"))).difference is None


def test_the_element_the_values_and_the_origin_are_named() -> None:
    found = difference(assemble(TEXT), after(Alu, "acc", (2, 0, slice(5, 7)), 7))
    assert str(found) == (
        "first difference at instruction 2: alu.add uop=0:1 iter=1,4 dst=0,1 src=0,0 imm=3 push_next  "
        "; C_buf (add.py:12)\n  ACC[2, row 0, lane 5]: sim has 40, reference has 47 (1 more differ)"
    )


PLACES = [
    (Store, "memory", (0x2000,), "C[0, 0] (DRAM byte 0x2000): sim has 3, reference has 4"),
    (Store, "memory", (0x1005,), "A[0, 1] (DRAM byte 0x1004): sim has 1, reference has 257"),
    (Store, "memory", (0x3000,), "micro-ops[0] (DRAM byte 0x3000): sim has 0, reference has 1"),
    (Store, "memory", (0x2800,), "DRAM byte 0x2800: sim has 0, reference has 1"),
    (Load, "uop", (5,), "UOP[5]: sim has 0, reference has 1"),
    (Load, "uop", (0,), "UOP[0]: sim has 0, reference has 1"),
    (Load, "inp", (3, 0, 15), "INP[3, row 0, lane 15]: sim has 0, reference has 1"),
    (Alu, "wgt", (9, 2, 1), "WGT[9, row 2, lane 1]: sim has 0, reference has 1"),
]


@pytest.mark.parametrize(("kind", "scratchpad", "place", "line"), PLACES)
def test_a_difference_anywhere_is_told(kind: type, scratchpad: str, place: tuple[int, ...], line: str) -> None:
    found = difference(assemble(TEXT), after(kind, scratchpad, place, 1))
    assert found is not None
    assert found.details == (line,)
    assert found.index == {Load: 0, Alu: 2, Store: 3}[kind]


def test_what_an_instruction_should_not_have_written_is_found_at_that_instruction() -> None:
    """The weights of a long program change, which no instruction near writes."""
    program = assemble(TEXT.replace("store dram", "nop.compute\n" * 200 + "alu.max uop=0:1 imm=0\n" * 3 + "store dram"))

    def corrupt(entry: Instruction, machine: Reference) -> None:
        if isinstance(entry, Alu) and entry.alu_opcode == AluOpcode.MAX:
            machine.wgt[7, 0, 0] = 5

    found = difference(program, EngineFault("a stray write", None, corrupt))
    assert found is not None
    assert (found.index, found.details) == (203, ("WGT[7, row 0, lane 0]: sim has 0, reference has 5",))


class Hasty(FunctionalSimulator):
    """A simulator that goes wrong where instructions overlap: in launches of more than five instructions."""

    def launch(
        self, insn_address: int, insn_count: int, *, origins: Sequence[Origin | None] | None = None
    ) -> LaunchStats:
        stats = super().launch(insn_address, insn_count, origins=origins)
        if insn_count > 5:
            self.memory.address_space()[0x2003] ^= 1
        return stats


def test_a_difference_that_only_shows_at_once_is_narrowed_down() -> None:
    program = assemble(TEXT.replace("store dram", "nop.compute\n" * 20 + "store dram"))
    found = diff_engines(program, [partial(engine, program, "reference"), on(program, Hasty)]).difference
    assert found is not None
    assert found.overlapped
    assert found.index == 4  # five instructions and FINISH
    assert str(found).endswith(
        "C[0, 3] (DRAM byte 0x2003): reference has 0, sim has 1\n"
        "  it only shows where modules overlap, not one instruction at a time"
    )


class Refusing(ReferenceDevice):
    """A device that refuses every store."""

    def launch(
        self, insn_address: int, insn_count: int, *, origins: Sequence[Origin | None] | None = None
    ) -> LaunchStats:
        word = int(self.memory.view(insn_address, 8).view("<u8")[0])
        if word & 7 == Opcode.STORE:
            raise ExecutionError(0, "no stores today")
        return super().launch(insn_address, insn_count, origins=origins)


def test_an_engine_that_refuses_an_instruction_differs() -> None:
    program = assemble(TEXT)
    found = diff_engines(program, [partial(engine, program, "sim"), on(program, Refusing)]).difference
    assert found is not None
    assert (found.index, found.details) == (3, ("sim: goes on", "reference: no stores today"))


def test_a_program_that_no_engine_executes_is_compared_up_to_there() -> None:
    program = assemble(TEXT.replace("iter=1,4", "iter=1,4000"))
    result = diff_engines(program, engines_by_name(program, ("reference", "sim")))
    text = "instruction 2: accumulator index 3999 is out of range, the buffer has 2048 elements"
    assert (result.difference, result.stopped) == (None, text)


def test_a_deadlock_of_all_engines_is_no_difference() -> None:
    program = assemble(TEXT.replace(" push_next", ""))
    result = diff_engines(program, engines_by_name(program, ("reference", "sim")))
    assert (result.difference, result.stopped) == (None, "deadlock")


@pytest.mark.parametrize("names", [("sim",), ("sim", "sim"), ()])
def test_two_different_engines_are_needed(names: tuple[str, ...]) -> None:
    given = ", ".join(names) or "none"
    message = f"two or more different engines are needed to compare, not {given}; the engines are sim, reference, tsim"
    with pytest.raises(DiffError, match=f"^{message}$"):
        engines_by_name(assemble(TEXT), names)


class FlippedBank(RtlSimulator):
    """Hardware with a bit of the accumulator that flips after every ALU instruction."""

    def launch(
        self, insn_address: int, insn_count: int, *, origins: Sequence[Origin | None] | None = None
    ) -> LaunchStats:
        word = int(self.memory.view(insn_address, 8).view("<u8")[0])
        stats = super().launch(insn_address, insn_count, origins=origins)
        if word & 7 == Opcode.ALU:
            self._core._design.memory("compute.accumulator.bank_1.memory")[0, 0] ^= np.uint64(2)
        return stats


def test_a_fault_in_the_hardware_is_found() -> None:
    config = SMALL_DESIGNS["block4"]
    program = assemble(TEXT.replace("shape=4,16", "shape=16,4").replace("imm=3", "imm=4"), config=config)
    found = diff_engines(program, [partial(engine, program, "sim"), on(program, FlippedBank)]).difference
    assert found is not None
    assert (found.index, found.details) == (2, ("ACC[1, row 0, lane 0]: sim has 8, tsim has 10",))
