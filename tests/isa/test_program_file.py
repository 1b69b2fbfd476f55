"""Program files: what was saved comes back, the bytes are always the same, anything else is one error."""

import hashlib
import json
import os
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import Finish, Gemm
from isa.origin import Origin
from isa.program import Program, ProgramError
from isa.program_file import MAGIC, load_program, program_from_bytes, program_to_bytes, save_program
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program

FORMAT_1 = "70820cab00c5eba446020a0c2944bcffd061b8e72622436f0e94ec78e8283c90"
"""Digest of a small file of format 1: whoever changes the format raises its version."""


def _sample(seed: int = 0, name: str = "default") -> Program:
    program = random_program(np.random.default_rng(seed), CONFIGS[name], length=8)
    origins = [None if i % 3 == 0 else Origin(f"stage {i % 5}", "a.py:1") for i in range(len(program.instructions))]
    return replace(program, origins=tuple(origins))


@pytest.mark.parametrize("name", CONFIGS)
def test_what_was_saved_comes_back(name: str, tmp_path: Path) -> None:
    program = _sample(1, name)
    path = tmp_path / "program.bin"
    save_program(program, path)
    assert load_program(path) == program
    assert [entry.name for entry in tmp_path.iterdir()] == ["program.bin"]


def test_an_empty_program_comes_back() -> None:
    program = Program(config=VTAConfig(), instructions=())
    assert program_from_bytes(program_to_bytes(program)) == program


def test_equal_programs_have_equal_bytes() -> None:
    assert program_to_bytes(_sample()) == program_to_bytes(_sample())


def test_the_format_does_not_change_unnoticed() -> None:
    program = Program(config=VTAConfig(), instructions=(Gemm(), Finish()), uops=(5,), origins=(Origin("a", "b"), None))
    assert hashlib.sha256(program_to_bytes(program)).hexdigest() == FORMAT_1


def test_every_cut_and_every_changed_byte_is_noticed() -> None:
    data = program_to_bytes(Program(config=VTAConfig(), instructions=(Finish(),), uops=(5,)))
    for end in range(len(data)):
        with pytest.raises(ProgramError):
            program_from_bytes(data[:end])
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 0x10
        with pytest.raises(ProgramError):
            program_from_bytes(bytes(changed))
    with pytest.raises(ProgramError):
        program_from_bytes(data + b"\0")


def _resealed(change: Callable[[dict[str, object]], None], payload: bytes | None = None) -> bytes:
    """Return a file with another header (and payload), and a checksum that matches it."""
    data = program_to_bytes(Program(config=VTAConfig(), instructions=(Finish(),), uops=(5,), origins=(Origin("a"),)))
    _, version, length = struct.unpack_from("<8sII", data)
    header = json.loads(data[16 : 16 + length])
    change(header)
    text = json.dumps(header).encode()
    body = struct.pack("<8sII", MAGIC, version, len(text)) + text
    body += data[16 + length : -32] if payload is None else payload
    return body + hashlib.sha256(body).digest()


def _set(key: str, value: object) -> Callable[[dict[str, object]], None]:
    return lambda header: header.__setitem__(key, value)


