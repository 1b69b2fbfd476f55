"""The bench that ``docs/hardware-tests.md`` shows works as it stands there."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from isa.config import VTAConfig
from isa.encoding import encode
from isa.instructions import Finish
from isa.machine.hardware_config import HardwareConfig
from isa.machine.register_map import Access, control_registers
from tests.support.benches.cocotb_run import skip_without
from vta.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "hardware-tests.md"


def block(first_line: str) -> str:
    """Return the code block that begins with ``first_line``."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"```python\n{re.escape(first_line)}\n(.*?)```", text, re.S)
    assert found is not None, first_line
    return found.group(1)


def test_the_example_of_the_page_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bench_mine.py").write_text(block("# tests/cocotb/bench_mine.py"), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    source = block("# tests/cocotb/test_mine.py").replace("tests.cocotb.bench_mine", "bench_mine")
    namespace: dict[str, Callable[[Path], None]] = {}
    exec(source, namespace)
    namespace["test_mine"](tmp_path / "run")


def test_a_wrong_expectation_fails_with_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = block("# tests/cocotb/bench_mine.py").replace('bench.get("available") == 1', 'bench.get("available") == 0')
    (tmp_path / "bench_wrong.py").write_text(wrong, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    source = block("# tests/cocotb/test_mine.py").replace("tests.cocotb.bench_mine", "bench_wrong")
    namespace: dict[str, Callable[[Path], None]] = {}
    exec(source, namespace)
    with pytest.raises(
        pytest.fail.Exception, match=r"bench_wrong failed on token_queue in icarus(.|\n)*a_push_is_seen"
    ):
        namespace["test_mine"](tmp_path / "run")


def test_the_bench_without_support_code_runs_on_what_the_command_writes(tmp_path: Path) -> None:
    skip_without("icarus")
    (command,) = re.findall(
        r"`(vta verilog --shell axi -o vta\.v)` writes the design", PAGE.read_text(encoding="utf-8")
    )
    for name in ("my_bench.py", "run_my_bench.py"):
        (tmp_path / name).write_text(block(f"# {name}"), encoding="utf-8")
    arguments = [word if word != "vta.v" else str(tmp_path / word) for word in command.split()[1:]]
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 0
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    script = [sys.executable, "run_my_bench.py"]
    done = subprocess.run(script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"configuration digest {VTAConfig().digest.lstrip('0')}" in done.stdout + done.stderr
    assert re.search(r"TESTS=1 PASS=1 FAIL=0", done.stdout + done.stderr)


def test_the_word_and_the_offsets_in_that_bench_are_those_of_the_tables() -> None:
    assert encode(Finish(), VTAConfig()) == 3
    offsets = {entry.name: entry.offset for entry in control_registers(VTAConfig(), HardwareConfig())}
    text = block("# my_bench.py")
    for line in ("write_dword(0x10, 0x1000)  # insn_address", "write_dword(0x18, 1)  # insn_count"):
        assert line in text
        assert offsets[line.split("# ")[1]] == int(line.split("(")[1][:4], 16)
    assert (offsets["launch"], offsets["status"], offsets["vta_digest"]) == (0x00, 0x04, 0x80)


def test_a_register_is_a_port_of_the_core_shell_by_its_name() -> None:
    ports = PAGE.read_text(encoding="utf-8").split("### Ports of the core shell", 1)[1]
    registers = control_registers(VTAConfig(), HardwareConfig(cause_counters=0))
    beside = {"status", "irq_enable", "irq_pending"}
    named = [entry.name for entry in registers if entry.access is not Access.CONSTANT and entry.name not in beside]
    for name in (*named, "busy", "done", "error"):
        assert re.search(rf"control_{name}$", ports, re.MULTILINE), name
