"""The listing of a launch: its times, its words, and upstream's layout."""

from dataclasses import replace
from pathlib import Path

import pytest

from isa.instructions import Module
from isa.origin import Origin
from runtime.observe.dump import dump_instructions
from runtime.observe.timeline import NEVER
from tests.support.runtime.recorded_runs import record_programs, some_program
from vta.inspect.trace import Recorded
from vta.inspect.trace.listing import classic_listing, launch_listing


@pytest.mark.parametrize("device", ["sim", "tsim"])
def test_every_instruction_has_a_line_with_its_times(tmp_path: Path, device: str) -> None:
    program = some_program(5)
    count = len(program.instructions)
    program = replace(program, origins=tuple(Origin(f"stage{i}", "a.py:1") for i in range(count)))
    _, [launch] = record_programs(tmp_path / "t", device, program)
    head, titles, *lines = launch_listing(launch)
    clock = f"{launch.timeline.cycles} cycles" if device == "tsim" else "no clock"
    assert head == f"launch 0 on {device}: {count} instructions, {clock}, {program.config.bitstream}"
    assert titles.split()[1] == ("issued" if device == "tsim" else "order")
    assert len(lines) == count
    for index, line in enumerate(lines):
        cells = line.split()
        assert cells[0] == str(index)
        times = [int(launch.timeline.begun[index])]
        if launch.timeline.issued is not None:
            times = [int(launch.timeline.issued[index]), *times, int(launch.timeline.ended[index])]
        assert list(map(int, cells[1 : 1 + len(times)])) == times
        assert cells[1 + len(times)] == program.instructions[index].module.name.lower()
        assert line.endswith(f"; stage{index} (a.py:1)")


def test_modules_can_be_chosen(tmp_path: Path) -> None:
    program = some_program(5)
    _, [launch] = record_programs(tmp_path / "t", "sim", program)
    lines = list(launch_listing(launch, modules=frozenset({Module.STORE})))[2:]
    expected = [index for index, i in enumerate(program.instructions) if i.module is Module.STORE]
    assert [int(line.split()[0]) for line in lines] == expected


def test_what_did_not_happen_is_a_dash_and_the_error_has_a_line(tmp_path: Path) -> None:
    _, [launch] = record_programs(tmp_path / "t", "tsim", some_program(5))
    begun = launch.timeline.begun.copy()
    begun[-1] = NEVER
    failed = Recorded(0, replace(launch.timeline, begun=begun, error="it broke"))
    lines = list(launch_listing(failed))
    assert lines[1] == "failed: it broke"
    assert lines[-1].split()[2] == "-"


def test_words_behind_an_illegal_one_are_not_listed(tmp_path: Path) -> None:
    _, [launch] = record_programs(tmp_path / "t", "sim", some_program(5))
    array = launch.timeline.array.copy()
    array[3] = (1 << 64) - 1
    broken = Recorded(0, replace(launch.timeline, array=array))
    lines = list(launch_listing(broken))
    assert len(lines) == 2 + 3 + 1
    assert lines[-1] == "    3  not an instruction, and nothing after it was looked at"


def test_the_classic_layout_is_that_of_the_runtime(tmp_path: Path) -> None:
    program = some_program(6)
    _, [launch] = record_programs(tmp_path / "t", "sim", program)
    assert classic_listing(launch) == dump_instructions(program.instructions)


def test_names_stay_in_their_line(tmp_path: Path) -> None:
    program = some_program(5)
    origins = (Origin("a\nb", "\x1b[31m.py:1"), *program.origins[1:])
    _, [launch] = record_programs(tmp_path / "t", "sim", replace(program, origins=origins))
    _, _, first, *others = launch_listing(launch)
    assert first.endswith(r"  ; a\nb (\x1b[31m.py:1)")
    assert len(others) == len(program.instructions) - 1
