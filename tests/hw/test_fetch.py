import random
from collections import deque
from typing import Any

import pytest

from hw.fetch import InstructionFetch
from hw.sim import compile_design
from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Finish, Gemm, Instruction, Load, MemoryId, Module, Store
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig
from tests.support.hw.axi_dram import AxiDram
from tests.support.hw.hw_streams import run_benches
from tests.support.hw.module_rig import WithMemory

VTA = VTAConfig()
KINDS = (
    Load(memory=MemoryId.INP, x_size=1, y_size=1),
    Load(memory=MemoryId.ACC, x_size=1, y_size=1),
    Gemm(uop_end=1),
    Store(x_size=1, y_size=1),
)


def random_program(generator: random.Random, count: int) -> list[Any]:
    instructions: list[Instruction] = []
    for place in range(count):
        kind = generator.choice(KINDS)
        if isinstance(kind, Gemm):
            instructions.append(Gemm(uop_end=place + 1))
        else:
            instructions.append(type(kind)(memory=kind.memory, x_size=1, y_size=1, dram_base=place))
    return [*instructions, Finish()]


def run(
    words: list[int],
    *,
    width: int = 64,
    latency: int = 1,
    stall: float = 0.0,
    address: int = 4096 - 48,
    cycles: int | None = None,
    count: int | None = None,
) -> tuple[Any, ...]:
    """Fetch ``words``; return what each module got, the error and its place, the cycles of dispatch, and the DRAM."""
    hardware = HardwareConfig(data_width=width, fetch_buffer_depth=16)
    fetch = InstructionFetch(VTA, hardware)
    rig = WithMemory(fetch, hardware)
    image = b"".join(word.to_bytes(16, "little") for word in words)
    memory = bytearray(address + len(image) + 256)
    memory[address : address + len(image)] = image
    dram = AxiDram(memory, latency=latency, stall=stall, seed=1)
    queues = {Module.LOAD: fetch.load, Module.COMPUTE: fetch.compute, Module.STORE: fetch.store}
    got: dict[Module, list[Any]] = {module: [] for module in queues}
    dispatches = []
    result = {}

    async def bench(ctx: Any) -> None:
        source = random.Random(2)
        ctx.set(fetch.address, address)
        ctx.set(fetch.count, len(words) if count is None else count)
        ctx.set(fetch.start, 1)
        await ctx.tick()
        ctx.set(fetch.start, 0)
        for cycle in range(cycles or 4000):
            for queue in queues.values():
                ctx.set(queue.ready, source.random() >= stall)
            ports = [(queue.valid, queue.ready, queue.payload) for queue in queues.values()]
            flat = (await ctx.tick().sample(*(signal for port in ports for signal in port), fetch.error))[2:]
            for place, module in enumerate(queues):
                valid, ready, payload = flat[3 * place : 3 * place + 3]
                if valid and ready:
                    got[module].append(payload)
                    dispatches.append(cycle)
            if flat[-1] != ErrorCode.NONE or payload_is_finish(got):
                break
        for _ in range(40):
            await ctx.tick()
        result["error"] = ErrorCode(ctx.get(fetch.error))
        result["place"] = ctx.get(fetch.dispatched)

    run_benches(rig, bench, background=(dram.bench(rig.axi),))
    return got, result["error"], result["place"], dispatches, dram


def payload_is_finish(got: Any) -> Any:
    finish = encode(Finish(), VTA)
    return bool(got[Module.COMPUTE]) and got[Module.COMPUTE][-1] == finish


@pytest.mark.parametrize(("latency", "stall"), [(1, 0.0), (40, 0.0), (5, 0.4)])
@pytest.mark.parametrize("width", [64, 128, 256, 512])
def test_every_instruction_reaches_its_module_in_order(width: int, latency: int, stall: float) -> None:
    program = random_program(random.Random(3), 70)
    words = [encode(instruction, VTA) for instruction in program]
    got, error, place, _, _ = run(words, width=width, latency=latency, stall=stall)
    assert error == ErrorCode.NONE
    assert place == len(words)
    for module, received in got.items():
        assert received == [w for w, i in zip(words, program, strict=True) if i.module is module]


