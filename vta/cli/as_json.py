"""``--json``: what a command found, for programs to read: one object on stdout, with keys that stay.

``SCHEMAS`` says what every object has; nothing is printed that does not fit it, and docs/json.md is made of it. What
goes wrong is told on stderr as ever, with the same exit codes, and then there is no object.
Tests: tests/vta/cli/test_json.py.
"""

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from isa.origin import Origin
from vta.cli.style import plain

__all__ = ["SCHEMAS", "VERSION", "JsonOption", "array_object", "fitting", "origin_object", "print_json"]

VERSION = 1
"""Of the schemas: it changes when a key goes or means something else, not when one is added."""

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object instead (docs/json.md says what is in it).")
]

Schema = Mapping[str, tuple[str, str]]

SCHEMAS: Mapping[str, Schema] = {
    "run": {
        "file": ("text", "what was run"),
        "kind": ("text", "`program`, `script`, `capsule` or `network`"),
        "device": ("text", "`sim`, `reference` or `tsim`"),
        "config": ("text", "the configuration's name"),
        "outputs": ("{array}", "by name; a script has none"),
        "saved": ("text?", "the file of `--save`"),
        "statistics": ("{number}?", "the device's counters; a capsule and a network have none"),
        "account": ("{{number}}?", "module and cause -> cycles, where there is a clock"),
        "nodes": ("[node]", "of a network"),
        "findings": ("[finding]", "of `--check` and `--sanitize`"),
        "sentence": ("text?", "what came of a capsule's replay"),
    },
    "array": {
        "dtype": ("text", "as numpy calls it"),
        "shape": ("[number]", "extents"),
        "values": ("any", "nested lists, null where `--save` has them; what is not finite is a text"),
    },
    "node": {
        "node": ("text", "its name in the network"),
        "accelerator": ("truth", "whether it ran there, or on the host"),
        "seconds": ("number", "of this computer"),
        "cycles": ("number?", "on the device, where there is a clock"),
    },
    "finding": {
        "launch": ("number", "counted from 0"),
        "severity": ("text", "`error` or `note`"),
        "kind": ("text", "`word`, `bounds`, `tokens`, `race`, `unwritten` or `value`"),
        "instruction": ("number?", "its index, null for the whole program"),
        "message": ("text", "the sentence"),
        "others": ("[number]", "indices of the other instructions that it names"),
        "origin": ("origin?", "where the instruction came from"),
    },
    "origin": {
        "stage": ("text", "of a schedule, or a block written by hand"),
        "source": ("text", "`file.py:12`"),
        "call": ("text", "the runtime call"),
        "node": ("text", "of a graph"),
    },
    "check": {
        "file": ("text", "what was checked"),
        "programs": ("[checked]", "one for a program, one for each launch of a script or capsule"),
        "errors": ("number", "of all programs"),
    },
    "checked": {
        "launch": ("number", "counted from 0"),
        "instructions": ("number", "how many"),
        "errors": ("number", "findings that are errors"),
        "findings": ("[finding]", "all of them, whatever `--limit` says"),
    },
    "diff": {
        "file": ("text", "the first file"),
        "other": ("text?", "the second one"),
        "kind": ("text", "`engines`, `programs`, `traces` or `network`"),
        "same": ("truth", "whether there is no difference"),
        "comparisons": ("[comparison]", "in order, up to the first difference"),
    },
    "comparison": {
        "what": ("text", "what was compared"),
        "same": ("truth", "whether it is the same"),
        "instruction": ("number?", "at which the first difference is"),
        "sentence": ("text", "what was found"),
    },
    "explain": {
        "file": ("text", "the trace or the model"),
        "kind": ("text", "`trace` or `network`"),
        "launches": ("[explained]", "of a trace"),
        "refused": ("[refusal]", "launches that failed"),
        "nodes": ("[placed]", "of a network"),
        "cycles": ("number?", "of all launches, where there is a clock"),
        "whole": ("truth", "false where a recording was cut off"),
    },
    "explained": {
        "launch": ("number", "counted from 0"),
        "node": ("text", "of a graph, or empty"),
        "cycles": ("number", "from begin to end"),
        "bound": ("text", "what the run is bound by"),
        "because": ("text", "how that is known"),
        "path": ("{number}", "the critical path: what it went to -> cycles"),
        "account": ("{{number}}", "module and cause -> cycles"),
        "advice": ("[advice]", "what would change it, the largest gain first"),
    },
    "advice": {
        "name": ("text", "the change"),
        "cycles": ("number", "predicted"),
        "turn": ("text", "what to turn"),
        "command": ("text?", "that tries it"),
    },
    "refusal": {"launch": ("number", "counted from 0"), "sentence": ("text", "why it is not explained")},
    "placed": {
        "node": ("text", "its name"),
        "others": ("[text]", "nodes whose work it does, too"),
        "place": ("text", "`accelerator`, `host` or `onnxruntime`"),
        "by": ("text", "what computes it there: `accelerator`, `compiled` code, `numpy` or `onnxruntime`"),
        "rule": ("text", "why"),
        "change": ("text", "what would change it, or empty"),
        "macs": ("number", "multiplications with an addition"),
        "cycles": ("number?", "on the device"),
        "bytes": ("number?", "moved from and to DRAM"),
        "share": ("number?", "of the peak"),
    },
    "config check": {"files": ("[config file]", "in the order that was asked for")},
    "config file": {
        "file": ("text", "its name"),
        "legal": ("truth", "whether it is"),
        "name": ("text?", "the configuration's name"),
        "digest": ("text?", "what tells configurations apart"),
        "error": ("text?", "what is wrong"),
    },
    "config list": {"presets": ("[preset]", "of the package")},
    "preset": {
        "name": ("text", "which `--config` takes"),
        "target": ("text", "its device"),
        "config": ("text", "the configuration's name"),
    },
    "doctor": {
        "checks": ("[health]", "in the order of the text"),
        "fine": ("truth", "whether nothing that is needed is missing"),
    },
    "health": {
        "name": ("text", "what was looked at"),
        "state": ("text", "`fine`, `missing` (needed by some commands alone) or `wrong`"),
        "found": ("text", "what there is"),
        "advice": ("text", "what to do, or empty"),
    },
    "operators": {"operators": ("[operator]", "group by group")},
    "operator": {
        "group": ("text", "`te`, `topi`, `network` or `onnx`"),
        "name": ("text", "as it is written there"),
        "place": ("text", "`accelerator`, `host`, or `depends` on the model"),
        "what": ("text", "what it does"),
    },
}
"""Name -> key -> (type, meaning). A type is text, number, truth, any, or the name of another object; ``[x]`` is a list,
``{x}`` an object with any keys, and ``x?`` may be null. Commands have ``schema`` and ``command`` in front."""


