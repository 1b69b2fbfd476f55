"""``vta run``: a Python script, an assembly text or a binary program, on a device.

Tests: tests/vta/cli/test_program_commands.py, tests/vta/cli/test_script_commands.py.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer

from isa.config import VTAConfig
from isa.limits import DEFAULT_LIMITS, Limits
from isa.printable import in_one_line
from isa.program import Program
from isa.text.disassembler import disassemble
from isa.whole_file import open_growing_text
from runtime.observe.stats import Statistics
from runtime.queue.launch import Launch
from runtime.session import Session
from vta.cli.account import account_table
from vta.cli.capsule import is_capsule, packing, replay_capsule
from vta.cli.heartbeat import heartbeat
from vta.cli.listing import launch_listing
from vta.cli.networks import InputOption, ShapeOption, is_network
from vta.cli.options import ConfigOption, LimitsOption, TargetOption, chosen_config, given_config
from vta.cli.program_file import read_program
from vta.cli.programs import programs_of
from vta.cli.reporting import UserError, reported, require_file, require_outputs, stats_table
from vta.cli.sanitizing import LaunchSanitizer, sanitize_programs
from vta.cli.script import run_script
from vta.cli.settings import (
    DataWidthOption,
    HardwareOption,
    LatencyOption,
    QueueDepthOption,
    SetOption,
    Settings,
    settings,
)
from vta.cli.style import Screen, plain, say
from vta.inspect.trace import recording

__all__ = ["run"]


@dataclass(frozen=True, slots=True)
class _Wishes:
    """What to do besides running: where to list, record, pack and draw, whether to check all, what a file may take."""

    trace: str | None
    record: Path | None
    sanitize: bool
    capsule: Path | None
    vcd: Path | None
    signals: tuple[str, ...]
    limits: Limits
    settings: Settings


@dataclass(frozen=True, slots=True)
class _NetworkWishes:
    """What a network is run on, and what of it is written and printed."""

    inputs: list[str] | None
    shapes: list[str] | None
    save: Path | None
    stats: bool


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A script, program or capsule.")],
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
    sanitize: Annotated[
        bool, typer.Option("--sanitize", help="Check every access and number first, on the reference interpreter.")
    ] = False,
    capsule: Annotated[
        Path | None, typer.Option("--capsule", metavar="OUT", help="Pack all that the run depends on, to replay it.")
    ] = None,
    vcd: Annotated[
        Path | None, typer.Option("--vcd", metavar="FILE", help="Write waveforms of the hardware (tsim).")
    ] = None,
    signals: Annotated[
        list[str] | None,
        typer.Option("--signals", metavar="PATTERN", help="What --vcd writes, as 'compute.*'; repeatable."),
    ] = None,
    inputs: InputOption = None,
    shape: ShapeOption = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Write a network's outputs to an .npz file.")
    ] = None,
    max_memory: LimitsOption = DEFAULT_LIMITS,
    set_keys: SetOption = None,
    hardware: HardwareOption = None,
    latency: LatencyOption = None,
    data_width: DataWidthOption = None,
    queue_depth: QueueDepthOption = None,
) -> None:
    """Run a script, a program or a network, and say what it computed or what went wrong."""
    with reported():
        require_file(file, "a .py script, a .vta assembly, a binary program, an ONNX model or a compiled network")
        changed = settings(set_keys, file=hardware, latency=latency, data_width=data_width, queue_depth=queue_depth)
        wishes = _Wishes(trace, record, sanitize, capsule, vcd, tuple(signals or ()), max_memory, changed)
        _require_places(file, wishes)
        if is_network(file):
            require_outputs(file, {"--save": save})
            asked = _NetworkWishes(inputs, shape, save, stats)
            _run_network(file, changed.applied(chosen_config(config, target)), target, wishes, asked)
            return
        for option, given in (("--input", inputs), ("--shape", shape), ("--save", save)):
            if given:
                raise typer.BadParameter(f"{option} is for networks, and {file} is none")
        if is_capsule(file):
            ignored = {
                "--target": target,
                "--config": config,
                "--stats": stats,
                "--trace": trace,
                "--capsule": capsule,
                "--set, --hardware or its short forms": changed.config or changed.hardware,
            }
            _require_replay(arguments, ignored)
            _run_capsule(file, config, wishes)
            return
        counters = _counters_of(file, arguments or [], target, config, wishes)
        if stats:
            _print_statistics(counters)


def _counters_of(
    file: Path, arguments: list[str], target: str | None, config: Path | None, wishes: _Wishes
) -> Statistics:
    """Run a script or a program; return the counters of the device that it ran on."""
    if file.suffix == ".py":
        return _run_script(file, arguments, wishes.settings.applied(chosen_config(config, target)), wishes)
    if arguments:
        raise typer.BadParameter(f"a program takes no arguments, got {' '.join(arguments)}")
    wishes.settings.require_no_config(file)
    return _run_program(file, read_program(file, config=given_config(config), limits=wishes.limits), target, wishes)


def _require_places(file: Path, wishes: _Wishes) -> None:
    """Raise an error unless everything that is asked for can be written, and none of it over ``file``."""
    if wishes.signals and wishes.vcd is None:
        raise typer.BadParameter("--signals chooses what --vcd FILE writes, and there is no --vcd")
    listing = None if wishes.trace in (None, "-") else Path(str(wishes.trace))
    outputs = {"--trace": listing, "--record": wishes.record, "--capsule": wishes.capsule, "--vcd": wishes.vcd}
    require_outputs(file, outputs)


def _require_replay(arguments: list[str] | None, options: Mapping[str, object]) -> None:
    """Raise typer's error if there is anything that replaying a capsule would have to ignore."""
    given = [*(name for name, value in options.items() if value), *(arguments or ())]
    if given:
        raise typer.BadParameter(f"a capsule runs as it was packed, with its own machine; leave out {' '.join(given)}")


