from typing import Any

import pytest

from hw.launch import LaunchControl
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig
from tests.support.hw.hw_streams import run_benches


async def pulse(ctx: Any, signal: Any, value: int | ErrorCode = 1) -> None:
    ctx.set(signal, value)
    await ctx.tick()
    ctx.set(signal, 0)


def state(ctx: Any, launch: LaunchControl) -> Any:
    names = ("start", "running", "flush", "clears")
    control = ("busy", "done")
    return {name for name in names if ctx.get(getattr(launch, name))} | {
        name for name in control if ctx.get(getattr(launch.control, name))
    }


def test_a_launch_runs_from_its_start_to_finish_and_is_cleared() -> None:
    launch = LaunchControl(HardwareConfig())

    async def bench(ctx: Any) -> None:
        ctx.set(launch.memory_quiet, 1)
        await pulse(ctx, launch.control.launch)
        assert state(ctx, launch) == {"start", "busy"}
        await ctx.tick()
        for _ in range(6):
            assert state(ctx, launch) == {"running", "busy"}
            await ctx.tick()
        await pulse(ctx, launch.finish)
        assert state(ctx, launch) == {"running", "busy"}  # a module is not idle
        ctx.set(launch.modules_idle, 1)
        await ctx.tick()
        assert state(ctx, launch) == {"busy", "done", "flush", "clears"}
        await ctx.tick()
        assert state(ctx, launch) == {"busy", "done", "flush"}
        await ctx.tick()
        assert state(ctx, launch) == {"done"}
        assert ctx.get(launch.control.cycles) == 8

    run_benches(launch, bench)


def test_events_are_counted_while_a_launch_runs() -> None:
    launch = LaunchControl(HardwareConfig())

    async def bench(ctx: Any) -> None:
        control = launch.control
        ctx.set(launch.read_beat, 1)
        await ctx.tick()
        await pulse(ctx, control.launch)
        await ctx.tick()
        for name in ("write_beat", "load_start", "compute_start", "store_start"):
            await pulse(ctx, getattr(launch, name))
        ctx.set(launch.fetched, 9)
        await ctx.tick()
        names = ("read_beats", "write_beats", "load_started", "compute_started", "store_started", "fetched")
        assert [ctx.get(getattr(control, name)) for name in names] == [5, 1, 1, 1, 1, 9]
        await pulse(ctx, control.launch)
        ctx.set(launch.memory_quiet, 1)
        for _ in range(4):
            await ctx.tick()
        assert ctx.get(control.write_beats) == 0

    run_benches(launch, bench)


def test_an_error_waits_for_memory_and_stays_until_the_next_launch() -> None:
    launch = LaunchControl(HardwareConfig())

    async def bench(ctx: Any) -> None:
        control = launch.control
        await pulse(ctx, control.launch)
        await ctx.tick()
        ctx.set(launch.error_place, 5)
        await pulse(ctx, launch.error, ErrorCode.OPCODE)
        ctx.set(launch.error_place, 6)
        for _ in range(4):
            assert state(ctx, launch) == {"busy", "flush"}
            await pulse(ctx, launch.error, ErrorCode.ILLEGAL)
        ctx.set(launch.memory_quiet, 1)
        assert "clears" in state(ctx, launch)
        await ctx.tick()
        assert "clears" not in state(ctx, launch)
        await ctx.tick()
        assert state(ctx, launch) == set()
        assert (ErrorCode(ctx.get(control.error)), ctx.get(control.error_place)) == (ErrorCode.OPCODE, 5)
        await pulse(ctx, control.launch)
        await ctx.tick()
        assert ErrorCode(ctx.get(control.error)) == ErrorCode.NONE

    run_benches(launch, bench)


def test_a_launch_in_the_middle_of_another_begins_again_when_memory_is_quiet() -> None:
    launch = LaunchControl(HardwareConfig())

    async def bench(ctx: Any) -> None:
        await pulse(ctx, launch.control.launch)
        await ctx.tick()
        await pulse(ctx, launch.control.launch)
        for _ in range(3):
            assert state(ctx, launch) == {"busy", "flush"}
            await ctx.tick()
        ctx.set(launch.memory_quiet, 1)
        assert "clears" in state(ctx, launch)
        await ctx.tick()
        assert "clears" not in state(ctx, launch)
        await ctx.tick()
        assert state(ctx, launch) == {"busy", "start"}
        await ctx.tick()
        assert state(ctx, launch) == {"busy", "running"}
        assert ctx.get(launch.control.cycles) == 0

    run_benches(launch, bench)


