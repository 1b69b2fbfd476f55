"""The page of the documentation about configurations: every key, every size of the hardware, the named ones.

Tests: tests/docs/test_config_page.py.
"""

import ast
import inspect
import itertools
from collections.abc import Mapping
from dataclasses import fields

from isa.config import TARGETS, ConfigError, VTAConfig
from isa.machine.hardware_config import HardwareConfig
from isa.named_config import named_config, preset_names

__all__ = ["KEYS", "config_page"]

KEYS: Mapping[str, str] = {
    "TARGET": f"what programs run on: {', '.join(TARGETS[:3])} here; the others are upstream's boards",
    "HW_VER": "a version of the hardware, for people; programs do not depend on it",
    "LOG_INP_WIDTH": "bits of an input number, and of an output number",
    "LOG_WGT_WIDTH": "bits of a weight number",
    "LOG_ACC_WIDTH": "bits of an accumulator number",
    "LOG_BATCH": "rows of an input, accumulator and output element",
    "LOG_BLOCK": "lanes of a row: the GEMM core multiplies a block of inputs with a block by block of weights",
    "LOG_BLOCK_IN": "lanes of an input row, where they are not those of an output row; may be left out",
    "LOG_BLOCK_OUT": "lanes of an output row, where they are not those of an input row; may be left out",
    "LOG_UOP_BUFF_SIZE": "bytes of the micro-op buffer",
    "LOG_INP_BUFF_SIZE": "bytes of the input buffer",
    "LOG_WGT_BUFF_SIZE": "bytes of the weight buffer",
    "LOG_ACC_BUFF_SIZE": "bytes of the accumulator buffer; the output buffer is as deep",
    "DEPTHWISE_TAPS": "input elements that a step of GEMM multiplies lane by lane with the flag `depthwise`; 0 is a "
    "GEMM without that flag, as upstream's; may be left out",
    "FUSED_ALU": "1: the ALU has the flag `fused`, under which a step does two operations and a shift; 0 is an ALU "
    "without that flag, as upstream's; may be left out",
}
"""What each key of a configuration file means; a LOG_ key holds a base-2 logarithm."""

_USUAL: Mapping[str, int] = {"DEPTHWISE_TAPS": VTAConfig().depthwise_taps, "FUSED_ALU": VTAConfig().fused_alu}
"""Defaults that no file has."""

_INTRODUCTION = """\
# Configuration

Generated from the rules and the packaged files (`python -m docs.make_pages`). One configuration decides what programs
look like: numeric types, block shape, buffer sizes. Which one holds is found in the same way everywhere, for `vta`
commands, for `python script.py` and for `python -m vta.compat script.py`:

1. `--config FILE` or `--config NAME` on the command line, `with vta.Environment("FILE or NAME"):` in a script;
2. the environment variable `VTA_CONFIG`, a file or a name, too;
3. the default, `config/vta_config.json`.

A name is one of those below (`vta config list`); a file of that name goes first. `vta config init` writes a file with
every key, `vta config show` prints the sizes that follow, `vta config check FILE` says what is wrong with a file, and
`vta run --set LOG_BLOCK=5` changes a key for one run. Whatever is not legal is refused with the key, the rule and the
nearest value that fits.

## Keys of a configuration file

The last column has the values that are legal while the other keys keep their defaults.

| key | meaning | default | legal |
|---|---|---|---|
"""

_HARDWARE = """\

## Sizes of the hardware

What programs cannot see, for the target `tsim`: `vta run --target tsim --set data_width=128`, `--hardware FILE` with a
JSON object of them, or `vta.Environment("tsim", hardware={"data_width": 128})`. `--latency`, `--data-width` and
`--queue-depth` are short for `--set` with `memory_latency`, `data_width` and `inst_queue_depth`.

| name | meaning | default |
|---|---|---|
"""

_MEMORY_ROWS = """\
| `memory_latency` | Cycles from an address to its first beat, and from a last beat to its response. | 32 |
| `stall_seed` | If given, memory stalls at random on every channel. | |
"""


def config_page() -> str:
    """Return the page, in Markdown."""
    defaults = VTAConfig().to_dict()
    lines = [
        f"| `{key}` | {text} | {defaults.get(key, _USUAL.get(key, ''))} | {_legal(key)} |\n"
        for key, text in KEYS.items()
    ]
    docs = _attribute_docs()
    hardware = [f"| `{f.name}` | {docs[f.name]} | {f.default} |\n" for f in fields(HardwareConfig)]
    return "".join([_INTRODUCTION, *lines, _HARDWARE, *hardware, _MEMORY_ROWS, _presets()])


def _legal(key: str) -> str:
    if key in ("TARGET", "HW_VER"):
        return ""
    values = [value for value in range(32) if _is_legal(key, value)]
    return f"{values[0]} to {values[-1]}" if len(values) > 1 else str(values[0])


def _is_legal(key: str, value: int) -> bool:
    try:
        VTAConfig.from_dict({**VTAConfig().to_dict(), key: value})
    except ConfigError:
        return False
    return True


def _attribute_docs() -> dict[str, str]:
    """Return the text below each field of ``HardwareConfig``."""
    [body] = [node.body for node in ast.parse(inspect.getsource(HardwareConfig)).body if isinstance(node, ast.ClassDef)]
    docs = {}
    for field, text in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            docs[field.target.id] = " ".join(str(ast.literal_eval(text.value)).split())
    return docs


def _presets() -> str:
    rows = "".join(
        f"| `{name}` | `{found.target}` | {found.batch} | {found.block_in} x {found.block_out} | {found.bitstream} |\n"
        for name in preset_names()
        for found in [named_config(name)]
    )
    return (
        "\n## Configurations of the package\n\n| name | target | batch | block | build |\n|---|---|---|---|---|\n"
        + rows
    )
