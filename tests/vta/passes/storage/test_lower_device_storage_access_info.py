"""Access pointers become scratchpad indices; what the host cannot address is refused."""

from dataclasses import replace

import pytest

from isa.config import VTAConfig
from isa.origin import Origin
from tests.support.compiler.tir_build import alloc, block, buffer, call, function, loop, store
from tests.support.configs import CONFIGS
from vta.passes.memory_info import MemoryScopeError
from vta.passes.storage.lower_device_storage_access_info import DeviceStorageError, lower_device_storage_access_info
from vta.tir.buffer import Buffer
from vta.tir.dtype import INT32
from vta.tir.expr import BufferLoad, Builtin, Call, Expr, IntImm, Var, const, convert
from vta.tir.scopes import ACC_SCOPE, DEPTHWISE_MODE, INP_SCOPE, WGT_SCOPE
from vta.tir.stmt import Allocate, BufferStore, Evaluate, LetStmt, Stmt
from vta.tir.structural import require_equal
from vta.tir.traverse import walk

CONFIG = VTAConfig()
ACC = buffer("acc", [1024], "int32", ACC_SCOPE)


def lower(body: Stmt, config: VTAConfig = CONFIG) -> Stmt:
    return lower_device_storage_access_info(function(body), config).body


def at(memory: Buffer, offset: Expr | int, lanes: int = 1) -> Expr:
    return memory.access_ptr("rw", "int32", content_lanes=lanes, offset=offset)


@pytest.mark.parametrize("name", CONFIGS)
def test_an_offset_in_numbers_becomes_an_index_in_elements(name: str) -> None:
    config = CONFIGS[name]
    elements = {
        INP_SCOPE: (config.inp_dtype, config.batch * config.block_in),
        WGT_SCOPE: (config.wgt_dtype, config.block_out * config.block_in),
        ACC_SCOPE: (config.acc_dtype, config.batch * config.block_out),
    }
    for scope, (dtype, lanes) in elements.items():
        memory = buffer("m", [lanes * 64], dtype, scope)
        i = Var("i")
        body = alloc(memory, loop(i, 4, call("f", at(memory, i * lanes * 3 + lanes * 5))))
        require_equal(lower(body, config), loop(i, 4, call("f", i * 3 + 5)))


def test_vectors_count_as_many_numbers_as_they_have() -> None:
    i = Var("i")
    require_equal(lower(alloc(ACC, loop(i, 4, call("f", at(ACC, i * 32, lanes=16))))), loop(i, 4, call("f", i * 2)))


def test_an_offset_may_use_what_a_let_stands_for() -> None:
    i, x = Var("i"), Var("x")
    body = alloc(ACC, loop(i, 4, LetStmt(x, i * 32, call("f", at(ACC, x + 16)))))
    require_equal(lower(body), loop(i, 4, LetStmt(x, i * 32, call("f", i * 2 + 1))))


def test_the_allocations_vanish_others_stay() -> None:
    host = buffer("h", [4], "int32", "local")
    body = lower(alloc(host, alloc(ACC, block(store(host, 1, 0), call("f", at(ACC, 16))))))
    assert [n.buffer_var for n in walk(body) if isinstance(n, Allocate)] == [host.data]


def test_a_pointer_into_other_memory_is_an_address() -> None:
    host = buffer("h", [64])
    lowered = lower(call("f", host.access_ptr("r", offset=7)))
    [address] = [n for n in walk(lowered) if isinstance(n, Call) and n.op is Builtin.ADDRESS_OF]
    [element] = address.args
    assert isinstance(element, BufferLoad)
    assert (element.buffer.data, element.buffer.shape, element.indices) == (host.data, (const(64),), (const(7),))
    assert not any(isinstance(n, Call) and n.op is Builtin.ACCESS_PTR for n in walk(lowered))


def refusal(body: Stmt) -> str:
    with pytest.raises(DeviceStorageError) as error:
        lower(body)
    return str(error.value)


