"""The text of a network's header and source. Tests: tests/vta/relay/c/test_source.py."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.instructions import MemoryId
from runtime.executor.network import DeviceStep, Home
from vta.codegen.c import PRELUDE
from vta.codegen.c.types import literal, memory_type
from vta.relay.c.host_steps import HostCall, HostCode
from vta.relay.c.memory_image import PAGE
from vta.relay.c.pointers import Pointers, kind_of
from vta.tir.dtype import DType

__all__ = ["header_text", "source_text"]

_HEADER = """\
/* The network {name} for an accelerator of configuration {digest}; made by vta compile --c.
 *
 * {name}_load it once, then {name}_run it as often as you like, one run at a time; both return a status of
 * vta_runtime.h. Arrays are row-major and do not overlap:
{arrays}
 */
#ifndef {upper}_H
#define {upper}_H

#include "vta_runtime.h"

#ifdef __cplusplus
extern "C" {{
#endif

#define {upper}_MEMORY_BYTES {nbytes}u /* of memory that is shared with the accelerator */

int {name}_load(struct vta_board *board);
{prototype};

#ifdef __cplusplus
}}
#endif

#endif
"""

_SOURCE = """\
/* See {name}.h. Compile it as ISO C (-std=c99), and link the mathematical library (-lm). */
#include "{name}.h"

#include <string.h>
{prelude}
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the image is in words of a little-endian machine, as the accelerator is"
#endif
static const union {{ uint64_t words[{words}]; uint8_t bytes[{words} * 8]; }} image_data = {{{{
{image_data}
}}}};

static const struct vta_image network_image = {{
    image_data.bytes, sizeof image_data.bytes, {upper}_MEMORY_BYTES, {alignment}u, UINT64_C(0x{digest})
}};

{definitions}
int {name}_load(struct vta_board *board)
{{
    return vta_load(board, &network_image);
}}

