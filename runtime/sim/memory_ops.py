"""LOAD and STORE in native code: bounds, counters, padding, and the conversion of each element.

Semantics: `docs/isa.md`, "What instructions do" (a size of zero moves and pads nothing; a load of micro-ops is flat;
a store reads the accumulator). Scratchpads hold numbers in the form that ``geometry`` describes.
Tests: ``tests/runtime/sim/test_transfers.py``, ``tests/runtime/sim/test_gemm.py``.
"""

from functools import reduce
from operator import or_
from typing import Any, assert_never

from isa.instructions import MemoryId
from isa.layout import instruction_layouts
from runtime.memory.device_memory import FIRST_ADDRESS
from runtime.sim.decode import Fields
from runtime.sim.emit import I8, I32, Emitter, Num, vector
from runtime.sim.failures import Failing
from runtime.sim.geometry import Geometry
from runtime.sim.packing import CHUNK, emit_pack, emit_unpack, emit_unpack_one
from runtime.sim.record import Failure
from runtime.sim.weights import emit_load_weights

__all__ = ["emit_load", "emit_store"]

_BYTES_COUNTER = {
    MemoryId.UOP: "uop_load_nbytes",
    MemoryId.WGT: "wgt_load_nbytes",
    MemoryId.INP: "inp_load_nbytes",
    MemoryId.ACC: "acc_load_nbytes",
    MemoryId.ACC_8BIT: "acc_load_nbytes",
}
_MODULE_OF_NOP = {MemoryId.WGT: "nop_load", MemoryId.INP: "nop_load"}


def emit_load(module: Any, geometry: Geometry) -> Any:
    """Write ``load(arena, index, low, high)``, which returns a ``Status``."""
    config = geometry.config
    weights = emit_load_weights(module, geometry)
    emit = Emitter(module, "load", ("arena", "index", "low", "high"), returns=True)
    failing = Failing(emit)
    fields = Fields(instruction_layouts(config)["LOAD"], _halves(emit))
    x_size, y_size = fields["x_size"], fields["y_size"]
    for memory in _BYTES_COUNTER:
        if memory is MemoryId.ACC_8BIT and config.inp_width != 8:
            continue
        with emit.when(fields["memory"].equals(memory)):
            with emit.when(x_size.equals(0)):
                failing.count(_MODULE_OF_NOP.get(memory, "nop_compute"), 1)
                emit.give(0)
            failing.count(f"load_{memory.name.lower()}", 1)
            with emit.when(y_size.equals(0)):
                emit.give(0)
            _emit_load_rows(emit, failing, geometry, fields, memory, weights)
            emit.give(0)
    return emit.finish(0)


def _emit_load_rows(
    emit: Emitter, failing: Failing, geometry: Geometry, fields: Fields, memory: MemoryId, weights: Any
) -> None:
    elem = geometry.config.elem_bytes(memory)
    x_size, y_size = fields["x_size"], fields["y_size"]
    width = fields["x_pad_0"] + x_size + fields["x_pad_1"]
    rows = fields["y_pad_0"] + y_size + fields["y_pad_1"]
    failing.count(_BYTES_COUNTER[memory], x_size * y_size * elem)
    if memory is not MemoryId.UOP:
        failing.leave_if_skipping()
    _check_sram(emit, failing, geometry, memory, fields["sram_base"] + width * rows)
    source = _check_dram(emit, failing, fields, elem)
    begin, size = geometry.place(memory)
    target = emit.arguments["arena"] + begin + fields["sram_base"] * size
    if memory is MemoryId.UOP:
        emit.copy(target, source, x_size * elem)
        return
    position = emit.variable(fields["sram_base"])

    def pad(count: Num) -> None:
        _emit_zeros(emit, geometry, memory, position.num, count)
        position.assign(position.num + count)

    pad(width * fields["y_pad_0"])
    with emit.loop(y_size) as row:
        pad(fields["x_pad_0"])
        from_ = source + row * fields["x_stride"] * elem
        _emit_row(emit, geometry, memory, position.num, from_, x_size, weights)
        position.assign(position.num + x_size)
        pad(fields["x_pad_1"])
    pad(width * fields["y_pad_1"])


def _emit_zeros(emit: Emitter, geometry: Geometry, memory: MemoryId, first: Num, count: Num) -> None:
    arena = emit.arguments["arena"]
    begin, size = geometry.place(memory)
    byte = geometry.unit.offset if memory is MemoryId.INP else 0
    with emit.when(count.differs(0)):
        emit.fill(arena + begin + first * size, byte, count * size)
        if memory is MemoryId.WGT and geometry.unit.offset:
            row = geometry.acc_row
            emit.fill(arena + geometry.excess_at + first * row, 0, count * row)


