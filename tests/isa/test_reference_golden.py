"""The reference interpreter on the recorded streams: the recorded outputs and statistics."""

from dataclasses import asdict

import numpy as np
import pytest

from isa.reference import Reference
from tests.support.golden.golden import Case, case_names, load_case

CASES = case_names("tut.", "insn.", "benchmark_gemm.")


def _memory(case: Case, end: int) -> "np.ndarray[tuple[int], np.dtype[np.uint8]]":
    """DRAM with the recorded inputs and micro-ops at their recorded addresses."""
    memory = np.zeros(end, np.uint8)
    for buffer in case.record["buffers"]:
        data = case.arrays.get(f"in_{buffer['name']}")
        if data is not None:
            raw = np.frombuffer(data.tobytes(), np.uint8)
            memory[buffer["phy"] : buffer["phy"] + raw.size] = raw
    for launch in case.record["launches"]:
        raw = np.array([int(w, 16) for w in launch["uop_dram_hex"]], "<u4").view(np.uint8)
        memory[launch["uop_phy"] : launch["uop_phy"] + raw.size] = raw
    return memory


def _end(case: Case) -> int:
    ends: list[int] = [buffer["phy"] + buffer["bytes"] for buffer in case.record["buffers"]]
    ends += [launch["uop_phy"] + 4 * len(launch["uop_dram_hex"]) for launch in case.record["launches"]]
    return max(ends)


@pytest.mark.parametrize(("folder", "name"), CASES)
def test_a_recorded_stream_gives_the_recorded_outputs_and_statistics(folder: str, name: str) -> None:
    case = load_case(folder, name)
    assert len(case.record["launches"]) == 1
    machine = Reference(case.config, _memory(case, _end(case)))
    machine.run(case.words)
    assert asdict(machine.counts) == case.record["profiler"]
    outputs = {n.removeprefix("out_"): a for n, a in case.arrays.items() if n.startswith("out_")}
    for output, expected in outputs.items():
        [buffer] = [b for b in case.record["buffers"] if b["name"] == output]
        raw = machine.memory[buffer["phy"] : buffer["phy"] + expected.nbytes]
        assert np.array_equal(raw.view(expected.dtype).reshape(expected.shape), expected)
