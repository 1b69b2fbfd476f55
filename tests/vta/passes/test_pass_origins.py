"""Errors of passes name the stage at hand: the innermost statement that knows where it comes from."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from isa.config import VTAConfig
from isa.origin import Origin
from tests.support.compiler.tir_build import AXIS, alloc, block, buffer, call, function, host_load, loop, pragma, store
from vta.passes.alu.inject_alu_intrin import inject_alu_intrin
from vta.passes.coproc_axis import uop_scope
from vta.passes.dma.inject_dma_intrin import inject_dma_intrin
from vta.passes.errors import PassError
from vta.passes.gemm.inject_conv2d_transpose_skip import inject_conv2d_transpose_skip
from vta.passes.storage.lower_device_storage_access_info import lower_device_storage_access_info
from vta.passes.storage.storage_flatten import storage_flatten
from vta.tir.func import Pass
from vta.tir.scopes import ACC_SCOPE, ALU_SYMBOL
from vta.tir.stmt import For, Stmt

OUTER, INNER = Origin("outer", "a.py:1"), Origin("inner", "a.py:2")
ACC, DRAM = buffer("acc", [64], "int32", ACC_SCOPE), buffer("D", [64])


def dma(origin: Origin | None) -> Stmt:
    """A copy that computes."""
    return replace(pragma("dma_copy", loop("i", 16, store(ACC, host_load(DRAM, 0) + 1, 0))), origin=origin)


def transpose(origin: Origin | None) -> Stmt:
    """A step of a convolution that is a call."""
    return replace(pragma("conv2d_transpose_gemm", call("f")), origin=origin)


def flatten(origin: Origin | None) -> Stmt:
    """A store to a buffer that is nowhere."""
    return replace(store(buffer("ghost", [4]), 1, 0), origin=origin)


def device(origin: Origin | None) -> Stmt:
    """The host's store to a scratchpad."""
    return alloc(ACC, replace(store(ACC, 1, 0), origin=origin))


CASES: list[tuple[Pass, Callable[[Origin | None], Stmt]]] = [
    (inject_dma_intrin, dma),
    (inject_conv2d_transpose_skip, transpose),
    (storage_flatten, flatten),
    (lower_device_storage_access_info, device),
]


@pytest.mark.parametrize(("lower", "make"), CASES)
@pytest.mark.parametrize(("around", "own", "said"), [(OUTER, None, OUTER), (OUTER, INNER, INNER), (None, INNER, INNER)])
def test_an_error_names_the_innermost_origin(
    lower: Pass, make: Callable[[Origin | None], Stmt], around: Origin | None, own: Origin | None, said: Origin
) -> None:
    first = loop("t", 2, call("g"))
    body: For = replace(loop("o", 2, make(own)), origin=around)
    with pytest.raises(PassError) as error:
        lower(function(block(first, body), DRAM), VTAConfig())
    assert str(error.value).startswith(f"stage {said.stage!r} ({said.source}): ")


@pytest.mark.parametrize(("lower", "make"), CASES)
def test_an_origin_ends_with_its_statement(lower: Pass, make: Callable[[Origin | None], Stmt]) -> None:
    before = replace(loop("t", 2, call("g")), origin=OUTER)
    with pytest.raises(PassError, match=r"^the function: |^stage 'acc': "):
        lower(function(block(before, loop("o", 2, make(None))), DRAM), VTAConfig())


@pytest.mark.parametrize(("around", "own", "said"), [(OUTER, None, OUTER), (OUTER, INNER, INNER), (None, INNER, INNER)])
def test_an_error_of_an_alu_stage_names_its_innermost_origin(
    around: Origin | None, own: Origin | None, said: Origin
) -> None:
    stage = replace(uop_scope(AXIS, ALU_SYMBOL, pragma("alu", replace(call("f"), origin=own))), origin=around)
    with pytest.raises(PassError) as error:
        inject_alu_intrin(function(alloc(ACC, stage)), VTAConfig())
    assert str(error.value).startswith(f"stage {said.stage!r} ({said.source}): ")
