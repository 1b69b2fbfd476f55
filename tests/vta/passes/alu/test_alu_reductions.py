"""Reductions on the tensor ALU whose steps differ: weights, flipped windows, remainders, conditions, start values."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from tests.support.compiler.random_alu_reductions import alu_reduction
from tests.support.compiler.tir_build import AXIS, alloc, buffer, function, loop, on, pragma, store
from vta import te
from vta.passes.alu.expression import AluError
from vta.passes.alu.inject_alu_intrin import inject_alu_intrin
from vta.passes.coproc_axis import uop_scope
from vta.passes.storage.storage_rewrite import storage_rewrite
from vta.tir import ops
from vta.tir.expr import Expr, Operators, Var
from vta.tir.scopes import ACC_SCOPE, ALU_SYMBOL
from vta.tir.stmt import Allocate
from vta.tir.traverse import walk


def run(schedule: te.Schedule, args: tuple[te.Tensor, ...], data: np.ndarray) -> np.ndarray:
    device = vta.nd.ext_dev(0)
    module = vta.build(schedule, list(args), target=vta.get_env().target)
    out = vta.nd.empty([int(n) for n in args[-1].shape], "int8", device)
    given = vta.nd.array(data, device)
    for _ in range(2):  # the accumulator is not empty the second time
        module(given, out)
    return out.numpy()


def check(seed: int) -> bool:
    """Compare one random reduction with numpy; False for one that is refused, with the sentence that says why."""
    program = alu_reduction(Random(seed))
    data = np.random.default_rng(seed).integers(-50, 50, [int(n) for n in program.args[0].shape]).astype(np.int32)
    try:
        found = run(program.schedule, program.args, data)
    except AluError as error:
        if "which one may touch, in an iteration of the loops around them" not in str(error):
            raise
        return False
    np.testing.assert_array_equal(found, program.expected(data), f"seed {seed}: {program.text}")
    return True


@pytest.mark.parametrize("first", range(0, 64, 8))
def test_random_reductions_are_numpys(first: int) -> None:
    assert sum(map(check, range(first, first + 8))) >= 7


@pytest.mark.long
def test_many_random_reductions_are_numpys() -> None:
    assert sum(map(check, range(1000, 3000))) >= 1950


Step = Callable[[te.Tensor, Expr, Expr, Expr, Expr, Expr], Operators]
STEPS: dict[str, tuple[Step, Callable[[np.ndarray, int, int], np.ndarray]]] = {
    "weighted": (lambda x, i, j, b, c, r: x[i, j + r, b, c] * (r + 1), lambda x, j, r: x[:, j + r] * (r + 1)),
    "flipped": (lambda x, i, j, b, c, r: x[i, j + 2 - r, b, c], lambda x, j, r: x[:, j + 2 - r]),
    "around": (lambda x, i, j, b, c, r: x[i, (j + 2 * r) % 6, b, c], lambda x, j, r: x[:, (j + 2 * r) % 6]),
    "shifted": (lambda x, i, j, b, c, r: x[i, j, b, c] >> r, lambda x, j, r: x[:, j] >> r),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_may_differ_from_the_one_before(name: str) -> None:
    env, (element, numpys) = vta.get_env(), STEPS[name]
    data = te.placeholder((4, 6, 1, 16), "int32", "data")
    x = te.compute(data.shape, lambda *i: data(*i), "x")
    r = te.reduce_axis((0, 3), "r")
    y = te.compute((4, 4, 1, 16), lambda i, j, b, c: te.sum(element(x, i, j, b, c, r.var), axis=[r]), "y")
    z = te.compute(y.shape, lambda *i: y(*i).astype("int8"), "z")
    s = te.create_schedule(z.op)
    for tensor in (x, y):
        s[tensor].set_scope(env.acc_scope)
    for tensor, mark in ((x, env.dma_copy), (y, env.alu), (z, env.dma_copy)):
        s[tensor].pragma(s[tensor].op.axis[0], mark)
    values = np.random.default_rng(4).integers(-50, 50, (4, 6, 1, 16)).astype(np.int32)
    expected = np.stack([sum(numpys(values, j, step) for step in range(3)) for j in range(4)], axis=1)
    np.testing.assert_array_equal(run(s, (data, z), values), expected.astype(np.int8))


def test_a_condition_that_shortened_a_loop_stays_when_the_host_runs_that_loop() -> None:
    """The remainder makes the host run j, after the condition had become the end of j's loop."""
    env = vta.get_env()
    data = te.placeholder((8, 1, 16), "int32", "data")
    x = te.compute(data.shape, lambda *i: data(*i), "x")
    r = te.reduce_axis((0, 2), "r")
    y = te.compute(
        (5, 1, 16), lambda j, b, c: te.sum(x[(2 * j - r + 8) % 8, b, c], axis=r, where=r.var - j + 3 >= 0), "y"
    )
    z = te.compute(y.shape, lambda *i: y(*i).astype("int8"), "z")
    s = te.create_schedule(z.op)
    for tensor in (x, y):
        s[tensor].set_scope(env.acc_scope)
    s[y].reorder(r, *y.op.axis)
    for stage, axis, mark in ((x, x.op.axis[0], env.dma_copy), (z, z.op.axis[0], env.dma_copy)):
        s[stage].pragma(axis, mark)
    s[y].pragma(s[y].fuse(), env.alu)
    values = np.arange(8 * 16, dtype=np.int32).reshape(8, 1, 16) % 23
    expected = np.zeros((5, 1, 16), np.int32)
    for j in range(5):
        for step in range(2):
            expected[j] += values[(2 * j - step + 8) % 8] if step - j + 3 >= 0 else 0
    np.testing.assert_array_equal(run(s, (data, z), values), expected.astype(np.int8))


