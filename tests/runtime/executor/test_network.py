"""What a compiled network may be: every refusal, with its whole text."""

import re
from dataclasses import replace

import numpy as np
import pytest

from isa.config import VTAConfig
from runtime.executor.network import DeviceStep, Home, HostStep, Network, NetworkError, Step, Tensor
from runtime.executor.stored_launch import StoredLaunch, StoredLaunchError
from tests.support.runtime.small_networks import small_network

X, Y = Tensor("x", (4,), "int8"), Tensor("y", (4,), "int8")


def network(*steps: Step, tensors: tuple[Tensor, ...] = (X, Y), outputs: tuple[str, ...] = ("y",)) -> Network:
    return Network(
        config=VTAConfig(), tensors={t.name: t for t in tensors}, steps=steps, inputs=("x",), outputs=outputs,
        arena_bytes=64, constants=np.zeros(16, np.uint8), host_constants={},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Tensor("x", (1,), "int7"), "tensor 'x': dtype is one of bool, int8, uint8"),
        (lambda: Tensor("x", (-1,), "int8"), "tensor 'x': shape (-1,) and offset 0 are not below zero"),
        (lambda: network(), "output 'y' is made by no step"),
        (
            lambda: network(HostStep("n", "op", ("z",), ("y",))),
            "step 'n' name tensor 'z', which the network does not have",
        ),
        (lambda: network(HostStep("n", "op", ("y",), ("y",))), "step 'n' reads tensor 'y' before a step has made it"),
        (
            lambda: network(tensors=(X, replace(Y, home=Home.ARENA, offset=61)), outputs=()),
            "tensor 'y' ends at byte 65 of the arena, which has 64",
        ),
        (
            lambda: network(tensors=(X, replace(Y, home=Home.CONSTANT, offset=13)), outputs=()),
            "tensor 'y' ends at byte 17 of the constant, which has 16",
        ),
        (
            lambda: network(tensors=(X, replace(Y, home=Home.HOST_CONSTANT)), outputs=()),
            "tensor 'y' is a constant of the host, and its array is missing or another",
        ),
        (
            lambda: network(HostStep("n", "op", ("x",), ("y",)), tensors=(X, replace(Y, home=Home.CONSTANT))),
            "step 'n' writes tensor 'y', which is a constant",
        ),
        (
            lambda: network(DeviceStep("n", (), ("x",)), outputs=()),
            "step 'n' runs on tensor 'x', which is not in the device's memory",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: object, text: str) -> None:
    with pytest.raises(NetworkError, match=f"^{re.escape(text)}"):
        make()  # type: ignore[operator]


def first_launch() -> tuple[Network, StoredLaunch]:
    whole = small_network().network
    [step] = whole.steps
    assert isinstance(step, DeviceStep)
    return whole, step.launches[0]


def test_a_launch_that_leaves_its_tensors_is_refused() -> None:
    whole, launch = first_launch()
    [step] = whole.steps
    table = launch.addresses
    sizes = [whole.tensor(name).nbytes for name in step.tensors]
    launch.check("step", sizes, whole.config)
    beyond = replace(table, offset=table.offset + 10_000, end=table.end + 10_000)
    shorter = replace(table, end=table.offset)
    fewer = replace(table, **{name: getattr(table, name)[1:] for name in ("index", "tensor", "offset", "end", "unit")})
    other = replace(table, tensor=table.tensor + 9)
    uneven = replace(table, unit=table.unit[1:])
    cases = [
        (beyond, "step: a transfer reaches beyond its tensor"),
        (shorter, "step: a transfer is larger than its entry in the table of addresses"),
        (fewer, "step: not every load and store has an address, or something else has one"),
        (other, "step: an address refers to a tensor that the step does not have"),
        (uneven, "step: its columns of addresses have different lengths"),
    ]
    for addresses, text in cases:
        with pytest.raises(StoredLaunchError, match=f"^{re.escape(text)}$"):
            replace(launch, addresses=addresses).check("step", sizes, whole.config)
    with pytest.raises(StoredLaunchError, match=r"^step: it loads micro-ops beyond its 0$"):
        replace(launch, uops=launch.uops[:0]).check("step", sizes, whole.config)
    with pytest.raises(StoredLaunchError, match=r"^step: \d+ instructions have 0 origins$"):
        replace(launch, origins=()).check("step", sizes, whole.config)
    words = launch.array.copy()
    words[0, 0] |= np.uint64(7)
    with pytest.raises(StoredLaunchError, match=r"^step: instruction 0: "):
        replace(launch, array=words).check("step", sizes, whole.config)
