"""Damaged files of every format that this project reads, for ``bench.mutants``: of bytes, and behind checksums.

Most files carry a checksum, so that a changed byte leads no further than that. So a mutant is made in one of two ways:
bytes of the whole file are changed, or a number, a text or a part of what the file says is, and the file is sealed anew
as whoever means harm would do. Every mutant depends on its random numbers alone.
"""

import hashlib
import io
import json
import random
import struct
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from isa.program_file import MAGIC as PROGRAM_MAGIC
from isa.program_file import program_to_bytes
from isa.text.disassembler import disassemble
from tests.support.configs import CONFIGS
from tests.support.isa.random_programs import random_program
from vta.codegen.sealed_object import sealed
from vta.inspect.trace.columns import pack, unpack
from vta.inspect.trace.format import LAUNCH, read_record, write_record
from vta.inspect.trace.format import MAGIC as TRACE_MAGIC

__all__ = ["FORMATS", "Format", "changed_bytes", "changed_json"]

Json: TypeAlias = Any
Mutate = Callable[[random.Random, bytes], bytes]

_NUMBERS = (
    *(-(1 << 63), -(1 << 31) - 1, -2, -1, 0, 1, 2, 3, 15, 16, 17, 63, 64, 127, 128, 255, 256, 4095, 4096, 65535, 65536),
    *(1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 62) - 1, (1 << 63) - 1, 1 << 64, 1 << 70),
)  # fmt: skip
_TEXTS = (
    "",
    "x",
    "\x1b[2J\x07",
    "\u202e",
    "\ud800",
    "a/b",
    "..",
    "0",
    "-1",
    "NaN",
    "int8",
    "float32",
    "tsim",
    "load",
    "y" * 70_000,
)
_VALUES: tuple[Json, ...] = (
    *(None, True, False, 1.5, -0.0, 1e308, float("nan"), float("inf")),
    *([], {}, [[]], [None], [1, 2], {"a": 1}, {"": None}, [["a", "b"]], ["a"] * 70, [1] * 70),
)


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: its suffix, the whole files that mutants are made of, and how one is made."""

    suffix: str
    seeds: Callable[[], list[bytes]]
    mutate: Mutate


def _number(rng: random.Random) -> int:
    """Return a number that means something often, and an extreme one as often."""
    return rng.randrange(70) if rng.random() < 0.5 else rng.choice(_NUMBERS)


def _anything(rng: random.Random) -> Json:
    return _number(rng) if rng.random() < 0.4 else rng.choice((*_TEXTS, *_VALUES))


# ---- bytes


def changed_bytes(rng: random.Random, data: bytes) -> bytes:
    """Return ``data`` with a few bytes changed, added, removed, repeated or cut off."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        size = len(changed)
        at = rng.randrange(size + 1)
        match rng.randrange(7):
            case 0 if size:
                changed[rng.randrange(size)] ^= 1 << rng.randrange(8)
            case 1 if size:
                changed[rng.randrange(size)] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 2:
                changed[at:at] = rng.randbytes(rng.randrange(1, 9))
            case 3:
                del changed[at : at + rng.choice((1, 4, 8, 64))]
            case 4:
                begin = rng.randrange(size + 1)
                changed[at:at] = changed[begin : begin + rng.choice((1, 8, 64, 512))]
            case 5:
                changed[at : at + 4] = struct.pack("<I", rng.choice(_NUMBERS) & 0xFFFFFFFF)
            case _:
                del changed[rng.randrange(size + 1) :]
    return bytes(changed)


# ---- what JSON says


