"""Tokens that the queue finds by itself: enough of them, and no more than needed."""

import numpy as np
import pytest

from isa.check.checker import is_valid
from isa.instructions import MemoryId, Module
from runtime.queue.command_queue import INSTRUCTION_LIMIT
from runtime.session import Session
from tests.support.compiler.convolution import read
from tests.support.configs import CONFIGS
from tests.support.hw.streams import gemm_kernel, trace
from tests.support.runtime.random_calls import RandomCalls


class PlainCalls(RandomCalls):
    """Random calls without a token."""

    def calls(self) -> None:
        self.queue.plans_tokens = True
        super().calls()

    def _enter(self, module: Module) -> None:
        """Leave the order to the queue."""


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("limit", [INSTRUCTION_LIMIT, 60])
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_get_the_tokens_that_they_need(seed: int, limit: int, config: str) -> None:
    s = Session(CONFIGS[config], "sim", instruction_limit=limit, record=True)
    program = PlainCalls(s, seed, 150)
    with s.program():
        program.calls()
    expected = program.expected()
    found = read(s, program.out, "i1")[: expected.size].reshape(expected.shape)
    np.testing.assert_array_equal(found, expected)
    assert all(is_valid(launch.program(s.memory)) for launch in s.queue.launcher.launches)


def test_a_planned_program_is_right_on_hardware_that_stalls() -> None:
    from runtime.devices.tsim.device import RtlSimulator
    from runtime.memory.device_memory import DeviceMemory

    config = CONFIGS["default"]
    s = Session(config, RtlSimulator(config, DeviceMemory(1 << 28), latency=9, stall_seed=3))
    program = PlainCalls(s, 77, 400)
    with s.program():
        program.calls()
    expected = program.expected()
    found = read(s, program.out, "i1")[: expected.size].reshape(expected.shape)
    np.testing.assert_array_equal(found, expected)


def planned(steps: list[tuple[str, int]], *, store_at: int | None = None) -> list[str]:
    """Return the instructions of a program of loads ("i", "w"), products ("g"), resets ("r") and stores ("s").

    Loads read the first element of a buffer; stores go to element ``store_at`` of it, or to another buffer.
    """
    s = Session(CONFIGS["default"], "sim", record=True)
    queue, block, out = s.queue, s.memory.alloc(4096), s.memory.alloc(4096)
    with s.program():
        queue.plans_tokens = True
        for kind, place in steps:
            if kind in "iw":
                memory = MemoryId.INP if kind == "i" else MemoryId.WGT
                queue.load_buffer_2d(block, 0, x_size=1, y_size=1, x_stride=1, sram_base=place, memory=memory)
            elif kind == "s":
                target = out if store_at is None else block
                queue.store_buffer_2d(place, MemoryId.OUT, target, store_at or 0, x_size=1, y_size=1, x_stride=1)
            else:
                queue.push_gemm((kind, place), gemm_kernel(queue, (place, place, 0), reset=kind == "r"))
        queue.synchronize()
    return [line for line in trace(s.queue.launcher.launches[0].instructions) if not line.startswith("LOAD UOP")]


def test_copies_that_are_used_in_turn_let_loads_run_ahead_by_as_many() -> None:
    steps = [("w", 0), *(step for n in range(4) for step in (("i", n % 2), ("g", n % 2), ("s", n % 2)))]
    assert planned(steps) == [
        "LOAD WGT 0000",
        "LOAD INP 0001",
        "GEMM 1011",
        "STORE 1010",
        "LOAD INP 0001",
        "GEMM 1011",
        "STORE 1010",
        "LOAD INP 0101",  # waits for the product before the last one, which read the same element
        "GEMM 1101",
        "STORE 1000",
        "LOAD INP 0101",
        "GEMM 1101",
        "STORE 1010",
        "FINISH 0100",
    ]


def test_an_instruction_waits_once_for_what_several_before_it_did() -> None:
    assert planned([("w", 0), ("i", 0), ("i", 1), ("g", 1), ("g", 0), ("s", 0), ("s", 1)]) == [
        "LOAD WGT 0000",
        "LOAD INP 0000",
        "LOAD INP 0001",
        "GEMM 1000",
        "GEMM 0001",
        "STORE 1000",
        "STORE 0010",
        "FINISH 0100",
    ]


def test_finish_waits_for_loads_that_nobody_used() -> None:
    assert planned([("i", 3)]) == ["LOAD INP 0001", "FINISH 1000"]


def test_bytes_that_are_loaded_and_stored_are_kept_in_order_by_making_everything_wait() -> None:
    steps = [("i", 0), ("r", 0), ("s", 0), ("i", 1)]
    assert planned(steps, store_at=0) == [
        "LOAD INP 0001",
        "GEMM-reset 0001",
        "STORE 1010",
        "NOP-COMPUTE 0110",
        "LOAD INP 0101",
        "NOP-COMPUTE 1000",
        "FINISH 0000",
    ]


def test_two_tensors_in_one_buffer_are_two_tensors() -> None:
    steps = [("i", 0), ("r", 0), ("s", 0), ("i", 1)]
    assert planned(steps, store_at=1) == planned(steps)
    assert "NOP-COMPUTE 0110" not in planned(steps, store_at=1)


def test_planning_ends_with_the_program() -> None:
    s = Session(CONFIGS["default"], "sim")
    with s.program():
        s.queue.plans_tokens = True
    assert not s.queue.plans_tokens