def _run_capsule(file: Path, config: Path | None, wishes: _Wishes) -> None:
    if wishes.sanitize and sanitize_programs(programs_of(file, config, limits=wishes.limits), str(file)):
        raise typer.Exit(1)
    replay_capsule(file, limits=wishes.limits, inside=lambda session: _watched(session, file, wishes))


def _run_network(file: Path, config: VTAConfig, target: str | None, wishes: _Wishes, asked: _NetworkWishes) -> None:
    """Run a network; everything that can be done to a script's launches can be done to its own."""
    from vta.cli.network_run import run_network  # and with it ONNX, which takes long to load

    sanitizer = LaunchSanitizer()

    @contextmanager
    def around(session: Session) -> Iterator[None]:
        with ExitStack() as stack:
            watching = _listeners(stack, wishes, sanitizer)
            session.queue.launcher.listeners += [partial(_hear, listener, session) for listener in watching]
            for enter in _inside(file, wishes):
                stack.enter_context(enter(session))
            yield

    run_network(
        file,
        config,
        target,
        inputs=asked.inputs,
        shapes=asked.shapes,
        save=asked.save,
        stats=asked.stats,
        hardware=wishes.settings.setup,
        limits=wishes.limits,
        around=around,
    )
    _tell_sanitized(sanitizer, file, wishes)


def _hear(listener: Callable[[Launch, Session], None], session: Session, launch: Launch) -> None:
    listener(launch, session)


@contextmanager
def _watched(session: Session, file: Path, wishes: _Wishes) -> Iterator[None]:
    """Record and draw what is asked for, and show a sign of life."""
    with _recorded(session, file, wishes), _drawn(session, wishes), heartbeat(session):
        yield


def _print_statistics(statistics: Statistics) -> None:
    """Print the counters and, where there is a clock, what each module spent its cycles on."""
    console = Screen()
    console.print(stats_table(statistics.as_dict(), title="statistics of the run"))
    if statistics.account is not None:
        console.print(account_table(statistics.account, title="cycles by module and cause"))