def _places(value: Json, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the path of every part of a JSON value; long lists have their first, a middle and their last part."""
    found = [path]
    if isinstance(value, dict):
        for key, part in value.items():
            found += _places(part, (*path, key))
    elif isinstance(value, list):
        for at in sorted({0, len(value) // 2, len(value) - 1} & set(range(len(value)))):
            found += _places(value[at], (*path, at))
    return found


def changed_json(rng: random.Random, value: Json) -> Json:
    """Return a JSON value with one part of it replaced, removed, repeated or renamed."""
    place = rng.choice(_places(value))
    return _at(value, place, lambda part: _other(rng, part))


def _at(value: Json, place: tuple[str | int, ...], change: Callable[[Json], Json]) -> Json:
    if not place:
        return change(value)
    copy: Json = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = _at(value[place[0]], place[1:], change)
    return copy


def _other(rng: random.Random, part: Json) -> Json:
    if isinstance(part, dict) and part and rng.random() < 0.6:
        copy, key = dict(part), rng.choice(list(part))
        match rng.randrange(3):
            case 0:
                del copy[key]
            case 1:
                copy[rng.choice(_TEXTS)] = copy.pop(key)
            case _:
                copy[rng.choice(_TEXTS)] = _anything(rng)
        return copy
    if isinstance(part, list) and part and rng.random() < 0.6:
        copy_of = list(part)
        match rng.randrange(3):
            case 0:
                del copy_of[rng.randrange(len(copy_of))]
            case 1:
                copy_of.append(rng.choice(copy_of))
            case _:
                copy_of.insert(rng.randrange(len(copy_of)), _anything(rng))
        return copy_of
    if isinstance(part, int) and not isinstance(part, bool) and rng.random() < 0.8:
        return rng.choice((_number(rng), part + 1, part - 1, 2 * part, -part))
    return _anything(rng)


# ---- formats


def _configurations() -> list[bytes]:
    return [json.dumps(config.to_dict()).encode() for config in CONFIGS.values()]


def _configuration(rng: random.Random, data: bytes) -> bytes:
    if rng.random() < 0.3:
        return changed_bytes(rng, data)
    value = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        value = changed_json(rng, value)
    return json.dumps(value).encode()


_ARENA_BYTES = 1 << 13
"""Memory of the programs that are damaged: most of a file is then what describes it, and not its contents."""


def _random_programs() -> list[Any]:
    return [
        random_program(np.random.default_rng(seed), CONFIGS[name], length=12, arena_bytes=_ARENA_BYTES)
        for seed, name in enumerate(("default", "b1k8", "b2k16", "in16out32", "default", "default"))
    ]


def _assembly_texts() -> list[bytes]:
    written = sorted((Path(__file__).resolve().parent.parent / "tests" / "isa" / "text" / "programs").glob("*.vta"))
    return [path.read_bytes() for path in written] + [disassemble(program).encode() for program in _random_programs()]


_WORDS = (
    *(
        ".data",
        ".output",
        ".uop",
        ".text",
        ".config",
        "gemm",
        "finish",
        "load.inp",
        "store",
        "alu.add",
        "reset",
        "arange",
    ),
    *(
        "zeros",
        "random",
        "hex",
        "fill",
        "x=",
        "y=",
        "iter=",
        "dram=",
        "imm=",
        "type=int8",
        "shape=",
        "shape=0,",
        "address=",
        "@",
    ),
)


def _assembly(rng: random.Random, data: bytes) -> bytes:
    """Return the text with words, lines or characters changed; numbers become extreme ones."""
    if rng.random() < 0.25:
        return changed_bytes(rng, data)
    lines = data.decode().split("\n")
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(lines))
        match rng.randrange(5):
            case 0:
                del lines[at]
                lines = lines or [""]
            case 1:
                lines.insert(at, rng.choice(lines))
            case 2:
                words = lines[at].split(" ")
                words.insert(rng.randrange(len(words) + 1), rng.choice(_WORDS) + str(_number(rng)))
                lines[at] = " ".join(words)
            case _:
                lines[at] = _with_another_number(rng, lines[at])
    return "\n".join(lines).encode()


def _with_another_number(rng: random.Random, line: str) -> str:
    digits = [at for at, letter in enumerate(line) if letter.isdigit()]
    if not digits:
        return line + rng.choice(_WORDS)
    begin = end = rng.choice(digits)
    while end < len(line) and line[end].isdigit():
        end += 1
    return line[:begin] + str(_number(rng)) + line[end:]


def _programs() -> list[bytes]:
    return [program_to_bytes(program) for program in _random_programs()]


def _program(rng: random.Random, data: bytes) -> bytes:
    if rng.random() < 0.2:
        return changed_bytes(rng, data)
    _, version, length = struct.unpack_from("<8sII", data)
    header, payload = data[16 : 16 + length], data[16 + length : -32]
    if rng.random() < 0.7:
        value = json.loads(header)
        for _ in range(rng.choice((1, 1, 2))):
            value = changed_json(rng, value)
        header = json.dumps(value).encode()
    if rng.random() < 0.5:
        payload = changed_bytes(rng, payload)
    body = struct.pack("<8sII", PROGRAM_MAGIC, version, len(header)) + header + payload
    return body + hashlib.sha256(body).digest()


def _traces() -> list[bytes]:
    from tests.support.runtime.recorded_runs import record_programs, some_program

    programs = [some_program(seed) for seed in (1, 2)]
    return [_kept(device, lambda path: record_programs(path, device, *programs)) for device in ("sim", "tsim")]  # noqa: B023


def _kept(name: str, write: Callable[[Path], object]) -> bytes:
    """Return what is written into a file of this name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        write(path)
        return path.read_bytes()


def _trace(rng: random.Random, data: bytes) -> bytes:
    """Return the trace with something in one of its records changed, or a record removed, repeated or moved."""
    if rng.random() < 0.15:
        return changed_bytes(rng, data)
    file = io.BytesIO(data)
    file.read(len(TRACE_MAGIC))
    records = []
    while (record := read_record(file)) is not None:
        records.append(record)
    at = rng.randrange(len(records))
    kind, payload = records[at]
    match rng.randrange(10):
        case 0:
            records[at] = (kind, changed_bytes(rng, payload))
        case 1:
            del records[at]
        case 2:
            records.insert(rng.randrange(len(records) + 1), records[at])
        case _:
            if rng.random() < 0.8:
                at = rng.choice([place for place, (kind, _) in enumerate(records) if kind == LAUNCH])
            records[at] = (records[at][0], _with_other_columns(rng, records[at][1]))
    changed = io.BytesIO()
    changed.write(TRACE_MAGIC)
    for kind, payload in records:
        write_record(changed, kind, payload)
    return changed.getvalue()


def _with_other_columns(rng: random.Random, payload: bytes) -> bytes:
    head, columns = unpack(payload)
    for _ in range(rng.choice((1, 1, 2, 3))):
        if not columns or rng.random() < 0.4:
            changed = changed_json(rng, head)
            head = changed if isinstance(changed, dict) else {"is": changed}
            continue
        name = rng.choice(list(columns))
        column = columns[name].copy()
        match rng.randrange(6):
            case 0:
                columns[name] = column.astype(rng.choice((np.uint8, np.uint16, np.uint32, np.uint64, np.int64)))
            case 1:
                columns[name] = column[: rng.randrange(len(column) + 1)]
            case 2:
                columns[rng.choice(_TEXTS[:8])] = columns.pop(name)
            case _ if column.size:
                bounds = np.iinfo(column.dtype)
                for _ in range(rng.choice((1, 1, 5))):
                    column[rng.randrange(column.size)] = min(max(_number(rng), bounds.min), bounds.max)
                columns[name] = column
            case _:
                columns[name] = np.zeros(rng.choice((1, 3, 1000)), column.dtype)
    return pack(head, columns)


def _capsules() -> list[bytes]:
    from runtime.session import Session
    from vta.inspect.capsule import Capture
    from vta.inspect.capsule.file import capsule_to_bytes

    made = []
    for program in _random_programs()[:2]:
        capture = Capture(Session(program.config, "sim"), name="seed")
        capture.run_program(program)
        capture.run_program(program)
        capsule = capture.capsule()
        assert capsule is not None
        made.append(capsule_to_bytes(capsule))
    return made


def _capsule(rng: random.Random, data: bytes) -> bytes:
    if rng.random() < 0.2:
        return changed_bytes(rng, data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(list(entries)) if rng.random() < 0.7 else "capsule.json"
    match rng.randrange(8):
        case 0:
            entries[rng.choice(_TEXTS[:8]) or "e"] = entries.pop(name)
        case 1:
            entries[rng.choice(("a", "launch-9.vtab"))] = entries[name]
        case _ if name == "capsule.json":
            entries[name] = json.dumps(changed_json(rng, json.loads(entries[name]))).encode()
        case _:
            entries[name] = _program(rng, entries[name])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))) as archive:
        for each, content in entries.items():
            archive.writestr(each.encode("utf-8", "replace").decode(), content)
    return packed.getvalue()


