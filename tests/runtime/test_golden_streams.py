"""Every recorded case with calls: our queue makes of the calls what upstream's runtime made, to the last bit."""

from dataclasses import dataclass

import numpy as np
import pytest

from runtime.command_queue import CommandQueue
from runtime.devices.device import DeviceDebug
from runtime.devices.reference import ReferenceDevice
from runtime.memory import Allocation, DeviceMemory
from tests.support.golden import Case, case_names, load_case
from tests.support.replay import lay_out, make_calls, read_array, write_array

CASES = [(folder, name) for folder, name in case_names() if load_case(folder, name).calls]


@dataclass(frozen=True, slots=True)
class Run:
    case: Case
    queue: CommandQueue
    buffers: dict[str, Allocation]

    def again(self) -> None:
        make_calls(self.case, self.queue, list(self.buffers.values()))
        self.queue.finish_program()

    def load_inputs(self) -> None:
        for key, array in self.case.arrays.items():
            if key.startswith("in_"):
                write_array(self.queue.memory, self.buffers[key.removeprefix("in_")], array)


def replay(folder: str, name: str, *, execute: bool) -> Run:
    case = load_case(folder, name)
    memory = DeviceMemory()
    device = ReferenceDevice(case.config, memory)
    device.debug_mode(DeviceDebug.NONE if execute else DeviceDebug.SKIP_EXEC)
    queue = CommandQueue(case.config, memory, device, record=True)
    run = Run(case, queue, lay_out(case, queue))
    run.load_inputs()
    run.again()
    return run


def test_all_cases_but_the_three_without_calls_are_here() -> None:
    assert len(CASES) == 74
    assert len(case_names()) == 77


@pytest.mark.parametrize(("folder", "name"), CASES)
def test_calls_give_the_recorded_words_micro_ops_and_statistics(folder: str, name: str) -> None:
    run = replay(folder, name, execute=False)
    [launch] = run.queue.launcher.launches
    [recorded] = run.case.record["launches"]
    assert launch.words == run.case.words
    assert [f"{word:08x}" for word in launch.uops.tolist()] == recorded["uop_dram_hex"]
    layout = [(place["sram_begin"], place["sram_end"]) for place in recorded["uop_layout"]]
    assert [(place.begin, place.end) for place in launch.resident] == layout
    kernels = [kernel["uop_hex"] for kernel in run.case.record["kernels"]]
    loaded = [kernels[place["kernel"]] for place in recorded["uop_layout"]]
    assert [[f"{word:08x}" for word in place.block.words] for place in launch.resident] == loaded
    assert run.queue.device.stats.as_dict() == expected_statistics(run.case)


def expected_statistics(case: Case) -> dict[str, int]:
    """Return the recorded counters; the recording counts ACC_8BIT loads four times too high."""
    counters = dict(case.record["profiler"])
    loads = [i for launch in case.record["launches"] for i in launch["insns"] if i.get("mem") == "ACC_8BIT"]
    bytes_too_many = sum(i["x_size"] * i["y_size"] for i in loads) * case.config.acc_elem_bytes * 3 // 4
    counters["acc_load_nbytes"] -= bytes_too_many
    return counters


@pytest.mark.parametrize(("folder", "name"), CASES)
def test_a_second_call_gives_the_same_stream(folder: str, name: str) -> None:
    run = replay(folder, name, execute=False)
    run.again()
    first, second = run.queue.launcher.launches
    assert first.words == second.words
    assert first.uops.tolist() == second.uops.tolist()


@pytest.mark.parametrize(("folder", "name"), [case for case in CASES if load_case(*case).arrays])
def test_the_reference_device_gives_the_recorded_outputs(folder: str, name: str) -> None:
    run = replay(folder, name, execute=True)
    outputs = {key.removeprefix("out_"): a for key, a in run.case.arrays.items() if key.startswith("out_")}
    assert outputs
    for key, expected in outputs.items():
        np.testing.assert_array_equal(read_array(run.queue.memory, run.buffers[key], expected), expected)
