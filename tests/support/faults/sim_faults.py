"""The functional simulator with a fault in one of the emitters of its native code.

No fault makes native code leave the memory that its bounds were checked for: indices, counts and sizes only shrink.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np

from isa.program import Program
from runtime.devices import functional
from runtime.devices.functional import FunctionalSimulator
from runtime.memory.device_memory import DeviceMemory
from runtime.sim import alu, decode, gemm, memory_ops, packing
from runtime.sim.build import compile_kernels
from runtime.sim.code_path import CodePath
from runtime.sim.gemm_generic import GenericUnit
from tests.support.faults.source_faults import SourceFault
from vta.inspect.diff.stepping import Engine

__all__ = ["SIM_FAULTS", "faulty_simulator", "plant_in_sim", "simulator_engine"]

MEMORY_LIMIT = 1 << 29

_LANES = alu._Operation
"""The class whose methods emit what one lane of the ALU does."""


SIM_FAULTS: tuple[SourceFault, ...] = (
    SourceFault("ADD subtracts", _LANES.apply, "builder.add(left, right)", "builder.sub(left, right)", _LANES),
    SourceFault("MIN is unsigned", _LANES.apply, 'icmp_signed("<"', 'icmp_unsigned("<"', _LANES),
    SourceFault("MAX is unsigned", _LANES.apply, 'icmp_signed(">"', 'icmp_unsigned(">"', _LANES),
    SourceFault("MUL squares", _LANES.apply, "builder.mul(left, right)", "builder.mul(left, left)", _LANES),
    *(
        SourceFault(
            f"shifts go {most} places at most",
            _LANES._shift,
            "self._constant(31)",
            f"self._constant({most})",
            _LANES,
        )
        for most in (3, 7, 15, 30)
    ),
    SourceFault("right shifts forget the sign", _LANES._shift, "builder.ashr(", "builder.lshr(", _LANES),
    SourceFault(
        "a left shift of 32 is one of 31",
        _LANES._shift,
        "select(kept, shifted, zero)",
        "select(kept, shifted, shifted)",
        _LANES,
    ),
    SourceFault("negative counts shift to the right", _LANES._shift, '"<", count, zero', '"<", zero, zero', _LANES),
    SourceFault("the immediate is one more", alu._emit_sweep, 'arguments["imm"]', '(arguments["imm"] + 1)'),
    SourceFault(
        "two steps of an ALU sweep share a source",
        alu._emit_sweep,
        'step * arguments["src_step"]',
        '(step >> 1) * arguments["src_step"]',
    ),
    SourceFault("two micro-ops do not count as several", alu._emit_nest, '"uop_bgn"] > 1)', '"uop_bgn"] > 2)'),
    SourceFault(
        "outer factors of the ALU are even",
        alu._emit_nest,
        'i * loops.factor(operand, "out")',
        'i * ((loops.factor(operand, "out") >> 1) << 1)',
    ),
    SourceFault(
        "rows of loads are taken to be dense",
        memory_ops._emit_load_rows,
        'row * fields["x_stride"]',
        "row * x_size",
    ),
    SourceFault(
        "no rows of zeros above", memory_ops._emit_load_rows, '"y_pad_0"])\n    with', '"y_pad_0"] * 0)\n    with'
    ),
    SourceFault(
        "no zeros to the right", memory_ops._emit_load_rows, 'pad(fields["x_pad_1"])', 'pad(fields["x_pad_1"] * 0)'
    ),
    SourceFault(
        "no rows of zeros below", memory_ops._emit_load_rows, 'pad(width * fields["y_pad_1"])', "pad(width * 0)"
    ),
    SourceFault(
        "half of the rows are loaded",
        memory_ops._emit_load_rows,
        "emit.loop(y_size)",
        "emit.loop((y_size + 1) >> 1)",
    ),
    SourceFault(
        "the last micro-op is not loaded",
        memory_ops._emit_load_rows,
        "source, x_size * elem",
        "source, (x_size - 1) * elem",
    ),
    SourceFault("zeros of weights and sums are ones", memory_ops._emit_zeros, "INP else 0", "INP else 1"),
    SourceFault(
        "a run of zeros lacks the last", memory_ops._emit_zeros, "byte, count * size", "byte, (count - 1) * size"
    ),
    SourceFault("8-bit loads forget the sign", memory_ops._emit_widen, "builder.sext(", "builder.zext("),
    SourceFault(
        "half of the rows are stored", memory_ops.emit_store, "emit.loop(y_size)", "emit.loop((y_size + 1) >> 1)"
    ),
    SourceFault(
        "rows of stores are taken to be dense", memory_ops.emit_store, 'row * fields["x_stride"]', "row * x_size"
    ),
    SourceFault(
        "a store moves halves",
        packing.emit_pack,
        "builder.trunc(lanes,",
        "builder.trunc(builder.ashr(lanes, ir.Constant(lanes.type, [1] * lanes.type.count)),",
    ),
    SourceFault("narrow operands forget the sign", packing.emit_unpack, "builder.ashr(shifted", "builder.lshr(shifted"),
    SourceFault(
        "a reset leaves the last lane",
        gemm._emit_reset,
        "emit.num(geometry.acc_elem)",
        "emit.num(geometry.acc_elem - 4)",
    ),
    SourceFault(
        "a reset takes every inner step twice",
        gemm._emit_reset,
        'inner * loops.factor(_DST, "in")',
        '(inner >> 1) * loops.factor(_DST, "in")',
    ),
    SourceFault(
        "a reset of an even inner loop multiplies",
        gemm.emit_gemm,
        'loops.fields["reset"].differs(0)',
        '(loops.fields["reset"] & loops.fields["iter_in"]).differs(0)',
    ),
    SourceFault(
        "half of a reduction is left out",
        gemm._emit_steps,
        "nest.trips, rest.src",
        "(nest.trips + 1) >> 1, rest.src",
    ),
    SourceFault("turns come in pairs", gemm._emit_box, "turn * factor", "(turn >> 1) * factor"),
    SourceFault(
        "GEMM halves a factor of inputs",
        gemm._emit_steps,
        "step.src, step.wgt, nest.trips",
        "step.src >> 1, step.wgt, nest.trips",
    ),
    SourceFault("GEMM halves a factor of weights", gemm._emit_steps, "rest.src, rest.wgt", "rest.src, rest.wgt >> 1"),
    SourceFault("every second product is left out", GenericUnit.multiply_add, "in (0, 1)", "in (0,)", GenericUnit),
    SourceFault(
        "weights have no sign", GenericUnit.multiply_add, "sext(right, wide)", "zext(right, wide)", GenericUnit
    ),
    SourceFault(
        "immediates have a bit less",
        decode.Fields.signed,
        "field(name).width)",
        "field(name).width - 1)",
        decode.Fields,
    ),
)


def plant_in_sim(rng: np.random.Generator) -> SourceFault:
    """Return a fault picked at random."""
    return SIM_FAULTS[int(rng.integers(len(SIM_FAULTS)))]


@contextmanager
def faulty_simulator(fault: SourceFault) -> Iterator[None]:
    """Have every functional simulator that is made inside compiled with the fault, and nothing of it afterwards."""
    fresh = functools.cache(compile_kernels.__wrapped__)
    with fault.planted(), mock.patch.object(functional, "compile_kernels", fresh):
        yield


def simulator_engine(program: Program, fault: SourceFault) -> Engine:
    """Return an engine for ``program``, to be called with the fault planted; portable code where the fault is there."""
    code_path = CodePath.GENERIC if fault.owner is GenericUnit else None
    return Engine(program, FunctionalSimulator(program.config, DeviceMemory(MEMORY_LIMIT), code_path=code_path))
