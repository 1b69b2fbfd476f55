"""``vta run``: a Python script, an assembly text or a binary program, on a device.

May import everything below, typer and rich.
Tests: tests/vta/cli/test_program_commands.py, tests/vta/cli/test_script_commands.py.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, TextIO

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console

from isa.disassembler import disassemble
from runtime.launch import Launch
from runtime.session import Session
from runtime.stats import Statistics
from vta.cli.account import account_table
from vta.cli.listing import launch_listing
from vta.cli.options import ConfigOption, TargetOption, chosen_config, given_config
from vta.cli.program_file import read_program
from vta.cli.reporting import reported, require_file, stats_table
from vta.cli.script import run_script
from vta.trace import recording

__all__ = ["run"]


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .py script, a .vta assembly or a binary program.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARGS]...", help="Arguments of a script.")] = None,
    target: TargetOption = None,
    config: ConfigOption = None,
    stats: Annotated[bool, typer.Option("--stats", help="Print the device's counters at the end.")] = False,
    trace: Annotated[
        str | None, typer.Option("--trace", metavar="FILE", help="Write each launch's instructions; - is the screen.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="Record what the device did, for `vta trace FILE`.")
    ] = None,
) -> None:
    """Run a script or a program, and say what it computed or what went wrong."""
    with reported():
        require_file(file, "a .py script, a .vta assembly or a binary program")
        if file.suffix == ".py":
            counters = _run_script(file, arguments or [], target, config, trace, record)
        else:
            counters = _run_program(file, arguments or [], target, config, trace, record)
        if stats:
            _print_statistics(counters)


def _print_statistics(statistics: Statistics) -> None:
    """Print the counters and, where there is a clock, what each module spent its cycles on."""
    console = Console()
    console.print(stats_table(statistics.as_dict(), title="statistics of the run"))
    if statistics.account is not None:
        console.print(account_table(statistics.account, title="cycles by module and cause"))


def _run_script(
    file: Path, arguments: list[str], target: str | None, config: Path | None, trace: str | None, record: Path | None
) -> Statistics:
    chosen = chosen_config(config, target)
    if trace is None:
        return run_script(file, chosen, arguments, record=record)
    with _trace_file(trace) as output:
        number = 0

        def write(launch: Launch) -> None:
            nonlocal number
            output.write(launch_listing(launch, number))
            output.flush()
            number += 1

        return run_script(file, chosen, arguments, on_launch=write, record=record)


def _run_program(
    file: Path, arguments: list[str], target: str | None, config: Path | None, trace: str | None, record: Path | None
) -> Statistics:
    if arguments:
        raise typer.BadParameter(f"a program takes no arguments, got {' '.join(arguments)}")
    program = read_program(file, config=given_config(config))
    if trace is not None:
        with _trace_file(trace) as output:
            output.write(disassemble(program))
    session = Session(program.config, target or program.config.target)
    recorded = recording(session, record, program=file.name) if record else nullcontext()
    with reported(program=file), recorded, _killed_by_interrupt():
        outputs = session.run_program(program)
    for name, array in outputs.items():
        typer.echo(f"{name}: {array.dtype}{list(array.shape)}\n{_text(array)}")
    if not outputs:
        typer.echo(f"{file}: finished; the program names no output")
    return session.device.stats


@contextmanager
def _killed_by_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the process at once: a single instruction in native code may take hours, and Python would wait."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _text(array: npt.NDArray[np.generic]) -> str:
    return np.array2string(array, max_line_width=100, threshold=256)


@contextmanager
def _trace_file(name: str) -> Iterator[TextIO]:
    if name == "-":
        yield sys.stdout
        return
    with open(name, "w", encoding="utf-8") as file:
        yield file
