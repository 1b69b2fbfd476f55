"""Intrinsics for blocks: a product of 4 by 4 tiles, and its start, both as loops of their own over pieces of memory."""

from vta.tir.func import PrimFunc
from vta.tir.script import from_source
from vta.tir.tensor_intrin import TensorIntrin

__all__ = ["tile_function", "tile_product", "tile_start"]

_BUFFER = '    {0} = T.match_buffer({1}, (4, 4), "float32"{2}, offset_factor=1)\n'

_PRODUCT_DESC = """
    with T.block("root"):
        T.reads(C[0:4, 0:4], A[0:4, 0:4], B[0:4, 0:4])
        T.writes(C[0:4, 0:4])
        for i, j, k in T.grid(4, 4, 4):
            with T.block("step"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
_PRODUCT_IMPL = """
    with T.block("root"):
        for k, i in T.grid(4, 4):
            for j in T.vectorized(0, 4):
                C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""
_START_DESC = """
    for i, j in T.grid(4, 4):
        with T.block("start"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.float32(0)
"""
_START_IMPL = """
    for i, j in T.grid(4, 4):
        C[i, j] = T.float32(0)
"""


def tile_function(names: str, body: str, *, strided: bool) -> PrimFunc:
    """Return a function of tiles, called by letters; with strides, they lie anywhere in matrices."""
    text = f"@T.prim_func\ndef f({', '.join(f'{name.lower()}: T.handle' for name in names)}) -> None:\n"
    for name in names:
        if strided:
            text += f'    stride{name} = T.var("int32")\n'
        text += _BUFFER.format(name, name.lower(), f", strides=[stride{name}, 1]" if strided else "")
    found = from_source(text + body)
    assert isinstance(found, PrimFunc)
    return found


def tile_product() -> TensorIntrin:
    """Return ``C += A @ B`` of tiles of 4 by 4."""
    desc = tile_function("ABC", _PRODUCT_DESC, strided=False)
    return TensorIntrin(desc, tile_function("ABC", _PRODUCT_IMPL, strided=True), "tile product", tile_start())


def tile_start() -> TensorIntrin:
    """Return ``C = 0`` of a tile of 4 by 4."""
    desc = tile_function("C", _START_DESC, strided=False)
    return TensorIntrin(desc, tile_function("C", _START_IMPL, strided=True), "tile start")
