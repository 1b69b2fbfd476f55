"""Words in bulk: the same as one at a time, 100,000 of them in a blink, and every recorded stream."""

from dataclasses import replace

import numpy as np
import pytest

from isa.bulk import (
    array_to_words,
    decode_all,
    decode_fields,
    decode_legal,
    decode_uop_fields,
    encode_all,
    encode_fields,
    modules_of,
    words_to_array,
)
from isa.config import VTAConfig
from isa.encoding import DecodingError, EncodingError, decode, encode, encode_uop
from isa.instructions import Alu, AluOpcode, Deps, Finish, Gemm, Instruction, Load, MemoryId, MicroOp, Store
from isa.layout import instruction_layouts
from tests.support.configs import CONFIGS
from tests.support.golden.golden import SPINE_PREFIXES, case_names, load_case
from tests.support.isa.random_words import random_words


@pytest.mark.parametrize("name", CONFIGS)
def test_100000_random_words_decode_and_encode_back(name: str) -> None:
    config = CONFIGS[name]
    array = random_words(np.random.default_rng(1), config, 100_000)
    assert np.array_equal(encode_fields(decode_fields(array, config), config), array)
    assert np.array_equal(encode_all(decode_all(array[:20_000], config), config), array[:20_000])


@pytest.mark.parametrize("name", CONFIGS)
def test_bulk_and_scalar_agree(name: str) -> None:
    config = CONFIGS[name]
    array = random_words(np.random.default_rng(2), config, 2000)
    instructions = [decode(word, config) for word in array_to_words(array)]
    assert decode_all(array, config) == instructions
    modules = modules_of(decode_fields(array, config), len(array))
    assert modules.tolist() == [each.module for each in instructions]
    assert encode_all(instructions, config).tolist() == array.tolist()


@pytest.mark.parametrize(("folder", "name"), case_names())
def test_every_word_of_a_recorded_stream_decodes_and_encodes_back(folder: str, name: str) -> None:
    case = load_case(folder, name)
    array = words_to_array(case.words)
    assert np.array_equal(encode_fields(decode_fields(array, case.config), case.config), array)


@pytest.mark.parametrize(("folder", "name"), case_names(*SPINE_PREFIXES))
def test_every_instruction_of_a_recorded_stream_encodes_back(folder: str, name: str) -> None:
    case = load_case(folder, name)
    for words in (case.words, case.norm_words):
        array = words_to_array(words)
        assert np.array_equal(encode_all(decode_all(array, case.config), case.config), array)


@pytest.mark.parametrize(("folder", "name"), case_names("tut.", "insn."))
def test_the_fields_of_a_recorded_stream_are_the_recorded_ones(folder: str, name: str) -> None:
    case = load_case(folder, name)
    names = {"pop_prev_dep": "pop_prev", "pop_next_dep": "pop_next", "push_prev_dep": "push_prev"}
    names |= {"push_next_dep": "push_next", "memory_type": "memory", "reset_reg": "reset"}
    for launch in case.record["launches"]:
        for entry in launch["insns"]:
            instruction = decode(int(entry["hex"], 16), case.config)
            fields = instruction_layouts(case.config)[entry["op"]]
            for key, value in entry.items():
                field = names.get(key, key)
                if field in {f.name for f in fields.used} and field != "opcode":
                    found = getattr(instruction.deps if field[:3] in ("pop", "pus") else instruction, field)
                    assert int(found) == value, key


def test_words_and_arrays_are_little_endian_pairs() -> None:
    words = [0, (1 << 128) - 1, 0x0123456789ABCDEF_FEDCBA9876543210]
    array = words_to_array(words)
    assert array.tolist() == [[0, 0], [2**64 - 1, 2**64 - 1], [0xFEDCBA9876543210, 0x0123456789ABCDEF]]
    assert array_to_words(array) == words
    assert words_to_array([]).shape == (0, 2)
    assert decode_all(words_to_array([]), VTAConfig()) == []
    assert encode_all([], VTAConfig()).shape == (0, 2)


def test_the_first_illegal_word_is_named() -> None:
    good = encode(Finish(), VTAConfig())
    for bad in (7, good | 1 << 100, encode(Finish(), VTAConfig()) | 1 << 5):
        with pytest.raises(DecodingError) as scalar:
            decode(bad, VTAConfig())
        with pytest.raises(DecodingError) as error:
            decode_all(words_to_array([good, good, bad, good, 6]), VTAConfig())
        assert str(error.value) == f"instruction 2: {scalar.value}"


def _illegal() -> list[Instruction]:
    return [
        Load(memory=MemoryId.OUT, x_size=1),
        Load(memory=MemoryId.INP, x_size=1 << 16),
        Load(memory=MemoryId.UOP, x_size=1, y_size=2),
        Load(memory=MemoryId.INP, deps=Deps(pop_prev=True)),
        Store(memory=MemoryId.ACC, x_size=1, y_size=1),
        Gemm(uop_end=1 << 14),
        Gemm(iter_in=-1),
        Gemm(wgt_factor_in=1 << 70),
        Alu(alu_opcode=AluOpcode.ADD, imm=1 << 15),
        replace(Gemm(), iter_in=1.5),  # type: ignore[arg-type]
        replace(Gemm(), iter_in=None),  # type: ignore[arg-type]
        Finish(deps=Deps(push_next=True)),
    ]


@pytest.mark.parametrize("bad", _illegal())
def test_the_first_illegal_instruction_is_named(bad: Instruction) -> None:
    with pytest.raises(EncodingError) as scalar:
        encode(bad, VTAConfig())
    with pytest.raises(EncodingError) as error:
        encode_all([Finish(), Gemm(), bad, bad], VTAConfig())
    assert str(error.value) == f"instruction 2: {scalar.value}"


@pytest.mark.parametrize("name", CONFIGS)
def test_micro_ops_in_bulk(name: str) -> None:
    config = CONFIGS[name]
    rng = np.random.default_rng(3)
    uops = [
        MicroOp(
            dst=int(rng.integers(config.acc_depth)),
            src=int(rng.integers(config.inp_depth)),
            wgt=int(rng.integers(config.wgt_depth)),
        )
        for _ in range(500)
    ]
    columns = decode_uop_fields(np.array([encode_uop(uop, config) for uop in uops], np.uint32), config)
    found = [
        MicroOp(dst=dst, src=src, wgt=wgt)
        for dst, src, wgt in zip(*(columns[name].tolist() for name in ("dst", "src", "wgt")), strict=True)
    ]
    assert found == uops


def test_a_value_of_64_bits_is_refused_as_it_is() -> None:
    with pytest.raises(
        EncodingError, match=r"^instruction 0: LOAD: field 'dram_base' holds 32 bits, not 9223372036854775808$"
    ):
        encode_all([Load(memory=MemoryId.INP, dram_base=1 << 63, x_size=1)], VTAConfig())


@pytest.mark.parametrize("illegal", [0, 1, 5, 6, None])
def test_the_legal_beginning_ends_before_the_first_illegal_word(illegal: int | None) -> None:
    instructions: list[Instruction] = [Gemm(), Load(memory=MemoryId.INP), Store(), Gemm(), Gemm(), Gemm(), Finish()]
    array = encode_all(instructions, VTAConfig())
    for place in [] if illegal is None else [illegal, 6]:
        array[place, 0] = 7
    count, tables = decode_legal(array, VTAConfig())
    assert count == (7 if illegal is None else illegal)
    assert sorted(index for table in tables.values() for index in table.index.tolist()) == list(range(count))
