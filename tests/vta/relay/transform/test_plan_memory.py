from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.executor.operators.names import Op
from runtime.executor.operators.selection import ConcatenateAttrs, SplitAttrs
from runtime.executor.operators.types import RelayError, TensorType, TupleType
from tests.support.relay.random_floats import random_graph
from tests.support.relay.random_integers import random_network
from vta.relay.ir.nodes import Call, Expr, Function, Let, Tuple, TupleGetItem, Var
from vta.relay.ir.traverse import calls, children, post_order
from vta.relay.ops.call import call
from vta.relay.transform.fusion.fuse_ops import fuse_ops
from vta.relay.transform.placement import Lifetime
from vta.relay.transform.plan_memory import MemoryPlan, Slot, plan_memory

X = Var("x", TensorType((1000,), "int8"))


def chain(length: int) -> Function:
    body: Expr = X
    for _ in range(length):
        body = call(Op.NEGATIVE, [body])
    return Function((X,), body)


def test_a_chain_needs_two_places() -> None:
    plan = plan_memory(chain(10))
    assert (plan.nbytes, plan.peak) == (2024, 2000)
    assert {slot.offset for slots in plan.slots.values() for slot in slots} == {0, 1024}


def test_inputs_and_constants_need_no_memory() -> None:
    assert plan_memory(Function((X,), X)) == MemoryPlan({}, 0, 0)


def test_results_live_to_the_end() -> None:
    first = call(Op.NEGATIVE, [X])
    body = Tuple((first, call(Op.ABS, [call(Op.NEGATIVE, [first])])))
    plan = plan_memory(Function((X,), body), alignment=1)
    assert plan.slots[first] == (Slot(plan.slots[first][0].offset, Lifetime(1000, 0, 3)),)
    assert plan.nbytes == 3000


def test_values_of_a_tuple_have_places_of_their_own() -> None:
    parts = call(Op.SPLIT, [X], SplitAttrs((300, 700)))
    kept = TupleGetItem(parts, 1)
    plan = plan_memory(Function((X,), call(Op.CONCATENATE, [call(Op.ABS, [kept]), kept], ConcatenateAttrs(0))))
    small, large = plan.slots[parts]
    assert (small.life, large.life) == (Lifetime(300, 0, 0), Lifetime(700, 0, 2))


def test_small_tensors_fill_gaps() -> None:
    big = Var("big", TensorType((4096,), "int8"))
    one = call(Op.NEGATIVE, [big])
    small = call(Op.NEGATIVE, [X])
    joined = call(Op.CONCATENATE, [one, small], ConcatenateAttrs(0))
    plan = plan_memory(Function((big, X), joined))
    assert plan.nbytes == plan.peak + 24


@pytest.mark.parametrize("alignment", [0, -64])
def test_an_alignment_that_is_none_is_refused(alignment: int) -> None:
    with pytest.raises(RelayError, match=rf"^alignment is from 1, not {alignment}$"):
        plan_memory(chain(1), alignment)


def test_lets_are_refused() -> None:
    v = Var("v", X.type)
    with pytest.raises(RelayError, match=r"^memory is planned for functions without lets; inline them first$"):
        plan_memory(Function((X,), Let(v, call(Op.ABS, [X]), v)))


def overlap(a: Slot, b: Slot) -> bool:
    together = a.life.begin <= b.life.end and b.life.begin <= a.life.end
    return together and a.offset < b.offset + b.nbytes and b.offset < a.offset + a.nbytes


def check(function: Function, alignment: int) -> None:
    """Compare a plan with what evaluating the graph needs, found without its help."""
    plan = plan_memory(function, alignment)
    order = calls(function)
    assert set(plan.slots) == set(order)
    slots = [slot for each in plan.slots.values() for slot in each]
    assert not any(overlap(a, b) for a, b in combinations(slots, 2))
    assert all(slot.offset % alignment == 0 for slot in slots if slot.nbytes)
    assert plan.nbytes == max((slot.offset + slot.nbytes for slot in slots), default=0)
    assert plan.peak <= plan.nbytes <= sum(slot.nbytes + alignment for slot in slots)
    for call_ in order:
        assert [slot.nbytes for slot in plan.slots[call_]] == sizes(call_)
        assert plan.slots[call_][0].life.begin == order.index(call_)
    for reader in order:
        for arg in reader.args:
            for source, index in memory_of(arg):
                assert plan.slots[source][index].life.end >= order.index(reader)
    for source, index in memory_of(function.body):
        assert plan.slots[source][index].life.end == len(order)


def sizes(call_: Call) -> list[int]:
    kinds = call_.type.fields if isinstance(call_.type, TupleType) else (call_.type,)
    return [kind.nbytes for kind in kinds]  # type: ignore[union-attr]


def memory_of(expr: Expr) -> list[tuple[Call, int]]:
    if isinstance(expr, Call):
        return [(expr, index) for index, _ in enumerate(sizes(expr))]
    if isinstance(expr, TupleGetItem) and isinstance(expr.value, Call):
        return [(expr.value, expr.index)]
    return [each for child in children(expr) for each in memory_of(child)]


@given(seed=st.integers(0, 2**32), alignment=st.sampled_from([1, 16, 64]))
@settings(max_examples=60)
def test_what_lives_at_the_same_time_does_not_overlap(seed: int, alignment: int) -> None:
    check(random_graph(seed, nodes=14).function, alignment)
    check(fuse_ops(random_graph(seed, nodes=14).function), alignment)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=20)
def test_integer_networks_need_little_more_than_their_peak(seed: int) -> None:
    network = fuse_ops(random_network(seed).function)
    check(network, 64)
    plan = plan_memory(network, 1)
    assert plan.nbytes <= 2 * plan.peak
    assert len(post_order(network.body)) >= len(plan.slots)
