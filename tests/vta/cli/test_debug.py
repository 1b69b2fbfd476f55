"""``vta debug`` from ``--commands``, a pipe and a script."""

from pathlib import Path

from typer.testing import CliRunner, Result

from vta.cli.app import app

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
EXAMPLE = EXAMPLES / "add_three.vta"
FIRST = "0: load.acc sram=0 dram=0x40 y=1 x=64 stride=64"


def vta(*arguments: str | Path, text: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], input=text)


def test_commands_come_from_the_option_or_a_pipe() -> None:
    script = ["break acc 5", "continue", "continue", "acc 5", "quit", "never reached"]
    option, pipe = vta("debug", EXAMPLE, "--commands", ";".join(script)), vta("debug", EXAMPLE, text="\n".join(script))
    assert option.exit_code == pipe.exit_code == 0, option.output
    assert option.stdout == pipe.stdout
    assert option.stdout.splitlines() == [
        FIRST,
        "breakpoint 1: ACC element 5",
        "breakpoint 1: it writes ACC element 5",
        "2: alu.add uop=0:1 iter=1,64 dst=0,1 src=0,1 imm=3 push_next",
        "breakpoint 1: it reads ACC element 5",
        "3: store sram=0 dram=0x200 y=1 x=64 stride=64 pop_prev push_prev",
        "ACC[5]: " + " ".join(str(-512 + 80 + i + 3) for i in range(16)),
    ]


def test_a_script_ends_at_a_command_that_cannot_be_done() -> None:
    result = vta("debug", EXAMPLE, "--commands", "step; nonsense; step")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "error: 'nonsense' is no command: see 'help'"


def test_a_launch_of_a_script_is_debugged_with_its_origins() -> None:
    result = vta("debug", EXAMPLES / "vector_add.py", "--commands", "goto 3; where")
    assert result.exit_code == 0, result.output
    assert "(vector_add.py:" in result.stdout.splitlines()[-1] or "vector_add.py" in result.stdout


def test_an_illegal_or_missing_program_is_one_sentence(tmp_path: Path) -> None:
    bad = tmp_path / "bad.vta"
    bad.write_text("load.out x=1\nfinish")
    assert vta("debug", bad).stderr.startswith("error: ")
    assert "none.vta: no such file; expected a .vta" in vta("debug", tmp_path / "none.vta").stderr
    assert "none.py: no such file; expected a .vta or binary program" in vta("debug", tmp_path / "none.py").stderr
