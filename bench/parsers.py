"""What reads each format that a stranger may have written: one function each, from bytes, that runs nothing.

``FORMATS`` of ``bench.mutations`` says how files are damaged; three formats more are here: graphs as text, messages of
remote sessions, and logs of tuning (``bench.tuning_logs``). A function returns, or raises a ``VTAError``; anything else
is a mistake.
Tests: tests/bench/test_fuzz_corpus.py.
"""

import random
import tempfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path

import msgpack

from bench import mutations
from bench.mutations import Format
from bench.tuning_logs import damaged_log, logs, read_log
from isa.check.checker import check
from isa.config import VTAConfig
from isa.extents import loop_steps
from isa.instructions import Alu, Gemm
from isa.program import Program
from isa.program_file import program_from_bytes
from isa.text.assembler import assemble
from isa.text.disassembler import disassemble
from runtime.executor.container import network_from_bytes
from vta.codegen.sealed_object import opened
from vta.inspect.capsule.file import load_capsule
from vta.inspect.trace.reader import TraceReader
from vta.relay.onnx.importer import from_onnx
from vta.relay.text.parser import parse_module
from vta.rpc.messages.fields import Fields
from vta.rpc.messages.wire import GREETING_BYTES, Frame, Frames, packed
from vta.rpc.serving.session_maker import Simulator
from vta.rpc.serving.workshop import OPERATIONS, Workshop

__all__ = ["ALL_FORMATS", "PARSERS"]

_MEMORY = 1 << 26
_MOST_STEPS = 100_000
"""Tensor operations of a program that is checked."""


def _file(data: bytes) -> Path:
    """Return a file with this content, the same one every time."""
    path = Path(tempfile.gettempdir()) / f"vta-parsers-{id(_file)}"
    path.write_bytes(data)
    return path


def _configuration(data: bytes) -> None:
    VTAConfig.from_json(_file(data))


def _assembly(data: bytes) -> None:
    _program(assemble(data.decode("utf-8", "replace")))


def _binary(data: bytes) -> None:
    _program(program_from_bytes(data))


def _program(program: Program) -> None:
    disassemble(program)
    if sum(loop_steps(each) for each in program.instructions if isinstance(each, Gemm | Alu)) <= _MOST_STEPS:
        check(program)


def _trace(data: bytes) -> None:
    for _ in TraceReader(BytesIO(data)):
        pass


def _capsule(data: bytes) -> None:
    load_capsule(_file(data))


def _network(data: bytes) -> None:
    network_from_bytes(data)


def _onnx(data: bytes) -> None:
    from_onnx(_file(data))


def _module(data: bytes) -> None:
    opened(data, "module")


def _relay(data: bytes) -> None:
    parse_module(data.decode("utf-8", "replace"))


def _messages(data: bytes) -> None:
    """Do what messages say in a session of its own."""
    frames = Frames(GREETING_BYTES)
    frames.feed(data[: 4 * GREETING_BYTES])
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(VTAConfig(), Simulator("reference", _MEMORY), Path(folder))
        while (frame := frames.next()) is not None:
            try:
                shop.do(Fields.of(frame.body))
            except MemoryError:
                continue  # a device's process answers so, and has a limit besides


PARSERS: Mapping[str, Callable[[bytes], None]] = {
    "configuration": _configuration,
    "assembly": _assembly,
    "program": _binary,
    "trace": _trace,
    "capsule": _capsule,
    "network": _network,
    "onnx": _onnx,
    "module": _module,
    "relay": _relay,
    "messages": _messages,
    "records": read_log,
}
"""By the format's name."""


_GRAPHS = (
    b"""def @main(%x: Tensor[(1, 4), float32]) -> Tensor[(1, 4), float32] {
  %0: Tensor[(1, 4), float32] = nn.relu(%x) from Relu "relu1";
  %0
}
""",
    b"""def @main(%a: Tensor[(2, 3), int8], %b: Tensor[(2, 3), int8]) -> Tensor[(2, 3), int8] {
  %0: Tensor[(2, 3), int8] = add(%a, %b);
  %1: Tensor[(2, 3), int8] = maximum(%0, %a);
  %1
}
""",
)
_GRAPH_WORDS = (
    "Tensor[(",
    "float32",
    "%0",
    "@main",
    "nn.conv2d(",
    "from",
    '"',
    "{",
    "}",
    "meta",
    "#0",
    ", strides=(1, 1)",
    ";",
)


def _graph(rng: random.Random, data: bytes) -> bytes:
    """Return the text with a word put in, a line repeated or lost, or bytes changed."""
    lines = data.decode("utf-8", "replace").split("\n")
    at = rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            lines.insert(at, rng.choice(lines))
        case 1:
            del lines[at]
        case 2:
            place = rng.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:place] + rng.choice(_GRAPH_WORDS) + lines[at][place:]
        case _:
            return mutations.changed_bytes(rng, data)
    return "\n".join(lines).encode()


def _conversation() -> list[bytes]:
    bodies: list[dict[str, object]] = [
        {"op": "empty", "call": 1, "device": 12, "shape": [4, 4], "dtype": "int8"},
        {"op": "write", "call": 2, "array": 1, "offset": 0, "data": bytes(16)},
        {"op": "read", "call": 3, "array": 1, "offset": 3, "nbytes": 9},
        {"op": "empty", "call": 4, "device": 1, "shape": [], "dtype": "int4", "released": [1]},
        {"op": "function", "call": 5, "name": "vta.simulator.profiler_status", "arguments": []},
        {"op": "configure", "call": 6, "config": VTAConfig().to_dict()},
        {"op": "call", "call": 7, "module": 1, "function": "f", "arguments": [["array", 1], ["number", 1.5]]},
        {"op": "time", "call": 8, "module": 1, "function": "f", "arguments": [], "number": 1, "repeat": 1,
         "min_repeat_ms": 0},
        {"op": "run_network", "call": 9, "network": 1, "inputs": {"x": 1}},
        {"op": "load_network", "call": 10, "name": "n.vtam"},
    ]  # fmt: skip
    return [b"".join(packed(Frame(n, msgpack.packb(body), b"")) for n, body in enumerate(part)) for part in (
        bodies[:3], bodies[3:6], bodies[6:], bodies,
    )]  # fmt: skip


def _said(rng: random.Random, data: bytes) -> bytes:
    """Return the messages with something in one of them changed, or one removed, repeated or moved."""
    frames = list(msgpack.Unpacker(BytesIO(data), raw=False, strict_map_key=False))
    at = rng.randrange(len(frames))
    match rng.randrange(6):
        case 0:
            frames.insert(rng.randrange(len(frames)), frames[at])
        case 1:
            return mutations.changed_bytes(rng, data)
        case _:
            body = mutations.changed_json(rng, msgpack.unpackb(frames[at][1], raw=False))
            if isinstance(body, dict) and rng.random() < 0.3:
                body["op"] = rng.choice(list(OPERATIONS))
            frames[at][1] = _packed_or(body, frames[at][1])
    return b"".join(msgpack.packb(frame) for frame in frames)


def _packed_or(body: object, other: bytes) -> bytes:
    """Return a body's bytes; ``other`` for what MessagePack cannot say."""
    try:
        data: bytes = msgpack.packb(body)
    except (ValueError, TypeError, OverflowError, UnicodeEncodeError):
        return other
    return data


ALL_FORMATS: Mapping[str, Format] = {
    **mutations.FORMATS,
    "relay": Format(".relay", lambda: list(_GRAPHS), _graph),
    "messages": Format(".messages", _conversation, _said),
    "records": Format(".log", logs, damaged_log),
}
"""Every format that is fuzzed."""
