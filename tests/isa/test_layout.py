"""Bit positions: upstream's in the default configuration, and what holds in every configuration."""

from enum import IntEnum

import pytest

from isa.config import VTAConfig
from isa.instructions import AluOpcode, MemoryId, Opcode
from isa.layout import EncodingError, Field, Layout, instruction_layouts, uop_layout
from tests.support.configs import CONFIGS

TINY = VTAConfig(log_uop_buff_size=2, log_inp_buff_size=4, log_wgt_buff_size=8, log_acc_buff_size=6)
ALL = {**CONFIGS, "tiny": TINY}


def _positions(layout: Layout) -> dict[str, tuple[int, int]]:
    """Return (highest, lowest) bit of each used field."""
    return {
        field.name: (offset + field.width - 1, offset)
        for field, offset in zip(layout.fields, layout.offsets, strict=True)
        if not field.unused
    }


COMMON = {"opcode": (2, 0), "pop_prev": (3, 3), "pop_next": (4, 4), "push_prev": (5, 5), "push_next": (6, 6)}
MEMORY = {
    **COMMON,
    "memory": (9, 7),
    "sram_base": (25, 10),
    "dram_base": (57, 26),
    "y_size": (79, 64),
    "x_size": (95, 80),
    "x_stride": (111, 96),
    "y_pad_0": (115, 112),
    "y_pad_1": (119, 116),
    "x_pad_0": (123, 120),
    "x_pad_1": (127, 124),
}
LOOPS = {
    **COMMON,
    "uop_bgn": (20, 8),
    "uop_end": (34, 21),
    "iter_out": (48, 35),
    "iter_in": (62, 49),
    "dst_factor_out": (74, 64),
    "dst_factor_in": (85, 75),
    "src_factor_out": (96, 86),
    "src_factor_in": (107, 97),
}
POSITIONS = {
    "LOAD": MEMORY,
    "STORE": MEMORY,
    "GEMM": {**LOOPS, "reset": (7, 7), "wgt_factor_out": (117, 108), "wgt_factor_in": (127, 118)},
    "ALU": {**LOOPS, "alu_opcode": (110, 108), "use_imm": (111, 111), "imm": (127, 112)},
    "FINISH": COMMON,
}


@pytest.mark.parametrize("name", POSITIONS)
def test_the_default_layout_has_upstreams_positions(name: str) -> None:
    assert _positions(instruction_layouts(VTAConfig())[name]) == POSITIONS[name]


def test_the_default_micro_op_has_upstreams_positions() -> None:
    assert _positions(uop_layout(VTAConfig())) == {"dst": (10, 0), "src": (21, 11), "wgt": (31, 22)}


@pytest.mark.parametrize("config", ALL.values(), ids=ALL)
def test_every_bit_belongs_to_one_field_and_no_field_crosses_bit_64(config: VTAConfig) -> None:
    for layout in instruction_layouts(config).values():
        assert layout.width == 128
        for field, offset in zip(layout.fields, layout.offsets, strict=True):
            assert field.width == 0 or offset // 64 == (offset + field.width - 1) // 64
    assert uop_layout(config).width == 32


@pytest.mark.parametrize("config", ALL.values(), ids=ALL)
def test_factors_start_at_bit_64_whatever_the_micro_op_buffer(config: VTAConfig) -> None:
    for name in ("GEMM", "ALU"):
        layout = instruction_layouts(config)[name]
        assert dict(zip((f.name for f in layout.fields), layout.offsets, strict=True))["dst_factor_out"] == 64


def test_widths_follow_the_depths() -> None:
    config = CONFIGS["in16out32"]
    widths = {field.name: field.width for field in instruction_layouts(config)["GEMM"].fields}
    assert (widths["dst_factor_in"], widths["src_factor_in"], widths["wgt_factor_in"]) == (10, 11, 9)
    assert [field.width for field in uop_layout(config).fields] == [10, 11, 9, 2]
    alu = {field.name: field.width for field in instruction_layouts(config)["ALU"].fields}
    assert (alu["dst_factor_in"], alu["src_factor_in"]) == (10, 10)


