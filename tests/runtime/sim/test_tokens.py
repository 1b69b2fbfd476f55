"""Token order of the functional simulator: who goes first, deadlocks, and a clean start of every launch."""

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import Deps, Finish, Gemm, Instruction, Load, MemoryId, Module, Store
from isa.origin import Origin
from isa.tokens import token_order
from runtime.devices.device import DeadlockError, TraceEvent
from runtime.sim.code_path import CodePath
from runtime.sim.launch_loop import token_flags
from tests.support.runtime.functional_rig import Rig
from tests.support.runtime.launching import encode_words, place_words


def load(**deps: bool) -> Instruction:
    return Load(memory=MemoryId.INP, deps=Deps(**deps))


def compute(**deps: bool) -> Instruction:
    return Load(memory=MemoryId.UOP, deps=Deps(**deps))


def store(**deps: bool) -> Instruction:
    return Store(deps=Deps(**deps))


def executed(rig: Rig, instructions: list[Instruction]) -> list[int]:
    order: list[int] = []
    rig.simulator.set_trace(lambda event: order.append(event.index))
    rig.launch(*instructions)
    rig.simulator.set_trace(None)
    return order


def test_the_ready_instruction_with_the_smallest_index_goes_first(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    waiting = [compute(pop_prev=True), store(pop_prev=True), load(), load(push_next=True), compute(push_next=True)]
    assert executed(rig, waiting) == [2, 3, 0, 4, 1, 5]


def test_an_instruction_waits_for_both_of_its_tokens(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    both = [load(push_next=True), compute(pop_prev=True, pop_next=True), load(), store(push_prev=True)]
    assert executed(rig, both) == [0, 2, 3, 1, 4]


def random_tokens(rng: np.random.Generator) -> list[Instruction]:
    kinds = {Module.LOAD: load, Module.COMPUTE: compute, Module.STORE: store}
    allowed = {module: sorted({flag for flag, _ in token_flags(module)}) for module in Module}
    found: list[Instruction] = []
    for _ in range(int(rng.integers(1, 12))):
        module = Module(int(rng.integers(1, 4)))
        chosen = {flag: True for flag in allowed[module] if rng.random() < 0.4}
        found.append(kinds[module](**chosen))
    return found


def test_any_order_and_any_deadlock_is_the_one_of_isa_tokens(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    rng = np.random.default_rng(13)
    deadlocks = 0
    for _ in range(300):
        instructions = random_tokens(rng)
        expected = token_order([*instructions, Finish()])
        order: list[int] = []
        rig.simulator.set_trace(lambda event, order=order: order.append(event.index))  # type: ignore[misc]
        if expected.deadlock is None:
            rig.launch(*instructions)
        else:
            deadlocks += 1
            with pytest.raises(DeadlockError) as caught:
                rig.launch(*instructions)
            heads = {head.module: head.index for head in caught.value.heads}
            wanted = {head.module: head.index for head in expected.deadlock.heads}
            assert {module: index for module, index in heads.items() if index is not None} == wanted
        assert tuple(order) == expected.executed
    assert 50 < deadlocks < 250


def test_a_deadlock_names_every_head_and_the_token_it_waits_for(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    with pytest.raises(DeadlockError) as caught:
        rig.launch(
            load(push_next=True), compute(pop_prev=True), compute(pop_prev=True, pop_next=True), store(pop_prev=True)
        )
    assert str(caught.value) == (
        "deadlock: load: nothing left; "
        "compute: instruction 2 waits for a token load->compute and store->compute; "
        "store: instruction 3 waits for a token compute->store"
    )


def test_a_launch_after_a_deadlock_or_with_tokens_left_over_starts_clean(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    rig.launch(load(push_next=True), load(push_next=True))
    with pytest.raises(DeadlockError):
        rig.launch(compute(pop_prev=True))
    with pytest.raises(DeadlockError):
        rig.launch(load(pop_next=True))
    assert executed(rig, [load(push_next=True), compute(pop_prev=True)]) == [0, 1, 2]


def test_finish_may_pop_and_waits_for_its_tokens(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    finish = Finish(deps=Deps(pop_prev=True))
    placed = place_words(rig.memory, encode_words([finish], rig.config))
    with pytest.raises(DeadlockError, match="compute: instruction 0 waits for a token load->compute"):
        rig.simulator.launch(placed.address, placed.count)
    placed = place_words(rig.memory, encode_words([load(push_next=True), finish], rig.config))
    rig.simulator.launch(placed.address, placed.count)


def test_more_tokens_than_any_hardware_queue_holds_are_kept(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    many = 3000
    order = executed(rig, [*[load(push_next=True)] * many, *[compute(pop_prev=True)] * many])
    assert order == list(range(2 * many + 1))


def test_the_trace_has_word_module_and_origin_of_each_instruction(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    instructions = [load(push_next=True), Gemm(deps=Deps(pop_prev=True)), store(), Finish()]
    words = encode_words(instructions, rig.config)
    placed = place_words(rig.memory, words)
    events: list[TraceEvent] = []
    rig.simulator.set_trace(events.append)
    origin = Origin("C", "gemm.py:1")
    rig.simulator.launch(placed.address, placed.count, origins=[None, origin, None, None])
    modules = (Module.LOAD, Module.COMPUTE, Module.STORE, Module.COMPUTE)
    origins = (None, origin, None, None)
    assert events == [TraceEvent(i, modules[i], words[i], origins[i]) for i in range(4)]


def test_a_program_that_overwrites_its_instructions_runs_as_it_was_launched(code_path: CodePath) -> None:
    rig = Rig(VTAConfig(), code_path)
    placed = place_words(rig.memory, [0] * 4)
    ones = rig.array(np.full(16, -1, np.int32), MemoryId.ACC)
    program: list[Instruction] = [
        Load(memory=MemoryId.ACC, dram_base=ones, y_size=1, x_size=1, deps=Deps(push_next=True)),
        Store(dram_base=placed.address // 16 + 3, y_size=1, x_size=1, deps=Deps(pop_prev=True)),
        Load(memory=MemoryId.INP, y_size=1),
        Finish(),
    ]
    raw = b"".join(word.to_bytes(16, "little") for word in encode_words(program, rig.config))
    rig.memory.view(placed.address, 64)[:] = np.frombuffer(raw, np.uint8)
    rig.simulator.launch(placed.address, 4)
    assert rig.memory.view(placed.address + 48, 16).tolist() == [255] * 16
