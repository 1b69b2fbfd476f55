"""Words packed by isa.layout are read by the hardware's structs, field by field."""

import numpy as np
import pytest

from hw.layouts import INSTRUCTION_WIDTH, instruction_struct, struct_layout, uop_struct
from isa.layout import Field, Layout, instruction_layouts, uop_layout
from tests.support.configs import CONFIGS


@pytest.mark.parametrize("name", CONFIGS)
def test_a_struct_has_each_field_where_the_layout_has_it(name: str) -> None:
    config = CONFIGS[name]
    rng = np.random.default_rng(1)
    pairs = [(layout, instruction_struct(config, kind)) for kind, layout in instruction_layouts(config).items()]
    pairs.append((uop_layout(config), uop_struct(config)))
    for layout, struct in pairs:
        word = int.from_bytes(rng.bytes(16), "little") & ((1 << layout.width) - 1)
        constant = struct.from_bits(word)
        assert {entry.name: constant[entry.name] for entry in layout.fields} == layout.unpack(word)


def test_an_instruction_has_128_bits() -> None:
    assert all(instruction_struct(CONFIGS["default"], name).size == INSTRUCTION_WIDTH for name in ("LOAD", "ALU"))


def test_a_field_without_bits_is_zero() -> None:
    struct = struct_layout(Layout("small", (Field("a", 0), Field("b", 2))))
    assert (struct.from_bits(3)["a"], struct.from_bits(3)["b"]) == (0, 3)
