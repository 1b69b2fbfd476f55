"""Loops, lanes and conditions of a stage: what the kernel gets, what the host keeps, what is refused."""

from tests.support.compiler.tir_build import block, loop, store, when
from tests.support.hw.alu_stage import ADD, accumulator, check, elementwise, refusal, stage
from tests.support.isa.alu_model import Kernel, kernels_of
from vta.tir import ops
from vta.tir.buffer import Buffer
from vta.tir.expr import Var
from vta.tir.printer import to_text
from vta.tir.stmt import IfThenElse, LetStmt, Stmt
from vta.tir.traverse import walk


def test_three_loops_that_do_not_fold_are_three_loops_of_the_kernel() -> None:
    acc = accumulator(64)
    h, i, j, k = Var("h"), Var("i"), Var("j"), Var("k")
    at, src = h * 160 + i * 48 + j * 16 + k, h * 128 + i * 64 + j * 32 + k + 480
    body = loop(h, 3, loop(i, 3, loop(j, 2, loop(k, 16, store(acc, acc.load(at) + acc.load(src), at)))))
    lowered = check(acc, stage(body))
    assert kernels_of(lowered.body) == [
        Kernel(((3, 10, 8, 0), (3, 3, 4, 0), (2, 1, 2, 0)), ((1, 0, 0, 30, 0, ADD, 0, 0),))
    ]


def test_lane_loops_may_be_split_fused_or_outside() -> None:
    acc = accumulator(8)
    i, a, b, f = Var("i"), Var("a"), Var("b"), Var("f")
    split = i * 16 + a * 4 + b
    check(acc, stage(loop(i, 8, loop(a, 4, loop(b, 4, store(acc, acc.load(split) + 1, split))))))
    fused = check(acc, stage(loop(f, 128, store(acc, acc.load(f) + 1, f))))
    assert kernels_of(fused.body) == [Kernel(((8, 1, 1, 0),), ((1, 0, 0, 0, 0, ADD, 1, 1),))]
    outside = i * 16 + a
    check(acc, stage(loop(a, 16, loop(i, 8, store(acc, acc.load(outside) + 1, outside)))))


def test_a_loop_that_starts_elsewhere_counts_from_there() -> None:
    acc = accumulator(8)
    i, k = Var("i"), Var("k")
    check(acc, stage(loop(i, 4, loop(k, 16, store(acc, acc.load(i * 16 + k) + i, i * 16 + k)), low=2)))


def test_a_scalar_that_varies_keeps_its_loop_on_the_host() -> None:
    acc = accumulator(8)
    check(acc, stage(elementwise(lambda x: x + 1, 8, 0, 0)(acc)))
    i, k = Var("i"), Var("k")
    lowered = check(acc, stage(loop(i, 8, loop(k, 16, store(acc, acc.load(i * 16 + k) * (i * 9000), i * 16 + k)))))
    assert len(kernels_of(lowered.body)) > 8


def test_an_index_that_is_not_linear_keeps_its_loop_on_the_host() -> None:
    acc = accumulator(32)
    i, k = Var("i"), Var("k")
    index = ops.floordiv(i, 2) * 16 + k + 256
    check(acc, stage(loop(i, 8, loop(k, 16, store(acc, acc.load(i * 16 + k) + acc.load(index), i * 16 + k)))))


def test_lets_around_and_inside_of_a_stage_are_known() -> None:
    acc = accumulator(32)
    n, x, y, i, k = Var("n"), Var("x"), Var("y"), Var("i"), Var("k")
    at = x + i * 16 + k
    update = LetStmt(y, i + 5, store(acc, ops.min(acc.load(at), y), at))
    check(acc, loop(n, 3, LetStmt(x, n * 64, stage(loop(i, 4, loop(k, 16, update))))))


def test_a_condition_on_one_loop_shortens_it() -> None:
    acc = accumulator(32)
    i, k = Var("i"), Var("k")
    update = loop(k, 16, store(acc, acc.load(i * 16 + k) + 1, i * 16 + k))
    lowered = check(acc, stage(loop(i, 8, when(ops.likely(i < 5), update))))
    assert kernels_of(lowered.body) == [Kernel(((5, 1, 1, 0),), ((1, 0, 0, 0, 0, ADD, 1, 1),))]
    i = Var("i")
    update = loop(k, 16, store(acc, acc.load(i * 16 + k) + 1, i * 16 + k))
    lowered = check(acc, stage(loop(i, 8, when(ops.likely(i >= 3), update))))
    assert kernels_of(lowered.body) == [Kernel(((5, 1, 1, 0),), ((1, 0, 3, 3, 0, ADD, 1, 1),))]


def test_a_condition_on_two_loops_leaves_one_to_the_host() -> None:
    acc = accumulator(32)
    i, j, k = Var("i"), Var("j"), Var("k")
    at = i * 64 + j * 16 + k
    update = loop(k, 16, store(acc, acc.load(at) * 3 + 1, at))
    body = loop(i, 3, loop(j, 4, when(ops.likely(i * 4 + j < 10), update)))
    lowered = check(acc, stage(body))
    assert [kernel.loops for kernel in kernels_of(lowered.body)] == [((n, 1, 1, 0),) for n in (4, 4, 4, 4, 2, 2)]


