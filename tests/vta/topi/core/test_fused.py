import pytest

from vta import te
from vta.topi.core.fused import FusedError, fused_layer

SHAPE = (4, 8)


def reduction() -> te.Tensor:
    data = te.placeholder((4, 8, 16), name="data", dtype="int32")
    k = te.reduce_axis((0, 16), name="k")
    return te.compute(SHAPE, lambda i, j: te.sum(data[i, j, k], axis=k), name="sums")


def test_a_layer_is_taken_apart_into_its_parts() -> None:
    sums = reduction()
    bias = te.placeholder((8,), name="bias", dtype="int32")
    residual = te.placeholder(SHAPE, name="residual", dtype="int8")
    wide = te.compute(SHAPE, lambda *i: residual(*i).astype("int32"), name="wide")
    biased = te.compute(SHAPE, lambda i, j: sums(i, j) + bias(j), name="biased")
    added = te.compute(SHAPE, lambda *i: wide(*i) + biased(*i), name="added")
    twice = te.compute(SHAPE, lambda i, j: added(i, j) + bias(j), name="twice")
    result = te.compute(SHAPE, lambda *i: twice(*i).astype("int8"), name="result")
    layer = fused_layer(result)
    assert layer.reduction is sums
    assert layer.stages == (biased, added, twice)
    assert layer.placeholders == (bias,)
    assert layer.loads == (wide,)
    assert layer.output is result
    assert layer.readers(bias) == [biased, twice]
    assert layer.readers(twice) == [result]


def test_an_output_that_is_no_layer_is_refused() -> None:
    sums = reduction()
    with pytest.raises(FusedError) as caught:
        fused_layer(sums)
    assert str(caught.value) == (
        "stage 'sums': a layer is one reduction, elementwise stages and a cast; reductions: 'sums'"
    )
    plain = te.compute(SHAPE, lambda *i: te.placeholder(SHAPE, name="x", dtype="int32")(*i) + 1, name="plain")
    with pytest.raises(FusedError) as caught:
        fused_layer(plain)
    assert str(caught.value) == (
        "stage 'plain': a layer is one reduction, elementwise stages and a cast; reductions: none"
    )
    other = reduction()
    both = te.compute(SHAPE, lambda *i: sums(*i) + other(*i), name="both")
    with pytest.raises(FusedError) as caught:
        fused_layer(both)
    assert str(caught.value) == (
        "stage 'both': a layer is one reduction, elementwise stages and a cast; reductions: 'sums', 'sums'"
    )
