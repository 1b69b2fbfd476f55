"""Memory planning: results stay the same, live buffers never overlap, limits are reported with names and numbers."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isa.config import VTAConfig
from tests.support.compiler.tir_build import alloc, block, buffer, call, function, loop, on, store, thread, when
from vta.passes.storage.reuse import Sharing
from vta.passes.storage.storage_rewrite import StorageError, rewrite_storage, storage_rewrite
from vta.passes.storage.tagged_merge import CapacityError
from vta.passes.vthread.inject_virtual_thread import VIRTUAL_THREADS
from vta.tir.buffer import Buffer
from vta.tir.expr import Add, BufferLoad, Builtin, Call, Expr, IntImm, Var, const, same
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.printer import to_text
from vta.tir.scopes import ACC_SCOPE, INP_SCOPE
from vta.tir.stmt import Allocate, AttrStmt, BufferStore, For, ForKind, Stmt
from vta.tir.traverse import walk

CONFIG = VTAConfig()
SCRATCH = "local.scratch"
"""A memory that no configuration has: without limits, aligned to 32 bits."""


def each(memory: Buffer, value: int | Buffer, *more: Buffer, count: int = 10) -> Stmt:
    """``memory[j] = value`` (or the sum of some buffers' elements) for ``count`` elements."""
    j = Var("j")
    total: Expr | int = value if isinstance(value, int) else value.load(j)
    for other in more:
        total = total + other.load(j)
    return loop(j, count, store(memory, total, j))


def allocations(node: PrimFunc | Stmt) -> list[Allocate]:
    return [n for n in walk(node.body if isinstance(node, PrimFunc) else node) if isinstance(n, Allocate)]


def sizes(func: PrimFunc) -> dict[str, int]:
    """The allocations by name, in elements."""
    found = {}
    for stmt in allocations(func):
        [extent] = stmt.extents
        assert isinstance(extent, IntImm)
        found[stmt.buffer_var.name] = extent.value
    return found


def nested(memories: list[Buffer], *body: Stmt) -> Stmt:
    """``body`` inside of the allocations of ``memories``."""
    stmt = block(*body)
    for memory in reversed(memories):
        stmt = alloc(memory, stmt)
    return stmt


def scratch(*names: str, size: int = 200, dtype: str = "int16", scope: str = SCRATCH) -> list[Buffer]:
    return [buffer(name, [size], dtype, scope) for name in names]


# --- sharing ---------------------------------------------------------------------------------------------------------


def test_br_070_small_buffers_grow_when_larger_ones_take_their_place() -> None:
    a, b, b1 = scratch("A", "B", "B1")
    c, d, e = scratch("C", "D", "E", size=400)
    memories = [a, b, b1, c, d, e]
    steps = [each(a, 1), each(b, 2), each(b1, a, b), each(c, 3), each(d, 4), each(e, c)]
    assert sizes(storage_rewrite(function(loop("i", 5, nested(memories, *steps))), CONFIG)) == {"A": 800}
    kept = storage_rewrite(function(nested(memories, loop("i", 5, *steps))), CONFIG)
    assert sizes(kept) == {"A": 3 * 200 + 3 * 400}


def test_br_070_a_large_buffer_keeps_its_exact_size() -> None:
    big = buffer("big", [16384, 16384], "int32", "local")
    func = storage_rewrite(function(alloc(big, store(big, 1, 0, 0))), CONFIG)
    [stmt] = allocations(func)
    assert [e.value for e in stmt.extents if isinstance(e, IntImm)] == [16384, 16384]
    huge = scratch("huge", size=1 << 28, dtype="int32")[0]
    more = scratch("more", size=1 << 31 - 1, dtype="int32")[0]
    merged = storage_rewrite(function(nested([huge, more], each(huge, 1), each(more, 1), each(huge, 1))), CONFIG)
    assert sizes(merged) == {"huge": (1 << 28) + (1 << 30)}


def test_br_070_offsets_are_counted_once_in_elements_of_the_memory() -> None:
    a, b = scratch("a", "b", size=20, dtype="int32", scope=ACC_SCOPE)
    text = to_text(storage_rewrite(function(nested([a, b], each(a, 1), each(b, 2), each(a, b))), CONFIG).body)
    assert "[(j_1 + 32)] = 2" in text
    assert "allocate(a: Pointer(local.acc_buffer int32), int32, [64])" in text


def test_a_result_takes_the_place_of_the_operand_that_dies() -> None:
    a, b, c = scratch("A_buf", "B_buf", "C_buf", size=1024, dtype="int32", scope=ACC_SCOPE)
    out = buffer("out", [1024])
    body = nested([a, b, c], each(a, 1), each(b, 2), each(c, a, b, count=1024), each(out, c))
    func = storage_rewrite(function(body, out), CONFIG)
    assert sizes(func) == {"A_buf": 2048}
    [total] = [n for n in walk(func.body) if isinstance(n, BufferStore) and isinstance(n.value, Add)]
    [j] = total.indices
    loads = [n for n in walk(total.value) if isinstance(n, BufferLoad)]
    assert [same(load.indices, (index,)) for load, index in zip(loads, (j, j + 1024), strict=True)] == [True, True]
    assert {total.buffer.data, *(load.buffer.data for load in loads)} == {a.data}


def test_an_operand_that_is_read_later_is_not_overwritten() -> None:
    b, t, u, d = scratch("b", "t", "u", "d", size=64, dtype="int32", scope=ACC_SCOPE)
    body = nested([b, t, u, d], each(b, 1), each(t, b), each(u, t), each(d, b, u))
    assert sizes(storage_rewrite(function(body), CONFIG)) == {"b": 128}


def test_memory_of_a_loop_is_used_again_in_every_iteration() -> None:
    a, b = scratch("a", "b")
    body = block(loop("i", 4, alloc(a, each(a, 1))), loop("k", 4, alloc(b, each(b, 1))))
    assert sizes(storage_rewrite(function(body), CONFIG)) == {"a": 200}


def test_memory_that_outlives_a_loop_is_not_given_away_inside() -> None:
    a, b, out = *scratch("a", "b", dtype="int32"), buffer("out", [200])
    body = alloc(a, block(each(a, 1), loop("i", 4, each(out, a), alloc(b, each(b, 1)))))
    assert sizes(storage_rewrite(function(body, out), CONFIG)) == {"a": 400}


def test_memory_that_is_much_larger_or_smaller_is_not_reused() -> None:
    [a], [b] = scratch("a", size=10), scratch("b", size=200)
    body = block(alloc(a, each(a, 1)), alloc(b, each(b, 1)))
    assert sum(sizes(storage_rewrite(function(body), CONFIG)).values()) == 210


def test_memory_of_different_scopes_is_never_shared() -> None:
    a, b = buffer("a", [256], "int8", INP_SCOPE), buffer("b", [256], "int8", SCRATCH)
    body = block(alloc(a, each(a, 1)), alloc(b, each(b, 1)))
    assert sizes(storage_rewrite(function(body), CONFIG)) == {"a": 256, "b": 256}


def test_memory_of_a_virtual_thread_stays_inside_it() -> None:
    a, b = scratch("a", "b")
    func = storage_rewrite(function(thread("v", 2, loop("i", 4, alloc(a, each(a, 1)), alloc(b, each(b, 1))))), CONFIG)
    assert isinstance(func.body, AttrStmt)
    assert isinstance(func.body.body, Allocate)
    assert isinstance(func.body.body.body, For)
    assert sizes(func) == {"a": 200}


def test_memory_of_nested_threads_belongs_to_the_inner_one() -> None:
    a, b = scratch("a", "b")
    body = thread("v", 2, block(alloc(a, each(a, 1)), thread("w", 2, alloc(b, each(b, 1)))))
    func = storage_rewrite(function(body), CONFIG)
    outer, inner = allocations(func)
    assert outer.buffer_var is a.data
    assert inner.buffer_var is b.data


def test_memory_of_a_parallel_loop_stays_inside_it() -> None:
    [a] = scratch("a")
    func = storage_rewrite(function(loop("i", 4, alloc(a, each(a, 1)), kind=ForKind.PARALLEL)), CONFIG)
    assert isinstance(func.body, For)


def test_the_parts_of_expanded_threads_are_not_given_to_other_memory() -> None:
    a, b = scratch("a", "b")
    func = function(block(alloc(a, each(a, 1)), alloc(b, each(b, 1))))
    assert sizes(storage_rewrite(func, CONFIG)) == {"a": 200}
    threaded = PrimFunc(func.name, func.params, func.body, func.buffer_map, {VIRTUAL_THREADS: True})
    assert sizes(storage_rewrite(threaded, CONFIG)) == {"a": 400}


def test_dram_and_host_memory_with_an_address_stay_where_they_are() -> None:
    dram, host = buffer("dram", [64]), buffer("host", [64], "int32", "local")
    work = on(2, each(dram, 1))
    body = block(alloc(dram, work), alloc(host, block(each(host, 1), call("use", host.data))))
    func = function(body)
    assert to_text(storage_rewrite(func, CONFIG).body) == to_text(func.body)


def test_memory_of_a_program_of_the_host_is_used_again_whatever_its_size() -> None:
    n = Var("n")
    a, b, c = (buffer(name, [n]) for name in "abc")
    out = buffer("out", [64])
    body = nested([a, b, c], each(a, 1), each(b, 2), each(out, a), each(c, b), each(out, c))
    func = storage_rewrite(function(body, out), CONFIG)
    assert [stmt.buffer_var.name for stmt in allocations(func)] == ["a", "b"]
    assert accesses(func) == {"a", "b", "out"}


def test_memory_whose_size_a_loop_says_stays_in_the_loop() -> None:
    i = Var("i")
    a = buffer("a", [i + 1])
    func = function(For(i, const(0), const(4), alloc(a, store(a, 1, 0))))
    assert to_text(storage_rewrite(func, CONFIG).body) == to_text(func.body)


def test_memory_that_nobody_touches_goes() -> None:
    [a] = scratch("a")
    out = buffer("out", [10])
    assert allocations(storage_rewrite(function(alloc(a, each(out, 1)), out), CONFIG)) == []


def test_a_branch_keeps_memory_for_itself() -> None:
    a, b, out = *scratch("a", "b", dtype="int32"), buffer("out", [200])
    n = Var("n")
    body = alloc(a, block(each(a, 1), when(n > 3, alloc(b, block(each(b, 2), each(out, b)))), each(out, a)))
    assert sizes(storage_rewrite(function(body, out), CONFIG)) == {"a": 400}


def accesses(func: PrimFunc) -> set[str]:
    return {n.buffer.data.name for n in walk(func.body) if isinstance(n, BufferStore | BufferLoad)}


def test_everything_in_one_place_is_a_view_of_it() -> None:
    for scope in (ACC_SCOPE, "local"):
        a, b = scratch("a", "b", size=64, dtype="int32", scope=scope)
        func = storage_rewrite(function(nested([a, b], each(a, 1), each(b, 2))), CONFIG)
        assert sizes(func) == {"a": 64}
        assert accesses(func) == {"a"}
    a, b = scratch("a", "b", size=64, dtype="int32", scope=ACC_SCOPE)
    func = storage_rewrite(function(nested([a, b], each(a, 1), call("f", b.access_ptr("rw", "int32")))), CONFIG)
    [pointer] = [n for n in walk(func.body) if isinstance(n, Call) and n.op is Builtin.ACCESS_PTR]
    assert pointer.args[1] is a.data


def test_a_buffer_that_has_a_place_for_itself_stays_the_same_object() -> None:
    a, b = scratch("a", "b", size=64, dtype="int32", scope=ACC_SCOPE)
    alone = storage_rewrite(function(nested([a], each(a, 1))), CONFIG)
    assert [n.buffer for n in walk(alone.body) if isinstance(n, BufferStore)] == [a]
    both = storage_rewrite(function(nested([a, b], each(a, 1), each(b, a), each(a, b))), CONFIG)
    shapes = {tuple(n.buffer.shape) for n in walk(both.body) if isinstance(n, BufferStore | BufferLoad)}
    assert shapes == {(IntImm(128),)}


@pytest.mark.parametrize(("large", "places"), [(160, 1), (161, 2)])
@pytest.mark.parametrize("first", ["small", "large"])
def test_memory_is_reused_up_to_sixteen_times_its_size(large: int, places: int, first: str) -> None:
    small, big = scratch("s", size=10, scope="local")[0], scratch("b", size=large, scope="local")[0]
    pair = (small, big) if first == "small" else (big, small)
    func = storage_rewrite(function(block(*(alloc(m, each(m, 1)) for m in pair))), CONFIG)
    assert len(allocations(func)) == places


def test_two_results_of_one_statement_may_lie_over_its_operands_three_may_not() -> None:
    for count, size in ((2, 2 * 64), (3, 6 * 64)):
        sources = scratch(*"abc"[:count], size=64, dtype="int32", scope=ACC_SCOPE)
        results = scratch(*"xyz"[:count], size=64, dtype="int32", scope=ACC_SCOPE)
        j, out = Var("j"), buffer("out", [64])
        steps = [store(r, s.load(j) + 1, j) for r, s in zip(results, sources, strict=True)]
        body = nested([*sources, *results], *(each(s, 1) for s in sources), loop(j, 64, *steps), each(out, *results))
        assert sum(sizes(storage_rewrite(function(body, out), CONFIG)).values()) == size


def test_access_pointers_move_with_their_memory() -> None:
    a, b = scratch("a", "b", size=64, dtype="int32", scope=ACC_SCOPE)
    n = Var("n")
    uses = [call("f", memory.access_ptr("rw", "int32", offset=n * 16), memory.load(0)) for memory in (a, b, a)]
    func = storage_rewrite(function(nested([a, b], *uses)), CONFIG)
    text = to_text(func.body).replace("n: int32", "n")
    assert [text.count(f"a, {offset}") for offset in ("(n*16)", "((n*16) + 64)")] == [2, 1]
    assert accesses(func) == {"a"}


# --- limits ----------------------------------------------------------------------------------------------------------


def test_br_070_too_much_memory_is_refused_with_names_need_and_limit() -> None:
    a, b = scratch("conv", "bias", size=16 * 1500, dtype="int32", scope=ACC_SCOPE)
    with pytest.raises(CapacityError) as error:
        storage_rewrite(function(nested([a, b], each(a, 1), each(b, 1), each(a, b))), CONFIG)
    assert str(error.value) == (
        "the function: memory 'local.acc_buffer' is too small for 'conv' (1500 elements), 'bias' (1500 elements): "
        "expected at most 2048 elements (131072 bytes), got 3000 elements (192000 bytes); an element is 1x16 int32; "
        "use smaller tiles or fewer virtual threads"
    )


def test_a_single_buffer_that_is_too_large_is_refused() -> None:
    [a] = scratch("x_buf", size=16 * 2049, dtype="int8", scope=INP_SCOPE)
    with pytest.raises(CapacityError) as error:
        storage_rewrite(function(alloc(a, each(a, 1))), CONFIG)
    assert "'x_buf' (2049 elements): expected at most 2048 elements (32768 bytes), got 2049 elements" in str(
        error.value
    )


def test_a_size_of_more_than_32_bits_is_not_mistaken_for_a_small_one() -> None:
    [a] = scratch("wide", size=1 << 30, dtype="int32", scope=ACC_SCOPE)
    with pytest.raises(CapacityError, match=r"got 67108864 elements \(4294967296 bytes\)"):
        storage_rewrite(function(alloc(a, each(a, 1))), CONFIG)


def test_scratchpad_memory_of_unknown_size_is_refused() -> None:
    a = buffer("a", [Var("n")], "int32", ACC_SCOPE)
    with pytest.raises(StorageError) as error:
        storage_rewrite(function(alloc(a, each(a, 1))), CONFIG)
    assert str(error.value) == (
        "the function: buffer 'a' in 'local.acc_buffer': expected a constant size, got one that is computed when the "
        "program runs; split the loops so that the tile on the accelerator has a fixed shape"
    )


def test_the_address_of_scratchpad_memory_is_refused() -> None:
    [a] = scratch("a", scope=ACC_SCOPE)
    with pytest.raises(StorageError) as error:
        storage_rewrite(function(alloc(a, call("use", a.data))), CONFIG)
    assert str(error.value) == (
        "the function: buffer 'a' in 'local.acc_buffer': expected accesses by element or by access_ptr, got a call "
        "that takes its address; the host cannot address this memory; pass buffer.access_ptr(..., 'int32')"
    )


def test_a_place_that_does_not_suit_the_type_is_refused() -> None:
    [a], [b] = scratch("a", size=1, dtype="int32"), scratch("b", size=1, dtype="int64")
    with pytest.raises(StorageError) as error:
        storage_rewrite(function(nested([a, b], store(a, 1, 0), store(b, 1, 0), store(a, a.load(0) + 1, 0))), CONFIG)
    assert str(error.value) == (
        "the function: buffer 'b': expected elements that fit the alignment of its memory, got elements of 64 bits at "
        "bit 32"
    )


def test_memory_with_dimensions_cannot_be_moved() -> None:
    [a], b = scratch("a"), buffer("b", [4, 5], "int16", SCRATCH)
    with pytest.raises(StorageError) as error:
        storage_rewrite(function(nested([a, b], each(a, 1), store(b, 1, 0, 0), each(a, a))), CONFIG)
    assert str(error.value) == (
        "the function: buffer 'b' in 'local.scratch': expected one dimension, got 2 dimensions; run "
        "StorageFlatten first"
    )


# --- random programs -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """``target[i] = sources[i] + ...``, in a loop that is repeated ``times``."""

    target: int
    sources: tuple[int, ...]
    times: int


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[int], list[Step]]:
    """Sizes of some buffers, and steps that read only what was written."""
    count = draw(st.integers(2, 7))
    lengths = draw(st.lists(st.sampled_from([16, 16, 32, 64, 80]), min_size=count, max_size=count))
    steps = [Step(draw(st.integers(0, count - 1)), (), 1)]
    for _ in range(draw(st.integers(2, 12))):
        written = sorted({step.target for step in steps})
        sources = draw(st.lists(st.sampled_from(written), max_size=2, unique=True))
        steps.append(Step(draw(st.integers(0, count - 1)), tuple(sources), draw(st.sampled_from([1, 1, 3]))))
    return lengths, steps


