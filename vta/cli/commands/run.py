"""``vta run``: a Python script, an assembly text or a binary program, a capsule or a network, on a device.

What is done with each kind is in ``vta.cli.runs``. Tests: tests/vta/cli/test_program_commands.py,
tests/vta/cli/test_script_commands.py.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from isa.limits import DEFAULT_LIMITS
from vta.cli.as_json import JsonOption, print_json
from vta.cli.capsule import is_capsule
from vta.cli.networks import InputOption, ShapeOption, is_network
from vta.cli.options import ConfigOption, LimitsOption, TargetOption
from vta.cli.quantizing import (
    BgrOption,
    Calibration,
    CountOption,
    CropOption,
    DataOption,
    MeanOption,
    StdOption,
    preprocessing_of,
)
from vta.cli.reporting import reported, require_file
from vta.cli.runs.boards import BoardOption, SerialOption, chosen_board
from vta.cli.runs.capsules import run_capsule
from vta.cli.runs.networks import run_network_file
from vta.cli.runs.programs import run_program
from vta.cli.runs.remotely import RemoteOption, run_remotely
from vta.cli.runs.scripts import run_python
from vta.cli.runs.wishes import Wishes
from vta.cli.settings import (
    DataWidthOption,
    HardwareOption,
    LatencyOption,
    QueueDepthOption,
    SetOption,
    settings,
)

__all__ = ["run"]

Runner = Callable[[Path, Wishes], Mapping[str, object]]


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A script, a program, a capsule or a network.")],
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
    check: Annotated[
        bool | None,
        typer.Option(
            "--check/--no-check", show_default=False, help="Note what `vta check` finds (default: of text programs)."
        ),
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
        Path | None,
        typer.Option("--save", metavar="FILE", help="Write the outputs of a program or network to an .npz."),
    ] = None,
    data: DataOption = None,
    count: CountOption = 100,
    mean: MeanOption = "0",
    std: StdOption = "1",
    crop: CropOption = False,
    bgr: BgrOption = False,
    as_json: JsonOption = False,
    max_memory: LimitsOption = DEFAULT_LIMITS,
    remote: RemoteOption = None,
    set_keys: SetOption = None,
    hardware: HardwareOption = None,
    latency: LatencyOption = None,
    data_width: DataWidthOption = None,
    queue_depth: QueueDepthOption = None,
    board: BoardOption = None,
    serial: SerialOption = None,
) -> None:
    """Run a script, a program or a network, and say what it computed or what went wrong.

    A script that imports tvm gets this toolchain's answers to TVM's names.
    """
    with reported():
        require_file(file, "a .py script, a .vta assembly, a binary program, an ONNX model or a compiled network")
        wishes = Wishes(
            arguments=tuple(arguments or ()),
            target=target,
            board=chosen_board(board, serial, target),
            config=config,
            stats=stats,
            trace=trace,
            record=record,
            check=check,
            sanitize=sanitize,
            capsule=capsule,
            vcd=vcd,
            signals=tuple(signals or ()),
            inputs=tuple(inputs or ()),
            shapes=tuple(shape or ()),
            save=save,
            calibration=None if data is None else Calibration(data, count, mean, std, crop, bgr),
            preprocessing=None
            if (mean, std, crop, bgr) == ("0", "1", False, False)
            else preprocessing_of(mean, std, crop=crop, bgr=bgr),
            as_json=as_json,
            limits=max_memory,
            settings=settings(set_keys, file=hardware, latency=latency, data_width=data_width, queue_depth=queue_depth),
        )
        wishes.require_places(file)
        wishes.require_device()
        if remote is None:
            _run_here(file, wishes)
        else:
            run_remotely(remote, file, wishes)


def _run_here(file: Path, wishes: Wishes) -> None:
    """Run a file in this process, and print what ``--json`` says of it, if that is wished."""
    kind, runner = _runner_of(file)
    if wishes.calibration is not None and kind != "network":
        raise typer.BadParameter(f"--data quantises a float ONNX model, and {file} is a {kind}")
    found = runner(file, wishes)
    if wishes.as_json:
        saved = None if wishes.save is None else str(wishes.save)
        print_json("run", {"file": str(file), "kind": kind, **_EMPTY, "saved": saved, **found})


_EMPTY: Mapping[str, object] = {
    "device": "", "config": "", "outputs": {}, "saved": None, "statistics": None, "account": None, "nodes": [],
    "findings": [], "sentence": None,
}  # fmt: skip


def _runner_of(file: Path) -> tuple[str, Runner]:
    """Return what a file is, and what runs such files."""
    if is_network(file):
        return "network", run_network_file
    if is_capsule(file):
        return "capsule", run_capsule
    return ("script", run_python) if file.suffix == ".py" else ("program", run_program)
