"""Programs of thousands of stages and terms, from te to numbers."""

import numpy as np
import pytest

import vta
from tests.support.compiler.te_run import compiled_outputs
from vta import te
from vta.tir.expr import Expr


def host_chain(stages: int) -> None:
    data = te.placeholder((8,), "int32", "data")
    last = data
    for number in range(stages):
        last = te.compute(data.shape, lambda i, before=last: before(i) * 3 + 1, f"s{number}")
    values = np.arange(8, dtype=np.int32)
    expected = values.copy()
    for _ in range(stages):
        expected = expected * np.int32(3) + np.int32(1)
    [found] = compiled_outputs(te.create_schedule(last.op), [data, last], values)
    np.testing.assert_array_equal(found, expected)


def alu_chain(stages: int) -> None:
    env = vta.get_env()
    data = te.placeholder((8, 1, 16), "int32", "data")
    chain = [te.compute(data.shape, lambda *i: data(*i), "load")]
    for number in range(stages):
        operation = [lambda x: x + 1, lambda x: x * 3, lambda x: te.max(x, -50)][number % 3]
        chain.append(te.compute(data.shape, lambda *i, before=chain[-1], op=operation: op(before(*i)), f"s{number}"))
    result = te.compute(data.shape, lambda *i: chain[-1](*i).astype("int8"), "result")
    s = te.create_schedule(result.op)
    for stage in chain:
        s[stage].set_scope(env.acc_scope)
        s[stage].pragma(s[stage].op.axis[0], env.dma_copy if stage is chain[0] else env.alu)
    s[result].pragma(s[result].op.axis[0], env.dma_copy)
    module = vta.build(s, [data, result], target=env.target)
    values = np.random.default_rng(5).integers(-100, 100, (8, 1, 16), np.int32)
    expected = values.copy()
    for number in range(stages):
        expected = [expected + 1, expected * 3, np.maximum(expected, -50)][number % 3].astype(np.int32)
    found = vta.nd.empty((8, 1, 16), "int8", vta.nd.ext_dev())
    module(vta.nd.array(values, vta.nd.ext_dev()), found)
    np.testing.assert_array_equal(found.numpy(), expected.astype(np.int8))


def terms(number: int) -> None:
    data = te.placeholder((number + 8,), "int32", "data")

    def total(i: Expr) -> Expr:
        value: Expr = data[i].asexpr()
        for offset in range(1, number):
            value = value + data[i + offset]
        return value

    result = te.compute((8,), total, "result")
    values = np.random.default_rng(7).integers(-(2**31), 2**31, number + 8, np.int64).astype(np.int32)
    expected = [values[i : i + number].sum(dtype=np.int32) for i in range(8)]
    [found] = compiled_outputs(te.create_schedule(result.op), [data, result], values)
    np.testing.assert_array_equal(found, expected)


def inlined_chain(stages: int) -> None:
    """Each stage reads the one before three times, and all are inlined: 3 ** stages reads."""
    data = te.placeholder((8,), "int32", "data")
    chain = [data]
    for number in range(stages):
        chain.append(te.compute((8,), lambda i, x=chain[-1]: x(i) * x(i) + x(i), f"s{number}"))
    s = te.create_schedule(chain[-1].op)
    for stage in chain[1:-1]:
        s[stage].compute_inline()
    values = np.arange(-4, 4, dtype=np.int32)
    expected = values.copy()
    for _ in range(stages):
        expected = expected * expected + expected
    [found] = compiled_outputs(s, [data, chain[-1]], values)
    np.testing.assert_array_equal(found, expected)


def test_a_chain_of_stages_of_the_host() -> None:
    host_chain(300)


def test_a_chain_of_stages_of_the_alu() -> None:
    alu_chain(200)


def test_an_expression_of_many_terms() -> None:
    terms(2000)


def test_inlined_stages_that_read_each_other_several_times() -> None:
    inlined_chain(40)


@pytest.mark.long
def test_two_thousand_stages_of_the_host() -> None:
    host_chain(2000)


@pytest.mark.long
def test_two_thousand_stages_of_the_alu() -> None:
    alu_chain(2000)


@pytest.mark.long
def test_ten_thousand_terms() -> None:
    terms(10_000)
