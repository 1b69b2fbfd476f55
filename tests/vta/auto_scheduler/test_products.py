"""Sums of products that GEMM computes, and what is said about those that it does not."""

from collections.abc import Callable
from dataclasses import replace

import pytest

import vta
from isa.config import VTAConfig
from tests.support.tuning import definitions as d
from vta import te
from vta.auto_scheduler.products import DefinitionError, has_products, product_of
from vta.tir import ops
from vta.tir.expr import Expr
from vta.topi.core.fused import producers_first


def products(tensors: list[te.Tensor]) -> list[te.Tensor]:
    return [tensor for tensor in producers_first(tensors[-1]) if has_products(tensor)]


def test_operands_are_told_apart_by_their_lanes_in_whatever_order_they_are_multiplied() -> None:
    env = vta.get_env()
    data, weights, *rest = d.dense(2, 3, 4)
    [sums] = products([data, weights, *rest])
    found = product_of(sums, env)
    assert (found.data, found.weights, found.taps) == (data, weights, 0)
    assert [axis.name for axis in found.sums] == ["k"]


def test_several_products_are_one_each_and_window_sums_are_none() -> None:
    assert len(products(d.gated(1, 4, 4, 1))) == 2
    assert not products(d.pool_with_residual(1, 4, "avg"))


def test_steps_that_take_taps_lane_by_lane() -> None:
    env = vta.Environment(replace(VTAConfig(), depthwise_taps=3))
    with env:
        [sums] = products(d.depthwise_taps(1, 2, 3))
    assert product_of(sums, env).taps == 3
    with pytest.raises(DefinitionError) as caught:
        product_of(sums, vta.get_env())
    assert str(caught.value) == (
        "stage 'own': GEMM takes 0 places lane by lane in a step (DEPTHWISE_TAPS), and the condition on axis 'lanes' "
        "says otherwise; write it with vta.intrin.depthwise_product"
    )


def own(
    element: Callable[..., Expr] | None = None,
    *,
    cell: tuple[int, ...] = (1, 16),
    inner: int = 16,
    wide: str = "int32",
    weights: str = "int8",
    where: bool = False,
    start: int | None = None,
    reduce: Callable[..., Expr] = te.sum,
) -> te.Tensor:
    """Return a sum of products of (3, 2, 1, 16) and (4, 2, 16, 16), or another one."""
    x = te.placeholder((3, 2, 1, 16), "int8", "x")
    w = te.placeholder((4, 2, 16, 16), weights, "w")
    k, i = te.reduce_axis((0, 2), "k"), te.reduce_axis((0, inner), "i")

    def product(n: Expr, c: Expr, b: Expr, o: Expr) -> Expr:
        if element is not None:
            return element(x, w, n, c, b, o, k, i)
        return x(n, k, b, i).astype(wide) * w(c, k, o, i).astype(wide)

    return te.compute(
        (3, 4, *cell),
        lambda n, c, b, o: reduce(
            product(n, c, b, o),
            axis=[k, i],
            where=te.any(k.var < 1) if where else None,
            **({} if start is None else {"init": start}),
        ),
        name="own",
    )


def read(x: te.Tensor, w: te.Tensor, at: tuple[Expr, ...], weight: tuple[Expr, ...]) -> Expr:
    return x(*at).astype("int32") * w(*weight).astype("int32")


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (lambda: own(reduce=te.max), "GEMM sums products; another reduction of products has no unit"),
        (
            lambda: own(where=True),
            "GEMM sums all products; put the condition into a stage that pads an operand with zeros",
        ),
        (lambda: own(start=3), "GEMM's sums begin with zero; add what they begin with in a stage behind them"),
        (lambda: own(wide="int16"), "GEMM's sums are int32, not int16"),
        (
            lambda: own(cell=(1, 8)),
            "axis 'o' is inside of an element of GEMM's result, where BLOCK_OUT is 16, and it has 8; pack the tensor "
            "in blocks, filled up with zeros",
        ),
        (
            lambda: own(inner=8),
            "axis 'i', the last one that is summed over, is inside of a step of GEMM, where BLOCK_IN is 16, and it has "
            "8; sum over blocks of channels, then over the channels of a block",
        ),
        (
            lambda: own(lambda x, w, n, c, b, o, k, i: read(x, w, (n, k, b, o), (c, k, o, i))),
            "the data 'x' are read by axis 'i' in one of their last two dimensions, those of GEMM's element (BATCH x "
            "BLOCK_IN), not by o; pack the tensor, lanes last",
        ),
        (
            lambda: own(lambda x, w, n, c, b, o, k, i: read(x, w, (n, k, b, i), (c, k, i, o))),
            "the weights 'w' are read by axis 'o' in one of their last two dimensions, those of GEMM's element "
            "(BLOCK_OUT x BLOCK_IN), not by i; pack the tensor, lanes last",
        ),
        (
            lambda: own(lambda x, w, n, c, b, o, k, i: read(x, w, (n, ops.min(k.var, o), b, i), (c, k, o, i))),
            "the data 'x' are read at a place that depends on a lane, and GEMM reads whole elements",
        ),
        (
            lambda: own(lambda x, w, n, c, b, o, k, i: read(x, w, (n, k, b, i), (c, k, o, i)) + 1),
            "GEMM sums products of two numbers; compute anything else in stages of its own",
        ),
        (
            lambda: own(
                lambda x, w, n, c, b, o, k, i: (x(n, k, b, i).astype("int32") + 1) * w(c, k, o, i).astype("int32")
            ),
            "a factor of GEMM is a number of a tensor, converted to int32; compute what is done to it before in a "
            "stage behind the sums, or on the host",
        ),
        (lambda: own(weights="int32"), "weights 'w' are int8, not int32"),
    ],
)
def test_what_gemm_does_not_compute_is_refused(tensor: Callable[[], te.Tensor], text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        product_of(tensor(), vta.get_env())
    assert str(caught.value) == f"stage 'own': {text}"


def test_a_result_without_places_and_several_results_are_refused() -> None:
    x, w = te.placeholder((1, 16), "int8", "x"), te.placeholder((16, 16), "int8", "w")
    i = te.reduce_axis((0, 16), "i")
    flat = te.compute((1, 16), lambda b, o: te.sum(x(b, i).astype("int32") * w(o, i).astype("int32"), axis=i), name="y")
    with pytest.raises(DefinitionError) as caught:
        product_of(flat, vta.get_env())
    assert str(caught.value) == (
        "stage 'y': a result of GEMM has the dimensions of an element, 1 x 16, and one or more in front of them, not 2 "
        "in all"
    )
    both = te.comm_reducer(lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda *_: (te.const(0), te.const(0)))
    two, _ = te.compute(
        (3, 1, 16), lambda n, b, o: both((x(b, i) * w(o, i) + n, x(b, i) * w(o, i)), axis=i), name="two"
    )
    with pytest.raises(DefinitionError) as caught:
        product_of(two, vta.get_env())
    assert str(caught.value) == "stage 'two.v0': it has 2 results at once, and GEMM has one"
