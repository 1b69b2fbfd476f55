"""The front door: an Amaranth component in, a running simulation out. Tests: ``tests/hw/sim/run``."""

import difflib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from amaranth.lib import wiring

from hw.sim.errors import SimulatorError
from hw.sim.netlist import cells as n
from hw.sim.netlist.frontend import PINNED_AMARANTH, build_netlist
from hw.sim.netlist.simplify import simplify
from hw.sim.run.design import CompiledDesign
from hw.sim.run.image import Image, make_image
from hw.sim.run.sources import source_digest, sources_are_loaded
from hw.sim.translate.hooks import Hook
from hw.sim.translate.module import translate
from runtime import native
from runtime.native.cache import cached
from runtime.native.compiling import Passes, compile_object
from runtime.native.garbage import no_collection
from runtime.native.target import CodeTarget, feature_text, host_features, host_key, without_avx512

__all__ = ["cached_design", "compile_design", "design_target", "signal_names"]

_CACHED_AS = "sim"

_PROGRESS = logging.getLogger("hw.sim.progress")
"""Where it is said how far a compilation has come; the attributes of records are those of ``isa.progress``."""

_STAGES = ("elaborating", "translating", "making machine code")

_SOURCES = (Path(__file__).parents[1], *map(Path, native.__path__))
"""The folders that make code of a netlist: ``hw.sim`` and ``runtime.native``."""


def compile_design(
    component: wiring.Component,
    *,
    name: str = "top",
    probes: Iterable[str] = (),
    hooks: Sequence[Hook] = (),
    cache: bool = True,
) -> CompiledDesign:
    """Return a simulation of ``component`` at power-on.

    ``probes`` are dotted names below the top of combinational signals that are to be readable (registers and ports
    always are). ``hooks`` are AXI memories and histograms. With ``cache``, object code is kept for the next time; its
    key is the netlist, the versions, the processor and the sources of ``hw.sim`` and ``runtime.native`` (of which none
    may have changed while this process runs). Raises SimulatorError for a design that cannot be simulated and for an
    unknown name.
    """
    with _stages() as stage:
        stage(0)
        netlist = build_netlist(component, name=name)
        observed = _observed(netlist, probes, hooks)
        if not cache or not sources_are_loaded(_SOURCES):
            return CompiledDesign(_build(netlist, observed, hooks, stage), hooks)
        key = "\n".join((_environment_key(_SOURCES), _hooks_key(hooks), repr(observed), repr(netlist)))
        return CompiledDesign(_cached(key, lambda: _build(netlist, observed, hooks, stage)), hooks)


def cached_design(
    key: str,
    make: Callable[[], wiring.Component],
    *,
    sources: Iterable[Path],
    probes: Iterable[str] = (),
    hooks: Sequence[Hook] = (),
) -> CompiledDesign:
    """Return a simulation like ``compile_design``, without even elaborating the component if ``key`` is cached.

    ``key`` must tell apart everything that ``make`` depends on besides the Python files below the directories
    ``sources``. If one of these has changed while this process runs, nothing is kept.
    """
    probes = tuple(probes)
    sources = (*sources, *_SOURCES)

    def build() -> Image:
        with _stages() as stage:
            stage(0)
            netlist = build_netlist(make())
            return _build(netlist, _observed(netlist, probes, hooks), hooks, stage)

    if not sources_are_loaded(sources):
        return CompiledDesign(build(), hooks)
    whole = "\n".join(("early", _environment_key(sources), _hooks_key(hooks), repr(probes), key))
    return CompiledDesign(_cached(whole, build), hooks)


def design_target() -> CodeTarget:
    """Return what designs are compiled for: this processor, without AVX-512.

    LLVM packs flags into vectors, which AVX-512 has registers for, and may then take a flag out of the wrong one of two
    (LLVM 22): a partition that a flag should have woken slept, and a core that had finished ran on for ever. It takes
    integers of more than 64 bits, which designs have and programs of the host do not.
    """
    return CodeTarget(features=feature_text(without_avx512(host_features())))


def signal_names(component: wiring.Component) -> tuple[str, ...]:
    """Return the dotted names of all signals below the top, and of the ports: what probes and hooks may name."""
    return tuple(build_netlist(component).signals)


def _cached(key: str, make: Callable[[], Image]) -> Image:
    """Return the image that is kept under ``key``; make and keep it if there is none."""
    return Image.from_bytes(cached(_CACHED_AS, key, lambda: make().to_bytes()))


def _environment_key(sources: Iterable[Path]) -> str:
    """Return what an image depends on besides the design."""
    return f"{PINNED_AMARANTH} {host_key()} {source_digest(sources)}"


def _hooks_key(hooks: Sequence[Hook]) -> str:
    return repr([hook.key for hook in hooks])


def _observed(netlist: n.Netlist, probes: Iterable[str], hooks: Sequence[Hook]) -> dict[str, bool]:
    """Return the names of the signals to store, each with whether that is needed only while notes are taken.

    Wide outputs that are registers or inputs are read where they lie. Raises SimulatorError for an unknown name.
    """
    names = [name for name, value in netlist.top.outputs.items() if len(value) <= 1 or not _is_stored(netlist, value)]
    names += [*probes, *(name for hook in hooks for name in hook.signals)]
    observed = dict.fromkeys((name for hook in hooks for name in hook.noted), True) | dict.fromkeys(names, False)
    for name in netlist.top.inputs:
        observed.pop(name, None)
    for name in observed:
        if name not in netlist.signals:
            near = difflib.get_close_matches(name, netlist.signals, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise SimulatorError(f"the design has no signal {name!r}{hint}")
    return observed


def _is_stored(netlist: n.Netlist, value: n.Value) -> bool:
    """Tell whether all bits are constants, inputs or registers."""
    kinds = (n.Top, n.FlipFlop, n.SyncReadPort)
    return all(run.cell is None or isinstance(netlist.cells[run.cell], kinds) for run in n.runs(value))


@contextmanager
def _stages() -> Iterator[Callable[[int], None]]:
    """Yield what says that a stage of making a simulation begins; whoever listens hears of the end, too."""

    def tell(text: str, done: int, *, busy: bool) -> None:
        fields = {"done": done, "total": len(_STAGES), "unit": "stages", "note": text, "busy": busy, "slow": True}
        _PROGRESS.debug("compiling the hardware: %s", text, extra={"what": "compiling the hardware", **fields})

    try:
        yield lambda number: tell(_STAGES[number], number, busy=True)
    finally:
        tell("over", len(_STAGES), busy=False)


def _build(
    netlist: n.Netlist, observed: Mapping[str, bool], hooks: Sequence[Hook], stage: Callable[[int], None]
) -> Image:
    """Translate and compile."""
    stage(1)
    with no_collection():
        netlist = simplify(netlist)
        translation = translate(netlist, observed, hooks)
    names = [cell.name for cell in netlist.cells if isinstance(cell, n.MemoryCell)]
    stage(2)
    # The loops of a design call its partitions or move a few bytes: there is nothing for a loop vectoriser.
    code = compile_object(translation.text, design_target(), Passes.SERIAL)
    return make_image(netlist, translation, code, names)
