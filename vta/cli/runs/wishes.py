"""What to do besides running, and how that is done for every kind of file: list, record, check, pack, draw.

Tests: tests/vta/cli/test_program_commands.py, tests/vta/cli/test_script_commands.py, tests/vta/cli/test_waves.py.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import typer

from isa.config import VTAConfig
from isa.files.array_file import write_arrays
from isa.limits import Limits
from isa.whole_file import open_growing_text, open_whole
from runtime.drivers.built_board import BuiltBoard
from runtime.queue.launch import Launch
from runtime.session import Session
from vta.cli.capsule import packing
from vta.cli.heartbeat import heartbeat
from vta.cli.listing import launch_listing
from vta.cli.quantizing import Calibration
from vta.cli.reporting import UserError, require_outputs
from vta.cli.runs.boards import config_for, refuse_on_board
from vta.cli.sanitizing import LaunchSanitizer
from vta.cli.settings import Settings
from vta.cli.style import say
from vta.inspect.trace import recording

if TYPE_CHECKING:
    from vta.quantize.data import Preprocessing

__all__ = ["Listener", "Wishes", "around_launches", "listening", "save_outputs", "trace_file", "watched"]

Listener = Callable[[Launch, Session], None]


@dataclass(frozen=True, slots=True)
class Wishes:
    """All that the options of ``vta run`` say."""

    arguments: tuple[str, ...]
    target: str | None
    board: BuiltBoard | None
    config: Path | None
    stats: bool
    trace: str | None
    record: Path | None
    check: bool | None
    sanitize: bool
    capsule: Path | None
    vcd: Path | None
    signals: tuple[str, ...]
    inputs: tuple[str, ...]
    shapes: tuple[str, ...]
    save: Path | None
    calibration: Calibration | None
    preprocessing: "Preprocessing | None"
    as_json: bool
    limits: Limits
    settings: Settings

    def configuration(self) -> VTAConfig:
        """Return the configuration for what brings none of its own."""
        return config_for(self.board, self.config, self.target, self.settings)

    def require_device(self) -> None:
        """Raise typer's error for options that need a simulator, where there is a board."""
        if self.board is None:
            return
        options = {"--record": self.record, "--capsule": self.capsule, "--vcd": self.vcd}
        keys = {f"{key} (of --set, --hardware or its short forms)": True for key in self.settings.hardware}
        refuse_on_board(self.board, {**options, **keys})

    def board_session(self) -> AbstractContextManager[Session | None]:
        """Return what opens the board and gives it back; None is what it yields where there is none."""
        return nullcontext() if self.board is None else self.board.session()

    def require_places(self, file: Path) -> None:
        """Raise an error unless everything that is asked for can be written, and none of it over ``file``."""
        if self.signals and self.vcd is None:
            raise typer.BadParameter("--signals chooses what --vcd FILE writes, and there is no --vcd")
        listing = None if self.trace in (None, "-") else Path(str(self.trace))
        outputs = {
            "--trace": listing, "--record": self.record, "--capsule": self.capsule, "--vcd": self.vcd,
            "--save": self.save,
        }  # fmt: skip
        require_outputs(file, outputs)

    def refuse(self, file: Path, kind: str, options: Mapping[str, object]) -> None:
        """Raise typer's error for options that are given and mean nothing for this kind of file."""
        given = [name for name, value in options.items() if value]
        if given:
            raise typer.BadParameter(f"{file} is {kind}; leave out {' '.join(given)}")


@contextmanager
def watched(session: Session, file: Path, wishes: Wishes) -> Iterator[None]:
    """Record and draw what is asked for, and show a sign of life."""
    with _recorded(session, file, wishes), _drawn(session, wishes), heartbeat(session):
        yield


@contextmanager
def listening(wishes: Wishes, sanitizer: LaunchSanitizer) -> Iterator[list[Listener]]:
    """Yield who wants to hear of every launch: what lists it, and what checks it."""
    with ExitStack() as stack:
        found: list[Listener] = []
        if wishes.trace is not None:
            found.append(_listing_to(stack.enter_context(trace_file(wishes.trace))))
        if wishes.sanitize:
            found.append(sanitizer.watch)
        yield found


def around_launches(file: Path, wishes: Wishes) -> list[Callable[[Session], AbstractContextManager[object]]]:
    """Return what goes on around all launches of a session."""
    return [
        heartbeat,
        lambda session: packing(session, file, wishes.capsule),
        lambda session: _recorded(session, file, wishes),
        lambda session: _drawn(session, wishes),
    ]


def _listing_to(write: Callable[[str], None]) -> Listener:
    """Return what writes the listing of one launch after the other."""
    numbers = itertools.count()
    return lambda launch, _: write(launch_listing(launch, next(numbers)))


def _recorded(session: Session, file: Path, wishes: Wishes) -> AbstractContextManager[None]:
    return recording(session, wishes.record, program=file.name) if wishes.record else nullcontext()


@contextmanager
def _drawn(session: Session, wishes: Wishes) -> Iterator[None]:
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


@contextmanager
def trace_file(name: str) -> Iterator[Callable[[str], None]]:
    """Yield what writes a listing to the file, or to the screen."""
    if name == "-":
        yield lambda listing: say(listing.removesuffix("\n"))
        return
    with open_growing_text(name) as file:

        def write(listing: str) -> None:
            file.write(listing)
            file.flush()

        yield write


def save_outputs(path: Path | None, outputs: Mapping[str, npt.NDArray[np.generic]]) -> None:
    """Write outputs into an ``.npz`` file, if one was asked for."""
    if path is not None:
        with open_whole(path) as file:
            write_arrays(file, outputs)
