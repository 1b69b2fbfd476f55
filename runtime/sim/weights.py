"""Weight elements from DRAM to the order that the dot product units read them in.

DRAM has a matrix [output lane][input lane]; the scratchpad gets [group][output lane][lane of the group], so that
one vector load gives the same group of consecutive output lanes. A unit that adds an offset to activations also
gets the excess, ``offset`` times the sum of each row. Tests: ``tests/runtime/sim/test_transfers.py``,
``tests/runtime/sim/test_gemm.py``.
"""

from typing import Any

from llvmlite import ir

from runtime.sim.dot_unit import GROUP_BYTES
from runtime.sim.emit import I8, I32, Emitter, Num, vector
from runtime.sim.geometry import Geometry
from runtime.sim.packing import CHUNK, emit_unpack, emit_unpack_one

__all__ = ["emit_load_weights"]

_ROWS_AT_ONCE = 16
_GROUPS_AT_ONCE = 4


def emit_load_weights(module: Any, geometry: Geometry) -> Any:
    """Write ``load_weights(arena, source, first, count)``: ``count`` elements at ``source`` to element ``first`` on."""
    config = geometry.config
    emit = Emitter(module, "load_weights", ("arena", "source", "first", "count"))
    arena, first = emit.arguments["arena"], emit.arguments["first"]
    row_bytes = config.block_in
    unpacked = emit.scratch(config.block_out * row_bytes) if _needs_unpacking(geometry) else None
    with emit.loop(emit.arguments["count"]) as number:
        source = emit.arguments["source"] + number * config.wgt_elem_bytes
        target = arena + geometry.wgt_at + (first + number) * geometry.wgt_elem
        if not geometry.whole_groups:
            _emit_scalar(emit, geometry, target, source)
        elif unpacked is None:
            _emit_transposed(emit, geometry, target, source)
        else:
            _emit_bytes(emit, geometry, unpacked, source)
            _emit_transposed(emit, geometry, target, unpacked)
        if geometry.unit.offset:
            excess = arena + geometry.excess_at + (first + number) * geometry.acc_row
            _emit_excess(emit, geometry, excess, target)
    return emit.finish()


def _needs_unpacking(geometry: Geometry) -> bool:
    return geometry.config.wgt_width < 8 and geometry.whole_groups


def _emit_bytes(emit: Emitter, geometry: Geometry, target: Num, source: Num) -> None:
    """Write an element's numbers to ``target`` as bytes, in the same order."""
    config = geometry.config
    values, width = config.block_in * config.block_out, config.wgt_width
    chunk = min(CHUNK, values)
    with emit.loop(values // chunk) as step:
        numbers = emit_unpack(emit, source + step * (chunk * width // 8), chunk, width)
        emit.store(target + step * chunk, numbers)


def _emit_transposed(emit: Emitter, geometry: Geometry, target: Num, source: Num) -> None:
    """Write the bytes of an element at ``source`` in groups: a transposition of 32-bit numbers."""
    config, unit = geometry.config, geometry.unit
    rows = min(_ROWS_AT_ONCE, config.block_out)
    groups = min(_GROUPS_AT_ONCE, geometry.groups)
    lanes = groups * unit.group
    with emit.loop(config.block_out // rows) as row, emit.loop(geometry.groups // groups) as column:
        from_ = source + row * (rows * config.block_in) + column * lanes
        parts = []
        for r in range(rows):
            numbers = emit.load(from_ + r * config.block_in, vector(lanes, I8))
            stored = unit.stored_weights(emit, numbers)
            parts.append(emit.builder.bitcast(stored, vector(groups, I32)))
        block = emit.joined(parts)
        to = target + column * (groups * config.block_out * GROUP_BYTES) + row * (rows * GROUP_BYTES)
        for g in range(groups):
            picked = emit.shuffle(block, range(g, rows * groups, groups))
            emit.store(to + g * (config.block_out * GROUP_BYTES), picked)


def _emit_scalar(emit: Emitter, geometry: Geometry, target: Num, source: Num) -> None:
    """Write an element whose rows are shorter than a group, one number at a time, and zeros after them."""
    config, unit = geometry.config, geometry.unit
    emit.fill(target, 0, emit.num(geometry.wgt_elem))
    with emit.loop(config.block_out) as row, emit.loop(config.block_in) as lane:
        number = emit_unpack_one(emit, source, row * config.block_in + lane, config.wgt_width)
        single = emit.splat(number, vector(1, I8))
        to = target + row * GROUP_BYTES + lane * (GROUP_BYTES // unit.group)
        emit.store(to, unit.stored_weights(emit, single))


def _emit_excess(emit: Emitter, geometry: Geometry, target: Num, stored: Num) -> None:
    """Write ``offset`` times the sum of each weight row: the dot product with activations that are all ``offset``."""
    config, unit = geometry.config, geometry.unit
    kind = vector(geometry.lanes, I32)
    offsets = ir.Constant(I32, int.from_bytes(bytes([unit.offset] * GROUP_BYTES), "little", signed=True))
    with emit.loop(config.block_out // geometry.lanes) as part:
        total = emit.vector_variable(kind)
        total.set(ir.Constant(kind, [0] * kind.count))
        with emit.loop(geometry.groups) as group:
            at = stored + group * (config.block_out * GROUP_BYTES) + part * (geometry.lanes * 4)
            total.set(unit.multiply_add(emit, total.get(), offsets, emit.load(at, kind)))
        emit.store(target + part * (geometry.lanes * 4), total.get())
