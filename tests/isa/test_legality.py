"""Illegal words: refused by encoder and decoder alike, each with its sentence."""

import pytest

from isa.config import VTAConfig
from isa.encoding import DecodingError, EncodingError, decode, encode
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Instruction, Load, MemoryId, Store
from isa.layout import instruction_layouts
from isa.legality import broken_rule, legality_rules

UOP = MemoryId.UOP
INT4 = VTAConfig(log_inp_width=2, log_inp_buff_size=14)

NO_LEFT = "but the load module, which runs it, has no module to its left"
NO_RIGHT = "but the store module has no module to its right"
AFTER = "but nothing runs after FINISH (it may pop)"

ILLEGAL: list[tuple[Instruction, str]] = [
    (Load(memory=MemoryId.OUT), "LOAD: memory OUT cannot be loaded, only stored"),
    (Load(memory=MemoryId.OUT, x_size=1, y_size=1), "LOAD: memory OUT cannot be loaded, only stored"),
    (Load(memory=MemoryId.INP, deps=Deps(pop_prev=True)), f"LOAD: pop_prev is set, {NO_LEFT}"),
    (Load(memory=MemoryId.WGT, deps=Deps(push_prev=True)), f"LOAD: push_prev is set, {NO_LEFT}"),
    (Load(memory=UOP, x_size=4, y_size=2), "LOAD: a load of micro-ops is flat, y_size must be 1, not 2"),
    (Load(memory=UOP, x_size=4, y_size=0), "LOAD: a load of micro-ops is flat, y_size must be 1, not 0"),
    *(
        (
            Load(memory=UOP, x_size=size, y_size=1, **{pad: 3}),  # type: ignore[arg-type]
            f"LOAD: a load of micro-ops has no padding, {pad} must be 0, not 3",
        )
        for pad in ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1")
        for size in (0, 4)
    ),
    (
        Store(memory=MemoryId.ACC, x_size=1, y_size=1),
        "STORE: memory must be OUT 4 where data is moved, not 3",
    ),
    (Store(memory=UOP, x_size=1, y_size=1), "STORE: memory must be OUT 4 where data is moved, not 0"),
    (Store(deps=Deps(pop_next=True)), f"STORE: pop_next is set, {NO_RIGHT}"),
    (Store(deps=Deps(push_next=True)), f"STORE: push_next is set, {NO_RIGHT}"),
    *(
        (Store(**{pad: 15}), f"STORE: a store has no padding, {pad} must be 0, not 15")  # type: ignore[arg-type]
        for pad in ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1")
    ),
    (Finish(deps=Deps(push_prev=True)), f"FINISH: push_prev is set, {AFTER}"),
    (Finish(deps=Deps(push_next=True)), f"FINISH: push_next is set, {AFTER}"),
]


def _packed(instruction: Instruction, config: VTAConfig) -> int:
    """Return the word without asking whether it is legal."""
    name = type(instruction).__name__.upper()
    layout = instruction_layouts(config)[name]
    values = {"opcode": {"LOAD": 0, "STORE": 1, "FINISH": 3}[name]}
    for field in layout.used[1:]:
        source = instruction.deps if hasattr(instruction.deps, field.name) else instruction
        values[field.name] = int(getattr(source, field.name))
    return layout.pack(values)


@pytest.mark.parametrize(("instruction", "message"), ILLEGAL)
def test_an_illegal_instruction_is_refused_in_both_directions(instruction: Instruction, message: str) -> None:
    with pytest.raises(EncodingError) as encoding:
        encode(instruction, VTAConfig())
    assert str(encoding.value) == message
    with pytest.raises(DecodingError) as decoding:
        decode(_packed(instruction, VTAConfig()), VTAConfig())
    assert str(decoding.value) == message