{prototype}
{{
{body}
    return VTA_OK;
}}
"""

_MEMORY = "static union {{ uint64_t integers; double floats; unsigned char bytes[{nbytes}]; }} {name};\n"


def header_text(pointers: Pointers, name: str) -> str:
    """Return the header: how much memory the network needs, and how it is run."""
    network = pointers.network
    arrays = [
        *(f" *   {c}: {_described(pointers, each)}" for each, c in pointers.inputs.items()),
        *(f" *   {c}: {_described(pointers, each)}, written" for each, c in pointers.outputs.items()),
    ]
    return _HEADER.format(
        name=name, upper=name.upper(), digest=network.config.digest, arrays="\n".join(arrays),
        nbytes=pointers.image.nbytes, prototype=_prototype(pointers, name),
    )  # fmt: skip


def source_text(pointers: Pointers, name: str, code: HostCode) -> str:
    """Return the source: the image, constants, the functions of the host, and one that runs the steps in order."""
    config = pointers.network.config
    image = pointers.image.data
    # In words, of which a compiler needs a quarter of the memory that it needs for bytes.
    image_words = np.append(image, np.zeros(-len(image) % 8, np.uint8)).view("<u8").tolist()
    return _SOURCE.format(
        name=name, upper=name.upper(), prelude=PRELUDE, digest=config.digest, alignment=_alignment(config),
        words=len(image_words), image_data="\n".join(_lines([f"0x{word:x}" for word in image_words], 8)),
        definitions="\n".join(_definitions(pointers, code)), prototype=_prototype(pointers, name),
        body="\n".join(f"    {line}" if line else "" for line in _whole_body(pointers, code)),
    )  # fmt: skip


def _prototype(pointers: Pointers, name: str) -> str:
    tensor = pointers.network.tensor
    inputs = [f"const {kind_of(tensor(each))} *{c}" for each, c in pointers.inputs.items()]
    outputs = [f"{kind_of(tensor(each))} *{c}" for each, c in pointers.outputs.items()]
    return f"int {name}_run(struct vta_board *board, {', '.join([*inputs, *outputs])})"


def _described(pointers: Pointers, name: str) -> str:
    tensor = pointers.network.tensor(name)
    return f"{tensor.dtype} ({', '.join(map(str, tensor.shape))})"


def _alignment(config: VTAConfig) -> int:
    return max([PAGE, *(config.elem_bytes(memory) for memory in MemoryId)])


def _definitions(pointers: Pointers, code: HostCode) -> Iterator[str]:
    for name, c in pointers.constants.items():
        dtype = DType(pointers.network.tensor(name).dtype)
        yield from _array_lines(c, dtype, pointers.network.host_constants[name])
    for number, array in enumerate(code.arrays):
        yield from _array_lines(f"array_{number}", DType(str(array.dtype)), array)
    for name, nbytes in (("workspace", code.workspace), ("host_memory", pointers.nbytes)):
        if nbytes:
            yield _MEMORY.format(name=name, nbytes=nbytes)
    yield from code.texts()


def _array_lines(name: str, dtype: DType, array: npt.NDArray[np.generic]) -> Iterator[str]:
    values = array.reshape(-1).tolist() or [0]
    yield f"static const {memory_type(dtype)} {name}[{len(values)}] = {{"
    is_byte = memory_type(dtype) in ("uint8_t", "int8_t")
    texts = [str(int(value)) if is_byte else literal(dtype, value) for value in values]
    yield from _lines(texts, 24)
    yield "};"


def _lines(texts: Sequence[str], count: int) -> Iterator[str]:
    """Yield lines of a list in braces, ``count`` of its values each."""
    yield from (",".join(texts[begin : begin + count]) + "," for begin in range(0, len(texts), count))


# --- the run --------------------------------------------------------------------------------------------------------


def _whole_body(pointers: Pointers, code: HostCode) -> list[str]:
    """Return the lines of the run; inputs that nothing reads are said to be."""
    lines = [*_body(pointers, code)]
    used = set(re.findall(r"\w+", "\n".join(lines)))
    return [*(f"(void){c};" for c in pointers.inputs.values() if c not in used), *lines]


def _body(pointers: Pointers, code: HostCode) -> Iterator[str]:
    network, image = pointers.network, pointers.image
    if any(isinstance(step, DeviceStep) for step in network.steps):
        yield "int status;"
    yield "if (board->image != &network_image)"
    yield "    return VTA_NOT_LOADED;"
    for name, c in pointers.inputs.items():
        if network.tensor(name).on_device:
            yield f"memcpy({pointers.expression(name)}, {c}, {network.tensor(name).nbytes});"
            yield _moved("flush", pointers, name)
    for number, step in enumerate(network.steps):
        launches, calls = image.launches.get(number, ()), code.calls.get(number, ())
        if launches or calls:
            yield f"/* {step.node.replace('*/', '* /')} */"
        for launch in launches:
            yield f"if ((status = vta_launch(board, &network_image, {launch.offset}, {launch.count})) != VTA_OK)"
            yield "    return status;"
        for call in calls:
            yield from _call_lines(call, pointers, code)
    for name, c in pointers.outputs.items():
        tensor = network.tensor(name)
        if tensor.on_device:
            yield _moved("invalidate", pointers, name)
        if tensor.home is not Home.HOST or name in pointers.inputs:
            yield f"memcpy({c}, {pointers.expression(name)}, {tensor.nbytes});"


def _call_lines(call: HostCall, pointers: Pointers, code: HostCode) -> Iterator[str]:
    *read, written = (name for name in call.arguments if isinstance(name, str))
    for name in read:
        if pointers.network.tensor(name).on_device:
            yield _moved("invalidate", pointers, name)
    texts = [f"array_{name}" if isinstance(name, int) else pointers.expression(name) for name in call.arguments]
    if call.has_workspace:
        texts.append("workspace.bytes" if code.workspace else "NULL")
    yield f"{call.function}({', '.join(texts)});"
    if pointers.network.tensor(written).on_device:
        yield _moved("flush", pointers, written)


def _moved(what: str, pointers: Pointers, name: str) -> str:
    return f"vta_{what}(board, {pointers.image.offsets[name]}, {pointers.network.tensor(name).nbytes});"