def overlapping() -> tuple[te.Schedule, list[te.Tensor]]:
    """A stage whose start value, at an element, another one's update may still have to read."""
    env = vta.get_env()
    program = alu_reduction(Random(27))
    assert env.BATCH == 1
    return program.schedule, list(program.args)


def test_stores_whose_order_is_not_known_are_named_with_what_to_do() -> None:
    with pytest.raises(AluError) as error:
        vta.lower(*overlapping())
    assert str(error.value).split("): ", 1)[1] == (
        "ALU stage into 'reduced': expected several stores (a reduction's start and its updates, or several outputs) "
        "that can be done one after the other, each for all elements, got stores of which one may touch, in an "
        "iteration of the loops around them, what another one stores in another iteration; make the loops of the "
        "reduction the outermost ones, or give every output a stage of its own"
    )


def test_what_may_overlap_the_result_is_named_as_the_schedule_names_it() -> None:
    """Memory is planned by then, and all buffers lie in one block that has the first one's name."""
    first, second = (buffer(name, [128], "int32", ACC_SCOPE) for name in ("first", "second"))
    i, k, n, a = Var("i"), Var("k"), Var("n"), Var("a")
    load = on(2, store(first, 1, 0))
    update = store(second, second.load(i * 16 + k) + second.load(ops.floormod(n, 4) * 16 + k) * 2, i * 16 + k)
    stage = on(2, uop_scope(AXIS, ALU_SYMBOL, pragma("alu", loop(i, 4, loop(k, 16, update)))))
    use = on(2, store(second, first.load(a) + 1, 64))
    body = alloc(first, alloc(second, load, stage, use))
    planned = storage_rewrite(function(body), VTAConfig())
    assert [block.buffer_var.name for block in walk(planned.body) if isinstance(block, Allocate)] == ["first"]
    with pytest.raises(AluError) as error:
        inject_alu_intrin(planned, VTAConfig())
    assert str(error.value) == (
        "the function: ALU stage into 'second': expected operands that are the result's own elements, or other memory, "
        "got 'second', which may overlap the result; write to another buffer, in a stage of its own"
    )