def _networks() -> list[bytes]:
    from runtime.executor.container import network_to_bytes
    from tests.support.runtime.small_networks import small_network

    return [network_to_bytes(small_network().network)]


def _network(rng: random.Random, data: bytes) -> bytes:
    if rng.random() < 0.15:
        return changed_bytes(rng, data)
    length = int.from_bytes(data[12:16], "little")
    header, blobs = data[48 : 48 + length], data[48 + length :]
    if rng.random() < 0.8:
        value = json.loads(header)
        for _ in range(rng.choice((1, 1, 2))):
            value = changed_json(rng, value)
        header = json.dumps(value).encode()
    if rng.random() < 0.4:
        blobs = changed_bytes(rng, blobs)
    body = header + blobs
    return data[:12] + struct.pack("<I", len(header)) + hashlib.sha256(body).digest() + body


def _models() -> list[bytes]:
    """Return quantised models of a layer or two each."""
    from tests.support.relay import patterns

    kinds = (
        patterns.relu_between, patterns.strided_in_groups, patterns.matmul_and_bias, patterns.max_pool,
        patterns.concatenation_of_scales, patterns.resized, patterns.padded_with_a_zero_point,
        patterns.mean_and_reshape_without_quantisation,
    )  # fmt: skip
    return [patterns.made(kind, seed)[0].SerializeToString(deterministic=True) for seed, kind in enumerate(kinds)]