@pytest.mark.parametrize("delay", [0, 1, 2, 3, 4, 5])
def test_of_launches_in_the_middle_of_another_the_last_one_runs_alone(delay: int) -> None:
    """Also if it comes in the cycle in which the one before it would begin, or right after it."""
    launch = LaunchControl(HardwareConfig())
    starts: list[tuple[int, int]] = []  # with which addresses

    async def bench(ctx: Any) -> None:
        control = launch.control
        ctx.set(launch.memory_quiet, 1)
        ctx.set(launch.modules_idle, 1)

        async def cycles(count: int) -> None:
            for _ in range(count):
                if ctx.get(launch.start):
                    starts.append((ctx.get(launch.insn_address), ctx.get(launch.acc_base)))
                await ctx.tick()

        async def launches(number: int) -> None:
            ctx.set(control.insn_address, 64 * number)
            ctx.set(control.acc_base, 64 * number)
            ctx.set(control.launch, 1)
            await cycles(1)
            ctx.set(control.launch, 0)

        await launches(1)
        await cycles(4)
        await launches(2)
        await cycles(delay)
        await launches(3)
        await cycles(8)
        assert starts[-1] == (192, 192)
        assert starts in ([(64, 64), (192, 192)], [(64, 64), (128, 128), (192, 192)])
        assert state(ctx, launch) == {"busy", "running"}
        ctx.set(launch.finish, 1)
        await cycles(1)
        ctx.set(launch.finish, 0)
        await cycles(8)
        assert starts[-1] == (192, 192)
        assert state(ctx, launch) == {"done"}  # nothing waits behind it

    run_benches(launch, bench)


def test_what_the_host_says_with_the_launch_holds_until_the_next_one() -> None:
    launch = LaunchControl(HardwareConfig())
    names = ("insn_address", "insn_count", "uop_base", "inp_base", "wgt_base", "acc_base", "out_base")

    async def bench(ctx: Any) -> None:
        control = launch.control
        for name in names:
            ctx.set(getattr(control, name), 64)
        await pulse(ctx, control.launch)
        for name in names:
            ctx.set(getattr(control, name), 128)
        for _ in range(4):
            assert [ctx.get(getattr(launch, name)) for name in names] == [64] * 7
            await ctx.tick()
        await pulse(ctx, control.launch)
        assert [ctx.get(getattr(launch, name)) for name in names] == [128] * 7

    run_benches(launch, bench)


@pytest.mark.parametrize(("data_width", "beat"), [(64, 8), (512, 64)])
def test_an_address_that_is_misaligned_is_refused_with_its_place(data_width: int, beat: int) -> None:
    launch = LaunchControl(HardwareConfig(data_width=data_width))
    names = ("insn_address", "uop_base", "inp_base", "wgt_base", "acc_base", "out_base")

    async def bench(ctx: Any) -> None:
        control = launch.control
        ctx.set(launch.read_beat, 1)
        await pulse(ctx, control.launch)
        await ctx.tick().repeat(4)
        await pulse(ctx, control.abort)
        ctx.set(launch.memory_quiet, 1)
        await ctx.tick().repeat(2)
        for place, name in enumerate(names):
            step = 16 if place == 0 else beat
            for low in (1, step // 2):
                ctx.set(getattr(control, name), 4 * step + low)
                await pulse(ctx, control.launch)
                assert state(ctx, launch) == {"busy"}
                await ctx.tick()
                assert state(ctx, launch) == set()
                assert (ctx.get(control.error), ctx.get(control.error_place)) == (ErrorCode.MISALIGNED, place)
                assert ctx.get(control.read_beats) == 0
            ctx.set(getattr(control, name), 4 * step)
        await pulse(ctx, control.launch)
        assert state(ctx, launch) == {"busy", "start"}

    run_benches(launch, bench)


@pytest.mark.parametrize("kind", ["abort", "reset"])
def test_a_launch_that_is_given_up_ends_when_memory_is_quiet(kind: str) -> None:
    launch = LaunchControl(HardwareConfig())
    code = ErrorCode.ABORTED if kind == "abort" else ErrorCode.NONE

    async def bench(ctx: Any) -> None:
        control = launch.control
        await pulse(ctx, getattr(control, kind))
        assert state(ctx, launch) == set()  # there is none
        await pulse(ctx, control.launch)
        await ctx.tick()
        ctx.set(launch.fetched, 7)
        await pulse(ctx, getattr(control, kind))
        for _ in range(3):
            assert state(ctx, launch) == {"busy", "flush"}
            await pulse(ctx, getattr(control, kind))  # once more: nothing
        ctx.set(launch.memory_quiet, 1)
        assert "clears" in state(ctx, launch)
        await ctx.tick()
        assert "clears" not in state(ctx, launch)
        await ctx.tick()
        assert state(ctx, launch) == set()
        assert ctx.get(control.error) == code
        if kind == "abort":
            assert ctx.get(control.error_place) == 7

    run_benches(launch, bench)


@pytest.mark.parametrize("kind", ["abort", "reset"])
@pytest.mark.parametrize("delay", [0, 1, 2, 3])
def test_a_launch_that_waits_for_the_end_of_another_can_be_given_up(kind: str, delay: int) -> None:
    launch = LaunchControl(HardwareConfig())
    code = ErrorCode.ABORTED if kind == "abort" else ErrorCode.NONE

    async def bench(ctx: Any) -> None:
        control = launch.control
        await pulse(ctx, control.launch)
        await ctx.tick().repeat(3)
        await pulse(ctx, control.launch)
        ctx.set(launch.memory_quiet, delay < 3)
        for _ in range(delay):
            await ctx.tick()
        await pulse(ctx, getattr(control, kind))
        ctx.set(launch.memory_quiet, 1)
        await ctx.tick().repeat(4)
        assert state(ctx, launch) == set()
        assert ctx.get(control.error) == code

    run_benches(launch, bench)
