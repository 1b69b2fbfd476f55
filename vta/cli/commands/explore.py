"""``vta explore``: which accelerator to build for a network or a layer.

Tests: tests/vta/cli/test_explore_command.py.
"""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from vta.cli.options import ConfigOption, SchedulerOption, chosen_config
from vta.cli.reporting import UserError, reported, require_place
from vta.cli.settings import HardwareOption, SetOption, settings
from vta.cli.style import Screen, plain, say
from vta.cli.wide_table import tables_of
from vta.explore.measure import Area, Cycles

if TYPE_CHECKING:
    from vta.explore import Outcome

__all__ = ["explore"]

SweepOption = Annotated[
    list[str] | None,
    typer.Option(
        "--sweep",
        metavar="KEY=VALUE,VALUE",
        help="What is varied: block, batch, inp, wgt, acc, uop (bytes, as 128K), bus, latency, or any key of the "
        "configuration and the hardware; repeatable.",
    ),
]


def explore(
    workload: Annotated[str, typer.Argument(metavar="NETWORK_OR_LAYER", help="resnet18, C2, C2,C11, or MODEL.onnx.")],
    sweep: SweepOption = None,
    config: ConfigOption = None,
    sets: SetOption = None,
    hardware_file: HardwareOption = None,
    cycles: Annotated[Cycles, typer.Option("--cycles", help="The model's cycles, or those of the hardware.")] = (
        Cycles.PREDICTED
    ),
    area: Annotated[
        Area, typer.Option("--area", help="A quick estimate, or synthesis (minutes each).")
    ] = Area.ESTIMATE,
    fmax: Annotated[
        bool, typer.Option("--fmax", help="Place and route for ECP5 for the clock (minutes each).")
    ] = False,
    budget: Annotated[
        int | None, typer.Option("--budget", min=1, help="Give tsim, yosys and Fmax to so many configurations alone.")
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Processes.")] = 1,
    scheduler: SchedulerOption = None,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="JSON lines that a run goes on from.")
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the table as CSV.")] = None,
    png: Annotated[Path | None, typer.Option("--png", metavar="FILE", help="Write a plot (needs matplotlib).")] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page for a browser.")] = None,
) -> None:
    """Cycles and area over a sweep of configurations: which accelerator to build for a network or a layer.

    What cannot be built or run stays in the table, with the reason. A line is in the log as soon as it is measured.
    """
    with reported():
        for file in (log, csv, png, html):
            if file is not None:
                require_place(file)
        # Imported when it is asked for: the compiler takes long to load.
        from vta.explore import Log, Plan, explored, points_of, workload_of

        if png is not None:
            _require_matplotlib(png)
        changes = settings(sets, file=hardware_file)
        points = points_of(sweep or (), changes.applied(chosen_config(config, None)), changes.hardware)
        plan = Plan(cycles=cycles, area=area, fmax=fmax, budget=budget, workers=workers, scheduler=scheduler)
        chosen = workload_of(workload)
        with _progress() as told:
            outcomes = explored(points, chosen, plan, Log(log), told)
        _print(outcomes, f"{chosen.name}: {len(points)} configurations")
        _write(outcomes, chosen.name, csv, png, html)


def _require_matplotlib(file: Path) -> None:
    """Raise ``UserError`` before hours of work, whose plot could not be written."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise UserError(f"{file}: plots need matplotlib: pip install 'vta-toolchain[plot]'")


@contextmanager
def _progress() -> Iterator[Callable[[int, int, str], object] | None]:
    """Show how far it is, on stderr and on a terminal alone."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Screen(err=True), transient=True) as shown:
        task = shown.add_task("measuring", total=None)
        yield lambda done, total, what: shown.update(task, completed=done, total=total, description=what)


def _print(outcomes: "list[Outcome]", title: str) -> None:
    """Print the table without its notes, and below it the sentences on what is missing, each once."""
    from vta.explore.table import rows_of

    head, *rows = rows_of(outcomes)
    wanted = [place for place, name in enumerate(head[:-1]) if place == 0 or any(row[place] for row in rows)]
    cells = [[row[place] for place in wanted] for row in rows]
    screen = Screen()
    for table in tables_of(title, [head[place] for place in wanted], cells, width=screen.width):
        screen.print(table)
    sentences: dict[str, list[str]] = {}
    for outcome in outcomes:
        for name, problem in outcome.problems.items():
            sentences.setdefault(f"{name}: {problem}", []).append(outcome.point.name)
    for sentence, points in sentences.items():
        shown = "; ".join(points[:4]) + (f" and {len(points) - 4} more" if len(points) > 4 else "")
        say(f"note: {shown}: {sentence}")


def _write(outcomes: "list[Outcome]", name: str, csv: Path | None, png: Path | None, html: Path | None) -> None:
    from vta.explore.html import page_text
    from vta.explore.plot import save_plot
    from vta.explore.table import csv_text

    if csv is not None:
        csv.write_text(csv_text(outcomes), encoding="utf-8")
    if html is not None:
        command = shlex.join(["vta", *sys.argv[1:]])
        html.write_text(page_text(outcomes, name, command), encoding="utf-8")
    if png is not None:
        save_plot(outcomes, name, png)
    for file in (csv, png, html):
        if file is not None:
            plain(f"wrote {file}")
