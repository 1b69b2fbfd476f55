"""Engines with a planted fault: the reference interpreter with one operation changed.

``plant_engine_fault(rng)`` picks a fault at random. Each is a plausible mistake: a lane left out, a sign forgotten, a
stride taken for another.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Gemm, Instruction, Load, MemoryId, Store
from isa.program import Program
from isa.reference import Reference
from runtime.devices.reference import ReferenceDevice
from runtime.memory.device_memory import DeviceMemory
from vta.inspect.diff.stepping import Engine

__all__ = ["EngineFault", "FaultyDevice", "FaultyMachine", "faulty_engine", "plant_engine_fault"]

MEMORY_LIMIT = 1 << 29


@dataclass(frozen=True, slots=True)
class EngineFault:
    """What is wrong, and which instructions it changes to what (or, with ``corrupt``, what it does afterwards)."""

    text: str
    change: Callable[[Instruction], Instruction] | None = None
    corrupt: Callable[[Instruction, Reference], None] | None = None


class FaultyMachine(Reference):
    """A machine with a fault."""

    def __init__(self, config: VTAConfig, memory: npt.NDArray[np.uint8], fault: EngineFault) -> None:
        super().__init__(config, memory, first_address=0x1000)
        self._fault = fault

    def step(self, instruction: Instruction) -> None:
        """Execute one instruction, in the wrong way."""
        change, corrupt = self._fault.change, self._fault.corrupt
        super().step(instruction if change is None else change(instruction))
        if corrupt is not None:
            corrupt(instruction, self)


class FaultyDevice(ReferenceDevice):
    """A device with a faulty machine."""

    def __init__(self, config: VTAConfig, memory: DeviceMemory, fault: EngineFault) -> None:
        super().__init__(config, memory)
        self._machine = FaultyMachine(config, memory.address_space(), fault)


def faulty_engine(program: Program, fault: EngineFault) -> Engine:
    """Return an engine for ``program`` that has a fault."""
    return Engine(program, FaultyDevice(program.config, DeviceMemory(MEMORY_LIMIT), fault))


def plant_engine_fault(rng: np.random.Generator, config: VTAConfig) -> EngineFault:
    """Return a fault picked at random."""
    makers = (_operation, _immediate, _narrow_shift, _lane, _reset, _padding, _stride, _last_row, _store, _factor)
    return makers[int(rng.integers(len(makers)))](rng, config)


def _operation(rng: np.random.Generator, _: VTAConfig) -> EngineFault:
    right, wrong = rng.permutation(list(AluOpcode))[:2].tolist()

    def change(entry: Instruction) -> Instruction:
        if isinstance(entry, Alu) and entry.alu_opcode == right:
            return replace(entry, alu_opcode=AluOpcode(wrong))
        return entry

    return EngineFault(f"{AluOpcode(right).name} does {AluOpcode(wrong).name}", change)


def _immediate(rng: np.random.Generator, _: VTAConfig) -> EngineFault:
    bits = int(rng.integers(3, 9))

    def change(entry: Instruction) -> Instruction:
        if isinstance(entry, Alu) and entry.use_imm:
            return replace(entry, imm=entry.imm & (1 << bits) - 1)
        return entry

    return EngineFault(f"immediates have {bits} bits and no sign", change)


def _narrow_shift(rng: np.random.Generator, _: VTAConfig) -> EngineFault:
    most = int(rng.integers(1, 8))

    def change(entry: Instruction) -> Instruction:
        if isinstance(entry, Alu) and entry.alu_opcode == AluOpcode.SHR and entry.use_imm:
            return replace(entry, imm=min(entry.imm, most))
        return entry

    return EngineFault(f"a shift goes {most} places at most", change)


def _lane(rng: np.random.Generator, config: VTAConfig) -> EngineFault:
    lane, bit = int(rng.integers(config.block_out)), int(rng.integers(32))

    def corrupt(entry: Instruction, machine: Reference) -> None:
        if isinstance(entry, Gemm) and not entry.reset and entry.iter_out * entry.iter_in > 3:
            machine.acc[_first_element(entry, machine), 0, lane] ^= np.int64(1 << bit).astype(np.int32)

    return EngineFault(
        f"GEMM flips bit {bit} of lane {lane} of its first result if it has more than 3 steps", None, corrupt
    )


def _first_element(entry: Gemm, machine: Reference) -> int:
    return int(machine.uop[entry.uop_bgn]) & machine.config.acc_depth - 1


def _reset(rng: np.random.Generator, config: VTAConfig) -> EngineFault:
    steps = int(rng.integers(1, 6))

    def change(entry: Instruction) -> Instruction:
        if isinstance(entry, Gemm) and entry.reset and entry.iter_in > steps:
            return replace(entry, iter_in=entry.iter_in - 1)
        return entry

    return EngineFault(f"a reset of more than {steps} inner steps leaves the last one out", change)


def _padding(rng: np.random.Generator, config: VTAConfig) -> EngineFault:
    value = int(rng.integers(1, 100))

    def corrupt(entry: Instruction, machine: Reference) -> None:
        if not isinstance(entry, Load) or not entry.x_size * entry.y_size or entry.memory == MemoryId.UOP:
            return
        if entry.x_pad_0 or entry.y_pad_0:
            pad = {MemoryId.INP: machine.inp, MemoryId.WGT: machine.wgt}.get(entry.memory, machine.acc)
            pad[entry.sram_base, 0, 0] = value

    return EngineFault(f"padding begins with {value}", None, corrupt)


def _stride(rng: np.random.Generator, _: VTAConfig) -> EngineFault:
    memory = (MemoryId.INP, MemoryId.WGT, MemoryId.ACC)[int(rng.integers(3))]

    def change(entry: Instruction) -> Instruction:
        if isinstance(entry, Load) and entry.memory == memory and entry.y_size > 1:
            return replace(entry, x_stride=entry.x_size)
        return entry

    return EngineFault(f"rows of {memory.name} are taken to be dense", change)


def _last_row(rng: np.random.Generator, _: VTAConfig) -> EngineFault:
    rows = int(rng.integers(1, 4))

    def change(entry: Instruction) -> Instruction:
        if isinstance(entry, Load | Store) and entry.y_size > rows:
            return replace(entry, y_size=entry.y_size - 1)
        return entry

    return EngineFault(f"of more than {rows} rows the last one is lost", change)


def _store(rng: np.random.Generator, _: VTAConfig) -> EngineFault:
    least = int(rng.integers(1, 12))

    def change(entry: Instruction) -> Instruction:
        if isinstance(entry, Store) and entry.x_size > least:
            return replace(entry, x_size=entry.x_size - 1)
        return entry

    return EngineFault(f"stores of rows longer than {least} lose their last element", change)


def _factor(rng: np.random.Generator, _: VTAConfig) -> EngineFault:
    name = ("dst_factor_in", "src_factor_in", "src_factor_out", "wgt_factor_out")[int(rng.integers(4))]

    def change(entry: Instruction) -> Instruction:
        if isinstance(entry, Gemm) and not entry.reset and getattr(entry, name):
            return replace(entry, **{name: getattr(entry, name) - 1})
        return entry

    return EngineFault(f"GEMM takes one less for {name}", change)