def print_json(command: str, document: Mapping[str, object]) -> None:
    """Print the object of a command, which fits its schema."""
    fitting(document, command, command)
    whole = {"schema": VERSION, "command": command, **document}
    plain(json.dumps(whole, indent=1, ensure_ascii=True, allow_nan=False))


def fitting(value: object, kind: str, place: str) -> None:
    """Raise ``AssertionError`` unless ``value`` is of the type ``kind``."""
    if kind.endswith("?"):
        if value is not None:
            fitting(value, kind[:-1], place)
        return
    if kind[0] in "[{":
        listed = isinstance(value, list) if kind[0] == "[" else isinstance(value, dict)
        assert listed, f"{place}: {value!r} is no {kind}"
        entries = value.items() if isinstance(value, dict) else enumerate(value)  # type: ignore[arg-type]  # a list
        for key, entry in entries:
            fitting(entry, kind[1:-1], f"{place}.{key}")
        return
    simple = {"text": str, "number": (int, float), "truth": bool, "any": object}
    if kind in simple:
        assert isinstance(value, simple[kind]), f"{place}: {value!r} is no {kind}"  # type: ignore[arg-type]
        assert kind != "number" or not isinstance(value, bool), f"{place}: a truth is no number"
        return
    assert isinstance(value, dict), f"{place}: {value!r} is no {kind}"
    assert list(value) == list(SCHEMAS[kind]), f"{place}: {list(value)} is not {list(SCHEMAS[kind])}"
    for key, (inner, _) in SCHEMAS[kind].items():
        fitting(value[key], inner, f"{place}.{key}")


def array_object(array: npt.NDArray[np.generic], *, saved: bool) -> dict[str, object]:
    """Return an ``array`` of the schemas; its numbers are left out where a file has them."""
    shape = [int(extent) for extent in array.shape]
    return {"dtype": array.dtype.name, "shape": shape, "values": None if saved else _finite(array.tolist())}


def _finite(value: Any) -> Any:
    """Return nested lists without the numbers that JSON does not have: those are texts."""
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def origin_object(origin: Origin | None) -> dict[str, object] | None:
    """Return an ``origin`` of the schemas."""
    if origin is None:
        return None
    return {"stage": origin.stage, "source": origin.source, "call": origin.call, "node": origin.node}
