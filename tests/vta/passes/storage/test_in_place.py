"""When a result may take the place of an operand."""

from collections.abc import Callable

import pytest

from tests.support.compiler.tir_build import block, buffer, call, loop, store, when
from vta.passes.storage.in_place import can_run_in_place, is_injective
from vta.tir.buffer import Buffer
from vta.tir.expr import Expr, Var
from vta.tir.stmt import For, Stmt

SRC, DST, OTHER = (buffer(name, [64]) for name in ("src", "dst", "other"))
J, K = Var("i"), Var("k")


def can(stmt: Stmt) -> bool:
    return can_run_in_place(stmt, DST.data, SRC.data)


def over(index: Expr, value: Expr) -> Stmt:
    return loop(J, 8, loop(K, 8, store(DST, value, index)))


def test_elementwise_statements_may() -> None:
    assert can(over(J * 8 + K, SRC.load(J * 8 + K) * 2 + OTHER.load(0)))
    assert can(store(DST, SRC.load(3), 3))
    assert can(over(J * 8 + K, SRC.load(J * 8 + K) * SRC.load(J * 8 + K)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: over(J * 8 + K, SRC.load(J * 8 + K + 1)),
        lambda: over(J * 8 + K, SRC.load(J * 8 + K) + DST.load(J * 8 + K)),
        lambda: over(J * 8 + K, SRC.load(OTHER.load(J * 8 + K))),
        lambda: over(OTHER.load(K), SRC.load(OTHER.load(K))),
        lambda: over(J, SRC.load(J)),
        lambda: over(J * 4 + K, SRC.load(J * 4 + K)),
        lambda: over(K * Var("n"), SRC.load(K * Var("n"))),
        lambda: block(over(J * 8 + K, SRC.load(J * 8 + K)), store(OTHER, SRC.load(0), 0)),
        lambda: block(over(J * 8 + K, SRC.load(J * 8 + K)), store(DST, SRC.load(0), 0)),
        lambda: block(over(J * 8 + K, SRC.load(J * 8 + K)), store(SRC, 1, 0)),
        lambda: when(SRC.load(0) > 0, over(J * 8 + K, SRC.load(J * 8 + K))),
        lambda: block(over(J * 8 + K, SRC.load(J * 8 + K)), call("use", SRC.access_ptr("r", "int32"))),
        lambda: block(over(J * 8 + K, SRC.load(J * 8 + K)), call("use", DST.data)),
        lambda: store(OTHER, SRC.load(0), 0),
    ],
)
def test_other_statements_may_not(make: Callable[[], Stmt]) -> None:
    assert not can(make())


def test_a_load_of_another_type_may_not() -> None:
    narrow = Buffer("n", SRC.data, buffer("x", [1], "int8").dtype, SRC.shape)
    assert not can(loop(J, 8, store(DST, narrow.load(J).astype("int32"), J)))


def loops(*extents: int) -> tuple[list[Var], tuple[For, ...]]:
    variables = [Var(f"v{n}") for n in range(len(extents))]
    nest = [loop(v, e, store(DST, 0, 0)) for v, e in zip(variables, extents, strict=True)]
    return variables, tuple(nest)


def test_an_index_is_injective_if_its_steps_exceed_what_the_smaller_ones_reach() -> None:
    (a, b), nest = loops(3, 4)
    assert is_injective((a * 4 + b,), nest)
    assert is_injective((b * 3 + a,), nest)
    assert is_injective((a * -10 + b,), nest)
    assert not is_injective((a * 3 + b,), nest)
    assert not is_injective((a,), nest)
    assert not is_injective((a, b), nest)


def test_a_loop_of_one_iteration_needs_no_step() -> None:
    (a, _), nest = loops(5, 1)
    assert is_injective((a,), nest)


def test_a_loop_of_unknown_extent_is_not_injective() -> None:
    a = Var("a")
    assert not is_injective((a,), (loop(a, Var("n"), store(DST, 0, a)),))
