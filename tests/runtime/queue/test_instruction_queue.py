"""Where pops and pushes go, one rule at a time."""

import re

import pytest

from isa.instructions import Gemm, Instruction, Load, MemoryId, Module, Store, numbered
from runtime.queue.instruction_queue import (
    Entry,
    InstructionQueue,
    Token,
    TokenError,
    known_module,
    nop,
    token_steps,
)

LOAD, COMPUTE, STORE = Module.LOAD, Module.COMPUTE, Module.STORE
LOAD_INP = Load(memory=MemoryId.INP, x_size=1, y_size=1)
LOAD_UOP = Load(memory=MemoryId.UOP, x_size=1, y_size=1)
GEMM = Gemm(uop_end=1)
STORE_OUT = Store(x_size=1, y_size=1)


def queue_of(*instructions: Instruction) -> InstructionQueue:
    queue = InstructionQueue()
    for instruction in instructions:
        queue.append(instruction, None)
    return queue


def shape(queue: InstructionQueue) -> list[tuple[Instruction, Token]]:
    return [(entry.instruction, entry.tokens) for entry in queue.entries]


def test_a_push_goes_onto_the_last_instruction_if_it_is_of_that_module() -> None:
    queue = queue_of(GEMM)
    queue.push(COMPUTE, LOAD, None)
    queue.push(COMPUTE, STORE, None)
    assert shape(queue) == [(GEMM, Token.PUSH_PREV | Token.PUSH_NEXT)]


def test_a_second_push_of_one_kind_needs_a_no_op_and_cannot_go_onto_it_again() -> None:
    queue = queue_of(LOAD_INP)
    for _ in range(3):
        queue.push(LOAD, COMPUTE, None)
    no_op = nop(LOAD)
    assert shape(queue) == [(LOAD_INP, Token.PUSH_NEXT), (no_op, Token.PUSH_NEXT), (no_op, Token.PUSH_NEXT)]


def test_a_push_of_another_module_than_the_last_instructions_needs_a_no_op() -> None:
    queue = queue_of(LOAD_INP, GEMM)
    queue.push(LOAD, COMPUTE, None)
    assert shape(queue) == [(LOAD_INP, Token.NONE), (GEMM, Token.NONE), (nop(LOAD), Token.PUSH_NEXT)]


def test_compute_no_ops_take_no_pushes_and_store_no_ops_do() -> None:
    queue = InstructionQueue()
    queue.push(COMPUTE, LOAD, None)
    queue.push(COMPUTE, STORE, None)
    assert shape(queue) == [(nop(COMPUTE), Token.PUSH_PREV), (nop(COMPUTE), Token.PUSH_NEXT)]
    queue = InstructionQueue()
    queue.pop(COMPUTE, STORE, None)
    queue.commit_pops(STORE, None)
    queue.push(STORE, COMPUTE, None)
    assert shape(queue) == [(nop(STORE), Token.POP_PREV | Token.PUSH_PREV)]


def test_the_first_instruction_of_a_module_takes_all_its_pending_pops() -> None:
    queue = InstructionQueue()
    queue.pop(LOAD, COMPUTE, None)
    queue.pop(STORE, COMPUTE, None)
    queue.append(LOAD_INP, None)
    queue.append(LOAD_UOP, None)
    queue.append(GEMM, None)
    assert shape(queue) == [
        (LOAD_INP, Token.NONE),
        (LOAD_UOP, Token.POP_PREV | Token.POP_NEXT),
        (GEMM, Token.NONE),
    ]


def test_a_second_pop_of_one_kind_gives_the_first_to_a_no_op() -> None:
    queue = InstructionQueue()
    queue.pop(STORE, COMPUTE, None)
    queue.pop(LOAD, COMPUTE, None)
    queue.pop(STORE, COMPUTE, None)
    queue.append(GEMM, None)
    assert shape(queue) == [(nop(COMPUTE), Token.POP_PREV | Token.POP_NEXT), (GEMM, Token.POP_NEXT)]


def test_a_push_comes_behind_the_pending_pops_of_its_module() -> None:
    queue = queue_of(STORE_OUT)
    queue.pop(COMPUTE, STORE, None)
    queue.push(STORE, COMPUTE, None)
    assert shape(queue) == [(STORE_OUT, Token.NONE), (nop(STORE), Token.POP_PREV | Token.PUSH_PREV)]


def test_no_ops_do_no_work() -> None:
    queue = InstructionQueue()
    queue.push(STORE, COMPUTE, None)
    assert not queue.does_work
    queue.append(STORE_OUT, None)
    assert queue.does_work
    assert len(queue.take_entries()) == 2
    assert len(queue) == 0


def test_pops_count_before_pushes() -> None:
    every = Token.POP_PREV | Token.POP_NEXT | Token.PUSH_PREV | Token.PUSH_NEXT
    assert token_steps(Entry(GEMM, every)) == (
        ((LOAD, COMPUTE), -1),
        ((STORE, COMPUTE), -1),
        ((COMPUTE, LOAD), 1),
        ((COMPUTE, STORE), 1),
    )


@pytest.mark.parametrize("number", [0, 4, -1])
def test_a_module_without_that_number_is_refused(number: int) -> None:
    assert [known_module(each) for each in (1, 2, 3, LOAD)] == [LOAD, COMPUTE, STORE, LOAD]
    message = f"dependency: module {number} is unknown; the modules are {numbered(Module)}"
    with pytest.raises(TokenError, match=f"^{re.escape(message)}$"):
        known_module(number)


def test_each_flag_is_a_step_of_the_queue_between_two_neighbours() -> None:
    expected = {
        (LOAD, Token.POP_NEXT): ((COMPUTE, LOAD), -1),
        (LOAD, Token.PUSH_NEXT): ((LOAD, COMPUTE), 1),
        (COMPUTE, Token.POP_PREV): ((LOAD, COMPUTE), -1),
        (COMPUTE, Token.POP_NEXT): ((STORE, COMPUTE), -1),
        (COMPUTE, Token.PUSH_PREV): ((COMPUTE, LOAD), 1),
        (COMPUTE, Token.PUSH_NEXT): ((COMPUTE, STORE), 1),
        (STORE, Token.POP_PREV): ((COMPUTE, STORE), -1),
        (STORE, Token.PUSH_PREV): ((STORE, COMPUTE), 1),
    }
    for (module, token), step in expected.items():
        assert token_steps(Entry(nop(module), token)) == (step,)
    every = Token.POP_PREV | Token.POP_NEXT | Token.PUSH_PREV | Token.PUSH_NEXT
    assert token_steps(Entry(nop(COMPUTE), every)) == tuple(expected[COMPUTE, token] for token in Token if token)
