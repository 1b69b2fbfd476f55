"""The arena's plan: what is alive together never shares a byte."""

from hypothesis import given
from hypothesis import strategies as st

from vta.relay.backend.memory import ALIGNMENT, Lifetime, planned

LIFETIMES = st.lists(
    st.tuples(st.integers(0, 50_000), st.integers(0, 12), st.integers(0, 12)).map(
        lambda t: Lifetime(t[0], min(t[1:]), max(t[1:]))
    ),
    max_size=24,
)


@given(LIFETIMES)
def test_tensors_that_are_alive_together_lie_apart(lifetimes: list[Lifetime]) -> None:
    offsets, total = planned(lifetimes)
    for i, one in enumerate(lifetimes):
        assert offsets[i] % ALIGNMENT == 0
        assert offsets[i] + one.nbytes <= total
        for j, other in enumerate(lifetimes[:i]):
            if one.begin <= other.end and other.begin <= one.end:
                apart = offsets[i] + one.nbytes <= offsets[j] or offsets[j] + other.nbytes <= offsets[i]
                assert apart or not one.nbytes or not other.nbytes


def test_a_chain_takes_the_memory_of_its_largest_neighbours() -> None:
    chain = [Lifetime(nbytes * ALIGNMENT, step, step + 1) for step, nbytes in enumerate((4, 2, 3, 1, 5))]
    assert planned(chain)[1] == 6 * ALIGNMENT
    assert planned([]) == ([], 0)
