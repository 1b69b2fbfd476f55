"""The configuration: derived sizes, every rule with its whole message, files, digest."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from isa.config import TARGETS, ConfigError, VTAConfig
from isa.instructions import MemoryId
from tests.support.configs import CONFIGS

CONFIG_FOLDER = Path(__file__).resolve().parents[2] / "config"
PRESETS = Path(__file__).resolve().parents[2] / "isa" / "presets"
SAMPLES = sorted(PRESETS.glob("*.json"))
NARROW = VTAConfig(log_inp_width=2, log_wgt_width=1, log_inp_buff_size=14, log_wgt_buff_size=16)


def test_the_default_has_upstreams_sizes() -> None:
    config = VTAConfig()
    assert (config.batch, config.block_in, config.block_out) == (1, 16, 16)
    assert (config.inp_width, config.wgt_width, config.acc_width, config.out_width) == (8, 8, 32, 8)
    assert (config.inp_dtype, config.wgt_dtype, config.acc_dtype, config.out_dtype) == ("int8", "int8", "int32", "int8")
    sizes = {
        MemoryId.UOP: (config.uop_elem_bytes, config.uop_buff_bytes, config.uop_depth, config.log_uop_depth),
        MemoryId.INP: (config.inp_elem_bytes, config.inp_buff_bytes, config.inp_depth, config.log_inp_depth),
        MemoryId.WGT: (config.wgt_elem_bytes, config.wgt_buff_bytes, config.wgt_depth, config.log_wgt_depth),
        MemoryId.ACC: (config.acc_elem_bytes, config.acc_buff_bytes, config.acc_depth, config.log_acc_depth),
        MemoryId.OUT: (config.out_elem_bytes, config.out_buff_bytes, config.out_depth, config.log_out_depth),
    }
    assert sizes == {
        MemoryId.UOP: (4, 32768, 8192, 13),
        MemoryId.INP: (16, 32768, 2048, 11),
        MemoryId.WGT: (256, 262144, 1024, 10),
        MemoryId.ACC: (64, 131072, 2048, 11),
        MemoryId.OUT: (16, 32768, 2048, 11),
    }
    assert {m: (config.elem_bytes(m), config.depth(m)) for m in MemoryId} == {
        MemoryId.UOP: (4, 8192),
        MemoryId.INP: (16, 2048),
        MemoryId.WGT: (256, 1024),
        MemoryId.ACC: (64, 2048),
        MemoryId.OUT: (16, 2048),
        MemoryId.ACC_8BIT: (16, 2048),
    }


@pytest.mark.parametrize("config", [*CONFIGS.values(), NARROW], ids=[*CONFIGS, "narrow"])
def test_a_buffer_is_its_depth_times_its_element(config: VTAConfig) -> None:
    assert config.uop_depth * 32 == 8 * config.uop_buff_bytes
    assert config.inp_depth * config.batch * config.block_in * config.inp_width == 8 * config.inp_buff_bytes
    assert config.wgt_depth * config.block_out * config.block_in * config.wgt_width == 8 * config.wgt_buff_bytes
    assert config.acc_depth * config.batch * config.block_out * 32 == 8 * config.acc_buff_bytes
    assert config.out_depth == config.acc_depth
    assert config.out_depth * config.batch * config.block_out * config.inp_width == 8 * config.out_buff_bytes
    assert config.inp_elem_bits == 8 * config.inp_elem_bytes
    assert config.wgt_elem_bits == 8 * config.wgt_elem_bytes
    assert config.acc_elem_bits == 8 * config.acc_elem_bytes
    assert config.out_elem_bits == 8 * config.out_elem_bytes


def test_configurations_that_mean_the_same_are_equal() -> None:
    assert VTAConfig(log_block_in=4) == VTAConfig(log_block_out=4) == VTAConfig()
    assert VTAConfig(log_block_in=5, log_block_out=5) == VTAConfig(log_block=5)
    assert VTAConfig(log_block=5, log_block_in=4) == VTAConfig(log_block_in=4, log_block_out=5)
    assert hash(VTAConfig(log_block_in=4)) == hash(VTAConfig())


def test_replacing_the_block_changes_both_sides() -> None:
    assert replace(VTAConfig(), log_block=5) == VTAConfig(log_block=5)


def test_names_are_upstreams() -> None:
    assert VTAConfig().bitstream == "1x16_i8w8a32_15_15_18_17"
    assert VTAConfig(target="tsim").model == "tsim_1x16_i8w8a32_15_15_18_17"
    assert CONFIGS["in16out32"].bitstream == "1x16x32_i8w8a32_15_15_18_17"


def test_the_digest_covers_what_decides_programs() -> None:
    digests = {config.digest for config in [*CONFIGS.values(), NARROW]}
    assert len(digests) == len(CONFIGS) + 1
    assert VTAConfig(target="pynq", hw_ver="9").digest == VTAConfig().digest
    assert VTAConfig().digest == "86ea070deef8bb9a"


# --- rules -----------------------------------------------------------------------------------------------------------

BROKEN: list[tuple[dict[str, object], str]] = [
    (
        {"log_inp_width": 4},
        "LOG_INP_WIDTH is 4, but inputs have 1, 2, 4 or 8 bits (0 to 3); the nearest value that fits is 3",
    ),
    (
        {"log_wgt_width": 5},
        "LOG_WGT_WIDTH is 5, but weights have 1, 2, 4 or 8 bits (0 to 3); the nearest value that fits is 3",
    ),
    (
        {"log_acc_width": 6},
        "LOG_ACC_WIDTH is 6, but accumulators have 32 bits; the nearest value that fits is 5",
    ),
    ({"log_acc_width": 4}, "LOG_ACC_WIDTH is 4, but accumulators have 32 bits; the nearest value that fits is 5"),
    ({"log_batch": -1}, "LOG_BATCH is -1, but a batch has at least one row; the nearest value that fits is 0"),
    (
        {"log_block": -1},
        "LOG_BLOCK is -1, but a block has at least one lane; the nearest value that fits is 4",
    ),
    (
        {"log_block": -2, "log_block_in": 4, "log_block_out": 4},
        "LOG_BLOCK is -2, but a block has at least one lane; the nearest value that fits is 0",
    ),
    (
        {"log_block_in": -2},
        "LOG_BLOCK_IN is -2, but a block has at least one lane; the nearest value that fits is 4",
    ),
    (
        {"log_block_out": -2},
        "LOG_BLOCK_OUT is -2, but a block has at least one lane; the nearest value that fits is 4",
    ),
    (
        {"log_block": 7},
        "LOG_BLOCK is 7, but a weight element of 16384 bytes is larger than a page of 4096 bytes; "
        "the nearest value that fits is 6",
    ),
    (
        {"log_block": 10**9},
        "LOG_BLOCK is 1000000000, but a weight element of 2^2000000000 bytes is larger than a page of 4096 bytes; "
        "the nearest value that fits is 6",
    ),
    (
        {"log_inp_buff_size": 10**9},
        "LOG_INP_BUFF_SIZE is 1000000000, but the input buffer has 2^999999996 elements and sram_base (16 bits) "
        "reaches 2^16; the nearest value that fits is 15",
    ),
    (
        {"log_inp_width": 4, "log_inp_buff_size": 16},
        "LOG_INP_WIDTH is 4, but inputs have 1, 2, 4 or 8 bits (0 to 3); the nearest value for this rule is 3",
    ),
    (
        {"log_block_in": 20, "log_block_out": 21, "log_batch": 20},
        "LOG_BLOCK_IN is 20, but a weight element of 2^41 bytes is larger than a page of 4096 bytes; "
        "LOG_BLOCK_IN and LOG_BLOCK_OUT must change together",
    ),
    (
        {"log_batch": 7},
        "LOG_BATCH is 7, but an accumulator element of 8192 bytes is larger than a page of 4096 bytes; "
        "the nearest value that fits is 6",
    ),
    (
        {"log_block_in": 9, "log_block_out": 3, "log_batch": 4},
        "LOG_BLOCK_IN is 9, but an input element of 8192 bytes is larger than a page of 4096 bytes; "
        "the nearest value that fits is 8",
    ),
    (
        {"log_block_in": 1, "log_inp_width": 0, "log_inp_buff_size": 10, "log_wgt_buff_size": 17},
        "LOG_BLOCK_IN is 1, but an input element of 2 bits is less than one byte; the nearest value that fits is 3",
    ),
    (
        {"log_block_in": 5, "log_block_out": 1, "log_inp_width": 0, "log_acc_buff_size": 13, "log_inp_buff_size": 10},
        "LOG_BLOCK_OUT is 1, but an output element of 2 bits is less than one byte; the nearest value that fits is 3",
    ),
    (
        {"log_uop_buff_size": 1},
        "LOG_UOP_BUFF_SIZE is 1, but the micro-op buffer does not hold one whole element; "
        "the nearest value that fits is 2",
    ),
    (
        {"log_inp_buff_size": 3},
        "LOG_INP_BUFF_SIZE is 3, but the input buffer does not hold one whole element; "
        "the nearest value that fits is 4",
    ),
    (
        {"log_wgt_buff_size": 0},
        "LOG_WGT_BUFF_SIZE is 0, but the weight buffer does not hold one whole element; "
        "the nearest value that fits is 8",
    ),
    (
        {"log_acc_buff_size": 5},
        "LOG_ACC_BUFF_SIZE is 5, but the accumulator buffer does not hold one whole element; "
        "the nearest value that fits is 6",
    ),
    (
        {"log_inp_buff_size": 21, "log_acc_buff_size": 8, "log_wgt_buff_size": 10},
        "LOG_INP_BUFF_SIZE is 21, but the input buffer has 2^17 elements and sram_base (16 bits) reaches 2^16; "
        "the nearest value that fits is 20",
    ),
    (
        {"log_uop_buff_size": 16},
        "LOG_UOP_BUFF_SIZE is 16, but the low word of GEMM and ALU needs 37 + 2 x 14 micro-op index bits and has 64; "
        "the nearest value that fits is 15",
    ),
    (
        {"log_acc_buff_size": 18},
        "LOG_ACC_BUFF_SIZE is 18, but the high word of ALU needs 20 + 4 x 12 accumulator index bits and has 64; "
        "the nearest value that fits is 17",
    ),
    (
        {"log_wgt_buff_size": 19},
        "LOG_WGT_BUFF_SIZE is 19, but the high word of GEMM needs 2 x (11 accumulator + 11 input + 11 weight) "
        "index bits and has 64; the nearest value that fits is 18",
    ),
    (
        {"log_inp_buff_size": 16},
        "LOG_INP_BUFF_SIZE is 16, but the high word of GEMM needs 2 x (11 accumulator + 12 input + 10 weight) "
        "index bits and has 64; the nearest value that fits is 15",
    ),
    (
        {"log_acc_buff_size": 17, "log_inp_buff_size": 13, "log_wgt_buff_size": 19},
        "LOG_WGT_BUFF_SIZE is 19, but a micro-op needs 11 accumulator, 11 source and 11 weight index bits and has 32; "
        "the nearest value that fits is 18",
    ),
    ({"log_batch": "0"}, "LOG_BATCH is '0', but it must be a whole number (a logarithm)"),
    ({"log_batch": True}, "LOG_BATCH is True, but it must be a whole number (a logarithm)"),
    ({"log_inp_buff_size": 15.0}, "LOG_INP_BUFF_SIZE is 15.0, but it must be a whole number (a logarithm)"),
    ({"hw_ver": ""}, "HW_VER is '', but it must be a text like '0.0.2'"),
    (
        {"target": "ultra69"},
        "TARGET is 'ultra69', but it must be one of sim, tsim, reference, pynq, ultra96, zcu104, de10nano, intelfocl",
    ),
]


@pytest.mark.parametrize(("fields", "message"), BROKEN, ids=[" ".join(fields) for fields, _ in BROKEN])
def test_a_broken_rule_is_told_in_one_sentence(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        VTAConfig(**fields)  # type: ignore[arg-type]
    assert str(error.value) == message


def test_the_nearest_value_fits() -> None:
    found = 0
    for fields, message in BROKEN:
        key, _, value = message.partition(" is ")
        if "; the nearest value that fits is " in value:
            nearest = int(value.rpartition(" ")[2])
            VTAConfig(**{**fields, key.lower(): nearest})  # type: ignore[arg-type]
            found += 1
    assert found > 20


def test_the_largest_configuration_that_fits_is_legal() -> None:
    config = VTAConfig(log_uop_buff_size=2, log_inp_buff_size=4, log_wgt_buff_size=8, log_acc_buff_size=6)
    assert (config.uop_depth, config.inp_depth, config.wgt_depth, config.acc_depth) == (1, 1, 1, 1)
    assert VTAConfig(log_inp_buff_size=20, log_acc_buff_size=8, log_wgt_buff_size=10).inp_depth == 1 << 16


# --- files -----------------------------------------------------------------------------------------------------------


def test_the_shipped_file_is_the_default() -> None:
    assert VTAConfig.from_json(CONFIG_FOLDER / "vta_config.json") == VTAConfig()


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "default"])
def test_a_sample_file_is_the_test_configuration_of_its_name(name: str) -> None:
    assert VTAConfig.from_json(PRESETS / f"{name}.json") == CONFIGS[name]


@pytest.mark.parametrize("config", [*CONFIGS.values(), NARROW], ids=[*CONFIGS, "narrow"])
def test_a_dictionary_comes_back_as_the_same_configuration(config: VTAConfig) -> None:
    assert VTAConfig.from_dict(config.to_dict()) == config


def _written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "bad.json"
    path.write_text(text)
    return str(path)


DEFAULT_KEYS = json.dumps(VTAConfig().to_dict())
BAD_FILES = [
    ("{", ":1:2: not valid JSON: Expecting property name enclosed in double quotes"),
    ('{"LOG_BATCH": 0,\n "LOG_BLOCK" 4}', ":2:14: not valid JSON: Expecting ':' delimiter"),
    ("[1, 2]", ": expected one JSON object with the configuration keys"),
    ("null", ": expected one JSON object with the configuration keys"),
    ("[" * 100000, ": expected one JSON object with the configuration keys"),
    ('{"LOG_BATCH": 0, "LOG_BATCH": 1}', ": key 'LOG_BATCH' is given twice"),
    (DEFAULT_KEYS.replace("LOG_BLOCK", "LOG_BLOK"), ": unknown key 'LOG_BLOK'; did you mean 'LOG_BLOCK'?"),
    (DEFAULT_KEYS.replace("LOG_BATCH", "log_batch"), ": unknown key 'log_batch'; did you mean 'LOG_BATCH'?"),
    (
        DEFAULT_KEYS.replace("LOG_BATCH", "xyz"),
        ": unknown key 'xyz'; the keys are TARGET, HW_VER, LOG_INP_WIDTH, LOG_WGT_WIDTH, LOG_ACC_WIDTH, LOG_BATCH, "
        "LOG_BLOCK, LOG_BLOCK_IN, LOG_BLOCK_OUT, LOG_UOP_BUFF_SIZE, LOG_INP_BUFF_SIZE, LOG_WGT_BUFF_SIZE, "
        "LOG_ACC_BUFF_SIZE, DEPTHWISE_TAPS, FUSED_ALU",
    ),
    (
        DEFAULT_KEYS[:-1] + ', "LOG_OUT_WIDTH": 3}',
        ": unknown key 'LOG_OUT_WIDTH'; leave it out, outputs have the width of inputs, LOG_INP_WIDTH",
    ),
    (
        '{"TARGET": "sim"}',
        ": missing keys HW_VER, LOG_INP_WIDTH, LOG_WGT_WIDTH, LOG_ACC_WIDTH, LOG_BATCH, LOG_BLOCK, "
        "LOG_UOP_BUFF_SIZE, LOG_INP_BUFF_SIZE, LOG_WGT_BUFF_SIZE, LOG_ACC_BUFF_SIZE",
    ),
    (DEFAULT_KEYS.replace('"LOG_BATCH": 0, ', ""), ": missing key LOG_BATCH"),
    (
        '{"LOG_BLOCK": 17}',
        ": LOG_BLOCK is 17, but a weight element of 2^34 bytes is larger than a page of 4096 bytes; "
        "the nearest value that fits is 6",
    ),
    ('{"TARGET": "fpga"}', f": TARGET is 'fpga', but it must be one of {', '.join(TARGETS)}"),
    (
        DEFAULT_KEYS.replace('"LOG_BATCH": 0', '"LOG_BATCH": null'),
        ": LOG_BATCH is null, but it must have a value (leave it out instead)",
    ),
    (
        DEFAULT_KEYS.replace('"LOG_BATCH": 0', '"LOG_BATCH": -3'),
        ": LOG_BATCH is -3, but a batch has at least one row; the nearest value that fits is 0",
    ),
    (DEFAULT_KEYS.replace('"sim"', "3"), f": TARGET is 3, but it must be one of {', '.join(TARGETS)}"),
]


@pytest.mark.parametrize(("text", "message"), BAD_FILES, ids=range(len(BAD_FILES)))
def test_a_bad_file_is_one_error_that_names_it(tmp_path: Path, text: str, message: str) -> None:
    path = _written(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        VTAConfig.from_json(path)
    assert str(error.value) == path + message


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    with pytest.raises(ConfigError) as error:
        VTAConfig.from_json(path)
    assert str(error.value) == f"{path}: cannot be read: No such file or directory"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError) as error:
        VTAConfig.from_json(path)
    assert str(error.value) == f"{path}: expected JSON in UTF-8, found other bytes"


def test_log_block_may_be_left_out_where_both_blocks_are_given() -> None:
    keys = VTAConfig().to_dict()
    del keys["LOG_BLOCK"]
    assert VTAConfig.from_dict({**keys, "LOG_BLOCK_IN": 4, "LOG_BLOCK_OUT": 4}) == VTAConfig()
    with pytest.raises(ConfigError, match=r"^configuration: missing key LOG_BLOCK$"):
        VTAConfig.from_dict({**keys, "LOG_BLOCK_IN": 4})


# --- user reports ----------------------------------------------------------------------------------------------------


def test_br_019_an_element_larger_than_a_page_is_refused_with_both_sizes() -> None:
    with pytest.raises(ConfigError, match="element of 16384 bytes is larger than a page of 4096 bytes"):
        VTAConfig(log_block=7)


def test_br_049_the_output_buffer_is_as_deep_as_the_accumulator() -> None:
    config = VTAConfig()
    assert config.out_buff_bytes == 1 << 15
    assert config.out_depth == config.acc_depth == 2048
    assert NARROW.out_width == 4
    assert NARROW.out_depth == NARROW.acc_depth
    assert NARROW.out_buff_bytes == NARROW.acc_buff_bytes // 8


def test_br_050_a_block_of_32_is_legal() -> None:
    config = VTAConfig(log_block=5)
    assert (config.inp_depth, config.wgt_depth, config.acc_depth) == (1024, 256, 1024)


def test_br_052_16_bit_operands_and_64_bit_accumulators_are_refused() -> None:
    keys = {"LOG_INP_WIDTH": 4, "LOG_WGT_WIDTH": 4, "LOG_BLOCK": 3}
    keys |= {"LOG_UOP_BUFF_SIZE": 14, "LOG_INP_BUFF_SIZE": 14, "LOG_WGT_BUFF_SIZE": 17, "LOG_ACC_BUFF_SIZE": 16}
    with pytest.raises(ConfigError) as error:
        VTAConfig.from_dict({**VTAConfig().to_dict(), **keys}, where="wide.json")
    assert str(error.value).startswith("wide.json: LOG_INP_WIDTH is 4, but inputs have 1, 2, 4 or 8 bits (0 to 3); ")
    with pytest.raises(ConfigError) as error:
        VTAConfig(log_acc_width=6)
    assert str(error.value) == "LOG_ACC_WIDTH is 6, but accumulators have 32 bits; the nearest value that fits is 5"


@pytest.mark.parametrize("path", SAMPLES, ids=[path.stem for path in SAMPLES])
def test_br_053_every_sample_loads_and_has_derived_values(path: Path) -> None:
    config = VTAConfig.from_json(path)
    assert config.model.startswith(config.target + "_")
    assert min(config.depth(memory) for memory in MemoryId) >= 1
    assert config.to_dict() == json.loads(path.read_text())


def test_br_053_an_unknown_target_lists_the_valid_ones() -> None:
    with pytest.raises(ConfigError) as error:
        VTAConfig.from_dict({**VTAConfig().to_dict(), "TARGET": "zcu102"}, where="mine.json")
    assert str(error.value) == f"mine.json: TARGET is 'zcu102', but it must be one of {', '.join(TARGETS)}"


# --- depthwise taps --------------------------------------------------------------------------------------------------


def test_no_taps_are_no_key_and_no_part_of_the_digest() -> None:
    none, three = VTAConfig(), VTAConfig(depthwise_taps=3)
    assert none.digest == "86ea070deef8bb9a"
    assert VTAConfig.from_dict({**none.to_dict(), "DEPTHWISE_TAPS": 0}) == none
    assert "DEPTHWISE_TAPS" not in none.to_dict()
    assert three.to_dict() == {**none.to_dict(), "DEPTHWISE_TAPS": 3}
    assert VTAConfig.from_dict(three.to_dict()) == three
    assert three.digest != none.digest
    assert three.bitstream == "1x16_i8w8a32_15_15_18_17_d3"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"depthwise_taps": 17},
            "DEPTHWISE_TAPS is 17, but a weight row has a lane for each tap, and none stands for no depthwise GEMM; "
            "the nearest value that fits is 16",
        ),
        (
            {"depthwise_taps": -1},
            "DEPTHWISE_TAPS is -1, but a weight row has a lane for each tap, and none stands for no depthwise GEMM; "
            "the nearest value that fits is 0",
        ),
        (
            {"depthwise_taps": 3, "log_block_out": 5},
            "DEPTHWISE_TAPS is 3, but a depthwise GEMM has as many lanes out as in, and LOG_BLOCK_IN is not "
            "LOG_BLOCK_OUT; the nearest value that fits is 0",
        ),
        (
            {"depthwise_taps": 3, "log_inp_buff_size": 5},
            "DEPTHWISE_TAPS is 3, but a step takes an input element for each tap, and the input buffer has 2; "
            "the nearest value that fits is 2",
        ),
        ({"depthwise_taps": "3"}, "DEPTHWISE_TAPS is '3', but it must be a whole number"),
        ({"depthwise_taps": False}, "DEPTHWISE_TAPS is False, but it must be a whole number"),
    ],
)
def test_taps_that_no_step_can_take_are_refused(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        VTAConfig(**arguments)  # type: ignore[arg-type]
    assert str(caught.value) == text


# --- fused steps of the ALU ------------------------------------------------------------------------------------------


def test_no_fused_steps_are_no_key_and_no_part_of_the_digest() -> None:
    none, fused = VTAConfig(), VTAConfig(fused_alu=1)
    assert VTAConfig.from_dict({**none.to_dict(), "FUSED_ALU": 0}) == none
    assert fused.to_dict() == {**none.to_dict(), "FUSED_ALU": 1}
    assert VTAConfig.from_dict(fused.to_dict()) == fused
    assert len({config.digest for config in (none, fused, VTAConfig(depthwise_taps=1))}) == 3
    assert fused.bitstream == "1x16_i8w8a32_15_15_18_17_f"
    assert VTAConfig(fused_alu=1, depthwise_taps=3).bitstream == "1x16_i8w8a32_15_15_18_17_d3_f"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"fused_alu": 2},
            "FUSED_ALU is 2, but an ALU has fused steps, 1, or none, 0; the nearest value that fits is 1",
        ),
        (
            {"fused_alu": 1, "log_acc_buff_size": 6},
            "FUSED_ALU is 1, but a fused step reads two neighbours, and the accumulator buffer has 1; the nearest "
            "value that fits is 0",
        ),
        ({"fused_alu": True}, "FUSED_ALU is True, but it must be a whole number"),
    ],
)
def test_fused_steps_that_no_alu_has_are_refused(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        VTAConfig(**arguments)  # type: ignore[arg-type]
    assert str(caught.value) == text


def test_a_file_that_is_too_long_is_refused_whatever_it_says(tmp_path: Path) -> None:
    path = _written(tmp_path, json.dumps(VTAConfig().to_dict()) + " " * (1 << 20))
    with pytest.raises(ConfigError) as error:
        VTAConfig.from_json(path)
    assert str(error.value) == (
        f"{path}: expected one JSON object with the configuration keys, found a file of more than 1 MiB"
    )