def _model(rng: random.Random, data: bytes) -> bytes:
    """Return the model with fields of its messages changed, removed, repeated or exchanged."""
    import onnx

    if rng.random() < 0.15:
        return changed_bytes(rng, data)
    model = onnx.ModelProto.FromString(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        _change_message(rng, rng.choice(_messages(model)))
    changed: bytes = model.SerializeToString(deterministic=True)
    return changed


def _messages(message: Message) -> list[Message]:
    """Return a message and all those within it."""
    found = [message]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                found += _messages(inner)
    return found


def _change_message(rng: random.Random, message: Message) -> None:
    """Change one field of a message, most often one that it has."""
    present = [field for field, _ in message.ListFields()]
    field = rng.choice(present if present and rng.random() < 0.85 else message.DESCRIPTOR.fields)
    if not field.is_repeated:
        if field.message_type is not None or rng.random() < 0.2:
            message.ClearField(field.name)
        else:
            _set_scalar(rng, message, field)
        return
    values = getattr(message, field.name)
    match rng.randrange(4):
        case 0 if len(values):
            del values[rng.randrange(len(values))]
        case 1 if len(values):
            values.append(rng.choice(values))
        case 2 if len(values) > 1:
            kept, at = list(values), rng.sample(range(len(values)), 2)
            kept[at[0]], kept[at[1]] = kept[at[1]], kept[at[0]]
            message.ClearField(field.name)
            getattr(message, field.name).extend(kept)
        case _ if field.message_type is None:
            if len(values) and rng.random() < 0.7:
                values[rng.randrange(len(values))] = _scalar(rng, field, values[0])
            else:
                values.append(_scalar(rng, field, None))
        case _:
            values.add()


def _set_scalar(rng: random.Random, message: Message, field: FieldDescriptor) -> None:
    setattr(message, field.name, _scalar(rng, field, getattr(message, field.name)))


def _scalar(rng: random.Random, field: FieldDescriptor, old: object) -> Json:
    """Return another value for a field of numbers, texts or bytes."""
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_BYTES:
            return changed_bytes(rng, old) if isinstance(old, bytes) else rng.randbytes(rng.choice((0, 1, 8, 4096)))
        case FieldDescriptor.CPPTYPE_STRING:
            return rng.choice((*_TEXTS[:4], *_TEXTS[5:], *_WORDS_OF_MODELS))
        case FieldDescriptor.CPPTYPE_FLOAT | FieldDescriptor.CPPTYPE_DOUBLE:
            return rng.choice((0.0, -1.0, 1e-38, 3e38, float("nan"), float("inf"), 0.5, float(_number(rng) & 0xFFFF)))
        case FieldDescriptor.CPPTYPE_ENUM:
            return rng.choice([value.number for value in field.enum_type.values])
        case kind:
            bits = 31 if kind in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32) else 63
            number = _number(rng) if not isinstance(old, int) else rng.choice((_number(rng), old + 1, old - 1, -old))
            unsigned = kind in (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64)
            return min(max(number, 0 if unsigned else -(1 << bits)), (1 << bits) - 1)