def program(lengths: list[int], steps: list[Step]) -> PrimFunc:
    memories = [buffer(f"m{k}", [n], "int32", ACC_SCOPE) for k, n in enumerate(lengths)]
    out = buffer("out", [16])
    body: list[Stmt] = []
    for number, step in enumerate(steps):
        i = Var("i")
        value: Expr = IntImm(number) + i
        for source in step.sources:
            value = value * 3 + memories[source].load(i)
        body.append(loop("t", step.times, loop(i, 16, store(memories[step.target], value, i))))
    last = memories[steps[-1].target]
    body.append(each(out, last, count=16))
    return function(nested(memories, *body), out)


@settings(max_examples=120, deadline=None)
@given(programs(), st.booleans(), st.booleans())
def test_sharing_changes_no_result_and_live_buffers_never_overlap(
    made: tuple[list[int], list[Step]], in_place: bool, reuse: bool
) -> None:
    lengths, steps = made
    func = program(lengths, steps)
    body, _ = rewrite_storage(func.body, CONFIG, Sharing(in_place=in_place, reuse=reuse))
    planned = PrimFunc(func.name, func.params, body, func.buffer_map)
    before, after = np.zeros(16, np.int32), np.zeros(16, np.int32)
    run_func(func, [before])
    run_func(planned, [after])
    np.testing.assert_array_equal(after, before)
    _check_overlap(lengths, steps, planned, in_place=in_place)


