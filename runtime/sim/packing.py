"""Numbers in DRAM to lanes and back: elements of 1, 2, 4 or 8 bits a number, packed from the lowest bit up.

Both directions work on chunks of whole bytes. Tests: ``tests/runtime/sim/test_transfers.py``.
"""

from typing import Any

from llvmlite import ir

from runtime.sim.emit import I8, Emitter, Num, vector

__all__ = ["CHUNK", "emit_pack", "emit_unpack", "emit_unpack_one"]

CHUNK = 64
"""The most numbers that are converted at once."""


def emit_unpack(emit: Emitter, source: Num, count: int, width: int) -> Any:
    """Return the ``count`` signed numbers of ``width`` bits from byte ``source`` on, as int8 lanes."""
    builder = emit.builder
    nbytes = count * width // 8
    packed = emit.load(source, vector(nbytes, I8))
    if width == 8:
        return packed
    per_byte = 8 // width
    lanes = emit.shuffle(packed, [lane // per_byte for lane in range(count)])
    left = [8 - width - width * (lane % per_byte) for lane in range(count)]
    shifted = builder.shl(lanes, ir.Constant(vector(count, I8), left))
    return builder.ashr(shifted, ir.Constant(vector(count, I8), [8 - width] * count))


def emit_unpack_one(emit: Emitter, source: Num, index: Num, width: int) -> Any:
    """Return number ``index`` of those from byte ``source`` on, as an int8."""
    bit = index * width
    byte = emit.read(source + (bit >> 3), I8)
    return (byte >> (bit & 7)).sign_extended(width).truncated(I8)


def emit_pack(emit: Emitter, target: Num, lanes: Any, width: int) -> None:
    """Write the low ``width`` bits of each of the int32 ``lanes`` to byte ``target`` on."""
    builder = emit.builder
    count = lanes.type.count
    values = builder.trunc(lanes, vector(count, I8))
    if width == 8:
        emit.store(target, values)
        return
    per_byte = 8 // width
    kind = vector(count // per_byte, I8)
    packed = ir.Constant(kind, [0] * kind.count)
    mask = ir.Constant(kind, [(1 << width) - 1] * kind.count)
    for place in range(per_byte):
        part = builder.and_(emit.shuffle(values, range(place, count, per_byte)), mask)
        shift = ir.Constant(kind, [width * place] * kind.count)
        packed = builder.or_(packed, builder.shl(part, shift))
    emit.store(target, packed)
