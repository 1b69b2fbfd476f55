"""The bit layouts of ``isa.layout`` as Amaranth sees them: no bit position is written down twice.

Tests: ``tests/hw/test_hardware_layouts.py``.
"""

from amaranth.hdl import signed, unsigned
from amaranth.lib import data

from isa.config import VTAConfig
from isa.layout import Layout, instruction_layouts, uop_layout

__all__ = ["INSTRUCTION_WIDTH", "bits_up_to", "instruction_struct", "struct_layout", "uop_struct"]

INSTRUCTION_WIDTH = 128
"""Bits of an instruction word."""


def struct_layout(layout: Layout) -> data.StructLayout:
    """Return the Amaranth layout with the same fields, in the same bits, as ``layout``."""
    return data.StructLayout(
        {entry.name: signed(entry.width) if entry.signed else unsigned(entry.width) for entry in layout.fields}
    )


def instruction_struct(config: VTAConfig, name: str) -> data.StructLayout:
    """Return the layout of an instruction of kind ``name`` (LOAD, STORE, GEMM, ALU or FINISH)."""
    return struct_layout(instruction_layouts(config)[name])


def bits_up_to(layout: data.StructLayout, field: str) -> int:
    """Return how many bits the fields of ``layout`` have up to ``field``, that one included."""
    found = layout[field]
    return int(found.offset + found.width)


def uop_struct(config: VTAConfig) -> data.StructLayout:
    """Return the layout of a micro-op."""
    return struct_layout(uop_layout(config))