_WORDS_OF_MODELS = (
    "Conv", "QLinearConv", "MatMul", "Reshape", "Expand", "ConstantOfShape", "Tile", "Range", "Pad", "Resize", "Concat",
    "Loop", "If", "Identity", "x", "pads", "axis", "kernel_shape", "strides", "dilations", "group", "auto_pad",
)  # fmt: skip


def _modules() -> list[bytes]:
    import vta
    from vta import te

    shape = (1, 1, 1, 16)
    a = te.placeholder(shape, name="A", dtype="int32")
    buf = te.compute(shape, lambda *i: a(*i), "buf")
    c = te.compute(shape, lambda *i: buf(*i).astype("int8"), "C")
    s, env = te.create_schedule(c.op), vta.get_env()
    s[buf].set_scope(env.acc_scope)
    s[buf].pragma(s[buf].op.axis[0], env.dma_copy)
    s[c].pragma(s[c].op.axis[0], env.dma_copy)
    module = vta.build(s, [a, c], target=env.target, name="copy")
    return [_kept("m.o", module.save)]


def _module(rng: random.Random, data: bytes) -> bytes:
    """Return the object with bytes changed, or with another description and a digest that is right for it.

    Code that somebody changed and sealed anew is what they want to be run, and not damage: a module is native code.
    """
    if rng.random() < 0.5:
        return changed_bytes(rng, data)
    begin = data.index(_MODULE) + len(_MODULE) + 32
    at = begin + 8
    length = int.from_bytes(data[begin:at], "little")
    text = json.dumps(changed_json(rng, json.loads(data[at : at + length]))).encode()
    if len(text) > length or _MODULE in text:  # there is no more room in the file
        return changed_bytes(rng, data)
    return sealed(data[:at] + text.ljust(length) + data[at + length :])


_MODULE = b"VTA-HOST-MODULE\x02"

FORMATS: Mapping[str, Format] = {
    "configuration": Format(".json", _configurations, _configuration),
    "assembly": Format(".vta", _assembly_texts, _assembly),
    "program": Format(".vtab", _programs, _program),
    "trace": Format(".trace", _traces, _trace),
    "capsule": Format(".capsule", _capsules, _capsule),
    "network": Format(".vtam", _networks, _network),
    "onnx": Format(".onnx", _models, _model),
    "module": Format(".o", _modules, _module),
}
"""By name. A trace is of two launches, on ``sim`` and on ``tsim``; a capsule has two launches, too."""
