"""``vta trace``: what a recorded run did, as a listing or for a viewer.

Tests: tests/vta/cli/test_trace_command.py.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from isa.instructions import Module
from isa.limits import DEFAULT_LIMITS, LimitError, Limits
from isa.whole_file import open_whole, write_whole
from vta.cli.capsule import require_trace
from vta.cli.options import LimitsOption
from vta.cli.reporting import UserError, reported, require_outputs
from vta.cli.style import say, say_each
from vta.inspect.trace import Recorded, TraceReader, read_trace
from vta.inspect.trace.html import page_text
from vta.inspect.trace.listing import classic_listing, launch_listing
from vta.inspect.trace.page_data import page_data
from vta.inspect.trace.perfetto import write_perfetto

__all__ = ["trace"]


def trace(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trace that `vta run --record FILE` wrote.")],
    launch: Annotated[int | None, typer.Option("--launch", metavar="N", help="Only launch N, counted from 0.")] = None,
    module: Annotated[
        list[str] | None, typer.Option("--module", metavar="NAME", help="Only load, compute or store; repeatable.")
    ] = None,
    classic: Annotated[bool, typer.Option("--classic", help="The dump layout of upstream's runtime.")] = False,
    calls: Annotated[bool, typer.Option("--calls", help="Name the runtime call that made each instruction.")] = False,
    perfetto: Annotated[
        Path | None, typer.Option("--perfetto", metavar="OUT.json", help="Write a file for https://ui.perfetto.dev.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="OUT.html", help="Write one offline page: timeline and accounts.")
    ] = None,
    max_memory: LimitsOption = DEFAULT_LIMITS,
) -> None:
    """Show a recorded run: when each instruction was issued, started and completed, and where it came from."""
    with reported():
        require_trace(file, "a trace that `vta run --record FILE` wrote")
        modules = _modules(module or [])
        _require_one_view(chosen=bool(module) or calls, classic=classic, perfetto=perfetto, html=html)
        require_outputs(file, {"--perfetto": perfetto, "--html": html})
        with read_trace(file, limits=max_memory) as reader:
            launches = _chosen(reader, launch, file)
            match perfetto, html:
                case Path(), None:
                    with open_whole(perfetto) as output, TextIOWrapper(output, "utf-8") as events:
                        count = write_perfetto(launches, events)
                    say(f"{perfetto}: {count} events; open it at https://ui.perfetto.dev")
                case None, Path():
                    text = _page(reader, launches, file, max_memory)
                    write_whole(html, text.encode())
                    say(f"{html}: {len(text) // 1024} KiB; open it in a browser")
                case _:
                    listed = partial(launch_listing, modules=modules, calls=calls)
                    _print(launches, _classic_lines if classic else listed)
            if launch is None and not reader.launches:
                say(f"{file}: the trace has no launches", err=True)
            if launch is None and not reader.whole:
                say(f"{file}: the recording was cut off; this is what it had until then", err=True)


def _page(reader: TraceReader, launches: Iterator[Recorded], file: Path, limits: Limits) -> str:
    """Return the page; ``UserError`` if all launches together are more than a file of this size may take."""
    try:
        return page_text(page_data(reader.header, launches, limits.budget(file.stat().st_size)))
    except LimitError as error:
        raise UserError(f"{file}: {error}") from None


def _require_one_view(*, chosen: bool, classic: bool, perfetto: Path | None, html: Path | None) -> None:
    """Raise ``UserError`` for options of which one would be without effect."""
    if perfetto is not None and html is not None:
        raise UserError("--perfetto and --html: one at a time, since a trace is read once")
    if (chosen or classic) and (perfetto is not None or html is not None):
        raise UserError(
            "--module, --calls and --classic are for the listing; --perfetto and --html show all that there is"
        )
    if chosen and classic:
        raise UserError("--classic shows all modules, as upstream's dump does; leave --module and --calls out")


def _classic_lines(recorded: Recorded) -> list[str]:
    return [classic_listing(recorded).rstrip()]


def _print(launches: Iterator[Recorded], listed: Callable[[Recorded], Iterable[str]]) -> None:
    for recorded in launches:
        say_each(listed(recorded))


def _modules(names: list[str]) -> frozenset[Module]:
    known = {module.name.lower(): module for module in Module}
    for name in names:
        if name not in known:
            raise UserError(f"--module {name}: the modules are {', '.join(known)}")
    return frozenset(known[name] for name in names) or frozenset(Module)


def _chosen(reader: TraceReader, number: int | None, file: Path) -> Iterator[Recorded]:
    """Yield the launches that were asked for; ``UserError`` if there is no such one."""
    found = 0
    for recorded in reader:
        found += 1
        if number is None or recorded.number == number:
            yield recorded
            if number is not None:
                return
    if number is not None:
        raise UserError(f"{file}: there is no launch {number}; the trace has {found}")
