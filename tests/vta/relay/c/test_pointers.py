"""What C calls a network's tensors."""

from itertools import pairwise

import numpy as np
import pytest

from isa.config import VTAConfig
from runtime.executor.network import HostStep, Network, Tensor
from vta.relay.c.host_steps import host_code
from vta.relay.c.memory_image import MemoryImage
from vta.relay.c.pointers import Pointers, c_name


@pytest.mark.parametrize(
    ("text", "name"), [("conv.1/out", "conv_1_out"), ("1x", "t_1x"), ("int", "t_int"), ("", "t_"), ("vta_x", "t_vta_x")]
)
def test_names_look_like_what_they_are_of(text: str, name: str) -> None:
    assert c_name(text) == name


def chain(*names: str) -> Network:
    """Return negations from the first tensor to the last one."""
    steps = [HostStep(made, "negative", (read,), (made,)) for read, made in pairwise(names)]
    return Network(
        config=VTAConfig(), tensors={name: Tensor(name, (4,), "float32") for name in names}, steps=tuple(steps),
        inputs=names[:1], outputs=(names[0], names[2], names[-1]), arena_bytes=0, constants=np.zeros(0, np.uint8),
        host_constants={},
    )  # fmt: skip


def test_tensors_of_the_caller_have_names_and_the_others_places() -> None:
    network = chain("board", "a-b", "a.b", "d", "e")
    code = host_code(network)
    pointers = Pointers.of(network, MemoryImage.of(network), code)
    assert dict(pointers.inputs) == {"board": "board_2"}
    assert dict(pointers.outputs) == {"board": "board_3", "a.b": "a_b", "e": "e"}
    assert pointers.expression("board") == "board_2"
    assert pointers.expression("a.b") == "a_b"
