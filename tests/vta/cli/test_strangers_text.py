"""Names and messages of a stranger's files: no command lets a terminal obey them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isa.instructions import NO_DEPS
from isa.origin import Origin
from isa.program import MemoryImage, Program
from isa.program_file import save_program
from isa.text.assembler import assemble_file
from runtime.devices.device import DeviceError
from runtime.session import Session
from vta import cli
from vta.cli.app import app
from vta.inspect.capsule import Capsule, DeviceSpec, Outcome, save_capsule
from vta.inspect.trace import recording

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

EVIL = "\x1b]0;owned\x07\x1b[2J\r\x9b1m\u202e[bold]\n"
"""Sets the title of a terminal, clears it, hides a line, writes backwards, is mark-up and begins a line."""


def program(*, stuck: bool = False) -> Program:
    """Return a program in which every text is evil; ``stuck`` ends in a deadlock."""
    plain = assemble_file(EXAMPLES / "add_three.vta")
    segments = tuple(replace(segment, name=segment.name + EVIL) for segment in plain.memory.segments)
    outputs = tuple(replace(output, name=output.name + EVIL) for output in plain.memory.outputs)
    instructions = plain.instructions
    if stuck:
        instructions = tuple(replace(i, deps=NO_DEPS) if n == 2 else i for n, i in enumerate(instructions))
    origins = tuple(Origin(EVIL, EVIL, EVIL, EVIL) for _ in instructions)
    memory = MemoryImage(segments=segments, outputs=outputs)
    return replace(plain, instructions=instructions, origins=origins, memory=memory)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs, a trace and capsules full of evil, under evil names; all of them are whole."""
    made = tmp_path_factory.mktemp("evil")
    save_program(program(), made / f"good{EVIL}.vtab")
    save_program(program(stuck=True), made / "stuck.vtab")
    evil = program()
    for name, target in (("sim", "sim"), ("tsim", "tsim"), ("stuck", "tsim")):
        session = Session(evil.config, target)
        with recording(session, made / f"{name}.trace", program=EVIL):
            if name == "stuck":
                with pytest.raises(DeviceError):
                    session.run_program(program(stuck=True))
            session.run_program(evil)
    outcome = Outcome(EVIL, EVIL, None, EVIL)
    save_capsule(Capsule(DeviceSpec("sim"), (evil,), (outcome,), {EVIL: EVIL}, EVIL), made / "wrong.capsule")
    save_capsule(Capsule(DeviceSpec(EVIL), (evil,), (outcome,), {EVIL: EVIL}, EVIL), made / "device.capsule")
    save_capsule(Capsule(DeviceSpec("tsim", {EVIL: 1}), (evil,), (outcome,), {}, EVIL), made / "hardware.capsule")
    (made / "key.json").write_text('{"\\u001b[2J": "\\u001b[2J"}')
    (made / "value.json").write_text('{"TARGET": "\\u001b[2J\\u202e"}')
    (made / "line.vta").write_text("gemm \x1b[2J\x07=\u202e\n")
    (made / "label.vta").write_text('.data "\\u001b[2J\\u202e" type=int8 shape=16 fill 300\n')
    (made / "origin.vta").write_text('finish @ "\\u001b[2J" "x" "y" "z" 5\n')
    (made / "raises.py").write_text(f"raise ValueError({EVIL!r})\n")
    (made / "loads.py").write_text(
        f"from isa.program import MemorySegment\nMemorySegment(address=-1, data=b'', name={EVIL!r})\n"
    )
    return made


@pytest.mark.parametrize(
    "command",
    [
        ("run", "good"),
        ("run", "good", "--sanitize", "--trace", "-", "--stats"),
        ("run", "stuck.vtab"),
        ("run", "wrong.capsule"),
        ("run", "device.capsule"),
        ("run", "hardware.capsule"),
        ("reduce", "wrong.capsule", "-o", "OUT"),
        ("check", "good"),
        ("check", "stuck.vtab"),
        ("disasm", "good"),
        ("disasm", "wrong.capsule"),
        ("diff", "good", "--engines", "reference,sim"),
        ("diff", "good", "stuck.vtab"),
        ("diff", "stuck.vtab", "good"),
        ("diff", "sim.trace", "tsim.trace"),
        (
            "debug",
            "good",
            "--commands",
            "where; list; queues; findings; dram x; break dram; goto 2; dram 0x1000; continue",
        ),
        ("debug", "good", "--commands", f"break {EVIL.strip()}"),
        ("trace", "sim.trace", "--calls"),
        ("trace", "stuck.trace"),
        ("trace", "sim.trace", "--classic"),
        ("explain", "tsim.trace"),
        ("explain", "stuck.trace"),
        ("explain", "sim.trace"),
        ("config", "check", "key.json", "value.json"),
        ("config", "show", "--config", "value.json"),
        ("run", "line.vta"),
        ("run", "label.vta"),
        ("asm", "origin.vta"),
        ("run", "raises.py"),
        ("run", "loads.py"),
        ("run", f"missing{EVIL}"),
    ],
    ids=lambda command: " ".join(command)[:40].encode("unicode_escape").decode(),
)
def test_nothing_of_a_file_is_obeyed(folder: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    names = {path.name: path for path in folder.iterdir()} | {
        "good": folder / f"good{EVIL}.vtab",
        "OUT": tmp_path / "o",
    }
    result = CliRunner().invoke(app, [str(names.get(word, word)) for word in command])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    shown = result.stdout + result.stderr
    assert shown
    assert [c for c in shown if not c.isprintable() and c not in "\n\t"] == []


def test_a_region_of_any_name_is_read(folder: Path) -> None:
    result = CliRunner().invoke(app, ["run", str(folder / f"good{EVIL}.vtab")])
    assert "\\x1b]0;owned\\x07\\x1b[2J\\r\\x9b1m\\u202e[bold]\\n: int8" in result.stdout


def test_the_command_line_prints_in_one_place_alone() -> None:
    """``vta.cli.style`` makes text printable; what prints elsewhere would not."""
    folder = Path(cli.__file__).parent
    ways = re.compile(r"\btyper\.echo\(|(?<![\w.])print\(|\bConsole\(|\b(?:stdout|stderr)\.write\(")
    found = [path.name for path in sorted(folder.rglob("*.py")) if ways.search(path.read_text(encoding="utf-8"))]
    assert found == ["style.py"]
