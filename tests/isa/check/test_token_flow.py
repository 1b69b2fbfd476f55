"""The flow of tokens: who gives to whom, and what is certainly complete."""

from isa.check.token_flow import Shortage, TokenFlow, token_flow
from isa.instructions import Module
from isa.text.assembler import assemble
from isa.tokens import TokenQueue

L2G, G2L, S2G = TokenQueue.LOAD_TO_COMPUTE, TokenQueue.COMPUTE_TO_LOAD, TokenQueue.STORE_TO_COMPUTE


def _flow(text: str) -> TokenFlow:
    return token_flow(assemble(text).instructions)


def test_the_kth_pop_takes_the_kth_push() -> None:
    flow = _flow("nop.load push_next\nnop.load push_next\nnop.compute pop_prev\nnop.compute pop_prev\nfinish")
    assert (flow.givers[L2G], flow.takers[L2G]) == ([0, 1], [2, 3])
    assert (flow.taker(L2G, 1), flow.last_giver(L2G, 2), flow.next_giver(L2G, 1)) == (3, 0, 1)
    assert (flow.last_giver(L2G, 1), flow.next_giver(L2G, 2)) == (None, None)
    assert flow.shortage is None


def test_a_clock_says_what_is_complete_over_any_number_of_tokens() -> None:
    flow = _flow("nop.load\nnop.load push_next\nnop.compute pop_prev push_next\nnop.store pop_prev\nfinish")
    assert [flow.clocks[3][module] for module in Module] == [1, 2, -1]
    assert [flow.clocks[4][module] for module in Module] == [1, -1, -1]


def test_clocks_end_where_a_token_is_missing() -> None:
    flow = _flow("nop.load push_next\nnop.compute pop_prev\nnop.compute pop_next\nnop.store push_prev\nfinish")
    assert flow.shortage == Shortage(2, S2G)
    assert len(flow.clocks) == 2
    assert flow.givers[S2G] == [3]


def test_tokens_that_nobody_takes_are_left() -> None:
    flow = _flow("nop.load push_next\nnop.compute push_prev\nnop.load pop_next\nfinish")
    assert flow.leftover == {**dict.fromkeys(TokenQueue, 0), L2G: 1}
    assert flow.taker(L2G, 0) is None
    assert flow.taker(G2L, 1) == 2
