"""Where tensors lie for C code: with the caller, in memory of the host's own, in constants, or in the device's memory.

Tests: tests/vta/relay/c/test_pointers.py.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from runtime.executor.network import Home, Network, Tensor
from vta.codegen.c.block import KEYWORDS
from vta.codegen.c.types import memory_type
from vta.relay.c.host_steps import HostCode
from vta.relay.c.memory_image import MemoryImage
from vta.relay.transform.placement import Lifetime, planned
from vta.tir.dtype import DType

__all__ = ["Pointers", "c_name", "kind_of"]

_ALIGNMENT = 64


def c_name(text: str) -> str:
    """Return a C name that looks like ``text``."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    is_name = name[:1].isalpha() and name not in KEYWORDS and not name.startswith("vta_")
    return name if is_name else f"t_{name}"


def kind_of(tensor: Tensor) -> str:
    """Return the C type of a tensor's elements in memory."""
    return memory_type(DType(tensor.dtype))


@dataclass(frozen=True, slots=True, eq=False)
class Pointers:
    """What C calls a network's tensors.

    ``arguments`` names those of the caller (inputs first, then outputs), ``constants`` the arrays of the host that are
    read; the host's other tensors lie at ``offsets`` in ``nbytes`` bytes of its own.
    """

    network: Network
    image: MemoryImage
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    constants: Mapping[str, str]
    offsets: Mapping[str, int]
    nbytes: int

    @classmethod
    def of(cls, network: Network, image: MemoryImage, code: HostCode) -> "Pointers":
        """Name everything, and plan memory: tensors need it from the step that writes them to the last reader."""
        taken = {"board", "status", "network_image"}
        inputs = {name: _unique(name, taken) for name in network.inputs}
        outputs = {name: _unique(name, taken) for name in network.outputs}
        spans: dict[str, tuple[int, int]] = {}
        read = dict.fromkeys(network.outputs)
        for number, calls in code.calls.items():
            for name in (name for call in calls for name in call.arguments if isinstance(name, str)):
                read[name] = None
                if network.tensor(name).home is Home.HOST and name not in inputs and name not in outputs:
                    spans[name] = (spans.get(name, (number, number))[0], number)
        constants = [name for name in read if network.tensor(name).home is Home.HOST_CONSTANT]
        offsets, nbytes = planned([Lifetime(network.tensor(n).nbytes, *span) for n, span in spans.items()], _ALIGNMENT)
        return cls(
            network=network, image=image, inputs=inputs, outputs=outputs,
            constants={name: f"constant_{number}" for number, name in enumerate(constants)},
            offsets=dict(zip(spans, offsets, strict=True)), nbytes=nbytes,
        )  # fmt: skip

    def expression(self, name: str) -> str:
        """Return the address of a tensor's first element."""
        tensor = self.network.tensor(name)
        if tensor.on_device:
            return f"({kind_of(tensor)} *)(board->memory + {self.image.offsets[name]})"
        if name in self.constants:
            return self.constants[name]
        if name in self.inputs:
            return self.inputs[name]
        if name in self.outputs:
            return self.outputs[name]
        return f"({kind_of(tensor)} *)(host_memory.bytes + {self.offsets[name]})"


def _unique(text: str, taken: set[str]) -> str:
    base, more = c_name(text), 1
    name = base
    while name in taken:
        more += 1
        name = f"{base}_{more}"
    taken.add(name)
    return name