def _run_script(file: Path, arguments: list[str], config: VTAConfig, wishes: _Wishes) -> Statistics:
    with ExitStack() as stack:
        sanitizer = LaunchSanitizer()
        listeners = _listeners(stack, wishes, sanitizer)

        def on_launch(launch: Launch, session: Session) -> None:
            for listener in listeners:
                listener(launch, session)

        counters = run_script(
            file,
            config,
            arguments,
            hardware=wishes.settings.setup,
            on_launch=on_launch if listeners else None,
            inside=_inside(file, wishes),
        )
    _tell_sanitized(sanitizer, file, wishes)
    return counters


def _listeners(
    stack: ExitStack, wishes: _Wishes, sanitizer: LaunchSanitizer
) -> list[Callable[[Launch, Session], None]]:
    """Return who wants to hear of every launch: what lists it, and what checks it."""
    found: list[Callable[[Launch, Session], None]] = []
    if wishes.trace is not None:
        found.append(_listing_to(stack.enter_context(_trace_file(wishes.trace))))
    if wishes.sanitize:
        found.append(sanitizer.watch)
    return found


def _inside(file: Path, wishes: _Wishes) -> list[Callable[[Session], AbstractContextManager[object]]]:
    """Return what goes on around all launches of a session."""
    return [
        heartbeat,
        lambda session: packing(session, file, wishes.capsule),
        lambda session: _recorded(session, file, wishes),
        lambda session: _drawn(session, wishes),
    ]


def _tell_sanitized(sanitizer: LaunchSanitizer, file: Path, wishes: _Wishes) -> None:
    """Say what the sanitizer looked at, if it was asked for; errors end the command."""
    if wishes.sanitize:
        sanitizer.summary(str(file))
        if sanitizer.errors:
            raise typer.Exit(1)


def _listing_to(write: Callable[[str], None]) -> Callable[[Launch, Session], None]:
    """Return what writes the listing of one launch after the other."""
    numbers = itertools.count()

    return lambda launch, _: write(launch_listing(launch, next(numbers)))


def _recorded(session: Session, file: Path, wishes: _Wishes) -> AbstractContextManager[None]:
    return recording(session, wishes.record, program=file.name) if wishes.record else nullcontext()


@contextmanager
def _drawn(session: Session, wishes: _Wishes) -> Iterator[None]:
    """Write waveforms, if they are asked for."""
    if wishes.vcd is None:
        yield
        return
    device = session.device
    if not device.capabilities.signals:
        raise UserError(f"--vcd shows the signals of the hardware, and {device.name!r} has none; use --target tsim")
    device.signals(wishes.signals)  # before there is a file
    with open_growing_text(wishes.vcd) as file, device.waves(file, wishes.signals):
        yield


def _run_program(file: Path, program: Program, target: str | None, wishes: _Wishes) -> Statistics:
    if wishes.trace is not None:
        with _trace_file(wishes.trace) as write:
            write(disassemble(program))
    if wishes.sanitize and sanitize_programs([program], str(file)):
        raise typer.Exit(1)
    session = Session(program.config, target or program.config.target, setup=wishes.settings.setup)
    with (
        reported(program=file),
        _watched(session, file, wishes),
        packing(session, file, wishes.capsule) as capture,
    ):
        outputs = capture.run_program(program)
    for name, array in outputs.items():
        plain(f"{in_one_line(name)}: {array.dtype}{list(array.shape)}\n{_text(array)}")
    if not outputs:
        say(f"{file}: finished; the program names no output")
    return session.device.stats


def _text(array: npt.NDArray[np.generic]) -> str:
    return np.array2string(array, max_line_width=100, threshold=256)


@contextmanager
def _trace_file(name: str) -> Iterator[Callable[[str], None]]:
    """Yield what writes a listing to the file, or to the screen."""
    if name == "-":
        yield lambda listing: say(listing.removesuffix("\n"))
        return
    with open_growing_text(name) as file:

        def write(listing: str) -> None:
            file.write(listing)
            file.flush()

        yield write
