"""``vta run --remote HOST:PORT``: scripts, programs and networks on a server's device.

Tests: tests/vta/cli/test_remote_run.py.
"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from isa.config import VTAConfig
from runtime.executor.container import is_container, load_network, network_to_bytes
from runtime.executor.network import Network
from vta.chosen_remote import remote_chosen
from vta.cli.capsule import is_capsule
from vta.cli.network_run import described
from vta.cli.networks import feed_of, is_network, loaded_session, shapes_of
from vta.cli.options import chosen_config, given_config
from vta.cli.program_file import read_program
from vta.cli.quantizing import quantised_on_the_way
from vta.cli.reporting import reported
from vta.cli.runs.programs import print_outputs
from vta.cli.runs.wishes import Wishes, save_outputs
from vta.cli.script import run_script
from vta.cli.style import say
from vta.rpc.remote import RemoteSession, connect
from vta.rpc.serving.session_maker import BOARD

__all__ = ["RemoteOption", "run_remotely"]

RemoteOption = Annotated[
    str | None,
    typer.Option("--remote", metavar="HOST:PORT", help="Run on a server's device (`vta serve`), with its key."),
]


def run_remotely(remote: str, file: Path, wishes: Wishes) -> None:
    """Run a file on the server that ``remote`` names, and print what it would print here."""
    _refuse(file, wishes)
    host, _, port = remote.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise typer.BadParameter(f"--remote takes HOST:PORT, not {remote!r}")
    with connect(host.strip("[]"), int(port), key=wishes.target or "") as session:
        if is_network(file):
            _network(session, file, wishes)
        elif file.suffix == ".py":
            _script(session, file, wishes)
        else:
            _program(session, file, wishes)


def _refuse(file: Path, wishes: Wishes) -> None:
    """Raise typer's error for options that look into a device of this process."""
    looking = {
        "--stats": wishes.stats, "--trace": wishes.trace, "--record": wishes.record, "--sanitize": wishes.sanitize,
        "--capsule": wishes.capsule, "--vcd": wishes.vcd, "--json": wishes.as_json, "--check": wishes.check,
        "--set, --hardware or one of its short forms": wishes.settings.config or wishes.settings.hardware,
        "--board": wishes.board,
    }  # fmt: skip
    given = [name for name, value in looking.items() if value]
    if given:
        raise typer.BadParameter(f"{given[0]} looks into a device of this process; leave it out with --remote")
    if is_capsule(file):
        raise typer.BadParameter(f"{file} is a capsule, which runs on the machine that it has packed")


def _script(session: RemoteSession, file: Path, wishes: Wishes) -> None:
    wishes.refuse(
        file,
        "a script",
        {"--input": wishes.inputs, "--shape": wishes.shapes, "--save": wishes.save, "--data": wishes.calibration},
    )
    config = _configuration(session, wishes)
    session.reconfigure(config)
    with remote_chosen(session):
        run_script(file, config, wishes.arguments)


def _program(session: RemoteSession, file: Path, wishes: Wishes) -> None:
    refused = {
        " ".join(wishes.arguments): wishes.arguments,
        "--shape": wishes.shapes,
        "--input": wishes.inputs,
        "--data": wishes.calibration,
    }
    wishes.refuse(file, "a program on a server", refused)
    given = given_config(wishes.config)
    if given is None and session.target == BOARD:
        given = session.config
    program = read_program(file, config=given, limits=wishes.limits)
    session.reconfigure(program.config)
    with reported(program=file):
        outputs = session.run_program(program)
    save_outputs(wishes.save, outputs)
    print_outputs(file, outputs)


def _network(session: RemoteSession, file: Path, wishes: Wishes) -> None:
    with quantised_on_the_way(file, wishes.calibration, wishes.shapes) as model:
        network = _compiled(model, _configuration(session, wishes), wishes)
    session.reconfigure(network.config)
    session.upload(network_to_bytes(network), "network.vtam")
    loaded = session.load_network("network.vtam")
    if not wishes.inputs:
        say("no --input: random numbers", err=True)
    results = loaded.run(
        feed_of(loaded.inputs, wishes.inputs, limits=wishes.limits, preprocessing=wishes.preprocessing)
    )
    save_outputs(wishes.save, results)
    for name, value in results.items():
        say(described(name, value))


def _configuration(session: RemoteSession, wishes: Wishes) -> VTAConfig:
    """Return the configuration that is asked for, by default a board's own, whose target is ``tsim``: the hardware."""
    if session.target != BOARD:
        return replace(chosen_config(wishes.config, None), target=session.target)
    return replace(session.config if wishes.config is None else chosen_config(wishes.config, None), target="tsim")


def _compiled(file: Path, config: VTAConfig, wishes: Wishes) -> Network:
    with open(file, "rb") as opened:
        if is_container(opened.read(8)):
            return load_network(file, limits=wishes.limits)
    return loaded_session(file, config, "sim", shapes_of(wishes.shapes), limits=wishes.limits).network
