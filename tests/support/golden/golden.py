"""The recorded streams of upstream's VTA stack, copied into tests/golden: one ``Case`` per recording.

A case has the configuration it ran on, the runtime calls that the compiled function made, the instruction and micro-op
words that the runtime wrote, the statistics of the functional simulator, and (where small) inputs and outputs.
"""

import functools
import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isa.config import VTAConfig
from isa.layout import uop_layout

__all__ = ["GOLDEN_ROOT", "SPINE_PREFIXES", "Case", "case_names", "load_case", "recorded_uops"]

GOLDEN_ROOT = Path(__file__).resolve().parents[2] / "golden"

SPINE_PREFIXES = ("tut.vta_get_started", "tut.matrix_multiply", "insn.", "benchmark_gemm.")
"""The recordings that the tutorials and instruction tests stand on (operators and layers aside)."""


@dataclass(frozen=True, slots=True)
class Case:
    """One recording: ``record`` is the parsed JSON, ``calls`` the lines of the call listing (empty if none)."""

    folder: str
    name: str
    config: VTAConfig
    record: dict[str, Any]
    calls: tuple[str, ...]

    @property
    def words(self) -> list[int]:
        """The 128-bit instruction words of all launches, as upstream's runtime wrote them."""
        return [int(i["hex"], 16) for launch in self.record["launches"] for i in launch["insns"]]

    @property
    def norm_words(self) -> list[int]:
        """The words with DRAM addresses made relative to their buffers."""
        return [int(i.get("norm_hex", i["hex"]), 16) for launch in self.record["launches"] for i in launch["insns"]]

    @property
    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Recorded inputs (``in_NAME``) and outputs (``out_NAME``); empty where the recording left them out."""
        path = GOLDEN_ROOT / self.folder / f"{self.name}.npz"
        if not path.exists():
            return {}
        with np.load(path) as data:
            return dict(data)


def case_names(*prefixes: str) -> list[tuple[str, str]]:
    """Return sorted (folder, name) of every recording whose name starts with one of ``prefixes`` (all if none)."""
    found = []
    for path in sorted(GOLDEN_ROOT.glob("*/*.json.gz")):
        name = path.name.removesuffix(".json.gz")
        if not prefixes or name.startswith(prefixes):
            found.append((path.parent.name, name))
    return found


def recorded_uops(case: Case) -> list[int]:
    """Return the micro-ops of the case's one launch as they lay in memory, without what no field has.

    Upstream's structure of bit fields leaves garbage in such bits; one recording has some.
    """
    [launch] = case.record["launches"]
    layout = uop_layout(case.config)
    return [layout.pack(layout.unpack(int(word, 16))) for word in launch["uop_dram_hex"]]


@functools.cache
def load_case(folder: str, name: str) -> Case:
    """Read one recording."""
    path = GOLDEN_ROOT / folder / f"{name}.json.gz"
    record = json.loads(gzip.decompress(path.read_bytes()))
    keys = record["config"]
    config = VTAConfig(
        log_inp_width=keys["LOG_INP_WIDTH"],
        log_wgt_width=keys["LOG_WGT_WIDTH"],
        log_acc_width=keys["LOG_ACC_WIDTH"],
        log_batch=keys["LOG_BATCH"],
        log_block_in=keys["LOG_BLOCK_IN"],
        log_block_out=keys["LOG_BLOCK_OUT"],
        log_uop_buff_size=keys["LOG_UOP_BUFF_SIZE"],
        log_inp_buff_size=keys["LOG_INP_BUFF_SIZE"],
        log_wgt_buff_size=keys["LOG_WGT_BUFF_SIZE"],
        log_acc_buff_size=keys["LOG_ACC_BUFF_SIZE"],
    )
    calls_path = GOLDEN_ROOT / folder / f"{name}.calls.txt.gz"
    calls: tuple[str, ...] = ()
    if calls_path.exists():
        calls = tuple(gzip.decompress(calls_path.read_bytes()).decode().splitlines())
    return Case(folder=folder, name=name, config=config, record=record, calls=calls)
