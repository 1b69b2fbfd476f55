from typing import Any

from hw.launch import LaunchControl
from isa.machine.error_codes import ErrorCode
from isa.machine.hardware_config import HardwareConfig
from tests.support.hw.hw_streams import run_benches


async def pulse(ctx: Any, signal: Any, value: int | ErrorCode = 1) -> None:
    ctx.set(signal, value)
    await ctx.tick()
    ctx.set(signal, 0)


def state(ctx: Any, launch: LaunchControl) -> Any:
    names = ("start", "running", "flush", "clear")
    control = ("busy", "done")
    return {name for name in names if ctx.get(getattr(launch, name))} | {
        name for name in control if ctx.get(getattr(launch.control, name))
    }


def test_a_launch_runs_from_its_start_to_finish_and_is_cleared() -> None:
    launch = LaunchControl(HardwareConfig())

    async def bench(ctx: Any) -> None:
        ctx.set(launch.memory_quiet, 1)
        ctx.set(launch.control.launch, 1)
        assert "start" in state(ctx, launch)
        await ctx.tick()
        ctx.set(launch.control.launch, 0)
        for _ in range(6):
            assert state(ctx, launch) == {"running", "busy"}
            await ctx.tick()
        await pulse(ctx, launch.finish)
        assert state(ctx, launch) == {"running", "busy"}  # a module is not idle
        ctx.set(launch.modules_idle, 1)
        await ctx.tick()
        assert state(ctx, launch) == {"busy", "done", "flush"}
        await ctx.tick()
        assert state(ctx, launch) == {"busy", "done", "flush", "clear"}
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
        for name in ("write_beat", "load_start", "compute_start", "store_start"):
            await pulse(ctx, getattr(launch, name))
        ctx.set(launch.fetched, 9)
        await ctx.tick()
        names = ("read_beats", "write_beats", "load_started", "compute_started", "store_started", "fetched")
        assert [ctx.get(getattr(control, name)) for name in names] == [5, 1, 1, 1, 1, 9]
        await pulse(ctx, control.launch)
        ctx.set(launch.memory_quiet, 1)
        for _ in range(3):
            await ctx.tick()
        assert ctx.get(control.write_beats) == 0

    run_benches(launch, bench)


def test_an_error_waits_for_memory_and_stays_until_the_next_launch() -> None:
    launch = LaunchControl(HardwareConfig())

    async def bench(ctx: Any) -> None:
        control = launch.control
        await pulse(ctx, control.launch)
        ctx.set(launch.error_place, 5)
        await pulse(ctx, launch.error, ErrorCode.OPCODE)
        ctx.set(launch.error_place, 6)
        for _ in range(4):
            assert state(ctx, launch) == {"busy", "flush"}
            await pulse(ctx, launch.error, ErrorCode.ILLEGAL)
        ctx.set(launch.memory_quiet, 1)
        await ctx.tick()
        assert "clear" in state(ctx, launch)
        await ctx.tick()
        assert state(ctx, launch) == set()
        assert (ErrorCode(ctx.get(control.error)), ctx.get(control.error_place)) == (ErrorCode.OPCODE, 5)
        await pulse(ctx, control.launch)
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
        await ctx.tick()
        assert "clear" in state(ctx, launch)
        await ctx.tick()
        assert state(ctx, launch) == {"busy", "start"}
        await ctx.tick()
        assert state(ctx, launch) == {"busy", "running"}
        assert ctx.get(launch.control.cycles) == 0

    run_benches(launch, bench)
