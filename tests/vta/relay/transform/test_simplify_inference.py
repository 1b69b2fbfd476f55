import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.executor.operators.names import Op
from runtime.executor.operators.normalise import BatchNormAttrs
from runtime.executor.operators.types import TensorType
from tests.support.relay.random_floats import random_graph
from tests.support.relay.same_meaning import assert_near, assert_same_meaning
from vta.relay.interpreter import run
from vta.relay.ir.nodes import Function, Var
from vta.relay.ir.origin import Origin
from vta.relay.ir.traverse import calls
from vta.relay.ops.call import call
from vta.relay.transform.simplify_inference import simplify_inference

C = TensorType((3,), "float32")


@pytest.mark.parametrize(("axis", "shape"), [(1, (2, 3, 4, 5)), (-1, (2, 4, 5, 3)), (1, (2, 3))])
def test_batch_norm_becomes_a_product_and_a_sum(axis: int, shape: tuple[int, ...]) -> None:
    params = [Var("x", TensorType(shape, "float32")), *(Var(name, C) for name in ("gamma", "beta", "mean", "var"))]
    norm = call(Op.BATCH_NORM, params, BatchNormAttrs(axis, 0.01), (Origin("bn", "BatchNormalization"),))
    before = Function(tuple(params), norm)
    after = simplify_inference(before)
    ops = [each.callee for each in calls(after)]
    assert ops[-2:] == [Op.EXPAND_DIMS, Op.ADD]
    assert Op.BATCH_NORM not in ops
    assert calls(after)[-1].origins == norm.origins
    rng = np.random.default_rng(1)
    inputs = [rng.uniform(0.1, 1, param.type.shape).astype(np.float32) for param in params]  # type: ignore[union-attr]
    assert_near(run(after, inputs), run(before, inputs))


def test_dropout_vanishes() -> None:
    x = Var("x", C)
    assert simplify_inference(Function((x,), call(Op.DROPOUT, [x]))).body is x


@given(seed=st.integers(0, 2**32))
@settings(max_examples=30)
def test_random_graphs_mean_the_same(seed: int) -> None:
    graph = random_graph(seed, with_lets=seed % 2 == 0)
    after = simplify_inference(graph.function)
    assert_same_meaning(graph, after, exact=False)
    assert not {Op.BATCH_NORM, Op.DROPOUT} & {each.callee for each in calls(after)}
