"""``vta asm``, ``disasm``, ``check`` and ``run`` on stand-alone programs."""

import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from isa.program_file import load_program
from isa.text.assembler import assemble_file
from vta.cli.app import app

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "add_three.vta"


def vta(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_asm_writes_the_program_that_the_text_describes(tmp_path: Path) -> None:
    target = tmp_path / "add.vtab"
    result = vta("asm", EXAMPLE, "-o", target)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{target}: 5 instructions, 1 micro-op\n"
    assert load_program(target) == assemble_file(EXAMPLE)


@pytest.mark.parametrize("text", ["", "; nothing yet\n", ".text\n"])
def test_a_program_without_instructions_is_not_run(text: str, tmp_path: Path) -> None:
    source = tmp_path / "empty.vta"
    source.write_text(text)
    result = vta("run", source)
    assert result.exit_code == 1
    assert (
        result.stderr
        == f"error: {source}: the program has no instructions; it needs FINISH at least, the line `finish`\n"
    )


def test_asm_does_not_take_a_script(tmp_path: Path) -> None:
    script = tmp_path / "a.py"
    script.write_text("print(1)\n")
    result = vta("asm", script)
    assert result.exit_code == 1
    assert result.stderr == (
        f"error: {script}: expected text assembly, found a script; `vta disasm {script}` prints a launch as text\n"
    )


def test_asm_puts_the_program_beside_its_source(tmp_path: Path) -> None:
    source = tmp_path / "add.vta"
    source.write_text(EXAMPLE.read_text())
    assert vta("asm", source).exit_code == 0
    assert load_program(tmp_path / "add.vtab") == assemble_file(EXAMPLE)


def test_disasm_prints_text_that_assembles_to_the_same_program(tmp_path: Path) -> None:
    binary, text = tmp_path / "add.vtab", tmp_path / "again.vta"
    vta("asm", EXAMPLE, "-o", binary)
    assert vta("disasm", binary, "-o", text).exit_code == 0
    assert assemble_file(text) == load_program(binary)
    assert vta("disasm", binary).stdout == text.read_text()


@pytest.mark.parametrize("target", ["sim", "reference", "tsim"])
@pytest.mark.parametrize("form", ["text", "binary"])
def test_run_prints_outputs_and_counters(tmp_path: Path, target: str, form: str) -> None:
    program = EXAMPLE
    if form == "binary":
        program = tmp_path / "add.vtab"
        vta("asm", EXAMPLE, "-o", program)
    result = vta("run", program, "--target", target, "--stats")
    assert result.exit_code == 0, result.output
    # -512 + 3 keeps the low 8 bits 3; the last element is 511 + 3 = 514, which keeps 2.
    assert result.stdout.startswith("C: int8[64, 16]\n[[  3   4   5 ...")
    assert " 2]]\n" in result.stdout
    rows = {
        line.split("│")[1].strip(): line.split("│")[2].strip() for line in result.stdout.splitlines() if "│" in line
    }
    assert rows["acc_load_nbytes"] == "4,096"
    assert rows["out_store_nbytes"] == "1,024"
    assert rows["uop_load_nbytes"] == "4"
    assert rows["alu_counter"] == "64"


def test_run_writes_the_listing_of_a_program(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    assert vta("run", EXAMPLE, "--trace", trace).exit_code == 0
    assert assemble_file(trace) == assemble_file(EXAMPLE)


def test_check_accepts_a_good_program() -> None:
    result = vta("check", EXAMPLE)
    assert (result.exit_code, result.stdout) == (0, f"{EXAMPLE}: 5 instructions, no errors\n")


def test_check_names_the_instruction_that_waits_for_ever(tmp_path: Path) -> None:
    bad = tmp_path / "bad.vta"
    bad.write_text(EXAMPLE.read_text().replace("imm=3 push_next", "imm=3"))
    result = vta("check", bad)
    assert result.exit_code == 1
    assert f"{bad}: error: " in result.stdout
    assert "instruction 3" in result.stdout
    assert result.stdout.endswith("5 instructions, 2 errors\n")


@pytest.mark.parametrize("target", ["sim", "reference", "tsim"])
def test_run_reports_a_deadlock_in_one_line(tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where the failed launch is packed
    bad = tmp_path / "bad.vta"
    bad.write_text(EXAMPLE.read_text().replace("imm=3 push_next", "imm=3"))
    result = vta("run", bad, "--target", target)
    assert result.exit_code == 1
    packed, error = result.stderr.splitlines()
    assert packed.startswith(f"the launch that failed is packed in {tmp_path}")
    assert error == (
        f"error: {bad}: deadlock: load: nothing left; compute: instruction 4 waits for a token store->compute; "
        "store: instruction 3 waits for a token compute->store"
    )


@pytest.mark.parametrize("command", ["asm", "disasm", "check", "run"])
def test_a_bad_line_is_one_sentence_with_its_place(tmp_path: Path, command: str) -> None:
    bad = tmp_path / "bad.vta"
    bad.write_text(".text\n    laod.inp dram=0 x=1\n")
    result = vta(command, bad)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {bad}:2: ")
    assert "load.inp" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("command", ["asm", "disasm", "check", "run"])
def test_a_missing_file_is_named(tmp_path: Path, command: str) -> None:
    result = vta(command, tmp_path / "none.vta")
    assert result.exit_code == 1
    assert "none.vta" in result.stderr
    assert "Traceback" not in result.output


def test_a_truncated_binary_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "add.vtab"
    vta("asm", EXAMPLE, "-o", binary)
    binary.write_bytes(binary.read_bytes()[:-5])
    result = vta("run", binary)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {binary}: ")


def test_run_refuses_another_configuration_and_names_both(tmp_path: Path) -> None:
    config = tmp_path / "b2.json"
    config.write_text(vta("config", "show", "--json").stdout.replace('"LOG_BATCH": 0', '"LOG_BATCH": 1'))
    binary = tmp_path / "add.vtab"
    vta("asm", EXAMPLE, "-o", binary)
    result = vta("run", binary, "--config", config)
    assert result.exit_code == 1
    assert "1x16_i8w8a32_15_15_18_17, not for 2x16_i8w8a32_15_15_18_17" in result.stderr


def test_an_unknown_target_lists_the_devices() -> None:
    result = vta("run", EXAMPLE, "--target", "gpu")
    assert result.exit_code == 1
    assert result.stderr == "error: device 'gpu' is unknown; the devices are sim, reference, tsim\n"


def test_a_program_takes_no_arguments() -> None:
    result = vta("run", EXAMPLE, "extra")
    assert result.exit_code == 2
    assert "is a program; leave out extra" in " ".join(result.stderr.replace("\u2502", " ").split())