def _emit_row(
    emit: Emitter, geometry: Geometry, memory: MemoryId, first: Num, source: Num, count: Num, weights: Any
) -> None:
    """Write the conversion of ``count`` consecutive elements at ``source`` to scratchpad element ``first`` on."""
    begin, size = geometry.place(memory)
    target = emit.arguments["arena"] + begin + first * size
    match memory:
        case MemoryId.ACC:
            emit.copy(target, source, count * size)
        case MemoryId.ACC_8BIT:
            _emit_widen(emit, geometry, target, source, count)
        case MemoryId.INP:
            _emit_inputs(emit, geometry, target, source, count)
        case MemoryId.WGT:
            emit.call(weights, emit.arguments["arena"], source, first, count)
        case MemoryId.UOP | MemoryId.OUT:
            raise AssertionError(f"no rows of {memory!r} are loaded")
        case _:
            assert_never(memory)


def _emit_inputs(emit: Emitter, geometry: Geometry, target: Num, source: Num, count: Num) -> None:
    config, unit = geometry.config, geometry.unit
    values, width = config.batch * config.block_in, config.inp_width
    if geometry.whole_groups:
        chunk = min(CHUNK, values)
        with emit.loop(count * (values // chunk)) as step:
            numbers = emit_unpack(emit, source + step * (chunk * width // 8), chunk, width)
            place = target + step * (geometry.inp_elem * chunk // values)
            emit.store(place, unit.stored(emit, numbers))
        return
    # Rows shorter than a group: the rest of the group is multiplied by weights of zero and may hold anything.
    with emit.loop(count * config.batch) as row, emit.loop(config.block_in) as lane:
        number = emit_unpack_one(emit, source, row * config.block_in + lane, width)
        stored = unit.stored(emit, emit.splat(number, vector(1, I8)))
        emit.store(target + row * geometry.inp_row + lane * (4 // unit.group), stored)


def _emit_widen(emit: Emitter, geometry: Geometry, target: Num, source: Num, count: Num) -> None:
    values = geometry.acc_elem // 4
    chunk = min(CHUNK, values)
    with emit.loop(count * (values // chunk)) as step:
        narrow = emit.load(source + step * chunk, vector(chunk, I8))
        emit.store(target + step * (4 * chunk), emit.builder.sext(narrow, vector(chunk, I32)))


def emit_store(module: Any, geometry: Geometry) -> Any:
    """Write ``store(arena, index, low, high)``, which returns a ``Status``."""
    config = geometry.config
    emit = Emitter(module, "store", ("arena", "index", "low", "high"), returns=True)
    failing = Failing(emit)
    fields = Fields(instruction_layouts(config)["STORE"], _halves(emit))
    x_size, y_size = fields["x_size"], fields["y_size"]
    with emit.when(x_size.equals(0)):
        failing.count("nop_store", 1)
        emit.give(0)
    failing.count("store", 1)
    with emit.when(y_size.equals(0)):
        emit.give(0)
    elem, values, width = config.out_elem_bytes, geometry.acc_elem // 4, config.out_width
    failing.count("out_store_nbytes", x_size * y_size * elem)
    failing.leave_if_skipping()
    _check_sram(emit, failing, geometry, MemoryId.OUT, fields["sram_base"] + x_size * y_size)
    target = _check_dram(emit, failing, fields, elem)
    source = emit.arguments["arena"] + geometry.acc_at + fields["sram_base"] * geometry.acc_elem
    chunk = min(CHUNK, values)
    with emit.loop(y_size) as row:
        to = target + row * fields["x_stride"] * elem
        from_ = source + row * x_size * geometry.acc_elem
        with emit.loop(x_size * (values // chunk)) as step:
            lanes = emit.load(from_ + step * (4 * chunk), vector(chunk, I32))
            emit_pack(emit, to + step * (chunk * width // 8), lanes, width)
    return emit.finish(0)


def _halves(emit: Emitter) -> tuple[Num, Num]:
    return emit.arguments["low"], emit.arguments["high"]


def _check_sram(emit: Emitter, failing: Failing, geometry: Geometry, memory: MemoryId, end: Num) -> None:
    depth = geometry.config.depth(memory)
    with emit.when(end > depth):
        failing.fail(Failure.SRAM_RANGE, value=end, limit=depth, detail=memory)


def _check_dram(emit: Emitter, failing: Failing, fields: Fields, elem: int) -> Num:
    """Check the bytes of a transfer and return the host address of the first."""
    begin = fields["dram_base"] * elem
    end = begin + ((fields["y_size"] - 1) * fields["x_stride"] + fields["x_size"]) * elem
    limit = failing.get("dram_end")
    with emit.when(reduce(or_, (begin < FIRST_ADDRESS, end > limit))):
        failing.fail(Failure.DRAM_RANGE, value=end, limit=limit, detail=begin)
    return failing.get("dram") + begin