def test_unknown_memories_and_operations_are_refused() -> None:
    for memory in (6, 7):
        with pytest.raises(DecodingError) as error:
            decode(memory << 7, VTAConfig())
        memories = "UOP 0, WGT 1, INP 2, ACC 3, ACC_8BIT 5"
        assert str(error.value) == f"LOAD: memory {memory} is unknown; the memories are {memories}"
        with pytest.raises(DecodingError) as error:
            decode(memory << 7 | 1, VTAConfig())
        reason = f"memory {memory} is unknown; a store that moves data has memory OUT 4"
        assert str(error.value) == f"STORE: {reason}"
    for operation in {*range(8)} - {*AluOpcode}:
        with pytest.raises(DecodingError) as error:
            decode(operation << 108 | 4, VTAConfig())
        operations = ", ".join(f"{entry.name} {entry.value}" for entry in AluOpcode)
        assert str(error.value) == f"ALU: operation {operation} is unknown; the operations are {operations}"


def test_8_bit_accumulator_loads_need_8_bit_inputs() -> None:
    load = Load(memory=MemoryId.ACC_8BIT, x_size=1, y_size=1)
    assert decode(encode(load, VTAConfig()), VTAConfig()) == load
    with pytest.raises(EncodingError) as error:
        encode(load, INT4)
    reason = "memory ACC_8BIT needs inputs of 8 bits, and this configuration has 4"
    assert str(error.value) == f"LOAD: {reason}"
    with pytest.raises(DecodingError, match=reason):
        decode(encode(load, VTAConfig()), INT4)


LEGAL: list[Instruction] = [
    Load(memory=UOP),
    Load(memory=UOP, y_size=5),
    Load(memory=UOP, x_size=4, y_size=1, x_stride=77),
    Load(memory=UOP, deps=Deps(pop_prev=True, pop_next=True, push_prev=True, push_next=True)),
    Load(memory=MemoryId.ACC, deps=Deps(pop_prev=True, pop_next=True, push_prev=True, push_next=True)),
    Load(memory=MemoryId.INP, deps=Deps(pop_next=True, push_next=True)),
    Load(memory=MemoryId.INP, y_size=0, x_size=3, y_pad_0=15),
    Store(memory=UOP),
    Store(memory=MemoryId.ACC_8BIT, x_size=3),
    Store(memory=MemoryId.INP, y_size=3),
    Store(deps=Deps(pop_prev=True, push_prev=True)),
    Gemm(uop_bgn=7, uop_end=3, iter_out=0, iter_in=0),
    Alu(alu_opcode=AluOpcode.MUL, imm=-5),
    Finish(deps=Deps(pop_prev=True, pop_next=True)),
]


@pytest.mark.parametrize("instruction", LEGAL)
def test_what_looks_odd_and_is_legal_comes_back(instruction: Instruction) -> None:
    assert decode(encode(instruction, VTAConfig()), VTAConfig()) == instruction


def test_the_rules_are_sorted_by_layout() -> None:
    for name, rules in legality_rules(VTAConfig()).items():
        assert all(rule.layout == name for rule in rules)
        names = {field.name for field in instruction_layouts(VTAConfig())[name].used}
        assert all(condition.field in names for rule in rules for condition in rule.conditions)
    assert broken_rule("GEMM", {}, VTAConfig()) is None


@pytest.mark.parametrize("opcode", AluOpcode)
@pytest.mark.parametrize("use_imm", [False, True])
def test_fused_steps_begin_with_two_operations_alone_and_have_no_immediate_operand(
    opcode: AluOpcode, use_imm: bool
) -> None:
    config = VTAConfig(fused_alu=1)
    alu = Alu(alu_opcode=opcode, fused=True, use_imm=use_imm)
    if opcode in (AluOpcode.MAX, AluOpcode.MUL) and not use_imm:
        assert decode(encode(alu, config), config) == alu
        return
    text = "ALU: fused is set, so that imm is what is shifted by and operands are accumulators, use_imm must be 0"
    if opcode not in (AluOpcode.MAX, AluOpcode.MUL):
        text = f"ALU: fused is set, and the first of two operations is MAX 1, MUL 4, not {opcode}"
    with pytest.raises(EncodingError) as caught:
        encode(alu, config)
    assert str(caught.value) == text
    word = encode(Alu(alu_opcode=opcode, use_imm=use_imm), config) | 1 << 63
    with pytest.raises(DecodingError) as refused:
        decode(word, config)
    assert str(refused.value) == text
