"""``vta tune``: the fastest choices for a network's layers, or one layer, measured cycle by cycle.

Tests: tests/vta/cli/test_tune_command.py.
"""

import enum
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from vta.cli.layer_text import is_layer_text, layer_of
from vta.cli.networks import ShapeOption, shapes_of
from vta.cli.options import ConfigOption, SchedulerOption, chosen_config
from vta.cli.progress import TerminalConsole
from vta.cli.reporting import UserError, counted, reported, require_file, require_place
from vta.cli.settings import DataWidthOption, HardwareOption, LatencyOption, SetOption, settings
from vta.cli.style import say
from vta.environment import Environment

if TYPE_CHECKING:
    from vta.autotvm import MeasureInput, MeasureOption, MeasureResult
    from vta.autotvm.task import Task
    from vta.autotvm.tuner import Tuner

__all__ = ["tune"]


class TunerName(enum.StrEnum):
    """The searches."""

    XGB = "xgb"
    GA = "ga"
    RANDOM = "random"
    GRID = "grid"


@dataclass(frozen=True, slots=True)
class _Search:
    kind: TunerName
    trials: int
    seed: int
    log: Path


def tune(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="NETWORK|LAYER",
            help='An ONNX model, or a layer such as "Conv2d(1, 64, 56, 56, 64, (3, 3), padding=(1, 1, 1, 1))".',
        ),
    ],
    trials: Annotated[int, typer.Option("--trials", min=1, help="Choices that are measured of each layer.")] = 16,
    tuner: Annotated[TunerName, typer.Option("--tuner", help="How choices are searched.")] = TunerName.XGB,
    workers: Annotated[
        int | None, typer.Option("--workers", min=0, help="Processes (default: as many as processors; 0: this one).")
    ] = None,
    scheduler: SchedulerOption = None,
    log: Annotated[
        Path, typer.Option("--log", metavar="FILE", help="The records; one that is there is gone on with.")
    ] = Path("tuning.log"),
    seed: Annotated[int, typer.Option("--seed", help="Draws what is drawn.")] = 0,
    shape: ShapeOption = None,
    config: ConfigOption = None,
    set_keys: SetOption = None,
    hardware: HardwareOption = None,
    latency: LatencyOption = None,
    data_width: DataWidthOption = None,
) -> None:
    """Measure choices of tiles on tsim and keep the records; `autotvm.apply_history_best(FILE)` applies the best."""
    with reported():
        from vta.autotvm import LocalBuilder, LocalRunner, measure_option

        require_place(log)
        made = settings(set_keys, file=hardware, latency=latency, data_width=data_width)
        base = chosen_config(config, None)
        env = Environment(made.applied(base), hardware=made.setup)
        tasks = _tasks(subject, env, shape)
        option = measure_option(LocalBuilder(n_parallel=workers), LocalRunner(), scheduler=scheduler)
        search = _Search(tuner, trials, seed, log)
        with _progress(len(tasks) * trials) as told:
            for number, task in enumerate(tasks, 1):
                say(_line(number, len(tasks), task, _tuned(task, option, search, told)))
        say(f"{log}: apply it with `with vta.autotvm.apply_history_best({str(log)!r}):`")


def _tasks(subject: str, env: Environment, shape: Sequence[str] | None) -> "list[Task]":
    from vta.autotvm.task import extract_from_network, extract_from_operators

    if is_layer_text(subject):
        tasks = extract_from_operators([layer_of(subject)], env=env)
    else:
        require_file(Path(subject), "an ONNX model, or a layer such as Dense(1, 256, 128)")
        tasks = extract_from_network(subject, shapes=shapes_of(shape), env=env)
    if not tasks:
        raise UserError(f"{subject}: there is no layer to tune: the accelerator computes none that has choices")
    return tasks


def _tuned(task: "Task", option: "MeasureOption", search: _Search, told: Callable[[int, str], object]) -> "Tuner":
    from vta.autotvm import callback
    from vta.autotvm.tuner import GATuner, GridSearchTuner, RandomTuner, XGBTuner

    tuner: Tuner
    match search.kind:
        case TunerName.XGB:
            tuner = XGBTuner(task, seed=search.seed)
        case TunerName.GA:
            tuner = GATuner(task, seed=search.seed)
        case TunerName.RANDOM:
            tuner = RandomTuner(task, seed=search.seed)
        case TunerName.GRID:
            tuner = GridSearchTuner(task)

    def tell(tuner: "Tuner", inputs: "Sequence[MeasureInput]", _: "Sequence[MeasureResult]") -> None:
        best = "" if tuner.best_config is None else f"best {round(tuner.best_cost * 1e8):,} cycles"
        told(len(inputs), best)

    callbacks = [callback.log_to_file(search.log), tell]
    tuner.tune(search.trials, option, callbacks=callbacks, resume=search.log)
    told(search.trials - tuner.tried, "")
    return tuner


def _line(number: int, count: int, task: "Task", tuner: "Tuner") -> str:
    what = f"{number}/{count} {task.operator}"
    if tuner.best_config is None:
        return f"{what}: none of {counted(tuner.tried, 'choice')} could be measured"
    return f"{what}: {round(tuner.best_cost * 1e8):,} cycles, the best of {counted(tuner.tried, 'choice')}"


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int, str], object]]:
    """Show how many choices were tried and the best so far, on a terminal alone."""
    console = TerminalConsole(stderr=True)
    if not console.is_terminal:
        yield lambda *_: None
        return
    columns = (
        TextColumn("tuning"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[best]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as shown:
        line = shown.add_task("tuning", total=total, best="")
        yield lambda count, best: shown.update(line, advance=count, best=best)