SEGMENT = {"address": 0, "bytes": 0, "dtype": "int8", "name": "s", "shape": [0]}
FOREIGN = [
    (b"", "not a VTA program file (it does not begin with VTAPROG)"),
    (b"\x7fELF" + bytes(60), "not a VTA program file (it does not begin with VTAPROG)"),
    (MAGIC + bytes(5), "the file is cut off after 13 bytes"),
    (struct.pack("<8sII", MAGIC, 1, 0) + bytes(31), "the file is cut off after 47 bytes"),
    (
        struct.pack("<8sII", MAGIC, 1, 0) + bytes(32),
        "the file is cut off or damaged (its checksum does not match)",
    ),
    (
        struct.pack("<8sII", MAGIC, 2, 0) + bytes(64),
        "the file has format version 2, and this reader knows version 1",
    ),
    (
        struct.pack("<8sII", MAGIC, 1, 0) + bytes(64),
        "the file is cut off or damaged (its checksum does not match)",
    ),
    (_resealed(_set("instructions", 1), bytes(18)), "the file ends inside its micro-ops"),
    (_resealed(_set("instructions", 1), bytes(22)), "the file ends inside its origins"),
    (_resealed(_set("instructions", 9)), "the file ends inside its instructions"),
    (_resealed(_set("uops", 0)), "the file has 4 bytes that belong to nothing"),
    (_resealed(_set("instructions", -1)), "the header needs a number for 'instructions', not -1"),
    (_resealed(_set("uops", "5")), "the header needs a number for 'uops', not '5'"),
    (_resealed(_set("uops", True)), "the header needs a number for 'uops', not True"),
    (_resealed(lambda h: h.__delitem__("uop_base")), "the header needs a number for 'uop_base', not None"),
    (_resealed(_set("config", 5)), "the header needs an object for 'config', not 5"),
    (_resealed(_set("segments", 5)), "the header needs a list for 'segments', not 5"),
    (_resealed(_set("segments", [5])), "the header has a segment that is not an object"),
    (_resealed(_set("outputs", [5])), "the header has an output that is not an object"),
    (_resealed(_set("segments", [{**SEGMENT, "name": 3}])), "the header needs a text for 'name', not 3"),
    (_resealed(_set("segments", [{**SEGMENT, "bytes": 3}])), "the file ends inside its memory image"),
    (_resealed(_set("segments", [{**SEGMENT, "shape": ["x"]}])), "the header needs a number for 'shape', not 'x'"),
    (
        _resealed(_set("segments", [{**SEGMENT, "dtype": "complex"}])),
        "memory segment s: type 'complex' is none of int8, uint8, int16, uint16, int32, uint32, float32",
    ),
    (_resealed(_set("origins", [])), "an instruction has an origin that the header does not list"),
    (_resealed(_set("origins", [["a"]])), "the header has an origin that is not two to four texts"),
    (_resealed(_set("digest", "0")), "the configuration has digest 86ea070deef8bb9a, and the header says '0'"),
    (_resealed(_set("config", {})), "configuration: missing keys TARGET, HW_VER, "),
    (_resealed(_set("uop_base", 2)), "the micro-op image must start at a multiple of 4, not 0x2"),
    (
        _resealed(lambda _: None, (7).to_bytes(16, "little") + bytes(8)),
        "instruction 0: opcode 7 is unknown; ",
    ),
    (_resealed(lambda _: None, bytes(100)), "the file has 76 bytes that belong to nothing"),
]


@pytest.mark.parametrize(("data", "message"), FOREIGN, ids=range(len(FOREIGN)))
def test_a_foreign_file_is_one_error(data: bytes, message: str) -> None:
    with pytest.raises(ProgramError) as error:
        program_from_bytes(data, where="x.bin")
    assert str(error.value).startswith(f"x.bin: {message}")
    assert str(error.value) == f"x.bin: {message}" or message.endswith(("; ", ", "))


@pytest.mark.parametrize("text", [b"{", b"[" * 5000, b"\xff", b"[]"])
def test_a_header_that_is_no_object_is_refused(text: bytes) -> None:
    body = struct.pack("<8sII", MAGIC, 1, len(text)) + text
    with pytest.raises(ProgramError, match=r"^program: the header is not (JSON|a JSON object)$"):
        program_from_bytes(body + hashlib.sha256(body).digest())


def test_an_illegal_instruction_is_not_saved() -> None:
    with pytest.raises(ProgramError) as error:
        program_to_bytes(Program(config=VTAConfig(), instructions=(Gemm(iter_in=1 << 14),)))
    reason = "instruction 0: GEMM: field 'iter_in' holds 14 bits, not 16384"
    assert str(error.value) == f"a program file holds legal instructions only: {reason}"


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path) -> None:
    with pytest.raises(ProgramError) as error:
        load_program(tmp_path / "none")
    assert str(error.value) == f"{tmp_path / 'none'}: cannot be read: No such file or directory"
    with pytest.raises(ProgramError) as error:
        save_program(_sample(), tmp_path / "none" / "x")
    assert str(error.value) == f"{tmp_path / 'none' / 'x'}: cannot be written: No such file or directory"


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "program.bin"
    save_program(_sample(1), path)
    before = path.read_bytes()

    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ProgramError, match=r"cannot be written: No space left on device$"):
        save_program(_sample(2), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["program.bin"]