def test_a_field_refuses_what_it_cannot_hold() -> None:
    field = Field("dst_factor_out", 11)
    assert field.encode(2047) == 2047
    for value in (2048, -1):
        with pytest.raises(EncodingError) as error:
            field.encode(value)
        assert str(error.value) == f"field 'dst_factor_out' holds 11 bits, not {value}"


def test_a_signed_field_holds_twos_complement() -> None:
    field = Field("imm", 16, signed=True)
    assert (field.encode(-1), field.encode(-32768), field.encode(32767)) == (0xFFFF, 0x8000, 0x7FFF)
    assert (field.decode(0xFFFF), field.decode(0x8000), field.decode(0x7FFF)) == (-1, -32768, 32767)
    for value in (32768, -32769, 40000):
        with pytest.raises(EncodingError) as error:
            field.encode(value)
        assert str(error.value) == f"field 'imm' holds 16 signed bits, not {value}"


def test_a_field_of_one_bit_and_one_of_none() -> None:
    with pytest.raises(EncodingError) as error:
        Field("reset", 1).encode(2)
    assert str(error.value) == "field 'reset' holds 1 bit, not 2"
    assert Field("dst", 0).encode(0) == 0
    with pytest.raises(EncodingError) as error:
        Field("dst", 0).encode(1)
    assert str(error.value) == "field 'dst' holds 0 bits, not 1"


def test_an_unused_field_holds_zero_only() -> None:
    field = Field("unused_63", 1, unused=True)
    assert field.encode(0) == 0
    with pytest.raises(EncodingError) as error:
        field.encode(1)
    assert str(error.value) == "field 'unused_63' holds 1 bit, not 1"


def test_a_field_holds_whole_numbers() -> None:
    for value in (1.0, None, "1"):
        with pytest.raises(EncodingError) as error:
            Field("x_size", 16).encode(value)  # type: ignore[arg-type]
        assert str(error.value) == f"field 'x_size' holds a whole number, not {value!r}"


class _Nine(IntEnum):
    FIRST = 0
    NINTH = 8


def test_an_enumeration_that_its_field_cannot_hold_is_refused() -> None:
    assert Field("four", 4, entries=_Nine).high == 15
    with pytest.raises(ValueError, match="holds 3 bits") as error:
        Field("three", 3, entries=_Nine)
    assert str(error.value) == "field 'three' holds 3 bits, not 8 (NINTH): take a free code, or widen the field"


def test_opcodes_memories_and_operations_fit_their_fields() -> None:
    entries = {
        field.name: field.entries
        for layout in instruction_layouts(VTAConfig()).values()
        for field in layout.fields
        if field.entries is not None
    }
    assert entries == {"opcode": Opcode, "memory": MemoryId, "alu_opcode": AluOpcode}


def test_two_fields_of_one_name_are_no_layout() -> None:
    with pytest.raises(ValueError, match=r"^layout 'X' has two fields of one name$"):
        Layout("X", (Field("a", 1), Field("a", 2)))


def test_a_field_is_found_by_its_name() -> None:
    assert uop_layout(VTAConfig()).field("wgt").width == 10
    with pytest.raises(KeyError):
        uop_layout(VTAConfig()).field("none")


def test_the_depthwise_flag_is_the_free_bit_of_gemm() -> None:
    with_flag = instruction_layouts(VTAConfig(depthwise_taps=3))
    without = instruction_layouts(VTAConfig())
    gemm = with_flag["GEMM"]
    assert gemm.offsets[gemm.fields.index(gemm.field("depthwise"))] == 63
    assert without["GEMM"].unused_mask == 1 << 63
    assert {name: layout for name, layout in with_flag.items() if name != "GEMM"} == {
        name: layout for name, layout in without.items() if name != "GEMM"
    }


def test_the_fused_flag_is_the_free_bit_of_alu() -> None:
    with_flag = instruction_layouts(VTAConfig(fused_alu=1))
    without = instruction_layouts(VTAConfig())
    alu = with_flag["ALU"]
    assert alu.offsets[alu.fields.index(alu.field("fused"))] == 63
    assert without["ALU"].unused_mask == 1 << 63 | 1 << 7
    assert {name: layout for name, layout in with_flag.items() if name != "ALU"} == {
        name: layout for name, layout in without.items() if name != "ALU"
    }
