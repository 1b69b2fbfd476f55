"""Tokens between the launches of one program: as many as are missing, no more."""

import itertools
from collections import Counter

import pytest

from isa.instructions import Gemm, Module
from runtime.queue.instruction_queue import Entry, Token, nop, token_steps
from runtime.queue.token_carry import TokenCarry

GIVE, TAKE = Entry(nop(Module.LOAD), Token.PUSH_NEXT), Entry(nop(Module.COMPUTE), Token.POP_PREV)
BACK = Entry(nop(Module.COMPUTE), Token.PUSH_PREV)


@pytest.mark.parametrize(("given", "taken"), list(itertools.product(range(4), range(4))))
def test_a_launch_gets_the_tokens_that_it_takes_and_that_were_left(given: int, taken: int) -> None:
    carry = TokenCarry()
    assert carry.complete([GIVE] * given) == [GIVE] * given
    assert carry.total == given
    front = min(given, taken)
    assert carry.complete([TAKE] * taken) == [GIVE] * front + [TAKE] * taken
    assert carry.total == given - front


def test_what_a_launch_gives_before_it_takes_it_is_not_given_again() -> None:
    carry = TokenCarry()
    carry.complete([GIVE, GIVE, GIVE])
    assert carry.complete([GIVE, TAKE, TAKE, TAKE]) == [GIVE, GIVE, GIVE, TAKE, TAKE, TAKE]
    assert carry.total == 1


def test_directions_are_apart() -> None:
    carry = TokenCarry()
    carry.complete([GIVE, BACK, BACK])
    launch = carry.complete([Entry(nop(Module.LOAD), Token.POP_NEXT), TAKE])
    assert launch == [GIVE, BACK, Entry(nop(Module.LOAD), Token.POP_NEXT), TAKE]
    assert carry.total == 1


def test_every_launch_of_a_program_runs_from_empty_queues() -> None:
    """Cut at every place, no launch takes a token that is not there, and none is left that nobody gave."""
    program = [
        GIVE,
        GIVE,
        TAKE,
        BACK,
        Entry(Gemm(), Token.NONE),
        GIVE,
        TAKE,
        TAKE,
        Entry(nop(Module.LOAD), Token.POP_NEXT),
    ]
    for first, second in itertools.combinations(range(len(program) + 1), 2):
        carry = TokenCarry()
        for part in (program[:first], program[first:second], program[second:]):
            held: Counter[tuple[Module, Module]] = Counter()
            for entry in carry.complete(part):
                for queue, step in token_steps(entry):
                    held[queue] += step
                    assert held[queue] >= 0
        assert carry.total == 0
