"""Intrinsics of blocks: described, registered, and refused where description and statements do not go together."""

import pytest

from tests.support.compiler.block_intrinsics import tile_product, tile_start
from vta.tir.func import PrimFunc
from vta.tir.script import from_source
from vta.tir.tensor_intrin import TensorIntrin, TensorIntrinError, nest_of


def refused(text: str, desc: PrimFunc, impl: PrimFunc) -> None:
    with pytest.raises(TensorIntrinError) as caught:
        TensorIntrin(desc, impl, "x")
    assert str(caught.value) == text


def test_an_intrinsic_goes_by_its_name() -> None:
    product = tile_product()
    made = TensorIntrin.register("test_an_intrinsic", product.desc, product.impl)
    assert TensorIntrin.get("test_an_intrinsic") is made
    assert repr(made) == "TensorIntrin('test_an_intrinsic')"
    with pytest.raises(TensorIntrinError, match=r"^intrinsic 'test_an_intrinsic' is registered already; override=True"):
        TensorIntrin.register("test_an_intrinsic", product.desc, product.impl)
    assert TensorIntrin.register("test_an_intrinsic", product.desc, product.impl, override=True) is not made
    with pytest.raises(TensorIntrinError, match=r"^there is no intrinsic 'absent'; registered are: .*test_an"):
        TensorIntrin.get("absent")
    with pytest.raises(TensorIntrinError, match=r"^intrinsic 'y': desc and impl are functions \(T.prim_func\)$"):
        TensorIntrin.register("y", 3, product.impl)  # type: ignore[arg-type]


def test_the_description_is_loops_around_a_block() -> None:
    loops, block = nest_of(tile_product().desc, "x")
    assert [loop.loop_var.name for loop in loops] == ["i", "j", "k"]
    assert block.name == "step"


def test_what_does_not_go_together_is_refused() -> None:
    product, start = tile_product(), tile_start()
    refused("intrinsic 'x': desc has 3 buffers, impl 1; expected the same ones", product.desc, start.impl)
    wide = from_source(
        "@T.prim_func\ndef f(c: T.handle):\n    C = T.match_buffer(c, (4, 4), 'float64')\n    C[0, 0] = T.float64(0)\n"
    )
    assert isinstance(wide, PrimFunc)
    refused(
        "intrinsic 'x': buffer 'C' of desc has 2 dimensions of float32, buffer 'C' of impl 2 of float64",
        start.desc,
        wide,
    )
    refused("intrinsic 'x': desc must be loops around one block", start.impl, start.impl)
    number = from_source("@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(n)\n")
    assert isinstance(number, PrimFunc)
    refused("intrinsic 'x': parameter 'n' is no buffer", number, number)