def _check_overlap(lengths: list[int], steps: list[Step], planned: PrimFunc, *, in_place: bool) -> None:
    """Compare places with life times found by brute force: from a buffer's first step to its last."""
    stores = [n for n in walk(planned.body) if isinstance(n, BufferStore)]
    place: dict[int, int] = {}
    for step, stmt in zip(steps, stores, strict=False):
        place.setdefault(step.target, _offset(stmt))
        assert place[step.target] == _offset(stmt)
    uses: dict[int, list[int]] = {}
    for number, step in enumerate(steps):
        for k in (step.target, *step.sources):
            uses.setdefault(k, []).append(number)
    uses[steps[-1].target].append(len(steps))
    for a in place:
        for b in place:
            if a < b and place[a] < place[b] + lengths[b] and place[b] < place[a] + lengths[a]:
                first, second = sorted((a, b), key=lambda k: uses[k][0])
                dies, starts = uses[first][-1], uses[second][0]
                assert dies < starts or (in_place and dies == starts and place[a] == place[b])


def _offset(stmt: BufferStore) -> int:
    [index] = stmt.indices
    constants = [n.value for n in walk(index) if isinstance(n, IntImm)]
    return sum(constants)


def test_loads_move_with_their_memory() -> None:
    a, b, out = *scratch("a", "b", size=16, dtype="int32", scope=ACC_SCOPE), buffer("out", [16])
    func = storage_rewrite(function(nested([a, b], each(a, 1), each(b, 2), each(out, a, b)), out), CONFIG)
    loads = [n for n in walk(func.body) if isinstance(n, BufferLoad)]
    assert {load.buffer.data for load in loads} == {a.data}