@pytest.mark.parametrize(("width", "latency", "cycles_each"), [(64, 12, 2), (128, 6, 1), (256, 2, 1)])
def test_after_the_first_bursts_latency_is_hidden_and_the_bus_or_the_dispatch_is_never_idle(
    width: int, latency: int, cycles_each: int
) -> None:
    words = [encode(instruction, VTA) for instruction in random_program(random.Random(4), 60)]
    _, _, _, dispatches, _ = run(words, width=width, latency=latency, address=4096)
    assert dispatches[-1] - dispatches[-31] == cycles_each * 30


def test_the_second_burst_is_asked_for_when_the_first_has_come_and_then_more_and_more() -> None:
    words = [encode(instruction, VTA) for instruction in random_program(random.Random(4), 60)]
    _, _, _, _, dram = run(words, latency=20, address=4096)
    asked = [cycle for cycle, _, _ in dram.read_addresses]
    first_beats = 4
    assert asked[1] - asked[0] >= 20 + first_beats - 1
    assert asked[2] - asked[1] < 3
    assert asked[3] - asked[2] > 10
    assert asked[6] - asked[3] < 4 * first_beats


def test_no_more_is_read_ahead_than_the_buffer_holds() -> None:
    words = [encode(Store(x_size=1, y_size=1), VTA)] * 80 + [encode(Finish(), VTA)]
    _, _, _, _, dram = run(words, stall=1.0, cycles=300, address=4096)
    assert sum(beats for _, _, beats in dram.read_addresses) <= 16 * 2 + 4  # buffer, and words after it


@pytest.mark.parametrize(
    ("word", "error"),
    [
        (5, ErrorCode.OPCODE),
        (3 | 1 << 100, ErrorCode.UNUSED_BITS),
        (0 | 4 << 7, ErrorCode.ILLEGAL),
    ],
)
def test_an_illegal_word_stops_everything_behind_it(word: int, error: ErrorCode) -> None:
    good = [encode(instruction, VTA) for instruction in random_program(random.Random(5), 6)[:-1]]
    got, found, place, _, _ = run([*good, word, *good], cycles=200)
    assert found == error
    assert place == 6
    assert sum(map(len, got.values())) == 6


def test_a_launch_of_one_instruction_and_one_of_none() -> None:
    got, found, place, _, _ = run([encode(Finish(), VTA)], cycles=100)
    assert (found, place) == (ErrorCode.NONE, 1)
    assert list(map(len, got.values())) == [0, 1, 0]
    got, found, place, _, _ = run([encode(Finish(), VTA)], count=0, cycles=100)
    assert (found, place) == (ErrorCode.NO_FINISH, 0)
    assert not any(got.values())


def test_instructions_that_end_without_finish_are_an_error_behind_the_last() -> None:
    good = [encode(instruction, VTA) for instruction in random_program(random.Random(5), 6)[:-1]]
    _, found, place, _, _ = run(good, cycles=200)
    assert found == ErrorCode.NO_FINISH
    assert place == 6


def test_nothing_behind_finish_is_dispatched() -> None:
    words = [encode(Finish(), VTA), 5, encode(Gemm(uop_end=1), VTA)]
    got, found, place, _, _ = run(words, cycles=100)
    assert found == ErrorCode.NONE
    assert place == 1
    assert sum(map(len, got.values())) == 1


def test_bursts_are_asked_for_until_the_buffer_is_full_and_not_beyond() -> None:
    """Nobody takes instructions: the buffer holds 32 beats, and two instructions of two beats each are behind it."""
    design = compile_design(InstructionFetch(VTA, HardwareConfig(fetch_buffer_depth=16)))
    word = encode(KINDS[0], VTA)
    for name, value in (("address", 4096), ("count", 200), ("start", 1), ("mem__cmd__ready", 1)):
        design.poke(name, value)
    asked: list[int] = []
    away: deque[bool] = deque()
    for _ in range(200):
        if design.peek("mem__cmd__valid"):
            asked.append(design.peek("mem__cmd__payload") >> 32)
            away.extend([False] * (asked[-1] - 1) + [True])
        design.poke("mem__data__valid", int(bool(away)))
        if away:
            design.poke("mem__data__payload", word & (1 << 64) - 1 | away.popleft() << 64)
        design.step()
        design.poke("start", 0)
    assert set(asked) == {4}
    assert sum(asked) == 32 + 4
