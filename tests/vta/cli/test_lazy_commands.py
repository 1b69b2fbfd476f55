"""A command loads its own modules alone, and the list of commands all of them."""

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from vta.cli.app import app
from vta.cli.lazy_commands import lazy_group

HEAVY = ("vta.compat.tvm_names", "vta.explore", "vta.autotvm", "hw.verilog", "vta.quantize")


def test_a_command_does_not_load_what_others_need() -> None:
    code = (
        "import sys\nfrom vta.cli import main\n"
        "try:\n    main(['check', 'no.vta'])\nexcept SystemExit as end:\n    assert end.code == 1\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_command_is_there_with_its_help() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    assert len(group.commands) > 20
    listed = CliRunner().invoke(app, ["--help"]).output
    for name, command in group.commands.items():
        assert command.name == name
        assert f" {name} " in listed
        assert f"vta {name}" in CliRunner().invoke(app, [name, "--help"]).output


def test_a_near_name_is_suggested() -> None:
    done = CliRunner().invoke(app, ["chek"])
    assert done.exit_code == 2
    assert "Did you mean 'check'?" in done.output


def test_groups_and_functions_are_commands_under_the_names_of_the_table() -> None:
    places = {"one": "vta.cli.commands.check:check", "many": "vta.cli.commands.config:config_app"}
    group = typer.main.get_command(typer.Typer(cls=lazy_group(places), no_args_is_help=True, callback=lambda: None))
    assert isinstance(group, typer.core.TyperGroup)
    assert list(group.commands) == ["one", "many"]
    assert [command.name for command in group.commands.values()] == ["one", "many"]
    assert "other" not in group.commands
    assert group.commands.get("other") is None
    with pytest.raises(KeyError):
        group.commands["other"]
