"""Recorded streams of upstream's stack on the functional simulator: the recorded outputs and statistics."""

import numpy as np
import pytest

from isa.layout import uop_layout
from runtime.devices.functional import FunctionalSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.sim.code_path import CodePath
from tests.support.golden.golden import Case, case_names, load_case

LIMIT = 1 << 28


def laid_out(case: Case) -> DeviceMemory:
    """Memory with the recorded inputs, micro-ops and instructions at their recorded addresses."""
    memory = DeviceMemory(LIMIT)
    [launch] = case.record["launches"]
    ends = [buffer["phy"] + buffer["bytes"] for buffer in case.record["buffers"]]
    ends.append(launch["insn_phy"] + 16 * len(launch["insns"]))
    memory.alloc(max(ends) - 0x1000)

    def put(address: int, raw: bytes) -> None:
        memory.view(address, len(raw))[:] = np.frombuffer(raw, np.uint8)

    for buffer in case.record["buffers"]:
        data = case.arrays.get(f"in_{buffer['name']}")
        if data is not None:
            put(buffer["phy"], data.tobytes())
    # One recording has garbage in the unused bits of its micro-ops, which no engine of ours accepts.
    layout = uop_layout(case.config)
    micro_ops = [layout.pack(layout.unpack(int(word, 16))) for word in launch["uop_dram_hex"]]
    put(launch["uop_phy"], np.array(micro_ops, "<u4").tobytes())
    put(launch["insn_phy"], b"".join(word.to_bytes(16, "little") for word in case.words))
    return memory


def moved_bytes(case: Case) -> dict[str, int]:
    """The recorded counters; upstream counts ACC_8BIT loads with the size of int32, we count bytes that move."""
    counters = dict(case.record["profiler"])
    narrow = [i for launch in case.record["launches"] for i in launch["insns"] if i.get("mem") == "ACC_8BIT"]
    elements = sum(i["x_size"] * i["y_size"] for i in narrow)
    counters["acc_load_nbytes"] -= elements * case.config.acc_elem_bytes * 3 // 4
    return counters


SLOW = ("cfg_b1k8", "conv2d.resnet-18.C7")
"""351,243 instructions, which take seconds to parse."""
CASES = [pytest.param(*case, marks=pytest.mark.long if case == SLOW else ()) for case in case_names()]


@pytest.mark.parametrize(("folder", "name"), CASES)
def test_a_recorded_stream_gives_the_recorded_outputs_and_statistics(
    folder: str, name: str, code_path: CodePath
) -> None:
    case = load_case(folder, name)
    memory = laid_out(case)
    simulator = FunctionalSimulator(case.config, memory, code_path=code_path)
    [launch] = case.record["launches"]
    stats = simulator.launch(launch["insn_phy"], len(launch["insns"]))
    assert stats.statistics.as_dict() == moved_bytes(case)
    assert stats.instruction_count == len(launch["insns"])
    if name.endswith(("gemm_unittest", "alu_unittest")):
        return  # these compute on scratchpads that nobody filled
    for buffer in case.record["buffers"]:
        expected = case.arrays.get(f"out_{buffer['name']}")
        if expected is not None:
            raw = memory.view(buffer["phy"], expected.nbytes)
            assert np.array_equal(raw.view(expected.dtype).reshape(expected.shape), expected)