def test_the_host_cannot_compute_in_a_scratchpad() -> None:
    origin = Origin("C_buf", "add.py:7")
    expected = (
        "stage 'C_buf' (add.py:7): buffer 'acc' in 'local.acc_buffer': expected a stage that the accelerator computes, "
        "got a loop nest that runs on the host, which cannot address this memory; give the stage a pragma (env.alu, "
        "env.dma_copy) or tensorize it, or leave it in DRAM"
    )
    other = buffer("o", [4])
    assert refusal(alloc(ACC, loop("i", 4, BufferStore(ACC, Var("x", INT32), (Var("y"),), origin)))) == expected
    assert refusal(alloc(ACC, BufferStore(other, ACC.load(0), (Var("y"),), origin))) == expected


def test_a_micro_op_of_another_configuration_is_refused() -> None:
    """An intrinsic for 32 lanes in a machine of 16: every index would count elements of the wrong size."""
    args = (0, 0, ACC.access_ptr("rw", "int32"), 0, 0, 0, 0, 0)
    push = Evaluate(Call(INT32, Builtin.UOP_PUSH, tuple(convert(arg) for arg in args)))
    size = ACC.shape[0]
    assert isinstance(size, IntImm)
    assert refusal(alloc(ACC, push)) == (
        "the function: an operand of a micro-op in 'local.acc_buffer': expected an element of 1x16 numbers, got "
        f"{size.value} numbers; an intrinsic belongs to one environment; tensorize with env.gemm of the current one"
    )


def test_a_depthwise_micro_op_has_an_input_for_each_tap() -> None:
    inp = buffer("inp", [48], "int8", INP_SCOPE)
    args = (DEPTHWISE_MODE, 0, 0, inp.access_ptr("r", "int32"), 0, 0, 0, 0)
    push = Evaluate(Call(INT32, Builtin.UOP_PUSH, tuple(convert(arg) for arg in args)))
    assert lower(alloc(inp, push), replace(CONFIG, depthwise_taps=3))
    with pytest.raises(DeviceStorageError) as error:
        lower(alloc(inp, push), replace(CONFIG, depthwise_taps=2))
    assert str(error.value) == (
        "the function: an operand of a micro-op in 'local.inp_buffer': expected 2 elements of 1x16 numbers, got 48 "
        "numbers; an intrinsic belongs to one environment; tensorize with env.gemm of the current one"
    )


def test_the_address_of_a_scratchpad_is_refused() -> None:
    assert refusal(alloc(ACC, call("f", ACC.access_ptr("r")))) == (
        "the function: buffer 'acc' in 'local.acc_buffer': expected an access pointer of an integer type, which is an "
        "index, got one of type handle; the host cannot address this memory; use access_ptr(..., 'int32')"
    )


def test_an_offset_between_elements_is_refused() -> None:
    text = (
        "the function: buffer 'acc' in 'local.acc_buffer': expected an offset that is a multiple of the 1x16 numbers "
        "of an element, got {}; tile so that every access starts at a whole element"
    )
    assert refusal(alloc(ACC, call("f", at(ACC, 24)))) == text.format("one with a constant remainder modulo 16")
    i = Var("i")
    assert refusal(alloc(ACC, loop(i, 4, call("f", at(ACC, i * 8))))) == text.format("one that depends on i")


def test_two_allocations_of_one_memory_are_refused() -> None:
    other = buffer("other", [16], "int32", ACC_SCOPE)
    assert refusal(alloc(ACC, alloc(other, call("f", at(ACC, 0))))) == (
        "the function: memory 'local.acc_buffer': expected one allocation a function, got 'acc' and 'other'; "
        "StorageRewrite puts them into one; do not disable it"
    )


def test_a_memory_that_nobody_has_is_refused() -> None:
    strange = buffer("s", [16], "int32", "local.cache")
    with pytest.raises(MemoryScopeError, match="unknown memory scope"):
        lower(alloc(strange, call("f", at(strange, 0))))