def test_a_condition_that_is_not_a_bound_is_tested_by_the_host() -> None:
    acc = accumulator(32)
    i, j, k = Var("i"), Var("j"), Var("k")
    at = i * 64 + j * 16 + k
    update = loop(k, 16, store(acc, acc.load(at) * 3, at))
    check(acc, stage(loop(i, 3, loop(j, 4, when(ops.floormod(i + j, 3) != 1, update)))))
    check(acc, stage(loop(i, 3, loop(j, 4, when(ops.floormod(i + j, 3) != 1, update, loop(k, 16, store(acc, 7, at)))))))


def test_lanes_that_are_not_whole_are_refused() -> None:
    def half(acc: Buffer) -> Stmt:
        i, k = Var("i"), Var("k")
        return loop(i, 4, loop(k, 8, store(acc, acc.load(i * 16 + k) + 1, i * 16 + k)))

    assert refusal(half) == (
        "the function: ALU stage into 'acc': expected inner loops over all 1x16 numbers of an element "
        "(BATCH x BLOCK_OUT), got loops i (4 times, step 16), k (8 times, step 1); the innermost axes of the stage are "
        "1 and 16 long, whole, without conditions"
    )


def test_a_condition_on_lanes_is_refused() -> None:
    def guarded(acc: Buffer) -> Stmt:
        k = Var("k")
        return loop(k, 16, when(ops.likely(k < 10), store(acc, acc.load(k) + 1, k)))

    assert "got loops k (16 times, under a condition, step 1)" in refusal(guarded)


def test_a_sum_over_the_numbers_of_an_element_is_refused_with_what_can_do_it() -> None:
    i, k, r = Var("i"), Var("k"), Var("r")

    def summed(acc: Buffer) -> Stmt:
        at = i * 16 + k
        update = loop(r, 16, store(acc, acc.load(at) + acc.load(i * 16 + r + 512), at))
        return loop(i, 4, loop(k, 16, block(store(acc, 0, at), update)))

    assert refusal(summed) == (
        "the function: ALU stage into 'acc': expected operands with a number for every lane of the result, got 'acc', "
        "which does not follow the loop over lanes k; an operand that is the same for all lanes must be a scalar, or "
        "be repeated in each lane; sums over the numbers of one element are env.gemm's"
    )


def test_a_step_between_elements_is_refused() -> None:
    def half_steps(acc: Buffer) -> Stmt:
        i, k = Var("i"), Var("k")
        return loop(i, 4, loop(k, 16, store(acc, acc.load(i * 24 + k) + 1, i * 16 + k + 256)))

    assert "expected accesses to 'acc' at multiples of 16 numbers (1x16), got 24 for loop i" in refusal(half_steps)


def test_a_scalar_that_differs_between_lanes_is_refused() -> None:
    def per_lane(acc: Buffer) -> Stmt:
        k = Var("k")
        return loop(k, 16, store(acc, acc.load(k) + k, k))

    assert "got loops k (index, scalar or condition not regular)" in refusal(per_lane)


def test_an_operand_that_is_the_same_for_all_lanes_is_refused() -> None:
    def broadcast(acc: Buffer) -> Stmt:
        i, k = Var("i"), Var("k")
        return loop(i, 4, loop(k, 16, store(acc, acc.load(i * 16 + k) + acc.load(i * 16 + 128), i * 16 + k)))

    assert refusal(broadcast) == (
        "the function: ALU stage into 'acc': expected operands with a number for every lane of the result, got 'acc', "
        "which does not follow the loop over lanes k; an operand that is the same for all lanes must be a scalar, or "
        "be repeated in each lane; sums over the numbers of one element are env.gemm's"
    )


def test_a_loop_without_a_bound_is_refused() -> None:
    def endless(acc: Buffer) -> Stmt:
        i, k = Var("i"), Var("k")
        return loop(i, Var("n"), loop(k, 16, store(acc, acc.load(i * 16 + k) + 1, i * 16 + k)))

    assert refusal(endless) == (
        "the function: ALU stage into 'acc': expected loops whose largest extent is known, got loop i with an extent "
        "that has no bound; split the loop so that its inner part has a constant extent"
    )


def test_an_access_between_elements_is_refused() -> None:
    assert refusal(lambda acc: loop(k := Var("k"), 16, store(acc, acc.load(k + 24) + 1, k))) == (
        "the function: ALU stage into 'acc': expected accesses to 'acc' at multiples of 16 numbers (1x16), got 24 for "
        "the first access; the last axes of every operand are BATCH and BLOCK_OUT"
    )


def guards(stmt: Stmt) -> list[str]:
    return [to_text(node.condition) for node in walk(stmt) if isinstance(node, IfThenElse)]


def test_a_loop_that_may_not_run_is_guarded_and_one_that_does_is_not() -> None:
    for low, count in ((0, 1), (1, 0), (-1, 1)):
        acc = accumulator(32)
        n, i, k = Var("n"), Var("i"), Var("k")
        at = i * 16 + k
        inner = stage(loop(i, n, loop(k, 16, store(acc, acc.load(at) + 1, at))))
        lowered = check(acc, loop(n, 3, inner, low=low))
        assert len(guards(lowered.body)) == count


def test_a_clipped_loop_is_guarded_where_nothing_may_be_left() -> None:
    for limit, count in ((1, 1), (3, 0)):
        acc = accumulator(64)
        n, i, k = Var("n"), Var("i"), Var("k")
        at = i * 16 + k
        update = loop(k, 16, store(acc, acc.load(at) + 1, at))
        body = loop(n, 3, stage(loop(i, 8, when(ops.likely(i + n < limit), update))))
        assert len(guards(check(acc, body).body)) == count
