"""Token queues of every flag, the order in which modules run, deadlocks."""

import pytest

from isa.instructions import Deps, Finish, Gemm, Instruction, Load, MemoryId, Module, Store
from isa.tokens import TokenQueue, pops, pushes, token_order

L2G, G2L = TokenQueue.LOAD_TO_COMPUTE, TokenQueue.COMPUTE_TO_LOAD
G2S, S2G = TokenQueue.COMPUTE_TO_STORE, TokenQueue.STORE_TO_COMPUTE


def _load(**flags: bool) -> Load:
    return Load(memory=MemoryId.INP, deps=Deps(**flags))


def _gemm(**flags: bool) -> Gemm:
    return Gemm(deps=Deps(**flags))


def _store(**flags: bool) -> Store:
    return Store(deps=Deps(**flags))


@pytest.mark.parametrize(
    ("module", "popped", "pushed"),
    [
        (Module.LOAD, (G2L,), (L2G,)),
        (Module.COMPUTE, (L2G, S2G), (G2L, G2S)),
        (Module.STORE, (G2S,), (S2G,)),
    ],
)
def test_flags_stand_for_the_queues_of_the_chain(
    module: Module, popped: tuple[TokenQueue, ...], pushed: tuple[TokenQueue, ...]
) -> None:
    prev, following = module != Module.LOAD, module != Module.STORE
    deps = Deps(pop_prev=prev, pop_next=following, push_prev=prev, push_next=following)
    assert pops(module, deps) == popped
    assert pushes(module, deps) == pushed
    assert pops(module, Deps()) == pushes(module, Deps()) == ()


def test_a_valid_program_runs_in_program_order() -> None:
    stream: list[Instruction] = [
        _load(push_next=True),
        _load(push_next=True),
        _gemm(pop_prev=True, push_prev=True),
        _gemm(pop_prev=True, push_next=True),
        _load(pop_next=True),
        _store(pop_prev=True, push_prev=True),
        Finish(deps=Deps(pop_next=True)),
    ]
    order = token_order(stream)
    assert order.executed == tuple(range(7))
    assert order.deadlock is None
    assert set(order.leftover.values()) == {0}


def test_an_instruction_waits_for_a_later_push() -> None:
    order = token_order([_gemm(pop_prev=True), _load(push_next=True), Finish()])
    assert order.executed == (1, 0, 2)


def test_both_pops_must_be_there() -> None:
    order = token_order([_gemm(pop_prev=True, pop_next=True), _load(push_next=True), _store(push_prev=True)])
    assert order.executed == (1, 2, 0)


def test_tokens_that_nobody_takes_are_counted() -> None:
    stream: list[Instruction] = [_load(push_next=True) for _ in range(300)]
    order = token_order(stream)
    assert order.leftover == {L2G: 300, G2L: 0, G2S: 0, S2G: 0}


def test_a_deadlock_names_every_head_and_what_it_waits_for() -> None:
    stream: list[Instruction] = [
        _load(pop_next=True),
        _gemm(pop_prev=True, pop_next=True, push_prev=True),
        _store(pop_prev=True, push_prev=True),
        Finish(),
    ]
    order = token_order(stream)
    assert order.executed == ()
    assert str(order.deadlock) == (
        "deadlock: LOAD at instruction 0 waits for g2l; COMPUTE at instruction 1 waits for l2g and s2g; "
        "STORE at instruction 2 waits for g2s"
    )


def test_a_deadlock_says_how_far_the_stream_got() -> None:
    order = token_order([_load(push_next=True), _gemm(pop_prev=True), _gemm(pop_prev=True), Finish()])
    assert order.executed == (0, 1)
    assert str(order.deadlock) == "deadlock: COMPUTE at instruction 2 waits for l2g"
    assert order.leftover[L2G] == 0


def test_nothing_runs_nothing() -> None:
    assert token_order([]).executed == ()
