"""The ends of a launch are finer, what it computes is the same, and it takes less time."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from isa.extents import loop_steps
from isa.instructions import Alu, Gemm, Instruction, Load, MemoryId, Store
from isa.program import Program
from runtime.queue.debug_flag import DebugFlag
from runtime.queue.ends.finer_ends import finer_ends
from runtime.queue.ends.joined_uop_loads import joined_uop_loads
from runtime.queue.instruction_queue import Entry
from runtime.queue.launch import LaunchAddresses
from runtime.session import Session
from tests.support.runtime.launched import program_of
from vta.cost import predict
from vta.nd import EXT_DEV, Device, array, empty
from vta.topi import Conv2d, Dense
from vta.topi.core.epilogue import Bias, Clip, Epilogue, ShiftRight
from vta.topi.core.operator import Operator, compile  # noqa: A004
from vta.topi.core.resident import Resident
from vta.topi.matmul.matmul_schedule import MatmulTiles

STEPS: Epilogue = (ShiftRight(8), Bias(), Clip(0, 127))
LAYERS: dict[str, Operator] = {
    "products": Conv2d(1, 64, 14, 14, 64, (3, 3), padding=(1, 1, 1, 1), epilogue=STEPS),
    "operations": Conv2d(1, 32, 28, 28, 64, (1, 1), (2, 2), epilogue=STEPS),
    "dense": Dense(64, 128, 128, epilogue=STEPS),
}
ENV = vta.Environment(VTAConfig())


def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the ends of launches as they are."""

    def same(entries: list[Entry], uops: Sequence[int], *_: object, **__: object) -> tuple[list[Entry], Sequence[int]]:
        return entries, uops

    monkeypatch.setattr("runtime.queue.command_queue.finer_ends", same)


def work_of(program: Program) -> Counter[str]:
    """Return the steps of each kind of operation, and the elements that are loaded and stored."""
    found: Counter[str] = Counter()
    for instruction in program.instructions:
        match instruction:
            case Gemm() as gemm:
                found["reset" if gemm.reset else "gemm"] += loop_steps(gemm)
            case Alu() as alu:
                found[alu.alu_opcode.name] += loop_steps(alu)
            case Load() | Store() as transfer if transfer.memory is not MemoryId.UOP:
                found[transfer.memory.name] += transfer.x_size * transfer.y_size
            case _:
                pass
    return found


@pytest.mark.parametrize("name", LAYERS)
def test_the_work_is_the_same_and_done_earlier(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fine, quick = program_of(LAYERS[name], ENV), predict(compile(LAYERS[name], ENV)).cycles
    coarse(monkeypatch)
    plain, slow = program_of(LAYERS[name], ENV), predict(compile(LAYERS[name], ENV)).cycles
    assert work_of(fine) == work_of(plain)
    assert len(plain.instructions) < len(fine.instructions) < len(plain.instructions) + 80
    assert quick < slow


@pytest.mark.parametrize("name", LAYERS)
def test_numbers_are_right_on_the_hardware(name: str) -> None:
    layer = LAYERS[name]
    compiled = compile(layer, ENV)
    place = Device(EXT_DEV, 0, Session(ENV.config, "tsim"))
    rng = np.random.default_rng(3)
    plain = [rng.integers(-100, 100, each.shape).astype(each.dtype) for each in layer.inputs(ENV)]
    out = empty(compiled.scheduled.args[-1].shape, "int8", place)
    compiled.module(*(array(values, place) for values in layer.pack(ENV, *plain)), out)
    np.testing.assert_array_equal(layer.unpack(ENV, out.numpy()), layer.reference_on(ENV, *plain))


def test_the_last_operations_go_downwards_where_their_operand_lies_above() -> None:
    stores = [i for i in program_of(LAYERS["products"], ENV).instructions if isinstance(i, Store)]
    last = [store.sram_base for store in stores[-4:]]
    assert last == sorted(last, reverse=True)


def test_a_serial_program_stays_in_one_piece() -> None:
    session = Session(ENV.config, "sim", record=True)
    place = Device(EXT_DEV, 0, session)
    compiled = compile(LAYERS["products"], ENV)
    arguments = [empty(t.shape, str(t.dtype), place) for t in compiled.scheduled.args]
    session.queue.debug_mode = DebugFlag.FORCE_SERIAL
    compiled.module(*arguments)
    session.queue.debug_mode = DebugFlag.NONE
    compiled.module(*arguments)
    serial, free = (launch.instructions for launch in session.queue.launcher.launches)
    count = [sum(isinstance(i, Gemm) for i in program) for program in (serial, free)]
    assert count[0] < count[1]


def entries_of(program: Program) -> list[Entry]:
    return [Entry(instruction) for instruction in program.instructions]


def cut(program: Program, **options: Any) -> list[Instruction]:
    addresses = LaunchAddresses(instructions=0, uops=program.uop_base)
    entries, _ = finer_ends(entries_of(program), program.uops, addresses, program.config, **options)
    return [entry.instruction for entry in entries]


def test_without_room_for_micro_ops_nothing_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    coarse(monkeypatch)
    program = program_of(LAYERS["products"], ENV)
    whole = [each.instruction for each in joined_uop_loads(entries_of(program)) if not each.instruction.is_nop]
    assert len(cut(program, uop_limit=1 << 20)) > len(whole)
    assert cut(program, uop_limit=len(program.uops)) == whole


@pytest.mark.parametrize("log_uop_buff_size", [9, 10, 11, 12])
def test_sums_whose_runs_have_no_room_are_done_in_parts_in_their_loops(log_uop_buff_size: int) -> None:
    """There are seven rows, and the last one is in eight parts; its runs have room among 1,024 micro-ops alone."""
    layer = Conv2d(1, 64, 28, 28, 128, (1, 1), (2, 2), epilogue=STEPS)
    program = program_of(layer, vta.Environment(VTAConfig(log_uop_buff_size=log_uop_buff_size)))
    assert sum(isinstance(i, Store) for i in program.instructions) == 6 + 8


def test_small_tiles_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, tiles = Dense(2, 64, 64, epilogue=STEPS), MatmulTiles(rows=2, inner=4, columns=4, resident=Resident.KERNEL)
    fine = len(program_of(layer, ENV, tiles).instructions)
    coarse(monkeypatch)
    assert fine == len(program_of(layer, ENV, tiles).instructions)


def test_an_empty_launch_stays_empty() -> None:
    assert finer_ends([], (), LaunchAddresses(instructions=0, uops=0), ENV.config, uop_limit=9) == ([], ())
