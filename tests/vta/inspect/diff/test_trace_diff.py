"""Two traces: words, micro-ops and times, in this order."""

from dataclasses import replace
from typing import Any

import numpy as np

from isa.config import VTAConfig
from isa.origin import Origin
from isa.text.assembler import assemble
from runtime.observe.accounting import CycleAccount
from runtime.observe.timeline import NEVER, Bursts, States, Timeline
from vta.inspect.diff.trace_diff import diff_traces
from vta.inspect.trace.model import Recorded

NONE = np.zeros(0, np.int64)
TEXT = "load.uop x=1 dram=0x400\nalu.add uop=0:1 imm=3\nfinish"


def recorded(text: str = TEXT, *, uop: int = 0, late: int = 0) -> Recorded:
    program = assemble(text)
    count = len(program.instructions)
    begun = np.arange(count) * 10
    begun[1] += late
    timeline = Timeline(
        device="sim",
        config=program.config,
        array=program.words,
        origins=(Origin("C", "c.py:3"),) * count,
        duration=100,
        begun=begun,
        ended=begun + 5,
        bursts=Bursts(NONE, NONE, NONE, NONE, NONE, ()),
    )
    return Recorded(0, timeline, {0: np.array([uop], np.uint32)})


def test_equal_traces_have_no_difference() -> None:
    assert diff_traces([recorded(), recorded()], [recorded(), recorded()]) is None
    assert diff_traces([], []) is None


def test_a_word_that_differs_is_told_with_both_instructions() -> None:
    found = diff_traces([recorded(), recorded()], [recorded(), recorded(TEXT.replace("imm=3", "imm=4"))])
    assert str(found) == (
        "first difference at instruction 1\n"
        "  launch 1\n"
        "  the first: alu.add uop=0:1 iter=1,1 dst=0,0 src=0,0 imm=3  ; C (c.py:3)\n"
        "  the second: alu.add uop=0:1 iter=1,1 dst=0,0 src=0,0 imm=4  ; C (c.py:3)"
    )


def test_a_word_that_is_not_legal_is_told() -> None:
    bad = recorded()
    array = bad.timeline.array.copy()
    array[1] = 7
    found = diff_traces([recorded()], [Recorded(0, replace(bad.timeline, array=array))])
    assert found is not None
    assert found.details[-1] == "the second: (no legal word)"


def test_lengths_are_told() -> None:
    found = diff_traces([recorded()], [recorded(TEXT.replace("finish", "nop.load\nfinish"))])
    assert found is not None
    assert found.index == 2
    short = recorded()
    cut = replace(short.timeline, array=short.timeline.array[:2])
    assert str(diff_traces([short], [Recorded(0, cut)])) == (
        "first difference at instruction 2\n  launch 0\n  the first has 3 instructions, the second 2"
    )
    assert str(diff_traces([], [recorded()])) == (
        "first difference before the first instruction\n  the second trace has a launch 0, the first one has not"
    )


def test_micro_ops_and_times_are_compared() -> None:
    assert str(diff_traces([recorded()], [recorded(uop=9)])) == (
        "first difference at instruction 0: load.uop sram=0 dram=0x400 y=1 x=1 stride=1  ; C (c.py:3)\n"
        "  launch 0\n  micro-op 0 that it loads: 0x0 in the first, 0x9 in the second"
    )
    assert str(diff_traces([recorded()], [recorded(late=2)])) == (
        "first difference at instruction 1: alu.add uop=0:1 iter=1,1 dst=0,0 src=0,0 imm=3  ; C (c.py:3)\n"
        "  launch 0\n  the first ran from 10 to 15, the second from 12 to 17"
    )


def other_timeline(launch: Recorded, **changes: Any) -> Recorded:
    return replace(launch, timeline=replace(launch.timeline, **changes))


def test_how_launches_ended_is_compared() -> None:
    failed = other_timeline(recorded(), error="deadlock: \x1b[2J\n")
    lines = "  the first finished\n  the second failed: deadlock: \\x1b[2J\\n"
    assert (
        str(diff_traces([recorded()], [failed]))
        == f"first difference before the first instruction\n  launch 0\n{lines}"
    )
    assert diff_traces([failed], [failed]) is None
    cut = other_timeline(failed, ended=np.where(np.arange(3) == 2, NEVER, failed.timeline.ended))
    assert str(diff_traces([recorded()], [cut])) == (
        "first difference at instruction 2: finish  ; C (c.py:3)\n  launch 0\n"
        f"  the first ran from 20 to 25, the second from 20 to the end\n{lines}"
    )
    assert diff_traces([failed], [other_timeline(failed, error="another")]) is not None


def test_everything_else_of_a_launch_is_compared() -> None:
    launch = recorded()
    states = {"load": States(np.array([0, 5]), ("work", "memory"))}
    bursts = Bursts(*(np.array([number]) for number in (1, 2, 3, 4, 0)), ("load",))
    account = CycleAccount({"load": {"work": 100}})
    config = VTAConfig(log_inp_buff_size=14)
    cases: dict[str, dict[str, Any]] = {
        "what load waited for is not the same": {"states": states},
        "the transfers on the memory bus are not the same": {"bursts": bursts},
        "the first took 100 steps, the second 90 steps": {"duration": 90},
        "the first took 100 steps, the second 100 cycles": {"account": account},
        f"the first is for {launch.config.bitstream}, the second for {config.bitstream}": {"config": config},
    }
    for text, change in cases.items():
        assert str(diff_traces([launch], [other_timeline(launch, **change)])).endswith(f"  launch 0\n  {text}")
    issued = other_timeline(launch, issued=launch.timeline.begun - 0)
    late = other_timeline(launch, issued=launch.timeline.begun - np.array([0, 3, 0]))
    assert diff_traces([issued], [launch]) is None
    assert str(diff_traces([issued], [late])).endswith(
        "the first ran from 10 to 15 (issued at 10), the second from 10 to 15 (issued at 7)"
    )


def test_micro_ops_that_only_one_loaded_are_told() -> None:
    without = replace(recorded(), uops={})
    assert str(diff_traces([recorded()], [without])).endswith("it loads 1 micro-ops in the first, 0 in the second")
