"""Every recorded case with calls: our queue makes of the calls what upstream's runtime made, to the last bit."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from runtime.devices.device import DeviceDebug
from runtime.memory.device_memory import Allocation
from runtime.queue.command_queue import CommandQueue
from runtime.session import Session
from tests.support.golden.golden import Case, case_names, load_case
from tests.support.runtime.replay import lay_out, make_calls, read_array, write_array

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


def replay(folder: str, name: str, *, execute: bool, device: str = "reference") -> Run:
    case = load_case(folder, name)
    session = Session(case.config, device, record=True)
    session.device.debug_mode(DeviceDebug.NONE if execute else DeviceDebug.SKIP_EXEC)
    run = Run(case, session.queue, lay_out(case, session.queue))
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


@pytest.mark.parametrize("device", ["reference", "sim"])
@pytest.mark.parametrize(("folder", "name"), [case for case in CASES if load_case(*case).arrays])
def test_the_devices_give_the_recorded_outputs(folder: str, name: str, device: str) -> None:
    run = replay(folder, name, execute=True, device=device)
    outputs = {key.removeprefix("out_"): a for key, a in run.case.arrays.items() if key.startswith("out_")}
    assert outputs
    for key, expected in outputs.items():
        np.testing.assert_array_equal(read_array(run.queue.memory, run.buffers[key], expected), expected)


# --- recordings without data: any data will do, and numpy says what is right ---------------------------------------

Int8: TypeAlias = npt.NDArray[np.int8]
Int32: TypeAlias = npt.NDArray[np.int32]


def matmul(data: Int8, weight: Int8) -> Int32:
    return np.einsum("bkni,okli->bonl", data.astype(np.int32), weight.astype(np.int32)).astype(np.int32)


def convolve(data: Int8, kernel: Int8, *, stride: int = 1, groups: int = 1) -> Int32:
    """Return the sums of a 3x3 convolution, padded by one, of data (b, ci, h, w, n, i), kernel (co, ci, 3, 3, o, i)."""
    padded = np.pad(data.astype(np.int32), [(0, 0), (0, 0), (1, 1), (1, 1), (0, 0), (0, 0)])
    height, width = (-(-extent // stride) for extent in data.shape[2:4])
    shares = zip(np.split(padded, groups, axis=1), np.split(kernel.astype(np.int32), groups, axis=0), strict=True)
    parts = []
    for part, weights in shares:
        total: Int32 = np.zeros((1, weights.shape[0], height, width, 1, kernel.shape[4]), np.int32)
        for dy, dx in np.ndindex(3, 3):
            window = part[:, :, dy : dy + stride * height : stride, dx : dx + stride * width : stride]
            total += np.einsum("bchwni,ocli->bohwnl", window, weights[:, :, dy, dx], optimize=True)
        parts.append(total)
    return np.concatenate(parts, axis=1)


NUMPY: dict[tuple[str, str], Callable[..., Int32]] = {
    ("default", "tut.matrix_multiply_opt"): matmul,
    ("cfg_b1k8", "tut.matrix_multiply_opt"): matmul,
    ("default", "tut.convolution_opt"): convolve,
    ("default", "conv2d.resnet-18.C2"): convolve,
    ("default", "conv2d.resnet-18.C9"): functools.partial(convolve, stride=2),
    ("default", "group_conv2d.mobilenet.D1"): functools.partial(convolve, groups=2),
}


@pytest.mark.parametrize(("folder", "name"), NUMPY)
def test_large_recordings_compute_what_numpy_does(folder: str, name: str) -> None:
    run = replay(folder, name, execute=True, device="sim")
    assert not run.case.arrays
    rng = np.random.default_rng(4)
    inputs = []
    *args, (out_name, out_shape, _) = run.case.record["args"]
    for key, shape, dtype in args:
        high = 128 if dtype == "int8" else 50
        inputs.append(rng.integers(-high, high, shape).astype(dtype))
        write_array(run.queue.memory, run.buffers[key], inputs[-1])
    run.again()
    sums = NUMPY[folder, name](*inputs[:2]) >> 8
    expected = (sums if len(inputs) == 2 else sums + inputs[2]).clip(0, 127).astype(np.int8)
    assert len(np.unique(expected)) > 20
    found = read_array(run.queue.memory, run.buffers[out_name], np.zeros(out_shape, np.int8))
    np.testing.assert_array_equal(found, expected)
