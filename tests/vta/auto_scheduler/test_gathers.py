"""Stages in front of what reads some rows and columns alone."""

import vta
from tests.support.tuning import definitions as d
from vta import te
from vta.auto_scheduler.gathers import gaps_of, gathered
from vta.auto_scheduler.parts import parts_of
from vta.auto_scheduler.products import has_products, product_of
from vta.topi.core.fused import producers_first
from vta.topi.core.sizes import sizes


def through(output: te.Tensor) -> te.Tensor:
    env = vta.get_env()
    products = {each: product_of(each, env) for each in producers_first(output) if has_products(each)}
    return gathered(output, products)


def test_a_kernel_of_one_place_with_a_stride_reads_what_was_gathered() -> None:
    output = d.convolution(2, 5, 2, 1, 2)[-1]
    [product] = parts_of(output, vta.get_env()).products
    assert sizes(product.data) == (1, 2, 3, 3, 1, 16)
    assert gaps_of(product.data) == (1, 1, 2, 2, 1, 1)
    assert product.tensor.op.attrs == parts_of(d.convolution(2, 5, 2, 1, 2)[-1], vta.get_env()).products[0].op.attrs


def test_others_stay_the_same_tensors() -> None:
    for output in (d.convolution(2, 5, 2)[-1], d.convolution(2, 5, 2, 3, 2)[-1], d.pool_with_residual(1, 4)[-1]):
        assert through(output) is output
    assert gaps_of(output) == (1,) * 6
